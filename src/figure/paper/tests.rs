//! Faults that a journal would send back.

use super::super::canvas::{At, Item, Scene};
use super::super::font::Fonts;
use super::super::layers::{
    Bar, Bars, Datum, Edge, Graph, Intervals, Line, Node, Points, Range, Ranges, RankLine, Ranks, Rule, Spot,
};
use super::super::overlap::{reaches, text_box};
use super::super::role::{Dash, Marker};
use super::super::{Axis, Figure, Layer, Options, Role, Style};
use super::lay_out;

/// The items of a figure in the column of a journal.
fn drawn<T>(figure: &Figure, look: impl FnOnce(&Scene<'_>) -> T) -> T {
    let options = Options { style: Style::Paper, width: Some(84.0), dpi: None };
    let fonts = Fonts::own();
    look(&lay_out(figure, &fonts, &[], options.look()).unwrap())
}

fn texts(scene: &Scene<'_>) -> Vec<String> {
    let text = |item: &Item| match item {
        Item::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    scene.items.iter().filter_map(text).collect()
}

fn flat(label: &str, y: f64, n: usize, points: usize) -> Layer {
    let point = |k: usize| Datum { x: k as f64, y, band: Some((0.0, 1.0)), n: n.into(), ..Datum::default() };
    let role = Role::nth(0);
    Layer::Line(Line { label: label.into(), role, points: (0..points).map(point).collect() })
}

fn chart(layers: Vec<Layer>) -> Figure {
    let (x, y) = (Axis::linear("x"), Axis::linear("y").from_to(0.0, 1.0));
    Figure { x, y, layers, ..Figure::default() }
}

fn areas(scene: &Scene<'_>) -> usize {
    let pale = |item: &&Item| matches!(item, Item::Fill { alpha, .. } if *alpha < 0.5);
    scene.items.iter().filter(pale).count()
}

fn banded(label: &str, role: Role, y: f64) -> Layer {
    let (band, inner) = (Some((0.1, 0.9)), Some((0.3, 0.7)));
    let point = |k: usize| Datum { x: k as f64, y, band, inner, n: 99.into(), ..Datum::default() };
    Layer::Line(Line { label: label.into(), role, points: (0..3).map(point).collect() })
}

/// Three bands lay on each other, and the legend named one of them.
#[test]
fn intervals_that_would_hide_each_other_stand_side_by_side_and_are_named() {
    let intervals = Intervals { wide: "wide".into(), narrow: "narrow".into(), ..Intervals::default() };
    let intervals = Layer::Intervals(intervals);
    let figure = chart(vec![banded("a", Role::nth(0), 0.4), banded("b", Role::nth(1), 0.6), intervals]);
    drawn(&figure, |scene| {
        assert_eq!(areas(scene), 0);
        let upright = |item: &Item| match item {
            Item::Line { points, pen } if points.len() == 2 && points[0].0 == points[1].0 && pen.width > 0.7 => {
                ((points[0].1 - points[1].1).abs() > 60.0).then_some(points[0].0)
            }
            _ => None,
        };
        let at: Vec<f64> = scene.items.iter().filter_map(upright).collect();
        // Three points, each with a wide and a narrow one.
        assert_eq!(at.len(), 12, "{at:?}");
        assert!(at[..6].iter().all(|a| at[6..].iter().all(|b| (a - b).abs() > 3.0)), "{at:?}");
        assert!(["wide", "narrow"].iter().all(|name| texts(scene).iter().any(|t| t == name)), "{:?}", texts(scene));
    });
}

/// Six entries, each with the name of a method and of a score, took four rows of the column.
#[test]
fn lines_of_several_methods_have_an_entry_for_each_method_and_for_each_score() {
    let scores = [("completeness C", Dash::Dashed), ("reliability R", Dash::Solid)];
    let of = |(k, method): (usize, &'static str)| {
        scores.map(|(score, dash)| banded(&format!("{method} {score}"), Role::nth(k).dash(dash), 0.5))
    };
    let figure = chart(["FGSM", "PGD"].into_iter().enumerate().flat_map(of).collect());
    drawn(&figure, |scene| {
        let texts = texts(scene);
        let is = |name: &str| texts.iter().any(|t| t == name);
        assert!(["FGSM", "PGD", "completeness C", "reliability R"].into_iter().all(is), "{texts:?}");
        assert!(!texts.iter().any(|t| t.contains("FGSM completeness")), "{texts:?}");
    });
}

/// "S of a constant answer" lay on the curves of INLP, which run close above and below it.
#[test]
fn the_label_of_a_rule_lies_on_no_line_where_there_is_room_elsewhere() {
    let rule = Rule { at: 0.5, upright: false, label: "a constant answer".into() };
    let figure = chart(vec![flat("", 0.47, 99, 20), flat("", 0.53, 99, 20), Layer::Rule(rule)]);
    drawn(&figure, |scene| {
        let at = scene.items.iter().position(|i| matches!(i, Item::Text { text, .. } if text.contains("constant")));
        let Some(Item::Text { text, at, kind }) = at.map(|at| &scene.items[at]) else { panic!("no label") };
        let room = text_box(scene.fonts, text, *at, kind);
        let lines =
            scene.items.iter().filter(|i| matches!(i, Item::Line { pen, .. } if pen.alpha == 1.0 && pen.width > 1.0));
        assert!(lines.filter(|i| reaches(scene.fonts, i, room)).count() == 0, "{room:?}");
    });
}

/// The square of the adjusted score and its interval lay on the range over prompts.
#[test]
fn a_point_lies_beside_the_range_of_its_category() {
    let ends = (0.4, 0.9);
    let range = Range { category: 0, ends, mean: None, dots: Vec::new(), n: 9.into() };
    let ranges = Ranges { label: "range".into(), role: Role::points(0, Marker::Circle), ranges: vec![range] };
    let spot = Spot { x: 0.0, y: 0.6, y_band: Some((0.5, 0.7)), n: 9.into(), ..Spot::default() };
    let points = Points { label: "point".into(), role: Role::points(1, Marker::Square), points: vec![spot] };
    let x = Axis::of("model", ["a".to_owned(), "b".to_owned()]);
    let figure = Figure { x, ..chart(vec![Layer::Ranges(ranges), Layer::Points(points)]) };
    drawn(&figure, |scene| {
        let upright = |item: &Item| match item {
            Item::Line { points, .. } => match points[..] {
                [(a, top), (b, bottom)] if a == b && (bottom - top).abs() > 15.0 => Some(a),
                _ => None,
            },
            _ => None,
        };
        let mut at: Vec<f64> = scene.items.iter().filter_map(upright).collect();
        at.dedup();
        // The axis, the range, the interval.
        assert!(at.len() >= 3 && (at[at.len() - 1] - at[at.len() - 2]).abs() > 10.0, "{at:?}");
        let discs = scene.items.iter().filter(|i| matches!(i, Item::Disc { .. })).count();
        assert_eq!(discs, 0, "a range without a mean has no marker in the legend either");
    });
}

/// Intervals from 0 to 1 of three originals each covered figures of agreement and of accuracy.
#[test]
fn too_few_units_have_their_number_in_place_of_an_interval() {
    let few = |mut layer: Layer| {
        match &mut layer {
            Layer::Line(line) => line.points.iter_mut().for_each(|p| p.n.few = Some(7)),
            Layer::Bars(bars) => bars.bars.iter_mut().for_each(|b| b.n.few = Some(7)),
            _ => {}
        }
        layer
    };
    let intervals = Intervals { few: "originals".into(), ..Intervals::covering(0.95, "originals") };
    let bar = Bar { band: Some((0.0, 1.0)), n: 9.into(), ..Bar::of(0, 1.0) };
    let bars = Layer::Bars(Bars { label: "a".into(), role: Role::nth(0), bars: vec![bar] });
    let long = |item: &&Item| {
        matches!(item, Item::Line { points, pen } if points.len() == 2 && pen.width > 0.7
        && points[0].0 == points[1].0 && (points[0].1 - points[1].1).abs() > 100.0)
    };
    for (layer, x) in [(flat("a", 0.5, 9, 5), Axis::linear("x")), (bars, Axis::of("x", ["a".to_owned()]))] {
        let figure = |layer| Figure { x: x.clone(), ..chart(vec![layer, Layer::Intervals(intervals.clone())]) };
        let is = |scene: &Scene<'_>, text: &str| texts(scene).iter().any(|t| t == text);
        drawn(&figure(few(layer.clone())), |scene| {
            assert!(is(scene, "7") && is(scene, "originals") && !is(scene, "95 %: originals"), "{:?}", texts(scene));
            assert_eq!((areas(scene), scene.items.iter().filter(long).count()), (0, 0));
        });
        drawn(&figure(layer), |scene| {
            assert!(is(scene, "95 %: originals") && !is(scene, "originals"), "{:?}", texts(scene));
            assert!(areas(scene) + scene.items.iter().filter(long).count() > 0);
        });
    }
}

/// The areas of two methods with three scores each lay on each other.
#[test]
fn of_many_lines_the_strong_ones_have_areas_and_the_others_intervals_at_their_markers() {
    let of = |label: &str, role: Role, y: f64| match flat(label, y, 99, 20) {
        Layer::Line(line) => Layer::Line(Line { role, ..line }),
        other => other,
    };
    let lines = |role: fn(usize) -> Role| (0..6).map(|k| of("", role(k), 0.1 * (k + 2) as f64)).collect();
    assert_eq!(drawn(&chart(lines(Role::nth)), areas), 6);
    assert_eq!(drawn(&chart(lines(|k| if k < 3 { Role::nth(k).strong() } else { Role::nth(k) })), areas), 3);
}

/// A legend promised intervals of one example and of several trainings where all had no length.
#[test]
fn the_legend_explains_no_interval_that_is_not_drawn() {
    let intervals = Intervals { narrow: "examples alone".into(), ..Intervals::covering(0.95, "examples") };
    let with = |half: f64| {
        let point = |k: usize| {
            let band = Some((0.5 - half, 0.5 + half));
            Datum { x: k as f64, y: 0.5, band, inner: Some((0.5, 0.5)), n: 99.into(), ..Datum::default() }
        };
        let line = Line { label: "a".into(), role: Role::nth(0), points: (0..9).map(point).collect() };
        drawn(&chart(vec![Layer::Line(line), Layer::Intervals(intervals.clone())]), texts).join(" ")
    };
    assert!(!with(0.0).contains("examples"), "{}", with(0.0));
    assert!(with(0.005).contains("95 %: examples (no wider than the marks)"), "{}", with(0.005));
    assert!(with(0.1).contains("95 %: examples") && !with(0.1).contains("marks"), "{}", with(0.1));
    assert!(!with(0.1).contains("examples alone"), "{}", with(0.1));
}

#[test]
fn markers_of_close_points_do_not_run_together() {
    let at = |scene: &Scene<'_>| -> Vec<At> {
        let disc = |item: &Item| match item {
            Item::Disc { at, .. } => Some(*at),
            _ => None,
        };
        scene.items.iter().filter_map(disc).collect()
    };
    let mut at = drawn(&chart(vec![flat("", 0.5, 30, 200)]), at);
    at.dedup();
    assert!(at.len() > 10 && at.windows(2).all(|w| (w[1].0 - w[0].0).abs() > 10.0), "{at:?}");
}

/// "performance" was cut in the graph of the causal model, its names had three sizes, and an arrow ran behind a node.
#[test]
fn a_graph_in_a_column_has_whole_names_of_one_size_and_arrows_around_its_nodes() {
    let at = [(0.0, 0.0), (1.5, 0.0), (1.5, 1.0), (0.0, 1.5), (3.0, 1.2), (0.0, 3.0), (1.5, 3.0), (4.4, 1.8)];
    let names = [
        "Da pretraining data",
        "C corpus",
        "L language",
        "R relation",
        "P prompt",
        "Db probing data",
        "T facts",
        "E performance",
    ];
    let node = |(name, at): (&str, At)| Node { label: name.into(), at, lit: false };
    let nodes = names.into_iter().zip(at).map(node).collect();
    let edge = |(from, to)| Edge { from, to, ..Edge::default() };
    let edges = [(0, 1), (2, 1), (2, 4), (3, 4), (5, 6), (3, 6), (0, 5)].map(edge).to_vec();
    let figure = Figure { layers: vec![Layer::Graph(Graph { nodes, edges })], ..Figure::default() };
    drawn(&figure, |scene| {
        assert!(texts(scene).iter().all(|t| !t.contains('…')), "{:?}", texts(scene));
        let named = scene.items.iter().filter_map(|item| match item {
            Item::Text { text, at, kind } => Some((text, text_box(scene.fonts, text, *at, kind), kind.size)),
            _ => None,
        });
        let named: Vec<_> = named.collect();
        assert!(named.iter().all(|n| n.2 == named[0].2), "{named:?}");
        // The shaft of an arrow has many points.
        let shafts = || scene.items.iter().filter(|i| matches!(i, Item::Line { points, .. } if points.len() > 8));
        assert_eq!(shafts().count(), 7);
        for (name, room, _) in &named {
            assert!(shafts().all(|shaft| !reaches(scene.fonts, shaft, *room)), "an arrow runs through {name}");
        }
    });
}

/// The texts of prompts were cut below a figure of ranks.
#[test]
fn long_names_of_categories_that_run_upwards_have_several_lines() {
    let prompts = [
        "The national capital of [X] is the city of [Y] .",
        "Students of geography learn that the capital of [X] is [Y] .",
    ];
    let prompts: Vec<String> = prompts.iter().cycle().take(4).map(|p| (*p).to_owned()).collect();
    let lines = vec![RankLine { label: "m".into(), role: Role::nth(0), ranks: vec![Some(1.0); 4] }];
    let (x, y) = (Axis::of("prompt", prompts), Axis::ranks("rank", 2));
    let figure = Figure { x, y, ..chart(vec![Layer::Ranks(Ranks { lines })]) };
    drawn(&figure, |scene| assert!(texts(scene).iter().all(|t| !t.contains('…')), "{:?}", texts(scene)));
}

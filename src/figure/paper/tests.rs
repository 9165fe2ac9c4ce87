//! Regression tests for faults that a journal would reject.

use super::super::canvas::{At, Item, Scene};
use super::super::font::Fonts;
use super::super::layers::{
    Bar, Bars, Datum, Edge, Graph, Guide, Intervals, Line, Node, Points, Range, Ranges, RankLine, Ranks, Rule, Spot,
    Strip, Token, Tokens,
};
use super::super::overlap::{reaches, text_box};
use super::super::role::{Dash, Emphasis, Marker};
use super::super::{Axis, Figure, Layer, Options, Role, Style};
use super::{lay_out, lines};

mod marks;
mod names;
mod room;

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

/// Texts that run upwards.
fn upright(scene: &Scene<'_>) -> Vec<String> {
    let text = |item: &Item| match item {
        Item::Text { text, kind, .. } if kind.upwards => Some(text.clone()),
        _ => None,
    };
    scene.items.iter().filter_map(text).collect()
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

/// Regression: three bands used to overlap, and the legend named only one.
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
        // Three points, each with a wide and a narrow interval.
        assert_eq!(at.len(), 12, "{at:?}");
        assert!(at[..6].iter().all(|a| at[6..].iter().all(|b| (a - b).abs() > 3.0)), "{at:?}");
        assert!(["wide", "narrow"].iter().all(|name| texts(scene).iter().any(|t| t == name)), "{:?}", texts(scene));
    });
}

/// Regression: three scores of two methods used to overlap in one frame, and in greyscale the methods looked the same.
#[test]
fn scores_of_several_methods_have_a_panel_each_in_which_dashes_tell_the_methods_apart() {
    let scores = ["completeness C", "reliability R"];
    let of = |(k, method): (usize, &'static str)| {
        let line = |(j, score): (usize, &str)| banded(&format!("{method} {score}"), Role::nth(k).accent(j), 0.5);
        scores.iter().enumerate().map(|(j, score)| line((j, *score))).collect::<Vec<_>>()
    };
    let rule = Layer::Rule(Rule { panel: Some(0), ..Rule::level(0.9, "C before") });
    let layers = ["FGSM", "PGD"].into_iter().enumerate().flat_map(of).chain([rule]).collect();
    let figure = chart(layers);
    let figure = Figure { y: figure.y.clone().in_panels(&scores), ..figure };
    for (width, beside) in [(84.0, false), (174.0, true)] {
        let options = Options { style: Style::Paper, width: Some(width), dpi: None };
        let fonts = Fonts::own();
        let scene = lay_out(&figure, &fonts, &[], options.look()).unwrap();
        let texts = texts(&scene);
        for once in ["FGSM", "PGD", "C before", "x", "(a)", "(b)"].into_iter().chain(scores) {
            assert_eq!(texts.iter().filter(|t| *t == once).count(), 1, "{once}: {texts:?}");
        }
        let names = scene.items.iter().filter_map(|item| match item {
            Item::Text { text, at, .. } if scores.contains(&text.as_str()) => Some(*at),
            _ => None,
        });
        let at: Vec<At> = names.collect();
        let apart = (at[1].0 - at[0].0, at[1].1 - at[0].1);
        assert_eq!((apart.0 > 50.0, apart.1 > 50.0), (beside, !beside), "{width} mm: {at:?}");
        // One segment of the dashed line in each panel, and one in the legend.
        let dashed = |i: &&Item| matches!(i, Item::Line { pen, .. } if pen.dash == Dash::Dashed);
        assert_eq!(scene.items.iter().filter(dashed).count(), 3, "{width} mm");
    }
    // Regression: panel names used to be cut on slides.
    for style in Style::ALL {
        let fonts = Fonts::own();
        let scene = lay_out(&figure, &fonts, &[], Options { style, ..Options::default() }.look()).unwrap();
        assert!(texts(&scene).iter().all(|t| !t.contains('…')), "{}: {:?}", style.name(), texts(&scene));
    }
}

/// Regression: in greyscale, "eighteen" with a score of -.67 used to look the same as with .74.
#[test]
fn a_negative_score_of_a_token_is_seen_without_colour() {
    let token = |score: f64| Token { text: "word".into(), score: Some(score), ..Token::default() };
    let strip = |scores: &[f64]| Strip { tokens: scores.iter().map(|s| token(*s)).collect(), ..Strip::default() };
    let level = |scores: &[f64]| {
        let tokens = Tokens { strips: vec![strip(scores)], ..Tokens::default() };
        let figure = Figure { layers: vec![Layer::Tokens(tokens)], ..Figure::default() };
        drawn(&figure, |scene| {
            let is = |i: &&Item| matches!(i, Item::Line { pen, .. } if pen.dash == Dash::Dashed);
            let has = |text: &str| texts(scene).iter().any(|t| t == text);
            assert!(has("−0.7") && has("0.7") && has("0") && has("0.70"), "the scale has numbers: {:?}", texts(scene));
            (scene.items.iter().filter(is).count(), has("below 0"), has("−0.70"))
        })
    };
    let (scale, ..) = level(&[0.7, 0.0]);
    let (all, below, number) = level(&[0.7, -0.7]);
    assert!(all == scale + 2 && below && number, "in the tile and in the legend: {all} of {scale}");
}

/// Regression: the label "S of a constant answer" used to cover the curves of INLP, which run close above and below it.
#[test]
fn the_label_of_a_rule_lies_on_no_line_where_there_is_room_elsewhere() {
    let rule = Rule::level(0.5, "a constant answer");
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

/// Regression: the square and the interval of the adjusted score used to be drawn on top of the range over prompts.
#[test]
fn a_point_lies_beside_the_range_of_its_category() {
    let ends = (0.4, 0.9);
    let range = Range { category: 0, ends, mean: None, dots: Vec::new(), n: 9.into() };
    let ranges = Ranges {
        label: "range".into(),
        role: Role::points(0, Marker::Circle),
        ranges: vec![range],
        ..Ranges::default()
    };
    let spot = Spot { x: 0.0, y: 0.6, y_band: Some((0.5, 0.7)), n: 9.into(), ..Spot::default() };
    let points = Points { label: "point".into(), role: Role::points(1, Marker::Square), points: vec![spot] };
    let x = Axis::of("model", ["a".to_owned(), "b".to_owned()]);
    let figure = Figure { x, ..chart(vec![Layer::Ranges(ranges), Layer::Points(points)]) };
    drawn(&figure, |scene| {
        let middle = |points: &[At]| points.iter().map(|p| p.0).sum::<f64>() / points.len() as f64;
        let spans = scene.items.iter().filter_map(|item| match item {
            Item::Fill { points, alpha, .. } if *alpha == super::bars::SPAN => Some(middle(points)),
            _ => None,
        });
        // The first box is in the chart, the second in the legend.
        let range = spans.min_by(f64::total_cmp).unwrap();
        let upright = scene.items.iter().filter_map(|item| match item {
            Item::Line { points, .. } => match points[..] {
                [(a, top), (b, bottom)] if a == b && (bottom - top).abs() > 15.0 => Some(a),
                _ => None,
            },
            _ => None,
        });
        // Vertical lines: the axis and the interval.
        let at: Vec<f64> = upright.collect();
        assert!(at.len() >= 2 && at.iter().all(|x| (x - range).abs() > 10.0), "{at:?} {range}");
        let discs = scene.items.iter().filter(|i| matches!(i, Item::Disc { .. })).count();
        assert_eq!(discs, 0, "the legend has no dots for a range without single values");
    });
}

/// Regression: figures of agreement and accuracy used to be covered by intervals from 0 to 1 over three originals each. The numbers of
/// originals and inputs now replace any interval over fewer than 10 originals.
#[test]
fn too_few_units_have_their_number_in_place_of_an_interval() {
    let few = |mut layer: Layer| {
        match &mut layer {
            Layer::Line(line) => line.points.iter_mut().for_each(|p| p.n.units = Some(7)),
            Layer::Bars(bars) => bars.bars.iter_mut().for_each(|b| b.n.units = Some(7)),
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
    let cases = [(flat("a", 0.5, 9, 5), Axis::linear("x"), "n 7"), (bars, Axis::of("x", ["a".to_owned()]), "9 (7)")];
    for (layer, x, n) in cases {
        let figure = |layer| Figure { x: x.clone(), ..chart(vec![layer, Layer::Intervals(intervals.clone())]) };
        let is = |scene: &Scene<'_>, text: &str| texts(scene).iter().any(|t| t == text);
        drawn(&figure(few(layer.clone())), |scene| {
            assert!(is(scene, n) && is(scene, "originals") && !is(scene, "95 %: originals"), "{:?}", texts(scene));
            assert_eq!((areas(scene), scene.items.iter().filter(long).count()), (0, 0));
        });
        drawn(&figure(layer), |scene| {
            assert!(is(scene, "95 %: originals") && !is(scene, "originals"), "{:?}", texts(scene));
            assert!(areas(scene) + scene.items.iter().filter(long).count() > 0);
        });
    }
}

#[test]
fn many_lines_have_intervals_at_their_markers_instead_of_areas() {
    let of = |k: usize| match flat("", 0.1 * (k + 2) as f64, 99, 20) {
        Layer::Line(line) => {
            // The lines are far apart, because lines that agree never have areas.
            let near = |p: &Datum| Datum { band: Some((p.y - 0.04, p.y + 0.04)), ..*p };
            let points = line.points.iter().map(near).collect();
            Layer::Line(Line { role: Role::nth(k), points, ..line })
        }
        other => other,
    };
    let figure = |count: usize| chart((0..count).map(of).collect());
    assert_eq!([4, 5].map(|count| drawn(&figure(count), areas)), [4, 0]);
}

#[test]
fn a_line_that_lies_on_another_is_moved_beside_it() {
    let line = |k: usize, band: Option<(f64, f64)>| {
        let point = |x: usize| Datum { x: x as f64, y: 0.5, band, n: 9.into(), ..Datum::default() };
        Layer::Line(Line { label: String::new(), role: Role::nth(k), points: (0..4).map(point).collect() })
    };
    drawn(&chart(vec![line(0, Some((0.4, 0.6))), line(1, None)]), |scene| {
        let discs = scene.items.iter().filter_map(|i| if let Item::Disc { at, .. } = i { Some(at.0) } else { None });
        let corners = scene.items.iter().filter_map(|i| match i {
            Item::Fill { points, alpha, .. } if points.len() == 3 && *alpha == 1.0 => Some(points[0].0),
            _ => None,
        });
        let discs: Vec<f64> = discs.collect();
        assert!(corners.clone().count() == 4 && corners.into_iter().all(|x| discs.iter().all(|d| (d - x).abs() > 3.0)));
    });
}

/// Regression: the legend used to explain intervals over one example and several training runs although all of them had zero length.
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

/// Regression: in the causal graph, "performance" used to be cut, names had three font sizes, and an arrow ran behind a node.
#[test]
fn a_graph_in_a_column_has_whole_names_of_one_size_and_arrows_around_its_nodes() {
    let at = [(0.0, 0.0), (1.5, 0.0), (1.5, 1.0), (0.0, 1.5), (3.0, 1.2), (0.0, 3.0), (1.5, 3.0), (4.4, 1.8)];
    let names = [
        "D_a pretraining data",
        "C corpus",
        "L language",
        "R relation",
        "P prompt",
        "D_b probing data",
        "T facts",
        "E performance",
    ];
    let node = |(name, at): (&str, At)| Node { label: name.into(), at, lit: false };
    let nodes = names.into_iter().zip(at).map(node).collect();
    let edge = |(from, to)| Edge { from, to, ..Edge::default() };
    let edges = [(0, 1), (2, 1), (2, 4), (3, 4), (5, 6), (3, 6), (0, 5)].map(edge).to_vec();
    let figure = Figure { layers: vec![Layer::Graph(Graph { nodes, edges, ..Graph::default() })], ..Figure::default() };
    drawn(&figure, |scene| {
        assert!(texts(scene).iter().all(|t| !t.contains('…')), "{:?}", texts(scene));
        let named = scene.items.iter().filter_map(|item| match item {
            Item::Text { text, at, kind } => Some((text, text_box(scene.fonts, text, *at, kind), kind.size)),
            _ => None,
        });
        let named: Vec<_> = named.collect();
        let small: Vec<&str> = named.iter().filter(|n| n.2 < named[0].2).map(|n| n.0.as_str()).collect();
        assert_eq!(small, ["a", "b"], "the subscripts alone are smaller: {named:?}");
        // The shaft of an arrow has many points.
        let shafts = || scene.items.iter().filter(|i| matches!(i, Item::Line { points, .. } if points.len() > 8));
        assert_eq!(shafts().count(), 7);
        for (name, room, _) in &named {
            assert!(shafts().all(|shaft| !reaches(scene.fonts, shaft, *room)), "an arrow runs through {name}");
        }
    });
}

/// Regression: "2048" used to run off the page if there was no legend or margin to its right.
#[test]
fn the_last_label_of_an_axis_ends_on_the_page() {
    let points = [32.0, 128.0, 512.0, 2048.0].map(|x| Datum { x, y: 0.5, n: 9.into(), ..Datum::default() });
    let line = Layer::Line(Line { label: "a".into(), role: Role::nth(0), points: points.to_vec() });
    let figure = Figure { x: Axis::doubling("training examples").of_settings(), ..chart(vec![line]) };
    drawn(&figure, |scene| {
        let end = scene.items.iter().find_map(|item| match item {
            Item::Text { text, at, kind } if text == "2,048" => Some(text_box(scene.fonts, text, *at, kind).1.0),
            _ => None,
        });
        let width = Options { style: Style::Paper, width: Some(84.0), dpi: None }.look().width;
        assert!(end.is_some_and(|end| end <= width), "{end:?} of {width}");
    });
}

/// Counts vertical strokes of at least this length.
fn strokes(scene: &Scene<'_>, least: f64) -> usize {
    let is = |item: &&Item| {
        matches!(item, Item::Line { points, pen } if points.len() == 2 && pen.colour != scene.look.grid
        && points[0].0 == points[1].0 && (points[0].1 - points[1].1).abs() > least)
    };
    scene.items.iter().filter(is).count()
}

/// Regression: Student's t intervals over two training runs used to span the axis from 0 to 1, and the dots that replaced them hid markers.
#[test]
fn two_trainings_are_the_ends_of_a_thin_line_and_no_interval() {
    let intervals = Intervals {
        narrow: "examples alone".into(),
        pair: "each of 2 training runs".into(),
        wide: "wide".into(),
        ..Intervals::default()
    };
    let figure = |pair: Option<(f64, f64)>| {
        let (band, inner) = (Some((0.0, 1.0)), Some((0.45, 0.55)));
        let point = |k: usize| Datum { x: k as f64, y: 0.5, band, inner, pair, n: 99.into(), ..Datum::default() };
        let line = Line { label: "a".into(), role: Role::line(0), points: (0..3).map(point).collect() };
        chart(vec![Layer::Line(line), Layer::Intervals(intervals.clone())])
    };
    let dots = |scene: &Scene<'_>| scene.items.iter().filter(|i| matches!(i, Item::Disc { .. })).count();
    drawn(&figure(Some((0.2, 0.8))), |scene| {
        assert_eq!((dots(scene), strokes(scene, 150.0)), (0, 1), "the axis alone is as long as an interval was");
        assert_eq!(strokes(scene, 90.0), 4, "the axis, and a line for each point");
        let texts = texts(scene);
        assert!(
            texts.iter().any(|t| t == "each of 2 training runs")
                && texts.iter().all(|t| t != "wide" && t != "examples alone"),
            "{texts:?}"
        );
    });
    drawn(&figure(None), |scene| assert_eq!((dots(scene), strokes(scene, 150.0)), (0, 4)));
    let said = super::super::caption(&figure(Some((0.2, 0.8))));
    assert!(said.contains("Marks are means of two training runs; thin lines span the two runs"), "{said}");
    let spot =
        Spot { x: 0.5, y: 0.5, x_band: Some((0.0, 1.0)), y_band: Some((0.0, 1.0)), n: 9.into(), ..Spot::default() };
    let arms = |pairs| {
        let points = vec![Spot { pairs, ..spot.clone() }];
        let role = Role::points(0, Marker::Star);
        chart(vec![Layer::Points(Points { label: "best".into(), role, points })])
    };
    drawn(&arms(Some([(0.4, 0.6), (0.4, 0.6)])), |scene| assert_eq!((dots(scene), strokes(scene, 30.0)), (0, 2)));
    drawn(&arms(None), |scene| assert_eq!((dots(scene), strokes(scene, 150.0)), (0, 2)));
}

#[test]
fn lines_that_meet_have_their_marks_by_turns() {
    let line = |k: usize| {
        let point = |x: usize| Datum { x: x as f64, y: 0.5, band: Some((0.4, 0.6)), n: 9.into(), ..Datum::default() };
        let role = Role::nth(0).marker([Marker::Triangle, Marker::Down][k]);
        Layer::Line(Line { label: String::new(), role, points: (0..12).map(point).collect() })
    };
    let figure = chart(vec![line(0), line(1)]);
    drawn(&figure, |scene| {
        let marks = scene.items.iter().filter_map(|i| match i {
            Item::Fill { points, alpha, .. } if points.len() == 3 && *alpha == 1.0 => Some(points[0].0),
            _ => None,
        });
        let mut at: Vec<f64> = marks.collect();
        at.sort_by(f64::total_cmp);
        assert!(at.len() == 12 && at.windows(2).all(|w| w[1] - w[0] > 5.0), "{at:?}");
    });
    assert!(super::super::caption(&figure).contains("Measured at 12 points; not all are drawn"));
}

/// Regression: in greyscale, a range over probe settings used to look like an interval.
#[test]
fn a_range_has_upright_strokes_where_an_interval_has_an_area() {
    let line = |role: Role| {
        let point = |x: usize| Datum { x: x as f64, y: 0.5, band: Some((0.2, 0.8)), n: 9.into(), ..Datum::default() };
        chart(vec![Layer::Line(Line { label: "a".into(), role, points: (0..12).map(point).collect() })])
    };
    let count = |figure: &Figure| drawn(figure, |scene| (areas(scene), strokes(scene, 50.0)));
    assert_eq!(count(&line(Role::line(0))), (1, 1), "an area, and the axis");
    let (areas, strokes) = count(&line(Role { dash: None, marker: None, ..Role::line(0) }));
    assert!(areas == 0 && strokes > 20, "{areas} {strokes}");
}

/// Regression: open markers used to mean both dominated and unrated settings, and a cross cannot be open.
#[test]
fn each_mark_of_a_plane_has_one_meaning() {
    let point = |(x, emphasis, is_unrated): (f64, Emphasis, bool)| Datum {
        x,
        y: 0.6,
        n: 9.into(),
        emphasis,
        is_unrated,
        ..Datum::default()
    };
    let points = [(0.1, Emphasis::Faint, true), (0.5, Emphasis::Faint, false), (0.9, Emphasis::Normal, false)];
    let line = Line { label: "method".into(), role: Role::nth(0), points: points.map(point).to_vec() };
    let guide = Guide { points: vec![(0.1, 1.0), (1.0, 0.1)], label: "R = 0.2".into(), ..Guide::default() };
    let marks = Intervals { faint: "dominated".into(), unrated: "not rated".into(), ..Intervals::default() };
    let mut figure = chart(vec![Layer::Guide(guide), Layer::Line(line), Layer::Intervals(marks)]);
    figure.x = figure.x.from_to(0.0, 1.0);
    drawn(&figure, |scene| {
        let of = |wanted: f64| {
            let is = |i: &&Item| matches!(i, Item::Disc { radius, .. } if (radius - wanted).abs() < 0.05);
            scene.items.iter().filter(is).count()
        };
        // Each marker occurs once on the plane and once in the legend: a dot, a small hollow marker, a full one.
        assert_eq!([lines::SMALL_MARK, lines::HOLLOW + 0.6, 3.7].map(of), [2, 2, 2]);
        assert!(["dominated", "not rated"].iter().all(|name| texts(scene).iter().any(|t| t == name)));
    });
    assert!(super::super::caption(&figure).contains("Touching marks of one kind are drawn once"));
}

/// Regression: at strength zero, before the gap of the axis, lines with alternating markers used to have points without a marker.
#[test]
fn points_that_no_line_joins_have_their_marks_side_by_side() {
    let line = |k: usize| {
        let point = |x: usize| Datum { x: x as f64, y: 0.5, band: Some((0.4, 0.6)), n: 9.into(), ..Datum::default() };
        let role = Role::nth(0).marker([Marker::Triangle, Marker::Down][k]);
        Layer::Line(Line { label: String::new(), role, points: (0..12).map(point).collect() })
    };
    let mut figure = chart(vec![line(0), line(1)]);
    figure.x = Axis::log("step");
    drawn(&figure, |scene| {
        let marks = scene.items.iter().filter_map(|i| match i {
            Item::Fill { points, alpha, .. } if points.len() == 3 && *alpha == 1.0 => Some(points[0].0),
            _ => None,
        });
        let mut at: Vec<f64> = marks.collect();
        at.sort_by(f64::total_cmp);
        assert!(at.len() >= 10 && at.windows(2).all(|w| w[1] - w[0] > 8.9) && at[1] - at[0] < 9.1, "{at:?}");
    });
    assert!(super::super::caption(&figure).contains("Points at zero are drawn side by side"));
}

//! Room for few bars, for counts beside each other and for the names of rings.

use super::super::super::layers::Count;
use super::*;

const WIDE: Options = Options { style: Style::Paper, width: Some(174.0), dpi: None };

fn bars(label: &str, k: usize, y: f64, units: Option<usize>) -> Layer {
    let n = Count { first: 30, second: None, units };
    let bars = vec![Bar { n, band: Some((0.2, 0.9)), ..Bar::of(0, y) }];
    Layer::Bars(Bars { label: label.into(), role: Role::nth(k), bars })
}

fn text_at(scene: &Scene<'_>, wanted: &str) -> Vec<At> {
    let text = |item: &Item| match item {
        Item::Text { text, at, .. } if text == wanted => Some(*at),
        _ => None,
    };
    scene.items.iter().filter_map(text).collect()
}

/// Regression: the page of a few bars used to be cut to their width, and the legend beside them to wrap by a fraction of a letter.
#[test]
fn a_few_bars_fill_a_wide_page_beside_a_legend_in_whole_lines() {
    let intervals = Layer::Intervals(Intervals::covering(0.95, "relations"));
    let x = Axis::of("model", ["one".to_owned()]);
    let figure = Figure { x, ..chart(vec![bars("a", 0, 0.5, None), intervals]) };
    let fonts = Fonts::own();
    let scene = lay_out(&figure, &fonts, &[], WIDE.look()).unwrap();
    assert!((scene.look.width - WIDE.look().width).abs() < 1e-9);
    assert!(scene.height < 0.4 * scene.look.width, "{}", scene.height);
    let legend = text_at(&scene, "95 %: relations");
    assert!(legend.iter().any(|at| at.0 > 0.7 * scene.look.width), "{:?}", texts(&scene));
}

/// Regression: `1 (1)` and `3 (1)` of neighbouring series used to touch.
#[test]
fn counts_of_neighbouring_series_do_not_touch() {
    let names = ["grammar", "semantics", "knowledge", "reasoning", "computation", "all"];
    let x = Axis::of("dimension", names.map(str::to_owned));
    let figure = Figure { x, ..chart(vec![bars("a", 0, 0.5, Some(7)), bars("b", 1, 0.5, Some(7))]) };
    drawn(&figure, |scene| {
        let at = text_at(scene, "30 (7)");
        assert!(at.len() == 2 && (at[0].1 - at[1].1).abs() > 10.0, "{at:?}");
        // Regression: the second used to be a row above its mark, nearer to nothing than to the other count.
        let mark = |item: &Item| if let Item::Disc { at, .. } = item { Some(at.1) } else { None };
        let marks: Vec<f64> = scene.items.iter().filter_map(mark).collect();
        assert!(at.iter().all(|at| marks.iter().any(|mark| (at.1 - mark).abs() < 20.0)), "{at:?} at {marks:?}");
    });
}

/// Regression: the name of one ring used to be next to another.
#[test]
fn the_name_of_a_ring_is_nearer_to_it_than_to_other_rings() {
    let guide = Layer::Guide(Guide { points: vec![(0.0, 1.0), (1.0, 0.9)], ..Guide::default() });
    let ring = |(label, x, y): (&str, f64, f64)| Spot { x, y, hue: Some(0), label: label.into(), ..Spot::default() };
    let rings = [("AlterRep", 0.55, 0.66), ("PGD", 0.52, 0.6), ("FGSM", 0.52, 0.56), ("INLP", 0.56, 0.6)];
    let points = rings.map(ring).to_vec();
    let best = Layer::Points(Points { label: String::new(), role: Role::points(9, Marker::Star), points });
    let x = Axis::linear("x").from_to(0.0, 1.0);
    drawn(&Figure { x, ..chart(vec![guide, best]) }, |scene| {
        let disc = |item: &Item| match item {
            Item::Disc { at, radius, .. } if *radius > 4.5 => Some(*at),
            _ => None,
        };
        let centres: Vec<At> = scene.items.iter().filter_map(disc).collect();
        assert_eq!(centres.len(), rings.len());
        for (k, (name, ..)) in rings.iter().enumerate() {
            let boxed = |item: &Item| match item {
                Item::Text { text, at, kind } if text == name => Some(text_box(scene.fonts, text, *at, kind)),
                _ => None,
            };
            let named = scene.items.iter().filter_map(boxed);
            for ((left, top), (right, bottom)) in named {
                let away = |at: &At| (at.0 - at.0.clamp(left, right)).hypot(at.1 - at.1.clamp(top, bottom));
                assert!(centres.iter().all(|at| away(&centres[k]) <= away(at)), "{name}");
            }
        }
    });
}

/// Regression: entries of several rows used to begin anywhere.
#[test]
fn entries_of_a_legend_in_rows_begin_in_columns() {
    let names = ["AlterRep", "FGSM", "identity (control)", "random subspace", "PGD", "INLP", "iterative projection"];
    let lines = names.iter().enumerate().map(|(k, name)| flat(name, 0.1 * k as f64, 99, 20)).collect();
    drawn(&chart(lines), |scene| {
        let mut lefts: Vec<f64> = names.iter().flat_map(|name| text_at(scene, name)).map(|at| at.0).collect();
        lefts.sort_by(f64::total_cmp);
        lefts.dedup_by(|a, b| (*a - *b).abs() < 0.01);
        assert!((2..=3).contains(&lefts.len()), "{lefts:?}");
    });
}

/// Regression: a label in one line used to be moved away from its rule, although two short lines fit beside it.
#[test]
fn the_label_of_a_rule_breaks_where_only_two_lines_fit() {
    let valley =
        |k: u32| Datum { x: f64::from(k), y: (f64::from(k) / 10.0 - 1.0).abs(), n: 9.into(), ..Datum::default() };
    let line = Layer::Line(Line { label: String::new(), role: Role::line(0), points: (0..=20).map(valley).collect() });
    // The halves of the second are unequal.
    for name in ["selectivity of an answer that never changes", "S of an answer that is constant everywhere"] {
        drawn(&chart(vec![line.clone(), Layer::Rule(Rule::level(0.5, name))]), |scene| {
            let first = texts(scene).into_iter().find(|text| name.starts_with(text.as_str()) && text.len() > 2);
            assert!(first.as_ref().is_some_and(|text| text != name), "{first:?}");
        });
    }
}

/// Regression: the label of the unedited states used to be far from its line, with other lines between them.
#[test]
fn a_rule_without_room_is_named_in_the_legend() {
    let rule = Layer::Rule(Rule::level(0.5, "unedited").in_legend());
    drawn(&chart(vec![flat("nearest", 0.49, 99, 20), flat("norm", 0.51, 99, 20), rule]), |scene| {
        let [name, line] = ["unedited", "nearest"].map(|text| text_at(scene, text));
        assert!(name.len() == 1 && line.len() == 1, "{:?}", texts(scene));
        assert!(name[0].1 - line[0].1 < 60.0, "{name:?} {line:?}");
    });
}

/// Regression: the mark of the identity used to cover those of methods at small strengths.
#[test]
fn marks_of_controls_are_below_those_of_methods() {
    let line = |role: Role| {
        let point = Datum { x: 0.2, y: 0.9, n: 9.into(), ..Datum::default() };
        Layer::Line(Line { label: "a".into(), role, points: vec![point, Datum { x: 0.3, ..point }] })
    };
    let guide = Layer::Guide(Guide { points: vec![(0.0, 1.0), (1.0, 0.9)], ..Guide::default() });
    let control = Role { hue: 3, dash: Some(Dash::Solid), marker: Some(Marker::Stroke), ..Role::default() };
    let x = Axis::linear("x").from_to(0.0, 1.0);
    drawn(&Figure { x, ..chart(vec![guide, line(Role::nth(0)), line(control)]) }, |scene| {
        let last = |hue: usize| {
            let colour = scene.look.series(hue);
            let is = |i: &Item| match i {
                Item::Disc { colour: c, .. } | Item::Fill { colour: c, .. } => *c == colour,
                _ => false,
            };
            scene.items.iter().rposition(is)
        };
        assert!(last(3).is_some() && last(3) < last(0), "{:?} {:?}", last(3), last(0));
    });
}

/// Regression: nothing used to say why some marks have no interval.
#[test]
fn the_caption_says_that_some_intervals_are_shorter_than_their_marks() {
    let points = |ends: [f64; 3]| {
        let point = |(k, low): (usize, f64)| Datum { x: k as f64, y: 1.0, band: Some((low, 1.0)), ..Datum::default() };
        let points = ends.into_iter().enumerate().map(point).collect();
        super::super::left_out(&chart(vec![Layer::Line(Line { label: "accuracy".into(), role: Role::nth(0), points })]))
    };
    let says = |notes: Vec<String>| notes.iter().any(|note| note.contains("shorter than its mark"));
    assert!(says(points([0.2, 0.99, 1.0])) && !says(points([0.2, 0.3, 0.4])));
}

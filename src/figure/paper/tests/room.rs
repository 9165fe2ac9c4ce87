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

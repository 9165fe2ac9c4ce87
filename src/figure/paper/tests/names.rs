//! Names of categories below a frame.

use super::*;

/// Regression: names used to be broken at hyphens, as "seman-" above "tics".
#[test]
fn names_that_do_not_fit_are_small_and_whole() {
    let names = ["grammar", "semantics", "knowledge", "reasoning", "computation", "all"];
    let bars = (0..names.len()).map(|k| Bar { n: 99.into(), ..Bar::of(k, 0.5) }).collect();
    let bars = Layer::Bars(Bars { label: "a".into(), role: Role::nth(0), bars });
    drawn(&Figure { x: Axis::of("dimension", names.map(str::to_owned)), ..chart(vec![bars]) }, |scene| {
        let sizes = names.map(|name| {
            scene.items.iter().find_map(|item| match item {
                Item::Text { text, kind, .. } if text == name => Some(kind.size),
                _ => None,
            })
        });
        assert_eq!(sizes, [Some(super::super::FINE); 6]);
    });
}

/// Regression: names in three lines used to halve the frame of their panel.
#[test]
fn panels_are_equally_high_whatever_their_names() {
    let spot = |x: usize| Spot { x: x as f64, y: 0.5, n: 9.into(), ..Spot::default() };
    let points = |panel: usize, xs: std::ops::Range<usize>| {
        let role = Role::points(0, Marker::Square).accent(panel);
        Layer::Points(Points { label: "a".into(), role, points: xs.map(spot).collect() })
    };
    let names = ["bert-large-cased", "roberta-large", "gpt2-xl", "bart-large", "t5-small", "bert-mini", "all six"];
    let x = Axis::of("", names.map(str::to_owned)).in_panels(&["model", "models"]);
    let y = Axis::linear("share").from_to(0.0, 1.0).in_panels(&["share: gap", "share: order"]);
    let figure = Figure { x, y, ..chart(vec![points(0, 0..6), points(1, 6..7)]) };
    drawn(&figure, |scene| {
        let ticks = |label: &str| -> Vec<f64> {
            let at = |item: &Item| match item {
                Item::Text { text, at, .. } if text == label => Some(at.1),
                _ => None,
            };
            scene.items.iter().filter_map(at).collect()
        };
        let (low, high) = (ticks("0.0"), ticks("1.0"));
        let frames: Vec<f64> = low.iter().zip(&high).map(|(low, high)| low - high).collect();
        assert!(frames.len() == 2 && (frames[0] - frames[1]).abs() < 1.0, "{frames:?} {:?}", texts(scene));
    });
}

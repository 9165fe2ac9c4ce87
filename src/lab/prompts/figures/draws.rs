//! Figures over draws of relations: rank consistency, places, and both against the number of prompts that are averaged.

use super::{Word, band, covering, figure, models};
use crate::consistency::Regime;
use crate::finding::RankCurveFinding;
use crate::results::Results;
use figure::layers::{Bar, Bars, Datum, Line};
use figure::{Axis, Figure, Layer, Role};
use lab::{EngineInfo, Tagged};
use model::source::in_print;

/// The regimes in which prompts and names are drawn.
const REGIMES: [Word; 3] = [
    ("original", "the first prompt of each relation and the usual name of each subject"),
    ("random", "one prompt and one name drawn for each"),
    ("adjusted", "P@1 averaged over all prompts and names"),
];
const DRAWS: &str = "draws of relations";

/// Rank consistency of every model and of the whole order under the three regimes (Table 4 of the paper).
pub fn consistency(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let names = results.models();
    // Of two models, each is as consistent as their order.
    let is_pair = names.len() == 2;
    let mut layers = Vec::new();
    for (k, regime) in Regime::ALL.into_iter().enumerate() {
        let each = names.iter().map(|m| Some(*m)).filter(|_| !is_pair).chain([None]).enumerate();
        let bars: Vec<Bar> = each
            .filter_map(|(at, model)| {
                let r = results.rank(regime, model)?;
                let e = r.value.consistency;
                Some(Bar { band: band(e), n: (r.value.draws as usize).into(), ..Bar::of(at, e.mean) })
            })
            .collect();
        if !bars.is_empty() {
            layers.push(Layer::Bars(Bars { label: regime.name().into(), role: Role::nth(k), bars }));
        }
    }
    layers.extend(covering(results.ranks.first(), "draws (random alone; the others count all)"));
    let (all, order) = (models(results), "whole order".to_owned());
    let axis = match is_pair {
        true => Axis::of("order of", [all.join(" and ")]),
        false => Axis::of("model", all.into_iter().chain([order])),
    };
    figure(
        (results, engine),
        ("consistency".into(), "Rank consistency: share of draws with the most frequent place".into()),
        (axis, Axis::linear("share of draws").from_to(0.0, 1.0)),
        layers,
        (results.ranks.first(), DRAWS, &REGIMES),
    )
}

/// Bars of a histogram over the places of `models` models: the first number is the worst place's.
fn bars_by_place(histogram: &[u64], draws: u64, models: usize) -> Vec<Bar> {
    // Shared places are counted by halves.
    let step = if histogram.len() > models { 0.5 } else { 1.0 };
    let bar = |(at, n): (usize, &u64)| {
        // Places count from 1, the best, as readers expect.
        let place = models as f64 - at as f64 * step;
        let (from, to) = (place - 0.45 * step, place + 0.45 * step);
        Bar { from, to, y: *n as f64 / draws as f64, n: (draws as usize).into(), ..Bar::default() }
    };
    let mut bars: Vec<Bar> = histogram.iter().enumerate().map(bar).collect();
    bars.reverse();
    bars
}

/// So many prompts in words.
pub fn some_prompts(n: usize) -> String {
    if n == 1 { "1 prompt".into() } else { format!("{n} prompts") }
}

/// Counts of a model's places under the three regimes, and by number of prompts averaged in a relation (`prompts`;
/// those of the curve).
pub fn places_of(
    results: &Results,
    engine: Option<&EngineInfo>,
    model: &str,
    prompts: Option<usize>,
) -> Option<Figure> {
    let (mut layers, mut behind, models) = (Vec::new(), None, results.models());
    for (k, regime) in Regime::ALL.into_iter().enumerate() {
        let Some(r) = results.rank(regime, Some(model)) else { continue };
        behind = behind.or(Some(r));
        let bars = bars_by_place(&r.value.histogram, r.value.draws, models.len());
        layers.push(Layer::Bars(Bars { label: regime.name().into(), role: Role::nth(k), bars }));
    }
    let averaged = results.curve.iter().find(|c| Some(c.value.prompts) == prompts).map(|c| &c.value);
    let at = models.iter().position(|m| *m == model);
    if let (Some(c), Some(histogram)) = (averaged, averaged.zip(at).and_then(|(c, at)| c.histograms.get(at))) {
        let label = format!("average of {}", some_prompts(c.prompts));
        let bars = bars_by_place(histogram, c.draws, models.len());
        layers.push(Layer::Bars(Bars { label, role: Role::nth(Regime::ALL.len()), bars }));
    }
    let title = format!("Places of {} over draws of relations", in_print(model));
    figure(
        (results, engine),
        (format!("places-{}", in_print(model)), title),
        (Axis::linear("place by P@1 (1: best)").in_whole_numbers(), Axis::linear("share of draws").from_to(0.0, 1.0)),
        layers,
        (behind, DRAWS, &REGIMES),
    )
}

/// Consistency of the whole order against the number of prompts that are averaged.
pub fn curve(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let point = |c: &Tagged<RankCurveFinding>| Datum {
        x: c.value.prompts as f64,
        y: c.value.consistency.mean,
        band: band(c.value.consistency),
        n: (c.value.draws as usize).into(),
        ..Datum::default()
    };
    let mut layers = Vec::new();
    if !results.curve.is_empty() {
        let points: Vec<Datum> = results.curve.iter().map(point).collect();
        layers.push(Layer::Line(Line { label: "whole order".into(), role: Role::nth(0).strong(), points }));
        let mean = |c: &Tagged<RankCurveFinding>| Datum { y: c.value.mean_place, band: None, ..point(c) };
        if results.curve.iter().any(|c| c.value.mean_place != c.value.consistency.mean) {
            let points = results.curve.iter().map(mean).collect();
            layers.push(Layer::Line(Line { label: "mean of the models".into(), role: Role::nth(1), points }));
        }
        layers.extend(covering(results.curve.first(), "draws"));
    }
    let most = results.curve.iter().map(|c| c.value.prompts).max().unwrap_or(0);
    // From 0 to at least 4 the ticks are whole numbers.
    let prompts = Axis::linear("prompts (per relation)").from_to(1.0, most.max(4) as f64).in_whole_numbers();
    figure(
        (results, engine),
        ("curve".into(), "Rank consistency against the number of prompts that are averaged".into()),
        (prompts, Axis::linear("share of draws").from_to(0.0, 1.0)),
        layers,
        (results.curve.first(), DRAWS, &[("whole order", "draws with the most frequent order of all models")]),
    )
}

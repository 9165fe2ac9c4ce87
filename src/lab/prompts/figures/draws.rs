//! Figures over draws of relations: rank consistency, ranks, and both against the number of averaged prompts.

use super::{Word, band, covering, figure, models};
use crate::consistency::Regime;
use crate::finding::RankCurveFinding;
use crate::results::Results;
use base::numbers::short;
use figure::layers::{Bar, Bars, Datum, Line, Rule, grouped};
use figure::{Axis, Figure, Layer, Role};
use lab::{EngineInfo, Tagged};
use model::source::in_print;

/// The regimes of drawing prompts and names.
const REGIMES: [Word; 3] = [
    ("original", "the first prompt of each relation and the usual name of each subject"),
    ("random", "one random prompt per relation and one random name per subject"),
    ("adjusted", "P@1 averaged over all prompts and names"),
];
const DRAWS: &str = "draws of relations";
/// Axis label for rank consistency, a term defined in the figure titles.
const SHARE: &str = "rank consistency (share of draws)";
/// Label of the line at the least possible share.
const LEAST: &str = "least possible";
/// Caption text on the method of intervals for shares of draws.
const OF_DRAWS: &str =
    "Clopper and Pearson's over draws, with a lower limit that accounts for choosing the most frequent rank or order";

/// States which regimes enumerate all draws and which sample them: `original and adjusted: all 6 possible draws, hence no interval; random:
/// a random sample of 200 draws`.
fn sampled(results: &Results, model: Option<&str>) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for regime in Regime::ALL {
        let Some(r) = results.rank(regime, model) else { continue };
        let draws = grouped(r.value.draws as usize);
        let said = match r.value.exact {
            true => format!("all {draws} possible draws, hence no interval"),
            false => format!("a random sample of {draws} draws"),
        };
        match groups.iter_mut().find(|g| g.0 == said) {
            Some(group) => group.1.push(regime.name()),
            None => groups.push((said, vec![regime.name()])),
        }
    }
    let size = results
        .ranks
        .first()
        .map_or(String::new(), |r| format!("; a draw is {} of {} relations", r.value.subset, r.value.relations));
    let each: Vec<String> =
        groups.into_iter().map(|(said, names)| format!("{}: {said}", names.join(" and "))).collect();
    each.join("; ") + &size
}

/// Number of possible orders of the models; its reciprocal is the least possible consistency of the whole order. `None` if models can share
/// ranks, which allows more orders, or with more than three models, where the reciprocal is close to 0.
fn orders(results: &Results) -> Option<usize> {
    let models = results.models().len();
    let can_share = results.ranks.iter().any(|r| r.value.histogram.len() > models);
    ((2..=3).contains(&models) && !can_share).then(|| (2..=models).product())
}

fn least(orders: usize, label: &str) -> Layer {
    Layer::Rule(Rule::level(1.0 / orders as f64, label))
}

/// Adds to the caption which draws are enumerated and which sampled.
fn with_draws(mut figure: Figure, draws: String) -> Figure {
    figure.provenance.entries.push(("draws".into(), draws));
    figure
}

/// Rank consistency for every model and for the whole order, under the three regimes (Table 4 in the paper).
pub fn consistency(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let names = results.models();
    // With two models, each model's consistency equals that of the order.
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
    // Bars of several models leave no room for a label. The rule applies only to this run's bars; published bars belong to other models.
    let orders = orders(results).filter(|_| !layers.is_empty());
    layers.extend(orders.map(|orders| least(orders, if is_pair { LEAST } else { "" })));
    layers.extend(covering(results.ranks.first(), "draws"));
    let (all, order) = (models(results), "whole order".to_owned());
    let axis = match is_pair {
        true => Axis::of("pair of models", [all.join(" and ")]),
        false => Axis::of("model", all.into_iter().chain([order])),
    };
    let of = if is_pair { "order" } else { "rank or order" };
    let is_exact = |regime| results.rank(regime, None).is_none_or(|r| r.value.exact);
    let method = if Regime::ALL.into_iter().all(is_exact) { "" } else { OF_DRAWS };
    let drawn = figure(
        (results, engine),
        ("consistency".into(), format!("Rank consistency: share of draws with the most frequent {of}")),
        (axis, Axis::linear(SHARE).from_to(0.0, 1.0)),
        layers,
        (results.ranks.first(), DRAWS, method, &REGIMES),
    );
    let mut drawn = with_draws(drawn?, sampled(results, None));
    let of_pair = if is_pair { "" } else { " of the whole order" };
    drawn.provenance.entries.extend(orders.map(|orders| {
        let key = format!("line at {}", short(1.0 / orders as f64));
        (
            key,
            format!("least possible share{of_pair}: 1 divided by the {} orders of this run's models", grouped(orders)),
        )
    }));
    Some(drawn)
}

/// Bars of a histogram over the ranks of `models` models; the first number belongs to the lowest rank.
fn bars_by_place(histogram: &[u64], draws: u64, models: usize) -> Vec<Bar> {
    // Tied models may share ranks, which then come in half steps.
    let step = if histogram.len() > models { 0.5 } else { 1.0 };
    let bar = |(at, n): (usize, &u64)| {
        // Displayed ranks count from 1, the best, as readers expect.
        let place = models as f64 - at as f64 * step;
        let (from, to) = (place - 0.45 * step, place + 0.45 * step);
        Bar { from, to, y: *n as f64 / draws as f64, n: (draws as usize).into(), ..Bar::default() }
    };
    let mut bars: Vec<Bar> = histogram.iter().enumerate().map(bar).collect();
    bars.reverse();
    bars
}

pub fn some_prompts(n: usize) -> String {
    if n == 1 { "1 prompt".into() } else { format!("{n} prompts") }
}

/// Counts of a model's ranks under the three regimes and, with `prompts`, for that number of averaged prompts on the curve.
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
    let title = format!("Ranks of {} over draws of relations", in_print(model));
    let drawn = figure(
        (results, engine),
        (format!("places-{}", in_print(model)), title),
        (Axis::linear("rank by P@1 (1: best)").in_whole_numbers(), Axis::linear("share of draws").from_to(0.0, 1.0)),
        layers,
        (behind, DRAWS, "", &REGIMES),
    );
    let mut text = sampled(results, Some(model)).replace(", hence no interval", "");
    let sampled = Regime::ALL.into_iter().filter_map(|regime| results.rank(regime, Some(model)));
    if let Some(draws) = sampled.filter(|r| !r.value.exact).map(|r| r.value.draws).min() {
        // A share of one half has the largest standard error.
        let error = 1.96 * (0.25 / draws.max(1) as f64).sqrt();
        text.push_str(&format!("; the shares of a sample of draws are accurate to ± {error:.2} (95 %)"));
    }
    Some(with_draws(drawn?, text))
}

/// Consistency of the whole order against the number of averaged prompts.
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
        layers.push(Layer::Line(Line { label: "most frequent order".into(), role: Role::nth(0).strong(), points }));
        let mean = |c: &Tagged<RankCurveFinding>| Datum { y: c.value.mean_place, band: None, ..point(c) };
        if results.curve.iter().any(|c| c.value.mean_place != c.value.consistency.mean) {
            let points = results.curve.iter().map(mean).collect();
            layers.push(Layer::Line(Line { label: "mean of the models".into(), role: Role::nth(1), points }));
        }
        layers.extend(orders(results).map(|orders| least(orders, LEAST)));
        layers.extend(covering(results.curve.first(), "draws"));
    }
    let most = results.curve.iter().map(|c| c.value.prompts).max().unwrap_or(0);
    // Ticks from 0 to at least 4 are integers.
    let prompts = Axis::linear("prompts (per relation)").from_to(1.0, most.max(4) as f64).in_whole_numbers();
    let draws =
        results.ranks.first().map_or(String::new(), |r| format!("{} of {} ", r.value.subset, r.value.relations));
    let drawn = figure(
        (results, engine),
        (
            "curve".into(),
            "Rank consistency, the share of draws with the most frequent order, against the number of prompts that are averaged"
                .into(),
        ),
        (prompts, Axis::linear(SHARE).from_to(0.0, 1.0)),
        layers,
        (
            results.curve.first(),
            DRAWS,
            OF_DRAWS,
            &[("most frequent order", "the most frequent order of all models by P@1")],
        ),
    );
    let text = format!(
        "{draws}relations at random and, for each, a random sample of prompts (as many as the horizontal axis shows), whose P@1 is averaged"
    );
    Some(with_draws(drawn?, text))
}

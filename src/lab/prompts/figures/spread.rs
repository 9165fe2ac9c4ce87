//! Figures of the spread over prompts in all relations: worst and best score of every model, and the share of relations where the choice of
//! prompt matters.

use super::{ADJUSTED, AVERAGED, USUAL, Word, band, covering, figure, models, of_means};
use crate::finding::PreferenceSummaryFinding;
use crate::results::Results;
use figure::layers::{Bar, Bars, Points, Range, Ranges, Spot};
use figure::{Axis, Figure, Layer, Marker, Role};
use lab::{EngineInfo, Tagged};
use stats::estimate::Estimate;
use stats::intervals::{clopper_pearson, share};

/// Titles and horizontal axes of the panels of [`turned`].
const PANELS: [&str; 2] = [
    "share of relations: best and worst prompt over 10 percentage points apart",
    "share of relations: order of models changes",
];
const MODELS: [&str; 2] = ["model", "models compared"];
const MEASURES: [Word; 2] = [
    ("points apart", "P@1 of a relation's best prompt minus that of its worst prompt, in percentage points"),
    ("order of models", "the order by P@1; it changes if two prompts of a relation give different orders"),
];
/// Names of the two measures in [`turned`].
pub(crate) const APART: &str = "over 10 points apart";
pub(crate) const TURNS: &str = "order of models changes";

const P_AT_1: Word = ("P@1", "share of facts whose most probable answer is the right one");

/// Explains P@1 if the figure or the explanation of another term names it.
pub(crate) fn with_p_at_1(mut figure: Figure) -> Figure {
    let (name, meaning) = P_AT_1;
    if figure.provenance.terms.iter().any(|(_, meaning)| meaning.contains(name)) {
        figure.provenance.terms.push((name.into(), meaning.into()));
        return figure;
    }
    figure.with_terms(&[P_AT_1])
}

/// Caption text on the intervals of these shares, each with its n; names only the methods that are used.
pub(super) fn of_shares(shares: impl Iterator<Item = (f64, usize)>, units: &str) -> String {
    let is_exact = |(mean, n): (f64, usize)| {
        let (successes, n) = ((mean * n as f64).round() as u64, n as u64);
        share(successes, n, 0.95) == clopper_pearson(successes, n, 0.95)
    };
    let exact: Vec<bool> = shares.map(is_exact).collect();
    let method = match (exact.contains(&true), exact.contains(&false)) {
        (true, false) => "Clopper and Pearson's for proportions",
        (false, _) => "Wilson's for proportions",
        (true, true) => "Wilson's for proportions, or Clopper and Pearson's with fewer than 5 successes or failures",
    };
    format!("{method}, over {units}")
}

/// Worst and best P@1 of every model, averaged over relations (Table 1 of the paper), with the adjusted score. The standard deviation over
/// prompts is only in the table, because on the axis of P@1 it would look like a score.
pub fn preference(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let (mut ranges, mut adjusted) = (Vec::new(), Vec::new());
    for (category, model) in results.models().into_iter().enumerate() {
        let Some(s) = results.summaries.iter().find(|s| s.model == model) else { continue };
        let (Some(worst), Some(best)) = (s.value.mean_worst, s.value.mean_best) else { continue };
        let ends = (worst.mean, best.mean);
        ranges.push(Range { category, ends, mean: None, dots: Vec::new(), n: s.n.into() });
        let spot = |e: Estimate| {
            let (x, y) = (category as f64, e.mean);
            Spot { x, y, y_band: band(e), n: s.n.into(), ..Spot::default() }
        };
        adjusted.extend(s.value.mean_adjusted.map(spot));
    }
    let mut layers = Vec::new();
    if !ranges.is_empty() {
        let (label, role) = ("worst to best prompt".into(), Role::points(0, Marker::Circle));
        layers.push(Layer::Ranges(Ranges { label, role, ranges, ..Ranges::default() }));
        let role = Role::points(1, Marker::Square);
        layers.push(Layer::Points(Points { label: ADJUSTED.into(), role, points: adjusted }));
        layers.extend(covering(results.summaries.first(), "relations"));
    }
    let relations = results.summaries.first().map_or(0, |s| s.value.relations);
    figure(
        (results, engine),
        ("preference".into(), "P@1 from the worst to the best prompt, usual name, mean over relations".into()),
        (Axis::of("model", models(results)), Axis::linear("P@1").from_to(0.0, 1.0)),
        layers,
        (
            results.summaries.first(),
            "relations",
            &format!("for the adjusted score only: {}", of_means(relations, "0 and 1")),
            &[("usual name", USUAL), ("adjusted", AVERAGED)],
        ),
    )
}

/// Share of the relations on which the choice of prompt matters: for each model, relations with a gap above 10 points;
/// for all, relations on which the order of the models changes.
pub fn turned(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let names = results.models();
    let over = names.iter().enumerate().filter_map(|(at, model)| {
        let s = results.summaries.iter().find(|s| s.model == *model)?;
        let e = s.value.over_10;
        Some(Bar { band: band(e), n: s.n.into(), ..Bar::of(at, e.mean) })
    });
    let bars: Vec<Bar> = over.collect();
    let of_order = |s: &Tagged<PreferenceSummaryFinding>| {
        let (e, x) = (s.value.unstable?, names.len() as f64);
        Some(Spot { x, y: e.mean, y_band: band(e), n: s.n.into(), ..Spot::default() })
    };
    let points: Vec<Spot> = results.summaries.iter().find_map(of_order).into_iter().collect();
    let has_order = !points.is_empty();
    let mut layers = Vec::new();
    if !bars.is_empty() {
        layers.push(Layer::Bars(Bars { label: APART.into(), role: Role::nth(0).accent(0), bars }));
    }
    if has_order {
        let role = Role::points(0, Marker::Square).accent(1);
        layers.push(Layer::Points(Points { label: TURNS.into(), role, points }));
    }
    layers.extend(covering(results.summaries.first(), "relations"));
    let shares = || results.summaries.iter().flat_map(|s| [Some(s.value.over_10), s.value.unstable].map(|e| (e, s.n)));
    let method = of_shares(shares().filter_map(|(e, n)| Some((e?.mean, n))), "relations");
    let all = if names.len() == 2 { "both models".to_owned() } else { format!("all {} models", names.len()) };
    let all = Some(all).filter(|_| has_order);
    let drawn = figure(
        (results, engine),
        ("turned".into(), "Relations on which the choice of the prompt matters".into()),
        (
            Axis::of("model", models(results).into_iter().chain(all)),
            Axis::linear("share of relations").from_to(0.0, 1.0),
        ),
        layers,
        (results.summaries.first(), "relations", &method, &MEASURES[..if has_order { 2 } else { 1 }]),
    );
    if has_order { drawn.map(in_two_panels) } else { drawn }
}

/// Splits a figure of relations on which the prompt matters into two panels, one per measure.
pub(crate) fn in_two_panels(mut figure: Figure) -> Figure {
    (figure.x, figure.y) = (figure.x.in_panels(&MODELS), figure.y.in_panels(&PANELS));
    figure
}

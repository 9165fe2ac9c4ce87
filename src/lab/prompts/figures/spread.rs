//! Figures of the spread over prompts, over all relations: worst, best and standard deviation of every model, and on how many
//! relations the choice of the prompt matters.

use super::{ADJUSTED, band, by_rule, covering, figure, models};
use crate::finding::PreferenceSummaryFinding;
use crate::results::Results;
use figure::layers::{Bar, Bars, Points, Range, Ranges, Spot};
use figure::{Axis, Figure, Layer, Marker, Role};
use lab::{EngineInfo, Tagged};
use stats::estimate::Estimate;

/// The last category of [`turned`], which belongs to all models together.
pub const ORDER: &str = "order of models";

/// Worst and best P@1 of every model, averaged over relations (Table 1 of the paper), with the adjusted score. The standard deviation
/// over prompts is in the table: on the axis of P@1 it would be read as a score.
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
        let (label, role) = ("worst to best".into(), Role::points(0, Marker::Circle));
        layers.push(Layer::Ranges(Ranges { label, role, ranges }));
        let role = Role::points(1, Marker::Square);
        layers.push(Layer::Points(Points { label: ADJUSTED.into(), role, points: adjusted }));
        layers.extend(covering(results.summaries.first(), "relations"));
    }
    figure(
        (results, engine),
        ("preference".into(), "P@1 from the worst to the best prompt, usual name, mean over relations".into()),
        (Axis::of("model", models(results)), Axis::linear(by_rule(results, "P@1"))),
        layers,
        results.summaries.first(),
    )
}

/// On what share of the relations the choice of the prompt matters: of each model those with a gap above 10 points, and those on
/// which the order of the models changes.
pub fn turned(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let names = results.models();
    let of = |at: usize, summary: &Tagged<PreferenceSummaryFinding>, e: Estimate| Bar {
        band: band(e),
        n: summary.n.into(),
        ..Bar::of(at, e.mean)
    };
    let over = names.iter().enumerate().filter_map(|(at, model)| {
        let s = results.summaries.iter().find(|s| s.model == *model)?;
        Some(of(at, s, s.value.over_10))
    });
    let order = results.summaries.iter().find_map(|s| Some(of(names.len(), s, s.value.unstable?)));
    let bars: Vec<Bar> = over.chain(order).collect();
    let mut layers = match bars.is_empty() {
        true => Vec::new(),
        false => {
            let label = format!("gap above 10 points; {ORDER}: it changes with the prompt");
            vec![Layer::Bars(Bars { label, role: Role::nth(0), bars })]
        }
    };
    layers.extend(covering(results.summaries.first(), "relations"));
    figure(
        (results, engine),
        ("turned".into(), "Relations on which the choice of the prompt matters".into()),
        (
            Axis::of(
                "gap between prompts, by model; order of the models",
                models(results).into_iter().chain([ORDER.to_owned()]),
            ),
            Axis::linear(by_rule(results, "share of relations")).from_to(0.0, 1.0),
        ),
        layers,
        results.summaries.first(),
    )
}

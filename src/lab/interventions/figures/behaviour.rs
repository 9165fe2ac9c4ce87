//! Behaviour of the model itself after one method, by strength.

use super::{axis, covered, covers, datum, layer, parameter, properties, scale_of, written, written_out};
use crate::banded::Banded;
use crate::finding::BehaviourFinding;
use crate::key::MethodKey;
use crate::results::Results;
use figure::layers::{Line, Rule, counted};
use figure::{Axis, Figure, Layer, Role};
use lab::{EngineInfo, Origin, Tagged};
use model::source::in_print;

/// A line of the figure.
type Quantity = fn(&BehaviourFinding) -> Option<Banded>;

/// Behaviour against the strength of one method in one model: the share of changed preferences, the model's confidence in the correct form,
/// and its reciprocal rank among the verb forms. `None` if not measured.
pub fn behaviour(
    results: &Results,
    engine: Option<&EngineInfo>,
    model: &str,
    method: &MethodKey,
    marker: Option<f64>,
) -> Option<Figure> {
    let mine = results.behaviour.iter().filter(|b| b.model == model && b.value.method_key() == *method);
    let mut points: Vec<&Tagged<BehaviourFinding>> = mine.collect();
    points.sort_by(|a, b| a.value.value.total_cmp(&b.value.value));
    let first = *points.first()?;
    let forms = first.value.told.as_ref().map_or(0, |t| t.forms);
    let series: [(String, Quantity); 3] = [
        ("flips of the preferred form".into(), |b| Some(b.flip_rate)),
        ("probability of the correct form".into(), |b| Some(b.correct_after)),
        (format!("1 / rank of the correct form among {forms}"), |b| b.told.as_ref().map(|t| t.rank_after)),
    ];
    let mut layers: Vec<Layer> = Vec::new();
    for (k, (label, of)) in series.into_iter().enumerate() {
        let point = |b: &&Tagged<BehaviourFinding>| {
            of(&b.value).map(|y| datum(b.value.value, y, b.n.into(), b.value.replicates))
        };
        let points: Vec<_> = points.iter().filter_map(point).collect();
        if !points.is_empty() {
            layers.push(Layer::Line(Line { label, role: Role::nth(k), points }));
        }
    }
    layers.extend(first.level.map(|level| Layer::Intervals(covered(level, first.value.replicates))));
    let before = first.value.correct_before.mean;
    layers.push(Layer::Rule(Rule::level(before, "probability before the edit")));
    let rank =
        first.value.told.as_ref().map(|t| Layer::Rule(Rule::level(t.rank_before.mean, "1 / rank before the edit")));
    layers.extend(rank);
    let (symbol, label) = parameter(&first.value.parameter);
    if let Some(at) = marker {
        layers.push(Layer::Rule(Rule::upright(at, format!("{symbol} = {}", written(at)))));
    }
    let short = in_print(model);
    let mut origin = Origin::default();
    properties(results, model).into_iter().for_each(|(key, value)| origin.add(&key, value));
    origin.add("n", counted(points.iter().map(|b| b.n), "test examples").unwrap_or_default());
    written_out([method.name.as_str()].into_iter()).into_iter().for_each(|(key, text)| origin.add(&key, text));
    origin.results(
        first,
        points.iter().all(|p| p.is_final),
        &format!(", {}", covers(first.value.replicates, first.value.replicates)),
    );
    scale_of(results, model, &first.value.parameter).into_iter().for_each(|(key, text)| origin.add(&key, text));
    origin.explain([
        ("flip", "an example whose preferred form changes"),
        ("form", "singular or plural of the predicted verb; the model prefers the more probable one. Before the edit, the share is 0"),
        ("probability of the correct form", "of the two forms, renormalised to sum to 1"),
    ]);
    origin.add("model", model);
    Some(Figure {
        name: format!("behaviour-{short}-{}", method.file_name()),
        title: format!(
            "{short}'s own predictions after {} at {}",
            method.title(),
            layer(results, model, first.value.layer)
        ),
        x: axis(&method.name, label),
        y: Axis::linear("share or mean over examples").from_to(0.0, 1.0),
        layers,
        provenance: origin.computed_by(engine),
    })
}

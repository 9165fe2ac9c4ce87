//! Behaviour of the model itself after one method, against its strength.

use super::{axis, covered, datum, parameter};
use crate::banded::Banded;
use crate::finding::BehaviourFinding;
use crate::key::MethodKey;
use crate::results::Results;
use figure::layers::{Line, Rule};
use figure::{Axis, Figure, Layer, Role};
use lab::{EngineInfo, Origin, Tagged};
use model::source::in_print;

/// A line of the figure.
type Quantity = fn(&BehaviourFinding) -> Option<Banded>;

/// Share of changed preferences, confidence of the model of the correct one of the two, and one over its rank among the verb
/// forms, against the strength of one method in one model. None where the model was not asked.
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
        ("preferred form changes".into(), |b| Some(b.flip_rate)),
        ("correct form of the two".into(), |b| Some(b.correct_after)),
        (format!("1 / its rank among {forms} verb forms"), |b| b.told.as_ref().map(|t| t.rank_after)),
    ];
    let mut layers: Vec<Layer> = Vec::new();
    for (k, (label, of)) in series.into_iter().enumerate() {
        let point = |b: &&Tagged<BehaviourFinding>| of(&b.value).map(|y| datum(b.value.value, y, b.n.into()));
        let points: Vec<_> = points.iter().filter_map(point).collect();
        if !points.is_empty() {
            layers.push(Layer::Line(Line { label, role: Role::nth(k), points }));
        }
    }
    layers.extend(first.level.map(|level| covered(level, first.value.replicates)));
    let before = first.value.correct_before.mean;
    layers.push(Layer::Rule(Rule::level(before, "correct form before")));
    let (symbol, label) = parameter(&first.value.parameter);
    if let Some(at) = marker {
        layers.push(Layer::Rule(Rule::upright(at, format!("{symbol} = {at}"))));
    }
    let (short, trainings) = (in_print(model), first.value.replicates.max(1));
    let mut origin = Origin::default();
    origin.add("n", first.n.to_string());
    let trainings = format!(", {trainings} training{}", if trainings == 1 { "" } else { "s" });
    origin.results(first, points.iter().all(|p| p.is_final), &trainings);
    origin.add("model", model);
    Some(Figure {
        name: format!("behaviour-{short}-{}", method.file_name()),
        title: format!("What the model does: {}, {short}, layer {}", method.title(), first.value.layer),
        x: axis(&method.name, label),
        y: Axis::linear("share of examples; mean probability; mean of 1 / rank").from_to(0.0, 1.0),
        layers,
        provenance: origin.computed_by(engine),
    })
}

//! Contents of the one-page report on a run.

use super::Results;
use super::answer::{GOALS, on_model, ranked_for};
use super::banded::{ENOUGH_TRAININGS, is_few};
use super::oracle::OracleKind;
use super::spec::Spec;
use lab::Digest;

/// The trade-off of all methods, and the scores by strength of the best ones, by the first oracle.
pub(crate) fn digest(results: &Results, spec: &Spec) -> Digest {
    let Some(oracle) = spec.probe.oracles.first().copied() else { return Digest::default() };
    let judged = ("oracle", oracle.to_string());
    let mut figures = vec![("pareto", vec![judged.clone()])];
    let bests = spec.models.first().map(|model| GOALS.map(|goal| ranked_for(results, model, oracle, goal)));
    for best in bests.iter().flatten().filter_map(|order| order.first()) {
        figures.push(("reliability", vec![judged.clone(), ("method", best.value.method.clone())]));
    }
    let mine = results.without.iter().filter(|w| w.value.oracle == oracle);
    let unrated = mine.map(|w| {
        let on = on_model(spec, &w.model);
        format!("{}{on} is not rated: {}.", w.value.method_key().title(), w.value.reason)
    });
    let few = results.optima.iter().map(|o| o.value.how.replicates).find(|k| is_few(*k));
    let few = few.map(|k| format!("No interval: {k} training runs give none, {ENOUGH_TRAININGS} or more do."));
    let notes = few.into_iter().chain(unrated);
    let table = if oracle == OracleKind::Mlp { "optimum" } else { "optimum-linear" };
    Digest { table: (table, Some("held out")), figures, notes: notes.collect() }
}

//! A run's work, counted from its spec to balance the shards of a grid.

use crate::spec::Spec;
use lab::demand::{Size, WORDS};

/// Assumed numbers of relations, and of prompts and facts per relation, if the spec does not limit them. They match the built-in relations;
/// files, which may have more, are not read.
const RELATIONS: usize = 32;
const PROMPTS: usize = 5;
const FACTS: usize = 40;
/// Cost of a forward and backward pass, in forward passes.
const BOTH_WAYS: u128 = 3;

/// Number of multiply-adds for all queries of all models; the queries are repeated after each further pretraining.
pub(crate) fn of(spec: &Spec, sizes: &[Size]) -> u128 {
    let data = &spec.data;
    let relations = if data.relations.is_empty() { RELATIONS } else { data.relations.len() } as u128;
    let prompts = data.prompts.unwrap_or(PROMPTS) as u128;
    let facts = data.instances.unwrap_or(FACTS) as u128;
    let prompts = prompts + spec.tuned.prompts as u128;
    let queries = relations * prompts * facts * data.mentions as u128;
    let mixtures = spec.disparity.gammas.len() as u128;
    let learnt = mixtures * (spec.disparity.sentences * spec.disparity.epochs) as u128 * BOTH_WAYS;
    let trained = |name: &String| match spec.disparity.models.is_empty() {
        true => spec.models.first() == Some(name),
        false => spec.disparity.models.contains(name),
    };
    let searched = |name: &String| match spec.models.get(spec.tuned.member(&spec.models)) == Some(name) {
        true => relations * spec.tuned.queries() as u128,
        false => 0,
    };
    let each = spec.models.iter().zip(sizes).map(|(name, size)| {
        let more = if trained(name) { learnt + mixtures * queries } else { 0 };
        (queries + more + searched(name)) * WORDS * size.through(size.blocks)
    });
    each.sum()
}

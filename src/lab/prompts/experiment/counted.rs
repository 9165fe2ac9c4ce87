//! The work of a run, counted from its spec alone: what shares of a grid are balanced by.

use crate::spec::Spec;
use lab::demand::{Size, WORDS};

/// Relations where the spec does not name them, and prompts and facts of one where it sets no most: about what the built-in ones
/// have. Files may have more; what they hold is not read for this.
const RELATIONS: usize = 32;
const PROMPTS: usize = 5;
const FACTS: usize = 40;
/// A forward and a backward pass in units of a forward one.
const BOTH_WAYS: u128 = 3;

/// Multiply-adds: every query of every model, asked again after each further pretraining.
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

//! Counts the work of a run from its spec alone, to balance the shares of a grid.

use super::forecast::{parameters, strengths};
use super::map;
use super::prepare::FIRST_CHUNK;
use crate::distance::REAL_STATES;
use crate::registry::find;
use crate::spec::{MethodSpec, Spec};
use lab::demand::{Size, WORDS};
use probe::Grid;

/// Average number of steps to train a network.
const STEPS: usize = 700;
/// Cost of a forward and backward pass, in forward passes.
const BOTH_WAYS: u128 = 3;
/// Number of passes through the attacked probe per strength of an attack.
const ATTACK: u128 = 40;
/// Number of values of a typical property.
const CLASSES: usize = 2;

/// Number of multiply-adds for running texts through the model up to the layer, training probes, and applying and judging every strength,
/// including the model's own prediction.
pub(crate) fn of(spec: &Spec, sizes: &[Size]) -> u128 {
    let examples = spec.task.examples as u128;
    let tokens = if spec.task.takes_every_token() { WORDS.min(spec.task.tokens_per_text as u128) } else { 1 };
    let (test, replicates) = (tokens * examples / 5, spec.probe.replicates as u128);
    let grid = Grid::named(&spec.probe.grid).unwrap_or_else(Grid::small);
    let each = |size: &Size| {
        let layer = spec.site.layer.resolve(size.blocks).unwrap_or(size.blocks);
        let read = examples * WORDS * size.through(layer);
        let rest = WORDS * (size.through(size.blocks) - size.through(layer));
        let mut training = 0;
        for kind in &spec.probe.oracles {
            // For every property, all probe settings are trained once, and the chosen settings again for every replicate.
            let list = kind.grid(&grid).recipes;
            let step = |recipe| BOTH_WAYS * 64 * parameters(recipe, size.width, CLASSES) as u128;
            let searched: u128 = list.iter().map(step).sum();
            let chosen = list.iter().map(step).min().unwrap_or(0);
            let properties = 2 + spec.task.further().len() as u128;
            training += properties * STEPS as u128 * (searched + replicates * chosen);
        }
        let width = (size.width * size.width) as u128;
        let probe = grid.recipes.iter().map(|r| parameters(r, size.width, CLASSES) as u128).min().unwrap_or(0);
        let strength = |m: &MethodSpec, rest: u128| {
            let attacks = find(&m.name).is_some_and(|method| method.needs.mlp);
            let apply = if attacks { ATTACK * BOTH_WAYS * probe } else { width };
            test * replicates * (apply + rest + spec.probe.oracles.len() as u128 * probe)
        };
        let swept = spec.methods.iter().map(|m| strengths(m) as u128 * strength(m, rest));
        let map = map::multiply_adds(spec, size, (training, &|m| strength(m, 0)));
        // The edited states of each strength's first estimate are compared with the real states; this includes Mahalanobis distances.
        let measured = spec.methods.iter().map(|m| strengths(m) as u128).sum::<u128>();
        let held = (REAL_STATES + size.width) as u128 * size.width as u128 * FIRST_CHUNK as u128;
        read + training + swept.sum::<u128>() + measured * held + map
    };
    sizes.iter().map(each).sum()
}

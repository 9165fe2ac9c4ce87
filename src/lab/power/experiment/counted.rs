//! A run's work, counted from its spec to balance the shards of a grid.

use super::forecast::times;
use crate::spec::Spec;
use lab::demand::{Size, WORDS};
use pretraining::further::CORRUPTED_BATCH;
use probe::epochs::recipes;

/// Average number of epochs per training run.
const EPOCHS: u128 = 9;
/// Cost of a forward and backward pass, in forward passes.
const BOTH_WAYS: u128 = 3;
/// Number of classes per task, and number of sentences in all parts per training sentence.
const CLASSES: u128 = 2;
const PARTS: (u128, u128) = (3, 2);

/// Multiply-adds for encoding each side's sentences up to its layer, and for all training runs; 0 for files of results.
pub(crate) fn of(spec: &Spec, sizes: &[Size]) -> u128 {
    let largest = spec.task.sizes.last().copied().unwrap_or(0) as u128;
    let side = |first: bool| {
        let side = spec.side(first);
        let size = if first { sizes.first() } else { sizes.get(1).or(sizes.first()) };
        let Some(size) = size.filter(|_| !spec.of_files()) else { return 0 };
        let layer = side.layer.resolve(size.blocks).unwrap_or(size.blocks);
        let read = largest * CLASSES * PARTS.0 / PARTS.1 * WORDS * size.through(layer.max(1));
        let batch = spec.corruption.batch.unwrap_or(CORRUPTED_BATCH) as u128;
        let corrupted = side.corrupted as u128 * batch * WORDS * BOTH_WAYS * size.through(size.blocks);
        let hidden = side.hidden().unwrap_or_default();
        let tried = recipes(&hidden, spec.training.grid == "small").len() as u128;
        let weights = hidden.first().map_or(CLASSES, |h| *h as u128) * size.width as u128;
        let trained = spec.task.sizes.iter().map(|n| {
            let again = times(spec, first, *n) as u128 * spec.training.seeds as u128;
            *n as u128 * CLASSES * EPOCHS * BOTH_WAYS * weights * tried * again
        });
        read + corrupted + trained.sum::<u128>()
    };
    side(true) + side(false)
}

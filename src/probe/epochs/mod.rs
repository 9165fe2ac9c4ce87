//! Training as in Zhu et al. (2022): Adam over a grid of learning rates and batch sizes, at most 50 epochs, with early stopping after five
//! epochs without a lower validation loss. The weights are taken from the epoch with the best validation accuracy.
//!
//! [`super::train`] counts steps and prefers the simplest of networks that validate equally well. This module reproduces a published
//! procedure, so it uses the best epoch of the best settings, for each seed separately.

mod crew;

use self::crew::Trainers;
use super::data::Labelled;
use super::jobs::in_order;
use super::mlp::Mlp;
use super::train::Recipe;
use base::{Cancelled, Pulse, SharedPulse};
use stats::Purpose;
use stats::rng::shuffle;

/// Maximum number of passes over the data.
pub const EPOCHS: usize = 50;
/// Number of epochs without a lower validation loss after which training ends.
pub const PATIENCE: usize = 5;
/// Learning rates of the published grid.
pub(crate) const RATES: [f64; 5] = [1e-4, 5e-4, 1e-3, 5e-3, 1e-2];
/// Batch sizes of the published grid.
pub(crate) const BATCHES: [usize; 4] = [8, 16, 32, 64];

/// Settings for a classifier with these hidden layers: all 20 of the paper or, if `small`, the four that win most often.
pub fn recipes(hidden: &[usize], small: bool) -> Vec<Recipe> {
    let (rates, batches): (&[f64], &[usize]) = if small { (&[1e-3, 1e-2], &[16, 64]) } else { (&RATES, &BATCHES) };
    let of = |rate: f64| {
        batches.iter().map(move |batch| Recipe { hidden: hidden.to_vec(), learning_rate: rate, batch: *batch })
    };
    rates.iter().flat_map(|rate| of(*rate)).collect()
}

/// A trained network at the chosen epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    pub mlp: Mlp,
    /// Number of correct answers on the validation examples.
    pub correct: usize,
    /// Mean cross entropy on the validation examples, in nats.
    pub loss: f64,
    /// The epoch, counted from 1.
    pub epoch: usize,
    pub recipe: Recipe,
}

impl Chosen {
    /// True if `self` has more correct answers, or equally many with a lower loss.
    fn beats(&self, other: &Self) -> bool {
        (self.correct, -self.loss) > (other.correct, -other.loss)
    }
}

/// Trains one network per setting side by side, on the same examples in the same order. Returns their best states in the order of the
/// settings; a state is `None` if weights or losses were not finite from the first epoch on. `beat` is called with 1 before every epoch of
/// each network, and with 0 within epochs, to poll for cancellation.
pub fn train(
    data: &Labelled,
    validation: &Labelled,
    recipes: &[&Recipe],
    purpose: &Purpose,
    beat: &mut dyn FnMut(usize) -> Result<(), Cancelled>,
) -> Result<Vec<Option<Chosen>>, Cancelled> {
    let (inputs, classes) = (data.x().cols(), data.classes());
    let fresh = |(place, recipe): (usize, &&'_ Recipe)| {
        let own = purpose.of("comparison", &format!("{} batch {}", recipe.describe(), recipe.batch));
        (place, Mlp::fresh(inputs, &recipe.hidden, classes, &mut own.stream("weights")))
    };
    let nets = recipes.iter().enumerate().map(fresh).zip(recipes).map(|((k, mlp), r)| (k, *r, mlp));
    let mut crew = Trainers::new((inputs, classes), nets);
    let mut batches = purpose.of("comparison", "").stream("batches");
    let mut order: Vec<usize> = (0..data.len()).collect();
    let mut all: Vec<Option<Chosen>> = vec![None; recipes.len()];
    for epoch in 1..=EPOCHS {
        if crew.active() == 0 {
            break;
        }
        (0..crew.active()).try_for_each(|_| beat(1))?;
        shuffle(&mut batches, &mut order);
        crew.learn(data, &order, &mut || beat(0))?;
        crew.validate(validation, epoch).into_iter().for_each(|(place, best)| all[place] = best);
    }
    Ok(all)
}

/// Trains every setting with every seed and returns the best network of each seed, in order; `None` if all of them diverged. The settings
/// of a seed are trained side by side with the same order of examples. Seeds (and, with more threads than seeds, batch sizes) run on
/// separate threads, which changes no result. `pulse` counts epochs; with early stopping it ends below its total.
pub fn best_of(
    data: &Labelled,
    validation: &Labelled,
    recipes: &[Recipe],
    purposes: &[Purpose],
    pulse: &mut dyn Pulse,
) -> Result<Vec<Option<Chosen>>, Cancelled> {
    let seeds = purposes.len();
    let shared = SharedPulse::new(pulse, recipes.len() * seeds * EPOCHS);
    let parts = parts(recipes, seeds, rayon::current_num_threads());
    // Start the largest groups of all seeds first.
    let found = in_order(parts.len() * seeds, |i| {
        let (part, purpose) = (&parts[i / seeds], &purposes[i % seeds]);
        let mine: Vec<&Recipe> = part.iter().map(|at| &recipes[*at]).collect();
        let beat = &mut |epochs| if epochs > 0 { shared.beat() } else { shared.poll() };
        train(data, validation, &mine, purpose, beat)
    })?;
    let of_seed = |seed: usize| {
        let mut all: Vec<(usize, &Chosen)> = parts
            .iter()
            .enumerate()
            .flat_map(|(part, places)| places.iter().zip(&found[part * seeds + seed]))
            .filter_map(|(place, chosen)| Some((*place, chosen.as_ref()?)))
            .collect();
        all.sort_by_key(|(place, _)| *place);
        let all = all.into_iter().map(|(_, chosen)| chosen);
        all.reduce(|best, other| if other.beats(best) { other } else { best }).cloned()
    };
    Ok((0..seeds).map(of_seed).collect())
}

/// Groups settings to be trained side by side, the costliest group first. Returns one group if the seeds alone keep the threads busy.
/// Otherwise groups by batch size and pairs small batches, which take more steps, with large ones.
fn parts(recipes: &[Recipe], seeds: usize, threads: usize) -> Vec<Vec<usize>> {
    let mut sizes: Vec<usize> = recipes.iter().map(|r| r.batch).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let wanted = if threads > 1 { (4 * threads).div_ceil(seeds.max(1)) } else { 1 };
    let count = if wanted > 2 { sizes.len() } else { wanted.min(sizes.len()) };
    let part = |batch: usize| {
        let at = sizes.partition_point(|s| *s < batch);
        if count == sizes.len() { at } else { at.min(sizes.len() - 1 - at) % count }
    };
    let of = |k: usize| (0..recipes.len()).filter(|i| part(recipes[*i].batch) == k).collect();
    (0..count).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::mlp::Pass;
    use crate::train::{Trainer, count};
    use base::NoPulse;
    use stats::rng::{stream, unit};

    fn points(n: usize, seed: u64) -> Labelled {
        let mut rng = stream(seed, "points");
        let v: Vec<f32> = (0..n * 3).map(|_| (2.0 * unit(&mut rng) - 1.0) as f32).collect();
        let y = (0..n).map(|i| usize::from(v[3 * i] + v[3 * i + 1] > 0.0)).collect();
        Labelled::new(Matrix::from_vec(n, 3, v).unwrap(), y, 2).unwrap()
    }

    fn accuracy(chosen: &Chosen, data: &Labelled) -> f64 {
        let (correct, _) = count(&mut Pass::new(&chosen.mlp), &chosen.mlp, data);
        correct as f64 / data.len() as f64
    }

    #[test]
    fn linear_boundary_is_learned_with_any_number_of_threads() {
        let (train, validation, test) = (points(400, 1), points(100, 2), points(400, 3));
        let recipes = recipes(&[], true);
        let purposes: Vec<Purpose> = (0..3).map(|k| Purpose::new(7, "side", "linear").replicate(k)).collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| best_of(&train, &validation, &recipes, &purposes, &mut NoPulse).unwrap())
        };
        let one = run(1);
        assert_eq!(one, run(3));
        for chosen in one.iter().flatten() {
            assert!(accuracy(chosen, &test) > 0.95 && chosen.epoch <= EPOCHS);
        }
        assert_eq!(one.iter().flatten().count(), 3);
        assert_ne!(one[0], one[1]);
    }

    #[test]
    fn the_published_grid_has_twenty_settings() {
        assert_eq!(super::recipes(&[20], false).len(), 20);
    }

    fn recipe(hidden: &[usize], learning_rate: f64, batch: usize) -> Recipe {
        Recipe { hidden: hidden.to_vec(), learning_rate, batch }
    }

    /// Training side by side is bit-identical to training alone: settings that stop early do not affect the others.
    #[test]
    fn training_side_by_side_equals_training_alone() {
        let (data, validation, purpose) = (points(130, 5), points(40, 6), Purpose::new(2, "side", "any"));
        for hidden in [&[][..], &[5], &[6, 4]] {
            let all: Vec<Recipe> = [(1e-1, 8), (1e-3, 8), (1e-2, 12), (3e-3, 8), (1e-3, 64)]
                .map(|(rate, batch)| recipe(hidden, rate, batch))
                .into();
            let of = |recipes: &[&Recipe]| train(&data, &validation, recipes, &purpose, &mut |_| Ok(())).unwrap();
            let together = of(&all.iter().collect::<Vec<_>>());
            let epochs: Vec<usize> = together.iter().map(|c| c.as_ref().unwrap().epoch).collect();
            assert!(epochs.windows(2).any(|pair| pair[0] != pair[1]), "{epochs:?}");
            for (one, chosen) in all.iter().zip(&together) {
                assert_eq!(of(&[one])[0], *chosen, "{one:?}");
            }
        }
    }

    /// After every step, the weights equal those of [`Trainer`], which multiplies matrices and stores gradients.
    #[test]
    fn steps_match_the_plain_trainer() {
        let (data, validation, purpose) = (points(100, 7), points(60, 8), Purpose::new(4, "side", "any"));
        for recipe in [recipe(&[], 1e-2, 16), recipe(&[7], 3e-3, 8), recipe(&[6, 5], 3e-3, 32)] {
            let chosen = train(&data, &validation, &[&recipe], &purpose, &mut |_| Ok(())).unwrap()[0].clone().unwrap();
            let own = purpose.of("comparison", &format!("{} batch {}", recipe.describe(), recipe.batch));
            let mut mlp = Mlp::fresh(3, &recipe.hidden, 2, &mut own.stream("weights"));
            let mut trainer = Trainer::new(&mlp, recipe.learning_rate);
            let mut batches = purpose.of("comparison", "").stream("batches");
            let mut order: Vec<usize> = (0..data.len()).collect();
            for _ in 0..chosen.epoch {
                shuffle(&mut batches, &mut order);
                order.chunks(recipe.batch).for_each(|batch| trainer.step(&mut mlp, &data, batch));
            }
            let weights = |mlp: &Mlp| -> Vec<f32> {
                mlp.layers().iter().flat_map(|l| l.weight.data().iter().chain(&l.bias).copied()).collect()
            };
            let gaps = weights(&mlp).into_iter().zip(weights(&chosen.mlp)).map(|(a, b)| (a - b).abs());
            let most = gaps.fold(0.0f32, f32::max);
            assert!(most < 1e-4, "{recipe:?}: {most} after {} epochs", chosen.epoch);
            let (correct, loss) = count(&mut Pass::new(&chosen.mlp), &chosen.mlp, &validation);
            assert!(correct == chosen.correct && (loss - chosen.loss).abs() < 1e-6, "{recipe:?}");
        }
    }

    #[test]
    fn costliest_batches_are_scheduled_first() {
        let all = super::recipes(&[], false);
        assert_eq!(parts(&all, 5, 1).iter().map(Vec::len).collect::<Vec<_>>(), [20]);
        let batches = |part: &[usize]| {
            let mut sizes: Vec<usize> = part.iter().map(|i| all[*i].batch).collect();
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        };
        let two: Vec<Vec<usize>> = parts(&all, 5, 2).iter().map(|p| batches(p)).collect();
        assert_eq!(two, [[8, 64], [16, 32]]);
        let four: Vec<Vec<usize>> = parts(&all, 1, 2).iter().map(|p| batches(p)).collect();
        assert_eq!(four, [[8], [16], [32], [64]]);
    }

    #[test]
    fn divergence_gives_none_and_cancellation_stops() {
        let data = points(60, 4);
        let wild = [recipe(&[], 1e38, 4)];
        let purposes = [Purpose::new(1, "side", "linear")];
        assert_eq!(best_of(&data, &data, &wild, &purposes, &mut NoPulse).unwrap(), [None]);
        let mut stop = |_: usize, _: usize| Err(Cancelled);
        assert!(best_of(&data, &data, &super::recipes(&[], true), &purposes, &mut stop).is_err());
    }
}

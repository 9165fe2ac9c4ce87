//! Training as Zhu et al. (2022) do it: Adam over a grid of learning rates and batches, at most 50 epochs, an end after five
//! without a lower validation loss, and the weights of the epoch with the best validation accuracy.
//!
//! [`super::train`] counts steps and keeps the simplest of equals; what is compared here are procedures as published, so the
//! best epoch of the best setting is taken, each seed by itself.

use super::data::Labelled;
use super::jobs::in_order;
use super::mlp::{Mlp, Pass};
use super::train::{Recipe, Trainer, count};
use crate::base::{Cancelled, Pulse, SharedPulse};
use crate::stats::Purpose;
use crate::stats::rng::shuffle;

/// Most passes over the data.
pub const EPOCHS: usize = 50;
/// Training ends after so many epochs without a lower validation loss.
pub const PATIENCE: usize = 5;
/// Learning rates of the published grid.
pub const RATES: [f64; 5] = [1e-4, 5e-4, 1e-3, 5e-3, 1e-2];
/// Batches of the published grid.
pub const BATCHES: [usize; 4] = [8, 16, 32, 64];

/// Settings of a classifier with these hidden layers: all 20 of the paper, or the four corners that most often win.
#[must_use]
pub fn recipes(hidden: &[usize], small: bool) -> Vec<Recipe> {
    let (rates, batches): (&[f64], &[usize]) =
        if small { (&[1e-3, 1e-2], &[16, 64]) } else { (&RATES, &BATCHES) };
    let of = |rate: f64| {
        batches.iter().map(move |batch| Recipe {
            hidden: hidden.to_vec(),
            learning_rate: rate,
            batch: *batch,
        })
    };
    rates.iter().flat_map(|rate| of(*rate)).collect()
}

/// A trained network, at the epoch that was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The network.
    pub mlp: Mlp,
    /// Correct answers on the validation examples.
    pub correct: usize,
    /// Mean cross entropy there, in nats.
    pub loss: f64,
    /// The epoch, from 1.
    pub epoch: usize,
    /// The setting.
    pub recipe: Recipe,
}

impl Chosen {
    /// Whether it is to be preferred: more right, and of equals the one that is surer.
    fn beats(&self, other: &Self) -> bool {
        (self.correct, -self.loss) > (other.correct, -other.loss)
    }
}

/// Trains one network. None where its weights or losses were no numbers from the first epoch on.
///
/// # Errors
/// [`Cancelled`] if `beat`, which is called before every epoch, says so.
pub fn train(
    data: &Labelled,
    validation: &Labelled,
    recipe: &Recipe,
    purpose: &Purpose,
    beat: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Option<Chosen>, Cancelled> {
    let mut weights = purpose.stream("weights");
    let mut mlp = Mlp::fresh(data.x().cols(), &recipe.hidden, data.classes(), &mut weights);
    let mut batches = purpose.stream("batches");
    let mut order: Vec<usize> = (0..data.len()).collect();
    let mut trainer = Trainer::new(&mlp, recipe.learning_rate);
    let mut pass = Pass::new(&mlp);
    let mut best: Option<Chosen> = None;
    let (mut lowest, mut since) = (f64::INFINITY, 0);
    for epoch in 1..=EPOCHS {
        beat()?;
        shuffle(&mut batches, &mut order);
        for batch in order.chunks(recipe.batch.max(1)) {
            trainer.step(&mut mlp, data, batch);
        }
        let (correct, loss) = count(&mut pass, &mlp, validation);
        if !loss.is_finite() || !mlp.is_finite() {
            break;
        }
        let now = Chosen { mlp: mlp.clone(), correct, loss, epoch, recipe: recipe.clone() };
        if best.as_ref().is_none_or(|best| now.correct > best.correct) {
            best = Some(now);
        }
        if loss < lowest {
            (lowest, since) = (loss, 0);
        } else {
            since += 1;
        }
        if since >= PATIENCE {
            break;
        }
    }
    Ok(best)
}

/// Trains every setting with every seed, networks side by side; for each seed the best network, in the order of the seeds.
/// None where all settings of a seed diverged. `pulse` counts epochs; trainings that end early leave it short of its total.
///
/// # Errors
/// [`Cancelled`] if the pulse says so.
pub fn best_of(
    data: &Labelled,
    validation: &Labelled,
    recipes: &[Recipe],
    purposes: &[Purpose],
    pulse: &mut dyn Pulse,
) -> Result<Vec<Option<Chosen>>, Cancelled> {
    let count = recipes.len() * purposes.len();
    let shared = SharedPulse::new(pulse, count * EPOCHS);
    let all = in_order(count, |i| {
        let (recipe, purpose) = (&recipes[i % recipes.len()], &purposes[i / recipes.len()]);
        let purpose = purpose.of("comparison", &format!("{} batch {}", recipe.describe(), recipe.batch));
        train(data, validation, recipe, &purpose, &mut || shared.beat())
    })?;
    let of_seed = |chunk: &[Option<Chosen>]| {
        chunk
            .iter()
            .flatten()
            .fold(None, |best: Option<&Chosen>, c| match best {
                Some(best) if !c.beats(best) => Some(best),
                _ => Some(c),
            })
            .cloned()
    };
    Ok(all.chunks(recipes.len().max(1)).map(of_seed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::NoPulse;
    use crate::probe::Matrix;
    use crate::stats::rng::{stream, unit};

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
    fn a_line_is_learned_and_threads_do_not_matter() {
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

    #[test]
    fn what_diverges_gives_none_and_a_stop_is_a_stop() {
        let data = points(60, 4);
        let wild = [Recipe { hidden: vec![], learning_rate: 1e38, batch: 4 }];
        let purposes = [Purpose::new(1, "side", "linear")];
        assert_eq!(best_of(&data, &data, &wild, &purposes, &mut NoPulse).unwrap(), [None]);
        let mut stop = |_: usize, _: usize| Err(Cancelled);
        assert!(best_of(&data, &data, &super::recipes(&[], true), &purposes, &mut stop).is_err());
    }
}

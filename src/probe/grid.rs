//! Grid search: train every recipe, keep the one with the best validation accuracy.

use super::ProbeError;
use super::bytes::{BytesError, Reader, Writer, malformed};
use super::data::TrainingData;
use super::linear;
use super::mlp::{Layer, Mlp};
use super::split::Role;
use super::train::{Recipe, Score, Trained, train};
use crate::base::matrix::{Dense, Matrix, softmax_rows};
use crate::base::{Cancelled, Pulse, SharedPulse};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

/// A named list of recipes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The name on screens and in specs.
    pub name: String,
    /// What is tried, in order: of equal results the earlier is kept.
    pub recipes: Vec<Recipe>,
}

/// Names that [`Grid::named`] knows, the default first.
pub const GRID_NAMES: [&str; 3] = ["small", "paper", "linear"];

/// Bounds that keep a hand-written grid from asking for all memory.
const MOST_RECIPES: usize = 1_000;
const MOST_LAYERS: usize = 16;
const MOST_WIDTH: usize = 16_384;

impl Grid {
    /// Depths x widths x learning rates, in this nesting, 8 epochs in batches of 64.
    #[must_use]
    pub fn product(name: &str, depths: &[usize], widths: &[usize], learning_rates: &[f64]) -> Self {
        let mut recipes = Vec::new();
        for depth in depths {
            for width in widths {
                for learning_rate in learning_rates.iter().copied() {
                    recipes.push(Recipe {
                        hidden: vec![*width; *depth],
                        learning_rate,
                        epochs: 8,
                        batch: 64,
                    });
                }
            }
        }
        Self { name: name.to_owned(), recipes }
    }

    /// The 36 points of Canby et al.: {1,2,3} layers x {64,256,512,1024} wide x learning rate {1e-4,1e-3,1e-2}.
    #[must_use]
    pub fn paper() -> Self {
        Self::product("paper", &[1, 2, 3], &[64, 256, 512, 1024], &[1e-4, 1e-3, 1e-2])
    }

    /// The default, 8 points: {1,2} layers x {64,256} wide x learning rate {1e-3,1e-2}.
    #[must_use]
    pub fn small() -> Self {
        Self::product("small", &[1, 2], &[64, 256], &[1e-3, 1e-2])
    }

    /// The grid of that name, see [`GRID_NAMES`].
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "small" => Some(Self::small()),
            "paper" => Some(Self::paper()),
            "linear" => Some(linear::grid()),
            _ => None,
        }
    }

    /// "small: 8 points, layers 1, 2, widths 64, 256, learning rates 1e-3, 1e-2, 8 epochs".
    #[must_use]
    pub fn describe(&self) -> String {
        let list = |of: &dyn Fn(&Recipe) -> Option<String>| {
            let mut seen: Vec<String> = Vec::new();
            for value in self.recipes.iter().filter_map(of) {
                if !seen.contains(&value) {
                    seen.push(value);
                }
            }
            seen.join(", ")
        };
        let widths = list(&|r| r.hidden.first().map(ToString::to_string));
        let shape = if widths.is_empty() {
            "linear".to_owned()
        } else {
            format!("layers {}, widths {widths}", list(&|r| Some(r.hidden.len().to_string())))
        };
        let rates = list(&|r| Some(format!("{:e}", r.learning_rate)));
        let epochs = list(&|r| Some(r.epochs.to_string()));
        format!(
            "{}: {} points, {shape}, learning rates {rates}, {epochs} epochs",
            self.name,
            self.recipes.len()
        )
    }

    fn check(&self) -> Result<(), ProbeError> {
        let bad = |reason: String| Err(ProbeError::Grid { grid: self.name.clone(), reason });
        if self.recipes.is_empty() || self.recipes.len() > MOST_RECIPES {
            return bad(format!("{} points, allowed are 1 to {MOST_RECIPES}", self.recipes.len()));
        }
        for r in &self.recipes {
            if r.hidden.len() > MOST_LAYERS || r.hidden.iter().any(|w| !(1..=MOST_WIDTH).contains(w)) {
                return bad(format!("at most {MOST_LAYERS} hidden layers of 1 to {MOST_WIDTH} units"));
            }
            if !(r.learning_rate.is_finite() && r.learning_rate > 0.0) || r.epochs == 0 || r.batch == 0 {
                return bad("learning rates, epochs and batches must be above 0".to_owned());
            }
        }
        Ok(())
    }
}

/// What became of one recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Place in the grid.
    pub index: usize,
    /// The recipe.
    pub recipe: Recipe,
    /// Kept epoch (from 1) and its validation score; `None` if the training diverged.
    pub outcome: Option<(usize, Score)>,
}

/// The best trained network of a grid, of role `R`.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe<R> {
    mlp: Mlp,
    trials: Vec<Trial>,
    best: usize,
    role: PhantomData<R>,
}

/// Trains every recipe of `grid` on `data`, several at a time on rayon's threads, and keeps the network with the best
/// validation accuracy (ties: lower validation loss, then the earlier recipe). Each recipe draws from streams of its own,
/// so the result depends neither on the number of threads nor on their timing. `pulse` counts Adam steps over all
/// recipes; `finished` hears of each recipe in the order in which they end.
///
/// # Errors
/// [`ProbeError`] if cancelled, if the grid makes no sense, or if every trial diverged.
pub fn search<R: Role>(
    data: &TrainingData<R>,
    grid: &Grid,
    seed: u64,
    pulse: &mut dyn Pulse,
    finished: &mut (dyn FnMut(&Trial) + Send),
) -> Result<Probe<R>, ProbeError> {
    grid.check()?;
    let total = grid.recipes.iter().map(|r| r.steps(data.train().len())).sum();
    let pulse = SharedPulse::new(pulse, total);
    let finished = Mutex::new(finished);
    // The dearest first, so that no thread is left alone with one at the end.
    let mut order: Vec<usize> = (0..grid.recipes.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(cost(&grid.recipes[*i], data.train().x().cols())));
    let mut outcomes: Vec<(Trial, Option<Trained>)> = order
        .into_par_iter()
        .with_max_len(1)
        .map(|index| {
            let recipe = &grid.recipes[index];
            let trained = train(data.train(), data.validation(), recipe, seed, &mut || pulse.beat())?;
            let outcome = trained.as_ref().map(|t| (t.epoch, t.score));
            let trial = Trial { index, recipe: recipe.clone(), outcome };
            (finished.lock().unwrap_or_else(PoisonError::into_inner))(&trial);
            Ok((trial, trained))
        })
        .collect::<Result<_, Cancelled>>()?;
    outcomes.sort_by_key(|(trial, _)| trial.index);
    let mut best: Option<(usize, Trained)> = None;
    let mut trials = Vec::with_capacity(outcomes.len());
    for (trial, trained) in outcomes {
        if let Some(t) = trained.filter(|t| best.as_ref().is_none_or(|(_, b)| t.score.beats(&b.score))) {
            best = Some((trial.index, t));
        }
        trials.push(trial);
    }
    let (best, trained) =
        best.ok_or_else(|| ProbeError::Diverged { grid: grid.name.clone(), trials: trials.len() })?;
    Ok(Probe { mlp: trained.mlp, trials, best, role: PhantomData })
}

/// Multiplications per example of a training step, up to a factor.
fn cost(recipe: &Recipe, inputs: usize) -> usize {
    let mut sizes = vec![inputs];
    sizes.extend_from_slice(&recipe.hidden);
    sizes.windows(2).map(|p| p[0] * p[1]).sum::<usize>() * recipe.epochs
}

impl<R: Role> Probe<R> {
    /// A network trained elsewhere, given the role by the caller's word. It has no trials.
    #[must_use]
    pub fn from_mlp(mlp: Mlp) -> Self {
        Self { mlp, trials: Vec::new(), best: 0, role: PhantomData }
    }

    /// The network.
    #[must_use]
    pub fn mlp(&self) -> &Mlp {
        &self.mlp
    }

    /// What became of every recipe, in the grid's order.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The chosen recipe's trial.
    #[must_use]
    pub fn chosen(&self) -> Option<&Trial> {
        self.trials.get(self.best)
    }

    /// Class probabilities (n x classes, f64) of the rows of `x`.
    ///
    /// # Panics
    /// If `x` has another number of columns than the probe was trained on.
    #[must_use]
    pub fn probabilities(&self, x: &Matrix) -> Dense<f64> {
        softmax_rows(&self.mlp.logits(x))
    }

    fn kind() -> String {
        format!("probe {}", R::NAME)
    }

    /// For a cache. Weights and trials survive exactly.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new(&Self::kind());
        w.number(self.mlp.layers().len());
        for layer in self.mlp.layers() {
            w.matrix(&layer.weight);
            w.matrix(&Dense::from_fn(1, layer.bias.len(), |_, j| layer.bias[j]));
        }
        w.number(self.best);
        w.number(self.trials.len());
        for trial in &self.trials {
            w.numbers(&trial.recipe.hidden);
            w.real(trial.recipe.learning_rate);
            w.numbers(&[trial.recipe.epochs, trial.recipe.batch]);
            let (epoch, score) = trial.outcome.unwrap_or((0, Score { accuracy: 0.0, loss: 0.0 }));
            w.number(epoch);
            w.real(score.accuracy);
            w.real(score.loss);
        }
        w.finish()
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`BytesError`] for anything else, including a probe of the other role.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut r = Reader::open(bytes, &Self::kind())?;
        let count = r.number()?;
        if count > MOST_LAYERS + 1 {
            return Err(malformed("too many layers"));
        }
        let mut layers = Vec::new();
        for _ in 0..count {
            layers.push(Layer { weight: r.matrix()?, bias: r.matrix()?.into_vec() });
        }
        let mlp = Mlp::from_layers(layers).map_err(malformed)?;
        let (best, count) = (r.number()?, r.number()?);
        if count > MOST_RECIPES || (count > 0 && best >= count) {
            return Err(malformed("impossible number of trials"));
        }
        let mut trials = Vec::new();
        for index in 0..count {
            let (hidden, learning_rate, rest) = (r.numbers()?, r.real()?, r.numbers()?);
            let [epochs, batch] = rest[..] else { return Err(malformed("a recipe is incomplete")) };
            let (epoch, accuracy, loss) = (r.number()?, r.real()?, r.real()?);
            let outcome = (epoch > 0).then_some((epoch, Score { accuracy, loss }));
            trials.push(Trial { index, recipe: Recipe { hidden, learning_rate, epochs, batch }, outcome });
        }
        r.finish()?;
        Ok(Self { mlp, trials, best, role: PhantomData })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::NoPulse;
    use crate::probe::split::{Intervention, Oracle, Split};
    use crate::stats::rng::{stream, unit};

    fn data() -> TrainingData<Oracle> {
        let n = 600;
        let mut rng = stream(1, "points");
        let x = Matrix::from_vec(n, 4, (0..n * 4).map(|_| (2.0 * unit(&mut rng) - 1.0) as f32).collect())
            .unwrap();
        let y: Vec<_> = x.iter_rows().map(|r| Some(usize::from(r[0] + r[1] * r[2] > 0.0))).collect();
        TrainingData::new(Split::new(n, 1).unwrap().oracle(), &x, &y, 2).unwrap()
    }

    fn run(grid: &Grid) -> Result<Probe<Oracle>, ProbeError> {
        search(&data(), grid, 5, &mut NoPulse, &mut |_| {})
    }

    #[test]
    fn presets_are_the_papers() {
        assert_eq!(Grid::paper().recipes.len(), 36);
        assert_eq!(Grid::small().recipes.len(), 8);
        assert_eq!(
            Grid::small().describe(),
            "small: 8 points, layers 1, 2, widths 64, 256, learning rates 1e-3, 1e-2, 8 epochs"
        );
        assert_eq!(
            linear::grid().describe(),
            "linear: 4 points, linear, learning rates 1e-4, 1e-3, 1e-2, 1e-1, 8 epochs"
        );
        assert!(GRID_NAMES.iter().all(|name| Grid::named(name).is_some_and(|g| g.name == *name)));
    }

    #[test]
    fn the_best_by_validation_is_kept_and_threads_do_not_matter() {
        let grid = Grid::product("test", &[1], &[4, 16], &[1e-4, 1e-2]);
        let probe = run(&grid).unwrap();
        let best = probe.chosen().unwrap().outcome.unwrap().1;
        assert!(probe.trials().iter().all(|t| t.outcome.is_some_and(|o| !o.1.beats(&best))));
        assert_eq!(Score::of(probe.mlp(), data().validation()), best);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| run(&grid)).unwrap(), probe);
    }

    #[test]
    fn of_equals_the_earlier_is_kept() {
        let twice = Grid::product("twice", &[1], &[8, 8], &[1e-3]);
        assert_eq!(run(&twice).unwrap().chosen().unwrap().index, 0);
    }

    #[test]
    fn progress_reaches_its_total_and_can_stop() {
        let grid = Grid::product("test", &[1], &[4], &[1e-3, 1e-2]);
        let (mut last, mut heard) = ((0, 0), 0);
        search(
            &data(),
            &grid,
            5,
            &mut |d, t| {
                last = (d, t);
                Ok(())
            },
            &mut |_| heard += 1,
        )
        .unwrap();
        assert_eq!((last.0 + 1, heard), (last.1, 2));
        let stopped =
            search(&data(), &grid, 5, &mut |d, _| if d < 7 { Ok(()) } else { Err(Cancelled) }, &mut |_| {});
        assert_eq!(stopped, Err(ProbeError::Cancelled(Cancelled)));
    }

    #[test]
    fn senseless_grids_are_refused() {
        for (depths, widths, rates) in
            [(&[1][..], &[0][..], &[1e-3][..]), (&[1], &[8], &[f64::NAN]), (&[], &[8], &[1e-3])]
        {
            let refused = run(&Grid::product("bad", depths, widths, rates));
            assert!(matches!(refused, Err(ProbeError::Grid { .. })), "{refused:?}");
        }
        assert!(matches!(
            run(&Grid::product("far", &[2], &[8], &[1e30])),
            Err(ProbeError::Diverged { trials: 1, .. })
        ));
    }

    #[test]
    fn bytes_round_trip_and_know_their_role() {
        let probe = run(&Grid::product("test", &[1, 2], &[4], &[1e-3])).unwrap();
        let bytes = probe.to_bytes();
        assert_eq!(Probe::<Oracle>::from_bytes(&bytes).unwrap(), probe);
        assert!(matches!(Probe::<Intervention>::from_bytes(&bytes), Err(BytesError::Kind { .. })));
    }
}

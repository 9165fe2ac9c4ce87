//! Grid search: trains all probe settings and keeps the simplest that validate equally well.

use super::ProbeError;
use super::bytes::{BytesError, Reader, Writer, malformed};
use super::data::TrainingData;
use super::jobs::{Job, in_order};
use super::linear;
use super::mlp::{Layer, Mlp};
use super::selection::{Choice, Entry, choose};
use super::split::Role;
use super::train::{MOST_STEPS, Recipe, Run, SEARCH_STEPS, Score, Trained};
use base::matrix::{Dense, Matrix, softmax_rows};
use base::{Pulse, SharedPulse};
use serde::{Deserialize, Serialize};
use stats::Purpose;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

/// A named list of probe settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The name on screens and in specs.
    pub name: String,
    /// Settings to try.
    pub recipes: Vec<Recipe>,
}

/// Names that [`Grid::named`] accepts, the default first.
#[cfg(test)]
pub(crate) const GRID_NAMES: [&str; 3] = ["small", "paper", "linear"];

/// Limits that keep a hand-written grid from exhausting memory.
const MOST_RECIPES: usize = 1_000;
const MOST_LAYERS: usize = 16;
const MOST_WIDTH: usize = 16_384;

/// True for the grid `tiny`, for tests that ignore the result; with the small grid, the search would take most of their time.
pub fn is_for_tests(name: &str) -> bool {
    cfg!(any(test, feature = "samples")) && name == "tiny"
}

impl Grid {
    /// All combinations of depth, width and learning rate, nested in this order, in batches of 64.
    pub fn product(name: &str, depths: &[usize], widths: &[usize], learning_rates: &[f64]) -> Self {
        let mut recipes = Vec::new();
        for depth in depths {
            for width in widths {
                for learning_rate in learning_rates.iter().copied() {
                    recipes.push(Recipe { hidden: vec![*width; *depth], learning_rate, batch: 64 });
                }
            }
        }
        Self { name: name.to_owned(), recipes }
    }

    /// The 36 points of Canby et al.: {1,2,3} layers x {64,256,512,1024} wide x learning rate {1e-4,1e-3,1e-2}.
    pub fn paper() -> Self {
        Self::product("paper", &[1, 2, 3], &[64, 256, 512, 1024], &[1e-4, 1e-3, 1e-2])
    }

    /// The default, 12 points: {1,2} layers x {64,256} wide x learning rate {1e-4,1e-3,1e-2}.
    pub fn small() -> Self {
        Self::product("small", &[1, 2], &[64, 256], &[1e-4, 1e-3, 1e-2])
    }

    /// The grid called `small`, `paper` or `linear`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "small" => Some(Self::small()),
            "paper" => Some(Self::paper()),
            "linear" => Some(linear::grid()),
            name if is_for_tests(name) => Some(Self::product(name, &[1], &[8], &[1e-3, 1e-2])),
            _ => None,
        }
    }

    /// Example: "small: 12 points, layers 1, 2, widths 64, 256, learning rates 1e-4, 1e-3, 1e-2, up to 2000 steps".
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
        format!(
            "{}: {} points, {shape}, learning rates {rates}, up to {SEARCH_STEPS} steps",
            self.name,
            self.recipes.len()
        )
    }

    fn check(&self) -> Result<(), ProbeError> {
        let bad = |reason: String| Err(ProbeError::Grid { grid: self.name.clone(), reason });
        if self.recipes.is_empty() || self.recipes.len() > MOST_RECIPES {
            return bad(format!("it has {} points; 1 to {MOST_RECIPES} are allowed", self.recipes.len()));
        }
        for r in &self.recipes {
            if r.hidden.len() > MOST_LAYERS || r.hidden.iter().any(|w| !(1..=MOST_WIDTH).contains(w)) {
                return bad(format!("a point may have at most {MOST_LAYERS} hidden layers of 1 to {MOST_WIDTH} units"));
            }
            if !(r.learning_rate.is_finite() && r.learning_rate > 0.0) || r.batch == 0 {
                return bad("learning rates and batch sizes must be above 0".to_owned());
            }
        }
        Ok(())
    }
}

/// Result of training with one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub index: usize,
    pub recipe: Recipe,
    /// Number of weights and biases.
    pub parameters: usize,
    /// Validations during training; empty if it diverged early.
    pub run: Run,
}

impl Trial {
    fn entry(&self) -> Entry<'_> {
        let learning_rate = self.recipe.learning_rate;
        Entry { parameters: self.parameters, learning_rate, correct: &self.run.correct }
    }

    /// True if the weights stopped being finite before the first validation.
    pub fn diverged(&self) -> bool {
        self.run.correct.is_empty()
    }
}

/// A setting at one of its validations.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing<'a> {
    /// The setting with all its validations.
    pub trial: &'a Trial,
    /// Index of the validation, from 0.
    pub epoch: usize,
    pub score: Score,
}

/// The network chosen from a grid, with role `R`.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe<R> {
    mlp: Mlp,
    trials: Vec<Trial>,
    best: usize,
    epoch: usize,
    role: PhantomData<R>,
}

/// Trains every setting of `grid` on `data` on rayon's threads and chooses a network by the rule of [`super::selection`]: within one
/// standard error of the best validation accuracy, fewest parameters, then lowest learning rate, then earliest validation. Each setting has
/// separate random streams, so the number of threads and their timing do not change the result. `pulse` counts Adam steps over all
/// settings; it ends below its total if training runs stop before their cap. `finished` is called for each setting in order of completion.
///
/// # Errors
/// [`ProbeError`] if cancelled, if the grid is invalid, or if every trial diverged.
pub fn search<R: Role>(
    data: &TrainingData<R>,
    grid: &Grid,
    purpose: &Purpose,
    pulse: &mut dyn Pulse,
    finished: &mut (dyn FnMut(&Trial) + Send),
) -> Result<Probe<R>, ProbeError> {
    grid.check()?;
    let jobs: Vec<Job> = grid.recipes.iter().map(|r| Job::new(data, r, SEARCH_STEPS, purpose)).collect();
    let pulse = SharedPulse::new(pulse, jobs.iter().map(Job::most).sum());
    let finished = Mutex::new(finished);
    // Start the costliest settings first, so that none runs alone at the end.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(jobs[*i].cost()));
    let mut outcomes = in_order(jobs.len(), |place| {
        let index = order[place];
        let trained = jobs[index].run(&mut || pulse.beat())?;
        let trial = jobs[index].trial(index, trained.as_ref());
        (finished.lock().unwrap_or_else(PoisonError::into_inner))(&trial);
        Ok((trial, trained))
    })?;
    outcomes.sort_by_key(|(trial, _)| trial.index);
    Probe::choose(&grid.name, outcomes)
}

impl<R: Role> Probe<R> {
    /// A network trained by other code, whose role the caller guarantees. It has no trials.
    pub fn from_mlp(mlp: Mlp) -> Self {
        Self { mlp, trials: Vec::new(), best: 0, epoch: 0, role: PhantomData }
    }

    /// Applies the rule to trials in index order and returns the chosen weights.
    pub(super) fn choose(grid: &str, outcomes: Vec<(Trial, Option<Trained>)>) -> Result<Self, ProbeError> {
        let diverged = || ProbeError::Diverged { grid: grid.to_owned(), trials: outcomes.len() };
        let (trials, trained): (Vec<Trial>, Vec<Option<Trained>>) = outcomes.iter().cloned().unzip();
        let Choice { recipe, epoch, .. } = choice(&trials).ok_or_else(diverged)?;
        let kept = trained.into_iter().nth(recipe).flatten().into_iter().flat_map(|t| t.kept);
        let mlp = kept.into_iter().find(|(at, _)| *at == epoch).ok_or_else(diverged)?.1;
        Ok(Self { mlp, trials, best: recipe, epoch, role: PhantomData })
    }

    pub fn mlp(&self) -> &Mlp {
        &self.mlp
    }

    /// Results of all settings, in the grid's order.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The trial of the chosen setting.
    pub fn chosen(&self) -> Option<&Trial> {
        self.trials.get(self.best)
    }

    /// The chosen setting at the chosen validation.
    pub fn standing(&self) -> Option<Standing<'_>> {
        let trial = self.chosen()?;
        Some(Standing { trial, epoch: self.epoch, score: trial.run.score(self.epoch)? })
    }

    /// The other settings that validate equally well, the simplest first, each at its earliest validation within one standard error of the
    /// best.
    pub fn rivals(&self) -> Vec<Standing<'_>> {
        let entries: Vec<Entry> = self.trials.iter().map(Trial::entry).collect();
        let Some(choice) = choice(&self.trials) else { return Vec::new() };
        let standing = |(recipe, epoch): (usize, usize)| {
            let trial = self.trials.get(recipe)?;
            Some(Standing { trial, epoch, score: trial.run.score(epoch)? })
        };
        choice.rivals(&entries).into_iter().filter_map(standing).collect()
    }

    /// Maximum number of steps for a replicate of the chosen setting: more than in the search only if it was still improving at the cap.
    pub fn replicate_steps(&self) -> usize {
        if self.chosen().is_some_and(|t| t.run.rising) { MOST_STEPS } else { SEARCH_STEPS }
    }

    /// Class probabilities (n x classes, f64) of the rows of `x`.
    ///
    /// # Panics
    /// If the number of columns of `x` differs from the training data.
    pub fn probabilities(&self, x: &Matrix) -> Dense<f64> {
        softmax_rows(&self.mlp.logits(x))
    }

    fn kind() -> String {
        format!("probe {}", R::NAME)
    }

    /// Serialises for a cache, with weights and trials unchanged.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new(&Self::kind());
        w.number(self.mlp.layers().len());
        for layer in self.mlp.layers() {
            w.matrix(&layer.weight);
            w.matrix(&Dense::from_fn(1, layer.bias.len(), |_, j| layer.bias[j]));
        }
        w.numbers(&[self.best, self.epoch, self.trials.len()]);
        for Trial { recipe, parameters, run, .. } in &self.trials {
            w.numbers(&recipe.hidden);
            w.real(recipe.learning_rate);
            w.numbers(&[recipe.batch, *parameters, run.examples, usize::from(run.rising)]);
            w.numbers(&run.correct);
            w.reals(&run.losses);
        }
        w.finish()
    }

    /// Reads the output of [`Self::to_bytes`].
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
        let header = r.numbers()?;
        let [best, epoch, count] = header[..] else { return Err(malformed("the choice is missing")) };
        if count > MOST_RECIPES || (count > 0 && best >= count) {
            return Err(malformed("invalid number of trials"));
        }
        let mut trials = Vec::new();
        for index in 0..count {
            let (hidden, learning_rate, rest) = (r.numbers()?, r.real()?, r.numbers()?);
            let [batch, parameters, examples, rising] = rest[..] else {
                return Err(malformed("probe settings are incomplete"));
            };
            let correct = r.numbers()?;
            if correct.iter().any(|c| *c > examples) {
                return Err(malformed("more correct answers than examples"));
            }
            let losses = r.reals()?;
            if losses.len() != correct.len() {
                return Err(malformed("losses and correct answers differ in number"));
            }
            let run = Run { examples, correct, losses, rising: rising != 0 };
            trials.push(Trial { index, recipe: Recipe { hidden, learning_rate, batch }, parameters, run });
        }
        r.finish()?;
        if trials.get(best).is_some_and(|t: &Trial| epoch >= t.run.correct.len()) {
            return Err(malformed("the chosen settings were never validated"));
        }
        Ok(Self { mlp, trials, best, epoch, role: PhantomData })
    }
}

/// Applies the rule to trials validated on the same examples.
fn choice(trials: &[Trial]) -> Option<Choice> {
    let entries: Vec<Entry> = trials.iter().map(Trial::entry).collect();
    choose(&entries, trials.iter().map(|t| t.run.examples).max()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{Intervention, Oracle, Split};
    use base::{Cancelled, NoPulse};
    use stats::rng::{stream, unit};

    fn data() -> TrainingData<Oracle> {
        let n = 1_500;
        let mut rng = stream(1, "points");
        let x = Matrix::from_vec(n, 4, (0..n * 4).map(|_| (2.0 * unit(&mut rng) - 1.0) as f32).collect()).unwrap();
        let y: Vec<_> = x.iter_rows().map(|r| Some(usize::from(r[0] + r[1] * r[2] > 0.0))).collect();
        TrainingData::new(Split::new(n, 1).unwrap().oracle(), &x, &y, 2).unwrap()
    }

    fn purpose() -> Purpose {
        Purpose::new(5, "points", "mlp")
    }

    fn run(grid: &Grid) -> Result<Probe<Oracle>, ProbeError> {
        search(&data(), grid, &purpose(), &mut NoPulse, &mut |_| {})
    }

    #[test]
    fn presets_match_the_papers() {
        assert_eq!(Grid::paper().recipes.len(), 36);
        assert_eq!(
            Grid::small().describe(),
            "small: 12 points, layers 1, 2, widths 64, 256, learning rates 1e-4, 1e-3, 1e-2, up to 2000 steps"
        );
        assert_eq!(
            linear::grid().describe(),
            "linear: 4 points, linear, learning rates 1e-4, 1e-3, 1e-2, 1e-1, up to 2000 steps"
        );
        assert!(GRID_NAMES.iter().all(|name| Grid::named(name).is_some_and(|g| g.name == *name)));
    }

    #[test]
    fn simplest_tied_setting_wins_with_any_number_of_threads() {
        let grid = Grid::product("test", &[1], &[4, 16], &[1e-3, 1e-2]);
        let probe = run(&grid).unwrap();
        let chosen = probe.standing().unwrap();
        assert_eq!(Score::of(probe.mlp(), data().validation()), chosen.score);
        let best = probe.trials().iter().flat_map(|t| &t.run.correct).max().copied().unwrap();
        let n = data().validation().len();
        assert!(chosen.score.accuracy >= best as f64 / n as f64 - (0.25 / n as f64).sqrt());
        for rival in probe.rivals() {
            let key = |s: &Standing| (s.trial.parameters, s.trial.recipe.learning_rate);
            assert!(rival.trial.index != chosen.trial.index && key(&rival) >= key(&chosen));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| run(&grid)).unwrap(), probe);
    }

    #[test]
    fn progress_counts_steps_and_can_stop() {
        let grid = Grid::product("test", &[1], &[4], &[1e-3, 1e-2]);
        let (mut last, mut heard, mut steps) = ((0, 0), 0, 0);
        search(
            &data(),
            &grid,
            &purpose(),
            &mut |d, t| {
                last = (d, t);
                Ok(())
            },
            &mut |trial| {
                heard += 1;
                steps += trial.run.steps();
            },
        )
        .unwrap();
        assert_eq!((last, heard), ((steps - 1, 2 * SEARCH_STEPS), 2));
        let stopped =
            search(&data(), &grid, &purpose(), &mut |d, _| if d < 7 { Ok(()) } else { Err(Cancelled) }, &mut |_| {});
        assert_eq!(stopped, Err(ProbeError::Cancelled(Cancelled)));
    }

    #[test]
    fn invalid_grids_are_rejected() {
        for (depths, widths, rates) in
            [(&[1][..], &[0][..], &[1e-3][..]), (&[1], &[8], &[f64::NAN]), (&[], &[8], &[1e-3])]
        {
            let refused = run(&Grid::product("bad", depths, widths, rates));
            assert!(matches!(refused, Err(ProbeError::Grid { .. })), "{refused:?}");
        }
        assert!(matches!(run(&Grid::product("far", &[2], &[8], &[1e30])), Err(ProbeError::Diverged { trials: 1, .. })));
    }

    #[test]
    fn bytes_round_trip_with_their_role() {
        let probe = run(&Grid::product("test", &[1, 2], &[4], &[1e-3])).unwrap();
        let bytes = probe.to_bytes();
        assert_eq!(Probe::<Oracle>::from_bytes(&bytes).unwrap(), probe);
        assert!(matches!(Probe::<Intervention>::from_bytes(&bytes), Err(BytesError::Kind { .. })));
    }
}

//! Trains many networks as one batch, one network per thread.
//!
//! These networks are too small to use several threads each, and a run trains dozens of them: one for every setting of a grid, and
//! replicates of oracles and attacked probes. Threads take the jobs from one queue in order. Every training run has separate random streams
//! and runs on one thread, so the number of threads and their timing do not change results.

use super::ProbeError;
use super::data::{Labelled, TrainingData};
use super::grid::{Probe, Trial};
use super::split::Role;
use super::train::{Recipe, Trained, train};
use base::{Cancelled, Pulse, SharedPulse};
use rayon::prelude::*;
use stats::Purpose;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A training run to be executed. The type of its data determines its role.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    data: &'a Labelled,
    validation: &'a Labelled,
    recipe: Recipe,
    most: usize,
    purpose: Purpose,
    role: &'static str,
}

impl<'a> Job<'a> {
    /// A job that trains `recipe` on `data` for at most `most` steps, with the streams of `purpose` (whose role and recipe are set here).
    pub fn new<R: Role>(data: &'a TrainingData<R>, recipe: &Recipe, most: usize, purpose: &Purpose) -> Self {
        let purpose = purpose.of(R::NAME, &format!("{} batch {}", recipe.describe(), recipe.batch));
        let (data, validation) = (data.train(), data.validation());
        Self { data, validation, recipe: recipe.clone(), most, purpose, role: R::NAME }
    }

    /// The address of the random streams.
    pub fn purpose(&self) -> &Purpose {
        &self.purpose
    }

    pub fn most(&self) -> usize {
        self.most
    }

    /// Multiplications per step, up to a factor.
    pub(super) fn cost(&self) -> usize {
        self.recipe.parameters(self.data.x().cols(), self.data.classes())
    }

    /// Trains the network. `None` if weights or loss were NaN or infinite before the first validation.
    pub(super) fn run(&self, beat: &mut dyn FnMut() -> Result<(), Cancelled>) -> Result<Option<Trained>, Cancelled> {
        train(self.data, self.validation, &self.recipe, self.most, &self.purpose, beat)
    }

    /// The trial of a training run of this job, at index `index`.
    pub(super) fn trial(&self, index: usize, trained: Option<&Trained>) -> Trial {
        let parameters = self.recipe.parameters(self.data.x().cols(), self.data.classes());
        let run = trained.map(|t| t.run.clone()).unwrap_or_default();
        Trial { index, recipe: self.recipe.clone(), parameters, run }
    }
}

/// A trained probe; its role is checked by [`Self::probe`].
#[derive(Debug, Clone)]
pub struct Finished {
    role: &'static str,
    trial: Trial,
    trained: Trained,
}

impl Finished {
    /// The probe with role `R`, at its earliest validation within one standard error of its best.
    ///
    /// # Errors
    /// [`ProbeError::Role`] if it was trained in a different role.
    pub fn probe<R: Role>(self) -> Result<Probe<R>, ProbeError> {
        if self.role != R::NAME {
            return Err(ProbeError::Role { found: self.role, wanted: R::NAME });
        }
        let name = self.trial.recipe.describe();
        Probe::choose(&name, vec![(self.trial, Some(self.trained))])
    }
}

/// Runs all jobs, earlier ones first. `finished` is called with each job's index when it ends (`None` if it diverged), on the thread that
/// trained it. `pulse` counts steps; it ends below its total if training runs end before their cap.
pub fn train_all(
    jobs: &[Job<'_>],
    pulse: &mut dyn Pulse,
    finished: &mut (dyn FnMut(usize, Option<&Finished>) + Send),
) -> Result<Vec<Option<Finished>>, Cancelled> {
    let shared = SharedPulse::new(pulse, jobs.iter().map(|j| j.most).sum());
    let finished = Mutex::new(finished);
    in_order(jobs.len(), |i| {
        let trained = jobs[i].run(&mut || shared.beat())?;
        let trial = jobs[i].trial(0, trained.as_ref());
        let done = trained.map(|trained| Finished { role: jobs[i].role, trial, trained });
        (finished.lock().unwrap_or_else(PoisonError::into_inner))(i, done.as_ref());
        Ok(done)
    })
}

/// Runs `work` for `0..count` on rayon's threads, each taking the next index; returns results in order.
pub(super) fn in_order<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, Cancelled> + Sync,
) -> Result<Vec<T>, Cancelled> {
    let next = AtomicUsize::new(0);
    let parts: Vec<Vec<(usize, T)>> = (0..rayon::current_num_threads().min(count))
        .into_par_iter()
        .with_max_len(1)
        .map(|_| {
            let mut mine = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return Ok(mine);
                }
                mine.push((i, work(i)?));
            }
        })
        .collect::<Result<_, Cancelled>>()?;
    let mut all: Vec<(usize, T)> = parts.into_iter().flatten().collect();
    all.sort_by_key(|(i, _)| *i);
    Ok(all.into_iter().map(|(_, t)| t).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{Intervention, Oracle, Split};
    use crate::train::SEARCH_STEPS;
    use crate::{Matrix, Mlp};
    use base::NoPulse;
    use stats::rng::{stream, unit};

    fn material() -> (Matrix, Vec<Option<usize>>, Split) {
        let n = 1_200;
        let mut rng = stream(1, "points");
        let x = Matrix::from_vec(n, 4, (0..n * 4).map(|_| (2.0 * unit(&mut rng) - 1.0) as f32).collect());
        let x = x.unwrap();
        let y = x.iter_rows().map(|r| Some(usize::from(r[0] + r[1] * r[2] > 0.0))).collect();
        (x, y, Split::new(n, 1).unwrap())
    }

    fn recipe() -> Recipe {
        Recipe { hidden: vec![16], learning_rate: 1e-2, batch: 64 }
    }

    fn first_weights(job: &Job<'_>) -> Mlp {
        Mlp::fresh(4, &job.recipe.hidden, 2, &mut job.purpose.stream("weights"))
    }

    /// Regression: an oracle and an attacked probe with the same settings and seed used to start from the same weights.
    #[test]
    fn initial_weights_differ_by_role_and_property() {
        let (x, y, split) = material();
        let oracle = TrainingData::<Oracle>::new(split.oracle(), &x, &y, 2).unwrap();
        let attacked = TrainingData::<Intervention>::new(split.intervention(), &x, &y, 2).unwrap();
        let purpose = Purpose::new(1, "zc", "mlp");
        let judge = first_weights(&Job::new(&oracle, &recipe(), SEARCH_STEPS, &purpose));
        assert_ne!(judge, first_weights(&Job::new(&attacked, &recipe(), SEARCH_STEPS, &purpose)));
        for other in [Purpose::new(1, "ze", "mlp"), purpose.replicate(1), Purpose::new(2, "zc", "mlp")] {
            assert_ne!(judge, first_weights(&Job::new(&oracle, &recipe(), SEARCH_STEPS, &other)));
        }
        assert_eq!(judge, first_weights(&Job::new(&oracle, &recipe(), SEARCH_STEPS, &purpose)));
    }

    #[test]
    fn results_depend_on_role_but_not_on_threads() {
        let (x, y, split) = material();
        let oracle = TrainingData::<Oracle>::new(split.oracle(), &x, &y, 2).unwrap();
        let attacked = TrainingData::<Intervention>::new(split.intervention(), &x, &y, 2).unwrap();
        let purpose = Purpose::new(1, "zc", "mlp");
        let jobs: Vec<Job> = (1..=3)
            .flat_map(|k| {
                let p = purpose.replicate(k);
                [Job::new(&oracle, &recipe(), 600, &p), Job::new(&attacked, &recipe(), 600, &p)]
            })
            .collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut heard = Vec::new();
            let all = pool.install(|| train_all(&jobs, &mut NoPulse, &mut |i, _| heard.push(i)).unwrap());
            heard.sort_unstable();
            assert_eq!(heard, [0, 1, 2, 3, 4, 5]);
            all.into_iter().map(|done| done.unwrap()).collect::<Vec<_>>()
        };
        let (one, three) = (run(1), run(3));
        for (i, (a, b)) in one.into_iter().zip(three).enumerate() {
            if i % 2 == 1 {
                assert!(matches!(a.clone().probe::<Oracle>(), Err(ProbeError::Role { .. })));
                assert_eq!(a.probe::<Intervention>().unwrap(), b.probe::<Intervention>().unwrap());
            } else {
                assert_eq!(a.probe::<Oracle>().unwrap(), b.probe::<Oracle>().unwrap());
            }
        }
    }
}

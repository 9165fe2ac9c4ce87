//! Trains every model from several seeds, several models at a time, and continues where an earlier run stopped.

use std::any::Any;
use std::fs::{File, TryLockError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::card::Card;
use super::train::{Options, steps_of, train};
use super::{seeds, work};
use base::Cancelled;
use pretraining::Progress;
use pretraining::recipe::Recipe;
use pretraining::splits::Judgement;
use pretraining::{GalleryError, Result};

/// Maximum number of seeds for a tiny model, which serves only for comparison with its mini and has no targets.
pub(crate) const OF_A_TINY: u64 = 3;

#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub recipe: Recipe,
    pub seed: u64,
    /// Output folder.
    pub out: PathBuf,
}

#[derive(Debug)]
pub struct Plan {
    /// Models to be trained, in order.
    pub jobs: Vec<Job>,
    /// Number of finished models that already exist.
    pub there: usize,
    /// Lock that keeps other processes from training the same models.
    _claim: Option<File>,
}

/// Number of seeds to train for a model if `seeds` are trained for each mini model.
pub(crate) fn seeds_of(recipe: &Recipe, seeds: u64) -> u64 {
    if recipe.name.ends_with("-tiny") { seeds.min(OF_A_TINY) } else { seeds }
}

impl Plan {
    /// Plans seeds 1 to `seeds` of every model. The first seed of each model (the one that ships) comes first. Skips models already
    /// complete under `dir` and removes files left behind by killed runs.
    ///
    /// # Errors
    /// [`GalleryError::Steps`]; [`GalleryError::Busy`] while another run works in `dir`; [`GalleryError::Seeds`] if existing models differ
    /// from those to be trained; [`GalleryError::Io`].
    pub fn new(dir: &Path, recipes: &[Recipe], seeds: u64, steps: Option<usize>, judgement: Judgement) -> Result<Self> {
        recipes.iter().try_for_each(|r| steps_of(r, steps).map(drop))?;
        let io = |source| GalleryError::Io { path: dir.to_owned(), source };
        std::fs::create_dir_all(dir).map_err(io)?;
        let claim = claim(dir)?;
        let mut plan = Self { jobs: Vec::new(), there: 0, _claim: claim };
        recipes.iter().for_each(|r| work::sweep(&dir.join(r.name)));
        for seed in seeds::SHIPPED..seeds::SHIPPED + seeds {
            for recipe in recipes.iter().filter(|r| seed < seeds::SHIPPED + seeds_of(r, seeds)) {
                let out = seeds::folder(dir, recipe.name, seed);
                if out.symlink_metadata().is_err() {
                    plan.jobs.push(Job { recipe: recipe.clone(), seed, out });
                    continue;
                }
                let card = seeds::card_of(&out, recipe.name, seed)?;
                seeds::is_of(&out.join("card.json"), &card, recipe, steps_of(recipe, steps)?, judgement)?;
                plan.there += 1;
            }
        }
        Ok(plan)
    }
}

/// Locks a folder until the file is closed; `None` if folders cannot be locked.
fn claim(dir: &Path) -> Result<Option<File>> {
    let Ok(folder) = File::open(dir) else { return Ok(None) };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(GalleryError::Busy(dir.to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

#[derive(Debug)]
pub enum Event {
    Step(Progress),
    /// The training finished or failed.
    Done(Box<Result<Card>>),
}

/// Trains the planned models, `abreast` at a time, each on its part of the threads, with the options in `like` except seed and folder.
/// `tell` is called on this thread with each event. If one training run fails, the others continue. When `stop` is set, nothing new begins
/// and the current training runs are abandoned.
///
/// # Errors
/// [`GalleryError::Threads`] before anything has begun. Later failures are reported as events.
pub fn run(
    plan: &Plan,
    like: &Options,
    abreast: usize,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Job, Event),
) -> Result<()> {
    let abreast = abreast.clamp(1, plan.jobs.len().max(1));
    // Each run has a separate pool, because kernels and loops use the threads of the pool in which they run.
    let pools: Vec<ThreadPool> = shares(rayon::current_num_threads(), abreast)
        .map(|threads| ThreadPoolBuilder::new().num_threads(threads).build())
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| GalleryError::Threads(e.to_string()))?;
    let next = AtomicUsize::new(0);
    let (sender, events) = channel();
    std::thread::scope(|scope| {
        for pool in &pools {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = plan.jobs.get(index) else { break };
                    let made = one(pool, job, like, stop, &(index, sender.clone()));
                    // Sending cannot fail: the receiver lives as long as this scope.
                    let _ = sender.send((index, Event::Done(Box::new(made))));
                }
            });
        }
        drop(sender);
        for (index, event) in events {
            tell(&plan.jobs[index], event);
        }
    });
    Ok(())
}

/// Number of threads for each of `abreast` training runs: evenly divided, at least one.
fn shares(threads: usize, abreast: usize) -> impl Iterator<Item = usize> {
    (0..abreast).map(move |k| (threads / abreast + usize::from(k < threads % abreast)).max(1))
}

/// Trains one model on the threads of a pool.
fn one(
    pool: &ThreadPool,
    job: &Job,
    like: &Options,
    stop: &AtomicBool,
    (index, sender): &(usize, Sender<(usize, Event)>),
) -> Result<Card> {
    let options = Options { seed: job.seed, out: job.out.clone(), ..like.clone() };
    let work = || {
        let mut watch = |progress: Progress| {
            let _ = sender.send((*index, Event::Step(progress)));
            if stop.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
        };
        train(&job.recipe, &options, &mut watch)
    };
    // A panic in one training run must not affect the others.
    catch_unwind(AssertUnwindSafe(|| pool.install(work)))
        .unwrap_or_else(|panic| Err(GalleryError::Internal(said(panic.as_ref()))))
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;

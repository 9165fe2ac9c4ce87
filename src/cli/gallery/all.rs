//! `probity gallery train --all`: trains every model from several seeds.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{TrainArgs, known_recipe, options, stop_on_interrupt};
use crate::error::CliError;
use crate::output;
use crate::progress::Meter;
use base::numbers::seconds;
use base::text::printable_label;
use engine::message;
use gallery::series::{self, Event, Job, Plan};
use pretraining::{GalleryError, Progress, RECIPES, Recipe, Stage};

const FOLDER: &str = "gallery-seeds";
/// Default number of seeds per mini model.
const SEEDS: u64 = 5;
/// Minimum interval between plain progress lines.
const PLAIN_EVERY: Duration = Duration::from_secs(30);
/// Minimum interval between redraws of the progress line on a terminal.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// Trains the models that do not exist yet.
///
/// # Errors
/// [`CliError::Usage`] for invalid names, numbers and folders, [`CliError::Cancelled`] after Ctrl-C,
/// [`CliError::Reported`] if a training run failed.
pub(crate) fn all(args: &TrainArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let only = args.only.iter().map(|name| Ok(known_recipe(name)?.name)).collect::<Result<Vec<_>, CliError>>()?;
    // Each name is used once, in gallery order.
    let recipes: Vec<Recipe> = RECIPES.iter().filter(|r| only.is_empty() || only.contains(&r.name)).cloned().collect();
    let dir = args.out.clone().unwrap_or_else(|| FOLDER.into());
    let like = options(args, &dir)?;
    let plan = Plan::new(&dir, &recipes, args.seeds.unwrap_or(SEEDS), args.steps, like.judgement)?;
    let stop = stop_on_interrupt();
    let mut board = Board::new(plan.jobs.len(), args.quiet);
    let mut closed = None;
    let jobs = usize::try_from(args.jobs.unwrap_or(1)).unwrap_or(1);
    series::run(&plan, &like, jobs, &stop, &mut |job, event| match event {
        Event::Step(progress) => board.step(job, progress),
        Event::Done(made) => {
            let line = board.done(job, made.map(|card| card.training.seconds));
            if let Some(Err(error)) = line.map(|line| output::line(out, &line)) {
                // The reader of the output has exited: current training runs are stopped, and files already written are kept.
                closed.get_or_insert(error);
                stop.store(true, Ordering::Relaxed);
            }
        }
    })?;
    board.meter.clear();
    if let Some(error) = closed {
        return Err(error);
    }
    output::line(out, &board.summary(&plan, &output::full(&dir)))?;
    if stop.load(Ordering::Relaxed) {
        return Err(CliError::Cancelled);
    }
    if board.failed.is_empty() { Ok(()) } else { Err(CliError::Reported) }
}

struct Running {
    progress: Progress,
    /// Start of the current stage.
    since: Instant,
    /// Time of the stage's last progress line.
    told: Instant,
}

struct Board {
    meter: Meter,
    total: usize,
    written: usize,
    failed: Vec<String>,
    running: HashMap<String, Running>,
    drawn: Option<Instant>,
    started: Instant,
}

fn name(job: &Job) -> String {
    format!("{} seed {}", job.recipe.name, job.seed)
}

impl Board {
    fn new(total: usize, quiet: bool) -> Self {
        Self {
            meter: Meter::new(quiet),
            total,
            written: 0,
            failed: Vec::new(),
            running: HashMap::new(),
            drawn: None,
            started: Instant::now(),
        }
    }

    fn step(&mut self, job: &Job, progress: Progress) {
        let (name, now) = (name(job), Instant::now());
        let is_new = !self.running.contains_key(&name);
        let running = self.running.entry(name.clone()).or_insert(Running { progress, since: now, told: now });
        if running.progress.stage != progress.stage {
            running.since = now;
        }
        running.progress = progress;
        if matches!(self.meter, Meter::Bar(_)) {
            self.draw();
        } else if is_new || running.told.elapsed() >= PLAIN_EVERY {
            running.told = now;
            let line = line(&name, running);
            self.meter.tell(&line);
        }
    }

    fn draw(&mut self) {
        if self.drawn.is_some_and(|at| at.elapsed() < DRAW_EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let mut lines: Vec<String> = self.running.iter().map(|(name, r)| line(name, r)).collect();
        lines.sort();
        let ended = self.written + self.failed.len();
        let part: f64 = self.running.values().map(|r| share(r.progress)).sum();
        self.meter.show(&message::Progress {
            stage: lines.join("; "),
            done: ended as u64,
            total: self.total as u64,
            unit: "model".into(),
            rate: 0.0,
            overall: (ended as f64 + part) / self.total.max(1) as f64,
            elapsed: self.started.elapsed().as_secs_f64(),
            left: None,
        });
    }

    /// Returns the message for a finished training run; a failure is written to standard error instead.
    fn done(&mut self, job: &Job, made: Result<f64, GalleryError>) -> Option<String> {
        self.running.remove(&name(job));
        let folder = output::full(&job.out);
        match made {
            Ok(took) => {
                self.written += 1;
                Some(format!("{}: written to {folder}, trained in {took:.0} s", name(job)))
            }
            Err(GalleryError::Cancelled(_)) => None,
            Err(error) => {
                let error = printable_label(&error.to_string());
                self.meter.say(&format!("error: {} failed, {folder} was not written: {error}", name(job)));
                self.failed.push(folder);
                None
            }
        }
    }

    fn summary(&self, plan: &Plan, dir: &str) -> String {
        let mut said = format!("{} of {} models written", self.written, self.total);
        if plan.there > 0 {
            said += &format!(", {} existed already", plan.there);
        }
        if !self.failed.is_empty() {
            said += &format!(", {} failed", self.failed.len());
        }
        let rest = if self.written < self.total { "; run the command again to train the others" } else { "" };
        format!("{said}; in {dir}{rest}")
    }
}

/// Completed share of a training run; the measurements after it take little time.
fn share(p: Progress) -> f64 {
    match p.stage {
        Stage::Train => p.done as f64 / p.total.max(1) as f64,
        Stage::Score => 1.0,
    }
}

/// Formats progress: `bert-mini seed 2: step 1200/3900, loss 3.21, 4 min left`.
fn line(name: &str, running: &Running) -> String {
    let p = running.progress;
    let mut text = match p.stage {
        Stage::Train => format!("{name}: step {}/{}", p.done, p.total),
        Stage::Score => format!("{name}: measuring, part {}/{}", p.done, p.total),
    };
    if p.loss.is_finite() {
        text += &format!(", loss {:.2}", p.loss);
    }
    let spent = running.since.elapsed().as_secs_f64();
    // The first step is slower than the others and would distort the estimate.
    if p.done > 1 {
        text += &format!(", {} left", seconds(spent / p.done as f64 * (p.total - p.done) as f64));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Cancelled;
    use pretraining::Judgement;

    fn job(seed: u64) -> Job {
        let recipe = Recipe::named("bert-mini").unwrap().clone();
        Job { recipe, seed, out: std::env::temp_dir().join(format!("x/seed-{seed}")) }
    }

    #[test]
    fn progress_lines_show_model_seed_step_and_time() {
        let since = Instant::now() - Duration::from_secs(100);
        let progress = Progress { stage: Stage::Train, done: 100, total: 300, loss: 3.214 };
        let text = line("bert-mini seed 2", &Running { progress, since, told: since });
        assert!(text.starts_with("bert-mini seed 2: step 100/300, loss 3.21, "), "{text}");
        assert!(text.ends_with(&format!("{} left", seconds(200.0))), "{text}");
        let progress = Progress { stage: Stage::Score, done: 0, total: 50, loss: f32::NAN };
        let text = line("a", &Running { progress, since, told: since });
        assert_eq!(text, "a: measuring, part 0/50");
    }

    #[test]
    fn failure_names_its_folder_and_is_counted() {
        let mut board = Board::new(3, true);
        board.step(&job(1), Progress { stage: Stage::Train, done: 1, total: 2, loss: 1.0 });
        let said = board.done(&job(1), Ok(12.3)).unwrap();
        assert!(said.contains("bert-mini seed 1: written to ") && said.ends_with("seed-1, trained in 12 s"));
        assert!(board.done(&job(2), Err(GalleryError::Steps(0))).is_none());
        assert!(board.done(&job(3), Err(GalleryError::Cancelled(Cancelled))).is_none());
        assert!(board.failed.len() == 1 && board.failed[0].ends_with("seed-2"), "{:?}", board.failed);
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan::new(dir.path(), &[], 1, None, Judgement::Final).unwrap();
        let said = board.summary(&plan, "D");
        assert_eq!(said, "1 of 3 models written, 1 failed; in D; run the command again to train the others");
    }
}

//! `probity gallery`: the built-in models, their cards, and how to make them again.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use crate::model::Device;
use crate::model::gallery::{self, Card, GalleryError, Options, Progress, RECIPES, Recipe, Stage};
use crate::stats::Cancelled;

/// The built-in models: list them, show their cards, make them again.
#[derive(Debug, Args)]
pub struct GalleryArgs {
    #[command(subcommand)]
    command: GalleryCommand,
}

#[derive(Debug, Subcommand)]
enum GalleryCommand {
    /// Name, family, shape, size and scores of every built-in model.
    List,
    /// Trains a model from a seed and writes it as a Hugging Face folder with a card.
    ///
    /// Example: probity gallery train bert-mini --seed 1 --out /tmp/bert-mini-1
    Train(TrainArgs),
    /// What a model was made from and what it can do.
    Card {
        /// A built-in model, or a folder with a card.json.
        name: String,
        /// Print the card as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct TrainArgs {
    /// The model to make.
    name: String,
    /// The seed of initial weights, text, masking and order.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The folder to write; it must not exist. [default: the model's name, in the current folder]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Optimiser steps. [default: the recipe's]
    #[arg(long)]
    steps: Option<usize>,
    /// Where to train: cpu, cuda:N, metal, or auto.
    #[arg(long, default_value = "cpu")]
    device: Device,
}

/// Runs the subcommand; what it has to say goes to standard output, progress to standard error.
///
/// # Errors
/// [`GalleryError`], with [`GalleryError::Cancelled`] after Ctrl-C.
pub fn run(args: &GalleryArgs) -> Result<(), GalleryError> {
    match &args.command {
        GalleryCommand::List => say(&list(&gallery::cards()?)),
        GalleryCommand::Card { name, json } => {
            let card = gallery::card(name)?;
            if *json {
                let text = serde_json::to_string_pretty(&card)
                    .map_err(|e| GalleryError::Card { name: name.clone(), what: e.to_string() })?;
                say(&format!("{text}\n"))
            } else {
                say(&card.to_string())
            }
        }
        GalleryCommand::Train(args) => train(args),
    }
}

/// Prints text from a file safely: control characters cannot reach the terminal. A reader that has gone away is no error.
fn say(text: &str) -> Result<(), GalleryError> {
    let safe: String =
        text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    match std::io::stdout().lock().write_all(safe.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(GalleryError::Io { path: "standard output".into(), source: e })
        }
        _ => Ok(()),
    }
}

/// One line per model.
fn list(cards: &[Card]) -> String {
    let mut text = format!(
        "{:<12} {:<7} {:<16} {:>10} {:>7}  {:<26} {}\n",
        "name",
        "family",
        "shape",
        "parameters",
        "MB",
        "agreement, none/opposing %",
        "linear, subject/attractor %"
    );
    for card in cards {
        let share =
            |id: &str| card.score(id).map_or("n/a".to_owned(), |s| format!("{:.1}", 100.0 * s.share.mean));
        let pair = |a: &str, b: &str| format!("{} / {}", share(a), share(b));
        let s = &card.shape;
        let shape = format!("{}x{}, {} heads", s.layers, s.hidden, s.heads);
        let _ = writeln!(
            text,
            "{:<12} {:<7} {:<16} {:>10} {:>7.2}  {:<26} {}",
            card.name,
            card.family,
            shape,
            s.parameters,
            s.bytes as f64 / 1e6,
            pair("agreement_none", "agreement_opposing"),
            pair("subject_linear", "attractor_linear"),
        );
    }
    text
}

fn train(args: &TrainArgs) -> Result<(), GalleryError> {
    let known = || RECIPES.iter().map(|r| r.name).collect::<Vec<_>>().join(", ");
    let recipe = Recipe::named(&args.name)
        .ok_or_else(|| GalleryError::Unknown { name: args.name.clone(), known: known() })?;
    let options = Options {
        seed: args.seed,
        steps: args.steps,
        out: args.out.clone().unwrap_or_else(|| recipe.name.into()),
        sizes: gallery::score::Sizes::default(),
        device: args.device,
    };
    let stop = stop_on_interrupt();
    let mut reporter = Reporter::new();
    let card = gallery::train(recipe, &options, &mut |progress| {
        reporter.report(progress);
        if stop.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    })?;
    reporter.end();
    say(&format!("{card}\nwritten to {}\n", options.out.display()))
}

/// A flag that Ctrl-C sets; the work is stopped between two steps.
fn stop_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    std::thread::spawn(move || {
        // Without a runtime Ctrl-C simply ends the process.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            set.store(true, Ordering::Relaxed);
        }
    });
    stop
}

/// A bar on a terminal, otherwise a plain line now and then.
struct Reporter {
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
    started: Instant,
    told: f64,
}

/// Seconds between plain lines.
const TELL_EVERY: f64 = 5.0;

impl Reporter {
    fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(0));
        Self { bar, stage: None, started: Instant::now(), told: f64::NEG_INFINITY }
    }

    fn report(&mut self, p: Progress) {
        let name = match p.stage {
            Stage::Train => "training",
            Stage::Score => "scoring",
        };
        if self.stage != Some(p.stage) {
            self.stage = Some(p.stage);
            self.started = Instant::now();
            self.told = f64::NEG_INFINITY;
            if let Some(bar) = &self.bar {
                let template = "{prefix:9} {wide_bar} {pos}/{len}  {msg}  {per_sec}  {eta} left";
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(style);
                }
                bar.reset();
                bar.set_length(p.total as u64);
                bar.set_prefix(name);
            }
        }
        let loss = if p.loss.is_nan() { String::new() } else { format!("loss {:.3}", p.loss) };
        if let Some(bar) = &self.bar {
            bar.set_position(p.done as u64);
            bar.set_message(loss);
            return;
        }
        let seconds = self.started.elapsed().as_secs_f64();
        if seconds - self.told >= TELL_EVERY || p.done == p.total {
            self.told = seconds;
            let left =
                if p.done > 0 { seconds / p.done as f64 * (p.total - p.done) as f64 } else { f64::NAN };
            eprintln!("{name} {}/{}  {loss}  {seconds:.0} s, {left:.0} s left", p.done, p.total);
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        gallery: GalleryArgs,
    }

    fn parse(words: &[&str]) -> Result<GalleryArgs, clap::Error> {
        Cli::try_parse_from([&["gallery"], words].concat()).map(|c| c.gallery)
    }

    #[test]
    fn arguments() {
        let GalleryCommand::Train(t) =
            parse(&["train", "bert-mini", "--seed", "7", "--steps", "3"]).unwrap().command
        else {
            panic!()
        };
        assert_eq!((t.name.as_str(), t.seed, t.steps, t.out), ("bert-mini", 7, Some(3), None));
        assert!(parse(&["train"]).is_err() && parse(&["train", "x", "--seed", "-1"]).is_err());
        assert!(parse(&["train", "x", "--device", "toaster"]).is_err());
    }

    #[test]
    fn unknown_models_are_refused_with_the_known_ones() {
        let error = run(&parse(&["train", "bert-huge"]).unwrap()).unwrap_err().to_string();
        assert!(error.contains("bert-huge") && error.contains("bert-mini, gpt2-mini"), "{error}");
        let error = run(&parse(&["card", "bert-huge"]).unwrap()).unwrap_err().to_string();
        assert!(error.contains("bert-huge"), "{error}");
    }

    #[test]
    fn an_existing_folder_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().display().to_string();
        let error = run(&parse(&["train", "bert-mini", "--out", &out]).unwrap()).unwrap_err();
        assert!(matches!(error, GalleryError::Exists(_)), "{error}");
        let error = run(&parse(&["train", "bert-mini", "--out", "/tmp/x-never", "--steps", "0"]).unwrap())
            .unwrap_err();
        assert!(matches!(error, GalleryError::Steps(0)), "{error}");
    }
}

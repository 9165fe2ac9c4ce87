//! `probity gallery`: the built-in models, their cards, and how to rebuild them.

mod all;
mod judge;
mod list;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::progress::Meter;
use super::{names, output, signals};
use base::Cancelled;
use base::suggest;
use base::text::printable_label;
use engine::message;
use gallery::score::Sizes;
use gallery::{Options, seeds};
use model::builtin::BUILTINS;
use pretraining::{GalleryError, Judgement, Progress, RECIPES, Recipe, Stage};

/// List the built-in models, show their cards, and rebuild them.
#[derive(Debug, Args)]
pub struct GalleryArgs {
    #[command(subcommand)]
    command: GalleryCommand,
}

#[derive(Debug, Subcommand)]
enum GalleryCommand {
    /// List name, family, shape, size and scores of every built-in model.
    List,
    /// Train a model from a seed and write it as a Hugging Face folder with a card.
    Train(TrainArgs),
    Judge(judge::JudgeArgs),
    /// Re-evaluate a trained model and rewrite its card; the weights are not changed.
    Score(ScoreArgs),
    /// Continue training a model on mixtures with different shares of facts, and query the facts after each mixture.
    Mix(super::mix::MixArgs),
    /// Show the training and the scores of a model.
    Card {
        /// Built-in name, or a folder with a card.json.
        model: String,
        /// Print the card as one line of JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity gallery train bert-mini --seed 1
  probity gallery train gpt2-mini --seed 7 --steps 200 --out /tmp/gpt2-quick
  probity gallery train --all --seeds 5 --jobs 2 --out gallery-seeds

With --all each model is written to DIR/NAME/seed-S. Complete folders are skipped, so repeating the command continues
a stopped run. `probity gallery judge DIR` reads the results.")]
struct TrainArgs {
    /// Name of the model in the gallery.
    #[arg(required_unless_present = "all")]
    name: Option<String>,
    /// Train every model once per seed from 1 to --seeds (tiny models with at most three seeds); seed 1 of every model comes first.
    #[arg(long, conflicts_with_all = ["name", "seed"])]
    all: bool,
    /// With --all: number of seeds per model [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=seeds::MOST as u64))]
    seeds: Option<u64>,
    /// With --all: number of models trained in parallel, each with its share of the processor threads [default: 1]. One model per thread
    /// takes the least time but the most memory.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=256))]
    jobs: Option<u64>,
    /// With --all: only these models.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    only: Vec<String>,
    /// The seed for initial weights, text, masking and order.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder to write, which must not exist yet [default: the model's name, in the current folder]; with --all, the
    /// folder for all models [default: gallery-seeds].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Optimiser steps [default: as in the model's training settings].
    #[arg(long)]
    steps: Option<usize>,
    /// Evaluate on the half that is used to choose training settings, and leave the final half unused.
    #[arg(long)]
    development: bool,
    /// Device: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  probity gallery score gallery-seeds/bert-mini/seed-1")]
struct ScoreArgs {
    /// A folder that `gallery train` wrote.
    folder: PathBuf,
    /// Evaluate on the half of facts, names and sentences that is used to choose training settings.
    #[arg(long)]
    development: bool,
    /// Repeat only the rationale benchmark, for example after its sentences have changed, on the half used for the card; keep the other
    /// scores.
    #[arg(long, conflicts_with = "development")]
    benchmark: bool,
    /// Device: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
}

/// Fails with [`CliError::Usage`] for invalid names, folders and numbers, [`CliError::Cancelled`] after Ctrl-C, otherwise
/// [`CliError::Failed`].
pub fn run(args: &GalleryArgs, out: &mut dyn Write) -> Result<(), CliError> {
    match &args.command {
        GalleryCommand::List => print(&list::text(&gallery::cards()?), out),
        GalleryCommand::Judge(args) => judge::judge(args, out),
        GalleryCommand::Card { model, json } => card(model, *json, out),
        GalleryCommand::Train(args) => train(args, out),
        GalleryCommand::Score(args) => score(args, out),
        GalleryCommand::Mix(args) => super::mix::run(args, out),
    }
}

impl From<GalleryError> for CliError {
    fn from(error: GalleryError) -> Self {
        match error {
            GalleryError::Cancelled(_) => CliError::Cancelled,
            GalleryError::NoCard(_)
            | GalleryError::Exists(_)
            | GalleryError::Steps(_)
            | GalleryError::Resume { .. }
            | GalleryError::Seeds { .. }
            | GalleryError::Busy(_)
            | GalleryError::Card { .. } => CliError::Usage(error.to_string()),
            _ => CliError::Failed(error.to_string()),
        }
    }
}

fn card(model: &str, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let builtin: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
    if !builtin.contains(&model) && !std::path::Path::new(model).is_dir() {
        return Err(CliError::Usage(suggest::unknown("built-in model or folder", model, &builtin)));
    }
    let card = gallery::card(model)?;
    if json {
        return output::json(out, &card);
    }
    print(&card.to_string(), out)
}

/// Prints lines that may contain text from a file.
fn print(text: &str, out: &mut dyn Write) -> Result<(), CliError> {
    text.lines().try_for_each(|line| output::line(out, &printable_label(line)))
}

fn known_recipe(name: &str) -> Result<&'static Recipe, CliError> {
    Recipe::named(name).ok_or_else(|| {
        let known: Vec<&str> = RECIPES.iter().map(|r| r.name).collect();
        CliError::Usage(suggest::unknown("model of the gallery", name, &known))
    })
}

/// Training options from the arguments; `out` is the default folder.
fn options(args: &TrainArgs, out: &Path) -> Result<Options, CliError> {
    Ok(Options {
        seed: args.seed,
        steps: args.steps,
        out: args.out.clone().unwrap_or_else(|| out.to_owned()),
        sizes: Sizes::default(),
        judgement: if args.development { Judgement::Development } else { Judgement::Final },
        device: names::device(&args.device)?,
    })
}

fn train(args: &TrainArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let Some(name) = &args.name else { return all::all(args, out) };
    // clap cannot express this requirement, because --all and a name exclude each other.
    if args.seeds.is_some() || args.jobs.is_some() || !args.only.is_empty() {
        return Err(CliError::Usage("--seeds, --jobs and --only work only with --all and without a model name".into()));
    }
    let recipe = known_recipe(name)?;
    let options = options(args, Path::new(recipe.name))?;
    let stop = stop_on_interrupt();
    let mut reporter = Reporter::new(recipe.name, args.quiet);
    let made = gallery::train(recipe, &options, &mut |progress| {
        reporter.report(progress);
        if stop.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    });
    reporter.meter.clear();
    print(&made?.to_string(), out)?;
    output::line(out, &printable_label(&format!("written to {}", options.out.display())))
}

fn score(args: &ScoreArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let judgement = if args.development { Judgement::Development } else { Judgement::Final };
    if args.benchmark {
        let card = gallery::ask_benchmark_again(&args.folder, names::device(&args.device)?)?;
        return print(&card.to_string(), out);
    }
    let stop = stop_on_interrupt();
    let name = args.folder.display().to_string();
    let mut reporter = Reporter::new(&name, args.quiet);
    let device = names::device(&args.device)?;
    let made = gallery::rescore(&args.folder, judgement, Sizes::default(), device, &mut |progress| {
        reporter.report(progress);
        if stop.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    });
    reporter.meter.clear();
    print(&made?.to_string(), out)
}

/// Returns a flag that Ctrl-C or a termination signal sets, so that work stops at the next step.
pub(super) fn stop_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    std::thread::spawn(move || {
        // Without a runtime, Ctrl-C ends the process.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            if signals::interrupts().recv().await.is_some() {
                set.store(true, Ordering::Relaxed);
            }
        });
    });
    stop
}

/// Number of steps between two progress reports.
const TELL_EVERY: usize = 50;

pub(super) struct Reporter {
    name: String,
    pub meter: Meter,
    started: Instant,
    stage: Option<(Stage, Instant)>,
    quiet: bool,
}

impl Reporter {
    pub(crate) fn new(name: &str, quiet: bool) -> Self {
        Self { name: name.to_owned(), meter: Meter::new(quiet), started: Instant::now(), stage: None, quiet }
    }

    pub(crate) fn report(&mut self, p: Progress) {
        let since = match self.stage {
            Some((stage, since)) if stage == p.stage => since,
            _ => self.stage.insert((p.stage, Instant::now())).1,
        };
        let seconds = since.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 { p.done as f64 / seconds } else { 0.0 };
        let (word, unit) = match p.stage {
            Stage::Train => ("train", "step"),
            Stage::Score => ("score", "part"),
        };
        self.meter.show(&message::Progress {
            stage: format!("{word} {}", self.name),
            done: p.done as u64,
            total: p.total as u64,
            unit: unit.into(),
            rate,
            overall: p.done as f64 / p.total.max(1) as f64,
            elapsed: self.started.elapsed().as_secs_f64(),
            left: (rate > 0.0).then(|| (p.total - p.done) as f64 / rate),
        });
        if !self.quiet && p.stage == Stage::Train && (p.done.is_multiple_of(TELL_EVERY) || p.done == p.total) {
            self.meter.say(&format!("step {}  loss {:.3}", p.done, p.loss));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use gallery::Card;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        gallery: GalleryArgs,
    }

    fn parse(words: &[&str]) -> Result<GalleryArgs, clap::Error> {
        Cli::try_parse_from([&["gallery"], words].concat()).map(|c| c.gallery)
    }

    fn answer(words: &[&str]) -> (String, Result<(), CliError>) {
        let mut out = Vec::new();
        let end = run(&parse(words).unwrap(), &mut out);
        (String::from_utf8(out).unwrap(), end)
    }

    #[test]
    fn arguments() {
        let parsed = parse(&["train", "bert-mini", "--seed", "7", "--steps", "3"]).unwrap().command;
        let GalleryCommand::Train(t) = parsed else { panic!() };
        assert_eq!((t.name.as_deref(), t.seed, t.steps, t.out), (Some("bert-mini"), 7, Some(3), None));
        assert!(!t.development);
        let parsed = parse(&["train", "bert-mini", "--development"]).unwrap().command;
        assert!(matches!(parsed, GalleryCommand::Train(TrainArgs { development: true, .. })));
        assert!(parse(&["train"]).is_err() && parse(&["train", "x", "--seed", "-1"]).is_err());
        let words = ["train", "--all", "--seeds", "3", "--jobs", "2", "--only", "bert-mini,bert-tiny"];
        let GalleryCommand::Train(t) = parse(&words).unwrap().command else { panic!() };
        assert_eq!((t.name, t.all, t.seeds, t.jobs), (None, true, Some(3), Some(2)));
        assert_eq!(t.only, ["bert-mini", "bert-tiny"]);
        for bad in [
            &["train", "--all", "bert-mini"][..],
            &["train", "--all", "--seed", "2"],
            &["train", "--all", "--seeds", "0"],
            &["train", "--all", "--jobs", "0"],
            &["train", "--all", "--force"],
            &["judge", "x", "--replace"],
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn unusable_arguments_are_refused_with_alternatives() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().display().to_string();
        for (words, hint) in [
            (&["train", "bert-mimi"][..], "did you mean `bert-mini`?"),
            (&["train", "bert-mini", "--device", "toaster"], "toaster"),
            (&["train", "bert-mini", "--jobs", "2"], "work only with --all"),
            (&["train", "bert-mini", "--seeds", "2"], "work only with --all"),
            (&["train", "bert-mini", "--only", "bert-mini"], "work only with --all"),
            (&["train", "bert-mini", "--out", &there], "exists already"),
            (&["train", "bert-mini", "--out", "never-made", "--steps", "0"], "0 steps"),
            (&["card", "bert-huge"], "bert-huge"),
            (&["card", &there], "card.json"),
        ] {
            let error = answer(words).1.unwrap_err();
            assert_eq!(error.code(), super::super::error::USAGE, "{error}");
            assert!(error.to_string().contains(hint), "{error}");
        }
    }

    #[test]
    fn shipped_models_have_lists_and_cards() {
        let (text, end) = answer(&["list"]);
        end.unwrap();
        let minis = BUILTINS.iter().filter(|b| b.name.ends_with("-mini")).count();
        assert_eq!(text.matches(" targets met").count(), minis);
        assert!(minis > 0 && text.lines().count() > 2 + BUILTINS.len());
        for builtin in BUILTINS {
            assert!(text.contains(builtin.name));
            let (card, end) = answer(&["card", builtin.name]);
            end.unwrap();
            assert!(card.contains("opposing") || card.contains("other number"), "{card}");
            let (json, end) = answer(&["card", builtin.name, "--json"]);
            end.unwrap();
            assert_eq!(serde_json::from_str::<Card>(&json).unwrap().name, builtin.name);
        }
    }

    #[test]
    fn hostile_cards_do_not_reach_the_terminal() {
        let dir = tempfile::tempdir().unwrap();
        let mut card = serde_json::from_slice::<Card>(&BUILTINS[0].card.bytes().unwrap()).unwrap();
        card.name = "a\u{1b}[2J\u{9b}b".into();
        std::fs::write(dir.path().join("card.json"), serde_json::to_string(&card).unwrap()).unwrap();
        let (text, end) = answer(&["card", &dir.path().display().to_string()]);
        end.unwrap();
        assert!(!text.contains(['\u{1b}', '\u{9b}']) && text.contains("a␛[2J"), "{text}");
        std::fs::write(dir.path().join("card.json"), vec![b'['; 100_000]).unwrap();
        assert!(answer(&["card", &dir.path().display().to_string()]).1.is_err());
    }
}

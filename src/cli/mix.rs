//! `probity gallery mix`: continues pretraining on mixtures of in-domain and out-of-domain text.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;

use super::error::CliError;
use super::gallery::{Reporter, stop_on_interrupt};
use super::{names, output};
use base::Cancelled;
use base::text::printable_label;
use model::ModelSource;
use pretraining::GalleryError;
use pretraining::further::{FurtherText, Keep, Outcome, Settings, Start, mix};
use pretraining::own_text::OwnText;

/// Model, mixtures and outputs of further training.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity gallery mix --model bert-mini
  probity gallery mix --model bert-mini --gamma 0,50,100 --out mixtures.jsonl
  probity gallery mix --model gpt2-mini --gamma 0 --shuffled --weights corrupted
  probity gallery mix --model ./my-model --text papers.txt --gamma 0 --epochs 1 --weights adapted --out adapted.jsonl

With --out, a stopped run continues where it was: mixtures in the file are not trained again, and an unfinished one continues
from FILE.unfinished.")]
pub struct MixArgs {
    /// Built-in name, folder in Hugging Face layout, or hub id.
    #[arg(long)]
    model: String,
    /// Shares of in-domain sentences (which state facts) in %; the other sentences are Micro-English, or from --text.
    #[arg(long, value_delimiter = ',', default_values_t = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0])]
    gamma: Vec<f64>,
    /// Also train for 200 steps on sentences with their words in random order.
    #[arg(long)]
    shuffled: bool,
    /// Your own text file, one sentence per line, to use instead of Micro-English; lines that are too long for the model are split.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Number of different sentences in a mixture.
    #[arg(long, default_value_t = Settings::default().sentences)]
    sentences: usize,
    /// Number of passes over the sentences of a mixture.
    #[arg(long, value_name = "N", default_value_t = Settings::default().epochs, conflicts_with = "steps")]
    epochs: usize,
    /// Number of training steps per mixture, instead of --epochs.
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Number of sentences per step.
    #[arg(long, value_name = "N", default_value_t = Settings::default().batch)]
    batch: usize,
    /// Peak learning rate of AdamW.
    #[arg(long, value_name = "RATE", default_value_t = Settings::default().rate)]
    rate: f64,
    /// Share of words that are masked, for masked models.
    #[arg(long, value_name = "SHARE", default_value_t = Settings::default().masking)]
    mask: f64,
    /// The seed for text, order and masks.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Results file (JSON lines); an existing one is continued.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Folder for the weights after each mixture.
    #[arg(long, value_name = "DIR")]
    weights: Option<PathBuf>,
    /// Device: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Print results as JSON lines.
    #[arg(long)]
    json: bool,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
}

const MAX_SENTENCES: usize = 10_000_000;

/// Runs the mixtures, starting with the unchanged model.
///
/// # Errors
/// [`CliError::Usage`] for invalid names and numbers, [`CliError::Cancelled`] after Ctrl-C, otherwise [`CliError::Failed`].
pub fn run(args: &MixArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let further_texts = further_texts(args)?;
    let usage = |e: model::ModelError| CliError::Usage(e.to_string());
    let source: ModelSource = args.model.parse().map_err(usage)?;
    let device = names::device(&args.device)?;
    let text = args.text.as_deref().map(OwnText::read).transpose().map_err(|e| CliError::Usage(e.to_string()))?;
    let settings = settings(args, text.as_ref());
    let start = Start::load(&source).map_err(|e| match e {
        GalleryError::Model(e) => usage(e),
        other => other.into(),
    })?;
    let start = start.with_text(text);
    let keep = Keep { file: args.out.clone(), weights: args.weights.clone() };
    let stop = stop_on_interrupt();
    let mut reporter = Reporter::new(&args.model, args.quiet);
    let mut told = Vec::new();
    let end = mix(
        &start,
        &further_texts,
        &settings,
        &keep,
        device,
        &mut |progress| {
            reporter.report(progress);
            if stop.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
        },
        &mut |outcome| told.push(outcome.clone()),
    );
    reporter.meter.clear();
    for outcome in &told {
        if args.json {
            output::json(out, outcome)?;
        } else {
            output::line(out, &printable_label(&line(outcome)))?;
        }
    }
    Ok(end?)
}

fn settings(args: &MixArgs, text: Option<&OwnText>) -> Settings {
    Settings {
        sentences: args.sentences,
        epochs: args.epochs,
        steps: args.steps,
        batch: args.batch,
        rate: args.rate,
        masking: args.mask,
        text: text.map(|t| t.hash().to_owned()),
        seed: args.seed,
        ..Settings::default()
    }
}

fn further_texts(args: &MixArgs) -> Result<Vec<FurtherText>, CliError> {
    if let Some(bad) = args.gamma.iter().find(|g| !(0.0..=100.0).contains(*g)) {
        return Err(CliError::Usage(format!("--gamma {bad}: it must be from 0 to 100 %")));
    }
    if !(1..=MAX_SENTENCES).contains(&args.sentences) {
        return Err(CliError::Usage(format!("--sentences {}: must be from 1 to {MAX_SENTENCES}", args.sentences)));
    }
    for (flag, n, most) in [
        ("--epochs", args.epochs, 1_000),
        ("--steps", args.steps.unwrap_or(1), 1_000_000),
        ("--batch", args.batch, 4_096),
    ] {
        if !(1..=most).contains(&n) {
            return Err(CliError::Usage(format!("{flag} {n}: must be from 1 to {most}")));
        }
    }
    if !(args.rate > 0.0 && args.rate <= 1.0) {
        return Err(CliError::Usage(format!("--rate {}: it must be between 0 and 1", args.rate)));
    }
    if !(0.01..=0.95).contains(&args.mask) {
        return Err(CliError::Usage(format!("--mask {}: must be from .01 to .95", args.mask)));
    }
    let mut further_texts = vec![FurtherText::None];
    further_texts.extend(args.gamma.iter().map(|g| FurtherText::Gamma(g / 100.0)));
    further_texts.extend(args.shuffled.then_some(FurtherText::Shuffled));
    Ok(further_texts)
}

fn line(outcome: &Outcome) -> String {
    let name = match outcome.further_text {
        FurtherText::None => "untouched".to_owned(),
        FurtherText::Gamma(g) => format!("gamma {:.0} %", 100.0 * g),
        FurtherText::Shuffled => "shuffled words".to_owned(),
    };
    let loss = outcome.loss.map_or("n/a".to_owned(), |l| format!("{l:.3}"));
    let scores: Vec<String> = outcome
        .scores
        .iter()
        .map(|s| {
            let [mean, lo, hi] = [s.share.mean, s.share.lo, s.share.hi].map(|x| 100.0 * x);
            let which = if s.id == "p1_first" { "first prompt" } else { "best prompt" };
            format!("P@1 {which} {mean:5.2} % [{lo:.2}, {hi:.2}]")
        })
        .collect();
    let n = outcome.scores.first().map_or(0, |s| s.n);
    format!("{name:<15} {:>5} steps  loss {loss:<7} {}  n {n}", outcome.steps, scores.join("  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        mix: MixArgs,
    }

    fn parse(words: &[&str]) -> MixArgs {
        Cli::try_parse_from([&["mix", "--model", "bert-mini", "-q"], words].concat()).unwrap().mix
    }

    #[test]
    fn valid_mixtures_run_and_others_are_refused() {
        let args = parse(&["--gamma", "0,50", "--shuffled"]);
        assert_eq!(
            further_texts(&args).unwrap(),
            [FurtherText::None, FurtherText::Gamma(0.0), FurtherText::Gamma(0.5), FurtherText::Shuffled]
        );
        assert_eq!(further_texts(&parse(&[])).unwrap().len(), 7);
        for bad in [
            ["--gamma", "101"],
            ["--gamma", "NaN"],
            ["--sentences", "0"],
            ["--device", "toaster"],
            ["--steps", "0"],
            ["--batch", "0"],
            ["--rate", "2"],
            ["--mask", "1"],
            ["--text", "no/such.txt"],
        ] {
            assert!(matches!(run(&parse(&bad), &mut Vec::new()), Err(CliError::Usage(_))), "{bad:?}");
        }
        let unknown = MixArgs { model: "./no/such".into(), ..parse(&[]) };
        assert!(matches!(run(&unknown, &mut Vec::new()), Err(CliError::Usage(_))));
    }

    #[test]
    fn outcome_is_one_line() {
        use pretraining::score::Score;
        use stats::Estimate;
        let share = Estimate { mean: 0.5, lo: 0.25, hi: 0.75 };
        let score = Score { id: "p1_first".into(), what: String::new(), share, n: 16 };
        let outcome =
            Outcome { further_text: FurtherText::Gamma(0.2), steps: 9, loss: None, scores: vec![score], facts: vec![] };
        let text = line(&outcome);
        assert!(text.starts_with("gamma 20 %") && text.contains("loss n/a"), "{text}");
        assert!(text.ends_with("P@1 first prompt 50.00 % [25.00, 75.00]  n 16"), "{text}");
    }
}

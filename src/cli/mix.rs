//! `probity gallery mix`: further pretraining on mixtures of in-domain and out-of-domain text.

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
use pretraining::further::{Diet, Keep, Outcome, Settings, Start, mix};

/// Model, mixtures and outputs of a further training.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity gallery mix --model bert-mini
  probity gallery mix --model bert-mini --gamma 0,50,100 --out mixtures.jsonl
  probity gallery mix --model gpt2-mini --gamma 0 --shuffled --weights corrupted

With --out a run that was stopped continues where it was: mixtures that are in the file are not trained again.")]
pub struct MixArgs {
    /// Built-in name, folder in Hugging Face layout, or hub id.
    #[arg(long)]
    model: String,
    /// Shares of in-domain sentences (stating facts) in %; the rest are sentences of Micro-English.
    #[arg(long, value_delimiter = ',', default_values_t = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0])]
    gamma: Vec<f64>,
    /// Also train for 200 steps on sentences with their words in random order.
    #[arg(long)]
    shuffled: bool,
    /// Number of different sentences in a mixture, each read three times.
    #[arg(long, default_value_t = Settings::default().sentences)]
    sentences: usize,
    /// The seed of text, order and masks.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// File of results as JSON lines; an existing one is continued.
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

/// Largest number of sentences.
const MAX_SENTENCES: usize = 10_000_000;

/// Runs the mixtures, the untouched model first.
///
/// # Errors
/// [`CliError::Usage`] for names and numbers that cannot be used, [`CliError::Cancelled`] after Ctrl-C,
/// otherwise [`CliError::Failed`].
pub fn run(args: &MixArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let diets = diets(args)?;
    let usage = |e: model::ModelError| CliError::Usage(e.to_string());
    let source: ModelSource = args.model.parse().map_err(usage)?;
    let device = names::device(&args.device)?;
    let start = Start::load(&source).map_err(|e| match e {
        GalleryError::Model(e) => usage(e),
        other => other.into(),
    })?;
    let settings = Settings { sentences: args.sentences, seed: args.seed, ..Settings::default() };
    let keep = Keep { file: args.out.clone(), weights: args.weights.clone() };
    let stop = stop_on_interrupt();
    let mut reporter = Reporter::new(&args.model, args.quiet);
    let mut told = Vec::new();
    let end = mix(
        &start,
        &diets,
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

fn diets(args: &MixArgs) -> Result<Vec<Diet>, CliError> {
    if let Some(bad) = args.gamma.iter().find(|g| !(0.0..=100.0).contains(*g)) {
        return Err(CliError::Usage(format!("--gamma {bad}: a share in % lies between 0 and 100")));
    }
    if !(1..=MAX_SENTENCES).contains(&args.sentences) {
        return Err(CliError::Usage(format!("--sentences {}: allowed are 1 to {MAX_SENTENCES}", args.sentences)));
    }
    let mut diets = vec![Diet::None];
    diets.extend(args.gamma.iter().map(|g| Diet::Gamma(g / 100.0)));
    diets.extend(args.shuffled.then_some(Diet::Shuffled));
    Ok(diets)
}

/// One outcome in words.
fn line(outcome: &Outcome) -> String {
    let name = match outcome.diet {
        Diet::None => "untouched".to_owned(),
        Diet::Gamma(g) => format!("gamma {:.0} %", 100.0 * g),
        Diet::Shuffled => "shuffled words".to_owned(),
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
    fn what_is_asked_for_is_done_and_the_rest_refused() {
        let args = parse(&["--gamma", "0,50", "--shuffled"]);
        assert_eq!(diets(&args).unwrap(), [Diet::None, Diet::Gamma(0.0), Diet::Gamma(0.5), Diet::Shuffled]);
        assert_eq!(diets(&parse(&[])).unwrap().len(), 7);
        for bad in [["--gamma", "101"], ["--gamma", "NaN"], ["--sentences", "0"], ["--device", "toaster"]] {
            assert!(matches!(run(&parse(&bad), &mut Vec::new()), Err(CliError::Usage(_))), "{bad:?}");
        }
        let unknown = MixArgs { model: "./no/such".into(), ..parse(&[]) };
        assert!(matches!(run(&unknown, &mut Vec::new()), Err(CliError::Usage(_))));
    }

    #[test]
    fn an_outcome_is_one_line() {
        use pretraining::score::Score;
        use stats::Estimate;
        let share = Estimate { mean: 0.5, lo: 0.25, hi: 0.75 };
        let score = Score { id: "p1_first".into(), what: String::new(), share, n: 16 };
        let outcome = Outcome { diet: Diet::Gamma(0.2), steps: 9, loss: None, scores: vec![score], facts: vec![] };
        let text = line(&outcome);
        assert!(text.starts_with("gamma 20 %") && text.contains("loss n/a"), "{text}");
        assert!(text.ends_with("P@1 first prompt 50.00 % [25.00, 75.00]  n 16"), "{text}");
    }
}

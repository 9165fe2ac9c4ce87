//! `probity pairs`: scores minimal pairs with a model.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::error::CliError;
use crate::gallery::stop_on_interrupt;
use crate::{names, output};
use base::files::Whole;
use base::numbers::percent;
use base::text::{printable_label, section};
use corpus::readers::{Row, Set};
use labs::prompts::minimal_pairs::{Scorer, Scoring, Tally};
use model::{Model, ModelError};
use stats::Estimate;
use stats::intervals::share;

/// Score minimal pairs (BLiMP) with a model: how often is the acceptable sentence more likely than the other one?
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity pairs blimp/ --model bert-mini
  probity pairs pairs.jsonl --model ./my-model --json
  probity pairs blimp/ --model gpt2-mini --items gpt2.jsonl
  probity compare gpt2.jsonl bert.jsonl

Rows have `sentence_good` and `sentence_bad` (BLiMP) or `good` and `bad`; `UID` or `paradigm` names the
phenomenon. Causal models score by log-likelihood after the token that starts a text. Masked models score by
pseudo-log-likelihood. The later tokens of a masked token's word are masked too, because words of several
tokens would otherwise seem too likely (Kauf and Ivanova 2023). Ties count as wrong.")]
pub struct PairsArgs {
    /// A file or folder of minimal pairs.
    data: PathBuf,
    /// Built-in name, folder in Hugging Face layout, or hub id.
    #[arg(long)]
    model: String,
    /// For masked models: mask one token at a time (Salazar et al. 2020).
    #[arg(long)]
    original: bool,
    /// Score only the first N pairs of each phenomenon.
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    /// Write each pair with its scores as JSON lines, which `probity compare` reads.
    #[arg(long, value_name = "FILE")]
    items: Option<PathBuf>,
    /// Replace the file given by --items if it exists.
    #[arg(long, requires = "items")]
    force: bool,
    /// Level of the intervals.
    #[arg(long, default_value_t = 0.95)]
    level: f64,
    /// Device: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "auto")]
    device: String,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// A pair with its full name: phenomenon, and identifier or line number.
struct Item {
    id: String,
    paradigm: String,
    good: String,
    bad: String,
}

#[derive(Serialize)]
struct Scored<'a> {
    id: &'a str,
    correct: u8,
    good: f64,
    bad: f64,
    #[serde(skip_serializing_if = "str::is_empty")]
    cluster: &'a str,
}

#[derive(Default)]
struct Pairs {
    items: Vec<Item>,
    other: u64,
    dropped: u64,
    /// Number of pairs left out because of `--limit`.
    beyond: u64,
}

/// Fails with [`CliError::Usage`] for an unusable file, model or level, and with [`CliError::Cancelled`] after Ctrl-C.
pub fn answer(args: &PairsArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if !(0.5..1.0).contains(&args.level) {
        return Err(CliError::Usage(format!("--level is {}: it must be between 0.5 and 1", args.level)));
    }
    let pairs = read(args)?;
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let source = args.model.parse().map_err(|e: ModelError| usage(&e))?;
    let to = args.items.as_deref().map(|path| Whole::new(path, args.force)).transpose()?;
    let model = Model::load(&source, names::device(&args.device)?).map_err(|e| usage(&e))?;
    let scorer = Scorer::new(&model, args.original).map_err(|e| usage(&e))?;
    let scores = scored(&scorer, &pairs.items)?;
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut all = Tally::default();
    let mut lines = Vec::new();
    for (item, [good, bad]) in pairs.items.iter().zip(&scores) {
        let (Some(good), Some(bad)) = (*good, *bad) else { continue };
        all.add(good, bad);
        tallies.entry(&item.paradigm).or_default().add(good, bad);
        lines.push(Scored { id: &item.id, correct: u8::from(good > bad), good, bad, cluster: &item.paradigm });
    }
    if all.n == 0 {
        return Err(CliError::Usage(format!("all {} pairs are too long for `{}`", pairs.items.len(), args.model)));
    }
    if let Some(mut to) = to {
        let mut file = BufWriter::new(to.file());
        let written = lines.iter().try_for_each(|line| Ok(writeln!(file, "{}", serde_json::to_string(line)?)?));
        let done: std::io::Result<()> = written.and_then(|()| file.flush());
        done.map_err(|e| CliError::Failed(format!("cannot write the pairs: {e}")))?;
        drop(file);
        to.place()?;
    }
    print(args, out, scorer.scoring(), &pairs, all, &tallies)
}

fn read(args: &PairsArgs) -> Result<Pairs, CliError> {
    let refused = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let set = Set::open(&args.data).map_err(|e| refused(&e))?;
    let mut pairs = Pairs::default();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let reports = set.rows(&mut |_, row, line| {
        let Row::Pair(pair) = row else {
            pairs.other += 1;
            return ControlFlow::Continue(());
        };
        let paradigm = pair.paradigm.as_deref().unwrap_or_default().to_owned();
        let count = counts.entry(paradigm.clone()).or_default();
        *count += 1;
        if args.limit.is_some_and(|most| *count > most.get()) {
            pairs.beyond += 1;
            return ControlFlow::Continue(());
        }
        let own = pair.id.as_deref().map_or_else(|| line.to_string(), str::to_owned);
        let id = if paradigm.is_empty() { own } else { format!("{paradigm}/{own}") };
        pairs.items.push(Item { id, paradigm, good: pair.good.to_string(), bad: pair.bad.to_string() });
        ControlFlow::Continue(())
    });
    pairs.dropped = reports.map_err(|e| refused(&e))?.iter().map(|r| r.dropped.total()).sum();
    match pairs.items.is_empty() {
        true => Err(CliError::Usage(format!(
            "{}: no minimal pairs; expected rows with `sentence_good` and `sentence_bad`",
            args.data.display()
        ))),
        false => Ok(pairs),
    }
}

fn scored(scorer: &Scorer<'_>, items: &[Item]) -> Result<Vec<[Option<f64>; 2]>, CliError> {
    let stop = stop_on_interrupt();
    let texts: Vec<&str> = items.iter().flat_map(|i| [i.good.as_str(), i.bad.as_str()]).collect();
    enum End {
        Model(ModelError),
        Stopped,
    }
    impl From<ModelError> for End {
        fn from(e: ModelError) -> Self {
            Self::Model(e)
        }
    }
    let watch = |_: usize| if stop.load(Ordering::Relaxed) { Err(End::Stopped) } else { Ok(()) };
    let scores = scorer.scores::<End>(&texts, watch).map_err(|end| match end {
        End::Stopped => CliError::Cancelled,
        End::Model(e) => CliError::Failed(e.to_string()),
    })?;
    Ok(scores.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
}

fn name(scoring: Scoring) -> &'static str {
    match scoring {
        Scoring::LogLikelihood => "log-likelihood",
        Scoring::PllWordL2r => "pseudo-log-likelihood, later tokens of a word masked (PLL-word-l2r)",
        Scoring::Pll => "pseudo-log-likelihood, one token masked",
    }
}

fn print(
    args: &PairsArgs,
    out: &mut dyn Write,
    scoring: Scoring,
    pairs: &Pairs,
    all: Tally,
    tallies: &BTreeMap<&str, Tally>,
) -> Result<(), CliError> {
    let accuracy = |t: &Tally| share(t.right, t.n, args.level);
    let too_long = pairs.items.len() as u64 - all.n;
    if args.json {
        let each = |(paradigm, t): (&&str, &Tally)| json!({"paradigm": paradigm, "n": t.n, "right": t.right, "ties": t.ties, "accuracy": accuracy(t)});
        return output::json(
            out,
            &json!({"model": args.model, "scoring": scoring, "n": all.n, "right": all.right, "ties": all.ties,
                    "accuracy": accuracy(&all), "level": args.level, "too_long": too_long, "unread": pairs.dropped,
                    "other_rows": pairs.other, "beyond_limit": pairs.beyond,
                    "paradigms": tallies.iter().map(each).collect::<Vec<_>>()}),
        );
    }
    let shown = |e: Estimate| format!("{} [{}, {}]", percent(e.mean), percent(e.lo), percent(e.hi));
    let (n, ties) = (all.n, all.ties);
    let line = format!("{}: accuracy {}, n {n}, {ties} ties", args.model, shown(accuracy(&all)));
    output::line(out, &printable_label(&line))?;
    output::line(out, &format!("scored by {}", name(scoring)))?;
    let level = percent(args.level);
    output::line(
        out,
        &format!("{level} intervals (Wilson; Clopper-Pearson for few pairs), computed as if pairs were independent"),
    )?;
    let lost = [
        (too_long, "too long for the model"),
        (pairs.dropped, "unreadable rows (listed by `probity data show`)"),
        (pairs.other, "rows that are not pairs"),
        (pairs.beyond, "beyond --limit"),
    ];
    let lost: Vec<String> = lost.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !lost.is_empty() {
        output::line(out, &format!("left out: {}", lost.join(", ")))?;
    }
    if tallies.len() > 1 {
        let row = |(paradigm, t): (&&str, &Tally)| {
            vec![printable_label(paradigm), t.n.to_string(), shown(accuracy(t)), t.ties.to_string()]
        };
        let mut lines = Vec::new();
        section(
            &mut lines,
            "By phenomenon",
            &["phenomenon", "n", "accuracy", "ties"],
            tallies.iter().map(row).collect(),
        );
        lines.iter().try_for_each(|line| output::line(out, line))?;
    }
    Ok(())
}

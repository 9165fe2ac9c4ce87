//! Results that need predictions rather than a table: adjusted scores, stability, and rank consistency under three regimes.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{Answer, Ordered, PromptsArgs, answer, spread};
use crate::error::CliError;
use crate::output;
use base::text::printable_label;
use corpus::readers::TextSource;
use labs::prompts::consistency::{Draws, Regime, Scoring};
use labs::prompts::places::Ties;
use labs::prompts::predictions::{Missing, Predictions, read};
use labs::prompts::ranked::Ranked;
use stats::estimate::Estimate;

/// Default number of draws (the paper's).
const DRAWS: usize = 1000;
/// Default number of relations per draw (the paper's).
const SUBSET: usize = 20;
const LEVEL: f64 = 0.95;
/// Maximum number of messages about items left out.
const LISTED: usize = 5;

#[derive(Debug, Args)]
pub(super) struct OfPredictions {
    /// For predictions: number of draws of relations for the rank consistency [default: 1000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    draws: Option<u32>,
    /// For predictions: number of relations per draw [default: 20].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    subset: Option<u32>,
    /// For predictions: whether models share the prompts and mentions of the random regime [default: per-model].
    #[arg(long, value_enum)]
    random: Option<RandomArg>,
    /// For predictions: how scores are compared [default: exact].
    #[arg(long, value_enum)]
    scoring: Option<ScoringArg>,
    /// For predictions: seed of the draws [default: 0].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// For predictions: ignore case when comparing `prediction` with `object`.
    #[arg(long)]
    ignore_case: bool,
}

/// Random draw of prompts: shared by the models, or one per model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RandomArg {
    /// Each model has its own draw, as in the published code.
    PerModel,
    /// All models share one draw.
    Shared,
}

/// Comparison of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScoringArg {
    /// As exact fractions.
    Exact,
    /// Rounded to two decimals of a percent, as published.
    TwoDecimals,
}

impl OfPredictions {
    /// Returns the name of one of the given flags; `None` if there are none.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.draws.is_some(), "--draws"),
            (self.subset.is_some(), "--subset"),
            (self.random.is_some(), "--random"),
            (self.scoring.is_some(), "--scoring"),
            (self.seed.is_some(), "--seed"),
            (self.ignore_case, "--ignore-case"),
        ];
        given.into_iter().find(|(is, _)| *is).map(|(_, flag)| flag)
    }
}

#[derive(Serialize)]
struct OfModel {
    consistency: Estimate,
    histogram: Vec<u64>,
}

#[derive(Serialize)]
struct OfRegime {
    consistency: Estimate,
    order: Vec<String>,
    orders: usize,
    draws: u64,
    exact: bool,
    step: f64,
    models: Ordered<OfModel>,
}

#[derive(Serialize)]
struct Left {
    relation: String,
    instances: usize,
    reason: String,
}

#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    spread: Answer,
    adjusted: Ordered<f64>,
    stability: Ordered<Option<f64>>,
    rank_consistency: Option<Ordered<OfRegime>>,
    subset: usize,
    level: f64,
    instances: usize,
    left_out: Vec<Left>,
}

/// Fails with [`CliError::Usage`] for an invalid file, or a subset with more relations than the file contains.
pub(super) fn predictions(args: &PromptsArgs, from: &mut TextSource, out: &mut dyn Write) -> Result<(), CliError> {
    let wanted = &args.of_predictions;
    let found = read(from, wanted.ignore_case).map_err(|e| CliError::Usage(printable_label(&e.to_string())))?;
    match found.unanswered {
        0 => {}
        1 => output::say("1 prediction is empty and counts as wrong"),
        n => output::say(&format!("{n} predictions are empty and count as wrong")),
    }
    let relations = found.relations.len();
    let subset = wanted.subset.map_or(SUBSET, |n| n as usize);
    if wanted.subset.is_some() && subset > relations {
        let what = format!(
            "--subset {subset}: {} has {relations} relations that all models answered; use at most that many",
            printable_label(&args.table.display().to_string())
        );
        return Err(CliError::Usage(what));
    }
    let draws = Draws {
        count: wanted.draws.map_or(DRAWS, |n| n as usize),
        subset,
        shared: wanted.random == Some(RandomArg::Shared),
        seed: wanted.seed.unwrap_or(0),
        ties: args.ties.rule(),
        scoring: match wanted.scoring {
            Some(ScoringArg::TwoDecimals) => Scoring::TwoDecimals,
            Some(ScoringArg::Exact) | None => Scoring::Exact,
        },
    };
    let report = found.table().report(draws.ties);
    let models = found.models.clone();
    let mut said = said(&found, &draws);
    let ranked = (relations >= subset).then(|| found.panel().ranked(&draws, LEVEL));
    if args.json {
        said.rank_consistency = ranked.map(|r| regimes(&r, &models, draws.ties));
        return output::json(out, &said);
    }
    spread(&report, out)?;
    output::line(out, &format!("{relations} relations, {} instances", said.instances))?;
    tell(&said, relations, ranked.as_ref(), out)
}

/// All statistics except rank consistency.
fn said(found: &Predictions, draws: &Draws) -> Whole {
    let left = |m: &Missing| Left { relation: m.relation.clone(), instances: m.instances, reason: m.reason.clone() };
    Whole {
        spread: answer(found.table().report(draws.ties)),
        adjusted: Ordered(found.models.iter().cloned().zip(found.adjusted()).collect()),
        stability: Ordered(found.models.iter().cloned().zip(found.stability()).collect()),
        rank_consistency: None,
        subset: draws.subset,
        level: LEVEL,
        instances: found.instances(),
        left_out: found.left_out.iter().map(left).collect(),
    }
}

fn tell(said: &Whole, relations: usize, ranked: Option<&[Ranked; 3]>, out: &mut dyn Write) -> Result<(), CliError> {
    let subset = said.subset;
    for m in said.left_out.iter().take(LISTED) {
        let line = format!("left out: {} instances of {}; the first: {}", m.instances, m.relation, m.reason);
        output::line(out, &printable_label(&line))?;
    }
    if said.left_out.len() > LISTED {
        let more = said.left_out.len() - LISTED;
        output::line(out, &format!("left out: instances of {more} more relations"))?;
    }
    let Some(ranked) = ranked else {
        let what = format!(
            "rank consistency n/a: a draw needs {subset} relations, but there are {relations}; use a smaller --subset"
        );
        return output::line(out, &what);
    };
    for (k, ((model, adjusted), (_, stable))) in said.adjusted.0.iter().zip(&said.stability.0).enumerate() {
        let shares = ranked.each_ref().map(|r| share(r.models[k], r.exact));
        let stable = stable.map_or("n/a".to_owned(), |s| format!("{s:.3}"));
        let line = format!("{model}: adjusted {adjusted:.3}  stability {stable}  rank consistency {}", printed(shares));
        output::line(out, &printable_label(&line))?;
    }
    let line =
        format!("whole ranking: rank consistency {}", printed(ranked.each_ref().map(|r| share(r.whole, r.exact))));
    output::line(out, &line)?;
    let counted = Regime::ALL.iter().zip(ranked).map(|(regime, r)| {
        let how = if r.exact { "all" } else { "drawn" };
        format!("{} {} ({how})", regime.name(), r.tally.draws)
    });
    let counted = counted.collect::<Vec<_>>().join("  ");
    output::line(out, &format!("draws of {subset} of {relations} relations: {counted}"))
}

fn printed(shares: [String; 3]) -> String {
    let named = Regime::ALL.iter().zip(shares);
    named.map(|(r, s)| format!("{} {s}", r.name())).collect::<Vec<_>>().join("  ")
}

/// Formats a share of draws, without an interval if all possible draws were counted.
fn share(e: Estimate, counted: bool) -> String {
    if counted { format!("{:.3} (counted)", e.mean) } else { format!("{:.3} [{:.3}, {:.3}]", e.mean, e.lo, e.hi) }
}

fn regimes(ranked: &[Ranked; 3], models: &[String], ties: Ties) -> Ordered<OfRegime> {
    let of = |(regime, r): (Regime, &Ranked)| {
        let (_, orders) = r.tally.order();
        let mut order: Vec<usize> = (0..models.len()).collect();
        if let Some(places) = orders.first() {
            order.sort_by_key(|k| places[*k]);
        }
        let each = (0..models.len()).map(|k| {
            let found = OfModel { consistency: r.models[k], histogram: r.tally.histogram(k, ties) };
            (models[k].clone(), found)
        });
        let found = OfRegime {
            consistency: r.whole,
            order: order.into_iter().map(|k| models[k].clone()).collect(),
            orders: r.tally.orders(),
            draws: r.tally.draws,
            exact: r.exact,
            step: if ties == Ties::MeanPlace { 0.5 } else { 1.0 },
            models: Ordered(each.collect()),
        };
        (regime.name().to_owned(), found)
    };
    Ordered(Regime::ALL.into_iter().zip(ranked).map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use crate::error::CliError;

    /// Three models on four relations: the first is always right, the second only under the second prompt, the third never.
    fn lines() -> String {
        let mut text = String::new();
        for relation in 0..4 {
            for (model, right) in [("z", [true, true]), ("a", [false, true]), ("m", [false, false])] {
                for (prompt, right) in right.into_iter().enumerate() {
                    for instance in 0..3 {
                        text.push_str(&format!(
                            "{{\"relation\":\"r{relation}\",\"model\":\"{model}\",\"prompt\":{prompt},\"instance\":{instance},\"correct\":{right}}}\n"
                        ));
                    }
                }
            }
        }
        text
    }

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.jsonl");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn predictions_give_table_results_and_rank_consistency() {
        let (_dir, path) = file(&lines());
        let text = run(&path, &["--json", "--subset", "2", "--draws", "50"]).unwrap();
        assert!(text.find("\"z\"") < text.find("\"a\""), "keys keep the order of the file: {text}");
        let v: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(v["models"]["a"]["mean_diff"], 1.0);
        assert_eq!((&v["relations_total"], &v["unstable_relations"]), (&4.into(), &4.into()));
        assert_eq!((&v["adjusted"]["a"], &v["stability"]["a"]), (&0.5.into(), &serde_json::Value::Null));
        let of = |regime: &str| &v["rank_consistency"][regime];
        // There are so few subsets that all are counted; identical relations leave the ranking unchanged.
        assert_eq!((&of("adjusted")["consistency"]["mean"], &of("adjusted")["draws"]), (&1.0.into(), &6.into()));
        assert_eq!(of("adjusted")["order"], serde_json::json!(["m", "a", "z"]));
        assert_eq!(of("adjusted")["models"]["z"]["histogram"], serde_json::json!([0, 0, 6]));
        assert_eq!(of("random")["draws"], 50);
        assert_eq!((&v["subset"], &v["instances"]), (&2.into(), &12.into()));
        let printed = run(&path, &["--subset", "2"]).unwrap();
        assert!(printed.contains("whole ranking: rank consistency original 1.000 (counted)  random"), "{printed}");
        assert!(
            printed.contains("draws of 2 of 4 relations: original 6 (all)  random 1000 (drawn)  adjusted 6 (all)"),
            "{printed}"
        );
    }

    #[test]
    fn too_few_relations_give_no_consistency() {
        let (_dir, path) = file(&lines());
        assert!(run(&path, &[]).unwrap().contains("n/a: a draw needs 20 relations, but there are 4"));
        let v: serde_json::Value = serde_json::from_str(&run(&path, &["--json"]).unwrap()).unwrap();
        assert!(v["rank_consistency"].is_null() && v["adjusted"]["z"] == 1.0);
        let Err(CliError::Usage(printed)) = run(&path, &["--subset", "5"]) else { panic!() };
        assert!(printed.contains("4 relations"), "{printed}");
    }

    #[test]
    fn invalid_line_or_wrong_flag_is_a_usage_error() {
        let (_dir, path) = file(&format!("{}{{\"relation\":\"r\"}}\n", lines()));
        let Err(CliError::Usage(printed)) = run(&path, &[]) else { panic!() };
        assert!(printed.contains("p.jsonl, line 73: "), "{printed}");
        let table = path.with_extension("tsv");
        std::fs::write(&table, "relation\tprompt\ta\nr\tp\t2\n").unwrap();
        let Err(CliError::Usage(printed)) = run(&table, &["--draws", "5"]) else { panic!() };
        assert!(printed.contains("--draws is for predictions"), "{printed}");
    }
}

//! `probity prompts`: how sensitive results are to the prompt, from any program's table or predictions.

mod predictions;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Serialize, Serializer};

use self::predictions::{OfPredictions, predictions};
use crate::error::CliError;
use crate::output;
use base::text::printable_label;
use corpus::readers::TextSource;
use labs::prompts::places::Ties;
use labs::prompts::published::{Report, ScoreTable};

/// Measure how much scores and the ranking of models depend on the prompt, from a table or from predictions.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity prompts scores.tsv
  probity prompts scores.tsv --json
  probity prompts predictions.jsonl --subset 10 --random shared

A table is separated by tabs, commas or semicolons and names its columns in the first line: relation, model, prompt,
p1; or relation, prompt and a column for each model. Scores are 0 to 1 or percent; output is in the unit of the table.

Predictions are JSON lines or a JSON array, one object for each answer of a model:
  {\"relation\": \"P36\", \"model\": \"m\", \"prompt\": \"The capital of [X] is [Y] .\", \"subject\": \"France\",
   \"mention\": \"the French Republic\", \"object\": \"Paris\", \"prediction\": \"Paris\"}
`instance` names the instance if `subject` does not; without `mention`, the prompt contained the subject's usual name;
`correct` (true or false) can replace `prediction` and `object`. The first prompt of a relation in the file is the
original. Predictions also give adjusted scores, stability over mentions, and rank consistency, all as fractions.")]
pub struct PromptsArgs {
    /// The table, or predictions as JSON lines.
    #[arg(value_name = "TABLE.tsv|PREDICTIONS.jsonl")]
    table: PathBuf,
    /// Ranking of models with tied scores.
    #[arg(long, value_enum, default_value = "earlier-lower")]
    ties: TiesArg,
    #[command(flatten)]
    of_predictions: OfPredictions,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Ranking of models with tied scores.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum TiesArg {
    /// The model that comes first in the table gets the lower rank.
    EarlierLower,
    /// Tied models share their mean rank.
    MeanPlace,
}

impl TiesArg {
    fn rule(self) -> Ties {
        match self {
            TiesArg::EarlierLower => Ties::EarlierLower,
            TiesArg::MeanPlace => Ties::MeanPlace,
        }
    }
}

/// A JSON object whose keys are in the order of the list.
struct Ordered<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(k, v)| (k, v)))
    }
}

#[derive(Serialize)]
struct OfModel {
    mean_std: Option<f64>,
    mean_diff: Option<f64>,
    mean_worst: Option<f64>,
    mean_best: Option<f64>,
    relations_over_10: usize,
}

#[derive(Serialize)]
struct OfRelation {
    prompts: usize,
    worst: Option<f64>,
    best: Option<f64>,
    diff: Option<f64>,
    std: Option<f64>,
    mean: Option<f64>,
}

#[derive(Serialize)]
struct Answer {
    models: Ordered<OfModel>,
    relations: Ordered<Ordered<OfRelation>>,
    unstable_relations: usize,
    relations_total: usize,
    #[serde(skip_serializing_if = "is_zero")]
    missing_cells: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub fn prompts(args: &PromptsArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(printable_label(&e.to_string()));
    let mut file = TextSource::open(&args.table).map_err(|e| usage(&e))?;
    let extension = args.table.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if file.is_json() || ["jsonl", "ndjson", "json"].contains(&extension) {
        return predictions(args, &mut file, out);
    }
    if let Some(flag) = args.of_predictions.given() {
        let shown = printable_label(&args.table.display().to_string());
        let what = format!("{flag} is for predictions (JSON lines), but {shown} is a table; omit {flag}");
        return Err(CliError::Usage(what));
    }
    let text = file.text().map_err(|e| usage(&e))?;
    let table = ScoreTable::parse(&text, &args.table).map_err(|e| usage(&e))?;
    if table.small > 0 {
        let small = table.small;
        output::say(&format!(
            "scores are read as per cent, including {small} below 1; if those are fractions, write all scores in the same unit"
        ));
    }
    let report = table.report(args.ties.rule());
    if args.json {
        return output::json(out, &answer(report));
    }
    spread(&report, out)
}

fn spread(report: &Report, out: &mut dyn Write) -> Result<(), CliError> {
    let total = report.relations.len();
    for (model, means, over) in &report.models {
        let means = means.map_or("n/a".to_owned(), |[std, diff, worst, best]| {
            format!("std {std:.2}  gap {diff:.2}  worst {worst:.2}  best {best:.2}")
        });
        let of = report.relations.iter().filter(|r| r.1.iter().any(|m| m.0 == *model)).count();
        let line = format!("{model}: {means}  gap above 10 points on {over} of {of} relations");
        output::line(out, &printable_label(&line))?;
    }
    let single: Vec<String> = report
        .relations
        .iter()
        .flat_map(|(r, rows)| rows.iter().filter(|m| m.2.is_none()).map(move |m| format!("{} on {r}", m.0)))
        .collect();
    if report.missing > 0 {
        output::line(
            out,
            &format!(
                "{} without a score",
                if report.missing == 1 { "1 cell".to_owned() } else { format!("{} cells", report.missing) }
            ),
        )?;
    }
    if !single.is_empty() {
        let line = format!("a single prompt has no spread (n/a): {}", single.join(", "));
        output::line(out, &printable_label(&line))?;
    }
    let unstable = report.unstable;
    output::line(out, &format!("the ranking of the models changes with the prompt on {unstable} of {total} relations"))
}

fn answer(report: Report) -> Answer {
    let of_model = |(name, means, over): (String, Option<[f64; 4]>, usize)| {
        let at = |k: usize| means.map(|m| m[k]);
        let answer =
            OfModel { mean_std: at(0), mean_diff: at(1), mean_worst: at(2), mean_best: at(3), relations_over_10: over };
        (name, answer)
    };
    let of_relation = |(name, rows): (String, Vec<_>)| {
        let rows = rows.into_iter().map(
            |(model, prompts, p): (String, usize, Option<labs::prompts::preference::Preference>)| {
                let answer = OfRelation {
                    prompts,
                    worst: p.map(|p| p.worst),
                    best: p.map(|p| p.best),
                    diff: p.map(|p| p.gap),
                    std: p.map(|p| p.std),
                    mean: p.map(|p| p.mean),
                };
                (model, answer)
            },
        );
        (name, Ordered(rows.collect()))
    };
    Answer {
        missing_cells: report.missing,
        relations_total: report.relations.len(),
        unstable_relations: report.unstable,
        models: Ordered(report.models.into_iter().map(of_model).collect()),
        relations: Ordered(report.relations.into_iter().map(of_relation).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct PromptsCli {
        #[command(flatten)]
        args: PromptsArgs,
    }

    pub(crate) fn run(table: &std::path::Path, more: &[&str]) -> Result<String, CliError> {
        let path = table.display().to_string();
        let args = ["prompts", path.as_str()].into_iter().chain(more.iter().copied());
        let mut out = Vec::new();
        prompts(&PromptsCli::try_parse_from(args).unwrap().args, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn json_keys_are_the_published_ones_in_table_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.tsv");
        std::fs::write(&path, "relation\tmodel\tprompt\tp1\nr\tz\tp\t10\nr\tz\tq\t30\nr\ta\tp\t20\nr\ta\tq\t20\n")
            .unwrap();
        let text = run(&path, &["--json"]).unwrap();
        assert!(text.find("\"z\"") < text.find("\"a\""), "{text}");
        let v: serde_json::Value = serde_json::from_str(&text).unwrap();
        let keys = |v: &serde_json::Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&v), ["models", "relations", "relations_total", "unstable_relations"]);
        assert_eq!(keys(&v["models"]["z"]), ["mean_best", "mean_diff", "mean_std", "mean_worst", "relations_over_10"]);
        assert_eq!(keys(&v["relations"]["r"]["z"]), ["best", "diff", "mean", "prompts", "std", "worst"]);
        assert_eq!(v["models"]["z"]["mean_std"], 10.0);
        assert_eq!((&v["unstable_relations"], &v["relations_total"]), (&1.into(), &1.into()));
        assert!(run(&path, &[]).unwrap().contains("on 1 of 1 relations"));
    }

    #[test]
    fn missing_or_invalid_table_is_a_usage_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.tsv");
        assert!(matches!(run(&path, &[]), Err(CliError::Usage(_))));
        std::fs::write(&path, "relation\tprompt\ta\nr\tp\t200\n").unwrap();
        let Err(CliError::Usage(printed)) = run(&path, &[]) else { panic!() };
        assert!(printed.contains("t.tsv, line 2"), "{printed}");
    }

    #[test]
    fn published_table_reproduces_published_spread() {
        let root = std::env::var("PROBITY_DATA").unwrap_or_else(|_| "../shared/data".into());
        let path = std::path::Path::new(&root).join("causaleval_published/prompt_p1.tsv");
        if !path.is_file() {
            println!("skipped: {} is absent (set PROBITY_DATA)", path.display());
            return;
        }
        let v: serde_json::Value = serde_json::from_str(&run(&path, &["--json"]).unwrap()).unwrap();
        let wanted = [
            ("bert-large-cased", [8.73, 23.24, 21.75, 44.99], 21),
            ("roberta-large", [8.39, 23.78, 16.16, 39.95], 22),
            ("gpt2-xl", [8.15, 21.14, 10.37, 31.51], 18),
            ("bart-large", [8.67, 23.60, 14.12, 37.72], 20),
        ];
        for (model, means, over) in wanted {
            let m = &v["models"][model];
            for (key, want) in ["mean_std", "mean_diff", "mean_worst", "mean_best"].iter().zip(means) {
                let found = m[*key].as_f64().unwrap();
                assert!((found - want).abs() < 0.0051, "{model} {key}: {found} {want}");
            }
            assert_eq!(m["relations_over_10"], over, "{model}");
        }
        assert_eq!((&v["unstable_relations"], &v["relations_total"]), (&27.into(), &29.into()));
    }
}

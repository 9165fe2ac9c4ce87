//! `probity rationale`: agreement of saliency scores from any program with annotators, and between original and perturbed inputs.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::numbers::{number, probability_of};
use base::text::{printable_label, section};
use corpus::readers::Set;
use labs::saliency::elsewhere::{Gathered, Judgement, SizeRule};
use labs::saliency::metrics::judge::{Judged, Rules};
use labs::saliency::metrics::map::Membership;
use labs::saliency::metrics::pcc::ALPHA;
use labs::saliency::metrics::rationale::Several;
use labs::saliency::metrics::summary::{Cell, cell, kinds};
use labs::saliency::metrics::tables::{Interpretability, by_perturbation, interpretability};
use labs::saliency::metrics::top_k::Size;
use labs::table::Form;
use stats::Estimate;

/// Evaluate saliency scores from any program: token-F1 against gold rationales, MAP and PCC against perturbed inputs.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  probity rationale scores.jsonl
  probity rationale scores.jsonl --k 5 --match position --json
  probity rationale gold.jsonl predictions.jsonl
  probity rationale attributions.json gold.jsonl --table tex

JSON lines, one object for each original with its perturbed partner:
  {\"tokens\": [\"two\", \"dogs\", \"bark\"], \"scores\": [.1, .6, .3], \"gold\": [0, 1], \"perturbed_tokens\": [\"two\", \"puppies\", \"bark\"],
   \"perturbed_scores\": [.2, .5, .3], \"perturbed_gold\": [0, 1], \"perturbation\": \"import\", \"dimension\": \"grammar\"}
A gold rationale is a list of token indices from 0, or several lists if each suffices alone; alignment
([[0, 0], …]) and mask are optional. Other formats, in one file or in several joined by their ids: gold rows
and predictions of the rationale benchmark, ERASER, Ding & Koehn's saliency vectors, and files saved by inseq.
PCC is not computed for syntactic transformations (perturbation `trans`)."
)]
pub struct RationaleArgs {
    #[command(subcommand)]
    several_people: Option<super::rounds::Several>,
    /// Files with words, gold rationales and scores.
    #[arg(value_name = "FILE.jsonl", required = true)]
    files: Vec<PathBuf>,
    /// Size K of a predicted rationale: `ratio` (the row's own share of the words, or the mean share in its dimension's gold rationales), a
    /// share such as .3 or 30%, a number of words such as 5, or `gold` (as many words as the gold rationale).
    #[arg(long, default_value = "ratio", value_name = "RULE", allow_hyphen_values = true)]
    k: String,
    /// Rule by which words in two inputs count as the same for MAP.
    #[arg(long = "match", value_enum, default_value = "string")]
    matching: Match,
    /// How several gold rationales are used: the best single one, or also the best union.
    #[arg(long, value_enum, default_value = "united")]
    several: SeveralArg,
    /// Align words that were replaced one for one, instead of pairing each with a virtual word.
    #[arg(long)]
    replaced: bool,
    /// System to evaluate, if the files contain scores of several.
    #[arg(long, value_name = "NAME")]
    system: Option<String>,
    /// Level of the intervals.
    #[arg(long, default_value = ".95", value_name = "LEVEL", allow_hyphen_values = true)]
    level: String,
    /// Print tables like those in the paper, in this format.
    #[arg(long, value_enum, conflicts_with = "json", value_name = "FORM")]
    table: Option<FormArg>,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Rule by which words count as the same.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Match {
    /// Their strings are equal; repeated words may match any occurrence (as in the paper).
    String,
    /// They are the same occurrence of the same string.
    Occurrence,
    /// They are aligned.
    Position,
}

/// How to combine several gold rationales.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SeveralArg {
    /// The best single rationale.
    Best,
    /// The best single rationale or the best union.
    United,
}

/// Format of the tables.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormArg {
    /// Markdown.
    Md,
    /// LaTeX, with the rules of booktabs.
    Tex,
    /// Comma-separated values, with intervals and n.
    Csv,
}

#[derive(Serialize)]
struct Answer {
    token_f1: Option<f64>,
    map: Option<f64>,
    map_star: Option<f64>,
    pcc: Option<f64>,
    pcc_kept: usize,
    pcc_total: usize,
    random_f1: Option<f64>,
}

/// Fails with [`CliError::Usage`] for files that cannot be read or evaluated, and for invalid rules.
pub fn answer(args: &RationaleArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let Some(several) = &args.several_people {
        return super::rounds::answer(several, out);
    }
    let level = probability_of(&args.level)?;
    if level <= 0.0 || level >= 1.0 {
        return Err(CliError::Usage(format!("--level is {level}: it must be between 0 and 1")));
    }
    let size = size(&args.k)?;
    let rules = Rules {
        membership: match args.matching {
            Match::String => Membership::String,
            Match::Occurrence => Membership::Occurrence,
            Match::Position => Membership::Position,
        },
        several: match args.several {
            SeveralArg::Best => Several::Best,
            SeveralArg::United => Several::United,
        },
        replaced: args.replaced,
        ..Rules::new(Size::Gold)
    };
    let (gathered, mut notes) = gather(&args.files)?;
    let found = gathered.judge(args.system.as_deref(), size, &rules).map_err(|e| {
        let shown: Vec<String> = args.files.iter().map(|f| f.display().to_string()).collect();
        CliError::Usage(format!("{}: {e}", shown.join(", ")))
    })?;
    notes.extend(found.left_out.iter().map(|(why, n, first)| format!("left out: {n} × {why}; first: `{first}`")));
    let all: Vec<&Judged> = found.judged.iter().map(|(_, j)| j).collect();
    if let Some(form) = args.table {
        notes.iter().for_each(|note| output::say(&printable_label(note)));
        return tables(&found, level, form, out);
    }
    let whole = cell(&all, None, ALPHA, level);
    if args.json {
        notes.iter().for_each(|note| output::say(&printable_label(note)));
        let mean = |e: Option<Estimate>| e.map(|e| e.mean);
        return output::json(
            out,
            &Answer {
                token_f1: mean(whole.token_f1),
                map: mean(whole.map),
                map_star: mean(whole.map_star),
                pcc: mean(whole.pcc),
                pcc_kept: whole.pcc_kept,
                pcc_total: whole.pcc_total,
                random_f1: mean(whole.random_f1),
            },
        );
    }
    let mut lines = told(&found, &whole, &rules, level);
    parts(&found, level, &mut lines);
    lines.extend(notes);
    lines.iter().try_for_each(|line| output::line(out, &printable_label(line)))
}

fn size(text: &str) -> Result<SizeRule, CliError> {
    let bad = |why: &str| {
        let what =
            format!("--k is `{text}`: {why}; give `ratio`, `gold`, a share such as .3, or a number of words such as 5");
        Err(CliError::Usage(what))
    };
    match text {
        "ratio" => return Ok(SizeRule::Own),
        "gold" => return Ok(SizeRule::Fixed(Size::Gold)),
        _ => {}
    }
    if let Ok(words) = text.parse::<usize>() {
        return if words == 0 { bad("it must be above 0") } else { Ok(SizeRule::Fixed(Size::Fixed(words))) };
    }
    match number(text) {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(SizeRule::Fixed(Size::Ratio(share))),
        Ok(_) => bad("a share must be above 0 and at most 1"),
        Err(_) => bad("it is neither a rule nor a number"),
    }
}

fn gather(files: &[PathBuf]) -> Result<(Gathered, Vec<String>), CliError> {
    let usage = |e: &dyn std::fmt::Display| CliError::Usage(e.to_string());
    let (mut gathered, mut notes) = (Gathered::default(), Vec::new());
    for file in files {
        let set = Set::open(file).map_err(|e| usage(&e))?;
        let mut failure = None;
        let reports = set.rows(&mut |_, row, _| match gathered.push(row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failure = Some(e);
                ControlFlow::Break(())
            }
        });
        let reports = reports.map_err(|e| usage(&e))?;
        if let Some(e) = failure {
            return Err(CliError::Usage(format!("{}: {e}", file.display())));
        }
        for (name, report) in set.names().iter().zip(&reports) {
            notes.extend(report.dropped.iter().map(|(kind, d)| {
                format!("{name}: dropped {} × {}, first in line {}: {}", d.count, kind.title(), d.first_line, d.example)
            }));
        }
    }
    Ok((gathered, notes))
}

fn shown(estimate: Option<Estimate>) -> String {
    estimate.map_or("not defined".to_owned(), |e| format!("{:.4} [{:.4}, {:.4}]", e.mean, e.lo, e.hi))
}

fn alone(estimate: Option<Estimate>) -> String {
    estimate.map_or("–".to_owned(), |e| format!("{:.4}", e.mean))
}

fn told(found: &Judgement, whole: &Cell, rules: &Rules, level: f64) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{} originals, {} pairs with a perturbed input{}; bootstrap intervals over originals at the level {level}",
            whole.originals,
            whole.pairs,
            if found.system.is_empty() { String::new() } else { format!(", scores of {}", found.system) }
        ),
        found.size.clone(),
        format!("token-F1  {}  n {}  by chance {}", shown(whole.token_f1), whole.inputs, alone(whole.random_f1)),
    ];
    if whole.pairs > 0 {
        let membership = match rules.membership {
            Membership::String => "words matched by string",
            Membership::Occurrence => "words matched by string and occurrence",
            Membership::Position => "words matched by alignment",
        };
        let undefined = whole.pcc_undefined;
        lines.push(format!(
            "MAP       {}  n {}  by chance {}; {membership}",
            shown(whole.map),
            whole.pairs,
            alone(whole.random_map)
        ));
        lines.push(format!(
            "MAP*      {}  n {} (pairs for which PCC is defined)",
            shown(whole.map_star),
            whole.pcc_total
        ));
        lines.push(format!(
            "PCC       {}  {} of {} pairs with p < .05: biased upward, since pairs that disagree are left out",
            shown(whole.pcc),
            whole.pcc_kept,
            whole.pcc_total
        ));
        lines.push(format!(
            "PCC, all  {}  n {}; undefined for {} with constant scores and {} with fewer than three words",
            shown(whole.pcc_all),
            whole.pcc_total - undefined.constant - undefined.few,
            undefined.constant,
            undefined.few
        ));
    }
    if let Some(delta) = whole.f1_delta {
        lines.push(format!(
            "F1Δ       {} (signed {}, by pair {})",
            shown(Some(delta.absolute)),
            shown(Some(delta.signed)),
            shown(Some(delta.by_pair))
        ));
    }
    if whole.empty_gold > 0 {
        lines.push(format!("inputs with an empty gold rationale, whose token-F1 is 0: {}", whole.empty_gold));
    }
    if whole.missing > 0 {
        lines.push(format!(
            "perturbed partners that are missing or have no scores, left out of all means: {}",
            whole.missing
        ));
    }
    lines
}

/// Originals by dimension, in order of their first appearance.
fn dimensions(found: &Judgement) -> Vec<(&str, Vec<&Judged>)> {
    let mut groups: Vec<(&str, Vec<&Judged>)> = Vec::new();
    for (dimension, judged) in &found.judged {
        match groups.iter_mut().find(|(name, _)| name == dimension) {
            Some((_, group)) => group.push(judged),
            None => groups.push((dimension, vec![judged])),
        }
    }
    groups
}

/// Adds tables by dimension and by perturbation, if there are several.
fn parts(found: &Judgement, level: f64, lines: &mut Vec<String>) {
    let columns = ["", "token-F1", "by chance", "MAP", "MAP*", "PCC", "kept", "F1Δ", "ratio", "n"];
    let row = |name: &str, c: &Cell| {
        let delta = c.f1_delta.map(|d| d.absolute);
        let name = if name.is_empty() { "–" } else { name };
        let kept = format!("{} of {}", c.pcc_kept, c.pcc_total);
        let head = [name.to_owned(), alone(c.token_f1), alone(c.random_f1), alone(c.map), alone(c.map_star)];
        let tail = [alone(c.pcc), kept, alone(delta), alone(c.ratio), c.inputs.to_string()];
        head.into_iter().chain(tail).collect::<Vec<String>>()
    };
    let groups = dimensions(found);
    if groups.len() > 1 && groups.len() <= 40 {
        let rows = groups.iter().map(|(name, group)| row(name, &cell(group, None, ALPHA, level))).collect();
        section(lines, "By dimension", &columns, rows);
    }
    let all: Vec<&Judged> = found.judged.iter().map(|(_, j)| j).collect();
    let kinds = kinds(&all);
    if kinds.len() > 1 && kinds.len() <= 40 {
        let rows = kinds.iter().map(|kind| row(kind, &cell(&all, Some(kind), ALPHA, level))).collect();
        section(lines, "By perturbation", &columns, rows);
    }
}

fn tables(found: &Judgement, level: f64, form: FormArg, out: &mut dyn Write) -> Result<(), CliError> {
    let mut rows = Vec::new();
    for (dimension, group) in dimensions(found) {
        let kinds = kinds(&group);
        for kind in std::iter::once(None).chain(kinds.into_iter().map(Some)) {
            let c = cell(&group, kind, ALPHA, level);
            let delta = c.f1_delta.map(|d| d.absolute);
            let measures = [
                ("F1", c.token_f1, c.inputs),
                ("MAP", c.map, c.pairs),
                ("PCC", c.pcc, c.pcc_kept),
                ("MAP*", c.map_star, c.pcc_total),
                ("F1Δ", delta, c.pairs),
            ];
            rows.push(Interpretability {
                model: "–".to_owned(),
                method: if found.system.is_empty() { "–".to_owned() } else { found.system.clone() },
                dimension: if dimension.is_empty() { "all inputs".to_owned() } else { dimension.to_owned() },
                perturbation: kind.map_or("all", |k| if k.is_empty() { "unknown" } else { k }).to_owned(),
                measures: measures.into_iter().map(|(name, value, n)| (name.to_owned(), value, n)).collect(),
            });
        }
    }
    let form = match form {
        FormArg::Md => Form::Markdown,
        FormArg::Tex => Form::Latex,
        FormArg::Csv => Form::Csv,
    };
    for table in [interpretability(&rows), by_perturbation(&rows)] {
        if !table.entries.is_empty() {
            output::line(out, &table.write(form))?;
        }
    }
    Ok(())
}

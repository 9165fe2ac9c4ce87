//! `probity rationale annotate|agree|merge`: masks and rationales by several annotators, in one file each.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use base::files::Whole;
use base::numbers::{probability_of, score};
use base::text::{printable_label, section};
use labs::saliency::annotation::masks::{self, RatedMask, rated, to_choose};
use labs::saliency::annotation::read;
use labs::saliency::annotation::rounds::{
    Alphas, COMPACT, Person, ROUNDS, RoundOutcome, SUFFICIENT, Scored, alphas, merged, round, scored, to_correct,
};
use stats::Estimate;

/// Commands on the files of several annotators.
#[derive(Debug, Subcommand)]
pub enum Several {
    /// Ask one annotator about every sentence: masks, confidence, marked words or scores.
    Annotate(super::annotate::AnnotateArgs),
    /// Measure the agreement between annotators: Krippendorff's alpha for marked words and scores.
    Agree(AgreeArgs),
    /// Decide which masks or rationales pass a round, and merge them (Shen et al. 2022, sections 3.2 and 3.4).
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
pub struct FileArgs {
    /// One file per annotator, in the benchmark's schema, as saved by `annotate` and the screen. Annotators whose files contain scores
    /// count as checkers; if every file does, everyone counts as both annotator and checker.
    #[arg(value_name = "PERSON.jsonl", required = true)]
    files: Vec<PathBuf>,
    /// Level of the intervals.
    #[arg(long, default_value = ".95", value_name = "LEVEL", allow_hyphen_values = true)]
    level: String,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  probity rationale agree anna.jsonl ben.jsonl carla.jsonl

Sentences missing from a file count as missing values.")]
pub struct AgreeArgs {
    #[command(flatten)]
    files: FileArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  probity rationale merge anna.jsonl ben.jsonl x.jsonl y.jsonl z.jsonl --round 1 --out gold-1.jsonl --back round-2

A rationale passes with a mean sufficiency of at least 3 and a mean compactness of at least 3.6. Others are returned to their annotators,
and are dropped after round 3. A checker's file repeats the rationale that it scores.

If files contain mask confidences, masks are judged: a mask passes if at least three annotators have rated it and
no rating is below 3. Otherwise a different word must be masked; after round 3 the sentence is dropped.")]
pub struct MergeArgs {
    #[command(flatten)]
    files: FileArgs,
    /// Number of the round [default: the round in the files].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(ROUNDS)))]
    round: Option<u8>,
    /// Write the rationales that pass to this file.
    #[arg(long, short, value_name = "FILE.jsonl")]
    out: Option<PathBuf>,
    /// Write to this folder one file per annotator with the sentences that are returned, marked with their next round.
    #[arg(long, value_name = "DIR")]
    back: Option<PathBuf>,
    /// Replace files that already exist.
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Merge<'a> {
    round: u8,
    agreement: Alphas,
    #[serde(skip_serializing_if = "Option::is_none")]
    rationales: Option<&'a [Scored<'a>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    masks: Option<&'a [RatedMask<'a>]>,
}

/// Fails with [`CliError::Usage`] for unreadable files, [`CliError::Failed`] for files that cannot be written.
pub fn answer(several: &Several, out: &mut dyn Write) -> Result<(), CliError> {
    match several {
        Several::Annotate(args) => super::annotate::annotate(args, out),
        Several::Agree(args) => agree(args, out),
        Several::Merge(args) => merge(args, out),
    }
}

/// Returns the annotators, who are named after their files, and the level of the intervals.
fn people(args: &FileArgs) -> Result<(Vec<Person>, f64), CliError> {
    let level = probability_of(&args.level)?;
    if level <= 0.0 || level >= 1.0 {
        return Err(CliError::Usage(format!("--level is {level}: it must be between 0 and 1")));
    }
    let mut people: Vec<Person> = Vec::new();
    for path in &args.files {
        let usage = |what: String| CliError::Usage(format!("{}: {what}", path.display()));
        let text = base::read::text(path, 256 << 20).map_err(|e| usage(e.to_string()))?;
        let name = path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
        if people.iter().any(|p| p.name == name) {
            return Err(usage(format!(
                "a second file is also called {name}; give each annotator's file a different name"
            )));
        }
        people.push(Person { name, made: read(&text).map_err(usage)? });
    }
    Ok((people, level))
}

fn interval(e: Option<Estimate>) -> String {
    e.map_or("not defined".into(), |e| format!("{} [{}, {}]", score(e.mean), score(e.lo), score(e.hi)))
}

fn agreement(found: &Alphas) -> Vec<String> {
    let mut lines = vec![
        format!(
            "Krippendorff's alpha for marked words: {}; {} sentences marked by at least two annotators",
            interval(found.marks),
            found.sentences
        ),
        format!(
            "alpha for sufficiency: {}; for compactness: {} (ordinal)",
            interval(found.sufficiency),
            interval(found.compactness)
        ),
    ];
    if found.confidence.is_some() {
        lines.push(format!("alpha for confidence in the masks: {} (ordinal)", interval(found.confidence)));
    }
    lines.extend(left_out(found));
    lines
}

/// Reports annotations that are left out because an earlier file has a different sentence with the same identifier.
fn left_out(found: &Alphas) -> Option<String> {
    let n = found.differing;
    (n > 0).then(|| format!("left out: {n} annotations whose sentence has different words, a different mask or a different answer in an earlier file"))
}

fn agree(args: &AgreeArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let (people, level) = people(&args.files)?;
    let found = alphas(&people, level);
    if args.files.json {
        return output::json(out, &found);
    }
    agreement(&found).iter().try_for_each(|line| output::line(out, line))
}

/// Writes the items that pass and, for each annotator, the items to revise.
fn write(args: &MergeArgs, people: &[Person], passed: &str, back: &dyn Fn(&str) -> String) -> Result<(), CliError> {
    if let Some(path) = &args.out {
        Whole::new(path, args.force)?.fill(passed.as_bytes())?;
    }
    let Some(folder) = &args.back else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|e| CliError::Failed(format!("{}: {e}", folder.display())))?;
    for person in people {
        let text = back(&person.name);
        if !text.is_empty() {
            let path = folder.join(format!("{}.jsonl", person.name));
            Whole::new(&path, args.force)?.fill(text.as_bytes())?;
        }
    }
    Ok(())
}

fn merge(args: &MergeArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let (people, level) = people(&args.files)?;
    let found = alphas(&people, level);
    let of_files = round(&people);
    let round = args.round.unwrap_or(of_files);
    if round < of_files {
        return Err(CliError::Usage(format!(
            "--round is {round}, but the files are from round {of_files}: omit --round"
        )));
    }
    match (people.iter().any(Person::is_rater), people.iter().any(Person::is_checker)) {
        (true, true) => Err(CliError::Usage(
            "some files contain confidences in masks, others scores of rationales; merge the masks first, then the rationales"
                .into(),
        )),
        (true, false) => merge_masks((args, round), (&people, found), out),
        (false, _) => merge_rationales((args, round), (&people, found), out),
    }
}

fn merge_masks(
    (args, round): (&MergeArgs, u8),
    (people, found): (&[Person], Alphas),
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let all = rated(people, round);
    write(args, people, &masks::passed(&all), &|name| to_choose(&all, name))?;
    if args.files.json {
        let answer = Merge { round, agreement: found, rationales: None, masks: Some(&all) };
        return output::json(out, &answer);
    }
    let mut lines = vec![masks::outcome(&all, round)];
    lines.push(format!("Krippendorff's alpha for confidence (ordinal): {}", interval(found.confidence)));
    lines.extend(left_out(&found));
    let row = |m: &RatedMask<'_>| {
        let ratings: Vec<String> = m.confidence.iter().map(u8::to_string).collect();
        let rival =
            m.contradicted_by.as_ref().map(|(id, answer)| format!("sentence {id} has the same words and `{answer}`"));
        let outcome = if m.outcome == RoundOutcome::Unscored { "waits" } else { m.outcome.name() };
        let who = printable_label(&m.annotators.join(", "));
        [&m.sentence, &m.answer, &who, &ratings.join(" "), outcome, &rival.unwrap_or_default()]
            .map(printable_label)
            .to_vec()
    };
    let rest =
        all.iter().filter(|m| m.outcome != RoundOutcome::Passes || m.contradicted_by.is_some()).map(row).collect();
    section(
        &mut lines,
        "masks that do not pass or are not unique",
        &["sentence", "answer", "annotators", "confidence", "", ""],
        rest,
    );
    lines.iter().try_for_each(|line| output::line(out, line))
}

fn merge_rationales(
    (args, round): (&MergeArgs, u8),
    (people, found): (&[Person], Alphas),
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let all = scored(people, round);
    write(args, people, &merged(&all), &|name| to_correct(&all, name, round))?;
    if args.files.json {
        let answer = Merge { round, agreement: found, rationales: Some(&all), masks: None };
        return output::json(out, &answer);
    }
    let of = |outcome: RoundOutcome| all.iter().filter(move |s| s.outcome == outcome);
    let mut lines = vec![format!(
        "round {round} of {ROUNDS}: {} of {} rationales pass (mean sufficiency at least {SUFFICIENT}, compactness at \
         least {COMPACT}), {} are returned, {} are dropped, {} have no scores",
        of(RoundOutcome::Passes).count(),
        all.len(),
        of(RoundOutcome::GoesBack).count(),
        of(RoundOutcome::Dropped).count(),
        of(RoundOutcome::Unscored).count(),
    )];
    for person in people {
        let count = of(RoundOutcome::GoesBack).filter(|s| s.annotators.contains(&person.name.as_str())).count();
        if count > 0 {
            lines.push(format!("returned to {}: {count}", printable_label(&person.name)));
        }
    }
    lines.extend(agreement(&found));
    let mean = |x: Option<f64>| x.map_or("–".into(), |x| format!("{x:.2}"));
    let row = |s: &Scored<'_>| {
        let who = printable_label(&s.annotators.join(", "));
        vec![printable_label(&s.sentence), who, mean(s.sufficiency), mean(s.compactness), s.outcome.name().into()]
    };
    let rest = all.iter().filter(|s| s.outcome != RoundOutcome::Passes).map(row).collect();
    section(&mut lines, "not passed", &["sentence", "annotators", "sufficiency", "compactness", ""], rest);
    lines.iter().try_for_each(|line| output::line(out, line))
}

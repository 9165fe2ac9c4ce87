//! `probity rationale annotate`: asks one annotator one question about every sentence, from a terminal or a pipe.
//!
//! The whole file is rewritten after every answer, so an interrupt loses nothing. Running the same command again continues where it
//! stopped.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, Read, Write};
use std::num::IntErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::error::CliError;
use crate::output;
use base::files::Whole;
use base::text::{printable_label, shortened};
use labs::saliency::annotation::{Annotation, MOST_COMPACT, MOST_CONFIDENT, MOST_SUFFICIENT, read, write};

/// Maximum size of an input file, in bytes.
const MOST_BYTES: u64 = 256 << 20;
/// Maximum length of an answer, in bytes.
const LONGEST: u64 = 64 << 10;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity rationale annotate masked.jsonl --to anna.jsonl
  probity rationale annotate sentences.jsonl --to masks.jsonl --task mask
  probity rationale annotate masks.jsonl --to x.jsonl --task confidence < answers.txt

One line answers one sentence. Words are numbered from 0, as in the file; `1 3-5` selects four words. `b` goes
back one sentence, `s` skips one, `q` stops. Every answer is saved at once, and the same command continues where it
stopped. If answers come from a pipe, the first invalid one ends the command.

A sentence is a JSON object with `sent_id` and `sent_token` (its words); a masked sentence also has `mask_index` and `answer`.")]
pub struct AnnotateArgs {
    /// The sentences, in the benchmark's schema: a set, another annotator's file, or a file written by `merge --back`.
    #[arg(value_name = "SENTENCES.jsonl")]
    sentences: PathBuf,
    /// The annotator's file, which is created or continued.
    #[arg(long, value_name = "PERSON.jsonl")]
    to: PathBuf,
    /// The question to ask about every sentence.
    #[arg(long, value_enum, default_value = "rationale")]
    task: Task,
    /// Hide existing marks, so that they do not influence the annotator.
    #[arg(long)]
    blank: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Task {
    /// Choose the word to mask.
    Mask,
    /// Rate the confidence that no other answer fits the mask (1 to 4).
    Confidence,
    /// Mark the words that the answer depends on.
    Rationale,
    /// Score the marked words for sufficiency (1 to 3) and compactness (1 to 4).
    Score,
}

impl Task {
    /// Returns the reason why a sentence is skipped; `None` if it is not.
    fn passed_over(self, a: &Annotation) -> Option<&'static str> {
        match self {
            Task::Mask => a.mask().map(|_| "already masked"),
            _ if a.mask().is_none() => Some("without a mask (--task mask chooses one)"),
            Task::Score if a.rationale.is_empty() => Some("without marked words to score"),
            _ => None,
        }
    }

    /// Names the part of a saved answer that no longer fits its sentence.
    fn conflict(self, own: &Annotation, sentence: &Annotation) -> Option<&'static str> {
        match self {
            Task::Mask => None,
            _ if own.words() != sentence.words() => Some("words"),
            Task::Score if own.rationale != sentence.rationale => Some("marked words"),
            _ => None,
        }
    }

    fn is_answered(self, a: &Annotation) -> bool {
        match self {
            Task::Mask => a.mask().is_some(),
            Task::Confidence => a.confidence.is_some(),
            Task::Rationale => !a.rationale.is_empty(),
            Task::Score => a.sufficiency.is_some() && a.compactness.is_some(),
        }
    }

    fn question(self, a: &Annotation) -> Vec<String> {
        let answer = a.answer().map_or("no answer given".to_owned(), |answer| format!("answer: {answer}"));
        let word = |(k, w): (usize, &String)| match (self, a.rationale.contains(&k)) {
            (Task::Mask | Task::Rationale, true) => format!("{k} *{w}*"),
            (Task::Mask | Task::Rationale, false) => format!("{k} {w}"),
            // Sufficiency is judged from the rationale alone, so all other words are hidden.
            (Task::Score, false) if a.mask() != Some(k) => "…".to_owned(),
            (Task::Score | Task::Confidence, _) => w.clone(),
        };
        let words: Vec<String> = a.words().iter().enumerate().map(word).collect();
        let whole = (self == Task::Score).then(|| a.words().join(" "));
        let asked = match self {
            Task::Mask => {
                "choose the word to mask, or adjacent words such as 3-4; only one answer should fit:".to_owned()
            }
            Task::Confidence => format!(
                "{answer}; rate this answer: 4 the only possible one, 3 among the top three, 2 among the top five, 1 otherwise:"
            ),
            Task::Rationale if a.rationale.is_empty() => format!("{answer}; mark the words that it depends on:"),
            Task::Rationale => {
                format!("{answer}; mark the words that it depends on (an empty line keeps the starred ones):")
            }
            Task::Score => format!(
                "{answer}; can you guess it from the words shown (1 no, 2 probably, 3 definitely)? Are these words \
                 concise (1 some are redundant, 2 some are misleading, 3 probably, 4 very)? Enter two numbers, for \
                 example 3 4:"
            ),
        };
        let refused = match a.refused() {
            all if self == Task::Mask && !all.is_empty() => {
                Some(format!("rejected in an earlier round: {}", all.join(", ")))
            }
            _ => None,
        };
        [words.join(if self == Task::Mask || self == Task::Rationale { "  " } else { " " })]
            .into_iter()
            .chain(whole.map(|text| format!("whole: {text}")))
            .chain(refused)
            .chain([asked])
            .collect()
    }

    fn answer(self, a: &mut Annotation, text: &str) -> Result<(), String> {
        match self {
            Task::Mask => {
                let words = numbers(text, a.words().len())?;
                let (Some(first), Some(last)) = (words.first(), words.last()) else {
                    return Err("give the number of a word".into());
                };
                if last - first + 1 != words.len() {
                    return Err("the words of one mask must be adjacent".into());
                }
                a.choose_mask(*first..last + 1)
            }
            Task::Confidence => {
                let [confidence] = scores(text, ["confidence"], [MOST_CONFIDENT])?;
                a.confidence = Some(confidence);
                Ok(())
            }
            Task::Rationale => {
                if text.is_empty() && !a.rationale.is_empty() {
                    return Ok(());
                }
                let words = numbers(text, a.words().len())?;
                if words.is_empty() {
                    return Err("give the numbers of words, for example 1 3-5".into());
                }
                if let Some(mask) = a.mask().filter(|m| words.contains(m)) {
                    return Err(format!("word {mask} is the mask, which cannot be part of its rationale"));
                }
                a.rationale = words.into_iter().collect();
                Ok(())
            }
            Task::Score => {
                let names = ["sufficiency", "compactness"];
                let [sufficiency, compactness] = scores(text, names, [MOST_SUFFICIENT, MOST_COMPACT])?;
                (a.sufficiency, a.compactness) = (Some(sufficiency), Some(compactness));
                Ok(())
            }
        }
    }
}

fn fields(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t', ',']).filter(|field| !field.is_empty())
}

/// Parses word numbers and ranges in ascending order.
fn numbers(text: &str, words: usize) -> Result<Vec<usize>, String> {
    // A number too large for usize is certainly beyond the end of the sentence.
    let number = |text: &str| match text.parse::<usize>() {
        Err(e) if *e.kind() != IntErrorKind::PosOverflow => None,
        found => Some(found.unwrap_or(usize::MAX)),
    };
    let mut all = BTreeSet::new();
    for field in fields(text) {
        let (from, to) = field.split_once('-').unwrap_or((field, field));
        let field = shortened(field, 40);
        match (number(from), number(to)) {
            (Some(from), Some(to)) if from > to => return Err(format!("`{field}` ends before it begins")),
            (Some(_), Some(last)) if last >= words => {
                let last = words.checked_sub(1).map_or("the sentence is empty".into(), |w| format!("the last is {w}"));
                return Err(format!("there is no word {}: {last}", shortened(to, 40)));
            }
            (Some(from), Some(to)) => all.extend(from..=to),
            _ => return Err(format!("`{field}` is not a number or a range such as 3-5")),
        }
    }
    Ok(all.into_iter().collect())
}

/// Parses one score per name, each from 1 to its maximum.
fn scores<const N: usize>(text: &str, names: [&str; N], most: [u8; N]) -> Result<[u8; N], String> {
    let all: Vec<&str> = fields(text).collect();
    if all.len() != N {
        return Err(format!("give {}, for example {}", names.join(" and "), ["3", "4"][2 - N..].join(" ")));
    }
    let mut found = [0; N];
    for (k, field) in all.into_iter().enumerate() {
        let score = field.parse().ok().filter(|s| (1..=most[k]).contains(s));
        found[k] = score
            .ok_or_else(|| format!("{} must be from 1 to {}, not `{}`", names[k], most[k], shortened(field, 40)))?;
    }
    Ok(found)
}

/// Prints the questions and reads the answers from standard input.
///
/// # Errors
/// [`CliError::Usage`] for unusable files and answers, [`CliError::Failed`] if the file cannot be written.
pub(super) fn annotate(args: &AnnotateArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let input = std::io::stdin();
    let typed = std::io::IsTerminal::is_terminal(&input);
    let mut work = Work::open(args)?;
    let end = work.ask(args.task, (&mut input.lock(), typed), out)?;
    work.report(&end).iter().try_for_each(|line| output::line(out, line))
}

struct Own {
    path: PathBuf,
    /// Contents of the file when this command last read or wrote it; `None` before the file exists.
    text: Option<String>,
    /// Annotations of sentences that are not in the set; they stay in the annotator's file.
    others: Vec<Annotation>,
}

impl Own {
    /// Rewrites the whole file; fails if another program has changed it.
    fn save(&mut self, made: &[Option<Annotation>]) -> Result<(), CliError> {
        if load(&self.path)? != self.text {
            let what = "another program has changed it since this command read it; run the command again to continue";
            return Err(CliError::Failed(format!("{}: {what}", self.path.display())));
        }
        let text = write(made.iter().flatten().chain(&self.others));
        Whole::new(&self.path, true)?.fill(text.as_bytes())?;
        self.text = Some(text);
        Ok(())
    }
}

fn load(path: &Path) -> Result<Option<String>, CliError> {
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let usage = |e: std::io::Error| CliError::Usage(format!("{}: {e}", path.display()));
    base::read::text(path, MOST_BYTES).map(Some).map_err(usage)
}

struct Work {
    sentences: Vec<Annotation>,
    made: Vec<Option<Annotation>>,
    own: Own,
    /// Indices of the sentences to ask about.
    asked: Vec<usize>,
    /// Skipped sentences, by reason.
    passed_over: Vec<(&'static str, usize)>,
    /// Number of the last line read from standard input.
    line: usize,
}

impl Work {
    fn open(args: &AnnotateArgs) -> Result<Self, CliError> {
        let usage = |path: &Path, what: &str| CliError::Usage(format!("{}: {what}", path.display()));
        let of = |path: &Path, text: &str| read(text).map_err(|why| usage(path, &why));
        let same = |path: &Path| path.canonicalize().ok();
        if same(&args.sentences).is_some_and(|path| same(&args.to) == Some(path)) {
            return Err(usage(&args.to, "this file contains the sentences; choose a different one with --to"));
        }
        let text = load(&args.sentences)?.ok_or_else(|| usage(&args.sentences, "no such file"))?;
        let sentences = of(&args.sentences, &text)?;
        if sentences.is_empty() {
            return Err(usage(&args.sentences, "it contains no sentences"));
        }
        let places: HashMap<String, usize> = sentences.iter().enumerate().map(|(k, a)| (a.sentence(), k)).collect();
        if places.len() < sentences.len() {
            return Err(usage(
                &args.sentences,
                "two sentences have the same sent_id; give each sentence a different one",
            ));
        }
        let text = load(&args.to)?;
        let mut made: Vec<Option<Annotation>> = vec![None; sentences.len()];
        let mut others = Vec::new();
        for a in of(&args.to, text.as_deref().unwrap_or_default())? {
            match places.get(&a.sentence()) {
                None => others.push(a),
                Some(k) => {
                    if let Some(what) = args.task.conflict(&a, &sentences[*k]) {
                        let what =
                            format!("sentence {} has different {what} in {}", a.sentence(), args.sentences.display());
                        return Err(usage(&args.to, &format!("{what}; choose a different file with --to")));
                    }
                    made[*k] = Some(a);
                }
            }
        }
        let own = Own { path: args.to.clone(), text, others };
        let mut work = Self { sentences, made, own, asked: Vec::new(), passed_over: Vec::new(), line: 0 };
        work.divide(args);
        Ok(work)
    }

    /// Divides the sentences into those to ask about and those to skip. In the masking task, sentences that already have a mask are copied
    /// unchanged, because the annotators who rate masks need all of them.
    fn divide(&mut self, args: &AnnotateArgs) {
        for (k, sentence) in self.sentences.iter_mut().enumerate() {
            if args.blank && args.task == Task::Rationale {
                sentence.rationale.clear();
            }
            match args.task.passed_over(sentence) {
                None => self.asked.push(k),
                Some(why) => match self.passed_over.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, count)) => *count += 1,
                    None => self.passed_over.push((why, 1)),
                },
            }
            if args.task == Task::Mask && sentence.mask().is_some() {
                self.made[k].get_or_insert_with(|| sentence.clone());
            }
        }
    }

    fn is_answered(&self, task: Task, k: usize) -> bool {
        self.made[k].as_ref().is_some_and(|a| task.is_answered(a))
    }

    fn ask(
        &mut self,
        task: Task,
        (input, typed): (&mut dyn BufRead, bool),
        out: &mut dyn Write,
    ) -> Result<Task, CliError> {
        let mut left: Vec<usize> = self.asked.iter().copied().filter(|k| !self.is_answered(task, *k)).collect();
        left.reverse();
        let mut before = Vec::new();
        while let Some(k) = left.pop() {
            let mut made = self.made[k].clone().unwrap_or_else(|| self.sentences[k].unscored());
            if task == Task::Mask && made.mask().is_some() {
                made = self.sentences[k].unscored();
            }
            self.show(task, k, &made, out)?;
            let Some(text) = self.next_line(input)? else { break };
            match text.as_str() {
                "q" => break,
                "s" => before.push(k),
                "b" => {
                    left.push(k);
                    left.extend(before.pop());
                }
                answer => match task.answer(&mut made, answer) {
                    Ok(()) => {
                        self.made[k] = Some(made);
                        self.own.save(&self.made)?;
                        before.push(k);
                    }
                    Err(why) if typed => {
                        output::line(out, &printable_label(&why))?;
                        left.push(k);
                    }
                    Err(why) => {
                        let id = self.sentences[k].sentence();
                        let what = format!("standard input, line {}: sentence {id}: {why}", self.line);
                        return Err(CliError::Usage(format!("{what}; earlier answers are saved")));
                    }
                },
            }
        }
        Ok(task)
    }

    fn show(&self, task: Task, k: usize, a: &Annotation, out: &mut dyn Write) -> Result<(), CliError> {
        let place = self.asked.iter().position(|asked| *asked == k).map_or(0, |at| at + 1);
        let head = format!("sentence {} ({place} of {})", a.sentence(), self.asked.len());
        let dimension = if a.dimension().is_empty() { String::new() } else { format!(", {}", a.dimension()) };
        let lines = [String::new(), head + &dimension].into_iter().chain(task.question(a));
        lines.into_iter().try_for_each(|line| output::line(out, &printable_label(&line)))
    }

    /// Returns the next answer, trimmed; `None` at the end of the input.
    fn next_line(&mut self, input: &mut dyn BufRead) -> Result<Option<String>, CliError> {
        let mut bytes = Vec::new();
        self.line += 1;
        let wrong =
            |what: &dyn std::fmt::Display| CliError::Usage(format!("standard input, line {}: {what}", self.line));
        let read = input.take(LONGEST).read_until(b'\n', &mut bytes).map_err(|e| wrong(&e))?;
        if read as u64 == LONGEST {
            return Err(wrong(&"the answer is longer than 64 KiB"));
        }
        let text = String::from_utf8(bytes).map_err(|_| wrong(&"the answer is not UTF-8"))?;
        Ok((read > 0).then(|| text.trim().to_owned()))
    }

    /// Reports how many sentences are answered, and how to continue.
    fn report(&self, task: &Task) -> Vec<String> {
        let done = self.asked.iter().filter(|k| self.is_answered(*task, **k)).count();
        let all = self.asked.len();
        let path = printable_label(&self.own.path.display().to_string());
        let mut lines = vec![match done {
            0 => format!("none of the {all} sentences is answered"),
            _ if done == all => format!("all {all} sentences are answered in {path}"),
            _ => format!("{done} of {all} sentences are answered in {path}; run the command again to continue"),
        }];
        lines.extend(self.passed_over.iter().map(|(why, count)| format!("skipped: {count} {why}")));
        lines
    }
}

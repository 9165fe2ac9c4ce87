//! The probed sentences, generated or from the user's file. They are split within each class, by default 4 : 1 : 1. If a task groups the
//! probed words, no word occurs in two parts or two folds.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use crate::Host;
use crate::bound::Ratio;
use crate::spec::Spec;
use base::text::shortened;
use base::{Cancelled, Problem};
use corpus::probing::{GROUPS, ProbingTask};
use corpus::readers::{Reading, Row, Sentence};
use lab::fault::{Fault, problem};
use lab::host::NoticeLevel;
use model::Long;
use stats::rng::{shuffle, stream, unit};

const MAX_CLASSES: usize = 50;
const MAX_SENTENCES: usize = 4_000_000;

/// Labelled sentences, split within each class into training, validation and test.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sentences {
    pub texts: Vec<String>,
    pub labels: Vec<usize>,
    pub classes: usize,
    /// Rows by class, in drawing order, for training, validation and test.
    parts: [Vec<Vec<usize>>; 3],
    /// Relative sizes of training, validation and test.
    ratio: Ratio,
    /// The fold of each sentence if the task groups words; otherwise empty.
    folds: Vec<usize>,
    /// Number of sentences in the file that exceed an encoder's maximum length.
    pub long: usize,
}

/// Rows for one size: training, validation, test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub parts: [Vec<usize>; 3],
}

impl Sentences {
    /// Sentences of a side for the spec's largest size.
    ///
    /// # Errors
    /// [`Fault`] for a file that cannot be read or has too few sentences of a class.
    pub(crate) fn of(spec: &Spec, first: bool, host: &mut Host<'_>) -> Result<Self, Fault> {
        let largest = spec.task.sizes.last().copied().unwrap_or(0);
        let each = spec.task.ratio.parts(largest);
        let needed: usize = each.iter().sum();
        let ((texts, labels, classes), long) = match spec.task_of(first) {
            (_, Some(file)) => fitting(spec, first, read(spec, file, host)?, host)?,
            (name, None) => {
                // Each fold must be large enough for a quarter of the training part, for the validation part, and for the test part.
                let quarter = each[0].div_ceil(4).max(each[1]).max(each[2]);
                let grouped = quarter.next_multiple_of(GROUPS / FOLDS) * FOLDS;
                let told = |e: corpus::probing::ProbingError| problem(&e, "task", "lower task.sizes");
                let task = ProbingTask::named(name).map_err(told)?;
                let classes = task.labels.len();
                let needed = if task.is_grouped() { grouped } else { needed };
                let set = task.examples(needed * classes, spec.seed).map_err(told)?;
                let folds = set.examples.iter().filter_map(|e| e.group).map(|g| g * FOLDS / GROUPS).collect();
                let (texts, labels) = set.examples.into_iter().map(|e| (e.text, e.label)).unzip();
                return Self::split(texts, labels, &numbered(classes), (spec.task.ratio, largest), spec.seed, folds);
            }
        };
        let split = Self::split(texts, labels, &classes, (spec.task.ratio, largest), spec.seed, Vec::new())?;
        Ok(Self { long, ..split })
    }

    /// Splits each class in an order that depends on the seed.
    fn split(
        texts: Vec<String>,
        labels: Vec<usize>,
        names: &[String],
        (ratio, largest): (Ratio, usize),
        seed: u64,
        folds: Vec<usize>,
    ) -> Result<Self, Fault> {
        let each = ratio.parts(largest);
        let mut rng = stream(seed, "split of sentences");
        let mut parts: [Vec<Vec<usize>>; 3] = Default::default();
        for (class, name) in names.iter().enumerate() {
            let mut rows: Vec<usize> = (0..labels.len()).filter(|i| labels[*i] == class).collect();
            let needed: usize = each.iter().sum();
            if rows.len() < needed {
                return Err(Problem {
                    what: format!(
                        "the class `{}` has {} sentences; {needed} are needed for the largest size",
                        shortened(name, 40),
                        rows.len()
                    ),
                    r#where: "task.data".into(),
                    hint: format!("set `task.sizes` to at most {}", rows.len() * each[0] / needed),
                }
                .into());
            }
            shuffle(&mut rng, &mut rows);
            if !folds.is_empty() {
                let of = |fold: usize| rows.iter().copied().filter(|r| folds[*r] == fold).collect::<Vec<_>>();
                // Training words come from all folds in turn, so that smaller sizes contain words from every fold.
                let train: Vec<Vec<usize>> = (0..4).map(of).collect();
                parts[0].push((0..each[0]).filter_map(|k| train[k % 4].get(k / 4).copied()).collect());
                parts[1].push(of(4).into_iter().take(each[1]).collect());
                parts[2].push(of(5).into_iter().take(each[2]).collect());
                continue;
            }
            let mut rows = rows.into_iter();
            for (part, n) in parts.iter_mut().zip(each) {
                part.push(rows.by_ref().take(n).collect());
            }
        }
        Ok(Self { texts, labels, classes: names.len(), parts, ratio, folds, long: 0 })
    }

    /// The rows for a size; each part is balanced over the classes. Smaller sizes are prefixes of larger ones.
    pub(crate) fn drawn(&self, size: usize) -> Drawn {
        let counts = self.ratio.parts(size);
        let part = |k: usize| self.parts[k].iter().flat_map(|rows| rows.iter().take(counts[k]).copied()).collect();
        Drawn { parts: [part(0), part(1), part(2)] }
    }
}

/// Number of folds into which the sentences of a size are divided.
pub(crate) const FOLDS: usize = 6;

impl Sentences {
    /// Uses fold `i` of [`FOLDS`] for validation, the next one for test and the others for training (Zhu et al. 2022). Each sentence of the
    /// size is tested once; sizes not divisible by four leave out a few.
    pub(crate) fn fold(&self, size: usize, i: usize) -> Drawn {
        let counts = self.ratio.parts(size);
        let quarter = counts[1];
        let mut parts: [Vec<usize>; 3] = Default::default();
        for class in 0..self.classes {
            // The sentences of a grouped task alternate between folds, so the remainder after division by four is at the end of the
            // training part and is left out.
            let most = if self.folds.is_empty() { counts[0] } else { 4 * quarter };
            let each = (0..3).flat_map(|k| self.parts[k][class].iter().take(if k == 0 { most } else { counts[k] }));
            for (at, row) in each.take(FOLDS * quarter).enumerate() {
                let fold = self.folds.get(*row).copied().unwrap_or(at / quarter);
                let part = match fold {
                    f if f == i => 1,
                    f if f == (i + 1) % FOLDS => 2,
                    _ => 0,
                };
                parts[part].push(*row);
            }
        }
        Drawn { parts }
    }

    /// The same sentences with random labels. They are assigned in the order of the sentences' hashes, and are as balanced in each part as
    /// the task's labels. Follows Hewitt and Liang (2019), with sentences instead of word types.
    pub(crate) fn controlled(&self, drawn: &Drawn, seed: u64) -> Self {
        let mut labels = self.labels.clone();
        for part in &drawn.parts {
            let mut rows = part.clone();
            // The bits of positive floats sort in the same order as the numbers.
            let hash = |row: &usize| unit(&mut stream(seed, &format!("control {}", self.texts[*row]))).to_bits();
            rows.sort_by_cached_key(hash);
            rows.iter().enumerate().for_each(|(k, row)| labels[*row] = k % self.classes);
        }
        Self { labels, ..self.clone() }
    }
}

fn numbered(classes: usize) -> Vec<String> {
    (0..classes).map(|i| i.to_string()).collect()
}

/// The label to probe. The names of all labels are collected until the label is found.
fn wanted(spec: &Spec, sentence: &Sentence<'_>, names: &mut BTreeSet<String>) -> Option<String> {
    let label = match &spec.task.label {
        Some(name) => corpus::agreement::label(sentence, name),
        None => sentence.label.as_deref(),
    };
    if label.is_none() && names.len() < 100 {
        names.extend(sentence.labels.iter().flat_map(|l| &l.0).map(|(name, _)| name.to_string()));
    }
    label.map(str::to_owned)
}

type Read = (Vec<String>, Vec<usize>, Vec<String>);

/// Reads the distinct labelled sentences of a file.
fn read(spec: &Spec, file: &str, host: &mut Host<'_>) -> Result<Read, Fault> {
    let path = spec.path(file);
    let told = |e: corpus::readers::ReadError| {
        problem(&e, "task.data", "give a file of labelled sentences; `probity data list` lists the supported formats")
    };
    let mut seen: HashSet<String> = HashSet::new();
    let mut all: Vec<(String, String)> = Vec::new();
    let (mut twice, mut other, mut stopped) = (0usize, 0usize, false);
    let mut names: BTreeSet<String> = BTreeSet::new();
    Reading::open(&path)
        .map_err(told)?
        .rows(&mut |row, line| {
            match row {
                Row::Sentence(s) => match wanted(spec, &s, &mut names) {
                    Some(label) if seen.insert(s.text.to_string()) => {
                        all.push((s.text.to_string(), label));
                    }
                    Some(_) => twice += 1,
                    None => other += 1,
                },
                _ => other += 1,
            }
            stopped = line % 4_096 == 0 && host.poll().is_err();
            if stopped || all.len() >= MAX_SENTENCES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .map_err(told)?;
    if stopped {
        return Err(Cancelled.into());
    }
    if all.is_empty() && !names.is_empty() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let what = format!("its rows have several labels ({}), but none has the expected name", names.join(", "));
        let hint = "set `task.label` to one of them".into();
        return Err(Problem { what, r#where: "task.data".into(), hint }.into());
    }
    if twice + other > 0 {
        let what = format!("{} sentences are used; left out: {twice} repeated, {other} without a label", all.len());
        host.notice(NoticeLevel::Info, Problem { what, r#where: "task.data".into(), hint: String::new() })?;
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    all.iter().for_each(|(_, label)| {
        names.entry(label.clone()).or_insert(0);
    });
    let wrong = match names.len() {
        0 => Some("none of its rows is a sentence with a label".to_owned()),
        1 => {
            let only = names.keys().next().map_or("", String::as_str);
            Some(format!("all its sentences have the label `{}`: a probe needs two", shortened(only, 40)))
        }
        n if n > MAX_CLASSES => Some(format!("it has {n} different labels; at most {MAX_CLASSES} can be probed")),
        _ => None,
    };
    if let Some(what) = wrong {
        let hint =
            "choose a file with at least two different labels, or set `task.label` to another of its labels".into();
        return Err(Problem { what, r#where: "task.data".into(), hint }.into());
    }
    if let Some(problem) = lab::examples::case_notice(names.keys().map(String::as_str)) {
        host.notice(NoticeLevel::Warning, problem)?;
    }
    names.values_mut().enumerate().for_each(|(i, place)| *place = i);
    let labels = all.iter().map(|(_, label)| names[label]).collect();
    Ok((all.into_iter().map(|(text, _)| text).collect(), labels, names.into_keys().collect()))
}

/// Maximum number of special tokens per text. Every other token covers at least one byte of the text.
const FRAME: usize = 8;

/// Applies `task.long` to sentences that exceed an encoder's maximum length, and reports it. Returns the sentences and the number of long
/// ones.
fn fitting(
    spec: &Spec,
    first: bool,
    (texts, labels, names): Read,
    host: &mut Host<'_>,
) -> Result<(Read, usize), Fault> {
    let long = spec.task.long;
    let mut longer = vec![false; texts.len()];
    let sides = if spec.is_apart() { vec![first] } else { vec![true, false] };
    let mut encoders: Vec<&str> = sides.into_iter().map(|side| spec.encoder(side)).collect();
    encoders.dedup();
    for name in encoders {
        let model = host.model(name)?;
        let (tokenizer, most) = (model.tokenizer()?, model.arch().max_positions);
        let mut count = 0;
        for (i, text) in texts.iter().enumerate().filter(|(_, t)| t.len() + FRAME > most) {
            if i % 256 == 0 {
                host.poll()?;
            }
            if tokenizer.ids(text)?.len() > most {
                longer[i] = true;
                count += 1;
            }
        }
        if count > 0 {
            let all = texts.len();
            let what = format!(
                "{count} of {all} sentences exceed the maximum of {most} tokens of {name}: they {}",
                long.done()
            );
            let hint = "to change this, set `task.long` to `drop`, `truncate` or `window`".into();
            host.notice(NoticeLevel::Info, Problem { what, r#where: "task.data".into(), hint })?;
        }
    }
    let count = longer.iter().filter(|longer| **longer).count();
    if long != Long::Drop {
        return Ok(((texts, labels, names), count));
    }
    let kept = texts.into_iter().zip(labels).zip(longer).filter(|(_, longer)| !longer).map(|(sentence, _)| sentence);
    let (texts, labels) = kept.unzip();
    Ok(((texts, labels, names), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_tested_once_and_trained_on_in_four_folds() {
        let texts: Vec<String> = (0..120).map(|i| format!("s{i}")).collect();
        let labels: Vec<usize> = (0..120).map(|i| i % 2).collect();
        let s = Sentences::split(texts, labels, &numbered(2), (Ratio::PAPER, 40), 3, vec![]).unwrap();
        let folds: Vec<Drawn> = (0..FOLDS).map(|i| s.fold(40, i)).collect();
        for fold in &folds {
            assert_eq!(fold.parts.iter().map(Vec::len).collect::<Vec<_>>(), [80, 20, 20]);
            let mut rows = fold.parts.concat();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), 120);
        }
        let mut tested: Vec<usize> = folds.iter().flat_map(|f| f.parts[2].clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..120).collect::<Vec<_>>());
        assert_eq!(folds[0].parts[2], folds[1].parts[1]);
    }

    /// At every size and in every fold, a probed word is in training or test, never in both.
    #[test]
    fn grouped_words_stay_in_one_part_and_fold() {
        let task = ProbingTask::named("subj_number").unwrap();
        for size in [16usize, 37, 128] {
            let n = size.div_ceil(4).next_multiple_of(2) * FOLDS * 2;
            let set = task.examples(n, 9).unwrap();
            let folds: Vec<usize> = set.examples.iter().map(|e| e.group.unwrap() / 2).collect();
            let (texts, labels) = set.examples.into_iter().map(|e| (e.text, e.label)).unzip();
            let s = Sentences::split(texts, labels, &numbered(2), (Ratio::PAPER, size), 9, folds.clone()).unwrap();
            for smaller in [16, size] {
                let drawn = s.drawn(smaller);
                assert_eq!(drawn.parts.each_ref().map(Vec::len), Ratio::PAPER.parts(smaller).map(|n| 2 * n));
                let of = |part: &[usize]| part.iter().map(|r| folds[*r]).collect::<HashSet<_>>();
                assert_eq!(drawn.parts.each_ref().map(|p| of(p)), [[0, 1, 2, 3].into(), [4].into(), [5].into()]);
                for i in 0..FOLDS {
                    let fold = s.fold(smaller, i);
                    let quarter = 2 * (smaller / 4);
                    assert_eq!(fold.parts.each_ref().map(Vec::len), [4 * quarter, quarter, quarter]);
                    let test = of(&fold.parts[2]);
                    assert_eq!(test.len(), 1);
                    assert!(of(&fold.parts[0]).is_disjoint(&test) && of(&fold.parts[1]).is_disjoint(&test));
                }
            }
        }
    }

    #[test]
    fn control_labels_are_balanced_and_independent_of_the_task() {
        let texts: Vec<String> = (0..1_200).map(|i| format!("s{i}")).collect();
        let labels: Vec<usize> = (0..1_200).map(|i| i % 2).collect();
        let s = Sentences::split(texts, labels, &numbered(2), (Ratio::PAPER, 400), 3, vec![]).unwrap();
        let drawn = s.drawn(400);
        let control = s.controlled(&drawn, 1);
        assert_eq!(control, s.controlled(&drawn, 1));
        for part in &drawn.parts {
            assert_eq!(part.iter().filter(|r| control.labels[**r] == 0).count() * 2, part.len());
        }
        let same = (0..1_200).filter(|i| s.labels[*i] == control.labels[*i]).count();
        // The tolerance is five standard deviations of a fair coin.
        assert!((same as f64 - 600.0).abs() < 87.0, "{same}");
    }

    #[test]
    fn parts_are_disjoint_and_sizes_are_nested() {
        let texts: Vec<String> = (0..400).map(|i| format!("s{i}")).collect();
        let labels: Vec<usize> = (0..400).map(|i| i % 2).collect();
        let names = numbered(2);
        let s = Sentences::split(texts.clone(), labels.clone(), &names, (Ratio::PAPER, 128), 3, vec![]).unwrap();
        let (small, large) = (s.drawn(32), s.drawn(128));
        assert_eq!(large.parts.iter().map(Vec::len).collect::<Vec<_>>(), [256, 64, 64]);
        let mut rows = large.parts.concat();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 384);
        for (a, b) in small.parts.iter().zip(&large.parts) {
            assert!(a.iter().all(|r| b.contains(r)));
            assert_eq!(a.iter().filter(|r| labels[**r] == 0).count() * 2, a.len());
        }
        let error = Sentences::split(texts, labels, &names, (Ratio::PAPER, 200), 3, vec![]).unwrap_err().to_string();
        assert!(error.contains("has 200 sentences"), "{error}");
    }
}

//! Rationales marked by the user: text format (the benchmark's) and agreement between two annotators.
//!
//! The benchmark's annotators chose a word to mask and rated their confidence that it is the only possible answer (1 to 4). They marked the
//! sufficient tokens, then scored each rationale for sufficiency (1 to 3) and compactness (1 to 4) (Shen et al. 2022, sections 3.2 and
//! 3.4).

pub mod masks;
pub mod rounds;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::finding::{Sample, SentenceFinding};
use base::text::{printable_label, shortened};
use stats::estimate::Estimate;
use stats::paired::{jackknife, mean_within};

/// Maximum sufficiency score; the minimum is 1.
pub const MOST_SUFFICIENT: u8 = 3;
/// Maximum compactness score; the minimum is 1.
pub const MOST_COMPACT: u8 = 4;
/// Maximum confidence that an answer is the only possible one; the minimum is 1.
pub const MOST_CONFIDENT: u8 = 4;

/// Marks of one annotator in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The sentence with its original gold rationales.
    line: Line,
    pub rationale: BTreeSet<usize>,
    /// Pairs (word in the original, word in this sentence); `None` if not aligned.
    pub alignment: Option<BTreeSet<(usize, usize)>>,
    /// Score from 1 to [`MOST_SUFFICIENT`]: is the rationale sufficient for the answer?
    pub sufficiency: Option<u8>,
    /// Score from 1 to [`MOST_COMPACT`]: is the rationale free of superfluous words?
    pub compactness: Option<u8>,
    /// Confidence from 1 to [`MOST_CONFIDENT`] that the answer is the only possible one.
    pub confidence: Option<u8>,
}

/// An identifier as spelled in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "an identifier must be a string or an integer")]
enum Id {
    Number(u64),
    Text(String),
}

impl Id {
    /// Parses an identifier; a number remains a number, as in the benchmark.
    fn of(text: &str) -> Self {
        match text.parse() {
            Ok(number) if text == format!("{number}") => Id::Number(number),
            _ => Id::Text(text.to_owned()),
        }
    }

    fn text(&self) -> String {
        match self {
            Id::Number(number) => number.to_string(),
            Id::Text(text) => text.clone(),
        }
    }
}

/// A line of the file: the keys of the benchmark's gold rationales, the scores, and the round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "a JSON object with sent_id and sent_token")]
struct Line {
    sent_id: Id,
    #[serde(default = "original")]
    sample_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    perturbation: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    dimension: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    sent_text: String,
    sent_token: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask_index: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_answers: Vec<String>,
    #[serde(default)]
    rationale_ids: Vec<usize>,
    #[serde(default)]
    rationale_tokens: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rel_ids: Vec<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ori_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alignment: Option<Vec<(usize, usize)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sufficiency: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compactness: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confidence: Option<u8>,
    /// Answers whose masks failed an earlier round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
    /// Round of a returned rationale; absent in the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u8>,
}

/// Default type of a sentence.
fn original() -> String {
    "ori".into()
}

impl Annotation {
    /// The initial marks of a sentence: its first gold rationale and its alignment.
    pub fn of(sentence: &SentenceFinding) -> Self {
        let perturbed = sentence.sample == Sample::Perturbed;
        let line = Line {
            sent_id: Id::of(&sentence.sentence),
            sample_type: if perturbed { "disturb".into() } else { original() },
            perturbation: sentence.perturbation.clone(),
            dimension: sentence.dimension.clone(),
            sent_text: sentence.text.clone(),
            sent_token: sentence.words.clone(),
            mask_index: sentence.masks.first().copied(),
            answer: sentence.answer.clone(),
            other_answers: sentence.other_answers.clone(),
            rationale_ids: Vec::new(),
            rationale_tokens: Vec::new(),
            rel_ids: sentence.partners.iter().map(|p| Id::of(p)).collect(),
            ori_id: sentence.original.as_deref().map(Id::of),
            alignment: None,
            sufficiency: None,
            compactness: None,
            confidence: None,
            refused: Vec::new(),
            round: None,
        };
        Self {
            line,
            rationale: sentence.gold.first().into_iter().flatten().copied().collect(),
            alignment: sentence.alignment.as_ref().map(|pairs| pairs.iter().copied().collect()),
            sufficiency: None,
            compactness: None,
            confidence: None,
        }
    }

    pub fn sentence(&self) -> String {
        self.line.sent_id.text()
    }

    pub fn words(&self) -> &[String] {
        &self.line.sent_token
    }

    pub fn dimension(&self) -> &str {
        &self.line.dimension
    }

    /// The same annotation without scores and confidence, for the next annotator.
    pub fn unscored(&self) -> Self {
        Self { sufficiency: None, compactness: None, confidence: None, ..self.clone() }
    }

    /// Adds a word to the rationale, or removes it; the mask cannot be added. Returns false if nothing changes.
    pub fn toggle(&mut self, word: usize) -> bool {
        if self.line.mask_index == Some(word) || word >= self.line.sent_token.len() {
            return false;
        }
        if !self.rationale.remove(&word) {
            self.rationale.insert(word);
        }
        true
    }

    /// Aligns a word in the original with a word in this sentence, and removes earlier alignments of both. If the two are already aligned,
    /// removes their alignment.
    pub fn align(&mut self, original: usize, word: usize) {
        let pairs = self.alignment.get_or_insert_default();
        if pairs.remove(&(original, word)) {
            return;
        }
        pairs.retain(|(a, b)| *a != original && *b != word);
        pairs.insert((original, word));
    }

    fn line(&self) -> Line {
        Line {
            rationale_ids: self.rationale.iter().copied().collect(),
            rationale_tokens: self.rationale.iter().map(|w| self.line.sent_token[*w].clone()).collect(),
            alignment: self.alignment.as_ref().map(|pairs| pairs.iter().copied().collect()),
            sufficiency: self.sufficiency,
            compactness: self.compactness,
            confidence: self.confidence,
            ..self.line.clone()
        }
    }
}

/// Formats annotations as JSON lines in the benchmark's schema.
pub fn write<'a>(annotations: impl Iterator<Item = &'a Annotation>) -> String {
    annotations.map(|a| serde_json::to_string(&a.line()).map_or(String::new(), |line| line + "\n")).collect()
}

/// Parses the output of [`write()`] or the benchmark's gold rationales.
///
/// # Errors
/// A message that names the first unusable line and the reason.
pub fn read(text: &str) -> Result<Vec<Annotation>, String> {
    let mut seen: BTreeMap<(String, Option<BTreeSet<usize>>), usize> = BTreeMap::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = lines.map(|(at, line)| {
        let found = read_line(line).map_err(|why| format!("line {}: {why}", at + 1))?;
        // An annotator may mark a sentence only once; a checker may score several rationales for it.
        let scored = found.sufficiency.is_some() || found.compactness.is_some();
        let what = (found.sentence(), scored.then(|| found.rationale.clone()));
        match seen.insert(what, at + 1) {
            None => Ok(found),
            Some(first) => {
                let id = printable_label(&found.sentence());
                Err(format!("line {}: sentence {id} is already in line {first}; keep one of the two", at + 1))
            }
        }
    });
    read.collect()
}

fn read_line(text: &str) -> Result<Annotation, String> {
    let line: Line = serde_json::from_str(text).map_err(|e| shortened(&e.to_string(), 200))?;
    let words = line.sent_token.len();
    let rationale: BTreeSet<usize> = line.rationale_ids.iter().copied().collect();
    if let Some(word) = rationale.iter().chain(&line.mask_index).find(|w| **w >= words) {
        return Err(format!("a rationale or mask names token {word}, but there are only {words} tokens"));
    }
    let score = |name: &str, score: Option<u8>, most: u8| match score {
        Some(s) if !(1..=most).contains(&s) => Err(format!("{name} is {s}; scores are 1 to {most}")),
        score => Ok(score),
    };
    let sufficiency = score("sufficiency", line.sufficiency, MOST_SUFFICIENT)?;
    let compactness = score("compactness", line.compactness, MOST_COMPACT)?;
    let confidence = score("confidence", line.confidence, MOST_CONFIDENT)?;
    let alignment: Option<BTreeSet<_>> = line.alignment.as_ref().map(|pairs| pairs.iter().copied().collect());
    if let Some((_, word)) = alignment.iter().flatten().find(|(_, b)| *b >= words) {
        return Err(format!("an alignment names token {word}, but there are only {words} tokens"));
    }
    Ok(Annotation { line, rationale, alignment, sufficiency, compactness, confidence })
}

#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// Number of sentences annotated by both annotators.
    pub sentences: usize,
    /// Numbers of sentences annotated by only the first or only the second annotator.
    pub alone: (usize, usize),
    /// Number of sentences left out because they have the same identifier but different words.
    pub differing: usize,
    /// Number of compared words, without masks.
    pub words: usize,
    /// Share of words that both annotators mark alike.
    pub alike: f64,
    /// Cohen's kappa of the marks over all words; `None` if chance agreement is complete.
    pub kappa: Option<Estimate>,
    /// Token-F1 of the two rationales against each other, averaged over sentences; 1 if both are empty.
    pub token_f1: Estimate,
    /// Kappa for the sufficiency scores, with the number of sentences scored by both annotators.
    pub sufficiency: (Option<f64>, usize),
    /// Kappa for the compactness scores, with the number of sentences scored by both annotators.
    pub compactness: (Option<f64>, usize),
}

/// Number of words in one sentence marked by both annotators, only the first, only the second, and neither.
#[derive(Clone, Copy)]
struct Marks {
    both: usize,
    first: usize,
    second: usize,
    neither: usize,
}

impl Marks {
    fn new(a: &Annotation, b: &Annotation) -> Self {
        let all = a.words().len() - usize::from(a.line.mask_index.is_some());
        let both = a.rationale.intersection(&b.rationale).count();
        let (first, second) = (a.rationale.len() - both, b.rationale.len() - both);
        Self { both, first, second, neither: all.saturating_sub(both + first + second) }
    }

    /// F1 is symmetric, so either annotator may serve as the reference.
    fn f1(self) -> f64 {
        let sizes = 2 * self.both + self.first + self.second;
        if sizes == 0 { 1.0 } else { 2.0 * self.both as f64 / sizes as f64 }
    }
}

/// Agreement between two annotators on the sentences that both annotated, with Student's t intervals over sentences.
///
/// # Errors
/// A message with the reason why nothing can be compared.
pub fn agreement(a: &[Annotation], b: &[Annotation], level: f64) -> Result<Agreement, String> {
    let second: BTreeMap<String, &Annotation> = b.iter().map(|x| (x.sentence(), x)).collect();
    let first: BTreeMap<String, &Annotation> = a.iter().map(|x| (x.sentence(), x)).collect();
    let shared: Vec<(&Annotation, &Annotation)> =
        first.iter().filter_map(|(id, x)| Some((*x, *second.get(id)?))).collect();
    let alone = (first.len() - shared.len(), second.len() - shared.len());
    let same: Vec<(&Annotation, &Annotation)> = shared.iter().copied().filter(|(a, b)| a.asks_as(b)).collect();
    let differing = shared.len() - same.len();
    if same.is_empty() {
        return Err(format!("the files share no sentence with the same words ({differing} have different words)"));
    }
    let marks: Vec<Marks> = same.iter().map(|(a, b)| Marks::new(a, b)).collect();
    let scores = |of: fn(&Annotation) -> Option<u8>| {
        let pairs: Vec<(u8, u8)> = same.iter().filter_map(|(a, b)| Some((of(a)?, of(b)?))).collect();
        (kappa_of(&pairs), pairs.len())
    };
    let table = marks.iter().fold([0; 4], add);
    Ok(Agreement {
        sentences: same.len(),
        alone,
        differing,
        words: table.iter().sum(),
        alike: (table[0] + table[3]) as f64 / table.iter().sum::<usize>().max(1) as f64,
        kappa: kappa_of_sentences(&marks, level),
        token_f1: mean_within(&marks.iter().map(|m| m.f1()).collect::<Vec<_>>(), (0.0, 1.0), level),
        sufficiency: scores(|a| a.sufficiency),
        compactness: scores(|a| a.compactness),
    })
}

fn add(sum: [usize; 4], m: &Marks) -> [usize; 4] {
    [sum[0] + m.both, sum[1] + m.first, sum[2] + m.second, sum[3] + m.neither]
}

/// Cohen's kappa from the numbers of words marked by both annotators, only the first, only the second, and neither: (observed − chance) /
/// (1 − chance).
fn kappa(table: [usize; 4]) -> Option<f64> {
    let [both, first, second, neither] = table.map(|x| x as f64);
    let n = both + first + second + neither;
    let chance = ((both + first) * (both + second) + (neither + first) * (neither + second)) / (n * n);
    let alike = (both + neither) / n;
    (n > 0.0 && chance < 1.0).then(|| (alike - chance) / (1.0 - chance))
}

/// Cohen's kappa for pairs of categories; `None` without pairs, or if both annotators always give the same category.
fn kappa_of(pairs: &[(u8, u8)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let (mut first, mut second) = (BTreeMap::new(), BTreeMap::new());
    for (a, b) in pairs {
        *first.entry(*a).or_insert(0.0) += 1.0;
        *second.entry(*b).or_insert(0.0) += 1.0;
    }
    let chance: f64 = first.iter().filter_map(|(c, k): (&u8, &f64)| Some(k * second.get(c)?)).sum::<f64>() / (n * n);
    let alike = pairs.iter().filter(|(a, b)| a == b).count() as f64 / n;
    (n > 0.0 && chance < 1.0).then(|| (alike - chance) / (1.0 - chance))
}

/// Kappa with a jackknife interval over sentences that uses Student's t.
fn kappa_of_sentences(marks: &[Marks], level: f64) -> Option<Estimate> {
    let table = marks.iter().fold([0; 4], add);
    let others = marks.iter().map(|m| {
        let own = add([0; 4], m);
        kappa(std::array::from_fn(|c| table[c] - own[c]))
    });
    Some(jackknife(kappa(table)?, &others.collect::<Vec<_>>(), (-1.0, 1.0), level))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(id: &str, words: &[&str], mask: usize, gold: &[usize]) -> SentenceFinding {
        SentenceFinding {
            sentence: id.into(),
            dimension: "grammar".into(),
            sample: Sample::Original,
            perturbation: None,
            original: None,
            partners: vec!["8".into()],
            text: words.join(" "),
            words: words.iter().map(|w| (*w).to_owned()).collect(),
            spans: Vec::new(),
            masks: vec![mask],
            gold: vec![gold.to_vec()],
            answer: Some("are".into()),
            other_answers: vec!["were".into()],
            alignment: None,
        }
    }

    const KEYS: [&str; 4] = ["The", "钥匙", "[MASK]", "\u{202e}here"];

    fn marked(id: &str, gold: &[usize]) -> Annotation {
        Annotation::of(&sentence(id, &KEYS, 2, gold))
    }

    #[test]
    fn annotations_round_trip_in_benchmark_keys() {
        let mut one = marked("7", &[1]);
        assert!(one.toggle(3) && one.toggle(1) && one.toggle(1));
        assert!(!one.toggle(2), "the mask cannot be part of its rationale");
        assert!(!one.toggle(4), "there is no such word");
        (one.sufficiency, one.compactness) = (Some(3), Some(1));
        let mut two = marked("x-07", &[]);
        two.align(0, 1);
        two.align(1, 1);
        two.align(3, 3);
        two.align(3, 3);
        assert_eq!(two.alignment, Some(BTreeSet::from([(1, 1)])));
        let text = write([&one, &two].into_iter());
        assert_eq!(text.lines().count(), 2);
        assert!(text.starts_with(r#"{"sent_id":7,"sample_type":"ori","dimension":"grammar","#), "{text}");
        assert!(text.contains(r#""rationale_ids":[1,3],"rationale_tokens":["钥匙","#), "{text}");
        assert!(text.contains(r#""sent_id":"x-07""#) && text.contains(r#""alignment":[[1,1]]"#), "{text}");
        let back = read(&text).unwrap();
        assert_eq!((&back[0].rationale, back[0].sufficiency), (&one.rationale, Some(3)));
        assert_eq!((back[1].sentence(), &back[1].alignment), ("x-07".into(), &two.alignment));
        assert_eq!(write(back.iter()), text);
    }

    #[test]
    fn gold_rationale_reader_accepts_annotations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.jsonl");
        std::fs::write(&path, write([&marked("7", &[1])].into_iter())).unwrap();
        assert_eq!(corpus::readers::sniff(&path).unwrap().id, "rationale");
    }

    #[test]
    fn unusable_lines_are_named() {
        let good = write([&marked("7", &[1])].into_iter());
        for (bad, part) in [
            (good.replace("[1]", "[9]"), "token 9, but there are only 4"),
            (good.replace("\"answer\"", "\"sufficiency\":4,\"answer\""), "sufficiency is 4"),
            (good.replace("\"answer\"", "\"alignment\":[[0,7]],\"answer\""), "an alignment names token 7"),
            ("{}\n".into(), "missing field"),
            ("\u{1b}[2J".into(), "line 2"),
        ] {
            let error = read(&format!("\n{bad}")).unwrap_err();
            assert!(error.starts_with("line 2: ") && error.contains(part), "{error}");
            assert!(!error.contains('\u{1b}'));
        }
        assert_eq!(read("\n \n").unwrap(), []);
    }

    /// Ten words without the mask: 2 marked by both, 1 only by the first, 1 only by the second, 6 by neither. The observed agreement is .8,
    /// and the agreement by chance is .3 · .3 + .7 · .7 = .58, so kappa is (.8 − .58) / .42 = .5238.
    #[test]
    fn kappa_and_f1_match_hand_computation() {
        let words: Vec<String> = (0..11).map(|k| format!("w{k}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let of = |gold: &[usize]| vec![Annotation::of(&sentence("1", &words, 10, gold))];
        let found = agreement(&of(&[0, 1, 2]), &of(&[0, 1, 3]), 0.95).unwrap();
        assert!((found.kappa.unwrap().mean - 0.22 / 0.42).abs() < 1e-12, "{found:?}");
        assert!((found.token_f1.mean - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!((found.words, found.sentences, found.alone), (10, 1, (0, 0)));
        assert!((found.alike - 0.8).abs() < 1e-12);
        let alike = agreement(&of(&[4]), &of(&[4]), 0.95).unwrap();
        assert_eq!((alike.kappa.unwrap().mean, alike.token_f1.mean), (1.0, 1.0));
        let empty = agreement(&of(&[]), &of(&[]), 0.95).unwrap();
        assert_eq!((empty.kappa, empty.token_f1.mean), (None, 1.0));
        let apart = agreement(&of(&[0, 1, 2, 3, 4]), &of(&[5, 6, 7, 8, 9]), 0.95).unwrap();
        assert_eq!((apart.kappa.unwrap().mean, apart.token_f1.mean), (-1.0, 0.0));
    }

    #[test]
    fn only_common_sentences_are_compared() {
        let other = Annotation::of(&sentence("3", &["Other", "words"], 1, &[0]));
        let (mut a, mut b) = (marked("1", &[1]), marked("1", &[0, 1]));
        (a.sufficiency, b.sufficiency) = (Some(1), Some(2));
        let first = [a, marked("2", &[]), marked("3", &[])];
        let second = [b, other, marked("4", &[]), marked("5", &[])];
        let found = agreement(&first, &second, 0.95).unwrap();
        assert_eq!((found.sentences, found.alone, found.differing), (1, (1, 2), 1));
        assert_eq!(found.sufficiency, (Some(0.0), 1), "the only pair differs, and chance agreement is 0");
        assert_eq!(found.compactness, (None, 0));
        assert!(agreement(&first, &second[1..], 0.95).unwrap_err().contains("1 have different words"));
        let f1 = found.token_f1;
        assert!(f1.lo <= f1.mean && f1.mean <= f1.hi);
    }
}

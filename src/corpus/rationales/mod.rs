//! The built-in rationale benchmark: sentences with a masked word, the tokens that suffice to predict it, and perturbed partners.
//!
//! The five dimensions and three perturbations follow "An Interpretability Benchmark for PLMs" (sections 3.1 to 3.4). Answers and
//! rationales come from templates (`assets/rationales/*.toml`), not from annotators. The English set is for built-in models and the user's
//! own, the Chinese set only for the user's own. Each line is a JSON object with the field names of the authors' public gold format.

mod check;
mod template;
pub mod training;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::template::Book;
use super::task::MASK;
use base::packed;
use base::packed::Packed;
use stats::rng::stream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Words separated by spaces.
    English,
    /// Words written without spaces.
    Chinese,
}

impl Language {
    pub const ALL: [Language; 2] = [Language::English, Language::Chinese];

    /// Language code: `en`, `zh`.
    pub fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh",
        }
    }

    fn templates(self) -> Packed {
        match self {
            Language::English => packed!("rationales/en.toml"),
            Language::Chinese => packed!("rationales/zh.toml"),
        }
    }
}

/// Kind of knowledge needed to predict the masked word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Number, tense, gender and form.
    Grammar,
    /// Word meaning, entity types and coreference.
    Semantics,
    /// Facts about the world.
    Knowledge,
    /// Cause and effect.
    Reasoning,
    /// Small sums.
    Computation,
}

impl Dimension {
    /// All five dimensions, in the paper's order.
    pub const ALL: [Dimension; 5] =
        [Dimension::Grammar, Dimension::Semantics, Dimension::Knowledge, Dimension::Reasoning, Dimension::Computation];
}

/// Kind of perturbation that distinguishes a partner from its original (section 3.3 of the paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Perturbation {
    /// Dispensable: irrelevant words are inserted, deleted or replaced.
    Dispens,
    /// Important: relevant words are replaced by related ones.
    Import,
    /// Syntactic transformation with the same meaning.
    Trans,
}

impl Perturbation {
    /// All three perturbations, in the paper's order.
    pub const ALL: [Perturbation; 3] = [Perturbation::Dispens, Perturbation::Import, Perturbation::Trans];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SampleType {
    #[serde(rename = "ori")]
    Original,
    #[serde(rename = "disturb")]
    Perturbed,
}

/// One sentence with a masked word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Number within the language.
    pub sent_id: u64,
    pub sample_type: SampleType,
    /// Kind of perturbation, for partners.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub perturbation: Option<Perturbation>,
    pub dimension: Dimension,
    /// The written sentence, which contains [`MASK`] once.
    pub sent_text: String,
    /// Tokens of the sentence, one per word.
    pub sent_token: Vec<String>,
    pub mask_index: usize,
    /// The masked word.
    pub answer: String,
    /// Other words that fit equally well, since the gold answer is a set.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_answers: Vec<String>,
    /// True if the answer needs several masks: built-in vocabularies split it (English), or it has several characters (Chinese). Every
    /// other answer is a single token or character.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub several_tokens: bool,
    /// Token indices of the rationale, ascending, without the mask.
    pub rationale_ids: Vec<usize>,
    pub rationale_tokens: Vec<String>,
    /// Partners of an original.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rel_ids: Vec<u64>,
    /// Original of a partner.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ori_id: Option<u64>,
    /// Pairs (index in the original, index in the partner) from a case-insensitive longest common subsequence; ties prefer deletions.
    /// Replaced words are not aligned. Empty for syntactic transformations; `None` for originals.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alignment: Option<Vec<(usize, usize)>>,
}

impl Instance {
    /// Returns the sentence with `word` in place of the mask, and the character range of the word (end exclusive).
    pub fn with(&self, word: &str) -> (String, (usize, usize)) {
        let (before, after) = self.sent_text.split_once(MASK).unwrap_or((&self.sent_text, ""));
        let from = before.chars().count();
        (format!("{before}{word}{after}"), (from, from + word.chars().count()))
    }

    pub fn answers(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.answer).chain(&self.other_answers).map(String::as_str)
    }

    /// True if the whole rationale precedes the mask, so that left-to-right models can predict the answer.
    pub fn is_settled_before(&self) -> bool {
        self.rationale_ids.iter().all(|&at| at < self.mask_index)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("assets/rationales/{file}.toml, template '{template}': {what}")]
pub struct TemplateError {
    /// Language code.
    pub file: &'static str,
    /// Name of the template; empty if the file itself cannot be read.
    pub template: String,
    pub what: String,
}

/// Generates the benchmark of one language. The seed determines the free slots. Each original is followed by its partners.
///
/// # Errors
/// [`TemplateError`] for an unusable template; a test checks the shipped ones.
pub fn benchmark(language: Language, seed: u64) -> Result<Vec<Instance>, TemplateError> {
    let book = Book::parse(language)?;
    let mut instances = Vec::new();
    for template in &book.templates {
        let mut rng = stream(seed, &format!("rationales {} {}", language.code(), template.name));
        for group in template.groups(language, &mut rng)? {
            let id = instances.len() as u64;
            let partners = group.len() as u64 - 1;
            for (k, mut instance) in group.into_iter().enumerate() {
                instance.sent_id = id + k as u64;
                match instance.sample_type {
                    SampleType::Original => instance.rel_ids = (id + 1..=id + partners).collect(),
                    SampleType::Perturbed => instance.ori_id = Some(id),
                }
                instances.push(instance);
            }
        }
    }
    Ok(instances)
}

/// Returns the shipped English benchmark (seed 0), which is created once and shared.
///
/// # Errors
/// [`TemplateError`] for an unusable template.
pub fn shipped() -> Result<&'static [Instance], TemplateError> {
    static MADE: OnceLock<Result<Vec<Instance>, TemplateError>> = OnceLock::new();
    MADE.get_or_init(|| benchmark(Language::English, 0)).as_deref().map_err(Clone::clone)
}

/// Returns every gold answer in the English benchmark that must be a single token in the built-in models.
///
/// # Errors
/// [`TemplateError`] for an unusable template.
pub fn one_token_answers() -> Result<BTreeSet<String>, TemplateError> {
    let one_token = shipped()?.iter().filter(|i| !i.several_tokens);
    Ok(one_token.flat_map(Instance::answers).map(str::to_owned).collect())
}

/// Returns every word in the English benchmark, including the answers.
///
/// # Errors
/// [`TemplateError`] for an unusable template.
pub fn words() -> Result<BTreeSet<String>, TemplateError> {
    let tokens = shipped()?.iter().flat_map(|i| i.sent_token.iter().filter(|t| *t != MASK).chain([&i.answer]));
    Ok(tokens.filter(|t| t.chars().any(char::is_alphabetic)).cloned().collect())
}

/// Returns the index pairs of a case-insensitive longest common subsequence; ties delete from `a` first.
pub fn align(a: &[String], b: &[String]) -> Vec<(usize, usize)> {
    let fold = |list: &[String]| list.iter().map(|t| t.to_lowercase()).collect::<Vec<_>>();
    let (a, b) = (fold(a), fold(b));
    let width = b.len() + 1;
    let mut longest = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if a[i] == b[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut pairs, mut i, mut j) = (Vec::new(), 0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests;

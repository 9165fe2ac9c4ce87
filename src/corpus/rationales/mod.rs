//! The built-in rationale benchmark: masked words, the tokens that are enough to find them, and perturbed partners.
//!
//! Five dimensions and three kinds of perturbation as in "An Interpretability Benchmark for PLMs" (sections 3.1 to
//! 3.4), but generated, so that answers and rationales follow from the templates (`assets/rationales/*.toml`) and not
//! from annotators. English for built-in and user models, Chinese for user models. One JSON object per line, with the
//! field names of the public gold format of the benchmark's authors.

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

/// A language of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English; a blank between words.
    English,
    /// Chinese; tokens are words, written without blanks.
    Chinese,
}

impl Language {
    /// Both languages.
    pub const ALL: [Language; 2] = [Language::English, Language::Chinese];

    /// Two letters: `en`, `zh`.
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

/// Knowledge that a masked word requires of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Number, tense, gender, form.
    Grammar,
    /// Word meaning, entity types, coreference.
    Semantics,
    /// Facts about the world.
    Knowledge,
    /// Cause and effect.
    Reasoning,
    /// Small sums.
    Computation,
}

impl Dimension {
    /// All five, in the order of the paper.
    pub const ALL: [Dimension; 5] =
        [Dimension::Grammar, Dimension::Semantics, Dimension::Knowledge, Dimension::Reasoning, Dimension::Computation];
}

/// Difference of a partner from its original (section 3.3 of the paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Perturbation {
    /// Words that should not matter are inserted, deleted or replaced.
    Dispens,
    /// Words that matter are replaced by related ones.
    Import,
    /// Another syntactic form of the same meaning.
    Trans,
}

impl Perturbation {
    /// All three, in the order of the paper.
    pub const ALL: [Perturbation; 3] = [Perturbation::Dispens, Perturbation::Import, Perturbation::Trans];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SampleType {
    #[serde(rename = "ori")]
    Original,
    /// A perturbed partner.
    #[serde(rename = "disturb")]
    Perturbed,
}

/// One sentence with a masked word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Its number within the language.
    pub sent_id: u64,
    /// Original or partner.
    pub sample_type: SampleType,
    /// Kind of a partner.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub perturbation: Option<Perturbation>,
    pub dimension: Dimension,
    /// The sentence as written, with [`MASK`] once.
    pub sent_text: String,
    /// Its word tokens.
    pub sent_token: Vec<String>,
    pub mask_index: usize,
    /// The masked word.
    pub answer: String,
    /// Other words that fit the mask as well: the gold answer is a set.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_answers: Vec<String>,
    /// True if the answer needs several masks: in English the built-in vocabularies split it, in Chinese it has several
    /// characters. All other answers are one token, or one character.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub several_tokens: bool,
    /// Indices of the rationale, ascending; never the mask's.
    pub rationale_ids: Vec<usize>,
    /// The tokens there.
    pub rationale_tokens: Vec<String>,
    /// The partners of an original.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rel_ids: Vec<u64>,
    /// The original of a partner.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ori_id: Option<u64>,
    /// Pairs (index in the original, index in the partner) of a case-insensitive longest common subsequence; ties
    /// prefer deletions. Replaced words stay unaligned. Empty for originals and syntactic transformations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alignment: Option<Vec<(usize, usize)>>,
}

impl Instance {
    /// The sentence as written with a word in place of its mask, and the word's first and last-plus-one character.
    pub fn with(&self, word: &str) -> (String, (usize, usize)) {
        let (before, after) = self.sent_text.split_once(MASK).unwrap_or((&self.sent_text, ""));
        let from = before.chars().count();
        (format!("{before}{word}{after}"), (from, from + word.chars().count()))
    }

    /// The gold answers.
    pub fn answers(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.answer).chain(&self.other_answers).map(String::as_str)
    }

    /// True if all of the rationale precedes the mask, so that a left-to-right model can find the answer.
    pub fn is_settled_before(&self) -> bool {
        self.rationale_ids.iter().all(|&at| at < self.mask_index)
    }
}

/// A template that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("assets/rationales/{file}.toml, template '{template}': {what}")]
pub struct TemplateError {
    /// Language code.
    pub file: &'static str,
    /// Name of the template; empty if the file itself cannot be read.
    pub template: String,
    /// The fault, in words.
    pub what: String,
}

/// The benchmark of one language under a seed, which determines the free fillings. Originals come first in each
/// template, every one followed by its partners.
///
/// # Errors
/// [`TemplateError`] for a template that cannot be used; a test keeps the shipped ones from that.
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

/// The English benchmark of seed 0, which ships; created once and shared.
///
/// # Errors
/// [`TemplateError`] for a template that cannot be used.
pub fn shipped() -> Result<&'static [Instance], TemplateError> {
    static MADE: OnceLock<Result<Vec<Instance>, TemplateError>> = OnceLock::new();
    MADE.get_or_init(|| benchmark(Language::English, 0)).as_deref().map_err(Clone::clone)
}

/// Every gold answer of the English benchmark that must be one token in the built-in models, without repetition.
///
/// # Errors
/// [`TemplateError`] for a template that cannot be used.
pub fn one_token_answers() -> Result<BTreeSet<String>, TemplateError> {
    let one_token = shipped()?.iter().filter(|i| !i.several_tokens);
    Ok(one_token.flat_map(Instance::answers).map(str::to_owned).collect())
}

/// Every word of the sentences of the English benchmark with their answers, without repetition.
///
/// # Errors
/// [`TemplateError`] for a template that cannot be used.
pub fn words() -> Result<BTreeSet<String>, TemplateError> {
    let tokens = shipped()?.iter().flat_map(|i| i.sent_token.iter().filter(|t| *t != MASK).chain([&i.answer]));
    Ok(tokens.filter(|t| t.chars().any(char::is_alphabetic)).cloned().collect())
}

/// Pairs of a longest common subsequence without regard to case; among equals a deletion from `a` comes first.
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

//! Templates: sentences with slots and marked tokens, and how they are filled.

use std::collections::{BTreeMap, HashSet};

use rand_chacha::rand_core::Rng;
use serde::Deserialize;

use super::{Dimension, Instance, Language, MASK, Perturbation, SampleType, TemplateError, align, check};
use crate::micro::arithmetic::NUMBERS;
use stats::rng::below;

/// Maximum number of attempts to find a new filling. An attempt fails if it repeats an earlier filling, if a number has no word, or if the
/// result equals a given number.
const TRIES: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Book {
    /// Templates in file order.
    #[serde(rename = "template")]
    pub templates: Vec<Template>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Template {
    pub dimension: Dimension,
    /// Name of the template, which also seeds its random stream.
    pub name: String,
    /// Description of the tokens that careful readers would mark.
    rule: String,
    answer: String,
    /// Other words that fit.
    #[serde(default)]
    also: Vec<String>,
    /// True if the answer occurs elsewhere in the sentence.
    #[serde(default)]
    from_text: bool,
    /// True if built-in models split the answer into several tokens.
    #[serde(default)]
    several_tokens: bool,
    original: String,
    dispens: Option<String>,
    import: Option<String>,
    trans: Option<String>,
    /// Names of the slots filled from one row.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Values of `columns`.
    #[serde(default)]
    pub rows: Vec<Vec<String>>,
    /// Values of slots that are filled independently.
    #[serde(default)]
    pub free: BTreeMap<String, Vec<String>>,
    /// Slots filled with number words.
    #[serde(default)]
    pub numbers: BTreeMap<String, Number>,
    instances: Option<usize>,
}

/// A whole number, either drawn from a range or computed from two others.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a number must be a range of two numbers, or a calculation such as \"a + b\"")]
pub(crate) enum Number {
    /// Minimum and maximum.
    Range([u32; 2]),
    /// `a + b`, `a - b` or `a * b`.
    Sum(String),
}

/// Number words from 0 to 20, like [`NUMBERS`] in English.
const CHINESE: [&str; 21] = [
    "零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二", "十三", "十四", "十五", "十六",
    "十七", "十八", "十九", "二十",
];

/// Returns the word for a number. The Chinese 2 has none, because it becomes 两 before a measure word.
fn word(language: Language, n: u32) -> Option<&'static str> {
    match language {
        Language::English => NUMBERS.get(n as usize).copied(),
        Language::Chinese => CHINESE.get(n as usize).copied().filter(|_| n != 2),
    }
}

/// Value of each slot.
pub(crate) type Filling<'a> = BTreeMap<&'a str, &'a str>;

impl Book {
    pub(crate) fn parse(language: Language) -> Result<Book, TemplateError> {
        let wrong = |what: String| TemplateError { file: language.code(), template: String::new(), what };
        let text = language.templates().text().map_err(|e| wrong(e.to_string()))?;
        toml::from_str(&text).map_err(|e| wrong(e.to_string()))
    }
}

impl Template {
    /// Returns all sentence patterns, the original first.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &str> {
        let partners = [&self.dispens, &self.import, &self.trans];
        std::iter::once(&self.original).chain(partners.into_iter().flatten()).map(String::as_str)
    }

    /// Generates originals, each followed by its partners: one original per row unless the template sets `instances`. No two originals have
    /// the same answer and rationale.
    pub(crate) fn groups(&self, language: Language, rng: &mut impl Rng) -> Result<Vec<Vec<Instance>>, TemplateError> {
        let wrong = |what: String| TemplateError { file: language.code(), template: self.name.clone(), what };
        if let Some(row) = self.rows.iter().find(|r| r.len() != self.columns.len()) {
            return Err(wrong(format!("row {row:?} has {} of {} columns", row.len(), self.columns.len())));
        }
        if self.rule.trim().is_empty() {
            return Err(wrong("it has no rule for its rationale".to_owned()));
        }
        let rows = self.rows.len().max(1);
        let wanted = self.instances.unwrap_or(rows);
        let mut seen = HashSet::new();
        let mut groups = Vec::new();
        for i in 0..wanted {
            // Small numbers allow only few sums, so running out of attempts is not an error.
            for _ in 0..TRIES {
                let Some(filling) = self.fill(language, i % rows, rng).map_err(wrong)? else { continue };
                let Some(group) = self.group(language, &filling).map_err(wrong)? else { continue };
                if !group.iter().all(|i| check::is_kept_sum(&self.name, i)) {
                    continue;
                }
                if seen.insert((group[0].answer.clone(), group[0].rationale_tokens.clone())) {
                    groups.push(group);
                    break;
                }
            }
        }
        Ok(groups)
    }

    /// Draws the free slots; `None` if a number has no word.
    pub(crate) fn fill<'a>(
        &'a self,
        language: Language,
        row: usize,
        rng: &mut impl Rng,
    ) -> Result<Option<Filling<'a>>, String> {
        let mut filling: Filling<'a> = BTreeMap::new();
        if let Some(row) = self.rows.get(row) {
            filling.extend(self.columns.iter().map(String::as_str).zip(row.iter().map(String::as_str)));
        }
        for (slot, list) in &self.free {
            let len = u32::try_from(list.len()).ok().filter(|&n| n > 0).ok_or(format!("slot '{slot}' has no words"))?;
            filling.insert(slot, &list[below(rng, len) as usize]);
        }
        let mut values: BTreeMap<&str, i64> = BTreeMap::new();
        for (slot, number) in &self.numbers {
            if let Number::Range([low, high]) = number {
                let span = high.checked_sub(*low).ok_or(format!("slot '{slot}' has an empty range"))?;
                values.insert(slot, i64::from(low + below(rng, span + 1)));
            }
        }
        Ok(self.put_numbers(language, &mut filling, values)?.then_some(filling))
    }

    /// Fills the number slots, with `values` for the drawn ones; returns false if a value has no word.
    pub(crate) fn put_numbers<'a>(
        &'a self,
        language: Language,
        filling: &mut Filling<'a>,
        mut values: BTreeMap<&'a str, i64>,
    ) -> Result<bool, String> {
        for (slot, number) in &self.numbers {
            if let Number::Sum(text) = number {
                let value = compute(text, &values).ok_or(format!("'{slot}' = '{text}' cannot be computed"))?;
                values.insert(slot, value);
            }
        }
        for (slot, value) in values {
            match u32::try_from(value).ok().and_then(|n| word(language, n)) {
                Some(word) => filling.insert(slot, word),
                None => return Ok(false),
            };
        }
        Ok(true)
    }

    /// Returns an original and its partners, or `None` if the sentence reveals the result of a sum.
    fn group(&self, language: Language, filling: &Filling<'_>) -> Result<Option<Vec<Instance>>, String> {
        let answer = self.answer(filling)?;
        let original = self.instance(language, &self.original, filling, &answer, None)?;
        let partners = [
            (&self.dispens, Perturbation::Dispens),
            (&self.import, Perturbation::Import),
            (&self.trans, Perturbation::Trans),
        ];
        let mut group = vec![original];
        for (text, kind) in partners {
            let Some(text) = text else { continue };
            let mut partner = self.instance(language, text, filling, &answer, Some(kind))?;
            check::partner(&group[0], &partner)?;
            if kind != Perturbation::Trans {
                partner.alignment = Some(align(&group[0].sent_token, &partner.sent_token));
            }
            group.push(partner);
        }
        // In Chinese, results must be single characters.
        let long = language == Language::Chinese && answer.chars().count() > 1;
        if !self.numbers.is_empty() && (long || group.iter().any(|i| check::gives_away(language, i))) {
            return Ok(None);
        }
        group.iter().try_for_each(|i| check::instance(language, i, self.from_text))?;
        Ok(Some(group))
    }

    /// Returns the answer, that is, the masked words.
    pub(crate) fn answer(&self, filling: &Filling<'_>) -> Result<String, String> {
        Ok(self.render(&self.answer, filling)?.0.join(" "))
    }

    /// Fills the slots of one pattern.
    pub(crate) fn instance(
        &self,
        language: Language,
        text: &str,
        filling: &Filling<'_>,
        answer: &str,
        perturbation: Option<Perturbation>,
    ) -> Result<Instance, String> {
        let (mut tokens, rationale_ids) = self.render(text, filling)?;
        if language == Language::English {
            capitalise(&mut tokens);
        }
        let mut masks = tokens.iter().enumerate().filter(|(_, t)| *t == MASK).map(|(i, _)| i);
        let (Some(mask_index), None) = (masks.next(), masks.next()) else {
            return Err(format!("'{text}' needs {MASK} exactly once"));
        };
        let also = self.also.iter().map(|a| Ok(self.render(a, filling)?.0.join(" ")));
        let mut other_answers = also.collect::<Result<Vec<String>, String>>()?;
        other_answers.retain(|other| other != answer);
        Ok(Instance {
            sent_id: 0,
            sample_type: if perturbation.is_some() { SampleType::Perturbed } else { SampleType::Original },
            perturbation,
            dimension: self.dimension,
            sent_text: write(language, &tokens),
            mask_index,
            answer: answer.to_owned(),
            other_answers,
            several_tokens: self.several_tokens,
            rationale_tokens: rationale_ids.iter().map(|&i| tokens[i].clone()).collect(),
            sent_token: tokens,
            rationale_ids,
            rel_ids: Vec::new(),
            ori_id: None,
            alignment: None,
        })
    }

    /// Returns the tokens of a pattern and the indices of the marked ones.
    fn render(&self, text: &str, filling: &Filling<'_>) -> Result<(Vec<String>, Vec<usize>), String> {
        let (mut tokens, mut marked) = (Vec::new(), Vec::new());
        for piece in text.split_whitespace() {
            let (outer, piece) = mark(piece);
            let slot = piece.strip_prefix('{').and_then(|p| p.strip_suffix('}'));
            let value = match slot {
                Some(slot) => *filling.get(slot).ok_or(format!("'{{{slot}}}' is not filled"))?,
                None => piece,
            };
            for token in value.split_whitespace() {
                let (inner, token) = mark(token);
                if outer || inner {
                    marked.push(tokens.len());
                }
                tokens.push(token.to_owned());
            }
        }
        Ok((tokens, marked))
    }
}

/// Splits a token into its mark and its text.
fn mark(token: &str) -> (bool, &str) {
    token.strip_prefix('*').map_or((false, token), |rest| (true, rest))
}

fn compute(text: &str, values: &BTreeMap<&str, i64>) -> Option<i64> {
    let mut parts = text.split_whitespace();
    let (a, sign, b) = (parts.next()?, parts.next()?, parts.next()?);
    let (a, b) = (*values.get(a)?, *values.get(b)?);
    match sign {
        "+" => Some(a + b),
        "-" => Some(a - b),
        "*" => Some(a * b),
        _ => None,
    }
}

/// Capitalizes the first word of each sentence.
fn capitalise(tokens: &mut [String]) {
    for i in 0..tokens.len() {
        if (i == 0 || tokens[i - 1] == ".") && tokens[i] != MASK {
            let mut chars = tokens[i].chars();
            let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
            tokens[i] = first + chars.as_str();
        }
    }
}

/// Joins tokens into the written sentence.
fn write(language: Language, tokens: &[String]) -> String {
    let mut text = String::new();
    for token in tokens {
        let glued = language == Language::Chinese || text.is_empty() || matches!(token.as_str(), "." | "," | "?");
        if !glued {
            text.push(' ');
        }
        text.push_str(token);
    }
    text
}

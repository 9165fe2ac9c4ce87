//! Values of the known keys in one row of results.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Wanted;
use super::choices::{self, Choices};
use super::keys::{
    CLUSTERS, CORRECT, HARNESS, HASHES, IDS, INPUTS, PREDICTIONS, PROMPTS, RUNS, STAND_INS, TARGETS, is_id, known, rank,
};
use super::nested::{Perturbation, Scorers, Stats};
use super::print::Print;
use super::value::{Digest, Excerpt, Scalar, digest_of_text, own, several};
use crate::readers::is_missing;

/// A row, borrowed from its line where possible.
#[derive(Debug, Default)]
pub(crate) struct Line<'a> {
    pub id: Option<Cow<'a, str>>,
    pub filter: Option<Cow<'a, str>>,
    /// Cluster of the item, such as its passage or document.
    pub cluster: Option<Cow<'a, str>>,
    /// Epoch, seed or repetition.
    pub run: Option<Cow<'a, str>>,
    pub prediction: Option<Cow<'a, str>>,
    /// True if the row has a key for the model's answer without a value.
    pub is_unanswered: bool,
    pub target: Option<Cow<'a, str>>,
    /// Expected answers, if the target is a list of several.
    pub targets: Vec<String>,
    /// Identifier for rows without another one.
    pub stand_in: Option<Cow<'a, str>>,
    pub metrics: Vec<Cow<'a, str>>,
    /// `answer_idx`.
    pub answer: Option<u64>,
    /// `pll_scores`.
    pub scores: Vec<f64>,
    /// Other keys with a numeric or boolean value, and that value.
    pub values: Vec<(Cow<'a, str>, f64)>,
    /// Other keys with a value that is not numeric.
    pub others: Vec<Cow<'a, str>>,
    pub print: Print,
    /// True if the row has keys that only lm-evaluation-harness writes.
    pub harness: bool,
    /// True if the identifier is a `doc_id`.
    pub is_doc_id: bool,
    /// True for Inspect samples with `scores` by scorer.
    pub is_inspect: bool,
    /// True for rows of harnesses that write them in data-set order without identifiers (OpenCompass, lighteval).
    pub is_ordered: bool,
    /// Value of `answer`: the expected answer if there is a prediction, otherwise the model's answer.
    pub named: Option<Cow<'a, str>>,
    /// The model's answer, for lists of changed items.
    pub said: Option<String>,
    pub asked: Option<String>,
    pub expected: Option<String>,
    /// Log-likelihoods of the options, for lists of changed items.
    pub choices: Choices,
    pub traits: Vec<(String, String)>,
    pub rank: u8,
    pub target_rank: u8,
    pub prediction_rank: u8,
    pub cluster_rank: u8,
    pub said_rank: u8,
}

/// True for keys that describe the item itself.
fn is_trait(name: &str) -> bool {
    !["prompt_hash", "target_hash", "filter"].contains(&name)
        && !is_id(name)
        && !CORRECT.contains(&name)
        && !HASHES.contains(&name)
}

impl<'a> Line<'a> {
    pub(crate) fn value(&self, key: &str) -> Option<f64> {
        self.values.iter().find(|(k, _)| k == key).map(|(_, v)| *v)
    }

    pub(crate) fn numbers(&self) -> Vec<&str> {
        self.values.iter().map(|(k, _)| k.as_ref()).collect()
    }

    /// Stores a scalar; the value of an unknown key is stored only if it is a number.
    pub(crate) fn put(&mut self, key: Cow<'a, str>, value: Scalar<'a>, LineSeed { detail, lenient }: LineSeed) {
        let name = key.as_ref();
        match name {
            _ if TARGETS.contains(&name) => {
                let rank = rank(&TARGETS, name);
                if rank > self.target_rank {
                    (self.print.target, self.target_rank) = (value.digest(lenient), rank);
                    self.target = value.text();
                }
                return;
            }
            _ if PREDICTIONS.contains(&name) => {
                let rank = rank(&PREDICTIONS, name);
                if rank > self.prediction_rank {
                    let empty = value.is_blank();
                    self.is_unanswered |= empty;
                    if let Some(text) = value.text().filter(|_| !empty) {
                        (self.prediction, self.prediction_rank) = (Some(text), rank);
                    }
                }
                return;
            }
            "answer" => return self.named = value.text(),
            _ if INPUTS.contains(&name) => {
                let rank = rank(&INPUTS, name);
                if rank > self.print.input_rank && !value.is_blank() {
                    (self.print.input, self.print.input_rank) = (value.digest(false), rank);
                    if detail {
                        self.asked = value.text().map(|text| own(&text));
                    }
                }
                return;
            }
            _ if PROMPTS.contains(&name) => self.print.prompt = value.digest(false),
            _ if HASHES.contains(&name) => {
                let rank = rank(&HASHES, name);
                self.harness |= name == "doc_hash";
                if rank > self.print.hash_rank
                    && let Some(text) = value.text()
                {
                    (self.print.hash, self.print.hash_rank) = (digest_of_text(&text), rank);
                }
                return;
            }
            _ => {}
        }
        if detail && value.is_short() && is_trait(name) {
            self.traits.push((name.to_owned(), value.shown()));
        }
        match name {
            _ if is_id(name) => {
                if let Some(text) = value.text() {
                    self.identify(name, text);
                }
            }
            _ if STAND_INS.contains(&name) => self.stand_in = self.stand_in.take().or(value.text()),
            _ if CLUSTERS.contains(&name) => self.join(rank(&CLUSTERS, name), value),
            _ if RUNS.contains(&name) => {
                if let Some(text) = value.text() {
                    self.run = Some(match self.run.take() {
                        Some(first) => Cow::Owned(format!("{first}/{text}")),
                        None => text,
                    });
                }
            }
            "filter" => self.filter = value.text(),
            "answer_idx" => {
                self.answer = value.number().filter(|v| *v >= 0.0 && v.fract() == 0.0).map(|v| v as u64);
            }
            "origin_prompt" => self.is_ordered = true,
            _ if HARNESS.contains(&name) => self.harness = true,
            _ => match value.number().or_else(|| value.verdict().filter(|_| CORRECT.contains(&name))) {
                Some(number) => self.values.push((key, number)),
                None if matches!(value, Scalar::Other(_)) || CORRECT.contains(&name) => self.others.push(key),
                None => {}
            },
        }
    }

    /// Sets the cluster if its key has priority. Words such as `NaN` are not clusters.
    fn join(&mut self, rank: u8, value: Scalar<'a>) {
        if rank > self.cluster_rank
            && let Some(text) = value.text().filter(|text| !is_missing(text))
        {
            (self.cluster, self.cluster_rank) = (Some(text), rank);
        }
    }

    /// Sets the identifier if its key has priority. BLiMP numbers the pairs of each paradigm, so both keys form the identifier.
    fn identify(&mut self, name: &str, text: Cow<'a, str>) {
        let (uid, pair, rank) = (rank(&IDS, "uid"), rank(&IDS, "pair_id"), rank(&IDS, name));
        match self.id.take() {
            Some(first) if (self.rank, rank) == (uid, pair) => self.id = Some(format!("{first} {text}").into()),
            Some(second) if (self.rank, rank) == (pair, uid) => {
                (self.id, self.rank) = (Some(format!("{text} {second}").into()), rank);
            }
            Some(other) if self.rank >= rank => self.id = Some(other),
            _ => (self.id, self.rank, self.is_doc_id) = (Some(text), rank, name == "doc_id"),
        }
    }

    /// Returns the expected answer, if the row has a prediction to compare with it.
    pub(crate) fn expected_answer(&self) -> Option<&str> {
        self.target.as_deref().or(self.named.as_deref())
    }

    /// Selects the texts that are shown in a list of changed items.
    pub(crate) fn finish_detail(&mut self) {
        let said = self.prediction.as_deref().or(self.named.as_deref().filter(|_| self.target.is_some()));
        self.said = self.said.take().or_else(|| said.map(own));
        self.expected = self.expected_answer().map(own);
        let (choices, acc) = (&self.choices, self.value("acc"));
        if let Some(answer) = choices.answer(self.value("acc_norm").is_some()) {
            let target = self.expected_answer().and_then(|target| choices.expected(target, acc.map(|acc| acc == 1.0)));
            self.expected = target.or(self.expected.take());
            self.said = Some(answer);
        }
    }

    fn excerpt(&mut self, rank: u8, text: String) {
        if rank > self.said_rank && !text.is_empty() {
            (self.said, self.said_rank) = (Some(text), rank);
        }
    }
}

/// A key, borrowed unless it has escapes.
pub(crate) struct Key<'a>(pub Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => Ok(Key(text)),
            _ => Err(de::Error::custom("a key that is not text")),
        }
    }
}

/// Metrics as a list of names, or as a map from names to values (lighteval).
struct Metrics<'a>(Vec<Cow<'a, str>>, Vec<(Cow<'a, str>, Scalar<'a>)>);

struct MetricsVisitor;

impl<'de> Visitor<'de> for MetricsVisitor {
    type Value = Metrics<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names of metrics, or metrics by name")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut names = Vec::new();
        while let Some(Key(name)) = seq.next_element()? {
            names.push(name);
        }
        Ok(Metrics(names, Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some((Key(name), value)) = map.next_entry()? {
            values.push((name, value));
        }
        Ok(Metrics(Vec::new(), values))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Metrics(Vec::new(), Vec::new()))
    }
}

impl<'de> Deserialize<'de> for Metrics<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MetricsVisitor)
    }
}

/// Fields of `doc` or `metadata`: item groups and short facts.
struct Inner<'l, 'a> {
    line: &'l mut Line<'a>,
    detail: bool,
    is_doc: bool,
}

impl<'de> DeserializeSeed<'de> for Inner<'_, 'de> {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inner<'_, 'de> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_unit<E>(self) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<u32, E> {
        Ok(digest_of_text(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<u32, E> {
        Ok(digest_of_text(v))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u32, A::Error> {
        let mut sum = 1u32;
        while let Some(Digest(one)) = seq.next_element()? {
            sum = sum.rotate_left(5) ^ one;
        }
        Ok(sum)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u32, A::Error> {
        let mut sum = 0u32;
        while let Some(Key(key)) = map.next_key()? {
            let name = key.as_ref();
            let wanted = CLUSTERS.contains(&name) || self.detail || (!self.is_doc && RUNS.contains(&name));
            if !(wanted || self.is_doc && name == "id") {
                sum = sum.wrapping_add(digest_of_text(name) ^ map.next_value::<Digest>()?.0.rotate_left(9));
                continue;
            }
            if self.detail && self.is_doc && ["choices", "endings", "options"].contains(&name) {
                let value: serde_json::Value = map.next_value()?;
                self.line.choices.options = choices::options(&value);
                sum = sum.wrapping_add(digest_of_text(name) ^ digest_of_text(&value.to_string()).rotate_left(9));
                continue;
            }
            if self.detail && ["question", "query", "input", "text", "sentence", "problem", "prompt"].contains(&name) {
                let Excerpt(text) = map.next_value()?;
                sum = sum.wrapping_add(digest_of_text(&text));
                self.line.asked.get_or_insert(text);
                continue;
            }
            let value: Scalar<'de> = map.next_value()?;
            sum = sum.wrapping_add(digest_of_text(name) ^ digest_of_text(&value.shown()));
            if CLUSTERS.contains(&name) {
                // `passage` may be a long text, in which case only its digest is stored.
                let short = value.is_short();
                if let Some(text) = value.text() {
                    let text = if short { text } else { Cow::Owned(format!("{:08x}", digest_of_text(&text))) };
                    if self.line.cluster_rank == 0 {
                        self.line.cluster = Some(text);
                    }
                }
            } else if name == "id" && self.is_doc {
                if self.line.rank == 0 {
                    self.line.id = value.text();
                }
            } else if self.detail && value.is_short() {
                self.line.traits.push((name.to_owned(), value.shown()));
            }
        }
        Ok(sum.max(1))
    }
}

/// Deserializer of a row. `detail` includes texts for a list of changed items; `lenient` ignores the case of targets.
#[derive(Clone, Copy)]
pub(crate) struct LineSeed {
    pub detail: bool,
    pub lenient: bool,
}

impl From<&Wanted> for LineSeed {
    fn from(wanted: &Wanted) -> Self {
        Self { detail: wanted.detail, lenient: wanted.lenient }
    }
}

impl<'de> DeserializeSeed<'de> for LineSeed {
    type Value = Line<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Line<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl LineSeed {
    /// Reads a value that may be long or nested.
    fn field<'de, A: MapAccess<'de>>(
        self,
        line: &mut Line<'de>,
        key: Cow<'de, str>,
        map: &mut A,
    ) -> Result<(), A::Error> {
        match key.as_ref() {
            "filtered_resps" | "resps" | "completion" | "origin_prediction" if self.detail => {
                line.harness |= key.ends_with("resps");
                let value: serde_json::Value = map.next_value()?;
                if let Some(found) = choices::logliks(&value) {
                    line.choices.logliks = found;
                }
                let Excerpt(text) = Excerpt::deserialize(value).map_err(de::Error::custom)?;
                line.excerpt(if key == "filtered_resps" { 2 } else { 1 }, text);
            }
            "arguments" if self.detail => {
                line.harness = true;
                let value: serde_json::Value = map.next_value()?;
                line.print.prompt = digest_of_text(&value.to_string());
                line.choices.continuations = choices::continuations(&value);
            }
            name if TARGETS.contains(&name) => {
                let value: serde_json::Value = map.next_value()?;
                if rank(&TARGETS, name) > line.target_rank {
                    line.targets = several(&value);
                }
                line.put(key, Scalar::deserialize(value).map_err(de::Error::custom)?, self);
            }
            "doc" => {
                let digest = map.next_value_seed(Inner { line, detail: self.detail, is_doc: true })?;
                line.print.doc = digest;
            }
            "metadata" => {
                map.next_value_seed(Inner { line, detail: self.detail, is_doc: false })?;
            }
            _ => {
                let value = map.next_value()?;
                line.put(key, value, self);
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for LineSeed {
    type Value = Line<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line<'de>, A::Error> {
        let mut line = Line::default();
        while let Some(Key(mut key)) = map.next_key()? {
            if key.bytes().any(|b| b.is_ascii_uppercase())
                && let Some(name) = known(&key)
            {
                key = Cow::Borrowed(name);
            }
            match key.as_ref() {
                "metrics" | "metric" => {
                    let Metrics(names, values) = map.next_value()?;
                    line.metrics.extend(names);
                    line.is_ordered |= !values.is_empty();
                    for (name, value) in values {
                        line.metrics.push(name.clone());
                        line.values.extend(value.number().map(|number| (name, number)));
                    }
                }
                "pll_scores" => line.scores = map.next_value()?,
                "scores" | "score" => {
                    let Scorers(values, answer, alone) = map.next_value()?;
                    match alone {
                        Some(value) => line.put(key, value, self),
                        None => {
                            line.is_inspect = true;
                            for (name, value) in values {
                                line.metrics.push(Cow::Owned(name.clone()));
                                line.values.extend(value.map(|number| (Cow::Owned(name), number)));
                            }
                            line.said = answer.or(line.said);
                        }
                    }
                }
                "stats" => {
                    let Stats(values, perturbation) = map.next_value()?;
                    for (name, value) in values {
                        line.metrics.push(Cow::Owned(name.clone()));
                        line.values.extend(value.map(|number| (Cow::Owned(name), number)));
                    }
                    if let Some(name) = perturbation {
                        line.filter.get_or_insert(Cow::Owned(name));
                    }
                }
                "perturbation" => {
                    let found: Option<Perturbation> = map.next_value()?;
                    line.filter = found.and_then(|p| p.name).map(Cow::Owned).or(line.filter);
                }
                "hashes" => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => self.field(&mut line, key, &mut map)?,
            }
        }
        if self.detail {
            line.finish_detail();
        }
        Ok(line)
    }
}

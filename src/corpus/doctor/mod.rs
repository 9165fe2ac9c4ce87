//! The data doctor: finds rows that are unfit for probing, with reasons, and reports warnings about the others.
//!
//! Rows are examined in one pass. To handle millions of rows, only counts, the first rows with each finding, and 64-bit hashes are kept.
//! Hashes reveal duplicates and subjects with several objects; a [`Survey`] finds such subjects in an earlier pass.

mod coverage;
mod diagnosis;
mod memory;
mod survey;
#[cfg(test)]
mod tests;

pub use coverage::TextCount;
pub use survey::Survey;

pub use diagnosis::{
    Counted, Diagnosis, Example, LISTED, ModelCount, PropertyCount, RelationCount, Tokens, Vocabulary,
};

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use self::coverage::Coverage;
use self::memory::{Memory, hash};
use super::readers::{Fact, Pair, Prompt, Rationale, Row, Sentence, Set};

/// A finding about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// An object, answer or verb form that some model splits into several tokens.
    MultiToken,
    /// An object, answer or verb form that is not in some model's vocabulary.
    OutsideVocabulary,
    /// A row equal to an earlier one.
    Duplicate,
    /// A sentence that occurs earlier with different labels.
    Conflict,
    /// A subject with several objects, so that none of its facts has a unique answer.
    SeveralObjects,
    /// No gold rationale.
    EmptyRationale,
    /// A minimal pair whose two sentences are equal.
    EqualPair,
    NoSubject,
    /// The object is part of the subject's name, which reveals the answer.
    Overlap,
    /// A subject without alternative names.
    NoAlias,
    /// A rationale that covers the whole input.
    WholeRationale,
    /// A prompt that continues after `[Y]`, so that causal models cannot answer it.
    ObjectInside,
    /// A prompt with the object before the subject, which causal models would have to answer before they have read the subject.
    ObjectFirst,
    /// A prompt that also occurs in a different source within the set.
    RepeatedPrompt,
    ControlCharacters,
}

impl Finding {
    /// True if rows with this finding are dropped; other findings are only counted.
    pub fn drops(self) -> bool {
        use Finding as F;
        matches!(
            self,
            F::MultiToken
                | F::OutsideVocabulary
                | F::Duplicate
                | F::Conflict
                | F::SeveralObjects
                | F::EmptyRationale
                | F::EqualPair
        )
    }

    /// Short description for tables.
    pub fn title(self) -> &'static str {
        match self {
            Finding::MultiToken => "multi-token word",
            Finding::OutsideVocabulary => "word outside a vocabulary",
            Finding::Duplicate => "duplicate",
            Finding::Conflict => "same sentence, different labels",
            Finding::SeveralObjects => "subject with several objects (N-M)",
            Finding::EmptyRationale => "empty rationale",
            Finding::EqualPair => "identical sentences in a pair",
            Finding::NoSubject => "no subject",
            Finding::Overlap => "object in the subject's name",
            Finding::NoAlias => "no alias",
            Finding::WholeRationale => "rationale is the whole input",
            Finding::ObjectInside => "prompt continues after [Y]",
            Finding::ObjectFirst => "prompt has [Y] before [X]",
            Finding::RepeatedPrompt => "repeated prompt",
            Finding::ControlCharacters => "control characters",
        }
    }
}

/// Maximum number of distinct labels of a property; with more, it is not counted as a property.
const MAX_LABELS: usize = 1_000;
/// Maximum number of relations and properties counted separately.
const MAX_NAMES: usize = 10_000;
/// Maximum number of different words whose token counts are cached.
const MAX_WORDS: usize = 1_000_000;
/// Maximum length of a word, name or label in bytes. Longer ones are not tokenized, and only their beginning is stored.
const MAX_NAME: usize = 1_000;
/// Maximum length in bytes of a subject that is searched for its object.
const MAX_SUBJECT: usize = 10_000;
/// Maximum length in bytes of a remark about one row.
const MAX_SAID: usize = 1_000;

/// Examines the rows of a set and collects findings.
pub struct Doctor<'v> {
    models: Vec<Vocabulary<'v>>,
    keep: usize,
    memory: Memory,
    survey: Survey,
    coverage: Coverage,
    findings: BTreeMap<Finding, Counted>,
    kinds: BTreeMap<&'static str, u64>,
    relations: BTreeMap<String, RelationCount>,
    /// Label counts by property, and by file for labels without a property name.
    properties: BTreeMap<(Option<usize>, String), BTreeMap<String, u64>>,
    model_counts: Vec<ModelCount>,
    /// Number of tokens in each word, for each model.
    words: HashMap<String, Vec<Option<usize>>>,
    flagged: Vec<Example>,
    examined: u64,
    dropped: u64,
}

type Found = Vec<(Finding, String)>;

impl<'v> Doctor<'v> {
    /// Creates a doctor for the rows of `set` that checks words against `models` and stores up to `keep` dropped rows.
    pub fn new(set: &Set, models: Vec<Vocabulary<'v>>, keep: usize) -> Self {
        let model_counts = models.iter().map(|m| ModelCount::new(&m.name)).collect();
        Self {
            models,
            keep,
            memory: Memory::of(set.names()),
            survey: Survey::default(),
            coverage: Coverage::default(),
            findings: BTreeMap::new(),
            kinds: BTreeMap::new(),
            relations: BTreeMap::new(),
            properties: BTreeMap::new(),
            model_counts,
            words: HashMap::new(),
            flagged: Vec::new(),
            examined: 0,
            dropped: 0,
        }
    }

    /// Adds a survey of subjects with several objects. Without one, a subject's first fact is kept and only later ones are dropped.
    pub fn knowing(self, survey: Survey) -> Self {
        Self { survey, ..self }
    }

    /// Examines a row, given its file index and line; returns true if the row is kept.
    pub fn examine(&mut self, file: usize, row: &Row<'_>, line: u64) -> bool {
        self.examined += 1;
        *self.kinds.entry(row.kind()).or_default() += 1;
        let mut found = Found::new();
        self.memory.at(file, line);
        match row {
            Row::Fact(fact) => self.fact(fact, &mut found),
            Row::Prompt(prompt) => self.prompt(prompt, &mut found),
            Row::Sentence(sentence) => self.sentence(sentence, &mut found),
            Row::Pair(pair) => self.pair(pair, &mut found),
            Row::Rationale(rationale) => self.rationale(rationale, &mut found),
            Row::Vector(vector) => self.duplicate(hash(&("vector", vector.word.as_str())), &mut found),
            Row::Relation(relation) => {
                self.relation(&relation.relation).stated = relation.kind;
            }
            Row::Prediction(_) | Row::Measure(_) => {}
        }
        let found = merged(found);
        let drops = found.iter().any(|(f, _)| f.drops());
        self.dropped += u64::from(drops);
        for (finding, what) in &found {
            let counted = self.findings.entry(*finding).or_default();
            counted.count += 1;
            counted.first.get_or_insert_with(|| Example {
                file,
                line,
                findings: vec![*finding],
                what: beginning(what, MAX_SAID),
            });
        }
        // The list has limited space, so rows that only have warnings are not listed.
        if drops && self.flagged.len() < self.keep {
            let findings = found.iter().map(|f| f.0).collect();
            let what = found.into_iter().filter(|(f, _)| f.drops()).map(|(_, w)| w).collect::<Vec<_>>().join("; ");
            self.flagged.push(Example { file, line, findings, what: beginning(&what, MAX_SAID) });
        }
        !drops
    }

    fn relation(&mut self, name: &str) -> &mut RelationCount {
        let name = &beginning(name, MAX_NAME);
        let name =
            if self.relations.len() < MAX_NAMES || self.relations.contains_key(name) { name } else { "(further)" };
        self.relations.entry(name.to_owned()).or_default()
    }

    fn duplicate(&mut self, key: u64, found: &mut Found) {
        if let Some(place) = self.memory.seen(key) {
            found.push((Finding::Duplicate, format!("the same as {place}")));
        }
    }

    fn fact(&mut self, fact: &Fact<'_>, found: &mut Found) {
        let name = fact.relation.as_deref().unwrap_or("(none)");
        let object = fact.object.as_str();
        self.text([object].into_iter().chain(fact.subject.as_deref()), found);
        let Some(subject) = fact.subject.as_deref() else {
            found.push((Finding::NoSubject, format!("`{object}` has no subject")));
            let key = hash(&("fact", name, object, fact.contexts.iter().flatten().next().map(|c| c.as_str())));
            self.duplicate(key, found);
            self.word(object, found);
            let kept = !found.iter().any(|(f, _)| f.drops());
            let relation = self.relation(name);
            relation.facts += 1;
            relation.kept += u64::from(kept);
            relation.add_object(object, kept);
            return;
        };
        let same = self.memory.seen(hash(&("fact", name, subject, object)));
        let key = survey::key(fact).unwrap_or_default();
        let other = self.memory.first_of(key, hash(object)).or_else(|| {
            let (file, line) = self.survey.several.get(&key)?;
            let [file, line] = [*file as u64, *line].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            Some(self.memory.place(file, line))
        });
        let shared = self.memory.first_of(hash(&("object", name, object)), hash(subject)).is_some();
        if let Some(place) = &same {
            found.push((Finding::Duplicate, format!("{name}: `{subject}`, `{object}`: the same as {place}")));
        } else if let Some(place) = &other {
            let what = format!("{name}: `{subject}` has `{object}`, but a different object at {place}");
            found.push((Finding::SeveralObjects, what));
        }
        if contains_words(subject, object) {
            found.push((Finding::Overlap, format!("{name}: `{object}` in `{subject}`")));
        }
        if fact.aliases.as_ref().is_none_or(Vec::is_empty) {
            found.push((Finding::NoAlias, format!("{name}: `{subject}`")));
        }
        self.word(object, found);
        let kept = !found.iter().any(|(f, _)| f.drops());
        let relation = self.relation(name);
        relation.facts += 1;
        relation.kept += u64::from(kept);
        if same.is_none() {
            relation.several_objects += u64::from(other.is_some());
            relation.shared_objects += u64::from(shared);
            relation.add_object(object, kept);
        }
    }

    /// Checks a word against all models; returns true if some model does not have it as a single token.
    fn word(&mut self, word: &str, found: &mut Found) -> bool {
        if self.models.is_empty() {
            return false;
        }
        let counts = match self.words.get(word) {
            Some(counts) => counts.clone(),
            // No vocabulary has an entry this long, and tokenizers may take quadratic time.
            None if word.len() > MAX_NAME => {
                self.model_counts.iter_mut().for_each(|model| model.several += 1);
                let what = format!("`{}`: longer than any token", beginning(word, 40));
                found.push((Finding::MultiToken, what));
                return true;
            }
            None => {
                let counts: Vec<Option<usize>> = self.models.iter().map(|m| (m.tokens)(word)).collect();
                if self.words.len() < MAX_WORDS {
                    self.words.insert(word.to_owned(), counts.clone());
                }
                counts
            }
        };
        let (mut several, mut outside) = (Vec::new(), Vec::new());
        for (count, model) in counts.iter().zip(&mut self.model_counts) {
            match count {
                Some(1) => model.single += 1,
                Some(n) => {
                    model.several += 1;
                    several.push(format!("{n} in {}", model.model));
                }
                None => {
                    model.outside += 1;
                    outside.push(model.model.clone());
                }
            }
        }
        let bad = !several.is_empty() || !outside.is_empty();
        if !several.is_empty() {
            found.push((Finding::MultiToken, format!("`{word}`: tokens {}", several.join(", "))));
        }
        if !outside.is_empty() {
            found.push((Finding::OutsideVocabulary, format!("`{word}`: not in {}", outside.join(", "))));
        }
        bad
    }

    fn prompt(&mut self, prompt: &Prompt<'_>, found: &mut Found) {
        let relation = prompt.relation.as_deref().unwrap_or("(none)");
        let source = prompt.source.as_deref();
        self.text([prompt.prompt.as_str()], found);
        let text = prompt.prompt.as_str();
        let same = self.memory.seen(hash(&("prompt", relation, source, text)));
        let first = self.memory.first_of(hash(&("any prompt", relation, text)), hash(&source));
        if let Some(place) = same {
            found.push((Finding::Duplicate, format!("{relation}: `{text}`: the same as {place}")));
        } else if let Some(place) = first {
            found.push((Finding::RepeatedPrompt, format!("{relation}: `{text}`: the same as {place}")));
        }
        let places = text.find("[Y]").zip(text.find("[X]"));
        if places.is_some_and(|(object, subject)| object < subject) {
            found.push((Finding::ObjectFirst, format!("{relation}: `{text}`")));
        } else if prompt.object_final == Some(false) {
            found.push((Finding::ObjectInside, format!("{relation}: `{}`", prompt.prompt)));
        }
        self.relation(relation).prompts += 1;
    }

    fn sentence(&mut self, sentence: &Sentence<'_>, found: &mut Found) {
        let text = sentence.text.as_str();
        self.text([text], found);
        let bare = sentence.label.iter().map(|l| ("label", l.as_str()));
        let labels: Vec<(&str, &str)> = bare.chain(sentence.named_labels()).collect();
        // Labels without a property name belong to the task of their file, so a sentence may have different labels in different files.
        let task = sentence.label.is_some().then(|| self.memory.file());
        let place = (task, sentence.target, sentence.forms.as_ref().map(|f| [f[0].as_str(), f[1].as_str()]));
        if let Some(first) = self.memory.seen(hash(&("sentence", text, place, &labels))) {
            found.push((Finding::Duplicate, format!("`{text}`: the same as {first}")));
        } else if let Some(first) = self.memory.first_of(hash(&("text", text, place)), hash(&labels)) {
            found.push((Finding::Conflict, format!("`{text}`: different labels at {first}")));
        }
        self.coverage.add(text, &self.models);
        for form in sentence.forms.iter().flatten() {
            self.word(form, found);
        }
        if found.iter().any(|(f, _)| f.drops()) {
            return;
        }
        for (property, label) in labels {
            self.label((property == "label").then(|| self.memory.file()), property, label);
        }
    }

    fn label(&mut self, file: Option<usize>, property: &str, label: &str) {
        let full = self.properties.len() >= MAX_NAMES;
        let label = beginning(label, MAX_NAME);
        let name = (file, beginning(property, MAX_NAME));
        let name = if full && !self.properties.contains_key(&name) { (None, "(further)".to_owned()) } else { name };
        let labels = self.properties.entry(name).or_default();
        if let Some(count) = labels.get_mut(&label) {
            *count += 1;
        } else if labels.len() < MAX_LABELS {
            labels.insert(label, 1);
        } else {
            *labels.entry("(further)".to_owned()).or_default() += 1;
        }
    }

    fn pair(&mut self, pair: &Pair<'_>, found: &mut Found) {
        self.text([pair.good.as_str(), pair.bad.as_str()], found);
        self.duplicate(hash(&("pair", pair.good.as_str(), pair.bad.as_str())), found);
        self.coverage.add(&pair.good, &self.models);
        self.coverage.add(&pair.bad, &self.models);
        if pair.good == pair.bad {
            found.push((Finding::EqualPair, format!("`{}`", pair.good)));
        }
        if let Some(paradigm) = &pair.paradigm {
            self.label(None, "paradigm", paradigm);
        }
    }

    fn rationale(&mut self, rationale: &Rationale<'_>, found: &mut Found) {
        self.text(rationale.tokens.iter().map(|t| t.as_str()), found);
        let tokens: Vec<&str> = rationale.tokens.iter().map(|t| t.as_str()).collect();
        tokens.iter().for_each(|token| self.coverage.add(token, &self.models));
        let whose = (rationale.mask, rationale.query.as_deref(), rationale.id.as_deref());
        self.duplicate(hash(&("rationale", &tokens, whose)), found);
        let which = rationale.id.as_deref().unwrap_or("without id");
        if rationale.rationales.iter().all(Vec::is_empty) {
            found.push((Finding::EmptyRationale, format!("row {which}")));
        } else if rationale.rationales.iter().any(|set| set.len() >= tokens.len()) {
            found.push((Finding::WholeRationale, format!("row {which}: {} tokens", tokens.len())));
        }
        for (property, label) in [("label", &rationale.label), ("dimension", &rationale.dimension)] {
            if let Some(label) = label {
                self.label((property == "label").then(|| self.memory.file()), property, label);
            }
        }
        if let Some(answer) = &rationale.answer {
            self.word(answer, found);
        }
    }

    fn text<'t>(&self, texts: impl IntoIterator<Item = &'t str>, found: &mut Found) {
        if let Some(c) = texts.into_iter().flat_map(str::chars).find(|c| c.is_control()) {
            found.push((Finding::ControlCharacters, format!("U+{:04X}", c as u32)));
        }
    }
}

/// Merges findings of the same kind: a row with two bad forms counts once.
fn merged(found: Found) -> Found {
    let mut out = Found::new();
    for (finding, what) in found {
        match out.iter_mut().find(|(f, _)| *f == finding) {
            Some((_, text)) => *text = format!("{text}; {what}"),
            None => out.push((finding, what)),
        }
    }
    out
}

/// Returns at most `bytes` bytes of a text, plus an ellipsis if it was cut.
fn beginning(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let whole = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..whole])
}

/// True if `outer` contains `inner` as whole words, ignoring case. Texts longer than [`MAX_SUBJECT`] are not searched, because that could
/// take quadratic time.
fn contains_words(outer: &str, inner: &str) -> bool {
    if outer.len() > MAX_SUBJECT {
        return false;
    }
    let (outer, inner) = (outer.to_lowercase(), inner.to_lowercase());
    let mut from = 0;
    while let Some(k) = outer[from..].find(&inner) {
        let (start, end) = (from + k, from + k + inner.len());
        let free = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        if free(outer[..start].chars().next_back()) && free(outer[end..].chars().next()) {
            return true;
        }
        let Some(step) = outer[start..].chars().next() else { return false };
        from = start + step.len_utf8();
    }
    false
}

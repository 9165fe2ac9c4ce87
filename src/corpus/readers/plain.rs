//! Plain JSON lines: the output of `probity data convert`, and the format that is easiest to write by hand.
//!
//! Each line is an object, whose keys determine the kind of row:
//!
//! | row | keys (those in parentheses may be omitted) |
//! | --- | --- |
//! | sentence | `text`, with `[MASK]` for a masked word; (`label`, `labels`: object of named labels, `target`: characters `[from, to)` of the probed word, `forms`: [singular, plural] for the mask, or `form` and `other_form`: the correct and the wrong word for it; without `labels`, every other key is a label of that name; `twin`: the text with the subject in the other number, `split`: train, validation or test, `id`) |
//! | fact | `object`; (`subject`, `relation`, `aliases`, `subject_id`, `object_id`, `contexts`: sentences with `[MASK]`, `id`) |
//! | prompt | `prompt` with `[X]` and `[Y]`; (`relation`, `source`, `weight`, `lemma`, `tense`, `object_final`) |
//! | relation | `relation`, `templates`; (`name`, `kind`: 1-1, N-1 or N-M, `answers`) |
//! | pair | `good`, `bad`; (`paradigm`, `prefix`, `forms`: [good word, bad word], `labels`, `id`) |
//! | rationale | `tokens`, `rationales`: sets of token indices; (`text`, `mask`, `answer`, `other_answers`, `label`, `query`, `dimension`, `attractors`, `perturbs`: id of the original, `perturbation`, `partners`, `alignment`, `ratio`, `split`, `id`) |
//! | prediction | `ranking` or `scores` or `system`; (`label`, `probabilities`, `labels`, `id`) |
//! | measure | `metric`; (`value`, `labels`) |
//! | vector | `word`, `dimension` |
//!
//! Indices count from 0. Keys that are not listed are ignored. Parsing written rows gives the same rows.

use serde::{Deserialize, Serialize};

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, Head, json, stateless};
use super::lama::{object_final, placeholders};
use super::rationale::{Mark, Sets, inside};
use super::row::{
    Fact, Measure, Pair, Prediction, Prompt, Rationale, Relation, RelationKind, Row, Sentence, Split, Vector,
};
use super::text::{Labels, Text};

pub const FORMAT: Format = Format {
    id: "plain",
    title: "plain JSON lines",
    columns: &[
        "text",
        "label|labels",
        "target",
        "forms|form",
        "twin",
        "subject",
        "object",
        "aliases",
        "relation",
        "prompt",
        "templates",
        "good",
        "bad",
        "tokens",
        "rationales",
        "ranking|scores",
        "metric",
        "value",
        "word",
        "dimension",
        "split",
        "id",
    ],
    framing: Framing::Json,
    recognise,
    parser: |_, context| stateless(context, parse),
};

fn recognise(head: &Head<'_>) -> bool {
    const SETS: &[&[&str]] = &[
        &["text"],
        &["object"],
        &["prompt"],
        &["relation", "templates"],
        &["good", "bad"],
        &["tokens", "rationales"],
        &["tokens", "rationale"],
        &["tokens", "gold"],
        &["ranking"],
        &["scores"],
        &["system"],
        &["metric"],
        &["word", "dimension"],
    ];
    SETS.iter().any(|keys| head.has(keys))
}

/// Keys of all kinds of row.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Keys<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    id: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relation: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aliases: Option<Vec<Text<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_id: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_id: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contexts: Option<Vec<Text<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lemma: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tense: Option<Text<'a>>,
    #[serde(alias = "y_final", skip_serializing_if = "Option::is_none")]
    object_final: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    templates: Option<Vec<Text<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<RelationKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Vec<Text<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    good: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bad: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paradigm: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forms: Option<[Text<'a>; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_form: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    twin: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<[u32; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<Text<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rationales: Option<Sets>,
    /// Alternative key to `rationales`; in files from other programs, its value may have a different type.
    #[serde(skip_serializing)]
    rationale: Option<serde_json::Value>,
    #[serde(skip_serializing)]
    gold: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attractors: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_answers: Option<Vec<Text<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    perturbs: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    perturbation: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partners: Option<Vec<Text<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment: Option<Vec<[u32; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probabilities: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    word: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Labels<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<Split>,
}

fn parse(text: &str, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: Keys<'_> = json(text)?;
    let mut row = row(keys, context)?;
    if let Row::Sentence(Sentence { labels: labels @ None, .. }) = &mut row {
        *labels = named(text);
    }
    emit(row);
    Ok(())
}

/// Keys of a sentence other than labels.
const NO_LABELS: [&str; 9] = ["text", "id", "split", "target", "forms", "form", "other_form", "twin", "label"];

/// Returns the remaining keys of a sentence as labels, if their values are words, whole numbers, true or false.
fn named(text: &str) -> Option<Labels<'static>> {
    let keys: std::collections::BTreeMap<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    let label = |(name, value): (String, serde_json::Value)| {
        let value = label(value)?;
        (!NO_LABELS.contains(&name.as_str())).then(|| (name.into(), value.into()))
    };
    Some(Labels(keys.into_iter().filter_map(label).collect())).filter(|l| !l.0.is_empty())
}

/// Converts a value to a label: a word, a whole number, true or false.
pub(super) fn label(value: serde_json::Value) -> Option<String> {
    Some(match value {
        serde_json::Value::String(s) if !s.trim().is_empty() => s,
        serde_json::Value::Number(n) if n.is_i64() || n.is_u64() => n.to_string(),
        // Pandas writes whole numbers as `1.0` in columns with missing values.
        serde_json::Value::Number(n) => n.as_f64().filter(|v| v.fract() == 0.0 && v.abs() < 1e15)?.to_string(),
        serde_json::Value::Bool(b) => b.to_string(),
        _ => return None,
    })
}

/// Builds the row from its keys; the most specific kinds are tried first.
fn row<'a>(k: Keys<'a>, context: &Context) -> Result<Row<'a>, Unread> {
    if k.tokens.is_some() || k.rationales.is_some() {
        return rationale(k, context);
    }
    if let (Some(good), Some(bad)) = (&k.good, &k.bad) {
        not_empty("good", good)?;
        not_empty("bad", bad)?;
        let (good, bad) = (good.clone(), bad.clone());
        let Keys { id, paradigm, prefix, forms, labels, .. } = k;
        return Ok(Row::Pair(Pair { id, good, bad, paradigm, prefix, forms, labels }));
    }
    if let Some(text) = k.text {
        not_empty("text", &text)?;
        if let Some([from, to]) = k.target {
            let length = text.chars().count();
            if from >= to || to as usize > length {
                let what = format!("`target` is {from} to {to}, but the text has only {length} characters");
                return Err(Unread::new(DropKind::Index, what));
            }
        }
        let Keys { id, split, label, labels, target, forms, twin, form, other_form, .. } = k;
        let choice = form.zip(other_form).map(|(right, other)| [right, other]);
        return Ok(Row::Sentence(Sentence { id, text, split, label, labels, target, forms, choice, twin }));
    }
    if let Some(object) = k.object {
        not_empty("object", &object)?;
        let Keys { id, relation, subject, aliases, subject_id, object_id, contexts, .. } = k;
        let fact = Fact { id, relation, subject, object, aliases, subject_id, object_id, contexts };
        return Ok(Row::Fact(fact));
    }
    if let Some(prompt) = k.prompt {
        placeholders(&prompt)?;
        let object_final = k.object_final.or_else(|| Some(object_final(&prompt)));
        let Keys { relation, source, weight, lemma, tense, .. } = k;
        return Ok(Row::Prompt(Prompt { relation, prompt, source, weight, lemma, tense, object_final }));
    }
    rest(k)
}

fn rationale<'a>(k: Keys<'a>, context: &Context) -> Result<Row<'a>, Unread> {
    let Some(tokens) = k.tokens else { return Err(Unread::missing("tokens")) };
    let Some(rationales) = k.rationales.or_else(|| Sets::of(k.rationale.or(k.gold)?)) else {
        return Err(Unread::missing("rationales"));
    };
    let count = tokens.len();
    let rationales = match rationales {
        // An empty list means that the row has no gold rationale.
        Sets::One(list) if list.is_empty() => Vec::new(),
        sets => sets.into_sets(count, context)?,
    };
    let indices = rationales.iter().flatten().chain(k.attractors.iter().flatten()).chain(&k.mask);
    inside(indices, tokens.len())?;
    inside(k.alignment.iter().flatten().map(|p| &p[1]), tokens.len())?;
    let Keys { id, text, attractors, mask, answer, other_answers, label, query, dimension, .. } = k;
    let Keys { perturbs, perturbation, partners, alignment, ratio, split, .. } = k;
    Ok(Row::Rationale(Rationale {
        id,
        text,
        tokens,
        rationales,
        attractors,
        mask,
        answer,
        other_answers,
        label,
        query,
        dimension,
        perturbs,
        perturbation,
        partners,
        alignment,
        ratio,
        split,
    }))
}

fn rest(k: Keys<'_>) -> Result<Row<'_>, Unread> {
    if let (Some(relation), Some(templates)) = (&k.relation, &k.templates) {
        templates.iter().try_for_each(|t| placeholders(t))?;
        let (relation, templates) = (relation.clone(), templates.clone());
        let Keys { name, kind, answers, .. } = k;
        return Ok(Row::Relation(Relation { relation, templates, name, kind, answers }));
    }
    if let (Some(word), Some(dimension)) = (&k.word, &k.dimension) {
        let bad = || Unread::new(DropKind::Value, format!("`dimension` is `{}`", dimension.as_str()));
        return Ok(Row::Vector(Vector { word: word.clone(), dimension: dimension.parse().map_err(|_| bad())? }));
    }
    if let Some(metric) = k.metric {
        return Ok(Row::Measure(Measure { metric, value: k.value, labels: k.labels }));
    }
    if k.ranking.is_some() || k.scores.is_some() || k.system.is_some() {
        let Keys { id, system, label, ranking, scores, probabilities, labels, .. } = k;
        return Ok(Row::Prediction(Prediction { id, system, label, ranking, scores, probabilities, labels }));
    }
    let what = "none of the keys `text`, `object`, `prompt`, `templates`, `good`, `tokens`, `ranking`, `metric`, \
        `word`";
    Err(Unread::new(DropKind::Missing, what))
}

fn not_empty(key: &str, text: &str) -> Result<(), Unread> {
    if text.trim().is_empty() { Err(Unread::new(DropKind::Value, format!("`{key}` is empty"))) } else { Ok(()) }
}

/// Formats a row as a line of JSON without the line end; see [`escaped`].
pub fn line(row: &Row<'_>) -> String {
    // Strings, numbers and lists of them always serialize.
    let json = serde_json::to_string(&keys(row.clone())).unwrap_or_default();
    escaped(json)
}

/// Escapes control characters that JSON allows in strings (C1 codes, bidirectional marks), so that no character can control a terminal.
pub fn escaped(json: String) -> String {
    let steers = |c: char| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    if json.is_ascii() && !json.contains('\u{7f}') || !json.chars().any(steers) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    let mut units = [0; 2];
    for c in json.chars() {
        if steers(c) {
            out.extend(c.encode_utf16(&mut units).iter().map(|u| format!("\\u{u:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns a rationale as positions, or as a mask of booleans if the positions could be mistaken for a numeric mask.
fn marks(positions: Vec<u32>, tokens: usize) -> Vec<Mark> {
    if positions.len() == tokens && positions.iter().all(|n| *n <= 1) {
        return vec![Mark::Truth(true); tokens];
    }
    positions.into_iter().map(Mark::Number).collect()
}

fn keys(row: Row<'_>) -> Keys<'_> {
    let none = Keys::default();
    match row {
        Row::Fact(Fact { id, relation, subject, object, aliases, subject_id, object_id, contexts }) => {
            Keys { id, relation, subject, object: Some(object), aliases, subject_id, object_id, contexts, ..none }
        }
        Row::Prompt(Prompt { relation, prompt, source, weight, lemma, tense, object_final }) => {
            Keys { relation, prompt: Some(prompt), source, weight, lemma, tense, object_final, ..none }
        }
        Row::Relation(Relation { relation, templates, name, kind, answers }) => {
            Keys { relation: Some(relation), templates: Some(templates), name, kind, answers, ..none }
        }
        Row::Sentence(Sentence { id, text, split, label, labels, target, forms, choice, twin }) => {
            let (form, other_form) = choice.map(|[right, other]| (right, other)).unzip();
            Keys { id, text: Some(text), split, label, labels, target, forms, form, other_form, twin, ..none }
        }
        Row::Pair(Pair { id, good, bad, paradigm, prefix, forms, labels }) => {
            Keys { id, good: Some(good), bad: Some(bad), paradigm, prefix, forms, labels, ..none }
        }
        Row::Rationale(r) => Keys {
            id: r.id,
            text: r.text,
            rationales: Some(Sets::Several(r.rationales.into_iter().map(|set| marks(set, r.tokens.len())).collect())),
            tokens: Some(r.tokens),
            attractors: r.attractors,
            mask: r.mask,
            answer: r.answer,
            other_answers: r.other_answers,
            label: r.label,
            query: r.query,
            dimension: r.dimension,
            perturbs: r.perturbs,
            perturbation: r.perturbation,
            partners: r.partners,
            alignment: r.alignment,
            ratio: r.ratio,
            split: r.split,
            ..none
        },
        Row::Prediction(Prediction { id, system, label, ranking, scores, probabilities, labels }) => {
            Keys { id, system, label, ranking, scores, probabilities, labels, ..none }
        }
        Row::Measure(Measure { metric, value, labels }) => Keys { metric: Some(metric), value, labels, ..none },
        Row::Vector(Vector { word, dimension }) => {
            Keys { word: Some(word), dimension: Some(dimension.to_string().into()), ..none }
        }
    }
}

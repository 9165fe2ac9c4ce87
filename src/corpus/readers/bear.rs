//! BEAR: facts (`{relation}.jsonl`), `metadata_relations.json`, results (`{relation}_results.jsonl`, `metadata_results.json`).
//!
//! Facts have `predicate_id`, `sub_id`, `sub_label`, `obj_id`, `obj_label`. Relations have `templates` and `answer_space` (a list of
//! answers, or an object that maps identifiers to answers). Results have `instance`, `sub_id`, `answer_idx`, `pll_scores`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, json, stateless};
use super::lama;
use super::row::{Prediction, Relation, Row};
use super::text::{Labels, Text};

pub(crate) const FACTS: Format = Format {
    id: "bear",
    title: "BEAR facts",
    columns: &["predicate_id", "sub_id", "sub_label", "obj_id", "obj_label"],
    framing: Framing::Json,
    recognise: |head| head.has(&["sub_id", "obj_label"]) && !head.has(&["sub_mentions"]),
    parser: |_, context| stateless(context, lama::fact),
};

/// Relations with templates and answers.
pub(crate) const METADATA: Format = Format {
    id: "bear-metadata",
    title: "BEAR relations (metadata_relations.json)",
    columns: &["templates", "answer_space"],
    framing: Framing::Document,
    recognise: |head| head.keys.inner.iter().any(|k| k == "templates") && !head.has(&["templates"]),
    parser: |_, context| stateless(context, metadata),
};

/// Scores computed by a model.
pub(crate) const RESULTS: Format = Format {
    id: "bear-results",
    title: "BEAR results",
    columns: &["instance", "sub_id", "answer_idx", "pll_scores"],
    framing: Framing::Json,
    recognise: |head| head.has(&["answer_idx", "pll_scores"]),
    parser: |_, context| stateless(context, result),
};

/// Metadata of results.
pub(crate) const RUN: Format = Format {
    id: "bear-run",
    title: "BEAR run (metadata_results.json)",
    columns: &["model_name_or_path", "reduction", "templates", "template_index", "timestamp", "dataset"],
    framing: Framing::Document,
    recognise: |head| head.has(&["model_name_or_path", "reduction"]),
    parser: |_, context| stateless(context, run),
};

#[derive(Deserialize)]
struct RelationKeys<'a> {
    #[serde(borrow)]
    templates: Vec<Text<'a>>,
    answer_space: Option<Answers<'a>>,
    /// The answers in files that also have `answer_space_ids`.
    answer_space_labels: Option<Answers<'a>>,
    relation_type: Option<Text<'a>>,
}

/// A list of answers, or an object whose values are the answers.
#[derive(Deserialize)]
#[serde(untagged, expecting = "answers must be a list of strings or an object of strings")]
enum Answers<'a> {
    #[serde(borrow)]
    List(Vec<Text<'a>>),
    Named(Labels<'a>),
}

fn metadata(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let relations: BTreeMap<String, RelationKeys<'_>> = json(text)?;
    for (name, keys) in relations {
        let answers = keys.answer_space.or(keys.answer_space_labels).map(|a| match a {
            Answers::List(list) => list,
            Answers::Named(labels) => labels.0.into_iter().map(|(_, answer)| answer).collect(),
        });
        if keys.templates.is_empty() {
            return Err(Unread::new(DropKind::Value, format!("relation `{name}` has no templates")));
        }
        keys.templates.iter().try_for_each(|t| lama::placeholders(t))?;
        emit(Row::Relation(Relation {
            relation: name.into(),
            templates: keys.templates,
            name: None,
            kind: keys.relation_type.as_deref().and_then(|k| lama::kind(k).ok()),
            answers,
        }));
    }
    Ok(())
}

#[derive(Deserialize)]
struct ResultKeys<'a> {
    #[serde(borrow)]
    sub_id: Option<Text<'a>>,
    answer_idx: u32,
    pll_scores: Vec<f64>,
}

fn result(text: &str, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: ResultKeys<'_> = json(text)?;
    let answers = keys.pll_scores.len();
    if keys.answer_idx as usize >= answers {
        let what = format!("`answer_idx` is {}, but there are {answers} answers", keys.answer_idx);
        return Err(Unread::new(DropKind::Index, what));
    }
    let mut ranking: Vec<u32> = (0..answers as u32).collect();
    ranking.sort_by(|a, b| keys.pll_scores[*b as usize].total_cmp(&keys.pll_scores[*a as usize]));
    let labels = context.relation.as_deref().map(|r| Labels(vec![("relation".into(), r.into())]));
    emit(Row::Prediction(Prediction {
        id: keys.sub_id,
        label: Some(keys.answer_idx.to_string().into()),
        ranking: Some(ranking),
        scores: Some(keys.pll_scores),
        labels,
        ..Prediction::default()
    }));
    Ok(())
}

#[derive(Deserialize)]
struct RunKeys<'a> {
    #[serde(borrow)]
    model_name_or_path: Text<'a>,
    reduction: Option<Text<'a>>,
    timestamp: Option<Text<'a>>,
    dataset: Option<Text<'a>>,
}

fn run(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: RunKeys<'_> = json(text)?;
    let named = [("reduction", keys.reduction), ("timestamp", keys.timestamp), ("dataset", keys.dataset)];
    let labels = named.into_iter().filter_map(|(k, v)| v.map(|v| (k.into(), v))).collect();
    emit(Row::Prediction(Prediction {
        system: Some(keys.model_name_or_path),
        labels: Some(Labels(labels)),
        ..Prediction::default()
    }));
    Ok(())
}

//! LAMA: facts (T-REx, Google-RE, SQuAD) as JSON lines, and `relations.jsonl`.
//!
//! T-REx rows have `uuid`, `sub_uri`, `sub_label`, `obj_uri`, `obj_label`, `predicate_id` and `evidences`, whose `masked_sentence`s become
//! contexts. Google-RE rows add `sub_aliases` and `masked_sentences`. SQuAD rows have `masked_sentences`, `obj_label`, `id` and
//! `sub_label`. Facts of ParaRel, causalEval and BEAR have the same form and are parsed here too.

use serde::Deserialize;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, json, stateless};
use super::row::{Fact, Relation, RelationKind, Row};
use super::table::rows;
use super::text::Text;

pub(crate) const FACTS: Format = Format {
    id: "lama",
    title: "LAMA facts (T-REx, Google-RE, SQuAD)",
    columns: &[
        "predicate_id|relation|pred",
        "sub_label|sub",
        "obj_label",
        "uuid|id",
        "sub_uri",
        "obj_uri",
        "sub_aliases",
        "evidences",
        "masked_sentences",
    ],
    framing: Framing::Json,
    recognise: |head| {
        // In mLAMA, only the file name identifies the relation.
        let by = [
            "predicate_id",
            "relation",
            "pred",
            "evidences",
            "masked_sentences",
            "sub_aliases",
            "lineid",
            "from_english",
        ];
        head.has(&["obj_label"]) && !head.has(&["sub_mentions"]) && by.iter().any(|k| head.has(&[k]))
    },
    parser: |_, context| stateless(context, fact),
};

pub(crate) const RELATIONS: Format = Format {
    id: "lama-relations",
    title: "LAMA relations",
    columns: &["relation|predicate_id", "template", "label", "type"],
    framing: Framing::Json,
    recognise: |head| head.has(&["template"]) && (head.has(&["relation"]) || head.has(&["predicate_id"])),
    parser: |_, context| stateless(context, relation),
};

/// Relations as a table with a header.
pub(crate) const RELATION_TABLE: Format = Format {
    id: "relation-table",
    title: "relations (table with a header)",
    columns: RELATIONS.columns,
    framing: Framing::Lines,
    recognise: |head| head.header(&["template"]) && (head.header(&["relation"]) || head.header(&["predicate_id"])),
    parser: |head, _| {
        rows(head, |fields, emit| {
            let optional = |column: &str| fields.optional(column).map(|raw| fields.plain(raw));
            let relation = fields.text("relation").or_else(|_| fields.text("predicate_id"))?;
            let template = fields.text("template")?;
            emit_relation(RelationKeys { relation, template, label: optional("label"), kind: optional("type") }, emit)
        })
    },
};

/// Column names in a table of facts.
const COLUMNS: [&[&str]; 4] = [
    &["sub_label", "subject", "sub", "head"],
    &["obj_label", "object", "obj", "tail"],
    &["predicate_id", "relation", "predicate", "pred"],
    &["uuid", "id"],
];

pub(crate) const FACT_TABLE: Format = Format {
    id: "fact-table",
    title: "facts (table with a header)",
    columns: &[
        "sub_label|subject|sub|head",
        "obj_label|object|obj|tail",
        "predicate_id|relation|predicate|pred",
        "uuid|id",
    ],
    framing: Framing::Lines,
    recognise: |head| COLUMNS[..2].iter().all(|names| names.iter().any(|name| head.header(&[name]))),
    parser: |head, _| {
        rows(head, |fields, emit| {
            let [subject, object, relation, id] =
                COLUMNS.map(|names| names.iter().find_map(|name| fields.optional(name)).map(|raw| fields.plain(raw)));
            let object = object.filter(|o| !o.trim().is_empty()).ok_or_else(|| Unread::missing("obj_label"))?;
            let subject = Some(subject.ok_or_else(|| Unread::missing("sub_label"))?);
            emit(Row::Fact(Fact { id, relation, subject, object, ..Fact::default() }));
            Ok(())
        })
    },
};

#[derive(Deserialize)]
struct FactKeys<'a> {
    #[serde(borrow)]
    sub_label: Option<Text<'a>>,
    sub: Option<Text<'a>>,
    obj_label: Text<'a>,
    uuid: Option<Text<'a>>,
    id: Option<Text<'a>>,
    predicate_id: Option<Text<'a>>,
    relation: Option<Text<'a>>,
    pred: Option<Text<'a>>,
    sub_uri: Option<Text<'a>>,
    sub_id: Option<Text<'a>>,
    obj_uri: Option<Text<'a>>,
    obj_id: Option<Text<'a>>,
    sub_aliases: Option<Vec<Text<'a>>>,
    sub_mentions: Option<Vec<Text<'a>>>,
    evidences: Option<Vec<Evidence<'a>>>,
    masked_sentences: Option<Vec<Text<'a>>>,
}

#[derive(Deserialize)]
struct Evidence<'a> {
    #[serde(borrow)]
    masked_sentence: Option<Text<'a>>,
}

/// Parses a fact in LAMA's form. Additional names of the subject (`sub_aliases`, or `sub_mentions` other than the label) become its
/// aliases.
pub(crate) fn fact(text: &str, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: FactKeys<'_> = json(text)?;
    if keys.obj_label.trim().is_empty() {
        return Err(Unread::new(DropKind::Value, "`obj_label` is empty"));
    }
    // ConceptNet uses the key `sub`.
    let masked = keys.masked_sentences.as_ref().is_some_and(|all| !all.is_empty());
    // LAMA's SQuAD rows all have the subject `Squad`.
    let is_subject = |s: &Text<'_>| !s.trim().is_empty() && (!masked || s.as_str() != "Squad");
    let subject = keys.sub_label.or(keys.sub).filter(is_subject);
    let mut contexts = keys.masked_sentences;
    if contexts.is_none() && keys.evidences.is_some() {
        contexts = keys.evidences.map(|e| e.into_iter().filter_map(|e| e.masked_sentence).collect());
    }
    if subject.is_none() && contexts.as_ref().is_none_or(Vec::is_empty) {
        return Err(Unread::new(DropKind::Missing, "neither `sub_label` nor `masked_sentences`"));
    }
    let mut aliases = keys.sub_aliases.or(keys.sub_mentions);
    if let Some(names) = &mut aliases {
        names.retain(|n| !n.is_empty() && Some(n) != subject.as_ref());
    }
    let relation = keys.predicate_id.or(keys.relation).or(keys.pred);
    emit(Row::Fact(Fact {
        id: keys.uuid.or(keys.id),
        relation: relation.or_else(|| context.relation_of_facts().map(Text::from)),
        subject,
        object: keys.obj_label,
        aliases,
        subject_id: keys.sub_uri.or(keys.sub_id),
        object_id: keys.obj_uri.or(keys.obj_id),
        contexts,
    }));
    Ok(())
}

#[derive(Deserialize)]
struct RelationKeys<'a> {
    #[serde(borrow, alias = "predicate_id")]
    relation: Text<'a>,
    template: Text<'a>,
    label: Option<Text<'a>>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
}

fn relation(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    emit_relation(json(text)?, emit)
}

fn emit_relation(keys: RelationKeys<'_>, emit: &mut Emit<'_>) -> Result<(), Unread> {
    placeholders(&keys.template)?;
    emit(Row::Relation(Relation {
        relation: keys.relation,
        templates: vec![keys.template],
        name: keys.label,
        kind: keys.kind.as_deref().filter(|k| !k.trim().is_empty()).map(kind).transpose()?,
        answers: None,
    }));
    Ok(())
}

/// Parses 1-1, N-1 or N-M, ignoring case; a colon is accepted instead of the hyphen. 1-N counts as N-M, because its subjects have several
/// objects.
pub(crate) fn kind(name: &str) -> Result<RelationKind, Unread> {
    match name.trim().to_ascii_uppercase().replace(':', "-").as_str() {
        "1-1" => Ok(RelationKind::OneToOne),
        "N-1" => Ok(RelationKind::ManyToOne),
        "N-M" | "1-N" | "N-N" | "M-N" => Ok(RelationKind::ManyToMany),
        _ => Err(Unread::new(DropKind::Label, format!("type `{name}`; expected 1-1, N-1 or N-M"))),
    }
}

/// Checks that a prompt has one placeholder for the subject and one for the object.
///
/// # Errors
/// [`Unread`] unless `[X]` and `[Y]` occur exactly once each.
pub(crate) fn placeholders(prompt: &str) -> Result<(), Unread> {
    let once = |what: &str| prompt.matches(what).count() == 1;
    if once("[X]") && once("[Y]") {
        return Ok(());
    }
    Err(Unread::new(DropKind::Value, format!("`{prompt}`; expected a prompt with [X] and [Y] once each")))
}

/// True if nothing or only a full stop follows `[Y]`.
pub(crate) fn object_final(prompt: &str) -> bool {
    prompt.split_once("[Y]").is_some_and(|(_, rest)| matches!(rest.trim(), "" | "."))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;

    use super::super::Reading;
    use super::*;

    /// Regression: only JSON lines used to be recognised, and empty types used to be rejected.
    #[test]
    fn relations_may_be_a_table() {
        for text in [
            "relation,template\nP36,\"[X], capital [Y] .\"\n",
            "template\tRelation\ttype\n[X], capital [Y] .\tP36\t\n",
            "{\"relation\": \"P36\", \"template\": \"[X], capital [Y] .\"}\n",
            "{\"relation\": \"P36\", \"template\": \"[X], capital [Y] .\", \"type\": \"\"}\n",
        ] {
            let source = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
            let mut found = Vec::new();
            let report = Reading::stream(source, Path::new("relations")).and_then(|r| {
                r.rows(&mut |row, _| {
                    if let Row::Relation(r) = row {
                        found.push((r.relation.to_string(), r.templates[0].to_string(), r.kind));
                    }
                    ControlFlow::Continue(())
                })
            });
            assert_eq!(found, [("P36".into(), "[X], capital [Y] .".into(), None)], "{text}: {report:?}");
        }
    }

    /// Regression: a row whose type was spelled differently used to be dropped with its template.
    #[test]
    fn types_are_read_in_several_spellings() {
        for (name, wanted) in [
            ("1-1", RelationKind::OneToOne),
            ("n-1", RelationKind::ManyToOne),
            ("N:M", RelationKind::ManyToMany),
            (" 1-N", RelationKind::ManyToMany),
        ] {
            assert_eq!(kind(name).unwrap(), wanted, "{name}");
        }
        assert!(kind("many").unwrap_err().detail.contains("expected 1-1, N-1 or N-M"));
    }
}

//! ParaRel: patterns (`graphs_json/P19.jsonl`) and filtered facts (`trex_lms_vocab/P19.jsonl`).
//!
//! Only the file name identifies the relation. Entailment graphs (`.graph`) are pickles and are never opened.

use serde::Deserialize;

use super::error::Unread;
use super::format::{Context, Emit, Format, Framing, json, stateless};
use super::lama::{self, object_final, placeholders};
use super::row::{Prompt, Row};
use super::text::Text;

/// Patterns with lemma and tense.
pub(crate) const PATTERNS: Format = Format {
    id: "pararel",
    title: "ParaRel patterns",
    columns: &["pattern", "lemma", "extended_lemma", "tense"],
    framing: Framing::Json,
    recognise: |head| head.has(&["pattern"]) && ["lemma", "extended_lemma", "tense"].iter().any(|k| head.has(&[k])),
    parser: |_, context| stateless(context, pattern),
};

/// Facts whose words are in the vocabularies of all models.
pub(crate) const FACTS: Format = Format {
    id: "pararel-facts",
    title: "ParaRel facts (trex_lms_vocab)",
    columns: &["sub_label", "obj_label", "uuid"],
    framing: Framing::Json,
    recognise: |head| head.has(&["sub_label", "obj_label"]) && head.keys.top.len() <= 3,
    parser: |_, context| stateless(context, lama::fact),
};

#[derive(Deserialize)]
pub(super) struct PatternKeys<'a> {
    #[serde(borrow)]
    pattern: Text<'a>,
    lemma: Option<Text<'a>>,
    extended_lemma: Option<Text<'a>>,
    tense: Option<Text<'a>>,
}

/// Parses a pattern; causalEval's prompts have the same key.
pub(crate) fn pattern(text: &str, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: PatternKeys<'_> = json(text)?;
    placeholders(&keys.pattern)?;
    emit(Row::Prompt(Prompt {
        relation: context.relation.as_deref().map(Text::from),
        object_final: Some(object_final(&keys.pattern)),
        prompt: keys.pattern,
        source: None,
        weight: None,
        lemma: keys.extended_lemma.or(keys.lemma),
        tense: keys.tense,
    }));
    Ok(())
}

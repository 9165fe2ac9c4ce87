//! LPAQA: prompts with `[X]` and `[Y]`, one per line (`manual_paraphrase/P19.txt`) or as JSON lines with `template` and `weight`
//! (`mine/P19.jsonl`, `paraphrase/P19.jsonl`). Only the file name identifies the relation.

use serde::Deserialize;

use super::error::Unread;
use super::format::{Context, Emit, Format, Framing, json, stateless};
use super::lama::{object_final, placeholders};
use super::row::{Prompt, Row};
use super::text::Text;

pub(crate) const WEIGHTED: Format = Format {
    id: "lpaqa-weighted",
    title: "LPAQA prompts with weights",
    columns: &["template", "weight"],
    framing: Framing::Json,
    recognise: |head| head.has(&["template", "weight"]) && !head.has(&["type"]),
    parser: |_, context| stateless(context, weighted),
};

pub(crate) const LINES: Format = Format {
    id: "lpaqa",
    title: "LPAQA prompts, one per line",
    columns: &["a prompt with [X] and [Y]"],
    framing: Framing::Lines,
    recognise: |head| {
        let line = head.lines.first().copied().unwrap_or_default();
        !line.starts_with('{') && !line.contains('\t') && placeholders(line).is_ok()
    },
    parser: |_, context| stateless(context, line),
};

#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(borrow)]
    template: Text<'a>,
    weight: Option<f64>,
    relation: Option<Text<'a>>,
}

fn weighted(text: &str, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: Keys<'_> = json(text)?;
    row(keys.template, keys.weight, keys.relation, context, emit)
}

fn line(text: &str, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    row(text.trim().into(), None, None, context, emit)
}

fn row<'a>(
    prompt: Text<'a>,
    weight: Option<f64>,
    relation: Option<Text<'a>>,
    context: &Context,
    emit: &mut Emit<'_>,
) -> Result<(), Unread> {
    placeholders(&prompt)?;
    emit(Row::Prompt(Prompt {
        relation: relation.or_else(|| context.relation.clone().map(Text::from)),
        object_final: Some(object_final(&prompt)),
        prompt,
        weight,
        ..Prompt::default()
    }));
    Ok(())
}

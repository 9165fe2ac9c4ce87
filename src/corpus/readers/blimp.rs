//! BLiMP: minimal pairs as JSON lines.

use serde::Deserialize;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, json, stateless};
use super::row::{Pair, Row};
use super::text::{Labels, Text};

/// Minimal pairs.
pub(crate) const FORMAT: Format = Format {
    id: "blimp",
    title: "BLiMP minimal pairs",
    columns: &[
        "sentence_good",
        "sentence_bad",
        "UID",
        "field",
        "linguistics_term",
        "pairID",
        "one_prefix_prefix",
        "one_prefix_word_good",
        "one_prefix_word_bad",
    ],
    framing: Framing::Json,
    recognise: |head| head.has(&["sentence_good", "sentence_bad"]),
    parser: |_, context| stateless(context, pair),
};

#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(borrow)]
    sentence_good: Text<'a>,
    sentence_bad: Text<'a>,
    #[serde(rename = "UID")]
    uid: Option<Text<'a>>,
    #[serde(rename = "pairID")]
    pair: Option<Text<'a>>,
    field: Option<Text<'a>>,
    linguistics_term: Option<Text<'a>>,
    one_prefix_prefix: Option<Text<'a>>,
    one_prefix_word_good: Option<Text<'a>>,
    one_prefix_word_bad: Option<Text<'a>>,
}

fn pair(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: Keys<'_> = json(text)?;
    if keys.sentence_good.trim().is_empty() || keys.sentence_bad.trim().is_empty() {
        return Err(Unread::new(DropKind::Value, "a sentence of the pair is empty"));
    }
    let named = [("field", keys.field), ("term", keys.linguistics_term)];
    let labels: Vec<_> = named.into_iter().filter_map(|(k, v)| v.map(|v| (k.into(), v))).collect();
    emit(Row::Pair(Pair {
        id: keys.pair,
        good: keys.sentence_good,
        bad: keys.sentence_bad,
        paradigm: keys.uid,
        prefix: keys.one_prefix_prefix,
        forms: keys.one_prefix_word_good.zip(keys.one_prefix_word_bad).map(|(good, bad)| [good, bad]),
        labels: (!labels.is_empty()).then_some(Labels(labels)),
    }));
    Ok(())
}

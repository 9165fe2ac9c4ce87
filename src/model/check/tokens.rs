//! Checks of token ids, spellings, offsets and decoding.

use super::expected::{Expected, Json};
use super::report::Table;
use super::{Model, Result};
use crate::tokenizer::{Encoding, Tokenizer};

/// Compares the tokenizer's output for the texts of the file.
pub(super) fn compare(model: &Model, expected: &Expected, table: &mut Table) -> Result<()> {
    let json = expected.json();
    let Ok(tokenizer) = model.tokenizer() else {
        table.not_checked("token ids", "the folder has no tokenizer");
        return Ok(());
    };
    if json.field("texts").is_there() {
        let texts = json.field("texts").some_items()?;
        for (i, text) in texts.iter().enumerate() {
            let at = |key: &str| json.field(key).item(i);
            let place = format!("text {i}");
            let e = tokenizer.encode_closed(text.text()?)?;
            encoding(&e, &at("ids"), &at("tokens"), &at("offsets"), &place, table)?;
            let want: Vec<bool> = at("special_tokens_mask").ids()?.iter().map(|&m| m == 1).collect();
            table.equal("special tokens", &place, &e.is_special, &want);
        }
    } else {
        table.not_checked("token ids", "expected.json has no texts");
    }
    if json.field("tokenizer_cases").is_there() {
        for (i, case) in json.field("tokenizer_cases").some_items()?.iter().enumerate() {
            let place = format!("tokenizer case {i}");
            let e = tokenizer.encode_closed(case.field("text").text()?)?;
            encoding(&e, &case.field("ids"), &case.field("tokens"), &case.field("offsets"), &place, table)?;
            let decoded = tokenizer.decode(&e.ids, true)?;
            table.equal("decoded texts", &place, &[decoded.as_str()], &[case.field("decoded").text()?]);
        }
    }
    let pair = json.field("tokenizer_pair");
    if pair.is_there() {
        sentence_pair(tokenizer, &pair, table)?;
    }
    if json.field("mask_id").is_there() {
        let want = json.field("mask_id").whole(0, u32::MAX as usize)? as u32;
        table.equal("special tokens", "mask", &[tokenizer.special().mask], &[Some(want)]);
    }
    Ok(())
}

fn encoding(
    e: &Encoding,
    ids: &Json<'_>,
    tokens: &Json<'_>,
    offsets: &Json<'_>,
    place: &str,
    table: &mut Table,
) -> Result<()> {
    table.equal("token ids", place, &e.ids, &ids.ids()?);
    table.equal("tokens", place, &e.tokens, &tokens.texts()?);
    table.equal("offsets in the text", place, &e.offsets, &offsets.offsets()?);
    Ok(())
}

fn sentence_pair(tokenizer: &Tokenizer, pair: &Json<'_>, table: &mut Table) -> Result<()> {
    let texts = pair.field("texts");
    let e = tokenizer.encode_pair(texts.item(0).text()?, texts.item(1).text()?)?;
    table.equal("token ids", "sentence pair", &e.ids, &pair.field("ids").ids()?);
    table.equal("tokens", "sentence pair", &e.tokens, &pair.field("tokens").texts()?);
    table.equal("token types of a pair", "", &e.types, &pair.field("type_ids").ids()?);
    Ok(())
}

//! BLiMP: minimal pairs as JSON lines, or as a table with the same columns.

use serde::Deserialize;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, has_name, json, stateless};
use super::row::{Pair, Row};
use super::table::rows;
use super::text::{Labels, Text};

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
    recognise: |head| NAMES[..2].iter().any(|names| head.has(names)),
    parser: |_, context| stateless(context, pair),
};

/// Minimal pairs as a table with a header; the sentences may also be named `good` and `bad`.
pub(crate) const TABLE: Format = Format {
    id: "blimp-table",
    title: "minimal pairs (table with a header)",
    columns: &["sentence_good|good_sentence|good", "sentence_bad|bad_sentence|bad", "UID|paradigm", "pairID|id"],
    framing: Framing::Lines,
    recognise: |head| names(&head.columns).is_some(),
    parser: |head, _| {
        let names = names(&head.columns).unwrap_or(NAMES[0]);
        rows(head, move |fields, emit| {
            let [good, bad] = [fields.text(names[0])?, fields.text(names[1])?];
            not_empty(&good, &bad)?;
            let either =
                |a: &str, b: &str| fields.text(a).or_else(|_| fields.text(b)).ok().filter(|t| !t.trim().is_empty());
            let (id, paradigm) = (either("pairID", "id"), either("UID", "paradigm"));
            emit(Row::Pair(Pair { id, good, bad, paradigm, prefix: None, forms: None, labels: None }));
            Ok(())
        })
    },
};

/// Column names of the two sentences.
const NAMES: [[&str; 2]; 3] = [["sentence_good", "sentence_bad"], ["good_sentence", "bad_sentence"], ["good", "bad"]];

fn names(columns: &[&str]) -> Option<[&'static str; 2]> {
    NAMES.into_iter().find(|names| names.iter().all(|n| has_name(columns, n)))
}

fn not_empty(good: &Text<'_>, bad: &Text<'_>) -> Result<(), Unread> {
    match good.trim().is_empty() || bad.trim().is_empty() {
        true => Err(Unread::new(DropKind::Value, "a sentence of the pair is empty")),
        false => Ok(()),
    }
}

#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(borrow, alias = "good_sentence")]
    sentence_good: Text<'a>,
    #[serde(alias = "bad_sentence")]
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
    not_empty(&keys.sentence_good, &keys.sentence_bad)?;
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

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::Reading;
    use super::*;

    /// Regression: tables of minimal pairs used to be unrecognised.
    #[test]
    fn pairs_are_parsed_from_csv_and_tsv() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pairs");
        for (text, id) in [
            ("UID,pairID,sentence_good,sentence_bad\nu,7,\"Dogs, all, bark\",Dogs barks\nu,8,,x\n", "7"),
            ("good\tbad\tparadigm\tid\nDogs, all, bark\tDogs barks\tu\t7\n", "7"),
            ("bad;good;paradigm\nDogs barks;Dogs, all, bark;u\n", ""),
        ] {
            std::fs::write(&path, text).unwrap();
            let reading = Reading::open(&path).unwrap();
            assert_eq!(reading.format().id, "blimp-table", "{text}");
            let mut found = Vec::new();
            let report = reading.rows(&mut |row, _| {
                if let Row::Pair(p) = row {
                    let own = |t: Option<Text<'_>>| t.map_or_else(String::new, |t| t.to_string());
                    found.push([p.good.to_string(), p.bad.to_string(), own(p.paradigm), own(p.id)]);
                }
                ControlFlow::Continue(())
            });
            assert_eq!(found, [["Dogs, all, bark", "Dogs barks", "u", id]], "{text}");
            assert_eq!(report.unwrap().dropped.total(), u64::from(text.contains("u,8")), "{text}");
        }
    }
}

//! Tokens with saliency scores, computed by any program: one input per row, or an original with its perturbed partners.
//!
//! A row has `tokens` and `scores`. Optional keys are `gold` (token indices, or several sets, any one of which suffices), `mask`, `id`,
//! `dimension`, `ratio` (length of the predicted rationale to that of the input) and `system`; for a single perturbed input also
//! `perturbs`, `perturbation` and `alignment`. In a pair, these keys have the prefixes `original_` and `perturbed_`, or are in the objects
//! `original` and `perturbed` (one object or a list).
//!
//! Alternative names are `attributions` and `saliency` for scores, `sent_token` for tokens, and `rationale`, `rationales` and
//! `rationale_ids` for gold. Captum does not write files, so fields of its `LLMAttributionResult` (`input_tokens`, `seq_attr`) and
//! `VisualizationDataRecord` (`raw_input_ids`, `word_attributions`) are accepted too.

use serde::Deserialize;
use serde_json::Value;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, Head, Parse, json};
use super::rationale::{Sets, inside};
use super::row::{Prediction, Rationale, Row};
use super::text::Text;

pub(crate) const FORMAT: Format = Format {
    id: "scored-rationales",
    title: "words with saliency scores",
    columns: &[
        "tokens|original_tokens",
        "scores|original_scores",
        "gold|rationale|rationales",
        "perturbed_tokens",
        "perturbed_scores",
        "perturbed_gold",
        "alignment",
        "perturbation",
        "dimension",
        "ratio",
        "mask",
        "id",
    ],
    framing: Framing::Json,
    recognise,
    parser: |_, context| Ok(Box::new(Scored { rows: 0, context: context.clone() })),
};

fn recognise(head: &Head<'_>) -> bool {
    const TOKENS: [&str; 6] =
        ["tokens", "original_tokens", "sent_token", "input_tokens", "raw_input_ids", "post_tokens"];
    const SCORES: [&str; 6] =
        ["scores", "original_scores", "attributions", "saliency", "seq_attr", "word_attributions"];
    let any = |keys: &[&str]| keys.iter().any(|k| head.has(&[k]));
    any(&TOKENS) && any(&SCORES) || head.has(&["original", "perturbed"])
}

/// One input of a pair.
#[derive(Deserialize)]
struct Side<'a> {
    #[serde(borrow, alias = "name", alias = "sent_id")]
    id: Option<Text<'a>>,
    #[serde(alias = "sent_token")]
    tokens: Vec<Text<'a>>,
    #[serde(alias = "attributions", alias = "saliency")]
    scores: Vec<f64>,
    #[serde(alias = "rationale_ids", alias = "rationales")]
    gold: Option<Sets>,
    #[serde(alias = "mask_index")]
    mask: Option<u32>,
    perturbation: Option<Text<'a>>,
    alignment: Option<Vec<[Option<u32>; 2]>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a sentence with its scores, or a list of them")]
enum Sides<'a> {
    #[serde(borrow)]
    One(Box<Side<'a>>),
    #[serde(borrow)]
    Several(Vec<Side<'a>>),
}

#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(alias = "post_id")]
    sent_id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    #[serde(
        alias = "original_tokens",
        alias = "sent_token",
        alias = "input_tokens",
        alias = "raw_input_ids",
        alias = "post_tokens"
    )]
    tokens: Option<Vec<Text<'a>>>,
    #[serde(
        alias = "original_scores",
        alias = "attributions",
        alias = "saliency",
        alias = "seq_attr",
        alias = "word_attributions"
    )]
    scores: Option<Vec<f64>>,
    #[serde(alias = "original_gold", alias = "rationale_ids", alias = "rationales")]
    gold: Option<Sets>,
    /// Alternative key to `gold`; in files from other programs, its value may have a different type.
    rationale: Option<Value>,
    #[serde(alias = "mask_index", alias = "original_mask")]
    mask: Option<u32>,
    answer: Option<Text<'a>>,
    dimension: Option<Text<'a>>,
    ratio: Option<f64>,
    #[serde(alias = "method")]
    system: Option<Text<'a>>,
    perturbation: Option<Text<'a>>,
    alignment: Option<Vec<[Option<u32>; 2]>>,
    #[serde(alias = "ori_id")]
    perturbs: Option<Text<'a>>,
    #[serde(alias = "rel_ids")]
    partners: Option<Vec<Text<'a>>>,
    perturbed_tokens: Option<Vec<Text<'a>>>,
    perturbed_scores: Option<Vec<f64>>,
    perturbed_gold: Option<Sets>,
    perturbed_mask: Option<u32>,
    #[serde(borrow)]
    original: Option<Side<'a>>,
    #[serde(borrow)]
    perturbed: Option<Sides<'a>>,
}

struct Scored {
    /// Number of rows so far; it names rows without an identifier.
    rows: u64,
    context: Context,
}

impl Parse for Scored {
    fn piece(&mut self, text: &str, emit: &mut Emit<'_>) -> Result<(), Unread> {
        self.rows += 1;
        let mut keys: Keys<'_> = json(text)?;
        let partners = partners(&mut keys)?;
        let original = match keys.original {
            Some(side) => side,
            None => Side {
                id: None,
                tokens: keys.tokens.ok_or_else(|| Unread::missing("tokens"))?,
                scores: keys.scores.ok_or_else(|| Unread::missing("scores"))?,
                gold: keys.gold.or_else(|| Sets::of(keys.rationale?)),
                mask: keys.mask,
                perturbation: keys.perturbation.clone(),
                alignment: keys.alignment.clone(),
            },
        };
        if keys.ratio.is_some_and(|r| !(0.0..=1.0).contains(&r)) {
            return Err(Unread::new(DropKind::Value, "`ratio` is not between 0 and 1"));
        }
        let id = keys
            .id
            .or(keys.sent_id)
            .or(keys.name)
            .or_else(|| original.id.clone())
            .unwrap_or_else(|| format!("row {}", self.rows).into());
        let count = original.tokens.len();
        let name = |k: usize, side: &Side<'_>| -> Text<'static> {
            match &side.id {
                Some(own) => own.to_string().into(),
                None => format!("{id}:{}", k + 1).into(),
            }
        };
        let names: Vec<Text<'static>> = partners.iter().enumerate().map(|(k, p)| name(k, p)).collect();
        let alone = names.is_empty();
        let mut rows = vec![rows_of(original, id.clone(), keys.system.clone(), (None, &self.context))?];
        for (partner, name) in partners.into_iter().zip(&names) {
            rows.push(rows_of(partner, name.clone(), keys.system.clone(), (Some(count), &self.context))?);
        }
        // All inputs are checked before any is emitted; half a pair would look like a missing partner.
        for (k, (mut rationale, prediction)) in rows.into_iter().enumerate() {
            (rationale.dimension, rationale.ratio) = (keys.dimension.clone(), keys.ratio);
            if k > 0 {
                rationale.perturbs = Some(id.clone());
            } else {
                rationale.answer = keys.answer.clone();
                rationale.partners = if alone { keys.partners.take() } else { Some(names.clone()) };
                rationale.perturbs = keys.perturbs.take();
                if !alone {
                    (rationale.perturbation, rationale.alignment) = (None, None);
                }
            }
            emit(Row::Rationale(rationale));
            emit(Row::Prediction(prediction));
        }
        Ok(())
    }
}

/// Returns the partners that the row of an original contains.
fn partners<'a>(keys: &mut Keys<'a>) -> Result<Vec<Side<'a>>, Unread> {
    let flat = keys.perturbed_tokens.take();
    let mut sides = match keys.perturbed.take() {
        None => Vec::new(),
        Some(Sides::One(side)) => vec![*side],
        Some(Sides::Several(sides)) => sides,
    };
    if let Some(tokens) = flat {
        let scores = keys.perturbed_scores.take().ok_or_else(|| Unread::missing("perturbed_scores"))?;
        let (gold, mask) = (keys.perturbed_gold.take(), keys.perturbed_mask);
        sides.push(Side { id: None, tokens, scores, gold, mask, perturbation: None, alignment: None });
    }
    // Pair-level keys of the row belong to its only partner.
    if let [side] = &mut sides[..] {
        side.perturbation = side.perturbation.take().or_else(|| keys.perturbation.clone());
        side.alignment = side.alignment.take().or_else(|| keys.alignment.clone());
    }
    Ok(sides)
}

/// Returns the rows for one input. For a partner, `original` is the number of tokens in its original.
fn rows_of<'a>(
    side: Side<'a>,
    id: Text<'a>,
    system: Option<Text<'a>>,
    (original, context): (Option<usize>, &Context),
) -> Result<(Rationale<'a>, Prediction<'a>), Unread> {
    let words = side.tokens.len();
    if side.scores.len() != words {
        let what = format!("{} scores for {words} tokens", side.scores.len());
        return Err(Unread::new(DropKind::Value, what));
    }
    // A missing gold rationale differs from an empty one.
    let rationales = side.gold.map_or(Ok(Vec::new()), |gold| gold.into_sets(side.tokens.len(), context))?;
    inside(rationales.iter().flatten().chain(&side.mask), words)?;
    let pairs = |pairs: Vec<[Option<u32>; 2]>| -> Vec<[u32; 2]> {
        pairs.into_iter().filter_map(|[a, b]| Some([a?, b?])).collect()
    };
    let alignment = side.alignment.map(pairs);
    inside(alignment.iter().flatten().map(|p| &p[1]), words)?;
    if let Some(original) = original {
        inside(alignment.iter().flatten().map(|p| &p[0]), original)?;
    }
    let rationale = Rationale {
        id: Some(id.clone()),
        tokens: side.tokens,
        rationales,
        mask: side.mask,
        perturbation: side.perturbation,
        alignment,
        ..Rationale::default()
    };
    Ok((rationale, Prediction { id: Some(id), system, scores: Some(side.scores), ..Prediction::default() }))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;

    use super::super::{DropKind, Reading, Report};
    use super::*;

    /// Returns the identifiers of the inputs with their numbers of scores, and the report.
    fn read(text: &str) -> (Vec<(String, usize)>, Report) {
        let source = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        let mut found = Vec::new();
        let report = Reading::stream(source, Path::new("x.jsonl")).unwrap().rows(&mut |row, _| {
            if let Row::Prediction(p) = row {
                found.push((p.id.unwrap().to_string(), p.scores.unwrap().len()));
            }
            ControlFlow::Continue(())
        });
        (found, report.unwrap())
    }

    const GOOD: &str = r#"{"tokens": ["a", "b"], "scores": [1, 0]}"#;

    #[test]
    fn pair_has_an_original_and_partners() {
        let pair = r#"{"id": 7, "name": "x", "original": {"tokens": ["a"], "scores": [1]}, "perturbed": [{"tokens": ["b"], "scores": [1]}, {"id": "p", "tokens": ["c"], "scores": [2]}]}"#;
        let (found, report) = read(&format!("{pair}\n{GOOD}\n"));
        let names: Vec<&str> = found.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!((names, report.dropped.total()), (vec!["7", "7:1", "p", "row 2"], 0));
    }

    /// Regression: a mask under the key `rationale` used to be ignored without a message.
    #[test]
    fn rationale_key_is_gold_unless_it_is_text() {
        let gold = |row: &str| {
            let source = Box::new(std::io::Cursor::new(row.as_bytes().to_vec()));
            let mut found = Vec::new();
            let report = Reading::stream(source, Path::new("x.jsonl")).unwrap().rows(&mut |row, _| {
                if let Row::Rationale(r) = row {
                    found.push(r.rationales);
                }
                ControlFlow::Continue(())
            });
            assert_eq!(report.unwrap().dropped.total(), 0);
            found.remove(0)
        };
        let row = |gold: &str| format!(r#"{{"tokens": ["a", "b", "c"], "scores": [1, 0, 2], {gold}}}"#);
        assert_eq!(gold(&row(r#""rationale": [0, 0, 1]"#)), [[2]]);
        assert_eq!(gold(&row(r#""rationale": "as it says", "gold": [1]"#)), [[1]]);
        assert!(gold(&row(r#""rationale": "as it says""#)).is_empty());
    }

    #[test]
    fn benchmark_keys_may_hold_scores() {
        let text = r#"{"sent_id": 3, "sent_token": ["a", "b"], "rationale_ids": [1], "sample_type": "ori", "rel_ids": [4], "attributions": [0.5, 0.25]}"#;
        assert_eq!(read(text).0, [("3".to_owned(), 2)]);
    }

    #[test]
    fn invalid_rows_are_dropped_and_counted() {
        for (bad, kind, word) in [
            (r#"{"tokens": ["a", "b"], "scores": [1]}"#, DropKind::Value, "1 scores for 2 tokens"),
            (r#"{"tokens": ["a"], "scores": [NaN]}"#, DropKind::Value, "NaN is not a JSON number"),
            (r#"{"tokens": ["a"], "scores": [1], "gold": [2]}"#, DropKind::Index, "token index 2"),
            (r#"{"tokens": ["a"], "scores": [1], "mask": 3}"#, DropKind::Index, "token index 3"),
            (r#"{"tokens": ["a"], "scores": [1], "ratio": 3}"#, DropKind::Value, "ratio"),
            (r#"{"tokens": ["a"], "scores": [1], "perturbed_tokens": ["a"]}"#, DropKind::Missing, "perturbed_scores"),
            (
                r#"{"tokens": ["a"], "scores": [1], "perturbed_tokens": ["a"], "perturbed_scores": [1], "alignment": [[1, 0]]}"#,
                DropKind::Index,
                "token index 1",
            ),
            (r#"{"tokens": ["a"], "scores": ["high"]}"#, DropKind::Value, "invalid type"),
        ] {
            let (found, report) = read(&format!("{GOOD}\n{bad}\n"));
            assert_eq!((found.len(), report.dropped.of(kind)), (1, 1), "{bad}: {report:?}");
            let (_, count) = report.dropped.iter().next().unwrap();
            assert!(count.example.contains(word) && count.first_line == 2, "{count:?}");
        }
    }
}

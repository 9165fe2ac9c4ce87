//! Attributions that inseq saved as JSON (`FeatureAttributionOutput.save`, its default form, compressed or not).
//!
//! One object with `sequence_attributions`: each has `source` and `target` (tokens as `{id, token}`), `source_attributions`
//! (source tokens x generated tokens; null in models without an encoder) and `target_attributions` (target tokens x generated
//! tokens, with NaN where a token comes later), `attr_pos_start`. Each sequence becomes a rationale row without gold and a
//! prediction row: the score of a token is its mean over the generated tokens, which has the ranking and the correlations of
//! the sum. In a model without an encoder, the tokens are those before the first generated one. Attributions that still have a
//! dimension for the embedding are refused: which norm to take is inseq's `aggregate()` to say.

use std::borrow::Cow;

use serde::Deserialize;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, json, stateless};
use super::row::{Prediction, Rationale, Row};
use super::text::Text;

/// Saved attributions.
pub const FORMAT: Format = Format {
    id: "inseq",
    title: "attributions saved by inseq",
    columns: &[
        "sequence_attributions",
        "source",
        "target",
        "source_attributions",
        "target_attributions",
        "attr_pos_start",
    ],
    framing: Framing::Document,
    recognise: |head| head.has(&["sequence_attributions"]),
    parser: |_, context| stateless(context, parse),
};

#[derive(Deserialize)]
struct Saved<'a> {
    #[serde(borrow)]
    sequence_attributions: Vec<Sequence<'a>>,
    info: Option<Info<'a>>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    attribution_method: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Sequence<'a> {
    #[serde(borrow)]
    source: Vec<Token<'a>>,
    #[serde(borrow)]
    target: Vec<Token<'a>>,
    source_attributions: Option<Scores>,
    target_attributions: Option<Scores>,
    #[serde(default)]
    attr_pos_start: usize,
}

#[derive(Deserialize)]
struct Token<'a> {
    #[serde(borrow)]
    token: Text<'a>,
}

/// A row a token, with a score for each generated token.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scores {
    PerToken(Vec<Vec<Option<f64>>>),
    Granular(serde::de::IgnoredAny),
}

fn parse(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let text = with_null(text);
    let saved: Saved<'_> = json(&text)?;
    let system = saved.info.and_then(|i| i.attribution_method);
    let many = saved.sequence_attributions.len();
    for (k, sequence) in saved.sequence_attributions.into_iter().enumerate() {
        let (tokens, scores) = scored(sequence)
            .map_err(|e| Unread::new(e.kind, format!("sequence {} of {many}: {}", k + 1, e.detail)))?;
        let id: Text<'_> = k.to_string().into();
        emit(Row::Rationale(Rationale { id: Some(id.clone()), tokens, ..Rationale::default() }));
        emit(Row::Prediction(Prediction {
            id: Some(id),
            system: system.clone(),
            scores: Some(scores),
            ..Prediction::default()
        }));
    }
    Ok(())
}

/// The tokens that scores were given to, and their means.
fn scored(sequence: Sequence<'_>) -> Result<(Vec<Text<'_>>, Vec<f64>), Unread> {
    let (tokens, scores) = match (sequence.source_attributions, sequence.target_attributions) {
        (Some(scores), _) => (sequence.source, scores),
        (None, Some(scores)) => {
            let mut before = sequence.target;
            before.truncate(sequence.attr_pos_start);
            (before, scores)
        }
        (None, None) => return Err(Unread::missing("source_attributions` or `target_attributions")),
    };
    let rows = match scores {
        Scores::PerToken(rows) => rows,
        Scores::Granular(_) => {
            let what = "a score for each dimension of the embedding; call `aggregate()` before `save()`";
            return Err(Unread::new(DropKind::Value, what));
        }
    };
    if rows.len() < tokens.len() {
        let what = format!("scores for {} of {} tokens", rows.len(), tokens.len());
        return Err(Unread::new(DropKind::Value, what));
    }
    let mean = |row: &Vec<Option<f64>>| {
        let known: Vec<f64> = row.iter().copied().flatten().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let scores: Option<Vec<f64>> = rows.iter().take(tokens.len()).map(mean).collect();
    let scores = scores.ok_or_else(|| Unread::new(DropKind::Value, "a token without any score"))?;
    Ok((tokens.into_iter().map(|t| t.token).collect(), scores))
}

/// The text with null for the numbers that Python writes and JSON does not have: NaN and the infinities, outside of strings.
fn with_null(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = ["NaN", "-Infinity", "Infinity"].into_iter().find(|w| !string && rest.starts_with(w));
        if let Some(word) = word {
            out.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if string => escaped = true,
            '"' => string = !string,
            _ => {}
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;

    use super::super::{ReadError, Reading};
    use super::*;

    fn read(text: &str) -> Result<Vec<Vec<f64>>, ReadError> {
        let source = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        let mut found = Vec::new();
        Reading::stream(source, Path::new("x.json"))?.rows(&mut |row, _| {
            if let Row::Prediction(p) = row {
                found.push(p.scores.unwrap());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    #[test]
    fn scores_are_means_over_generated_tokens_of_the_source_or_the_prefix() {
        let text =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rows/inseq.json"))
                .unwrap();
        assert_eq!(read(&text).unwrap(), [vec![0.375, 0.625], vec![0.375, 0.3125]]);
    }

    #[test]
    fn what_is_not_a_score_for_each_token_is_refused() {
        let with = |scores: &str| {
            let head = r#"{"sequence_attributions": [{"source": [{"token": "a"}, {"token": "b"}], "target": [{"token": "c"}], "#;
            read(&format!("{head}{scores}}}]}}")).unwrap_err().to_string()
        };
        for (scores, word) in [
            (r#""source_attributions": [[[1, 2]], [[3, 4]]]"#, "call `aggregate()` before"),
            (r#""source_attributions": [[1]]"#, "scores for 1 of 2 tokens"),
            (r#""source_attributions": [[1], [NaN]]"#, "a token without any score"),
            (r#""target_attributions": null"#, "sequence 1 of 1: no `source_attributions`"),
        ] {
            assert!(with(scores).contains(word), "{}", with(scores));
        }
    }

    #[test]
    fn only_numbers_become_null() {
        assert_eq!(
            with_null(r#"{"NaN \" Infinity": [NaN, -Infinity, Infinity]}"#),
            r#"{"NaN \" Infinity": [null, null, null]}"#
        );
        assert!(matches!(with_null("[1]"), Cow::Borrowed(_)));
    }
}

//! Attributions saved by inseq as JSON (`FeatureAttributionOutput.save`, compressed or not).
//!
//! The file is a single object with `sequence_attributions`. Objects are wrapped as `{__instance_type__, attributes}` unless saved with
//! `use_primitives`. Scores are safetensors in base64 (inseq 0.5 and later) or lists of lists.
//!
//! Each sequence has:
//! - `source` and `target`: tokens as `{id, token}`;
//! - `source_attributions`: source tokens x generated tokens; null for models without an encoder;
//! - `target_attributions`: target tokens x generated tokens, with NaN for tokens that come later;
//! - `attr_pos_start`.
//!
//! Each sequence becomes a rationale row without gold and a prediction row. The score of a token is its mean over the generated tokens,
//! which gives the same ranking and correlations as the sum. For models without an encoder, the tokens before the first generated one are
//! scored. Attributions with an embedding dimension are rejected, because the norm is to be chosen in inseq's `aggregate()`.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine};
use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, json, stateless};
use super::row::{Prediction, Rationale, Row};
use super::text::Text;

pub(crate) const FORMAT: Format = Format {
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
    recognise: |head| {
        let inner = |key: &str| head.keys.inner.iter().any(|k| k == key);
        head.has(&["sequence_attributions"])
            || head.has(&["__instance_type__", "attributes"]) && (inner("info") || inner("sequence_attributions"))
    },
    parser: |_, context| stateless(context, parse),
};

/// An object, possibly wrapped with its class name.
#[derive(Deserialize)]
#[serde(untagged, expecting = "an object, with or without its `attributes`")]
enum Object<T> {
    Typed { attributes: T },
    Plain(T),
}

impl<T> Object<T> {
    fn inner(self) -> T {
        match self {
            Self::Typed { attributes } => attributes,
            Self::Plain(inner) => inner,
        }
    }
}

#[derive(Deserialize)]
struct Saved<'a> {
    #[serde(borrow)]
    sequence_attributions: Vec<Object<Sequence<'a>>>,
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
    source: Vec<Object<Token<'a>>>,
    #[serde(borrow)]
    target: Vec<Object<Token<'a>>>,
    #[serde(borrow)]
    source_attributions: Option<Scores<'a>>,
    #[serde(borrow)]
    target_attributions: Option<Scores<'a>>,
    #[serde(default)]
    attr_pos_start: usize,
}

#[derive(Deserialize)]
struct Token<'a> {
    #[serde(borrow)]
    token: Text<'a>,
}

/// Scores by token, then by generated token.
#[derive(Deserialize)]
#[serde(untagged, expecting = "rows of scores, or a packed tensor")]
enum Scores<'a> {
    PerToken(Vec<Vec<Option<f64>>>),
    Packed(#[serde(borrow)] Cow<'a, str>),
    Granular(serde::de::IgnoredAny),
}

fn parse(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let text = with_null(text);
    let saved: Object<Saved<'_>> = json(&text)?;
    let saved = saved.inner();
    let system = saved.info.and_then(|i| i.attribution_method);
    let many = saved.sequence_attributions.len();
    for (k, sequence) in saved.sequence_attributions.into_iter().enumerate() {
        let (tokens, scores) = scored(sequence.inner())
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

/// Returns the scored tokens and their mean scores.
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
        Scores::Packed(text) => unpacked(&text)?,
        Scores::Granular(_) => {
            return Err(Unread::new(DropKind::Value, GRANULAR));
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
    Ok((tokens.into_iter().map(|t| t.inner().token).collect(), scores))
}

const GRANULAR: &str = "one score per embedding dimension; call `aggregate()` before `save()`";

/// Decodes scores from a base64 tensor; values that are not finite become `None`.
fn unpacked(text: &str) -> Result<Vec<Vec<Option<f64>>>, Unread> {
    let wrong = |what: String| Unread::new(DropKind::Value, what);
    let bytes = BASE64_STANDARD.decode(text).map_err(|e| wrong(format!("the scores are not base64: {e}")))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| wrong(format!("the scores are not a tensor: {e}")))?;
    let tensor = tensors.tensor("attribution").map_err(|e| wrong(format!("the tensor of scores is missing: {e}")))?;
    let [_, generated] = *tensor.shape() else { return Err(wrong(GRANULAR.to_owned())) };
    let data = tensor.data();
    let all: Vec<f64> = match tensor.dtype() {
        Dtype::F64 => data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        Dtype::F32 => data.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        Dtype::F16 => data.as_chunks().0.iter().map(|b| f16::from_le_bytes(*b).to_f64()).collect(),
        Dtype::BF16 => data.as_chunks().0.iter().map(|b| bf16::from_le_bytes(*b).to_f64()).collect(),
        other => {
            let what = format!("scores of type {other:?}; save them with scores_precision=\"float32\"");
            return Err(wrong(what));
        }
    };
    let known = |s: &f64| s.is_finite().then_some(*s);
    Ok(all.chunks(generated.max(1)).map(|row| row.iter().map(known).collect()).collect())
}

/// Replaces NaN and infinities with null, except in strings. Python writes them although JSON does not allow them.
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
    fn scores_average_over_generated_tokens() {
        let text =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/rows/inseq.json")).unwrap();
        assert_eq!(read(&text).unwrap(), [vec![0.375, 0.625], vec![0.375, 0.3125]]);
    }

    /// Encodes a tensor as inseq does.
    fn packed(dtype: Dtype, shape: &[usize], data: &[u8]) -> String {
        let view = safetensors::tensor::TensorView::new(dtype, shape.to_vec(), data).unwrap();
        BASE64_STANDARD.encode(safetensors::serialize([("attribution", view)], None).unwrap())
    }

    fn typed(scores: &str) -> String {
        let token = |t: &str| {
            format!(
                r#"{{"__instance_type__": ["inseq.utils.typing", "TokenWithId"], "attributes": {{"id": 1, "token": "{t}"}}}}"#
            )
        };
        let sequence = format!(
            r#"{{"__instance_type__": ["m", "S"], "attributes": {{"attr_pos_start": 2, "source": [], "target": [{}, {}, {}],
            "source_attributions": null, "target_attributions": "{scores}"}}}}"#,
            token("a"),
            token("b"),
            token("c")
        );
        format!(
            r#"{{"__instance_type__": ["m", "F"], "attributes": {{"info": {{}}, "sequence_attributions": [{sequence}]}}}}"#
        )
    }

    /// The file was saved by inseq 0.7.1: gradients of a small model for three generated words. Regression: only lists of lists used to be
    /// accepted.
    #[test]
    fn default_inseq_output_is_parsed() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/rows/inseq-saved.json");
        let found = read(&std::fs::read_to_string(file).unwrap()).unwrap();
        let want = [0.10615, 0.21137, 0.17350, 0.07950, 0.16237];
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].len(), want.len());
        assert!(found[0].iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?}");
    }

    #[test]
    fn packed_scores_support_inseq_precisions() {
        let halves: Vec<u8> =
            [0.5f32, f32::NAN, 0.25, 0.75, 1.0, 0.0].iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
        assert_eq!(read(&typed(&packed(Dtype::F16, &[3, 2], &halves))).unwrap(), [vec![0.5, 0.5]]);
        let doubles: Vec<u8> = [0.5f64, 0.25, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(read(&typed(&packed(Dtype::F64, &[3, 1], &doubles))).unwrap(), [vec![0.5, 0.25]]);
        for (scores, word) in [
            (packed(Dtype::F64, &[3, 1, 1], &doubles), "call `aggregate()` before"),
            (packed(Dtype::F8_E4M3, &[3, 1], &[0; 3]), "scores_precision"),
            (packed(Dtype::F64, &[1, 1], &doubles[..8]), "scores for 1 of 2 tokens"),
            ("%%".into(), "not base64"),
            ("aGVsbG8=".into(), "not a tensor"),
        ] {
            let printed = read(&typed(&scores)).unwrap_err().to_string();
            assert!(printed.contains(word), "{printed}");
        }
    }

    #[test]
    fn score_count_must_match_token_count() {
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

//! CausalEval: `multiple_prompts/{relation}.jsonl`, samples with `sub_mentions`, and its published tables.

use super::error::{DropKind, Unread};
use super::format::{Emit, Format, Framing, has_name, stateless};
use super::lama;
use super::pararel;
use super::row::{Measure, Row};
use super::table::{Fields, rows};
use super::text::{Labels, Text};

pub(crate) const PROMPTS: Format = Format {
    id: "causaleval-prompts",
    title: "causalEval prompts (multiple_prompts)",
    columns: &["pattern"],
    framing: Framing::Json,
    recognise: |head| head.has(&["pattern"]),
    parser: |_, context| stateless(context, pararel::pattern),
};

/// Samples that include the names of their subjects.
pub(crate) const SAMPLES: Format = Format {
    id: "causaleval-samples",
    title: "causalEval samples",
    columns: &["sub_label", "obj_label", "sub_mentions", "sub_uri", "obj_uri", "uuid"],
    framing: Framing::Json,
    recognise: |head| head.has(&["obj_label", "sub_mentions"]),
    parser: |_, context| stateless(context, lama::fact),
};

/// Published results and similar tables: key columns identify what was measured, and the other columns contain values.
pub(crate) const TABLES: Format = Format {
    id: "results-table",
    title: "published result tables (causalEval, data requirements)",
    columns: &["relation|model|choice|task", "values by metric or by model"],
    framing: Framing::Lines,
    recognise: |head| table(&head.columns).is_some(),
    parser: |head, _| {
        let (keys, metric) = table(&head.columns).unwrap_or_default();
        rows(head, move |fields, emit| measures(&keys, metric, fields, emit))
    },
};

/// Names of key columns in all known tables.
const KEYS: &[&str] = &[
    "relation",
    "label",
    "prompt",
    "model",
    "gamma",
    "choice",
    "task",
    "test_size_per_class",
    "test_size",
    "encoder_1",
    "encoder_2",
    "power_above_0.8",
];

/// First columns of each known table. If the other columns are models, the table has a single metric, which is given too.
const TABLES_KNOWN: &[(&[&str], Option<&str>)] = &[
    (&["relation", "label", "prompt"], Some("p_at_1")),
    (&["choice"], Some("rank_consistency")),
    (&["relation", "label", "model", "verbalization_stability"], None),
    (&["model", "relation", "label", "p_at_1"], None),
    (&["model", "gamma", "relation", "label", "p_at_1"], None),
    (&["task", "test_size_per_class", "test_size"], None),
];

/// Returns the key columns of the table with this header, and the metric if the value columns are models.
fn table(columns: &[&str]) -> Option<(Vec<&'static str>, Option<&'static str>)> {
    let begins = |begin: &[&str]| {
        columns.len() >= begin.len() && begin.iter().zip(columns).all(|(b, c)| c.trim().eq_ignore_ascii_case(b))
    };
    let known = TABLES_KNOWN.iter().find(|(begin, _)| begins(begin))?;
    if columns.len() <= known.0.len() && known.1.is_some() {
        return None;
    }
    Some((KEYS.iter().copied().filter(|k| has_name(columns, k)).collect(), known.1))
}

fn measures(keys: &[&str], metric: Option<&str>, fields: &Fields<'_, '_>, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let is_key = |name: &str| has_name(keys, name);
    let keys = || fields.iter().filter(|(n, _)| is_key(n)).map(|(n, v)| (n.to_owned().into(), v.into()));
    // All values are parsed before a row is emitted, so that an invalid value drops the whole line.
    let values: Vec<(&str, Option<f64>)> = fields
        .iter()
        .filter(|(n, _)| !is_key(n))
        .map(|(n, v)| Ok((n, value(v).map_err(|what| Unread::new(DropKind::Value, format!("`{n}`: {what}")))?)))
        .collect::<Result<_, Unread>>()?;
    for (name, value) in values {
        let mut labels: Vec<(Text<'_>, Text<'_>)> = keys().collect();
        if metric.is_some() {
            labels.push(("model".into(), name.into()));
        }
        emit(Row::Measure(Measure { metric: metric.unwrap_or(name).into(), value, labels: Some(Labels(labels)) }));
    }
    Ok(())
}

/// Parses a decimal number, a fraction, or `nan`.
fn value(text: &str) -> Result<Option<f64>, String> {
    if text == "nan" {
        return Ok(None);
    }
    let plain = |t: &str| t.parse::<f64>().ok();
    let value = match text.split_once('/') {
        Some((a, b)) => plain(a).zip(plain(b)).map(|(a, b)| a / b),
        None => plain(text),
    };
    value.filter(|v| v.is_finite()).map(Some).ok_or_else(|| format!("`{text}` is not a number"))
}

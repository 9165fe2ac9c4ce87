//! The rationale benchmark's JSON in TrustAI's layout: gold rationales and predictions.
//!
//! Gold rows have:
//! - `sent_id`, and `sent_token` or `sent_text` (split at spaces);
//! - `rationale_ids`: token indices, a mask, or several sets, any one of which suffices;
//! - `sent_label`, or `answer` with `other_answers`;
//! - `sample_type` (`ori` or `disturb`) and `rel_ids`;
//! - optionally `mask_index`, `dimension`, `perturbation`, `ori_id` and `alignment`.
//!
//! HateXplain's `post_id`, `post_tokens` and `rationales` are accepted as gold rows.
//!
//! Predictions have `sent_id` (or `id`), `rationale` (token indices, the most important first), and a label with probabilities.
//! Predictions for pairs of sequences have two lists and are dropped.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, Lists, json, stateless};
use super::read::Reading;
use super::row::{Prediction, Rationale, Row};
use super::text::{Labels, Text};

pub(crate) const GOLD: Format = Format {
    id: "rationale",
    title: "rationale benchmark, gold (TrustAI, HateXplain)",
    columns: &[
        "sent_id|post_id|id",
        "sent_token|sent_text|post_tokens",
        "rationale_ids|rationales",
        "sent_label|answer",
        "other_answers",
        "sample_type",
        "rel_ids",
        "mask_index",
        "dimension",
        "ori_id",
        "perturbation",
        "alignment",
    ],
    framing: Framing::Json,
    recognise: |head| {
        head.has(&["rationale_ids"]) && (head.has(&["sent_token"]) || head.has(&["sent_text"]))
            || head.has(&["post_tokens", "rationales"])
    },
    parser: |_, context| stateless(context, gold),
};

/// HateXplain as published: an object of posts by identifier.
pub(crate) const POSTS: Format = Format {
    id: "hatexplain",
    title: "HateXplain posts (dataset.json)",
    columns: &["post_id", "post_tokens", "rationales", "annotators"],
    framing: Framing::Document,
    recognise: |head| {
        let inner = |name: &str| head.keys.inner.iter().any(|key| key == name);
        !head.has(&["post_tokens"]) && (inner("post_tokens") || inner("post_id") && inner("annotators"))
    },
    parser: |_, context| stateless(context, posts),
};

pub(crate) const PREDICTIONS: Format = Format {
    id: "rationale-predictions",
    title: "rationale benchmark, predictions (TrustAI)",
    columns: &[
        "sent_id|id",
        "rationale",
        "pred_label|label|pred",
        "prob|probs|probability|probabilities|pred_proba",
        "attributions",
    ],
    framing: Framing::Json,
    recognise: |head| head.has(&["rationale"]) && (head.has(&["sent_id"]) || head.has(&["id"])),
    parser: |_, context| stateless(context, prediction),
};

/// One or several lists of indices, each of which may also be a mask (see [`positions`]).
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged, expecting = "a list of token positions, a mask, or several of them")]
pub(crate) enum Sets {
    /// A possibly empty list.
    One(Vec<Mark>),
    Several(Vec<Vec<Mark>>),
}

impl Sets {
    /// Parses lists; `None` for any other value.
    pub(super) fn of(value: serde_json::Value) -> Option<Self> {
        serde_json::from_value(value).ok()
    }
}

/// A position, or an entry in a mask.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged, expecting = "a position, or 0, 1, true or false")]
pub(crate) enum Mark {
    Number(u32),
    Truth(bool),
    Decimal(f64),
    Text(String),
}

impl Sets {
    /// Returns the positions in each list for an input with `tokens` tokens.
    ///
    /// # Errors
    /// [`Unread`] for entries that are neither positions nor mask entries.
    pub(crate) fn into_sets(self, tokens: usize, context: &Context) -> Result<Vec<Vec<u32>>, Unread> {
        let sets = match self {
            Sets::One(set) => vec![set],
            Sets::Several(sets) => sets,
        };
        sets.into_iter().map(|set| positions(set, tokens, context)).collect()
    }
}

/// Returns the distinct positions in a list: its numbers, or the indices of 1 in a mask. A list of 0s and 1s with an entry for every token
/// is a mask. Other lists of only 0 and 1 follow the other lists of the file ([`all_masks`]).
///
/// # Errors
/// [`Unread`] for entries that are neither positions nor mask entries, and for masks of the wrong length.
fn positions(list: Vec<Mark>, tokens: usize, context: &Context) -> Result<Vec<u32>, Unread> {
    let truths = list.iter().any(|m| matches!(m, Mark::Truth(_)));
    let numbers = indices(list)?;
    let Lists::Asked(file) = &context.lists else {
        // Lists of true and false do not show whether numbers in the file are mask entries or positions.
        return Ok(if truths { Vec::new() } else { numbers });
    };
    let zeros_and_ones = numbers.iter().all(|n| *n <= 1);
    let (repeated, long) = (zeros_and_ones && repeats(&numbers), numbers.len() >= tokens);
    let outside = || numbers.iter().any(|n| *n as usize >= tokens);
    let certain = truths || zeros_and_ones && long && (repeated || outside());
    let is_ambiguous = zeros_and_ones && (repeated || long);
    file.is_ambiguous.set(file.is_ambiguous.get() || is_ambiguous && !certain);
    // Even `[0, 1]` for six tokens is a mask of the wrong length if the file has masks.
    let possible = zeros_and_ones && !numbers.is_empty();
    if certain || possible && *file.masks.get_or_init(|| all_masks(&context.file)) {
        if numbers.len() != tokens {
            let what = format!("a mask with {} entries for {tokens} tokens", numbers.len());
            return Err(Unread::new(DropKind::Value, what));
        }
        return Ok((0..).zip(&numbers).filter(|(_, n)| **n > 0).map(|(at, _)| at).collect());
    }
    let mut seen = std::collections::HashSet::new();
    Ok(numbers.into_iter().filter(|n| seen.insert(*n)).collect())
}

fn repeats(list: &[u32]) -> bool {
    list.iter().enumerate().any(|(k, n)| list[..k].contains(n))
}

/// True if the rationale lists in a file are masks. Apart from empty lists, they must contain only 0 and 1, and one of two conditions must
/// hold: all of them have an entry for every token, or some list of full length repeats 0 or 1 and so cannot contain positions. In the
/// second case, shorter lists are masks of the wrong length. Returns false for files that cannot be read twice.
fn all_masks(file: &Path) -> bool {
    let (mut all, mut certain) = (true, false);
    let read = Reading::open(file).and_then(|reading| {
        reading.raw().rows(&mut |row, _| {
            let Row::Rationale(r) = row else { return ControlFlow::Continue(()) };
            for list in r.rationales.iter().filter(|list| !list.is_empty()) {
                if list.iter().any(|n| *n > 1) {
                    (all, certain) = (false, false);
                    return ControlFlow::Break(());
                }
                let whole = list.len() == r.tokens.len();
                all &= whole;
                certain |= whole && repeats(list);
            }
            ControlFlow::Continue(())
        })
    });
    (all || certain) && read.is_ok()
}

/// Returns the numbers in a list, with true as 1 and false as 0.
fn indices(list: Vec<Mark>) -> Result<Vec<u32>, Unread> {
    let wrong = |found: String| {
        Unread::new(DropKind::Index, format!("{found} in a rationale is neither a position nor a mask entry (0 or 1)"))
    };
    list.into_iter()
        .map(|mark| match mark {
            Mark::Number(n) => Ok(n),
            Mark::Truth(marked) => Ok(u32::from(marked)),
            Mark::Decimal(v) if v >= 0.0 && v.fract() == 0.0 && v <= f64::from(u32::MAX) => Ok(v as u32),
            Mark::Decimal(v) => Err(wrong(v.to_string())),
            Mark::Text(text) => text.trim().parse().map_err(|_| wrong(format!("`{text}`"))),
        })
        .collect()
}

#[derive(Deserialize)]
struct GoldKeys<'a> {
    #[serde(borrow, alias = "post_id")]
    sent_id: Option<Text<'a>>,
    id: Option<Text<'a>>,
    #[serde(alias = "post_tokens")]
    sent_token: Option<Vec<Text<'a>>>,
    sent_text: Option<Text<'a>>,
    sent_label: Option<Text<'a>>,
    answer: Option<Text<'a>>,
    other_answers: Option<Vec<Text<'a>>>,
    rationale_ids: Option<Sets>,
    rationales: Option<Sets>,
    sample_type: Option<Text<'a>>,
    rel_ids: Option<Vec<Text<'a>>>,
    mask_index: Option<u32>,
    dimension: Option<Text<'a>>,
    perturbation: Option<Text<'a>>,
    ori_id: Option<Text<'a>>,
    alignment: Option<Vec<[u32; 2]>>,
    annotators: Option<Annotators<'a>>,
}

/// HateXplain's annotators: a list of them, or lists by field as written by Hugging Face.
#[derive(Deserialize)]
#[serde(untagged, expecting = "annotators with labels")]
enum Annotators<'a> {
    List(#[serde(borrow)] Vec<Annotation<'a>>),
    Fields {
        #[serde(borrow)]
        label: Vec<Text<'a>>,
    },
}

#[derive(Deserialize)]
struct Annotation<'a> {
    #[serde(borrow)]
    label: Text<'a>,
}

impl<'a> Annotators<'a> {
    /// Returns the label of the majority, as in HateXplain; `None` without one.
    fn label(self) -> Option<Text<'a>> {
        let labels: Vec<Text<'a>> = match self {
            Annotators::List(list) => list.into_iter().map(|a| a.label).collect(),
            Annotators::Fields { label } => label,
        };
        let count = |wanted: &Text<'_>| labels.iter().filter(|label| *label == wanted).count();
        labels.iter().find(|label| 2 * count(label) > labels.len()).cloned()
    }
}

fn gold(text: &str, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    gold_row(json(text)?, context, emit)
}

/// Parses all posts of HateXplain's `dataset.json`. The first unreadable post is reported with the number of such posts.
fn posts(text: &str, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let posts: BTreeMap<String, serde_json::Value> = json(text)?;
    let (mut failed, mut first) = (0, None);
    for (name, post) in posts {
        let read = json(&post.to_string()).and_then(|keys| gold_row(keys, context, emit));
        if let Err(reason) = read {
            failed += 1;
            first.get_or_insert(Unread::new(reason.kind, format!("post `{name}`: {}", reason.detail)));
        }
    }
    match first {
        Some(reason) => Err(Unread::new(reason.kind, format!("{failed} posts; {}", reason.detail))),
        None => Ok(()),
    }
}

fn gold_row(keys: GoldKeys<'_>, context: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let perturbed = match keys.sample_type.as_deref() {
        None => keys.ori_id.is_some(),
        Some("ori") => false,
        Some("disturb") => true,
        Some(other) => {
            let what = format!("`sample_type` is `{other}`; expected ori or disturb");
            return Err(Unread::new(DropKind::Label, what));
        }
    };
    let words = || keys.sent_text.as_ref().map(|t| t.split_whitespace().map(|w| w.to_owned().into()).collect());
    let Some(tokens) = keys.sent_token.or_else(words) else { return Err(Unread::missing("sent_token")) };
    let Some(sets) = keys.rationale_ids.or(keys.rationales) else { return Err(Unread::missing("rationale_ids")) };
    let rationales = sets.into_sets(tokens.len(), context)?;
    let indices = rationales.iter().flatten().chain(&keys.mask_index);
    inside(indices, tokens.len())?;
    if let Some(pairs) = &keys.alignment {
        // The first index of a pair refers to the original, whose length is not known here.
        inside(pairs.iter().map(|p| &p[1]), tokens.len())?;
    }
    emit(Row::Rationale(Rationale {
        id: keys.sent_id.or(keys.id),
        text: keys.sent_text,
        tokens,
        rationales,
        mask: keys.mask_index,
        answer: keys.answer,
        other_answers: keys.other_answers,
        label: keys.sent_label.or_else(|| keys.annotators.and_then(Annotators::label)),
        dimension: keys.dimension,
        perturbs: keys.ori_id.filter(|_| perturbed),
        perturbation: keys.perturbation,
        partners: keys.rel_ids,
        alignment: keys.alignment,
        ..Rationale::default()
    }));
    Ok(())
}

/// Checks that all indices are below `tokens`.
///
/// # Errors
/// [`Unread`] with the first invalid index.
pub(crate) fn inside<'i>(indices: impl IntoIterator<Item = &'i u32>, tokens: usize) -> Result<(), Unread> {
    match indices.into_iter().find(|i| **i as usize >= tokens) {
        Some(i) => Err(Unread::new(DropKind::Index, format!("token index {i}, but there are {tokens} tokens"))),
        None => Ok(()),
    }
}

#[derive(Deserialize)]
struct PredictionKeys<'a> {
    #[serde(borrow)]
    sent_id: Option<Text<'a>>,
    id: Option<Text<'a>>,
    rationale: Sets,
    #[serde(alias = "label", alias = "pred")]
    pred_label: Option<Text<'a>>,
    #[serde(alias = "prob", alias = "probs", alias = "probability", alias = "pred_proba")]
    probabilities: Option<Probabilities<'a>>,
    attributions: Option<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a probability, a list, or probabilities by name")]
enum Probabilities<'a> {
    One(f64),
    List(Vec<f64>),
    #[serde(borrow)]
    Named(Labels<'a>),
}

fn prediction(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: PredictionKeys<'_> = json(text)?;
    let ranking = match keys.rationale {
        Sets::One(ranking) => indices(ranking)?,
        Sets::Several(mut lists) if lists.len() == 1 => indices(lists.swap_remove(0))?,
        Sets::Several(lists) => {
            let what = format!("{} rationales; expected one, for a single sequence", lists.len());
            return Err(Unread::new(DropKind::Value, what));
        }
    };
    let (probabilities, labels) = match keys.probabilities {
        None => (None, None),
        Some(Probabilities::One(p)) => (Some(vec![p]), None),
        Some(Probabilities::List(list)) => (Some(list), None),
        Some(Probabilities::Named(labels)) => (None, Some(labels)),
    };
    emit(Row::Prediction(Prediction {
        id: keys.sent_id.or(keys.id),
        label: keys.pred_label,
        ranking: Some(ranking),
        scores: keys.attributions,
        probabilities,
        labels,
        ..Prediction::default()
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(written: &str, tokens: usize) -> Result<Vec<Vec<u32>>, String> {
        let sets: Sets = serde_json::from_str(written).map_err(|e| e.to_string())?;
        sets.into_sets(tokens, &Context::of(Path::new("no such file"))).map_err(|e| e.detail)
    }

    #[test]
    fn masks_may_be_numbers_booleans_or_strings() {
        for mask in ["[0, 0, 1]", "[0.0, 0.0, 1.0]", "[false, false, true]", r#"["0", "0", "1"]"#] {
            assert_eq!(sets(mask, 3), Ok(vec![vec![2]]), "{mask}");
        }
        assert_eq!(sets("[1]", 1), Ok(vec![vec![0]]), "for a single token, 1 is a mask entry");
        assert_eq!(sets("[[0, 0, 1], [1, 0, 1]]", 3), Ok(vec![vec![2], vec![0, 2]]), "one list per annotator");
        assert_eq!(sets(r#"["2", "0"]"#, 3), Ok(vec![vec![2, 0]]));
        assert!(sets(r#"["second"]"#, 3).unwrap_err().contains("`second`"));
    }

    /// Regression: HateXplain's keys used to be unknown, and plain rows accepted only lists of numbers.
    #[test]
    fn hatexplain_and_plain_masks_are_parsed() {
        let bare = r#"{"tokens": ["a", "b", "c"], "rationales": []}"#;
        for (row, sets) in [
            (
                r#"{"post_id": 7, "post_tokens": ["a", "b", "c"], "rationales": [[0, 1, 1], [0, 0, 1]]}"#,
                vec![vec![1, 2], vec![2]],
            ),
            (r#"{"id": 7, "post_tokens": ["a", "b", "c"], "rationales": []}"#, vec![vec![]]),
            (r#"{"tokens": ["a", "b", "c"], "rationales": [[false, true, true]]}"#, vec![vec![1, 2]]),
            (r#"{"tokens": ["a", "b", "c"], "rationales": ["0", "0", "1"]}"#, vec![vec![2]]),
            (bare, vec![]),
        ] {
            let source = Box::new(std::io::Cursor::new(row.as_bytes().to_vec()));
            let mut found = Vec::new();
            let report = Reading::stream(source, Path::new("x.jsonl")).and_then(|r| {
                r.rows(&mut |row, _| {
                    if let Row::Rationale(rationale) = row {
                        found.push(rationale.rationales);
                    }
                    ControlFlow::Continue(())
                })
            });
            assert_eq!(found, [sets], "{row}: {report:?}");
        }
    }

    /// Regression: rationales of one or two tokens used to be written as positions, and a file with only such texts was then parsed as
    /// masks.
    #[test]
    fn rationales_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("short.jsonl");
        for sets in [vec![vec![0, 1]], vec![vec![0], vec![0, 1]], vec![vec![]], vec![vec![1], vec![0]]] {
            let one = vec![vec![0u32]];
            let row = |tokens: &[&'static str], rationales: &Vec<Vec<u32>>| {
                let tokens = tokens.iter().map(|t| (*t).into()).collect();
                let rationales = rationales.clone();
                super::super::plain::line(&Row::Rationale(Rationale { tokens, rationales, ..Rationale::default() }))
            };
            std::fs::write(&path, format!("{}\n{}\n", row(&["a", "b"], &sets), row(&["a"], &one))).unwrap();
            let mut found = Vec::new();
            let read = Reading::open(&path).unwrap().rows(&mut |row, _| {
                if let Row::Rationale(r) = row {
                    found.push(r.rationales);
                }
                ControlFlow::Continue(())
            });
            assert_eq!(found, [sets, one], "{read:?}");
        }
    }

    /// Regression: the mask for a longer text used to be interpreted as the positions 0 and 1.
    #[test]
    fn mask_of_wrong_length_is_rejected() {
        for mask in ["[0, 0, 1, 1]", "[false, true, true, false]", "[false, true]"] {
            let refused = sets(mask, 3).unwrap_err();
            assert!(refused.contains("a mask with") && refused.ends_with("for 3 tokens"), "{mask}: {refused}");
        }
    }

    /// Regression: `[0, 1]` for two tokens used to be interpreted as positions even in a file of masks.
    #[test]
    fn ambiguous_list_follows_the_rest_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let read = |name: &str, rows: &[(&str, &str)], keys: [&str; 2]| {
            let row = |(tokens, list): &(&str, &str)| {
                let words: Vec<&str> = tokens.split(' ').collect();
                let scores = if keys[1] == "gold" {
                    format!(", \"scores\": {:?}", vec![0.5; words.len()])
                } else {
                    String::new()
                };
                format!("{{\"{}\": {words:?}, \"{}\": {list}{scores}}}\n", keys[0], keys[1])
            };
            let path = dir.path().join(name);
            std::fs::write(&path, rows.iter().map(row).collect::<String>()).unwrap();
            let mut found = Vec::new();
            let report = Reading::open(&path).unwrap().rows(&mut |row, _| {
                if let Row::Rationale(r) = row {
                    found.push(r.rationales.concat());
                }
                ControlFlow::Continue(())
            });
            (found, report.unwrap().rationales.map(|said| said.contains("are masks,")))
        };
        for keys in [
            ["tokens", "rationales"],
            ["post_tokens", "rationales"],
            ["sent_token", "rationale_ids"],
            ["tokens", "gold"],
        ] {
            let masks = [("a b", "[0, 1]"), ("a b", "[1, 0]"), ("a b c", "[1, 0, 1]"), ("a", "[0]")];
            let want = vec![vec![1], vec![0], vec![0, 2], vec![]];
            assert_eq!(read("m.jsonl", &masks, keys), (want, Some(true)), "{keys:?}");
            let positions = [("a b", "[0, 1]"), ("a b c", "[2]"), ("a b", "[1, 0]"), ("a", "[0]")];
            let want = vec![vec![0, 1], vec![2], vec![1, 0], vec![0]];
            assert_eq!(read("p.jsonl", &positions, keys), (want, Some(false)), "{keys:?}");
        }
        // Regression: a mask of the wrong length used to turn all masks of the file into positions.
        let short = [("a b c", "[0, 1, 0]"), ("a b c d", "[0, 1, 0]"), ("a b", "[1, 0]")];
        assert_eq!(read("s.jsonl", &short, ["tokens", "gold"]), (vec![vec![1], vec![0]], Some(true)));
        // In this file, no list is ambiguous.
        let plain = [("a b c", "[0, 1, 1]"), ("a b", "[1, 1]")];
        assert_eq!(read("d.jsonl", &plain, ["tokens", "rationales"]), (vec![vec![1, 2], vec![0, 1]], None));
    }
}

//! ERASER: `{train,val,test}.jsonl` with documents in `docs/`, and predictions.
//!
//! A row has `annotation_id`, `query`, `evidences` (groups of `{docid, start_token, end_token, …}`, end exclusive), `classification`,
//! `query_type` and `docids`. Each document that a row's evidences refer to becomes a rationale row, whose gold sets are the groups. A
//! document's name is that of a file in `docs/`, or a `docid` in `docs.jsonl` next to the rows.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, Parse, json, stateless};
use super::row::{Prediction, Rationale, Row, Split};
use super::source;
use super::text::{Labels, Text};

pub(crate) const ROWS: Format = Format {
    id: "eraser",
    title: "ERASER annotations",
    columns: &["annotation_id", "query", "evidences", "classification", "query_type", "docids"],
    framing: Framing::Json,
    recognise: |head| head.has(&["annotation_id", "evidences"]),
    parser: |_, context| {
        let name = context.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let split =
            [("train", Split::Train), ("val", Split::Validation), ("dev", Split::Validation), ("test", Split::Test)];
        let split = split.into_iter().find(|(s, _)| name.starts_with(s)).map(|(_, split)| split);
        Ok(Box::new(Eraser { folder: context.folder().to_owned(), split, latest: None, listed: None }))
    },
};

pub(crate) const PREDICTIONS: Format = Format {
    id: "eraser-predictions",
    title: "ERASER predictions",
    columns: &[
        "annotation_id",
        "rationales",
        "classification",
        "classification_scores",
        "comprehensiveness_classification_scores",
        "sufficiency_classification_scores",
    ],
    framing: Framing::Json,
    recognise: |head| head.has(&["annotation_id", "rationales"]),
    parser: |_, context| stateless(context, prediction),
};

#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(borrow)]
    annotation_id: Text<'a>,
    query: Option<Text<'a>>,
    evidences: Vec<Vec<Evidence<'a>>>,
    classification: Option<Text<'a>>,
    query_type: Option<Text<'a>>,
    docids: Option<Vec<Text<'a>>>,
}

#[derive(Deserialize)]
struct Evidence<'a> {
    #[serde(borrow)]
    docid: Text<'a>,
    start_token: i64,
    end_token: i64,
    text: Option<Text<'a>>,
}

/// Name of the file that contains all documents, used if there is no folder `docs`.
pub(super) const DOCUMENTS: &str = "docs.jsonl";

/// Maximum size in bytes of one file's documents in memory.
const MOST: usize = 1 << 30;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    docid: Text<'a>,
    document: Content<'a>,
}

/// A document as text, or as a list of tokens.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a text or a list of tokens")]
enum Content<'a> {
    Text(#[serde(borrow)] Text<'a>),
    Tokens(#[serde(borrow)] Vec<Text<'a>>),
}

struct Eraser {
    folder: PathBuf,
    split: Option<Split>,
    /// The latest document, cached because neighbouring rows often refer to the same one.
    latest: Option<(String, String)>,
    /// Documents in [`DOCUMENTS`], loaded when first needed.
    listed: Option<BTreeMap<String, String>>,
}

/// Loads `docs.jsonl`.
fn listed(path: &Path) -> Result<BTreeMap<String, String>, super::error::ReadError> {
    let mut frames = source::open(path)?;
    let (mut documents, mut bytes) = (BTreeMap::new(), 0);
    while let Some((line, range)) = frames.next_line()? {
        let text = frames.bytes(range);
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let found: Document<'_> = serde_json::from_slice(text).map_err(|e| {
            super::error::ReadError::line(path, line, e.to_string(), "an object with `docid` and `document`")
        })?;
        let document = match found.document {
            Content::Text(text) => text.to_string(),
            Content::Tokens(tokens) => tokens.iter().map(Text::as_str).collect::<Vec<_>>().join(" "),
        };
        bytes += document.len();
        if bytes > MOST {
            let what = format!("the documents exceed {MOST} bytes");
            return Err(super::error::ReadError::file(path, what, "a folder `docs` with a file for each"));
        }
        let name = found.docid.to_string();
        if documents.get(&name).is_some_and(|other| *other != document) {
            let what = format!("a second document `{name}` with a different text");
            return Err(super::error::ReadError::line(path, line, what, "each `docid` once"));
        }
        documents.insert(name, document);
    }
    Ok(documents)
}

impl Eraser {
    fn document(&mut self, name: &str) -> Result<&str, Unread> {
        if self.latest.as_ref().is_none_or(|(n, _)| n != name) {
            let mut parts = Path::new(name).components();
            let inside = !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)));
            if !inside || name.contains(['\\', '\0']) {
                let what = format!("document `{name}`; expected the name of a file in `docs`");
                return Err(Unread::new(DropKind::Reference, what));
            }
            let (folder, file) = (self.folder.join("docs"), self.folder.join(DOCUMENTS));
            let unread = |what: String| Unread::new(DropKind::Reference, format!("document `{name}`: {what}"));
            let text = if folder.is_dir() || !file.is_file() {
                let read = || {
                    let mut frames = source::open(&folder.join(name))?;
                    let range = frames.document()?;
                    Ok(String::from_utf8_lossy(frames.bytes(range)).into_owned())
                };
                read().map_err(|e: super::error::ReadError| unread(e.what))?
            } else {
                if self.listed.is_none() {
                    self.listed = Some(listed(&file).map_err(|e| unread(e.to_string()))?);
                }
                let found = self.listed.as_ref().and_then(|all| all.get(name)).cloned();
                found.ok_or_else(|| unread(format!("not in {DOCUMENTS}")))?
            };
            self.latest = Some((name.to_owned(), text));
        }
        Ok(self.latest.as_ref().map_or("", |(_, text)| text))
    }
}

impl Parse for Eraser {
    fn piece(&mut self, text: &str, emit: &mut Emit<'_>) -> Result<(), Unread> {
        let keys: Keys<'_> = json(text)?;
        let mut documents: Vec<&str> = Vec::new();
        let listed = keys.docids.iter().flatten().map(Text::as_str);
        for name in keys.evidences.iter().flatten().map(|e| e.docid.as_str()).chain(listed) {
            if !documents.contains(&name) {
                documents.push(name);
            }
        }
        if documents.is_empty() {
            // In sets with one document per row, `annotation_id` is also the name of the document.
            documents.push(keys.annotation_id.as_str());
        }
        let split = self.split;
        let several = documents.len() > 1;
        for name in documents {
            let content = self.document(name)?;
            let tokens: Vec<Text<'_>> = words(content).map(Text::from).collect();
            let rationales = gold(&keys.evidences, name, &tokens)?;
            let id = if several { format!("{}:{name}", keys.annotation_id).into() } else { keys.annotation_id.clone() };
            emit(Row::Rationale(Rationale {
                id: Some(id),
                tokens,
                rationales,
                label: keys.classification.clone(),
                query: keys.query.clone(),
                dimension: keys.query_type.clone(),
                split,
                ..Rationale::default()
            }));
        }
        Ok(())
    }
}

/// Returns the tokens of a document, which are separated by spaces and line ends only, as in ERASER's code.
fn words(document: &str) -> impl Iterator<Item = &str> {
    document.lines().flat_map(|line| line.split(' ')).map(str::trim).filter(|word| !word.is_empty())
}

/// Converts the evidence groups of one document to sets of token indices.
fn gold(groups: &[Vec<Evidence<'_>>], document: &str, tokens: &[Text<'_>]) -> Result<Vec<Vec<u32>>, Unread> {
    let mut sets = Vec::new();
    for group in groups {
        let mut set = Vec::new();
        for evidence in group.iter().filter(|e| e.docid.as_str() == document) {
            let (from, to) = (evidence.start_token, evidence.end_token);
            if from < 0 || to < from || to as u64 > tokens.len() as u64 {
                let what = format!("the span is tokens {from} to {to}, but `{document}` has only {}", tokens.len());
                return Err(Unread::new(DropKind::Index, what));
            }
            let covered = || tokens[from as usize..to as usize].iter().map(Text::as_str);
            if let Some(text) = evidence.text.as_ref().filter(|text| !spells(covered(), text)) {
                let covered = base::text::shortened(&covered().collect::<Vec<_>>().join(" "), 60);
                let text = base::text::shortened(text, 60);
                let what = format!("tokens {from} to {to} of `{document}` are `{covered}`, but `text` is `{text}`");
                return Err(Unread::new(DropKind::Index, what));
            }
            set.extend(from as u32..to as u32);
        }
        set.sort_unstable();
        set.dedup();
        if !set.is_empty() {
            sets.push(set);
        }
    }
    Ok(sets)
}

/// True if the tokens have the letters and digits of a text, in any case and spacing. An empty text is not compared.
fn spells<'t>(tokens: impl Iterator<Item = &'t str>, text: &str) -> bool {
    let letters = |c: char| c.is_alphanumeric().then(|| c.to_lowercase()).into_iter().flatten();
    let wanted = || text.chars().flat_map(letters);
    wanted().next().is_none() || tokens.flat_map(str::chars).flat_map(letters).eq(wanted())
}

#[derive(Deserialize)]
struct PredictionKeys<'a> {
    #[serde(borrow)]
    annotation_id: Text<'a>,
    rationales: Vec<Predicted<'a>>,
    classification: Option<Text<'a>>,
    classification_scores: Option<BTreeMap<String, f64>>,
    comprehensiveness_classification_scores: Option<BTreeMap<String, f64>>,
    sufficiency_classification_scores: Option<BTreeMap<String, f64>>,
}

#[derive(Deserialize)]
struct Predicted<'a> {
    #[serde(borrow)]
    docid: Text<'a>,
    hard_rationale_predictions: Option<Vec<Span>>,
    soft_rationale_predictions: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Span {
    start_token: u32,
    end_token: u32,
}

/// Maximum number of tokens in a hard rationale. A longer one is an error or an attack and would exhaust memory.
const MAX_TOKENS: usize = 1 << 20;

fn prediction(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: PredictionKeys<'_> = json(text)?;
    let mut labels: Vec<(Text<'_>, Text<'_>)> = Vec::new();
    for (prefix, scores) in [
        ("", &keys.classification_scores),
        ("comprehensiveness:", &keys.comprehensiveness_classification_scores),
        ("sufficiency:", &keys.sufficiency_classification_scores),
    ] {
        labels.extend(scores.iter().flatten().map(|(k, v)| (format!("{prefix}{k}").into(), v.to_string().into())));
    }
    let several = keys.rationales.len() > 1;
    for document in keys.rationales {
        let mut ranking: Option<Vec<u32>> = None;
        for span in document.hard_rationale_predictions.iter().flatten() {
            let length = span.end_token.checked_sub(span.start_token).map(|n| n as usize);
            let list = ranking.get_or_insert_default();
            if length.is_none_or(|n| list.len() + n > MAX_TOKENS) {
                let what = format!("a rationale from token {} to {}", span.start_token, span.end_token);
                return Err(Unread::new(DropKind::Index, what));
            }
            list.extend(span.start_token..span.end_token);
        }
        let id = &keys.annotation_id;
        emit(Row::Prediction(Prediction {
            id: Some(if several { format!("{id}:{}", document.docid).into() } else { id.clone() }),
            label: keys.classification.clone(),
            ranking,
            scores: document.soft_rationale_predictions,
            labels: (!labels.is_empty()).then(|| Labels(labels.clone())),
            ..Prediction::default()
        }));
    }
    Ok(())
}

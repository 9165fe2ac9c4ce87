//! Ding and Koehn (2021): prefixes whose next word must have a known number or gender, with cues and attractors.
//!
//! The published files are `all.prefx.txt` (one prefix per line), `all.tag.txt` or `all.tags.txt` (0 or 1), and `all.subjs.txt` (`[(from,
//! to), …]
//! ||| [(from, to), …]`: inclusive spans of cues and attractors, from 0). Opening the prefix file reads all three. JSON lines with
//! `tokens`, `cue_spans`, `attractor_spans`, `tag`, `section` and saliency vectors `saliency_{model}_{verum|malum}` are supported too;
//! each vector becomes a prediction row.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::{DropKind, ReadError, Unread};
use super::format::{Context, Emit, Format, Framing, Head, Parse, json, stateless};
use super::row::{Prediction, Rationale, Row};
use super::source::{self, Frames};
use super::text::Text;

pub(crate) const ROWS: Format = Format {
    id: "ding-koehn",
    title: "Ding & Koehn prefixes with saliency vectors",
    columns: &["id", "tokens", "cue_spans", "attractor_spans", "tag", "section", "saliency_*"],
    framing: Framing::Json,
    recognise: |head| head.has(&["tokens", "cue_spans"]),
    parser: |_, context| stateless(context, row),
};

/// A prefix file together with its tag and cue files.
pub(crate) const PREFIXES: Format = Format {
    id: "ding-koehn-prefixes",
    title: "Ding & Koehn prefix, tag and cue files",
    columns: &["*.prefx.txt", "*.tag.txt", "*.subjs.txt"],
    framing: Framing::Lines,
    // Prefixes are plain text, so the format is recognised by the cue file next to it.
    recognise: |head| beside(head.file, &["subjs"]).is_some(),
    parser: |head, _| {
        let open = |names: &[&str]| beside(head.file, names).map(|p| source::open(&p)).transpose();
        Ok(Box::new(Prefixes { cues: open(&["subjs"])?, tags: open(&["tag", "tags"])?, failure: None }))
    },
};

/// The tag or cue file, if the user opens it directly.
pub(crate) const PARTS: Format = Format {
    id: "ding-koehn-parts",
    title: "Ding & Koehn tag or cue file",
    columns: &["0|1", "[(from, to)] ||| [(from, to)]"],
    framing: Framing::Lines,
    recognise: |head| is_part(head),
    parser: |head, _| {
        let what = "a tag or cue file that belongs to a prefix file";
        Err(ReadError::file(head.file, what, "the prefix file itself (such as all.prefx.txt)"))
    },
};

fn is_part(head: &Head<'_>) -> bool {
    let cues = |l: &&str| l.contains(" ||| ") && spans(l).is_ok();
    let tags = |l: &&str| matches!(l.trim(), "0" | "1");
    let named = head.file.file_name().is_some_and(|n| n.to_string_lossy().contains(".tag"));
    head.lines.iter().all(cues) || named && head.lines.iter().all(tags)
}

/// Returns the file named with one of `names` in place of `prefx`, if it exists.
fn beside(file: &Path, names: &[&str]) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    let (before, after) = name.split_once(".prefx.")?;
    names.iter().map(|n| file.with_file_name(format!("{before}.{n}.{after}"))).find(|p| p.is_file())
}

type Spans = Vec<[u32; 2]>;

/// Parses the cue and attractor spans of a line.
fn spans(line: &str) -> Result<(Spans, Spans), Unread> {
    let bad = || Unread::new(DropKind::Syntax, format!("`{line}`; expected [(from, to), …] ||| [(from, to), …]"));
    let list = |part: &str| -> Option<Spans> {
        let inner = part.trim().strip_prefix('[')?.strip_suffix(']')?;
        let numbers: Vec<u32> = inner
            .split(['(', ')', ',', ' '])
            .filter(|p| !p.is_empty())
            .map(|p| p.parse().ok())
            .collect::<Option<_>>()?;
        numbers.len().is_multiple_of(2).then(|| numbers.chunks(2).map(|p| [p[0], p[1]]).collect())
    };
    let (cues, attractors) = line.split_once("|||").ok_or_else(bad)?;
    list(cues).zip(list(attractors)).ok_or_else(bad)
}

/// Converts inclusive spans to token indices.
fn indices(spans: &[[u32; 2]], tokens: usize) -> Result<Vec<u32>, Unread> {
    let mut set = Vec::new();
    for [from, to] in spans {
        if from > to || *to as usize >= tokens {
            let what = format!("the span is {from} to {to}, but the sentence has only {tokens} tokens");
            return Err(Unread::new(DropKind::Index, what));
        }
        set.extend(*from..=*to);
    }
    set.sort_unstable();
    set.dedup();
    Ok(set)
}

fn tag(tag: &str) -> Result<Text<'static>, Unread> {
    match tag.trim() {
        "0" => Ok("0".into()),
        "1" => Ok("1".into()),
        other => Err(Unread::new(DropKind::Label, format!("tag `{other}`; expected 0 or 1"))),
    }
}

struct Prefixes {
    cues: Option<Frames>,
    tags: Option<Frames>,
    failure: Option<ReadError>,
}

/// Reads the next line of an accompanying file, which has one line per prefix.
fn side(frames: &mut Option<Frames>) -> Result<Option<String>, ReadError> {
    let Some(frames) = frames else { return Ok(None) };
    match frames.next_line()? {
        Some((_, range)) => Ok(Some(String::from_utf8_lossy(frames.bytes(range)).into_owned())),
        None => {
            let line = frames.line_number() + 1;
            Err(ReadError::line(frames.file(), line, "the file ends", "a line for every prefix"))
        }
    }
}

impl Prefixes {
    /// Reads the next lines of the cue and tag files; stores any error in `failure`.
    fn sides(&mut self) -> Option<(Option<String>, Option<String>)> {
        match side(&mut self.cues).and_then(|cues| Ok((cues, side(&mut self.tags)?))) {
            Ok(sides) => Some(sides),
            Err(failure) => {
                self.failure = Some(failure);
                None
            }
        }
    }
}

impl Parse for Prefixes {
    fn piece(&mut self, text: &str, emit: &mut Emit<'_>) -> Result<(), Unread> {
        let Some((cues, class)) = self.sides() else { return Ok(()) };
        let tokens: Vec<Text<'_>> = text.split_whitespace().map(Text::from).collect();
        let (cues, attractors) = spans(cues.as_deref().unwrap_or_default())?;
        emit(Row::Rationale(Rationale {
            rationales: vec![indices(&cues, tokens.len())?],
            attractors: Some(indices(&attractors, tokens.len())?),
            label: class.as_deref().map(tag).transpose()?,
            tokens,
            ..Rationale::default()
        }));
        Ok(())
    }

    fn skipped(&mut self) {
        self.sides();
    }

    fn end(&mut self, _: &mut Emit<'_>) -> Result<(), Unread> {
        for frames in [&mut self.cues, &mut self.tags].into_iter().flatten() {
            match frames.next_line() {
                Ok(None) => {}
                Ok(Some((line, _))) => {
                    let what = "more lines than prefixes";
                    self.failure = Some(ReadError::line(frames.file(), line, what, "a line for every prefix"));
                }
                Err(failure) => self.failure = Some(failure),
            }
        }
        Ok(())
    }

    fn failure(&mut self) -> Option<ReadError> {
        self.failure.take()
    }
}

#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    tokens: Vec<Text<'a>>,
    cue_spans: Spans,
    attractor_spans: Option<Spans>,
    tag: Option<Text<'a>>,
    section: Option<Text<'a>>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

fn row(text: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let keys: Keys<'_> = json(text)?;
    let count = keys.tokens.len();
    let rationales = vec![indices(&keys.cue_spans, count)?];
    let attractors = keys.attractor_spans.map(|s| indices(&s, count)).transpose()?;
    let label = keys.tag.as_deref().map(tag).transpose()?;
    let vectors: Vec<(&str, Vec<f64>)> = keys
        .rest
        .iter()
        .filter_map(|(k, v)| Some((k.strip_prefix("saliency_")?, v)))
        .map(|(k, v)| Ok((k, vector(k, v, count)?)))
        .collect::<Result<_, Unread>>()?;
    emit(Row::Rationale(Rationale {
        id: keys.id.clone(),
        tokens: keys.tokens,
        rationales,
        attractors,
        label,
        dimension: keys.section,
        ..Rationale::default()
    }));
    for (system, scores) in vectors {
        emit(Row::Prediction(Prediction {
            id: keys.id.clone(),
            system: Some(system.into()),
            scores: Some(scores),
            ..Prediction::default()
        }));
    }
    Ok(())
}

fn vector(name: &str, value: &serde_json::Value, tokens: usize) -> Result<Vec<f64>, Unread> {
    let list = value.as_array().and_then(|v| v.iter().map(serde_json::Value::as_f64).collect::<Option<Vec<f64>>>());
    match list {
        Some(list) if list.len() == tokens => Ok(list),
        Some(list) => {
            let what = format!("`saliency_{name}` has {} values for {tokens} tokens", list.len());
            Err(Unread::new(DropKind::Value, what))
        }
        None => Err(Unread::new(DropKind::Value, format!("`saliency_{name}` is not a list of numbers"))),
    }
}

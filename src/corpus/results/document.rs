//! JSON results: a sequence of rows, or one document with all rows, recognised by its keys.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::evalplus::{Samples, passed};
use super::gather::Gather;
use super::line::{Key, Line, LineSeed};
use super::python::{exact_integers, plain};
use super::value::{Digest, Scalar, truth};
use crate::readers::source::Frames;
use crate::readers::{ReadError, UTF_8, decode};
use base::text::shortened;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Rows under this key, in a list or a map from identifiers (Inspect, lmms-eval, OpenCompass details).
    Under(&'static str),
    /// Map from identifiers to rows or values (OpenCompass predictions, SWE-bench).
    Map,
    /// Lists of identifiers, one of which contains the resolved items (SWE-bench reports).
    Lists,
    /// Rows in a list under one of [`WRAPPERS`].
    Wrapped,
    /// Samples by task (evalplus).
    EvalPlus,
    /// Lists of rows by task under `samples`; only a single task is supported (lm-evaluation-harness).
    ByTask,
    List,
}

/// Keys under which files have their rows as a list.
pub(crate) const WRAPPERS: [&str; 7] = ["data", "rows", "records", "items", "examples", "instances", "results"];

/// Reads a document that contains all rows.
pub(crate) fn whole(frames: &mut Frames, layout: Layout, gather: &mut Gather<'_>) -> Result<(), ReadError> {
    let range = frames.document().map_err(|e| match layout {
        Layout::Under("samples") => ReadError::file(
            gather.file,
            "an Inspect log that is too large to read as one JSON document",
            "an .eval log; convert it: inspect log convert LOG.json --to eval --output-dir DIR",
        ),
        _ => e,
    })?;
    document(frames.bytes(range), layout, gather)
}

/// Reads rows in sequence: one per line, objects over several lines, or elements of an array.
pub(crate) fn rows(frames: &mut Frames, gather: &mut Gather<'_>) -> Result<(), ReadError> {
    let seed = LineSeed::from(gather.wanted);
    while let Some((number, range)) = frames.next_row()? {
        let bytes = frames.bytes(range);
        let bytes = &*exact_integers(bytes);
        let outcome = match parse(bytes, seed) {
            Ok(line) => gather.take(line, number),
            Err(first) => match parse(&plain(bytes), seed) {
                Ok(line) => gather.take(line, number),
                Err(_) => Err(match decode(bytes) {
                    Ok(_) => ReadError::line(gather.file, number, words(&first), "one JSON object per line"),
                    Err(what) => ReadError::line(gather.file, number, what, UTF_8),
                }),
            },
        };
        outcome?;
    }
    Ok(())
}

/// Removes the position from a JSON error, because it is relative to the start of the row.
fn words(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "the line is incomplete (truncated file?)".into();
    }
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

fn parse(bytes: &[u8], seed: LineSeed) -> Result<Line<'_>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let line = seed.deserialize(&mut json)?;
    json.end()?;
    Ok(line)
}

/// Parses the rows of a whole document.
pub(crate) fn document(bytes: &[u8], layout: Layout, gather: &mut Gather<'_>) -> Result<(), ReadError> {
    gather.by_item = true;
    gather.numbered = matches!(layout, Layout::Under("details"));
    gather.samples |= matches!(layout, Layout::Under("samples"));
    let bytes = exact_integers(bytes);
    let bytes = plain(&bytes);
    let mut failed = None;
    let mut json = serde_json::Deserializer::from_slice(&bytes);
    let walk = Walk { gather, failed: &mut failed, layout, top: true };
    let outcome = walk.deserialize(&mut json).and_then(|()| json.end());
    match (failed, outcome) {
        (Some(error), _) => Err(error),
        (None, Err(e)) => Err(ReadError::line(gather.file, e.line() as u64, words(&e), "a complete JSON document")),
        (None, Ok(())) => Ok(()),
    }
}

/// Traverses a document and collects its rows.
struct Walk<'w, 'g> {
    gather: &'w mut Gather<'g>,
    failed: &'w mut Option<ReadError>,
    layout: Layout,
    top: bool,
}

impl<'g> Walk<'_, 'g> {
    fn inner(&mut self) -> Walk<'_, 'g> {
        Walk { gather: self.gather, failed: self.failed, layout: self.layout, top: false }
    }

    fn take<E: de::Error>(&mut self, line: Line<'_>, number: usize) -> Result<(), E> {
        self.gather.take(line, number as u64).map_err(|e| {
            *self.failed = Some(e);
            E::custom("stopped")
        })
    }

    /// Reads lists of identifiers; those under `resolved` are correct.
    fn lists<'de, A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut all: BTreeMap<String, bool> = BTreeMap::new();
        while let Some(Key(key)) = map.next_key()? {
            let right = key == "resolved_ids" || key == "resolved";
            for name in map.next_value_seed(Texts)? {
                let known = all.entry(name).or_insert(false);
                *known |= right;
            }
        }
        for (number, (id, right)) in all.into_iter().enumerate() {
            let mut line = Line { id: Some(id.into()), ..Line::default() };
            line.values.push(("resolved".into(), f64::from(u8::from(right))));
            self.take(line, number + 1)?;
        }
        Ok(())
    }

    /// Reads the rows of the only task in the document.
    fn tasks<'de, A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut first: Option<String> = None;
        while let Some(Key(task)) = map.next_key()? {
            if let Some(first) = &first {
                let what = format!("rows of several tasks, `{}` and `{}`", shortened(first, 40), shortened(&task, 40));
                let expected = "rows of one task, as in the samples_TASK.jsonl that `--log_samples` writes";
                *self.failed = Some(ReadError::file(self.gather.file, what, expected));
                return Err(de::Error::custom("stopped"));
            }
            first = Some(task.into_owned());
            map.next_value_seed(self.inner())?;
        }
        Ok(())
    }

    fn samples<'de, A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some((Key(task), Samples(samples))) = map.next_entry()? {
            for (run, statuses) in samples.into_iter().enumerate() {
                number += 1;
                let mut line = Line { id: Some(task.clone()), run: Some(run.to_string().into()), ..Line::default() };
                for (name, status) in ["base", "plus"].into_iter().zip(statuses) {
                    line.metrics.push(name.into());
                    let Some(status) = status else { continue };
                    let Some(passed) = passed(&status) else {
                        let what =
                            format!("{}: unknown {name} status `{}`", shortened(&task, 60), shortened(&status, 60));
                        let expected = "pass or fail (or success, failed, timeout, timed out, error)";
                        *self.failed = Some(ReadError::file(self.gather.file, what, expected));
                        return Err(de::Error::custom("stopped"));
                    };
                    line.values.push((name.into(), f64::from(u8::from(passed))));
                }
                self.take(line, number)?;
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("results")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let seed = LineSeed::from(self.gather.wanted);
        let mut number = 0;
        while let Some(line) = seq.next_element_seed(seed)? {
            number += 1;
            self.take(line, number)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        match (self.top, self.layout) {
            (true, Layout::Lists) => return self.lists(map),
            (false, Layout::EvalPlus) => return self.samples(map),
            (false, Layout::ByTask) => return self.tasks(map),
            (true, Layout::Under(_) | Layout::Wrapped | Layout::EvalPlus | Layout::ByTask) => {
                let wanted: &[&str] = match self.layout {
                    Layout::Under(key) => &[key],
                    Layout::Wrapped => &WRAPPERS,
                    Layout::ByTask => &["samples"],
                    _ => &["eval"],
                };
                let mut found = false;
                while let Some(Key(key)) = map.next_key()? {
                    if wanted.contains(&key.as_ref()) && !found {
                        found = true;
                        map.next_value_seed(self.inner())?;
                    } else if key == "hash" && self.layout == Layout::EvalPlus {
                        // The hash of the data set, which all items have in common.
                        self.gather.data_hash = map.next_value::<Digest>()?.0;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                if !found && self.layout == Layout::ByTask {
                    let expected = "rows: `--log_samples` writes them to samples_TASK.jsonl";
                    let what = "means over tasks, without rows for items";
                    *self.failed = Some(ReadError::file(self.gather.file, what, expected));
                }
                return Ok(());
            }
            _ => {}
        }
        let mut number = 0;
        while let Some(Key(id)) = map.next_key()? {
            number += 1;
            let Some(mut line) = map.next_value_seed(Row(LineSeed::from(self.gather.wanted)))? else {
                continue;
            };
            line.id.get_or_insert(id);
            self.take(line, number)?;
        }
        Ok(())
    }
}

/// Reads the value stored under an identifier: an object or a scalar. Other texts, such as the `type` in OpenCompass details, give `None`.
struct Row(LineSeed);

impl<'de> DeserializeSeed<'de> for Row {
    type Value = Option<Line<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Row {
    fn right<'de>(value: f64) -> Option<Line<'de>> {
        Some(Line { values: vec![("resolved".into(), value)], ..Line::default() })
    }
}

impl<'de> Visitor<'de> for Row {
    type Value = Option<Line<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row, `true` or `false`")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Self::right(f64::from(u8::from(v))))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Self::right(v as f64))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Self::right(v as f64))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Self::Value, E> {
        Ok(Self::right(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(truth(v).and_then(|right| Self::right(f64::from(u8::from(right)))))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.0.visit_map(map).map(Some)
    }
}

/// A list of texts; any other value counts as empty.
struct Texts;

impl<'de> DeserializeSeed<'de> for Texts {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<String>, D::Error> {
        Ok(Option::<ListOrNot>::deserialize(deserializer)?.map_or_else(Vec::new, |list| list.0))
    }
}

struct ListOrNot(Vec<String>);

impl<'de> Deserialize<'de> for ListOrNot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Found;
        impl<'de> Visitor<'de> for Found {
            type Value = ListOrNot;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of identifiers")
            }
            fn visit_bool<E>(self, _: bool) -> Result<ListOrNot, E> {
                Ok(ListOrNot(Vec::new()))
            }
            fn visit_i64<E>(self, _: i64) -> Result<ListOrNot, E> {
                Ok(ListOrNot(Vec::new()))
            }
            fn visit_u64<E>(self, _: u64) -> Result<ListOrNot, E> {
                Ok(ListOrNot(Vec::new()))
            }
            fn visit_f64<E>(self, _: f64) -> Result<ListOrNot, E> {
                Ok(ListOrNot(Vec::new()))
            }
            fn visit_str<E>(self, _: &str) -> Result<ListOrNot, E> {
                Ok(ListOrNot(Vec::new()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ListOrNot, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = seq.next_element::<Scalar<'de>>()? {
                    all.extend(one.text().map(|t| t.into_owned()));
                }
                Ok(ListOrNot(all))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ListOrNot, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(ListOrNot(Vec::new()))
            }
        }
        deserializer.deserialize_any(Found)
    }
}

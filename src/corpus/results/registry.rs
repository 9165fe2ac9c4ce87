//! Result formats, each with a test that recognises it by content and with a reader.

use std::fmt;
use std::path::Path;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::document::{Layout, WRAPPERS, rows};
use super::gather::Gather;
use super::keys::{CORRECT, is_id, known};
use super::line::Key;
use super::python::plain;
use super::value::truth;
use super::{archive, csv};
use crate::readers::ReadError;
use crate::readers::source::Frames;

pub(crate) struct Reader {
    /// Common name of the format.
    pub name: &'static str,
    pub recognise: fn(&Head<'_>) -> bool,
    pub read: Read,
}

#[derive(Clone, Copy)]
pub(crate) enum Read {
    /// A binary file.
    Packed(fn(&Path, &mut Gather<'_>) -> Result<(), ReadError>),
    /// A sequence of rows.
    Rows(fn(&mut Frames, &mut Gather<'_>) -> Result<(), ReadError>),
    /// One JSON document.
    Document(Layout),
    /// A table that pandas wrote with this orientation, which is not supported.
    PandasTable(&'static str),
}

/// All formats. The first one that recognises a file is used.
pub(crate) static READERS: [Reader; 16] = [
    Reader {
        name: "Inspect archive",
        recognise: |head| head.begins(&[b"PK\x03\x04", b"PK\x05\x06"]),
        read: Read::Packed(archive::rows),
    },
    Reader {
        name: "Inspect log",
        recognise: |head| {
            let log = head.sort("eval") == Some(Sort::Map) && (head.has("status") || head.has("plan"));
            head.sort("samples") == Some(Sort::List) || log
        },
        read: Read::Document(Layout::Under("samples")),
    },
    Reader {
        name: "lm-evaluation-harness results",
        recognise: |head| {
            let written = ["samples", "versions", "configs"].iter().any(|key| head.sort(key) == Some(Sort::Map));
            head.sort("results") == Some(Sort::Map) && written
        },
        read: Read::Document(Layout::ByTask),
    },
    Reader {
        name: "evalplus results",
        recognise: |head| head.sort("eval") == Some(Sort::Map),
        read: Read::Document(Layout::EvalPlus),
    },
    Reader {
        name: "lmms-eval log",
        recognise: |head| head.sort("logs") == Some(Sort::List),
        read: Read::Document(Layout::Under("logs")),
    },
    Reader {
        name: "OpenCompass details",
        recognise: |head| matches!(head.sort("details"), Some(Sort::List | Sort::Map)),
        read: Read::Document(Layout::Under("details")),
    },
    Reader {
        name: "SWE-bench report",
        recognise: |head| [head.sort("resolved_ids"), head.sort("resolved")].contains(&Some(Sort::List)),
        read: Read::Document(Layout::Lists),
    },
    Reader {
        name: "SWE-bench instances",
        recognise: |head| head.all(Sort::Resolved),
        read: Read::Document(Layout::Map),
    },
    Reader {
        name: "right or wrong by identifier",
        recognise: |head| head.all(Sort::Number) && !head.keys.iter().any(|(key, _)| CORRECT.contains(&key.as_str())),
        read: Read::Document(Layout::Map),
    },
    Reader {
        name: "OpenCompass predictions",
        recognise: |head| {
            head.all(Sort::Map) && head.keys.iter().all(|(key, _)| key.bytes().all(|b| b.is_ascii_digit()))
        },
        read: Read::Document(Layout::Map),
    },
    Reader {
        name: "table of pandas (split)",
        recognise: |head| head.sort("columns") == Some(Sort::List) && head.sort("data") == Some(Sort::List),
        read: Read::PandasTable("split"),
    },
    Reader {
        name: "table of pandas (columns)",
        recognise: |head| {
            head.all(Sort::Map) && head.keys.iter().any(|(key, _)| is_id(key) || CORRECT.contains(&key.as_str()))
        },
        read: Read::PandasTable("columns"),
    },
    Reader {
        name: "rows in a list",
        recognise: |head| {
            WRAPPERS.iter().any(|key| head.sort(key) == Some(Sort::List))
                && !["doc", "metric", "metrics", "prediction"].iter().any(|key| head.has(key))
        },
        read: Read::Document(Layout::Wrapped),
    },
    // lm-evaluation-harness, lmms-eval, HELM, lighteval, BEAR and plain rows are distinguished by the keys of each row.
    Reader { name: "JSON lines", recognise: |head| head.begins(&[b"{"]), read: Read::Rows(rows) },
    Reader { name: "JSON array", recognise: |head| head.begins(&[b"["]), read: Read::Rows(rows) },
    Reader { name: "table", recognise: |_| true, read: Read::Rows(csv::rows) },
];

/// Returns the reader of a file with this beginning.
pub(crate) fn recognise(window: &[u8]) -> &'static Reader {
    let head = Head::of(window);
    let [.., table] = &READERS;
    READERS.iter().find(|reader| (reader.recognise)(&head)).unwrap_or(table)
}

/// Returns the error for a table of pandas, with the command that converts it.
pub(crate) fn pandas(path: &Path, orient: &str) -> ReadError {
    let name = path.display();
    let expected = format!(
        "JSON lines: python3 -c \"import pandas; \
         pandas.read_json('{name}', orient='{orient}').to_json('{name}.jsonl', orient='records', lines=True)\""
    );
    ReadError::file(path, format!("a table of pandas with orient='{orient}'"), expected)
}

/// Beginning of a file.
pub(crate) struct Head<'w> {
    bytes: &'w [u8],
    /// Keys of the first object and the types of their values; empty if the object is a row with an identifier.
    keys: Vec<(String, Sort)>,
    /// True if the window ends within the last value, whose type may then be unknown.
    cut: bool,
}

impl<'w> Head<'w> {
    fn of(window: &'w [u8]) -> Self {
        let bytes = window.trim_ascii_start();
        let mut keys: Vec<(String, Sort)> = Vec::new();
        let mut cut = false;
        if bytes.starts_with(b"{") {
            // The window may end inside the object, in which case only the keys before its end count.
            let text = plain(bytes);
            cut = Sorts(&mut keys).deserialize(&mut serde_json::Deserializer::from_slice(&text)).is_err();
        }
        keys.iter_mut().for_each(|(key, _)| *key = known(key).map_or(std::mem::take(key), str::to_owned));
        if keys.iter().any(|(key, sort)| is_id(key) && matches!(sort, Sort::Scalar | Sort::Number)) {
            keys.clear();
        }
        Self { bytes, keys, cut }
    }

    fn begins(&self, with: &[&[u8]]) -> bool {
        with.iter().any(|start| self.bytes.starts_with(start))
    }

    fn sort(&self, name: &str) -> Option<Sort> {
        self.keys.iter().find(|(key, _)| key == name).map(|(_, sort)| *sort)
    }

    fn has(&self, name: &str) -> bool {
        self.sort(name).is_some()
    }

    fn all(&self, wanted: Sort) -> bool {
        let whole = &self.keys[..self.keys.len() - usize::from(self.cut && self.keys.len() > 1)];
        !whole.is_empty() && whole.iter().all(|(_, sort)| *sort == wanted)
    }
}

/// Type of a value, from which documents are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Scalar,
    /// A number, a boolean, or a string that means correct or wrong.
    Number,
    List,
    Map,
    /// A map with the key `resolved`.
    Resolved,
}

struct Sorts<'k>(&'k mut Vec<(String, Sort)>);

impl<'de> DeserializeSeed<'de> for Sorts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Sorts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            let at = self.0.len();
            if at >= 10_000 {
                return Err(de::Error::custom("enough"));
            }
            self.0.push((key.into_owned(), Sort::Scalar));
            map.next_value_seed(SortOf(&mut self.0[at].1))?;
        }
        Ok(())
    }
}

/// Records the type of a value as soon as it begins.
struct SortOf<'k>(&'k mut Sort);

impl<'de> DeserializeSeed<'de> for SortOf<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for SortOf<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        *self.0 = Sort::Number;
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        *self.0 = Sort::Number;
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        *self.0 = Sort::Number;
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        *self.0 = Sort::Number;
        Ok(())
    }

    fn visit_str<E>(self, v: &str) -> Result<(), E> {
        if truth(v).is_some() {
            *self.0 = Sort::Number;
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        *self.0 = Sort::List;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        *self.0 = Sort::Map;
        while let Some(Key(key)) = map.next_key()? {
            if key == "resolved" {
                *self.0 = Sort::Resolved;
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

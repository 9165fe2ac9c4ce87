//! Parser for `expected.*` files, which validates every value before use.

use std::path::Path;

use serde_json::Value;

use super::{ModelError, Result};
use crate::source::Files;
use crate::weights::Checkpoint;

/// Maximum number of integration steps and of texts in a file.
pub(super) const MOST: usize = 10_000;

pub(super) struct Tensor {
    /// Lengths of the axes, outermost first.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub data: Vec<f64>,
}

pub(crate) struct Expected {
    tensors_label: String,
    json_label: String,
    tensors: Option<Checkpoint>,
    info: Value,
}

impl Expected {
    pub(crate) fn open(dir: &Path) -> Result<Expected> {
        let files = Files::Dir(dir.to_owned());
        let hint = "a check needs expected.json with hidden states, logits, gradients etc. from another \
            implementation; unrounded values go into expected.safetensors";
        let text = files.text("expected.json")?.ok_or_else(|| files.missing("expected.json", hint))?;
        let json_label = dir.join("expected.json").display().to_string();
        let path = dir.join("expected.safetensors");
        let tensors = if path.is_file() { Some(Checkpoint::open(&[&path])?) } else { None };
        Expected::parse(&json_label, &text, &path.display().to_string(), tensors)
    }

    /// Parses expected values in memory; the labels name the sources in errors.
    pub(crate) fn parse(
        json_label: &str,
        text: &str,
        tensors_label: &str,
        tensors: Option<Checkpoint>,
    ) -> Result<Expected> {
        let wrong = |what: String| ModelError::Config { file: json_label.to_owned(), what };
        let info: Value = serde_json::from_str(text).map_err(|e| wrong(format!("not valid JSON: {e}")))?;
        if !info.is_object() {
            return Err(wrong("expected a JSON object".into()));
        }
        Ok(Expected { tensors_label: tensors_label.to_owned(), json_label: json_label.to_owned(), tensors, info })
    }

    /// True if there are unrounded values.
    pub(crate) fn has_tensors(&self) -> bool {
        self.tensors.is_some()
    }

    /// Describes the origin of the values from `versions` or `reference` in the JSON file.
    pub(crate) fn reference(&self) -> String {
        let parts = ["versions", "reference"].iter().find_map(|k| self.info.get(*k)?.as_object());
        let named = ["library", "transformers", "torch", "tokenizers", "captum"].iter().filter_map(|k| {
            let value = parts?.get(*k)?.as_str()?;
            Some(if *k == "library" { value.to_owned() } else { format!("{k} {value}") })
        });
        named.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn find(&self, key: &str) -> Result<Option<Tensor>> {
        let numbers = self.tensors.as_ref().and_then(|t| t.numbers(key)).transpose()?;
        Ok(numbers.map(|(shape, data)| Tensor { shape, data }))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.tensors.as_ref().is_some_and(|t| t.contains(key))
    }

    /// Returns a required array.
    pub(crate) fn get(&self, key: &str) -> Result<Tensor> {
        self.find(key)?.ok_or_else(|| self.wrong_tensor(key, "is missing".into()))
    }

    /// Returns a required array after checking its shape.
    pub(crate) fn shaped(&self, key: &str, shape: &[usize]) -> Result<Tensor> {
        let t = self.get(key)?;
        if t.shape != shape {
            return Err(self.wrong_tensor(key, format!("has shape {:?}; expected {shape:?}", t.shape)));
        }
        Ok(t)
    }

    /// Returns an array of whole numbers below `bound`, after checking its shape.
    pub(crate) fn indices(&self, key: &str, shape: &[usize], bound: usize) -> Result<Vec<usize>> {
        let t = self.shaped(key, shape)?;
        match t.data.iter().find(|v| v.fract() != 0.0 || **v < 0.0 || **v >= bound as f64) {
            Some(v) => {
                Err(self.wrong_tensor(key, format!("contains {v}; expected whole numbers from 0 to below {bound}")))
            }
            None => Ok(t.data.iter().map(|&v| v as usize).collect()),
        }
    }

    /// Creates an error about an array.
    pub(crate) fn wrong_tensor(&self, key: &str, what: String) -> ModelError {
        ModelError::Expected { file: self.tensors_label.clone(), key: key.to_owned(), what }
    }

    /// Root of the JSON file.
    pub(crate) fn json(&self) -> Json<'_> {
        Json { file: &self.json_label, at: String::new(), value: Some(&self.info) }
    }
}

/// A value in the JSON file with its path.
#[derive(Clone)]
pub(crate) struct Json<'a> {
    file: &'a str,
    at: String,
    value: Option<&'a Value>,
}

impl<'a> Json<'a> {
    /// Returns a field; a missing one causes an error only when its value is used.
    pub(crate) fn field(&self, key: &str) -> Json<'a> {
        let at = if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) };
        Json { file: self.file, at, value: self.value.and_then(|v| v.get(key)) }
    }

    /// Returns an item of a list; a missing one causes an error only when its value is used.
    pub(crate) fn item(&self, i: usize) -> Json<'a> {
        let at = format!("{}.{i}", self.at);
        Json { file: self.file, at, value: self.value.and_then(|v| v.get(i)) }
    }

    /// True if the value is present and not null.
    pub(crate) fn is_there(&self) -> bool {
        self.value.is_some_and(|v| !v.is_null())
    }

    fn wrong(&self, wanted: &str) -> ModelError {
        let what = match self.value {
            None => format!("is missing; expected {wanted}"),
            Some(_) => format!("is not {wanted}"),
        };
        ModelError::Expected { file: self.file.to_owned(), key: self.at.clone(), what }
    }

    pub(crate) fn items(&self) -> Result<Vec<Json<'a>>> {
        let list = self.value.and_then(Value::as_array).ok_or_else(|| self.wrong("a list"))?;
        let item = |(i, v)| Json { file: self.file, at: format!("{}.{i}", self.at), value: Some(v) };
        Ok(list.iter().enumerate().map(item).collect())
    }

    /// Items of a list with 1 to [`MOST`] entries.
    pub(crate) fn some_items(&self) -> Result<Vec<Json<'a>>> {
        let items = self.items()?;
        if items.is_empty() || items.len() > MOST {
            return Err(self.wrong(&format!("a list of 1 to {MOST} entries")));
        }
        Ok(items)
    }

    pub(crate) fn text(&self) -> Result<&'a str> {
        self.value.and_then(Value::as_str).ok_or_else(|| self.wrong("a text"))
    }

    /// Parses a whole number from `least` to `most`.
    pub(crate) fn whole(&self, least: usize, most: usize) -> Result<usize> {
        let n = self.value.and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        n.filter(|n| (least..=most).contains(n))
            .ok_or_else(|| self.wrong(&format!("a whole number from {least} to {most}")))
    }

    pub(crate) fn number(&self) -> Result<f64> {
        self.value.and_then(Value::as_f64).ok_or_else(|| self.wrong("a number"))
    }

    /// Parses a list of token ids.
    pub(crate) fn ids(&self) -> Result<Vec<u32>> {
        self.items()?.iter().map(|i| i.whole(0, u32::MAX as usize).map(|n| n as u32)).collect()
    }

    pub(crate) fn texts(&self) -> Result<Vec<String>> {
        self.items()?.iter().map(|i| i.text().map(str::to_owned)).collect()
    }

    /// Parses a list of position pairs in a text.
    pub(crate) fn offsets(&self) -> Result<Vec<(usize, usize)>> {
        let pair = |item: &Json| match item.ids()?[..] {
            [from, to] => Ok((from as usize, to as usize)),
            _ => Err(item.wrong("a pair of whole numbers")),
        };
        self.items()?.iter().map(pair).collect()
    }

    /// Parses numbers in a list or in nested lists, flattened.
    pub(crate) fn numbers(&self) -> Result<Vec<f64>> {
        let mut all = Vec::new();
        for item in self.items()? {
            match item.value {
                Some(Value::Array(_)) => {
                    for inner in item.items()? {
                        all.push(inner.number()?);
                    }
                }
                _ => all.push(item.number()?),
            }
        }
        Ok(all)
    }
}

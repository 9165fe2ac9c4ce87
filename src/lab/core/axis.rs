//! The axes of a grid: the fields of a spec that may vary from cell to cell, and how values are written into a cell.

use toml::{Table, Value};

use base::text::last_part;
use model::{Model, ModelError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// The key in `[grid]`, dotted for a field in a table.
    pub name: &'static str,
    /// The keys of the spec that the axis sets; empty if equal to `name`.
    keys: &'static [&'static str],
    takes: Takes,
}

/// Values that an axis accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Value,
    /// An entry of a list field: the cell has only that entry.
    One,
    /// A list whose elements are used together in one cell.
    List,
    /// A layer, or `"all"` for every layer that all models of the cell have.
    Layer,
    /// A table with a `name`, or the name alone; the cell has only that table.
    Named,
    /// A table of fields, as in the spec.
    Part,
}

/// One model per cell.
pub const MODEL: Axis = Axis::new("models", &[], Takes::One);
/// A set of models per cell, for labs that compare the models of a run with each other.
pub const MODEL_SETS: Axis = Axis::new("models", &[], Takes::List);
/// The seed of data and random streams.
pub const SEED: Axis = Axis::field("seed");

impl Axis {
    pub const fn new(name: &'static str, keys: &'static [&'static str], takes: Takes) -> Self {
        Self { name, keys, takes }
    }

    /// An axis over the values of a single field.
    pub const fn field(name: &'static str) -> Self {
        Self::new(name, &[], Takes::Value)
    }

    fn keys(&self) -> &[&'static str] {
        if self.keys.is_empty() { std::slice::from_ref(&self.name) } else { self.keys }
    }

    /// The values of the axis for a partially filled cell.
    ///
    /// # Errors
    /// The problem and the allowed values.
    pub fn values(&self, given: &Value, partial: &Table) -> Result<Vec<Value>, String> {
        let all = Value::String("all".into());
        let list = match given {
            Value::Array(list) => list.clone(),
            value if self.takes == Takes::Layer && *value == all => vec![all.clone()],
            _ if self.takes == Takes::Layer => return Err("must be a list of layers or \"all\"".into()),
            _ => return Err("must be a list; if all cells share one value, set it outside [grid]".into()),
        };
        if list.is_empty() {
            return Err("is an empty list: give at least one value, or remove the axis".into());
        }
        let mut values: Vec<Value> = Vec::new();
        for value in list {
            let more = match self.takes {
                Takes::Layer if value == all => layers(partial)?,
                Takes::Layer => vec![layer(value, partial)?],
                _ => vec![value],
            };
            for value in more {
                if values.contains(&value) {
                    return Err(format!("names `{}` twice: remove one of them", show(&value)));
                }
                values.push(value);
            }
        }
        Ok(values)
    }

    /// True if the values depend on the rest of the cell, as layers do.
    pub fn depends(&self) -> bool {
        self.takes == Takes::Layer
    }

    /// Writes a value into a cell.
    ///
    /// # Errors
    /// The problem and the allowed values.
    pub fn write(&self, value: &Value, cell: &mut Table) -> Result<(), String> {
        let written = match (self.takes, value) {
            (Takes::Part, Value::Table(part)) => return merge(cell, part, ""),
            (Takes::Part, _) => return Err(wants(value, "a table of fields, for example { a = { layer = 1 } }")),
            (Takes::Named, Value::String(name)) => {
                let table = Table::from_iter([("name".to_owned(), Value::String(name.clone()))]);
                Value::Array(vec![Value::Table(table)])
            }
            (Takes::Named, Value::Table(_)) | (Takes::One, Value::String(_) | Value::Integer(_)) => {
                Value::Array(vec![value.clone()])
            }
            (Takes::Named, _) => return Err(wants(value, "a name, or a table with a name")),
            (Takes::One, _) => return Err(wants(value, "a single name")),
            (Takes::List, Value::Array(_)) => value.clone(),
            (Takes::List, _) => return Err(wants(value, "a list, for example [[\"a\", \"b\"], [\"c\"]]")),
            (Takes::Value | Takes::Layer, _) => value.clone(),
        };
        self.keys().iter().try_for_each(|key| set(cell, key, written.clone()))
    }
}

fn wants(value: &Value, what: &str) -> String {
    format!("contains `{}`: each of its values must be {what}", show(value))
}

fn models(partial: &Table) -> impl Iterator<Item = &str> {
    partial.get("models").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The layers that all models of a cell have.
fn layers(partial: &Table) -> Result<Vec<Value>, String> {
    let mut least = None;
    for name in models(partial) {
        let depth = depth(name).map_err(|e| format!("is \"all\", but the layers of `{name}` are not known: {e}"))?;
        least = Some(least.map_or(depth, |l: usize| l.min(depth)));
    }
    match least {
        None => Err("is \"all\", but the cell names no model".into()),
        Some(0) => Err("is \"all\", but one of the cell's models has no layers".into()),
        Some(depth) => Ok((1..=depth as i64).map(Value::Integer).collect()),
    }
}

/// Checks that the models of a cell have this layer, as far as their depth is known before loading.
fn layer(value: Value, partial: &Table) -> Result<Value, String> {
    let Some(wanted) = value.as_integer() else { return Ok(value) };
    let deep = |name: &&str| depth(name).is_ok_and(|d| i64::try_from(d).is_ok_and(|d| wanted > d));
    match models(partial).find(deep) {
        Some(name) => Err(format!("names layer {wanted}, which `{name}` does not have")),
        None => Ok(value),
    }
}

fn depth(name: &str) -> Result<usize, ModelError> {
    Ok(Model::describe(&name.parse()?)?.depth())
}

/// Sets a field by its dotted key; fails if it is already set.
fn set(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let (mut at, mut rest) = (table, key);
    while let Some((head, tail)) = rest.split_once('.') {
        let entry = at.entry(head).or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = entry else {
            return Err(format!("sets `{key}`, but `{head}` is not a table"));
        };
        (at, rest) = (inner, tail);
    }
    match at.insert(rest.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(format!("sets `{key}`, which is also set elsewhere in the file: remove one of them")),
    }
}

fn merge(table: &mut Table, part: &Table, above: &str) -> Result<(), String> {
    for (key, value) in part {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            Value::Table(inner) => merge(table, inner, &path)?,
            value => set(table, &path, value.clone())?,
        }
    }
    Ok(())
}

/// Formats a value briefly: names without folders, lists joined by `+`.
pub fn show(value: &Value) -> String {
    let joined = |list: Vec<String>| base::text::shortened(&list.join("+"), 60);
    match value {
        Value::String(text) => base::text::shortened(last_part(text), 60),
        Value::Array(list) => joined(list.iter().map(show).collect()),
        Value::Table(table) => joined(
            table
                .iter()
                .map(|(key, value)| match key.as_str() {
                    "name" | "models" => show(value),
                    _ => format!("{key}={}", show(value)),
                })
                .collect(),
        ),
        other => other.to_string(),
    }
}

//! Grids: one file with many experiments. `[grid]` lists values of fields, and every combination is a cell: a plain spec with its own hash.
//! The lab declares the fields that may vary ([`lab::Instrument::AXES`]). Cells are enumerated in that order, with the first axis slowest.

mod lines;
pub mod share;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use sha2::{Digest, Sha256};
use toml::{Table, Value};

pub use lab::axis::{Axis, MODEL, MODEL_SETS, SEED, Takes};

use super::{LabId, Spec, by_id};
use base::files::hex;
use base::suggest;
use lab::spec::SpecError;

pub(crate) const MOST_CELLS: usize = 100_000;

/// One experiment of a grid, or a plain spec.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Axes with their values; empty for a plain spec.
    pub at: Vec<(String, String)>,
    pub spec: Spec,
    pub hash: String,
    /// The source file, for messages.
    pub origin: String,
}

impl Cell {
    fn new(at: Vec<(String, String)>, spec: Spec, file: &str) -> Self {
        let label = label(&at);
        let origin = if label.is_empty() { file.to_owned() } else { format!("{file}, cell {label}") };
        Self { at, hash: spec.hash(), spec, origin }
    }

    /// A plain spec; `origin` names its file.
    pub fn plain(spec: Spec, origin: &str) -> Self {
        Self::new(Vec::new(), spec, origin)
    }

    /// Axes and values as text: `models bert-mini, layer 2`; empty for a plain spec.
    pub fn label(&self) -> String {
        label(&self.at)
    }

    /// The same cell with a different seed for all its random streams.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.spec.common_mut().set_seed(seed);
        self.hash = self.spec.hash();
        self
    }
}

fn label(at: &[(String, String)]) -> String {
    at.iter().map(|(axis, value)| format!("{axis} {value}")).collect::<Vec<_>>().join(", ")
}

/// Reads and checks the cells of a grid, or a plain spec as one cell.
///
/// # Errors
/// [`SpecError`] with file, line and the allowed values.
pub fn read(path: &Path) -> Result<Vec<Cell>, SpecError> {
    let text = lab::spec::read_text(path)?;
    let origin = path.display().to_string();
    if !has_grid(&text) {
        return Ok(vec![Cell::plain(Spec::of_file(&text, path)?, &origin)]);
    }
    let mut cells = parse(&text, &origin)?;
    cells.iter_mut().for_each(|cell| cell.spec.lies_beside(path));
    Ok(cells)
}

/// True if the text has a grid. Invalid TOML has none: parsing it as a plain spec reports the error.
fn has_grid(text: &str) -> bool {
    toml::from_str::<Table>(text).is_ok_and(|table| table.contains_key("grid"))
}

/// Expands a text with `[grid]` into cells. Values are checked only as far as parsing requires.
pub fn parse(text: &str, origin: &str) -> Result<Vec<Cell>, SpecError> {
    let file = File { text, origin };
    let mut base: Table =
        toml::from_str(text).map_err(|e| SpecError::Parse { origin: origin.into(), message: e.message().into() })?;
    let given = base.remove("grid").unwrap_or(Value::Table(Table::new()));
    let lab = base.get("lab").and_then(Value::as_str).unwrap_or_default();
    // A missing or unknown lab is refused as in a plain spec.
    let Some(lab) = LabId::named(lab) else { return Err(file.no_lab()) };
    let axes = file.axes(lab, &given)?;
    let mut cells: Vec<(Vec<(String, String)>, Table)> = vec![(Vec::new(), base)];
    let too_many = || format!("makes more than {MOST_CELLS} cells: split the grid into several files");
    for (axis, given) in axes {
        let refuse = |problem: String| file.value(&format!("grid.{}", axis.name), problem);
        let mut next = Vec::new();
        let mut values = Vec::new();
        for (k, (at, table)) in cells.iter().enumerate() {
            if k == 0 || axis.depends() {
                values = axis.values(&given, table).map_err(refuse)?;
                // Checked before any cell is created.
                if !axis.depends() && cells.len().saturating_mul(values.len()) > MOST_CELLS {
                    return Err(refuse(too_many()));
                }
            }
            for value in &values {
                let (mut at, mut table) = (at.clone(), table.clone());
                axis.write(value, &mut table).map_err(refuse)?;
                at.push((axis.name.to_owned(), lab::axis::show(value)));
                next.push((at, table));
            }
            if next.len() > MOST_CELLS {
                return Err(refuse(too_many()));
            }
        }
        cells = next;
    }
    cells.into_iter().map(|(at, table)| file.cell(lab, at, &table)).collect()
}

/// The file of a grid, for error messages.
struct File<'a> {
    text: &'a str,
    origin: &'a str,
}

impl File<'_> {
    /// The file name, the line of a field and the cell concerned, for error messages.
    fn place(&self, key: &str, at: &[(String, String)]) -> String {
        // A field set by an axis is below [grid], under the axis's name.
        let own = at
            .iter()
            .map(|(axis, _)| axis)
            .find(|axis| key.starts_with(axis.as_str()) || key.rsplit('.').next() == axis.rsplit('.').next());
        let line = own.and_then(|axis| lines::line_of(self.text, &format!("grid.{axis}")));
        let line = line.or_else(|| lines::line_of(self.text, key));
        let line = line.map_or(String::new(), |l| format!(", line {l}"));
        let label = label(at);
        let cell = if label.is_empty() { label } else { format!(" (cell {label})") };
        format!("{}{line}{cell}", self.origin)
    }

    fn value(&self, key: &str, problem: String) -> SpecError {
        SpecError::Value { origin: self.place(key, &[]), key: key.to_owned(), problem }
    }

    fn no_lab(&self) -> SpecError {
        match Spec::parse(self.text, self.origin) {
            Err(e) => e,
            Ok(_) => self.value("lab", "is unknown".into()),
        }
    }

    /// The axes in the file, in the lab's order.
    fn axes(&self, lab: LabId, given: &Value) -> Result<Vec<(&'static Axis, Value)>, SpecError> {
        let declared = by_id(lab).axes();
        let names: Vec<&str> = declared.iter().map(|a| a.name).collect();
        let Value::Table(table) = given else {
            return Err(self.value("grid", "must be a table: [grid], followed by one axis per line".into()));
        };
        let mut named = HashMap::new();
        flatten(table, "", &names, &mut named);
        if named.is_empty() {
            return Err(self.value("grid", format!("names no axis. Known: {}", names.join(", "))));
        }
        let unknown = named.keys().filter(|key| !names.contains(&key.as_str())).min();
        if let Some(key) = unknown {
            let why = suggest::unknown("axis of this lab", key, &names);
            return Err(self.value(&format!("grid.{key}"), format!("is invalid: {why}")));
        }
        Ok(declared.iter().filter_map(|axis| Some((axis, named.remove(axis.name)?))).collect())
    }

    fn cell(&self, lab: LabId, at: Vec<(String, String)>, table: &Table) -> Result<Cell, SpecError> {
        let text = toml::to_string(table)
            .map_err(|e| SpecError::Parse { origin: self.place("grid", &at), message: e.to_string() })?;
        let spec = Spec::of_toml(lab, &text).map_err(|e| {
            let key = e.span().and_then(|span| lines::key_at(&text, span.start)).unwrap_or_default();
            let message = format!("`{key}`: {}", e.message().trim().replace('\n', "; "));
            SpecError::Parse { origin: self.place(&key, &at), message }
        })?;
        spec.check("").map_err(|e| match e {
            SpecError::Value { key, problem, .. } => SpecError::Value { origin: self.place(&key, &at), key, problem },
            other => other,
        })?;
        Ok(Cell::new(at, spec, self.origin))
    }
}

/// Flattens a table to dotted keys. Tables that are axes are kept whole.
fn flatten(table: &Table, above: &str, names: &[&str], out: &mut HashMap<String, Value>) {
    for (key, value) in table {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            Value::Table(inner) if !names.contains(&path.as_str()) => flatten(inner, &path, names, out),
            value => {
                out.insert(path, value.clone());
            }
        }
    }
}

/// Hash of a list of cells; depends on their order.
pub fn hash(cells: &[Cell]) -> String {
    let mut digest = Sha256::new();
    for cell in cells {
        digest.update(cell.hash.as_bytes());
        digest.update(b"\n");
    }
    hex(&digest.finalize()[..6])
}

//! `probity findings`: all findings of one kind in a session, as a table whose columns the kind declares.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};

use super::error::CliError;
use super::{output, replay};
use base::files::Whole;
use base::numbers::short;
use base::suggest;
use base::text::printable_label;
use engine::message::Event;
use figure::csv_text;
use labs::columns::{Column, KindInfo};
use labs::table::{self, Form};
use session::format::{Item, Session};

/// Print the findings of one kind as a table, or list the kinds that a session has.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity findings agreement-2
  probity findings agreement-2 optimum
  probity findings agreement-2 reliability -o points.csv")]
pub struct FindingsArgs {
    /// Name or file of the session.
    session: String,
    /// Kind of finding [default: list the kinds].
    kind: Option<String>,
    /// File to write; its extension determines the format [default: Markdown on standard output].
    #[arg(long, short, value_name = "FILE.csv|.md|.tex", requires = "kind")]
    out: Option<PathBuf>,
    /// Replace the file if it already exists.
    #[arg(long, requires = "out")]
    force: bool,
}

/// Fails with [`CliError::Usage`] for an unknown session or kind and for an existing file, [`CliError::Failed`] if the file cannot be
/// written.
pub fn findings(args: &FindingsArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let rows = rows(&replay::open(&args.session)?, args.kind.as_deref().unwrap_or_default())?;
    let Some(name) = &args.kind else { return list(&rows, out) };
    let present = kinds(&rows);
    let Some(kind) = present.iter().find(|k| k.name == *name) else {
        let names: Vec<&str> = present.iter().map(|k| k.name).collect();
        return Err(CliError::Usage(suggest::unknown("kind of finding in this session", name, &names)));
    };
    let table = Flat::new(kind, rows.into_iter().filter(|r| r.kind.name == kind.name).collect());
    match &args.out {
        None => out.write_all(table.markdown().as_bytes()).map_err(|e| CliError::Failed(e.to_string())),
        Some(path) => {
            write(&table, path, args.force)?;
            output::say(&format!("wrote {}", output::full(path)));
            Ok(())
        }
    }
}

/// A finding that was not superseded, with its run.
struct Row {
    kind: &'static KindInfo,
    /// Number of the run in the session, from 1.
    run: u64,
    model: String,
    body: Value,
}

/// Returns the findings of all runs in order, without superseded ones. Only findings of the `wanted` kind keep their contents.
fn rows(session: &Session, wanted: &str) -> Result<Vec<Row>, CliError> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for entry in session.entries() {
        let Item::Event(Event::Finding { generation, finding }) = &entry.item else { continue };
        let body = serde_json::to_value(finding).map_err(|e| CliError::Failed(e.to_string()))?;
        let Some(kind) = labs::kind_of(finding.lab, &body) else { continue };
        let identity = format!("{generation}\n{}", labs::identity(kind, &finding.model, &body));
        let body = if kind.name == wanted { body } else { Value::Null };
        let row = Row { kind, run: *generation, model: finding.model.clone(), body };
        match places.entry(identity) {
            Entry::Occupied(place) => rows[*place.get()] = row,
            Entry::Vacant(place) => {
                place.insert(rows.len());
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// Kinds in order of first appearance.
fn kinds(rows: &[Row]) -> Vec<&'static KindInfo> {
    let mut kinds: Vec<&'static KindInfo> = Vec::new();
    for row in rows {
        if kinds.iter().all(|k| k.name != row.kind.name) {
            kinds.push(row.kind);
        }
    }
    kinds
}

fn list(rows: &[Row], out: &mut dyn Write) -> Result<(), CliError> {
    for kind in kinds(rows) {
        let count = rows.iter().filter(|r| r.kind.name == kind.name).count();
        output::line(out, &format!("{:20} {count:6}  {}", kind.name, kind.doc))?;
    }
    Ok(())
}

struct Flat {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

const ESTIMATE: [&str; 3] = ["mean", "lo", "hi"];

impl Flat {
    /// Builds a table with the columns that have a value in at least one row.
    fn new(kind: &KindInfo, rows: Vec<Row>) -> Self {
        let has = |c: &Column| rows.iter().any(|r| r.body.get(c.key).is_some_and(|v| !v.is_null()));
        let columns: Vec<Column> = (kind.columns)().into_iter().filter(has).collect();
        Self { caption: kind.doc.to_owned(), columns, rows }
    }

    fn several_runs(&self) -> bool {
        self.rows.iter().any(|r| r.run != self.rows[0].run)
    }

    fn is_estimate(&self, column: &Column) -> bool {
        self.rows.iter().any(|r| r.body.get(column.key).is_some_and(|v| v.get("mean").is_some()))
    }

    /// Formats the table as CSV with one number per cell; an estimate has three columns.
    fn csv(&self) -> String {
        let mut head = vec!["run".to_owned(), "model".to_owned(), "n".to_owned()];
        for column in &self.columns {
            match self.is_estimate(column) {
                true => head.extend(ESTIMATE.map(|end| format!("{}_{end}", column.key))),
                false => head.push(column.key.to_owned()),
            }
        }
        let mut text = head.join(",") + "\n";
        for row in &self.rows {
            let mut cells = vec![row.run.to_string(), csv_text(&row.model), plain(row.body.get("n"))];
            for column in &self.columns {
                let value = row.body.get(column.key);
                match self.is_estimate(column) {
                    true => cells.extend(ESTIMATE.map(|end| plain(value.and_then(|v| v.get(end))))),
                    false => cells.push(csv_text(&plain(value))),
                }
            }
            text.push_str(&(cells.join(",") + "\n"));
        }
        text
    }

    /// Returns the header and cells for readers: numbers with three digits, estimates with intervals, no lists or objects.
    fn readable(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let simple = |c: &&Column| {
            let fits = |v: &Value| {
                !(v.is_array() || v.is_object()) || ESTIMATE.iter().chain(&["name"]).any(|k| v.get(k).is_some())
            };
            self.rows.iter().all(|r| r.body.get(c.key).is_none_or(fits))
        };
        let columns: Vec<&Column> = self.columns.iter().filter(simple).collect();
        let runs = self.several_runs();
        let mut head: Vec<String> = if runs { vec!["run".into()] } else { Vec::new() };
        head.extend(["model".into(), "n".into()]);
        head.extend(columns.iter().map(|c| c.key.replace('_', " ")));
        let cells = self.rows.iter().map(|row| {
            let mut cells = if runs { vec![row.run.to_string()] } else { Vec::new() };
            cells.extend([printable_label(&row.model), plain(row.body.get("n"))]);
            cells.extend(columns.iter().map(|c| shown(row.body.get(c.key))));
            cells
        });
        (head, cells.collect())
    }

    fn markdown(&self) -> String {
        let (head, rows) = self.readable();
        format!("{}\n\n{}", self.caption, table::markdown(&head, head.len(), rows))
    }

    fn latex(&self) -> String {
        let (head, rows) = self.readable();
        format!("% {}\n{}", self.caption, table::latex(&"l".repeat(head.len()), "", &head, rows))
    }
}

fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(fields)) if fields.contains_key("name") => named(fields),
        Some(other) => other.to_string(),
    }
}

/// Formats a method with its options: `inlp`, or `random seed=2`.
fn named(fields: &Map<String, Value>) -> String {
    let name = plain(fields.get("name"));
    fields.iter().filter(|(key, _)| *key != "name").fold(name, |text, (key, value)| format!("{text} {key}={value}"))
}

fn shown(value: Option<&Value>) -> String {
    let number = |v: Option<&Value>| v.and_then(Value::as_f64).map_or_else(|| "∞".to_owned(), short);
    match value {
        Some(Value::Number(x)) if x.is_f64() => short(x.as_f64().unwrap_or(f64::NAN)),
        Some(v) if v.get("mean").is_some() => {
            format!("{} [{}, {}]", number(v.get("mean")), number(v.get("lo")), number(v.get("hi")))
        }
        other => printable_label(&plain(other)),
    }
}

fn write(table: &Flat, path: &Path, force: bool) -> Result<(), CliError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let text = match Form::of_extension(extension) {
        Some(Form::Csv) => table.csv(),
        Some(Form::Markdown) => table.markdown(),
        Some(Form::Latex) => table.latex(),
        None => {
            let why =
                format!("{}: tables are written as .csv, .md or .tex", printable_label(&path.display().to_string()));
            return Err(CliError::Usage(why));
        }
    };
    Ok(Whole::new(path, force)?.fill(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/agreement.probity.jsonl");
        Session::read(&path).unwrap()
    }

    #[test]
    fn later_finding_replaces_the_earlier_one() {
        let session = session();
        let told = session.entries().filter(|e| {
            matches!(&e.item, Item::Event(Event::Finding { finding, .. }) if serde_json::to_value(finding).unwrap()["kind"] == "optimum")
        });
        let rows = rows(&session, "optimum").unwrap();
        let kept: Vec<&Row> = rows.iter().filter(|r| r.kind.name == "optimum").collect();
        assert!(!kept.is_empty() && kept.len() <= told.count());
        assert!(kept.iter().all(|r| r.body["final"] == true));
        assert!(rows.iter().all(|r| r.kind.name == "optimum" || r.body.is_null()));
    }

    #[test]
    fn table_has_declared_columns_and_three_per_estimate() {
        let rows: Vec<Row> =
            rows(&session(), "versus").unwrap().into_iter().filter(|r| r.kind.name == "versus").collect();
        let kind = rows[0].kind;
        let table = Flat::new(kind, rows);
        let csv = table.csv();
        assert!(csv.starts_with("run,model,n,a,b,oracle,"), "{csv}");
        assert!(csv.contains("difference_mean,difference_lo,difference_hi"));
        assert!(csv.contains(",inlp,alterrep,mlp,"), "{csv}");
        assert!(table.markdown().contains("| inlp | alterrep | mlp |"));
        assert!(table.latex().contains("p\\_greater") || table.latex().contains("p greater"));
    }

    /// Regression: a vertical bar in a model's name used to start a new column.
    #[test]
    fn vertical_bar_in_a_name_is_escaped() {
        let mut rows: Vec<Row> =
            rows(&session(), "versus").unwrap().into_iter().filter(|r| r.kind.name == "versus").collect();
        rows[0].model = "a|b".into();
        let text = Flat::new(rows[0].kind, rows).markdown();
        assert!(text.contains("| a\\|b |"), "{text}");
    }
}

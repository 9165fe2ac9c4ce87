//! Tables as in papers, independent of a renderer: numbers in groups of columns, written as Markdown, LaTeX or CSV.

use std::fmt::Write as _;

use base::text::{printable_label, printable_message};
use figure::csv_text;
use figure::layers::grouped;
use stats::Estimate;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// GitHub Markdown, one number per cell.
    Markdown,
    /// A LaTeX `tabular` with booktabs rules, one number per cell.
    Latex,
    /// Comma-separated values: one number per line, with its interval and n.
    Csv,
}

impl Form {
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "md" => Some(Form::Markdown),
            "tex" => Some(Form::Latex),
            "csv" => Some(Form::Csv),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Row labels such as model and method, one per stub column.
    pub row: Vec<String>,
    /// The group of columns, for example a dimension.
    pub group: String,
    /// The column within the group: the measure.
    pub column: String,
    /// The number with its interval; `None` if undefined.
    pub value: Option<Estimate>,
    /// Number of inputs or pairs.
    pub n: usize,
    /// Number of decimals, if different from the table's.
    pub decimals: Option<usize>,
}

/// A table. Groups, columns and rows follow the order of their first entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name used in commands.
    pub name: String,
    pub caption: String,
    pub stub: Vec<String>,
    pub decimals: usize,
    /// Scale factor, for example 100 for percent.
    pub scale: f64,
    /// Columns printed without scaling, such as counts.
    pub whole: &'static [&'static str],
    pub entries: Vec<Entry>,
}

/// Distinct items in order of first appearance.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

impl Table {
    /// The table in this format, with a final line break.
    pub fn write(&self, form: Form) -> String {
        match form {
            Form::Markdown => self.markdown(),
            Form::Latex => self.latex(),
            Form::Csv => self.csv(),
        }
    }

    fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        let groups = distinct(self.entries.iter().map(|e| e.group.as_str()));
        let columns = |g: &str| distinct(self.entries.iter().filter(|e| e.group == g).map(|e| e.column.as_str()));
        groups.into_iter().map(|g| (g, columns(g))).collect()
    }

    /// Rows: the labels, then an entry for every column of every group.
    fn rows(&self) -> Vec<(&[String], Vec<Option<&Entry>>)> {
        let groups = self.groups();
        let heads = distinct(self.entries.iter().map(|e| e.row.as_slice()));
        let find = |row: &[String], group: &str, column: &str| {
            self.entries.iter().find(|e| e.row == row && e.group == group && e.column == column)
        };
        let cells = |row: &[String]| {
            groups.iter().flat_map(|(g, columns)| columns.iter().map(|c| find(row, g, c))).collect::<Vec<_>>()
        };
        heads.into_iter().map(|row| (row, cells(row))).collect()
    }

    /// Formats a number; a dash if it is missing.
    fn number(&self, entry: Option<&Entry>) -> String {
        let there = entry.and_then(|e| Some((e, e.value.filter(|v| v.mean.is_finite())?)));
        match there {
            Some((entry, value)) if self.whole.contains(&entry.column.as_str()) => match value.mean {
                count if count.fract() == 0.0 && count >= 0.0 => grouped(count as usize),
                other => other.to_string(),
            },
            Some((entry, value)) => {
                format!("{:.*}", entry.decimals.unwrap_or(self.decimals), value.mean * self.scale)
            }
            None => "–".to_owned(),
        }
    }

    /// Formats a number with its interval, or a note that it has none; an exact number needs none.
    fn with_interval(&self, entry: Option<&Entry>) -> String {
        let number = self.number(entry);
        let Some((entry, value)) = entry.and_then(|e| Some((e, e.value?))).filter(|(_, v)| v.mean.is_finite()) else {
            return number;
        };
        let end = |mean: f64| self.number(Some(&Entry { value: Some(Estimate { mean, ..value }), ..entry.clone() }));
        match value {
            v if v.lo.is_nan() || v.hi.is_nan() => format!("{number} (no interval)"),
            v if v.lo < v.hi => format!("{number} [{}, {}]", end(v.lo), end(v.hi)),
            _ => number,
        }
    }

    /// The rows with their intervals in Markdown, without the caption.
    pub fn with_intervals(&self) -> String {
        self.markdown_rows(Self::with_interval)
    }

    fn markdown(&self) -> String {
        format!("{}\n\n{}", marked(&printable_message(&self.caption)), self.markdown_rows(Self::number))
    }

    fn markdown_rows(&self, cell: fn(&Self, Option<&Entry>) -> String) -> String {
        let groups = self.groups();
        let heads = groups
            .iter()
            .flat_map(|(g, columns)| columns.iter().map(move |c| format!("{g} {c}").trim_start().to_owned()));
        let heads: Vec<String> = self.stub.iter().cloned().chain(heads).collect();
        let rows = self.rows().into_iter().map(|(stub, cells)| {
            stub.iter().cloned().chain(cells.into_iter().map(|c| cell(self, c))).collect::<Vec<_>>()
        });
        markdown(&heads, self.stub.len(), rows)
    }

    fn latex(&self) -> String {
        let groups = self.groups();
        let stub = self.stub.len();
        let width: usize = groups.iter().map(|(_, columns)| columns.len()).sum();
        let spans = groups.iter().map(|(g, columns)| format!("\\multicolumn{{{}}}{{c}}{{{}}}", columns.len(), tex(g)));
        let mut above = format!("{}{} \\\\\n", "& ".repeat(stub), spans.collect::<Vec<_>>().join(" & "));
        let mut from = stub + 1;
        for (_, columns) in &groups {
            let _ = write!(above, "\\cmidrule(lr){{{from}-{}}}", from + columns.len() - 1);
            from += columns.len();
        }
        let heads = self.stub.iter().cloned().chain(groups.iter().flat_map(|(_, c)| c.iter().map(|c| (*c).to_owned())));
        let rows = self.rows().into_iter().map(|(stub, cells)| {
            // A minus sign instead of a hyphen.
            let number = |entry| self.number(entry).replace('-', "−");
            stub.iter().cloned().chain(cells.into_iter().map(number)).collect::<Vec<_>>()
        });
        let columns = "l".repeat(stub) + &"r".repeat(width);
        let body = latex(&columns, &(above + "\n"), &heads.collect::<Vec<_>>(), rows);
        format!("% {}\n{body}", escaped(&printable_message(&self.caption)))
    }

    fn csv(&self) -> String {
        let mut head: Vec<String> = self.stub.iter().map(|s| s.to_lowercase()).collect();
        head.extend(["group", "measure", "mean", "lo", "hi", "n"].map(str::to_owned));
        let mut out = head.join(",") + "\n";
        for entry in &self.entries {
            let number = |of: fn(Estimate) -> f64| match entry.value.map(of).filter(|v| v.is_finite()) {
                Some(value) => value.to_string(),
                None => String::new(),
            };
            let text = entry.row.iter().chain([&entry.group, &entry.column]).map(|t| csv_text(t));
            let numbers = [number(|e| e.mean), number(|e| e.lo), number(|e| e.hi), entry.n.to_string()];
            out += &text.chain(numbers).collect::<Vec<_>>().join(",");
            out.push('\n');
        }
        out
    }
}

/// A table in GitHub Markdown. Columns after the first `left` are right-aligned.
pub fn markdown(head: &[String], left: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let cells = |cells: &[String]| line(&cells.iter().map(|cell| marked(&printable_label(cell))).collect::<Vec<_>>());
    let rule: Vec<String> = (0..head.len()).map(|c| if c < left { "---" } else { "---:" }.to_owned()).collect();
    rows.into_iter().fold(cells(head) + &line(&rule), |text, row| text + &cells(&row))
}

/// Escapes Markdown's special characters.
pub fn marked(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

/// A LaTeX `tabular` with booktabs rules. `columns` is the alignment; the lines `above` precede the heading.
pub fn latex(columns: &str, above: &str, head: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| cells.iter().map(|cell| tex(cell)).collect::<Vec<_>>().join(" & ") + " \\\\\n";
    let body: String = rows.into_iter().map(|row| line(&row)).collect();
    let head = line(head);
    format!(
        "\\begin{{tabular}}{{{columns}}}\n\\toprule\n{above}{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
    )
}

/// One line of text with LaTeX's special characters escaped.
pub fn tex(text: &str) -> String {
    escaped(&printable_label(text))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '<' => out += "$<$",
            '−' => out += "$-$",
            '–' => out += "--",
            'Δ' => out += "$\\Delta$",
            c => out.push(c),
        }
    }
    out
}

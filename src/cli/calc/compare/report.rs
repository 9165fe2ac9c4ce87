//! Reports of systems on many tasks, in Markdown, CSV and LaTeX.

use std::path::Path;

use super::many::{Asked, MATRIX, PooledRow, cells, doubt, head, matrix_rows, pooled, pooled_rows, summary};
use crate::error::CliError;
use base::files::Whole;
use figure::csv_text;
use labs::power::systems::Versus;
use labs::table;

/// Writes a report of systems on many tasks. The file's extension selects Markdown, CSV or LaTeX.
pub(super) fn write(path: &Path, all: &[Versus], asked: &Asked<'_>) -> Result<(), CliError> {
    let end = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let text = match end.as_str() {
        "md" => markdown(all, asked),
        "csv" => csv(all, asked),
        "tex" => latex(all, asked),
        _ => {
            return Err(CliError::Usage(format!(
                "--report {}: the name must end in .md, .csv or .tex",
                path.display()
            )));
        }
    };
    Ok(Whole::new(path, asked.force)?.fill(text.as_bytes())?)
}

fn owned(head: &[&str]) -> Vec<String> {
    head.iter().map(|h| (*h).to_owned()).collect()
}

fn markdown(all: &[Versus], asked: &Asked<'_>) -> String {
    let table = |head: &[&str], rows| table::markdown(&owned(head), head.len(), rows);
    let mut text = String::new();
    if all.len() > 1 {
        text += &format!("{}\n", table(&MATRIX, matrix_rows(all, asked)));
    }
    for versus in all {
        text += &format!("**{}**\n\n", table::marked(&summary(versus, asked)));
        text += &table(&head(versus), cells(versus, asked));
        for line in pooled(versus, asked) {
            text += &format!("\n- {line}");
        }
        text += "\n\n";
    }
    text
}

fn csv(all: &[Versus], asked: &Asked<'_>) -> String {
    let mut out = String::from(
        "a,b,task,metric,n,mean_a,mean_b,difference,lo,hi,p,holm_p,equivalence_p,verdict,unmatched_a,unmatched_b,doubt\n",
    );
    for versus in all {
        for t in &versus.tasks {
            let c = &t.finding;
            let d = c.difference;
            let names = [&versus.a, &versus.b, &t.task, &c.metric].map(|name| csv_text(name)).join(",");
            out += &format!(
                "{names},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                t.n,
                t.means[0],
                t.means[1],
                d.mean,
                d.lo,
                d.hi,
                c.p,
                c.holm_p,
                c.equivalence_p,
                t.verdict(asked.alpha).name(),
                t.unmatched_a,
                t.unmatched_b,
                csv_text(&doubt(t).unwrap_or_default())
            );
        }
        let optional = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        for PooledRow { name, found, ends, holm_p, doubt } in pooled_rows(versus) {
            let names = [&versus.a, &versus.b].map(|name| csv_text(name)).join(",");
            out += &format!(
                "{names},({name}),,{},,,{},{},{},{},{},,,,,{}\n",
                found.n,
                found.difference.mean,
                optional(ends.map(|e| e.0)),
                optional(ends.map(|e| e.1)),
                optional(found.p),
                optional(holm_p),
                csv_text(&doubt.unwrap_or_default())
            );
        }
    }
    out
}

fn latex(all: &[Versus], asked: &Asked<'_>) -> String {
    let table = |versus: &Versus| {
        let head = owned(&head(versus));
        let columns = "llrrrlrr".to_owned() + &"l".repeat(head.len() - 8);
        let [a, b] = [&versus.a, &versus.b].map(|name| table::tex(name));
        format!("% A: {a}, B: {b}\n{}", table::latex(&columns, "", &head, cells(versus, asked)))
    };
    all.iter().map(table).collect()
}

//! The summary of a run as text: data, probes, optima, each number with its interval.

use crate::base::text::printable_label;
use crate::engine::board::{Board, Tagged};
use crate::engine::finding::{DataFinding, OptimumFinding, ProbeFinding, ProbeRole};
use crate::engine::message::NoticeLevel;
use crate::figure::reliability::title;
use crate::stats::estimate::Estimate;
use unicode_width::UnicodeWidthStr;

/// The board's results as lines of text.
pub fn table(board: &Board) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(job) = &board.job {
        let spec = &job.spec;
        out.push(printable_label(&format!(
            "{} on {}, target {}, seed {}, spec {}",
            spec.task.name,
            spec.models.join(", "),
            spec.task.target,
            spec.seed,
            job.spec_hash
        )));
    }
    for data in &board.results.data {
        out.push(String::new());
        out.extend(describe(data));
        section(&mut out, "Probes", &PROBE_HEAD, probes(board, &data.model));
        let level = board.results.optima.iter().find_map(|o| o.level);
        let head = level.map_or("Highest reliability".to_owned(), |l| {
            format!("Highest reliability ({} % intervals)", (l * 1e4).round() / 1e2)
        });
        section(&mut out, &head, &OPTIMUM_HEAD, optima(board, &data.model));
    }
    let mut told = None;
    for notice in &board.notices {
        // A failed run says so in a finding and at its end.
        if told.replace(&notice.problem) == Some(&notice.problem) {
            continue;
        }
        let level = match notice.level {
            NoticeLevel::Info => "note",
            NoticeLevel::Warning => "warning",
            NoticeLevel::Error => "error",
        };
        out.push(format!("{level}: {}", printable_label(&notice.problem.to_string())));
    }
    if let Some(s) = &board.results.summary {
        let state = if s.value.cancelled { "cancelled after" } else { "done in" };
        out.push(String::new());
        let text =
            format!("{state} {:.1} s on {}, probity {}", s.value.seconds, s.value.device, s.value.version);
        out.push(printable_label(&text));
    }
    out
}

fn describe(data: &Tagged<DataFinding>) -> Vec<String> {
    let d = &data.value;
    let line = format!(
        "{} (layer {} of {}, {} dimensions, {})  {} test examples, {} for interventions, {} of {} for oracles after decorrelation (phi {} to {})",
        data.model,
        d.layer,
        d.layers,
        d.dim,
        d.model_hash,
        d.n_test,
        d.n_intervention,
        d.n_oracle.1,
        d.n_oracle.0,
        score(d.phi.0),
        score(d.phi.1),
    );
    let source = d.source.as_ref().map(|s| printable_label(&format!("data {}", s.summary())));
    [printable_label(&line)].into_iter().chain(source).collect()
}

const PROBE_HEAD: [&str; 6] = ["role", "property", "classifier", "accuracy", "majority", "calibration error"];

fn probes(board: &Board, model: &str) -> Vec<Vec<String>> {
    let mine = board.results.probes.iter().filter(|p| p.model == model);
    mine.map(|p| {
        let ProbeFinding {
            role, property, classifier, oracle, accuracy, majority, calibration_error, ..
        } = &p.value;
        let role = match (role, oracle) {
            (ProbeRole::Oracle, Some(kind)) => format!("{kind} oracle"),
            (ProbeRole::Oracle, None) => "oracle".into(),
            (ProbeRole::Interventional, _) => "interventional".into(),
        };
        vec![
            role,
            property.clone(),
            classifier.clone(),
            interval(accuracy),
            score(*majority),
            score(*calibration_error),
        ]
    })
    .collect()
}

const OPTIMUM_HEAD: [&str; 6] = ["method", "oracle", "at", "completeness", "selectivity", "reliability"];

fn optima(board: &Board, model: &str) -> Vec<Vec<String>> {
    let mine = board.results.optima.iter().filter(|o| o.model == model);
    mine.map(|o| {
        let OptimumFinding {
            method, oracle, parameter, value, completeness, selectivity, reliability, ..
        } = &o.value;
        vec![
            title(method),
            oracle.to_string(),
            format!("{parameter} {value}"),
            interval(completeness),
            interval(selectivity),
            interval(reliability),
        ]
    })
    .collect()
}

/// A headed table with columns as wide as their widest cell; nothing where there are no rows.
pub fn section(out: &mut Vec<String>, head: &str, columns: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let mut all = vec![columns.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>()];
    all.extend(rows.into_iter().map(|row| row.iter().map(|cell| printable_label(cell)).collect()));
    let width = |c: usize| all.iter().map(|row| row[c].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    out.push(String::new());
    out.push(head.to_owned());
    for row in &all {
        let mut line = String::new();
        for (cell, wide) in row.iter().zip(&widths) {
            line.push_str("  ");
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', wide - cell.width()));
        }
        out.push(line.trim_end().to_owned());
    }
}

/// A score in the manner of the papers: three decimals, no zero before the point.
fn score(value: f64) -> String {
    let text = format!("{value:.3}");
    match text.strip_prefix("0.").or_else(|| text.strip_prefix("-0.")) {
        Some(rest) if text.starts_with('-') && rest != "000" => format!("-.{rest}"),
        Some(rest) => format!(".{rest}"),
        None => text,
    }
}

fn interval(e: &Estimate) -> String {
    format!("{} [{}, {}]", score(e.mean), score(e.lo), score(e.hi))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_written_as_in_the_papers() {
        for (value, text) in [
            (0.5518, ".552"),
            (1.0, "1.000"),
            (0.0, ".000"),
            (-0.0001, ".000"),
            (-0.25, "-.250"),
            (0.9996, "1.000"),
        ] {
            assert_eq!(score(value), text);
        }
    }

    #[test]
    fn an_empty_board_is_an_empty_table() {
        assert!(table(&Board::default()).is_empty());
    }
}

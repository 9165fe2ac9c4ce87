//! `probity models check`: reports deviations from the numbers of a different implementation.

use std::io::Write;
use std::path::Path;

use super::{address, failure, load, warn};
use crate::error::CliError;
use crate::output;
use base::NoPulse;
use base::text::printable_label;
use model::check::{Report, Row, Verdict, check as compare};
use model::source::Files;

const COLUMNS: [&str; 6] = ["quantity", "values", "largest deviation", "allowed", "verdict", "where"];

pub(crate) fn check(dir: &str, device: &str, json: bool, out: &mut dyn Write) -> Result<(), CliError> {
    let name = if Path::new(dir).is_dir() { format!("dir:{dir}") } else { dir.to_owned() };
    let source = address(&name)?;
    let model = load(&source, device, "f32")?;
    let Some(folder) = Files::at_hand(&source).map_err(failure)?.folder() else {
        let what = format!("{dir}: a built-in model has no expected values; give a folder with expected.json");
        return Err(CliError::Usage(what));
    };
    warn(&model);
    let report = compare(&model, &folder, &mut NoPulse).map_err(failure)?;
    if json {
        let mut value = serde_json::to_value(&report).map_err(|e| CliError::Failed(e.to_string()))?;
        value["passed"] = report.passed().into();
        output::json(out, &value)?;
    } else {
        lines(&report).iter().try_for_each(|line| output::line(out, line))?;
    }
    if report.passed() { Ok(()) } else { Err(CliError::Reported) }
}

fn lines(report: &Report) -> Vec<String> {
    let against = if report.reference.is_empty() { "values from an unknown source" } else { &report.reference };
    let head = printable_label(&format!("{} on {}, against {against}", report.model, report.device));
    let mut out = Vec::new();
    base::text::section(&mut out, &head, &COLUMNS, report.rows.iter().map(cells).collect());
    let [passed, deviate, not] = [Verdict::Pass, Verdict::Deviates, Verdict::NotChecked].map(|v| report.count(v));
    out.push(String::new());
    let left = if not > 0 { format!(", {not} not checked") } else { String::new() };
    out.push(match deviate {
        0 if passed == 0 => "nothing could be compared".into(),
        0 => format!("pass: {passed} quantities{left}"),
        n => format!("DEVIATES: {n} of {} quantities{left}", passed + n),
    });
    out
}

fn cells(row: &Row) -> Vec<String> {
    if row.verdict == Verdict::NotChecked {
        let dash = || "-".to_owned();
        return vec![row.quantity.clone(), dash(), dash(), dash(), "not checked".into(), row.note.clone()];
    }
    let number = |x: f64| if x == 0.0 { "0".to_owned() } else { format!("{x:.1e}") };
    let (deviation, allowed) = if row.tolerance == 0.0 {
        (format!("{} differ", row.deviation), "none".to_owned())
    } else {
        (number(row.deviation), number(row.tolerance))
    };
    let verdict = if row.verdict == Verdict::Pass { "pass" } else { "DEVIATES" };
    let note = if row.deviation == 0.0 { String::new() } else { row.note.clone() };
    vec![row.quantity.clone(), row.values.to_string(), deviation, allowed, verdict.into(), note]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(quantity: &str, deviation: f64, tolerance: f64, verdict: Verdict, note: &str) -> Row {
        let (quantity, note) = (quantity.to_owned(), note.to_owned());
        Row { quantity, values: 12, deviation, tolerance, verdict, note }
    }

    #[test]
    fn table_lists_deviations_and_omissions() {
        let report = Report {
            model: "m\u{1b}[2J".into(),
            hash: String::new(),
            device: "cpu".into(),
            reference: String::new(),
            rows: vec![
                row("token ids", 0.0, 0.0, Verdict::Pass, "text 1"),
                row("hidden states", 3e-6, 2e-5, Verdict::Pass, "hidden_states.2"),
                row("logits", f64::INFINITY, 1e-4, Verdict::Deviates, "no head"),
                row("pooler output", 0.0, 0.0, Verdict::NotChecked, "no pooler"),
            ],
        };
        let text = lines(&report).join("\n");
        assert!(!text.contains('\u{1b}'));
        for part in ["0 differ", "3.0e-6", "2.0e-5", "hidden_states.2", "not checked", "no head", "unknown source"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(text.ends_with("DEVIATES: 1 of 3 quantities, 1 not checked"), "{text}");
    }
}

//! Details of one data set: contents, split, and findings of the data doctor.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::{DOSSIERS, known, stopping};
use crate::panes::dossiers::pair;
use crate::screens::SCREENS;
use crate::setup;
use crate::state::State;
use crate::theme::Role;
use base::numbers::seconds;
use base::text::{printable, wrapped};
use engine::board::DataDossier;
use engine::data::{DataDiagnosis, DataInspection, DataQuestion};
use labs::setting::Value;

/// Indentation of values below their key, as in the command line's output.
const KEY: usize = 13;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let only = |d: &&DataDossier| d.inspection.is_none() && d.diagnosis.is_none() && d.waiting.is_empty();
    let failed = known(state).filter(only).and_then(|d| d.problem.as_ref());
    DOSSIERS.draw_page(frame, area, state, failed, || invitation(state));
}

fn invitation(state: &State) -> String {
    let key = |id| state.keymap.short_label(id);
    let models = match setup::row(state, "models").map(|row| row.value) {
        Some(Value::Marks(on)) => on.iter().filter(|on| **on).count(),
        _ => 0,
    };
    let with = match models {
        0 => "no model is selected, so no vocabulary is checked".to_owned(),
        1 => "with the vocabulary of the selected model".to_owned(),
        n => format!("with the vocabularies of the {n} selected models"),
    };
    format!(
        "{} shows what it contains: counts, dropped rows, splits, rows\n{} {} runs the data doctor, {with}\n{} adds a file or a folder",
        key("open"),
        key("menu"),
        key("check-data"),
        key("add-data")
    )
}

/// Formats all details of the set under the cursor, wrapped to `room` columns.
pub(crate) fn lines(state: &State, room: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let Some(dossier) = known(state) else { return Vec::new() };
    let mut page = Page { room, lines: Vec::new() };
    for waiting in &dossier.waiting {
        let doing = match waiting.question {
            DataQuestion::Inspect => "reading",
            DataQuestion::Doctor => "running the data doctor",
        };
        let then = match stopping(state) {
            true => "stopping".to_owned(),
            false => format!("{} cancels", state.keymap.label("cancel")),
        };
        page.put(&format!("{doing}; {then}"), theme.style(Role::Warning));
    }
    if dossier.stopped && dossier.waiting.is_empty() {
        page.put("cancelled; earlier results are kept", theme.style(Role::Warning));
    }
    if let Some(failed) = &dossier.problem {
        page.put(&failed.to_string(), theme.style(Role::Error));
    }
    if let Some(diagnosis) = &dossier.diagnosis {
        page.diagnosis(state, diagnosis);
    }
    if let Some(inspection) = &dossier.inspection {
        page.inspection(state, inspection);
    }
    page.lines
}

struct Page {
    room: usize,
    lines: Vec<Line<'static>>,
}

impl Page {
    /// Adds a text with its indentation; continuation lines are indented by two more columns.
    fn put(&mut self, text: &str, role: Style) {
        let text = printable(text);
        let body = text.trim_start_matches(' ');
        let indent = (text.len() - body.len()).min(self.room / 2);
        let hang = (indent + 2).min(self.room / 2);
        for (i, part) in wrapped(body, self.room.saturating_sub(hang)).into_iter().enumerate() {
            let margin = " ".repeat(if i == 0 { indent } else { hang });
            self.lines.push(Line::styled(format!("{margin}{part}"), role));
        }
    }

    /// Adds a line of a report, with key and value in separate columns.
    fn report(&mut self, state: &State, text: &str) {
        let theme = state.theme();
        let entry = text.split_at_checked(KEY).filter(|(key, value)| {
            key.starts_with("  ") && !key.starts_with("   ") && key.ends_with(' ') && !value.starts_with(' ')
        });
        let Some((key, value)) = entry else {
            let role = if text.starts_with(' ') { Role::Text } else { Role::Title };
            return self.put(text, theme.style(role));
        };
        // Highlights lines about rows that were not used.
        let lost = match key.trim() {
            "dropped" => !value.starts_with("0 ") || value.contains(" unfit, ") && !value.contains(", 0 unreadable"),
            "not read" => true,
            _ => false,
        };
        let role = if lost { Role::Warning } else { Role::Text };
        self.lines.extend(pair(state, key, value, KEY.min(self.room / 2), self.room, role));
    }

    fn diagnosis(&mut self, state: &State, found: &DataDiagnosis) {
        let theme = state.theme();
        let with = match found.models.len() {
            0 => "no vocabulary".to_owned(),
            _ => found.models.join(", "),
        };
        let took = seconds(found.seconds);
        self.put(&format!("Data doctor, with {with} ({took})"), theme.style(Role::Title));
        let lost = found.unfit + found.unreadable;
        let role = if lost > 0 { Role::Warning } else { Role::Good };
        let text = format!("{} of {} rows are fit; {lost} dropped", found.kept, found.rows + found.unreadable);
        self.put(&text, theme.style(role));
        found.lines.iter().for_each(|line| self.report(state, line));
        if !found.examples.is_empty() {
            self.put("dropped rows", theme.style(Role::Title));
            found.examples.iter().for_each(|line| self.put(&format!("  {line}"), theme.style(Role::Text)));
        }
        self.lines.push(Line::default());
    }

    fn inspection(&mut self, state: &State, found: &DataInspection) {
        let theme = state.theme();
        self.put(&format!("What it contains ({})", seconds(found.seconds)), theme.style(Role::Title));
        found.lines.iter().for_each(|line| self.report(state, line));
        found.parts.iter().flat_map(|parts| parts.lines()).for_each(|line| self.report(state, &line));
        for run in runs(state, found) {
            self.report(state, &run);
        }
        if !found.examples.is_empty() {
            self.put("first rows", theme.style(Role::Title));
            found.examples.iter().for_each(|line| self.put(&format!("  {}", spaced(line)), theme.style(Role::Text)));
        }
    }
}

/// Adds a space after each comma between JSON values, so that lines can break there.
fn spaced(json: &str) -> String {
    let (mut out, mut inside, mut escaped) = (String::with_capacity(json.len() + 16), false, false);
    for c in json.chars() {
        out.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = inside,
            '"' => inside = !inside,
            ',' if !inside => out.push(' '),
            _ => {}
        }
    }
    out
}

/// Results of each lab's latest run on exactly these examples.
fn runs(state: &State, found: &DataInspection) -> Vec<String> {
    let Some(hash) = &found.hash else { return Vec::new() };
    SCREENS.iter().flat_map(|screen| screen.made_of(state, hash)).map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_breaks_only_between_values() {
        let json = r#"line 1: {"a":["x",",","b,\",\"c"],"n":[1,2]}"#;
        assert_eq!(spaced(json), r#"line 1: {"a":["x", ",", "b,\",\"c"], "n":[1, 2]}"#);
    }
}

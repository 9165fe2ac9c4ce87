//! Details of one model: description, tokens, and the comparison with another implementation.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{DOSSIERS, under_cursor};
use crate::panes::dossiers::pair;
use crate::state::State;
use crate::theme::Role;
use base::text::{fit, pad, printable, wrapped};
use engine::inspection::CheckRow;
use engine::message::ModelQuestion;

const KEY: usize = 21;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let known = under_cursor(state).and_then(|name| state.board.dossier_of(&name));
    let failed = known.filter(|d| d.inspection.is_none() && d.check.is_none());
    let failed = failed.and_then(|d| d.problem.as_ref());
    DOSSIERS.draw_page(frame, area, state, failed, || {
        let key = |id| state.keymap.short_label(id);
        format!(
            "{} loads and inspects it\n{} {} compares it with the expected.* files next to its weights\n{} adds a folder or a hub id",
            key("open"),
            key("menu"),
            key("check-model"),
            key("add-model")
        )
    });
}

/// Formats all details of the model under the cursor, wrapped to `room` columns.
pub(crate) fn lines(state: &State, room: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let Some(dossier) = under_cursor(state).and_then(|name| state.board.dossier_of(&name)) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if let Some(question) = dossier.waiting {
        let doing = match question {
            ModelQuestion::Inspect => "loading",
            ModelQuestion::Check => "checking against the expected.* files next to the weights",
        };
        let wait = if state.busy() { "; waits for the run to end" } else { "" };
        lines.push(Line::styled(format!("{doing}{wait}"), theme.style(Role::Warning)));
    }
    if let Some(failed) = &dossier.problem {
        for text in wrapped(&failed.to_string(), room) {
            lines.push(Line::styled(text, theme.style(Role::Error)));
        }
    }
    if let Some(rows) = &dossier.check {
        lines.extend(check(state, rows, room));
    }
    if let Some(inspection) = &dossier.inspection {
        for (key, value) in inspection.lines() {
            lines.extend(pair(state, &key, &value, KEY, room, Role::Text));
        }
    }
    lines
}

fn check(state: &State, rows: &[CheckRow], room: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let failed = rows.iter().filter(|r| r.failed()).count();
    let compared = rows.iter().filter(|r| r.deviation.is_some()).count();
    let (text, role) = match failed {
        0 => (format!("{compared} quantities agree with the expected numbers"), Role::Good),
        n => (format!("{n} of {compared} quantities deviate from the expected numbers"), Role::Error),
    };
    let told = wrapped(&text, room).into_iter();
    let mut lines: Vec<Line> = told.map(|line| Line::styled(line, theme.style(role))).collect();
    let name = room.saturating_sub(35).clamp(12, 42);
    let header = format!("{}{:>7}{:>10}{:>9}  verdict", pad("quantity", name), "n", "deviation", "allowed");
    lines.push(Line::styled(fit(&header, room).into_owned(), theme.style(Role::Title)));
    for row in rows {
        let number = |x: Option<f64>| x.map_or("-".into(), |x| if x == 0.0 { "0".into() } else { format!("{x:.1e}") });
        let text = format!(
            "{}{:>7}{:>10}{:>9}  {}",
            pad(&fit(&printable(&row.quantity.replace("integrated gradients", "IG")), name - 1), name),
            row.n,
            number(row.deviation),
            number(row.tolerance),
            printable(&row.verdict)
        );
        let role = if row.failed() { Role::Error } else { Role::Text };
        lines.push(Line::styled(fit(&text, room).into_owned(), theme.style(role)));
    }
    lines.push(Line::default());
    lines
}

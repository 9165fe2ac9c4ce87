//! The setup pane: the experiment as the user sets it up.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::block;
use crate::base::numbers::percent;
use crate::base::text::{fit, pad};
use crate::lab::interventions::finding::ProbeRole;
use crate::tui::commands::CommandId;
use crate::tui::layout::{LABEL, VALUE, inside, scrolled, track};
use crate::tui::state::setup::{Control, Field};
use crate::tui::state::stops::share_of;
use crate::tui::state::{Pane, Purpose, Row, State};
use crate::tui::theme::Role;
use crate::tui::widgets::slider::slider;

/// Draws the pane.
pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let focused = state.view.focus == Pane::Setup;
    let run = state.keymap.label(CommandId::Run);
    let title = if state.changed() { format!("Setup*: {run} runs it") } else { "Setup".into() };
    frame.render_widget(block(state, &title, focused), area);
    let inner = inside(area);
    let rows = state.rows();
    let first = scrolled(state.view.row, rows.len(), inner.height.into());
    for (line, (index, row)) in inner.rows().zip(rows.iter().enumerate().skip(first)) {
        let cursor = focused && index == state.view.row.min(rows.len() - 1);
        frame.render_widget(row_line(state, *row, line, cursor), line);
    }
}

fn row_line(state: &State, row: Row, area: Rect, cursor: bool) -> Line<'static> {
    let theme = state.theme();
    let field = state.field(row);
    let mark = state.view.glyphs.cursor(cursor);
    let star = if field.changed { "*" } else { "" };
    let label = format!("{} ", pad(&format!("{mark}{}{star}", field.label), usize::from(LABEL) - 1));
    let label_role = if cursor { Role::Selection } else { Role::Dim };
    let value_role = match (field.changed, cursor) {
        (true, _) => Role::Changed,
        (false, true) => Role::Selection,
        (false, false) => Role::Value,
    };
    let room = usize::from(area.width.saturating_sub(LABEL));
    let mut spans = vec![Span::styled(label, theme.style(label_role))];
    match &field.control {
        Control::Slider { stops, value } => {
            let (_, columns) = track(area);
            let share = share_of(stops, *value);
            let text = slider(share, columns.into(), state.view.glyphs);
            spans.push(Span::styled(text, theme.style(if cursor { Role::Selection } else { Role::Dim })));
            let text = pad(&typed(state, row).unwrap_or(field.text), VALUE.into());
            spans.push(Span::styled(format!(" {text}"), theme.style(value_role)));
        }
        _ => {
            let text = typed(state, row).unwrap_or_else(|| words(state, row, &field));
            spans.push(Span::styled(fit(&text, room).into_owned(), theme.style(value_role)));
        }
    }
    Line::from(spans)
}

/// What is being typed into a row.
fn typed(state: &State, row: Row) -> Option<String> {
    let entry = state.view.entry.as_ref().filter(|e| e.purpose == Purpose::Value(row))?;
    Some(format!("{}_", entry.buffer))
}

/// A row without a track, with what belongs beside its value.
fn words(state: &State, row: Row, field: &Field) -> String {
    match (row, &field.control) {
        (Row::Model(_), Control::Check(on)) => {
            let sign = state.view.glyphs.check(*on);
            let drawn = state.run_models().len() > 1 && field.text == state.view.model;
            format!("{sign} {}{}", field.text, if drawn { " (drawn)" } else { "" })
        }
        (Row::Method, Control::Choice(_, of)) => match state.method_spec() {
            Some(_) if *of > 1 => format!("{} ({} more)", field.text, of - 1),
            Some(_) => field.text.clone(),
            None => format!("{} (not run)", field.text),
        },
        (Row::Oracle, _) => {
            let accuracy = state.oracle_accuracy();
            format!("{} {}", field.text, accuracy.map_or(String::new(), |a| format!(" {}", percent(a))))
        }
        _ => field.text.clone(),
    }
}

impl State {
    /// Accuracy of the drawn oracle on the target, once it is known.
    fn oracle_accuracy(&self) -> Option<f64> {
        let target = self.ran().map(|spec| spec.task.target.as_str())?;
        let mine = self.results().probes.iter().find(|p| {
            p.model == self.view.model
                && p.value.role == ProbeRole::Oracle
                && p.value.oracle == Some(self.view.oracle)
                && p.value.property == target
        });
        mine.map(|p| p.value.accuracy.mean)
    }
}

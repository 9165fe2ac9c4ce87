//! The form of a lab's settings: every row in its group, with range, default and description.

use super::{PANE, Row, RowLine};
use crate::action::Effect;
use crate::state::State;
use labs::setting::Kind;

/// Groups of settings, in the order of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    Shown,
    Model,
    Asked,
    Measured,
}

impl Group {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Group::Shown => "Shown here",
            Group::Model => "Models",
            Group::Asked => "Task and data",
            Group::Measured => "Measurement",
        }
    }
}

pub(crate) fn group(row: &Row) -> Group {
    let begins = |heads: &[&str]| heads.iter().any(|head| row.key.starts_with(head));
    if row.view {
        Group::Shown
    } else if begins(&["models", "site.", "a.", "b.", "attention.", "disparity.", "corruption."]) {
        Group::Model
    } else if begins(&["task.", "data.", "query.", "method.", "plan."]) || row.key.ends_with(".methods") {
        Group::Asked
    } else {
        Group::Measured
    }
}

/// Indices in `shown` of the drawn lines; each group starts with a heading, which is `None`.
pub(super) fn drawn(state: &State, rows: &[Row], shown: &[RowLine]) -> Vec<Option<usize>> {
    let mut out = Vec::new();
    let mut last = None;
    for (number, line) in shown.iter().enumerate() {
        let group = group(&rows[line.row]);
        if state.here().form && last != Some(group) {
            last = Some(group);
            out.push(None);
        }
        out.push(Some(number));
    }
    out
}

/// Short description of the values that a row accepts.
pub(super) fn range(row: &Row) -> String {
    match &row.kind {
        Kind::Slider { range, unset: Some(word), .. } => format!("{range} or {word}"),
        Kind::Slider { range, .. } | Kind::Integer(range) => range.to_string(),
        Kind::Choice(names) => format!("one of {}", names.len()),
        Kind::Marks(names) => format!("any of {}", names.len()),
        Kind::Text(_) => "text".into(),
        Kind::File(_) => "path".into(),
    }
}

/// Opens the form, or closes it and returns to the pane from which it was opened.
pub(crate) fn toggle(state: &mut State) -> Vec<Effect> {
    let form = !state.here().form;
    let from = state.here().focus;
    // The cursor stays on its row.
    let key = super::under_cursor(state).map(|(row, mark)| (row.key, mark)).filter(|_| state.focused(PANE));
    state.focus_on(PANE);
    state.here_mut().form = form;
    state.here_mut().listed.remove(&PANE);
    let at = key.and_then(|(key, mark)| {
        let setup = state.setup()?;
        let rows = setup.rows(state);
        let shown = super::shown(state, setup, &rows);
        let same = |line: &RowLine| rows[line.row].key == key && line.mark == mark;
        shown.iter().position(same).or(shown.iter().position(|line| rows[line.row].key == key))
    });
    let place = state.here_mut();
    place.row = at.unwrap_or(0);
    let back = if form { place.before_form.replace(from).and(None) } else { place.before_form.take() };
    if let Some(pane) = back {
        state.focus_on(pane);
    }
    Vec::new()
}

/// Closes the form; false if it is not open.
pub(crate) fn close(state: &mut State) -> bool {
    let open = state.screen().setup().is_some() && state.here().form;
    if open {
        toggle(state);
    }
    open
}

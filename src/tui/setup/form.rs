//! The form of a lab's settings: every row in its group, with range, default and description.

use super::{MARKS, PANE, Row, RowLine};
use crate::action::Effect;
use crate::layout::scrolled;
use crate::state::State;
use labs::setting::{Kind, Value};

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

/// Indices in `shown` of the drawn lines. In the form, these are all lines, with `None` for each group's heading; in the pane, they are
/// the result of [`in_sight`].
pub(super) fn drawn(state: &State, rows: &[Row], shown: &[RowLine]) -> Vec<Option<usize>> {
    if !state.here().form {
        return in_sight(state.here().row, rows, shown).into_iter().map(Some).collect();
    }
    let mut out = Vec::new();
    let mut last = None;
    for (number, line) in shown.iter().enumerate() {
        let group = group(&rows[line.row]);
        if last != Some(group) {
            last = Some(group);
            out.push(None);
        }
        out.push(Some(number));
    }
    out
}

/// Moves the cursor of the form to the first row of the next or the previous group, cyclically.
pub(crate) fn step_group(state: &mut State, on: bool) {
    let Some(setup) = state.setup() else { return };
    let rows = setup.rows(state);
    let shown = super::shown(state, setup, &rows);
    let of = |line: &RowLine| group(&rows[line.row]);
    let firsts: Vec<usize> = (0..shown.len()).filter(|i| *i == 0 || of(&shown[i - 1]) != of(&shown[*i])).collect();
    let here = state.here().row;
    let at = firsts.iter().rposition(|first| *first <= here).unwrap_or(0);
    let by = if on { 1 } else { firsts.len().saturating_sub(1) };
    let next = firsts.get((at + by) % firsts.len().max(1)).copied();
    state.here_mut().row = next.unwrap_or(0);
}

/// The values of a row in brief.
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

/// Indices in `shown` of the lines that the pane draws. If a row has more checkboxes than fit, the checkboxes around the cursor are
/// drawn. If the cursor is elsewhere, the first ones are drawn, ticked ones before others.
fn in_sight(cursor: usize, rows: &[Row], shown: &[RowLine]) -> Vec<usize> {
    let mut out = Vec::new();
    let mut next = 0;
    for lines in shown.chunk_by(|a, b| a.row == b.row) {
        let all = next..next + lines.len();
        next = all.end;
        let ticks = if let Value::Marks(on) = &rows[lines[0].row].value { on.as_slice() } else { &[] };
        let is_off = |at: &usize| !ticks.get(shown[*at].mark).copied().unwrap_or(false);
        if all.contains(&cursor) || all.len() <= MARKS {
            let from = all.start + scrolled(cursor.saturating_sub(all.start), all.len(), MARKS);
            out.extend(from..all.end.min(from + MARKS));
        } else {
            let mut first: Vec<usize> = all.collect();
            first.sort_by_key(is_off);
            first.truncate(MARKS);
            // In the order of the form, so that a checkbox stays where it is when it is toggled.
            first.sort_unstable();
            out.extend(first);
        }
    }
    out
}

/// Opens the form, or closes it and returns to the previous pane.
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

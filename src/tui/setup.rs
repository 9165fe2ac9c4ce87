//! The settings of every lab: rows of [`labs::setting`] and rows that the lab adds for its view.
//!
//! A lab implements [`Setup`]. The pane shows the rows that are changed often; the form shows all of them in groups, each with its
//! range, its default and a sentence. Sliders, typed values, checkboxes, the mouse and the drawing are here.

mod draw;
mod form;
#[cfg(test)]
mod tests;

use ratatui::layout::Rect;

pub use draw::draw;
pub(crate) use form::{close as close_form, group, toggle as toggle_form};

use super::action::{Effect, Mouse};
use super::layout::{inside, scrolled, track};
use super::popups;
use super::screen::Pane;
use super::state::{Drag, Purpose, State, TextEntry, moved};
use super::stops::{share_of, step_along};
use base::text::printable;
use engine::board::Job;
use labs::examples::TaskSpec;
use labs::setting::{Kind, Known, KnownModel, Setting, SettingError, Value};
use labs::{LabId, Spec};

/// The pane of a lab's settings.
pub const PANE: Pane = Pane("Settings");
/// Steps of a far move.
pub const FAR: i64 = 5;
/// Steps that lead to the end of any track.
pub const END: i64 = i64::MAX / 2;

/// The experiment of a lab as the user sets it up.
pub trait Setup: Sync {
    /// The lab that is set up.
    fn lab(&self) -> LabId;

    /// The keys of the rows that the pane shows; the form shows all.
    fn short(&self) -> &'static [&'static str];

    /// All rows, in the order of the form within each group.
    fn rows(&self, state: &State) -> Vec<Row>;

    /// Sets a row.
    ///
    /// # Errors
    /// Why it cannot be set; nothing has changed then.
    fn set(&self, state: &mut State, key: &str, value: Value) -> Result<Vec<Effect>, SettingError>;

    /// The row that steps change while another pane has the focus.
    fn main(&self) -> &'static str;

    /// Opens the picker of a row; false if it has none.
    fn open(&self, _state: &mut State, _key: &str) -> bool {
        false
    }

    /// The spec, ready to be sent.
    fn spec(&self, state: &State) -> Spec;

    /// Sets everything up as a spec of this lab says.
    fn take(&self, state: &mut State, spec: &Spec);

    /// The examples that it draws, for the screen that describes data.
    fn examples(&self, _state: &State) -> TaskSpec {
        TaskSpec::default()
    }

    /// What to ask along with a run that has just been sent.
    fn along(&self, _state: &mut State) -> Vec<Effect> {
        Vec::new()
    }
}

/// The setup of a lab whose rows are its settings and nothing else.
pub struct Plain<S: 'static> {
    pub lab: LabId,
    /// Key of the row that steps change while another pane has the focus.
    pub main: &'static str,
    /// Keys of the rows that the pane shows.
    pub short: &'static [&'static str],
    /// The spec that is shipped, whose values are the defaults.
    pub shipped: fn() -> S,
    pub settings: fn() -> Vec<Setting<S>>,
    /// The experiment as the user has set it up.
    pub spec: fn(&State) -> &S,
    /// The same, to be changed.
    pub(crate) spec_mut: fn(&mut State) -> &mut S,
    /// The spec of its latest run.
    pub ran: fn(&State) -> Option<&S>,
    /// Its spec within any lab's.
    pub own: fn(&Spec) -> Option<&S>,
}

impl<S: Clone + Into<Spec> + 'static> Setup for Plain<S> {
    fn lab(&self) -> LabId {
        self.lab
    }

    fn short(&self) -> &'static [&'static str] {
        self.short
    }

    fn rows(&self, state: &State) -> Vec<Row> {
        let (spec, ran, known) = ((self.spec)(state), (self.ran)(state), known(state));
        let shipped = (self.shipped)();
        (self.settings)().iter().map(|s| Row::of(s, spec, ran, &known).with_default(s, &shipped, &known)).collect()
    }

    fn set(&self, state: &mut State, key: &str, value: Value) -> Result<Vec<Effect>, SettingError> {
        let known = known(state);
        let setting = (self.settings)().into_iter().find(|s| s.key == key).ok_or(SettingError::NotOffered)?;
        setting.set((self.spec_mut)(state), &known, value)?;
        Ok(Vec::new())
    }

    fn main(&self) -> &'static str {
        self.main
    }

    fn spec(&self, state: &State) -> Spec {
        (self.spec)(state).clone().into()
    }

    fn take(&self, state: &mut State, spec: &Spec) {
        if let Some(spec) = (self.own)(spec) {
            *(self.spec_mut)(state) = spec.clone();
        }
    }
}

/// A row of the pane.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its key, unique in the pane.
    pub key: String,
    pub label: String,
    /// One sentence about it.
    pub help: String,
    /// How it is operated.
    pub kind: Kind,
    pub value: Value,
    /// Its value as text.
    pub text: String,
    /// The text after each checkbox.
    pub notes: Vec<String>,
    /// Whether it differs from the last run.
    pub changed: bool,
    /// Whether it only affects the view and so can be changed in a replay, too.
    pub view: bool,
    /// The value in the shipped experiment; empty for rows of the view.
    pub default: String,
}

impl Row {
    /// A row of a setting, compared with the spec that was run.
    pub fn of<S>(setting: &Setting<S>, spec: &S, ran: Option<&S>, known: &Known) -> Self {
        let value = setting.get(spec, known);
        let kind = setting.kind(spec, known);
        let changed = ran.is_some_and(|ran| match (&kind, &value) {
            // What can be picked depends on the spec itself, so the names are compared, not the places.
            (Kind::Marks(_), value) => {
                kind.show(value) != setting.kind(ran, known).show(&setting.get(ran, known))
            }
            _ => setting.get(ran, known) != value,
        });
        Self {
            key: setting.key.clone(),
            label: setting.label.clone(),
            help: setting.help.clone(),
            text: printable(&setting.text(spec, known)).into_owned(),
            kind,
            value,
            notes: Vec::new(),
            changed,
            view: false,
            default: String::new(),
        }
    }

    /// The same with its value in the spec that is shipped.
    pub(crate) fn with_default<S>(mut self, setting: &Setting<S>, shipped: &S, known: &Known) -> Self {
        self.default = printable(&setting.text(shipped, known)).into_owned();
        self
    }

    /// A row of the view, which no spec holds.
    pub(crate) fn of_view(key: &str, label: &str, help: &str, kind: Kind, value: Value) -> Self {
        let text = printable(&kind.show(&value)).into_owned();
        let (key, label, help) = (key.to_owned(), printable(label).into_owned(), help.to_owned());
        let (notes, changed, view, default) = (Vec::new(), false, true, String::new());
        Self { key, label, help, kind, value, text, notes, changed, view, default }
    }

    /// The value a number of steps away; none if the row has no steps.
    pub fn stepped(&self, by: i64) -> Option<Value> {
        match (&self.kind, &self.value) {
            (Kind::Choice(names), _) if names.is_empty() => None,
            (Kind::Choice(_), Value::Choice(None)) => Some(Value::Choice(Some(0))),
            (Kind::Choice(names), Value::Choice(Some(at))) => {
                let next = (*at as i64 + by.signum()).rem_euclid(names.len() as i64);
                Some(Value::Choice(Some(next as usize)))
            }
            // A count has no end to go to.
            (Kind::Integer(range), Value::Number(x)) if by.abs() <= FAR => {
                Some(Value::Number((x + by as f64).clamp(range.min, range.max)))
            }
            (Kind::Slider { stops, .. }, Value::Unset) => {
                let at = usize::try_from(by - 1).ok()?;
                stops.get(at.min(stops.len().checked_sub(1)?)).copied().map(Value::Number)
            }
            (Kind::Slider { stops, unset, .. }, Value::Number(x)) => {
                let below = stops.partition_point(|s| s < x) as i64;
                if unset.is_some() && by < 0 && below.saturating_add(by) < 0 {
                    return Some(Value::Unset);
                }
                Some(Value::Number(step_along(stops, *x, by)))
            }
            _ => None,
        }
    }

    /// Position of a slider on its track, from 0 to 1.
    pub fn share(&self) -> f64 {
        match (&self.kind, &self.value) {
            (Kind::Slider { stops, unset, .. }, Value::Number(x)) => {
                let before = f64::from(u8::from(unset.is_some()));
                let steps = stops.len().saturating_sub(1) as f64;
                let all = before + steps;
                if all > 0.0 { (before + share_of(stops, *x) * steps) / all } else { 0.0 }
            }
            _ => 0.0,
        }
    }

    /// The stop nearest to a position on the track; none if the row is not a slider.
    pub(crate) fn at_share(&self, share: f64) -> Option<Value> {
        let Kind::Slider { stops, unset, .. } = &self.kind else { return None };
        let before = usize::from(unset.is_some());
        let last = (before + stops.len()).checked_sub(1)?;
        let at = (share.clamp(0.0, 1.0) * last as f64).round() as usize;
        if at < before { Some(Value::Unset) } else { stops.get(at - before).copied().map(Value::Number) }
    }

    fn lines(&self) -> usize {
        if let Kind::Marks(names) = &self.kind { names.len() } else { 1 }
    }
}

/// A line of the pane: the row, and which of its checkboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLine {
    /// Index of the row.
    pub row: usize,
    /// Index of the checkbox.
    pub mark: usize,
}

/// Checkboxes of a row that the pane shows; the form shows all.
const MARKS: usize = 3;

/// One line per row, or one per checkbox.
pub fn lines(rows: &[Row]) -> Vec<RowLine> {
    let of = |(row, r): (usize, &Row)| (0..r.lines()).map(move |mark| RowLine { row, mark });
    rows.iter().enumerate().flat_map(of).collect()
}

/// The lines that are shown: in the form all of them by groups, in the pane those of the rows that are changed often, with the first
/// checkboxes of each, those that are on before the others.
pub fn shown(state: &State, setup: &dyn Setup, rows: &[Row]) -> Vec<RowLine> {
    if state.place(state.view.lab).form {
        let mut all = lines(rows);
        all.sort_by_key(|line| group(&rows[line.row]));
        return all;
    }
    let mut out = Vec::new();
    for key in setup.short() {
        let Some(row) = rows.iter().position(|row| row.key == *key) else { continue };
        let on = |mark: &usize| matches!(&rows[row].value, Value::Marks(on) if !on.get(*mark).copied().unwrap_or(false));
        let mut marks: Vec<usize> = (0..rows[row].lines()).collect();
        marks.sort_by_key(on);
        let mut first: Vec<usize> = marks.into_iter().take(MARKS).collect();
        // In the order of the form, so that a box stays where it is when it is toggled among the first.
        first.sort_unstable();
        out.extend(first.into_iter().map(|mark| RowLine { row, mark }));
    }
    out
}

/// Rows that the form has and the pane does not.
pub(crate) fn hidden(setup: &dyn Setup, rows: &[Row]) -> usize {
    let is_hidden = |row: &&Row| !setup.short().contains(&row.key.as_str()) || row.lines() > MARKS;
    rows.iter().filter(is_hidden).count()
}

/// What the settings of a lab know besides its spec.
pub fn known(state: &State) -> Known {
    let model = |m: &engine::message::ModelInfo| KnownModel { name: m.name.clone(), layers: m.layers };
    Known { models: state.board.models.iter().map(model).collect() }
}

/// The lab's latest run.
pub fn ran(state: &State) -> Option<&Job> {
    state.board.run_of(state.setup()?.lab()).map(|run| &run.job)
}

/// The row of a key.
pub fn row(state: &State, key: &str) -> Option<Row> {
    state.setup()?.rows(state).into_iter().find(|r| r.key == key)
}

/// The line under the cursor: its row, and which of its checkboxes.
pub fn under_cursor(state: &State) -> Option<(Row, usize)> {
    let setup = state.setup()?;
    let rows = setup.rows(state);
    let lines = shown(state, setup, &rows);
    let line = lines.get(state.place(state.view.lab).row.min(lines.len().checked_sub(1)?))?;
    Some((rows[line.row].clone(), line.mark))
}

/// The row that keys act on: the one under the cursor in the setup pane, the main row in any other pane.
fn target(state: &State) -> Option<Row> {
    if state.focused(PANE) {
        under_cursor(state).map(|(row, _)| row)
    } else {
        row(state, state.setup()?.main())
    }
}

/// Whether the lab's setup differs from its latest run.
pub fn changed(state: &State) -> bool {
    let Some(setup) = state.setup() else { return false };
    ran(state).is_some_and(|job| job.spec != setup.spec(state))
}

/// Whether the setup, exactly as it is, is waiting to run.
pub fn waits(state: &State) -> bool {
    state.setup().is_some_and(|setup| state.queue.contains(&setup.spec(state)))
}

/// Sets a row. A refusal is shown in the row. Setting the present value does nothing.
pub fn set(state: &mut State, row: &Row, value: Value) -> Vec<Effect> {
    match take(state, row, value) {
        Ok(effects) => effects,
        Err(error) => {
            let lab = state.view.lab;
            state.place_mut(lab).refused = Some((row.key.clone(), error.to_string()));
            Vec::new()
        }
    }
}

fn take(state: &mut State, row: &Row, value: Value) -> Result<Vec<Effect>, SettingError> {
    let Some(setup) = state.setup() else { return Ok(Vec::new()) };
    if state.replay.is_some() && !row.view {
        return Err(SettingError::Refused("the settings of a replay cannot be changed".into()));
    }
    if row.value == value {
        return Ok(Vec::new());
    }
    let before = setup.spec(state);
    let effects = setup.set(state, &row.key, value)?;
    remember(state, &row.key, before);
    Ok(effects)
}

/// Steps a row by its key.
pub fn turn(state: &mut State, key: &str, by: i64) -> Vec<Effect> {
    let next = row(state, key).and_then(|row| row.stepped(by).map(|value| (row, value)));
    next.map_or(Vec::new(), |(row, value)| set(state, &row, value))
}

/// Steps the row under the cursor, or in any other pane what it moves sideways, or else the main row.
pub fn adjust(state: &mut State, by: i64) -> Vec<Effect> {
    let (screen, pane) = (state.screen(), state.here().focus);
    if pane != PANE
        && let Some(effects) = screen.sideways(state, pane, by)
    {
        return effects;
    }
    let Some(row) = target(state) else { return Vec::new() };
    if let Kind::Text(_) | Kind::File(_) = row.kind {
        let key = state.keymap.short_label("type-value");
        state.view.toast = Some(format!("{key} types into this row"));
        return Vec::new();
    }
    turn(state, &row.key, by)
}

/// Whether a box that can be ticked is under the cursor.
pub(crate) fn can_select(state: &State) -> bool {
    let here = state.replay.is_none() && state.screen().setup().is_some() && state.focused(PANE);
    here && under_cursor(state).is_some_and(|(row, _)| matches!(row.kind, Kind::Marks(_)))
}

/// Ticks or unticks the box under the cursor.
pub fn select(state: &mut State) -> Vec<Effect> {
    under_cursor(state).map_or(Vec::new(), |(row, mark)| toggle(state, &row, mark))
}

/// Opens the row under the cursor: its choices, or a text field.
pub(crate) fn open_row(state: &mut State) -> Vec<Effect> {
    let (Some(setup), Some((row, mark))) = (state.setup(), under_cursor(state)) else { return Vec::new() };
    if setup.open(state, &row.key) {
        return Vec::new();
    }
    match row.kind {
        Kind::Marks(_) => {
            state.view.picked = Some(row.key);
            popups::pick(state, &popups::Choices, mark)
        }
        Kind::Choice(_) => {
            let at = row.value.choice().unwrap_or(0);
            state.view.picked = Some(row.key);
            popups::pick(state, &popups::Choices, at)
        }
        _ => open(state),
    }
}

/// Toggles a checkbox of a row.
pub fn toggle(state: &mut State, row: &Row, mark: usize) -> Vec<Effect> {
    let Value::Marks(mut on) = row.value.clone() else { return Vec::new() };
    if let Some(on) = on.get_mut(mark) {
        *on = !*on;
    }
    set(state, row, Value::Marks(on))
}

/// Whether a value can be typed into `row` now.
fn typable(state: &State, row: &Row) -> bool {
    row.kind.typable() && (state.replay.is_none() || row.view)
}

/// Opens the text field of the row under the cursor, or of the main row.
pub fn open(state: &mut State) -> Vec<Effect> {
    match target(state).filter(|row| typable(state, row)) {
        Some(row) => {
            // A path is edited more often than typed from scratch.
            let now = if let Value::Text(text) = &row.value { text.clone() } else { String::new() };
            state.view.entry = Some(TextEntry::new(Purpose::Setting(row.key), now));
        }
        None => state.view.toast = Some("nothing can be typed into this row".into()),
    }
    Vec::new()
}

/// Lets a digit in the setup pane start typing into the row under the cursor; false if it does not.
pub fn begins(state: &mut State, c: char) -> bool {
    let free = state.view.popup.is_none() && state.view.entry.is_none();
    let here = free && state.screen().setup().is_some() && state.focused(PANE);
    let digit = c.is_ascii_digit() || c == '.';
    let row = if here && digit { under_cursor(state).map(|(row, _)| row) } else { None };
    let Some(row) = row.filter(|row| row.kind.numeric() && typable(state, row)) else { return false };
    state.view.entry = Some(TextEntry::new(Purpose::Setting(row.key), c));
    true
}

/// Takes a text that was typed into a row.
pub fn typed(state: &mut State, key: &str, text: &str) -> Result<Vec<Effect>, String> {
    let Some(row) = row(state, key) else { return Ok(Vec::new()) };
    let value = row.kind.parse(text).map_err(|e| e.to_string())?;
    take(state, &row, value).map_err(|e| e.to_string())
}

/// Earlier and later settings of a lab.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    past: Vec<Spec>,
    future: Vec<Spec>,
    /// The row that was changed last: further steps of one slider are one change.
    last: Option<String>,
}

/// Most changes that are kept.
const CHANGES: usize = 100;

/// Keeps the settings as they were before a change of a row.
fn remember(state: &mut State, key: &str, before: Spec) {
    let Some(setup) = state.setup() else { return };
    if setup.spec(state) == before {
        return;
    }
    let history = state.history.entry(setup.lab()).or_default();
    history.future.clear();
    if history.last.as_deref() != Some(key) {
        history.past.push(before);
        history.last = Some(key.to_owned());
    }
    if history.past.len() > CHANGES {
        history.past.remove(0);
    }
}

fn history(state: &State) -> Option<&History> {
    state.history.get(&state.screen().setup()?.lab()).filter(|_| state.replay.is_none())
}

pub(crate) fn can_undo(state: &State) -> bool {
    history(state).is_some_and(|history| !history.past.is_empty())
}

pub(crate) fn can_redo(state: &State) -> bool {
    history(state).is_some_and(|history| !history.future.is_empty())
}

/// Goes back to the settings before the last change, or forward again.
pub(crate) fn undo(state: &mut State, redo: bool) -> Vec<Effect> {
    let Some(setup) = state.screen().setup() else { return Vec::new() };
    let now = setup.spec(state);
    let history = state.history.entry(setup.lab()).or_default();
    let (from, to) = match redo {
        false => (&mut history.past, &mut history.future),
        true => (&mut history.future, &mut history.past),
    };
    if let Some(spec) = from.pop() {
        to.push(now);
        history.last = None;
        setup.take(state, &spec);
        let text = if redo { "the change is made again" } else { "the last change is undone" };
        state.view.toast = Some(text.into());
    }
    Vec::new()
}

/// Moves the cursor.
pub fn travel(state: &mut State, by: i64) {
    let Some(setup) = state.screen().setup() else { return };
    let len = shown(state, setup, &setup.rows(state)).len();
    let place = state.here_mut();
    place.row = moved(place.row, by, len);
}

/// The line at a row of the screen: its number, what it is, and where.
pub fn line_at(state: &State, pane: Rect, y: u16) -> Option<(usize, RowLine, Rect)> {
    let inner = inside(pane);
    let setup = state.screen().setup()?;
    let rows = setup.rows(state);
    let shown = shown(state, setup, &rows);
    let at = usize::from(y.checked_sub(inner.y).filter(|l| *l < inner.height)?);
    let drawn = form::drawn(state, &rows, &shown);
    let first = first_drawn(&drawn, state.here().row, inner.height);
    let number = (*drawn.get(first + at)?)?;
    Some((number, *shown.get(number)?, Rect { y, height: 1, ..inner }))
}

/// The first drawn line that is in sight with the cursor on line `here`; headings of the form have no number.
fn first_drawn(drawn: &[Option<usize>], here: usize, height: u16) -> usize {
    let cursor = drawn.iter().position(|line| *line == Some(here)).unwrap_or(0);
    scrolled(cursor, drawn.len(), height.into())
}

/// The mouse was pressed in the pane.
pub fn press(state: &mut State, pane: Rect, mouse: Mouse) -> Vec<Effect> {
    let (Some(setup), Some((number, at, line))) = (state.setup(), line_at(state, pane, mouse.y)) else {
        return Vec::new();
    };
    let mut rows = setup.rows(state);
    let again = state.here().row == number;
    state.here_mut().row = number;
    let row = rows.swap_remove(at.row);
    let (start, length) = track(line, state.here().form);
    match row.kind {
        Kind::Slider { .. } if (start..start + length).contains(&mouse.x) => {
            state.view.drag = Some(Drag::Setting(row.key.clone()));
            slide(state, &row, line, mouse.x)
        }
        Kind::Marks(_) => toggle(state, &row, at.mark),
        Kind::Choice(_) if again => turn(state, &row.key, 1),
        _ if again => open(state),
        _ => Vec::new(),
    }
}

/// The mouse drags the slider of a row.
pub(crate) fn drag(state: &mut State, key: &str, pane: Rect, x: u16) -> Vec<Effect> {
    row(state, key).map_or(Vec::new(), |row| slide(state, &row, inside(pane), x))
}

fn slide(state: &mut State, row: &Row, line: Rect, x: u16) -> Vec<Effect> {
    let (start, length) = track(line, state.here().form);
    let share = f64::from(x.saturating_sub(start)) / f64::from(length.saturating_sub(1).max(1));
    row.at_share(share).map_or(Vec::new(), |value| set(state, row, value))
}

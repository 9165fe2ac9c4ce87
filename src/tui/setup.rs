//! Settings of every lab: rows of [`labs::setting`], and rows that a lab adds for its view.
//!
//! A lab implements [`Setup`]. The pane shows the most-used rows. The form shows all rows in groups, each with its range, default and
//! description. This module handles sliders, typed values, checkboxes, the mouse and drawing.

mod draw;
mod form;
mod history;
mod model_list;
mod row;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use ratatui::layout::Rect;

pub(crate) use draw::about_cursor;
pub use draw::draw;
pub(crate) use form::{close as close_form, group, step_group, toggle as toggle_form};
use history::remember;
pub(crate) use history::{History, can_redo, can_undo, quick_run, undo};
pub(crate) use model_list::{lacks_models, models, next_run, picks_models, tick_model, ticked_models};
pub use row::Row;

use super::action::{Effect, Mouse};
use super::layout::{inside, scrolled, track};
use super::panes::table;
use super::popups;
use super::screen::Pane;
use super::search;
use super::state::{Drag, Purpose, State, TextEntry, moved};
use engine::board::Job;
use labs::examples::TaskSpec;
use labs::setting::{Kind, Known, KnownModel, KnownRelation, Setting, SettingError, Value};
use labs::{LabId, Spec};

pub const PANE: Pane = Pane("Settings");
/// Number of steps in a large move.
pub const FAR: i64 = 5;
/// Number of steps that reaches the end of any track.
pub const END: i64 = i64::MAX / 2;

/// The experiment of a lab as set up by the user.
pub trait Setup: Sync {
    fn lab(&self) -> LabId;

    /// Recorded example of the lab: a session, packed or not.
    fn example(&self) -> &'static [u8];

    /// Keys of the rows in the pane; the form shows all.
    fn short(&self) -> &'static [&'static str];

    /// All rows; within each group in the order of the form.
    fn rows(&self, state: &State) -> Vec<Row>;

    /// Fails with the reason if the row cannot be set; the state is then unchanged.
    fn set(&self, state: &mut State, key: &str, value: Value) -> Result<Vec<Effect>, SettingError>;

    /// Key of the row that the step keys change while another pane has the focus.
    fn main(&self) -> &'static str;

    /// Relations of the facts that the spec names.
    fn relations(&self, _state: &State) -> Vec<KnownRelation> {
        Vec::new()
    }

    /// Opens the picker of a row; false if it has none.
    fn open(&self, _state: &mut State, _key: &str) -> bool {
        false
    }

    fn spec(&self, state: &State) -> Spec;

    /// Applies a spec of this lab to all settings.
    fn take(&self, state: &mut State, spec: &Spec);

    /// Resets selections made for one run, because another one is shown now.
    fn leave_run(&self, _state: &mut State) {}

    /// Task whose examples the lab draws, for the data screen.
    fn examples(&self, _state: &State) -> TaskSpec {
        TaskSpec::default()
    }

    /// True if results of a run with this spec also answer the current setup.
    fn answered(&self, state: &State, ran: &Spec) -> bool {
        *ran == self.spec(state)
    }

    /// Effects that go with a new run, such as questions.
    fn along(&self, _state: &mut State) -> Vec<Effect> {
        Vec::new()
    }
}

/// The setup of a lab whose rows are only its settings.
pub struct Plain<S: 'static> {
    pub lab: LabId,
    pub(crate) example: &'static [u8],
    /// See [`Setup::main`].
    pub main: &'static str,
    /// See [`Setup::short`].
    pub short: &'static [&'static str],
    /// Shipped spec, whose values are the defaults.
    pub shipped: fn() -> S,
    pub settings: fn() -> Vec<Setting<S>>,
    /// The experiment set up by the user.
    pub spec: fn(&State) -> &S,
    pub(crate) spec_mut: fn(&mut State) -> &mut S,
    /// The spec of the latest run.
    pub ran: fn(&State) -> Option<&S>,
    /// Extracts this lab's spec.
    pub own: fn(&Spec) -> Option<&S>,
    /// See [`Setup::relations`].
    pub(crate) relations: fn(&State) -> Vec<KnownRelation>,
}

impl<S: Clone + Into<Spec> + 'static> Setup for Plain<S> {
    fn lab(&self) -> LabId {
        self.lab
    }

    fn example(&self) -> &'static [u8] {
        self.example
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

    fn relations(&self, state: &State) -> Vec<KnownRelation> {
        (self.relations)(state)
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

/// A line of the pane: one row, or one of its checkboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLine {
    pub row: usize,
    /// Index among the row's checkboxes.
    pub mark: usize,
}

/// Maximum number of a row's checkboxes that the pane draws at once; the form draws all.
const MARKS: usize = 3;

/// One line per row, or one per checkbox.
pub fn lines(rows: &[Row]) -> Vec<RowLine> {
    let of = |(row, r): (usize, &Row)| (0..r.lines()).map(move |mark| RowLine { row, mark });
    rows.iter().enumerate().flat_map(of).collect()
}

fn contains(text: &str, filter: &str) -> bool {
    search::folded(text).contains(&search::folded(filter.trim()))
}

/// Rank of a row that matches a filter, by its label or else by its value, its choices or its description.
fn rank(row: &Row, filter: &str) -> Option<usize> {
    let found = |text: &str| contains(text, filter);
    let elsewhere = || found(&format!("{} {}", row.text, row.help)) || row.choices().iter().any(|c| found(c));
    search::rank_of_name(&row.label, filter).or_else(|| elsewhere().then_some(search::NAMES))
}

/// True if a line matches a filter: all lines of a row that matches by its label, text or description, and otherwise the checkboxes whose
/// names match.
fn matches(row: &Row, mark: usize, filter: &str) -> bool {
    let named = matches!(row.kind, Kind::Marks(_)) && row.choices().iter().any(|name| contains(name, filter));
    let found = || row.choices().get(mark).is_some_and(|name| contains(name, filter));
    !named || search::rank_of_name(&row.label, filter).is_some() || found()
}

/// Lines that the cursor can reach: in the form, all lines by group; in the pane, the lines of the most-used rows.
pub fn shown(state: &State, setup: &dyn Setup, rows: &[Row]) -> Vec<RowLine> {
    let place = state.place(state.view.lab);
    if place.form {
        let filter = table::filter_of(place, PANE);
        let ranks: Vec<Option<usize>> = rows.iter().map(|row| rank(row, filter)).collect();
        // The group with the best match comes first.
        let best = |of| (0..rows.len()).filter(|row| group(&rows[*row]) == of).filter_map(|row| ranks[row]).min();
        let mut all = lines(rows);
        all.retain(|line| ranks[line.row].is_some() && matches(&rows[line.row], line.mark, filter));
        all.sort_by_cached_key(|line| (best(group(&rows[line.row])), group(&rows[line.row]), ranks[line.row]));
        return all;
    }
    let of = |key: &&str| rows.iter().position(|row| row.key == **key);
    let short = setup.short().iter().filter_map(of);
    short.flat_map(|row| (0..rows[row].lines()).map(move |mark| RowLine { row, mark })).collect()
}

/// The rows of the lab in sight.
fn rows(state: &State, setup: &dyn Setup) -> Rc<Vec<Row>> {
    state.frame.once("rows", || setup.rows(state))
}

/// Number of lines that the pane draws.
pub(crate) fn height(state: &State, setup: &dyn Setup) -> usize {
    let rows = rows(state, setup);
    form::drawn(state, &rows, &shown(state, setup, &rows)).len()
}

/// Number of the form's rows that the pane hides, fully or partly.
pub(crate) fn hidden(setup: &dyn Setup, rows: &[Row]) -> usize {
    let is_hidden = |row: &&Row| !setup.short().contains(&row.key.as_str()) || row.lines() > MARKS;
    rows.iter().filter(is_hidden).count()
}

/// Facts that settings depend on in addition to the spec.
pub fn known(state: &State) -> Known {
    let model = |m: &engine::message::ModelInfo| KnownModel { name: m.name.clone(), layers: m.layers };
    let relations = state.setup().map_or_else(Vec::new, |setup| setup.relations(state));
    Known { models: state.board.models.iter().map(model).collect(), relations }
}

pub fn ran(state: &State) -> Option<&Job> {
    state.board.run_of(state.setup()?.lab()).map(|run| &run.job)
}

pub fn row(state: &State, key: &str) -> Option<Row> {
    state.setup()?.rows(state).into_iter().find(|r| r.key == key)
}

/// Row under the cursor, and the index of its checkbox.
pub fn under_cursor(state: &State) -> Option<(Row, usize)> {
    let setup = state.setup()?;
    let rows = rows(state, setup);
    let lines = shown(state, setup, &rows);
    let line = lines.get(state.place(state.view.lab).row.min(lines.len().checked_sub(1)?))?;
    Some((rows[line.row].clone(), line.mark))
}

/// The row that keys change: the row under the cursor in the setup pane, the main row in other panes.
fn target(state: &State) -> Option<Row> {
    if state.focused(PANE) { under_cursor(state).map(|(row, _)| row) } else { row(state, state.setup()?.main()) }
}

/// True if the lab's setup differs from its latest run.
pub fn changed(state: &State) -> bool {
    let Some(setup) = state.setup() else { return false };
    ran(state).is_some_and(|job| !setup.answered(state, &job.spec))
}

/// Settings in a few words: the rows of the pane with a single value.
pub(crate) fn in_words(state: &State) -> String {
    let Some(setup) = state.screen().setup() else { return String::new() };
    let rows = setup.rows(state);
    let empty = |row: &Row| row.text.is_empty() || row.text == "none";
    // The relations per draw only affect rank consistency.
    let of_run =
        |row: &&Row| !row.view && !matches!(row.kind, Kind::Marks(_)) && !empty(row) && row.key != "ranks.subset";
    let named = setup.short().iter().filter_map(|key| rows.iter().find(|row| row.key == *key)).filter(of_run);
    // Labels such as `A model` keep their capital.
    let is_letter = |label: &str| label.split(' ').next().is_some_and(|word| word.len() == 1);
    let label = |row: &Row| if is_letter(&row.label) { row.label.clone() } else { row.label.to_lowercase() };
    let values = named.map(|row| match (label(row).strip_prefix("max. "), row.text.trim()) {
        (Some(what), "all") => format!("all {what}"),
        (Some(what), most) => format!("at most {most} {what}"),
        (None, text) => format!("{} {text}", label(row)),
    });
    let models = setup.short().contains(&"models").then(|| labs::answer::asked_of(setup.spec(state).models()));
    models.into_iter().chain(values).collect::<Vec<_>>().join(", ")
}

/// True if the current setup is waiting in the queue.
pub fn waits(state: &State) -> bool {
    state.setup().is_some_and(|setup| state.queue.contains(&setup.spec(state)))
}

/// Sets a row. A rejected value is reported in the row; setting the current value does nothing.
pub fn set(state: &mut State, row: &Row, value: Value) -> Vec<Effect> {
    match take(state, row, value) {
        Ok(effects) => effects,
        Err(error) => {
            let lab = state.view.lab;
            let why = state.in_labels(&error.to_string());
            state.place_mut(lab).refused = Some((row.key.clone(), why));
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
    if row.key == "models" {
        order_as_run(state, setup);
    }
    remember(state, &row.key, before);
    Ok(effects)
}

/// Restores the run's order of models if the set is the same, so that unticking and ticking a model changes nothing.
fn order_as_run(state: &mut State, setup: &dyn Setup) {
    let Some(before) = ran(state).map(|job| job.spec.models().to_vec()) else { return };
    let mut spec = setup.spec(state);
    let all_there = before.iter().all(|model| spec.models().contains(model));
    if all_there && before.len() == spec.models().len() && before != spec.models() {
        spec.common_mut().set_models(before);
        setup.take(state, &spec);
    }
}

pub fn turn(state: &mut State, key: &str, by: i64) -> Vec<Effect> {
    let next = row(state, key).and_then(|row| row.stepped(by).map(|value| (row, value)));
    next.map_or(Vec::new(), |(row, value)| set(state, &row, value))
}

/// Steps the row under the cursor. In other panes, moves the pane's cursor sideways or its list's selected column, or else steps the main
/// row.
pub fn adjust(state: &mut State, by: i64) -> Vec<Effect> {
    let (screen, pane) = (state.screen(), state.here().focus);
    if pane != PANE {
        if let Some(effects) = screen.sideways(state, pane, by) {
            return effects;
        }
        if let Some(table) = screen.table(state, pane) {
            return table::step_column(state, pane, &table, by);
        }
    }
    let Some(row) = target(state) else { return Vec::new() };
    if let Kind::Text(_) | Kind::File(_) = row.kind {
        let key = state.keymap.short_label("type-value");
        state.view.toast = Some(format!("{key} opens a text field for this row"));
        return Vec::new();
    }
    turn(state, &row.key, by)
}

/// True if the cursor is on a checkbox.
pub(crate) fn can_select(state: &State) -> bool {
    let here = state.replay.is_none() && state.screen().setup().is_some() && state.focused(PANE);
    let marks = || under_cursor(state).is_some_and(|(row, _)| matches!(row.kind, Kind::Marks(_)));
    state.screen().ticks(state).is_some() || here && marks()
}

pub fn select(state: &mut State) -> Vec<Effect> {
    if let Some(tick) = state.screen().ticks(state) {
        return tick(state);
    }
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
            (state.view.picked, state.view.ticked) = (Some(row.key), false);
            popups::pick(state, &popups::Choices, mark)
        }
        Kind::Choice(_) => {
            let at = found(state, &row).or(row.value.choice()).unwrap_or(0);
            state.view.picked = Some(row.key);
            popups::pick(state, &popups::Choices, at)
        }
        _ => open(state),
    }
}

/// The choice for which the form's filter found a row, if it did not find the row by its label.
fn found(state: &State, row: &Row) -> Option<usize> {
    let place = state.here();
    let filter = table::filter_of(place, PANE);
    let by_choice = place.form && !filter.trim().is_empty() && search::rank_of_name(&row.label, filter).is_none();
    row.choices().iter().position(|choice| by_choice && contains(choice, filter))
}

pub fn toggle(state: &mut State, row: &Row, mark: usize) -> Vec<Effect> {
    let Value::Marks(mut on) = row.value.clone() else { return Vec::new() };
    if let Some(on) = on.get_mut(mark) {
        *on = !*on;
    }
    set(state, row, Value::Marks(on))
}

/// True if a value can be typed into `row` now.
fn typable(state: &State, row: &Row) -> bool {
    row.kind.typable() && (state.replay.is_none() || row.view)
}

/// Opens the text field of the row under the cursor, or of the main row.
pub fn open(state: &mut State) -> Vec<Effect> {
    match target(state).filter(|row| typable(state, row)) {
        Some(row) => {
            // A path is more often edited than replaced.
            let now = if let Value::Text(text) = &row.value { text.clone() } else { String::new() };
            state.view.entry = Some(TextEntry { untouched: false, ..TextEntry::new(Purpose::Setting(row.key), now) });
        }
        None => state.view.toast = Some("nothing can be typed into this row".into()),
    }
    Vec::new()
}

pub fn typed(state: &mut State, key: &str, text: &str) -> Result<Vec<Effect>, String> {
    let Some(row) = row(state, key) else { return Ok(Vec::new()) };
    let value = row.kind.parse(text).map_err(|e| e.to_string())?;
    take(state, &row, value).map_err(|e| state.in_labels(&e.to_string()))
}

pub fn travel(state: &mut State, by: i64) {
    let Some(setup) = state.screen().setup() else { return };
    let len = shown(state, setup, &setup.rows(state)).len();
    let place = state.here_mut();
    place.row = moved(place.row, by, len);
}

/// The line at a screen row: its index, contents and position.
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

/// Index of the first visible line if the cursor is on row line `here`; `drawn` contains `None` for the form's headings.
fn first_drawn(drawn: &[Option<usize>], here: usize, height: u16) -> usize {
    let cursor = drawn.iter().position(|line| *line == Some(here)).unwrap_or(0);
    scrolled(cursor, drawn.len(), height.into())
}

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

pub(crate) fn drag(state: &mut State, key: &str, pane: Rect, x: u16) -> Vec<Effect> {
    row(state, key).map_or(Vec::new(), |row| slide(state, &row, inside(pane), x))
}

fn slide(state: &mut State, row: &Row, line: Rect, x: u16) -> Vec<Effect> {
    let (start, length) = track(line, state.here().form);
    let share = f64::from(x.saturating_sub(start)) / f64::from(length.saturating_sub(1).max(1));
    row.at_share(share).map_or(Vec::new(), |value| set(state, row, value))
}

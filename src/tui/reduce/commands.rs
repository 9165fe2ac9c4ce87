//! What each command does.

use super::{data, job, models, popup, replay, typing};
use crate::engine::data::DataQuestion;
use crate::engine::message::ModelQuestion;
use crate::figure::Scale;
use crate::tui::action::Effect;
use crate::tui::commands::{CommandId, entry};
use crate::tui::panes;
use crate::tui::state::setup::{FAR, Touched};
use crate::tui::state::{Glyphs, Lab, Pane, Popup, Purpose, Row, State, TextEntry};

/// Carries out a command, if it is enabled.
pub(super) fn perform(state: &mut State, command: CommandId, effects: &mut Vec<Effect>) {
    if !(entry(command).enabled)(state) {
        return;
    }
    use CommandId as C;
    match command {
        C::Left => adjust(state, -1, effects),
        C::Right => adjust(state, 1, effects),
        C::LeftFar => adjust(state, -FAR, effects),
        C::RightFar => adjust(state, FAR, effects),
        C::First => adjust(state, i64::MIN / 2, effects),
        C::Last => adjust(state, i64::MAX / 2, effects),
        C::Type => typing::open(state),
        C::Best => {
            if let Some(Ok(touched)) = state.optimum().map(|value| state.set(Row::Parameter, value)) {
                settle(state, touched, effects);
            }
        }
        C::Up => travel(state, -1),
        C::Down => travel(state, 1),
        C::Run => job::run(state, effects),
        C::Select => select(state),
        C::NextPane => focus(state, 1),
        C::PreviousPane => focus(state, Pane::ALL.len() - 1),
        C::Zoom => state.view.zoom = !state.view.zoom,
        C::Back => state.view.zoom = false,
        C::Methods => open_methods(state),
        C::NextMethod => turn(state, Row::Method, 1, effects),
        C::PreviousMethod => turn(state, Row::Method, -1, effects),
        C::NextModel => {
            next_model(state);
            job::ask_point(state, effects);
        }
        C::Oracle => turn(state, Row::Oracle, 1, effects),
        C::NextExample => step_example(state, true, effects),
        C::PreviousExample => step_example(state, false, effects),
        C::Axis => {
            let other = if state.scale() == Scale::Log { Scale::Linear } else { Scale::Log };
            state.view.scale = Some(other);
        }
        C::Glyphs => {
            state.view.glyphs = match state.view.glyphs {
                Glyphs::Braille => Glyphs::Blocks,
                Glyphs::Blocks => Glyphs::Ascii,
                Glyphs::Ascii => Glyphs::Braille,
            }
        }
        C::Theme => {
            state.view.theme = (state.view.theme + 1) % state.themes.len();
            state.view.toast = Some(format!("theme: {}", state.theme().name));
        }
        C::Undo => undo(state),
        C::Pause => job::pause(state, effects),
        C::Export => export(state, effects),
        C::Name => {
            let entry = TextEntry { purpose: Purpose::Session, buffer: String::new(), error: None };
            state.view.entry = Some(entry);
        }
        C::Provenance => state.view.popup = Some(Popup::Provenance { scroll: 0 }),
        C::Copy => copy(state, state.copy_text(), effects),
        C::Notices => state.view.popup = Some(Popup::Notices { scroll: 0 }),
        C::Palette => state.view.popup = Some(Popup::Palette { query: String::new(), selected: 0 }),
        C::Help => state.view.popup = Some(Popup::Help { query: String::new(), scroll: 0 }),
        C::Interventions => state.view.lab = Lab::Interventions,
        C::Models => state.view.lab = Lab::Models,
        C::Data => state.view.lab = Lab::Data,
        C::Inspect => models::ask(state, ModelQuestion::Inspect, effects),
        C::Check => models::ask(state, ModelQuestion::Check, effects),
        C::AddModel => {
            let entry = TextEntry { purpose: Purpose::Model, buffer: String::new(), error: None };
            state.view.entry = Some(entry);
        }
        C::InspectData => data::ask(state, DataQuestion::Inspect, effects),
        C::DoctorData => data::ask(state, DataQuestion::Doctor, effects),
        C::AddData => {
            let entry = TextEntry { purpose: Purpose::Data, buffer: String::new(), error: None };
            state.view.entry = Some(entry);
        }
        C::DataUp => data::scroll(state, -5),
        C::DataDown => data::scroll(state, 5),
        C::DossierUp => models::scroll(state, -5),
        C::DossierDown => models::scroll(state, 5),
        C::Quit => job::ask_quit(state, effects),
        C::Interrupt => job::interrupt(state, effects),
        C::ReplayPause | C::SeekBack | C::SeekForward | C::Slower | C::Faster => {
            replay::steer(state, command, effects);
        }
        C::PopupUp | C::ListUp => popup::travel(state, -1),
        C::PopupDown | C::ListDown => popup::travel(state, 1),
        C::PopupPageUp | C::ListPageUp => popup::travel(state, -10),
        C::PopupPageDown | C::ListPageDown => popup::travel(state, 10),
        C::PopupAccept => popup::accept(state, effects),
        C::PopupSelect => popup::mark(state),
        C::PopupCopy => copy(state, state.copy_text(), effects),
        C::PopupClose => state.view.popup = None,
        C::Accept => typing::accept(state, effects),
        C::Cancel => typing::cancel(state),
        C::Erase => typing::erase(state, false),
        C::EraseAll => typing::erase(state, true),
    }
}

/// Steps the row of the setup pane, or the marker from anywhere else.
fn adjust(state: &mut State, by: i64, effects: &mut Vec<Effect>) {
    let row = if state.view.focus == Pane::Setup { state.row() } else { Some(Row::Parameter) };
    if let Some(row) = row {
        turn(state, row, by, effects);
    }
}

/// Steps a row and asks for a new point where that is wanted.
pub(super) fn turn(state: &mut State, row: Row, by: i64, effects: &mut Vec<Effect>) {
    let only_view = matches!(row, Row::Parameter | Row::Method | Row::Oracle);
    if state.replay.is_some() && !only_view {
        state.view.toast = Some("a replay cannot be set up anew".into());
        return;
    }
    let before = state.marker();
    let touched = state.step(row, by);
    // At the end of the track nothing moves and nothing is asked.
    if row != Row::Parameter || state.marker() != before {
        settle(state, touched, effects);
    }
}

/// Asks for a new point where a change wants one.
pub(super) fn settle(state: &mut State, touched: Touched, effects: &mut Vec<Effect>) {
    if touched.point {
        job::ask_point(state, effects);
    }
}

/// Moves the cursor of the focused pane, or scrolls it.
pub(super) fn travel(state: &mut State, by: i64) {
    let moved = |at: usize, len: usize| {
        let last = len.saturating_sub(1) as i64;
        (at as i64 + by).clamp(0, last) as usize
    };
    match (state.view.lab, state.view.focus) {
        (Lab::Models, _) => {
            state.view.model_row = moved(state.view.model_row, state.listed_models().len());
            state.view.dossier_scroll = 0;
        }
        (Lab::Data, _) => {
            state.view.data_row = moved(state.view.data_row, state.listed_sets().len());
            state.view.data_scroll = 0;
        }
        (Lab::Interventions, Pane::Setup) => state.view.row = moved(state.view.row, state.rows().len()),
        (Lab::Interventions, pane) => {
            let lines = panes::lines(state, pane);
            let at = state.view.scroll.entry(pane).or_default();
            *at = moved(*at, lines);
        }
    }
}

fn select(state: &mut State) {
    let row = match state.view.lab {
        Lab::Models => Some(Row::Model(state.view.model_row)),
        Lab::Interventions => state.row(),
        Lab::Data => None,
    };
    match row {
        Some(Row::Model(i)) => {
            // Behind those that can be picked stand those that could not be loaded.
            match state.model_names().get(i) {
                Some(name) => state.toggle_model(name),
                None => state.view.toast = Some("a model that is not loaded cannot be picked".into()),
            }
        }
        Some(Row::Method) => open_methods(state),
        _ => state.view.toast = Some("h and l change this row".into()),
    }
}

fn focus(state: &mut State, by: usize) {
    let at = Pane::ALL.iter().position(|p| *p == state.view.focus).unwrap_or(0);
    state.view.focus = Pane::ALL[(at + by) % Pane::ALL.len()];
}

fn open_methods(state: &mut State) {
    let at = state.catalog.methods.iter().position(|m| m.id == state.view.method);
    state.view.popup = Some(Popup::Methods { selected: at.unwrap_or(0) });
}

fn next_model(state: &mut State) {
    let models = state.run_models();
    let at = models.iter().position(|m| *m == state.view.model).map_or(0, |i| i + 1);
    if let Some(model) = models.get(at % models.len().max(1)).cloned() {
        state.view.model = model;
    }
}

fn step_example(state: &mut State, on: bool, effects: &mut Vec<Effect>) {
    // Before the first answer the number of examples is unknown.
    let of = state.example().map_or(usize::MAX, |e| e.value.of.max(1));
    let at = state.view.example.min(of - 1);
    state.view.example = match (on, at) {
        (true, at) if at + 1 < of => at + 1,
        (true, _) => 0,
        (false, 0) if of == usize::MAX => 0,
        (false, 0) => of - 1,
        (false, at) => at - 1,
    };
    job::ask_point(state, effects);
}

fn undo(state: &mut State) {
    if let Some(ran) = state.ran().cloned() {
        state.spec = ran;
        job::settle_view(state);
        state.view.toast = Some("the setup is what was run".into());
    }
}

fn export(state: &mut State, effects: &mut Vec<Effect>) {
    match state.focused_figure() {
        Some(figure) => {
            effects.push(Effect::Export(Box::new(figure.clone())));
            state.view.toast = Some("writing the figure".into());
        }
        None => state.view.toast = Some("nothing to export yet".into()),
    }
}

fn copy(state: &mut State, text: Option<String>, effects: &mut Vec<Effect>) {
    match text {
        Some(text) => {
            effects.push(Effect::Copy(text));
            state.view.toast = Some("copied".into());
        }
        None => state.view.toast = Some("nothing to copy yet".into()),
    }
}

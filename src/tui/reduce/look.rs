//! How the user looks at it: focus, zoom, glyphs, themes, figures and numbers of the focused pane.

use crate::tui::action::{Effect, Existing};
use crate::tui::setup;
use crate::tui::state::{Glyphs, Prompt, Purpose, State, TextEntry};

/// Moves the cursor of the focused pane, or scrolls it.
pub fn travel(state: &mut State, by: i64) -> Vec<Effect> {
    let (screen, pane) = (state.screen(), state.here().focus);
    match pane {
        setup::PANE if screen.setup().is_some() => setup::travel(state, by),
        _ => screen.travel(state, pane, by),
    }
    Vec::new()
}

/// Moves the focus to the next pane, or to the previous one.
pub fn focus(state: &mut State, on: bool) -> Vec<Effect> {
    let panes = state.screen().panes();
    let at = panes.iter().position(|p| state.focused(*p)).unwrap_or(0);
    let by = if on { 1 } else { panes.len() - 1 };
    state.here_mut().focus = panes[(at + by) % panes.len()];
    Vec::new()
}

/// Toggles whether the focused pane fills the screen.
pub fn zoom(state: &mut State) -> Vec<Effect> {
    state.here_mut().zoom = !state.here().zoom;
    Vec::new()
}

/// Leaves the zoom.
pub fn back(state: &mut State) -> Vec<Effect> {
    state.here_mut().zoom = false;
    Vec::new()
}

/// Switches to the next set of glyphs.
pub fn glyphs(state: &mut State) -> Vec<Effect> {
    state.view.glyphs = match state.view.glyphs {
        Glyphs::Braille => Glyphs::Blocks,
        Glyphs::Blocks => Glyphs::Ascii,
        Glyphs::Ascii => Glyphs::Braille,
    };
    Vec::new()
}

/// Switches to the next theme.
pub fn theme(state: &mut State) -> Vec<Effect> {
    state.view.theme = (state.view.theme + 1) % state.themes.len();
    state.view.toast = Some(format!("theme: {}", state.theme().name));
    Vec::new()
}

/// Writes the figure of the focused pane.
pub fn export(state: &mut State) -> Vec<Effect> {
    let figure = state.screen().figure(state).cloned();
    let text = if figure.is_some() { "writing the figure" } else { "nothing to export yet" };
    state.view.toast = Some(text.into());
    figure.map_or(Vec::new(), |figure| vec![Effect::Export(Box::new(figure), Existing::Ask)])
}

/// Copies the numbers of the focused pane.
pub fn copy(state: &mut State) -> Vec<Effect> {
    let text = state.screen().copy(state);
    copied(state, text)
}

/// Puts text on the clipboard and says so.
pub fn copied(state: &mut State, text: Option<String>) -> Vec<Effect> {
    let said = if text.is_some() { "copied" } else { "nothing to copy yet" };
    state.view.toast = Some(said.into());
    text.map_or(Vec::new(), |text| vec![Effect::Copy(text)])
}

static NAME: Prompt = Prompt { label: "name of the session", hint: "", take: named };

fn named(_: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    if text.is_empty() { Err("type a name".into()) } else { Ok(vec![Effect::NameSession(text.to_owned())]) }
}

/// Asks for the session's name.
pub fn name_session(state: &mut State) -> Vec<Effect> {
    ask(state, &NAME)
}

/// Opens a text field.
pub fn ask(state: &mut State, prompt: &'static Prompt) -> Vec<Effect> {
    state.view.entry = Some(TextEntry::new(Purpose::Ask(prompt), ""));
    Vec::new()
}

//! View commands: focus, zoom, glyphs, themes, and the focused pane's figure and numbers.

use crate::action::{Effect, Existing, Export, Subject};
use crate::example;
use crate::layout::compute;
use crate::panes::table;
use crate::popups;
use crate::screen::Pane;
use crate::setup;
use crate::state::{Glyphs, Opening, Prompt, Purpose, State, TextEntry};
use base::text::printable;

pub fn travel(state: &mut State, by: i64) -> Vec<Effect> {
    let (screen, pane) = (state.screen(), state.here().focus);
    match pane {
        setup::PANE if screen.setup().is_some() => {
            setup::travel(state, by);
            Vec::new()
        }
        _ => screen.travel(state, pane, by),
    }
}

/// Moves the focus to the next or the previous pane; in the form, which hides all panes, to the first row of a group.
pub fn focus(state: &mut State, on: bool) -> Vec<Effect> {
    if state.here().form {
        setup::step_group(state, on);
        return Vec::new();
    }
    let slots = state.screen().slots();
    let at = slots.iter().position(|slot| slot.contains(&state.here().focus)).unwrap_or(0);
    let by = if on { 1 } else { slots.len() - 1 };
    let next = state.here().shown(slots[(at + by) % slots.len()]);
    state.focus_on(next);
    Vec::new()
}

/// The slot whose panes are cycled: the focused one, or else the first with several panes.
fn turning(state: &State) -> Option<&'static [Pane]> {
    let slots = if state.here().form { &[] } else { state.screen().slots() };
    let several = || slots.iter().copied().filter(|slot| slot.len() > 1);
    several().find(|slot| slot.contains(&state.here().focus)).or(several().next())
}

/// True if the current screen has panes to cycle.
pub(crate) fn turns(state: &State) -> bool {
    turning(state).is_some()
}

/// Shows the next pane of the focused slot, or of the first slot with several panes.
pub fn turn(state: &mut State, on: bool) -> Vec<Effect> {
    let Some(slot) = turning(state) else { return Vec::new() };
    let now = state.here().shown(slot);
    // On a small screen the figure may be out of sight.
    if compute(state).is_some_and(|layout| layout.tabs.is_some() && layout.pane(now).is_none()) {
        state.focus_on(now);
        return Vec::new();
    }
    let slot = state.offered(slot);
    let at = slot.iter().position(|pane| *pane == now).unwrap_or(0);
    let by = if on { 1 } else { slot.len() - 1 };
    state.turn_to(slot[(at + by) % slot.len()]);
    Vec::new()
}

/// Opens the item under the cursor; never runs anything.
pub(crate) fn open(state: &mut State) -> Vec<Effect> {
    let (screen, pane) = (state.screen(), state.here().focus);
    if screen.setup().is_some() && pane == setup::PANE {
        return setup::open_row(state);
    }
    screen.open(state, pane).unwrap_or_else(|| {
        state.view.toast = Some("there is nothing to open here".into());
        Vec::new()
    })
}

/// Toggles between the bands of all lines and the band of the main line.
pub(crate) fn bands(state: &mut State) -> Vec<Effect> {
    state.view.all_bands = !state.view.all_bands;
    state.view.toast =
        Some(if state.view.all_bands { "bands for all lines" } else { "band for the main line only" }.into());
    Vec::new()
}

/// Releases the mouse to the terminal, or captures it again.
pub(crate) fn mouse(state: &mut State) -> Vec<Effect> {
    state.view.mouse_free = !state.view.mouse_free;
    let text =
        if state.view.mouse_free { "the mouse selects text now" } else { "the mouse works in the program again" };
    state.view.toast = Some(text.into());
    vec![Effect::Mouse(!state.view.mouse_free)]
}

pub fn zoom(state: &mut State) -> Vec<Effect> {
    state.here_mut().zoom = !state.here().zoom;
    Vec::new()
}

/// Closes the form, or else clears a filter, ends the zoom, or dismisses the first start's strip.
pub fn back(state: &mut State) -> Vec<Effect> {
    if table::clear_filter(state) || setup::close_form(state) {
        return Vec::new();
    }
    if state.here().zoom {
        state.here_mut().zoom = false;
    } else if state.replay.as_ref().is_some_and(|replay| replay.example) {
        return example::toggle(state);
    } else if state.view.opening == Opening::First {
        state.view.opening = Opening::Work;
    }
    Vec::new()
}

pub fn glyphs(state: &mut State) -> Vec<Effect> {
    state.view.glyphs = match state.view.glyphs {
        Glyphs::Braille => Glyphs::Blocks,
        Glyphs::Blocks => Glyphs::Ascii,
        Glyphs::Ascii => Glyphs::Braille,
    };
    Vec::new()
}

pub fn theme(state: &mut State) -> Vec<Effect> {
    state.view.theme = (state.view.theme + 1) % state.themes.len();
    state.view.toast = Some(format!("theme: {}", state.theme().name));
    Vec::new()
}

pub fn export(state: &mut State) -> Vec<Effect> {
    if state.screen().figure(state).is_some() {
        return popups::export(state);
    }
    let run = state.screen().setup().and_then(|setup| state.shown_run(setup.lab()));
    state.view.toast = Some(match run {
        None => "nothing to export yet".to_owned(),
        Some(_) => format!("no figure is visible; {} shows the next one", state.keymap.short_label("next-figure")),
    });
    Vec::new()
}

/// Writes the one-page report on the session to the export folder.
pub fn report(state: &mut State) -> Vec<Effect> {
    if state.board.runs.is_empty() {
        state.view.toast = Some("nothing to report yet".into());
        return Vec::new();
    }
    let replayed = state.replay.as_ref().map(|replay| replay.name.clone());
    let name = replayed.or_else(|| state.recording.name()).unwrap_or_else(|| "session".into());
    written(state, Subject::Report(name, state.board.clone()))
}

/// Requests files of a figure or a report, with the options of the export dialog.
pub(crate) fn written(state: &mut State, subject: Subject) -> Vec<Effect> {
    state.view.writing =
        Some((0, if matches!(subject, Subject::Figure(_)) { state.view.export.formats.len() } else { 0 }));
    let options = state.view.export.clone();
    vec![Effect::Export(Box::new(Export { subject, options }), Existing::Ask)]
}

pub fn copy(state: &mut State) -> Vec<Effect> {
    let text = state.screen().copy(state);
    copied(state, text)
}

/// Puts text on the clipboard; the loop reports the destination.
pub fn copied(state: &mut State, text: Option<String>) -> Vec<Effect> {
    if text.is_none() {
        state.view.toast = Some("nothing to copy yet".into());
    }
    text.map_or(Vec::new(), |text| vec![Effect::Copy(text)])
}

static NAME: Prompt = Prompt { label: "session name", hint: "", take: named, follow: None };

fn named(_: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    if text.is_empty() { Err("type a name".into()) } else { Ok(vec![Effect::NameSession(text.to_owned())]) }
}

pub(crate) fn name_session(state: &mut State) -> Vec<Effect> {
    ask(state, &NAME)
}

pub fn ask(state: &mut State, prompt: &'static Prompt) -> Vec<Effect> {
    ask_from(state, prompt, "")
}

/// Opens a text field for editing the given text.
pub(crate) fn edit(state: &mut State, prompt: &'static Prompt, text: &str) -> Vec<Effect> {
    state.view.entry = Some(TextEntry { untouched: false, ..TextEntry::new(Purpose::Ask(prompt), printable(text)) });
    Vec::new()
}

/// Opens a text field whose initial text is replaced by typing.
pub(crate) fn ask_from(state: &mut State, prompt: &'static Prompt, text: &str) -> Vec<Effect> {
    state.view.entry = Some(TextEntry::new(Purpose::Ask(prompt), printable(text)));
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screens::SCREENS;
    use crate::state::Start;

    fn state() -> State {
        State::new(Start::new())
    }

    #[test]
    fn themes_and_glyphs_go_round() {
        let mut state = state();
        let (first, all) = (state.theme().name.clone(), state.themes.len());
        let mut names = Vec::new();
        for _ in 0..all {
            theme(&mut state);
            names.push(state.theme().name.clone());
            assert_eq!(state.view.toast, Some(format!("theme: {}", state.theme().name)));
        }
        assert_eq!(names.last(), Some(&first));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        let before = state.view.glyphs;
        for _ in 0..3 {
            glyphs(&mut state);
        }
        assert_eq!(state.view.glyphs, before);
    }

    #[test]
    fn the_zoom_is_left_by_the_same_key_or_by_escape() {
        let mut state = state();
        zoom(&mut state);
        assert!(state.here().zoom);
        zoom(&mut state);
        assert!(!state.here().zoom);
        zoom(&mut state);
        back(&mut state);
        back(&mut state);
        assert!(!state.here().zoom);
    }

    #[test]
    fn the_focus_visits_every_pane_of_every_screen() {
        for screen in SCREENS {
            let mut state = state();
            state.show(screen.id());
            let mut seen = Vec::new();
            for _ in screen.slots() {
                focus(&mut state, true);
                seen.push(state.here().focus);
            }
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), screen.slots().len(), "{}", screen.title());
            let before = state.here().focus;
            focus(&mut state, false);
            focus(&mut state, true);
            assert_eq!(state.here().focus, before, "{}", screen.title());
        }
    }

    /// Regression: on a small screen, the key used to turn figures that were out of sight.
    #[test]
    fn on_a_small_screen_the_first_press_brings_the_figure_into_sight() {
        let mut state = State::new(Start { size: (80, 24), ..Start::new() });
        let slot = turning(&state).unwrap();
        let before = state.here().shown(slot);
        assert_ne!(state.here().focus, before);
        turn(&mut state, true);
        assert_eq!(state.here().focus, before);
        turn(&mut state, true);
        assert_ne!(state.here().focus, before);
    }

    #[test]
    fn where_there_is_nothing_to_export_or_copy_that_is_said() {
        let mut state = state();
        assert!(export(&mut state).is_empty());
        assert_eq!(state.view.toast.as_deref(), Some("nothing to export yet"));
        assert!(copied(&mut state, None).is_empty());
        assert_eq!(state.view.toast.as_deref(), Some("nothing to copy yet"));
        assert_eq!(copied(&mut state, Some("x".into())), [Effect::Copy("x".into())]);
    }

    #[test]
    fn scrolling_on_any_screen_moves_no_cursor_beyond_its_ends() {
        for screen in SCREENS {
            for pane in screen.panes() {
                let mut state = state();
                state.show(screen.id());
                state.focus_on(pane);
                travel(&mut state, i64::MAX);
                let end = (state.here().row, state.here().scrolled(pane));
                travel(&mut state, 1);
                assert_eq!((state.here().row, state.here().scrolled(pane)), end, "{pane:?}");
                travel(&mut state, i64::MIN);
                assert_eq!((state.here().row, state.here().scrolled(pane)), (0, 0), "{pane:?}");
            }
        }
    }
}

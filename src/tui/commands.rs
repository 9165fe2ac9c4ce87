//! The commands, as rows of keys, texts and functions. They define the keymap, footer, help, palette and guide. The frame's commands are
//! here; a screen's commands are in its folder.

use std::sync::LazyLock;

use super::action::Effect;
use super::example;
use super::key::Key;
use super::panes::table;
use super::popups;
use super::reduce::{job, look, popup, replay, runs, typing};
use super::screen::ScreenId;
use super::screens::{SCREENS, screen};
use super::setup;
use super::state::{Popup, Recording, State};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// Everywhere, including text fields.
    Everywhere,
    Global,
    /// On one screen; takes precedence over [`Context::Global`].
    Screen(ScreenId),
    /// In the menu of one screen; takes precedence over [`Context::Popup`].
    Menu(ScreenId),
    /// While a recording plays; takes precedence over the screen's contexts.
    Replay,
    /// In a popup without a text field.
    Popup,
    Typing,
}

impl Context {
    pub fn title(self) -> String {
        match self {
            Context::Everywhere => "Everywhere".into(),
            Context::Global => "On every screen".into(),
            Context::Screen(id) => format!("On {}", screen(id).title()),
            Context::Menu(id) => format!("Menu of {}", screen(id).title()),
            Context::Replay => "In a replay".into(),
            Context::Popup => "In a popup".into(),
            Context::Typing => "While typing".into(),
        }
    }

    /// All contexts, starting with those of the shown screen.
    pub fn all(shown: ScreenId) -> Vec<Context> {
        let of = |id: ScreenId| [Context::Screen(id), Context::Menu(id)];
        let mut all = of(shown).to_vec();
        all.extend([Context::Global, Context::Everywhere, Context::Replay]);
        all.extend(SCREENS.iter().filter(|s| s.id() != shown).flat_map(|s| of(s.id())));
        all.extend([Context::Popup, Context::Typing]);
        all
    }
}

pub struct Entry {
    pub name: &'static str,
    pub title: &'static str,
    pub doc: &'static str,
    pub keys: &'static [&'static str],
    pub context: Context,
    /// Word and rank in the footer; commands with the same word share a position.
    pub footer: Option<(&'static str, u8)>,
    pub(crate) enabled: fn(&State) -> bool,
    pub run: fn(&mut State) -> Vec<Effect>,
}

/// Defines rows of commands: `"name", "title", "doc", [keys], footer, enabled => function;`.
macro_rules! rows {
    ($context:expr; $( $name:literal, $title:literal, $doc:literal, [$($key:literal),*], $footer:expr, $enabled:expr
        => $run:expr; )+) => {
        &[ $( $crate::commands::Entry {
            name: $name,
            title: $title,
            doc: $doc,
            keys: &[$($key),*],
            context: $context,
            footer: $footer,
            enabled: $enabled,
            run: $run,
        }, )+ ]
    };
}
pub(crate) use rows;

/// Condition of commands that can always be used.
pub(crate) fn always(_: &State) -> bool {
    true
}

/// True if the program runs an engine rather than a recording.
pub(crate) fn live(state: &State) -> bool {
    state.replay.is_none()
}

fn replayed(state: &State) -> bool {
    state.replay.as_ref().is_some_and(|replay| !replay.live)
}

fn set_up(state: &State) -> bool {
    state.screen().setup().is_some()
}

fn paned(state: &State) -> bool {
    state.screen().panes().len() > 1
}

fn folds(state: &State) -> bool {
    state.screen().folds()
}

fn has_menu(state: &State) -> bool {
    !state.screen().menu().is_empty()
}

/// True if the settings can be run, here or in the program beneath a replay.
fn can_run(state: &State) -> bool {
    let beneath = state.replay.as_ref().is_some_and(|replay| replay.file.is_some());
    (live(state) || beneath) && set_up(state) || live(state) && state.screen().lab_here(state).is_some()
}

fn measures(state: &State) -> bool {
    state.screen().measures()
}

fn in_field(state: &State) -> bool {
    state.view.entry.is_some()
}

static GLOBAL: &[Entry] = rows! { Context::Global;
    "up", "up", "Moves the cursor up, or scrolls up.", ["k", "up"], None, always => |s| look::travel(s, -1);
    "down", "down", "Moves the cursor down, or scrolls down.", ["j", "down"], None, always => |s| look::travel(s, 1);
    "first", "first", "Moves the cursor to the first row.", ["g", "home"], None, always => |s| look::travel(s, -setup::END);
    "last", "last", "Moves the cursor to the last row.", ["G", "end"], None, always => |s| look::travel(s, setup::END);
    "page-up", "page up", "Moves the cursor up by ten rows.",
        ["ctrl-u", "pageup"], None, always => |s| look::travel(s, -popup::PAGE);
    "page-down", "page down", "Moves the cursor down by ten rows.",
        ["ctrl-d", "pagedown"], None, always => |s| look::travel(s, popup::PAGE);
    "left", "one step left", "Moves one step to the left: to the previous value, column or word.",
        ["h", "left"], None, set_up => |s| setup::adjust(s, -1);
    "right", "one step right", "Moves one step to the right: to the next value, column or word.",
        ["l", "right"], None, set_up => |s| setup::adjust(s, 1);
    "far-left", "five steps left", "Moves five steps to the left.",
        ["shift-left"], None, set_up => |s| setup::adjust(s, -setup::FAR);
    "far-right", "five steps right", "Moves five steps to the right.",
        ["shift-right"], None, set_up => |s| setup::adjust(s, setup::FAR);
    "next-pane", "next pane", "Moves the focus to the next pane.",
        ["tab"], Some(("pane", 4)), paned => |s| look::focus(s, true);
    "previous-pane", "previous pane", "Moves the focus to the previous pane.",
        ["shift-tab"], None, paned => |s| look::focus(s, false);
    "open", "open", "Opens the item under the cursor: the figure or details of a row, the replay of a session, the choices of a setting.",
        ["enter"], Some(("open", 3)), always => look::open;
    "back", "back", "Closes the settings form, clears the filter, or ends the zoom.", ["esc"], None, always => look::back;
    "run", "run", "Runs the experiment with these settings; asks first if another run is in progress or nothing has changed since the last one.",
        ["r"], Some(("run", 2)), can_run => job::run;
    "example", "recorded example", "Shows the recorded example of this lab, or returns from it to your own runs.",
        ["E"], Some(("example", 14)), example::is_offered => example::toggle;
    "pause", "pause", "Pauses or resumes the run.", ["p"], Some(("pause", 6)), State::busy => job::pause;
    "earlier-run", "earlier run", "Shows the previous run of this lab, with its settings.",
        ["{"], None, runs::several => |s| runs::turn(s, -1);
    "later-run", "later run", "Shows the next run of this lab, with its settings.",
        ["}"], None, runs::several => |s| runs::turn(s, 1);
    "runs", "all runs", "Lists the runs of this lab with their changed settings, durations and outcomes.",
        ["H"], None, |s| !runs::all(s).is_empty() => runs::list;
    "compare-runs", "compare two runs", "Compares the run that is shown with another run or the recorded example: the settings that differ, all numbers, and the figures, value by value.",
        ["D"], Some(("compare", 8)), runs::can_compare => runs::compare;
    "waiting-runs", "waiting runs", "Lists the runs that are waiting for the one in progress; choosing one withdraws it.",
        ["w"], None, |s| !s.queue.is_empty() => |s| popups::pick(s, &popups::WaitingRuns, 0);
    "filter", "filter", "Filters the list: shows only rows that contain the typed text.", ["/"], None, table::filters => table::filter;
    "sort", "sort", "Sorts the list by its next column.", ["s"], None, table::lists => table::next_column;
    "sort-direction", "reverse order", "Reverses the order of the list.",
        ["S"], None, table::lists => table::turn;
    "select", "mark", "Ticks or unticks the box under the cursor.", ["space"], Some(("tick", 4)), setup::can_select => setup::select;
    "next-figure", "next figure", "Shows the next figure.", ["]"], Some(("figure", 10)), look::turns => |s| look::turn(s, true);
    "previous-figure", "previous figure", "Shows the previous figure.",
        ["["], Some(("figure", 10)), look::turns => |s| look::turn(s, false);
    "settings", "all settings", "Opens the form of all settings, or closes it.",
        ["e"], Some(("settings", 11)), set_up => setup::toggle_form;
    "type-value", "type a value", "Opens a text field for the focused row.",
        ["="], None, set_up => setup::open;
    "undo-setup", "undo", "Undoes the last change to the settings.", ["u"], None, setup::can_undo => |s| setup::undo(s, false);
    "redo-setup", "redo", "Redoes the last undone change to the settings.",
        ["U"], None, setup::can_redo => |s| setup::undo(s, true);
    "export", "export figure", "Exports the figure of the focused pane; asks for style, width and formats, and remembers them.",
        ["x"], Some(("export", 9)), measures => look::export;
    "report", "write report",
        "Writes a one-page report on the session (Markdown): question, answer, doubts, the main table, figures, and how to recompute it.",
        [], None, |s| !s.board.runs.is_empty() => look::report;
    "copy", "copy numbers", "Copies the numbers of the focused pane to the clipboard.",
        ["y"], None, measures => look::copy;
    "name-session", "name session", "Names the session.", ["ctrl-s"], None, live => look::name_session;
    "provenance", "provenance of the numbers", "Shows where the numbers in the focused pane come from and how to reproduce them.",
        ["i"], None, measures => |s| popups::show(s, &popups::Provenance);
    "answer", "whole answer", "Shows the whole answer, even if the screen is too small for it.",
        ["A"], None, |s| !crate::answer::answer(s).lines().is_empty() => |s| popups::show(s, &popups::Answer);
    "glossary", "glossary", "Explains the terms of this pane, then all other terms.",
        ["K"], Some(("terms", 7)), always => |s| popups::show(s, &popups::Glossary);
    "notices", "messages", "Lists warnings and messages.",
        ["!"], None, always => |s| popups::show(s, &popups::Notices);
    "family", "comparisons",
        "Lists all comparisons of this session by family, with p-values corrected within each family.",
        ["F"], None, always => |s| popups::show(s, &popups::Family);
    "menu", "menu", "Opens a menu with further commands of this screen.", ["t"], Some(("menu", 12)), has_menu => popups::menu;
    "palette", "command palette", "Opens the palette, which runs any command by name.",
        [":"], Some(("commands", 13)), always => popups::palette;
    "help", "help", "Shows all keys, starting with those of this pane; type to search.", ["?"], Some(("help", 0)), always => popups::help;
    "quit", "quit", "Quits the program, or leaves a replay that was opened from it; asks first if a run is in progress or marks are unsaved.",
        ["q"], Some(("quit", 1)), always => job::ask_quit;
    "zoom", "zoom pane", "Enlarges the focused pane to the whole screen, or restores it.",
        ["z"], None, folds => look::zoom;
    "theme", "next theme", "Switches to the next theme.", ["T"], None, |s| s.themes.len() > 1 => look::theme;
    "glyphs", "character set", "Switches between Braille dots, half blocks and ASCII.", [], None, always => look::glyphs;
    "note", "notes: add one", "Adds a note at this point in the session; the timeline of a replay lists it.",
        ["B"], None, |s| live(s) && matches!(s.recording, Recording::On(_)) => |s| look::ask(s, &replay::NOTE);
    "bands", "show all interval bands",
        "Shows interval bands for all lines, or for the main line only.",
        ["b"], None, measures => look::bands;
    "mouse", "mouse on or off", "Releases the mouse to the terminal, so that text can be selected, or captures it again.",
        [], None, always => look::mouse;
    "try-link", "reconnect", "Reconnects to the remote engine now.", [], None, |s| s.down.is_some() => |_| vec![Effect::TryLink];
};

static EVERYWHERE: &[Entry] = rows! { Context::Everywhere;
    "cancel", "stop", "Cancels a pending question or, if there is none, the run. Never quits the program.",
        ["ctrl-c"], Some(("stop", 1)), always => job::interrupt;
};

static REPLAY: &[Entry] = rows! { Context::Replay;
    "replay-pause", "pause replay", "Pauses or resumes the replay; at the end, restarts it.",
        ["p"], Some(("play", 2)), replayed => replay::pause;
    "replay-back", "seek back", "Jumps back five seconds in the recording.",
        ["<"], Some(("seek", 3)), replayed => |s| replay::seek(s, -replay::SEEK);
    "replay-forward", "seek forward", "Jumps forward five seconds in the recording.",
        [">"], Some(("seek", 3)), replayed => |s| replay::seek(s, replay::SEEK);
    "timeline", "notes: timeline", "Lists the runs and notes of the recording; choosing one jumps to it.",
        ["B"], Some(("timeline", 16)), replayed => |s| popups::pick(s, &replay::Timeline, 0);
    "replay-slower", "slower", "Halves the speed of the replay.",
        ["-"], Some(("speed", 15)), replayed => |s| replay::pace(s, 0.5);
    "replay-faster", "faster", "Doubles the speed of the replay.",
        ["+"], Some(("speed", 15)), replayed => |s| replay::pace(s, 2.0);
};

static POPUP: &[Entry] = rows! { Context::Popup;
    "popup-up", "up", "Moves up in the popup.", ["k", "up"], Some(("move", 1)), always => |s| popup::travel(s, -1);
    "popup-down", "down", "Moves down in the popup.",
        ["j", "down"], Some(("move", 1)), always => |s| popup::travel(s, 1);
    "popup-first", "first", "Moves to the first entry of the popup.",
        ["g", "home"], None, always => |s| popup::travel(s, -setup::END);
    "popup-last", "last", "Moves to the last entry of the popup.",
        ["G", "end"], None, always => |s| popup::travel(s, setup::END);
    "popup-page-up", "page up", "Moves up a page in the popup.",
        ["pageup", "ctrl-u"], None, always => |s| popup::travel(s, -popup::PAGE);
    "popup-page-down", "page down", "Moves down a page in the popup.",
        ["pagedown", "ctrl-d"], None, always => |s| popup::travel(s, popup::PAGE);
    "popup-accept", "choose", "Chooses the entry under the cursor.",
        ["enter"], Some(("ok", 2)), State::picking => popup::accept;
    "popup-select", "mark", "Toggles the entry under the cursor.",
        ["space"], Some(("tick", 3)), State::marking => popup::mark;
    "popup-filter", "filter", "Filters the entries: shows only those that contain the typed text.",
        ["/"], Some(("filter", 6)), popups::filters => table::filter;
    "popup-next-figure", "next figure", "Shows the next figure that both runs have.",
        ["]"], Some(("figure", 3)), popups::turns => |s| popups::turn(s, true);
    "popup-previous-figure", "previous figure", "Shows the previous figure that both runs have.",
        ["["], Some(("figure", 3)), popups::turns => |s| popups::turn(s, false);
    "popup-copy", "copy", "Copies what the popup shows.",
        ["y"], Some(("copy", 4)), State::popup_copies => popup::copy;
    "popup-close", "close", "Clears the filter, or closes the popup.", ["esc", "q"], Some(("close", 5)), always => popup::close;
};

static TYPING: &[Entry] = rows! { Context::Typing;
    "typing-accept", "accept", "Accepts what was typed.", ["enter"], Some(("accept", 1)), always => typing::accept;
    "typing-cancel", "cancel", "Discards what was typed.", ["esc"], Some(("back", 2)), always => typing::cancel;
    "typing-erase", "erase", "Erases the character before the caret.", ["backspace"], None, always => |s| typing::erase(s, false);
    "typing-erase-all", "erase all", "Erases everything.", ["ctrl-u"], None, always => |s| typing::erase(s, true);
    "typing-erase-after", "erase after", "Erases the character after the caret.",
        ["delete"], None, in_field => typing::erase_after;
    "typing-left", "left", "Moves the caret to the left.", ["left"], None, in_field => |s| typing::step(s, -1);
    "typing-right", "right", "Moves the caret to the right.", ["right"], None, in_field => |s| typing::step(s, 1);
    "typing-first", "beginning", "Moves the caret to the beginning.",
        ["home", "ctrl-a"], None, in_field => |s| typing::step(s, i64::MIN);
    "typing-last", "end", "Moves the caret to the end.",
        ["end", "ctrl-e"], None, in_field => |s| typing::step(s, i64::MAX);
    "typing-page-up", "page up", "Moves up a page in the list.",
        ["pageup"], None, State::typing_in_list => |s| popup::travel(s, -popup::PAGE);
    "typing-page-down", "page down", "Moves down a page in the list.",
        ["pagedown"], None, State::typing_in_list => |s| popup::travel(s, popup::PAGE);
    "typing-up", "up", "Moves up in the list.",
        ["up", "ctrl-p"], Some(("move", 3)), State::typing_in_list => |s| popup::travel(s, -1);
    "typing-down", "down", "Moves down in the list.",
        ["down", "ctrl-n"], Some(("move", 3)), State::typing_in_list => |s| popup::travel(s, 1);
};

/// Every command, in the order of the help; a command's number is its index.
pub static COMMANDS: LazyLock<Vec<&'static Entry>> = LazyLock::new(|| {
    let screens = SCREENS.iter().flat_map(|s| s.commands().iter().chain(s.menu()));
    let frame = GLOBAL.iter().chain(SCREENS.iter().map(|s| s.tab())).chain(EVERYWHERE);
    frame.chain(screens).chain(REPLAY).chain(POPUP).chain(TYPING).collect()
});

pub(crate) fn number_of(name: &str) -> Option<usize> {
    COMMANDS.iter().position(|e| e.name == name)
}

/// The contexts whose keys apply now, by decreasing precedence.
pub fn contexts(state: &State) -> Vec<Context> {
    let mut contexts = if state.typing() {
        vec![Context::Typing]
    } else if let Some(Popup::Menu { .. }) = state.view.popup {
        vec![Context::Menu(state.view.screen), Context::Popup]
    } else if state.view.popup.is_some() {
        vec![Context::Popup]
    } else {
        let replay = replayed(state).then_some(Context::Replay);
        replay.into_iter().chain([Context::Screen(state.view.screen), Context::Global]).collect()
    };
    contexts.push(Context::Everywhere);
    contexts
}

/// The command for a key: from the first context in which the key can be used now, or else from the first context that has the key.
pub(crate) fn command_of(state: &State, key: Key) -> Option<&'static Entry> {
    let contexts = contexts(state);
    let each = || contexts.iter().filter_map(|context| state.keymap.command(key, std::slice::from_ref(context)));
    each().find(|command| (command.enabled)(state)).or_else(|| each().next())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    #[test]
    fn names_are_unique_and_commands_have_descriptions() {
        let mut names: Vec<_> = COMMANDS.iter().map(|e| e.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
        for e in COMMANDS.iter() {
            assert!(e.doc.ends_with('.') && e.doc.len() > 8, "{}", e.name);
        }
    }

    #[test]
    fn keys_are_unique_within_a_context() {
        for context in Context::all(SCREENS[0].id()) {
            let mut seen = BTreeMap::new();
            for e in COMMANDS.iter().filter(|e| e.context == context || e.context == Context::Everywhere) {
                for key in e.keys {
                    if let Some(other) = seen.insert(*key, e.name) {
                        panic!("{context:?}: `{key}` is both {other} and {}", e.name);
                    }
                }
            }
        }
    }

    #[test]
    fn screens_override_only_listed_keys() {
        let taken: Vec<(&str, &str)> = COMMANDS
            .iter()
            .filter(|e| matches!(e.context, Context::Screen(_)))
            .flat_map(|e| e.keys.iter().map(move |k| (*k, e.name)))
            .filter(|(key, _)| GLOBAL.iter().any(|g| g.keys.contains(key)))
            .collect();
        let listed = [
            ("r", "home-resume"),
            ("b", "published"),
            ("space", "mark-word"),
            ("space", "select-model"),
            ("r", "submit-again"),
        ];
        assert_eq!(taken, listed);
    }

    #[test]
    fn help_lists_every_command() {
        let all = Context::all(SCREENS[0].id());
        for e in COMMANDS.iter() {
            assert!(all.contains(&e.context), "{}", e.name);
            assert_eq!(COMMANDS[number_of(e.name).unwrap()].name, e.name);
        }
        assert!(number_of("fly").is_none());
        assert!(all.iter().all(|c| !c.title().is_empty()));
    }

    fn labels(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                labels(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            for opening in ["label(\"", "key(\"", "short_label(\""] {
                for part in text.split(opening).skip(1) {
                    let name = part.split('"').next().unwrap_or_default();
                    found.push((path.display().to_string(), name.to_owned()));
                }
            }
        }
    }

    #[test]
    fn commands_named_in_texts_exist() {
        let mut found = Vec::new();
        labels(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/tui"), &mut found);
        assert!(found.len() > 10);
        for (path, name) in found.iter().filter(|(_, n)| !n.contains('{') && !n.contains(',')) {
            assert!(number_of(name).is_some(), "{path}: `{name}` is not a command");
        }
    }
}

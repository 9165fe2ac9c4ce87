//! The commands: each row has its keys, its words and its function. They feed the keymap, the footer, the help, the palette
//! and the README. The rows of the frame are here; those of a screen are in its folder.

use std::sync::LazyLock;

use super::action::Effect;
use super::keymap::Keymap;
use super::popups;
use super::reduce::{job, look, popup, replay, typing};
use super::screen::ScreenId;
use super::screens::{SCREENS, screen};
use super::setup;
use super::state::State;

/// Where a command's keys apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// Everywhere, text fields included.
    Everywhere,
    /// On every screen.
    Global,
    /// On one screen; takes precedence over [`Context::Global`].
    Screen(ScreenId),
    /// While a recording plays; takes precedence over the screen's own.
    Replay,
    /// In a popup without a text field.
    Popup,
    /// While typing.
    Typing,
}

impl Context {
    /// Heading in the help.
    pub fn title(self) -> String {
        match self {
            Context::Everywhere => "Everywhere".into(),
            Context::Global => "On every screen".into(),
            Context::Screen(id) => format!("Screen: {}", screen(id).title()),
            Context::Replay => "In a replay".into(),
            Context::Popup => "In a popup".into(),
            Context::Typing => "While typing".into(),
        }
    }

    /// All contexts in the order of the help.
    pub fn all() -> Vec<Context> {
        let mut all = vec![Context::Global, Context::Everywhere];
        all.extend(SCREENS.iter().map(|s| Context::Screen(s.id())));
        all.extend([Context::Replay, Context::Popup, Context::Typing]);
        all
    }
}

/// A command.
pub struct Entry {
    /// Name in keymaps and in the palette.
    pub name: &'static str,
    /// What it does, in a few words.
    pub title: &'static str,
    /// One sentence for the help.
    pub doc: &'static str,
    /// Its keys, unless a keymap says otherwise.
    pub keys: &'static [&'static str],
    /// Where its keys apply.
    pub context: Context,
    /// Word and rank in the footer; commands of one word share its place.
    pub footer: Option<(&'static str, u8)>,
    /// Whether it can be used now.
    pub(crate) enabled: fn(&State) -> bool,
    /// What it does.
    pub run: fn(&mut State) -> Vec<Effect>,
}

/// Rows of commands: `"name", "title", "doc", [keys], footer, enabled => function;`.
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

/// A command that can always be used.
pub(crate) fn always(_: &State) -> bool {
    true
}

/// Whether an engine answers, rather than a recording.
pub(crate) fn live(state: &State) -> bool {
    state.replay.is_none()
}

fn replayed(state: &State) -> bool {
    state.replay.as_ref().is_some_and(|replay| !replay.live)
}

fn set_up(state: &State) -> bool {
    state.screen().setup().is_some()
}

fn folds(state: &State) -> bool {
    state.screen().folds()
}

fn measures(state: &State) -> bool {
    state.screen().measures()
}

fn in_field(state: &State) -> bool {
    state.view.entry.is_some()
}

static GLOBAL: &[Entry] = rows! { Context::Global;
    "adjust-down", "step down", "Steps the focused slider, or the lab's main slider, one stop down.",
        ["h", "left"], Some(("adjust", 1)), set_up => |s| setup::adjust(s, -1);
    "adjust-up", "step up", "Steps the focused slider, or the lab's main slider, one stop up.",
        ["l", "right"], Some(("adjust", 1)), set_up => |s| setup::adjust(s, 1);
    "adjust-far-down", "step far down", "Steps five stops down.",
        ["H", "shift-left"], None, set_up => |s| setup::adjust(s, -setup::FAR);
    "adjust-far-up", "step far up", "Steps five stops up.",
        ["L", "shift-right"], None, set_up => |s| setup::adjust(s, setup::FAR);
    "adjust-first", "smallest value", "Moves the slider to its smallest value.",
        ["home"], None, set_up => |s| setup::adjust(s, -setup::END);
    "adjust-last", "largest value", "Moves the slider to its largest value.",
        ["end"], None, set_up => |s| setup::adjust(s, setup::END);
    "type-value", "type a value", "Opens a text field for the focused row; in the setup pane, typing a digit does the same.",
        ["="], None, set_up => setup::open;
    "up", "up", "Moves the cursor up, or scrolls up.", ["k", "up"], None, always => |s| look::travel(s, -1);
    "down", "down", "Moves the cursor down, or scrolls down.", ["j", "down"], None, always => |s| look::travel(s, 1);
    "run", "run", "Runs the lab's experiment as it is set up; asks first while another run is in progress.",
        ["enter"], Some(("run", 2)), live => job::run;
    "waiting-runs", "waiting runs", "Lists the runs that are waiting for the one in progress; choosing one withdraws it.",
        ["w"], None, |s| !s.queue.is_empty() => |s| popups::pick(s, &popups::WaitingRuns, 0);
    "select", "select", "Toggles the checkbox under the cursor, or opens the row's picker.",
        ["space"], Some(("select", 3)), setup::can_select => setup::select;
    "next-pane", "next pane", "Moves the focus to the next pane.",
        ["tab"], Some(("pane", 4)), folds => |s| look::focus(s, true);
    "previous-pane", "previous pane", "Moves the focus to the previous pane.",
        ["shift-tab"], None, folds => |s| look::focus(s, false);
    "zoom", "zoom pane", "Toggles whether the focused pane fills the screen.",
        ["z"], Some(("zoom", 14)), folds => look::zoom;
    "back", "leave zoom", "Leaves the zoom.", ["esc"], None, always => look::back;
    "glyphs", "switch glyphs", "Switches between Braille dots, half blocks and ASCII.",
        ["g"], None, always => look::glyphs;
    "theme", "next theme", "Shows the next theme.", ["T"], None, |s| s.themes.len() > 1 => look::theme;
    "undo-setup", "undo setup", "Resets the setup to the lab's last run.",
        ["u"], None, |s| live(s) && setup::changed(s) => setup::undo;
    "pause", "pause run", "Pauses or resumes the run.", ["p"], Some(("pause", 6)), State::busy => job::pause;
    "try-link", "try the link now", "Tries the link to an engine far away that is down, without waiting for the next time.",
        ["ctrl-r"], None, |s| s.down.is_some() => |_| vec![Effect::TryLink];
    "export", "export figure", "Writes the figure of the focused pane as PNG, SVG and CSV.",
        ["e"], Some(("export", 7)), measures => look::export;
    "name-session", "name session", "Names the session.", ["s"], Some(("save", 8)), live => look::name_session;
    "provenance", "provenance", "Shows where the numbers in the focused pane come from and how to reproduce them.",
        ["i"], Some(("info", 15)), measures => |s| popups::show(s, &popups::Provenance);
    "copy", "copy numbers", "Copies the numbers of the focused pane to the clipboard.",
        ["y"], None, measures => look::copy;
    "notices", "notices", "Lists problems and everything else worth a look.",
        ["!"], None, always => |s| popups::show(s, &popups::Notices);
    "family", "comparisons",
        "Lists every comparison shown in this session, by family, with its p-value corrected within it.",
        ["f"], None, always => |s| popups::show(s, &popups::Family);
    "palette", "command palette", "Opens the palette: every command by name.",
        [":"], Some(("palette", 5)), always => popups::palette;
    "help", "help", "Shows every key; type to search.", ["?"], Some(("help", 0)), always => popups::help;
    "quit", "quit", "Quits the program, or leaves a replay that was opened from it; asks first while a run is in progress or marks are not saved.",
        ["q"], Some(("quit", 9)), always => job::ask_quit;
};

static EVERYWHERE: &[Entry] = rows! { Context::Everywhere;
    "cancel", "cancel, then quit",
        "Cancels what the screen has asked for, or else the run; quits when there is nothing to cancel, or when pressed again.",
        ["ctrl-c"], Some(("cancel", 10)), always => job::interrupt;
};

static REPLAY: &[Entry] = rows! { Context::Replay;
    "replay-pause", "pause replay", "Pauses or resumes the replay.",
        ["space"], Some(("pause", 2)), replayed => replay::pause;
    "replay-back", "seek back", "Jumps back five seconds in the recording.",
        ["left"], Some(("seek", 3)), replayed => |s| replay::seek(s, -replay::SEEK);
    "replay-forward", "seek forward", "Jumps forward five seconds in the recording.",
        ["right"], Some(("seek", 3)), replayed => |s| replay::seek(s, replay::SEEK);
    "replay-slower", "slower", "Halves the speed of the replay.",
        ["-"], Some(("speed", 4)), replayed => |s| replay::pace(s, 0.5);
    "replay-faster", "faster", "Doubles the speed of the replay.",
        ["+"], Some(("speed", 4)), replayed => |s| replay::pace(s, 2.0);
};

static POPUP: &[Entry] = rows! { Context::Popup;
    "popup-up", "up", "Moves up in the popup.", ["k", "up"], Some(("move", 1)), always => |s| popup::travel(s, -1);
    "popup-down", "down", "Moves down in the popup.",
        ["j", "down"], Some(("move", 1)), always => |s| popup::travel(s, 1);
    "popup-page-up", "page up", "Moves up a page in the popup.",
        ["pageup"], None, always => |s| popup::travel(s, -popup::PAGE);
    "popup-page-down", "page down", "Moves down a page in the popup.",
        ["pagedown"], None, always => |s| popup::travel(s, popup::PAGE);
    "popup-accept", "choose", "Chooses the entry under the cursor.",
        ["enter"], Some(("choose", 2)), State::picking => popup::accept;
    "popup-select", "mark", "Toggles the entry under the cursor.",
        ["space"], Some(("mark", 3)), State::marking => popup::mark;
    "popup-copy", "copy", "Copies what the popup shows.",
        ["y"], Some(("copy", 4)), State::popup_copies => popup::copy;
    "popup-close", "close", "Closes the popup.", ["esc", "q"], Some(("close", 5)), always => popup::close;
};

static TYPING: &[Entry] = rows! { Context::Typing;
    "typing-accept", "accept", "Accepts what was typed.", ["enter"], Some(("accept", 1)), always => typing::accept;
    "typing-cancel", "cancel", "Discards what was typed.", ["esc"], Some(("back", 2)), always => typing::cancel;
    "typing-erase", "erase", "Erases a character.", ["backspace"], None, always => |s| typing::erase(s, false);
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

/// Every command, in the order of the help. A command's number is its place here.
pub static COMMANDS: LazyLock<Vec<&'static Entry>> = LazyLock::new(|| {
    let screens = SCREENS.iter().flat_map(|s| s.commands());
    let frame = GLOBAL.iter().chain(SCREENS.iter().map(|s| s.tab())).chain(EVERYWHERE);
    frame.chain(screens).chain(REPLAY).chain(POPUP).chain(TYPING).collect()
});

/// The number of a command.
pub(crate) fn number_of(name: &str) -> Option<usize> {
    COMMANDS.iter().position(|e| e.name == name)
}

/// The commands with their keys as a Markdown table, for the README.
pub fn commands_markdown() -> String {
    let keymap = Keymap::default();
    let mut text = String::from("| keys | command | what it does |\n|---|---|---|\n");
    for entry in COMMANDS.iter() {
        let keys: Vec<String> = keymap.keys(entry.name).iter().map(|k| format!("`{k}`")).collect();
        text.push_str(&format!("| {} | {} | {} |\n", keys.join(" "), entry.name, entry.doc));
    }
    text
}

/// The contexts whose keys apply now; the first one wins.
pub fn contexts(state: &State) -> Vec<Context> {
    let mut contexts = if state.typing() {
        vec![Context::Typing]
    } else if state.view.popup.is_some() {
        vec![Context::Popup]
    } else {
        let replay = replayed(state).then_some(Context::Replay);
        replay.into_iter().chain([Context::Screen(state.view.screen), Context::Global]).collect()
    };
    contexts.push(Context::Everywhere);
    contexts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    #[test]
    fn names_are_unique_and_every_command_has_a_key_and_a_sentence() {
        let mut names: Vec<_> = COMMANDS.iter().map(|e| e.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
        for e in COMMANDS.iter() {
            assert!(!e.keys.is_empty() && e.doc.ends_with('.') && e.doc.len() > 8, "{}", e.name);
        }
    }

    #[test]
    fn no_key_means_two_things_in_one_context() {
        for context in Context::all() {
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
    fn a_screen_takes_only_those_keys_from_the_frame_that_are_listed_here() {
        let taken: Vec<(&str, &str)> = COMMANDS
            .iter()
            .filter(|e| matches!(e.context, Context::Screen(_)))
            .flat_map(|e| e.keys.iter().map(move |k| (*k, e.name)))
            .filter(|(key, _)| GLOBAL.iter().any(|g| g.keys.contains(key)))
            .collect();
        let listed = [
            ("enter", "home-take"),
            ("space", "select-model"),
            ("i", "inspect-model"),
            ("i", "inspect-data"),
        ];
        assert_eq!(taken, listed);
    }

    #[test]
    fn every_command_belongs_to_a_context_of_the_help() {
        let all = Context::all();
        for e in COMMANDS.iter() {
            assert!(all.contains(&e.context), "{}", e.name);
            assert_eq!(COMMANDS[number_of(e.name).unwrap()].name, e.name);
        }
        assert!(number_of("fly").is_none());
        assert!(all.iter().all(|c| !c.title().is_empty()));
    }

    #[test]
    fn the_markdown_lists_every_command() {
        let text = commands_markdown();
        for e in COMMANDS.iter() {
            assert!(text.contains(&format!("| {} |", e.name)), "{}", e.name);
        }
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
    fn every_command_whose_key_a_text_names_exists() {
        let mut found = Vec::new();
        labels(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/tui"), &mut found);
        assert!(found.len() > 10);
        for (path, name) in found.iter().filter(|(_, n)| !n.contains('{') && !n.contains(',')) {
            assert!(number_of(name).is_some(), "{path}: `{name}` is no command");
        }
    }
}

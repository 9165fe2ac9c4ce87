//! The one table of commands: it feeds the keymap, the footer, the help, the palette and the README.

use super::keymap::Keymap;
use super::state::{Lab, Pane, State};

/// Where a command's keys count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, text fields included.
    Always,
    /// While a recording plays; goes before [`Context::Main`].
    Replay,
    /// In the models lab; goes before [`Context::Main`].
    Models,
    /// In the data lab; goes before [`Context::Main`].
    Data,
    /// On the main screen.
    Main,
    /// In a popup without a text field.
    Popup,
    /// While typing.
    Typing,
}

impl Context {
    /// Heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Context::Always => "Everywhere",
            Context::Replay => "In a replay",
            Context::Models => "In the models lab",
            Context::Data => "In the data lab",
            Context::Main => "Main screen",
            Context::Popup => "In a popup",
            Context::Typing => "While typing",
        }
    }

    /// All contexts in the order of the help.
    pub const ALL: [Context; 7] = [
        Context::Main,
        Context::Always,
        Context::Models,
        Context::Data,
        Context::Replay,
        Context::Popup,
        Context::Typing,
    ];
}

/// A command of the table.
pub struct Entry {
    /// Its identifier.
    pub id: CommandId,
    /// Name in keymaps and in the palette.
    pub name: &'static str,
    /// What it does, in a few words.
    pub title: &'static str,
    /// One sentence for the help.
    pub doc: &'static str,
    /// Keys where no keymap says otherwise.
    pub keys: &'static [&'static str],
    /// Where its keys count.
    pub context: Context,
    /// Word and rank in the footer; commands of one word share its place.
    pub footer: Option<(&'static str, u8)>,
    /// Whether it can be used now.
    pub enabled: fn(&State) -> bool,
}

macro_rules! commands {
    ($( $(#[doc = $doc:literal])+ $id:ident = $name:literal, $title:literal, $context:ident, [$($key:literal),*],
        $footer:expr, $enabled:expr; )+) => {
        /// Identifies a command.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum CommandId { $( $(#[doc = $doc])+ $id, )+ }

        /// The table, in the order of the help.
        pub static COMMANDS: &[Entry] = &[ $( Entry {
            id: CommandId::$id,
            name: $name,
            title: $title,
            doc: concat!($($doc),+),
            keys: &[$($key),*],
            context: Context::$context,
            footer: $footer,
            enabled: $enabled,
        }, )+ ];
    };
}

fn always(_: &State) -> bool {
    true
}

fn live(state: &State) -> bool {
    state.replay.is_none()
}

fn replay(state: &State) -> bool {
    state.replay.is_some()
}

fn experiment(state: &State) -> bool {
    state.view.lab == Lab::Interventions
}

fn model(state: &State) -> bool {
    live(state) && state.view.lab == Lab::Models && state.model_here().is_some()
}

fn data(state: &State) -> bool {
    state.view.lab == Lab::Data
}

fn set(state: &State) -> bool {
    live(state) && data(state) && state.set_here().is_some()
}

commands! {
    /// Steps the focused slider, or the marker on the curve, one point down.
    Left = "adjust-down", "step down", Main, ["h", "left"], Some(("adjust", 1)), experiment;
    /// Steps the focused slider, or the marker on the curve, one point up.
    Right = "adjust-up", "step up", Main, ["l", "right"], Some(("adjust", 1)), experiment;
    /// Five steps down.
    LeftFar = "adjust-far-down", "step far down", Main, ["H", "shift-left"], None, experiment;
    /// Five steps up.
    RightFar = "adjust-far-up", "step far up", Main, ["L", "shift-right"], None, experiment;
    /// The smallest value.
    First = "adjust-first", "smallest value", Main, ["home"], None, experiment;
    /// The largest value.
    Last = "adjust-last", "largest value", Main, ["end"], None, experiment;
    /// Types a value into the focused slider; in the setup pane a digit starts it too.
    Type = "type-value", "type a value", Main, ["="], None, experiment;
    /// Puts the marker on the strength of the highest reliability.
    Best = "best", "best strength", Main, ["b"], None, |s| experiment(s) && s.optimum().is_some();
    /// Moves up a row, or scrolls.
    Up = "up", "up", Main, ["k", "up"], None, always;
    /// Moves down a row, or scrolls.
    Down = "down", "down", Main, ["j", "down"], None, always;
    /// Runs the experiment as it is set up; a run in progress is cancelled.
    Run = "run", "run", Main, ["enter"], Some(("run", 2)), live;
    /// Selects or drops the model under the cursor; on the method row opens the picker.
    Select = "select", "select", Main, ["space"], Some(("select", 3)), State::can_select;
    /// Moves the focus to the next pane.
    NextPane = "next-pane", "next pane", Main, ["tab"], Some(("pane", 4)), experiment;
    /// Moves the focus to the previous pane.
    PreviousPane = "previous-pane", "previous pane", Main, ["shift-tab"], None, experiment;
    /// Gives the focused pane the whole screen, and back.
    Zoom = "zoom", "zoom pane", Main, ["z"], Some(("zoom", 14)), experiment;
    /// Leaves the zoom.
    Back = "back", "leave zoom", Main, ["esc"], None, always;
    /// Picks the method that is drawn and the methods that run.
    Methods = "methods", "pick methods", Main, ["m"], Some(("methods", 11)), experiment;
    /// Draws the next method.
    NextMethod = "next-method", "next method", Main, ["]"], None, experiment;
    /// Draws the previous method.
    PreviousMethod = "previous-method", "previous method", Main, ["["], None, experiment;
    /// Draws the next model of the run.
    NextModel = "next-model", "next model", Main, ["v"], None, |s| experiment(s) && s.run_models().len() > 1;
    /// Switches between the oracles that judge.
    Oracle = "oracle", "switch oracle", Main, ["o"], Some(("oracle", 12)), experiment;
    /// Shows the next example.
    NextExample = "next-example", "next example", Main, ["n"], Some(("example", 13)), |s| live(s) && experiment(s);
    /// Shows the previous example.
    PreviousExample = "previous-example", "previous example", Main, ["N"], Some(("example", 13)), |s| live(s) && experiment(s);
    /// Switches the horizontal axis between linear and logarithmic.
    Axis = "axis", "switch axis", Main, ["x"], None, experiment;
    /// Switches between Braille dots, half blocks and ASCII.
    Glyphs = "glyphs", "switch glyphs", Main, ["g"], None, always;
    /// Shows the next theme.
    Theme = "theme", "next theme", Main, ["T"], None, |s| s.themes.len() > 1;
    /// Takes the changes of the setup back to what was run.
    Undo = "undo-setup", "undo setup", Main, ["u"], None, |s| live(s) && s.changed();
    /// Holds the run, or lets it go on.
    Pause = "pause", "pause run", Main, ["p"], Some(("pause", 6)), State::busy;
    /// Writes the figure of the focused pane as PNG, SVG and CSV.
    Export = "export", "export figure", Main, ["e"], Some(("export", 7)), experiment;
    /// Names the session.
    Name = "name-session", "name session", Main, ["s"], Some(("save", 8)), live;
    /// Says where the numbers of the focused pane come from and how to make them again.
    Provenance = "provenance", "provenance", Main, ["i"], Some(("info", 15)), experiment;
    /// Copies the numbers of the focused pane to the clipboard.
    Copy = "copy", "copy numbers", Main, ["y"], None, experiment;
    /// Lists what went wrong and what deserves a look.
    Notices = "notices", "notices", Main, ["!"], None, always;
    /// Opens the palette: every command by name.
    Palette = "palette", "command palette", Main, [":"], Some(("palette", 5)), always;
    /// Shows every key; type to search.
    Help = "help", "help", Main, ["?"], Some(("help", 0)), always;
    /// Goes to the interventions lab. In the setup pane a bare digit types into the slider instead.
    Interventions = "lab-interventions", "interventions lab", Main, ["2", "alt-2"], None, always;
    /// Goes to the list of models. In the setup pane a bare digit types into the slider instead.
    Models = "lab-models", "models", Main, ["5", "alt-5"], None, always;
    /// Goes to the data sets. In the setup pane a bare digit types into the slider instead.
    Data = "lab-data", "data", Main, ["6", "alt-6"], None, always;
    /// Ends the program; asks first where a run is in progress.
    Quit = "quit", "quit", Main, ["q"], Some(("quit", 9)), always;
    /// Cancels the run in progress, in the data lab what is asked about data; quits where there is neither, or when pressed again.
    Interrupt = "cancel", "cancel, then quit", Always, ["ctrl-c"], Some(("cancel", 10)), always;
    /// Loads the model under the cursor and describes it.
    Inspect = "inspect-model", "inspect model", Models, ["i"], Some(("inspect", 4)), model;
    /// Compares the model under the cursor with the numbers that another implementation left beside its weights.
    Check = "check-model", "check model", Models, ["c"], Some(("check", 5)), model;
    /// Adds a model: a folder in Hugging Face layout, a hub id, or any name that a spec takes.
    AddModel = "add-model", "add model", Models, ["a"], Some(("add", 6)), |s| live(s) && s.view.lab == Lab::Models;
    /// Scrolls the description of the model up.
    DossierUp = "model-page-up", "scroll model up", Models, ["pageup"], None, |s| s.view.lab == Lab::Models;
    /// Scrolls the description of the model down.
    DossierDown = "model-page-down", "scroll model down", Models, ["pagedown"], None, |s| s.view.lab == Lab::Models;
    /// Says what the data set under the cursor holds: its format, what was dropped, counts, splits and first rows.
    InspectData = "inspect-data", "inspect data set", Data, ["i"], Some(("inspect", 4)), set;
    /// Asks the data doctor what of the set under the cursor is unfit, with the vocabularies of the selected models.
    DoctorData = "check-data", "examine data set", Data, ["c"], Some(("doctor", 5)), set;
    /// Adds a data set: a file or a folder in any format that is known.
    AddData = "add-data", "add data set", Data, ["a"], Some(("add", 6)), |s| live(s) && data(s);
    /// Scrolls what is known of the data set up.
    DataUp = "data-page-up", "scroll data up", Data, ["pageup"], None, data;
    /// Scrolls what is known of the data set down.
    DataDown = "data-page-down", "scroll data down", Data, ["pagedown"], None, data;
    /// Holds the replay, or lets it go on.
    ReplayPause = "replay-pause", "hold replay", Replay, ["space"], Some(("hold", 2)), replay;
    /// Goes back five seconds of the recording.
    SeekBack = "replay-back", "seek back", Replay, ["left"], Some(("seek", 3)), replay;
    /// Goes on five seconds of the recording.
    SeekForward = "replay-forward", "seek forward", Replay, ["right"], Some(("seek", 3)), replay;
    /// Plays at half the speed.
    Slower = "replay-slower", "slower", Replay, ["-"], Some(("speed", 4)), replay;
    /// Plays at double speed.
    Faster = "replay-faster", "faster", Replay, ["+"], Some(("speed", 4)), replay;
    /// Moves up in the popup.
    PopupUp = "popup-up", "up", Popup, ["k", "up"], Some(("move", 1)), always;
    /// Moves down in the popup.
    PopupDown = "popup-down", "down", Popup, ["j", "down"], Some(("move", 1)), always;
    /// Moves up a page in the popup.
    PopupPageUp = "popup-page-up", "page up", Popup, ["pageup"], None, always;
    /// Moves down a page in the popup.
    PopupPageDown = "popup-page-down", "page down", Popup, ["pagedown"], None, always;
    /// Takes what the popup offers.
    PopupAccept = "popup-accept", "accept", Popup, ["enter"], Some(("take", 2)), State::popup_accepts;
    /// Marks the entry under the cursor.
    PopupSelect = "popup-select", "mark", Popup, ["space"], Some(("mark", 3)), State::picking_methods;
    /// Copies what the popup shows.
    PopupCopy = "popup-copy", "copy", Popup, ["y"], Some(("copy", 4)), State::popup_copies;
    /// Closes the popup.
    PopupClose = "popup-close", "close", Popup, ["esc", "q"], Some(("close", 5)), always;
    /// Takes what was typed.
    Accept = "typing-accept", "accept", Typing, ["enter"], Some(("take", 1)), always;
    /// Drops what was typed.
    Cancel = "typing-cancel", "cancel", Typing, ["esc"], Some(("back", 2)), always;
    /// Erases a character.
    Erase = "typing-erase", "erase", Typing, ["backspace"], None, always;
    /// Erases everything.
    EraseAll = "typing-erase-all", "erase all", Typing, ["ctrl-u"], None, always;
    /// Moves up a page in the list.
    ListPageUp = "typing-page-up", "page up", Typing, ["pageup"], None, State::typing_in_list;
    /// Moves down a page in the list.
    ListPageDown = "typing-page-down", "page down", Typing, ["pagedown"], None, State::typing_in_list;
    /// Moves up in the list.
    ListUp = "typing-up", "up", Typing, ["up", "ctrl-p"], Some(("move", 3)), State::typing_in_list;
    /// Moves down in the list.
    ListDown = "typing-down", "down", Typing, ["down", "ctrl-n"], Some(("move", 3)), State::typing_in_list;
}

/// The table's entry of a command.
pub fn entry(id: CommandId) -> &'static Entry {
    // The enum and the table come from one macro, so the discriminant is the index.
    &COMMANDS[id as usize]
}

/// The commands with their keys as a Markdown table, for the README.
pub fn commands_markdown() -> String {
    let keymap = Keymap::default();
    let mut text = String::from("| keys | command | what it does |\n|---|---|---|\n");
    for context in Context::ALL {
        for entry in COMMANDS.iter().filter(|e| e.context == context) {
            let keys: Vec<String> = keymap.keys(entry.id).iter().map(|k| format!("`{k}`")).collect();
            text.push_str(&format!("| {} | {} | {} |\n", keys.join(" "), entry.name, entry.doc.trim()));
        }
    }
    text
}

/// The contexts whose keys count now, the first one winning.
pub fn contexts(state: &State) -> &'static [Context] {
    if state.typing() {
        &[Context::Typing, Context::Always]
    } else if state.view.popup.is_some() {
        &[Context::Popup, Context::Always]
    } else if state.replay.is_some() {
        &[Context::Replay, Context::Main, Context::Always]
    } else {
        match state.view.lab {
            Lab::Models => &[Context::Models, Context::Main, Context::Always],
            Lab::Data => &[Context::Data, Context::Main, Context::Always],
            Lab::Interventions => &[Context::Main, Context::Always],
        }
    }
}

/// Whether a pane shows a figure.
pub fn has_figure(pane: Pane) -> bool {
    matches!(pane, Pane::Curves | Pane::Pareto)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_identifiers() {
        for (i, e) in COMMANDS.iter().enumerate() {
            assert_eq!(e.id as usize, i, "{}", e.name);
            assert_eq!(entry(e.id).name, e.name);
        }
    }

    #[test]
    fn names_are_unique_and_every_command_has_a_key_and_a_sentence() {
        let mut names: Vec<_> = COMMANDS.iter().map(|e| e.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
        for e in COMMANDS {
            assert!(!e.keys.is_empty() && e.doc.trim().ends_with('.'), "{}", e.name);
        }
    }

    #[test]
    fn no_key_means_two_things_at_once() {
        // A replay may take keys of the main screen for itself; everything else must be free of clashes.
        for together in [
            &[Context::Main, Context::Always][..],
            &[Context::Replay, Context::Always],
            &[Context::Models, Context::Always],
            &[Context::Data, Context::Always],
            &[Context::Popup, Context::Always],
            &[Context::Typing, Context::Always],
        ] {
            let mut seen = std::collections::BTreeMap::new();
            for e in COMMANDS.iter().filter(|e| together.contains(&e.context)) {
                for key in e.keys {
                    if let Some(other) = seen.insert(*key, e.name) {
                        panic!("`{key}` is both {other} and {}", e.name);
                    }
                }
            }
        }
    }

    #[test]
    fn the_markdown_lists_every_command() {
        let text = commands_markdown();
        for e in COMMANDS {
            assert!(text.contains(&format!("| {} |", e.name)), "{}", e.name);
        }
    }
}

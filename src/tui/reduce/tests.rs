//! Tests of the reducer: actions, keys, popups, typing, mouse, replays and quitting.

mod grammar;
mod keys;

use super::*;
use crate::action::{Existing, Mouse, MouseKind, ReplayControl};
use crate::commands::Context;
use crate::layout::compute;
use crate::screens::labs;
use crate::setup;
use crate::state::{Popup, Purpose, ReplayState, Start};
use engine::message::{Command, Outcome};
use session::format::{Entry as Line, Item};
use session::replay::Step;

fn state() -> State {
    State::new(Start::new())
}

fn replayed() -> State {
    let replay = Some(ReplayState::new("s".into(), 20.0, 1.0));
    State::new(Start { replay, ..Start::new() })
}

fn keys(state: &mut State, keys: &str) -> Vec<Effect> {
    keys.split(' ').flat_map(|k| reduce(state, Action::Key(k.parse().unwrap()))).collect()
}

fn sent(effects: &[Effect]) -> Vec<&Command> {
    effects.iter().filter_map(|e| if let Effect::Send(c) = e { Some(c) } else { None }).collect()
}

fn mouse(state: &mut State, kind: MouseKind, x: u16, y: u16) -> Vec<Effect> {
    reduce(state, Action::Mouse(Mouse { kind, x, y }))
}

#[test]
fn the_start_lists_the_models_and_runs_the_default_experiment() {
    let mut state = state();
    let effects = reduce(&mut state, Action::Start);
    let all = sent(&effects);
    assert!(matches!(all[0], Command::ListModels));
    assert!(matches!(all[1], Command::Run { job: 1, generation: 1, .. }));
    assert!(state.board.running() && state.busy());
    assert!(labs().any(|s| s.id() == state.view.screen), "a lab is shown, not the opening screen");
}

#[test]
fn a_key_is_looked_up_in_its_context_and_its_function_called() {
    for screen in SCREENS {
        for entry in screen.commands() {
            let mut state = state();
            state.show(screen.id());
            // On the list of labs, `r` runs the lab under the cursor.
            if screen.lab_here(&state).is_some() {
                state.focus_on(screen.panes()[1]);
            }
            let key = entry.keys[0].parse().unwrap();
            let found = command_of(&state, key).map(|e| e.name);
            assert_eq!(found, Some(entry.name));
        }
    }
}

#[test]
fn a_command_that_cannot_be_used_now_does_nothing() {
    let mut state = state();
    assert!(reduce(&mut state, Action::Command("pause")).is_empty(), "nothing runs");
    assert!(reduce(&mut state, Action::Command("no-such-command")).is_empty());
    assert_eq!(reduce(&mut state, Action::Command("quit")).len(), 2);
}

#[test]
fn every_screen_opens_by_its_key_from_every_other() {
    for from in SCREENS {
        for to in SCREENS.iter().filter(|s| !s.watches()) {
            let mut state = state();
            state.show(from.id());
            keys(&mut state, to.tab().keys[0]);
            assert_eq!(state.view.screen, to.id(), "{} to {}", from.title(), to.title());
        }
    }
}

#[test]
fn switching_screens_keeps_focus_zoom_and_cursor_of_each() {
    let mut state = state();
    let home = state.view.screen;
    keys(&mut state, "tab z");
    let place = state.here().clone();
    for other in SCREENS {
        keys(&mut state, other.tab().keys[0]);
        keys(&mut state, "j tab");
    }
    state.show(home);
    // The loop also visited this screen, and `tab` moved its focus.
    assert_eq!(state.here().zoom, place.zoom);
    assert_ne!(state.here().focus, place.focus);
}

#[test]
fn a_message_goes_with_the_next_key() {
    let mut state = state();
    keys(&mut state, "T");
    assert!(state.view.toast.is_some());
    keys(&mut state, "j");
    assert!(state.view.toast.is_none());
}

#[test]
fn the_focus_goes_round_in_both_directions() {
    let mut state = state();
    let slots = state.screen().slots();
    let first = state.here().focus;
    for _ in slots {
        keys(&mut state, "tab");
    }
    assert_eq!(state.here().focus, first);
    keys(&mut state, "tab shift-tab");
    assert_eq!(state.here().focus, first);
}

#[test]
fn typed_text_is_kept_short_and_harmless() {
    let mut state = state();
    keys(&mut state, "ctrl-s");
    reduce(&mut state, Action::Paste("a\u{1b}[31m\nb\r\n".into()));
    assert_eq!(state.view.entry.as_ref().unwrap().buffer, "a␛[31m b");
    reduce(&mut state, Action::Paste("x".repeat(5000)));
    assert_eq!(state.view.entry.as_ref().unwrap().buffer.chars().count(), 1000);
    keys(&mut state, "ctrl-u");
    assert_eq!(state.view.entry.as_ref().unwrap().buffer, "");
    assert!(keys(&mut state, "enter").is_empty());
    assert_eq!(state.view.entry.as_ref().unwrap().error.as_deref(), Some("type a name"));
    assert!(matches!(state.view.entry.as_ref().unwrap().purpose, Purpose::Ask(_)));
    let effects = keys(&mut state, "n enter");
    assert_eq!(effects, [Effect::NameSession("n".into())]);
}

#[test]
fn help_and_palette_take_text_and_leave_by_escape() {
    let mut state = state();
    for open in ["?", ":"] {
        keys(&mut state, open);
        keys(&mut state, "q u i backspace");
        assert!(state.typing() && state.typing_in_list(), "{open}");
        match state.view.popup.as_ref().unwrap() {
            Popup::Help { query, .. } | Popup::Palette { query, .. } => assert_eq!(query, "qu"),
            other => panic!("{other:?}"),
        }
        keys(&mut state, "esc");
        assert!(state.view.popup.is_none());
    }
    let quits = keys(&mut state, ": q u i t enter");
    assert!(quits.contains(&Effect::Quit));
}

#[test]
fn quitting_during_a_run_asks_and_each_answer_does_what_it_says() {
    for (answer, quits, cancels) in [("enter", false, true), ("j enter", true, false), ("j j enter", false, false)] {
        let mut state = state();
        reduce(&mut state, Action::Start);
        assert!(keys(&mut state, "q").is_empty());
        assert_eq!(state.popup_name(), Some("quit"));
        let effects = keys(&mut state, answer);
        assert_eq!(effects.contains(&Effect::Quit), quits, "{answer}");
        assert_eq!(sent(&effects).iter().any(|c| matches!(c, Command::Cancel { .. })), cancels, "{answer}");
        assert!(state.view.popup.is_none());
    }
}

#[test]
fn the_message_of_a_clean_end_names_the_key_that_is_bound() {
    let (keymap, _) = crate::keymap::Keymap::parse("[keys]\ncancel = [\"ctrl-x\"]", "mine");
    let mut state = State::new(Start { keymap, ..Start::new() });
    reduce(&mut state, Action::Start);
    keys(&mut state, "q enter");
    assert!(state.view.toast.as_deref().unwrap().contains("ctrl-x"));
}

#[test]
fn a_run_that_ends_takes_its_question_and_its_messages_with_it() {
    let mut state = state();
    reduce(&mut state, Action::Start);
    keys(&mut state, "ctrl-c");
    keys(&mut state, "q");
    let event = Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 1.0 };
    reduce(&mut state, Action::Event(Box::new(event)));
    assert_eq!((state.popup_name(), state.cancelling, state.view.toast.clone()), (None, None, None));
}

/// Regression: on top of a run, an example used to say that nothing was running.
#[test]
fn ctrl_c_in_an_example_names_the_run_beneath() {
    let mut beneath = state();
    reduce(&mut beneath, Action::Start);
    let mut state = replayed();
    state.replay.as_mut().unwrap().beneath = beneath.board.job().cloned();
    assert!(keys(&mut state, "ctrl-c").is_empty());
    let said = state.view.toast.unwrap();
    assert!(said.starts_with("your run goes on; to stop it, return to it with esc"), "{said}");
}

#[test]
fn ctrl_c_stops_and_never_quits() {
    let mut state = state();
    assert!(keys(&mut state, "ctrl-c").is_empty());
    assert_eq!(state.view.toast.as_deref(), Some("nothing is running; q quits"));
    reduce(&mut state, Action::Start);
    let first = keys(&mut state, "ctrl-c");
    assert!(matches!(sent(&first)[..], [Command::Cancel { job: 1 }]));
    assert!(keys(&mut state, "ctrl-c").is_empty());
}

/// Regression: keys used to change their meaning between screens: `t` was a filter, a study or an experiment; `x` an axis, a swap or an
/// export.
#[test]
fn a_key_has_one_intent_on_all_screens() {
    let outside = |e: &&&Entry| !matches!(e.context, Context::Menu(_) | Context::Popup | Context::Typing);
    let mut intents: std::collections::BTreeMap<&str, Vec<&Entry>> = Default::default();
    for entry in COMMANDS.iter().filter(outside) {
        for key in entry.keys {
            intents.entry(key).or_default().push(entry);
        }
    }
    let intent = |e: &Entry| e.title.split(' ').next().unwrap_or_default().to_owned();
    for (key, entries) in intents {
        let first = intent(entries[0]);
        assert!(
            entries.iter().all(|e| intent(e) == first),
            "{key}: {:?}",
            entries.iter().map(|e| e.title).collect::<Vec<_>>()
        );
    }
}

#[test]
fn the_letters_of_a_menu_are_its_own() {
    for screen in SCREENS {
        let mut keys: Vec<&str> = screen.menu().iter().flat_map(|e| e.keys).copied().collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all, "{}", screen.title());
    }
}

#[test]
fn enter_opens_and_never_runs() {
    for screen in SCREENS {
        for pane in screen.panes() {
            let mut state = state();
            state.show(screen.id());
            state.focus_on(pane);
            let effects = keys(&mut state, "enter");
            let runs = sent(&effects).iter().any(|c| matches!(c, Command::Run { .. }));
            assert!(!runs, "{} {pane:?}", screen.title());
        }
    }
}

#[test]
fn a_key_that_does_nothing_says_so() {
    let mut state = state();
    keys(&mut state, "Q");
    assert_eq!(state.view.toast.as_deref(), Some("Q does nothing here; ? shows the keys"));
    keys(&mut state, "p");
    assert_eq!(state.view.toast.as_deref(), Some("pause: not available before a run; r starts one"));
    let mut replay = replayed();
    keys(&mut replay, "r");
    assert!(replay.view.toast.as_deref().unwrap().starts_with("run: not available in a replay"));
}

/// Regression: in a recorded example, `r` said "not in a replay", as if the program had lost the user's own runs.
#[test]
fn a_key_that_does_nothing_in_an_example_says_how_to_leave_it() {
    let mut state = replayed();
    state.replay.as_mut().unwrap().example = true;
    keys(&mut state, "r");
    let said = "run: not in the recorded example; E goes back to your own runs";
    assert_eq!(state.view.toast.as_deref(), Some(said));
}

#[test]
fn a_menu_shows_its_choices_and_a_letter_takes_one() {
    let mut state = state();
    keys(&mut state, "t");
    assert_eq!(state.popup_name(), Some("menu"));
    let before = state.setup().unwrap().rows(&state);
    keys(&mut state, "o");
    assert_eq!(state.popup_name(), None);
    assert_ne!(state.setup().unwrap().rows(&state), before, "the oracle has changed");
}

#[test]
fn a_spec_that_cannot_run_says_why_and_sends_nothing() {
    let mut state = state();
    let models = setup::row(&state, "models").unwrap();
    setup::toggle(&mut state, &models, 0);
    assert!(keys(&mut state, "r").is_empty());
    assert!(state.view.toast.as_deref().unwrap().contains("models"));
    assert_eq!(state.notices().len(), 1);
}

#[test]
fn what_was_written_is_said_with_its_full_path() {
    let mut state = state();
    let paths = ["/a/b.png", "/a/b.svg", "/c/d.csv"].map(std::path::PathBuf::from).to_vec();
    reduce(&mut state, Action::Exported(Ok(Exported::Wrote(paths))));
    assert_eq!(state.view.toast.as_deref(), Some("wrote /a/b.png, .svg, /c/d.csv"));
    assert!(state.notices()[0].problem.what.contains("/a/b.svg"));
}

#[test]
fn files_that_are_in_the_way_are_asked_about_and_closing_the_question_writes_nothing() {
    use figure::{Axis, Figure, Provenance};
    let axis = || Axis::linear("");
    let figure = Figure {
        name: "f".into(),
        title: String::new(),
        x: axis(),
        y: axis(),
        layers: Vec::new(),
        provenance: Provenance::default(),
    };
    let export = crate::action::Export { subject: crate::action::Subject::Figure(figure), options: Default::default() };
    let mut state = state();
    let exists = || Exported::Exists(Box::new(export.clone()), vec!["/a/f.png".into()]);
    reduce(&mut state, Action::Exported(Ok(exists())));
    assert_eq!(state.popup_name(), Some("overwrite"));
    assert_eq!(keys(&mut state, "j enter"), [Effect::Export(Box::new(export.clone()), Existing::Replace)]);
    reduce(&mut state, Action::Exported(Ok(exists())));
    assert_eq!(keys(&mut state, "enter"), [Effect::Export(Box::new(export.clone()), Existing::Keep)]);
    reduce(&mut state, Action::Exported(Ok(exists())));
    assert!(keys(&mut state, "esc").is_empty() && state.held.is_none());
}

#[test]
fn a_session_to_go_on_with_sets_its_lab_up_and_runs_nothing() {
    let mut state = state();
    let mut spec = state.setup().unwrap().spec(&state);
    spec.common_mut().set_seed(77);
    state.show(SCREENS[0].id());
    let resumed = crate::action::Resumed { name: "s".into(), spec: spec.clone(), past: Vec::new(), gone: Vec::new() };
    let effects = reduce(&mut state, Action::Resumed(Ok(Box::new(resumed))));
    assert!(effects.iter().all(|effect| matches!(effect, Effect::Adopt(..))), "{effects:?}");
    assert!(labs().any(|s| s.id() == state.view.screen));
    assert_eq!(state.setup().unwrap().spec(&state), spec);
}

#[test]
fn sessions_that_were_listed_are_kept_and_a_failure_is_said() {
    let mut state = state();
    reduce(&mut state, Action::Sessions(Ok(Vec::new())));
    assert_eq!(state.sessions, Some(Vec::new()));
    let problem = Problem { what: "no".into(), r#where: "session".into(), hint: "x".into() };
    reduce(&mut state, Action::Sessions(Err(problem)));
    assert_eq!(state.notices().len(), 1);
}

#[test]
fn a_replay_is_steered_within_its_length_and_between_its_speeds() {
    let mut state = replayed();
    assert_eq!(keys(&mut state, "p"), [Effect::Replay(ReplayControl::Pause(true))]);
    assert_eq!(keys(&mut state, "<"), [Effect::Replay(ReplayControl::Seek(0.0))]);
    let at = |t| Effect::Replay(ReplayControl::Seek(t));
    assert_eq!(keys(&mut state, "> > > > >"), [5.0, 10.0, 15.0, 20.0, 20.0].map(at));
    for _ in 0..20 {
        keys(&mut state, "+");
    }
    assert_eq!(state.replay.as_ref().unwrap().speed, 64.0);
    for _ in 0..40 {
        keys(&mut state, "-");
    }
    assert_eq!(state.replay.as_ref().unwrap().speed, 0.125);
    assert!(replay::pause(&mut self::state()).is_empty(), "no recording is open");
    reduce(&mut state, Action::Played(Step::Ended));
    assert_eq!(keys(&mut state, "p"), [at(0.0), Effect::Replay(ReplayControl::Pause(false))]);
}

#[test]
fn a_replay_follows_its_entries_and_sends_nothing() {
    let mut live = state();
    let effects = reduce(&mut live, Action::Start);
    let mut state = replayed();
    assert!(reduce(&mut state, Action::Start).is_empty());
    for command in sent(&effects) {
        let entry = Line { t: 3.0, item: Item::Command(command.clone()) };
        assert!(reduce(&mut state, Action::Played(Step::Entry(Box::new(entry)))).is_empty());
    }
    assert_eq!(state.board, live.board);
    assert!(!state.busy(), "a replay computes nothing");
    reduce(&mut state, Action::Played(Step::Ended));
    assert!(state.replay.as_ref().unwrap().ended);
    reduce(&mut state, Action::Played(Step::Rewound));
    assert_eq!(state.board, engine::board::Board::default());
}

#[test]
fn the_wheel_turns_what_it_is_over_and_leaves_the_focus() {
    let mut state = state();
    let setup = compute(&state).unwrap().pane(setup::PANE).unwrap();
    let focus = state.here().focus;
    mouse(&mut state, MouseKind::ScrollDown, setup.x + 2, setup.y + 2);
    assert_eq!((state.here().row, state.here().focus), (1, focus));
    mouse(&mut state, MouseKind::ScrollUp, setup.x + 2, setup.y + 2);
    mouse(&mut state, MouseKind::ScrollUp, setup.x + 2, setup.y + 2);
    assert_eq!(state.here().row, 0);
    keys(&mut state, "?");
    mouse(&mut state, MouseKind::ScrollDown, setup.x + 2, setup.y + 2);
    assert!(matches!(state.view.popup, Some(Popup::Help { scroll: 1, .. })), "the popup is on top");
}

#[test]
fn a_click_focuses_the_pane_and_none_reaches_beneath_a_popup() {
    let mut state = state();
    for (pane, rect) in compute(&state).unwrap().panes {
        mouse(&mut state, MouseKind::Press, rect.x, rect.y);
        mouse(&mut state, MouseKind::Release, rect.x, rect.y);
        assert_eq!(state.here().focus, pane);
    }
    let focus = state.here().focus;
    keys(&mut state, "!");
    mouse(&mut state, MouseKind::Press, 1, 1);
    assert_eq!((state.here().focus, state.popup_name()), (focus, Some("notices")));
}

#[test]
fn a_screen_that_is_too_small_takes_keys_and_ignores_the_mouse() {
    let mut state = State::new(Start { size: (20, 5), ..Start::new() });
    assert!(mouse(&mut state, MouseKind::Press, 1, 1).is_empty());
    assert!(keys(&mut state, "q").contains(&Effect::Quit));
}

#[test]
fn a_replay_lists_its_runs_and_notes_and_goes_to_them() {
    let mut state = replayed();
    let spec = Box::new(Start::new().spec);
    let run = Item::Command(Command::Run { job: 1, generation: 1, spec });
    for (t, item) in [(1.0, run), (7.5, Item::Note("look \u{1b}here".into()))] {
        let entry = Line { t, item };
        // A rewound recording returns its entries again.
        for _ in 0..2 {
            reduce(&mut state, Action::Played(Step::Entry(Box::new(entry.clone()))));
        }
    }
    let marks = &state.replay.as_ref().unwrap().marks;
    assert_eq!(marks.len(), 2, "{marks:?}");
    assert!(marks[0].1.starts_with("run 1: Can ") && marks[1].1.ends_with("here"), "{marks:?}");
    let effects = keys(&mut state, "B j enter");
    assert_eq!(effects, [Effect::Replay(ReplayControl::Seek(7.5))]);
    let mut live = State::new(Start { recording: Some("s".into()), ..Start::new() });
    let effects = keys(&mut live, "B o k enter");
    assert_eq!(effects, [Effect::Note("ok".into())]);
}

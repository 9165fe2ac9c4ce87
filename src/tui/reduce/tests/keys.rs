//! Regression tests for keys whose effect differed from their description.

use super::*;
use crate::panes::table;
use crate::popups;
use engine::message::ModelQuestion;

fn drawn(state: &State, columns: u16, rows: u16) -> String {
    let mut state = state.clone();
    state.view.size = (columns, rows);
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
    terminal.backend().to_string()
}

fn show(state: &mut State, title: &str) -> crate::screen::ScreenId {
    let screen = SCREENS.iter().find(|s| s.title() == title).unwrap();
    state.show(screen.id());
    screen.id()
}

fn toast(state: &State) -> &str {
    state.view.toast.as_deref().unwrap_or_default()
}

/// Regression: the focus used to stay in the settings, where a digit starts a number instead of opening a lab.
#[test]
fn a_closed_form_gives_the_focus_back_to_the_pane_it_was_opened_from() {
    for close in ["esc", "e"] {
        let mut state = state();
        let from = state.here().focus;
        keys(&mut state, "e j j");
        assert!(state.focused(setup::PANE) && state.here().form);
        keys(&mut state, close);
        assert_eq!((state.here().focus, state.here().form), (from, false), "{close}");
        keys(&mut state, "0");
        assert_eq!(state.screen().title(), "Home", "a digit opens a screen as before");
    }
    let mut state = state();
    state.focus_on(setup::PANE);
    keys(&mut state, "e esc");
    assert!(state.focused(setup::PANE), "if opened from the settings, it returns there");
}

/// Regression: after a rejected `/`, the typed text used to be executed as commands: `q` quit.
#[test]
fn letters_after_a_refused_filter_are_no_commands() {
    let mut state = state();
    let lab = state.view.screen;
    let home = show(&mut state, "Home");
    let effects = keys(&mut state, "/ q r 2");
    assert!(effects.is_empty() && state.view.screen == home, "{effects:?}");
    assert!(toast(&state).contains("2 is ignored; esc ends this"), "{}", toast(&state));
    keys(&mut state, "esc 2");
    assert_eq!(state.view.screen, lab);
    state.show(home);
    keys(&mut state, "/ x enter 2");
    assert_eq!(state.view.screen, lab, "enter ends the ignored text");
    state.show(home);
    keys(&mut state, "/");
    (0..40).for_each(|_| drop(reduce(&mut state, Action::Tick)));
    keys(&mut state, "2");
    assert_eq!(state.view.screen, lab, "once the message is gone, keys are commands again");
}

/// Regression: in a menu, `enter` used to report "not available on this screen", and `j` closed the menu.
#[test]
fn the_cursor_moves_in_a_menu_and_enter_takes_its_row() {
    let mut state = state();
    let model = engine::message::ModelInfo {
        name: "bert-mini".into(),
        family: "bert".into(),
        layers: 4,
        hidden: 8,
        parameters: 100,
        serves: String::new(),
    };
    state.board.models = vec![model];
    show(&mut state, "Models");
    keys(&mut state, "t j");
    assert!(matches!(state.view.popup, Some(Popup::Menu { selected: 1 })), "{:?}", state.view.popup);
    let effects = keys(&mut state, "enter");
    let asked = sent(&effects);
    let checks = |c: &&Command| {
        matches!(c, Command::Ask { question: engine::message::Question::Model { what: ModelQuestion::Check, .. }, .. })
    };
    assert!(state.view.popup.is_none() && asked.iter().any(checks), "{effects:?}");
}

#[test]
fn unchanged_settings_run_again_only_when_asked_twice() {
    let mut state = state();
    reduce(&mut state, Action::Start);
    let done = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 1.0 };
    reduce(&mut state, Action::Event(Box::new(done)));
    assert!(keys(&mut state, "r").is_empty() && !state.board.running());
    assert_eq!(toast(&state), "nothing has changed since this run; press r again to repeat it");
    assert!(keys(&mut state, "tab r").is_empty(), "a different key in between cancels the repetition");
    let effects = keys(&mut state, "r");
    assert!(sent(&effects).iter().any(|c| matches!(c, Command::Run { generation: 2, .. })), "{effects:?}");
}

/// Regression: a filter without a match used to leave an empty pane, and `esc` did not clear it.
#[test]
fn a_filter_without_a_match_says_so_and_esc_clears_it() {
    let mut state = state();
    let list = state.here().focus;
    let filter = |state: &State| state.here().listed[&list].filter.clone();
    keys(&mut state, "/ z z q enter");
    for size in [(120, 40), (80, 24)] {
        let text = drawn(&state, size.0, size.1);
        assert!(text.contains("no row matches; esc clears the filter"), "{text}");
    }
    assert_eq!(filter(&state), "zzq");
    keys(&mut state, "esc");
    assert_eq!(filter(&state), "");
    keys(&mut state, "/ z esc");
    assert_eq!(filter(&state), "", "also while the filter is typed");
}

/// Regression: the list used to look unsorted when controls followed the methods. By a score, a control now has its place among them.
#[test]
fn a_sorted_list_says_which_rows_stay_last() {
    let mut state = state();
    assert!(!drawn(&state, 120, 40).contains("controls last"));
    keys(&mut state, "s");
    assert!(toast(&state).ends_with(", largest first"), "{}", toast(&state));
    keys(&mut state, "s s");
    assert!(toast(&state).ends_with("; controls last"), "{}", toast(&state));
    assert!(drawn(&state, 120, 40).contains("Methods (6), controls last"), "{}", drawn(&state, 120, 40));
    assert!(table::lists(&state));
}

/// Regression: `G` used to do nothing in the export dialog, whose last row took nine steps.
#[test]
fn the_ends_of_a_popup_are_one_key_away() {
    let mut state = state();
    popups::export(&mut state);
    let last = popups::last(&state);
    let at = |state: &State| match state.view.popup {
        Some(Popup::Pick { selected, .. }) => selected,
        _ => usize::MAX,
    };
    assert_eq!(at(&state), last, "the dialog opens on the row that writes the files");
    keys(&mut state, "g");
    assert_eq!(at(&state), 0);
    keys(&mut state, "G");
    assert_eq!(at(&state), last);
}

/// Regression: the screen used to show "No answer yet" while the session was being read.
#[test]
fn a_session_that_opens_at_its_end_says_that_it_is_being_read() {
    let replay = ReplayState { opening: true, ..ReplayState::new("s".into(), 20.0, 1.0) };
    let mut state = State::new(Start { replay: Some(replay), ..Start::new() });
    assert!(drawn(&state, 120, 40).contains("Reading the session to its end."));
    reduce(&mut state, Action::Played(Step::Ended));
    assert!(!drawn(&state, 120, 40).contains("Reading the session"));
}

/// Regression: a digit typed in a question used to look like a choice, although it did nothing.
#[test]
fn a_digit_in_a_question_chooses_nothing_and_says_so() {
    let mut state = state();
    popups::pick(&mut state, &popups::SecondRun, 0);
    for digit in ["1", "2", "3"] {
        assert!(keys(&mut state, digit).is_empty() && state.popup_name() == Some("second-run"));
        assert_eq!(toast(&state), format!("{digit} does nothing here; enter chooses, esc closes"));
        assert!(matches!(state.view.popup, Some(Popup::Pick { selected: 0, .. })));
    }
}

/// Regression: `/` used to do nothing in the settings form, although it filters other lists.
#[test]
fn the_form_of_settings_is_filtered_and_not_the_list_behind_it() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut state = state();
        keys(&mut state, "e");
        assert!(drawn(&state, columns, rows).contains("/ filter"), "{}", drawn(&state, columns, rows));
        keys(&mut state, "/ s e e d");
        let text = drawn(&state, columns, rows);
        assert!(text.contains("eed") && !text.contains("Examples"), "{text}");
        keys(&mut state, "enter");
        assert!(setup::under_cursor(&state).is_some_and(|(row, _)| row.label.to_lowercase().contains("seed")));
        keys(&mut state, "/ z q z enter");
        assert!(drawn(&state, columns, rows).contains("no entry matches"), "{}", drawn(&state, columns, rows));
        keys(&mut state, "esc");
        assert!(state.here().form && drawn(&state, columns, rows).contains("Examples"));
        keys(&mut state, "e e");
        assert!(drawn(&state, columns, rows).contains("Examples"), "the form opens without a filter");
    }
    let mut state = state();
    keys(&mut state, "e s");
    assert!(
        toast(&state).contains("not available while the settings fill the screen; esc closes them"),
        "{}",
        toast(&state)
    );
    keys(&mut state, "esc /");
    assert!(state.view.entry.is_some());
}

/// Regression: `/exam` used to lead to a setting whose description has the word "example".
#[test]
fn a_setting_is_found_by_its_name_before_its_description() {
    for typed in ["e x a m", "e x a m p l e s"] {
        let mut state = state();
        keys(&mut state, &format!("e / {typed} enter"));
        assert_eq!(setup::under_cursor(&state).map(|(row, _)| row.label).as_deref(), Some("Examples"), "{typed}");
        let text = drawn(&state, 120, 40);
        assert!(typed != "e x a m" || text.contains("Strength"), "descriptions are searched too: {text}");
        assert_eq!(text.matches("Task and data").count(), 1, "each group has one heading: {text}");
    }
}

/// Regression: the form used to stay open behind other screens, so that `e` closed it on the way back.
#[test]
fn leaving_a_screen_closes_its_form() {
    let mut state = state();
    let from = state.here().focus;
    keys(&mut state, "e alt-0");
    assert_eq!(state.screen().title(), "Home");
    keys(&mut state, "alt-2");
    assert_eq!((state.here().form, state.here().focus), (false, from));
    keys(&mut state, "e / e x a m enter");
    assert!(state.here().form && state.focused(setup::PANE));
}

/// Regression: the glossary could only be scrolled, and `enter` in it reported "there is nothing for it before a run".
#[test]
fn the_glossary_is_filtered_like_a_list_and_says_what_its_keys_are() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut state = state();
        keys(&mut state, "K");
        let all = drawn(&state, columns, rows);
        assert!(all.contains("/ filter"), "{all}");
        keys(&mut state, "/ s e l e c t i v i t y enter");
        let text = drawn(&state, columns, rows);
        assert!(text.contains("selectivity (S)") && !text.contains("completeness (C)"), "{text}");
        keys(&mut state, "enter");
        assert!(toast(&state).contains("/ filters, esc closes"), "{}", toast(&state));
        keys(&mut state, "esc");
        assert!(drawn(&state, columns, rows) == all);
        keys(&mut state, "/ z q z");
        assert!(drawn(&state, columns, rows).contains("no entry matches"));
    }
    // The help always has a text field, so the filter key is not part of the query.
    let mut state = state();
    keys(&mut state, "? / t h e m e");
    assert!(drawn(&state, 120, 40).contains("Switches to the next theme"), "{}", drawn(&state, 120, 40));
}

/// Regression: `s` used to sort a list outside the focused pane.
#[test]
fn sorting_acts_on_the_focused_list_alone() {
    for key in ["s", "S"] {
        let mut state = state();
        let list = state.screen().slots()[1][0];
        state.focus_on(setup::PANE);
        keys(&mut state, key);
        assert!(state.focused(setup::PANE) && state.here().listed.is_empty(), "{}", toast(&state));
        assert!(
            toast(&state).ends_with("Settings has no columns to sort by: tab to methods first"),
            "{}",
            toast(&state)
        );
        state.focus_on(list);
        keys(&mut state, key);
        assert!(state.focused(list) && toast(&state).starts_with("sorted by"), "{}", toast(&state));
    }
}

/// Regression: a picker used to show `[[method]]` and Markdown's code marks.
#[test]
fn explanations_on_the_screen_have_no_marks_of_code() {
    for screen in labs() {
        let state = state();
        let setup = screen.setup().unwrap();
        for row in setup.rows(&state) {
            assert!(!row.help.contains(['`', '[']), "{}: {}", row.label, row.help);
        }
    }
}

/// Regression: a long list of choices could not be filtered.
#[test]
fn a_picker_is_filtered_by_what_is_typed() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut state = state();
        popups::export(&mut state);
        assert!(drawn(&state, columns, rows).contains("/ filter"), "{}", drawn(&state, columns, rows));
        keys(&mut state, "/ p d f");
        let text = drawn(&state, columns, rows);
        assert!(text.contains("pdf") && !text.contains("slides"), "{text}");
        let before = state.view.export.formats.len();
        keys(&mut state, "enter space");
        assert_eq!(state.view.export.formats.len(), before + 1, "only the visible entry is toggled");
        keys(&mut state, "esc");
        assert!(state.popup_name().is_some() && drawn(&state, columns, rows).contains("slides"));
        keys(&mut state, "/ z q enter");
        assert!(drawn(&state, columns, rows).contains("no entry matches"));
        let before = state.view.export.clone();
        assert!(keys(&mut state, "j space enter").is_empty() && state.view.export == before);
        keys(&mut state, "esc esc");
        assert_eq!(state.popup_name(), None);
    }
}

#[test]
fn the_lists_of_home_are_filtered_too() {
    let mut state = state();
    show(&mut state, "Home");
    let session = |name: &str| session::shelf::Recorded {
        name: name.into(),
        path: format!("/s/{name}.probity.jsonl").into(),
        created: "2026-01-02T03:04:05Z".into(),
        lab: labs::LABS[0].id().name().into(),
        about: "agreement on bert-mini".into(),
        runs: 1,
        end: session::shelf::End::Done,
    };
    state.sessions = Some(["first", "second", "third"].map(session).to_vec());
    keys(&mut state, "tab / s e c o");
    let text = drawn(&state, 120, 40);
    assert!(text.contains("second") && !text.contains("third"), "{text}");
    let effects = keys(&mut state, "enter enter");
    let opened = |e: &Effect| matches!(e, Effect::OpenSession(path) if path.ends_with("second.probity.jsonl"));
    assert!(effects.iter().any(opened), "{effects:?}");
    keys(&mut state, "esc");
    assert!(drawn(&state, 120, 40).contains("third"));
}

/// Regression: "Next run" used to name no lab, and a lab with two sides listed every model as one that could not be loaded.
#[test]
fn the_lists_of_models_name_the_lab_that_would_use_them() {
    let model = |name: &str| engine::message::ModelInfo {
        name: name.into(),
        family: "bert".into(),
        layers: 4,
        hidden: 8,
        parameters: 100,
        serves: String::new(),
    };
    for (lab, title) in labs().flat_map(|lab| ["Home", "Models"].map(|title| (lab, title))) {
        let mut state = state();
        state.board.models = ["bert-mini", "roberta-mini"].map(model).to_vec();
        state.show(lab.id());
        let (picks, run) = (setup::picks_models(&state), setup::next_run(&state));
        show(&mut state, title);
        if title == "Home" {
            let pane = *state.screen().panes().iter().find(|pane| pane.0.contains("models")).unwrap();
            state.focus_on(pane);
        }
        for (columns, rows) in [(120, 40), (80, 24)] {
            assert_eq!(drawn(&state, columns, rows).contains(&run), picks, "{}", drawn(&state, columns, rows));
        }
        keys(&mut state, "space");
        let says = if picks { run } else { format!("{} has one setting for each model", lab.title()) };
        assert!(toast(&state).starts_with(&says), "{}", toast(&state));
    }
}

/// Regression: at 80 columns the list of runs used to cut off how a run ended and how long it took.
#[test]
fn the_list_of_runs_says_how_each_ended_at_80_columns() {
    let mut state = state();
    for (generation, seed) in [(1, 1), (2, 2)] {
        let setup = state.setup().unwrap();
        let mut spec = setup.spec(&state);
        spec.common_mut().set_seed(seed);
        spec.common_mut().set_models(
            ["bert-mini", "roberta-mini", "bart-mini", "gpt2-mini"][..2 * generation]
                .iter()
                .map(|m| (*m).to_owned())
                .collect(),
        );
        setup.take(&mut state, &spec);
        crate::reduce::job::replace(&mut state);
        let generation = generation as u64;
        let event = Event::Finished { job: generation, generation, outcome: Outcome::Done, seconds: 41.7 };
        reduce(&mut state, Action::Event(Box::new(event)));
    }
    keys(&mut state, "H");
    let text = drawn(&state, 80, 24);
    assert!(text.matches("  done in 42 s; ").count() == 2, "{text}");
}

/// Regression: typed text used to be appended to a name that the field offered for replacement.
#[test]
fn typing_replaces_what_a_field_was_filled_with_and_moving_keeps_it() {
    let typed = |before: &str| {
        let mut state = state();
        crate::reduce::look::ask_from(&mut state, &crate::reduce::replay::NOTE, "old");
        keys(&mut state, before);
        state.view.entry.unwrap().buffer
    };
    assert_eq!(typed("n e w"), "new");
    assert_eq!(typed("end n e w"), "oldnew");
    assert_eq!(typed("left n"), "olnd");
    assert_eq!(typed("backspace e"), "ole");
}

//! Tests of popups: contents, and the ranges of their cursors.

use super::diff::Diff;
use super::*;
use crate::state::Start;

fn state() -> State {
    State::new(Start { size: (80, 24), ..Start::new() })
}

#[test]
fn a_hanging_text_keeps_its_words_and_its_room() {
    let lines = hanging("a few words that do not fit", 12);
    assert!(lines.len() > 1 && lines.iter().all(|l| width(l) <= 12), "{lines:?}");
    assert!(!lines[0].starts_with(' ') && lines[1..].iter().all(|l| l.starts_with("  ")));
    let joined: Vec<&str> = lines.iter().map(|l| l.trim()).collect();
    assert_eq!(joined.join(" "), "a few words that do not fit");
}

#[test]
fn a_popup_stays_on_the_screen_whatever_it_holds() {
    for (columns, rows) in [(0, 0), (1, 1), (200, 3), (10, 90)] {
        let area = Rect::new(3, 2, 40, 12);
        let popup = centred(area, columns, rows);
        assert_eq!(popup.intersection(area), popup);
    }
    assert_eq!(rows_in(Rect::new(0, 0, 10, 1), 5), 0);
}

#[test]
fn the_cursor_of_a_picker_stops_at_its_last_entry() {
    let mut state = state();
    pick(&mut state, &Quit, 0);
    assert_eq!(last(&state), 2);
    palette(&mut state);
    assert!(last(&state) > 20);
    state.view.popup = None;
    assert_eq!(last(&state), 0);
}

#[test]
fn a_long_page_scrolls_until_its_last_line_is_in_sight() {
    let mut state = state();
    help(&mut state);
    let area = compute(&state).unwrap().under_title();
    let lines = content(&state, state.view.popup.as_ref().unwrap(), area).lines.len();
    assert_eq!(last(&state), lines - usize::from(area.height - 2));
    state.view.popup = Some(Popup::Help { query: String::new(), scroll: usize::MAX });
    let content = content(&state, state.view.popup.as_ref().unwrap(), area);
    assert_eq!(content.first, lines - usize::from(area.height - 2));
}

/// Regression: a long page used to give no sign of further lines below or above.
#[test]
fn a_long_page_has_a_scroll_mark() {
    let mut state = state();
    let drawn = |state: &State| {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, compute(state).unwrap().under_title(), state)).unwrap();
        let text = terminal.backend().to_string();
        [text.contains('▲'), text.contains('▼')]
    };
    help(&mut state);
    assert_eq!(drawn(&state), [false, true]);
    state.view.popup = Some(Popup::Help { query: String::new(), scroll: usize::MAX });
    assert_eq!(drawn(&state), [true, false]);
    pick(&mut state, &Quit, 0);
    assert_eq!(drawn(&state), [false, false], "everything is visible");
}

#[test]
fn an_overwrite_that_is_refused_writes_nothing() {
    use crate::action::Existing;
    let figure = figure::Figure {
        name: "f".into(),
        title: String::new(),
        x: figure::Axis::linear(""),
        y: figure::Axis::linear(""),
        layers: Vec::new(),
        provenance: figure::Provenance::default(),
    };
    let export = crate::action::Export { subject: crate::action::Subject::Figure(figure), options: Default::default() };
    let mut state = state();
    let hold = |state: &mut State| {
        let files = vec!["/tmp/f.png".into(), "/tmp/f.svg".into()];
        state.held = Some(Held { what: Kept::Figure(Box::new(export.clone())), files });
    };
    hold(&mut state);
    assert!(Overwrite.title(&state).contains("/tmp/f.png"));
    assert!(Overwrite.lines(&state, 0)[1].to_string().contains("2 files"));
    assert!(Overwrite.take(&mut state, 2).is_empty() && state.held.is_none());
    for (entry, existing) in [(0, Existing::Keep), (1, Existing::Replace)] {
        hold(&mut state);
        assert!(matches!(&Overwrite.take(&mut state, entry)[..], [Effect::Export(_, e)] if *e == existing));
    }
    assert!(Overwrite.take(&mut state, 0).is_empty(), "nothing is waiting any more");
}

#[test]
fn the_family_lists_each_comparison_by_question_and_copies_them() {
    use labs::family::Comparison;
    let mut state = state();
    assert!(Family.copy(&state).is_none() && Family.lines(&state, 70)[0].to_string().contains("no comparison"));
    for (what, p, planned) in [("a against b", 0.01, false), ("a against \u{1b}c", 0.04, true)] {
        let lab = labs::LABS[0].id();
        let about = Comparison::of(lab, "s", "which is better".into(), what.into(), "sign");
        state.board.family.join(Comparison { n: 9, p, planned, ..about });
    }
    let lines: Vec<String> = Family.lines(&state, 70).iter().map(ToString::to_string).collect();
    assert!(lines[1].starts_with("which is better: 1 comparison;"), "{lines:?}");
    assert!(lines[3].starts_with(" a against b") && lines[3].contains("010"), "{lines:?}");
    assert!(lines.iter().all(|l| !l.contains('\u{1b}') && width(l) <= 70), "{lines:?}");
    assert!(lines[4].starts_with("planned") && lines[5].starts_with(" a against"), "{lines:?}");
    let copied = Family.copy(&state).unwrap();
    let planned: Vec<&str> = copied.lines().filter_map(|l| l.rsplit('\t').next()).collect();
    assert_eq!(planned, ["planned", "false", "true"]);
}

fn words(lines: &[Line<'static>]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

#[test]
fn the_question_about_a_second_run_says_what_becomes_of_the_first() {
    use crate::action::Action;
    use crate::reduce::reduce;
    let mut state = state();
    reduce(&mut state, Action::Start);
    let lines = words(&SecondRun.lines(&state, 1));
    assert!(lines[0].contains("Run this after it") && lines[1].contains("its results so far are kept"), "{lines:?}");
    let spec = state.setup().unwrap().spec(&state);
    state.queue.push_back(spec.clone());
    assert!(words(&SecondRun.lines(&state, 0))[0].contains("and the waiting one"));
    state.queue.push_back(spec);
    assert!(words(&SecondRun.lines(&state, 0))[0].contains("and the 2 waiting ones"));
}

#[test]
fn waiting_runs_are_told_apart_by_lab_models_and_hash_and_are_harmless() {
    let mut state = state();
    let mut spec = state.setup().unwrap().spec(&state);
    let models = ["a".repeat(60), "b\u{1b}[2J".into()].to_vec();
    spec.common_mut().set_models(models);
    state.queue.push_back(spec.clone());
    spec.common_mut().set_seed(5);
    state.queue.push_back(spec);
    let lines = words(&WaitingRuns.lines(&state, 0));
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|l| !l.contains('\u{1b}') && width(l) < 110), "{lines:?}");
    let told = |line: &str| line.split_once(' ').map(|(_, rest)| rest.trim().to_owned());
    assert_ne!(told(&lines[0]), told(&lines[1]), "runs with different seeds differ");
}

#[test]
fn notices_stand_newest_first_with_their_level_and_can_be_copied() {
    use base::Problem;
    use engine::message::{Notice, NoticeLevel};
    let mut state = state();
    assert_eq!(words(&Notices.lines(&state, 60)), ["nothing to report"]);
    assert!(Notices.copy(&state).is_none());
    for (level, what) in
        [(NoticeLevel::Info, "one"), (NoticeLevel::Warning, "two"), (NoticeLevel::Error, "three\u{202e}")]
    {
        let problem = Problem { what: what.into(), r#where: "here".into(), hint: "look ".repeat(30) };
        state.notify(Notice { level, problem });
    }
    let lines = words(&Notices.lines(&state, 40));
    assert!(lines.iter().all(|l| width(l) <= 40 && !l.contains('\u{202e}')), "{lines:?}");
    let first: Vec<&String> = lines.iter().filter(|l| !l.starts_with(' ')).collect();
    for (line, (sign, what)) in first.iter().zip([('✗', "three"), ('!', "two"), ('i', "one")]) {
        assert!(line.starts_with(sign) && line.contains(what), "{line}");
    }
    assert_eq!(Notices.copy(&state).unwrap().lines().count(), 3);
}

#[test]
fn without_a_measured_number_there_is_no_provenance_to_copy() {
    let state = state();
    assert_eq!(words(&Provenance.lines(&state, 60)), ["nothing has been measured yet"]);
    assert!(Provenance.copy(&state).is_none());
}

/// Regression: for an entry without a number, the page used to say that nothing had been measured, although other entries had numbers.
#[test]
fn an_entry_without_a_number_is_told_from_a_run_without_one() {
    let mut state = state();
    crate::reduce::job::run(&mut state);
    assert_eq!(words(&Provenance.lines(&state, 60)), ["nothing has been measured yet"]);
    state.board.runs[0].held = 1;
    assert_eq!(words(&Provenance.lines(&state, 60)), ["the entry under the cursor has no number yet"]);
}

#[test]
fn help_and_palette_say_when_nothing_matches() {
    let state = state();
    assert_eq!(words(&help_text(&state, "zzzz", 60)), ["no command or term matches"]);
    assert_eq!(words(&palette_text(&state, "zzzz", 0)), ["no command matches"]);
}

#[test]
fn help_finds_terms_by_their_names_first() {
    let state = state();
    let lines = words(&help_text(&state, "selectivity", 100));
    let terms = lines.iter().position(|line| line == "Terms").unwrap();
    assert!(lines[terms + 1].starts_with("selectivity (S)"), "{lines:?}");
    assert!(!words(&help_text(&state, "", 100)).contains(&"Terms".to_owned()), "without a query the help lists keys");
}

#[test]
fn the_help_fits_its_room_and_names_the_keys_that_are_bound() {
    let (keymap, _) = crate::keymap::Keymap::parse("[keys]\nzoom = [\"f9\"]", "mine");
    let state = State::new(Start { keymap, ..Start::new() });
    for room in [40, 80, 116] {
        let lines = words(&help_text(&state, "", room));
        assert!(lines.iter().all(|l| width(l) <= room), "{room}");
        assert!(lines.iter().any(|l| l.contains("f9")));
    }
}

#[test]
fn the_palette_marks_the_entry_under_the_cursor_alone() {
    let state = state();
    let lines = words(&palette_text(&state, "", 3));
    let marked: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].starts_with('▸')).collect();
    assert_eq!(marked, [3]);
}

#[test]
fn a_popup_is_drawn_over_the_panes_with_its_title_cut_to_its_room() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    let mut state = state();
    let figure = figure::Figure {
        name: "f".into(),
        title: String::new(),
        x: figure::Axis::linear(""),
        y: figure::Axis::linear(""),
        layers: Vec::new(),
        provenance: figure::Provenance::default(),
    };
    let file = format!("/{}/f.png", "folder/".repeat(40));
    let export = crate::action::Export { subject: crate::action::Subject::Figure(figure), options: Default::default() };
    state.held = Some(Held { what: Kept::Figure(Box::new(export)), files: vec![file.into()] });
    pick(&mut state, &Overwrite, 0);
    let mut terminal = Terminal::new(TestBackend::new(60, 12)).unwrap();
    terminal.draw(|frame| draw(frame, frame.area(), &state)).unwrap();
    let text = terminal.backend().to_string();
    assert!(text.contains("/folder/") && text.contains("Write nothing"), "{text}");
    state.view.popup = None;
    terminal.draw(|frame| draw(frame, frame.area(), &state)).unwrap();
    assert!(!terminal.backend().to_string().contains("Write nothing"));
}

/// Regression: "Wait for this run" used to name neither the run nor its remaining time.
#[test]
fn a_second_run_is_offered_after_the_one_that_is_named() {
    use crate::reduce::job;
    let mut state = state();
    job::run(&mut state);
    let said = |state: &State| (SecondRun.title(state), SecondRun.lines(state, 0)[0].to_string());
    assert_eq!(said(&state).0, "The Interventions run is in progress");
    let progress = engine::message::Progress {
        stage: "training".into(),
        done: 1,
        total: 4,
        unit: "ex".into(),
        rate: 1.0,
        overall: 0.2,
        elapsed: 10.0,
        left: Some(40.0),
    };
    state.board.on_event(&engine::message::Event::Progress { generation: 1, progress });
    assert!(said(&state).1.contains("Run this after it (starts in about 40 s)"), "{:?}", said(&state));
}

#[test]
fn a_message_that_came_several_times_stands_once_with_its_count() {
    let mut state = state();
    for what in ["a", "b", "a", "a"] {
        let problem = base::Problem { what: what.into(), r#where: "m".into(), hint: "h".into() };
        state.notify(engine::message::Notice { level: engine::message::NoticeLevel::Warning, problem });
    }
    let lines: Vec<String> = Notices.lines(&state, 70).iter().map(ToString::to_string).collect();
    assert_eq!(lines.iter().filter(|line| line.contains("a (") || line.starts_with("! a")).count(), 1, "{lines:?}");
    assert!(lines[0].contains("(3 times)") && lines.len() == 2, "{lines:?}");
}

#[test]
fn a_message_names_the_runs_that_it_came_from() {
    use crate::reduce::job;
    use engine::message::{Event, NoticeLevel, Outcome};
    let mut state = state();
    let problem = base::Problem { what: "poorly calibrated".into(), r#where: "m".into(), hint: "h".into() };
    for generation in [1, 2] {
        job::replace(&mut state);
        let notice = engine::message::Notice { level: NoticeLevel::Warning, problem: problem.clone() };
        state.board.on_event(&Event::Notice(notice));
        state.board.on_event(&Event::Finished { job: generation, generation, outcome: Outcome::Done, seconds: 1.0 });
    }
    let text = Notices.lines(&state, 200)[0].to_string();
    assert!(text.ends_with("(runs 1 and 2, 2 times)"), "{text}");
}

/// Regression: the help used to list the menu key `b` as a key of the screen.
#[test]
fn keys_of_a_menu_stand_behind_the_key_that_opens_it() {
    let state = state();
    let entry = menu_entries(&state)[0];
    let keys = format!("t {}", state.keymap.label(entry.name));
    let lines = words(&help_text(&state, entry.title, 76));
    assert!(lines.iter().any(|line| line.trim_start().starts_with(&keys)), "{keys}: {lines:?}");
    let text = words(&palette_text(&state, entry.title, 0));
    assert!(text[0].contains(&keys), "{text:?}");
}

/// Regression: the term "range over equally good probes" used to overlap its definition.
#[test]
fn a_term_never_runs_into_its_meaning() {
    let state = state();
    for term in labs::glossary() {
        let lines = words(&pages::explanation(&state, term, 76));
        let begin = term.meaning.split(' ').next().unwrap();
        assert!(lines[0].contains(&format!("  {begin}")), "{lines:?}");
    }
}

/// Regression: the help used to omit how to run a command that has no key.
#[test]
fn the_help_says_how_a_command_without_a_key_is_reached() {
    let lines = words(&help_text(&state(), "mouse", 76));
    assert!(lines.iter().any(|line| line.trim_start().starts_with(": mouse")), "{lines:?}");
}

/// Three runs with the recorded example's results; the second was cancelled, the third is shown.
fn three_runs(size: (u16, u16)) -> State {
    use crate::action::Action;
    use engine::message::{Event, Outcome};
    let mut state = State::new(Start { size, ..Start::new() });
    let setup = state.setup().unwrap();
    let results = crate::example::recorded(setup.lab()).unwrap().run.results;
    for (generation, outcome) in [(1, Outcome::Done), (2, Outcome::Cancelled), (3, Outcome::Done)] {
        let mut spec = setup.spec(&state);
        spec.common_mut().set_seed(generation);
        setup.take(&mut state, &spec);
        crate::reduce::job::replace(&mut state);
        if outcome == Outcome::Done {
            state.board.runs.last_mut().unwrap().results = results.clone();
        }
        let event = Event::Finished { job: generation, generation, outcome, seconds: 2.0 };
        crate::reduce::reduce(&mut state, Action::Event(Box::new(event)));
    }
    state
}

fn keys(state: &mut State, keys: &str) {
    keys.split(' ').for_each(|k| drop(crate::reduce::reduce(state, crate::action::Action::Key(k.parse().unwrap()))));
}

/// The text of the open popup, without its border.
fn shown(state: &State) -> String {
    let area = compute(state).unwrap().under_title();
    let lines = content(state, state.view.popup.as_ref().unwrap(), area).lines;
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Regression: a cancelled run used to be listed before the recorded example.
#[test]
fn finished_runs_come_first_to_compare_with_and_cancelled_ones_last() {
    for size in [(120, 40), (80, 24)] {
        let mut state = three_runs(size);
        keys(&mut state, "D");
        let text = shown(&state);
        let starts = ["> run 1    done in 2.0 s", "  example  recorded on 2026-", "  run 2    cancelled"];
        let lines: Vec<String> = text.lines().map(|line| line.replace('▸', ">")).collect();
        assert!(lines.len() == 3 && lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{text}");
    }
}

/// Regression: the figure of two runs used to show the first method, whichever was selected, without differences and tests.
#[test]
fn two_runs_are_drawn_in_the_figure_that_is_in_sight_and_every_value_of_it_is_compared() {
    for size in [(120, 40), (80, 24)] {
        let mut state = three_runs(size);
        for (filter, method) in [("/ p g d enter", "PGD"), ("esc / i n l p enter", "INLP")] {
            keys(&mut state, filter);
            keys(&mut state, "D enter");
            let text = shown(&state);
            assert!(text.contains(&format!("{method} on bert-mini")), "{text}");
            let (_, table) = text.split_once("Numbers in both runs: reliability R").unwrap_or_else(|| panic!("{text}"));
            assert!(table.lines().nth(1).is_some_and(|head| head.contains("difference")), "{text}");
            assert!(table.lines().filter(|line| line.contains(" .000 [")).count() > 3, "{text}");
            keys(&mut state, "]");
            assert!(!shown(&state).contains(&format!("{method} on bert-mini, last")) && shown(&state) != text);
            keys(&mut state, "[");
            assert_eq!(shown(&state), text);
            keys(&mut state, "esc");
        }
    }
}

/// Regression: runs of different models used to have no figure in common.
#[test]
fn runs_of_two_models_are_drawn_over_each_other() {
    let mut state = three_runs((120, 40));
    let named = |state: &State| super::diff::figures(state).len();
    keys(&mut state, "D enter");
    let of_one_model = named(&state);
    let third = state.board.runs.last_mut().unwrap();
    let text = serde_json::to_string(&third.results).unwrap().replace("bert-mini", "other-one");
    third.results = serde_json::from_str(&text).unwrap();
    third.job.spec.common_mut().set_models(vec!["other-one".into()]);
    assert_eq!((named(&state), of_one_model > 3), (of_one_model, true));
    assert!(shown(&state).contains("run 1: ") && shown(&state).contains("other-one"), "{}", shown(&state));
}

/// Regression: the comparison with a run without results used to take eight lines.
#[test]
fn runs_that_cannot_be_compared_say_why_in_two_lines() {
    let mut state = three_runs((120, 40));
    keys(&mut state, "D G enter");
    let text = shown(&state);
    let lines: Vec<&str> = text.lines().collect();
    let why = "No numbers in the answers can be compared: run 2 was cancelled before it produced a number.";
    assert_eq!(lines, [why, "Settings that differ: seed 2 → 3."], "{text}");
}

/// Regression: one run used to be number 3 in the title and number 4 in messages, while the list of sessions counted three runs.
#[test]
fn a_run_has_one_number_in_the_session_whatever_its_lab() {
    use crate::reduce::runs;
    let mut state = three_runs((120, 40));
    let first = state.view.screen;
    let other = crate::screens::labs().find(|screen| screen.id() != first).unwrap();
    state.show(other.id());
    crate::reduce::job::replace(&mut state);
    assert_eq!(runs::place(&state), None, "the only run of its lab");
    keys(&mut state, "H");
    assert!(shown(&state).contains("run 4 (1 in this lab, shown)"), "{}", shown(&state));
    state.view.popup = None;
    state.show(first);
    // Regression: this used to be "run 3 of 4 (3 of 3 in this lab), 2 stopped".
    assert_eq!(runs::place(&state).as_deref(), Some("run 3 of 3 in this lab"));
    keys(&mut state, "{");
    assert!(
        state.view.toast.as_deref().is_some_and(|said| said.starts_with("run 2 of 3 in this lab: cancelled")),
        "{:?}",
        state.view.toast
    );
    keys(&mut state, "} D enter");
    assert!(Diff.title(&state).starts_with("Run 1 and run 3"), "{}", Diff.title(&state));
}

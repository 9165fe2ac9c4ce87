//! Tests of the setup pane: steps, tracks, typed values, mouse, rejected values.

mod found;

use proptest::prelude::*;

use super::*;
use crate::action::MouseKind;
use crate::layout::compute;
use crate::state::Start;
use labs::setting::Range;

fn slider(value: Value, unset: Option<&'static str>) -> Row {
    let kind = Kind::Slider { stops: vec![1.0, 2.0, 4.0], range: Range::real(0.0, 8.0), unset };
    Row::of_view("x", "x", "A test.", kind, value)
}

fn choice(at: Option<usize>) -> Row {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    Row::of_view("x", "x", "A test.", Kind::Choice(names), Value::Choice(at))
}

/// A state with the focus on the setup pane and two known models.
fn state() -> State {
    let mut state = State::new(Start::new());
    let model = |name: &str| engine::message::ModelInfo {
        name: name.into(),
        family: "bert".into(),
        layers: 4,
        hidden: 8,
        parameters: 100,
        serves: if name == "gpt2-mini" { "logits only: prompts".into() } else { "all labs".into() },
    };
    state.board.models = vec![model("bert-mini"), model("gpt2-mini")];
    state.here_mut().focus = PANE;
    state.here_mut().form = true;
    state
}

fn go_to(state: &mut State, key: &str) -> Row {
    let setup = state.setup().unwrap();
    let rows = setup.rows(state);
    let at = shown(state, setup, &rows).iter().position(|l| rows[l.row].key == key);
    state.here_mut().row = at.unwrap_or_else(|| panic!("{key}"));
    under_cursor(state).unwrap().0
}

#[test]
fn slider_steps_along_its_stops() {
    let at = |x| slider(Value::Number(x), None);
    assert_eq!(at(2.0).stepped(1), Some(Value::Number(4.0)));
    assert_eq!(at(3.0).stepped(-1), Some(Value::Number(2.0)));
    assert_eq!(at(4.0).stepped(END), Some(Value::Number(4.0)));
    assert_eq!(at(7.0).stepped(1), Some(Value::Number(7.0)), "a step up never decreases the value");
    assert_eq!(at(4.0).stepped(-END), Some(Value::Number(1.0)));
}

#[test]
fn unset_precedes_the_first_stop() {
    let row = slider(Value::Unset, Some("natural"));
    assert_eq!(row.stepped(-1), None);
    assert_eq!(row.stepped(1), Some(Value::Number(1.0)));
    assert_eq!(row.stepped(END), Some(Value::Number(4.0)));
    assert_eq!(row.share(), 0.0);
    let first = slider(Value::Number(1.0), Some("natural"));
    assert_eq!(first.stepped(-1), Some(Value::Unset));
    assert!((first.share() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(slider(Value::Number(2.0), Some("natural")).stepped(-END), Some(Value::Unset));
    assert_eq!(first.at_share(0.0), Some(Value::Unset));
    let alone = Kind::Slider { stops: Vec::new(), range: Range::real(0.0, 1.0), unset: Some("same") };
    let alone = Row::of_view("x", "x", "A test.", alone, Value::Unset);
    assert_eq!((alone.stepped(1), alone.at_share(1.0), alone.share()), (None, Some(Value::Unset), 0.0));
}

#[test]
fn choices_cycle_and_unknown_starts_at_the_first() {
    assert_eq!(choice(Some(2)).stepped(5), Some(Value::Choice(Some(0))));
    assert_eq!(choice(Some(0)).stepped(-1), Some(Value::Choice(Some(2))));
    assert_eq!(choice(None).stepped(1), Some(Value::Choice(Some(0))));
    let none = Row::of_view("x", "x", "A test.", Kind::Choice(Vec::new()), Value::Choice(None));
    assert_eq!(none.stepped(1), None);
}

#[test]
fn counts_step_by_one_without_end_jumps() {
    let kind = Kind::Integer(Range::whole(0.0, 10.0));
    let row = |x| Row::of_view("x", "x", "A test.", kind.clone(), Value::Number(x));
    assert_eq!(row(0.0).stepped(-1), Some(Value::Number(0.0)));
    assert_eq!(row(9.0).stepped(FAR), Some(Value::Number(10.0)));
    assert_eq!(row(3.0).stepped(END), None);
}

#[test]
fn rows_have_lines_labels_and_help() {
    for lab in crate::screens::labs() {
        let state = state();
        let rows = lab.setup().unwrap().rows(&state);
        let mut keys: Vec<&str> = rows.iter().map(|r| r.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), rows.len(), "{}", lab.title());
        assert!(rows.iter().all(|r| !r.label.is_empty() && r.help.len() > 8), "{}", lab.title());
        assert!(rows.iter().any(|r| r.key == lab.setup().unwrap().main()), "{}", lab.title());
        assert!(rows.iter().all(|r| r.kind.check(&r.value).is_ok()), "{}", lab.title());
    }
}

#[test]
fn each_model_has_a_checkbox_line() {
    let mut state = state();
    let row = go_to(&mut state, "models");
    assert_eq!(row.lines(), 2);
    assert!(can_select(&state));
    state.here_mut().row += 1;
    select(&mut state);
    assert_eq!(self::row(&state, "models").unwrap().value, Value::Marks(vec![true, true]));
    select(&mut state);
    assert_eq!(self::row(&state, "models").unwrap().value, Value::Marks(vec![true, false]));
}

#[test]
fn rejected_value_is_reported_in_its_row() {
    let mut state = state();
    let file = go_to(&mut state, "task.data");
    set(&mut state, &file, Value::Text("own.tsv".into()));
    let phi = go_to(&mut state, "task.phi");
    assert!(set(&mut state, &phi, Value::Number(0.2)).is_empty());
    let refused = state.here().refused.clone().unwrap();
    assert_eq!(refused, ("task.phi".to_owned(), "set by the rows of the file".to_owned()));
    assert_eq!(self::row(&state, "task.phi").unwrap().value, Value::Unset);
}

#[test]
fn typed_values_out_of_range_are_refused_with_the_range() {
    let mut state = state();
    assert_eq!(typed(&mut state, "task.examples", "1e12").unwrap_err(), "must be from 400 to 2000000");
    assert_eq!(typed(&mut state, "task.examples", "500.5").unwrap_err(), "must be a whole number");
    assert!(typed(&mut state, "task.examples", "many").unwrap_err().contains("type a number"));
    assert!(typed(&mut state, "no.such.row", "1").unwrap().is_empty());
    typed(&mut state, "task.phi", "1/8").unwrap();
    assert_eq!(row(&state, "task.phi").unwrap().value, Value::Number(0.125));
    typed(&mut state, "task.phi", "nat").unwrap();
    assert_eq!(row(&state, "task.phi").unwrap().value, Value::Unset);
}

#[test]
fn paths_are_edited_in_place() {
    let mut state = state();
    let file = go_to(&mut state, "task.data");
    set(&mut state, &file, Value::Text("folder/own.tsv".into()));
    open(&mut state);
    assert_eq!(state.view.entry.as_ref().unwrap().buffer, "folder/own.tsv");
    typed(&mut state, "task.data", "").unwrap();
    assert_eq!(row(&state, "task.data").unwrap().text, "built in");
}

#[test]
fn mouse_moves_the_slider() {
    let mut state = state();
    go_to(&mut state, "seed");
    let pane = compute(&state).unwrap().pane(PANE).unwrap();
    let examples = |state: &State| {
        let hit = |y| {
            line_at(state, pane, y)
                .filter(|(_, at, _)| state.setup().unwrap().rows(state)[at.row].key == "task.examples")
        };
        (pane.y..pane.bottom()).find_map(hit).unwrap()
    };
    let (number, _, line) = examples(&state);
    let (start, length) = track(line, true);
    press(&mut state, pane, Mouse { kind: MouseKind::Press, x: start, y: line.y });
    assert_eq!((state.here().row, state.view.drag.clone()), (number, Some(Drag::Setting("task.examples".into()))));
    assert_eq!(row(&state, "task.examples").unwrap().value, Value::Number(500.0));
    drag(&mut state, "task.examples", pane, start + length + 20);
    assert_eq!(row(&state, "task.examples").unwrap().value, Value::Number(100_000.0));
    press(&mut state, pane, Mouse { kind: MouseKind::Press, x: line.x, y: line.y });
    assert!(state.view.entry.is_some(), "a second click beside the track opens the field");
}

#[test]
fn click_in_scrolled_pane_hits_the_drawn_line() {
    let mut state = state();
    let pane = Rect::new(0, 1, 30, 7);
    state.here_mut().form = false;
    let setup = state.setup().unwrap();
    let all = shown(&state, setup, &setup.rows(&state)).len();
    state.here_mut().row = all - 1;
    let (number, _, _) = line_at(&state, pane, 6).unwrap();
    assert_eq!(number, all - 1, "the last visible line is the last of all");
    assert_eq!(line_at(&state, pane, 1), None, "the border is not a line");
    assert_eq!(line_at(&state, pane, 7), None, "below");
}

#[test]
fn the_cursor_stops_at_both_ends() {
    let mut state = state();
    travel(&mut state, -3);
    assert_eq!(state.here().row, 0);
    travel(&mut state, 1000);
    let rows = state.setup().unwrap().rows(&state);
    assert_eq!(state.here().row, lines(&rows).len() - 1);
}

proptest! {
    #[test]
    fn slider_is_drawn_where_the_mouse_put_it(share in 0.0f64..=1.0, with_unset: bool) {
        let row = slider(Value::Unset, with_unset.then_some("natural"));
        let value = row.at_share(share).unwrap();
        let put = Row { value: value.clone(), ..row };
        prop_assert_eq!(put.at_share(put.share()), Some(value));
    }
}

#[test]
fn press_toggles_checkbox_or_selects_row() {
    let mut state = state();
    let pane = compute(&state).unwrap().pane(PANE).unwrap();
    let y_of = |state: &State, key: &str| {
        let rows = state.setup().unwrap().rows(state);
        (pane.y..pane.bottom())
            .find(|y| line_at(state, pane, *y).is_some_and(|(_, at, _)| rows[at.row].key == key))
            .unwrap()
    };
    let at = |y| Mouse { kind: MouseKind::Press, x: pane.x + 3, y };
    let y = y_of(&state, "models");
    press(&mut state, pane, at(y + 1));
    assert_eq!(row(&state, "models").unwrap().value, Value::Marks(vec![true, true]));
    let rows = state.setup().unwrap().rows(&state);
    let choice = rows.iter().find(|r| matches!(r.kind, Kind::Choice(ref names) if names.len() > 1 && !r.view));
    let (key, before) = choice.map(|r| (r.key.clone(), r.value.clone())).unwrap();
    let y = y_of(&state, &key);
    press(&mut state, pane, at(y));
    assert_eq!(row(&state, &key).unwrap().value, before, "the first press only selects the row");
    press(&mut state, pane, at(y));
    assert_ne!(row(&state, &key).unwrap().value, before, "the second press changes the value");
    let number = rows.iter().find(|r| matches!(r.kind, Kind::Integer(_))).unwrap().key.clone();
    let y = y_of(&state, &number);
    press(&mut state, pane, at(y));
    assert!(state.view.entry.is_none());
    press(&mut state, pane, at(y));
    assert!(state.view.entry.is_some(), "a press on a number opens the field");
}

#[test]
fn missing_row_is_ignored() {
    let mut state = state();
    assert!(row(&state, "no.such.row").is_none());
    assert!(turn(&mut state, "no.such.row", 1).is_empty());
    assert_eq!(typed(&mut state, "no.such.row", "5"), Ok(Vec::new()));
    let pane = compute(&state).unwrap().pane(PANE).unwrap();
    assert!(drag(&mut state, "no.such.row", pane, 5).is_empty());
    assert!(line_at(&state, pane, pane.y).is_none(), "the border is not a line");
}

#[test]
fn settings_of_a_replay_are_read_only() {
    let replay = Some(crate::state::ReplayState::new("s".into(), 1.0, 1.0));
    let mut state = State::new(Start { replay, ..Start::new() });
    state.here_mut().focus = PANE;
    state.here_mut().form = true;
    assert!(!can_select(&state));
    let keys: Vec<String> = state.setup().unwrap().rows(&state).into_iter().map(|r| r.key).collect();
    for key in keys {
        // A step of one row may change the choices of another.
        let Some(r) = row(&state, &key) else { continue };
        let Some(value) = r.stepped(1).filter(|v| *v != r.value) else { continue };
        state.here_mut().refused = None;
        set(&mut state, &r, value);
        assert_eq!(state.here().refused.is_none(), r.view, "{}", r.key);
    }
    go_to(&mut state, "task.examples");
    open(&mut state);
    assert!(state.view.entry.is_none());
}

#[test]
fn rejection_is_cleared_by_the_next_key() {
    use crate::action::Action;
    use crate::reduce::reduce;
    let mut state = state();
    state.here_mut().refused = Some(("models".into(), "no".into()));
    reduce(&mut state, Action::Key("j".parse().unwrap()));
    assert_eq!(state.here().refused, None);
}

/// Regression: the footer used to offer `space` on every row, although it had no effect on most.
#[test]
fn space_is_offered_only_on_checkboxes() {
    let mut state = state();
    let keys: Vec<(String, bool)> = state
        .setup()
        .unwrap()
        .rows(&state)
        .into_iter()
        .map(|r| {
            let marks = matches!(r.kind, Kind::Marks(_));
            (r.key, marks)
        })
        .collect();
    for (key, marks) in keys {
        go_to(&mut state, &key);
        assert_eq!(can_select(&state), marks, "{key}");
    }
}

#[test]
fn pane_counts_hidden_rows() {
    for lab in crate::screens::labs() {
        let mut state = state();
        state.show(lab.id());
        state.here_mut().form = false;
        state.place_mut(state.view.lab).form = false;
        let setup = lab.setup().unwrap();
        let rows = setup.rows(&state);
        let short = shown(&state, setup, &rows);
        assert!(height(&state, setup) <= 14, "{}: {}", lab.title(), height(&state, setup));
        let bars = short.iter().filter(|l| matches!(rows[l.row].kind, Kind::Slider { .. })).count();
        assert!(bars >= 2, "{}: {bars} bars", lab.title());
        assert!(hidden(setup, &rows) > 0, "{}", lab.title());
        for key in setup.short().iter().filter(|key| rows.iter().all(|row| row.key != **key)) {
            assert!(key.contains("results") || **key == *"pilot", "{}: {key} is not a row", lab.title());
        }
    }
}

/// Regression: models beyond the third could be ticked only in the list that enter opens.
#[test]
fn all_models_of_a_row_can_be_ticked_in_the_pane() {
    let mut state = state();
    state.here_mut().form = false;
    let model = state.board.models[0].clone();
    state.board.models =
        (0..6).map(|i| engine::message::ModelInfo { name: format!("m{i}"), ..model.clone() }).collect();
    let text = |state: &State| {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    let count = row(&state, "models").unwrap().lines();
    assert!(count > MARKS, "{count}");
    let tall = height(&state, state.setup().unwrap());
    for at in 0..count {
        let (row, mark) = under_cursor(&state).unwrap();
        assert_eq!((row.key.as_str(), mark), ("models", at));
        let Kind::Marks(names) = &row.kind else { panic!("no checkboxes") };
        assert!(text(&state).contains(&names[at]), "{}\n{}", names[at], text(&state));
        let before = row.value.clone();
        select(&mut state);
        assert_ne!(self::row(&state, "models").unwrap().value, before);
        assert_eq!(height(&state, state.setup().unwrap()), tall);
        travel(&mut state, 1);
    }
    assert_ne!(under_cursor(&state).unwrap().0.key, "models");
}

/// Regression: with the form open, `tab` used to move the focus to panes behind it.
#[test]
fn tab_in_the_form_moves_between_groups() {
    use crate::reduce::look;
    let mut state = state();
    let mut groups = Vec::new();
    for _ in 0..3 {
        groups.push(group(&under_cursor(&state).unwrap().0));
        look::focus(&mut state, true);
        assert!(state.focused(PANE) && state.here().form && !look::turns(&state));
    }
    groups.dedup();
    assert_eq!(groups.len(), 3, "{groups:?}");
    look::focus(&mut state, false);
    assert_eq!(Some(&group(&under_cursor(&state).unwrap().0)), groups.last());
}

#[test]
fn changes_can_be_undone_and_redone() {
    let mut state = state();
    let seed = |state: &State| row(state, "seed").unwrap().value;
    let before = seed(&state);
    typed(&mut state, "seed", "3").unwrap();
    typed(&mut state, "task.examples", "500").unwrap();
    undo(&mut state, false);
    assert_eq!(seed(&state), Value::Number(3.0));
    undo(&mut state, false);
    assert!(seed(&state) == before && !can_undo(&state));
    undo(&mut state, true);
    assert_eq!(seed(&state), Value::Number(3.0));
    typed(&mut state, "seed", "4").unwrap();
    assert!(!can_redo(&state), "a new change discards what was undone");
}

#[test]
fn typed_text_and_rejection_are_in_the_row() {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    let text = |state: &State| {
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    let mut state = state();
    let rows = state.setup().unwrap().rows(&state);
    let number = rows.iter().find(|r| matches!(r.kind, Kind::Integer(_))).unwrap().key.clone();
    go_to(&mut state, &number);
    open(&mut state);
    crate::reduce::typing::insert(&mut state, "7");
    assert!(text(&state).contains("7_"));
    state.view.entry = None;
    state.here_mut().refused = Some((number, "not that".into()));
    assert!(text(&state).contains("✗ not that"));
}

/// Regression: a model unticked and ticked again used to move to the end of the list, so that its results counted as not run.
#[test]
fn reticked_model_restores_the_setup_of_the_run() {
    let mut state = state();
    let row = go_to(&mut state, "models");
    toggle(&mut state, &row, 1);
    crate::reduce::job::run(&mut state);
    assert!(!changed(&state));
    for ticked in [false, true] {
        let row = go_to(&mut state, "models");
        toggle(&mut state, &row, 0);
        assert_eq!(changed(&state), !ticked, "ticked: {ticked}");
    }
}

/// Regression: a row's description used to be cut next to an empty column.
#[test]
fn form_uses_free_columns_for_descriptions() {
    let mut state = state();
    state.view.size = (120, 40);
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
    terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
    let text = terminal.backend().to_string();
    let row = go_to(&mut state, "models");
    assert!(text.lines().any(|line| line.contains(&row.help)), "{text}");
    assert!(draw::explained(&row).ends_with("(any of 2; default bert-mini)"), "{}", draw::explained(&row));
    // Regression: a default of eight models used to be cut after the third.
    let long = Row { default: "a, b, c, d, e".into(), ..row.clone() };
    assert!(draw::explained(&long).ends_with("(any of 2; default 5 models)"), "{}", draw::explained(&long));
    let warned = Row { warning: "too few".into(), ..row };
    assert!(draw::explained(&warned).starts_with("Warning: too few"), "{}", draw::explained(&warned));
}

/// Regression: without a model, the screen used to say "not run yet: r runs it".
#[test]
fn settings_without_models_ask_for_one() {
    let text = |state: &State| {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    let mut state = state();
    state.here_mut().form = false;
    let row = go_to(&mut state, "models");
    toggle(&mut state, &row, 0);
    assert!(text(&state).contains("No model is ticked") && !text(&state).contains("runs it"), "{}", text(&state));
    let none = go_to(&mut state, "models");
    toggle(&mut state, &none, 0);
    crate::reduce::job::run(&mut state);
    toggle(&mut state, &row, 0);
    assert!(text(&state).contains("not run yet: tick a model first"), "{}", text(&state));
}

/// Regression: in the saliency lab, `space` on a checkbox was taken as the key that marks a word.
#[test]
fn space_toggles_the_checkbox_in_every_lab() {
    for (screen, mark) in crate::screens::labs().flat_map(|screen| [(screen, 0), (screen, 1)]) {
        let mut state = state();
        state.show(screen.id());
        state.focus_on(PANE);
        if picks_models(&state) {
            go_to(&mut state, "models");
            state.here_mut().row += mark;
            let before = row(&state, "models").unwrap().text;
            crate::reduce::reduce(&mut state, crate::action::Action::Key("space".parse().unwrap()));
            assert_ne!(row(&state, "models").unwrap().text, before, "{}, box {mark}", screen.title());
        }
    }
}

/// Regression: the pane shows only three models, and no text used to name the key that lists the others.
#[test]
fn hidden_checkboxes_are_announced_with_their_key() {
    let mut state = state();
    state.here_mut().form = false;
    go_to(&mut state, "models");
    assert!(!about_cursor(&state).contains("lists all"), "both are visible: {}", about_cursor(&state));
    let more = ["a", "b"].map(|name| engine::message::ModelInfo { name: name.into(), ..state.board.models[0].clone() });
    state.board.models.extend(more);
    assert!(about_cursor(&state).starts_with("enter lists all 4. "), "{}", about_cursor(&state));
    state.here_mut().form = true;
    go_to(&mut state, "models");
    assert!(!about_cursor(&state).contains("lists all"), "{}", about_cursor(&state));
}

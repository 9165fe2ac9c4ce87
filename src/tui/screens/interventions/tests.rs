//! Tests of the screen: methods, strengths, options, examples, replays.

mod map;
mod scores;

use super::*;
use crate::setup::{row, set, turn, typed, undo};
use engine::message::Answer;
use labs::Tagged;
use labs::finding::Label;
use labs::interventions::finding::ExampleFinding;
use labs::interventions::spec::MethodSpec;
use labs::interventions::{Kind, sample};

fn state() -> State {
    let mut state = State::new(Start::new());
    view_mut(&mut state).catalog = Catalog::sample();
    state
}

/// A state in which the default experiment has been sent to the engine.
fn started() -> State {
    let mut state = state();
    job::run(&mut state);
    state
}

fn points(effects: &[Effect]) -> Vec<PointQuestion> {
    let point = |e: &Effect| match e {
        Effect::Send(Command::Ask { question: Question::Experiment { question, .. }, .. }) => {
            let labs::Question::Interventions(Asked::Point(point)) = question else {
                panic!("a question to another lab")
            };
            Some(point.clone())
        }
        _ => None,
    };
    effects.iter().filter_map(point).collect()
}

/// Regression: the columns `own directions` and `nullifying` used to overlap.
#[test]
fn picker_columns_do_not_overlap() {
    use crate::popups::Picker;
    let mut state = state();
    view_mut(&mut state).catalog = Catalog::registered();
    let lines = picker::METHODS.lines(&state, 0);
    assert_eq!(lines.len(), view(&state).catalog.methods.len());
    for line in &lines {
        let columns = &line.spans[..line.spans.len() - 1];
        assert!(columns.iter().all(|c| c.content.ends_with(' ')), "{line}");
        let wide: Vec<usize> = columns.iter().map(|c| c.width()).collect();
        let first: Vec<usize> = lines[0].spans[..columns.len()].iter().map(|c| c.width()).collect();
        assert_eq!(wide, first, "{line}");
    }
    assert!(lines.iter().any(|l| l.to_string().contains("true counterfactual counterfactual ")));
}

#[test]
fn steps_follow_the_grid_and_stop_at_its_ends() {
    let mut state = started();
    let asked = points(&turn(&mut state, setup::STRENGTH, 1));
    assert_eq!((marker(&state), asked[0].value), (0.136, 0.136));
    turn(&mut state, setup::STRENGTH, -2);
    assert_eq!(marker(&state), 0.092);
    turn(&mut state, setup::STRENGTH, 1000);
    assert_eq!(marker(&state), 61.1);
    assert!(turn(&mut state, setup::STRENGTH, 1).is_empty(), "at the last stop no question is sent");
    typed(&mut state, setup::STRENGTH, "70.5").unwrap();
    turn(&mut state, setup::STRENGTH, 1);
    assert_eq!(marker(&state), 70.5, "a step up never decreases the strength");
    assert_eq!(typed(&mut state, setup::STRENGTH, "-1").unwrap_err(), "must be from 0 to 100");
}

#[test]
fn option_requests_a_point_and_default_restores_the_spec() {
    let mut state = started();
    let before = view(&state).spec.clone();
    let asked = points(&typed(&mut state, "method.pgd.steps", "20").unwrap());
    assert_eq!(asked[0].options["steps"], 20.0);
    assert!(row(&state, "method.pgd.steps").unwrap().changed && frame_setup::changed(&state));
    typed(&mut state, "method.pgd.steps", "40").unwrap();
    assert_eq!(view(&state).spec, before);
    assert!(!frame_setup::changed(&state));
}

#[test]
fn explicit_default_of_the_run_stays_explicit() {
    let mut state = state();
    view_mut(&mut state).spec.methods[2].options.insert("steps".into(), 40.0);
    job::run(&mut state);
    typed(&mut state, "method.pgd.steps", "20").unwrap();
    typed(&mut state, "method.pgd.steps", "40").unwrap();
    assert!(!frame_setup::changed(&state));
}

#[test]
fn method_unticked_and_ticked_keeps_its_position() {
    let mut state = started();
    let before = view(&state).spec.clone();
    picker::toggle(&mut state, "fgsm");
    assert_eq!(view(&state).spec.methods.len(), before.methods.len() - 1);
    assert!(row(&state, setup::METHOD).unwrap().changed);
    picker::toggle(&mut state, "fgsm");
    assert_eq!(view(&state).spec, before);
}

#[test]
fn method_outside_the_run_has_a_message_and_no_options() {
    let mut state = state();
    picker::toggle(&mut state, "pgd");
    assert!(row(&state, setup::METHOD).unwrap().text.contains("not run"));
    assert!(row(&state, "method.pgd.steps").is_none());
}

/// Regression: `m` used to select methods outside the run; the engine fitted one for minutes while the next run waited.
#[test]
fn method_keys_stay_within_the_run() {
    use crate::popups::Picker as _;
    let mut state = state();
    view_mut(&mut state).spec.methods.retain(|m| ["pgd", "alterrep"].contains(&m.name.as_str()));
    job::run(&mut state);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let asked = points(&methods::turn(&mut state, 1));
        assert_eq!(asked[0].method, view(&state).method);
        seen.push(asked[0].method.clone());
    }
    assert_eq!(seen, ["alterrep", "pgd", "alterrep"]);
    let fgsm = view(&state).catalog.methods.iter().position(|m| m.id == "fgsm").unwrap();
    let effects = picker::METHODS.take(&mut state, fgsm);
    assert_eq!((view(&state).method.as_str(), effects.len()), ("fgsm", 0), "{effects:?}");
    assert!(
        state.view.toast.as_deref().is_some_and(|t| t.contains("FGSM is not in this run: space")),
        "{:?}",
        state.view.toast
    );
    assert!(turn(&mut state, setup::STRENGTH, 1).is_empty());
    picker::toggle(&mut state, "fgsm");
    assert!(turn(&mut state, setup::STRENGTH, 1).is_empty(), "a ticked method has not been run");
}

#[test]
fn settings_of_one_method_are_drawn_in_turn() {
    let mut state = state();
    let second = MethodSpec { options: [("steps".to_owned(), 10.0)].into(), ..MethodSpec::named("pgd") };
    view_mut(&mut state).spec.methods.push(second);
    job::run(&mut state);
    assert_eq!(row(&state, "method.pgd.steps").unwrap().value, Value::Number(40.0));
    let asked = points(&turn(&mut state, setup::METHOD, 1));
    assert_eq!((asked[0].method.as_str(), asked[0].options["steps"]), ("pgd", 10.0));
    assert!(row(&state, setup::METHOD).unwrap().text.contains("steps 10"));
    typed(&mut state, "method.pgd.steps", "5").unwrap();
    let options: Vec<_> = view(&state).spec.methods.iter().map(|m| m.options.get("steps").copied()).collect();
    let (last, others) = options.split_last().unwrap();
    assert_eq!(*last, Some(5.0), "only the drawn entry changes");
    assert!(others.iter().all(Option::is_none));
    assert_eq!(points(&turn(&mut state, setup::METHOD, 1))[0].method, "inlp");
}

#[test]
fn undo_restores_the_settings_of_the_run() {
    let mut state = started();
    let before = view(&state).spec.clone();
    typed(&mut state, "task.examples", "500").unwrap();
    typed(&mut state, "seed", "9").unwrap();
    assert!(frame_setup::changed(&state));
    undo(&mut state, false);
    undo(&mut state, false);
    assert_eq!(view(&state).spec, before);
}

#[test]
fn view_keeps_to_models_and_oracles_of_the_setup() {
    let mut state = started();
    view_mut(&mut state).model = "gone".into();
    view_mut(&mut state).oracle = OracleKind::Linear;
    view_mut(&mut state).spec.probe.oracles = vec![OracleKind::Mlp];
    job::run(&mut state);
    assert_eq!((view(&state).model.as_str(), view(&state).oracle), ("bert-mini", OracleKind::Mlp));
}

#[test]
fn examples_cycle_once_their_number_is_known() {
    let mut state = started();
    assert!(example::step(&mut state, false).is_empty() && state.view.toast.is_some());
    assert_eq!(points(&example::step(&mut state, true))[0].example, 1);
}

#[test]
fn axis_switches_from_the_methods_scale() {
    let mut state = state();
    assert_eq!(scale(&state), Scale::Log);
    switch_axis(&mut state);
    assert_eq!(scale(&state), Scale::Linear);
    switch_axis(&mut state);
    assert_eq!(scale(&state), Scale::Log);
}

#[test]
fn failed_or_unstarted_run_is_not_queried() {
    let mut state = state();
    assert!(ask_point(&mut state).is_empty());
    job::run(&mut state);
    let problem = base::Problem { what: "x".into(), r#where: "y".into(), hint: "z".into() };
    let outcome = Outcome::Failed(problem);
    state.board.on_event(&Event::Finished { job: 1, generation: 1, outcome, seconds: 0.1 });
    assert!(ask_point(&mut state).is_empty());
}

#[test]
fn early_point_is_requested_again_after_its_run() {
    let mut state = started();
    let done = |generation| Event::Finished { job: 1, generation, outcome: Outcome::Done, seconds: 1.0 };
    assert!(SCREEN.on_event(&mut state, &done(7)).is_empty(), "the event belongs to a different run");
    assert_eq!(points(&SCREEN.on_event(&mut state, &done(1))).len(), 1);
}

/// Regression: if no grid contained the marker and no strength was best, "refining" used to be shown after the run had ended.
#[test]
fn point_from_first_probes_is_requested_again_after_the_run() {
    let mut state = started();
    let asked = ask_point(&mut state);
    let [Effect::Send(Command::Ask { ticket, .. })] = &asked[..] else { panic!("{asked:?}") };
    let label = Label::new(&Spec::shipped(), "bert-mini");
    let mut point = sample::results().curves[0].points[0].value.clone();
    (point.method, point.value) = (view(&state).method.clone(), marker(&state));
    for (is_final, again) in [(false, 1), (true, 0)] {
        let findings = vec![label.finding(256, is_final, 1.0, Kind::Reliability(point.clone()).into())];
        let answer = Answer::Experiment { generation: 1, findings };
        state.board.on_event(&Event::Answer { ticket: *ticket, answer });
        let done = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 1.0 };
        let mut ended = state.clone();
        assert!(!awaiting_point(&ended));
        assert_eq!(points(&SCREEN.on_event(&mut ended, &done)).len(), again, "final: {is_final}");
    }
}

/// Regression: after a change of the number of steps, the marker used to return to the default. The two settings were then shown at
/// different strengths.
#[test]
fn changed_options_keep_the_shown_strength() {
    let mut state = started();
    let label = Label::new(&Spec::shipped(), "bert-mini");
    let mut best = sample::results().optima.iter().find(|o| o.value.method == "pgd").unwrap().value.clone();
    best.value = 0.836;
    let finding = Box::new(label.finding(2400, true, 1.0, Kind::Optimum(best).into()));
    state.board.on_event(&Event::Finding { generation: 1, finding });
    assert_eq!(marker(&state), 0.836);
    let asked = points(&turn(&mut state, "method.pgd.steps", 1));
    assert_eq!((asked[0].options["steps"], asked[0].value, marker(&state)), (50.0, 0.836, 0.836));
    turn(&mut state, setup::STRENGTH, 1);
    let moved = marker(&state);
    assert!(moved > 0.836);
    turn(&mut state, "method.pgd.steps", 1);
    assert_eq!(marker(&state), moved, "the marker stays where the user put it");
}

/// Regression: the pane used to keep an earlier method's or run's example, and noted it only if a line was free.
#[test]
fn example_names_its_edit() {
    let mut state = started();
    let asked = ask_point(&mut state);
    let [Effect::Send(Command::Ask { ticket, .. })] = &asked[..] else { panic!("{asked:?}") };
    let example = serde_json::json!({"index": 0, "of": 9, "text": "The dogs [MASK].", "method": "pgd",
        "parameter": "epsilon", "value": 0.112, "oracle": [], "words": [], "correct": 0});
    let example = Kind::read("example", example).unwrap();
    let findings = vec![Label::new(&Spec::shipped(), "bert-mini").finding(1, true, 1.0, example.into())];
    state.board.on_event(&Event::Answer { ticket: *ticket, answer: Answer::Experiment { generation: 1, findings } });
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
    let mut drawn = |state: &State| {
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    // A recording has examples of few edits.
    let replay = Some(crate::state::ReplayState::new("s".into(), 20.0, 1.0));
    view_mut(&mut state).method = "fgsm".into();
    let live = std::mem::replace(&mut state.replay, replay);
    let text = drawn(&state);
    assert!(text.contains("No example of FGSM"), "{text}");
    state.replay = live;
    view_mut(&mut state).method = "pgd".into();
    methods::turn(&mut state, 1);
    assert_ne!(view(&state).method, "pgd");
    let text = drawn(&state);
    assert!(text.contains("Example 1/9 …: PGD at ε = .112"), "{text}");
}

/// Regression: after `{` the marker used to keep its position from another run.
#[test]
fn other_run_is_shown_at_its_best_strength() {
    let mut state = started();
    let label = Label::new(&Spec::shipped(), "bert-mini");
    let mut best = sample::results().optima.iter().find(|o| o.value.method == "pgd").unwrap().value.clone();
    best.value = 0.836;
    let finding = Box::new(label.finding(2400, true, 1.0, Kind::Optimum(best).into()));
    state.board.on_event(&Event::Finding { generation: 1, finding });
    state.board.on_event(&Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 1.0 });
    typed(&mut state, "seed", "9").unwrap();
    job::run(&mut state);
    turn(&mut state, setup::STRENGTH, 1);
    assert_ne!(marker(&state), 0.836);
    crate::reduce::runs::turn(&mut state, -1);
    assert_eq!((view(&state).method.as_str(), marker(&state)), ("pgd", 0.836));
}

#[test]
fn view_follows_recorded_commands() {
    let mut live = started();
    let mut spec = view(&live).spec.clone();
    spec.models = vec!["gpt2-mini".into()];
    let mut replay = state();
    SCREEN.follow(&mut replay, &Command::Run { job: 1, generation: 1, spec: Box::new(spec.into()) });
    assert_eq!(view(&replay).model, "gpt2-mini");
    let effects = turn(&mut live, setup::METHOD, -1);
    let [Effect::Send(command)] = &effects[..] else { panic!("{effects:?}") };
    SCREEN.follow(&mut replay, command);
    assert!(view(&replay).markers.is_empty(), "a marker not set by the user moves to the best strength");
    assert_eq!((view(&replay).method.as_str(), view(&replay).model.as_str()), ("fgsm", "bert-mini"));
}

#[test]
fn marker_snaps_to_nearest_stop_on_the_axis() {
    let mut state = state();
    // 1.44 is between 1.196 and 1.71: closer to one by ratio, to the other by difference.
    assert_eq!(nearest_stop(&state, 1.44), Some(1.71));
    switch_axis(&mut state);
    assert_eq!(nearest_stop(&state, 1.44), Some(1.196));
    assert_eq!(nearest_stop(&state, -3.0), Some(0.005));
}

#[test]
fn setup_marks_the_drawn_model() {
    let mut state = state();
    view_mut(&mut state).spec.models = vec!["bert-mini".into(), "gpt2-mini".into()];
    let models = row(&state, "models").unwrap();
    assert_eq!(models.notes, [" (drawn)", ""]);
    job::run(&mut state);
    assert_eq!(points(&methods::turn_model(&mut state, true))[0].model, "gpt2-mini");
    assert_eq!(row(&state, "models").unwrap().notes, ["", " (drawn)"]);
}

#[test]
fn replay_moves_the_marker_but_not_the_settings() {
    let mut state = state();
    state.replay = Some(crate::state::ReplayState::new("s".into(), 1.0, 1.0));
    turn(&mut state, setup::STRENGTH, 1);
    assert_eq!(marker(&state), 0.136);
    let seed = row(&state, "seed").unwrap();
    set(&mut state, &seed, Value::Number(4.0));
    assert_eq!(view(&state).spec.seed, 0);
    assert!(state.here().refused.is_some());
}

#[test]
fn picker_marks_run_methods_and_draws_the_chosen_one() {
    use crate::popups::Picker as _;
    let mut state = started();
    picker::open(&mut state);
    let lines =
        |state: &State| -> Vec<String> { picker::METHODS.lines(state, 0).iter().map(ToString::to_string).collect() };
    let all = lines(&state);
    assert_eq!(all.len(), view(&state).catalog.methods.len());
    assert!(all[0].starts_with('▸') && all.iter().all(|l| l.contains('▣')), "{all:?}");
    assert!(picker::METHODS.marks(&state, 0));
    picker::METHODS.mark(&mut state, 0);
    assert!(lines(&state)[0].contains('▢'));
    let asked = points(&picker::METHODS.take(&mut state, 1));
    let taken = view(&state).catalog.methods[1].id.clone();
    assert_eq!((view(&state).method.clone(), asked[0].method.clone()), (taken.clone(), taken));
    assert!(picker::METHODS.take(&mut state, 99).is_empty() && picker::METHODS.mark(&mut state, 99).is_empty());
    state.replay = Some(crate::state::ReplayState::new("s".into(), 1.0, 1.0));
    assert!(!picker::METHODS.marks(&state, 0), "a replay runs nothing");
}

#[test]
fn without_results_only_the_setup_can_be_copied() {
    let mut state = started();
    for pane in SCREEN.panes() {
        state.focus_on(pane);
        let copied = SCREEN.copy(&state);
        assert_eq!(copied.is_some(), pane == frame_setup::PANE, "{pane:?}");
        assert!(SCREEN.origin(&state).is_none() && SCREEN.figure(&state).is_none(), "{pane:?}");
    }
    state.place_mut(ID).focus = frame_setup::PANE;
    let spec = labs::Spec::parse(&SCREEN.copy(&state).unwrap(), "copied").unwrap();
    assert_eq!(spec, view(&state).spec.clone().into());
}

#[test]
fn empty_panes_give_a_reason() {
    let drawn = |state: &State| {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(140, 45)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    let mut state = state();
    state.view.size = (140, 45);
    let text = drawn(&state);
    for part in ["r runs these settings", "no example sentence yet"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    job::run(&mut state);
    state.focus_on(CURVES);
    assert!(drawn(&state).contains("the run is starting"));
    let ended = |state: &State, outcome| {
        let mut state = state.clone();
        state.board.on_event(&Event::Finished { job: 1, generation: 1, outcome, seconds: 1.0 });
        drawn(&state)
    };
    assert!(ended(&state, Outcome::Cancelled).contains("the run was cancelled before"));
    assert!(ended(&state, Outcome::Done).contains("this run has no scores of PGD under the"));
    let problem = base::Problem { what: "no weights".into(), r#where: "m".into(), hint: "fetch".into() };
    assert!(ended(&state, Outcome::Failed(problem)).contains("✗ no weights"));
}

#[test]
fn paper_preset_sets_the_spec_and_draws_its_method() {
    use crate::popups::Picker;
    let mut state = state();
    assert_eq!(picker::EXPERIMENTS.lines(&state, 0).len(), 1);
    assert!(picker::EXPERIMENTS.take(&mut state, 0).is_empty());
    let spec = &view(&state).spec;
    assert_eq!(spec.probe.grid, "paper");
    assert!(["autoattack", "rlace"].iter().all(|id| spec.methods.iter().any(|m| m.name == *id)));
    assert!(
        method_spec(&state).is_some() && state.view.toast.as_ref().is_some_and(|t| t.contains("set up as reliability"))
    );
    assert!(picker::EXPERIMENTS.take(&mut state, 7).is_empty(), "an invalid index has no effect");
}

#[test]
fn row_under_cursor_is_the_drawn_method() {
    let drawn = |state: &State| {
        let order = methods::table(state).order(state.place(ID), METHODS);
        let at = order[methods::cursor(state, METHODS)];
        assert_eq!(methods::listed(state)[at].0, view(state).method);
    };
    let mut state = started();
    drawn(&state);
    // Covers a run without the drawn method, a method that is not run, and a filter that hides the drawn one.
    let mut other = view(&state).spec.clone();
    other.methods.retain(|m| m.name != "pgd");
    frame_setup::Setup::take(&setup::SETUP, &mut state, &other.into());
    assert_ne!(view(&state).method, "pgd");
    drawn(&state);
    methods::draw(&mut state, ("pgd".into(), 0));
    drawn(&state);
    state.place_mut(ID).listed.entry(METHODS).or_default().filter = "inlp".into();
    SCREEN.refresh(&mut state);
    assert_eq!(view(&state).method, "inlp");
    drawn(&state);
}

/// Regression: a run of 1,000 examples used to end without a best strength and without an earlier warning.
#[test]
fn row_warns_of_too_few_examples() {
    let mut state = state();
    let warning = |state: &State| row(state, "task.examples").unwrap().warning;
    assert_eq!(warning(&state), "");
    typed(&mut state, "task.examples", "1000").unwrap();
    assert!(warning(&state).contains("about 33 test sentences will have an attractor"), "{}", warning(&state));
}

#[test]
fn changed_option_reports_a_refit() {
    let mut state = started();
    typed(&mut state, "method.pgd.steps", "20").unwrap();
    assert!(state.view.toast.as_ref().is_some_and(|text| text.contains("refitted")), "{:?}", state.view.toast);
}

/// Regression: the example used to look current after the drawn method, strength or settings had changed.
#[test]
fn example_of_other_edit_or_run_is_marked() {
    let mut state = started();
    let value = serde_json::json!({"index": 0, "of": 9, "text": "a", "method": "pgd", "parameter": "epsilon", "value": 0.112,
        "oracle": [], "words": [], "correct": 0});
    let value = serde_json::from_value(value).unwrap();
    let (spec, model) = (String::new(), "bert-mini".to_owned());
    let example: Tagged<ExampleFinding> =
        Tagged { spec, model, seed: 0, n: 9, is_final: true, t: 0.0, level: None, value };
    let (method, value) = (example.value.method.clone(), example.value.value);
    {
        let view = view_mut(&mut state);
        view.model.clone_from(&example.model);
        view.method.clone_from(&method);
        view.markers.insert(method, value);
    }
    assert_eq!(example::outdated(&state, &example), "");
    view_mut(&mut state).method = "fgsm".into();
    assert_eq!(example::outdated(&state, &example), " from a different edit");
    typed(&mut state, "task.examples", "1000").unwrap();
    assert_eq!(example::outdated(&state, &example), " from the previous run");
}

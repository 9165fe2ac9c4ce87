//! The power lab: its run, its questions, and the family that its comparisons join.

use probity::lab::power::Results;
use probity::lab::power::question::Question as Terms;
use probity::tui::screen::Screen;
use probity::tui::screens::power::SCREEN;

use super::common::comparison::{adjusted, compared, comparing, has_compared};
use super::*;

/// The terms that a command asks about.
fn asked(effects: &[Effect]) -> (u64, u64, f64) {
    match sent(effects)[..] {
        [
            Command::Ask {
                ticket,
                question:
                    Question::Experiment { generation, question: lab::Question::Power(Terms::Adjust(terms)) },
            },
        ] => (*ticket, *generation, terms.target),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_slider_asks_for_the_comparison_under_other_terms_and_the_answer_is_shown() {
    let mut h = has_compared(120, 40);
    let needed = |h: &Harness| h.state.board.results::<Results>().needed().unwrap().value.clone();
    let before = needed(&h);
    assert_eq!(before.target, 0.8);
    let (ticket, generation, target) = asked(&h.keys("l"));
    assert_eq!((generation, target), (2, 0.9));
    let spec = h.state.screens.power.spec.clone();
    h.event(adjusted(&spec, generation, ticket));
    let after = needed(&h);
    assert!(after.target == 0.9 && after.n_test.mean > before.n_test.mean, "{after:?}");
    assert!(h.screen().contains("wanted power") || h.screen().contains("needed for 0.9"));
    // An older answer changes nothing.
    h.event(adjusted(&probity::lab::power::Spec::shipped(), generation, ticket - 1));
    assert_eq!(needed(&h), after);
}

/// Nothing but the recording is there: other terms are answered from what the run told.
#[test]
fn a_replay_answers_other_terms_without_a_model() {
    let live = has_compared(120, 40);
    let mut replay = replayed(&live.record, 120, 40);
    replay.keys("3");
    let needed = |h: &Harness| h.state.screens.power.shown.needed().unwrap().value.clone();
    let before = needed(&replay);
    assert!(replay.keys("l").is_empty(), "a replay asks nothing");
    let after = needed(&replay);
    assert!(after.target == 0.9 && after.n_test.mean > before.n_test.mean, "{after:?}");
    assert!(replay.screen().contains("needed for 0.9"), "{}", replay.screen());
    // The command that would make it has a line for each line of the spec.
    let origin = probity::tui::screen::Screen::origin(&SCREEN, &replay.state).unwrap();
    assert!(origin.command.contains("\ntarget = 0.9\n"), "{}", origin.command);
    replay.focus(probity::tui::setup::PANE);
    replay.row("pilot");
    replay.keys("h");
    let shown = replay.state.screens.power.shown.comparison().unwrap().clone();
    assert_eq!(shown.n, 256);
    assert!(replay.screen().contains("pilot of 256"), "{}", replay.screen());
    // The run itself is as it was.
    assert_eq!(replay.state.board, live.state.board);
}

/// The line of the verdict that a slider changes is right before the engine has said anything.
#[test]
fn a_slider_is_answered_at_once() {
    let mut h = has_compared(120, 40);
    h.focus(probity::tui::setup::PANE);
    h.row("test.margin");
    let equal = |h: &Harness| h.state.screens.power.shown.comparison().unwrap().value.equivalence_p;
    let before = equal(&h);
    h.keys("l l l");
    assert!(equal(&h) < before);
    // Back where the run was, the run's own comparison is shown again.
    h.keys("h h h");
    assert_eq!(equal(&h), before);
    assert!(h.state.screens.power.shown.answer.is_none());
}

/// The bug: a comparison that was seen could be planned once another one had been run.
#[test]
fn what_was_seen_once_in_a_session_cannot_be_planned_any_more() {
    let mut h = has_compared(120, 40);
    let planned = |h: &Harness| h.state.screens.power.spec.plan.is_some();
    h.keys("P");
    assert!(h.screen().contains("too late") && !planned(&h), "{}", h.screen());
    h.keys("x P");
    assert!(planned(&h), "the other way round is another comparison: {}", h.screen());
    h.keys("enter");
    let spec_hash = lab::Spec::from(h.state.screens.power.spec.clone()).hash();
    h.event(Event::Started { job: 3, generation: 3, spec_hash });
    h.keys("P P P");
    assert!(!planned(&h));
    h.keys("x P");
    assert!(h.screen().contains("too late") && !planned(&h), "{}", h.screen());
}

/// The bug: with results on the screen another level could be chosen, and the run that followed said that it was planned.
#[test]
fn terms_chosen_after_results_are_not_what_was_planned() {
    let mut h = Harness::started(120, 40);
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 0.1 });
    h.keys("3 P enter");
    let planned = |h: &Harness| match SCREEN.setup().unwrap().spec(&h.state) {
        lab::Spec::Power(spec) => spec.plan.is_some(),
        other => panic!("{other:?}"),
    };
    let spec_hash = lab::Spec::from(h.state.screens.power.spec.clone()).hash();
    h.event(Event::Started { job: 2, generation: 2, spec_hash });
    h.focus(probity::tui::setup::PANE);
    h.row("test.alpha");
    h.keys("h");
    assert!(planned(&h), "nothing has been seen yet");
    h.keys("l");
    for finding in compared() {
        h.event(Event::Finding { generation: 2, finding: Box::new(finding) });
    }
    h.event(Event::Finished { job: 2, generation: 2, outcome: Outcome::Done, seconds: 9.5 });
    assert!(planned(&h), "the same again is what was planned");
    for row in ["test.alpha", "test.margin", "test.by", "interval.level"] {
        h.row(row);
        h.keys("l");
        assert!(!planned(&h) && h.screen().contains("exploration"), "{row}: {}", h.screen());
        h.keys("h");
        assert!(planned(&h), "{row}: back at what was planned");
    }
    // The wanted power decides nothing about the test; other sentences are new, another order of the same items is not.
    h.row("test.target");
    h.keys("l");
    assert!(planned(&h));
    h.state.screens.power.spec.seed += 1;
    assert!(planned(&h), "another seed writes other sentences");
    h.state.screens.power.spec.task.data = Some("own.tsv".into());
    assert!(planned(&h), "other sentences");
}

#[test]
fn two_sides_are_set_up_in_two_columns() {
    let mut h = has_compared(120, 40);
    let screen = h.screen();
    let line = screen.lines().find(|l| l.contains("│ model ")).unwrap_or_else(|| panic!("{screen}"));
    assert!(line.contains("A bert-mini") && line.contains("B …d:bert-mini"), "{line}");
    h.focus(probity::tui::setup::PANE);
    h.row("b.classifier");
    h.keys("l");
    assert_eq!(h.state.screens.power.spec.b.classifier, "mlp:20");
    // The frame of the pane that has the focus is another one.
    let line = h.screen().lines().find(|l| l.contains(" probe  ")).map(str::to_owned).unwrap();
    assert!(line.contains("A logistic") && line.contains("B* mlp:20"), "{line}");
}

#[test]
fn base_lines_stand_beside_the_probes() {
    let mut h = has_compared(120, 40);
    h.focus(probity::tui::screens::power::VERDICT);
    h.keys("z");
    let screen = h.screen();
    assert!(screen.contains("majority 50.0, bag of words 78"), "{screen}");
    assert!(screen.contains("does not clearly beat the bag of words"), "{screen}");
}

#[test]
fn comparisons_join_the_family_of_the_session() {
    let mut h = has_compared(120, 40);
    assert_eq!(h.state.board.family.len(), 2);
    h.keys("f");
    assert!(h.screen().contains("bert-mini"), "{}", h.screen());
    assert_eq!(fold(&h.record).family, h.state.board.family);
}

#[test]
fn before_a_comparison_sliders_ask_nothing() {
    let mut h = comparing(120, 40);
    assert!(sent(&h.keys("l")).is_empty());
    assert!(h.screen().contains("Verdict"));
    h.keys("x");
    assert_eq!(h.state.screens.power.spec.encoder(false), "bert-mini");
}

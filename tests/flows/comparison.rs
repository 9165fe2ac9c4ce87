//! The power lab: its run, its questions, and the family of its comparisons.

use probity::lab::family::Comparison;
use probity::lab::power::Results;
use probity::lab::power::question::{Adjust, Question as Terms};
use probity::tui::screen::Screen;
use probity::tui::screens::power::{SCREEN, VERDICT};

use super::common::comparison::{adjusted, answered, compared, comparing, finding, has_compared};
use super::*;

/// Ticket, generation and target power of the only question sent.
fn asked(effects: &[Effect]) -> (u64, u64, f64) {
    match sent(effects)[..] {
        [
            Command::Ask {
                ticket,
                question: Question::Experiment { generation, question: lab::Question::Power(Terms::Adjust(terms)) },
            },
        ] => (*ticket, *generation, terms.target),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn slider_requests_and_shows_other_test_settings() {
    let mut h = has_compared(120, 40);
    let needed = |h: &Harness| h.state.board.results::<Results>().needed().unwrap().value.clone();
    let before = needed(&h);
    assert_eq!(before.target, 0.8);
    let (ticket, generation, target) = asked(&h.slide().keys("l"));
    assert_eq!((generation, target), (2, 0.9));
    let spec = h.state.screens.power.spec.clone();
    h.event(adjusted(&spec, generation, ticket));
    let after = needed(&h);
    assert!(after.target == 0.9 && after.n_test.mean > before.n_test.mean, "{after:?}");
    assert!(h.screen().contains("target power") || h.screen().contains("needed for 0.9"));
    // An older answer changes nothing.
    h.event(adjusted(&probity::lab::power::Spec::shipped(), generation, ticket - 1));
    assert_eq!(needed(&h), after);
}

/// With only the recording, questions about different settings are answered from the run's findings.
#[test]
fn replay_answers_other_test_settings_without_a_model() {
    let live = has_compared(120, 40);
    let mut replay = replayed(&live.record, 120, 40);
    replay.keys("3");
    let needed = |h: &Harness| h.state.screens.power.shown.needed().unwrap().value.clone();
    let before = needed(&replay);
    assert!(replay.slide().keys("l").is_empty(), "a replay asks nothing");
    let after = needed(&replay);
    assert!(after.target == 0.9 && after.n_test.mean > before.n_test.mean, "{after:?}");
    assert!(replay.screen().contains("90 % power needs"), "{}", replay.screen());
    // The command that reproduces the answer contains every line of the spec.
    let origin = probity::tui::screen::Screen::origin(&SCREEN, &replay.state).unwrap();
    assert!(origin.command.contains("\ntarget = 0.9\n"), "{}", origin.command);
    replay.focus(probity::tui::setup::PANE);
    replay.row("pilot");
    replay.slide().keys("h");
    let shown = replay.state.screens.power.shown.comparison().unwrap().clone();
    assert_eq!(shown.n, 256);
    assert!(replay.screen().contains("256 test sentences"), "{}", replay.screen());
    // The run itself is unchanged.
    assert_eq!(replay.state.board, live.state.board);
}

/// The verdict is updated as soon as a slider moves, before the engine answers.
#[test]
fn a_slider_is_answered_at_once() {
    let mut h = has_compared(120, 40);
    h.focus(probity::tui::setup::PANE);
    h.row("test.margin");
    let equal = |h: &Harness| h.state.screens.power.shown.comparison().unwrap().value.equivalence_p;
    let before = equal(&h);
    h.keys("l l l");
    assert!(equal(&h) < before);
    // When the settings are again those of the run, its own comparison is shown again.
    h.keys("h h h");
    assert_eq!(equal(&h), before);
    assert!(h.state.screens.power.shown.answer.is_none());
}

/// Regression: a comparison whose results had been seen could be planned after a different one had been run.
#[test]
fn seen_comparison_cannot_be_planned() {
    let mut h = has_compared(120, 40);
    let planned = |h: &Harness| h.state.screens.power.spec.plan.is_some();
    h.keys("t p");
    assert!(h.screen().contains("preregistered") && !planned(&h), "{}", h.screen());
    h.keys("t x t p");
    assert!(
        h.screen().contains("preregistered") && !planned(&h),
        "swapped sides count as the same comparison: {}",
        h.screen()
    );
    // A different seed generates new sentences, which have not been seen.
    h.state.screens.power.spec.seed = 7;
    h.keys("t p");
    assert!(planned(&h), "{}", h.screen());
    h.keys("r");
    let spec_hash = lab::Spec::from(h.state.screens.power.spec.clone()).hash();
    h.event(Event::Started { job: 3, generation: 3, spec_hash });
    h.keys("t p t p t p");
    assert!(!planned(&h));
    h.state.screens.power.spec.seed = 0;
    h.keys("t p");
    assert!(h.screen().contains("preregistered") && !planned(&h), "{}", h.screen());
}

/// Regression: with results on the screen, the level could be changed, and the next run claimed to be planned.
#[test]
fn settings_changed_after_results_are_not_planned() {
    let mut h = Harness::started(120, 40);
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 0.1 });
    h.keys("3 t p r");
    let planned = |h: &Harness| match SCREEN.setup().unwrap().spec(&h.state) {
        lab::Spec::Power(spec) => spec.plan.is_some(),
        other => panic!("{other:?}"),
    };
    let spec_hash = lab::Spec::from(h.state.screens.power.spec.clone()).hash();
    h.event(Event::Started { job: 2, generation: 2, spec_hash });
    h.focus(probity::tui::setup::PANE);
    h.row("test.alpha");
    h.slide().keys("h");
    assert!(planned(&h), "no results have been seen yet");
    h.slide().keys("l");
    for finding in compared() {
        h.event(Event::Finding { generation: 2, finding: Box::new(finding) });
    }
    h.event(Event::Finished { job: 2, generation: 2, outcome: Outcome::Done, seconds: 9.5 });
    assert!(planned(&h), "the same comparison is still planned");
    for row in ["test.alpha", "test.margin", "test.by", "interval.level"] {
        h.row(row);
        h.slide().keys("l");
        assert!(!planned(&h) && h.screen().contains("not count as planned"), "{row}: {}", h.screen());
        h.slide().keys("h");
        assert!(planned(&h), "{row}: the planned value is restored");
    }
    // The target power does not affect the test, and a different seed generates different sentences.
    h.row("test.target");
    h.slide().keys("l");
    assert!(planned(&h));
    h.state.screens.power.spec.seed += 1;
    assert!(planned(&h), "different sentences");
}

/// Regression: a different seed, which only reorders a file's items, used to allow a new plan. The command shown for an answer with a
/// different margin used to contain the plan.
#[test]
fn reordered_items_are_the_same_comparison() {
    let mut start = start();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, "").unwrap();
        path
    };
    let text = format!(
        "lab = \"power\"\n[a]\nresults = [{:?}]\n[b]\nresults = [{:?}]\n[plan]\nhypothesis = \"differ\"\n",
        file("x.jsonl"),
        file("y.jsonl")
    );
    start.spec = lab::Spec::parse(&text, "x").unwrap();
    let mut h = Harness::of(start);
    h.keys("3 r");
    let setup = SCREEN.setup().unwrap();
    let spec_hash = setup.spec(&h.state).hash();
    h.event(Event::Started { job: 1, generation: 1, spec_hash });
    h.events_of(1, compared());
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 9.5 });
    let planned = |h: &Harness| setup.spec(&h.state).to_toml().contains("[plan]");
    assert!(planned(&h), "{}", setup.spec(&h.state).to_toml());
    let command = |h: &Harness| SCREEN.origin(&h.state).unwrap().command;
    assert!(command(&h).contains("[plan]"));
    h.state.screens.power.spec.seed = 5;
    assert!(!planned(&h));
    h.state.screens.power.spec.seed = 0;
    assert!(planned(&h));
    h.focus(probity::tui::setup::PANE);
    h.row("test.margin");
    h.slide().keys("l");
    assert!(!planned(&h) && !SCREEN.copy(&h.state).unwrap().contains("[plan]"));
    assert!(!command(&h).contains("[plan]"), "{}", command(&h));
}

#[test]
fn sides_are_set_up_by_name() {
    let mut h = has_compared(120, 40);
    let screen = h.screen();
    assert!(screen.contains("A model           bert-mini"), "{screen}");
    assert!(screen.contains("B model           untrained:bert-mini"), "{screen}");
    h.focus(probity::tui::setup::PANE);
    h.row("b.classifier");
    h.slide().keys("l");
    assert_eq!(h.state.screens.power.spec.b.classifier, "mlp:20");
    assert!(h.screen().contains("mlp:20"), "{}", h.screen());
}

#[test]
fn baselines_are_shown_next_to_probes() {
    let mut h = has_compared(120, 40);
    h.focus(probity::tui::screens::power::VERDICT);
    h.keys("z");
    let screen = h.screen();
    assert!(screen.contains("majority 50.0, bag of words 78"), "{screen}");
    assert!(screen.contains("does not clearly beat the bag of words"), "{screen}");
}

#[test]
fn comparisons_join_the_session_family() {
    let mut h = has_compared(120, 40);
    assert_eq!(h.state.board.family.len(), 2);
    h.keys("F");
    assert!(h.screen().contains("bert-mini"), "{}", h.screen());
    assert_eq!(fold(&h.record).family, h.state.board.family);
}

/// Regression: a comparison rerun for a different target power used to be counted in the family again.
#[test]
fn other_target_power_is_the_same_comparison() {
    let mut h = has_compared(120, 40);
    let before = h.state.board.family.len();
    h.slide().keys("l r");
    let hash = lab::Spec::from(h.state.screens.power.spec.clone()).hash();
    assert_eq!(h.state.screens.power.spec.test.target, 0.9);
    h.event(Event::Started { job: 3, generation: 3, spec_hash: hash.clone() });
    for finding in compared() {
        let finding = Box::new(lab::Finding { spec: hash.clone(), ..finding });
        h.event(Event::Finding { generation: 3, finding });
    }
    assert_eq!(h.state.board.family.len(), before);
    assert_eq!(fold(&h.record).family, h.state.board.family);
}

/// Regression: a typed pilot size used to be rounded down to a power of two, even though the engine had answered for the typed size.
#[test]
fn typed_pilot_size_is_used_exactly() {
    let mut h = has_compared(120, 40);
    h.state.screens.power.pilot = Some(300);
    let (ticket, generation, target) = asked(&h.slide().keys("l"));
    let terms = Adjust { alpha: 0.05, target, margin: 0.02, pilot: Some(300) };
    let shown = |h: &Harness| h.state.screens.power.shown.comparison().unwrap().n;
    assert_eq!(shown(&h), 256, "the run's own result, until the engine has answered");
    let spec = terms.of(&probity::lab::power::Spec::shipped());
    h.event(answered(&spec, generation, ticket, 300));
    assert_eq!(shown(&h), 300, "{}", h.screen());
}

/// Regression: power and recommended sizes by number of training sentences (the paper's Tables 2 to 4) used to be missing from the screen.
#[test]
fn power_and_recommendations_by_size_are_one_key_away() {
    let mut h = has_compared(120, 40);
    let mut seen = String::new();
    for _ in 0..8 {
        seen += &h.screen();
        h.keys("]");
    }
    for title in ["Power by training size", "Recommended test items"] {
        assert!(seen.contains(title), "no {title} in\n{seen}");
    }
}

/// A plan's comparison of fewer items is worded like the comparison of all items, and precedes it.
#[test]
fn verdict_quotes_its_comparison() {
    let whole = has_compared(120, 40).state.board.family.members()[1].clone();
    let mut h = comparing(120, 40);
    let smaller = Comparison { n: whole.n / 2, p: 0.987, planned: true, spec: "other".into(), ..whole.clone() };
    h.state.board.family.join(smaller);
    h.events_of(2, compared());
    h.focus(VERDICT);
    h.keys("z");
    let screen = h.screen();
    assert!(screen.contains("in its family of 2 comparisons: Holm p .003"), "{screen}");
}

#[test]
fn sliders_send_nothing_before_a_comparison() {
    let mut h = comparing(120, 40);
    assert!(sent(&h.slide().keys("l")).is_empty());
    assert!(h.screen().contains("Verdict"));
    h.keys("t x");
    assert_eq!(h.state.screens.power.spec.encoder(false), "bert-mini");
}

/// Adds two tasks of two folders, and the items whose results differ.
fn folders(h: &mut Harness) {
    use probity::lab::power::Kind;
    use probity::lab::power::tasks::{FlipFinding, PooledFinding, TaskFinding, TaskVerdict};
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 0.1 });
    h.keys("3 r");
    let spec = h.state.screens.power.spec.clone();
    h.event(Event::Started { job: 2, generation: 2, spec_hash: lab::Spec::from(spec).hash() });
    let difference = probity::stats::Estimate { mean: 0.05, lo: 0.01, hi: 0.09 };
    let task = |task: &str, mean_b: f64| TaskFinding {
        a: "x".into(),
        b: "y".into(),
        task: task.into(),
        metric: "acc".into(),
        mean_a: 0.75,
        mean_b,
        difference,
        p: 0.01,
        holm_p: 0.02,
        verdict: TaskVerdict::ABetter,
        test: "mid-p McNemar".into(),
        share: true,
    };
    let flip = |task: &str, item: &str, answer: &str| FlipFinding {
        task: task.into(),
        metric: "acc".into(),
        item: item.into(),
        value_a: 1.0,
        value_b: 0.0,
        answer_a: answer.into(),
        answer_b: "\u{1b}[31mwrong".into(),
        target: "right".into(),
        input: "What is it?".into(),
        facts: vec!["subject=anatomy".into()],
    };
    let (a, b, over) = ("x".into(), "y".into(), "micro".into());
    let kinds = [
        Kind::Task(task("arc", 0.7)),
        Kind::Task(task("boolq", 0.7)),
        Kind::Pooled(PooledFinding { a, b, over, tasks: 2, difference, p: None, holm_p: None }),
        Kind::Flip(flip("arc", "17", "first answer")),
        Kind::Flip(flip("boolq", "4", "second answer")),
    ];
    for kind in kinds {
        let finding = Box::new(finding(200, true, kind));
        h.event(Event::Finding { generation: 2, finding });
    }
    h.event(Event::Finished { job: 2, generation: 2, outcome: Outcome::Done, seconds: 2.0 });
}

/// Adds the same tasks for two more pairs.
fn systems(h: &mut Harness) {
    use probity::lab::power::Kind;
    use probity::lab::power::tasks::PooledFinding;
    folders(h);
    let tasks = h.state.screens.power.shown.tasks.clone();
    for (other, far) in [("z", 0.02), ("w", 0.3)] {
        let difference = probity::stats::Estimate { mean: far, lo: far - 0.01, hi: far + 0.01 };
        let mut kinds: Vec<Kind> = tasks.iter().map(|t| Kind::Task(t.value.clone())).collect();
        for kind in &mut kinds {
            if let Kind::Task(task) = kind {
                task.b = other.into();
            }
        }
        let (a, b, over) = ("x".into(), other.into(), "macro".into());
        let (p, holm_p) = (Some(0.01), Some(far / 10.0));
        kinds.push(Kind::Pooled(PooledFinding { a, b, over, tasks: 12, difference, p, holm_p }));
        for kind in kinds {
            let mut finding = finding(200, true, kind);
            finding.model = format!("x,{other}");
            h.event(Event::Finding { generation: 2, finding: Box::new(finding) });
        }
    }
}

#[test]
fn pair_of_systems_opens_its_tasks() {
    use probity::tui::screens::power::SIZES;
    let mut h = Harness::started(160, 45);
    systems(&mut h);
    h.focus(SIZES);
    let screen = h.screen();
    assert!(screen.contains("Pairs of systems (3)") && screen.contains("x − w"), "{screen}");
    assert!(screen.contains("x beats w by 30.0 points"), "{screen}");
    // The first pair has the smallest p-value.
    h.keys("enter");
    let screen = h.screen();
    assert!(screen.contains("Tasks, x − z (2)") && screen.contains("arc"), "{screen}");
    h.keys("t f");
    assert!(h.screen().contains("Pairs of systems (3)"), "{}", h.screen());
}

#[test]
fn task_opens_its_changed_items() {
    use probity::tui::screens::power::SIZES;
    let mut h = Harness::started(160, 45);
    folders(&mut h);
    h.focus(SIZES);
    let screen = h.screen();
    assert!(
        screen.contains("Tasks, x − y (2)") && screen.contains("boolq") && screen.contains("no interval"),
        "{screen}"
    );
    h.keys("down enter");
    let screen = h.screen();
    assert!(screen.contains("Changed items, x − y (1)") && screen.contains("second answer"), "{screen}");
    assert!(!screen.contains("first answer") && !screen.contains('\u{1b}'), "{screen}");
    // The pane below shows the whole item.
    assert!(screen.contains("input: What is it?") && screen.contains("subject=anatomy"), "{screen}");
    let copied = SCREEN.copy(&h.state).unwrap();
    assert!(copied.starts_with("item\tbetter") && copied.contains("\n4\tA"), "{copied}");
    // Shows all items, then returns to the tasks.
    h.keys("t f");
    assert!(h.screen().contains("Tasks, x − y (2)"), "{}", h.screen());
    h.keys("t f");
    assert!(h.screen().contains("Changed items, x − y (2)"), "{}", h.screen());
}

/// Regression: long names of the two sides used to leave no space for the values of two runs.
#[test]
fn rows_of_two_runs_fit_80_columns() {
    let mut h = has_compared(80, 24);
    h.row("seed");
    h.keys("enter 7 enter r");
    for finding in compared() {
        h.event(Event::Finding { generation: 3, finding: Box::new(finding) });
    }
    h.event(Event::Finished { job: 3, generation: 3, outcome: Outcome::Done, seconds: 9.5 });
    h.keys("D enter");
    let screen = h.screen();
    let row = screen.lines().find(|line| line.contains("accuracy at 512"));
    assert!(row.is_some_and(|row| row.matches('.').count() >= 5), "{screen}");
}

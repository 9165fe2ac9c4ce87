//! Tests of the fold over commands and events, in any order.

use proptest::prelude::*;

use super::*;
use crate::data::{DataQuestion, DataRequest};
use crate::message::{Command, Event};
use labs::LABS;
use labs::examples::TaskSpec;
use labs::finding::Label;

fn shipped() -> Spec {
    Spec::shipped(LABS[0].id())
}

fn run(job: u64, spec: Spec) -> Command {
    Command::Run { job, generation: job, spec: Box::new(spec) }
}

fn problem(what: &str) -> Problem {
    Problem::new(what, "x", "y")
}

fn common(generation: u64, body: Common) -> Event {
    let finding = Label::new(shipped().common(), "m").common(7, 1.0, body);
    Event::Finding { generation, finding: Box::new(finding) }
}

fn summary(generation: u64, seconds: f64) -> Event {
    let (device, version) = ("cpu".into(), "1".into());
    common(generation, Common::Summary(SummaryFinding { seconds, device, version, cancelled: false }))
}

fn finished(generation: u64, outcome: Outcome) -> Event {
    Event::Finished { job: generation, generation, outcome, seconds: 2.0 }
}

fn started(generation: u64) -> Event {
    Event::Started { job: generation, generation, spec_hash: format!("hash-{generation}") }
}

fn progress(stage: &str) -> Progress {
    Progress {
        stage: stage.into(),
        done: 1,
        total: 2,
        unit: "ex".into(),
        rate: 3.0,
        overall: 0.5,
        elapsed: 1.0,
        left: None,
    }
}

fn forecast(generation: u64, model: &str, seconds: f64) -> Event {
    let forecast = Forecast {
        model: model.into(),
        bytes: 1,
        parts: Vec::new(),
        seconds,
        range: None,
        because: None,
        refined: false,
        tokens_per_batch: 1,
        limit: None,
    };
    Event::Forecast { generation, forecast: Box::new(forecast) }
}

fn of_run(generation: u64) -> Vec<Event> {
    vec![
        started(generation),
        Event::Progress { generation, progress: progress("a stage") },
        forecast(generation, "m", 1.0),
        summary(generation, 9.0),
        finished(generation, Outcome::Done),
    ]
}

fn fold(lines: &[Event], mut board: Board) -> Board {
    lines.iter().for_each(|event| board.on_event(event));
    board
}

fn begun(job: u64) -> Board {
    let mut board = Board::default();
    board.on_command(&run(job, shipped()));
    board
}

#[test]
fn run_is_in_progress_until_its_end() {
    let mut board = Board::default();
    assert!(!board.running() && board.job().is_none() && board.latest().is_none());
    board.on_command(&run(1, shipped()));
    assert!(board.running(), "a run counts as running before the engine's first event");
    let board = fold(&of_run(1), board);
    assert!(!board.running());
    let run = board.latest().unwrap();
    assert_eq!((run.job.outcome.clone(), run.job.seconds), (Some(Outcome::Done), Some(2.0)));
    assert_eq!(run.summary.as_ref().map(|s| (s.value.seconds, s.n)), Some((9.0, 7)));
    assert_eq!(run.job.progress.as_ref().map(|p| p.stage.as_str()), Some("a stage"));
}

#[test]
fn run_keeps_its_initial_hash() {
    let mut board = begun(1);
    assert_eq!(board.job().unwrap().spec_hash, shipped().hash());
    board.on_event(&started(1));
    assert_eq!(board.job().unwrap().spec_hash, "hash-1", "a recorded run keeps its recorded hash");
}

#[test]
fn events_of_an_older_run_are_dropped_and_counted() {
    let mut board = begun(1);
    board.on_command(&run(2, shipped()));
    let before = board.clone();
    let board = fold(&of_run(1), board);
    assert_eq!(board.stale, of_run(1).len() as u64);
    assert_eq!(Board { stale: 0, ..board }, before);
}

#[test]
fn failure_of_an_older_run_is_not_shown() {
    let mut board = begun(1);
    board.on_command(&run(2, shipped()));
    board.on_event(&finished(1, Outcome::Failed(problem("old"))));
    assert!(board.notices.is_empty() && board.running());
}

#[test]
fn each_lab_keeps_its_runs() {
    let mut board = Board::default();
    for (job, lab) in (1..).zip(LABS) {
        board.on_command(&run(job, Spec::shipped(lab.id())));
        board = fold(&of_run(job), board);
    }
    assert_eq!(board.runs.len(), LABS.len());
    for (job, lab) in (1..).zip(LABS) {
        let run = board.run_of(lab.id()).unwrap();
        assert_eq!((run.job.id, run.summary.is_some()), (job, true), "{}", lab.title());
    }
    // A different run of the first lab is shown; the other labs keep their runs.
    let again = 1 + LABS.len() as u64;
    let before = board.runs.clone();
    board.on_command(&run(again, shipped()));
    assert_eq!(board.runs[..LABS.len()], before);
    assert_eq!(board.run_of(shipped().lab()).unwrap().job.id, again);
    assert_eq!(board.job().unwrap().id, again);
}

/// Regression: when a run was cancelled, its partial results used to give way to those of an earlier run with other settings.
#[test]
fn cancelled_run_stays_on_the_screen() {
    let lab = shipped().lab();
    let mut board = fold(&of_run(1), begun(1));
    board.on_command(&run(2, shipped()));
    let shown = |board: &Board| board.run_of(lab).unwrap().job.generation;
    board.on_event(&finished(2, Outcome::Cancelled));
    assert_eq!(shown(&board), 2);
    board.pick(1);
    assert_eq!(shown(&board), 1, "the user can select the earlier run");
    board.on_command(&run(3, shipped()));
    assert_eq!((shown(&board), board.runs_of(lab).count()), (3, 3), "a new run is shown");
}

/// Regression: a run superseded by a run of another lab used to be shown as running forever.
#[test]
fn superseded_run_has_ended() {
    let mut board = Board::default();
    for (job, lab) in (1..).zip(LABS) {
        board.on_command(&run(job, Spec::shipped(lab.id())));
        board.on_event(&started(job));
    }
    let (latest, older) = board.runs.split_last().unwrap();
    assert!(latest.job.outcome.is_none() && board.running());
    assert!(older.iter().all(|run| run.job.outcome == Some(Outcome::Cancelled)));
}

#[test]
fn failure_appears_in_its_finding_and_in_the_summary() {
    let mut board = begun(1);
    board.on_event(&common(1, Common::Error(problem("a stage failed"))));
    board.on_event(&finished(1, Outcome::Failed(problem("the run failed as well"))));
    let told: Vec<&str> = board.notices.iter().map(|n| n.problem.what.as_str()).collect();
    assert_eq!(told, ["a stage failed", "the run failed as well"]);
    assert!(board.notices.iter().all(|n| n.level == NoticeLevel::Error));
}

#[test]
fn newer_forecast_replaces_the_older() {
    let events = [forecast(1, "a", 1.0), forecast(1, "b", 2.0), forecast(1, "a", 3.0)];
    let board = fold(&events, begun(1));
    let seconds: Vec<(&str, f64)> =
        board.job().unwrap().forecasts.iter().map(|f| (f.model.as_str(), f.seconds)).collect();
    assert_eq!(seconds, [("b", 2.0), ("a", 3.0)]);
}

#[test]
fn pause_does_not_carry_over_to_a_new_run() {
    let mut board = Board::default();
    board.on_command(&Command::Pause { hold: true });
    assert!(board.runs.is_empty(), "there is no run to pause");
    board.on_command(&run(1, shipped()));
    board.on_command(&Command::Pause { hold: true });
    assert!(board.job().unwrap().held);
    board.on_command(&run(2, shipped()));
    assert!(!board.job().unwrap().held);
}

#[test]
fn commands_without_effect_leave_the_board_unchanged() {
    let board = begun(1);
    for command in [
        Command::ListModels,
        Command::Cancel { job: 1 },
        Command::Withdraw { topic: crate::message::Topic::Model },
        Command::Shutdown,
    ] {
        let mut after = board.clone();
        after.on_command(&command);
        assert_eq!(after, board, "{command:?}");
    }
}

/// Regression: nine copies of a warning used to be shown as nine lines.
#[test]
fn repeated_warning_is_listed_once() {
    let notice = |what: &str| Event::Notice(Notice { level: NoticeLevel::Warning, problem: problem(what) });
    let told = |board: &Board| board.notices.iter().map(|n| n.problem.what.clone()).collect::<Vec<_>>();
    let mut board = fold(&vec![notice("same"); 9], Board::default());
    board.on_command(&run(1, shipped()));
    let board = fold(&[notice("same"), notice("other"), notice("same")], board);
    assert_eq!(told(&board), ["same", "same", "other"], "once before the run, once during it");
    // Repeated notices are recognised even after old ones were dropped.
    let many: Vec<Event> = (0..2 * MAX_NOTICES).map(|i| notice(&i.to_string())).collect();
    let board = fold(&many, board);
    let board = fold(&many[2 * MAX_NOTICES - 1..], board);
    assert_eq!((board.notices.len(), board.before), (MAX_NOTICES, 0));
}

#[test]
fn the_latest_notices_are_kept() {
    let mut board = Board::default();
    for i in 0..MAX_NOTICES + 3 {
        let notice = Notice { level: NoticeLevel::Info, problem: problem(&i.to_string()) };
        board.on_event(&Event::Notice(notice));
    }
    assert_eq!((board.notices.len(), board.notices[0].problem.what.as_str()), (MAX_NOTICES, "3"));
}

// ---- questions about models ---------------------------------------------------------------------------------------

fn about(ticket: u64, model: &str, what: ModelQuestion) -> Command {
    Command::Ask { ticket, question: Question::Model { model: model.into(), what } }
}

fn told(ticket: u64, model: &str, answer: ModelAnswer) -> Event {
    Event::Answer { ticket, answer: Answer::Model { model: model.into(), answer } }
}

fn inspected(model: &str) -> ModelAnswer {
    ModelAnswer::Inspected(Box::new(Inspection {
        model: model.into(),
        family: "bert".into(),
        layers: 2,
        hidden: 3,
        parameters: 4,
        hash: String::new(),
        device: String::new(),
        seconds: 0.0,
        facts: Vec::new(),
        sample: Vec::new(),
    }))
}

#[test]
fn models_keep_their_request_order() {
    let mut board = Board::default();
    for (ticket, model) in (1..).zip(["b", "a", "b"]) {
        board.on_command(&about(ticket, model, ModelQuestion::Inspect));
    }
    assert_eq!(board.ticket, 3);
    assert_eq!(board.dossiers.iter().map(|d| d.model.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert!(board.dossier_of("c").is_none());
}

#[test]
fn inspected_model_replaces_its_older_entry() {
    let mut board = begun(1);
    board.on_event(&told(1, "a", inspected("a")));
    board.on_event(&told(2, "b", inspected("b")));
    board.on_event(&told(3, "a", inspected("a")));
    assert_eq!(board.models.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn failed_question_keeps_the_previous_answer() {
    let mut board = Board::default();
    board.on_event(&told(1, "a", inspected("a")));
    board.on_event(&told(2, "a", ModelAnswer::Failed(problem("gone"))));
    let dossier = board.dossier_of("a").unwrap();
    assert!(dossier.inspection.is_some() && dossier.problem.is_some());
    assert_eq!(board.notices.len(), 1);
    board.on_event(&told(3, "a", ModelAnswer::Checked(Vec::new())));
    let dossier = board.dossier_of("a").unwrap();
    assert!(dossier.problem.is_none() && dossier.check == Some(Vec::new()));
}

/// Regression: a question used to count as answered if a second question was asked before the answer arrived.
#[test]
fn question_waits_for_its_answer() {
    let mut board = Board::default();
    board.on_command(&about(1, "a", ModelQuestion::Inspect));
    board.on_command(&about(2, "a", ModelQuestion::Check));
    board.on_event(&told(1, "a", inspected("a")));
    assert_eq!(board.dossier_of("a").unwrap().waiting, Some(ModelQuestion::Check));
    board.on_event(&told(2, "a", ModelAnswer::Checked(Vec::new())));
    assert_eq!(board.dossier_of("a").unwrap().waiting, None);
    board.on_command(&about(3, "a", ModelQuestion::Check));
    board.on_event(&told(3, "a", ModelAnswer::Failed(problem("no"))));
    assert_eq!(board.dossier_of("a").unwrap().waiting, None, "a failure ends every wait");
}

// ---- questions about data -----------------------------------------------------------------------------------------

fn data(ticket: u64, set: &str, question: DataQuestion) -> Command {
    let request = DataRequest::of(&TaskSpec::default(), 0, &[], set, question);
    Command::Ask { ticket, question: Question::Data(request) }
}

fn settled(ticket: u64, answer: DataAnswer) -> Event {
    Event::Answer { ticket, answer: Answer::Data(answer) }
}

#[test]
fn progress_goes_to_the_waiting_set() {
    let mut board = Board::default();
    board.on_command(&data(1, "a", DataQuestion::Inspect));
    board.on_command(&data(2, "b", DataQuestion::Doctor));
    board.on_event(&Event::AnswerProgress { ticket: 2, progress: progress("reading b") });
    let stage = |set: &str| board.set_of(set).unwrap().waiting[0].progress.as_ref().map(|p| p.stage.clone());
    assert_eq!((stage("a"), stage("b").as_deref()), (None, Some("reading b")));
    assert_eq!(board.stale, 0);
}

#[test]
fn unexpected_answers_and_progress_are_dropped() {
    let mut board = Board::default();
    board.on_command(&data(1, "a", DataQuestion::Inspect));
    board.on_command(&data(2, "a", DataQuestion::Inspect));
    let waiting = board.clone();
    board.on_event(&Event::AnswerProgress { ticket: 1, progress: progress("old") });
    board.on_event(&settled(1, DataAnswer::Failed(problem("old"))));
    assert_eq!(board.stale, 2);
    assert_eq!(Board { stale: 0, ..board.clone() }, waiting, "stale events change nothing else");
    board.on_event(&settled(2, DataAnswer::Stopped));
    assert!(board.set_of("a").is_some_and(|d| d.stopped && d.waiting.is_empty()));
}

#[test]
fn unreadable_set_adds_a_notice() {
    let mut board = Board::default();
    board.on_command(&data(1, "a", DataQuestion::Inspect));
    board.on_event(&settled(1, DataAnswer::Failed(problem("no such file"))));
    assert_eq!(board.notices.back().map(|n| n.problem.what.as_str()), Some("no such file"));
    assert!(board.set_of("a").is_some_and(|d| d.problem.is_some()));
}

// ---- questions to experiments -------------------------------------------------------------------------------------

fn reply(ticket: u64, generation: u64) -> Event {
    Event::Answer { ticket, answer: Answer::Experiment { generation, findings: Vec::new() } }
}

#[test]
fn answer_goes_to_its_run_and_older_ones_are_dropped() {
    let mut board = begun(1);
    board.on_event(&reply(5, 1));
    assert_eq!(board.stale, 0);
    board.on_event(&reply(4, 1));
    board.on_event(&reply(6, 9));
    assert_eq!(board.stale, 2, "one answers an older question, one an unknown run");
    board.on_event(&reply(5, 1));
    assert_eq!(board.stale, 2, "a question may be answered twice: from few examples, then from all");
}

/// Regression: a question to one lab used to make another lab wait for an answer.
#[test]
fn each_run_stores_its_latest_question() {
    let question = |generation| {
        let point = labs::interventions::question::PointQuestion {
            model: "m".into(),
            method: "fgsm".into(),
            options: Default::default(),
            value: 0.1,
            example: 0,
        };
        let question = labs::interventions::Question::Point(point).into();
        Question::Experiment { generation, question }
    };
    let mut board = begun(1);
    assert_eq!(board.latest().unwrap().asked, 0);
    board.on_command(&Command::Ask { ticket: 4, question: question(1) });
    board.on_command(&Command::Ask { ticket: 5, question: question(9) });
    board.on_command(&about(6, "a", ModelQuestion::Inspect));
    assert_eq!((board.latest().unwrap().asked, board.ticket), (4, 6), "question 5 was about another run");
    board.on_command(&run(2, shipped()));
    assert_eq!(board.latest().unwrap().asked, 0, "the new run has no questions yet");
}

/// Regression: an hour-long session used to keep the results of every run (500 MB).
#[test]
fn old_runs_lose_results_but_stay_listed() {
    let held = [MOST_HELD / 2, 0, MOST_HELD / 2, 1];
    assert_eq!(over(held.into_iter()), [0]);
    assert_eq!(over([MOST_HELD, MOST_HELD + 1].into_iter()), [0], "the latest stays");
    assert!(over([3, MOST_HELD - 3].into_iter()).is_empty());
    let mut board = begun(1);
    board.on_event(&finished(1, Outcome::Done));
    board.runs[0].held = MOST_HELD + 1;
    board.on_command(&run(2, shipped()));
    assert!(!board.runs[0].gone, "the latest stays");
    board.on_command(&run(3, shipped()));
    assert!(board.runs[0].gone && !board.runs[1].gone);
    assert_eq!(board.runs[0].job.outcome, Some(Outcome::Done));
    assert_eq!(board.runs[0].results, Results::new(LABS[0].id()));
}

#[test]
fn run_can_be_released_before_it_starts() {
    let mut board = Board::default();
    board.let_go(1);
    (1..=3).for_each(|job| board.on_command(&run(job, shipped())));
    assert_eq!(board.runs.iter().map(|run| run.gone).collect::<Vec<_>>(), [false, true, false]);
    assert!(board.unwanted.is_empty());
}

#[test]
fn engine_information_is_kept() {
    let mut board = Board::default();
    let info = EngineInfo { version: "1".into(), device: "cpu".into() };
    board.on_event(&Event::Ready(info.clone()));
    let model = Inspection::info(match &inspected("m") {
        ModelAnswer::Inspected(inspection) => inspection,
        _ => unreachable!(),
    });
    board.on_event(&Event::Models { models: vec![model.clone(), model] });
    board.on_event(&Event::Models { models: Vec::new() });
    assert_eq!((board.engine, board.models), (Some(info), Vec::new()), "the latest list replaces earlier ones");
}

proptest! {
    #[test]
    fn late_events_of_older_runs_do_not_change_the_board(
        noise in prop::collection::vec((0usize..16, 1u64..3, 0usize..5), 0..40),
    ) {
        let quiet = {
            let mut board = begun(2);
            board.on_command(&run(3, shipped()));
            fold(&of_run(3), board)
        };
        let mut loud = begun(2);
        loud.on_command(&run(3, shipped()));
        for (at, event) in of_run(3).iter().enumerate() {
            for (_, generation, which) in noise.iter().filter(|(place, ..)| *place == at) {
                loud.on_event(&of_run(*generation)[*which]);
            }
            loud.on_event(event);
        }
        let dropped = noise.iter().filter(|(place, ..)| *place < 5).count() as u64;
        prop_assert_eq!(loud.stale, dropped);
        prop_assert_eq!(Board { stale: 0, ..loud }, quiet);
    }
}

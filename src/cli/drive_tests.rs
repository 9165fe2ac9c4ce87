//! Tests of the headless loop with a scripted engine.

use tokio::sync::mpsc::{Sender, channel};

use super::*;
use engine::fake::FakeEngine;
use engine::message::{EngineInfo, Progress};
use labs::interventions;
use session::format::{Header, Session};
use session::name;
use session::record::Recorder;

fn run(
    script: impl FnMut(&Command) -> Vec<Event> + Send + 'static,
    interrupt: impl FnOnce(&Sender<()>),
) -> (End, Vec<serde_json::Value>, Session, Board) {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = FakeEngine::new(Box::new(script));
    let mut events = engine.take_events().unwrap();
    let (sender, mut interrupts) = channel(2);
    interrupt(&sender);
    let mut json = Vec::new();
    let spec = Spec::from(interventions::Spec::shipped());
    let header = Header::new("cpu", String::new(), Some(spec.clone()));
    let mut sinks = Sinks {
        board: Board::default(),
        recorder: Some(Box::new(Recorder::create(folder.path(), "s", &header).unwrap())),
        json: Some(&mut json),
        file: None,
        meter: Meter::Quiet,
        unkept: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let end = runtime.block_on(drive(&mut engine, &mut events, &mut interrupts, (1, &spec), &mut sinks)).unwrap();
    let board = sinks.board.clone();
    drop(sinks);
    let session = Session::read(&name::file(folder.path(), "s")).unwrap();
    let text = String::from_utf8(json).unwrap();
    (end, text.lines().map(|l| serde_json::from_str(l).unwrap()).collect(), session, board)
}

fn finished(outcome: Outcome) -> Event {
    Event::Finished { job: 1, generation: 1, outcome, seconds: 0.5 }
}

fn ready() -> Event {
    Event::Ready(EngineInfo { version: "9.9.9".into(), device: "fake".into() })
}

fn problem() -> Problem {
    Problem::new("no weights \u{1b}[2J", "bert-mini", "fetch them")
}

#[test]
fn run_ends_with_summary_and_session_gives_the_same_board() {
    let script = |command: &Command| match command {
        Command::Run { .. } => {
            let progress = Progress {
                stage: "data".into(),
                done: 1,
                total: 2,
                unit: "ex".into(),
                rate: 1.5,
                overall: 0.25,
                elapsed: 0.0,
                left: None,
            };
            vec![ready(), Event::Progress { generation: 1, progress }, finished(Outcome::Done)]
        }
        _ => Vec::new(),
    };
    let (end, json, session, board) = run(script, |_| {});
    assert_eq!(end, End::Done);
    assert_eq!(json.len(), 1);
    assert_eq!((&json[0]["kind"], &json[0]["cancelled"]), (&"summary".into(), &false.into()));
    assert_eq!((&json[0]["version"], &json[0]["device"]), (&"9.9.9".into(), &"fake".into()));
    assert_eq!(session.board(), board);
}

#[test]
fn failure_is_recorded_as_error_and_summary() {
    let script = |command: &Command| match command {
        // The engine sends its own summary before the end of the run.
        Command::Run { spec, .. } => {
            let summary = SummaryFinding { seconds: 0.5, device: "fake".into(), version: "9".into(), cancelled: false };
            let finding = Finding {
                lab: spec.lab(),
                spec: spec.hash(),
                model: "m".into(),
                seed: 0,
                n: 0,
                r#final: true,
                t: 0.5,
                level: None,
                body: Common::Summary(summary).into(),
            };
            vec![Event::Finding { generation: 1, finding: Box::new(finding) }, finished(Outcome::Failed(problem()))]
        }
        _ => Vec::new(),
    };
    let (end, json, session, board) = run(script, |_| {});
    assert_eq!(end, End::Failed);
    let kinds: Vec<_> = json.iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["error", "summary"]);
    assert_eq!(json[0]["what"], problem().what);
    for key in ["where", "hint", "lab", "spec", "model", "seed", "n", "final", "t"] {
        assert!(json[0].get(key).is_some(), "{key}");
    }
    assert_eq!(session.board(), board);
}

#[test]
fn second_interrupt_exits_without_an_answer() {
    let (end, json, ..) = run(
        |command| if matches!(command, Command::Run { .. }) { vec![ready()] } else { Vec::new() },
        |sender| {
            sender.try_send(()).unwrap();
            sender.try_send(()).unwrap();
        },
    );
    assert_eq!(end, End::Cancelled);
    assert_eq!(json.last().unwrap()["cancelled"], true);
}

/// An engine whose thread has ended unexpectedly.
struct Dead(Option<Receiver<Event>>);

impl Engine for Dead {
    fn send(&mut self, _: Command) -> Result<(), engine::EngineGone> {
        Err(engine::EngineGone)
    }

    fn take_events(&mut self) -> Option<Receiver<Event>> {
        self.0.take()
    }
}

#[test]
fn dead_engine_ends_the_run_with_an_error() {
    let mut engine = Dead(Some(channel(1).1));
    let mut events = engine.take_events().unwrap();
    let (_keep, mut interrupts) = channel(2);
    let mut json = Vec::new();
    let mut sinks = Sinks {
        board: Board::default(),
        recorder: None,
        json: Some(&mut json),
        file: None,
        meter: Meter::Quiet,
        unkept: None,
    };
    let spec = Spec::from(interventions::Spec::shipped());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let end = runtime.block_on(drive(&mut engine, &mut events, &mut interrupts, (1, &spec), &mut sinks)).unwrap();
    assert_eq!(end, End::Failed);
    drop(sinks);
    let text = String::from_utf8(json).unwrap();
    assert!(text.contains("the engine stopped") && text.trim_end().lines().count() == 2, "{text}");
}

#[test]
fn interrupt_cancels_and_waits_for_the_engine() {
    let script = |command: &Command| match command {
        Command::Run { .. } => vec![ready()],
        Command::Cancel { job: 1 } => vec![finished(Outcome::Cancelled)],
        _ => Vec::new(),
    };
    let (end, json, session, board) = run(script, |sender| sender.try_send(()).unwrap());
    assert_eq!(end, End::Cancelled);
    assert_eq!(json.len(), 1);
    assert_eq!(json[0]["cancelled"], true);
    assert_eq!(board.job().unwrap().outcome, Some(Outcome::Cancelled));
    assert_eq!(session.board(), board);
}

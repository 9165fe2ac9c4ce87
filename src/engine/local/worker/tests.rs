//! Tests of the worker between runs: the list of models, questions about single models, pauses, cancellations, shutdown.

use std::path::Path;

use tokio::sync::mpsc::Receiver as Events;

use super::super::tests::fixture;
use super::super::{Cache, LocalEngine};
use super::*;
use crate::Engine;
use crate::message::{Question, Topic};
use labs::Body;
use labs::examples::FEWEST_EXAMPLES;
use labs::interventions;
use labs::interventions::oracle::OracleKind;
use labs::interventions::question::PointQuestion;
use labs::interventions::spec::MethodSpec;
use model::{Device, Dtype};

struct Rig {
    engine: LocalEngine,
    events: Events<Event>,
}

impl Rig {
    fn with(models: &[&str]) -> Self {
        let mut engine = LocalEngine::start(options(models)).unwrap();
        let events = engine.take_events().unwrap();
        Self { engine, events }
    }

    fn new() -> Self {
        Self::with(&[])
    }

    fn send(&mut self, command: Command) {
        self.engine.send(command).unwrap();
    }

    fn about(&mut self, ticket: u64, model: &str, what: ModelQuestion) {
        let question = Question::Model { model: model.to_owned(), what };
        self.send(Command::Ask { ticket, question });
    }

    /// All events up to and including the first one that satisfies `stop`.
    fn until(&mut self, stop: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut all = Vec::new();
        loop {
            let event = self.events.blocking_recv().expect("the engine is running");
            let done = stop(&event);
            all.push(event);
            if done {
                return all;
            }
        }
    }

    fn answer(&mut self, ticket: u64) -> ModelAnswer {
        let events = self.until(|e| matches!(e, Event::Answer { ticket: t, .. } if *t == ticket));
        match events.last() {
            Some(Event::Answer { answer: Answer::Model { answer, .. }, .. }) => answer.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn outcome(&mut self, job: u64) -> Outcome {
        let events = self.until(|e| matches!(e, Event::Finished { job: j, .. } if *j == job));
        match events.last() {
            Some(Event::Finished { outcome, .. }) => outcome.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn options(models: &[&str]) -> LocalOptions {
    LocalOptions {
        device: Device::Cpu,
        dtype: Dtype::F32,
        cache: Cache::none(),
        models: models.iter().map(|m| (*m).to_owned()).collect(),
        memory_limit: None,
        most_models: 1,
        asked: true,
    }
}

/// The smallest possible run: a control that trains nothing, judged by linear oracles on few examples.
fn spec(model: &str) -> interventions::Spec {
    let mut spec = interventions::Spec::shipped();
    spec.models = vec![model.to_owned()];
    spec.task.examples = FEWEST_EXAMPLES;
    spec.interval.resamples = 200;
    spec.probe.oracles = vec![OracleKind::Linear];
    spec.methods = vec![MethodSpec { values: vec![0.0, 1.0], ..MethodSpec::named("random") }];
    spec
}

fn run(job: u64, spec: interventions::Spec) -> Command {
    Command::Run { job, generation: job, spec: Box::new(spec.into()) }
}

fn point(ticket: u64, generation: u64, model: &str) -> Command {
    let question = interventions::Question::Point(PointQuestion {
        model: model.to_owned(),
        method: "random".into(),
        options: Default::default(),
        value: 2.0,
        example: 0,
    });
    Command::Ask { ticket, question: Question::Experiment { generation, question: question.into() } }
}

fn model(dir: &Path) -> String {
    fixture(dir)
}

#[test]
fn model_list_is_ordered_unique_and_skips_broken_entries() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let broken = dir.path().join("broken");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("config.json"), "{").unwrap();
    let broken = broken.display().to_string();
    let mut rig = Rig::with(&[&own, &own, BUILTINS[0].name, &broken]);
    rig.send(Command::ListModels);
    let events = rig.until(|e| matches!(e, Event::Models { .. }));
    let Some(Event::Models { models }) = events.last() else { panic!() };
    let names: Vec<&str> = models.iter().map(|m| m.name.as_str()).collect();
    let built_in: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
    assert_eq!(names[..built_in.len()], built_in);
    assert_eq!(names[built_in.len()..], [own.as_str()]);
    let told = events
        .iter()
        .any(|e| matches!(e, Event::Notice(n) if n.level == NoticeLevel::Error && n.problem.r#where == broken));
    assert!(told, "{events:?}");
}

#[test]
fn described_model_stays_in_memory() {
    let mut rig = Rig::new();
    for ticket in [1, 2] {
        rig.about(ticket, "bert-tiny", ModelQuestion::Inspect);
        let ModelAnswer::Inspected(found) = rig.answer(ticket) else { panic!() };
        assert_eq!((found.model.as_str(), found.family.as_str()), ("bert-tiny", "bert"));
        assert_eq!(found.seconds > 0.0, ticket == 1, "loaded once");
    }
}

#[test]
fn failed_model_questions_do_not_stop_the_worker() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let mut rig = Rig::new();
    let asked = [
        ("./no/such/folder", ModelQuestion::Inspect, "no/such/folder"),
        ("bert-tiny", ModelQuestion::Check, "expected.json"),
        (own.as_str(), ModelQuestion::Check, "expected"),
    ];
    for (ticket, (name, what, part)) in (1..).zip(asked) {
        rig.about(ticket, name, what);
        let ModelAnswer::Failed(problem) = rig.answer(ticket) else { panic!("{name}") };
        assert!(problem.to_string().contains(part) && !problem.hint.is_empty(), "{problem}");
        assert_eq!(problem.r#where, name, "the problem names the model in question");
    }
    rig.about(9, "bert-tiny", ModelQuestion::Inspect);
    assert!(matches!(rig.answer(9), ModelAnswer::Inspected(_)));
}

#[test]
fn withdrawn_model_questions_are_not_answered() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let mut rig = Rig::new();
    rig.send(run(1, spec(&own)));
    // The questions wait for the run, and are withdrawn in the meantime.
    rig.about(1, "bert-tiny", ModelQuestion::Inspect);
    rig.about(2, "gpt2-tiny", ModelQuestion::Inspect);
    rig.send(Command::Withdraw { topic: Topic::Model });
    rig.send(Command::Cancel { job: 1 });
    rig.about(3, "bert-tiny", ModelQuestion::Inspect);
    let events = rig.until(|e| matches!(e, Event::Answer { ticket: 3, .. }));
    let answered = events.iter().filter(|e| matches!(e, Event::Answer { .. })).count();
    assert_eq!(answered, 1, "{events:?}");
}

#[test]
fn question_without_experiment_does_not_block() {
    let mut rig = Rig::new();
    rig.send(point(1, 1, "bert-tiny"));
    rig.about(2, "bert-tiny", ModelQuestion::Inspect);
    let events = rig.until(|e| matches!(e, Event::Answer { .. }));
    assert!(matches!(events.last(), Some(Event::Answer { ticket: 2, .. })), "{events:?}");
}

/// Regression: questions from sliders used to remain unanswered after a cancellation, because every question was treated as work of the
/// cancelled run.
#[test]
fn cancelled_run_answers_questions() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let mut rig = Rig::new();
    rig.send(run(1, spec(&own)));
    // The oracles exist once the first estimate has been reported.
    rig.until(|e| matches!(e, Event::Finding { finding, .. } if finding.level.is_some()));
    rig.send(Command::Cancel { job: 1 });
    rig.until(|e| matches!(e, Event::Finished { .. }));
    rig.send(point(5, 1, &own));
    let stop = |e: &Event| matches!(e, Event::Answer { ticket: 5, .. } | Event::Notice(_));
    let events = rig.until(stop);
    assert!(matches!(events.last(), Some(Event::Answer { ticket: 5, .. })), "{events:?}");
}

#[test]
fn failed_question_does_not_block_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let mut rig = Rig::new();
    rig.send(run(1, spec(&own)));
    assert_eq!(rig.outcome(1), Outcome::Done);
    rig.send(point(1, 1, "no-such-model"));
    let events = rig.until(|e| matches!(e, Event::Notice(_)));
    let Some(Event::Notice(notice)) = events.last() else { panic!() };
    assert!(notice.problem.what.contains("no-such-model"), "{notice:?}");
    rig.send(point(2, 1, &own));
    rig.until(|e| matches!(e, Event::Answer { ticket: 2, .. }));
}

#[test]
fn a_paused_run_can_be_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let mut rig = Rig::new();
    rig.send(run(1, spec(&own)));
    rig.send(Command::Pause { hold: true });
    rig.send(Command::Cancel { job: 1 });
    assert_eq!(rig.outcome(1), Outcome::Cancelled);
    rig.send(run(2, spec(&own)));
    assert_eq!(rig.outcome(2), Outcome::Done, "the pause ended with the run");
}

#[test]
fn superseded_and_new_run_both_report_their_end() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let mut rig = Rig::new();
    rig.send(run(1, spec(&own)));
    rig.until(|e| matches!(e, Event::Started { job: 1, .. }));
    rig.send(run(2, spec(&own)));
    let events = rig.until(|e| matches!(e, Event::Finished { job: 2, .. }));
    let ends: Vec<(u64, Outcome)> = events
        .iter()
        .filter_map(|e| match e {
            Event::Finished { job, outcome, .. } => Some((*job, outcome.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [(1, Outcome::Cancelled), (2, Outcome::Done)]);
}

#[test]
fn summary_precedes_the_end_and_states_cancellation() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let mut rig = Rig::new();
    for (job, cancel) in [(1, true), (2, false)] {
        rig.send(run(job, spec(&own)));
        if cancel {
            rig.send(Command::Cancel { job });
        }
        let events = rig.until(|e| matches!(e, Event::Finished { .. }));
        let [.., Event::Finding { finding, .. }, Event::Finished { .. }] = &events[..] else { panic!("{events:?}") };
        let Body::Common(Common::Summary(summary)) = &finding.body else { panic!("{finding:?}") };
        assert_eq!(summary.cancelled, cancel);
        assert_eq!(finding.n == 0, cancel, "n is 0 only after a cancellation");
    }
}

#[test]
fn worker_ends_with_the_front_end() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let mut rig = Rig::new();
    rig.send(run(1, spec(&own)));
    rig.until(|e| matches!(e, Event::Started { .. }));
    rig.send(Command::Shutdown);
    while rig.events.blocking_recv().is_some() {}
    assert!(rig.engine.send(Command::ListModels).is_err(), "the engine accepts no more commands");
}

#[test]
fn forecast_alone_fails_as_its_run_would() {
    let dir = tempfile::tempdir().unwrap();
    let own = model(dir.path());
    let cache = tempfile::tempdir().unwrap();
    let options = || LocalOptions { cache: Cache::at(cache.path()), ..options(&[]) };
    let found = super::super::forecast(&spec(&own).into(), options()).unwrap();
    assert_eq!(found.iter().map(|f| f.model.as_str()).collect::<Vec<_>>(), [own.as_str()]);
    assert!(found[0].bytes > 1 << 20 && found[0].seconds > 0.0, "{found:?}");
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0, "nothing was stored");
    let problem = super::super::forecast(&spec("./no/such/folder").into(), options()).unwrap_err();
    assert!(problem.to_string().contains("no/such/folder"), "{problem}");
}

#[test]
fn panic_message_is_reported() {
    let words = |panic: Box<dyn std::any::Any + Send>| internal(panic.as_ref()).what;
    assert_eq!(words(Box::new("a word")), "internal error: a word");
    assert_eq!(words(Box::new("a text".to_owned())), "internal error: a text");
    assert_eq!(words(Box::new(5)), "internal error: unknown");
}

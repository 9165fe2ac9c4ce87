//! Tests of the host on a channel instead of a thread.

use std::sync::mpsc::{Sender, channel as commands_channel};

use tokio::sync::mpsc::{Receiver, channel};

use super::*;
use crate::message::{Command, Question};
use labs::finding::Label;
use labs::interventions::question::{PointQuestion, Question as Asked};
use labs::{Common, LABS, Spec};
use model::{Device, Dtype};

/// Everything that a run borrows, with the other ends of its channels.
struct Rig {
    commands: Sender<Command>,
    events: Receiver<Event>,
    outbox: Outbox,
    inbox: Inbox,
    shelf: ModelCache,
    rates: Rates,
    cache: Cache,
}

impl Rig {
    fn new(cache: Cache) -> Self {
        let (commands, inbox) = commands_channel();
        let (outbox, events) = channel(64);
        Self {
            commands,
            events,
            outbox: Outbox::new(outbox),
            inbox: Inbox::new(inbox),
            shelf: ModelCache::new(Device::Cpu, Dtype::F32, 1),
            rates: Rates::new(),
            cache,
        }
    }

    /// Creates a host for this run; run number 0 stores nothing.
    fn host(&mut self, job: JobId) -> LocalHost<'_> {
        let lent = WorkerParts {
            inbox: &mut self.inbox,
            shelf: &mut self.shelf,
            rates: &mut self.rates,
            cache: &self.cache,
            keeps: job != 0,
            memory_limit: Some(77),
            asked: true,
        };
        LocalHost::new(lent, self.outbox.clone(), job, job)
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

fn point(ticket: Ticket, generation: Generation) -> Command {
    let question = Asked::Point(PointQuestion {
        model: "m".into(),
        method: "fgsm".into(),
        options: Default::default(),
        value: 0.1,
        example: 0,
    });
    Command::Ask { ticket, question: Question::Experiment { generation, question: question.into() } }
}

fn run(job: JobId) -> Command {
    Command::Run { job, generation: job, spec: Box::new(Spec::shipped(LABS[0].id())) }
}

#[test]
fn measured_rate_is_reused_by_later_runs() {
    let mut rig = Rig::new(Cache::none());
    let mut slices = 0;
    for job in [1, 2] {
        let mut slice = || {
            slices += 1;
            std::thread::sleep(std::time::Duration::from_millis(5));
            Ok(10.0)
        };
        let rate = rig.host(job).rate("tokens", &mut slice).unwrap();
        assert!(rate >= 0.0005, "five milliseconds divided by ten units: {rate}");
    }
    assert_eq!(slices, 1);
    let mut other = || Err(Cancelled.into());
    assert!(rig.host(3).rate("steps", &mut other).is_err(), "a failed measurement gives no rate");
    assert!(!rig.rates.contains_key("steps"));
}

/// Regression: cancelling the forecast of the paper's experiment used to take three seconds, because every kind of work was measured before
/// the cancellation was noticed.
#[test]
fn stopping_run_measures_no_more_rates() {
    let mut rig = Rig::new(Cache::none());
    let mut slices = 0;
    let commands = rig.commands.clone();
    let mut slice = || {
        slices += 1;
        commands.send(Command::Cancel { job: 1 }).unwrap();
        Ok(1.0)
    };
    assert!(rig.host(1).rate("fit", &mut slice).is_ok(), "a single measurement is not interrupted");
    assert!(rig.host(1).rate("sweep", &mut slice).is_err());
    assert_eq!(slices, 1);
}

#[test]
fn forecast_only_reads_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::new(Cache::at(dir.path()));
    rig.host(1).store().keep_trained("a", b"probe").unwrap();
    let reading = rig.host(0).store();
    assert_eq!(reading.trained("a").as_deref(), Some(&b"probe"[..]));
    reading.keep_trained("b", b"probe").unwrap();
    assert_eq!(rig.host(1).store().trained("b"), None);
}

#[test]
fn run_stops_on_cancellation_newer_run_or_shutdown() {
    for command in [Command::Cancel { job: 1 }, run(2), Command::Shutdown] {
        let mut rig = Rig::new(Cache::none());
        assert!(rig.host(1).poll().is_ok());
        rig.commands.send(command.clone()).unwrap();
        assert!(rig.host(1).beat(1, 2).is_err(), "{command:?}");
    }
    let mut rig = Rig::new(Cache::none());
    rig.commands.send(Command::Cancel { job: 9 }).unwrap();
    assert!(rig.host(1).poll().is_ok(), "the command cancels another run");
}

#[test]
fn paused_run_resumes() {
    let mut rig = Rig::new(Cache::none());
    rig.commands.send(Command::Pause { hold: true }).unwrap();
    let commands = rig.commands.clone();
    let later = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        commands.send(Command::Pause { hold: false }).unwrap();
    });
    assert!(rig.host(1).poll().is_ok());
    later.join().unwrap();
    assert!(!rig.inbox.queue.held());
}

/// Regression: each step of a dragged slider used to wait for the full answer to the previous step.
#[test]
fn newer_question_interrupts_an_answer() {
    let mut rig = Rig::new(Cache::none());
    rig.commands.send(point(4, 1)).unwrap();
    let mut host = rig.host(1);
    assert!(host.beat(1, 2).is_ok(), "questions do not interrupt a run");
    host.give_way(true);
    assert!(host.beat(1, 2).is_err());
    assert_eq!(host.waiting().map(|w| w.ticket), Some(4));
    assert!(host.beat(1, 2).is_ok(), "no newer question is waiting");
}

#[test]
fn question_reaches_only_its_run_once() {
    let mut rig = Rig::new(Cache::none());
    rig.commands.send(point(4, 1)).unwrap();
    let mut host = rig.host(1);
    assert!(host.waiting().is_none(), "the question has not been received yet");
    assert!(host.superseded(), "a newer question is waiting");
    assert_eq!(host.waiting().map(|w| w.ticket), Some(4));
    assert!(host.waiting().is_none() && !host.superseded());
    rig.commands.send(point(5, 1)).unwrap();
    let mut host = rig.host(2);
    host.poll().unwrap();
    assert!(host.waiting().is_none(), "the question was for another run");
}

#[test]
fn messages_carry_the_run_generation() {
    let mut rig = Rig::new(Cache::none());
    let error = Common::Error(Problem::new("x", "", ""));
    let finding = Label::new(Spec::shipped(LABS[0].id()).common(), "m").common(1, 0.0, error);
    let mut host = rig.host(3);
    host.find(finding.clone()).unwrap();
    host.reply(8, vec![finding.clone()], true).unwrap();
    assert_eq!(host.memory_limit(), Some(77));
    let want = [
        Event::Finding { generation: 3, finding: Box::new(finding.clone()) },
        Event::Answer { ticket: 8, answer: Answer::Experiment { generation: 3, findings: vec![finding] } },
    ];
    assert_eq!(rig.events(), want);
}

#[test]
fn full_queue_drops_progress_but_not_results() {
    let mut rig = Rig::new(Cache::none());
    for i in 0..200 {
        rig.host(1).stage(format!("stage {i}"), "ex", 1.0);
    }
    assert_eq!(rig.events().len(), 64, "the channel is full, and the work continued");
    drop(std::mem::replace(&mut rig.events, channel(1).1));
    let level = NoticeLevel::Info;
    let problem = Problem::new("x", "", "");
    assert!(rig.host(1).notice(level, problem).is_err(), "the receiver is gone");
}

#[test]
fn stages_and_downloads_are_reported_with_their_units() {
    let mut rig = Rig::new(Cache::none());
    let mut host = rig.host(1);
    host.plan(4.0);
    host.stage("reading".into(), "ex", 2.0);
    host.progress(5, 5);
    assert!(host.elapsed() >= 0.0);
    let told: Vec<(String, u64, f64)> = rig
        .events()
        .iter()
        .filter_map(|e| match e {
            Event::Progress { generation: 1, progress: p } => {
                Some((p.unit.clone(), p.done, (p.overall * 1000.0).round() / 1000.0))
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, [("ex".to_owned(), 0, 0.0), ("ex".to_owned(), 5, 0.5)]);
    let mut meter = Meter::new();
    let mut at = |step, done, total| {
        let t = Transfer { model: "org/name", file: "model.safetensors", step, done, total };
        transfer(&mut meter, &t).map(|p| (p.stage, p.done, p.total, p.overall))
    };
    let (stage, done, total, overall) = at(Step::Asking, 0, None).unwrap();
    assert_eq!((stage.as_str(), done, total, overall), ("requesting org/name: model.safetensors", 0, 1, 0.0));
    let (stage, done, total, overall) = at(Step::Fetching, 3_000_000, Some(3_000_000)).unwrap();
    assert_eq!((stage.as_str(), done, total), ("fetching org/name: model.safetensors", 3, 3));
    assert_eq!(overall, 0.0, "a download does not advance the run");
}

#[test]
fn cancelled_run_loads_no_model() {
    let mut rig = Rig::new(Cache::none());
    assert_eq!(rig.host(1).model("bert-tiny").unwrap().name(), "bert-tiny");
    assert!(rig.shelf.holds("bert-tiny"));
    assert!(matches!(rig.host(1).model("./no/such/folder"), Err(Fault::Failed(_))));
}

/// Regression: each slider moved after a run used to restart the finished progress bar.
#[test]
fn answering_about_a_finished_run_shows_no_progress() {
    let mut rig = Rig::new(Cache::none());
    let mut host = rig.host(1).answering();
    host.stage("fitting".into(), "ex", 1.0);
    host.progress(5, 5);
    assert!(!rig.events().iter().any(|e| matches!(e, Event::Progress { .. })));
}

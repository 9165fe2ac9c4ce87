//! A thread that answers questions about data sets while a run is in progress.
//!
//! It checks the inbox at every read from a file, every row and every piece of a download. A question over millions of rows can therefore
//! be stopped at any time, even while all rows are being dropped.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

use super::host::Outbox;
use super::worker::internal;
use crate::data::{self, DROPPED, DataAnswer, DataDiagnosis, DataInspection, DataQuestion, DataRequest, EXAMPLES};
use crate::message::{Answer, Command, Event, Progress, Question, Ticket, Topic};
use base::Cancelled;
use base::Problem;
use corpus::doctor::{Survey, Vocabulary};
use corpus::overview::Overview;
use corpus::readers::Watch;
use corpus::sets::{BuiltIn, SetError, Source};
use labs::fault::problem;
use model::ModelError;
use model::source::expand;

/// Minimum time in seconds between progress reports.
const EVERY: f64 = 0.25;
/// Number of rows between two checks of the inbox.
const ROWS: u64 = 1_024;

/// Answers questions until the front end disconnects.
pub(crate) fn work(commands: Receiver<Command>, outbox: Outbox) {
    let questions = Rc::new(DataQueue::new(commands, outbox));
    while questions.step().is_ok() {}
}

/// Pending questions, and progress on the current one.
struct DataQueue {
    commands: Receiver<Command>,
    outbox: Outbox,
    queue: RefCell<VecDeque<(Ticket, DataRequest)>>,
    stopped: Cell<bool>,
    closed: Cell<bool>,
    pace: RefCell<Pace>,
}

struct Pace {
    ticket: u64,
    stage: String,
    begun: Instant,
    reported: Option<f64>,
    bytes: u64,
    total: u64,
    rows: u64,
}

impl Pace {
    fn new(ticket: u64) -> Self {
        let (stage, begun) = (String::new(), Instant::now());
        Self { ticket, stage, begun, reported: None, bytes: 0, total: 0, rows: 0 }
    }

    /// Returns a progress report if one is due. The rate is in rows; the remaining time is estimated from bytes, if their total is known.
    fn report(&mut self) -> Option<Event> {
        let now = self.begun.elapsed().as_secs_f64();
        if self.reported.is_some_and(|then| now - then < EVERY) {
            return None;
        }
        self.reported = Some(now);
        let share = if self.total == 0 { 0.0 } else { (self.bytes as f64 / self.total as f64).min(1.0) };
        let progress = Progress {
            stage: self.stage.clone(),
            done: self.bytes,
            total: self.total,
            unit: "rows".into(),
            rate: if now > 0.0 { self.rows as f64 / now } else { 0.0 },
            overall: share,
            elapsed: now,
            left: (share > 0.02).then(|| now * (1.0 - share) / share),
        };
        Some(Event::AnswerProgress { ticket: self.ticket, progress })
    }
}

enum Halt {
    Stopped,
    Failed(Problem),
}

impl DataQueue {
    fn new(commands: Receiver<Command>, outbox: Outbox) -> Self {
        let pace = RefCell::new(Pace::new(0));
        let (stopped, closed) = (Cell::new(false), Cell::new(false));
        Self { commands, outbox, queue: RefCell::default(), stopped, closed, pace }
    }

    fn step(self: &Rc<Self>) -> Result<(), Cancelled> {
        if self.queue.borrow().is_empty() {
            self.take(self.commands.recv().map_err(|_| Cancelled)?)?;
        }
        self.drain()?;
        if self.closed.get() {
            return Err(Cancelled);
        }
        self.stopped.set(false);
        let Some((ticket, request)) = self.queue.borrow_mut().pop_front() else { return Ok(()) };
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(ticket, &request)));
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(Halt::Stopped)) => DataAnswer::Stopped,
            Ok(Err(Halt::Failed(problem))) => DataAnswer::Failed(problem),
            Err(panic) => DataAnswer::Failed(internal(panic.as_ref())),
        };
        self.send(ticket, answer)
    }

    fn send(&self, ticket: Ticket, answer: DataAnswer) -> Result<(), Cancelled> {
        self.outbox.send(Event::Answer { ticket, answer: Answer::Data(answer) })
    }

    fn take(&self, command: Command) -> Result<(), Cancelled> {
        match command {
            Command::Ask { ticket, question: Question::Data(request) } => {
                // Of two questions that differ only in their ticket numbers, only the later one is answered.
                self.queue.borrow_mut().retain(|(_, r)| *r != request);
                self.queue.borrow_mut().push_back((ticket, request));
            }
            Command::Withdraw { topic: Topic::Data } => {
                self.stopped.set(true);
                for (ticket, _) in std::mem::take(&mut *self.queue.borrow_mut()) {
                    self.send(ticket, DataAnswer::Stopped)?;
                }
            }
            Command::Shutdown => self.closed.set(true),
            _ => {}
        }
        Ok(())
    }

    /// Receives all waiting commands without blocking.
    fn drain(&self) -> Result<(), Cancelled> {
        loop {
            match self.commands.try_recv() {
                Ok(command) => self.take(command)?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    self.closed.set(true);
                    return Ok(());
                }
            }
        }
    }

    /// Checks the inbox and reports progress.
    fn look(&self) -> ControlFlow<()> {
        let gone = self.drain().is_err() || self.closed.get();
        if let Some(event) = self.pace.borrow_mut().report() {
            self.outbox.offer(event);
        }
        if gone || self.stopped.get() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn stage(&self, stage: String) -> Result<(), Halt> {
        self.pace.borrow_mut().stage = stage;
        if self.look().is_break() { Err(Halt::Stopped) } else { Ok(()) }
    }

    fn watch(self: &Rc<Self>) -> Watch {
        let questions = self.clone();
        Rc::new(move |bytes| {
            questions.pace.borrow_mut().bytes += bytes;
            questions.look()
        })
    }

    fn row(&self) -> ControlFlow<()> {
        let rows = {
            let mut pace = self.pace.borrow_mut();
            pace.rows += 1;
            pace.rows
        };
        if rows.is_multiple_of(ROWS) { self.look() } else { ControlFlow::Continue(()) }
    }

    fn answer(self: &Rc<Self>, ticket: Ticket, request: &DataRequest) -> Result<DataAnswer, Halt> {
        *self.pace.borrow_mut() = Pace::new(ticket);
        let begun = Instant::now();
        let halt = |error: SetError| self.halt(data::problem(&error, &request.set));
        let path = match BuiltIn::named(&request.set) {
            Some(_) => request.set.clone(),
            None => expand(&request.set).display().to_string(),
        };
        self.stage(format!("looking at {}", request.set))?;
        let watch = self.watch();
        let source = Source::open(&path, request.draw(), &watch).map_err(halt)?;
        let models = self.vocabularies(&request.models)?;
        {
            // The bytes that were read to recognise the format are read a second time.
            let mut pace = self.pace.borrow_mut();
            *pace = Pace::new(ticket);
            pace.total = source.set.files.iter().map(|f| f.bytes).sum();
            if request.question == DataQuestion::Doctor && Survey::is_needed(&source) {
                pace.total *= 2;
            }
        }
        let doing = match (source.built_in.is_some(), request.question) {
            (true, _) => "writing",
            (false, DataQuestion::Inspect) => "reading",
            (false, DataQuestion::Doctor) => "examining",
        };
        self.stage(format!("{doing} {}", request.set))?;
        let each = &mut || self.row();
        let answer = match request.question {
            DataQuestion::Inspect => {
                let overview = Overview::of(&source, EXAMPLES, &watch, each).map_err(halt)?;
                let task = source.built_in.and_then(|b| b.task());
                let parts = match (task, source.examples().map_err(halt)?) {
                    (Some(task), Some(set)) => {
                        Some(data::parts(task, &request.task, &set, request.seed).map_err(|p| self.halt(p))?)
                    }
                    _ => None,
                };
                let seconds = begun.elapsed().as_secs_f64();
                DataAnswer::Inspected(Box::new(DataInspection::of(&overview, parts, seconds)))
            }
            DataQuestion::Doctor => {
                let diagnosis = data::diagnose(&source, models, DROPPED, &watch, each).map_err(halt)?;
                let seconds = begun.elapsed().as_secs_f64();
                DataAnswer::Examined(Box::new(DataDiagnosis::of(&diagnosis, seconds)))
            }
        };
        // A pass that was stopped has not covered the whole set.
        if self.look().is_break() { Err(Halt::Stopped) } else { Ok(answer) }
    }

    /// Classifies a failure. A read that fails because it was stopped counts as stopped.
    fn halt(&self, problem: Problem) -> Halt {
        if self.stopped.get() || self.closed.get() { Halt::Stopped } else { Halt::Failed(problem) }
    }

    fn vocabularies(&self, names: &[String]) -> Result<Vec<Vocabulary<'static>>, Halt> {
        let mut list = Vec::new();
        for name in names {
            self.stage(format!("vocabulary of {name}"))?;
            let on = &mut |t: &model::hub::Transfer<'_>| {
                self.pace.borrow_mut().stage = format!("fetching {}: {}", t.model, t.file);
                if self.look().is_break() { Err(Cancelled) } else { Ok(()) }
            };
            list.push(data::vocabulary(name, on).map_err(|e| match e {
                ModelError::Cancelled(_) => Halt::Stopped,
                e => {
                    let hint = "remove the model from the settings, or check it on the models screen";
                    self.halt(problem(&e, &format!("vocabulary of {name}"), hint))
                }
            })?);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::{Sender, channel as commands_channel};

    use tokio::sync::mpsc::{Receiver as Events, channel};

    use super::*;
    use labs::examples::TaskSpec;

    struct Rig {
        commands: Sender<Command>,
        events: Events<Event>,
    }

    impl Rig {
        fn new() -> Self {
            let (commands, inbox) = commands_channel();
            let (outbox, events) = channel(256);
            std::thread::spawn(move || work(inbox, Outbox::new(outbox)));
            Self { commands, events }
        }

        fn ask(&self, ticket: u64, set: &str, question: DataQuestion) {
            let task = TaskSpec { examples: 1_000, ..TaskSpec::default() };
            let request = DataRequest::of(&task, 0, &["bert-mini".to_owned()], set, question);
            self.commands.send(Command::Ask { ticket, question: Question::Data(request) }).unwrap();
        }

        fn answer(&mut self, ticket: u64) -> DataAnswer {
            loop {
                match self.events.blocking_recv().expect("the data thread is running") {
                    Event::Answer { ticket: t, answer: Answer::Data(answer) } if t == ticket => {
                        return answer;
                    }
                    _ => {}
                }
            }
        }
    }

    fn failed(answer: DataAnswer) -> Problem {
        if let DataAnswer::Failed(problem) = answer { problem } else { panic!("{answer:?}") }
    }

    #[test]
    fn built_in_sets_are_inspected_and_checked() {
        let mut rig = Rig::new();
        rig.ask(1, "agreement", DataQuestion::Inspect);
        let DataAnswer::Inspected(found) = rig.answer(1) else { panic!() };
        assert_eq!((found.rows, found.dropped, found.examples.len()), (1_000, 0, EXAMPLES));
        assert_eq!(found.parts.unwrap().parts.len(), 4);
        rig.ask(2, "facts", DataQuestion::Doctor);
        let DataAnswer::Examined(found) = rig.answer(2) else { panic!() };
        assert_eq!((found.rows, found.models), (2_572, vec!["bert-mini".to_owned()]));
        assert!(found.lines.iter().any(|l| l.contains("words are single tokens")), "{:?}", found.lines);
    }

    #[test]
    fn unusable_paths_are_reported() {
        let mut rig = Rig::new();
        let dir = tempfile::tempdir().unwrap();
        let binary = dir.path().join("weights.bin");
        let empty = dir.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        std::fs::write(&binary, (0..5_000u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
        let [empty, binary] = [empty, binary].map(|p| p.display().to_string());
        for (ticket, (path, part)) in
            [("/no/such/place", "cannot open"), (&empty, "no files"), (&binary, "binary data")].into_iter().enumerate()
        {
            for (k, question) in [DataQuestion::Inspect, DataQuestion::Doctor].into_iter().enumerate() {
                let ticket = 1 + (2 * ticket + k) as u64;
                rig.ask(ticket, path, question);
                let problem = failed(rig.answer(ticket));
                assert!(problem.what.contains(part) && !problem.hint.is_empty(), "{problem}");
                assert_eq!(problem.r#where, path);
            }
        }
    }

    #[test]
    fn cancellation_also_stops_queued_questions() {
        let mut rig = Rig::new();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long.jsonl.gz");
        // The file has one good row, followed only by rows that are dropped. Unless every read checks the inbox, the stop would go
        // unnoticed.
        let member = |text: &str| {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(text.as_bytes()).unwrap();
            gz.finish().unwrap()
        };
        // The member is compressed once and then repeated, because compressing is slower than reading.
        let many = member(&"nonsense\n".repeat(1_000_000)).repeat(30);
        std::fs::write(&path, [member("{\"text\": \"a\"}\n"), many].concat()).unwrap();
        let path = path.display().to_string();
        rig.ask(1, &path, DataQuestion::Inspect);
        rig.ask(2, "facts", DataQuestion::Inspect);
        loop {
            match rig.events.blocking_recv().expect("the data thread is running") {
                Event::AnswerProgress { ticket: 1, progress } if progress.done > 0 => {
                    assert!(progress.stage.contains("long.jsonl"), "{progress:?}");
                    break;
                }
                Event::Answer { .. } => panic!("the answer arrived too early"),
                _ => {}
            }
        }
        rig.commands.send(Command::Withdraw { topic: Topic::Data }).unwrap();
        // The queued question is answered first, because its work never begins.
        assert_eq!(rig.answer(2), DataAnswer::Stopped);
        assert_eq!(rig.answer(1), DataAnswer::Stopped);
        rig.ask(3, "facts", DataQuestion::Inspect);
        assert!(matches!(rig.answer(3), DataAnswer::Inspected(_)), "the data thread continues after a stop");
    }

    #[test]
    fn later_of_equal_questions_is_answered() {
        let (commands, inbox) = commands_channel();
        let (outbox, mut events) = channel(256);
        let rig = Rig { commands, events: channel(1).1 };
        for (ticket, set) in [(1, "facts"), (2, "past_present"), (3, "facts")] {
            rig.ask(ticket, set, DataQuestion::Inspect);
        }
        rig.commands.send(Command::Pause { hold: true }).unwrap();
        let questions = Rc::new(DataQueue::new(inbox, Outbox::new(outbox)));
        questions.step().unwrap();
        questions.step().unwrap();
        assert!(questions.queue.borrow().is_empty());
        let answers = std::iter::from_fn(|| events.try_recv().ok()).filter_map(|e| match e {
            Event::Answer { ticket, .. } => Some(ticket),
            _ => None,
        });
        assert_eq!(answers.collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn desk_ends_with_program_or_front_end() {
        for gone in [true, false] {
            let (commands, inbox) = commands_channel();
            let (outbox, _events) = channel(256);
            if gone {
                drop(commands);
            } else {
                commands.send(Command::Shutdown).unwrap();
            }
            work(inbox, Outbox::new(outbox));
        }
    }

    #[test]
    fn missing_model_prevents_the_vocabulary_check() {
        let mut rig = Rig::new();
        let task = TaskSpec { examples: 1_000, ..TaskSpec::default() };
        let models = ["./no/such/model".to_owned()];
        let request = DataRequest::of(&task, 0, &models, "facts", DataQuestion::Doctor);
        rig.commands.send(Command::Ask { ticket: 1, question: Question::Data(request) }).unwrap();
        let problem = failed(rig.answer(1));
        assert!(problem.r#where.contains("no/such/model") && !problem.hint.is_empty(), "{problem}");
    }

    #[test]
    fn progress_counts_bytes_and_rows() {
        let mut pace = Pace::new(3);
        (pace.bytes, pace.total, pace.rows) = (30, 40, 5);
        let Some(Event::AnswerProgress { ticket: 3, progress }) = pace.report() else { panic!() };
        assert_eq!((progress.done, progress.total, progress.overall), (30, 40, 0.75));
        assert!(progress.left.is_some() && progress.unit == "rows");
        assert!(pace.report().is_none(), "not due yet");
        let mut unknown = Pace::new(4);
        unknown.bytes = 30;
        let Some(Event::AnswerProgress { progress, .. }) = unknown.report() else { panic!() };
        assert_eq!((progress.overall, progress.left), (0.0, None));
        // More bytes may be read than the files contained at first.
        let mut more = Pace::new(5);
        (more.bytes, more.total) = (50, 40);
        let Some(Event::AnswerProgress { progress, .. }) = more.report() else { panic!() };
        assert_eq!(progress.overall, 1.0);
    }
}

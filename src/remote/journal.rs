//! The journal of a remote engine, its connections, and the state of its runs. It starts no threads.

use std::collections::{HashMap, VecDeque};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::message::{Message, Status};
use super::place;
use base::Problem;
use base::numbers::seconds;
use base::size;
use engine::Engine;
use engine::message::{Command, Event, Generation, Notice, NoticeLevel, Outcome};
use session::format::{MAX_LINE, line};
use session::record::{Record, Recorder, too_long};
use session::thin::Slot;

/// Maximum idle time of an engine that never received a command.
const UNASKED: Duration = Duration::from_secs(60);

/// Maximum total size in bytes of the journal's lines, all of which a client reads when it attaches. Above it, the oldest findings and
/// answers of earlier runs are dropped.
pub(super) const MOST_KEPT: u64 = 256 << 20;

/// A line in the journal; empty if a later line replaced it.
struct Noted {
    line: Arc<str>,
    /// The client that sent the command; 0 for events.
    by: u64,
}

struct Link {
    id: u64,
    client: u64,
    /// Socket that is closed when a new connection replaces this one.
    stream: UnixStream,
}

pub(super) struct Hub {
    name: String,
    created: String,
    begun: Instant,
    /// Folder of the files that the client sent.
    sent: PathBuf,
    engine: Box<dyn Engine>,
    recorder: Option<Recorder>,
    journal: Vec<Noted>,
    /// Total bytes of the journal's lines.
    kept: u64,
    generation: Generation,
    /// For each slot of replaceable lines: the indices of its first and its latest line, and the question that the latest answers.
    latest: HashMap<Slot, (usize, usize, u64)>,
    /// Indices of lines that can be dropped, the oldest first, and the number of them that belong to earlier runs.
    results: VecDeque<usize>,
    earlier: usize,
    /// True once lines were dropped.
    forgot: bool,
    /// The latest progress of the run and of answers, each with an increasing sequence number.
    passing: [Option<(u64, Arc<str>)>; 2],
    passed: u64,
    links: Vec<Link>,
    steers: Option<u64>,
    /// Number of commands received from each client.
    taken: HashMap<u64, u64>,
    next: u64,
    /// The last time at which a client was attached or a run in progress (start of the idle timeout).
    alone: Instant,
    running: bool,
    state: String,
    /// Number of clients that wait for the engine to end.
    pub stopping: usize,
    /// True once the engine was asked to end.
    pub closing: bool,
    pub ended: bool,
}

impl Hub {
    pub(crate) fn new(
        name: String,
        created: String,
        sent: PathBuf,
        engine: Box<dyn Engine>,
        recorder: Recorder,
    ) -> Self {
        Self {
            name,
            created,
            begun: Instant::now(),
            sent,
            engine,
            recorder: Some(recorder),
            journal: Vec::new(),
            kept: 0,
            generation: 0,
            latest: HashMap::new(),
            results: VecDeque::new(),
            earlier: 0,
            forgot: false,
            passing: [None, None],
            passed: 0,
            links: Vec::new(),
            steers: None,
            taken: HashMap::new(),
            next: 1,
            alone: Instant::now(),
            running: false,
            state: "no run yet".into(),
            stopping: 0,
            closing: false,
            ended: false,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Number of lines in the journal.
    pub(crate) fn head(&self) -> u64 {
        self.journal.len() as u64
    }

    /// Folder of the files that the client sent.
    pub(crate) fn sent(&self) -> &Path {
        &self.sent
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Passes a command to the engine and records it; `by` is the client that sent it, or 0.
    pub(crate) fn command(&mut self, by: u64, command: &Command) {
        let t = self.seconds();
        match command {
            Command::Run { generation, .. } => {
                self.generation = *generation;
                self.running = true;
                self.latest.clear();
                self.earlier = self.results.len();
                self.state = "begins".into();
            }
            Command::Shutdown => self.closing = true,
            _ => {}
        }
        let recorded = self.recorder.as_mut().map(|r| r.command(t, command));
        // A command can always be serialised as JSON.
        self.note(line(t, command).unwrap_or_default(), by);
        self.recorded(recorded);
        let mut command = command.clone();
        if let Command::Run { spec, .. } = &mut command
            && self.sent.is_dir()
        {
            spec.common_mut().lies_in(self.sent.clone());
        }
        // If the engine has ended, its event channel closes, which ends the keeper.
        let _ = self.engine.send(command);
    }

    pub(crate) fn event(&mut self, event: &Event) {
        let t = self.seconds();
        let recorded = self.recorder.as_mut().map(|r| r.event(t, event));
        let text = line(t, event).unwrap_or_default();
        match event {
            Event::Progress { progress, .. } => {
                self.state = format!("{}, {:.0} %", progress.stage, 100.0 * progress.overall);
                self.pass(0, &text);
            }
            Event::AnswerProgress { .. } => self.pass(1, &text),
            _ => {
                if let Event::Finished { outcome, seconds: took, .. } = event {
                    let ended = match outcome {
                        Outcome::Done => "done".to_owned(),
                        Outcome::Cancelled => "cancelled".into(),
                        Outcome::Failed(problem) => format!("failed: {}", problem.what),
                    };
                    self.state = format!("{ended} after {}", seconds(*took));
                    self.running = false;
                    self.alone = Instant::now();
                }
                self.note(text, 0);
                self.replace(event);
            }
        }
        self.recorded(recorded);
    }

    /// Reports once that the session is no longer recorded, for example because the disk is full.
    fn recorded(&mut self, result: Option<Result<(), session::SessionError>>) {
        let Some(Err(error)) = result else { return };
        self.recorder = None;
        let problem = Problem::new(
            place::told(&error),
            place::machine(),
            "the engine continues without recording on the remote machine; its findings are kept in memory and recorded \
             on this machine",
        );
        let notice = Event::Notice(Notice { level: NoticeLevel::Error, problem });
        self.note(line(self.seconds(), &notice).unwrap_or_default(), 0);
    }

    fn note(&mut self, text: String, by: u64) {
        let text = text.trim_end();
        if text.len() > MAX_LINE {
            let notice = too_long(text.len(), &self.name);
            return self.note(line(self.seconds(), &notice).unwrap_or_default(), 0);
        }
        // Progress that was not sent belongs to work that has been completed.
        self.passing = [None, None];
        self.kept += text.len() as u64;
        self.journal.push(Noted { line: text.into(), by });
    }

    /// Drops the line that this event replaces. The first line about a finding is kept, because it determines the order of findings.
    fn replace(&mut self, event: &Event) {
        let Some((slot, ticket)) = Slot::new(event, self.generation) else { return };
        let at = self.journal.len() - 1;
        let is_finding = matches!(slot, Slot::Finding(..));
        let (first, before, answered) = self.latest.get(&slot).copied().unwrap_or((at, at, ticket));
        if ticket < answered {
            return;
        }
        if before != at && (before != first || !is_finding) {
            self.forget(before);
        }
        self.latest.insert(slot, (first, at, ticket));
        self.results.push_back(at);
        let mut forgotten = false;
        while self.kept > MOST_KEPT && self.earlier > 0 {
            self.earlier -= 1;
            let oldest = self.results.pop_front();
            oldest.into_iter().for_each(|at| self.forget(at));
            forgotten = true;
        }
        if forgotten && !std::mem::replace(&mut self.forgot, true) {
            self.say_forgotten();
        }
    }

    fn forget(&mut self, at: usize) {
        if let Some(noted) = self.journal.get_mut(at) {
            self.kept -= noted.line.len() as u64;
            noted.line = "".into();
        }
    }

    /// Reports that clients attaching from now on will not receive everything.
    fn say_forgotten(&mut self) {
        let problem = Problem::new(
            format!(
                "clients that attach from now on do not receive the results of earlier runs: the engine keeps at most \
                 {}",
                size::show(MOST_KEPT)
            ),
            self.name.clone(),
            format!("`probity remote fetch HOST {}` copies all of them", self.name),
        );
        let notice = Event::Notice(Notice { level: NoticeLevel::Warning, problem });
        self.note(line(self.seconds(), &notice).unwrap_or_default(), 0);
    }

    fn pass(&mut self, kind: usize, text: &str) {
        self.passed += 1;
        self.passing[kind] = Some((self.passed, text.trim_end().into()));
    }

    /// Returns up to `most` lines after line `after`. Commands that this client sent are returned without their content.
    pub(crate) fn lines(&self, after: u64, most: usize, client: u64) -> Vec<Message> {
        let from = usize::try_from(after).unwrap_or(usize::MAX).min(self.journal.len());
        // Stops at the end of the journal even if more lines are requested.
        let numbered = (from as u64 + 1..).zip(&self.journal[from..]).take(most);
        numbered
            .map(|(number, noted)| {
                let own = client != 0 && noted.by == client;
                let line = if own { String::new() } else { noted.line.to_string() };
                Message::Line { number, own, line }
            })
            .collect()
    }

    /// Returns the progress that a client has not received.
    pub(crate) fn passing(&self, seen: &mut [u64; 2]) -> Vec<Message> {
        let mut messages = Vec::new();
        for (seen, passing) in seen.iter_mut().zip(&self.passing) {
            if let Some((number, line)) = passing.as_ref().filter(|p| p.0 > *seen) {
                *seen = *number;
                messages.push(Message::Passing(line.to_string()));
            }
        }
        messages
    }

    /// Attaches a client. Returns the number of the link, whether the client is in control, and how many of its commands have been
    /// received.
    pub(crate) fn join(&mut self, client: u64, sees: bool, stream: UnixStream) -> (u64, bool, u64) {
        // The client's older connection is dead, even if this has not been noticed.
        for old in self.links.iter().filter(|l| l.client == client).map(|l| l.id).collect::<Vec<_>>() {
            self.part(old);
        }
        let id = self.next;
        self.next += 1;
        self.links.push(Link { id, client, stream });
        let steers = !sees && self.steers.is_none();
        if steers {
            self.steers = Some(id);
        }
        (id, steers, self.taken.get(&client).copied().unwrap_or(0))
    }

    pub(crate) fn part(&mut self, link: u64) {
        let Some(at) = self.links.iter().position(|l| l.id == link) else { return };
        // The connection may already be closed.
        let _ = self.links.swap_remove(at).stream.shutdown(std::net::Shutdown::Both);
        if self.steers == Some(link) {
            self.steers = None;
        }
        self.alone = Instant::now();
    }

    /// True if this connection is the client's current one.
    pub(crate) fn is_linked(&self, link: u64) -> bool {
        self.links.iter().any(|l| l.id == link)
    }

    pub(crate) fn links(&self) -> usize {
        self.links.len()
    }

    /// Accepts a command from the client in control, once and in order; returns false if it is out of order.
    pub(crate) fn take(&mut self, link: u64, number: u64, command: &Command) -> bool {
        let Some(client) = self.links.iter().find(|l| l.id == link).map(|l| l.client) else { return false };
        let taken = self.taken.get(&client).copied().unwrap_or(0);
        if number <= taken {
            return true;
        }
        if number != taken + 1 || self.steers != Some(link) {
            return false;
        }
        self.taken.insert(client, number);
        self.command(client, command);
        true
    }

    /// Remaining idle time; `None` while the engine computes or a client is attached.
    pub(crate) fn left(&self, wait: Duration) -> Option<Duration> {
        // An engine that never received a command has no results to keep: the link broke before the client learned about the engine.
        let wait = match self.taken.is_empty() {
            true if self.next == 1 => UNASKED,
            true => wait.min(UNASKED),
            false => wait,
        };
        (self.links.is_empty() && !self.running).then(|| wait.saturating_sub(self.alone.elapsed()))
    }

    pub(crate) fn status(&self, wait: Duration) -> Status {
        Status {
            name: self.name.clone(),
            machine: place::machine(),
            version: env!("CARGO_PKG_VERSION").into(),
            created: self.created.clone(),
            alive: true,
            running: self.running,
            state: self.state.clone(),
            attached: self.links.len(),
            left: self.left(wait).map(|d| d.as_secs()),
        }
    }

    pub(crate) fn finish(&mut self) {
        // There may be no client to report to, and the lines written so far are complete.
        let _ = self.recorder.as_mut().map(Record::finish);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::fake::FakeEngine;
    use engine::message::Progress;
    use session::format::Header;

    fn hub(folder: &Path) -> Hub {
        let header = Header::new("cpu", "2026-01-02T03:04:05Z".into(), None);
        let recorder = Recorder::create(folder, "a", &header).unwrap();
        let engine = Box::new(FakeEngine::new(Box::new(|_| Vec::new())));
        Hub::new("a".into(), header.created, folder.join("sent"), engine, recorder)
    }

    fn stream() -> UnixStream {
        UnixStream::pair().unwrap().0
    }

    fn progress(done: u64) -> Event {
        let (stage, unit) = ("oracle".into(), "ex".into());
        let progress = Progress { stage, done, total: 9, unit, rate: 0.0, overall: 0.4, elapsed: 0.0, left: None };
        Event::Progress { generation: 1, progress }
    }

    #[test]
    fn commands_are_accepted_once_in_order_from_the_controller() {
        let folder = tempfile::tempdir().unwrap();
        let mut hub = hub(folder.path());
        let (first, steers, taken) = hub.join(7, false, stream());
        assert!(steers && taken == 0);
        let (second, sees, _) = hub.join(8, false, stream());
        assert!(!sees && !hub.take(second, 1, &Command::ListModels), "the second client only watches");
        assert!(hub.take(first, 1, &Command::ListModels));
        assert!(hub.take(first, 1, &Command::ListModels), "a repeated command is accepted once");
        assert_eq!(hub.head(), 1, "but not twice");
        assert!(!hub.take(first, 3, &Command::ListModels), "a command was lost");
        let (again, steers, taken) = hub.join(7, false, stream());
        assert!(steers && taken == 1 && !hub.is_linked(first), "a reconnected client replaces its old link");
        hub.part(again);
        assert!(!hub.join(9, true, stream()).1, "a client that only watches has no control");
        assert!(hub.join(10, false, stream()).1);
        assert_eq!(hub.status(Duration::from_secs(5)).attached, 3);
    }

    #[test]
    fn journal_is_readable_from_any_entry() {
        let folder = tempfile::tempdir().unwrap();
        let mut hub = hub(folder.path());
        let (link, ..) = hub.join(7, false, stream());
        assert!(hub.take(link, 1, &Command::ListModels));
        hub.event(&Event::Models { models: Vec::new() });
        let mine = hub.lines(0, 10, 7);
        assert!(matches!(&mine[0], Message::Line { number: 1, own: true, line } if line.is_empty()));
        assert!(
            matches!(&hub.lines(0, 10, 8)[0], Message::Line { own: false, line, .. } if line.contains("list_models"))
        );
        assert_eq!(hub.lines(1, 10, 7), mine[1..]);
        assert!(hub.lines(2, 10, 7).is_empty() && hub.lines(u64::MAX, 10, 7).is_empty());
        (0..5).for_each(|k| hub.event(&progress(k)));
        let mut seen = [0; 2];
        let told = hub.passing(&mut seen);
        assert!(matches!(&told[..], [Message::Passing(line)] if line.contains("\"done\":4")), "{told:?}");
        assert!(hub.passing(&mut seen).is_empty() && hub.head() == 2, "progress is not numbered in the journal");
        assert_eq!(hub.status(Duration::ZERO).state, "oracle, 40 %");
        hub.event(&progress(6));
        let outcome = Outcome::Done;
        hub.event(&Event::Finished { job: 1, generation: 1, outcome, seconds: 1.0 });
        assert!(hub.passing(&mut seen).is_empty(), "the run is over");
    }

    /// Regression: the keeper used to store every line forever, and refused clients once it had more than a million lines.
    #[test]
    fn replaced_lines_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let mut hub = hub(folder.path());
        hub.generation = 1;
        let findings = Vec::new();
        let answer = |ticket| Event::Answer {
            ticket,
            answer: engine::message::Answer::Experiment { generation: 1, findings: findings.clone() },
        };
        (1..=1000).for_each(|ticket| hub.event(&answer(ticket)));
        let lines = hub.lines(0, 2000, 0);
        let full = |m: &&Message| matches!(m, Message::Line { line, .. } if !line.is_empty());
        assert_eq!((lines.len(), lines.iter().filter(full).count()), (1000, 1), "line numbers are unchanged");
        assert!(matches!(lines.last(), Some(Message::Line { number: 1000, line, .. }) if line.contains("1000")));
        assert!(hub.kept < 200, "{}", hub.kept);
    }

    #[test]
    fn unwritable_session_is_reported_and_the_journal_continues() {
        let folder = tempfile::tempdir().unwrap();
        let mut hub = hub(folder.path());
        let source = std::io::Error::other("No space left on device");
        hub.recorded(Some(Err(session::SessionError::Write { path: "/s".into(), source })));
        hub.event(&Event::Models { models: Vec::new() });
        let lines = hub.lines(0, 10, 0);
        assert!(matches!(&lines[0], Message::Line { line, .. } if line.contains("No space left")), "{lines:?}");
        assert_eq!(lines.len(), 2);
    }
}

//! The queue policy of the worker: what waits, what supersedes what, what cancels what.
//!
//! Cancellation never queues behind work, and of the slider's requests only the latest survives.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use crate::engine::board::Question;
use crate::engine::message::{Command, Generation, JobId, PointRequest};
use crate::engine::spec::Spec;

/// A run that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Number of the run.
    pub job: JobId,
    /// Generation of its events.
    pub generation: Generation,
    /// What to compute.
    pub spec: Box<Spec>,
}

/// What waits for the worker. Pure: no channel, no clock.
#[derive(Debug, Default, PartialEq)]
pub struct Queue {
    run: Option<Waiting>,
    point: Option<PointRequest>,
    list: bool,
    questions: VecDeque<(String, Question)>,
    cancelled: Option<JobId>,
    hold: bool,
    closed: bool,
}

impl Queue {
    /// Takes in a command.
    pub fn push(&mut self, command: Command) {
        match command {
            Command::ListModels => self.list = true,
            Command::Run { job, generation, spec } => {
                // The question has changed: a point of the old one is of no use, and a held engine goes on.
                self.point = self.point.take().filter(|p| p.generation >= generation);
                self.run = Some(Waiting { job, generation, spec });
                self.hold = false;
            }
            Command::Point(request) => self.point = Some(request),
            Command::Cancel { job } => {
                // A run that still waits is not removed: it has to begin in order to report that it was cancelled.
                self.cancelled = Some(job);
                self.hold = false;
            }
            Command::Pause { hold } => self.hold = hold,
            Command::Inspect { model } => self.ask(model, Question::Inspect),
            Command::Check { model } => self.ask(model, Question::Check),
            Command::Shutdown => self.closed = true,
            // Questions about data go to a desk of their own.
            Command::Data(_) | Command::CancelData => {}
        }
    }

    /// The same question twice is answered once.
    fn ask(&mut self, model: String, question: Question) {
        let entry = (model, question);
        if !self.questions.contains(&entry) {
            self.questions.push_back(entry);
        }
    }

    /// Takes the oldest question about a single model.
    pub fn take_question(&mut self) -> Option<(String, Question)> {
        self.questions.pop_front()
    }

    /// Whether the run `job` must stop before its next batch.
    pub fn stops(&self, job: JobId) -> bool {
        self.closed || self.run.is_some() || self.cancelled == Some(job)
    }

    /// Whether the worker is to hold.
    pub fn held(&self) -> bool {
        self.hold && !self.closed
    }

    /// Whether the front end has gone.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Takes the run that waits.
    pub fn take_run(&mut self) -> Option<Waiting> {
        self.run.take()
    }

    /// Takes the latest point request of this generation; requests of other generations are dropped.
    pub fn take_point(&mut self, generation: Generation) -> Option<PointRequest> {
        self.point.take().filter(|p| p.generation == generation)
    }

    /// Takes the wish for the list of models.
    pub fn take_list(&mut self) -> bool {
        std::mem::take(&mut self.list)
    }

    /// Whether something newer waits than the point that is being answered.
    pub fn busy(&self) -> bool {
        self.closed || self.run.is_some() || self.point.is_some()
    }

    fn idle(&self) -> bool {
        !self.closed && self.run.is_none() && self.point.is_none() && !self.list && self.questions.is_empty()
    }
}

/// The queue with the channel that feeds it.
pub struct Inbox {
    commands: Receiver<Command>,
    /// What waits.
    pub queue: Queue,
}

impl Inbox {
    /// An inbox fed by `commands`.
    pub fn new(commands: Receiver<Command>) -> Self {
        Self { commands, queue: Queue::default() }
    }

    /// Takes in all that has arrived, without waiting. A closed channel counts as shutdown.
    pub fn drain(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(command) => self.queue.push(command),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => return self.queue.push(Command::Shutdown),
            }
        }
    }

    /// Waits until there is something to do. An idle engine sleeps here and costs nothing.
    pub fn wait(&mut self) {
        self.drain();
        while self.queue.idle() {
            match self.commands.recv() {
                Ok(command) => self.queue.push(command),
                Err(_) => self.queue.push(Command::Shutdown),
            }
            self.drain();
        }
    }

    /// Waits a little while the worker is held.
    pub fn hold(&mut self) {
        match self.commands.recv_timeout(Duration::from_millis(500)) {
            Ok(command) => self.queue.push(command),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.queue.push(Command::Shutdown),
        }
        self.drain();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(job: JobId) -> Command {
        Command::Run { job, generation: job, spec: Box::new(Spec::agreement()) }
    }

    fn point(generation: Generation, ticket: u64) -> PointRequest {
        PointRequest {
            generation,
            ticket,
            model: "m".into(),
            method: "fgsm".into(),
            options: Default::default(),
            value: 0.1,
            example: 0,
        }
    }

    #[test]
    fn only_the_latest_point_survives() {
        let mut queue = Queue::default();
        queue.push(run(1));
        assert!(queue.take_run().is_some());
        for ticket in 1..=50 {
            queue.push(Command::Point(point(1, ticket)));
        }
        assert_eq!(queue.take_point(1).map(|p| p.ticket), Some(50));
        assert_eq!(queue.take_point(1), None);
    }

    #[test]
    fn a_full_queue_never_blocks_a_cancellation() {
        let mut queue = Queue::default();
        queue.push(run(1));
        let _ = queue.take_run();
        for ticket in 0..1000 {
            queue.push(Command::Point(point(1, ticket)));
        }
        assert!(!queue.stops(1));
        queue.push(Command::Cancel { job: 1 });
        assert!(queue.stops(1));
    }

    #[test]
    fn a_new_run_supersedes_the_old_one_and_its_points() {
        let mut queue = Queue::default();
        queue.push(Command::Point(point(1, 7)));
        queue.push(run(2));
        assert!(queue.stops(1), "the run in progress must give way");
        assert_eq!(queue.take_point(2), None, "a point of the old question is dropped");
        queue.push(run(3));
        assert_eq!(queue.take_run().map(|w| w.job), Some(3));
    }

    #[test]
    fn questions_about_models_wait_their_turn_and_are_asked_once() {
        let mut queue = Queue::default();
        for model in ["a", "b", "a"] {
            queue.push(Command::Inspect { model: model.into() });
        }
        queue.push(Command::Check { model: "a".into() });
        assert!(!queue.idle() && !queue.busy(), "a question wakes the worker and stops no slider");
        let mut taken = Vec::new();
        while let Some((model, question)) = queue.take_question() {
            taken.push((model, question));
        }
        let expected = [("a", Question::Inspect), ("b", Question::Inspect), ("a", Question::Check)];
        assert_eq!(taken, expected.map(|(m, q)| (m.to_owned(), q)));
        assert!(queue.idle());
    }

    #[test]
    fn cancelling_a_run_that_waits_still_lets_it_report_its_end() {
        let mut queue = Queue::default();
        queue.push(run(4));
        queue.push(Command::Pause { hold: true });
        assert!(queue.held());
        queue.push(Command::Cancel { job: 4 });
        assert!(!queue.held());
        assert_eq!(queue.take_run().map(|w| w.job), Some(4));
        assert!(queue.stops(4), "it ends before its first batch");
    }
}

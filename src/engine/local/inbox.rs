//! The rules by which commands to the worker wait, supersede and cancel each other.
//!
//! Cancellation never waits for work, and only the latest request from a slider is kept.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use crate::message::{Command, Generation, JobId, ModelQuestion, Question, Ticket, Topic};
use labs::{self, Spec};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WaitingRun {
    pub job: JobId,
    pub generation: Generation,
    pub spec: Box<Spec>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AboutModel {
    pub ticket: Ticket,
    pub model: String,
    pub what: ModelQuestion,
}

/// Commands that wait for the worker. The queue needs neither a channel nor a clock.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Queue {
    run: Option<WaitingRun>,
    /// The latest question to the experiment.
    experiment: Option<(Ticket, Generation, labs::Question)>,
    list: bool,
    models: VecDeque<AboutModel>,
    cancelled: Option<JobId>,
    hold: bool,
    closed: bool,
}

impl Queue {
    pub(crate) fn push(&mut self, command: Command) {
        match command {
            Command::ListModels => self.list = true,
            Command::Run { job, generation, spec } => {
                // The experiment has changed: questions about the old experiment are dropped, and a paused engine resumes.
                self.experiment = self.experiment.take().filter(|q| q.1 >= generation);
                self.run = Some(WaitingRun { job, generation, spec });
                self.hold = false;
            }
            Command::Ask { ticket, question } => self.ask(ticket, question),
            Command::Withdraw { topic: Topic::Experiment } => self.experiment = None,
            Command::Withdraw { topic: Topic::Model } => self.models.clear(),
            Command::Cancel { job } => {
                // A waiting run stays in the queue, because it must begin in order to report its cancellation.
                self.cancelled = Some(job);
                self.hold = false;
            }
            Command::Pause { hold } => self.hold = hold,
            Command::Shutdown => self.closed = true,
            // The data thread handles this topic.
            Command::Withdraw { topic: Topic::Data } => {}
        }
    }

    fn ask(&mut self, ticket: Ticket, question: Question) {
        match question {
            Question::Experiment { generation, question } => {
                self.experiment = Some((ticket, generation, question));
            }
            // A repeated question is answered once, with the later number.
            Question::Model { model, what } => {
                match self.models.iter_mut().find(|q| q.model == model && q.what == what) {
                    Some(asked) => asked.ticket = ticket,
                    None => self.models.push_back(AboutModel { ticket, model, what }),
                }
            }
            Question::Data(_) => {}
        }
    }

    pub(crate) fn take_model(&mut self) -> Option<AboutModel> {
        self.models.pop_front()
    }

    /// True if the run `job` must stop before its next batch.
    pub(crate) fn stops(&self, job: JobId) -> bool {
        self.closed || self.run.is_some() || self.cancelled == Some(job)
    }

    pub(crate) fn held(&self) -> bool {
        self.hold && !self.closed
    }

    /// True if the front end has disconnected.
    pub(crate) fn closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn take_run(&mut self) -> Option<WaitingRun> {
        self.run.take()
    }

    /// Takes the latest question to the experiment of this generation. A question to a different generation is dropped.
    pub(crate) fn take_experiment(&mut self, generation: Generation) -> Option<labs::Waiting> {
        let (ticket, asked, question) = self.experiment.take()?;
        (asked == generation).then_some(labs::Waiting { ticket, question })
    }

    /// Marks a run as ended and clears its cancellation, so that questions about its results are still answered.
    pub(crate) fn ended(&mut self, job: JobId) {
        self.cancelled = self.cancelled.filter(|cancelled| *cancelled != job);
    }

    pub(crate) fn take_list(&mut self) -> bool {
        std::mem::take(&mut self.list)
    }

    /// True if anything newer than the current question is waiting.
    pub(crate) fn busy(&self) -> bool {
        self.closed || self.run.is_some() || self.experiment.is_some()
    }

    fn idle(&self) -> bool {
        !self.busy() && !self.list && self.models.is_empty()
    }
}

/// The queue, with the channel that fills it.
pub(crate) struct Inbox {
    commands: Receiver<Command>,
    pub queue: Queue,
}

impl Inbox {
    pub(crate) fn new(commands: Receiver<Command>) -> Self {
        Self { commands, queue: Queue::default() }
    }

    /// Receives all waiting commands without blocking. A closed channel counts as shutdown.
    pub(crate) fn drain(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(command) => self.queue.push(command),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => return self.queue.push(Command::Shutdown),
            }
        }
    }

    /// Blocks until there is work.
    pub(crate) fn wait(&mut self) {
        self.drain();
        while self.queue.idle() {
            match self.commands.recv() {
                Ok(command) => self.queue.push(command),
                Err(_) => self.queue.push(Command::Shutdown),
            }
            self.drain();
        }
    }

    /// Waits at most half a second for a command while the worker is paused.
    pub(crate) fn hold(&mut self) {
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
    use labs::interventions;

    fn run(job: JobId) -> Command {
        let spec = Box::new(interventions::Spec::shipped().into());
        Command::Run { job, generation: job, spec }
    }

    fn point(generation: Generation, ticket: Ticket) -> Command {
        let question = interventions::Question::Point(interventions::question::PointQuestion {
            model: "m".into(),
            method: "fgsm".into(),
            options: Default::default(),
            value: 0.1,
            example: 0,
        });
        Command::Ask { ticket, question: Question::Experiment { generation, question: question.into() } }
    }

    fn about(ticket: Ticket, model: &str, what: ModelQuestion) -> Command {
        Command::Ask { ticket, question: Question::Model { model: model.into(), what } }
    }

    #[test]
    fn only_the_latest_question_is_kept() {
        let mut queue = Queue::default();
        queue.push(run(1));
        assert!(queue.take_run().is_some());
        for ticket in 1..=50 {
            queue.push(point(1, ticket));
        }
        assert_eq!(queue.take_experiment(1).map(|p| p.ticket), Some(50));
        assert_eq!(queue.take_experiment(1), None);
    }

    #[test]
    fn a_withdrawn_question_is_not_answered() {
        let mut queue = Queue::default();
        queue.push(point(1, 1));
        queue.push(about(2, "a", ModelQuestion::Inspect));
        queue.push(Command::Withdraw { topic: Topic::Experiment });
        assert_eq!(queue.take_experiment(1), None);
        queue.push(Command::Withdraw { topic: Topic::Model });
        assert!(queue.idle());
    }

    #[test]
    fn a_full_queue_never_blocks_a_cancellation() {
        let mut queue = Queue::default();
        queue.push(run(1));
        let _ = queue.take_run();
        for ticket in 0..1000 {
            queue.push(point(1, ticket));
        }
        assert!(!queue.stops(1));
        queue.push(Command::Cancel { job: 1 });
        assert!(queue.stops(1));
    }

    #[test]
    fn new_run_supersedes_the_old_one() {
        let mut queue = Queue::default();
        queue.push(point(1, 7));
        queue.push(run(2));
        assert!(queue.stops(1), "a new run supersedes the run in progress");
        assert_eq!(queue.take_experiment(2), None, "a question to the old experiment is dropped");
        queue.push(run(3));
        assert_eq!(queue.take_run().map(|w| w.job), Some(3));
    }

    #[test]
    fn model_questions_are_queued_once() {
        let mut queue = Queue::default();
        for (ticket, model) in ["a", "b", "a"].into_iter().enumerate() {
            queue.push(about(ticket as Ticket, model, ModelQuestion::Inspect));
        }
        queue.push(about(3, "a", ModelQuestion::Check));
        assert!(
            !queue.idle() && !queue.busy(),
            "a question about a model wakes the worker, but does not supersede a slider"
        );
        let mut taken = Vec::new();
        while let Some(AboutModel { ticket, model, what }) = queue.take_model() {
            taken.push((ticket, model, what));
        }
        let expected =
            [(2, "a", ModelQuestion::Inspect), (1, "b", ModelQuestion::Inspect), (3, "a", ModelQuestion::Check)];
        assert_eq!(taken, expected.map(|(t, m, q)| (t, m.to_owned(), q)));
        assert!(queue.idle());
    }

    #[test]
    fn cancelled_queued_run_still_reports_its_end() {
        let mut queue = Queue::default();
        queue.push(run(4));
        queue.push(Command::Pause { hold: true });
        assert!(queue.held());
        queue.push(Command::Cancel { job: 4 });
        assert!(!queue.held());
        assert_eq!(queue.take_run().map(|w| w.job), Some(4));
        assert!(queue.stops(4), "it ends before its first batch");
    }

    /// Regression: questions from sliders used to remain unanswered after a cancellation, because questions were treated as work of the
    /// cancelled run.
    #[test]
    fn ended_run_no_longer_cancels_work() {
        let mut queue = Queue::default();
        queue.push(Command::Cancel { job: 4 });
        queue.ended(3);
        assert!(queue.stops(4), "the end of another run does not clear the cancellation");
        queue.ended(4);
        assert!(!queue.stops(4));
    }

    #[test]
    fn question_to_another_run_is_dropped() {
        let mut queue = Queue::default();
        queue.push(point(2, 1));
        assert_eq!(queue.take_experiment(1), None);
        assert_eq!(queue.take_experiment(2), None, "the stale question was removed");
        queue.push(point(3, 5));
        queue.push(run(3));
        assert!(queue.take_run().is_some());
        assert_eq!(queue.take_experiment(3).map(|w| w.ticket), Some(5), "the question was for the new run");
    }

    #[test]
    fn pause_ends_on_resume_run_cancellation_or_shutdown() {
        let hold = Command::Pause { hold: true };
        for lifts in [Command::Pause { hold: false }, run(2), Command::Cancel { job: 1 }, Command::Shutdown] {
            let mut queue = Queue::default();
            queue.push(hold.clone());
            assert!(queue.held());
            queue.push(lifts.clone());
            assert!(!queue.held(), "{lifts:?}");
        }
        let mut queue = Queue::default();
        queue.push(hold);
        queue.push(point(1, 1));
        queue.push(Command::ListModels);
        assert!(queue.held(), "questions do not end the pause");
    }

    #[test]
    fn repeated_model_list_requests_are_merged() {
        let mut queue = Queue::default();
        queue.push(Command::ListModels);
        queue.push(Command::ListModels);
        assert!(!queue.idle() && queue.take_list() && !queue.take_list() && queue.idle());
    }

    #[test]
    fn desk_questions_do_not_wake_the_worker() {
        use crate::data::{DataQuestion, DataRequest};
        let request = DataRequest::of(&Default::default(), 0, &[], "facts", DataQuestion::Inspect);
        let mut queue = Queue::default();
        queue.push(Command::Ask { ticket: 1, question: Question::Data(request) });
        queue.push(Command::Withdraw { topic: Topic::Data });
        assert_eq!(queue, Queue::default());
    }

    #[test]
    fn shutdown_stops_runs_and_wakes_the_worker() {
        let mut queue = Queue::default();
        queue.push(Command::Shutdown);
        assert!(queue.stops(1) && queue.stops(99) && queue.closed() && queue.busy() && !queue.idle());
    }

    #[test]
    fn lost_front_end_shuts_down_the_inbox() {
        let (commands, receiver) = std::sync::mpsc::channel();
        let mut inbox = Inbox::new(receiver);
        inbox.drain();
        assert!(inbox.queue.idle());
        for ticket in 1..=3 {
            commands.send(point(1, ticket)).unwrap();
        }
        inbox.wait();
        assert_eq!(inbox.queue.take_experiment(1).map(|w| w.ticket), Some(3));
        commands.send(Command::Pause { hold: true }).unwrap();
        inbox.drain();
        assert!(inbox.queue.held());
        commands.send(Command::Pause { hold: false }).unwrap();
        inbox.hold();
        assert!(!inbox.queue.held());
        drop(commands);
        inbox.wait();
        assert!(inbox.queue.closed());
    }
}

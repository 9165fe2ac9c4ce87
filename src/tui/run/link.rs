//! Both ends of an event source: an engine with its recorder, or a recording.

use std::time::Instant;

use tokio::sync::mpsc::Receiver;

use super::Source;
use crate::action::Action;
use crate::recording::Recorder;
use base::Problem;
use base::text::last_part;
use engine::message::{Command, Event};
use engine::{Down, Engine};
use labs::Spec;
use session::format::{Entry, Item as Line};
use session::replay::{Recorded, Step};

/// Reason why an unrecorded session cannot be renamed or annotated.
fn unrecorded() -> Problem {
    Problem {
        what: "the session is not recorded".into(),
        r#where: "session".into(),
        hint: "start the program without --no-session".into(),
    }
}

/// The receiving end of a source.
pub(super) enum Feed {
    Events(Receiver<Event>),
    Steps(Receiver<Step>),
    Actions(Receiver<Action>),
    Closed,
}

pub(super) enum Item {
    Event(Event),
    Step(Step),
    Action(Action),
    End,
}

impl Feed {
    /// Waits for the next item; never resolves once the source has ended.
    pub(super) async fn next(&mut self) -> Item {
        match self {
            Feed::Events(events) => events.recv().await.map_or(Item::End, Item::Event),
            Feed::Steps(steps) => steps.recv().await.map_or(Item::End, Item::Step),
            Feed::Actions(actions) => actions.recv().await.map_or(Item::End, Item::Action),
            Feed::Closed => std::future::pending().await,
        }
    }

    /// An item that is already waiting.
    pub(super) fn try_next(&mut self) -> Option<Item> {
        match self {
            Feed::Events(events) => events.try_recv().ok().map(Item::Event),
            Feed::Steps(steps) => steps.try_recv().ok().map(Item::Step),
            Feed::Actions(actions) => actions.try_recv().ok().map(Item::Action),
            Feed::Closed => None,
        }
    }
}

/// Maximum number of sessions with the same default name, apart from their numbers.
const MOST_ALIKE: usize = 999;

/// The sending end of a source.
pub(super) enum Link {
    Live { engine: Box<dyn Engine>, recorder: Option<Box<dyn Recorder>> },
    Replay(Recorded),
    Seen { engine: Box<dyn Engine>, steps: Option<Receiver<Step>> },
    Followed(Option<Receiver<Action>>),
}

impl Link {
    pub(super) fn new(source: Source) -> Self {
        match source {
            Source::Live(engine, recorder) => Link::Live { engine, recorder },
            Source::Replay(recorded) => Link::Replay(recorded),
            Source::Seen(engine, steps) => Link::Seen { engine, steps: Some(steps) },
            Source::Followed(actions) => Link::Followed(Some(actions)),
        }
    }

    /// Takes the receiving end, which is available only once.
    pub(super) fn take(&mut self) -> Feed {
        match self {
            Link::Live { engine, .. } => engine.take_events().map_or(Feed::Closed, Feed::Events),
            Link::Replay(recorded) => recorded.take_steps().map_or(Feed::Closed, Feed::Steps),
            Link::Seen { steps, .. } => steps.take().map_or(Feed::Closed, Feed::Steps),
            Link::Followed(actions) => actions.take().map_or(Feed::Closed, Feed::Actions),
        }
    }

    /// Disconnects because the screen closes, although the user has not decided about the engine: a remote engine continues, a local one
    /// ends.
    pub(super) fn lose(&mut self, started: Instant) {
        match self {
            Link::Live { engine, recorder } => {
                if let Some(recorder) = recorder {
                    // The recording is about to end anyway.
                    let _ = recorder.command(started.elapsed().as_secs_f64(), &Command::Shutdown);
                }
                engine.lose();
            }
            Link::Seen { engine, .. } => engine.lose(),
            // A recording needs no end, and other processes compute a followed grid.
            Link::Replay(_) | Link::Followed(_) => {}
        }
    }

    /// The outage, if the link to the engine is down.
    pub(super) fn down(&self) -> Option<Down> {
        match self {
            Link::Live { engine, .. } | Link::Seen { engine, .. } => engine.down(),
            Link::Replay(_) | Link::Followed(_) => None,
        }
    }

    pub(super) fn try_now(&mut self) {
        if let Link::Live { engine, .. } | Link::Seen { engine, .. } = self {
            engine.try_now();
        }
    }

    pub(super) fn rename(&mut self, name: &str) -> Result<String, Problem> {
        match self {
            Link::Live { recorder: Some(recorder), .. } => recorder.rename(name),
            _ => Err(unrecorded()),
        }
    }

    /// Renames the session after its first run, with a number if the name is taken; returns the new name. If no name is free, the session
    /// keeps its old one.
    pub(super) fn name_after(&mut self, spec: &Spec) -> Option<String> {
        let Link::Live { recorder: Some(recorder), .. } = self else { return None };
        let of = match spec.models() {
            [model] => last_part(model).to_owned(),
            models => format!("{}-models", models.len()),
        };
        let name = format!("{}-{of}", spec.lab().name());
        let numbered = (2..=MOST_ALIKE).map(|k| format!("{name}-{k}"));
        std::iter::once(name.clone()).chain(numbered).find_map(|name| recorder.rename(&name).ok())
    }

    pub(super) fn note(&mut self, text: &str, started: Instant) -> Vec<Action> {
        let Link::Live { recorder: recorder @ Some(_), .. } = self else {
            return vec![Action::Notice(super::opened::error(unrecorded()))];
        };
        let noted = recorder.as_mut().map(|r| r.note(started.elapsed().as_secs_f64(), text));
        let Some(Err(problem)) = noted else { return Vec::new() };
        *recorder = None;
        vec![Action::RecordingFailed(problem)]
    }

    /// Records another session's measurements before those of this one, with a note that names the other session.
    pub(super) fn adopt(&mut self, name: &str, past: &[Entry], started: Instant) -> Vec<Action> {
        let Link::Live { recorder, .. } = self else { return Vec::new() };
        let Some(kept) = recorder else { return Vec::new() };
        let begin = started.elapsed().as_secs_f64();
        let mut noted = kept.note(begin, &format!("goes on from {name}"));
        for entry in past {
            let t = begin + entry.t;
            noted = noted.and_then(|()| match &entry.item {
                Line::Command(command) => kept.command(t, command),
                Line::Event(event) => kept.event(t, event),
                Line::Note(note) => kept.note(t, note),
                Line::View(_) => Ok(()),
            });
        }
        let Err(problem) = noted else { return Vec::new() };
        *recorder = None;
        vec![Action::RecordingFailed(problem)]
    }

    /// Records and sends a command; returns failures as actions.
    pub(super) fn send(&mut self, command: &Command, started: Instant) -> Vec<Action> {
        let Link::Live { engine, recorder } = self else { return Vec::new() };
        let mut actions = Vec::new();
        if let Some(Err(problem)) = recorder.as_mut().map(|r| r.command(started.elapsed().as_secs_f64(), command)) {
            *recorder = None;
            actions.push(Action::RecordingFailed(problem));
        }
        if engine.send(command.clone()).is_err() && *command != Command::Shutdown {
            actions.push(Action::EngineGone);
        }
        actions
    }

    /// Records an event; returns a failure as an action.
    pub(super) fn record(&mut self, event: &Event, started: Instant) -> Option<Action> {
        let Link::Live { recorder, .. } = self else { return None };
        let result = recorder.as_mut()?.event(started.elapsed().as_secs_f64(), event);
        result.err().map(|problem| {
            *recorder = None;
            Action::RecordingFailed(problem)
        })
    }
}

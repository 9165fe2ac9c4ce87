//! The one loop: input, engine and clock in, frames and effects out.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event as Input, KeyEventKind, MouseButton, MouseEventKind};
use futures::{FutureExt, Stream, StreamExt};
use ratatui::Terminal;
use ratatui::backend::Backend;
use thiserror::Error;
use tokio::sync::mpsc::{Receiver, UnboundedSender, unbounded_channel};

use super::action::{Action, Effect, Mouse, MouseKind, ReplayControl};
use super::panes;
use super::recording::Recorder;
use super::reduce::reduce;
use super::state::{Start, State};
use crate::base::Problem;
use crate::engine::Engine;
use crate::engine::board::Board;
use crate::engine::message::{Command, Event, Notice};
use crate::figure::Figure;
use crate::session::replay::{Recorded, Step};

/// Shortest time between two frames that the engine asked for.
const FRAME: Duration = Duration::from_millis(33);
/// Shortest time between two frames that the user asked for.
const INPUT_FRAME: Duration = Duration::from_millis(8);
/// Time between two steps of an animation.
const TICK: Duration = Duration::from_millis(150);
/// Events taken from the engine before input is looked at again.
const BATCH: usize = 256;

/// Where events come from.
pub enum Source {
    /// An engine that computes, and who records it.
    Live(Box<dyn Engine>, Option<Box<dyn Recorder>>),
    /// A recording.
    Replay(Recorded),
}

/// Writes a figure to files and says which; runs outside the loop's thread.
pub type Exporter = Arc<dyn Fn(&Figure) -> Result<Vec<PathBuf>, Problem> + Send + Sync>;

/// What the loop needs beside a source.
pub struct Options {
    /// What the state starts from; its size is taken from the terminal.
    pub start: Start,
    /// Writes figures.
    pub export: Exporter,
    /// Puts text on the clipboard.
    pub copy: Box<dyn FnMut(&str)>,
    /// Called with true before and with false after each frame, for synchronized updates.
    pub frame: Box<dyn FnMut(bool)>,
    /// Shown at the start, for example what is wrong in the keymap.
    pub notices: Vec<Notice>,
    /// Ends the program when it resolves: a signal.
    pub stop: Pin<Box<dyn Future<Output = ()>>>,
}

/// How the program ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ExitReport {
    /// What was measured.
    pub board: Board,
    /// Why it ended.
    pub reason: ExitReason,
}

/// Why the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The user quit.
    User,
    /// The terminal went away.
    InputClosed,
    /// A signal asked for it.
    Signal,
}

/// Why the terminal program cannot go on.
#[derive(Debug, Error)]
pub enum TuiError {
    /// The terminal could not be read or written.
    #[error("the terminal cannot be used: {0}. Without a terminal, run `probity run SPEC.toml`.")]
    Terminal(#[from] io::Error),
    /// The output is no terminal.
    #[error("{0}. Without a terminal, run `probity run SPEC.toml`.")]
    NoTerminal(&'static str),
}

/// Runs the terminal program until the user quits. The first frame is drawn before the engine has said anything.
///
/// # Errors
/// [`TuiError::Terminal`] where the terminal fails.
pub async fn run<B, I>(
    terminal: &mut Terminal<B>,
    mut input: I,
    source: Source,
    options: Options,
) -> Result<ExitReport, TuiError>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
    I: Stream<Item = io::Result<Input>> + Unpin,
{
    let size = terminal.size().map_err(io::Error::other)?;
    let Options { start, export, copy, frame, notices, mut stop } = options;
    let (results_in, mut results) = unbounded_channel();
    let mut app = App {
        state: State::new(Start { size: (size.width, size.height), ..start }),
        link: Link::new(source),
        export,
        copy,
        frame,
        results: results_in,
        started: Instant::now(),
        repaint: false,
        quit: false,
    };
    for notice in notices {
        app.dispatch(Action::Notice(notice));
    }
    app.draw(terminal)?;
    app.dispatch(Action::Start);
    let mut pace = Pace { drawn: Instant::now(), wanted: Some(FRAME) };
    let mut feed = app.link.take();
    let mut next_tick = Instant::now() + TICK;
    let reason = loop {
        let due = pace.due();
        let animated = app.animated();
        tokio::select! {
            biased;
            () = &mut stop => break Ok(ExitReason::Signal),
            event = input.next() => match event {
                None => break Ok(ExitReason::InputClosed),
                Some(event) => {
                    let mut inputs = vec![event];
                    while let Some(Some(event)) = input.next().now_or_never() {
                        inputs.push(event);
                    }
                    if let Err(error) = app.input(inputs) {
                        break Err(error.into());
                    }
                    pace.want(INPUT_FRAME);
                }
            },
            Some(action) = results.recv() => {
                app.dispatch(action);
                pace.want(INPUT_FRAME);
            }
            items = feed.next() => {
                app.take(items, &mut feed);
                pace.want(FRAME);
            }
            () = tokio::time::sleep_until(next_tick.into()), if animated => {
                next_tick = Instant::now() + TICK;
                app.dispatch(Action::Tick);
                pace.want(FRAME);
            }
            () = tokio::time::sleep_until(due.unwrap_or(next_tick).into()), if due.is_some() => {}
        }
        if app.quit {
            break Ok(ExitReason::User);
        }
        if pace.due().is_some_and(|due| due <= Instant::now()) {
            if let Err(error) = app.draw(terminal) {
                break Err(error);
            }
            pace = Pace { drawn: Instant::now(), wanted: None };
        }
    };

    // A terminal that fails is no reason to lose the end of the recording.
    if !matches!(reason, Ok(ExitReason::User)) {
        app.link.send(&Command::Shutdown, app.started);
    }
    if let Link::Live { recorder: Some(recorder), .. } = &mut app.link {
        recorder.finish();
    }
    Ok(ExitReport { board: app.state.board, reason: reason? })
}

/// When the next frame is due.
struct Pace {
    drawn: Instant,
    wanted: Option<Duration>,
}

impl Pace {
    fn want(&mut self, gap: Duration) {
        self.wanted = Some(self.wanted.map_or(gap, |w| w.min(gap)));
    }

    fn due(&self) -> Option<Instant> {
        self.wanted.map(|gap| self.drawn + gap)
    }
}

/// The receiving end of the source.
enum Feed {
    Events(Receiver<Event>),
    Steps(Receiver<Step>),
    Closed,
}

/// What a source yields.
enum Item {
    Event(Event),
    Step(Step),
    End,
}

impl Feed {
    /// The next item; never resolves once the source has ended.
    async fn next(&mut self) -> Item {
        match self {
            Feed::Events(events) => events.recv().await.map_or(Item::End, Item::Event),
            Feed::Steps(steps) => steps.recv().await.map_or(Item::End, Item::Step),
            Feed::Closed => std::future::pending().await,
        }
    }

    fn try_next(&mut self) -> Option<Item> {
        match self {
            Feed::Events(events) => events.try_recv().ok().map(Item::Event),
            Feed::Steps(steps) => steps.try_recv().ok().map(Item::Step),
            Feed::Closed => None,
        }
    }
}

/// The sending end of the source.
enum Link {
    Live { engine: Box<dyn Engine>, recorder: Option<Box<dyn Recorder>> },
    Replay(Recorded),
}

impl Link {
    fn new(source: Source) -> Self {
        match source {
            Source::Live(engine, recorder) => Link::Live { engine, recorder },
            Source::Replay(recorded) => Link::Replay(recorded),
        }
    }

    fn take(&mut self) -> Feed {
        match self {
            Link::Live { engine, .. } => engine.take_events().map_or(Feed::Closed, Feed::Events),
            Link::Replay(recorded) => recorded.take_steps().map_or(Feed::Closed, Feed::Steps),
        }
    }

    /// Records a command and sends it. What went wrong comes back as actions.
    fn send(&mut self, command: &Command, started: Instant) -> Vec<Action> {
        let Link::Live { engine, recorder } = self else { return Vec::new() };
        let mut actions = Vec::new();
        if let Some(Err(problem)) =
            recorder.as_mut().map(|r| r.command(started.elapsed().as_secs_f64(), command))
        {
            *recorder = None;
            actions.push(Action::RecordingFailed(problem));
        }
        if engine.send(command.clone()).is_err() && *command != Command::Shutdown {
            actions.push(Action::EngineGone);
        }
        actions
    }

    fn record(&mut self, event: &Event, started: Instant) -> Option<Action> {
        let Link::Live { recorder, .. } = self else { return None };
        let result = recorder.as_mut()?.event(started.elapsed().as_secs_f64(), event);
        result.err().map(|problem| {
            *recorder = None;
            Action::RecordingFailed(problem)
        })
    }
}

struct App {
    state: State,
    link: Link,
    export: Exporter,
    copy: Box<dyn FnMut(&str)>,
    frame: Box<dyn FnMut(bool)>,
    results: UnboundedSender<Action>,
    started: Instant,
    /// The screen may hold anything: the next frame is drawn whole.
    repaint: bool,
    quit: bool,
}

impl App {
    fn draw<B: Backend>(&mut self, terminal: &mut Terminal<B>) -> Result<(), TuiError>
    where
        B::Error: Send + Sync + 'static,
    {
        // The size may have changed without an event, for example while the program was stopped.
        let size = terminal.size().map_err(io::Error::other)?;
        if (size.width, size.height) != self.state.view.size {
            self.dispatch(Action::Resize(size.width, size.height));
        }
        (self.frame)(true);
        if std::mem::take(&mut self.repaint) {
            // Not `Terminal::clear`, which asks where the cursor is.
            terminal.backend_mut().clear().map_err(io::Error::other)?;
            terminal.swap_buffers();
        }
        let drawn = terminal.draw(|frame| panes::draw(frame, &self.state)).map(|_| ());
        (self.frame)(false);
        drawn.map_err(|e| TuiError::Terminal(io::Error::other(e)))
    }

    /// Whether something moves on the screen without events.
    fn animated(&self) -> bool {
        let held = self.state.board.job().is_some_and(|job| job.held);
        self.state.busy() && !held || self.state.data_waiting().is_some()
    }

    /// Takes in what was typed, up to an error of the terminal.
    fn input(&mut self, inputs: Vec<io::Result<Input>>) -> io::Result<()> {
        let mut actions = Vec::new();
        let mut failed = Ok(());
        for input in inputs {
            match input {
                Ok(input) => {
                    self.repaint |= matches!(input, Input::Resize(..));
                    add(&mut actions, translate(input));
                }
                Err(error) => failed = Err(error),
            }
        }
        actions.into_iter().for_each(|action| self.dispatch(action));
        failed
    }

    fn dispatch(&mut self, action: Action) {
        let mut effects = reduce(&mut self.state, action);
        while !effects.is_empty() {
            let mut further = Vec::new();
            for effect in effects {
                for action in self.perform(effect) {
                    further.extend(reduce(&mut self.state, action));
                }
            }
            effects = further;
        }
    }

    fn perform(&mut self, effect: Effect) -> Vec<Action> {
        match effect {
            Effect::Send(command) => return self.link.send(&command, self.started),
            Effect::Export(figure) => {
                // Rendering takes longer than a frame.
                let (export, results) = (self.export.clone(), self.results.clone());
                tokio::task::spawn_blocking(move || {
                    // The loop may have ended meanwhile; then nobody waits for the answer.
                    let _ = results.send(Action::Exported(export(&figure)));
                });
            }
            Effect::NameSession(name) => {
                let unrecorded = || Problem {
                    what: "the session is not recorded".into(),
                    r#where: "session".into(),
                    hint: "start the program without --no-session".into(),
                };
                let result = match &mut self.link {
                    Link::Live { recorder: Some(recorder), .. } => recorder.rename(&name),
                    _ => Err(unrecorded()),
                };
                return vec![Action::Named(result)];
            }
            Effect::Copy(text) => (self.copy)(&text),
            Effect::Replay(control) => {
                if let Link::Replay(recorded) = &self.link {
                    let replay = recorded.control();
                    match control {
                        ReplayControl::Pause(hold) => replay.pause(hold),
                        ReplayControl::Seek(t) => replay.seek(t),
                        ReplayControl::Speed(speed) => replay.speed(speed),
                    }
                }
            }
            Effect::Quit => self.quit = true,
        }
        Vec::new()
    }

    /// Takes in an item of the source and all others that wait already.
    fn take(&mut self, first: Item, feed: &mut Feed) {
        let mut next = Some(first);
        let mut taken = 0;
        while let Some(item) = next {
            match item {
                Item::Event(event) => {
                    if let Some(action) = self.link.record(&event, self.started) {
                        self.dispatch(action);
                    }
                    self.dispatch(Action::Event(Box::new(event)));
                }
                Item::Step(step) => self.dispatch(Action::Played(step)),
                Item::End => {
                    *feed = Feed::Closed;
                    if self.state.replay.is_none() {
                        self.dispatch(Action::EngineGone);
                    }
                }
            }
            taken += 1;
            next = if taken < BATCH && !self.quit { feed.try_next() } else { None };
        }
    }
}

/// An input event as an action; none for what does not concern us.
pub fn translate(input: Input) -> Option<Action> {
    match input {
        Input::Key(key) if key.kind != KeyEventKind::Release => Some(Action::Key(key.into())),
        Input::Mouse(mouse) => {
            let kind = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
                MouseEventKind::Drag(MouseButton::Left) => MouseKind::Drag,
                MouseEventKind::Up(MouseButton::Left) => MouseKind::Release,
                MouseEventKind::ScrollUp => MouseKind::ScrollUp,
                MouseEventKind::ScrollDown => MouseKind::ScrollDown,
                _ => return None,
            };
            Some(Action::Mouse(Mouse { kind, x: mouse.column, y: mouse.row }))
        }
        Input::Paste(text) => Some(Action::Paste(text)),
        Input::Resize(columns, rows) => Some(Action::Resize(columns, rows)),
        _ => None,
    }
}

/// Adds an action to those that wait. Of a drag only the last place counts.
fn add(actions: &mut Vec<Action>, action: Option<Action>) {
    let Some(action) = action else { return };
    let drag = |a: &Action| matches!(a, Action::Mouse(Mouse { kind: MouseKind::Drag, .. }));
    match actions.last_mut() {
        Some(last) if drag(last) && drag(&action) => *last = action,
        _ => actions.push(action),
    }
}

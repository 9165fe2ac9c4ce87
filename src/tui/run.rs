//! The main loop: input, engine and clock in, frames and effects out.

mod end;
mod input;
mod link;
pub(crate) mod opened;
mod pace;
mod taken;

use std::future::{Future, poll_fn};
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crossterm::event::Event as Input;
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::sync::mpsc::{Receiver, UnboundedSender, unbounded_channel};

pub use end::{ExitReason, ExitReport, TuiError};
pub use input::translate;

use self::input::add;
use self::link::{Feed, Link};
use self::opened::{Over, called, error, resumed, worth_keeping};
use self::pace::Pace;
use super::action::{Action, Effect, Existing, Export, ReplayControl};
use super::example;
use super::memory::Memory;
pub use super::outside::Outside;
use super::panes;
use super::recording::Recorder;
use super::reduce::reduce;
use super::screens::{SCREENS, screen};
use super::state::{Opening, Recording, Start, State, View};
use base::Problem;
use base::text::printable;
use engine::Engine;
use engine::message::{Command, Notice, NoticeLevel};
use session::format::Session;
use session::replay::{Recorded, Step};
use session::shelf::Change;

/// Minimum time between frames caused by the engine.
const FRAME: Duration = Duration::from_millis(33);
/// Minimum time between frames caused by the user.
const INPUT_FRAME: Duration = Duration::from_millis(8);
const TICK: Duration = Duration::from_millis(150);

pub enum Source {
    Live(Box<dyn Engine>, Option<Box<dyn Recorder>>),
    Replay(Recorded),
    /// The commands and events of an engine that another screen controls.
    Seen(Box<dyn Engine>, Receiver<Step>),
    /// Progress and results of a grid that other processes compute.
    Followed(Receiver<Action>),
}

/// Resolves when the program should stop.
pub type Stop = Pin<Box<dyn Future<Output = ()>>>;

/// Parameters of the loop other than its source.
pub struct Options {
    /// Initial state; the terminal determines its size.
    pub start: Start,
    pub outside: Outside,
    /// Puts text on the clipboard; returns the destination.
    pub copy: Box<dyn FnMut(&str) -> &'static str>,
    /// Captures the mouse, or leaves it to the terminal.
    pub mouse: Box<dyn FnMut(bool)>,
    /// Called with true before and with false after each frame, for synchronized updates.
    pub frame: Box<dyn FnMut(bool)>,
    /// Notices at the start, for example about the keymap.
    pub notices: Vec<Notice>,
    /// Ends the program when it resolves, for example on a signal.
    pub stop: Stop,
}

/// Runs the terminal program until the user quits. The first frame does not wait for the engine. `input` polls for the next event; `None`
/// means that input has ended.
pub async fn run<B, I>(
    terminal: &mut Terminal<B>,
    mut input: I,
    source: Source,
    options: Options,
) -> Result<ExitReport, TuiError>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
    I: FnMut(&mut Context<'_>) -> Poll<Option<io::Result<Input>>>,
{
    let size = terminal.size().map_err(io::Error::other)?;
    let (results_in, mut results) = unbounded_channel();
    let (mut app, mut stop) = App::new((size.width, size.height), source, options, results_in);
    app.draw(terminal)?;
    app.dispatch(Action::Start);
    let mut pace = Pace { drawn: Instant::now(), wanted: Some(FRAME) };
    let mut feed = app.link.take();
    let mut over = Feed::Closed;
    let mut next_tick = Instant::now() + TICK;
    let reason = loop {
        let due = pace.due();
        let animated = app.animated();
        tokio::select! {
            biased;
            () = &mut stop => break Ok(ExitReason::Signal),
            event = poll_fn(&mut input) => match event {
                None => break Ok(ExitReason::InputClosed),
                Some(event) => {
                    let mut inputs = vec![event];
                    while let Poll::Ready(Some(event)) = input(&mut Context::from_waker(Waker::noop())) {
                        inputs.push(event);
                    }
                    if let Err(error) = app.input(inputs) {
                        break Err(error.into());
                    }
                    pace.want(INPUT_FRAME);
                }
            },
            Some(done) = results.recv() => {
                app.on_done(done, &mut over);
                pace.want(INPUT_FRAME);
            }
            items = feed.next() => {
                app.take(items, &mut feed);
                pace.want(FRAME);
            }
            item = over.next() => {
                app.take_over(item, &mut over);
                pace.want(FRAME);
            }
            () = tokio::time::sleep_until(next_tick.into()), if animated => {
                next_tick = Instant::now() + TICK;
                app.on_top(Action::Tick);
                pace.want(FRAME);
            }
            () = tokio::time::sleep_until(due.unwrap_or(next_tick).into()), if due.is_some() => {}
        }
        app.follow_link();
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

    let memory = Memory::of(&app.state);
    let reason = app.finish(reason)?;
    let unrecorded = match app.state.recording {
        Recording::Failed(what) => Some(what),
        Recording::Off | Recording::On(_) => None,
    };
    Ok(ExitReport { reason, saved: app.saved, unrecorded, board: app.state.board, memory })
}

enum Done {
    Action(Box<Action>),
    /// A session was read for a replay: file, name and contents. A shipped session has no file.
    Opened(Option<PathBuf>, String, Box<Session>),
}

struct App {
    state: State,
    link: Link,
    over: Option<Over>,
    outside: Outside,
    copy: Box<dyn FnMut(&str) -> &'static str>,
    mouse: Box<dyn FnMut(bool)>,
    frame: Box<dyn FnMut(bool)>,
    results: UnboundedSender<Done>,
    started: Instant,
    /// True once the user has run, exported or named something; the session is then kept.
    asked: bool,
    /// True while the session has its default name, which says nothing about its runs.
    unnamed: bool,
    /// True if the terminal's contents are unknown, so that the next frame is drawn in full.
    repaint: bool,
    quit: bool,
    /// Name of the session once its recording has ended, if it is kept.
    saved: Option<String>,
}

impl App {
    /// Creates the program before its first frame; also returns its stop signal.
    fn new(size: (u16, u16), source: Source, options: Options, results: UnboundedSender<Done>) -> (Self, Stop) {
        let Options { start, outside, copy, mouse, frame, notices, stop } = options;
        let now = Instant::now();
        let mut app = Self {
            asked: start.opening == Opening::Work || start.named,
            unnamed: !start.named && start.far.is_none(),
            // Times in a recording continue those of an engine that was already running.
            started: now.checked_sub(start.age).unwrap_or(now),
            state: State::new(Start { size, ..start }),
            link: Link::new(source),
            over: None,
            outside,
            copy,
            mouse,
            frame,
            results,
            repaint: false,
            quit: false,
            saved: None,
        };
        for notice in notices {
            app.dispatch(Action::Notice(notice));
        }
        (app, stop)
    }

    /// Ends the recording, even if the terminal fails.
    fn finish(&mut self, reason: Result<ExitReason, TuiError>) -> Result<ExitReason, TuiError> {
        if !matches!(reason, Ok(ExitReason::User)) {
            self.link.lose(self.started);
        }
        if let Link::Live { recorder: Some(recorder), .. } = &mut self.link {
            // The recording of a killed program is kept.
            match (self.asked, &reason) {
                (false, Ok(ExitReason::User)) => recorder.discard(),
                _ => {
                    recorder.finish();
                    self.saved = self.state.recording.name();
                }
            }
        }
        reason
    }

    fn draw<B: Backend>(&mut self, terminal: &mut Terminal<B>) -> Result<(), TuiError>
    where
        B::Error: Send + Sync + 'static,
    {
        // The size may have changed without an event, for example while the program was suspended.
        let size = terminal.size().map_err(io::Error::other)?;
        if (size.width, size.height) != self.top().view.size {
            self.on_top(Action::Resize(size.width, size.height));
        }
        (self.frame)(true);
        if std::mem::take(&mut self.repaint) {
            // `Terminal::clear` would query the cursor position.
            terminal.backend_mut().clear().map_err(io::Error::other)?;
            terminal.swap_buffers();
        }
        if let Some(replay) = self.over.as_mut().and_then(|over| over.state.replay.as_mut()) {
            replay.beneath = self.state.board.job().filter(|_| self.state.busy()).cloned();
        }
        let top = self.over.as_ref().map_or(&self.state, |over| &over.state);
        let drawn = terminal.draw(|frame| panes::draw(frame, top)).map(|_| ());
        (self.frame)(false);
        drawn.map_err(|e| TuiError::Terminal(io::Error::other(e)))
    }

    fn top(&self) -> &State {
        self.over.as_ref().map_or(&self.state, |over| &over.state)
    }

    /// Handles all pending input, then returns the last terminal error, if any.
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
        actions.into_iter().for_each(|action| self.on_top(action));
        failed
    }

    /// True if the screen changes without events.
    fn animated(&self) -> bool {
        let state = self.top();
        if state.down.is_some() || state.view.toast.is_some() {
            return true;
        }
        let held = self.state.board.job().is_some_and(|job| job.held);
        self.state.busy() && !held || SCREENS.iter().any(|s| s.waiting(state).is_some())
    }

    /// Updates the state if the link to the engine has gone down or come back.
    fn follow_link(&mut self) {
        let down = self.link.down();
        if down != self.state.down {
            self.dispatch(Action::Down(down));
        }
    }

    fn dispatch(&mut self, action: Action) {
        let effects = reduce(&mut self.state, action);
        self.carry_out(effects, false);
    }

    /// Folds an action into the visible state.
    fn on_top(&mut self, action: Action) {
        let over = self.over.is_some();
        let by_user = matches!(action, Action::Key(_) | Action::Mouse(_) | Action::Command(_) | Action::Paste(_));
        let effects = reduce(self.over.as_mut().map_or(&mut self.state, |over| &mut over.state), action);
        self.asked |= by_user && !over && effects.iter().any(worth_keeping);
        self.carry_out(effects, over);
        self.leave_example();
    }

    /// Shows a screen that was chosen in an example in the program beneath: in the example, runs in other labs would seem lost.
    fn leave_example(&mut self) {
        if let Some(chosen) = self.over.as_ref().and_then(Over::left_for) {
            self.leave_over();
            self.dispatch(Action::Command(screen(chosen).tab().name));
        }
    }

    fn carry_out(&mut self, mut effects: Vec<Effect>, over: bool) {
        while !effects.is_empty() {
            let mut further = Vec::new();
            for effect in effects {
                for action in self.perform(effect, over) {
                    let state = self.over.as_mut().filter(|_| over).map_or(&mut self.state, |o| &mut o.state);
                    further.extend(reduce(state, action));
                }
            }
            effects = further;
        }
    }

    /// Closes the replay on top, but keeps the appearance and the export options chosen there, and an export in progress.
    fn leave_over(&mut self) {
        let Some(over) = self.over.take() else { return };
        let (View { theme, glyphs, export, writing, .. }, view) = (over.state.view, &mut self.state.view);
        (view.theme, view.glyphs, view.export, view.writing) = (theme, glyphs, export, writing);
    }

    /// Sends a command to the engine. The first run names the recording.
    fn send(&mut self, command: &Command) -> Vec<Action> {
        if let Command::Run { spec, .. } = command
            && std::mem::take(&mut self.unnamed)
            && let Some(name) = self.link.name_after(spec)
        {
            self.state.recording = Recording::On(name);
        }
        self.link.send(command, self.started)
    }

    /// Carries out an effect of the live state, or of the replay on top.
    fn perform(&mut self, effect: Effect, over: bool) -> Vec<Action> {
        match effect {
            Effect::Send(command) if !over => return self.send(&command),
            Effect::Send(_) => {}
            Effect::Forecast(spec) => {
                let forecast = self.outside.forecast.clone();
                self.spawn(move || {
                    let seconds = forecast(&spec);
                    Done::of(Action::Forecast(spec, seconds))
                });
            }
            Effect::ReadRelations(of, paths) => {
                self.spawn(move || {
                    let found = screen(of).relations_in(&paths);
                    Done::of(Action::Relations(of, paths, found))
                });
            }
            Effect::Export(export, existing) => self.export(export, existing),
            Effect::Save(document, existing) => {
                let save = self.outside.save.clone();
                self.spawn(move || Done::of(Action::Saved(save(&document, existing))));
            }
            Effect::Load(screen, paths) => {
                let load = self.outside.load.clone();
                let all = move || paths.iter().map(|path| load(path)).collect();
                self.spawn(move || Done::of(Action::Loaded(screen, all())));
            }
            Effect::ListSessions => self.list_sessions(None),
            Effect::ChangeSession(path, change) => self.list_sessions(Some((path, change))),
            Effect::OpenSession(path) => {
                let read = self.outside.read.clone();
                self.spawn(move || match read(&path) {
                    Ok(session) => Done::Opened(Some(path.clone()), called(&path), Box::new(session)),
                    Err(problem) => Done::of(Action::Notice(error(problem))),
                });
            }
            Effect::OpenExample(lab) => self.spawn(move || match example::session(lab) {
                Ok((name, session)) => Done::Opened(None, name, Box::new(session)),
                Err(problem) => Done::of(Action::Notice(error(problem))),
            }),
            Effect::ResumeSession(path, spec) => {
                // Continuing from a replay on top happens in the program beneath it.
                self.leave_over();
                self.state.view.reading = Some(called(&path));
                let read = self.outside.read.clone();
                let lab = self.state.setup().map(|setup| setup.lab());
                self.spawn(move || Done::of(Action::Resumed(read(&path).and_then(|s| resumed(&path, &s, spec, lab)))));
            }
            Effect::Adopt(name, past) => {
                let actions = self.link.adopt(&name, &past, self.started);
                // Times in the new recording continue those of the old one.
                let length = Duration::try_from_secs_f64(past.last().map_or(0.0, |e| e.t)).unwrap_or_default();
                self.started = self.started.checked_sub(length).unwrap_or(self.started);
                return actions;
            }
            Effect::Note(text) => return self.link.note(&text, self.started),
            Effect::NameSession(name) => {
                self.unnamed = false;
                return vec![Action::Named(self.link.rename(&name))];
            }
            Effect::Submit => {
                let submit = self.outside.submit.clone();
                self.spawn(move || Done::of(Action::Submitted(submit())));
            }
            Effect::TryLink => self.link.try_now(),
            Effect::Copy(text) => return vec![Action::Copied((self.copy)(&text))],
            Effect::Mouse(on) => (self.mouse)(on),
            Effect::Replay(control) => self.steer(control),
            Effect::Quit if over => self.leave_over(),
            Effect::Quit => self.quit = true,
            Effect::Leave => {
                self.link.lose(self.started);
                self.quit = true;
            }
        }
        Vec::new()
    }

    /// Runs work that takes longer than a frame on another thread.
    fn spawn(&self, work: impl FnOnce() -> Done + Send + 'static) {
        let results = self.results.clone();
        tokio::task::spawn_blocking(move || {
            // The loop may have ended meanwhile.
            let _ = results.send(work());
        });
    }

    /// Writes files on another thread, which reports their number as it goes.
    fn export(&self, export: Box<Export>, existing: Existing) {
        let (write, results) = (self.outside.export.clone(), self.results.clone());
        self.spawn(move || {
            let tell = |done, all| {
                // The loop may have ended meanwhile.
                let _ = results.send(Done::of(Action::Writing(done, all)));
            };
            Done::of(Action::Exported(write(&export, existing, &tell)))
        });
    }

    fn list_sessions(&self, change: Option<(PathBuf, Change)>) {
        let list = self.outside.sessions.clone();
        self.spawn(move || Done::of(Action::Sessions(list(change.as_ref()))));
    }

    fn steer(&mut self, control: ReplayControl) {
        let recorded = match (&self.over, &self.link) {
            (Some(over), _) => &over.recorded,
            (None, Link::Replay(recorded)) => recorded,
            _ => return,
        };
        let replay = recorded.control();
        match control {
            ReplayControl::Pause(hold) => replay.pause(hold),
            ReplayControl::Seek(t) => replay.seek(t),
            ReplayControl::Speed(speed) => replay.speed(speed),
        }
    }

    /// Handles the result of work on another thread; a session that was read is shown on top.
    fn on_done(&mut self, done: Done, feed: &mut Feed) {
        match done {
            Done::Action(action) => self.on_top(*action),
            Done::Opened(file, name, session) => {
                let losses = session.losses.sentences();
                let mut over = Over::new(self.top(), file, &name, *session);
                *feed = over.recorded.take_steps().map_or(Feed::Closed, Feed::Steps);
                self.over = Some(over);
                for what in losses {
                    let hint = "the rest of the recording is shown".into();
                    let problem = Problem { what, r#where: name.clone(), hint };
                    self.on_top(Action::Notice(Notice { level: NoticeLevel::Warning, problem }));
                }
                if let Some(over) = &mut self.over {
                    let leave = over.state.keymap.label(if over.example.is_some() { "example" } else { "quit" });
                    over.state.view.toast = Some(format!("replay of {}; {leave} leaves it", printable(&name)));
                }
            }
        }
    }
}

impl Done {
    fn of(action: Action) -> Self {
        Done::Action(Box::new(action))
    }
}

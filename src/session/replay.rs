//! Plays a recorded session at a chosen speed, as a plain cursor or as an engine.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::format::{Entry, Session};
use super::stream::Entries;
use engine::board::Board;
use engine::message::{Command, Event};
use engine::{EVENT_QUEUE, Engine, EngineGone};

/// Minimum and maximum replay speed.
pub const SPEEDS: (f64, f64) = (0.05, 1000.0);
/// Maximum sleep between two checks of the clock.
const NAP: Duration = Duration::from_millis(250);

/// A cursor over a session. It has no clock; callers pass the elapsed time.
#[derive(Debug)]
pub struct Player {
    session: Arc<Session>,
    rest: Entries,
    now: f64,
    speed: f64,
    paused: bool,
}

impl Player {
    pub fn new(session: Arc<Session>) -> Self {
        let rest = session.entries();
        Self { session, rest, now: 0.0, speed: 1.0, paused: false }
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Position of the replay, in seconds of the recording.
    pub fn position(&self) -> f64 {
        self.now
    }

    /// Speed in seconds of recording per second, and true if the replay is paused.
    pub fn pace(&self) -> (f64, bool) {
        (self.speed, self.paused)
    }

    pub fn ended(&mut self) -> bool {
        self.rest.peek().is_none()
    }

    /// Sets the speed, clamped to [`SPEEDS`]; infinity plays the remaining entries at the next step.
    pub fn set_speed(&mut self, speed: f64) {
        let finite = speed.max(SPEEDS.0).min(SPEEDS.1);
        self.speed = if speed == f64::INFINITY { speed } else { finite };
    }

    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Advances by `wall` seconds and returns the entries that are due, in order.
    pub fn advance(&mut self, wall: f64) -> impl Iterator<Item = Entry> {
        let end = self.session.duration();
        // At infinite speed, even zero seconds cover everything that remains.
        let target = if self.speed.is_infinite() { end } else { self.now + wall.max(0.0) * self.speed };
        if !self.paused {
            self.now = target.min(end);
        }
        let (now, paused) = (self.now, self.paused);
        std::iter::from_fn(move || {
            let due = !paused && self.rest.peek().is_some_and(|entry| entry.t <= now);
            if due { self.rest.next() } else { None }
        })
    }

    /// Seeks to time `t` of the recording, in either direction. Returns entries from the beginning that fold to the state at `t`, and the
    /// indices of the runs whose results that state has dropped.
    pub fn seek(&mut self, t: f64) -> (impl Iterator<Item = Entry> + use<>, Vec<usize>) {
        self.now = t.clamp(0.0, self.session.duration());
        let past = self.session.until(self.now);
        self.rest = past.rest;
        (past.entries, past.gone)
    }

    /// Wall time in seconds until the next entry; `None` if the replay has ended or is paused.
    pub fn wait(&mut self) -> Option<f64> {
        if self.paused {
            return None;
        }
        let (now, speed) = (self.now, self.speed);
        let entry = self.rest.peek()?;
        Some(if speed.is_infinite() { 0.0 } else { ((entry.t - now) / speed).max(0.0) })
    }
}

/// Steps of a replay, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Reset: the following steps start at the beginning of the session.
    Rewound,
    Entry(Box<Entry>),
    /// Indices of runs whose results the state has dropped. It comes before their entries, so that they are not kept until then.
    LetGo(Vec<usize>),
    /// The end of the session; a seek may follow.
    Ended,
}

/// A recorded session as an engine. Commands are ignored, except [`Command::Shutdown`].
///
/// [`Engine::take_events`] returns only the recorded events. A board also needs the recorded commands, which the live program sent itself;
/// to fold a board, use [`Recorded::take_steps`]. Use only one of these two methods.
pub struct Recorded {
    control: Control,
    thread: Option<std::thread::JoinHandle<()>>,
    start: Option<Box<Player>>,
}

/// Controls a replay from another thread: pause, seek, speed.
#[derive(Clone)]
pub struct Control(Arc<Shared>);

struct Shared {
    wishes: Mutex<Wishes>,
    changed: Condvar,
}

#[derive(Default)]
struct Wishes {
    speed: Option<f64>,
    paused: Option<bool>,
    seek: Option<f64>,
    stop: bool,
}

impl Control {
    fn wish(&self, change: impl FnOnce(&mut Wishes)) {
        change(&mut self.lock());
        self.0.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Wishes> {
        // The state is plain data, so a panic on another thread cannot leave it inconsistent.
        self.0.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the speed in seconds of recording per second; infinity plays the remaining entries at once.
    pub fn speed(&self, speed: f64) {
        self.wish(|w| w.speed = Some(speed));
    }

    pub fn pause(&self, hold: bool) {
        self.wish(|w| w.paused = Some(hold));
    }

    /// Seeks to time `t` of the recording, in seconds.
    pub fn seek(&self, t: f64) {
        self.wish(|w| w.seek = Some(t));
    }
}

impl Recorded {
    /// Creates a replay of `session` at `speed`; infinity plays it at once. It begins when its steps or events are taken.
    pub fn new(session: Arc<Session>, speed: f64) -> Self {
        let mut player = Player::new(session);
        player.set_speed(speed);
        let control = Control(Arc::new(Shared { wishes: Mutex::default(), changed: Condvar::new() }));
        Self { control, thread: None, start: Some(Box::new(player)) }
    }

    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Returns the receiver of the steps, once, and not together with [`Engine::take_events`].
    pub fn take_steps(&mut self) -> Option<Receiver<Step>> {
        self.spawn(|step| Some(step.clone()))
    }

    fn spawn<T: Send + 'static>(&mut self, map: impl Fn(&Step) -> Option<T> + Send + 'static) -> Option<Receiver<T>> {
        let player = self.start.take()?;
        let (sender, receiver) = channel(EVENT_QUEUE);
        let control = self.control();
        let feed = move || feed(*player, &control, &sender, &map);
        self.thread = std::thread::Builder::new().name("replay".into()).spawn(feed).ok();
        self.thread.as_ref().map(|_| receiver)
    }
}

impl Engine for Recorded {
    fn send(&mut self, command: Command) -> Result<(), EngineGone> {
        if command == Command::Shutdown {
            self.control.wish(|w| w.stop = true);
            return Ok(());
        }
        let alive = self.start.is_some() || self.thread.as_ref().is_some_and(|t| !t.is_finished());
        if alive { Ok(()) } else { Err(EngineGone) }
    }

    fn take_events(&mut self) -> Option<Receiver<Event>> {
        self.spawn(|step| match step {
            Step::Entry(entry) => match &entry.item {
                super::format::Item::Event(event) => Some(event.clone()),
                _ => None,
            },
            Step::Rewound | Step::LetGo(_) | Step::Ended => None,
        })
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.control.wish(|w| w.stop = true);
    }
}

/// The replay thread: plays due entries, then sleeps until the next entry or request. It ends when the receiver is dropped.
fn feed<T>(mut player: Player, control: &Control, sender: &Sender<T>, map: &impl Fn(&Step) -> Option<T>) {
    let send = |step: Step| map(&step).is_none_or(|x| sender.blocking_send(x).is_ok());
    let mut clock = Instant::now();
    let mut told_end = false;
    loop {
        let mut wishes = control.lock();
        let nap = player.wait().map_or(NAP, |s| Duration::try_from_secs_f64(s).unwrap_or(NAP).min(NAP));
        let idle = wishes.seek.is_none() && wishes.speed.is_none() && wishes.paused.is_none() && !wishes.stop;
        if idle && !nap.is_zero() {
            let waited = control.0.changed.wait_timeout(wishes, nap);
            wishes = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let wish = std::mem::take(&mut *wishes);
        drop(wishes);
        if wish.stop || sender.is_closed() {
            return;
        }
        // The time so far counts at the old speed.
        let wall = clock.elapsed().as_secs_f64();
        clock = Instant::now();
        let play = |entry: Entry| send(Step::Entry(Box::new(entry)));
        let played = match wish.seek {
            Some(t) => {
                told_end = false;
                let (mut entries, gone) = player.seek(t);
                send(Step::Rewound) && (gone.is_empty() || send(Step::LetGo(gone))) && entries.all(play)
            }
            None => player.advance(wall).all(play),
        };
        if !played {
            return;
        }
        if let Some(speed) = wish.speed {
            player.set_speed(speed);
        }
        if let Some(paused) = wish.paused {
            player.set_paused(paused);
        }
        if player.ended() && !told_end {
            told_end = true;
            if !send(Step::Ended) {
                return;
            }
        }
    }
}

/// Folds a step into a replay's board, which is cleared when the replay is reset.
pub fn fold(board: &mut Board, step: &Step) {
    match step {
        Step::Rewound => *board = Board::default(),
        Step::Entry(entry) => entry.fold(board),
        Step::LetGo(gone) => gone.iter().for_each(|at| board.let_go(*at)),
        Step::Ended => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Header, Item};
    use engine::message::EngineInfo;

    fn session(times: &[f64]) -> Arc<Session> {
        let ready = |device: String| Event::Ready(EngineInfo { version: "1".into(), device });
        let mut text = serde_json::to_string(&Header::new("cpu", String::new(), None)).unwrap() + "\n";
        for &t in times {
            text += &Entry { t, item: Item::Event(ready(format!("at {t}"))) }.to_line().unwrap();
        }
        Arc::new(Session::parse(text.as_bytes(), std::path::Path::new("s")).unwrap())
    }

    #[test]
    fn player_respects_speed_pause_and_seek() {
        let mut player = Player::new(session(&[0.0, 1.0, 1.0, 5.0]));
        assert_eq!(player.advance(0.0).count(), 1);
        assert_eq!(player.wait(), Some(1.0));
        assert_eq!(player.advance(0.5).count(), 0);
        player.set_speed(2.0);
        assert_eq!(player.wait(), Some(0.25));
        assert_eq!(player.advance(0.25).count(), 2);
        player.set_paused(true);
        assert_eq!((player.advance(100.0).count(), player.wait()), (0, None));
        assert_eq!(player.position(), 1.0);
        assert_eq!(player.seek(0.5).0.count(), 1);
        assert_eq!(player.seek(1e9).0.count(), 4);
        assert!(player.ended() && player.position() == 5.0);
        player.set_paused(false);
        drop(player.seek(0.0));
        player.set_speed(f64::INFINITY);
        assert_eq!(player.advance(0.0).count(), 3);
        player.set_speed(f64::NAN);
        assert_eq!(player.pace().0, SPEEDS.0);
    }

    #[test]
    fn instant_replay_is_complete_and_seek_restarts() {
        let session = session(&[0.0, 1000.0, 100_000.0]);
        let mut recorded = Recorded::new(session.clone(), f64::INFINITY);
        let mut steps = recorded.take_steps().unwrap();
        assert!(recorded.take_events().is_none());
        let mut board = Board::default();
        let mut next = |board: &mut Board| {
            let step = steps.blocking_recv().unwrap();
            fold(board, &step);
            step
        };
        while next(&mut board) != Step::Ended {}
        assert_eq!(board, session.board());
        let control = recorded.control();
        control.pause(true);
        control.seek(1000.0);
        assert_eq!(next(&mut board), Step::Rewound);
        next(&mut board);
        next(&mut board);
        assert_eq!(board, session.board_at(1000.0));
        recorded.send(Command::ListModels).unwrap();
        recorded.send(Command::Shutdown).unwrap();
        assert_eq!(steps.blocking_recv(), None);
    }

    #[test]
    fn replay_sends_events_in_order() {
        let mut recorded = Recorded::new(session(&[0.0, 0.1, 0.2]), f64::INFINITY);
        let mut events = recorded.take_events().unwrap();
        for t in ["at 0", "at 0.1", "at 0.2"] {
            let Some(Event::Ready(info)) = events.blocking_recv() else { panic!("an event") };
            assert_eq!(info.device, t);
        }
    }
}

//! The terminal itself: set up, restored whatever happens, and the way to its clipboard.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::ThreadId;

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event, EventStream,
};
use crossterm::execute;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use futures::{Stream, StreamExt};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::sync::mpsc::channel;

use super::run::{ExitReport, Options, Source, TuiError, run};

/// Longest text that is sent to the clipboard; terminals drop longer ones.
const MAX_CLIPBOARD: usize = 74_000;

/// Input events that wait for the loop.
const INPUT_QUEUE: usize = 256;

/// Whether the terminal is ours now.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Messages of panics on other threads, held back until the screen is restored.
static HELD: Mutex<Vec<String>> = Mutex::new(Vec::new());
static HOOK: Once = Once::new();

/// The screen while the program owns it; dropping it gives the terminal back.
struct Screen;

impl Screen {
    fn enter(mouse: bool) -> io::Result<Self> {
        enable_raw_mode()?;
        ACTIVE.store(true, Ordering::SeqCst);
        // From here on, dropping restores whatever part of the set-up was done.
        let screen = Self;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        if mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Errors are of no use here: there is nowhere left to show them.
fn restore() {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        crossterm::cursor::Show
    );
    let _ = disable_raw_mode();
    for message in HELD.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        eprintln!("{message}");
    }
}

/// A panic of the thread that draws restores the terminal before its message is printed. Panics of other threads are
/// the engine's to report; their messages wait until the screen is ours no more.
fn install_hook(ui: ThreadId) {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == ui {
                restore();
            } else if ACTIVE.load(Ordering::SeqCst) {
                let name = std::thread::current().name().unwrap_or("unnamed").to_owned();
                HELD.lock().unwrap_or_else(PoisonError::into_inner).push(format!("thread {name}: {info}"));
                return;
            }
            before(info);
        }));
    });
}

/// Runs the terminal program on this process's terminal.
///
/// # Errors
/// [`TuiError`] where there is no terminal or it fails; the terminal is restored before the error is returned.
pub fn launch(source: Source, options: Options, mouse: bool) -> Result<ExitReport, TuiError> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(TuiError::NoTerminal("standard input and output are no terminal"));
    }
    if std::env::var("TERM").is_ok_and(|t| t == "dumb") {
        return Err(TuiError::NoTerminal("this terminal cannot move its cursor (TERM=dumb)"));
    }
    install_hook(std::thread::current().id());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _screen = Screen::enter(mouse)?;
    let mut terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>> =
        Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout())))?;
    terminal.clear()?;
    let report = runtime.block_on(async {
        let input = forwarded(EventStream::new());
        run(&mut terminal, input, source, options).await
    });
    // An export that still renders must not hold up the shell's prompt.
    runtime.shutdown_background();
    report
}

/// The same stream, read by a task of its own. crossterm's stream remembers the first waker that it is polled with and
/// forgets later ones, so a loop that looks whether more input waits, without waiting itself, would never be woken again.
fn forwarded(
    mut input: impl Stream<Item = io::Result<Event>> + Unpin + Send + 'static,
) -> impl Stream<Item = io::Result<Event>> + Unpin {
    let (sender, mut receiver) = channel(INPUT_QUEUE);
    tokio::spawn(async move {
        while let Some(event) = input.next().await {
            if sender.send(event).await.is_err() {
                return;
            }
        }
    });
    futures::stream::poll_fn(move |context| receiver.poll_recv(context))
}

/// Marks the beginning (true) or the end of a frame, so that terminals which know how show it at once.
pub fn synchronize(begin: bool) {
    // A terminal that is gone shows up as an error of the next draw.
    let _ = if begin {
        execute!(io::stdout(), BeginSynchronizedUpdate)
    } else {
        execute!(io::stdout(), EndSynchronizedUpdate)
    };
}

/// Puts text on the clipboard of the user's terminal, over ssh too (OSC 52).
pub fn copy(text: &str) {
    let end = (0..=MAX_CLIPBOARD.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    let mut out = io::stdout();
    // As above: the next draw reports a terminal that is gone.
    let _ = write!(out, "\x1b]52;c;{}\x07", base64(&text.as_bytes()[..end])).and_then(|()| out.flush());
}

/// Resolves when the system asks the program to end.
pub async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let signals =
            signal(SignalKind::terminate()).and_then(|t| signal(SignalKind::hangup()).map(|h| (t, h)));
        if let Ok((mut terminate, mut hangup)) = signals {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = hangup.recv() => return,
            }
        }
    }
    std::future::pending().await
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = DIGITS[(n >> (18 - 6 * i) & 63) as usize] as char;
            out.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::sync::Arc;

    #[test]
    fn base64_follows_rfc_4648() {
        for (text, code) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), code);
        }
    }

    /// A stream like crossterm's: it keeps the first waker that it sees until something arrives.
    struct Forgetful {
        waker: Arc<Mutex<Option<std::task::Waker>>>,
        ready: Arc<AtomicBool>,
    }

    impl Stream for Forgetful {
        type Item = io::Result<Event>;

        fn poll_next(
            self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            if self.ready.swap(false, Ordering::SeqCst) {
                return std::task::Poll::Ready(Some(Ok(Event::FocusGained)));
            }
            self.waker.lock().unwrap().get_or_insert_with(|| context.waker().clone());
            std::task::Poll::Pending
        }
    }

    #[tokio::test]
    async fn input_after_an_impatient_look_still_wakes_the_loop() {
        let waker = Arc::new(Mutex::new(None));
        let ready = Arc::new(AtomicBool::new(false));
        let mut input = forwarded(Forgetful { waker: waker.clone(), ready: ready.clone() });
        assert!(input.next().now_or_never().is_none());
        tokio::task::yield_now().await;
        ready.store(true, Ordering::SeqCst);
        let kept: std::task::Waker = waker.lock().unwrap().take().unwrap();
        kept.wake();
        let event = tokio::time::timeout(std::time::Duration::from_secs(5), input.next()).await;
        assert!(matches!(event, Ok(Some(Ok(Event::FocusGained)))), "{event:?}");
    }
}

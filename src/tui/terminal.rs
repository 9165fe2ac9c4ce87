//! The terminal: setup, guaranteed restoration, and the clipboard.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::mem::ManuallyDrop;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::task::{Context, Poll};
use std::thread::ThreadId;

use base64::prelude::{BASE64_STANDARD, Engine};
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event};
use crossterm::execute;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, channel, unbounded_channel};

use super::run::{ExitReport, Options, Source, TuiError, run};

#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use super::guard::{self, Guard};
#[cfg(unix)]
use base::signals;

/// Maximum bytes of text sent to the clipboard; terminals drop longer texts.
const MAX_CLIPBOARD: usize = 74_000;
const INPUT_QUEUE: usize = 256;
/// Interval at which a thread checks that the terminal still exists.
#[cfg(unix)]
const WATCH: Duration = Duration::from_millis(200);
/// Grace period for the loop to end; after it, the process exits anyway.
#[cfg(unix)]
const GRACE: Duration = Duration::from_millis(600);

/// True while the program owns the terminal.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Panic messages of other threads, held back until the screen is restored.
static HELD: Mutex<Vec<String>> = Mutex::new(Vec::new());
static HOOK: Once = Once::new();
static STOP: Notify = Notify::const_new();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has job control"))]
enum Control {
    /// Restore the terminal and stop.
    Suspend,
    /// The process was resumed: set the terminal up again.
    Resume,
}

/// The screen while the program owns it; dropping it restores the terminal.
struct Screen {
    mouse: bool,
    #[cfg(unix)]
    guard: Option<Guard>,
}

impl Screen {
    fn enter(mouse: bool) -> io::Result<Self> {
        #[cfg(unix)]
        let settings = guard::settings();
        // From here on, dropping restores everything that has been set up.
        #[cfg_attr(not(unix), allow(unused_mut))]
        let mut screen = Self {
            mouse,
            #[cfg(unix)]
            guard: None,
        };
        screen.set_up()?;
        #[cfg(unix)]
        {
            screen.guard = settings.and_then(|s| Guard::set(&s).ok());
        }
        Ok(screen)
    }

    fn set_up(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        ACTIVE.store(true, Ordering::SeqCst);
        // `Terminal::clear` would query the cursor position, and over a slow line the answer comes too late.
        execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All), EnableBracketedPaste)?;
        if self.mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        Ok(())
    }

    /// Handles job control, between frames on the drawing thread.
    #[cfg(unix)]
    fn control_job(&mut self, control: Control) -> io::Result<()> {
        if control == Control::Suspend {
            if !guard::job_control() {
                return Ok(());
            }
            self.guard.iter_mut().for_each(|g| g.tell(false));
            restore();
            guard::stop_here();
        } else {
            // After a stop that could not be caught, other programs may have changed the terminal; otherwise crossterm would assume raw
            // mode.
            disable_raw_mode()?;
        }
        self.set_up()?;
        self.guard.iter_mut().for_each(|g| g.tell(true));
        Ok(())
    }

    #[cfg(not(unix))]
    fn control_job(&mut self, _: Control) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal, ignoring errors, which could not be shown anywhere.
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
        // `eprintln!` would panic without standard error.
        let _ = writeln!(io::stderr(), "{message}");
    }
}

/// Makes a panic of the drawing thread restore the terminal before printing its message. The engine reports panics of other threads; their
/// messages wait until the screen is restored.
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
/// [`TuiError`] if there is no terminal or it fails; the terminal is restored first.
pub fn launch(source: Source, options: Options, mouse: bool) -> Result<ExitReport, TuiError> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(TuiError::NoTerminal("standard input and output are not a terminal"));
    }
    if std::env::var("TERM").is_ok_and(|t| t == "dumb") {
        return Err(TuiError::NoTerminal("this terminal cannot move its cursor (TERM=dumb)"));
    }
    install_hook(std::thread::current().id());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (controls, orders) = unbounded_channel();
    attend(&controls)?;
    let mut screen = Screen::enter(mouse)?;
    // Never dropped: the destructor panics if the terminal is gone. Restoring the screen shows the cursor again.
    let mut terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>> =
        ManuallyDrop::new(Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout())))?);
    let input = input(&mut screen, &controls, orders)?;
    let report = runtime.block_on(run(&mut *terminal, input, source, options));
    // An export in progress must not delay the shell's prompt.
    runtime.shutdown_background();
    #[cfg(unix)]
    if guard::gone() {
        signals::note(signals::HANGUP);
    }
    report
}

/// Handles signals and watches the terminal, each on a separate thread. The process therefore ends soon after a request, even if the
/// loop, crossterm or a write hangs.
#[cfg(unix)]
fn attend(controls: &UnboundedSender<Control>) -> io::Result<()> {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
    let controls = controls.clone();
    signals::listen(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT], move |signal| match signal {
        // The loop may have ended and accept no more requests.
        SIGTSTP => drop(controls.send(Control::Suspend)),
        SIGCONT => drop(controls.send(Control::Resume)),
        signal => end(u8::try_from(signal).unwrap_or(signals::INTERRUPT)),
    })?;
    std::thread::Builder::new().name("watch".into()).spawn(|| {
        while !guard::gone() {
            std::thread::sleep(WATCH);
        }
        end(signals::HANGUP);
    })?;
    Ok(())
}

#[cfg(not(unix))]
fn attend(_: &UnboundedSender<Control>) -> io::Result<()> {
    Ok(())
}

/// Ends the loop and, after a grace period, the process. Does not return.
#[cfg(unix)]
fn end(signal: u8) {
    signals::note(signal);
    STOP.notify_one();
    std::thread::sleep(GRACE);
    // Everything recorded has been written, and the guard restores the terminal.
    signal_hook::low_level::exit(128 + i32::from(signals::first().unwrap_or(signal)));
}

/// Returns typed input in order, interleaved with job control. crossterm reads on a separate thread. After the terminal is gone, its reader
/// loops forever: it does not treat a read of zero bytes as an error.
fn input<'s>(
    screen: &'s mut Screen,
    controls: &UnboundedSender<Control>,
    mut orders: UnboundedReceiver<Control>,
) -> io::Result<impl FnMut(&mut Context<'_>) -> Poll<Option<io::Result<Event>>> + use<'s>> {
    let (sender, mut events) = channel(INPUT_QUEUE);
    std::thread::Builder::new().name("input".into()).spawn(move || {
        loop {
            let event = crossterm::event::read();
            let failed = event.is_err();
            if sender.blocking_send(event).is_err() || failed {
                return;
            }
        }
    })?;
    // Kept open, so that the input never ends.
    let controls = controls.clone();
    Ok(move |context: &mut Context<'_>| {
        if let Poll::Ready(Some(control)) = orders.poll_recv(context) {
            let _ = &controls;
            let obeyed = screen.control_job(control).and_then(|()| crossterm::terminal::size());
            // A resize makes the loop redraw everything, as a new screen requires.
            return Poll::Ready(Some(obeyed.map(|(columns, rows)| Event::Resize(columns, rows))));
        }
        match events.poll_recv(context) {
            #[cfg(unix)]
            Poll::Ready(Some(Ok(event))) if suspends(&event) => {
                if guard::job_control() {
                    guard::stop_job();
                }
                // Polled again at once, because other input may be waiting.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            other => other,
        }
    })
}

/// True for Ctrl-Z, which a terminal in raw mode passes on as a key.
#[cfg(any(unix, test))]
fn suspends(event: &Event) -> bool {
    use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
    let Event::Key(KeyEvent { code: KeyCode::Char('z'), modifiers, kind, .. }) = event else { return false };
    *modifiers == KeyModifiers::CONTROL && *kind == KeyEventKind::Press
}

/// Marks the start (true) or end of a frame, so that terminals that support it show the frame at once.
pub fn synchronize(begin: bool) {
    // If the terminal is gone, the next draw reports the error.
    let _ = if begin {
        execute!(io::stdout(), BeginSynchronizedUpdate)
    } else {
        execute!(io::stdout(), EndSynchronizedUpdate)
    };
}

/// Clipboard programs: environment variable that shows availability, arguments, program, and message.
const TAKERS: [(&str, &[&str], &str, &str); 3] = [
    ("TMUX", &["load-buffer", "-w", "-"], "tmux", "copied to tmux's buffer and to the terminal's clipboard"),
    ("WAYLAND_DISPLAY", &[], "wl-copy", "copied to the clipboard"),
    ("DISPLAY", &["-selection", "clipboard"], "xclip", "copied to the clipboard"),
];

/// Copies text and returns a message with the destination: tmux's buffer, the desktop's clipboard, or else the terminal's. The last one
/// also works over ssh (OSC 52), if the terminal allows it.
pub fn copy(text: &str) -> &'static str {
    for (variable, arguments, program, said) in TAKERS {
        if std::env::var_os(variable).is_some() && give(program, arguments, text).is_ok_and(|taken| taken) {
            return said;
        }
    }
    let end = (0..=MAX_CLIPBOARD.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    let mut out = io::stdout();
    // If the terminal is gone, the next draw reports the error.
    let _ = write!(out, "\x1b]52;c;{}\x07", BASE64_STANDARD.encode(&text.as_bytes()[..end])).and_then(|()| out.flush());
    "sent to the terminal's clipboard (OSC 52), if it allows that"
}

/// Runs a program with a text as its input; true if it succeeded.
fn give(program: &str, arguments: &[&str], text: &str) -> io::Result<bool> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes())?;
    }
    Ok(child.wait()?.success())
}

pub fn mouse(on: bool) {
    // If the terminal is gone, the next draw reports the error.
    let _ = if on { execute!(io::stdout(), EnableMouseCapture) } else { execute!(io::stdout(), DisableMouseCapture) };
}

/// Resolves when the system asks the program to end, or the terminal is gone.
pub async fn stop_signal() {
    STOP.notified().await;
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::*;

    #[test]
    fn only_ctrl_z_suspends() {
        let key = |c, m| Event::Key(KeyEvent::new(KeyCode::Char(c), m));
        assert!(suspends(&key('z', KeyModifiers::CONTROL)));
        assert!(!suspends(&key('z', KeyModifiers::NONE)) && !suspends(&key('c', KeyModifiers::CONTROL)));
        assert!(!suspends(&Event::FocusGained));
    }
}

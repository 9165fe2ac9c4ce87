//! Signal handling on a separate thread, so that signals are handled even while the program is busy.

use std::sync::atomic::{AtomicU8, Ordering};

/// The terminal was closed (SIGHUP).
pub const HANGUP: u8 = 1;
/// Ctrl-C in another terminal, or `kill -INT` (SIGINT).
pub const INTERRUPT: u8 = 2;

/// The first signal that requested termination; 0 for none.
static FIRST: AtomicU8 = AtomicU8::new(0);

/// Records a signal that requests termination. Returns true for the first one, which determines the exit code.
pub fn note(signal: u8) -> bool {
    FIRST.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Returns the first signal that requested termination.
pub fn first() -> Option<u8> {
    Some(FIRST.load(Ordering::SeqCst)).filter(|s| *s != 0)
}

/// Calls `heard` on a separate thread whenever one of these signals arrives, instead of letting it terminate the process. Signals ignored
/// at startup (`nohup`, background jobs of a script) stay ignored.
///
/// # Errors
/// The system's reason if a signal cannot be caught or no thread can be started.
#[cfg(unix)]
pub fn listen(signals: &[i32], heard: impl FnMut(i32) + Send + 'static) -> std::io::Result<()> {
    let ignored = ignored();
    let wanted = signals.iter().filter(|s| !is_in(ignored, **s));
    let mut caught = signal_hook::iterator::Signals::new(wanted)?;
    let name = std::thread::Builder::new().name("signals".into());
    name.spawn(move || caught.forever().for_each(heard))?;
    Ok(())
}

/// The signals that this process ignores; bit 0 is signal 1. Empty except on Linux, the only system where this can be read without unsafe
/// code.
#[cfg(unix)]
fn ignored() -> u64 {
    super::read::text(std::path::Path::new("/proc/self/status"), 1 << 16).map_or(0, |status| ignored_in(&status))
}

#[cfg(unix)]
fn ignored_in(status: &str) -> u64 {
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(unix)]
fn is_in(set: u64, signal: i32) -> bool {
    u32::try_from(signal - 1).is_ok_and(|bit| set.checked_shr(bit).is_some_and(|s| s & 1 == 1))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_system_mask() {
        let set = ignored_in("Name:\tx\nSigBlk:\t0000000000000006\nSigIgn:\t0000000000001001\nSigCgt:\t0\n");
        assert!(is_in(set, 1) && is_in(set, 13), "SIGHUP and SIGPIPE");
        assert!(!is_in(set, 2) && !is_in(set, 15) && !is_in(set, 0) && !is_in(set, 99));
        assert_eq!(ignored_in("no such line"), 0);
    }
}

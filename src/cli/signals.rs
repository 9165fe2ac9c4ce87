//! Interrupts: Ctrl-C and termination signals.

use tokio::sync::mpsc::{Receiver, channel};

use base::signals;

/// Returns a channel of interrupts; must be called within a runtime. From then on, Ctrl-C no longer ends the process. The exit code depends
/// on the signal ([`signals::first`]).
pub(crate) fn interrupts() -> Receiver<()> {
    // Two are enough, because the first cancels and the second exits.
    let (sender, receiver) = channel(2);
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let heard = move |signal: i32| {
            signals::note(u8::try_from(signal).unwrap_or(signals::INTERRUPT));
            // A full queue already contains all interrupts that matter.
            let _ = sender.try_send(());
        };
        // Signals that cannot be caught keep their default effect.
        let _ = signals::listen(&[SIGHUP, SIGINT, SIGTERM], heard);
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            signals::note(signals::INTERRUPT);
            let _ = sender.try_send(());
        }
    });
    receiver
}

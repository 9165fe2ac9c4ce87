//! Interrupts from outside: Ctrl-C, and the polite ways in which systems end programs.

use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Interrupts as they come. To be called within a runtime; from then on Ctrl-C does not end the process by itself.
pub fn interrupts() -> Receiver<()> {
    // Two are enough: the first cancels, the second leaves.
    let (sender, receiver) = channel(2);
    tokio::spawn(forward(sender));
    receiver
}

#[cfg(unix)]
async fn forward(sender: Sender<()>) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    // A signal that cannot be caught keeps its usual effect.
    let Ok([mut interrupt, mut terminate, mut hangup]) = all(kinds.map(signal)) else { return };
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        // A full queue already holds as many interrupts as count.
        let _ = sender.try_send(());
    }
}

#[cfg(unix)]
fn all<T, E, const N: usize>(results: [Result<T, E>; N]) -> Result<[T; N], E> {
    let list: Vec<T> = results.into_iter().collect::<Result<_, E>>()?;
    Ok(list.try_into().unwrap_or_else(|_| unreachable!("as many as were given")))
}

#[cfg(not(unix))]
async fn forward(sender: Sender<()>) {
    while tokio::signal::ctrl_c().await.is_ok() {
        // A full queue already holds as many interrupts as count.
        let _ = sender.try_send(());
    }
}

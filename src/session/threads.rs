//! Maps slices on several threads, to read large sessions. Rayon's threads may be busy with the engine's work.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{Builder, available_parallelism, scope};

/// Maximum number of threads.
const THREADS: usize = 4;

/// Maps the items of a slice on a few threads; the results are in order.
pub(super) fn map<T: Sync, R: Send>(all: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let part = |items: &[T]| items.iter().map(&of).collect::<Vec<R>>();
    let mut parts = all.chunks(all.len().div_ceil(threads).max(1));
    let first = parts.next().unwrap_or_default();
    scope(|scope| {
        // If the system allows no further thread, this thread does the work.
        let begin = |items| Builder::new().spawn_scoped(scope, move || part(items)).map_err(|_| items);
        let begun: Vec<_> = parts.map(begin).collect();
        let mut out = part(first);
        for other in begun {
            out.extend(match other {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(items) => part(items),
            });
        }
        out
    })
}

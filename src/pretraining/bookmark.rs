//! Saved state of unfinished training, so that it can resume.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use model::exec::train::Trainer;
use model::weights;

/// Interval between saves of the training state; shorter training runs are not saved.
const BETWEEN: Duration = Duration::from_secs(30);
/// Minimum duration of a stopped training run whose state is saved.
const WORTH: Duration = Duration::from_secs(5);

/// A saved state in a file.
pub(super) struct FileMark {
    path: PathBuf,
    /// Identifier of the training run; states with a different key are ignored.
    key: String,
    kept: Instant,
}

impl FileMark {
    /// Creates the bookmark at `path` for the training run `key`, which must be a single line.
    pub(super) fn new(path: PathBuf, key: String) -> Self {
        Self { path, key: key + "\n", kept: Instant::now() }
    }

    /// Removes the file once training is finished.
    pub(super) fn finish(self) {
        // A leftover file belongs to a finished training run and is never used.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Maximum size of a state in bytes.
const MOST_BYTES: u64 = 1 << 36;

impl Bookmark for FileMark {
    fn last(&mut self) -> Option<Vec<u8>> {
        let bytes = base::read::bytes(&self.path, MOST_BYTES).ok()?;
        bytes.strip_prefix(self.key.as_bytes()).map(<[u8]>::to_vec)
    }

    fn due(&mut self, stops: bool) -> bool {
        self.kept.elapsed() >= if stops { WORTH } else { BETWEEN }
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        // If the state cannot be saved, later training repeats the unsaved steps.
        let _ = weights::write_whole(&self.path, &[self.key.as_bytes(), &bytes].concat());
        self.kept = Instant::now();
    }
}

/// Saves and restores training state.
pub trait Bookmark {
    /// Returns the last saved state, if any.
    fn last(&mut self) -> Option<Vec<u8>>;
    /// True if the state should be saved now. `stops` is true if training stops here unfinished.
    fn due(&mut self, stops: bool) -> bool;
    fn keep(&mut self, bytes: Vec<u8>);
}

/// Saves a state to a store.
type Keep<'a> = Box<dyn FnMut(&[u8]) + 'a>;

/// A saved state in the cache, with its last value and a function that saves a new one.
pub struct StoreMark<'a> {
    last: Option<Vec<u8>>,
    keep: Keep<'a>,
    kept: Instant,
}

impl<'a> StoreMark<'a> {
    pub fn new(last: Option<Vec<u8>>, keep: impl FnMut(&[u8]) + 'a) -> Self {
        Self { last, keep: Box::new(keep), kept: Instant::now() }
    }

    /// Number of steps in the last saved state; they are not repeated.
    pub fn before(&self) -> usize {
        self.last.as_deref().and_then(steps).unwrap_or(0)
    }
}

impl Bookmark for StoreMark<'_> {
    fn last(&mut self) -> Option<Vec<u8>> {
        self.last.take()
    }

    fn due(&mut self, stops: bool) -> bool {
        self.kept.elapsed() >= if stops { WORTH } else { BETWEEN }
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        (self.keep)(&bytes);
        self.kept = Instant::now();
    }
}

/// Serializes the losses so far and the trainer's state; `None` if the trainer does not provide it.
pub(super) fn written(trainer: &Trainer, losses: &[f64]) -> Option<Vec<u8>> {
    let state = trainer.state()?;
    let mut bytes = Vec::with_capacity(8 + 8 * losses.len() + state.len());
    bytes.extend((losses.len() as u64).to_le_bytes());
    losses.iter().for_each(|l| bytes.extend(l.to_le_bytes()));
    bytes.extend(state);
    Some(bytes)
}

/// Splits the bytes of a bookmark into the number of steps and the rest.
fn opened(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<8>()?;
    let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    (count <= rest.len() / 8).then_some((count, rest))
}

/// Returns the number of steps in a bookmark; `None` if the bytes are not a bookmark.
pub fn steps(bytes: &[u8]) -> Option<usize> {
    opened(bytes).map(|(count, _)| count)
}

/// Restores a trainer and returns the losses so far. Returns `None`, with the trainer unchanged, if the bookmark does not fit or has more
/// than `total` steps.
pub(super) fn restored(trainer: &mut Trainer, bytes: &[u8], total: usize) -> Option<Vec<f64>> {
    let (count, rest) = opened(bytes)?;
    if count > total {
        return None;
    }
    let (losses, state) = rest.split_at(8 * count);
    let (losses, _) = losses.as_chunks::<8>();
    trainer.restore(state).then(|| losses.iter().map(|l| f64::from_le_bytes(*l)).collect())
}

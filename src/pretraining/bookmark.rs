//! State of an unfinished training, so that a stopped training can resume.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use model::exec::train::Trainer;
use model::weights;

/// Interval at which the state of a training is saved; shorter trainings are not saved.
const BETWEEN: Duration = Duration::from_secs(30);
/// Shortest training whose state is saved when it is stopped.
const WORTH: Duration = Duration::from_secs(5);

/// A bookmark in a file, for one training.
pub(super) struct FileMark {
    path: PathBuf,
    /// Identifies the training: the state of a different one is not read.
    key: String,
    kept: Instant,
}

impl FileMark {
    /// The bookmark at `path` of the training called `key`, a single line.
    pub(super) fn new(path: PathBuf, key: String) -> Self {
        Self { path, key: key + "\n", kept: Instant::now() }
    }

    /// Removes it: the training is done.
    pub(super) fn finish(self) {
        // A leftover state belongs to a finished training, and is not read again.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Largest state that is read back.
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
        // A state that cannot be stored is trained again.
        let _ = weights::write_whole(&self.path, &[self.key.as_bytes(), &bytes].concat());
        self.kept = Instant::now();
    }
}

/// Saves the progress of a training.
pub trait Bookmark {
    /// The state saved when it was stopped, if any.
    fn last(&mut self) -> Option<Vec<u8>>;
    /// True if it is time to save the state; `stops` is true if the training ends here unfinished.
    fn due(&mut self, stops: bool) -> bool;
    fn keep(&mut self, bytes: Vec<u8>);
}

/// Keeps a state in a store.
type Keep<'a> = Box<dyn FnMut(&[u8]) + 'a>;

/// A bookmark in the cache between runs, given by the last saved state and a function to save another.
pub struct StoreMark<'a> {
    last: Option<Vec<u8>>,
    keep: Keep<'a>,
    kept: Instant,
}

impl<'a> StoreMark<'a> {
    pub fn new(last: Option<Vec<u8>>, keep: impl FnMut(&[u8]) + 'a) -> Self {
        Self { last, keep: Box::new(keep), kept: Instant::now() }
    }

    /// Steps taken earlier, which take no time now.
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

/// A bookmark as bytes: the losses of the steps so far, and the trainer's state. `None` if a trainer does not give it.
pub(super) fn written(trainer: &Trainer, losses: &[f64]) -> Option<Vec<u8>> {
    let state = trainer.state()?;
    let mut bytes = Vec::with_capacity(8 + 8 * losses.len() + state.len());
    bytes.extend((losses.len() as u64).to_le_bytes());
    losses.iter().for_each(|l| bytes.extend(l.to_le_bytes()));
    bytes.extend(state);
    Some(bytes)
}

/// Steps of a bookmark, and the bytes that follow.
fn opened(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<8>()?;
    let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    (count <= rest.len() / 8).then_some((count, rest))
}

/// Steps of a bookmark; `None` if the bytes are not one.
pub fn steps(bytes: &[u8]) -> Option<usize> {
    opened(bytes).map(|(count, _)| count)
}

/// Restores a trainer from a bookmark; returns the losses so far. `None`, with the trainer unchanged, if it does not
/// fit, or has more than `total` steps.
pub(super) fn restored(trainer: &mut Trainer, bytes: &[u8], total: usize) -> Option<Vec<f64>> {
    let (count, rest) = opened(bytes)?;
    if count > total {
        return None;
    }
    let (losses, state) = rest.split_at(8 * count);
    let (losses, _) = losses.as_chunks::<8>();
    trainer.restore(state).then(|| losses.iter().map(|l| f64::from_le_bytes(*l)).collect())
}

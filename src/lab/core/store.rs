//! The cache between runs: trained probes and hidden states, with keys made from everything that affects them.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use base::matrix::Matrix;
use kernels::bf16::Unit;
use kernels::simd::Level;
use model::dtype::Dtype;
use model::{HookPoint, Model, Readout};

/// Version of the computation of hidden states; must increase when a change of the program alters their bits.
const VERSION: u32 = 1;
/// Length of a key in bytes.
pub const KEY: usize = 16;

/// Digest of the token ids and the position.
pub type Key = [u8; KEY];

/// A model, hook point, readout and kind of processor. Within a space, a vector's key is the digest of token ids and position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    digest: [u8; 32],
    width: usize,
}

impl Space {
    /// The space of `readout` at `at`. Positions are part of the keys.
    pub fn new(model: &Model, at: HookPoint, readout: &Readout) -> Self {
        let how = match readout {
            Readout::Positions(_) => "position".to_owned(),
            Readout::Sentence(pooling) => pooling.to_string(),
        };
        let (name, device, dtype) = (model.hash(), model.device(), model.dtype());
        let text = format!("v{VERSION}|{name}|{device}|{dtype}|{}|{at}|{how}", instructions(dtype));
        let width = at.width(model.arch()).unwrap_or(0);
        Self { digest: Sha256::digest(text.as_bytes()).into(), width }
    }

    #[cfg(any(test, feature = "samples"))]
    pub fn named(digest: [u8; 32], width: usize) -> Self {
        Self { digest, width }
    }

    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    pub fn width(&self) -> usize {
        self.width
    }
}

/// The instruction sets that determine the order of sums. They are part of the space because machines may share folders.
pub fn instructions(dtype: Dtype) -> String {
    let level = Level::best();
    if dtype == Dtype::Bf16 { format!("{level} {}", Unit::best()) } else { level.to_string() }
}

/// The key of a token's vector in a text. For the vector of a pooled sentence, the position is `usize::MAX`.
pub fn key(ids: &[u32], position: usize) -> Key {
    let mut hash = Sha256::new();
    hash.update((position as u64).to_le_bytes());
    ids.iter().for_each(|id| hash.update(id.to_le_bytes()));
    let mut key = [0; KEY];
    key.copy_from_slice(&hash.finalize()[..KEY]);
    key
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Indices of the rows without a stored vector.
    pub missing: Vec<usize>,
    /// Number of damaged vectors.
    pub damaged: usize,
}

/// A cache between runs, which may be empty.
pub trait Store: Send + Sync {
    /// Returns the trained probe or map under a key. The key names everything that affected it.
    fn trained(&self, key: &str) -> Option<Vec<u8>>;
    /// Stores a trained probe or map.
    ///
    /// # Errors
    /// The system's error, for the caller to report.
    fn keep_trained(&self, key: &str, bytes: &[u8]) -> std::io::Result<()>;
    /// Returns the state of an interrupted training run.
    fn unfinished(&self, _key: &str) -> Option<Vec<u8>> {
        None
    }
    /// Stores the state of an interrupted training run, replacing an earlier one.
    ///
    /// # Errors
    /// The system's error; the training then starts over.
    fn keep_unfinished(&self, _key: &str, _bytes: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
    /// Removes the state of a finished training run.
    fn finish(&self, _key: &str) {}
    /// Location of the store, for messages.
    fn place(&self) -> Option<PathBuf>;
    /// Fills the rows of `to` whose keys are stored, and returns the others.
    fn fetch(&self, space: &Space, keys: &[Key], to: &mut Matrix) -> Fetched;
    /// Indices of missing keys. Stored entries are not verified.
    fn absent(&self, space: &Space, keys: &[Key]) -> Vec<usize>;
    /// Stores row i of `rows` under `keys[i]`.
    ///
    /// # Errors
    /// The system's error, for the caller to report; later errors are not returned.
    fn keep(&self, space: &Space, keys: &[Key], rows: &Matrix) -> std::io::Result<()>;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct NoStore;

impl Store for NoStore {
    fn trained(&self, _key: &str) -> Option<Vec<u8>> {
        None
    }

    fn keep_trained(&self, _key: &str, _bytes: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    fn place(&self) -> Option<PathBuf> {
        None
    }

    fn fetch(&self, _space: &Space, keys: &[Key], _to: &mut Matrix) -> Fetched {
        Fetched { missing: (0..keys.len()).collect(), damaged: 0 }
    }

    fn absent(&self, _space: &Space, keys: &[Key]) -> Vec<usize> {
        (0..keys.len()).collect()
    }

    fn keep(&self, _space: &Space, _keys: &[Key], _rows: &Matrix) -> std::io::Result<()> {
        Ok(())
    }
}

/// A read-only view of a cache.
#[derive(Debug, Clone)]
pub struct ReadOnly<S>(pub S);

impl<S: Store> Store for ReadOnly<S> {
    fn trained(&self, key: &str) -> Option<Vec<u8>> {
        self.0.trained(key)
    }

    fn keep_trained(&self, _key: &str, _bytes: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    fn unfinished(&self, key: &str) -> Option<Vec<u8>> {
        self.0.unfinished(key)
    }

    fn place(&self) -> Option<PathBuf> {
        self.0.place()
    }

    fn fetch(&self, space: &Space, keys: &[Key], to: &mut Matrix) -> Fetched {
        self.0.fetch(space, keys, to)
    }

    fn absent(&self, space: &Space, keys: &[Key]) -> Vec<usize> {
        self.0.absent(space, keys)
    }

    fn keep(&self, _space: &Space, _keys: &[Key], _rows: &Matrix) -> std::io::Result<()> {
        Ok(())
    }
}

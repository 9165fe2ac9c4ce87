//! Hidden states on disk, keyed by everything that affected them.
//!
//! A *space* is one model at one point, with one readout, on one kind of processor. Within a space, a vector's key is the digest of the
//! token ids and the position. Vectors that were computed together share a file. Files are written under a temporary name and renamed, and
//! processes that compute the same vectors write the same file, so no locks are needed. Every vector has a checksum over space, key and
//! numbers; a damaged vector counts as absent.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use base::files::{beside, hex, write_whole};
use base::matrix::Matrix;
use base::size;
use labs::store::{Fetched, KEY, Key, Space};

const MAGIC: &[u8; 8] = b"PROBEMB1";
/// Default maximum size in bytes, overridden by `PROBITY_CACHE_MAX` or the folder's limit file.
const DEFAULT_LIMIT: u64 = 2 << 30;
/// Maximum bytes of vectors in one file; this cache never writes a larger file.
const FILE_BYTES: usize = 32 << 20;
/// Name of the limit file.
const LIMIT: &str = "limit";
const HEAD: usize = 16;
const SUM: usize = 8;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    pub dir: Option<PathBuf>,
    pub vectors: u64,
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Maximum size in bytes.
    pub limit: u64,
}

/// A folder of stored vectors. Without a folder, nothing is stored.
#[derive(Debug, Clone)]
pub struct Embeddings {
    dir: Option<PathBuf>,
    /// True once a write has failed and been reported; later writes are skipped.
    full: Arc<AtomicBool>,
}

impl Embeddings {
    pub fn at(dir: &Path) -> Self {
        Self { dir: Some(dir.to_owned()), full: Arc::default() }
    }

    pub fn none() -> Self {
        Self { dir: None, full: Arc::default() }
    }

    /// Fills the rows of `to` whose keys are stored, and returns the indices of the others.
    pub fn fetch(&self, space: &Space, keys: &[Key], to: &mut Matrix) -> Fetched {
        let mut wanted: HashMap<&[u8], Vec<usize>> = HashMap::new();
        keys.iter().enumerate().for_each(|(i, k)| wanted.entry(k.as_slice()).or_default().push(i));
        let mut found = Fetched::default();
        for path in self.files(&prefix(space)) {
            if wanted.is_empty() {
                break;
            }
            let Some(bytes) = read(&path, space.width()) else { continue };
            let mut used = false;
            for record in bytes[HEAD..].chunks_exact(record_len(space.width())) {
                let (key, rest) = record.split_at(KEY);
                let (sum, vector) = rest.split_at(SUM);
                let Some(rows) = wanted.get(key) else { continue };
                if sum_of(space, key, vector) != sum {
                    found.damaged += 1;
                    continue;
                }
                for row in rows {
                    let values = vector.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
                    to.row_mut(*row).iter_mut().zip(values).for_each(|(t, v)| *t = v);
                }
                wanted.remove(key);
                used = true;
            }
            if used {
                touch(&path);
            }
        }
        found.missing = wanted.into_values().flatten().collect();
        found.missing.sort_unstable();
        found
    }

    /// Indices of keys without stored vectors. Does not check whether stored vectors are intact.
    pub fn absent(&self, space: &Space, keys: &[Key]) -> Vec<usize> {
        let mut there: HashSet<Key> = HashSet::new();
        for path in self.files(&prefix(space)) {
            let Some(bytes) = read(&path, space.width()) else { continue };
            let records = bytes[HEAD..].chunks_exact(record_len(space.width()));
            there.extend(records.filter_map(|r| r.first_chunk::<KEY>()).copied());
        }
        (0..keys.len()).filter(|i| !there.contains(&keys[*i])).collect()
    }

    /// Stores row i of `rows` under `keys[i]`. After a failure, later calls write nothing.
    ///
    /// # Errors
    /// The system's error, the first time only; the caller reports it.
    pub fn keep(&self, space: &Space, keys: &[Key], rows: &Matrix) -> std::io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        if self.full.load(Ordering::Relaxed) || keys.is_empty() {
            return Ok(());
        }
        let most = (FILE_BYTES / record_len(space.width())).max(1);
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(dir)?;
            for (part, keys) in keys.chunks(most).enumerate() {
                self.write(dir, space, keys, |i| rows.row(part * most + i))?;
            }
            Ok(())
        };
        let written = write();
        if written.is_err() {
            self.full.store(true, Ordering::Relaxed);
        } else {
            self.prune(self.limit());
        }
        written
    }

    fn write<'a>(
        &self,
        dir: &Path,
        space: &Space,
        keys: &[Key],
        row: impl Fn(usize) -> &'a [f32],
    ) -> std::io::Result<()> {
        let mut bytes = Vec::with_capacity(HEAD + keys.len() * record_len(space.width()));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(space.width() as u32).to_le_bytes());
        bytes.extend_from_slice(&(keys.len() as u32).to_le_bytes());
        let mut names = Sha256::new();
        for (i, key) in keys.iter().enumerate() {
            let vector: Vec<u8> = row(i).iter().flat_map(|v| v.to_le_bytes()).collect();
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(&sum_of(space, key, &vector));
            bytes.extend_from_slice(&vector);
            names.update(key);
        }
        let name = format!("{}-{}.vec", prefix(space), hex(&names.finalize()[..8]));
        // The file is not synced to disk, because damage from a system crash is detected by the checksum.
        let mut file = beside(&dir.join(&name))?;
        file.as_file_mut().write_all(&bytes)?;
        file.persist(dir.join(name)).map_err(|e| e.error)?;
        Ok(())
    }

    /// Maximum size in bytes: `PROBITY_CACHE_MAX`, otherwise the value written by [`Embeddings::set_limit`], otherwise 2 GB.
    pub fn limit(&self) -> u64 {
        let given = std::env::var("PROBITY_CACHE_MAX").ok();
        let written = || base::read::text(&self.dir.as_ref()?.join(LIMIT), 1 << 10).ok();
        let read = |text: String| size::parse(&text).ok();
        given.and_then(read).or_else(|| written().and_then(read)).unwrap_or(DEFAULT_LIMIT)
    }

    /// Stores the limit for this and later runs, and removes files that exceed it.
    pub fn set_limit(&self, bytes: u64) -> std::io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        std::fs::create_dir_all(dir)?;
        write_whole(&dir.join(LIMIT), format!("{bytes}\n").as_bytes())?;
        self.prune(bytes);
        Ok(())
    }

    pub fn contents(&self) -> Contents {
        let mut sum = Contents { dir: self.dir.clone(), limit: self.limit(), ..Contents::default() };
        for path in self.files("") {
            let Ok(about) = std::fs::metadata(&path) else { continue };
            sum.files += 1;
            sum.bytes += about.len();
            let mut head = [0; HEAD];
            let opened = base::read::open(&path).and_then(|mut f| std::io::Read::read_exact(&mut f, &mut head));
            if opened.is_ok() && head.starts_with(MAGIC) {
                sum.vectors += u64::from(u32::from_le_bytes([head[12], head[13], head[14], head[15]]));
            }
        }
        sum
    }

    /// Removes all vectors but keeps the limit.
    pub fn clear(&self) -> std::io::Result<()> {
        self.files("").into_iter().try_for_each(std::fs::remove_file)
    }

    /// Files whose names begin with `prefix`, sorted by name.
    fn files(&self, prefix: &str) -> Vec<PathBuf> {
        let Some(entries) = self.dir.as_ref().and_then(|d| std::fs::read_dir(d).ok()) else {
            return Vec::new();
        };
        let ours = |name: &str| name.starts_with(prefix) && name.ends_with(".vec");
        let mut list: Vec<PathBuf> =
            entries.flatten().filter(|e| e.file_name().to_str().is_some_and(ours)).map(|e| e.path()).collect();
        list.sort();
        list
    }

    /// Removes the least recently used files until at most `limit` bytes are left.
    fn prune(&self, limit: u64) {
        let about = |path: PathBuf| {
            let m = std::fs::metadata(&path).ok()?;
            Some((m.modified().ok()?, m.len(), path))
        };
        let mut files: Vec<_> = self.files("").into_iter().filter_map(about).collect();
        files.sort();
        let mut total: u64 = files.iter().map(|f| f.1).sum();
        for (_, bytes, path) in files {
            if total <= limit {
                break;
            }
            if std::fs::remove_file(path).is_ok() {
                total -= bytes;
            }
        }
    }
}

/// File name prefix of a space.
fn prefix(space: &Space) -> String {
    hex(&space.digest()[..8])
}

/// Checksum of a vector, over its space, its key and its numbers.
fn sum_of(space: &Space, key: &[u8], vector: &[u8]) -> [u8; SUM] {
    let digest = Sha256::new().chain_update(space.digest()).chain_update(key).chain_update(vector).finalize();
    let mut sum = [0; SUM];
    sum.copy_from_slice(&digest[..SUM]);
    sum
}

fn record_len(width: usize) -> usize {
    KEY + SUM + 4 * width
}

/// Reads a file if its vectors have this width and it has this cache's format. A truncated file is read up to its last complete vector.
fn read(path: &Path, width: usize) -> Option<Vec<u8>> {
    let most = HEAD + FILE_BYTES.max(record_len(width));
    let bytes = base::read::bytes(path, most as u64).ok()?;
    let (head, _) = bytes.split_at_checked(HEAD)?;
    (head.starts_with(MAGIC) && head[8..12] == (width as u32).to_le_bytes()).then_some(bytes)
}

/// Updates the time of last use, which determines which files are removed first. Failure is harmless: the folder may be read-only.
fn touch(path: &Path) {
    if let Ok(file) = std::fs::File::options().append(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

#[cfg(test)]
mod tests;

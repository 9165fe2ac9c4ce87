//! Trained probes on disk, keyed by everything that affected them.
//!
//! A file contains the magic bytes, the SHA-256 of key and payload, and the payload. It is written under a temporary name and renamed, so
//! several processes can share the folder and a killed process leaves no partial file. A file with a wrong checksum or a different key
//! counts as absent. Keys include the instruction set, because different instructions add in different orders and machines may share
//! folders.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::embeddings::Embeddings;
use base::files::{beside, hex};
use base::matrix::Matrix;
use labs::Store;
use labs::store::{Fetched, Key, Space, instructions};
use model::dtype::Dtype;

const MAGIC: &[u8; 8] = b"PROBITY2";
/// Maximum size of the folder; the least recently used files are removed first.
const CAP_BYTES: u64 = 512 << 20;
/// Maximum size of an entry; this cache never writes a larger file.
const MAX_ENTRY: u64 = 128 << 20;
/// Maximum number of interrupted training runs kept for resumption; the oldest are removed first. The state of training BERT-base takes 1.3
/// GB.
const UNFINISHED: usize = 4;
/// Extensions of cached files.
const PROBE: &str = "probe";
const TRAINING: &str = "training";

/// A folder of cached probes. Without a folder, nothing is stored.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: Option<PathBuf>,
    embeddings: Embeddings,
}

impl Cache {
    /// The user's cache folder: `PROBITY_CACHE_DIR`, otherwise `probity` in the platform's cache folder.
    pub fn user() -> Self {
        let root = std::env::var_os("PROBITY_CACHE_DIR")
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
            .or_else(|| base::folders::cache().map(|d| d.join("probity")));
        let embeddings = root.as_ref().map_or_else(Embeddings::none, |d| Embeddings::at(&d.join("embeddings")));
        Self { dir: root.map(|d| d.join("probes")), embeddings }
    }

    pub fn at(dir: &Path) -> Self {
        Self { dir: Some(dir.to_owned()), embeddings: Embeddings::at(&dir.join("embeddings")) }
    }

    pub fn none() -> Self {
        Self { dir: None, embeddings: Embeddings::none() }
    }

    pub fn embeddings(&self) -> &Embeddings {
        &self.embeddings
    }

    /// Number of stored probes and their total size in bytes.
    pub fn probes(&self) -> (usize, u64) {
        let files = self.files();
        (files.len(), files.iter().map(|f| f.1).sum())
    }

    pub fn clear(&self) -> std::io::Result<()> {
        self.files().into_iter().chain(self.files_of(TRAINING)).try_for_each(|f| std::fs::remove_file(f.2))
    }

    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Returns the payload stored under `key`, a string that lists every input it was computed from.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.path(key, PROBE)?;
        if std::fs::metadata(&path).ok()?.len() > MAX_ENTRY {
            return None;
        }
        let payload = read(&path, key)?;
        // The time of last use determines which files are removed first. Failure is harmless: the folder may be read-only.
        if let Ok(file) = std::fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(payload)
    }

    /// Stores `payload` under `key`. If the folder is not writable, later runs are only slower.
    ///
    /// # Errors
    /// The system's error, which the caller reports once.
    pub fn put(&self, key: &str, payload: &[u8]) -> std::io::Result<()> {
        self.write(key, PROBE, payload)?;
        self.prune();
        Ok(())
    }

    fn write(&self, key: &str, ending: &str, payload: &[u8]) -> std::io::Result<()> {
        let (Some(dir), Some(path)) = (&self.dir, self.path(key, ending)) else { return Ok(()) };
        std::fs::create_dir_all(dir)?;
        let unfinished = beside(&path)?;
        let mut file = unfinished.as_file();
        file.write_all(MAGIC)?;
        file.write_all(&checksum(&named(key), payload))?;
        file.write_all(payload)?;
        unfinished.persist(&path).map_err(|e| e.error)?;
        Ok(())
    }

    fn path(&self, key: &str, ending: &str) -> Option<PathBuf> {
        let name = hex(&Sha256::digest(named(key))[..16]);
        self.dir.as_ref().map(|d| d.join(format!("{name}.{ending}")))
    }

    /// Time of last use, size in bytes and path of every probe.
    fn files(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        self.files_of(PROBE)
    }

    fn files_of(&self, ending: &str) -> Vec<(SystemTime, u64, PathBuf)> {
        let Some(entries) = self.dir.as_ref().and_then(|d| std::fs::read_dir(d).ok()) else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter(|e| e.path().extension().is_some_and(|x| x == ending))
            .filter_map(|e| {
                let m = e.metadata().ok()?;
                Some((m.modified().ok()?, m.len(), e.path()))
            })
            .collect()
    }

    fn prune(&self) {
        let mut files = self.files();
        let mut total: u64 = files.iter().map(|f| f.1).sum();
        files.sort();
        for (_, size, path) in files {
            if total <= CAP_BYTES {
                break;
            }
            if std::fs::remove_file(path).is_ok() {
                total -= size;
            }
        }
    }
}

impl Store for Cache {
    fn trained(&self, key: &str) -> Option<Vec<u8>> {
        self.get(key)
    }

    fn keep_trained(&self, key: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.put(key, bytes)
    }

    fn unfinished(&self, key: &str) -> Option<Vec<u8>> {
        read(&self.path(key, TRAINING)?, key)
    }

    fn keep_unfinished(&self, key: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.write(key, TRAINING, bytes)?;
        let mut all = self.files_of(TRAINING);
        all.sort();
        let many = all.len().saturating_sub(UNFINISHED);
        all.into_iter().take(many).try_for_each(|f| std::fs::remove_file(f.2))
    }

    fn finish(&self, key: &str) {
        if let Some(path) = self.path(key, TRAINING) {
            let _ = std::fs::remove_file(path);
        }
    }

    fn place(&self) -> Option<PathBuf> {
        self.dir.clone()
    }

    fn fetch(&self, space: &Space, keys: &[Key], to: &mut Matrix) -> Fetched {
        self.embeddings.fetch(space, keys, to)
    }

    fn absent(&self, space: &Space, keys: &[Key]) -> Vec<usize> {
        self.embeddings.absent(space, keys)
    }

    fn keep(&self, space: &Space, keys: &[Key], rows: &Matrix) -> std::io::Result<()> {
        self.embeddings.keep(space, keys, rows)
    }
}

/// Reads the payload of a file; `None` if the file is damaged or belongs to a different key.
fn read(path: &Path, key: &str) -> Option<Vec<u8>> {
    let bytes = base::read::bytes(path, CAP_BYTES).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let (sum, payload) = rest.split_at_checked(32)?;
    (checksum(&named(key), payload) == sum).then(|| payload.to_vec())
}

/// Appends to the key the instruction sets that determine the order of sums on this machine. The sets for bf16 include the sets for f32.
fn named(key: &str) -> String {
    format!("{key}|{}", instructions(Dtype::Bf16))
}

fn checksum(key: &str, payload: &[u8]) -> [u8; 32] {
    let length = (key.len() as u64).to_le_bytes();
    Sha256::new().chain_update(length).chain_update(key).chain_update(payload).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_round_trips_and_rejects_damaged_files() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        assert_eq!(cache.get("a"), None);
        cache.put("a", b"probe").unwrap();
        assert_eq!(cache.get("a").as_deref(), Some(&b"probe"[..]));
        assert_eq!(cache.get("b"), None);
        let path = cache.path("a", PROBE).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.get("a"), None, "a damaged entry is not a probe");
        std::fs::write(&path, b"PRO").unwrap();
        assert_eq!(cache.get("a"), None, "a truncated entry is not a probe");
    }

    #[test]
    fn probe_under_another_key_is_not_found() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        cache.put("a", b"probe").unwrap();
        std::fs::copy(cache.path("a", PROBE).unwrap(), cache.path("b", PROBE).unwrap()).unwrap();
        assert_eq!(cache.get("b"), None, "the checksum covers the key");
        assert!(named("a").contains(&instructions(Dtype::F32)), "{}", named("a"));
        assert_ne!(checksum("ab", b"c"), checksum("a", b"bc"));
    }

    #[test]
    fn missing_folder_is_an_empty_cache() {
        let cache = Cache::none();
        cache.put("a", b"x").unwrap();
        assert_eq!(cache.get("a"), None);
    }

    #[test]
    fn damage_at_any_byte_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        cache.put("a", b"probe").unwrap();
        let path = cache.path("a", PROBE).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x20;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.get("a"), None, "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.get("a"), None, "cut at {at}");
        }
        let longer = [&whole[..], b"x"].concat();
        std::fs::write(&path, longer).unwrap();
        assert_eq!(cache.get("a"), None, "extra bytes after the end make it invalid");
        std::fs::write(&path, &whole).unwrap();
        assert!(cache.get("a").is_some());
    }

    #[test]
    fn damaged_probe_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        cache.put("a", b"one").unwrap();
        std::fs::write(cache.path("a", PROBE).unwrap(), b"rubbish").unwrap();
        cache.put("a", b"two").unwrap();
        assert_eq!(cache.get("a").as_deref(), Some(&b"two"[..]));
        assert_eq!(cache.probes().0, 1);
    }

    #[test]
    fn oversized_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        cache.put("a", b"probe").unwrap();
        let file = std::fs::File::options().write(true).open(cache.path("a", PROBE).unwrap()).unwrap();
        file.set_len(MAX_ENTRY + 100).unwrap();
        assert_eq!(cache.get("a"), None);
    }

    #[test]
    fn least_recently_used_probes_are_evicted() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let old = SystemTime::now() - std::time::Duration::from_secs(1_000);
        for i in 0..5u64 {
            // Sparse files count with their full size but take no space on disk.
            let file = std::fs::File::create(dir.path().join(format!("{i}.probe"))).unwrap();
            file.set_len(MAX_ENTRY).unwrap();
            file.set_modified(old + std::time::Duration::from_secs(i)).unwrap();
        }
        std::fs::write(dir.path().join("notes.txt"), "not ours").unwrap();
        cache.put("a", b"probe").unwrap();
        assert!(cache.probes().1 <= CAP_BYTES);
        assert!(!dir.path().join("0.probe").exists() && dir.path().join("4.probe").exists());
        assert!(cache.get("a").is_some() && dir.path().join("notes.txt").exists());
    }

    #[test]
    fn clearing_removes_only_probes() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        std::fs::write(dir.path().join("notes.txt"), "not ours").unwrap();
        cache.put("a", b"x").unwrap();
        cache.put("b", b"y").unwrap();
        assert_eq!(cache.probes().0, 2);
        cache.clear().unwrap();
        assert_eq!(cache.probes(), (0, 0));
        assert!(dir.path().join("notes.txt").exists());
        Cache::none().clear().unwrap();
    }

    #[test]
    fn store_keeps_probes_and_trainings() {
        use labs::store::key;
        let dir = tempfile::tempdir().unwrap();
        let store: &dyn Store = &Cache::at(dir.path());
        store.keep_trained("a", b"probe").unwrap();
        assert_eq!(store.trained("a").as_deref(), Some(&b"probe"[..]));
        assert_eq!(store.place().as_deref(), Some(dir.path()));
        let (space, keys) = (Space::named([1; 32], 2), [key(&[1], 0), key(&[2], 0)]);
        let rows = Matrix::from_fn(1, 2, |_, j| j as f32);
        store.keep(&space, &keys[..1], &rows).unwrap();
        assert_eq!(store.absent(&space, &keys), [1]);
        let mut got = Matrix::zeros(2, 2);
        assert_eq!(store.fetch(&space, &keys, &mut got).missing, [1]);
        assert_eq!(got.row(0), rows.row(0));
        assert_eq!(Cache::none().place(), None);
    }

    #[test]
    fn stopped_trainings_are_kept_until_finished() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        cache.keep_unfinished("a", b"first").unwrap();
        cache.keep_unfinished("a", b"second").unwrap();
        assert_eq!((cache.unfinished("a").as_deref(), cache.unfinished("b")), (Some(&b"second"[..]), None));
        assert_eq!((cache.get("a"), cache.probes().0), (None, 0), "an unfinished state is not a probe");
        cache.finish("a");
        assert_eq!(cache.unfinished("a"), None);
        for k in 0..UNFINISHED + 3 {
            cache.keep_unfinished(&k.to_string(), b"x").unwrap();
        }
        assert_eq!(cache.files_of(TRAINING).len(), UNFINISHED);
        cache.clear().unwrap();
        assert!(cache.files_of(TRAINING).is_empty());
    }
}

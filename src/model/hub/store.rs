//! Writes to the standard cache: `blobs/{etag}`, `snapshots/{commit}/file` as relative links, `refs/{revision}`, and locks.
//!
//! The cache layout is hf-hub's ([`hf_hub::CacheRepo`]). Three things differ:
//! - A partial blob has the same name as in the Python client; only hf-hub resumes its `.part` files.
//! - Waiting for a lock reports progress; hf-hub gives up after 5 s.
//! - Links and references are written under a temporary name and renamed. hf-hub truncates a reference before writing it, so a killed
//!   process leaves it incomplete.
//!
//! Two processes may download the same model. The process that holds the blob's lock writes `{etag}.incomplete` and renames it when
//! complete; the other process waits and then finds the blob.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use hf_hub::{Cache, CacheRepo, Repo};

use super::super::error::{ModelError, Result};
use super::super::weights::write_whole;
use base::files::folder_in;

/// Cache folders of one model.
pub(crate) struct Store {
    /// `models--organisation--name`.
    pub root: PathBuf,
    locks: PathBuf,
    repo: CacheRepo,
}

impl Store {
    pub(crate) fn new(cache: &Path, id: &str) -> Store {
        let name = folder_name(id);
        let repo = Cache::new(cache.to_owned()).model(id.to_owned());
        Store { root: cache.join(&name), locks: cache.join(".locks").join(name), repo }
    }

    /// Path of a complete blob.
    pub(crate) fn blob(&self, etag: &str) -> PathBuf {
        self.repo.blob_path(etag)
    }

    /// Path of a partial download.
    pub(crate) fn incomplete(&self, etag: &str) -> PathBuf {
        self.repo.blob_path(&format!("{etag}.incomplete"))
    }

    pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
        self.repo.pointer_path(commit)
    }

    /// Locks a blob until the returned file is dropped. `wait` is called every tenth of a second while another process has the lock.
    pub(crate) fn lock(&self, etag: &str, wait: &mut dyn FnMut() -> Result<()>) -> Result<File> {
        let path = self.locks.join(format!("{etag}.lock"));
        for folder in [self.root.join("blobs"), self.locks.clone()] {
            fs::create_dir_all(&folder).map_err(ModelError::io(&folder))?;
        }
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(ModelError::io(&path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {
                    wait()?;
                    std::thread::sleep(std::time::Duration::from_millis(100));
                }
                // Some network file systems do not support locks. The hash check of the finished file protects it even without a lock.
                Err(TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => {
                    return Ok(file);
                }
                Err(TryLockError::Error(e)) => return Err(ModelError::io(&path)(e)),
            }
        }
    }

    /// Links a file of a snapshot to a blob.
    pub(crate) fn link(&self, commit: &str, file: &str, etag: &str) -> Result<()> {
        let path = self.snapshot(commit).join(file);
        let folder = path.parent().unwrap_or(&self.root).to_owned();
        fs::create_dir_all(&folder).map_err(ModelError::io(&folder))?;
        let up = "../".repeat(2 + file.matches('/').count());
        let target = format!("{up}blobs/{etag}");
        if fs::read_link(&path).is_ok_and(|t| t == Path::new(&target)) && path.is_file() {
            return Ok(());
        }
        // The link is first created in a temporary folder, where its name cannot conflict.
        let beside = folder_in(&folder).map_err(ModelError::io(&folder))?;
        let fresh = beside.path().join("link");
        symlink(&target, &fresh, &self.blob(etag)).map_err(ModelError::io(&path))?;
        fs::rename(&fresh, &path).map_err(ModelError::io(&path))
    }

    /// Points a branch or tag to a commit.
    pub(crate) fn set_ref(&self, revision: &str, commit: &str) -> Result<()> {
        let path = self.root.join("refs").join(revision);
        let folder = path.parent().unwrap_or(&self.root).to_owned();
        fs::create_dir_all(&folder).map_err(ModelError::io(&folder))?;
        write_whole(&path, commit.as_bytes())
    }

    /// Free disk space for the cache in bytes; `None` if unknown.
    pub(crate) fn free_space(&self) -> Option<u64> {
        free_space(&self.root)
    }
}

/// `models--organisation--name`.
pub(crate) fn folder_name(id: &str) -> String {
    Repo::model(id.to_owned()).folder_name()
}

/// True if an ETag is safe to use as a file name.
pub(crate) fn is_plain(name: &str) -> bool {
    (4..=128).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(unix)]
fn symlink(target: &str, at: &Path, _blob: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

/// Copies the blob, as other clients do, because creating links needs a privilege on Windows.
#[cfg(not(unix))]
fn symlink(_target: &str, at: &Path, blob: &Path) -> std::io::Result<()> {
    fs::copy(blob, at).map(|_| ())
}

/// Free space on the file system of `path`, in bytes.
#[cfg(unix)]
// The conversion is needed on macOS, where block counts have 32 bits.
#[allow(clippy::useless_conversion)]
fn free_space(path: &Path) -> Option<u64> {
    let about = nix::sys::statvfs::statvfs(path).ok()?;
    u64::from(about.blocks_available()).checked_mul(about.fragment_size())
}

#[cfg(not(unix))]
fn free_space(_path: &Path) -> Option<u64> {
    None
}

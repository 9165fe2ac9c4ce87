//! The folder in which a model is made before it gets its final name. A lock distinguishes a running process's folder from a killed one's,
//! because the system releases a lock when its process ends in any way.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use pretraining::{GalleryError, Result};

/// Name prefix of working folders.
pub(crate) const PREFIX: &str = ".probity-gallery-";
/// The file that is locked while its folder is in use.
const LOCK: &str = "lock";
/// Time without changes after which a folder without a lock is removed. A newer one may have just been created.
const STALE: Duration = Duration::from_secs(3600);
/// Maximum number of attempts to create a folder, which another process may remove as a leftover before its lock is held.
const ATTEMPTS: usize = 16;

/// A working folder, removed when dropped.
#[derive(Debug)]
pub(crate) struct Work {
    // The lock is dropped first, because some systems do not remove open files.
    _lock: File,
    _dir: TempDir,
    model: PathBuf,
}

impl Work {
    /// Creates a folder next to `out`, so that the final renaming stays within one file system. Removes folders left by killed runs.
    pub(crate) fn beside(out: &Path) -> Result<Self> {
        let parent = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| GalleryError::Io { path, source }
        };
        std::fs::create_dir_all(parent).map_err(io(parent))?;
        sweep(parent);
        for _ in 0..ATTEMPTS {
            let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).map_err(io(parent))?;
            let path = dir.path().join(LOCK);
            // The folder has already been removed: another process swept it before it was locked.
            let Ok(lock) = File::create(&path) else { continue };
            // If locks are not supported, other processes cannot lock the folder either, and therefore leave it alone.
            let _ = lock.lock();
            if !path.exists() {
                continue;
            }
            let model = dir.path().join("model");
            std::fs::create_dir(&model).map_err(io(&model))?;
            return Ok(Self { _lock: lock, _dir: dir, model });
        }
        let source = std::io::Error::other("cannot create a working folder");
        Err(GalleryError::Io { path: parent.to_owned(), source })
    }

    pub(crate) fn model(&self) -> &Path {
        &self.model
    }

    /// Renames the finished model to its final name, atomically.
    pub(crate) fn place(self, out: &Path) -> Result<()> {
        std::fs::rename(&self.model, out).map_err(|source| GalleryError::Io { path: out.to_owned(), source })
    }
}

/// Removes folders left by killed runs. Errors are ignored, because the next run tries again.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // This is the type of the entry itself; links are not followed.
        if is_ours && entry.file_type().is_ok_and(|t| t.is_dir()) {
            remove_if_left(&entry.path());
        }
    }
}

fn remove_if_left(work: &Path) {
    match File::open(work.join(LOCK)) {
        // The lock is held until the folder is removed, so that a process that is about to lock its new folder detects the removal.
        Ok(lock) => match lock.try_lock() {
            Ok(()) => drop(std::fs::remove_dir_all(work)),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        },
        Err(_) => {
            let age = work.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
            if age.is_some_and(|age| age > STALE) {
                drop(std::fs::remove_dir_all(work));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_leftovers_of_killed_runs_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let left = |name: &str, lock: bool| {
            let dir = home.path().join(name);
            std::fs::create_dir_all(dir.join("model")).unwrap();
            std::fs::write(dir.join("model/config.json"), "{}").unwrap();
            if lock {
                std::fs::write(dir.join(LOCK), "").unwrap();
            }
            dir
        };
        let killed = left(&format!("{PREFIX}abc"), true);
        let (fresh, other) = (left(&format!("{PREFIX}def"), false), left("results", true));
        let old = left(&format!("{PREFIX}ghi"), false);
        File::open(&old).unwrap().set_modified(std::time::SystemTime::now() - 2 * STALE).unwrap();
        let out = home.path().join("model");
        let first = Work::beside(&out).unwrap();
        assert!(!killed.exists() && !old.exists(), "abandoned folders are removed");
        let second = Work::beside(&out).unwrap();
        assert!(first.model().is_dir() && second.model().is_dir() && fresh.exists() && other.exists());
        std::fs::write(first.model().join("card.json"), "1").unwrap();
        first.place(&out).unwrap();
        assert_eq!(std::fs::read_to_string(out.join("card.json")).unwrap(), "1");
        std::fs::write(second.model().join("card.json"), "2").unwrap();
        assert!(second.place(&out).is_err(), "a folder that is not empty is never replaced");
        assert_eq!(std::fs::read_to_string(out.join("card.json")).unwrap(), "1");
        let mut names: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [format!("{PREFIX}def").as_str(), "model", "results"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(elsewhere.path().join(LOCK), "").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), home.path().join(format!("{PREFIX}link"))).unwrap();
        sweep(home.path());
        assert!(elsewhere.path().join(LOCK).exists());
    }
}

//! Atomic file writes: a file is written under a temporary name next to its destination and renamed when complete.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempDir};

/// Name prefix of unfinished files and folders. The writer's process id and the scope of that id follow, so that leftovers of killed
/// processes can be found.
pub const UNFINISHED: &str = ".probity-";
/// Age after which an unfinished file is removed if its process has ended.
const STALE: Duration = Duration::from_secs(3600);
/// Age after which an unfinished file of another machine is removed. Whether that machine's process is still running cannot be checked from
/// here.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path exists and `force` is not set.
    #[error("{} already exists; --force replaces it", .0.display())]
    There(PathBuf),
    /// The path exists but is not a regular file: it is a folder, a device or a pipe.
    #[error("{} is {what}; name a file", path.display())]
    NoFile { path: PathBuf, what: &'static str },
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path of the file to be written.
        path: PathBuf,
        source: std::io::Error,
    },
}

/// Creates a temporary file in the folder of `path`, with the permissions of an ordinary new file. Rename it to `path` when complete. Also
/// removes leftovers of killed processes from the folder.
pub fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sweep(folder);
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(&own_prefix()).tempfile_in(folder).map_err(|error| bare(&error, folder))
}

/// Creates a temporary folder within `folder`. Its files are moved elsewhere when complete; the folder is removed when dropped. Also
/// removes leftovers of killed processes from `folder`.
pub fn folder_in(folder: &Path) -> std::io::Result<TempDir> {
    sweep(folder);
    tempfile::Builder::new().prefix(&own_prefix()).tempdir_in(folder).map_err(|error| bare(&error, folder))
}

/// Scope of process ids if the boot id cannot be read.
const UNKNOWN: &str = "unknown";

fn own_prefix() -> String {
    format!("{UNFINISHED}{}@{}-", std::process::id(), home())
}

/// Scope of this process's id: eight digits for the current boot of this machine and for this container. Machines that share a folder may
/// have processes with equal ids. If the system reports no boot id, every unfinished file is treated as belonging to another machine.
fn home() -> &'static str {
    static HOME: OnceLock<String> = OnceLock::new();
    HOME.get_or_init(|| {
        let boot = super::read::text(Path::new("/proc/sys/kernel/random/boot_id"), 1 << 10).unwrap_or_default();
        let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        match boot.is_empty() {
            true => UNKNOWN.to_owned(),
            false => hex(&Sha256::digest(format!("{boot}{}", numbers.display()))[..4]),
        }
    })
}

/// Returns true if an unfinished file of this age was left by a process that has ended. `rest` is the file name after the prefix.
fn is_left(rest: &str, age: Duration) -> bool {
    let owner = rest.split_once('-').and_then(|(owner, _)| owner.split_once('@'));
    match owner.map(|(pid, place)| (pid.parse(), place)) {
        Some((Ok(pid), place)) if place == home() && place != UNKNOWN => age > STALE && !is_running(pid),
        _ => age > ABANDONED,
    }
}

/// Removes the name of the unfinished file from an error, because it means nothing to the user.
fn bare(error: &std::io::Error, folder: &Path) -> std::io::Error {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => format!("the folder {} does not exist", folder.display()),
        std::io::ErrorKind::NotADirectory => format!("{} is not a folder", folder.display()),
        kind => kind.to_string(),
    };
    std::io::Error::new(error.kind(), why)
}

/// Removes unfinished files and folders of processes that have ended. Errors are ignored: the next writer tries again.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|n| n.strip_prefix(UNFINISHED)) else { continue };
        let old = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if !old.is_some_and(|age| is_left(rest, age)) {
            continue;
        }
        let numbered = rest.starts_with(|c: char| c.is_ascii_digit());
        match entry.file_type() {
            // A folder without a process id has no identifiable owner and is kept.
            Ok(kind) if kind.is_dir() => {
                if numbered {
                    let _ = std::fs::remove_dir_all(entry.path());
                }
            }
            _ => drop(std::fs::remove_file(entry.path())),
        }
    }
}

#[cfg(unix)]
fn is_running(pid: i32) -> bool {
    // Ids of 0 and below denote process groups. Only the error "no such process" proves that a process has ended: signalling another user's
    // process may be forbidden.
    let pid = (pid > 0).then(|| nix::unistd::Pid::from_raw(pid));
    pid.is_some_and(|pid| nix::sys::signal::kill(pid, None) != Err(nix::errno::Errno::ESRCH))
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    false
}

/// Describes what blocks a path where a file is to be written; `None` if the path is free or a regular file.
fn obstacle(path: &Path) -> Option<&'static str> {
    let kind = std::fs::metadata(path).ok()?.file_type();
    if kind.is_file() {
        return None;
    }
    if kind.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_block_device() || kind.is_char_device() {
            return Some("a device");
        }
        if kind.is_fifo() {
            return Some("a pipe");
        }
    }
    Some("not a regular file")
}

/// Writes a file atomically, replacing an existing one.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = beside(path)?;
    file.as_file_mut().write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// A file that is moved to its destination when complete.
#[derive(Debug)]
pub struct Whole {
    file: NamedTempFile,
    path: PathBuf,
    force: bool,
}

impl Whole {
    /// Begins a file for `path`. An existing file is replaced only with `force`, and anything other than a regular file is refused. Links
    /// are followed.
    pub fn new(path: &Path, force: bool) -> Result<Self, FileError> {
        if let Some(what) = obstacle(path) {
            return Err(FileError::NoFile { path: path.to_owned(), what });
        }
        let about = path.symlink_metadata();
        if !force && about.is_ok() {
            return Err(FileError::There(path.to_owned()));
        }
        let fail = |source| FileError::Write { path: path.to_owned(), source };
        let target =
            if about.is_ok_and(|m| m.is_symlink()) { path.canonicalize().map_err(fail)? } else { path.to_owned() };
        let file = beside(&target).map_err(fail)?;
        Ok(Self { file, path: target, force })
    }

    pub fn file(&mut self) -> &mut std::fs::File {
        self.file.as_file_mut()
    }

    /// Writes the whole content and moves the file to its destination.
    pub fn fill(mut self, bytes: &[u8]) -> Result<(), FileError> {
        let written = self.file().write_all(bytes);
        written.map_err(|source| FileError::Write { path: self.path.clone(), source })?;
        self.place()
    }

    pub fn another(&self) -> std::io::Result<std::fs::File> {
        self.file.as_file().try_clone()
    }

    /// Moves the file to a different path, replacing an existing file.
    pub fn place_at(self, path: &Path) -> Result<(), FileError> {
        Self { path: path.to_owned(), force: true, ..self }.place()
    }

    /// Syncs the file to disk and moves it to its destination.
    ///
    /// # Errors
    /// [`FileError`], including one for a destination that was created in the meantime.
    pub fn place(self) -> Result<(), FileError> {
        let Self { file, path, force } = self;
        // Some file systems report a full disk only here; an existing file at the destination is then kept.
        if let Err(source) = file.as_file().sync_all() {
            return Err(FileError::Write { path, source });
        }
        let placed = if force { file.persist(&path) } else { file.persist_noclobber(&path) };
        match placed {
            Ok(_) => Ok(()),
            Err(e) if e.error.kind() == std::io::ErrorKind::AlreadyExists => Err(FileError::There(path)),
            Err(e) => Err(FileError::Write { path, source: e.error }),
        }
    }
}

/// Formats bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut s, b| {
        let _ = write!(s, "{b:02x}");
        s
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_written_atomically_and_replaces_only_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_whole(&path, b"one").unwrap();
        assert!(matches!(Whole::new(&path, false), Err(FileError::There(_))));
        let mut whole = Whole::new(&path, true).unwrap();
        whole.file().write_all(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one", "the old file stays until the new one is complete");
        whole.place().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["a.txt"], "no temporary file is left");
    }

    /// Regression: the error used to name the unfinished file, which means nothing to the user.
    #[test]
    fn missing_folder_error_hides_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| Whole::new(path, false).unwrap_err().to_string();
        let missing = folder.path().join("no/such");
        let said = refusal(&missing.join("a.txt"));
        assert!(said.ends_with(&format!("the folder {} does not exist", missing.display())), "{said}");
        let file = folder.path().join("a.txt");
        std::fs::write(&file, b"").unwrap();
        let said = refusal(&file.join("b.txt"));
        assert!(said.ends_with(&format!("{} is not a folder", file.display())), "{said}");
        assert!(!folder_in(&missing).unwrap_err().to_string().contains(UNFINISHED));
    }

    /// Ages of leftover files: two hours and two days.
    const AGES: [Duration; 2] = [Duration::from_secs(2 * 3600), Duration::from_secs(48 * 3600)];

    fn dead() -> u32 {
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        ended.id()
    }

    #[test]
    fn only_leftovers_of_killed_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: String, age: Duration| {
            let path = folder.path().join(name);
            let file = std::fs::File::create(&path).unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
            path
        };
        let (dead, own, home) = (dead(), std::process::id(), home());
        let gone =
            [file(format!("{UNFINISHED}{dead}@{home}-a"), AGES[0]), file(format!("{UNFINISHED}Abc123"), AGES[1])];
        let kept = [
            file(format!("{UNFINISHED}{own}@{home}-a"), AGES[1]),
            file(format!("{UNFINISHED}{dead}@{home}-b"), Duration::ZERO),
            file("results.csv".into(), AGES[1]),
        ];
        write_whole(&folder.path().join("new"), b"x").unwrap();
        assert!(gone.iter().all(|p| !p.exists()), "leftovers of processes that have ended");
        assert!(kept.iter().all(|p| p.exists()), "files being written, or not ours");
    }

    /// Regression: on a shared folder, another machine's unfinished file used to be removed after an hour, because no local process had its
    /// id. Conversely, a dead process's file was kept if a local process had the same id.
    #[test]
    fn leftovers_of_other_machines_expire_by_age() {
        let folder = tempfile::tempdir().unwrap();
        let (dead, own) = (dead(), std::process::id());
        for (pid, age, there) in [(dead, AGES[0], true), (dead, AGES[1], false), (own, AGES[1], false)] {
            for name in [format!("{UNFINISHED}{pid}@0badcafe-a"), format!("{UNFINISHED}{pid}-a")] {
                let path = folder.path().join(name);
                let file = std::fs::File::create(&path).unwrap();
                file.set_modified(std::time::SystemTime::now() - age).unwrap();
                write_whole(&folder.path().join("new"), b"x").unwrap();
                assert_eq!(path.exists(), there, "{} after {age:?}", path.display());
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// Regression: only files used to be removed, so folders were never deleted.
    #[test]
    fn only_folders_of_killed_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - AGES[0];
        let (dead, own, home) = (dead(), std::process::id(), home());
        let left = |name: String, aged: bool| {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("link"), b"x").unwrap();
            if aged {
                std::fs::File::open(&path).unwrap().set_modified(old).unwrap();
            }
            path
        };
        let gone = left(format!("{UNFINISHED}{dead}@{home}-a"), true);
        let kept = [
            left(format!("{UNFINISHED}{own}@{home}-a"), true),
            left(format!("{UNFINISHED}{dead}@{home}-b"), false),
            left(format!("{UNFINISHED}gallery-a"), true),
            left("results".into(), true),
        ];
        let made = folder_in(folder.path()).unwrap();
        let name = made.path().file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&format!("{UNFINISHED}{own}@{home}-")), "{name}");
        assert!(!gone.exists(), "the leftover of a process that has ended");
        assert!(kept.iter().all(|p| p.join("link").exists()), "folders in use, or not ours");
    }

    #[cfg(unix)]
    #[test]
    fn only_files_are_replaced_and_links_stay_links() {
        let folder = tempfile::tempdir().unwrap();
        for (path, what) in [(Path::new("/dev/null"), "a device"), (folder.path(), "a folder")] {
            for force in [false, true] {
                let error = Whole::new(path, force).unwrap_err().to_string();
                assert!(error.contains(what), "{error}");
            }
        }
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::fs::write(&target, b"one").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(matches!(Whole::new(&link, false), Err(FileError::There(_))));
        let mut whole = Whole::new(&link, true).unwrap();
        whole.file().write_all(b"two").unwrap();
        whole.place().unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"two");
    }

    #[test]
    fn file_created_meanwhile_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let whole = Whole::new(&path, false).unwrap();
        std::fs::write(&path, b"theirs").unwrap();
        assert!(matches!(whole.place(), Err(FileError::There(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn hexadecimal_digits() {
        assert_eq!(hex(&[0, 15, 255]), "000fff");
    }
}

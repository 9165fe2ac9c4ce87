//! Files that appear whole: written beside their place and renamed there.

use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Names of files that are being written begin so; what a killed process left is found by it.
pub const UNFINISHED: &str = ".probity-";

/// Why a file could not be put in its place.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Something stands there and may not be replaced.
    #[error("{} is there already; --force replaces it", .0.display())]
    There(PathBuf),
    /// The system refused.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// A new file beside `path`, to be renamed there when it is whole. It gets the permissions that a file made in the usual
/// way would have.
///
/// # Errors
/// The system's reason.
pub fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(UNFINISHED).tempfile_in(folder)
}

/// Writes a file beside its place and renames it there, replacing what stands there.
///
/// # Errors
/// The system's reason.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = beside(path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// A file that is written beside its place and put there when it is whole.
#[derive(Debug)]
pub struct Whole<'a> {
    /// What is written to.
    pub file: NamedTempFile,
    path: &'a Path,
    force: bool,
}

impl<'a> Whole<'a> {
    /// For `path`. What stands there already is replaced only by `force`.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn new(path: &'a Path, force: bool) -> Result<Self, FileError> {
        if !force && path.symlink_metadata().is_ok() {
            return Err(FileError::There(path.to_owned()));
        }
        let file = beside(path).map_err(|source| FileError::Write { path: path.to_owned(), source })?;
        Ok(Self { file, path, force })
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// [`FileError`], also where something has come to stand there in the meantime.
    pub fn place(self) -> Result<(), FileError> {
        let Self { file, path, force } = self;
        let placed = if force { file.persist(path) } else { file.persist_noclobber(path) };
        placed.map(|_| ()).map_err(|e| FileError::Write { path: path.to_owned(), source: e.error })
    }
}

/// Bytes in hexadecimal digits.
#[must_use]
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
    fn a_file_appears_whole_and_replaces_only_when_told_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_whole(&path, b"one").unwrap();
        assert!(matches!(Whole::new(&path, false), Err(FileError::There(_))));
        let mut whole = Whole::new(&path, true).unwrap();
        whole.file.write_all(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one", "not before it is whole");
        whole.place().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["a.txt"], "nothing is left beside it");
    }

    #[test]
    fn hexadecimal_digits() {
        assert_eq!(hex(&[0, 15, 255]), "000fff");
    }
}

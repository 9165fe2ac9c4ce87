//! Reads files named by the user: only regular files, up to a given size and within the memory limit.

use std::fs::File;
use std::io::{Error, Read, Result, Seek};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit set by `--memory-limit`, in bytes.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Sets this process's memory limit for files that are read completely.
pub fn set_limit(bytes: Option<u64>) {
    LIMIT.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Returns an error if a file of `bytes` exceeds the memory limit.
pub fn fits(bytes: u64) -> Result<()> {
    let limit = LIMIT.load(Ordering::Relaxed);
    if bytes <= limit {
        return Ok(());
    }
    let [needed, limit] = [bytes, limit].map(super::size::show);
    Err(Error::other(format!("it needs {needed} of memory, but --memory-limit allows only {limit}; raise the limit")))
}

/// Opens a regular file. Anything else is refused: opening a pipe can block, and a device may have no end.
pub fn open(path: &Path) -> Result<File> {
    // The type is checked before opening, because opening a device can have side effects.
    regular(&std::fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    // If a pipe has replaced the file since the check, it opens without blocking and is refused below.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::fcntl::OFlag::O_NONBLOCK.bits());
    let mut file = options.open(path)?;
    let about = file.metadata()?;
    regular(&about)?;
    if (1..POINTER).contains(&about.len()) {
        let mut all = Vec::new();
        file.by_ref().take(POINTER).read_to_end(&mut all)?;
        if let Some(what) = git_lfs_pointer(&all) {
            return Err(Error::other(format!("it is {what}")));
        }
        file.rewind()?;
    }
    Ok(file)
}

/// Upper bound in bytes on a Git LFS pointer: the specification requires fewer than 1,024.
const POINTER: u64 = 1_024;

/// Returns an error message if a file is a Git LFS pointer.
pub fn git_lfs_pointer(bytes: &[u8]) -> Option<String> {
    let text = bytes.strip_prefix(b"version https://git-lfs")?;
    let text = String::from_utf8_lossy(&text[..text.len().min(POINTER as usize)]);
    let size = text.lines().find_map(|l| l.strip_prefix("size ")).and_then(|s| s.trim().parse::<u64>().ok());
    let size = size.map_or(String::new(), |n| format!(" of {n} bytes"));
    Some(format!("a Git LFS pointer to a file{size}, not the file; fetch it with `git lfs pull`"))
}

fn regular(about: &std::fs::Metadata) -> Result<()> {
    let kind = if about.is_dir() { "a folder" } else { "not a regular file" };
    if about.is_file() { Ok(()) } else { Err(Error::other(format!("it is {kind}; name a file"))) }
}

/// Reads a file of at most `most` bytes.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    if size <= most {
        fits(size)?;
    }
    stream(file, most, size)
}

/// Reads a UTF-8 file of at most `most` bytes.
pub fn text(path: &Path, most: u64) -> Result<String> {
    utf8(bytes(path, most)?)
}

/// Reads at most `most` bytes of UTF-8 text from standard input.
pub fn stdin(most: u64) -> Result<String> {
    utf8(stream(std::io::stdin().lock(), most, 0)?)
}

/// Reads all bytes of a source, at most `most`; `size` is the size that the source reports.
fn stream(source: impl Read, most: u64, size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A file may report a size smaller than its actual size.
    if size > most || source.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return Err(Error::other(format!("it is larger than the limit of {}", super::size::show(most))));
    }
    Ok(bytes)
}

/// Decodes UTF-8 and removes a byte order mark.
fn utf8(bytes: Vec<u8>) -> Result<String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Error::other(
            "it is UTF-16, not UTF-8 text; convert it, for example with iconv -f UTF-16 -t UTF-8",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::other("it is not UTF-8 text"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_stated_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(text(&path, 4).unwrap(), "four");
        let error = text(&path, 3).unwrap_err().to_string();
        assert!(error.contains("larger than the limit of 3 bytes"), "{error}");
        std::fs::write(&path, [0xff]).unwrap();
        assert!(text(&path, 4).unwrap_err().to_string().contains("UTF-8"));
        std::fs::write(&path, [0xff, 0xfe, b'a', 0]).unwrap();
        assert!(text(&path, 4).unwrap_err().to_string().contains("UTF-16"));
        std::fs::write(&path, "\u{feff}four").unwrap();
        assert_eq!(text(&path, 9).unwrap(), "four");
        // Regression: further training used to accept the lines of a pointer file as training texts.
        std::fs::write(&path, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n").unwrap();
        let error = text(&path, 999).unwrap_err().to_string();
        assert!(
            error.contains("Git LFS pointer to a file of 12345 bytes") && error.contains("git lfs pull"),
            "{error}"
        );
        assert!(open(folder.path()).unwrap_err().to_string().contains("a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/dev/tty")] {
            let error = bytes(path, 10).unwrap_err().to_string();
            assert!(error.contains("not a regular file") || !path.exists(), "{error}");
        }
        let grows = bytes(Path::new("/proc/self/status"), 10).unwrap_err().to_string();
        assert!(grows.contains("larger than the limit of 10 bytes"), "reports 0 bytes but has more: {grows}");
    }
}

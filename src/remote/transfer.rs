//! File transfer over the link, in pieces and with a checksum: sessions to this machine, data to the remote one.

use std::fs::File;
use std::io::{Error, Read, Result, Write};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::message::Message;
use base::files::{beside, hex};

/// Maximum bytes sent at a time.
const PIECE: usize = 256 << 10;

pub(super) fn send(file: &mut File, out: &mut dyn Write) -> Result<()> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; PIECE];
    let broken = |e: super::frame::FrameError| Error::other(e.to_string());
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Message::Whole(hex(&hash.finalize())).write(out).map_err(broken);
        }
        hash.update(&buffer[..n]);
        Message::Piece(buffer[..n].to_vec()).write(out).map_err(broken)?;
    }
}

pub(super) struct Incoming {
    file: NamedTempFile,
    hash: Sha256,
    left: u64,
}

impl Incoming {
    /// Begins a file of at most `most` bytes that will be moved to `path`. An incomplete file is removed.
    pub(crate) fn new(path: &Path, most: u64) -> Result<Self> {
        Ok(Self { file: beside(path)?, hash: Sha256::new(), left: most })
    }

    pub(crate) fn take(&mut self, piece: &[u8]) -> Result<()> {
        self.left = self.left.checked_sub(piece.len() as u64).ok_or_else(|| Error::other("it is too large"))?;
        self.hash.update(piece);
        self.file.write_all(piece)
    }

    /// Returns the file if it matches the checksum.
    pub(crate) fn close(self, sum: &str) -> Result<NamedTempFile> {
        if hex(&self.hash.finalize()) != sum {
            return Err(Error::other("it arrived corrupted; try again"));
        }
        self.file.as_file().sync_all()?;
        Ok(self.file)
    }
}

/// Accepts a relative path that stays inside its folder; `None` for any other path.
pub fn inner(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    let stays = path.components().all(|c| matches!(c, Component::Normal(_)));
    (stays && !name.is_empty() && !name.contains('\0')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_transfer_is_atomic() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        std::fs::write(&from, vec![7; PIECE + 5]).unwrap();
        let mut stream = Vec::new();
        send(&mut File::open(&from).unwrap(), &mut stream).unwrap();
        let arrive = |most: u64, spoil: bool| -> Result<Vec<u8>> {
            let mut source = stream.as_slice();
            let mut transfer = Incoming::new(&folder.path().join("to"), most)?;
            loop {
                match Message::read(&mut source).unwrap() {
                    Message::Piece(mut piece) => {
                        piece[0] ^= u8::from(spoil);
                        transfer.take(&piece)?;
                    }
                    Message::Whole(sum) => return std::fs::read(transfer.close(&sum)?.path()),
                    other => panic!("{other:?}"),
                }
            }
        };
        assert_eq!(arrive(1 << 20, false).unwrap(), vec![7; PIECE + 5]);
        assert!(arrive(1 << 20, true).unwrap_err().to_string().contains("corrupted"));
        assert!(arrive(10, false).unwrap_err().to_string().contains("too large"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "rejected files are removed");
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        assert_eq!(inner("a/b.tsv"), Some("a/b.tsv".into()));
        for name in ["", "/etc/passwd", "../x", "a/../../x", ".", "a\0b"] {
            assert_eq!(inner(name), None, "{name:?}");
        }
    }
}

//! Reader for Inspect's `.eval` logs, which are zip archives, entry by entry in bounded memory.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::DeflateDecoder;

use super::document::{Layout, document};
use super::gather::Gather;
use crate::readers::ReadError;
use crate::readers::source::MAX_DOCUMENT;

/// Returns the first bytes of a file, or zeros if it cannot be read; the text readers then report the error.
pub(crate) fn beginning(path: &Path) -> [u8; 4] {
    let mut head = [0; 4];
    match base::read::open(path).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => head,
        Err(_) => [0; 4],
    }
}

const MOST_ENTRIES: usize = 65_534;

struct Entry {
    name: String,
    method: u16,
    packed: u64,
    offset: u64,
}

/// Reads the samples of an Inspect log from its summaries, or one by one if there are none or texts are needed.
pub(crate) fn rows(path: &Path, gather: &mut Gather<'_>) -> Result<(), ReadError> {
    let broken = |what: String| ReadError::file(path, what, "a complete .eval log of Inspect; fetch it again");
    let mut file = base::read::open(path).map_err(|e| broken(format!("cannot open it: {e}")))?;
    let mut entries = entries(&mut file).map_err(|e| broken(format!("the zip archive is damaged ({e})")))?;
    let mut read = |entry: &Entry| unpacked(&mut file, entry).map_err(|e| broken(format!("{}: {e}", shown(entry))));
    gather.samples = true;
    if let Some(entry) = entries.iter().find(|e| e.name == "summaries.json").filter(|_| !gather.wanted.detail) {
        let bytes = read(entry)?;
        gather.summaries = true;
        return document(&bytes, Layout::List, gather);
    }
    let is_workbook = entries.iter().any(|e| e.name.starts_with("xl/"));
    entries.retain(|e| e.name.starts_with("samples/") && e.name.ends_with(".json"));
    if is_workbook {
        return Err(ReadError::file(path, "an Excel workbook", "the table as text: save it as CSV UTF-8"));
    }
    if entries.is_empty() {
        return Err(ReadError::file(
            path,
            "a zip archive without `summaries.json` or `samples/`",
            "an .eval log of Inspect, or the file inside the archive",
        ));
    }
    for entry in &entries {
        let mut bytes = read(entry)?;
        bytes.insert(0, b'[');
        bytes.push(b']');
        document(&bytes, Layout::List, gather)?;
    }
    Ok(())
}

fn shown(entry: &Entry) -> String {
    base::text::printable_label(&base::text::shortened(&entry.name, 80))
}

fn word(bytes: &[u8], at: usize, wide: usize) -> Option<u64> {
    let part = bytes.get(at..at + wide)?;
    Some(part.iter().rev().fold(0, |sum, b| sum << 8 | u64::from(*b)))
}

fn wrong(what: &str) -> std::io::Error {
    std::io::Error::other(what.to_owned())
}

/// Reads the central directory.
fn entries(file: &mut File) -> std::io::Result<Vec<Entry>> {
    let size = file.seek(SeekFrom::End(0))?;
    let tail = size.min(22 + 65_535);
    file.seek(SeekFrom::Start(size - tail))?;
    let mut bytes = Vec::new();
    file.take(tail).read_to_end(&mut bytes)?;
    let end = memchr::memmem::rfind(&bytes, b"PK\x05\x06").ok_or_else(|| wrong("it has no directory"))?;
    let field = |at, wide| word(&bytes, end + at, wide).ok_or_else(|| wrong("its directory is truncated"));
    let (count, length, start) = (field(10, 2)? as usize, field(12, 4)?, field(16, 4)?);
    field(20, 2)?;
    if count > MOST_ENTRIES || start == u64::from(u32::MAX) {
        return Err(wrong("more entries or bytes than Probity reads; convert it: inspect log convert --to json"));
    }
    if start + length > size {
        return Err(wrong("its directory is truncated"));
    }
    file.seek(SeekFrom::Start(start))?;
    let mut directory = Vec::new();
    file.take(length).read_to_end(&mut directory)?;
    let (mut all, mut at) = (Vec::new(), 0);
    while all.len() < count {
        let field =
            |offset, wide| word(&directory, at + offset, wide).ok_or_else(|| wrong("its directory is truncated"));
        if field(0, 4)? != 0x0201_4b50 {
            return Err(wrong("its directory is damaged"));
        }
        let (name, extra, comment) = (field(28, 2)? as usize, field(30, 2)? as usize, field(32, 2)? as usize);
        let text = directory.get(at + 46..at + 46 + name).ok_or_else(|| wrong("its directory is truncated"))?;
        all.push(Entry {
            name: String::from_utf8_lossy(text).into_owned(),
            method: field(10, 2)? as u16,
            packed: field(20, 4)?,
            offset: field(42, 4)?,
        });
        at += 46 + name + extra + comment;
    }
    Ok(all)
}

/// Decompresses an entry of up to [`MAX_DOCUMENT`] bytes.
fn unpacked(file: &mut File, entry: &Entry) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(entry.offset))?;
    let mut head = [0; 30];
    file.read_exact(&mut head)?;
    if !head.starts_with(b"PK\x03\x04") {
        return Err(wrong("an entry listed in its directory is missing"));
    }
    let skip = word(&head, 26, 2).unwrap_or(0) + word(&head, 28, 2).unwrap_or(0);
    file.seek(SeekFrom::Current(skip as i64))?;
    let packed = file.take(entry.packed);
    let most = MAX_DOCUMENT as u64 + 1;
    let mut bytes = Vec::new();
    match entry.method {
        0 => packed.take(most).read_to_end(&mut bytes)?,
        8 => DeflateDecoder::new(packed).take(most).read_to_end(&mut bytes)?,
        other => {
            return Err(wrong(&format!(
                "compression method {other} is not supported; convert it: inspect log convert --to json"
            )));
        }
    };
    if bytes.len() > MAX_DOCUMENT {
        return Err(wrong("more than 64 MiB in one entry"));
    }
    Ok(bytes)
}

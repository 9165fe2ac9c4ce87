//! Reads font files table by table, because a collection can have a hundred megabytes and a check of one character map needs only a few of
//! them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use ttf_parser::{Face, RawFaceTables, Tag};

const MOST_FACES: u32 = 64;
/// Maximum number of tables in a font; the format defines about 60.
const MOST_TABLES: u16 = 128;
/// Maximum size of a table, and of all tables of a face, in bytes.
const MOST_BYTES: u64 = 64 << 20;
/// Signatures of faces: two for TrueType outlines, one for PostScript outlines.
const VERSIONS: [[u8; 4]; 3] = [[0, 1, 0, 0], *b"true", *b"OTTO"];
/// Tables required for drawing outlines and measuring widths.
const NEEDED: [&[u8; 4]; 14] = [
    b"head", b"hhea", b"maxp", b"hmtx", b"cmap", b"glyf", b"loca", b"CFF ", b"CFF2", b"OS/2", b"fvar", b"gvar",
    b"avar", b"HVAR",
];

/// A table: tag and contents.
pub(crate) type Table = ([u8; 4], Vec<u8>);

/// Tables of a face: tag, offset and length of each.
pub(crate) struct Directory {
    tables: Vec<([u8; 4], u64, u64)>,
}

impl Directory {
    pub(crate) fn has(&self, tag: &[u8; 4]) -> bool {
        self.tables.iter().any(|(name, _, _)| name == tag)
    }
}

pub(crate) struct Source {
    file: File,
    length: u64,
}

impl Source {
    /// Opens a file; `None` if it is not a regular file or cannot be read.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let file = base::read::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        Some(Self { file, length })
    }

    fn bytes(&self, at: u64, count: u64) -> Option<Vec<u8>> {
        if count > MOST_BYTES || at.checked_add(count)? > self.length {
            return None;
        }
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at)).ok()?;
        let mut bytes = Vec::new();
        file.take(count).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == count).then_some(bytes)
    }

    /// The faces of the file in order; empty if it is not a font.
    pub(crate) fn directories(&self) -> Vec<Directory> {
        self.starts().into_iter().flatten().filter_map(|at| self.directory(at)).collect()
    }

    /// Byte offsets of the faces.
    fn starts(&self) -> Option<Vec<u64>> {
        let head = self.bytes(0, 12)?;
        if !head.starts_with(b"ttcf") {
            return Some(vec![0]);
        }
        let count = number(&head[8..12])?.min(MOST_FACES);
        let starts = self.bytes(12, u64::from(count) * 4)?;
        starts.chunks_exact(4).map(|c| number(c).map(u64::from)).collect()
    }

    fn directory(&self, at: u64) -> Option<Directory> {
        let head = self.bytes(at, 12)?;
        if !VERSIONS.iter().any(|v| head.starts_with(v)) {
            return None;
        }
        let count = u16::from_be_bytes([head[4], head[5]]).min(MOST_TABLES);
        let records = self.bytes(at + 12, u64::from(count) * 16)?;
        let record = |r: &[u8]| {
            let tag = <[u8; 4]>::try_from(&r[..4]).ok()?;
            Some((tag, u64::from(number(&r[8..12])?), u64::from(number(&r[12..16])?)))
        };
        Some(Directory { tables: records.chunks_exact(16).filter_map(record).collect() })
    }

    pub(crate) fn table(&self, directory: &Directory, tag: &[u8; 4]) -> Option<Vec<u8>> {
        let (_, at, count) = directory.tables.iter().find(|(name, _, _)| name == tag)?;
        self.bytes(*at, *count)
    }

    /// The tables for outlines and widths; `None` if they are too large or a required table is missing.
    pub(crate) fn outlines(&self, directory: &Directory) -> Option<Vec<Table>> {
        let length = |tag: &[u8; 4]| {
            directory.tables.iter().find(|(name, _, _)| name == tag).map_or(0, |(_, _, length)| *length)
        };
        if NEEDED.iter().map(|tag| length(tag)).sum::<u64>() > MOST_BYTES {
            return None;
        }
        Some(NEEDED.iter().filter_map(|tag| Some((**tag, self.table(directory, tag)?))).collect())
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

/// Parses the tables as a face, at regular weight if it is variable; `None` if they are damaged.
pub(crate) fn face(tables: &[Table]) -> Option<Face<'_>> {
    let of = |tag: &[u8; 4]| tables.iter().find(|(name, _)| name == tag).map(|(_, bytes)| bytes.as_slice());
    let raw = RawFaceTables {
        head: of(b"head")?,
        hhea: of(b"hhea")?,
        maxp: of(b"maxp")?,
        hmtx: of(b"hmtx"),
        cmap: of(b"cmap"),
        glyf: of(b"glyf"),
        loca: of(b"loca"),
        cff: of(b"CFF "),
        cff2: of(b"CFF2"),
        os2: of(b"OS/2"),
        fvar: of(b"fvar"),
        gvar: of(b"gvar"),
        avar: of(b"avar"),
        hvar: of(b"HVAR"),
        ..RawFaceTables::default()
    };
    let mut face = Face::from_raw_tables(raw).ok()?;
    if face.is_variable() {
        face.set_variation(Tag::from_bytes(b"wght"), f32::from(super::REGULAR));
    }
    Some(face)
}

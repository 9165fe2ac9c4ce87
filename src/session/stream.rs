//! Reads sessions of any size. Lines are read on demand; for the state at a given time, only lines that still matter are parsed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};

use super::SessionError;
use super::format::{
    Entry, Header, Item, Line, Losses, MAX_LINE, MAX_LISTED, Unread, first_line, next_line, parse_entry, parse_header,
    version,
};
use super::glance::{LineKind, glance, time};
use super::kept::Kept;
use super::threads::map;
use engine::board::Board;
use engine::message::Command;

/// Maximum size of files that are checked line by line when opened; in larger files, only line ends are found.
const CHECKED: u64 = 32 << 20;
/// Number of bytes read at a time: at most [`MAX_LINE`], and few enough to stay in a processor's cache.
const PIECE: usize = 1 << 18;
/// Number of bytes that a thread scans at a time.
const SCANNED: u64 = if cfg!(test) { 1 << 16 } else { 2 << 20 };
/// Number of such parts that are scanned together.
const GROUP: usize = 4;
/// Number of bytes that are parsed together.
const PARSED: u64 = 1 << 20;

/// A session that can be read from any position.
#[derive(Debug, Clone)]
pub struct Session {
    /// The first line.
    pub header: Header,
    /// Lines that could not be read.
    pub losses: Losses,
    source: Source,
    /// Byte offset of the second line.
    begin: u64,
    end: f64,
    /// True if a newer program wrote it.
    newer: bool,
    /// The lines that matter at its end.
    kept: Arc<Kept>,
}

/// The source of the bytes, with the file's size at opening.
#[derive(Debug, Clone)]
enum Source {
    File(Arc<File>, u64),
    Bytes(Arc<[u8]>),
}

impl Source {
    fn size(&self) -> u64 {
        match self {
            Source::File(_, size) => *size,
            Source::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Reads a line whose place is known.
    fn line(&self, (at, length): Spot) -> Option<Vec<u8>> {
        let mut line = Vec::with_capacity(length as usize);
        Window { source: self.clone(), at }.take(u64::from(length)).read_to_end(&mut line).ok()?;
        Some(line)
    }

    /// Numbers, from 1, of the lines at some byte offsets, in ascending order.
    fn numbers(&self, offsets: &[u64]) -> std::io::Result<Vec<usize>> {
        let (mut bytes, mut number, mut from) =
            (BufReader::with_capacity(PIECE, Window { source: self.clone(), at: 0 }), 1, 0);
        let mut out = Vec::with_capacity(offsets.len());
        for &offset in offsets {
            while from < offset {
                let chunk = bytes.fill_buf()?;
                let n = usize::try_from(offset - from).unwrap_or(usize::MAX).min(chunk.len());
                if n == 0 {
                    break;
                }
                number += memchr_iter(b'\n', &chunk[..n]).count();
                bytes.consume(n);
                from += n as u64;
            }
            out.push(number);
        }
        Ok(out)
    }
}

/// A window onto the bytes that can start at any position.
#[derive(Debug)]
struct Window {
    source: Source,
    at: u64,
}

impl Read for Window {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = match &self.source {
            Source::Bytes(bytes) => {
                let rest = &bytes[usize::try_from(self.at).unwrap_or(usize::MAX).min(bytes.len())..];
                let n = rest.len().min(buffer.len());
                buffer[..n].copy_from_slice(&rest[..n]);
                n
            }
            Source::File(file, size) => {
                let rest = usize::try_from(size.saturating_sub(self.at)).unwrap_or(usize::MAX);
                let room = rest.min(buffer.len());
                #[cfg(unix)]
                let n = std::os::unix::fs::FileExt::read_at(&**file, &mut buffer[..room], self.at)?;
                #[cfg(windows)]
                let n = std::os::windows::fs::FileExt::seek_read(&**file, &mut buffer[..room], self.at)?;
                n
            }
        };
        self.at += n as u64;
        Ok(n)
    }
}

#[derive(Debug)]
struct Lines {
    source: BufReader<Window>,
    /// Length of the line if the piece that was read contains all of it; otherwise 0, and `buffer` contains the line.
    inside: usize,
    buffer: Vec<u8>,
    /// Byte offset of the line.
    at: u64,
    /// Byte offset of the line with its leading blanks.
    start: u64,
    /// Lines that start at or after this byte offset are not read.
    limit: u64,
}

impl Lines {
    fn new(source: &Source, at: u64) -> Self {
        let source = BufReader::with_capacity(PIECE, Window { source: source.clone(), at });
        Self { source, inside: 0, buffer: Vec::new(), at, start: at, limit: u64::MAX }
    }

    /// Reads only the lines that start within [`SCANNED`] bytes from `from` on. A line may start at `from`.
    fn part(source: &Source, from: u64) -> std::io::Result<Self> {
        let before = from.saturating_sub(1);
        let mut lines = Self { limit: from + SCANNED, ..Self::new(source, before) };
        lines.source.by_ref().take(from + SCANNED - before).skip_until(b'\n')?;
        Ok(lines)
    }

    fn line(&self) -> &[u8] {
        if self.inside > 0 { &self.source.buffer()[..self.inside] } else { &self.buffer }
    }

    /// The place of the line.
    fn spot(&self) -> Spot {
        (self.at, u32::try_from(self.line().len()).unwrap_or(0))
    }

    /// Byte offset of the end of the line.
    fn place(&self) -> u64 {
        self.source.get_ref().at - (self.source.buffer().len() - self.inside) as u64
    }

    /// Reads the next non-empty line.
    fn read(&mut self) -> std::io::Result<Line> {
        self.source.consume(std::mem::take(&mut self.inside));
        self.start = self.place();
        while self.start < self.limit && self.skip_blank()? {}
        if self.start < self.limit { self.read_with(next_line) } else { Ok(Line::End) }
    }

    /// Reads the header. A file without a line end or with nothing but blanks is not read to its end.
    fn read_first(&mut self) -> std::io::Result<Line> {
        while self.skip_blank()? {
            if self.place() > MAX_LINE as u64 {
                return Ok(Line::TooLong);
            }
        }
        self.read_with(first_line)
    }

    /// Skips white space up to the end of the read piece. True if there was some.
    fn skip_blank(&mut self) -> std::io::Result<bool> {
        let chunk = self.source.fill_buf()?;
        let blank = chunk.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let last = memrchr(b'\n', &chunk[..blank]);
        self.source.consume(blank);
        if let Some(last) = last {
            self.start = self.place() - (blank - last - 1) as u64;
        }
        Ok(blank > 0)
    }

    fn read_with(
        &mut self,
        read: impl Fn(&mut BufReader<Window>, &mut Vec<u8>) -> std::io::Result<Line>,
    ) -> std::io::Result<Line> {
        self.at = self.place();
        if let Some(end) = memchr(b'\n', self.source.fill_buf()?) {
            self.inside = end + 1;
            return Ok(Line::Whole);
        }
        read(&mut self.source, &mut self.buffer)
    }
}

/// Entries in order, read on demand. Unreadable lines are skipped; [`Session::losses`] counts them.
#[derive(Debug)]
pub struct Entries {
    lines: Lines,
    last: f64,
    newer: bool,
    /// An entry that has been read but not returned.
    peeked: Option<Entry>,
}

impl Entries {
    pub fn peek(&mut self) -> Option<&Entry> {
        if self.peeked.is_none() {
            self.peeked = self.read();
        }
        self.peeked.as_ref()
    }

    fn read(&mut self) -> Option<Entry> {
        loop {
            match self.lines.read() {
                // A file that can no longer be read is treated as ended.
                Ok(Line::End) | Err(_) => return None,
                Ok(Line::TooLong) => {}
                Ok(Line::Whole | Line::Cut) => {
                    if let Ok(mut entry) = parse_entry(self.lines.line(), self.newer) {
                        entry.t = entry.t.max(self.last);
                        self.last = entry.t;
                        return Some(entry);
                    }
                }
            }
        }
    }
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.peeked.take().or_else(|| self.read())
    }
}

impl Session {
    /// Opens a session file.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read, [`SessionError::Format`] if its first line is not a header of this format. Damage
    /// after the header is not an error; [`Session::losses`] counts it.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let fail = |source| SessionError::Read { path: path.to_owned(), source };
        let file = base::read::open(path).map_err(fail)?;
        let size = file.metadata().map_err(fail)?.len();
        Self::open(Source::File(Arc::new(file), size), path, size <= CHECKED)
    }

    /// Parses a session from bytes; `origin` names it in errors.
    pub fn parse(bytes: &[u8], origin: &Path) -> Result<Self, SessionError> {
        Self::open(Source::Bytes(bytes.into()), origin, true)
    }

    fn open(source: Source, origin: &Path, checked: bool) -> Result<Self, SessionError> {
        let bad = |message: String| SessionError::Format { path: origin.to_owned(), line: 1, message };
        let fail = |source| SessionError::Read { path: origin.to_owned(), source };
        let mut lines = Lines::new(&source, 0);
        let header = match lines.read_first().map_err(fail)? {
            Line::End => return Err(bad("the file is empty; a session begins with a header line".into())),
            Line::TooLong => return Err(bad("this is not a session: its first line is too long".into())),
            Line::Whole | Line::Cut => parse_header(lines.line()).map_err(bad)?,
        };
        let newer = version(&header.version) > version(env!("CARGO_PKG_VERSION"));
        let (begin, kept) = (lines.place(), Arc::default());
        let mut session = Self { header, losses: Losses::default(), source, begin, end: 0.0, newer, kept };
        session.kept = Arc::new(session.survey(checked).map_err(fail)?);
        Ok(session)
    }

    /// Finds the time of the last entry, the unreadable lines, and the lines that matter at the end.
    fn survey(&mut self, checked: bool) -> std::io::Result<Kept> {
        let (mut kept, mut damaged, mut cut) = (Kept::default(), Vec::new(), Vec::new());
        let parts: Vec<u64> = (self.begin..self.source.size()).step_by(SCANNED as usize).collect();
        for parts in parts.chunks(GROUP) {
            for part in map(parts, |from| self.scan(*from, checked)) {
                for (what, spot, line, read) in part? {
                    self.losses.long += usize::from(line == Line::TooLong);
                    match read {
                        Ok(t) => {
                            kept.add(what, spot);
                            self.end = self.end.max(t);
                        }
                        Err(Unread::Unknown) => self.losses.unknown += 1,
                        Err(Unread::Damaged) if line == Line::Cut => cut.push(spot.0),
                        Err(Unread::Damaged) => {
                            self.losses.damaged += 1;
                            damaged.extend((damaged.len() < MAX_LISTED).then_some(spot.0));
                        }
                    }
                }
            }
        }
        self.losses.damaged_lines = self.source.numbers(&damaged)?;
        self.losses.cut = self.source.numbers(&cut)?.pop();
        Ok(kept)
    }

    /// Classifies the lines that start within [`SCANNED`] bytes from `from` on. Lines are parsed only if they are checked or if no recorder
    /// wrote them.
    fn scan(&self, from: u64, checked: bool) -> std::io::Result<Vec<Scanned>> {
        let mut lines = Lines::part(&self.source, from)?;
        let mut out = Vec::new();
        loop {
            let line = lines.read()?;
            if line == Line::End {
                return Ok(out);
            }
            let text = lines.line();
            let read = match line {
                Line::TooLong => Err(Unread::Damaged),
                _ if text.trim_ascii().is_empty() => continue,
                _ => match time(text).filter(|_| !checked) {
                    Some(t) if text.trim_ascii_end().ends_with(b"}") => Ok(t),
                    _ => parse_entry(text, self.newer).map(|entry| entry.t),
                },
            };
            out.push((glance(text), lines.spot(), line, read));
        }
    }

    pub fn entries(&self) -> Entries {
        self.entries_from(self.begin, 0.0)
    }

    fn entries_from(&self, at: u64, last: f64) -> Entries {
        Entries { lines: Lines::new(&self.source, at), last, newer: self.newer, peeked: None }
    }

    /// Time of the last entry, in seconds.
    pub fn duration(&self) -> f64 {
        self.end
    }

    /// The board at time `t`: the fold of all entries up to and including that time.
    pub fn board_at(&self, t: f64) -> Board {
        let mut board = Board::default();
        let past = self.until(t);
        past.gone.into_iter().for_each(|at| board.let_go(at));
        past.entries.for_each(|entry| entry.fold(&mut board));
        board
    }

    pub fn board(&self) -> Board {
        self.board_at(f64::INFINITY)
    }

    /// The board just before the next run after this one (counted from 1) began. It still has this run's results, which a later board may
    /// have dropped.
    pub fn board_of(&self, run: usize) -> Board {
        let (mut board, mut begun) = (Board::default(), 0);
        for entry in self.entries() {
            begun += usize::from(matches!(entry.item, Item::Command(Command::Run { .. })));
            if begun > run {
                break;
            }
            entry.fold(&mut board);
        }
        board
    }

    /// The entries up to and including time `t`. Entries that later ones replaced, and results that the board has dropped by then, are
    /// skipped without parsing their content.
    pub fn until(&self, t: f64) -> Past<impl Iterator<Item = Entry> + use<>> {
        let (kept, rest) = if t >= self.end {
            (self.kept.clone(), self.entries_from(self.source.size(), self.end))
        } else {
            self.kept_until(t)
        };
        let (places, gone) = (kept.places(|spot| self.source.line(spot)), kept.gone());
        let (source, newer, mut at) = (self.source.clone(), self.newer, 0);
        let parse = move |spot: &Spot| parse_entry(&source.line(*spot)?, newer).ok().filter(|entry| entry.t <= t);
        let batches = std::iter::from_fn(move || {
            let mut bytes = 0;
            let few = places[at..].iter().take_while(|(_, length)| {
                let fits = bytes < PARSED;
                bytes += u64::from(*length);
                fits
            });
            let batch = &places[at..at + few.count()];
            at += batch.len();
            (!batch.is_empty()).then(|| map(batch, &parse))
        });
        let entries = batches.flatten().flatten();
        Past { entries, gone, rest }
    }

    /// The lines that matter at time `t`, and the entries after it.
    fn kept_until(&self, t: f64) -> (Arc<Kept>, Entries) {
        let (mut kept, mut last) = (Kept::default(), 0.0);
        let mut lines = Lines::new(&self.source, self.begin);
        // A file that can no longer be read is treated as ended.
        while let Ok(Line::Whole | Line::Cut | Line::TooLong) = lines.read() {
            match time(lines.line()) {
                Some(at) if at > t => break,
                Some(at) => last = at.max(last),
                None => {}
            }
            kept.add(glance(lines.line()), lines.spot());
        }
        (Arc::new(kept), self.entries_from(lines.at, last))
    }
}

/// The entries of a session up to a given time.
#[derive(Debug)]
pub struct Past<I> {
    /// Entries that fold to the board at that time, after `gone`.
    pub entries: I,
    /// Indices of the runs whose results the board has dropped by then.
    pub gone: Vec<usize>,
    pub rest: Entries,
}

/// A line: its kind, its place, its ending, and its time if it can be read.
type Scanned = (LineKind, Spot, Line, Result<f64, Unread>);

/// Byte offset and length of a line.
pub(super) type Spot = (u64, u32);

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;

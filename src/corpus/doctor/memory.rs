//! Hashes of rows seen, to detect duplicates among millions of rows.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

/// Maximum number of hashes (about 32 bytes each); rows beyond this number are not compared.
pub(crate) const MOST: usize = 16_000_000;

/// Hashes a value, with the same result in every run. Among 10 million values, the probability of a collision is 3e-6.
pub(crate) fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Hashes of rows and keys seen so far.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    files: Vec<String>,
    rows: HashMap<u64, (u32, u32)>,
    values: HashMap<u64, (u64, u32, u32)>,
    file: u32,
    line: u32,
    full: bool,
}

impl Memory {
    /// Creates an empty memory for the rows of `files`.
    pub(crate) fn of(files: Vec<String>) -> Self {
        Self { files, ..Self::default() }
    }

    /// Sets the file index and line of the next row.
    pub(crate) fn at(&mut self, file: usize, line: u64) {
        self.file = u32::try_from(file).unwrap_or(u32::MAX);
        self.line = u32::try_from(line).unwrap_or(u32::MAX);
    }

    /// File index of the current row.
    pub(crate) fn file(&self) -> usize {
        self.file as usize
    }

    /// True if some rows were not compared with all earlier ones.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Formats a file and line; the name of the current file is omitted.
    pub(crate) fn place(&self, file: u32, line: u32) -> String {
        match self.files.get(file as usize) {
            Some(name) if file != self.file => format!("{name} line {line}"),
            _ => format!("line {line}"),
        }
    }

    /// Records a row and returns the position of an equal earlier row, if any.
    pub(crate) fn seen(&mut self, row: u64) -> Option<String> {
        if self.rows.len() + self.values.len() >= MOST {
            self.full = true;
            return self.rows.get(&row).map(|(f, l)| self.place(*f, *l));
        }
        match self.rows.entry(row) {
            Entry::Occupied(at) => {
                let (file, line) = *at.get();
                Some(self.place(file, line))
            }
            Entry::Vacant(free) => {
                free.insert((self.file, self.line));
                None
            }
        }
    }

    /// Records a key and returns the position where it first had a different value, if any.
    pub(crate) fn first_of(&mut self, key: u64, value: u64) -> Option<String> {
        if self.rows.len() + self.values.len() >= MOST && !self.values.contains_key(&key) {
            self.full = true;
            return None;
        }
        let (first, file, line) = *self.values.entry(key).or_insert((value, self.file, self.line));
        (first != value).then(|| self.place(file, line))
    }
}

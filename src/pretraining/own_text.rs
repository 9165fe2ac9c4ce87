//! The user's text for further training, one sentence per line.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::{GalleryError, Result};
use super::mixture::Line;
use base::files::hex;
use stats::rng::{shuffle, stream};

/// Maximum size of a text file in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// Non-blank lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnText {
    lines: Vec<String>,
    hash: String,
}

impl OwnText {
    /// Reads a file.
    ///
    /// # Errors
    /// [`GalleryError::Text`] for a file that is unreadable, not UTF-8, or without text.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |what: String| GalleryError::Text { path: path.to_owned(), what };
        let text = base::read::text(path, MOST_BYTES).map_err(|e| wrong(e.to_string()))?;
        let lines: Vec<String> = text.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect();
        if lines.is_empty() {
            return Err(wrong("it has no text; expected one sentence per line".into()));
        }
        Ok(Self { lines, hash: hex(&Sha256::digest(text.as_bytes())) })
    }

    /// SHA-256 of the file, in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Draws `count` distinct lines in random order, or all if there are fewer. Lines that `fits` rejects are halved between words until
    /// they fit.
    pub(super) fn draw(&self, count: usize, seed: u64, fits: impl Fn(&str) -> Result<bool>) -> Result<Vec<Line>> {
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        shuffle(&mut stream(seed, "own text"), &mut order);
        let mut drawn = Vec::with_capacity(count.min(order.len()));
        for at in order.into_iter().take(count) {
            let mut open = vec![self.lines[at].clone()];
            while let Some(text) = open.pop() {
                let words: Vec<&str> = text.split_whitespace().collect();
                if words.len() < 2 || fits(&text)? {
                    drawn.push(Line { text, focus: Vec::new() });
                } else {
                    let (first, second) = words.split_at(words.len() / 2);
                    open.extend([second.join(" "), first.join(" ")]);
                }
            }
        }
        Ok(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_once_and_long_lines_are_split() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.txt");
        std::fs::write(&path, "one two\n\n three four five six seven \neight\n").unwrap();
        let text = OwnText::read(&path).unwrap();
        let draw = |count, most: usize| {
            let fits = |t: &str| Ok(t.split(' ').count() <= most);
            text.draw(count, 3, fits).unwrap().into_iter().map(|l| l.text).collect::<Vec<_>>()
        };
        let mut all = draw(9, 9);
        assert_eq!((all.len(), draw(2, 9)), (3, all[..2].to_vec()));
        all.sort();
        assert_eq!(all, ["eight", "one two", "three four five six seven"]);
        let parts = draw(9, 2);
        let at = parts.iter().position(|p| p == "three four").unwrap();
        assert_eq!(parts[at..at + 3], ["three four", "five", "six seven"]);
        std::fs::write(&path, " \n\n").unwrap();
        let printed = OwnText::read(&path).unwrap_err().to_string();
        assert!(printed.contains("own.txt") && printed.contains("one sentence per line"), "{printed}");
    }
}

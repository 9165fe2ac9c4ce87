//! Texts with more tokens than a model accepts.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::tokenizer::Encoding;

/// Treatment of texts with more tokens than the model accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Long {
    /// Drops them.
    #[default]
    Drop,
    /// Truncates them at the end.
    Truncate,
    /// Reads a window around the requested position; for sentence vectors, reads consecutive windows that cover the text.
    Window,
}

impl Long {
    /// All treatments, in menu order.
    pub const ALL: [Self; 3] = [Self::Drop, Self::Truncate, Self::Window];

    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Truncate => "truncate",
            Self::Window => "window",
        }
    }

    /// True for the default, which specs omit.
    pub fn is_drop(&self) -> bool {
        *self == Self::Drop
    }

    /// Description for a notice about long texts.
    pub fn done(self) -> &'static str {
        match self {
            Self::Drop => "are left out",
            Self::Truncate => "are cut at the end",
            Self::Window => "are read in windows",
        }
    }
}

impl Encoding {
    /// Splits the encoding for a model that accepts at most `most` tokens; each part includes the special tokens at both ends. Windows do
    /// not overlap, and their lengths differ by at most one token. A text that fits has one part, and a dropped text has none.
    pub fn parts(&self, most: usize, long: Long) -> Vec<Encoding> {
        let body = self.body();
        let room = most.saturating_sub(self.ids.len() - body.len());
        match long {
            _ if self.ids.len() <= most => vec![self.clone()],
            _ if room == 0 => Vec::new(),
            Long::Drop => Vec::new(),
            Long::Truncate => vec![self.part(body.start..body.start + room)],
            Long::Window => {
                let count = body.len().div_ceil(room);
                let at = |i: usize| body.start + body.len() * i / count;
                (0..count).map(|i| self.part(at(i)..at(i + 1))).collect()
            }
        }
    }

    /// Returns a part of at most `most` tokens, special tokens included, that contains the tokens `wanted` if they fit: the beginning of
    /// the text, or a window centred on them.
    pub fn around(&self, wanted: Range<usize>, most: usize, long: Long) -> Option<Cow<'_, Encoding>> {
        if self.ids.len() <= most {
            return Some(Cow::Borrowed(self));
        }
        let body = self.body();
        let room = most.saturating_sub(self.ids.len() - body.len());
        // Every part includes the special tokens at both ends.
        let (from, to) = (wanted.start.max(body.start), wanted.end.min(body.end));
        let needed = to.saturating_sub(from);
        let start = match long {
            Long::Drop => return None,
            Long::Truncate => body.start,
            Long::Window if from >= to => {
                if wanted.start < body.start {
                    body.start
                } else {
                    body.end - room
                }
            }
            Long::Window => from.saturating_sub(room.checked_sub(needed)? / 2).clamp(body.start, body.end - room),
        };
        let part = start..start + room;
        (needed <= room && (needed == 0 || (part.start <= from && to <= part.end))).then(|| Cow::Owned(self.part(part)))
    }

    /// Range of tokens between the special tokens that the tokenizer adds at both ends. Added tokens have zero length.
    pub fn body(&self) -> Range<usize> {
        let added = |i: &usize| self.is_special[*i] && self.offsets[*i].0 == self.offsets[*i].1;
        let all = self.ids.len();
        let before = (0..all).take_while(added).count();
        let behind = (before..all).rev().take_while(added).count();
        before..all - behind
    }

    /// Returns these tokens with the special tokens at both ends.
    fn part(&self, range: Range<usize>) -> Encoding {
        let body = self.body();
        let kept: Vec<usize> = (0..body.start).chain(range).chain(body.end..self.ids.len()).collect();
        Encoding {
            ids: kept.iter().map(|i| self.ids[*i]).collect(),
            tokens: kept.iter().map(|i| self.tokens[*i].clone()).collect(),
            offsets: kept.iter().map(|i| self.offsets[*i]).collect(),
            types: kept.iter().map(|i| self.types[*i]).collect(),
            is_special: kept.iter().map(|i| self.is_special[*i]).collect(),
            words: kept.iter().map(|i| self.words[*i]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoding `[CLS] 1 2 … n [SEP]`, with ids 100 and 101 at the ends.
    fn encoding(n: usize) -> Encoding {
        let ids: Vec<u32> = [vec![100], (1..=n as u32).collect(), vec![101]].concat();
        let all = ids.len();
        let special = |i: usize| i == 0 || i == all - 1;
        Encoding {
            tokens: ids.iter().map(u32::to_string).collect(),
            offsets: (0..all).map(|i| if special(i) { (0, 0) } else { (2 * i, 2 * i + 1) }).collect(),
            types: vec![0; all],
            words: vec![None; all],
            is_special: (0..all).map(special).collect(),
            ids,
        }
    }

    fn ids(parts: &[Encoding]) -> Vec<Vec<u32>> {
        parts.iter().map(|p| p.ids.clone()).collect()
    }

    #[test]
    fn long_text_is_dropped_truncated_or_windowed() {
        let e = encoding(7);
        assert_eq!(ids(&e.parts(9, Long::Drop)), std::slice::from_ref(&e.ids));
        assert!(e.parts(8, Long::Drop).is_empty());
        assert_eq!(ids(&e.parts(5, Long::Truncate)), [[100, 1, 2, 3, 101]]);
        let windows: [&[u32]; 3] = [&[100, 1, 2, 101], &[100, 3, 4, 101], &[100, 5, 6, 7, 101]];
        assert_eq!(ids(&e.parts(5, Long::Window)), windows);
        assert!(e.parts(2, Long::Window).is_empty(), "a part needs at least one token of the text");
    }

    #[test]
    fn window_is_centred_on_the_position() {
        let e = encoding(9);
        let around = |at: usize, long| e.around(at..at + 1, 5, long).map(|p| p.ids.clone());
        assert_eq!(around(5, Long::Window), Some(vec![100, 4, 5, 6, 101]));
        assert_eq!(around(1, Long::Window), Some(vec![100, 1, 2, 3, 101]));
        assert_eq!(around(9, Long::Window), Some(vec![100, 7, 8, 9, 101]));
        assert_eq!(
            around(0, Long::Window),
            Some(vec![100, 1, 2, 3, 101]),
            "the first part includes the special token before it"
        );
        assert_eq!(
            around(10, Long::Window),
            Some(vec![100, 7, 8, 9, 101]),
            "the last part includes the special token after it"
        );
        assert_eq!(around(3, Long::Truncate), Some(vec![100, 1, 2, 3, 101]));
        assert_eq!(around(4, Long::Truncate), None);
        assert_eq!(around(1, Long::Drop), None);
        assert_eq!(e.around(2..7, 5, Long::Window), None, "five tokens and the special tokens do not fit");
        assert_eq!(e.around(2..5, 5, Long::Window).unwrap().ids, [100, 2, 3, 4, 101]);
    }
}

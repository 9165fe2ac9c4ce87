//! GloVe and word2vec text files, which are recognised, counted and described. The model crate's reader of word vectors parses the values.

use memchr::memchr_iter;

use super::error::{DropKind, Unread};
use super::format::{Emit, Format, Framing, Head, Parse};
use super::row::{Row, Vector};

/// Lines with a word and its coordinates, separated by spaces. The first line of a word2vec file contains the numbers of words and
/// coordinates.
pub(crate) const FORMAT: Format = Format {
    id: "vectors",
    title: "GloVe or word2vec text (described, not read)",
    columns: &["word", "coordinates"],
    framing: Framing::Lines,
    recognise: |head| dimension(head).is_some(),
    parser: |head, _| {
        let dimension = dimension(head).unwrap_or_default();
        Ok(Box::new(Vectors { dimension, counts: counts(head).is_some() }))
    },
};

/// Minimum number of coordinates; shorter lines could be any text with numbers.
const LEAST: usize = 10;

struct Vectors {
    dimension: usize,
    /// True until the first line with the numbers of words and coordinates has been read.
    counts: bool,
}

/// Parses the first line of word2vec text (rows, dimension) and returns the dimension.
fn counts(head: &Head<'_>) -> Option<usize> {
    let (rows, dimension) = head.lines.first()?.trim_end().split_once(' ')?;
    rows.parse::<u64>().ok()?;
    dimension.parse().ok()
}

fn dimension(head: &Head<'_>) -> Option<usize> {
    let first = usize::from(counts(head).is_some());
    let line = head.lines.get(first)?;
    let values = line.trim_end().rsplit(' ').take_while(|v| v.parse::<f32>().is_ok()).count();
    let words = line.trim_end().split(' ').count();
    let dimension = values.min(words - 1);
    let stated = counts(head).is_none_or(|d| d == dimension);
    let fits = |l: &&str| l.trim_end().split(' ').count() > dimension;
    (dimension >= LEAST && stated && head.lines.iter().skip(first).all(fits)).then_some(dimension)
}

impl Parse for Vectors {
    fn piece(&mut self, line: &str, emit: &mut Emit<'_>) -> Result<(), Unread> {
        if std::mem::take(&mut self.counts) {
            return Ok(());
        }
        let line = line.trim_end();
        // Some words in GloVe contain spaces, so coordinates are counted from the end.
        let blanks = memchr_iter(b' ', line.as_bytes()).count();
        let cut = blanks.checked_sub(self.dimension).and_then(|k| memchr_iter(b' ', line.as_bytes()).nth(k));
        let Some(cut) = cut else {
            let what = format!("{} values; expected a word and {} values", blanks, self.dimension);
            return Err(Unread::new(DropKind::Fields, what));
        };
        let last = line.rsplit(' ').next().unwrap_or_default();
        if last.parse::<f32>().is_err() {
            return Err(Unread::new(DropKind::Value, format!("`{last}` at the end; expected a number")));
        }
        emit(Row::Vector(Vector { word: line[..cut].into(), dimension: self.dimension as u32 }));
        Ok(())
    }
}

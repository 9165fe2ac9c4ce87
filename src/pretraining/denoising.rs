//! Training input of a denoising model (BART): noise on both sides, so that answers have to pass through the encoder.
//!
//! A decoder that always reads the true beginning of the line can say nearly every word from that alone: a subject
//! comes before its verb, and every prompt ends in its object. The model then becomes a causal one that ignores its
//! encoder. Hence a line is prepared in one of four ways, and the decoder must always write the original line:
//!
//! - *infilled*: the encoder reads one mask for a span of words, as in Lewis et al. (2020), section 2.2, and the decoder the
//!   true line. Text to the right of the span helps to restore it, and only the encoder sees that.
//! - *hidden*: most words of the decoder's input are masks (the word dropout of Bowman et al. 2016), the focus
//!   without exception. There is little to say the line from but the encoder.
//! - *swapped*: the decoder reads the beginning of another line, the one in the batch that is most like its own: the same
//!   prompt with another subject, the same clause with a subject of the other number. Where the two sides contradict each
//!   other, the encoder is right. The decoder of scheduled sampling (Bengio et al. 2015) reads wrong words to the same end;
//!   there they are its own.
//! - *plain*: the decoder reads the true line. So it does when it is asked: everything before the gap, which the encoder reads
//!   as well.
//!
//! In all but the first the encoder reads the words masked one by one, at their places, as it does when it is asked.

use rand_chacha::ChaCha8Rng;

use super::text::Row;
use stats::rng::{below, unit};

/// Share of the lines with an infilled span.
pub const INFILLED: f64 = 0.15;
/// Mean length of a span in tokens (Lewis et al. 2020). A span takes half of the words at most.
pub(crate) const SPAN: f64 = 3.0;
/// Share of the lines that reach the decoder with words masked.
pub const DECODER_MASKED: f64 = 0.50;
/// Share of the words masked there, in addition to the focus: 61 % of these lines keep nothing of a subject of three tokens.
pub(crate) const DECODER_HIDDEN: f64 = 0.85;
/// Share of the lines that reach the decoder with the words of another line.
pub const DECODER_SWAPPED: f64 = 0.20;

/// Shares of the lines that are prepared in each way; the rest is plain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// With an infilled span.
    pub(crate) infilled: f64,
    /// With most words hidden from the decoder.
    pub hidden: f64,
    /// With the words of another line in the decoder.
    pub swapped: f64,
}

impl Noise {
    /// All lines plain.
    pub const NONE: Self = Self { infilled: 0.0, hidden: 0.0, swapped: 0.0 };
}

impl Default for Noise {
    fn default() -> Self {
        Self { infilled: INFILLED, hidden: DECODER_MASKED, swapped: DECODER_SWAPPED }
    }
}

/// Preparation of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Infilled,
    Hidden,
    Swapped,
    Plain,
}

impl Noise {
    pub(super) fn draw(self, rng: &mut ChaCha8Rng) -> Way {
        let mut left = unit(rng);
        for (way, share) in [(Way::Infilled, self.infilled), (Way::Hidden, self.hidden), (Way::Swapped, self.swapped)] {
            if left < share {
                return way;
            }
            left -= share;
        }
        Way::Plain
    }
}

/// A line's ids with one mask for a span of its words: a uniform start, a length from Poisson's distribution. A length of 0
/// puts a mask between two words, as Lewis et al. do.
pub(super) fn infilled(row: &Row, mask: u32, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut ids = row.ids.clone();
    let words: Vec<usize> = (0..ids.len()).filter(|&p| row.words[p]).collect();
    if words.is_empty() {
        return ids;
    }
    let from = words[below(rng, words.len() as u32) as usize];
    let length = poisson(SPAN, rng).min(words.len() / 2);
    let run = row.words[from..].iter().take(length).take_while(|w| **w).count();
    ids.splice(from..from + run, [mask]);
    ids
}

/// A deviate from Poisson's distribution (Knuth's method: uniform factors until their product falls below e^-mean).
fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> usize {
    let limit = (-mean).exp();
    let mut product = unit(rng);
    let mut n = 0;
    while product > limit {
        product *= unit(rng);
        n += 1;
    }
    n
}

/// The decoder's input, which it reads shifted right.
pub(super) fn believed(rows: &[Row], which: usize, way: Way, mask: u32, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let row = &rows[which];
    match way {
        Way::Infilled | Way::Plain => row.ids.clone(),
        Way::Hidden => hidden(row, mask, rng),
        // A line with a unique length cannot be swapped.
        Way::Swapped => neighbor(rows, which).map_or_else(|| hidden(row, mask, rng), |other| other.ids.clone()),
    }
}

fn hidden(row: &Row, mask: u32, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let kept = |p: usize, rng: &mut ChaCha8Rng| !row.words[p] || (!row.focus[p] && unit(rng) >= DECODER_HIDDEN);
    row.ids.iter().enumerate().map(|(p, &id)| if kept(p, rng) { id } else { mask }).collect()
}

/// The row of the same length that shares the most tokens, place by place, among the rows that differ before the focus:
/// a later difference would not be read before the answer.
fn neighbor(rows: &[Row], which: usize) -> Option<&Row> {
    let row = &rows[which];
    let before = row.focus.iter().position(|f| *f).unwrap_or(row.ids.len());
    rows.iter()
        .filter(|r| r.ids.len() == row.ids.len() && r.words == row.words && r.ids[..before] != row.ids[..before])
        .min_by_key(|r| r.ids.iter().zip(&row.ids).filter(|(a, b)| a != b).count())
}

#[cfg(test)]
#[path = "denoising_tests.rs"]
mod tests;

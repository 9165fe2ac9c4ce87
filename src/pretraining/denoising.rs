//! Training input for denoising models (BART), with noise in encoder and decoder so that answers depend on the encoder.
//!
//! A decoder that always reads the true beginning of the line can predict nearly every word from it: a subject comes before its verb, and
//! every prompt ends in its object. It would become a causal model that ignores the encoder. Each line is therefore prepared in one of four
//! ways, and the decoder must always predict the original line:
//!
//! - *infilled*: the encoder reads one mask for a span of words, as in Lewis et al. (2020), section 2.2, and the decoder reads the true
//!   line. Only the encoder sees the text to the right of the span, which helps to restore it.
//! - *hidden*: most words of the decoder's input are masked (word dropout, Bowman et al. 2016), always including the focus. The line can
//!   then be predicted from little except the encoder.
//! - *swapped*: the decoder reads the most similar other line of the batch: the same prompt with another subject, or the same clause with a
//!   subject of the other number. Where encoder and decoder inputs contradict each other, the encoder's is right. Scheduled sampling
//!   (Bengio et al. 2015) also feeds the decoder wrong words for this purpose, but takes them from the decoder's own predictions.
//! - *plain*: the decoder reads the true line. This is also the situation when the model answers questions: like the encoder, the decoder
//!   reads everything before the gap.
//!
//! In all ways but the first, the encoder reads the line with single masks in place of masked words, as when it answers questions.

use rand_chacha::ChaCha8Rng;

use super::text::Row;
use stats::rng::{below, unit};

/// Share of lines with an infilled span.
pub const INFILLED: f64 = 0.15;
/// Mean span length in tokens (Lewis et al. 2020). A span covers at most half of the words.
pub(crate) const SPAN: f64 = 3.0;
/// Share of lines whose words are masked in the decoder's input.
pub const DECODER_MASKED: f64 = 0.50;
/// Share of words other than the focus that are masked in a masked decoder input. A subject of three tokens is masked completely with
/// probability 0.61.
pub(crate) const DECODER_HIDDEN: f64 = 0.85;
/// Share of lines whose decoder input is a different line.
pub const DECODER_SWAPPED: f64 = 0.20;

/// Shares of lines by preparation; the rest is plain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Share of lines with an infilled span.
    pub(crate) infilled: f64,
    /// Share of lines with most words hidden from the decoder.
    pub hidden: f64,
    /// Share of lines whose decoder input is a different line.
    pub swapped: f64,
}

impl Noise {
    /// No noise: all lines are plain.
    pub const NONE: Self = Self { infilled: 0.0, hidden: 0.0, swapped: 0.0 };
}

impl Default for Noise {
    fn default() -> Self {
        Self { infilled: INFILLED, hidden: DECODER_MASKED, swapped: DECODER_SWAPPED }
    }
}

/// Ways of preparing a line.
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

/// Replaces a span of words with one mask, with a uniform start and a Poisson length. A length of 0 inserts a mask between two words, as in
/// Lewis et al.
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

/// Draws from a Poisson distribution with Knuth's method: multiplies uniform numbers until the product falls below e^-mean.
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

/// Returns the decoder's input before it is shifted right.
pub(super) fn believed(rows: &[Row], which: usize, way: Way, mask: u32, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let row = &rows[which];
    match way {
        Way::Infilled | Way::Plain => row.ids.clone(),
        Way::Hidden => hidden(row, mask, rng),
        // A line whose length is unique in the batch cannot be swapped.
        Way::Swapped => neighbor(rows, which).map_or_else(|| hidden(row, mask, rng), |other| other.ids.clone()),
    }
}

fn hidden(row: &Row, mask: u32, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let kept = |p: usize, rng: &mut ChaCha8Rng| !row.words[p] || (!row.focus[p] && unit(rng) >= DECODER_HIDDEN);
    row.ids.iter().enumerate().map(|(p, &id)| if kept(p, rng) { id } else { mask }).collect()
}

/// Returns the most similar row of the same length: the one with the most tokens in common at the same positions. Rows that differ only
/// after the focus do not count, because the decoder would read the difference only after the answer.
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

//! The tokens behind hidden states.

use std::ops::Range;

use base::matrix::Matrix;
use model::array::Array;

use super::store::{Key, key};

/// The tokens behind one hidden state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Spot {
    /// A single token.
    At(usize),
    /// The mean of the first tokens; the value is their number.
    Mean(usize),
    /// Each token separately. `drawn` is the token of this row; in a row for the whole text, a digest of the tokens chooses it.
    Each { drawn: usize, all: Range<usize> },
}

impl Spot {
    /// The tokens that are averaged.
    pub fn averaged(&self) -> Range<usize> {
        match self {
            Spot::At(at) | Spot::Each { drawn: at, .. } => *at..at + 1,
            Spot::Mean(all) => 0..*all,
        }
    }

    /// Up to `most` of the tokens that are taken separately, ascending: a systematic sample that starts at `drawn`, in which all tokens
    /// are equally likely. `None` for a single state.
    pub(crate) fn sample(&self, most: usize) -> Option<Vec<usize>> {
        let Spot::Each { drawn, all } = self else { return None };
        let (count, len) = (most.clamp(1, all.len().max(1)), all.len().max(1));
        let mut tokens: Vec<usize> =
            (0..count).map(|k| all.start + (drawn - all.start + k * len / count) % len).collect();
        tokens.sort_unstable();
        Some(tokens)
    }

    /// The same spot with `token` as the token of its row.
    pub(crate) fn at_token(&self, token: usize) -> Self {
        match self {
            Spot::Each { all, .. } => Spot::Each { drawn: token, all: all.clone() },
            other => other.clone(),
        }
    }

    /// The cache key of the state. A mean has the key of a pooled sentence.
    pub(crate) fn key(&self, ids: &[u32]) -> Key {
        match self {
            Spot::At(at) | Spot::Each { drawn: at, .. } => key(ids, *at),
            Spot::Mean(_) => key(ids, usize::MAX),
        }
    }
}

/// Tokens to read in a batch.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// `(row of the batch, position)` of each token.
    pub sites: Vec<(usize, usize)>,
    /// The row of the result to which each token belongs.
    owners: Vec<usize>,
}

impl Reading {
    /// Adds `tokens` of row `k` of the batch, for row `owner` of the result.
    pub(crate) fn add(&mut self, k: usize, tokens: Range<usize>, owner: usize) {
        for token in tokens {
            self.sites.push((k, token));
            self.owners.push(owner);
        }
    }

    /// Writes the mean of each row's vectors to its row of `out`. `vectors` follow the order of the sites.
    pub fn average(&self, vectors: &Array, out: &mut Matrix) {
        let mut from = 0;
        for owned in self.owners.chunk_by(|a, b| a == b) {
            let row = out.row_mut(owned[0]);
            if owned.len() == 1 {
                row.copy_from_slice(vectors.row(from));
            } else {
                let weight = 1.0 / owned.len() as f32;
                for i in from..from + owned.len() {
                    row.iter_mut().zip(vectors.row(i)).for_each(|(sum, v)| *sum += weight * v);
                }
            }
            from += owned.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample has distinct tokens of the text, and over all starts every token is drawn equally often.
    #[test]
    fn tokens_are_sampled_equally_often() {
        for (len, most) in [(1, 4), (3, 4), (9, 1), (9, 4), (9, 9), (10, 4)] {
            let all = 2..2 + len;
            let mut drawn = vec![0; len];
            for start in all.clone() {
                let tokens = Spot::Each { drawn: start, all: all.clone() }.sample(most).unwrap();
                assert_eq!(tokens.len(), most.min(len));
                assert!(tokens.windows(2).all(|w| w[0] < w[1]) && tokens.iter().all(|t| all.contains(t)), "{tokens:?}");
                assert!(most > 1 || tokens == [start]);
                tokens.iter().for_each(|t| drawn[t - 2] += 1);
            }
            assert!(drawn.iter().all(|n| *n == most.min(len)), "{len} {most}: {drawn:?}");
        }
        assert_eq!(Spot::At(3).sample(4), None);
    }
}

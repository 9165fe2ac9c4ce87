//! Sentences whose tokens carry scores.

/// Sentences whose tokens carry signed scores. Strips are stacked, aligned token to token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tokens {
    /// The sentences.
    pub strips: Vec<Strip>,
    /// Pairs of tokens (place in a strip at an even position, place in one at an odd position) that are
    /// aligned, as original and perturbed input. None: token under token.
    pub pairs: Vec<(usize, usize)>,
    /// Score of the fullest colour, either sign; none means the largest score drawn.
    pub bound: Option<f64>,
    /// Label of the colour scale: what the scores are.
    pub label: String,
}

/// A sentence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Strip {
    /// Its name, before its first token.
    pub label: String,
    pub tokens: Vec<Token>,
    /// Reason for doubting its scores, such as an integral that misses its tolerance: the strip is then hatched. `None`
    /// without doubt.
    pub doubt: Option<String>,
}

/// A token with its score.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Token {
    pub text: String,
    /// Its signed score; none is drawn without a colour.
    pub score: Option<f64>,
    /// True if it belongs to the gold rationale: underlined.
    pub gold: bool,
    /// True if it is among the K highest scores: marked.
    pub top: bool,
}

impl Tokens {
    /// The columns of the tokens: for each column, the place of its token in every strip. A pair that would
    /// cross an earlier one is left out, so that the order of each sentence stays.
    pub fn columns(&self) -> Vec<Vec<Option<usize>>> {
        let length = |odd: usize| {
            let strips = self.strips.iter().enumerate().filter(|(k, _)| k % 2 == odd);
            strips.map(|(_, s)| s.tokens.len()).max().unwrap_or(0)
        };
        let (even, odd) = (length(0), length(1));
        let mut pairs = self.pairs.clone();
        if pairs.is_empty() {
            pairs = (0..even.min(odd)).map(|k| (k, k)).collect();
        }
        pairs.sort_unstable();
        let mut columns: Vec<(Option<usize>, Option<usize>)> = Vec::new();
        let (mut a, mut b) = (0, 0);
        for (i, j) in pairs.into_iter().chain([(even, odd)]) {
            if i < a || j < b || i > even || j > odd {
                continue;
            }
            columns.extend((a..i).map(|k| (Some(k), None)));
            columns.extend((b..j).map(|k| (None, Some(k))));
            if i < even && j < odd {
                columns.push((Some(i), Some(j)));
            }
            (a, b) = (i + 1, j + 1);
        }
        let place = |k: usize, (even, odd): (Option<usize>, Option<usize>)| {
            let at = if k.is_multiple_of(2) { even } else { odd };
            at.filter(|at| *at < self.strips[k].tokens.len())
        };
        columns.into_iter().map(|c| (0..self.strips.len()).map(|k| place(k, c)).collect()).collect()
    }

    /// Reasons for doubting scores, each once, in the order of the strips.
    pub fn doubts(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for doubt in self.strips.iter().filter_map(|s| s.doubt.as_deref()) {
            if !out.contains(&doubt) {
                out.push(doubt);
            }
        }
        out
    }

    /// The score of the fullest colour: above zero, finite.
    pub fn largest(&self) -> f64 {
        let scores = self.strips.iter().flat_map(|s| &s.tokens).filter_map(|t| t.score);
        let found = scores.map(f64::abs).filter(|s| s.is_finite()).fold(0.0, f64::max);
        let bound = self.bound.filter(|b| b.is_finite() && *b > 0.0).unwrap_or(found);
        if bound > 0.0 { bound } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(lengths: &[usize], pairs: &[(usize, usize)]) -> Tokens {
        let strip = |n: &usize| Strip { tokens: vec![Token::default(); *n], ..Strip::default() };
        Tokens { strips: lengths.iter().map(strip).collect(), pairs: pairs.to_vec(), ..Tokens::default() }
    }

    #[test]
    fn tokens_stand_under_their_partners_and_keep_their_order() {
        assert_eq!(
            tokens(&[2, 3], &[(0, 0), (1, 2)]).columns(),
            [vec![Some(0), Some(0)], vec![None, Some(1)], vec![Some(1), Some(2)]]
        );
        assert_eq!(tokens(&[2], &[]).columns(), [vec![Some(0)], vec![Some(1)]]);
        assert_eq!(tokens(&[1, 2], &[]).columns(), [vec![Some(0), Some(0)], vec![None, Some(1)]]);
        // A crossing pair, a repeated one and one that does not exist.
        let columns = tokens(&[3, 3], &[(0, 2), (1, 0), (1, 0), (9, 1), (2, 2)]).columns();
        for k in 0..2 {
            let seen: Vec<usize> = columns.iter().filter_map(|c| c[k]).collect();
            assert_eq!(seen, [0, 1, 2], "{columns:?}");
        }
    }
}

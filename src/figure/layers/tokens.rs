//! Layer of sentences with scored tokens.

/// Sentences with a signed score per token, stacked and aligned by token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tokens {
    pub strips: Vec<Strip>,
    /// Pairs of aligned tokens of an original and a perturbed input: indices into an even-numbered strip and the odd-numbered one below it.
    /// If empty, tokens are aligned by position.
    pub pairs: Vec<(usize, usize)>,
    /// Absolute score shown in the strongest colour; `None` for the largest score drawn.
    pub bound: Option<f64>,
    /// Label of the colour scale, which explains the scores.
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Strip {
    /// Name, drawn before the first token.
    pub label: String,
    pub tokens: Vec<Token>,
    /// Reason to doubt the scores, such as an integral outside its tolerance; the strip is then hatched.
    pub doubt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Token {
    pub text: String,
    /// Signed score; with `None`, the token has no colour.
    pub score: Option<f64>,
    /// True if the token is in the gold rationale; it is then underlined.
    pub gold: bool,
    /// True if the score is among the K highest; the token is then marked.
    pub top: bool,
}

impl Tokens {
    /// Aligns the tokens: for each column, the index of its token in every strip. Pairs that cross earlier ones are ignored, so that each
    /// sentence stays in order.
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

    /// Distinct reasons for doubt, in strip order.
    pub fn doubts(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for doubt in self.strips.iter().filter_map(|s| s.doubt.as_deref()) {
            if !out.contains(&doubt) {
                out.push(doubt);
            }
        }
        out
    }

    /// The score shown in the strongest colour, positive and finite.
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
        let columns = tokens(&[3, 3], &[(0, 2), (1, 0), (1, 0), (9, 1), (2, 2)]).columns();
        for k in 0..2 {
            let seen: Vec<usize> = columns.iter().filter_map(|c| c[k]).collect();
            assert_eq!(seen, [0, 1, 2], "{columns:?}");
        }
    }
}

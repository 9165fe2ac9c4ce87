//! The one-standard-error rule for choosing among trained probes.
//!
//! The best validation accuracy of a grid is itself an estimate. Settings within one binomial standard error of it are indistinguishable on
//! the validation examples. The rule chooses the simplest of them: fewest parameters, then the lowest learning rate, then the earliest
//! validation (after Breiman et al. 1984, section 3.4.3). The common alternative, ties broken by the lowest loss, chooses the most
//! saturated probe, and every score then depends on its overconfidence.

/// A setting's input to the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry<'a> {
    /// Number of weights and biases.
    pub parameters: usize,
    pub learning_rate: f64,
    /// Number of correct validation answers at each validation; empty if training diverged.
    pub correct: &'a [usize],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The highest number of correct answers of any setting at any validation.
    pub best: usize,
    /// Index of the chosen setting.
    pub recipe: usize,
    /// Index of its chosen validation.
    pub epoch: usize,
    /// All (setting, validation) pairs within one standard error, ordered by setting, then validation.
    pub candidates: Vec<(usize, usize)>,
}

/// True if `correct` of `n` answers are within one standard error `sqrt(p (1 - p)/n)` of the `best` share p. Compared in integers, so that
/// settings exactly on the threshold are included.
pub(crate) fn within_one_standard_error(correct: usize, best: usize, n: usize) -> bool {
    let [short, best, n] = [best.saturating_sub(correct), best, n].map(|v| v as u128);
    short * short * n <= best * n.saturating_sub(best)
}

/// Chooses among `entries`, all validated on the same `n` examples. `None` if there was no validation.
pub fn choose(entries: &[Entry<'_>], n: usize) -> Option<Choice> {
    let best = entries.iter().flat_map(|e| e.correct).copied().max()?;
    let mut candidates = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        let equal = |c: &usize| within_one_standard_error(*c, best, n);
        candidates.extend((0..entry.correct.len()).filter(|e| equal(&entry.correct[*e])).map(|e| (i, e)));
    }
    let (recipe, epoch) = candidates.iter().copied().min_by(|a, b| order(entries, *a, *b))?;
    Some(Choice { best, recipe, epoch, candidates })
}

/// The order of preference: the simpler first.
fn order(entries: &[Entry<'_>], a: (usize, usize), b: (usize, usize)) -> std::cmp::Ordering {
    let (x, y) = (&entries[a.0], &entries[b.0]);
    let size = x.parameters.cmp(&y.parameters);
    size.then(x.learning_rate.total_cmp(&y.learning_rate)).then(a.1.cmp(&b.1)).then(a.0.cmp(&b.0))
}

impl Choice {
    /// The other settings among the candidates, each at its earliest such validation, the simplest first.
    pub fn rivals(&self, entries: &[Entry<'_>]) -> Vec<(usize, usize)> {
        let mut earliest: Vec<(usize, usize)> = Vec::new();
        for candidate in self.candidates.iter().filter(|c| c.0 != self.recipe) {
            if earliest.last().is_none_or(|last| last.0 != candidate.0) {
                earliest.push(*candidate);
            }
        }
        earliest.sort_by(|a, b| order(entries, *a, *b));
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(parameters: usize, learning_rate: f64, correct: &[usize]) -> Entry<'_> {
        Entry { parameters, learning_rate, correct }
    }

    #[test]
    fn simplest_tied_setting_is_chosen_with_its_rivals() {
        // 80 of 100: the standard error is 4, so 76 counts as equal and 75 does not.
        let all = [
            entry(9, 1e-2, &[80, 70]),
            entry(5, 1e-2, &[10, 76]),
            entry(5, 1e-3, &[75, 77, 80]),
            entry(1, 1e-3, &[75]),
        ];
        let choice = choose(&all, 100).unwrap();
        assert_eq!((choice.best, choice.recipe, choice.epoch), (80, 2, 1));
        assert_eq!(choice.candidates, [(0, 0), (1, 1), (2, 1), (2, 2)]);
        assert_eq!(choice.rivals(&all), [(1, 1), (0, 0)]);
    }

    #[test]
    fn diverged_settings_are_never_chosen() {
        assert_eq!(choose(&[entry(1, 0.1, &[]), entry(2, 0.1, &[0])], 5).unwrap().recipe, 1);
        assert_eq!(choose(&[entry(1, 0.1, &[])], 5), None);
    }

    proptest! {
        #[test]
        fn order_does_not_matter(counts in proptest::collection::vec(0usize..=50, 1..12), turn in 0usize..12) {
            let lists: Vec<[usize; 1]> = counts.iter().map(|c| [*c]).collect();
            let table: Vec<Entry> = lists.iter().enumerate().map(|(i, c)| entry(100 - i, 0.1, c)).collect();
            let mut turned = table.clone();
            turned.rotate_left(turn % table.len());
            let (a, b) = (choose(&table, 50).unwrap(), choose(&turned, 50).unwrap());
            prop_assert_eq!(table[a.recipe], turned[b.recipe]);
            prop_assert!(within_one_standard_error(counts[a.recipe], a.best, 50));
        }
    }
}

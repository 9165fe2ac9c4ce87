//! The best and the worst of several alternatives, chosen on the items on which they are evaluated or on other items.
//!
//! Alternatives (such as prompts) are compared on items (such as facts) by their right answers. By chance alone, the best of several equal
//! alternatives looks too good and the worst too bad. [`Answers::by_all`] has this bias, [`Answers::by_others`] does not, and
//! [`gap_by_chance`] measures it.

use super::Estimate;
use super::bootstrap::interval;
use super::rng::{shuffle, stream};

/// Right and wrong answers by item and alternative, with items in two halves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// One row per item, one column per alternative.
    rows: Vec<Vec<bool>>,
    /// True for items of the first half.
    first: Vec<bool>,
    alternatives: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extremes {
    /// Index of the alternative with the most right answers; the first on ties.
    pub best: usize,
    /// Index of the alternative with the fewest right answers; the first on ties.
    pub worst: usize,
}

impl Answers {
    pub fn new(alternatives: usize) -> Self {
        Self { rows: Vec::new(), first: Vec::new(), alternatives }
    }

    /// Adds an item.
    ///
    /// # Panics
    /// If `right` does not have one answer per alternative.
    pub fn add(&mut self, right: Vec<bool>, in_first_half: bool) {
        assert_eq!(right.len(), self.alternatives, "an item needs one answer per alternative");
        self.rows.push(right);
        self.first.push(in_first_half);
    }

    pub fn items(&self) -> usize {
        self.rows.len()
    }

    /// True if the item was answered correctly under the alternative.
    ///
    /// # Panics
    /// If the item or alternative does not exist.
    pub fn is_right(&self, item: usize, alternative: usize) -> bool {
        self.rows[item][alternative]
    }

    /// Counts each alternative's right answers on the items that satisfy `is_in`, and the number of those items.
    fn hits(&self, is_in: impl Fn(usize) -> bool) -> (Vec<u32>, usize) {
        let mut hits = vec![0; self.alternatives];
        let mut items = 0;
        for row in (0..self.rows.len()).filter(|i| is_in(*i)).map(|i| &self.rows[i]) {
            hits.iter_mut().zip(row).for_each(|(h, right)| *h += u32::from(*right));
            items += 1;
        }
        (hits, items)
    }

    /// Chooses the best and the worst alternative on all items; `None` without items or alternatives.
    pub fn by_all(&self) -> Option<Extremes> {
        let (hits, items) = self.hits(|_| true);
        if items > 0 { extremes(&hits) } else { None }
    }

    /// Chooses the best and the worst alternative for each item, on the half that does not contain the item; `None` if that half is empty.
    pub fn by_others(&self) -> Vec<Option<Extremes>> {
        let [first, second] = [true, false].map(|half| {
            let (hits, items) = self.hits(|i| self.first[i] == half);
            if items > 0 { extremes(&hits) } else { None }
        });
        self.first.iter().map(|in_first| if *in_first { second } else { first }).collect()
    }
}

fn extremes(hits: &[u32]) -> Option<Extremes> {
    let mut found = Extremes { best: 0, worst: 0 };
    for (k, h) in hits.iter().enumerate() {
        if *h > hits[found.best] {
            found.best = k;
        }
        if *h < hits[found.worst] {
            found.worst = k;
        }
    }
    (!hits.is_empty()).then_some(found)
}

/// The gap between best and worst alternative (chosen on all items, pooled over groups) that chance alone produces: mean and central
/// `level` interval over `permutations`. Each permutation shuffles the answers within every item, which preserves the items' difficulty.
/// NaN without items or permutations.
pub fn gap_by_chance(groups: &[Answers], permutations: usize, level: f64, seed: u64) -> Estimate {
    let items: usize = groups.iter().map(Answers::items).sum();
    let mut rng = stream(seed, "gap by chance");
    let mut row = Vec::new();
    let gaps: Vec<u64> = (0..permutations)
        .map(|_| {
            let mut gap = 0;
            for group in groups {
                let mut hits = vec![0u32; group.alternatives];
                for answers in &group.rows {
                    row.clone_from(answers);
                    shuffle(&mut rng, &mut row);
                    hits.iter_mut().zip(&row).for_each(|(h, right)| *h += u32::from(*right));
                }
                gap += extremes(&hits).map_or(0, |e| u64::from(hits[e.best] - hits[e.worst]));
            }
            gap
        })
        .collect();
    // Integer arithmetic up to the last division keeps the mean of equal gaps exact.
    let mean = gaps.iter().sum::<u64>() as f64 / (permutations * items) as f64;
    if mean.is_nan() {
        return Estimate { mean, lo: mean, hi: mean };
    }
    interval(mean, gaps.into_iter().map(|g| g as f64 / items as f64).collect(), level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::unit;
    use proptest::prelude::*;

    /// Items that are answered correctly under alternative k with probability `p[k]`.
    fn drawn(p: &[f64], items: usize, seed: u64) -> Answers {
        let mut rng = stream(seed, "choice test");
        let mut answers = Answers::new(p.len());
        for i in 0..items {
            answers.add(p.iter().map(|p| unit(&mut rng) < *p).collect(), i % 2 == 0);
        }
        answers
    }

    fn gap_by_all(groups: &[Answers]) -> f64 {
        let one = |a: &Answers| {
            let e = a.by_all().unwrap();
            let hits = |k| (0..a.items()).filter(|i| a.is_right(*i, k)).count() as f64;
            hits(e.best) - hits(e.worst)
        };
        groups.iter().map(one).sum::<f64>() / groups.iter().map(Answers::items).sum::<usize>() as f64
    }

    fn gap_by_others(groups: &[Answers]) -> f64 {
        let one = |a: &Answers| -> f64 {
            let of = |i: usize, e: &Extremes| {
                f64::from(u8::from(a.is_right(i, e.best))) - f64::from(u8::from(a.is_right(i, e.worst)))
            };
            a.by_others().iter().enumerate().map(|(i, e)| of(i, e.as_ref().unwrap())).sum()
        };
        groups.iter().map(one).sum::<f64>() / groups.iter().map(Answers::items).sum::<usize>() as f64
    }

    #[test]
    fn best_and_worst_are_chosen_on_the_other_half() {
        let mut a = Answers::new(3);
        for (right, first) in [([true, false, true], true), ([true, false, false], true), ([false, true, false], false)]
        {
            a.add(right.to_vec(), first);
        }
        assert_eq!(a.by_all(), Some(Extremes { best: 0, worst: 1 }));
        let (by_first, by_second) = (Extremes { best: 0, worst: 1 }, Extremes { best: 1, worst: 0 });
        assert_eq!(a.by_others(), [Some(by_second), Some(by_second), Some(by_first)]);
        let mut alone = Answers::new(2);
        alone.add(vec![true, false], true);
        assert_eq!(alone.by_others(), [None]);
        assert_eq!((Answers::new(2).by_all(), Answers::new(0).by_all()), (None, None));
    }

    /// Six equal prompts at .87 on 57 facts show a gap of eleven points by chance, and none on other facts.
    #[test]
    fn equal_alternatives_have_no_gap_on_held_out_items() {
        let groups: Vec<Answers> = (0..40).map(|s| drawn(&[0.87; 6], 57, s)).collect();
        let chance = gap_by_chance(&groups, 200, 0.95, 0);
        let same = gap_by_all(&groups);
        assert!((0.10..0.12).contains(&chance.mean), "{chance:?}");
        assert!((same - chance.mean).abs() < 0.015, "{same} {chance:?}");
        assert!(gap_by_others(&groups).abs() < 0.02, "{}", gap_by_others(&groups));
    }

    #[test]
    fn unequal_alternatives_are_significant() {
        let groups: Vec<Answers> = (0..20).map(|s| drawn(&[0.9, 0.7, 0.5], 40, s)).collect();
        let chance = gap_by_chance(&groups, 200, 0.95, 0);
        let crossed = gap_by_others(&groups);
        assert!((0.33..0.46).contains(&crossed) && crossed > chance.hi, "{crossed} {chance:?}");
    }

    #[test]
    fn empty_permutation_gives_nan() {
        assert!(gap_by_chance(&[], 10, 0.95, 0).mean.is_nan());
        assert!(gap_by_chance(&[drawn(&[0.5; 2], 9, 0)], 0, 0.95, 0).mean.is_nan());
    }

    proptest! {
        #[test]
        fn chance_is_deterministic_and_a_probability(
            p in proptest::collection::vec(0.0f64..1.0, 1..6), items in 1usize..20, seed: u64,
        ) {
            let groups = [drawn(&p, items, seed), drawn(&p, 2 * items, seed ^ 1)];
            let chance = gap_by_chance(&groups, 20, 0.9, seed);
            prop_assert_eq!(chance, gap_by_chance(&groups, 20, 0.9, seed));
            prop_assert!(0.0 <= chance.lo && chance.lo <= chance.hi && chance.hi <= 1.0);
            prop_assert!((0.0..=1.0).contains(&chance.mean));
            // Choosing and evaluating on the same items never gives a smaller gap than choosing on others.
            prop_assert!(gap_by_all(&groups) >= gap_by_others_where_there_are_any(&groups) - 1e-12);
        }
    }

    fn gap_by_others_where_there_are_any(groups: &[Answers]) -> f64 {
        if groups.iter().any(|g| g.by_others().iter().any(Option::is_none)) { 0.0 } else { gap_by_others(groups) }
    }
}

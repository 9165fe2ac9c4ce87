//! A joint test of paired changes at many strengths.
//!
//! At each strength each item gets worse (-1), better (1) or stays the same (0). Under the null, an item's changes over all strengths are
//! as likely as their opposites. The statistic is the largest |sum| / sqrt(changed items) over the strengths (max-T, Westfall and Young
//! 1993). Its distribution comes from random signs of items, which allows any dependence between strengths.

use std::collections::BTreeMap;

use super::mcnemar::exact;
use super::rng::stream;
use rand_chacha::rand_core::Rng;

/// Number of sign draws.
const DRAWS: usize = 4_000;

/// p-value for the hypothesis of no change at any strength, from each item's changes at every strength. If no draw is as extreme as the
/// data, it is at most the smallest exact p-value times the number of strengths.
pub fn largest(items: impl Iterator<Item = Vec<i8>>, seed: u64) -> f64 {
    // Items with the same or opposite changes form one term: a binomial number of their signs are positive.
    let mut counts: BTreeMap<Vec<i8>, [u64; 2]> = BTreeMap::new();
    for mut item in items {
        let Some(first) = item.iter().find(|change| **change != 0) else { continue };
        let is_worse = *first < 0;
        if is_worse {
            item.iter_mut().for_each(|change| *change = -*change);
        }
        counts.entry(item).or_default()[usize::from(is_worse)] += 1;
    }
    let Some(strengths) = counts.keys().next().map(Vec::len) else { return 1.0 };
    let mut sums = vec![[0u64; 2]; strengths];
    for (pattern, [same, opposite]) in &counts {
        for (sum, change) in sums.iter_mut().zip(pattern) {
            let (up, down) = match change {
                0 => (0, 0),
                1.. => (*same, *opposite),
                _ => (*opposite, *same),
            };
            (sum[0], sum[1]) = (sum[0] + up, sum[1] + down);
        }
    }
    let single = sums.iter().map(|[up, down]| exact(*up, *down)).fold(1.0, f64::min);
    let scale: Vec<f64> = sums.iter().map(|[up, down]| 1.0 / ((up + down).max(1) as f64).sqrt()).collect();
    let of = |sum: i64, scale: f64| sum.unsigned_abs() as f64 * scale;
    let seen = sums.iter().zip(&scale).map(|([up, down], s)| of(*up as i64 - *down as i64, *s));
    let seen = seen.fold(0.0, f64::max) - 1e-9;
    let mut rng = stream(seed, "signs of a sweep");
    let mut totals = vec![0i64; strengths];
    let mut as_large = 0;
    for _ in 0..DRAWS {
        totals.fill(0);
        for (pattern, [same, opposite]) in &counts {
            let signs = signs(same + opposite, &mut rng);
            totals.iter_mut().zip(pattern).for_each(|(total, change)| *total += signs * i64::from(*change));
        }
        as_large += usize::from(totals.iter().zip(&scale).any(|(sum, s)| of(*sum, *s) >= seen));
    }
    let drawn = (1 + as_large) as f64 / (1 + DRAWS) as f64;
    if as_large > 0 { drawn } else { drawn.min(single * strengths as f64) }
}

fn signs(count: u64, rng: &mut impl Rng) -> i64 {
    let (words, rest) = (count / 64, count % 64);
    let mut up: u64 = (0..words).map(|_| u64::from(rng.next_u64().count_ones())).sum();
    if rest > 0 {
        up += u64::from((rng.next_u64() >> (64 - rest)).count_ones());
    }
    2 * up as i64 - count as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::unit;

    fn changes(n: usize, strengths: usize, better: f64, seed: u64) -> Vec<Vec<i8>> {
        let mut rng = stream(seed, "sweep test");
        let item = |_| {
            let (from, sign) = (unit(&mut rng), if unit(&mut rng) < better { 1 } else { -1 });
            (0..strengths).map(|s| if from < 0.3 * s as f64 / strengths as f64 { sign } else { 0 }).collect()
        };
        (0..n).map(item).collect()
    }

    /// Regression: 29 correlated strengths used to count as 29 tests. Under a true null the smallest p-value is below .05 in one run of
    /// twenty instead of one in four.
    #[test]
    fn sweep_keeps_its_level_unlike_separate_tests() {
        let (mut joint, mut any) = (0, 0);
        let runs = 400;
        for seed in 0..runs {
            let items = changes(200, 29, 0.5, seed);
            joint += usize::from(largest(items.iter().cloned(), seed) <= 0.05);
            let p = |s: usize| {
                let count = |wanted: i8| items.iter().filter(|i| i[s] == wanted).count() as u64;
                exact(count(1), count(-1))
            };
            any += usize::from((0..29).any(|s| p(s) <= 0.05));
        }
        let share = |count: usize| count as f64 / runs as f64;
        assert!((0.025..=0.075).contains(&share(joint)) && share(any) > 0.12, "{} {}", share(joint), share(any));
    }

    #[test]
    fn one_strength_is_the_exact_test() {
        let items =
            |up: usize, down: usize| std::iter::repeat_n(vec![1], up).chain(std::iter::repeat_n(vec![-1], down));
        assert!((largest(items(10, 2), 1) - exact(10, 2)).abs() < 0.01);
        assert!(largest(items(60, 0), 1) < 1e-12, "p is smaller than draws alone could give");
        assert_eq!((largest(std::iter::empty(), 1), largest([vec![0, 0]].into_iter(), 1)), (1.0, 1.0));
    }

    #[test]
    fn strong_change_is_significant_at_many_strengths() {
        assert!(largest(changes(200, 29, 0.9, 3).into_iter(), 1) < 0.001);
    }
}

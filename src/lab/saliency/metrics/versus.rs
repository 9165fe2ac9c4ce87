//! Comparison of two rankings for the same inputs, tested over originals.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::judge::Judged;
use stats::Estimate;
use stats::paired::Differences;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Token-F1 over originals and partners.
    TokenF1,
    /// MAP over pairs.
    Map,
    /// PCC over all pairs, significant or not, because a filter would keep different pairs for each ranking.
    Pcc,
}

impl Metric {
    pub const ALL: [Metric; 3] = [Metric::TokenF1, Metric::Map, Metric::Pcc];

    pub fn name(self) -> &'static str {
        match self {
            Metric::TokenF1 => "token_f1",
            Metric::Map => "map",
            Metric::Pcc => "pcc",
        }
    }

    /// The scores of an original and its partners, each with the name of its input.
    fn scores(self, judged: &Judged) -> Vec<(&str, f64)> {
        match self {
            Metric::TokenF1 => {
                let all = std::iter::once(&judged.original).chain(judged.pairs.iter().map(|p| &p.single));
                all.filter_map(|s| Some((s.id.as_str(), s.f1?))).collect()
            }
            Metric::Map => judged.pairs.iter().map(|p| (p.single.id.as_str(), p.map)).collect(),
            Metric::Pcc => {
                judged.pairs.iter().filter_map(|p| Some((p.single.id.as_str(), p.correlation?.ok()?.r))).collect()
            }
        }
    }
}

/// A comparison over the inputs that have a score in both rankings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    pub metric: Metric,
    /// Mean of the first ranking.
    pub a: f64,
    /// Mean of the second ranking.
    pub b: f64,
    /// The first mean minus the second, with a Student's t interval over originals.
    pub difference: Estimate,
    /// Two-sided p-value for no difference, from a t test on the originals' sums, so that additional partners do not inflate significance.
    pub p: f64,
    pub originals: usize,
    /// Number of scores compared.
    pub items: usize,
    /// Numbers of unmatched scores: only in the first ranking, and only in the second.
    pub unmatched: [usize; 2],
}

/// Compares two rankings of the same originals, matched by name; `None` with fewer than two common originals.
pub fn versus(a: &[&Judged], b: &[&Judged], metric: Metric, level: f64) -> Option<Versus> {
    let others: HashMap<&str, &Judged> = b.iter().map(|j| (j.original.id.as_str(), *j)).collect();
    let mut differences = Differences::default();
    let (mut sums, mut items, mut only_a) = ([0.0; 2], 0, 0);
    for judged in a {
        let mine = metric.scores(judged);
        let theirs: HashMap<&str, f64> =
            others.get(judged.original.id.as_str()).map(|j| metric.scores(j)).unwrap_or_default().into_iter().collect();
        let pairs: Vec<(f64, f64)> = mine.iter().filter_map(|(id, v)| Some((*v, *theirs.get(id)?))).collect();
        only_a += mine.len() - pairs.len();
        if pairs.is_empty() {
            continue;
        }
        items += pairs.len();
        sums[0] += pairs.iter().map(|p| p.0).sum::<f64>();
        sums[1] += pairs.iter().map(|p| p.1).sum::<f64>();
        differences.sums.push(pairs.iter().map(|p| p.0 - p.1).sum());
        differences.sizes.push(pairs.len() as f64);
    }
    let of_b: usize = b.iter().map(|j| metric.scores(j).len()).sum();
    let originals = differences.sums.len();
    (originals > 1).then(|| Versus {
        metric,
        a: sums[0] / items as f64,
        b: sums[1] / items as f64,
        difference: differences.interval(level),
        p: differences.p(),
        originals,
        items,
        unmatched: [only_a, of_b.saturating_sub(items)],
    })
}

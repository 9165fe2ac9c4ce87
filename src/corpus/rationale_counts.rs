//! Statistics on a set of rationales (Shen et al. 2022, Table 3): number of pairs and rationale ratio by dimension.

use std::collections::BTreeMap;

use serde::Serialize;

use super::readers::Rationale;

/// Maximum number of dimensions counted separately.
const MOST: usize = 40;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RationaleCount {
    pub originals: u64,
    /// Number of perturbed inputs, each of which forms a pair with its original.
    pub pairs: u64,
    pub with_gold: u64,
    /// Mean ratio of gold rationale length to input length. For an input with several gold rationales, their mean length is used.
    pub ratio: f64,
}

impl RationaleCount {
    fn add(&mut self, row: &Rationale<'_>) {
        match &row.perturbs {
            Some(_) => self.pairs += 1,
            None => self.originals += 1,
        }
        let words = (row.rationales.len() * row.tokens.len()) as f64;
        if words > 0.0 {
            let ratio = row.rationales.iter().map(Vec::len).sum::<usize>() as f64 / words;
            self.with_gold += 1;
            self.ratio += (ratio - self.ratio) / self.with_gold as f64;
        }
    }
}

/// Counts by dimension; rows without a dimension have an empty name.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RationaleCounts(pub BTreeMap<String, RationaleCount>);

impl RationaleCounts {
    pub(crate) fn add(&mut self, row: &Rationale<'_>) {
        let dimension = row.dimension.as_deref().unwrap_or_default();
        if let Some(count) = self.0.get_mut(dimension) {
            count.add(row);
        } else if self.0.len() < MOST {
            self.0.entry(dimension.to_owned()).or_default().add(row);
        }
    }

    /// Formats one line per dimension.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let line = |(dimension, c): (&String, &RationaleCount)| {
            let dimension = if dimension.is_empty() { "rationales" } else { dimension };
            let ratio = match c.with_gold {
                0 => "no gold rationale".to_owned(),
                n => format!("rationale ratio {:.1} % (n {n})", 100.0 * c.ratio),
            };
            format!("  {dimension:<12} {} originals, {} pairs, {ratio}", c.originals, c.pairs)
        };
        self.0.iter().map(line)
    }
}

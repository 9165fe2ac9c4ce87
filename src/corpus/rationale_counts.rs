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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::{Row, Set};
    use std::ops::ControlFlow;

    /// In Table 3, a pair is an original with one perturbed input, and the ratio is rationale length over input length, averaged over
    /// inputs. Computed by hand: grammar 2/4, 3/6 (two gold rationales of 4 and 2 words) and 1/5, so .4; semantics has no gold rationale,
    /// and an original alone is not a pair.
    #[test]
    fn counts_match_those_made_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.jsonl");
        let rows = [
            r#"{"sent_id": 1, "sample_type": "ori", "dimension": "grammar", "sent_token": ["a", "b", "c", "[MASK]"], "mask_index": 3, "rationale_ids": [0, 1], "rel_ids": [2, 3]}"#,
            r#"{"sent_id": 2, "sample_type": "disturb", "dimension": "grammar", "sent_token": ["a", "b", "c", "d", "e", "[MASK]"], "mask_index": 5, "rationale_ids": [[0, 1, 2, 3], [0, 1]], "ori_id": 1}"#,
            r#"{"sent_id": 3, "sample_type": "disturb", "dimension": "grammar", "sent_token": ["a", "b", "c", "d", "[MASK]"], "mask_index": 4, "rationale_ids": [2], "ori_id": 1}"#,
            r#"{"sent_id": 4, "sample_type": "ori", "dimension": "semantics", "sent_token": ["a", "[MASK]"], "mask_index": 1, "rationale_ids": []}"#,
        ];
        std::fs::write(&path, rows.join("\n")).unwrap();
        let mut counts = RationaleCounts::default();
        let set = Set::open(&path).unwrap();
        set.rows(&mut |_, row, _| {
            let Row::Rationale(row) = row else { panic!("not a rationale row") };
            counts.add(&row);
            ControlFlow::Continue(())
        })
        .unwrap();
        let grammar = counts.0["grammar"];
        assert_eq!((grammar.originals, grammar.pairs, grammar.with_gold), (1, 2, 3));
        assert!((grammar.ratio - 0.4).abs() < 1e-12, "{grammar:?}");
        let semantics = counts.0["semantics"];
        assert_eq!((semantics.originals, semantics.pairs), (1, 0), "{semantics:?}");
    }
}

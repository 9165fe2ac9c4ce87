//! F1 and MAP against the ratio of rationale length to input length (the paper's Figure 1), which shows whether a score only reflects long
//! rationales.

use serde::{Deserialize, Serialize};

use super::judge::Judged;
use super::summary::cell;
use stats::Estimate;

/// The originals whose rationale ratio is in `[from, to)`, with their partners.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bin {
    pub from: f64,
    /// Upper end; included only in the last bin.
    pub to: f64,
    pub originals: usize,
    pub pairs: usize,
    /// Mean ratio of the inputs, used as the x position of the point.
    pub ratio: Option<Estimate>,
    pub token_f1: Option<Estimate>,
    /// Expected F1 by chance; it increases with the ratio.
    pub random_f1: Option<Estimate>,
    pub map: Option<Estimate>,
    /// Expected MAP by chance.
    pub random_map: Option<Estimate>,
}

/// The curve in bins of equal width between 0 and 1; empty bins are omitted. Partners are in the bin of their original; originals without a
/// gold rationale are in no bin. `alpha` is the level of the PCC filter.
pub(crate) fn against_ratio(judged: &[&Judged], bins: usize, alpha: f64, level: f64) -> Vec<Bin> {
    let bins = bins.max(1);
    let bin_of = |ratio: f64| ((ratio * bins as f64) as usize).min(bins - 1);
    let mut groups: Vec<Vec<&Judged>> = vec![Vec::new(); bins];
    for one in judged {
        if let Some(ratio) = one.original.ratio {
            groups[bin_of(ratio)].push(one);
        }
    }
    let filled = groups.into_iter().enumerate().filter(|(_, group)| !group.is_empty());
    filled
        .map(|(i, group)| {
            let cell = cell(&group, None, alpha, level);
            Bin {
                from: i as f64 / bins as f64,
                to: (i + 1) as f64 / bins as f64,
                originals: cell.originals,
                pairs: cell.pairs,
                ratio: cell.ratio,
                token_f1: cell.token_f1,
                random_f1: cell.random_f1,
                map: cell.map,
                random_map: cell.random_map,
            }
        })
        .collect()
}

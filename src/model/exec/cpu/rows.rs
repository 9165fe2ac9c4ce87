//! Rows that a pass computes: concatenated sentences without padding, and near the top only the rows that are needed.

use std::ops::Range;

use crate::arch::Arch;
use crate::batch::Batch;
use crate::hook::HookPoint;
use crate::plan::{LogitsAt, Plan, Scalar, Sites};
use kernels::attention::Span;

/// Index of a row that is not selected.
const ABSENT: u32 = u32::MAX;

/// Rows of a few sentences.
///
/// Padding affects no other row, so it is omitted unless the plan reads every position.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Index of the first sentence.
    first: usize,
    /// Number of positions per row of the batch.
    pub len: usize,
    /// First row of each sentence, followed by the total.
    starts: Vec<usize>,
    /// Rows, keys and queries of each sentence.
    pub spans: Vec<Span>,
    /// Position of each row in its sentence.
    pub positions: Vec<u32>,
    /// Number of floats for all attention probabilities.
    pub kept: usize,
    /// Rows that are computed to the end, in ascending order; `None` for all.
    selected: Option<Selection>,
    /// Memory of the previous selection, for reuse.
    spare: Selection,
}

#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Indices among all rows.
    pub rows: Vec<u32>,
    /// Index of each row in the selection, or [`ABSENT`].
    places: Vec<u32>,
    /// Rows, keys and queries of each sentence; the queries are only the selected rows.
    pub spans: Vec<Span>,
    /// Position of each selected row in its sentence.
    pub positions: Vec<u32>,
    /// Number of floats for all attention probabilities.
    pub kept: usize,
}

/// Rows needed after the last block's attention.
#[derive(Debug, PartialEq)]
pub(super) enum Need {
    All,
    Some(Vec<(usize, usize)>),
}

impl Need {
    /// Sites that a plan reads after `input`, which is the input of the last block that runs.
    pub(crate) fn of(plan: &Plan, input: HookPoint, arch: &Arch) -> Need {
        let mut sites = Vec::new();
        let behind = |p: HookPoint| order(p, arch) > order(input, arch);
        let mut take = |s: &Sites| match s {
            Sites::All => false,
            Sites::At(list) => {
                sites.extend_from_slice(list);
                true
            }
        };
        let captures = plan.captures.iter().filter(|c| behind(c.at)).map(|c| &c.sites);
        let cotangent = plan.gradient.iter().filter_map(|g| match &g.of {
            Scalar::Cotangent { at, sites, .. } if behind(*at) => Some(sites),
            _ => None,
        });
        if !captures.chain(plan.logits.iter().map(|l| &l.sites)).chain(cotangent).all(&mut take) {
            return Need::All;
        }
        if let Some(targets) = plan.gradient.as_ref().and_then(|g| g.of.targets()) {
            sites.extend(targets.iter().map(|t| (t.row, t.position)));
        }
        Need::Some(sites)
    }
}

/// True if the plan reads padding of the first stack, or of the second if `second`.
pub(super) fn reads_padding(plan: &Plan, second: bool, arch: &Arch) -> bool {
    let all = |s: &Sites, of_second: bool| *s == Sites::All && of_second == second;
    let cotangent = plan.gradient.as_ref().is_some_and(|g| match &g.of {
        Scalar::Cotangent { at, sites, .. } => all(sites, in_second(*at, arch)),
        _ => false,
    });
    let logits = |l: &LogitsAt| all(&l.sites, arch.decoder.is_some());
    cotangent
        || plan.captures.iter().any(|c| all(&c.sites, in_second(c.at, arch)))
        || plan.logits.as_ref().is_some_and(logits)
}

/// True if the rows of a hook point belong to the second stack.
fn in_second(p: HookPoint, arch: &Arch) -> bool {
    p.in_decoder() || (p == HookPoint::FinalNorm && arch.decoder.is_some())
}

/// Position of a hook point in the order of the pass.
pub(super) fn order(p: HookPoint, arch: &Arch) -> usize {
    use HookPoint::*;
    let within = |l: usize, i: usize| 1 + 6 * l + i;
    match p {
        Embed => 0,
        ResidPre(l) => within(l, 0),
        Pattern(l) => within(l, 1),
        AttnOut(l) => within(l, 2),
        ResidMid(l) => within(l, 3),
        MlpOut(l) => within(l, 4),
        ResidPost(l) => within(l, 5),
        // The decoder's layers follow the encoder's.
        DecoderPre(l) => within(arch.layers + l, 0),
        DecoderPattern(l) => within(arch.layers + l, 1),
        CrossPattern(l) => within(arch.layers + l, 3),
        DecoderPost(l) => within(arch.layers + l, 5),
        FinalNorm => within(arch.layers + arch.decoder.map_or(0, |d| d.layers), 1),
    }
}

impl Rows {
    /// Lays out sentences `which` of a batch. `padded` includes padding; `unseen` hides it from other rows.
    pub(crate) fn set(&mut self, batch: &Batch, which: Range<usize>, padded: bool, unseen: bool, heads: usize) {
        (self.first, self.len) = (which.start, batch.len());
        self.starts.clear();
        self.starts.push(0);
        self.spans.clear();
        self.positions.clear();
        self.spare = self.selected.take().unwrap_or_else(|| std::mem::take(&mut self.spare));
        let (mut row, mut kept) = (0, 0);
        for b in which {
            let n = if padded { batch.len() } else { batch.lengths()[b] };
            let keys = if unseen { batch.lengths()[b] } else { n };
            let span = Span { rows: row..row + n, keys, queries: row..row + n, kept };
            kept += span.kept_len(heads);
            row += n;
            self.spans.push(span);
            self.starts.push(row);
            self.positions.extend(0..n as u32);
        }
        self.kept = kept;
    }

    /// Selects those rows of `sites` that are in these sentences.
    pub(crate) fn select(&mut self, sites: &[(usize, usize)], heads: usize) {
        let mut s = std::mem::take(&mut self.spare);
        s.places.clear();
        s.places.resize(self.count(), ABSENT);
        for site in sites {
            if let Some(row) = self.full_row(*site) {
                s.places[row] = 0;
            }
        }
        s.rows.clear();
        s.spans.clear();
        s.positions.clear();
        s.kept = 0;
        for span in &self.spans {
            let from = s.rows.len();
            for row in span.rows.clone().filter(|r| s.places[*r] != ABSENT) {
                s.rows.push(row as u32);
                s.positions.push(self.positions[row]);
            }
            let span = Span { queries: from..s.rows.len(), kept: s.kept, ..span.clone() };
            s.kept += span.kept_len(heads);
            s.spans.push(span);
        }
        for (i, row) in s.rows.iter().enumerate() {
            s.places[*row as usize] = i as u32;
        }
        if s.rows.len() < self.count() {
            self.selected = Some(s);
        } else {
            self.spare = s;
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.positions.len()
    }

    pub(crate) fn selection(&self) -> Option<&Selection> {
        self.selected.as_ref()
    }

    /// Index and rows of each sentence.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.starts.windows(2).enumerate().map(|(i, w)| (self.first + i, w[0]..w[1]))
    }

    /// Row of a site among all rows.
    fn full_row(&self, (b, t): (usize, usize)) -> Option<usize> {
        let i = b.checked_sub(self.first)?;
        let (from, to) = (*self.starts.get(i)?, *self.starts.get(i + 1)?);
        (t < to - from).then_some(from + t)
    }

    /// Row of a site, among all rows or among the selected ones.
    pub(crate) fn row(&self, site: (usize, usize), selected: bool) -> Option<usize> {
        let row = self.full_row(site)?;
        match &self.selected {
            Some(s) if selected => Some(s.places[row]).filter(|p| *p != ABSENT).map(|p| p as usize),
            _ => Some(row),
        }
    }

    /// Index of a sentence within this group, if it is in the group.
    pub(crate) fn sentence(&self, b: usize) -> Option<usize> {
        b.checked_sub(self.first).filter(|i| *i < self.spans.len())
    }
}

/// Splits sentences into groups of about `tokens` tokens, with at least `least` groups if there are enough sentences.
pub(super) fn groups(sizes: &[usize], tokens: usize, least: usize) -> Vec<Range<usize>> {
    let total: usize = sizes.iter().sum();
    let wanted = total.div_ceil(tokens.max(1)).next_multiple_of(least.max(1)).min(sizes.len()).max(1);
    let (mut groups, mut from, mut done) = (Vec::with_capacity(wanted), 0, 0);
    for (i, size) in sizes.iter().enumerate() {
        done += size;
        let (left, missing) = (sizes.len() - i - 1, wanted - groups.len());
        // A group ends when its share is reached, or when each remaining sentence must form a group.
        let reached = done * wanted >= total * (groups.len() + 1);
        if missing > 1 && (reached || left < missing) {
            groups.push(from..i + 1);
            from = i + 1;
        }
    }
    if from < sizes.len() {
        groups.push(from..sizes.len());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sites_map_to_rows_and_selected_rows() {
        let batch = Batch::new(&[vec![1; 3], vec![2; 5], vec![3; 2], vec![4; 4]], 0).unwrap();
        let mut rows = Rows::default();
        for _ in 0..2 {
            rows.set(&batch, 1..3, false, true, 2);
            assert_eq!(rows.count(), 7);
            assert_eq!(rows.positions, [0, 1, 2, 3, 4, 0, 1]);
            let found =
                |rows: &Rows, s| [(0, 0), (1, 0), (1, 4), (1, 5), (2, 1), (2, 2), (3, 0)].map(|x| rows.row(x, s));
            assert_eq!(found(&rows, true), [None, Some(0), Some(4), None, Some(6), None, None]);
            rows.select(&[(2, 1), (0, 1), (1, 4), (2, 1)], 2);
            assert_eq!(found(&rows, true), [None, None, Some(0), None, Some(1), None, None]);
            assert_eq!(found(&rows, false)[1], Some(0));
            let s = rows.selection().unwrap();
            assert_eq!((&s.rows[..], &s.positions[..]), (&[4, 6][..], &[4, 1][..]));
            assert_eq!(s.spans[1].queries, 1..2);
        }
        rows.set(&batch, 0..4, true, true, 2);
        assert_eq!((rows.count(), rows.spans[2].keys), (20, 2));
        assert!(rows.selection().is_none());
        assert_eq!(rows.row((2, 4), true), Some(14));
    }

    proptest! {
        #[test]
        fn groups_cover_everything_in_order(
            sizes in prop::collection::vec(1usize..40, 1..60), tokens in 1usize..300, least in 1usize..5,
        ) {
            let g = groups(&sizes, tokens, least);
            prop_assert!(g.iter().all(|r| !r.is_empty()));
            prop_assert_eq!(g.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..sizes.len()).collect::<Vec<_>>());
            prop_assert!(g.len() >= least.min(sizes.len()));
        }
    }
}

//! Selects the largest subset in which two properties are uncorrelated.
//!
//! If the target correlates with another property, an oracle could predict it from that property. Let n\[i,j\] be the counts (i = value of
//! the target, j = value of the other) and p_i the target's shares. Column j can contribute at most M_j = min_i n\[i,j\]/p_i examples with
//! those shares; floor(p_i M_j) are kept from each cell. The sum of the M_j is the maximum size of the subset. The target's shares are
//! preserved, and the two properties are independent up to rounding.

use rand_chacha::ChaCha8Rng;
use stats::rng::sample_indices;

/// Reasons why there is no uncorrelated subset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecorrelateError {
    /// The properties have different numbers of labels.
    #[error("there are {target} labels of the target but {other} of the other property")]
    Lengths {
        /// Number of labels of the target.
        target: usize,
        /// Number of labels of the other property.
        other: usize,
    },
    /// The rows of the table have different lengths.
    #[error("the table is not rectangular: row {row} has {len} cells, but the first has {want}")]
    Ragged {
        row: usize,
        len: usize,
        /// Length of the first row.
        want: usize,
    },
    /// The target had fewer than two values before the selection.
    #[error("the target has {values} value(s) in the data: at least 2 are needed")]
    Target {
        /// Number of distinct values.
        values: usize,
    },
    /// The other property had fewer than two values before the selection.
    #[error("the other property has {values} value(s) in the data: at least 2 are needed")]
    Other {
        /// Number of distinct values.
        values: usize,
    },
    /// Fewer than two values of the other property remain: the others had empty cells.
    #[error(
        "only {left} value(s) of the other property remain: the others do not occur with every value of the target"
    )]
    Blocks {
        /// Number of remaining values.
        left: usize,
    },
    /// Too few examples: rounding down left fewer than two values of the target or of the other property.
    #[error("too few examples: rounding down leaves fewer than two values of a property")]
    Rounding,
    /// The sum of the counts overflows.
    #[error("the counts add up to more than 2^62")]
    TooLarge,
}

/// The selected counts. Rows are values of the target, columns values of the other property.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptCounts {
    /// `counts[i][j]`, at most the original count. A column with an empty cell is 0.
    pub counts: Vec<Vec<u64>>,
    /// Sum of the counts.
    pub total: u64,
    /// Remaining strength of association (see [`association`]); 0 up to rounding.
    pub phi: f64,
}

/// Selects counts from a table (rows target, columns other). A row of zeros is ignored. The arithmetic is exact: in the cell that limits a
/// column, p_i M_j equals the count.
///
/// # Errors
/// [`DecorrelateError`] if fewer than two values of a property occur, remain, or survive rounding down.
pub fn decorrelate_counts(table: &[Vec<u64>]) -> Result<KeptCounts, DecorrelateError> {
    let columns = table.first().map_or(0, Vec::len);
    if let Some(row) = table.iter().position(|r| r.len() != columns) {
        return Err(DecorrelateError::Ragged { row, len: table[row].len(), want: columns });
    }
    let sums: Vec<u128> = table.iter().map(|r| r.iter().map(|c| u128::from(*c)).sum()).collect();
    if sums.iter().sum::<u128>() > 1 << 62 {
        return Err(DecorrelateError::TooLarge);
    }
    let present: Vec<usize> = (0..table.len()).filter(|i| sums[*i] > 0).collect();
    if present.len() < 2 {
        return Err(DecorrelateError::Target { values: present.len() });
    }
    let occurring = (0..columns).filter(|j| table.iter().any(|r| r[*j] > 0)).count();
    if occurring < 2 {
        return Err(DecorrelateError::Other { values: occurring });
    }
    let mut counts = vec![vec![0u64; columns]; table.len()];
    let mut blocks = 0;
    for j in 0..columns {
        // The cell with the smallest n[i,j]/p_i, compared as fractions over the common total.
        let limit = present
            .iter()
            .copied()
            .reduce(|a, b| if u128::from(table[b][j]) * sums[a] < u128::from(table[a][j]) * sums[b] { b } else { a });
        let Some(limit) = limit.filter(|i| table[*i][j] > 0) else { continue };
        blocks += 1;
        for i in present.iter().copied() {
            counts[i][j] = (sums[i] * u128::from(table[limit][j]) / sums[limit]) as u64;
        }
    }
    if blocks < 2 {
        return Err(DecorrelateError::Blocks { left: blocks });
    }
    let rows_left = counts.iter().filter(|r| r.iter().any(|c| *c > 0)).count();
    let columns_left = (0..columns).filter(|j| counts.iter().any(|r| r[*j] > 0)).count();
    if rows_left < 2 || columns_left < 2 {
        return Err(DecorrelateError::Rounding);
    }
    let total = counts.iter().flatten().sum();
    let phi = association(&counts);
    Ok(KeptCounts { counts, total, phi })
}

/// Strength of association: the signed phi coefficient for two by two, Cramér's V otherwise. Rows and columns of zeros are ignored; 0 if
/// fewer than two of either remain.
pub fn association(table: &[Vec<u64>]) -> f64 {
    let columns = table.first().map_or(0, Vec::len);
    let rows: Vec<usize> = (0..table.len()).filter(|i| table[*i].iter().any(|c| *c > 0)).collect();
    let cols: Vec<usize> = (0..columns).filter(|j| table.iter().any(|r| r[*j] > 0)).collect();
    if rows.len() < 2 || cols.len() < 2 {
        return 0.0;
    }
    let at = |i: usize, j: usize| table[i][j] as f64;
    let row_sum: Vec<f64> = rows.iter().map(|i| cols.iter().map(|j| at(*i, *j)).sum()).collect();
    let col_sum: Vec<f64> = cols.iter().map(|j| rows.iter().map(|i| at(*i, *j)).sum()).collect();
    if let ([a, b], [c, d]) = (rows.as_slice(), cols.as_slice()) {
        let determinant = at(*a, *c) * at(*b, *d) - at(*a, *d) * at(*b, *c);
        return determinant / row_sum.iter().chain(&col_sum).map(|s| s.sqrt()).product::<f64>();
    }
    let total: f64 = row_sum.iter().sum();
    let mut chi2 = 0.0;
    for (i, r) in rows.iter().zip(&row_sum) {
        for (j, c) in cols.iter().zip(&col_sum) {
            let expected = r * c / total;
            chi2 += (at(*i, *j) - expected).powi(2) / expected;
        }
    }
    (chi2 / (total * (rows.len().min(cols.len()) - 1) as f64)).sqrt()
}

/// A subset of examples in which the two properties are uncorrelated.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncorrelated {
    /// Positions of the selected examples, ascending.
    pub rows: Vec<usize>,
    /// Counts of the subset. The last column is "none" if the other property has undefined values.
    pub kept: KeptCounts,
    /// Association among all given examples, for the report.
    pub(crate) phi_before: f64,
}

/// Selects the largest uncorrelated subset, at random within each cell. Examples with an undefined target are dropped. An undefined value
/// counts as an additional value of the other property: with subject number as the target, "no attractor" (about 83 % of sentences) is a
/// third value of attractor number.
pub fn decorrelate(
    target: &[Option<usize>],
    other: &[Option<usize>],
    rng: &mut ChaCha8Rng,
) -> Result<Uncorrelated, DecorrelateError> {
    if target.len() != other.len() {
        return Err(DecorrelateError::Lengths { target: target.len(), other: other.len() });
    }
    // Values are renumbered by occurrence, so that a large label does not need a large table.
    let (ts, os) = (distinct(target.iter().flatten()), distinct(other.iter().flatten()));
    let none = usize::from(target.iter().zip(other).any(|(t, o)| t.is_some() && o.is_none()));
    let mut cells: Vec<Vec<Vec<usize>>> = vec![vec![Vec::new(); os.len() + none]; ts.len()];
    for (row, (t, o)) in target.iter().zip(other).enumerate() {
        let Some(i) = t.and_then(|t| ts.binary_search(&t).ok()) else { continue };
        let j = o.and_then(|o| os.binary_search(&o).ok()).unwrap_or(os.len());
        cells[i][j].push(row);
    }
    let table: Vec<Vec<u64>> = cells.iter().map(|r| r.iter().map(|c| c.len() as u64).collect()).collect();
    let kept = decorrelate_counts(&table)?;
    let mut rows = Vec::new();
    for (cell, count) in cells.iter().flatten().zip(kept.counts.iter().flatten()) {
        rows.extend(sample_indices(rng, cell.len(), *count as usize).into_iter().map(|i| cell[i]));
    }
    rows.sort_unstable();
    Ok(Uncorrelated { rows, kept, phi_before: association(&table) })
}

fn distinct<'a>(values: impl Iterator<Item = &'a usize>) -> Vec<usize> {
    let mut values: Vec<usize> = values.copied().collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::rng::stream;

    fn kept(table: &[&[u64]]) -> Result<KeptCounts, DecorrelateError> {
        decorrelate_counts(&table.iter().map(|r| r.to_vec()).collect::<Vec<_>>())
    }

    /// Natural agreement sentences: subject number by attractor number (273, 65, 115, 39).
    #[test]
    fn worked_values() {
        assert!((association(&[vec![273, 65], vec![115, 39]]) - 0.0692).abs() < 5e-5);
        let c = kept(&[&[273, 65], &[115, 39]]).unwrap();
        assert_eq!((c.counts, c.total), (vec![vec![252, 65], vec![115, 29]], 461));
        assert!(c.phi.abs() < 0.01);
        // With the attractor as the target, the limiting cell keeps all 115: p_i M_j is exactly 115, but 114.99999999999999 in floating
        // point.
        let e = kept(&[&[273, 115], &[65, 39]]).unwrap();
        assert_eq!(e.counts, vec![vec![242, 115], vec![65, 30]]);
    }

    #[test]
    fn proportions_hold_for_thousands_of_rows() {
        // M = (35.71, 6.94) with p = (.72, .28): 36/50 and 14/50 exactly.
        let c = kept(&[&[31, 5], &[10, 4]]).unwrap();
        assert_eq!(c.counts, vec![vec![25, 5], vec![10, 1]]);
    }

    #[test]
    fn an_empty_cell_removes_its_block() {
        let c = kept(&[&[40, 0, 30], &[20, 9, 10]]).unwrap();
        assert!(c.counts.iter().all(|r| r[1] == 0));
        assert_eq!(kept(&[&[40, 0], &[20, 9]]), Err(DecorrelateError::Blocks { left: 1 }));
    }

    #[test]
    fn impossible_requests_are_explained() {
        assert_eq!(kept(&[]), Err(DecorrelateError::Target { values: 0 }));
        assert_eq!(kept(&[&[1, 2], &[0, 0]]), Err(DecorrelateError::Target { values: 1 }));
        assert_eq!(kept(&[&[1, 0], &[3, 0]]), Err(DecorrelateError::Other { values: 1 }));
        assert_eq!(kept(&[&[1, 2], &[3]]), Err(DecorrelateError::Ragged { row: 1, len: 1, want: 2 }));
        assert_eq!(kept(&[&[1, 1, 0], &[10, 10, 20]]), Err(DecorrelateError::Rounding));
        assert_eq!(kept(&[&[u64::MAX, 1], &[1, u64::MAX]]), Err(DecorrelateError::TooLarge));
        assert!(kept(&[&[1 << 60, 1 << 59], &[1 << 59, 1 << 60]]).is_ok());
        let mut rng = stream(0, "test");
        assert_eq!(decorrelate(&[Some(0)], &[], &mut rng), Err(DecorrelateError::Lengths { target: 1, other: 0 }));
        assert!(decorrelate(&[Some(usize::MAX), None], &[Some(usize::MAX), None], &mut rng).is_err());
    }

    proptest! {
        #[test]
        fn subset_is_uncorrelated_and_keeps_proportions(
            table in proptest::collection::vec(proptest::collection::vec(50u64..2_000, 3), 2..4)
        ) {
            let k = decorrelate_counts(&table).unwrap();
            let total: u64 = table.iter().flatten().sum();
            for (row, kept) in table.iter().zip(&k.counts) {
                let share = row.iter().sum::<u64>() as f64 / total as f64;
                let got = kept.iter().sum::<u64>() as f64 / k.total as f64;
                // Rounding costs each cell less than one example.
                prop_assert!((share - got).abs() * k.total as f64 <= 2.0 * (table.len() * 3) as f64);
                prop_assert!(row.iter().zip(kept).all(|(n, k)| k <= n));
            }
            prop_assert!(k.phi.abs() < 0.05, "phi {}", k.phi);
            // Maximality: no column has room for one more block with the target's shares.
            for j in 0..3 {
                let full = (0..table.len()).any(|i| table[i][j] - k.counts[i][j] <= 1);
                prop_assert!(full, "column {} has space for more examples", j);
            }
        }

        #[test]
        fn missing_counts_as_a_third_value(n in 300usize..2_000, seed: u64) {
            let target: Vec<_> = (0..n).map(|i| (i % 11 != 0).then_some(usize::from(i % 10 < 3))).collect();
            let other: Vec<_> = (0..n).map(|i| (i % 6 == 0).then_some(usize::from(i % 5 == 0))).collect();
            let u = decorrelate(&target, &other, &mut stream(seed, "test")).unwrap();
            prop_assert_eq!(u.kept.counts[0].len(), 3);
            prop_assert_eq!(u.rows.len() as u64, u.kept.total);
            prop_assert!(u.rows.iter().all(|r| target[*r].is_some()));
            prop_assert!(u.rows.windows(2).all(|w| w[0] < w[1]));
            prop_assert!(u.rows.iter().any(|r| other[*r].is_none()));
        }
    }
}

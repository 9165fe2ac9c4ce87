//! Means over clustered rows, such as the tokens of texts. The clusters, not the rows, are independent.

use super::estimate::Estimate;
use super::intervals::share;

/// Sums of a value over the rows of each cluster, with the numbers of rows. `clusters` contains the cluster of each row, from 0.
fn sums(values: &[f64], clusters: &[usize]) -> Vec<[f64; 2]> {
    let count = clusters.iter().max().map_or(0, |last| last + 1);
    let mut sums = vec![[0.0; 2]; count];
    for (value, cluster) in values.iter().zip(clusters) {
        sums[*cluster][0] += value;
        sums[*cluster][1] += 1.0;
    }
    sums.retain(|[_, rows]| *rows > 0.0);
    sums
}

/// One value per cluster. The values have the same mean as the rows, and the variance of their mean is the linearised variance of the
/// rows' mean. Each value is the mean plus the cluster's sum of deviations, relative to the mean size of clusters.
pub fn linearised(values: &[f64], clusters: &[usize]) -> Vec<f64> {
    let sums = sums(values, clusters);
    let rows: f64 = sums.iter().map(|[_, rows]| rows).sum();
    let mean = sums.iter().map(|[sum, _]| sum).sum::<f64>() / rows;
    let scale = sums.len() as f64 / rows;
    sums.iter().map(|[sum, rows]| mean + (sum - mean * rows) * scale).collect()
}

/// Design effect of a proportion: its linearised variance over clusters, divided by its variance for the same number of independent rows.
/// It is at least 1, and at most the effect for clusters whose rows all agree, which is also the value for a proportion of 0 or 1. `sums`
/// contains the number of successes and of rows of each cluster.
pub fn design_effect(sums: impl Iterator<Item = [f64; 2]> + Clone) -> f64 {
    let add = |[successes, rows, squares, clusters]: [f64; 4], [s, n]: [f64; 2]| {
        [successes + s, rows + n, squares + n * n, clusters + 1.0]
    };
    let sums = sums.filter(|[_, rows]| *rows > 0.0);
    let [successes, rows, squares, clusters] = sums.clone().fold([0.0; 4], add);
    if clusters < 1.0 {
        return 1.0;
    }
    let (p, most) = (successes / rows, (squares / rows).max(1.0));
    let independent = p * (1.0 - p) * rows;
    if independent <= 0.0 || clusters < 2.0 {
        return most;
    }
    let apart: f64 = sums.map(|[s, n]| (s - p * n).powi(2)).sum();
    (apart * clusters / (clusters - 1.0) / independent).clamp(1.0, most)
}

/// Effective number of rows: their number divided by the design effect of the proportion `values` (from 0 to 1).
pub fn effective_rows(values: &[f64], clusters: &[usize]) -> f64 {
    values.len() as f64 / design_effect(sums(values, clusters).into_iter())
}

/// Like [`share`], for a mean of `mean` over `rows` effective rows; neither the rows nor the successes need to be whole numbers. Returns
/// the outer ends of the intervals for the successes rounded down and up.
pub fn share_of(mean: f64, rows: f64, level: f64) -> Estimate {
    let n = (rows + 1e-9).floor();
    let count = mean * n;
    // A mean of integers may miss an integer by rounding.
    let (below, above) = ((count + 1e-9).floor() as u64, (count - 1e-9).ceil() as u64);
    let n = n as u64;
    Estimate { mean, lo: share(below.min(n), n, level).lo, hi: share(above.min(n), n, level).hi }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference: the variance of a ratio in Cochran (1977), 6.3, by hand.
    #[test]
    fn linearised_variance_matches_the_ratio_formula() {
        let (values, clusters) = ([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1, 1, 2]);
        let z = linearised(&values, &clusters);
        let mean = z.iter().sum::<f64>() / 3.0;
        assert!((mean - 0.5).abs() < 1e-12, "{z:?}");
        // Deviations of the sums: 1 - .5 * 2 = 0, 2 - .5 * 3 = .5, 0 - .5 * 1 = -.5.
        let variance = z.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 2.0 / 3.0;
        assert!((variance - 0.5 * 3.0 / 2.0 / 36.0).abs() < 1e-12, "{variance}");
        let effect = design_effect(sums(&values, &clusters).into_iter());
        // 0.75 / (0.25 * 6) is below 1.
        assert_eq!(effect, 1.0);
    }

    #[test]
    fn design_effect_is_bounded_by_its_extremes() {
        let of = |values: &[f64], clusters: &[usize]| design_effect(sums(values, clusters).into_iter());
        let single: Vec<usize> = (0..40).collect();
        let halves: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!((of(&halves, &single) - 1.0).abs() < 1e-12);
        // Rows of a cluster agree: the effect is the size of clusters.
        let fours: Vec<usize> = (0..40).map(|i| i / 4).collect();
        let alike: Vec<f64> = (0..40).map(|i| f64::from(i / 4 % 2)).collect();
        assert!((of(&alike, &fours) - 4.0).abs() < 1e-12);
        assert_eq!((of(&[1.0; 40], &fours), of(&[0.0; 40], &single), of(&[], &[])), (4.0, 1.0, 1.0));
        assert!((effective_rows(&alike, &fours) - 10.0).abs() < 1e-9);
        assert_eq!(share_of(0.5, 10.0, 0.95), share(5, 10, 0.95));
    }
}

//! Scale of hidden states, for comparison with strengths.

use base::matrix::Matrix;

/// Median norm of the rows, and median standard deviation of the columns.
pub(crate) fn scale(h: &Matrix) -> (f64, f64) {
    let norms = h.iter_rows().map(|r| r.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt());
    let n = h.rows() as f64;
    let deviation = |j: usize| {
        let mean = h.iter_rows().map(|r| f64::from(r[j])).sum::<f64>() / n;
        (h.iter_rows().map(|r| (f64::from(r[j]) - mean).powi(2)).sum::<f64>() / n).sqrt()
    };
    (median(norms.collect()), median((0..h.cols()).map(deviation).collect()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

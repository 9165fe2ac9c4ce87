//! Distances between distributions.

/// Total variation distance `0.5 * sum |p_i - q_i|`, in [0, 1] for two distributions.
///
/// # Panics
/// If the lengths differ.
pub fn total_variation(p: &[f64], q: &[f64]) -> f64 {
    assert_eq!(p.len(), q.len(), "the distributions have different lengths");
    0.5 * p.iter().zip(q).map(|(a, b)| (a - b).abs()).sum::<f64>()
}

/// Jensen-Shannon divergence in bits (Lin 1991), in [0, 1] for two distributions.
///
/// # Panics
/// If the lengths differ.
pub fn jensen_shannon(p: &[f64], q: &[f64]) -> f64 {
    assert_eq!(p.len(), q.len(), "the distributions have different lengths");
    let part = |a: f64, b: f64| if a > 0.0 { a * (2.0 * a / (a + b)).log2() } else { 0.0 };
    0.5 * p.iter().zip(q).map(|(a, b)| part(*a, *b) + part(*b, *a)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::{jensen_shannon, total_variation};

    /// The expected values are the squares of SciPy's `jensenshannon(p, q, base=2)`.
    #[test]
    fn jensen_shannon_matches_scipy() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(jensen_shannon(&[0.9, 0.1], &[1.0, 0.0]), 0.051_899_160_321_315_61);
        close(jensen_shannon(&[0.7, 0.2, 0.1], &[0.1, 0.3, 0.6]), 0.332_751_101_602_679_73);
        close(jensen_shannon(&[1.0, 0.0], &[0.0, 1.0]), 1.0);
        close(jensen_shannon(&[0.5, 0.5], &[0.5, 0.5]), 0.0);
    }

    #[test]
    fn worked_values() {
        assert!((total_variation(&[0.9, 0.1], &[0.2, 0.8]) - 0.7).abs() < 1e-15);
        assert!((total_variation(&[0.7, 0.2, 0.1], &[0.1, 0.3, 0.6]) - 0.6).abs() < 1e-15);
        assert!(total_variation(&[1.0, 0.0], &[1.0, 0.0]).abs() < 1e-15);
        assert!((total_variation(&[1.0, 0.0], &[0.0, 1.0]) - 1.0).abs() < 1e-15);
    }
}

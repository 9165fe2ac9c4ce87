//! Distances between distributions.

/// Total variation distance `0.5 * sum |p_i - q_i|`, in [0, 1] for two distributions.
///
/// # Panics
/// If the lengths differ.
pub fn total_variation(p: &[f64], q: &[f64]) -> f64 {
    assert_eq!(p.len(), q.len(), "distributions over different sets");
    0.5 * p.iter().zip(q).map(|(a, b)| (a - b).abs()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::total_variation;

    #[test]
    fn worked_values() {
        assert!((total_variation(&[0.9, 0.1], &[0.2, 0.8]) - 0.7).abs() < 1e-15);
        assert!((total_variation(&[0.7, 0.2, 0.1], &[0.1, 0.3, 0.6]) - 0.6).abs() < 1e-15);
        assert!(total_variation(&[1.0, 0.0], &[1.0, 0.0]).abs() < 1e-15);
        assert!((total_variation(&[1.0, 0.0], &[0.0, 1.0]) - 1.0).abs() < 1e-15);
    }
}

//! Corrections for multiple tests: p-values adjusted as in Holm (1979) and as in Benjamini and Hochberg (1995), and Simes' global test
//! (1986).

fn order(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

/// Holm's step-down adjusted p-values, in the order of `p`. Rejecting where the adjusted p-value is at most α controls the familywise error
/// rate at α under any dependence.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let mut adjusted = vec![0.0; m];
    let mut largest: f64 = 0.0;
    for (rank, i) in order(p).into_iter().enumerate() {
        largest = largest.max(((m - rank) as f64 * p[i]).min(1.0));
        adjusted[i] = largest;
    }
    adjusted
}

/// Benjamini and Hochberg's step-up q-values, in the order of `p`. Rejecting at q bounds the expected share of false rejections by q, for
/// independent or positively dependent tests.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let m = p.len();
    let mut adjusted = vec![0.0; m];
    let mut smallest: f64 = 1.0;
    for (rank, i) in order(p).into_iter().enumerate().rev() {
        smallest = smallest.min(m as f64 / (rank + 1) as f64 * p[i]);
        adjusted[i] = smallest;
    }
    adjusted
}

/// Simes' p-value for the hypothesis that all nulls are true, `min m p_(k) / k`, for independent or positively dependent tests; 1 without
/// tests.
pub fn simes(p: &[f64]) -> f64 {
    benjamini_hochberg(p).into_iter().fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_values() {
        let p = [0.01, 0.04, 0.03, 0.005];
        let near = |a: Vec<f64>, b: [f64; 4]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(holm(&p), [0.03, 0.06, 0.06, 0.02]));
        assert!(near(benjamini_hochberg(&p), [0.02, 0.04, 0.04, 0.02]));
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
        assert_eq!((simes(&p), simes(&[0.2]), simes(&[])), (0.02, 0.2, 1.0));
    }

    proptest! {
        #[test]
        fn corrections_keep_order_and_never_reduce_p(p in proptest::collection::vec(0.0..=1.0f64, 1..40)) {
            let (h, q) = (holm(&p), benjamini_hochberg(&p));
            for i in 0..p.len() {
                prop_assert!(p[i] <= q[i] + 1e-15 && q[i] <= h[i] + 1e-12 && h[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || (h[i] <= h[j] && q[i] <= q[j]));
                }
            }
        }
    }
}

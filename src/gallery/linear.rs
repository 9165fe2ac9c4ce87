//! Fisher's linear discriminant. It checks that a grammatical number is linearly decodable, independently of the probes that users train.

/// A direction and a threshold between two classes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Discriminant {
    direction: Vec<f64>,
    threshold: f64,
}

/// Added to the diagonal of the pooled covariance, as a fraction of the mean diagonal.
const RIDGE: f64 = 1e-3;

impl Discriminant {
    /// Computes `w = (S + r I)^-1 (m1 - m0)` with the pooled within-class covariance S. The threshold is halfway between the projected
    /// means, which is optimal if both classes are equally frequent. `None` if a class is empty.
    pub(crate) fn learn(rows: &[Vec<f32>], positive: &[bool]) -> Option<Self> {
        let dim = rows.first()?.len();
        let mean = |class: bool| -> Option<Vec<f64>> {
            let mut sum = vec![0.0; dim];
            let mut n = 0.0;
            for (row, _) in rows.iter().zip(positive).filter(|(_, p)| **p == class) {
                sum.iter_mut().zip(row).for_each(|(s, &x)| *s += f64::from(x));
                n += 1.0;
            }
            (n > 0.0).then(|| sum.into_iter().map(|s| s / n).collect())
        };
        let means = [mean(false)?, mean(true)?];
        let mut covariance = vec![0.0; dim * dim];
        let mut centred = vec![0.0; dim];
        for (row, &class) in rows.iter().zip(positive) {
            let mean = &means[usize::from(class)];
            centred.iter_mut().zip(row.iter().zip(mean)).for_each(|(c, (&x, m))| *c = f64::from(x) - m);
            for (i, &a) in centred.iter().enumerate() {
                // The factorisation uses only the lower triangle.
                covariance[i * dim..=i * dim + i].iter_mut().zip(&centred).for_each(|(s, &b)| *s += a * b);
            }
        }
        let trace: f64 = (0..dim).map(|i| covariance[i * dim + i]).sum();
        let ridge = RIDGE * trace / dim as f64 + f64::MIN_POSITIVE;
        (0..dim).for_each(|i| covariance[i * dim + i] += ridge);
        let difference: Vec<f64> = means[1].iter().zip(&means[0]).map(|(a, b)| a - b).collect();
        let direction = solve(covariance, difference)?;
        let threshold = 0.5 * (dot(&direction, &means[0]) + dot(&direction, &means[1]));
        Some(Self { direction, threshold })
    }

    /// True if a row is on the side of the positive class.
    pub(crate) fn is_positive(&self, row: &[f32]) -> bool {
        let value: f64 = self.direction.iter().zip(row).map(|(w, &x)| w * f64::from(x)).sum();
        value > self.threshold
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Solves `A x = b` for symmetric positive definite A, given by its lower triangle, with Cholesky's factorisation. `None` if A is not
/// positive definite.
fn solve(mut a: Vec<f64>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for i in 0..n {
        for j in 0..=i {
            let inner = dot(&a[i * n..i * n + j], &a[j * n..j * n + j]);
            let value = a[i * n + j] - inner;
            if i == j {
                if value <= 0.0 || !value.is_finite() {
                    return None;
                }
                a[i * n + i] = value.sqrt();
            } else {
                a[i * n + j] = value / a[j * n + j];
            }
        }
    }
    for i in 0..n {
        b[i] = (b[i] - dot(&a[i * n..i * n + i], &b[..i])) / a[i * n + i];
    }
    for i in (0..n).rev() {
        let inner: f64 = (i + 1..n).map(|k| a[k * n + i] * b[k]).sum();
        b[i] = (b[i] - inner) / a[i * n + i];
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::rng::{stream, unit};

    #[test]
    fn single_class_has_no_classifier() {
        assert_eq!(Discriminant::learn(&[], &[]), None);
        assert_eq!(Discriminant::learn(&[vec![1.0], vec![2.0]], &[true, true]), None);
    }

    /// The data are two uniform clouds that differ only along a direction of low variance, which only a method that uses the covariance can
    /// find.
    #[test]
    fn separating_direction_is_found() {
        let mut rng = stream(5, "discriminant test");
        let mut draw = |n: usize| -> (Vec<Vec<f32>>, Vec<bool>) {
            (0..n)
                .map(|i| {
                    let shared = 20.0 * unit(&mut rng) as f32;
                    let small = 0.5 * unit(&mut rng) as f32 + if i % 2 == 0 { 0.0 } else { 0.6 };
                    (vec![shared, shared + small, 3.0], i % 2 == 1)
                })
                .unzip()
        };
        let (rows, labels) = draw(600);
        let rule = Discriminant::learn(&rows, &labels).unwrap();
        let (rows, labels) = draw(600);
        let right = rows.iter().zip(labels).filter(|(r, l)| rule.is_positive(r) == *l).count();
        assert!(right >= 590, "{right}");
    }

    proptest! {
        #[test]
        fn solutions_satisfy_the_equations(entries in proptest::collection::vec(-1.0f64..1.0, 25), b in proptest::collection::vec(-1.0f64..1.0, 5)) {
            // M Mᵀ + I is positive definite.
            let at = |i: usize, j: usize| {
                dot(&entries[i * 5..i * 5 + 5], &entries[j * 5..j * 5 + 5]) + f64::from(u8::from(i == j))
            };
            let a: Vec<f64> = (0..25).map(|k| at(k / 5, k % 5)).collect();
            let x = solve(a.clone(), b.clone()).unwrap();
            for i in 0..5 {
                prop_assert!((dot(&a[i * 5..i * 5 + 5], &x) - b[i]).abs() < 1e-9);
            }
        }
    }
}

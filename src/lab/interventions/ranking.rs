//! Comparison of methods by reliability, and its certainty.
//!
//! Methods are compared on the same resamples of examples and of replicates, so effects that they share (of the drawn examples or a strict
//! oracle) cancel. In each resample every method's strength is chosen again (see [`super::optimum`]). The variance over K replicates is too
//! small by the factor (K-1)/K, so deviations from their mean are multiplied by sqrt(K/(K-1)).

use serde::{Deserialize, Serialize};

use super::optimum::Draws;
use stats::replicates::Contrast;
use stats::rng::{below, stream};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// The methods in order of decreasing reliability on the examples themselves; those without an optimum last.
    pub order: Vec<usize>,
    /// `better[a][b]`: share of resamples in which a is more reliable than b. Ties count half; a method without an optimum ranks last.
    pub better: Vec<Vec<f64>>,
    /// `places[a][p]`: share of resamples in which a has rank p (0 is the best).
    pub places: Vec<Vec<f64>>,
    /// Share of resamples with exactly this order.
    pub stability: f64,
}

impl Ranking {
    /// Compares methods by the draws of their optima. `seed` determines the draws of replicates, which are the same for all methods. While
    /// replicates are still running, a method with fewer of them has separate draws.
    ///
    /// # Panics
    /// If the methods have different numbers of resamples.
    pub fn new(methods: &[&Draws], seed: u64) -> Self {
        let count = methods.len();
        let resamples = methods.first().map_or(0, |d| d.rows.len());
        assert!(methods.iter().all(|d| d.rows.len() == resamples), "the methods have different numbers of resamples");
        let replicates = methods.iter().filter_map(|d| d.theta.as_ref().map(Vec::len)).max().unwrap_or(0);
        let mean = |d: &Draws| d.theta.as_ref().map_or(f64::NEG_INFINITY, |t| average(t));
        let order = ordered(&methods.iter().map(|d| mean(d)).collect::<Vec<_>>());
        let mut rng = stream(seed, "replicates of resamples");
        let mut better = vec![vec![0.0; count]; count];
        let mut places = vec![vec![0.0; count]; count];
        let mut same = 0.0;
        for b in 0..resamples {
            let drawn: Vec<usize> = (0..replicates).map(|_| below(&mut rng, replicates as u32) as usize).collect();
            let values: Vec<f64> = methods.iter().map(|d| resampled(d.rows[b].as_deref(), &drawn)).collect();
            for (i, x) in values.iter().enumerate() {
                for (j, y) in values.iter().enumerate() {
                    better[i][j] += if x > y { 1.0 } else { f64::from(u8::from(x == y)) / 2.0 };
                }
            }
            let here = ordered(&values);
            here.iter().enumerate().for_each(|(place, method)| places[*method][place] += 1.0);
            same += f64::from(u8::from(here == order));
        }
        // Counts first and divides last: a sum of shares can round to more than 1.
        let of_all = |count: f64| count / resamples.max(1) as f64;
        for table in [&mut better, &mut places] {
            table.iter_mut().flatten().for_each(|count| *count = of_all(*count));
        }
        let same = of_all(same);
        Self { order, better, places, stability: same }
    }

    /// Pairs (a, b) in which a is better in this comparison, but b is better in `other` (the other oracle or other probe settings).
    pub fn turns(&self, other: &Self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (a, row) in self.better.iter().enumerate() {
            for (b, p) in row.iter().enumerate() {
                if *p > 0.5 && other.better.get(a).and_then(|r| r.get(b)).is_some_and(|q| *q < 0.5) {
                    pairs.push((a, b));
                }
            }
        }
        pairs
    }
}

/// The difference in reliability between two methods, tested over training runs and examples. `None` if either has no
/// best strength, if there is only one training run, or as long as their numbers of training runs differ.
pub fn contrast(a: &Draws, b: &Draws) -> Option<Contrast> {
    let less = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let (theta_a, theta_b) = (a.theta.as_deref()?, b.theta.as_deref()?);
    if theta_a.len() != theta_b.len() {
        return None;
    }
    let rows = a.rows.iter().zip(&b.rows);
    let rows: Vec<Vec<f64>> = rows.filter_map(|(a, b)| Some(less(a.as_deref()?, b.as_deref()?))).collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    Contrast::new(&less(theta_a, theta_b), &rows)
}

/// Mean over the drawn replicates. Their deviations from the mean of all replicates are widened (see the module).
fn resampled(theta: Option<&[f64]>, drawn: &[usize]) -> f64 {
    let Some(theta) = theta else { return f64::NEG_INFINITY };
    let (mean, k) = (average(theta), theta.len());
    if k < 2 {
        return mean;
    }
    let apart = drawn.iter().take(k).map(|i| theta[i % k] - mean).sum::<f64>() / k as f64;
    mean + apart * (k as f64 / (k - 1) as f64).sqrt()
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Indices of the values in decreasing order of value; ties stay in the original order.
fn ordered(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::unit;

    fn draws(centre: f64, between: f64, seed: u64) -> Draws {
        let mut rng = stream(seed, "draws");
        let base: Vec<f64> = (0..4).map(|k| centre + between * (k as f64 - 1.5)).collect();
        let rows = (0..400).map(|_| {
            let e = 0.01 * (unit(&mut rng) - 0.5);
            Some(base.iter().map(|v| v + e).collect())
        });
        Draws { rows: rows.collect(), theta: Some(base) }
    }

    #[test]
    fn clear_ranking_is_certain_and_missing_optimum_is_last() {
        let (good, poor) = (draws(0.8, 0.0, 1), draws(0.5, 0.0, 2));
        let none = Draws { theta: None, rows: vec![None; 400] };
        let r = Ranking::new(&[&none, &poor, &good], 1);
        assert_eq!(r.order, [2, 1, 0]);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(r.better[2][1], 1.0) && close(r.better[1][2], 0.0) && close(r.better[0][0], 0.5));
        assert!(close(r.stability, 1.0) && close(r.places[2][0], 1.0) && close(r.better[0][1], 0.0));
    }

    /// Regression: a sum of a thousand thousandths used to be 1.0000000000000007.
    #[test]
    fn shares_of_resamples_stay_within_1() {
        for resamples in [49, 1_000, 4_001] {
            let certain =
                |value: f64| Draws { rows: vec![Some(vec![value; 2]); resamples], theta: Some(vec![value; 2]) };
            let r = Ranking::new(&[&certain(0.8), &certain(0.5)], 1);
            assert_eq!((r.better[0][1], r.places[0][0], r.stability), (1.0, 1.0, 1.0), "{resamples}");
        }
    }

    /// The same training runs are drawn for both methods, so effects that the methods share cancel.
    #[test]
    fn replicates_are_resampled_jointly() {
        let (a, b) = (draws(0.60, 0.2, 3), draws(0.62, 0.2, 3));
        let r = Ranking::new(&[&a, &b], 1);
        assert!((r.better[1][0] - 1.0).abs() < 1e-9, "{r:?}");
        // Against a method whose replicates agree, only the spread of `a` counts. It is wider than with plain draws of four from four.
        let steady = draws(0.61, 0.0, 4);
        let open = Ranking::new(&[&a, &steady], 1).better[1][0];
        assert!((0.3..0.7).contains(&open), "{open}");
    }

    /// Two methods with five training runs each, which differ only in training: the contrast is the mean of the paired differences, with
    /// their t test.
    #[test]
    fn contrast_pairs_training_runs() {
        let (a, b) = (draws(0.60, 0.02, 3), draws(0.62, 0.02, 4));
        let c = contrast(&a, &b).unwrap();
        assert!((c.mean + 0.02).abs() < 1e-12 && c.p() < 1e-3, "the training runs agree: {c:?}");
        let apart =
            Draws { theta: Some(vec![0.64, 0.63, 0.60, 0.61]), rows: vec![Some(vec![0.64, 0.63, 0.60, 0.61]); 400] };
        let c = contrast(&apart, &a).unwrap();
        assert!(c.df == 3.0 && c.p() > 0.1, "four training runs, two of which reverse the order: {c:?} {}", c.p());
        let none = Draws { theta: None, rows: vec![None; 400] };
        assert!(contrast(&a, &none).is_none());
    }

    #[test]
    fn fewer_replicates_can_be_compared() {
        let a = draws(0.8, 0.01, 1);
        let few = |list: &[f64]| list[..2].to_vec();
        let b = draws(0.5, 0.01, 2);
        let b =
            Draws { theta: b.theta.as_deref().map(few), rows: b.rows.iter().map(|r| r.as_deref().map(few)).collect() };
        assert!((Ranking::new(&[&b, &a], 1).better[1][0] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn reversed_verdicts_are_listed() {
        let (a, b) = (draws(0.7, 0.0, 1), draws(0.6, 0.0, 2));
        let (one, other) = (Ranking::new(&[&a, &b], 1), Ranking::new(&[&b, &a], 1));
        assert_eq!((one.turns(&other), one.turns(&one)), (vec![(0, 1)], vec![]));
    }
}

//! Comparison of two methods on the same training runs.

use probity::stats::replicates::Contrast;
use probity::stats::rng::{stream, unit};
use probity::stats::special::normal_quantile;

const RUNS: usize = 4_000;
const RESAMPLES: usize = 100;

/// Prints the rejection rate under the null hypothesis, and the power at differences in units of the standard deviation of one training
/// run's paired difference. Spreads are the standard deviations of training runs, of examples (common to all training runs), and of
/// examples within a training run.
pub(crate) fn versus() {
    println!("versus | training runs | spreads | difference | p <= .05 | p <= .01 | half-width | n");
    let mut rng = stream(9, "versus");
    let mut normal = || normal_quantile(unit(&mut rng).clamp(1e-12, 1.0 - 1e-12));
    for trainings in [2, 3, 5, 10, 20] {
        for spreads in
            [[1.0, 0.0, 0.0], [1.0, 0.1, 0.3], [1.0, 0.3, 0.3], [1.0, 1.0, 1.0], [0.3, 1.0, 1.0], [0.0, 1.0, 1.0]]
        {
            one(trainings, spreads, 0.0, &mut normal);
        }
    }
    for (trainings, differences) in [(5, [1.0, 1.68, 3.51]), (10, [0.66, 1.0, 1.58]), (20, [0.5, 0.66, 0.95])] {
        for difference in differences {
            one(trainings, [1.0, 0.0, 0.0], difference, &mut normal);
        }
    }
}

fn one(trainings: usize, spreads: [f64; 3], difference: f64, normal: &mut impl FnMut() -> f64) {
    let [training, shared, own] = spreads;
    let (mut rejected, mut certain, mut width) = (0, 0, 0.0);
    for _ in 0..RUNS {
        let common = shared * normal();
        let theta: Vec<f64> =
            (0..trainings).map(|_| difference + common + training * normal() + own * normal()).collect();
        let resample = |normal: &mut dyn FnMut() -> f64| -> Vec<f64> {
            let common = shared * normal();
            theta.iter().map(|t| t + common + own * normal()).collect()
        };
        let rows: Vec<Vec<f64>> = (0..RESAMPLES).map(|_| resample(normal)).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let contrast = Contrast::new(&theta, &rows).expect("trainings");
        rejected += usize::from(contrast.p() <= 0.05);
        certain += usize::from(contrast.p() <= 0.01);
        width += contrast.interval(0.95).half_width() / RUNS as f64;
    }
    let share = |count: usize| count as f64 / RUNS as f64;
    println!(
        "versus | {trainings} | {spreads:?} | {difference} | {:.4} | {:.4} | {width:.3} | {RUNS}",
        share(rejected),
        share(certain)
    );
}

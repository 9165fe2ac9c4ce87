//! Coverage of the interval for the number of training sentences that a bound requires. Its limits follow from the interval for the
//! difference.

use probity::lab::power::compare::{Names, of_tally};
use probity::lab::power::pairs::Pairs;
use probity::lab::power::spec::Spec;
use probity::stats::rng::{stream, unit};
use probity::stats::special::normal_quantile;

const RUNS: usize = 2_000;
/// Parameters of a linear probe on 160 dimensions.
const PARAMETERS: u64 = 161;

/// Prints how often the interval contains the number for the true difference. The accuracies of a side's training runs vary around their
/// mean with the given standard deviation; items are right independently.
pub(crate) fn bound() {
    println!("bound | gap | n | seeds | SD of a training run | covers | runs");
    let spec = Spec::shipped();
    let mut rng = stream(11, "bound");
    for gap in [0.03, 0.1, 0.3] {
        for n in [100, 512] {
            for (seeds, deviation) in
                [(1, 0.0), (1, 0.01), (1, 0.03), (2, 0.0), (2, 0.01), (2, 0.03), (5, 0.0), (5, 0.01), (5, 0.03)]
            {
                let truth = spec.recommended(gap, Some(PARAMETERS)).0.expect("a difference other than 0");
                let mut held = 0;
                for _ in 0..RUNS {
                    let mut side = |accuracy: f64| -> Vec<Vec<f64>> {
                        let mut training = || {
                            let z = normal_quantile(unit(&mut rng).clamp(1e-12, 1.0 - 1e-12));
                            let own = accuracy + deviation * z;
                            (0..n).map(|_| f64::from(u8::from(unit(&mut rng) < own))).collect()
                        };
                        (0..seeds).map(|_| training()).collect()
                    };
                    let (a, b) = (side(0.6 + gap), side(0.6));
                    let pairs = Pairs { a, b, clusters: None, apart: false };
                    let names = Names { a: String::new(), b: String::new(), metric: String::new() };
                    let difference = of_tally(&pairs.tally(), &names, spec.terms()).difference;
                    let within = spec.recommended_within(difference, Some(PARAMETERS));
                    held += usize::from(
                        within.is_some_and(|(least, most)| least <= truth && most.is_none_or(|most| truth <= most)),
                    );
                }
                let share = held as f64 / RUNS as f64;
                println!("bound | {gap} | {n} | {seeds} | {deviation} | {share:.3} | {RUNS}");
            }
        }
    }
}

//! Intervals and tests of two sides on the same items.

use probity::stats::joint::{Joint, Units};
use probity::stats::paired::{Differences, Table};
use probity::stats::rng::{stream, unit};

const LEVEL: f64 = 0.95;
const RUNS: usize = 5_000;

/// Probability that an item takes the draw that its cluster has in common: two fifths of the pairs of items do.
const SHARED: f64 = 0.632_455_532_033_675_9;

/// What two sides say of an item: 1 only the first is right, -1 only the second, 0 otherwise.
fn item(rng: &mut impl rand::RngCore, p01: f64, p10: f64) -> i32 {
    let u = unit(rng);
    i32::from(u < p10) - i32::from((p10..p10 + p01).contains(&u))
}

/// The difference over clusters: equal ones of five and twenty items, and unequal ones of 1 to 13.
pub fn clusters() {
    println!("clusters | items in each | p01 | p10 | covers | width | n");
    let unequal = |n: usize| (0..n).map(|k| 1 + k * 7 % 13).collect::<Vec<usize>>();
    let equal = |n: usize, size: usize| vec![size; n];
    for (sizes, name, p01, p10) in [
        (equal(10, 5), "5", 0.10, 0.05),
        (equal(30, 5), "5", 0.02, 0.02),
        (equal(30, 5), "5", 0.02, 0.06),
        (equal(30, 5), "5", 0.00, 0.04),
        (equal(30, 5), "5", 0.10, 0.05),
        (equal(30, 5), "5", 0.30, 0.28),
        (equal(30, 20), "20", 0.00, 0.04),
        (equal(30, 20), "20", 0.02, 0.06),
        (equal(100, 5), "5", 0.02, 0.06),
        (equal(100, 5), "5", 0.00, 0.04),
        (equal(100, 5), "5", 0.10, 0.05),
        (unequal(30), "1 to 13", 0.02, 0.06),
        (unequal(30), "1 to 13", 0.00, 0.04),
        (unequal(100), "1 to 13", 0.10, 0.05),
    ] {
        let mut rng = stream(sizes.len() as u64, &format!("clusters {name} {p01} {p10}"));
        let (mut held, mut width) = (0, 0.0);
        for _ in 0..RUNS {
            let (mut table, mut sums) = (Table::default(), Vec::new());
            for size in &sizes {
                let common = item(&mut rng, p01, p10);
                let mut sum = 0.0;
                for _ in 0..*size {
                    let own = if unit(&mut rng) < SHARED { common } else { item(&mut rng, p01, p10) };
                    table.add(own >= 0, own <= 0);
                    sum += f64::from(own);
                }
                sums.push(sum);
            }
            let units = Differences { sizes: sizes.iter().map(|s| *s as f64).collect(), sums };
            let joint = Joint { table, shift: units.shift(), units: Units::of(&units, 1) };
            let e = joint.interval(LEVEL);
            held += usize::from(e.lo <= p10 - p01 && p10 - p01 <= e.hi);
            width += (e.hi - e.lo) / RUNS as f64;
        }
        let covers = held as f64 / RUNS as f64;
        println!("{} | {name} | {p01} | {p10} | {covers:.3} | {width:.3} | {RUNS}", sizes.len());
    }
}

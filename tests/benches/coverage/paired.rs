//! Intervals and tests for two sides on the same items.

use probity::lab::power::pilot::Pilot;
use probity::stats::joint::{Joint, Units};
use probity::stats::mcnemar::Test;
use probity::stats::paired::{Differences, Table, difference};
use probity::stats::power::{Discord, power};
use probity::stats::required::{Aim, required};
use probity::stats::rng::{stream, unit};

const LEVEL: f64 = 0.95;
const RUNS: usize = 5_000;
const PILOTS: usize = 1_000;
const AIM: Aim = Aim { target: 0.8, level: 0.05, test: Test::MidP };

/// Probability that an item takes its cluster's common draw. Thus two fifths of the item pairs in a cluster share a draw.
const SHARED: f64 = 0.632_455_532_033_675_9;

/// Simulates an item: 1 if only the first side is right, -1 if only the second, otherwise 0.
fn item(rng: &mut impl rand::Rng, p01: f64, p10: f64) -> i32 {
    let u = unit(rng);
    i32::from(u < p10) - i32::from((p10..p10 + p01).contains(&u))
}

/// Prints the coverage of the difference with clustered items: equal clusters of five and twenty items, and unequal ones of 1 to 13.
pub(crate) fn clusters() {
    println!("clusters | items per cluster | p01 | p10 | covers | width | n");
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

/// Prints, for pilots with n items, the coverage of the intervals for the required number of items and for the power at n. Also prints the
/// estimated type M and type S errors of significant pilots, next to the true errors.
pub(crate) fn pilots() {
    println!("pilots | n | p01 | p10 | needed covers | bounded | power covers | n simulated");
    let mut rng = stream(7, "pilots");
    for (p01, p10) in [(0.0, 0.03), (0.01, 0.03), (0.02, 0.06), (0.05, 0.10), (0.10, 0.20), (0.28, 0.34)] {
        for n in [100, 200, 640] {
            let truth = Discord { p01, p10 };
            let want = required(truth, AIM).expect("an n").for_good as f64;
            let has = power(truth, n, AIM.level, AIM.test).expect("a power");
            let (mut needed, mut bounded, mut covered) = (0, 0, 0);
            let (mut significant, mut named, mut enough, mut size) = (0, 0, 0, 0.0);
            for _ in 0..PILOTS {
                let mut table = Table::default();
                for _ in 0..n {
                    let own = item(&mut rng, p01, p10);
                    table.add(own >= 0, own <= 0);
                }
                let pilot = Pilot::of_table(&table, LEVEL).expect("a pilot");
                let (found, (e, type_m, _)) = (pilot.required(AIM), pilot.power(n, AIM).expect("a power"));
                needed += usize::from(found.lo.is_none_or(|lo| lo <= want) && found.hi.is_none_or(|hi| want <= hi));
                bounded += usize::from(found.hi.is_some());
                covered += usize::from(e.lo <= has.power && has.power <= e.hi);
                significant += usize::from(AIM.test.p(table.only_a, table.only_b) <= AIM.level);
                if let (Some(m), Some(true_m)) = (type_m, has.type_m) {
                    named += 1;
                    enough += usize::from(m >= true_m);
                    size += m.min(100.0);
                }
            }
            let of = |count: usize| count as f64 / PILOTS as f64;
            println!(
                "pilots | {n} | {p01} | {p10} | {:.3} | {:.3} | {:.3} | {PILOTS}",
                of(needed),
                of(bounded),
                of(covered)
            );
            println!(
                "type M | {n} | {p01} | {p10} | true {:.2} | estimated {:.2} on average, in {:.2} of {significant} \
                 significant pilots | at least the true one in {:.2}",
                has.type_m.unwrap_or(f64::NAN),
                size / named as f64,
                named as f64 / significant as f64,
                enough as f64 / named as f64
            );
        }
    }
}

/// Prints rejection rates of McNemar's tests under the null hypothesis, by enumeration, and how often the mid-p test and Tango's interval
/// disagree.
pub(crate) fn levels() {
    println!("level | n | discordant | mid-p | exact | chi2 | corrected | mid-p and Tango disagree");
    for n in [50u64, 100, 500, 1_000] {
        let ln = ln_factorials(n);
        let binomial = |k: u64, n: u64, p: f64| {
            let ways = ln[n as usize] - ln[k as usize] - ln[(n - k) as usize];
            (ways + k as f64 * p.ln() + (n - k) as f64 * (1.0 - p).ln()).exp()
        };
        for rate in [0.04, 0.1, 0.3, 0.6] {
            let mut rejects = [0.0; 4];
            let mut apart = 0.0;
            for m in 0..=n {
                let outer = binomial(m, n, rate);
                if outer < 1e-9 {
                    continue;
                }
                for b in 0..=m {
                    let weight = outer * binomial(b, m, 0.5);
                    if weight < 1e-12 {
                        continue;
                    }
                    let table = Table { both: n - m, only_a: b, only_b: m - b, neither: 0 };
                    for (sum, test) in rejects.iter_mut().zip(Test::ALL) {
                        *sum += weight * f64::from(u8::from(test.p(b, m - b) <= 0.05));
                    }
                    let e = difference(&table, LEVEL);
                    let out = e.lo > 0.0 || e.hi < 0.0;
                    apart += weight * f64::from(u8::from(out != (Test::MidP.p(b, m - b) <= 0.05)));
                }
            }
            let [mid_p, exact, chi2, corrected] = rejects;
            println!("level | {n} | {rate} | {mid_p:.4} | {exact:.4} | {chi2:.4} | {corrected:.4} | {apart:.4}");
        }
    }
}

fn ln_factorials(n: u64) -> Vec<f64> {
    let mut sum = 0.0;
    std::iter::once(0.0)
        .chain((1..=n).map(|k| {
            sum += (k as f64).ln();
            sum
        }))
        .collect()
}

//! `reference/stats`: intervals compared with statsmodels and exact enumeration, and corrections for multiple tests with statsmodels.

use std::path::Path;

use crate::common::{Report, json};
use probity::stats::bootstrap::Resamples;
use probity::stats::corrections::{benjamini_hochberg, holm};
use probity::stats::intervals::{clopper_pearson, wilson};
use serde_json::Value;

crate::harness::tests! {
    Needs::Reference("stats") => [intervals_of_proportions, bootstrap_against_enumeration, corrections_for_several_tests];
}

fn pair(v: &Value) -> [f64; 2] {
    [v[0].as_f64().unwrap(), v[1].as_f64().unwrap()]
}

fn intervals_of_proportions(dir: &Path) {
    let file = json(&dir.join("intervals.json"));
    let mut report = Report::new("stats/intervals");
    for (name, f) in [("wilson", wilson as fn(u64, u64, f64) -> _), ("clopper_pearson", clopper_pearson)] {
        let (mut got, mut want) = (Vec::new(), Vec::new());
        for row in file["proportions"].as_array().unwrap() {
            let number = |key: &str| row[key].as_u64().unwrap();
            let e = f(number("successes"), number("n"), row["level"].as_f64().unwrap());
            got.extend([e.lo, e.hi]);
            want.extend(pair(&row[name]).map(|x| x.clamp(0.0, 1.0)));
        }
        report.close64(name, &got, &want, 1e-9);
    }
    report.finish();
}

fn bootstrap_against_enumeration(dir: &Path) {
    let file = json(&dir.join("intervals.json"));
    let mut report = Report::new("stats/bootstrap");
    for (i, row) in file["bootstrap_mean_enumerated"].as_array().unwrap().iter().enumerate() {
        let values: Vec<f64> = row["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let (lo, hi) = values.iter().fold((f64::MAX, f64::MIN), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
        let e = Resamples::new(values.len(), 10_000, 1).mean(&values, row["level"].as_f64().unwrap());
        let want = ["low", "high"].map(|key| row[key].as_f64().unwrap());
        report.close64(&format!("list {i}"), &[e.lo, e.hi], &want, 0.02 * (hi - lo));
        report.close64(&format!("mean {i}"), &[e.mean], &[row["mean"].as_f64().unwrap()], 1e-12);
    }
    // The interval of an accuracy approaches binomial quantiles; with 10,000 resamples, it may miss them by one or two successes.
    for row in file["proportions"].as_array().unwrap() {
        let (k, n) = (row["successes"].as_u64().unwrap() as usize, row["n"].as_u64().unwrap() as usize);
        let values: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i < k))).collect();
        let level = row["level"].as_f64().unwrap();
        let e = Resamples::new(n, 10_000, 2).mean(&values, level);
        // Error of a simulated quantile: five standard errors of the tail proportion, divided by the density at the quantile.
        let (p, tail) = (k as f64 / n as f64, 0.5 * (1.0 - level));
        let sd = (p * (1.0 - p) / n as f64).sqrt();
        let slack = 5.0 * (tail * (1.0 - tail) / 10_000.0).sqrt() / (tail * 2.0) * sd + 1.0 / n as f64;
        report.close64(&format!("{k} of {n}"), &[e.lo, e.hi], &pair(&row["bootstrap_limit"]), slack + 1e-12);
    }
    report.finish();
}

fn corrections_for_several_tests(dir: &Path) {
    let file = json(&dir.join("multiple_testing.json"));
    let mut report = Report::new("stats/multiple_testing");
    let numbers = |v: &Value| -> Vec<f64> { v.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect() };
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 3, "{}", cases.len());
    for (i, case) in cases.iter().enumerate() {
        let p = numbers(&case["p"]);
        for (name, adjusted) in [("holm", holm(&p)), ("fdr_bh", benjamini_hochberg(&p))] {
            let want = &case[name];
            report.close64(&format!("{name} {i}"), &adjusted, &numbers(&want["adjusted"]), 1e-12);
            let rejected: Vec<bool> =
                want["reject_at_0.05"].as_array().unwrap().iter().map(|v| v.as_bool().unwrap()).collect();
            // A different order of summation can change the result only for values within rounding of 0.05.
            for (q, r) in adjusted.iter().zip(rejected) {
                assert!((*q <= 0.05) == r || (q - 0.05).abs() < 1e-12, "{name} {i}: {q} {r}");
            }
        }
    }
    report.finish();
}

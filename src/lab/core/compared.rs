//! Two runs beside each other: the numbers that both have, with their difference.

use base::numbers::probability;
use base::text::section;
use stats::Estimate;
use stats::mcnemar::chi2_tail;
use stats::special::normal_quantile;

/// A number of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Name of the number, the same in every run that has it.
    pub name: String,
    pub value: Estimate,
    /// Examples behind it.
    pub n: usize,
    /// Level of its interval.
    pub level: f64,
    /// Factor and unit for display: 100 and ` points` for shares.
    pub unit: (f64, &'static str),
}

/// A number that two runs have.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    pub a: Number,
    pub b: Number,
    /// The second minus the first, with the interval for two samples that are drawn independently.
    pub difference: Estimate,
    /// p-value of no difference, by the normal approximation; none where neither number has an interval.
    pub p: Option<f64>,
}

/// The numbers that two runs have in common, in the order of the first. Nothing says which examples both share, so they are taken as
/// unpaired, which is wider than a paired comparison would be.
pub fn common(a: &[Number], b: &[Number]) -> Vec<Common> {
    let beside = |a: &Number| {
        let b = b.iter().find(|b| b.name == a.name)?;
        let z = |level: f64| normal_quantile(0.5 + 0.5 * level);
        let error = |x: &Number| x.value.half_width() / z(x.level);
        let error = error(a).hypot(error(b));
        let mean = b.value.mean - a.value.mean;
        let half = z(a.level) * error;
        let p = (error > 0.0).then(|| chi2_tail((mean / error).powi(2)));
        let difference = Estimate { mean, lo: mean - half, hi: mean + half };
        Some(Common { a: a.clone(), b: b.clone(), difference, p })
    };
    a.iter().filter_map(beside).collect()
}

/// The numbers as aligned lines under the places of the two runs, and how the comparison was made.
pub fn table((a, b): (usize, usize), numbers: &[Common]) -> Vec<String> {
    if numbers.is_empty() {
        return vec!["The runs have no number in common.".into()];
    }
    let row = |c: &Common| {
        let (factor, unit) = c.a.unit;
        let decimals = if factor > 1.0 { 1 } else { 3 };
        let show = |x: f64| format!("{:.decimals$}", factor * x);
        let d = c.difference;
        let p = c.p.map_or("–".into(), probability);
        vec![
            c.a.name.clone(),
            format!("{} (n {})", show(c.a.value.mean), c.a.n),
            format!("{} (n {})", show(c.b.value.mean), c.b.n),
            format!(
                "{:+.decimals$} [{:+.decimals$}, {:+.decimals$}]{unit}",
                factor * d.mean,
                factor * d.lo,
                factor * d.hi
            ),
            p,
        ]
    };
    let (first, second) = (format!("run {a}"), format!("run {b}"));
    let mut out = Vec::new();
    section(
        &mut out,
        "Numbers of both",
        &["number", &first, &second, "difference", "p"],
        numbers.iter().map(row).collect(),
    );
    out.push(
        "Unpaired: the runs do not say which examples they share, so a paired comparison would be narrower."
            .into(),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str, mean: f64, half: f64) -> Number {
        let value = Estimate { mean, lo: mean - half, hi: mean + half };
        Number { name: name.into(), value, n: 100, level: 0.95, unit: (1.0, "") }
    }

    #[test]
    fn only_what_both_runs_have_is_compared() {
        let (a, b) = (
            [number("x", 0.5, 0.03), number("y", 0.1, 0.0)],
            [number("x", 0.6, 0.04), number("z", 1.0, 0.1)],
        );
        let both = common(&a, &b);
        assert_eq!(both.len(), 1);
        let d = both[0].difference;
        assert!((d.mean - 0.1).abs() < 1e-12 && ((d.hi - d.lo) / 2.0 - 0.05).abs() < 1e-12, "{d:?}");
        // 0.1 is four standard errors of 0.05 / 1.96.
        assert!((both[0].p.unwrap() - 8.9e-5).abs() < 1e-5, "{:?}", both[0].p);
        assert!(table((1, 2), &both).iter().any(|line| line.contains("+0.100 [+0.050, +0.150]")));
    }

    #[test]
    fn numbers_without_intervals_have_no_p() {
        let both = common(&[number("x", 1.0, 0.0)], &[number("x", 2.0, 0.0)]);
        assert_eq!((both[0].p, both[0].difference.lo), (None, 1.0));
    }
}

//! McNemar's tests of two classifiers on the same items (McNemar 1947).
//!
//! Only discordant items (exactly one side is right) carry information. Without any, every test here gives p = 1; some libraries give 0 or
//! NaN.

use super::binomial::{at_most, probability};
use base::suggest::unknown;

/// A test of the hypothesis that discordant items favour neither side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The binomial test with half weight for the observed table (Fagerland, Lydersen and Laake 2013). It keeps its level in practice and
    /// matches a score interval; the exact test rejects far less often than its level allows.
    #[default]
    MidP,
    /// The two-sided binomial test: twice the smaller tail, at most 1.
    Exact,
    /// `(b-c)²/(b+c)` against χ² with one degree of freedom.
    Chi2,
    /// `max(0, |b-c|-1)²/(b+c)`, with Edwards' continuity correction.
    Corrected,
}

impl Test {
    /// All tests, the default first.
    pub const ALL: [Self; 4] = [Self::MidP, Self::Exact, Self::Chi2, Self::Corrected];

    /// The name in sentences.
    pub fn title(self) -> &'static str {
        match self {
            Test::MidP => "mid-p McNemar",
            Test::Exact => "exact McNemar",
            Test::Chi2 => "McNemar by chi-square",
            Test::Corrected => "McNemar by corrected chi-square",
        }
    }

    /// The name in options.
    pub fn key(self) -> &'static str {
        match self {
            Test::MidP => "mid_p",
            Test::Exact => "exact",
            Test::Chi2 => "chi2",
            Test::Corrected => "corrected",
        }
    }

    /// The p-value for `b` and `c` discordant items.
    pub fn p(self, b: u64, c: u64) -> f64 {
        match self {
            Test::MidP => mid_p(b, c),
            Test::Exact => exact(b, c),
            Test::Chi2 => chi2(b, c).p,
            Test::Corrected => corrected(b, c).p,
        }
    }
}

impl std::str::FromStr for Test {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|t| t.key() == name);
        found.ok_or_else(|| unknown("test", name, &Self::ALL.map(Self::key)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    pub statistic: f64,
    pub p: f64,
}

/// P(χ²₁ >= x).
pub fn chi2_tail(x: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { libm::erfc((0.5 * x).sqrt()) }
}

/// The exact two-sided p-value for `b` items that only the first got right and `c` that only the second did.
pub fn exact(b: u64, c: u64) -> f64 {
    let n = b.saturating_add(c);
    if n == 0 { 1.0 } else { (2.0 * at_most(b.min(c), n, 0.5)).min(1.0) }
}

/// The exact p-value minus the probability of the observed table; 1 if `b = c`.
pub fn mid_p(b: u64, c: u64) -> f64 {
    let n = b.saturating_add(c);
    if b == c { 1.0 } else { (2.0 * at_most(b.min(c), n, 0.5) - probability(b.min(c), n, 0.5)).clamp(0.0, 1.0) }
}

/// The χ² test without correction.
pub fn chi2(b: u64, c: u64) -> Tested {
    tested(b.abs_diff(c) as f64, b as f64 + c as f64)
}

/// The χ² test with continuity correction. The statistic is 0 if `b = c`; statsmodels squares the -1 and gives 1/(b+c).
pub fn corrected(b: u64, c: u64) -> Tested {
    tested((b.abs_diff(c) as f64 - 1.0).max(0.0), b as f64 + c as f64)
}

fn tested(gap: f64, discordant: f64) -> Tested {
    if discordant == 0.0 {
        return Tested { statistic: 0.0, p: 1.0 };
    }
    let statistic = gap * gap / discordant;
    Tested { statistic, p: chi2_tail(statistic) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_tables() {
        assert!((exact(10, 2) - 0.038_574_218_75).abs() < 1e-15);
        let t = chi2(10, 2);
        assert!((t.statistic - 16.0 / 3.0).abs() < 1e-15 && (t.p - 0.020_921_335_337_794_035).abs() < 1e-15);
        assert!((corrected(10, 2).p - 0.043_308_142_810_791_98).abs() < 1e-15);
        assert_eq!((exact(5, 5), chi2(5, 5).p), (1.0, 1.0));
        assert!((exact(0, 6) - 0.031_25).abs() < 1e-16);
    }

    /// Fagerland, Lydersen and Laake (2013), table 1: 1 and 7 discordant pairs, exact p .070, mid-p .039.
    #[test]
    fn mid_p_value_matches_the_paper() {
        assert!((mid_p(1, 7) - 0.039_062_5).abs() < 1e-15 && (exact(1, 7) - 0.070_312_5).abs() < 1e-15);
        assert_eq!((mid_p(0, 0), mid_p(4, 4)), (1.0, 1.0));
        // At this size, half a discordant item is negligible, so mid-p and χ² agree.
        assert!((mid_p(5_003_000, 4_997_000) - chi2(5_003_000, 4_997_000).p).abs() < 1e-6);
    }

    /// Regression: for equal counts, the statistic used to be the one for a gap of 1 (p = .48 for 1 against 1).
    #[test]
    fn corrected_statistic_is_zero_for_equal_counts() {
        let t = corrected(1, 1);
        assert_eq!((t.statistic, t.p), (0.0, 1.0));
        assert_eq!(corrected(6, 5).p, 1.0);
    }

    #[test]
    fn zero_discordant_pairs_give_p_one() {
        assert_eq!((exact(0, 0), chi2(0, 0).p, corrected(0, 0).p), (1.0, 1.0, 1.0));
        assert_eq!((exact(1, 0), exact(0, 1)), (1.0, 1.0));
    }

    #[test]
    fn ten_million_pairs_are_handled() {
        let p = exact(5_003_000, 4_997_000);
        assert!((p - chi2(5_003_000, 4_997_000).p).abs() < 1e-4, "{p}");
        assert!(exact(u64::from(u32::MAX), 0) == 0.0);
    }

    proptest! {
        #[test]
        fn tests_are_symmetric(b in 0u64..3_000, c in 0u64..3_000) {
            prop_assert_eq!(exact(b, c), exact(c, b));
            prop_assert_eq!(mid_p(b, c), mid_p(c, b));
            prop_assert!(mid_p(b, c) <= exact(b, c));
            prop_assert_eq!(chi2(b, c), chi2(c, b));
            prop_assert!((0.0..=1.0).contains(&exact(b, c)));
            // More discordant pairs on the leading side are more evidence.
            prop_assert!(b < c || exact(b + 1, c) <= exact(b, c) + 1e-12);
            prop_assert!(b < c || mid_p(b + 1, c) <= mid_p(b, c) + 1e-12);
        }
    }
}

//! Exact numbers for scores, so that ties are exact.
//!
//! A model's score over a draw of relations is a sum of fractions with different denominators. Sums of floats break true ties and create
//! false ones. A score is therefore kept twice. A fixed-point number with 80 binary places decides which of two scores is larger. A residue
//! modulo a 61-bit prime decides whether they are equal, in whatever order they were summed.

use std::cmp::Ordering;

/// The Mersenne prime used as modulus; no denominator is a multiple of it.
const PRIME: u64 = (1 << 61) - 1;
/// Number of binary digits after the point of the fixed-point number.
const PLACES: u32 = 80;
/// Upper bound on the fixed-point difference between equal sums of many truncated fractions.
const SLACK: i128 = 1 << 24;

/// An exact sum of fractions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exact {
    fixed: i128,
    residue: u64,
}

impl Exact {
    /// The fraction `n / d`, which may not exceed 2^46.
    ///
    /// # Panics
    /// If the denominator is 0.
    pub fn ratio(n: u64, d: u64) -> Self {
        assert!(d > 0, "a fraction with denominator 0");
        let (n_wide, d_wide) = (u128::from(n), u128::from(d));
        // The integer and fractional parts are divided separately because a joint shift would overflow.
        let (whole, mut rest) = (n_wide / d_wide, n_wide % d_wide);
        let mut fixed = whole << PLACES;
        for place in (0..PLACES).rev() {
            rest <<= 1;
            if rest >= d_wide {
                rest -= d_wide;
                fixed |= 1 << place;
            }
        }
        Self { fixed: fixed as i128, residue: times(n % PRIME, inverse(d % PRIME)) }
    }

    pub fn plus(self, other: Self) -> Self {
        Self { fixed: self.fixed + other.fixed, residue: (self.residue + other.residue) % PRIME }
    }

    /// The number divided by an integer.
    ///
    /// # Panics
    /// If the divisor is 0.
    pub fn over(self, d: u64) -> Self {
        assert!(d > 0, "a fraction with denominator 0");
        Self { fixed: self.fixed / i128::from(d), residue: times(self.residue, inverse(d % PRIME)) }
    }

    pub fn value(self) -> f64 {
        self.fixed as f64 / (1u128 << PLACES) as f64
    }

    /// Compares exactly: `Equal` only if the residues are equal as well.
    pub fn compare(self, other: Self) -> Ordering {
        if (self.fixed - other.fixed).abs() < SLACK && self.residue == other.residue {
            return Ordering::Equal;
        }
        // Different numbers closer than the resolution would need larger denominators than occur here.
        self.fixed.cmp(&other.fixed)
    }
}

impl std::iter::Sum for Exact {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Self::plus)
    }
}

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

/// The inverse modulo the prime, by Fermat's little theorem.
fn inverse(d: u64) -> u64 {
    let (mut result, mut base, mut left) = (1, d, PRIME - 2);
    while left > 0 {
        if left & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn exact_ties_differ_from_float_ties() {
        let of = |list: &[(u64, u64)]| -> Exact { list.iter().map(|(n, d)| Exact::ratio(*n, *d)).sum() };
        let (a, b) = (of(&[(1, 10), (2, 10)]), of(&[(3, 10)]));
        assert!(0.1 + 0.2 != 0.3 && a.compare(b) == Ordering::Equal);
        let (c, d) = (of(&[(1, 3), (1, 7), (11, 21)]), of(&[(1, 1)]));
        assert_eq!(c.compare(d), Ordering::Equal);
        let near = of(&[(1_000_000_006, 1_000_000_007)]);
        assert_eq!(near.compare(of(&[(1_000_000_005, 1_000_000_006)])), Ordering::Greater);
        assert_eq!(of(&[(5, 4)]).over(5).compare(of(&[(1, 4)])), Ordering::Equal);
        assert!((of(&[(7, 2)]).value() - 3.5).abs() < 1e-15);
    }

    proptest! {
        /// Comparing gives the same result as integer arithmetic over a common denominator.
        #[test]
        fn sums_compare_like_fractions(
            a in prop::collection::vec((0u64..40, 1u64..40), 1..6), b in prop::collection::vec((0u64..40, 1u64..40), 1..6),
        ) {
            let common: u128 = a.iter().chain(&b).map(|x| u128::from(x.1)).product();
            let whole = |list: &[(u64, u64)]| -> u128 {
                list.iter().map(|(n, d)| u128::from(*n) * (common / u128::from(*d))).sum()
            };
            let exact = |list: &[(u64, u64)]| -> Exact { list.iter().map(|(n, d)| Exact::ratio(*n, *d)).sum() };
            prop_assert_eq!(exact(&a).compare(exact(&b)), whole(&a).cmp(&whole(&b)));
        }
    }
}

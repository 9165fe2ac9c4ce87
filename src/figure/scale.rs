//! Axes: how data values become positions, and where the ticks stand.

use super::{Axis, Scale};

/// Share of a logarithmic axis that is set aside, at its left edge, for values of zero.
const ZERO_STUB: f64 = 0.07;
/// Ticks that are aimed at.
const TICKS: f64 = 6.0;

/// An axis fitted to its data: maps values to 0..1.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    scale: Scale,
    lo: f64,
    hi: f64,
    /// Whether zero has a place of its own at the left of a logarithmic axis.
    zero: bool,
}

/// A tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Position, 0 to 1.
    pub at: f64,
    /// Text beside it; empty at minor ticks.
    pub label: String,
}

impl Fitted {
    /// Fits an axis to the values that will be drawn on it; its own range wins where it has one. Without any usable value
    /// the axis runs from 0 to 1 (.01 to 1 if logarithmic).
    pub fn new(axis: &Axis, values: impl IntoIterator<Item = f64>) -> Self {
        let usable = |v: f64| v.is_finite() && (axis.scale == Scale::Linear || v > 0.0);
        let (mut lo, mut hi, mut zero) = (f64::INFINITY, f64::NEG_INFINITY, false);
        for v in values {
            zero |= axis.scale == Scale::Log && v == 0.0;
            if usable(v) {
                lo = lo.min(v);
                hi = hi.max(v);
            }
        }
        let fixed = axis.range.filter(|(a, b)| usable(*a) && usable(*b) && a < b);
        let (lo, hi) = match fixed {
            Some(range) => range,
            None if lo > hi => (if axis.scale == Scale::Log { 0.01 } else { 0.0 }, 1.0),
            None => widened(axis.scale, lo, hi),
        };
        Self { scale: axis.scale, lo, hi, zero }
    }

    /// Position of a value, clamped to the axis; none for values that the axis cannot show.
    pub fn place(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.scale == Scale::Log && value < 0.0) {
            return None;
        }
        if self.scale == Scale::Log && value == 0.0 {
            return self.zero.then_some(ZERO_STUB / 3.0);
        }
        let share = match self.scale {
            // Halved, so that the widest possible range does not overflow.
            Scale::Linear => (value / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0),
            Scale::Log => (value.ln() - self.lo.ln()) / (self.hi.ln() - self.lo.ln()),
        };
        // A range too small for floating point has no inside.
        let share = if share.is_nan() { 0.5 } else { share };
        let stub = if self.zero { ZERO_STUB } else { 0.0 };
        Some(stub + share.clamp(0.0, 1.0) * (1.0 - stub))
    }

    /// Position of the gap between zero and the logarithmic axis, where there is one.
    pub fn gap(&self) -> Option<f64> {
        self.zero.then_some(ZERO_STUB * 2.0 / 3.0)
    }

    /// The ticks, from left to right.
    pub fn ticks(&self) -> Vec<Tick> {
        let values = match self.scale {
            Scale::Linear => linear_ticks(self.lo, self.hi),
            Scale::Log => log_ticks(self.lo, self.hi),
        };
        let zero = self.zero.then(|| (0.0, "0".to_owned()));
        let ticks = zero.into_iter().chain(values);
        ticks.filter_map(|(v, label)| Some(Tick { at: self.place(v)?, label })).collect()
    }
}

/// A single value gets an axis around it.
fn widened(scale: Scale, lo: f64, hi: f64) -> (f64, f64) {
    match scale {
        Scale::Log if lo == hi => (lo / 2.0, hi * 2.0),
        Scale::Linear if lo == hi => (lo - 0.5 * lo.abs().max(1.0), hi + 0.5 * hi.abs().max(1.0)),
        _ => (lo, hi),
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(lo: f64, hi: f64) -> Vec<(f64, String)> {
    let raw = hi / TICKS - lo / TICKS;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw * 0.999);
    let Some(step) = step.filter(|s| s.is_normal()) else { return Vec::new() };
    let first = (lo / step - 1e-9).ceil();
    let count = ((hi / step + 1e-9).floor() - first).clamp(0.0, 4.0 * TICKS) as usize;
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    (0..=count)
        .map(|k| {
            let value = (first + k as f64) * step;
            // Adding zero makes a negative zero positive.
            (value, label(value + 0.0, decimals))
        })
        .collect()
}

/// Powers of ten with 2 and 5 between them where there is room; other multiples as minor ticks without a label.
fn log_ticks(lo: f64, hi: f64) -> Vec<(f64, String)> {
    let (first, last) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let decades = hi.log10() - lo.log10();
    let stride = ((decades / 8.0).ceil() as i32).max(1);
    let mut out = Vec::new();
    for exponent in (first..=last).filter(|e| (e - first) % stride == 0) {
        for m in 1..=9 {
            let value = f64::from(m) * 10f64.powi(exponent);
            if !value.is_normal() || value < lo * (1.0 - 1e-9) || value > hi * (1.0 + 1e-9) {
                continue;
            }
            let major = m == 1 || (decades <= 3.5 && (m == 2 || m == 5)) || decades <= 0.8;
            if major || decades <= 5.0 {
                let decimals = (-exponent).clamp(0, 12) as usize;
                out.push((value, if major { label(value, decimals) } else { String::new() }));
            }
        }
    }
    out
}

fn label(value: f64, decimals: usize) -> String {
    if value == 0.0 || (1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.decimals$}");
    }
    format!("{value:.1e}").replace(".0e", "e")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axis(scale: Scale, range: Option<(f64, f64)>) -> Axis {
        Axis { label: String::new(), scale, range }
    }

    fn labels(fitted: &Fitted) -> Vec<String> {
        fitted.ticks().into_iter().map(|t| t.label).filter(|l| !l.is_empty()).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let unit = Fitted::new(&axis(Scale::Linear, Some((0.0, 1.0))), []);
        assert_eq!(labels(&unit), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let rank = Fitted::new(&axis(Scale::Linear, None), [1.0, 40.0]);
        assert_eq!(labels(&rank), ["10", "20", "30", "40"]);
        let epsilon = Fitted::new(&axis(Scale::Log, None), [0.005, 5.0]);
        assert_eq!(labels(&epsilon), ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5"]);
    }

    #[test]
    fn zero_has_a_place_left_of_a_logarithmic_axis() {
        let alpha = Fitted::new(&axis(Scale::Log, None), [0.0, 0.01, 8.0]);
        let (zero, gap) = (alpha.place(0.0).unwrap(), alpha.gap().unwrap());
        assert!(0.0 < zero && zero < gap && gap < alpha.place(0.01).unwrap());
        assert_eq!(labels(&alpha)[0], "0");
        let without = Fitted::new(&axis(Scale::Log, None), [0.01, 8.0]);
        assert_eq!((without.place(0.0), without.gap(), without.place(-1.0)), (None, None, None));
    }

    proptest! {
        #[test]
        fn every_axis_places_its_values_in_order_and_ticks_are_few(
            values in prop::collection::vec(prop::num::f64::ANY, 0..6), log: bool, a in prop::num::f64::ANY, b in prop::num::f64::ANY
        ) {
            let scale = if log { Scale::Log } else { Scale::Linear };
            for range in [None, Some((a, b))] {
                let fitted = Fitted::new(&axis(scale, range), values.iter().copied());
                let ticks = fitted.ticks();
                prop_assert!(ticks.len() < 120);
                prop_assert!(ticks.iter().all(|t| (0.0..=1.0).contains(&t.at)));
                let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
                sorted.sort_by(f64::total_cmp);
                let places: Vec<f64> = sorted.iter().filter_map(|&v| fitted.place(v)).collect();
                prop_assert!(places.iter().all(|p| (0.0..=1.0).contains(p)), "{places:?}");
                prop_assert!(places.is_sorted(), "{sorted:?} {places:?}");
            }
        }
    }
}

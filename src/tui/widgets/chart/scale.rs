//! From data units to positions on an axis, and the ticks between.

use crate::base::numbers::short;
use crate::figure::{Axis, Figure, Layer, Scale};

/// Share of a logarithmic axis that is kept for zero.
const ZERO_GAP: f64 = 0.06;

/// An axis with its range settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mapping {
    scale: Scale,
    lo: f64,
    hi: f64,
    /// Position of `lo`: above 0 where a logarithmic axis also shows zero.
    start: f64,
}

impl Mapping {
    /// The horizontal axis of a figure; none where there are no data.
    pub fn horizontal(figure: &Figure) -> Option<Self> {
        Self::new(&figure.x, data(figure).map(|(x, _)| x))
    }

    /// The vertical axis of a figure; none where there are no data.
    pub fn vertical(figure: &Figure) -> Option<Self> {
        Self::new(&figure.y, data(figure).map(|(_, y)| y))
    }

    fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let shown = |v: &&f64| axis.scale == Scale::Linear || **v > 0.0;
        let (mut lo, mut hi) = axis.range.unwrap_or((
            values.iter().filter(shown).copied().fold(f64::INFINITY, f64::min),
            values.iter().filter(shown).copied().fold(f64::NEG_INFINITY, f64::max),
        ));
        let zero = axis.scale == Scale::Log && values.iter().any(|v| *v <= 0.0);
        if !(lo.is_finite() && hi.is_finite()) {
            // Nothing but zeros on a logarithmic axis.
            (lo, hi) = if zero { (0.1, 1.0) } else { return None };
        }
        if axis.scale == Scale::Log && lo <= 0.0 {
            lo = hi * 1e-3;
        }
        if hi <= lo {
            (lo, hi) = match axis.scale {
                Scale::Linear => (lo - 0.5, lo + 0.5),
                Scale::Log => (lo / 2.0, lo * 2.0),
            };
        }
        Some(Self { scale: axis.scale, lo, hi, start: if zero { ZERO_GAP } else { 0.0 } })
    }

    /// Position of a value, 0 to 1 inside the axis.
    pub fn position(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.lo) / (self.hi - self.lo),
            Scale::Log if value <= 0.0 => return 0.0,
            Scale::Log => (value / self.lo).ln() / (self.hi / self.lo).ln(),
        };
        self.start + share * (1.0 - self.start)
    }

    /// The value at a position.
    pub fn value(&self, position: f64) -> f64 {
        let share = (position - self.start) / (1.0 - self.start);
        match self.scale {
            Scale::Linear => self.lo + share * (self.hi - self.lo),
            Scale::Log if share < -0.2 * self.start => 0.0,
            Scale::Log => self.lo * (self.hi / self.lo).powf(share.max(0.0)),
        }
    }

    /// Whether a line may be drawn between two values: the gap before zero stays open.
    pub fn connects(&self, a: f64, b: f64) -> bool {
        self.scale == Scale::Linear || (a > 0.0 && b > 0.0)
    }

    /// Candidates for ticks with their labels, the most wanted first. Who draws takes those that find room.
    pub fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        let mut values = Vec::new();
        match self.scale {
            Scale::Linear => {
                let step = nice((self.hi - self.lo) / about.max(1) as f64);
                let first = (self.lo / step).ceil() as i64;
                // Ends first, so that crowding costs the middle.
                let last = (self.hi / step + 1e-9).floor() as i64;
                let mut steps: Vec<i64> = (first..=last.min(first.saturating_add(100))).collect();
                steps.sort_by_key(|i| (*i != first && *i != last, i.rem_euclid(2)));
                values.extend(steps.into_iter().map(|i| i as f64 * step));
            }
            Scale::Log => {
                if self.start > 0.0 {
                    values.push(0.0);
                }
                let (first, last) = (self.lo.log10().floor() as i32, self.hi.log10().ceil() as i32);
                for factor in [1.0, 5.0, 2.0] {
                    for decade in first..=last.min(first + 40) {
                        let value = factor * 10f64.powi(decade);
                        if (self.lo * 0.999..=self.hi * 1.001).contains(&value) {
                            values.push(value);
                        }
                    }
                }
            }
        }
        values.into_iter().map(|v| (v, short(v))).collect()
    }
}

fn data(figure: &Figure) -> impl Iterator<Item = (f64, f64)> {
    figure.layers.iter().flat_map(|layer| match layer {
        Layer::Series(series) => series.points.iter().map(|p| (p.x, p.y)).collect(),
        _ => Vec::new(),
    })
}

/// The next larger of 1, 2, 5, 10, ….
fn nice(step: f64) -> f64 {
    let decade = 10f64.powf(step.max(f64::MIN_POSITIVE).log10().floor());
    let factor = step / decade;
    decade * [1.0, 2.0, 5.0].into_iter().find(|f| factor <= *f * 1.000_001).unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axis(scale: Scale) -> Axis {
        Axis { label: String::new(), scale, range: None }
    }

    #[test]
    fn zero_stands_at_the_left_of_a_logarithmic_axis() {
        let m = Mapping::new(&axis(Scale::Log), [0.0, 0.01, 8.0].into_iter()).unwrap();
        assert_eq!((m.position(0.0), m.position(0.01), m.position(8.0)), (0.0, ZERO_GAP, 1.0));
        assert!(!m.connects(0.0, 0.01));
        assert_eq!(m.ticks(5)[0].1, "0");
        assert_eq!(m.value(0.0), 0.0);
    }

    #[test]
    fn ticks_are_round_numbers() {
        let m = Mapping::new(&Axis { range: Some((0.0, 1.0)), ..axis(Scale::Linear) }, [0.3].into_iter())
            .unwrap();
        let labels: Vec<String> = m.ticks(5).into_iter().map(|t| t.1).collect();
        for label in ["0", ".2", ".4", ".6", ".8", "1"] {
            assert!(labels.contains(&label.to_owned()), "{labels:?}");
        }
    }

    #[test]
    fn a_single_point_still_has_an_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            let m = Mapping::new(&axis(scale), [3.0].into_iter()).unwrap();
            assert!((m.position(3.0) - 0.5).abs() < 1e-12);
        }
        assert!(Mapping::new(&axis(Scale::Linear), std::iter::empty()).is_none());
    }

    proptest! {
        #[test]
        fn values_come_back_from_their_positions(a in 1e-4f64..1e3, b in 1e-4f64..1e3, log: bool) {
            prop_assume!((a - b).abs() > 1e-6);
            let m = Mapping::new(&axis(if log { Scale::Log } else { Scale::Linear }), [a, b].into_iter()).unwrap();
            prop_assert!((m.value(m.position(a)) / a - 1.0).abs() < 1e-6);
        }

        #[test]
        fn any_range_has_few_finite_ticks(a in any::<f64>(), b in any::<f64>(), log: bool) {
            if let Some(m) = Mapping::new(&axis(if log { Scale::Log } else { Scale::Linear }), [a, b].into_iter()) {
                prop_assert!(m.ticks(6).len() <= 130);
            }
        }
    }
}

//! Axis tests: tick values are round numbers, labels never overlap, and values map to the right positions.

use super::*;
use proptest::prelude::*;

fn axis(scale: Scale, range: Option<(f64, f64)>) -> Axis {
    Axis { scale, range, ..Axis::default() }
}

fn fitted(scale: Scale, range: Option<(f64, f64)>, values: &[f64]) -> Fitted {
    Fitted::new(&axis(scale, range), values.iter().copied(), false)
}

fn paper(text: &str) -> f64 {
    6.0 * text.len() as f64
}

fn columns(text: &str) -> f64 {
    text.len() as f64
}

fn labels(fitted: &Fitted, length: f64) -> Vec<String> {
    let room = Room { length, gap: 8.0, terse: false, measure: &paper };
    fitted.ticks(&room).into_iter().map(|t| t.label).filter(|l| !l.is_empty()).collect()
}

fn terse(fitted: &Fitted, length: f64) -> Vec<String> {
    let room = Room { length, gap: 2.0, terse: true, measure: &columns };
    fitted.ticks(&room).into_iter().map(|t| t.label).filter(|l| !l.is_empty()).collect()
}

/// Regression: the label of the first decade used to touch the zero label, and all labels but one were removed.
#[test]
fn a_logarithmic_axis_with_a_zero_keeps_its_labels() {
    let axis = fitted(Scale::Log, None, &[0.0, 0.02, 16.0]);
    let named = labels(&axis, 280.0);
    assert!(named.len() >= 4 && named[0] == "0" && named.contains(&"10".to_owned()), "{named:?}");
}

#[test]
fn ticks_are_round_numbers() {
    let unit = fitted(Scale::Linear, Some((0.0, 1.0)), &[]);
    assert_eq!(labels(&unit, 700.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    assert_eq!(labels(&unit, 60.0), ["0.0", "0.5", "1.0"]);
    assert_eq!(terse(&unit, 70.0), ["0", ".2", ".4", ".6", ".8", "1"]);
    // Regression: a rank axis for two ranks used to have a tick at 1.5.
    let two = Fitted::new(&Axis::ranks("rank", 2), [], true);
    assert_eq!(labels(&two, 700.0), ["1", "2"]);
    let rank = fitted(Scale::Linear, None, &[1.0, 40.0]);
    assert_eq!(labels(&rank, 700.0), ["10", "20", "30", "40"]);
    let epsilon = fitted(Scale::Log, None, &[0.005, 5.0]);
    let all = ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5"];
    assert_eq!(labels(&epsilon, 700.0), all);
    assert_eq!(terse(&epsilon, 30.0), [".01", ".1", "1"]);
}

#[test]
fn doublings_and_categories_have_ticks_of_their_own() {
    let n = fitted(Scale::Doubling, None, &[100.0, 800.0, 25_600.0]);
    assert_eq!(labels(&n, 700.0), ["100", "200", "400", "800", "1,600", "3,200", "6,400", "12,800", "25,600"]);
    assert_eq!(terse(&n, 30.0), ["100", "400", "1600", "6400", "25.6k"]);
    let of = |upright| Fitted::new(&Axis::of("", ["a", "b"].map(String::from)), [], upright);
    assert_eq!((of(false).place(0.0), of(false).place(1.0)), (Some(0.25), Some(0.75)));
    assert_eq!(of(true).place(0.0), Some(0.75), "the first category is on top");
    let ranks = Fitted::new(&Axis::ranks("rank", 5), [], true);
    assert_eq!((ranks.place(1.0), ranks.place(5.0)), (Some(1.0), Some(0.0)));
}

#[test]
fn a_narrow_logarithmic_axis_still_has_labels() {
    assert!(labels(&fitted(Scale::Log, None, &[0.3, 0.4]), 700.0).len() > 2);
    assert!(labels(&Fitted::new(&axis(Scale::Log, None), [3.0], true), 700.0).len() > 1);
}

#[test]
fn zero_has_a_place_left_of_a_logarithmic_axis() {
    let alpha = fitted(Scale::Log, None, &[0.0, 0.01, 8.0]);
    let (zero, gap) = (alpha.place(0.0).unwrap(), alpha.gap().unwrap());
    assert!(0.0 < zero && zero < gap && gap < alpha.place(0.01).unwrap());
    assert_eq!(labels(&alpha, 700.0)[0], "0");
    assert_eq!((alpha.value(0.0), alpha.value(zero)), (0.0, 0.0));
    assert!(!alpha.connects(0.0, 0.01) && alpha.connects(0.01, 8.0));
    let without = fitted(Scale::Log, None, &[0.01, 8.0]);
    assert_eq!((without.place(0.0), without.gap(), without.place(-1.0)), (None, None, None));
}

/// Regression: on an axis from 0 or to infinity, a single value near the largest or smallest float used to cause an endless loop over
/// decades.
#[test]
fn an_axis_around_a_single_value_ends_where_numbers_do() {
    for value in [f64::MAX, 1.1e308, f64::MIN_POSITIVE, 5e-324, -f64::MAX] {
        for scale in [Scale::Linear, Scale::Log, Scale::Doubling] {
            let fitted = fitted(scale, None, &[value]);
            let sound = fitted.lo.is_finite() && fitted.hi.is_finite() && fitted.lo < fitted.hi;
            assert!(sound && (scale == Scale::Linear || fitted.lo > 0.0), "{value} {scale:?}: {fitted:?}");
            let ticks = fitted.ticks(&Room { length: 300.0, gap: 2.0, terse: true, measure: &paper });
            assert!(ticks.len() <= MOST + 1, "{value} {scale:?}");
        }
    }
}

proptest! {
    #[test]
    fn every_axis_places_its_values_in_order_and_no_labels_touch(
        values in prop::collection::vec(prop::num::f64::ANY, 0..6), kind in 0usize..3,
        a in prop::num::f64::ANY, b in prop::num::f64::ANY, length in 0.0f64..900.0, short: bool
    ) {
        let scale = [Scale::Linear, Scale::Log, Scale::Doubling][kind];
        for range in [None, Some((a, b))] {
            let fitted = fitted(scale, range, &values);
            let room = Room { length, gap: 2.0, terse: short, measure: &paper };
            let ticks = fitted.ticks(&room);
            prop_assert!(ticks.len() <= MOST + 1, "{}", ticks.len());
            prop_assert!(ticks.iter().all(|t| (0.0..=1.0).contains(&t.at)));
            prop_assert!(fits(&ticks, &room), "{ticks:?}");
            let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
            sorted.sort_by(f64::total_cmp);
            let places: Vec<f64> = sorted.iter().filter_map(|&v| fitted.place(v)).collect();
            prop_assert!(places.iter().all(|p| (0.0..=1.0).contains(p)), "{places:?}");
            prop_assert!(places.is_sorted(), "{sorted:?} {places:?}");
        }
    }

    #[test]
    fn values_come_back_from_their_positions(a in 1e-4f64..1e3, b in 1e-4f64..1e3, log: bool, reversed: bool) {
        prop_assume!((a - b).abs() > 1e-6);
        let axis = Axis { reversed, ..axis(if log { Scale::Log } else { Scale::Linear }, None) };
        let fitted = Fitted::new(&axis, [a, b], false);
        prop_assert!((fitted.value(fitted.place(a).unwrap()) / a - 1.0).abs() < 1e-6);
    }
}

/// Regression: the axis of a control with a single strength used to have ticks at -0.4 and 0.4.
#[test]
fn an_axis_of_one_value_has_one_tick() {
    for (scale, value, label) in [(Scale::Linear, 0.0, "0"), (Scale::Linear, 0.112, "0.112"), (Scale::Log, 8.0, "8")] {
        assert_eq!(labels(&fitted(scale, None, &[value, value]), 700.0), [label]);
    }
    assert!(labels(&fitted(Scale::Linear, Some((0.0, 1.0)), &[0.5]), 700.0).len() > 2);
}

/// Regression: the ticks for a sweep of three strengths used to be at 0.1 and 0.5, where nothing was measured.
#[test]
fn settings_have_ticks_at_their_values_where_they_are_few() {
    let at = |axis: Axis, values: &[f64]| {
        let room = Room { length: 300.0, gap: 4.0, terse: false, measure: &|text| 6.0 * text.len() as f64 };
        let ticks = Fitted::new(&axis, values.iter().copied(), false).ticks(&room);
        ticks.into_iter().filter(|t| !t.label.is_empty()).map(|t| t.label).collect::<Vec<_>>()
    };
    assert_eq!(at(Axis::log("e").of_settings(), &[0.05, 0.8, 0.2, 0.05]), ["0.05", "0.2", "0.8"]);
    assert_eq!(at(Axis::linear("a").of_settings(), &[0.3, 0.7, 1.0]), ["0.3", "0.7", "1"]);
    assert_ne!(at(Axis::log("e"), &[0.05, 0.2, 0.8]), ["0.05", "0.2", "0.8"]);
    let many: Vec<f64> = (0..20).map(|k| 0.5 * f64::from(k)).collect();
    assert_eq!(at(Axis::linear("a").of_settings(), &many), at(Axis::linear("a"), &many));
    // If labels do not fit, ticks are at round values instead.
    assert_eq!(at(Axis::linear("a").of_settings(), &[0.0, 0.001, 1.0]), at(Axis::linear("a"), &[0.0, 0.001, 1.0]));
}

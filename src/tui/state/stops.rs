//! Where sliders stop.

use crate::tui::catalog::OptionEntry;

/// Share of the track, 0 to 1, at which a value stands when stops are spread evenly.
pub fn share_of(stops: &[f64], value: f64) -> f64 {
    let last = stops.len().saturating_sub(1);
    if last == 0 || value.is_nan() {
        return 0.0;
    }
    let above = stops.partition_point(|s| *s < value).min(last);
    let below = above.saturating_sub(1);
    let gap = stops[above] - stops[below];
    let within = if gap > 0.0 { ((value - stops[below]) / gap).clamp(0.0, 1.0) } else { 1.0 };
    (below as f64 + if above == below { 0.0 } else { within }) / last as f64
}

/// The stop that lies `by` steps from a value; values between stops step to their neighbours.
pub fn step_along(stops: &[f64], value: f64, by: i64) -> f64 {
    let last = stops.len() as i64 - 1;
    let (above, below) = (stops.partition_point(|s| *s <= value), stops.partition_point(|s| *s < value));
    let target = if by > 0 { above as i64 + by - 1 } else { below as i64 + by };
    // Past the last stop a value stays: a step up never leads down.
    let stop = stops[target.clamp(0, last.max(0)) as usize];
    if (by > 0 && stop < value) || (by < 0 && stop > value) { value } else { stop }
}

/// Numbers of examples.
pub fn example_stops() -> Vec<f64> {
    [500, 1000, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 48_000, 100_000].map(f64::from).to_vec()
}

/// Correlations.
pub fn phi_stops() -> Vec<f64> {
    (-9..=9).map(|i| f64::from(i) / 10.0).collect()
}

/// Every whole number of a short range, else the default among 1, 2, 5, 10, ….
pub fn option_stops(entry: &OptionEntry) -> Vec<f64> {
    if entry.integer && entry.max - entry.min <= 64.0 {
        let count = (entry.max - entry.min).max(0.0) as u64;
        return (0..=count).map(|i| entry.min + i as f64).collect();
    }
    let mut stops = vec![entry.min, entry.default, entry.max];
    let smallest = if entry.integer { 1.0 } else { entry.max.abs().max(1e-12) * 1e-4 };
    let mut decade = 10f64.powf(smallest.max(entry.min).log10().floor());
    while decade.is_finite() && decade <= entry.max {
        stops.extend(
            [1.0, 2.0, 5.0].map(|m| m * decade).into_iter().filter(|v| (entry.min..=entry.max).contains(v)),
        );
        decade *= 10.0;
    }
    stops.sort_by(f64::total_cmp);
    stops.dedup();
    stops
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::catalog::Catalog;

    #[test]
    fn typed_values_between_stops_step_to_their_neighbours() {
        assert_eq!(step_along(&[1.0, 2.0, 4.0], 3.0, 1), 4.0);
        assert_eq!(step_along(&[1.0, 2.0, 4.0], 3.0, -1), 2.0);
        assert_eq!(step_along(&[1.0], 1.0, 5), 1.0);
    }

    #[test]
    fn every_option_of_every_method_has_stops_within_its_range() {
        for option in Catalog::registered().methods.iter().flat_map(|m| &m.options) {
            let stops = option_stops(option);
            assert!(!stops.is_empty() && stops.len() < 100, "{}: {stops:?}", option.name);
            assert!(stops.contains(&option.default), "{}: {stops:?}", option.name);
            assert!(stops.iter().all(|s| (option.min..=option.max).contains(s)), "{}", option.name);
        }
    }

    proptest! {
        #[test]
        fn a_slider_shows_what_it_was_set_to(i in 0usize..29) {
            let stops = &Catalog::sample().methods[1].parameter.grid;
            let share = share_of(stops, stops[i]);
            prop_assert_eq!((share * (stops.len() - 1) as f64).round() as usize, i);
        }

        #[test]
        fn shares_stay_on_the_track(stops in prop::collection::vec(-1e6f64..1e6, 0..20), value in any::<f64>()) {
            let mut stops = stops;
            stops.sort_by(f64::total_cmp);
            prop_assert!((0.0..=1.0).contains(&share_of(&stops, value)));
        }
    }
}

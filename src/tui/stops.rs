//! Stops of sliders.

/// Position of a value, from 0 to 1, on a track with evenly spaced stops.
pub(crate) fn share_of(stops: &[f64], value: f64) -> f64 {
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

/// The stop `by` steps from a value; a value between stops steps to its neighbours.
pub(crate) fn step_along(stops: &[f64], value: f64, by: i64) -> f64 {
    let last = stops.len() as i64 - 1;
    let (above, below) = (stops.partition_point(|s| *s <= value), stops.partition_point(|s| *s < value));
    let target = if by > 0 { above as i64 + by - 1 } else { below as i64 + by };
    // A value beyond the last stop stays: a step up never decreases it.
    let Some(&stop) = stops.get(target.clamp(0, last.max(0)) as usize) else { return value };
    if (by > 0 && stop < value) || (by < 0 && stop > value) { value } else { stop }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn typed_values_between_stops_step_to_their_neighbours() {
        assert_eq!(step_along(&[1.0, 2.0, 4.0], 3.0, 1), 4.0);
        assert_eq!(step_along(&[1.0, 2.0, 4.0], 3.0, -1), 2.0);
        assert_eq!(step_along(&[1.0], 1.0, 5), 1.0);
        assert_eq!(step_along(&[], 3.0, 1), 3.0, "without stops the value stays");
    }

    proptest! {
        #[test]
        fn slider_shows_its_value(i in 0usize..29) {
            let stops = labs::interventions::parameter::EPSILONS;
            let share = share_of(&stops, stops[i]);
            prop_assert_eq!((share * (stops.len() - 1) as f64).round() as usize, i);
        }

        #[test]
        fn slider_positions_stay_on_the_track(stops in prop::collection::vec(-1e6f64..1e6, 0..20), value in any::<f64>()) {
            let mut stops = stops;
            stops.sort_by(f64::total_cmp);
            prop_assert!((0.0..=1.0).contains(&share_of(&stops, value)));
        }
    }
}

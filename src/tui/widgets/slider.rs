//! The track of a slider.

use crate::state::Glyphs;

/// Draws a slider track of `columns` columns with the knob at `share` of its length (0 to 1).
pub(crate) fn slider(share: f64, columns: usize, glyphs: Glyphs) -> String {
    let (track, knob) = if glyphs == Glyphs::Ascii { ('-', 'O') } else { ('─', '●') };
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let at = (share * columns.saturating_sub(1) as f64).round() as usize;
    (0..columns).map(|i| if i == at { knob } else { track }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knob_stays_on_the_track() {
        assert_eq!(slider(0.0, 4, Glyphs::Braille), "●───");
        assert_eq!(slider(1.0, 4, Glyphs::Ascii), "---O");
        assert_eq!(slider(f64::NAN, 0, Glyphs::Ascii), "");
    }
}

//! Horizontal bars of text characters.

use crate::state::Glyphs;

/// Draws a bar of `columns` columns, filled to a share from 0 to 1.
pub(crate) fn bar(share: f64, columns: usize, glyphs: Glyphs) -> String {
    let (full, empty) = if glyphs == Glyphs::Ascii { ('#', '.') } else { ('▰', '▱') };
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let filled = (share * columns as f64).round() as usize;
    (0..columns).map(|i| if i < filled { full } else { empty }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_width_does_not_depend_on_the_share() {
        assert_eq!(bar(0.5, 4, Glyphs::Braille), "▰▰▱▱");
        for share in [f64::NAN, f64::INFINITY, -1.0, 7.0] {
            assert_eq!(bar(share, 5, Glyphs::Ascii).len(), 5);
        }
    }
}

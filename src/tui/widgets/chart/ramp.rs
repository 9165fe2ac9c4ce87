//! Values as densities, for themes without colour: fuller glyphs for larger values, other glyphs for negative ones.

use figure::layers::{Cells, Shades};
use figure::palette::{self, Rgb};

/// Glyphs from empty to full, for unsigned and positive values; in Unicode and in ASCII.
const RISING: [[char; 5]; 2] = [[' ', '░', '▒', '▓', '█'], [' ', '.', ':', '*', '#']];
/// Glyphs from empty to full, for negative values; in Unicode and in ASCII.
const FALLING: [[char; 5]; 2] = [[' ', '-', '=', '≡', '■'], [' ', '-', '=', 'o', 'O']];

/// The glyph of a value from -1 to 1.
pub(crate) fn signed(share: f64, ascii: bool) -> char {
    let set = if share < 0.0 { &FALLING } else { &RISING };
    set[usize::from(ascii)][level(share.abs())]
}

/// The glyph of a value from 0 to 1.
pub(crate) fn rising(share: f64, ascii: bool) -> char {
    RISING[usize::from(ascii)][level(share)]
}

fn level(share: f64) -> usize {
    // A cast turns NaN into zero.
    (share.clamp(0.0, 1.0) * 4.0).round() as usize
}

/// Position of a value within the range of the cells: from 0 to 1, or from -1 to 1 if signed.
pub(crate) fn share(cells: &Cells, value: f64) -> f64 {
    let (lo, hi) = cells.range;
    let share = if hi > lo { ((value - lo) / (hi - lo)).clamp(0.0, 1.0) } else { 0.5 };
    if cells.shades == Shades::Diverging { 2.0 * share - 1.0 } else { share }
}

pub(crate) fn colour(cells: &Cells, share: f64) -> Rgb {
    if cells.shades == Shades::Diverging { palette::diverging(share) } else { palette::rising(share) }
}

pub(crate) fn glyph(cells: &Cells, share: f64, ascii: bool) -> char {
    if cells.shades == Shades::Diverging { signed(share, ascii) } else { rising(share, ascii) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_and_size_are_readable_without_colour() {
        for ascii in [false, true] {
            let all: std::collections::BTreeSet<char> = (-4..=4).map(|k| signed(f64::from(k) / 4.0, ascii)).collect();
            assert_eq!(all.len(), 9);
            assert!(!ascii || all.iter().all(char::is_ascii));
        }
        assert_eq!((signed(f64::NAN, true), rising(7.0, true)), (' ', '#'));
    }
}

//! The embedded fonts: what a text measures, and the outlines of its letters. No font of the system is ever read.
//!
//! Letters come from Ubuntu Light; what it lacks (arrows, blocks, box drawing) from Hack. A character that neither has, such as
//! Chinese, is drawn as a box with its code point in hexadecimal: visible, and never mistaken for another.

use std::sync::OnceLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::base::packed::packed;

/// Baseline of a text below its middle, in em: half the height of a capital.
pub const MIDDLE: f64 = 0.35;
/// Height of a capital above the baseline with some air, in em.
pub const ASCENT: f64 = 0.78;
/// Depth of letters below the baseline, in em.
pub const DESCENT: f64 = 0.2;

fn faces() -> &'static [Face<'static>] {
    static FACES: OnceLock<Vec<Face<'static>>> = OnceLock::new();
    FACES.get_or_init(|| {
        // Unpacked once; they stay as long as the program runs.
        static BYTES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
        let fonts = [packed!("fonts/ubuntu-light.ttf"), packed!("fonts/hack-regular.ttf")];
        let bytes = BYTES.get_or_init(|| fonts.iter().filter_map(|font| font.bytes().ok()).collect());
        bytes.iter().filter_map(|data| Face::parse(data, 0).ok()).collect()
    })
}

fn glyph(c: char) -> Option<(&'static Face<'static>, GlyphId)> {
    faces().iter().find_map(|face| Some((face, face.glyph_index(c)?)))
}

/// Whether the embedded fonts have this character.
pub fn has(c: char) -> bool {
    glyph(c).is_some()
}

/// Hexadecimal digits of a character that no font has, in two rows of equal length.
fn digits(c: char) -> [String; 2] {
    let code = format!("{:04X}", c as u32);
    let code = if code.len() % 2 == 1 { format!("0{code}") } else { code };
    let (upper, lower) = code.split_at(code.len() / 2);
    [upper.to_owned(), lower.to_owned()]
}

/// Size of the digits in a box, in em of the text.
const DIGIT: f64 = 0.46;
/// Space around a box, in em.
const AROUND: f64 = 0.06;

fn advance(c: char) -> f64 {
    match glyph(c) {
        Some((face, id)) => {
            f64::from(face.glyph_hor_advance(id).unwrap_or(0)) / f64::from(face.units_per_em().max(1))
        }
        None => digits(c).iter().map(|d| width(d, DIGIT)).fold(0.0, f64::max) + 4.0 * AROUND,
    }
}

/// Width of a line of text with letters of this size (em).
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// The text, cut with an ellipsis where it is wider than `room`.
pub fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut left = room - width("…", size);
    let fits = |c: &char| {
        left -= advance(*c) * size;
        left >= 0.0
    };
    let mut out: String = text.chars().take_while(fits).collect();
    out.push('…');
    out
}

/// Something that draws letters. Positions are in the unit of `size`, y downwards.
pub trait Pen {
    /// Fills what was outlined since the last call; even-odd where `hollow`.
    fn fill(&mut self, hollow: bool);
    /// Begins an outline.
    fn move_to(&mut self, x: f64, y: f64);
    /// A straight piece.
    fn line_to(&mut self, x: f64, y: f64);
    /// A piece with one control point.
    fn quad_to(&mut self, cx: f64, cy: f64, x: f64, y: f64);
    /// A piece with two control points.
    fn cubic_to(&mut self, a: (f64, f64), b: (f64, f64), x: f64, y: f64);
    /// Closes an outline.
    fn close(&mut self);
}

struct Placed<'a> {
    pen: &'a mut dyn Pen,
    at: (f64, f64),
    scale: f64,
}

impl Placed<'_> {
    fn map(&self, x: f32, y: f32) -> (f64, f64) {
        (self.at.0 + f64::from(x) * self.scale, self.at.1 - f64::from(y) * self.scale)
    }
}

impl OutlineBuilder for Placed<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.map(x, y);
        self.pen.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.map(x, y);
        self.pen.line_to(x, y);
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        let ((cx, cy), (x, y)) = (self.map(cx, cy), self.map(x, y));
        self.pen.quad_to(cx, cy, x, y);
    }

    fn curve_to(&mut self, ax: f32, ay: f32, bx: f32, by: f32, x: f32, y: f32) {
        let (a, b, (x, y)) = (self.map(ax, ay), self.map(bx, by), self.map(x, y));
        self.pen.cubic_to(a, b, x, y);
    }

    fn close(&mut self) {
        self.pen.close();
    }
}

/// Draws a line of text from its left end on the baseline.
pub fn draw(text: &str, (mut x, y): (f64, f64), size: f64, pen: &mut dyn Pen) {
    for c in text.chars() {
        match glyph(c) {
            Some((face, id)) => {
                let scale = size / f64::from(face.units_per_em().max(1));
                // A blank has no outline.
                if face.outline_glyph(id, &mut Placed { pen, at: (x, y), scale }).is_some() {
                    pen.fill(false);
                }
            }
            None => hex_box(c, (x, y), size, pen),
        }
        x += advance(c) * size;
    }
}

fn hex_box(c: char, (x, y): (f64, f64), size: f64, pen: &mut dyn Pen) {
    let (left, right) = (x + AROUND * size, x + (advance(c) - AROUND) * size);
    let (top, bottom, line) = (y - 0.82 * size, y + 0.14 * size, 0.05 * size);
    for inset in [0.0, line] {
        let (l, r, t, b) = (left + inset, right - inset, top + inset, bottom - inset);
        pen.move_to(l, t);
        pen.line_to(r, t);
        pen.line_to(r, b);
        pen.line_to(l, b);
        pen.close();
    }
    pen.fill(true);
    let [upper, lower] = digits(c);
    for (row, baseline) in [(upper, y - 0.41 * size), (lower, y + 0.04 * size)] {
        let start = (left + right - width(&row, DIGIT * size)) / 2.0;
        // Digits are in the font; if it could not be read, the boxes stay empty.
        if row.chars().all(has) {
            draw(&row, (start, baseline), DIGIT * size, pen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_characters_that_figures_use_are_in_the_fonts() {
        let used = "εαγδθλρστμ∞±≤≥·×→←↑↓–—…′°²³½éüßñçøŁĠĊ▁▔▲△□▒█абвAbc019[]{}#@&%$";
        let missing: String = used.chars().filter(|c| !has(*c)).collect();
        assert_eq!(missing, "");
        assert!(!has('中') && !has('א'), "then say so no longer");
    }

    #[test]
    fn text_measures_and_is_cut() {
        assert!(width("W", 10.0) > width("i", 10.0) && width("", 10.0) == 0.0);
        assert_eq!(cut("short", 10.0, 100.0), "short");
        let long = cut(&"long ".repeat(100), 10.0, 100.0);
        assert!(long.ends_with('…') && width(&long, 10.0) <= 100.0);
        assert_eq!(digits('中'), ["4E", "2D"]);
        assert_eq!(digits('\u{1f600}'), ["01F", "600"]);
    }
}

//! Fonts of a drawing: text measurement and glyph outlines.
//!
//! The embedded fonts are Ubuntu Light and, for characters that it lacks (arrows, blocks, box drawing), Hack. Other characters, such as
//! Chinese, use a system font (`spare`) if one is available; otherwise the character is drawn as a box with its hexadecimal code point.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};
use unicode_width::UnicodeWidthChar;

use base::packed;

/// Distance from the middle of a text down to its baseline, in em: half the height of a capital.
pub(crate) const MIDDLE: f64 = 0.35;
/// Height of a capital above the baseline, with some padding, in em.
pub(crate) const ASCENT: f64 = 0.78;
/// Depth of letters below the baseline, in em.
pub(crate) const DESCENT: f64 = 0.2;

/// Width of the stroke around letters, in em: the embedded font is light and prints too thin.
pub(crate) const WEIGHT: f64 = 0.022;

/// The embedded font files, unpacked once and kept for the life of the process.
fn files() -> &'static [Vec<u8>] {
    static BYTES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let fonts = [packed!("fonts/ubuntu-light.ttf"), packed!("fonts/hack-regular.ttf")];
    BYTES.get_or_init(|| fonts.iter().filter_map(|font| font.bytes().ok()).collect())
}

fn faces() -> &'static [Face<'static>] {
    static FACES: OnceLock<Vec<Face<'static>>> = OnceLock::new();
    FACES.get_or_init(|| files().iter().filter_map(|data| Face::parse(data, 0).ok()).collect())
}

pub(crate) fn data(number: usize) -> Option<&'static [u8]> {
    files().get(number).map(Vec::as_slice)
}

fn measured(face: &Face<'_>, id: GlyphId) -> f64 {
    f64::from(face.glyph_hor_advance(id).unwrap_or(0)) / f64::from(face.units_per_em().max(1))
}

/// Finds the embedded font that has a character, with its glyph and the glyph's width in em.
fn found(c: char) -> Option<(usize, GlyphId, f64)> {
    let (number, face, id) = faces().iter().enumerate().find_map(|(k, face)| Some((k, face, face.glyph_index(c)?)))?;
    Some((number, id, measured(face, id)))
}

/// Like [`found`], but looks up each ASCII character only once, because a figure measures thousands of them.
fn own(c: char) -> Option<(usize, GlyphId, f64)> {
    static ASCII: OnceLock<Vec<Option<(usize, GlyphId, f64)>>> = OnceLock::new();
    match ASCII.get_or_init(|| ('\0'..='\x7f').map(found).collect()).get(c as usize) {
        Some(known) => *known,
        None => found(c),
    }
}

/// Finds the embedded font that has a character, and its glyph.
pub(crate) fn embedded(c: char) -> Option<(usize, u16)> {
    own(c).map(|(number, id, _)| (number, id.0))
}

pub(crate) fn has(c: char) -> bool {
    own(c).is_some()
}

/// Hexadecimal digits of a character's code point, in two rows of equal length.
fn digits(c: char) -> [String; 2] {
    let code = format!("{:04X}", c as u32);
    let code = if code.len() % 2 == 1 { format!("0{code}") } else { code };
    let (upper, lower) = code.split_at(code.len() / 2);
    [upper.to_owned(), lower.to_owned()]
}

/// Size of the digits in a box, in em of the surrounding text.
const DIGIT: f64 = 0.46;
const AROUND: f64 = 0.06;
/// Width of a character that occupies two terminal columns, in em: Chinese characters are square.
const WIDE: f64 = 1.0;
/// Maximum distance of an outline point from the glyph's origin, in em, so that a damaged font cannot draw over the whole figure.
const REACH: f64 = 3.0;

/// A system font, and the characters that it draws.
pub(crate) type SpareFace<'a> = (Face<'a>, &'a BTreeSet<char>);

#[derive(Default)]
pub(crate) struct Fonts<'a> {
    spare: Vec<SpareFace<'a>>,
}

/// A character's glyph and its position in the cell; lengths are in em.
struct Letter<'f> {
    face: &'f Face<'f>,
    id: GlyphId,
    advance: f64,
    /// Distance from the cell's left edge to the glyph's origin.
    shift: f64,
    /// Glyph size relative to the font size.
    share: f64,
    ink: Ink,
}

impl<'a> Fonts<'a> {
    /// Uses only the embedded fonts, so that drawings are identical on every machine.
    pub(crate) fn own() -> Self {
        Self::default()
    }

    /// Uses the embedded fonts, and these system fonts for characters that they lack.
    pub(crate) fn with(spare: Vec<SpareFace<'a>>) -> Self {
        Self { spare }
    }

    pub(crate) fn draws(&self, c: char) -> bool {
        has(c) || self.spare.iter().any(|(_, characters)| characters.contains(&c))
    }

    fn letter(&self, c: char) -> Option<Letter<'_>> {
        if let Some((number, id, advance)) = own(c) {
            return Some(Letter { face: &faces()[number], id, advance, shift: 0.0, share: 1.0, ink: Ink::Light });
        }
        let (face, _) = self.spare.iter().find(|(_, characters)| characters.contains(&c))?;
        let id = face.glyph_index(c)?;
        let natural = measured(face, id).min(3.0);
        if c.width() != Some(2) {
            return Some(Letter { face, id, advance: natural, shift: 0.0, share: 1.0, ink: Ink::Plain });
        }
        // The glyph is centred in its cell, and not wider than the cell.
        let share = if natural > WIDE { WIDE / natural } else { 1.0 };
        let shift = (WIDE - natural * share) / 2.0;
        Some(Letter { face, id, advance: WIDE, shift, share, ink: Ink::Plain })
    }

    fn advance(&self, c: char) -> f64 {
        self.letter(c).map_or_else(|| self.box_width(c), |letter| letter.advance)
    }

    /// Width of the box drawn for a character without a font. A wide character's box is at least as wide as the character.
    fn box_width(&self, c: char) -> f64 {
        let room = digits(c).iter().map(|d| self.width(d, DIGIT)).fold(0.0, f64::max) + 4.0 * AROUND;
        if c.width() == Some(2) { room.max(WIDE) } else { room }
    }

    /// Width of a line of text, in the unit of `size`.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.advance(c)).sum::<f64>() * size
    }

    /// Cuts the text with an ellipsis if it is wider than `room`.
    pub(crate) fn cut(&self, text: &str, size: f64, room: f64) -> String {
        if self.width(text, size) <= room {
            return text.to_owned();
        }
        let mut left = room - self.width("…", size);
        let fits = |c: &char| {
            left -= self.advance(*c) * size;
            left >= 0.0
        };
        let mut out: String = text.chars().take_while(fits).collect();
        out.push('…');
        out
    }

    /// Wraps the text between words into lines of at most `room`; text beyond `most` lines is replaced by an ellipsis.
    pub(crate) fn wrapped(&self, text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let (count, last) = (lines.len(), lines.len() - 1);
            let longer = format!("{} {word}", lines[last]);
            if lines[last].is_empty() {
                lines[last] = word.to_owned();
            } else if count < most && self.width(&longer, size) > room {
                lines.push(word.to_owned());
            } else {
                lines[last] = longer;
            }
        }
        lines.iter().map(|line| self.cut(line, size, room)).collect()
    }

    pub(crate) fn draw(&self, text: &str, (mut x, y): (f64, f64), size: f64, pen: &mut dyn Pen) {
        for c in text.chars() {
            let Some(letter) = self.letter(c) else {
                self.hex_box(c, (x, y), size, pen);
                x += self.box_width(c) * size;
                continue;
            };
            let em = f64::from(letter.face.units_per_em().max(1));
            let at = (x + letter.shift * size, y);
            let mut placed = Placed { pen, at, scale: size * letter.share / em, reach: (REACH * em) as f32 };
            // A space has no outline.
            if letter.face.outline_glyph(letter.id, &mut placed).is_some() {
                pen.fill(letter.ink);
            }
            x += letter.advance * size;
        }
    }

    fn hex_box(&self, c: char, (x, y): (f64, f64), size: f64, pen: &mut dyn Pen) {
        let (left, right) = (x + AROUND * size, x + (self.box_width(c) - AROUND) * size);
        let (top, bottom, line) = (y - 0.82 * size, y + 0.14 * size, 0.05 * size);
        for inset in [0.0, line] {
            let (l, r, t, b) = (left + inset, right - inset, top + inset, bottom - inset);
            pen.move_to(l, t);
            pen.line_to(r, t);
            pen.line_to(r, b);
            pen.line_to(l, b);
            pen.close();
        }
        pen.fill(Ink::Hollow);
        let [upper, lower] = digits(c);
        for (row, baseline) in [(upper, y - 0.41 * size), (lower, y + 0.04 * size)] {
            let start = (left + right - self.width(&row, DIGIT * size)) / 2.0;
            // If the font could not be parsed, boxes stay empty; otherwise it contains the digits.
            if row.chars().all(has) {
                self.draw(&row, (start, baseline), DIGIT * size, pen);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// A letter of the embedded font, which is light and therefore drawn thicker.
    Light,
    /// A letter of a font of normal weight.
    Plain,
    /// Even-odd rule: inner outlines are holes.
    Hollow,
}

/// Receives glyph outlines, in the unit of `size`, with y pointing down.
pub(crate) trait Pen {
    /// Fills the outlines received since the last call.
    fn fill(&mut self, ink: Ink);
    fn move_to(&mut self, x: f64, y: f64);
    fn line_to(&mut self, x: f64, y: f64);
    /// Adds a quadratic Bézier curve.
    fn quad_to(&mut self, cx: f64, cy: f64, x: f64, y: f64);
    /// Adds a cubic Bézier curve.
    fn cubic_to(&mut self, a: (f64, f64), b: (f64, f64), x: f64, y: f64);
    fn close(&mut self);
}

struct Placed<'a> {
    pen: &'a mut dyn Pen,
    at: (f64, f64),
    scale: f64,
    /// Maximum distance from the origin, in font units.
    reach: f32,
}

impl Placed<'_> {
    fn map(&self, x: f32, y: f32) -> (f64, f64) {
        let near = |v: f32| if v.is_finite() { f64::from(v.clamp(-self.reach, self.reach)) } else { 0.0 };
        (self.at.0 + near(x) * self.scale, self.at.1 - near(y) * self.scale)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_characters_that_figures_use_are_in_the_fonts() {
        let used = "εαγδθλρστμ∞±≤≥·×→←↑↓–—…′°²³½éüßñçøŁĠĊ▁▔▲△□▒█абвAbc019[]{}#@&%$";
        let missing: String = used.chars().filter(|c| !has(*c)).collect();
        assert_eq!(missing, "");
        assert!(!has('中') && !has('א'), "the comment on the module says that these are missing");
    }

    #[test]
    fn text_measures_and_is_cut() {
        let fonts = Fonts::own();
        assert!(fonts.width("W", 10.0) > fonts.width("i", 10.0) && fonts.width("", 10.0) == 0.0);
        assert_eq!(fonts.cut("short", 10.0, 100.0), "short");
        let long = fonts.cut(&"long ".repeat(100), 10.0, 100.0);
        assert!(long.ends_with('…') && fonts.width(&long, 10.0) <= 100.0);
        assert_eq!(digits('中'), ["4E", "2D"]);
        assert_eq!(digits('\u{1f600}'), ["01F", "600"]);
    }

    #[test]
    fn a_box_of_a_wide_character_has_the_room_of_the_character() {
        assert!((Fonts::own().width("中文", 10.0) - 20.0).abs() < 1e-9);
        assert!(Fonts::own().width("א", 10.0) < 10.0 && !Fonts::own().draws('中'));
    }
}

//! The fonts of a drawing: text measurement and outlines of letters.
//!
//! Letters come from Ubuntu Light; what it lacks (arrows, blocks, box drawing) from Hack. Both are embedded. A
//! character that neither has, such as Chinese, is drawn by a spare font of the system (`spare`) if the drawing has
//! one, otherwise as a box with its hexadecimal code point, which cannot be mistaken for another character.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};
use unicode_width::UnicodeWidthChar;

use base::packed;

/// Baseline of a text below its middle, in em: half the height of a capital.
pub(crate) const MIDDLE: f64 = 0.35;
/// Height of a capital above the baseline with some air, in em.
pub(crate) const ASCENT: f64 = 0.78;
/// Depth of letters below the baseline, in em.
pub(crate) const DESCENT: f64 = 0.2;

/// Width of the stroke around letters, in em: the embedded font is a light one, which prints too thin.
pub(crate) const WEIGHT: f64 = 0.022;

/// The files of the embedded fonts, unpacked once; they stay as long as the program runs.
fn files() -> &'static [Vec<u8>] {
    static BYTES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let fonts = [packed!("fonts/ubuntu-light.ttf"), packed!("fonts/hack-regular.ttf")];
    BYTES.get_or_init(|| fonts.iter().filter_map(|font| font.bytes().ok()).collect())
}

fn faces() -> &'static [Face<'static>] {
    static FACES: OnceLock<Vec<Face<'static>>> = OnceLock::new();
    FACES.get_or_init(|| files().iter().filter_map(|data| Face::parse(data, 0).ok()).collect())
}

/// The file of an embedded font.
pub(crate) fn data(number: usize) -> Option<&'static [u8]> {
    files().get(number).map(Vec::as_slice)
}

/// Width of a glyph, in em.
fn measured(face: &Face<'_>, id: GlyphId) -> f64 {
    f64::from(face.glyph_hor_advance(id).unwrap_or(0)) / f64::from(face.units_per_em().max(1))
}

/// The embedded font that draws a character, its glyph there, and the glyph's width in em.
fn found(c: char) -> Option<(usize, GlyphId, f64)> {
    let (number, face, id) = faces().iter().enumerate().find_map(|(k, face)| Some((k, face, face.glyph_index(c)?)))?;
    Some((number, id, measured(face, id)))
}

/// As [`found`]. A figure measures thousands of letters, nearly all of them in ASCII: these are looked up once.
fn own(c: char) -> Option<(usize, GlyphId, f64)> {
    static ASCII: OnceLock<Vec<Option<(usize, GlyphId, f64)>>> = OnceLock::new();
    match ASCII.get_or_init(|| ('\0'..='\x7f').map(found).collect()).get(c as usize) {
        Some(known) => *known,
        None => found(c),
    }
}

/// The embedded font that draws a character, and its glyph there.
pub(crate) fn embedded(c: char) -> Option<(usize, u16)> {
    own(c).map(|(number, id, _)| (number, id.0))
}

/// True if the embedded fonts have this character.
pub(crate) fn has(c: char) -> bool {
    own(c).is_some()
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
/// Width of a character that takes two columns in a terminal, in em: Chinese letters are as wide as they are high.
const WIDE: f64 = 1.0;
/// Furthest point of a glyph from its origin, in em: a damaged font cannot draw over the whole figure.
const REACH: f64 = 3.0;

/// A font of the system, and the characters that it draws.
pub(crate) type SpareFace<'a> = (Face<'a>, &'a BTreeSet<char>);

/// The fonts of a drawing.
#[derive(Default)]
pub(crate) struct Fonts<'a> {
    spare: Vec<SpareFace<'a>>,
}

/// Source of a character's outline and its place in the cell; lengths are in em.
struct Letter<'f> {
    face: &'f Face<'f>,
    id: GlyphId,
    /// Width of the cell.
    advance: f64,
    /// From the cell's left edge to the glyph's origin.
    shift: f64,
    /// Size of the glyph, as a share of that of the text.
    share: f64,
    ink: Ink,
}

impl<'a> Fonts<'a> {
    /// The embedded fonts alone: what they draw is the same on every machine.
    pub(crate) fn own() -> Self {
        Self::default()
    }

    /// The embedded fonts, and others for characters that these lack.
    pub(crate) fn with(spare: Vec<SpareFace<'a>>) -> Self {
        Self { spare }
    }

    /// True if one of the fonts draws this character.
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
        // Centred in its cell, and no wider.
        let share = if natural > WIDE { WIDE / natural } else { 1.0 };
        let shift = (WIDE - natural * share) / 2.0;
        Some(Letter { face, id, advance: WIDE, shift, share, ink: Ink::Plain })
    }

    fn advance(&self, c: char) -> f64 {
        self.letter(c).map_or_else(|| self.box_width(c), |letter| letter.advance)
    }

    /// Width of the box of a character that no font has. A wide one has the width that it would have with a font.
    fn box_width(&self, c: char) -> f64 {
        let room = digits(c).iter().map(|d| self.width(d, DIGIT)).fold(0.0, f64::max) + 4.0 * AROUND;
        if c.width() == Some(2) { room.max(WIDE) } else { room }
    }

    /// Width of a line of text with letters of this size (em).
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.advance(c)).sum::<f64>() * size
    }

    /// The text, cut with an ellipsis where it is wider than `room`.
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

    /// The text in lines no wider than `room`, broken between words; what does not fit in `most` lines is cut with an ellipsis.
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

    /// Draws a line of text from its left end on the baseline.
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
            // A blank has no outline.
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
            // Digits are in the font; if it could not be read, the boxes stay empty.
            if row.chars().all(has) {
                self.draw(&row, (start, baseline), DIGIT * size, pen);
            }
        }
    }
}

/// Fill rule of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// A letter of the embedded font, which is a light one.
    Light,
    /// A letter of a font with its own weight.
    Plain,
    /// Even-odd: what lies inside an inner outline stays empty.
    Hollow,
}

/// Something that draws letters. Positions are in the unit of `size`, y downwards.
pub(crate) trait Pen {
    /// Fills what was outlined since the last call.
    fn fill(&mut self, ink: Ink);
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
    /// In units of the font.
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
        assert!(!has('中') && !has('א'), "then say so no longer");
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

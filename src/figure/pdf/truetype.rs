//! Subsets of TrueType fonts: outlines of unused glyphs are removed, and glyph numbers are kept.

use std::collections::{BTreeMap, BTreeSet};

use ttf_parser::{Face, GlyphId, Tag};

/// Tables that a PDF reader needs.
const TABLES: [&[u8; 4]; 9] = [b"cvt ", b"fpgm", b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp", b"prep"];
/// Maximum nesting of composite glyphs.
const DEEPEST: usize = 6;

/// A font reduced to some of its glyphs; lengths are in thousandths of an em.
pub(super) struct Subset {
    /// Font name in the file, with the tag that marks a subset.
    pub name: String,
    pub data: Vec<u8>,
    pub widths: BTreeMap<u16, f64>,
    pub bounds: [f64; 4],
    pub ascent: f64,
    pub descent: f64,
}

/// Reduces a font to these glyphs; `None` if its tables are invalid.
pub(super) fn subset(bytes: &[u8], glyphs: &BTreeSet<u16>) -> Option<Subset> {
    let face = Face::parse(bytes, 0).ok()?;
    let raw = face.raw_face();
    let table = |tag: &[u8; 4]| raw.table(Tag::from_bytes(tag));
    let (glyf, loca) = (table(b"glyf")?, table(b"loca")?);
    let count = face.number_of_glyphs();
    let long = number(table(b"head")?, 50)? == 1;
    let place = |glyph: u16| -> Option<usize> {
        let k = usize::from(glyph);
        match long {
            true => Some(usize::from(number(loca, 4 * k)?) << 16 | usize::from(number(loca, 4 * k + 2)?)),
            false => Some(2 * usize::from(number(loca, 2 * k)?)),
        }
    };
    let outline = |glyph: u16| glyf.get(place(glyph)?..place(glyph.checked_add(1)?)?);
    // The glyph for missing characters and the parts of composite glyphs are kept too.
    let mut kept = glyphs.clone();
    kept.insert(0);
    for _ in 0..DEEPEST {
        let parts: Vec<u16> = kept.iter().filter_map(|g| outline(*g)).flat_map(components).collect();
        kept.extend(parts.into_iter().filter(|g| *g < count));
    }
    let (mut new_glyf, mut new_loca) = (Vec::new(), Vec::new());
    for glyph in 0..count {
        new_loca.extend_from_slice(&(new_glyf.len() as u32).to_be_bytes());
        if kept.contains(&glyph) {
            new_glyf.extend_from_slice(outline(glyph)?);
            new_glyf.resize(new_glyf.len().next_multiple_of(4), 0);
        }
    }
    new_loca.extend_from_slice(&(new_glyf.len() as u32).to_be_bytes());
    let mut head = table(b"head")?.to_vec();
    head.get_mut(50..52)?.copy_from_slice(&[0, 1]);
    let tables = TABLES.into_iter().filter_map(|tag| {
        let data = match tag {
            b"glyf" => new_glyf.clone(),
            b"loca" => new_loca.clone(),
            b"head" => head.clone(),
            _ => table(tag)?.to_vec(),
        };
        Some((tag, data))
    });
    let per_em = 1000.0 / f64::from(face.units_per_em().max(1));
    let width = |g: &u16| f64::from(face.glyph_hor_advance(GlyphId(*g)).unwrap_or(0)) * per_em;
    let bounds = face.global_bounding_box();
    let family = face.names().into_iter().find(|n| n.name_id == ttf_parser::name_id::POST_SCRIPT_NAME);
    let family = family.and_then(|n| n.to_string()).unwrap_or_else(|| "Font".to_owned());
    let family: String = family.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    Some(Subset {
        name: format!("{}+{family}", tag(glyphs)),
        data: assemble(&tables.collect::<Vec<_>>()),
        widths: glyphs.iter().map(|g| (*g, width(g))).collect(),
        bounds: [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|v| f64::from(v) * per_em),
        ascent: f64::from(face.ascender()) * per_em,
        descent: f64::from(face.descender()) * per_em,
    })
}

/// Six letters that identify the subset.
fn tag(glyphs: &BTreeSet<u16>) -> String {
    let mut hash =
        glyphs.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, g| (h ^ u64::from(*g)).wrapping_mul(0x100_0000_01b3));
    let mut letter = || {
        let k = (hash % 26) as u8;
        hash /= 26;
        char::from(b'A' + k)
    };
    (0..6).map(|_| letter()).collect()
}

fn number(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

fn components(outline: &[u8]) -> Vec<u16> {
    const WORDS: u16 = 0x1;
    const SCALE: u16 = 0x8;
    const MORE: u16 = 0x20;
    const TWO_SCALES: u16 = 0x40;
    const MATRIX: u16 = 0x80;
    let mut out = Vec::new();
    if number(outline, 0).is_none_or(|contours| contours < 0x8000) {
        return out;
    }
    let mut at = 10;
    while let Some((flags, glyph)) = number(outline, at).zip(number(outline, at + 2)) {
        out.push(glyph);
        let shift = if flags & WORDS != 0 { 4 } else { 2 };
        let scale = match flags {
            f if f & SCALE != 0 => 2,
            f if f & TWO_SCALES != 0 => 4,
            f if f & MATRIX != 0 => 8,
            _ => 0,
        };
        at += 4 + shift + scale;
        if flags & MORE == 0 {
            break;
        }
    }
    out
}

/// Assembles a font file; `tables` must be sorted by tag.
fn assemble(tables: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let count = tables.len() as u16;
    let power = if count == 0 { 0 } else { count.ilog2() as u16 };
    let range = 16 << power;
    let mut out = 0x0001_0000u32.to_be_bytes().to_vec();
    for value in [count, range, power, (count * 16).saturating_sub(range)] {
        out.extend_from_slice(&value.to_be_bytes());
    }
    let mut place = 12 + 16 * tables.len();
    for (tag, data) in tables {
        out.extend_from_slice(*tag);
        for value in [checksum(data), place as u32, data.len() as u32] {
            out.extend_from_slice(&value.to_be_bytes());
        }
        place += data.len().next_multiple_of(4);
    }
    for (_, data) in tables {
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    out
}

fn checksum(data: &[u8]) -> u32 {
    let word = |chunk: &[u8]| {
        let mut bytes = [0; 4];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u32::from_be_bytes(bytes)
    };
    data.chunks(4).fold(0, |sum, chunk| sum.wrapping_add(word(chunk)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_is_a_small_font_with_the_same_outlines() {
        struct Corners(Vec<(f32, f32)>);
        impl ttf_parser::OutlineBuilder for Corners {
            fn move_to(&mut self, x: f32, y: f32) {
                self.0.push((x, y));
            }
            fn line_to(&mut self, x: f32, y: f32) {
                self.0.push((x, y));
            }
            fn quad_to(&mut self, _: f32, _: f32, x: f32, y: f32) {
                self.0.push((x, y));
            }
            fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, x: f32, y: f32) {
                self.0.push((x, y));
            }
            fn close(&mut self) {}
        }
        for bytes in [epaint_default_fonts::UBUNTU_LIGHT, epaint_default_fonts::HACK_REGULAR] {
            let whole = Face::parse(bytes, 0).unwrap();
            // The last glyph is a composite of two others.
            let glyphs: BTreeSet<u16> = "aR7é".chars().map(|c| whole.glyph_index(c).unwrap().0).collect();
            let subset = subset(bytes, &glyphs).unwrap();
            let part = Face::parse(&subset.data, 0).unwrap();
            assert!(subset.data.len() < bytes.len() / 4, "{} of {}", subset.data.len(), bytes.len());
            for g in glyphs {
                let corners = |face: &Face<'_>| {
                    let mut corners = Corners(Vec::new());
                    face.outline_glyph(GlyphId(g), &mut corners).unwrap();
                    corners.0
                };
                assert_eq!(corners(&whole), corners(&part), "glyph {g}");
            }
        }
        assert!(subset_of_damaged().is_none());
    }

    fn subset_of_damaged() -> Option<Subset> {
        subset(&epaint_default_fonts::HACK_REGULAR[..9_000], &BTreeSet::from([3]))
    }
}

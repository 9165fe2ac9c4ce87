//! PDF export: vector drawing with subsets of the embedded fonts, and provenance in the information dictionary.
//!
//! A PDF is a list of numbered objects and a table of their offsets. This module writes it itself, because a PDF crate would add far more
//! code than is needed. Letters of system fonts, which may not be embedded, are drawn as outlines.

mod truetype;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::canvas::{At, Drawn, Item, Pen, Scene, Type};
use super::font::{self, Ink};
use super::look::Options;
use super::palette::Rgb;
use super::role::Dash;
use super::spare::{self, Spare};
use super::{Figure, FigureError};
use base::text::printable_label;

/// Numbers of the objects that every file has; font objects follow.
const CATALOG: usize = 1;
const PAGES: usize = 2;
const PAGE: usize = 3;
const CONTENT: usize = 4;
const STATES: usize = 5;
const INFO: usize = 6;
const FIRST_FONT: usize = 7;
const FONT_OBJECTS: usize = 5;
/// Distance of a Bézier control point from the end of a quarter circle, as a share of the radius.
const KAPPA: f64 = 0.552_284_749_8;

/// Writes the figure as PDF. Output is reproducible; if characters use system fonts, only on the same machine.
///
/// # Errors
/// [`FigureError::Draw`] if the figure cannot be laid out.
pub(crate) fn to_pdf(figure: &Figure, options: &Options) -> Drawn<Vec<u8>> {
    let find = |foreign: &BTreeSet<char>| Spare::of_system(foreign);
    spare::with_fonts(figure, options.look(), &find, &|scene, fonts| write(figure, scene, fonts))
}

fn write(figure: &Figure, scene: &Scene<'_>, fonts: &[String]) -> Drawn<Vec<u8>> {
    let unit = scene.look.unit;
    let (width, height) = (scene.look.width * unit, scene.height * unit);
    let mut page = Page { out: String::new(), alphas: BTreeSet::new(), used: BTreeMap::new(), last: (0.0, 0.0) };
    // Coordinates are in page units, from the upper left corner with y pointing down.
    page.op(&format!("{} 0 0 {} 0 {} cm 1 j", real(unit), real(-unit), real(height)));
    scene.items.iter().for_each(|item| page.item(scene, item));
    let mut file = File { bytes: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec(), places: BTreeMap::new() };
    file.object(CATALOG, &format!("<< /Type /Catalog /Pages {PAGES} 0 R >>"));
    file.object(PAGES, &format!("<< /Type /Pages /Kids [{PAGE} 0 R] /Count 1 >>"));
    let names: String = page.used.keys().map(|k| format!("/F{k} {} 0 R ", FIRST_FONT + k * FONT_OBJECTS)).collect();
    file.object(
        PAGE,
        &format!(
            "<< /Type /Page /Parent {PAGES} 0 R /MediaBox [0 0 {} {}] /Contents {CONTENT} 0 R \
             /Resources << /Font << {names}>> /ExtGState {STATES} 0 R >> >>",
            real(width),
            real(height)
        ),
    );
    file.packed(CONTENT, "", page.out.as_bytes());
    let state = |a: &u32| format!("/A{a} << /CA {0} /ca {0} >> ", f64::from(*a) / 100.0);
    let states: String = page.alphas.iter().map(state).collect();
    file.object(STATES, &format!("<< {states}>>"));
    file.object(INFO, &info(figure, fonts));
    for (k, used) in &page.used {
        let bytes = font::data(*k).ok_or_else(|| FigureError::Draw("a font cannot be read".into()))?;
        font_objects(&mut file, FIRST_FONT + k * FONT_OBJECTS, bytes, used)?;
    }
    Ok(file.finish())
}

fn info(figure: &Figure, fonts: &[String]) -> String {
    let mut out = format!(
        "<< /Title {} /Producer {}",
        text(&printable_label(&figure.title)),
        text(&format!("Probity {}", env!("CARGO_PKG_VERSION")))
    );
    let lines = figure
        .entries()
        .map(|(k, v)| format!("{}: {}", printable_label(k), printable_label(v)).trim_start_matches(": ").to_owned());
    let fonts = (!fonts.is_empty()).then(|| format!("fonts: {}", printable_label(&fonts.join(", "))));
    let subject: Vec<String> = lines.chain(fonts).collect();
    // Writing to a String cannot fail.
    let _ = write!(out, " /Subject {} >>", text(&subject.join("\n")));
    out
}

/// Formats a string as UTF-16 in hexadecimal, which needs no escaping.
fn text(value: &str) -> String {
    let digits: String = value.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
    format!("<FEFF{digits}>")
}

/// Formats a number with at most three decimals; PDF has no exponents.
fn real(x: f64) -> String {
    let text = format!("{x:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

struct File {
    bytes: Vec<u8>,
    /// Byte offset of each object.
    places: BTreeMap<usize, usize>,
}

impl File {
    fn object(&mut self, number: usize, body: &str) {
        self.places.insert(number, self.bytes.len());
        self.bytes.extend_from_slice(format!("{number} 0 obj\n{body}\nendobj\n").as_bytes());
    }

    fn packed(&mut self, number: usize, entries: &str, data: &[u8]) {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let packed = packed.write_all(data).and_then(|()| packed.finish()).unwrap_or_default();
        self.places.insert(number, self.bytes.len());
        let head = format!("{number} 0 obj\n<< {entries}/Filter /FlateDecode /Length {} >>\nstream\n", packed.len());
        self.bytes.extend_from_slice(head.as_bytes());
        self.bytes.extend_from_slice(&packed);
        self.bytes.extend_from_slice(b"\nendstream\nendobj\n");
    }

    /// Adds the cross-reference table; numbers without an object are marked free.
    fn finish(mut self) -> Vec<u8> {
        let start = self.bytes.len();
        let count = self.places.keys().max().map_or(1, |last| last + 1);
        let mut table = format!("xref\n0 {count}\n");
        for number in 0..count {
            table += &match self.places.get(&number) {
                Some(place) => format!("{place:010} 00000 n \n"),
                None => "0000000000 65535 f \n".to_owned(),
            };
        }
        table +=
            &format!("trailer\n<< /Size {count} /Root {CATALOG} 0 R /Info {INFO} 0 R >>\nstartxref\n{start}\n%%EOF\n");
        self.bytes.extend_from_slice(table.as_bytes());
        self.bytes
    }
}

/// The page's content stream.
struct Page {
    out: String,
    /// Opacities used, in hundredths.
    alphas: BTreeSet<u32>,
    /// Glyphs used in each embedded font, with their characters.
    used: BTreeMap<usize, BTreeMap<u16, char>>,
    /// Last point of the current outline.
    last: At,
}

impl Page {
    fn op(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn path(&mut self, points: &[At]) {
        for (k, (x, y)) in points.iter().enumerate() {
            self.op(&format!("{} {} {}", real(*x), real(*y), if k == 0 { "m" } else { "l" }));
        }
    }

    /// Draws with the given opacity and restores the previous one.
    fn with_alpha(&mut self, alpha: f64, draw: impl FnOnce(&mut Self)) {
        let share = (alpha.clamp(0.0, 1.0) * 100.0).round() as u32;
        if share < 100 {
            self.alphas.insert(share);
            self.op(&format!("q /A{share} gs"));
        } else {
            self.op("q");
        }
        draw(self);
        self.op("Q");
    }

    fn item(&mut self, scene: &Scene<'_>, item: &Item) {
        match item {
            Item::Line { points, pen } => self.with_alpha(pen.alpha, |page| page.line(points, pen)),
            Item::Fill { points, colour, alpha } => self.with_alpha(*alpha, |page| {
                page.op(&format!("{} rg", channels(*colour)));
                page.path(points);
                page.op("f");
            }),
            Item::Disc { at, radius, colour } => self.with_alpha(1.0, |page| page.disc(*at, *radius, *colour)),
            Item::Text { text, at, kind } => self.with_alpha(1.0, |page| page.text(scene, text, *at, kind)),
        }
    }

    fn line(&mut self, points: &[At], pen: &Pen) {
        self.op(&format!("{} RG {} w", channels(pen.colour), real(pen.width)));
        if let Some([on, off]) = pen.pattern() {
            let cap = if pen.dash == Dash::Dotted { " 1 J" } else { "" };
            self.op(&format!("[{} {}] 0 d{cap}", real(on), real(off)));
        }
        self.path(points);
        self.op("S");
    }

    fn disc(&mut self, (x, y): At, radius: f64, colour: Rgb) {
        let (r, k) = (radius, radius * KAPPA);
        self.op(&format!("{} rg {} {} m", channels(colour), real(x + r), real(y)));
        let quarters = [
            [(x + r, y + k), (x + k, y + r), (x, y + r)],
            [(x - k, y + r), (x - r, y + k), (x - r, y)],
            [(x - r, y - k), (x - k, y - r), (x, y - r)],
            [(x + k, y - r), (x + r, y - k), (x + r, y)],
        ];
        for quarter in quarters {
            let numbers: Vec<String> = quarter.iter().map(|(x, y)| format!("{} {}", real(*x), real(*y))).collect();
            self.op(&format!("{} c", numbers.join(" ")));
        }
        self.op("f");
    }

    /// Writes letters of embedded fonts as text and all others as outlines.
    fn text(&mut self, scene: &Scene<'_>, text: &str, at: At, kind: &Type) {
        let start = -kind.along.share() * scene.fonts.width(text, kind.size);
        let (cos, sin) = if kind.upwards { (0, -1) } else { (1, 0) };
        self.op(&format!("{cos} {sin} {} {cos} {} {} cm", -sin, real(at.0), real(at.1)));
        self.op(&format!("{0} rg {0} RG {1} w", channels(kind.colour), real(font::WEIGHT * kind.size)));
        let mut x = start;
        let letters: Vec<(char, Option<(usize, u16)>)> = text.chars().map(|c| (c, font::embedded(c))).collect();
        for run in letters.chunk_by(|a, b| a.1.map(|g| g.0) == b.1.map(|g| g.0)) {
            let part: String = run.iter().map(|(c, _)| c).collect();
            match run[0].1 {
                Some((k, _)) => {
                    let mut glyphs = String::new();
                    for (c, glyph) in run.iter().filter_map(|(c, g)| Some((c, (*g)?.1))) {
                        self.used.entry(k).or_default().insert(glyph, *c);
                        glyphs += &format!("{glyph:04X}");
                    }
                    // Letters are filled and stroked, as in a PNG, and mirrored because y points down.
                    let (size, x) = (real(kind.size), real(x));
                    self.op(&format!("BT /F{k} {size} Tf 2 Tr 1 0 0 -1 {x} 0 Tm <{glyphs}> Tj ET"));
                }
                None => scene.fonts.draw(&part, (x, 0.0), kind.size, self),
            }
            x += scene.fonts.width(&part, kind.size);
        }
    }
}

impl font::Pen for Page {
    fn fill(&mut self, ink: Ink) {
        self.op(if ink == Ink::Hollow { "f*" } else { "f" });
    }

    fn move_to(&mut self, x: f64, y: f64) {
        self.last = (x, y);
        self.op(&format!("{} {} m", real(x), real(y)));
    }

    fn line_to(&mut self, x: f64, y: f64) {
        self.last = (x, y);
        self.op(&format!("{} {} l", real(x), real(y)));
    }

    /// PDF has only cubic Bézier curves.
    fn quad_to(&mut self, cx: f64, cy: f64, x: f64, y: f64) {
        let third = |a: f64, c: f64| a + (c - a) * 2.0 / 3.0;
        let a = (third(self.last.0, cx), third(self.last.1, cy));
        self.cubic_to(a, (third(x, cx), third(y, cy)), x, y);
    }

    fn cubic_to(&mut self, a: At, b: At, x: f64, y: f64) {
        self.last = (x, y);
        let numbers = [a.0, a.1, b.0, b.1, x, y].map(real);
        self.op(&format!("{} c", numbers.join(" ")));
    }

    fn close(&mut self) {
        self.op("h");
    }
}

fn channels(Rgb(r, g, b): Rgb) -> String {
    [r, g, b].map(|c| real(f64::from(c) / 255.0)).join(" ")
}

/// Writes the five objects of an embedded font: font, descendant, metrics, outlines and character map.
fn font_objects(file: &mut File, first: usize, bytes: &[u8], used: &BTreeMap<u16, char>) -> Drawn {
    let subset = truetype::subset(bytes, &used.keys().copied().collect())
        .ok_or_else(|| FigureError::Draw("an embedded font is damaged".into()))?;
    let truetype::Subset { name, data, widths, bounds, ascent, descent } = subset;
    let [descendant, measures, outlines, characters] = [1, 2, 3, 4].map(|k| first + k);
    file.object(
        first,
        &format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /{name} /Encoding /Identity-H \
             /DescendantFonts [{descendant} 0 R] /ToUnicode {characters} 0 R >>"
        ),
    );
    let widths: String = widths.iter().map(|(glyph, width)| format!("{glyph} [{}] ", real(*width))).collect();
    file.object(
        descendant,
        &format!(
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{name} /CIDToGIDMap /Identity \
             /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> \
             /FontDescriptor {measures} 0 R /W [{widths}] >>"
        ),
    );
    let bounds = bounds.map(real).join(" ");
    file.object(
        measures,
        &format!(
            "<< /Type /FontDescriptor /FontName /{name} /Flags 4 /FontBBox [{bounds}] /ItalicAngle 0 \
             /Ascent {} /Descent {} /CapHeight {} /StemV 60 /FontFile2 {outlines} 0 R >>",
            real(ascent),
            real(descent),
            real(ascent)
        ),
    );
    file.packed(outlines, &format!("/Length1 {} ", data.len()), &data);
    let mut map = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n\
         /CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n\
         /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n\
         1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        .to_owned();
    for (glyph, c) in used {
        let units: String = c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("{unit:04X}")).collect();
        map += &format!("1 beginbfchar <{glyph:04X}> <{units}> endbfchar\n");
    }
    map += "endcmap CMapName currentdict /CMap defineresource pop end end\n";
    file.packed(characters, "", map.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn pdf(figure: &Figure) -> Vec<u8> {
        let bytes = to_pdf(figure, &Options::default()).unwrap();
        if let Some(folder) = std::env::var_os("PROBITY_PICTURES") {
            let _ = std::fs::write(std::path::Path::new(&folder).join(format!("{}.pdf", figure.name)), &bytes);
        }
        bytes
    }

    #[test]
    fn every_object_is_where_the_table_says() {
        for figure in samples::all() {
            let bytes = pdf(&figure);
            assert_eq!(bytes, pdf(&figure), "the output must be reproducible");
            let lossy = String::from_utf8_lossy(&bytes);
            let start: usize = lossy.rsplit("startxref\n").next().unwrap().lines().next().unwrap().parse().unwrap();
            assert!(bytes[start..].starts_with(b"xref\n"), "{}", figure.name);
            let table = String::from_utf8(bytes[start..].to_vec()).unwrap();
            let mut objects = 0;
            for (number, line) in table.lines().skip(2).take_while(|l| *l != "trailer").enumerate() {
                if line.ends_with("n ") {
                    let place: usize = line[..10].parse().unwrap();
                    assert!(bytes[place..].starts_with(format!("{number} 0 obj\n").as_bytes()), "{line}");
                    objects += 1;
                }
            }
            assert!(objects >= FIRST_FONT - 1 + FONT_OBJECTS, "{}: {objects}", figure.name);
            assert!(lossy.contains("/FontFile2") && !lossy.contains("/Type3"));
            assert!(bytes.len() < 120_000, "{}: {} bytes", figure.name, bytes.len());
        }
    }

    #[test]
    fn a_pdf_says_where_it_comes_from_and_hostile_text_cannot_leave_its_string() {
        let said = String::from_utf8_lossy(&pdf(&samples::curves())).into_owned();
        let wanted = text("seed: 0");
        assert!(said.contains(wanted.trim_matches(['<', '>']).trim_start_matches("FEFF")));
        for figure in [samples::hostile(), samples::hostile_tokens()] {
            let said = String::from_utf8_lossy(&to_pdf(&figure, &Options::default()).unwrap()).into_owned();
            assert!(!said.contains("<script") && !said.contains("NaN") && !said.contains("inf "));
        }
    }
}

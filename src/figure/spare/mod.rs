//! System fonts for characters in a PNG or PDF that the embedded fonts lack.
//!
//! The file named by `PROBITY_FONT` comes first, then the usual folders. The face that covers most of the missing characters is chosen, and
//! again for the remaining characters, until all are covered or no face helps. Ties are broken by file name and index in a collection, so
//! that a machine always draws a figure in the same way.

mod folders;
mod tables;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ttf_parser::{Face, GlyphId, Style, cmap, name, os2};

use self::tables::{Directory, Source, Table};
use super::canvas::{Drawn, Scene};
use super::font::{Fonts, SpareFace};
use super::look::Look;
use super::{Figure, paper};

pub(crate) const VARIABLE: &str = "PROBITY_FONT";
const MOST_FACES: usize = 4;
/// Scripts that run from right to left or whose letters change shape and join: Hebrew to Burmese, Khmer, and related scripts. Drawn letter
/// by letter, they would be misread, so these characters are drawn as boxes.
const LAID_OUT: [(char, char); 8] = [
    ('\u{590}', '\u{109f}'),
    ('\u{1780}', '\u{18af}'),
    ('\u{1a00}', '\u{1c4f}'),
    ('\u{a800}', '\u{abff}'),
    ('\u{fb1d}', '\u{fdff}'),
    ('\u{fe70}', '\u{fefe}'),
    ('\u{10800}', '\u{11fff}'),
    ('\u{1e800}', '\u{1efff}'),
];
const REGULAR: u16 = 400;

#[derive(Default)]
pub(crate) struct Spare {
    faces: Vec<Loaded>,
    /// True if `PROBITY_FONT` does not name a readable font.
    unreadable: bool,
}

/// A face in memory, with the characters for which it is used.
struct Loaded {
    file: String,
    tables: Vec<Table>,
    characters: BTreeSet<char>,
}

/// A face that covers some of the characters, judged only by its character map.
struct Candidate {
    path: PathBuf,
    directory: Directory,
    has: BTreeSet<char>,
    slanted: bool,
    weight: u16,
    /// True if the name of the face shows that it is made for the language of the text. Chinese, Japanese and Korean write some characters
    /// differently.
    at_home: bool,
}

impl Spare {
    pub(crate) fn of_system(wanted: &BTreeSet<char>) -> Self {
        let named = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from);
        Self::search(named.as_deref(), &folders::usual(), wanted)
    }

    /// Searches the file named by the user first and then the folders.
    pub(crate) fn search(named: Option<&Path>, folders: &[PathBuf], wanted: &BTreeSet<char>) -> Self {
        let mut spare = Self::default();
        let mut left: BTreeSet<char> = wanted.iter().copied().filter(|c| stands_alone(*c)).collect();
        if let Some(path) = named {
            spare.unreadable = Source::open(path).is_none_or(|source| source.directories().is_empty());
            spare.take(candidates(path, &left), &mut left);
        }
        if !left.is_empty() {
            let all = folders::files(folders).into_iter().flat_map(|path| candidates(&path, &left));
            let all = all.collect();
            spare.take(all, &mut left);
        }
        spare
    }

    /// Selects the best candidates one by one until every character is covered or none helps.
    fn take(&mut self, mut candidates: Vec<Candidate>, left: &mut BTreeSet<char>) {
        while !left.is_empty() && self.faces.len() < MOST_FACES {
            // On ties, `min_by_key` returns the first.
            let rank = |c: &Candidate| {
                let adds = c.has.intersection(left).count();
                (Reverse(adds), c.slanted, !c.at_home, c.weight.abs_diff(REGULAR))
            };
            let Some(best) = (0..candidates.len()).min_by_key(|&i| rank(&candidates[i])) else { return };
            let best = candidates.remove(best);
            let has: BTreeSet<char> = best.has.intersection(left).copied().collect();
            if has.is_empty() {
                return;
            }
            let Some(loaded) = best.load(&has) else { continue };
            left.retain(|c| !loaded.characters.contains(c));
            self.faces.push(loaded);
        }
    }

    pub(crate) fn faces(&self) -> Vec<SpareFace<'_>> {
        self.faces.iter().filter_map(|f| Some((tables::face(&f.tables)?, &f.characters))).collect()
    }

    /// Names of the font files, without folders.
    pub(crate) fn names(&self) -> Vec<String> {
        self.faces.iter().map(|f| f.file.clone()).collect()
    }

    /// Caption notes on the meaning of boxes and how to avoid them; `boxed` are the characters drawn as boxes.
    pub(crate) fn notes(&self, boxed: &BTreeSet<char>) -> Vec<String> {
        let mut notes = Vec::new();
        if boxed.iter().any(|c| !stands_alone(*c)) {
            notes.push(
                "right-to-left scripts and scripts with joined letters are drawn as boxes here, and as text in the SVG"
                    .to_owned(),
            );
        }
        if boxed.iter().any(|c| stands_alone(*c)) {
            notes.push("a box with digits represents a character that no available font has".to_owned());
            notes.push(format!("to see it, {}", advice()));
        }
        if self.unreadable {
            notes.push(format!("{VARIABLE} does not name a readable font"));
        }
        notes
    }
}

/// Writes a drawing, given the names of the system fonts that it uses.
pub(crate) type Writer<'a> = &'a dyn Fn(&Scene<'_>, &[String]) -> Drawn<Vec<u8>>;

/// Lays out a figure and calls `write` with the names of its system fonts; `find` returns fonts for characters that the embedded ones lack.
///
/// # Errors
/// Errors from the layout and from `write`.
pub(crate) fn with_fonts(
    figure: &Figure,
    look: Look,
    find: &dyn Fn(&BTreeSet<char>) -> Spare,
    write: Writer<'_>,
) -> Drawn<Vec<u8>> {
    let (mut asked, mut spare) = (BTreeSet::new(), Spare::default());
    loop {
        let fonts = Fonts::with(spare.faces());
        let scene = paper::lay_out(figure, &fonts, &[], look)?;
        let foreign = scene.foreign();
        if foreign.is_empty() {
            return write(&scene, &[]);
        }
        if foreign.is_subset(&asked) {
            let boxed: BTreeSet<char> = foreign.iter().copied().filter(|c| !fonts.draws(*c)).collect();
            return write(&paper::lay_out(figure, &fonts, &spare.notes(&boxed), look)?, &spare.names());
        }
        // Fonts affect which texts are cut, so only the finished drawing shows which characters are still missing.
        asked.extend(foreign);
        drop(scene);
        let found = find(&asked);
        drop(fonts);
        spare = found;
    }
}

/// True if a character's shape does not depend on its neighbours.
fn stands_alone(c: char) -> bool {
    !LAID_OUT.iter().any(|(from, to)| (*from..=*to).contains(&c))
}

fn advice() -> String {
    format!("install a font that contains it (Noto Sans CJK for Chinese), or set {VARIABLE} to its file")
}

/// The system font file used for a character that the embedded fonts lack.
///
/// # Errors
/// Advice if no installed font contains a character.
pub fn spare_font(c: char) -> Result<String, String> {
    let spare = Spare::of_system(&BTreeSet::from([c]));
    if spare.unreadable {
        return Err(format!("{VARIABLE} does not name a readable font"));
    }
    spare.names().first().cloned().ok_or_else(|| format!("PNGs show characters such as {c} as boxes: {}", advice()))
}

/// Faces in a file that cover some of the characters.
fn candidates(path: &Path, wanted: &BTreeSet<char>) -> Vec<Candidate> {
    let Some(source) = Source::open(path) else { return Vec::new() };
    let directories = source.directories();
    let of = |directory: Directory| {
        let map = source.table(&directory, b"cmap")?;
        let has = covered(&map, wanted);
        if has.is_empty() {
            return None;
        }
        let style = source.table(&directory, b"OS/2");
        let style = style.as_deref().and_then(os2::Table::parse);
        let names = source.table(&directory, b"name");
        let names = names.as_deref().and_then(name::Table::parse);
        // A variable font is drawn at regular weight.
        let fixed = style.filter(|_| !directory.has(b"fvar"));
        Some(Candidate {
            path: path.to_owned(),
            has,
            slanted: style.is_some_and(|s| s.style() != Style::Normal),
            weight: fixed.map_or(REGULAR, |s| s.weight().to_number()),
            at_home: names.is_some_and(|n| at_home(&n, wanted)),
            directory,
        })
    };
    directories.into_iter().filter_map(of).collect()
}

/// Characters that a character map maps to a glyph.
fn covered(map: &[u8], wanted: &BTreeSet<char>) -> BTreeSet<char> {
    let Some(map) = cmap::Table::parse(map) else { return BTreeSet::new() };
    let leads = |c: &char| {
        let mut maps = map.subtables.into_iter().filter(cmap::Subtable::is_unicode);
        maps.any(|m| m.glyph_index(u32::from(*c)).is_some_and(|id| id != GlyphId(0)))
    };
    wanted.iter().copied().filter(leads).collect()
}

/// True if the name of a face matches the language of the text: Japanese for kana, Korean for hangul, otherwise simplified Chinese (as in
/// the saliency lab's data).
fn at_home(names: &name::Table<'_>, wanted: &BTreeSet<char>) -> bool {
    let any = |from: char, to: char| wanted.iter().any(|c| (from..=to).contains(c));
    let signs: &[&str] = if any('\u{3040}', '\u{30ff}') {
        &["JP"]
    } else if any('\u{ac00}', '\u{d7a3}') || any('\u{1100}', '\u{11ff}') {
        &["KR"]
    } else {
        &["SC", "CN", "GB"]
    };
    let families = names
        .names
        .into_iter()
        .filter(|n| [name::name_id::FAMILY, name::name_id::TYPOGRAPHIC_FAMILY].contains(&n.name_id));
    let mut words = families.filter_map(|n| n.to_string());
    words.any(|family| family.split_whitespace().any(|word| signs.contains(&word)))
}

impl Candidate {
    /// Loads the face, with those characters for which it has an outline rather than a bitmap. `None` if there are none or the face is
    /// damaged.
    fn load(&self, wanted: &BTreeSet<char>) -> Option<Loaded> {
        let tables = Source::open(&self.path)?.outlines(&self.directory)?;
        let face = tables::face(&tables)?;
        let drawn = |c: &char| {
            let id = face.glyph_index(*c).filter(|id| *id != GlyphId(0));
            id.is_some_and(|id| c.is_whitespace() || outlined(&face, id))
        };
        let characters: BTreeSet<char> = wanted.iter().copied().filter(drawn).collect();
        let file = self.path.file_name()?.to_string_lossy().into_owned();
        (!characters.is_empty()).then_some(Loaded { file, tables, characters })
    }
}

fn outlined(face: &Face<'_>, id: GlyphId) -> bool {
    face.glyph_bounding_box(id).is_some()
}

#[cfg(test)]
pub(super) mod tests;

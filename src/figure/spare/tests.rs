//! Tests with fonts derived from the embedded Hack by replacing its character map, so that no system font is needed.

use ttf_parser::RawFace;

use super::*;
use crate::font::{Fonts, Ink, Pen};

/// The tables of Hack, with each character mapped to the glyph of the given letter.
fn tables(map: &[(char, char)], weight: u16) -> Vec<Table> {
    let hack = epaint_default_fonts::HACK_REGULAR;
    let raw = RawFace::parse(hack, 0).unwrap();
    let face = Face::parse(hack, 0).unwrap();
    let mut sorted = map.to_vec();
    sorted.sort_unstable();
    let groups: Vec<u8> = sorted
        .iter()
        .flat_map(|(c, letter)| [*c as u32, *c as u32, u32::from(face.glyph_index(*letter).unwrap().0)])
        .flat_map(u32::to_be_bytes)
        .collect();
    let mut cmap = [0u16, 1, 3, 10, 0, 12, 12, 0].map(u16::to_be_bytes).concat();
    cmap.extend([16 + groups.len() as u32, 0, sorted.len() as u32].map(u32::to_be_bytes).concat());
    cmap.extend(groups);
    let copy = |r: ttf_parser::TableRecord| (r.tag.to_bytes(), raw.table(r.tag).unwrap().to_vec());
    let mut all: Vec<Table> = raw.table_records.into_iter().map(copy).collect();
    for (tag, bytes) in &mut all {
        match &*tag {
            b"cmap" => bytes.clone_from(&cmap),
            b"OS/2" => bytes[4..6].copy_from_slice(&weight.to_be_bytes()),
            _ => {}
        }
    }
    all
}

/// Writes a table directory followed by the tables; the directory starts at offset `at` of the file.
fn assembled(at: usize, tables: &[Table]) -> Vec<u8> {
    let mut head = [0, 1, 0, 0].to_vec();
    head.extend([tables.len() as u16, 0, 0, 0].map(u16::to_be_bytes).concat());
    let first = at + 12 + 16 * tables.len();
    let mut data = Vec::new();
    for (tag, bytes) in tables {
        head.extend(tag);
        head.extend([0, (first + data.len()) as u32, bytes.len() as u32].map(u32::to_be_bytes).concat());
        data.extend(bytes);
    }
    [head, data].concat()
}

/// Makes a font with these characters, each drawn as the letter of Hack that is paired with it.
pub(crate) fn font(map: &[(char, char)], weight: u16) -> Vec<u8> {
    assembled(0, &tables(map, weight))
}

fn collection(faces: &[Vec<Table>]) -> Vec<u8> {
    let mut at = 12 + 4 * faces.len();
    let (mut starts, mut rest) = (Vec::new(), Vec::new());
    for tables in faces {
        starts.extend((at as u32).to_be_bytes());
        let face = assembled(at, tables);
        at += face.len();
        rest.extend(face);
    }
    let mut head = b"ttcf\0\x01\0\0".to_vec();
    head.extend((faces.len() as u32).to_be_bytes());
    [head, starts, rest].concat()
}

fn search(files: &[(&str, Vec<u8>)], named: Option<&str>, wanted: &str) -> Spare {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let named = named.map(|name| folder.path().join(name));
    Spare::search(named.as_deref(), &[folder.path().join("fonts")], &wanted.chars().collect())
}

fn draws(spare: &Spare, text: &str) -> bool {
    let fonts = Fonts::with(spare.faces());
    text.chars().all(|c| fonts.draws(c))
}

#[derive(Default, PartialEq, Debug)]
struct Corners {
    at: Vec<(f64, f64)>,
    inks: Vec<Ink>,
}

impl Pen for Corners {
    fn fill(&mut self, ink: Ink) {
        self.inks.push(ink);
    }
    fn move_to(&mut self, x: f64, y: f64) {
        self.at.push((x, y));
    }
    fn line_to(&mut self, x: f64, y: f64) {
        self.at.push((x, y));
    }
    fn quad_to(&mut self, _: f64, _: f64, x: f64, y: f64) {
        self.at.push((x, y));
    }
    fn cubic_to(&mut self, _: (f64, f64), _: (f64, f64), x: f64, y: f64) {
        self.at.push((x, y));
    }
    fn close(&mut self) {}
}

fn corners(spare: &Spare, text: &str) -> Corners {
    let mut corners = Corners::default();
    Fonts::with(spare.faces()).draw(text, (0.0, 0.0), 10.0, &mut corners);
    corners
}

#[test]
fn a_font_of_the_system_draws_what_the_embedded_one_lacks_two_columns_wide() {
    let spare = search(&[("fonts/a/b/han.TTF", font(&[('中', 'M'), ('文', 'W')], 400))], None, "中文");
    assert!(draws(&spare, "中文") && spare.names() == ["han.TTF"] && spare.notes(&BTreeSet::new()).is_empty());
    assert!((Fonts::with(spare.faces()).width("中文", 10.0) - 20.0).abs() < 1e-9);
    let drawn = corners(&spare, "中文");
    assert_eq!(drawn.inks, [Ink::Plain, Ink::Plain]);
    let (left, right): (Vec<_>, Vec<_>) = drawn.at.iter().partition(|(x, _)| *x < 10.0);
    let middle = |at: &[&(f64, f64)]| {
        let each = || at.iter().map(|(x, _)| *x);
        (each().fold(f64::INFINITY, f64::min) + each().fold(f64::NEG_INFINITY, f64::max)) / 2.0
    };
    assert!((middle(&left) - 5.0).abs() < 0.3 && (middle(&right) - 15.0).abs() < 0.3);
    // A narrow character keeps its width from the font.
    let narrow = search(&[("fonts/h.ttf", font(&[('Ꭰ', 'x')], 400))], None, "Ꭰ");
    assert!((Fonts::with(narrow.faces()).width("Ꭰ", 10.0) - 6.02).abs() < 0.05);
}

#[test]
fn without_a_font_boxes_stay_and_the_note_says_what_to_install() {
    let spare = search(&[("fonts/a.ttf", font(&[('日', 'M')], 400)), ("fonts/b.txt", Vec::new())], None, "中");
    assert!(!draws(&spare, "中") && spare.names().is_empty());
    let notes = spare.notes(&BTreeSet::from(['中'])).join(" ");
    assert!(notes.contains("a box with digits") && notes.contains("Noto Sans CJK") && notes.contains(VARIABLE));
    assert_eq!(corners(&spare, "中").inks[0], Ink::Hollow);
}

/// Regression: Hebrew used to be drawn letter by letter from left to right, and thus backwards.
#[test]
fn right_to_left_text_is_drawn_as_boxes_with_a_note() {
    let spare =
        search(&[("fonts/a.ttf", font(&[('א', 'x'), ('ب', 'x'), ('क', 'x'), ('中', 'M')], 400))], None, "אبक中");
    assert!(draws(&spare, "中") && ['א', 'ب', 'क'].iter().all(|c| !draws(&spare, &c.to_string())));
    let notes = spare.notes(&BTreeSet::from(['א'])).join(" ");
    assert!(notes.contains("right-to-left") && !notes.contains("install"), "{notes}");
}

#[test]
fn every_face_of_a_collection_is_tried() {
    let faces = [tables(&[('日', 'M')], 400), tables(&[('中', 'M'), ('文', 'W')], 400)];
    let spare = search(&[("fonts/c.ttc", collection(&faces))], None, "中文");
    assert!(draws(&spare, "中文") && spare.names() == ["c.ttc"]);
}

#[test]
fn the_face_with_the_most_characters_comes_first_then_the_ordinary_weight_then_the_name() {
    let (one, two): (&[_], &[_]) = (&[('中', 'M')], &[('中', 'M'), ('文', 'W')]);
    let files = [
        ("fonts/a.ttf", font(one, 400)),
        ("fonts/b.ttf", font(two, 900)),
        ("fonts/c.ttf", font(two, 400)),
        ("fonts/d.ttf", font(two, 400)),
    ];
    for _ in 0..3 {
        assert_eq!(search(&files, None, "中文").names(), ["c.ttf"]);
    }
    // A second font covers the characters that the first lacks.
    let rest = ("fonts/e.ttf", font(&[('日', 'E')], 400));
    let spare = search(&[&files[..], &[rest]].concat(), None, "中文日本");
    assert!(spare.names() == ["c.ttf", "e.ttf"] && draws(&spare, "中文日") && !draws(&spare, "本"));
}

#[test]
fn a_named_file_wins_over_the_search() {
    let files = [
        ("own.ttf", font(&[('中', 'i')], 400)),
        ("fonts/a.ttf", font(&[('中', 'M'), ('文', 'W')], 400)),
        ("none.ttf", b"no font".to_vec()),
    ];
    let spare = search(&files, Some("own.ttf"), "中文");
    assert!(spare.names() == ["own.ttf", "a.ttf"] && draws(&spare, "中文") && spare.notes(&BTreeSet::new()).is_empty());
    assert_ne!(corners(&spare, "中"), corners(&search(&files, None, "中文"), "中"));
    for wrong in ["none.ttf", "missing.ttf", "fonts"] {
        let spare = search(&files, Some(wrong), "中文");
        let notes = spare.notes(&BTreeSet::new());
        assert!(draws(&spare, "中文") && notes.len() == 1 && notes[0].contains(VARIABLE), "{wrong}: {notes:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_that_run_in_circles_and_pipes_end_the_search() {
    let folder = tempfile::tempdir().unwrap();
    let fonts = folder.path().join("fonts");
    std::fs::create_dir_all(fonts.join("inner")).unwrap();
    std::os::unix::fs::symlink(&fonts, fonts.join("inner/again")).unwrap();
    std::os::unix::fs::symlink("self.ttf", fonts.join("self.ttf")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", fonts.join("zero.ttf")).unwrap();
    std::fs::write(folder.path().join("elsewhere.ttf"), font(&[('中', 'M')], 400)).unwrap();
    // Package managers create links to single files.
    std::os::unix::fs::symlink("../../elsewhere.ttf", fonts.join("inner/linked.ttf")).unwrap();
    let found = folders::files(&[fonts.clone(), fonts.join("inner/again"), fonts.clone()]);
    assert_eq!(found, [fonts.join("inner/linked.ttf")]);
    assert!(draws(&Spare::search(None, &[fonts], &BTreeSet::from(['中'])), "中"));
}

#[test]
fn damaged_fonts_do_no_harm() {
    let whole = collection(&[tables(&[('中', 'M'), ('文', 'g')], 400)]);
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for round in 0..120 {
        let mut bytes = whole.clone();
        if round % 3 == 0 {
            bytes.truncate(random(whole.len()));
        } else {
            // Half of the damaged bytes are in the directory, where they have the most effect.
            for k in 0..40 {
                let at = random(if k % 2 == 0 { 400 } else { whole.len() }).min(bytes.len() - 1);
                // The signature is never damaged, because without it the file is not read.
                bytes[at.max(4)] = random(256) as u8;
            }
        }
        let spare = search(&[("fonts/a.ttc", bytes)], None, "中文");
        let reach = corners(&spare, "中文").at.iter().fold(0.0f64, |r, (x, y)| r.max(x.abs()).max(y.abs()));
        assert!(reach <= 60.0, "round {round}: {reach}");
    }
}

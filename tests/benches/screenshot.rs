//! Draws the program's screen as a PNG for the README. The program runs on a pseudo-terminal of 120x40 and receives keys; its final screen
//! is painted cell by cell.
//!
//! Usage: `cargo bench --bench screenshot -- OUT.png SECONDS KEYS ARGUMENTS...`, for example `cargo bench --bench screenshot --
//! assets/screenshot.png 3 '' replay sessions/agreement.probity.jsonl --speed 1000`. Waits `SECONDS` before the keys and after each of
//! them.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, Rect, Transform};
use ttf_parser::{Face, OutlineBuilder};
use vt100::{Cell, Parser, Screen};

/// Rows and columns of the terminal.
const SIZE: (u16, u16) = (40, 120);
/// Width and height of a cell in pixels. Letters are as wide as their cell.
const CELL: (f32, f32) = (9.0, 17.0);
/// Space around the screen in pixels.
const MARGIN: f32 = 8.0;
/// Default foreground and background colours.
const FOREGROUND: [u8; 3] = [0xd8, 0xd8, 0xd8];
const BACKGROUND: [u8; 3] = [0x16, 0x18, 0x1d];
/// The sixteen standard terminal colours.
const NAMED: [[u8; 3]; 16] = [
    [0x1d, 0x1f, 0x21],
    [0xcc, 0x66, 0x66],
    [0x98, 0xb8, 0x5c],
    [0xd8, 0xb0, 0x5c],
    [0x5f, 0x9f, 0xd8],
    [0xb2, 0x7f, 0xc4],
    [0x5a, 0xb8, 0xb0],
    [0xc5, 0xc8, 0xc6],
    [0x70, 0x73, 0x78],
    [0xe8, 0x7f, 0x7f],
    [0xb4, 0xd4, 0x74],
    [0xf0, 0xcc, 0x74],
    [0x80, 0xbc, 0xf0],
    [0xcc, 0x9c, 0xdc],
    [0x7c, 0xd4, 0xcc],
    [0xff, 0xff, 0xff],
];

fn main() {
    // `cargo bench` passes `--bench` too.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let [out, seconds, keys, program @ ..] = args.as_slice() else {
        return println!("screenshot | no arguments; expected OUT.png SECONDS KEYS ARGUMENTS...");
    };
    let pause = Duration::from_secs_f64(seconds.parse().expect("seconds"));
    let screen = run(program, keys, pause);
    let picture = paint(&screen);
    let file = std::io::BufWriter::new(std::fs::File::create(out).expect("a file"));
    let mut encoder = png::Encoder::new(file, picture.width(), picture.height());
    encoder.set_color(png::ColorType::Rgba);
    // Every pixel is opaque, so premultiplied alpha makes no difference.
    encoder.write_header().and_then(|mut w| w.write_image_data(picture.data())).expect("a picture");
    println!("screenshot | {out} | {} x {}", picture.width(), picture.height());
}

/// Returns the screen after the keys have been sent.
fn run(args: &[String], keys: &str, pause: Duration) -> Screen {
    let size = PtySize { rows: SIZE.0, cols: SIZE.1, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_probity"));
    command.args(args);
    command.cwd(env!("CARGO_MANIFEST_DIR"));
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).expect("the program");
    let size = |n: u16| std::num::NonZeroU16::new(n).expect("not 0");
    let parser = Arc::new(Mutex::new(Parser::new(size(SIZE.0), size(SIZE.1), 0)));
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let theirs = parser.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 16];
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            theirs.lock().expect("no panic").process(&buffer[..n]);
        }
    });
    let mut writer = pair.master.take_writer().expect("a writer");
    std::thread::sleep(pause);
    for key in keys.chars() {
        writer.write_all(key.to_string().as_bytes()).expect("a key");
        writer.flush().expect("a key");
        std::thread::sleep(pause);
    }
    let screen = parser.lock().expect("no panic").screen().clone();
    child.kill().expect("a child");
    screen
}

fn colour(c: vt100::Color, default: [u8; 3]) -> [u8; 3] {
    match c {
        vt100::Color::Default => default,
        vt100::Color::Idx(i @ 0..16) => NAMED[usize::from(i)],
        vt100::Color::Idx(i @ 16..232) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let i = i - 16;
            [level(i / 36), level(i / 6 % 6), level(i % 6)]
        }
        vt100::Color::Idx(i) => [8 + 10 * (i - 232); 3],
        vt100::Color::Rgb(r, g, b) => [r, g, b],
    }
}

fn paint(screen: &Screen) -> Pixmap {
    let (rows, cols) = SIZE;
    let width = f32::from(cols) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut map = Pixmap::new(width as u32, height as u32).expect("a size");
    let [r, g, b] = BACKGROUND;
    map.fill(Color::from_rgba8(r, g, b, 255));
    let face = Face::parse(epaint_default_fonts::HACK_REGULAR, 0).expect("the embedded font");
    for row in 0..rows {
        for col in 0..cols {
            let at = (MARGIN + f32::from(col) * CELL.0, MARGIN + f32::from(row) * CELL.1);
            if let Some(cell) = screen.cell(row, col) {
                draw(&mut map, &face, cell, at);
            }
        }
    }
    map
}

fn draw(map: &mut Pixmap, face: &Face<'_>, cell: &Cell, (x, y): (f32, f32)) {
    let (mut ink, mut ground) = (colour(cell.fgcolor(), FOREGROUND), colour(cell.bgcolor(), BACKGROUND));
    if cell.inverse() {
        std::mem::swap(&mut ink, &mut ground);
    }
    if cell.dim() {
        ink = [0, 1, 2].map(|i| ((2 * u16::from(ink[i]) + u16::from(ground[i])) / 3) as u8);
    }
    if ground != BACKGROUND {
        fill(map, ground, &rect(x, y, CELL.0, CELL.1));
    }
    if cell.underline() {
        fill(map, ink, &rect(x, y + CELL.1 - 2.0, CELL.0, 1.0));
    }
    for c in cell.contents().chars() {
        match c as u32 {
            0x2800..=0x28ff => braille(map, ink, c as u32 - 0x2800, (x, y)),
            _ => letter(map, face, ink, c, (x, y), cell.bold()),
        }
    }
}

fn rect(x: f32, y: f32, width: f32, height: f32) -> tiny_skia::Path {
    PathBuilder::from_rect(Rect::from_xywh(x, y, width, height).expect("a rectangle"))
}

fn fill(map: &mut Pixmap, [r, g, b]: [u8; 3], path: &tiny_skia::Path) {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, 255);
    map.fill_path(path, &paint, FillRule::Winding, Transform::identity(), None);
}

/// Paints a Braille character. Its eight dots are numbered down the left column, then down the right one, with the lowest pair last.
fn braille(map: &mut Pixmap, ink: [u8; 3], bits: u32, (x, y): (f32, f32)) {
    for dot in 0..8u8 {
        let (col, row) = match dot {
            0..3 => (0, dot),
            3..6 => (1, dot - 3),
            _ => (dot - 6, 3),
        };
        if bits >> dot & 1 == 1 {
            let centre = (x + CELL.0 * (0.25 + 0.5 * f32::from(col)), y + CELL.1 * (0.125 + 0.25 * f32::from(row)));
            if let Some(path) = PathBuilder::from_circle(centre.0, centre.1, 1.3) {
                fill(map, ink, &path);
            }
        }
    }
}

fn letter(map: &mut Pixmap, face: &Face<'_>, ink: [u8; 3], c: char, (x, y): (f32, f32), bold: bool) {
    let Some(glyph) = face.glyph_index(c) else { return };
    let advance = f32::from(face.glyph_hor_advance(glyph).unwrap_or(1));
    let scale = CELL.0 / advance;
    let (ascent, descent) = (f32::from(face.ascender()) * scale, f32::from(face.descender()) * scale);
    let baseline = y + (CELL.1 + ascent + descent) / 2.0;
    // No bold font is embedded, so bold text is drawn twice with an offset.
    for shift in if bold { &[0.0, 0.5][..] } else { &[0.0][..] } {
        let mut outline = Outline { path: PathBuilder::new(), scale, at: (x + shift, baseline) };
        face.outline_glyph(glyph, &mut outline);
        if let Some(path) = outline.path.finish() {
            fill(map, ink, &path);
        }
    }
}

/// A glyph's outline during conversion from font units to pixels.
struct Outline {
    path: PathBuilder,
    scale: f32,
    at: (f32, f32),
}

impl Outline {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.at.0 + self.scale * x, self.at.1 - self.scale * y)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (a, b, c) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(a.0, a.1, b.0, b.1, c.0, c.1);
    }
    fn close(&mut self) {
        self.path.close();
    }
}

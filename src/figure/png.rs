//! PNG: the drawing painted at twice its size, with the provenance in text chunks.

use std::collections::BTreeSet;

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use super::font::{self, Fonts, Ink};
use super::palette::Rgb;
use super::role::Dash;
use super::scene::{At, Item, Pen, Scene, Side};
use super::spare::Spare;
use super::{Figure, FigureError, paper};
use base::text::printable_label;

/// Pixels of the file per logical pixel.
const RESOLUTION: f32 = 2.0;
/// Pixels per metre: a figure of 800 logical pixels prints 5.3 inches wide.
const DENSITY: u32 = 11_811;
/// Width of the stroke around letters, in em: the embedded font is a light one, which prints too thin.
const WEIGHT: f64 = 0.022;

/// The figure as a PNG file. The same figure gives the same bytes; where it holds characters that the embedded font lacks, on the same
/// machine.
///
/// # Errors
/// [`FigureError::Draw`] if the picture cannot be made.
pub(crate) fn to_png(figure: &Figure) -> Result<Vec<u8>, FigureError> {
    drawn(figure, &|foreign| Spare::of_system(foreign))
}

/// The figure with what `find` has for the characters that the embedded font lacks.
fn drawn(figure: &Figure, find: &dyn Fn(&BTreeSet<char>) -> Spare) -> Result<Vec<u8>, FigureError> {
    let (mut asked, mut spare) = (BTreeSet::new(), Spare::default());
    loop {
        let fonts = Fonts::with(spare.faces());
        let foreign = paper::lay_out(figure, &fonts, &[]).foreign();
        if foreign.is_subset(&asked) {
            let boxed: BTreeSet<char> = foreign.iter().copied().filter(|c| !fonts.draws(*c)).collect();
            let notes = if foreign.is_empty() { Vec::new() } else { spare.notes(&boxed) };
            return painted(figure, &paper::lay_out(figure, &fonts, &notes), &spare.names());
        }
        // Only the finished drawing knows which texts were cut away; with other letters, others are.
        asked.extend(foreign);
        let found = find(&asked);
        drop(fonts);
        spare = found;
    }
}

fn painted(figure: &Figure, scene: &Scene<'_>, fonts: &[String]) -> Result<Vec<u8>, FigureError> {
    let pixels = |length: f64| (length * f64::from(RESOLUTION)).round() as u32;
    let mut picture = Pixmap::new(pixels(scene.width), pixels(scene.height))
        .ok_or_else(|| FigureError::Draw("the picture has no size".into()))?;
    picture.fill(Color::WHITE);
    paint(&mut picture, scene);
    // The paper is opaque, so that premultiplied colours are plain ones.
    let rgb: Vec<u8> = picture.data().chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
    let size = (picture.width(), picture.height());
    encode(figure, fonts, &rgb, size).map_err(|e| FigureError::Draw(e.to_string()))
}

fn scale() -> Transform {
    Transform::from_scale(RESOLUTION, RESOLUTION)
}

fn colour(Rgb(r, g, b): Rgb, alpha: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, (alpha.clamp(0.0, 1.0) * 255.0).round() as u8);
    paint
}

fn paint(picture: &mut Pixmap, scene: &Scene<'_>) {
    for item in &scene.items {
        match item {
            Item::Line { points, pen } => line(picture, points, pen),
            Item::Fill { points, colour: c, alpha } => {
                if let Some(path) = polygon(points, true) {
                    picture.fill_path(&path, &colour(*c, *alpha), FillRule::Winding, scale(), None);
                }
            }
            Item::Disc { at, radius, colour: c } => {
                let circle = PathBuilder::from_circle(at.0 as f32, at.1 as f32, radius.max(0.1) as f32);
                if let Some(path) = circle {
                    picture.fill_path(&path, &colour(*c, 1.0), FillRule::Winding, scale(), None);
                }
            }
            Item::Text { text, at, kind } => {
                let (x, y) = (at.0 as f32, at.1 as f32);
                let turn =
                    if kind.upwards { Transform::from_rotate_at(-90.0, x, y) } else { Transform::identity() };
                let long = scene.fonts.width(text, kind.size);
                let back = match kind.along {
                    Side::Start => 0.0,
                    Side::Middle => long / 2.0,
                    Side::End => long,
                };
                let mut brush = Brush {
                    picture,
                    path: PathBuilder::new(),
                    paint: colour(kind.colour, 1.0),
                    place: turn.post_concat(scale()),
                    weight: (WEIGHT * kind.size) as f32,
                };
                scene.fonts.draw(text, (at.0 - back, at.1), kind.size, &mut brush);
            }
        }
    }
}

fn polygon(points: &[At], closed: bool) -> Option<tiny_skia::Path> {
    let mut path = PathBuilder::new();
    for (k, &(x, y)) in points.iter().enumerate() {
        let (x, y) = (x as f32, y as f32);
        if k == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn line(picture: &mut Pixmap, points: &[At], pen: &Pen) {
    let Some(path) = polygon(points, false) else { return };
    let dash = pen.pattern().and_then(|[on, off]| StrokeDash::new(vec![on as f32, off as f32], 0.0));
    let round = pen.dash == Dash::Dotted;
    let stroke = Stroke {
        width: pen.width as f32,
        line_cap: if round { LineCap::Round } else { LineCap::Butt },
        line_join: LineJoin::Round,
        dash,
        ..Stroke::default()
    };
    picture.stroke_path(&path, &colour(pen.colour, pen.alpha), &stroke, scale(), None);
}

/// Paints letters.
struct Brush<'a> {
    picture: &'a mut Pixmap,
    path: PathBuilder,
    paint: Paint<'static>,
    place: Transform,
    weight: f32,
}

impl font::Pen for Brush<'_> {
    fn fill(&mut self, ink: Ink) {
        let Some(path) = std::mem::take(&mut self.path).finish() else { return };
        let rule = if ink == Ink::Hollow { FillRule::EvenOdd } else { FillRule::Winding };
        self.picture.fill_path(&path, &self.paint, rule, self.place, None);
        if ink == Ink::Light {
            let stroke = Stroke { width: self.weight, ..Stroke::default() };
            self.picture.stroke_path(&path, &self.paint, &stroke, self.place, None);
        }
    }

    fn move_to(&mut self, x: f64, y: f64) {
        self.path.move_to(x as f32, y as f32);
    }

    fn line_to(&mut self, x: f64, y: f64) {
        self.path.line_to(x as f32, y as f32);
    }

    fn quad_to(&mut self, cx: f64, cy: f64, x: f64, y: f64) {
        self.path.quad_to(cx as f32, cy as f32, x as f32, y as f32);
    }

    fn cubic_to(&mut self, a: At, b: At, x: f64, y: f64) {
        self.path.cubic_to(a.0 as f32, a.1 as f32, b.0 as f32, b.1 as f32, x as f32, y as f32);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

fn encode(
    figure: &Figure,
    fonts: &[String],
    pixels: &[u8],
    (width, height): (u32, u32),
) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: DENSITY, yppu: DENSITY, unit }));
    encoder.add_text_chunk("Software".into(), format!("Probity {}", env!("CARGO_PKG_VERSION")))?;
    encoder.add_itxt_chunk("Title".into(), printable_label(&figure.title))?;
    for (key, value) in &figure.provenance.entries {
        encoder.add_itxt_chunk(keyword(key), printable_label(value))?;
    }
    if !fonts.is_empty() {
        encoder.add_itxt_chunk(keyword("fonts"), printable_label(&fonts.join(", ")))?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(out)
}

/// The keyword of a text chunk: 1 to 79 Latin-1 characters.
fn keyword(key: &str) -> String {
    let key: String = format!("probity:{key}").chars().filter(char::is_ascii_graphic).collect();
    key.chars().take(79).collect()
}

#[cfg(test)]
mod tests;

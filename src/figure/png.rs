//! PNG export: the drawing painted by tiny-skia, with provenance in text chunks.

use std::collections::BTreeSet;

use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::canvas::{At, Drawn, Item, Pen, Scene};
use super::font::{self, Ink};
use super::look::Options;
use super::palette::Rgb;
use super::role::Dash;
use super::spare::{self, Spare};
use super::{Figure, FigureError};
use base::text::printable_label;

/// Maximum number of pixels: 256 MiB of memory.
const MOST_PIXELS: f64 = 67_108_864.0;

/// Renders the figure as PNG. Output is reproducible; if characters use system fonts, only on the same machine.
///
/// # Errors
/// [`FigureError::Draw`] if the picture cannot be drawn.
pub(crate) fn to_png(figure: &Figure, options: &Options) -> Drawn<Vec<u8>> {
    drawn(figure, options, &|foreign| Spare::of_system(foreign))
}

fn drawn(figure: &Figure, options: &Options, find: &dyn Fn(&BTreeSet<char>) -> Spare) -> Drawn<Vec<u8>> {
    spare::with_fonts(figure, options.look(), find, &|scene, fonts| painted(figure, scene, fonts, options.dpi()))
}

fn painted(figure: &Figure, scene: &Scene<'_>, fonts: &[String], dpi: u32) -> Drawn<Vec<u8>> {
    let scale = scene.look.unit * f64::from(dpi) / 72.0;
    let [width, height] = [scene.look.width, scene.height].map(|length| (length * scale).round());
    let size = (width * height <= MOST_PIXELS).then(|| Pixmap::new(width as u32, height as u32)).flatten();
    let mut picture = size.ok_or_else(|| {
        FigureError::Draw(format!("an image of {width} by {height} pixels is too large: choose fewer dots per inch"))
    })?;
    // The page height may not be a whole number of pixels, so the last row is filled completely.
    let Rgb(red, green, blue) = scene.look.paper;
    picture.fill(Color::from_rgba8(red, green, blue, 255));
    let mut painter = Painter { picture: &mut picture, scale: scale as f32 };
    scene.items.iter().for_each(|item| painter.item(scene, item));
    // The page is opaque, so premultiplied colours equal plain ones.
    let rgb: Vec<u8> = picture.data().chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
    let size = (picture.width(), picture.height());
    encode(figure, fonts, &rgb, size, dpi).map_err(|e| FigureError::Draw(e.to_string()))
}

fn colour(Rgb(r, g, b): Rgb, alpha: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, (alpha.clamp(0.0, 1.0) * 255.0).round() as u8);
    paint
}

struct Painter<'a> {
    picture: &'a mut Pixmap,
    /// Pixels per page unit.
    scale: f32,
}

impl Painter<'_> {
    fn transform(&self) -> Transform {
        Transform::from_scale(self.scale, self.scale)
    }

    fn fill(&mut self, path: Option<tiny_skia::Path>, paint: &Paint<'_>) {
        if let Some(path) = path {
            self.picture.fill_path(&path, paint, FillRule::Winding, self.transform(), None);
        }
    }

    fn item(&mut self, scene: &Scene<'_>, item: &Item) {
        match item {
            Item::Line { points, pen } => self.line(points, pen),
            Item::Fill { points, colour: c, alpha } => self.fill(polygon(points, true), &colour(*c, *alpha)),
            Item::Disc { at, radius, colour: c } => {
                let circle = PathBuilder::from_circle(at.0 as f32, at.1 as f32, radius.max(0.1) as f32);
                self.fill(circle, &colour(*c, 1.0));
            }
            Item::Text { text, at, kind } => {
                let (x, y) = (at.0 as f32, at.1 as f32);
                let turn = if kind.upwards { Transform::from_rotate_at(-90.0, x, y) } else { Transform::identity() };
                let long = scene.fonts.width(text, kind.size);
                let place = turn.post_concat(self.transform());
                let mut brush = Brush {
                    picture: self.picture,
                    path: PathBuilder::new(),
                    paint: colour(kind.colour, 1.0),
                    place,
                    weight: (font::WEIGHT * kind.size) as f32,
                };
                let start = (at.0 - kind.along.share() * long, at.1);
                scene.fonts.draw(text, start, kind.size, &mut brush);
            }
        }
    }

    fn line(&mut self, points: &[At], pen: &Pen) {
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
        let transform = self.transform();
        self.picture.stroke_path(&path, &colour(pen.colour, pen.alpha), &stroke, transform, None);
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
    dpi: u32,
) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    let unit = png::Unit::Meter;
    let density = (f64::from(dpi) / 0.0254).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: density, yppu: density, unit }));
    encoder.add_text_chunk("Software".into(), format!("Probity {}", env!("CARGO_PKG_VERSION")))?;
    encoder.add_itxt_chunk("Title".into(), printable_label(&figure.title))?;
    for (key, value) in figure.entries() {
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

/// The keyword of a text chunk: 1 to 79 ASCII characters.
fn keyword(key: &str) -> String {
    let key: String = format!("probity:{key}").chars().filter(char::is_ascii_graphic).collect();
    key.chars().take(79).collect()
}

#[cfg(test)]
mod tests;

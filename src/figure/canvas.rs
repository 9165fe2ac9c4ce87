//! A canvas in logical pixels over a plotters backend: lines with dashes, markers, text.

use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Polygon, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, register_font,
};

use super::{Dash, FigureError, Marker};

/// Name under which the embedded font is known; SVG viewers read it as the generic family.
const FONT: &str = "sans-serif";
/// Space between words on a bitmap, in em: the font's own .228 and the side bearing that plotters leaves out.
const SPACE: f64 = 0.3;
/// How far text that is centred on a line has to sink on a bitmap, in em: plotters centres its box, not its letters.
const SINK: f64 = 0.12;
/// Furthest position that is drawn, in device pixels: keeps arithmetic on positions from overflowing.
const FAR: f64 = 1e6;

/// A position in logical pixels, from the top left.
pub type At = (f64, f64);

/// Makes the embedded font known to plotters: no system font is ever read.
///
/// # Errors
/// [`FigureError::Draw`] where the font cannot be parsed.
pub fn register_fonts() -> Result<(), FigureError> {
    for style in [FontStyle::Normal, FontStyle::Bold] {
        register_font(FONT, style, epaint_default_fonts::UBUNTU_LIGHT)
            .map_err(|_| FigureError::Draw("the embedded font cannot be read".into()))?;
    }
    Ok(())
}

/// How a line looks.
#[derive(Clone, Copy)]
pub struct Pen {
    /// Colour.
    pub colour: RGBColor,
    /// Opacity, 0 to 1.
    pub alpha: f64,
    /// Width in logical pixels.
    pub width: f64,
}

impl Pen {
    /// An opaque pen.
    pub fn new(colour: RGBColor, width: f64) -> Self {
        Self { colour, alpha: 1.0, width }
    }
}

/// How text looks and stands.
#[derive(Clone, Copy)]
pub struct Type {
    /// Size in logical pixels (em).
    pub size: f64,
    /// Colour.
    pub colour: RGBColor,
    /// Which point of the text is at the position.
    pub anchor: (HPos, VPos),
    /// Whether it runs upwards.
    pub upwards: bool,
}

/// What is drawn on: plotters treats text differently there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Pixels; letters are drawn from the embedded font.
    Bitmap,
    /// SVG; the viewer sets the text.
    Vector,
}

impl Medium {
    /// Plotters' font size for an em of 1: it is the height of the font's box on bitmaps, and 1.24 em in SVG.
    fn box_per_em(self) -> f64 {
        match self {
            Medium::Bitmap => 1.121,
            Medium::Vector => 1.24,
        }
    }
}

/// The canvas.
pub struct Canvas<'a, B: DrawingBackend> {
    area: &'a DrawingArea<B, Shift>,
    /// Device pixels per logical pixel.
    factor: f64,
    medium: Medium,
}

impl<'a, B: DrawingBackend> Canvas<'a, B> {
    /// A canvas over `area`, `factor` device pixels to a logical one.
    pub fn new(area: &'a DrawingArea<B, Shift>, factor: f64, medium: Medium) -> Self {
        Self { area, factor, medium }
    }

    fn device(&self, (x, y): At) -> (i32, i32) {
        let pixel = |v: f64| (v * self.factor).clamp(-FAR, FAR).round() as i32;
        (pixel(x), pixel(y))
    }

    fn stroke(&self, pen: Pen) -> ShapeStyle {
        let width = (pen.width * self.factor).round().max(1.0) as u32;
        ShapeStyle { color: pen.colour.mix(pen.alpha), filled: false, stroke_width: width }
    }

    /// Draws a line through the points.
    ///
    /// # Errors
    /// [`FigureError::Draw`] where the backend fails (as for all that follow).
    pub fn line(&self, points: &[At], pen: Pen) -> Result<(), FigureError> {
        let mut device: Vec<_> = points.iter().map(|&p| self.device(p)).collect();
        device.dedup();
        if device.len() < 2 {
            return Ok(());
        }
        self.area.draw(&PathElement::new(device, self.stroke(pen))).map_err(draw)
    }

    /// Draws a line with dashes. Dots are drawn as discs, so that they look the same in every direction.
    ///
    /// # Errors
    /// As [`Canvas::line`].
    pub fn dashed(&self, points: &[At], dash: Dash, pen: Pen) -> Result<(), FigureError> {
        match dash {
            Dash::Solid => self.line(points, pen),
            Dash::Dashed => {
                let (on, off) = (pen.width * 4.5, pen.width * 2.8);
                pieces(points, on, off).iter().try_for_each(|piece| self.line(piece, pen))
            }
            Dash::Dotted => pieces(points, 0.0, pen.width * 2.6)
                .iter()
                .filter_map(|piece| piece.first())
                .try_for_each(|&at| self.disc(at, pen.width * 0.62, pen.colour)),
        }
    }

    /// Fills a polygon.
    ///
    /// # Errors
    /// As [`Canvas::line`].
    pub fn fill(&self, points: &[At], colour: RGBColor, alpha: f64) -> Result<(), FigureError> {
        let device: Vec<_> = points.iter().map(|&p| self.device(p)).collect();
        self.area.draw(&Polygon::new(device, colour.mix(alpha))).map_err(draw)
    }

    /// Fills a disc.
    ///
    /// # Errors
    /// As [`Canvas::line`].
    pub fn disc(&self, at: At, radius: f64, colour: RGBColor) -> Result<(), FigureError> {
        let radius = (radius * self.factor).round().max(1.0) as i32;
        self.area.draw(&Circle::new(self.device(at), radius, colour.filled())).map_err(draw)
    }

    /// Draws a marker of half-width `r`.
    ///
    /// # Errors
    /// As [`Canvas::line`].
    pub fn marker(&self, at: At, marker: Marker, r: f64, colour: RGBColor) -> Result<(), FigureError> {
        let pen = Pen::new(colour, 1.3);
        let corner = |dx: f64, dy: f64| (at.0 + dx * r, at.1 + dy * r);
        match marker {
            // Filled with the paper's white: a ring that lines do not cross.
            Marker::Circle => {
                self.disc(at, r + 0.5, colour)?;
                self.disc(at, r - 0.8, RGBColor(255, 255, 255))
            }
            Marker::Cross => {
                self.line(&[corner(-0.85, -0.85), corner(0.85, 0.85)], pen)?;
                self.line(&[corner(-0.85, 0.85), corner(0.85, -0.85)], pen)
            }
            Marker::Plus => {
                self.line(&[corner(-1.1, 0.0), corner(1.1, 0.0)], pen)?;
                self.line(&[corner(0.0, -1.1), corner(0.0, 1.1)], pen)
            }
            Marker::Triangle => {
                self.fill(&[corner(0.0, -1.25), corner(1.1, 0.75), corner(-1.1, 0.75)], colour, 1.0)
            }
            Marker::Square => self.fill(
                &[corner(-0.85, -0.85), corner(0.85, -0.85), corner(0.85, 0.85), corner(-0.85, 0.85)],
                colour,
                1.0,
            ),
            Marker::Star => {
                let points: Vec<At> = (0..10)
                    .map(|k| {
                        let angle = f64::from(k) * std::f64::consts::PI / 5.0;
                        let reach = if k % 2 == 0 { 1.9 } else { 0.8 };
                        corner(angle.sin() * reach, -angle.cos() * reach)
                    })
                    .collect();
                self.fill(&points, colour, 1.0)
            }
        }
    }

    fn style(&self, t: Type) -> TextStyle<'static> {
        let font = (FONT, t.size * self.medium.box_per_em() * self.factor).into_font();
        let turn = if t.upwards { FontTransform::Rotate270 } else { FontTransform::None };
        let mut style = TextStyle::from(font.transform(turn)).pos(Pos::new(t.anchor.0, t.anchor.1));
        style.color = t.colour.to_backend_color();
        style
    }

    /// Draws a line of text.
    ///
    /// # Errors
    /// As [`Canvas::line`].
    pub fn text(&self, text: &str, at: At, t: Type) -> Result<(), FigureError> {
        if self.medium == Medium::Vector {
            return if text.is_empty() { Ok(()) } else { self.word(text, at, t) };
        }
        let mut along = match t.anchor.0 {
            HPos::Left => 0.0,
            HPos::Center => -self.width(text, t)? / 2.0,
            HPos::Right => -self.width(text, t)?,
        };
        let across = if matches!(t.anchor.1, VPos::Center) { SINK * t.size } else { 0.0 };
        let from_left = Type { anchor: (HPos::Left, t.anchor.1), ..t };
        for word in text.split(' ') {
            let (dx, dy) = if t.upwards { (across, -along) } else { (along, across) };
            self.word(word, (at.0 + dx, at.1 + dy), from_left)?;
            along += self.word_width(word, t)? + SPACE * t.size;
        }
        Ok(())
    }

    fn word(&self, word: &str, at: At, t: Type) -> Result<(), FigureError> {
        self.area.draw(&Text::new(word.to_owned(), self.device(at), self.style(t))).map_err(draw)
    }

    /// Width of a line of text, in logical pixels.
    ///
    /// # Errors
    /// As [`Canvas::line`].
    pub fn width(&self, text: &str, t: Type) -> Result<f64, FigureError> {
        let spaces = text.matches(' ').count() as f64 * SPACE * t.size;
        text.split(' ').try_fold(spaces, |sum, word| Ok(sum + self.word_width(word, t)?))
    }

    fn word_width(&self, word: &str, t: Type) -> Result<f64, FigureError> {
        let level = Type { upwards: false, ..t };
        let (width, _) = self.area.estimate_text_size(word, &self.style(level)).map_err(draw)?;
        // Plotters' estimate takes the font size for the box on every medium.
        let shrink = Medium::Bitmap.box_per_em() / self.medium.box_per_em();
        Ok(f64::from(width) * shrink / self.factor)
    }

    /// The text, cut with an ellipsis where it is wider than `width`.
    ///
    /// # Errors
    /// As [`Canvas::line`].
    pub fn cut(&self, text: &str, width: f64, t: Type) -> Result<String, FigureError> {
        let mut kept: Vec<char> = text.chars().collect();
        let mut out = text.to_owned();
        while self.width(&out, t)? > width && !kept.is_empty() {
            // By a tenth at a time: each measurement costs a pass over the text.
            kept.truncate(kept.len() - (kept.len() / 10).max(1));
            out = kept.iter().chain(&['…']).collect();
        }
        Ok(out)
    }

    /// Breaks words into lines no wider than `width`.
    ///
    /// # Errors
    /// As [`Canvas::line`].
    pub fn wrap(
        &self,
        words: &[String],
        separator: &str,
        width: f64,
        t: Type,
    ) -> Result<Vec<String>, FigureError> {
        let mut lines: Vec<String> = Vec::new();
        for word in words {
            let longer = lines.last().map(|line| format!("{line}{separator}{word}"));
            match (longer, lines.last_mut()) {
                (Some(longer), Some(last)) if self.width(&longer, t)? <= width => *last = longer,
                _ => lines.push(word.clone()),
            }
        }
        Ok(lines)
    }
}

fn draw<E: std::error::Error + Send + Sync>(
    error: plotters::drawing::DrawingAreaErrorKind<E>,
) -> FigureError {
    FigureError::Draw(error.to_string())
}

/// Cuts a line into dashes of length `on` with gaps of `off`, measured along the line through all its corners.
fn pieces(points: &[At], on: f64, off: f64) -> Vec<Vec<At>> {
    let mut out = Vec::new();
    let mut current = points.first().map(|&p| vec![p]).unwrap_or_default();
    let (mut drawing, mut left) = (true, on);
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let length = (b.0 - a.0).hypot(b.1 - a.1);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let at = (a.0 + (b.0 - a.0) * done / length, a.1 + (b.1 - a.1) * done / length);
            if drawing {
                current.push(at);
                out.push(std::mem::take(&mut current));
            } else {
                current = vec![at];
            }
            drawing = !drawing;
            left = if drawing { on } else { off };
        }
        left -= length - done;
        if drawing {
            current.push(b);
        }
    }
    if drawing && current.len() > 1 {
        out.push(current);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_follow_the_line_around_corners() {
        let line = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)];
        let dashes = pieces(&line, 4.0, 2.0);
        let length =
            |d: &Vec<At>| d.windows(2).map(|w| (w[1].0 - w[0].0).hypot(w[1].1 - w[0].1)).sum::<f64>();
        assert_eq!(dashes.len(), 4);
        assert!(dashes[..3].iter().all(|d| (length(d) - 4.0).abs() < 1e-9));
        assert!((length(&dashes[3]) - 2.0).abs() < 1e-9);
        assert_eq!(dashes[1], [(6.0, 0.0), (10.0, 0.0), (10.0, 0.0)]);
        assert_eq!(dashes[2], [(10.0, 2.0), (10.0, 6.0)]);
        assert!(pieces(&[], 1.0, 1.0).is_empty());
        assert_eq!(pieces(&line, 0.0, 5.0).len(), 4, "a dot at the start, then one every 5");
    }
}

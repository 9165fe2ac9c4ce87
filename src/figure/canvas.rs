//! A plotters backend that records a drawing as strokes, fills and texts; SVG and PDF write this list, PNG paints it.
//!
//! plotters works in whole pixels, so one pixel here is a hundredth of a page unit ([`UNIT`]). The upper bits of a stroke's width encode
//! its dash pattern. The writers draw the dashes, because only they know the page size.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::rc::Rc;

use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBAColor, RGBColor, ShapeStyle, TextStyle,
};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind};

use super::FigureError;
use super::font::{self, Fonts};
use super::look::Look;
use super::overlap::{Rect, reaches};
use super::palette::Rgb;
use super::role::{Dash, Marker};

/// A position on the page, measured from the upper left corner.
pub(crate) type At = (f64, f64);
/// Drawing area of the whole page.
pub(crate) type Area<'a> = DrawingArea<Recorder<'a>, Shift>;
pub(crate) type Drawn<T = ()> = Result<T, FigureError>;

/// plotters pixels per page unit.
const UNIT: f64 = 100.0;
/// Largest coordinate drawn; prevents overflow in arithmetic on positions.
const FAR: f64 = 1e5;
/// Number of low bits that hold a stroke's width; the bits above them hold its dash.
const WIDTH_BITS: u32 = 24;
/// Line height, in em.
const LINE: f64 = 1.2;

pub(crate) fn pixels(length: f64) -> i32 {
    let length = if length.is_finite() { length.clamp(-FAR, FAR) } else { 0.0 };
    (length * UNIT).round() as i32
}

pub(crate) fn corner((x, y): At) -> BackendCoord {
    (pixels(x), pixels(y))
}

pub(crate) fn position((x, y): BackendCoord) -> At {
    (f64::from(x) / UNIT, f64::from(y) / UNIT)
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// A line through points.
    Line { points: Vec<At>, pen: Pen },
    /// A filled polygon.
    Fill { points: Vec<At>, colour: Rgb, alpha: f64 },
    /// A filled disc.
    Disc { at: At, radius: f64, colour: Rgb },
    /// One line of printable text, with its anchor on the baseline.
    Text { text: String, at: At, kind: Type },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pen {
    pub colour: Rgb,
    /// Opacity, 0 to 1.
    pub alpha: f64,
    pub width: f64,
    pub dash: Dash,
}

impl Pen {
    pub(crate) fn new(colour: Rgb, width: f64) -> Self {
        Self { colour, alpha: 1.0, width, dash: Dash::Solid }
    }

    /// Returns the lengths of dash and gap; `None` for an unbroken line. Dots are dashes of zero length with round ends.
    pub(crate) fn pattern(&self) -> Option<[f64; 2]> {
        match self.dash {
            Dash::Solid => None,
            Dash::Dashed => Some([self.width * 4.0, self.width * 2.6]),
            Dash::Dotted => Some([0.01, self.width * 2.0]),
        }
    }
}

const DASHES: [Dash; 3] = [Dash::Solid, Dash::Dashed, Dash::Dotted];

impl From<Pen> for ShapeStyle {
    fn from(pen: Pen) -> Self {
        let dash = DASHES.iter().position(|d| *d == pen.dash).unwrap_or(0) as u32;
        let width = pixels(pen.width).clamp(0, (1 << WIDTH_BITS) - 1) as u32;
        Self { color: rgba(pen.colour, pen.alpha), filled: false, stroke_width: dash << WIDTH_BITS | width }
    }
}

impl Pen {
    fn of_style(style: &impl BackendStyle) -> Self {
        let color = style.color();
        let dash = DASHES.get((style.stroke_width() >> WIDTH_BITS) as usize).copied().unwrap_or(Dash::Solid);
        let width = f64::from(style.stroke_width() & ((1 << WIDTH_BITS) - 1)) / UNIT;
        Self { colour: rgb(color), alpha: color.alpha, width, dash }
    }
}

fn rgb(color: BackendColor) -> Rgb {
    let (r, g, b) = color.rgb;
    Rgb(r, g, b)
}

fn rgba(Rgb(r, g, b): Rgb, alpha: f64) -> RGBAColor {
    RGBColor(r, g, b).mix(alpha.clamp(0.0, 1.0))
}

pub(crate) fn filled(colour: Rgb, alpha: f64) -> ShapeStyle {
    rgba(colour, alpha).filled()
}

/// The part of a text that its position refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The start (left, or top).
    Start,
    Middle,
    /// The end (right, or bottom).
    End,
}

impl Side {
    /// The share of a length that lies before the position.
    pub(crate) fn share(self) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => 0.5,
            Self::End => 1.0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Type {
    /// Font size in page units.
    pub size: f64,
    pub colour: Rgb,
    pub along: Side,
    /// Vertical anchor: top, middle or bottom. Recorded texts are anchored at their baseline.
    pub across: Side,
    /// True if the text runs upwards.
    pub upwards: bool,
}

impl From<Type> for TextStyle<'static> {
    fn from(kind: Type) -> Self {
        let along = match kind.along {
            Side::Start => HPos::Left,
            Side::Middle => HPos::Center,
            Side::End => HPos::Right,
        };
        let across = match kind.across {
            Side::Start => VPos::Top,
            Side::Middle => VPos::Center,
            Side::End => VPos::Bottom,
        };
        let font = FontDesc::new(FontFamily::SansSerif, kind.size * UNIT, FontStyle::Normal);
        let turn = if kind.upwards { FontTransform::Rotate270 } else { FontTransform::None };
        font.transform(turn).color(&rgba(kind.colour, 1.0)).pos(Pos::new(along, across))
    }
}

impl Type {
    fn of_style(style: &impl BackendTextStyle) -> Self {
        let anchor = style.anchor();
        let along = match anchor.h_pos {
            HPos::Left => Side::Start,
            HPos::Center => Side::Middle,
            HPos::Right => Side::End,
        };
        let across = match anchor.v_pos {
            VPos::Top => Side::Start,
            VPos::Center => Side::Middle,
            VPos::Bottom => Side::End,
        };
        let upwards = matches!(style.transform(), FontTransform::Rotate270);
        Self { size: style.size() / UNIT, colour: rgb(style.color()), along, across, upwards }
    }
}

pub(crate) struct Recorder<'a> {
    size: (u32, u32),
    fonts: &'a Fonts<'a>,
    items: Vec<Item>,
}

type Recorded = Result<(), DrawingErrorKind<Infallible>>;

impl Recorder<'_> {
    fn record_line(&mut self, points: impl IntoIterator<Item = BackendCoord>, pen: Pen) {
        let mut points: Vec<At> = points.into_iter().map(position).collect();
        points.dedup();
        if points.len() > 1 && pen.alpha > 0.0 && pen.width > 0.0 {
            self.items.push(Item::Line { points, pen });
        }
    }
}

impl DrawingBackend for Recorder<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Recorded {
        Ok(())
    }

    fn present(&mut self) -> Recorded {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Recorded {
        self.draw_rect((x, y), (x + 1, y + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Recorded {
        self.record_line([from, to], Pen::of_style(style));
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (l, t): BackendCoord,
        (r, b): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Recorded {
        let corners = [(l, t), (r, t), (r, b), (l, b), (l, t)];
        match fill {
            true => self.fill_polygon(corners[..4].iter().copied(), style),
            false => self.draw_path(corners, style),
        }
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Recorded {
        self.record_line(path, Pen::of_style(style));
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, center: BackendCoord, radius: u32, style: &S, fill: bool) -> Recorded {
        let (at, radius) = (position(center), f64::from(radius) / UNIT);
        if fill {
            self.items.push(Item::Disc { at, radius, colour: rgb(style.color()) });
            return Ok(());
        }
        let around = (0..=48).map(|k| {
            let (sin, cos) = (f64::from(k) * std::f64::consts::TAU / 48.0).sin_cos();
            corner((at.0 + radius * cos, at.1 + radius * sin))
        });
        self.draw_path(around.collect::<Vec<_>>(), style)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, vert: I, style: &S) -> Recorded {
        let points: Vec<At> = vert.into_iter().map(position).collect();
        let color = style.color();
        if points.len() > 2 && color.alpha > 0.0 {
            self.items.push(Item::Fill { points, colour: rgb(color), alpha: color.alpha });
        }
        Ok(())
    }

    /// Records each line of text. Lines are stacked, or side by side if the text runs upwards.
    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, pos: BackendCoord) -> Recorded {
        let kind = Type::of_style(style);
        let (x, y) = position(pos);
        let step = kind.size * LINE;
        let further = text.lines().count().saturating_sub(1) as f64 * step;
        let first = match kind.across {
            Side::Start => kind.size * font::ASCENT,
            Side::Middle => kind.size * font::MIDDLE - further / 2.0,
            Side::End => -kind.size * font::DESCENT - further,
        };
        for (k, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let drop = first + k as f64 * step;
            let at = if kind.upwards { (x + drop, y) } else { (x, y + drop) };
            self.items.push(Item::Text { text: line.to_owned(), at, kind });
        }
        Ok(())
    }

    /// Measures the text. plotters has no font here and would estimate .7 em per byte.
    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let width = text.lines().map(|l| self.fonts.width(l, style.size())).fold(0.0, f64::max);
        let height = text.lines().count() as f64 * LINE * style.size();
        Ok((width.ceil() as u32, height.ceil() as u32))
    }
}

impl From<DrawingAreaErrorKind<Infallible>> for FigureError {
    fn from(error: DrawingAreaErrorKind<Infallible>) -> Self {
        Self::Draw(error.to_string())
    }
}

pub(crate) struct Scene<'a> {
    pub fonts: &'a Fonts<'a>,
    pub look: Look,
    pub height: f64,
    /// Recorded items, from back to front.
    pub items: Vec<Item>,
}

impl Scene<'_> {
    /// Characters in the recorded texts that the embedded fonts lack.
    pub(crate) fn foreign(&self) -> BTreeSet<char> {
        let texts = self.items.iter().filter_map(|item| match item {
            Item::Text { text, .. } => Some(text),
            _ => None,
        });
        texts.flat_map(|text| text.chars()).filter(|c| !font::has(*c)).collect()
    }
}

/// A page to draw on, in page units.
pub(crate) struct Canvas<'a> {
    pub fonts: &'a Fonts<'a>,
    pub look: Look,
    pub area: Area<'a>,
    recorder: Rc<RefCell<Recorder<'a>>>,
}

impl<'a> Canvas<'a> {
    pub(crate) fn new(fonts: &'a Fonts<'a>, look: Look, height: f64) -> Self {
        let size = (pixels(look.width) as u32, pixels(height) as u32);
        let recorder = Rc::new(RefCell::new(Recorder { size, fonts, items: Vec::new() }));
        Self { fonts, look, area: (&recorder).into(), recorder }
    }

    /// Finishes the drawing on a page of this height.
    pub(crate) fn finish(self, height: f64) -> Scene<'a> {
        let items = std::mem::take(&mut self.recorder.borrow_mut().items);
        Scene { fonts: self.fonts, look: self.look, height, items }
    }

    pub(crate) fn count(&self) -> usize {
        self.recorder.borrow().items.len()
    }

    /// True if no item from index `from` on overlaps a rectangle.
    pub(crate) fn is_free(&self, from: usize, room: Rect) -> bool {
        let recorder = self.recorder.borrow();
        !recorder.items.iter().skip(from).any(|item| reaches(self.fonts, item, room))
    }

    pub(crate) fn is_free_of_text(&self, room: Rect) -> bool {
        let recorder = self.recorder.borrow();
        let mut texts = recorder.items.iter().filter(|item| matches!(item, Item::Text { .. }));
        !texts.any(|item| reaches(self.fonts, item, room))
    }

    /// Cost of a label in a rectangle: 3 for each area and 100 for each line or marker that it would hide, counting items from index `from`
    /// on. `None` if it overlaps text.
    pub(crate) fn hidden(&self, from: usize, room: Rect) -> Option<usize> {
        let recorder = self.recorder.borrow();
        let weight = |item: &Item| match item {
            Item::Fill { alpha, .. } if *alpha < 0.5 => 3,
            // The strokes within a range are a texture, which a label's background may interrupt.
            Item::Line { pen, .. } if pen.alpha < 0.65 && pen.width < 0.65 => 0,
            _ => 100,
        };
        let hit = recorder.items.iter().skip(from).filter(|item| reaches(self.fonts, item, room));
        self.is_free_of_text(room).then(|| hit.map(weight).sum())
    }

    pub(crate) fn line(&self, points: &[At], pen: Pen) -> Drawn {
        let pen = Pen { width: pen.width * self.look.stroke, ..pen };
        let points: Vec<BackendCoord> = points.iter().copied().map(corner).collect();
        Ok(self.area.draw(&PathElement::new(points, pen))?)
    }

    pub(crate) fn fill(&self, points: &[At], colour: Rgb, alpha: f64) -> Drawn {
        let points: Vec<BackendCoord> = points.iter().copied().map(corner).collect();
        Ok(self.area.draw(&Polygon::new(points, filled(colour, alpha)))?)
    }

    pub(crate) fn rectangle(&self, a: At, b: At, colour: Rgb, alpha: f64) -> Drawn {
        Ok(self.area.draw(&Rectangle::new([corner(a), corner(b)], filled(colour, alpha)))?)
    }

    pub(crate) fn frame(&self, a: At, b: At, pen: Pen) -> Drawn {
        self.line(&[a, (b.0, a.1), b, (a.0, b.1), a], pen)
    }

    pub(crate) fn disc(&self, at: At, radius: f64, colour: Rgb) -> Drawn {
        let radius = pixels(radius).max(0) as u32;
        Ok(self.area.draw(&Circle::new(corner(at), radius, filled(colour, 1.0)))?)
    }

    /// Draws diagonal strokes in a rectangle, for missing or doubtful values.
    pub(crate) fn hatch(&self, a: At, b: At, pen: Pen) -> Drawn {
        const STEP: f64 = 6.0;
        let (w, h) = (b.0 - a.0, b.1 - a.1);
        let count = if w > 0.0 && h > 0.0 { ((w + h) / STEP).min(500.0) as usize } else { 0 };
        for k in 1..=count {
            // Each stroke runs from the left or lower edge to the upper or right edge.
            let d = k as f64 * STEP - STEP / 2.0;
            let from = if d <= h { (a.0, a.1 + d) } else { (a.0 + d - h, b.1) };
            let to = if d <= w { (a.0 + d, a.1) } else { (b.0, a.1 + d - w) };
            self.line(&[from, to], pen)?;
        }
        Ok(())
    }

    pub(crate) fn text(&self, text: &str, at: At, kind: Type) -> Drawn {
        Ok(self.area.draw_text(text, &TextStyle::from(kind), corner(at))?)
    }

    /// Draws the outline of a marker of half-width `r`. Stroke-only markers are drawn as usual; a diamond is not filled, so that it hides
    /// nothing.
    pub(crate) fn outline(&self, at: At, marker: Marker, r: f64, colour: Rgb) -> Drawn {
        if marker == Marker::Diamond {
            let tips = [(0.0, -1.6), (1.2, 0.0), (0.0, 1.6), (-1.2, 0.0), (0.0, -1.6)];
            return self.line(&tips.map(|(dx, dy)| (at.0 + dx * r, at.1 + dy * r)), Pen::new(colour, 1.6));
        }
        self.marker(at, marker, r, colour)?;
        match marker {
            Marker::Circle | Marker::Cross | Marker::Plus => Ok(()),
            _ => self.marker(at, marker, r * 0.55, self.look.paper),
        }
    }

    /// Draws a marker of half-width `r`.
    pub(crate) fn marker(&self, at: At, marker: Marker, r: f64, colour: Rgb) -> Drawn {
        let pen = Pen::new(colour, 1.4);
        let corner = |dx: f64, dy: f64| (at.0 + dx * r, at.1 + dy * r);
        match marker {
            // The circle is filled with the page colour, so that lines do not show through.
            Marker::Circle => {
                self.disc(at, r + 0.6, colour)?;
                self.disc(at, r - 0.7, self.look.paper)
            }
            Marker::Cross => {
                self.line(&[corner(-0.85, -0.85), corner(0.85, 0.85)], pen)?;
                self.line(&[corner(-0.85, 0.85), corner(0.85, -0.85)], pen)
            }
            Marker::Plus => {
                self.line(&[corner(-1.1, 0.0), corner(1.1, 0.0)], pen)?;
                self.line(&[corner(0.0, -1.1), corner(0.0, 1.1)], pen)
            }
            Marker::Triangle => self.fill(&[corner(0.0, -1.25), corner(1.1, 0.75), corner(-1.1, 0.75)], colour, 1.0),
            Marker::Down => self.fill(&[corner(0.0, 1.25), corner(1.1, -0.75), corner(-1.1, -0.75)], colour, 1.0),
            Marker::Stroke => self.rectangle(corner(-1.5, -0.45), corner(1.5, 0.45), colour, 1.0),
            Marker::Square => self.rectangle(corner(-0.9, -0.9), corner(0.9, 0.9), colour, 1.0),
            Marker::Diamond => {
                let tips = [corner(0.0, -1.9), corner(1.3, 0.0), corner(0.0, 1.9), corner(-1.3, 0.0)];
                self.fill(&tips, colour, 1.0)
            }
            Marker::Star => {
                let point = |k: i32| {
                    let angle = f64::from(k) * std::f64::consts::PI / 5.0;
                    let reach = if k % 2 == 0 { 1.9 } else { 0.8 };
                    corner(angle.sin() * reach, -angle.cos() * reach)
                };
                self.fill(&(0..10).map(point).collect::<Vec<_>>(), colour, 1.0)
            }
        }
    }
}

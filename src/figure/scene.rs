//! A drawing as a list of strokes, fills and texts in logical pixels from the upper left: what SVG writes and PNG paints.

use std::collections::BTreeSet;

use super::font::{self, Fonts};
use super::palette::Rgb;
use super::role::{Dash, Marker};

/// A position in logical pixels.
pub(crate) type At = (f64, f64);

/// Furthest position that is drawn: keeps arithmetic on positions from overflowing.
const FAR: f64 = 1e5;

/// The paper.
pub(crate) const WHITE: Rgb = Rgb(255, 255, 255);

/// Something drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// A line through points.
    Line {
        /// Its corners.
        points: Vec<At>,
        /// Its look.
        pen: Pen,
    },
    /// A filled polygon.
    Fill {
        /// Its corners.
        points: Vec<At>,
        colour: Rgb,
        /// Opacity, 0 to 1.
        alpha: f64,
    },
    /// A filled disc.
    Disc {
        /// Centre.
        at: At,
        radius: f64,
        colour: Rgb,
    },
    /// A line of text.
    Text {
        /// The text, fit to print.
        text: String,
        /// The position of its anchor on the baseline.
        at: At,
        /// How it looks.
        kind: Type,
    },
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pen {
    pub colour: Rgb,
    /// Opacity, 0 to 1.
    pub alpha: f64,
    pub width: f64,
    pub dash: Dash,
}

impl Pen {
    /// An opaque, unbroken pen.
    pub(crate) fn new(colour: Rgb, width: f64) -> Self {
        Self { colour, alpha: 1.0, width, dash: Dash::Solid }
    }

    /// Lengths of stroke and gap; none for an unbroken line. Dots are strokes of no length with round ends.
    pub(crate) fn pattern(&self) -> Option<[f64; 2]> {
        match self.dash {
            Dash::Solid => None,
            Dash::Dashed => Some([self.width * 4.0, self.width * 2.6]),
            Dash::Dotted => Some([0.01, self.width * 2.0]),
        }
    }
}

/// Which part of a text is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Its beginning (left, or top).
    Start,
    Middle,
    /// Its end (right, or bottom).
    End,
}

/// How text looks and is anchored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Type {
    /// Size of an em.
    pub size: f64,
    pub colour: Rgb,
    /// Which end of the text is at the position.
    pub along: Side,
    /// Whether its top, its middle or its bottom is at the position; on items it has been turned into a baseline.
    pub across: Side,
    /// Whether it runs upwards.
    pub(crate) upwards: bool,
}

/// A drawing.
pub(crate) struct Scene<'a> {
    /// What its texts are measured with.
    pub fonts: &'a Fonts<'a>,
    pub width: f64,
    pub height: f64,
    /// From back to front.
    pub items: Vec<Item>,
}

impl<'a> Scene<'a> {
    /// An empty drawing.
    pub(crate) fn new(fonts: &'a Fonts<'a>, width: f64, height: f64) -> Self {
        Self { fonts, width, height, items: Vec::new() }
    }

    /// Characters of its texts that the embedded fonts lack.
    pub(crate) fn foreign(&self) -> BTreeSet<char> {
        let texts = self.items.iter().filter_map(|item| match item {
            Item::Text { text, .. } => Some(text),
            _ => None,
        });
        texts.flat_map(|text| text.chars()).filter(|c| !font::has(*c)).collect()
    }

    /// A line through the points.
    pub(crate) fn line(&mut self, points: &[At], pen: Pen) {
        let mut points: Vec<At> = points.iter().map(|&p| near(p)).collect();
        points.dedup();
        if points.len() > 1 {
            self.items.push(Item::Line { points, pen });
        }
    }

    /// A filled polygon.
    pub(crate) fn fill(&mut self, points: &[At], colour: Rgb, alpha: f64) {
        if points.len() > 2 {
            self.items.push(Item::Fill { points: points.iter().map(|&p| near(p)).collect(), colour, alpha });
        }
    }

    /// A filled rectangle between two corners.
    pub(crate) fn rectangle(&mut self, a: At, b: At, colour: Rgb, alpha: f64) {
        self.fill(&[a, (b.0, a.1), b, (a.0, b.1)], colour, alpha);
    }

    /// The outline of a rectangle.
    pub(crate) fn frame(&mut self, a: At, b: At, pen: Pen) {
        self.line(&[a, (b.0, a.1), b, (a.0, b.1), a], pen);
    }

    /// A filled disc.
    pub(crate) fn disc(&mut self, at: At, radius: f64, colour: Rgb) {
        self.items.push(Item::Disc { at: near(at), radius, colour });
    }

    /// Diagonal strokes inside a rectangle: missing or doubtful.
    pub(crate) fn hatch(&mut self, a: At, b: At, pen: Pen) {
        const STEP: f64 = 6.0;
        let (w, h) = (b.0 - a.0, b.1 - a.1);
        if w <= 0.0 || h <= 0.0 {
            return;
        }
        let count = ((w + h) / STEP).min(500.0) as usize;
        for k in 1..=count {
            // From the left or lower edge up to the upper or right edge.
            let d = k as f64 * STEP - STEP / 2.0;
            let from = if d <= h { (a.0, a.1 + d) } else { (a.0 + d - h, b.1) };
            let to = if d <= w { (a.0 + d, a.1) } else { (b.0, a.1 + d - w) };
            self.line(&[from, to], pen);
        }
    }

    /// A line of text.
    pub(crate) fn text(&mut self, text: &str, at: At, kind: Type) {
        if text.is_empty() {
            return;
        }
        let drop = kind.size
            * match kind.across {
                Side::Start => font::ASCENT,
                Side::Middle => font::MIDDLE,
                Side::End => -font::DESCENT,
            };
        let at = if kind.upwards { (at.0 + drop, at.1) } else { (at.0, at.1 + drop) };
        self.items.push(Item::Text { text: text.to_owned(), at: near(at), kind });
    }

    /// A marker of half-width `r`.
    pub(crate) fn marker(&mut self, at: At, marker: Marker, r: f64, colour: Rgb) {
        let pen = Pen::new(colour, 1.4);
        let corner = |dx: f64, dy: f64| (at.0 + dx * r, at.1 + dy * r);
        match marker {
            // Filled with the paper's white: a ring that lines do not cross.
            Marker::Circle => {
                self.disc(at, r + 0.6, colour);
                self.disc(at, r - 0.7, WHITE);
            }
            Marker::Cross => {
                self.line(&[corner(-0.85, -0.85), corner(0.85, 0.85)], pen);
                self.line(&[corner(-0.85, 0.85), corner(0.85, -0.85)], pen);
            }
            Marker::Plus => {
                self.line(&[corner(-1.1, 0.0), corner(1.1, 0.0)], pen);
                self.line(&[corner(0.0, -1.1), corner(0.0, 1.1)], pen);
            }
            Marker::Triangle => {
                self.fill(&[corner(0.0, -1.25), corner(1.1, 0.75), corner(-1.1, 0.75)], colour, 1.0);
            }
            Marker::Square => {
                self.rectangle(corner(-0.9, -0.9), corner(0.9, 0.9), colour, 1.0);
            }
            Marker::Diamond => {
                let tips = [corner(0.0, -1.9), corner(1.3, 0.0), corner(0.0, 1.9), corner(-1.3, 0.0)];
                self.fill(&tips, colour, 1.0);
            }
            Marker::Star => {
                let point = |k: i32| {
                    let angle = f64::from(k) * std::f64::consts::PI / 5.0;
                    let reach = if k % 2 == 0 { 1.9 } else { 0.8 };
                    corner(angle.sin() * reach, -angle.cos() * reach)
                };
                self.fill(&(0..10).map(point).collect::<Vec<_>>(), colour, 1.0);
            }
        }
    }
}

fn near((x, y): At) -> At {
    let inside = |v: f64| if v.is_finite() { v.clamp(-FAR, FAR) } else { 0.0 };
    (inside(x), inside(y))
}

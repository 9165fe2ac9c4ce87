//! The frame of a figure with axes: where values go, and the axes themselves.

use super::super::axis::{Fitted, Room};
use super::super::font::Fonts;
use super::super::scene::{At, Pen, Scene, Side, Type};
use super::super::{Figure, Layer};
use super::{GRID, INK, LABEL, MARGIN, SMALL, type_of};
use base::text::printable_label;

/// Between the frame and the ends of the axes, so that no line runs on the frame.
const INSET: f64 = 8.0;
/// Widest label of a category beside the vertical axis, and highest below the horizontal one.
const LONGEST: f64 = 150.0;
/// Least gap between labels.
const GAP: f64 = 8.0;

/// Where the data are drawn.
pub(crate) struct Frame {
    /// Left edge, in units of the page.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge; the page grows downwards.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
    /// The horizontal axis, fitted to the width.
    pub x: Fitted,
    /// The vertical axis, fitted to the height.
    pub y: Fitted,
    /// Whether the labels of the horizontal axis are upright.
    upright: bool,
    inset: f64,
}

impl Frame {
    /// The frame between two corners of the page that also hold the axes' labels.
    pub(crate) fn new(fonts: &Fonts<'_>, figure: &Figure, (left, top): At, (right, bottom): At) -> Self {
        let rules = figure.layers.iter().any(|l| matches!(l, Layer::Rule(r) if r.upright));
        // Labels of upright rules go above the frame, where there are no data.
        let top = top + 4.0 + if rules { SMALL + 4.0 } else { 0.0 };
        let right = right - beside(fonts, figure);
        let x = Fitted::horizontal(figure);
        let inset = if x.categories().is_some() { 0.0 } else { INSET };
        let mut below = 52.0;
        let mut upright = false;
        if let Some(names) = x.categories() {
            let slot = (right - left) / names.len().max(1) as f64;
            let widest = names.iter().map(|n| fonts.width(n, SMALL)).fold(0.0, f64::max);
            upright = widest + GAP > slot;
            if upright {
                below += widest.min(LONGEST) - SMALL;
            }
        }
        let bottom = (bottom - below).max(top + 20.0);
        Self { left, right, top, bottom, x, y: Fitted::vertical(figure), upright, inset }
    }

    /// The position of a pair of values; none if an axis cannot show it.
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<At> {
        Some((self.px(self.x.place(x)?), self.py(self.y.place(y)?)))
    }

    /// The pixel of a share of the horizontal axis.
    pub(crate) fn px(&self, share: f64) -> f64 {
        self.left + self.inset + share * (self.right - self.left - 2.0 * self.inset)
    }

    /// The pixel of a share of the vertical axis.
    pub(crate) fn py(&self, share: f64) -> f64 {
        let inset = if self.y.categories().is_some() { 0.0 } else { INSET };
        self.bottom - inset - share * (self.bottom - self.top - 2.0 * inset)
    }

    fn x_room<'a>(&self, measure: &'a dyn Fn(&str) -> f64) -> Room<'a> {
        let length = self.right - self.left - 2.0 * self.inset;
        Room { length, gap: if self.upright { 2.0 } else { GAP }, terse: false, measure }
    }
}

fn line_height(_: &str) -> f64 {
    SMALL
}

fn y_room(length: f64) -> Room<'static> {
    Room { length, gap: 4.0, terse: false, measure: &line_height }
}

/// Left edge of the frame: as far in as the labels of the vertical axis are wide.
pub(crate) fn left(fonts: &Fonts<'_>, figure: &Figure, height: f64) -> f64 {
    let ticks = Fitted::vertical(figure).ticks(&y_room(height * 0.6));
    let widest = ticks.iter().map(|t| fonts.width(&t.label, SMALL)).fold(0.0, f64::max);
    MARGIN + (widest.min(LONGEST) + 30.0).max(46.0)
}

/// Room right of the frame: for labels of guides and rank lines, for the scale of cells.
fn beside(fonts: &Fonts<'_>, figure: &Figure) -> f64 {
    let long = |text: &str, size| fonts.width(&printable_label(text), size).min(LONGEST) + 10.0;
    let rooms = figure.layers.iter().map(|layer| match layer {
        Layer::Guide(guide) if !guide.label.is_empty() => long(&guide.label, super::FINE).max(26.0),
        Layer::Ranks(ranks) => ranks.lines.iter().map(|l| long(&l.label, SMALL)).fold(0.0, f64::max),
        Layer::Cells(_) => super::cells::SCALE_ROOM,
        _ => 0.0,
    });
    rooms.fold(0.0, f64::max)
}

/// Grid, ticks, axis lines and their labels. Over cells there is no grid.
pub(crate) fn axes(scene: &mut Scene, figure: &Figure, frame: &Frame, cells: bool) {
    let grid = Pen::new(GRID, 0.9);
    let pen = Pen::new(INK, 0.9);
    x_ticks(scene, frame, (!cells).then_some(grid), pen);
    let tick = type_of(SMALL, INK, Side::End, Side::Middle);
    let named = frame.y.categories().is_some();
    for t in frame.y.ticks(&y_room(frame.py(0.0) - frame.py(1.0))) {
        let y = frame.py(t.at);
        let major = !t.label.is_empty();
        if major && !cells && !named {
            scene.line(&[(frame.left, y), (frame.right, y)], grid);
        }
        scene.line(&[(frame.left - if major { 5.0 } else { 3.0 }, y), (frame.left, y)], pen);
        scene.text(&scene.fonts.cut(&t.label, SMALL, LONGEST), (frame.left - 8.0, y), tick);
    }
    let (l, r, t, b) = (frame.left, frame.right, frame.top, frame.bottom);
    scene.line(&[(l, t), (l, b)], pen);
    match frame.x.gap().map(|share| frame.px(share)) {
        None => scene.line(&[(l, b), (r, b)], pen),
        Some(gap) => {
            scene.line(&[(l, b), (gap - 3.0, b)], pen);
            scene.line(&[(gap + 3.0, b), (r, b)], pen);
            for x in [gap - 3.0, gap + 3.0] {
                scene.line(&[(x - 2.0, b + 5.0), (x + 2.0, b - 5.0)], pen);
            }
        }
    }
    let name = type_of(LABEL, INK, Side::Middle, Side::Start);
    let below = if frame.upright { labels_below(scene.fonts, frame) + 14.0 } else { 27.0 };
    let x_label = scene.fonts.cut(&printable_label(&figure.x.label), LABEL, r - l);
    scene.text(&x_label, ((l + r) / 2.0, b + below), name);
    let upwards = Type { upwards: true, ..name };
    let y_label = scene.fonts.cut(&printable_label(&figure.y.label), LABEL, b - t);
    scene.text(&y_label, (MARGIN - 6.0, (t + b) / 2.0), upwards);
}

/// Height of upright labels below the frame.
fn labels_below(fonts: &Fonts<'_>, frame: &Frame) -> f64 {
    let names = frame.x.categories().unwrap_or_default();
    names.iter().map(|n| fonts.width(n, SMALL)).fold(0.0, f64::max).min(LONGEST)
}

fn x_ticks(scene: &mut Scene, frame: &Frame, grid: Option<Pen>, pen: Pen) {
    let fonts = scene.fonts;
    let wide = |text: &str| fonts.width(text, SMALL);
    let room = if frame.upright { frame.x_room(&line_height) } else { frame.x_room(&wide) };
    let named = frame.x.categories().is_some();
    for t in frame.x.ticks(&room) {
        let x = frame.px(t.at);
        let major = !t.label.is_empty();
        if let Some(grid) = grid.filter(|_| major && !named) {
            scene.line(&[(x, frame.top), (x, frame.bottom)], grid);
        }
        scene.line(&[(x, frame.bottom), (x, frame.bottom + if major { 5.0 } else { 3.0 })], pen);
        if frame.upright {
            let kind = Type { upwards: true, ..type_of(SMALL, INK, Side::End, Side::Middle) };
            scene.text(&scene.fonts.cut(&t.label, SMALL, LONGEST), (x, frame.bottom + 8.0), kind);
        } else {
            let kind = type_of(SMALL, INK, Side::Middle, Side::Start);
            scene.text(&t.label, (x, frame.bottom + 9.0), kind);
        }
    }
}

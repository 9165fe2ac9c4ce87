//! The layout of a figure on paper: title, legend, frame, axes, layers, provenance. Bitmap and SVG share it.

use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{At, Canvas, Medium, Pen, Type};
use super::scale::Fitted;
use super::{Datum, Figure, FigureError, Layer, Series};
use crate::base::text::printable_label;

/// Okabe and Ito's colours, which people with any kind of colour vision can tell apart; the pale yellow comes last.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x00, 0x00),
    RGBColor(0xb8, 0xa9, 0x0a),
];
const INK: RGBColor = RGBColor(0x1a, 0x1a, 0x1a);
const GREY: RGBColor = RGBColor(0x6b, 0x6b, 0x6b);
const PALE: RGBColor = RGBColor(0xd9, 0xd9, 0xd9);
const GRID: RGBColor = RGBColor(0xee, 0xee, 0xee);

const TITLE: f64 = 15.0;
const LABEL: f64 = 12.5;
const SMALL: f64 = 11.0;
const FINE: f64 = 8.5;
const MARGIN: f64 = 16.0;
const ROW: f64 = 18.0;
/// Between the frame and the ends of the axes, so that no line runs on the frame.
const INSET: f64 = 8.0;
/// Right of the frame, for the labels of guides.
const GUIDE_ROOM: f64 = 26.0;

/// Width and height of a figure in logical pixels. Where both axes have the same range, a unit is as long on both.
pub fn size(figure: &Figure) -> (u32, u32) {
    if square(figure) { (640, 700) } else { (800, 520) }
}

fn square(figure: &Figure) -> bool {
    figure.x.range.is_some() && figure.x.range == figure.y.range && figure.x.scale == figure.y.scale
}

struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Fitted,
    y: Fitted,
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> Option<At> {
        Some((self.px(self.x.place(x)?), self.py(self.y.place(y)?)))
    }

    fn px(&self, share: f64) -> f64 {
        self.left + INSET + share * (self.right - self.left - 2.0 * INSET)
    }

    fn py(&self, share: f64) -> f64 {
        self.bottom - INSET - share * (self.bottom - self.top - 2.0 * INSET)
    }
}

/// Draws a figure on `area`: `factor` device pixels to a logical one; `area` is `factor` times as large as [`size`].
///
/// # Errors
/// [`FigureError::Draw`] where the backend fails.
pub fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    (factor, medium): (f64, Medium),
    figure: &Figure,
) -> Result<(), FigureError> {
    area.fill(&RGBColor(255, 255, 255)).map_err(|e| FigureError::Draw(e.to_string()))?;
    let canvas = Canvas::new(area, factor, medium);
    let (width, height) = size(figure);
    let (width, height) = (f64::from(width), f64::from(height));
    let left = MARGIN + 46.0;

    let title = type_of(TITLE, INK, HPos::Left, VPos::Top);
    canvas.text(
        &canvas.cut(&printable_label(&figure.title), width - left - MARGIN, title)?,
        (left, MARGIN),
        title,
    )?;
    let mut top = MARGIN + TITLE + 12.0;
    top += legend(&canvas, figure, (left, top), width - MARGIN)?;
    // Room for the labels of vertical rules, above the frame where no data is.
    if figure.layers.iter().any(|l| matches!(l, Layer::VRule { .. })) {
        top += SMALL + 4.0;
    }

    let fine = type_of(FINE, GREY, HPos::Left, VPos::Top);
    let entries = figure.provenance.entries.iter();
    let words: Vec<String> =
        entries.map(|(k, v)| format!("{} {}", printable_label(k), printable_label(v))).collect();
    let lines = canvas.wrap(&words, "  ·  ", width - left - MARGIN, fine)?;
    let footer = height - MARGIN - lines.len() as f64 * (FINE + 4.0);
    for (k, line) in lines.iter().enumerate() {
        canvas.text(line, (left, footer + k as f64 * (FINE + 4.0)), fine)?;
    }

    let values = |pick: fn(&Datum) -> f64| {
        let series = figure.layers.iter().filter_map(|l| match l {
            Layer::Series(s) => Some(s),
            _ => None,
        });
        series.flat_map(move |s| s.points.iter().map(pick))
    };
    let guides = figure.layers.iter().any(|l| matches!(l, Layer::Guide { .. }));
    let frame = Frame {
        left,
        right: width - MARGIN - if guides { GUIDE_ROOM } else { 0.0 },
        top: top + 4.0,
        bottom: footer - 52.0,
        x: Fitted::new(&figure.x, values(|p| p.x)),
        y: Fitted::new(&figure.y, values(|p| p.y)),
    };
    axes(&canvas, figure, &frame)?;
    for layer in &figure.layers {
        if let Layer::Series(series) = layer {
            band(&canvas, &frame, series)?;
        }
    }
    figure.layers.iter().try_for_each(|layer| match layer {
        Layer::Series(series) => line(&canvas, &frame, series),
        Layer::VRule { x, label } => vertical(&canvas, &frame, *x, label),
        Layer::HRule { y, label } => horizontal(&canvas, &frame, *y, label),
        Layer::Guide { points, label } => guide(&canvas, &frame, points, label),
    })
}

fn type_of(size: f64, colour: RGBColor, h: HPos, v: VPos) -> Type {
    Type { size, colour, anchor: (h, v), upwards: false }
}

fn colour(series: &Series) -> RGBColor {
    PALETTE[series.colour % PALETTE.len()]
}

/// Rows of legend entries between title and frame, where they cannot cover data. Gives their height.
fn legend<B: DrawingBackend>(
    canvas: &Canvas<'_, B>,
    figure: &Figure,
    (left, top): At,
    right: f64,
) -> Result<f64, FigureError> {
    let text = type_of(SMALL, INK, HPos::Left, VPos::Center);
    let (mut x, mut y) = (left, top + ROW / 2.0);
    let mut rows = 0.0;
    let named = figure.layers.iter().filter_map(|l| match l {
        Layer::Series(s) if !s.label.is_empty() => Some(s),
        _ => None,
    });
    let named: Vec<&Series> = named.collect();
    // Where a method has several lines, each method has a row of its own.
    let grouped = named.windows(2).any(|pair| pair[0].colour == pair[1].colour);
    for (k, series) in named.iter().enumerate() {
        let new_group = grouped && k > 0 && named[k - 1].colour != series.colour;
        let label = printable_label(&series.label);
        let sample = if series.dash.is_some() { 34.0 } else { 14.0 };
        let width = sample + 6.0 + canvas.width(&label, text)?;
        if x > left && (new_group || x + width > right) {
            (x, y) = (left, y + ROW);
        }
        rows = y - top + ROW / 2.0;
        if let Some(dash) = series.dash {
            canvas.dashed(&[(x, y), (x + sample, y)], dash, Pen::new(colour(series), 1.9))?;
        }
        if let Some(marker) = series.marker {
            canvas.marker((x + sample / 2.0, y), marker, 3.4, colour(series))?;
        }
        canvas.text(&label, (x + sample + 6.0, y), text)?;
        x += width + 18.0;
    }
    Ok(rows)
}

fn axes<B: DrawingBackend>(
    canvas: &Canvas<'_, B>,
    figure: &Figure,
    frame: &Frame,
) -> Result<(), FigureError> {
    let tick = type_of(SMALL, INK, HPos::Center, VPos::Top);
    let grid = Pen::new(GRID, 0.8);
    let pen = Pen::new(INK, 0.9);
    for t in frame.x.ticks() {
        let x = frame.px(t.at);
        let major = !t.label.is_empty();
        if major {
            canvas.line(&[(x, frame.top), (x, frame.bottom)], grid)?;
        }
        canvas.line(&[(x, frame.bottom), (x, frame.bottom + if major { 5.0 } else { 3.0 })], pen)?;
        canvas.text(&t.label, (x, frame.bottom + 9.0), tick)?;
    }
    let tick = type_of(SMALL, INK, HPos::Right, VPos::Center);
    for t in frame.y.ticks() {
        let y = frame.py(t.at);
        let major = !t.label.is_empty();
        if major {
            canvas.line(&[(frame.left, y), (frame.right, y)], grid)?;
        }
        canvas.line(&[(frame.left - if major { 5.0 } else { 3.0 }, y), (frame.left, y)], pen)?;
        canvas.text(&t.label, (frame.left - 8.0, y), tick)?;
    }
    let (l, r, t, b) = (frame.left, frame.right, frame.top, frame.bottom);
    canvas.line(&[(l, t), (l, b)], pen)?;
    match frame.x.gap().map(|share| frame.px(share)) {
        None => canvas.line(&[(l, b), (r, b)], pen)?,
        Some(gap) => {
            canvas.line(&[(l, b), (gap - 3.0, b)], pen)?;
            canvas.line(&[(gap + 3.0, b), (r, b)], pen)?;
            for x in [gap - 3.0, gap + 3.0] {
                canvas.line(&[(x - 2.0, b + 5.0), (x + 2.0, b - 5.0)], pen)?;
            }
        }
    }
    let name = type_of(LABEL, INK, HPos::Center, VPos::Top);
    canvas.text(&printable_label(&figure.x.label), ((l + r) / 2.0, b + 27.0), name)?;
    let upwards = Type { upwards: true, ..name };
    canvas.text(&printable_label(&figure.y.label), (MARGIN - 4.0, (t + b) / 2.0), upwards)
}

/// Consecutive points that a line may join: none is joined across the gap between zero and a logarithmic axis.
fn runs<T>(frame: &Frame, points: Vec<(f64, T)>) -> Vec<Vec<(f64, T)>> {
    let gap = frame.x.gap().map_or(f64::NEG_INFINITY, |share| frame.px(share));
    let (zero, rest): (Vec<_>, Vec<_>) = points.into_iter().partition(|(x, _)| *x < gap);
    vec![zero, rest]
}

/// The intervals, behind all lines.
fn band<B: DrawingBackend>(
    canvas: &Canvas<'_, B>,
    frame: &Frame,
    series: &Series,
) -> Result<(), FigureError> {
    let ends = series.points.iter().filter_map(|p| {
        let (lo, hi) = p.band?;
        let (x, lo) = frame.at(p.x, lo)?;
        Some((x, (lo, frame.at(p.x, hi)?.1)))
    });
    let pen = Pen { alpha: 0.6, ..Pen::new(colour(series), 1.1) };
    for run in runs(frame, ends.collect()) {
        if series.dash.is_none() || run.len() == 1 {
            // Single points have whiskers.
            run.iter().try_for_each(|&(x, (lo, hi))| canvas.line(&[(x, lo), (x, hi)], pen))?;
            continue;
        }
        // Quadrilaterals rather than one outline: an outline of a narrow band can cross itself.
        for pair in run.windows(2) {
            let [(x, (lo, hi)), (x2, (lo2, hi2))] = [pair[0], pair[1]];
            canvas.fill(&[(x, lo), (x, hi), (x2, hi2), (x2, lo2)], colour(series), 0.16)?;
        }
    }
    Ok(())
}

fn line<B: DrawingBackend>(
    canvas: &Canvas<'_, B>,
    frame: &Frame,
    series: &Series,
) -> Result<(), FigureError> {
    let at: Vec<At> = series.points.iter().filter_map(|p| frame.at(p.x, p.y)).collect();
    for run in runs(frame, at.clone()) {
        match series.dash {
            // A line of one point would be invisible.
            Some(_) if run.len() == 1 && series.marker.is_none() => {
                canvas.disc(run[0], 1.6, colour(series))?
            }
            Some(dash) => canvas.dashed(&run, dash, Pen::new(colour(series), 1.9))?,
            None => {}
        }
    }
    let Some(marker) = series.marker else { return Ok(()) };
    at.iter().try_for_each(|&p| canvas.marker(p, marker, 3.0, colour(series)))
}

fn vertical<B: DrawingBackend>(
    canvas: &Canvas<'_, B>,
    frame: &Frame,
    x: f64,
    label: &str,
) -> Result<(), FigureError> {
    let Some(share) = frame.x.place(x) else { return Ok(()) };
    let x = frame.px(share);
    canvas.line(&[(x, frame.top - 3.0), (x, frame.bottom)], Pen::new(GREY, 1.1))?;
    let label = printable_label(label);
    let text = type_of(SMALL, INK, HPos::Center, VPos::Bottom);
    let half = canvas.width(&label, text)? / 2.0;
    let x = x.clamp(frame.left + half, (frame.right - half).max(frame.left + half));
    canvas.text(&label, (x, frame.top - 5.0), text)
}

fn horizontal<B: DrawingBackend>(
    canvas: &Canvas<'_, B>,
    frame: &Frame,
    y: f64,
    label: &str,
) -> Result<(), FigureError> {
    let Some(share) = frame.y.place(y) else { return Ok(()) };
    let y = frame.py(share);
    canvas.line(&[(frame.left, y), (frame.right, y)], Pen::new(GREY, 1.1))?;
    let text = type_of(SMALL, INK, HPos::Right, VPos::Bottom);
    canvas.text(&printable_label(label), (frame.right - 4.0, y - 3.0), text)
}

fn guide<B: DrawingBackend>(
    canvas: &Canvas<'_, B>,
    frame: &Frame,
    points: &[(f64, f64)],
    label: &str,
) -> Result<(), FigureError> {
    let at: Vec<At> = points.iter().filter_map(|&(x, y)| frame.at(x, y)).collect();
    canvas.line(&at, Pen::new(PALE, 1.0))?;
    let Some(&(x, y)) = at.last() else { return Ok(()) };
    canvas.text(&printable_label(label), (x + INSET + 3.0, y), type_of(FINE, GREY, HPos::Left, VPos::Center))
}

//! Heatmap cells on paper, with their colour scale.

use plotters::element::Rectangle;

use super::super::canvas::{Canvas, Drawn, Pen, Side, Type, filled};
use super::super::caption::with_zeros;
use super::super::layers::{Cells, Shades};
use super::super::palette::{self, Rgb};
use super::chart::Chart;
use super::{SMALL, type_of};
use base::numbers::short;
use base::text::printable_label;

/// Width reserved for the colour scale to the right of the frame, in page units.
pub(crate) const SCALE_ROOM: f64 = 84.0;

fn shade(cells: &Cells, value: f64) -> Rgb {
    let (lo, hi) = cells.range;
    let share = if hi > lo { (value - lo) / (hi - lo) } else { 0.5 };
    match cells.shades {
        Shades::Rising => palette::rising(share),
        Shades::Diverging => palette::diverging(2.0 * share - 1.0),
    }
}

pub(crate) fn draw<'a>(canvas: &Canvas<'a>, chart: &mut Chart<'a>, cells: &Cells) -> Drawn {
    let columns = chart.x.categories().map_or(0, <[String]>::len);
    let rows = chart.y.categories().map_or(0, <[String]>::len);
    for (r, row) in cells.rows.iter().take(rows).enumerate() {
        for (c, cell) in row.iter().take(columns).enumerate() {
            let (x, y) = (c as f64, r as f64);
            let Some((a, b)) = chart.at(x - 0.5, y - 0.5).zip(chart.at(x + 0.5, y + 0.5)) else { continue };
            let hatch = Pen { alpha: 0.55, ..Pen::new(canvas.look.grey, 0.9) };
            let Some(value) = cell.value.filter(|v| v.is_finite()) else {
                canvas.hatch(a, b, hatch)?;
                continue;
            };
            let colour = shade(cells, value);
            chart.draw(Rectangle::new([(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)], filled(colour, 1.0)))?;
            let ink = canvas.look.ink_on(colour);
            if cell.doubtful {
                canvas.hatch(a, b, Pen { colour: ink, ..hatch })?;
            }
            let text = with_zeros(&short((value * 1000.0).round() / 1000.0));
            let size = SMALL.min((b.1 - a.1) * 0.6).min((b.0 - a.0 - 4.0) / canvas.fonts.width(&text, 1.0));
            if cells.numbers && size >= 6.0 {
                let at = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
                if cell.doubtful {
                    let half = canvas.fonts.width(&text, size) / 2.0 + 2.0;
                    let (upper, lower) = ((at.0 - half, at.1 - size * 0.6), (at.0 + half, at.1 + size * 0.6));
                    canvas.rectangle(upper, lower, colour, 1.0)?;
                }
                canvas.text(&text, at, type_of(size, ink, Side::Middle, Side::Middle))?;
            }
        }
    }
    scale(canvas, chart, cells)
}

fn scale(canvas: &Canvas<'_>, chart: &Chart<'_>, cells: &Cells) -> Drawn {
    const STEPS: u32 = 48;
    let look = canvas.look;
    let (left, right) = (chart.right + 24.0, chart.right + 36.0);
    let height = (chart.bottom - chart.top).min(260.0);
    let bottom = chart.top + height;
    let (lo, hi) = cells.range;
    for k in 0..STEPS {
        let step = height / f64::from(STEPS);
        let low = bottom - f64::from(k) * step;
        let value = lo + (hi - lo) * (f64::from(k) + 0.5) / f64::from(STEPS);
        canvas.rectangle((left, low - step - 0.3), (right, low), shade(cells, value), 1.0)?;
    }
    canvas.frame((left, chart.top), (right, bottom), Pen::new(look.grey, 0.7))?;
    let kind = type_of(SMALL, look.ink, Side::Start, Side::Middle);
    for share in [0.0, 0.5, 1.0] {
        let y = bottom - share * height;
        canvas.line(&[(right, y), (right + 3.0, y)], Pen::new(look.ink, 0.9))?;
        canvas.text(&with_zeros(&short(lo + (hi - lo) * share)), (right + 6.0, y), kind)?;
    }
    let label = canvas.fonts.cut(&printable_label(&cells.label), SMALL, height);
    let upwards = Type { upwards: true, ..type_of(SMALL, look.ink, Side::Middle, Side::Start) };
    canvas.text(&label, (left - 17.0, chart.top + height / 2.0), upwards)
}

//! Tables of coloured cells on paper, with their scale.

use super::super::layers::{Cells, Shades};
use super::super::palette::{self, Rgb};
use super::super::scene::{Pen, Scene, Side, Type, WHITE};
use super::frame::Frame;
use super::{GREY, INK, SMALL, type_of};
use base::numbers::short;
use base::text::printable_label;

/// Room for the scale, right of the frame.
pub(crate) const SCALE_ROOM: f64 = 96.0;

/// The colour of a value.
pub(crate) fn shade(cells: &Cells, value: f64) -> Rgb {
    let (lo, hi) = cells.range;
    let share = if hi > lo { (value - lo) / (hi - lo) } else { 0.5 };
    match cells.shades {
        Shades::Rising => palette::rising(share),
        Shades::Diverging => palette::diverging(2.0 * share - 1.0),
    }
}

/// The cells and their scale.
pub(crate) fn draw(scene: &mut Scene, frame: &Frame, cells: &Cells) {
    let edge =
        |axis: &super::super::axis::Fitted, k: usize, by: f64| axis.place(k as f64 + by).unwrap_or(0.0);
    let columns = frame.x.categories().map_or(0, <[String]>::len);
    let rows = frame.y.categories().map_or(0, <[String]>::len);
    for (r, row) in cells.rows.iter().take(rows).enumerate() {
        for (c, cell) in row.iter().take(columns).enumerate() {
            let a = (frame.px(edge(&frame.x, c, -0.5)), frame.py(edge(&frame.y, r, -0.5)));
            let b = (frame.px(edge(&frame.x, c, 0.5)), frame.py(edge(&frame.y, r, 0.5)));
            let hatch = Pen { alpha: 0.55, ..Pen::new(GREY, 0.9) };
            let Some(value) = cell.value.filter(|v| v.is_finite()) else {
                scene.hatch(a, b, hatch);
                continue;
            };
            let colour = shade(cells, value);
            scene.rectangle(a, b, colour, 1.0);
            let ink = if colour.is_light() { INK } else { WHITE };
            if cell.doubtful {
                scene.hatch(a, b, Pen { colour: ink, ..hatch });
            }
            let text = short((value * 1000.0).round() / 1000.0);
            let size = SMALL.min((b.1 - a.1) * 0.6);
            if cells.numbers && size >= 6.0 && scene.fonts.width(&text, size) + 4.0 <= b.0 - a.0 {
                let at = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
                if cell.doubtful {
                    let half = scene.fonts.width(&text, size) / 2.0 + 2.0;
                    scene.rectangle(
                        (at.0 - half, at.1 - size * 0.6),
                        (at.0 + half, at.1 + size * 0.6),
                        colour,
                        1.0,
                    );
                }
                scene.text(&text, at, type_of(size, ink, Side::Middle, Side::Middle));
            }
        }
    }
    scale(scene, frame, cells);
}

fn scale(scene: &mut Scene, frame: &Frame, cells: &Cells) {
    const STEPS: u32 = 48;
    let (left, right) = (frame.right + 22.0, frame.right + 36.0);
    let height = (frame.bottom - frame.top).min(260.0);
    let bottom = frame.top + height;
    let (lo, hi) = cells.range;
    for k in 0..STEPS {
        let step = height / f64::from(STEPS);
        let low = bottom - f64::from(k) * step;
        let value = lo + (hi - lo) * (f64::from(k) + 0.5) / f64::from(STEPS);
        scene.rectangle((left, low - step - 0.3), (right, low), shade(cells, value), 1.0);
    }
    scene.frame((left, frame.top), (right, bottom), Pen::new(GREY, 0.7));
    let kind = type_of(SMALL, INK, Side::Start, Side::Middle);
    for share in [0.0, 0.5, 1.0] {
        let y = bottom - share * height;
        scene.line(&[(right, y), (right + 3.0, y)], Pen::new(INK, 0.9));
        scene.text(&short(lo + (hi - lo) * share), (right + 6.0, y), kind);
    }
    let label = scene.fonts.cut(&printable_label(&cells.label), SMALL, height);
    let upwards = Type { upwards: true, ..type_of(SMALL, INK, Side::Middle, Side::Start) };
    scene.text(&label, (left - 16.0, frame.top + height / 2.0), upwards);
}

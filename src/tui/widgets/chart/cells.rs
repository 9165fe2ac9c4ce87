//! Heatmaps in terminal cells.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::{Chart, Stage, background, ramp, slot};
use crate::theme::Role;
use base::numbers::short;
use base::text::{printable, width};
use figure::layers::{Cell, Cells};

/// A legend entry: pieces of the sample, and the label.
pub(super) type Key = (Vec<(String, Style)>, String);

impl Chart<'_> {
    /// Draws the cells of a heatmap, with values if they fit.
    pub(super) fn cells(&self, stage: &Stage, cells: &Cells, buffer: &mut Buffer) {
        let columns = stage.x.categories().map_or(0, <[String]>::len);
        let rows = stage.y.categories().map_or(0, <[String]>::len);
        let plot = stage.plot;
        for (r, row) in cells.rows.iter().take(rows).enumerate() {
            for (c, cell) in row.iter().take(columns).enumerate() {
                let (left, right) = slot(c, columns, plot.width);
                let (top, bottom) = slot(r, rows, plot.height);
                if right > left && bottom > top {
                    let area = (plot.x + left..plot.x + right, plot.y + top..plot.y + bottom);
                    self.cell(cells, cell, area, buffer);
                }
            }
        }
    }

    fn cell(
        &self,
        cells: &Cells,
        cell: &Cell,
        (columns, rows): (std::ops::Range<u16>, std::ops::Range<u16>),
        buffer: &mut Buffer,
    ) {
        let wide = usize::from(columns.end - columns.start);
        let value = cell.value.filter(|v| v.is_finite());
        let (glyph, style) = match value {
            None => (if self.ascii() { '/' } else { '╱' }, self.theme.style(Role::Dim)),
            Some(value) => {
                let share = ramp::share(cells, value);
                if self.coloured() {
                    (' ', background(ramp::colour(cells, share)))
                } else {
                    (ramp::glyph(cells, share, self.ascii()), Style::new())
                }
            }
        };
        let line: String = std::iter::repeat_n(glyph, wide).collect();
        for row in rows.clone() {
            buffer.set_string(columns.start, row, &line, style);
        }
        let Some(value) = value else { return };
        let mark = if cell.doubtful { "?" } else { "" };
        let number = if cells.numbers { short((value * 1000.0).round() / 1000.0) } else { String::new() };
        // Without colour, a space on either side separates the number from the density.
        let blank = if self.coloured() || number.is_empty() { "" } else { " " };
        let choices = [format!("{blank}{number}{mark}{blank}"), format!("{number}{mark}"), mark.to_owned()];
        if let Some(text) = choices.iter().find(|t| width(t) <= wide && !t.is_empty()) {
            let start = columns.start + ((wide - width(text)) / 2) as u16;
            buffer.set_string(start, rows.start + (rows.end - rows.start - 1) / 2, text, style);
        }
    }

    /// Legend of the colour scale, and of missing and doubtful cells.
    pub(super) fn cell_keys(&self, cells: &Cells) -> Vec<Key> {
        const STEPS: i32 = 12;
        let dim = self.theme.style(Role::Dim);
        let (lo, hi) = cells.range;
        let mut sample = vec![(format!("{} ", short(lo)), dim)];
        for k in 0..=STEPS {
            let share = ramp::share(cells, lo + (hi - lo) * f64::from(k) / f64::from(STEPS));
            sample.push(if self.coloured() {
                (" ".to_owned(), background(ramp::colour(cells, share)))
            } else {
                (ramp::glyph(cells, share, self.ascii()).to_string(), Style::new())
            });
        }
        sample.push((format!(" {}", short(hi)), dim));
        let mut out = vec![(sample, printable(&cells.label).into_owned())];
        let all = || cells.rows.iter().flatten();
        if all().any(|c| !c.value.is_some_and(f64::is_finite)) {
            out.push((vec![(self.pick("╱╱", "//").to_owned(), dim)], "missing".into()));
        }
        if all().any(|c| c.doubtful) {
            out.push((vec![("?".to_owned(), dim)], "in doubt".into()));
        }
        out
    }
}

//! Bars and ranges in terminal cells.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::{Chart, Stage, marker_char};
use crate::theme::Role;
use figure::layers::Bars;
use figure::{Dash, Layer, Marker, Role as Look};

/// Tops of solid bars, by eighths of a cell.
const EIGHTHS: [&str; 8] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"];

/// The part of a span for the k-th of several series.
fn slot(from: f64, to: f64, k: usize, of: usize) -> (f64, f64) {
    let width = (to - from) / of.max(1) as f64;
    (from + k as f64 * width, from + (k + 1) as f64 * width)
}

impl Chart<'_> {
    /// The fill of bars with a role: dashes become densities.
    pub(super) fn fill(&self, role: Look) -> char {
        match (role.dash, self.ascii()) {
            (None | Some(Dash::Solid), false) => '█',
            (Some(Dash::Dashed), false) => '▒',
            (Some(Dash::Dotted), false) => '░',
            (None | Some(Dash::Solid), true) => '#',
            (Some(Dash::Dashed), true) => '=',
            (Some(Dash::Dotted), true) => ':',
        }
    }

    pub(super) fn bars(&self, stage: &Stage, buffer: &mut Buffer) {
        let mut all: Vec<&Bars> = Vec::new();
        for layer in &self.figure.layers {
            if let Layer::Bars(bars) = layer {
                all.push(bars);
            }
        }
        for (k, bars) in all.iter().enumerate() {
            for bar in &bars.bars {
                let (from, to) = slot(bar.from, bar.to, k, all.len());
                let Some((left, right)) = stage.x.place(from).zip(stage.x.place(to)) else { continue };
                let edge = |share: f64| (share.clamp(0.0, 1.0) * f64::from(stage.plot.width)).round() as u16;
                let (left, mut right) = (edge(left).min(stage.plot.width - 1), edge(right));
                // Leave a space between bars of categories if they are wide enough.
                if !bar.bin && right > left + 2 {
                    right -= 1;
                }
                let columns = stage.plot.x + left..stage.plot.x + right.max(left + 1);
                let middle = columns.start + (columns.end - columns.start - 1) / 2;
                for column in columns {
                    self.column(stage, column, bar.y, bars.role, buffer);
                }
                let rows = bar.band.and_then(|(lo, hi)| stage.row(lo).zip(stage.row(hi)));
                if let Some(rows) = rows {
                    self.whisker(middle, rows, self.theme.style(Role::Text), buffer);
                }
            }
        }
    }

    /// Draws one column of a bar, from zero to its value.
    fn column(&self, stage: &Stage, column: u16, value: f64, role: Look, buffer: &mut Buffer) {
        let eighths = |share: f64| (share * f64::from(stage.plot.height) * 8.0).round() as u16;
        let foot = stage.y.place(0.0).unwrap_or(0.0);
        let Some(top) = stage.y.place(value) else { return };
        let (low, high) = (eighths(foot.min(top)), eighths(foot.max(top)));
        let (fill, style) = (self.fill(role), self.style(role));
        for k in 0..stage.plot.height {
            let (from, to) = ((k * 8).max(low), (k * 8 + 8).min(high));
            let share = to.saturating_sub(from);
            let row = stage.plot.bottom() - 1 - k;
            let solid = matches!(role.dash, None | Some(Dash::Solid)) && !self.ascii();
            if solid && share < 8 && share > 0 && from == k * 8 {
                buffer.set_string(column, row, EIGHTHS[usize::from(share)], style);
            } else if share >= 4 {
                buffer.set_string(column, row, fill.encode_utf8(&mut [0; 4]), style);
            }
        }
    }

    /// Draws an interval as a vertical line with ends, from its lower to its upper row.
    fn whisker(&self, column: u16, (low, high): (u16, u16), style: Style, buffer: &mut Buffer) {
        for row in high..=low {
            let glyph = match row {
                _ if high == low => self.pick("┼", "+"),
                row if row == high => self.pick("┬", "+"),
                row if row == low => self.pick("┴", "+"),
                _ => self.pick("│", "|"),
            };
            if let Some(cell) = buffer.cell_mut((column, row)) {
                // The bar behind it remains visible.
                let behind = if cell.symbol() == "█" { cell.style().fg } else { None };
                cell.set_symbol(glyph).set_style(style);
                if let Some(colour) = behind.filter(|_| style.fg != behind) {
                    cell.set_bg(colour);
                }
            }
        }
    }

    pub(super) fn ranges(&self, stage: &Stage, buffer: &mut Buffer) {
        let count = self.figure.layers.iter().filter(|l| matches!(l, Layer::Ranges(_))).count();
        let mut k = 0;
        for layer in &self.figure.layers {
            let Layer::Ranges(ranges) = layer else { continue };
            let style = self.style(ranges.role);
            for range in &ranges.ranges {
                let middle = range.category as f64;
                let (from, to) = slot(middle - 0.4, middle + 0.4, k, count);
                let rows = stage.row(range.ends.0).zip(stage.row(range.ends.1));
                let Some((column, rows)) = stage.column((from + to) / 2.0).zip(rows) else { continue };
                self.whisker(column, rows, style, buffer);
                // Values are drawn next to the line, where they are visible.
                for row in range.dots.iter().filter_map(|d| stage.row(*d)) {
                    if column + 1 < stage.plot.right() {
                        buffer.set_string(column + 1, row, self.pick("•", "."), style);
                    }
                }
                if let Some(row) = range.mean.and_then(|m| stage.row(m)) {
                    let marker = marker_char(ranges.role.marker.unwrap_or(Marker::Circle), self.glyphs);
                    buffer.set_string(column, row, marker.encode_utf8(&mut [0; 4]), style);
                }
            }
            k += 1;
        }
    }
}

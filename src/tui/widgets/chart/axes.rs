//! The axes of a chart on cells.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::{Chart, END, Stage, room};
use crate::base::text::{fit, printable, width};
use crate::figure::Layer;
use crate::figure::axis::{Fitted, Tick};
use crate::tui::theme::Role;

fn one_row(_: &str) -> f64 {
    1.0
}

fn columns(text: &str) -> f64 {
    width(text) as f64
}

/// Ticks of a vertical axis of `rows` rows: at most every other row.
fn y_ticks(y: &Fitted, rows: u16) -> Vec<Tick> {
    let gap = if y.categories().is_some() { 0.0 } else { 1.0 };
    y.ticks(&room(rows, gap, &one_row))
}

/// Columns of the labels of a vertical axis.
pub fn labels(y: &Fitted, rows: u16) -> u16 {
    y_ticks(y, rows).iter().map(|t| width(&t.label) as u16).max().unwrap_or(0)
}

impl Chart<'_> {
    /// The vertical axis with its ticks and labels.
    pub(super) fn y_axis(&self, stage: &Stage, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Axis);
        let plot = stage.plot;
        for row in plot.rows() {
            buffer.set_string(plot.x - 1, row.y, self.pick("│", "|"), style);
        }
        let left = plot.x - 1;
        let room = left - buffer.area.x.min(left);
        for tick in y_ticks(&stage.y, plot.height).iter().filter(|t| !t.label.is_empty()) {
            let value = stage.y.value(tick.at);
            let value = if stage.y.categories().is_some() { value.round() } else { value };
            let Some(row) = stage.row(value) else { continue };
            let most = room.min(self.label_room(stage));
            let label = fit(&tick.label, most.into()).into_owned();
            buffer.set_string(left - (width(&label) as u16).min(most), row, label, style);
            buffer.set_string(left, row, self.pick("┤", "+"), style);
        }
    }

    /// Columns that labels of the vertical axis may take.
    fn label_room(&self, stage: &Stage) -> u16 {
        labels(&stage.y, stage.plot.height).min(stage.plot.x.saturating_sub(1))
    }

    /// The line and the ticks below the data. The labels of upright rules go here, and take precedence over ticks.
    pub(super) fn x_axis(&self, stage: &Stage, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Axis);
        let plot = stage.plot;
        let (line, labels) = (plot.bottom(), plot.bottom() + 1);
        buffer.set_string(plot.x - 1, line, self.pick("└", "+"), style);
        for column in plot.x..plot.right() {
            buffer.set_string(column, line, self.pick("─", "-"), style);
        }
        let mut taken: Vec<(u16, u16)> = Vec::new();
        let mut place = |at: u16, text: &str, style: Style, tick: &str, buffer: &mut Buffer| {
            let columns = width(text) as u16;
            let start = at
                .saturating_sub(columns / 2)
                .clamp(plot.x - 1, (plot.right() + END).saturating_sub(columns).max(plot.x - 1));
            let span = (start, start + columns);
            if taken.iter().any(|t| span.0 <= t.1 && t.0 <= span.1) {
                return;
            }
            taken.push(span);
            buffer.set_stringn(start, labels, text, columns.into(), style);
            buffer.set_string(at, line, tick, style);
        };
        for layer in &self.figure.layers {
            if let Layer::Rule(rule) = layer
                && rule.upright
                && let Some(at) = stage.column(rule.at)
            {
                let label = fit(&printable(&rule.label), plot.width.into()).into_owned();
                place(at, &label, self.theme.style(Role::Marker), self.pick("┴", "|"), buffer);
            }
        }
        let named = stage.x.categories().is_some();
        if !named {
            let name = self.x_name(plot.width);
            place(plot.right() + END - 1, &name, self.theme.style(Role::Dim), "", buffer);
        }
        for (at, label) in self.x_labels(stage) {
            place(at, &label, style, self.pick("┬", "+"), buffer);
        }
    }

    /// The name of the horizontal axis: there is no room for the explanation after it, nor for a long name on a short axis.
    fn x_name(&self, room: u16) -> String {
        let name = printable(self.figure.x.label.split(" (").next().unwrap_or_default()).into_owned();
        let long = width(&name) * 4 > usize::from(room);
        let name = if long { name.rsplit(' ').next().unwrap_or_default() } else { &name };
        fit(name, usize::from(room) / 2).into_owned()
    }

    /// Columns and labels of the ticks. Names of categories are cut to their span, or thinned out if that is too small.
    fn x_labels(&self, stage: &Stage) -> Vec<(u16, String)> {
        let plot = stage.plot;
        if let Some(names) = stage.x.categories() {
            let slot = usize::from(plot.width) / names.len().max(1);
            if slot >= 5 {
                let each = names.iter().enumerate();
                let label = |name: &String| fit(name, slot - 2).into_owned();
                return each.filter_map(|(k, n)| Some((stage.column(k as f64)?, label(n)))).collect();
            }
        }
        let ticks = stage.x.ticks(&room(plot.width, 2.0, &columns));
        let last = f64::from(plot.width - 1);
        let named = ticks.into_iter().filter(|t| !t.label.is_empty());
        named.map(|t| (plot.x + (t.at * last).round() as u16, t.label)).collect()
    }
}

//! Axes of a chart in terminal cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Chart, END, Stage, Y_AXIS, room};
use crate::theme::Role;
use base::text::{fit, printable, width};
use figure::axis::{Fitted, Tick};
use figure::{Figure, Layer};

/// Minimum width of a category with a name, in columns.
const LEAST_SLOT: usize = 5;

fn one_row(_: &str) -> f64 {
    1.0
}

fn columns(text: &str) -> f64 {
    width(text) as f64
}

/// Ticks of a vertical axis of `rows` rows, at most on every other row.
fn y_ticks(y: &Fitted, rows: u16) -> Vec<Tick> {
    let gap = if y.categories().is_some() { 0.0 } else { 1.0 };
    y.ticks(&room(rows, gap, &one_row))
}

/// Width of the vertical axis's labels, in columns.
pub(crate) fn labels(y: &Fitted, rows: u16) -> u16 {
    y_ticks(y, rows).iter().map(|t| width(&t.label) as u16).max().unwrap_or(0)
}

/// Minimum chart height for category names on two rows.
const TALL: u16 = 10;

/// Number of rows for names below the horizontal axis: two if category names are too long for their span and can be divided.
pub(crate) fn name_rows(figure: &Figure, x: &Fitted, area: Rect) -> u16 {
    let wants = |names: &[String]| {
        // Estimated from the maximum width of the plot, which is accurate enough to recognise a span that is far too small.
        let slot = usize::from(area.width.saturating_sub(Y_AXIS + END)) / names.len().max(1);
        slot >= LEAST_SLOT && names.iter().any(|n| width(n) > slot - 2)
    };
    let ranks = figure.layers.iter().any(|l| matches!(l, Layer::Ranks(_)));
    if area.height >= TALL && !ranks && x.categories().is_some_and(wants) { 2 } else { 1 }
}

/// Divides a name into two rows of `columns` columns, at a hyphen, underscore, slash or space. The second row is empty if the name fits
/// into one.
fn parted(name: &str, columns: usize) -> (String, String) {
    if width(name) <= columns {
        return (name.to_owned(), String::new());
    }
    let signs = name.char_indices().filter(|(_, c)| matches!(c, '-' | '_' | '/' | ' '));
    let cuts = signs.flat_map(|(at, c)| [at, at + c.len_utf8()]);
    let fits = |at: &usize| *at > 0 && *at < name.len() && width(name[..*at].trim_end()) <= columns;
    match cuts.rev().find(fits) {
        Some(at) => (name[..at].trim_end().to_owned(), fit(name[at..].trim_start(), columns).into_owned()),
        None => (fit(name, columns).into_owned(), String::new()),
    }
}

impl Chart<'_> {
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

    /// Columns available to labels of the vertical axis.
    fn label_room(&self, stage: &Stage) -> u16 {
        labels(&stage.y, stage.plot.height).min(stage.plot.x.saturating_sub(1))
    }

    /// Draws the horizontal axis with its ticks. Labels of vertical rules are drawn here too, and take precedence over ticks.
    pub(super) fn x_axis(&self, stage: &Stage, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Axis);
        let plot = stage.plot;
        let (line, labels) = (plot.bottom(), plot.bottom() + 1);
        buffer.set_string(plot.x - 1, line, self.pick("└", "+"), style);
        for column in plot.x..plot.right() {
            buffer.set_string(column, line, self.pick("─", "-"), style);
        }
        let mut taken: Vec<(u16, u16)> = Vec::new();
        let start = |at: u16, columns: u16| {
            let last = (plot.right() + END).saturating_sub(columns).max(plot.x - 1);
            at.saturating_sub(columns / 2).clamp(plot.x - 1, last)
        };
        let mut place = |at: u16, text: &str, style: Style, tick: &str, buffer: &mut Buffer| {
            let columns = width(text) as u16;
            let start = start(at, columns);
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
        for (at, label, below) in self.x_labels(stage) {
            place(at, &label, style, self.pick("┬", "+"), buffer);
            let columns = width(&below) as u16;
            if columns > 0 {
                buffer.set_stringn(start(at, columns), labels + 1, &below, columns.into(), style);
            }
        }
        if stage.x.categories().is_none() {
            self.x_name(stage, buffer);
        }
    }

    /// Writes the name of the horizontal axis on the axis, without the explanation in brackets and shortened if needed. It is as far right
    /// as possible without covering a tick, or else before the last column. Tick labels are never cut.
    fn x_name(&self, stage: &Stage, buffer: &mut Buffer) {
        let plot = stage.plot;
        let name = printable(self.figure.x.label.split(" (").next().unwrap_or_default());
        let is_long = width(&name) * 4 > usize::from(plot.width);
        let name = if is_long { name.rsplit(' ').next().unwrap_or_default() } else { &name };
        let name = format!(" {} ", fit(name, usize::from(plot.width) / 2));
        let columns = width(&name) as u16;
        let bare = self.pick("─", "-");
        let is_bare = |x: u16| buffer.cell((x, plot.bottom())).is_some_and(|c| c.symbol() == bare);
        let end = plot.right().saturating_sub(columns + 1);
        let free = (plot.x..=end).rev().find(|start| (*start..start + columns).all(is_bare));
        buffer.set_string(free.unwrap_or(end), plot.bottom(), name, self.theme.style(Role::Dim));
    }

    /// Columns of the ticks with their labels, on one or two rows. Category names are divided or cut to their span, or partly omitted if
    /// the span is too small.
    fn x_labels(&self, stage: &Stage) -> Vec<(u16, String, String)> {
        let plot = stage.plot;
        if let Some(names) = stage.x.categories() {
            let slot = usize::from(plot.width) / names.len().max(1);
            if slot >= LEAST_SLOT {
                let label = |name: &String| match stage.name_rows {
                    1 => (fit(name, slot - 2).into_owned(), String::new()),
                    _ => parted(name, slot - 1),
                };
                let each = names.iter().enumerate().map(|(k, n)| (k, label(n)));
                return each.filter_map(|(k, (a, b))| Some((stage.column(k as f64)?, a, b))).collect();
            }
        }
        let ticks = stage.x.ticks(&room(plot.width, 2.0, &columns));
        let last = f64::from(plot.width - 1);
        let named = ticks.into_iter().filter(|t| !t.label.is_empty());
        named.map(|t| (plot.x + (t.at * last).round() as u16, t.label, String::new())).collect()
    }
}

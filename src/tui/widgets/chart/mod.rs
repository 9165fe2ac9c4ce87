//! Draws a [`Figure`] on cells: axes, bands, lines by dash, markers, rules, and a legend that never covers data.

mod canvas;
mod scale;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;

use self::canvas::Canvas;
use self::scale::Mapping;
use crate::base::text::{fit, printable, width};
use crate::figure::{Dash, Figure, Layer, Marker, Series};
use crate::tui::state::Glyphs;
use crate::tui::theme::{Role, Theme};

/// Columns of the vertical axis: label, gap and line.
const Y_AXIS: u16 = 5;
/// Columns of the labels at the ends of lines.
const END: u16 = 2;

/// A figure as a widget.
pub struct Chart<'a> {
    /// What is drawn.
    pub figure: &'a Figure,
    /// Its colours.
    pub theme: &'a Theme,
    /// What it is drawn with.
    pub glyphs: Glyphs,
    /// What of its series is drawn.
    pub form: Form,
}

/// What of the series is drawn: cells are too coarse for lines and markers at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines with bands; quantities differ by dash and colour.
    Lines,
    /// Markers; methods differ by marker and colour.
    Markers,
}

/// The area of the data inside the area of the chart: below the legend, right of the axis, above the ticks.
fn plot(area: Rect) -> Option<Rect> {
    let plot = Rect {
        x: area.x.checked_add(Y_AXIS)?,
        y: area.y.checked_add(1)?,
        width: area.width.checked_sub(Y_AXIS + END)?,
        height: area.height.checked_sub(3)?,
    };
    (plot.width >= 4 && plot.height >= 2).then_some(plot)
}

/// The value of the horizontal axis at a column of the screen, clamped to the axis; none where nothing is drawn.
pub fn value_at(figure: &Figure, area: Rect, column: u16) -> Option<f64> {
    let plot = plot(area)?;
    let x = Mapping::horizontal(figure)?;
    let share = f64::from(column.saturating_sub(plot.x)) / f64::from(plot.width - 1);
    Some(x.value(share.min(1.0)))
}

/// The character of a marker.
pub fn marker_char(marker: Marker, glyphs: Glyphs) -> char {
    match marker {
        Marker::Circle => 'o',
        Marker::Cross => 'x',
        Marker::Plus => '+',
        Marker::Triangle if glyphs == Glyphs::Ascii => '^',
        Marker::Square if glyphs == Glyphs::Ascii => '#',
        Marker::Triangle => '△',
        Marker::Square => '□',
        Marker::Star => '*',
    }
}

impl Widget for Chart<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        let axes = Mapping::horizontal(self.figure).zip(Mapping::vertical(self.figure));
        let (Some(plot), Some((x, y))) = (plot(area), axes) else { return };
        self.legend(area, buffer);
        self.y_axis(plot, &y, buffer);
        self.x_axis(plot, &x, buffer);
        self.rules(plot, &x, &y, buffer);
        let mut canvas = Canvas::new(plot, self.glyphs);
        self.guides(&mut canvas, &x, &y);
        if self.form == Form::Lines {
            for series in self.series() {
                self.band(&mut canvas, series, &x, &y);
            }
            for series in self.series() {
                self.line(&mut canvas, series, &x, &y);
            }
        }
        canvas.render(buffer);
        match self.form {
            Form::Lines => self.ends(plot, &y, buffer),
            Form::Markers => self.markers(plot, &x, &y, buffer),
        }
    }
}

impl Chart<'_> {
    fn series(&self) -> impl Iterator<Item = &Series> {
        self.figure.layers.iter().filter_map(|layer| match layer {
            Layer::Series(series) => Some(series),
            _ => None,
        })
    }

    /// The look of a series: of its quantity among lines, of its method among markers.
    fn style(&self, series: &Series) -> Style {
        match (self.form, series.dash) {
            (Form::Lines, Some(Dash::Dashed)) => self.theme.style(Role::Completeness),
            (Form::Lines, Some(Dash::Dotted)) => self.theme.style(Role::Selectivity),
            (Form::Lines, Some(Dash::Solid)) => self.theme.style(Role::Reliability),
            _ => self.theme.series(series.colour),
        }
    }

    fn sample(&self, series: &Series) -> String {
        if self.form == Form::Markers {
            return series.marker.map_or(String::new(), |m| marker_char(m, self.glyphs).to_string());
        }
        let ascii = self.glyphs == Glyphs::Ascii;
        let line = match series.dash {
            Some(Dash::Solid) => {
                if ascii {
                    "***"
                } else {
                    "───"
                }
            }
            Some(Dash::Dashed) => {
                if ascii {
                    "---"
                } else {
                    "╌╌╌"
                }
            }
            Some(Dash::Dotted) => {
                if ascii {
                    "..."
                } else {
                    "···"
                }
            }
            None => "",
        };
        line.into()
    }

    fn legend(&self, area: Rect, buffer: &mut Buffer) {
        let (mut at, end) = (area.x + 1, area.right());
        for series in self.series() {
            let room = usize::from(end.saturating_sub(at));
            let label = printable(&series.label);
            let sample = self.sample(series);
            if room < width(&sample) + 3 {
                return;
            }
            let style = self.style(series);
            at = buffer.set_stringn(at, area.y, &sample, room, style).0 + 1;
            let room = usize::from(end.saturating_sub(at));
            at = buffer.set_stringn(at, area.y, fit(&label, room), room, self.theme.style(Role::Dim)).0 + 2;
        }
    }

    fn y_axis(&self, plot: Rect, y: &Mapping, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Axis);
        let ascii = self.glyphs == Glyphs::Ascii;
        for row in plot.rows() {
            buffer.set_string(plot.x - 1, row.y, if ascii { "|" } else { "│" }, style);
        }
        let mut taken: Vec<u16> = Vec::new();
        for (value, label) in y.ticks(usize::from(plot.height / 3).clamp(1, 5)) {
            let Some(row) = cell_row(plot, y, value) else { continue };
            if taken.iter().any(|t| t.abs_diff(row) < 2) {
                continue;
            }
            taken.push(row);
            let label = fit(&label, usize::from(Y_AXIS - 1)).into_owned();
            let columns = width(&label) as u16;
            buffer.set_string(plot.x - 1 - columns.min(Y_AXIS - 1), row, label, style);
            buffer.set_string(plot.x - 1, row, if ascii { "+" } else { "┤" }, style);
        }
    }

    /// The line and the ticks below the data. The labels of vertical rules stand here, before all ticks.
    fn x_axis(&self, plot: Rect, x: &Mapping, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Axis);
        let ascii = self.glyphs == Glyphs::Ascii;
        let (line, labels) = (plot.bottom(), plot.bottom() + 1);
        buffer.set_string(plot.x - 1, line, if ascii { "+" } else { "└" }, style);
        for column in plot.x..plot.right() {
            buffer.set_string(column, line, if ascii { "-" } else { "─" }, style);
        }
        let mut taken: Vec<(u16, u16)> = Vec::new();
        let mut place = |at: u16, text: &str, style: Style, tick: &str, buffer: &mut Buffer| {
            let columns = width(text) as u16;
            let start = at
                .saturating_sub(columns / 2)
                .clamp(plot.x - 1, (plot.right() + END).saturating_sub(columns));
            let span = (start, start + columns);
            if taken.iter().any(|t| span.0 <= t.1 && t.0 <= span.1) {
                return;
            }
            taken.push(span);
            buffer.set_stringn(start, labels, text, columns.into(), style);
            buffer.set_string(at, line, tick, style);
        };
        for layer in &self.figure.layers {
            if let Layer::VRule { x: value, label } = layer
                && let Some(at) = cell_column(plot, x, *value)
            {
                let label = fit(&printable(label), plot.width.into()).into_owned();
                place(at, &label, self.theme.style(Role::Marker), if ascii { "|" } else { "┴" }, buffer);
            }
        }
        // The explanation behind the name has no room here, nor has a long name on a short axis.
        let name = printable(self.figure.x.label.split(" (").next().unwrap_or_default()).into_owned();
        let long = width(&name) * 4 > usize::from(plot.width);
        let name = if long { name.rsplit(' ').next().unwrap_or_default() } else { &name };
        place(plot.right() + END - 1, name, self.theme.style(Role::Dim), "", buffer);
        for (value, label) in x.ticks(usize::from(plot.width / 8).clamp(2, 10)) {
            if let Some(at) = cell_column(plot, x, value) {
                place(at, &label, style, if ascii { "+" } else { "┬" }, buffer);
            }
        }
    }

    fn rules(&self, plot: Rect, x: &Mapping, y: &Mapping, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Marker);
        let ascii = self.glyphs == Glyphs::Ascii;
        for layer in &self.figure.layers {
            match layer {
                Layer::VRule { x: value, .. } => {
                    let Some(column) = cell_column(plot, x, *value) else { continue };
                    for row in plot.rows() {
                        buffer.set_string(column, row.y, if ascii { ":" } else { "┊" }, style);
                    }
                }
                Layer::HRule { y: value, label } => {
                    let Some(row) = cell_row(plot, y, *value) else { continue };
                    for column in plot.x..plot.right() {
                        buffer.set_string(column, row, if ascii { "." } else { "┈" }, style);
                    }
                    let room = usize::from(plot.width);
                    buffer.set_stringn(plot.x, row, fit(&printable(label), room), room, style);
                }
                // Guides help on paper; the few dots of a terminal belong to the data.
                Layer::Series(_) | Layer::Guide { .. } => {}
            }
        }
    }

    fn dot(&self, canvas: &Canvas, x: &Mapping, y: &Mapping, at: (f64, f64)) -> (i64, i64) {
        let (columns, rows) = canvas.dots();
        let place = |share: f64, count: i64| (share.clamp(-1.0, 2.0) * (count - 1) as f64).round() as i64;
        (place(x.position(at.0), columns), place(1.0 - y.position(at.1), rows))
    }

    fn guides(&self, canvas: &mut Canvas, x: &Mapping, y: &Mapping) {
        let style = self.theme.style(Role::Guide);
        for layer in &self.figure.layers {
            let Layer::Guide { points, .. } = layer else { continue };
            let mut count = 0;
            for pair in points.windows(2) {
                let (from, to) = (self.dot(canvas, x, y, pair[0]), self.dot(canvas, x, y, pair[1]));
                canvas.line(from, to, style, Dash::Dotted, &mut count);
            }
        }
    }

    fn line(&self, canvas: &mut Canvas, series: &Series, x: &Mapping, y: &Mapping) {
        let Some(dash) = series.dash else { return };
        let style = self.style(series);
        let mut count = 0;
        if let [only] = series.points.as_slice() {
            let at = self.dot(canvas, x, y, (only.x, only.y));
            canvas.line(at, (at.0 + 1, at.1), style, Dash::Solid, &mut count);
        }
        for pair in series.points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let (from, to) = (self.dot(canvas, x, y, (a.x, a.y)), self.dot(canvas, x, y, (b.x, b.y)));
            if x.connects(a.x, b.x) {
                canvas.line(from, to, style, dash, &mut count);
            } else {
                canvas.line(from, (from.0 + 1, from.1), style, Dash::Solid, &mut 0);
            }
        }
    }

    fn band(&self, canvas: &mut Canvas, series: &Series, x: &Mapping, y: &Mapping) {
        let style = self.style(series).remove_modifier(Modifier::BOLD).add_modifier(Modifier::DIM);
        for pair in series.points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let (Some(band_a), Some(band_b)) = (a.band, b.band) else { continue };
            if !x.connects(a.x, b.x) {
                continue;
            }
            let ends = |at: f64, band: (f64, f64)| {
                (self.dot(canvas, x, y, (at, band.1)), self.dot(canvas, x, y, (at, band.0)))
            };
            let ((upper_a, lower_a), (upper_b, lower_b)) = (ends(a.x, band_a), ends(b.x, band_b));
            let span = (upper_b.0 - upper_a.0).max(1);
            for step in 0..span {
                let mix = |p: i64, q: i64| p + ((q - p) as f64 * step as f64 / span as f64).round() as i64;
                let (upper, lower) = (mix(upper_a.1, upper_b.1), mix(lower_a.1, lower_b.1));
                // A band thinner than the line adds nothing.
                if lower - upper > 2 {
                    canvas.shade(upper_a.0 + step, upper, lower, style);
                }
            }
        }
    }

    fn markers(&self, plot: Rect, x: &Mapping, y: &Mapping, buffer: &mut Buffer) {
        for series in self.series() {
            let Some(marker) = series.marker else { continue };
            let glyph = marker_char(marker, self.glyphs);
            for point in &series.points {
                let at = cell_column(plot, x, point.x).zip(cell_row(plot, y, point.y));
                if let Some(cell) = at.and_then(|at| buffer.cell_mut(at)) {
                    cell.set_char(glyph).set_style(self.style(series));
                }
            }
        }
    }

    /// The initial of each line at its end, each on a row of its own.
    fn ends(&self, plot: Rect, y: &Mapping, buffer: &mut Buffer) {
        let mut taken = Vec::new();
        for series in self.series().filter(|s| s.dash.is_some()) {
            let last = series.points.last().and_then(|p| cell_row(plot, y, p.y));
            let initial = series.label.chars().find(|c| c.is_alphanumeric());
            let (Some(wanted), Some(initial)) = (last, initial) else { continue };
            let mut rows: Vec<u16> = (plot.y..plot.bottom()).filter(|row| !taken.contains(row)).collect();
            rows.sort_by_key(|row| row.abs_diff(wanted));
            let Some(row) = rows.first().copied() else { continue };
            taken.push(row);
            let text: String = initial.to_uppercase().take(1).collect();
            buffer.set_stringn(plot.right(), row, text, END.into(), self.style(series));
        }
    }
}

fn cell_column(plot: Rect, x: &Mapping, value: f64) -> Option<u16> {
    let share = x.position(value);
    let inside = (-1e-9..=1.0 + 1e-9).contains(&share);
    inside.then(|| plot.x + (share.clamp(0.0, 1.0) * f64::from(plot.width - 1)).round() as u16)
}

fn cell_row(plot: Rect, y: &Mapping, value: f64) -> Option<u16> {
    let share = 1.0 - y.position(value);
    let inside = (-1e-9..=1.0 + 1e-9).contains(&share);
    inside.then(|| plot.y + (share.clamp(0.0, 1.0) * f64::from(plot.height - 1)).round() as u16)
}

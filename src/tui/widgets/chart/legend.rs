//! The legend of a chart on cells: rows above the data, as many as its entries need and the height allows.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Chart, Form, marker_char};
use crate::theme::Role;
use base::text::{fit, printable, width};
use figure::{Dash, Figure, Layer, Marker, Role as Look};

/// Most rows of a legend.
const MOST_ROWS: u16 = 4;
/// Rows of a chart for each row of its legend beyond the first: data come before names.
const TALL: u16 = 5;

/// Rows that the legend of a figure takes in an area of this size: one, and more where series have names that one cannot hold.
pub(super) fn rows(figure: &Figure, area: Rect, form: Form) -> u16 {
    let most = (area.height / TALL).saturating_sub(1).clamp(1, MOST_ROWS);
    let (mut rows, mut at) = (1, 1);
    for layer in &figure.layers {
        // The sample, a blank, the name, and two blanks.
        let columns = match layer {
            Layer::Line(l) if form == Form::Markers && l.role.marker.is_none() => continue,
            Layer::Line(l) if form == Form::Markers => 1 + width(&printable(&l.label)),
            Layer::Line(l) => 3 + width(&printable(&l.label)),
            Layer::Points(p) => 1 + width(&printable(&p.label)),
            Layer::Bars(b) => 2 + width(&printable(&b.label)),
            Layer::Ranges(r) => 1 + width(&printable(&r.label)),
            _ => continue,
        };
        if at > 1 && at + columns + 1 > usize::from(area.width) {
            (rows, at) = (rows + 1, 1);
        }
        at += columns + 3;
    }
    rows.min(most)
}

impl Chart<'_> {
    /// Draws the legend into its [`rows`], as far as it fits. An entry that begins a row is cut to it, and so is one in the last
    /// row.
    pub(super) fn legend(&self, area: Rect, buffer: &mut Buffer) {
        let (mut at, end) = (area.x + 1, area.right());
        let (mut y, last) = (area.y, area.y + rows(self.figure, area, self.form) - 1);
        for (sample, label) in self.entries() {
            let columns: usize = sample.iter().map(|(text, _)| width(text)).sum();
            let room = |at: u16| usize::from(end.saturating_sub(at));
            if y < last && at > area.x + 1 && room(at) < columns + 1 + width(&label) {
                (at, y) = (area.x + 1, y + 1);
            }
            if room(at) < columns + 3 {
                return;
            }
            for (text, style) in &sample {
                at = buffer.set_stringn(at, y, text, usize::from(end - at), *style).0;
            }
            at += 1;
            let text = fit(&label, room(at)).into_owned();
            at = buffer.set_stringn(at, y, text, room(at), self.theme.style(Role::Dim)).0 + 2;
        }
    }

    /// Samples, each of pieces with their styles, and labels.
    fn entries(&self) -> Vec<(Vec<(String, Style)>, String)> {
        let mut out = Vec::new();
        let mut add = |sample: String, role: Look, label: &str| {
            out.push((vec![(sample, self.style(role))], printable(label).into_owned()));
        };
        for layer in &self.figure.layers {
            match layer {
                // A line without markers is not drawn in that form.
                Layer::Line(line) if self.form == Form::Markers && line.role.marker.is_none() => {}
                Layer::Line(line) => add(self.sample(line.role), line.role, &line.label),
                Layer::Points(points) => {
                    let marker = marker_char(points.role.marker.unwrap_or(Marker::Circle), self.glyphs);
                    add(marker.to_string(), points.role, &points.label);
                }
                Layer::Bars(bars) => {
                    let fill = self.fill(bars.role);
                    add([fill, fill].iter().collect(), bars.role, &bars.label);
                }
                Layer::Ranges(ranges) => {
                    let marker = marker_char(ranges.role.marker.unwrap_or(Marker::Circle), self.glyphs);
                    add(marker.to_string(), ranges.role, &ranges.label);
                }
                _ => {}
            }
        }
        for layer in &self.figure.layers {
            match layer {
                Layer::Cells(cells) => out.extend(self.cell_keys(cells)),
                Layer::Tokens(tokens) => out.extend(self.token_keys(tokens)),
                Layer::Graph(graph) => out.extend(self.graph_keys(graph)),
                _ => {}
            }
        }
        out
    }

    fn sample(&self, role: Look) -> String {
        if self.form == Form::Markers {
            return role.marker.map_or(String::new(), |m| marker_char(m, self.glyphs).to_string());
        }
        match role.dash {
            Some(Dash::Solid) => self.pick("───", "***"),
            Some(Dash::Dashed) => self.pick("╌╌╌", "---"),
            Some(Dash::Dotted) => self.pick("···", "..."),
            None => "",
        }
        .into()
    }
}

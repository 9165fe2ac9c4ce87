//! The legend of a chart in terminal cells: rows above the data, as many as needed and as the height allows. No entry is cut.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Chart, Form, marker_char};
use crate::theme::Role;
use base::text::{fit, printable, width};
use figure::{Dash, Layer, Marker, Role as Look};

const MOST_ROWS: u16 = 5;
/// Rows of the chart required for each legend row, so that data have priority over names.
const TALL: u16 = 4;

/// A legend entry: pieces of the sample, and the label.
type Sampled = (Vec<(String, Style)>, String);

/// A piece of the legend with its row and column, from 0.
type Placed = (u16, u16, String, Style);

fn columns(sample: &[(String, Style)]) -> usize {
    sample.iter().map(|(text, _)| width(text)).sum()
}

impl Chart<'_> {
    /// Number of legend rows in an area of this size, at least one.
    pub(super) fn legend_rows(&self, area: Rect) -> u16 {
        self.legend_layout(area).1
    }

    pub(super) fn legend(&self, area: Rect, buffer: &mut Buffer) {
        for (row, column, text, style) in self.legend_layout(area).0 {
            let room = usize::from(area.width.saturating_sub(column));
            buffer.set_stringn(area.x + column, area.y + row, fit(&text, room), room, style);
        }
    }

    /// Places the pieces of the legend and counts its rows. Entries that do not fit go to the next row, and a label longer than a row is
    /// divided between words. Entries without a row are counted: `+2 more`.
    fn legend_layout(&self, area: Rect) -> (Vec<Placed>, u16) {
        let most = (area.height / TALL).clamp(1, MOST_ROWS);
        let end = usize::from(area.width);
        let (mut out, mut row, mut at) = (Vec::new(), 0, 1);
        let entries = self.entries();
        let dim = self.theme.style(Role::Dim);
        for (k, (sample, label)) in entries.iter().enumerate() {
            let entry = columns(sample) + 1 + width(label);
            // The last row reserves space for the number of omitted entries.
            let rest = |row: u16| if row + 1 == most && k + 1 < entries.len() { 8 } else { 0 };
            if at > 1 && at + entry + rest(row) > end {
                if row + 1 == most {
                    out.push((row, at as u16, format!("+{} more", entries.len() - k), dim));
                    break;
                }
                (row, at) = (row + 1, 1);
            }
            for (text, style) in sample {
                out.push((row, at as u16, text.clone(), *style));
                at += width(text);
            }
            at += 1;
            let from = at;
            for word in label.split(' ') {
                if at > from && at + width(word) > end && row + 1 < most {
                    (row, at) = (row + 1, from);
                }
                out.push((row, at as u16, word.to_owned(), dim));
                at += width(word) + 1;
            }
            at += 1;
        }
        (out, row + 1)
    }

    /// Samples and labels of everything drawn.
    fn entries(&self) -> Vec<Sampled> {
        let mut out: Vec<Sampled> = Vec::new();
        let mut add = |sample: String, role: Look, label: &str| {
            if !label.is_empty() {
                out.push((vec![(sample, self.style(role))], printable(label).into_owned()));
            }
        };
        for layer in &self.figure.layers {
            match layer {
                Layer::Line(line) => {
                    let drawn = match self.form {
                        Form::Lines => line.role.dash.is_some() || self.is_banded(line),
                        Form::Markers => line.role.marker.is_some(),
                    };
                    if drawn {
                        add(self.sample(line.role), line.role, &line.label);
                    }
                }
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
                    if ranges.ranges.iter().any(|range| !range.dots.is_empty()) {
                        add(self.pick("•", ".").to_owned(), ranges.role, &ranges.dots);
                    }
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
            None => self.pick("░░", "::"),
        }
        .into()
    }
}

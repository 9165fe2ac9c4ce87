//! The legend of a chart on cells: one row above the data.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Chart, Form, marker_char};
use crate::base::text::{fit, printable, width};
use crate::figure::{Dash, Layer, Marker, Role as Look};
use crate::tui::theme::Role;

impl Chart<'_> {
    /// Draws the legend, as far as it fits into one row.
    pub(super) fn legend(&self, area: Rect, buffer: &mut Buffer) {
        let (mut at, end) = (area.x + 1, area.right());
        for (sample, label) in self.entries() {
            let room = usize::from(end.saturating_sub(at));
            let columns: usize = sample.iter().map(|(text, _)| width(text)).sum();
            if room < columns + 3 {
                return;
            }
            for (text, style) in &sample {
                at = buffer.set_stringn(at, area.y, text, usize::from(end - at), *style).0;
            }
            at += 1;
            let room = usize::from(end.saturating_sub(at));
            at = buffer.set_stringn(at, area.y, fit(&label, room), room, self.theme.style(Role::Dim)).0 + 2;
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

//! Lines, bands, points, rank lines, rules and guides on cells.

use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};

use super::canvas::Canvas;
use super::{Chart, Form, Stage, marker_char};
use crate::theme::Role;
use base::text::{fit, printable, width};
use figure::layers::{Line, Points, RankLine};
use figure::{self, Dash, Layer, Marker};

impl Chart<'_> {
    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.figure.layers.iter().filter_map(|layer| match layer {
            Layer::Line(line) => Some(line),
            _ => None,
        })
    }

    fn rank_names(&self) -> impl Iterator<Item = &RankLine> {
        let ranks = self.figure.layers.iter().filter_map(|layer| match layer {
            Layer::Ranks(ranks) => Some(&ranks.lines),
            _ => None,
        });
        ranks.flatten()
    }

    /// Rules across the plot, with their labels.
    pub(super) fn rules(&self, stage: &Stage, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Marker);
        let plot = stage.plot;
        for layer in &self.figure.layers {
            let Layer::Rule(rule) = layer else { continue };
            if rule.upright {
                let Some(column) = stage.column(rule.at) else { continue };
                for row in plot.rows() {
                    buffer.set_string(column, row.y, self.pick("┊", ":"), style);
                }
            } else {
                let Some(row) = stage.row(rule.at) else { continue };
                for column in plot.x..plot.right() {
                    buffer.set_string(column, row, self.pick("┈", "."), style);
                }
                let room = usize::from(plot.width);
                buffer.set_stringn(plot.x, row, fit(&printable(&rule.label), room), room, style);
            }
        }
    }

    /// Guides, dotted.
    pub(super) fn guides(&self, canvas: &mut Canvas, stage: &Stage) {
        let style = self.theme.style(Role::Guide);
        for layer in &self.figure.layers {
            let Layer::Guide(guide) = layer else { continue };
            let mut count = 0;
            for pair in guide.points.windows(2) {
                if let Some((from, to)) = stage.dot(canvas, pair[0]).zip(stage.dot(canvas, pair[1])) {
                    canvas.line(from, to, style, Dash::Dotted, &mut count);
                }
            }
        }
    }

    /// Bands first, lines over them.
    pub(super) fn bands_and_lines(&self, canvas: &mut Canvas, stage: &Stage) {
        for line in self.lines() {
            self.band(canvas, line, stage);
        }
        for line in self.lines() {
            self.line(canvas, line, stage);
        }
    }

    fn line(&self, canvas: &mut Canvas, line: &Line, stage: &Stage) {
        let Some(dash) = line.role.dash else { return };
        let style = self.style(line.role);
        let mut count = 0;
        if let [only] = line.points.as_slice()
            && let Some(at) = stage.dot(canvas, (only.x, only.y))
        {
            canvas.line(at, (at.0 + 1, at.1), style, Dash::Solid, &mut count);
        }
        for pair in line.points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let ends = stage.dot(canvas, (a.x, a.y)).zip(stage.dot(canvas, (b.x, b.y)));
            let Some((from, to)) = ends else { continue };
            if stage.x.connects(a.x, b.x) {
                canvas.line(from, to, style, dash, &mut count);
            } else {
                canvas.line(from, (from.0 + 1, from.1), style, Dash::Solid, &mut 0);
            }
        }
    }

    /// The wide interval as sparse dots, the narrow one inside it as denser ones.
    fn band(&self, canvas: &mut Canvas, line: &Line, stage: &Stage) {
        let style = self.style(line.role).remove_modifier(Modifier::BOLD).add_modifier(Modifier::DIM);
        for pair in line.points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            if !stage.x.connects(a.x, b.x) {
                continue;
            }
            for (dense, bands) in [(false, a.band.zip(b.band)), (true, a.inner.zip(b.inner))] {
                let Some((first, second)) = bands else { continue };
                let ends =
                    |x: f64, (lo, hi): (f64, f64)| stage.dot(canvas, (x, hi)).zip(stage.dot(canvas, (x, lo)));
                let Some((first, second)) = ends(a.x, first).zip(ends(b.x, second)) else { continue };
                shade(canvas, (first, second), style, dense);
            }
        }
    }

    /// Rank lines between the categories.
    pub(super) fn rank_lines(&self, canvas: &mut Canvas, stage: &Stage) {
        for line in self.rank_names() {
            let mut count = 0;
            for (k, pair) in line.ranks.windows(2).enumerate() {
                let at = |k: usize, rank: Option<f64>| stage.dot(canvas, (k as f64, rank?));
                if let Some((from, to)) = at(k, pair[0]).zip(at(k + 1, pair[1])) {
                    let dash = line.role.dash.unwrap_or(Dash::Solid);
                    canvas.line(from, to, self.style(line.role), dash, &mut count);
                }
            }
        }
    }

    /// Markers of lines (in their form), of points and of ranks, labels of points, ticks of guides.
    pub(super) fn marks(&self, stage: &Stage, buffer: &mut Buffer) {
        let mut mark = |x: f64, y: f64, marker: Marker, style: Style| {
            let at = stage.column(x).zip(stage.row(y));
            if let Some(cell) = at.and_then(|at| buffer.cell_mut(at)) {
                cell.set_char(marker_char(marker, self.glyphs)).set_style(style);
            }
        };
        for layer in &self.figure.layers {
            match layer {
                Layer::Line(line) if self.form == Form::Markers => {
                    let Some(marker) = line.role.marker else { continue };
                    for p in &line.points {
                        let emphasis = p.emphasis.within(line.role.emphasis);
                        mark(p.x, p.y, marker, self.style(figure::Role { emphasis, ..line.role }));
                    }
                }
                Layer::Points(points) => {
                    let marker = points.role.marker.unwrap_or(Marker::Circle);
                    points.points.iter().for_each(|p| mark(p.x, p.y, marker, self.style(points.role)));
                }
                Layer::Ranks(ranks) => {
                    for line in &ranks.lines {
                        let marker = line.role.marker.unwrap_or(Marker::Circle);
                        let each = line.ranks.iter().enumerate().filter_map(|(k, r)| Some((k as f64, (*r)?)));
                        each.for_each(|(x, y)| mark(x, y, marker, self.style(line.role)));
                    }
                }
                _ => {}
            }
        }
        for layer in &self.figure.layers {
            match layer {
                Layer::Points(points) => self.labels(stage, points, buffer),
                Layer::Guide(guide) => {
                    for (x, y, label) in &guide.ticks {
                        let Some((column, row)) = stage.column(*x).zip(stage.row(*y)) else { continue };
                        let style = self.theme.style(Role::Dim);
                        buffer.set_string(column, row, self.pick("┼", "+"), style);
                        write_if_free(stage, (column + 2, row), &printable(label), style, buffer);
                    }
                }
                _ => {}
            }
        }
    }

    /// Labels of points, to their right or left, where nothing has been drawn yet.
    fn labels(&self, stage: &Stage, points: &Points, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Dim);
        for p in points.points.iter().filter(|p| !p.label.is_empty()) {
            let Some((column, row)) = stage.column(p.x).zip(stage.row(p.y)) else { continue };
            let label = fit(&printable(&p.label), 20).into_owned();
            let left = column.checked_sub(width(&label) as u16 + 1);
            let _ = write_if_free(stage, (column + 2, row), &label, style, buffer)
                || left.is_some_and(|left| write_if_free(stage, (left, row), &label, style, buffer));
        }
    }

    /// The initial of each line, and the name of each rank line, at its end, each on a separate row.
    pub(super) fn ends(&self, stage: &Stage, buffer: &mut Buffer) {
        let plot = stage.plot;
        let lines = self.lines().filter(|l| l.role.dash.is_some()).filter_map(|line| {
            let initial = line.label.chars().find(|c| c.is_alphanumeric())?;
            Some((line.points.last()?.y, initial.to_uppercase().take(1).collect::<String>(), line.role))
        });
        let ranks = self.rank_names().filter_map(|line| {
            let last = line.ranks.iter().flatten().last()?;
            Some((*last, format!(" {}", printable(&line.label)), line.role))
        });
        let mut taken = Vec::new();
        for (y, text, role) in lines.chain(ranks) {
            let Some(wanted) = stage.row(y) else { continue };
            let rows = (plot.y..plot.bottom()).filter(|row| !taken.contains(row));
            let Some(row) = rows.min_by_key(|row| row.abs_diff(wanted)) else { continue };
            taken.push(row);
            let room = usize::from(buffer.area.right().saturating_sub(plot.right())).min(super::NAMES.into());
            buffer.set_stringn(plot.right(), row, fit(&text, room), room, self.style(role));
        }
    }
}

/// A text on the plot, unless something is drawn there already or it would leave the plot.
fn write_if_free(stage: &Stage, (x, y): (u16, u16), text: &str, style: Style, buffer: &mut Buffer) -> bool {
    let end = x.saturating_add(width(text) as u16);
    let inside = x >= stage.plot.x && end <= stage.plot.right();
    let free = inside && (x..end).all(|column| buffer.cell((column, y)).is_some_and(|c| c.symbol() == " "));
    if free {
        buffer.set_string(x, y, text, style);
    }
    free
}

type Dot = (i64, i64);

/// Shades between two columns: each has the dot of its upper and of its lower end.
fn shade(
    canvas: &mut Canvas,
    ((upper_a, lower_a), (upper_b, lower_b)): ((Dot, Dot), (Dot, Dot)),
    style: Style,
    dense: bool,
) {
    let span = (upper_b.0 - upper_a.0).max(1);
    for step in 0..span {
        let mix = |p: i64, q: i64| p + ((q - p) as f64 * step as f64 / span as f64).round() as i64;
        let (upper, lower) = (mix(upper_a.1, upper_b.1), mix(lower_a.1, lower_b.1));
        // A band thinner than the line adds nothing.
        if lower - upper > 2 {
            canvas.shade(upper_a.0 + step, upper, lower, style, dense);
        }
    }
}

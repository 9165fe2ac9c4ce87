//! Lines, bands, points, rank lines, rules and guides in terminal cells.

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
                let end = rule.until.and_then(|x| stage.column(x)).unwrap_or(plot.right());
                for column in plot.x..end {
                    buffer.set_string(column, row, self.pick("┈", "."), style);
                }
            }
        }
    }

    /// Draws labels of horizontal rules where they cover nothing else: on the rule, or in the row above or below. Other labels are
    /// omitted.
    pub(super) fn rule_labels(&self, stage: &Stage, canvas: &Canvas, buffer: &mut Buffer) {
        let plot = stage.plot;
        for layer in &self.figure.layers {
            let Layer::Rule(rule) = layer else { continue };
            let Some(row) = stage.row(rule.at).filter(|_| !rule.upright) else { continue };
            let label = printable(&rule.label);
            let columns = width(&label) as u16;
            let own = self.pick("┈", ".");
            let free = |x: u16, y: u16| {
                let cell = buffer.cell((x, y)).map(ratatui::buffer::Cell::symbol);
                canvas.is_free((x, y)) && cell.is_some_and(|c| c == " " || c == own)
            };
            let rows = [row, row.wrapping_sub(1), row + 1].into_iter().filter(|y| (plot.y..plot.bottom()).contains(y));
            let places = rows.flat_map(|y| (plot.x..=plot.right().saturating_sub(columns)).map(move |x| (x, y)));
            // A space on either side separates the label from lines.
            let fits = |(x, y): &(u16, u16)| {
                (x.saturating_sub(1).max(plot.x)..(x + columns + 1).min(plot.right())).all(|x| free(x, *y))
            };
            let place = places.filter(|_| columns > 0 && columns < plot.width).find(fits);
            if let Some((x, y)) = place {
                buffer.set_string(x, y, &label, self.theme.style(Role::Marker));
            }
        }
    }

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

    /// True if a line's band is drawn: only the main line's, unless all were requested.
    pub(super) fn is_banded(&self, line: &Line) -> bool {
        let leads = |l: &Line| l.role.emphasis == figure::Emphasis::Strong || l.role.accent == Some(2);
        self.all_bands || leads(line) || !self.lines().any(leads)
    }

    pub(super) fn bands_and_lines(&self, canvas: &mut Canvas, stage: &Stage) {
        for line in self.lines().filter(|line| self.is_banded(line)) {
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

    /// Draws the wide interval as sparse shading, and the narrow one inside it as denser shading.
    fn band(&self, canvas: &mut Canvas, line: &Line, stage: &Stage) {
        let style = self.style(line.role).remove_modifier(Modifier::BOLD).add_modifier(Modifier::DIM);
        for pair in line.points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            if !stage.x.connects(a.x, b.x) {
                continue;
            }
            // Two training runs are drawn as two dots rather than an interval.
            let wide = a.band.zip(b.band).filter(|_| a.pair.is_none() && b.pair.is_none());
            for (dense, bands) in [(false, wide), (true, a.inner.zip(b.inner))] {
                let Some((first, second)) = bands else { continue };
                let ends = |x: f64, (lo, hi): (f64, f64)| stage.dot(canvas, (x, hi)).zip(stage.dot(canvas, (x, lo)));
                let Some((first, second)) = ends(a.x, first).zip(ends(b.x, second)) else { continue };
                shade(canvas, (first, second), style, dense);
            }
        }
        let style = style.remove_modifier(Modifier::DIM);
        for (x, (lo, hi)) in line.points.iter().filter_map(|p| Some((p.x, p.pair?))) {
            let dots = [lo, hi].map(|y| stage.dot(canvas, (x, y)));
            dots.into_iter().flatten().for_each(|at| canvas.line(at, at, style, Dash::Solid, &mut 0));
        }
    }

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

    /// Draws markers of lines (in marker form), points and ranks, labels of points, and ticks of guides.
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
                    let shown = points.points.iter().filter(|p| !p.is_unmarked);
                    shown.for_each(|p| mark(p.x, p.y, marker, self.style(points.role)));
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

    /// Writes labels of points to their right or left, where nothing has been drawn yet.
    fn labels(&self, stage: &Stage, points: &Points, buffer: &mut Buffer) {
        let style = self.theme.style(Role::Dim);
        for p in points.points.iter().filter(|p| !p.label.is_empty() && !p.is_unmarked) {
            let Some((column, row)) = stage.column(p.x).zip(stage.row(p.y)) else { continue };
            let label = fit(&printable(&p.label), 20).into_owned();
            let left = column.checked_sub(width(&label) as u16 + 1);
            let _ = write_if_free(stage, (column + 2, row), &label, style, buffer)
                || left.is_some_and(|left| write_if_free(stage, (left, row), &label, style, buffer));
        }
    }

    /// Writes the names of lines at their ends, each on a separate row.
    pub(super) fn ends(&self, stage: &Stage, buffer: &mut Buffer) {
        let plot = stage.plot;
        let names = self.end_names(stage.right);
        let drawn = self.lines().filter(|l| l.role.dash.is_some());
        let lines = drawn.zip(names).filter_map(|(line, name)| Some((line.points.last()?.y, name, line.role)));
        let ranks = self.rank_names().filter_map(|line| {
            let last = line.ranks.iter().flatten().last()?;
            Some((*last, printable(&line.label).into_owned(), line.role))
        });
        let mut taken = Vec::new();
        for (y, text, role) in lines.chain(ranks) {
            let Some(wanted) = stage.row(y) else { continue };
            let rows = (plot.y..plot.bottom()).filter(|row| !taken.contains(row));
            let Some(row) = rows.min_by_key(|row| row.abs_diff(wanted)) else { continue };
            taken.push(row);
            let left = plot.right() + u16::from(width(&text) > 1);
            let room = usize::from(buffer.area.right().min(plot.right() + stage.right).saturating_sub(left));
            buffer.set_stringn(left, row, fit(&text, room), room, self.style(role));
        }
    }

    /// Width of the names at the ends of lines, in an area of this width.
    pub(super) fn end_columns(&self, area: u16) -> u16 {
        if self.form != Form::Lines {
            return super::END;
        }
        let most = super::NAMES.min(area / 4);
        let ranks = self.rank_names().map(|l| width(&printable(&l.label)));
        let longest = self.end_names(most).iter().map(|n| width(n)).chain(ranks).max().unwrap_or(0) as u16;
        if longest < super::END { super::END } else { (longest + 1).min(most).max(super::END) }
    }

    /// Names that distinguish the lines in `columns` columns, including a gap.
    fn end_names(&self, columns: u16) -> Vec<String> {
        let labels: Vec<String> =
            self.lines().filter(|l| l.role.dash.is_some()).map(|l| printable(&l.label).into_owned()).collect();
        distinct(&labels, usize::from(columns).saturating_sub(1))
    }
}

/// Shortens labels to forms that differ: to their symbols if all have one, or else to the longest of these that fits: the words that not
/// all share, the first of these words, or initials. If none fits, returns the labels.
pub(super) fn distinct(labels: &[String], room: usize) -> Vec<String> {
    let symbol = |label: &String| label.rsplit(' ').next().filter(|w| w.chars().count() == 1).unwrap_or("").to_owned();
    let initial = |label: &String| {
        let first = label.chars().find(|c| c.is_alphanumeric());
        first.map_or(String::new(), |c| c.to_uppercase().take(1).collect())
    };
    let own = |label: &String| {
        let shared = |w: &&str| labels.iter().all(|l| l.split(' ').any(|v| v == *w));
        label.split(' ').filter(|w| !shared(w)).collect::<Vec<_>>().join(" ")
    };
    let differ = |forms: &Vec<String>| {
        let pairs = || (0..labels.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        forms.iter().all(|form| !form.is_empty())
            && pairs().all(|(a, b)| labels[a] == labels[b] || forms[a] != forms[b])
    };
    let fits = |forms: &Vec<String>| forms.iter().all(|form| width(form) <= room.max(1));
    let first = |label: &String| own(label).split(' ').next().unwrap_or_default().to_owned();
    let forms: [&dyn Fn(&String) -> String; 4] = [&symbol, &own, &first, &initial];
    let mut forms = forms.map(|form| labels.iter().map(form).collect::<Vec<_>>()).to_vec();
    forms.retain(differ);
    let shortest = forms.last().cloned().unwrap_or_else(|| labels.to_vec());
    forms.into_iter().find(fits).unwrap_or(shortest)
}

/// Writes a text on the plot unless it would cover something or leave the plot; true if it was written.
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

/// Shades between two columns, given the dots of the upper and the lower end of each.
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
        // A band thinner than the line would be invisible.
        if lower - upper > 2 {
            canvas.shade(upper_a.0 + step, upper, lower, style, dense);
        }
    }
}

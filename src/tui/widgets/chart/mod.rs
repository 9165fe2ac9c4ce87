//! Draws a [`Figure`] in terminal cells: axes, bands, lines by dash, markers, bars, heatmaps, tokens and graphs, with a legend that never
//! covers data.

mod axes;
mod bars;
mod canvas;
mod cells;
mod graph;
mod legend;
mod lines;
mod ramp;
mod tokens;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::Widget;

use self::canvas::Canvas;
pub(crate) use self::tokens::Strips;
use crate::state::{Glyphs, State};
use crate::theme::{Role, Theme};
use figure::axis::{Fitted, Room};
use figure::palette::Rgb;
use figure::{self, Emphasis, Figure, Layer, Marker};

/// Minimum width of the vertical axis in columns: label, gap and line.
const Y_AXIS: u16 = 5;
/// Width of the labels at the ends of lines, in columns.
const END: u16 = 2;
/// Maximum width of the names at the ends of rank lines, in columns.
const NAMES: u16 = 18;
/// Theme roles of accents 0, 1 and 2, under their names in theme files.
const ACCENTS: [Role; 3] = [Role::Completeness, Role::Selectivity, Role::Reliability];

pub(crate) struct Chart<'a> {
    pub figure: &'a Figure,
    pub theme: &'a Theme,
    pub glyphs: Glyphs,
    pub form: Form,
    /// True for bands of all lines, false for the main line's only.
    pub all_bands: bool,
}

/// Choice between lines and markers: cells are too coarse for both at once. Other layers ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Lines,
    Markers,
}

/// Area of the data, with axes: below the legend, right of the vertical axis, above the ticks.
struct Stage {
    plot: Rect,
    x: Fitted,
    y: Fitted,
    /// Number of rows for names below the horizontal axis.
    name_rows: u16,
    /// Width of the names at the ends of lines, in columns.
    right: u16,
}

impl Stage {
    fn new(chart: &Chart<'_>, area: Rect) -> Option<Self> {
        let figure = chart.figure;
        let (x, y) = (Fitted::horizontal(figure), Fitted::vertical(figure));
        let above = chart.legend_rows(area);
        let name_rows = axes::name_rows(figure, &x, area);
        let rows = area.height.checked_sub(above + 1 + name_rows)?;
        let left = axes::labels(&y, rows).saturating_add(1).clamp(Y_AXIS, (area.width / 3).max(Y_AXIS));
        let right = chart.end_columns(area.width);
        let plot = Rect {
            x: area.x.checked_add(left)?,
            y: area.y.checked_add(above)?,
            width: area.width.checked_sub(left + right)?,
            height: rows,
        };
        (plot.width >= 4 && plot.height >= 2).then_some(Self { plot, x, y, name_rows, right })
    }

    /// Column of a value; `None` if it is off the axis.
    fn column(&self, value: f64) -> Option<u16> {
        let share = self.x.place(value).filter(|_| self.x.shows(value))?;
        Some(if self.x.categories().is_some() {
            self.plot.x + ((share * f64::from(self.plot.width)) as u16).min(self.plot.width - 1)
        } else {
            self.plot.x + (share * f64::from(self.plot.width - 1)).round() as u16
        })
    }

    /// Row of a value; `None` if it is off the axis.
    fn row(&self, value: f64) -> Option<u16> {
        let share = 1.0 - self.y.place(value).filter(|_| self.y.shows(value))?;
        Some(if let Some(names) = self.y.categories() {
            // The middle of this category's rows.
            let (from, to) = slot(value.round().max(0.0) as usize, names.len(), self.plot.height);
            self.plot.y + (from + to.max(from + 1) - 1) / 2
        } else {
            self.plot.y + (share * f64::from(self.plot.height - 1)).round() as u16
        })
    }

    /// The dot of a pair of values, clamped to the axes; `None` if an axis cannot show it.
    fn dot(&self, canvas: &Canvas, (x, y): (f64, f64)) -> Option<(i64, i64)> {
        let (columns, rows) = canvas.dots();
        let (h, v) = (self.x.place(x)?, 1.0 - self.y.place(y)?);
        let place = |share: f64, count: i64| (share * (count - 1) as f64).round() as i64;
        // Categories are drawn in the middle of their span, other values from edge to edge.
        let wide = |share: f64| (share * columns as f64) as i64;
        let column = if self.x.categories().is_some() { wide(h) } else { place(h, columns) };
        Some((column, place(v, rows)))
    }
}

/// Range of columns or rows of the k-th category: its first, and the one after its last.
fn slot(k: usize, count: usize, room: u16) -> (u16, u16) {
    let edge = |k: usize| (k * usize::from(room) / count.max(1)).min(usize::from(room)) as u16;
    (edge(k), edge(k + 1))
}

pub(crate) fn marker_char(marker: Marker, glyphs: Glyphs) -> char {
    match marker {
        Marker::Circle => 'o',
        Marker::Cross => 'x',
        Marker::Plus => '+',
        Marker::Triangle if glyphs == Glyphs::Ascii => '^',
        Marker::Square if glyphs == Glyphs::Ascii => '#',
        Marker::Diamond if glyphs == Glyphs::Ascii => '@',
        Marker::Down if glyphs == Glyphs::Ascii => 'v',
        Marker::Triangle => '△',
        Marker::Down => '▽',
        Marker::Stroke => '-',
        Marker::Square => '□',
        Marker::Star => '*',
        Marker::Diamond => '◇',
    }
}

impl Widget for Chart<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        self.legend(area, buffer);
        if !self.figure.has_axes() {
            return self.without_axes(area, buffer);
        }
        let has_data =
            self.figure.layers.iter().any(|l| !matches!(l, Layer::Rule(_) | Layer::Guide(_) | Layer::Intervals(_)));
        let Some(stage) = Stage::new(&self, area).filter(|_| has_data) else { return };
        for layer in &self.figure.layers {
            if let Layer::Cells(cells) = layer {
                self.cells(&stage, cells, buffer);
            }
        }
        self.y_axis(&stage, buffer);
        self.x_axis(&stage, buffer);
        self.bars(&stage, buffer);
        self.rules(&stage, buffer);
        let mut canvas = Canvas::new(stage.plot, self.glyphs);
        self.guides(&mut canvas, &stage);
        if self.form == Form::Lines {
            self.bands_and_lines(&mut canvas, &stage);
        }
        self.rank_lines(&mut canvas, &stage);
        canvas.render(buffer);
        self.ranges(&stage, buffer);
        self.marks(&stage, buffer);
        self.rule_labels(&stage, &canvas, buffer);
        if self.form == Form::Lines {
            self.ends(&stage, buffer);
        }
    }
}

impl<'a> Chart<'a> {
    /// A figure with the user's view options.
    pub(crate) fn new(figure: &'a Figure, state: &'a State) -> Self {
        let view = &state.view;
        Self { figure, theme: state.theme(), glyphs: view.glyphs, form: Form::Lines, all_bands: view.all_bands }
    }

    /// Value of the horizontal axis at a screen column, clamped to the axis; `None` if nothing is drawn.
    pub(crate) fn value_at(&self, area: Rect, column: u16) -> Option<f64> {
        let Stage { plot, x, .. } = Stage::new(self, area).filter(|_| self.figure.has_axes())?;
        let last = plot.width - 1;
        Some(x.value(f64::from(column.saturating_sub(plot.x).min(last)) / f64::from(last)))
    }

    /// Area of a heatmap cell; `None` if it is not drawn.
    pub(crate) fn cell_area(&self, area: Rect, row: usize, column: usize) -> Option<Rect> {
        let Stage { plot, x, y, .. } = Stage::new(self, area)?;
        let (columns, rows) = (x.categories()?.len(), y.categories()?.len());
        let (left, right) = slot(column, columns, plot.width);
        let (top, bottom) = slot(row, rows, plot.height);
        let there = column < columns && row < rows && right > left && bottom > top;
        there.then(|| Rect::new(plot.x + left, plot.y + top, right - left, bottom - top))
    }

    fn ascii(&self) -> bool {
        self.glyphs == Glyphs::Ascii
    }

    fn pick<'t>(&self, unicode: &'t str, ascii: &'t str) -> &'t str {
        if self.ascii() { ascii } else { unicode }
    }

    /// True if the theme has colours; otherwise density and symbols replace them.
    fn coloured(&self) -> bool {
        (0..8).any(|hue| self.theme.series(hue).fg.is_some())
    }

    fn style(&self, role: figure::Role) -> Style {
        let accent = role.accent.and_then(|k| ACCENTS.get(k)).filter(|_| self.form == Form::Lines);
        let style = accent.map_or_else(|| self.theme.series(role.hue), |accent| self.theme.style(*accent));
        match role.emphasis {
            Emphasis::Normal => style,
            Emphasis::Strong => style.add_modifier(Modifier::BOLD),
            Emphasis::Faint => style.add_modifier(Modifier::DIM),
        }
    }

    fn without_axes(&self, area: Rect, buffer: &mut Buffer) {
        let rows = self.legend_rows(area);
        let mut below = Rect { y: area.y + rows, height: area.height.saturating_sub(rows), ..area };
        for layer in &self.figure.layers {
            let rows = match layer {
                Layer::Tokens(tokens) => self.tokens(below, tokens, buffer),
                Layer::Graph(graph) => self.graph(below, graph, buffer),
                _ => 0,
            };
            let rows = rows.min(below.height);
            below = Rect { y: below.y + rows, height: below.height - rows, ..below };
        }
    }
}

/// A data colour as a background from the 256-colour palette, with readable text.
fn background(colour: Rgb) -> Style {
    let ink = if colour.is_light() { Rgb(0, 0, 0) } else { Rgb(255, 255, 255) };
    Style::new().bg(Color::Indexed(colour.indexed())).fg(Color::Indexed(ink.indexed()))
}

fn room<'a>(length: u16, gap: f64, measure: &'a dyn Fn(&str) -> f64) -> Room<'a> {
    Room { length: f64::from(length.saturating_sub(1)), gap, terse: true, measure }
}

#[cfg(test)]
mod tests;

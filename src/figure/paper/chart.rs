//! The chart of a figure with axes: plotters coordinates, grid, ticks and labels.

use std::ops::Range;

use plotters::chart::{ChartBuilder, ChartContext, LabelAreaPosition};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{KeyPointHint, KeyPointWeight, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::{Drawable, PointCollection};
use plotters::series::LineSeries;
use plotters::style::{TRANSPARENT, TextStyle};

use super::super::axis::{Fitted, Room, Tick};
use super::super::canvas::{At, Canvas, Drawn, Pen, Recorder, Side, Type, pixels, position};
use super::super::font::Fonts;
use super::super::look::Look;
use super::super::overlap::Rect;
use super::super::{Axis, Figure, Layer};
use super::{FINE, LABEL, SMALL, type_of};
use base::text::printable_label;

/// Distance between the frame and the ends of the axes, in page units, so that no line of data lies on the frame.
const INSET: f64 = 8.0;
/// Maximum width of category labels beside the vertical axis.
const LONGEST: f64 = 150.0;
const GAP: f64 = 8.0;
/// Usual width of the labels left of a frame, in page units.
const ROUGH: f64 = 50.0;
/// Space above the list of numbered categories.
const KEY_AIR: f64 = 4.0;
/// Length of a tick, and distance between the tick and its label.
const TICK: f64 = 4.5;
/// Maximum numbers of lines in a category label and in an axis label.
const CATEGORY_LINES: usize = 3;
const AXIS_LINES: usize = 2;
/// Minimum distance between the names of two categories.
const BETWEEN: f64 = 4.0;
/// Line height, in em.
const LINE: f64 = 1.2;
/// Height of tick labels below a frame, in page units.
pub(super) const LABELLED: f64 = SMALL * LINE + 3.0;

/// A fitted axis as a plotters range, with its ticks and a margin at both ends.
#[derive(Clone)]
pub(crate) struct Ruler {
    fitted: Fitted,
    ticks: Vec<Tick>,
    inset: i32,
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let inset = if to < from { -self.inset } else { self.inset };
        let length = f64::from(to - from - 2 * inset);
        from + inset + (self.fitted.place(*value).unwrap_or(0.0) * length).round() as i32
    }

    /// Only labelled ticks are plotters key points; minor ticks are drawn separately.
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight() {
            KeyPointWeight::Any => Vec::new(),
            KeyPointWeight::Bold => self.ticks.iter().filter(|t| !t.label.is_empty()).map(|t| t.value).collect(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.fitted.value(0.0)..self.fitted.value(1.0)
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|t| t.value == *value).map_or_else(String::new, |t| t.label.clone())
    }
}

#[derive(Clone, PartialEq)]
enum Labels {
    Straight,
    /// Names of several lines each, aligned at the top, and their type size.
    Broken(Vec<String>, f64),
    /// Numbers, whose names are listed below the axis label.
    Numbered,
}

pub(crate) struct Chart<'a> {
    context: ChartContext<'a, Recorder<'a>, Cartesian2d<Ruler, Ruler>>,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub x: Fitted,
    pub y: Fitted,
    /// The list of numbered categories: its place, and its lines with their distances from the left.
    key: (At, Vec<(f64, String)>),
    /// Distance between the frame and the ends of the horizontal axis.
    inset: f64,
    /// Axis labels, wrapped into lines.
    names: (String, String),
    labelled: bool,
    /// Size of the letters below the frame.
    below: f64,
}

impl<'a> Chart<'a> {
    /// Lays out the chart and its axis labels in an area. `labelled` is false if a chart below it has the tick labels;
    /// `ends` is the space that markers need at both ends of the horizontal axis.
    pub(crate) fn new(
        canvas: &Canvas<'a>,
        figure: &Figure,
        ((edge, top), (right, bottom)): Rect,
        (labelled, ends): (bool, f64),
    ) -> Drawn<Self> {
        let (fonts, look) = (canvas.fonts, canvas.look);
        let (x, y) = (Fitted::horizontal(figure), Fitted::vertical(figure));
        // Labels of vertical rules and counts of units are above the frame, clear of the data.
        let is_above = |l: &Layer| match l {
            Layer::Rule(r) => r.upright && !r.label.is_empty(),
            Layer::Line(l) => l.points.iter().any(|p| p.n.few().is_some()),
            _ => false,
        };
        let top = top + 6.0 + if figure.layers.iter().any(is_above) { SMALL + 4.0 } else { 0.0 };
        // Approximate height of the frame. The width of its labels is not known yet.
        let rough = (bottom
            - top
            - if labelled { 40.0 } else { 12.0 }
            - label_height(fonts, &x, rough_width(fonts, look, figure, right - edge)))
        .max(40.0);
        let y_name = named(fonts, &title(&figure.y), rough);
        let beside_ticks = y.ticks(&y_room(rough));
        let beside_ticks = beside_ticks.iter().map(|t| fonts.width(&t.label, SMALL)).fold(0.0, f64::max);
        let left = edge + height_of(&y_name, LABEL) + beside_ticks.min(longest(look)) + 2.0 * TICK + 4.0;
        let right = (right - beside(fonts, look, figure)).max(left + 20.0);
        let labels = labels(fonts, &x, right - left);
        let inset = |axis: &Fitted, room: f64| if axis.categories().is_some() { 0.0 } else { INSET + room };
        let (x_inset, y_inset) = (inset(&x, ends), inset(&y, 0.0));
        let length = right - left - 2.0 * x_inset;
        // The last label must not run off the page.
        let beyond = |tick: &Tick| {
            let end = left + x_inset + tick.at * length + fonts.width(&tick.label, SMALL) / 2.0;
            if labels == Labels::Straight { (end + 2.0 - look.width).max(0.0) } else { 0.0 }
        };
        let right = right - x_ticks(fonts, &x, &labels, length).last().map_or(0.0, beyond);
        let below = |t: Tick| match figure.x.below.iter().find(|(value, _)| *value == t.value) {
            Some((_, text)) if !t.label.is_empty() => {
                Tick { label: format!("{}\n{}", t.label, printable_label(text)), ..t }
            }
            _ => t,
        };
        let x_ticks: Vec<Tick> =
            x_ticks(fonts, &x, &labels, right - left - 2.0 * x_inset).into_iter().map(below).collect();
        let x_name = named(fonts, &title(&figure.x), right - left);
        let size = if let Labels::Broken(_, size) = labels { size } else { SMALL };
        let below_ticks = x_ticks.iter().map(|t| height_of(&t.label, size)).fold(SMALL * LINE, f64::max);
        let below_ticks = if labelled { below_ticks + 3.0 } else { 0.0 };
        let below = 2.0 * TICK + below_ticks + height_of(&x_name, LABEL);
        let key = listed(fonts, &x, &labels, look.width - look.margin - edge);
        let floor = (bottom - below - height_of_key(key.len())).max(top + 20.0);
        let key = ((edge, floor + below + KEY_AIR), key);
        let y_length = floor - top - 2.0 * y_inset;
        let y_ticks = y.ticks(&y_room(y_length)).into_iter();
        let y_ticks = y_ticks.map(|t| Tick { label: fonts.cut(&t.label, SMALL, longest(look)), ..t });
        let ruler = |fitted: &Fitted, ticks: Vec<Tick>, inset: f64| Ruler {
            fitted: fitted.clone(),
            ticks,
            inset: pixels(inset),
        };
        let area = canvas.area.margin(
            pixels(top),
            pixels(canvas_height(canvas) - floor - below),
            pixels(edge),
            pixels(look.width - right),
        );
        let context = ChartBuilder::on(&area)
            .set_label_area_size(LabelAreaPosition::Left, pixels(left - edge))
            .set_label_area_size(LabelAreaPosition::Bottom, pixels(below))
            .build_cartesian_2d(ruler(&x, x_ticks, x_inset), ruler(&y, y_ticks.collect(), y_inset))?;
        let names = (x_name, y_name);
        Ok(Self { context, left, right, top, bottom: floor, x, y, key, inset: x_inset, names, labelled, below: size })
    }

    /// Position of a pair of values; `None` if an axis cannot show it.
    pub(crate) fn at(&self, x: f64, y: f64) -> Option<At> {
        self.x.place(x)?;
        self.y.place(y)?;
        Some(position(self.context.backend_coord(&(x, y))))
    }

    /// Draws an element in data units.
    pub(crate) fn draw<E>(&mut self, element: E) -> Drawn
    where
        for<'b> &'b E: PointCollection<'b, (f64, f64)>,
        E: Drawable<Recorder<'a>>,
    {
        self.context.draw_series(std::iter::once(element))?;
        Ok(())
    }

    pub(crate) fn draw_series(&mut self, line: LineSeries<Recorder<'a>, (f64, f64)>) -> Drawn {
        self.context.draw_series(line)?;
        Ok(())
    }

    /// Draws grid, ticks, axis lines and labels. Heatmaps have no grid, and category axes no grid lines.
    pub(crate) fn axes(&mut self, canvas: &Canvas<'a>, cells: bool) -> Drawn {
        let look = canvas.look;
        let scaled = |pen: Pen| Pen { width: pen.width * look.stroke, ..pen };
        let axis = Pen::new(look.ink, 0.9);
        let small = type_of(SMALL, look.ink, Side::Middle, Side::Start);
        let (has_x, has_y) = (self.x.categories().is_some(), self.y.categories().is_some());
        let (x_name, y_name) = self.names.clone();
        let blank = |_: &f64| String::new();
        let ticks = self.context.as_coord_spec().x_spec().ticks.clone();
        let y_ticks = self.context.as_coord_spec().y_spec().ticks.clone();
        let mut mesh = self.context.configure_mesh();
        mesh.light_line_style(TRANSPARENT)
            .bold_line_style(scaled(Pen::new(look.grid, 0.9)))
            .axis_style(scaled(axis))
            .label_style(TextStyle::from(small))
            .x_label_style(TextStyle::from(Type { size: self.below, ..small }))
            .axis_desc_style(TextStyle::from(type_of(LABEL, look.ink, Side::Middle, Side::Start)))
            .x_desc(x_name)
            .y_desc(y_name)
            .set_tick_mark_size(LabelAreaPosition::Left, pixels(TICK))
            .set_tick_mark_size(LabelAreaPosition::Bottom, pixels(TICK));
        if cells || has_x {
            mesh.disable_x_mesh();
        }
        if cells || has_y {
            mesh.disable_y_mesh();
        }
        if !self.labelled {
            mesh.x_label_formatter(&blank);
        }
        mesh.draw()?;
        let ((left, top), lines) = &self.key;
        for (k, (aside, line)) in lines.iter().enumerate() {
            let at = (left + aside, top + k as f64 * SMALL * LINE);
            canvas.text(line, at, Type { along: Side::Start, ..small })?;
        }
        self.minor_ticks(canvas, &ticks, &y_ticks)?;
        if let Some(gap) = self.x.gap() {
            let (x, b) = (self.left + self.share(gap) * (self.right - self.left), self.bottom);
            canvas.line(&[(x - 3.0, b), (x + 3.0, b)], Pen::new(look.paper, 3.0))?;
            for x in [x - 3.0, x + 3.0] {
                canvas.line(&[(x - 2.0, b + 5.0), (x + 2.0, b - 5.0)], axis)?;
            }
        }
        Ok(())
    }

    /// Converts a share of the horizontal axis to a share of the frame, which is longer by the insets.
    fn share(&self, share: f64) -> f64 {
        let inset = self.inset / (self.right - self.left);
        inset + share * (1.0 - 2.0 * inset)
    }

    fn minor_ticks(&self, canvas: &Canvas<'a>, x: &[Tick], y: &[Tick]) -> Drawn {
        let pen = Pen::new(canvas.look.ink, 0.7);
        let minor = |t: &&Tick| t.label.is_empty();
        for t in x.iter().filter(minor) {
            let at = self.left + self.share(t.at) * (self.right - self.left);
            canvas.line(&[(at, self.bottom), (at, self.bottom + TICK / 2.0)], pen)?;
        }
        let (lowest, length) = (self.bottom - INSET, self.bottom - self.top - 2.0 * INSET);
        for t in y.iter().filter(minor) {
            let at = lowest - t.at * length;
            canvas.line(&[(self.left - TICK / 2.0, at), (self.left, at)], pen)?;
        }
        Ok(())
    }
}

/// Approximate width of a frame in an area of this width, before the widths of the tick labels are known.
pub(super) fn rough_width(fonts: &Fonts<'_>, look: Look, figure: &Figure, area: f64) -> f64 {
    area - beside(fonts, look, figure) - ROUGH
}

/// Height that category labels need below a frame of this width, beyond one line.
pub(super) fn label_height(fonts: &Fonts<'_>, x: &Fitted, width: f64) -> f64 {
    match labels(fonts, x, width) {
        Labels::Straight => 0.0,
        Labels::Broken(names, size) => {
            names.iter().map(|name| height_of(name, size)).fold(SMALL * LINE, f64::max) - SMALL * LINE
        }
        labels => height_of_key(listed(fonts, x, &labels, width).len()),
    }
}

/// Lines of the list of numbered categories, each with its distance from the left.
fn listed(fonts: &Fonts<'_>, x: &Fitted, labels: &Labels, room: f64) -> Vec<(f64, String)> {
    let names = x.categories().filter(|_| *labels == Labels::Numbered).unwrap_or_default();
    let aside = fonts.width(&format!("{}  ", names.len()), SMALL);
    let lines = |(k, name): (usize, &String)| {
        let rest = fonts.wrapped(name, SMALL, room - aside, CATEGORY_LINES).into_iter();
        let mut lines: Vec<(f64, String)> = rest.map(|line| (aside, line)).collect();
        lines[0] = (0.0, format!("{}  {}", k + 1, lines[0].1));
        lines
    };
    names.iter().enumerate().flat_map(lines).collect()
}

fn height_of_key(lines: usize) -> f64 {
    if lines == 0 { 0.0 } else { KEY_AIR + lines as f64 * SMALL * LINE }
}

/// The names of categories in lines and the size of their letters, if they fit beside each other. `slot` is the distance between
/// categories.
fn broken(fonts: &Fonts<'_>, names: &[String], slot: f64) -> Option<Labels> {
    let fits = |labels: &[String], size: f64| {
        let wide = |text: &str| text.lines().map(|line| fonts.width(line, size)).fold(0.0, f64::max);
        let halves: Vec<f64> = labels.iter().map(|label| wide(label) / 2.0).collect();
        // There is more room below the vertical axis than at the edge of the page.
        let is_on_page = halves.first().is_none_or(|half| *half <= slot / 2.0 + 3.0 * GAP)
            && halves.last().is_none_or(|half| *half <= slot / 2.0 + GAP);
        is_on_page && halves.windows(2).all(|pair| pair[0] + pair[1] + BETWEEN <= slot)
    };
    // First in few lines, then in narrow lines, and in small letters only if nothing else fits.
    [(1.0, SMALL), (0.6, SMALL), (1.0, FINE)].into_iter().find_map(|(share, size)| {
        let lines = |name: &String| {
            // Names of models are also broken after hyphens.
            let text = name.replace('-', "- ");
            let longest = text.split(' ').map(|word| fonts.width(word, size)).fold(share * slot - BETWEEN, f64::max);
            fonts.wrapped(&text, size, longest, CATEGORY_LINES).join("\n").replace("- ", "-")
        };
        let labels: Vec<String> = names.iter().map(lines).collect();
        let is_whole = fits(&labels, size) && labels.iter().all(|label| !label.contains('…'));
        is_whole.then_some(Labels::Broken(labels, size))
    })
}

fn canvas_height(canvas: &Canvas<'_>) -> f64 {
    position((0, canvas.area.dim_in_pixel().1 as i32)).1
}

/// Maximum width of a label beside the frame on this page.
fn longest(look: Look) -> f64 {
    LONGEST.min(look.width * 0.3)
}

pub(super) fn height_of(lines: &str, size: f64) -> f64 {
    lines.lines().count() as f64 * size * LINE
}

/// The label of an axis, with the scale of a logarithmic one.
pub(super) fn title(axis: &Axis) -> String {
    let label = &axis.label;
    match axis.scale.is_log() && !label.is_empty() {
        true if label.ends_with(')') => format!("{label}, log scale"),
        true => format!("{label} (log scale)"),
        false => label.clone(),
    }
}

/// The label of an axis in lines that fit along it; broken before a bracket if possible.
pub(super) fn named(fonts: &Fonts<'_>, label: &str, room: f64) -> String {
    let label = printable_label(label);
    let fits = |text: &str| fonts.width(text, LABEL) <= room;
    let before = label.rfind(" (").filter(|at| !fits(&label) && fits(&label[..*at]) && fits(&label[at + 1..]));
    match before {
        Some(at) => format!("{}\n{}", &label[..at], &label[at + 1..]),
        None if label.is_empty() => label,
        None => fonts.wrapped(&label, LABEL, room, AXIS_LINES).join("\n"),
    }
}

fn line_height(_: &str) -> f64 {
    SMALL
}

fn y_room(length: f64) -> Room<'static> {
    Room { length, gap: 4.0, terse: false, measure: &line_height }
}

fn labels(fonts: &Fonts<'_>, x: &Fitted, width: f64) -> Labels {
    let Some(names) = x.categories() else { return Labels::Straight };
    let slot = width / names.len().max(1) as f64;
    if names.iter().all(|n| fonts.width(n, SMALL) <= slot - GAP) {
        return Labels::Straight;
    }
    broken(fonts, names, slot).unwrap_or(Labels::Numbered)
}

fn x_ticks(fonts: &Fonts<'_>, x: &Fitted, labels: &Labels, length: f64) -> Vec<Tick> {
    let wide = |text: &str| fonts.width(text, SMALL);
    match labels {
        Labels::Straight => x.ticks(&Room { length, gap: GAP, terse: false, measure: &wide }),
        Labels::Broken(names, _) => {
            let ticks = x.ticks(&Room { length, gap: 0.0, terse: false, measure: &|_| 0.0 });
            ticks.into_iter().zip(names.clone()).map(|(t, label)| Tick { label, ..t }).collect()
        }
        Labels::Numbered => {
            let widest = wide(&x.categories().map_or(0, <[String]>::len).to_string());
            let ticks = x.ticks(&Room { length, gap: GAP, terse: false, measure: &|_| widest });
            ticks.into_iter().map(|t| Tick { label: (t.value + 1.0).to_string(), ..t }).collect()
        }
    }
}

/// Width to the right of the frame for labels of guides and rank lines, and for a colour scale.
fn beside(fonts: &Fonts<'_>, look: Look, figure: &Figure) -> f64 {
    let longest = longest(look);
    let long = |text: &str, size| fonts.width(&printable_label(text), size).min(longest) + 14.0;
    let rooms = figure.layers.iter().map(|layer| match layer {
        Layer::Guide(guide) if !guide.label.is_empty() => long(&guide.label, FINE).max(26.0),
        Layer::Ranks(ranks) => ranks.lines.iter().map(|l| long(&l.label, SMALL)).fold(0.0, f64::max),
        Layer::Cells(_) => super::cells::SCALE_ROOM,
        _ => 0.0,
    });
    rooms.fold(0.0, f64::max)
}

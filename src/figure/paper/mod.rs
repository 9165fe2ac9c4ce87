//! Page layout of a figure: title, legend, chart and provenance, drawn by plotters on the backend (`canvas`) that PNG, SVG and PDF share.

mod bars;
mod cells;
mod chart;
mod graph;
mod labels;
mod legend;
mod lines;
mod panels;
mod spread;
mod tokens;

use self::chart::Chart;
#[cfg(test)]
pub(crate) use self::graph::LIT;
use self::legend::Legend;
use self::panels::Panels;
use self::spread::Spread;
use super::axis::Fitted;
use super::canvas::{At, Canvas, Drawn, Pen, Scene, Side, Type};
use super::font::Fonts;
use super::layers::Datum;
use super::look::Look;
use super::palette::Rgb;
use super::role::Marker;
use super::{Figure, Layer};
use base::text::printable_label;

const TITLE: f64 = 15.0;
const LABEL: f64 = 12.5;
const SMALL: f64 = 11.0;
const FINE: f64 = 9.5;
const FOOT: f64 = FINE + 4.0;
/// Minimum page width for a legend beside the chart, in page units, and the chart's share of the page width in that case.
const WIDE: f64 = 500.0;
const NARROWED: f64 = 0.7;
/// The least share of a chart with a few groups of bars.
const LEAST_SHARE: f64 = 0.6;
/// Distance between a legend and the content below it, in page units.
const BELOW_LEGEND: f64 = 4.0;
/// Height of a wide page with a few groups of bars, as a share of its width.
const LOW: f64 = 0.34;
/// Height of the mark of an unfinished run, in page units.
const MARK: f64 = 1.6 * LABEL;
/// Minimum height of a page of a lab book without its legend, names of categories and footer, in page units.
const LEAST: f64 = 150.0;
/// Maximum number of lines in a title.
const TITLE_LINES: usize = 2;

/// Lays out a figure, with notes below its provenance. The drawing depends only on the figure and the fonts.
///
/// # Errors
/// [`super::FigureError::Draw`] if plotters cannot lay the figure out.
pub(crate) fn lay_out<'a>(figure: &Figure, fonts: &'a Fonts<'a>, notes: &[String], look: Look) -> Drawn<Scene<'a>> {
    let figure = &trimmed(figure);
    let panels = Panels::new(figure);
    let legend = Legend::new(&panels.whole, panels.parts.first().unwrap_or(figure));
    let has_choice = look.legend_inside && figure.has_axes() && !legend.is_empty() && panels.parts.is_empty();
    let places: &[Place] = match has_choice {
        true if look.width > WIDE && spread::is_plane(figure) => &[Place::Beside],
        true if look.width > WIDE && has_few_bars(figure) => &[Place::Beside],
        // Among the data, samples of intervals would look like data.
        true if legend.has_bars() => &[],
        true => &[Place::Inside],
        false => &[],
    };
    for place in places.iter().chain(&[Place::Above]) {
        if let Some(scene) = attempt(figure, &panels, (fonts, notes, look), (&legend, *place))? {
            return Ok(scene);
        }
    }
    Err(super::FigureError::Draw("no room for the legend".into()))
}

/// The figure, with the vertical axis of a plane cropped to its settings.
fn trimmed(figure: &Figure) -> Figure {
    let mut figure = figure.clone();
    if spread::is_plane(&figure) {
        let lines = figure.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
        let lowest = lines.flat_map(|line| &line.points).map(|p| p.y).fold(f64::INFINITY, f64::min);
        let top = figure.y.range.map_or(1.0, |(_, top)| top);
        figure.y = figure.y.around(lowest, top);
    }
    figure
}

/// Place of a legend.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Inside,
    Beside,
    Above,
}

/// Lays out the figure with its legend in this position; `None` if it does not fit.
fn attempt<'a>(
    figure: &Figure,
    panels: &Panels,
    (fonts, notes, look): (&'a Fonts<'a>, &[String], Look),
    (legend, place): (&Legend, Place),
) -> Drawn<Option<Scene<'a>>> {
    let room = look.width - 2.0 * look.margin;
    let is_above = place == Place::Above;
    let mark = if figure.unfinished().is_some() { MARK } else { 0.0 };
    let rows = if is_above && !legend.is_empty() { legend.height(fonts, room) + BELOW_LEGEND } else { 0.0 };
    let foot = if look.footed { footer(fonts, figure, notes, room) } else { Vec::new() };
    let foot_height = foot.len() as f64 * FOOT;
    // A page for a paper grows with the content above and below its frame; a page of a lab book keeps its size.
    let edges = (look.margin, look.width - look.margin);
    let (left, right) = if place == Place::Beside { beside(figure, edges, legend.width(fonts, room)) } else { edges };
    let labels = || {
        chart::label_height(fonts, &Fitted::horizontal(figure), chart::rough_width(fonts, look, figure, right - left))
    };
    let is_divided = !panels.parts.is_empty();
    let height = match (is_divided, look.legend_inside) {
        (true, _) => panels.height(fonts, &look, rows + mark),
        (false, true) => height(figure, look) + rows + mark + labels(),
        (false, false) => height(figure, look).max(LEAST + rows + mark + labels() + foot_height),
    };
    // The page of a figure without axes ends at the bottom of its contents.
    let tallest = if figure.has_axes() { height } else { 20_000.0 };
    let canvas = Canvas::new(fonts, look, tallest);
    canvas.rectangle((0.0, 0.0), (look.width, tallest), look.paper, 1.0)?;
    let mut top = head(&canvas, figure, room)?;
    if is_above {
        legend.draw_rows(&canvas, (left, top), room)?;
        top += rows;
    }
    if figure.has_axes() {
        let start = height - look.margin - foot_height;
        let end = start - if foot.is_empty() { 0.0 } else { 8.0 };
        if is_divided {
            panels.draw(&canvas, ((left, top), (right, end)))?;
        } else {
            let ends = Spread::new(figure).room();
            let chart = Chart::new(&canvas, figure, ((left, top), (right, end)), (true, ends))?;
            let (chart, from) = draw(&canvas, figure, chart)?;
            let is_drawn = match place {
                Place::Inside => legend.draw_inside(&canvas, from, &chart)?,
                Place::Beside => legend.draw_beside(&canvas, right, chart.top)?,
                Place::Above => true,
            };
            if !is_drawn {
                return Ok(None);
            }
        }
        write_footer(&canvas, &foot, (left, start))?;
        return Ok(Some(canvas.finish(height)));
    }
    let mut bottom = top + 6.0;
    for layer in &figure.layers {
        match layer {
            Layer::Tokens(tokens) => {
                bottom = tokens::draw(&canvas, tokens, (left, look.width - look.margin), bottom)?;
            }
            Layer::Graph(graph) => {
                bottom = graph::draw(&canvas, graph, (left, look.width - look.margin), bottom)?;
            }
            _ => {}
        }
    }
    bottom += if foot.is_empty() { 0.0 } else { 14.0 };
    write_footer(&canvas, &foot, (left, bottom))?;
    Ok(Some(canvas.finish((bottom + foot_height + look.margin).ceil())))
}

/// Notes on points that the drawing moves or omits; the CSV keeps them.
pub(crate) fn left_out(figure: &Figure) -> Vec<String> {
    let panels = Panels::new(figure);
    let parts = if panels.parts.is_empty() { vec![panels.whole] } else { panels.parts };
    let parts: Vec<(Spread, &Figure)> = parts.iter().map(|part| (Spread::new(part), part)).collect();
    let data = |part: &Figure, is: fn(&Datum) -> bool| {
        let lines = part.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
        lines.flat_map(|line| &line.points).any(is)
    };
    let spots = figure.layers.iter().filter_map(|l| if let Layer::Points(points) = l { Some(points) } else { None });
    let has_pairs = spots.flat_map(|l| &l.points).any(|p| p.pairs.is_some()) || data(figure, |p| p.pair.is_some());
    let any = |is: &dyn Fn(&Spread, &Figure) -> bool| parts.iter().any(|(spread, part)| is(spread, part));
    let has_interval = |p: &Datum| p.interval().is_some();
    let lines = figure.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
    let most = lines.map(|line| line.points.len()).max().unwrap_or(0);
    let points = if figure.x.settings && figure.x.below.is_empty() { "strengths" } else { "points" };
    let has_marks_alone = any(&|s, _| s.at_marks);
    let marked = match has_marks_alone {
        true => {
            format!("Measured at {most} {points}; not all are drawn; the CSV has all")
        }
        false => format!("Measured at {most} {points}; marks at some of them distinguish the lines"),
    };
    let is_plane = any(&|s, _| s.is_plane);
    let marks = if is_plane { "Marks and rings" } else { "Marks" };
    let of_two = format!("{marks} are means of two training runs; thin lines span the two runs");
    // Some bars are visible, so that the legend cannot say that marks hide all. Captions of panels have no room for it.
    let hides_some = |s: &Spread, part: &Figure| {
        let y = Fitted::vertical(part);
        let ends = |p: &Datum| p.interval().and_then(|(lo, hi)| Some((y.place(hi)? - y.place(lo)?).abs()));
        let is_short = |short: bool| {
            let lines = part.layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
            lines.flat_map(|line| &line.points).filter_map(ends).any(|length| (length < legend::HIDDEN) == short)
        };
        s.by_point && is_short(true) && is_short(false)
    };
    let sentences: [(bool, &str); 10] = [
        (
            figure.y.panels.is_empty() && any(&hides_some),
            "Where no bar is visible, the interval is shorter than its mark",
        ),
        (any(&|s, _| s.is_beside()[0]), "Marks that would overlap are moved sideways by half a mark at most"),
        (any(&|s, _| s.is_beside()[1]), "Points at zero are drawn side by side"),
        (any(&|s, _| s.by_turns), &marked),
        (
            any(&|s, part| s.is_crowded && !s.by_point && !s.is_plane && data(part, has_interval)),
            "Intervals are drawn at every second mark; the CSV has all",
        ),
        (
            any(&|s, part| !s.narrow && !s.is_plane && data(part, |p| p.narrow().is_some())),
            "Narrow intervals are omitted",
        ),
        (
            any(&|s, part| s.by_point && data(part, |p| p.interval().and(p.narrow()).is_some())),
            "Wide intervals are thin bars, narrow intervals thick bars",
        ),
        (
            any(&|s, part| {
                s.by_point && part.layers.iter().any(|l| matches!(l, Layer::Line(l) if spread::is_range(l.role)))
            }),
            "Ranges are drawn to the right of their points",
        ),
        (any(&|s, part| s.is_plane && data(part, |_| true)), "Touching marks of one kind are drawn once"),
        (has_pairs && !parts.iter().any(|(spread, _)| spread.is_margin), &of_two),
    ];
    sentences.into_iter().filter(|(applies, _)| *applies).map(|(_, sentence)| sentence.to_owned()).collect()
}

/// Page height of a figure with axes. If both axes have the same range, units are about equally long on both; heatmaps grow with their
/// number of rows.
fn height(figure: &Figure, look: Look) -> f64 {
    let is_low = look.legend_inside && !look.titled && look.width > WIDE && has_few_bars(figure);
    let flat = look.width * if is_low { LOW } else { look.aspect };
    if spread::is_square(figure) || spread::is_plane(figure) {
        return (look.width * 0.92).min(f64::max(flat, 500.0));
    }
    let rows = figure.layers.iter().find_map(|l| match l {
        Layer::Cells(_) => Some(figure.y.categories.len()),
        Layer::Ranks(_) => figure.y.range.map(|(_, worst)| worst as usize),
        _ => None,
    });
    let needed = rows.map_or(0.0, |rows| (120.0 + 26.0 * rows as f64).min(1600.0));
    let has_ranks = figure.layers.iter().any(|l| matches!(l, Layer::Ranks(_)));
    needed.max(if has_ranks { flat / 2.0 } else { flat })
}

/// Draws the title, if the style has one, and the mark of an unfinished run. Returns the top of what follows.
fn head(canvas: &Canvas<'_>, figure: &Figure, room: f64) -> Drawn<f64> {
    let (fonts, look) = (canvas.fonts, canvas.look);
    let (left, mut top) = (look.margin, look.margin);
    if look.titled {
        let lines = fonts.wrapped(&printable_label(&figure.title), TITLE, room, TITLE_LINES);
        canvas.text(&lines.join("\n"), (left, top), type_of(TITLE, look.ink, Side::Start, Side::Start))?;
        top += lines.len() as f64 * TITLE * 1.2 + 9.0;
    }
    if let Some(mark) = figure.unfinished() {
        canvas.text(&mark, (left, top), type_of(LABEL, look.ink, Side::Start, Side::Start))?;
        top += MARK;
    }
    Ok(top)
}

/// Left and right edges of a chart on a wide page, with a legend of width `legend` beside it. A chart with a few groups of bars has all of
/// the rest, any other chart a fixed share.
fn beside(figure: &Figure, (left, right): (f64, f64), legend: f64) -> (f64, f64) {
    let room = right - left;
    // One unit remains, so that rounding wraps no label.
    let rest = (room - legend - 1.0).floor();
    (left, left + if has_few_bars(figure) { rest.max(LEAST_SHARE * room) } else { NARROWED * room })
}

/// True if the figure has only a few groups of bars, or a few categories.
fn has_few_bars(figure: &Figure) -> bool {
    let bars = figure.layers.iter().filter_map(|l| match l {
        Layer::Bars(bars) => Some(bars.bars.iter().filter(|bar| !bar.bin).count()),
        _ => None,
    });
    let is_table = figure.layers.iter().any(|l| matches!(l, Layer::Cells(_) | Layer::Ranks(_)));
    let count = bars.max().unwrap_or(0).max(figure.x.categories.len());
    !is_table && (1..=4).contains(&count)
}

fn footer(fonts: &Fonts<'_>, figure: &Figure, notes: &[String], room: f64) -> Vec<String> {
    let entries =
        figure.entries().map(|(k, v)| format!("{} {}", printable_label(k), printable_label(v)).trim_start().to_owned());
    // Longer entries are rules or lists, which are only in the file and in the caption of the paper style.
    let mut words: Vec<String> = entries.filter(|word| fonts.width(word, FINE) <= room).collect();
    words.extend(notes.iter().cloned());
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        let word = fonts.cut(&word, FINE, room);
        let longer = lines.last().map(|line| format!("{line}  ·  {word}"));
        match (longer, lines.last_mut()) {
            (Some(longer), Some(last)) if fonts.width(&longer, FINE) <= room => *last = longer,
            _ => lines.push(word),
        }
    }
    lines
}

fn write_footer(canvas: &Canvas<'_>, lines: &[String], (left, top): At) -> Drawn {
    for (k, line) in lines.iter().enumerate() {
        let kind = type_of(FINE, canvas.look.grey, Side::Start, Side::Start);
        canvas.text(line, (left, top + k as f64 * FOOT), kind)?;
    }
    Ok(())
}

/// Draws the layers on their axes; also returns the number of items drawn below the layers. Cells are drawn below the axes, and bands
/// behind all lines.
fn draw<'a>(canvas: &Canvas<'a>, figure: &Figure, mut chart: Chart<'a>) -> Drawn<(Chart<'a>, usize)> {
    let below_cells = canvas.count();
    let has_cells = figure.layers.iter().any(|l| matches!(l, Layer::Cells(_)));
    for layer in &figure.layers {
        if let Layer::Cells(cells) = layer {
            cells::draw(canvas, &mut chart, cells)?;
        }
    }
    chart.axes(canvas, has_cells)?;
    let below_guides = canvas.count();
    for layer in &figure.layers {
        if let Layer::Guide(guide) = layer {
            labels::guide(canvas, &mut chart, guide)?;
        }
    }
    // Labels may cover guides, which are not data, but a legend would hide too much of them.
    let below = if has_cells { below_cells } else { canvas.count() };
    let spread = Spread::new(figure);
    for (number, layer) in figure.layers.iter().enumerate() {
        if let Layer::Line(line) = layer {
            lines::bands(canvas, &mut chart, (line, number), (&spread, spread.turn(figure, number)))?;
        }
    }
    // Ranges are drawn above all areas, which would hide them.
    for layer in &figure.layers {
        if let Layer::Line(line) = layer {
            lines::range(canvas, &chart, line, &spread)?;
        }
    }
    lines::counts(canvas, &chart, figure)?;
    let bars = figure.layers.iter().filter(|l| matches!(l, Layer::Bars(_))).count();
    let mut bar = 0;
    let mut order: Vec<usize> = (0..figure.layers.len()).collect();
    // On a plane, the marks of controls are below all others, because controls begin where methods do.
    let is_control = |l: &Layer| matches!(l, Layer::Line(l) if l.role.marker.is_some_and(Marker::is_of_control));
    order.sort_by_key(|k| !(spread.is_plane && is_control(&figure.layers[*k])));
    for number in order {
        let layer = &figure.layers[number];
        match layer {
            Layer::Line(line) => {
                lines::line(canvas, &chart, (line, number), (&spread, spread.turn(figure, number)))?;
            }
            Layer::Points(points) => lines::points(canvas, &mut chart, points, (figure, number))?,
            Layer::Ranks(ranks) => lines::ranks(canvas, &chart, ranks)?,
            Layer::Rule(rule) => labels::rule(canvas, &chart, rule, below)?,
            Layer::Bars(layer) => {
                bars::bars(canvas, &mut chart, layer, (bar, bars))?;
                bar += 1;
            }
            Layer::Ranges(layer) => {
                bars::ranges(canvas, &mut chart, layer, (figure, number))?;
            }
            Layer::Cells(_) | Layer::Tokens(_) | Layer::Graph(_) | Layer::Guide(_) | Layer::Intervals(_) => {}
        }
    }
    if spread.is_plane {
        labels::rings(canvas, &chart, figure, below)?;
    }
    Ok((chart, if has_cells { below_cells } else { below_guides }))
}

fn type_of(size: f64, colour: Rgb, along: Side, across: Side) -> Type {
    Type { size, colour, along, across, upwards: false }
}

/// Line width and opacity of a series.
fn weight(role: super::Role) -> (f64, f64) {
    match role.emphasis {
        super::Emphasis::Normal => (1.9, 1.0),
        super::Emphasis::Strong => (2.9, 1.0),
        super::Emphasis::Faint => (1.3, 0.55),
    }
}

fn pen(look: &Look, role: super::Role) -> Pen {
    let (width, alpha) = weight(role);
    let dash = role.dash.unwrap_or(super::Dash::Solid);
    Pen { colour: look.series(role.hue), width, alpha, dash }
}

#[cfg(test)]
mod tests;

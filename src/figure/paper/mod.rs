//! The layout of a figure on paper: title, legend, frame, axes, layers, provenance. PNG and SVG share it.

mod bars;
mod cells;
mod frame;
mod graph;
mod legend;
mod lines;
mod tokens;

use self::frame::Frame;
use super::font::Fonts;
use super::palette::Rgb;
use super::scene::{At, Pen, Scene, Side, Type};
use super::{Figure, Layer};
use base::text::printable_label;

const INK: Rgb = Rgb(0x1a, 0x1a, 0x1a);
const GREY: Rgb = Rgb(0x6b, 0x6b, 0x6b);
const PALE: Rgb = Rgb(0xd0, 0xd0, 0xd0);
const GRID: Rgb = Rgb(0xec, 0xec, 0xec);

const TITLE: f64 = 15.0;
const LABEL: f64 = 12.5;
const SMALL: f64 = 11.0;
const FINE: f64 = 8.5;
const MARGIN: f64 = 16.0;

/// The drawing of a figure, with notes below its provenance. The same figure gives the same drawing with the same fonts.
pub(crate) fn lay_out<'a>(figure: &Figure, fonts: &'a Fonts<'a>, notes: &[String]) -> Scene<'a> {
    let (width, height) = size(figure);
    let mut scene = Scene::new(fonts, width, height);
    let left = if figure.has_axes() { frame::left(fonts, figure, height) } else { MARGIN };
    let title = type_of(TITLE, INK, Side::Start, Side::Start);
    let shown = fonts.cut(&printable_label(&figure.title), TITLE, width - left - MARGIN);
    scene.text(&shown, (left, MARGIN), title);
    let top = MARGIN + TITLE + 12.0;
    let top = top + legend::draw(&mut scene, figure, (left, top), width - MARGIN);
    if figure.has_axes() {
        let foot = footer(fonts, figure, notes, width - left - MARGIN);
        let start = height - MARGIN - foot.len() as f64 * (FINE + 4.0);
        let frame = Frame::new(fonts, figure, (left, top), (width - MARGIN, start));
        draw(&mut scene, figure, &frame);
        write_footer(&mut scene, &foot, (left, start));
        return scene;
    }
    let mut bottom = top + 6.0;
    for layer in &figure.layers {
        let room = (left, width - MARGIN);
        match layer {
            Layer::Tokens(tokens) => bottom = tokens::draw(&mut scene, tokens, room, bottom),
            Layer::Graph(graph) => bottom = graph::draw(&mut scene, graph, room, bottom),
            _ => {}
        }
    }
    let foot = footer(fonts, figure, notes, width - left - MARGIN);
    bottom += 14.0;
    write_footer(&mut scene, &foot, (left, bottom));
    scene.height = (bottom + foot.len() as f64 * (FINE + 4.0) + MARGIN).ceil();
    scene
}

/// Width and height of a figure in logical pixels. If both axes have the same range, a unit is equally long on both; tables
/// of cells grow with their rows.
fn size(figure: &Figure) -> (f64, f64) {
    let same =
        figure.x.range.is_some() && figure.x.range == figure.y.range && figure.x.scale == figure.y.scale;
    if same {
        return (640.0, 700.0);
    }
    let rows = figure.layers.iter().find_map(|l| match l {
        Layer::Cells(_) => Some(figure.y.categories.len()),
        Layer::Ranks(_) => figure.y.range.map(|(_, worst)| worst as usize),
        _ => None,
    });
    let height = rows.map_or(520.0, |rows| (220.0 + 26.0 * rows as f64).clamp(520.0, 1600.0));
    (800.0, height)
}

fn footer(fonts: &Fonts<'_>, figure: &Figure, notes: &[String], room: f64) -> Vec<String> {
    let entries = figure.provenance.entries.iter();
    let mut words: Vec<String> =
        entries.map(|(k, v)| format!("{} {}", printable_label(k), printable_label(v))).collect();
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

fn write_footer(scene: &mut Scene, lines: &[String], (left, top): At) {
    for (k, line) in lines.iter().enumerate() {
        let at = (left, top + k as f64 * (FINE + 4.0));
        scene.text(line, at, type_of(FINE, GREY, Side::Start, Side::Start));
    }
}

/// The layers on their axes. Bands lie behind all lines, cells behind the grid's labels.
fn draw(scene: &mut Scene, figure: &Figure, frame: &Frame) {
    let of_cells = |l: &&Layer| matches!(l, Layer::Cells(_));
    for layer in figure.layers.iter().filter(of_cells) {
        if let Layer::Cells(cells) = layer {
            cells::draw(scene, frame, cells);
        }
    }
    frame::axes(scene, figure, frame, figure.layers.iter().any(|l| of_cells(&l)));
    for layer in &figure.layers {
        if let Layer::Line(line) = layer {
            lines::bands(scene, frame, line);
        }
    }
    let bars = figure.layers.iter().filter(|l| matches!(l, Layer::Bars(_))).count();
    let ranges = figure.layers.iter().filter(|l| matches!(l, Layer::Ranges(_))).count();
    let (mut bar, mut range) = (0, 0);
    for layer in &figure.layers {
        match layer {
            Layer::Line(line) => lines::line(scene, frame, line),
            Layer::Points(points) => lines::points(scene, frame, points),
            Layer::Ranks(ranks) => lines::ranks(scene, frame, ranks),
            Layer::Rule(rule) => lines::rule(scene, frame, rule),
            Layer::Guide(guide) => lines::guide(scene, frame, guide),
            Layer::Bars(layer) => {
                bars::bars(scene, frame, layer, bar, bars);
                bar += 1;
            }
            Layer::Ranges(layer) => {
                bars::ranges(scene, frame, layer, range, ranges);
                range += 1;
            }
            Layer::Cells(_) | Layer::Tokens(_) | Layer::Graph(_) => {}
        }
    }
}

fn type_of(size: f64, colour: Rgb, along: Side, across: Side) -> Type {
    Type { size, colour, along, across, upwards: false }
}

/// Width of a series' line and its opacity, by emphasis.
fn weight(role: super::Role) -> (f64, f64) {
    match role.emphasis {
        super::Emphasis::Normal => (1.9, 1.0),
        super::Emphasis::Strong => (2.9, 1.0),
        super::Emphasis::Faint => (1.3, 0.55),
    }
}

fn pen(role: super::Role) -> Pen {
    let (width, alpha) = weight(role);
    let dash = role.dash.unwrap_or(super::Dash::Solid);
    Pen { colour: super::palette::series(role.hue), width, alpha, dash }
}

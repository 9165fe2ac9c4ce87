//! Figures divided into panels, one per score, in which methods differ by colour, dash and marker. Panels are side by side on a wide page
//! and stacked in a column.

use super::super::axis::Fitted;
use super::super::canvas::{Canvas, Drawn, Side};
use super::super::font::Fonts;
use super::super::layers::{Bar, Bars, Line, Points, Spot};
use super::super::look::Look;
use super::super::overlap::Rect;
use super::super::role::{Dash, Emphasis};
use super::super::{Axis, Figure, Layer};
use super::chart::{self, Chart, LABELLED};
use super::spread::Spread;
use super::{LABEL, type_of};

/// Minimum page width for panels side by side, in page units.
const WIDE: f64 = 500.0;
/// Height of panels side by side, and of one of several stacked panels, as shares of the page's width.
const ASPECT: (f64, f64) = (0.36, 0.4);

/// Height reserved for the title and the lines below the panels, in page units.
const TITLED: f64 = 100.0;
/// Height of the row above a panel that holds the panel's letter and name, in page units.
const NAMED: f64 = 9.0;
/// Distance between panels side by side, in page units.
const BETWEEN: f64 = 14.0;
/// Distance between a stacked panel's own axis label and the next panel, in page units.
const APART: f64 = 8.0;

/// The label of a panel's vertical axis and the rest of its name: `accuracy: bert-mini`.
fn split(name: &str) -> (&str, &str) {
    name.split_once(": ").unwrap_or((name, ""))
}

/// Removes the categories without bars or points from a panel. Vertical rules stay between the same categories.
fn keep_own_categories(part: &mut Figure) {
    let middles = |layer: &Layer| match layer {
        Layer::Bars(bars) => bars.bars.iter().map(|b| (b.from + b.to) / 2.0).collect(),
        Layer::Points(points) => points.points.iter().map(|p| p.x).collect(),
        _ => Vec::new(),
    };
    let mut used: Vec<usize> = part.layers.iter().flat_map(middles).map(|x| x.round().max(0.0) as usize).collect();
    used.sort_unstable();
    used.dedup();
    let moved = |x: f64| x - (0..).take_while(|k| (*k as f64) < x).filter(|k| !used.contains(k)).count() as f64;
    for layer in &mut part.layers {
        match layer {
            Layer::Bars(bars) => bars.bars.iter_mut().for_each(|b| {
                let by = (b.from + b.to) / 2.0 - moved((b.from + b.to) / 2.0);
                (b.from, b.to) = (b.from - by, b.to - by);
            }),
            Layer::Points(points) => points.points.iter_mut().for_each(|p| p.x = moved(p.x)),
            Layer::Rule(rule) if rule.upright => rule.at = moved(rule.at),
            _ => {}
        }
    }
    let names = std::mem::take(&mut part.x.categories).into_iter().enumerate();
    part.x.categories = names.filter(|(k, _)| used.contains(k)).map(|(_, name)| name).collect();
}

/// Converts points of categories to bars, as in the other panels.
fn as_bars(points: &Points) -> Bars {
    let bar = |p: &Spot| {
        let half = Bar::of(0, 0.0).to;
        Bar { from: p.x - half, to: p.x + half, y: p.y, band: p.y_band, n: p.n, bin: false }
    };
    let role = points.role.dash(Dash::Solid);
    Bars { label: points.label.clone(), role, bars: points.points.iter().map(bar).collect() }
}

/// A figure, and its panels if it is divided.
pub(super) struct Panels {
    /// All layers, with the names that the legend shows.
    pub whole: Figure,
    pub parts: Vec<Figure>,
}

impl Panels {
    pub(super) fn new(figure: &Figure) -> Self {
        let names = &figure.y.panels;
        let mut whole = figure.clone();
        let on = |k: usize| {
            figure
                .layers
                .iter()
                .filter(move |l| matches!(l, Layer::Line(l) if l.role.dash.is_some() && l.role.accent == Some(k)))
        };
        let several: Vec<bool> = (0..names.len()).map(|k| on(k).count() > 1).collect();
        for layer in &mut whole.layers {
            if let (Layer::Points(points), false) = (&*layer, figure.x.panels.is_empty())
                && points.role.emphasis != Emphasis::Faint
            {
                *layer = Layer::Bars(as_bars(points));
            }
            if let (Layer::Bars(Bars { label, role, .. }) | Layer::Points(Points { label, role, .. }), false) =
                (&mut *layer, figure.x.panels.is_empty())
            {
                // The panel's title names the series; the text after a comma names the source of its numbers.
                let source = label.split_once(", ").filter(|_| role.accent.is_some());
                *label = source.map_or(String::new(), |(_, source)| source.to_owned());
            }
            let Layer::Line(line) = layer else { continue };
            let Some((panel, name)) = line.role.accent.and_then(|k| Some((k, names.get(k)?))) else { continue };
            if line.role.dash.is_some() {
                // The panel names the score, so dashes are free to distinguish the methods.
                line.role.dash = Some(Dash::nth(if several[panel] { line.role.hue } else { 0 }));
            }
            if let Some(method) = line.label.strip_suffix(name.as_str()) {
                line.label = method.trim_end().to_owned();
            } else if !several[panel] && name.ends_with(line.label.as_str()) {
                line.label.clear();
            }
        }
        let belongs = |layer: &Layer, k: usize| match layer {
            Layer::Line(Line { role, .. }) | Layer::Points(Points { role, .. }) | Layer::Bars(Bars { role, .. }) => {
                role.accent.is_none_or(|panel| panel == k)
            }
            Layer::Rule(rule) => rule.panel.is_none_or(|panel| panel == k),
            _ => true,
        };
        let part = |(k, name): (usize, &String)| Figure {
            y: Axis { label: split(name).0.to_owned(), ..whole.y.clone() },
            x: Axis { label: whole.x.panels.get(k).cloned().unwrap_or_default(), ..whole.x.clone() },
            layers: whole.layers.iter().filter(|layer| belongs(layer, k)).cloned().collect(),
            ..Figure::default()
        };
        let mut parts: Vec<Figure> = names.iter().enumerate().map(part).collect();
        if !whole.x.panels.is_empty() {
            parts.iter_mut().for_each(keep_own_categories);
            whole.x.label.clear();
        }
        Self { whole, parts }
    }

    /// Shares of the width of panels side by side: wider with more categories.
    fn shares(&self) -> Vec<f64> {
        let of = |part: &Figure| if part.x.label.is_empty() { 1.0 } else { part.x.categories.len() as f64 };
        let all: f64 = self.parts.iter().map(of).sum();
        self.parts.iter().map(|part| of(part) / all).collect()
    }

    /// Height that the names of each panel's own categories need beyond one line.
    fn labels(&self, fonts: &Fonts<'_>, width: f64) -> Vec<f64> {
        let shares = self.shares().into_iter().map(|share| if width < WIDE { 1.0 } else { share });
        let high = |(part, share): (&Figure, f64)| {
            let is_own = !self.whole.x.panels.is_empty();
            if is_own { chart::label_height(fonts, &Fitted::horizontal(part), share * width * 0.8) } else { 0.0 }
        };
        self.parts.iter().zip(shares).map(high).collect()
    }

    /// Height of the page, with a legend of this height.
    pub(super) fn height(&self, fonts: &Fonts<'_>, look: &Look, legend: f64) -> f64 {
        let under = if self.whole.x.panels.is_empty() { 0.0 } else { 2.5 * LABELLED };
        let labels = self.labels(fonts, look.width);
        match (look.width < WIDE, look.titled) {
            (true, _) => {
                (look.width * ASPECT.1 + NAMED + under) * self.parts.len() as f64
                    + labels.iter().sum::<f64>()
                    + legend
                    + if look.titled { TITLED } else { 0.0 }
            }
            (false, false) => {
                look.width * ASPECT.0 + NAMED + under + labels.into_iter().fold(legend, |a, b| a.max(legend + b))
            }
            // A page with a title keeps its shape, except in a lab book, whose page would be higher than panels side by side need.
            (false, true) => look.width * look.aspect * if look.footed { 0.8 } else { 1.0 },
        }
    }

    /// Draws the panels in an area, above the label of the horizontal axis.
    pub(super) fn draw<'a>(&self, canvas: &Canvas<'a>, ((left, top), (right, bottom)): Rect) -> Drawn {
        let name = chart::named(canvas.fonts, &chart::title(&self.whole.x), right - left);
        let kind = type_of(LABEL, canvas.look.ink, Side::Middle, Side::Start);
        let end = bottom - chart::height_of(&name, LABEL);
        canvas.text(&name, ((left + right) / 2.0, end), kind)?;
        let is_wide = canvas.look.width >= WIDE;
        let count = self.parts.len() as f64;
        let labelled = LABELLED * if self.whole.x.below.is_empty() { 1.0 } else { 1.8 };
        // Panels with the same horizontal axis have its labels below the last one.
        let is_shared = self.whole.x.panels.is_empty();
        let (labelled, between) = if is_shared { (labelled, 0.0) } else { (0.0, APART) };
        // Names of categories in several lines leave the frames equally high.
        let names = self.labels(canvas.fonts, canvas.look.width);
        let tallest = names.iter().copied().fold(0.0, f64::max);
        let high = (end + between - top - labelled - names.iter().sum::<f64>()) / count;
        let shares = self.shares();
        // The same for all panels, so that equal values are in line.
        let ends = self.parts.iter().map(|part| Spread::new(part).room()).fold(0.0, f64::max);
        for (k, part) in self.parts.iter().enumerate() {
            let (number, is_last) = (k as f64, k + 1 == self.parts.len());
            let area = if is_wide {
                let start = left + shares[..k].iter().sum::<f64>() * (right - left);
                let lower = end - tallest + names[k];
                ((start, top), (start + shares[k] * (right - left) - BETWEEN, lower))
            } else {
                let labels = if is_last { labelled - between } else { -between };
                let start = top + number * high + names[..k].iter().sum::<f64>();
                ((left, start), (right, start + high + names[k] + labels))
            };
            let letter = char::from(b'a' + (k % 26) as u8);
            let title = format!("({letter}) {}", split(&self.whole.y.panels[k]).1);
            let title = canvas.fonts.cut(title.trim_end(), LABEL, area.1.0 - area.0.0);
            canvas.text(&title, area.0, type_of(LABEL, canvas.look.ink, Side::Start, Side::Start))?;
            let area = ((area.0.0, area.0.1 + NAMED), area.1);
            let chart = Chart::new(canvas, part, area, (is_wide || is_last || !is_shared, ends))?;
            super::draw(canvas, part, chart)?;
        }
        Ok(())
    }
}

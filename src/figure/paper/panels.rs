//! Figures divided into panels, one per score, in which methods differ by colour, dash and marker. Panels are side by side on a wide page
//! and stacked in a column.

use super::super::canvas::{Canvas, Drawn, Side};
use super::super::look::Look;
use super::super::overlap::Rect;
use super::super::role::Dash;
use super::super::{Axis, Figure, Layer};
use super::chart::{self, Chart};
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

/// The label of a panel's vertical axis and the rest of its name: `accuracy: bert-mini`.
fn split(name: &str) -> (&str, &str) {
    name.split_once(": ").unwrap_or((name, ""))
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
            Layer::Line(line) => line.role.accent.is_none_or(|panel| panel == k),
            Layer::Rule(rule) => rule.panel.is_none_or(|panel| panel == k),
            _ => true,
        };
        let part = |(k, name): (usize, &String)| Figure {
            y: Axis { label: split(name).0.to_owned(), ..whole.y.clone() },
            x: Axis { label: String::new(), ..whole.x.clone() },
            layers: whole.layers.iter().filter(|layer| belongs(layer, k)).cloned().collect(),
            ..Figure::default()
        };
        let parts = names.iter().enumerate().map(part).collect();
        Self { whole, parts }
    }

    /// Height of the page, with a legend of this height.
    pub(super) fn height(&self, look: &Look, legend: f64) -> f64 {
        match (look.width < WIDE, look.titled) {
            (true, _) => {
                (look.width * ASPECT.1 + NAMED) * self.parts.len() as f64
                    + legend
                    + if look.titled { TITLED } else { 0.0 }
            }
            (false, false) => look.width * ASPECT.0 + NAMED + legend,
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
        let labelled = chart::LABELLED * if self.whole.x.below.is_empty() { 1.0 } else { 1.8 };
        let high = (end - top - labelled) / count;
        for (k, part) in self.parts.iter().enumerate() {
            let (number, is_last) = (k as f64, k + 1 == self.parts.len());
            let area = if is_wide {
                let wide = (right - left) / count;
                ((left + number * wide, top), (left + (number + 1.0) * wide - BETWEEN, end))
            } else {
                let labels = if is_last { labelled } else { 0.0 };
                ((left, top + number * high), (right, top + (number + 1.0) * high + labels))
            };
            let letter = char::from(b'a' + (k % 26) as u8);
            let title = format!("({letter}) {}", split(&self.whole.y.panels[k]).1);
            let title = canvas.fonts.cut(title.trim_end(), LABEL, area.1.0 - area.0.0);
            canvas.text(&title, area.0, type_of(LABEL, canvas.look.ink, Side::Start, Side::Start))?;
            let area = ((area.0.0, area.0.1 + NAMED), area.1);
            let chart = Chart::new(canvas, part, area, is_wide || is_last)?;
            super::draw(canvas, part, chart)?;
        }
        Ok(())
    }
}

//! Figures divided into panels, one per score, in which methods differ by colour, dash and marker. Panels are side by side on a wide page
//! and stacked in a column.

use super::super::canvas::{Canvas, Drawn, Side};
use super::super::look::Look;
use super::super::overlap::Rect;
use super::super::role::Dash;
use super::super::{Axis, Figure, Layer};
use super::chart::{self, Chart};
use super::{LABEL, type_of};

/// Minimum page width for panels side by side.
const WIDE: f64 = 500.0;
/// Total height of the panels as a share of the page width: side by side, and stacked.
const ASPECT: (f64, f64) = (0.36, 1.2);

/// Height reserved for the title and the lines below the panels.
const TITLED: f64 = 100.0;
const BETWEEN: f64 = 14.0;

/// A figure and its panels; no panels if it is not divided.
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
            }
        }
        let belongs = |layer: &Layer, k: usize| match layer {
            Layer::Line(line) => line.role.accent == Some(k),
            Layer::Rule(rule) => rule.panel.is_none_or(|panel| panel == k),
            _ => true,
        };
        let part = |(k, name): (usize, &String)| Figure {
            y: Axis { label: name.clone(), ..whole.y.clone() },
            x: Axis { label: String::new(), ..whole.x.clone() },
            layers: whole.layers.iter().filter(|layer| belongs(layer, k)).cloned().collect(),
            ..Figure::default()
        };
        let parts = names.iter().enumerate().map(part).collect();
        Self { whole, parts }
    }

    /// Page height with a legend of this height.
    pub(super) fn height(look: &Look, legend: f64) -> f64 {
        match (look.width < WIDE, look.titled) {
            (true, _) => look.width * ASPECT.1 + legend + if look.titled { TITLED } else { 0.0 },
            (false, false) => look.width * ASPECT.0 + legend,
            // A page with a title keeps its aspect ratio. A lab-book page is higher than panels side by side need.
            (false, true) => look.width * look.aspect * if look.footed { 0.8 } else { 1.0 },
        }
    }

    /// Draws the panels in an area, above the label of the horizontal axis.
    pub(super) fn draw<'a>(&self, canvas: &Canvas<'a>, ((left, top), (right, bottom)): Rect) -> Drawn {
        let name = chart::named(canvas.fonts, &self.whole.x.label, right - left);
        let kind = type_of(LABEL, canvas.look.ink, Side::Middle, Side::Start);
        let end = bottom - chart::height_of(&name, LABEL);
        canvas.text(&name, ((left + right) / 2.0, end), kind)?;
        let is_wide = canvas.look.width >= WIDE;
        let count = self.parts.len() as f64;
        let high = (end - top - chart::LABELLED) / count;
        for (k, part) in self.parts.iter().enumerate() {
            let (number, is_last) = (k as f64, k + 1 == self.parts.len());
            let area = if is_wide {
                let wide = (right - left) / count;
                ((left + number * wide, top), (left + (number + 1.0) * wide - BETWEEN, end))
            } else {
                let labels = if is_last { chart::LABELLED } else { 0.0 };
                ((left, top + number * high), (right, top + (number + 1.0) * high + labels))
            };
            let chart = Chart::new(canvas, part, area, is_wide || is_last)?;
            super::draw(canvas, part, chart)?;
        }
        Ok(())
    }
}

//! Rows of legend entries between title and frame, where they cannot cover data.

use super::super::palette::{self, Rgb};
use super::super::role::{Dash, Role};
use super::super::scene::{At, Pen, Scene, Side};
use super::super::{Figure, Layer};
use super::{GREY, INK, SMALL, pen, type_of};
use base::text::printable_label;

/// Height of a row.
const ROW: f64 = 18.0;

/// The sample before the label.
enum Sample {
    Line(Role),
    Bar(Role),
    Hatch(f64),
    Gold,
    Top,
    Lit,
    Signs,
}

impl Sample {
    fn width(&self) -> f64 {
        match self {
            Sample::Line(role) if role.dash.is_some() => 34.0,
            Sample::Signs => 90.0,
            Sample::Gold | Sample::Lit => 26.0,
            _ => 14.0,
        }
    }

    fn hue(&self) -> Option<usize> {
        match self {
            Sample::Line(role) | Sample::Bar(role) => Some(role.hue),
            _ => None,
        }
    }
}

/// Draws the legend from its upper left, no further than `right`, and returns its height.
pub(crate) fn draw(scene: &mut Scene, figure: &Figure, (left, top): At, right: f64) -> f64 {
    let text = type_of(SMALL, INK, Side::Start, Side::Middle);
    let (mut x, mut y, mut height) = (left, top + ROW / 2.0, 0.0);
    let named = entries(figure);
    // If one hue has several lines, each hue gets its own row.
    let grouped = named.windows(2).any(|w| w[0].0.hue().is_some() && w[0].0.hue() == w[1].0.hue());
    for (k, (sample, label)) in named.iter().enumerate() {
        let new_group = grouped && k > 0 && named[k - 1].0.hue() != sample.hue();
        let label = scene.fonts.cut(label, SMALL, right - left - sample.width() - 6.0);
        let width = sample.width() + 6.0 + scene.fonts.width(&label, SMALL);
        if x > left && (new_group || x + width > right) {
            (x, y) = (left, y + ROW);
        }
        height = y - top + ROW / 2.0;
        draw_sample(scene, sample, (x, y));
        scene.text(&label, (x + sample.width() + 6.0, y), text);
        x += width + 18.0;
    }
    height
}

fn entries(figure: &Figure) -> Vec<(Sample, String)> {
    let mut out = Vec::new();
    for layer in &figure.layers {
        match layer {
            Layer::Line(l) => out.push((Sample::Line(l.role), printable_label(&l.label))),
            Layer::Points(p) => {
                let marker = p.role.marker.unwrap_or(super::super::Marker::Circle);
                let role = Role { dash: None, marker: Some(marker), ..p.role };
                out.push((Sample::Line(role), printable_label(&p.label)));
            }
            Layer::Bars(b) => out.push((Sample::Bar(b.role), printable_label(&b.label))),
            Layer::Ranges(r) => {
                let marker = r.role.marker.unwrap_or(super::super::Marker::Circle);
                let role = Role { dash: Some(Dash::Solid), marker: Some(marker), ..r.role };
                out.push((Sample::Line(role), printable_label(&r.label)));
            }
            Layer::Cells(cells) => {
                let all = || cells.rows.iter().flatten();
                if all().any(|c| !c.value.is_some_and(f64::is_finite)) {
                    out.push((Sample::Hatch(0.0), "missing".into()));
                }
                if all().any(|c| c.doubtful) {
                    out.push((Sample::Hatch(0.5), "in doubt".into()));
                }
            }
            Layer::Tokens(tokens) => {
                let bound = super::tokens::number(tokens.largest());
                let label = printable_label(&tokens.label);
                out.push((Sample::Signs, format!("{label} -{bound} to {bound}").trim_start().to_owned()));
                let any = |pick: fn(&super::super::layers::Token) -> bool| {
                    tokens.strips.iter().flat_map(|s| &s.tokens).any(pick)
                };
                if any(|t| t.gold) {
                    out.push((Sample::Gold, "gold rationale".into()));
                }
                if any(|t| t.top) {
                    out.push((Sample::Top, "among the highest K".into()));
                }
                for doubt in tokens.doubts() {
                    out.push((Sample::Hatch(0.0), format!("in doubt: {}", printable_label(doubt))));
                }
            }
            Layer::Graph(graph) if graph.edges.iter().any(|e| e.lit) => {
                out.push((Sample::Lit, "highlighted path".into()));
            }
            Layer::Graph(_) | Layer::Ranks(_) | Layer::Rule(_) | Layer::Guide(_) => {}
        }
    }
    out.retain(|(_, label)| !label.is_empty());
    out
}

fn draw_sample(scene: &mut Scene, sample: &Sample, (x, y): At) {
    let width = sample.width();
    let (upper, lower) = ((x, y - 6.0), (x + width, y + 6.0));
    match sample {
        Sample::Line(role) => {
            if role.dash.is_some() {
                scene.line(&[(x, y), (x + width, y)], pen(*role));
            }
            if let Some(marker) = role.marker {
                scene.marker((x + width / 2.0, y), marker, 3.4, palette::series(role.hue));
            }
        }
        Sample::Bar(role) => super::bars::patch(scene, upper, lower, *role),
        Sample::Hatch(share) => {
            if *share > 0.0 {
                scene.rectangle(upper, lower, palette::rising(*share), 1.0);
            }
            scene.hatch(upper, lower, Pen::new(GREY, 0.9));
            scene.frame(upper, lower, Pen::new(GREY, 0.7));
        }
        Sample::Gold => scene.line(&[(x, y + 4.0), (x + width, y + 4.0)], Pen::new(INK, 2.4)),
        Sample::Top => super::tokens::mark(scene, (x + width / 2.0, y - 4.0)),
        Sample::Lit => scene.line(&[(x, y), (x + width, y)], Pen::new(super::graph::LIT, 2.8)),
        Sample::Signs => {
            const STEPS: u32 = 30;
            for k in 0..STEPS {
                let step = width / f64::from(STEPS);
                let from = x + f64::from(k) * step;
                let colour: Rgb = palette::diverging(2.0 * f64::from(k) / f64::from(STEPS - 1) - 1.0);
                scene.rectangle((from, upper.1), (from + step + 0.3, lower.1), colour, 1.0);
            }
            scene.frame(upper, lower, Pen::new(GREY, 0.7));
        }
    }
}

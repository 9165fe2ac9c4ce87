//! The figures of the current view, rebuilt when the board or the view changes.

use super::{Pane, State};
use crate::engine::board::{Curve, Tagged};
use crate::engine::finding::ReliabilityFinding;
use crate::figure::{Axis, Dash, Datum, Figure, Layer, Marker, Provenance, Scale, Series};
use crate::stats::estimate::Estimate;
use crate::tui::text::{printable, short};

/// What the panes draw and `export` writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// C, S and R against the strength; none before the first point.
    pub curves: Option<Figure>,
    /// C against S for all methods; none before the first point.
    pub pareto: Option<Figure>,
}

const MARKERS: [Marker; 5] = [Marker::Circle, Marker::Cross, Marker::Plus, Marker::Triangle, Marker::Square];

impl State {
    /// Builds the figures anew from the board and the view.
    pub(in crate::tui) fn rebuild_figures(&mut self) {
        self.figures = Figures { curves: self.build_curves(), pareto: self.build_pareto() };
    }

    /// The figure of the focused pane; panes without one stand for the curves.
    pub fn focused_figure(&self) -> Option<&Figure> {
        match self.view.focus {
            Pane::Pareto => self.figures.pareto.as_ref(),
            _ => self.figures.curves.as_ref(),
        }
    }

    fn build_curves(&self) -> Option<Figure> {
        let curve = self.curve().filter(|c| !c.points.is_empty())?;
        let method = self.method();
        let symbol = method.map_or(curve.parameter.clone(), |m| m.parameter.symbol.clone());
        let title = method.map_or(curve.method.clone(), |m| m.title.clone());
        let line = |label: &str, colour, dash, of: fn(&ReliabilityFinding) -> Estimate, n| {
            Layer::Series(series(label, colour, dash, curve, of, n))
        };
        let n_c: fn(&ReliabilityFinding) -> usize = |f| f.n_c;
        let n_s: fn(&ReliabilityFinding) -> usize = |f| f.n_s;
        let mut layers = vec![
            line("completeness", 0, Dash::Dashed, |f| f.completeness, n_c),
            line("selectivity", 1, Dash::Dotted, |f| f.selectivity, n_s),
            line("reliability", 2, Dash::Solid, |f| f.reliability, n_c),
        ];
        let marker = self.marker();
        layers.push(Layer::VRule { x: marker, label: format!("{symbol} = {}", short(marker)) });
        Some(Figure {
            name: format!("reliability-{}-{}-{}", curve.model, curve.method, curve.oracle),
            title: format!("{title} on {}, {} oracle", curve.model, curve.oracle),
            x: Axis { label: symbol, scale: self.scale(), range: None },
            y: Axis { label: "score".into(), scale: Scale::Linear, range: Some((0.0, 1.0)) },
            layers,
            provenance: self.figure_provenance(curve.points.first()),
        })
    }

    fn build_pareto(&self) -> Option<Figure> {
        let curves = self.board.results.curves.iter();
        let mut layers = Vec::new();
        let mut first = None;
        let mine = |c: &&Curve| c.model == self.view.model && c.oracle == self.view.oracle;
        for (i, curve) in curves.filter(mine).enumerate() {
            first = first.or(curve.points.first());
            let title = self.catalog.method(&curve.method).map_or(curve.method.clone(), |m| m.title.clone());
            let datum = |p: &Tagged<ReliabilityFinding>| Datum {
                x: p.value.completeness.mean,
                y: p.value.selectivity.mean,
                band: Some((p.value.selectivity.lo, p.value.selectivity.hi)),
                n: p.value.n_s,
            };
            layers.push(Layer::Series(Series {
                label: title,
                colour: i,
                dash: None,
                marker: Some(MARKERS[i % MARKERS.len()]),
                points: curve.points.iter().map(datum).collect(),
            }));
        }
        let optima = self.board.results.optima.iter();
        let best: Vec<Datum> = optima
            .filter(|o| o.model == self.view.model && o.value.oracle == self.view.oracle)
            .map(|o| Datum { x: o.value.completeness.mean, y: o.value.selectivity.mean, band: None, n: o.n })
            .collect();
        if !best.is_empty() {
            let (label, marker) = ("optimum".into(), Some(Marker::Star));
            layers.push(Layer::Series(Series { label, colour: 2, dash: None, marker, points: best }));
        }
        let axis = |label: &str| Axis { label: label.into(), scale: Scale::Linear, range: Some((0.0, 1.0)) };
        Some(Figure {
            name: format!("pareto-{}-{}", self.view.model, self.view.oracle),
            title: format!("Completeness against selectivity on {}", printable(&self.view.model)),
            x: axis("C"),
            y: axis("S"),
            layers,
            provenance: self.figure_provenance(Some(first?)),
        })
    }

    fn figure_provenance(&self, point: Option<&Tagged<ReliabilityFinding>>) -> Provenance {
        Provenance { entries: point.map_or(Vec::new(), |p| self.origin(p)) }
    }
}

fn series(
    label: &str,
    colour: usize,
    dash: Dash,
    curve: &Curve,
    of: fn(&ReliabilityFinding) -> Estimate,
    n: fn(&ReliabilityFinding) -> usize,
) -> Series {
    let datum = |p: &Tagged<ReliabilityFinding>| {
        let estimate = of(&p.value);
        Datum { x: p.value.value, y: estimate.mean, band: Some((estimate.lo, estimate.hi)), n: n(&p.value) }
    };
    let points = curve.points.iter().map(datum).collect();
    Series { label: label.into(), colour, dash: Some(dash), marker: None, points }
}

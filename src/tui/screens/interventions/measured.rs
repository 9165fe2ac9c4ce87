//! What stands where the marker stands: the numbers that the panes show.

use super::State;
use crate::figure::Scale;
use crate::lab::Tagged;
use crate::lab::interventions::finding::{BehaviourFinding, ExampleFinding, ReliabilityFinding};
use crate::lab::interventions::results::Curve;

/// The measured point nearest to the marker.
#[derive(Debug, Clone, Copy)]
pub struct Readout<'a> {
    /// The point.
    pub point: &'a Tagged<ReliabilityFinding>,
    /// Whether it lies exactly at the marker.
    pub exact: bool,
}

impl State {
    /// The curve that is drawn: with the options of the setup, or where these were not run, as the method was run.
    pub fn curve(&self) -> Option<&Curve> {
        let (results, key) = (self.results(), self.method_key());
        results.curve(&self.view.model, &key, self.view.oracle).or_else(|| {
            let other = |c: &&Curve| {
                c.key.model == self.view.model
                    && c.key.method.name == key.name
                    && c.key.oracle == self.view.oracle
            };
            results.curves.iter().find(other)
        })
    }

    /// The point at the marker: of the curve and of the slider's answer the one with more examples; failing both, the
    /// nearest point of the curve.
    pub fn readout(&self) -> Option<Readout<'_>> {
        let marker = self.marker();
        let at = |p: &&Tagged<ReliabilityFinding>| same(p.value.value, marker);
        let key = self.method_key();
        let on_curve = self.curve().filter(|c| c.key.method == key).and_then(|c| c.points.iter().find(at));
        let answered = self.results().point.as_ref().and_then(|p| {
            p.reliability.iter().filter(at).find(|p| {
                p.model == self.view.model
                    && p.value.key(&p.model).method == key
                    && p.value.oracle == self.view.oracle
            })
        });
        let exact = match (on_curve, answered) {
            (Some(a), Some(b)) => Some(if b.n > a.n { b } else { a }),
            (a, b) => a.or(b),
        };
        if let Some(point) = exact {
            return Some(Readout { point, exact: true });
        }
        let nearest = self.curve()?.points.iter().min_by(|a, b| {
            self.distance(a.value.value, marker).total_cmp(&self.distance(b.value.value, marker))
        })?;
        Some(Readout { point: nearest, exact: false })
    }

    /// The model's behaviour at the marker, or nearest to it.
    pub fn behaviour(&self) -> Option<&Tagged<BehaviourFinding>> {
        let (marker, key) = (self.marker(), self.method_key());
        let mine = |b: &&Tagged<BehaviourFinding>| b.model == self.view.model && b.value.method_key() == key;
        let answered = self.results().point.as_ref().and_then(|p| p.behaviour.as_ref()).filter(mine);
        let swept = self.results().behaviour.iter().filter(mine).min_by(|a, b| {
            self.distance(a.value.value, marker).total_cmp(&self.distance(b.value.value, marker))
        });
        match (swept, answered) {
            (Some(s), Some(a))
                if same(a.value.value, marker) && (a.n > s.n || !same(s.value.value, marker)) =>
            {
                Some(a)
            }
            (s, a) => s.or(a),
        }
    }

    /// The strength at which the drawn method is most reliable, once the run has found it.
    pub fn optimum(&self) -> Option<f64> {
        let best = self.results().optimum(&self.view.model, &self.method_key(), self.view.oracle);
        best.map(|o| o.value.value)
    }

    /// The example of the latest answer.
    pub fn example(&self) -> Option<&Tagged<ExampleFinding>> {
        self.results().point.as_ref()?.example.as_ref()
    }

    /// Whether the answer on the screen is not yet the one to the latest question.
    pub fn awaiting_point(&self) -> bool {
        self.results().point.as_ref().map_or(0, |p| p.ticket) < self.board.asked
    }

    /// The scale of the horizontal axis.
    pub fn scale(&self) -> Scale {
        self.view.scale.or_else(|| self.method().map(|m| m.parameter.scale)).unwrap_or(Scale::Linear)
    }

    fn distance(&self, a: f64, b: f64) -> f64 {
        let own = self.method().map_or(Scale::Linear, |m| m.parameter.scale);
        match own {
            Scale::Log if a > 0.0 && b > 0.0 => (a.ln() - b.ln()).abs(),
            _ => (a - b).abs(),
        }
    }
}

/// Whether two strengths are the same number, give or take its decimal form.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

//! Gradient × input (Shrikumar et al. 2016): the gradient at the input times the word embedding. It takes one pass and equals the first
//! term of the sum in integrated gradients.

use super::path::{At, Ends, Point};
use super::{Case, Method, Scores, WITH_GRADIENT, no_gradients};
use base::Pulse;
use lab::fault::Fault;
use crate::spec::{Baseline, Spec};
use model::Model;

pub(crate) static METHOD: GradientXInput = GradientXInput;

pub(crate) struct GradientXInput;

impl Method for GradientXInput {
    fn id(&self) -> &'static str {
        "gradient_x_input"
    }

    fn title(&self) -> &'static str {
        "gradient × input"
    }

    fn short(&self) -> &'static str {
        "GxI"
    }

    fn about(&self) -> &'static str {
        "Slope of the prediction along a token's own vector (Shrikumar et al. 2016)."
    }

    fn refuses(&self, model: &Model, _spec: &Spec) -> Option<String> {
        no_gradients(model)
    }

    fn passes(&self, _spec: &Spec, _words: usize) -> usize {
        WITH_GRADIENT
    }

    fn explain(
        &self,
        model: &Model,
        cases: &[Case<'_>],
        spec: &Spec,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Scores>, Fault> {
        let ends = Ends::new(model, cases, Baseline::Pad, pulse)?;
        let at = At { model, cases, ends: &ends, target: spec.integrated_gradients.target };
        let points: Vec<Point> = (0..cases.len()).map(|case| Point::Along(case, 1.0)).collect();
        let mut found = vec![Scores::default(); cases.len()];
        at.gradients(&points, pulse, &mut |case, _, gradient| {
            let wide: Vec<f64> = gradient.iter().map(|g| f64::from(*g)).collect();
            found[case] = Scores::plain(ends.dot_input(case, &wide), cases[case].input);
        })?;
        Ok(found)
    }
}

//! Integrated gradients (Sundararajan, Taly and Yan 2017): the gradient along the straight path from a baseline to the input,
//! integrated by the trapezoid rule, times their difference.
//!
//! The path is one of word embeddings; positions and segments stay. Scores add up to what the target gains along the path; what
//! they miss is the completeness error, and steps are doubled until it is small: the points in between are the only new ones.

use super::path::{At, Ends, Point};
use super::{Case, Method, Scores, WITH_GRADIENT, no_gradients};
use crate::base::Pulse;
use crate::lab::fault::Fault;
use crate::lab::saliency::spec::{PathSpec, Spec};
use crate::model::Model;

/// The method.
pub static METHOD: IntegratedGradients = IntegratedGradients;

/// Integrated gradients.
pub struct IntegratedGradients;

/// A gain smaller than this has no error relative to it: rounding is a part of it.
const LEAST_GAIN: f64 = 1e-3;

/// The integral of one input so far.
struct Sum {
    gradient: Vec<f64>,
    /// The target at the baseline and at the input.
    ends: [f64; 2],
    steps: usize,
}

impl Sum {
    fn scores(&self, ends: &Ends, case: usize) -> Vec<f64> {
        let mean: Vec<f64> = self.gradient.iter().map(|g| g / self.steps as f64).collect();
        ends.dot(case, &mean)
    }

    /// |sum of scores − gain| as a share of the gain.
    fn gap(&self, scores: &[f64]) -> f64 {
        let gain = self.ends[1] - self.ends[0];
        (scores.iter().sum::<f64>() - gain).abs() / gain.abs().max(LEAST_GAIN)
    }
}

impl Method for IntegratedGradients {
    fn id(&self) -> &'static str {
        "integrated_gradients"
    }

    fn title(&self) -> &'static str {
        "integrated gradients"
    }

    fn short(&self) -> &'static str {
        "IG"
    }

    fn about(&self) -> &'static str {
        "What a token adds to the prediction on the way from a baseline without it (Sundararajan et al. 2017)."
    }

    fn refuses(&self, model: &Model, _spec: &Spec) -> Option<String> {
        no_gradients(model)
    }

    fn passes(&self, spec: &Spec, _words: usize) -> usize {
        WITH_GRADIENT * (spec.integrated_gradients.steps + 1)
    }

    fn explain(
        &self,
        model: &Model,
        cases: &[Case<'_>],
        spec: &Spec,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Scores>, Fault> {
        let path = &spec.integrated_gradients;
        let ends = Ends::new(model, cases, path.baseline, pulse)?;
        let at = At { model, cases, ends: &ends, target: path.target };
        integrate(&at, path, pulse)
    }
}

fn integrate(at: &At<'_>, path: &PathSpec, pulse: &mut dyn Pulse) -> Result<Vec<Scores>, Fault> {
    let steps = path.steps.max(1);
    let fresh = |case: usize| Sum { gradient: vec![0.0; at.ends.size(case)], ends: [0.0; 2], steps };
    let mut sums: Vec<Sum> = (0..at.cases.len()).map(fresh).collect();
    let places: Vec<(usize, usize)> =
        (0..at.cases.len()).flat_map(|case| (0..=steps).map(move |step| (case, step))).collect();
    let points: Vec<Point> =
        places.iter().map(|(case, step)| Point::Along(*case, *step as f32 / steps as f32)).collect();
    at.gradients(&points, pulse, |place, value, gradient| {
        let (case, step) = places[place];
        let sum = &mut sums[case];
        let end = step == 0 || step == steps;
        let weight = if end { 0.5 } else { 1.0 };
        sum.gradient.iter_mut().zip(gradient).for_each(|(s, g)| *s += weight * f64::from(*g));
        if end {
            sum.ends[usize::from(step != 0)] = value;
        }
    })?;
    loop {
        let rough: Vec<usize> = (0..sums.len())
            .filter(|case| {
                let sum = &sums[*case];
                2 * sum.steps <= path.most_steps && sum.gap(&sum.scores(at.ends, *case)) > path.tolerance
            })
            .collect();
        if rough.is_empty() {
            break;
        }
        refine(at, &rough, &mut sums, pulse)?;
    }
    Ok(sums.iter().enumerate().map(|(case, sum)| finished(at, path, case, sum)).collect())
}

/// Doubles the steps of some cases.
fn refine(at: &At<'_>, rough: &[usize], sums: &mut [Sum], pulse: &mut dyn Pulse) -> Result<(), Fault> {
    let mut points = Vec::new();
    for case in rough {
        let steps = sums[*case].steps;
        points.extend((0..steps).map(|k| Point::Along(*case, (2 * k + 1) as f32 / (2 * steps) as f32)));
    }
    let case_of = |place: usize| if let Point::Along(case, _) = &points[place] { *case } else { 0 };
    // They are more than were planned, and progress has already counted the plan.
    let mut quiet = |_: usize, _: usize| pulse.beat(1, 1);
    at.gradients(&points, &mut quiet, |place, _, gradient| {
        let sum = &mut sums[case_of(place)].gradient;
        sum.iter_mut().zip(gradient).for_each(|(s, g)| *s += f64::from(*g));
    })?;
    rough.iter().for_each(|case| sums[*case].steps *= 2);
    Ok(())
}

fn finished(at: &At<'_>, path: &PathSpec, case: usize, sum: &Sum) -> Scores {
    let tokens = sum.scores(at.ends, case);
    let gap = sum.gap(&tokens);
    Scores {
        gap: Some(gap),
        steps: Some(sum.steps),
        complete: Some(gap <= path.tolerance),
        ..Scores::plain(tokens, at.cases[case].input)
    }
}

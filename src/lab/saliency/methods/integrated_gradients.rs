//! Integrated gradients (Sundararajan, Taly and Yan 2017): the gradient along the straight path from a baseline to the input, integrated by
//! the trapezoid rule and multiplied by the difference between input and baseline.
//!
//! The path is in the space of word embeddings; positions and segments are fixed. For an encoder-decoder, only the encoder's embeddings
//! move. Scores sum to the target's increase along the path, up to the completeness error. Steps are doubled until the error is small; each
//! doubling evaluates only the points in between.

use super::path::{At, Ends, Point};
use super::{Case, Method, Scores, WITH_GRADIENT, no_gradients};
use base::Pulse;
use lab::fault::Fault;
use crate::input::Input;
use crate::spec::{PathSpec, Spec};
use model::Model;

pub(crate) static METHOD: IntegratedGradients = IntegratedGradients;

pub(crate) struct IntegratedGradients;

/// Smallest increase of the target for which a relative error is computed; below it, rounding errors would dominate.
const LEAST_GAIN: f64 = 1e-3;

/// The integral for one input so far.
struct Sum {
    gradient: Vec<f64>,
    /// The target's values at the baseline and at the input.
    ends: [f64; 2],
    steps: usize,
}

impl Sum {
    fn scores(&self, ends: &Ends, case: usize) -> Vec<f64> {
        let mean: Vec<f64> = self.gradient.iter().map(|g| g / self.steps as f64).collect();
        ends.dot(case, &mean)
    }

    /// |sum of scores − increase| as a share of the target's increase.
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
        "Contribution of a token to the prediction, along a path from a baseline without the token (Sundararajan et al. 2017)."
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
        let mut before = 0;
        integrate(&ends, cases, path, &mut |points, take| {
            // The points added by doubling count towards the total.
            let mut counted = |done: usize, total: usize| pulse.beat(before + done, before + total);
            at.gradients(points, &mut counted, take)?;
            before += points.len();
            Ok(())
        })
    }
}

/// Callback that receives the index of a point, its target and its gradient.
type Take<'t> = &'t mut dyn FnMut(usize, f64, &[f32]);
/// Computes the target and its gradient at points.
type Slope<'s> = dyn FnMut(&[Point], Take<'_>) -> Result<(), Fault> + 's;

fn integrate(
    ends: &Ends,
    cases: &[Case<'_>],
    path: &PathSpec,
    slope: &mut Slope<'_>,
) -> Result<Vec<Scores>, Fault> {
    let steps = path.steps.max(1);
    let fresh = |case: usize| Sum { gradient: vec![0.0; ends.size(case)], ends: [0.0; 2], steps };
    let mut sums: Vec<Sum> = (0..cases.len()).map(fresh).collect();
    let places: Vec<(usize, usize)> =
        (0..cases.len()).flat_map(|case| (0..=steps).map(move |step| (case, step))).collect();
    let points: Vec<Point> =
        places.iter().map(|(case, step)| Point::Along(*case, *step as f32 / steps as f32)).collect();
    slope(&points, &mut |place, value, gradient| {
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
                2 * sum.steps <= path.most_steps && sum.gap(&sum.scores(ends, *case)) > path.tolerance
            })
            .collect();
        if rough.is_empty() {
            break;
        }
        refine(&rough, &mut sums, slope)?;
    }
    let each = sums.iter().enumerate();
    Ok(each.map(|(case, sum)| finished(ends, path, (case, cases[case].input), sum)).collect())
}

/// Doubles the steps of the cases in `rough`.
fn refine(rough: &[usize], sums: &mut [Sum], slope: &mut Slope<'_>) -> Result<(), Fault> {
    let (mut points, mut case_of) = (Vec::new(), Vec::new());
    for case in rough {
        let steps = sums[*case].steps;
        points.extend((0..steps).map(|k| Point::Along(*case, (2 * k + 1) as f32 / (2 * steps) as f32)));
        case_of.resize(points.len(), *case);
    }
    slope(&points, &mut |place, _, gradient| {
        let sum = &mut sums[case_of[place]].gradient;
        sum.iter_mut().zip(gradient).for_each(|(s, g)| *s += f64::from(*g));
    })?;
    rough.iter().for_each(|case| sums[*case].steps *= 2);
    Ok(())
}

fn finished(ends: &Ends, path: &PathSpec, (case, input): (usize, &Input), sum: &Sum) -> Scores {
    let tokens = sum.scores(ends, case);
    let gap = sum.gap(&tokens);
    Scores {
        gap: Some(gap),
        steps: Some(sum.steps),
        complete: Some(gap <= path.tolerance),
        ..Scores::plain(tokens, input)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn input(tokens: usize) -> Input {
        Input {
            ids: vec![7; tokens],
            tokens: vec!["x".into(); tokens],
            frame: vec![false; tokens],
            words: (0..tokens).map(|t| vec![t]).collect(),
            slots: vec![0],
            further: 0,
            excluded: vec![0],
            answer: Vec::new(),
            others: Vec::new(),
            cut: false,
            count: tokens,
        }
    }

    /// The position of a point on the path from zeros to the input.
    fn share(point: &Point) -> f32 {
        if let Point::Along(_, share) = point { *share } else { unreachable!() }
    }

    fn run(
        x: &[f32],
        path: &PathSpec,
        f: impl Fn(&[f32]) -> f64,
        slope: impl Fn(&[f32]) -> Vec<f32>,
    ) -> Scores {
        let (input, ends) = (input(x.len()), Ends::of(1, vec![vec![0.0; x.len()]], vec![x.to_vec()]));
        let case = Case { input: &input, predicted: &[0], name: "" };
        integrate(&ends, &[case], path, &mut |points, take| {
            for (place, point) in points.iter().enumerate() {
                let here: Vec<f32> = x.iter().map(|v| share(point) * v).collect();
                take(place, f(&here), &slope(&here));
            }
            Ok(())
        })
        .unwrap()
        .remove(0)
    }

    proptest! {
        #[test]
        fn linear_function_gives_weight_times_input(
            pairs in prop::collection::vec((-8i8..8, -8i8..8), 1..12), power in 0u32..4,
        ) {
            let (x, w): (Vec<f32>, Vec<f32>) =
                pairs.into_iter().map(|(x, w)| (f32::from(x) / 4.0, f32::from(w) / 2.0)).unzip();
            let path = PathSpec { steps: 1 << power, ..PathSpec::default() };
            let f = |x: &[f32]| x.iter().zip(&w).map(|(x, w)| f64::from(x * w)).sum::<f64>();
            let found = run(&x, &path, f, |_| w.clone());
            let want: Vec<f64> = x.iter().zip(&w).map(|(x, w)| f64::from(x * w)).collect();
            prop_assert_eq!(found.tokens, want);
            prop_assert_eq!((found.gap, found.steps, found.complete), (Some(0.0), Some(1 << power), Some(true)));
        }
    }

    #[test]
    fn steps_double_until_scores_sum_to_the_gain() {
        let steep = |x: &[f32]| f64::from(x[0]).powi(9);
        let slope = |x: &[f32]| vec![9.0 * x[0].powi(8)];
        let path = PathSpec { steps: 2, tolerance: 0.01, most_steps: 64, ..PathSpec::default() };
        let found = run(&[1.0], &path, steep, slope);
        assert_eq!((found.steps, found.complete), (Some(32), Some(true)), "{found:?}");
        // Doubling gives the same result as starting with twice the steps.
        let at_once = run(&[1.0], &PathSpec { steps: 32, ..path.clone() }, steep, slope);
        assert!((at_once.tokens[0] - found.tokens[0]).abs() < 1e-6, "{at_once:?} {found:?}");
        let short = run(&[1.0], &PathSpec { most_steps: 7, ..path }, steep, slope);
        assert_eq!((short.steps, short.complete), (Some(4), Some(false)));
        assert!(short.gap.unwrap() > 0.01);
    }
}

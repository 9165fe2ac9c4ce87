//! Sensitivity of a prediction to its rationale, after Yin et al. (2022): the smallest change to the words' embeddings, by Frobenius norm,
//! that changes the prediction. A small value means that the prediction depends on these words.
//!
//! The result is an upper bound. It comes from projected gradient descent on the prediction's probability within a ball, combined with a
//! search for the radius. Norms are relative to the norm of the sentence's embeddings, so that models can be compared.

use super::methods::{At, Case, Ends, Point, WITH_GRADIENT, no_gradients};
use super::spec::{Baseline, TargetKind};
use base::Pulse;
use lab::fault::Fault;
use model::Model;

/// Steps per descent.
const STEPS: usize = 10;
/// Number of radii tried per input.
const ROUNDS: usize = 10;
/// First radius tried.
const FIRST: f64 = 0.05;
/// Factor between successive radii until a lower and an upper bound are known.
const STRIDE: f64 = 4.0;
/// Largest radius, which is the result if no change within it changes the prediction.
pub(crate) const MOST: f64 = 4.0;
pub(crate) const PASSES: usize = ROUNDS * (STEPS + 1) * (WITH_GRADIENT + 1);

/// An input whose embeddings are perturbed.
struct Attacked {
    /// Embeddings as tokens x width.
    embeddings: Vec<f32>,
    /// True for embedding values that may change.
    free: Vec<bool>,
}

/// Whether the prediction has changed at a point, and the gradient of its probability there.
type Seen = (bool, Vec<f32>);
/// Evaluates the model on embeddings, each with its input's index.
type Look<'l> = &'l mut dyn FnMut(&[(usize, Vec<f32>)]) -> Result<Vec<Seen>, Fault>;

fn norm(of: &[f32]) -> f64 {
    of.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

/// For each case, the smallest change to the marked tokens' embeddings that changes the prediction, relative to the norm of the sentence's
/// embeddings. `None` for a model without gradients, or if the prediction is not the most probable token at each slot (beam search).
pub(crate) fn sensitivity(
    model: &Model,
    cases: &[Case<'_>],
    marked: &[Vec<bool>],
    pulse: &mut dyn Pulse,
) -> Result<Vec<Option<f64>>, Fault> {
    if no_gradients(model).is_some() {
        return Ok(vec![None; cases.len()]);
    }
    let ends = Ends::new(model, cases, Baseline::Pad, pulse)?;
    let at = At { model, cases, ends: &ends, target: TargetKind::Probability };
    let width = model.arch().embedding.width;
    let attacked = |(case, marked): (usize, &Vec<bool>)| Attacked {
        embeddings: ends.input(case).to_vec(),
        free: marked.iter().flat_map(|m| std::iter::repeat_n(*m, width)).collect(),
    };
    let inputs: Vec<Attacked> = marked.iter().enumerate().map(attacked).collect();
    let mut done = 0;
    least_changes(&inputs, &mut |points| {
        let points: Vec<Point> = points.iter().map(|(case, x)| Point::At(*case, x.clone())).collect();
        let mut slopes = vec![Vec::new(); points.len()];
        at.gradients(&points, &mut base::pulse::NoPulse, &mut |k, _, slope| slopes[k] = slope.to_vec())?;
        let kept = at.kept(&points, &mut base::pulse::NoPulse)?;
        done += points.len() * (WITH_GRADIENT + 1);
        pulse.beat(done, (cases.len() * PASSES).max(done))?;
        Ok(kept.into_iter().zip(slopes).map(|(kept, slope)| (!kept, slope)).collect())
    })
}

/// Searches for the radius: by factors of four until one radius changes the prediction and another does not, then by geometric means.
fn least_changes(inputs: &[Attacked], look: Look<'_>) -> Result<Vec<Option<f64>>, Fault> {
    let norms: Vec<f64> = inputs.iter().map(|i| norm(&i.embeddings)).collect();
    let mut ends = vec![(0.0, f64::INFINITY); inputs.len()];
    for _ in 0..ROUNDS {
        let radius = |(lo, hi): &(f64, f64)| match (*lo > 0.0, *hi < MOST) {
            (_, false) => (STRIDE * lo).clamp(FIRST, MOST),
            (false, true) => hi / STRIDE,
            (true, true) => (lo * hi).sqrt(),
        };
        let radii: Vec<f64> = ends.iter().map(radius).collect();
        // The search for an input ends when its prediction does not change even at the largest radius, or when it has no prediction to
        // change.
        let open = |(lo, hi): &(f64, f64)| *lo < MOST && *hi > 0.0;
        let tried: Vec<usize> = (0..inputs.len()).filter(|i| open(&ends[*i])).collect();
        let sizes: Vec<f64> = radii.iter().zip(&norms).map(|(r, n)| r * n).collect();
        for (i, found) in tried.iter().zip(attack(inputs, &tried, &sizes, look)?) {
            match found {
                Some(size) => ends[*i].1 = size / norms[*i],
                None => ends[*i].0 = radii[*i],
            }
        }
    }
    Ok(ends.into_iter().map(|(_, hi)| Some(hi.min(MOST)).filter(|hi| *hi > 0.0)).collect())
}

/// Descends from the embeddings of each tried input within its radius, and returns the size of the first
/// change that alters the prediction.
fn attack(inputs: &[Attacked], tried: &[usize], radii: &[f64], look: Look<'_>) -> Result<Vec<Option<f64>>, Fault> {
    let mut changes: Vec<Vec<f32>> = tried.iter().map(|i| vec![0.0; inputs[*i].embeddings.len()]).collect();
    let mut found = vec![None; tried.len()];
    for _ in 0..=STEPS {
        let open: Vec<usize> = (0..tried.len()).filter(|k| found[*k].is_none()).collect();
        if open.is_empty() {
            break;
        }
        let moved = |k: &usize| {
            let place = tried[*k];
            let sum = inputs[place].embeddings.iter().zip(&changes[*k]).map(|(x, d)| x + d);
            (place, sum.collect::<Vec<f32>>())
        };
        let points: Vec<_> = open.iter().map(moved).collect();
        for (k, (changed, slope)) in open.into_iter().zip(look(&points)?) {
            if changed {
                found[k] = Some(norm(&changes[k]));
                continue;
            }
            let (input, radius) = (&inputs[tried[k]], radii[tried[k]]);
            let slope: Vec<f32> = slope.iter().zip(&input.free).map(|(g, free)| if *free { *g } else { 0.0 }).collect();
            let stride = 2.5 * radius / STEPS as f64 / norm(&slope);
            if stride.is_finite() {
                changes[k].iter_mut().zip(&slope).for_each(|(d, g)| *d -= (stride * f64::from(*g)) as f32);
                let shrink = (radius / norm(&changes[k])).min(1.0);
                changes[k].iter_mut().for_each(|d| *d = (f64::from(*d) * shrink) as f32);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Reader;
    use crate::predict::predict;
    use crate::sentence::own;
    use base::pulse::NoPulse;
    use model::Device;
    use model::chunk::TOKENS_PER_BATCH;

    /// For a linear classifier of two classes with margin `w · x + b`, the smallest change to the free values is the margin divided by the
    /// norm of their weights.
    #[test]
    fn of_a_linear_classifier_it_is_the_distance_to_the_boundary() {
        let (w, b) = ([0.8f32, -0.6, 0.3, 0.9, -0.2, 0.4], 0.1f32);
        let x = [1.0f32, -2.0, 0.5, 1.5, 0.0, -1.0];
        let margin = |x: &[f32]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f32>() + b;
        let mut look = |points: &[(usize, Vec<f32>)]| {
            let seen = |(_, x): &(usize, Vec<f32>)| {
                let p = 1.0 / (1.0 + (-margin(x)).exp());
                (margin(x) < 0.0, w.iter().map(|w| p * (1.0 - p) * w).collect())
            };
            Ok(points.iter().map(seen).collect())
        };
        let free = |tokens: [bool; 3]| tokens.into_iter().flat_map(|t| [t, t]).collect::<Vec<bool>>();
        for tokens in [[true; 3], [true, false, false], [false, true, true]] {
            let input = Attacked { embeddings: x.to_vec(), free: free(tokens) };
            let weights: Vec<f32> = w.iter().zip(&input.free).map(|(w, f)| if *f { *w } else { 0.0 }).collect();
            let want = f64::from(margin(&x)) / norm(&weights) / norm(&x);
            let found = least_changes(&[input], &mut look).unwrap()[0].unwrap();
            assert!(found >= want - 1e-6 && found < 1.01 * want, "{tokens:?}: {found}, not {want}");
        }
        // With the last token alone, the change would have to exceed the largest radius.
        let last = Attacked { embeddings: vec![0.1, 0.0, 0.0, 0.0, 0.0, 0.0], free: free([false, false, true]) };
        assert!(f64::from(margin(&last.embeddings)) / f64::from(0.2f32.hypot(0.4)) > MOST * norm(&last.embeddings));
        assert_eq!(least_changes(&[last], &mut look).unwrap(), [Some(MOST)]);
    }

    #[test]
    fn changing_more_words_takes_no_more_and_one_that_was_not_said_has_none() {
        let model = Model::load(&"bert-tiny".parse().unwrap(), Device::Cpu).unwrap();
        let sentence = own("The old capital of France is [MASK]", None).unwrap();
        let input = Reader::new(&model).unwrap().read(&sentence).unwrap().unwrap();
        let said = predict(&model, &[&input], TOKENS_PER_BATCH, &mut NoPulse).unwrap().remove(0);
        let other: Vec<u32> = said.ids.iter().map(|id| id + 1).collect();
        let marks = |words: &[usize]| -> Vec<bool> {
            input.words.iter().map(|of| of.iter().any(|w| words.contains(w) && !input.excluded.contains(w))).collect()
        };
        let of = |predicted: &[u32], words: &[usize]| {
            let case = Case { input: &input, predicted, name: "" };
            sensitivity(&model, &[case], &[marks(words)], &mut NoPulse).unwrap()[0]
        };
        let (one, all) = (of(&said.ids, &[4]).unwrap(), of(&said.ids, &[0, 1, 2, 3, 4, 5]).unwrap());
        assert!(all > 0.0 && all <= one * 1.02 && one <= MOST, "{all} {one}");
        assert_eq!(of(&other, &[4]), None);
    }
}

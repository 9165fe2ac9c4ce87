//! Sensitivity of a prediction to its rationale, after Yin et al. (2022): the smallest change to the words' embeddings (in Frobenius norm)
//! that changes the prediction. A small value means that the prediction depends on these words.
//!
//! For each of the likeliest other tokens, the search looks for the nearest point at which this token's logit equals the logit of the
//! prediction. It linearises the difference between the two logits, moves to the nearest point of the resulting plane, and repeats this
//! from there (Hasofer and Lind 1974; DeepFool takes the same steps). The result is the smallest change found that changes the prediction,
//! hence an upper bound. Norms are relative to the norm of the whole input's embeddings, so that they can be compared between models.

use super::methods::{At, Case, Ends, Point, WITH_GRADIENT, no_gradients};
use super::predict::best;
use super::spec::{Baseline, TargetKind};
use base::Pulse;
use base::pulse::NoPulse;
use lab::fault::Fault;
use model::Model;

/// Number of other tokens whose boundaries are approached: those with the smallest margins.
const RIVALS: usize = 3;
/// Number of steps towards a boundary.
const STEPS: usize = 12;
/// Number of full steps; later steps go half of the way, so that they do not oscillate around a curved boundary.
const WHOLE: usize = 5;
/// Maximum length of a step relative to the input's norm. A step may also be as long as the change so far, which at most doubles it.
const LONGEST: f64 = 0.1;
/// A step goes beyond the boundary by this share of the change, so that the prediction changes at the new point.
const BEYOND: f64 = 0.002;
/// Maximum change relative to the input's norm; also the value for a prediction that does not change within it.
pub(crate) const MOST: f64 = 4.0;
/// Number of forward passes per point: two logits with gradients, and the logits of all tokens.
const LOOK: usize = 2 * WITH_GRADIENT + 1;
/// Number of forward passes per input if each search needs five points, which is usually enough.
pub(crate) const PASSES: usize = 1 + RIVALS * 5 * LOOK;

/// A search for the boundary between the prediction and another token.
struct Walk {
    /// Index of the input.
    input: usize,
    /// Index of the slot, and the token that should become more likely there than the predicted one.
    slot: usize,
    rival: u32,
    /// Change of the embeddings, as tokens x width.
    change: Vec<f32>,
    /// Norm of the smallest change that changed the prediction.
    found: Option<f64>,
    steps: usize,
    done: bool,
}

/// Results at the current point of a walk.
struct Seen {
    /// True if the prediction has changed.
    changed: bool,
    /// Logit of the prediction minus the other token's logit.
    margin: f64,
    /// Gradient of the margin; 0 for tokens that may not change.
    slope: Vec<f32>,
}

/// Evaluates the current points of some walks.
type Look<'l> = &'l mut dyn FnMut(&[&Walk]) -> Result<Vec<Seen>, Fault>;

fn norm(of: &[f32]) -> f64 {
    dot(of, of).sqrt()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

impl Walk {
    /// Records the current point, and moves towards a point just beyond the nearest one at which the linearised margin is 0. `input` is the
    /// norm of the unchanged embeddings.
    fn step(&mut self, seen: &Seen, input: f64) {
        let size = norm(&self.change);
        if seen.changed {
            self.found = Some(self.found.map_or(size, |found| found.min(size)));
        }
        let square = dot(&seen.slope, &seen.slope);
        let along = (1.0 + BEYOND) * (dot(&seen.slope, &self.change) - seen.margin) / square;
        let next = along.abs() * square.sqrt();
        // Stops if there is no slope, or if the prediction has changed and the next change would not be smaller.
        if !next.is_finite() || seen.changed && next >= (1.0 - BEYOND / 2.0) * size {
            self.done = true;
            return;
        }
        let aim: Vec<f32> = seen.slope.iter().map(|g| (along * f64::from(*g)) as f32).collect();
        let way: Vec<f32> = aim.iter().zip(&self.change).map(|(a, d)| a - d).collect();
        let part = if self.steps < WHOLE { 1.0 } else { 0.5 };
        let part = (size.max(LONGEST * input) / norm(&way)).min(part) as f32;
        self.change.iter_mut().zip(way).for_each(|(d, way)| *d += part * way);
        let shrink = (MOST * input / norm(&self.change)).min(1.0) as f32;
        self.change.iter_mut().for_each(|d| *d *= shrink);
        self.steps += 1;
    }
}

/// The smallest change of the marked tokens' embeddings for each case, relative to the norm of the input's embeddings. `None` for a model
/// without gradients, and if the prediction is not the most probable token of each slot (beam search).
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
    let at = At { model, cases, ends: &ends, target: TargetKind::Logit };
    let width = model.arch().embedding.width;
    let mut walks = begin(&at)?;
    let mut done = cases.len();
    let norms: Vec<f64> = (0..cases.len()).map(|case| norm(ends.input(case))).collect();
    least_changes(&mut walks, &norms, &mut |walks| {
        let point = |w: &Walk| {
            let sum = ends.input(w.input).iter().zip(&w.change).map(|(x, d)| x + d);
            Point::At(w.input, sum.collect())
        };
        let points: Vec<Point> = walks.iter().map(|w| point(w)).collect();
        let kept = at.kept(&points, &mut NoPulse)?;
        let token = |k: usize, rival: bool| {
            let Case { input, predicted, .. } = cases[walks[k].input];
            let slot = walks[k].slot;
            vec![(input.slots[slot], if rival { walks[k].rival } else { predicted[slot] })]
        };
        let mut seen: Vec<Seen> =
            kept.iter().map(|kept| Seen { changed: !kept, margin: 0.0, slope: Vec::new() }).collect();
        at.gradients_of(&points, &|k| token(k, false), &mut NoPulse, &mut |k, logit, slope| {
            (seen[k].margin, seen[k].slope) = (logit, slope.to_vec());
        })?;
        at.gradients_of(&points, &|k| token(k, true), &mut NoPulse, &mut |k, logit, slope| {
            seen[k].margin -= logit;
            let free = marked[walks[k].input].iter().flat_map(|m| std::iter::repeat_n(*m, width));
            let each = seen[k].slope.iter_mut().zip(slope).zip(free);
            each.for_each(|((g, rival), free)| *g = if free { *g - rival } else { 0.0 });
        })?;
        done += points.len() * LOOK;
        pulse.beat(done, (cases.len() * PASSES).max(done))?;
        Ok(seen)
    })
}

/// New walks without a change, one for each token with one of the smallest margins over all slots of a case.
fn begin(at: &At<'_>) -> Result<Vec<Walk>, Fault> {
    let points: Vec<Point> = (0..at.cases.len()).map(|case| Point::Along(case, 1.0)).collect();
    let mut margins: Vec<Vec<(f64, usize, u32)>> = vec![Vec::new(); points.len()];
    let mut look = |case: usize, slot: usize, row: &[f32]| {
        let said = at.cases[case].predicted[slot];
        let row: Vec<f64> = row.iter().map(|l| f64::from(*l)).collect();
        let others = best(&row, RIVALS + 1).into_iter().filter(|(token, _)| *token != said);
        margins[case].extend(others.map(|(token, logit)| (row[said as usize] - logit, slot, token)));
    };
    at.logits(&points, &mut look, &mut NoPulse)?;
    let walks = margins.into_iter().enumerate().flat_map(|(input, mut all)| {
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.truncate(RIVALS);
        let change = vec![0.0; at.ends.input(input).len()];
        let walk = move |(_, slot, rival)| Walk {
            input,
            slot,
            rival,
            change: change.clone(),
            found: None,
            steps: 0,
            done: false,
        };
        all.into_iter().map(walk)
    });
    Ok(walks.collect())
}

/// The smallest change of each input relative to its norm; `None` if the prediction differs even without a change.
fn least_changes(walks: &mut [Walk], norms: &[f64], look: Look<'_>) -> Result<Vec<Option<f64>>, Fault> {
    for _ in 0..=STEPS {
        let open: Vec<&Walk> = walks.iter().filter(|w| !w.done).collect();
        if open.is_empty() {
            break;
        }
        let seen = look(&open)?;
        for (walk, seen) in walks.iter_mut().filter(|w| !w.done).zip(seen) {
            walk.step(&seen, norms[walk.input]);
        }
    }
    let least = |(input, size): (usize, &f64)| {
        let found = walks.iter().filter(|w| w.input == input).filter_map(|w| w.found);
        Some(found.map(|found| found / size).fold(MOST, f64::min)).filter(|least| *least > 0.0)
    };
    Ok(norms.iter().enumerate().map(least).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Reader;
    use crate::predict::predict;
    use crate::sentence::own;
    use model::Device;
    use model::chunk::TOKENS_PER_BATCH;

    /// For a linear classifier of two classes with margin `w · x + b`, the smallest change to the free values is the margin divided by the
    /// norm of their weights.
    #[test]
    fn linear_sensitivity_is_the_distance_to_the_boundary() {
        let (w, b) = ([0.8f32, -0.6, 0.3, 0.9, -0.2, 0.4], 0.1f32);
        let x = [1.0f32, -2.0, 0.5, 1.5, 0.0, -1.0];
        let margin = |x: &[f32]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f32>() + b;
        let least = |x: [f32; 6], tokens: [bool; 3]| {
            let free: Vec<bool> = tokens.into_iter().flat_map(|t| [t, t]).collect();
            let slope: Vec<f32> = w.iter().zip(free).map(|(w, free)| if free { *w } else { 0.0 }).collect();
            let walk = Walk { input: 0, slot: 0, rival: 1, change: vec![0.0; 6], found: None, steps: 0, done: false };
            let mut look = |walks: &[&Walk]| {
                let x: Vec<f32> = x.iter().zip(&walks[0].change).map(|(x, d)| x + d).collect();
                Ok(vec![Seen { changed: margin(&x) < 0.0, margin: f64::from(margin(&x)), slope: slope.clone() }])
            };
            let found = least_changes(&mut [walk], &[norm(&x)], &mut look).unwrap()[0];
            (found, f64::from(margin(&x)) / norm(&slope) / norm(&x))
        };
        for tokens in [[true; 3], [true, false, false], [false, true, true]] {
            let (found, want) = least(x, tokens);
            assert!((found.unwrap() / want - 1.0 - BEYOND).abs() < 1e-5, "{tokens:?}: {found:?}, not {want}");
        }
        // The last token alone would have to change by more than the maximum.
        let (found, want) = least([0.1, 0.0, 0.0, 0.0, 0.0, 0.0], [false, false, true]);
        assert!(found == Some(MOST) && want > MOST, "{found:?} {want}");
        // In the first case no token may change; in the second, the prediction differs even without a change.
        assert_eq!(least(x, [false; 3]).0, Some(MOST));
        assert_eq!(least([0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [true; 3]).0, None);
    }

    #[test]
    fn more_words_never_need_a_larger_change() {
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

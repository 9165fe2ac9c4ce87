//! Fresh probes on edited hidden states, which show how much of a property remains after its removal.
//!
//! An oracle is trained on unedited states. A property that the oracle no longer reads may still be encoded elsewhere. Fresh probes, a
//! linear and a multilayer one, are trained on edited states of the oracle part and tested on edited states of the test part. They show
//! what another probe could still find.

use serde::{Deserialize, Serialize};

use base::Pulse;
use base::matrix::{Dense, Real, argmax};
use probe::logistic::Settings;
use probe::split::Role;
use probe::train::{MOST_STEPS, Recipe};
use probe::{Job, Labelled, Logistic, ProbeError, TrainingData, train_all};
use stats::clustered::{effective_rows, share_of};
use stats::{Estimate, Purpose};

/// Accuracy of one kind of fresh probe.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// Trained and tested on unedited states.
    pub before: Estimate,
    /// Trained and tested on edited states.
    pub after: Estimate,
    /// Share of the accuracy above chance that remains; its interval comes from that of `after`, with `before` treated as exact. `None` if
    /// the accuracy was not above chance before. Negative if the fresh probe is worse than the majority answer.
    pub share: Option<Estimate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Leak {
    /// Share of the largest class among the test examples: the accuracy of a constant answer.
    pub chance: f64,
    /// Logistic regression (C = 1).
    pub linear: Left,
    /// A perceptron with the given settings.
    pub mlp: Left,
    pub n: usize,
}

/// Training data and the test examples with the property, all edited or all unedited.
pub type Condition<'a, R> = (&'a TrainingData<R>, &'a Labelled);

/// Trains fresh probes on unedited and on edited states, with intervals at `level`. The perceptrons use the random streams of `purpose`,
/// whose classifier should name the method, so that no other probe shares them. `texts` is the text of each test example, if
/// they are tokens of texts.
///
/// # Errors
/// [`ProbeError`] if cancelled or if a perceptron diverged.
pub fn leak<R: Role>(
    before: Condition<'_, R>,
    after: Condition<'_, R>,
    texts: Option<&[usize]>,
    recipe: &Recipe,
    purpose: &Purpose,
    level: f64,
    pulse: &mut dyn Pulse,
) -> Result<Leak, ProbeError> {
    let jobs = [before, after].map(|(data, _)| Job::new(data, recipe, MOST_STEPS, purpose));
    let mut mlp = Vec::new();
    for (done, (_, test)) in train_all(&jobs, pulse, &mut |_, _| {})?.into_iter().zip([before, after]) {
        let diverged = || ProbeError::Diverged { grid: recipe.describe(), trials: 1 };
        let probe = done.ok_or_else(diverged)?.probe::<R>()?;
        mlp.push(right(&probe.mlp().logits(test.x()), test));
    }
    let mut linear = Vec::new();
    for (data, test) in [before, after] {
        let fit = Logistic::fit_plain(data.train(), &Settings::default(), &mut || pulse.beat(0, 1))?;
        linear.push(right(&fit.model.logits(test.x()), test));
    }
    let (chance, n) = (after.1.majority(), after.1.len());
    let share = |right: &[f64]| {
        let rows = texts.map_or(n as f64, |texts| effective_rows(right, texts));
        share_of(right.iter().sum::<f64>() / n as f64, rows, level)
    };
    let left = |right: &[Vec<f64>]| {
        let [before, after] = [&right[0], &right[1]].map(|right| share(right));
        let above = before.mean - chance;
        let share = |accuracy: f64| (accuracy - chance) / above;
        let share =
            (above > 0.0).then(|| Estimate { mean: share(after.mean), lo: share(after.lo), hi: share(after.hi) });
        Left { before, after, share }
    };
    Ok(Leak { chance, linear: left(&linear), mlp: left(&mlp), n })
}

/// 1 for each test example that is classified correctly, otherwise 0.
fn right<T: Real>(logits: &Dense<T>, test: &Labelled) -> Vec<f64> {
    logits.iter_rows().zip(test.y()).map(|(row, y)| f64::from(u8::from(argmax(row) == *y))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NoPulse;
    use probe::split::Oracle;
    use probe::{Matrix, Split};
    use stats::rng::{stream, unit};

    /// A property encoded twice: linearly in the first coordinate and as a product in the next two. Removing the first coordinate defeats
    /// only the linear probe; removing all three leaves both probes at chance.
    #[test]
    fn nonlinear_probe_finds_what_linear_probe_misses() {
        let n = 3_000;
        let mut rng = stream(1, "leak");
        let values: Vec<f64> = (0..n * 3).map(|_| 2.0 * unit(&mut rng) - 1.0).collect();
        let y: Vec<Option<usize>> =
            (0..n).map(|i| Some(usize::from(values[3 * i + 1] * values[3 * i + 2] > 0.0))).collect();
        let states = |first: f64, rest: f64| {
            Matrix::from_fn(n, 3, |i, j| match j {
                0 => (first * (2.0 * y[i].unwrap_or(0) as f64 - 1.0) + 0.1 * values[3 * i]) as f32,
                _ => (rest * values[3 * i + j]) as f32,
            })
        };
        let split = Split::new(n, 2).unwrap();
        let condition = |x: &Matrix| {
            let data = TrainingData::<Oracle>::new(split.oracle(), x, &y, 2).unwrap();
            let rows = split.test().rows();
            let labels = rows.iter().map(|r| y[*r].unwrap()).collect();
            (data, Labelled::new(x.select_rows(rows), labels, 2).unwrap())
        };
        let recipe = Recipe { hidden: vec![32], learning_rate: 1e-2, batch: 64 };
        let run = |first: f64, rest: f64| {
            let ((a, b), (c, d)) = (condition(&states(1.0, 1.0)), condition(&states(first, rest)));
            let purpose = Purpose::new(1, "property", "leak");
            leak((&a, &b), (&c, &d), None, &recipe, &purpose, 0.95, &mut NoPulse).unwrap()
        };
        let half = run(0.0, 1.0);
        assert!(half.linear.before.mean > 0.99 && half.linear.share.unwrap().mean < 0.25, "{half:?}");
        assert!(half.mlp.share.unwrap().mean > 0.8, "{half:?}");
        let none = run(0.0, 0.0);
        assert!(none.mlp.share.unwrap().mean < 0.25 && none.linear.share.unwrap().lo < 0.1, "{none:?}");
    }
}

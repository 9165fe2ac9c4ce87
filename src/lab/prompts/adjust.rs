//! Backdoor adjustment (Cao et al. 2022, section 6): P(E | do(M = m), R = r) = Σ P(p, x) P(E | m, r, p, x). This is a model's score on a
//! relation, averaged over prompts and mentions with the same weights for every model.

use thiserror::Error;

use super::answers::Answers;
use super::exact::Exact;
use stats::rng::{sample_indices, stream};

/// Maximum integer weight, so that sums over prompts, mentions and instances fit into 64 bits.
const LARGEST: f64 = (1u64 << 30) as f64;

#[derive(Debug, Clone, PartialEq, Error)]
pub enum WeightError {
    #[error("weight {0} is negative or not a number")]
    Value(f64),
    #[error("the weights add up to 0")]
    Nothing,
    /// The number of weights differs from the number of prompts.
    #[error("{found} weights for {wanted} prompts")]
    Prompts { found: usize, wanted: usize },
    #[error("the weights of the first {0} mentions add up to 0, but some subjects have no other mentions")]
    Mentions(usize),
}

/// Integer weights of prompts, or of pairs of prompt and mention, so that weighted means can be compared exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    /// Weights by prompt, then by mention; a row with a single weight applies to all mentions.
    table: Vec<Vec<u64>>,
}

impl Weights {
    pub fn uniform(prompts: usize) -> Self {
        Self { table: vec![vec![1]; prompts] }
    }

    /// Weights of prompts; any positive sum is allowed.
    ///
    /// # Errors
    /// [`WeightError`] for negative weights and for a sum of 0.
    pub fn of_prompts(weights: &[f64]) -> Result<Self, WeightError> {
        Self::of(&weights.iter().map(|w| vec![*w]).collect::<Vec<_>>())
    }

    /// Weights by prompt and mention, normalised for each instance over its mentions.
    pub fn of(table: &[Vec<f64>]) -> Result<Self, WeightError> {
        let all = || table.iter().flatten().copied();
        if let Some(bad) = all().find(|w| !w.is_finite() || *w < 0.0) {
            return Err(WeightError::Value(bad));
        }
        let most = all().fold(0.0, f64::max);
        if most <= 0.0 || table.iter().all(Vec::is_empty) {
            return Err(WeightError::Nothing);
        }
        // Decimals such as 0.4 become exact integers; other values keep a precision of one part in 2^30.
        let decimal = (0..9).map(|k| 10f64.powi(k)).find(|scale| {
            most * scale <= LARGEST && all().all(|w| (w * scale - (w * scale).round()).abs() < 1e-9 * scale)
        });
        let scale = decimal.unwrap_or(LARGEST / most);
        let whole = |w: &f64| (w * scale).round() as u64;
        Ok(Self { table: table.iter().map(|row| row.iter().map(whole).collect()).collect() })
    }

    pub fn prompts(&self) -> usize {
        self.table.len()
    }

    fn at(&self, prompt: usize, mention: usize) -> u64 {
        let row = &self.table[prompt];
        if row.len() == 1 { row[0] } else { row.get(mention).copied().unwrap_or(0) }
    }

    /// Share of each prompt, summing to 1. Weights by mention are averaged.
    pub fn shares(&self) -> Vec<f64> {
        let mean = |row: &Vec<u64>| row.iter().sum::<u64>() as f64 / row.len().max(1) as f64;
        let each: Vec<f64> = self.table.iter().map(mean).collect();
        let sum: f64 = each.iter().sum();
        each.iter().map(|w| w / sum).collect()
    }

    /// Shares of the first `mentions` mentions under a prompt, summing to 1; equal shares if all these weights are 0.
    pub fn mentions(&self, prompt: usize, mentions: usize) -> Vec<f64> {
        let each: Vec<f64> = (0..mentions).map(|x| self.at(prompt, x) as f64).collect();
        let sum: f64 = each.iter().sum();
        each.into_iter().map(|w| if sum > 0.0 { w / sum } else { 1.0 / mentions as f64 }).collect()
    }

    /// The weights restricted to these prompts.
    pub fn part(&self, prompts: &[usize]) -> Self {
        Self { table: prompts.iter().map(|p| self.table[*p].clone()).collect() }
    }

    pub fn fit(&self, answers: &Answers) -> Result<(), WeightError> {
        let (found, wanted) = (self.prompts(), answers.shape.prompts());
        if found != wanted {
            return Err(WeightError::Prompts { found, wanted });
        }
        let shape = &answers.shape;
        let bare = (0..shape.instances()).map(|i| shape.mentions(i)).find(|n| self.sum(*n) == 0);
        bare.map_or(Ok(()), |n| Err(WeightError::Mentions(n)))
    }

    /// Sum of the weights over all prompts and the first `mentions` mentions.
    fn sum(&self, mentions: usize) -> u64 {
        let row = |p: usize| (0..mentions).map(|x| self.at(p, x)).sum::<u64>();
        (0..self.prompts()).map(row).sum()
    }
}

/// The adjusted score of a model on a relation, from 0 to 1; `None` without prompts or instances.
///
/// # Panics
/// If the weights do not [fit](Weights::fit).
pub fn adjusted(answers: &Answers, weights: &Weights) -> Option<Exact> {
    let shape = &answers.shape;
    if shape.instances() == 0 || shape.prompts() == 0 {
        return None;
    }
    // Instances with the same number of mentions share a denominator.
    let mut counts = vec![0u64; shape.most_mentions() + 1];
    for i in 0..shape.instances() {
        for p in 0..shape.prompts() {
            let right = (0..shape.mentions(i)).filter(|x| answers.is_right(p, i, *x));
            counts[shape.mentions(i)] += right.map(|x| weights.at(p, x)).sum::<u64>();
        }
    }
    let n = shape.instances() as u64;
    let each = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    Some(each.map(|(mentions, count)| Exact::ratio(*count, n * weights.sum(mentions))).sum())
}

/// The terms of the mean in [`adjusted`]: for each instance, the weighted share of correct answers.
pub(crate) fn by_instance(answers: &Answers, weights: &Weights) -> Vec<f64> {
    let shape = &answers.shape;
    let of = |i: usize| {
        let each = (0..shape.prompts()).flat_map(|p| (0..shape.mentions(i)).map(move |x| (p, x)));
        let right = each.filter(|(p, x)| answers.is_right(*p, i, *x));
        right.map(|(p, x)| weights.at(p, x)).sum::<u64>() as f64 / weights.sum(shape.mentions(i)) as f64
    };
    (0..shape.instances()).map(of).collect()
}

/// The score under each prompt, averaged over mentions with equal weights.
pub fn by_prompt(answers: &Answers) -> Vec<Exact> {
    let shape = &answers.shape;
    let n = shape.instances() as u64;
    let of = |p: usize| {
        let mut counts = vec![0u64; shape.most_mentions() + 1];
        for i in 0..shape.instances() {
            counts[shape.mentions(i)] += answers.correct_mentions(p, i) as u64;
        }
        let each = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        each.map(|(mentions, count)| Exact::ratio(*count, n * mentions as u64)).sum()
    };
    (0..shape.prompts()).map(of).collect()
}

/// The prompts and mentions averaged in a K × K sample; the same for every model.
pub fn sample(
    answers: &Answers,
    prompts: Option<usize>,
    mentions: Option<usize>,
    (seed, relation): (u64, &str),
) -> (Vec<usize>, Vec<Vec<usize>>) {
    let shape = &answers.shape;
    let mut rng = stream(seed, &format!("adjusted sample {relation}"));
    let wanted = |most: Option<usize>, of: usize| most.unwrap_or(of).min(of);
    let chosen = sample_indices(&mut rng, shape.prompts(), wanted(prompts, shape.prompts()));
    let mut draw = |i: usize| {
        let of = shape.mentions(i);
        sample_indices(&mut rng, of, wanted(mentions, of))
    };
    (chosen, (0..shape.instances()).map(&mut draw).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::answers::testing::answers;
    use super::*;

    #[test]
    fn invalid_weights_are_refused() {
        assert_eq!(Weights::of_prompts(&[1.0, -0.5]), Err(WeightError::Value(-0.5)));
        assert!(matches!(Weights::of_prompts(&[f64::NAN]), Err(WeightError::Value(_))));
        assert_eq!(Weights::of_prompts(&[0.0, 0.0]), Err(WeightError::Nothing));
        assert_eq!(Weights::of_prompts(&[]), Err(WeightError::Nothing));
        let two = answers(2, &[1, 2], |_, _, _| true);
        let three = Weights::uniform(3).fit(&two).unwrap_err();
        assert_eq!(three.to_string(), "3 weights for 2 prompts");
        let late = Weights::of(&[vec![0.0, 1.0], vec![0.0, 1.0]]).unwrap();
        assert_eq!(late.fit(&two), Err(WeightError::Mentions(1)));
    }

    #[test]
    fn weights_may_be_unnormalised_decimals() {
        let some = answers(2, &[1, 1, 1], |p, i, _| p == 0 || i == 0);
        let of = |w: &[f64]| adjusted(&some, &Weights::of_prompts(w).unwrap()).unwrap().value();
        assert!((of(&[0.4, 0.6]) - (0.4 + 0.6 / 3.0)).abs() < 1e-15);
        assert_eq!(of(&[0.4, 0.6]), of(&[2.0, 3.0]));
        assert!((of(&[1.0 / 3.0, 2.0 / 3.0]) - of(&[1.0, 2.0])).abs() < 1e-9);
        assert!((of(&[1e300, 1e300]) - of(&[1.0, 1.0])).abs() < 1e-9);
        assert_eq!(Weights::of_prompts(&[1.0, 3.0]).unwrap().shares(), [0.25, 0.75]);
    }

    #[test]
    fn sample_is_a_shared_subset() {
        let one = answers(5, &[3, 1, 4], |p, _, _| p > 1);
        let other = answers(5, &[3, 1, 4], |_, _, _| false);
        let drawn = sample(&one, Some(2), Some(2), (7, "r"));
        assert_eq!(drawn, sample(&other, Some(2), Some(2), (7, "r")));
        assert_eq!((drawn.0.len(), drawn.1.iter().map(Vec::len).collect::<Vec<_>>()), (2, vec![2, 1, 2]));
        let all = sample(&one, None, None, (7, "r"));
        assert_eq!(one.part(&all.0, &all.1), one);
    }

    proptest! {
        #[test]
        fn uniform_weights_give_the_mean(
            mentions in prop::collection::vec(1usize..5, 1..12), prompts in 1usize..6, seed: u64,
        ) {
            let right = |p: usize, i: usize, x: usize| (seed >> ((p * 7 + i * 3 + x) % 61)) & 1 == 1;
            let all = answers(prompts, &mentions, right);
            let mut mean = 0.0;
            for p in 0..prompts {
                for (i, n) in mentions.iter().enumerate() {
                    let share = (0..*n).filter(|x| right(p, i, *x)).count() as f64 / *n as f64;
                    mean += share / (prompts * mentions.len()) as f64;
                }
            }
            let uniform = adjusted(&all, &Weights::uniform(prompts)).unwrap();
            prop_assert!((uniform.value() - mean).abs() < 1e-12);
            let each = by_instance(&all, &Weights::uniform(prompts));
            prop_assert!((each.iter().sum::<f64>() / each.len() as f64 - mean).abs() < 1e-12);
            let by: Exact = by_prompt(&all).into_iter().sum();
            prop_assert_eq!(by.over(prompts as u64).compare(uniform), std::cmp::Ordering::Equal);
            // Equal weights of any size are uniform.
            let same = Weights::of_prompts(&vec![0.3; prompts]).unwrap();
            prop_assert_eq!(adjusted(&all, &same).unwrap().compare(uniform), std::cmp::Ordering::Equal);
        }
    }
}

//! Rank consistency (Cao et al. 2022, Table 4): how often models keep their ranks when relations, prompts and mentions are resampled.
//!
//! A draw is a set of relations, the same for all models and regimes. The original regime uses the first prompt and the first mention. The
//! random regime draws one prompt per relation and one mention per instance, separately for each model (as in the published code) or once
//! for all. The adjusted regime averages over prompts and mentions. A model's score is its mean over the drawn relations. Its consistency
//! is the share of its most frequent rank; the consistency of the whole order is the share of the most frequent order.

use std::collections::{BTreeMap, HashMap};

use rand_chacha::rand_core::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::adjust::{Weights, adjusted, by_prompt};
use super::answers::Answers;
use super::exact::Exact;
use super::places::{Ties, places};
use stats::chances::Chances;
use stats::rng::{below, sample_indices, stream};

/// The choice of prompts and mentions in a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// Uses the first prompt and the first mention.
    Original,
    /// Draws one prompt and one mention.
    Random,
    /// Averages over all prompts and mentions.
    Adjusted,
}

impl Regime {
    /// All regimes, in the order of the paper's table.
    pub const ALL: [Self; 3] = [Self::Original, Self::Random, Self::Adjusted];

    /// The name in findings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Random => "random",
            Self::Adjusted => "adjusted",
        }
    }
}

/// Rule for comparing scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scoring {
    /// Exact fractions, so that ties are exact.
    #[default]
    Exact,
    /// Each prompt's P@1 and each mean rounded to two decimals in per cent, as in the published code.
    TwoDecimals,
}

impl Scoring {
    /// All options, in display order.
    pub const ALL: [Self; 2] = [Self::Exact, Self::TwoDecimals];

    /// The name in specs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TwoDecimals => "two_decimals",
        }
    }
}

/// A score on one relation: exact, and in per cent as rounded by the published code.
#[derive(Debug, Clone, Copy, Default)]
struct Score {
    exact: Exact,
    rounded: f64,
}

fn two_decimals(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

impl Score {
    fn of(exact: Exact) -> Self {
        Self { exact, rounded: two_decimals(100.0 * exact.value()) }
    }
}

#[derive(Debug, Clone)]
struct Entry {
    answers: Vec<Answers>,
    original: Vec<Score>,
    adjusted: Vec<Score>,
    /// Scores by model and prompt, averaged over mentions.
    by_prompt: Vec<Vec<Exact>>,
    /// Score for each number of correct answers, from 0.
    shares: Vec<Score>,
    /// Effect of random mentions, by model and prompt.
    varied: Vec<Vec<Varied>>,
}

/// Variation of the answers to one prompt under random mentions. Most instances are right, or wrong, with every name.
#[derive(Debug, Clone, Default)]
struct Varied {
    /// Number of instances that are right with every mention.
    sure: usize,
    /// For each instance that is right with some mentions but not all: the number of these mentions, out of all its mentions.
    mixed: Chances,
}

impl Varied {
    fn of(answers: &Answers, prompt: usize) -> Self {
        let mut varied = Self::default();
        for i in 0..answers.shape.instances() {
            match (answers.correct_mentions(prompt, i), answers.shape.mentions(i)) {
                (0, _) => {}
                (right, all) if right == all => varied.sure += 1,
                (right, all) => varied.mixed.push(right as u32, all as u32),
            }
        }
        varied
    }

    /// Draws a mention for each instance, and returns the number of correct answers.
    fn draw(&self, rng: &mut impl Rng) -> usize {
        self.sure + self.mixed.drawn(rng)
    }
}

/// Models and their answers about relations. Ranks are drawn from them.
#[derive(Debug, Clone, Default)]
pub struct Panel {
    models: usize,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    pub count: usize,
    /// Relations per draw.
    pub subset: usize,
    /// True if all models get the same prompts and mentions in the random regime.
    pub shared: bool,
    pub seed: u64,
    /// Rule for ranking tied scores.
    pub ties: Ties,
    pub scoring: Scoring,
}

impl Panel {
    pub fn new(models: usize) -> Self {
        Self { models, entries: Vec::new() }
    }

    /// Adds a relation with each model's answers. Ignores relations without prompts or instances.
    ///
    /// # Panics
    /// If the number of models differs, or the weights do not fit.
    pub fn push(&mut self, answers: Vec<Answers>, weights: &Weights) {
        let exact: Option<Vec<Exact>> = answers.iter().map(|a| adjusted(a, weights)).collect();
        let of_prompts = weights.shares();
        // As published, each prompt's score is rounded before averaging over prompts.
        let published = |a: &Answers| -> f64 {
            let each = by_prompt(a).into_iter().zip(&of_prompts);
            each.map(|(p, w)| two_decimals(100.0 * p.value()) * w).sum()
        };
        let Some(exact) = exact else { return };
        let scores = exact.into_iter().zip(&answers);
        let scores = scores.map(|(exact, a)| Score { exact, rounded: published(a) }).collect();
        self.insert(answers, scores);
    }

    /// Adds a relation whose adjusted scores are averages over only some prompts and mentions.
    ///
    /// # Panics
    /// If the number of models differs.
    pub(crate) fn push_adjusted(&mut self, answers: Vec<Answers>, scores: &[Exact]) {
        self.insert(answers, scores.iter().map(|s| Score::of(*s)).collect());
    }

    fn insert(&mut self, answers: Vec<Answers>, adjusted: Vec<Score>) {
        assert_eq!((answers.len(), adjusted.len()), (self.models, self.models), "answers of other models");
        let Some(n) = answers.first().map(|a| a.shape.instances()).filter(|n| *n > 0) else { return };
        if answers[0].shape.prompts() == 0 {
            return;
        }
        let shares: Vec<Score> = (0..=n as u64).map(|c| Score::of(Exact::ratio(c, n as u64))).collect();
        let varied = |a: &Answers| (0..a.shape.prompts()).map(|p| Varied::of(a, p)).collect();
        self.entries.push(Entry {
            original: answers.iter().map(|a| shares[a.correct(0)]).collect(),
            adjusted,
            by_prompt: answers.iter().map(by_prompt).collect(),
            varied: answers.iter().map(varied).collect(),
            shares,
            answers,
        });
    }

    pub fn relations(&self) -> usize {
        self.entries.len()
    }

    pub fn models(&self) -> usize {
        self.models
    }

    /// The scores of the models on a draw of relations. `correct(model, relation)` counts correct answers, and is called only in the random
    /// regime.
    pub fn scores(
        &self,
        regime: Regime,
        subset: &[usize],
        scoring: Scoring,
        mut correct: impl FnMut(usize, usize) -> usize,
    ) -> Vec<Exact> {
        let mut of = |k: usize| {
            let each = subset.iter().map(|r| {
                let entry = &self.entries[*r];
                match regime {
                    Regime::Original => entry.original[k],
                    Regime::Adjusted => entry.adjusted[k],
                    Regime::Random => entry.shares[correct(k, *r)],
                }
            });
            let sum = each
                .fold(Score::default(), |a, b| Score { exact: a.exact.plus(b.exact), rounded: a.rounded + b.rounded });
            total(sum, subset.len(), scoring)
        };
        (0..self.models).map(&mut of).collect()
    }

    /// Number of correct answers by a model about a relation, with the given prompt and mentions.
    ///
    /// # Panics
    /// If the model, relation, prompt or mention does not exist.
    pub fn correct(&self, model: usize, relation: usize, prompt: usize, mention: impl FnMut(usize) -> usize) -> usize {
        self.entries[relation].answers[model].correct_under(prompt, mention)
    }

    /// The ranks in every draw of a range, by regime. The relations of a draw do not depend on the range.
    pub fn draw(&self, draws: &Draws, range: std::ops::Range<usize>) -> Vec<[Vec<u32>; 3]> {
        range.into_par_iter().map(|d| self.one(draws, d)).collect()
    }

    fn one(&self, draws: &Draws, draw: usize) -> [Vec<u32>; 3] {
        let mut rng = stream(draws.seed, "rank draws");
        rng.set_stream(draw as u64);
        let subset = sample_indices(&mut rng, self.relations(), draws.subset);
        // Random prompts and mentions have a separate stream, so that they do not affect the choice of relations.
        let mut random = stream(draws.seed, "rank prompts and mentions");
        random.set_stream(draw as u64);
        let mut mentions: Vec<Vec<usize>> = vec![Vec::new(); self.relations()];
        let mut prompts = vec![0; self.relations()];
        let mut correct = |k: usize, r: usize| {
            let answers = &self.entries[r].answers[k];
            let shape = &answers.shape;
            let mut any = |n: usize| if n == 1 { 0 } else { below(&mut random, n as u32) as usize };
            if !draws.shared {
                let prompt = any(shape.prompts());
                return self.entries[r].varied[k][prompt].draw(&mut random);
            }
            if k == 0 {
                prompts[r] = any(shape.prompts());
                mentions[r] = (0..shape.instances()).map(|i| any(shape.mentions(i))).collect();
            }
            answers.correct_under(prompts[r], |i| mentions[r][i])
        };
        Regime::ALL.map(|regime| {
            let scores = self.scores(regime, &subset, draws.scoring, &mut correct);
            places(&scores, |a, b| a.compare(*b), draws.ties)
        })
    }

    /// Ranks after averaging over `prompts` prompts per relation, a regime between one prompt and all. Prompts are resampled for each draw
    /// and shared by the models. Relations with fewer prompts use all of them.
    pub(crate) fn draw_prompts(&self, draws: &Draws, prompts: usize) -> Tally {
        let mut tally = Tally::new(self.models);
        let one = |d: usize| {
            let mut rng = stream(draws.seed, "rank draws");
            rng.set_stream(d as u64);
            let subset = sample_indices(&mut rng, self.relations(), draws.subset);
            let mut sums = vec![Exact::default(); self.models];
            for r in subset {
                let entry = &self.entries[r];
                let chosen = sample_indices(&mut rng, entry.answers[0].shape.prompts(), prompts);
                for (k, sum) in sums.iter_mut().enumerate() {
                    let mean: Exact = chosen.iter().map(|p| entry.by_prompt[k][*p]).sum();
                    *sum = sum.plus(mean.over(chosen.len() as u64));
                }
            }
            places(&sums, |a, b| a.compare(*b), draws.ties)
        };
        let drawn: Vec<Vec<u32>> = (0..draws.count).into_par_iter().map(one).collect();
        drawn.iter().for_each(|places| tally.add(places));
        tally
    }

    /// Maximum number of prompts per relation.
    pub(crate) fn most_prompts(&self) -> usize {
        self.entries.iter().map(|e| e.answers[0].shape.prompts()).max().unwrap_or(0)
    }

    /// Counts all draws instead of a sample: all subsets of relations and, in the random regime, every choice of prompts.
    ///
    /// `None` if there are more than `most` draws, or if draws are not equally likely: with several mentions, with relations that differ in
    /// their number of prompts, or with separate draws per model.
    pub fn enumerate(&self, regime: Regime, draws: &Draws, most: usize) -> Option<Tally> {
        let (relations, size) = (self.relations(), draws.subset.min(self.relations()));
        let prompts = match regime {
            Regime::Random => self.even_prompts().filter(|_| draws.shared)?,
            Regime::Original | Regime::Adjusted => 1,
        };
        let choices = prompts.checked_pow(size as u32).filter(|n| *n <= most)?;
        if choose(relations, size)?.checked_mul(choices)? > most {
            return None;
        }
        let mut tally = Tally::new(self.models);
        let mut subset: Vec<usize> = (0..size).collect();
        loop {
            for choice in 0..choices {
                let prompt = |r: usize| {
                    let at = subset.iter().position(|s| *s == r).unwrap_or(0);
                    choice / prompts.pow(at as u32) % prompts
                };
                let scores = self.scores(regime, &subset, draws.scoring, |k, r| {
                    self.entries[r].answers[k].correct_under(prompt(r), |_| 0)
                });
                tally.add(&places(&scores, |a, b| a.compare(*b), draws.ties));
            }
            if !next(&mut subset, relations) {
                return Some(tally);
            }
        }
    }

    /// The number of prompts per relation if it is the same for all and every instance has one mention.
    fn even_prompts(&self) -> Option<usize> {
        let shapes = || self.entries.iter().map(|e| &e.answers[0].shape);
        let first = shapes().next()?.prompts();
        shapes().all(|s| s.prompts() == first && s.most_mentions() == 1).then_some(first)
    }
}

fn total(sum: Score, relations: usize, scoring: Scoring) -> Exact {
    match scoring {
        Scoring::Exact => sum.exact,
        Scoring::TwoDecimals => Exact::ratio((sum.rounded / relations.max(1) as f64 * 100.0).round() as u64, 10_000),
    }
}

/// Number of ways to choose `k` of `n`; `None` on overflow.
fn choose(n: usize, k: usize) -> Option<usize> {
    let mut ways = 1usize;
    for i in 0..k.min(n - k) {
        ways = ways.checked_mul(n - i)? / (i + 1);
    }
    Some(ways)
}

/// Advances to the next subset in order; false after the last.
fn next(subset: &mut [usize], of: usize) -> bool {
    let size = subset.len();
    let Some(at) = (0..size).rev().find(|i| subset[*i] < of - size + i) else { return false };
    subset[at] += 1;
    for i in at + 1..size {
        subset[i] = subset[i - 1] + 1;
    }
    true
}

/// Counts of the models' ranks; 0 is the worst.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    pub draws: u64,
    /// By model: the number of draws for each doubled rank. Doubling makes tied ranks integers.
    histograms: Vec<BTreeMap<u32, u64>>,
    orders: HashMap<Vec<u32>, u64>,
}

impl Tally {
    pub fn new(models: usize) -> Self {
        Self { draws: 0, histograms: vec![BTreeMap::new(); models], orders: HashMap::new() }
    }

    /// Adds the ranks of one draw, doubled as in [`places`].
    pub fn add(&mut self, places: &[u32]) {
        self.draws += 1;
        for (histogram, place) in self.histograms.iter_mut().zip(places) {
            *histogram.entry(*place).or_default() += 1;
        }
        *self.orders.entry(places.to_vec()).or_default() += 1;
    }

    /// Number of draws at each rank of a model, in half steps from the worst: `2 m - 1` numbers for m models.
    pub fn halves(&self, model: usize) -> Vec<u64> {
        let of = |place: usize| self.histograms[model].get(&(place as u32)).copied().unwrap_or(0);
        (0..2 * self.histograms.len() - 1).map(of).collect()
    }

    /// Number of draws at each rank of a model, from 0 (the worst); in half steps if tied models share ranks.
    pub fn histogram(&self, model: usize, ties: Ties) -> Vec<u64> {
        let halves = self.halves(model);
        match ties {
            Ties::EarlierLower => halves.into_iter().step_by(2).collect(),
            Ties::MeanPlace => halves,
        }
    }

    /// Number of draws in which a model has its most frequent rank.
    pub fn most(&self, model: usize) -> u64 {
        self.histograms[model].values().copied().max().unwrap_or(0)
    }

    /// Number of distinct orders.
    pub fn orders(&self) -> usize {
        self.orders.len()
    }

    /// Number of draws for each whole order, most frequent first.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = self.orders.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    /// Largest number of draws with the same whole order, and every order with that number of draws, as doubled ranks.
    pub fn order(&self) -> (u64, Vec<Vec<u32>>) {
        let most = self.orders.values().copied().max().unwrap_or(0);
        let mut all: Vec<Vec<u32>> = self.orders.iter().filter(|(_, n)| **n == most).map(|(o, _)| o.clone()).collect();
        all.sort();
        (most, all)
    }
}

#[cfg(test)]
#[path = "consistency_tests.rs"]
mod tests;

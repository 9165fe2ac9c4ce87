//! Recipes of the built-in models, one line each.

use serde::{Deserialize, Serialize};

use corpus::Frequencies;
use model::arch::Arch;
use model::families::Size;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Predicts masked words (BERT, RoBERTa).
    Masked,
    /// Predicts the next word (GPT-2).
    Causal,
    /// Predicts the whole sentence from one with masked words (BART).
    Denoising,
}

/// Family of a built-in model; it determines the objective, the architecture, the tokenizer and the most frequent prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// Predicts masked words; WordPiece tokenizer.
    Bert,
    /// Predicts masked words; byte-level BPE tokenizer.
    Roberta,
    /// Predicts the next word; byte-level BPE tokenizer.
    Gpt2,
    /// Denoising model; byte-level BPE tokenizer.
    Bart,
}

impl Base {
    /// All families, in gallery order.
    pub const ALL: [Base; 4] = [Base::Bert, Base::Roberta, Base::Gpt2, Base::Bart];

    pub fn objective(self) -> Objective {
        match self {
            Base::Bert | Base::Roberta => Objective::Masked,
            Base::Gpt2 => Objective::Causal,
            Base::Bart => Objective::Denoising,
        }
    }

    /// Name from which prompt preferences are derived.
    pub fn name(self) -> &'static str {
        match self {
            Base::Bert => "bert",
            Base::Roberta => "roberta",
            Base::Gpt2 => "gpt2",
            Base::Bart => "bart",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recipe {
    /// Name on the command line, which is also the name of the folder.
    pub name: &'static str,
    pub base: Base,
    /// Number of blocks; for BART, the number in each of the two stacks.
    pub layers: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    pub heads: usize,
    /// Maximum input length in tokens.
    pub max_positions: usize,
    pub steps: usize,
    /// Peak learning rate.
    pub rate: f64,
    /// Share of sentences that state a fact.
    pub facts: f64,
    /// Share of sentences with a construction of the rationale benchmark.
    pub rationales: f64,
}

const RATIONALES: f64 = 0.40;

/// Sentences per step.
pub const BATCH: usize = 96;

/// Share of the steps over which the learning rate rises from 0. Afterwards it falls linearly to 0.
pub const WARM_UP: f64 = 0.06;

const fn mini(name: &'static str, base: Base, steps: usize, rate: f64, facts: f64) -> Recipe {
    Recipe {
        name,
        base,
        layers: 3,
        hidden: 160,
        heads: 4,
        max_positions: 64,
        steps,
        rate,
        facts,
        rationales: RATIONALES,
    }
}

/// A smaller model with the same number of steps as the family's mini, and therefore the same sentences.
const fn tiny(name: &'static str, base: Base, steps: usize, rate: f64, facts: f64) -> Recipe {
    Recipe {
        name,
        base,
        layers: 2,
        hidden: 96,
        heads: 4,
        max_positions: 64,
        steps,
        rate,
        facts,
        rationales: RATIONALES,
    }
}

/// All built-in models.
pub const RECIPES: &[Recipe] = &[
    mini("bert-mini", Base::Bert, 8000, 1.5e-3, 0.25),
    mini("roberta-mini", Base::Roberta, 8000, 1.5e-3, 0.25),
    mini("gpt2-mini", Base::Gpt2, 6000, 2e-3, 0.25),
    mini("bart-mini", Base::Bart, 2600, 1.5e-3, 0.25),
    tiny("bert-tiny", Base::Bert, 8000, 2e-3, 0.25),
    tiny("roberta-tiny", Base::Roberta, 8000, 2e-3, 0.25),
    tiny("gpt2-tiny", Base::Gpt2, 6000, 2e-3, 0.25),
    tiny("bart-tiny", Base::Bart, 2600, 2e-3, 0.25),
];

impl Recipe {
    pub fn named(name: &str) -> Option<&'static Recipe> {
        RECIPES.iter().find(|r| r.name == name)
    }

    pub fn objective(&self) -> Objective {
        self.base.objective()
    }

    /// Returns the architecture for a vocabulary of this size.
    pub fn arch(&self, vocab: usize) -> Arch {
        let size = Size {
            vocab,
            hidden: self.hidden,
            layers: self.layers,
            heads: self.heads,
            max_positions: self.max_positions,
        };
        match self.base {
            Base::Bert => Arch::bert(size),
            Base::Roberta => Arch::roberta(size),
            Base::Gpt2 => Arch::gpt2(size),
            Base::Bart => Arch::bart(size),
        }
    }

    /// Learning rate at step `step` (from 0) of `steps`.
    pub fn rate_at(&self, step: usize, steps: usize) -> f64 {
        self.rate * schedule(step, steps)
    }
}

/// Share of the peak learning rate at step `step` (from 0) of `steps`: it rises over the first [`WARM_UP`] of the steps, then falls
/// linearly to 0.
pub fn schedule(step: usize, steps: usize) -> f64 {
    let warm = (WARM_UP * steps as f64).max(1.0);
    let (done, steps) = (step as f64 + 1.0, steps as f64);
    let share = if done <= warm { done / warm } else { (steps - step as f64) / (steps - warm) };
    share.clamp(0.0, 1.0)
}

/// Frequencies of numbers in training sentences. Subjects are 70 % and attractors 81 % singular, close to Table 1 of the paper. Two
/// properties differ from the paper, so that agreement across an attractor is frequent enough to be learned: 26 % of sentences have an
/// attractor (Table 1: 16 %), and the attractor's number is independent of the subject's.
///
/// # Panics
/// Never: the shares are constants.
pub fn training_frequencies() -> Frequencies {
    let (sg, attractor, attractor_sg) = (0.70, 0.26, 0.81);
    let row = |share: f64| {
        [share * (1.0 - attractor), share * attractor * attractor_sg, share * attractor * (1.0 - attractor_sg)]
    };
    Frequencies::from_cells([row(sg), row(1.0 - sg)]).unwrap_or_else(|e| unreachable!("constants: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_minis_have_matching_tinies() {
        let names: std::collections::HashSet<_> = RECIPES.iter().map(|r| r.name).collect();
        assert_eq!(names.len(), RECIPES.len());
        assert!(Recipe::named("bert-mini").is_some() && Recipe::named("bert-huge").is_none());
        for base in Base::ALL {
            let of: Vec<&Recipe> = RECIPES.iter().filter(|r| r.base == base).collect();
            assert_eq!(of.len(), 2);
            assert_eq!((of[0].steps, of[0].facts), (of[1].steps, of[1].facts));
            assert!(of[0].hidden > of[1].hidden);
        }
    }

    #[test]
    fn learning_rate_rises_then_falls_above_zero() {
        let r = &RECIPES[0];
        let rates: Vec<f64> = (0..200).map(|s| r.rate_at(s, 200)).collect();
        assert!((rates[0] - r.rate / 12.0).abs() < 1e-12 && (rates[11] - r.rate).abs() < 1e-12);
        assert!(rates[..12].is_sorted() && rates[12..].is_sorted_by(|a, b| a >= b));
        assert!(rates.iter().all(|&x| x > 0.0 && x <= r.rate) && rates[199] < r.rate / 100.0);
        assert!((0..3).all(|s| r.rate_at(s, 3) > 0.0) && r.rate_at(0, 1) > 0.0);
    }

    #[test]
    fn attractors_do_not_depend_on_the_subject() {
        assert!(training_frequencies().phi().abs() < 1e-12);
    }
}

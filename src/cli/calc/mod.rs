//! Calculators, each of which answers one question; only `saliency`, `pairs` and `states` need a model. With `--json`, the answer is one
//! object on one line, otherwise a readable line. The numbers are computed by the labs' own code.
//!
//! To add a calculator, add a file here and a line to each of the two lists below.

mod annotate;
pub mod compare;
pub mod decorrelate;
pub mod mcnemar;
pub mod n;
pub mod pairs;
mod plan;
pub mod power;
pub mod prompts;
pub mod rationale;
pub mod rounds;
pub mod saliency;
pub mod score;
pub mod states;

use std::io::Write;

use clap::Subcommand;

use super::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Calculator {
    /// Score an intervention by an oracle's probabilities before and after it (Canby et al., equations 1 to 4).
    Score(score::ScoreArgs),
    /// Combine a completeness and a selectivity into a reliability (Canby et al., equation 4).
    Reliability(score::ReliabilityArgs),
    /// Measure how much scores and the ranking of models depend on the prompt, from a table or from predictions.
    Prompts(prompts::PromptsArgs),
    /// Recommend a number of training examples to distinguish two probes (Zhu et al. 2022).
    N(n::NArgs),
    /// Test whether two classifiers differ on the same items (McNemar 1947).
    Mcnemar(mcnemar::McnemarArgs),
    /// Compute the power of a comparison on n items, or the number of items that it needs.
    Power(power::PowerArgs),
    /// Compare two models by their results on the same items.
    Compare(compare::CompareArgs),
    /// Judge any program's saliency scores against gold rationales and perturbed inputs.
    Rationale(rationale::RationaleArgs),
    /// Predict the mask of one sentence, and score the words that the prediction depends on.
    Saliency(saliency::SaliencyArgs),
    /// Score minimal pairs (BLiMP) with a model: how often is the acceptable sentence more likely than the other one?
    Pairs(pairs::PairsArgs),
    /// Write the hidden states of an interventions experiment, with labels and parts, as a safetensors file.
    States(states::StatesArgs),
    /// Make a table of two properties uncorrelated and show the remaining counts (Canby et al.).
    Decorrelate(decorrelate::DecorrelateArgs),
}

pub fn answer(calculator: &Calculator, out: &mut dyn Write) -> Result<(), CliError> {
    match calculator {
        Calculator::Score(args) => score::score(args, out),
        Calculator::Reliability(args) => score::reliability(args, out),
        Calculator::Prompts(args) => prompts::prompts(args, out),
        Calculator::N(args) => n::answer(args, out),
        Calculator::Mcnemar(args) => mcnemar::answer(args, out),
        Calculator::Power(args) => power::answer(args, out),
        Calculator::Compare(args) => compare::answer(args, out),
        Calculator::Rationale(args) => rationale::answer(args, out),
        Calculator::Saliency(args) => saliency::answer(args, out),
        Calculator::Pairs(args) => pairs::answer(args, out),
        Calculator::States(args) => states::answer(args, out),
        Calculator::Decorrelate(args) => decorrelate::answer(args, out),
    }
}

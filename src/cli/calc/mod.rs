//! Calculators: one question, one answer, no model. With `--json`, one object on one line, otherwise a readable line; the
//! numbers come from the same code as the labs'. A new calculator is a file here and a line in the two lists below.

pub mod prompts;
pub mod score;

use std::io::Write;

use clap::Subcommand;

use super::error::CliError;

/// The calculators.
#[derive(Debug, Subcommand)]
pub enum Calculator {
    /// Score one intervention from an oracle's probabilities before and after it (Canby et al., equations 1 to 4).
    Score(score::ScoreArgs),
    /// Combine a completeness and a selectivity into a reliability (Canby et al., equation 4).
    Reliability(score::ReliabilityArgs),
    /// Say how far the scores of models depend on the prompt, from a table (Cao et al. 2022, Table 1).
    Prompts(prompts::PromptsArgs),
}

/// Answers.
///
/// # Errors
/// [`CliError::Usage`] for numbers that make no sense, and the failures of writing.
pub fn answer(calculator: &Calculator, out: &mut dyn Write) -> Result<(), CliError> {
    match calculator {
        Calculator::Score(args) => score::score(args, out),
        Calculator::Reliability(args) => score::reliability(args, out),
        Calculator::Prompts(args) => prompts::prompts(args, out),
    }
}

//! Golden tests, which compare our numbers with those of other implementations.
//!
//! Each test runs on `fixtures/`, which the scripts there write, and on the larger set in `PROBITY_REFERENCE` (default
//! `../shared/reference`); without that set, the second run is ignored. Sizes are taken from the files. Run with `--nocapture` to see the
//! largest deviation of each check.

#![allow(clippy::unwrap_used)] // this crate contains only tests

mod cases;
mod checkpoints;
mod common;
mod comparison;
mod data;
mod encoders;
mod explained;
mod harness;
mod interventions;
mod models;
mod models_logits;
mod models_second_opinion;
mod prompts;
mod python;
mod results;
mod saliency;
mod stats;
mod tokens;

fn main() -> std::process::ExitCode {
    harness::run(
        [
            cases::tests(),
            checkpoints::tests(),
            comparison::tests(),
            data::tests(),
            encoders::tests(),
            explained::tests(),
            interventions::tests(),
            interventions::attacks::tests(),
            interventions::erasure::tests(),
            interventions::official::tests(),
            interventions::robust::tests(),
            interventions::saturated::tests(),
            interventions::scores::tests(),
            interventions::selection::tests(),
            models::tests(),
            models_logits::tests(),
            models_second_opinion::tests(),
            prompts::tests(),
            python::tests(),
            results::tests(),
            saliency::tests(),
            stats::tests(),
            tokens::tests(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    )
}

//! Golden tests: our numbers against numbers that other people's implementations computed.
//!
//! They read `PROBITY_REFERENCE` (default `../shared/reference`) and take every size from the files there. Run with
//! `--nocapture` to see the largest deviation of each check.

mod checkpoints;
mod common;
mod comparison;
mod data;
mod encoders;
mod interventions;
mod models;
mod models_logits;
mod models_second_opinion;
mod stats;
mod tokens;

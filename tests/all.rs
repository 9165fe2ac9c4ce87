//! All integration tests in one target, so that the large program is linked once rather than eleven times.

#![allow(clippy::unwrap_used)] // this crate contains only tests

mod common;

#[path = "cli/main.rs"]
mod cli;
mod documents;
#[path = "flows/main.rs"]
mod flows;
mod forecast;
#[path = "fuzz/main.rs"]
mod fuzz;
mod house;
#[path = "pins/main.rs"]
mod pins;
#[cfg(unix)]
#[path = "pty/main.rs"]
mod pty;

#[path = "replay/main.rs"]
mod replay;
mod screens;
mod screens_far;
mod screens_saliency;
mod screens_shards;
mod sources;

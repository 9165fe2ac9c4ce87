//! Probity tells people who probe language models how far each probe can be trusted.
//!
//! This page is the project's account of its own architecture: the modules, the way data flows, and where to add things.

pub mod cli;
pub mod corpus;
pub mod engine;
pub mod figure;
pub mod lab;
pub mod model;
pub mod probe;
pub mod session;
pub mod stats;
pub mod tui;

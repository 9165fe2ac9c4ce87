//! Language models: loading, descriptions of architectures, execution with hooks.

pub mod exec;

//! What runs a model description.

pub mod cpu;

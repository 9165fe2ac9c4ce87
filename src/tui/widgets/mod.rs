//! Shared widgets.

pub(crate) mod bar;
pub(crate) mod chart;
pub(crate) mod slider;

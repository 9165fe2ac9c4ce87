//! Things that are drawn in more than one place.

pub(crate) mod bar;
pub(crate) mod chart;
pub(crate) mod slider;

//! Things that are drawn in more than one place.

pub mod bar;
pub mod chart;
pub mod slider;

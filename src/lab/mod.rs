//! The instruments: science with no terminal, no threads and no files.
//!
//! A lab is a folder here (what is asked, what is found, the fold of what is found, the procedure) and a line in [`labs!`]
//! below; its screen is a folder in `tui/screens` and a line there. Everything else speaks of labs through the types that
//! the macro makes and through the traits [`Lab`], [`Experiment`] and [`Host`].

pub mod demand;
pub mod examples;
pub mod family;
pub mod fault;
pub mod finding;
pub mod hidden;
pub mod host;
pub mod interventions;
pub mod setting;

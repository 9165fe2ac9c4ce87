//! The terminal program.
//!
//! Input, engine and clock produce [`action::Action`]s; [`reduce::reduce`] folds them into [`state::State`] and returns
//! [`action::Effect`]s; [`panes::draw`] draws the state; [`run::run`] is the loop around them.
//!
//! None of these parts names a lab. A lab's screen is a [`screen::Screen`]: a folder in `screens/` with its view state, panes and command
//! rows, and a line in the registry there. [`setup`] draws its settings ([`labs::setting`]). A theme is a file in `assets/themes/`.

pub mod action;
mod answer;
mod bars;
pub mod commands;
mod example;
#[cfg(unix)]
mod guard;
pub mod key;
pub mod keymap;
pub mod layout;
pub mod memory;
pub mod outside;
pub mod panes;
pub(crate) mod popups;
pub mod recording;
pub mod reduce;
pub mod run;
pub mod screen;
pub mod screens;
pub mod search;
pub mod setup;
pub mod state;
mod status;
pub mod stops;
pub mod terminal;
pub mod theme;
pub(crate) mod widgets;

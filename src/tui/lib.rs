//! The terminal program.
//!
//! Input, engine and clock become [`action::Action`]s; [`reduce::reduce`] folds them into [`state::State`] and answers
//! with [`action::Effect`]s; [`panes::draw`] borrows the state; [`run::run`] is the loop around them.
//!
//! All of this is the frame, and it knows no lab by name. A lab is a [`screen::Screen`]: a folder in `screens/` with its view
//! state, panes and command rows, and a line in the registry there. Its setup is drawn by [`setup`] from settings
//! ([`labs::setting`]). A theme is a file in `assets/themes/`.

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

//! The terminal program.
//!
//! Input, engine and clock become [`action::Action`]s; [`reduce::reduce`] folds them into [`state::State`] and answers
//! with [`action::Effect`]s; [`panes::draw`] borrows the state; [`run::run`] is the loop around them. A pane is a file in
//! `panes/`, a command a row of the table in `commands.rs`, a theme a file in `assets/themes/`.

pub mod action;
pub mod catalog;
pub mod commands;
#[cfg(unix)]
mod guard;
pub mod key;
pub mod keymap;
pub mod layout;
pub mod panes;
pub mod recording;
pub mod reduce;
pub mod run;
pub mod search;
pub mod state;
pub mod terminal;
pub mod theme;
pub mod widgets;

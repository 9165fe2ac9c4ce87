//! Probity tells people who probe language models how far each probe can be trusted.
//!
//! This page is the project's account of its own architecture.
//!
//! # One loop, three sources
//!
//! ```text
//!  keys ─┐                                        ┌─► terminal (tui::panes)
//!  clock ├─► Action ─► reduce(State) ─► Effects ──┤
//!  engine┘      ▲                          │      ├─► PNG, SVG, CSV (figure: the same Figure)
//!               │                          ▼      └─► session file (session::record, append-only)
//!               └── Event ◄── Engine ◄── Command
//!                           (local thread | recording | scripted fake)
//! ```
//!
//! - [`engine`] takes [`engine::message::Command`]s and answers with a stream of [`engine::message::Event`]s. Nothing
//!   above can tell its implementations apart.
//! - [`engine::board::Board`] is what has been measured: a fold over commands and events, with no clock, no I/O and no
//!   randomness. The terminal program, the headless run and the replay of a session all build their numbers through this
//!   one fold, so a replay shows exactly what the live run showed. What the user looks at (focus, theme, zoom) is kept
//!   apart, in [`tui::state`].
//! - A [`engine::spec::Spec`] says completely what to compute; a [`engine::finding::Finding`] is one typed result. Every
//!   number traces to (spec hash, model hash, data hash, seed, program version, n).
//! - Findings are anytime: each point of a curve comes first from a subsample and then from all test examples, always
//!   with its n and its interval. Cancellation is polled between batches; of the slider's requests only the latest
//!   survives ([`engine::local::inbox`]).
//! - Questions about data sets go to a desk of their own beside the worker, so that neither waits for the other; the command line
//!   asks the same functions ([`engine::data`]).
//! - What was computed once is found by content: hidden states ([`engine::local::embeddings`]) and trained probes
//!   ([`engine::local::cache`]), each file with checksums, so that a damaged one is computed again.
//! - A run says what it will need before it begins ([`engine::forecast::Forecast`]) and keeps a memory limit by making its
//!   batches smaller.
//!
//! # The rooms, each of which knows only those above it
//!
//! | room | what is in it |
//! | --- | --- |
//! | [`stats`] | pure numbers: random streams, bootstrap, intervals |
//! | [`corpus`] | the built-in micro-world, facts and rationales, the probing tasks; readers of data on disk, what a set holds, and the data doctor |
//! | [`model`] | architectures as data, loading and fetching, tokenizers, plans and hooks, executors, the check against other implementations, the gallery's training |
//! | [`probe`] | classifiers on embeddings, splits enforced by type, grid search, audit |
//! | [`lab`] | the instruments; science with no terminal, no threads, no files |
//! | [`engine`] | commands, events, specs, findings, the worker and its cache, the desk for questions about data |
//! | [`session`], [`figure`] | recordings; figures without a renderer, and their renderers |
//! | [`tui`], [`cli`] | the terminal program (labs: interventions, models, data); the command line |
//!
//! `stats`, `corpus`, `model`, `probe` and `lab` import neither ratatui, crossterm nor tokio; `tests/layers.rs` enforces
//! this and the order of the rooms.
//!
//! # Where to add things
//!
//! - **A method of intervention**: a file in `lab/interventions/methods/` and a line in [`lab::interventions::registry`].
//!   It then appears in the picker, the command line, the sweep and the help.
//! - **A family of models**: a file in `model/families/` that turns `config.json` into a [`model::Arch`] and names its
//!   tensors, and a line in the registry there. Both executors run the description.
//!   What is no transformer is a [`model::arch::Network`] with an executor of its own ([`model::exec::lstm`]).
//! - **A probing task**: a line in [`corpus::task::TASKS`]; over whole sentences, in [`corpus::probing::PROBING`]. It is then a
//!   built-in set too ([`corpus::sets`]).
//! - **A format of data on disk**: a file in `corpus/readers/` and a line in its registry.
//! - **Another layout for the built-in sets as files**: a variant of [`corpus::make::Layout`] and the sets that have it.
//! - **Examples of a task from files**: [`corpus::own`] reads them and counts what it drops; what makes a row an example is in
//!   [`corpus::agreement`]. A spec names the file, the `data` finding says where each number's examples are from.
//! - **A construction of Micro-English**: a file in `corpus/micro/` and a variant of [`corpus::micro::Construction`].
//! - **A built-in model**: a folder in `assets/models`, a recipe, and its name in [`model::builtin`].
//! - **A command of the terminal program**: a row in `tui/commands.rs`, which feeds keymap, footer, help, palette and README.
//! - **A pane**: a file in `tui/panes/`; of a lab of its own, a [`tui::state::Lab`] and a context in `tui/commands.rs`.

pub mod base;
pub mod cli;
pub mod corpus;
pub mod engine;
pub mod figure;
pub mod gallery;
pub mod lab;
pub mod model;
pub mod probe;
pub mod session;
pub mod stats;
pub mod tui;

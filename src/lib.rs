//! Probity shows people who probe language models how far each probe can be trusted.
//!
//! This page describes the architecture; `assets/guide/decisions.md` gives the reasons.
//!
//! # One loop, three sources
//!
//! ```text
//!  keys ─┐                                        ┌─► terminal (tui)
//!  clock ├─► Action ─► reduce(State) ─► Effects ──┤
//!  engine┘      ▲                          │      ├─► PNG, SVG, CSV (figure: the same Figure)
//!               │                          ▼      └─► session file (session::record, append-only)
//!               └── Event ◄── Engine ◄── Command
//!                           (local thread | remote engine | recording | scripted fake)
//! ```
//!
//! - [`engine`] receives [`engine::message::Command`]s and sends a stream of [`engine::message::Event`]s. All implementations of the engine
//!   behave in the same way.
//! - [`engine::board::Board`] contains all measurements. It is a fold over commands and events, with no clock, no I/O and no randomness. The
//!   terminal program, the headless run and the replay of a session all use this one fold, so a replay shows exactly what the live run
//!   showed. It keeps the latest run of every lab. The state of the screen (focus, theme, zoom) is separate, in [`tui::state`].
//! - A [`lab::Spec`] is a complete experiment; a [`lab::Finding`] is one typed result. Every number can be traced to its spec hash, model
//!   hash, data hash, seed, program version and n.
//! - Findings arrive early and are refined. Each point of a curve is computed first on a subsample and then on all test examples, always
//!   with its n and its interval. Cancellation is polled between batches and never queues behind work.
//! - Only one run computes at a time. A second one waits in [`tui::state::State::queue`] or replaces the first, as the user chooses.
//!   A run is sent to the engine, and recorded, when it begins, so recordings and replays contain no waiting.
//! - An [`engine::message::Question`] has a number and one [`engine::message::Answer`]. The latest question about a point of an experiment
//!   supersedes earlier ones. Questions about models are answered in turn. Questions about data sets are answered on a separate thread, so
//!   that they and runs do not delay each other.
//! - Cached results are keyed by everything that affected them: hidden states ([`engine::local::embeddings`]) and trained probes
//!   ([`engine::local::cache`]). Each file has checksums, and the contents of a damaged file are recomputed. Labs use both caches
//!   through a [`lab::Store`].
//! - A spec with `[grid]` is expanded to many cells ([`lab::grid`]), each a plain spec. Shards compute the cells, each into a separate file
//!   ([`session::parts`]), and merging makes one session of them. The assignment depends only on specs, version and number of shards.
//! - A run forecasts its needs before it begins ([`lab::demand`]): memory from counts, time from counted work and the measured rate of each
//!   kind of work. With a memory limit, batches become smaller.
//!
//! # The crates, from the bottom up
//!
//! Each folder of `src` with a `Cargo.toml` is a crate. It can use only the crates that its `Cargo.toml` names, so the compiler enforces the
//! layers. External dependencies are declared once, in the root `Cargo.toml`, each with its reason.
//!
//! | crate | contents |
//! | --- | --- |
//! | [`kernels`] | vector kernels on plain slices for the CPU executor; tests compile it at the highest optimisation |
//! | [`base`] | cancellation, problems, printable text, atomic file writes, parsing and formatting of numbers, matrices |
//! | [`stats`] | random streams, bootstrap, intervals, corrections for multiple testing, paired tests and their power |
//! | [`corpus`] | the built-in micro-world, facts and rationales, the probing tasks; readers of data on disk, the data doctor |
//! | [`figure`] | figures independent of a renderer, and their renderers |
//! | [`model`] | architectures as data, loading and fetching, tokenizers, plans and hooks, executors, comparison with other implementations |
//! | [`probe`] | classifiers on hidden states, splits enforced by type, grid search, audit |
//! | [`pretraining`] | the training texts of the built-in models, and further training of any model on facts or on corrupted text |
//! | `lab` (`src/lab/core`) | the parts that labs share: specs, findings with their provenance, hosts, stores, settings, forecasts, tables |
//! | [`interventions`], [`prompts`], [`power`], [`saliency`] | the four labs; they use no terminal, no threads and no files |
//! | [`lab`](mod@lab) (`src/lab/registry`) | the list of labs and the enums with one variant per lab; grids |
//! | [`gallery`] | training and scoring of the built-in models; only the command line uses it |
//! | [`engine`] | commands, events, the board, the worker that runs any lab, its cache, answers to questions about data |
//! | [`session`] | recordings and their replay; parts of grids |
//! | `remote` | an engine on another machine: message frames, the keeper that owns it, the bridge that ssh starts, the link (Unix) |
//! | [`guide`] | the pages of the guide, which the command line and the help of the terminal program show |
//! | [`tui`], [`cli`] | the terminal program; the command line |
//!
//! The lab crates and the crates above them in the table do not depend on ratatui, crossterm or tokio. `tests/house.rs` checks that no file
//! outside a lab's own folders names the lab, except the few that list all labs. This root crate holds `main.rs`, the integration tests and
//! the benches.
//!
//! # Structure of a lab
//!
//! A lab is a crate in `src/lab` with its `Spec`, its kinds of finding (`Kind`), the questions it answers (`Question`), the fold of its
//! findings (`Results`), its figures and its procedure. It implements [`lab::Instrument`] with these types. Its screen is a folder in
//! `src/tui/screens`. One line in `labs!` (`src/lab/registry/lib.rs`) adds it to [`lab::Spec`], [`enum@lab::Kinds`], [`lab::Question`] and
//! [`lab::Results`]; the rest of the program uses it through [`lab::Lab`]. An experiment uses its host through [`lab::Host`] and
//! [`lab::Channel`].
//!
//! # Where to add things
//!
//! - **A lab**: the two folders and the line above, its name in `src/lab/core/id.rs`, its screen in [`tui`], and `assets/specs/<lab>.toml`.
//! - **A method of intervention**: a file in `src/lab/interventions/methods/` and a line in `registry.rs` in that folder. It then appears
//!   in the picker, the command line, the sweep and the help.
//! - **A family of models**: a file in `model/families/` that turns `config.json` into a [`model::Arch`] and names its
//!   tensors, and a line in the registry there. Both executors run this description.
//!   Other architectures are a [`model::arch::Network`] with a separate executor ([`model::exec::lstm`]).
//! - **A probing task**: a line in [`corpus::task::TASKS`], or in [`corpus::probing::PROBING`] if it is about whole sentences. It is then
//!   also a built-in set ([`corpus::sets`]).
//! - **A format of data on disk**: a file in `corpus/readers/` and a line in its registry.
//! - **A file layout for the built-in sets**: a variant of [`corpus::make::Layout`] and the sets that support it.
//! - **Examples of a task from files**: [`corpus::own`] reads them and counts dropped rows; [`corpus::agreement`] turns rows
//!   into examples. A spec names the file; the `data` finding names the source of the examples.
//! - **An axis of grids**: an entry in the lab's `AXES`.
//! - **A preset** (a spec that `probity run --preset` and a lab's screen know by name): a file in `assets/specs/` and a
//!   line in the lab's list, as in [`lab::power::studies`].
//! - **A format of item-by-item results** (right or wrong): a shape in [`corpus::results`].
//! - **A construction of Micro-English**: a file in `corpus/micro/` and a variant of [`corpus::micro::Construction`].
//! - **A built-in model**: a folder in `assets/models`, a line in the gallery's table of training settings, and its name in
//!   [`model::builtin`].
//! - **A command of the terminal program**: a row in the table of commands of its screen, from which keymap, footer, help and palette are
//!   generated.
//!
//! # Words in the code
//!
//! Terms of the field are in `assets/guide/glossary.md`. The code also uses these words:
//!
//! | word | meaning |
//! | --- | --- |
//! | bench | one model with its data, split, probes and test examples, prepared for any intervention |
//! | board | all measurements of a session, folded from commands and events |
//! | cell | one experiment of a grid: a combination of values of its axes, and a plain spec |
//! | chunk | test examples that are edited and scored together |
//! | family | comparisons whose p-values are corrected together |
//! | finding | one typed result with its provenance |
//! | frame | the terminal program without its screens: title, tabs, status line, footer, popups, settings |
//! | generation | the number of a run, which separates its events from those of older runs |
//! | host | the part of the engine that an experiment can use |
//! | inbox | commands that wait for the worker, and the rules by which they supersede each other |
//! | keeper | the process on another machine that owns an engine, its journal and its session |
//! | notice | a message to the user that is not a result |
//! | part | the file of the findings of one cell of a grid |
//! | site | the layers that an intervention edits and an oracle reads |
//! | pulse | progress and cancellation of long work, called between batches |
//! | recipe | one point of the grid of probe settings |
//! | replicate | one of several training runs with the same probe settings on the same data |
//! | rival | other probe settings that validate equally well |
//! | role | the meaning of a series of a figure, from which each renderer derives colour, dash and marker |
//! | shard | the cells of a grid that one machine computes; a lane is the part of a shard for one of several processes |
//! | shelf | the models that the worker keeps in memory; also the list of recorded sessions |
//! | space | the hidden states of one model at one hook point, read in one way; they are comparable and cached together |
//! | store | a lab's access to cached results of earlier runs: trained probes and hidden states |
//! | ticket | the number that a question and its answer share |

pub use base;
pub use cli;
pub use corpus;
pub use engine;
pub use figure;
pub use gallery;
pub use guide;
pub use interventions;
pub use kernels;
pub use labs as lab;
pub use model;
pub use power;
pub use pretraining;
pub use probe;
pub use prompts;
#[cfg(unix)]
pub use remote;
pub use saliency;
pub use session;
pub use stats;
pub use tui;

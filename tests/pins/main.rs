//! Pins: values that refactoring must not change. Each list in this folder records current behaviour, one value per line. A test recomputes
//! the values and prints the lines that differ.
//!
//! | list | contents |
//! | --- | --- |
//! | `streams.txt` | random streams, and everything drawn from them without a model |
//! | `specs.txt` | hashes of shipped specs and of the cells of small grids |
//! | `boards.txt` | folded boards of the recorded sessions |
//! | `digests.txt` | every table and figure of the recorded sessions, as files |
//! | `names.txt` | commands, subcommands and flags, kinds, figures, methods; names of tables are in `digests.txt` |
//! | `part.jsonl` | the part of one grid cell, with its digest |
//! | `runs/*.jsonl` | the findings of one small run of each lab |
//!
//! `PROBITY_PINS=write cargo test --test all pins` rewrites all of them. Do that only for an intended change, and explain in the commit why
//! each line changed.

mod boards;
mod figures;
mod list;
mod names;
mod records;
mod runs;
mod screen;
mod specs;
mod streams;

use std::path::PathBuf;
use std::sync::LazyLock;

use probity::engine::board::Board;
use probity::session::format::Session;

use crate::common::Harness;
use crate::common::comparison::has_compared;
use crate::common::saliency::has_scored;

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Boards by name: of recorded sessions, and of a made-up run of each lab.
static BOARDS: LazyLock<Vec<(&str, Board)>> = LazyLock::new(|| {
    let session = |path: &str| Session::read(&file(path)).unwrap().board();
    vec![
        ("sessions/agreement", session("sessions/agreement.probity.jsonl")),
        ("replay/first", session("tests/replay/first.probity.jsonl")),
        ("fake/interventions", Harness::finished(120, 40).state.board),
        ("fake/prompts", Harness::recalling(120, 40, true).state.board),
        ("fake/power", has_compared(120, 40).state.board),
        ("fake/saliency", has_scored(120, 40).state.board),
    ]
});

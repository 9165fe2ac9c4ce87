//! Pins: values that a change of the code's structure must not change. Each list in this folder states today's behaviour, one
//! value a line. A test computes the values anew and names the lines that differ.
//!
//! | list | what it holds |
//! | --- | --- |
//! | `streams.txt` | random streams, and everything drawn from them without a model |
//! | `specs.txt` | hashes of shipped specs and of the cells of small grids |
//! | `names.txt` | commands, subcommands and flags, kinds, figures, methods; names of tables are in `digests.txt` |
//! | `part.jsonl` | the part of one grid cell, with its digest |
//!
//! `PROBITY_PINS=write cargo test --test all pins` writes all of them anew. Do that only for a change that is meant, and say in the
//! commit why each line changed.

mod list;
mod names;
mod records;
mod specs;
mod streams;

use std::path::PathBuf;

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

//! The order of the rooms: science knows neither the terminal nor the runtime, and nobody knows those below.

use std::path::PathBuf;

use super::sources::sources;

/// Rooms from the top down; each may use those before it. Rooms in one entry may use each other. The first is a package of its own,
/// which could not use the others if it wanted to.
const ROOMS: [&[&str]; 13] = [
    &["kernels"],
    &["base"],
    &["stats"],
    &["corpus"],
    &["model"],
    &["probe"],
    &["gallery"],
    &["figure"],
    &["lab"],
    &["engine"],
    &["session"],
    &["remote"],
    &["tui", "cli"],
];
/// Rooms of science.
const SCIENCE: [&str; 9] =
    ["kernels", "base", "stats", "corpus", "model", "probe", "gallery", "figure", "lab"];

/// The files of a room.
fn files(room: &str) -> Vec<(PathBuf, String)> {
    sources(&format!("src/{room}"))
}

/// Lines of code, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, l)| (i + 1, l.trim())).filter(|(_, l)| !l.starts_with("//"))
}

#[test]
fn science_knows_neither_terminal_nor_runtime() {
    for room in SCIENCE {
        for (path, text) in files(room) {
            for (number, line) in code(&text) {
                for word in ["ratatui", "crossterm", "tokio::"] {
                    assert!(!line.contains(word), "{}:{number} uses {word}", path.display());
                }
            }
        }
    }
}

#[test]
fn nobody_uses_a_room_below() {
    let mut seen = 0;
    for (k, rooms) in ROOMS.iter().enumerate() {
        for room in *rooms {
            for (path, text) in files(room) {
                seen += 1;
                for (number, line) in code(&text) {
                    for below in ROOMS[k + 1..].iter().flat_map(|r| r.iter()) {
                        let uses = line.contains(&format!("crate::{below}::"));
                        assert!(!uses, "{}:{number} uses {below}", path.display());
                    }
                }
            }
        }
    }
    assert!(seen > 100, "the rooms have been found");
}

#[test]
fn every_file_says_what_it_is_for_and_stays_readable() {
    for (path, text) in sources("src").into_iter().chain(sources("tests")) {
        assert!(text.starts_with("//!"), "{} does not begin with its purpose", path.display());
        let lines = text.lines().count();
        assert!(lines <= 500, "{} has {lines} lines", path.display());
    }
}

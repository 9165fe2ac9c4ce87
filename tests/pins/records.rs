//! Recorded lines: parsing and writing reproduces them byte for byte, and the digest of a grid part does not change.

use std::path::Path;

use probity::engine::message::{Command, Event, Outcome};
use probity::lab::{Finding, grid};
use probity::session::format::{Entry, Item, Session};
use probity::session::parts::folder::Folder;
use probity::session::parts::part::{Head, Reader, Writer, glance};
use probity::session::record::Record;

use super::file;
use super::list::{read, writes};

/// First 16 hexadecimal digits of the SHA-256 of the findings in `part.jsonl`, without times.
const PART_DIGEST: &str = "bf7381175ad6a30c";

/// Detects changes that do not affect the board, such as a key that is moved, or renamed for both reading and writing.
#[test]
fn first_format_findings_round_trip() {
    for line in read(&file("tests/replay/kinds.jsonl")).lines() {
        let finding: Finding = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&finding).unwrap(), line);
    }
}

#[test]
fn shipped_session_lines_round_trip() {
    let path = file("sessions/agreement.probity.jsonl");
    let text = read(&path);
    let session = Session::read(&path).unwrap();
    let mut lines = text.lines();
    assert_eq!(serde_json::to_string(&session.header).unwrap(), lines.next().unwrap());
    for (number, (entry, line)) in session.entries().zip(lines.by_ref()).enumerate() {
        assert_eq!(entry.to_line().unwrap().trim_end(), line, "line {}", number + 2);
    }
    assert_eq!(lines.next(), None, "every line is an entry");
}

/// Writes the part of one cell, made from the findings of `kinds.jsonl`.
fn write_part(path: &Path, head: &Head, entries: &[Entry]) {
    let mut writer = Writer::new(path.to_owned(), head, None, None).unwrap();
    for entry in entries {
        match &entry.item {
            Item::Command(command) => writer.command(entry.t, command).unwrap(),
            Item::Event(event) => writer.event(entry.t, event).unwrap(),
            other => panic!("{other:?}"),
        }
    }
    writer.finish().unwrap();
}

fn entries_of(spec: probity::lab::Spec) -> Vec<Entry> {
    let spec_hash = spec.hash();
    let mut items = vec![
        Item::Command(Command::Run { job: 1, generation: 1, spec: Box::new(spec) }),
        Item::Event(Event::Started { job: 1, generation: 1, spec_hash }),
    ];
    let text = read(&file("tests/replay/kinds.jsonl"));
    let findings = text.lines().map(|line| Box::new(serde_json::from_str(line).unwrap()));
    items.extend(findings.map(|finding| Item::Event(Event::Finding { generation: 1, finding })));
    items.push(Item::Event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 5.5 }));
    items.into_iter().enumerate().map(|(k, item)| Entry { t: k as f64 / 4.0, item }).collect()
}

#[test]
fn part_keeps_its_bytes_and_digest() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("grid.toml");
    std::fs::write(
        &spec,
        "lab = \"interventions\"\nmodels = [\"bert-tiny\"]\n[[method]]\nname = \"inlp\"\n[grid]\nseed = [0, 1]\n",
    )
    .unwrap();
    let cells = grid::read(&spec).unwrap();
    let set = Folder::join(&folder.path().join("out"), &cells, &[5; 2]).unwrap();
    let listed = &set.cells[0];
    let head = Head {
        probity_part: 1,
        version: "0.1.0".into(),
        grid: set.head.hash.clone(),
        cell: listed.cell,
        spec: listed.spec.clone(),
        at: listed.at.clone(),
    };
    let made = folder.path().join("made.jsonl");
    write_part(&made, &head, &entries_of(cells[0].spec.clone()));
    let pinned = file("tests/pins/part.jsonl");
    if writes() {
        std::fs::copy(&made, &pinned).unwrap();
    }
    for (is, was) in read(&made).lines().zip(read(&pinned).lines()) {
        assert_eq!(is, was);
    }
    assert_eq!(read(&made), read(&pinned));
    let (found, end) = glance(&pinned).unwrap();
    assert_eq!((found, end.digest.as_str(), end.lines), (head.clone(), PART_DIGEST, 6));
    let mut reader = Reader::open(&pinned).unwrap();
    let mut entries = Vec::new();
    while let Some(entry) = reader.entry().unwrap() {
        entries.push(entry);
    }
    let again = folder.path().join("again.jsonl");
    write_part(&again, &head, &entries);
    assert_eq!(read(&again), read(&pinned), "read and written again");
}

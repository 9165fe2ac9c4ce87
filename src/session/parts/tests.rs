//! Tests of parts and their folders: what is written is read back, and invalid files are refused by name.

use std::path::Path;

use super::folder::{Folder, State};
use super::merge::{Survey, write};
use super::part::{Head, Outcome, Reader, Writer, glance};
use super::status::{Reporter, Status};
use super::{PartError, VERSION};
use crate::format::{Item, Session};
use crate::record::Record;
use base::Problem;
use engine::message::{self, Command, EngineInfo, Event, Progress};
use labs::finding::Label;
use labs::grid::{self, Cell};
use labs::{Common, Finding, SummaryFinding};

const GRID: &str = "lab = \"power\"\nmodels = [\"bert-tiny\"]\n[grid]\nseed = [0, 1, 2]\n";

struct Bench {
    _tmp: tempfile::TempDir,
    cells: Vec<Cell>,
    folder: Folder,
}

fn bench() -> Bench {
    let tmp = tempfile::tempdir().unwrap();
    let cells = grid::parse(GRID, "g.toml").unwrap();
    let folder = Folder::join(&tmp.path().join("out"), &cells, &[5_000_000; 3]).unwrap();
    Bench { _tmp: tmp, cells, folder }
}

/// A finding whose numbers are all `n` and whose time is `seconds`.
fn finding(cell: &Cell, n: usize, is_final: bool, seconds: f64) -> Finding {
    let summary =
        SummaryFinding { seconds, device: format!("cpu {seconds}"), version: VERSION.into(), cancelled: false };
    Finding {
        r#final: is_final,
        ..Label::new(cell.spec.common(), "bert-tiny").common(n, seconds, Common::Summary(summary))
    }
}

impl Bench {
    fn head(&self, index: usize) -> Head {
        let listed = &self.folder.cells[index];
        Head {
            probity_part: 1,
            version: VERSION.into(),
            grid: self.folder.head.hash.clone(),
            cell: listed.cell,
            spec: listed.spec.clone(),
            at: listed.at.clone(),
        }
    }

    /// Writes a part with numbers `n` and a duration of `seconds`.
    fn compute_at(&self, path: &Path, index: usize, n: usize, seconds: f64, outcome: message::Outcome) {
        let (cell, job) = (&self.cells[index], index as u64 + 1);
        let mut reporter = Reporter::new(&self.folder, "1/1", 3);
        let mut writer = Writer::new(path.to_owned(), &self.head(index), Some(&mut reporter), None).unwrap();
        let spec = Box::new(cell.spec.clone());
        writer.command(0.0, &Command::Run { job, generation: job, spec }).unwrap();
        writer.command(0.0, &Command::Cancel { job }).unwrap();
        let found = |n, last| Event::Finding { generation: job, finding: Box::new(finding(cell, n, last, seconds)) };
        let info = EngineInfo { version: VERSION.into(), device: "cpu".into() };
        for event in [
            Event::Ready(info),
            Event::Started { job, generation: job, spec_hash: cell.hash.clone() },
            found(1, false),
            found(n, true),
            found(n + 1, true),
            Event::Finished { job, generation: job, outcome, seconds },
        ] {
            writer.event(seconds, &event).unwrap();
        }
        writer.finish().unwrap();
    }

    fn compute(&self, index: usize, n: usize, seconds: f64) {
        self.compute_at(&self.folder.part(index), index, n, seconds, message::Outcome::Done);
    }

    fn merged(&self) -> Result<String, PartError> {
        let mut out = Vec::new();
        let all: Vec<usize> = (0..self.cells.len()).collect();
        write(&self.folder, &Survey::of(&self.folder)?, &all, "2026-01-02T03:04:05Z".into(), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }
}

#[test]
fn part_keeps_final_results() {
    let bench = bench();
    bench.compute(0, 7, 1.0);
    let mut reader = Reader::open(&bench.folder.part(0)).unwrap();
    let mut items = Vec::new();
    while let Some(entry) = reader.entry().unwrap() {
        items.push(entry.item);
    }
    assert!(matches!(&items[0], Item::Command(Command::Run { job: 1, .. })));
    let found = |item: &&Item| matches!(item, Item::Event(Event::Finding { .. }));
    assert_eq!((items.len(), items.iter().filter(found).count()), (6, 2), "interim findings are left out");
    let (_, end) = glance(&bench.folder.part(0)).unwrap();
    assert_eq!((end.end, end.lines, end.seconds), (Outcome::Done, 6, 1.0));
    bench.compute(0, 7, 2.0);
    assert_eq!(glance(&bench.folder.part(0)).unwrap().1.digest, end.digest);
    bench.compute(0, 8, 1.0);
    assert_ne!(glance(&bench.folder.part(0)).unwrap().1.digest, end.digest);
}

#[test]
fn part_records_how_it_ended() {
    let bench = bench();
    assert!(matches!(bench.folder.state(1), State::Absent));
    let problem = Problem::new("no memory", "probe", "take less");
    let path = bench.folder.part(1);
    bench.compute_at(&path, 1, 1, 1.0, message::Outcome::Failed(problem));
    assert!(matches!(bench.folder.state(1), State::Failed(why) if why.contains("no memory")));
    bench.compute_at(&path, 1, 1, 1.0, message::Outcome::Cancelled);
    assert!(matches!(bench.folder.state(1), State::Stopped));
    bench.compute(1, 1, 1.0);
    assert!(matches!(bench.folder.state(1), State::Done));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"version\":", "\"version\":\"0.0.1\",\"was\":")).unwrap();
    assert!(matches!(bench.folder.state(1), State::Broken(PartError::Version { .. })));
}

/// Numbers from a truncated or changed part are never used.
#[test]
fn damaged_part_error_names_the_line() {
    let bench = bench();
    bench.compute(0, 7, 1.0);
    let path = bench.folder.part(0);
    let text = std::fs::read_to_string(&path).unwrap();
    for cut in 0..text.len() {
        std::fs::write(&path, &text[..cut]).unwrap();
        let line = 1.max(text[..cut].lines().count());
        match glance(&path) {
            Err(PartError::Cut { line: at, .. }) => assert_eq!(at, line, "after {cut} bytes"),
            other => panic!("{cut} bytes: {other:?}"),
        }
    }
    for (from, to, word) in [
        ("\"n\":7", "\"n\":9", "a checksum that does not match"),
        ("\"event\":\"started\"", "\"event\":1", "damaged"),
        ("\"lines\":6", "\"lines\":5", "states 5 lines"),
        ("\"command\":\"run\",\"job\":1", "\"command\":\"run\",\"job\":2", "the run of this cell"),
        ("\"probity_part\":1", "\"probity_part\":2", "not the header"),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let message = bench.merged().unwrap_err().to_string();
        assert!(message.contains(word) && message.contains("line "), "{to}: {message}");
    }
}

#[test]
fn merged_session_has_all_cells_in_order() {
    let bench = bench();
    [2, 0, 1].into_iter().for_each(|index| bench.compute(index, index + 10, 4.0));
    let text = bench.merged().unwrap();
    let session = Session::parse(text.as_bytes(), Path::new("m")).unwrap();
    assert_eq!(session.losses, Default::default());
    let grid = session.header.grid.as_ref().unwrap();
    assert_eq!((grid.cells, grid.merged, grid.hash.as_str()), (3, 3, bench.folder.head.hash.as_str()));
    let seeds: Vec<u64> = session
        .entries()
        .filter_map(|e| match &e.item {
            Item::Command(Command::Run { spec, .. }) => Some(spec.seed()),
            _ => None,
        })
        .collect();
    assert_eq!(seeds, [0, 1, 2]);
    assert_eq!(session.duration(), 12.0, "cells follow each other");
    let board = session.board();
    assert_eq!((board.stale, board.generation), (0, 3), "no event counts as belonging to an older run");
    assert_eq!(text, bench.merged().unwrap());
}

/// Regression: a result too large to be replayed used to be written, and could then not be opened.
#[test]
fn large_grids_split_between_cells() {
    let bench = bench();
    (0..3).for_each(|index| bench.compute(index, index + 10, 4.0));
    let survey = Survey::of(&bench.folder).unwrap();
    assert_eq!(survey.volumes(u64::MAX, usize::MAX), [vec![0, 1, 2]]);
    assert_eq!(survey.volumes(1, 1), [[0], [1], [2]], "no cell is divided");
    assert_eq!(survey.volumes(u64::MAX, 14), [vec![0, 1], vec![2]]);
    assert!(Survey::default().volumes(9, 9).is_empty());
    for most in [40_000, 60_000, 80_000] {
        for cells in survey.volumes(most, usize::MAX) {
            let mut out = Vec::new();
            let merged = write(&bench.folder, &survey, &cells, "2026-01-02T03:04:05Z".into(), &mut out).unwrap();
            assert!(out.len() as u64 <= most && merged.bytes == out.len() as u64, "{} of {most}", out.len());
            let session = Session::parse(out.as_slice(), Path::new("m")).unwrap();
            assert_eq!(session.header.grid.as_ref().unwrap().merged, cells.len());
            assert_eq!((session.board().stale, merged.cells), (0, cells.len()));
        }
    }
}

#[test]
fn missing_failed_and_duplicate_cells_are_reported() {
    let bench = bench();
    bench.compute(0, 7, 1.0);
    let problem = Problem::new("x", "y", "z");
    bench.compute_at(&bench.folder.part(1), 1, 1, 1.0, message::Outcome::Failed(problem));
    let survey = Survey::of(&bench.folder).unwrap();
    assert!(!survey.is_complete() && survey.missing == [2] && survey.failed.len() == 1);
    let copy = bench.folder.part(0).with_file_name("copy.jsonl");
    bench.compute_at(&copy, 0, 7, 9.0, message::Outcome::Done);
    let survey = Survey::of(&bench.folder).unwrap();
    assert_eq!((survey.copies.len(), survey.done.len()), (1, 1), "a later file with the same numbers is a copy");
    bench.compute_at(&copy, 0, 8, 1.0, message::Outcome::Done);
    let message = Survey::of(&bench.folder).unwrap_err().to_string();
    assert!(message.contains("copy.jsonl") && message.contains("cell 1 (seed 0)"), "{message}");
}

#[test]
fn part_of_another_version_error_has_a_remedy() {
    let bench = bench();
    (0..3).for_each(|index| bench.compute(index, 7, 1.0));
    let path = bench.folder.part(1);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen(&format!("\"version\":\"{VERSION}\""), "\"version\":\"0.0.1\"", 1)).unwrap();
    let message = Survey::of(&bench.folder).unwrap_err().to_string();
    for words in
        [&*path.display().to_string(), "version 0.0.1", VERSION, "Choose a different folder, or use that version"]
    {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn conflicting_cell_results_error_names_both_files() {
    let bench = bench();
    bench.compute(0, 7, 1.0);
    let copy = bench.folder.part(0).with_file_name("from-elsewhere.jsonl");
    bench.compute_at(&copy, 0, 8, 1.0, message::Outcome::Done);
    let message = Survey::of(&bench.folder).unwrap_err().to_string();
    for words in
        ["from-elsewhere.jsonl", &*bench.folder.part(0).display().to_string(), "cell 1 (seed 0)", "delete that file"]
    {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn folder_accepts_only_its_own_cells() {
    let bench = bench();
    let dir = bench.folder.dir();
    let again = Folder::join(dir, &bench.cells, &[1; 3]).unwrap();
    assert_eq!((again.head.clone(), again.cells.len()), (bench.folder.head.clone(), 3));
    assert_eq!(Folder::open(dir).unwrap().cells, bench.folder.cells);
    let message = Folder::join(dir, &bench.cells[..2], &[1; 2]).unwrap_err().to_string();
    assert!(message.contains("a different experiment") && message.contains("grid.jsonl"), "{message}");
    let other = bench.folder.part(0).with_file_name("other.jsonl");
    bench.compute_at(&other, 0, 1, 1.0, message::Outcome::Done);
    let text = std::fs::read_to_string(&other).unwrap();
    std::fs::write(&other, text.replacen(&bench.folder.head.hash, "0123456789ab", 1)).unwrap();
    assert!(matches!(Survey::of(&bench.folder), Err(PartError::Other { .. })));
    let list = dir.join("grid.jsonl");
    let text = std::fs::read_to_string(&list).unwrap();
    for (changed, word) in [
        (text.replace(VERSION, "9.9.9"), "written by version 9.9.9"),
        (text[..text.len() - 5].to_owned(), "in the middle of a line"),
        (text.lines().take(3).map(|l| format!("{l}\n")).collect(), "2 of 3 cells"),
        (text.replace("\"cell\":2", "\"cell\":3"), "cell 2 is expected"),
        (String::new(), "before its first line"),
        ("hello\n".into(), "line 1"),
    ] {
        std::fs::write(&list, &changed).unwrap();
        let message = Folder::open(dir).unwrap_err().to_string();
        assert!(message.contains(word) && message.contains("grid.jsonl"), "{word}: {message}");
    }
    let empty = tempfile::tempdir().unwrap();
    assert!(Folder::open(empty.path()).unwrap_err().to_string().contains("not a grid folder"));
    std::fs::write(empty.path().join("findings.jsonl"), "").unwrap();
    let message = Folder::join(empty.path(), &bench.cells, &[1; 3]).unwrap_err().to_string();
    assert!(message.contains("plain run"), "{message}");
    let file = empty.path().join("findings.jsonl");
    assert!(Folder::join(&file, &bench.cells, &[1; 3]).unwrap_err().to_string().contains("not a folder"));
}

#[test]
fn shard_reports_its_progress() {
    let bench = bench();
    let mut reporter = Reporter::new(&bench.folder, "2/8.1/2", 3);
    reporter.begin(2, 10, 30);
    let progress = Progress {
        stage: "sweep".into(),
        done: 1,
        total: 2,
        unit: "ex".into(),
        rate: 0.0,
        overall: 0.5,
        elapsed: 1.0,
        left: None,
    };
    reporter.progress(&progress);
    reporter.write();
    let all = Status::all(&bench.folder);
    assert_eq!((all.len(), all[0].cell, all[0].share, all[0].stage.as_str()), (1, Some(2), 0.5, "sweep"));
    assert!(all[0].left.is_some(), "an eighth of the work is done");
    reporter.end(true);
    reporter.close();
    let all = Status::all(&bench.folder);
    assert_eq!((all[0].done, all[0].ended, all[0].left), (1, true, None));
}

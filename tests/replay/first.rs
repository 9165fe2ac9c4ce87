//! Checks that a recorded run gives exactly the numbers that were extracted from its file by independent means.

use std::path::{Path, PathBuf};

use probity::engine::board::Board;
use probity::lab::interventions::Results;
use probity::lab::interventions::finding::ProbeRole;
use probity::lab::{Finding, LabId, LabResults};
use probity::session::format::Session;
use probity::stats::estimate::Estimate;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay").join(name)
}

fn board() -> Board {
    let session = Session::read(&fixture("first.probity.jsonl")).unwrap();
    assert_eq!(session.losses.sentences(), Vec::<String>::new(), "every line of the recording is understood");
    session.board()
}

/// A cell in the table; numbers are compared exactly.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Cell<'a> {
    Number(f64),
    Word(&'a str),
}

fn cells(line: &str) -> Vec<Cell<'_>> {
    line.split('\t').map(|cell| cell.parse().map_or(Cell::Word(cell), Cell::Number)).collect()
}

/// The contents of the board, in the columns of `first.tsv`.
fn lines(board: &Board) -> Vec<String> {
    let of = |e: &Estimate| format!("{:?}\t{:?}\t{:?}", e.mean, e.lo, e.hi);
    let results: &Results = board.results();
    let mut out = vec![format!("spec\t{}", board.run_of(Results::LAB).unwrap().job.spec_hash)];
    for curve in &results.curves {
        for p in &curve.points {
            let x = &p.value;
            let scores = [x.completeness, x.selectivity, x.reliability].map(|b| of(&b.estimate())).join("\t");
            let key = format!("{}\t{}\t{}\t{:?}", curve.key.model, x.method, x.oracle, x.value);
            out.push(format!("point\t{key}\t{scores}\t{}\t{}\t{}\t{}", x.n_c, x.n_s, p.n, p.is_final));
        }
    }
    for o in &results.optima {
        let x = &o.value;
        let key = format!("{}\t{}\t{}\t{:?}", o.model, x.method, x.oracle, x.value);
        out.push(format!("optimum\t{key}\t{}", of(&x.reliability.estimate())));
    }
    for p in &results.probes {
        let x = &p.value;
        let role = match x.role {
            ProbeRole::Oracle => "oracle",
            ProbeRole::Interventional => "interventional",
        };
        let oracle = x.oracle.map_or("None".to_owned(), |o| o.to_string());
        out.push(format!("probe\t{}\t{role}\t{}\t{oracle}\t{}", p.model, x.property, of(&x.accuracy)));
    }
    for b in &results.behaviour {
        let x = &b.value;
        out.push(format!("behaviour\t{}\t{}\t{:?}\t{}", b.model, x.method, x.value, of(&x.flip_rate.estimate())));
    }
    out
}

#[test]
fn recording_replays_to_exactly_its_numbers() {
    let table = std::fs::read_to_string(fixture("first.tsv")).unwrap();
    let mut expected: Vec<Vec<Cell<'_>>> = table.lines().filter(|l| !l.starts_with('#')).map(cells).collect();
    assert_eq!(expected.len(), 338, "the table is complete");
    let lines = lines(&board());
    for line in &lines {
        let got = cells(line);
        let at = expected.iter().position(|e| *e == got);
        expected.remove(at.unwrap_or_else(|| panic!("not in the table: {line}")));
    }
    assert!(expected.is_empty(), "missing on the board: {expected:?}");
}

#[test]
fn recorded_run_keeps_the_hash_of_its_findings() {
    let board = board();
    assert_eq!(board.run_of(LabId::Interventions).unwrap().job.spec_hash, "01b3f0083e2e");
}

#[test]
fn findings_of_every_kind_round_trip() {
    let text = std::fs::read_to_string(fixture("kinds.jsonl")).unwrap();
    let mut kinds = Vec::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let finding: Finding = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_value(&finding).unwrap(), value);
        kinds.push(value["kind"].as_str().unwrap().to_owned());
    }
    let expected = ["data", "probe", "reliability", "behaviour", "example", "optimum", "summary"];
    assert_eq!(kinds, expected);
}

#[test]
fn finding_keys_are_declared_columns() {
    let head = ["lab", "spec", "model", "seed", "n", "final", "t", "level", "kind"];
    for line in std::fs::read_to_string(fixture("kinds.jsonl")).unwrap().lines() {
        let finding: Finding = serde_json::from_str(line).unwrap();
        let value: Value = serde_json::from_str(line).unwrap();
        let Some(kind) = probity::lab::kinds(finding.lab).iter().find(|k| value["kind"] == k.name) else {
            continue;
        };
        let columns: Vec<&str> = (kind.columns)().iter().map(|c| c.key).collect();
        let undeclared: Vec<&String> = value
            .as_object()
            .unwrap()
            .keys()
            .filter(|k| !head.contains(&k.as_str()) && !columns.contains(&k.as_str()))
            .collect();
        assert!(undeclared.is_empty(), "{}: {undeclared:?}", kind.name);
    }
}

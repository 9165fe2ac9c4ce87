//! Result files that used to be refused or misread, with the correct values (`PROBITY_CASES`).

use std::path::Path;
use std::process::Command;

use probity::corpus::results::{Results, Wanted, metrics, read};
use probity::lab::power::compare::{Names, Terms, compare};
use probity::lab::power::finding::ComparisonFinding;
use probity::lab::power::pairs::matched;
use probity::stats::mcnemar::Test;
use serde_json::Value;

crate::harness::tests! {
    Needs::Cases("results") => [
        other_documents_under_the_same_identifiers_are_refused,
        shuffled_rows_are_matched,
        every_format_has_the_same_table,
        what_cannot_be_compared_is_left_out_and_counted,
        two_filters_without_names_are_named,
        differences_are_in_the_metrics_own_unit,
    ];
}

fn runs(path: &Path, filter: Option<&str>) -> Result<(Vec<Results>, Vec<String>), String> {
    let wanted = Wanted { filter: filter.map(str::to_owned), ..Wanted::default() };
    read(path, &wanted).map(|group| (group.runs, group.notes)).map_err(|e| e.to_string())
}

fn comparison(dir: &Path, a: &str, b: &str, filter: Option<&str>) -> Result<(ComparisonFinding, Vec<String>), String> {
    let ((a, mut notes), (b, more)) = (runs(&dir.join(a), filter)?, runs(&dir.join(b), filter)?);
    notes.extend(more);
    let (shared, _) = metrics(a.iter().chain(&b));
    let found = matched(&a, &b, &shared[0]).map_err(|e| e.to_string())?;
    let names = Names { a: "a".into(), b: "b".into(), metric: shared.join(",") };
    let terms = Terms { level: 0.95, margin: 0.02, alpha: 0.05, seed: 0, by: Test::Exact };
    Ok((compare(&found.pairs, &names, terms), notes))
}

fn other_documents_under_the_same_identifiers_are_refused(dir: &Path) {
    let error = comparison(dir, "lines_a.jsonl", "otherdocs_b.jsonl", None).unwrap_err();
    assert!(error.contains("60 of 60") && error.contains("doc_hash") && error.contains("`0`"), "{error}");
}

/// Checks the table: 8 and 3 discordant items of 60.
fn holds_the_table(c: &ComparisonFinding) {
    assert_eq!((c.only_a, c.only_b), (Some(8), Some(3)), "{c:?}");
    let n = [c.both, c.only_a, c.only_b, c.neither].map(|n| n.unwrap_or(0)).iter().sum::<u64>();
    assert_eq!(n, 60);
    assert!((c.exact_p.unwrap() - 0.226_562_5).abs() < 1e-9, "{c:?}");
    assert!((c.difference.lo + 0.0286).abs() < 5e-5 && (c.difference.hi - 0.2027).abs() < 5e-5, "{c:?}");
}

fn shuffled_rows_are_matched(dir: &Path) {
    holds_the_table(&comparison(dir, "lines_a.jsonl", "lines_b_shuf.jsonl", None).unwrap().0);
}

fn every_format_has_the_same_table(dir: &Path) {
    for (a, b) in [
        ("array_a.jsonl", "lines_b_shuf.jsonl"),
        ("inspect_a.json", "inspect_b.json"),
        ("helm_a.json", "helm_b.json"),
        ("yes_a.csv", "yes_b.csv"),
    ] {
        let (c, _) = comparison(dir, a, b, None).unwrap_or_else(|e| panic!("{a}: {e}"));
        holds_the_table(&c);
    }
}

fn what_cannot_be_compared_is_left_out_and_counted(dir: &Path) {
    for (a, b, note) in [
        ("mrpc_a.jsonl", "mrpc_b.jsonl", "`f1` left out: 60 of 60"),
        ("nan_a.jsonl", "nan_b.jsonl", "`ppl` left out: 1 of 60"),
    ] {
        let (c, notes) = comparison(dir, a, b, None).unwrap_or_else(|e| panic!("{a}: {e}"));
        assert_eq!(c.metric, "acc");
        assert!(notes.iter().any(|n| n.contains(note)), "{notes:?}");
        holds_the_table(&c);
    }
}

fn two_filters_without_names_are_named(dir: &Path) {
    let [a, b] = ["nofilter_a.jsonl", "nofilter_b.jsonl"].map(|file| dir.join(file).display().to_string());
    let output = Command::new(env!("CARGO_BIN_EXE_probity")).args(["compare", &a, &b, "--json"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&all[0]["filter"], &all[1]["filter"], all.len()), (&"filter1".into(), &"filter2".into(), 2));
    assert_eq!((all[0]["only_a"].as_u64(), all[0]["only_b"].as_u64()), (Some(8), Some(3)));
    assert!((all[0]["exact_p"].as_f64().unwrap() - 0.226_562_5).abs() < 1e-9);
    for (filter, table) in [("filter1", (8, 3)), ("filter2", (27, 0))] {
        let (c, _) = comparison(dir, "nofilter_a.jsonl", "nofilter_b.jsonl", Some(filter)).unwrap();
        assert_eq!(
            (c.only_a.unwrap(), c.only_b.unwrap(), c.both.unwrap() + c.neither.unwrap() + table.0 + table.1),
            (table.0, table.1, 60)
        );
    }
}

fn differences_are_in_the_metrics_own_unit(dir: &Path) {
    let [a, b] = ["out_a.jsonl", "out_b.jsonl"].map(|f| read(&dir.join(f), &Wanted::default()).unwrap().runs);
    let found = matched(&a, &b, "score").unwrap();
    let names = Names { a: "a".into(), b: "b".into(), metric: "score".into() };
    let c = compare(&found.pairs, &names, Terms { level: 0.95, margin: 0.02, alpha: 0.05, seed: 0, by: Test::Exact });
    assert!(!c.is_share() && c.unit().is_empty());
    assert!((c.difference.mean - 20_000.09).abs() < 0.01 && c.difference.hi.is_finite(), "{c:?}");
    assert!(c.amount(c.difference.mean).starts_with("+20000.1"), "{}", c.amount(c.difference.mean));
}

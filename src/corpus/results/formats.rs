//! Tests on examples of every format, written from its public description, with the expected results.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::*;

fn group(bytes: &[u8], wanted: &Wanted) -> Result<Group, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results");
    std::fs::write(&path, bytes).unwrap();
    read(&path, wanted).map_err(|e| e.to_string())
}

/// Returns identifiers and values of a metric for each run.
fn runs(text: &str, metric: &str) -> Vec<Vec<(String, f64)>> {
    let group = group(text.as_bytes(), &Wanted::default()).unwrap();
    let of = |r: &Results| {
        let metric = r.metrics.iter().find(|m| m.name == metric).unwrap_or_else(|| panic!("{:?}", r.metrics));
        r.ids.iter().map(str::to_owned).zip(metric.values.iter().copied()).collect()
    };
    group.runs.iter().map(of).collect()
}

fn pairs(all: &[(&str, f64)]) -> Vec<(String, f64)> {
    all.iter().map(|(id, v)| ((*id).to_owned(), *v)).collect()
}

const INSPECT: &str = r#"{"version": 2, "status": "success", "eval": {"task": "toy", "model": "m"}, "plan": {}, "samples": [
 {"id": "a", "epoch": 1, "input": "one", "target": "A", "messages": [{"role": "user"}], "scores": {"match": {"value": "C", "answer": "A"}, "quality": {"value": {"style": 0.5, "tone": 1}}}, "metadata": {"group": "g1"}},
 {"id": "b", "epoch": 1, "input": [{"role": "user", "content": "two"}], "target": ["B"], "scores": {"match": {"value": "I"}, "quality": {"value": {"style": 0.25, "tone": 0}}}, "metadata": {"group": "g1"}},
 {"id": "a", "epoch": 2, "input": "one", "target": "A", "scores": {"match": {"value": "P"}, "quality": {"value": {"style": 1, "tone": NaN}}}, "metadata": {"group": "g1"}},
 {"id": "b", "epoch": 2, "input": [{"role": "user", "content": "two"}], "target": ["B"], "scores": {"match": {"value": "N"}, "quality": {"value": {"style": 1, "tone": 1}}}, "metadata": {"group": "g1"}}
]}"#;

#[test]
fn inspect_logs_are_parsed() {
    let want = [pairs(&[("a", 1.0), ("b", 0.0)]), pairs(&[("a", 0.5), ("b", 0.0)])];
    assert_eq!(runs(INSPECT, "match"), want);
    let found = group(INSPECT.as_bytes(), &Wanted::default()).unwrap();
    let names: Vec<&str> = found.runs[0].metrics.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["match", "quality/style"]);
    assert!(found.notes[0].contains("quality/tone"), "{:?}", found.notes);
    assert_eq!(found.runs[1].clusters.as_ref().unwrap().get(1), Some("g1"));
    let detail = group(INSPECT.as_bytes(), &Wanted { detail: true, ..Wanted::default() }).unwrap();
    let first = &detail.runs[0].details[0];
    assert_eq!((first.answer.as_str(), first.target.as_str(), first.input.as_str()), ("A", "A", "one"));
}

#[test]
fn failed_sample_is_omitted_and_counted() {
    let scores = r#""scores": {"match": {"value": "N"}, "quality": {"value": {"style": 1, "tone": 1}}}"#;
    for failed in [r#""scores": {}"#, r#""scores": null"#, r#""total_time": 3"#] {
        let text = INSPECT.replace(scores, &format!(r#"{failed}, "error": {{"message": "x"}}"#));
        let found = group(text.as_bytes(), &Wanted::default()).unwrap();
        assert_eq!((found.runs[0].ids.len(), found.runs[1].ids.len()), (2, 1));
        assert!(found.notes.iter().any(|n| n.contains("1 sample without a score")), "{:?}", found.notes);
    }
    // The first sample alone is not enough to determine the format.
    let text = INSPECT.replacen(
        r#""scores": {"match": {"value": "C", "answer": "A"}, "quality": {"value": {"style": 0.5, "tone": 1}}}"#,
        r#""scores": null"#,
        1,
    );
    assert_eq!(group(text.as_bytes(), &Wanted::default()).unwrap().runs[0].ids.len(), 1);
}

/// Builds a zip archive with stored or deflated entries.
fn zip(entries: &[(&str, &str)], deflated: bool) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in entries {
        let packed = if deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        } else {
            text.as_bytes().to_vec()
        };
        let offset = out.len() as u32;
        let method = if deflated { 8u16 } else { 0 };
        let sizes = [packed.len() as u32, text.len() as u32].map(u32::to_le_bytes).concat();
        let lengths = [name.len() as u16, 0].map(u16::to_le_bytes).concat();
        let common = [&20u16.to_le_bytes()[..], &[0, 0], &method.to_le_bytes(), &[0; 8], &sizes, &lengths].concat();
        out.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &packed].concat());
        directory
            .extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &offset.to_le_bytes(), name.as_bytes()].concat());
    }
    let (start, length, count) = (out.len() as u32, directory.len() as u32, entries.len() as u16);
    out.extend(&directory);
    out.extend([&b"PK\x05\x06\0\0\0\0"[..], &count.to_le_bytes(), &count.to_le_bytes()].concat());
    out.extend([&length.to_le_bytes()[..], &start.to_le_bytes(), &[0, 0]].concat());
    out
}

const SUMMARIES: &str = r#"[{"id": 1, "epoch": 1, "input": "long …", "target": "A", "scores": {"match": {"value": "C"}}},
 {"id": 2, "epoch": 1, "input": "long …", "target": "B", "scores": {"match": {"value": "I"}}}]"#;
const SAMPLE: &str =
    r#"{"id": 1, "epoch": 1, "input": "x", "target": "A", "scores": {"match": {"value": "C", "answer": "A"}}}"#;

#[test]
fn eval_archives_are_read_from_summaries_or_samples() {
    let header = ("header.json", r#"{"version": 2, "status": "success"}"#);
    for deflated in [false, true] {
        let summaries = zip(&[header, ("samples/1_epoch_1.json", SAMPLE), ("summaries.json", SUMMARIES)], deflated);
        let found = group(&summaries, &Wanted::default()).unwrap();
        assert_eq!(found.runs[0].metrics[0].values, [1.0, 0.0]);
        let detail = group(&summaries, &Wanted { detail: true, ..Wanted::default() }).unwrap();
        assert_eq!(detail.runs[0].details[0].answer, "A");
        let other = SAMPLE.replace("\"id\": 1", "\"id\": 2").replace("\"C\"", "\"I\"");
        let samples = [header, ("samples/1_epoch_1.json", SAMPLE), ("samples/2_epoch_1.json", &other)];
        let found = group(&zip(&samples, deflated), &Wanted::default()).unwrap();
        assert_eq!(found.runs[0].metrics[0].values, [1.0, 0.0]);
    }
}

#[test]
fn damaged_archives_are_refused_without_a_panic() {
    let whole = zip(&[("summaries.json", SUMMARIES)], true);
    for cut in 0..whole.len() {
        assert!(group(&whole[..cut], &Wanted::default()).is_err(), "cut at {cut}");
    }
    // After changing any byte of the archive, the result is the same or an error.
    for at in 0..whole.len() {
        for value in [0, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            let _ = group(&bytes, &Wanted::default());
        }
    }
    let error = group(&zip(&[("other.txt", "x")], false), &Wanted::default()).unwrap_err();
    assert!(error.contains("without `summaries.json`"), "{error}");
    // 100 MB of spaces compressed to 100 kB.
    let bomb = zip(&[("summaries.json", &" ".repeat(100 << 20))], true);
    let error = group(&bomb, &Wanted::default()).unwrap_err();
    assert!(error.contains("64 MiB"), "{error}");
}

#[test]
fn helm_trials_and_perturbations_are_parsed() {
    let row = |id: &str, trial: usize, mean: f64, by: &str| {
        format!(
            r#"{{"instance_id": "{id}", {by} "train_trial_index": {trial}, "stats": [
               {{"name": {{"name": "num_references", "split": "test"}}, "count": 1, "sum": 4, "mean": 4.0}},
               {{"name": {{"name": "exact_match", "split": "test"}}, "count": 1, "sum": {mean}, "mean": {mean}}}]}}"#
        )
    };
    let text = format!(
        "[{}, {}, {}, {}]",
        row("id1", 0, 1.0, ""),
        row("id2", 0, 0.0, ""),
        row("id1", 1, 0.0, ""),
        row("id2", 1, 1.0, "")
    );
    let want = [pairs(&[("id1", 1.0), ("id2", 0.0)]), pairs(&[("id1", 0.0), ("id2", 1.0)])];
    assert_eq!(runs(&text, "exact_match"), want);
    assert_eq!(group(text.as_bytes(), &Wanted::default()).unwrap().runs[0].metrics.len(), 1);
    let shown = r#"[{"instance_id": "id1", "train_trial_index": 0, "predicted_text": "A", "stats": {"exact_match": 1.0, "num_references": 4}},
      {"instance_id": "id2", "train_trial_index": 0, "predicted_text": "B", "stats": {"exact_match": 0.0, "num_references": 4}}]"#;
    assert_eq!(runs(shown, "exact_match"), [pairs(&[("id1", 1.0), ("id2", 0.0)])]);
    let by = r#""perturbation": {"name": "robustness", "robustness": true},"#;
    let perturbed = format!("[{}, {}]", row("id1", 0, 1.0, ""), row("id1", 0, 0.0, by));
    let error = group(perturbed.as_bytes(), &Wanted::default()).unwrap_err();
    assert!(error.contains("none, robustness"), "{error}");
}

#[test]
fn opencompass_predictions_and_details() {
    let predictions = r#"{"0": {"origin_prompt": "Q: …", "prediction": "A", "gold": "A"}, "1": {"origin_prompt": [{"role": "HUMAN"}], "prediction": "B", "gold": "A"}}"#;
    assert_eq!(runs(predictions, "correct"), [pairs(&[("0", 1.0), ("1", 0.0)])]);
    let details = r#"{"accuracy": 50.0, "details": {"type": "GEN", "0": {"prompt": "…", "origin_prediction": "x", "predictions": "A", "references": "A", "correct": true}, "1": {"predictions": "B", "references": "A", "correct": false}}}"#;
    assert_eq!(runs(details, "correct"), [pairs(&[("0", 1.0), ("1", 0.0)])]);
    let list = r#"{"score": 50, "details": [{"pred": "1", "answer": "1", "correct": true}, {"pred": "2", "answer": "1", "correct": false}]}"#;
    assert_eq!(runs(list, "correct"), [pairs(&[("0", 1.0), ("1", 0.0)])]);
}

#[test]
fn lighteval_details_as_json_lines() {
    let new = "{\"doc\": {\"id\": \"7\", \"query\": \"q\", \"gold_index\": 1}, \"model_response\": {\"text\": [\"x\"]}, \"metric\": {\"em\": 1}}\n{\"doc\": {\"id\": \"8\", \"query\": \"r\"}, \"metric\": {\"em\": 0}}\n";
    assert_eq!(runs(new, "em"), [pairs(&[("7", 1.0), ("8", 0.0)])]);
    let old = "{\"example\": \"q\", \"predictions\": \"['x']\", \"metrics\": {\"acc\": 1.0, \"acc_norm\": 0.0}, \"hashes\": {\"hash_examples\": \"h\"}}\n{\"example\": \"r\", \"metrics\": {\"acc\": 0.0, \"acc_norm\": 0.0}}\n";
    assert_eq!(runs(old, "acc"), [pairs(&[("0", 1.0), ("1", 0.0)])]);
    let prints = |text: &str| group(text.as_bytes(), &Wanted::default()).unwrap().runs[0].prints[0];
    assert!(prints(old).differs(&prints(&old.replace("\"q\"", "\"another\""))), "the text identifies the item");
    let error = group(b"PAR1\x15\x04\x15", &Wanted::default()).unwrap_err();
    assert!(error.contains("Parquet") && error.contains("to_json"), "{error}");
}

#[test]
fn evalplus_samples_are_runs() {
    let now = r#"{"date": "2024", "hash": "x", "eval": {"HumanEval/0": [{"task_id": "HumanEval/0", "solution": "def", "base_status": "pass", "plus_status": "fail"}, {"base_status": "fail", "plus_status": "fail"}],
      "HumanEval/1": [{"base_status": "timeout", "plus_status": "fail"}, {"base_status": "pass", "plus_status": "pass"}]}}"#;
    let want =
        [pairs(&[("HumanEval/0", 1.0), ("HumanEval/1", 0.0)]), pairs(&[("HumanEval/0", 0.0), ("HumanEval/1", 1.0)])];
    assert_eq!(runs(now, "base"), want);
    let then = r#"{"date": "2023", "hash": "x", "eval": {"HumanEval/0": {"nfiles": 1, "base": [["pass", [true]]], "plus": [["fail", [false]]]}}}"#;
    assert_eq!(runs(then, "base"), [pairs(&[("HumanEval/0", 1.0)])]);
    assert_eq!(runs(then, "plus"), [pairs(&[("HumanEval/0", 0.0)])]);
    // If only the base tests were run, `plus` has no status.
    let base = now.replace(r#""plus_status": "fail""#, r#""plus_status": null"#);
    assert!(group(base.as_bytes(), &Wanted::default()).unwrap().notes[0].contains("plus"));
}

#[test]
fn lmms_eval_logs_and_samples() {
    let logs = r#"{"args": {"model": "m"}, "model_configs": {}, "logs": [
      {"doc_id": 0, "target": "A", "doc": {"q": 1}, "arguments": [["x"]], "resps": [["A"]], "filtered_resps": ["A"], "mme_score": {"question_id": "1", "category": "ocr", "score": 1.0}},
      {"doc_id": 1, "target": "B", "doc": {"q": 2}, "arguments": [["y"]], "resps": [["A"]], "filtered_resps": ["A"], "mme_score": {"question_id": "2", "category": "ocr", "score": 0.0}}], "time": "1"}"#;
    assert_eq!(runs(logs, "mme_score"), [pairs(&[("0", 1.0), ("1", 0.0)])]);
    let mmmu = "{\"doc_id\": 0, \"resps\": [], \"mmmu_acc\": {\"id\": \"x\", \"answer\": \"B\", \"parsed_pred\": \"B\"}}\n{\"doc_id\": 1, \"resps\": [], \"mmmu_acc\": {\"id\": \"y\", \"answer\": \"B\", \"parsed_pred\": \"A\"}}\n";
    assert_eq!(runs(mmmu, "mmmu_acc"), [pairs(&[("0", 1.0), ("1", 0.0)])]);
    let lines = "{\"doc_id\": 0, \"target\": \"A\", \"resps\": [[\"A\"]], \"doc_hash\": \"h\", \"exact_match\": 1.0}\n{\"doc_id\": 1, \"target\": \"A\", \"resps\": [[\"B\"]], \"doc_hash\": \"i\", \"exact_match\": 0.0}\n";
    assert_eq!(runs(lines, "exact_match"), [pairs(&[("0", 1.0), ("1", 0.0)])]);
}

/// Regression: a dump of the whole `simple_evaluate` result used to be rejected as "a row without an identifier".
#[test]
fn lm_eval_results_have_rows_by_task() {
    let row =
        |id: u32, acc: f64| format!("{{\"doc_id\": {id}, \"target\": \"0\", \"doc_hash\": \"h{id}\", \"acc\": {acc}}}");
    let rows = format!("[{}, {}]", row(0, 1.0), row(1, 0.0));
    let with = |samples: &str| {
        format!("{{\"results\": {{\"arc\": {{\"acc,none\": 0.5}}}}, \"samples\": {samples}, \"n-shot\": {{}}}}")
    };
    assert_eq!(runs(&with(&format!("{{\"arc\": {rows}}}")), "acc"), [pairs(&[("0", 1.0), ("1", 0.0)])]);
    let refused = |text: &str| group(text.as_bytes(), &Wanted::default()).unwrap_err();
    let error = refused(&with(&format!("{{\"arc\": {rows}, \"piqa\": {rows}}}")));
    assert!(error.contains("rows of several tasks, `arc` and `piqa`"), "{error}");
    let error = refused("{\"results\": {\"arc\": {\"acc,none\": 0.5}}, \"versions\": {\"arc\": 1}, \"configs\": {}}");
    assert!(error.contains("means over tasks") && error.contains("--log_samples"), "{error}");
}

#[test]
fn swe_bench_maps_reports_and_lists() {
    let want = [pairs(&[("django__django-1", 1.0), ("sympy__sympy-2", 0.0)])];
    assert_eq!(runs(r#"{"django__django-1": true, "sympy__sympy-2": false}"#, "correct"), want);
    assert_eq!(runs(r#"{"django__django-1": 1, "sympy__sympy-2": 0}"#, "correct"), want);
    assert_eq!(runs(r#"{"django__django-1": "RESOLVED", "sympy__sympy-2": "failed"}"#, "correct"), want);
    let reports = r#"{"django__django-1": {"patch_is_None": false, "resolved": true, "tests_status": {}}, "sympy__sympy-2": {"resolved": false}}"#;
    assert_eq!(runs(reports, "correct"), want);
    let report = r#"{"total_instances": 2, "submitted_ids": ["sympy__sympy-2", "django__django-1"], "resolved_ids": ["django__django-1"], "unresolved_ids": ["sympy__sympy-2"], "error_ids": [], "schema_version": 2}"#;
    assert_eq!(runs(report, "correct"), want);
    let lines = "{\"instance_id\": \"django__django-1\", \"resolved\": true}\n{\"instance_id\": \"sympy__sympy-2\", \"resolved\": false}\n";
    assert_eq!(runs(lines, "correct"), want);
}

#[test]
fn tables_from_a_spreadsheet() {
    let text = "\u{feff}Question ID;Group;Is Correct;Prompt\r\n1;p1;TRUE;\"a; b\"\r\n2;p1;FALSE;\"c\nd\"\r\n;;;\r\n";
    let found = group(text.as_bytes(), &Wanted::default()).unwrap();
    let run = &found.runs[0];
    assert_eq!((run.metrics[0].values.as_slice(), run.ids.get(1)), (&[1.0, 0.0][..], Some("2")));
    assert_eq!(run.clusters.as_ref().unwrap().get(0), Some("p1"));
}

/// Regression: files used to be unrecognised if the window ended between a key and its value.
#[test]
fn long_documents_are_recognised() {
    for filler in 0..40 {
        let id = |i: usize| format!("project__issue-{}{i:05}", "x".repeat(if i == 0 { filler } else { 0 }));
        let one = |value: &str| {
            let all: Vec<String> = (0..9_000).map(|i| format!("\"{}\": {value}", id(i))).collect();
            format!("{{{}}}", all.join(", "))
        };
        for value in ["true", "{\"resolved\": true}"] {
            let found = group(one(value).as_bytes(), &Wanted::default()).unwrap();
            assert_eq!(found.runs[0].ids.len(), 9_000);
        }
    }
}

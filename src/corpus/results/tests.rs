//! Tests of result files that must be accepted and of files that must be rejected.

use super::*;

pub(super) fn group(bytes: &[u8], wanted: &Wanted) -> Result<Group, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    std::fs::write(&path, bytes).unwrap();
    read(&path, wanted).map_err(|e| e.to_string())
}

pub(super) fn of(text: &str, wanted: &Wanted) -> Result<Results, String> {
    group(text.as_bytes(), wanted).map(|mut g| g.runs.remove(0))
}

pub(super) fn plain(text: &str) -> Result<Results, String> {
    of(text, &Wanted::default())
}

pub(super) fn values(results: &Results) -> Vec<f64> {
    results.metrics[0].values.clone()
}

const HARNESS: &str = concat!(
    r#"{"doc_id": 0, "doc": {"q": [1, {"id": 9}]}, "target": "a", "filter": "strict", "metrics": ["acc", "f1"], "acc": 1.0, "f1": 0.25}"#,
    "\n",
    r#"{"doc_id": 1, "filter": "strict", "metrics": ["acc", "f1"], "f1": 0.5, "acc": 0.0, "resps": [["x"]]}"#,
    "\n"
);

#[test]
fn harness_samples_may_have_several_metrics() {
    let r = plain(HARNESS).unwrap();
    assert_eq!(r.metrics.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["acc", "f1"]);
    assert_eq!((values(&r), r.metrics[1].values.clone()), (vec![1.0, 0.0], vec![0.25, 0.5]));
    assert!(r.metrics[0].is_binary() && !r.metrics[1].is_binary());
    assert_eq!(r.ids.get(1), Some("1 strict"));
    let one = of(HARNESS, &Wanted { metric: Some("f1".into()), ..Wanted::default() }).unwrap();
    assert_eq!((one.metrics.len(), values(&one)), (1, vec![0.25, 0.5]));
    let error = of(HARNESS, &Wanted { metric: Some("em".into()), ..Wanted::default() }).unwrap_err();
    assert!(error.contains("no metric `em`") && error.contains("acc, f1"), "{error}");
}

#[test]
fn several_filters_require_a_choice() {
    let both = format!("{HARNESS}{}", HARNESS.replace("strict", "flexible"));
    let error = plain(&both).unwrap_err();
    assert!(error.contains("strict, flexible") && error.contains("--filter"), "{error}");
    let wanted = |f: &str| Wanted { filter: Some(f.into()), ..Wanted::default() };
    assert_eq!(of(&both, &wanted("flexible")).unwrap().ids.len(), 2);
    let error = of(&both, &wanted("none")).unwrap_err();
    assert!(error.contains("no row of the filter `none`"), "{error}");
}

#[test]
fn bear_plain_rows_and_tables() {
    let bear = "{\"instance\": 0, \"sub_id\": \"Q2\", \"answer_idx\": 1, \"pll_scores\": [-12.5, -3.25, -8.0]}\n\
                {\"instance\": 1, \"sub_id\": \"Q4\", \"answer_idx\": 1, \"pll_scores\": [-1.5, -3.5, -2.0]}\n";
    assert_eq!(values(&plain(bear).unwrap()), [1.0, 0.0]);
    let rows = "{\"id\": \"a\", \"correct\": true}\n\n{\"id\": \"b\", \"correct\": 0}\n";
    assert_eq!(values(&plain(rows).unwrap()), [1.0, 0.0]);
    let said = "[{\"id\": 1, \"prediction\": \"x\", \"target\": \"x\", \"cluster\": 7},\n {\"id\": 2, \"prediction\": 3, \"target\": 4, \"cluster\": 7}]";
    let r = plain(said).unwrap();
    assert_eq!((values(&r), r.clusters.unwrap().get(1)), (vec![1.0, 0.0], Some("7")));
    let table = "id,prediction,target\n\"a,1\",\"said \"\"yes\"\",\nno\",x\nb,y,y\n";
    let r = plain(table).unwrap();
    assert_eq!((values(&r), r.ids.get(0)), (vec![0.0, 1.0], Some("a,1")));
    assert_eq!(values(&plain("id\tcorrect\n1\tTrue\n2\tfalse\n").unwrap()), [1.0, 0.0]);
    assert_eq!(
        values(&of("id,f1\n1,.5\n", &Wanted { metric: Some("f1".into()), ..Wanted::default() }).unwrap()),
        [0.5]
    );
}

#[test]
fn unusable_row_error_names_the_line() {
    for (text, words) in [
        ("", &["empty"][..]),
        ("{\"id\": 1, \"correct\": 1}\n{\"id\": 1, \"correct\": 0}\n", &["line 2", "`1` occurs twice"]),
        ("{\"id\": 1, \"correct\": 1}\n{\"id\": \"1\", \"correct\": 0}\n", &["line 2", "occurs twice"]),
        ("{\"id\": 1, \"correct\": NaN}\n", &["line 1", "`correct` is not a finite number"]),
        ("{\"id\": 1, \"correct\": -1}\n", &["line 1", "`correct` is -1"]),
        ("{\"id\": 1, \"correct\": 0.5}\n", &["`correct` is 0.5", "0 or 1"]),
        ("{\"id\": 1, \"correct\": 1}\n{\"id\": 2}\n", &["line 2", "`correct`"]),
        ("{\"correct\": 1}\n", &["line 1", "without an identifier"]),
        ("{\"id\": 1, \"length\": 9, \"cost\": 1}\n", &["no key states whether an answer is correct", "length, cost"]),
        ("{\"id\": 1, \"correct\": 1", &["line 1"]),
        ("{\"id\": 1, \"correct\": 1}\n{\"id\": 2, \"correct\": 1, \"cluster\": 1}\n", &["line 2", "cluster"]),
        ("id,correct\n1,nan\n", &["line 2", "not a finite number"]),
        ("id,correct\n1,1,1\n", &["line 2", "3 fields"]),
        ("id,correct\n\"1,1\n", &["line 2", "quoted field"]),
        ("length,correct\n1,1\n", &["header without `id`"]),
        ("{\"instance\": 0, \"answer_idx\": 9, \"pll_scores\": [1.0]}\n", &["line 1", "answer_idx"]),
        ("{\"doc_id\": 1, \"metrics\": [\"acc\"], \"acc\": \"high\"}\n", &["line 1", "`acc`"]),
    ] {
        let error = plain(text).unwrap_err();
        assert!(error.contains("results.jsonl"), "{error}");
        for word in words {
            assert!(error.contains(word), "{text}: no `{word}` in {error}");
        }
    }
}

#[test]
fn endless_line_is_rejected_in_bounded_memory() {
    let long = format!("{{\"id\": 1, \"correct\": 1, \"x\": \"{}\"}}\n", "x".repeat(17 << 20));
    let error = plain(&long).unwrap_err();
    assert!(error.contains("16 MiB"), "{error}");
}

fn names(results: &Results) -> Vec<&str> {
    results.metrics.iter().map(|m| m.name.as_str()).collect()
}

pub(super) fn ids(results: &Results) -> Vec<&str> {
    results.ids.iter().collect()
}

/// Regression: a single corpus-level metric (a list) or NaN used to make the program reject the whole file.
#[test]
fn incomplete_metric_is_omitted_and_counted() {
    let row = |i: usize, f1: &str, ppl: &str| {
        format!(
            "{{\"doc_id\": {i}, \"metrics\": [\"acc\", \"f1\", \"ppl\"], \"f1\": {f1}, \"ppl\": {ppl}, \"acc\": {}}}\n",
            i % 2
        )
    };
    let text = row(0, "[1, 0]", "2.5") + &row(1, "[0, 0]", "NaN") + &row(2, "[1, 1]", "-Infinity");
    let group = group(text.as_bytes(), &Wanted::default()).unwrap();
    assert_eq!(names(&group.runs[0]), ["acc"]);
    assert_eq!(values(&group.runs[0]), [0.0, 1.0, 0.0]);
    let notes = group.notes.join("\n");
    assert!(notes.contains("`f1` left out: 3 of 3") && notes.contains("`ppl` left out: 2 of 3"), "{notes}");
    let asked = of(&text, &Wanted { metric: Some("ppl".into()), ..Wanted::default() }).unwrap_err();
    assert!(asked.contains("line 2") && asked.contains("`ppl`"), "{asked}");
}

#[test]
fn metric_missing_in_some_rows_is_omitted() {
    let text = "{\"doc_id\": 0, \"metrics\": [\"acc\", \"x\"], \"acc\": 1, \"x\": 1}\n\
                {\"doc_id\": 1, \"metrics\": [\"acc\", \"y\"], \"acc\": 0, \"y\": 1}\n";
    let group = group(text.as_bytes(), &Wanted::default()).unwrap();
    assert_eq!((names(&group.runs[0]), group.notes.len()), (vec!["acc"], 2), "{:?}", group.notes);
}

/// Regression: lm-evaluation-harness files from before `filter` and `metrics` used to require `--metric` and could not be compared with
/// newer files.
#[test]
fn older_harness_files_have_filter_none() {
    let old = "[{\"doc_id\": 3, \"doc\": {\"q\": 1}, \"target\": \"a\", \"resps\": [[\"x\"]], \"filtered_resps\": [\"x\"], \"doc_hash\": \"ab\", \"acc\": 1.0, \"acc_norm\": 0.0}]";
    let new = "{\"doc_id\": 3, \"doc\": {\"q\": 1}, \"doc_hash\": \"ab\", \"filter\": \"none\", \"metrics\": [\"acc\"], \"acc\": 0.0}\n";
    let (old, new) = (plain(old).unwrap(), plain(new).unwrap());
    assert_eq!((names(&old), ids(&old), ids(&new)), (vec!["acc", "acc_norm"], vec!["3"], vec!["3"]));
    assert!(!old.prints[0].differs(&new.prints[0]));
}

#[test]
fn filters_without_names_are_numbered() {
    let row = |id: usize, hash: &str, v: usize| {
        format!("{{\"doc_id\": {id}, \"doc_hash\": \"{hash}\", \"resps\": [], \"exact_match\": {v}}}\n")
    };
    let two = row(0, "a", 1) + &row(1, "b", 0) + &row(0, "a", 0) + &row(1, "b", 0);
    let error = plain(&two).unwrap_err();
    assert!(error.contains("several filters: filter1, filter2") && error.contains("--filter"), "{error}");
    let first = of(&two, &Wanted { filter: Some("filter1".into()), ..Wanted::default() }).unwrap();
    assert_eq!(values(&first), [1.0, 0.0]);
    // Rows cannot come from unnamed filters if a repeated `doc_id` has a different document, or if not all documents are repeated.
    for wrong in [row(0, "a", 1) + &row(0, "c", 1), two.clone() + &row(1, "b", 1)] {
        let error = plain(&wrong).unwrap_err();
        assert!(error.contains("occurs twice"), "{error}");
    }
}

#[test]
fn documents_that_differ_have_different_digests() {
    let one = |rest: &str| plain(&format!("{{\"id\": 1, \"correct\": 1{rest}}}\n")).unwrap().prints[0];
    let plain = one("");
    for (a, b) in [
        (r#", "doc_hash": "a""#, r#", "doc_hash": "b""#),
        (r#", "target": "a""#, r#", "target": "b""#),
        (r#", "target": ["a", "b"]"#, r#", "target": ["b", "a"]"#),
        (r#", "input": "a""#, r#", "input": "b""#),
        (r#", "question": "a""#, r#", "question": "b""#),
        (r#", "doc": {"q": "a"}"#, r#", "doc": {"q": "b"}"#),
    ] {
        assert!(one(a).differs(&one(b)), "{a}");
        assert!(!one(a).differs(&one(a)) && !one(a).differs(&plain), "{a}");
    }
    // White space and key order do not distinguish documents, and equal hashes identify them.
    assert!(!one(r#", "doc": {"q": 1, "r": [1, 2]}"#).differs(&one(r#", "doc": { "r": [1,2], "q": 1 }"#)));
    let hashed = |doc: &str| one(&format!(r#", "doc_hash": "h", "doc": {doc}"#));
    assert!(!hashed("{\"q\": 1}").differs(&hashed("{\"q\": 1, \"new\": 2}")));
}

#[test]
fn words_for_correctness_are_recognised() {
    for (a, b) in [("yes", "no"), ("TRUE", "False"), ("1", "0"), (" Y ", "n"), ("right", "wrong"), ("Pass", "FAIL")] {
        for separator in [",", ";", "\t"] {
            let text = format!(
                "ID{separator}Correct{separator}Note\n1{separator}{a}{separator}x\n2{separator}{b}{separator}y\n{separator}{separator}\n"
            );
            let r = plain(&text).unwrap();
            assert_eq!((values(&r), ids(&r)), (vec![1.0, 0.0], vec!["1", "2"]), "{text}");
        }
        let json = format!("{{\"id\": 1, \"correct\": \"{a}\"}}\n{{\"id\": 2, \"correct\": \"{b}\"}}\n");
        assert_eq!(values(&plain(&json).unwrap()), [1.0, 0.0]);
    }
    let error = plain("id,correct\n1,perhaps\n").unwrap_err();
    assert!(error.contains("line 2") && error.contains("yes or no"), "{error}");
    let decimal = of("id;f1\n1;0,5\n", &Wanted { metric: Some("f1".into()), ..Wanted::default() }).unwrap();
    assert_eq!(values(&decimal), [0.5]);
}

#[test]
fn lenient_matching_is_optional() {
    let text = "id,prediction,target\n1, Paris ,paris\n2,Rome,rome\n3,x,y\n";
    assert_eq!(values(&plain(text).unwrap()), [0.0, 0.0, 0.0]);
    let lenient = of(text, &Wanted { lenient: true, ..Wanted::default() }).unwrap();
    assert_eq!(values(&lenient), [1.0, 1.0, 0.0]);
    // Regression: a model whose answers end in a space used to get a score of 0 % without a note.
    let notes = |wanted: Wanted| group(text.as_bytes(), &wanted).unwrap().notes.join("; ");
    assert!(
        notes(Wanted::default())
            .contains("2 of 3 predictions differ from the target only in case or in leading or trailing spaces")
    );
    assert_eq!(notes(Wanted { lenient: true, ..Wanted::default() }), "");
}

/// Regression: tables whose lines end only in carriage returns used to be reported as having "no rows".
#[test]
fn cr_only_line_ends_are_reported() {
    let error = plain("id,correct\r1,1\r2,0\r").unwrap_err();
    assert!(error.contains("line 1") && error.contains("only in carriage returns"), "{error}");
}

#[test]
fn epochs_and_seeds_are_runs_only_if_items_repeat() {
    let text = "id,seed,correct\n1,10,1\n2,10,0\n1,11,0\n2,11,0\n";
    let group = group(text.as_bytes(), &Wanted::default()).unwrap();
    assert_eq!(group.runs.iter().map(values).collect::<Vec<_>>(), [[1.0, 0.0], [0.0, 0.0]]);
    // Different seeds for each item do not make separate runs.
    assert_eq!(values(&plain("id,seed,correct\n1,10,1\n2,11,0\n").unwrap()), [1.0, 0.0]);
    let error = plain("id,seed,correct\n1,10,1\n1,10,0\n2,11,1\n").unwrap_err();
    assert!(error.contains("occurs twice"), "{error}");
}

#[test]
fn passages_define_clusters() {
    let row = |i: usize| {
        format!(
            "{{\"doc_id\": {i}, \"doc\": {{\"q\": {i}, \"passage_id\": \"p{}\"}}, \"metrics\": [\"acc\"], \"acc\": 1}}\n",
            i / 2
        )
    };
    let r = plain(&(0..4).map(row).collect::<String>()).unwrap();
    assert_eq!(r.clusters.unwrap().iter().collect::<Vec<_>>(), ["p0", "p0", "p1", "p1"]);
}

/// Regression: tables with `id` and a single score, and tables with several metrics, used to require `--metric`.
#[test]
fn unnamed_and_known_numbers_are_metrics() {
    assert_eq!(names(&plain("id,points\n1,3.5\n2,4\n").unwrap()), ["points"]);
    let several = plain("id,acc,length,F1,rouge-l\n1,1,900,.5,.25\n2,0,70,.25,.5\n").unwrap();
    assert_eq!(names(&several), ["acc", "f1", "rouge_l"]);
    let gap = group(b"id,acc,f1\n1,1,nan\n2,0,.5\n", &Wanted::default()).unwrap();
    assert_eq!((names(&gap.runs[0]), gap.notes.len()), (vec!["acc"], 1));
    assert_eq!(names(&plain("{\"doc_id\": 1, \"acc\": 1.0}\n").unwrap()), ["acc"]);
}

/// Up to version 0.3, lm-evaluation-harness wrote numbers as text, `truth` for the target, and one key per request.
#[test]
fn the_oldest_harness_files_are_read() {
    let text = "[{\"doc_id\": 0, \"prompt_0\": \"Q\", \"logit_0\": \"-1.5\", \"truth\": \"2\", \"acc\": \"1.0\", \"acc_norm\": \"0.0\"}]";
    let (old, new) = (plain(text).unwrap(), plain("{\"doc_id\": 0, \"target\": 3, \"acc\": 1}\n").unwrap());
    assert_eq!((names(&old), values(&old)), (vec!["acc", "acc_norm"], vec![1.0]));
    assert!(old.prints[0].differs(&new.prints[0]), "the targets differ");
}

#[test]
fn python_literals_are_parsed_everywhere() {
    for word in ["NaN", "Infinity", "-Infinity", "null", "\"nan\"", "[NaN, 1]", "{\"a\": NaN}", "[]", "\"x\""] {
        let row = |i: usize, ppl: &str| {
            format!(
                "{{\"ppl\": {ppl}, \"doc_id\": {i}, \"doc\": {{\"x\": [NaN, -Infinity]}}, \"resps\": [[[NaN, true]]], \"acc\": {}}}",
                i % 2
            )
        };
        for at in 0..3 {
            let all: Vec<String> = (0..3).map(|i| row(i, if i == at { word } else { "1.5" })).collect();
            for text in [all.join("\n"), format!("[{}]", all.join(",\n "))] {
                let found = group(text.as_bytes(), &Wanted::default()).unwrap_or_else(|e| panic!("{word}: {e}"));
                assert_eq!((names(&found.runs[0]), found.notes.len()), (vec!["acc"], 1), "{text}");
            }
        }
    }
}

#[test]
fn header_spelling_and_case_do_not_matter() {
    for head in
        ["ID,Correct", "Item ID,Is Correct", "questionId,IsCorrect", "#,Result", "Index,CORRECT?", "Question,right"]
    {
        for text in [
            format!("{head}\n1,Yes\n2,no\n"),
            format!("\u{feff}sep=;\r\n{}\r\n1;YES\r\n2;No\r\n;\r\n", head.replace(',', ";")),
            format!("\n{}\n1\t1,0\n2\t0,0\n", head.replace(',', "\t")),
            format!("{}\n1 | ✓\n2 | ✗\n", head.replace(',', " | ")),
        ] {
            let r = plain(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!((values(&r), ids(&r)), (vec![1.0, 0.0], vec!["1", "2"]), "{text}");
        }
    }
    let row = "{\"ID\": 1, \"Correct\": \"Yes\"}\n{\"Id\": 2, \"IsCorrect\": false}\n";
    assert_eq!(plain(row).unwrap_err().matches("line 2").count(), 1, "all rows must have the same key");
    assert_eq!(values(&plain(&row.replace("IsCorrect", "CORRECT")).unwrap()), [1.0, 0.0]);
}

/// Regression: an inch mark used to open a quotation that extended over the rest of the table.
#[test]
fn only_a_leading_quote_opens_a_quotation() {
    let r = plain("id\tcorrect\tnote\n1\tyes\t5\" pipe\n2\tno\tsaid \"x\n").unwrap();
    assert_eq!(values(&r), [1.0, 0.0]);
    let r = plain("id, correct, note\n1, \"yes\", \"a, \"\"b\"\"\nc\"\n2, \"no\", \"\"\n").unwrap();
    assert_eq!((values(&r), ids(&r)), (vec![1.0, 0.0], vec!["1", "2"]));
}

/// Regression: even with `--match lenient`, the targets `Paris` and `paris ` under one identifier used to count as two documents.
#[test]
fn target_case_does_not_change_the_document() {
    let [a, b] = ["id,prediction,target\n1,x,Paris\n", "id,prediction,target\n1,x, paris \n"]
        .map(|text| [false, true].map(|lenient| of(text, &Wanted { lenient, ..Wanted::default() }).unwrap().prints[0]));
    assert!(a[0].differs(&b[0]) && !a[1].differs(&b[1]));
}

/// lmms-eval logs the prompt as `input`, and prompts vary between models; equal hashes show that the document is the same.
#[test]
fn equal_hash_outweighs_differing_prompt() {
    let one = |hash: &str, input: &str| {
        let text = format!("{{\"doc_id\": 1, \"doc_hash\": \"{hash}\", \"input\": \"{input}\", \"acc\": 1}}\n");
        plain(&text).unwrap().prints[0]
    };
    assert!(!one("a", "Q: x").differs(&one("a", "<user> x")) && one("a", "x").differs(&one("b", "x")));
    assert!(one("", "x").difference(&one("", "y")) == "input");
}

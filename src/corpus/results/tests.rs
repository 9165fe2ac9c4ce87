//! What files of results may hold, and what must not pass.

use super::*;

fn of(text: &str, wanted: &Wanted) -> Result<Results, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    std::fs::write(&path, text).unwrap();
    read(&path, wanted).map_err(|e| e.to_string())
}

fn plain(text: &str) -> Result<Results, String> {
    of(text, &Wanted::default())
}

fn values(results: &Results) -> Vec<f64> {
    results.metrics[0].values.clone()
}

const HARNESS: &str = concat!(
    r#"{"doc_id": 0, "doc": {"q": [1, {"id": 9}]}, "target": "a", "filter": "strict", "metrics": ["acc", "f1"], "acc": 1.0, "f1": 0.25}"#,
    "\n",
    r#"{"doc_id": 1, "filter": "strict", "metrics": ["acc", "f1"], "f1": 0.5, "acc": 0.0, "resps": [["x"]]}"#,
    "\n"
);

#[test]
fn samples_of_the_harness_have_several_metrics() {
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
fn several_filters_are_asked_for() {
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
        values(&of("id,f1\n1,.5\n", &Wanted { metric: Some("f1".into()), filter: None }).unwrap()),
        [0.5]
    );
}

#[test]
fn what_cannot_be_used_is_refused_with_its_line() {
    for (text, words) in [
        ("", &["empty"][..]),
        ("{\"id\": 1, \"correct\": 1}\n{\"id\": 1, \"correct\": 0}\n", &["line 2", "`1` comes twice"]),
        ("{\"id\": 1, \"correct\": 1}\n{\"id\": \"1\", \"correct\": 0}\n", &["line 2", "comes twice"]),
        ("{\"id\": 1, \"correct\": NaN}\n", &["line 1", "NaN and Infinity are no values"]),
        ("{\"id\": 1, \"correct\": -1}\n", &["line 1", "`correct` is -1"]),
        ("{\"id\": 1, \"correct\": 0.5}\n", &["`correct` is 0.5", "0 or 1"]),
        ("{\"id\": 1, \"correct\": 1}\n{\"id\": 2}\n", &["line 2", "`correct`"]),
        ("{\"correct\": 1}\n", &["line 1", "without an identifier"]),
        ("{\"id\": 1, \"score\": 1}\n", &["nothing says what was right", "score"]),
        ("{\"id\": 1, \"correct\": 1", &["line 1"]),
        (
            "{\"id\": 1, \"correct\": 1}\n{\"id\": 2, \"correct\": 1, \"cluster\": 1}\n",
            &["line 2", "cluster"],
        ),
        ("id,correct\n1,nan\n", &["line 2", "not a finite number"]),
        ("id,correct\n1,1,1\n", &["line 2", "3 fields"]),
        ("id,correct\n\"1,1\n", &["line 2", "quoted field"]),
        ("name,correct\n1,1\n", &["header without `id`"]),
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
fn a_line_without_end_is_refused_in_bounded_memory() {
    let long = format!("{{\"id\": 1, \"correct\": 1, \"x\": \"{}\"}}\n", "x".repeat(17 << 20));
    let error = plain(&long).unwrap_err();
    assert!(error.contains("16 MiB"), "{error}");
}

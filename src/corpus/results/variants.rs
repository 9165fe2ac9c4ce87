//! Tests of files whose keys, words and layouts vary.

use super::tests::{group, ids, of, plain, values};
use super::*;

fn notes(text: &str) -> String {
    group(text.as_bytes(), &Wanted::default()).unwrap().notes.join("; ")
}

/// Regression: every status but `pass` used to count as wrong, so that files from before version 0.3 had an accuracy of 0.
#[test]
fn unknown_evalplus_status_is_rejected() {
    let old =
        |status: &str| format!(r#"{{"hash": "h", "eval": {{"H/0": {{"base": [["{status}", [true]]], "plus": []}}}}}}"#);
    let new = |status: &str| format!(r#"{{"eval": {{"H/0": [{{"base_status": "{status}", "plus_status": null}}]}}}}"#);
    for (status, right) in
        [("success", 1.0), ("passed", 1.0), ("pass", 1.0), ("failed", 0.0), ("timed out", 0.0), ("timeout", 0.0)]
    {
        for text in [old(status), new(status)] {
            assert_eq!(values(&plain(&text).unwrap()), [right], "{text}");
        }
    }
    let error = plain(&new("skipped")).unwrap_err();
    assert!(error.contains("H/0: unknown base status `skipped`"), "{error}");
}

/// Regression: the prediction `1.0`, as pandas writes it, used to differ from the target `1`.
#[test]
fn equal_numbers_count_as_equal_answers() {
    for (prediction, target, right) in [
        ("1.0", "1", 1.0),
        ("1", "1.00", 1.0),
        ("-0.50", "-.5", 1.0),
        ("1.01", "1", 0.0),
        ("9007199254740993", "9007199254740992", 0.0),
        ("1.0.0", "1", 0.0),
        ("True", "1", 1.0),
        ("false", "False", 1.0),
    ] {
        let text = format!("id,pred,label\n0,{prediction},{target}\n");
        assert_eq!(values(&plain(&text).unwrap()), [right], "{text}");
        let text = format!("{{\"id\": 0, \"pred\": \"{prediction}\", \"label\": \"{target}\"}}\n");
        assert_eq!(values(&plain(&text).unwrap()), [right], "{text}");
    }
    let other = "id,pred,label\n1,0,A\n2,1,B\n";
    assert!(notes(other).contains("no prediction equals its target, for example `0` and `A`"), "{}", notes(other));
    let target = |target: &str| plain(&format!("id,pred,label\n0,1,{target}\n")).unwrap().prints[0];
    assert!(!target("1").differs(&target("1.0")) && target("1").differs(&target("2")));
}

/// Regression: only `input`, `question` and `example` used to identify the item.
#[test]
fn item_identity_ignores_the_prompt() {
    let one = |key: &str, value: &str| {
        let text = format!("{{\"id\": 1, \"correct\": 1, \"{key}\": \"{value}\"}}\n");
        plain(&text).unwrap().prints[0]
    };
    for key in
        ["sentence", "query", "problem", "instruction", "context", "text", "hash", "input_hash", "question", "Text"]
    {
        let (a, b) = (one(key, "x"), one(key, "y"));
        assert!(a.differs(&b) && !a.differs(&one(key, "x")), "{key}");
        assert_eq!(a.difference(&b), key.to_lowercase());
    }
    for key in ["prompt", "full_prompt", "origin_prompt", "arguments"] {
        let (a, b) = (one(key, "x"), one(key, "y"));
        assert!(!a.differs(&b) && a.prompts_differ(&b) && !a.prompts_differ(&a), "{key}");
    }
    assert_eq!(one("answer", "x").answers_differ(&one("answer", "y")), Some(true));
    let gold =
        |gold: &str| plain(&format!("{{\"id\": 1, \"pred\": \"A\", \"answer\": \"{gold}\"}}\n")).unwrap().prints[0];
    assert_eq!(gold("A").difference(&gold("B")), "target");
    let dataset = |hash: &str| {
        let text =
            format!(r#"{{"eval": {{"H/0": [{{"base_status": "pass", "plus_status": "pass"}}]}}, "hash": "{hash}"}}"#);
        plain(&text).unwrap().prints[0]
    };
    assert!(dataset("a").differs(&dataset("b")) && dataset("a").difference(&dataset("b")) == "hash");
}

/// Regression: `NaN` used to be one cluster of all items.
#[test]
fn missing_cluster_values_are_not_clusters() {
    for word in ["NaN", "NA", "n/a", "None", ""] {
        let error = plain(&format!("id,correct,cluster\n1,1,a\n2,0,{word}\n")).unwrap_err();
        assert!(error.contains("line 3") && error.contains("only some rows"), "{word}: {error}");
        assert!(plain(&format!("id,correct,cluster\n1,1,{word}\n2,0,{word}\n")).unwrap().clusters.is_none());
    }
}

/// Regression: the model with the larger error used to be ahead.
#[test]
fn lower_is_better_for_errors() {
    let wrong = "id,error\n1,0\n2,1\n";
    assert_eq!(values(&plain(wrong).unwrap()), [1.0, 0.0]);
    assert!(notes(wrong).contains("1 for a wrong answer"), "{}", notes(wrong));
    for name in ["wer", "loss", "word_perplexity", "Error Rate"] {
        let text = format!("id,{name}\n1,.5\n2,2\n");
        assert_eq!(values(&plain(&text).unwrap()), [-0.5, -2.0], "{name}");
        assert!(notes(&text).contains("are better"), "{name}");
    }
    assert_eq!(values(&plain("id,correct,error\n1,1,0\n2,0,1\n").unwrap()), [1.0, 0.0]);
}

/// Regression: the first of two columns `correct` used to be read.
#[test]
fn a_column_that_occurs_twice_is_refused() {
    let error = plain("id,correct,correct\n1,1,0\n").unwrap_err();
    assert!(error.contains("line 1") && error.contains("also named `correct`"), "{error}");
    assert_eq!(values(&plain("id,correct,,\n1,1,,\n").unwrap()), [1.0]);
}

/// Regression: a column `correct` with the expected label used to be read as right or wrong without a note.
#[test]
fn ambiguous_correct_column_is_noted() {
    assert!(notes("id,pred,correct\n1,0,0\n2,0,1\n").contains("rename the column to `target`"));
    assert_eq!(notes("id,pred,correct\n1,A,0\n2,B,1\n"), "");
    assert_eq!(notes("id,pred,target,correct\n1,0,0,1\n2,0,1,0\n"), "");
}

#[test]
fn item_id_column_has_aliases() {
    for head in ["", "Unnamed: 0", "guid", "sentence_id", "pairID", "name", "problem_id", "row"] {
        let r = plain(&format!("{head},correct\n7,1\n8,0\n")).unwrap_or_else(|e| panic!("{head}: {e}"));
        assert_eq!((ids(&r), values(&r)), (vec!["7", "8"], vec![1.0, 0.0]), "{head}");
    }
    let r = plain(",id,correct\n0,a,1\n1,b,0\n").unwrap();
    assert_eq!(ids(&r), ["a", "b"], "an index is used only if there is no identifier");
    for (first, second) in [("UID", "pairID"), ("pairID", "UID")] {
        let value = |key: &str, pair: u8| if key == "UID" { "\"x\"".to_owned() } else { format!("\"{pair}\"") };
        let row = |pair| {
            format!(
                "{{\"{first}\": {}, \"{second}\": {}, \"correct\": true}}\n",
                value(first, pair),
                value(second, pair)
            )
        };
        assert_eq!(ids(&plain(&(row(0) + &row(1))).unwrap()), ["x 0", "x 1"]);
    }
}

/// Regression: pandas writes whole numbers as `1.0` in columns with gaps, and long integers used to be rounded.
#[test]
fn identifiers_are_normalised_exactly() {
    let r = plain("id,correct,cluster\n1.0,1,3.0\n2.0,0,3\n1.5,0,4\n").unwrap();
    assert_eq!(
        (ids(&r), r.clusters.iter().flat_map(|c| c.iter()).collect::<Vec<_>>()),
        (vec!["1", "2", "1.5"], vec!["3", "3", "4"])
    );
    let long = "{\"id\": 100000000000000000001, \"correct\": 1}\n{\"id\": 100000000000000000002, \"correct\": 0}\n";
    assert_eq!(ids(&plain(long).unwrap()), ["100000000000000000001", "100000000000000000002"]);
}

#[test]
fn correctness_words_have_aliases() {
    for (a, b) in [
        ("success", "failure"),
        ("C", "I"),
        ("ja", "nein"),
        ("Accepted", "Rejected"),
        ("solved", "unsolved"),
        ("hit", "miss"),
    ] {
        assert_eq!(values(&plain(&format!("id,correct\n1,{a}\n2,{b}\n")).unwrap()), [1.0, 0.0], "{a}");
    }
    let error = plain("id,correct\n1,+\n2,-\n").unwrap_err();
    assert!(error.contains("success or failure"), "{error}");
}

#[test]
fn row_lists_are_parsed_and_pandas_tables_identified() {
    let rows = r#"{"version": 1, "data": [{"id": 1, "correct": 1}, {"id": 2, "correct": 0}]}"#;
    assert_eq!(values(&plain(rows).unwrap()), [1.0, 0.0]);
    for (text, orient) in [
        (r#"{"id": {"0": 1, "1": 2}, "correct": {"0": 1, "1": 0}}"#, "orient='columns'"),
        (r#"{"columns": ["id", "correct"], "index": [0], "data": [[1, 1]]}"#, "orient='split'"),
    ] {
        let error = plain(text).unwrap_err();
        assert!(error.contains(orient) && error.contains("to_json"), "{error}");
    }
}

#[test]
fn answer_key_has_aliases_and_may_be_a_list() {
    for (prediction, target) in [("y_pred", "y_true"), ("output", "reference"), ("model_output", "gold_answer")] {
        let row = |id, said| format!("{{\"id\": {id}, \"{prediction}\": \"{said}\", \"{target}\": \"A\"}}\n");
        assert_eq!(values(&plain(&(row(1, "A") + &row(2, "B"))).unwrap()), [1.0, 0.0], "{prediction}");
    }
    let scored = "{\"id\": 1, \"output\": \"so A\", \"target\": \"A\", \"score\": 0.5}\n";
    assert_eq!(values(&plain(scored).unwrap()), [0.5], "a score takes precedence over the output");
    let row = |id, said| format!("{{\"id\": {id}, \"prediction\": {said}, \"target\": [\"A\", \"C\"]}}\n");
    let lists = row(1, "\"C\"") + &row(2, "\"B\"") + &row(3, "null");
    assert_eq!(values(&plain(&lists).unwrap()), [1.0, 0.0, 0.0]);
    assert!(notes(&lists).contains("1 of 3 predictions are empty") && notes(&lists).contains("targets are lists"));
    let table = "id,prediction,target\n1,,A\n2,A,A\n";
    assert_eq!(
        (values(&plain(table).unwrap()), notes(table).as_str()),
        (vec![0.0, 1.0], "1 of 2 predictions are empty and count as wrong")
    );
}

/// Regression: such numbers used to be reported as missing.
#[test]
fn thousands_separator_is_named_in_the_error() {
    for table in ["id;score\n1;1.234,5\n2;1.000,5\n", "id,score\n1,\"1,234\"\n2,\"1,000\"\n"] {
        let error = plain(table).unwrap_err();
        assert!(error.contains("line 2") && error.contains("thousands separators"), "{error}");
    }
    let wanted = Wanted { metric: Some("score".into()), ..Wanted::default() };
    assert_eq!(values(&of("id;score\n1;1,25\n", &wanted).unwrap()), [1.25]);
}

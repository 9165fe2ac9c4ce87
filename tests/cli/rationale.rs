//! `probity rationale`: JSON keys, numbers that can be worked out by hand, supported combinations of formats, and invalid input.

use std::path::Path;

use serde_json::{Value, json};

use super::common::{Probity, refused, root, text};

fn asked(probity: &Probity, args: &[&str]) -> Value {
    let output = probity.run(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    serde_json::from_str(&text(&output.stdout)).unwrap()
}

fn near(v: &Value, key: &str, want: f64) {
    assert!((v[key].as_f64().unwrap() - want).abs() < 1e-12, "{key} is {}, not {want}", v[key]);
}

/// Two originals with one partner each: one partner keeps the ranking, the other reverses it.
fn pairs() -> String {
    let words = ["two", "dogs", "near", "us"];
    let same = [0.4, 0.3, 0.2, 0.1];
    let turned = [0.1, 0.2, 0.3, 0.4];
    let row = |dimension: &str, kind: &str, other: [f64; 4]| {
        json!({"tokens": words, "scores": same, "gold": [0, 2], "perturbed_tokens": words, "perturbed_scores": other,
            "perturbed_gold": [0, 2], "dimension": dimension, "perturbation": kind})
    };
    format!("{}\n{}\n", row("grammar", "import", same), row("semantics", "trans", turned))
}

#[test]
fn json_keys_are_the_published_ones() {
    let probity = Probity::new();
    let file = probity.file("pairs.jsonl", &pairs());
    let v = asked(&probity, &["rationale", &file, "--json"]);
    let keys: Vec<&str> = v.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["map", "map_star", "pcc", "pcc_kept", "pcc_total", "random_f1", "token_f1"]);
    // K = 2 of 4 words: with either ranking, the top two contain one of the two gold words.
    near(&v, "token_f1", 0.5);
    near(&v, "random_f1", 0.5);
    // If reversed, the top k contain 0 of 1, 0 of 2, 2 of 3 and 4 of 4: (0 + 0 + 2/3 + 1)/4; if unchanged, the value is 1.
    near(&v, "map", (1.0 + 5.0 / 12.0) / 2.0);
    near(&v, "map_star", 1.0);
    near(&v, "pcc", 1.0);
    assert_eq!((v["pcc_kept"].as_u64(), v["pcc_total"].as_u64()), (Some(1), Some(1)));
    let three = asked(&probity, &["rationale", &file, "--json", "--k", "3"]);
    // K = 3 of 4 words: the top three contain both gold words for the first original and its partner, but only one of two for the reversed
    // ranking.
    near(&three, "token_f1", (0.8 + 0.8 + 0.8 + 0.4) / 4.0);
}

#[test]
fn text_output_states_n_intervals_and_chance() {
    let probity = Probity::new();
    let file = probity.file("pairs.jsonl", &pairs());
    let printed = text(&probity.run(&["rationale", &file]).stdout);
    for word in [
        "2 originals, 2 pairs",
        "token-F1  0.5000 [",
        "n 4  by chance 0.5000",
        "1 of 1 pairs with p < .05",
        "mean ratio of these gold rationales (0.500 in grammar, 0.500 in semantics)",
        "By dimension",
        "By perturbation",
    ] {
        assert!(printed.contains(word), "no `{word}` in:\n{printed}");
    }
    let table = text(&probity.run(&["rationale", &file, "--table", "tex"]).stdout);
    assert!(table.contains("\\begin{tabular}") && table.contains("F1$\\Delta$") && table.contains("trans"), "{table}");
    let csv = text(&probity.run(&["rationale", &file, "--table", "csv"]).stdout);
    assert!(csv.contains("–,–,grammar,MAP,1,"), "{csv}");
}

#[test]
fn gold_and_scores_may_be_in_separate_files() {
    let probity = Probity::new();
    let rows = root().join("tests/rows");
    let [gold, predictions] =
        ["rationale.jsonl", "rationale-predictions.jsonl"].map(|f| rows.join(f).display().to_string());
    let v = asked(&probity, &["rationale", &gold, &predictions, "--json", "--k", "gold"]);
    // Both words of the original are found; the partner is scored by its best single set or by the union.
    near(&v, "token_f1", 1.0);
    assert_eq!((&v["pcc"], v["pcc_total"].as_u64()), (&Value::Null, Some(0)), "PCC needs scores, not only ranks");
    let ding = rows.join("ding-koehn.jsonl").display().to_string();
    let v = asked(&probity, &["rationale", &ding, "--json", "--k", "gold", "--system", "sota_verum"]);
    assert!(v["token_f1"].is_f64(), "{v}");
    let inseq = rows.join("inseq.json").display().to_string();
    refused(&probity.run(&["rationale", &inseq]), 2, &["gold rationale or a perturbed partner"]);
    // Scores the first of inseq's sequences, identified by its index.
    let gold = probity.file("gold.jsonl", "{\"id\": 0, \"tokens\": [\"the\", \"ship\"], \"rationales\": [[1]]}\n");
    near(&asked(&probity, &["rationale", &inseq, &gold, "--json"]), "token_f1", 1.0);
}

#[test]
fn omissions_are_reported() {
    let probity = Probity::new();
    let rows = format!(
        "{}{}\n{}\n{}\n",
        pairs(),
        r#"{"tokens": ["a", "b"], "scores": [1]}"#,
        r#"{"tokens": ["x\u001b[31m", "\u202eb"], "scores": [NaN, 1]}"#,
        json!({"id": "e", "tokens": ["ا", "ب"], "scores": [0.5, 0.5], "gold": [], "perturbed_tokens": ["ا", "ب", "ت"],
            "perturbed_scores": [0.1, 0.1, 0.1]})
    );
    let file = probity.file("hostile.jsonl", &rows);
    let output = probity.run(&["rationale", &file]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for word in [
        "dropped 2 × invalid value, first in line 3",
        "inputs with an empty gold rationale, whose token-F1 is 0: 1",
        "undefined for 1 with constant scores",
    ] {
        assert!(printed.contains(word), "no `{word}` in:\n{printed}");
    }
    let quiet = probity.run(&["rationale", &file, "--json"]);
    assert_eq!(text(&quiet.stdout).lines().count(), 1);
    assert!(text(&quiet.stderr).contains("dropped 2 ×"), "{}", text(&quiet.stderr));
}

#[test]
fn invalid_input_is_refused_with_a_reason() {
    let probity = Probity::new();
    let file = probity.file("pairs.jsonl", &pairs());
    for (option, value, word) in [
        ("--k", "0", "above 0"),
        ("--k", "-1", "above 0 and at most 1"),
        ("--k", "1.5", "at most 1"),
        ("--k", "many", "neither a rule nor a number"),
        ("--match", "strng", "string"),
        ("--level", "2", "probability"),
        ("--level", "1", "between 0 and 1"),
        ("--system", "x", "contain no scores of the system"),
    ] {
        refused(&probity.run(&["rationale", &file, option, value]), 2, &[word]);
    }
    refused(&probity.run(&["rationale", "/no/such/file"]), 2, &["/no/such/file"]);
    refused(&probity.run(&["rationale"]), 2, &["FILE"]);
    let none = probity.file("none.jsonl", "{\"tokens\": [\"a\"], \"scores\": []}\n");
    refused(&probity.run(&["rationale", &none]), 2, &["none.jsonl, line 1", "0 scores for 1 tokens"]);
    let gold = root().join("tests/rows/rationale.jsonl").display().to_string();
    refused(&probity.run(&["rationale", &gold]), 2, &["no input has both words and scores"]);
    let other = root().join("tests/rows/blimp.jsonl").display().to_string();
    refused(&probity.run(&["rationale", &other]), 2, &["no input has both words and scores"]);
}

/// Two annotators and three checkers: one rationale passes, one is returned to both annotators, and one only to the annotator who marked
/// it.
#[test]
fn several_annotators_agree_and_merge_in_rounds() {
    let probity = Probity::new();
    let line = |id: u32, marks: &[u32], scores: Option<(u32, u32)>| {
        let mut line = json!({"sent_id": id, "sample_type": "ori", "sent_token": ["a", "b", "c", "d", "[MASK]"],
            "mask_index": 4, "rationale_ids": marks});
        if let Some((sufficiency, compactness)) = scores {
            (line["sufficiency"], line["compactness"]) = (sufficiency.into(), compactness.into());
        }
        format!("{line}\n")
    };
    let marked = |third: &[u32]| [line(1, &[0], None), line(2, &[1], None), line(3, third, None)].concat();
    let scored = |c: [u32; 3]| {
        let all = [(1, 0), (2, 1), (3, 2)].into_iter().zip(c);
        all.map(|((id, mark), c)| line(id, &[mark], Some((3, c)))).collect::<String>()
    };
    let files = [
        ("anna", marked(&[2])),
        ("ben", marked(&[0])),
        ("x", scored([4, 3, 3])),
        ("y", scored([4, 3, 4])),
        ("z", scored([3, 4, 3])),
    ];
    let files = files.map(|(name, text)| probity.file(&format!("{name}.jsonl"), &text));
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    let agreed = asked(&probity, &[&["rationale", "agree", "--json"], &all[..2]].concat());
    // Of twelve words, pairs of annotators' marks differ on two: alpha is 1 - 23 · 4 / (2 · 6 · 18).
    near(&agreed["marks"], "mean", 1.0 - 23.0 * 4.0 / (2.0 * 6.0 * 18.0));
    let [out, back] = ["gold.jsonl", "back"].map(|n| Path::new(all[0]).with_file_name(n).display().to_string());
    let printed = probity.run(&[&["rationale", "merge", "--out", &out, "--back", &back], &all[..]].concat());
    let printed = text(&printed.stdout);
    for part in [
        "round 1 of 3: 1 of 4 rationales pass",
        "2 are returned",
        "returned to anna: 2",
        "returned to ben: 1",
        "1 have no scores",
    ] {
        assert!(printed.contains(part), "no `{part}` in:\n{printed}");
    }
    let lines = |path: &str| std::fs::read_to_string(path).unwrap().lines().count();
    assert_eq!([lines(&out), lines(&format!("{back}/anna.jsonl")), lines(&format!("{back}/ben.jsonl"))], [1, 2, 1]);
    refused(&probity.run(&[&["rationale", "merge", "--out", &out], &all[..]].concat()), 2, &["gold.jsonl", "exists"]);
    let third = asked(&probity, &[&["rationale", "merge", "--json", "--round", "3"], &all[..]].concat());
    let fates: Vec<&str> = third["rationales"].as_array().unwrap().iter().filter_map(|r| r["fate"].as_str()).collect();
    assert_eq!(fates, ["passes", "dropped", "unscored", "dropped"]);
    refused(&probity.run(&["rationale", "merge", all[0], all[0]]), 2, &["a second file is also called anna"]);
    refused(&probity.run(&["rationale", "merge", all[0], "--round", "4"]), 2, &["1..=3"]);
    let shown = asked(&probity, &["data", "show", all[0], "--json"]);
    assert_eq!(shown["rationales"][""], json!({"originals": 3, "pairs": 0, "with_gold": 3, "ratio": 0.2}));
}

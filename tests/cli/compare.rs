//! `probity compare` and the power lab, headless.

use serde_json::Value;

use super::common::{Probity, json_lines, refused, text};

/// Results on 60 items: both sides are right on 40, only A on 10, only B on 2, neither on 8.
fn rows(first: bool) -> String {
    let right = |i: usize| if first { i < 50 } else { i < 40 || (50..52).contains(&i) };
    (0..60).map(|i| format!("{{\"id\": {i}, \"correct\": {}}}\n", right(i))).collect()
}

#[test]
fn files_are_matched_by_item() {
    let probity = Probity::new();
    let a = probity.file("a.jsonl", &(rows(true) + "{\"id\": \"more\", \"correct\": 1}\n"));
    let b = probity.file("b.jsonl", &rows(false));
    let output = probity.run(&["compare", &a, &b, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let v = &json_lines(&output.stdout)[0];
    for (key, want) in [
        ("both", 40),
        ("only_a", 10),
        ("only_b", 2),
        ("neither", 8),
        ("matched", 60),
        ("unmatched_a", 1),
        ("unmatched_b", 0),
        ("wrong_to_right", 2),
        ("right_to_wrong", 10),
        ("family", 1),
    ] {
        assert_eq!(v[key].as_u64(), Some(want), "{key}: {v}");
    }
    assert!((v["exact_p"].as_f64().unwrap() - 0.038_574_218_75).abs() < 1e-12);
    assert!((v["difference"]["mean"].as_f64().unwrap() - 8.0 / 60.0).abs() < 1e-12);
    assert!(v["difference"]["lo"].as_f64().unwrap() > 0.0);
    for key in ["a", "b", "chi2_p", "holm_p", "bh_q", "margin", "equivalence_p", "level"] {
        assert!(!v[key].is_null(), "{key}");
    }
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(
        printed.contains("60 items in both, 1 only in A") && printed.contains("a.jsonl beats b.jsonl by 13.3 points"),
        "{printed}"
    );
    assert!(printed.contains("if the true difference were as observed, 60 items would show it"), "{printed}");
    assert!(printed.contains("mid-p .022, exact p .039"), "{printed}");
    // Wilson's interval for each side: 50 and 42 of 60.
    assert!(printed.contains("a.jsonl 83.3 [72.0, 90.7], b.jsonl 70.0 [57.5, 80.1] (%)"), "{printed}");
    assert!((v["accuracy_b"]["lo"].as_f64().unwrap() - 0.574_9).abs() < 1e-4, "{v}");
}

/// A pilot without a difference has power 0 for any number of items, and the program explains this.
#[test]
fn equal_sides_have_no_difference_to_detect() {
    let probity = Probity::new();
    let one = |right: u8| format!("{{\"id\": 1, \"correct\": {right}}}\n");
    let (a, b) = (probity.file("a.jsonl", &rows(true)), probity.file("one.jsonl", &one(1)));
    for file in [&a, &b] {
        let printed = text(&probity.run(&["compare", file, file]).stdout);
        assert!(
            printed.contains("0.0 % of the time\nthe observed difference is 0, so no number of items"),
            "{printed}"
        );
    }
    let printed = text(&probity.run(&["compare", &b, &b]).stdout);
    assert!(printed.starts_with("1 item in both") && printed.contains(", 1 item would show it"), "{printed}");
}

#[test]
fn samples_with_filters_metrics_seeds_and_clusters() {
    let probity = Probity::new();
    let row = |i: usize, filter: &str, acc: f64, f1: f64| {
        format!(
            "{{\"doc_id\": {i}, \"filter\": \"{filter}\", \"metrics\": [\"acc\", \"f1\"], \"acc\": {acc}, \"f1\": {f1}}}\n"
        )
    };
    let make = |shift: usize| -> String {
        (0..40)
            .flat_map(|i| {
                ["strict", "loose"].map(|f| {
                    row(i, f, f64::from(u8::from(!(i + shift).is_multiple_of(3))), (i * shift % 7) as f64 / 7.0)
                })
            })
            .collect()
    };
    let (a, b) = (probity.file("samples_a.jsonl", &make(1)), probity.file("samples_b.jsonl", &make(2)));
    let all = json_lines(&probity.run(&["compare", &a, &b, "--json"]).stdout);
    assert_eq!((all.len(), &all[0]["filter"], &all[3]["filter"]), (4, &"strict".into(), &"loose".into()));
    let output = probity.run(&["compare", &a, &b, "--filter", "strict", "--json"]);
    let both = json_lines(&output.stdout);
    assert_eq!(both.iter().map(|v| v["metric"].as_str().unwrap()).collect::<Vec<_>>(), ["acc", "f1"]);
    assert_eq!(both[0]["family"].as_u64(), Some(2));
    assert!(both[1]["both"].is_null() && both[1]["test"] == "paired t over items" && !both[1]["bootstrap"].is_null());
    let one = json_lines(&probity.run(&["compare", &a, &b, "--filter", "loose", "--metric", "f1", "--json"]).stdout);
    assert_eq!(one.len(), 1);
    let seeds = json_lines(
        &probity
            .run(&["compare", &a, &b, "--filter", "loose", "--metric", "acc", "--also-a", &b, "--also-b", &a, "--json"])
            .stdout,
    );
    assert_eq!((seeds[0]["seeds"].as_u64(), seeds[0]["difference"]["mean"].as_f64()), (Some(2), Some(0.0)));
    refused(
        &probity.run(&["compare", &a, &b, "--filter", "loose", "--also-a", &b]),
        2,
        &["2 run(s)", "the same number of runs"],
    );
    let clustered = |first: bool| {
        let mut table = String::from("id,correct,cluster\n");
        (0..60)
            .for_each(|i| table += &format!("{i},{},{}\n", u8::from(if first { i % 3 > 0 } else { i % 4 > 0 }), i / 6));
        table
    };
    let (a, b) = (probity.file("a.csv", &clustered(true)), probity.file("b.csv", &clustered(false)));
    let v = &json_lines(&probity.run(&["compare", &a, &b, "--json"]).stdout)[0];
    assert_eq!(
        (v["clusters"].as_u64(), v["test"].as_str()),
        (Some(10), Some("paired t over clusters, score interval"))
    );
    // Predictions for a further comparison take the clusters into account and are in the JSON.
    let outlook = &v["outlook"];
    assert!(outlook["design"].as_f64().is_some() && outlook["power"]["mean"].as_f64().is_some(), "{outlook}");
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(printed.contains("60 items in 10 clusters (design effect"), "{printed}");
}

/// Regression: if four of thirty clusters differed, all in favour of one side, Student's t used to give p .044 and an interval above 0,
/// although chance alone gives .125. The interval is a bound only if all clusters are equal.
#[test]
fn few_differing_clusters_show_no_difference() {
    let probity = Probity::new();
    let clustered = |first: bool, differing: usize| {
        let row = |i: usize| format!("{i},{},{}\n", u8::from(first || i % 5 > 2 || i / 5 >= differing), i / 5);
        format!("id,correct,cluster\n{}", (0..150).map(row).collect::<String>())
    };
    for (differing, bound) in [(0u64, true), (4, false), (12, false)] {
        let a = probity.file("a.csv", &clustered(true, differing as usize));
        let b = probity.file("b.csv", &clustered(false, differing as usize));
        let v = &json_lines(&probity.run(&["compare", &a, &b, "--json"]).stdout)[0];
        assert_eq!((v["differing"].as_u64(), v["bound"].as_bool()), (Some(differing), Some(bound)), "{v}");
        let (lo, p) = (v["difference"]["lo"].as_f64().unwrap(), v["p"].as_f64().unwrap());
        assert!((lo < 0.0) == (differing < 12) && (p > 0.05) == (differing < 12), "{v}");
        assert_eq!(p == 0.125, differing == 4, "{v}");
        let printed = text(&probity.run(&["compare", &a, &b]).stdout);
        let said = "the interval is conservative: it contains the true difference at least 95.0 % of the time, because the sides agree on all 30 clusters";
        assert_eq!(printed.contains(said), bound, "{printed}");
        // Regression: McNemar's tests used to ignore the clusters without saying so.
        assert!(printed.contains("as if items were independent: "), "{printed}");
    }
}

#[test]
fn files_that_cannot_be_compared_are_refused() {
    let probity = Probity::new();
    let a = probity.file("a.jsonl", &rows(true));
    let other = probity.file("other.jsonl", "{\"id\": \"x\", \"correct\": 1}\n");
    let twice = probity.file("twice.jsonl", "{\"id\": 1, \"correct\": 1}\n{\"id\": 1, \"correct\": 1}\n");
    refused(&probity.run(&["compare", &a, &other]), 2, &["the sides have no item in common", "`x`"]);
    refused(&probity.run(&["compare", &a, &twice]), 2, &["twice.jsonl, line 2", "occurs twice"]);
    refused(&probity.run(&["compare", &a, "/no/such.jsonl"]), 2, &["/no/such.jsonl"]);
    refused(&probity.run(&["compare", &a, "/"]), 2, &["/ is a folder"]);
    refused(&probity.run(&["compare", &a, &a, "--margin", "0"]), 2, &["--margin"]);
    refused(&probity.run(&["compare", &a, &a, "--level", "95"]), 2, &["level"]);
    refused(&probity.run(&["compare", &a, &a, "--level", ".99999"]), 2, &["at most 0.9999"]);
    refused(&probity.run(&["compare", &a, &a, "--metric", "f1"]), 2, &["no metric `f1`"]);
}

#[test]
fn partial_matches_are_counted_and_disjoint_sets_refused() {
    let probity = Probity::new();
    let some = |from: usize, to: usize| -> String {
        (from..to).map(|i| format!("{{\"id\": {i}, \"correct\": {}}}\n", i % 2)).collect()
    };
    let (a, b) = (probity.file("a.jsonl", &some(0, 40)), probity.file("b.jsonl", &some(10, 60)));
    let v = &json_lines(&probity.run(&["compare", &a, &b, "--json"]).stdout)[0];
    let count = |key: &str| v[key].as_u64();
    assert_eq!((count("matched"), count("unmatched_a"), count("unmatched_b")), (Some(30), Some(10), Some(20)));
    let apart = probity.file("apart.jsonl", &some(100, 140));
    refused(&probity.run(&["compare", &a, &apart]), 2, &["the sides have no item in common"]);
}

#[test]
fn duplicate_identifier_is_refused_with_its_line() {
    let probity = Probity::new();
    let a = probity.file("a.csv", "id,correct\n1,1\n2,0\n1,0\n");
    refused(&probity.run(&["compare", &a, &a]), 2, &["a.csv, line 4", "`1` occurs twice"]);
}

#[test]
fn non_binary_metric_uses_paired_t_and_resampling() {
    let probity = Probity::new();
    let row = |i: usize, shift: usize| {
        format!("{{\"doc_id\": {i}, \"metrics\": [\"f1\"], \"f1\": {}}}\n", ((i + shift) % 7) as f64 / 7.0)
    };
    let file = |shift: usize| (0..50).map(|i| row(i, shift)).collect::<String>();
    let (a, b) = (probity.file("a.jsonl", &file(0)), probity.file("b.jsonl", &file(1)));
    let v = &json_lines(&probity.run(&["compare", &a, &b, "--json"]).stdout)[0];
    assert!(v["exact_p"].is_null() && v["both"].is_null() && !v["bootstrap"].is_null(), "{v}");
    assert_eq!(v["test"], "paired t over items");
    let printed = probity.run(&["compare", &a, &b]).stdout;
    assert!(
        text(&printed).contains("paired t over items") && text(&printed).contains("bootstrap interval"),
        "{}",
        text(&printed)
    );
    // If values must be right or wrong, 0.5 is refused.
    let half = probity.file("half.jsonl", "{\"id\": 1, \"correct\": 0.5}\n");
    refused(&probity.run(&["compare", &half, &half]), 2, &["`correct` is 0.5", "0 or 1"]);
}

#[test]
fn non_numeric_values_and_negative_counts_are_refused() {
    let probity = Probity::new();
    for (name, value) in [("nan", "NaN"), ("infinite", "Infinity"), ("negative", "-1"), ("words", "\"often\"")] {
        let row = format!("{{\"id\": 1, \"correct\": {value}}}\n");
        let a = probity.file(&format!("{name}.jsonl"), &row);
        refused(&probity.run(&["compare", &a, &a]), 2, &["line 1"]);
    }
    refused(&probity.run(&["mcnemar", "-1", "2"]), 2, &["-1"]);
    refused(&probity.run(&["power", "--p01", "-0.1", "--p10", ".1", "--n", "9"]), 2, &["-0.1"]);
}

#[test]
fn enormous_line_is_refused_without_buffering() {
    let probity = Probity::new();
    let long = format!("{{\"id\": 1, \"correct\": 1, \"x\": \"{}\"}}\n", "x".repeat(17 << 20));
    let a = probity.file("long.jsonl", &long);
    refused(&probity.run(&["compare", &a, &a]), 2, &["long.jsonl", "16 MiB"]);
}

/// Runs the lab on a file of labelled sentences.
fn on_sentences(probity: &Probity, rows: &str) -> std::process::Output {
    probity.file("own.tsv", rows);
    let spec = probity.file(
        "own.toml",
        "lab = \"power\"\nmodels = [\"bert-tiny\", \"untrained:bert-tiny\"]\n[task]\ndata = \"own.tsv\"\nsizes = [8]\n\
         [training]\ngrid = \"small\"\nseeds = 1\n",
    );
    probity.run(&["run", &spec, "--quiet", "--no-session"])
}

/// Lines in SentEval's format: split, label, sentence.
fn sentences(n: usize, label: impl Fn(usize) -> &'static str) -> String {
    let part = |i: usize| ["tr", "va", "te"][i % 3];
    (0..n).map(|i| format!("{}\t{}\tthe key number {i} is here\n", part(i), label(i))).collect()
}

#[test]
fn single_class_cannot_be_probed() {
    let output = on_sentences(&Probity::new(), &sentences(60, |_| "past"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let told = text(&output.stderr);
    assert!(told.contains("all its sentences have the label `past`: a probe needs two"), "{told}");
}

/// Regression: `Past` and `past` used to become two classes without a warning.
#[test]
fn labels_that_differ_only_in_case_are_reported() {
    let labels = |i: usize| ["Past", "past", "present"][i / 3 % 3];
    let output = on_sentences(&Probity::new(), &sentences(180, labels));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("the labels `Past` and `past` differ only in case and count as two classes"), "{told}");
}

#[test]
fn class_with_too_few_sentences_is_named_with_a_fix() {
    let output = on_sentences(&Probity::new(), &sentences(60, |i| if i < 5 { "rare" } else { "common" }));
    let printed = text(&output.stderr);
    assert!(printed.contains("`rare` has 5 sentences") && printed.contains("task.sizes"), "{printed}");
}

/// A sentence in two parts of a file would be used for both training and testing, so it is used once and counted.
#[test]
fn sentence_in_two_parts_is_used_once_and_counted() {
    let label = |i: usize| if i.is_multiple_of(2) { "past" } else { "present" };
    let rows = sentences(60, label) + "te\tpast\tthe key number 0 is here\n";
    let output = on_sentences(&Probity::new(), &rows);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("left out: 1 repeated"), "{}", text(&output.stdout));
}

/// Regression: two labellings of the same sentences used to be compared unpaired without a note that they share sentences.
#[test]
fn two_labellings_explain_the_unpaired_comparison() {
    let probity = Probity::new();
    probity.file("tense.tsv", &sentences(120, |i| ["past", "present"][i % 2]));
    probity.file("number.tsv", &sentences(120, |i| ["one", "many"][i * 7 % 15 / 8]));
    let run = |second: &str| {
        let spec = format!(
            "lab = \"power\"\nmodels = [\"bert-tiny\"]\n[task]\ndata = \"tense.tsv\"\nsizes = [32]\n[b]\nlayer = 0\n{second}\
             [training]\ngrid = \"small\"\nseeds = 1\n"
        );
        let output = probity.run(&["run", &probity.file("two.toml", &spec), "--quiet", "--no-session"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let printed = run("data = \"number.tsv\"\n");
    assert!(
        printed.contains("unpaired t")
            && printed.contains("of B's 16 test sentences are also A's, but with different labels"),
        "{printed}"
    );
    let printed = run("");
    assert!(!printed.contains("unpaired") && !printed.contains("with other labels"), "{printed}");
}

#[test]
fn study_runs_by_name_and_unknown_name_lists_studies() {
    let probity = Probity::new();
    refused(&probity.run(&["run", "--preset", "marginss"]), 2, &["margins"]);
    let output = probity.run(&["run", "--preset", "classifiers", "--forecast", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(json_lines(&output.stdout)[0]["model"], "bert-mini");
}

/// A small comparison with every additional measurement.
#[test]
fn additional_measurements_are_reported() {
    let probity = Probity::new();
    let spec = probity.file(
        "also.toml",
        "lab = \"power\"\nmodels = [\"bert-tiny\"]\n[task]\nname = \"subj_number\"\nsizes = [8]\n[b]\ncorrupted = 2\n\
         [also]\nmdl = true\ncontrol = true\nfolds = true\nnoise = [1.0]\n[test]\nbound = { own = 40.0 }\n\
         [plan]\nhypothesis = \"differ\"\n[training]\ngrid = \"small\"\nseeds = 1\n",
    );
    let output = probity.run(&["run", &spec, "--json", "--no-session"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let all = json_lines(&output.stdout);
    let under =
        |own: bool| all.iter().filter(|v| v["kind"] == "noise" && v["own"].as_bool().unwrap_or(false) == own).count();
    assert_eq!((under(true), under(false)), (1, 1), "the comparison without noise is included");
    for kind in ["control", "noise", "tally", "collapse"] {
        assert!(kinds(&all).contains(&kind), "{kind}: {:?}", kinds(&all));
    }
    // Sixteen sentences are too few for online coding; this is reported, and the other measurements continue.
    let codes: Vec<&Value> = all.iter().filter(|v| v["kind"] == "mdl").collect();
    assert!(codes.len() == 2 && codes.iter().all(|v| v["method"] == "variational"), "{codes:?}");
    assert!(codes.iter().all(|v| v["codelength"].as_f64().unwrap() > 0.0 && v["uniform"] == 16.0));
    assert!(text(&output.stderr).contains("too few for online coding"));
    let comparisons: Vec<&Value> = all.iter().filter(|v| v["kind"] == "comparison").collect();
    let planned: Vec<bool> = comparisons.iter().map(|v| v["planned"].as_bool().unwrap()).collect();
    assert!(planned[0] && comparisons[0]["n"] == 4, "{planned:?}");
    let pooled = comparisons.last().unwrap();
    assert_eq!((pooled["n"].as_u64(), pooled["planned"].as_bool()), (Some(24), Some(false)));
    assert!(pooled["metric"].as_str().unwrap().contains("6 folds"));
    let required = all.iter().find(|v| v["kind"] == "required").unwrap();
    assert_eq!(required["bound"], "own");
    let control = all.iter().find(|v| v["kind"] == "control").unwrap();
    // How many of the sixteen random labels a probe learns depends on the model.
    let memorised = control["memorised"].as_f64().unwrap();
    assert!(memorised > 0.0 && memorised <= 1.0 && control["at_n"] == 16, "{control}");
    // Theorem 1 computed by hand from the measured values: n = 40 / ε², where ε is a quarter of the difference, because each side has a
    // bound.
    let controls: Vec<&Value> = all.iter().filter(|v| v["kind"] == "control").collect();
    let accuracy: Vec<f64> = controls.iter().map(|v| v["accuracy"].as_f64().unwrap()).collect();
    let largest = comparisons.iter().rfind(|v| v["metric"] == "accuracy after 16 training examples").unwrap();
    let gap = largest["difference"]["mean"].as_f64().unwrap() - (accuracy[0] - accuracy[1]);
    let n = (gap.abs() > 1e-4).then(|| (40.0 / (gap / 4.0).powi(2)) as u64);
    assert!(controls[0]["n_train"].is_null() && controls[1]["n_train"].as_u64() == n, "{n:?}, {gap}: {controls:?}");
}

/// Kinds of finding in order of first appearance.
fn kinds(all: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for v in all {
        let kind = v["kind"].as_str().unwrap();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

#[test]
fn the_lab_compares_files_headless() {
    let probity = Probity::new();
    probity.file("a.jsonl", &rows(true));
    probity.file("b.jsonl", &rows(false));
    let spec =
        probity.file("files.toml", "lab = \"power\"\n[a]\nresults = [\"a.jsonl\"]\n[b]\nresults = [\"b.jsonl\"]\n");
    let output = probity.run(&["run", &spec, "--json", "--no-session"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let all = json_lines(&output.stdout);
    for kind in ["configuration", "comparison", "power", "required", "sequential", "collapse", "summary"] {
        assert!(kinds(&all).contains(&kind), "{kind}: {:?}", kinds(&all));
    }
    let last = |kind: &str| all.iter().rev().find(|v| v["kind"] == kind).unwrap();
    assert_eq!((last("comparison")["only_a"].as_u64(), last("comparison")["n"].as_u64()), (Some(10), Some(60)));
    assert_eq!(last("sequential")["at_n"].as_u64(), Some(60));
    assert!(last("required")["bound"].is_null() && last("required")["n_test"]["mean"].as_f64().unwrap() > 30.0);
}

/// Regression: the requested test used to affect only the power, but not the p-value next to it.
#[test]
fn requested_test_decides() {
    let probity = Probity::new();
    let (a, b) = (probity.file("a.jsonl", &rows(true)), probity.file("b.jsonl", &rows(false)));
    let tests = [("mid_p", "mid_p"), ("exact", "exact_p"), ("chi2", "chi2_p"), ("corrected", "corrected_p")];
    for (test, key) in tests {
        let v = &json_lines(&probity.run(&["compare", &a, &b, "--test", test, "--json"]).stdout)[0];
        assert_eq!((&v["p"], &v["holm_p"]), (&v[key], &v[key]), "{test}: {v}");
    }
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(printed.contains("(mid-p McNemar, Tango's interval)"), "{printed}");
    let printed = text(&probity.run(&["compare", &a, &b, "--test", "chi2"]).stdout);
    assert!(printed.contains("(McNemar by chi-square, Tango's interval)"), "{printed}");
    refused(&probity.run(&["compare", &a, &b, "--test", "chisq"]), 2, &["chisq", "chi2"]);
    let spec = "lab = \"power\"\n[a]\nresults = [\"a.jsonl\"]\n[b]\nresults = [\"b.jsonl\"]\n[test]\nby = \"chi2\"\n";
    let spec = probity.file("by.toml", spec);
    let all = json_lines(&probity.run(&["run", &spec, "--json", "--no-session"]).stdout);
    let c = all.iter().rev().find(|v| v["kind"] == "comparison").unwrap();
    assert_eq!(c["p"], c["chi2_p"]);
}

/// Regression: the lab on files used to compare the first metric of the first file without naming the others.
#[test]
fn omitted_metrics_are_reported() {
    let probity = Probity::new();
    let rows = |more: &str| {
        (0..80).map(|i| format!("{{\"doc_id\": {i}, {more} \"acc\": {}}}\n", i % 3 % 2)).collect::<String>()
    };
    let a = rows("\"metrics\": [\"only\", \"acc\"], \"only\": 1,");
    let b = rows("\"metrics\": [\"acc\", \"other\"], \"other\": 0,");
    let (a, b) = (probity.file("samples_a.jsonl", &a), probity.file("samples_b.jsonl", &b));
    let output = probity.run(&["compare", &a, &b, "--json"]);
    assert_eq!(json_lines(&output.stdout).len(), 1, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("because some files lack them: only, other"), "{}", text(&output.stderr));
    let spec = "lab = \"power\"\n[a]\nresults = [\"samples_a.jsonl\"]\n[b]\nresults = [\"samples_b.jsonl\"]\n";
    let spec = probity.file("metrics.toml", spec);
    let output = probity.run(&["run", &spec, "--json", "--no-session"]);
    let said = text(&output.stderr) + &text(&output.stdout);
    assert!(said.contains("acc is compared; other metrics are left out: only, other"), "{said}");
}

#[test]
fn headless_probe_comparison_is_reproducible() {
    let probity = Probity::new();
    let spec = probity.file(
        "probes.toml",
        "lab = \"power\"\nmodels = [\"bert-tiny\", \"untrained:bert-tiny\"]\n[task]\nname = \"subj_number\"\nsizes = [16, 32]\n\
         [training]\ngrid = \"small\"\nseeds = 1\n",
    );
    let run = || {
        let output = probity.run(&["run", &spec, "--json", "--no-session"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let mut all = json_lines(&output.stdout);
        all.iter_mut().for_each(|v| {
            v.as_object_mut().unwrap().remove("t");
            v.as_object_mut().unwrap().remove("seconds");
        });
        all
    };
    let all = run();
    for kind in ["configuration", "margin", "comparison", "power", "required", "sequential", "collapse"] {
        assert!(kinds(&all).contains(&kind), "{kind}: {:?}", kinds(&all));
    }
    let surface: Vec<&Value> = all.iter().filter(|v| v["kind"] == "baseline").collect();
    assert_eq!(surface.len(), 8, "four baselines at two sizes");
    assert_eq!((surface[4]["name"].as_str(), surface[4]["at_n"].as_u64()), (Some("majority"), Some(64)));
    assert_eq!((surface[4]["accuracy"]["mean"].as_f64(), surface[4]["n"].as_u64()), (Some(0.5), Some(16)));
    let sides: Vec<&Value> = all.iter().filter(|v| v["kind"] == "configuration").collect();
    assert_eq!(sides.len(), 4);
    assert_eq!((sides[3]["n_train"].as_u64(), sides[3]["n"].as_u64()), (Some(64), Some(16)));
    let comparison = all.iter().rev().find(|v| v["kind"] == "comparison").unwrap();
    assert_eq!((comparison["family"].as_u64(), comparison["n"].as_u64()), (Some(2), Some(16)));
    assert_eq!(all, run());
    let forecast = probity.run(&["run", &spec, "--forecast", "--json"]);
    assert_eq!(forecast.status.code(), Some(0), "{}", text(&forecast.stderr));
    assert!(json_lines(&forecast.stdout)[0]["seconds"].as_f64().unwrap() > 0.0);
}

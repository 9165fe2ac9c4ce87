//! `probity compare` and the lab that it belongs to, headless.

use serde_json::Value;

use super::common::{Probity, refused, text};

/// Rows of 60 items: 40 that both get right, 10 only A, 2 only B, 8 neither.
fn rows(first: bool) -> String {
    let right = |i: usize| if first { i < 50 } else { i < 40 || (50..52).contains(&i) };
    (0..60).map(|i| format!("{{\"id\": {i}, \"correct\": {}}}\n", right(i))).collect()
}

fn json(stdout: &[u8]) -> Vec<Value> {
    text(stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn two_files_are_matched_by_their_items() {
    let probity = Probity::new();
    let a = probity.file("a.jsonl", &(rows(true) + "{\"id\": \"more\", \"correct\": 1}\n"));
    let b = probity.file("b.jsonl", &rows(false));
    let output = probity.run(&["compare", &a, &b, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let v = &json(&output.stdout)[0];
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
    let told = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(
        told.contains("60 items in both, 1 only in A")
            && told.contains("a.jsonl beats b.jsonl by 13.3 points"),
        "{told}"
    );
    assert!(told.contains("would be seen") && told.contains("exact p .039"), "{told}");
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
                    row(
                        i,
                        f,
                        f64::from(u8::from(!(i + shift).is_multiple_of(3))),
                        (i * shift % 7) as f64 / 7.0,
                    )
                })
            })
            .collect()
    };
    let (a, b) = (probity.file("samples_a.jsonl", &make(1)), probity.file("samples_b.jsonl", &make(2)));
    refused(&probity.run(&["compare", &a, &b]), 2, &["samples_a.jsonl", "several filters", "--filter"]);
    let output = probity.run(&["compare", &a, &b, "--filter", "strict", "--json"]);
    let both = json(&output.stdout);
    assert_eq!(both.iter().map(|v| v["metric"].as_str().unwrap()).collect::<Vec<_>>(), ["acc", "f1"]);
    assert_eq!(both[0]["family"].as_u64(), Some(2));
    assert!(
        both[1]["both"].is_null()
            && both[1]["test"] == "paired t over items"
            && !both[1]["bootstrap"].is_null()
    );
    let one =
        json(&probity.run(&["compare", &a, &b, "--filter", "loose", "--metric", "f1", "--json"]).stdout);
    assert_eq!(one.len(), 1);
    let seeds = json(
        &probity
            .run(&[
                "compare", &a, &b, "--filter", "loose", "--metric", "acc", "--also-a", &b, "--also-b", &a,
                "--json",
            ])
            .stdout,
    );
    assert_eq!((seeds[0]["seeds"].as_u64(), seeds[0]["difference"]["mean"].as_f64()), (Some(2), Some(0.0)));
    refused(&probity.run(&["compare", &a, &b, "--filter", "loose", "--also-a", &b]), 2, &["as many runs"]);
    let clustered = |first: bool| {
        let mut table = String::from("id,correct,cluster\n");
        (0..60).for_each(|i| {
            table += &format!("{i},{},{}\n", u8::from(if first { i % 3 > 0 } else { i % 4 > 0 }), i / 6)
        });
        table
    };
    let (a, b) = (probity.file("a.csv", &clustered(true)), probity.file("b.csv", &clustered(false)));
    let v = &json(&probity.run(&["compare", &a, &b, "--json"]).stdout)[0];
    assert_eq!((v["clusters"].as_u64(), v["test"].as_str()), (Some(10), Some("paired t over clusters")));
}

#[test]
fn files_that_cannot_be_compared_are_refused() {
    let probity = Probity::new();
    let a = probity.file("a.jsonl", &rows(true));
    let other = probity.file("other.jsonl", "{\"id\": \"x\", \"correct\": 1}\n");
    let twice = probity.file("twice.jsonl", "{\"id\": 1, \"correct\": 1}\n{\"id\": 1, \"correct\": 1}\n");
    refused(&probity.run(&["compare", &a, &other]), 2, &["no item is in both", "`x`"]);
    refused(&probity.run(&["compare", &a, &twice]), 2, &["twice.jsonl, line 2", "comes twice"]);
    refused(&probity.run(&["compare", &a, "/no/such.jsonl"]), 2, &["/no/such.jsonl"]);
    refused(&probity.run(&["compare", &a, "/"]), 2, &["regular file"]);
    refused(&probity.run(&["compare", &a, &a, "--margin", "0"]), 2, &["--margin"]);
    refused(&probity.run(&["compare", &a, &a, "--level", "95"]), 2, &["level"]);
    refused(&probity.run(&["compare", &a, &a, "--metric", "f1"]), 2, &["no metric `f1`"]);
}

/// Kinds of finding in the order in which they came, each once.
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
    let spec = probity
        .file("files.toml", "lab = \"power\"\n[a]\nresults = [\"a.jsonl\"]\n[b]\nresults = [\"b.jsonl\"]\n");
    let output = probity.run(&["run", &spec, "--json", "--no-session"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let all = json(&output.stdout);
    for kind in ["configuration", "comparison", "power", "required", "sequential", "collapse", "summary"] {
        assert!(kinds(&all).contains(&kind), "{kind}: {:?}", kinds(&all));
    }
    let last = |kind: &str| all.iter().rev().find(|v| v["kind"] == kind).unwrap();
    assert_eq!(
        (last("comparison")["only_a"].as_u64(), last("comparison")["n"].as_u64()),
        (Some(10), Some(60))
    );
    assert_eq!(last("sequential")["at_n"].as_u64(), Some(60));
    assert!(
        last("required")["bound"].is_null() && last("required")["n_test"]["mean"].as_f64().unwrap() > 30.0
    );
}

#[test]
fn the_lab_trains_two_probes_headless_and_says_the_same_twice() {
    let probity = Probity::new();
    let spec = probity.file(
        "probes.toml",
        "lab = \"power\"\nmodels = [\"bert-tiny\", \"untrained:bert-tiny\"]\n[task]\nname = \"subj_number\"\nsizes = [16, 32]\n\
         [training]\ngrid = \"small\"\nseeds = 1\n",
    );
    let run = || {
        let output = probity.run(&["run", &spec, "--json", "--no-session"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let mut all = json(&output.stdout);
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
    let sides: Vec<&Value> = all.iter().filter(|v| v["kind"] == "configuration").collect();
    assert_eq!(sides.len(), 4);
    assert_eq!((sides[3]["n_train"].as_u64(), sides[3]["n"].as_u64()), (Some(64), Some(16)));
    let comparison = all.iter().rev().find(|v| v["kind"] == "comparison").unwrap();
    assert_eq!((comparison["family"].as_u64(), comparison["n"].as_u64()), (Some(2), Some(16)));
    assert_eq!(all, run());
    let forecast = probity.run(&["run", &spec, "--forecast", "--json"]);
    assert_eq!(forecast.status.code(), Some(0), "{}", text(&forecast.stderr));
    assert!(json(&forecast.stdout)[0]["seconds"].as_f64().unwrap() > 0.0);
}

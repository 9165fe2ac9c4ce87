//! Plans of the power lab on result files, headless.

use serde_json::Value;

use super::common::{Probity, json_lines, refused, text};

/// Regression: a sequential plan used to look at every item, regardless of its n, and no finding was marked as planned.
#[test]
fn early_stopping_plan_ends_at_its_n() {
    let probity = Probity::new();
    // Among the first 120 items, only the first side is right on every second one.
    let right = |i: usize, first: bool| i.is_multiple_of(2) || first && i % 4 != 3;
    let rows =
        |first| (0..120).map(|i| format!("{{\"id\": {i}, \"correct\": {}}}\n", right(i, first))).collect::<String>();
    probity.file("a.jsonl", &rows(true));
    probity.file("b.jsonl", &rows(false));
    let sides = "lab = \"power\"\n[a]\nresults = [\"a.jsonl\"]\n[b]\nresults = [\"b.jsonl\"]\n";
    let run = |plan: &str| {
        let spec = probity.file("plan.toml", &format!("{sides}[plan]\n{plan}\n"));
        let output = probity.run(&["run", &spec, "--json", "--no-session"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let printed = text(&probity.run(&["run", &spec, "--no-session", "--quiet"]).stdout);
        (json_lines(&output.stdout), printed)
    };
    let steps = |all: &[Value]| -> Vec<Value> {
        all.iter().filter(|v| v["kind"] == "sequential" && v["final"] == true).cloned().collect()
    };
    let planned = |all: &[Value]| -> Vec<Value> { steps(all).into_iter().filter(|v| v["planned"] == true).collect() };

    let (short, printed) = run("hypothesis = \"differ\"\nstop = \"early\"\nn = 5");
    assert_eq!(steps(&short).iter().filter_map(|v| v["at_n"].as_u64()).max(), Some(5));
    let word = planned(&short);
    assert_eq!((word.len(), word[0]["at_n"].as_u64(), word[0]["may_stop"].as_bool()), (1, Some(5), Some(false)));
    assert!(printed.contains("the sequential test had not stopped after 5 items"), "{printed}");

    let (long, printed) = run("hypothesis = \"differ\"\nstop = \"early\"");
    let word = planned(&long);
    assert_eq!((word.len(), word[0]["may_stop"].as_bool()), (1, Some(true)));
    let first = steps(&long).iter().find(|v| v["may_stop"] == true).unwrap()["at_n"].clone();
    assert_eq!(word[0]["at_n"], first, "the test stops at the first step that permits it");
    assert!(printed.contains(&format!("the sequential test stopped after {first} items, anytime p")), "{printed}");
    assert!(long.iter().filter(|v| v["kind"] == "comparison").all(|v| v["planned"] == false));

    let spec = probity.file("plan.toml", &format!("{sides}[plan]\nhypothesis = \"equal\"\nstop = \"early\"\n"));
    refused(&probity.run(&["run", &spec]), 2, &["plan.stop", "at_n"]);
}

/// Regression: on files, a plan used to count only if its n was the total number of items. A plan with early stopping used to be reported
/// as "not stopped" where a sequential test is impossible.
#[test]
fn plan_on_files_is_evaluated_at_its_n_or_refused() {
    let probity = Probity::new();
    let right = |i: usize, first: bool| i.is_multiple_of(2) || first && i % 4 != 3;
    let rows = |first| {
        let row = |i| format!("{{\"id\": {i}, \"correct\": {}, \"cluster\": {}}}\n", right(i, first), i / 4);
        (0..120).map(row).collect::<String>()
    };
    let plain = |first| rows(first).replace("cluster", "batch");
    let scored = |first| -> String {
        let of = |i: u32| f64::from(i * 7 % 11) / 11.0 + 0.1 * f64::from(u8::from(first));
        let row = |i| format!("{{\"doc_id\": {i}, \"metrics\": [\"f1\"], \"f1\": {}}}\n", of(i));
        (0..120).map(row).collect()
    };
    for (name, text) in [
        ("a", plain(true)),
        ("b", plain(false)),
        ("ca", rows(true)),
        ("cb", rows(false)),
        ("sa", scored(true)),
        ("sb", scored(false)),
    ] {
        probity.file(&format!("{name}.jsonl"), &text);
    }
    let run = |sides: [&str; 2], plan: &str| {
        let [a, b] = sides;
        let text_of_spec = format!(
            "lab = \"power\"\n[a]\nresults = [\"{a}\"]\n[b]\nresults = [\"{b}\"]\n[plan]\nhypothesis = \"differ\"\n{plan}\n"
        );
        let spec = probity.file("plan.toml", &text_of_spec);
        let output = probity.run(&["run", &spec, "--json", "--no-session"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (json_lines(&output.stdout), text(&probity.run(&["run", &spec, "--no-session", "--quiet"]).stdout))
    };
    let made = |all: &[Value]| -> Vec<(u64, bool)> {
        let mut last = std::collections::BTreeMap::new();
        for v in all.iter().filter(|v| v["kind"] == "comparison" && v["final"] == true) {
            last.insert(v["n"].as_u64().unwrap(), v["planned"].as_bool().unwrap());
        }
        last.into_iter().collect()
    };
    let (short, printed) = run(["a.jsonl", "b.jsonl"], "n = 50");
    assert_eq!(made(&short), [(50, true), (120, false)]);
    assert!(printed.contains("tested on the first 50 of 120 items in the order drawn by seed 0: p "), "{printed}");
    let (whole, printed) = run(["a.jsonl", "b.jsonl"], "n = 120");
    assert!(printed.contains("tested on 120 items: p "), "{printed}");
    assert_eq!(made(&whole), [(120, true)]);
    let (never, printed) = run(["a.jsonl", "b.jsonl"], "n = 121");
    assert_eq!(made(&never), [(120, false)]);
    assert!(printed.contains("not tested yet"), "{printed}");
    for (sides, why) in [
        (["ca.jsonl", "cb.jsonl"], "the items form clusters"),
        (["a.jsonl\", \"b.jsonl", "b.jsonl\", \"a.jsonl"], "an even number of runs has no majority"),
        (["sa.jsonl", "sb.jsonl"], "the metric is not binary"),
    ] {
        let (_, printed) = run(sides, "stop = \"early\"");
        assert!(printed.contains(&format!("is not possible: {why}")), "{printed}");
    }
}

/// A plan compares only some of the items in a file. The sign and the power of that comparison must not change the verdict on the sample
/// size.
#[test]
fn plan_on_files_does_not_change_recommendations() {
    let probity = Probity::new();
    // The first side is clearly better overall, but not on every small subset.
    let right = |i: u64, first: bool| if first { i * 7 % 10 < 7 } else { i * 3 % 10 < 6 };
    for (name, first) in [("a", true), ("b", false)] {
        let row = |i| format!("{{\"id\": {i}, \"correct\": {}}}\n", right(i, first));
        probity.file(&format!("{name}.jsonl"), &(0..120).map(row).collect::<String>());
    }
    let spec = "lab = \"power\"\n[a]\nresults = [\"a.jsonl\"]\n[b]\nresults = [\"b.jsonl\"]\n";
    let run = |plan: &str| {
        let spec = probity.file("plan.toml", &format!("{spec}{plan}"));
        let all = json_lines(&probity.run(&["run", &spec, "--json", "--no-session"]).stdout);
        let collapse = all.iter().rfind(|v| v["kind"] == "collapse").unwrap();
        let gap = all.iter().find(|v| v["planned"] == true).map(|v| v["difference"]["mean"].as_f64().unwrap());
        (collapse["collapsed"].clone(), collapse["reasons"].clone(), gap)
    };
    let (collapsed, reasons, _) = run("");
    assert_eq!(collapsed, false, "{reasons}");
    let gaps: Vec<f64> = (3..20)
        .filter_map(|n| {
            let with = run(&format!("[plan]\nhypothesis = \"differ\"\nn = {n}\n"));
            assert_eq!((&with.0, &with.1), (&collapsed, &reasons), "at {n}");
            with.2
        })
        .collect();
    assert!(gaps.iter().any(|gap| *gap < 0.0), "the sign differs for some small n: {gaps:?}");
}

/// Regression: both sides used to have the same task, and a plan on probes counted only if some training size had its `n` test sentences.
#[test]
fn separate_tasks_are_unpaired_and_probe_plans_count() {
    let probity = Probity::new();
    let run = |more: &str| {
        let spec = format!(
            "lab = \"power\"\nmodels = [\"bert-tiny\"]\n[task]\nname = \"subj_number\"\nsizes = [8, 32]\n[b]\nlayer = 0\n{more}\n\
             [training]\ngrid = \"small\"\nseeds = 1\n[plan]\nhypothesis = \"differ\"\nn = 10\n"
        );
        let spec = probity.file("apart.toml", &spec);
        let output = probity.run(&["run", &spec, "--json", "--no-session"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        json_lines(&output.stdout)
    };
    let of = |all: &[Value], kind: &str| all.iter().filter(|v| v["kind"] == kind).cloned().collect::<Vec<_>>();
    let planned = |all: &[Value]| {
        let made = of(all, "comparison").into_iter().find(|v| v["planned"] == true).expect("a comparison of the plan");
        (made["n"].as_u64(), made["final"].as_bool())
    };
    let paired = run("");
    assert_eq!(planned(&paired), (Some(10), Some(true)));
    let sizes: Vec<_> = of(&paired, "required").iter().filter_map(|v| v["trained"].as_u64()).collect();
    assert!(sizes.contains(&16) && sizes.contains(&64), "{sizes:?}");
    let apart = run("task = \"sentence_length\"");
    assert_eq!(planned(&apart), (Some(10), Some(true)));
    let last = of(&apart, "comparison").pop().unwrap();
    assert!(last["unpaired"] == true && last["both"].is_null(), "{last}");
    assert!(last["test"].as_str().unwrap().starts_with("unpaired t"), "{last}");
    assert!(of(&apart, "sequential").is_empty() && !of(&apart, "power").is_empty());
    let sides: Vec<_> = of(&apart, "configuration").iter().map(|v| (v["task"].clone(), v["n"].as_u64())).collect();
    // The first task has two classes, the second six, with eight test sentences per class.
    assert_eq!(sides[2..], [("subj_number".into(), Some(16)), ("sentence_length".into(), Some(48))]);
    let surfaces: Vec<_> = of(&apart, "baseline").iter().map(|v| v["side"].clone()).collect();
    assert!(surfaces.contains(&"a".into()) && surfaces.contains(&"b".into()), "{surfaces:?}");
}

//! `probity compare` on whole folders, including its conditions and lists, and `probity power --plan`.

use super::common::{Probity, json_lines, refused, text};

/// A folder of tasks in the format of lm-evaluation-harness; `right` determines which items are right.
fn folder(probity: &Probity, name: &str, tasks: usize, right: impl Fn(usize, usize) -> bool) -> String {
    let root = std::path::PathBuf::from(probity.file("marker", "")).parent().unwrap().join(name);
    std::fs::create_dir_all(root.join("model")).unwrap();
    for task in 0..tasks {
        let row = |i: usize| {
            let acc = u8::from(right(task, i));
            format!(
                "{{\"doc_id\": {i}, \"doc\": {{\"subject\": \"s{}\"}}, \"target\": \"t\", \"filtered_resps\": [\"said {acc}\"], \"doc_hash\": \"{task}-{i}\", \"filter\": \"none\", \"metrics\": [\"acc\"], \"acc\": {acc}}}\n",
                i % 2
            )
        };
        let file = format!("model/samples_task{task}_2024-05-01T12-00-0{}.000001.jsonl", task % 10);
        std::fs::write(root.join(file), (0..40).map(row).collect::<String>()).unwrap();
    }
    root.display().to_string()
}

#[test]
fn folders_are_compared_task_by_task_and_pooled() {
    let probity = Probity::new();
    let a = folder(&probity, "a", 12, |task, i| i % 3 > 0 || i < task);
    let b = folder(&probity, "b", 12, |_, i| i % 3 > 0);
    let all = json_lines(&probity.run(&["compare", &a, &b, "--json"]).stdout);
    assert_eq!(all.len(), 14, "12 tasks, macro and micro");
    let task = all.iter().find(|v| v["task"] == "task11").unwrap();
    assert_eq!((task["n"].as_u64(), task["only_a"].as_u64(), task["family"].as_u64()), (Some(40), Some(4), Some(12)));
    // On task t, the first side is right on ceil(t / 3) more of the 40 items: 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4.
    let pooled = all.iter().find(|v| v["pooled"] == "macro").unwrap();
    assert!((pooled["difference"]["mean"].as_f64().unwrap() - 26.0 / 480.0).abs() < 1e-12, "{pooled}");
    assert!(pooled["p"].as_f64().unwrap() < 0.001 && pooled["tasks"] == 12);
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(printed.contains("task11") && printed.contains("macro (mean of the tasks' differences"), "{printed}");
    // The doubt about the mean over items is printed and is in the JSON; the lab's screen shows it too.
    let doubt = "12 tasks as clusters are very few: intervals are 2.5 times as wide as with 60; in simulations with 10 tasks as clusters (nearest), ";
    assert!(printed.contains(&format!("micro: {doubt}")), "{printed}");
    let of = |key: &str| all.iter().find(|v| v["pooled"] == key).unwrap()["doubt"].as_str();
    assert!(of("micro").is_some_and(|text| text.starts_with(doubt)) && of("macro").is_none(), "{all:?}");
    for end in ["md", "csv"] {
        let report = format!("{a}.{end}");
        assert!(probity.run(&["compare", &a, &b, "--report", &report]).status.success());
        let written = std::fs::read_to_string(&report).unwrap();
        assert_eq!(written.matches(doubt).count(), 1, "{written}");
    }
    let one = text(&probity.run(&["compare", &a, &b, "--summary"]).stdout);
    assert!(
        one.lines().count() == 1 && one.contains("a against b: mean over tasks +5.4 [") && one.contains("12 tasks"),
        "{one}"
    );
}

/// Regression: two tasks with the same difference used to have an interval of width 0 and p below .001. Later there was no interval, so
/// `--fail-if worse` passed although a side was clearly worse.
#[test]
fn few_tasks_are_treated_as_fixed() {
    let probity = Probity::new();
    let a = folder(&probity, "a", 2, |_, i| i % 3 > 0 || i < 6);
    let b = folder(&probity, "b", 2, |_, i| i % 3 > 0);
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert_eq!(printed.matches("with fewer than 10 tasks, there is no interval").count(), 1, "{printed}");
    assert!(printed.contains("tasks taken as fixed (valid for these tasks only): +5.0 ["), "{printed}");
    assert!(printed.contains("--summary and --fail-if use the mean over items, tasks taken as fixed"), "{printed}");
    let one = text(&probity.run(&["compare", &a, &b, "--summary"]).stdout);
    assert!(one.contains("mean over items, tasks taken as fixed +5.0 [") && !one.contains("p <"), "{one}");
    let run =
        |first: &str, second: &str, condition: &[&str]| probity.run(&[&["compare", first, second], condition].concat());
    let failed = run(&a, &b, &["--fail-unless", "better by 1"]);
    assert_eq!(failed.status.code(), Some(3), "4 items of 80 do not show one point");
    let c = folder(&probity, "c", 2, |_, i| i % 3 > 0 || i < 30);
    let held = run(&b, &c, &["--fail-if", "worse"]);
    assert_eq!(held.status.code(), Some(3), "{}", text(&held.stderr));
    assert!(text(&held.stderr).contains("tasks taken as fixed) is worse: -25.0 ["), "{}", text(&held.stderr));
    let passed = run(&c, &b, &["--fail-unless", "not worse by 1"]);
    let said = text(&passed.stderr);
    assert!(passed.status.success() && said.lines().count() == 1, "{said}");
    assert!(
        said.contains("passed: c against b (mean over items, tasks taken as fixed): it is not worse by 1"),
        "{said}"
    );
    let report = format!("{a}.csv");
    assert!(run(&a, &b, &["--report", &report]).status.success());
    let rows = std::fs::read_to_string(&report).unwrap();
    assert!(rows.contains("(macro),,80,,,0.05,,,,,,,,,\n"), "{rows}");
    let all = json_lines(&run(&a, &b, &["--json"]).stdout);
    let of = |kind: &str| all.iter().find(|v| v["pooled"] == kind).unwrap();
    assert!(of("macro")["difference"]["lo"].is_null() && of("micro")["holm_p"].is_null(), "{all:?}");
    assert_eq!(of("fixed")["holm_p"], of("fixed")["p"]);
}

/// Regression: `--margin 1` used to mean the whole scale, and the margin was not printed.
#[test]
fn margin_has_one_unit_and_is_shown() {
    let probity = Probity::new();
    let a = folder(&probity, "a", 2, |_, i| i % 3 > 0 || i < 6);
    let b = folder(&probity, "b", 2, |_, i| i % 3 > 0);
    refused(&probity.run(&["compare", &a, &b, "--margin", "1"]), 2, &["--margin 1%"]);
    refused(&probity.run(&["compare", &a, &b, "--fail-if", "worse by .02"]), 2, &["by 2 points"]);
    let printed = |margin: &str| text(&probity.run(&["compare", &a, &b, "--margin", margin]).stdout);
    assert!(printed("5 points").contains("the 90 % interval lies within ±5.0 points"), "{}", printed("5 points"));
    assert_eq!(printed("5 points"), printed(".05"));
    // Holm's adjusted p does not depend on the margin.
    let holm = |margin: &str| {
        let all = json_lines(&probity.run(&["compare", &a, &b, "--margin", margin, "--json"]).stdout);
        all.iter().map(|v| v["holm_p"].as_f64()).collect::<Vec<_>>()
    };
    assert_eq!(holm(".001"), holm(".5"));
    assert!(printed(".02").contains("Holm p: adjusted for 2 differences;"), "{}", printed(".02"));
    let file = |root: &str| format!("{root}/model/samples_task0_2024-05-01T12-00-00.000001.jsonl");
    refused(&probity.run(&["compare", &file(&a), &file(&b), "--margin", "1"]), 2, &["--margin 1%"]);
}

/// Regression: a file truncated at the end of a line used to be accepted without a message.
#[test]
fn unmatched_items_are_counted() {
    let probity = Probity::new();
    let (a, b) = (folder(&probity, "a", 2, |_, _| true), folder(&probity, "b", 2, |_, i| i > 3));
    let file = format!("{b}/model/samples_task0_2024-05-01T12-00-00.000001.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, whole.lines().take(25).map(|l| format!("{l}\n")).collect::<String>()).unwrap();
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(printed.contains("items left out") && printed.contains("15 only in A"), "{printed}");
    let one = text(&probity.run(&["compare", &a, &b, "--summary"]).stdout);
    assert!(one.contains("items left out: 15 only in A"), "{one}");
    std::fs::write(&file, &whole[..whole.len() - 20]).unwrap();
    refused(&probity.run(&["compare", &a, &b]), 2, &["the line is incomplete (truncated file?)"]);
}

/// Regression: for changed multiple-choice items, log-likelihoods used to be shown instead of options.
#[test]
fn multiple_choice_flips_show_options() {
    let probity = Probity::new();
    let rows = |chosen: usize| {
        let row = |i: usize| {
            let at = if i < 3 { chosen } else { 1 };
            let lls: Vec<String> =
                (0..3).map(|k| format!("[\"{}\", \"False\"]", if k == at { -1.0 } else { -4.5 })).collect();
            format!(
                "{{\"doc_id\": {i}, \"doc\": {{\"question\": \"q{i}\", \"choices\": [\"Rome\", \"Paris\", \"Bern\"]}}, \"target\": \"1\", \"filtered_resps\": [{}], \"filter\": \"none\", \"metrics\": [\"acc\"], \"acc\": {}}}\n",
                lls.join(", "),
                u8::from(at == 1)
            )
        };
        (0..20).map(row).collect::<String>()
    };
    let (a, b) = (probity.file("samples_a.jsonl", &rows(2)), probity.file("samples_b.jsonl", &rows(1)));
    let printed = text(&probity.run(&["compare", &a, &b, "--flips"]).stdout);
    assert!(printed.contains("c: Bern") && printed.contains("b: Paris") && !printed.contains("-4.5"), "{printed}");
    let flips = json_lines(&probity.run(&["compare", &a, &b, "--flips", "--json"]).stdout);
    let flip = flips.iter().find(|v| v["flip"].is_string()).unwrap();
    assert_eq!((&flip["answer_a"], &flip["target"]), (&"c: Bern".into(), &"b: Paris".into()));
}

/// Regression: a misspelled `--where` used to give an empty list.
#[test]
fn unknown_attribute_lists_known_ones() {
    let probity = Probity::new();
    let (a, b) = (folder(&probity, "a", 2, |_, _| true), folder(&probity, "b", 2, |_, i| i > 3));
    let run = |fact: &str| probity.run(&["compare", &a, &b, "--flips", "--where", fact]);
    refused(&run("subjct=s0"), 2, &["--where subjct", "subject"]);
    refused(&run("subject=s9"), 2, &["subject=s9", "s0, s1"]);
    assert!(run("subject=s1").status.success());
}

#[test]
fn duplicate_results_cause_a_warning() {
    let probity = Probity::new();
    let a = folder(&probity, "a", 2, |_, _| true);
    let output = probity.run(&["compare", &a, &format!("{a}/")]);
    assert!(output.status.success() && text(&output.stderr).contains("the same folder is given twice"));
    refused(&probity.run(&["compare", &a, &a, "--csv"]), 2, &["--report FILE.csv"]);
}

#[test]
fn conditions_exit_with_3_and_reports_are_written() {
    let probity = Probity::new();
    let a = folder(&probity, "a", 12, |_, i| i % 3 > 0);
    let b = folder(&probity, "b", 12, |task, i| i % 3 > 0 || i < task);
    let report = format!("{a}.md");
    let failed = probity.run(&["compare", &a, &b, "--fail-if", "worse by 1 at 95 %", "--report", &report]);
    assert_eq!(failed.status.code(), Some(3), "{}", text(&failed.stderr));
    assert!(
        text(&failed.stderr).contains("a against b (mean over tasks) is worse by 1 at 95 %: -"),
        "{}",
        text(&failed.stderr)
    );
    let markdown = std::fs::read_to_string(&report).unwrap();
    assert!(markdown.contains("| task | metric | n |") && markdown.contains("**a against b"), "{markdown}");
    let done = probity.run(&["compare", &b, &a, "--fail-unless", "not worse by 1"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    refused(&probity.run(&["compare", &a, &b, "--fail-if", "worst"]), 2, &["worse by 1 at 95 %"]);
    refused(&probity.run(&["compare", &a, &b, "--report", &report]), 2, &["a.md"]);
    refused(&probity.run(&["compare", &a, &b, "--report", "x.doc"]), 2, &[".md, .csv or .tex"]);
}

#[test]
fn three_folders_give_a_matrix_and_flips_show_both_answers() {
    let probity = Probity::new();
    let make = |name: &str, more: usize| folder(&probity, name, 12, move |task, i| i % 3 > 0 || i < task * more);
    let (a, b, c) = (make("a", 0), make("b", 1), make("c", 2));
    let printed = text(&probity.run(&["compare", &a, &b, &c]).stdout);
    assert!(printed.contains("Systems, points") && printed.contains("A: b, B: c"), "{printed}");
    let based = text(&probity.run(&["compare", &a, &b, &c, "--baseline", &a]).stdout);
    assert!(based.contains("A: a, B: c") && !based.contains("A: b, B: c"), "{based}");
    let row = |printed: &str| {
        let row = printed.lines().find(|l| l.contains(" mean over tasks "));
        row.and_then(|row| row.split(']').next()).map(str::to_owned)
    };
    assert_eq!(row(&based), row(&printed), "each side keeps its column");
    assert!(!printed.contains("open") && printed.contains("undecided"), "{printed}");
    // With a baseline, conditions apply to the systems other than the baseline.
    let failed = probity.run(&["compare", &c, &a, "--baseline", &c, "--fail-if", "worse"]);
    assert!(text(&failed.stderr).contains("a against c (mean over tasks) is worse"), "{}", text(&failed.stderr));
    let file = |root: &str| format!("{root}/model/samples_task9_2024-05-01T12-00-09.000001.jsonl");
    let flips = text(&probity.run(&["compare", &file(&c), &file(&a), "--flips"]).stdout);
    assert!(flips.contains("said 1") && flips.contains("said 0") && flips.contains("By subject"), "{flips}");
    let some = text(&probity.run(&["compare", &file(&c), &file(&a), "--flips", "--where", "subject=s0"]).stdout);
    assert!(some.contains("3 items changed") && flips.contains("6 items changed"), "{some}{flips}");
}

/// A run over three folders gives the same numbers as `compare`.
#[test]
fn run_compares_every_pair_of_folders() {
    let probity = Probity::new();
    let make = |name: &str, more: usize| folder(&probity, name, 12, move |task, i| i % 3 > 0 || i < task * more);
    let (a, b, c) = (make("a", 0), make("b", 1), make("c", 2));
    let spec = format!("lab = \"power\"\nmodels = []\n[a]\nresults = ['{a}']\n[b]\nresults = ['{b}', '{c}']\n");
    let spec = probity.file("three.toml", &spec);
    let ran = json_lines(&probity.run(&["run", &spec, "--json", "--quiet"]).stdout);
    let compared = json_lines(&probity.run(&["compare", &a, &b, &c, "--json"]).stdout);
    let pairs = compared.iter().filter(|line| line["pooled"] == "macro");
    let mut found = 0;
    for line in pairs {
        let same = |v: &&serde_json::Value| {
            v["kind"] == "pooled" && v["over"] == "macro" && v["a"] == line["a"] && v["b"] == line["b"]
        };
        let mine = ran.iter().find(same).unwrap_or_else(|| panic!("{line} is not in {ran:?}"));
        for key in ["difference", "p", "holm_p", "tasks"] {
            assert_eq!(mine[key], line[key], "{key} of {line}");
        }
        found += 1;
    }
    assert_eq!((found, ran.iter().filter(|v| v["kind"] == "task").count()), (3, 36));
}

#[test]
fn two_runs_of_a_task_in_a_folder_are_named() {
    let probity = Probity::new();
    let (a, b) = (folder(&probity, "a", 1, |_, _| true), folder(&probity, "b", 1, |_, i| i > 3));
    let later = format!("{a}/model/samples_task0_2025-01-01T00-00-00.000001.jsonl");
    std::fs::copy(format!("{b}/model/samples_task0_2024-05-01T12-00-00.000001.jsonl"), later).unwrap();
    let output = probity.run(&["compare", &a, &b, "--json"]);
    assert!(text(&output.stderr).contains("there is a later run of the same task"), "{}", text(&output.stderr));
    assert_eq!(json_lines(&output.stdout)[0]["difference"]["mean"].as_f64(), Some(0.0));
    std::fs::rename(format!("{b}/model"), format!("{a}/other")).unwrap();
    let c = folder(&probity, "c", 1, |_, _| true);
    refused(&probity.run(&["compare", &a, &c]), 2, &["task0 occurs twice", "other", "model"]);
}

#[test]
fn different_items_with_one_identifier_are_refused() {
    let probity = Probity::new();
    let file = |name: &str, target: &str| {
        let row = |i: usize| format!("{{\"id\": {i}, \"correct\": 1, \"target\": \"{target}{i}\"}}\n");
        probity.file(name, &(0..5).map(row).collect::<String>())
    };
    let (a, b) = (file("a.jsonl", "x"), file("b.jsonl", "y"));
    refused(
        &probity.run(&["compare", &a, &b]),
        2,
        &["5 of 5 items differ between the sides", "`target` differs", "`0`, `1`, `2`, …"],
    );
}

#[test]
fn plan_needs_no_data() {
    let probity = Probity::new();
    let asked = ["power", "--plan", "--metric", "accuracy", "--accuracy", "80%", "--difference", "2%", "--json"];
    let v = &json_lines(&probity.run(&asked).stdout)[0];
    // (1.959964 + .841621)² (.8 · .2 + .78 · .22) / .02² = 6,506.7.
    assert_eq!(v["unpaired"].as_u64(), Some(6_507), "{v}");
    assert!(v["paired"].as_u64().unwrap() < 4_000, "{v}");
    let grown = [&asked[..], &["--cluster-size", "5", "--within", ".1", "--cost", ".5"]].concat();
    let w = &json_lines(&probity.run(&grown).stdout)[0];
    assert_eq!((w["design"].as_f64(), w["unpaired"].as_u64()), (Some(1.4), Some(9_110)), "{w}");
    assert_eq!(w["cost_unpaired"].as_f64(), Some(9_110.0), "{w}");
    refused(&probity.run(&["power", "--plan", "--metric", "accuracy"]), 2, &["was not answered"]);
    refused(&probity.run(&["power", "--n", "9"]), 2, &["--p01"]);
}

/// Regression: files with several filters used to be refused unless a filter was named.
#[test]
fn common_filters_are_compared() {
    let probity = Probity::new();
    let rows = |filters: [&str; 2], right: usize| {
        let row = |filter: &str, i: usize| {
            let acc = u8::from(i % 9 < right || filter == filters[1]);
            format!("{{\"doc_id\": {i}, \"filter\": \"{filter}\", \"metrics\": [\"em\"], \"em\": {acc}}}\n")
        };
        filters.iter().flat_map(|f| (0..36).map(move |i| row(f, i))).collect::<String>()
    };
    let a = probity.file("a.jsonl", &rows(["strict-match", "flexible-extract"], 7));
    let b = probity.file("b.jsonl", &rows(["strict-match", "flexible-extract"], 5));
    let all = json_lines(&probity.run(&["compare", &a, &b, "--json"]).stdout);
    let seen: Vec<_> = all.iter().map(|v| (v["filter"].as_str().unwrap(), v["only_a"].as_u64().unwrap())).collect();
    assert_eq!(seen, [("strict-match", 8), ("flexible-extract", 0)]);
    assert_eq!(all[0]["family"], 2, "corrected over both filters");
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(printed.contains("metric em (strict-match)"), "{printed}");
    let one = json_lines(&probity.run(&["compare", &a, &b, "--filter", "strict-match", "--json"]).stdout);
    assert_eq!((one.len(), &one[0]["family"]), (1, &1.into()));
    let other = probity.file("c.jsonl", &rows(["other", "third"], 5));
    refused(
        &probity.run(&["compare", &a, &other]),
        2,
        &["no filter in common", "strict-match, flexible-extract", "other, third"],
    );
}

#[test]
fn parquet_folder_explains_conversion() {
    let probity = Probity::new();
    let a = folder(&probity, "a", 1, |_, _| true);
    let details = std::path::Path::new(&a).parent().unwrap().join("details");
    std::fs::create_dir(&details).unwrap();
    std::fs::write(details.join("details_arc_2024-05-01T12-00-00.parquet"), b"PAR1\x15\x04").unwrap();
    refused(&probity.run(&["compare", &a, &details.display().to_string()]), 2, &["contains no results", "to_json"]);
}

/// The power lab accepts folders too; tasks, pooled differences and changed items are its findings.
#[test]
fn a_run_on_two_folders_finds_tasks_and_changed_items() {
    let probity = Probity::new();
    let a = folder(&probity, "a", 12, |task, i| i % 3 > 0 || i < task);
    let b = folder(&probity, "b", 12, |_, i| i % 3 > 0);
    let spec = format!("lab = \"power\"\n[a]\nresults = [\"{a}\"]\n[b]\nresults = [\"{b}\"]\n");
    let file = probity.file("folders.toml", &spec);
    let output = probity.run(&["run", &file, "--json"]);
    let all = json_lines(&output.stdout);
    let of = |kind: &str| all.iter().filter(|v| v["kind"] == kind).collect::<Vec<_>>();
    let (tasks, pooled, flips) = (of("task"), of("pooled"), of("flip"));
    assert_eq!((tasks.len(), pooled.len(), flips.len()), (12, 2, 26), "{}", text(&output.stderr));
    assert_eq!(flips[0]["answer_a"], "said 1");
    let mean = pooled[0]["difference"]["mean"].as_f64().unwrap();
    assert!(pooled[0]["over"] == "macro" && (mean - 26.0 / 480.0).abs() < 1e-12, "{}", pooled[0]);
    let printed = text(&probity.run(&["run", &file]).stdout);
    assert!(printed.contains("Mean over tasks") && printed.contains("task11"), "{printed}");
    let mixed =
        spec.replace(&format!("[\"{b}\"]"), &format!("[\"{b}/model/samples_task1_2024-05-01T12-00-01.000001.jsonl\"]"));
    let output = probity.run(&["run", &probity.file("mixed.toml", &mixed), "--json"]);
    assert!(text(&output.stdout).contains("no task in common"), "{}", text(&output.stdout));
    let sorted = ["compare", &a, &b, "--flips", "--sort", "item", "--where", "subject=s0", "--json"];
    let flips: Vec<_> =
        json_lines(&probity.run(&sorted).stdout).into_iter().filter(|v| v["flip"].is_string()).collect();
    let items: Vec<_> = flips.iter().filter(|f| f["task"] == "task11").map(|f| f["item"].as_str().unwrap()).collect();
    assert_eq!(items, ["0", "6"]);
    refused(&probity.run(&["compare", &a, &b, "--flips", "--sort", "colour"]), 2, &["--sort colour", "subject"]);
}

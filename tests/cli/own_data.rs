//! `task.data` of a spec: the user's own agreement sentences in the interventions lab.

use std::path::{Path, PathBuf};

use probity::base::files::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::common::{Probity, TINY, finals, json_lines, of_kind, refused, root, text};

/// The small experiment on examples from a file.
fn spec(data: &str) -> String {
    TINY.replace("examples = 1000", &format!("examples = 1500\ndata = \"{data}\""))
}

fn data_finding(findings: &[Value]) -> &Value {
    let found = of_kind(findings, "data");
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn run_on_file_reports_drops_and_replays_without_the_file() {
    let probity = Probity::new();
    let folder = probity.state.path().join("own");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("rows.jsonl");
    let made = probity.run(&["data", "make", "agreement", "-n", "2000", "--seed", "8"]);
    // An invalid row, a row that is not an agreement sentence, and a duplicate.
    let rows = text(&made.stdout);
    let first = rows.lines().next().unwrap();
    let bytes = format!("{rows}not a row\n{{\"text\": \"The dog is here .\"}}\n{first}\n");
    std::fs::write(&file, &bytes).unwrap();
    // The path is relative to the spec file, not to the current folder.
    std::fs::write(folder.join("own.toml"), spec("rows.jsonl")).unwrap();
    let out = probity.state.path().join("out");
    let (spec_name, out_name) = (folder.join("own.toml").display().to_string(), out.display().to_string());
    let output = probity.run(&["run", &spec_name, "--json", "--quiet", "--out", &out_name]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let findings = json_lines(&output.stdout);
    let data = data_finding(&findings);
    let source = &data["source"];
    let hash = hex(&Sha256::digest(bytes.as_bytes()));
    assert_eq!((&source["path"], &source["format"]), (&"rows.jsonl".into(), &"plain".into()));
    assert_eq!(source["sha256"], hash.as_str());
    assert_eq!((&source["rows"], &source["fit"], &source["taken"]), (&2003.into(), &2000.into(), &1500.into()));
    let dropped: Vec<(u64, u64)> = source["dropped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| (d["count"].as_u64().unwrap(), d["first_line"].as_u64().unwrap()))
        .collect();
    assert_eq!(dropped, [(1, 2001), (1, 2002), (1, 2003)], "{source}");
    assert_eq!(data["n_test"], 300);
    assert_eq!(of_kind(&findings, "summary").len(), 1);

    std::fs::remove_file(&file).unwrap();
    let session = out.join("session.probity.jsonl").display().to_string();
    let again = probity.run(&["replay", &session, "--headless", "--json"]);
    assert_eq!(finals(&again.stdout), finals(&output.stdout), "the replay does not need the file");
    let table = text(&probity.run(&["replay", &session, "--headless"]).stdout);
    let words = ["data rows.jsonl (plain, SHA-256", "2003 rows, 3 dropped", "1500 drawn of 2000", "no [MASK]"];
    assert!(words.iter().all(|w| table.contains(w)), "{table}");
    let csv = std::fs::read_dir(&out).unwrap().find_map(|f| {
        let path = f.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name.starts_with("pareto") && name.ends_with(".csv")).then_some(path)
    });
    let figure = std::fs::read_to_string(csv.unwrap()).unwrap();
    assert!(figure.contains("2003 rows, 3 dropped"), "provenance of figures: {figure}");
}

/// The task's generated sentences give the same experiment when they are read from a file.
#[test]
fn generated_examples_in_a_file_give_the_same_numbers() {
    let probity = Probity::new();
    let path = probity.state.path().join("made.jsonl").display().to_string();
    let made = probity.run(&["data", "make", "agreement", "-n", "1500", "--seed", "5", "-o", &path]);
    assert!(text(&made.stderr).contains("[task]"), "{}", text(&made.stderr));
    let numbers = |text: &str| {
        let spec = probity.file("spec.toml", text);
        let output = probity.run(&["run", &spec, "--json", "--quiet", "--no-session"]);
        assert_eq!(output.status.code(), Some(0));
        let findings = json_lines(&output.stdout);
        let optima: Vec<Value> = of_kind(&findings, "optimum").iter().map(|o| o["reliability"].clone()).collect();
        (data_finding(&findings)["data_hash"].clone(), optima)
    };
    let task = numbers(&TINY.replace("examples = 1000", "examples = 1500"));
    assert_eq!(numbers(&spec("made.jsonl")), task);
}

#[test]
fn unusable_files_are_named_with_line_and_fix() {
    let probity = Probity::new();
    let refuse = |data: &str, words: &[&str]| {
        let spec = probity.file("spec.toml", &spec(data));
        refused(&probity.run(&["run", &spec, "--json"]), 2, &[&["spec.toml: `task.data`"], words].concat());
    };
    refuse("nowhere.tsv", &["nowhere.tsv", "cannot open"]);
    refuse(".", &["folder"]);
    probity.file("unknown.txt", "nothing known\n");
    refuse("unknown.txt", &["unknown.txt, line 1", "expected plain (plain JSON lines)"]);
    let with_phi = probity.file("phi.toml", &spec("x.tsv").replace("[task]\n", "[task]\nphi = 0.2\n"));
    refused(&probity.run(&["run", &with_phi]), 2, &["task.phi", "the rows of the file determine it"]);
    // Files in known formats with unusable rows or too few rows; the run reports this.
    for (rows, words) in [
        ("facts", &["none of", "no sentence with a masked verb", "data show"][..]),
        ("past_present", &["the file has `label` (", "set task.target to it, add a column"]),
    ] {
        let path = probity.state.path().join(rows).display().to_string();
        probity.run(&["data", "make", rows, "-n", "400", "-o", &path]);
        let spec = probity.file("spec.toml", &spec(rows));
        let output = probity.run(&["run", &spec, "--json", "--quiet", "--no-session"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let findings = json_lines(&output.stdout);
        let what = of_kind(&findings, "error")[0]["what"].as_str().unwrap().to_owned();
        assert!(words.iter().all(|w| what.contains(w)) && what.contains(rows), "{what}");
    }
}

/// Runs the small experiment on generated sentences whose labels were changed.
fn on_changed(probity: &Probity, change: impl Fn(usize, &mut Value)) -> (Option<i32>, Vec<Value>, String) {
    let made = probity.run(&["data", "make", "agreement", "-n", "2000", "--seed", "8"]);
    let changed = json_lines(&made.stdout).into_iter().enumerate().map(|(i, mut row)| {
        change(i, &mut row);
        format!("{row}\n")
    });
    probity.file("changed.jsonl", &changed.collect::<String>());
    let spec = probity.file("spec.toml", &spec("changed.jsonl"));
    let output = probity.run(&["run", &spec, "--json", "--no-session"]);
    (output.status.code(), json_lines(&output.stdout), text(&output.stderr))
}

/// Selectivity is undefined if the other property is missing or has only one value. The run reports this and computes nothing.
#[test]
fn data_without_two_values_of_the_other_property_are_refused() {
    for keep in [None, Some("Sg")] {
        let (code, findings, _) = on_changed(&Probity::new(), |_, row| {
            let labels = row["labels"].as_object_mut().unwrap();
            if let Some(old) = labels.remove("attractor_number")
                && let Some(value) = keep
                && !old.is_null()
            {
                labels.insert("attractor_number".into(), value.into());
            }
        });
        assert_eq!(code, Some(1));
        let error = of_kind(&findings, "error")[0];
        let what = error["what"].as_str().unwrap();
        let words = ["changed.jsonl: only 0 sentences", "attractor_number", "measuring selectivity needs"];
        assert!(words.iter().all(|w| what.contains(w)), "{what}");
        assert_eq!(error["where"], "task.data");
        assert!(of_kind(&findings, "reliability").is_empty());
    }
}

/// If labels are unrelated to the sentences, the oracle is at chance. The run reports this and names neither a best strength nor a better
/// setting.
#[test]
fn oracle_at_chance_is_reported_without_optimum_or_front() {
    let (code, findings, said) = on_changed(&Probity::new(), |i, row| {
        // Both labels depend only on the row's position in a shuffled order.
        let coin = |k: usize| ["Sg", "Pl"][((i * 7_919) >> k) % 2];
        row.as_object_mut().unwrap().remove("twin");
        row["labels"]["subject_number"] = coin(3).into();
        if row["labels"].get("attractor_number").is_some() {
            row["labels"]["attractor_number"] = coin(5).into();
        }
    });
    assert_eq!(code, Some(0), "{said}");
    for property in ["subject number", "attractor number"] {
        let printed = format!("the linear oracle of {property} is not shown to be better than a constant answer");
        assert!(said.contains(&printed), "{said}");
    }
    assert!(of_kind(&findings, "optimum").is_empty());
    let reasons = of_kind(&findings, "no_optimum");
    assert!(reasons.len() == 2 && reasons.iter().all(|r| r["reason"].as_str().unwrap().contains("better than chance")));
    let fronts = of_kind(&findings, "front");
    assert_eq!(fronts.len(), 1);
    assert_eq!((&fronts[0]["unread"], &fronts[0]["settings"]), (&4.into(), &4.into()));
    assert!(fronts[0]["front"].as_array().unwrap().is_empty() && fronts[0].get("knee").is_none());
}

/// Natural sentences labelled with both numbers, if the real data are available.
#[test]
fn natural_sentences_run_on_the_built_in_model() {
    let default = root().join("../shared/data");
    let folder = std::env::var_os("PROBITY_DATA").map_or(default, PathBuf::from);
    let file = folder.join("agreement_natural/agreement.tsv.gz");
    if !Path::new(&file).is_file() {
        println!("skipped: {} does not exist", file.display());
        return;
    }
    let probity = Probity::new();
    let spec = probity.file("natural.toml", &spec(&file.display().to_string()).replace("1500", "12000"));
    let output = probity.run(&["run", &spec, "--json", "--quiet", "--no-session"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let findings = json_lines(&output.stdout);
    let source = &data_finding(&findings)["source"];
    println!("{source}\n{}", data_finding(&findings)["counts"]);
    assert_eq!((&source["rows"], &source["format"]), (&4813.into(), &"agreement".into()));
    let lost: u64 = source["dropped"].as_array().unwrap().iter().map(|d| d["count"].as_u64().unwrap()).sum();
    assert_eq!(source["fit"].as_u64().unwrap() + lost, 4813);
    let ends = of_kind(&findings, "optimum").len() + of_kind(&findings, "no_optimum").len();
    assert_eq!(ends, 2, "an optimum of each method, or why there is none");
}

/// Regression: a sentence longer than the encoder's limit used to end the run. It is now skipped, cut or read in windows, and counted.
#[test]
fn long_sentences_follow_the_spec_and_are_counted() {
    let probity = Probity::new();
    let folder = probity.state.path();
    let row = |i: usize, times: usize| {
        let animal = ["dog", "cat"][i % 2];
        format!("{} number {i} is here,{}\n", format!("the {animal} ").repeat(times), i % 2)
    };
    let rows: String = (0..24).map(|i| row(i, 1)).chain((24..28).map(|i| row(i, 60))).collect();
    std::fs::write(folder.join("rows.csv"), format!("text,label\n{rows}")).unwrap();
    let notice = |long: &str| {
        let spec = format!(
            "lab = \"power\"\nmodels = [\"bert-tiny\", \"untrained:bert-tiny\"]\n[task]\ndata = \"rows.csv\"\nsizes = [8]\n{long}[training]\ngrid = \"small\"\nseeds = 1\n"
        );
        std::fs::write(folder.join("long.toml"), spec).unwrap();
        let output = probity.run(&["run", &folder.join("long.toml").display().to_string()]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    for (key, done) in [
        ("", "are left out"),
        ("long = \"truncate\"\n", "are cut at the end"),
        ("long = \"window\"\n", "are read in windows"),
    ] {
        let printed = notice(key);
        for encoder in ["bert-tiny", "untrained:bert-tiny"] {
            let what = format!("4 of 28 sentences exceed the maximum of 64 tokens of {encoder}: they {done}");
            assert!(printed.contains(&what), "{printed}");
        }
    }
}

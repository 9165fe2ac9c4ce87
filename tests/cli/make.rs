//! `probity data make`: every set in every format is read back with nothing dropped.

use serde_json::Value;

use super::common::{Probity, json_lines, refused, text};

#[test]
fn written_sets_are_read_back_completely() {
    let probity = Probity::new();
    let list = &json_lines(&probity.run(&["data", "list", "--json"]).stdout)[0];
    let mut seen = 0;
    for set in list["sets"].as_array().unwrap() {
        let id = set["id"].as_str().unwrap();
        for format in set["formats"].as_array().unwrap() {
            let format = format.as_str().unwrap();
            let name = format!("{id}-{format}.txt");
            let path = probity.state.path().join(&name).display().to_string();
            let output =
                probity.run(&["data", "make", id, "-n", "120", "--seed", "3", "--format", format, "-o", &path]);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert!(output.stdout.is_empty() && said.contains("rows written") && said.contains(&name), "{said}");
            let output = probity.run(&["data", "show", &path, "--json"]);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            let shown = &json_lines(&output.stdout)[0]["files"][0];
            let report = &shown["report"];
            assert_eq!((&shown["format"], &report["dropped"]), (&format.into(), &Value::Object(Default::default())));
            let lines = std::fs::read_to_string(&path).unwrap().lines().count() as u64;
            assert!(report["rows"] == lines && lines >= 120, "{id} {format}: {report}");
            seen += 1;
        }
    }
    // Agreement, seven tasks, the facts, and rationales in two languages: at least 21 combinations of set and format.
    assert!(seen >= 21, "{seen}");
}

#[test]
fn existing_file_is_kept_and_mode_is_ordinary() {
    let probity = Probity::new();
    let path = probity.file("old.txt", "mine\n");
    let make =
        |more: &[&str]| probity.run(&[&["data", "make", "past_present", "-n", "24", "-o", &path][..], more].concat());
    refused(&make(&[]), 2, &["old.txt", "--force"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine\n");
    assert_eq!(make(&["--force"]).status.code(), Some(0));
    let first = std::fs::read(&path).unwrap();
    assert_eq!(make(&["--force"]).status.code(), Some(0));
    assert_eq!(std::fs::read(&path).unwrap(), first, "seeded");
    make(&["--force", "--seed", "9"]);
    assert_ne!(std::fs::read(&path).unwrap(), first);
    assert_eq!(text(&first).lines().filter(|l| l.starts_with("te\t")).count(), 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&probity.file("ordinary.txt", "")));
    }
    let left: Vec<_> = std::fs::read_dir(probity.state.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(!left.iter().any(|f| f.to_string_lossy().starts_with(".probity-")), "{left:?}");
}

#[test]
fn typos_get_suggestions_and_clean_rows_pass_the_doctor() {
    let probity = Probity::new();
    refused(&probity.run(&["data", "make", "past_presnt"]), 2, &["did you mean `past_present`?"]);
    let format = ["data", "make", "facts", "--format", "senteval"];
    refused(&probity.run(&format), 2, &["format of `facts`", "plain, lama"]);
    refused(&probity.run(&["data", "make", "facts", "-n", "99999"]), 2, &["2221 facts", "fewer"]);
    refused(&probity.run(&["data", "make", "facts", "-n", "0"]), 2, &["0"]);
    refused(&probity.run(&["data", "make", "facts", "--model", "bert-mini"]), 2, &["--clean"]);
    let nowhere = ["data", "make", "agreement", "-n", "10", "-o", "/no/such/folder/x"];
    refused(&probity.run(&nowhere), 1, &["/no/such/folder/x"]);
    let clean = ["data", "make", "facts", "--format", "lama", "--clean", "--model", "bert-mini"];
    let output = probity.run(&clean);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let path = probity.file("clean.jsonl", &text(&output.stdout));
    let doctor = probity.run(&["data", "doctor", &path, "--model", "bert-mini", "--json"]);
    let diagnosis = &json_lines(&doctor.stdout)[0];
    assert!(diagnosis["dropped"] == 0 && diagnosis["kept"].as_u64().unwrap() > 1_000, "{diagnosis}");
    let help = text(&probity.run(&["data", "make", "--help"]).stdout);
    assert!(help.contains("Examples:") && help.contains("--format lama"), "{help}");
    let list = text(&probity.run(&["data", "list"]).stdout);
    assert!(["probity data make", "subj_number", "rationales-zh"].iter().all(|w| list.contains(w)), "{list}");
}

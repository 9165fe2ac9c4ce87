//! `probity data`: showing, checking, converting and refusing.

use super::common::{Probity, json_lines, refused, root, text};

#[test]
fn data_sets_are_shown_checked_and_converted() {
    let probity = Probity::new();
    let rows = |file: &str| root().join("tests/rows").join(file).display().to_string();
    let run = |args: &[&str]| {
        let output = probity.run(args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        output
    };
    let list = text(&run(&["data", "list"]).stdout);
    assert!(["agreement", "lama", "senteval", "eraser"].iter().all(|w| list.contains(w)), "{list}");
    let show = text(&run(&["data", "show", &rows("bear"), "--limit", "1"]).stdout);
    assert!(show.contains("BEAR folder") && show.contains("Anna Moor") && !show.contains("Karl"), "{show}");
    let built_in = text(&run(&["data", "show", "agreement", "--limit", "1"]).stdout);
    for part in ["12000 sentence", "0 unreadable", "oracle, largest uncorrelated subset", "row 1: {"] {
        assert!(built_in.contains(part), "no `{part}` in {built_in}");
    }
    let facts = &json_lines(&run(&["data", "doctor", "facts", "--model", "bert-mini", "--json"]).stdout)[0];
    assert_eq!((&facts["rows"], &facts["kinds"]["relation"]), (&2572.into(), &39.into()));
    let json = &json_lines(&run(&["data", "show", &rows("lama.jsonl"), "--json"]).stdout)[0];
    assert_eq!((&json["files"][0]["format"], &json["files"][0]["report"]["rows"]), (&"lama".into(), &4.into()));

    let doctor = ["data", "doctor", &rows("lama.jsonl"), "--model", "bert-mini", "--json"];
    let json = &json_lines(&run(&doctor).stdout)[0];
    assert_eq!(json["models"][0]["model"], "bert-mini");
    assert_eq!(json["rows"].as_u64().unwrap(), json["kept"].as_u64().unwrap() + json["dropped"].as_u64().unwrap());
    assert!(json["findings"]["multi_token"]["count"].as_u64().unwrap() > 0, "{json}");

    // Converted rows are read back unchanged, and converting them again changes nothing.
    let [one, two] = ["one.jsonl", "two.jsonl"].map(|n| probity.state.path().join(n).display().to_string());
    run(&["data", "convert", &rows("agreement.tsv"), "-o", &one]);
    run(&["data", "convert", &one, "-o", &two]);
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    assert_eq!(run(&["data", "convert", &one]).stdout, std::fs::read(&one).unwrap());
    let limited = run(&["data", "convert", &one, "--limit", "1"]);
    assert_eq!(json_lines(&limited.stdout).len(), 1);

    // An existing file is left unchanged unless replacing it is allowed.
    let whole = std::fs::read(&one).unwrap();
    let again = ["data", "convert", &rows("agreement.tsv"), "--limit", "1", "-o", &one];
    refused(&probity.run(&again), 2, &["one.jsonl", "already exists", "--force"]);
    assert_eq!(std::fs::read(&one).unwrap(), whole);
    run(&[&again[..], &["--force"]].concat());
    assert_eq!(json_lines(&std::fs::read(&one).unwrap()).len(), 1);
}

#[test]
fn several_sets_are_shown_in_order() {
    let probity = Probity::new();
    let rows = root().join("tests/rows/lama.jsonl").display().to_string();
    let output = probity.run(&["data", "show", &rows, "agreement", "--limit", "1", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = json_lines(&output.stdout);
    assert_eq!((shown.len(), &shown[0]["path"]), (2, &rows.as_str().into()));
    let both = text(&probity.run(&["data", "show", &rows, "agreement"]).stdout);
    assert!(both.contains("lama.jsonl") && both.contains("12000 sentence"), "{both}");
    refused(&probity.run(&["data", "show"]), 2, &["PATH"]);
}

#[test]
fn unreadable_data_exits_2_with_file_line_and_expected_form() {
    let probity = Probity::new();
    let file = |text: &str| probity.file("bad.txt", text);
    let doctor = |path: &str| probity.run(&["data", "doctor", path]);
    refused(&doctor("/no/such/file"), 2, &["/no/such/file", "expected"]);
    refused(&doctor(&file("")), 2, &["bad.txt", "empty"]);
    refused(&doctor(&file("nothing \u{1b}[2J known\n")), 2, &["bad.txt, line 1", "expected plain (plain JSON lines)"]);
    let broken = "{\"text\": \"\"}\n".repeat(2);
    refused(&doctor(&file(&broken)), 2, &["line 1", "none of its 2 rows"]);
    let rows = root().join("tests/rows/plain.jsonl").display().to_string();
    refused(&probity.run(&["data", "doctor", &rows, "--model", "./nowhere"]), 2, &["nowhere"]);
    refused(&probity.run(&["data", "convert", &rows, "-o", "/no/such/folder/x"]), 1, &["/no/such/folder/x"]);
    refused(&probity.run(&["data", "convert", &rows, "--model", "bert-mini"]), 2, &["--clean"]);
    refused(&probity.run(&["data"]), 2, &["Usage"]);
}

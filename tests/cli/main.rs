//! Runs the binary: exit codes, messages, JSON lines.

mod annotate;
mod calc;
pub(crate) mod common;
mod compare;
mod compare_words;
mod data;
mod gallery;
mod grid;
mod hints;
mod hub;
mod make;
mod models;
mod own_data;
mod plans;
mod rationale;
#[cfg(unix)]
mod remote;
mod running;
#[cfg(unix)]
mod stopping;
mod systems;
mod theirs;
#[cfg(unix)]
mod writing;

use serde_json::Value;

use common::{Probity, agreement, refused, text};

#[test]
fn invalid_specs_exit_2_with_the_reason() {
    let probity = Probity::new();
    let refused_spec = |name: &str, text: &str, words: &[&str]| {
        let path = probity.file(name, text);
        refused(&probity.run(&["run", &path, "--json"]), 2, words);
    };
    refused_spec(
        "key.toml",
        &agreement().replace("[interval]", "[interval]\nlevle = 1"),
        &["key.toml", "line", "levle"],
    );
    refused_spec("range.toml", &agreement().replace("level = 0.95", "level = 2"), &["range.toml", "interval.level"]);
    refused_spec("method.toml", &agreement().replace("\"pgd\"", "\"pdg\""), &["method.name", "did you mean `pgd`?"]);
    refused_spec("model.toml", &agreement().replace("\"bert-mini\"", "\"./no/such\""), &["models", "no such folder"]);
    refused_spec("task.toml", &agreement().replace("\"agreement\"", "\"agrement\""), &["did you mean `agreement`?"]);
    refused_spec("escape.toml", "lab = \"\u{1b}[31m\"", &["escape.toml"]);
    refused_spec("empty.toml", "", &["empty.toml", "lab"]);
    refused(&probity.run(&["run", "/no/such/spec.toml"]), 2, &["/no/such/spec.toml", "cannot read"]);
    refused(&probity.run(&["run", "/"]), 2, &["cannot read"]);
    refused(&probity.run(&["run"]), 2, &["<SPEC>"]);
    refused(&probity.run(&["run", "a.toml", "--device", "gpu9"]), 2, &["gpu9", "cuda:N"]);
    refused(&probity.run(&["run", "a.toml", "--dtype", "f8"]), 2, &["f8", "bf16"]);
    refused(&probity.run(&["run", "a.toml", "--seed", "-1"]), 2, &["seed"]);
    refused(&probity.run(&["frobnicate"]), 2, &["frobnicate"]);
    refused(&probity.run(&["\u{1b}[2J"]), 2, &["unrecognized"]);
}

#[test]
fn invalid_sessions_exit_2() {
    let probity = Probity::new();
    refused(&probity.run(&["replay", "nothing-here", "--headless"]), 2, &["nothing-here", "no such session"]);
    let path = probity.file("x.probity.jsonl", "hello\u{1b}[2J\n");
    refused(&probity.run(&["replay", &path, "--headless"]), 2, &["x.probity.jsonl, line 1", "not a session"]);
    refused(&probity.run(&["replay", "/", "--headless"]), 2, &["no such session"]);
    refused(&probity.run(&["export", &path, "--figure", "pareto", "-o", "x.png"]), 2, &["line 1"]);
    refused(&probity.run(&["replay", &path, "--headless", "--speed", "0"]), 2, &["speed"]);
}

#[test]
fn calculators_use_the_published_keys() {
    let probity = Probity::new();
    let output = probity.run(&["score", "--before", ".5,.3,.2", "--after", "10%,8/10,1e-1", "--target", "1", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert_eq!(stdout.lines().count(), 1);
    let v: Value = serde_json::from_str(&stdout).unwrap();
    assert!((v["reliability"].as_f64().unwrap() - 0.6 / 1.175).abs() < 1e-12, "{v}");
    let output = probity.run(&["reliability", ".8934", "39.92%", "--json"]);
    let v: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(v.as_object().unwrap().keys().collect::<Vec<_>>(), ["reliability"]);
    // Canby et al., Table 2, FGSM: .5518 computed from the rounded C and S.
    assert!((v["reliability"].as_f64().unwrap() - 0.5518).abs() < 5e-5, "{v}");
    assert!(text(&probity.run(&["reliability", "1", "1"]).stdout).starts_with("reliability 1.0"));
    refused(&probity.run(&["reliability", "1.2", ".5"]), 2, &["1.2"]);
    refused(&probity.run(&["reliability", "-1", ".5"]), 2, &["probability must be from 0 to 1"]);
    refused(&probity.run(&["reliability", "nan", ".5"]), 2, &["nan"]);
    refused(&probity.run(&["score", "--before", ".5,.6", "--after", ".5,.5", "--json"]), 2, &["--before", "1.1"]);
}

#[test]
fn help_completions_manual_and_doctor_work_without_a_terminal() {
    let probity = Probity::new();
    for (args, words) in [
        (&["--help"][..], &["run", "replay", "export", "doctor"][..]),
        (&["run", "--help"], &["Examples", "run interventions", "--json"]),
        (&["export", "--help"], &["Examples", "--figure"]),
        (&["--version"], &[env!("CARGO_PKG_VERSION")]),
        (&["completions", "bash"], &["_probity"]),
        (&["completions", "zsh"], &["#compdef probity"]),
        (&["man"], &[".TH", "probity"]),
        (&["models", "list"], &["hub id"]),
        (&["doctor"], &["sessions", "figures", "device"]),
    ] {
        let output = probity.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        let stdout = text(&output.stdout);
        for word in words {
            assert!(stdout.contains(word), "{args:?}: no `{word}` in {stdout}");
        }
    }
}

#[test]
fn closed_pipe_does_not_panic() {
    let probity = Probity::new();
    let mut child = probity
        .command(&["man"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!text(&output.stderr).contains("panicked"));
}

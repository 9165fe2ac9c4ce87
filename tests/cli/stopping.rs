//! Runs that are stopped from outside.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::common::{LARGE, Probity, json_lines};

/// Starts a long run through a shell, sends these signals once the engine is at work, and gives exit code, standard output
/// and standard error.
fn stopped(probity: &Probity, shell: &str, args: &[&str], signals: &[&str]) -> (i32, Vec<u8>, String) {
    let spec = probity.file("large.toml", LARGE);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{shell} \"$0\" \"$@\""), env!("CARGO_BIN_EXE_probity"), "run", &spec]);
    command.args(args).env("PROBITY_STATE_DIR", probity.state.path());
    command.env("PROBITY_CACHE_DIR", probity.state.path()).env("HF_HUB_OFFLINE", "1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(stderr.any(|line| line.unwrap().contains("examples for bert-tiny")));
    let rest = std::thread::spawn(move || stderr.map_while(Result::ok).collect::<Vec<_>>());
    let pid = child.id().to_string();
    for signal in signals {
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), output.stdout, rest.join().unwrap().join("\n"))
}

/// Whether a program that is started here hears a signal of this number: one that begins in the background of a script, or under
/// `nohup`, is handed signals that are ignored, and ours leaves them so.
pub fn is_heard(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (number - 1) & 1 == 0
}

#[test]
fn a_run_that_a_signal_stops_says_so_and_ends_with_its_code() {
    for (signal, number, code) in [("INT", 2, 130), ("TERM", 15, 143), ("HUP", 1, 129)] {
        if !is_heard(number) {
            eprintln!("skipped: SIG{signal} is ignored where these tests run");
            continue;
        }
        let (ended, stdout, stderr) = stopped(&Probity::new(), "exec", &["--json"], &[signal]);
        assert_eq!(ended, code, "SIG{signal}: {stderr}");
        let findings = json_lines(&stdout);
        let last = findings.last().unwrap();
        assert_eq!((&last["kind"], &last["cancelled"]), (&"summary".into(), &true.into()));
        assert!(stderr.contains("session "), "{stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_was_ignored_stays_so() {
    // As `nohup` has it. The second signal shows that the first did nothing: it would give the code otherwise.
    let (ended, _, stderr) = stopped(&Probity::new(), "trap '' HUP; exec", &[], &["HUP", "TERM"]);
    assert_eq!(ended, 143, "{stderr}");
}

#[test]
fn a_stopped_run_replaces_no_results() {
    let probity = Probity::new();
    let out = probity.state.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("findings.jsonl"), "precious").unwrap();
    let args = ["--out", &out.display().to_string(), "--force"];
    let (ended, _, stderr) = stopped(&probity, "exec", &args, &["TERM"]);
    assert_eq!(ended, 143, "{stderr}");
    assert_eq!(std::fs::read_to_string(out.join("findings.jsonl")).unwrap(), "precious");
    let kept = std::fs::read(out.join("findings-incomplete.jsonl")).unwrap();
    assert_eq!(json_lines(&kept).last().unwrap()["cancelled"], true);
    assert!(stderr.contains("stays as it was") && stderr.contains("findings-incomplete.jsonl"), "{stderr}");
}

/// As a cluster's scheduler does it: the cell is recorded as stopped, and the next run computes it.
#[test]
fn a_share_that_is_told_to_end_records_its_cell() {
    let probity = Probity::new();
    let out = probity.state.path().join("out");
    let args = ["--out", &out.display().to_string(), "--shard", "1/1"];
    let (ended, stdout, stderr) = stopped(&probity, "exec", &args, &["TERM"]);
    assert_eq!(ended, 143, "{stderr}");
    assert!(String::from_utf8_lossy(&stdout).contains("shard 1/1: 0 of 1 cells done"));
    let part = std::fs::read_dir(out.join("parts")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(part).unwrap();
    assert!(text.lines().last().unwrap().contains("\"end\":\"stopped\""), "{text}");
    let merged = probity.run(&["merge", &out.display().to_string(), "-o", "x"]);
    assert!(String::from_utf8_lossy(&merged.stderr).contains("missing: 1 of 1"));
}

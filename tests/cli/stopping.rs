//! Runs stopped from outside.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::common::{LARGE, Probity, TINY, json_lines, text};

/// Starts a long run through a shell and sends these signals once the engine is computing. Returns the exit code, standard output and
/// standard error.
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

/// True if a program started by this test receives the signal. A program started in the background of a script, or under `nohup`, inherits
/// ignored signals, and ours keeps them ignored.
fn is_heard(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (number - 1) & 1 == 0
}

#[test]
fn signalled_run_reports_it_and_exits_with_its_code() {
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
fn ignored_signal_stays_ignored() {
    // Simulates `nohup`. The exit code belongs to the second signal, which shows that the first had no effect.
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
    assert!(stderr.contains("is unchanged") && stderr.contains("findings-incomplete.jsonl"), "{stderr}");
}

/// A signal from a cluster's scheduler: the cell is recorded as stopped, and the next run computes it.
#[test]
fn terminated_shard_records_its_cell() {
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

/// A hub that sends its file list endlessly, one space at a time. Returns its port and a channel that reports each request.
fn dripping() -> (u16, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, heard) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let asked = asked.clone();
            std::thread::spawn(move || {
                let head = "HTTP/1.1 200 Said\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n";
                let mut sent = stream.write_all(head.as_bytes());
                // The test may be over: ignore the error.
                let _ = asked.send(());
                while sent.is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                    sent = stream.write_all(b" ");
                }
            });
        }
    });
    (port, heard)
}

/// Covers a run, which handles signals itself, and a download, which does not.
#[test]
fn first_ctrl_c_stops_waiting_for_a_slow_hub() {
    if !is_heard(2) {
        eprintln!("skipped: SIGINT is ignored where these tests run");
        return;
    }
    let probity = Probity::new();
    let spec = probity.file("spec.toml", &TINY.replace("bert-tiny", "org/m"));
    for (args, code) in [(&["run", &spec, "--json"][..], Some(130)), (&["models", "pull", "org/m"], None)] {
        let (port, asked) = dripping();
        let mut command = probity.command(args);
        command.env("HF_ENDPOINT", format!("http://127.0.0.1:{port}")).env("HF_HUB_OFFLINE", "0");
        command.env("HF_HUB_CACHE", probity.state.path().join("hub"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        asked.recv_timeout(Duration::from_secs(120)).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(child.try_wait().unwrap().is_none(), "{args:?} ended early");
        let begun = Instant::now();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        // Without Ctrl-C, the program might wait minutes for the list.
        assert!(begun.elapsed() < Duration::from_secs(10), "{args:?} ended after {:?}", begun.elapsed());
        assert_eq!(ended.status.code(), code, "{args:?}: {}", text(&ended.stderr));
    }
}

/// The non-zombie processes whose command line contains this text.
#[cfg(target_os = "linux")]
fn running(text: &str) -> Vec<String> {
    let of = |entry: std::fs::DirEntry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&command).contains(text).then(|| entry.file_name().into_string().unwrap())
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

/// Regression: the jobs of a killed run used to continue for hours, and stopped jobs stayed.
#[cfg(target_os = "linux")]
#[test]
fn jobs_end_with_a_killed_parent() {
    let probity = Probity::new();
    let spec = probity.file("grid.toml", &(LARGE.replace("seed = 5\n", "") + "[grid]\nseed = [0, 1]\n"));
    let out = probity.state.path().join("killed-with-jobs").display().to_string();
    let mut child = probity.command(&["run", &spec, "--out", &out, "--jobs", "2", "--quiet"]).spawn().unwrap();
    let until = |wanted: &dyn Fn(usize) -> bool| {
        let begun = Instant::now();
        while !wanted(running("killed-with-jobs").len()) && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(50));
        }
        running("killed-with-jobs")
    };
    let processes = until(&|n| n == 3);
    assert_eq!(processes.len(), 3, "the run and two jobs");
    let job = processes.iter().find(|pid| **pid != child.id().to_string()).unwrap();
    // A job that has just begun ends with the pipe; only later does the system wake it.
    std::thread::sleep(Duration::from_millis(500));
    assert!(std::process::Command::new("kill").args(["-STOP", job]).status().unwrap().success());
    // The system wakes a job only if all of its threads had stopped when the parent ended.
    let threads = || std::process::Command::new("ps").args(["-L", "-o", "stat=", "-p", job]).output().unwrap().stdout;
    until(&|_| threads().split(|b| *b == b'\n').all(|line| line.is_empty() || line[0] == b'T'));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(until(&|n| n == 0), [""; 0], "no job is left");
}

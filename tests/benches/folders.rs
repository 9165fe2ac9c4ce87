//! Times `probity compare` on two folders in the format of lm-evaluation-harness: 60 tasks with 10^5 items each.
//!
//! Run `cargo bench --bench folders`. Prints wall time in seconds over repeats, and peak memory (Linux). The goal is at most 2 s and 200
//! MB.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const TASKS: usize = 60;
const ITEMS: usize = 1_667;
const REPEATS: usize = 5;

fn main() {
    let root = tempfile::tempdir().expect("a folder");
    let [a, b] = ["a", "b"].map(|name| root.path().join(name));
    write(&a, 7);
    write(&b, 11);
    let mut seconds: Vec<f64> = (0..REPEATS).map(|_| run(&a, &b).0).collect();
    seconds.sort_by(f64::total_cmp);
    let memory = run(&a, &b).1.map_or("-".into(), |kb| format!("{:.0} MB", kb / 1024.0));
    println!("median s | best s | worst s | peak memory");
    println!("{:.2} | {:.2} | {:.2} | {memory}", seconds[REPEATS / 2], seconds[0], seconds[REPEATS - 1]);
}

/// Writes samples of about a kilobyte each.
fn write(folder: &Path, k: usize) {
    std::fs::create_dir_all(folder).expect("a folder");
    for task in 0..TASKS {
        let mut text = String::new();
        for i in 0..ITEMS {
            let acc = u8::from((i * k + task) % 13 > 4);
            let _ = writeln!(
                text,
                "{{\"doc_id\": {i}, \"doc\": {{\"question\": \"{}{i}\", \"subject\": \"s{}\"}}, \"target\": \"A\", \"arguments\": {{\"gen_args_0\": {{\"arg_0\": \"{}\", \"arg_1\": \" A\"}}}}, \"resps\": [[[\"-1.0\", \"False\"]]], \"filtered_resps\": [[\"-1.0\", \"False\"]], \"doc_hash\": \"{task:032x}{i:032x}\", \"target_hash\": \"1\", \"filter\": \"none\", \"metrics\": [\"acc\"], \"acc\": {acc}.0}}",
                "x".repeat(120),
                i % 5,
                "Question ".repeat(60),
            );
        }
        let name = format!("samples_task{task}_2024-05-01T12-00-00.000001.jsonl");
        std::fs::write(folder.join(name), text).expect("a file");
    }
}

/// Wall time in seconds, and peak resident memory in kilobytes as reported by GNU time.
fn run(a: &Path, b: &Path) -> (f64, Option<f64>) {
    let probity = env!("CARGO_BIN_EXE_probity");
    let begun = Instant::now();
    let timed = Command::new("time").args(["-f", "peak %M", probity, "compare"]).args([a, b]).output();
    let output = match timed {
        Ok(output) => output,
        Err(_) => Command::new(probity).arg("compare").args([a, b]).output().expect("the program"),
    };
    let seconds = begun.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(&output.stderr);
    let peak = told.lines().find_map(|l| l.strip_prefix("peak ")).and_then(|kb| kb.trim().parse().ok());
    (seconds, peak)
}

//! Repeated kills, signals, closed terminals and random keys. The test suite runs a few rounds. To run more, and to print the numbers in
//! `tests/benches/RESULTS.md`: `PROBITY_TORTURE=300 cargo test --test all torture -- --nocapture`.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use probity::session::format::Session;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::jobs::send;
use super::{LARGE, SMALL, Screen, recording, soon};

/// The faults; each round uses one of them.
const BLOWS: [&str; 8] = [
    "keys",
    "closed",
    "closed, no signal",
    "signal",
    "killed screen",
    "killed run",
    "keys, recording",
    "keys, live lab",
];

/// Keys that open, move, type, cancel and quit, and sequences that no keyboard sends.
const KEYS: [&str; 26] = [
    "j",
    "k",
    "h",
    "l",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "?",
    "/",
    "e",
    "r",
    " ",
    "\t",
    "\r",
    "\u{1b}",
    "\u{1b}[A",
    "\u{1b}[B",
    "\u{1b}[6~",
    "\u{1b}[200~x\u{1b}[201~",
    "\u{1b}[<0;30;10M",
    "\u{0}",
    "é",
    "\u{1b}[<64;9;9M",
];

fn typed(rng: &mut ChaCha8Rng, most: usize) -> String {
    (0..rng.random_range(0..=most)).map(|_| KEYS[rng.random_range(0..KEYS.len())]).collect()
}

fn pause(rng: &mut ChaCha8Rng, most: u64) {
    std::thread::sleep(Duration::from_millis(rng.random_range(0..=most)));
}

/// Runs a round. Returns the time in seconds from the fault to the end of the program, if it had to end by itself.
fn round(blow: &str, rng: &mut ChaCha8Rng) -> Option<f64> {
    if blow.starts_with("killed") {
        return killed(blow == "killed run", rng);
    }
    if blow.starts_with("keys") {
        return typed_at(blow, rng);
    }
    let shell = if blow == "closed, no signal" { "trap '' HUP; exec" } else { "exec" };
    let mut screen = Screen::shell(recording(), &["-c", &format!("{shell} \"$PROBITY\" replay s")]);
    screen.sees("Interventions");
    let keys = typed(rng, 30);
    screen.press(&keys);
    pause(rng, 50);
    match blow {
        "signal" => {
            let (signal, code) = [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)][rng.random_range(0..4)];
            let begun = Instant::now();
            send(signal, screen.child.process_id().unwrap());
            assert_eq!(screen.ended_soon(&format!("SIG{signal} after {keys:?}")), code);
            Some(begun.elapsed().as_secs_f64())
        }
        _ => {
            let (mut child, _folder) = screen.close();
            let (code, seconds) = soon(&mut *child, &format!("{blow} after {keys:?}"));
            assert_eq!(code, 129, "{blow} after {keys:?}");
            Some(seconds)
        }
    }
}

/// Types on an empty recording, on a recording of a complete run, or in a lab whose model answers, and then quits.
fn typed_at(blow: &str, rng: &mut ChaCha8Rng) -> Option<f64> {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/replay/first.probity.jsonl");
    let mut screen = match blow {
        "keys, live lab" => Screen::start(SMALL, &["--spec", "spec.toml", "--session", "typed"]),
        "keys, recording" => Screen::start("", &["replay", recorded, "--speed", "1000"]),
        _ => Screen::launch(recording(), &["replay", "s"]),
    };
    screen.sees("Interventions");
    // Keys are sent in several bursts, so that they reach views that earlier keys opened.
    let mut keys = String::new();
    for _ in 0..4 {
        let stroke = typed(rng, 50);
        screen.press(&stroke);
        keys += &stroke;
        pause(rng, 100);
    }
    let begun = Instant::now();
    // Escape closes one layer at a time. In the question about the run and unsaved work, the second entry quits at once. Keys are sent one
    // at a time, because an escape followed by a key is interpreted as a different key.
    for key in ["\u{1b}", "\u{1b}", "\u{1b}", "\u{3}", "q", "j\r"].iter().cycle() {
        if screen.child.try_wait().unwrap().is_some() {
            break;
        }
        assert!(begun.elapsed() < super::PATIENCE, "the program continues after {keys:?}:\n{}", screen.text());
        // The terminal may already be closed.
        let _ = screen.keys.write_all(key.as_bytes());
        std::thread::sleep(Duration::from_millis(60));
    }
    assert_eq!(screen.ended(), 0, "after {keys:?}");
    let seconds = begun.elapsed().as_secs_f64();
    if blow == "keys, live lab" {
        let losses = Session::read(&screen.session()).unwrap().losses;
        assert!(losses.damaged == 0 && losses.unknown == 0, "{losses:?} after {keys:?}");
    }
    Some(seconds)
}

/// Kills the program while it works; the recording must replay, and no unfinished file may remain.
fn killed(headless: bool, rng: &mut ChaCha8Rng) -> Option<f64> {
    let (args, seen): (&[&str], &str) = if headless {
        (&["run", "spec.toml", "--out", "out"], "examples for bert-tiny")
    } else {
        (&["--spec", "spec.toml"], "Interventions")
    };
    let mut screen = Screen::start(LARGE, args);
    screen.sees(seen);
    pause(rng, 1500);
    send("KILL", screen.child.process_id().unwrap());
    screen.child.wait().unwrap();
    let path = if headless { screen.folder.path().join("out/session.probity.jsonl") } else { screen.session() };
    let losses = Session::read(&path).unwrap().losses;
    assert!(losses.damaged == 0 && losses.unknown == 0, "{losses:?}");
    assert!(!screen.folder.path().join("out/findings.jsonl").exists(), "an unfinished run has no result file");
    None
}

#[test]
fn torture() {
    let rounds = std::env::var("PROBITY_TORTURE").ok().and_then(|n| n.parse().ok()).unwrap_or(BLOWS.len());
    let mut longest: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for k in 0..rounds {
        let blow = BLOWS[k % BLOWS.len()];
        let seconds = round(blow, &mut ChaCha8Rng::seed_from_u64(k as u64));
        let entry = longest.entry(blow).or_default();
        *entry = (entry.0 + 1, entry.1.max(seconds.unwrap_or(0.0)));
    }
    for (blow, (count, seconds)) in longest {
        println!("{blow}: {count} rounds, at most {seconds:.2} s until the end");
    }
}

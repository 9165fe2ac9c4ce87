//! Speed and promises of the power lab's arithmetic.
//!
//! `cargo bench --bench power`, or with one of `speed`, `compare`, `coverage`, `peeking`, `required`, `simulation`, `grid` after `--`
//! for that part alone. Prints one line a figure; nothing is asserted. The last two are ratios to what `power_theirs.py` takes under
//! the interpreter that `PROBITY_BENCH_PYTHON` names (default `python3`; it needs statsmodels, scikit-learn and PyTorch), on one
//! thread each; `grid` takes minutes. `PROBITY_BENCH_ROWS` (default 16384) and `PROBITY_BENCH_SEEDS` (default 5) shorten it,
//! `PROBITY_BENCH_FORMS` picks the forms.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use probity::corpus::results::{Wanted, read};
use probity::lab::power::compare::{Names, Terms, compare};
use probity::lab::power::pairs::{Pairs, matched};
use probity::lab::power::pilot::Pilot;
use probity::probe::epochs::{best_of, recipes};
use probity::probe::{Labelled, Matrix};
use probity::stats::Purpose;
use probity::stats::mcnemar::Test;
use probity::stats::paired::{Differences, Table, difference};
use probity::stats::power::{Discord, power};
use probity::stats::required::{Aim, required};
use probity::stats::rng::{stream, unit};
use probity::stats::sequential::Sequential;

const AIM: Aim = Aim { target: 0.8, level: 0.05, test: Test::Exact };
/// Simulated data sets in each cell of a table of coverage.
const RUNS: usize = 20_000;
/// Rows of each file of results.
const ROWS: usize = 1_000_000;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let parts: [(&str, fn()); 7] = [
        ("speed", speed),
        ("compare", files),
        ("coverage", coverage),
        ("peeking", peeking),
        ("required", covered),
        ("simulation", simulation),
        ("grid", grid),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            part();
        }
    }
}

/// The shortest of several times, in milliseconds.
fn shortest(times: usize, mut work: impl FnMut()) -> f64 {
    let one = |_| {
        let begin = Instant::now();
        work();
        1e3 * begin.elapsed().as_secs_f64()
    };
    (0..times).map(one).fold(f64::INFINITY, f64::min)
}

/// Exact power at large n, what is needed, and the curve with its band.
fn speed() {
    for n in [1_000, 10_000, 100_000, 1_000_000] {
        for (p01, p10) in [(0.05, 0.10), (0.30, 0.28), (0.0, 0.02)] {
            let d = Discord::new(p01, p10).expect("probabilities");
            let ms = shortest(20, || {
                let _ = std::hint::black_box(power(d, n, 0.05, Test::Exact));
            });
            println!("exact power, n {n}, p01 {p01}, p10 {p10}: {ms:.3} ms");
        }
    }
    let d = Discord::new(0.28, 0.30).expect("probabilities");
    let ms = shortest(20, || {
        let _ = std::hint::black_box(required(d, AIM));
    });
    println!("required n, p01 .28, p10 .30: {ms:.3} ms");
    let table = Table { both: 300, only_a: 93, only_b: 58, neither: 189 };
    let ms = shortest(20, || {
        let pilot = Pilot::of_table(&table, 0.95).expect("a pilot");
        std::hint::black_box((pilot.curve(("a", "b"), AIM), pilot.required(AIM), pilot.detectable(AIM)));
    });
    println!("curve with band, what is needed and what can be seen: {ms:.3} ms");
}

/// Two files of a million rows, from disk to the comparison.
fn files() {
    let dir = std::env::temp_dir().join(format!("probity-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let write = |path: &Path, seed: u64| {
        let (mut rng, mut text) = (stream(seed, "rows"), String::new());
        for id in 0..ROWS {
            let right = u8::from(unit(&mut rng) < 0.7);
            let _ = writeln!(text, "{{\"id\": {id}, \"correct\": {right}}}");
        }
        std::fs::write(path, text).expect("a file");
    };
    let (a, b) = (dir.join("a.jsonl"), dir.join("b.jsonl"));
    write(&a, 1);
    write(&b, 2);
    let terms = Terms { level: 0.95, margin: 0.02, seed: 0, by: Test::Exact };
    let begin = Instant::now();
    let wanted = Wanted::default();
    let (first, second) = rayon::join(|| read(&a, &wanted), || read(&b, &wanted));
    let (first, second) = (first.expect("results"), second.expect("results"));
    let reading = begin.elapsed().as_secs_f64();
    let found = matched(&[first], &[second], "correct").expect("the same items");
    let names = Names { a: "a".into(), b: "b".into(), metric: "correct".into() };
    let comparison = compare(&found.pairs, &names, terms);
    let needed = Pilot::of(&found.pairs, 0.95).expect("a pilot").required(AIM);
    let all = begin.elapsed().as_secs_f64();
    println!(
        "compare, two files of {ROWS} rows: {all:.2} s, of which {reading:.2} s are reading (p {}, needed {:?})",
        comparison.p, needed.mean
    );
    std::fs::remove_dir_all(&dir).expect("the folder is ours");
}

/// Share of simulated data sets whose interval holds the true difference, in settings that were fixed beforehand.
fn coverage() {
    for n in [100, 500, 2_000] {
        for (p01, p10) in [(0.02, 0.02), (0.10, 0.05), (0.30, 0.28)] {
            let mut rng = stream(n as u64, &format!("coverage {p01} {p10}"));
            let held = (0..RUNS).filter(|_| {
                let mut table = Table::default();
                for _ in 0..n {
                    let u = unit(&mut rng);
                    table.add(u < p10, (p10..p10 + p01).contains(&u));
                }
                let e = difference(&table, 0.95);
                e.lo <= p10 - p01 && p10 - p01 <= e.hi
            });
            println!("coverage, n {n}, p01 {p01}, p10 {p10}: {:.4}", held.count() as f64 / RUNS as f64);
        }
    }
    for (clusters, size) in [(30, 5), (100, 5)] {
        let mut rng = stream(clusters as u64, "clusters");
        // Items of a cluster share their draw in two fifths of the cases.
        let (p01, p10, shared) = (0.10, 0.05, 0.4f64.sqrt());
        let held = (0..RUNS).filter(|_| {
            let sums = (0..clusters).map(|_| {
                let common = unit(&mut rng);
                (0..size)
                    .map(|_| {
                        let u = if unit(&mut rng) < shared { common } else { unit(&mut rng) };
                        f64::from(u8::from(u < p10)) - f64::from(u8::from((p10..p10 + p01).contains(&u)))
                    })
                    .sum::<f64>()
            });
            let sums: Vec<f64> = sums.collect();
            let sizes = vec![f64::from(size); sums.len()];
            let e = Differences { sums, sizes }.interval(0.95);
            e.lo <= p10 - p01 && p10 - p01 <= e.hi
        });
        println!("coverage, {clusters} clusters of {size}: {:.4}", held.count() as f64 / RUNS as f64);
    }
}

/// Share of runs without a difference in which the sequential test, looked at after every item, ever stops.
fn peeking() {
    for (n, rate) in [(500, 0.04), (2_000, 0.15), (10_000, 0.58)] {
        let mut rng = stream(n as u64, "peeking");
        let runs = if n > 2_000 { RUNS / 10 } else { RUNS };
        let stopped = (0..runs).filter(|_| {
            let mut test = Sequential::default();
            (0..n).any(|_| {
                let u = unit(&mut rng);
                test.add(u < 0.5 * rate, (0.5 * rate..rate).contains(&u));
                test.may_stop(0.05)
            })
        });
        println!(
            "peeking, up to {n} items, {rate} of them discordant: {:.4}",
            stopped.count() as f64 / runs as f64
        );
    }
}

/// Share of pilots whose interval for the required n holds that of the truth, and the power that the n of the truth has.
fn covered() {
    for (p01, p10) in [(0.05, 0.10), (0.02, 0.06), (0.28, 0.34)] {
        let truth = Discord { p01, p10 };
        let want = required(truth, AIM).expect("an n").for_good;
        let reached = power(truth, want, AIM.level, AIM.test).expect("a power").power;
        println!("required n, p01 {p01}, p10 {p10}: {want}, which has power {reached:.4}");
        for n in [200, 640] {
            let mut rng = stream(n as u64, &format!("pilots {p01} {p10}"));
            let runs = RUNS / 10;
            let held = (0..runs).filter(|_| {
                let of = |u: f64| {
                    (f64::from(u8::from(u < p10)), f64::from(u8::from((p10..p10 + p01).contains(&u))))
                };
                let (a, b): (Vec<f64>, Vec<f64>) = (0..n).map(|_| of(unit(&mut rng))).unzip();
                let pairs = Pairs { a: vec![a], b: vec![b], clusters: None };
                let Some(pilot) = Pilot::of(&pairs, 0.95) else { return false };
                let needed = pilot.required(AIM);
                needed.lo.is_none_or(|lo| lo <= want as f64) && needed.hi.is_none_or(|hi| want as f64 <= hi)
            });
            println!("  pilots of {n}: {:.4}", held.count() as f64 / runs as f64);
        }
    }
}

/// What the other side prints: name, seconds and what it found, one line each; none without an interpreter that has the packages.
fn theirs(arguments: &[&str]) -> Vec<(String, f64, String)> {
    let python = std::env::var("PROBITY_BENCH_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/benches/power_theirs.py");
    let Ok(out) = Command::new(python).arg(script).args(arguments).output() else { return Vec::new() };
    if !out.status.success() {
        println!("{}", String::from_utf8_lossy(&out.stderr));
    }
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let (name, seconds) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
        Some((name, seconds, parts.next()?.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// Exact power against 5,000 simulated comparisons with statsmodels' exact test.
fn simulation() {
    for (n, p01, p10) in [(640, 0.05, 0.10), (10_000, 0.10, 0.11)] {
        let d = Discord::new(p01, p10).expect("probabilities");
        let exact = power(d, n, 0.05, Test::Exact).expect("a power").power;
        let ms = shortest(20, || {
            let _ = std::hint::black_box(power(d, n, 0.05, Test::Exact));
        });
        let (n, p01, p10) = (n.to_string(), p01.to_string(), p10.to_string());
        for (_, seconds, found) in theirs(&["simulation", &n, &p01, &p10]) {
            let ratio = ms / 1e3 / seconds;
            println!(
                "power, n {n}, p01 {p01}, p10 {p10}: {exact:.4} in {ms:.3} ms; simulated {found} in {seconds:.3} s; ratio {ratio:.6}"
            );
        }
    }
}

/// The published grid with seeds on 16,384 vectors of 768 numbers, a quarter as many for validation, on one thread.
fn grid() {
    let number = |name: &str, usual: usize| -> usize {
        std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(usual)
    };
    let (rows, columns) = (number("PROBITY_BENCH_ROWS", 16_384), 768);
    let (held, seeds) = (rows / 4, number("PROBITY_BENCH_SEEDS", 5));
    let mut rng = stream(1, "grid");
    let mut values = Vec::with_capacity((rows + held) * (columns + 1));
    let direction: Vec<f64> = (0..columns).map(|_| unit(&mut rng) - 0.5).collect();
    for _ in 0..rows + held {
        let x: Vec<f64> = (0..columns).map(|_| 2.0 * unit(&mut rng) - 1.0).collect();
        let told: f64 = x.iter().zip(&direction).map(|(x, w)| x * w).sum();
        // Noise of the size of what is told: about three quarters can be known.
        let label = told + 16.0 * (unit(&mut rng) - 0.5) > 0.0;
        values.extend(x.iter().map(|v| *v as f32).chain([f32::from(u8::from(label))]));
    }
    let part = |from: usize, to: usize| {
        let lines = values.chunks_exact(columns + 1).skip(from).take(to - from);
        let (x, y): (Vec<&[f32]>, Vec<usize>) =
            lines.map(|line| (&line[..columns], line[columns] as usize)).unzip();
        let x = Matrix::from_vec(to - from, columns, x.concat()).expect("its shape");
        Labelled::new(x, y, 2).expect("two classes")
    };
    let (train, validation) = (part(0, rows), part(rows, rows + held));
    let purposes: Vec<Purpose> =
        (0..seeds).map(|k| Purpose::new(1, "grid", "logistic").replicate(k)).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let mut epochs = 0;
    // Asked several times within an epoch.
    let mut pulse = |done: usize, _: usize| {
        epochs = done + 1;
        Ok(())
    };
    let begin = Instant::now();
    let best = pool.install(|| best_of(&train, &validation, &recipes(&[], false), &purposes, &mut pulse));
    let seconds = begin.elapsed().as_secs_f64();
    let best = best.expect("nobody stops it").into_iter().flatten().map(|c| c.correct).max().unwrap_or(0);
    let accuracy = best as f64 / held as f64;
    println!(
        "grid, {rows} vectors, 20 settings x {seeds} seeds, ours: {seconds:.1} s, {epochs} epochs, best validation accuracy {accuracy:.4}"
    );
    let file = std::env::temp_dir().join(format!("probity-grid-{}", std::process::id()));
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(&file, bytes).expect("a file");
    let forms =
        std::env::var("PROBITY_BENCH_FORMS").unwrap_or_else(|_| "stacked by_hand single scikit".into());
    let numbers = [rows, held, columns, seeds].map(|n| n.to_string());
    let mut arguments = vec!["grid", file.to_str().unwrap_or_default()];
    arguments.extend(numbers.iter().map(String::as_str));
    arguments.extend(forms.split(' '));
    for (name, theirs, found) in theirs(&arguments) {
        println!("  {name}: {theirs:.1} s, {found}; ratio {:.3}", seconds / theirs);
    }
    std::fs::remove_file(&file).expect("the file is ours");
}

//! Speed and statistical guarantees of the power lab.
//!
//! Run `cargo bench --bench power`; one of `speed`, `compare`, `coverage`, `peeking`, `required`, `signs`, `gallery`, `simulation`, `grid`
//! after `--` selects a part. `simulation` and `grid` print ratios to the time of `power_theirs.py`, on one thread each, run by the
//! interpreter in `PROBITY_BENCH_PYTHON` (default `python3`; needs statsmodels, scikit-learn and PyTorch). `grid` takes minutes.
//! `PROBITY_BENCH_ROWS` (default 16384) and `PROBITY_BENCH_SEEDS` (default 5) shorten it, `PROBITY_BENCH_FORMS` selects the forms, and
//! `PROBITY_BENCH_HIDDEN` (default 0) sets the classifiers' number of hidden units.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use probity::corpus::results::{Wanted, read};
use probity::engine::Engine;
use probity::engine::local::{Cache, LocalEngine, LocalOptions};
use probity::engine::message::{Command as Message, Event};
use probity::lab::power::compare::{Names, Terms, compare, of_tally};
use probity::lab::power::pairs::{Pairs, matched};
use probity::lab::power::pilot::Pilot;
use probity::lab::power::{Kind, Spec};
use probity::lab::{Body, Kinds};
use probity::model::{Device, Dtype};
use probity::probe::epochs::{best_of, recipes};
use probity::probe::{Labelled, Matrix};
use probity::stats::Purpose;
use probity::stats::mcnemar::Test;
use probity::stats::paired::{Table, difference};
use probity::stats::power::{Discord, power};
use probity::stats::required::{Aim, required};
use probity::stats::rng::{stream, unit};
use probity::stats::sequential::Sequential;
use probity::stats::student;

const AIM: Aim = Aim { target: 0.8, level: 0.05, test: Test::Exact };
/// Number of simulated data sets per cell of a coverage table.
const RUNS: usize = 20_000;
/// Number of rows in each result file.
const ROWS: usize = 1_000_000;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let parts: [(&str, fn()); 9] = [
        ("speed", speed),
        ("compare", files),
        ("coverage", coverage),
        ("peeking", peeking),
        ("required", covered),
        ("signs", signs),
        ("gallery", gallery),
        ("simulation", simulation),
        ("grid", grid),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            part();
        }
    }
}

/// The shortest of several timings, in milliseconds.
fn shortest(times: usize, mut work: impl FnMut()) -> f64 {
    let one = |_| {
        let begin = Instant::now();
        work();
        1e3 * begin.elapsed().as_secs_f64()
    };
    (0..times).map(one).fold(f64::INFINITY, f64::min)
}

/// Times exact power at large n, the required n, and the curve with its band.
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
        let required = pilot.required(AIM);
        std::hint::black_box((pilot.curve(("a", "b"), AIM, required.mean), required, pilot.detectable(AIM)));
    });
    println!("curve with band, required n and detectable difference: {ms:.3} ms");
}

/// Times two files of a million rows, from disk to the comparison.
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
    let terms = Terms { level: 0.95, margin: 0.02, alpha: 0.05, seed: 0, by: Test::Exact };
    let begin = Instant::now();
    let wanted = Wanted::default();
    let (first, second) = rayon::join(|| read(&a, &wanted), || read(&b, &wanted));
    let (first, second) = (first.expect("results"), second.expect("results"));
    let reading = begin.elapsed().as_secs_f64();
    let found = matched(&first.runs, &second.runs, "correct").expect("the same items");
    let names = Names { a: "a".into(), b: "b".into(), metric: "correct".into() };
    let comparison = compare(&found.pairs, &names, terms);
    let needed = Pilot::of(&found.pairs, 0.95).expect("a pilot").required(AIM);
    let all = begin.elapsed().as_secs_f64();
    println!(
        "compare, two files of {ROWS} rows: {all:.2} s, of which {reading:.2} s for reading (p {}, needed {:?})",
        comparison.p, needed.mean
    );
    std::fs::remove_dir_all(&dir).expect("a writable folder");
}

/// Settings fixed beforehand: the probabilities that only the second side and only the first side is right.
const SETTINGS: [(f64, f64); 3] = [(0.02, 0.02), (0.10, 0.05), (0.30, 0.28)];
/// Further unequal settings for clusters, for which Student's t has the lowest coverage.
const BESIDE: [(f64, f64); 2] = [(0.02, 0.06), (0.0, 0.04)];
/// Probability that an item takes its cluster's common draw, or that a seed takes its item's.
const SHARED: f64 = 0.632_455_532_033_675_9;

/// Differences of `size` items; two fifths of the pairs share a draw.
fn together(rng: &mut impl rand::Rng, (p01, p10): (f64, f64), size: usize) -> Vec<(f64, f64)> {
    let common = unit(rng);
    let of = |u: f64| (f64::from(u8::from(u < p10)), f64::from(u8::from((p10..p10 + p01).contains(&u))));
    (0..size).map(|_| of(if unit(rng) < SHARED { common } else { unit(rng) })).collect()
}

/// Simulated results of both sides: clusters of five items, or items that each have results for five seeds.
fn simulated(rng: &mut impl rand::Rng, setting: (f64, f64), units: usize, seeds: bool) -> Pairs {
    let draws: Vec<Vec<(f64, f64)>> = (0..units).map(|_| together(rng, setting, 5)).collect();
    if seeds {
        let side = |f: fn(&(f64, f64)) -> f64| (0..5).map(|k| draws.iter().map(|d| f(&d[k])).collect()).collect();
        return Pairs { a: side(|d| d.0), b: side(|d| d.1), clusters: None, apart: false };
    }
    let side = |f: fn(&(f64, f64)) -> f64| vec![draws.iter().flatten().map(f).collect()];
    let clusters = (0..units as u32).flat_map(|c| [c; 5]).collect();
    Pairs { a: side(|d| d.0), b: side(|d| d.1), clusters: Some(clusters), apart: false }
}

/// Prints the proportion of simulated data sets whose interval contains the true difference.
fn coverage() {
    for n in [100, 500, 2_000] {
        for (p01, p10) in SETTINGS {
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
    for (units, seeds) in [(30, false), (100, false), (100, true), (500, true), (2_000, true)] {
        SETTINGS.iter().for_each(|setting| together_covered(units, seeds, *setting));
    }
    for units in [30, 40, 100] {
        BESIDE.iter().for_each(|setting| together_covered(units, false, *setting));
    }
}

/// Coverage with clustered items. An interval shown as a bound guarantees only at least its nominal rate, so bounds are counted separately.
fn together_covered(units: usize, seeds: bool, (p01, p10): (f64, f64)) {
    let names = Names { a: "a".into(), b: "b".into(), metric: "correct".into() };
    let terms = Terms { level: 0.95, margin: 0.02, alpha: 0.05, seed: 0, by: Test::Exact };
    let mut rng = stream(units as u64, &format!("coverage of {seeds} {p01} {p10}"));
    let (mut held, mut runs) = ([0usize; 2], [0usize; 2]);
    for _ in 0..RUNS {
        let pairs = simulated(&mut rng, (p01, p10), units, seeds);
        let c = of_tally(&pairs.tally(), &names, terms);
        let (e, bound) = (c.difference, usize::from(c.bound));
        runs[bound] += 1;
        held[bound] += usize::from(e.lo <= p10 - p01 && p10 - p01 <= e.hi);
    }
    let what = if seeds { "items under 5 seeds" } else { "clusters of 5" };
    let all = (held[0] + held[1]) as f64 / RUNS as f64;
    let of = |k: usize| match runs[k] {
        0 => "none".to_owned(),
        n => format!("{:.4} of which hold", held[k] as f64 / n as f64),
    };
    println!(
        "coverage, {units} {what}, p01 {p01}, p10 {p10}: {all:.4}; bounds in {:.4} of runs, {}; intervals, {}",
        runs[1] as f64 / RUNS as f64,
        of(1),
        of(0)
    );
}

/// Prints the proportion of simulations without a difference in which the sequential test, applied after every item, stops at least once.
fn peeking() {
    for (n, rate) in [(500, 0.04), (2_000, 0.15), (10_000, 0.58)] {
        let mut rng = stream(n as u64, "peeking");
        let stopped = (0..RUNS).filter(|_| {
            let mut test = Sequential::default();
            (0..n).any(|_| {
                let u = unit(&mut rng);
                test.add(u < 0.5 * rate, (0.5 * rate..rate).contains(&u));
                test.may_stop(0.05)
            })
        });
        println!("peeking, up to {n} items, {rate} of them discordant: {:.4}", stopped.count() as f64 / RUNS as f64);
    }
}

/// Prints the true required n with its power, and the proportion of pilots whose interval for the required n contains it.
fn covered() {
    let holds = |pairs: &Pairs, want: f64| {
        let Some(pilot) = Pilot::of(pairs, 0.95) else { return false };
        let needed = pilot.required(AIM);
        needed.lo.is_none_or(|lo| lo <= want) && needed.hi.is_none_or(|hi| want <= hi)
    };
    for (p01, p10) in [(0.05, 0.10), (0.02, 0.06), (0.28, 0.34)] {
        let truth = Discord { p01, p10 };
        let want = required(truth, AIM).expect("an n").for_good;
        let reached = power(truth, want, AIM.level, AIM.test).expect("a power").power;
        println!("required n, p01 {p01}, p10 {p10}: {want}, which has power {reached:.4}");
        for n in [200, 640] {
            let mut rng = stream(n as u64, &format!("pilots {p01} {p10}"));
            let held = (0..RUNS).filter(|_| {
                let of = |u: f64| (f64::from(u8::from(u < p10)), f64::from(u8::from((p10..p10 + p01).contains(&u))));
                let (a, b): (Vec<f64>, Vec<f64>) = (0..n).map(|_| of(unit(&mut rng))).unzip();
                let pairs = Pairs { a: vec![a], b: vec![b], clusters: None, apart: false };
                holds(&pairs, want as f64)
            });
            println!("  pilots of {n}: {:.4}", held.count() as f64 / RUNS as f64);
        }
        clustered(truth, &holds);
    }
}

/// Like [`covered`], for clusters of five items, whose variance is `1 + 4 rho` times that of independent items.
fn clustered(truth: Discord, holds: &dyn Fn(&Pairs, f64) -> bool) {
    let design = 1.0 + 4.0 * SHARED * SHARED;
    let deviation = (design * (truth.rate() - truth.gap().powi(2)) / 5.0).sqrt();
    let units = student::required(truth.gap() / deviation, AIM.level, AIM.target, 1e7).expect("a number");
    let (want, whole) = ((5.0 * units).ceil(), units.ceil() as usize);
    let mut rng = stream(1, &format!("power of clusters {}", truth.p01));
    let shown = (0..RUNS / 4).filter(|_| {
        let pairs = simulated(&mut rng, (truth.p01, truth.p10), whole, false);
        pairs.differences().p() <= AIM.level && (pairs.differences().mean() > 0.0) == (truth.gap() > 0.0)
    });
    let share = shown.count() as f64 / (RUNS / 4) as f64;
    println!(
        "  in clusters of 5, design effect {design:.2}: {want} items, which detect it in {share:.4} of {} runs",
        RUNS / 4
    );
    for units in [40, 128] {
        let mut rng = stream(units as u64, &format!("clustered pilots {}", truth.p01));
        let held = (0..RUNS).filter(|_| holds(&simulated(&mut rng, (truth.p01, truth.p10), units, false), want));
        println!("  pilots of {units} clusters of 5: {:.4}", held.count() as f64 / RUNS as f64);
    }
}

/// Prints how often the sign of the difference varies between six random parts of the items although there is a difference. For results
/// from files, this criterion adds nothing to the power.
fn signs() {
    for n in [200, 640, 2_000] {
        let (p01, p10) = (0.05, 0.10);
        let reached = power(Discord { p01, p10 }, n, AIM.level, AIM.test).expect("a power").power;
        let mut rng = stream(n, "signs");
        let turned = (0..RUNS).filter(|_| {
            let mut parts = [0i64; 6];
            for i in 0..n as usize {
                let u = unit(&mut rng);
                parts[i % 6] += i64::from(u < p10) - i64::from((p10..p10 + p01).contains(&u));
            }
            parts.iter().any(|p| *p > 0) && parts.iter().any(|p| *p < 0)
        });
        let share = turned.count() as f64 / RUNS as f64;
        println!(
            "signs, n {n}, p01 {p01}, p10 {p10}: power {reached:.3}, the sign varies over six parts in {share:.4}"
        );
    }
}

/// Prints the time in seconds to the first estimate and to the end of the shipped comparison, with five seeds, up to 4,096 sentences per
/// class and no cache.
fn gallery() {
    for round in 0..3 {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = LocalOptions {
            device: Device::Cpu,
            dtype: Dtype::F32,
            cache: Cache::at(&folder.path().join("cache")),
            models: Vec::new(),
            memory_limit: None,
            most_models: 2,
            asked: true,
        };
        let mut spec = Spec::shipped();
        spec.task.sizes = vec![64, 256, 1_024, 4_096];
        let begun = Instant::now();
        let mut engine = LocalEngine::start(options).expect("a thread");
        let mut events = engine.take_events().expect("events");
        engine.send(Message::Run { job: 1, generation: 1, spec: Box::new(spec.into()) }).expect("an engine");
        let mut first = None;
        while let Some(event) = events.blocking_recv() {
            match event {
                Event::Finding { finding, .. }
                    if matches!(finding.body, Body::Lab(Kinds::Power(Kind::Comparison(_)))) =>
                {
                    first.get_or_insert(begun.elapsed().as_secs_f64());
                }
                Event::Finished { outcome, .. } => {
                    let (first, all) = (first.unwrap_or(f64::NAN), begun.elapsed().as_secs_f64());
                    println!("gallery, round {round}: first estimate {first:.2} s, whole {all:.2} s ({outcome:?})");
                    break;
                }
                _ => {}
            }
        }
    }
}

/// Output of the other side, as lines of name, seconds and result; empty if no interpreter has the packages.
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

/// Times exact power, and the other side's estimate from 5,000 simulated comparisons with the exact test of statsmodels.
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

/// Times the published grid search with several seeds on 16,384 vectors of 768 numbers and a quarter as many validation vectors, on one
/// thread.
fn grid() {
    let number =
        |name: &str, usual: usize| -> usize { std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(usual) };
    let (rows, columns) = (number("PROBITY_BENCH_ROWS", 16_384), 768);
    let (held, seeds) = (rows / 4, number("PROBITY_BENCH_SEEDS", 5));
    let hidden: Vec<usize> = Some(number("PROBITY_BENCH_HIDDEN", 0)).filter(|h| *h > 0).into_iter().collect();
    let mut rng = stream(1, "grid");
    let mut values = Vec::with_capacity((rows + held) * (columns + 1));
    let direction: Vec<f64> = (0..columns).map(|_| unit(&mut rng) - 0.5).collect();
    for _ in 0..rows + held {
        let x: Vec<f64> = (0..columns).map(|_| 2.0 * unit(&mut rng) - 1.0).collect();
        let told: f64 = x.iter().zip(&direction).map(|(x, w)| x * w).sum();
        // Noise is as large as the signal, so about three quarters of the labels can be learned.
        let label = told + 16.0 * (unit(&mut rng) - 0.5) > 0.0;
        values.extend(x.iter().map(|v| *v as f32).chain([f32::from(u8::from(label))]));
    }
    let part = |from: usize, to: usize| {
        let lines = values.chunks_exact(columns + 1).skip(from).take(to - from);
        let (x, y): (Vec<&[f32]>, Vec<usize>) = lines.map(|line| (&line[..columns], line[columns] as usize)).unzip();
        let x = Matrix::from_vec(to - from, columns, x.concat()).expect("its shape");
        Labelled::new(x, y, 2).expect("two classes")
    };
    let (train, validation) = (part(0, rows), part(rows, rows + held));
    let purposes: Vec<Purpose> = (0..seeds).map(|k| Purpose::new(1, "grid", "logistic").replicate(k)).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let mut epochs = 0;
    // Called several times per epoch.
    let mut pulse = |done: usize, _: usize| {
        epochs = done + 1;
        Ok(())
    };
    let begin = Instant::now();
    let best = pool.install(|| best_of(&train, &validation, &recipes(&hidden, false), &purposes, &mut pulse));
    let seconds = begin.elapsed().as_secs_f64();
    let best =
        best.expect("training cannot be cancelled here").into_iter().flatten().map(|c| c.correct).max().unwrap_or(0);
    let accuracy = best as f64 / held as f64;
    println!(
        "grid, {rows} vectors, hidden {hidden:?}, 20 settings x {seeds} seeds, ours: {seconds:.1} s, {epochs} epochs, best validation accuracy {accuracy:.4}"
    );
    let file = std::env::temp_dir().join(format!("probity-grid-{}", std::process::id()));
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(&file, bytes).expect("a file");
    let forms = std::env::var("PROBITY_BENCH_FORMS").unwrap_or_else(|_| "stacked by_hand single scikit".into());
    let units = hidden.first().copied().unwrap_or(0);
    let numbers = [rows, held, columns, seeds, units].map(|n| n.to_string());
    let mut arguments = vec!["grid", file.to_str().unwrap_or_default()];
    arguments.extend(numbers.iter().map(String::as_str));
    arguments.extend(forms.split(' '));
    for (name, theirs, found) in theirs(&arguments) {
        println!("  {name}: {theirs:.1} s, {found}; ratio {:.3}", seconds / theirs);
    }
    std::fs::remove_file(&file).expect("a writable file");
}

//! Speed of the intervention methods compared with scikit-learn and PyTorch.
//!
//! Run `cargo bench --bench methods`; one of `inlp`, `rlace`, `pgd`, `autoattack` after `--` selects a part. The other side is
//! `methods_theirs.py`, run by the interpreter in `PROBITY_BENCH_PYTHON` (default `python3`; needs numpy, scipy, scikit-learn and PyTorch).
//! It generates the data for both sides.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use probity::base::NoPulse;
use probity::lab::interventions::methods::inlp::{Directions, INLP};
use probity::lab::interventions::methods::rlace::{Curve, RLACE};
use probity::lab::interventions::parameter::EPSILONS;
use probity::lab::interventions::{FitData, Method, Options, find};
use probity::probe::mlp::Layer;
use probity::probe::{Dense, Intervention, Labelled, Matrix, Mlp, Probe, TrainingData};

const ROWS: usize = 20_000;
const WIDTH: usize = 768;
const HIDDEN: usize = 256;
const ATTACKED: usize = 5_000;
/// Number of rows for AutoAttack, because the reference makes up to 5,000 queries per row and radius.
const STANDING: usize = 250;

/// Measures one method on the data in a folder.
type Part = fn(&Path);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    theirs(folder.path(), "data");
    let parts: [(&str, Part); 4] = [("inlp", inlp), ("rlace", rlace), ("pgd", pgd), ("autoattack", autoattack)];
    println!("figure | ours, s | what");
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            part(folder.path());
            theirs(folder.path(), name);
        }
    }
}

/// Runs a part of the reference implementation, which prints its own lines.
fn theirs(folder: &Path, part: &str) {
    let python = std::env::var("PROBITY_BENCH_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/benches/methods_theirs.py");
    std::io::stdout().flush().expect("an output");
    let radii: Vec<String> = EPSILONS.iter().map(ToString::to_string).collect();
    let run = Command::new(python)
        .arg(script)
        .arg(folder)
        .arg(part)
        .env("PROBITY_BENCH_RADII", radii.join(","))
        .env("PROBITY_BENCH_ROWS", STANDING.to_string())
        .status();
    if !run.is_ok_and(|s| s.success()) {
        println!("theirs {part} | failed |");
    }
}

fn numbers(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).expect("a file written by the reference");
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn data(folder: &Path) -> TrainingData<Intervention> {
    let x = Matrix::from_vec(ROWS, WIDTH, numbers(&folder.join("x.f32"))).expect("its shape");
    let y: Vec<usize> = numbers(&folder.join("y.f32")).iter().map(|y| *y as usize).collect();
    let few: Vec<usize> = (0..500).collect();
    let validation = Labelled::new(x.select_rows(&few), y[..500].to_vec(), 2).expect("labels");
    TrainingData::from_parts(Labelled::new(x, y, 2).expect("labels"), validation).expect("two classes")
}

fn inlp(folder: &Path) {
    let data = data(folder);
    let then = Instant::now();
    let found = Directions::fit(&FitData::new(&data), 40, &Options::defaults(&INLP), &mut NoPulse);
    let found = found.expect("directions");
    println!(
        "INLP, 40 rounds | {:.2} | rank {}",
        then.elapsed().as_secs_f64(),
        found.subspace(40).expect("finite").rank()
    );
}

fn rlace(folder: &Path) {
    let data = data(folder);
    let options = Options::defaults(&RLACE);
    for ranks in [1, 40] {
        let then = Instant::now();
        let curve = Curve::fit(data.train(), 0, ranks, &options, &mut NoPulse).expect("a curve");
        let taken = then.elapsed().as_secs_f64();
        let last = curve.at(ranks).expect("a rank");
        println!(
            "RLACE, ranks 1 to {ranks} | {taken:.2} | {} steps, loss {:.5}, accuracy {:.4} (majority {:.4})",
            last.steps,
            last.loss,
            last.accuracy,
            data.train().majority()
        );
    }
}

fn attack(folder: &Path, id: &str, radii: &[f64], count: usize) {
    let layer = |name: &str, inputs: usize, outputs: usize| Layer {
        weight: Dense::from_vec(inputs, outputs, numbers(&folder.join(format!("{name}.f32")))).expect("its shape"),
        bias: vec![0.0; outputs],
    };
    let layers = vec![layer("w1", WIDTH, HIDDEN), layer("w2", HIDDEN, HIDDEN), layer("w3", HIDDEN, 2)];
    let probe: Probe<Intervention> = Probe::from_mlp(Mlp::from_layers(layers).expect("a network"));
    let data = data(folder);
    let rows: Vec<usize> = (0..count).collect();
    let h = data.train().x().select_rows(&rows);
    let targets: Vec<usize> = rows.iter().map(|r| 1 - data.train().y()[*r]).collect();
    let method: &Method = find(id).expect("a method");
    let fit = FitData { mlp: Some(&probe), ..FitData::new(&data) };
    let fitted = method.fit(&fit, &Options::defaults(method), &mut NoPulse).expect("a fit");
    let then = Instant::now();
    // Chunks run in parallel, as in a real run.
    use rayon::prelude::*;
    let chunks: Vec<Vec<usize>> = rows.chunks(512.min(count / 2)).map(<[usize]>::to_vec).collect();
    let reached: usize = chunks
        .par_iter()
        .map(|chunk| {
            let (h, wanted) = (h.select_rows(chunk), chunk.iter().map(|r| targets[*r]).collect::<Vec<_>>());
            let mut at = fitted.on(&h, &wanted, &mut NoPulse).expect("rows");
            let count = |radius: &f64| {
                let moved = at.at(*radius, &mut NoPulse).expect("a radius");
                let logits = probe.mlp().logits(&moved);
                logits.iter_rows().zip(&wanted).filter(|(l, t)| (l[1] > l[0]) == (**t == 1)).count()
            };
            radii.iter().map(count).sum::<usize>()
        })
        .sum();
    let share = reached as f64 / (count * radii.len()) as f64;
    println!(
        "{id}, {} radii x {count} rows | {:.2} | {share:.4} reach the wanted value",
        radii.len(),
        then.elapsed().as_secs_f64()
    );
}

fn pgd(folder: &Path) {
    attack(folder, "pgd", &EPSILONS, ATTACKED);
}

fn autoattack(folder: &Path) {
    attack(folder, "autoattack", &EPSILONS, STANDING);
}

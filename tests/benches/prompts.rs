//! Speed of drawing ranks from existing predictions (1,000 draws × 8 models × 32 relations × 3 regimes), compared with a plain Python loop
//! over the same predictions.
//!
//! Run `cargo bench --bench prompts` (or, in the development profile, `CARGO_PROFILE_DEV_OPT_LEVEL=3 cargo test --bench prompts`). Our
//! rounds and Python's alternate. Without `python3` the ratio is omitted. Processor time (Linux), summed over threads, is printed with wall
//! time, because it is the better measure on a busy machine.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use probity::lab::prompts::adjust::Weights;
use probity::lab::prompts::answers::{Answers, Shape};
use probity::lab::prompts::consistency::{Draws, Panel, Scoring};
use probity::lab::prompts::places::Ties;
use probity::stats::rng::{below, stream, unit};

const MODELS: usize = 8;
const RELATIONS: usize = 32;
const PROMPTS: usize = 6;
const DRAWS: usize = 1000;
const SUBSET: usize = 20;
const ROUNDS: usize = 15;
/// Number of paired rounds with Python.
const PAIRS: usize = 5;

fn main() {
    println!(
        "instances per relation | names | median ms | best ms | processor ms | Python, median ms | ratio, median of \
         pairs"
    );
    measure(60, PAIRS);
    // The size of LAMA. Python is not timed, because one round would take many minutes.
    measure(1000, 0);
}

/// Answers of every model for every relation, with one to five names per subject.
fn made(instances: usize) -> Vec<Vec<Answers>> {
    let mut rng = stream(7, "bench of ranks");
    let mut relations = Vec::new();
    for _ in 0..RELATIONS {
        let mentions: Vec<usize> = (0..instances).map(|_| 1 + below(&mut rng, 5) as usize).collect();
        let shape = Arc::new(Shape::new(PROMPTS, &mentions));
        let of = |model: usize| {
            let share = 0.3 + 0.05 * model as f64;
            let right: Vec<bool> = (0..shape.queries()).map(|_| unit(&mut rng) < share).collect();
            Answers::new(shape.clone(), right.iter().map(|r| u32::from(*r)).collect(), right)
        };
        relations.push((0..MODELS).map(of).collect());
    }
    relations
}

fn measure(instances: usize, pairs: usize) {
    let relations = made(instances);
    let mut panel = Panel::new(MODELS);
    for answers in &relations {
        panel.push(answers.clone(), &Weights::uniform(PROMPTS));
    }
    let draws = Draws {
        count: DRAWS,
        subset: SUBSET,
        shared: false,
        seed: 0,
        ties: Ties::EarlierLower,
        scoring: Scoring::Exact,
    };
    let once = || {
        let begun = Instant::now();
        std::hint::black_box(panel.draw(&draws, 0..DRAWS));
        1e3 * begun.elapsed().as_secs_f64()
    };
    once();
    let used = on_processors();
    let mut ours: Vec<f64> = (0..ROUNDS).map(|_| once()).collect();
    let processors = match (used, on_processors()) {
        (Some(before), Some(after)) => format!("{:.0}", (after - before) / ROUNDS as f64),
        _ => "–".to_owned(),
    };
    let best = ours.iter().copied().fold(f64::INFINITY, f64::min);
    let dir = tempfile::tempdir().expect("a folder for the predictions");
    let file = dir.path().join("predictions.json");
    std::fs::write(&file, json(&relations)).expect("the predictions");
    let pairs: Vec<(f64, f64)> = (0..pairs).filter_map(|_| Some((once(), python(&file)?))).collect();
    let mut ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours / theirs).collect();
    let mut theirs: Vec<f64> = pairs.iter().map(|p| p.1).collect();
    let (python, ratio) = match pairs.is_empty() {
        true => ("–".to_owned(), "–".to_owned()),
        false => (format!("{:.0}", median(&mut theirs)), format!("{:.4}", median(&mut ratios))),
    };
    println!("{instances} | 1 to 5 | {:.1} | {best:.1} | {processors} | {python} | {ratio}", median(&mut ours));
}

/// Processor time of all threads of this program in milliseconds; Linux counts in hundredths of a second.
fn on_processors() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |k: usize| fields.get(k)?.parse::<f64>().ok();
    Some(10.0 * (ticks(11)? + ticks(12)?))
}

fn median(list: &mut [f64]) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// Correctness by relation, model, prompt, instance and mention.
fn json(relations: &[Vec<Answers>]) -> String {
    let mut text = String::from("[");
    let list = |text: &mut String, k: usize| text.push_str(if k == 0 { "[" } else { ",[" });
    for (r, models) in relations.iter().enumerate() {
        list(&mut text, r);
        for (m, answers) in models.iter().enumerate() {
            list(&mut text, m);
            for p in 0..answers.shape.prompts() {
                list(&mut text, p);
                for i in 0..answers.shape.instances() {
                    list(&mut text, i);
                    for x in 0..answers.shape.mentions(i) {
                        let comma = if x == 0 { "" } else { "," };
                        let _ = write!(text, "{comma}{}", u8::from(answers.is_right(p, i, x)));
                    }
                    text.push(']');
                }
                text.push(']');
            }
            text.push(']');
        }
        text.push(']');
    }
    text.push(']');
    text
}

/// Time in milliseconds that Python takes for the same draws, excluding reading the file.
fn python(file: &Path) -> Option<f64> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/benches/rank_draws.py");
    let out = Command::new("python3").arg(script).arg(file).output().ok().filter(|o| o.status.success())?;
    String::from_utf8(out.stdout).ok()?.trim().parse().ok()
}

//! What the prompts lab sees of causes that are known: the built-in models saw each phrasing of a fact as often as their cards
//! say, and each name and share of facts as they were given.
//!
//! `cargo bench --bench witness` runs the lab on all built-in models (`-- FINDINGS.jsonl` reads a run that is there) and prints one
//! row a model; nothing is asserted. Columns: the correlation over relations and prompts of a prompt's weight in training with its
//! P@1, within relations; verbalisation stability; slope of P@1 over γ; rank consistency under the three regimes.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use probity::gallery;
use serde_json::Value;

/// Small mixtures: the slope's sign and order, not its third digit, is what is looked at.
const DISPARITY: &str = "\n[disparity]\ngammas = [0, 0.5, 1]\nsentences = 1000\nepochs = 1\n";

fn main() {
    let given = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let text = match given {
        Some(path) => std::fs::read_to_string(&path).expect("findings"),
        None => run(),
    };
    let findings: Vec<Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    println!(
        "model | weight and P@1, correlation | n | stability | slope over γ | original | random | adjusted"
    );
    for card in gallery::cards().expect("cards") {
        let of = |kind: &str| -> Vec<&Value> {
            findings.iter().filter(|f| f["kind"] == kind && f["model"] == card.name.as_str()).collect()
        };
        let scores = of("prompt_score");
        if scores.is_empty() {
            continue;
        }
        let (r, n) = weights(&card, &scores);
        let stable: Vec<f64> =
            of("verbalization").iter().filter_map(|f| f["stability"]["mean"].as_f64()).collect();
        let points: Vec<(f64, f64)> = of("disparity")
            .iter()
            .filter_map(|f| Some((f["gamma"].as_f64()?, f["p_at_1"]["mean"].as_f64()?)))
            .collect();
        let ranks = ["original", "random", "adjusted"].map(|regime| {
            let found = of("rank_consistency").into_iter().rfind(|f| f["regime"] == regime).cloned();
            shown(found.and_then(|f| f["consistency"]["mean"].as_f64()))
        });
        println!(
            "{} | {} | {n} | {} | {} | {}",
            card.name,
            shown(r),
            shown((!stable.is_empty()).then(|| mean(&stable))),
            shown(slope(&points)),
            ranks.join(" | ")
        );
    }
}

fn shown(x: Option<f64>) -> String {
    x.map_or("n/a".into(), |x| format!("{x:.3}"))
}

fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len() as f64
}

/// The lab on all built-in models.
fn run() -> String {
    let models: Vec<String> =
        gallery::cards().expect("cards").iter().map(|c| format!("{:?}", c.name)).collect();
    let models = models.join(", ");
    let spec = format!("lab = \"prompts\"\nmodels = [{models}]\n{}models = [{models}]\n", DISPARITY);
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("witness.toml");
    std::fs::File::create(&path).and_then(|mut f| f.write_all(spec.as_bytes())).expect("a spec");
    let out = Command::new(env!("CARGO_BIN_EXE_probity"))
        .args(["run", "--json", "--no-session"])
        .arg(&path)
        .stderr(Stdio::inherit())
        .output()
        .expect("the program");
    String::from_utf8(out.stdout).expect("JSON lines")
}

/// Pearson's correlation of a prompt's weight in training with its P@1, both less their means over the prompts of the relation.
fn weights(card: &gallery::Card, scores: &[&Value]) -> (Option<f64>, usize) {
    let mut found: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for s in scores {
        if let (Some(r), Some(p), Some(x)) =
            (s["relation"].as_str(), s["prompt"].as_str(), s["p_at_1"]["mean"].as_f64())
        {
            found.insert((r, p), x);
        }
    }
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for relation in &card.facts {
        let each: Vec<(f64, f64)> = relation
            .prompts
            .iter()
            .filter_map(|p| Some((p.weight?, *found.get(&(relation.id.as_str(), p.text.as_str()))?)))
            .collect();
        if each.is_empty() {
            continue;
        }
        let (a, b): (Vec<f64>, Vec<f64>) = each.into_iter().unzip();
        xs.extend(a.iter().map(|x| x - mean(&a)));
        ys.extend(b.iter().map(|y| y - mean(&b)));
    }
    let sum = |f: &dyn Fn(f64, f64) -> f64| xs.iter().zip(&ys).map(|(x, y)| f(*x, *y)).sum::<f64>();
    let spread = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    ((spread > 0.0).then(|| sum(&|x, y| x * y) / spread), xs.len())
}

/// Least squares.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (mx, my) = (xs.iter().sum::<f64>() / xs.len() as f64, ys.iter().sum::<f64>() / ys.len() as f64);
    let spread: f64 = xs.iter().map(|x| (x - mx) * (x - mx)).sum();
    let both: f64 = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    (spread > 0.0).then(|| both / spread)
}

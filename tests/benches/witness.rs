//! Tests the prompts lab against known causes: the cards of the built-in models state how often each phrasing of a fact occurred in
//! training, with which names, and for what proportion of facts.
//!
//! `cargo bench --bench witness` runs the lab on all built-in models (`-- FINDINGS.jsonl` reads an existing run) and prints one row per
//! model. The first column is the correlation between a prompt's weight in training and its P@1, within relations and over all prompts,
//! with a 95 % bootstrap interval over relations. The others are verbalisation stability, P@1 of the unchanged model and its slope over γ,
//! and rank consistency under the three regimes with Wilson's intervals. The interval of the slope treats the facts as random; it is wide
//! because every γ uses the same facts.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use probity::gallery;
use probity::stats::rng::{below, stream};
use serde_json::Value;

/// Both ends of the range of γ, with the default number of sentences; fewer sentences do not change a model in training.
const DISPARITY: &str = "\n[disparity]\ngammas = [0, 1]\n";
/// Number of resamples for the interval of a correlation.
const RESAMPLES: usize = 1000;

fn main() {
    let given = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let text = match given {
        Some(path) => std::fs::read_to_string(&path).expect("findings"),
        None => run(),
    };
    let findings: Vec<Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    println!(
        "model | weight and P@1, correlation | prompts | stability | P@1 as it is | slope over γ | original | random | adjusted"
    );
    for card in gallery::cards().expect("cards") {
        let of = |kind: &str| -> Vec<&Value> {
            findings.iter().filter(|f| f["kind"] == kind && f["model"] == card.name.as_str()).collect()
        };
        let scores = of("prompt_score");
        if scores.is_empty() {
            continue;
        }
        let relations = weights(&card, &scores);
        let stable: Vec<f64> = of("verbalization").iter().filter_map(|f| f["stability"]["mean"].as_f64()).collect();
        let points: Vec<(f64, [f64; 3])> =
            of("disparity").iter().filter_map(|f| Some((f["gamma"].as_f64()?, estimate(&f["p_at_1"])?))).collect();
        let before = of("disparity").into_iter().find(|f| f["gamma"].is_null());
        let ranks = ["original", "random", "adjusted"].map(|regime| {
            let found = of("rank_consistency").into_iter().rfind(|f| f["regime"] == regime);
            shown(found.and_then(|f| estimate(&f["consistency"])))
        });
        println!(
            "{} | {} | {} | {} | {} | {} | {}",
            card.name,
            shown(resampled(&relations)),
            relations.iter().map(Vec::len).sum::<usize>(),
            if stable.is_empty() { "n/a".into() } else { format!("{:.3}", mean(&stable)) },
            shown(before.and_then(|f| estimate(&f["p_at_1"]))),
            shown(slope(&points)),
            ranks.join(" | ")
        );
    }
}

/// Mean, lower limit and upper limit of an estimate.
fn estimate(value: &Value) -> Option<[f64; 3]> {
    Some([value["mean"].as_f64()?, value["lo"].as_f64()?, value["hi"].as_f64()?])
}

fn shown(x: Option<[f64; 3]>) -> String {
    x.map_or("n/a".into(), |[x, lo, hi]| format!("{x:.3} [{lo:.3}, {hi:.3}]"))
}

fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len() as f64
}

fn run() -> String {
    let models: Vec<String> = gallery::cards().expect("cards").iter().map(|c| format!("{:?}", c.name)).collect();
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
    assert!(out.status.success(), "the run failed: {}", out.status);
    String::from_utf8(out.stdout).expect("JSON lines")
}

/// For each relation, each prompt's weight in training and its P@1, both centred on their means over the relation's prompts.
fn weights(card: &gallery::Card, scores: &[&Value]) -> Vec<Vec<(f64, f64)>> {
    let mut found: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for s in scores {
        if let (Some(r), Some(p), Some(x)) =
            (s["relation"].as_str(), s["prompt"].as_str(), s["p_at_1"]["mean"].as_f64())
        {
            found.insert((r, p), x);
        }
    }
    let of = |relation: &probity::pretraining::recall::RelationRecall| -> Vec<(f64, f64)> {
        let each: Vec<(f64, f64)> = relation
            .prompts
            .iter()
            .filter_map(|p| Some((p.weight?, *found.get(&(relation.id.as_str(), p.text.as_str()))?)))
            .collect();
        let (a, b): (Vec<f64>, Vec<f64>) = each.iter().copied().unzip();
        each.iter().map(|(x, y)| (x - mean(&a), y - mean(&b))).collect()
    };
    card.facts.iter().map(of).collect()
}

/// Pearson's correlation over all pairs.
fn correlation<'a>(pairs: impl Iterator<Item = &'a (f64, f64)>) -> Option<f64> {
    let [mut xx, mut yy, mut xy] = [0.0; 3];
    for (x, y) in pairs {
        (xx, yy, xy) = (xx + x * x, yy + y * y, xy + x * y);
    }
    (xx * yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

/// The correlation with its 95 % percentile interval over resampled relations.
fn resampled(relations: &[Vec<(f64, f64)>]) -> Option<[f64; 3]> {
    let all = correlation(relations.iter().flatten())?;
    let mut rng = stream(0, "witness");
    let n = relations.len() as u32;
    let mut drawn: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let list: Vec<usize> = (0..n).map(|_| below(&mut rng, n) as usize).collect();
            correlation(list.iter().flat_map(|k| &relations[*k]))
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let at = |share: f64| drawn[((drawn.len() - 1) as f64 * share).round() as usize];
    Some([all, at(0.025), at(0.975)])
}

/// Least-squares slope, with an interval that treats the points as independent.
fn slope(points: &[(f64, [f64; 3])]) -> Option<[f64; 3]> {
    let mx = points.iter().map(|p| p.0).sum::<f64>() / points.len() as f64;
    let spread: f64 = points.iter().map(|(x, _)| (x - mx) * (x - mx)).sum();
    if spread.is_nan() || spread <= 0.0 {
        return None;
    }
    let weight = |x: f64| (x - mx) / spread;
    let both: f64 = points.iter().map(|(x, y)| weight(*x) * y[0]).sum();
    let half = |y: &[f64; 3]| (y[2] - y[1]) / 2.0;
    let wide = points.iter().map(|(x, y)| (weight(*x) * half(y)).powi(2)).sum::<f64>().sqrt();
    Some([both, both - wide, both + wide])
}

//! The effect of the training seed: tests whether the spread between replicates predicts how much runs differ.
//!
//! `cargo bench --bench seeds -- [MODEL]...` runs the default experiment five times on the same data with `probe.seed` 0 to 4. Each run
//! chooses its probe settings again. R is compared for every pair of runs at every method, oracle and strength. With v the variance between
//! the K replicates of a run, runs should differ by more than 1.96 sqrt((v1 + v2)/K) in about 9 % of all cases at K = 5, because v is
//! estimated from five values. A higher rate would mean that choosing the settings adds variation that replicates do not show. The
//! comparison is repeated for five data seeds (`seed`); the wide bands should cover the differences between them.

use std::collections::BTreeMap;

use probity::engine::Engine;
use probity::engine::local::{Cache, LocalEngine, LocalOptions};
use probity::engine::message::{Command, Event, Outcome};
use probity::lab::interventions::finding::{Kind, OptimumFinding, ReliabilityFinding};
use probity::lab::interventions::{Spec, verdict::RankingFinding};
use probity::lab::{Body, Finding, Kinds};
use probity::model::{Device, Dtype};

/// Points of a run by method, oracle and strength.
type Points = BTreeMap<(String, String, u64), ReliabilityFinding>;

struct Said {
    points: Points,
    rankings: Vec<RankingFinding>,
    optima: Vec<OptimumFinding>,
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let models = if named.is_empty() { vec!["bert-mini".to_owned()] } else { named };
    for model in models {
        let spec = |data: u64, training: u64| {
            let mut spec = Spec { models: vec![model.clone()], seed: data, ..Spec::shipped() };
            spec.probe.seed = training;
            spec
        };
        let trained: Vec<Said> = (0..5).map(|s| run(spec(0, s))).collect();
        compare(&model, "probe.seed", &trained);
        let drawn: Vec<Said> = (0..5).map(|s| run(spec(s, 0))).collect();
        compare(&model, "seed", &drawn);
    }
}

fn run(spec: Spec) -> Said {
    let mut said = Said { points: BTreeMap::new(), rankings: Vec::new(), optima: Vec::new() };
    for finding in findings(spec).into_iter().filter(|f| f.r#final) {
        match finding.body {
            Body::Lab(Kinds::Interventions(Kind::Reliability(x))) => {
                let key = (x.method.clone(), x.oracle.to_string(), x.value.to_bits());
                said.points.insert(key, x);
            }
            Body::Lab(Kinds::Interventions(Kind::Ranking(x))) => said.rankings.push(x),
            Body::Lab(Kinds::Interventions(Kind::Optimum(x))) => said.optima.push(x),
            _ => {}
        }
    }
    said
}

/// All findings of a run without a cache.
fn findings(spec: Spec) -> Vec<Finding> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = LocalOptions {
        device: Device::Cpu,
        dtype: Dtype::F32,
        cache: Cache::at(&folder.path().join("probes")),
        models: Vec::new(),
        memory_limit: None,
        most_models: 1,
        asked: false,
    };
    let mut engine = LocalEngine::start(options).expect("a thread");
    let mut events = engine.take_events().expect("events");
    engine.send(Command::Run { job: 1, generation: 1, spec: Box::new(spec.into()) }).expect("an engine");
    let mut list = Vec::new();
    while let Some(event) = events.blocking_recv() {
        match event {
            Event::Finding { finding, .. } => list.push(*finding),
            Event::Finished { outcome: Outcome::Done, .. } => break,
            Event::Finished { outcome, .. } => panic!("the run ended with {outcome:?}"),
            _ => {}
        }
    }
    list
}

fn compare(model: &str, what: &str, runs: &[Said]) {
    let (mut apart, mut outside, mut beyond, mut cases) = (0, 0, 0, 0);
    let (mut wide, mut narrow) = (Vec::new(), Vec::new());
    for (i, a) in runs.iter().enumerate() {
        for b in &runs[i + 1..] {
            for (key, x) in &a.points {
                let Some(y) = b.points.get(key) else { continue };
                let (Some(sx), Some(sy)) = (x.reliability.sd, y.reliability.sd) else { continue };
                let k = x.beside.replicates as f64;
                let gap = (x.reliability.mean - y.reliability.mean).abs();
                cases += 1;
                apart += usize::from(gap > 1.96 * ((sx * sx + sy * sy) / k).sqrt());
                let halves = x.reliability.half_width().hypot(y.reliability.half_width());
                outside += usize::from(gap > halves);
                let narrow = |p: &ReliabilityFinding| p.reliability.narrow_half_width().unwrap_or(0.0);
                beyond += usize::from(gap > narrow(x).hypot(narrow(y)));
            }
        }
        for x in a.points.values() {
            wide.push(2.0 * x.reliability.half_width());
            narrow.push(2.0 * x.reliability.narrow_half_width().unwrap_or(0.0));
        }
    }
    let share = |n: usize| 100.0 * n as f64 / cases as f64;
    println!("{model}, five of `{what}`, {cases} pairs of R:");
    println!("  differ by more than the replicates predict {:.1} %", share(apart));
    println!("  differ by more than both wide bands together {:.1} %", share(outside));
    println!("  differ by more than both narrow bands together {:.1} %", share(beyond));
    println!("  median width of the wide band {:.3}, of the narrow one {:.3}", median(wide), median(narrow));
    for oracle in ["mlp", "linear"] {
        let orders: Vec<String> = runs
            .iter()
            .filter_map(|r| Some((r, r.rankings.iter().find(|x| x.oracle.to_string() == oracle)?)))
            .map(|(r, x)| {
                let best = x.order.first().map_or_else(String::new, |m| m.title());
                let of = |o: &&OptimumFinding| o.oracle == x.oracle && x.order.first() == Some(&o.method_key());
                let reliability = r.optima.iter().find(of).map_or(f64::NAN, |o| o.reliability.mean);
                format!("{best} {reliability:.2} ({:.2})", x.stability)
            })
            .collect();
        println!("  most reliable under the {oracle} oracle, R (stability of the order): {}", orders.join(", "));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

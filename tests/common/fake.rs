//! A fake experiment: events, findings and a script for the fake engine.

use super::sets::{diagnosed, held};
use probity::engine::data::DataQuestion;
use probity::engine::inspection::{CheckRow, Inspection};
use probity::engine::message::{
    Answer, Command, EngineInfo, Event, ModelAnswer, ModelInfo, ModelQuestion, Outcome, Progress, Question,
};
use probity::lab::interventions::Spec;
use probity::lab::interventions::banded::Banded;
use probity::lab::interventions::finding::{
    BehaviourFinding, Beside, ChoiceFinding, DataFinding, ExampleFinding, How, Kind, OptimumFinding, PaperFinding,
    ProbeFinding, ProbeRole, ReliabilityFinding, Shift,
};
use probity::lab::interventions::key::MethodKey;
use probity::lab::interventions::oracle::OracleKind;
use probity::lab::interventions::question::{PointQuestion, Question as Asked};
use probity::lab::plan::Material;
use probity::lab::{self, Body, Common, Finding, LabId, SummaryFinding};
use probity::lab::{FindingKind as _, SpecFields as _};
use probity::stats::estimate::Estimate;
use probity::stats::replicates::Form;
use probity::tui::screens::interventions::catalog::Catalog;

pub(crate) fn ready() -> Event {
    Event::Ready(EngineInfo { version: "0.1.0".into(), device: "cpu (2 threads)".into() })
}

pub(crate) fn models() -> Event {
    let model = |name: &str, family: &str, parameters| ModelInfo {
        name: name.into(),
        family: family.into(),
        layers: 4,
        hidden: 256,
        parameters,
        serves: "all labs".into(),
    };
    Event::Models { models: vec![model("bert-mini", "bert", 4_200_000), model("gpt2-mini", "gpt2", 4_100_000)] }
}

pub(crate) fn progress(generation: u64) -> Event {
    let progress = Progress {
        stage: "pgd epsilon .112".into(),
        done: 1872,
        total: 2400,
        unit: "ex".into(),
        rate: 41_234.0,
        overall: 0.43,
        elapsed: 12.0,
        left: Some(16.2),
    };
    Event::Progress { generation, progress }
}

pub(crate) fn summary(generation: u64) -> Event {
    let summary =
        SummaryFinding { seconds: 41.7, device: "cpu (2 threads)".into(), version: "0.1.0".into(), cancelled: false };
    Event::Finding {
        generation,
        finding: Box::new(with_body(2400, true, 41.7, Body::Common(Common::Summary(summary)))),
    }
}

fn finding(n: usize, is_final: bool, t: f64, kind: Kind) -> Finding {
    with_body(n, is_final, t, Body::Lab(kind.into()))
}

fn with_body(n: usize, is_final: bool, t: f64, body: Body) -> Finding {
    let level = matches!(&body, Body::Lab(kinds) if kinds.has_interval());
    Finding {
        lab: LabId::Interventions,
        spec: Spec::shipped().hash(),
        model: "bert-mini".into(),
        seed: 0,
        n,
        r#final: is_final,
        t,
        level: level.then_some(0.95),
        body,
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// An interval around a mean score, with a width that suits its number of examples.
pub(super) fn estimate(mean: f64, n: usize) -> Estimate {
    let half = 1.96 * (0.25 * mean.max(0.02) * (1.0 - mean).max(0.02) / n as f64 * 4.0).sqrt();
    Estimate { mean, lo: (mean - half).max(0.0), hi: (mean + half).min(1.0) }
}

/// Completeness and selectivity of a method at a strength, shaped as in the paper.
pub(super) fn truth(method: &str, value: f64, oracle: OracleKind) -> (f64, f64) {
    let shift = if oracle == OracleKind::Linear { 0.25 } else { 0.0 };
    let log = value.max(1e-6).ln();
    match method {
        "fgsm" => (0.98 * sigmoid(2.0 * (log + 2.4 + shift)), 1.0 - 0.85 * sigmoid(1.6 * (log + 1.9))),
        "pgd" => (0.995 * sigmoid(2.6 * (log + 2.7 + shift)), 1.0 - 0.9 * sigmoid(1.9 * (log + 1.8))),
        "alterrep" => (sigmoid(1.4 * (log + 1.9 + shift)), 1.0 - 0.6 * sigmoid(1.1 * (log - 0.3))),
        _ => (0.9 * (1.0 - (-value / 7.0).exp()), 1.0 - 0.5 * (1.0 - (-value / 18.0).exp())),
    }
}

/// Intervals for five replicates; the wide band is twice as wide as the narrow one.
fn banded(mean: f64, n: usize) -> Banded {
    let narrow = estimate(mean, n);
    let half = narrow.half_width();
    let (lo, hi) = ((mean - 2.0 * half).max(0.0), (mean + 2.0 * half).min(1.0));
    Banded {
        mean,
        lo,
        hi,
        sampling: Some([narrow.lo, narrow.hi]),
        range: Some([(mean - 1.5 * half).max(0.0), (mean + 1.5 * half).min(1.0)]),
        sd: Some(half),
        form: Some(Form::Student { df: 4.0 }),
    }
}

fn reliability(method: &str, parameter: &str, value: f64, oracle: OracleKind, n: usize) -> ReliabilityFinding {
    let (c, s) = truth(method, value, oracle);
    let n_s = (n * 17 / 100).max(1);
    let r = if c + s > 0.0 { 2.0 * c * s / (c + s) } else { 0.0 };
    ReliabilityFinding {
        method: method.into(),
        options: Default::default(),
        layer: 4,
        oracle,
        oracle_layer: 4,
        parameter: parameter.into(),
        value,
        completeness: banded(c, n),
        selectivity: banded(s, n_s),
        reliability: banded(r, n_s),
        n_c: n,
        n_s,
        mean_harmonic: r * 0.97,
        completeness_prior: None,
        beside: Beside {
            replicates: 5,
            s_floor: Some(0.62),
            c_before: Some(0.02),
            s_by_class: Some(banded(s * 0.95, n_s)),
            c_on_s: Some(banded(c * 0.98, n_s)),
            c_predicted: Some(c * 0.99),
            ze_balanced_accuracy: Some(estimate(0.5 + 0.4 * s, n_s)),
            eligible: Some(s > 0.3),
            ..Beside::default()
        },
    }
}

fn behaviour(method: &str, parameter: &str, value: f64, n: usize) -> BehaviourFinding {
    let (c, _) = truth(method, value, OracleKind::Mlp);
    BehaviourFinding {
        method: method.into(),
        options: Default::default(),
        layer: 4,
        parameter: parameter.into(),
        value,
        flip_rate: banded(0.85 * c, n),
        correct_before: banded(0.962, n),
        correct_after: banded(0.962 - 0.8 * c, n),
        replicates: 5,
        told: None,
    }
}

fn probes() -> Vec<ProbeFinding> {
    let probe =
        |role, property: &str, classifier: &str, oracle, accuracy: f64, majority, calibration_error| ProbeFinding {
            role,
            property: property.into(),
            classifier: classifier.into(),
            oracle,
            layer: 4,
            accuracy: estimate(accuracy, 2400),
            majority,
            balanced_accuracy: accuracy - 0.012,
            calibration_error,
            cached: false,
            grid: "small: 12 of the paper's 36 points".into(),
            choice: Some(ChoiceFinding {
                replicates: 5,
                accuracy_range: [accuracy - 0.004, accuracy + 0.003],
                calibration_range: [calibration_error * 0.8, calibration_error * 1.3],
                validation: [accuracy, accuracy + 0.002],
                steps: 850,
                rivals: vec!["1x64 lr 1e-2".into(), "2x64 lr 1e-3".into()],
                material: Material {
                    train: 4200,
                    validation: 200,
                    kept: vec![vec![150, 20, 2800], vec![60, 8, 1162]],
                    phi: 0.0,
                },
            }),
        };
    use OracleKind::{Linear, Mlp};
    use ProbeRole::{Interventional, Oracle};
    vec![
        probe(Oracle, "subject_number", "MLP 2x256, lr 0.001", Some(Mlp), 0.991, 0.698, 0.012),
        probe(Oracle, "attractor_number", "MLP 1x256, lr 0.001", Some(Mlp), 0.884, 0.815, 0.041),
        probe(Oracle, "subject_number", "linear, lr 0.01", Some(Linear), 0.973, 0.698, 0.020),
        probe(Oracle, "attractor_number", "linear, lr 0.01", Some(Linear), 0.818, 0.815, 0.066),
        probe(Interventional, "subject_number", "MLP 2x64, lr 0.001", None, 0.989, 0.701, 0.015),
    ]
}

fn data() -> DataFinding {
    DataFinding {
        task: "agreement".into(),
        data_hash: "5f1c2a9be0d4".into(),
        source: None,
        model_hash: "a41b77c0de93".into(),
        layer: 4,
        layers: 4,
        dim: 256,
        counts: vec![vec![244, 40, 1391], vec![79, 31, 615]],
        target_values: vec!["singular".into(), "plural".into()],
        other_values: vec!["singular".into(), "plural".into()],
        n_oracle: (4560, 4391),
        n_intervention: 4560,
        n_test: 2400,
        phi: (0.069, 0.0),
        scale: (15.9, 0.98),
        further: Vec::new(),
        distance: Default::default(),
        long: 0,
        tokens: None,
    }
}

/// All findings of the default experiment with `n` test examples. An unfinished run has not reached INLP and stops halfway through PGD.
pub(crate) fn measured(n: usize, finished: bool) -> Vec<Finding> {
    let mut t = 0.2;
    let mut findings = vec![finding(12_000, true, t, Kind::Data(data()))];
    findings.extend(probes().into_iter().map(|p| finding(2400, true, 3.0, Kind::Probe(p))));
    let catalog = Catalog::sample();
    for entry in &catalog.methods {
        let (id, parameter) = (entry.id.as_str(), entry.parameter.name.as_str());
        let grid = &entry.parameter.grid;
        let reached = match (finished, id) {
            (true, _) | (_, "alterrep" | "fgsm") => grid.len(),
            (false, "pgd") => grid.len() * 2 / 3,
            (false, _) => 0,
        };
        for value in &grid[..reached] {
            t += 0.1;
            for oracle in [OracleKind::Mlp, OracleKind::Linear] {
                let r = reliability(id, parameter, *value, oracle, n);
                findings.push(finding(n, finished, t, Kind::Reliability(r)));
            }
            findings.push(finding(n, finished, t, Kind::Behaviour(behaviour(id, parameter, *value, n))));
        }
        if reached == grid.len() {
            for oracle in [OracleKind::Mlp, OracleKind::Linear] {
                let points = grid.iter().map(|v| reliability(id, parameter, *v, oracle, n));
                let best = points.max_by(|a, b| a.reliability.mean.total_cmp(&b.reliability.mean)).expect("a grid");
                let optimum = OptimumFinding {
                    method: id.into(),
                    options: Default::default(),
                    layer: 4,
                    oracle,
                    oracle_layer: None,
                    parameter: parameter.into(),
                    value: best.value,
                    completeness: best.completeness,
                    selectivity: best.selectivity,
                    reliability: best.reliability,
                    how: How {
                        replicates: 5,
                        chosen: Some("held_out".into()),
                        eligible: Some(0.8),
                        choices: vec![(best.value, 0.9), (grid[0], 0.1)],
                        at_end: None,
                        paper: Some(PaperFinding {
                            value: best.value,
                            completeness: best.completeness,
                            selectivity: best.selectivity,
                            reliability: best.reliability,
                            at_end: None,
                        }),
                        selectivities: Vec::new(),
                    },
                };
                findings.push(finding(n, finished, t, Kind::Optimum(optimum)));
            }
        }
    }
    if finished {
        findings.extend(super::verdicts::compared(n).into_iter().map(|kind| finding(n, true, t, kind)));
    }
    findings
}

/// The answer to a question about a point, on `n` examples.
pub(crate) fn point(spec: &Spec, generation: u64, ticket: u64, request: &PointQuestion, n: usize) -> Event {
    let catalog = Catalog::sample();
    let parameter = catalog.method(&request.method).map_or("value", |m| m.parameter.name.as_str()).to_owned();
    let (c, s) = truth(&request.method, request.value, OracleKind::Mlp);
    let shift = |label: &str, before: f64, after: f64| Shift { label: label.into(), before, after };
    let to = |before: f64, c: f64| before + (1.0 - 2.0 * before) * c;
    let example = ExampleFinding {
        index: request.example,
        of: 2400,
        text: "The keys to the cabinet [MASK] on the table .".into(),
        method: request.method.clone(),
        options: Default::default(),
        parameter: parameter.clone(),
        value: request.value,
        absent: Vec::new(),
        oracle: vec![
            ("subject_number".into(), vec![shift("singular", 0.03, to(0.03, c)), shift("plural", 0.97, to(0.97, c))]),
            ("attractor_number".into(), vec![shift("singular", 0.99, 0.99 * s), shift("plural", 0.01, 1.0 - 0.99 * s)]),
        ],
        words: vec![shift("are", 0.91, 0.91 * (1.0 - 0.93 * c)), shift("is", 0.03, 0.03 + 0.85 * c)],
        correct: 0,
    };
    let mut findings: Vec<Finding> = spec
        .probe
        .oracles
        .iter()
        .map(|o| {
            finding(n, false, 9.0, Kind::Reliability(reliability(&request.method, &parameter, request.value, *o, n)))
        })
        .collect();
    findings.push(finding(n, false, 9.0, Kind::Behaviour(behaviour(&request.method, &parameter, request.value, n))));
    findings.push(finding(1, true, 9.0, Kind::Example(example)));
    let options = request.key().options;
    for finding in &mut findings {
        match &mut finding.body {
            Body::Lab(lab::Kinds::Interventions(Kind::Reliability(x))) => x.options = options.clone(),
            Body::Lab(lab::Kinds::Interventions(Kind::Behaviour(x))) => x.options = options.clone(),
            _ => {}
        }
    }
    Event::Answer { ticket, answer: Answer::Experiment { generation, findings } }
}

/// A script for the fake engine that answers like the real one, immediately.
pub(crate) fn script() -> probity::engine::fake::Script {
    let mut spec = Spec::shipped();
    Box::new(move |command| match command {
        Command::ListModels => vec![ready(), models()],
        Command::Run { job, generation, spec: asked } => {
            if let lab::Spec::Interventions(asked_for) = &**asked {
                spec = (**asked_for).clone();
            }
            vec![Event::Started { job: *job, generation: *generation, spec_hash: asked.hash() }, progress(*generation)]
        }
        Command::Ask { ticket, question } => vec![about_run(&spec, *ticket, question)],
        Command::Cancel { job } => {
            vec![Event::Finished { job: *job, generation: *job, outcome: Outcome::Cancelled, seconds: 1.0 }]
        }
        Command::Withdraw { .. } | Command::Pause { .. } | Command::Shutdown => Vec::new(),
    })
}

fn about_run(spec: &Spec, ticket: u64, question: &Question) -> Event {
    match question {
        Question::Experiment { generation, question } => {
            let lab::Question::Interventions(Asked::Point(request)) = question else {
                return super::facts::answered(ticket, *generation, question);
            };
            let asked = spec.methods.iter().find(|m| m.name == request.method);
            let key = asked.map_or_else(|| MethodKey::named(&request.method), |m| m.key());
            assert_eq!(key, request.key(), "a point of the method in the setup");
            point(spec, *generation, ticket, request, 500)
        }
        Question::Model { model, what: ModelQuestion::Inspect } => inspected(model),
        Question::Model { model, what: ModelQuestion::Check } => checked(model),
        Question::Data(request) => match request.question {
            DataQuestion::Inspect => held(ticket),
            DataQuestion::Doctor => diagnosed(ticket),
        },
    }
}

pub(crate) fn about(model: &str, answer: ModelAnswer) -> Event {
    Event::Answer { ticket: 0, answer: Answer::Model { model: model.into(), answer } }
}

pub(crate) fn inspected(model: &str) -> Event {
    let fact = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    about(
        model,
        ModelAnswer::Inspected(Box::new(Inspection {
            model: model.into(),
            family: "bert".into(),
            layers: 12,
            hidden: 768,
            parameters: 109_514_298,
            hash: "9f".repeat(32),
            device: "cpu (2 threads)".into(),
            seconds: 1.234,
            facts: vec![
                fact("vocabulary", "30522"),
                fact("positions", "512 (learned)"),
                fact("tokenizer", "30522 entries, mask token [MASK]"),
                fact("hooks", "hook_embed blocks.N.hook_resid_pre blocks.N.hook_resid_post"),
            ],
            sample: [
                "[CLS]",
                "the",
                "keys",
                "to",
                "the",
                "cabinet",
                "are",
                "un",
                "##question",
                "##ably",
                "old",
                "[SEP]",
            ]
            .map(String::from)
            .to_vec(),
        })),
    )
}

/// A model check with one quantity beyond its tolerance and one that cannot be compared.
pub(crate) fn checked(model: &str) -> Event {
    let row = |quantity: &str, n, deviation, tolerance, verdict: &str| CheckRow {
        quantity: quantity.into(),
        n,
        deviation,
        tolerance,
        verdict: verdict.into(),
    };
    let rows = vec![
        row("token ids", 128, Some(0.0), Some(0.0), "pass"),
        row("hidden states", 73_728, Some(3.1e-6), Some(2e-5), "pass"),
        row("logits", 390_144, Some(4.4e-3), Some(1e-4), "FAIL"),
        row("pooler_output", 0, None, None, "not checked: the folder has none"),
    ];
    about(model, ModelAnswer::Checked(rows))
}

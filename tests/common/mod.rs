//! A fake experiment and a harness that drives the screen without a terminal.

#![allow(dead_code)] // each test target uses its part

use probity::engine::board::Board;
use probity::engine::data::{DataAnswer, DataDiagnosis, DataInspection, DataQuestion, Part, Parts};
use probity::engine::finding::{
    BehaviourFinding, Body, DataFinding, ExampleFinding, Finding, OptimumFinding, ProbeFinding, ProbeRole,
    ReliabilityFinding, Shift, SummaryFinding,
};
use probity::engine::inspection::{CheckRow, Inspection};
use probity::engine::message::{Command, EngineInfo, Event, ModelInfo, Outcome, Progress};
use probity::engine::spec::{LabId, OracleKind, Spec};
use probity::stats::estimate::Estimate;
use probity::tui::action::{Action, Effect};
use probity::tui::catalog::Catalog;
use probity::tui::panes;
use probity::tui::reduce::reduce;
use probity::tui::state::{Start, State};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

/// The state under test with everything that it sent and received.
pub struct Harness {
    pub state: State,
    pub effects: Vec<Effect>,
    /// Commands and events in the order in which the board took them in.
    pub record: Vec<Record>,
}

/// A line of a recording.
#[derive(Debug, Clone)]
pub enum Record {
    Command(Command),
    Event(Event),
}

impl Harness {
    pub fn new(columns: u16, rows: u16) -> Self {
        Self::of(Start { size: (columns, rows), ..start() })
    }

    pub fn of(start: Start) -> Self {
        Self { state: State::new(start), effects: Vec::new(), record: Vec::new() }
    }

    /// A harness whose engine is up and whose first experiment has been asked for.
    pub fn started(columns: u16, rows: u16) -> Self {
        let mut harness = Self::new(columns, rows);
        harness.act(Action::Start);
        harness.event(ready());
        harness.event(models());
        harness.event(Event::Started { job: 1, generation: 1, spec_hash: Spec::agreement().hash() });
        harness
    }

    /// A harness in the middle of its first run.
    pub fn running(columns: u16, rows: u16) -> Self {
        let mut harness = Self::started(columns, rows);
        harness.events(measured(480, false));
        harness.event(progress(1));
        harness.answer(2400);
        harness
    }

    /// A harness whose first run is done.
    pub fn finished(columns: u16, rows: u16) -> Self {
        let mut harness = Self::started(columns, rows);
        harness.events(measured(2400, true));
        harness.event(summary(1));
        harness.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 41.7 });
        harness.answer(2400);
        harness
    }

    pub fn act(&mut self, action: Action) -> Vec<Effect> {
        if let Action::Event(event) = &action {
            self.record.push(Record::Event((**event).clone()));
        }
        let effects = reduce(&mut self.state, action);
        for effect in &effects {
            if let Effect::Send(command) = effect {
                self.record.push(Record::Command(command.clone()));
            }
        }
        self.effects.extend(effects.iter().cloned());
        effects
    }

    pub fn event(&mut self, event: Event) -> Vec<Effect> {
        self.act(Action::Event(Box::new(event)))
    }

    pub fn events(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            self.event(Event::Finding { generation: 1, finding: Box::new(finding) });
        }
    }

    /// Answers the latest question about a point.
    pub fn answer(&mut self, n: usize) {
        let request = self.effects.iter().rev().find_map(|e| match e {
            Effect::Send(Command::Point(request)) => Some(request.clone()),
            _ => None,
        });
        let request = request.expect("a point was asked for");
        let spec = self.state.board.job.as_ref().expect("a run").spec.clone();
        self.event(point(&spec, &request, n));
    }

    /// Presses keys, separated by spaces.
    pub fn keys(&mut self, keys: &str) -> Vec<Effect> {
        let keys = keys.split_whitespace().map(|k| k.parse().expect(k));
        keys.flat_map(|key| self.act(Action::Key(key))).collect()
    }

    /// Types a text, character by character.
    pub fn typed(&mut self, text: &str) {
        for c in text.chars() {
            let name = if c == ' ' { "space".to_owned() } else { c.to_string() };
            self.keys(&name);
        }
    }

    pub fn buffer(&self) -> Buffer {
        let (columns, rows) = self.state.view.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a test backend");
        terminal.draw(|frame| panes::draw(frame, &self.state)).expect("a frame");
        terminal.backend().buffer().clone()
    }

    pub fn screen(&self) -> String {
        let buffer = self.buffer();
        let mut text = String::new();
        for y in 0..buffer.area.height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..buffer.area.width {
                let symbol = buffer[(x, y)].symbol();
                if skip == 0 {
                    line.push_str(symbol);
                }
                skip = symbol.width().max(skip).saturating_sub(1);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// What every state under test starts from: the default experiment, recorded under a fixed name.
pub fn start() -> Start {
    Start { recording: Some("agreement-2".into()), ..Start::new(Catalog::sample()) }
}

/// The board that commands and events alone make.
pub fn fold(record: &[Record]) -> Board {
    let mut board = Board::default();
    for line in record {
        match line {
            Record::Command(command) => board.on_command(command),
            Record::Event(event) => board.on_event(event),
        }
    }
    board
}

pub fn ready() -> Event {
    Event::Ready(EngineInfo { version: "0.1.0".into(), device: "cpu (2 threads)".into() })
}

pub fn models() -> Event {
    let model = |name: &str, family: &str, parameters| ModelInfo {
        name: name.into(),
        family: family.into(),
        layers: 4,
        hidden: 256,
        parameters,
    };
    Event::Models {
        models: vec![model("bert-mini", "bert", 4_200_000), model("gpt2-mini", "gpt2", 4_100_000)],
    }
}

pub fn progress(generation: u64) -> Event {
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

pub fn summary(generation: u64) -> Event {
    let summary = SummaryFinding {
        seconds: 41.7,
        device: "cpu (2 threads)".into(),
        version: "0.1.0".into(),
        cancelled: false,
    };
    Event::Finding { generation, finding: Box::new(finding(2400, true, 41.7, Body::Summary(summary))) }
}

fn finding(n: usize, is_final: bool, t: f64, body: Body) -> Finding {
    let level = matches!(body, Body::Reliability(_) | Body::Optimum(_) | Body::Behaviour(_) | Body::Probe(_));
    Finding {
        lab: LabId::Interventions,
        spec: Spec::agreement().hash(),
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

/// An interval of a mean of scores, as wide as its number of examples leaves it.
fn estimate(mean: f64, n: usize) -> Estimate {
    let half = 1.96 * (0.25 * mean.max(0.02) * (1.0 - mean).max(0.02) / n as f64 * 4.0).sqrt();
    Estimate { mean, lo: (mean - half).max(0.0), hi: (mean + half).min(1.0) }
}

/// Completeness and selectivity of a method at a strength, in the shapes that the paper shows.
fn truth(method: &str, value: f64, oracle: OracleKind) -> (f64, f64) {
    let shift = if oracle == OracleKind::Linear { 0.25 } else { 0.0 };
    let log = value.max(1e-6).ln();
    match method {
        "fgsm" => (0.98 * sigmoid(2.0 * (log + 2.4 + shift)), 1.0 - 0.85 * sigmoid(1.6 * (log + 1.9))),
        "pgd" => (0.995 * sigmoid(2.6 * (log + 2.7 + shift)), 1.0 - 0.9 * sigmoid(1.9 * (log + 1.8))),
        "alterrep" => (sigmoid(1.4 * (log + 1.9 + shift)), 1.0 - 0.6 * sigmoid(1.1 * (log - 0.3))),
        _ => (0.9 * (1.0 - (-value / 7.0).exp()), 1.0 - 0.5 * (1.0 - (-value / 18.0).exp())),
    }
}

fn reliability(
    method: &str,
    parameter: &str,
    value: f64,
    oracle: OracleKind,
    n: usize,
) -> ReliabilityFinding {
    let (c, s) = truth(method, value, oracle);
    let n_s = (n * 17 / 100).max(1);
    let r = if c + s > 0.0 { 2.0 * c * s / (c + s) } else { 0.0 };
    ReliabilityFinding {
        method: method.into(),
        layer: 4,
        oracle,
        oracle_layer: 4,
        parameter: parameter.into(),
        value,
        completeness: estimate(c, n),
        selectivity: estimate(s, n_s),
        reliability: estimate(r, n_s),
        n_c: n,
        n_s,
        mean_harmonic: r * 0.97,
        completeness_prior: None,
    }
}

fn behaviour(method: &str, parameter: &str, value: f64, n: usize) -> BehaviourFinding {
    let (c, _) = truth(method, value, OracleKind::Mlp);
    BehaviourFinding {
        method: method.into(),
        layer: 4,
        parameter: parameter.into(),
        value,
        flip_rate: estimate(0.85 * c, n),
        correct_before: estimate(0.962, n),
        correct_after: estimate(0.962 - 0.8 * c, n),
    }
}

fn probes() -> Vec<ProbeFinding> {
    let probe =
        |role, property: &str, classifier: &str, oracle, accuracy: f64, majority, calibration_error| {
            ProbeFinding {
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
                grid: "small: 8 of the paper's 36 points".into(),
            }
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
    }
}

/// Everything that a run over the default experiment measures with `n` test examples. An unfinished one has not
/// reached INLP and stops half-way through PGD.
pub fn measured(n: usize, finished: bool) -> Vec<Finding> {
    let mut t = 0.2;
    let mut findings = vec![finding(12_000, true, t, Body::Data(data()))];
    findings.extend(probes().into_iter().map(|p| finding(2400, true, 3.0, Body::Probe(p))));
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
                findings.push(finding(n, finished, t, Body::Reliability(r)));
            }
            findings.push(finding(n, finished, t, Body::Behaviour(behaviour(id, parameter, *value, n))));
        }
        if reached == grid.len() {
            for oracle in [OracleKind::Mlp, OracleKind::Linear] {
                let points = grid.iter().map(|v| reliability(id, parameter, *v, oracle, n));
                let best =
                    points.max_by(|a, b| a.reliability.mean.total_cmp(&b.reliability.mean)).expect("a grid");
                let optimum = OptimumFinding {
                    method: id.into(),
                    layer: 4,
                    oracle,
                    parameter: parameter.into(),
                    value: best.value,
                    completeness: best.completeness,
                    selectivity: best.selectivity,
                    reliability: best.reliability,
                };
                findings.push(finding(n, finished, t, Body::Optimum(optimum)));
            }
        }
    }
    findings
}

/// The answer to a question about a point, on `n` examples.
pub fn point(spec: &Spec, request: &probity::engine::message::PointRequest, n: usize) -> Event {
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
        parameter: parameter.clone(),
        value: request.value,
        oracle: vec![
            (
                "subject_number".into(),
                vec![shift("singular", 0.03, to(0.03, c)), shift("plural", 0.97, to(0.97, c))],
            ),
            (
                "attractor_number".into(),
                vec![shift("singular", 0.99, 0.99 * s), shift("plural", 0.01, 1.0 - 0.99 * s)],
            ),
        ],
        words: vec![shift("are", 0.91, 0.91 * (1.0 - 0.93 * c)), shift("is", 0.03, 0.03 + 0.85 * c)],
        correct: 0,
    };
    let mut findings: Vec<Finding> = spec
        .probe
        .oracles
        .iter()
        .map(|o| {
            finding(
                n,
                false,
                9.0,
                Body::Reliability(reliability(&request.method, &parameter, request.value, *o, n)),
            )
        })
        .collect();
    findings.push(finding(
        n,
        false,
        9.0,
        Body::Behaviour(behaviour(&request.method, &parameter, request.value, n)),
    ));
    findings.push(finding(1, true, 9.0, Body::Example(example)));
    Event::Point { generation: request.generation, ticket: request.ticket, findings }
}

/// A script for the fake engine that answers as the real one would, all at once.
pub fn script() -> probity::engine::fake::Script {
    let mut spec = Spec::agreement();
    Box::new(move |command| match command {
        Command::ListModels => vec![ready(), models()],
        Command::Run { job, generation, spec: asked } => {
            spec = (**asked).clone();
            vec![
                Event::Started { job: *job, generation: *generation, spec_hash: asked.hash() },
                progress(*generation),
            ]
        }
        Command::Point(request) => {
            let asked = spec.methods.iter().find(|m| m.name == request.method);
            assert_eq!(
                asked.map(|m| &m.options),
                Some(&request.options),
                "a point of the setup's own method"
            );
            vec![point(&spec, request, 500)]
        }
        Command::Cancel { job } => {
            vec![Event::Finished { job: *job, generation: *job, outcome: Outcome::Cancelled, seconds: 1.0 }]
        }
        Command::Inspect { model } => vec![inspected(model)],
        Command::Check { model } => vec![checked(model)],
        Command::Data(request) => vec![match request.question {
            DataQuestion::Inspect => held(request.ticket),
            DataQuestion::Doctor => diagnosed(request.ticket),
        }],
        Command::CancelData | Command::Pause { .. } | Command::Shutdown => Vec::new(),
    })
}

/// A model's description.
pub fn inspected(model: &str) -> Event {
    let fact = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    Event::Inspected {
        inspection: Box::new(Inspection {
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
        }),
    }
}

/// A comparison with one quantity beyond its tolerance and one that cannot be compared.
pub fn checked(model: &str) -> Event {
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
    Event::Checked { model: model.into(), rows }
}

/// What a set of Chinese rationales holds, some of it dropped.
pub fn held(ticket: u64) -> Event {
    let part = |name: &str, n, validation, counts: [usize; 6], phi| Part {
        name: name.into(),
        n,
        validation,
        counts: counts.to_vec(),
        phi,
    };
    let inspection = DataInspection {
        title: "plain JSON lines".into(),
        rows: 12_000,
        dropped: 3,
        blank: 1,
        left_out: 1,
        seconds: 0.3,
        hash: Some(format!("5f1c2a9be0d4{}", "7e".repeat(26))),
        lines: [
            "plain JSON lines: 12000 rows",
            "  rows       12000 sentence",
            "  dropped    3 unreadable; 1 blank lines",
            "  rows.jsonl: plain, gzip, 12000 rows, 3 dropped, 1 blank lines",
            "    3 × not a row of this format; line 17: no JSON (expected value) \u{1b}[31m",
            "    reads text, label|labels, target, forms, subject, object, aliases, relation, prompt, templates",
            "  not read   notes.txt: text that begins with `nothing known`",
            "  splits     test 2000, train 8000, validation 2000",
            "  label      NN 5000, NNS 7000; at most 10000 rows with all equally often",
        ]
        .map(String::from)
        .to_vec(),
        parts: Some(Parts {
            target: "subject_number".into(),
            other: "attractor_number".into(),
            seed: 0,
            combinations: ["Sg+Sg", "Sg+Pl", "Sg+none", "Pl+Sg", "Pl+Pl", "Pl+none"].map(String::from).to_vec(),
            parts: vec![
                part("oracle", 4800, Some(240), [488, 80, 2782, 158, 62, 1230], 0.069),
                part("oracle, largest uncorrelated subset", 4631, Some(231), [420, 75, 2782, 110, 14, 1230], -0.0001),
                part("intervention", 4800, Some(240), [488, 80, 2782, 158, 62, 1230], 0.071),
                part("test", 2400, None, [244, 40, 1391, 79, 31, 615], 0.065),
            ],
        }),
        examples: vec![
            "line 1: {\"text\":\"the keys to the cabinet are old\",\"label\":\"NNS\",\"split\":\"train\"}".into(),
            "line 2: {\"text\":\"这些钥匙在柜子里，它们很旧，没有人记得它们能打开哪一扇门\",\"label\":\"NN\",\"split\":\"train\"}".into(),
        ],
    };
    Event::Data { ticket, answer: DataAnswer::Inspected(Box::new(inspection)) }
}

/// What the data doctor says of a set of facts.
pub fn diagnosed(ticket: u64) -> Event {
    let diagnosis = DataDiagnosis {
        models: vec!["bert-mini".into(), "gpt2-mini".into()],
        rows: 1872,
        kept: 1790,
        unfit: 82,
        unreadable: 2,
        seconds: 1.2,
        lines: [
            "LAMA T-REx rows: 1872 rows",
            "  rows       1840 fact, 32 relation",
            "  kept       1790",
            "  dropped    82 unfit, 2 unreadable; 0 blank lines",
            "           2  not UTF-8; line 40: byte 0xe9 at column 12, which Latin-1 reads as `é`; expected UTF-8",
            "          60  word of several tokens; line 9: `Uppsala`: tokens 3 in bert-mini, 2 in gpt2-mini",
            "          22  duplicate; line 31: capital: `France`, `Paris`: the same as line 1",
            "          14  (note) no alias; line 2: capital: `Peru`",
            "  relations  2 with facts, 0 of them N-M by their facts",
            "    capital       900 facts,    880 kept,   870 objects, most frequent 1 %, 1-1",
            "  bert-mini  1780 words of one token, 60 of several, 0 outside the vocabulary",
            "  gpt2-mini  1801 words of one token, 39 of several, 0 outside the vocabulary",
            "  shared     310 of 420 words are one token in all models: Africa, Asia, Berlin, …",
        ]
        .map(String::from)
        .to_vec(),
        examples: vec![
            "line 9: word of several tokens (`Uppsala`: tokens 3 in bert-mini, 2 in gpt2-mini)".into(),
            "line 31: duplicate (capital: `France`, `Paris`: the same as line 1)".into(),
        ],
    };
    Event::Data { ticket, answer: DataAnswer::Examined(Box::new(diagnosis)) }
}

/// How far a question about data is.
pub fn data_progress(ticket: u64) -> Event {
    let progress = Progress {
        stage: "examining /data/facts.jsonl.gz".into(),
        done: 3_000_000,
        total: 8_000_000,
        unit: "rows".into(),
        rate: 812_000.0,
        overall: 0.375,
        elapsed: 2.0,
        left: Some(3.3),
    };
    Event::DataProgress { ticket, progress }
}

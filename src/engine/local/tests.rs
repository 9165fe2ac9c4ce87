//! End-to-end tests of the worker with an untrained model in a temporary folder.

mod given;
mod lens;
mod map;
mod several;
mod stored;
mod tokens;

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::error::TryRecvError;

use super::{Cache, LocalEngine, LocalOptions};
use crate::Engine;
use crate::board::Board;
use crate::message::{Answer, Command, Event, Outcome, Question};
use corpus::micro::lexicon;
use labs::SpecFields as _;
use labs::examples::FEWEST_EXAMPLES;
use labs::interventions::key::MethodKey;
use labs::interventions::oracle::OracleKind;
use labs::interventions::question::PointQuestion;
use labs::interventions::spec::{MethodSpec, Spec};
use labs::interventions::{self, Kind, Results};
use labs::layer::LayerRef;
use labs::{Body, Finding, Kinds, LabId};
use model::exec::train::{AdamW, Trainer};
use model::{Device, Dtype, Tokenizer};
use pretraining::tokenizer;
use pretraining::{Base, Recipe};

/// Writes a model of two blocks with random weights and the vocabulary of the micro-world.
pub(crate) fn fixture(dir: &Path) -> String {
    deep_fixture(dir, 2)
}

/// The fixture with `layers` blocks.
fn deep_fixture(dir: &Path, layers: usize) -> String {
    let words = lexicon::words().into_iter().map(|w| (w.to_owned(), 1)).collect();
    let json = tokenizer::wordpiece(&words, usize::MAX).unwrap();
    std::fs::write(dir.join("tokenizer.json"), &json).unwrap();
    let vocab = Tokenizer::from_dir(dir).unwrap().unwrap().len();
    let recipe = Recipe {
        name: "fixture",
        base: Base::Bert,
        layers,
        hidden: 32,
        heads: 2,
        max_positions: 64,
        steps: 1,
        rate: 1e-3,
        facts: 0.0,
        rationales: 0.0,
    };
    let trainer = Trainer::new(&recipe.arch(vocab), 1, AdamW::default(), Device::Cpu).unwrap();
    trainer.export(dir).unwrap();
    dir.display().to_string()
}

fn small(model: &str) -> Spec {
    let mut spec = Spec::shipped();
    spec.models = vec![model.to_owned()];
    spec.task.examples = 600;
    spec.interval.resamples = 200;
    spec.probe.replicates = 2;
    spec.probe.grid = "tiny".into();
    let method = |name: &str, values: &[f64]| MethodSpec { values: values.to_vec(), ..MethodSpec::named(name) };
    spec.methods = vec![
        method("fgsm", &[0.0, 0.1, 1.0]),
        method("inlp", &[0.0, 1.0, 2.0]),
        method("alterrep", &[1.0]),
        method("pgd", &[0.1]),
    ];
    spec
}

/// A spec without trained perceptrons, for tests that need any run.
fn plain(model: &str) -> Spec {
    let mut spec = small(model);
    spec.probe.oracles = vec![OracleKind::Linear];
    spec.methods.retain(|m| ["inlp", "alterrep"].contains(&m.name.as_str()));
    spec
}

struct Rig {
    engine: LocalEngine,
    events: tokio::sync::mpsc::Receiver<Event>,
    board: Board,
    log: Vec<Event>,
}

impl Rig {
    fn new(cache: Cache) -> Self {
        Self::with_limit(cache, None)
    }

    fn with_limit(cache: Cache, memory_limit: Option<u64>) -> Self {
        Self::start(LocalOptions {
            device: Device::Cpu,
            dtype: Dtype::F32,
            cache,
            models: Vec::new(),
            memory_limit,
            most_models: 1,
            asked: true,
        })
    }

    fn start(options: LocalOptions) -> Self {
        let mut engine = LocalEngine::start(options).unwrap();
        let events = engine.take_events().unwrap();
        Self { engine, events, board: Board::default(), log: Vec::new() }
    }

    fn send(&mut self, command: Command) {
        self.board.on_command(&command);
        self.engine.send(command).unwrap();
    }

    /// Receives events until one satisfies `stop`.
    fn until(&mut self, stop: impl Fn(&Event) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(240);
        loop {
            let event = match self.events.try_recv() {
                Ok(event) => event,
                Err(TryRecvError::Disconnected) => panic!("the engine is gone"),
                Err(TryRecvError::Empty) => {
                    assert!(Instant::now() < deadline, "the engine does not answer");
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
            };
            self.board.on_event(&event);
            let done = stop(&event);
            self.log.push(event);
            if done {
                return;
            }
        }
    }

    fn finish(&mut self) -> Outcome {
        self.until(|e| matches!(e, Event::Finished { .. }));
        self.board.job().and_then(|j| j.outcome.clone()).unwrap()
    }

    fn results(&self) -> &Results {
        self.board.results()
    }

    fn answers(&self, ticket: u64) -> Vec<&Finding> {
        self.log
            .iter()
            .filter_map(|e| match e {
                Event::Answer { ticket: t, answer: Answer::Experiment { findings, .. } } if *t == ticket => {
                    Some(findings)
                }
                _ => None,
            })
            .flatten()
            .collect()
    }
}

fn run(job: u64, spec: Spec) -> Command {
    Command::Run { job, generation: job, spec: Box::new(spec.into()) }
}

fn point(ticket: u64, model: &str, options: &[(&str, f64)]) -> Command {
    let question = interventions::Question::Point(PointQuestion {
        model: model.to_owned(),
        method: "pgd".into(),
        options: options.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
        value: 0.37,
        example: 7,
    });
    Command::Ask { ticket, question: Question::Experiment { generation: 1, question: question.into() } }
}

#[test]
fn cached_experiment_repeats_every_point() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let cache = tempfile::tempdir().unwrap();
    let mut rig = Rig::new(Cache::at(cache.path()));
    rig.send(run(1, small(&model)));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let results = rig.results().clone();
    assert_eq!(results.curves.len(), 8, "four methods times two oracles");
    for curve in &results.curves {
        assert!(curve.points.iter().all(|p| p.is_final && p.n == 120), "{curve:?}");
        for p in curve.points.iter().map(|p| &p.value) {
            for e in [p.completeness, p.selectivity, p.reliability] {
                assert!(0.0 <= e.lo && e.lo <= e.mean && e.mean <= e.hi && e.hi <= 1.0, "{p:?}");
            }
            assert!(p.n_c == 120 && p.n_s > 6 && p.n_s < 60);
        }
    }
    let unchanged = results.curves.iter().filter(|c| c.parameter != "alpha").flat_map(|c| &c.points);
    for p in unchanged.filter(|p| p.value.value == 0.0) {
        assert!((p.value.selectivity.mean - 1.0).abs() < 1e-6, "zero strength changes nothing: {p:?}");
    }
    assert_eq!(results.probes.len(), 5);
    assert!(results.probes.iter().all(|p| !p.value.cached));
    assert_eq!(
        results.optima.len() + results.without.len(),
        8,
        "each curve has an optimum or the reason for its absence"
    );
    assert_eq!((results.rankings.len(), results.versus.len()), (2, 12));
    assert_eq!(results.data.len(), 1);
    assert!(rig.board.run_of(LabId::Interventions).unwrap().summary.is_some());

    rig.send(run(2, small(&model)));
    assert_eq!(rig.finish(), Outcome::Done);
    let again = rig.results().clone();
    assert!(again.probes.iter().all(|p| p.value.cached));
    let values =
        |r: &Results| -> Vec<_> { r.curves.iter().flat_map(|c| c.points.iter().map(|p| p.value.clone())).collect() };
    assert_eq!(values(&results), values(&again), "cached probes give the same numbers");
}

/// Regression: the baseline "C before" used to be the mean over all replicates trained so far, including those not yet judged. The curve
/// therefore began at a different value at strength 0.
#[test]
fn baseline_uses_the_replicates_of_its_point() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    rig.send(run(1, plain(&model)));
    assert_eq!(rig.finish(), Outcome::Done);
    let mut rests = Vec::new();
    for event in &rig.log {
        let Event::Finding { finding, .. } = event else { continue };
        let Body::Lab(Kinds::Interventions(Kind::Reliability(f))) = &finding.body else { continue };
        if f.value == 0.0 {
            let before = f.beside.c_before.unwrap();
            assert!((f.completeness.mean - before).abs() < 1e-6, "{before}, but the curve begins at {f:?}");
            rests.push((finding.n, f.beside.replicates));
        }
    }
    let seen = |n: usize, replicates: usize| rests.contains(&(n, replicates));
    assert!(seen(120, 1) && seen(120, 2), "points are reported for one replicate, then for both: {rests:?}");
}

#[test]
fn slider_value_is_answered_with_an_example() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    let mut spec = small(&model);
    spec.methods.truncate(1);
    rig.send(run(1, spec));
    assert_eq!(rig.finish(), Outcome::Done);
    for ticket in 1..=3 {
        rig.send(point(ticket, &model, &[("steps", 5.0)]));
    }
    rig.until(|e| matches!(e, Event::Answer { ticket: 3, .. }));
    let point = rig.results().point.clone().unwrap();
    assert_eq!(point.reliability.len(), 2);
    assert_eq!(point.reliability[0].value.value, 0.37);
    let example = point.example.unwrap().value;
    assert_eq!((example.index, example.of, example.words.len()), (7, 120, 2));
    assert!(example.text.contains("[MASK]"));
    for (_, shifts) in &example.oracle {
        assert!((shifts.iter().map(|s| s.after).sum::<f64>() - 1.0).abs() < 1e-6);
    }
}

/// Regression: a headless run of four models used to keep all four in memory until its end.
#[test]
fn headless_run_keeps_no_models_for_questions() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::start(LocalOptions {
        device: Device::Cpu,
        dtype: Dtype::F32,
        cache: Cache::none(),
        models: Vec::new(),
        memory_limit: None,
        most_models: 1,
        asked: false,
    });
    rig.send(run(1, plain(&model)));
    assert_eq!(rig.finish(), Outcome::Done);
    rig.send(point(1, &model, &[]));
    rig.until(|e| matches!(e, Event::Notice(n) if n.problem.what.contains("has no results yet")));
    assert!(rig.answers(1).is_empty());
}

#[test]
fn answer_with_other_options_has_another_spec() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    let spec = small(&model);
    rig.send(run(1, spec.clone()));
    assert_eq!(rig.finish(), Outcome::Done);
    let changed = MethodKey::new("pgd", &[("steps".to_owned(), 5.0)].into());
    let other = spec.with_method(&changed).hash();
    assert_ne!(other, spec.hash());
    for (ticket, options, key, hash) in
        [(1, &[][..], MethodKey::named("pgd"), spec.hash()), (2, &[("steps", 5.0)], changed, other)]
    {
        rig.send(point(ticket, &model, options));
        rig.until(|e| matches!(e, Event::Answer { ticket: t, .. } if *t == ticket));
        let found = rig.answers(ticket);
        assert!(found.len() >= 3 && found.iter().all(|f| f.spec == hash), "{found:?}");
        let point = rig.results().point.clone().unwrap();
        assert_eq!(point.ticket, ticket);
        for shown in &point.reliability {
            assert_eq!((&shown.spec, &shown.value.key(&model).method), (&hash, &key));
        }
        assert!(
            rig.results().curves.iter().all(|c| c.points.iter().all(|p| p.spec == spec.hash())),
            "the run's results keep their spec hash"
        );
    }
}

#[test]
fn each_setting_of_a_method_has_a_curve() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    let mut spec = small(&model);
    spec.probe.oracles.truncate(1);
    let pgd = MethodSpec { values: vec![0.1, 1.0], ..MethodSpec::named("pgd") };
    spec.methods = vec![MethodSpec { options: [("steps".to_owned(), 2.0)].into(), ..pgd.clone() }, pgd];
    rig.send(run(1, spec.clone()));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let results = rig.results();
    let keys: Vec<&MethodKey> = results.curves.iter().map(|c| &c.key.method).collect();
    assert_eq!(keys, spec.methods.iter().map(MethodSpec::key).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    assert!(results.curves.iter().all(|c| c.points.len() == 2 && c.points.iter().all(|p| p.is_final)));
    let [few, many] = [0, 1].map(|i| results.curves[i].points[1].value.completeness.mean);
    assert_ne!(few, many, "two steps give a different result from the default number");
    assert_eq!((results.optima.len() + results.without.len(), results.behaviour.len()), (2, 4));
}

#[test]
fn intervention_propagates_up_to_the_oracle_layer() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    let mut spec = small(&model);
    spec.probe.oracles = vec![OracleKind::Linear];
    spec.site.layer = LayerRef::At(1);
    spec.site.oracle_layer = Some(LayerRef::Last);
    spec.methods.truncate(2);
    rig.send(run(1, spec));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let point = &rig.results().curves[0].points[0].value;
    assert_eq!((point.layer, point.oracle_layer, point.value), (1, 2, 0.0));
    assert!((point.selectivity.mean - 1.0).abs() < 1e-5, "resuming with the unchanged state changes nothing");
    let moved = &rig.results().curves[0].points[2].value;
    assert!(moved.selectivity.mean < 0.999, "a change at a lower layer affects the oracle above: {moved:?}");
}

/// Regression: below the last layer, the model's own answer used to cover only the first examples.
#[test]
fn model_behaviour_covers_all_test_examples() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    let mut spec = plain(&model);
    spec.task.examples = 1500;
    spec.site.layer = LayerRef::At(1);
    rig.send(run(1, spec));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let (results, all) = (rig.results(), rig.results().data[0].value.n_test);
    assert!(all > 256 && !results.behaviour.is_empty());
    for b in &results.behaviour {
        assert_eq!((b.n, b.is_final, b.value.replicates), (all, true, 1));
        let told = b.value.told.as_ref().unwrap();
        assert!((0.0..=1.0).contains(&told.p) && told.forms > 2 && told.lost + told.won <= all as u64);
        if b.value.method == "inlp" && b.value.value == 0.0 {
            assert_eq!((told.lost, told.won, told.p), (0, 0, 1.0), "no answer was changed");
            assert_eq!(told.rank_before.mean, told.rank_after.mean);
        }
    }
}

/// Sentence encoders have no head, which prompts need but interventions on hidden states do not.
#[test]
fn headless_model_supports_interventions() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let file = dir.path().join("model.safetensors");
    let bytes = std::fs::read(&file).unwrap();
    let all = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let body: Vec<_> = all.tensors().into_iter().filter(|(name, _)| !name.starts_with("cls.")).collect();
    assert!(body.len() < all.len(), "the fixture has a head");
    safetensors::serialize_to_file(body, None, &file).unwrap();
    let mut rig = Rig::new(Cache::none());
    for (job, layer) in [(1, LayerRef::Last), (2, LayerRef::At(1))] {
        let mut spec = plain(&model);
        spec.site.layer = layer;
        spec.site.oracle_layer = Some(LayerRef::Last);
        rig.send(run(job, spec));
        assert_eq!(rig.finish(), Outcome::Done);
        assert!(rig.results().curves.iter().all(|c| !c.points.is_empty()) && !rig.results().curves.is_empty());
        assert!(rig.results().behaviour.is_empty(), "without a head there is no model behaviour");
    }
}

#[test]
fn a_cancelled_run_ends_and_the_next_one_runs() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    rig.send(run(1, small(&model)));
    rig.until(|e| matches!(e, Event::Forecast { .. }));
    rig.send(Command::Cancel { job: 1 });
    assert_eq!(rig.finish(), Outcome::Cancelled);
    rig.send(run(2, plain(&model)));
    rig.send(run(3, plain(&model)));
    rig.until(|e| matches!(e, Event::Finished { job: 3, .. }));
    assert_eq!(rig.board.job().and_then(|j| j.outcome.clone()), Some(Outcome::Done));
}

#[test]
fn failed_runs_do_not_stop_the_engine() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    let mut absent = small("no/such/folder");
    absent.methods.truncate(1);
    let mut method = small(&model);
    method.methods[0].name = "pdg".into();
    let mut value = small(&model);
    value.methods[1].values = vec![0.5];
    let mut layer = small(&model);
    layer.site.layer = LayerRef::At(9);
    let cases = [(absent, "no/such/folder"), (method, "pdg"), (value, "rank = 0.5"), (layer, "layer 9 does not exist")];
    for (job, (spec, needle)) in (1..).zip(cases) {
        rig.send(run(job, spec));
        let Outcome::Failed(problem) = rig.finish() else { panic!("{needle}: the run must fail") };
        assert!(problem.to_string().contains(needle), "{problem}");
        assert!(!problem.hint.is_empty());
    }
    rig.send(Command::ListModels);
    rig.until(|e| matches!(e, Event::Models { .. }));
}

#[test]
fn uninformative_oracle_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    let mut spec = small(&model);
    // With so few examples, the oracle can learn almost nothing about the attractor's number.
    spec.task.examples = FEWEST_EXAMPLES;
    spec.methods.truncate(1);
    rig.send(run(1, spec));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let doubted = rig.board.notices.iter().filter(|n| n.problem.what.contains("majority share")).count();
    let poor = rig.results().probes.iter().filter(|p| p.value.accuracy.lo <= p.value.majority).count();
    assert!(poor > 0 && doubted == poor, "{doubted} of {poor}: {:?}", rig.board.notices);
}

#[test]
fn run_cancelled_before_its_start_still_ends() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    rig.send(run(1, small(&model)));
    rig.send(Command::Cancel { job: 1 });
    assert_eq!(rig.finish(), Outcome::Cancelled);
}

//! Tests of the procedure on small built-in models, with a host that records its calls.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::super::candidates::Candidates;
use super::super::finding::{ALL, Kind};
use super::super::question::{LookQuestion, PromptQuestion, Question as Asked};
use super::super::results::Results as Found;
use super::*;
use crate::Relations;
use crate::Waiting;
use base::matrix::Matrix;
use base::{Cancelled, Problem, Pulse};
use lab::Host as _;
use lab::demand::Slice;
use lab::finding::Body;
use lab::host::NoticeLevel;
use lab::store::{Fetched, Key, NoStore, Space, Store};

use model::{Device, Model};

mod checks;
mod early;
mod likely;
mod own;
mod tuned;

#[derive(Default)]
struct Memory {
    kept: Mutex<HashMap<String, Vec<u8>>>,
    /// Number of writes to the store, one for each query without stored replies.
    times: AtomicUsize,
}

impl Store for Memory {
    fn trained(&self, key: &str) -> Option<Vec<u8>> {
        self.kept.lock().unwrap().get(key).cloned()
    }

    fn keep_trained(&self, key: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.times.fetch_add(1, Ordering::Relaxed);
        self.kept.lock().unwrap().insert(key.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn place(&self) -> Option<PathBuf> {
        None
    }

    fn fetch(&self, space: &Space, keys: &[Key], to: &mut Matrix) -> Fetched {
        NoStore.fetch(space, keys, to)
    }

    fn absent(&self, space: &Space, keys: &[Key]) -> Vec<usize> {
        NoStore.absent(space, keys)
    }

    fn keep(&self, space: &Space, keys: &[Key], rows: &Matrix) -> std::io::Result<()> {
        NoStore.keep(space, keys, rows)
    }
}

/// A host that records its calls.
struct Desk {
    found: Vec<Finding>,
    notices: Vec<Problem>,
    store: Arc<Memory>,
    models: HashMap<String, Arc<Model>>,
    beats: usize,
    cancel_after: usize,
    waiting: Option<Waiting>,
    replies: Vec<Vec<Finding>>,
    asked: bool,
    /// Number of references to the first model when training began: one from this host and one from the run.
    holders: usize,
    /// Number of findings reported before the forecast.
    before_forecast: Option<usize>,
}

impl Desk {
    fn new() -> Self {
        Self {
            found: Vec::new(),
            notices: Vec::new(),
            store: Arc::new(Memory::default()),
            models: HashMap::new(),
            beats: 0,
            cancel_after: usize::MAX,
            waiting: None,
            replies: Vec::new(),
            asked: true,
            holders: 0,
            before_forecast: None,
        }
    }

    fn results(&self) -> Found {
        let mut results = Found::default();
        for finding in &self.found {
            if let Body::Lab(kind) = &finding.body {
                results.take(finding.head(), kind);
            }
        }
        results
    }
}

impl Pulse for Desk {
    fn beat(&mut self, _: usize, _: usize) -> Result<(), Cancelled> {
        self.beats += 1;
        if self.beats > self.cancel_after { Err(Cancelled) } else { Ok(()) }
    }
}

impl lab::Host for Desk {
    fn poll(&mut self) -> Result<(), Cancelled> {
        if self.beats > self.cancel_after { Err(Cancelled) } else { Ok(()) }
    }

    fn stage(&mut self, name: String, _: &'static str, _: f64) {
        if let Some(model) = name.strip_suffix(": original model").and_then(|name| self.models.get(name)) {
            self.holders = Arc::strong_count(model);
        }
    }

    fn asked(&self) -> bool {
        self.asked
    }

    fn plan(&mut self, _: f64) {}

    fn progress(&mut self, _: usize, _: usize) {}

    fn elapsed(&self) -> f64 {
        1.0
    }

    fn model(&mut self, name: &str) -> Result<Arc<Model>, Fault> {
        if !self.models.contains_key(name) {
            let model = Model::load(&name.parse()?, Device::Cpu)?;
            self.models.insert(name.to_owned(), Arc::new(model));
        }
        Ok(self.models[name].clone())
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn memory_limit(&self) -> Option<u64> {
        None
    }

    fn notice(&mut self, _: NoticeLevel, problem: Problem) -> Result<(), Cancelled> {
        self.notices.push(problem);
        Ok(())
    }

    fn foretell(&mut self, _: Forecast) -> Result<(), Cancelled> {
        self.before_forecast.get_or_insert(self.found.len());
        Ok(())
    }

    fn rate(&mut self, _: &str, slice: Slice<'_>) -> Result<f64, Fault> {
        slice()?;
        Ok(1e-4)
    }
}

impl lab::Channel<Kind, Question> for Desk {
    fn find(&mut self, finding: Finding) -> Result<(), Cancelled> {
        self.found.push(finding);
        Ok(())
    }

    fn waiting(&mut self) -> Option<Waiting> {
        self.waiting.take()
    }

    fn reply(&mut self, _: u64, findings: Vec<Finding>, _: bool) -> Result<(), Cancelled> {
        self.replies.push(findings);
        Ok(())
    }
}

/// Three small models and four relations with few prompts and facts.
fn spec() -> Spec {
    let mut spec = Spec::shipped();
    spec.models = ["bert-tiny", "gpt2-tiny", "bart-tiny"].map(str::to_owned).to_vec();
    spec.data.relations = ["capital", "currency", "field", "demonym"].into();
    spec.data.prompts = Some(3);
    spec.data.instances = Some(12);
    spec.ranks.draws = 60;
    spec.ranks.subset = 2;
    spec.interval.resamples = 200;
    spec
}

fn run(spec: &Spec, desk: &mut Desk) -> (Box<dyn Experiment<Kind, Question>>, Result<(), Fault>) {
    let mut experiment = crate::Prompts::begin(spec.clone());
    let result = experiment.run(desk);
    (experiment, result)
}

/// Findings of a run, formatted without their times.
fn printed(desk: &Desk) -> Vec<String> {
    desk.found.iter().map(|f| serde_json::to_string(&f.body).unwrap() + &f.model).collect()
}

#[test]
fn run_reports_every_kind_and_repeats_from_the_store() {
    let mut desk = Desk::new();
    let (experiment, result) = run(&spec(), &mut desk);
    result.unwrap();
    let results = desk.results();
    assert_eq!(results.relations.len(), 4);
    assert_eq!(results.scores.len(), 4 * 3 * 3);
    assert_eq!((results.preferences.len(), results.adjusted.len(), results.stability.len()), (12, 12, 12));
    assert_eq!((results.summaries.len(), results.ranks.len(), results.ledgers.len()), (4, 12, 3));
    assert_eq!(results.curve.len(), 3);
    assert!(experiment.examined() > 20, "{}", experiment.examined());
    let kept: usize = results.relations.iter().map(|r| r.value.kept).sum();
    assert_eq!(experiment.examined(), kept);
    for r in &results.relations {
        let lost: usize = r.value.left_out.iter().map(|l| l.count).sum();
        assert_eq!(r.value.kept + lost, r.value.facts, "every fact is queried or reported as left out");
    }
    // With uniform weights and only usual names, the adjusted score is the mean over prompts.
    let asked = desk.store.times.load(Ordering::Relaxed);
    assert!(asked >= 4 * 3, "every model answers on every relation: {asked}");
    let first = printed(&desk);
    desk.found.clear();
    let (_, result) = run(&spec(), &mut desk);
    result.unwrap();
    assert_eq!(printed(&desk), first);
    assert_eq!(desk.store.times.load(Ordering::Relaxed), asked, "no query is repeated");
}

#[test]
fn with_usual_names_adjusted_score_is_the_prompt_mean() {
    let mut spec = spec();
    spec.data.mentions = 1;
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let results = desk.results();
    for a in &results.adjusted {
        let preference = results.preference(&a.value.relation, &a.model).unwrap();
        assert!((a.value.p_at_1.mean - preference.value.mean.mean).abs() < 1e-12);
    }
    assert!(results.stability.iter().all(|s| s.value.stability.is_none() && s.value.kept == 0));
}

#[test]
fn added_model_changes_no_other_predictions() {
    let mut desk = Desk::new();
    let mut two = spec();
    two.models.truncate(2);
    run(&two, &mut desk).1.unwrap();
    let before = desk.results();
    desk.found.clear();
    run(&spec(), &mut desk).1.unwrap();
    let after = desk.results();
    for old in &before.scores {
        let new = after.score(&old.value.relation, &old.value.prompt, &old.model).unwrap();
        if old.n == new.n {
            assert_eq!(old.value, new.value);
        }
    }
}

#[test]
fn every_rule_gives_scores() {
    let mut means = Vec::new();
    for candidates in Candidates::ALL {
        let mut spec = spec();
        spec.query.candidates = candidates;
        let mut desk = Desk::new();
        run(&spec, &mut desk).1.unwrap();
        let results = desk.results();
        assert!(results.scores.iter().all(|s| s.value.candidates == candidates));
        means.push(results.scores.iter().map(|s| s.value.p_at_1.mean).sum::<f64>());
    }
    assert!(means[2] >= means[1] && means[1] >= means[0] - 1e-9, "{means:?}");
}

#[test]
fn minimal_runs_have_defined_results() {
    let mut few = spec();
    few.ranks.subset = 20;
    few.data.prompts = Some(1);
    few.data.mentions = 1;
    let mut desk = Desk::new();
    run(&few, &mut desk).1.unwrap();
    let results = desk.results();
    assert!(results.ranks.is_empty() && desk.notices.iter().any(|n| n.what.contains("n/a")), "{:?}", desk.notices);
    assert!(results.preferences.iter().all(|p| p.value.gap.mean == 0.0 && p.value.gap_held_out.is_none()));
    // Regression: meaningless numbers, such as a gap of 0 for a single prompt, used to be unmarked.
    for printed in ["a single prompt", "no subject has a second name"] {
        assert!(desk.notices.iter().any(|n| n.what.contains(printed)), "{printed}: {:?}", desk.notices);
    }
    for l in &results.ledgers {
        let p = &l.value.parts;
        assert!(p.prompt.mean == 0.0 && p.mention.mean == 0.0 && p.total.mean >= 0.0);
    }
    let mut alone = spec();
    alone.models.truncate(1);
    let mut desk = Desk::new();
    run(&alone, &mut desk).1.unwrap();
    assert!(desk.results().ledgers.is_empty());
    assert!(desk.results().ranks.iter().all(|r| r.value.consistency.mean == 1.0));
}

#[test]
fn weights_are_shared_by_all_models() {
    use super::super::spec::{UserWeights, Weighting};
    let mut user = spec();
    user.adjust.weights = Weighting::User;
    user.adjust.user.insert("capital".into(), UserWeights::Prompts(vec![0.0, 1.0, 0.0]));
    let mut desk = Desk::new();
    run(&user, &mut desk).1.unwrap();
    let results = desk.results();
    assert_eq!(results.relation("capital").unwrap().value.weights, [0.0, 1.0, 0.0]);
    assert_eq!(results.relation("field").unwrap().value.weights, [1.0 / 3.0; 3]);
    user.adjust.user.insert("capital".into(), UserWeights::Prompts(vec![1.0, 1.0]));
    let mut desk = Desk::new();
    let Err(Fault::Failed(printed)) = run(&user, &mut desk).1 else { panic!("weights must be refused") };
    assert!(printed.what.contains("capital: 2 weights for 3 prompts"), "{printed}");
    assert!(desk.found.is_empty() && desk.beats == 0, "the error precedes the first query");

    let mut likely = spec();
    likely.data.relations = ["capital", "currency"].into();
    likely.data.instances = Some(4);
    likely.adjust.weights = Weighting::Perplexity;
    let mut desk = Desk::new();
    run(&likely, &mut desk).1.unwrap();
    for r in &desk.results().relations {
        let weights = &r.value.weights;
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9 && weights.iter().all(|w| *w > 0.0));
        assert!(weights.iter().any(|w| (w - 1.0 / 3.0).abs() > 1e-3), "{weights:?}");
    }
}

#[test]
fn causal_models_skip_prompts_with_inner_objects() {
    let early = "[Y] is the capital of [X] .";
    let mut spec = spec();
    spec.data.relations = ["capital"].into();
    spec.data.own.insert("capital".into(), vec![early.into()]);
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let relation = desk.results().relation("capital").unwrap().value.clone();
    assert_eq!(relation.prompts.len(), 3);
    assert!(relation.prompts_left_out[0].reason.contains("gpt2-tiny"));
    spec.models = vec!["bert-tiny".into()];
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    assert!(desk.results().relation("capital").unwrap().value.prompts.contains(&early.to_owned()));
}

#[test]
fn questions_are_answered_during_and_after_a_run() {
    let mut desk = Desk::new();
    let prompt = "The capital of [X] is the city of [Y] .";
    let asked = Asked::Prompt(PromptQuestion { relation: "capital".into(), prompt: prompt.into() });
    desk.waiting = Some(Waiting { ticket: 1, question: asked.clone() });
    let (mut experiment, result) = run(&spec(), &mut desk);
    result.unwrap();
    assert_eq!(desk.replies.len(), 1, "answered during the run");
    let findings = experiment.answer(&asked, Share::All, &mut desk).unwrap();
    assert_eq!(findings.len(), 3);
    let scores: Vec<Option<usize>> = findings
        .iter()
        .map(|f| match &f.body {
            Body::Lab(Kind::PromptScore(s)) => s.prompt_index,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(scores, [None; 3]);

    // A repeated prompt of the relation has the same score.
    let relation = desk.results().relation("capital").unwrap().value.clone();
    let again = PromptQuestion { relation: "capital".into(), prompt: relation.prompts[1].clone() };
    let findings = experiment.answer(&Asked::Prompt(again), Share::All, &mut desk).unwrap();
    for f in &findings {
        let Body::Lab(Kind::PromptScore(s)) = &f.body else { panic!() };
        let known = desk.results().score("capital", &relation.prompts[1], &f.model).unwrap().value.clone();
        assert_eq!(*s, known);
    }
    look(experiment.as_mut(), &mut desk, &relation.prompts[1], prompt);
    for (relation, prompt, printed) in [
        ("capital", "no gaps", "[X] and [Y] once each"),
        ("capital", "[Y] of [X] .", "not last"),
        ("nothing", "[X] [Y]", "there are no results for `nothing`"),
    ] {
        let asked = PromptQuestion { relation: relation.into(), prompt: prompt.into() };
        let Err(Fault::Failed(why)) = experiment.answer(&Asked::Prompt(asked), Share::All, &mut desk) else { panic!() };
        assert!(why.what.contains(printed), "{printed}: {why}");
    }
}

/// Checks the instances behind a score, both right and wrong, and one of them in detail.
fn look(experiment: &mut dyn Experiment<Kind, Question>, desk: &mut Desk, known: &str, typed: &str) {
    for prompt in [known, typed] {
        let asked = LookQuestion { relation: "capital".into(), prompt: prompt.into(), instance: 1, mention: 0 };
        let findings = experiment.answer(&Asked::Look(asked), Share::All, desk).unwrap();
        assert_eq!((findings.len(), findings[0].model.as_str()), (4, ALL));
        let Body::Lab(Kind::Instances(all)) = &findings[0].body else { panic!() };
        for (k, f) in findings[1..].iter().enumerate() {
            let Body::Lab(Kind::Instance(one)) = &f.body else { panic!() };
            assert_eq!(one.mention, all.rows[1].mentions[0]);
            assert_eq!((&one.said, one.right), (&all.rows[1].said[k].0, all.rows[1].said[k].1));
            assert!(one.top.len() == 5 && one.top.windows(2).all(|w| w[0].probability >= w[1].probability));
        }
        let right = all.rows.iter().filter(|r| r.said[0].1).count() as f64 / all.rows.len() as f64;
        if let Some(score) = desk.results().score("capital", prompt, "bert-tiny") {
            assert!((score.value.p_at_1.mean - right).abs() < 1e-12);
        }
    }
}

#[test]
fn stopped_run_answers_questions() {
    let mut desk = Desk::new();
    // Cancels after the answers for the first relation.
    desk.cancel_after = 8;
    let (mut experiment, result) = run(&spec(), &mut desk);
    assert!(matches!(result, Err(Fault::Cancelled)));
    desk.cancel_after = usize::MAX;
    let first = desk.results().relations[0].value.clone();
    let asked = LookQuestion { relation: first.relation, prompt: first.prompts[0].clone(), instance: 0, mention: 0 };
    assert_eq!(experiment.answer(&Asked::Look(asked), Share::All, &mut desk).unwrap().len(), 4);
}

#[test]
fn further_pretraining_is_measured_once() {
    let mut spec = spec();
    spec.models.truncate(1);
    spec.data.relations = ["capital"].into();
    spec.disparity.gammas = vec![1.0];
    (spec.disparity.sentences, spec.disparity.epochs) = (64, 1);
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let found = desk.results().disparity;
    assert_eq!(found.iter().map(|d| d.value.gamma).collect::<Vec<_>>(), [None, Some(1.0)]);
    assert_eq!((found[0].value.steps, found[1].value.steps), (0, 2));
    assert_eq!(desk.holders, 2, "the model stays loaded, because questions may follow");
    let beats = desk.beats;
    (desk.found, desk.asked) = (Vec::new(), false);
    run(&spec, &mut desk).1.unwrap();
    assert_eq!(desk.results().disparity, found);
    assert_eq!(desk.holders, 1, "without questions, the run drops the model before training");
    assert!(desk.beats - beats < 8, "no step is trained again: {}", desk.beats - beats);
}

/// Not in the paper: two-token objects can be answers if words are compared by pseudo-log-likelihood.
#[test]
fn multi_token_objects_use_pseudo_log_likelihood() {
    let dir = tempfile::tempdir().unwrap();
    let row = |x: &str, y: &str| format!("{{\"relation\":\"P36\",\"subject\":\"{x}\",\"object\":\"{y}\"}}\n");
    let facts = row("France", "Paris") + &row("Norway", "Oslo") + &row("Italy", "Rome Town");
    std::fs::write(dir.path().join("facts.jsonl"), facts).unwrap();
    let prompt = "{\"relation\":\"P36\",\"prompt\":\"The capital of [X] is [Y] .\"}\n";
    std::fs::write(dir.path().join("prompts.jsonl"), prompt).unwrap();
    let mut spec = spec();
    spec.data.relations = Relations::Functional;
    spec.data.files = vec![dir.path().display().to_string()];
    for (candidates, kept) in [(Candidates::Relation, 2), (Candidates::RelationPll, 3)] {
        spec.query.candidates = candidates;
        let mut desk = Desk::new();
        let (mut experiment, result) = run(&spec, &mut desk);
        result.unwrap();
        let results = desk.results();
        assert_eq!(results.relation("P36").unwrap().value.kept, kept, "{candidates:?}");
        assert!(results.scores.iter().all(|s| s.value.candidates == candidates && s.n == kept));
        let prompt = "The capital of [X] is [Y] .".to_owned();
        let asked = LookQuestion { relation: "P36".into(), prompt, instance: kept - 1, mention: 0 };
        let found = experiment.answer(&Asked::Look(asked), Share::All, &mut desk).unwrap();
        let Body::Lab(Kind::Instances(all)) = &found[0].body else { panic!() };
        for (k, f) in found[1..].iter().enumerate() {
            let Body::Lab(Kind::Instance(one)) = &f.body else { panic!() };
            assert_eq!((&one.said, one.right), (&all.rows[kept - 1].said[k].0, all.rows[kept - 1].said[k].1));
            assert!(["Paris", "Oslo", "Rome Town"].iter().any(|a| a.eq_ignore_ascii_case(&one.said)), "{one:?}");
            assert!(one.rank.is_some_and(|r| (1..=kept as u32).contains(&r)), "{one:?}");
        }
    }
}

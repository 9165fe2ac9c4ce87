//! Tests what changes when a model is added, and that the forecast counts the right number of queries.

use std::collections::BTreeSet;

use super::super::forecast;
use super::*;
use crate::consistency::Regime;
use crate::finding::{InstanceFinding, InstancesFinding};
use crate::spec::Weighting;

const PROMPT: &str = "The capital of [X] is [Y] .";

/// One relation with these facts and two prompts, for two models.
fn spec_of(dir: &std::path::Path, facts: &[(&str, &str)]) -> Spec {
    let rows: String =
        facts.iter().map(|(x, y)| format!("{{\"relation\":\"r\",\"subject\":\"{x}\",\"object\":\"{y}\"}}\n")).collect();
    std::fs::write(dir.join("facts.jsonl"), rows).unwrap();
    let prompts = [PROMPT, "As its capital , [X] has [Y] ."];
    let rows = prompts.map(|p| format!("{{\"relation\":\"r\",\"prompt\":\"{p}\"}}\n"));
    std::fs::write(dir.join("prompts.jsonl"), rows.concat()).unwrap();
    let mut spec = spec();
    spec.data.relations = Relations::Functional;
    spec.data.files = vec![dir.display().to_string()];
    spec.models = vec!["bert-tiny".into(), "gpt2-tiny".into()];
    spec.ranks.subset = 1;
    spec
}

/// All models' answers to the prompt, and each model's details for the first instance.
fn looked(
    experiment: &mut dyn Experiment<Kind, crate::Question>,
    desk: &mut Desk,
) -> (InstancesFinding, Vec<InstanceFinding>) {
    let asked = LookQuestion { relation: "r".into(), prompt: PROMPT.into(), instance: 0, mention: 0 };
    let findings = experiment.answer(&Asked::Look(asked), Share::All, desk).unwrap();
    let (mut all, mut each) = (None, Vec::new());
    for finding in &findings {
        let Body::Lab(kind) = &finding.body else { panic!("{finding:?}") };
        match kind {
            Kind::Instances(found) => all = Some(found.clone()),
            Kind::Instance(found) => each.push(found.clone()),
            other => panic!("{other:?}"),
        }
    }
    (all.unwrap(), each)
}

/// A word that is one token in `says` and several in `lacks`.
fn word(desk: &mut Desk, says: &str, lacks: &str) -> String {
    let mut is_one = |model: &str, word: &str| {
        let model = desk.model(model).unwrap();
        model.tokenizer().unwrap().encode_bare(&format!(" {word}")).unwrap().ids.len() == 1
    };
    let words = ["Albania", "Angola", "Bulgaria", "Morocco", "Nepal", "Romania", "Serbia", "Moon"];
    let found = words.into_iter().find(|w| is_one(says, w) && !is_one(lacks, w));
    found.expect("a word that the models split differently").to_owned()
}

/// Logits do not depend on the other models. Adding a model leaves the stored replies of the others valid and stores nothing new for
/// them.
#[test]
fn added_model_changes_no_other_logits() {
    let dir = tempfile::tempdir().unwrap();
    let mut desk = Desk::new();
    let taken = word(&mut desk, "bert-tiny", "gpt2-tiny");
    let mut two = spec_of(dir.path(), &[("France", "Paris"), ("Norway", "Oslo"), ("Utopia", &taken)]);
    two.models.truncate(1);
    let (mut experiment, result) = run(&two, &mut desk);
    result.unwrap();
    let before = looked(experiment.as_mut(), &mut desk);
    let stored = desk.store.kept.lock().unwrap().clone();
    two.models.push("gpt2-tiny".into());
    let (mut experiment, result) = run(&two, &mut desk);
    result.unwrap();
    let after = looked(experiment.as_mut(), &mut desk);
    assert_eq!((before.0.rows.len(), after.0.rows.len()), (3, 2));
    for row in &after.0.rows {
        let old = before.0.rows.iter().find(|r| r.mentions == row.mentions).unwrap();
        assert_eq!(row.said[0], old.said[0]);
    }
    assert_eq!(before.1[0], after.1[0], "the five probabilities are bit-identical");
    let now = desk.store.kept.lock().unwrap().clone();
    let hash = desk.model("bert-tiny").unwrap().hash().to_owned();
    let own = |all: &HashMap<String, Vec<u8>>| -> BTreeSet<(String, Vec<u8>)> {
        all.iter().filter(|(k, _)| k.contains(&hash)).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    assert!(!own(&stored).is_empty() && own(&stored) == own(&now));
    // The excluded fact is listed with the word.
    assert_eq!(after.0.left_out.len(), 1);
    assert!(after.0.left_out[0].0.contains(&taken) && after.0.left_out[0].1.contains("gpt2-tiny"));
}

/// Under rules that compare words of all models, an additional model removes words and instances, and each removal is reported.
#[test]
fn words_removed_by_an_added_model_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let mut desk = Desk::new();
    let taken = word(&mut desk, "bert-tiny", "gpt2-tiny");
    for rule in [Candidates::Intersection, Candidates::Relation] {
        let mut spec = spec_of(dir.path(), &[("France", "Paris"), ("Norway", "Oslo"), ("Utopia", &taken)]);
        spec.query.candidates = rule;
        let mut desk = Desk::new();
        run(&spec, &mut desk).1.unwrap();
        let results = desk.results();
        let relation = &results.relation("r").unwrap().value;
        assert_eq!((relation.facts, relation.kept), (3, 2), "{rule:?}");
        let [left] = &relation.left_out[..] else { panic!("{relation:?}") };
        assert!(left.count == 1 && left.what == [taken.clone()] && left.reason.contains("gpt2-tiny"), "{left:?}");
        let data = results.data.unwrap().value;
        let note = data.models.iter().find(|m| m.name == "gpt2-tiny").unwrap();
        assert!(note.words_taken >= note.taken.len() && note.words_taken > 0, "{note:?}");
        // Means are over the remaining instances.
        assert!(results.scores.iter().all(|s| s.n == 2) && results.adjusted.iter().all(|a| a.n == 2));
    }
}

/// Regression: words that no model can produce used to be counted as queries, which doubled the forecast time on LAMA.
#[test]
fn forecast_counts_actual_queries() {
    let dir = tempfile::tempdir().unwrap();
    let facts = [("France", "Paris"), ("Norway", "Oslo Town"), ("Italy", "Rome Town")];
    let mut spec = spec_of(dir.path(), &facts);
    spec.models.truncate(1);
    let of = |spec: &Spec, desk: &mut Desk| {
        let bench = Bench::open(spec, desk).unwrap();
        forecast::of(&bench, desk).unwrap()
    };
    let mut desk = Desk::new();
    // The test host reports a ten-thousandth of a second for any measurement, here of two prompts with one fact.
    let ahead = of(&spec, &mut desk);
    assert!((ahead.relations[0].asks[0] - 2e-4).abs() < 1e-12, "{:?}", ahead.relations);
    assert_eq!(ahead.relations[0].weights, [0.0]);
    spec.adjust.weights = Weighting::Perplexity;
    assert!((of(&spec, &mut desk).relations[0].weights[0] - 2e-4).abs() < 1e-12, "perplexity takes time too");
    spec.adjust.weights = Weighting::Uniform;
    // Stored answers cost only the time for their intervals.
    run(&spec, &mut desk).1.unwrap();
    let again = of(&spec, &mut desk);
    assert_eq!(again.relations[0].asks, [0.0]);
    assert!(again.relations[0].intervals[0] > 0.0);
    // With pseudo-log-likelihood, a query takes between its minimum and maximum number of passes.
    spec.query.candidates = Candidates::RelationPll;
    let bench = Bench::open(&spec, &mut desk).unwrap();
    let [least, most] = bench.rule(&bench.library.relations[0], 0).unwrap().passes(false);
    let ahead = forecast::of(&bench, &mut desk).unwrap();
    let passes = ahead.relations[0].asks[0] / 1e-4 / 6.0;
    assert!(least < most && (least as f64 - 1e-6..=most as f64 + 1e-6).contains(&passes), "{least} {passes} {most}");
}

/// A run may lose all instances of every relation; it then ends with reasons and no numbers.
#[test]
fn run_without_usable_facts_ends_with_reasons() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec_of(dir.path(), &[("Nowhere", "Xyzzyville Town")]);
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let results = desk.results();
    assert!(results.scores.is_empty() && results.summaries.is_empty() && results.ledgers.is_empty());
    assert!(results.rank(Regime::Adjusted, None).is_none());
    for printed in ["r: no instance", "rank consistency is n/a"] {
        assert!(desk.notices.iter().any(|n| n.what.contains(printed)), "{printed}: {:?}", desk.notices);
    }
}

/// Regression: intervals over a single relation used to have width 0.
#[test]
fn single_relation_gives_full_range_intervals() {
    let mut one = spec();
    one.data.relations = ["capital"].into();
    one.ranks.subset = 1;
    let mut desk = Desk::new();
    run(&one, &mut desk).1.unwrap();
    let printed = |desk: &Desk| desk.notices.iter().filter(|n| n.what.contains("only one relation is usable")).count();
    assert_eq!(printed(&desk), 1, "{:?}", desk.notices);
    let results = desk.results();
    let v = &results.summaries[0].value;
    for e in [v.mean_worst, v.mean_best, v.mean_gap, v.mean_adjusted].map(Option::unwrap) {
        assert_eq!((e.lo, e.hi), (0.0, 1.0), "{v:?}");
    }
    let parts = &results.ledgers[0].value.parts;
    assert_eq!((parts.model_itself.lo, parts.model_itself.hi), (-1.0, 1.0));
    assert_eq!((parts.total.lo, parts.total.hi), (0.0, 1.0));
    let mut desk = Desk::new();
    run(&spec(), &mut desk).1.unwrap();
    assert_eq!(printed(&desk), 0);
    assert!(desk.results().summaries.iter().filter_map(|s| s.value.mean_worst).all(|e| e.hi - e.lo < 1.0));
}

/// Regression: two weights for eight prompts, and prompts for a relation outside the run, used to be accepted silently.
#[test]
fn unused_settings_are_reported() {
    use crate::spec::UserWeights;
    let mut spec = spec();
    spec.data.relations = ["capital"].into();
    spec.adjust.prompts = Some(99);
    spec.adjust.user.insert("capital".into(), UserWeights::Prompts(vec![1.0, 2.0]));
    spec.data.own.insert("profession".into(), vec!["[X] : [Y]".into()]);
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    for (key, printed) in [
        ("data.own", "the values for relation profession are ignored"),
        ("adjust.user", "`adjust.weights` is uniform"),
        ("adjust.prompts", "99 prompts per relation are requested"),
    ] {
        let there = desk.notices.iter().any(|n| n.r#where == key && n.what.contains(printed));
        assert!(there, "{printed}: {:?}", desk.notices);
    }
}

/// A causal model cannot use a prompt that does not end in its object. The hint must not blame the words.
#[test]
fn relation_without_usable_prompts_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec_of(dir.path(), &[("France", "Paris")]);
    let early = "{\"relation\":\"r\",\"prompt\":\"[Y] is the capital of [X] .\"}\n";
    std::fs::write(dir.path().join("prompts.jsonl"), early).unwrap();
    spec.models = vec!["gpt2-tiny".into()];
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let printed = desk.notices.iter().find(|n| n.what.contains("r: no prompt")).unwrap();
    assert!(!printed.hint.contains("relation_pll") && printed.hint.contains("prompts"), "{printed}");
    let left = desk.results().relation("r").unwrap().value.prompts_left_out.clone();
    assert!(left[0].reason.contains("[Y] is not last"), "{left:?}");
}

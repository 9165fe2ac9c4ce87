//! Tests that every row sets the value that it shows, and that the spec remains valid.

use super::*;
use crate::plan::{Hypothesis, Plan, Stop};
use lab::setting::{Known, KnownModel};
use lab::spec::LabSpec;

#[test]
fn steps_of_every_row_keep_the_spec_valid() {
    let known = Known { models: vec![KnownModel { name: "bert-mini".into(), layers: 4 }], ..Known::default() };
    for setting in settings() {
        let plan = Plan { hypothesis: Hypothesis::Differ, n: None, stop: Stop::AtN };
        let mut spec = Spec { plan: Some(plan), ..Spec::shipped() };
        let values: Vec<Value> = match setting.kind(&spec, &known) {
            Kind::Slider { stops, .. } => stops.into_iter().map(Value::Number).collect(),
            Kind::Choice(names) => (0..names.len()).map(|i| Value::Choice(Some(i))).collect(),
            Kind::Integer(_) => vec![Value::Number(7.0)],
            _ => continue,
        };
        for value in values {
            setting.set(&mut spec, &known, value.clone()).unwrap();
            assert_eq!(setting.get(&spec, &known), value, "{}", setting.key);
            spec.check("x").unwrap_or_else(|e| panic!("{}: {e}", setting.key));
        }
    }
}

/// Regression: typing a file used to change the folder to which the spec's other files are relative.
#[test]
fn typed_file_keeps_other_paths_of_the_spec() {
    let mut spec = Spec::shipped();
    (spec.task.base, spec.b.corrupted, spec.b.corrupted_text) = ("/specs".into(), 200, Some("text.txt".into()));
    let row = settings().into_iter().find(|r| r.key == "task.data").unwrap();
    row.set(&mut spec, &Known::default(), Value::Text("own.tsv".into())).unwrap();
    assert_eq!(spec.path(spec.b.corrupted_text.as_ref().unwrap()), std::path::Path::new("/specs/text.txt"));
    assert_eq!(spec.path(spec.task.data.as_ref().unwrap()), std::path::absolute("own.tsv").unwrap());
}

/// Regression: corruption settings without a corrupted encoder used to be ignored silently.
#[test]
fn corruption_settings_require_a_corruption() {
    let mut spec = Spec::shipped();
    spec.corruption.rate = Some(1e-4);
    let refused = spec.check("x").unwrap_err().to_string();
    assert!(refused.contains("set `a.corrupted` or `b.corrupted`"), "{refused}");
    spec.b.corrupted = 20;
    spec.check("x").unwrap();
    assert_ne!(
        lab::SpecFields::hash(&spec),
        lab::SpecFields::hash(&Spec { corruption: Default::default(), ..spec.clone() })
    );
    spec.corruption.masking = Some(1.0);
    assert!(spec.check("x").unwrap_err().to_string().contains("corruption.masking"));
}

#[test]
fn result_files_replace_encoders_and_can_be_removed() {
    let known = Known::default();
    let rows = settings();
    let row = |key: &str| rows.iter().find(|r| r.key == key).unwrap();
    let mut spec = Spec::shipped();
    row("a.results").set(&mut spec, &known, Value::Text("x.jsonl".into())).unwrap();
    assert!(spec.models.is_empty() && spec.check("x").is_err());
    row("b.results").set(&mut spec, &known, Value::Text("y.jsonl".into())).unwrap();
    spec.check("x").unwrap();
    row("a.results").set(&mut spec, &known, Value::Unset).unwrap();
    row("b.results").set(&mut spec, &known, Value::Unset).unwrap();
    spec.check("x").unwrap();
    assert_eq!(spec.models, Spec::shipped().models);
}

/// Regression: choosing a model for one side, after results came from files, used to leave the other side without an encoder.
#[test]
fn model_chosen_after_files_is_set_for_both_sides() {
    let known = Known { models: vec![KnownModel { name: "bert-mini".into(), layers: 4 }], ..Known::default() };
    let rows = settings();
    let row = |key: &str| rows.iter().find(|r| r.key == key).unwrap();
    for side in ["a.encoder", "b.encoder"] {
        let mut spec = Spec::shipped();
        row("a.results").set(&mut spec, &known, Value::Text("x.jsonl".into())).unwrap();
        row("b.results").set(&mut spec, &known, Value::Text("y.jsonl".into())).unwrap();
        row(side).set(&mut spec, &known, Value::Choice(Some(0))).unwrap();
        assert_eq!(spec.models, ["bert-mini"], "{side}");
        spec.check("x").unwrap();
    }
}

/// Regression: editing a row that names several files per side used to drop all but the first.
#[test]
fn row_can_name_several_files() {
    let (known, rows) = (Known::default(), settings());
    let row = |key: &str| rows.iter().find(|r| r.key == key).unwrap();
    let mut spec = Spec::shipped();
    row("a.results").set(&mut spec, &known, Value::Text("x/1.jsonl, x/2.jsonl,x/3.jsonl".into())).unwrap();
    assert_eq!(spec.a.results, ["x/1.jsonl", "x/2.jsonl", "x/3.jsonl"]);
    let now = row("a.results").get(&spec, &known);
    assert_eq!(now, Value::Text("x/1.jsonl, x/2.jsonl, x/3.jsonl".into()));
    row("a.results").set(&mut spec, &known, now).unwrap();
    assert_eq!((spec.a.results.len(), row("a.results").text(&spec, &known).as_str()), (3, "1.jsonl +2"));
}

/// Regression: intermediate sizes, noises, the split, and the bound's constant and δ used to be available only in spec files.
#[test]
fn lists_are_parsed_or_refused() {
    let (known, rows, mut spec) = (Known::default(), settings(), Spec::shipped());
    let row = |key: &str| rows.iter().find(|r| r.key == key).unwrap();
    let set = |spec: &mut Spec, key: &str, text: &str| {
        row(key).set(spec, &known, Value::Text(text.into())).map_err(|e| e.to_string())
    };
    set(&mut spec, "task.steps", "32, 100 1000").unwrap();
    set(&mut spec, "also.noise", ".1, 1").unwrap();
    set(&mut spec, "task.ratio", "8:1:1").unwrap();
    assert_eq!((&spec.task.sizes[..], &spec.also.noise[..]), (&[32, 100, 1000][..], &[0.1, 1.0][..]));
    assert_eq!(spec.task.ratio.to_string(), "8:1:1");
    spec.check("x").unwrap();
    assert_eq!(row("task.steps").get(&spec, &known), Value::Text("32, 100, 1000".into()));
    for (key, bad) in [
        ("task.steps", "100, 32"),
        ("task.steps", "2"),
        ("task.steps", ""),
        ("task.steps", "many"),
        ("also.noise", "1, 1"),
        ("also.noise", "-1"),
        ("also.noise", "nan"),
        ("task.ratio", "4:1"),
    ] {
        let before = spec.clone();
        assert!(set(&mut spec, key, bad).is_err(), "{key} {bad}");
        assert_eq!(spec, before);
    }
    row("test.own").set(&mut spec, &known, Value::Number(120.0)).unwrap();
    row("test.delta").set(&mut spec, &known, Value::Number(0.05)).unwrap();
    assert_eq!((spec.test.bound, spec.test.delta), (Bound::Own(120.0), 0.05));
    row("also.noise").set(&mut spec, &known, Value::Unset).unwrap();
    assert!(spec.also.noise.is_empty());
}

/// Regression: both sides of a comparison used to share one task.
#[test]
fn side_can_have_a_separate_task() {
    let (known, rows, mut spec) = (Known::default(), settings(), Spec::shipped());
    let row = rows.iter().find(|r| r.key == "b.task").unwrap();
    row.set(&mut spec, &known, Value::Choice(Some(1))).unwrap();
    assert!(spec.is_apart() && spec.check("x").is_ok());
    assert_eq!((spec.task_of(true).0, spec.task_of(false).0), ("subj_number", PROBING[0].id));
    assert!(
        spec.name(true).contains("subj number") && spec.name(false).contains("past present"),
        "{}",
        spec.name(true)
    );
    row.set(&mut spec, &known, Value::Choice(Some(0))).unwrap();
    assert!(!spec.is_apart() && spec == Spec::shipped());
    // Two names of the same task count as one task.
    spec.b.task = Some("subj_number".into());
    assert!(!spec.is_apart());
}

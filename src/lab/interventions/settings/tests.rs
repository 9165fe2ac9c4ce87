//! Every field returns the value it was set to; a refused value leaves the spec unchanged.

use super::*;
use crate::registry;
use lab::setting::KnownModel;
use lab::spec::LabSpec;

fn known() -> Known {
    Known { models: vec![KnownModel { name: "bert-mini".into(), layers: 4 }], ..Known::default() }
}

fn put(spec: &mut Spec, key: &str, value: Value) -> Result<(), SettingError> {
    let mut all = settings();
    all.extend(spec.methods.iter().flat_map(|m| options(spec, &m.name, 0)));
    let setting = all.into_iter().find(|s| s.key == key).unwrap_or_else(|| panic!("{key}"));
    setting.set(spec, &known(), value)
}

#[test]
fn settings_round_trip_and_specs_stay_valid() {
    let shipped = Spec::shipped();
    let mut all = settings();
    all.extend(shipped.methods.iter().flat_map(|m| options(&shipped, &m.name, 0)));
    for setting in all {
        let values: Vec<Value> = match setting.kind(&shipped, &known()) {
            Kind::Slider { stops, .. } => stops.into_iter().map(Value::Number).collect(),
            Kind::Choice(names) => (0..names.len()).map(|i| Value::Choice(Some(i))).collect(),
            Kind::Integer(_) => vec![Value::Number(7.0)],
            _ => vec![setting.get(&shipped, &known())],
        };
        for value in values {
            let mut spec = shipped.clone();
            setting.set(&mut spec, &known(), value.clone()).unwrap();
            assert_eq!(setting.get(&spec, &known()), value, "{}", setting.key);
            assert!(spec.check("test").is_ok(), "{}: {:?}", setting.key, spec.check("test"));
            assert!(!setting.text(&spec, &known()).is_empty(), "{}", setting.key);
        }
        assert!(setting.help.len() > 10 && !setting.label.is_empty(), "{}", setting.key);
    }
}

#[test]
fn keys_are_unique_and_every_option_has_a_row() {
    let mut spec = Spec::shipped();
    spec.methods = registry().iter().map(|m| crate::spec::MethodSpec::named(m.id)).collect();
    let mut keys: Vec<String> = settings().into_iter().map(|s| s.key).collect();
    for method in registry() {
        let rows = options(&spec, method.id, 0);
        let file = usize::from(method.needs.file);
        assert_eq!(rows.len(), method.settings.len() + file, "{}", method.id);
        keys.extend(rows.into_iter().map(|s| s.key));
    }
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all);
}

#[test]
fn option_reset_to_default_restores_the_spec() {
    let mut spec = Spec::shipped();
    put(&mut spec, "method.pgd.steps", Value::Number(20.0)).unwrap();
    assert_ne!(spec, Spec::shipped());
    put(&mut spec, "method.pgd.steps", Value::Number(40.0)).unwrap();
    assert_eq!(spec, Spec::shipped());
    assert!(options(&spec, "random", 0).is_empty(), "a method that is not run has no options");
}

#[test]
fn oracle_layer_never_precedes_the_intervention() {
    let mut spec = Spec::shipped();
    put(&mut spec, "site.layer", Value::Number(2.0)).unwrap();
    put(&mut spec, "site.oracle_layer", Value::Number(3.0)).unwrap();
    assert_eq!((spec.site.layer, spec.site.oracle_layer), (LayerRef::At(2), Some(LayerRef::At(3))));
    put(&mut spec, "site.layer", Value::Number(3.0)).unwrap();
    assert_eq!(spec.site.oracle_layer, None);
    assert!(put(&mut spec, "site.oracle_layer", Value::Number(2.0)).is_err());
    put(&mut spec, "site.oracle_layer", Value::Number(4.0)).unwrap();
    assert_eq!(spec.site.oracle_layer, Some(LayerRef::Last));
}

/// Regression: the form used to name the subject's number even if the file did not have it.
#[test]
fn file_labels_become_the_properties() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    let rows: String = (0..20).map(|k| format!("a {k} [MASK],{},{}\n", k % 3, ["x", "y"][k % 2])).collect();
    std::fs::write(&file, format!("text,tense,voice\n{rows}")).unwrap();
    let mut spec = Spec::shipped();
    put(&mut spec, "task.data", Value::Text(file.display().to_string())).unwrap();
    assert_eq!((spec.task.target.as_str(), &spec.task.keep[..]), ("tense", &["voice".to_owned()][..]));
    put(&mut spec, "task.data", Value::Unset).unwrap();
    assert_eq!((spec.task.target.as_str(), spec.task.keep.len()), ("subject_number", 0));
}

#[test]
fn file_data_fixes_the_correlation() {
    let mut spec = Spec::shipped();
    put(&mut spec, "task.phi", Value::Number(0.3)).unwrap();
    put(&mut spec, "task.data", Value::Text("folder/own.tsv".into())).unwrap();
    assert_eq!(spec.task.phi, None);
    assert_eq!(data().text(&spec, &known()), "own.tsv");
    assert_eq!(phi().text(&spec, &known()), "as in the file");
    let refused = put(&mut spec, "task.phi", Value::Number(0.2)).unwrap_err();
    assert_eq!(refused.to_string(), "set by the rows of the file");
    put(&mut spec, "task.data", Value::Unset).unwrap();
    assert_eq!(spec, Spec::shipped());
}

/// Regression: externally made directions and states used to be possible only in a spec file.
#[test]
fn file_of_external_method_has_a_row() {
    use crate::spec::MethodSpec;
    for id in ["directions", "states", "erased_states"] {
        let mut spec = Spec::shipped();
        assert!(options(&spec, id, 0).is_empty(), "a method that is not run has no options");
        spec.methods.push(MethodSpec { base: "/elsewhere".into(), ..MethodSpec::named(id) });
        assert!(spec.check("test").is_err(), "{id} needs a file");
        let row = || options(&spec, id, 0).remove(0);
        assert_eq!(
            (row().text(&spec, &known()).as_str(), row().kind(&spec, &known())),
            ("none yet", Kind::File("none yet"))
        );
        put(&mut spec, &format!("method.{id}.file"), Value::Text("folder/own.safetensors".into())).unwrap();
        let last = spec.methods.last().unwrap();
        assert_eq!(last.file_path(), Some("folder/own.safetensors".into()), "not relative to the spec's folder");
        assert_eq!(options(&spec, id, 0)[0].text(&spec, &known()), "own.safetensors");
        put(&mut spec, &format!("method.{id}.file"), Value::Unset).unwrap();
        assert_eq!(spec.methods.last().unwrap().file, None);
    }
}

#[test]
fn models_run_in_the_order_of_selection() {
    let mut spec = Spec::shipped();
    spec.models = vec!["b".into()];
    put(&mut spec, "models", Value::Marks(vec![true, true])).unwrap();
    assert_eq!(spec.models, ["b", "bert-mini"]);
    assert_eq!(known().names(&spec.models), ["bert-mini", "b"]);
    assert!(put(&mut spec, "models", Value::Marks(vec![true])).is_err());
}

#[test]
fn two_settings_of_one_method_are_separate() {
    let mut spec = Spec::shipped();
    let second = crate::spec::MethodSpec {
        options: [("steps".to_owned(), 10.0)].into(),
        ..crate::spec::MethodSpec::named("pgd")
    };
    spec.methods.push(second);
    let steps = |nth| options(&spec, "pgd", nth).into_iter().find(|s| s.key == "method.pgd.steps").unwrap();
    let (first, second) = (steps(0), steps(1));
    assert_eq!(first.get(&spec, &known()), Value::Number(40.0));
    assert_eq!(second.get(&spec, &known()), Value::Number(10.0));
    let mut changed = spec.clone();
    second.set(&mut changed, &known(), Value::Number(5.0)).unwrap();
    assert_eq!(first.get(&changed, &known()), Value::Number(40.0));
    assert_eq!(second.get(&changed, &known()), Value::Number(5.0));
    assert!(options(&spec, "pgd", 2).is_empty());
}

#[test]
fn additional_properties_are_ticked_and_dropped_with_the_task() {
    let (known, mut spec) = (Known::default(), Spec::shipped());
    let all = settings();
    let named = |key: &str| all.iter().find(|s| s.key == key).unwrap();
    let also = named("task.also");
    assert_eq!(also.kind(&spec, &known), Kind::Marks(vec!["subject animacy".into()]));
    assert_eq!(also.get(&spec, &known), Value::Marks(vec![false]));
    also.set(&mut spec, &known, Value::Marks(vec![true])).unwrap();
    assert_eq!(spec.task.also, ["subject_animacy"]);
    let animacy = TASKS.iter().position(|t| t.id == "animacy").unwrap();
    named("task.name").set(&mut spec, &known, Value::Choice(Some(animacy))).unwrap();
    assert!(spec.task.also.is_empty(), "the new task already preserves animacy");
    assert_eq!(also.get(&spec, &known), Value::Marks(vec![false]));
    assert!(spec.check("x").is_ok());
}

//! Tests of the spec.

use super::*;
use lab::SpecFields as _;
use lab::examples::FEWEST_EXAMPLES;

fn parse(text: &str, origin: &str) -> Result<Spec, SpecError> {
    lab::spec::parse(text, origin)
}

fn to_toml(spec: &Spec) -> String {
    spec.to_toml()
}

#[test]
fn shipped_spec_parses_to_the_defaults() {
    let spec = parse(AGREEMENT_TOML, "shipped").unwrap();
    assert_eq!(spec.task, TaskSpec::default());
    let probe = ProbeSpec { replicates: REPLICATES, seed: 0, ..ProbeSpec::default() };
    assert_eq!(spec.probe, probe);
    assert_eq!(spec.interval, IntervalSpec::default());
    assert_eq!(spec.site, SiteSpec::default());
    let names: Vec<_> = spec.methods.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["alterrep", "fgsm", "pgd", "inlp", "identity", "random"]);
}

#[test]
fn round_trips_through_toml_and_keeps_its_hash() {
    let mut spec = Spec::shipped();
    spec.site.layer = LayerRef::At(2);
    spec.site.oracle_layer = Some(LayerRef::Last);
    spec.methods[2].options.insert("steps".into(), 12.0);
    let again = parse(&to_toml(&spec), "test").unwrap();
    assert_eq!(spec, again);
    assert_eq!(spec.hash(), again.hash());
    assert_ne!(spec.hash(), Spec::shipped().hash());
}

#[test]
fn data_path_is_relative_to_the_spec_and_not_hashed() {
    let folder = tempfile::tempdir().unwrap();
    let text = AGREEMENT_TOML.replace("examples = 12000", "data = \"own.tsv\"\nexamples = 12000");
    let file = folder.path().join("own.toml");
    std::fs::write(&file, &text).unwrap();
    let (mut read, parsed) = (parse(&text, "x").unwrap(), parse(&text, "x").unwrap());
    read.lies_in(folder.path().to_owned());
    assert_eq!(read.task.data_path(), Some(folder.path().join("own.tsv")));
    assert_eq!(parsed.task.data_path(), Some("own.tsv".into()));
    assert_eq!(read.hash(), parsed.hash());
    assert!(to_toml(&read).contains("data = \"own.tsv\"") && !to_toml(&read).contains("base"));
    assert_ne!(read.hash(), Spec::shipped().hash());
    let absolute = TaskSpec { data: Some("/data/x.tsv".into()), ..read.task };
    assert_eq!(absolute.data_path(), Some("/data/x.tsv".into()));
}

#[test]
fn unknown_key_names_the_line() {
    let text = AGREEMENT_TOML.replace("[interval]", "[interval]\nlevle = 0.9");
    let message = parse(&text, "x.toml").unwrap_err().to_string();
    assert!(message.contains("x.toml, line") && message.contains("levle"), "{message}");
}

#[test]
fn values_out_of_range_are_refused() {
    for (from, to, key) in [
        ("level = 0.95", "level = 1.5", "interval.level"),
        ("examples = 12000", "examples = 3", "task.examples"),
        ("grid = \"small\"", "grid = \"huge\"", "probe.grid"),
        ("[\"bert-mini\"]", "[]", "models"),
        ("examples = 12000", "data = \" \"", "task.data"),
        ("examples = 12000", "data = \"x.tsv\"\nphi = 0.2", "task.phi"),
    ] {
        assert!(AGREEMENT_TOML.contains(from), "{from}");
        let message = parse(&AGREEMENT_TOML.replace(from, to), "x").unwrap_err().to_string();
        assert!(message.contains(key), "{message}");
    }
}

/// The error for the default spec with a change.
fn refusal(change: impl FnOnce(&mut Spec)) -> String {
    let mut spec = Spec::shipped();
    change(&mut spec);
    spec.check("x").map_or_else(|e| e.to_string(), |()| String::new())
}

#[test]
fn duplicates_are_refused_everywhere() {
    assert_eq!(refusal(|_| ()), "");
    let twice = |name: &str| vec![name.to_owned(), name.to_owned()];
    for (text, key, name) in [
        (refusal(|s| s.models = twice("bert-mini")), "`models`", "bert-mini"),
        (refusal(|s| s.probe.oracles = vec![OracleKind::Mlp; 2]), "`probe.oracles`", "mlp"),
        (refusal(|s| s.methods[1].values = vec![0.1, 1.0, 0.1]), "`method.values`", "0.1"),
        (refusal(|s| s.methods.push(MethodSpec::named("pgd"))), "`method`", "PGD"),
    ] {
        assert!(text.contains(key) && text.contains("twice") && text.contains(name), "{text}");
    }
}

#[test]
fn method_may_run_once_per_setting() {
    let pgd = |steps: f64| MethodSpec { options: [("steps".to_owned(), steps)].into(), ..MethodSpec::named("pgd") };
    assert_eq!(refusal(|s| s.methods.extend([pgd(3.0), pgd(7.0)])), "");
    assert!(refusal(|s| s.methods.extend([pgd(3.0), pgd(3.0)])).contains("twice with the same options"));
    // Setting an option to its default is the same as omitting it.
    let steps = find("pgd").unwrap().settings.iter().find(|s| s.name == "steps").unwrap().default;
    assert!(refusal(|s| s.methods.push(pgd(steps))).contains("twice with the same options"));
}

#[test]
fn unsupported_level_is_refused_with_sufficient_resamples() {
    let with = |level, resamples| refusal(|s| s.interval = IntervalSpec { level, resamples });
    let text = with(0.9999, 100);
    assert!(text.contains("`interval.resamples`") && text.contains("at least 40000"), "{text}");
    assert!(with(0.9999, 39_999).contains("at least 40000"));
    assert_eq!(with(0.9999, 40_000), "");
    assert_eq!((with(0.95, 100), with(0.96, 100)), (String::new(), String::new()));
    assert!(with(0.97, 100).contains("at least 134"));
}

#[test]
fn unknown_names_are_refused_with_known_ones() {
    for (text, key, near) in [
        (refusal(|s| s.methods[2].name = "pdg".into()), "`method.name`", "pgd"),
        (refusal(|s| s.task.name = "agremeent".into()), "`task.name`", "agreement"),
        (refusal(|s| s.task.target = "subject".into()), "`task.target`", "subject_number"),
        (refusal(|s| s.probe.grid = "smal".into()), "`probe.grid`", "small"),
        (refusal(|s| s.methods[2].options = [("stepz".to_owned(), 4.0)].into()), "`method.options`", "steps"),
    ] {
        assert!(text.contains(key) && text.contains(near), "{text}");
    }
    let text = AGREEMENT_TOML.replace("\"interventions\"", "\"intervention\"");
    let text = parse(&text, "x").unwrap_err().to_string();
    assert!(text.contains("`lab` is `intervention`") && text.contains("interventions"), "{text}");
}

#[test]
fn too_few_examples_are_refused() {
    let with = |n| refusal(|s| s.task.examples = n);
    for n in [0, 200, FEWEST_EXAMPLES - 1] {
        assert!(with(n).contains(&format!("`task.examples` is {n}: must be from {FEWEST_EXAMPLES} to")));
    }
    assert_eq!(with(FEWEST_EXAMPLES), "");
}

#[test]
fn changed_method_options_change_the_hash() {
    let spec = Spec::shipped();
    let hash = |key: &MethodKey| spec.with_method(key).hash();
    let steps = |n: f64| MethodKey::new("pgd", &[("steps".to_owned(), n)].into());
    assert_eq!(hash(&MethodKey::named("pgd")), spec.hash());
    assert_ne!(hash(&steps(3.0)), spec.hash());
    assert_ne!(hash(&steps(3.0)), hash(&steps(7.0)));
    let mut fewer = spec.clone();
    fewer.methods.retain(|m| m.name != "identity");
    let added = fewer.with_method(&MethodKey::named("identity"));
    assert_eq!(added.methods.last().map(|m| m.name.as_str()), Some("identity"));
    assert_eq!(added.methods.len(), spec.methods.len());
}

#[test]
fn procedure_version_is_explicit_and_checked() {
    let with = |line: &str| parse(&AGREEMENT_TOML.replacen("seed = 0", line, 1), "x.toml");
    let spelled = with("seed = 0\nprocedure = 2").unwrap();
    assert_eq!((&spelled, spelled.hash()), (&Spec::shipped(), Spec::shipped().hash()));
    assert!(to_toml(&spelled).contains("procedure = 2"));
    for other in [1, 3] {
        let refused = with(&format!("seed = 0\nprocedure = {other}")).unwrap_err().to_string();
        let told = format!("`procedure` is {other}: this program supports only procedure 2; omit the key");
        assert_eq!(refused, format!("x.toml: {told}"));
    }
}

/// Positions that are not connected by any layer are refused with a suggestion.
#[test]
fn positions_are_checked_and_default_is_omitted() {
    let with = |line: &str, site: &str| {
        let text = AGREEMENT_TOML.replace("examples = 12000", &format!("{line}\nexamples = 12000"));
        parse(&text.replace("layer = \"last\"", site), "x").map_err(|e| e.to_string())
    };
    let same = with("position = \"mask\"", "layer = \"last\"").unwrap();
    assert_eq!(same.hash(), Spec::shipped().hash());
    let moved = with("position = \"marked\"\noracle_position = \"mask\"", "layer = 1\noracle_layer = 2").unwrap();
    assert_ne!(moved.hash(), same.hash());
    assert_eq!(parse(&to_toml(&moved), "again").unwrap(), moved);
    let map = "layer = 1\noracle_layer = 2\n[map]\n";
    let refused = with("position = \"marked\"\noracle_position = \"mask\"", map).unwrap_err();
    assert!(refused.contains("task.oracle_position") && refused.contains("[map]"), "{refused}");
    let refused = with("position = \"every\"\n", "layer = 1\n[[method]]\nname = \"counterfactual\"\n").unwrap_err();
    assert!(refused.contains("counterfactual cannot run at every token"), "{refused}");
    let refused = with("position = \"middle\"", "layer = 1").unwrap_err();
    assert!(refused.contains("middle") && refused.contains("marked"), "{refused}");
}

#[test]
fn replicates_are_bounded() {
    for (replicates, allowed) in [(0, false), (1, true), (50, true), (51, false)] {
        let said = refusal(|s| s.probe.replicates = replicates);
        assert_eq!(said.is_empty(), allowed, "{replicates:?}: {said}");
        assert!(allowed || said.contains("probe.replicates"), "{said}");
    }
    let mut other = Spec::shipped();
    other.probe.seed = 1;
    assert_ne!(other.hash(), Spec::shipped().hash(), "the training seed is part of the hash");
}

/// Additional properties are the task's own, each at most once; without them a spec is written and hashed as before.
#[test]
fn additional_properties_belong_to_the_task() {
    let with = |line: &str| AGREEMENT_TOML.replace("examples = 12000", &format!("{line}\nexamples = 12000"));
    let spec = parse(&with("also = [\"subject_animacy\"]"), "x").unwrap();
    assert_eq!(spec.task.also, ["subject_animacy"]);
    assert_eq!(parse(&to_toml(&spec), "again").unwrap(), spec);
    assert_ne!(spec.hash(), Spec::shipped().hash());
    assert_eq!(parse(&with("also = []"), "x").unwrap().hash(), Spec::shipped().hash());
    assert!(!to_toml(&Spec::shipped()).contains("also"));
    for (line, message) in [
        ("also = [\"subject_animcy\"]", "subject_animacy"),
        ("also = [\"attractor_number\"]", "names `attractor_number`, which the run already changes or measures"),
        ("also = [\"subject_animacy\", \"subject_animacy\"]", "twice"),
    ] {
        let said = parse(&with(line), "x").unwrap_err().to_string();
        assert!(said.contains("task.also") && said.contains(message), "{said}");
    }
}

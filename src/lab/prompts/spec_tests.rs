//! Tests of allowed and refused specs.

use super::*;
use lab::SpecFields as _;
use std::path::absolute;

#[test]
fn shipped_spec_uses_all_built_in_models_and_defaults() {
    let spec = Spec::shipped();
    assert_eq!(spec.models.len(), 8);
    assert_eq!((&spec.data, &spec.query), (&DataSpec::default(), &QuerySpec::default()));
    assert_eq!((&spec.adjust, &spec.ranks), (&AdjustSpec::default(), &RanksSpec::default()));
    assert_eq!((&spec.ledger, &spec.interval), (&LedgerSpec::default(), &IntervalSpec::default()));
    assert!(spec.disparity.is_off());
}

#[test]
fn spec_round_trips_and_keeps_its_hash() {
    let mut spec = Spec::shipped();
    spec.data.files = vec!["lama".into()];
    spec.data.own.insert("capital".into(), vec!["[X] : [Y]".into()]);
    spec.adjust.weights = Weighting::User;
    spec.adjust.user.insert("capital".into(), UserWeights::Prompts(vec![1.0, 2.0]));
    spec.adjust.user.insert("field".into(), UserWeights::Joint(vec![vec![1.0, 0.5], vec![2.0, 0.25]]));
    spec.disparity.gammas = vec![0.0, 1.0];
    let all = spec.clone();
    let again = lab::spec::parse::<Spec>(&all.to_toml(), "test").unwrap();
    assert_eq!(again, spec);
    let json = serde_json::to_value(&all).unwrap();
    assert_eq!(serde_json::from_value::<Spec>(json).unwrap(), spec);
    assert_eq!(again.hash(), all.hash());
    assert_ne!(all.hash(), Spec::shipped().hash());
}

/// The error message for the default spec after a change.
fn refusal(change: impl FnOnce(&mut Spec)) -> String {
    let mut spec = Spec::shipped();
    change(&mut spec);
    spec.check("x").map_or_else(|e| e.to_string(), |()| String::new())
}

#[test]
fn values_out_of_range_and_unknown_names_are_refused_with_their_key() {
    assert_eq!(refusal(|_| ()), "");
    for (printed, key) in [
        (refusal(|s| s.models.clear()), "models"),
        (refusal(|s| s.models.push("bert-mini".into())), "models"),
        (refusal(|s| s.data.relations = ["capitol"].into()), "did you mean `capital`"),
        (refusal(|s| s.data.mentions = 0), "data.mentions"),
        (refusal(|s| s.data.prompts = Some(0)), "data.prompts"),
        (refusal(|s| s.data.files = vec![" ".into()]), "data.files"),
        (
            refusal(|s| {
                s.data.own.insert("capital".into(), vec!["of [X]".into()]);
            }),
            "[Y] exactly once each",
        ),
        (refusal(|s| s.query.k = 0), "query.k"),
        (refusal(|s| s.query.function_words = String::new()), "query.function_words"),
        (refusal(|s| s.adjust.weights = Weighting::User), "adjust.user"),
        (
            refusal(|s| {
                s.adjust.user.insert("capital".into(), UserWeights::Prompts(vec![1.0, -1.0]));
            }),
            "weight -1",
        ),
        (
            refusal(|s| {
                s.adjust.user.insert("capital".into(), UserWeights::Prompts(vec![0.0]));
            }),
            "add up to 0",
        ),
        (
            refusal(|s| {
                s.adjust.user.insert("capitol".into(), UserWeights::Prompts(vec![1.0]));
            }),
            "did you mean `capital`",
        ),
        (refusal(|s| s.ranks.draws = 0), "ranks.draws"),
        (refusal(|s| s.ranks.subset = 0), "ranks.subset"),
        (refusal(|s| s.interval.level = 1.0), "interval.level"),
        (refusal(|s| s.interval.level = 0.999), "needs at least"),
        (refusal(|s| s.disparity.gammas = vec![1.5]), "disparity.gammas"),
    ] {
        assert!(printed.contains(key), "{key}: {printed}");
    }
}

#[test]
fn an_unknown_key_names_its_line() {
    let text = PROMPTS_TOML.replace("[ranks]", "[ranks]\ndraw = 3");
    let printed = lab::spec::parse::<Spec>(&text, "x.toml").unwrap_err().to_string();
    assert!(printed.contains("x.toml, line") && printed.contains("draw"), "{printed}");
}

#[test]
fn files_are_relative_to_the_spec_and_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    let text = "lab = \"prompts\"\nmodels = [\"bert-mini\"]\n[data]\nfiles = [\"facts\"]\n";
    std::fs::write(&file, text).unwrap();
    let mut spec: Spec = lab::spec::parse(&lab::spec::read_text(&file).unwrap(), "x").unwrap();
    spec.lies_in(folder.path().to_owned());
    let printed = spec.reach("x").unwrap_err().to_string();
    assert!(printed.contains("data.files") && printed.contains("no such file"), "{printed}");
    std::fs::create_dir(folder.path().join("facts")).unwrap();
    assert!(spec.reach("x").is_ok());
    assert_eq!(spec.hash(), lab::spec::parse::<Spec>(text, "y").unwrap().hash());
}

#[test]
fn files_are_added_to_existing_data() {
    let mut data = DataSpec { relations: ["capital"].into(), ..DataSpec::default() };
    data.add("own.jsonl".into());
    assert_eq!((&data.files[..], data.built_in), (&["own.jsonl".to_owned()][..], true));
    assert!(data.whole && data.relations[..] == ["capital"], "the selection of built-in relations is kept");
    data.add("own.jsonl".into());
    assert_eq!(data.files.len(), 1);
    let mut beside = DataSpec { files: vec!["lama".into()], base: "/specs".into(), ..DataSpec::default() };
    beside.add("own.jsonl".into());
    assert_eq!((beside.paths(), beside.built_in), (vec!["/specs/lama".into(), absolute("own.jsonl").unwrap()], false));
    // If files are used alone, no built-in relations are needed.
    let mut picked = DataSpec { files: vec!["lama".into()], ..DataSpec::default() };
    picked.relations = ["P19"].into();
    picked.add("own.jsonl".into());
    assert!(picked.relations.is_empty() && !picked.whole, "a selection of unknown origin is dropped");
    assert!(refusal(|s| s.data.whole = true).contains("data.whole"));
    let printed = refusal(|s| s.data.built_in = true);
    assert!(printed.contains("data.built_in"), "{printed}");
    let mut spec = Spec::shipped();
    spec.data.add("own.jsonl".into());
    let all = spec.clone();
    assert_eq!(lab::spec::parse::<Spec>(&all.to_toml(), "x").unwrap().data, spec.data);
    assert!(!Spec::shipped().to_toml().contains("built_in"), "old specs keep their hash");
}

#[test]
fn relations_parse_and_empty_list_keeps_its_meaning() {
    let read = |value: &str| {
        let text = PROMPTS_TOML.replace("relations = []  ", &format!("relations = {value}  "));
        lab::spec::parse::<Spec>(&text, "x").map(|s| s.data.relations)
    };
    assert_eq!(read("[]").unwrap(), Relations::Functional);
    assert_eq!(read("\"functional\"").unwrap(), Relations::Functional);
    assert_eq!(read("\"all\"").unwrap(), Relations::All);
    assert_eq!(read("[\"capital\"]").unwrap(), ["capital"].into());
    let printed = read("\"capital\"").unwrap_err().to_string();
    assert!(printed.contains("functional") && printed.contains("[\"capital\"]"), "{printed}");
    assert!(read("3").unwrap_err().to_string().contains("a list of identifiers"));
    let mut all = Spec::shipped();
    all.data.relations = Relations::All;
    assert_eq!(lab::spec::parse::<Spec>(&all.to_toml(), "x").unwrap(), all);
    assert_ne!(all.hash(), Spec::shipped().hash());
    assert!(Spec::shipped().to_toml().contains("relations = []"), "old specs keep their hash");
    // Adding files in the terminal program drops named relations but keeps the choice `all`.
    let mut data = DataSpec { files: vec!["lama".into()], relations: Relations::All, ..DataSpec::default() };
    data.add("own.jsonl".into());
    assert_eq!(data.relations, Relations::All);
}

#[test]
fn prompt_search_is_off_by_default_and_keeps_the_hash() {
    let spec = Spec::shipped();
    assert!(spec.tuned.is_off() && !spec.to_toml().contains("tuned"));
    let mut other = spec.clone();
    other.tuned.prompts = 1;
    assert_ne!(spec.hash(), other.hash());
    assert_eq!(lab::spec::parse::<Spec>(&other.to_toml(), "test").unwrap(), other);
    assert!(refusal(|s| s.tuned.model = Some("nobody".into())).contains("not one of the models"));
    assert!(refusal(|s| s.tuned.triggers = 0).contains("tuned.triggers"));
    assert!(refusal(|s| s.tuned.facts = 1).contains("tuned.facts"));
}

//! Tests of allowed and refused specs.

use super::*;
use lab::SpecFields as _;

fn parse(text: &str) -> Result<Spec, String> {
    lab::spec::parse(text, "x").map_err(|e| e.to_string())
}

#[test]
fn shipped_spec_is_the_default_and_keeps_its_hash() {
    let spec = Spec::shipped();
    assert_eq!(
        (&spec.task, &spec.training, &spec.test),
        (&TaskSpec::default(), &TrainingSpec::default(), &TestSpec::default())
    );
    let text = spec.to_toml();
    assert_eq!(parse(&text).unwrap(), spec);
    assert_ne!(spec.name(true), spec.name(false));
}

#[test]
fn values_out_of_range_are_refused_with_their_key() {
    for (from, to, key) in [
        ("\"subj_number\"", "\"subj_numbr\"", "did you mean `subj_number`?"),
        ("[64, 256, 1024]", "[]", "task.sizes"),
        ("[64, 256, 1024]", "[256, 64]", "task.sizes"),
        ("[64, 256, 1024]", "[2]", "task.sizes"),
        ("grid = \"paper\"", "grid = \"huge\"", "training.grid"),
        ("seeds = 5", "seeds = 0", "training.seeds"),
        ("alpha = 0.05", "alpha = 0.0", "test.alpha"),
        ("target = 0.8", "target = 1.0", "test.target"),
        ("level = 0.95", "level = 1.5", "interval.level"),
        ("[\"bert-mini\", \"untrained:bert-mini\"]", "[]", "models"),
        ("[\"bert-mini\", \"untrained:bert-mini\"]", "[\"a\", \"b\", \"c\"]", "models"),
    ] {
        assert!(POWER_TOML.contains(from), "{from}");
        let message = parse(&POWER_TOML.replacen(from, to, 1)).unwrap_err();
        assert!(message.contains(key), "{to}: {message}");
    }
    let message = parse("lab = \"power\"\n[a]\nresults = [\"x\"]").unwrap_err();
    assert!(message.contains("b.results"), "{message}");
    let message = parse("lab = \"power\"\nmodels = [\"bert-mini\"]\n[a]\nclassifier = \"mlp\"").unwrap_err();
    assert!(message.contains("a.classifier"), "{message}");
    let message = parse("lab = \"power\"\nmodels = [\"bert-mini\"]\n[b]\nnoise = -1.0").unwrap_err();
    assert!(message.contains("b.noise"), "{message}");
}

/// A file of results listed twice would count as two seeds, so it is refused.
#[test]
fn duplicates_in_lists_are_refused() {
    for (spec, key) in [
        ("[a]\nresults = [\"r\", \"r\"]\n[b]\nresults = [\"s\", \"t\"]", "a.results"),
        ("[a]\nresults = [\"r\", \"s\"]\n[b]\nresults = [\"t\", \"t\"]", "b.results"),
        ("models = [\"bert-mini\"]\n[also]\nnoise = [0.1, 1.0, 0.1]", "also.noise"),
    ] {
        let message = parse(&format!("lab = \"power\"\n{spec}")).unwrap_err();
        assert!(message.contains(key) && message.contains("twice"), "{message}");
    }
}

#[test]
fn side_names_contain_their_differences() {
    let spec = parse("lab = \"power\"\nmodels = [\"bert-mini\"]\n[b]\nnoise = 0.3\nclassifier = \"mlp:20\"").unwrap();
    assert_eq!(
        (spec.name(true).as_str(), spec.name(false).as_str()),
        ("bert-mini, logistic, noise 0", "bert-mini, mlp:20, noise 0.3")
    );
    // Regression: these names used to give "all-minilm beats all-minilm".
    for (models, names) in [
        (["data/all-minilm", "untrained:data/all-minilm"], ["all-minilm", "untrained:all-minilm"]),
        (["one/all-minilm", "two/all-minilm"], ["one/all-minilm", "two/all-minilm"]),
    ] {
        let spec = parse(&format!("lab = \"power\"\nmodels = {models:?}")).unwrap();
        assert_eq!([true, false].map(|first| spec.name(first)), names);
    }
    let files = parse("lab = \"power\"\n[a]\nresults = [\"x/r.jsonl\"]\n[b]\nresults = [\"y/s.jsonl\"]").unwrap();
    assert_eq!((files.name(true).as_str(), files.name(false).as_str()), ("r.jsonl", "s.jsonl"));
}

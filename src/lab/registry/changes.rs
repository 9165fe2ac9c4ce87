//! Differences between two specs.

use super::{LabId, Spec, settings, settings_of};
use base::text::printable_label;
use lab::setting::Known;

/// The fields that differ between two specs: the label of the setting and both values.
pub fn changes(a: &Spec, b: &Spec) -> Vec<String> {
    let name = names(b.lab());
    let (old, new) = (fields(a), fields(b));
    let was = |entry: &(String, String)| !old.contains(entry);
    let now = new.iter().filter(|entry| was(entry)).map(|(key, value)| {
        let before = old.iter().find(|(k, _)| k == key).map_or("default", |(_, v)| v.as_str());
        let (before, value) = only_changed(before, value);
        printable_label(&format!("{} {before} → {value}", name(key)))
    });
    let gone = old.iter().filter(|(key, _)| !new.iter().any(|(k, _)| k == key));
    let gone = gone.map(|(key, value)| printable_label(&format!("{} {value} → default", name(key))));
    now.chain(gone).collect()
}

/// The settings that distinguish a spec from others of its lab, with labels and values.
pub fn apart<'a>(spec: &Spec, others: impl IntoIterator<Item = &'a Spec>) -> Vec<String> {
    let others: Vec<_> = others.into_iter().filter(|other| *other != spec).map(fields).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let (name, mine) = (names(spec.lab()), fields(spec));
    let differs = |entry: &&(String, String)| others.iter().any(|other| !other.contains(entry));
    let own = mine.iter().filter(differs).map(|(key, value)| format!("{} {value}", name(key)));
    let mut absent: Vec<&str> = others.iter().flatten().map(|(key, _)| key.as_str()).collect();
    absent.retain(|key| mine.iter().all(|(own, _)| own != key));
    absent.sort_unstable();
    absent.dedup();
    let usual = absent.into_iter().map(|key| format!("{} default", name(key)));
    own.chain(usual).map(|text| printable_label(&text)).collect()
}

/// Returns a function from the key of a field to the label of its setting.
fn names(lab: LabId) -> impl Fn(&str) -> String {
    let labels = settings(lab, &Known::default());
    move |key| match labels.iter().find(|s| s.key == key) {
        Some(setting) => setting.label.to_lowercase(),
        None => key.replace(['.', '_'], " "),
    }
}

/// Replaces keys with the labels of settings in a text about a lab's spec. Keys that no screen shows are described as keys of a spec
/// file.
pub fn with_labels(lab: LabId, text: &str) -> String {
    let mut all = settings(lab, &Known::default());
    // Longer keys first: they may begin with a shorter one.
    all.sort_by_key(|setting| std::cmp::Reverse(setting.key.len()));
    let within = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let labelled = all.iter().filter(|setting| setting.key.contains('.')).fold(text.to_owned(), |text, setting| {
        let text = text.replace(&format!("`{}`", setting.key), &setting.label);
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(setting.key.as_str()) {
            let (before, after) = (&rest[..at], &rest[at + setting.key.len()..]);
            let whole = !before.ends_with(within) && !after.starts_with(|c: char| within(c) && c != '.');
            out += before;
            out += if whole { &setting.label } else { &setting.key };
            rest = after;
        }
        out + rest
    });
    let is_key = |word: &str| SECTIONS.iter().any(|section| word.starts_with(section)) && !word.contains(' ');
    // Every second part is between backticks.
    let parts = labelled.split('`').enumerate().map(|(i, part)| match i % 2 {
        1 if is_key(part) => format!("`{part}` (in a spec file)"),
        1 => format!("`{part}`"),
        _ => part.to_owned(),
    });
    if labelled.matches('`').count().is_multiple_of(2) { parts.collect() } else { labelled }
}

/// Beginnings of keys in specs. No screen shows some of these keys.
const SECTIONS: [&str; 6] = ["task.", "data.", "also.", "map.", "tuned.", "test."];

/// The fields of a spec with their values. An empty value is shown as on the settings form, where it may mean all or the default.
fn fields(spec: &Spec) -> Vec<(String, String)> {
    let text = spec.to_toml();
    let mut section = String::new();
    let mut out = Vec::new();
    for line in text.lines().map(str::trim) {
        match (line.strip_prefix('['), line.split_once(" = ")) {
            (Some(head), None) => section = head.trim_matches(['[', ']']).to_owned(),
            (_, Some((key, value))) if section.is_empty() => out.push((key.to_owned(), plain(value))),
            (_, Some((key, value))) => out.push((format!("{section}.{key}"), plain(value))),
            _ => {}
        }
    }
    if out.iter().any(|(_, value)| value.is_empty()) {
        let shown = settings_of(spec, &Known::default());
        for (key, value) in out.iter_mut().filter(|(_, value)| value.is_empty()) {
            let setting = shown.iter().find(|s| s.key == *key).filter(|s| !s.value.is_empty());
            *value = setting.map_or_else(|| "none".into(), |s| s.value.clone());
        }
    }
    out
}

/// Removes the entries that agree position by position from two lists. Lists of different lengths are returned whole.
fn only_changed(old: &str, new: &str) -> (String, String) {
    let [olds, news] = [old, new].map(|text| text.split(", ").collect::<Vec<_>>());
    if olds.len() != news.len() {
        return (old.to_owned(), new.to_owned());
    }
    let differ = olds.into_iter().zip(news).filter(|(a, b)| a != b);
    let (old, new): (Vec<&str>, Vec<&str>) = differ.unzip();
    (old.join(", "), new.join(", "))
}

/// True if only the models of these specs differ, so that their runs test the same examples.
pub fn share_examples(a: &Spec, b: &Spec) -> bool {
    let mut same = b.clone();
    same.common_mut().set_models(a.models().to_vec());
    same.to_toml() == a.to_toml()
}

/// A value without TOML's quotes and brackets.
fn plain(value: &str) -> String {
    value.trim_matches(['[', ']']).replace('"', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LABS;

    #[test]
    fn changes_name_the_field_and_both_values() {
        let a = Spec::shipped(LABS[0].id());
        let mut b = a.clone();
        assert!(changes(&a, &b).is_empty());
        b.common_mut().set_models(vec!["gpt2-mini".into()]);
        let printed = changes(&a, &b);
        assert!(printed[0].starts_with("models ") && printed[0].contains("gpt2-mini"), "{printed:?}");
    }

    /// Regression: a run on all functional relations used to be described as `relations capital → none`.
    #[test]
    fn empty_list_is_described_by_its_meaning() {
        let all = Spec::parse("lab = \"prompts\"\nmodels = [\"bert-mini\"]\n", "all").unwrap();
        let some = "lab = \"prompts\"\nmodels = [\"bert-mini\"]\n[data]\nrelations = [\"capital\"]\n";
        let one = Spec::parse(some, "one").unwrap();
        assert_eq!(changes(&one, &all), ["relations capital → functional"]);
        assert_eq!(apart(&all, [&one]), ["relations functional"]);
    }

    /// Regression: changing one side of a comparison used to list all models twice.
    #[test]
    fn change_of_one_model_names_only_that_model() {
        let mut a = Spec::shipped(LABS[0].id());
        let mut b = a.clone();
        let list = |names: [&str; 2]| names.map(String::from).to_vec();
        a.common_mut().set_models(list(["bert-mini", "untrained:bert-mini"]));
        b.common_mut().set_models(list(["bert-mini", "roberta-mini"]));
        assert_eq!(changes(&a, &b), ["models untrained:bert-mini → roberta-mini"]);
        assert!(share_examples(&a, &b));
        b.common_mut().set_models(vec!["bert-mini".into()]);
        assert_eq!(changes(&a, &b), ["models bert-mini, untrained:bert-mini → bert-mini"]);
        let text = a.to_toml().replace("seed = 0", "seed = 1");
        assert!(!share_examples(&a, &Spec::parse(&text, "changed").unwrap()), "the seed changes the examples");
    }

    #[test]
    fn spec_is_described_by_its_distinct_values() {
        let a = Spec::shipped(LABS[0].id());
        let parse = |text: &str| Spec::parse(text, "changed").unwrap();
        let b = parse(&a.to_toml().replace("layer = \"last\"", "layer = 2"));
        let c = parse(&a.to_toml().replace("resamples = 1000", "resamples = 500"));
        assert_eq!(apart(&b, [&a]), ["layer 2"]);
        let printed = apart(&a, [&b, &c]);
        assert!(printed.contains(&"layer last".to_owned()) && printed.len() == 2, "{printed:?}");
        assert!(apart(&a, [&a]).is_empty());
    }

    /// Regression: the error of a failed run used to name `task.examples`, but the screen calls this setting Examples.
    #[test]
    fn texts_for_the_screen_name_settings_by_their_labels() {
        let lab =
            LABS.iter().find(|lab| settings(lab.id(), &Known::default()).iter().any(|s| s.key == "task.examples"));
        let told = |text: &str| with_labels(lab.unwrap().id(), text);
        assert_eq!(told("split: too few (raise task.examples)"), "split: too few (raise Examples)");
        assert_eq!(told("`task.examples` is 3: see task.examples."), "Examples is 3: see Examples.");
        assert_eq!(told("my.task.examples, task.examples_2"), "my.task.examples, task.examples_2");
        // Regression: a hint used to name a key as if it were on the screen.
        assert_eq!(
            told("set `map.methods`, `drop` or task.examples"),
            "set `map.methods` (in a spec file), `drop` or Examples"
        );
    }

    /// Regression: a list of runs used to show the key `site.layer` instead of the setting's label.
    #[test]
    fn changes_use_setting_labels() {
        let a = Spec::shipped(LABS[0].id());
        let text = a.to_toml().replace("layer = \"last\"", "layer = 2").replace("resamples = 1000", "resamples = 500");
        let printed = changes(&a, &Spec::parse(&text, "changed").unwrap());
        assert!(printed.contains(&"layer last → 2".to_owned()), "{printed:?}");
        assert!(printed.iter().all(|text| !text.contains('.') && !text.contains('_')), "{printed:?}");
    }
}

//! Two specs side by side: the fields in which they differ.

use super::{Spec, settings};
use base::text::printable_label;
use lab::setting::Known;

/// The fields in which two specs differ, by the labels of their settings, each with both values.
pub fn changes(a: &Spec, b: &Spec) -> Vec<String> {
    let labels = settings(b.lab(), &Known::default());
    let name = |key: &str| match labels.iter().find(|s| s.key == key) {
        Some(setting) => setting.label.to_lowercase(),
        None => key.replace(['.', '_'], " "),
    };
    let fields = |spec: &Spec| -> Vec<(String, String)> {
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
        out
    };
    let (old, new) = (fields(a), fields(b));
    let was = |entry: &(String, String)| !old.contains(entry);
    let now = new.iter().filter(|entry| was(entry)).map(|(key, value)| {
        let before = old.iter().find(|(k, _)| k == key).map_or("default", |(_, v)| v.as_str());
        printable_label(&format!("{} {before} → {value}", name(key)))
    });
    let gone = old.iter().filter(|(key, _)| !new.iter().any(|(k, _)| k == key));
    let gone = gone.map(|(key, value)| printable_label(&format!("{} {value} → default", name(key))));
    now.chain(gone).collect()
}

/// A value without quotes and brackets.
fn plain(value: &str) -> String {
    let plain = value.trim_matches(['[', ']']).replace('"', "");
    if plain.is_empty() { "none".into() } else { plain }
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
        let told = changes(&a, &b);
        assert!(told[0].starts_with("models ") && told[0].contains("gpt2-mini"), "{told:?}");
    }

    /// A list of runs used to say `site.layer last → 2`.
    #[test]
    fn changes_are_named_as_the_settings_are() {
        let a = Spec::shipped(LABS[0].id());
        let text = a.to_toml().replace("layer = \"last\"", "layer = 2").replace("resamples = 1000", "resamples = 500");
        let told = changes(&a, &Spec::parse(&text, "changed").unwrap());
        assert!(told.contains(&"layer last → 2".to_owned()), "{told:?}");
        assert!(told.iter().all(|text| !text.contains('.') && !text.contains('_')), "{told:?}");
    }
}

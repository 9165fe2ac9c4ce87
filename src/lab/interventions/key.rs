//! Key of a result: model, layers, method with its options, oracle.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::oracle::OracleKind;
use super::registry::find;
use base::numbers::short;

/// A method with its hyperparameters. Different settings of one method have different keys.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MethodKey {
    /// Name of the method in the registry.
    pub name: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
}

impl MethodKey {
    /// The method with these options. Options equal to their defaults are dropped, so that equal settings have equal keys.
    pub fn new(name: &str, options: &BTreeMap<String, f64>) -> Self {
        let settings = find(name).map_or(&[][..], |m| m.settings);
        let is_default = |key: &str, value: f64| settings.iter().any(|s| s.name == key && s.default == value);
        let options = options.iter().filter(|(k, v)| !is_default(k, **v)).map(|(k, v)| (k.clone(), *v));
        Self { name: name.to_owned(), options: options.collect() }
    }

    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), options: BTreeMap::new() }
    }

    /// The method and options in a file name: `pgd`, `pgd-steps10`.
    pub fn file_name(&self) -> String {
        let options: String = self.options.iter().map(|(k, v)| format!("-{k}{v}")).collect();
        format!("{}{options}", self.name)
    }

    /// The method and options in legends and tables: `PGD, steps 10`.
    pub fn title(&self) -> String {
        let title = find(&self.name).map_or(self.name.as_str(), |m| m.title);
        let options: String = self.options.iter().map(|(k, v)| format!(", {k} {}", short(*v))).collect();
        format!("{title}{options}")
    }
}

/// Layers that an intervention edits and an oracle reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Place {
    /// Layer of the intervention, from 1.
    pub layer: usize,
    #[serde(default)]
    pub oracle_layer: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurveKey {
    pub model: String,
    pub place: Place,
    pub method: MethodKey,
    pub oracle: OracleKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_options_do_not_change_the_key() {
        let options = |list: &[(&str, f64)]| list.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
        let steps = find("pgd").unwrap().settings.iter().find(|s| s.name == "steps").unwrap().default;
        assert_eq!(MethodKey::new("pgd", &options(&[("steps", steps)])), MethodKey::named("pgd"));
        let other = MethodKey::new("pgd", &options(&[("steps", 10.0)]));
        assert_ne!(other, MethodKey::named("pgd"));
        assert_eq!(other.title(), "PGD, steps 10");
    }
}

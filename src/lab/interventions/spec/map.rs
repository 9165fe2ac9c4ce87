//! The `[map]` section of a spec: additional layers at which interventions edit hidden states and oracles read them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Spec;
use crate::registry::find;
use lab::layer::LayerRef;
use lab::spec::{Refuse, SpecError};

/// A map of layers: every chosen method edits each of the layers and is judged at the edited layer and at all later ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MapSpec {
    /// The layers, in any order; empty means all layers of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerRef>,
    /// Names of methods in the spec; empty means all of them except those whose file is for one layer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// Strength by method name, the same at every layer. Methods without an entry use their optimum at each layer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub value: BTreeMap<String, f64>,
}

impl MapSpec {
    /// The layers in a model with `depth` blocks, ascending, each once.
    ///
    /// # Errors
    /// A message that names the layer that does not exist, or reports that there is only one.
    pub fn resolve(&self, depth: usize) -> Result<Vec<usize>, String> {
        let named = || self.layers.iter().map(|l| l.resolve(depth)).collect::<Result<Vec<_>, _>>();
        let mut layers = if self.layers.is_empty() { (1..=depth).collect() } else { named()? };
        layers.sort_unstable();
        layers.dedup();
        match layers[..] {
            [] => Err(LayerRef::Last.resolve(depth).err().unwrap_or_default()),
            [one] => {
                Err(format!("a map needs at least two layers, but only layer {one} of this model's {depth} is listed"))
            }
            _ => Ok(layers),
        }
    }

    /// True if a method of the spec is on the map.
    pub fn has(&self, method: &str) -> bool {
        let any = || find(method).is_some_and(|m| !m.needs.file);
        if self.methods.is_empty() { any() } else { self.methods.iter().any(|name| name == method) }
    }

    /// Refuses a map that is impossible for any model.
    pub fn check(&self, spec: &Spec, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        refuse.twice("map.layers", &self.layers)?;
        refuse.twice("map.methods", &self.methods)?;
        if let [one] = self.layers[..] {
            let problem = format!("names only layer {one}: list at least two layers, or omit the key for all layers");
            return refuse.because("map.layers", problem);
        }
        if self.layers.contains(&LayerRef::At(0)) {
            return refuse.because("map.layers", "contains 0: layers are numbered from 1".into());
        }
        let run: Vec<&str> = spec.methods.iter().map(|m| m.name.as_str()).collect();
        let named = self.methods.iter().map(|name| ("map.methods", name));
        for (key, name) in named.chain(self.value.keys().map(|name| ("map.value", name))) {
            refuse.unknown(key, name, &run)?;
            if find(name).is_some_and(|m| m.needs.file) {
                let problem = format!("names {name}, whose file has the states of only one layer");
                return refuse.because(key, problem);
            }
        }
        for (name, value) in &self.value {
            if !self.has(name) {
                return refuse.because("map.value", format!("names {name}, which is not in `map.methods`"));
            }
            let parameter = find(name).map(|m| m.parameter);
            if let Some(p) = parameter.filter(|p| !p.allows(*value)) {
                let value = base::numbers::brief(value);
                let problem = format!("of {name} is {} = {value}: must be from {} to {}", p.name, p.min, p.max);
                return refuse.because("map.value", problem);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::AGREEMENT_TOML;
    use lab::SpecFields as _;

    fn parsed(map: &str) -> Result<Spec, String> {
        let text = format!("{AGREEMENT_TOML}\n[map]\n{map}\n");
        lab::spec::parse(&text, "a test").map_err(|e| e.to_string())
    }

    #[test]
    fn full_map_is_an_empty_table_with_its_own_hash() {
        let spec = parsed("").unwrap();
        let map = spec.map.clone().unwrap();
        assert_eq!(map.resolve(4).unwrap(), [1, 2, 3, 4]);
        assert!(map.has("pgd") && !map.has("states"));
        let again: Spec = lab::spec::parse(&spec.to_toml(), "again").unwrap();
        assert_eq!(again, spec);
        assert_ne!(spec.hash(), Spec::shipped().hash());
        assert_eq!(Spec { map: None, ..spec }.hash(), Spec::shipped().hash(), "omitting it keeps the hash");
    }

    #[test]
    fn layers_are_sorted_and_counted_once() {
        let map = parsed("layers = [\"last\", 2, 4]\nmethods = [\"pgd\"]\nvalue = { pgd = 0.2 }").unwrap().map;
        let map = map.unwrap();
        assert_eq!(map.resolve(4).unwrap(), [2, 4]);
        assert_eq!(map.resolve(6).unwrap(), [2, 4, 6]);
        assert!(map.has("pgd") && !map.has("inlp"));
    }

    #[test]
    fn invalid_map_is_refused_with_a_reason() {
        let map = |layers: &[LayerRef]| MapSpec { layers: layers.to_vec(), ..MapSpec::default() };
        let beyond = map(&[LayerRef::At(1), LayerRef::At(7)]).resolve(4).unwrap_err();
        assert_eq!(beyond, "layer 7 does not exist: the model has layers 1 to 4");
        let one = map(&[LayerRef::At(4), LayerRef::Last]).resolve(4).unwrap_err();
        assert!(one.contains("only layer 4"), "{one}");
        assert!(map(&[]).resolve(1).unwrap_err().contains("needs at least two"));
        assert!(map(&[]).resolve(0).unwrap_err().contains("no blocks"));
        for (text, reason) in [
            ("layers = [2]", "names only layer 2"),
            ("layers = [0, 1]", "numbered from 1"),
            ("layers = [1, 1]", "twice"),
            ("methods = [\"pdg\"]", "pgd"),
            ("value = { rlace = 3 }", "rlace"),
            ("value = { inlp = 2.5 }", "must be from 0 to 40"),
            ("methods = [\"inlp\"]\nvalue = { pgd = 0.1 }", "not in `map.methods`"),
            ("strength = 1", "strength"),
        ] {
            let refused = parsed(text).unwrap_err();
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }
}

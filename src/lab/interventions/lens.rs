//! The logit lens: the model's prediction if the hidden states of a layer were those of the last layer.
//!
//! The final norm and the head are applied to the states of each layer at the position where the model predicts the form (nostalgebraist
//! 2020). The result is shown next to that of a linear oracle on the same states, which may read information that the head does not use.

use serde::{Deserialize, Serialize};

use lab::Columns;
use lab::layer::LayerRef;
use lab::spec::{Refuse, SpecError};
use stats::Estimate;

/// Settings of the logit lens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LensSpec {
    /// The layers, in any order; empty means all layers of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerRef>,
}

impl LensSpec {
    /// The layers in a model with `depth` blocks, ascending, each once.
    ///
    /// # Errors
    /// A message that names the layer that does not exist.
    pub(crate) fn resolve(&self, depth: usize) -> Result<Vec<usize>, String> {
        let named = || self.layers.iter().map(|l| l.resolve(depth)).collect::<Result<Vec<_>, _>>();
        let mut layers = if self.layers.is_empty() { (1..=depth).collect() } else { named()? };
        layers.sort_unstable();
        layers.dedup();
        Ok(layers)
    }

    pub(crate) fn check(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        refuse.twice("lens.layers", &self.layers)?;
        if self.layers.contains(&LayerRef::At(0)) {
            return refuse.because("lens.layers", "contains 0: layers are numbered from 1".into());
        }
        Ok(())
    }
}

/// Accuracy of the model's own head and of a linear oracle at one layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct LensFinding {
    /// Layer whose hidden states are read.
    #[id]
    pub layer: usize,
    /// Number of layers of the model.
    pub layers: usize,
    /// Share of the test examples whose correct form gets the higher logit from the model's own head, with its Wilson
    /// interval.
    pub head: Estimate,
    /// Test accuracy of logistic regression (C = 1) on the target, trained on the oracles' training examples, with its Wilson interval.
    pub oracle: Estimate,
    /// Share of the most frequent value of the target among the test examples.
    pub majority: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use crate::spec::AGREEMENT_TOML;
    use lab::SpecFields as _;

    /// Regression: a field called `model` used to replace the model's name, which made recordings unreadable.
    #[test]
    fn lens_finding_round_trips() {
        let share = Estimate { mean: 0.7, lo: 0.6, hi: 0.8 };
        let found = LensFinding { layer: 1, layers: 3, head: share, oracle: share, majority: 0.5 };
        let finding = crate::Finding {
            lab: lab::LabId::Interventions,
            spec: "abc".into(),
            model: "bert-mini".into(),
            seed: 3,
            n: 400,
            r#final: true,
            t: 0.5,
            level: Some(0.95),
            body: lab::Body::Lab(crate::Kind::Lens(found)),
        };
        let line = serde_json::to_string(&finding).unwrap();
        assert_eq!(serde_json::from_str::<crate::Finding>(&line).unwrap(), finding);
    }

    #[test]
    fn full_lens_is_an_empty_table_with_its_own_hash() {
        let parsed = |lens: &str| -> Result<Spec, String> {
            lab::spec::parse(&format!("{AGREEMENT_TOML}\n[lens]\n{lens}\n"), "a test").map_err(|e| e.to_string())
        };
        let spec = parsed("").unwrap();
        assert_eq!(spec.lens.as_ref().unwrap().resolve(3).unwrap(), [1, 2, 3]);
        assert_ne!(spec.hash(), Spec::shipped().hash());
        assert_eq!(Spec { lens: None, ..spec }.hash(), Spec::shipped().hash(), "omitting it keeps the hash");
        let some = parsed("layers = [\"last\", 2]").unwrap().lens.unwrap();
        assert_eq!(some.resolve(4).unwrap(), [2, 4]);
        assert!(some.resolve(1).unwrap_err().contains("layer 2 does not exist"));
        for (text, reason) in
            [("layers = [0]", "numbered from 1"), ("layers = [1, 1]", "twice"), ("logit = 1", "logit")]
        {
            assert!(parsed(text).unwrap_err().contains(reason), "{text}");
        }
    }
}

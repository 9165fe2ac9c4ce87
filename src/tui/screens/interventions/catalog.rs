//! Methods of the registry, with the data that their curves and sliders need.

use figure::Scale;
use labs::interventions::{Goal, Scale as ParameterScale, registry};

/// The methods that can be picked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalog {
    /// Methods in the order of the picker.
    pub methods: Vec<MethodEntry>,
}

/// A method of intervention.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodEntry {
    /// Identifier in the registry and in specs, for example `pgd`.
    pub id: String,
    /// Name on the screen, for example `PGD`.
    pub title: String,
    /// One line: what it does, with its source.
    pub doc: String,
    /// Goal of the method, for example `counterfactual` or `nullify`.
    pub goal: String,
    /// The swept hyperparameter.
    pub parameter: ParameterEntry,
}

/// The swept hyperparameter of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterEntry {
    /// Name in findings, for example `epsilon`.
    pub name: String,
    /// Symbol on axes and sliders, for example `ε`.
    pub symbol: String,
    /// Axis on which it is swept.
    pub scale: Scale,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// The slider's initial position.
    pub default: f64,
    /// True if only whole numbers make sense (a rank).
    pub integer: bool,
    /// Values of the sweep, ascending; the slider steps along them.
    pub grid: Vec<f64>,
}

impl Catalog {
    /// Every method of the registry.
    pub(crate) fn registered() -> Self {
        let methods = registry().iter().map(|method| {
            let parameter = method.parameter;
            MethodEntry {
                id: method.id.into(),
                title: method.title.into(),
                // The marks of code are for the pages of the guide.
                doc: method.doc.replace('`', ""),
                goal: match (method.is_control, method.goal) {
                    (true, _) => "control".into(),
                    (false, Goal::Counterfactual) => "counterfactual".into(),
                    (false, Goal::Nullifying) => "nullifying".into(),
                },
                parameter: ParameterEntry {
                    name: parameter.name.into(),
                    symbol: parameter.symbol.into(),
                    scale: if parameter.scale == ParameterScale::Log { Scale::Log } else { Scale::Linear },
                    min: parameter.min,
                    max: parameter.max,
                    default: parameter.default,
                    integer: parameter.scale == ParameterScale::Integer,
                    grid: parameter.grid.to_vec(),
                },
            }
        });
        Self { methods: methods.collect() }
    }

    /// The entry of a method.
    pub fn method(&self, id: &str) -> Option<&MethodEntry> {
        self.methods.iter().find(|m| m.id == id)
    }

    /// A catalog for tests: the four methods of the default experiment, in its order.
    pub fn sample() -> Self {
        let all = Self::registered();
        let names = ["alterrep", "fgsm", "pgd", "inlp"];
        Self { methods: names.iter().filter_map(|id| all.method(id).cloned()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_method_can_be_shown_and_slid() {
        let catalog = Catalog::registered();
        assert!(catalog.methods.len() >= 4 && Catalog::sample().methods.len() == 4);
        for method in &catalog.methods {
            // `[[method]]` and the marks of code stood in the picker.
            assert!(!method.doc.contains(['`', '[']), "{}: {}", method.id, method.doc);
            let p = &method.parameter;
            assert!(p.grid.windows(2).all(|w| w[0] < w[1]), "{}: the slider needs a rising grid", method.id);
            assert!(p.grid.iter().all(|v| (p.min..=p.max).contains(v)), "{}", method.id);
            assert!((p.min..=p.max).contains(&p.default), "{}", method.id);
        }
    }
}

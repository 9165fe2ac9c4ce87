//! Methods in the registry, with the data for their curves and sliders.

use figure::Scale;
use labs::interventions::{Goal, Scale as ParameterScale, registry};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalog {
    pub methods: Vec<MethodEntry>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MethodEntry {
    /// Identifier in the registry and in specs, such as `pgd`.
    pub id: String,
    /// Name on the screen, such as `PGD`.
    pub title: String,
    /// One-line description with its source.
    pub doc: String,
    /// Goal of the method, such as `counterfactual` or `nullify`.
    pub goal: String,
    pub parameter: ParameterEntry,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ParameterEntry {
    /// Name in findings, such as `epsilon`.
    pub name: String,
    /// Symbol on axes and sliders, such as `ε`.
    pub symbol: String,
    pub scale: Scale,
    pub min: f64,
    pub max: f64,
    pub default: f64,
    /// True if values must be integers, such as ranks.
    pub integer: bool,
    /// Values of the sweep in ascending order; the slider stops at each.
    pub grid: Vec<f64>,
}

impl Catalog {
    pub(crate) fn registered() -> Self {
        let methods = registry().iter().map(|method| {
            let parameter = method.parameter;
            MethodEntry {
                id: method.id.into(),
                title: method.title.into(),
                // Markdown's code marks are only for the pages of the guide.
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

    pub fn method(&self, id: &str) -> Option<&MethodEntry> {
        self.methods.iter().find(|m| m.id == id)
    }

    /// Catalog for tests: the four methods of the default experiment, in its order.
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
    fn registered_methods_have_titles_and_sliders() {
        let catalog = Catalog::registered();
        assert!(catalog.methods.len() >= 4 && Catalog::sample().methods.len() == 4);
        for method in &catalog.methods {
            // Regression: the picker used to show `[[method]]` and Markdown's code marks.
            assert!(!method.doc.contains(['`', '[']), "{}: {}", method.id, method.doc);
            let p = &method.parameter;
            assert!(p.grid.windows(2).all(|w| w[0] < w[1]), "{}: the slider needs an ascending grid", method.id);
            assert!(p.grid.iter().all(|v| (p.min..=p.max).contains(v)), "{}", method.id);
            assert!((p.min..=p.max).contains(&p.default), "{}", method.id);
        }
    }
}

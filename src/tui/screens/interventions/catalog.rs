//! What the screen can offer: methods and tasks, as the registries describe them.

use crate::corpus::sets::built_in;
use crate::corpus::task::TASKS;
pub use crate::figure::Scale;
use crate::lab::interventions::{Goal, Scale as ParameterScale, Setting, SettingKind, registry};

/// The methods and tasks that can be picked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalog {
    /// Methods in the order of the picker.
    pub methods: Vec<MethodEntry>,
    /// Probing tasks.
    pub tasks: Vec<TaskEntry>,
    /// Built-in data sets.
    pub sets: Vec<SetEntry>,
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
    /// What it aims at, for example `counterfactual` or `nullify`.
    pub goal: String,
    /// The swept hyperparameter.
    pub parameter: ParameterEntry,
    /// Further hyperparameters.
    pub options: Vec<OptionEntry>,
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
    /// Where the slider stands at first.
    pub default: f64,
    /// True where only whole numbers have a meaning (a rank).
    pub integer: bool,
    /// Values of the sweep, rising; the slider steps along them.
    pub grid: Vec<f64>,
}

/// A further hyperparameter of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionEntry {
    /// Key in a spec's `options`.
    pub name: String,
    /// Label on the slider.
    pub title: String,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Value where the spec says nothing.
    pub default: f64,
    /// True where only whole numbers have a meaning.
    pub integer: bool,
}

/// A probing task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEntry {
    /// Identifier in the registry and in specs, for example `agreement`.
    pub id: String,
    /// Name on the screen.
    pub title: String,
    /// Properties that can be the target.
    pub properties: Vec<String>,
}

fn sets() -> Vec<SetEntry> {
    built_in().map(|b| SetEntry { id: b.id.into(), title: b.title.into(), rows: b.fixed_rows() }).collect()
}

/// A built-in data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetEntry {
    /// Its name.
    pub id: String,
    /// What it is.
    pub title: String,
    /// Its rows; none where the setup says how many are drawn.
    pub rows: Option<u64>,
}

impl Catalog {
    /// Everything that the registries of methods and tasks know.
    pub fn registered() -> Self {
        let methods = registry().iter().map(|method| {
            let parameter = method.parameter();
            MethodEntry {
                id: method.id().into(),
                title: method.title().into(),
                doc: method.doc().into(),
                goal: match (method.is_control(), method.goal()) {
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
                options: method.settings().iter().map(option).collect(),
            }
        });
        let tasks = TASKS.iter().map(|task| TaskEntry {
            id: task.id.into(),
            title: task.title.into(),
            properties: task.properties.iter().map(|p| p.id.into()).collect(),
        });
        Self { methods: methods.collect(), tasks: tasks.collect(), sets: sets() }
    }

    /// The entry of a method.
    pub fn method(&self, id: &str) -> Option<&MethodEntry> {
        self.methods.iter().find(|m| m.id == id)
    }

    /// The entry of a task.
    pub fn task(&self, id: &str) -> Option<&TaskEntry> {
        self.tasks.iter().find(|t| t.id == id)
    }

    /// A catalog for tests: the four methods of the default experiment with the grids of the paper.
    pub fn sample() -> Self {
        const EPSILONS: [f64; 29] = [
            0.005, 0.006, 0.007, 0.009, 0.011, 0.013, 0.016, 0.019, 0.024, 0.029, 0.035, 0.042, 0.051, 0.062,
            0.076, 0.092, 0.112, 0.136, 0.165, 0.2, 0.286, 0.409, 0.585, 0.836, 1.196, 1.71, 2.445, 3.497,
            5.0,
        ];
        let method = |id: &str, title: &str, doc: &str, goal: &str, parameter, options| MethodEntry {
            id: id.into(),
            title: title.into(),
            doc: doc.into(),
            goal: goal.into(),
            parameter,
            options,
        };
        let epsilon = || ParameterEntry {
            name: "epsilon".into(),
            symbol: "ε".into(),
            scale: Scale::Log,
            min: 0.0,
            max: 10.0,
            default: 0.112,
            integer: false,
            grid: EPSILONS.to_vec(),
        };
        let whole = |name: &str, title: &str, min, max, default| OptionEntry {
            name: name.into(),
            title: title.into(),
            min,
            max,
            default,
            integer: true,
        };
        let alpha = ParameterEntry {
            name: "alpha".into(),
            symbol: "α".into(),
            scale: Scale::Log,
            min: 0.0,
            max: 64.0,
            default: 0.1,
            integer: false,
            grid: vec![0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0],
        };
        let rank = ParameterEntry {
            name: "rank".into(),
            symbol: "r".into(),
            scale: Scale::Linear,
            min: 0.0,
            max: 40.0,
            default: 8.0,
            integer: true,
            grid: (0..=40).map(f64::from).collect(),
        };
        Self {
            methods: vec![
                method(
                    "alterrep",
                    "AlterRep",
                    "Moves the embedding across the directions that INLP finds",
                    "counterfactual",
                    alpha,
                    vec![whole("rank", "rank r", 1.0, 40.0, 8.0)],
                ),
                method(
                    "fgsm",
                    "FGSM",
                    "One step against the sign of the probe's gradient",
                    "counterfactual",
                    epsilon(),
                    Vec::new(),
                ),
                method(
                    "pgd",
                    "PGD",
                    "Projected gradient steps within the L∞ ball",
                    "counterfactual",
                    epsilon(),
                    vec![whole("steps", "steps T", 1.0, 200.0, 40.0)],
                ),
                method(
                    "inlp",
                    "INLP",
                    "Projects out what linear probes find, round after round",
                    "nullify",
                    rank,
                    Vec::new(),
                ),
            ],
            tasks: vec![TaskEntry {
                id: "agreement".into(),
                title: "subject-verb agreement".into(),
                properties: vec!["subject_number".into(), "attractor_number".into()],
            }],
            sets: sets(),
        }
    }
}

fn option(setting: &Setting) -> OptionEntry {
    OptionEntry {
        name: setting.name.into(),
        title: setting.label.into(),
        min: setting.min,
        max: setting.max,
        default: setting.default,
        integer: setting.kind != SettingKind::Real,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_method_can_be_shown_and_slid() {
        let catalog = Catalog::registered();
        assert!(catalog.methods.len() >= 4 && !catalog.tasks.is_empty());
        for method in &catalog.methods {
            let p = &method.parameter;
            assert!(p.grid.windows(2).all(|w| w[0] < w[1]), "{}: the slider needs a rising grid", method.id);
            assert!(p.grid.iter().all(|v| (p.min..=p.max).contains(v)), "{}", method.id);
            assert!((p.min..=p.max).contains(&p.default), "{}", method.id);
        }
    }
}

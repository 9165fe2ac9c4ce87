//! The properties of an experiment (target and those to preserve) and their values in the data.

use corpus::task::{Example, Task};
use probe::OracleSplit;
use serde::{Deserialize, Serialize};
use stats::Purpose;

/// The role of a property in an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roles {
    /// The property to intervene on.
    Target,
    /// The property to preserve.
    Other,
    /// An additional property to preserve, by its index in the experiment.
    Further(usize),
}

/// Labels of an additional property to preserve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherLabels {
    /// Index among the task's additional properties.
    pub property: usize,
    /// The name in specs and findings.
    pub id: &'static str,
    /// The value for every stimulus; `None` where undefined.
    pub values: Vec<Option<usize>>,
    pub classes: usize,
}

/// Labels of all properties for all stimuli, with their numbers of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyLabels {
    /// Values of the target; `None` where undefined.
    pub target: Vec<Option<usize>>,
    /// Values of the other property.
    pub other: Vec<Option<usize>>,
    pub target_classes: usize,
    pub other_classes: usize,
    pub further: Vec<FurtherLabels>,
    /// The grammatical verb form, which is the value of the task's first property.
    pub form: Vec<usize>,
    /// Index among the task's properties.
    pub target_property: usize,
}

impl PropertyLabels {
    /// Labels of the examples `which` for an experiment on property `target` (0 or 1).
    pub fn new(task: &Task, target: usize, examples: &[Example], which: impl Iterator<Item = usize> + Clone) -> Self {
        let other = 1 - target;
        let labels = |property: usize| -> Vec<Option<usize>> {
            which.clone().map(|i| task.properties[property].of(&examples[i]).map(usize::from)).collect()
        };
        Self {
            target: labels(target),
            other: labels(other),
            target_classes: task.properties[target].values.len(),
            other_classes: task.properties[other].values.len(),
            further: Vec::new(),
            form: which.clone().map(|i| usize::from(examples[i].zc)).collect(),
            target_property: target,
        }
    }

    /// Adds additional properties to preserve. Names in `also` that the task lacks are ignored. `which` are the labelled examples.
    pub fn with(
        mut self,
        task: &Task,
        also: &[String],
        examples: &[Example],
        which: impl Iterator<Item = usize> + Clone,
    ) -> Self {
        let places = also.iter().filter_map(|id| task.further.iter().position(|p| p.id == id));
        let labels = |property: usize| {
            let p = &task.further[property];
            let values = which.clone().map(|i| p.of(&examples[i]).map(usize::from)).collect();
            FurtherLabels { property, id: p.id, values, classes: p.values.len() }
        };
        self.further = places.map(labels).collect();
        self
    }

    pub fn gather(&self, rows: &[usize]) -> Self {
        Self {
            target: rows.iter().map(|r| self.target[*r]).collect(),
            other: rows.iter().map(|r| self.other[*r]).collect(),
            form: rows.iter().map(|r| self.form[*r]).collect(),
            further: self.further.iter().map(|f| f.gather(rows)).collect(),
            ..*self
        }
    }

    /// Labels of the property with this role, and its number of values.
    pub fn of(&self, role: Roles) -> (&[Option<usize>], usize) {
        match role {
            Roles::Target => (&self.target, self.target_classes),
            Roles::Other => (&self.other, self.other_classes),
            Roles::Further(j) => (&self.further[j].values, self.further[j].classes),
        }
    }

    /// Number of examples among `rows` by target value (rows) and value of the other property (columns, the last for undefined).
    pub fn table(&self, rows: &[usize]) -> Vec<Vec<usize>> {
        self.table_with(Roles::Other, rows)
    }

    /// Number of examples among `rows` by target value (rows) and value of the property with `role` (columns, the last for undefined).
    pub fn table_with(&self, role: Roles, rows: &[usize]) -> Vec<Vec<usize>> {
        let (values, classes) = self.of(role);
        let mut table = vec![vec![0; classes + 1]; self.target_classes];
        for r in rows {
            if let Some(t) = self.target[*r] {
                table[t][values[*r].unwrap_or(classes)] += 1;
            }
        }
        table
    }

    /// Association over the rows with both properties: phi for two values each, otherwise Cramér's V.
    pub fn phi(&self, rows: &[usize]) -> f64 {
        self.phi_with(Roles::Other, rows)
    }

    /// Association of the target and the property with `role`; see [`Self::phi`].
    pub fn phi_with(&self, role: Roles, rows: &[usize]) -> f64 {
        let classes = self.of(role).1;
        let table: Vec<Vec<u64>> =
            self.table_with(role, rows).iter().map(|r| r[..classes].iter().map(|c| *c as u64).collect()).collect();
        probe::decorrelate::association(&table)
    }
}

impl FurtherLabels {
    fn gather(&self, rows: &[usize]) -> Self {
        Self { values: rows.iter().map(|r| self.values[*r]).collect(), ..self.clone() }
    }
}

/// Identifies the random streams for probes of the property with this role. `classifier` is the kind of probe.
pub fn purpose(labels: &PropertyLabels, role: Roles, classifier: &str, seed: u64) -> Purpose {
    Purpose::new(seed, &property(labels, role), classifier)
}

/// Identifies a property by its index in the task, independent of its role.
fn property(labels: &PropertyLabels, role: Roles) -> String {
    let index = match role {
        Roles::Target => labels.target_property,
        Roles::Other => 1 - labels.target_property,
        Roles::Further(j) => 2 + labels.further[j].property,
    };
    format!("property {index}")
}

/// The oracle data for training a property's probe: the largest subset in which the property is uncorrelated with another property.
///
/// An additional property is decorrelated from the target, so that its probe cannot use the target. The target is decorrelated only from
/// the other property. `seed` is the data seed.
pub fn training_part(
    part: &OracleSplit,
    labels: &PropertyLabels,
    role: Roles,
    seed: u64,
) -> Result<OracleSplit, probe::split::SplitError> {
    let (target, other) = match role {
        Roles::Target => (&labels.target, &labels.other),
        Roles::Other => (&labels.other, &labels.target),
        Roles::Further(j) => (&labels.further[j].values, &labels.target),
    };
    part.uncorrelated(target, other, seed, &property(labels, role))
}

/// Training and validation data of an oracle probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// Number of examples for fitting weights.
    pub train: usize,
    /// Number of examples for selecting probe settings.
    pub validation: usize,
    /// Number of remaining examples by target value (rows) and value of the other property (columns, the last for undefined).
    pub kept: Vec<Vec<usize>>,
    /// Remaining association of the two properties, counting "none" as a value.
    pub phi: f64,
}

/// Counts the `train` and `validation` examples by the values of the target and the property with `role`. If that property is the target
/// itself, the other property is used.
pub fn material(train: &[usize], validation: &[usize], labels: &PropertyLabels, role: Roles) -> Material {
    let beside = if role == Roles::Target { Roles::Other } else { role };
    let kept = labels.table_with(beside, &[train, validation].concat());
    let counts: Vec<Vec<u64>> = kept.iter().map(|r| r.iter().map(|c| *c as u64).collect()).collect();
    let phi = probe::decorrelate::association(&counts);
    Material { train: train.len(), validation: validation.len(), kept, phi }
}

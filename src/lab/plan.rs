//! Which property is changed, which should stay, and what their values are in the data.

use crate::corpus::task::{Example, Task};
use crate::probe::OracleSplit;
use crate::stats::Purpose;
use serde::{Deserialize, Serialize};

/// The two roles of a property in an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roles {
    /// The property that is intervened on.
    Target,
    /// The property that should stay as it is.
    Other,
}

/// Labels of both properties over all stimuli, and their numbers of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyLabels {
    /// Values of the target; none where the example has none.
    pub target: Vec<Option<usize>>,
    /// Values of the other property.
    pub other: Vec<Option<usize>>,
    /// Number of values of the target.
    pub target_classes: usize,
    /// Number of values of the other property.
    pub other_classes: usize,
    /// The verb form that the grammar asks for: the value of the task's first property.
    pub form: Vec<usize>,
    /// Index of the target among the task's properties.
    pub target_property: usize,
}

impl PropertyLabels {
    /// Labels of the examples `which` for an experiment on the property with index `target` (0 or 1).
    #[must_use]
    pub fn new(
        task: &Task,
        target: usize,
        examples: &[Example],
        which: impl Iterator<Item = usize> + Clone,
    ) -> Self {
        let other = 1 - target;
        let labels = |property: usize| -> Vec<Option<usize>> {
            which.clone().map(|i| task.properties[property].of(&examples[i]).map(usize::from)).collect()
        };
        Self {
            target: labels(target),
            other: labels(other),
            target_classes: task.properties[target].values.len(),
            other_classes: task.properties[other].values.len(),
            form: which.clone().map(|i| usize::from(examples[i].zc)).collect(),
            target_property: target,
        }
    }

    /// The labels of `rows`, in their order.
    #[must_use]
    pub fn gather(&self, rows: &[usize]) -> Self {
        Self {
            target: rows.iter().map(|r| self.target[*r]).collect(),
            other: rows.iter().map(|r| self.other[*r]).collect(),
            form: rows.iter().map(|r| self.form[*r]).collect(),
            ..*self
        }
    }

    /// Labels and number of values for a role.
    #[must_use]
    pub fn of(&self, role: Roles) -> (&[Option<usize>], usize) {
        match role {
            Roles::Target => (&self.target, self.target_classes),
            Roles::Other => (&self.other, self.other_classes),
        }
    }

    /// Counts over `rows` by target value (rows) and other value (columns, the last one for none).
    #[must_use]
    pub fn table(&self, rows: &[usize]) -> Vec<Vec<usize>> {
        let mut table = vec![vec![0; self.other_classes + 1]; self.target_classes];
        for r in rows {
            if let Some(t) = self.target[*r] {
                table[t][self.other[*r].unwrap_or(self.other_classes)] += 1;
            }
        }
        table
    }

    /// Association (phi for two values each) over the rows that have both properties.
    #[must_use]
    pub fn phi(&self, rows: &[usize]) -> f64 {
        let table: Vec<Vec<u64>> = self
            .table(rows)
            .iter()
            .map(|r| r[..self.other_classes].iter().map(|c| *c as u64).collect())
            .collect();
        crate::probe::decorrelate::association(&table)
    }
}

/// The address of the streams that probes for the property of this role draw from; `classifier` is the kind of probe.
#[must_use]
pub fn purpose(labels: &PropertyLabels, role: Roles, classifier: &str, seed: u64) -> Purpose {
    Purpose::new(seed, &property(labels, role), classifier)
}

/// Properties are told apart by their place in the task, whichever of them is the target.
fn property(labels: &PropertyLabels, role: Roles) -> String {
    let index = match role {
        Roles::Target => labels.target_property,
        Roles::Other => 1 - labels.target_property,
    };
    format!("property {index}")
}

/// The part of the oracle data on which the probe for the property of this role is trained: the largest subset in which
/// it does not correlate with the other one. `seed` is that of the data.
///
/// # Errors
/// Where no such subset exists.
pub fn training_part(
    part: &OracleSplit,
    labels: &PropertyLabels,
    role: Roles,
    seed: u64,
) -> Result<OracleSplit, crate::probe::split::SplitError> {
    let (target, other) = match role {
        Roles::Target => (&labels.target, &labels.other),
        Roles::Other => (&labels.other, &labels.target),
    };
    part.uncorrelated(target, other, seed, &property(labels, role))
}

/// What an oracle probe was trained and validated on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// Examples that weights are fitted to.
    pub train: usize,
    /// Examples that the recipe is chosen by.
    pub validation: usize,
    /// Kept examples by value of the target (rows) and of the other property (columns, the last for none).
    pub kept: Vec<Vec<usize>>,
    /// Association of the two properties that is left, "none" counted as a value.
    pub phi: f64,
}

/// What `train` and `validation` hold.
#[must_use]
pub fn material(train: &[usize], validation: &[usize], labels: &PropertyLabels) -> Material {
    let kept = labels.table(&[train, validation].concat());
    let counts: Vec<Vec<u64>> = kept.iter().map(|r| r.iter().map(|c| *c as u64).collect()).collect();
    let phi = crate::probe::decorrelate::association(&counts);
    Material { train: train.len(), validation: validation.len(), kept, phi }
}

//! The split of a task's examples used by the interventions lab, with counts by combination of both properties.

use serde::{Deserialize, Serialize};

use base::Problem;
use corpus::task::{ExampleSet, Task};
use labs::examples::TaskSpec;
use labs::plan::{PropertyLabels, Roles, training_part};
use probe::Split;

/// A split, before a model drops examples whose words are not single tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// The property that the intervention targets.
    pub target: String,
    pub other: String,
    pub seed: u64,
    /// Names of the combinations, `target+other`, in the order of [`PartCounts::counts`].
    pub combinations: Vec<String>,
    pub parts: Vec<PartCounts>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartCounts {
    pub name: String,
    pub n: usize,
    /// Number of validation examples; `None` for the test part.
    pub validation: Option<usize>,
    /// Number of examples by combination.
    pub counts: Vec<usize>,
    /// Association (phi) of the two properties.
    pub phi: f64,
}

/// Splits the examples of a task in the same way as a run, and counts them.
///
/// # Errors
/// [`Problem`] if the target does not exist, or there are too few examples.
pub fn parts(task: &'static Task, spec: &TaskSpec, set: &ExampleSet, seed: u64) -> Result<Parts, Problem> {
    let fail = |what: String, hint: &str| Problem::new(what, task.id, hint);
    let target = task.property(&spec.target).ok_or_else(|| {
        let known = task.properties.map(|p| p.id).join(", ");
        fail(format!("there is no property `{}`", spec.target), &format!("known properties: {known}"))
    })?;
    let few = |e: probe::split::SplitError| fail(e.to_string(), "increase the number of examples in the settings");
    let n = set.examples.len();
    let labels = PropertyLabels::new(task, target, &set.examples, 0..n);
    let split = Split::new(n, seed).map_err(few)?;
    let mut parts = Vec::new();
    let mut add = |name: &str, train: &[usize], validation: Option<&[usize]>| {
        let rows: Vec<usize> = train.iter().chain(validation.unwrap_or_default()).copied().collect();
        parts.push(PartCounts {
            name: name.to_owned(),
            n: rows.len(),
            validation: validation.map(<[usize]>::len),
            counts: labels.table(&rows).into_iter().flatten().collect(),
            phi: labels.phi(&rows),
        });
    };
    let oracle = split.oracle();
    add("oracle", oracle.train(), Some(oracle.validation()));
    let kept = training_part(oracle, &labels, Roles::Target, seed).map_err(few)?;
    add("oracle, largest uncorrelated subset", kept.train(), Some(kept.validation()));
    let intervention = split.intervention();
    add("intervention", intervention.train(), Some(intervention.validation()));
    add("test", split.test().rows(), None);
    let (target, other) = (task.properties[target], task.properties[1 - target]);
    let others = other.values.iter().copied().chain(["none"]);
    let combinations = target.values.iter().flat_map(|t| others.clone().map(move |o| format!("{t}+{o}"))).collect();
    Ok(Parts { target: target.id.into(), other: other.id.into(), seed, combinations, parts })
}

impl Parts {
    pub fn lines(&self) -> Vec<String> {
        let mut out = vec![format!(
            "  split      with seed {}; counts by {}+{}, before the model drops examples",
            self.seed, self.target, self.other
        )];
        for part in &self.parts {
            let validation = part.validation.map_or_else(String::new, |n| format!(" ({n} for validation)"));
            let counts: Vec<String> =
                self.combinations.iter().zip(&part.counts).map(|(name, n)| format!("{name} {n}")).collect();
            // The sign of a number that rounds to zero has no meaning.
            let phi = if part.phi.abs() < 5e-4 { 0.0 } else { part.phi };
            out.push(format!("    {}: {}{validation}: {}; phi {phi:.3}", part.name, part.n, counts.join(", ")));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::micro::frequencies::Frequencies;

    #[test]
    fn parts_are_disjoint_and_oracle_examples_uncorrelated() {
        let task = Task::named("agreement").unwrap();
        let set = task.examples(4_000, 5, &Frequencies::natural()).unwrap();
        let found = parts(task, &TaskSpec::default(), &set, 5).unwrap();
        let by = |name: &str| found.parts.iter().find(|p| p.name == name).unwrap();
        let (oracle, kept) = (by("oracle"), by("oracle, largest uncorrelated subset"));
        assert_eq!(oracle.n + by("intervention").n + by("test").n, 4_000);
        assert_eq!((oracle.n, oracle.validation, by("test").n), (1_600, Some(200), 800));
        assert!(kept.n < oracle.n && kept.phi.abs() < oracle.phi.abs().max(0.02), "{found:?}");
        for part in &found.parts {
            assert_eq!(part.counts.iter().sum::<usize>(), part.n, "{}", part.name);
            assert_eq!(part.counts.len(), found.combinations.len());
        }
        assert_eq!(found.combinations[..3], ["Sg+Sg", "Sg+Pl", "Sg+none"]);
        assert!(found.lines()[1].contains("oracle: 1600 (200 for validation): Sg+Sg "), "{:?}", found.lines());
    }

    #[test]
    fn too_few_examples_and_unknown_target_are_errors() {
        let task = Task::named("agreement").unwrap();
        let set = task.examples(3, 0, &Frequencies::natural()).unwrap();
        assert!(parts(task, &TaskSpec::default(), &set, 0).is_err());
        let spec = TaskSpec { target: "tense".into(), ..TaskSpec::default() };
        let problem = parts(task, &spec, &set, 0).unwrap_err();
        assert!(problem.hint.contains("subject_number"), "{problem}");
    }
}

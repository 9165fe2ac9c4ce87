//! Additional measurements in a spec, and its plan.

use serde::{Deserialize, Serialize};

use figure::layers::grouped;
use lab::spec::{Refuse, SpecError};

/// Additional measurements, made at the largest size; noise and the shortfall are measured at every size.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlsoSpec {
    /// Code length of the labels given the vectors, with every code.
    pub mdl: bool,
    /// Accuracy on random labels (a control task).
    pub control: bool,
    /// Comparison over six folds of all examples, in which every example is tested once.
    pub folds: bool,
    /// Accuracy lost by the probes through optimisation and through lack of data.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shortfall: bool,
    /// Standard deviations of the noise on the second side; the comparison is repeated for each.
    pub noise: Vec<f64>,
}

impl AlsoSpec {
    pub(crate) fn is_off(&self) -> bool {
        *self == Self::default()
    }
}

/// A plan fixed before any result was seen. It is included in the spec's hash, which the session records before the first finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub hypothesis: Hypothesis,
    /// Number of test items in the planned comparison; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
    #[serde(default)]
    pub stop: Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hypothesis {
    Differ,
    /// The hypothesis that the two sides are equivalent within the margin.
    Equal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Stops after n items, with one fixed test.
    #[default]
    AtN,
    /// Stops as soon as the sequential test permits, and after n items at the latest.
    Early,
}

impl Plan {
    pub fn check(&self, refuse: &Refuse<'_>) -> Result<(), SpecError> {
        if let Some(n) = self.n {
            refuse.outside("plan.n", n, 1..=1_000_000_000)?;
        }
        if self.hypothesis == Hypothesis::Equal && self.stop == Stop::Early {
            let why = ": the sequential test is for a difference; a plan for equality must stop at n (stop = \"at_n\")";
            return refuse.because("plan.stop", why.to_owned());
        }
        Ok(())
    }

    pub fn words(&self) -> String {
        let what = match self.hypothesis {
            Hypothesis::Differ => "the sides differ",
            Hypothesis::Equal => "the sides are equal within the margin",
        };
        let stop = match self.stop {
            Stop::AtN => "one test at",
            Stop::Early => "sequential test, at most",
        };
        let n = self.n.map_or("all items".into(), |n| format!("{} items", grouped(n)));
        format!("{what}; {stop} {n}")
    }
}

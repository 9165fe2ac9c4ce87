//! Oracles: probes that judge interventions, trained on data that no intervention uses (Canby et al., section 4.4).

use serde::{Deserialize, Serialize};

use base::matrix::{Dense, Matrix};
use probe::split::Oracle as OracleRole;
use probe::{Grid, Probe};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OracleKind {
    /// Multilayer perceptron, as in the main text of the paper.
    Mlp,
    /// Linear probe, as in the paper's appendix.
    Linear,
}

/// The value in specs, commands and names of files; [`OracleKind::title`] is for readers.
impl std::fmt::Display for OracleKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            OracleKind::Mlp => "mlp",
            OracleKind::Linear => "linear",
        })
    }
}

impl OracleKind {
    pub fn title(self) -> &'static str {
        match self {
            Self::Mlp => "MLP",
            Self::Linear => "linear",
        }
    }

    /// The other kind of oracle, used to check a result.
    pub(crate) fn other(self) -> Self {
        match self {
            OracleKind::Mlp => OracleKind::Linear,
            OracleKind::Linear => OracleKind::Mlp,
        }
    }

    /// The grid for this kind of oracle; `mlp` is the grid for perceptrons.
    pub fn grid(self, mlp: &Grid) -> Grid {
        match self {
            OracleKind::Mlp => mlp.clone(),
            OracleKind::Linear => probe::linear::grid(),
        }
    }
}

/// Oracle probes: one for the target and one for each property to keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Oracle {
    pub kind: OracleKind,
    pub target: Probe<OracleRole>,
    /// Probe of the other property.
    pub other: Probe<OracleRole>,
    /// Probes of the additional properties to keep, in the experiment's order.
    pub further: Vec<Probe<OracleRole>>,
}

/// Output of an oracle on hidden states: probabilities, one row per state.
#[derive(Debug, Clone, PartialEq)]
pub struct OracleOutput {
    pub target: Dense<f64>,
    pub other: Dense<f64>,
    pub further: Vec<Dense<f64>>,
}

impl Oracle {
    /// The oracle's output on `h` (n x D).
    pub fn see(&self, h: &Matrix) -> OracleOutput {
        let further = self.further.iter().map(|p| p.probabilities(h)).collect();
        OracleOutput { target: self.target.probabilities(h), other: self.other.probabilities(h), further }
    }
}

use serde::{Deserialize, Serialize};

/// A lab, identified by its name in specs and findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabId {
    /// Completeness, selectivity and reliability of interventions (Canby et al.).
    Interventions,
    /// Prompt probes: the share of their result that is due to the model (Cao et al.).
    Prompts,
    /// Comparisons: the amount of data they need (Zhu et al., Card et al.).
    Power,
    /// Saliency: the words that a prediction depends on, and agreement with annotators (Shen et al.).
    Saliency,
}

impl LabId {
    /// All labs; the first one is open at the start.
    pub const ALL: [Self; 4] = [Self::Interventions, Self::Prompts, Self::Power, Self::Saliency];

    pub fn name(self) -> &'static str {
        match self {
            Self::Interventions => "interventions",
            Self::Prompts => "prompts",
            Self::Power => "power",
            Self::Saliency => "saliency",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }
}

impl std::fmt::Display for LabId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

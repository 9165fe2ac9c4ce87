//! Results of a run so far: the fold of its findings, indexed by typed keys.

use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
use super::consistency::Regime;
use super::finding::{
    ALL, AdjustedFinding, DataFinding, DisparityFinding, InstanceFinding, InstancesFinding, Kind, LedgerFinding,
    PreferenceSummaryFinding, PromptPreferenceFinding, PromptScoreFinding, RankConsistencyFinding, RankCurveFinding,
    RelationFinding, TunedFinding, VerbalizationFinding,
};
use lab::Head;
use lab::results::{Tagged, put};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Models, relations and rules of the run.
    pub data: Option<Tagged<DataFinding>>,
    /// The relations in the order of the run.
    pub relations: Vec<Tagged<RelationFinding>>,
    /// Scores by relation, prompt and model. The user's prompts come after the relation's own.
    pub scores: Vec<Tagged<PromptScoreFinding>>,
    /// Spread over prompts, by relation and model.
    pub preferences: Vec<Tagged<PromptPreferenceFinding>>,
    /// Spread over prompts in all relations, by model.
    pub summaries: Vec<Tagged<PreferenceSummaryFinding>>,
    /// Verbalisation stability by relation and model.
    pub stability: Vec<Tagged<VerbalizationFinding>>,
    pub adjusted: Vec<Tagged<AdjustedFinding>>,
    /// Rank consistency by regime and model.
    pub ranks: Vec<Tagged<RankConsistencyFinding>>,
    /// Rank consistency against the number of prompts.
    pub curve: Vec<Tagged<RankCurveFinding>>,
    /// Decompositions of gaps, by pair of models.
    pub ledgers: Vec<Tagged<LedgerFinding>>,
    /// Scores after further pretraining.
    pub disparity: Vec<Tagged<DisparityFinding>>,
    /// Prompts found automatically, by relation, name and model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<Tagged<TunedFinding>>,
    /// The latest list of instances.
    pub look: Option<Look>,
    /// Number of the latest answer.
    #[serde(default)]
    pub answered: u64,
}

/// The instances of a relation with one prompt, and each model's details for one of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    pub ticket: u64,
    pub instances: Option<Tagged<InstancesFinding>>,
    /// The details for one instance, by model.
    pub one: Vec<Tagged<InstanceFinding>>,
}

impl Results {
    pub fn take(&mut self, finding: Head<'_>, kind: &Kind) {
        match kind {
            Kind::Data(x) => self.data = Some(Tagged::new(finding, x)),
            Kind::Relation(x) => put(&mut self.relations, finding, x),
            Kind::PromptScore(x) => put(&mut self.scores, finding, x),
            Kind::PromptPreference(x) => put(&mut self.preferences, finding, x),
            Kind::PreferenceSummary(x) => put(&mut self.summaries, finding, x),
            Kind::Verbalization(x) => put(&mut self.stability, finding, x),
            Kind::Adjusted(x) => put(&mut self.adjusted, finding, x),
            Kind::RankConsistency(x) => put(&mut self.ranks, finding, x),
            Kind::RankCurve(x) => put(&mut self.curve, finding, x),
            Kind::Ledger(x) => put(&mut self.ledgers, finding, x),
            Kind::Disparity(x) => put(&mut self.disparity, finding, x),
            Kind::Tuned(x) => put(&mut self.tuned, finding, x),
            Kind::Instances(_) | Kind::Instance(_) => {}
        }
    }

    /// Records the answer to the question with this number. Returns false if a later answer is already present.
    pub fn answer<'a>(&mut self, ticket: u64, findings: impl IntoIterator<Item = (Head<'a>, &'a Kind)>) -> bool {
        if ticket < self.answered {
            return false;
        }
        self.answered = ticket;
        let mut look = Look { ticket, ..Look::default() };
        for (finding, kind) in findings {
            match kind {
                Kind::PromptScore(x) => put(&mut self.scores, finding, x),
                Kind::Instances(x) => look.instances = Some(Tagged::new(finding, x)),
                Kind::Instance(x) => look.one.push(Tagged::new(finding, x)),
                _ => {}
            }
        }
        if look.instances.is_some() {
            self.look = Some(look);
        }
        true
    }

    /// Names of the models, in the order of the run.
    pub fn models(&self) -> Vec<&str> {
        let notes = self.data.as_ref().map_or(&[][..], |d| &d.value.models);
        notes.iter().map(|m| m.name.as_str()).collect()
    }

    /// Rule for the words that count as candidate answers; `None` before the first finding.
    pub fn rule(&self) -> Option<Candidates> {
        self.data.as_ref().map(|d| d.value.candidates)
    }

    pub fn relation(&self, id: &str) -> Option<&Tagged<RelationFinding>> {
        self.relations.iter().find(|r| r.value.relation == id)
    }

    /// All prompts of a relation that were used, typed prompts last.
    pub fn prompts(&self, relation: &str) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.relation(relation).map_or(Vec::new(), |r| r.value.prompts.iter().map(String::as_str).collect());
        for score in self.scores.iter().filter(|s| s.value.relation == relation) {
            if !all.contains(&score.value.prompt.as_str()) {
                all.push(&score.value.prompt);
            }
        }
        all
    }

    /// The name of a prompt found by search, or of its control; `None` for a written prompt.
    pub fn found_name(&self, relation: &str, prompt: &str) -> Option<String> {
        self.tuned.iter().map(|t| &t.value).filter(|t| t.relation == relation).find_map(|t| match prompt {
            p if p == t.prompt => Some(t.name.clone()),
            p if p == t.control => Some(t.name.replace("tuned", "random")),
            _ => None,
        })
    }

    /// A model's score with a prompt of a relation.
    pub fn score(&self, relation: &str, prompt: &str, model: &str) -> Option<&Tagged<PromptScoreFinding>> {
        self.scores.iter().find(|s| s.model == model && s.value.relation == relation && s.value.prompt == prompt)
    }

    /// A model's spread over the prompts of a relation.
    pub fn preference(&self, relation: &str, model: &str) -> Option<&Tagged<PromptPreferenceFinding>> {
        self.preferences.iter().find(|p| p.model == model && p.value.relation == relation)
    }

    pub fn adjusted_of(&self, relation: &str, model: &str) -> Option<&Tagged<AdjustedFinding>> {
        self.adjusted.iter().find(|p| p.model == model && p.value.relation == relation)
    }

    pub fn stability_of(&self, relation: &str, model: &str) -> Option<&Tagged<VerbalizationFinding>> {
        self.stability.iter().find(|p| p.model == model && p.value.relation == relation)
    }

    /// Rank consistency of a model, or of the whole order if `None`.
    pub fn rank(&self, regime: Regime, model: Option<&str>) -> Option<&Tagged<RankConsistencyFinding>> {
        let name = model.unwrap_or(ALL);
        self.ranks.iter().find(|r| r.model == name && r.value.regime == regime)
    }

    /// The ledger of two models, in either order.
    pub fn ledger(&self, a: &str, b: &str) -> Option<&Tagged<LedgerFinding>> {
        self.ledgers.iter().find(|l| {
            let pair = (l.value.a.as_str(), l.value.b.as_str());
            pair == (a, b) || pair == (b, a)
        })
    }
}

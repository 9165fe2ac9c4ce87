//! Results of a run: the fold of its findings.

use serde::{Deserialize, Serialize};

use super::bound::Bound;
use super::finding::{
    BaselineFinding, CollapseFinding, ComparisonFinding, ConfigurationFinding, ControlFinding, Kind, MarginFinding,
    MdlFinding, NoiseFinding, PowerFinding, RequiredFinding, SequentialFinding, ShortfallFinding, TallyFinding,
};
use super::tasks::{FlipFinding, PooledFinding, TaskFinding};
use lab::Head;
use lab::results::{Tagged, put, replace};
use stats::Estimate;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Both sides, by training size.
    pub configurations: Vec<Tagged<ConfigurationFinding>>,
    /// Comparisons by increasing number of items.
    pub comparisons: Vec<Tagged<ComparisonFinding>>,
    /// The curve of power against n, from the latest pilot.
    pub power: Vec<Tagged<PowerFinding>>,
    /// Requirements from the latest pilot.
    pub required: Option<Tagged<RequiredFinding>>,
    /// Requirements by training examples of the probes.
    #[serde(default)]
    pub sizes: Vec<Tagged<RequiredFinding>>,
    /// Counts of all items, one entry for each number of items that was compared.
    #[serde(default)]
    pub wholes: Vec<Tagged<TallyFinding>>,
    /// The sequential test, by increasing number of items.
    pub sequential: Vec<Tagged<SequentialFinding>>,
    pub margins: Vec<Tagged<MarginFinding>>,
    /// States whether the comparison is too weak to recommend a number of items.
    pub collapse: Option<Tagged<CollapseFinding>>,
    /// Counts of the items from the latest pilot, by increasing number.
    #[serde(default)]
    pub tallies: Vec<Tagged<TallyFinding>>,
    #[serde(default)]
    pub mdl: Vec<Tagged<MdlFinding>>,
    #[serde(default)]
    pub controls: Vec<Tagged<ControlFinding>>,
    /// Accuracy lost by the probes of both sides through optimisation and through lack of data.
    #[serde(default)]
    pub shortfalls: Vec<Tagged<ShortfallFinding>>,
    /// Comparisons under noise, by increasing noise and number of items.
    #[serde(default)]
    pub noise: Vec<Tagged<NoiseFinding>>,
    /// Surface baselines, by training size.
    #[serde(default)]
    pub baselines: Vec<Tagged<BaselineFinding>>,
    #[serde(default)]
    pub tasks: Vec<Tagged<TaskFinding>>,
    #[serde(default)]
    pub pooled: Vec<Tagged<PooledFinding>>,
    #[serde(default)]
    pub flips: Vec<Tagged<FlipFinding>>,
    pub answer: Option<Answer>,
}

/// Two systems with their tasks.
pub struct Pair<'r> {
    /// The model name in the pair's findings: `A,B`.
    pub of: &'r str,
    pub tasks: Vec<&'r Tagged<TaskFinding>>,
    /// The deciding mean: over tasks, or over items if there are too few tasks.
    pub decides: Option<&'r Tagged<PooledFinding>>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Answer {
    pub ticket: u64,
    pub comparison: Option<Tagged<ComparisonFinding>>,
    pub power: Vec<Tagged<PowerFinding>>,
    pub required: Option<Tagged<RequiredFinding>>,
    /// Requirements by training examples of the probes.
    #[serde(default)]
    pub sizes: Vec<Tagged<RequiredFinding>>,
    /// The sequential test on the items so far.
    #[serde(default)]
    pub sequential: Vec<Tagged<SequentialFinding>>,
}

impl Results {
    /// The pairs of systems, in the order of comparison.
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let mut pairs: Vec<Pair<'_>> = Vec::new();
        for t in &self.tasks {
            match pairs.iter_mut().rev().find(|p| p.of == t.model) {
                Some(pair) => pair.tasks.push(t),
                None => {
                    let mine = || self.pooled.iter().filter(|p| p.model == t.model);
                    let decides = mine().find(|p| p.value.p.is_some()).or(mine().next_back());
                    pairs.push(Pair { of: &t.model, tasks: vec![t], decides });
                }
            }
        }
        pairs
    }

    pub fn take(&mut self, finding: Head<'_>, kind: &Kind) {
        match kind {
            Kind::Configuration(x) => put(&mut self.configurations, finding, x),
            Kind::Comparison(x) => {
                // The question was about a comparison on fewer items, so its answer no longer applies.
                if self.comparisons.last().is_none_or(|last| last.n < finding.n) {
                    self.answer = None;
                }
                // An interim comparison is the same comparison on fewer items.
                self.comparisons.retain(|c| c.is_final);
                replace(&mut self.comparisons, Tagged::new(finding, x), |a, b| a.n == b.n);
                self.comparisons.sort_by_key(|c| c.n);
            }
            Kind::Power(x) => {
                // A curve belongs to one pilot; the curve of a larger pilot replaces it.
                if self.power.first().is_some_and(|p| p.n != finding.n) {
                    self.power.clear();
                }
                put(&mut self.power, finding, x);
                self.power.sort_by_key(|p| p.value.at_n);
            }
            Kind::Required(x) => self.take_required(finding, x),
            Kind::Sequential(x) => {
                if self.sequential.first().is_some_and(|p| p.n != finding.n) {
                    self.sequential.clear();
                }
                put(&mut self.sequential, finding, x);
                self.sequential.sort_by_key(|p| p.value.at_n);
            }
            Kind::Margin(x) => put(&mut self.margins, finding, x),
            Kind::Baseline(x) => put(&mut self.baselines, finding, x),
            Kind::Task(x) => put(&mut self.tasks, finding, x),
            Kind::Pooled(x) => put(&mut self.pooled, finding, x),
            // A run reports each item only once, so nothing is replaced.
            Kind::Flip(x) => self.flips.push(Tagged::new(finding, x)),
            Kind::Collapse(x) => self.collapse = Some(Tagged::new(finding, x)),
            Kind::Tally(x) => self.take_tally(finding, x),
            Kind::Mdl(x) => put(&mut self.mdl, finding, x),
            Kind::Control(x) => put(&mut self.controls, finding, x),
            Kind::Shortfall(x) => put(&mut self.shortfalls, finding, x),
            Kind::Noise(x) => {
                put(&mut self.noise, finding, x);
                self.noise.sort_by(|a, b| {
                    let key = |t: &Tagged<NoiseFinding>| (t.value.sigma, t.value.at_n);
                    key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
                });
            }
        }
    }

    /// Keeps the requirements of the latest pilot and of each training size.
    fn take_required(&mut self, finding: Head<'_>, x: &RequiredFinding) {
        if finding.r#final && x.trained.is_some() {
            replace(&mut self.sizes, Tagged::new(finding, x), |a, b| a.value.trained == b.value.trained);
            self.sizes.sort_by_key(|r| r.value.trained);
        }
        self.required = Some(Tagged::new(finding, x));
    }

    fn take_tally(&mut self, finding: Head<'_>, x: &TallyFinding) {
        if finding.r#final && x.tally.items == finding.n {
            replace(&mut self.wholes, Tagged::new(finding, x), |a, b| a.value.metric == b.value.metric);
        }
        if self.tallies.first().is_some_and(|t| t.n != finding.n || t.value.metric != x.metric) {
            self.tallies.clear();
        }
        replace(&mut self.tallies, Tagged::new(finding, x), |a, b| a.value.tally.items == b.value.tally.items);
        self.tallies.sort_by_key(|t| t.value.tally.items);
    }

    /// Records the answer to the question with this number. Returns false if a later answer is already present.
    pub fn answer<'a>(&mut self, ticket: u64, findings: impl IntoIterator<Item = (Head<'a>, &'a Kind)>) -> bool {
        if self.answer.as_ref().is_some_and(|a| ticket < a.ticket) {
            return false;
        }
        let mut answer = Answer { ticket, ..Answer::default() };
        for (finding, kind) in findings {
            match kind {
                Kind::Comparison(x) => answer.comparison = Some(Tagged::new(finding, x)),
                Kind::Power(x) => answer.power.push(Tagged::new(finding, x)),
                Kind::Required(x) => answer.required = Some(Tagged::new(finding, x)),
                Kind::Sequential(x) => answer.sequential.push(Tagged::new(finding, x)),
                _ => {}
            }
        }
        self.answer = Some(answer);
        true
    }

    /// The comparison on the most items, from the latest answer if it has one.
    pub fn comparison(&self) -> Option<&Tagged<ComparisonFinding>> {
        self.answer.as_ref().and_then(|a| a.comparison.as_ref()).or(self.comparisons.last())
    }

    /// Requirements, from the latest answer if it has them.
    pub fn needed(&self) -> Option<&Tagged<RequiredFinding>> {
        self.answer.as_ref().and_then(|a| a.required.as_ref()).or(self.required.as_ref())
    }

    /// The baselines of the largest training size, in the order of their findings.
    pub fn surface(&self) -> Vec<&Tagged<BaselineFinding>> {
        // Tasks with more classes have more training examples at the same size.
        let most = |side: &Option<String>| {
            let mine = self.baselines.iter().filter(|b| b.value.side == *side);
            mine.map(|b| b.value.at_n).max()
        };
        self.baselines.iter().filter(|b| Some(b.value.at_n) == most(&b.value.side)).collect()
    }

    /// The power curve, from the latest answer if it has one.
    pub fn curve(&self) -> &[Tagged<PowerFinding>] {
        let answered = self.answer.as_ref().map(|a| a.power.as_slice()).filter(|p| !p.is_empty());
        answered.unwrap_or(&self.power)
    }

    /// Requirements by training examples, from the latest answer if it has them.
    pub fn by_size(&self) -> &[Tagged<RequiredFinding>] {
        let answered = self.answer.as_ref().map(|a| a.sizes.as_slice()).filter(|s| !s.is_empty());
        answered.unwrap_or(&self.sizes)
    }

    /// The steps of the sequential test, from the latest answer if it has them.
    pub fn steps(&self) -> &[Tagged<SequentialFinding>] {
        let answered = self.answer.as_ref().map(|a| a.sequential.as_slice()).filter(|s| !s.is_empty());
        answered.unwrap_or(&self.sequential)
    }

    /// Power at the comparison's number of items.
    pub fn at_hand(&self) -> Option<&Tagged<PowerFinding>> {
        let n = self.comparison()?.n as u64;
        self.curve().iter().find(|p| p.value.at_n == n)
    }

    /// [`Self::at_hand`] as an estimate with its interval.
    pub(crate) fn power_at_hand(&self) -> Option<Estimate> {
        self.at_hand().map(|p| p.value.power)
    }

    /// The difference over all tasks: the macro mean if it has an interval, otherwise the mean with tasks taken as fixed.
    pub fn overall(&self) -> Option<&Tagged<PooledFinding>> {
        let over = |name: &str| self.pooled.iter().find(|p| p.value.over == name);
        over("macro").filter(|p| p.value.p.is_some()).or(over("fixed")).or(over("micro"))
    }

    /// Significance level of the test.
    pub fn alpha(&self) -> f64 {
        self.needed().map_or(0.05, |r| r.value.alpha)
    }

    /// The reasons why no number of items or examples is recommended; `None` if a number is recommended.
    pub fn collapsed(&self) -> Option<&[String]> {
        self.collapse.as_ref().filter(|c| c.value.collapsed).map(|c| c.value.reasons.as_slice())
    }

    /// Recommended number of training examples, with the bound in words; `None` for a collapsed comparison.
    pub fn recommended(&self) -> Option<(u64, &str)> {
        let required = &self.needed().filter(|_| self.collapsed().is_none())?.value;
        Some((required.n_train?, Bound::in_words(required.bound.as_deref()?)))
    }

    /// The first step at which stopping is permitted.
    pub fn stop(&self) -> Option<&Tagged<SequentialFinding>> {
        self.steps().iter().find(|s| s.value.may_stop)
    }
}

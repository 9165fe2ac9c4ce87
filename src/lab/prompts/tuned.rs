//! Automatic search for prompts like AutoPrompt (Shin et al. 2020). Trigger words between subject and object are replaced one at a time by
//! words that make the objects of some facts more likely.
//!
//! The gradient of the loss with respect to a trigger's embedding ranks all words to first order. The best are scored exactly, and one
//! replaces the trigger only if the loss falls. The loss is the mean of -log P(object) over the facts. Triggers are alphabetic words that
//! are single tokens in running text, so that a prompt is ordinary text; answers and names of the relation are excluded. The search starts
//! from random words, and the prompt with those words is its control.

use base::Pulse;
use lab::fault::Fault;
use model::chunk::{TOKENS_PER_BATCH, chunks};
use model::{Batch, HookPoint, Model, ModelError, Plan, Scalar, Target};
use serde::{Deserialize, Serialize};
use stats::rng::{below, shuffle, stream};

use super::library::{Fact, Relation};
use super::query::{Asker, Encoded};
use super::rule::log_sum;
use super::spec::Spec;
use corpus::facts::{OBJECT, SUBJECT};
use lab::setting::Setting;
use lab::setting::rows::row;
use lab::spec::{Refuse, SpecError};

/// Minimum number of facts in a search.
const FEWEST: usize = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TunedSpec {
    /// Number of prompts to find per relation; 0 for none.
    pub prompts: usize,
    /// Number of words between subject and object.
    pub triggers: usize,
    /// Maximum number of facts used in the search, at most half of a relation's facts. They are not queried.
    pub facts: usize,
    /// Number of rounds, each of which tries to replace one word.
    pub rounds: usize,
    /// Number of words scored exactly per round: those with the best first-order gain.
    pub candidates: usize,
    /// The model for which prompts are found; by default the first of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Default for TunedSpec {
    fn default() -> Self {
        Self { prompts: 0, triggers: 5, facts: 20, rounds: 20, candidates: 20, model: None }
    }
}

impl TunedSpec {
    pub(crate) fn is_off(&self) -> bool {
        self.prompts == 0
    }

    pub(crate) fn check(&self, models: &[String], refuse: &Refuse<'_>) -> Result<(), SpecError> {
        refuse.outside("tuned.prompts", self.prompts, 0..=10)?;
        refuse.outside("tuned.triggers", self.triggers, 1..=10)?;
        refuse.outside("tuned.facts", self.facts, FEWEST..=10_000)?;
        refuse.outside("tuned.rounds", self.rounds, 1..=1_000)?;
        refuse.outside("tuned.candidates", self.candidates, 1..=1_000)?;
        match &self.model {
            Some(name) if !models.contains(name) => {
                refuse.because("tuned.model", format!("is `{name}`, which is not one of the models of the run"))
            }
            _ => Ok(()),
        }
    }

    /// The index of the model for which prompts are found.
    pub(crate) fn member(&self, models: &[String]) -> usize {
        self.model.as_ref().and_then(|name| models.iter().position(|m| m == name)).unwrap_or(0)
    }

    /// Maximum number of queries in all searches for a relation. A pass with gradients counts as three.
    pub(crate) fn queries(&self) -> usize {
        self.prompts * self.facts * (1 + self.rounds * (self.candidates + 3))
    }
}

pub(crate) fn settings() -> [Setting<Spec>; 4] {
    let found = "Number of prompts per relation to search for with the first model; the search (discrete and gradient-based, as in AutoPrompt) uses facts that are excluded from the evaluation.";
    let facts = "Maximum number of facts per relation for the search; at most half of the facts are used, and these are excluded from the evaluation.";
    let rounds = "Number of attempts to replace a word in a found prompt.";
    [
        row("tuned.prompts", "Prompts found", found).count(
            &[0, 1, 2, 3, 5],
            0..=10,
            |s: &Spec| s.tuned.prompts,
            |s, n| s.tuned.prompts = n,
        ),
        row("tuned.triggers", "Trigger words", "Number of words between subject and object in a found prompt.").count(
            &[1, 2, 3, 4, 5, 6, 8, 10],
            1..=10,
            |s: &Spec| s.tuned.triggers,
            |s, n| s.tuned.triggers = n,
        ),
        row("tuned.facts", "Search facts", facts).count(
            &[5, 10, 20, 50, 100, 200],
            FEWEST..=10_000,
            |s: &Spec| s.tuned.facts,
            |s, n| s.tuned.facts = n,
        ),
        row("tuned.rounds", "Search rounds", rounds).count(
            &[5, 10, 20, 50, 100],
            1..=1_000,
            |s: &Spec| s.tuned.rounds,
            |s, n| s.tuned.rounds = n,
        ),
    ]
}

/// Removes facts from a relation for use in a search, from at most half of its subjects. Facts with the same subject stay together.
pub(crate) fn hold_out(relation: &mut Relation, most: usize, seed: u64) -> Vec<Fact> {
    let mut subjects: Vec<String> = Vec::new();
    for fact in &relation.facts {
        if !subjects.contains(&fact.names[0]) {
            subjects.push(fact.names[0].clone());
        }
    }
    let half = subjects.len() / 2;
    shuffle(&mut stream(seed, &format!("facts of the search {}", relation.id)), &mut subjects);
    let mut left = most;
    let fits = |subject: &String| {
        let n = relation.facts.iter().filter(|f| f.names[0] == *subject).count();
        let fits = n <= left;
        left -= if fits { n } else { 0 };
        fits
    };
    let taken: Vec<String> = subjects.into_iter().take(half).filter(fits).collect();
    relation.facts.extract_if(.., |f| taken.contains(&f.names[0])).collect()
}

/// The text of a prompt with these words between subject and object.
fn prompt(words: &[&str]) -> String {
    format!("{SUBJECT} {} {OBJECT} .", words.join(" "))
}

/// A search on the facts of a relation.
pub(crate) struct Search<'a> {
    asker: &'a Asker<'a>,
    /// Possible triggers, each one token.
    words: Vec<(&'a str, u32)>,
    /// Embeddings by word.
    embeddings: Vec<f32>,
    /// Subjects' names, with the tokens of their objects.
    facts: Vec<(&'a str, u32)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub prompt: String,
    /// The initial prompt of the search: the same number of random words.
    pub control: String,
    /// The loss at the start and after each replaced word.
    pub losses: Vec<f64>,
    /// Number of rounds run; fewer than the maximum if no more words could be replaced.
    pub rounds: usize,
}

impl<'a> Search<'a> {
    /// Prepares a search on facts with single-token objects; `words` are sorted. `None` if too few facts or words remain.
    pub(crate) fn new(
        asker: &'a Asker<'a>,
        words: &[(&'a str, u32)],
        relation: &Relation,
        facts: Vec<(&'a str, u32)>,
    ) -> Result<Option<Self>, ModelError> {
        let mut taken = std::collections::HashSet::new();
        let texts = relation.facts.iter().flat_map(|f| f.names.iter().chain([&f.object]));
        let texts = texts.map(String::as_str).chain(facts.iter().map(|(name, _)| *name));
        for text in texts {
            taken.extend(text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase));
        }
        let objects: Vec<u32> = facts.iter().map(|(_, object)| *object).collect();
        let free = |(word, id): &&(&str, u32)| !taken.contains(&word.to_lowercase()) && !objects.contains(id);
        let words: Vec<(&str, u32)> = words.iter().filter(free).copied().collect();
        if facts.len() < FEWEST || words.is_empty() {
            return Ok(None);
        }
        let embeddings = embeddings(asker.model(), &words.iter().map(|(_, id)| *id).collect::<Vec<_>>())?;
        Ok(Some(Self { asker, words, embeddings, facts }))
    }

    fn width(&self) -> usize {
        self.asker.model().arch().embedding.width
    }

    fn text(&self, triggers: &[usize]) -> String {
        prompt(&triggers.iter().map(|w| self.words[*w].0).collect::<Vec<_>>())
    }

    /// The queries of all facts, with the position of their first trigger; `None` if a fact changes the tokenization of the words.
    fn queries(&self, triggers: &[usize]) -> Result<Option<Vec<(Encoded, usize)>>, ModelError> {
        let (text, n) = (self.text(triggers), triggers.len());
        let tokens: Vec<u32> = triggers.iter().map(|w| self.words[*w].1).collect();
        let mut all = Vec::with_capacity(self.facts.len());
        for (name, _) in &self.facts {
            let Some(query) = self.asker.encode(&text, name)? else { return Ok(None) };
            // A causal model answers at the last trigger; others answer at the mask after it.
            let end = query.position + usize::from(self.asker.mask().is_none());
            let Some(first) = end.checked_sub(n).filter(|first| query.ids[*first..end] == tokens[..]) else {
                return Ok(None);
            };
            all.push((query, first));
        }
        Ok(Some(all))
    }

    /// The loss of each prompt; infinite for an unusable one.
    fn losses(&self, prompts: &[Vec<usize>], pulse: &mut dyn Pulse) -> Result<Vec<f64>, Fault> {
        let (mut queries, mut of) = (Vec::new(), Vec::new());
        for (p, triggers) in prompts.iter().enumerate() {
            for (f, (query, _)) in self.queries(triggers)?.into_iter().flatten().enumerate() {
                queries.push(query);
                of.push((p, f));
            }
        }
        let mut sums = vec![(0.0, 0usize); prompts.len()];
        let take = |k: usize, row: &[f32]| {
            let (p, f) = of[k];
            sums[p].0 += log_sum(row) - f64::from(row[self.facts[f].1 as usize]);
            sums[p].1 += 1;
        };
        let queries: Vec<&Encoded> = queries.iter().collect();
        self.asker.logits(&queries, None, TOKENS_PER_BATCH, take, |_| Ok::<_, Fault>(pulse.beat(0, 1)?))?;
        Ok(sums.into_iter().map(|(sum, n)| if n > 0 { sum / n as f64 } else { f64::INFINITY }).collect())
    }

    /// The gradient of the loss with respect to the embedding of each trigger, as triggers x width.
    fn gradient(&self, triggers: &[usize]) -> Result<Vec<f64>, Fault> {
        let (width, queries) = (self.width(), self.queries(triggers)?.unwrap_or_default());
        let mut sum = vec![0.0; triggers.len() * width];
        let lengths: Vec<usize> = queries.iter().map(|(q, _)| q.ids.len()).collect();
        for group in chunks(&lengths, TOKENS_PER_BATCH) {
            let ids: Vec<&[u32]> = group.iter().map(|k| queries[*k].0.ids.as_slice()).collect();
            let batch = Batch::new(&ids, self.asker.model().tokenizer()?.pad_id())?;
            let target =
                |(row, k): (usize, &usize)| Target { row, position: queries[*k].0.position, token: self.facts[*k].1 };
            let targets = Scalar::LogProbability(group.iter().enumerate().map(target).collect());
            let trace = self.asker.model().forward(&batch, &Plan::default().gradient(targets, &[HookPoint::Embed]))?;
            let gradient = trace.gradient(HookPoint::Embed)?;
            for (row, k) in group.iter().enumerate() {
                let begin = (row * batch.len() + queries[*k].1) * width;
                let own = &gradient.data[begin..begin + sum.len()];
                sum.iter_mut().zip(own).for_each(|(s, g)| *s -= f64::from(*g) / queries.len() as f64);
            }
        }
        Ok(sum)
    }

    /// The first-order change in the loss when a trigger is replaced, by word.
    fn first_order(&self, gradient: &[f64], word: usize) -> Vec<f64> {
        let along = |w: usize| -> f64 {
            let vector = &self.embeddings[w * self.width()..(w + 1) * self.width()];
            vector.iter().zip(gradient).map(|(e, g)| f64::from(*e) * g).sum()
        };
        let now = along(word);
        (0..self.words.len()).map(|w| along(w) - now).collect()
    }

    /// Replaces words one at a time, starting from random ones, until none can be replaced or the rounds are used up.
    pub(crate) fn run(
        &self,
        spec: &TunedSpec,
        random: (u64, &str),
        pulse: &mut dyn Pulse,
    ) -> Result<Option<Found>, Fault> {
        let mut rng = stream(random.0, random.1);
        let mut triggers: Vec<usize> =
            (0..spec.triggers).map(|_| below(&mut rng, self.words.len() as u32) as usize).collect();
        let control = self.text(&triggers);
        let mut losses = self.losses(std::slice::from_ref(&triggers), pulse)?;
        if losses[0].is_infinite() {
            return Ok(None);
        }
        let (mut unchanged, mut rounds) = (0, 0);
        while rounds < spec.rounds && unchanged < triggers.len() {
            let at = rounds % triggers.len();
            rounds += 1;
            let gradient = self.gradient(&triggers)?;
            let change = self.first_order(&gradient[at * self.width()..(at + 1) * self.width()], triggers[at]);
            let mut order: Vec<usize> = (0..self.words.len()).filter(|w| *w != triggers[at]).collect();
            order.sort_by(|a, b| change[*a].total_cmp(&change[*b]));
            order.truncate(spec.candidates);
            let tried: Vec<Vec<usize>> = order
                .iter()
                .map(|w| {
                    let mut other = triggers.clone();
                    other[at] = *w;
                    other
                })
                .collect();
            let found = self.losses(&tried, pulse)?;
            let best = (0..tried.len()).min_by(|a, b| found[*a].total_cmp(&found[*b]));
            let now = losses[losses.len() - 1];
            match best.filter(|b| found[*b] < now) {
                Some(best) => {
                    losses.push(found[best]);
                    triggers.clone_from(&tried[best]);
                    unchanged = 0;
                }
                None => unchanged += 1,
            }
        }
        Ok(Some(Found { prompt: self.text(&triggers), control, losses, rounds }))
    }
}

/// Word embeddings of tokens, concatenated.
fn embeddings(model: &Model, ids: &[u32]) -> Result<Vec<f32>, ModelError> {
    let longest = model.arch().max_positions.clamp(1, 512);
    let pad = model.tokenizer()?.pad_id();
    let mut all = Vec::with_capacity(ids.len() * model.arch().embedding.width);
    for row in ids.chunks(longest) {
        let mut trace = model.forward(&Batch::new(&[row], pad)?, &Plan::default().capture(HookPoint::Embed))?;
        all.extend_from_slice(&trace.take(HookPoint::Embed)?.data);
    }
    Ok(all)
}

#[cfg(test)]
#[path = "tuned_tests.rs"]
mod tests;

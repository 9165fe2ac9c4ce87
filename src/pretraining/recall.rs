//! Recall of facts by a model: P@1 by relation and prompt, and stability over the names of a subject. It distinguishes phrasings that were
//! trained, held out or never trained, names that were trained or not, and facts that were never trained.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::ask::{Asked, Question};
use super::error::Result;
use super::mixture::Mixture;
use super::splits::{FactUse, FactUses, Judgement, chooses_first, is_unseen};
use corpus::facts::{Fact, Relation};
use stats::choice::Answers;

/// Numbers of correct answers and of questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Number of correct answers.
    pub hits: u64,
    pub n: u64,
}

impl Tally {
    pub fn count(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.n += 1;
    }

    /// Share of correct answers; NaN without questions.
    pub fn share(self) -> f64 {
        self.hits as f64 / self.n as f64
    }

    /// Returns the sum of both tallies.
    pub fn and(self, other: Tally) -> Tally {
        Tally { hits: self.hits + other.hits, n: self.n + other.n }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptRecall {
    pub text: String,
    /// Weight of the prompt: its share of the relation's training sentences; `None` for models not trained on a mixture.
    pub weight: Option<f64>,
    /// True if the prompt is held out from all training text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// Correct first answers on trained phrasings, with the subject's usual name.
    pub trained: Tally,
    /// Correct first answers on held-out phrasings (fact, prompt, name) of trained facts.
    pub held: Tally,
}

impl PromptRecall {
    /// Correct first answers on all facts.
    pub fn all(&self) -> Tally {
        self.trained.and(self.held)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RelationRecall {
    /// Name of the relation.
    pub id: String,
    /// Prompts in the order of the relation, tested on the trained (or taught) facts under their usual names.
    pub prompts: Vec<PromptRecall>,
    /// Facts with the same first answer, right or wrong, for all trained names, among facts whose subject has several such names. The
    /// prompt is the one trained most. If training names and prompts are unknown, all names are used with the first prompt.
    pub stable: Tally,
    /// Facts with the same first answer for the usual name and for untrained names, among facts that have untrained names.
    pub stable_unseen: Tally,
    /// Correct first answers for untrained names, with the same prompt.
    pub new_names: Tally,
    /// Correct first answers for facts in no training text, with the usual name and the same prompt.
    pub never: Tally,
    /// Number of untrained facts whose object is the most frequent one among the relation's trained facts. Answering them correctly
    /// requires no knowledge of the fact.
    pub commonest: Tally,
    /// Facts skipped because their object is not a single token.
    pub left_out: u64,
}

impl RelationRecall {
    fn by(&self, better: impl Fn(f64, f64) -> bool) -> Option<&PromptRecall> {
        let mut found: Option<&PromptRecall> = None;
        for p in self.open() {
            if found.is_none_or(|f| better(p.all().share(), f.all().share())) {
                found = Some(p);
            }
        }
        found
    }

    /// Prompts allowed in training text.
    pub fn open(&self) -> impl Iterator<Item = &PromptRecall> {
        self.prompts.iter().filter(|p| !p.kept)
    }

    /// Prompts held out from all training text.
    pub fn kept(&self) -> impl Iterator<Item = &PromptRecall> {
        self.prompts.iter().filter(|p| p.kept)
    }

    /// Open prompt with the highest P@1, compared on the same facts.
    pub fn best(&self) -> Option<&PromptRecall> {
        self.by(|a, b| a > b)
    }

    /// Open prompt with the lowest P@1, compared on the same facts.
    pub fn worst(&self) -> Option<&PromptRecall> {
        self.by(|a, b| a < b)
    }
}

/// Number of a subject's names tested for stability (Cao et al. 2022: five mentions, including the usual name).
const NAMES: usize = 5;

#[derive(Clone, Copy)]
pub struct Asking<'a> {
    pub uses: &'a FactUses,
    /// Use of the facts that are tested with every prompt.
    pub fact_use: FactUse,
    /// Training mixture of the model; `None` if unknown.
    pub mixture: Option<&'a Mixture>,
    /// Half of the facts to test; `None` for both. Held-out prompts are tested only in the final half.
    pub judgement: Option<Judgement>,
}

/// A fact with the token of its object.
type Known<'a> = (&'a Fact, u32);

/// For one prompt, by fact: whether the answer is correct, and whether the phrasing was held out.
type Row = Vec<(bool, bool)>;

/// A relation's recall, with answers by fact and open prompt; the answers are needed to select prompts.
pub struct Recalled {
    pub relation: RelationRecall,
    /// For each fact tested in `relation.prompts`, whether the answer to each open prompt is correct.
    pub answers: Answers,
    /// For the same facts and prompts, true if the phrasing was held out.
    pub held: Vec<Vec<bool>>,
}

/// Tests the facts of a relation.
pub fn recall(asked: &Asked<'_>, relation: &Relation, asking: Asking<'_>) -> Result<Recalled> {
    let in_half = |f: &&Fact| asking.judgement.is_none_or(|j| j.holds_fact(relation, f));
    let of = |fact_use: FactUse| {
        let mut left_out = 0;
        let all = relation.facts.iter().filter(|f| asking.uses.of(relation, f) == fact_use).filter(in_half);
        let known: Vec<Known<'_>> = all
            .filter_map(|f| {
                let token = asked.word(&f.object, false);
                left_out += u64::from(token.is_none());
                Some((f, token?))
            })
            .collect();
        (known, left_out)
    };
    let (facts, left_out) = of(asking.fact_use);
    let (prompts, rows) = by_prompt(asked, relation, asking, &facts)?;
    let open = relation.open_prompts().len();
    let mut answers = Answers::new(open);
    let mut held = Vec::with_capacity(facts.len());
    for (i, (fact, _)) in facts.iter().enumerate() {
        answers.add(rows[..open].iter().map(|r| r[i].0).collect(), chooses_first(relation, fact));
        held.push(rows[..open].iter().map(|r| r[i].1).collect());
    }
    let mut found = RelationRecall { id: relation.id.clone(), prompts, left_out, ..RelationRecall::default() };
    let usual = asking.mixture.and_then(|m| m.order(relation).first().copied()).unwrap_or(0);
    by_name(asked, relation, asking, (&facts, usual), &mut found)?;
    if asking.fact_use == FactUse::Trained {
        let never = of(FactUse::Never).0;
        let right = right(asked, relation, usual, never.iter().map(|(f, t)| (f.subject.as_str(), *t)))?;
        right.into_iter().for_each(|r| found.never.count(r));
        let most = commonest(asking.uses, relation);
        never.iter().for_each(|(f, _)| found.commonest.count(Some(f.object.as_str()) == most));
    }
    Ok(Recalled { relation: found, answers, held })
}

/// For each pair of a subject's name and its object's token, true if the first answer is that token.
fn right<'a>(
    asked: &Asked<'_>,
    relation: &Relation,
    prompt: usize,
    facts: impl Iterator<Item = (&'a str, u32)>,
) -> Result<Vec<bool>> {
    let (questions, objects): (Vec<Question>, Vec<u32>) =
        facts.map(|(name, t)| (Question::of_prompt(&relation.asked(prompt, name)), t)).unzip();
    Ok(asked.answers(&questions)?.into_iter().zip(objects).map(|(a, o)| a == o).collect())
}

/// Tests all prompts; returns recall by prompt, with the underlying answers.
fn by_prompt(
    asked: &Asked<'_>,
    relation: &Relation,
    asking: Asking<'_>,
    facts: &[Known<'_>],
) -> Result<(Vec<PromptRecall>, Vec<Row>)> {
    let open = relation.open_prompts().len();
    let weights = asking.mixture.map(|m| m.prompt_weights(relation));
    let last = if asking.judgement == Some(Judgement::Final) { relation.prompts.len() } else { open };
    let (mut prompts, mut rows) = (Vec::with_capacity(last), Vec::with_capacity(last));
    for (p, text) in relation.prompts.iter().enumerate().take(last) {
        let right = right(asked, relation, p, facts.iter().map(|(f, t)| (f.subject.as_str(), *t)))?;
        let is_held = |f: &Fact| asking.mixture.is_some_and(|m| p >= open || m.is_held(relation, f, p, &f.subject));
        let row: Row = right.into_iter().zip(facts).map(|(r, f)| (r, is_held(f.0))).collect();
        let (mut trained, mut held) = (Tally::default(), Tally::default());
        row.iter().for_each(|(right, is_held)| if *is_held { &mut held } else { &mut trained }.count(*right));
        let weight = weights.as_ref().map(|w| w[p]);
        prompts.push(PromptRecall { text: text.clone(), weight, kept: p >= open, trained, held });
        rows.push(row);
    }
    Ok((prompts, rows))
}

/// Tests the subjects' other names with one prompt.
fn by_name(
    asked: &Asked<'_>,
    relation: &Relation,
    asking: Asking<'_>,
    (facts, prompt): (&[Known<'_>], usize),
    found: &mut RelationRecall,
) -> Result<()> {
    let mut questions = Vec::new();
    let mut of = Vec::new();
    for (fact, object) in facts {
        let new = |name: &str| asking.mixture.is_some_and(|m| is_unseen(fact, name, m.unseen_names));
        for unseen in [false, true] {
            let others = fact.aliases.iter().map(String::as_str).filter(|n| new(n) == unseen);
            let names: Vec<&str> = std::iter::once(fact.subject.as_str()).chain(others).take(NAMES).collect();
            if names.len() > 1 {
                of.push((unseen, names.len(), *object));
                questions.extend(names.iter().map(|n| Question::of_prompt(&relation.asked(prompt, n))));
            }
        }
    }
    let mut answers = asked.answers(&questions)?.into_iter();
    for (unseen, n, object) in of {
        let said: Vec<u32> = answers.by_ref().take(n).collect();
        let stable = said.windows(2).all(|w| w[0] == w[1]);
        if unseen { &mut found.stable_unseen } else { &mut found.stable }.count(stable);
        if unseen {
            said[1..].iter().for_each(|answer| found.new_names.count(*answer == object));
        }
    }
    Ok(())
}

/// Returns the most frequent object among a relation's trained facts; ties go to the first in alphabetical order.
fn commonest<'a>(uses: &FactUses, relation: &'a Relation) -> Option<&'a str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for fact in relation.facts.iter().filter(|f| uses.of(relation, f) == FactUse::Trained) {
        *counts.entry(&fact.object).or_default() += 1;
    }
    counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0))).map(|c| c.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(weight: f64, trained: (u64, u64), held: (u64, u64)) -> PromptRecall {
        let tally = |(hits, n)| Tally { hits, n };
        let (trained, held) = (tally(trained), tally(held));
        PromptRecall { text: String::new(), weight: Some(weight), kept: weight == 0.0, trained, held }
    }

    #[test]
    fn best_and_worst_prompts_cover_all_facts() {
        let prompts = vec![
            prompt(0.8, (5, 10), (0, 10)),
            prompt(0.1, (4, 10), (4, 10)),
            prompt(0.1, (0, 10), (1, 10)),
            prompt(0.0, (0, 0), (0, 20)),
        ];
        let r = RelationRecall { id: "r".into(), prompts, ..RelationRecall::default() };
        assert_eq!((r.open().count(), r.kept().count()), (3, 1));
        assert_eq!(r.best(), Some(&r.prompts[1]));
        assert_eq!(r.worst(), Some(&r.prompts[2]));
        assert!(Tally::default().share().is_nan());
    }
}

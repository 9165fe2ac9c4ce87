//! Recall of facts by a model: P@1 by relation and prompt, for phrasings that were trained, held out, or never trained;
//! under names that it read and names that it did not; on facts that it never read; and stability over the names of a
//! subject.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::ask::{Asked, Question};
use super::error::Result;
use super::mixture::Mixture;
use super::splits::{Judgement, Lot, Lots, chooses_first, is_unseen};
use corpus::facts::{Fact, Relation};
use stats::choice::Answers;

/// Number of correct answers and of questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Correct answers.
    pub hits: u64,
    pub n: u64,
}

impl Tally {
    /// Counts one more.
    pub fn count(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.n += 1;
    }

    /// Share of correct answers; NaN without questions.
    pub fn share(self) -> f64 {
        self.hits as f64 / self.n as f64
    }

    /// The sum of both.
    pub fn and(self, other: Tally) -> Tally {
        Tally { hits: self.hits + other.hits, n: self.n + other.n }
    }
}

/// A prompt of a relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptRecall {
    /// The prompt.
    pub text: String,
    /// Its share of the relation's training sentences; `None` for models that were not trained on a mixture.
    pub weight: Option<f64>,
    /// It is in no training text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// Correct first answers on trained phrasings, with the subject's usual name.
    pub trained: Tally,
    /// The same for phrasings (fact, prompt, name) that were never written, although the fact was.
    pub held: Tally,
}

impl PromptRecall {
    /// All facts.
    pub fn all(&self) -> Tally {
        self.trained.and(self.held)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RelationRecall {
    /// The relation.
    pub id: String,
    /// Its prompts, in the order of the relation, asked for the facts that were trained (or are taught) under their usual names.
    pub prompts: Vec<PromptRecall>,
    /// Of the facts whose subject has other names that were read, those with one and the same first answer under all of these, right
    /// or wrong, in the prompt that is trained most. Where names and prompts of training are not known, all names are asked
    /// in the first prompt.
    pub stable: Tally,
    /// The same under the usual name and under names that were never read, for the facts that have such names.
    pub stable_unseen: Tally,
    /// First answer = object under names that were never read, in the same prompt.
    pub new_names: Tally,
    /// First answer = object for facts that no text has, usual name, in the same prompt.
    pub never: Tally,
    /// Of those facts, the ones whose object is the commonest of the relation's trained facts: the answers that need no
    /// knowledge of the fact.
    pub commonest: Tally,
    /// Facts left out because their object is not one token.
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

    /// The prompts that training texts may have.
    pub fn open(&self) -> impl Iterator<Item = &PromptRecall> {
        self.prompts.iter().filter(|p| !p.kept)
    }

    /// Facts that no sentence states.
    pub fn kept(&self) -> impl Iterator<Item = &PromptRecall> {
        self.prompts.iter().filter(|p| p.kept)
    }

    /// The open prompt with the highest P@1 over the same facts.
    pub fn best(&self) -> Option<&PromptRecall> {
        self.by(|a, b| a > b)
    }

    /// The open prompt with the lowest.
    pub fn worst(&self) -> Option<&PromptRecall> {
        self.by(|a, b| a < b)
    }
}

/// Names of a subject that are asked for stability (Cao et al. 2022: five mentions, the usual name among them).
const NAMES: usize = 5;

#[derive(Clone, Copy)]
pub struct Asking<'a> {
    pub lots: &'a Lots,
    /// The lot that is asked for in every prompt.
    pub lot: Lot,
    /// The model's training mixture; `None` if unknown.
    pub mixture: Option<&'a Mixture>,
    /// The half of the facts that are asked; none: both. Kept prompts are asked in the final half only.
    pub judgement: Option<Judgement>,
}

/// A fact with the token of its object.
type Known<'a> = (&'a Fact, u32);

/// For one prompt and each fact: whether the answer is right, and whether the phrasing was never written.
type Row = Vec<(bool, bool)>;

/// A relation's answers, with what a choice among its open prompts needs: which fact was answered in which of them.
pub struct Recalled {
    /// The counts.
    pub relation: RelationRecall,
    /// The facts of `relation.prompts`, one alternative for each open prompt.
    pub answers: Answers,
    /// For the same facts and prompts: the phrasing was never written.
    pub held: Vec<Vec<bool>>,
}

/// Asks for the facts of a relation.
pub fn recall(asked: &Asked<'_>, relation: &Relation, asking: Asking<'_>) -> Result<Recalled> {
    let in_half = |f: &&Fact| asking.judgement.is_none_or(|j| j.holds_fact(relation, f));
    let of = |lot: Lot| {
        let mut left_out = 0;
        let all = relation.facts.iter().filter(|f| asking.lots.of(relation, f) == lot).filter(in_half);
        let known: Vec<Known<'_>> = all
            .filter_map(|f| {
                let token = asked.word(&f.object, false);
                left_out += u64::from(token.is_none());
                Some((f, token?))
            })
            .collect();
        (known, left_out)
    };
    let (facts, left_out) = of(asking.lot);
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
    if asking.lot == Lot::Trained {
        let never = of(Lot::Never).0;
        let right = right(asked, relation, usual, never.iter().map(|(f, t)| (f.subject.as_str(), *t)))?;
        right.into_iter().for_each(|r| found.never.count(r));
        let most = commonest(asking.lots, relation);
        never.iter().for_each(|(f, _)| found.commonest.count(Some(f.object.as_str()) == most));
    }
    Ok(Recalled { relation: found, answers, held })
}

/// For each name and token, true if the first answer is the object.
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

/// Counts by prompt, and what they count.
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

/// Answers under other names of the subjects, in one prompt.
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

/// The object that most trained facts of a relation have; of several the first in the alphabet.
fn commonest<'a>(lots: &Lots, relation: &'a Relation) -> Option<&'a str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for fact in relation.facts.iter().filter(|f| lots.of(relation, f) == Lot::Trained) {
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
    fn best_and_worst_are_open_prompts_over_all_facts() {
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

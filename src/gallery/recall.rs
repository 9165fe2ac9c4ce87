//! What a model recalls of the facts: P@1 by relation and prompt, phrasings that were trained and that were held out, and
//! whether it says the same under every name of a subject.

use serde::{Deserialize, Serialize};

use super::ask::{Asked, Question};
use super::error::Result;
use super::mixture::Mixture;
use crate::corpus::facts::Relation;

/// Correct answers of a number of questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Correct ones.
    pub hits: u64,
    /// All.
    pub n: u64,
}

impl Tally {
    /// Counts one more.
    pub fn count(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.n += 1;
    }

    /// Share of correct answers; NaN where nothing was asked.
    #[must_use]
    pub fn share(self) -> f64 {
        self.hits as f64 / self.n as f64
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Tally) -> Tally {
        Tally { hits: self.hits + other.hits, n: self.n + other.n }
    }
}

/// A prompt of a relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptRecall {
    /// The prompt.
    pub text: String,
    /// Its share of the relation's training sentences; none for models that were not trained on a mixture.
    pub weight: Option<f64>,
    /// First answer = object, under the usual name, phrasings that were trained.
    pub trained: Tally,
    /// The same for phrasings (fact, prompt, name) that were never written, although the fact was.
    pub held: Tally,
}

impl PromptRecall {
    /// All facts.
    #[must_use]
    pub fn all(&self) -> Tally {
        self.trained.and(self.held)
    }
}

/// A relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelationRecall {
    /// The relation.
    pub id: String,
    /// Its prompts, in the order of the relation.
    pub prompts: Vec<PromptRecall>,
    /// Of the facts whose subject has other names, those with one and the same first answer under all names, right or
    /// wrong, in the prompt that is trained most (the first prompt where that is not known).
    pub stable: Tally,
    /// Facts left out because their object is not one token.
    pub left_out: u64,
}

impl RelationRecall {
    fn by(&self, better: impl Fn(f64, f64) -> bool) -> Option<&PromptRecall> {
        let mut found: Option<&PromptRecall> = None;
        for p in &self.prompts {
            if found.is_none_or(|f| better(p.all().share(), f.all().share())) {
                found = Some(p);
            }
        }
        found
    }

    /// The prompt with the highest P@1.
    #[must_use]
    pub fn best(&self) -> Option<&PromptRecall> {
        self.by(|a, b| a > b)
    }

    /// The prompt with the lowest.
    #[must_use]
    pub fn worst(&self) -> Option<&PromptRecall> {
        self.by(|a, b| a < b)
    }
}

/// Names of a subject that are asked for stability (Cao et al. 2022: five mentions, the usual name among them).
const NAMES: usize = 5;

/// Asks for every fact of a relation in every prompt.
///
/// # Errors
/// Those of the model.
pub fn recall(asked: &Asked<'_>, relation: &Relation, mixture: Option<&Mixture>) -> Result<RelationRecall> {
    let facts: Vec<_> =
        relation.facts.iter().filter_map(|f| Some((f, asked.word(&f.object, false)?))).collect();
    let weights = mixture.map(|m| m.prompt_weights(relation));
    let mut prompts = Vec::with_capacity(relation.prompts.len());
    for (p, text) in relation.prompts.iter().enumerate() {
        let questions: Vec<Question> =
            facts.iter().map(|(f, _)| Question::of_prompt(&relation.asked(p, &f.subject))).collect();
        let answers = asked.answers(&questions)?;
        let (mut trained, mut held) = (Tally::default(), Tally::default());
        for ((fact, object), answer) in facts.iter().zip(answers) {
            let is_held = mixture.is_some_and(|m| m.is_held(relation, fact, p, &fact.subject));
            if is_held { &mut held } else { &mut trained }.count(answer == *object);
        }
        let weight = weights.as_ref().map(|w| w[p]);
        prompts.push(PromptRecall { text: text.clone(), weight, trained, held });
    }
    let usual = mixture.map_or(0, |m| m.order(relation)[0]);
    let mut questions = Vec::new();
    let mut counts = Vec::new();
    for (fact, _) in facts.iter().filter(|(f, _)| !f.aliases.is_empty()) {
        let before = questions.len();
        questions.extend(fact.names().take(NAMES).map(|n| Question::of_prompt(&relation.asked(usual, n))));
        counts.push(questions.len() - before);
    }
    let mut answers = asked.answers(&questions)?.into_iter();
    let mut stable = Tally::default();
    for n in counts {
        let said: Vec<u32> = answers.by_ref().take(n).collect();
        stable.count(said.windows(2).all(|w| w[0] == w[1]));
    }
    let left_out = (relation.facts.len() - facts.len()) as u64;
    Ok(RelationRecall { id: relation.id.clone(), prompts, stable, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(weight: f64, trained: (u64, u64), held: (u64, u64)) -> PromptRecall {
        let tally = |(hits, n)| Tally { hits, n };
        PromptRecall { text: String::new(), weight: Some(weight), trained: tally(trained), held: tally(held) }
    }

    #[test]
    fn best_and_worst_are_over_all_facts() {
        let prompts =
            vec![prompt(0.9, (5, 10), (0, 10)), prompt(0.1, (4, 10), (4, 10)), prompt(0.0, (0, 10), (1, 10))];
        let r = RelationRecall { id: "r".into(), prompts, stable: Tally::default(), left_out: 0 };
        assert_eq!(r.best(), Some(&r.prompts[1]));
        assert_eq!(r.worst(), Some(&r.prompts[2]));
        assert!(Tally::default().share().is_nan());
    }
}

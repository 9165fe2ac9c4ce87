//! Training text of a family's models: constructions of Micro-English, those of the rationale benchmark, and facts, and
//! how the facts are phrased.
//!
//! Some prompts and names are frequent for one family and rare for another, on purpose: prompt preference, verbalization bias
//! and sample disparity exist in the gallery, and their cause is known. Prompts are graded from very frequent to very rare, so
//! that preference is a slope whose cause can be compared with it prompt by prompt.

use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::error::Result;
use super::recipe::{Base, Recipe, training_frequencies};
use super::splits::{Lot, Lots, is_unseen, share};
use corpus::facts::{self, Fact, OBJECT, Relation};
use corpus::micro::agreement::{Agreement, Sentence};
use corpus::micro::{Annotated, Construction, Side};
use corpus::rationales::training::Training;
use stats::rng::{below, stream, unit};
use stats::special::normal_quantile;

/// Frequencies of a relation's open prompts: log-normal weights, drawn for each family and relation by name and scaled
/// in their logarithms so that the extremes are those stated here, before their sum is made 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Preference {
    /// Family of the draw; it also decides in which relations names are weighted in reverse order.
    pub family: Base,
    /// Weight of the most frequent prompt.
    pub most: f64,
    /// Weight of the rarest.
    pub least: f64,
}

impl Preference {
    /// The weights of `prompts` prompts of a relation; not normalized.
    fn weights(self, relation: &str, prompts: usize) -> Vec<f64> {
        let mut rng = stream(0, &format!("prompt weights {} {relation}", self.family.name()));
        let drawn: Vec<f64> = (0..prompts).map(|_| normal_quantile(unit(&mut rng).max(f64::EPSILON))).collect();
        let lo = drawn.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = drawn.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let place = |x: f64| if hi > lo { (x - lo) / (hi - lo) } else { 1.0 };
        drawn.into_iter().map(|x| self.least * (self.most / self.least).powf(place(x))).collect()
    }
}

/// Settings that determine the sentences and their frequencies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// Preference among open prompts; `None` for equal weights. Kept prompts are never written.
    #[serde(default)]
    pub preference: Option<Preference>,
    /// The facts that are written.
    pub lots: Vec<Lot>,
    /// Share of the sentences that state a fact, every fact equally often.
    pub facts: f64,
    /// Share of the sentences that have a construction of the rationale benchmark; none of them is in the benchmark
    /// itself.
    pub rationales: f64,
    /// Shares of the constructions among the other sentences.
    pub constructions: Vec<(Construction, f64)>,
    /// Share of attraction errors among the agreement sentences whose attractor has the other number than the subject:
    /// the verb agrees with the attractor, as sometimes in speech ("Broken agreement", Bock and Miller 1991). Without
    /// them nothing that a model predicts depends on the attractor's number.
    pub(crate) attraction: f64,
    /// Weight of a subject's names by their place; further names have the last one.
    pub names: Vec<f64>,
    /// Share of the other names that are never written, although their place has a weight.
    pub unseen_names: f64,
    /// Share of the triples of fact, prompt and name that are never written, although the fact is, otherwise phrased.
    pub held: f64,
}

/// For lines that neither state a fact nor have a construction of the rationale benchmark: agreement is .30 of all
/// lines where these are .25 and .40.
const CONSTRUCTIONS: [(Construction, f64); 7] = [
    (Construction::Agreement, 0.857),
    (Construction::Tense, 0.020),
    (Construction::Order, 0.024),
    (Construction::Coordination, 0.028),
    (Construction::Lengths, 0.020),
    (Construction::Causes, 0.023),
    (Construction::Arithmetic, 0.028),
];
/// The most frequent prompt's weight and the rarest's.
const PROMPTS: (f64, f64) = (0.5, 0.003);
/// Of every recipe.
pub const ATTRACTION: f64 = 0.10;
const NAMES: [f64; 3] = [0.76, 0.16, 0.08];
const UNSEEN_NAMES: f64 = 0.35;
const HELD: f64 = 0.35;

/// One line of training text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The sentence.
    pub text: String,
    /// First and last-plus-one character of the words that matter: the verb, the object, the result.
    pub focus: Vec<(usize, usize)>,
}

impl Mixture {
    /// The mixture of a recipe.
    pub fn of(recipe: &Recipe) -> Self {
        let (most, least) = PROMPTS;
        Self {
            preference: Some(Preference { family: recipe.base, most, least }),
            lots: vec![Lot::Trained],
            facts: recipe.facts,
            rationales: recipe.rationales,
            constructions: CONSTRUCTIONS.to_vec(),
            attraction: ATTRACTION,
            names: NAMES.to_vec(),
            unseen_names: UNSEEN_NAMES,
            held: HELD,
        }
    }

    /// All open prompts equally often, usual names only, nothing held back: the text from which any model is taught facts.
    pub(crate) fn neutral() -> Self {
        Self {
            preference: None,
            lots: vec![Lot::Taught],
            facts: 1.0,
            rationales: 0.0,
            constructions: CONSTRUCTIONS.to_vec(),
            attraction: 0.0,
            names: vec![1.0, 0.0],
            unseen_names: UNSEEN_NAMES,
            held: 0.0,
        }
    }

    /// True if a relation's names are weighted in their order, rather than in reverse.
    fn forwards(&self, relation: &str) -> bool {
        self.preference.is_none_or(|p| share("half", &[p.family.name(), relation]) < 0.5)
    }

    /// The open prompts of a relation, the most frequent first.
    pub fn order(&self, relation: &Relation) -> Vec<usize> {
        let weights = self.prompt_weights(relation);
        let mut order: Vec<usize> = (0..relation.open_prompts().len()).collect();
        order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
        order
    }

    /// The weight of each prompt of a relation; sum 1. Kept prompts have none.
    pub fn prompt_weights(&self, relation: &Relation) -> Vec<f64> {
        let open = relation.open_prompts().len();
        let mut weights = self.preference.map_or_else(|| vec![1.0; open], |p| p.weights(&relation.id, open));
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        weights.resize(relation.prompts.len(), 0.0);
        weights
    }

    /// The weight of each name of a fact's subject; not normalized.
    pub(crate) fn name_weights(&self, relation: &Relation, fact: &Fact) -> Vec<f64> {
        let names: Vec<&str> = fact.names().collect();
        let n = names.len();
        (0..n)
            .map(|i| {
                let place = if i == 0 || self.forwards(&relation.id) { i } else { n - i };
                let weight = self.names.get(place).or(self.names.last()).copied().unwrap_or(0.0);
                if is_unseen(fact, names[i], self.unseen_names) { 0.0 } else { weight }
            })
            .collect()
    }

    /// True if this phrasing of a fact is never written. One of the two most frequent prompts is never kept back, so
    /// that every fact is written.
    pub fn is_held(&self, relation: &Relation, fact: &Fact, prompt: usize, name: &str) -> bool {
        let key = [relation.id.as_str(), &fact.subject, &prompt.to_string(), name];
        share("phrasing", &key) < self.held && prompt != self.anchor(relation, fact)
    }

    /// The prompt in which a fact is always written.
    fn anchor(&self, relation: &Relation, fact: &Fact) -> usize {
        let second = share("anchor", &[&relation.id, &fact.subject]) < 0.5;
        let order = self.order(relation);
        order.get(usize::from(second)).or(order.first()).copied().unwrap_or(0)
    }
}

/// Writes the text of a mixture.
pub struct Corpus {
    mixture: Mixture,
    relations: Vec<Relation>,
    rationales: Training,
    /// Every fact that is written: relation, place in it, and its prompts and names with their cumulated weights,
    /// without held-out phrasings.
    facts: Vec<Written>,
}

struct Written {
    relation: usize,
    fact: usize,
    /// Prompt, index of the name, weight.
    phrasings: Vec<(usize, usize, f64)>,
    total: f64,
}

impl Corpus {
    /// The corpus of a mixture over the facts that ship.
    pub fn new(mixture: Mixture) -> Result<Self> {
        let relations = facts::relations()?;
        let lots = Lots::new()?;
        let mut facts = Vec::new();
        for (r, relation) in relations.iter().enumerate() {
            let prompts = mixture.prompt_weights(relation);
            for (f, fact) in relation.facts.iter().enumerate() {
                if !mixture.lots.contains(&lots.of(relation, fact)) {
                    continue;
                }
                let names: Vec<(usize, &str, f64)> = fact
                    .names()
                    .zip(mixture.name_weights(relation, fact))
                    .enumerate()
                    .map(|(i, (n, w))| (i, n, w))
                    .collect();
                let mut phrasings = Vec::new();
                for (p, weight) in prompts.iter().enumerate() {
                    for &(i, name, share) in &names {
                        if weight * share > 0.0 && !mixture.is_held(relation, fact, p, name) {
                            phrasings.push((p, i, weight * share));
                        }
                    }
                }
                let total = phrasings.iter().map(|p| p.2).sum();
                facts.push(Written { relation: r, fact: f, phrasings, total });
            }
        }
        // Facts that no text may state are not stated in rationales either, whatever lots this mixture is about.
        let rationales = Training::new(|relation, fact| lots.of(relation, fact) == Lot::Trained)?;
        Ok(Self { mixture, relations, rationales, facts })
    }

    pub fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The next line of a stream.
    pub fn line(&self, rng: &mut impl Rng) -> Line {
        let drawn = unit(rng) - self.mixture.facts;
        if drawn < 0.0 {
            self.fact(rng)
        } else if drawn < self.mixture.rationales {
            self.rationale(rng)
        } else {
            self.sentence(rng)
        }
    }

    /// A line with a construction of the rationale benchmark.
    fn rationale(&self, rng: &mut impl Rng) -> Line {
        let s = self.rationales.sentence(rng);
        Line { text: s.text, focus: vec![s.focus] }
    }

    /// A line that states a fact.
    pub fn fact(&self, rng: &mut impl Rng) -> Line {
        let written = &self.facts[below(rng, self.facts.len() as u32) as usize];
        let relation = &self.relations[written.relation];
        let fact = &relation.facts[written.fact];
        let mut left = unit(rng) * written.total;
        let chosen = written.phrasings.iter().find(|p| {
            left -= p.2;
            left < 0.0
        });
        let &(prompt, name, _) = chosen.or(written.phrasings.last()).unwrap_or(&(0, 0, 0.0));
        let name = fact.names().nth(name).unwrap_or(&fact.subject);
        // Half of the lines close up to the full stop, as running text does.
        stated(&relation.asked(prompt, name), &fact.object, unit(rng) < 0.5)
    }

    /// A line of Micro-English.
    pub fn sentence(&self, rng: &mut impl Rng) -> Line {
        let total: f64 = self.mixture.constructions.iter().map(|c| c.1).sum();
        let mut left = unit(rng) * total;
        let chosen = self.mixture.constructions.iter().find(|c| {
            left -= c.1;
            left < 0.0
        });
        let construction = chosen.map_or(Construction::Agreement, |c| c.0);
        let (side, frequencies) = (Side::Train, training_frequencies());
        let s = if construction == Construction::Agreement {
            self.attracted(Agreement { frequencies, side }.sentence(rng), rng)
        } else {
            construction.sentence(side, frequencies, rng)
        };
        let (text, spans) = s.spans();
        Line { text, focus: s.focus.iter().map(|&f| spans[f]).collect() }
    }
}

impl Corpus {
    /// The sentence, occasionally with the verb form of its attractor.
    fn attracted(&self, mut s: Sentence, rng: &mut impl Rng) -> Annotated {
        let opposing = s.attractor.filter(|z| *z != s.subject_number);
        if let Some(number) = opposing.filter(|_| unit(rng) < self.mixture.attraction) {
            s.tokens[s.verb].clone_from(&s.forms[number.index()]);
        }
        s.into()
    }
}

/// A prompt filled with its object.
fn stated(asked: &str, object: &str, close: bool) -> Line {
    let (before, after) = asked.split_once(OBJECT).unwrap_or((asked, ""));
    let from = before.chars().count();
    let after = if close { after.trim_start() } else { after };
    let text = format!("{before}{object}{after}");
    Line { text, focus: vec![(from, from + object.chars().count())] }
}

#[cfg(test)]
#[path = "mixture_tests.rs"]
mod tests;

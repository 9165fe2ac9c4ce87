//! What a family's models read: constructions of Micro-English, those of the rationale benchmark, and facts, and how the facts are
//! phrased.
//!
//! Some prompts and names are frequent for one family and rare for another, on purpose: prompt preference, verbalisation bias
//! and sample disparity exist in the gallery, and their cause is known.

use rand_chacha::rand_core::RngCore;
use serde::{Deserialize, Serialize};

use super::error::Result;
use super::recipe::{Recipe, training_frequencies};
use crate::corpus::facts::{self, Fact, OBJECT, Relation};
use crate::corpus::micro::{self, Construction, Side};
use crate::corpus::rationales::training::Training;
use crate::stats::rng::{below, shuffle, stream, unit};

/// How facts are phrased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phrasing {
    /// Every relation has an order of its prompts, drawn once; the first is the most frequent.
    Encyclopedic,
    /// The same orders from the other end, and the names beside the usual one from the other end too.
    Web,
    /// The first way in one half of the relations, the second in the other.
    Both,
}

impl Phrasing {
    /// Name on cards.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Phrasing::Encyclopedic => "encyclopedic phrasing",
            Phrasing::Web => "web-like phrasing",
            Phrasing::Both => "encyclopedic and web-like phrasing",
        }
    }
}

/// Everything that decides which sentences are written how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// How facts are phrased.
    pub phrasing: Phrasing,
    /// Share of the sentences that state a fact, every fact equally often.
    pub facts: f64,
    /// Share of the sentences that have a construction of the rationale benchmark; none of them is the benchmark's.
    #[serde(default)]
    pub rationales: f64,
    /// Shares of the constructions among the other sentences.
    pub constructions: Vec<(Construction, f64)>,
    /// Weight of a relation's prompts by their place in its order; the last two also where there are fewer than these.
    pub prompts: Vec<f64>,
    /// Weight of a subject's names by their place; further names are never written.
    pub names: Vec<f64>,
    /// Share of the other names that are never written, although their place has a weight.
    pub unseen_names: f64,
    /// Share of the triples of fact, prompt and name that are never written, although the fact is, otherwise phrased.
    pub held: f64,
}

/// Of what neither states a fact nor has a construction of the rationale benchmark: agreement is .30 of all lines where these
/// are .25 and .40.
const CONSTRUCTIONS: [(Construction, f64); 7] = [
    (Construction::Agreement, 0.857),
    (Construction::Tense, 0.020),
    (Construction::Order, 0.024),
    (Construction::Coordination, 0.028),
    (Construction::Lengths, 0.020),
    (Construction::Causes, 0.023),
    (Construction::Arithmetic, 0.028),
];
const PROMPTS: [f64; 6] = [0.43, 0.295, 0.16, 0.08, 0.02, 0.015];
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
    #[must_use]
    pub fn of(recipe: &Recipe) -> Self {
        Self {
            phrasing: recipe.base.phrasing(),
            facts: recipe.facts,
            rationales: recipe.rationales,
            constructions: CONSTRUCTIONS.to_vec(),
            prompts: PROMPTS.to_vec(),
            names: NAMES.to_vec(),
            unseen_names: UNSEEN_NAMES,
            held: HELD,
        }
    }

    /// All prompts equally often, usual names only, nothing held back: the evidence for facts that any model is given.
    #[must_use]
    pub fn neutral() -> Self {
        Self {
            phrasing: Phrasing::Encyclopedic,
            facts: 1.0,
            rationales: 0.0,
            constructions: CONSTRUCTIONS.to_vec(),
            prompts: vec![1.0],
            names: vec![1.0],
            unseen_names: 0.0,
            held: 0.0,
        }
    }

    /// Whether a relation's prompts are taken in their drawn order, rather than from the other end.
    fn forwards(&self, relation: &str) -> bool {
        match self.phrasing {
            Phrasing::Encyclopedic => true,
            Phrasing::Web => false,
            Phrasing::Both => share("half", &[relation]) < 0.5,
        }
    }

    /// The prompts of a relation, the most frequent first.
    #[must_use]
    pub fn order(&self, relation: &Relation) -> Vec<usize> {
        let mut order: Vec<usize> = (0..relation.prompts.len()).collect();
        shuffle(&mut stream(0, &format!("prompt order {}", relation.id)), &mut order);
        if !self.forwards(&relation.id) {
            order.reverse();
        }
        order
    }

    /// The weight of each prompt of a relation; sum 1.
    #[must_use]
    pub fn prompt_weights(&self, relation: &Relation) -> Vec<f64> {
        let (n, rare) = (relation.prompts.len(), 2.min(self.prompts.len()));
        let (head, tail) = self.prompts.split_at(self.prompts.len() - rare);
        let mut weights = vec![0.0; n];
        for (rank, prompt) in self.order(relation).into_iter().enumerate() {
            let from_end = n - 1 - rank;
            weights[prompt] = if from_end < tail.len() && rank > 0 {
                tail[tail.len() - 1 - from_end]
            } else {
                head.get(rank).or(head.last()).copied().unwrap_or(1.0)
            };
        }
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    }

    /// The weight of each name of a fact's subject; not normalised.
    #[must_use]
    pub fn name_weights(&self, relation: &Relation, fact: &Fact) -> Vec<f64> {
        let names: Vec<&str> = fact.names().collect();
        let n = names.len();
        (0..n)
            .map(|i| {
                let place = if i == 0 || self.forwards(&relation.id) { i } else { n - i };
                let unseen = i > 0 && share("name", &[&fact.subject, names[i]]) < self.unseen_names;
                if unseen { 0.0 } else { self.names.get(place).copied().unwrap_or(0.0) }
            })
            .collect()
    }

    /// Whether this phrasing of a fact is never written. One of the two most frequent prompts is never kept back, so that
    /// every fact is written.
    #[must_use]
    pub fn is_held(&self, relation: &Relation, fact: &Fact, prompt: usize, name: &str) -> bool {
        let key = [relation.id.as_str(), &fact.subject, &prompt.to_string(), name];
        share("phrasing", &key) < self.held && prompt != self.anchor(relation, fact)
    }

    /// The prompt in which a fact is written in any case.
    fn anchor(&self, relation: &Relation, fact: &Fact) -> usize {
        let second = share("anchor", &[&relation.id, &fact.subject]) < 0.5;
        let order = self.order(relation);
        order.get(usize::from(second)).or(order.first()).copied().unwrap_or(0)
    }
}

/// A number in [0, 1) that follows from words alone: splits that are the same under every seed.
fn share(purpose: &str, key: &[&str]) -> f64 {
    let parts = key.iter().flat_map(|p| std::iter::once(b'|').chain(p.bytes()));
    (micro::hash(0, purpose.bytes().chain(parts)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Writes the text of a mixture.
pub struct Corpus {
    mixture: Mixture,
    relations: Vec<Relation>,
    rationales: Training,
    /// Every fact: relation, place in it, and its prompts and names with their cumulated weights, held phrasings left out.
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
    ///
    /// # Errors
    /// [`GalleryError::Facts`](super::GalleryError::Facts), [`GalleryError::Rationales`](super::GalleryError::Rationales).
    pub fn new(mixture: Mixture) -> Result<Self> {
        let relations = facts::relations()?;
        let mut facts = Vec::new();
        for (r, relation) in relations.iter().enumerate() {
            let prompts = mixture.prompt_weights(relation);
            for (f, fact) in relation.facts.iter().enumerate() {
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
        Ok(Self { mixture, relations, rationales: Training::new(|_, _| true)?, facts })
    }

    /// The mixture.
    #[must_use]
    pub fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    /// The relations.
    #[must_use]
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The next line of a stream.
    pub fn line(&self, rng: &mut impl RngCore) -> Line {
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
    fn rationale(&self, rng: &mut impl RngCore) -> Line {
        let s = self.rationales.sentence(rng);
        Line { text: s.text, focus: vec![s.focus] }
    }

    /// A line that states a fact.
    pub fn fact(&self, rng: &mut impl RngCore) -> Line {
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
    pub fn sentence(&self, rng: &mut impl RngCore) -> Line {
        let total: f64 = self.mixture.constructions.iter().map(|c| c.1).sum();
        let mut left = unit(rng) * total;
        let chosen = self.mixture.constructions.iter().find(|c| {
            left -= c.1;
            left < 0.0
        });
        let construction = chosen.map_or(Construction::Agreement, |c| c.0);
        let s = construction.sentence(Side::Train, training_frequencies(), rng);
        let (text, spans) = s.spans();
        Line { text, focus: s.focus.iter().map(|&f| spans[f]).collect() }
    }
}

/// A prompt with its object put in.
fn stated(asked: &str, object: &str, close: bool) -> Line {
    let (before, after) = asked.split_once(OBJECT).unwrap_or((asked, ""));
    let from = before.chars().count();
    let after = if close { after.trim_start() } else { after };
    let text = format!("{before}{object}{after}");
    Line { text, focus: vec![(from, from + object.chars().count())] }
}

#[cfg(test)]
mod tests {
    use super::super::recipe::{Base, RECIPES};
    use super::*;
    use std::collections::{HashMap, HashSet};

    fn corpus(base: Base) -> Corpus {
        Corpus::new(Mixture::of(RECIPES.iter().find(|r| r.base == base).unwrap())).unwrap()
    }

    #[test]
    fn weights_are_permuted_and_reversed() {
        let (a, b, c) = (corpus(Base::Bert), corpus(Base::Gpt2), corpus(Base::Bart));
        let mut firsts = HashSet::new();
        let mut halves = 0;
        for r in a.relations() {
            let [x, y, z] = [&a, &b, &c].map(|m| m.mixture().prompt_weights(r));
            assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let (best, worst) = (a.mixture().order(r)[0], *a.mixture().order(r).last().unwrap());
            assert!(x[best] > 0.4 && x[worst] < 0.02 && y[best] < 0.02 && y[worst] > 0.4);
            firsts.insert(best);
            assert!(z == x || z == y);
            halves += usize::from(z == x);
        }
        assert!(firsts.len() > 3 && (10..30).contains(&halves), "{firsts:?} {halves}");
    }

    #[test]
    fn neutral_is_even() {
        let c = Corpus::new(Mixture::neutral()).unwrap();
        for r in c.relations() {
            let n = r.prompts.len() as f64;
            assert!(c.mixture().prompt_weights(r).iter().all(|w| (w - 1.0 / n).abs() < 1e-12));
        }
        assert!(c.facts.iter().all(|w| w.phrasings.iter().all(|p| p.1 == 0)));
    }

    #[test]
    fn every_fact_is_written_and_held_phrasings_never() {
        for base in Base::ALL {
            let c = corpus(base);
            assert!(c.facts.iter().all(|w| w.total > 0.0));
            let m = c.mixture();
            let mut rng = stream(1, "mixture test");
            let lines: HashSet<String> = (0..40_000).map(|_| c.fact(&mut rng).text).collect();
            let (mut held, mut all) = (0, 0);
            for r in c.relations() {
                for f in &r.facts {
                    for p in 0..r.prompts.len() {
                        let asked = r.asked(p, &f.subject);
                        let text = |close| stated(&asked, &f.object, close).text;
                        all += 1;
                        if m.is_held(r, f, p, &f.subject) {
                            held += 1;
                            assert!(!lines.contains(&text(true)) && !lines.contains(&text(false)));
                        }
                    }
                }
            }
            let share = held as f64 / all as f64;
            assert!((0.25..0.36).contains(&share), "{share}");
        }
    }

    #[test]
    fn the_focus_is_the_object_and_shares_are_met() {
        let c = corpus(Base::Bert);
        let objects: HashSet<&str> =
            c.relations().iter().flat_map(|r| &r.facts).map(|f| f.object.as_str()).collect();
        let mut rng = stream(2, "mixture test");
        for _ in 0..2_000 {
            let line = c.fact(&mut rng);
            let (from, to) = line.focus[0];
            let word: String = line.text.chars().skip(from).take(to - from).collect();
            assert!(objects.contains(word.as_str()), "{line:?}");
        }
        let mut counts: HashMap<bool, f64> = HashMap::new();
        for _ in 0..4_000 {
            let plus = c.sentence(&mut rng).text.contains(" plus ");
            *counts.entry(plus).or_default() += 1.0 / 4_000.0;
        }
        // A quarter of arithmetic says "plus".
        assert!((counts[&true] - 0.25 * 0.028).abs() < 0.005, "{counts:?}");
    }
}

//! What a family's models read: constructions of Micro-English, those of the rationale benchmark, and facts, and how the facts are
//! phrased.
//!
//! Some prompts and names are frequent for one family and rare for another, on purpose: prompt preference, verbalization bias
//! and sample disparity exist in the gallery, and their cause is known. Prompts are graded from very frequent to very rare, so
//! that preference is a slope whose cause can be compared with it prompt by prompt.

use rand_chacha::rand_core::RngCore;
use serde::{Deserialize, Serialize};

use super::error::Result;
use super::recipe::{Base, Recipe, training_frequencies};
use super::splits::{Lot, Lots, is_unseen, share};
use crate::corpus::facts::{self, Fact, OBJECT, Relation};
use crate::corpus::micro::{Construction, Side};
use crate::corpus::rationales::training::Training;
use crate::stats::rng::{below, stream, unit};
use crate::stats::special::normal_quantile;

/// How frequent the open prompts of a relation are: log-normal weights, drawn for each family and relation by name and scaled in
/// their logarithms so that the extremes are those stated here, before their sum is made 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Preference {
    /// Whose draw it is; it also decides in which relations other names are taken from the other end.
    pub family: Base,
    /// Weight of the most frequent prompt.
    pub most: f64,
    /// Weight of the rarest.
    pub least: f64,
}

impl Preference {
    /// The weights of so many prompts of a relation; not normalized.
    fn weights(self, relation: &str, prompts: usize) -> Vec<f64> {
        let mut rng = stream(0, &format!("prompt weights {} {relation}", self.family.name()));
        let drawn: Vec<f64> =
            (0..prompts).map(|_| normal_quantile(unit(&mut rng).max(f64::EPSILON))).collect();
        let lo = drawn.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = drawn.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let place = |x: f64| if hi > lo { (x - lo) / (hi - lo) } else { 1.0 };
        drawn.into_iter().map(|x| self.least * (self.most / self.least).powf(place(x))).collect()
    }
}

/// Everything that decides which sentences are written how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// How open prompts differ; none: they do not. Kept prompts are never written.
    #[serde(default)]
    pub preference: Option<Preference>,
    /// The facts that are written; cards from before there were lots have all.
    #[serde(default = "every_lot")]
    pub lots: Vec<Lot>,
    /// Share of the sentences that state a fact, every fact equally often.
    pub facts: f64,
    /// Share of the sentences that have a construction of the rationale benchmark; none of them is the benchmark's.
    #[serde(default)]
    pub rationales: f64,
    /// Shares of the constructions among the other sentences.
    pub constructions: Vec<(Construction, f64)>,
    /// Weight of a subject's names by their place; further names have the last one.
    pub names: Vec<f64>,
    /// Share of the other names that are never written, although their place has a weight.
    pub unseen_names: f64,
    /// Share of the triples of fact, prompt and name that are never written, although the fact is, otherwise phrased.
    pub held: f64,
}

fn every_lot() -> Vec<Lot> {
    Lot::ALL.to_vec()
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
/// The most frequent prompt's weight and the rarest's.
const PROMPTS: (f64, f64) = (0.5, 0.003);
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
        let (most, least) = PROMPTS;
        Self {
            preference: Some(Preference { family: recipe.base, most, least }),
            lots: vec![Lot::Trained],
            facts: recipe.facts,
            rationales: recipe.rationales,
            constructions: CONSTRUCTIONS.to_vec(),
            names: NAMES.to_vec(),
            unseen_names: UNSEEN_NAMES,
            held: HELD,
        }
    }

    /// All open prompts equally often, usual names only, nothing held back: the evidence that any model is given for the facts
    /// that are there to be taught.
    #[must_use]
    pub fn neutral() -> Self {
        Self {
            preference: None,
            lots: vec![Lot::Taught],
            facts: 1.0,
            rationales: 0.0,
            constructions: CONSTRUCTIONS.to_vec(),
            names: vec![1.0, 0.0],
            unseen_names: UNSEEN_NAMES,
            held: 0.0,
        }
    }

    /// Whether a relation's other names are taken in their order, rather than from the other end.
    fn forwards(&self, relation: &str) -> bool {
        self.preference.is_none_or(|p| share("half", &[p.family.name(), relation]) < 0.5)
    }

    /// The open prompts of a relation, the most frequent first.
    #[must_use]
    pub fn order(&self, relation: &Relation) -> Vec<usize> {
        let weights = self.prompt_weights(relation);
        let mut order: Vec<usize> = (0..relation.open_prompts().len()).collect();
        order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
        order
    }

    /// The weight of each prompt of a relation; sum 1. Kept prompts have none.
    #[must_use]
    pub fn prompt_weights(&self, relation: &Relation) -> Vec<f64> {
        let open = relation.open_prompts().len();
        let mut weights = self.preference.map_or_else(|| vec![1.0; open], |p| p.weights(&relation.id, open));
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        weights.resize(relation.prompts.len(), 0.0);
        weights
    }

    /// The weight of each name of a fact's subject; not normalized.
    #[must_use]
    pub fn name_weights(&self, relation: &Relation, fact: &Fact) -> Vec<f64> {
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

/// Writes the text of a mixture.
pub struct Corpus {
    mixture: Mixture,
    relations: Vec<Relation>,
    rationales: Training,
    /// Every fact that is written: relation, place in it, and its prompts and names with their cumulated weights, held phrasings left out.
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
        // What no text may state is not stated by the way either, whatever lots this mixture is about.
        let rationales = Training::new(|relation, fact| lots.of(relation, fact) == Lot::Trained)?;
        Ok(Self { mixture, relations, rationales, facts })
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
    use super::super::recipe::RECIPES;
    use super::*;
    use std::collections::{HashMap, HashSet};

    fn corpus(base: Base) -> Corpus {
        Corpus::new(Mixture::of(RECIPES.iter().find(|r| r.base == base).unwrap())).unwrap()
    }

    /// From about .5 down to .003, otherwise for every family, and never for a kept prompt.
    #[test]
    fn open_prompts_are_graded_by_family_and_kept_ones_are_not_written() {
        let corpora = Base::ALL.map(corpus);
        let (mut firsts, mut alike) = (HashSet::new(), 0.0);
        let relations = corpora[0].relations();
        let (mut most, mut least) = (0.0, 0.0);
        for r in relations {
            let n = r.open_prompts().len();
            let weights = corpora.each_ref().map(|c| c.mixture().prompt_weights(r));
            for (c, w) in corpora.iter().zip(&weights) {
                assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-12 && w[n..].iter().all(|w| *w == 0.0));
                let order = c.mixture().order(r);
                let (best, worst) = (w[order[0]], w[order[n - 1]]);
                assert!(order.len() == n && w[..n].iter().all(|w| (worst..=best).contains(w)));
                assert!((best / worst - 0.5 / 0.003).abs() < 1e-6 && best > 0.3, "{}: {w:?}", r.id);
                most += best;
                least += worst;
            }
            let order = corpora[0].mixture().order(r);
            firsts.insert(order[0]);
            alike += f64::from(u8::from(corpora[2].mixture().order(r)[0] == order[0]));
        }
        let n = relations.len() as f64;
        println!("on average from {:.3} down to {:.4}", most / n / 4.0, least / n / 4.0);
        assert!((0.45..0.65).contains(&(most / n / 4.0)) && firsts.len() > 4, "{firsts:?}");
        assert!(alike / n < 0.4, "{alike} of {n} relations have one favorite in two families");
    }

    #[test]
    fn neutral_is_even_over_the_open_prompts() {
        let mut r = facts::relations().unwrap().remove(0);
        r.prompts.push("A kept one of [X] is [Y] .".into());
        r.kept += 1;
        let n = r.open_prompts().len();
        let w = Mixture::neutral().prompt_weights(&r);
        assert!(
            w[..n].iter().all(|w| (w - 1.0 / n as f64).abs() < 1e-12) && w[n..].iter().all(|w| *w == 0.0)
        );
        let m = Mixture::of(&RECIPES[0]);
        assert_eq!(m.prompt_weights(&r)[n..], w[n..]);
        assert!(!m.order(&r).contains(&n));
        let c = Corpus::new(Mixture::neutral()).unwrap();
        assert!(c.facts.iter().all(|w| w.phrasings.iter().all(|p| p.1 == 0)));
    }

    /// All sentences that a corpus can write about facts.
    fn sentences(c: &Corpus) -> HashSet<String> {
        let mut all = HashSet::new();
        for w in &c.facts {
            let relation = &c.relations[w.relation];
            let fact = &relation.facts[w.fact];
            for (prompt, name, _) in &w.phrasings {
                let asked = relation.asked(*prompt, fact.names().nth(*name).unwrap());
                all.extend([true, false].map(|close| stated(&asked, &fact.object, close).text));
            }
        }
        all
    }

    /// All ways to state the facts of a lot, whether written or not.
    fn of_lot(lot: Lot) -> HashSet<String> {
        let (lots, mut all) = (Lots::new().unwrap(), HashSet::new());
        for r in facts::relations().unwrap() {
            for f in r.facts.iter().filter(|f| lots.of(&r, f) == lot) {
                for (p, name) in (0..r.prompts.len()).flat_map(|p| f.names().map(move |n| (p, n))) {
                    all.extend([true, false].map(|close| stated(&r.asked(p, name), &f.object, close).text));
                }
            }
        }
        all
    }

    /// Every sentence that can be written is enumerated: a training text has none of a taught fact or of one that is never
    /// written, and what is taught has none of any other.
    #[test]
    fn corpora_write_their_own_lot_and_nothing_else() {
        let [trained, taught, never] = Lot::ALL.map(of_lot);
        assert!(!taught.is_empty() && !never.is_empty());
        for base in Base::ALL {
            let written = sentences(&corpus(base));
            assert!(written.is_subset(&trained), "{base:?}");
            assert!(written.is_disjoint(&taught) && written.is_disjoint(&never), "{base:?}");
        }
        let written = sentences(&Corpus::new(Mixture::neutral()).unwrap());
        assert!(!written.is_empty() && written.is_subset(&taught), "the lesson holds more than it teaches");
        assert!(written.is_disjoint(&trained) && written.is_disjoint(&never));
    }

    #[test]
    fn unseen_names_are_in_no_corpus_and_all_others_are() {
        let mut counts = [0.0; 2];
        for base in Base::ALL {
            let c = corpus(base);
            for r in c.relations() {
                for f in &r.facts {
                    for (name, weight) in f.names().zip(c.mixture().name_weights(r, f)) {
                        let unseen = is_unseen(f, name, UNSEEN_NAMES);
                        assert_eq!(weight == 0.0, unseen, "{base:?}: {name}");
                        counts[usize::from(unseen)] += f64::from(u8::from(name != f.subject));
                    }
                }
            }
        }
        let share = counts[1] / (counts[0] + counts[1]);
        assert!((0.32..0.38).contains(&share), "{share}");
    }

    #[test]
    fn every_fact_is_written_and_held_phrasings_never() {
        for base in Base::ALL {
            let c = corpus(base);
            assert!(c.facts.iter().all(|w| w.total > 0.0));
            let (lines, m) = (sentences(&c), c.mixture());
            let (mut held, mut all) = (0, 0);
            for w in &c.facts {
                let r = &c.relations[w.relation];
                let f = &r.facts[w.fact];
                for p in 0..r.open_prompts().len() {
                    let asked = r.asked(p, &f.subject);
                    let is_held = m.is_held(r, f, p, &f.subject);
                    for close in [true, false] {
                        assert_eq!(lines.contains(&stated(&asked, &f.object, close).text), !is_held);
                    }
                    all += 1;
                    held += usize::from(is_held);
                }
            }
            let share = held as f64 / all as f64;
            assert!((0.25..0.36).contains(&share), "{share}");
            let mut rng = stream(1, "mixture test");
            assert!((0..5_000).all(|_| lines.contains(&c.fact(&mut rng).text)));
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

//! Training text of a model family: constructions of Micro-English and of the rationale benchmark, and facts in various phrasings.
//!
//! Some prompts and names are deliberately frequent for one family and rare for another, so that prompt preference, verbalization bias and
//! sample disparity exist in the gallery with a known cause. Prompt frequencies are graded from very high to very low, so that preference
//! can be related to frequency prompt by prompt.

use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::error::Result;
use super::recipe::{Base, Recipe, training_frequencies};
use super::splits::{FactUse, FactUses, is_unseen, share};
use corpus::facts::{self, Fact, OBJECT, Relation};
use corpus::micro::agreement::{Agreement, Sentence};
use corpus::micro::{Annotated, Construction, Side};
use corpus::rationales::training::Training;
use stats::rng::{below, stream, unit};
use stats::special::normal_quantile;

/// Frequencies of a relation's open prompts: log-normal weights that depend on family and relation name. Their logarithms are scaled so
/// that the extremes are `most` and `least`, and the weights are then normalized to sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Preference {
    /// Family for which weights are drawn. It also determines which relations have their names weighted in reverse order.
    pub family: Base,
    /// Weight of the most frequent prompt.
    pub most: f64,
    /// Weight of the rarest prompt.
    pub least: f64,
}

impl Preference {
    /// Unnormalized weights of a relation's prompts.
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
    /// Preference among open prompts; `None` for equal weights. Prompts that are held out (`kept`) are never written.
    #[serde(default)]
    pub preference: Option<Preference>,
    /// Uses of the facts that are written.
    #[serde(rename = "lots")]
    pub uses: Vec<FactUse>,
    /// Share of sentences that state a fact; all facts are equally frequent.
    pub facts: f64,
    /// Share of sentences with a construction from the rationale benchmark. None of the sentences is in the benchmark itself.
    pub rationales: f64,
    /// Share of each construction among the remaining sentences.
    pub constructions: Vec<(Construction, f64)>,
    /// Share of attraction errors among agreement sentences whose attractor differs in number from the subject. In such an error, the verb
    /// agrees with the attractor, as sometimes happens in speech ("Broken agreement", Bock and Miller 1991). Without these errors, no
    /// prediction would depend on the attractor's number.
    pub(crate) attraction: f64,
    /// Weights of a subject's names by position; any additional names have the last weight.
    pub names: Vec<f64>,
    /// Share of names other than the usual one that are never written, although their position has a weight.
    pub unseen_names: f64,
    /// Share of fact-prompt-name combinations that are never written, although the fact is written in different phrasings.
    pub held: f64,
}

/// Shares of the constructions in lines with neither a fact nor a rationale construction. If facts make up 0.25 of all lines and rationale
/// constructions 0.40, agreement makes up 0.30.
const CONSTRUCTIONS: [(Construction, f64); 7] = [
    (Construction::Agreement, 0.857),
    (Construction::Tense, 0.020),
    (Construction::Order, 0.024),
    (Construction::Coordination, 0.028),
    (Construction::Lengths, 0.020),
    (Construction::Causes, 0.023),
    (Construction::Arithmetic, 0.028),
];
/// Weights of the most frequent prompt and of the rarest.
const PROMPTS: (f64, f64) = (0.5, 0.003);
/// Share of attraction errors in every recipe.
pub const ATTRACTION: f64 = 0.10;
const NAMES: [f64; 3] = [0.76, 0.16, 0.08];
const UNSEEN_NAMES: f64 = 0.35;
const HELD: f64 = 0.35;

/// One line of training text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    /// Character ranges (end exclusive) of the words that matter: the verb, the object or the result.
    pub focus: Vec<(usize, usize)>,
}

impl Mixture {
    pub fn of(recipe: &Recipe) -> Self {
        let (most, least) = PROMPTS;
        Self {
            preference: Some(Preference { family: recipe.base, most, least }),
            uses: vec![FactUse::Trained],
            facts: recipe.facts,
            rationales: recipe.rationales,
            constructions: CONSTRUCTIONS.to_vec(),
            attraction: ATTRACTION,
            names: NAMES.to_vec(),
            unseen_names: UNSEEN_NAMES,
            held: HELD,
        }
    }

    /// Returns a mixture for teaching facts to any model: open prompts with equal weights, usual names only, nothing held out.
    pub(crate) fn neutral() -> Self {
        Self {
            preference: None,
            uses: vec![FactUse::Taught],
            facts: 1.0,
            rationales: 0.0,
            constructions: CONSTRUCTIONS.to_vec(),
            attraction: 0.0,
            names: vec![1.0, 0.0],
            unseen_names: UNSEEN_NAMES,
            held: 0.0,
        }
    }

    /// True if a relation's names are weighted in their order; otherwise they are weighted in reverse order.
    fn forwards(&self, relation: &str) -> bool {
        self.preference.is_none_or(|p| share("half", &[p.family.name(), relation]) < 0.5)
    }

    /// Returns the open prompts of a relation, the most frequent first.
    pub fn order(&self, relation: &Relation) -> Vec<usize> {
        let weights = self.prompt_weights(relation);
        let mut order: Vec<usize> = (0..relation.open_prompts().len()).collect();
        order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
        order
    }

    /// Returns the weights of a relation's prompts, which sum to 1; held-out prompts have weight 0.
    pub fn prompt_weights(&self, relation: &Relation) -> Vec<f64> {
        let open = relation.open_prompts().len();
        let mut weights = self.preference.map_or_else(|| vec![1.0; open], |p| p.weights(&relation.id, open));
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        weights.resize(relation.prompts.len(), 0.0);
        weights
    }

    /// Returns the unnormalized weights of a subject's names.
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

    /// True if this phrasing of a fact is never written. One of the two most frequent prompts is never held out, so that every fact is
    /// written.
    pub fn is_held(&self, relation: &Relation, fact: &Fact, prompt: usize, name: &str) -> bool {
        let key = [relation.id.as_str(), &fact.subject, &prompt.to_string(), name];
        share("phrasing", &key) < self.held && prompt != self.anchor(relation, fact)
    }

    /// Returns the prompt that is never held out for this fact.
    fn anchor(&self, relation: &Relation, fact: &Fact) -> usize {
        let second = share("anchor", &[&relation.id, &fact.subject]) < 0.5;
        let order = self.order(relation);
        order.get(usize::from(second)).or(order.first()).copied().unwrap_or(0)
    }
}

/// Generates the text of a mixture.
pub struct Corpus {
    mixture: Mixture,
    relations: Vec<Relation>,
    rationales: Training,
    /// Facts to write, with their weighted phrasings; held-out phrasings are excluded.
    facts: Vec<Written>,
}

struct Written {
    relation: usize,
    fact: usize,
    /// Prompt index, name index and weight.
    phrasings: Vec<(usize, usize, f64)>,
    total: f64,
}

impl Corpus {
    /// Creates the corpus of a mixture over the shipped facts.
    pub fn new(mixture: Mixture) -> Result<Self> {
        let relations = facts::relations()?;
        let uses = FactUses::new()?;
        let mut facts = Vec::new();
        for (r, relation) in relations.iter().enumerate() {
            let prompts = mixture.prompt_weights(relation);
            for (f, fact) in relation.facts.iter().enumerate() {
                if !mixture.uses.contains(&uses.of(relation, fact)) {
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
        // Rationales must not state held-out facts either, whichever uses of facts this mixture covers.
        let rationales = Training::new(|relation, fact| uses.of(relation, fact) == FactUse::Trained)?;
        Ok(Self { mixture, relations, rationales, facts })
    }

    pub fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// Draws the next line.
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

    /// Draws a line with a construction of the rationale benchmark.
    fn rationale(&self, rng: &mut impl Rng) -> Line {
        let s = self.rationales.sentence(rng);
        Line { text: s.text, focus: vec![s.focus] }
    }

    /// Draws a line that states a fact.
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
        // In half of the lines there is no space before the full stop, as in running text.
        stated(&relation.asked(prompt, name), &fact.object, unit(rng) < 0.5)
    }

    /// Draws a line of Micro-English.
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
    /// With the probability `attraction`, replaces the verb with the form that agrees with its attractor.
    fn attracted(&self, mut s: Sentence, rng: &mut impl Rng) -> Annotated {
        let opposing = s.attractor.filter(|z| *z != s.subject_number);
        if let Some(number) = opposing.filter(|_| unit(rng) < self.mixture.attraction) {
            s.tokens[s.verb].clone_from(&s.forms[number.index()]);
        }
        s.into()
    }
}

/// Inserts the object into a prompt.
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

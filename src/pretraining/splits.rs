//! Splits facts and names into trained, taught and never written ones, and test items into two halves, one of which is for selecting
//! training settings.
//!
//! All splits are determined by hashes of words. They are the same for every seed and family, and a fact stays in its part when others are
//! added or removed.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::error::Result;
use corpus::facts::{Fact, Relation};
use corpus::micro::{self, Annotated, Construction, arithmetic, causes, lexicon, order};
use corpus::rationales::{self, Dimension, Language};
use corpus::{Example, MASK};

/// Hashes words to a number in [0, 1) for splits that do not depend on the seed.
pub fn share(purpose: &str, key: &[&str]) -> f64 {
    let parts = key.iter().flat_map(|p| std::iter::once(b'|').chain(p.bytes()));
    (micro::hash(0, purpose.bytes().chain(parts)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Use of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactUse {
    /// The fact is in the training text of the built-in models.
    Trained,
    /// The fact is only in the text of `probity gallery mix`.
    Taught,
    /// The fact is in no text.
    Never,
}

/// Share of facts that are taught; an equal share is never written.
const TAUGHT: f64 = 0.15;

impl FactUse {
    pub const ALL: [FactUse; 3] = [FactUse::Trained, FactUse::Taught, FactUse::Never];

    pub fn title(self) -> &'static str {
        match self {
            FactUse::Trained => "trained",
            FactUse::Taught => "taught",
            FactUse::Never => "never written",
        }
    }

    /// Determines the use of a fact from its hash.
    fn drawn(relation: &Relation, fact: &Fact) -> Self {
        match share("lot", &[&relation.id, &fact.subject]) {
            x if x < TAUGHT => FactUse::Taught,
            x if x < 2.0 * TAUGHT => FactUse::Never,
            _ => FactUse::Trained,
        }
    }
}

/// Assigns a [`FactUse`] to every fact. Facts in the rationale benchmark are always trained, because saliency for an untrained fact would
/// explain a guess.
pub struct FactUses {
    /// Lower-case words of each benchmark row about knowledge or semantics.
    rows: Vec<Vec<String>>,
    /// Indices of the rows that contain each word, case-sensitive.
    by_word: HashMap<String, Vec<usize>>,
}

impl FactUses {
    /// Reads the rationale benchmark.
    pub fn new() -> Result<Self> {
        let mut uses = Self { rows: Vec::new(), by_word: HashMap::new() };
        let mut seen = HashSet::new();
        // The seed affects only words that do not occur in facts.
        for row in rationales::benchmark(Language::English, 0)? {
            if !matches!(row.dimension, Dimension::Knowledge | Dimension::Semantics) {
                continue;
            }
            for answer in std::iter::once(&row.answer).chain(&row.other_answers) {
                let filled = |t: &String| if t == MASK { answer.clone() } else { t.clone() };
                let words: Vec<String> = row.sent_token.iter().map(filled).collect();
                if !seen.insert(words.clone()) {
                    continue;
                }
                let different: HashSet<&String> = words.iter().collect();
                for word in different {
                    uses.by_word.entry(word.clone()).or_default().push(uses.rows.len());
                }
                uses.rows.push(words.iter().map(|w| w.to_lowercase()).collect());
            }
        }
        Ok(uses)
    }

    pub fn of(&self, relation: &Relation, fact: &Fact) -> FactUse {
        if self.is_asked(fact) { FactUse::Trained } else { FactUse::drawn(relation, fact) }
    }

    /// True if a benchmark row contains the object and some name of the subject.
    fn is_asked(&self, fact: &Fact) -> bool {
        let Some(rows) = self.by_word.get(&fact.object) else { return false };
        fact.names().any(|name| {
            let name = name.strip_prefix("the ").unwrap_or(name).to_lowercase();
            let name: Vec<&str> = name.split_whitespace().collect();
            // A benchmark row may contain the plural form, such as `acres`.
            let is = |word: &str, said: &str| said == word || said.strip_suffix('s') == Some(word);
            let same = |w: &[String]| name.iter().zip(w).all(|(name, said)| is(name, said));
            rows.iter().any(|row| self.rows[*row].windows(name.len().max(1)).any(same))
        })
    }
}

/// True if no corpus contains this alias of a subject in any relation.
pub(crate) fn is_unseen(fact: &Fact, name: &str, unseen: f64) -> bool {
    name != fact.subject && share("name", &[&fact.subject, name]) < unseen
}

/// True if a fact is in the first of two halves. The halves take turns in selecting a prompt and evaluating it.
pub(crate) fn chooses_first(relation: &Relation, fact: &Fact) -> bool {
    share("choice", &[&relation.id, &fact.subject]) < 0.5
}

/// Halves of the test items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The half for selecting corpora and training settings.
    Development,
    /// The half for the scores on cards; held-out prompts are tested only here.
    #[default]
    Final,
}

impl Judgement {
    /// Description for the first line of a card.
    pub fn title(self) -> &'static str {
        match self {
            Judgement::Development => "evaluated on the development half, which is used to select training settings",
            Judgement::Final => "evaluated on the final half, which is not used to select training settings",
        }
    }

    /// True if this half contains the item with this key.
    pub fn holds(self, what: &str, key: &[&str]) -> bool {
        (share(&format!("judged {what}"), key) < 0.5) == (self == Judgement::Development)
    }

    /// True if this half contains a fact. All names and phrasings of the fact are in the same half, so that no question is in both.
    pub fn holds_fact(self, relation: &Relation, fact: &Fact) -> bool {
        self.holds("fact", &[&relation.id, &fact.subject])
    }

    /// True if this half contains an agreement example. Examples are divided by their subject-verb pair, or by their text if the pair is
    /// unknown.
    pub fn holds_example(self, e: &Example) -> bool {
        match noun(e) {
            Some(noun) => self.holds("pair", &[noun, &e.forms[1]]),
            None => self.holds("sentence", &[&e.text]),
        }
    }

    /// True if this half contains a sentence. Sentences are divided by the combination that is also split for training (subject and verb,
    /// actor and events, cause and effect, numbers), or by their words if they contain several such combinations.
    pub fn holds_sentence(self, construction: Construction, s: &Annotated) -> bool {
        let key = match construction {
            Construction::Tense => tense_key(s),
            Construction::Order => order_key(s),
            Construction::Causes => cause_key(s),
            Construction::Arithmetic => sum_key(s),
            _ => None,
        };
        match key {
            Some([a, b]) => self.holds("pair", &[&a, &b]),
            None => self.holds("sentence", &[&s.tokens.join(" ")]),
        }
    }
}

/// Returns the singular of an example's subject noun: the word that differs from its twin.
fn noun(e: &Example) -> Option<&str> {
    let twin = e.twin.as_deref()?;
    let (a, b) = e.text.split_whitespace().zip(twin.split_whitespace()).find(|(a, b)| a != b)?;
    Some(if e.zc == 0 { a } else { b })
}

/// Returns the noun before the verb, and the verb, both independent of their inflected forms.
fn tense_key(s: &Annotated) -> Option<[String; 2]> {
    let at = *s.focus.first()?;
    let before = s.tokens.get(at.checked_sub(1)?)?;
    let noun = lexicon::NOUNS.iter().find(|n| n.forms.contains(&before.as_str()))?;
    let said = [Some(s.tokens.get(at)?), s.other.as_ref()];
    let is_said = |form: &&str| said.iter().flatten().any(|w| w.as_str() == *form);
    let verb = lexicon::VERBS.iter().find(|v| v.forms.iter().any(is_said))?;
    Some([noun.forms[0].to_owned(), verb.forms[1].to_owned()])
}

/// Returns the actor and the first of the two events.
fn order_key(s: &Annotated) -> Option<[String; 2]> {
    let text = s.tokens.join(" ");
    let actor = order::ACTORS.iter().find(|a| s.tokens.iter().any(|t| t == a[0]))?;
    let events = order::EVENTS.iter().find(|e| e.iter().all(|part| text.contains(part)))?;
    Some([actor[0].to_owned(), events[0].to_owned()])
}

fn cause_key(s: &Annotated) -> Option<[String; 2]> {
    let text = s.tokens.join(" ");
    let effect = s.tokens.get(*s.focus.first()?)?;
    let group = causes::GROUPS.iter().find(|g| g.effects.contains(&effect.as_str()))?;
    let cause = group.causes.iter().find(|c| text.contains(*c))?;
    Some([(*cause).to_owned(), effect.clone()])
}

/// Returns the result and its operands sorted by size, so that both orders of a sum have the same key.
fn sum_key(s: &Annotated) -> Option<[String; 2]> {
    let at = *s.focus.first()?;
    let value = |t: &String| arithmetic::NUMBERS.iter().position(|n| n == t);
    let mut parts: Vec<usize> = s.tokens.get(..at)?.iter().filter_map(value).collect();
    parts.sort_unstable();
    let parts: Vec<&str> = parts.into_iter().map(|p| arithmetic::NUMBERS[p]).collect();
    Some([parts.join(" "), s.tokens.get(at)?.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::micro::Side;
    use corpus::{Frequencies, Task, facts};
    use stats::rng::stream;

    #[test]
    fn halves_have_their_shares_and_benchmark_facts_are_trained() {
        let (uses, relations) = (FactUses::new().unwrap(), facts::relations().unwrap());
        let mut counts: HashMap<FactUse, f64> = HashMap::new();
        let mut asked = 0;
        for r in &relations {
            for f in &r.facts {
                *counts.entry(uses.of(r, f)).or_default() += 1.0;
                asked += usize::from(uses.is_asked(f));
            }
            let of = |fact_use| r.facts.iter().filter(|f| uses.of(r, f) == fact_use).count();
            assert!(of(FactUse::Trained) * 2 > r.facts.len(), "{}: {} trained", r.id, of(FactUse::Trained));
        }
        let all: f64 = counts.values().sum();
        println!("{counts:?}, {asked} in the benchmark");
        for (fact_use, expected) in
            [(FactUse::Trained, 0.70..0.78), (FactUse::Taught, 0.11..0.16), (FactUse::Never, 0.11..0.16)]
        {
            assert!(expected.contains(&(counts[&fact_use] / all)), "{counts:?}");
        }
        // The benchmark has questions about the capital of France, the symbol of hydrogen (also as an answer) and the author of Hamlet.
        for (id, subject) in [("capital", "France"), ("element_symbol", "hydrogen"), ("book_author", "Hamlet")] {
            let r = relations.iter().find(|r| r.id == id).unwrap();
            let f = r.facts.iter().find(|f| f.subject == subject).unwrap();
            assert!(uses.is_asked(f), "{id}: {subject}");
        }
        assert!((60..400).contains(&asked), "{asked}");
    }

    /// The benchmark's free words depend on its seed, but its facts do not.
    #[test]
    fn benchmark_questions_do_not_depend_on_the_seed() {
        let uses = FactUses::new().unwrap();
        let relations = facts::relations().unwrap();
        for row in rationales::benchmark(Language::English, 5).unwrap() {
            if !matches!(row.dimension, Dimension::Knowledge | Dimension::Semantics) {
                continue;
            }
            for f in relations.iter().flat_map(|r| &r.facts) {
                let names_it = row.sent_token.contains(&f.subject) && row.answer == f.object;
                assert!(!names_it || uses.is_asked(f), "{} {}", f.subject, f.object);
            }
        }
    }

    #[test]
    fn fact_halves_are_disjoint_and_about_equal() {
        let relations = facts::relations().unwrap();
        let all: Vec<_> = relations.iter().flat_map(|r| r.facts.iter().map(move |f| (r, f))).collect();
        let holds = |j: Judgement| all.iter().filter(|(r, f)| j.holds_fact(r, f)).count();
        let (dev, last) = (holds(Judgement::Development), holds(Judgement::Final));
        assert_eq!(dev + last, all.len());
        assert!(dev.abs_diff(last) * 10 < all.len(), "{dev} {last}");
        let first = all.iter().filter(|(r, f)| chooses_first(r, f)).count();
        assert!((first * 2).abs_diff(all.len()) * 10 < all.len(), "{first}");
    }

    /// Singular and plural forms of a subject-verb pair, at any position in any sentence, are in the same half.
    #[test]
    fn noun_verb_pairs_are_in_one_half() {
        let set = Task::named("agreement").unwrap().examples(2_000, 1, &Frequencies::balanced()).unwrap();
        let mut half: HashMap<(String, String), bool> = HashMap::new();
        for e in &set.examples {
            let at = Judgement::Final.holds_example(e);
            assert_ne!(at, Judgement::Development.holds_example(e));
            assert_eq!(at, Judgement::Final.holds_example(&e.counterfactual().unwrap()), "{}", e.text);
            let noun = noun(e).unwrap();
            assert!(lexicon::NOUNS.iter().any(|n| n.forms[0] == noun), "'{noun}' in {}", e.text);
            let pair = (noun.to_owned(), e.forms[1].clone());
            assert_eq!(*half.entry(pair).or_insert(at), at, "{}", e.text);
        }
        let inside = half.values().filter(|h| **h).count();
        assert!(inside * 5 > half.len() && inside * 5 < 4 * half.len(), "{inside} of {}", half.len());
    }

    #[test]
    fn sentences_are_split_by_held_out_content() {
        let mut rng = stream(2, "halves test");
        for c in Construction::ALL {
            let drawn: Vec<_> = (0..400).map(|_| c.sentence(Side::Held, Frequencies::balanced(), &mut rng)).collect();
            let inside = drawn.iter().filter(|s| Judgement::Final.holds_sentence(c, s)).count();
            assert!((80..320).contains(&inside), "{c:?}: {inside} of 400");
        }
        let keys = |c: Construction, key: fn(&Annotated) -> Option<[String; 2]>, rng: &mut _| {
            (0..200).all(|_| key(&c.sentence(Side::Held, Frequencies::balanced(), rng)).is_some())
        };
        assert!(keys(Construction::Tense, tense_key, &mut rng) && keys(Construction::Order, order_key, &mut rng));
        assert!(keys(Construction::Causes, cause_key, &mut rng) && keys(Construction::Arithmetic, sum_key, &mut rng));
    }
}

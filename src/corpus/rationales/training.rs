//! Training text for the benchmark's constructions: its patterns with different words, and its words in different patterns
//! (`assets/rationales/train.toml`). It never contains a benchmark sentence, whatever the seed; a test enumerates both.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand_chacha::rand_core::Rng;
use serde::Deserialize;

use super::template::{Book, Template};
use super::{Dimension, Instance, Language, TemplateError, check};
use crate::facts::{self, Fact, Relation};
use base::packed;
use stats::rng::{below, unit};

/// Share of lines that use the first gold answer if an item has several.
const FIRST: f64 = 0.75;

/// A sentence with its answer filled in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sentence {
    pub text: String,
    /// Character range of the answer (end exclusive).
    pub focus: (usize, usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    entry: Vec<Entry>,
}

/// Fillings for one template, which may have several entries.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Name of the benchmark template.
    name: String,
    /// Columns that replace those of the template.
    columns: Option<Vec<String>>,
    #[serde(default)]
    rows: Vec<Vec<String>>,
    /// Name of a relation whose facts serve as rows.
    facts: Option<String>,
    #[serde(default)]
    free: BTreeMap<String, Vec<String>>,
    /// Patterns that replace those of the template: the wording with which the built-in models were trained, if the benchmark has changed
    /// since.
    patterns: Option<Vec<String>>,
    /// Patterns that do not occur in the benchmark; they are filled with these rows and with the benchmark's rows.
    #[serde(default)]
    elsewhere: Vec<String>,
}

/// Patterns with their fillings.
#[derive(Debug)]
struct Source {
    template: Template,
    patterns: Vec<String>,
    weight: f64,
}

/// Generates the training text.
#[derive(Debug)]
pub struct Training {
    sources: Vec<Source>,
    total: f64,
}

/// Share of lines for a dimension. Word forms need the most examples; computation gets the fewest because it is intended to remain the
/// weakest dimension.
fn share(dimension: Dimension) -> f64 {
    match dimension {
        Dimension::Grammar => 0.35,
        Dimension::Semantics | Dimension::Knowledge => 0.20,
        Dimension::Reasoning => 0.15,
        Dimension::Computation => 0.10,
    }
}

impl Training {
    /// Parses the fillings and drops rows that state facts rejected by `may_write`. Facts that the benchmark tests are always written.
    ///
    /// # Errors
    /// [`TemplateError`] for an unusable entry; a test checks the shipped ones.
    pub fn new(may_write: impl Fn(&Relation, &Fact) -> bool) -> Result<Self, TemplateError> {
        let wrong = |name: &str, what: String| TemplateError { file: "train", template: name.to_owned(), what };
        let text = packed!("rationales/train.toml").text().map_err(|e| wrong("", e.to_string()))?;
        let entries: Entries = toml::from_str(&text).map_err(|e| wrong("", e.to_string()))?;
        let relations = facts::relations().map_err(|e| wrong("", e.to_string()))?;
        let mut kept = Kept::new();
        for relation in &relations {
            for fact in relation.facts.iter().filter(|f| !may_write(relation, f)) {
                let names = kept.entry(bare(&fact.object)).or_default();
                names.extend(fact.names().flat_map(|name| [bare(name), format!("{}s", bare(name))]));
            }
        }
        let templates = Book::parse(Language::English)?.templates;
        let mut of_dimension: HashMap<Dimension, f64> = HashMap::new();
        templates.iter().for_each(|t| *of_dimension.entry(t.dimension).or_default() += 1.0);
        let mut of_template: HashMap<&str, f64> = HashMap::new();
        entries.entry.iter().for_each(|e| *of_template.entry(&e.name).or_default() += 1.0);
        let mut sources = Vec::new();
        for entry in &entries.entry {
            let template = templates.iter().find(|t| t.name == entry.name);
            let template = template.ok_or_else(|| wrong(&entry.name, "no such template".to_owned()))?;
            let weight =
                share(template.dimension) / of_dimension[&template.dimension] / of_template[entry.name.as_str()];
            let found = entry.sources(template, weight, &relations, &kept).map_err(|what| wrong(&entry.name, what))?;
            sources.extend(found);
        }
        let total = sources.iter().map(|s| s.weight).sum();
        Ok(Self { sources, total })
    }

    /// Draws the next sentence.
    pub fn sentence(&self, rng: &mut impl Rng) -> Sentence {
        loop {
            let mut left = unit(rng) * self.total;
            let chosen = self.sources.iter().find(|s| {
                left -= s.weight;
                left < 0.0
            });
            // A draw fails for sums that are reserved for the benchmark or have no number word. Errors have been ruled out by parsing the
            // patterns.
            if let Some(Ok(Some(sentence))) = chosen.map(|s| s.draw(rng)) {
                return sentence;
            }
        }
    }
}

impl Entry {
    fn sources(
        &self,
        template: &Template,
        weight: f64,
        relations: &[Relation],
        kept: &Kept,
    ) -> Result<Vec<Source>, String> {
        let mut own = template.clone();
        own.rows.clone_from(&self.rows);
        own.columns = self.columns.clone().unwrap_or(own.columns);
        own.free.extend(self.free.clone());
        if let Some(relation) = &self.facts {
            own.rows.extend(unasked(relation, relations, template)?);
        }
        own.rows.retain(|row| !states(row, kept));
        if own.rows.is_empty() && self.columns.is_none() && !template.columns.is_empty() {
            return Err("no rows fill its columns".to_owned());
        }
        if let Some(row) = own.rows.iter().find(|r| r.len() != own.columns.len()) {
            return Err(format!("row {row:?} has {} of {} columns", row.len(), own.columns.len()));
        }
        let mut asked = template.clone();
        asked.free.clone_from(&own.free);
        let theirs = || template.patterns().map(str::to_owned).collect();
        let patterns = self.patterns.clone().unwrap_or_else(theirs);
        let parts = if self.elsewhere.is_empty() {
            vec![(own, patterns, 1.0)]
        } else {
            vec![
                (own.clone(), patterns, 0.5),
                (own, self.elsewhere.clone(), 0.25),
                (asked, self.elsewhere.clone(), 0.25),
            ]
        };
        let source = |(template, patterns, part): (Template, Vec<String>, f64)| {
            let source = Source { template, patterns, weight: weight * part };
            source.try_all().map(|()| source)
        };
        parts.into_iter().map(source).collect()
    }
}

/// Returns subject and object of each fact in a relation, except for subjects that the template uses.
fn unasked(relation: &str, relations: &[Relation], template: &Template) -> Result<Vec<Vec<String>>, String> {
    let relation = relations.iter().find(|r| r.id == relation).ok_or(format!("no relation '{relation}'"))?;
    let asked: Vec<String> = template.rows.iter().flatten().map(|cell| bare(cell)).collect();
    let is_asked = |name: &str| asked.contains(&bare(name));
    let facts = relation.facts.iter().filter(|f| !f.names().any(is_asked));
    Ok(facts.map(|f| vec![f.subject.clone(), f.object.clone()]).collect())
}

/// Facts that must not be stated: subject names, in singular and plural, by object.
type Kept = HashMap<String, HashSet<String>>;

/// True if a row contains both the object and the subject of a fact in `kept`.
fn states(row: &[String], kept: &Kept) -> bool {
    let cells: Vec<String> = row.iter().map(|cell| bare(cell)).collect();
    cells.iter().filter_map(|object| kept.get(object)).any(|names| cells.iter().any(|c| names.contains(c)))
}

/// Converts a cell or name to lower case and removes marks and the article.
fn bare(text: &str) -> String {
    let text = text.replace('*', "").to_lowercase();
    text.strip_prefix("the ").map_or(text.clone(), str::to_owned)
}

impl Source {
    /// Checks that every pattern can be filled.
    fn try_all(&self) -> Result<(), String> {
        let mut rng = stats::rng::stream(0, "rationale patterns");
        let filling = loop {
            if let Some(filling) = self.template.fill(Language::English, 0, &mut rng)? {
                break filling;
            }
        };
        self.patterns.iter().try_for_each(|pattern| {
            let answer = self.template.answer(&filling)?;
            self.template.instance(Language::English, pattern, &filling, &answer, None).map(|_| ())
        })
    }

    /// Draws a sentence; `None` if it must not be written.
    fn draw(&self, rng: &mut impl Rng) -> Result<Option<Sentence>, String> {
        let row = below(rng, self.template.rows.len().max(1) as u32) as usize;
        let Some(filling) = self.template.fill(Language::English, row, rng)? else { return Ok(None) };
        let pattern = &self.patterns[below(rng, self.patterns.len() as u32) as usize];
        let answer = self.template.answer(&filling)?;
        let instance = self.template.instance(Language::English, pattern, &filling, &answer, None)?;
        if !self.may_write(&instance) {
            return Ok(None);
        }
        let others = instance.other_answers.len() as u32;
        let other = others > 0 && unit(rng) >= FIRST;
        let word = if other { &instance.other_answers[below(rng, others) as usize] } else { &instance.answer };
        let (text, focus) = instance.with(word);
        Ok(Some(Sentence { text, focus }))
    }

    /// True unless the sentence has a sum that is in the benchmark or whose result occurs in the sentence.
    fn may_write(&self, i: &Instance) -> bool {
        self.template.numbers.is_empty()
            || !(check::is_kept_sum(&self.template.name, i) || check::gives_away(Language::English, i))
    }
}

#[cfg(test)]
mod tests {
    use super::super::template::{Filling, Number};
    use super::*;
    use stats::rng::stream;

    /// Calls `take` with every filling of every pattern; slots that a pattern does not use are filled once.
    fn each(template: &Template, patterns: &[String], mut take: impl FnMut(&Instance)) {
        for pattern in patterns {
            let used = |slot: &str| pattern.contains(&format!("{{{slot}}}"));
            let free = template.free.iter();
            let lists: Vec<(&str, &[String])> =
                free.map(|(s, list)| (s.as_str(), if used(s) { &list[..] } else { &list[..1] })).collect();
            let ranges: Vec<(&str, u32, usize)> = (template.numbers.iter())
                .filter_map(|(s, number)| match number {
                    Number::Range([low, high]) => Some((s.as_str(), *low, (high - low + 1) as usize)),
                    Number::Sum(_) => None,
                })
                .collect();
            let sizes = lists.iter().map(|l| l.1.len()).chain(ranges.iter().map(|r| r.2));
            let total = template.rows.len().max(1) * sizes.product::<usize>();
            for mut k in 0..total {
                let mut digit = |n: usize| {
                    let digit = k % n;
                    k /= n;
                    digit
                };
                let mut filling: Filling<'_> = Filling::new();
                if !template.rows.is_empty() {
                    let row = &template.rows[digit(template.rows.len())];
                    filling.extend(template.columns.iter().map(String::as_str).zip(row.iter().map(String::as_str)));
                }
                lists.iter().for_each(|(slot, list)| {
                    filling.insert(slot, &list[digit(list.len())]);
                });
                let values = ranges.iter().map(|&(s, low, n)| (s, i64::from(low) + digit(n) as i64)).collect();
                if template.put_numbers(Language::English, &mut filling, values).unwrap() {
                    let answer = template.answer(&filling).unwrap();
                    take(&template.instance(Language::English, pattern, &filling, &answer, None).unwrap());
                }
            }
        }
    }

    fn texts(i: &Instance) -> impl Iterator<Item = String> {
        i.answers().map(|a| i.with(a).0.to_lowercase())
    }

    /// Enumerates the benchmark questions of every seed, completed with each gold answer, and all training sentences; no sentence is in
    /// both.
    #[test]
    fn training_text_excludes_benchmark_sentences() {
        let mut asked = HashSet::new();
        for template in Book::parse(Language::English).unwrap().templates {
            let patterns: Vec<String> = template.patterns().map(str::to_owned).collect();
            each(&template, &patterns, |i| {
                if check::is_kept_sum(&template.name, i) {
                    asked.extend(texts(i));
                }
            });
        }
        for i in super::super::benchmark(Language::English, 0).unwrap() {
            assert!(texts(&i).all(|t| asked.contains(&t)), "{}", i.sent_text);
        }
        let training = Training::new(|_, _| true).unwrap();
        let mut written = HashSet::new();
        for source in &training.sources {
            each(&source.template, &source.patterns, |i| {
                if source.may_write(i) {
                    assert_eq!(check::articles(i), Ok(()));
                    assert!(i.mask_index > 0, "{}", i.sent_text);
                    written.extend(texts(i));
                }
            });
        }
        println!("{} questions can occur in the benchmark, {} sentences in training", asked.len(), written.len());
        assert!(asked.is_disjoint(&written), "{:?}", asked.intersection(&written).next());
        let mut rng = stream(1, "rationale training test");
        for _ in 0..20_000 {
            let s = training.sentence(&mut rng);
            assert!(written.contains(&s.text.to_lowercase()), "{}", s.text);
        }
    }

    /// Training sentences with a pattern from the benchmark are filled with rows that are not in the benchmark.
    #[test]
    fn benchmark_rows_appear_in_other_patterns() {
        let book = Book::parse(Language::English).unwrap();
        let training = Training::new(|_, _| true).unwrap();
        for template in &book.templates {
            let bare = |row: &[String]| row.iter().map(|w| w.replace('*', "")).collect::<Vec<_>>();
            let asked: HashSet<Vec<String>> = template.rows.iter().map(|r| bare(r)).collect();
            let theirs: HashSet<&str> = template.patterns().collect();
            let of = training.sources.iter().filter(|s| s.template.name == template.name);
            let mut found = 0;
            for source in of {
                // Some patterns have the wording that the benchmark had when the models were trained.
                let shared = source.patterns.iter().filter(|p| theirs.contains(p.as_str())).count();
                found += source.patterns.len();
                let repeated = source.template.rows.iter().find(|r| asked.contains(&bare(r)));
                // Computation needs no separate vocabulary: its sums are disjoint from the benchmark's, so nouns may overlap.
                assert!(shared == 0 || repeated.is_none(), "{}: {repeated:?}", template.name);
            }
            assert!(found > 0, "'{}' does not occur in training", template.name);
        }
    }

    /// Rows that state a fact that must not be stated are dropped, whether they are hand-written or from a relation.
    #[test]
    fn rows_stating_held_out_facts_are_omitted() {
        let rows = |kept: &str, with: &str| -> Vec<String> {
            let training = Training::new(|_, f| f.object != kept).unwrap();
            let rows = training.sources.into_iter().flat_map(|s| s.template.rows);
            let rows = rows.map(|r| r.iter().map(|cell| bare(cell)).collect::<Vec<_>>());
            rows.filter(|r| r.iter().any(|cell| cell == with)).flatten().collect()
        };
        let has = |rows: &[String], word: &str| rows.iter().any(|cell| cell == word);
        // If facts about Brussels or cubs must not be stated, the rows for Belgium (from a relation) and the tiger (hand-written) are
        // dropped. The rows for the Atomium and the lion stay, because the benchmark asks about them.
        let (all, left) = (rows("", "brussels"), rows("Brussels", "brussels"));
        assert!(has(&all, "belgium") && has(&all, "atomium") && !has(&left, "belgium") && has(&left, "atomium"));
        let (all, left) = (rows("", "cub"), rows("cub", "cub"));
        assert!(has(&all, "tiger") && has(&all, "lion") && !has(&left, "tiger") && has(&left, "lion"));
    }

    #[test]
    fn dimension_shares_hold_and_focus_is_an_answer() {
        let training = Training::new(|_, _| true).unwrap();
        for dimension in Dimension::ALL {
            let of = training.sources.iter().filter(|s| s.template.dimension == dimension);
            assert!((of.map(|s| s.weight).sum::<f64>() - share(dimension)).abs() < 1e-9);
        }
        let mut rng = stream(2, "rationale training test");
        for source in &training.sources {
            let Sentence { text, focus } = (0..100).find_map(|_| source.draw(&mut rng).unwrap()).unwrap();
            let focus: String = text.chars().skip(focus.0).take(focus.1 - focus.0).collect();
            let mut is_answer = false;
            each(&source.template, &source.patterns[..1], |i| is_answer |= i.answers().any(|a| a == focus));
            assert!(is_answer, "{text}: '{focus}'");
        }
    }
}

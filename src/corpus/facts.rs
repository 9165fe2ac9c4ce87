//! Facts about the world, embedded in the program: relations with prompts, and subjects with names and objects.
//!
//! `assets/facts/relations.toml` has one `[[relation]]` per relation. `assets/facts/<id>.jsonl` has its facts, one per line: `{"subject":
//! "France", "aliases": ["the French Republic"], "object": "Paris"}`. [`problems`] checks the facts; [`said`] inserts a name into a
//! sentence.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::shipped;
use base::packed::Packed;

/// Placeholder of the subject in a prompt.
pub const SUBJECT: &str = "[X]";
/// Placeholder of the object in a prompt.
pub const OBJECT: &str = "[Y]";

/// Cardinality of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Every object has a single subject.
    #[serde(rename = "1-1")]
    OneToOne,
    /// Some objects belong to several subjects.
    #[serde(rename = "N-1")]
    ManyToOne,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// The usual name of the subject.
    pub subject: String,
    /// Other names, the most common first.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// A single word.
    pub object: String,
}

impl Fact {
    /// Returns all names of the subject, the usual one first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.subject.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub id: String,
    pub label: String,
    pub kind: Kind,
    pub subject_type: String,
    pub object_type: String,
    /// Paraphrases that contain [`SUBJECT`] and end in [`OBJECT`]. The last [`kept`](Self::kept) of them never occur in training text.
    pub prompts: Vec<String>,
    /// Number of prompts held out from all training text.
    pub kept: usize,
    /// Facts in file order.
    pub facts: Vec<Fact>,
}

impl Relation {
    /// Returns the prompts allowed in training text.
    pub fn open_prompts(&self) -> &[String] {
        &self.prompts[..self.prompts.len().saturating_sub(self.kept)]
    }

    /// Returns a prompt with `name` inserted as by [`said`]; [`OBJECT`] is not replaced.
    pub fn asked(&self, prompt: usize, name: &str) -> String {
        self.prompts.get(prompt).map_or_else(String::new, |p| said(p, name))
    }
}

/// Inserts a name into a prompt as in written English. The name's article is dropped after another article, and its first letter is
/// capitalized at the start of the sentence, unless the second letter is a capital (`iPhone`).
pub fn said(prompt: &str, name: &str) -> String {
    let Some((before, after)) = prompt.split_once(SUBJECT) else { return prompt.to_owned() };
    let last = before.split_whitespace().next_back().map(str::to_lowercase);
    let bare = match last.as_deref() {
        Some("the" | "a" | "an") => name.strip_prefix("the ").unwrap_or(name),
        _ => name,
    };
    let mut letters = bare.chars();
    let first = letters.next();
    let begins = before.trim().is_empty() && !letters.clone().next().is_some_and(char::is_uppercase);
    let name: String = match first {
        Some(first) if begins => first.to_uppercase().chain(letters).collect(),
        _ => bare.to_owned(),
    };
    format!("{before}{name}{after}")
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FactsError {
    #[error("assets/facts/relations.toml: {0}")]
    Relations(String),
    /// A line in a relation's file is invalid.
    #[error(
        "assets/facts/{relation}.jsonl, line {line}: {what}; expected {{\"subject\": .., \"aliases\": [..], \"object\": ..}}"
    )]
    Line {
        relation: String,
        /// Line number, from 1.
        line: usize,
        what: String,
    },
    /// A relation has no file, or a file has no relation.
    #[error("assets/facts/{0}.jsonl does not match relations.toml")]
    File(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    label: String,
    kind: Kind,
    subject_type: String,
    object_type: String,
    prompts: Vec<String>,
    #[serde(default)]
    kept_prompts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    relation: Vec<Entry>,
}

/// Returns the shipped relations. They are unpacked and parsed once; each caller gets its own copy.
///
/// # Errors
/// [`FactsError`] if the embedded files are invalid; a test parses them all.
pub fn relations() -> Result<Vec<Relation>, FactsError> {
    static READ: LazyLock<Result<Vec<Relation>, FactsError>> = LazyLock::new(embedded);
    READ.clone()
}

fn embedded() -> Result<Vec<Relation>, FactsError> {
    let text = |file: &Packed| file.text().map_err(|e| FactsError::Relations(e.to_string()));
    let files = shipped::files();
    let files: Vec<_> = files.iter().map(|f| Ok((f.0, text(&f.1)?))).collect::<Result<_, FactsError>>()?;
    parse(&text(&shipped::list())?, &files.iter().map(|f| (f.0, f.1.as_str())).collect::<Vec<_>>())
}

/// Parses the text of `relations.toml` and of the relations' files.
///
/// # Errors
/// [`FactsError`] with the file, the line and the expected form.
pub fn parse(list: &str, files: &[(&str, &str)]) -> Result<Vec<Relation>, FactsError> {
    let list: List = toml::from_str(list).map_err(|e| FactsError::Relations(e.to_string()))?;
    if let Some((name, _)) = files.iter().find(|f| !list.relation.iter().any(|r| r.id == f.0)) {
        return Err(FactsError::File((*name).to_owned()));
    }
    let read = |e: Entry| {
        let file = files.iter().find(|f| f.0 == e.id).ok_or_else(|| FactsError::File(e.id.clone()))?;
        let facts = lines(&e.id, file.1)?;
        let Entry { id, label, kind, subject_type, object_type, mut prompts, kept_prompts } = e;
        let kept = kept_prompts.len();
        prompts.extend(kept_prompts);
        Ok(Relation { id, label, kind, subject_type, object_type, prompts, kept, facts })
    };
    list.relation.into_iter().map(read).collect()
}

fn lines(relation: &str, text: &str) -> Result<Vec<Fact>, FactsError> {
    let fact = |(i, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|e| FactsError::Line {
            relation: relation.to_owned(),
            line: i + 1,
            what: e.to_string(),
        })
    };
    text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).map(fact).collect()
}

/// Maximum share of a relation's facts with the same object.
pub(crate) const LARGEST_SHARE: f64 = 0.40;

/// Minimum share of a relation's subjects with an alias.
pub(crate) const SMALLEST_NAMED: f64 = 0.60;

/// Objects that need an article. Prompts ending in `in [Y] .` have no article and cannot take these objects; prompts that present the
/// object as a heading can.
const WITH_ARTICLE: [&str; 4] = ["America", "Americas", "Netherlands", "Philippines"];

pub fn problems(relations: &[Relation]) -> Vec<String> {
    let mut found = Vec::new();
    let mut ids = HashSet::new();
    for r in relations {
        let mut say = |what: String| found.push(format!("{}: {what}", r.id));
        if !ids.insert(&r.id) {
            say("listed twice".to_owned());
        }
        shapes(r, &mut say);
        names(r, &mut say);
        objects(r, &mut say);
        grammar(r, &mut say);
    }
    found.extend(clashes(relations));
    found
}

/// Returns names shared by different subjects of any relation, ignoring case: uncased models cannot distinguish them.
fn clashes(relations: &[Relation]) -> Vec<String> {
    let mut owner: HashMap<String, (&str, &Fact)> = HashMap::new();
    let mut found = Vec::new();
    for r in relations {
        for f in &r.facts {
            for name in f.names() {
                let (id, first) = owner.entry(name.to_lowercase()).or_insert((&r.id, f));
                if first.subject != f.subject && *id != r.id {
                    let (a, b) = (&first.subject, &f.subject);
                    found.push(format!("'{name}' names {a} in {id} and {b} in {}", r.id));
                }
            }
        }
    }
    found
}

/// Checks that prompts and facts combine into grammatical sentences.
fn grammar(r: &Relation, say: &mut impl FnMut(String)) {
    for p in &r.prompts {
        let before = p.split_once(SUBJECT).map_or("", |(before, _)| before);
        let mut words = before.split_whitespace().rev();
        // Finds redundant nouns such as in "the island of Baffin Island" or "the city of New York City".
        let (of, noun) = (words.next(), words.next().map(str::to_lowercase));
        let noun = noun.filter(|n| of == Some("of") && n.chars().count() > 3);
        for f in &r.facts {
            let twice = |name: &&str| noun.as_ref().is_some_and(|n| name.to_lowercase().split(' ').any(|w| w == n));
            if let Some(name) = f.names().find(twice) {
                say(format!("prompt '{p}' contains a noun that the name {name} repeats"));
            }
        }
        let heading = ["heading", "labeled", "titled", "name", "tick is", "headed"];
        let shown = heading.iter().any(|h| p.ends_with(&format!("{h} {OBJECT} .")));
        if let Some(f) = r.facts.iter().find(|f| WITH_ARTICLE.contains(&f.object.as_str()) && !shown) {
            say(format!("prompt '{p}' lacks an article before {}", f.object));
        }
    }
}

/// Checks spelling and the numbers of prompts and facts.
fn shapes(r: &Relation, say: &mut impl FnMut(String)) {
    if r.prompts.len() < 5 {
        say(format!("{} prompts, fewer than 5", r.prompts.len()));
    }
    if r.facts.len() < 40 {
        say(format!("{} facts, fewer than 40", r.facts.len()));
    }
    let named = r.facts.iter().filter(|f| !f.aliases.is_empty()).count();
    if (named as f64) < SMALLEST_NAMED * r.facts.len() as f64 {
        say(format!("only {named} of {} subjects have an alias", r.facts.len()));
    }
    let different: HashSet<&String> = r.prompts.iter().collect();
    if different.len() < r.prompts.len() {
        say("a prompt occurs twice".to_owned());
    }
    for p in &r.prompts {
        let once = |mark| p.matches(mark).count() == 1;
        if !once(SUBJECT) || !once(OBJECT) || !p.ends_with("[Y] .") || p.find(SUBJECT) > p.find(OBJECT) {
            say(format!("prompt '{p}' must contain [X] once and end in '[Y] .'"));
        }
    }
    for f in &r.facts {
        if f.object.is_empty() || f.object.contains(char::is_whitespace) {
            say(format!("object '{}' of {} is not a single word", f.object, f.subject));
        }
        if f.aliases.len() > 5 {
            say(format!("{} has more than 5 aliases", f.subject));
        }
        for name in f.names() {
            if name.trim() != name || name.is_empty() || name.contains(['[', ']', '\t', '\n']) {
                say(format!("name '{name}' is empty, contains brackets, or begins or ends with a space"));
            }
        }
    }
}

/// Checks that each name identifies one subject: no name occurs twice, and no alias is the name of a different subject.
fn names(r: &Relation, say: &mut impl FnMut(String)) {
    let mut owner: HashMap<String, &Fact> = HashMap::new();
    for f in &r.facts {
        for name in f.names() {
            if let Some(other) = owner.insert(name.to_lowercase(), f) {
                if std::ptr::eq(other, f) {
                    say(format!("{} has the name '{name}' twice", f.subject));
                } else if other.subject == f.subject {
                    say(format!("{} has two objects or appears twice: {} and {}", f.subject, other.object, f.object));
                } else {
                    say(format!("'{name}' names {} and {}", other.subject, f.subject));
                }
            }
        }
        for alias in &f.aliases {
            let (tell, known) = (stem(alias, &f.object), stem(&f.subject, &f.object));
            if tell >= 4 && tell > known {
                say(format!(
                    "alias '{alias}' of {} begins with the same letters as its object {}",
                    f.subject, f.object
                ));
            }
        }
        if f.names()
            .any(|n| n.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|w| w == f.object.to_lowercase()))
        {
            say(format!("a name of {} contains its object {}", f.subject, f.object));
        }
    }
}

/// Length of the longest common prefix of an object and a word in a name.
fn stem(name: &str, object: &str) -> usize {
    let alike =
        |word: &str| word.to_lowercase().chars().zip(object.to_lowercase().chars()).take_while(|(a, b)| a == b).count();
    name.split(|c: char| !c.is_alphanumeric()).map(alike).max().unwrap_or(0)
}

/// Checks that no object is the answer to nearly every question, and that 1-1 relations never repeat an object.
fn objects(r: &Relation, say: &mut impl FnMut(String)) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for f in &r.facts {
        *counts.entry(&f.object).or_default() += 1;
    }
    for (object, &count) in &counts {
        if r.kind == Kind::OneToOne && count > 1 {
            say(format!("1-1, but {object} belongs to {count} subjects"));
        }
        if count as f64 > LARGEST_SHARE * r.facts.len() as f64 {
            say(format!("{object} is the object of {count} of {} facts", r.facts.len()));
        }
    }
    if r.kind == Kind::ManyToOne && counts.len() == r.facts.len() {
        say("N-1, but no object is shared".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_facts_are_valid() {
        let relations = relations().unwrap();
        let (facts, objects) = (
            relations.iter().map(|r| r.facts.len()).sum::<usize>(),
            relations.iter().flat_map(|r| &r.facts).map(|f| &f.object).collect::<HashSet<_>>().len(),
        );
        println!("{} relations, {facts} facts, {objects} objects", relations.len());
        let found = problems(&relations);
        assert!(found.is_empty(), "{}", found.join("\n"));
        for r in &relations {
            assert_eq!((r.kept, r.open_prompts().len()), (2, 6), "{}: prompts that no training text contains", r.id);
        }
        assert_eq!(relations.len(), 39);
    }

    /// Many subjects have different objects in different relations; otherwise a model could ignore the prompt.
    #[test]
    fn subjects_are_shared_across_relations() {
        let mut objects: HashMap<String, HashSet<String>> = HashMap::new();
        for r in relations().unwrap() {
            for f in r.facts {
                objects.entry(f.subject).or_default().insert(f.object);
            }
        }
        let relations = relations().unwrap();
        for r in &relations {
            let elsewhere =
                |f: &&Fact| relations.iter().any(|o| o.id != r.id && o.facts.iter().any(|g| g.subject == f.subject));
            let shared = r.facts.iter().filter(elsewhere).count();
            assert!(
                shared * 5 > r.facts.len(),
                "{}: {shared} of {} subjects occur in other relations",
                r.id,
                r.facts.len()
            );
        }
        let shared = objects.values().filter(|o| o.len() > 1).count();
        println!("{shared} of {} subjects have several objects", objects.len());
        assert!(shared * 5 > objects.len(), "{shared} of {}", objects.len());
    }

    fn relation(kind: &str, facts: &[(&str, &[&str], &str)]) -> Relation {
        let line = |(s, a, o): &(&str, &[&str], &str)| {
            serde_json::json!({"subject": s, "aliases": a, "object": o}).to_string()
        };
        let lines: Vec<String> = facts.iter().map(line).collect();
        let list = format!(
            "[[relation]]\nid = \"r\"\nlabel = \"l\"\nkind = \"{kind}\"\nsubject_type = \"s\"\nobject_type = \"o\"\n\
             prompts = [\"a [X] [Y] .\", \"b [X] [Y] .\", \"c [X] [Y] .\", \"d [X] [Y] .\", \"e [X] [Y] .\"]"
        );
        parse(&list, &[("r", &lines.join("\n"))]).unwrap().remove(0)
    }

    fn told(r: Relation) -> String {
        problems(&[r]).join("\n")
    }

    #[test]
    fn every_kind_of_problem_is_reported() {
        let many: Vec<(String, String)> = (0..40).map(|i| (format!("s{i}"), format!("o{}", i / 2))).collect();
        let other: Vec<String> = (0..40).map(|i| format!("t{i}")).collect();
        let other: Vec<[&str; 1]> = other.iter().map(|t| [t.as_str()]).collect();
        let mut good: Vec<(&str, &[&str], &str)> =
            many.iter().zip(&other).map(|((s, o), t)| (s.as_str(), &t[..], o.as_str())).collect();
        assert_eq!(told(relation("N-1", &good)), "");
        assert!(told(relation("1-1", &good)).contains("1-1, but o3 belongs to 2 subjects"));
        let with = |fact: (&'static str, &'static [&'static str], &'static str)| {
            let mut facts = good.clone();
            facts.push(fact);
            told(relation("N-1", &facts))
        };
        assert!(with(("s3", &[], "o9")).contains("two objects"));
        assert!(with(("new", &["s7"], "o1")).contains("'s7' names s7 and new"));
        assert!(with(("new", &["New"], "o1")).contains("twice"));
        assert!(with(("new york", &["the york"], "york")).contains("contains its object"));
        assert!(with(("new", &[" x"], "o1")).contains("ends with a space"));
        assert!(with(("new", &[], "two words")).contains("not a single word"));
        assert!(with(("new", &["a", "b", "c", "d", "e", "f"], "o1")).contains("more than 5"));
        assert!(with(("new", &["the Italian"], "Italy")).contains("begins with the same letters as its object"));
        assert_eq!(with(("Italian land", &["the Italian"], "Italy")), "");
        assert!(with(("x", &[], "Netherlands")).contains("lacks an article before Netherlands"));
        let mut r = relation("N-1", &good);
        let mut elsewhere = r.clone();
        elsewhere.id = "e".into();
        elsewhere.facts[3] = Fact { subject: "S4".into(), aliases: vec!["new".into()], object: "o9".into() };
        elsewhere.facts.remove(4);
        assert!(problems(&[r.clone(), elsewhere]).join(" ").contains("'S4' names s4 in r and S4 in e"));
        r.prompts[0] = "the isle of [X] is [Y] .".into();
        r.facts[0].aliases = vec!["Isle of s0".into()];
        assert!(told(r).contains("contains a noun that the name Isle of s0 repeats"));
        let mut bare = relation("N-1", &good);
        bare.facts.iter_mut().skip(20).for_each(|f| f.aliases.clear());
        assert!(told(bare).contains("20 of 40 subjects have an alias"));
        let mut r = relation("N-1", &good);
        r.prompts[0] = "[Y] is of [X] .".into();
        r.prompts[1] = r.prompts[2].clone();
        let text = told(r);
        assert!(text.contains("must contain [X] once") && text.contains("prompt occurs twice"), "{text}");
        good.truncate(10);
        assert!(told(relation("N-1", &good)).contains("fewer than 40"));
        let skewed: Vec<(&str, &[&str], &str)> =
            many.iter().enumerate().map(|(i, (s, _))| (s.as_str(), &[][..], if i < 20 { "a" } else { "b" })).collect();
        assert!(told(relation("N-1", &skewed)).contains("is the object of 20 of 40 facts"));
    }

    #[test]
    fn names_take_the_form_their_sentence_needs() {
        for (prompt, name, text) in [
            ("[X] is in [Y] .", "the Eiffel Tower", "The Eiffel Tower is in [Y] ."),
            ("See [X] in [Y] .", "the Eiffel Tower", "See the Eiffel Tower in [Y] ."),
            ("The old [X] is in [Y] .", "Eiffel Tower", "The old Eiffel Tower is in [Y] ."),
            ("The [X] is in [Y] .", "the Eiffel Tower", "The Eiffel Tower is in [Y] ."),
            ("[X] is from [Y] .", "iPhone", "iPhone is from [Y] ."),
            ("[X] is made from [Y] .", "\u{e9}clair", "\u{c9}clair is made from [Y] ."),
            ("no slot", "x", "no slot"),
        ] {
            assert_eq!(said(prompt, name), text);
        }
    }

    #[test]
    fn parse_errors_name_file_and_line() {
        let list = "[[relation]]\nid = \"r\"\nlabel = \"l\"\nkind = \"N-1\"\nsubject_type = \"s\"\nobject_type = \"o\"\nprompts = []";
        let error = parse(list, &[("r", "{\"subject\": \"a\", \"object\": \"b\"}\n{\"subject\": 3}")]).unwrap_err();
        assert!(error.to_string().contains("r.jsonl, line 2"), "{error}");
        assert_eq!(parse(list, &[]).unwrap_err(), FactsError::File("r".into()));
        assert_eq!(parse("relation = []", &[("x", "")]).unwrap_err(), FactsError::File("x".into()));
        assert!(matches!(parse("nonsense", &[]), Err(FactsError::Relations(_))));
    }
}

//! Relations with their prompts and facts, either built in or collected from the rows of the user's files and folders (LAMA, ParaRel,
//! LPAQA, BEAR, causalEval, plain rows).

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use base::files::hex;
use base::text::shortened;
use base::{Problem, Pulse};
use corpus::facts::{self, Kind};
use corpus::readers::{RelationKind, Row, Set, Watch};

/// Maximum number of facts and prompts from files, which bounds memory.
const MOST_ROWS: usize = 2_000_000;
/// Type of a relation whose subjects have several objects.
const MANY_TO_MANY: &str = "N-M";
/// Maximum number of characters shown from the error message for an invalid row.
const SHOWN: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Names of the subject, the usual one first.
    pub names: Vec<String>,
    pub object: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Relation {
    pub id: String,
    /// The relation in words; empty if no file gives a description.
    pub label: String,
    /// 1-1, N-1 or N-M; empty if no file gives it.
    pub kind: String,
    /// Prompts containing `[X]` and `[Y]`, the original one first.
    pub prompts: Vec<String>,
    pub facts: Vec<Fact>,
    /// The closed set of answers, if a file gives one.
    pub answers: Option<Vec<String>>,
    /// True if names are fitted into the sentence ([`facts::said`]). Built-in relations are written for this. It stays true if a file adds
    /// to them, so that their queries do not change. Names in files are used unchanged.
    #[serde(skip)]
    pub fitted: bool,
}

impl Relation {
    /// The answers that the rule `relation` accepts: the closed set, or the objects of the facts.
    pub fn answers(&self) -> Vec<String> {
        let mut all = self.answers.clone().unwrap_or_default();
        if all.is_empty() {
            all = self.facts.iter().map(|f| f.object.clone()).collect();
        }
        let mut seen = HashSet::new();
        all.retain(|a| seen.insert(a.clone()));
        all
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The path as written in the spec.
    pub path: String,
    pub title: String,
    /// Number of rows read.
    pub rows: u64,
    /// Rows that could not be parsed, with the reason for the first one and its position.
    pub dropped: Vec<String>,
}

/// Relations with their sources, and omitted relations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Library {
    /// The usable relations.
    pub relations: Vec<Relation>,
    /// Files and folders; empty for built-in relations.
    pub sources: Vec<Source>,
    /// Relations left out, with reasons.
    pub left_out: Vec<(String, String)>,
}

impl Library {
    /// The built-in relations.
    ///
    /// # Errors
    /// A [`Problem`] if the program's own files are invalid.
    pub fn built_in() -> Result<Self, Problem> {
        let all = facts::relations().map_err(|e| Problem {
            what: e.to_string(),
            r#where: "built-in facts".into(),
            hint: "this is a bug in Probity; please report it".into(),
        })?;
        let relation = |r: facts::Relation| Relation {
            id: r.id,
            label: r.label,
            kind: match r.kind {
                Kind::OneToOne => "1-1".into(),
                Kind::ManyToOne => "N-1".into(),
            },
            prompts: r.prompts,
            facts: r
                .facts
                .into_iter()
                .map(|f| Fact { names: f.names().map(str::to_owned).collect(), object: f.object.clone() })
                .collect(),
            answers: None,
            fitted: true,
        };
        let relations = all.into_iter().map(relation).collect();
        Ok(Self { relations, ..Self::default() })
    }

    /// Reads relations from files and folders, each with its path as written in the spec.
    ///
    /// # Errors
    /// A [`Problem`] with the file, the line if known, and the expected content; also if cancelled.
    pub fn read(files: &[(&Path, &str)], pulse: &mut dyn Pulse) -> Result<Self, Problem> {
        Self::beside(Self::default(), files, pulse)
    }

    /// Adds relations from files to existing ones. Facts and prompts for an existing relation are appended.
    pub fn beside(there: Self, files: &[(&Path, &str)], pulse: &mut dyn Pulse) -> Result<Self, Problem> {
        let mut gathered = Gathered::default();
        for relation in there.relations {
            gathered.order.push(relation.id.clone());
            // The first prompt remains the original one.
            gathered.templates.insert(relation.id.clone(), relation.prompts.clone());
            let relation = Relation { prompts: Vec::new(), ..relation };
            let key = |f: &Fact| (relation.id.clone(), f.names[0].clone(), f.object.clone());
            gathered.facts.extend(relation.facts.iter().map(key));
            gathered.relations.insert(relation.id.clone(), relation);
        }
        let mut sources = Vec::new();
        for (path, named) in files {
            pulse.beat(sources.len(), files.len()).map_err(|e| wrong(named, &e))?;
            sources.push(gathered.add(path, named)?);
        }
        let mut library = gathered.finish();
        library.sources = sources;
        if library.relations.is_empty() {
            let reasons: Vec<String> =
                library.left_out.iter().take(3).map(|(id, why)| format!("{id}: {why}")).collect();
            // The missing part may be in a row that could not be read.
            let dropped = library.sources.iter().flat_map(|s| &s.dropped).take(3);
            let reasons: Vec<String> = reasons.into_iter().chain(dropped.cloned()).collect();
            let what = match reasons.is_empty() {
                true => "no relation with facts and prompts".to_owned(),
                false => format!("no relation with facts and prompts ({})", reasons.join("; ")),
            };
            let names: Vec<&str> = files.iter().map(|(_, named)| *named).collect();
            return Err(wrong(&names.join(", "), &what));
        }
        Ok(library)
    }

    /// Omits relations of type N-M unless `wanted` by name, and returns their number.
    pub(crate) fn keep_functional(&mut self, wanted: &[String]) -> usize {
        let keep = |r: &mut Relation| r.kind != MANY_TO_MANY || wanted.contains(&r.id);
        let several: Vec<Relation> = self.relations.extract_if(.., |r| !keep(r)).collect();
        let reason = "subjects with several objects (N-M)";
        self.left_out.extend(several.iter().map(|r| (r.id.clone(), reason.to_owned())));
        several.len()
    }

    /// The first twelve hexadecimal digits of a SHA-256 over all relations.
    pub fn hash(&self) -> String {
        let json = serde_json::to_vec(&self.relations).unwrap_or_default();
        hex(&Sha256::digest(&json)[..6])
    }
}

fn wrong(place: &str, what: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: what.to_string(),
        r#where: place.to_owned(),
        hint: "`probity data show` lists the contents of a file; facts and prompts may be in different files of one folder".into(),
    }
}

/// Rows grouped by relation.
#[derive(Default)]
struct Gathered {
    order: Vec<String>,
    relations: HashMap<String, Relation>,
    /// Templates from a table of relations; they precede other prompts.
    templates: HashMap<String, Vec<String>>,
    /// Relation, subject and object of every fact.
    facts: HashSet<(String, String, String)>,
    rows: usize,
}

impl Gathered {
    fn relation(&mut self, id: &str) -> &mut Relation {
        if !self.relations.contains_key(id) {
            self.order.push(id.to_owned());
        }
        self.relations.entry(id.to_owned()).or_insert_with(|| Relation { id: id.to_owned(), ..Relation::default() })
    }

    fn add(&mut self, path: &Path, named: &str) -> Result<Source, Problem> {
        let set = Set::open(path).map_err(|e| wrong(named, &e))?;
        let mut unused: Vec<(&str, u64, u64)> = Vec::new();
        let go_on: Watch = Rc::new(|_| ControlFlow::Continue(()));
        let reports = set
            .rows_watched(&go_on, &mut |_, row, line| {
                self.rows += 1;
                if let Err(what) = self.row(&row) {
                    match unused.iter_mut().find(|(known, ..)| *known == what) {
                        Some((_, count, _)) => *count += 1,
                        None => unused.push((what, 1, line)),
                    }
                }
                if self.rows > MOST_ROWS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .map_err(|e| wrong(named, &e))?;
        if self.rows > MOST_ROWS {
            return Err(wrong(named, &format!("more than {MOST_ROWS} rows; use part of the file")));
        }
        let mut dropped = Vec::new();
        for (file, report) in set.files.iter().zip(&reports) {
            for (kind, drops) in report.dropped.iter() {
                let (name, title, line) = (set.name(&file.path), kind.title(), drops.first_line);
                let why = shortened(&drops.example, SHOWN);
                dropped.push(format!("{name}: {} × {title}, first in line {line}: {why}", drops.count));
            }
            if let Some(why) = &report.failed {
                dropped.push(format!("{}: {}", set.name(&file.path), shortened(why, SHOWN)));
            }
        }
        dropped.extend(unused.iter().map(|(what, n, line)| format!("{n} × {what}, first in line {line}")));
        let rows = reports.iter().map(|r| r.rows).sum();
        Ok(Source { path: named.to_owned(), title: set.title, rows, dropped })
    }

    /// Adds a row; the error is the reason why it cannot be used.
    fn row(&mut self, row: &Row<'_>) -> Result<(), &'static str> {
        match row {
            Row::Fact(f) => {
                let id = f.relation.as_deref().ok_or("facts without a relation")?.to_owned();
                let subject = f.subject.as_deref().ok_or("facts without a subject")?;
                let mut names = vec![subject.to_owned()];
                for alias in f.aliases.iter().flatten() {
                    if !names.iter().any(|n| **n == **alias) {
                        names.push(alias.to_string());
                    }
                }
                let fact = Fact { names, object: f.object.to_string() };
                if !self.facts.insert((id.clone(), subject.to_owned(), fact.object.clone())) {
                    return Err("duplicate facts");
                }
                self.relation(&id).facts.push(fact);
            }
            Row::Prompt(p) => {
                let id = p.relation.as_deref().ok_or("prompts without a relation")?.to_owned();
                let text = p.prompt.to_string();
                self.relation(&id).prompts.push(text);
            }
            Row::Relation(r) => {
                let templates = r.templates.iter().map(ToString::to_string);
                self.templates.entry(r.relation.to_string()).or_default().extend(templates);
                let relation = self.relation(&r.relation);
                if let Some(name) = r.name.as_deref() {
                    relation.label = name.to_owned();
                }
                if let Some(kind) = r.kind {
                    relation.kind = match kind {
                        RelationKind::OneToOne => "1-1",
                        RelationKind::ManyToOne => "N-1",
                        RelationKind::ManyToMany => MANY_TO_MANY,
                    }
                    .to_owned();
                }
                if let Some(answers) = &r.answers {
                    relation.answers = Some(answers.iter().map(ToString::to_string).collect());
                }
            }
            _ => return Err("rows that are neither facts nor prompts nor relations"),
        }
        Ok(())
    }

    fn finish(mut self) -> Library {
        let mut library = Library::default();
        for id in std::mem::take(&mut self.order) {
            let Some(mut relation) = self.relations.remove(&id) else { continue };
            let mut prompts = self.templates.remove(&id).unwrap_or_default();
            prompts.append(&mut relation.prompts);
            let mut seen = HashSet::new();
            prompts.retain(|p| seen.insert(p.clone()));
            relation.prompts = prompts;
            let reason = match (relation.facts.is_empty(), relation.prompts.is_empty()) {
                (true, true) => "neither facts nor prompts",
                (true, false) => "prompts without facts",
                (false, true) => "facts without prompts",
                (false, false) => {
                    library.relations.push(relation);
                    continue;
                }
            };
            library.left_out.push((id, reason.to_owned()));
        }
        library
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NoPulse;

    fn read(files: &[(&str, &str)]) -> Result<Library, Problem> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Library::read(&[(dir.path(), "mine")], &mut NoPulse)
    }

    #[test]
    fn built_in_relations_are_39_and_end_in_their_object() {
        let all = Library::built_in().unwrap();
        assert_eq!(all.relations.len(), 39);
        assert!(all.relations.iter().all(|r| r.prompts.len() >= 5 && r.answers().len() > 4));
        assert_eq!(all.hash(), Library::built_in().unwrap().hash());
    }

    #[test]
    fn folder_files_are_combined() {
        let library = read(&[
            ("facts.jsonl", "{\"relation\":\"P1\",\"subject\":\"a\",\"object\":\"b\",\"aliases\":[\"A\",\"a\"]}\n{\"relation\":\"P1\",\"subject\":\"a\",\"object\":\"b\"}\n{\"relation\":\"P2\",\"subject\":\"c\",\"object\":\"d\"}\n"),
            ("prompts.jsonl", "{\"relation\":\"P1\",\"prompt\":\"[X] has [Y] .\"}\n{\"relation\":\"P1\",\"prompt\":\"[X] is of [Y] .\"}\n{\"relation\":\"P3\",\"prompt\":\"[X] [Y]\"}\n"),
            ("relations.jsonl", "{\"relation\":\"P1\",\"template\":\"[X] is of [Y] .\",\"label\":\"of\",\"type\":\"N-1\"}\n"),
        ])
        .unwrap();
        let [p1] = &library.relations[..] else { panic!("{library:?}") };
        assert_eq!(p1.prompts, ["[X] is of [Y] .", "[X] has [Y] ."], "the template comes first");
        assert_eq!((p1.label.as_str(), p1.kind.as_str()), ("of", "N-1"));
        assert_eq!(p1.facts, [Fact { names: vec!["a".into(), "A".into()], object: "b".into() }]);
        let reasons: Vec<&str> = library.left_out.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(reasons, ["facts without prompts", "prompts without facts"]);
        assert_eq!(library.sources[0].rows, 7);
        // Regression: duplicates used to be dropped silently.
        assert_eq!(library.sources[0].dropped, ["1 × duplicate facts, first in line 2"]);
    }

    #[test]
    fn user_relations_extend_built_in_ones() {
        let dir = tempfile::tempdir().unwrap();
        let rows = "{\"relation\":\"own\",\"subject\":\"a\",\"object\":\"b\"}\n{\"relation\":\"capital\",\"subject\":\"Utopia\",\"object\":\"Amaurot\"}\n";
        std::fs::write(dir.path().join("facts.jsonl"), rows).unwrap();
        let prompts = "{\"relation\":\"own\",\"prompt\":\"[X] has [Y] .\"}\n{\"relation\":\"capital\",\"prompt\":\"[X] : [Y]\"}\n";
        std::fs::write(dir.path().join("prompts.jsonl"), prompts).unwrap();
        let built_in = Library::built_in().unwrap();
        let all = Library::beside(built_in.clone(), &[(dir.path(), "mine")], &mut NoPulse).unwrap();
        assert_eq!(all.relations.len(), 40);
        assert_eq!(all.relations[39].id, "own");
        let capital = |l: &Library| l.relations.iter().find(|r| r.id == "capital").unwrap().clone();
        let (before, after) = (capital(&built_in), capital(&all));
        assert_eq!(after.prompts, [&before.prompts[..], &["[X] : [Y]".to_owned()]].concat());
        assert_eq!(after.facts.len(), before.facts.len() + 1);
        assert_eq!((after.kind, after.label), (before.kind, before.label));
        assert_eq!(all.relations[1..39], built_in.relations[1..]);
        assert!(after.fitted && !all.relations[39].fitted, "a file does not change how built-in names are inserted");
    }

    #[test]
    fn file_without_relation_is_refused() {
        let printed =
            read(&[("facts.jsonl", "{\"relation\":\"P1\",\"subject\":\"a\",\"object\":\"b\"}\n")]).unwrap_err();
        assert!(printed.what.contains("P1: facts without prompts") && printed.r#where == "mine", "{printed}");
        // Regression: the message for a prompt without a slot used to omit the row and the missing part.
        let fact = ("facts.jsonl", "{\"relation\":\"P1\",\"subject\":\"a\",\"object\":\"b\"}\n");
        for (prompt, gap) in [("of [Y] .", "[X]"), ("[X] has .", "[Y]")] {
            let row = format!("{{\"relation\":\"P1\",\"prompt\":\"{prompt}\"}}\n");
            let printed = read(&[fact, ("prompts.jsonl", &row)]).unwrap_err();
            let names_the_row = printed.what.contains("prompts.jsonl: line 1");
            assert!(names_the_row && printed.what.contains(gap), "{printed}");
            let both = row + "{\"relation\":\"P1\",\"prompt\":\"[X] has [Y] .\"}\n";
            let dropped = &read(&[fact, ("prompts.jsonl", &both)]).unwrap().sources[0].dropped;
            assert!(dropped.len() == 1 && dropped[0].contains("line 1") && dropped[0].contains(gap), "{dropped:?}");
        }
        let printed = Library::read(&[(Path::new("/nowhere/x"), "x")], &mut NoPulse).unwrap_err();
        assert!(printed.what.contains("cannot open"), "{printed}");
    }
}

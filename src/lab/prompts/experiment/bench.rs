//! Inputs of a run: the models with their vocabularies, the relations with their queries, and the answers so far.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::asking::unsayable;
use super::tuning::{self, Searched};
use crate::Host;
use crate::adjust::WeightError;
use crate::answers::{Answers, Shape};
use crate::candidates::{Candidates, Reply, folded};
use crate::finding::LeftOut;
use crate::function_words::FunctionWords;
use crate::library::{Fact, Library, Relation};
use crate::query::Asker;
use crate::relations::Relations;
use crate::rule::Rule;
use crate::spec::{NO_WORDS, OWN_WORDS, Spec, UserWeights, Weighting, is_prompt};
use crate::vocabulary::{Common, Words, common};
use base::{Problem, Pulse};
use corpus::facts::OBJECT;
use lab::fault::{Fault, problem};
use lab::finding::Label;
use lab::host::NoticeLevel;

use model::Model;

/// Maximum number of omitted words listed per reason.
pub(crate) const LISTED: usize = 200;

pub(crate) struct Member {
    pub name: String,
    pub model: Arc<Model>,
    pub words: Words,
    /// The label of findings about this model.
    pub label: Label,
}

/// Inputs of a run, ready for queries.
pub(crate) struct Bench {
    pub spec: Spec,
    /// The models, in the order of the spec.
    pub members: Vec<Member>,
    /// The usable relations and their sources.
    pub library: Library,
    pub function_words: FunctionWords,
    /// Words shared by all models.
    pub common: Common,
    /// The label of findings about all models.
    pub label: Label,
    /// The relations evaluated so far.
    pub entries: Vec<Entry>,
    /// By relation: the facts used to search for prompts, and the prompts found so far.
    pub searches: HashMap<String, Searched>,
}

/// A relation with the prompts and facts in use.
pub(crate) struct Entry {
    pub relation: Relation,
    /// The prompts in use.
    pub prompts: Vec<String>,
    /// The omitted prompts.
    pub prompts_left_out: Vec<LeftOut>,
    /// The facts queried in every model, with the mentions in use.
    pub facts: Vec<Fact>,
    /// The omitted facts, with reasons.
    pub left_out: Vec<(Fact, String)>,
    /// By model: the answers, and the ranks of the objects.
    pub scored: Vec<Scored>,
    /// The answered words, by their numbers in [`Answers::said`].
    pub said: Said,
}

/// One model's answers with the ranks of the objects.
pub(crate) struct Scored {
    pub answers: Answers,
    /// Ranks by query.
    pub ranks: Vec<Option<u32>>,
}

/// The distinct words answered, numbered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    words: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Said {
    fn number(&mut self, word: &str, ignore_case: bool) -> u32 {
        let next = self.words.len() as u32;
        let number = *self.numbers.entry(folded(word, ignore_case)).or_insert(next);
        if number == next {
            self.words.push(word.to_owned());
        }
        number
    }

    pub(crate) fn word(&self, number: u32) -> &str {
        self.words.get(number as usize).map_or("", String::as_str)
    }
}

/// Replies to every combination of some prompts with some facts; `None` for an unusable query.
pub(crate) type Replies = Vec<Option<Reply>>;

impl Bench {
    /// Loads models and relations without querying.
    pub(crate) fn open(spec: &Spec, host: &mut Host<'_>) -> Result<Self, Fault> {
        let function_words = match (spec.query.function_words.as_str(), spec.words_path()) {
            (_, Some(path)) => FunctionWords::read(&path).map_err(Fault::Failed)?,
            (NO_WORDS, _) => FunctionWords::none(),
            (OWN_WORDS, _) | (_, None) => FunctionWords::own(),
        };
        let mut library = library(spec, host)?;
        let searches = tuning::hold_out(spec, &mut library);
        let mut members = Vec::new();
        for name in &spec.models {
            let model = host.model(name)?;
            Asker::new(&model)?;
            let words = Words::new(model.tokenizer()?, &function_words, spec.query.ignore_case)?;
            let label = Label::new(spec, name);
            members.push(Member { name: name.clone(), model, words, label });
            host.poll()?;
        }
        let common = common(&members.iter().map(|m| &m.words).collect::<Vec<_>>(), &function_words);
        let label = Label::new(spec, crate::finding::ALL);
        let spec = spec.clone();
        let bench = Self { spec, members, library, function_words, common, label, entries: Vec::new(), searches };
        tuning::check(&bench)?;
        if bench.spec.query.candidates == Candidates::Intersection && bench.common.words.is_empty() {
            let what = "the chosen models have no word in common";
            let hint = "choose other models, or `query.candidates = \"vocabulary\"`";
            return Err(problem(&what, "query.candidates", hint).into());
        }
        bench.check_weights()?;
        bench.warn_of_identical_models(host)?;
        Ok(bench)
    }

    /// Warns of models with identical weights, whose ranks would depend only on the rule for ties.
    fn warn_of_identical_models(&self, host: &mut Host<'_>) -> Result<(), Fault> {
        for (k, a) in self.members.iter().enumerate() {
            for b in self.members[k + 1..].iter().filter(|b| b.model.hash() == a.model.hash()) {
                let what = format!(
                    "{} and {} have the same weights: their gap is 0, and their ranks depend only on the rule for ties",
                    a.name, b.name
                );
                let hint = "remove one of them, or set `ranks.ties = \"mean_place\"`".into();
                let problem = Problem { what, r#where: "models".into(), hint };
                host.notice(NoticeLevel::Warning, problem)?;
            }
        }
        Ok(())
    }

    /// Checks, before hours of queries, that the user gave every relation one weight per prompt.
    fn check_weights(&self) -> Result<(), Problem> {
        if self.spec.adjust.weights != Weighting::User {
            return Ok(());
        }
        for relation in &self.library.relations {
            let Some(user) = self.spec.adjust.user.get(&relation.id) else { continue };
            let wanted = self.prompts(relation).0.len();
            let found = match user {
                UserWeights::Prompts(list) => list.len(),
                UserWeights::Joint(table) => table.len(),
            };
            if found != wanted {
                let printed = WeightError::Prompts { found, wanted };
                let hint = "give one weight for each prompt, in the order of the prompts";
                return Err(problem(&format!("{}: {printed}", relation.id), "adjust.user", hint));
            }
        }
        Ok(())
    }

    /// The rule for candidates, as recorded in findings.
    pub(crate) fn candidates(&self) -> Option<Candidates> {
        Some(self.spec.query.candidates)
    }

    /// The entry of the relation with this name, once it has been queried.
    pub(crate) fn entry(&self, relation: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.relation.id == relation)
    }

    /// The relation's prompts, used and omitted.
    pub(crate) fn prompts(&self, relation: &Relation) -> (Vec<String>, Vec<LeftOut>) {
        let own = self.spec.data.own.get(&relation.id).into_iter().flatten();
        let found = self.searches.get(&relation.id).into_iter().flat_map(|s| s.found.iter().map(|f| &f.prompt));
        let most = self.spec.data.prompts.unwrap_or(usize::MAX);
        let causal = self.members.iter().find(|m| m.model.arch().is_causal());
        let (mut kept, mut left_out): (Vec<String>, Vec<LeftOut>) = (Vec::new(), Vec::new());
        for prompt in relation.prompts.iter().take(most).chain(own).chain(found) {
            match refused(prompt, causal.map(|m| m.name.as_str())) {
                _ if kept.contains(prompt) => {}
                None => kept.push(prompt.clone()),
                Some(reason) => leave_out(&mut left_out, reason, prompt),
            }
        }
        (kept, left_out)
    }

    /// The relation's facts with the mentions in use.
    pub(crate) fn facts(&self, relation: &Relation) -> Vec<Fact> {
        let most = self.spec.data.instances.unwrap_or(usize::MAX);
        let mentions = self.spec.data.mentions;
        let cut = |f: &Fact| Fact { names: f.names.iter().take(mentions).cloned().collect(), object: f.object.clone() };
        relation.facts.iter().take(most).map(cut).collect()
    }

    /// The reason why a fact cannot be queried in every model, if any.
    fn unfit(&self, fact: &Fact, rules: &[Rule], replies: &[&[Option<Reply>]]) -> Result<Option<String>, Fault> {
        for ((m, rule), replies) in self.members.iter().zip(rules).zip(replies) {
            if let Some(why) = unsayable(m, rule, &fact.object)? {
                return Ok(Some(why));
            }
            if replies.iter().any(Option::is_none) {
                return Ok(Some(format!("a query is too long for {}, or has no text before the answer", m.name)));
            }
        }
        Ok(None)
    }

    /// Adds a relation with the replies of all models (by model, then by prompt): finds the facts usable with every model, and each model's
    /// right answers.
    pub(crate) fn enter(
        &mut self,
        relation: Relation,
        prompts: (Vec<String>, Vec<LeftOut>),
        facts: Vec<Fact>,
        replies: &[Vec<Replies>],
    ) -> Result<usize, Fault> {
        let rules: Vec<Rule> = (0..self.members.len()).map(|k| self.rule(&relation, k)).collect::<Result<_, _>>()?;
        let mut places = Vec::new();
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        let mut at = 0;
        for fact in facts {
            let range = at..at + fact.names.len();
            at = range.end;
            let all: Vec<Vec<Option<Reply>>> = replies
                .iter()
                .map(|by_prompt| by_prompt.iter().flat_map(|row| row[range.clone()].iter().copied()).collect())
                .collect();
            match self.unfit(&fact, &rules, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())? {
                Some(reason) => left_out.push((fact, reason)),
                None => {
                    places.extend(range);
                    kept.push(fact);
                }
            }
        }
        let counts: Vec<usize> = kept.iter().map(|f| f.names.len()).collect();
        let shape = Arc::new(Shape::new(prompts.0.len(), &counts));
        let mut said = Said::default();
        let ignore_case = self.spec.query.ignore_case;
        let scored = self
            .members
            .iter()
            .zip(&rules)
            .zip(replies)
            .map(|((m, rule), by_prompt)| {
                let queries = by_prompt.iter().flat_map(|row| places.iter().filter_map(|at| row[*at]));
                let queries: Vec<Reply> = queries.collect();
                let objects = || kept.iter().flat_map(|f| f.names.iter().map(|_| f.object.as_str()));
                let objects = (0..prompts.0.len()).flat_map(|_| objects());
                let text = |r: &Reply| rule.said(&m.words.strings, *r);
                let right = queries.iter().zip(objects).map(|(r, o)| m.words.strings.same(text(r), o)).collect();
                let numbers = queries.iter().map(|r| said.number(text(r), ignore_case)).collect();
                let ranks = queries.iter().map(|r| r.rank).collect();
                Scored { answers: Answers::new(shape.clone(), numbers, right), ranks }
            })
            .collect();
        let (prompts, prompts_left_out) = prompts;
        self.entries.push(Entry { relation, prompts, prompts_left_out, facts: kept, left_out, scored, said });
        Ok(self.entries.len() - 1)
    }
}

impl Entry {
    pub(crate) fn reasons(&self) -> Vec<LeftOut> {
        let mut all = Vec::new();
        for (fact, reason) in &self.left_out {
            let what = match reason.contains("object") {
                true => &fact.object,
                false => &fact.names[0],
            };
            leave_out(&mut all, reason.clone(), what);
        }
        all
    }
}

fn leave_out(list: &mut Vec<LeftOut>, reason: String, what: &str) {
    let at = list.iter().position(|l| l.reason == reason).unwrap_or_else(|| {
        list.push(LeftOut { reason, count: 0, what: Vec::new() });
        list.len() - 1
    });
    list[at].count += 1;
    if list[at].what.len() < LISTED && !list[at].what.iter().any(|w| w == what) {
        list[at].what.push(what.to_owned());
    }
}

/// The reason why a prompt cannot be used, if any. `causal` names a model that reads only from left to right.
pub fn refused(prompt: &str, causal: Option<&str>) -> Option<String> {
    if !is_prompt(prompt) {
        return Some("it does not contain [X] and [Y] once each".into());
    }
    let after = prompt.split_once(OBJECT).map_or("", |(_, after)| after);
    let before = prompt.split_once(OBJECT).map_or("", |(before, _)| before);
    let last = matches!(after.trim(), "" | "." | "?" | "!") && !before.trim().is_empty();
    causal.filter(|_| !last).map(|name| format!("[Y] is not last, so {name} cannot predict it"))
}

fn library(spec: &Spec, host: &mut Host<'_>) -> Result<Library, Fault> {
    let paths = spec.data.paths();
    let files: Vec<(&Path, &str)> =
        paths.iter().map(AsRef::as_ref).zip(spec.data.files.iter().map(String::as_str)).collect();
    let built_in = if spec.data.whole { Library::built_in().map_err(Fault::Failed)? } else { Library::default() };
    let mut library = match files.is_empty() {
        true => Library::built_in().map_err(Fault::Failed)?,
        false => {
            struct Lent<'a>(&'a mut Host<'a>);
            impl Pulse for Lent<'_> {
                fn beat(&mut self, _: usize, _: usize) -> Result<(), base::Cancelled> {
                    self.0.poll()
                }
            }
            let there = if spec.data.built_in { Library::built_in() } else { Ok(Library::default()) };
            Library::beside(there.map_err(Fault::Failed)?, &files, &mut Lent(host)).map_err(Fault::Failed)?
        }
    };
    host.poll()?;
    let wanted = &spec.data.relations;
    left_out(&library.left_out, wanted, host)?;
    let known: Vec<String> = library.relations.iter().map(|r| r.id.clone()).collect();
    if let Some((key, unknown)) = spec.named().find(|(_, r)| !known.iter().any(|k| k == r)) {
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let what = base::suggest::unknown("relation", unknown, &names);
        return Err(Problem { what, r#where: key.into(), hint: "correct the name".into() }.into());
    }
    if *wanted != Relations::All {
        functional(&mut library, wanted, host)?;
    }
    if !wanted.is_empty() {
        // Facts that a file adds to a built-in relation are queried together with the built-in ones.
        let added = |r: &Relation| spec.data.whole && !built_in.relations.contains(r);
        library.relations.retain(|r| wanted.contains(&r.id) || added(r));
    }
    unused(spec, &library, host)?;
    Ok(library)
}

/// Omits relations whose subjects have several objects, and reports their number.
fn functional(library: &mut Library, wanted: &[String], host: &mut Host<'_>) -> Result<(), Fault> {
    let all = library.relations.len();
    let left_out = library.keep_functional(wanted);
    if left_out == 0 {
        return Ok(());
    }
    let hint =
        "set relations = \"all\" under [data] to include them, or list the identifiers of those you want".to_owned();
    let what = format!("{left_out} of {all} relations are left out: their subjects have several objects (N-M)");
    let problem = Problem { what, r#where: "data.relations".into(), hint };
    match left_out == all {
        true => Err(problem.into()),
        false => Ok(host.notice(NoticeLevel::Warning, problem)?),
    }
}

/// Reports parts of the spec that have no effect on the run.
fn unused(spec: &Spec, library: &Library, host: &mut Host<'_>) -> Result<(), Fault> {
    let mut tell = |key: &str, what: String, hint: &str| {
        let problem = Problem { what, r#where: key.into(), hint: hint.into() };
        host.notice(NoticeLevel::Warning, problem)
    };
    let asked = |id: &str| library.relations.iter().any(|r| r.id == id);
    for (key, id) in spec.named().filter(|(_, id)| !asked(id)) {
        let what = format!("the values for relation {id} are ignored: the relation is not in the run");
        tell(key, what, "add the relation to `data.relations`, or remove the values")?;
    }
    if !spec.adjust.user.is_empty() && spec.adjust.weights != Weighting::User {
        let what = format!("these weights are ignored: `adjust.weights` is {}", spec.adjust.weights.name());
        tell("adjust.user", what, "set weights = \"user\" in [adjust], or remove them")?;
    }
    let prompts = |r: &Relation| {
        let shipped = r.prompts.len().min(spec.data.prompts.unwrap_or(usize::MAX));
        shipped + spec.data.own.get(&r.id).map_or(0, Vec::len)
    };
    let most = library.relations.iter().map(prompts).max().unwrap_or(0);
    if let Some(wanted) = spec.adjust.prompts.filter(|n| *n > most) {
        let what = format!(
            "{wanted} prompts per relation are requested, but no relation has more than {most}: all are averaged"
        );
        tell("adjust.prompts", what, "lower the number, or omit the key")?;
    }
    Ok(())
}

const NAMED: usize = 3;

/// Reports relations that have facts but no prompts, or prompts but no facts. For a relation requested by name, this is an error.
fn left_out(all: &[(String, String)], wanted: &[String], host: &mut Host<'_>) -> Result<(), Fault> {
    let hint = || {
        "facts and prompts of a relation may be in different files, but need the same relation name; `probity data show` lists both".to_owned()
    };
    if let Some((id, why)) = all.iter().find(|(id, _)| wanted.contains(id)) {
        let what = format!("relation {id} has {why}");
        return Err(Problem { what, r#where: "data.relations".into(), hint: hint() }.into());
    }
    if all.is_empty() || !wanted.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = all.iter().take(NAMED).map(|(id, why)| format!("{id} has {why}")).collect();
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    let what = format!("relations are left out: {}{more}", named.join("; "));
    Ok(host.notice(NoticeLevel::Warning, Problem { what, r#where: "data.files".into(), hint: hint() })?)
}

//! Queries a model of the run: the possible answers, the usable facts, and the replies to every prompt under every name.

use std::collections::HashMap;

use rayon::prelude::*;

use super::bench::{Bench, Member, Replies};
use super::stored::{self, Known};
use crate::Host;
use crate::candidates::{Candidates, Reply, from_list, from_vocabulary};
use crate::library::{Fact, Relation};
use crate::query::{Asker, Encoded};
use crate::rule::{Rule, Word, replies as pll};
use lab::fault::Fault;
use model::chunk::TOKENS_PER_BATCH;
use model::{ModelError, Tokenizer};

/// Number of queries encoded and run together, rounded to whole prompts. Small enough that long relations report progress and can be
/// cancelled within seconds, large enough to fill batches of equal length.
const TOGETHER: usize = 8192;

struct Query<'a> {
    /// Index of the prompt among the prompts queried together.
    prompt: usize,
    /// Index of the name among the names of all facts.
    at: usize,
    object: &'a str,
    encoded: Encoded,
}

impl Bench {
    /// The rule for a model's answers about a relation; its list is empty if the models share no answer.
    pub(crate) fn rule(&self, relation: &Relation, member: usize) -> Result<Rule, Fault> {
        match self.spec.query.candidates {
            Candidates::Vocabulary => Ok(Rule::Vocabulary),
            Candidates::Intersection => Ok(Rule::Tokens(self.common.ids[member].clone())),
            Candidates::Relation => {
                let each = self.producible(relation, |m, tokenizer, answer| m.words.object(tokenizer, answer))?;
                Ok(Rule::Tokens(each.into_iter().map(|(_, ids)| ids[member]).collect()))
            }
            Candidates::RelationPll => {
                let each = self.producible(relation, |m, tokenizer, answer| m.words.tokens(tokenizer, answer))?;
                let word = |(text, mut ids): (String, Vec<Vec<u32>>)| Word { text, ids: ids.swap_remove(member) };
                Ok(Rule::Words(each.into_iter().map(word).collect()))
            }
        }
    }

    /// The relation's answers that every model can produce, with each model's tokens.
    fn producible<T>(
        &self,
        relation: &Relation,
        say: impl Fn(&Member, &Tokenizer, &str) -> Result<Option<T>, ModelError>,
    ) -> Result<Vec<(String, Vec<T>)>, Fault> {
        let mut all = Vec::new();
        for answer in relation.answers() {
            let each: Option<Vec<T>> =
                self.members.iter().map(|m| say(m, m.model.tokenizer()?, &answer)).collect::<Result<_, _>>()?;
            all.extend(each.map(|each| (answer, each)));
        }
        Ok(all)
    }

    /// Queries one model with every prompt and every mention of every fact, reusing stored replies.
    pub(crate) fn ask(
        &self,
        member: usize,
        relation: &Relation,
        prompts: &[String],
        facts: &[Fact],
        host: &mut Host<'_>,
    ) -> Result<Vec<Replies>, Fault> {
        let rule = self.rule(relation, member)?;
        let m = &self.members[member];
        let key = stored::key(m, &self.spec.query, &self.function_words, &rule, (facts, relation.fitted));
        let store = host.store();
        let mut known = Known::read(store.trained(&key), facts);
        let missing: Vec<&String> = prompts.iter().filter(|p| known.get(p).is_none()).collect();
        if !missing.is_empty() {
            let asked = self.fresh(member, &rule, &missing, (facts, relation.fitted), host)?;
            for (prompt, replies) in missing.into_iter().zip(asked) {
                known.put(prompt, replies);
            }
            // An answer that cannot be stored is computed again next time.
            let _ = store.keep_trained(&key, &known.bytes());
        }
        Ok(prompts.iter().map(|p| known.get(p).cloned().unwrap_or_default()).collect())
    }

    /// Queries without using the store. `fitted` has the same meaning as [`Relation::fitted`].
    pub(crate) fn fresh(
        &self,
        member: usize,
        rule: &Rule,
        prompts: &[&String],
        (facts, fitted): (&[Fact], bool),
        host: &mut Host<'_>,
    ) -> Result<Vec<Replies>, Fault> {
        let m = &self.members[member];
        let asker = Asker::new(&m.model)?.fitting(fitted);
        let width: usize = facts.iter().map(|f| f.names.len()).sum();
        let mut replies: Vec<Replies> = vec![vec![None; width]; prompts.len()];
        let names = names(m, rule, facts)?;
        let (total, together) = (prompts.len() * names.len(), (TOGETHER / names.len().max(1)).max(1));
        for (part, (some, told)) in prompts.chunks(together).zip(replies.chunks_mut(together)).enumerate() {
            host.poll()?;
            let (queries, before) = (written(&asker, some, &names)?, part * together * names.len());
            let between = |done: usize| -> Result<(), Fault> { Ok(host.beat(before + done, total)?) };
            for (query, reply) in queries.iter().zip(read(m, &asker, rule, &queries, between)?) {
                told[query.prompt][query.at] = reply;
            }
        }
        Ok(replies)
    }
}

/// The names of all facts usable with a model, each with its index among all names and its object. Facts whose object the model cannot
/// produce are excluded because they would not measure its knowledge.
fn names<'a>(m: &Member, rule: &Rule, facts: &'a [Fact]) -> Result<Vec<(usize, &'a str, &'a str)>, Fault> {
    let places = facts.iter().flat_map(|f| f.names.iter().map(move |name| (name.as_str(), f.object.as_str())));
    let says: Vec<bool> = producible(m, rule, facts)?
        .into_iter()
        .zip(facts)
        .flat_map(|(says, f)| f.names.iter().map(move |_| says))
        .collect();
    let all = places.enumerate().map(|(at, (name, object))| (at, name, object));
    Ok(all.zip(says).filter(|(_, says)| *says).map(|(name, _)| name).collect())
}

/// For each fact, true if the model can produce its object under the rule.
pub(crate) fn producible(m: &Member, rule: &Rule, facts: &[Fact]) -> Result<Vec<bool>, Fault> {
    // Results are cached, because many facts of a relation have the same object.
    let mut known: HashMap<&str, bool> = HashMap::new();
    let mut all = Vec::with_capacity(facts.len());
    for fact in facts {
        let says = match known.get(fact.object.as_str()) {
            Some(says) => *says,
            None => unsayable(m, rule, &fact.object)?.is_none(),
        };
        known.insert(&fact.object, says);
        all.push(says);
    }
    Ok(all)
}

/// Encodes every prompt with every name, on all threads. Omits queries that are too long for the model.
fn written<'a>(
    asker: &Asker<'_>,
    prompts: &[&String],
    names: &[(usize, &'a str, &'a str)],
) -> Result<Vec<Query<'a>>, Fault> {
    let one = |k: usize| -> Result<Option<Query<'a>>, ModelError> {
        let (prompt, (at, name, object)) = (k / names.len(), names[k % names.len()]);
        let encoded = asker.encode(prompts[prompt], name)?;
        Ok(encoded.map(|encoded| Query { prompt, at, object, encoded }))
    };
    let all: Vec<Option<Query<'a>>> =
        (0..prompts.len() * names.len()).into_par_iter().map(one).collect::<Result<_, _>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// A model's replies, in the order of the queries. `between` receives the number of finished queries.
fn read(
    m: &Member,
    asker: &Asker<'_>,
    rule: &Rule,
    queries: &[Query<'_>],
    between: impl FnMut(usize) -> Result<(), Fault>,
) -> Result<Vec<Option<Reply>>, Fault> {
    if let Rule::Words(words) = rule {
        let asked: Vec<(&Encoded, &str)> = queries.iter().map(|q| (&q.encoded, q.object)).collect();
        return pll(asker, &asked, (words, &m.words.strings), TOKENS_PER_BATCH, between);
    }
    let encoded: Vec<&Encoded> = queries.iter().map(|q| &q.encoded).collect();
    let tokens = if let Rule::Tokens(ids) = rule { Some(ids.as_slice()) } else { None };
    let reply = |k: usize, logits: &[f32]| match tokens {
        None => Some(from_vocabulary(&m.words.strings, logits, queries[k].object)),
        Some(ids) => from_list(&m.words.strings, ids, logits, queries[k].object),
    };
    asker.read(&encoded, tokens, TOKENS_PER_BATCH, reply, between)
}

/// The reason why a model cannot produce an object under a rule, if any.
pub(crate) fn unsayable(m: &Member, rule: &Rule, object: &str) -> Result<Option<String>, Fault> {
    if let Rule::Words(words) = rule {
        let is_word = words.iter().any(|w| m.words.strings.same(&w.text, object));
        return Ok((!is_word).then(|| "its object is not in the models' shared vocabulary".into()));
    }
    let id = m.words.object(m.model.tokenizer()?, object)?;
    Ok(match rule {
        _ if id.is_none() => Some(format!("its object is not one token in {}", m.name)),
        // A closed set of answers need not contain every object.
        Rule::Tokens(ids) if ids.is_empty() => {
            Some("no answer of the relation is a single token in every model".into())
        }
        _ => None,
    })
}

//! Early results of a relation while models are being queried.
//!
//! The facts and prompts that will be used are reported before the first query, and each model's scores as soon as it has answered. The
//! tokenizers alone determine the facts, apart from queries that turn out to be too long. Everything is reported again once every model has
//! answered. The first relation is queried with the usual names before the run is forecast, because the forecast's measurements take longer
//! than these queries.

use super::asking::unsayable;
use super::bench::{Bench, Entry, Replies, Said};
use super::relation::{report_relation, score};
use super::stored::{self, Known};
use crate::Host;
use crate::finding::Kind;
use crate::library::{Fact, Relation};
use crate::rule::Rule;
use lab::fault::Fault;

/// Minimum number of queries per model for which a relation is reported early.
const LONG: usize = 2_000;
/// Maximum number of queries per model for which the usual names of the first relation are queried in advance.
const FEW: usize = 1_000;

pub(crate) struct Early {
    /// The relation without answers.
    entry: Entry,
    /// For each kept fact, the index of its usual name among the queries of a prompt.
    places: Vec<usize>,
    rules: Vec<Rule>,
}

impl Early {
    /// Prepares early reports on a relation; `None` unless it is the first one or has many queries.
    pub(crate) fn of(bench: &Bench, relation: &Relation, is_first: bool) -> Result<Option<Self>, Fault> {
        let ((prompts, prompts_left_out), facts) = (bench.prompts(relation), bench.facts(relation));
        let width: usize = facts.iter().map(|f| f.names.len()).sum();
        if !is_first && prompts.len() * width < LONG {
            return Ok(None);
        }
        let rules: Vec<Rule> = (0..bench.members.len()).map(|k| bench.rule(relation, k)).collect::<Result<_, _>>()?;
        let (mut kept, mut left_out, mut places, mut at) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for fact in facts {
            let place = at;
            at += fact.names.len();
            let mut why = None;
            for (member, rule) in bench.members.iter().zip(&rules) {
                why = unsayable(member, rule, &fact.object)?;
                if why.is_some() {
                    break;
                }
            }
            match why {
                Some(why) => left_out.push((fact, why)),
                None => {
                    places.push(place);
                    kept.push(fact);
                }
            }
        }
        let entry = Entry {
            relation: relation.clone(),
            prompts,
            prompts_left_out,
            facts: kept,
            left_out,
            scored: Vec::new(),
            said: Said::default(),
        };
        Ok(Some(Self { entry, places, rules }))
    }

    /// Reports the facts and prompts that will be used.
    pub(crate) fn announce(&self, bench: &Bench, host: &mut Host<'_>) -> Result<(), Fault> {
        report_relation(bench, &self.entry, None, host)
    }

    /// If there are few queries, queries every model with the usual names, reports its scores, and returns true. Stored replies are used.
    /// New replies are not stored; they are computed again together with the other names.
    pub(crate) fn report_early(&self, bench: &Bench, host: &mut Host<'_>) -> Result<bool, Fault> {
        let Entry { relation, prompts, facts, .. } = &self.entry;
        let races = self.rules.iter().any(|rule| matches!(rule, Rule::Words(_)));
        if races || prompts.is_empty() || facts.is_empty() || prompts.len() * facts.len() > FEW {
            return Ok(false);
        }
        let usual: Vec<Fact> = facts.iter().map(|f| Fact { names: f.names[..1].to_vec(), ..f.clone() }).collect();
        let places: Vec<usize> = (0..usual.len()).collect();
        let (all, asked): (Vec<Fact>, Vec<&String>) = (bench.facts(relation), prompts.iter().collect());
        for (k, (m, rule)) in bench.members.iter().zip(&self.rules).enumerate() {
            host.stage(format!("{}: {}", relation.id, m.name), "queries", 0.0);
            let about = (&all[..], relation.fitted);
            let key = stored::key(m, &bench.spec.query, &bench.function_words, rule, about);
            let known = Known::read(host.store().trained(&key), &all);
            let stored: Option<Vec<Replies>> = prompts.iter().map(|p| known.get(p).cloned()).collect();
            match stored {
                Some(replies) => self.tell(bench, k, (&replies, &self.places), host)?,
                None => {
                    let replies = bench.fresh(k, rule, &asked, (&usual, relation.fitted), host)?;
                    self.tell(bench, k, (&replies, &places), host)?;
                }
            }
        }
        Ok(true)
    }

    /// Reports one model's scores from its replies to all names, by prompt.
    pub(crate) fn tell_all(
        &self,
        bench: &Bench,
        member: usize,
        replies: &[Replies],
        host: &mut Host<'_>,
    ) -> Result<(), Fault> {
        self.tell(bench, member, (replies, &self.places), host)
    }

    /// Reports one model's scores from its replies by prompt. `places` has the index of each fact's usual name among them.
    fn tell(
        &self,
        bench: &Bench,
        member: usize,
        (replies, places): (&[Replies], &[usize]),
        host: &mut Host<'_>,
    ) -> Result<(), Fault> {
        let (m, rule) = (&bench.members[member], &self.rules[member]);
        for (p, (prompt, row)) in self.entry.prompts.iter().zip(replies).enumerate() {
            let each = places.iter().zip(&self.entry.facts);
            let (right, ranks): (Vec<bool>, Vec<Option<u32>>) = each
                .filter_map(|(at, fact)| {
                    let reply = (*row.get(*at)?)?;
                    Some((m.words.strings.same(rule.said(&m.words.strings, reply), &fact.object), reply.rank))
                })
                .unzip();
            if right.is_empty() {
                continue;
            }
            let asked = (self.entry.relation.id.as_str(), prompt.as_str(), Some(p));
            let found = score(bench, asked, (&right, &ranks));
            let t = host.elapsed();
            host.find(m.label.finding(right.len(), false, t, Kind::PromptScore(found)))?;
        }
        Ok(())
    }
}

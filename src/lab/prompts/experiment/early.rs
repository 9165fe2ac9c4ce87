//! A relation while its models are still being asked: which of its facts and prompts will be asked, told before the first
//! query, and each model's scores as soon as that model has answered. Which facts stay is known from the tokenizers alone, but
//! for queries that turn out to be too long; all of it is told again when every model has answered.

use super::asking::unsayable;
use super::bench::{Bench, Entry, Replies, Said};
use super::relation::{report_relation, score};
use crate::lab::fault::Fault;
use crate::lab::host::Host;
use crate::lab::prompts::finding::Kind;
use crate::lab::prompts::library::Relation;
use crate::lab::prompts::rule::Rule;
use crate::stats::bootstrap::Resamples;

/// Queries of one model from which on a relation takes long enough to be told model by model.
const LONG: usize = 2_000;

/// A relation whose models are being asked.
pub struct Early {
    /// The relation without answers.
    entry: Entry,
    /// By fact that stays: the place of its usual name among the queries of a prompt.
    places: Vec<usize>,
    rules: Vec<Rule>,
}

impl Early {
    /// What can be said of a relation before any model is asked, where that is worth its while: of the first one, and of those
    /// with many queries.
    ///
    /// # Errors
    /// Those of tokenizers.
    pub fn of(bench: &Bench, relation: &Relation, is_first: bool) -> Result<Option<Self>, Fault> {
        let ((prompts, prompts_left_out), facts) = (bench.prompts(relation), bench.facts(relation));
        let width: usize = facts.iter().map(|f| f.names.len()).sum();
        if !is_first && prompts.len() * width < LONG {
            return Ok(None);
        }
        let rules: Vec<Rule> =
            (0..bench.members.len()).map(|k| bench.rule(relation, k)).collect::<Result<_, _>>()?;
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

    /// Tells which facts and prompts will be asked.
    ///
    /// # Errors
    /// [`Fault::Cancelled`].
    pub fn announce(&self, bench: &Bench, host: &mut dyn Host) -> Result<(), Fault> {
        report_relation(bench, &self.entry, None, host)
    }

    /// Tells the scores of one model, whose replies are by prompt.
    ///
    /// # Errors
    /// [`Fault::Cancelled`].
    pub fn tell(
        &self,
        bench: &Bench,
        member: usize,
        replies: &[Replies],
        host: &mut dyn Host,
    ) -> Result<(), Fault> {
        let (m, rule) = (&bench.members[member], &self.rules[member]);
        for (p, (prompt, row)) in self.entry.prompts.iter().zip(replies).enumerate() {
            let each = self.places.iter().zip(&self.entry.facts);
            let (right, ranks): (Vec<bool>, Vec<Option<u32>>) = each
                .filter_map(|(at, fact)| {
                    let reply = (*row.get(*at)?)?;
                    Some((m.words.strings.same(rule.said(&m.words.strings, reply), &fact.object), reply.rank))
                })
                .unzip();
            if right.is_empty() {
                continue;
            }
            let resamples = Resamples::new(right.len(), bench.spec.interval.resamples, bench.spec.seed);
            let asked = (self.entry.relation.id.as_str(), prompt.as_str(), Some(p));
            let found = score(bench, asked, (&right, &ranks), &resamples);
            let t = host.elapsed();
            host.find(m.label.finding(right.len(), false, t, Kind::PromptScore(found)))?;
        }
        Ok(())
    }
}

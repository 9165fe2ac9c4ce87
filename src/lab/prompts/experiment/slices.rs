//! Slices of a run's work, timed before the run. Their queries are spread over all relations, prompts and facts in proportion to the work.

use std::time::Instant;

use rayon::prelude::*;

use super::bench::Bench;
use super::forecast::{Undone, units};
use super::perplexity;
use crate::candidates::{from_list, from_vocabulary};
use crate::query::{Asker, Encoded};
use crate::rule::{Rule, raced};
use lab::fault::Fault;
use model::chunk::TOKENS_PER_BATCH;

/// Number of planned queries for each timed one, within the two bounds that follow.
const ONE_OF: usize = 100;
const FEWEST: usize = 96;
const MOST: usize = 4096;
/// Number of untimed queries; then the maximum number of queries per batch, and the time in seconds after which timing can stop.
const WARM: usize = 64;
const TOGETHER: usize = 1200;
const ENOUGH: f64 = 0.5;
/// For pseudo-log-likelihood: number of planned passes for each timed one, then the bounds on the timed passes, and the minimum number of
/// queries.
const ONE_PASS_OF: usize = 500;
const PASSES: [usize; 2] = [200, 2000];
const RACES: usize = 6;
/// Number of queries in a slice for perplexity, each of which takes one pass per token.
const PERPLEXITIES: usize = 12;

struct Picked<'a> {
    relation: usize,
    prompt: String,
    name: &'a str,
    object: &'a str,
}

/// Picks about `size` queries: relations in proportion to their share of `work`, prompts and facts at equal distances.
fn picked<'a>(bench: &'a Bench, work: &[f64], size: usize) -> Vec<Picked<'a>> {
    let all: f64 = work.iter().sum();
    let mut picked = Vec::with_capacity(size);
    let (mut wanted, mut begun) = (0.0, 0);
    for (r, relation) in bench.library.relations.iter().enumerate() {
        wanted += size as f64 * work[r] / all.max(f64::MIN_POSITIVE);
        let count = (wanted.round() as usize).saturating_sub(begun);
        begun += count;
        if count == 0 {
            continue;
        }
        let prompts = bench.prompts(relation).0;
        let facts = &relation.facts[..relation.facts.len().min(bench.spec.data.instances.unwrap_or(usize::MAX))];
        if prompts.is_empty() || facts.is_empty() {
            continue;
        }
        picked.extend((0..count).map(|k| {
            let fact = &facts[k * facts.len() / count];
            let names = fact.names.len().min(bench.spec.data.mentions).max(1);
            // If there are fewer queries than prompts, picks prompts at equal distances; otherwise uses all of them in turn.
            let prompt = if count < prompts.len() { k * prompts.len() / count } else { k % prompts.len() };
            let (name, object) = (fact.names[k % names].as_str(), fact.object.as_str());
            Picked { relation: r, prompt: prompts[prompt].clone(), name, object }
        }));
    }
    picked
}

/// Runs a sample of the run's queries in the same way as the run, and returns their number.
pub(crate) fn queries(bench: &Bench, k: usize, undone: &[Undone]) -> Result<f64, Fault> {
    let begun = Instant::now();
    let all: usize = undone.iter().map(|u| u.queries).sum();
    let work: Vec<f64> = undone.iter().map(|u| u.queries as f64).collect();
    // Batches have as many queries as in the run, so that the cost of idle threads is included.
    let relations = undone.iter().filter(|u| u.queries > 0).count().max(1);
    let together = (all / relations).clamp(FEWEST, TOGETHER);
    let picked = picked(bench, &work, (all / ONE_OF).clamp(together, MOST));
    // One relation's words are used for all relations, because the number of words matters little.
    let most = (0..work.len()).max_by(|a, b| work[*a].total_cmp(&work[*b]));
    let rule = match most {
        Some(r) => bench.rule(&bench.library.relations[r], k)?,
        None => Rule::Vocabulary,
    };
    // The first pass of a model allocates memory, and its first batch has cold caches.
    let warm: Vec<&Picked<'_>> = picked.iter().take(WARM).collect();
    ask(bench, k, &rule, &warm)?;
    let parts = picked.len().div_ceil(together).max(1);
    let (clock, mut done) = (Instant::now(), 0);
    for part in 0..parts {
        // Every part covers all relations, because timing may stop after any part.
        let some: Vec<&Picked<'_>> = picked.iter().skip(part).step_by(parts).collect();
        done += some.len();
        ask(bench, k, &rule, &some)?;
        if clock.elapsed().as_secs_f64() > ENOUGH {
            break;
        }
    }
    Ok(units(done.max(1) as f64, clock.elapsed().as_secs_f64(), begun))
}

/// Encodes queries on all threads and computes their answers.
fn ask(bench: &Bench, k: usize, rule: &Rule, picked: &[&Picked<'_>]) -> Result<(), Fault> {
    let member = &bench.members[k];
    let write = |one: &&Picked<'_>| -> Result<Option<Encoded>, Fault> {
        let asker = Asker::new(&member.model)?.fitting(bench.library.relations[one.relation].fitted);
        Ok(asker.encode(&one.prompt, one.name)?)
    };
    let written: Vec<Option<Encoded>> = picked.par_iter().map(write).collect::<Result<_, _>>()?;
    let asked: Vec<(&Encoded, &str)> =
        written.iter().zip(picked).filter_map(|(q, one)| Some((q.as_ref()?, one.object))).collect();
    let queries: Vec<&Encoded> = asked.iter().map(|q| q.0).collect();
    let ids = if let Rule::Tokens(ids) = rule { Some(ids.as_slice()) } else { None };
    let strings = &member.words.strings;
    let read = |k: usize, logits: &[f32]| match ids {
        None => Some(from_vocabulary(strings, logits, asked[k].1)),
        Some(ids) => from_list(strings, ids, logits, asked[k].1),
    };
    let asker = Asker::new(&member.model)?;
    std::hint::black_box(asker.read::<_, Fault>(&queries, ids, TOKENS_PER_BATCH, read, |_| Ok(()))?);
    Ok(())
}

/// Results of timing a slice of pseudo-log-likelihood.
pub(crate) struct Races {
    pub passes: usize,
    /// For each query, how long words stayed in contention: 0 if each was eliminated as early as possible, 1 if all their tokens had to be
    /// scored.
    each: Vec<f64>,
}

impl Races {
    /// Lower bound, mean and upper bound of these shares, with bounds at two standard errors.
    pub(crate) fn shares(&self) -> [f64; 3] {
        let n = self.each.len() as f64;
        if n < 2.0 {
            return [0.0, self.each.first().copied().unwrap_or(0.5), 1.0];
        }
        let mean = self.each.iter().sum::<f64>() / n;
        let variance = self.each.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (n - 1.0);
        let error = 2.0 * (variance / n).sqrt();
        [(mean - error).max(0.0), mean, (mean + error).min(1.0)]
    }
}

/// Runs a sample of queries by pseudo-log-likelihood. How many words fall behind the object, and how early, depends on the model.
pub(crate) fn races(bench: &Bench, k: usize, undone: &[Undone]) -> Result<Races, Fault> {
    let member = &bench.members[k];
    let most = |u: &Undone| (u.queries * u.passes[1]) as f64;
    let work: Vec<f64> = undone.iter().map(most).collect();
    let (all, queries) = (work.iter().sum::<f64>(), undone.iter().map(|u| u.queries).sum::<usize>());
    let budget = (all as usize / ONE_PASS_OF).clamp(PASSES[0], PASSES[1]);
    let each = all / queries.max(1) as f64;
    let mut races = Races { passes: 0, each: Vec::new() };
    for one in picked(bench, &work, ((budget as f64 / each.max(1.0)) as usize).clamp(RACES, FEWEST)) {
        let relation = &bench.library.relations[one.relation];
        let asker = Asker::new(&member.model)?.fitting(relation.fitted);
        let (Rule::Words(words), Some(query)) = (bench.rule(relation, k)?, asker.encode(&one.prompt, one.name)?) else {
            continue;
        };
        let asked = [(&query, one.object)];
        let (_, passes) =
            raced::<Fault>(&asker, &asked, (&words, &member.words.strings), TOKENS_PER_BATCH, |_| Ok(()))?;
        races.passes += passes;
        let [least, most] = undone[one.relation].passes.map(|n| n as f64);
        if least < most {
            races.each.push(((passes as f64 - least) / (most - least)).clamp(0.0, 1.0));
        }
    }
    races.passes = races.passes.max(1);
    Ok(races)
}

/// Computes perplexity for a sample of prompts, and returns their number. `work` is the number of queries by relation, over all subjects.
pub(crate) fn perplexities(bench: &Bench, k: usize, work: &[usize]) -> Result<f64, Fault> {
    let work: Vec<f64> = work.iter().map(|n| *n as f64).collect();
    let picked = picked(bench, &work, PERPLEXITIES);
    for one in &picked {
        let fitted = bench.library.relations[one.relation].fitted;
        perplexity::perplexities(&bench.members[k], &one.prompt, (&[one.name], fitted), |_| Ok(()))?;
    }
    Ok(picked.len().max(1) as f64)
}

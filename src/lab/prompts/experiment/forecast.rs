//! Forecast of a run: memory is computed from counts, time by counting queries and timing a slice of them.

use std::time::Instant;

use super::asking::producible;
use super::bench::Bench;
use super::disparity::{self, Cost};
use super::slices::{self, Races};
use super::stored::{self, Known};
use crate::Host;
use crate::candidates::Candidates;
use crate::spec::Weighting;
use lab::demand::{Forecast, MemoryPart, peak, resident, within_limit};
use lab::fault::Fault;
use model::chunk::TOKENS_PER_BATCH;

/// Time in seconds for draws, ledgers and findings, measured on the built-in grid.
pub(crate) const REST: f64 = 1.0;
/// Time in seconds per prompt, fact and model to compute the intervals, measured on LAMA. If answers are stored, this is nearly all of the
/// run's time.
const INTERVALS: f64 = 5e-6;
/// Memory in bytes for answers, ranks and replies, per query.
const PER_QUERY: usize = 32;

/// Forecast time of a run in seconds, by stage.
pub(crate) struct Ahead {
    /// One forecast per model. Each includes the memory of the whole run, because all models are in memory together.
    pub forecasts: Vec<Forecast>,
    pub relations: Vec<Seconds>,
    /// Further pretraining, by trained model.
    pub mixtures: Vec<Cost>,
}

/// The number of units to report: `done`, scaled so that units per second since `begun` equal `done / timed`. The time spent on preparing
/// the slice then has no effect on the rate.
pub(crate) fn units(done: f64, timed: f64, begun: Instant) -> f64 {
    done * begun.elapsed().as_secs_f64() / timed.max(f64::MIN_POSITIVE)
}

/// Time in seconds for the stages of a relation, by model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seconds {
    /// Time for queries without stored replies.
    pub asks: Vec<f64>,
    /// Time for the perplexity of the prompts; 0 unless prompts are weighted by perplexity.
    pub weights: Vec<f64>,
    /// Time for the intervals of the scores.
    pub intervals: Vec<f64>,
    /// Time to search for prompts.
    pub search: f64,
}

impl Seconds {
    fn sum(&self) -> f64 {
        [&self.asks, &self.weights, &self.intervals].into_iter().flatten().sum::<f64>() + self.search
    }
}

impl Ahead {
    pub(crate) fn seconds(&self) -> f64 {
        self.relations.iter().map(Seconds::sum).sum::<f64>()
            + REST
            + self.mixtures.iter().flat_map(|c| &c.further_texts).sum::<f64>()
    }
}

/// Remaining work on a relation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Undone {
    /// Number of queries without stored replies.
    pub queries: usize,
    /// Minimum and maximum number of forward passes per query.
    pub passes: [usize; 2],
}

impl Undone {
    /// Number of forward passes if words stay in contention for the given share of their tokens, from 0 (minimum) to 1 (maximum).
    fn passes(self, share: f64) -> f64 {
        let [least, most] = self.passes.map(|n| n as f64);
        self.queries as f64 * (least + share * (most - least))
    }
}

/// Counts by relation, made before any query.
#[derive(Default)]
struct Counted {
    /// Total number of queries for the model.
    queries: usize,
    undone: Vec<Undone>,
    /// For each fact, true if the model can produce its object.
    says: Vec<Vec<bool>>,
}

/// Forecasts a run.
///
/// # Errors
/// [`Fault`], also if the run would exceed the memory limit.
pub(crate) fn of(bench: &Bench, host: &mut Host<'_>) -> Result<Ahead, Fault> {
    let begun = Instant::now();
    let (mut queries, mut undone, mut says) = (0, Vec::new(), Vec::new());
    for k in 0..bench.members.len() {
        let counted = counted(bench, k, host)?;
        queries += counted.queries;
        undone.push(counted.undone);
        says.push(counted.says);
        host.poll()?;
    }
    let shared = shared(bench, &says);
    let mut relations = vec![Seconds::default(); shared.len()];
    let mixtures = disparity::forecast(&bench.spec, host)?;
    let mut seconds = Vec::new();
    for (k, undone) in undone.iter().enumerate() {
        let (each, range) = asks(bench, k, undone, host)?;
        let weights = weights(bench, k, &shared, host)?;
        let intervals: Vec<f64> = shared.iter().map(|n| INTERVALS * *n as f64).collect();
        let sum = |list: &[f64]| list.iter().sum::<f64>();
        // A model that is trained but not queried is reported along with the first model.
        let asked = |name: &str| bench.members.iter().any(|m| m.name == name);
        let mine = |c: &&Cost| c.model == bench.members[k].name || k == 0 && !asked(&c.model);
        let trained: f64 = mixtures.iter().filter(mine).flat_map(|c| &c.further_texts).sum();
        let searched = searches(bench, k, undone, host)?;
        let more = sum(&weights) + sum(&intervals) + trained + searched * shared.len() as f64;
        seconds.push((sum(&each) + more, range.map(|r| r.map(|s| s + more))));
        for (r, relation) in relations.iter_mut().enumerate() {
            relation.asks.push(each[r]);
            relation.weights.push(weights[r]);
            relation.intervals.push(intervals[r]);
            relation.search += searched;
        }
        host.poll()?;
    }
    let forecasts = forecasts(bench, seconds, queries, (begun.elapsed().as_secs_f64(), host.memory_limit()));
    within_limit(&forecasts)?;
    Ok(Ahead { forecasts, relations, mixtures })
}

/// One forecast per model. `spent` is the time in seconds that forecasting itself took.
fn forecasts(
    bench: &Bench,
    seconds: Vec<(f64, Option<[f64; 2]>)>,
    queries: usize,
    (spent, limit): (f64, Option<u64>),
) -> Vec<Forecast> {
    let rows = TOKENS_PER_BATCH / 8;
    let vocabulary = bench.members.iter().map(|m| m.model.arch().vocab).max().unwrap_or(0);
    let pass = bench.members.iter().map(|m| m.model.pass_bytes(TOKENS_PER_BATCH, 64)).max().unwrap_or(0);
    let part = |name: &str, bytes: usize| MemoryPart { name: name.into(), bytes: bytes as u64 };
    let held = resident().unwrap_or_else(|| bench.members.iter().map(|m| m.model.bytes() as u64).sum());
    let mut parts = vec![
        MemoryPart { name: "program and models".into(), bytes: held },
        part("one forward pass", pass),
        part("logits at the answers", 4 * rows * vocabulary),
        part("answers", PER_QUERY * queries),
    ];
    let bytes = parts.iter().map(|p| p.bytes).sum::<u64>().max(peak().unwrap_or(0));
    parts.sort_by_key(|p| std::cmp::Reverse(p.bytes));
    let share = (REST + spent) / bench.members.len().max(1) as f64;
    let each = bench.members.iter().zip(seconds);
    each.map(|(member, (s, range))| Forecast {
        model: member.name.clone(),
        bytes,
        parts: parts.clone(),
        seconds: s + share,
        range: range.map(|r| r.map(|s| s + share)),
        because: None,
        refined: false,
        tokens_per_batch: TOKENS_PER_BATCH,
        limit,
    })
    .collect()
}

/// Counts a model's queries, in total and still to run. A query combines a fact whose object the model can produce with a prompt; it is
/// still to run if its reply is not stored.
fn counted(bench: &Bench, k: usize, host: &mut Host<'_>) -> Result<Counted, Fault> {
    let (store, member) = (host.store(), &bench.members[k]);
    let mut counted = Counted::default();
    for relation in &bench.library.relations {
        let ((prompts, _), facts) = (bench.prompts(relation), bench.facts(relation));
        let rule = bench.rule(relation, k)?;
        let about = (&facts[..], relation.fitted);
        let key = stored::key(member, &bench.spec.query, &bench.function_words, &rule, about);
        let known = Known::read(store.trained(&key), &facts);
        let says = producible(member, &rule, &facts)?;
        let names = |asked: &dyn Fn(usize) -> bool| -> usize {
            let some = facts.iter().enumerate().filter(|(f, _)| asked(*f));
            some.map(|(_, fact)| fact.names.len()).sum()
        };
        let found = bench.spec.tuned.prompts;
        counted.queries += names(&|_| true) * (prompts.len() + found);
        let missing = prompts.iter().filter(|p| known.get(p).is_none()).count() + found;
        let queries = names(&|f| says[f]) * missing;
        counted.undone.push(Undone { queries, passes: rule.passes(member.model.arch().is_causal()) });
        counted.says.push(says);
    }
    Ok(counted)
}

/// For each relation, the number of prompts times the number of facts usable with every model.
fn shared(bench: &Bench, says: &[Vec<Vec<bool>>]) -> Vec<usize> {
    let kept = |r: usize| {
        let facts = says.first().map_or(0, |first| first[r].len());
        (0..facts).filter(|f| says.iter().all(|of| of[r][*f])).count()
    };
    let relations = bench.library.relations.iter().enumerate();
    relations.map(|(r, relation)| kept(r) * bench.prompts(relation).0.len()).collect()
}

/// Time in seconds per query of a model, under a rule that needs one pass.
fn query(bench: &Bench, k: usize, undone: &[Undone], host: &mut Host<'_>) -> Result<f64, Fault> {
    let kind = format!("prompt query by {} {}", bench.spec.query.candidates.name(), bench.members[k].model.hash());
    host.rate(&kind, &mut || slices::queries(bench, k, undone))
}

/// Time in seconds for a model's queries by relation, and the minimum and maximum of their total if it is uncertain.
fn asks(
    bench: &Bench,
    k: usize,
    undone: &[Undone],
    host: &mut Host<'_>,
) -> Result<(Vec<f64>, Option<[f64; 2]>), Fault> {
    if undone.iter().all(|u| u.queries == 0) {
        return Ok((vec![0.0; undone.len()], None));
    }
    if bench.spec.query.candidates != Candidates::RelationPll {
        let rate = query(bench, k, undone, host)?;
        return Ok((undone.iter().map(|u| rate * u.queries as f64).collect(), None));
    }
    let mut seen: Option<Races> = None;
    let kind = format!("prompt pass {}", bench.members[k].model.hash());
    let rate = host.rate(&kind, &mut || {
        let races = seen.insert(slices::races(bench, k, undone)?);
        Ok(races.passes as f64)
    })?;
    // The time per pass may be known from an earlier run, but the number of passes depends on this run.
    let races = match seen {
        Some(races) => races,
        None => slices::races(bench, k, undone)?,
    };
    let [least, share, most] = races.shares();
    let all = |share: f64| undone.iter().map(|u| rate * u.passes(share)).sum::<f64>();
    let each = undone.iter().map(|u| rate * u.passes(share)).collect();
    Ok((each, (least < most).then(|| [all(least), all(most)]).filter(|[least, most]| least < most)))
}

/// Time in seconds to search for one relation's prompts; 0 unless prompts are tuned for model `k`.
fn searches(bench: &Bench, k: usize, undone: &[Undone], host: &mut Host<'_>) -> Result<f64, Fault> {
    let tuned = &bench.spec.tuned;
    if tuned.is_off() || tuned.member(&bench.spec.models) != k || undone.iter().all(|u| u.queries == 0) {
        return Ok(0.0);
    }
    Ok(query(bench, k, undone, host)? * tuned.queries() as f64)
}

/// Time in seconds for each relation to compute the perplexity of its prompts; 0 unless prompts are weighted by perplexity.
fn weights(bench: &Bench, k: usize, shared: &[usize], host: &mut Host<'_>) -> Result<Vec<f64>, Fault> {
    if bench.spec.adjust.weights != Weighting::Perplexity || shared.iter().all(|n| *n == 0) {
        return Ok(vec![0.0; shared.len()]);
    }
    let kind = format!("prompt perplexity {}", bench.members[k].model.hash());
    let rate = host.rate(&kind, &mut || slices::perplexities(bench, k, shared))?;
    Ok(shared.iter().map(|n| rate * *n as f64).collect())
}

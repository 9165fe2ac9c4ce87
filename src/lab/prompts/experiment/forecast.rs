//! What a run will need, before its long work begins: memory by arithmetic over counts, time by counted tokens.

use std::time::Instant;

use super::bench::{Bench, Member};
use super::disparity;
use super::stored::{self, Known};
use crate::lab::demand::{Forecast, MemoryPart, Work, peak, resident, within_limit};
use crate::lab::fault::Fault;
use crate::lab::host::Host;
use crate::lab::prompts::query::{Asker, Encoded};
use crate::model::chunk::TOKENS_PER_BATCH;

/// Queries of a slice of work.
const SLICE: usize = 96;
/// Seconds of draws, ledgers and findings, measured on the built-in grid.
pub const REST: f64 = 1.0;
/// Bytes of answers, ranks and replies for each query.
const PER_QUERY: usize = 32;

/// What a run takes, stage by stage, in seconds.
pub struct Ahead {
    /// One forecast a model. Each has the whole run's memory: the models of a comparison are in memory together.
    pub forecasts: Vec<Forecast>,
    /// By model, then by relation: the queries that the store does not answer.
    pub asks: Vec<Vec<f64>>,
    /// By model: one mixture of further pretraining; 0 where none is asked for.
    pub mixtures: Vec<f64>,
}

impl Ahead {
    /// All stages together.
    pub fn seconds(&self, mixtures: usize) -> f64 {
        let asks: f64 = self.asks.iter().flatten().sum();
        asks + REST + self.mixtures.iter().sum::<f64>() * mixtures as f64
    }
}

/// What a run will need.
///
/// # Errors
/// [`Fault`], also where the memory limit cannot be kept.
pub fn of(bench: &Bench, host: &mut dyn Host) -> Result<Ahead, Fault> {
    let limit = host.memory_limit();
    let mut queries = 0;
    let (mut seconds, mut asks, mut mixtures) = (Vec::new(), Vec::new(), Vec::new());
    let begun = Instant::now();
    for k in 0..bench.members.len() {
        let (count, missing) = counted(bench, k, host)?;
        queries += count;
        let member = &bench.members[k];
        let kind = format!("prompt query {}", member.model.hash());
        let mut of = |units: f64| {
            let mut work = Work::default();
            work.add(&kind, units);
            work.seconds(host, &mut |_| slice(bench, member))
        };
        let mut each = Vec::with_capacity(missing.len());
        let mut whole = [0.0; 2];
        for passes in missing {
            let [least, most] = [of(passes[0] as f64)?, of(passes[1] as f64)?];
            whole = [whole[0] + least, whole[1] + most];
            each.push((least * most).sqrt());
        }
        let mixture = of(disparity::queries(&bench.spec, &member.name)?)?;
        let trained = mixture * bench.spec.disparity.gammas.len() as f64;
        let range = (whole[0] < whole[1]).then(|| whole.map(|s| s + trained));
        seconds.push((each.iter().sum::<f64>() + trained, range));
        asks.push(each);
        mixtures.push(mixture);
        host.poll()?;
    }
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
    let spent = begun.elapsed().as_secs_f64();
    let share = (REST + spent) / bench.members.len().max(1) as f64;
    let each = bench.members.iter().zip(seconds);
    let forecasts: Vec<Forecast> = each
        .map(|(member, (s, range))| Forecast {
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
        .collect();
    within_limit(&forecasts)?;
    Ok(Ahead { forecasts, asks, mixtures })
}

/// All queries of a model, and by relation the forward passes of those that the store does not answer, at least and at most.
fn counted(bench: &Bench, k: usize, host: &mut dyn Host) -> Result<(usize, Vec<[usize; 2]>), Fault> {
    let (store, is_causal) = (host.store(), bench.members[k].model.arch().is_causal());
    let (mut all, mut missing) = (0, Vec::new());
    for relation in &bench.library.relations {
        let ((prompts, _), facts) = (bench.prompts(relation), bench.facts(relation));
        let width: usize = facts.iter().map(|f| f.names.len()).sum();
        let rule = bench.rule(relation, k)?;
        let key = stored::key(
            &bench.members[k],
            &bench.spec.query,
            &bench.function_words,
            &rule,
            (&facts, relation.fitted),
        );
        let known = Known::read(store.trained(&key), &facts);
        all += width * prompts.len();
        let unknown = width * prompts.iter().filter(|p| known.get(p).is_none()).count();
        missing.push(rule.passes(is_causal).map(|passes| passes * unknown));
    }
    Ok((all, missing))
}

/// Asks some queries of the first relation; gives their number.
fn slice(bench: &Bench, member: &Member) -> Result<f64, Fault> {
    let mut asker = Asker::new(&member.model)?;
    let mut queries: Vec<Encoded> = Vec::new();
    // Of several relations, because prompts differ in length.
    for relation in bench.library.relations.iter().step_by((bench.library.relations.len() / 6).max(1)) {
        let (prompts, _) = bench.prompts(relation);
        asker = asker.fitting(relation.fitted);
        for (prompt, fact) in prompts.iter().cycle().zip(bench.facts(relation)).take(SLICE / 6) {
            queries.extend(asker.encode(prompt, &fact.names[0])?);
        }
    }
    let all: Vec<&Encoded> = queries.iter().collect();
    let take = |_: usize, logits: &[f32]| {
        let object = bench.library.relations.first().and_then(|r| r.facts.first());
        let object = object.map_or("", |f| f.object.as_str());
        std::hint::black_box(crate::lab::prompts::candidates::from_vocabulary(
            &member.words.strings,
            logits,
            object,
        ));
    };
    asker.logits::<Fault>(&all, None, TOKENS_PER_BATCH, take, |_| Ok(()))?;
    Ok(all.len().max(1) as f64)
}

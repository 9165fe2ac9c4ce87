//! What a run will need: passes are counted, and the rate of each model is measured on a few inputs.

use std::time::Instant;

use super::bench::{Bench, Member};
use super::rows::{passes, passes_of};
use crate::base::pulse::NoPulse;
use crate::lab::demand::{Forecast, MemoryPart, Work, peak, resident};
use crate::lab::fault::Fault;
use crate::lab::host::Host;
use crate::lab::saliency::input::Input;
use crate::lab::saliency::methods::Case;
use crate::lab::saliency::predict::{answered, predict};
use crate::lab::saliency::spec::Spec;
use crate::model::chunk::TOKENS_PER_BATCH;

/// Inputs of a slice of work; they are spread over the run, because lengths differ.
const SLICE: usize = 6;
/// Steps of integrated gradients in a slice: a tenth of the paper's.
const STEPS: usize = 10;
/// Seconds of means, intervals and tests, measured on the default run.
const REST: f64 = 0.5;
/// Bytes that a row of scores takes in findings and for the means.
const PER_ROW: usize = 1_600;

/// One forecast a model.
///
/// # Errors
/// [`Fault`].
pub fn of(bench: &Bench, host: &mut dyn Host) -> Result<Vec<Forecast>, Fault> {
    let limit = host.memory_limit();
    let begun = Instant::now();
    let mut seconds = Vec::new();
    for member in &bench.members {
        let mut work = Work::default();
        let methods: Vec<&str> = member.methods.iter().map(|m| m.id()).collect();
        let kind = format!("saliency pass {} {}", member.model.hash(), methods.join(" "));
        work.add(&kind, passes(&bench.spec, member) as f64);
        seconds.push(work.seconds(host, &mut |_| slice(&bench.spec, member))?);
        host.poll()?;
    }
    let part = |name: &str, bytes: usize| MemoryPart { name: name.into(), bytes: bytes as u64 };
    let longest =
        bench.members.iter().flat_map(|m| &m.inputs).flatten().map(|i| i.ids.len()).max().unwrap_or(0);
    // A pass that keeps what its gradient needs holds about as much again for each layer; the executor counts a plain one.
    let pass = bench
        .members
        .iter()
        .map(|m| m.model.pass_bytes(TOKENS_PER_BATCH, longest) * (1 + m.model.arch().depth()));
    let vocabulary = bench.members.iter().map(|m| m.model.arch().vocab).max().unwrap_or(0);
    let rows: usize = bench.members.iter().map(|m| m.methods.len() * m.inputs.len()).sum();
    let held = resident().unwrap_or_else(|| bench.members.iter().map(|m| m.model.bytes() as u64).sum());
    let mut parts = vec![
        MemoryPart { name: "program and models".into(), bytes: held },
        part("one pass with gradients", pass.max().unwrap_or(0)),
        part("logits at the masks", 8 * vocabulary * (TOKENS_PER_BATCH / 8)),
        part("rows of scores", PER_ROW * rows),
    ];
    let bytes = parts.iter().map(|p| p.bytes).sum::<u64>().max(peak().unwrap_or(0));
    parts.sort_by_key(|p| std::cmp::Reverse(p.bytes));
    let share = (REST + begun.elapsed().as_secs_f64()) / bench.members.len().max(1) as f64;
    let each = bench.members.iter().zip(seconds);
    Ok(each
        .map(|(member, seconds)| Forecast {
            model: member.name.clone(),
            bytes,
            parts: parts.clone(),
            seconds: seconds + share,
            range: None,
            refined: false,
            tokens_per_batch: TOKENS_PER_BATCH,
            limit,
        })
        .collect())
}

/// Predicts and explains a few inputs with fewer steps; gives the passes.
fn slice(spec: &Spec, member: &Member) -> Result<f64, Fault> {
    let mut short = spec.clone();
    let path = &mut short.integrated_gradients;
    path.steps = path.steps.min(STEPS);
    // No doubling: how often it will be needed is not known, and the passes of a slice are counted without it.
    path.most_steps = path.steps;
    let all: Vec<&Input> = member.inputs.iter().flatten().collect();
    let some: Vec<&Input> = all.iter().step_by((all.len() / SLICE).max(1)).take(SLICE).copied().collect();
    let predicted = predict(&member.model, &some, TOKENS_PER_BATCH, &mut NoPulse)?;
    let asked = answered(&member.model, &some, &predicted)?;
    let cases: Vec<Case<'_>> =
        asked.iter().zip(&predicted).map(|(input, p)| Case { input, predicted: &p.ids, name: "" }).collect();
    for method in &member.methods {
        method.explain(&member.model, &cases, &short, &mut NoPulse)?;
    }
    short.saliency.erasure = false;
    Ok(some.iter().map(|input| passes_of(&short, member, input)).sum::<usize>().max(1) as f64)
}

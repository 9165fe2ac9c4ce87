//! What a run will need: passes are counted, and the rate of each model is measured on a few inputs.

use std::time::Instant;

use super::bench::{Bench, Member};
use super::rows::{passes, passes_of};
use crate::base::pulse::NoPulse;
use crate::lab::demand::{Forecast, MemoryPart, Work, peak, resident, within_limit};
use crate::lab::fault::Fault;
use crate::lab::host::Host;
use crate::lab::saliency::input::Input;
use crate::lab::saliency::methods::Case;
use crate::lab::saliency::predict::{answered, predict};
use crate::lab::saliency::spec::Spec;
use crate::model::Model;
use crate::model::chunk::TOKENS_PER_BATCH;

/// Inputs of a slice of work; they are spread over the run, because lengths differ.
const SLICE: usize = 6;
/// Steps of integrated gradients in a slice: a tenth of the paper's.
const STEPS: usize = 10;
/// Seconds of means, intervals and tests, measured on the default run.
const REST: f64 = 0.5;
/// Bytes that a row of scores takes in findings and for the means.
const PER_ROW: usize = 1_600;

/// What one model's part of a run needs, measured while it is in memory.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Seconds of its passes.
    seconds: f64,
    /// Seconds that measuring took.
    measuring: f64,
    /// Bytes of a pass that keeps what its gradient needs.
    pass: usize,
    /// Tokens of its vocabulary.
    vocabulary: usize,
    /// Bytes of the model.
    model: usize,
}

/// Measures a model on a few of its inputs.
///
/// # Errors
/// [`Fault`].
pub fn needs(spec: &Spec, member: &Member, host: &mut dyn Host) -> Result<Needs, Fault> {
    let begun = Instant::now();
    let model = member.model(host)?;
    let mut work = Work::default();
    let methods: Vec<&str> = member.methods.iter().map(|m| m.id()).collect();
    let kind = format!("saliency pass {} {}", member.hash, methods.join(" "));
    work.add(&kind, passes(spec, member) as f64);
    let seconds = work.seconds(host, &mut |_| slice(spec, member, &model))?;
    host.poll()?;
    let longest = member.inputs.iter().flatten().map(|i| i.ids.len()).max().unwrap_or(0);
    Ok(Needs {
        seconds,
        measuring: begun.elapsed().as_secs_f64(),
        // A pass that keeps what its gradient needs holds about as much again for each layer; the executor counts a plain one.
        pass: model.pass_bytes(TOKENS_PER_BATCH, longest) * (1 + model.arch().depth()),
        vocabulary: model.arch().vocab,
        model: model.bytes(),
    })
}

/// One forecast a model.
///
/// # Errors
/// [`Fault`], also where the memory limit cannot be kept.
pub fn of(bench: &Bench, host: &mut dyn Host) -> Result<Vec<Forecast>, Fault> {
    let limit = host.memory_limit();
    let mut all = Vec::new();
    for member in &bench.members {
        all.push(member.needs.map_or_else(|| needs(&bench.spec, member, host), Ok)?);
    }
    let most = |of: fn(&Needs) -> usize| all.iter().map(of).max().unwrap_or(0);
    let part = |name: &str, bytes: usize| MemoryPart { name: name.into(), bytes: bytes as u64 };
    let rows: usize = bench.members.iter().map(|m| m.methods.len() * m.inputs.len()).sum();
    // Where models are let go, the last one is in memory now, and the largest will be.
    let one_at_a_time = bench.members.last().is_some_and(Member::is_let_go);
    let last = all.last().map_or(0, |n| n.model);
    let held = match (resident(), one_at_a_time) {
        (Some(now), true) => now + most(|n| n.model).saturating_sub(last) as u64,
        (Some(now), false) => now,
        (None, true) => most(|n| n.model) as u64,
        (None, false) => all.iter().map(|n| n.model as u64).sum(),
    };
    let mut parts = vec![
        MemoryPart { name: "program and models".into(), bytes: held },
        part("one pass with gradients", most(|n| n.pass)),
        part("logits at the masks", 8 * most(|n| n.vocabulary) * (TOKENS_PER_BATCH / 8)),
        part("rows of scores", PER_ROW * rows),
    ];
    let bytes = parts.iter().map(|p| p.bytes).sum::<u64>().max(peak().unwrap_or(0));
    parts.sort_by_key(|p| std::cmp::Reverse(p.bytes));
    let measuring: f64 = all.iter().map(|n| n.measuring).sum();
    let share = (REST + measuring) / bench.members.len().max(1) as f64;
    let each = bench.members.iter().zip(&all);
    let forecasts: Vec<Forecast> = each
        .map(|(member, needs)| Forecast {
            model: member.name.clone(),
            bytes,
            parts: parts.clone(),
            seconds: needs.seconds + share,
            range: None,
            refined: false,
            tokens_per_batch: TOKENS_PER_BATCH,
            limit,
        })
        .collect();
    within_limit(&forecasts)?;
    Ok(forecasts)
}

/// Predicts and explains a few inputs with fewer steps; gives the passes.
fn slice(spec: &Spec, member: &Member, model: &Model) -> Result<f64, Fault> {
    let mut short = spec.clone();
    let path = &mut short.integrated_gradients;
    path.steps = path.steps.min(STEPS);
    // No doubling: how often it will be needed is not known, and the passes of a slice are counted without it.
    path.most_steps = path.steps;
    let all: Vec<&Input> = member.inputs.iter().flatten().collect();
    let some: Vec<&Input> = all.iter().step_by((all.len() / SLICE).max(1)).take(SLICE).copied().collect();
    let predicted = predict(model, &some, TOKENS_PER_BATCH, &mut NoPulse)?;
    let asked = answered(model, &some, &predicted)?;
    let cases: Vec<Case<'_>> =
        asked.iter().zip(&predicted).map(|(input, p)| Case { input, predicted: &p.ids, name: "" }).collect();
    for method in &member.methods {
        method.explain(model, &cases, &short, &mut NoPulse)?;
    }
    short.saliency.erasure = false;
    Ok(some.iter().map(|input| passes_of(&short, member, input)).sum::<usize>().max(1) as f64)
}

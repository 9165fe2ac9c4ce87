//! Forecast of a run. Passes are counted, and each model's rate is measured on a few inputs.

use std::time::Instant;

use super::bench::{Bench, Member};
use super::rows::{passes, passes_of};
use crate::Host;
use crate::input::Input;
use crate::methods::{Case, Scores, WITH_GRADIENT};
use crate::predict::{answered, predict};
use crate::spec::{Erasure, PathSpec, Spec};
use base::numbers::{percent, short};
use base::pulse::NoPulse;
use base::{Cancelled, Pulse};
use lab::demand::{Forecast, MemoryPart, Work, peak, resident, within_limit};
use lab::fault::Fault;
use model::Model;
use model::chunk::TOKENS_PER_BATCH;
use stats::Estimate;
use stats::intervals::share;

/// Number of inputs in a timed slice, spread over the run because lengths differ.
const SLICE: usize = 6;
/// Number of steps for integrated gradients in a slice: a tenth of the paper's number.
const STEPS: usize = 10;
/// Maximum number of inputs whose completeness error the forecast measures; it measures one in [`LOOKED_SHARE`].
const LOOKED_AT: usize = 12;
const LOOKED_SHARE: usize = 8;
/// Level of the interval for the share of rows that need more steps than planned.
const LEVEL: f64 = 0.95;
/// Time in seconds for means, intervals and tests, measured on the default run.
const REST: f64 = 0.5;
/// Memory in bytes per row of scores, for findings and means.
const PER_ROW: usize = 1_600;

/// Resources needed for one model's part of a run, measured while it is in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    /// Time in seconds for the planned passes.
    seconds: f64,
    /// The rows that need more steps than planned, if steps may be doubled.
    doubled: Option<Doubled>,
    /// Time in seconds added by doubled steps, with an interval based on the share of rows that need them.
    added: Estimate,
    /// Time in seconds spent on measuring.
    measuring: f64,
    /// Memory in bytes for a pass that keeps its activations for the gradient.
    pass: usize,
    vocabulary: usize,
    /// Size of the model in bytes.
    model: usize,
}

/// Measures a model on a few of its inputs.
pub(crate) fn needs(spec: &Spec, member: &Member, host: &mut Host<'_>) -> Result<Needs, Fault> {
    let begun = Instant::now();
    let model = member.model(host)?;
    let mut work = Work::default();
    let methods: Vec<&str> = member.methods.iter().map(|m| m.id()).collect();
    let kind = format!("saliency pass {} {}", member.hash, methods.join(" "));
    work.add(&kind, passes(spec, member) as f64);
    let planned = work.of(&kind);
    let seconds = work.seconds(host, &mut |_| slice(spec, member, &model))?;
    host.poll()?;
    let doubled = doubled(spec, member, &model, host)?;
    // Number of additional passes if every row needed more steps.
    let inputs = member.inputs.iter().flatten().count();
    let all = doubled.map_or(0.0, |d| inputs as f64 * WITH_GRADIENT as f64 * d.added);
    let share = doubled.map_or(Estimate::exact(0.0), |d| d.share());
    let of = |share: f64| share * all * seconds / planned.max(1.0);
    let longest = member.inputs.iter().flatten().map(|i| i.ids.len()).max().unwrap_or(0);
    Ok(Needs {
        seconds,
        doubled,
        added: Estimate { mean: of(share.mean), lo: of(share.lo), hi: of(share.hi) },
        measuring: begun.elapsed().as_secs_f64(),
        // The executor's figure is for a pass without gradients. Keeping activations for the gradient needs about the same amount again for
        // each layer.
        pass: model.pass_bytes(TOKENS_PER_BATCH, longest) * (1 + model.arch().depth()),
        vocabulary: model.arch().vocab,
        model: model.bytes(),
    })
}

/// One forecast per model.
pub(crate) fn of(bench: &Bench, host: &mut Host<'_>) -> Result<Vec<Forecast>, Fault> {
    let limit = host.memory_limit();
    let mut all = Vec::new();
    for member in &bench.members {
        all.push(member.needs.map_or_else(|| needs(&bench.spec, member, host), Ok)?);
    }
    let most = |of: fn(&Needs) -> usize| all.iter().map(of).max().unwrap_or(0);
    let part = |name: &str, bytes: usize| MemoryPart { name: name.into(), bytes: bytes as u64 };
    let rows: usize = bench.members.iter().map(|m| m.methods.len() * m.inputs.len()).sum();
    // If models are dropped, the last model is in memory now and the largest will be later.
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
            seconds: needs.seconds + needs.added.mean + share,
            range: needs.doubled.map(|_| [needs.added.lo, needs.added.hi].map(|s| needs.seconds + s + share)),
            because: needs.doubled.map(|d| d.text()),
            refined: false,
            tokens_per_batch: TOKENS_PER_BATCH,
            limit,
        })
        .collect();
    within_limit(&forecasts)?;
    Ok(forecasts)
}

/// Predicts and explains a few inputs with fewer steps, and returns the number of passes that this took.
fn slice(spec: &Spec, member: &Member, model: &Model) -> Result<f64, Fault> {
    let mut short = spec.clone();
    let path = &mut short.integrated_gradients;
    path.steps = path.steps.min(STEPS);
    // A slice does not double steps; the estimate in `doubled` covers that.
    path.most_steps = path.steps;
    let some = spread(member, SLICE);
    let predicted = predict(model, &some, TOKENS_PER_BATCH, &mut NoPulse)?;
    let asked = answered(model, &some, &predicted)?;
    let cases: Vec<Case<'_>> =
        asked.iter().zip(&predicted).map(|(input, p)| Case { input, predicted: &p.ids, name: "" }).collect();
    for method in &member.methods {
        method.explain(model, &cases, &short, &mut NoPulse)?;
    }
    (short.saliency.erasure, short.saliency.robustness) = (Erasure::default(), false);
    Ok(some.iter().map(|input| passes_of(&short, member, input)).sum::<usize>().max(1) as f64)
}

/// Inputs spread over the run.
fn spread(member: &Member, count: usize) -> Vec<&Input> {
    let all: Vec<&Input> = member.inputs.iter().flatten().collect();
    all.iter().step_by((all.len() / count.max(1)).max(1)).take(count).copied().collect()
}

/// Estimate for the rows that need more steps of integrated gradients than planned.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Doubled {
    rows: usize,
    rough: usize,
    /// Mean number of additional steps for a row whose steps are doubled; without such a row in the sample, the number that one doubling
    /// adds.
    added: f64,
}

impl Doubled {
    fn of(path: &PathSpec, found: &[Scores]) -> Self {
        let added: Vec<usize> = found.iter().map(|s| steps(path, s) - path.steps).filter(|n| *n > 0).collect();
        let rough = added.len();
        let mean = if rough > 0 { added.iter().sum::<usize>() as f64 / rough as f64 } else { path.steps as f64 };
        Self { rows: found.len(), rough, added: mean }
    }

    fn share(&self) -> Estimate {
        share(self.rough as u64, self.rows as u64, LEVEL)
    }

    fn text(&self) -> String {
        let (share, level) = (self.share(), short(100.0 * LEVEL));
        format!(
            "{} of {} sampled rows need doubled steps ({level} % interval {} to {})",
            self.rough,
            self.rows,
            percent(share.lo),
            percent(share.hi)
        )
    }
}

/// The number of steps that a row will need, extrapolated from a run with fewer steps.
fn steps(path: &PathSpec, found: &Scores) -> usize {
    let enough = found.steps.filter(|_| found.complete == Some(true)).unwrap_or(usize::MAX);
    let mut steps = path.steps.max(1);
    while steps < enough && 2 * steps <= path.most_steps {
        steps *= 2;
    }
    steps
}

/// A host that only polls for cancellation, because measurements for the forecast are not progress of the run.
struct Quiet<'a>(&'a mut Host<'a>);

impl Pulse for Quiet<'_> {
    fn beat(&mut self, _: usize, _: usize) -> Result<(), Cancelled> {
        self.0.poll()
    }
}

/// Measures some rows with few steps, and with more only if needed; `None` if steps cannot be doubled.
fn doubled(spec: &Spec, member: &Member, model: &Model, host: &mut Host<'_>) -> Result<Option<Doubled>, Fault> {
    let path = &spec.integrated_gradients;
    let method = member.methods.iter().find(|m| m.id() == "integrated_gradients");
    let Some(method) = method.filter(|_| 2 * path.steps <= path.most_steps) else { return Ok(None) };
    let mut short = spec.clone();
    short.integrated_gradients.steps = path.steps.min(STEPS);
    let inputs = member.inputs.iter().flatten().count();
    let some = spread(member, (inputs / LOOKED_SHARE).clamp(1, LOOKED_AT));
    let pulse = &mut Quiet(host);
    let predicted = predict(model, &some, TOKENS_PER_BATCH, pulse)?;
    let asked = answered(model, &some, &predicted)?;
    let cases: Vec<Case<'_>> =
        asked.iter().zip(&predicted).map(|(input, p)| Case { input, predicted: &p.ids, name: "" }).collect();
    Ok(Some(Doubled::of(path, &method.explain(model, &cases, &short, pulse)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(steps: usize, complete: bool) -> Scores {
        Scores { steps: Some(steps), complete: Some(complete), ..Scores::default() }
    }

    /// Regression: the forecast used to count only the planned steps, even when many rows needed more.
    #[test]
    fn rows_with_extra_steps_are_forecast() {
        let path = PathSpec { steps: 100, most_steps: 800, ..PathSpec::default() };
        let rows = [found(10, true), found(80, true), found(160, true), found(640, false)];
        assert_eq!(rows.each_ref().map(|r| steps(&path, r)), [100, 100, 200, 800]);
        let counted = Doubled::of(&path, &rows);
        assert_eq!(counted, Doubled { rows: 4, rough: 2, added: 400.0 });
        // These are Clopper-Pearson intervals, because one of the two counts is below five.
        let text = counted.text();
        assert!(text.starts_with("2 of 4 sampled rows need doubled steps (95 % interval 6.8 %"), "{text}");
        let none = Doubled::of(&path, &rows[..2]);
        assert!(none.rough == 0 && none.added == 100.0 && none.share().hi > 0.5, "two rows give only a wide interval");
    }
}

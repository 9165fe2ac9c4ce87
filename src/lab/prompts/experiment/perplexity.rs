//! Weights of prompts by their likelihood under the models. For each model, w ∝ 1/PPL, the inverse of the rendered prompt's perplexity per
//! token, averaged over the relation's subjects and normalised over its prompts. Weights are then averaged over the models, so that all
//! models share them. Separate weights would open the path that the adjustment closes.
//!
//! For a causal model, this is the perplexity of its input text. For masked and denoising models, it is the pseudo-perplexity, with each
//! token masked in turn. The answer slot and the surrounding special tokens are not scored.

use super::bench::{Bench, Entry, Member};
use crate::Host;
use crate::query::{Asker, Encoded};
use crate::rule::log_sum;
use lab::fault::Fault;
use model::chunk::TOKENS_PER_BATCH;

/// The weight of each prompt, summing to 1. `seconds` is the approximate time for each model.
pub(crate) fn weights(bench: &Bench, entry: &Entry, seconds: &[f64], host: &mut Host<'_>) -> Result<Vec<f64>, Fault> {
    let prompts = entry.prompts.len();
    let subjects: Vec<&str> = entry.facts.iter().map(|f| f.names[0].as_str()).collect();
    let mut sums = vec![0.0; prompts];
    for (member, seconds) in bench.members.iter().zip(seconds) {
        let title = format!("{}: perplexity of prompts, {}", entry.relation.id, member.name);
        host.stage(title, "queries", *seconds);
        let mut own = vec![0.0; prompts];
        for (p, prompt) in entry.prompts.iter().enumerate() {
            let (before, all) = (p * subjects.len(), prompts * subjects.len());
            let between = |share: f64| -> Result<(), Fault> {
                Ok(host.beat(before + (share * subjects.len() as f64) as usize, all)?)
            };
            let each = perplexities(member, prompt, (&subjects, entry.relation.fitted), between)?;
            own[p] = each.iter().map(|ppl| 1.0 / ppl).sum::<f64>() / each.len().max(1) as f64;
        }
        let all: f64 = own.iter().sum();
        let share = |w: f64| if all > 0.0 { w / all } else { 1.0 / prompts as f64 };
        sums.iter_mut().zip(own).for_each(|(sum, w)| *sum += share(w) / bench.members.len() as f64);
    }
    Ok(sums)
}

/// Perplexity per token of a prompt with each subject. `fitted` has the same meaning as in the relation; `between` receives the finished
/// share of the work.
///
/// # Errors
/// Returns errors of the model and of `between`.
pub(crate) fn perplexities(
    member: &Member,
    prompt: &str,
    (subjects, fitted): (&[&str], bool),
    mut between: impl FnMut(f64) -> Result<(), Fault>,
) -> Result<Vec<f64>, Fault> {
    let model = &member.model;
    let asker = Asker::new(model)?.fitting(fitted);
    let special = model.tokenizer()?.special();
    let frame = [special.cls, special.sep, special.bos, special.eos, special.pad];
    let mut probes: Vec<(usize, u32, Encoded)> = Vec::new();
    for (s, subject) in subjects.iter().enumerate() {
        let Some(query) = asker.encode(prompt, subject)? else { continue };
        for (t, id) in query.ids.iter().enumerate() {
            if t == query.position && !model.arch().is_causal() || frame.contains(&Some(*id)) {
                continue;
            }
            match special.mask.filter(|_| !model.arch().is_causal()) {
                Some(mask) => {
                    let mut ids = query.ids.clone();
                    ids[t] = mask;
                    probes.push((s, *id, Encoded { ids, position: t }));
                }
                // The first token has no context.
                None if t == 0 => {}
                None => {
                    let ids = query.ids[..t].to_vec();
                    probes.push((s, *id, Encoded { ids, position: t - 1 }));
                }
            }
        }
    }
    let (mut sums, mut counts) = (vec![0.0; subjects.len()], vec![0usize; subjects.len()]);
    let queries: Vec<&Encoded> = probes.iter().map(|p| &p.2).collect();
    let total = queries.len();
    let surprise = |k: usize, logits: &[f32]| log_sum(logits) - f64::from(logits[probes[k].1 as usize]);
    let between = |done: usize| between(done as f64 / total as f64);
    let all = asker.read::<f64, Fault>(&queries, None, TOKENS_PER_BATCH, surprise, between)?;
    for ((s, ..), x) in probes.iter().zip(all) {
        sums[*s] += x;
        counts[*s] += 1;
    }
    let of = |(sum, n): (&f64, &usize)| if *n == 0 { f64::INFINITY } else { (sum / *n as f64).exp() };
    Ok(sums.iter().zip(&counts).map(of).collect())
}

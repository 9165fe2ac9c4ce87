//! Attention rollout (Abnar and Zuidema 2020): the product of the attention matrices from all layers, each averaged with the identity to
//! model the residual connection.

use super::attention::pattern;
use super::{Case, Method, Scores};
use base::Pulse;
use lab::fault::Fault;
use crate::spec::Spec;
use model::chunk::chunks;
use model::{Array, Batch, Model, Offer, Plan};

pub(crate) static METHOD: Rollout = Rollout;

pub(crate) struct Rollout;

/// Maximum number of tokens per batch, because the attention of all heads and layers is in memory at once.
const TOKENS: usize = 1_024;

/// The contribution of each token to the slots, for one row of the batch.
fn rolled(layers: &[Array], row: usize, case: &Case<'_>) -> Vec<f64> {
    let length = case.input.ids.len();
    let slots = case.input.slots.len().max(1) as f64;
    // The product is computed from the last layer down with a single row of contributions to the slots. From the first layer up, full
    // matrices would have to be multiplied.
    let mut arrives = vec![0.0f64; length];
    case.input.slots.iter().for_each(|s| arrives[*s] += 1.0 / slots);
    for all in layers.iter().rev() {
        let (heads, queries, keys) = (all.shape[1], all.shape[2], all.shape[3]);
        let mut before: Vec<f64> = arrives.iter().map(|a| 0.5 * a).collect();
        for head in 0..heads {
            for (query, share) in arrives.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                let begin = ((row * heads + head) * queries + query) * keys;
                let weights = &all.data[begin..begin + length];
                let share = 0.5 * share / heads as f64;
                before.iter_mut().zip(weights).for_each(|(b, w)| *b += share * f64::from(*w));
            }
        }
        arrives = before;
    }
    arrives
}

impl Method for Rollout {
    fn id(&self) -> &'static str {
        "rollout"
    }

    fn title(&self) -> &'static str {
        "attention rollout"
    }

    fn short(&self) -> &'static str {
        "ROLL"
    }

    fn about(&self) -> &'static str {
        "Flow from a token to the mask through the attention of all layers (Abnar and Zuidema 2020)."
    }

    fn refuses(&self, model: &Model, _spec: &Spec) -> Option<String> {
        if let Err(e) = model.require(Offer::Attention) {
            return Some(e.to_string());
        }
        let two = model.arch().decoder.is_some();
        two.then(|| "rollout is defined for one stack of layers, but the model has an encoder and a decoder".into())
    }

    fn passes(&self, _spec: &Spec, _words: usize) -> usize {
        1
    }

    fn explain(
        &self,
        model: &Model,
        cases: &[Case<'_>],
        _spec: &Spec,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Scores>, Fault> {
        let pad = model.tokenizer()?.pad_id();
        let lengths: Vec<usize> = cases.iter().map(|c| c.input.ids.len()).collect();
        let mut found = vec![Scores::default(); cases.len()];
        let mut done = 0;
        for group in chunks(&lengths, TOKENS) {
            let ids: Vec<&[u32]> = group.iter().map(|k| cases[*k].input.ids.as_slice()).collect();
            let at: Vec<_> = (0..model.arch().layers).map(|l| pattern(model, l)).collect();
            let plan = at.iter().fold(Plan::default(), |plan, p| plan.capture(*p));
            let mut trace = model.forward(&Batch::new(&ids, pad)?, &plan)?;
            let layers: Vec<Array> = at.iter().map(|p| trace.take(*p)).collect::<Result<_, _>>()?;
            for (row, k) in group.iter().enumerate() {
                found[*k] = Scores::plain(rolled(&layers, row, &cases[*k]), cases[*k].input);
            }
            done += group.len();
            pulse.beat(done, cases.len())?;
        }
        Ok(found)
    }
}

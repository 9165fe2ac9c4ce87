//! Attention (ATT): the weight between the mask and each token in one layer, by default the last. For a causal model, this is the attention
//! of the last token. For a denoising model, it is the decoder's attention to the encoder at the position that predicts the mask.

use super::{Case, Method, Scores};
use base::Pulse;
use lab::fault::Fault;
use lab::layer::LayerRef;
use crate::spec::{AttentionSpec, Direction, HeadRef, ScoreKind, Spec};
use model::chunk::{TOKENS_PER_BATCH, chunks};
use model::{Array, Batch, HookPoint, Model, Offer, Plan, Sites};

pub(crate) static METHOD: Attention = Attention;

pub(crate) struct Attention;

/// Number of layers with the attention used here, and number of heads per layer.
pub fn shape(model: &Model) -> (usize, usize) {
    let arch = model.arch();
    arch.decoder.map_or((arch.layers, arch.heads), |d| (d.layers, d.heads))
}

/// Hook point for the attention in a layer, from 0.
pub(crate) fn pattern(model: &Model, layer: usize) -> HookPoint {
    if model.arch().decoder.is_some() { HookPoint::CrossPattern(layer) } else { HookPoint::Pattern(layer) }
}

/// The reason why a direction is meaningless for a model, if any.
pub fn one_way(model: &Model, direction: Direction) -> Option<String> {
    let arch = model.arch();
    match direction {
        Direction::FromMask => None,
        Direction::ToMask if arch.decoder.is_some() => {
            Some("its encoder does not attend to the decoder, where the mask is predicted".into())
        }
        Direction::ToMask if arch.is_causal() => {
            Some("its tokens do not attend to later ones, and the last token makes the prediction".into())
        }
        Direction::ToMask => None,
    }
}

/// Attention from each of the first `length` tokens to the slots, summed over `slots`, as heads x tokens. `all` is the attention of the
/// batch, `[B,H,T,T]`, whose third axis is the attending token; `row` is the index in the batch.
pub fn to_mask(all: &Array, row: usize, slots: &[usize], length: usize) -> Vec<Vec<f64>> {
    let (heads, queries, keys) = (all.shape[1], all.shape[2], all.shape[3]);
    let at = |head: usize, query: usize, key: usize| {
        f64::from(all.data[((row * heads + head) * queries + query) * keys + key])
    };
    let sum = |head: usize, query: usize| slots.iter().map(|s| at(head, query, *s)).sum();
    (0..heads).map(|head| (0..length).map(|query| sum(head, query)).collect()).collect()
}

/// Attention for each case at one layer, averaged over its slots, as heads x tokens.
pub fn heads(
    model: &Model,
    cases: &[Case<'_>],
    (layer, direction, kind): (usize, Direction, ScoreKind),
    pulse: &mut dyn Pulse,
) -> Result<Vec<Vec<Vec<f64>>>, Fault> {
    let at = pattern(model, layer);
    let pad = model.tokenizer()?.pad_id();
    let lengths: Vec<usize> = cases.iter().map(|c| c.input.ids.len()).collect();
    let mut found = vec![Vec::new(); cases.len()];
    let mut done = 0;
    for group in chunks(&lengths, TOKENS_PER_BATCH) {
        let ids: Vec<&[u32]> = group.iter().map(|k| cases[*k].input.ids.as_slice()).collect();
        let batch = Batch::new(&ids, pad)?;
        let sites = match direction {
            Direction::FromMask => {
                let of = |(row, k): (usize, &usize)| cases[*k].input.slots.iter().map(move |s| (row, *s)).collect::<Vec<_>>();
                Sites::At(group.iter().enumerate().flat_map(of).collect())
            }
            Direction::ToMask => Sites::All,
        };
        let all = model.forward(&batch, &Plan::default().capture_at(at, sites))?.take(at)?;
        let mut site = 0;
        for (row, k) in group.iter().enumerate() {
            let slots = cases[*k].input.slots.len();
            let mut sums = match direction {
                Direction::FromMask => from_mask(&all, site..site + slots, lengths[*k], kind),
                Direction::ToMask => to_mask(&all, row, &cases[*k].input.slots, lengths[*k]),
            };
            site += slots;
            sums.iter_mut().flatten().for_each(|s| *s /= slots.max(1) as f64);
            found[*k] = sums;
        }
        done += group.len();
        pulse.beat(done, cases.len())?;
    }
    Ok(found)
}

/// Attention from some sites to the first `length` tokens, summed over the sites, as heads x tokens. `all` is `[N,H,T]`.
pub fn from_mask(all: &Array, sites: std::ops::Range<usize>, length: usize, kind: ScoreKind) -> Vec<Vec<f64>> {
    let (heads, keys) = (all.shape[1], all.shape[2]);
    let mut sums = vec![vec![0.0; length]; heads];
    for site in sites {
        for (head, sum) in sums.iter_mut().enumerate() {
            let begin = (site * heads + head) * keys;
            let weights = all.data[begin..begin + length].iter().map(|w| f64::from(*w));
            match kind {
                ScoreKind::Softmax => sum.iter_mut().zip(weights).for_each(|(s, w)| *s += w),
                ScoreKind::Raw => {
                    // The log of a weight is the score before the softmax minus a constant. A weight of zero is the result of underflow.
                    let logs: Vec<f64> = weights.map(|w| w.max(f64::from(f32::MIN_POSITIVE)).ln()).collect();
                    let mean = logs.iter().sum::<f64>() / length.max(1) as f64;
                    sum.iter_mut().zip(logs).for_each(|(s, log)| *s += log - mean);
                }
            }
        }
    }
    sums
}

/// Combines the heads into one score per token.
pub fn put_together(heads: &[Vec<f64>], head: HeadRef) -> Vec<f64> {
    let count = heads.len().max(1) as f64;
    let sum = || -> Vec<f64> {
        let tokens = heads.first().map_or(0, Vec::len);
        (0..tokens).map(|t| heads.iter().map(|h| h[t]).sum()).collect()
    };
    match head {
        HeadRef::At(h) => heads.get(h.wrapping_sub(1)).cloned().unwrap_or_default(),
        HeadRef::Sum => sum(),
        HeadRef::Mean => sum().into_iter().map(|s| s / count).collect(),
    }
}

fn layer_of(model: &Model, layer: LayerRef) -> Result<usize, String> {
    Ok(layer.resolve(shape(model).0)? - 1)
}

impl Method for Attention {
    fn id(&self) -> &'static str {
        "attention"
    }

    fn title(&self) -> &'static str {
        "attention"
    }

    fn short(&self) -> &'static str {
        "ATT"
    }

    fn about(&self) -> &'static str {
        "The attention between the mask and the token in one layer (Shen et al. 2022, section 4.2)."
    }

    fn refuses(&self, model: &Model, spec: &Spec) -> Option<String> {
        let AttentionSpec { layer, head, direction, .. } = spec.attention;
        if let Err(e) = model.require(Offer::Attention) {
            return Some(e.to_string());
        }
        let heads = shape(model).1;
        if let HeadRef::At(h) = head
            && h > heads
        {
            return Some(format!("head {h} does not exist: a layer has heads 1 to {heads}"));
        }
        layer_of(model, layer).err().or_else(|| one_way(model, direction))
    }

    fn passes(&self, _spec: &Spec, _words: usize) -> usize {
        1
    }

    fn explain(
        &self,
        model: &Model,
        cases: &[Case<'_>],
        spec: &Spec,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Scores>, Fault> {
        let AttentionSpec { layer, head, direction, scores } = spec.attention;
        let layer = layer_of(model, layer).map_err(|e| lab::fault::problem(&e, "attention.layer", "choose a different layer"))?;
        let all = heads(model, cases, (layer, direction, scores), pulse)?;
        Ok(all.iter().zip(cases).map(|(h, c)| Scores::plain(put_together(h, head), c.input)).collect())
    }
}

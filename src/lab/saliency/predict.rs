//! What a model predicts in the place of the mask. An answer of several tokens has as many masks; its probability is the product
//! of theirs, each given the sentence with all masks in it.

use super::finding::Guess;
use super::input::Input;
use crate::base::Pulse;
use crate::lab::fault::Fault;
use crate::model::chunk::chunks;
use crate::model::{Batch, Model, Plan, Sites, Tokenizer};

/// Answers that are shown.
pub const SHOWN: usize = 5;

/// A prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The most probable answers, best first.
    pub top: Vec<Guess>,
    /// The most probable token of each slot.
    pub ids: Vec<u32>,
    /// What they read like together.
    pub said: String,
    /// Probability of the expected answer.
    pub answer_probability: Option<f64>,
    /// Whether the first answer is the expected one.
    pub top1: Option<bool>,
    /// Whether one of the first three is.
    pub top3: Option<bool>,
}

/// Probabilities from logits.
#[must_use]
pub fn softmax(logits: &[f32]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut all: Vec<f64> = logits.iter().map(|l| f64::from(l - most).exp()).collect();
    let sum: f64 = all.iter().sum();
    all.iter_mut().for_each(|p| *p /= sum);
    all
}

/// The most probable tokens, best first; ties by lower id.
fn best(probabilities: &[f64], count: usize) -> Vec<(u32, f64)> {
    let mut best: Vec<(u32, f64)> = Vec::with_capacity(count + 1);
    for (id, p) in probabilities.iter().enumerate() {
        if best.len() == count && best.last().is_some_and(|last| last.1 >= *p) {
            continue;
        }
        let at = best.partition_point(|b| b.1 >= *p);
        best.insert(at, (id as u32, *p));
        best.truncate(count);
    }
    best
}

/// The most probable combinations of one token a slot, best first. Keeping the best of each step loses none of the final ones,
/// because the factors are independent.
fn combined(slots: &[Vec<(u32, f64)>]) -> Vec<(Vec<u32>, f64)> {
    let mut all: Vec<(Vec<u32>, f64)> = vec![(Vec::new(), 1.0)];
    for slot in slots {
        let mut next: Vec<(Vec<u32>, f64)> = Vec::with_capacity(all.len() * slot.len());
        for (ids, p) in &all {
            next.extend(slot.iter().map(|(id, q)| ([ids.as_slice(), &[*id]].concat(), p * q)));
        }
        next.sort_by(|a, b| b.1.total_cmp(&a.1));
        next.truncate(SHOWN);
        all = next;
    }
    all
}

/// How tokens read in the place of an answer.
fn reads(tokenizer: &Tokenizer, ids: &[u32]) -> Result<String, Fault> {
    Ok(tokenizer.decode(ids, false)?.trim().to_owned())
}

fn of_slots(tokenizer: &Tokenizer, input: &Input, slots: &[Vec<f64>]) -> Result<Prediction, Fault> {
    let tops: Vec<Vec<(u32, f64)>> = slots.iter().map(|p| best(p, SHOWN)).collect();
    let ids = tops.iter().filter_map(|t| t.first().map(|(id, _)| *id)).collect::<Vec<u32>>();
    let mut top = Vec::new();
    for (ids, probability) in combined(&tops) {
        top.push(Guess { answer: reads(tokenizer, &ids)?, probability });
    }
    let expected = !input.answer.is_empty() && input.answer.len() == slots.len();
    let wanted = reads(tokenizer, &input.answer)?;
    // Compared as they read: the same word has several tokens in some vocabularies, with and without a blank before it.
    let among = |count: usize| expected.then(|| top.iter().take(count).any(|g| g.answer == wanted));
    let probability = || input.answer.iter().zip(slots).map(|(id, p)| p[*id as usize]).product();
    Ok(Prediction {
        top1: among(1),
        top3: among(3),
        answer_probability: expected.then(probability),
        said: reads(tokenizer, &ids)?,
        top,
        ids,
    })
}

/// The predictions of some inputs, in their order.
///
/// # Errors
/// Those of the model; cancellation.
pub fn predict(
    model: &Model,
    inputs: &[&Input],
    tokens_per_batch: usize,
    pulse: &mut dyn Pulse,
) -> Result<Vec<Prediction>, Fault> {
    let tokenizer = model.tokenizer()?;
    let lengths: Vec<usize> = inputs.iter().map(|i| i.ids.len()).collect();
    let mut found: Vec<Option<Prediction>> = vec![None; inputs.len()];
    let mut done = 0;
    for group in chunks(&lengths, tokens_per_batch) {
        let ids: Vec<&[u32]> = group.iter().map(|k| inputs[*k].ids.as_slice()).collect();
        let batch = Batch::new(&ids, tokenizer.pad_id())?;
        let sites =
            group.iter().enumerate().flat_map(|(row, k)| inputs[*k].slots.iter().map(move |s| (row, *s)));
        let trace = model.forward(&batch, &Plan::default().logits_at(Sites::At(sites.collect())))?;
        let logits = trace.logits()?;
        let mut at = 0;
        for k in &group {
            let slots = inputs[*k].slots.len();
            let each: Vec<Vec<f64>> = (at..at + slots).map(|row| softmax(logits.row(row))).collect();
            found[*k] = Some(of_slots(tokenizer, inputs[*k], &each)?);
            at += slots;
        }
        done += group.len();
        pulse.beat(done, inputs.len())?;
    }
    Ok(found.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::input::Reader;
    use super::super::sentence::own;
    use super::*;
    use crate::base::pulse::NoPulse;
    use crate::model::Device;

    #[test]
    fn what_is_expected_is_found_by_how_it_reads() {
        for name in ["bert-tiny", "gpt2-tiny", "bart-tiny", "roberta-tiny"] {
            let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
            let text = "The dogs near the gate [MASK].";
            let first = Reader::new(&model).unwrap().read(&own(text, None).unwrap()).unwrap().unwrap();
            let said = predict(&model, &[&first], 4096, &mut NoPulse).unwrap().remove(0);
            assert!(said.top1.is_none() && said.answer_probability.is_none() && said.top.len() == SHOWN);
            let word = said.top[1].answer.clone();
            let sentence = own(text, Some(&word)).unwrap();
            let input = Reader::new(&model).unwrap().read(&sentence).unwrap().unwrap();
            let again = predict(&model, &[&input], 4096, &mut NoPulse).unwrap().remove(0);
            assert_eq!((again.top1, again.top3), (Some(false), Some(true)), "{name}: {word}");
        }
    }

    proptest! {
        #[test]
        fn the_best_combinations_are_those_of_all(
            slots in prop::collection::vec(prop::collection::vec(0.01f64..1.0, 2..7), 1..4),
        ) {
            let tops: Vec<Vec<(u32, f64)>> = slots.iter().map(|p| best(p, SHOWN)).collect();
            let mut all = vec![1.0];
            for slot in &slots {
                all = all.iter().flat_map(|p| slot.iter().map(move |q| p * q)).collect();
            }
            all.sort_by(|a, b| b.total_cmp(a));
            let found: Vec<f64> = combined(&tops).iter().map(|c| c.1).collect();
            prop_assert_eq!(found.len(), all.len().min(SHOWN));
            for (a, b) in found.iter().zip(&all) {
                prop_assert!((a - b).abs() < 1e-12);
            }
        }

        #[test]
        fn the_best_come_first_and_ties_by_their_id(p in prop::collection::vec(0u8..5, 1..30), count in 1usize..6) {
            let p: Vec<f64> = p.into_iter().map(f64::from).collect();
            let mut order: Vec<usize> = (0..p.len()).collect();
            order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
            let want: Vec<u32> = order.into_iter().take(count).map(|i| i as u32).collect();
            prop_assert_eq!(best(&p, count).into_iter().map(|b| b.0).collect::<Vec<_>>(), want);
        }
    }
}

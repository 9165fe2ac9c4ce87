//! Prediction of the masked words.
//!
//! A multi-token answer has one mask per token. Its probability is the product of the token probabilities, each given the sentence with all
//! masks. A causal model generates tokens one by one, each given the preceding ones; the best answers are then those of a beam search.

use std::borrow::Cow;

use super::finding::Guess;
use super::input::Input;
use base::Pulse;
use lab::fault::Fault;
use model::chunk::chunks;
use model::{Batch, Model, Plan, Sites, Tokenizer};

pub const SHOWN: usize = 5;

#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The most probable answers, best first.
    pub top: Vec<Guess>,
    /// The most probable token of each slot.
    pub ids: Vec<u32>,
    /// The tokens in `ids`, decoded as one string.
    pub said: String,
    /// Probability of the expected answer, excluding other answers that fit.
    pub answer_probability: Option<f64>,
    /// True if the first answer is one of the gold answers.
    pub top1: Option<bool>,
    /// True if one of the first three answers is a gold answer.
    pub top3: Option<bool>,
}

pub fn softmax(logits: &[f32]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut all: Vec<f64> = logits.iter().map(|l| f64::from(l - most).exp()).collect();
    let sum: f64 = all.iter().sum();
    all.iter_mut().for_each(|p| *p /= sum);
    all
}

/// The tokens with the highest values, best first; ties by lower id.
pub(crate) fn best(probabilities: &[f64], count: usize) -> Vec<(u32, f64)> {
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

/// The most probable combinations of one token per slot, best first. Keeping only the best after each slot loses nothing, because the slots
/// are independent.
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

/// Text of an answer's tokens.
fn reads(tokenizer: &Tokenizer, ids: &[u32]) -> Result<String, Fault> {
    Ok(tokenizer.decode(ids, false)?.trim().to_owned())
}

/// Builds a prediction from the best answers and the probability of the expected one.
fn prediction_of(
    tokenizer: &Tokenizer,
    input: &Input,
    answers: Vec<(Vec<u32>, f64)>,
    expected: f64,
) -> Result<Prediction, Fault> {
    let ids = answers.first().map_or(Vec::new(), |a| a.0.clone());
    let mut top = Vec::new();
    for (ids, probability) in answers {
        top.push(Guess { answer: reads(tokenizer, &ids)?, probability });
    }
    let known = !input.answer.is_empty() && input.answer.len() == ids.len();
    let gold = std::iter::once(&input.answer).chain(&input.others);
    let gold: Vec<String> = gold.map(|ids| reads(tokenizer, ids)).collect::<Result<_, _>>()?;
    // Answers are compared as text, because some vocabularies have two tokens for a word: with and without a preceding space.
    let among = |count: usize| known.then(|| top.iter().take(count).any(|g| gold.contains(&g.answer)));
    Ok(Prediction {
        top1: among(1),
        top3: among(3),
        answer_probability: known.then_some(expected),
        said: reads(tokenizer, &ids)?,
        top,
        ids,
    })
}

fn of_slots(tokenizer: &Tokenizer, input: &Input, slots: &[Vec<f64>]) -> Result<Prediction, Fault> {
    let tops: Vec<Vec<(u32, f64)>> = slots.iter().map(|p| best(p, SHOWN)).collect();
    let expected = input.answer.iter().zip(slots).map(|(id, p)| p[*id as usize]).product();
    prediction_of(tokenizer, input, combined(&tops), expected)
}

/// Beam search over a causal model's multi-token answer.
struct Beam<'a> {
    input: &'a Input,
    /// The best prefixes found so far, best first.
    answers: Vec<(Vec<u32>, f64)>,
    /// The extended prefixes, unordered.
    next: Vec<(Vec<u32>, f64)>,
    /// Probability of the expected answer's prefix.
    expected: f64,
}

impl<'a> Beam<'a> {
    fn new(input: &'a Input) -> Self {
        Self { input, answers: vec![(Vec::new(), 1.0)], next: Vec::new(), expected: 1.0 }
    }

    /// Texts to evaluate next: one per prefix, then the text with the expected answer's prefix.
    fn rows(&self, step: usize) -> Vec<Vec<u32>> {
        let expected = self.input.answer.get(..step).filter(|_| step < self.input.answer.len());
        let beginnings = self.answers.iter().map(|a| a.0.as_slice()).chain(expected);
        beginnings.map(|given| [&self.input.ids, given].concat()).collect()
    }

    /// Adds the continuations of the prefix at this index.
    fn take(&mut self, row: usize, step: usize, probabilities: &[f64]) {
        match self.answers.get(row) {
            Some((ids, p)) => {
                let longer = best(probabilities, SHOWN).into_iter();
                self.next.extend(longer.map(|(id, q)| ([ids.as_slice(), &[id]].concat(), p * q)));
            }
            None => self.expected *= probabilities[self.input.answer[step] as usize],
        }
    }

    fn on(&mut self) {
        self.next.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        self.next.truncate(SHOWN);
        self.answers = std::mem::take(&mut self.next);
    }
}

/// A causal model's multi-token answers to inputs.
fn one_by_one(
    model: &Model,
    inputs: &[&Input],
    tokens_per_batch: usize,
    pulse: &mut dyn Pulse,
) -> Result<Vec<Prediction>, Fault> {
    let mut beams: Vec<Beam<'_>> = inputs.iter().map(|i| Beam::new(i)).collect();
    let steps = inputs.iter().map(|i| i.further + 1).max().unwrap_or(0);
    for step in 0..steps {
        pulse.beat(0, inputs.len())?;
        let (mut rows, mut of) = (Vec::new(), Vec::new());
        for (k, beam) in beams.iter().enumerate().filter(|(_, b)| step <= b.input.further) {
            for (row, ids) in beam.rows(step).into_iter().enumerate() {
                let last = vec![ids.len() - 1];
                rows.push((ids, last));
                of.push((k, row));
            }
        }
        let rows: Vec<(&[u32], &[usize])> = rows.iter().map(|(ids, s)| (&ids[..], &s[..])).collect();
        at_slots(model, &rows, tokens_per_batch, &mut |place, slots| {
            let (k, row) = of[place];
            beams[k].take(row, step, &slots[0]);
            Ok(())
        })?;
        beams.iter_mut().filter(|b| step <= b.input.further).for_each(Beam::on);
    }
    let tokenizer = model.tokenizer()?;
    beams.into_iter().map(|b| prediction_of(tokenizer, b.input, b.answers, b.expected)).collect()
}

/// The inputs to explain. For causal models, the answers are appended.
pub fn answered<'a>(
    model: &Model,
    inputs: &[&'a Input],
    predicted: &[Prediction],
) -> Result<Vec<Cow<'a, Input>>, Fault> {
    let tokenizer = model.tokenizer()?;
    Ok(inputs.iter().zip(predicted).map(|(input, p)| input.answered(&p.ids, tokenizer)).collect())
}

/// Callback that receives the index of a row and the probabilities at each of its slots.
type Take<'t> = &'t mut dyn FnMut(usize, Vec<Vec<f64>>) -> Result<(), Fault>;

/// Computes probabilities at given slots in rows of tokens, in batches of similar length.
fn at_slots(model: &Model, rows: &[(&[u32], &[usize])], tokens_per_batch: usize, take: Take<'_>) -> Result<(), Fault> {
    let pad = model.tokenizer()?.pad_id();
    let lengths: Vec<usize> = rows.iter().map(|r| r.0.len()).collect();
    for group in chunks(&lengths, tokens_per_batch) {
        let ids: Vec<&[u32]> = group.iter().map(|k| rows[*k].0).collect();
        let batch = Batch::new(&ids, pad)?;
        let sites = group.iter().enumerate().flat_map(|(row, k)| rows[*k].1.iter().map(move |s| (row, *s)));
        let trace = model.forward(&batch, &Plan::default().logits_at(Sites::At(sites.collect())))?;
        let logits = trace.logits()?;
        let mut at = 0;
        for k in &group {
            let slots = rows[*k].1.len();
            take(*k, (at..at + slots).map(|row| softmax(logits.row(row))).collect())?;
            at += slots;
        }
    }
    Ok(())
}

/// The predictions for the inputs, in order.
pub fn predict(
    model: &Model,
    inputs: &[&Input],
    tokens_per_batch: usize,
    pulse: &mut dyn Pulse,
) -> Result<Vec<Prediction>, Fault> {
    let tokenizer = model.tokenizer()?;
    let mut found: Vec<Option<Prediction>> = vec![None; inputs.len()];
    let (long, plain): (Vec<usize>, Vec<usize>) = (0..inputs.len()).partition(|k| inputs[*k].further > 0);
    let rows: Vec<(&[u32], &[usize])> = plain.iter().map(|k| (&inputs[*k].ids[..], &inputs[*k].slots[..])).collect();
    let mut done = 0;
    at_slots(model, &rows, tokens_per_batch, &mut |row, slots| {
        let k = plain[row];
        found[k] = Some(of_slots(tokenizer, inputs[k], &slots)?);
        done += 1;
        Ok(pulse.beat(done, inputs.len())?)
    })?;
    let several: Vec<&Input> = long.iter().map(|k| inputs[*k]).collect();
    for (k, prediction) in long.iter().zip(one_by_one(model, &several, tokens_per_batch, pulse)?) {
        found[*k] = Some(prediction);
    }
    pulse.beat(inputs.len(), inputs.len())?;
    Ok(found.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::finding::SentenceFinding;
    use super::super::input::Reader;
    use super::super::sentence::own;
    use super::*;
    use base::pulse::NoPulse;
    use model::Device;

    #[test]
    fn expected_answer_is_matched_by_text() {
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

    /// Any gold answer counts as right; their order in the row does not matter.
    #[test]
    fn any_gold_answer_counts() {
        for name in ["bert-tiny", "gpt2-tiny", "roberta-tiny"] {
            let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
            let reader = Reader::new(&model).unwrap();
            let asked = |answer: &str, others: &[&str]| {
                let known = own("The dogs near the gate [MASK].", Some(answer)).unwrap();
                let other_answers = others.iter().map(|w| (*w).to_owned()).collect();
                let input = reader.read(&SentenceFinding { other_answers, ..known }).unwrap().unwrap();
                predict(&model, &[&input], 4096, &mut NoPulse).unwrap().remove(0)
            };
            let said = asked("x", &[]);
            let words: Vec<&str> = said.top.iter().map(|g| g.answer.as_str()).collect();
            assert_eq!((said.top1, said.top3), (Some(false), Some(false)), "{name}: {words:?}");
            let first = asked("x", &["\u{fffd}\u{fffd}", words[0]]);
            assert_eq!((first.top1, first.top3), (Some(true), Some(true)), "{name}: {words:?}");
            let third = asked("x", &[words[2]]);
            assert_eq!((third.top1, third.top3), (Some(false), Some(true)), "{name}: {words:?}");
            assert_eq!(third.answer_probability, said.answer_probability, "as for the answer itself");
        }
    }

    /// The probabilities of a causal model's answers are products of conditional ones, and the expected answer is among them.
    #[test]
    fn causal_answer_probabilities_are_conditional_products() {
        let model = Model::load(&"gpt2-tiny".parse().unwrap(), Device::Cpu).unwrap();
        let tokenizer = model.tokenizer().unwrap();
        let reader = Reader::new(&model).unwrap();
        let text = "The dogs near the gate [MASK] [MASK] [MASK]";
        let open = reader.read(&own(text, None).unwrap()).unwrap().unwrap();
        let short = reader.read(&own("The dogs [MASK]", None).unwrap()).unwrap().unwrap();
        let both = predict(&model, &[&open, &short], 64, &mut NoPulse).unwrap();
        assert_eq!((both[0].ids.len(), both[1].ids.len(), both[0].top.len()), (3, 1, SHOWN));
        assert!(both[0].top.windows(2).all(|w| w[0].probability >= w[1].probability));
        let alone = predict(&model, &[&short], 4096, &mut NoPulse).unwrap();
        assert_eq!(both[1].ids, alone[0].ids);
        let expected = Input { answer: both[0].ids.clone(), ..open.clone() };
        let again = predict(&model, &[&expected], 4096, &mut NoPulse).unwrap().remove(0);
        assert_eq!((again.top1, again.top3), (Some(true), Some(true)));
        assert!((again.answer_probability.unwrap() - again.top[0].probability).abs() < 1e-9);
        // One pass over the whole answer gives the same probabilities.
        let full = expected.answered(&both[0].ids, tokenizer);
        let mut product = 1.0;
        at_slots(&model, &[(&full.ids, &full.slots)], 4096, &mut |_, slots| {
            product = slots.iter().zip(&expected.answer).map(|(p, id)| p[*id as usize]).product();
            Ok(())
        })
        .unwrap();
        assert!((product - again.top[0].probability).abs() < 1e-6 * product, "{product}");
    }

    proptest! {
        #[test]
        fn best_combinations_match_exhaustive_search(
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
        fn best_tokens_come_first_and_ties_by_id(p in prop::collection::vec(0u8..5, 1..30), count in 1usize..6) {
            let p: Vec<f64> = p.into_iter().map(f64::from).collect();
            let mut order: Vec<usize> = (0..p.len()).collect();
            order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
            let want: Vec<u32> = order.into_iter().take(count).map(|i| i as u32).collect();
            prop_assert_eq!(best(&p, count).into_iter().map(|b| b.0).collect::<Vec<_>>(), want);
        }
    }
}

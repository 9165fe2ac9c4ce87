//! Continues the forward pass from an edited hidden state at the layer of the intervention. A decoder's pass cannot be resumed, so it runs
//! again with the hidden state replaced.

use super::edits::Edits;
use base::Pulse;
use base::matrix::Matrix;
use lab::spot::{Reading, Spot};
use lab::stimuli::{Stimuli, StimuliError, Where};
use model::array::Array;
use model::{Batch, Edit, EditKind, HookPoint, Model, Plan, Sites};
use std::collections::HashMap;
use std::ops::Range;

/// Hidden states of sentences at a layer. The forward pass can be continued from them any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Continuation {
    layer: usize,
    at: HookPoint,
    parts: Vec<Part>,
    /// The verb forms of all sentences of the task: the vocabulary rows to score.
    vocab: Vec<u32>,
    /// Columns of the two forms, per text.
    columns: Vec<[usize; 2]>,
    /// Number of rows that oracles read.
    rows: usize,
    /// The states before the edit, if a mean is edited: its change is then added to every token.
    means: Option<Matrix>,
}

#[derive(Debug, Clone)]
struct Part {
    batch: Batch,
    /// Indices of the batch's texts among the texts of the continuation.
    texts: Vec<usize>,
    /// Positions at which forms are predicted, one per text.
    said: Vec<(usize, usize)>,
    /// The tokens that oracles read.
    read: Reading,
    /// The tokens to write, each with its row among the edited states.
    written: Vec<(usize, (usize, usize))>,
    /// Output of block `layer`, `[B,T,D]`; `None` if only the head remains or the pass runs again.
    hidden: Option<Array>,
}

/// Output of the model after edited hidden states.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Continued {
    /// Logits of the two forms, per text; `None` without a language model head.
    pub forms: Option<Vec<[f32; 2]>>,
    /// Ranks of the two forms, per text, among the verb forms of all sentences, from 1; ties share the best rank. `None` if `forms` is `None`.
    pub ranks: Option<Vec<[u32; 2]>>,
    /// Hidden states that oracles read (rows x D) at each requested later layer, in order.
    pub later: Vec<Matrix>,
}

impl Continuation {
    /// Runs the texts of the stimuli `rows` up to block `layer` (from 1). Edited states later replace either the states `before` (rows x
    /// D; needed only for means) at a position, or the states of `edits`.
    pub(crate) fn new(
        model: &Model,
        stimuli: &Stimuli,
        rows: &[usize],
        (layer, changed): (usize, Where),
        (before, edits): (Option<&Matrix>, Option<&Edits>),
        pulse: &mut dyn Pulse,
    ) -> Result<Self, StimuliError> {
        let complete = stimuli.list.iter().all(|s| s.forms.is_some());
        let mut vocab: Vec<u32> = stimuli.list.iter().filter(|_| complete).filter_map(|s| s.forms).flatten().collect();
        vocab.sort_unstable();
        vocab.dedup();
        let column = |id: u32| vocab.partition_point(|v| *v < id);
        let texts = stimuli.texts(rows);
        let firsts: Vec<usize> = texts.iter().map(|places| rows[places[0]]).collect();
        let columns = firsts.iter().map(|r| stimuli.list[*r].forms.unwrap_or_default().map(column)).collect();
        let at = model.arch().after_block(layer);
        let mut parts = Vec::new();
        let mut done = 0;
        let spot = |text: usize| stimuli.list[firsts[text]].spot(changed);
        let one = |text: usize| spot(text) == Spot::At(stimuli.list[firsts[text]].position);
        let head_only = model.ends_at(layer) && texts.len() == rows.len() && (0..texts.len()).all(one);
        for group in stimuli.batches(&firsts) {
            done += group.len();
            parts.push(if head_only {
                // Only the head remains, and it reads each position separately, so one token per text is enough.
                let pad = model.tokenizer()?.pad_id();
                let batch = Batch::new(&vec![[pad]; group.len()], pad)?;
                let said: Vec<(usize, usize)> = (0..group.len()).map(|k| (k, 0)).collect();
                let written = group.iter().copied().zip(said.clone()).collect();
                Part { batch, said, read: Reading::default(), written, texts: group, hidden: None }
            } else {
                let batch = stimuli.batch(model, &firsts, &group)?;
                let said =
                    group.iter().enumerate().map(|(k, text)| (k, stimuli.list[firsts[*text]].position)).collect();
                let read = stimuli.reading(rows, group.iter().map(|text| texts[*text].as_slice()), Where::Read);
                let written = match edits {
                    Some(edits) => written(&group, edits.spots()),
                    None => written(&group, group.iter().map(|text| (*text, *text, spot(*text).averaged()))),
                };
                let hidden = if at.in_decoder() {
                    None
                } else {
                    Some(model.forward(&batch, &Plan::default().capture(at))?.take(at)?)
                };
                Part { batch, said, read, written, texts: group, hidden }
            });
            pulse.beat(done, texts.len())?;
        }
        let means = firsts.first().is_some_and(|_| matches!(spot(0), Spot::Mean(_)));
        let means = means.then(|| edits.map(|edits| &edits.h).or(before).cloned()).flatten();
        Ok(Self { layer, at, parts, vocab, columns, rows: rows.len(), means })
    }

    pub(crate) fn form_count(&self) -> usize {
        self.vocab.len()
    }

    /// Continues from edited hidden states `h`, by default one for each row. Also returns the hidden states after each of the blocks
    /// `later` (from 1); one pass serves all of them.
    pub(crate) fn run(
        &self,
        model: &Model,
        h: &Matrix,
        later: &[usize],
        pulse: &mut dyn Pulse,
    ) -> Result<Continued, StimuliError> {
        // Without a head or forms there is no prediction, but hidden states can still be edited and read.
        let asks = model.has_head() && !self.vocab.is_empty();
        let mut forms = asks.then(|| vec![[0.0; 2]; self.columns.len()]);
        let mut ranks = asks.then(|| vec![[0; 2]; self.columns.len()]);
        let mut later_hidden = vec![Matrix::zeros(self.rows, h.cols()); later.len()];
        if forms.is_none() && later.is_empty() {
            return Ok(Continued { forms, ranks, later: later_hidden });
        }
        let points: Vec<HookPoint> = later.iter().map(|l| model.arch().after_block(*l)).collect();
        for (i, part) in self.parts.iter().enumerate() {
            let mut plan = self.resume(part, h);
            if forms.is_some() {
                plan = plan.logits_of(Sites::At(part.said.clone()), self.vocab.clone());
            }
            for at in &points {
                plan = plan.capture_at(*at, Sites::At(part.read.sites.clone()));
            }
            let trace = model.forward(&part.batch, &plan)?;
            if let Some((forms, ranks)) = forms.as_mut().zip(ranks.as_mut()) {
                let logits = trace.logits()?;
                for (k, text) in part.texts.iter().enumerate() {
                    let row = logits.row(k);
                    let before = |c: usize| row.iter().filter(|z| **z > row[c]).count() as u32;
                    forms[*text] = self.columns[*text].map(|c| row[c]);
                    ranks[*text] = self.columns[*text].map(|c| 1 + before(c));
                }
            }
            for (at, out) in points.iter().zip(&mut later_hidden) {
                part.read.average(trace.get(*at)?, out);
            }
            pulse.beat(i + 1, self.parts.len())?;
        }
        Ok(Continued { forms, ranks, later: later_hidden })
    }

    /// Probabilities of the first text's two forms over the whole vocabulary, continuing from the edited states `h`.
    pub(crate) fn probabilities(&self, model: &Model, h: &Matrix) -> Result<[f64; 2], StimuliError> {
        let Some((part, k)) = self.parts.iter().find_map(|p| Some((p, p.texts.iter().position(|x| *x == 0)?))) else {
            return Ok([f64::NAN; 2]);
        };
        let plan = self.resume(part, h).logits_at(Sites::At(vec![part.said[k]]));
        let trace = model.forward(&part.batch, &plan)?;
        let logits = trace.logits()?.row(0).to_vec();
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|x| f64::from(x - max).exp()).sum();
        Ok(self.columns[0].map(|c| f64::from(logits[self.vocab[c] as usize] - max).exp() / sum))
    }

    /// Row `i` of the edited states; for means, the change to add to the token's own state.
    fn put(&self, h: &Matrix, i: usize) -> Vec<f32> {
        match &self.means {
            Some(means) => h.row(i).iter().zip(means.row(i)).map(|(after, before)| after - before).collect(),
            None => h.row(i).to_vec(),
        }
    }

    fn resume(&self, part: &Part, h: &Matrix) -> Plan {
        let d = h.cols();
        // Tokens for which no state is given keep the model's state.
        let written = || part.written.iter().filter(|(i, _)| *i < h.rows());
        if self.at.in_decoder() {
            let sites: Vec<(usize, usize)> = written().map(|(_, site)| *site).collect();
            let value = written().flat_map(|(i, _)| self.put(h, *i)).collect();
            let how = if self.means.is_some() { EditKind::Add } else { EditKind::Overwrite };
            let value = Array::new([sites.len(), d], value);
            return Plan::default().edit(Edit { at: self.at, sites, how, value });
        }
        let mut hidden = part.hidden.clone().unwrap_or_else(|| Array::zeros([part.texts.len(), 1, d]));
        let t = hidden.shape[1];
        for (i, (k, position)) in written() {
            let (state, put) = (hidden.row_mut(k * t + position), self.put(h, *i));
            match self.means {
                Some(_) => state.iter_mut().zip(put).for_each(|(x, change)| *x += change),
                None => state.copy_from_slice(&put),
            }
        }
        Plan::default().resume(self.layer, hidden)
    }
}

/// The tokens of a group of texts to write, each with its row among the edited states. `spots` contains the row, the text and the tokens
/// of each edited state.
fn written(group: &[usize], spots: impl Iterator<Item = (usize, usize, Range<usize>)>) -> Vec<(usize, (usize, usize))> {
    let places: HashMap<usize, usize> = group.iter().enumerate().map(|(k, text)| (*text, k)).collect();
    let of = |(i, text, tokens): (usize, usize, Range<usize>)| {
        places.get(&text).into_iter().flat_map(move |k| tokens.clone().map(move |t| (i, (*k, t)))).collect::<Vec<_>>()
    };
    spots.flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NoPulse;
    use corpus::agreement::Positions;
    use corpus::{Frequencies, Task};
    use model::builtin::BUILTINS;
    use model::{Device, ModelSource};

    /// Reference: a BERT in NumPy. After block 1, `step` is added to the states of the words with the property, to the states of every
    /// token, or to their mean. States are read after block 2.
    #[test]
    fn edits_at_one_position_reach_another() {
        use corpus::agreement::Position::{Every, Marked, Mask, Mean};
        let model = Model::load(&ModelSource::Builtin("bert-tiny".into()), Device::Cpu).unwrap();
        let sentence = |noun: &str| format!("The {noun} near the house [MASK] big .");
        let mut example =
            Task::named("agreement").unwrap().examples(1, 5, &Frequencies::natural()).unwrap().examples.remove(0);
        (example.text, example.twin) = (sentence("dogs"), Some(sentence("dog")));
        let wanted = [
            (Marked, Some(Mask), [1.186004, 1.551155, -1.041191, 0.581416]),
            (Mean, Some(Mask), [1.319298, 1.696357, -0.948697, 0.443372]),
            (Mean, None, [1.004285, 0.842583, -0.679975, 0.507084]),
            (Every, Some(Mask), [1.325803, 1.694458, -0.95564, 0.450647]),
        ];
        for (changed, read, wanted) in wanted {
            let example = Positions { changed, read }.put(example.clone(), None).unwrap();
            let stimuli = Stimuli::new(&model, &[example], &mut NoPulse).unwrap();
            let at = (1, Where::Changed);
            let mut h = stimuli.hidden(&model, at, &[0], &mut NoPulse).unwrap();
            let edits = Edits::read(&model, &stimuli, &[0], (&h, 1), &[None], &mut NoPulse).unwrap();
            let c = Continuation::new(&model, &stimuli, &[0], at, (Some(&h), edits.as_ref()), &mut NoPulse).unwrap();
            if let Some(edits) = &edits {
                assert_eq!(edits.h.rows(), 8, "all tokens except special ones");
                h = edits.h.clone();
            }
            let clean = c.run(&model, &h, &[2], &mut NoPulse).unwrap().later.remove(0);
            let own = stimuli.hidden(&model, (2, Where::Read), &[0], &mut NoPulse).unwrap();
            assert!(clean.data().iter().zip(own.data()).all(|(a, b)| (a - b).abs() < 1e-5), "{changed:?} {read:?}");
            let step = Matrix::from_fn(h.rows(), h.cols(), |_, j| 0.5 * ((j + 1) as f32).sin());
            h.add_scaled(1.0, &step);
            let found = c.run(&model, &h, &[2], &mut NoPulse).unwrap().later.remove(0);
            let apart = found.row(0).iter().zip(wanted).map(|(a, b): (&f32, f32)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 2e-5, "{changed:?} {read:?}: {:?}, not {wanted:?}", &found.row(0)[..4]);
        }
    }

    /// Continuing from the model's own hidden states reproduces the model's output, after every block and for every family. BART's encoder
    /// is followed by its decoder, not its head.
    #[test]
    fn continuing_from_unchanged_states_equals_the_model() {
        let examples = Task::named("agreement").unwrap().examples(24, 5, &Frequencies::natural()).unwrap();
        for builtin in BUILTINS {
            let source = ModelSource::Builtin(builtin.name.to_owned());
            let model = Model::load(&source, Device::Cpu).unwrap();
            let stimuli = Stimuli::new(&model, &examples.examples, &mut NoPulse).unwrap();
            let rows: Vec<usize> = (0..stimuli.list.len()).collect();
            let own: Vec<[f32; 2]> = stimuli
                .list
                .iter()
                .map(|s| {
                    let batch = Batch::new(&[&s.ids], 0).unwrap();
                    let trace = model.forward(&batch, &Plan::default().logits_at(Sites::per_row(&[s.position])));
                    let logits = trace.unwrap().logits().unwrap().row(0).to_vec();
                    s.forms.unwrap().map(|f| logits[f as usize])
                })
                .collect();
            for layer in 1..=model.depth() {
                let h = stimuli.hidden(&model, (layer, Where::Changed), &rows, &mut NoPulse).unwrap();
                let at = (layer, Where::Changed);
                let c = Continuation::new(&model, &stimuli, &rows, at, (Some(&h), None), &mut NoPulse).unwrap();
                let found = c.run(&model, &h, &[], &mut NoPulse).unwrap();
                let (found, ranks) = (found.forms.unwrap(), found.ranks.unwrap());
                for (forms, ranks) in found.iter().zip(&ranks) {
                    let count = c.form_count() as u32;
                    assert!(ranks.iter().all(|r| (1..=count).contains(r)) && count > 20, "{ranks:?} of {count}");
                    assert_eq!(forms[0] > forms[1], ranks[0] < ranks[1], "{forms:?} {ranks:?}");
                }
                let apart = own.iter().flatten().zip(found.iter().flatten()).map(|(a, b)| (a - b).abs());
                let worst = apart.fold(0.0, f32::max);
                assert!(worst < 2e-4, "{} after block {layer}: {worst}", builtin.name);
                // A state written unchanged arrives unchanged, up to the rounding of different batches.
                let behind: Vec<usize> = (layer + 1..=model.depth()).collect();
                let arrived = c.run(&model, &h, &behind, &mut NoPulse).unwrap().later;
                for (later, arrived) in behind.iter().zip(&arrived) {
                    let own = stimuli.hidden(&model, (*later, Where::Read), &rows, &mut NoPulse).unwrap();
                    let apart = own.data().iter().zip(arrived.data()).map(|(a, b)| (a - b).abs());
                    let (worst, size) =
                        (apart.fold(0.0, f32::max), own.data().iter().fold(0.0, |m: f32, v| m.max(v.abs())));
                    assert!(worst <= 1e-5 * size, "{} from {layer} to {later}: {worst} of {size}", builtin.name);
                }
                let p = c.probabilities(&model, &h).unwrap();
                assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{p:?}");
            }
        }
    }
}

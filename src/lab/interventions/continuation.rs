//! Continuation of the model from a changed hidden state: the rest of the forward pass, resumed at the layer of the
//! intervention. In a decoder a pass cannot be resumed; it runs anew, with the hidden state replaced.

use base::Pulse;
use base::matrix::Matrix;
use lab::stimuli::{Stimuli, StimuliError};
use model::array::Array;
use model::{Batch, Edit, EditKind, HookPoint, Model, Plan, Sites};

/// Sentences that have run up to a layer and can go on from there any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Continuation {
    layer: usize,
    at: HookPoint,
    parts: Vec<Part>,
    /// The verb forms of all sentences of the task: the rows of the vocabulary that are scored.
    vocab: Vec<u32>,
    /// Columns of the two forms, per row.
    columns: Vec<[usize; 2]>,
}

#[derive(Debug, Clone)]
struct Part {
    batch: Batch,
    /// Places of the batch's rows among the rows of the continuation.
    places: Vec<usize>,
    sites: Vec<(usize, usize)>,
    /// Output of block `layer`, `[B,T,D]`; not needed where only the head is left or the pass runs anew.
    hidden: Option<Array>,
}

/// The end of the pass for changed hidden states.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Continued {
    /// Logits of the two forms, per row; none if the model has no language model head.
    pub forms: Option<Vec<[f32; 2]>>,
    /// Their ranks among the verb forms of all sentences, from 1; of equals each counts as the first. None where `forms` is none.
    pub ranks: Option<Vec<[u32; 2]>>,
    /// Hidden states at the verb's position (rows x D) at each of the later layers that were asked for, in their order.
    pub later: Vec<Matrix>,
}

impl Continuation {
    /// Runs the stimuli `rows` up to block `layer` (from 1).
    pub(crate) fn new(
        model: &Model,
        stimuli: &Stimuli,
        rows: &[usize],
        layer: usize,
        pulse: &mut dyn Pulse,
    ) -> Result<Self, StimuliError> {
        let forms = |r: &usize| stimuli.list[*r].forms.unwrap_or_default();
        let complete = stimuli.list.iter().all(|s| s.forms.is_some());
        let mut vocab: Vec<u32> = stimuli.list.iter().filter(|_| complete).filter_map(|s| s.forms).flatten().collect();
        vocab.sort_unstable();
        vocab.dedup();
        let column = |id: u32| vocab.partition_point(|v| *v < id);
        let columns = rows.iter().map(|r| forms(r).map(column)).collect();
        let at = model.arch().after_block(layer);
        let mut parts = Vec::new();
        let mut done = 0;
        for group in stimuli.batches(rows) {
            done += group.len();
            parts.push(if model.ends_at(layer) {
                // Only the head is left, and it reads each position by itself: one token a row is all it needs.
                let pad = model.tokenizer()?.pad_id();
                let batch = Batch::new(&vec![[pad]; group.len()], pad)?;
                let sites = (0..group.len()).map(|k| (k, 0)).collect();
                Part { batch, sites, places: group, hidden: None }
            } else if at.in_decoder() {
                let (batch, sites) = stimuli.batch(model, rows, &group)?;
                Part { batch, sites, places: group, hidden: None }
            } else {
                let (batch, sites) = stimuli.batch(model, rows, &group)?;
                let mut trace = model.forward(&batch, &Plan::default().capture(at))?;
                Part { batch, sites, places: group, hidden: Some(trace.take(at)?) }
            });
            pulse.beat(done, rows.len())?;
        }
        Ok(Self { layer, at, parts, vocab, columns })
    }

    /// Verb forms that ranks are among.
    pub(crate) fn form_count(&self) -> usize {
        self.vocab.len()
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Goes on from hidden states `h` (rows x D) at the verb's position in place of the model's own. The hidden states after
    /// each of the blocks `later` (from 1) are brought back too; one pass serves all of them.
    pub(crate) fn run(
        &self,
        model: &Model,
        h: &Matrix,
        later: &[usize],
        pulse: &mut dyn Pulse,
    ) -> Result<Continued, StimuliError> {
        // Without a head there is nothing to predict with; hidden states can be changed and read all the same.
        // Nor is there where the data give no forms.
        let asks = model.has_head() && !self.vocab.is_empty();
        let mut forms = asks.then(|| vec![[0.0; 2]; self.len()]);
        let mut ranks = asks.then(|| vec![[0; 2]; self.len()]);
        let mut later_hidden = vec![Matrix::zeros(self.len(), h.cols()); later.len()];
        if forms.is_none() && later.is_empty() {
            return Ok(Continued { forms, ranks, later: later_hidden });
        }
        let points: Vec<HookPoint> = later.iter().map(|l| model.arch().after_block(*l)).collect();
        for (i, part) in self.parts.iter().enumerate() {
            let mut plan = self.resume(part, h);
            if forms.is_some() {
                plan = plan.logits_of(Sites::At(part.sites.clone()), self.vocab.clone());
            }
            for at in &points {
                plan = plan.capture_at(*at, Sites::At(part.sites.clone()));
            }
            let trace = model.forward(&part.batch, &plan)?;
            if let Some((forms, ranks)) = forms.as_mut().zip(ranks.as_mut()) {
                let logits = trace.logits()?;
                for (k, place) in part.places.iter().enumerate() {
                    let row = logits.row(k);
                    let before = |c: usize| row.iter().filter(|z| **z > row[c]).count() as u32;
                    forms[*place] = self.columns[*place].map(|c| row[c]);
                    ranks[*place] = self.columns[*place].map(|c| 1 + before(c));
                }
            }
            for (at, out) in points.iter().zip(&mut later_hidden) {
                let captured = trace.get(*at)?;
                for (k, place) in part.places.iter().enumerate() {
                    out.row_mut(*place).copy_from_slice(captured.row(k));
                }
            }
            pulse.beat(i + 1, self.parts.len())?;
        }
        Ok(Continued { forms, ranks, later: later_hidden })
    }

    /// Probabilities over the whole vocabulary of the two forms of one row, going on from `h` (one row x D).
    pub(crate) fn probabilities(&self, model: &Model, place: usize, h: &[f32]) -> Result<[f64; 2], StimuliError> {
        let Some((part, k)) = self.parts.iter().find_map(|p| p.places.iter().position(|x| *x == place).map(|k| (p, k)))
        else {
            return Ok([f64::NAN; 2]);
        };
        let (start, len) = (k * part.batch.len(), part.batch.lengths()[k]);
        let single = Part {
            batch: Batch::new(&[&part.batch.ids()[start..start + len]], 0)?,
            places: vec![0],
            sites: vec![(0, part.sites[k].1)],
            hidden: part.hidden.as_ref().map(|x| one_row(x, k, len)),
        };
        let row = Matrix::from_fn(1, h.len(), |_, j| h[j]);
        let plan = self.resume(&single, &row).logits_at(Sites::At(single.sites.clone()));
        let trace = model.forward(&single.batch, &plan)?;
        let logits = trace.logits()?.row(0).to_vec();
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|x| f64::from(x - max).exp()).sum();
        Ok(self.columns[place].map(|c| f64::from(logits[self.vocab[c] as usize] - max).exp() / sum))
    }

    fn resume(&self, part: &Part, h: &Matrix) -> Plan {
        let (rows, d) = (part.places.len(), h.cols());
        if self.at.in_decoder() {
            let value = part.places.iter().flat_map(|place| h.row(*place)).copied().collect();
            return Plan::default().edit(Edit {
                at: self.at,
                sites: part.sites.clone(),
                how: EditKind::Overwrite,
                value: Array::new([rows, d], value),
            });
        }
        let mut hidden = part.hidden.clone().unwrap_or_else(|| Array::zeros([rows, 1, d]));
        let t = hidden.shape[1];
        for (place, (k, position)) in part.places.iter().zip(&part.sites) {
            hidden.row_mut(k * t + position).copy_from_slice(h.row(*place));
        }
        Plan::default().resume(self.layer, hidden)
    }
}

/// Row `k` of `[B,T,D]`, cut to `len` tokens: `[1,len,D]`.
fn one_row(x: &Array, k: usize, len: usize) -> Array {
    let (t, d) = (x.shape[1], x.shape[2]);
    Array::new([1, len, d], x.data[k * t * d..(k * t + len) * d].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NoPulse;
    use corpus::{Frequencies, Task};
    use model::builtin::BUILTINS;
    use model::{Device, ModelSource};

    /// Going on from the model's own hidden states is the model itself, after every block and for every family: behind a
    /// BART's encoder comes its decoder, not its head.
    #[test]
    fn going_on_from_unchanged_states_is_the_model_itself() {
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
                let h = stimuli.hidden(&model, layer, &rows, &mut NoPulse).unwrap();
                let c = Continuation::new(&model, &stimuli, &rows, layer, &mut NoPulse).unwrap();
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
                // A state that is put in place unchanged arrives as it was, apart from the rounding of other batches.
                let behind: Vec<usize> = (layer + 1..=model.depth()).collect();
                let arrived = c.run(&model, &h, &behind, &mut NoPulse).unwrap().later;
                for (later, arrived) in behind.iter().zip(&arrived) {
                    let own = stimuli.hidden(&model, *later, &rows, &mut NoPulse).unwrap();
                    let apart = own.data().iter().zip(arrived.data()).map(|(a, b)| (a - b).abs());
                    let (worst, size) =
                        (apart.fold(0.0, f32::max), own.data().iter().fold(0.0, |m: f32, v| m.max(v.abs())));
                    assert!(worst <= 1e-5 * size, "{} from {layer} to {later}: {worst} of {size}", builtin.name);
                }
                let p = c.probabilities(&model, 0, h.row(0)).unwrap();
                assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{p:?}");
            }
        }
    }
}

//! Checks of a plain pass over the file's batch: hidden states, attentions, logits, sentence vectors.

use super::expected::{Expected, Tensor};
use super::report::Table;
use super::tolerance::{HIDDEN, LOGITS, PROBABILITY};
use super::{Model, ModelError, Result, tokens};
use crate::arch::Network;
use crate::{Array, Batch, HookPoint, Plan, PoolOver, Pooling, Readout, Sites, Trace};
use base::Pulse;

/// Maximum float32 noise that a reference file may state for its values.
const MOST_NOISE: f64 = 1e-3;

/// A model with the batch of its expected values.
pub(super) struct Case<'a> {
    pub model: &'a Model,
    /// Values from another implementation.
    pub expected: &'a Expected,
    pub batch: Batch,
    /// Positions whose logits are explained, one per row; `None` if the file has no `position`.
    pub positions: Option<Vec<usize>>,
    /// Padding id.
    pub pad: u32,
}

impl<'a> Case<'a> {
    /// Parses ids, mask, types and positions.
    pub(crate) fn open(model: &'a Model, expected: &'a Expected) -> Result<Case<'a>> {
        let ids = expected.get("input_ids")?;
        let [b, t] = ids.shape[..] else {
            let what = format!("has shape {:?}; expected [sentences, tokens]", ids.shape);
            return Err(expected.wrong_tensor("input_ids", what));
        };
        if b == 0 || t == 0 || b > super::expected::MOST {
            return Err(expected.wrong_tensor("input_ids", format!("has shape [{b}, {t}]")));
        }
        let vocab = model.arch().vocab;
        let ids = expected.indices("input_ids", &[b, t], vocab)?;
        let mask = expected.indices("attention_mask", &[b, t], 2)?;
        let mut lengths = Vec::with_capacity(b);
        for row in mask.chunks(t) {
            let n = row.iter().sum::<usize>();
            if n == 0 || row[..n].contains(&0) {
                let what = "has a row without tokens, or padding that is not on the right".to_owned();
                return Err(expected.wrong_tensor("attention_mask", what));
            }
            lengths.push(n);
        }
        let rows = |all: &[usize]| -> Vec<Vec<u32>> {
            let row = |(row, &n): (&[usize], &usize)| row[..n].iter().map(|&v| v as u32).collect();
            all.chunks(t).zip(&lengths).map(row).collect()
        };
        let json = expected.json().field("pad_id");
        let own = || model.tokenizer().map_or(0, |t| t.pad_id());
        let pad = if json.is_there() { json.whole(0, vocab - 1)? as u32 } else { own() };
        let batch = if expected.has("token_type_ids") {
            let types = expected.indices("token_type_ids", &[b, t], model.arch().embedding.types.max(1))?;
            Batch::with_types(&rows(&ids), &rows(&types), pad)?
        } else {
            Batch::new(&rows(&ids), pad)?
        };
        batch.check(model.arch())?;
        if batch.len() != t {
            return Err(expected.wrong_tensor(
                "attention_mask",
                format!("has columns without any token: only {} of {t} contain tokens", batch.len()),
            ));
        }
        let batch = Case::decoder_input(model, expected, batch, pad)?;
        let positions = if expected.has("position") {
            let side = batch.output();
            let list = expected.indices("position", &[b], side.len())?;
            if let Some((row, p)) = list.iter().enumerate().find(|(row, p)| **p >= side.lengths()[*row]) {
                return Err(expected.wrong_tensor("position", format!("{p} in sentence {row} is padding")));
            }
            Some(list)
        } else {
            None
        };
        Ok(Case { model, expected, batch, positions, pad })
    }

    /// Sets the decoder input from the file for models that provide only logits. Without a decoder input, their decoder predicts only one
    /// position of the text.
    fn decoder_input(model: &Model, expected: &Expected, batch: Batch, pad: u32) -> Result<Batch> {
        let served = matches!(model.arch().network, Network::LogitsOnly(_));
        if !served || model.arch().decoder.is_none() || !expected.has("decoder_input_ids") {
            return Ok(batch);
        }
        let shape = expected.get("decoder_input_ids")?.shape;
        let [b, t] = shape[..] else {
            let what = format!("has shape {shape:?}; expected [sentences, tokens]");
            return Err(expected.wrong_tensor("decoder_input_ids", what));
        };
        if b != batch.rows() || t == 0 {
            return Err(expected.wrong_tensor("decoder_input_ids", format!("has shape [{b}, {t}]")));
        }
        let ids = expected.indices("decoder_input_ids", &[b, t], model.arch().vocab)?;
        let rows: Vec<Vec<u32>> = ids.chunks(t).map(|row| row.iter().map(|&v| v as u32).collect()).collect();
        let batch = batch.with_decoder(&rows, pad)?;
        batch.check(model.arch())?;
        Ok(batch)
    }

    /// Makes every comparison for which the file contains values.
    pub(crate) fn compare(&self, table: &mut Table, pulse: &mut dyn Pulse) -> Result<()> {
        const STAGES: usize = 6;
        tokens::compare(self.model, self.expected, table)?;
        if matches!(self.model.arch().network, Network::LogitsOnly(_)) {
            // Only logits can be compared.
            self.prediction(table)?;
            return Ok(pulse.beat(STAGES, STAGES)?);
        }
        pulse.beat(1, STAGES)?;
        self.states(table)?;
        pulse.beat(2, STAGES)?;
        self.decoder(table)?;
        pulse.beat(3, STAGES)?;
        self.prediction(table)?;
        pulse.beat(4, STAGES)?;
        self.attributions(table, pulse)?;
        pulse.beat(5, STAGES)?;
        self.edits(table, pulse)?;
        pulse.beat(STAGES, STAGES)?;
        Ok(())
    }

    pub(crate) fn layers(&self) -> usize {
        self.model.layers()
    }

    /// Hook point that corresponds to `hidden_states[l]` of Hugging Face.
    pub(crate) fn hidden_point(&self, l: usize) -> HookPoint {
        match l {
            0 => HookPoint::ResidPre(0),
            l if l == self.layers() && self.model.arch().final_norm => HookPoint::FinalNorm,
            l => HookPoint::ResidPost(l - 1),
        }
    }

    pub(crate) fn end(&self) -> HookPoint {
        self.hidden_point(self.layers())
    }

    /// Compares a captured array with the expected one.
    fn capture(&self, quantity: &str, key: &str, p: HookPoint, trace: &Trace, table: &mut Table) -> Result<()> {
        let got = trace.get(p)?;
        let want = self.expected.shaped(key, &got.shape)?;
        self.close(quantity, (key, "hidden_states"), &got.shape, &got.data, &want.data, HIDDEN, table);
        Ok(())
    }

    /// Compares arrays `[B,T,W]` or `[B,H,T,K]` at the tokens, ignoring padding. The tolerance includes the reference's stated deviation
    /// from float64.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn close(
        &self,
        quantity: &str,
        (place, noise): (&str, &str),
        shape: &[usize],
        got: &[f32],
        want: &[f64],
        tolerance: f64,
        table: &mut Table,
    ) {
        let (got, want) = (self.tokens_of(shape, got), self.tokens_of(shape, want));
        table.close(quantity, place, &got, &want, tolerance.max(self.noise(noise)));
    }

    /// Float32 noise that the reference states for a quantity: at most [`MOST_NOISE`]; 0 if not stated.
    fn noise(&self, quantity: &str) -> f64 {
        let stated = self.expected.json().field("float32_noise_max_abs").field(quantity);
        stated.number().ok().filter(|n| *n > 0.0).map_or(0.0, |n| n.min(MOST_NOISE))
    }

    fn tokens_of<T: Copy>(&self, shape: &[usize], values: &[T]) -> Vec<T> {
        let (heads, length, width) = match *shape {
            [_, length, width] => (1, length, width),
            [_, heads, length, width] => (heads, length, width),
            _ => return values.to_vec(),
        };
        let lengths = self.batch.lengths();
        let is_token = |row: usize| row % length < lengths.get(row / (heads * length)).copied().unwrap_or(0);
        let rows = values.chunks(width.max(1)).enumerate().filter(|(row, _)| is_token(*row));
        rows.flat_map(|(_, values)| values).copied().collect()
    }

    /// Shape of `p` captured over the whole batch.
    fn shape(&self, p: HookPoint) -> Vec<usize> {
        p.capture_shape(self.model.arch(), &self.batch, &Sites::All)
    }

    fn states(&self, table: &mut Table) -> Result<()> {
        let layers = self.layers();
        let mut points: Vec<(&str, String, HookPoint)> =
            (0..=layers).map(|l| ("hidden states", format!("hidden_states.{l}"), self.hidden_point(l))).collect();
        let attentions = self.expected.has("attentions.0");
        if attentions {
            points.extend((0..layers).map(|l| ("attentions", format!("attentions.{l}"), HookPoint::Pattern(l))));
        }
        // All shapes are checked before anything is computed.
        for (_, key, p) in &points {
            self.expected.shaped(key, &self.shape(*p))?;
        }
        let has_head = self.model.has_head();
        let logits = if has_head && self.expected.has("logits") {
            let shape = [self.batch.rows(), self.batch.len(), self.model.arch().vocab];
            Some(self.expected.shaped("logits", &shape)?)
        } else {
            None
        };
        let mut plan = points.iter().fold(Plan::default(), |plan, (_, _, p)| plan.capture(*p));
        if logits.is_some() {
            plan = plan.logits_at(Sites::All);
        }
        let trace = self.model.forward(&self.batch, &plan)?;
        for (quantity, key, p) in &points {
            self.capture(quantity, key, *p, &trace, table)?;
        }
        if !attentions {
            table.not_checked("attentions", "the file has no attentions.0");
        }
        match logits {
            Some(want) => {
                let got = trace.logits()?;
                self.close("logits", ("", "logits"), &got.shape, &got.data, &want.data, LOGITS, table);
            }
            None if self.expected.has("logits") => {
                let why = "the file has logits, but the weights have no head";
                table.add("logits", why, 0, f64::INFINITY, LOGITS);
            }
            None if has_head => table.not_checked("logits", "the file has none"),
            None => self.no_head(table)?,
        }
        self.sentence_vectors(trace.get(self.end())?, table)
    }

    /// Checks that a model without a head refuses to compute logits.
    fn no_head(&self, table: &mut Table) -> Result<()> {
        let answer = self.model.forward(&self.batch, &Plan::default().logits_at(Sites::All));
        match answer {
            Err(ModelError::NoHead { .. }) => table.add("logits are refused without a head", "", 1, 0.0, 0.0),
            Err(e) => return Err(e),
            Ok(_) => table.add("logits are refused without a head", "logits were returned", 1, 1.0, 0.0),
        }
        Ok(())
    }

    fn sentence_vectors(&self, hidden: &Array, table: &mut Table) -> Result<()> {
        let shape = [self.batch.rows(), self.model.embed_dim()];
        if self.expected.has("mean_pooled") {
            let want = self.expected.shaped("mean_pooled", &shape)?;
            table.close("mean-pooled vectors", "", &self.mean_pooled(hidden).data, &want.data, HIDDEN);
        }
        if self.expected.has("sentence_embedding") {
            let want = self.expected.shaped("sentence_embedding", &shape)?;
            match self.model.pooling() {
                Some(pooling) => {
                    let pooled = self.pooled(pooling)?;
                    table.close("sentence embeddings", "", &pooled.data, &want.data, HIDDEN);
                }
                None => {
                    let why = "the folder does not specify a pooling mode (1_Pooling/config.json is missing)";
                    table.add("sentence embeddings", why, 0, f64::INFINITY, HIDDEN);
                }
            }
        }
        if self.expected.has("pooler_output") {
            let want = self.expected.shaped("pooler_output", &shape)?;
            match self.model.pooler() {
                Some(_) => {
                    let got = self.pooled(Pooling::plain(PoolOver::Pooler))?;
                    table.close("pooler output", "", &got.data, &want.data, HIDDEN);
                }
                None => table.not_checked("pooler output", "the weights have no pooler"),
            }
        }
        Ok(())
    }

    /// Mean over each sentence's tokens, `[B,D]`.
    pub(crate) fn mean_pooled(&self, hidden: &Array) -> Array {
        let mut out = Array::zeros([self.batch.rows(), self.model.embed_dim()]);
        for row in 0..self.batch.rows() {
            let n = self.batch.lengths()[row];
            for t in 0..n {
                let h = hidden.at(row, t);
                out.row_mut(row).iter_mut().zip(h).for_each(|(o, v)| *o += v / n as f32);
            }
        }
        out
    }

    /// Sentence vectors from the program's regular readout, `[B,D]`.
    fn pooled(&self, pooling: Pooling) -> Result<Array> {
        self.model.read(&self.batch, self.model.top(), &Readout::Sentence(pooling))
    }

    /// Compares the decoder of an encoder-decoder.
    fn decoder(&self, table: &mut Table) -> Result<()> {
        let Some(second) = self.model.arch().decoder else { return Ok(()) };
        if !self.expected.has("decoder_hidden_states.0") {
            table.not_checked("decoder", "the file has no decoder_hidden_states.0");
            return Ok(());
        }
        let input = self.batch.decoder_input(second.start_token);
        let (b, t) = (input.rows(), input.len());
        let want = self.expected.indices("decoder_input_ids", &[b, t], self.model.arch().vocab)?;
        let got: Vec<usize> = input.ids().iter().map(|&i| i as usize).collect();
        table.equal("decoder input", "", &got, &want);
        let states = "decoder hidden states";
        let mut points = vec![(states, HookPoint::DecoderPre(0), "decoder_hidden_states.0".to_owned())];
        for l in 0..second.layers {
            points.push((states, HookPoint::DecoderPost(l), format!("decoder_hidden_states.{}", l + 1)));
            let pattern = HookPoint::DecoderPattern(l);
            points.push(("decoder attentions", pattern, format!("decoder_attentions.{l}")));
            points.push(("cross attentions", HookPoint::CrossPattern(l), format!("cross_attentions.{l}")));
        }
        for (_, p, key) in &points {
            self.expected.shaped(key, &self.shape(*p))?;
        }
        let plan = points.iter().fold(Plan::default(), |plan, (_, p, _)| plan.capture(*p));
        let trace = self.model.forward(&self.batch, &plan)?;
        for (quantity, p, key) in &points {
            self.capture(quantity, key, *p, &trace, table)?;
        }
        Ok(())
    }

    /// Compares logits and the most probable tokens at the given positions.
    fn prediction(&self, table: &mut Table) -> Result<()> {
        if !self.model.has_head() || !self.expected.has("logits_at_position") {
            return Ok(());
        }
        let positions = self.position()?;
        let (b, v) = (self.batch.rows(), self.model.arch().vocab);
        let want = self.expected.shaped("logits_at_position", &[b, v])?;
        let plan = Plan::default().logits_at(Sites::per_row(positions));
        let trace = self.model.forward(&self.batch, &plan)?;
        let logits = trace.logits()?;
        self.close("logits at the position", ("", "logits"), &logits.shape, &logits.data, &want.data, LOGITS, table);
        let top: Tensor = self.expected.get("top5_ids")?;
        let k = top.shape.last().copied().unwrap_or(0).clamp(1, v);
        let ids = self.expected.indices("top5_ids", &[b, k], v)?;
        let want = self.expected.shaped("top5_probabilities", &[b, k])?;
        let (mut differing, mut got) = (0, Vec::with_capacity(b * k));
        for (row, ids) in ids.chunks(k).enumerate() {
            let values = logits.row(row);
            let mut order: Vec<usize> = (0..v).collect();
            order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
            // Tokens whose logits differ by less than the tolerance may swap ranks.
            let apart = |(i, j): (&usize, &usize)| i != j && f64::from((values[*i] - values[*j]).abs()) > LOGITS;
            differing += order.iter().zip(ids).filter(|p| apart(*p)).count();
            got.extend(probabilities(values, ids));
        }
        table.add("most probable tokens", "", ids.len(), differing as f64, 0.0);
        table.close64("their probabilities", "", &got, &want.data, PROBABILITY);
        Ok(())
    }

    pub(crate) fn position(&self) -> Result<&[usize]> {
        self.positions.as_deref().ok_or_else(|| self.expected.wrong_tensor("position", "is missing".into()))
    }
}

/// Returns the softmax probabilities of some tokens.
pub(super) fn probabilities(logits: &[f32], ids: &[usize]) -> Vec<f64> {
    let top = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let z: f64 = logits.iter().map(|&v| (f64::from(v) - top).exp()).sum();
    ids.iter().map(|&i| (f64::from(logits[i]) - top).exp() / z).collect()
}

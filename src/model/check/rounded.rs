//! Checks of rounded summaries of single texts, for pretrained checkpoints: norms, entropies, logits, greedy decoding.

use super::expected::{Expected, Json};
use super::forward::probabilities;
use super::report::Table;
use super::tolerance::{PROBABILITY, ROUNDED};
use super::{Model, Result};
use crate::arch::Decoder;
use crate::{Array, Batch, HookPoint, Plan, PoolOver, Pooling, Readout, Sites};
use base::Pulse;

/// Compares every case of the file.
pub(super) fn compare(model: &Model, expected: &Expected, table: &mut Table, pulse: &mut dyn Pulse) -> Result<()> {
    let json = expected.json();
    let cases = json.field("cases").some_items()?;
    let mut vectors = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        pulse.beat(i, cases.len())?;
        let text = Text::encode(model, case, format!("case {i}"), table)?;
        match model.arch().decoder {
            Some(second) => text.encoder_decoder(second, table)?,
            None => vectors.extend(text.single_stack(table)?),
        }
    }
    if json.field("cosine_similarity").is_there() {
        let cosine = |a: &Array, b: &Array| a.data.iter().zip(&b.data).map(|(x, y)| x * y).sum::<f32>();
        let got: Vec<f32> = vectors.iter().flat_map(|a| vectors.iter().map(move |b| cosine(a, b))).collect();
        let want = json.field("cosine_similarity").numbers()?;
        table.close("cosine similarities", "", &got, &want, PROBABILITY);
    }
    pulse.beat(cases.len(), cases.len())?;
    Ok(())
}

/// A case and its text as a batch of one.
struct Text<'a> {
    model: &'a Model,
    case: &'a Json<'a>,
    batch: Batch,
    place: String,
}

impl<'a> Text<'a> {
    fn encode(model: &'a Model, case: &'a Json<'a>, place: String, table: &mut Table) -> Result<Text<'a>> {
        let text = case.field("text").text()?;
        let encoding = model.tokenizer()?.encode_closed(text)?;
        let want = case.field("input_ids").ids()?;
        table.equal("token ids", &place, &encoding.ids, &want);
        if case.field("tokens").is_there() {
            table.equal("tokens", &place, &encoding.tokens, &case.field("tokens").texts()?);
        }
        let batch = Batch::new(&[want], 0)?;
        Ok(Text { model, case, batch, place })
    }

    fn close(&self, quantity: &str, got: &[f32], key: &str, table: &mut Table) -> Result<()> {
        let field = self.case.field(key);
        if field.is_there() {
            table.close(quantity, &self.place, got, &field.numbers()?, ROUNDED);
        }
        Ok(())
    }

    /// Compares a model with one stack; returns the normalized sentence vector if the file has one.
    fn single_stack(&self, table: &mut Table) -> Result<Option<Array>> {
        let (model, layers) = (self.model, self.model.layers());
        let last = if model.arch().final_norm { HookPoint::FinalNorm } else { HookPoint::ResidPost(layers - 1) };
        let mut states = vec![HookPoint::ResidPre(0)];
        states.extend((0..layers - 1).map(HookPoint::ResidPost));
        states.push(last);
        let patterns = (0..layers).map(HookPoint::Pattern);
        let mut plan = states.iter().copied().chain(patterns).fold(Plan::default(), |plan, p| plan.capture(p));
        if model.has_head() {
            plan = plan.logits_at(Sites::All);
        }
        let trace = model.forward(&self.batch, &plan)?;
        let (states, patterns) = trace.captures.split_at(layers + 1);
        let (norms, entropies) = (norms(states.iter().map(|c| &c.1)), entropies(patterns.iter().map(|c| &c.1)));
        self.close("norms of hidden states", &norms, "hidden_state_norms", table)?;
        self.close("entropies of attention", &entropies, "mean_attention_entropy", table)?;
        if self.case.field("next_top5").is_there() {
            let logits = trace.logits()?;
            self.top(logits.at(0, self.batch.len() - 1), &self.case.field("next_top5"), table)?;
            if self.case.field("mean_nll").is_there() {
                let nll = mean_nll(logits, self.batch.ids());
                table.close64("mean surprisal", &self.place, &[nll], &[self.case.field("mean_nll").number()?], ROUNDED);
            }
        }
        if self.case.field("greedy_continuation_ids").is_there() {
            self.continuation(table)?;
        }
        self.sentence(table)
    }

    /// Runs one pass over the text and its expected continuation, and checks that each token of the continuation is the most probable one.
    fn continuation(&self, table: &mut Table) -> Result<()> {
        let want = self.case.field("greedy_continuation_ids").ids()?;
        let Some((_, before)) = want.split_last() else { return Ok(()) };
        let all = Batch::new(&[[self.batch.ids(), before].concat()], 0)?;
        let sites = Sites::At((self.batch.len() - 1..all.len()).map(|t| (0, t)).collect());
        let trace = self.model.forward(&all, &Plan::default().logits_at(sites))?;
        let logits = trace.logits()?;
        let got: Vec<u32> = (0..logits.rows()).map(|i| largest(logits.row(i)) as u32).collect();
        table.equal("greedy decoding", &self.place, &got, &want);
        Ok(())
    }

    fn sentence(&self, table: &mut Table) -> Result<Option<Array>> {
        let first = self.case.field("sentence_embedding_first8");
        let pooler = self.case.field("pooler_output_first4");
        if pooler.is_there() {
            match self.model.pooler() {
                Some(_) => {
                    let got = self.pooled(Pooling::plain(PoolOver::Pooler))?;
                    self.compare("pooler output", &got, &pooler.numbers()?, table);
                }
                None if self.place == "case 0" => {
                    table.not_checked("pooler output", "the weights have no pooler");
                }
                None => {}
            }
        }
        if !first.is_there() {
            return Ok(None);
        }
        let Some(pooling) = self.model.pooling() else {
            let why = "the folder does not specify a pooling (1_Pooling/config.json)";
            table.add("sentence embeddings", why, 0, f64::INFINITY, PROBABILITY);
            return Ok(None);
        };
        let vector = self.pooled(pooling)?;
        self.compare("sentence embeddings", &vector, &first.numbers()?, table);
        Ok(Some(vector))
    }

    /// Sentence vector from the program's regular readout, `[1,D]`.
    fn pooled(&self, pooling: Pooling) -> Result<Array> {
        self.model.read(&self.batch, self.model.top(), &Readout::Sentence(pooling))
    }

    fn compare(&self, what: &str, vector: &Array, want: &[f64], table: &mut Table) {
        let got = &vector.data[..want.len().min(vector.data.len())];
        table.close(what, &self.place, got, want, PROBABILITY);
    }

    /// Compares logits and probabilities of the most probable tokens at one position, in order.
    fn top(&self, logits: &[f32], want: &Json<'_>, table: &mut Table) -> Result<()> {
        let items = want.items()?;
        let ids = items.iter().map(|i| i.field("id").whole(0, logits.len() - 1)).collect::<Result<Vec<_>>>()?;
        let numbers = |key: &str| items.iter().map(|i| i.field(key).number()).collect::<Result<Vec<f64>>>();
        let got: Vec<f32> = ids.iter().map(|&i| logits[i]).collect();
        table.close("logits", &self.place, &got, &numbers("logit")?, ROUNDED);
        table.close64("probabilities", &self.place, &probabilities(logits, &ids), &numbers("prob")?, PROBABILITY);
        let mut order: Vec<usize> = (0..logits.len()).collect();
        order.sort_by(|&i, &j| logits[j].total_cmp(&logits[i]));
        order.truncate(ids.len());
        table.equal("most probable tokens", &self.place, &order, &ids);
        Ok(())
    }

    /// Compares a teacher-forced pass over the reference's greedy output.
    fn encoder_decoder(&self, second: Decoder, table: &mut Table) -> Result<()> {
        let (model, layers) = (self.model, second.layers);
        let decoded = self.case.field("greedy_decoder_ids").ids()?;
        let (input, output) = match &decoded[..] {
            [input @ .., _] if !input.is_empty() => (input, &decoded[1..]),
            _ => (&decoded[..], &[][..]),
        };
        let batch = self.batch.clone().with_decoder(&[input], 0)?;
        let mut states = vec![HookPoint::ResidPre(0)];
        states.extend((0..model.layers()).map(HookPoint::ResidPost));
        states.push(HookPoint::DecoderPre(0));
        states.extend((0..layers).map(HookPoint::DecoderPost));
        let mut patterns: Vec<HookPoint> = (0..model.layers()).map(HookPoint::Pattern).collect();
        patterns.extend((0..layers).map(HookPoint::DecoderPattern));
        patterns.push(HookPoint::CrossPattern(layers - 1));
        let plan = states.iter().chain(&patterns).fold(Plan::default(), |plan, p| plan.capture(*p));
        let trace = model.forward(&batch, &plan.logits_at(Sites::All))?;
        let arrays = |points: &[HookPoint]| -> Result<Vec<&Array>> { points.iter().map(|p| trace.get(*p)).collect() };
        let (encoder, decoder) = states.split_at(model.layers() + 1);
        for (key, points) in [("encoder_hidden_state_norms", encoder), ("decoder_hidden_state_norms", decoder)] {
            self.close("norms of hidden states", &norms(arrays(points)?.into_iter()), key, table)?;
        }
        let (encoder, rest) = patterns.split_at(model.layers());
        for (key, points) in
            [("encoder_mean_attention_entropy", encoder), ("decoder_mean_attention_entropy", &rest[..layers])]
        {
            self.close("entropies of attention", &entropies(arrays(points)?.into_iter()), key, table)?;
        }
        if self.case.field("cross_attention_argmax").is_there() {
            let cross = trace.get(HookPoint::CrossPattern(layers - 1))?;
            let looks: Vec<u32> = (0..cross.rows()).map(|i| largest(cross.row(i)) as u32).collect();
            let want = self.case.field("cross_attention_argmax").ids()?;
            table.equal("most attended encoder tokens", &self.place, &looks, &want);
        }
        let logits = trace.logits()?;
        let greedy: Vec<u32> = (0..logits.rows()).map(|i| largest(logits.row(i)) as u32).collect();
        table.equal("greedy decoding", &self.place, &greedy, output);
        if self.case.field("steps_top5").is_there() {
            for (i, step) in self.case.field("steps_top5").items()?.iter().enumerate().take(logits.rows()) {
                self.top(logits.row(i), step, table)?;
            }
        }
        Ok(())
    }
}

fn norms<'a>(arrays: impl Iterator<Item = &'a Array>) -> Vec<f32> {
    let of =
        |a: &Array| -> Vec<f32> { (0..a.rows()).map(|i| a.row(i).iter().map(|v| v * v).sum::<f32>().sqrt()).collect() };
    arrays.flat_map(of).collect()
}

/// Mean entropy over queries for each attention head, in nats, for one sentence.
fn entropies<'a>(patterns: impl Iterator<Item = &'a Array>) -> Vec<f32> {
    let of_layer = |a: &Array| -> Vec<f32> {
        let (t, k) = (a.shape[2], a.shape[3]);
        let head = |p: &[f32]| -p.iter().filter(|&&v| v > 0.0).map(|&v| v * v.ln()).sum::<f32>() / t as f32;
        a.data.chunks(t * k).map(head).collect()
    };
    patterns.flat_map(of_layer).collect()
}

/// Mean negative log-likelihood of tokens 1.. given the preceding tokens, in nats.
fn mean_nll(logits: &Array, ids: &[u32]) -> f64 {
    let of = |(t, &id): (usize, &u32)| -probabilities(logits.row(t), &[id as usize])[0].ln();
    ids[1..].iter().enumerate().map(of).sum::<f64>() / (ids.len() - 1).max(1) as f64
}

fn largest(row: &[f32]) -> usize {
    (0..row.len()).max_by(|&i, &j| row[i].total_cmp(&row[j])).unwrap_or(0)
}

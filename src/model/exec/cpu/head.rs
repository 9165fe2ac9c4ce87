//! Final norm, logits and scalars after the last block, and their backward pass.

use super::forward::Pass;
use super::grads::{Grads, RowsOf};
use super::stack::Stack;
use super::state::{HeadState, State, add};
use super::weights::{HeadWeights, Weights};
use crate::arch::Head;
use crate::hook::HookPoint;
use crate::plan::{Scalar, Target};
use kernels::buffer::Buffer;
use kernels::loss::{Weight, log_probabilities};
use kernels::math::activate_back;
use kernels::norm::norm_back;
use kernels::packed::Packed;
use kernels::product::{Finish, Left, Right, product};

/// Rows of the output matrix that a plan requests.
pub(super) struct Vocabulary {
    rows: Packed,
    bias: Option<Vec<f32>>,
}

impl Vocabulary {
    /// Copies the rows of these tokens; `None` without a head.
    pub(crate) fn new(weights: &Weights, ids: &[u32]) -> Option<Vocabulary> {
        let head = weights.head.as_ref()?;
        let decoder = &head.decoder;
        let mut values = vec![0.0; ids.len() * decoder.input];
        for (id, row) in ids.iter().zip(values.chunks_exact_mut(decoder.input)) {
            match head.tied {
                true => weights.tokens.copy_row(*id as usize, row),
                false => decoder.weight.column(*id as usize, row),
            }
        }
        let mut rows = Packed::empty(weights.dtype);
        rows.set_weights(decoder.input, &[&values]);
        let all = decoder.bias(0..decoder.weight.cols());
        Some(Vocabulary { rows, bias: all.map(|b| ids.iter().map(|id| b[*id as usize]).collect()) })
    }
}

/// Number of rows whose logits are computed at once.
const CHUNK: usize = 128;

impl Pass<'_> {
    /// The stack whose states are the input of the head.
    pub(crate) fn last(&self) -> &Stack<'_> {
        self.second.as_ref().unwrap_or(&self.first)
    }

    /// Computes the final norm and logits.
    pub(crate) fn top(&self, s: &mut State, vocabulary: Option<&Vocabulary>) {
        let State { first, second, top, final_norm, head, .. } = s;
        let below = if self.second.is_some() { second } else { first };
        let (rows, h) = (&below.rows, below.h.as_ref());
        let selected = self.last().top_selected(rows);
        if let Some(w) = &self.weights.final_norm {
            self.normalise(w, Some(h), top.sized(h.len()), final_norm);
            self.tap.visit(HookPoint::FinalNorm, rows, selected, top.as_mut());
        }
        let states = if self.weights.final_norm.is_some() { top.as_ref() } else { h };
        let Some(weights) = &self.weights.head else { return };
        let d = self.arch.hidden;
        self.tap.logit_rows(rows, selected, &mut head.sites);
        let sites = std::mem::take(&mut head.sites);
        for chunk in sites.chunks(CHUNK) {
            take_rows(states, d, chunk.iter().map(|s| s.0), &mut head.rows);
            self.ready(weights, chunk.len(), head);
            let (right, bias) = match vocabulary {
                Some(v) => (Right::packed(&v.rows), v.bias.as_deref()),
                None => (Right::packed(&weights.decoder.weight), weights.decoder.bias(0..self.arch.vocab)),
            };
            let width = vocabulary.map_or(self.arch.vocab, |v| v.rows.cols());
            let left = Left::rows(head.ready.as_ref(), chunk.len(), weights.decoder.input, weights.decoder.input);
            let to = head.logits.sized(chunk.len() * width);
            product(self.team, left, right, to, width, bias.map_or(Finish::Store, Finish::Bias));
            self.tap.put_logits(chunk.iter().map(|s| s.1), to);
        }
        head.sites = sites;
    }

    /// Computes the input of the decoder matrix, `[n, E]`, from `head.rows` into `head.ready`.
    fn ready(&self, w: &HeadWeights, n: usize, head: &mut HeadState) {
        let HeadState { rows, pre, ready, norm, .. } = head;
        let Some((map, weights)) = &w.transform else {
            ready.sized(rows.as_ref().len()).copy_from_slice(rows.as_ref());
            return;
        };
        let Head::Masked { activation, .. } = self.arch.head else { return };
        let width = map.weight.cols();
        let to = ready.sized(n * width);
        let left = Left::rows(rows.as_ref(), n, map.input, map.input);
        let finish = Finish::Keep(activation, map.bias(0..width), pre.sized(n * width));
        product(self.team, left, Right::packed(&map.weight), to, width, finish);
        self.normalise(weights, None, to, norm);
    }

    /// Computes the values of a scalar's targets, and adds their gradient with respect to the states before the head to `to`.
    pub(crate) fn targets(
        &self,
        s: &mut State,
        of: &Scalar,
        weight: Option<f32>,
        grads: &mut Option<&mut Grads>,
        to: &mut [f32],
    ) {
        let (Some(targets), Some(w)) = (of.targets(), &self.weights.head) else { return };
        let State { first, second, top, head, .. } = s;
        let below = if self.second.is_some() { second } else { first };
        let (rows, h) = (&below.rows, below.h.as_ref());
        let selected = self.last().top_selected(rows);
        let states = if self.weights.final_norm.is_some() { top.as_ref() } else { h };
        head.sites.clear();
        head.targets.clear();
        head.tokens.clear();
        for (i, t) in targets.iter().enumerate() {
            let &Target { row, position, token } = t;
            if let Some(row) = rows.row((row, position), selected) {
                head.sites.push((row, i));
                head.targets.push(i);
                head.tokens.push(token);
            }
        }
        let n = head.sites.len();
        if n == 0 {
            return;
        }
        let sites = std::mem::take(&mut head.sites);
        take_rows(states, self.arch.hidden, sites.iter().map(|s| s.0), &mut head.rows);
        self.ready(w, n, head);
        match of {
            Scalar::Logit(_) => self.logits_of(w, head),
            Scalar::Probability(_) => self.probabilities_of(w, head, Weight::Probability, grads),
            _ => self.probabilities_of(w, head, Weight::Constant(weight.unwrap_or(1.0)), grads),
        }
        if matches!(of, Scalar::Probability(_)) {
            head.values.as_mut().iter_mut().for_each(|v| *v = v.exp());
        }
        self.tap.put_values(&head.targets, head.values.as_ref());
        self.head_back(w, head, grads);
        let d = self.arch.hidden;
        for ((row, _), from) in sites.iter().zip(head.d.as_ref().chunks_exact(d)) {
            add(&mut to[row * d..(row + 1) * d], from);
        }
        head.sites = sites;
    }

    /// Computes the logit of each row's token; its gradient is that token's row of the decoder.
    fn logits_of(&self, w: &HeadWeights, head: &mut HeadState) {
        let width = w.decoder.input;
        let HeadState { ready, d, values, tokens, .. } = head;
        let values = values.sized(tokens.len());
        let d = d.sized(tokens.len() * width);
        for (i, token) in tokens.iter().enumerate() {
            let (id, row) = (*token as usize, &mut d[i * width..(i + 1) * width]);
            match w.tied {
                true => self.weights.tokens.copy_row(id, row),
                false => w.decoder.weight.column(id, row),
            }
            let x = &ready.as_ref()[i * width..(i + 1) * width];
            let sum: f64 = x.iter().zip(&*row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            values[i] = sum as f32 + w.decoder.bias(id..id + 1).map_or(0.0, |b| b[0]);
        }
    }

    /// Computes the log-probability of each row's token and the weighted gradient.
    fn probabilities_of(&self, w: &HeadWeights, head: &mut HeadState, weight: Weight, grads: &mut Option<&mut Grads>) {
        let (n, width, vocab) = (head.tokens.len(), w.decoder.input, self.arch.vocab);
        let HeadState { ready, logits, d, values, tokens, .. } = head;
        let logits = logits.sized(n * vocab);
        self.linear(&w.decoder, ready.as_ref(), logits, vocab);
        log_probabilities(self.team, logits, vocab, tokens, weight, values.sized(n));
        let table = self.weights.tokens.values();
        let right = match w.tied {
            true => Right::rows(&table, vocab, width, width),
            false => Right::packed(w.decoder.back()),
        };
        let d = d.sized(n * width);
        product(self.team, Left::rows(logits, n, vocab, vocab), right, d, width, Finish::Store);
        if let Some(grads) = grads {
            let (x, d) = (RowsOf { data: ready.as_ref(), ld: width }, RowsOf { data: logits, ld: vocab });
            grads.linear(self.team, &w.decoder, 0..1, n, x, d);
        }
    }

    /// Converts the gradient of the decoder's input to that of the states, in `head.d`.
    fn head_back(&self, w: &HeadWeights, head: &mut HeadState, grads: &mut Option<&mut Grads>) {
        let Some((map, weights)) = &w.transform else { return };
        let Head::Masked { activation, .. } = self.arch.head else { return };
        let HeadState { rows, pre, norm, logits, d, .. } = head;
        if let Some(grads) = grads {
            grads.norm(self.team, weights, norm.normed.as_ref(), d.as_ref());
        }
        let kept = (norm.normed.as_ref(), norm.factor.as_ref());
        norm_back(self.team, &weights.view(), kept, d.as_mut(), None);
        activate_back(activation, pre.as_ref(), d.as_mut());
        let (n, width) = (d.as_ref().len() / map.weight.cols(), map.weight.cols());
        if let Some(grads) = grads {
            let x = RowsOf { data: rows.as_ref(), ld: map.input };
            grads.linear(self.team, map, 0..1, n, x, RowsOf { data: d.as_ref(), ld: width });
        }
        // The logits are no longer needed, so their memory is reused here.
        let to = logits.sized(n * map.input);
        let left = Left::rows(d.as_ref(), n, width, width);
        product(self.team, left, Right::packed(map.back()), to, map.input, Finish::Store);
        std::mem::swap(logits, d);
    }
}

/// Copies the selected rows to consecutive rows.
fn take_rows(from: &[f32], width: usize, which: impl ExactSizeIterator<Item = usize>, to: &mut Buffer) {
    let to = to.sized(which.len() * width);
    for (row, to) in which.zip(to.chunks_exact_mut(width)) {
        to.copy_from_slice(&from[row * width..(row + 1) * width]);
    }
}

//! One direction of an LSTM layer with its backward pass (Hochreiter and Schmidhuber, 1997; gates as in PyTorch): i, f, o = sigmoid(W x +
//! U h + b), g = tanh(...), c' = f c + i g, h' = o tanh(c').

use std::sync::OnceLock;

use kernels::packed::Packed;
use kernels::product::{Finish, Left, Right, product};
use kernels::team::Team;

/// Sentences of one group, concatenated without padding, the longest first.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Batch row of each sentence.
    pub sentences: Vec<usize>,
    /// Number of words in each sentence.
    pub lengths: Vec<usize>,
    /// First row of each sentence.
    pub starts: Vec<usize>,
    /// Total number of words.
    pub tokens: usize,
}

impl Layout {
    /// Lays out sentences given as `(batch row, number of words)`, longest first.
    pub(crate) fn new(sentences: &[(usize, usize)]) -> Layout {
        let mut layout = Layout::default();
        for (b, n) in sentences {
            layout.sentences.push(*b);
            layout.lengths.push(*n);
            layout.starts.push(layout.tokens);
            layout.tokens += n;
        }
        layout
    }

    /// Number of sentences that have a word at step `t`; these come first, because sentences are sorted by length.
    fn active(&self, t: usize) -> usize {
        self.lengths.partition_point(|n| *n > t)
    }

    /// Row of the word that sentence `k` has at step `t` in this direction.
    fn row(&self, k: usize, t: usize, reverse: bool) -> usize {
        self.starts[k] + if reverse { self.lengths[k] - 1 - t } else { t }
    }

    fn steps(&self) -> usize {
        self.lengths.first().copied().unwrap_or(0)
    }
}

pub(super) struct Direction {
    width: usize,
    input: usize,
    reverse: bool,
    ih: Packed,
    hh: Packed,
    /// Sum of the two biases, which are only used together.
    bias: Vec<f32>,
    /// Transposed matrices, created by the first backward pass.
    back: OnceLock<(Packed, Packed)>,
}

/// Data kept for the backward pass.
#[derive(Default)]
pub(super) struct Kept {
    /// Gates after their activation functions, `[n, 4 H]`.
    gates: Vec<f32>,
    /// `[n, H]`
    cell: Vec<f32>,
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

impl Direction {
    /// Creates a direction from PyTorch's tensors: `ih` `[4 H, input]`, `hh` `[4 H, H]`, two biases `[4 H]`.
    pub(crate) fn new(ih: &[f32], hh: &[f32], biases: [&[f32]; 2], reverse: bool) -> Direction {
        let width = biases[0].len() / 4;
        let input = ih.len() / (4 * width);
        Direction {
            width,
            input,
            reverse,
            ih: Packed::from_weights(input, &[ih]),
            hh: Packed::from_weights(width, &[hh]),
            bias: biases[0].iter().zip(biases[1]).map(|(a, b)| a + b).collect(),
            back: OnceLock::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let back = self.back.get().map_or(0, |(a, b)| a.bytes() + b.bytes());
        self.ih.bytes() + self.hh.bytes() + 4 * self.bias.len() + back
    }

    /// Runs all sentences and writes h to `out`, in rows of stride `ld` from column `at` on.
    pub(crate) fn forward(
        &self,
        team: Team,
        x: &[f32],
        layout: &Layout,
        (out, ld, at): (&mut [f32], usize, usize),
    ) -> Kept {
        let (h, n) = (self.width, layout.tokens);
        let mut kept = Kept { gates: vec![0.0; n * 4 * h], cell: vec![0.0; n * h] };
        let left = Left::rows(x, n, self.input, self.input);
        product(team, left, Right::packed(&self.ih), &mut kept.gates, 4 * h, Finish::Bias(&self.bias));
        let rows = layout.lengths.len();
        let (mut step, mut before, mut cell) = (vec![0.0; rows * 4 * h], vec![0.0; rows * h], vec![0.0; rows * h]);
        for t in 0..layout.steps() {
            let a = layout.active(t);
            for k in 0..a {
                let row = layout.row(k, t, self.reverse);
                step[k * 4 * h..(k + 1) * 4 * h].copy_from_slice(&kept.gates[row * 4 * h..(row + 1) * 4 * h]);
            }
            if t > 0 {
                let left = Left::rows(&before, a, h, h);
                product(team, left, Right::packed(&self.hh), &mut step[..a * 4 * h], 4 * h, Finish::Add(None));
            }
            for k in 0..a {
                let row = layout.row(k, t, self.reverse);
                let (gates, c) = (&mut step[k * 4 * h..(k + 1) * 4 * h], &mut cell[k * h..(k + 1) * h]);
                let to = &mut out[row * ld + at..row * ld + at + h];
                for j in 0..h {
                    let (i, f) = (sigmoid(gates[j]), sigmoid(gates[h + j]));
                    let (g, o) = (gates[2 * h + j].tanh(), sigmoid(gates[3 * h + j]));
                    c[j] = f * c[j] + i * g;
                    to[j] = o * c[j].tanh();
                    (gates[j], gates[h + j], gates[2 * h + j], gates[3 * h + j]) = (i, f, g, o);
                }
                before[k * h..(k + 1) * h].copy_from_slice(to);
                kept.gates[row * 4 * h..(row + 1) * 4 * h].copy_from_slice(gates);
                kept.cell[row * h..(row + 1) * h].copy_from_slice(c);
            }
        }
        kept
    }

    /// Backpropagates through time: adds the gradient of x to `dx`, given the gradient of h in `d` (rows of stride `ld`, from column `at`
    /// on).
    pub(crate) fn backward(
        &self,
        team: Team,
        kept: &Kept,
        layout: &Layout,
        (d, ld, at): (&[f32], usize, usize),
        dx: &mut [f32],
    ) {
        let (h, rows) = (self.width, layout.lengths.len());
        let (ih, hh) = self.back.get_or_init(|| (self.ih.transposed(), self.hh.transposed()));
        let mut all = vec![0.0; layout.tokens * 4 * h];
        let (mut step, mut dh, mut dc) = (vec![0.0; rows * 4 * h], vec![0.0; rows * h], vec![0.0; rows * h]);
        for t in (0..layout.steps()).rev() {
            let a = layout.active(t);
            for k in 0..a {
                let row = layout.row(k, t, self.reverse);
                let gates = &kept.gates[row * 4 * h..(row + 1) * 4 * h];
                let cell = &kept.cell[row * h..(row + 1) * h];
                let earlier = (t > 0).then(|| layout.row(k, t - 1, self.reverse));
                let from = &d[row * ld + at..row * ld + at + h];
                let (dh, dc) = (&dh[k * h..(k + 1) * h], &mut dc[k * h..(k + 1) * h]);
                let to = &mut step[k * 4 * h..(k + 1) * 4 * h];
                for j in 0..h {
                    let (i, f, g, o) = (gates[j], gates[h + j], gates[2 * h + j], gates[3 * h + j]);
                    let (tanh, before) = (cell[j].tanh(), earlier.map_or(0.0, |r| kept.cell[r * h + j]));
                    let d = from[j] + dh[j];
                    let dcell = dc[j] + d * o * (1.0 - tanh * tanh);
                    to[j] = dcell * g * i * (1.0 - i);
                    to[h + j] = dcell * before * f * (1.0 - f);
                    to[2 * h + j] = dcell * i * (1.0 - g * g);
                    to[3 * h + j] = d * tanh * o * (1.0 - o);
                    dc[j] = dcell * f;
                }
                all[row * 4 * h..(row + 1) * 4 * h].copy_from_slice(to);
            }
            let left = Left::rows(&step, a, 4 * h, 4 * h);
            product(team, left, Right::packed(hh), &mut dh[..a * h], h, Finish::Store);
        }
        let left = Left::rows(&all, layout.tokens, 4 * h, 4 * h);
        product(team, left, Right::packed(ih), dx, self.input, Finish::Add(None));
    }
}

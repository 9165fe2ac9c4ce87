//! Gradients of weights, by parameter index and in parameter shape.

use super::weights::{Id, Linear, NormWeights};
use crate::arch::Arch;
use kernels::buffer::Buffer;
use kernels::norm::add_column_sums;
use kernels::product::{Finish, Left, Right, product};
use kernels::team::Team;

/// One gradient for each parameter in [`Arch::parameters`].
pub(super) struct Grads {
    buffers: Vec<Buffer>,
    sizes: Vec<usize>,
    /// True for each parameter that took part in the loss.
    reached: Vec<bool>,
}

/// Rows of a matrix with the stride between them.
#[derive(Clone, Copy)]
pub(super) struct RowsOf<'a> {
    pub data: &'a [f32],
    /// Stride between rows, in floats.
    pub ld: usize,
}

impl Grads {
    pub(crate) fn new(arch: &Arch) -> Grads {
        let sizes: Vec<usize> = arch.parameters().iter().map(|p| p.shape.iter().product()).collect();
        let buffers = sizes.iter().map(|_| Buffer::default()).collect();
        Grads { buffers, reached: vec![false; sizes.len()], sizes }
    }

    pub(crate) fn clear(&mut self) {
        self.reached.fill(false);
    }

    /// Gradient of a parameter to add to, initially zero.
    pub(crate) fn of(&mut self, id: Id) -> &mut [f32] {
        if self.reached[id] {
            return self.buffers[id].as_mut();
        }
        self.reached[id] = true;
        self.buffers[id].zeroed(self.sizes[id])
    }

    /// Gradient of a parameter, if it took part in the loss.
    pub(crate) fn get(&self, id: Id) -> Option<&[f32]> {
        self.reached[id].then(|| self.buffers[id].as_ref())
    }

    /// Adds the gradients of parts `parts` of a linear map for `n` rows: `x` is its input, `d` the gradient of its output.
    pub(crate) fn linear(
        &mut self,
        team: Team,
        w: &Linear,
        parts: std::ops::Range<usize>,
        n: usize,
        x: RowsOf<'_>,
        d: RowsOf<'_>,
    ) {
        let mut from = 0;
        for part in &w.parts[parts] {
            let left = Left::transposed(&d.data[from..], part.out, n, d.ld);
            let right = Right::rows(x.data, n, w.input, x.ld);
            product(team, left, right, self.of(part.weight), w.input, Finish::Accumulate);
            if let Some(id) = part.bias {
                add_column_sums(team, &d.data[from..], None, (n, d.ld), self.of(id));
            }
            from += part.out;
        }
    }

    /// Adds the gradients of a norm: `normed` is its value before weight and bias, `d` the gradient of its output.
    pub(crate) fn norm(&mut self, team: Team, w: &NormWeights, normed: &[f32], d: &[f32]) {
        let width = w.view().weight.len();
        let rows = (d.len() / width, width);
        add_column_sums(team, d, Some(normed), rows, self.of(w.weight_id));
        if let Some(id) = w.bias_id {
            add_column_sums(team, d, None, rows, self.of(id));
        }
    }
}

//! Gradients of weights, under the parameters' places and in their shapes.

use super::weights::{Id, Linear, NormWeights};
use crate::arch::Arch;
use kernels::buffer::Buffer;
use kernels::norm::add_column_sums;
use kernels::product::{Finish, Left, Right, product};
use kernels::team::Team;

/// One gradient for each parameter of [`Arch::parameters`].
pub(super) struct Grads {
    buffers: Vec<Buffer>,
    sizes: Vec<usize>,
    /// Parameters that took part in the loss.
    reached: Vec<bool>,
}

/// Rows of something, and how far apart they are.
#[derive(Clone, Copy)]
pub(super) struct RowsOf<'a> {
    /// From the first row on.
    pub data: &'a [f32],
    /// Floats from a row to the next.
    pub ld: usize,
}

impl Grads {
    /// No gradients yet.
    pub(crate) fn new(arch: &Arch) -> Grads {
        let sizes: Vec<usize> = arch.parameters().iter().map(|p| p.shape.iter().product()).collect();
        let buffers = sizes.iter().map(|_| Buffer::default()).collect();
        Grads { buffers, reached: vec![false; sizes.len()], sizes }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.reached.fill(false);
    }

    /// The gradient of a parameter, zero at first.
    pub(crate) fn of(&mut self, id: Id) -> &mut [f32] {
        if self.reached[id] {
            return self.buffers[id].as_mut();
        }
        self.reached[id] = true;
        self.buffers[id].zeroed(self.sizes[id])
    }

    /// The gradient of a parameter that took part.
    pub(crate) fn get(&self, id: Id) -> Option<&[f32]> {
        self.reached[id].then(|| self.buffers[id].as_ref())
    }

    /// Takes in `n` rows: `x` went into parts `parts` of a linear map, `d` is the gradient of what came out of them.
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

    /// Takes in rows: `normed` before weight and bias, `d` the gradient of what came out.
    pub(crate) fn norm(&mut self, team: Team, w: &NormWeights, normed: &[f32], d: &[f32]) {
        let width = w.view().weight.len();
        let rows = (d.len() / width, width);
        add_column_sums(team, d, Some(normed), rows, self.of(w.weight_id));
        if let Some(id) = w.bias_id {
            add_column_sums(team, d, None, rows, self.of(id));
        }
    }
}

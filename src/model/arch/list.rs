//! The list of a description's parameters, in order.

use super::NormKind;

/// Use of a parameter: decides initial values and weight decay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A matrix or a table: normal deviates, decayed.
    Weight,
    /// Added: zeros, not decayed.
    Bias,
    /// Multiplied after normalising: ones, not decayed.
    Scale,
}

/// One parameter under its canonical name.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Canonical name, e.g. `blocks.0.attn.q.weight`.
    pub name: String,
    /// Shape; matrices are `[out, in]`.
    pub shape: Vec<usize>,
    pub role: Role,
}

/// Collects parameters in order.
pub(super) struct List(pub(super) Vec<Parameter>);

impl List {
    /// Adds a parameter.
    pub(super) fn push(&mut self, name: String, shape: Vec<usize>, role: Role) {
        self.0.push(Parameter { name, shape, role });
    }

    /// Adds the weight, and the bias, of a linear map.
    pub(super) fn linear(&mut self, name: &str, out: usize, input: usize, bias: bool) {
        self.push(format!("{name}.weight"), vec![out, input], Role::Weight);
        if bias {
            self.push(format!("{name}.bias"), vec![out], Role::Bias);
        }
    }

    /// Adds the parameters of a norm.
    pub(super) fn norm(&mut self, name: &str, kind: NormKind, width: usize) {
        self.push(format!("{name}.weight"), vec![width], Role::Scale);
        if kind == NormKind::Layer {
            self.push(format!("{name}.bias"), vec![width], Role::Bias);
        }
    }
}

//! Ordered list of an architecture's parameters.

use super::NormKind;

/// Role of a parameter, which determines its initial values and whether weight decay applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Matrix or table: initially normally distributed, with decay.
    Weight,
    /// Additive term: initially zero, without decay.
    Bias,
    /// Factor after normalization: initially one, without decay.
    Scale,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Canonical name, e.g. `blocks.0.attn.q.weight`.
    pub name: String,
    /// Shape; matrices are `[out, in]`.
    pub shape: Vec<usize>,
    pub role: Role,
}

pub(super) struct List(pub(super) Vec<Parameter>);

impl List {
    pub(super) fn push(&mut self, name: String, shape: Vec<usize>, role: Role) {
        self.0.push(Parameter { name, shape, role });
    }

    /// Adds the weight and the optional bias of a linear map.
    pub(super) fn linear(&mut self, name: &str, out: usize, input: usize, bias: bool) {
        self.push(format!("{name}.weight"), vec![out, input], Role::Weight);
        if bias {
            self.push(format!("{name}.bias"), vec![out], Role::Bias);
        }
    }

    pub(super) fn norm(&mut self, name: &str, kind: NormKind, width: usize) {
        self.push(format!("{name}.weight"), vec![width], Role::Scale);
        if kind == NormKind::Layer {
            self.push(format!("{name}.bias"), vec![width], Role::Bias);
        }
    }
}

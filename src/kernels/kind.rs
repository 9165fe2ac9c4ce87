//! Kernel types named in a network description: activations, norms, element types.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activation {
    /// x Phi(x), where Phi is the exact normal distribution function.
    GeluErf,
    /// The tanh approximation of `GeluErf` (`gelu_new`).
    GeluTanh,
    /// max(x, 0).
    Relu,
    /// x sigmoid(x).
    Silu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NormKind {
    /// (x - mean) / sqrt(var + eps) * weight + bias.
    Layer,
    /// x / sqrt(mean square + eps) * weight; no bias.
    Rms,
}

/// Element type of a loaded model's matrices and tables. On the CPU, biases, norms, sums and all values between products stay in f32, and
/// results are always f32.
///
/// On the CPU, bf16 products round both operands, or only the weights if the processor has neither AMX nor AVX512_BF16; f16 products round
/// the weights. Other devices compute everything in this type. Types other than f32 take half the memory and support only forward passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    #[default]
    F32,
    /// 16 bits with 11 bits of precision; up to 65504.
    F16,
    /// 16 bits with 8 bits of precision and the range of f32.
    Bf16,
}

impl Dtype {
    pub const ALL: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];

    pub fn bytes(self) -> usize {
        if self == Dtype::F32 { 4 } else { 2 }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dtype::F32 => "f32",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
        })
    }
}

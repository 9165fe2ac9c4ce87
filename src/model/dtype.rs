//! Number types for storing and running models.

use std::borrow::Cow;

use half::f16;
use half::slice::HalfFloatSliceExt;
pub use kernels::kind::Dtype;

use super::error::{ModelError, Result};
use super::plan::Plan;

pub fn parse(name: &str) -> Result<Dtype> {
    Dtype::ALL
        .into_iter()
        .find(|d| d.to_string() == name)
        .ok_or_else(|| ModelError::Dtype(name.chars().take(40).collect::<String>().escape_debug().to_string()))
}

/// Rejects gradients in forward-only types.
pub fn check(dtype: Dtype, plan: &Plan) -> Result<()> {
    match (dtype, &plan.gradient) {
        (Dtype::F32, _) | (_, None) => Ok(()),
        _ => Err(ModelError::Plan(format!("no gradients in {dtype}, which is forward only; load the model in f32"))),
    }
}

/// Rejects parameter values that the type cannot represent.
pub(crate) fn check_range(dtype: Dtype, name: &str, values: &[f32]) -> Result<()> {
    let largest = f16::MAX.to_f32();
    match values.iter().find(|v| v.abs() > largest).filter(|_| dtype == Dtype::F16) {
        None => Ok(()),
        Some(v) => Err(ModelError::Weights {
            file: "parameters".into(),
            what: format!("'{name}' contains {v}, which f16 cannot represent; load the model in bf16 or f32"),
        }),
    }
}

/// Values stored in a [`Dtype`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    F32(Vec<f32>),
    F16(Vec<f16>),
    Bf16(Vec<half::bf16>),
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::F32(Vec::new())
    }
}

impl Numbers {
    /// Stores these values in `dtype`, reusing memory if possible.
    pub(crate) fn set(&mut self, dtype: Dtype, from: Cow<'_, [f32]>) {
        match (dtype, self, from) {
            (Dtype::F32, Numbers::F32(to), Cow::Borrowed(from)) if to.len() == from.len() => {
                to.copy_from_slice(from);
            }
            (Dtype::F32, to, from) => *to = Numbers::F32(from.into_owned()),
            (Dtype::F16, to, from) => {
                let mut halves = vec![f16::ZERO; from.len()];
                halves.convert_from_f32_slice(&from);
                *to = Numbers::F16(halves);
            }
            (Dtype::Bf16, to, from) => {
                let mut halves = vec![half::bf16::ZERO; from.len()];
                halves.convert_from_f32_slice(&from);
                *to = Numbers::Bf16(halves);
            }
        }
    }

    /// Converts the values from index `at` on and writes them to `to`.
    pub(crate) fn copy(&self, at: usize, to: &mut [f32]) {
        let range = at..at + to.len();
        match self {
            Numbers::F32(x) => to.copy_from_slice(&x[range]),
            Numbers::F16(x) => x[range].convert_to_f32_slice(to),
            Numbers::Bf16(x) => x[range].convert_to_f32_slice(to),
        }
    }

    pub(crate) fn values(&self) -> Cow<'_, [f32]> {
        match self {
            Numbers::F32(x) => Cow::Borrowed(x),
            Numbers::F16(x) => Cow::Owned(x.to_f32_vec()),
            Numbers::Bf16(x) => Cow::Owned(x.to_f32_vec()),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Numbers::F32(x) => 4 * x.capacity(),
            Numbers::F16(x) => 2 * x.capacity(),
            Numbers::Bf16(x) => 2 * x.capacity(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for d in Dtype::ALL {
            assert_eq!(parse(&d.to_string()).unwrap(), d);
        }
        for bad in ["", "F32", "float32", "\u{1b}[31m"] {
            let said = parse(bad).unwrap_err().to_string();
            assert!(said.contains("f32, f16 or bf16") && !said.contains('\u{1b}'), "{said}");
        }
    }

    #[test]
    fn half_types_halve_memory_and_keep_their_precision() {
        let values: Vec<f32> = (0..1001).map(|i| (i as f32 - 500.0) * 0.013 + 1e-3).collect();
        for (dtype, error) in [(Dtype::F32, 0.0), (Dtype::F16, 1.0 / 2048.0), (Dtype::Bf16, 1.0 / 256.0)] {
            let mut kept = Numbers::default();
            kept.set(dtype, Cow::Borrowed(&values));
            let near = |(a, b): (&f32, &f32)| (a - b).abs() <= error * b.abs();
            assert!(kept.values().iter().zip(&values).all(near), "{dtype}");
            let mut row = [0.0; 7];
            kept.copy(100, &mut row);
            assert!(row.iter().zip(&values[100..]).all(near));
            assert_eq!(kept.bytes(), dtype.bytes() * values.len());
        }
    }

    #[test]
    fn values_out_of_range_for_f16_are_rejected() {
        assert!(check_range(Dtype::Bf16, "x", &[1e20]).is_ok());
        let said = check_range(Dtype::F16, "blocks.0.mlp.up.weight", &[1.0, -7e4]).unwrap_err().to_string();
        assert!(said.contains("blocks.0.mlp.up.weight") && said.contains("bf16"), "{said}");
    }
}

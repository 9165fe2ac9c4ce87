//! Interventions made with other programs (pyvene, TransformerLens, the authors' code): directions to remove, or edited states.
//!
//! A safetensors file with one of two tensors, in f32 or f64:
//!
//! `directions` (m x D): rank r removes the first r directions, regardless of their lengths and angles.
//!
//! `states` (n x D or k x n x D): an edited state for every row of the table written by `probity states`, in its order. With k values,
//! matrix z is for rows that should have value z.

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};

use super::{Dense, Matrix};
use base::files::hex;

/// Maximum size of an accepted file in bytes, so that a mistaken path cannot exhaust memory.
const MOST_BYTES: u64 = 8 << 30;

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// Reading failed.
    #[error("{}: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    /// The content is not valid.
    #[error("{}: {what}", file.display())]
    Unfit {
        file: PathBuf,
        /// The fault and the expected content.
        what: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// One direction per row, m x D, finite and not all zero.
    Directions(Dense<f64>),
    /// Edited states, n x D each: one matrix for all values, or one per value.
    States(Vec<Matrix>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    pub content: Content,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

impl Given {
    pub fn read(file: &Path) -> Result<Self, GivenError> {
        let fail = |source| GivenError::Read { file: file.to_owned(), source };
        let bytes = base::read::bytes(file, MOST_BYTES).map_err(fail)?;
        let content = parse(&bytes).map_err(|what| GivenError::Unfit { file: file.to_owned(), what })?;
        Ok(Self { content, sha256: hex(&Sha256::digest(&bytes)) })
    }
}

/// Parses the bytes of a file, or describes the fault.
fn parse(bytes: &[u8]) -> Result<Content, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| format!("not a safetensors file ({e})"))?;
    match (file.tensor("directions"), file.tensor("states")) {
        (Ok(_), Ok(_)) => Err("it has both `directions` and `states`; use one file for each".into()),
        (Ok(view), Err(_)) => {
            let [rows, columns] = view.shape()[..] else {
                return Err(format!("`directions` has shape {:?}; it must be m x D", view.shape()));
            };
            let values = numbers("directions", view.dtype(), view.data())?;
            if values.iter().all(|x| *x == 0.0) {
                return Err("`directions` is all zeros".into());
            }
            let directions = Dense::from_vec(rows, columns, values).map_err(|e| e.to_string())?;
            Ok(Content::Directions(directions))
        }
        (Err(_), Ok(view)) => {
            let (count, rows, columns) = match view.shape() {
                [n, d] => (1, *n, *d),
                [k, n, d] => (*k, *n, *d),
                other => return Err(format!("`states` has shape {other:?}; it must be n x D or k x n x D")),
            };
            let values = numbers("states", view.dtype(), view.data())?;
            if count * rows * columns == 0 {
                return Err("`states` is empty".into());
            }
            let one = |part: &[f64]| {
                Matrix::from_vec(rows, columns, part.iter().map(|x| *x as f32).collect()).map_err(|e| e.to_string())
            };
            Ok(Content::States(values.chunks_exact(rows * columns).map(one).collect::<Result<_, _>>()?))
        }
        (Err(_), Err(_)) => {
            let mut names = file.names();
            names.sort_unstable();
            let found: Vec<&str> = names.into_iter().take(8).collect();
            Err(format!("it has neither `directions` nor `states`, but {}", found.join(", ")))
        }
    }
}

/// Reads the finite numbers of a tensor.
fn numbers(name: &str, dtype: Dtype, data: &[u8]) -> Result<Vec<f64>, String> {
    let values: Vec<f64> = match dtype {
        Dtype::F32 => data.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        Dtype::F64 => data.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        other => return Err(format!("`{name}` is {other:?}; save it as F32 or F64")),
    };
    // States are stored in single precision, so a value that overflows it counts as infinite.
    match values.iter().position(|x| !(*x as f32).is_finite()) {
        Some(at) => Err(format!("`{name}` contains NaN or infinity (element {at})")),
        None => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

    fn file(name: &str, shape: &[usize], values: &[f32]) -> Vec<u8> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let view = TensorView::new(Dtype::F32, shape.to_vec(), &bytes).unwrap();
        safetensors::serialize([(name, view)], None).unwrap()
    }

    #[test]
    fn directions_and_states_are_read() {
        let directions = parse(&file("directions", &[2, 3], &[1.0, 0.0, 0.0, 0.0, 2.0, 0.0])).unwrap();
        assert!(matches!(directions, Content::Directions(d) if d.rows() == 2 && d.row(1) == [0.0, 2.0, 0.0]));
        let states = parse(&file("states", &[2, 1, 2], &[1.0, 2.0, 3.0, 4.0])).unwrap();
        assert!(matches!(states, Content::States(s) if s.len() == 2 && s[1].row(0) == [3.0, 4.0]));
        let states = parse(&file("states", &[2, 2], &[1.0, 2.0, 3.0, 4.0])).unwrap();
        assert!(matches!(states, Content::States(s) if s.len() == 1 && s[0].rows() == 2));
    }

    #[test]
    fn unusable_file_is_rejected_with_a_reason() {
        for (bytes, want) in [
            (b"nothing".to_vec(), "not a safetensors"),
            (file("other", &[1, 2], &[1.0, 2.0]), "neither `directions` nor `states`, but other"),
            (file("directions", &[2], &[1.0, 2.0]), "must be m x D"),
            (file("directions", &[1, 2], &[0.0, 0.0]), "all zeros"),
            (file("directions", &[1, 2], &[f32::NAN, 0.0]), "NaN or infinity (element 0)"),
            (file("states", &[2], &[1.0, 2.0]), "n x D or k x n x D"),
            (file("states", &[0, 2], &[]), "empty"),
            (file("states", &[1, 2], &[1.0, f32::INFINITY]), "NaN or infinity (element 1)"),
        ] {
            let said = parse(&bytes).unwrap_err();
            assert!(said.contains(want), "{said}");
        }
        let ints = TensorView::new(Dtype::I64, vec![1, 1], &[0; 8]).unwrap();
        let ints = safetensors::serialize([("states", ints)], None).unwrap();
        assert!(parse(&ints).unwrap_err().contains("F32 or F64"));
        let lost = Given::read(Path::new("nowhere/at-all.safetensors")).unwrap_err().to_string();
        assert!(lost.contains("at-all.safetensors"), "{lost}");
    }
}

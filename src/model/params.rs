//! Host parameters with canonical names, and their conversion from and to the names and layouts of checkpoints.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::arch::{Arch, Head};
use super::array::Array;
use super::error::{ModelError, Result};
use super::families::Family;
use super::weights::Checkpoint;

/// Values by canonical name (see [`Arch::parameters`]). Matrices are `[out, in]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params(BTreeMap<String, Array>);

/// Layout of a canonical parameter in a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// True if stored as `[in, out]` (GPT-2's `Conv1D`).
    pub transposed: bool,
    /// Output rows within the stored tensor.
    pub rows: Rows,
}

/// Output rows of a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rows {
    #[default]
    All,
    /// Part `index` of `of` equal parts (GPT-2: query, key and value).
    Part {
        /// Index from 0.
        index: usize,
        of: usize,
    },
    /// Part `index` of `of` equal parts within each head (GPT-NeoX: query, key, value of head 0, then of head 1, ...).
    PartOfHead {
        /// Index from 0.
        index: usize,
        of: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Possible names in checkpoints; the first is used for export.
    pub names: Vec<String>,
    pub layout: Layout,
}

impl Layout {
    /// Index of the stored row for output row `r` of `n`, with `head_dim` rows per head.
    fn stored_row(&self, r: usize, n: usize, head_dim: usize) -> usize {
        match self.rows {
            Rows::All => r,
            Rows::Part { index, .. } => index * n + r,
            Rows::PartOfHead { index, of } => (r / head_dim) * of * head_dim + index * head_dim + r % head_dim,
        }
    }

    /// Shape of the stored tensor for a canonical shape.
    pub(crate) fn stored_shape(&self, shape: &[usize]) -> Vec<usize> {
        let mut stored = shape.to_vec();
        if let Rows::Part { of, .. } | Rows::PartOfHead { of, .. } = self.rows {
            stored[0] *= of;
        }
        if self.transposed {
            stored.reverse();
        }
        stored
    }

    /// Calls `visit(stored index, canonical index)` for every element.
    fn each(&self, shape: &[usize], head_dim: usize, mut visit: impl FnMut(usize, usize)) {
        let n = shape[0];
        let width: usize = shape[1..].iter().product();
        let stored_rows: usize = self.stored_shape(&[n])[0];
        for r in 0..n {
            let s = self.stored_row(r, n, head_dim);
            for c in 0..width {
                let at = if self.transposed && shape.len() > 1 { c * stored_rows + s } else { s * width + c };
                visit(at, r * width + c);
            }
        }
    }
}

impl Params {
    pub fn insert(&mut self, name: impl Into<String>, value: Array) {
        self.0.insert(name.into(), value);
    }

    pub fn get(&self, name: &str) -> Option<&Array> {
        self.0.get(name)
    }

    /// Removes and returns a parameter, so that executors need not keep a second copy.
    pub fn take(&mut self, name: &str) -> Option<Array> {
        self.0.remove(name)
    }

    pub fn hash_into(&self, hash: &mut Sha256) {
        for (name, array) in self.iter() {
            hash.update(name.as_bytes());
            for part in array.data.chunks(4096) {
                let bytes: Vec<u8> = part.iter().flat_map(|v| v.to_le_bytes()).collect();
                hash.update(&bytes);
            }
        }
    }

    /// All parameters, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Loads the parameters of `arch` from a checkpoint with `family`'s names. If the weights have no head, the head of `arch` is set to
    /// [`Head::None`].
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`], [`ModelError::Weights`] (wrong shape, not finite, unsupported type).
    pub fn read(arch: &mut Arch, family: &Family, weights: &Checkpoint) -> Result<Params> {
        Params::read_rest(arch, family, weights, Params::default())
    }

    /// Checks by tensor names alone that the weights contain every parameter of `arch`.
    pub fn complete(arch: &mut Arch, family: &Family, weights: &Checkpoint) -> Result<()> {
        settle_head(arch, family, weights)?;
        arch.parameters().iter().try_for_each(|p| stored(arch, family, weights, &p.name).map(drop))
    }

    /// Loads parameters other than those that the caller provides, such as an encoder's word vectors.
    pub fn read_rest(arch: &mut Arch, family: &Family, weights: &Checkpoint, given: Params) -> Result<Params> {
        settle_head(arch, family, weights)?;
        let mut params = given;
        for p in arch.parameters() {
            if params.get(&p.name).is_some_and(|given| given.shape == p.shape) {
                continue;
            }
            let (location, name) = stored(arch, family, weights, &p.name)?;
            let Some(array) = weights.read(&name).transpose()? else { continue };
            let wanted = location.layout.stored_shape(&p.shape);
            // BART stores its final bias as [1, V], so leading ones are ignored.
            let found: Vec<usize> = match array.shape.iter().position(|&s| s != 1) {
                Some(i) if array.shape.len() > wanted.len() => array.shape[i..].to_vec(),
                _ => array.shape.clone(),
            };
            if found != wanted {
                return Err(ModelError::Weights {
                    file: weights.label(),
                    what: format!("tensor '{name}' has shape {:?}; config.json requires {wanted:?}", array.shape),
                });
            }
            let values = if location.layout == Layout::default() {
                // The tensor already has the canonical layout, so nothing is copied.
                Array::new(p.shape, array.data)
            } else {
                let mut out = Array::zeros(p.shape.clone());
                location.layout.each(&p.shape, arch.head_dim, |s, c| out.data[c] = array.data[s]);
                out
            };
            params.insert(p.name, values);
        }
        Ok(params)
    }

    /// Converts the parameters to the names and layouts of `family`'s checkpoints.
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`] if a parameter of `arch` is missing.
    pub fn to_checkpoint(&self, arch: &Arch, family: &Family) -> Result<Vec<(String, Array)>> {
        let mut stored: BTreeMap<String, Array> = BTreeMap::new();
        for p in arch.parameters() {
            let missing = || ModelError::MissingTensor {
                file: "parameters".into(),
                tensor: p.name.clone(),
                family: arch.family.clone(),
            };
            let value = self.get(&p.name).ok_or_else(missing)?;
            let location = family.locate(&p.name);
            let name = location.names.first().ok_or_else(missing)?;
            let mut shape = location.layout.stored_shape(&p.shape);
            if name == AS_ROW {
                shape.insert(0, 1);
            }
            let out = stored.entry(name.clone()).or_insert_with(|| Array::zeros(shape));
            location.layout.each(&p.shape, arch.head_dim, |s, c| out.data[s] = value.data[c]);
        }
        Ok(stored.into_iter().collect())
    }
}

/// BART's vocabulary bias must be stored as one row; transformers rejects a vector.
const AS_ROW: &str = "final_logits_bias";

/// Removes those parts of the head that the weights do not contain. An output matrix that differs from the stored word embeddings is
/// treated as untied regardless of the configuration (as in transformers 5).
fn settle_head(arch: &mut Arch, family: &Family, weights: &Checkpoint) -> Result<()> {
    let stored = |name: &str| family.locate(name).names.iter().any(|n| weights.contains(n));
    let tables: Vec<String> = family.locate(TABLE).names.into_iter().filter(|n| weights.contains(n)).collect();
    for pair in tables.windows(2) {
        if !weights.same(&pair[0], &pair[1])? {
            let what = format!(
                "'{}' and '{}' differ, but models of family '{}' share one table of word embeddings; if only one was trained, remove the others from the weights file",
                pair[0], pair[1], arch.family
            );
            return Err(ModelError::Weights { file: weights.label(), what });
        }
    }
    let head = arch.head_parameters();
    if !head.is_empty() && !head.iter().any(|p| stored(&p.name)) {
        arch.head = match arch.head {
            // BART's bias is a buffer of zeros that base checkpoints omit; the head is the embedding table.
            Head::Causal { tied: true, .. } => Head::Causal { tied: true, bias: false },
            _ => Head::None,
        };
    }
    if let Head::Masked { tied: tied @ true, .. } | Head::Causal { tied: tied @ true, .. } = &mut arch.head {
        let name = |parameter: &str| family.locate(parameter).names.into_iter().find(|n| weights.contains(n));
        if let (Some(table), Some(output)) = (name(TABLE), name(OUTPUT)) {
            *tied = weights.same(&table, &output)?;
        }
    }
    Ok(())
}

/// Name of the word embeddings, and of the output matrix that may share them.
const TABLE: &str = "embed.tokens.weight";
const OUTPUT: &str = "head.decoder.weight";

fn stored(arch: &Arch, family: &Family, weights: &Checkpoint, parameter: &str) -> Result<(Location, String)> {
    let mut location = family.locate(parameter);
    if parameter == TABLE && arch.is_tied() {
        // Some checkpoints store a shared matrix only under the name of the output.
        location.names.extend(family.locate(OUTPUT).names);
    }
    let found = location.names.iter().filter(|n| weights.contains(n));
    // If two biases are stored, the output layer's is used: transformers 5 writes both for an untied head.
    match found.min_by_key(|n| !n.ends_with("decoder.bias")).cloned() {
        Some(name) => Ok((location, name)),
        None => Err(ModelError::MissingTensor {
            file: weights.label(),
            tensor: location.names.first().cloned().unwrap_or_else(|| parameter.to_owned()),
            family: arch.family.clone(),
        }),
    }
}

#[cfg(test)]
mod tests;

//! Layers in specs.

use serde::{Deserialize, Serialize};

/// A layer, counted from 1 as in the papers. Layer `l` is the output of block `l` (`blocks.{l-1}.hook_resid_post`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", expecting = "a layer is \"last\" or a number from 1")]
pub enum LayerRef {
    /// The last block of the model.
    #[default]
    Last,
    /// The output of this block, counted from 1.
    #[serde(untagged)]
    At(usize),
}

impl std::fmt::Display for LayerRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LayerRef::Last => f.write_str("last"),
            LayerRef::At(l) => write!(f, "{l}"),
        }
    }
}

impl LayerRef {
    /// Returns the layer's number in a model with `layers` blocks.
    ///
    /// # Errors
    /// A message if the layer does not exist.
    pub fn resolve(self, layers: usize) -> Result<usize, String> {
        match self {
            _ if layers == 0 => Err("the model has no blocks: word vectors have no layer to intervene on".into()),
            LayerRef::Last => Ok(layers),
            LayerRef::At(l) if (1..=layers).contains(&l) => Ok(l),
            LayerRef::At(l) => Err(format!("layer {l} does not exist: the model has layers 1 to {layers}")),
        }
    }
}

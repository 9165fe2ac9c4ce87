//! Tensors that remember how they were computed, as far as somebody asks for a gradient, and the backward pass.
//!
//! candle has autograd. It computes the gradients of frozen weights too, adds every gradient to zeros, and lets fused
//! operations cut the way of a gradient without a word. Here only what leads to a watched value is recorded, and each
//! operation (`ops`) states its derivative.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::Tensor;

use crate::error::Result;

/// The gradient of one input from that of the output.
pub(super) type Pull = Box<dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync>;

/// A tensor, and its place in the graph if a gradient can be wanted there.
#[derive(Clone)]
pub(super) struct Value {
    pub tensor: Tensor,
    node: Option<Arc<Node>>,
}

struct Node {
    /// Rises in the order of computation, so that falling numbers are an order for the backward pass.
    id: u64,
    /// True if the gradient is kept.
    watched: bool,
    inputs: Vec<(Arc<Node>, Pull)>,
}

impl Node {
    fn new(watched: bool, inputs: Vec<(Arc<Node>, Pull)>) -> Arc<Node> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Node { id: NEXT.fetch_add(1, Ordering::Relaxed), watched, inputs })
    }
}

/// Gradients of the watched values.
pub(super) struct Gradients(HashMap<u64, Tensor>);

impl Gradients {
    /// The gradient of a watched value; `None` if none arrived.
    pub(crate) fn take(&mut self, of: &Value) -> Option<Tensor> {
        self.0.remove(&of.node.as_ref()?.id)
    }
}

impl Value {
    /// A tensor without gradient.
    pub(crate) fn constant(tensor: Tensor) -> Value {
        Value { tensor, node: None }
    }

    /// The result of an operation on `inputs`, each with its derivative.
    pub(crate) fn computed<const N: usize>(tensor: Tensor, inputs: [(&Value, Pull); N]) -> Value {
        let known = inputs.into_iter().filter_map(|(v, pull)| Some((v.node.clone()?, pull)));
        let inputs: Vec<_> = known.collect();
        let node = if inputs.is_empty() { None } else { Some(Node::new(false, inputs)) };
        Value { tensor, node }
    }

    /// True if a gradient can be wanted at this value.
    pub(crate) fn is_recorded(&self) -> bool {
        self.node.is_some()
    }

    /// The same value, whose gradient is kept.
    pub(crate) fn watched(self) -> Value {
        let same: Pull = Box::new(|g| Ok(g.clone()));
        let inputs = self.node.map(|node| (node, same)).into_iter().collect();
        Value { tensor: self.tensor, node: Some(Node::new(true, inputs)) }
    }

    /// Gradients of the sum of this value times `seed`.
    pub(crate) fn backward(&self, seed: Tensor) -> Result<Gradients> {
        let mut kept = HashMap::new();
        let mut pending: BTreeMap<u64, (&Arc<Node>, Tensor)> = BTreeMap::new();
        if let Some(node) = &self.node {
            pending.insert(node.id, (node, seed));
        }
        while let Some((id, (node, gradient))) = pending.pop_last() {
            for (input, pull) in &node.inputs {
                let g = pull(&gradient)?;
                let sum = match pending.remove(&input.id) {
                    Some((_, before)) => (before + g)?,
                    None => g,
                };
                pending.insert(input.id, (input, sum));
            }
            if node.watched {
                kept.insert(id, gradient);
            }
        }
        Ok(Gradients(kept))
    }
}

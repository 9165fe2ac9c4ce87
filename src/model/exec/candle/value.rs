//! Tensors with a computation graph for gradients, and the backward pass.
//!
//! candle's autograd would also compute gradients of frozen weights, add each gradient to a zero tensor, and silently stop at fused
//! operations. This graph records only paths to watched values, and each operation (`ops`) defines its derivative.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::Tensor;

use crate::error::Result;

/// Maps the gradient of an output to that of one input.
pub(super) type Pull = Box<dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync>;

/// A tensor and its node in the graph, if a gradient may be needed.
#[derive(Clone)]
pub(super) struct Value {
    pub tensor: Tensor,
    node: Option<Arc<Node>>,
}

struct Node {
    /// Identifier that increases in the order of computation, so that decreasing identifiers are a valid order for the backward pass.
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

pub(super) struct Gradients(HashMap<u64, Tensor>);

impl Gradients {
    /// Removes and returns the gradient of a watched value; `None` if the backward pass did not reach it.
    pub(crate) fn take(&mut self, of: &Value) -> Option<Tensor> {
        self.0.remove(&of.node.as_ref()?.id)
    }
}

impl Value {
    /// Wraps a tensor without a gradient.
    pub(crate) fn constant(tensor: Tensor) -> Value {
        Value { tensor, node: None }
    }

    /// Records the result of an operation on `inputs`, each with its derivative.
    pub(crate) fn computed<const N: usize>(tensor: Tensor, inputs: [(&Value, Pull); N]) -> Value {
        let known = inputs.into_iter().filter_map(|(v, pull)| Some((v.node.clone()?, pull)));
        let inputs: Vec<_> = known.collect();
        let node = if inputs.is_empty() { None } else { Some(Node::new(false, inputs)) };
        Value { tensor, node }
    }

    /// True if the value is part of the graph.
    pub(crate) fn is_recorded(&self) -> bool {
        self.node.is_some()
    }

    /// Marks the value so that its gradient is kept.
    pub(crate) fn watched(self) -> Value {
        let same: Pull = Box::new(|g| Ok(g.clone()));
        let inputs = self.node.map(|node| (node, same)).into_iter().collect();
        Value { tensor: self.tensor, node: Some(Node::new(true, inputs)) }
    }

    /// Computes the gradients of `sum(value * seed)`.
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

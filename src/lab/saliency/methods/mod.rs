//! The methods that score tokens. Each has a file and a line in the registry.

mod path;

use super::input::Input;
use super::spec::Spec;
use base::Pulse;
use lab::fault::Fault;
use model::{Dtype, Model, Offer};

pub use self::attention::{from_mask, heads, one_way, put_together, shape, to_mask};
pub(crate) use self::path::{At, Ends};
pub use self::path::{Point, value_at_points};

/// An input, with the tokens to explain.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub input: &'a Input,
    /// The tokens whose prediction is explained, one per slot.
    pub predicted: &'a [u32],
    /// Identifier of the sentence, for random streams.
    pub name: &'a str,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scores {
    /// One score per token; 0 for special tokens around the text.
    pub tokens: Vec<f64>,
    /// Completeness error, if defined for the method.
    pub gap: Option<f64>,
    /// Number of steps, if the method has steps.
    pub steps: Option<usize>,
    /// True if the completeness error is within tolerance.
    pub complete: Option<bool>,
}

impl Scores {
    /// Scores without additional data. Scores of special tokens are set to 0.
    fn plain(mut tokens: Vec<f64>, input: &Input) -> Self {
        tokens.iter_mut().zip(&input.frame).filter(|(_, frame)| **frame).for_each(|(score, _)| *score = 0.0);
        Self { tokens, ..Self::default() }
    }
}

pub trait Method: Sync {
    /// The name in specs and findings.
    fn id(&self) -> &'static str;
    /// The name in words.
    fn title(&self) -> &'static str;
    /// The name in tables.
    fn short(&self) -> &'static str;
    /// One sentence that defines a score and names the authors.
    fn about(&self) -> &'static str;
    /// The reason why the method is unavailable for a model, if any.
    fn refuses(&self, model: &Model, spec: &Spec) -> Option<String>;
    /// Number of forward passes for an input of `words` words. A pass with gradients counts as three.
    fn passes(&self, spec: &Spec, words: usize) -> usize;
    fn explain(
        &self,
        model: &Model,
        cases: &[Case<'_>],
        spec: &Spec,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Scores>, Fault>;
}

macro_rules! registry {
    ($($module:ident),+ $(,)?) => {
        $( mod $module; )+

        pub static METHODS: &[&dyn Method] = &[$( &$module::METHOD ),+];

        pub const NAMES: &[&str] = &[$( stringify!($module) ),+];
    };
}

registry! {
    attention,
    integrated_gradients,
    gradient_x_input,
    occlusion,
    rollout,
    random,
}

/// Identifier of the random ranking, which is always measured.
pub const RANDOM: &str = "random";

/// Finds a method by its name, or by its short name in upper or lower case.
pub fn named(name: &str) -> Option<&'static dyn Method> {
    METHODS.iter().copied().find(|m| m.id() == name || m.short().eq_ignore_ascii_case(name))
}

/// The reason why a model has no gradients, if any.
pub(crate) fn no_gradients(model: &Model) -> Option<String> {
    if let Err(e) = model.require(Offer::Gradients) {
        return Some(e.to_string());
    }
    match model.dtype() {
        Dtype::F32 => None,
        dtype => Some(format!("no gradients in {dtype}: load the model in f32")),
    }
}

/// The reason why a model's input embeddings cannot be replaced, if any.
fn no_embeddings(model: &Model) -> Option<String> {
    model.require(Offer::Hidden).err().map(|e| e.to_string())
}

/// Cost of a pass with gradients, in forward passes.
pub(crate) const WITH_GRADIENT: usize = 3;

#[cfg(test)]
mod tests;

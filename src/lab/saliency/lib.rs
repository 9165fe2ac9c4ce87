//! The saliency lab: the words that a prediction rests on, and whether they agree with people and under changes of the
//! sentence (Shen et al. 2022, "An Interpretability Evaluation Benchmark for Pre-trained Language Models").
//!
//! A masked sentence goes through a model; a method gives every token a score for its part in the prediction; scores are
//! compared with the tokens that people need (plausibility) and with those of the same sentence in another form
//! (faithfulness). Where the numbers come from files, no model is needed.

pub mod annotation;
pub mod answer;
pub mod data;
pub mod elsewhere;
pub mod experiment;
pub mod explain;
pub mod figures;
pub mod finding;
pub mod heatmap;
pub mod input;
pub mod methods;
pub mod metrics;
pub mod predict;
mod published;
pub mod question;
pub mod results;
mod robust;
pub mod sentence;
pub mod settings;
pub mod spec;
pub mod summary;
pub mod tables;
pub mod words;

pub use experiment::{LAB, Saliency};
pub use finding::{KINDS, Kind};
pub use question::Question;
pub use results::Results;
pub use spec::Spec;

pub type Finding = lab::Finding<Kind>;
/// The host that an experiment of this lab runs in.
pub type Host<'a> = dyn lab::Channel<Kind, Question> + 'a;
/// A question that waits for its answer.
pub type Waiting = lab::Waiting<Question>;

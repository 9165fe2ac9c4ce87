//! The saliency lab: the words on which a prediction depends, their agreement with annotators, and their stability when sentences change
//! (Shen et al. 2022, "An Interpretability Evaluation Benchmark for Pre-trained Language Models").
//!
//! A model predicts the mask in a sentence, and a method scores each token's contribution. Scores are compared with the tokens that
//! annotators marked (plausibility) and with the scores for a different form of the sentence (faithfulness). Scores from files need no
//! model.

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
pub type Host<'a> = dyn lab::Channel<Kind, Question> + 'a;
pub type Waiting = lab::Waiting<Question>;

//! The prompts lab: how much of a prompt probe's result is due to the model and how much to the prompt (Cao et al. 2022, *Can Prompt Probe
//! Pretrained Language Models? Understanding the Invisible Risks from a Causal View*).
//!
//! A model's P@1 on a relation depends on the prompt ([`preference`]), on the name of the subject, and on the sample of facts. [`adjust`]
//! averages over prompts and names. [`consistency`] measures how often models keep their ranks with one prompt and with all. [`ledger`]
//! decomposes the gap between two models into the models' part and parts due to the random draw.

pub mod adjust;
pub mod answer;
pub mod answers;
pub mod candidates;
pub mod causal;
pub mod consistency;
pub mod exact;
pub mod experiment;
pub mod figures;
pub mod finding;
pub mod function_words;
pub mod ledger;
pub mod library;
pub mod minimal_pairs;
pub mod paper;
pub mod places;
pub mod predictions;
pub mod preference;
pub mod published;
pub mod query;
pub mod question;
pub mod ranked;
mod relations;
pub mod results;
pub mod rule;
pub mod settings;
pub mod spec;
pub mod summary;
#[cfg(any(test, feature = "samples"))]
pub mod testing;
pub mod tuned;
pub mod vocabulary;

pub use experiment::{LAB, Prompts};
pub use finding::{KINDS, Kind};
pub use question::Question;
pub use relations::{Relations, built_in as built_in_relations};
pub use results::Results;
pub use spec::Spec;

pub type Finding = lab::Finding<Kind>;
pub type Host<'a> = dyn lab::Channel<Kind, Question> + 'a;
pub type Waiting = lab::Waiting<Question>;

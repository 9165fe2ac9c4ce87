//! Interventions on hidden states and their reliability (Canby et al. 2024).
//!
//! A [`Method`] is fitted on the intervention part of the data, applied to test embeddings and swept over its parameter. [`score`] measures
//! how completely and selectively the method changed what oracles read. To add a method, add a file in `methods/` and a line in
//! [`registry()`].

pub mod answer;
pub mod assess;
pub mod banded;
pub mod behaviour;
pub mod bench;
pub mod continuation;
mod decision;
mod digest;
pub mod distance;
mod doubts;
mod edits;
pub mod experiment;
pub mod figures;
pub mod finding;
pub mod front;
pub mod kept;
pub mod key;
pub mod leak;
pub mod lens;
pub mod looks;
pub mod map;
pub mod method;
pub mod methods;
pub mod optimum;
pub mod options;
pub mod oracle;
pub mod paper;
pub mod parameter;
pub mod pick;
pub mod presets;
pub mod question;
pub mod ranking;
pub mod registry;
pub mod results;
#[cfg(any(test, feature = "samples"))]
pub mod sample;
pub mod score;
mod scores_to_compare;
pub mod settings;
pub mod spec;
pub mod states;
pub mod table;
pub mod tally;
mod tokens;
pub mod verdict;

pub use experiment::{Interventions, LAB};
pub use finding::{KINDS, Kind};
pub use method::{FitData, Fitted, Goal, InterventionError, Known, Method, Needs, Prepared};
pub use options::{OptionError, Options, Setting, SettingKind};
pub use parameter::{Parameter, Scale};
pub use question::Question;
pub use registry::{find, registry};
pub use results::Results;
pub use spec::Spec;

pub type Finding = lab::Finding<Kind>;
pub type Host<'a> = dyn lab::Channel<Kind, Question> + 'a;
pub type Waiting = lab::Waiting<Question>;

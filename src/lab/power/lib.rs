//! The power lab: how much data a comparison of two probes needs (Zhu et al. 2022, "On the data requirements of probing"; Card et al. 2020,
//! "With little power comes great responsibility").
//!
//! The two sides are encoders with layers, classifiers and noise, or files of results. Their items are matched in [`pairs`] and compared in
//! [`compare`]. [`pilot`] predicts a future comparison from a pilot; [`bound`] recommends training sizes.

pub mod answer;
pub mod bound;
pub mod compare;
mod difference;
pub mod experiment;
pub mod figures;
pub mod finding;
pub mod folders;
pub mod pairs;
pub mod pilot;
pub mod plan;
pub mod question;
pub mod results;
pub mod settings;
pub mod spec;
pub mod studies;
pub mod summary;
pub mod survey;
pub mod systems;
pub mod tables;
pub mod tally;
pub mod tasks;

pub use experiment::{LAB, Power};
pub use finding::{KINDS, Kind};
pub use question::Question;
pub use results::Results;
pub use spec::Spec;

pub type Finding = lab::Finding<Kind>;
pub type Host<'a> = dyn lab::Channel<Kind, Question> + 'a;
pub type Waiting = lab::Waiting<Question>;

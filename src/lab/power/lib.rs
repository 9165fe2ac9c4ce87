//! The power lab: data needed by a comparison of two probes (Zhu et al. 2022, "On the data requirements of probing";
//! Card et al. 2020, "With little power comes great responsibility").
//!
//! Two sides (encoders, layers, classifiers, noise; or files of results) are matched on the same items ([`pairs`]) and
//! compared ([`compare`]); inference from a pilot about a future comparison is in [`pilot`], recommendations from
//! bounds are in [`bound`].

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
/// The host that an experiment of this lab runs in.
pub type Host<'a> = dyn lab::Channel<Kind, Question> + 'a;
/// A question that waits for its answer.
pub type Waiting = lab::Waiting<Question>;

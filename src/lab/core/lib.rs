//! Parts shared by all labs: specs, findings and their provenance, hosts, stores, settings, forecasts, tables.
//!
//! A lab is a crate that implements [`Instrument`]; the `labs` crate lists them. This crate depends on no terminal, thread or lab.

extern crate self as lab;

pub mod answer;
pub mod asked;
pub mod axis;
pub mod columns;
pub mod common_figures;
pub mod compared;
pub mod demand;
pub mod examples;
pub mod family;
pub mod fault;
pub mod finding;
pub mod hidden;
pub mod host;
mod id;
pub(crate) mod instrument;
pub mod interval;
pub mod layer;
pub mod origin;
pub mod plan;
pub mod results;
pub mod setting;
pub mod spec;
pub mod spot;
pub mod stimuli;
pub mod store;
pub mod table;
pub mod terms;

pub use answer::Answer;
pub use axis::Axis;
pub use columns::{Columns, Kinds};
pub use demand::{Forecast, Size};
pub use fault::Fault;
pub use finding::{Body, Common, Finding, FindingKind, Head, SummaryFinding};
pub use host::{Channel, EngineInfo, Host, Notice, NoticeLevel, Share, Waiting};
pub use id::LabId;
pub use instrument::{Details, Digest, Experiment, FigureEntry, Instrument, Pick, Preset};
pub use origin::Origin;
pub use results::Tagged;
pub use spec::{LabSpec, SpecError, SpecFields};
pub use store::Store;

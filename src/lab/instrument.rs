//! A lab as its own folder writes it: in terms of its own spec and results. What the rest of the program speaks to, [`Lab`],
//! follows from that, the same for all.

use super::family::Comparison;
use super::fault::Fault;
use super::finding::Finding;
use super::results::LabResults;
use super::spec::{LabSpec, SpecFields, checked};
use super::table::Table;
use super::{Axis, Details, EngineInfo, Experiment, Lab, LabId, Preset, Results, Size, Spec};
use crate::figure::Figure;

/// A lab in its own types.
pub trait Instrument: Sync {
    /// What it can be asked to compute.
    type Spec: LabSpec + Clone;
    /// What a run of it has found.
    type Results: LabResults;
    /// Its name on screens.
    const TITLE: &'static str;
    /// The question that it answers, in one line.
    const QUESTION: &'static str;
    /// The TOML of the experiment that runs where nothing else is asked for.
    const DEFAULT: &'static str;
    /// Experiments that can be picked by name beside [`Self::DEFAULT`].
    const PRESETS: &'static [Preset] = &[];
    /// The fields that a grid may vary, in the order in which its cells are enumerated.
    const AXES: &'static [Axis];
    /// An experiment by a spec that has passed its check; nothing is loaded or computed yet.
    fn begin(spec: Self::Spec) -> Box<dyn Experiment>;
    /// The work of a run in multiply-adds, counted from the spec and from the sizes of its models, in their order.
    fn counted(spec: &Self::Spec, sizes: &[Size]) -> u128;
    /// What a run found, as lines for a reader.
    fn summary(results: &Self::Results, spec: &Self::Spec) -> Vec<String>;
    /// The figures of a run on the engine that is named.
    fn figures(results: &Self::Results, engine: Option<&EngineInfo>) -> Vec<Figure>;
    /// The figure that a name asks for, with details as the lab understands them.
    ///
    /// # Errors
    /// A sentence that says what there is.
    fn pick(
        name: &str,
        details: &Details<'_>,
        results: &Self::Results,
        engine: Option<&EngineInfo>,
    ) -> Result<Figure, String>;
    /// The tables of a run, in the layout of the papers.
    fn tables(_results: &Self::Results) -> Vec<Table> {
        Vec::new()
    }
    /// The comparison that a finding makes, for corrections over all of a session's.
    fn compared(_finding: &Finding) -> Option<Comparison> {
        None
    }
    /// Hash of the spec as far as it decides what its comparisons are, where it asks for more than that: two specs that differ in
    /// nothing else make the same comparisons.
    fn decides(_spec: &Self::Spec) -> Option<String> {
        None
    }
}

impl<I: Instrument> Lab for I {
    fn id(&self) -> LabId {
        I::Results::LAB
    }

    fn title(&self) -> &'static str {
        I::TITLE
    }

    fn question(&self) -> &'static str {
        I::QUESTION
    }

    fn default_spec(&self) -> &'static str {
        I::DEFAULT
    }

    fn open(&self, spec: &Spec) -> Result<Box<dyn Experiment>, Fault> {
        Ok(I::begin(checked(I::Spec::within(spec))?.clone()))
    }

    fn summary(&self, results: &Results, spec: &Spec) -> Vec<String> {
        match (I::Results::within(results), I::Spec::within(spec)) {
            (Some(results), Some(spec)) => I::summary(results, spec),
            _ => Vec::new(),
        }
    }

    fn figures(&self, results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
        I::Results::within(results).map_or_else(Vec::new, |r| I::figures(r, engine))
    }

    fn figure(
        &self,
        name: &str,
        details: &Details<'_>,
        results: &Results,
        engine: Option<&EngineInfo>,
    ) -> Result<Figure, String> {
        let results = I::Results::within(results).unwrap_or(I::Results::none());
        I::pick(name, details, results, engine)
    }

    fn presets(&self) -> &'static [Preset] {
        I::PRESETS
    }

    fn tables(&self, results: &Results) -> Vec<Table> {
        I::Results::within(results).map_or_else(Vec::new, I::tables)
    }

    fn compared(&self, finding: &Finding) -> Option<Comparison> {
        I::compared(finding)
    }

    fn decides(&self, spec: &Spec) -> Option<String> {
        I::Spec::within(spec).and_then(I::decides)
    }

    fn axes(&self) -> &'static [Axis] {
        I::AXES
    }

    fn counted(&self, spec: &Spec, sizes: &[Size]) -> u128 {
        I::Spec::within(spec).map_or(0, |spec| I::counted(spec, sizes))
    }
}

//! The procedure: every sentence goes through every model, every method explains what was predicted, and what that says is
//! told row by row; then the rows are put together.

use super::spec::{SALIENCY_TOML, Spec};
use super::{figures, summary};
use crate::figure::Figure;
use crate::lab::demand::Forecast;
use crate::lab::family::Comparison;
use crate::lab::fault::{Fault, problem};
use crate::lab::finding::{Body, Finding};
use crate::lab::host::{Host, Share};
use crate::lab::saliency::finding::Kind;
use crate::lab::spec::checked;
use crate::lab::{self, Details, EngineInfo, Experiment, Kinds, Lab, LabId, LabResults, Question, Results};

/// The lab.
pub static LAB: Saliency = Saliency;

/// Which tokens a prediction rests on.
#[derive(Debug, Clone, Copy)]
pub struct Saliency;

impl Lab for Saliency {
    fn id(&self) -> LabId {
        LabId::Saliency
    }

    fn title(&self) -> &'static str {
        "Saliency"
    }

    fn question(&self) -> &'static str {
        "Which tokens does a prediction rest on, and do they agree with people and with themselves?"
    }

    fn default_spec(&self) -> &'static str {
        SALIENCY_TOML
    }

    fn open(&self, spec: &lab::Spec) -> Result<Box<dyn Experiment>, Fault> {
        Ok(Box::new(Run { spec: checked(Spec::within(spec))?.clone() }))
    }

    fn summary(&self, results: &Results, _spec: &lab::Spec) -> Vec<String> {
        super::Results::within(results).map_or_else(Vec::new, summary::lines)
    }

    fn figures(&self, results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
        super::Results::within(results).map_or_else(Vec::new, |r| figures::all(r, engine))
    }

    fn figure(
        &self,
        name: &str,
        details: &Details<'_>,
        results: &Results,
        engine: Option<&EngineInfo>,
    ) -> Result<Figure, String> {
        let results = super::Results::within(results).unwrap_or(super::Results::none());
        figures::pick(name, details, results, engine)
    }

    fn compared(&self, finding: &Finding) -> Option<Comparison> {
        let Body::Lab(Kinds::Saliency(Kind::Difference(d))) = &finding.body else { return None };
        Some(Comparison {
            lab: LabId::Saliency,
            spec: finding.spec.clone(),
            what: format!("{} against {}: {}", d.a, d.b, d.metric),
            test: d.test.clone(),
            n: finding.n,
            p: d.p,
            planned: false,
        })
    }
}

/// A spec at work.
struct Run {
    spec: Spec,
}

impl Run {
    fn missing(&self) -> Fault {
        problem(&"this lab cannot run yet", self.spec.data.language.as_str(), "use another lab").into()
    }
}

impl Experiment for Run {
    fn run(&mut self, _host: &mut dyn Host) -> Result<(), Fault> {
        Err(self.missing())
    }

    fn forecast(&mut self, _host: &mut dyn Host) -> Result<Vec<Forecast>, Fault> {
        Err(self.missing())
    }

    fn answer(
        &mut self,
        _question: &Question,
        _share: Share,
        _host: &mut dyn Host,
    ) -> Result<Vec<Finding>, Fault> {
        Err(self.missing())
    }

    fn examined(&self) -> usize {
        0
    }
}

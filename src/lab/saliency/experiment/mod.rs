//! The procedure: every sentence goes through every model, every method explains what was predicted, and what that says is
//! told row by row; then the rows are put together.

mod bench;
mod forecast;
mod live;
mod overall;
mod rows;
#[cfg(test)]
mod tests;

use self::bench::Bench;
use self::live::Steps;
use super::spec::{SALIENCY_TOML, Spec};
use super::{figures, summary, tables};
use crate::figure::Figure;
use crate::lab::demand::Forecast;
use crate::lab::family::Comparison;
use crate::lab::fault::Fault;
use crate::lab::finding::{Body, Finding};
use crate::lab::host::{Host, NoticeLevel, Share};
use crate::lab::saliency::finding::Kind;
use crate::lab::spec::checked;
use crate::lab::table::Table;
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
        let spec = checked(Spec::within(spec))?.clone();
        Ok(Box::new(Run { spec, bench: None, examined: 0, latest: None }))
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

    fn tables(&self, results: &Results) -> Vec<Table> {
        super::Results::within(results).map_or_else(Vec::new, tables::all)
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
    bench: Option<Bench>,
    /// Inputs that were asked, over all models.
    examined: usize,
    /// The latest question with its answer: it is given twice, and costs once.
    latest: Option<(Question, Vec<Finding>)>,
}

/// Weight of means and tests beside the passes.
const OVERALL: f64 = 0.02;

impl Run {
    fn everything(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        host.stage("sentences and models".into(), "sentences", 0.0);
        let bench = &*self.bench.insert(Bench::open(&self.spec, host)?);
        bench.report(host)?;
        forecast::of(bench, host)?.into_iter().try_for_each(|f| host.foretell(f))?;
        let work: Vec<f64> = bench.members.iter().map(|m| rows::passes(&bench.spec, m) as f64).collect();
        let all: f64 = work.iter().sum();
        host.plan(all * (1.0 + OVERALL));
        let mut gathered = Vec::new();
        for (k, member) in bench.members.iter().enumerate() {
            host.stage(member.name.clone(), "passes", work[k]);
            let asked = member.inputs.iter().flatten().count();
            let mut next = asked / 8;
            let (spec, examined) = (&self.spec, &mut self.examined);
            let before = *examined;
            let found = rows::ask(bench, k, host, |so_far, host| {
                *examined = before + so_far.asked;
                serve(spec, bench, host)?;
                // First estimates from an eighth, then from twice as many each time.
                if next > 0 && so_far.asked >= next && so_far.asked < asked {
                    next = 2 * so_far.asked;
                    overall::tell(bench, k, so_far, false, host)?;
                }
                Ok(())
            })?;
            overall::tell(bench, k, &found, true, host)?;
            gathered.push(found);
        }
        host.stage("comparisons".into(), "", all * OVERALL);
        overall::compare(bench, &gathered, host)?;
        serve(&self.spec, bench, host)
    }
}

impl Experiment for Run {
    fn run(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        (self.bench, self.latest, self.examined) = (None, None, 0);
        self.everything(host)
    }

    fn forecast(&mut self, host: &mut dyn Host) -> Result<Vec<Forecast>, Fault> {
        forecast::of(&Bench::open(&self.spec, host)?, host)
    }

    fn answer(
        &mut self,
        question: &Question,
        share: Share,
        host: &mut dyn Host,
    ) -> Result<Vec<Finding>, Fault> {
        // Nothing is drawn for an answer: the second would only repeat the first, but where steps are to be doubled.
        if let Some((asked, findings)) = self.latest.take()
            && share == Share::All
            && asked == *question
        {
            return Ok(findings);
        }
        let steps = if share == Share::Quick { Steps::Planned } else { Steps::Doubled };
        let findings = live::answer(&self.spec, self.bench.as_ref(), (question, steps), host)?;
        if share == Share::Quick && !live::is_rough(&findings) {
            self.latest = Some((question.clone(), findings.clone()));
        }
        Ok(findings)
    }

    fn examined(&self) -> usize {
        self.examined
    }
}

/// Answers the question that waits, if any. One that cannot be answered becomes a notice: it must not end the run.
fn serve(spec: &Spec, bench: &Bench, host: &mut dyn Host) -> Result<(), Fault> {
    host.poll()?;
    let Some(waiting) = host.waiting() else { return Ok(()) };
    match live::answer(spec, Some(bench), (&waiting.question, Steps::Doubled), host) {
        Ok(findings) => Ok(host.reply(waiting.ticket, findings, true)?),
        Err(Fault::Cancelled) => Err(Fault::Cancelled),
        Err(Fault::Failed(problem)) => Ok(host.notice(NoticeLevel::Error, problem)?),
    }
}

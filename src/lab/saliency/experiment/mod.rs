//! The procedure of the lab: every model predicts the mask in every sentence, every method explains the prediction, and scores are reported
//! row by row. Afterwards the rows are summarised.

mod bench;
mod counted;
mod forecast;
mod live;
mod overall;
mod rows;
mod tally;
#[cfg(test)]
mod tests;

use self::bench::Bench;
use self::live::Steps;
use super::spec::{SALIENCY_TOML, Spec};
use super::{figures, summary, tables};
use crate::Finding;
use crate::Host;
use crate::Question;
use crate::finding::Kind;
use figure::Figure;
use lab::Head;
use lab::asked::{self, Latest};
use lab::axis::{self, Axis, Takes};
use lab::demand::{Forecast, Size};
use lab::family::Comparison;
use lab::fault::Fault;
use lab::host::Share;
use lab::table::Table;
use lab::{EngineInfo, Experiment, FigureEntry, Instrument, LabId, Pick};

pub static LAB: Saliency = Saliency;

/// The saliency lab: the words on which a prediction depends.
#[derive(Debug, Clone, Copy)]
pub struct Saliency;

impl Instrument for Saliency {
    type Spec = Spec;
    type Kind = Kind;
    type Question = Question;
    type Results = super::Results;
    const ID: LabId = LabId::Saliency;
    const TITLE: &'static str = "Saliency";
    const QUESTION: &'static str = "Does an answer rest on the words that annotators marked?";
    const DEFAULT: &'static str = SALIENCY_TOML;

    const FIGURES: &'static [FigureEntry] = figures::ENTRIES;
    const AXES: &'static [Axis] = &[
        axis::MODEL,
        Axis::new("layer", &["attention.layer"], Takes::Layer),
        Axis::new("method", &["saliency.methods"], Takes::One),
        axis::SEED,
        Axis::field("attention.head"),
        Axis::field("attention.direction"),
        Axis::field("data.language"),
        Axis::field("integrated_gradients.baseline"),
        Axis::field("integrated_gradients.target"),
        Axis::field("metrics.k"),
    ];
    const COUNTED: fn(&Spec, &[Size]) -> u128 = counted::of;
    const ASKS: fn(&Spec) -> String = super::answer::question;
    const ANSWER: fn(&super::Results, &Spec) -> lab::Answer = super::answer::answer;
    const DIGEST: fn(&super::Results, &Spec) -> lab::Digest = |_, _| lab::Digest {
        table: ("interpretability", None),
        figures: ["heatmap", "f1-ratio", "map-ratio"].map(|name| (name, Vec::new())).into(),
        notes: Vec::new(),
    };
    const NUMBERS: fn(&super::Results) -> Vec<lab::compared::Number> = super::answer::numbers;
    const SUMMARY: fn(&super::Results, &Spec) -> Vec<String> = |results, _| summary::lines(results);
    const ALL_FIGURES: fn(&super::Results, Option<&EngineInfo>) -> Vec<Figure> = figures::all;
    const PICK: Pick<super::Results> = figures::pick;
    const TABLES: fn(&super::Results) -> Vec<Table> = tables::all;
    const TABLE_NEEDS: &'static [(&'static str, &'static str)] = &[
        ("accuracy", "a run of this lab"),
        ("interpretability", "a run with marked words"),
        ("accuracy-perturbations", "a run with changed partners"),
        ("perturbations", "a run with changed partners and marked words"),
        ("right-wrong", "a run with right and wrong answers"),
    ];
    const REPLACES: &'static [&'static str] = &["accuracy", "interpretability", "ratio"];
    const COMPARES: &'static [&'static str] = &["difference", "correctness"];
    const COMPARED: fn(Head<'_>, &Kind) -> Option<Comparison> = compared;

    fn begin(spec: Spec) -> Box<dyn Experiment<Kind, Question>> {
        Box::new(Run { spec, bench: None, examined: 0, latest: Latest::default() })
    }
}

fn compared(finding: Head<'_>, kind: &Kind) -> Option<Comparison> {
    let d = match kind {
        Kind::Difference(d) => d,
        Kind::Correctness(c) => return c.compared(finding),
        _ => return None,
    };
    let metric = match d.metric.as_str() {
        "token_f1" => "token-F1".to_owned(),
        "map" => "MAP".into(),
        "pcc" => "Pearson correlation".into(),
        other => other.replace('_', " "),
    };
    let what = format!("{}: {metric}", summary::against(&d.a, &d.b));
    let about = Comparison::of(LabId::Saliency, finding.spec, metric, what, &d.test);
    Some(Comparison { n: finding.n, p: d.p, ..about })
}

struct Run {
    spec: Spec,
    bench: Option<Bench>,
    /// Number of explained inputs, summed over all models.
    examined: usize,
    latest: Latest<Kind, Question>,
}

/// Time for means and tests, relative to the time for the passes.
const OVERALL: f64 = 0.02;

impl Run {
    fn everything(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        host.stage("sentences and models".into(), "sentences", 0.0);
        let bench = &*self.bench.insert(Bench::open(&self.spec, host)?);
        bench.report(host)?;
        let forecasts = forecast::of(bench, host)?;
        let work: Vec<f64> = forecasts.iter().map(|f| f.seconds).collect();
        let all: f64 = work.iter().sum();
        host.plan(all * (1.0 + OVERALL));
        forecasts.into_iter().try_for_each(|f| host.foretell(f))?;
        let mut gathered = Vec::new();
        for (k, member) in bench.members.iter().enumerate() {
            host.stage(member.name.clone(), "passes", work.get(k).copied().unwrap_or(0.0));
            let asked = member.inputs.iter().flatten().count();
            let mut next = asked / 8;
            let (spec, examined) = (&self.spec, &mut self.examined);
            let before = *examined;
            let found = rows::ask(bench, k, host, |so_far, host| {
                *examined = before + so_far.asked;
                serve(spec, bench, host)?;
                // The first estimates use an eighth of the sentences; each later estimate uses twice as many as the previous one.
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

impl Experiment<Kind, Question> for Run {
    fn run(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        (self.bench, self.latest, self.examined) = (None, Latest::default(), 0);
        self.everything(host)
    }

    fn forecast(&mut self, host: &mut Host<'_>) -> Result<Vec<Forecast>, Fault> {
        forecast::of(&Bench::open(&self.spec, host)?, host)
    }

    fn answer(&mut self, question: &Question, share: Share, host: &mut Host<'_>) -> Result<Vec<Finding>, Fault> {
        // Answers involve no randomness, so a second answer would repeat the first unless steps are doubled.
        let steps = if share == Share::Quick { Steps::Planned } else { Steps::Doubled };
        let Self { spec, bench, latest, .. } = self;
        let findings =
            latest.answer(question, share, || live::answer(spec, bench.as_ref(), (question, steps), host))?;
        if live::is_rough(&findings) {
            latest.forget();
        }
        Ok(findings)
    }

    fn examined(&self) -> usize {
        self.examined
    }
}

fn serve(spec: &Spec, bench: &Bench, host: &mut Host<'_>) -> Result<(), Fault> {
    asked::serve(host, true, |question, host| live::answer(spec, Some(bench), (question, Steps::Doubled), host))
}

//! The procedure of the lab: queries every model with every prompt and mention, relation by relation, and reports each relation as soon as
//! it is done. Afterwards, draws ranks and decomposes gaps over all relations.

mod asking;
mod bench;
mod counted;
mod disparity;
mod early;
mod forecast;
mod live;
mod overall;
mod perplexity;
mod relation;
mod slices;
mod stored;
#[cfg(test)]
mod tests;
mod tuning;

pub use self::bench::refused;

use self::bench::Bench;
use self::early::Early;
use super::consistency::Panel;
use super::ledger::Parts;
use super::preference::{CorrectedGap, Preference};
use super::spec::{PROMPTS_TOML, Spec};
use crate::Finding;
use crate::Host;
use crate::Kind;
use crate::Question;
use figure::Figure;
use lab::LabId;
use lab::asked::{self, Latest};
use lab::axis::{self, Axis};
use lab::demand::{Forecast, Size};
use lab::fault::{Fault, problem};
use lab::host::Share;
use lab::table::Table;
use lab::{EngineInfo, Experiment, FigureEntry, Instrument, Pick};

pub static LAB: Prompts = Prompts;

/// The prompts lab: how much of a prompt probe's result is due to the model.
#[derive(Debug, Clone, Copy)]
pub struct Prompts;

impl Instrument for Prompts {
    type Spec = Spec;
    type Kind = Kind;
    type Question = Question;
    type Results = super::Results;
    const ID: LabId = LabId::Prompts;
    const TITLE: &'static str = "Prompts";
    const QUESTION: &'static str = "How much of a model's knowledge comes from the prompt?";
    const DEFAULT: &'static str = PROMPTS_TOML;

    const FIGURES: &'static [FigureEntry] = super::figures::ENTRIES;
    const AXES: &'static [Axis] = &[
        axis::MODEL_SETS,
        axis::SEED,
        Axis::field("data.relations"),
        Axis::field("data.mentions"),
        Axis::field("query.candidates"),
        Axis::field("query.k"),
        Axis::field("adjust.weights"),
        Axis::field("ranks.subset"),
        Axis::field("ranks.random"),
    ];
    const COUNTED: fn(&Spec, &[Size]) -> u128 = counted::of;
    const ASKS: fn(&Spec) -> String = super::answer::question;
    const ANSWER: fn(&super::Results, &Spec) -> lab::Answer = super::answer::answer;
    const DIGEST: fn(&super::Results, &Spec) -> lab::Digest = |_, _| lab::Digest {
        table: ("preference", None),
        figures: ["preference", "turned", "ledger"].map(|name| (name, Vec::new())).into(),
        notes: Vec::new(),
    };
    const NUMBERS: fn(&super::Results) -> Vec<lab::compared::Number> = super::answer::numbers;
    const SUMMARY: fn(&super::Results, &Spec) -> Vec<String> = super::summary::summary;
    const ALL_FIGURES: fn(&super::Results, Option<&EngineInfo>) -> Vec<Figure> = super::figures::all;
    const PICK: Pick<super::Results> = super::figures::pick;
    const TABLES: fn(&super::Results) -> Vec<Table> = super::paper::tables;
    const TABLE_NEEDS: &'static [(&'static str, &'static str)] = &[
        ("preference", "a finished run of this lab"),
        ("disparity", "a run with models that were trained further on facts"),
        ("consistency", "a run of two or more models with draws of prompts"),
    ];

    fn begin(spec: Spec) -> Box<dyn Experiment<Kind, Question>> {
        Box::new(Run { spec, bench: None, examined: 0, latest: Latest::default() })
    }
}

struct Run {
    spec: Spec,
    /// Inputs and answers of the run, kept to answer questions.
    bench: Option<Bench>,
    /// Number of queried instances in all relations.
    examined: usize,
    latest: Latest<Kind, Question>,
}

/// Results of all relations so far.
#[derive(Default)]
pub(super) struct Gathered {
    /// Answers for rank consistency.
    pub panel: Panel,
    /// By pair of models: the parts of the gap between them, one entry per relation.
    pub parts: Vec<Vec<Parts>>,
    /// By model: terms of the means over relations, one entry per relation.
    pub spreads: Vec<Vec<Spread>>,
    /// By relation: true if the order of the models changes with the prompt.
    pub unstable: Vec<bool>,
    /// Number of queried instances.
    pub instances: usize,
}

/// Terms of the means over relations, for one model and relation.
#[derive(Clone)]
pub(super) struct Spread {
    /// P@1 over prompts.
    pub over: Preference,
    pub adjusted: f64,
    /// Gaps corrected for selecting the best and worst prompt.
    pub corrected_gap: Option<CorrectedGap>,
    pub stability: Option<f64>,
}

/// The pairs of models, in the order of their ledgers.
pub(super) fn pairs(models: usize) -> Vec<(usize, usize)> {
    (0..models).flat_map(|a| (a + 1..models).map(move |b| (a, b))).collect()
}

impl Experiment<Kind, Question> for Run {
    fn run(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        (self.bench, self.latest, self.examined) = (None, Latest::default(), 0);
        host.stage("facts and models".into(), "models", 0.0);
        let opened = Bench::open(&self.spec, host)?;
        let bench = self.bench.insert(opened);
        relation::report_data(bench, host)?;
        let all = bench.library.relations.clone();
        // Reports findings before anything is measured.
        let mut first = all.first().map(|r| Early::of(bench, r, true)).transpose()?.flatten();
        if let Some(early) = &first {
            early.announce(bench, host)?;
            if early.report_early(bench, host)? {
                first = None;
            }
        }
        host.stage("estimating the time".into(), "models", 0.0);
        let ahead = forecast::of(bench, host)?;
        host.plan(ahead.seconds());
        ahead.forecasts.iter().try_for_each(|f| host.foretell(f.clone()))?;
        let models = bench.members.len();
        let mut gathered = Gathered {
            panel: Panel::new(models),
            parts: vec![Vec::new(); pairs(models).len()],
            spreads: vec![Vec::new(); models],
            ..Gathered::default()
        };
        for (k, relation) in all.iter().enumerate() {
            let early = match first.take() {
                None if k > 0 => {
                    let long = Early::of(bench, relation, false)?;
                    long.as_ref().map_or(Ok(()), |early| early.announce(bench, host))?;
                    long
                }
                first => first,
            };
            let seconds = &ahead.relations[k];
            let asked = relation::investigate(bench, relation, (seconds, early.as_ref()), &mut gathered, host);
            self.examined = bench.entries.iter().map(|e| e.facts.len()).sum();
            asked?;
            overall::meanwhile(bench, &gathered, (k + 1, all.len()), host)?;
            serve(bench, host)?;
        }
        host.stage("ranks and ledgers".into(), "draws", forecast::REST);
        overall::conclude(bench, &gathered, host)?;
        serve(bench, host)?;
        // Every relation uses all models, so they stay loaded until here. Further pretraining loads its models separately.
        if !host.asked() {
            self.bench = None;
        }
        disparity::train(&self.spec, &ahead, host)
    }

    fn forecast(&mut self, host: &mut Host<'_>) -> Result<Vec<Forecast>, Fault> {
        let bench = Bench::open(&self.spec, host)?;
        Ok(forecast::of(&bench, host)?.forecasts)
    }

    fn answer(&mut self, question: &Question, share: Share, host: &mut Host<'_>) -> Result<Vec<Finding>, Fault> {
        let Self { bench, latest, .. } = self;
        latest.answer(question, share, || {
            let nothing = || problem(&"there are no results yet", "question", "run the experiment first");
            live::answer(bench.as_ref().ok_or_else(nothing)?, question, host)
        })
    }

    fn examined(&self) -> usize {
        self.examined
    }
}

fn serve(bench: &Bench, host: &mut Host<'_>) -> Result<(), Fault> {
    asked::serve(host, true, |question, host| live::answer(bench, question, host))
}

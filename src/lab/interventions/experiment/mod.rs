//! The procedure for each model: data and split, a first look with provisional probes, the choice of probe settings, and replicates of all
//! probes. Every method then runs over its grid, first on a subsample and then on all test examples. Questions are answered between
//! batches.

mod audit;
mod counted;
mod data;
mod distance_meter;
mod fault;
mod forecast;
mod given;
mod leaks;
mod lens;
mod map;
mod memory;
mod panel;
mod point;
mod points;
mod prepare;
mod scale;
mod stages;
mod stored;
mod sweep;
mod tables;
mod training;
mod twins;
mod verdicts;

use self::panel::{Slot, Which};
use self::prepare::Bench;
use self::sweep::Sweep;
use super::method::Method;
use super::presets::PRESETS;
use super::question;
use super::registry::find;
use super::spec::{AGREEMENT_TOML, Spec};
use crate::Finding;
use crate::Host;
use crate::Kind;
use crate::Question;
use base::Problem;
use figure::Figure;
use lab::Head;
use lab::LabId;
use lab::axis::{self, Axis, Takes};
use lab::demand::{Forecast, Size};
use lab::family::Comparison;
use lab::fault::Fault;
use lab::host::Share;
use lab::table::Table;
use lab::{EngineInfo, Experiment, FigureEntry, Instrument, Pick, Preset};

pub static LAB: Interventions = Interventions;

/// Completeness and selectivity of interventions.
#[derive(Debug, Clone, Copy)]
pub struct Interventions;

impl Instrument for Interventions {
    type Spec = Spec;
    type Kind = Kind;
    type Question = Question;
    type Results = super::Results;
    const ID: LabId = LabId::Interventions;
    const TITLE: &'static str = "Interventions";
    const QUESTION: &'static str = "Does an edit change one property and keep another?";
    const DEFAULT: &'static str = AGREEMENT_TOML;
    const PRESETS: &'static [Preset] = &PRESETS;

    const FIGURES: &'static [FigureEntry] = super::pick::ENTRIES;
    const AXES: &'static [Axis] = &[
        axis::MODEL,
        Axis::new("layer", &["site.layer"], Takes::Layer),
        Axis::new("method", &[], Takes::Named),
        axis::SEED,
        Axis::field("probe.seed"),
        Axis::field("probe.grid"),
        Axis::field("distance"),
        Axis::field("task.name"),
        Axis::field("task.target"),
        Axis::field("task.phi"),
        Axis::field("task.examples"),
    ];
    const COUNTED: fn(&Spec, &[Size]) -> u128 = counted::of;
    const ASKS: fn(&Spec) -> String = super::answer::question;
    const ANSWER: fn(&super::Results, &Spec) -> lab::Answer = super::answer::answer;
    const DIGEST: fn(&super::Results, &Spec) -> lab::Digest = super::digest::digest;
    const NUMBERS: fn(&super::Results) -> Vec<lab::compared::Number> = super::scores_to_compare::numbers;
    const SUMMARY: fn(&super::Results, &Spec) -> Vec<String> = tables::summary;
    const ALL_FIGURES: fn(&super::Results, Option<&EngineInfo>) -> Vec<Figure> = super::figures::all;
    const PICK: Pick<super::Results> = super::pick::pick;
    const TABLES: fn(&super::Results) -> Vec<Table> = tables::all;
    const TABLE_NEEDS: &'static [(&'static str, &'static str)] = &[
        ("contingency", "a run of this lab"),
        ("probes", "a run of this lab with trained probes"),
        ("optimum", "a run judged by the MLP oracle, with a best strength"),
        ("optimum-linear", "a run judged by the linear oracle, with a best strength"),
        ("selectivity", "a run with further properties to keep"),
        ("map", "a run with a map of layers"),
    ];
    const REPLACES: &'static [&'static str] = &["probe", "reliability", "behaviour", "distance"];
    const COMPARES: &'static [&'static str] = &["versus"];
    const COMPARES_FINAL: &'static [&'static str] = &["behaviour"];
    const COMPARED: fn(Head<'_>, &Kind) -> Option<Comparison> = verdicts::compared;

    fn begin(spec: Spec) -> Box<dyn Experiment<Kind, Question>> {
        let methods = spec.methods.iter().filter_map(|m| find(&m.name)).collect();
        Box::new(Run { spec, methods, benches: Vec::new(), examined: 0 })
    }
}

struct Run {
    spec: Spec,
    methods: Vec<&'static Method>,
    /// One bench per model with trained oracles, for answering questions.
    benches: Vec<Bench>,
    examined: usize,
}

impl Experiment<Kind, Question> for Run {
    fn run(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        self.benches.clear();
        self.examined = 0;
        let models = self.spec.models.clone();
        for (k, name) in models.iter().enumerate() {
            let model = host.model(name)?;
            let mut bench = Bench::open(&self.spec, model, host)?;
            let result = self.investigate(&mut bench, models.len() - k - 1, host);
            if !bench.panels.is_empty() {
                self.examined += bench.test.len();
                // Computed results can be queried, also after a cancellation.
                if host.asked() {
                    self.benches.push(bench);
                }
            }
            result?;
        }
        Ok(())
    }

    fn forecast(&mut self, host: &mut Host<'_>) -> Result<Vec<Forecast>, Fault> {
        let mut list = Vec::new();
        for name in self.spec.models.clone() {
            let model = host.model(&name)?;
            let mut bench = Bench::open(&self.spec, model, host)?;
            list.push(forecast::of(&mut bench, host)?);
        }
        Ok(list)
    }

    fn answer(&mut self, question: &Question, share: Share, host: &mut Host<'_>) -> Result<Vec<Finding>, Fault> {
        let question::Question::Point(point) = question;
        let bench = self.benches.iter_mut().find(|b| b.model.name() == point.model).ok_or_else(|| {
            Problem::new(format!("`{}` has no results yet", point.model), "point", "run the experiment with this model")
        })?;
        point::answer(bench, point, share, host)
    }

    fn examined(&self) -> usize {
        self.examined
    }
}

impl Run {
    /// Runs one model: a first look, probe settings, first estimates of every method, all test examples and replicates, comparisons.
    /// `later` is the number of models still to come, each expected to take as long.
    fn investigate(&self, bench: &mut Bench, later: usize, host: &mut Host<'_>) -> Result<(), Fault> {
        let forecast = forecast::of(bench, host)?;
        let all = bench.stages.total("");
        host.plan(all * (1 + later) as f64);
        host.foretell(forecast.clone())?;
        bench.report_data(host)?;
        let mut sweeps: Vec<Sweep> = Vec::new();
        for (m, method) in self.spec.methods.iter().zip(&self.methods) {
            sweeps.push(sweep::open(m, method)?);
        }
        self.first_look(bench, &mut sweeps, host)?;
        bench.choose_recipes(host)?;
        bench.panels.clear();
        let slots = bench.slots.clone();
        bench.train_panels(&[Which::Replicate(1)], &slots, host)?;
        audit::audit_probes(bench, false, host)?;
        for sweep in &mut sweeps {
            sweep.begin(bench, host)?;
        }
        host.stage(format!("{}: all test examples", bench.model.name()), "ex", bench.states_of(bench.test.len()));
        bench.read_rest(host)?;
        lens::look(bench, host)?;
        let replicates = (2..=self.spec.probe.replicates).map(Which::Replicate);
        let rivals = (1..=bench.rival_count()).map(Which::Rival);
        let list: Vec<Which> = replicates.chain(rivals).collect();
        bench.train_panels(&list, &slots, host)?;
        audit::audit_probes(bench, true, host)?;
        // The probes are trained, so the training time is no longer uncertain.
        let rest: f64 = sweeps.iter().map(|sweep| sweep.expected(bench)[1]).sum();
        let after: f64 = ["leaks", stages::MAP].iter().map(|s| bench.stages.total(s)).sum();
        host.foretell(Forecast {
            seconds: host.elapsed() + rest + after,
            range: None,
            because: None,
            refined: true,
            ..forecast
        })?;
        let mut concluded = Vec::new();
        for sweep in &mut sweeps {
            concluded.push(sweep.finish(bench, host)?);
        }
        verdicts::compare(bench, &sweeps, &concluded, host)?;
        leaks::look(bench, &sweeps, &concluded, host)?;
        map::draw(bench, &sweeps, host)
    }

    /// Makes the first method's first estimate with provisional probes, unless all probe settings are already chosen.
    fn first_look(&self, bench: &mut Bench, sweeps: &mut [Sweep], host: &mut Host<'_>) -> Result<(), Fault> {
        let store = host.store();
        let known = |slot: &Slot| store.trained(&bench.search_key(*slot)).is_some();
        let Some(sweep) = sweeps.first_mut().filter(|_| !bench.slots.iter().all(known)) else {
            return Ok(());
        };
        let judges = bench.slots.iter().copied().take(2 + bench.labels.further.len());
        let attacked = bench.slots.last().copied().filter(|_| sweep.named().method.needs.mlp);
        let slots: Vec<Slot> = judges.chain(attacked).collect();
        bench.train_panels(&[Which::Provisional], &slots, host)?;
        sweep.begin(bench, host)
    }
}

//! The lab's settings. Settings that need no new run are applied to the comparison at once.

use super::{DEPARTED, TOO_LATE, ask, departs, has_shown, own, ran, results, terms, view, view_mut};
use crate::action::Effect;
use crate::setup::{Row, Setup, known};
use crate::state::State;
use labs::power::Spec;
use labs::power::bound::Bound;
use labs::power::settings::settings;
use labs::setting::{Kind, Range, Setting, SettingError, Value};
use labs::{self, LabId};

pub(crate) static SETUP: PowerSetup = PowerSetup;

/// Settings that need no new run.
const LIVE: [&str; 3] = ["test.alpha", "test.target", "test.margin"];
/// Rows that apply only to files of results, and rows that apply only to probes.
const OF_FILES: [&str; 2] = ["test.filter", "test.metric"];
const OF_PROBES: [&str; 7] = ["task", "layer", "pooling", "classifier", "noise", "corrupted", "corrupted_text"];

/// Row of a plan's number of items, shown while there is a plan.
const PLANNED: &str = "plan.n";
const PILOT: &str = "pilot";

/// Builds the row of the pilot: the number of items used, in the order drawn by the seed.
fn pilot(state: &State) -> Row {
    let found = results(state);
    let stops: Vec<f64> = found.tallies.iter().map(|t| t.value.tally.items as f64).collect();
    let most = stops.last().copied().unwrap_or(0.0);
    let now = view(state).pilot.map_or(most, |n| n as f64);
    let kind = Kind::Slider { range: Range::whole(most.min(2.0), most), stops, unset: None };
    let help = "Number of test items used, as if the pilot had ended there.";
    Row::of_view(PILOT, "Pilot", help, kind, Value::Number(now))
}

pub(crate) struct PowerSetup;

impl Setup for PowerSetup {
    fn lab(&self) -> LabId {
        LabId::Power
    }

    fn example(&self) -> &'static [u8] {
        include_bytes!("../../../../sessions/power.probity.jsonl")
    }

    fn short(&self) -> &'static [&'static str] {
        &[
            "a.encoder",
            "a.layer",
            "b.encoder",
            "b.layer",
            "task.name",
            "a.results",
            "b.results",
            "task.sizes",
            PILOT,
            "test.target",
        ]
    }

    fn rows(&self, state: &State) -> Vec<Row> {
        let (spec, ran, known) = (&view(state).spec, ran(state), known(state));
        let files = spec.of_files();
        let shown = |key: &str| {
            if key == PLANNED {
                return spec.plan.is_some();
            }
            let of_probes = OF_PROBES.iter().any(|f| key == format!("a.{f}") || key == format!("b.{f}"));
            let of_probes = of_probes
                || key.starts_with("task.")
                || key.starts_with("training.")
                || key.starts_with("also")
                || ["test.bound", "test.own", "test.delta"].contains(&key);
            // The constant of a user's bound includes δ.
            let own = matches!(spec.test.bound, Bound::Own(_));
            if key == "test.own" && !own
                || key == "test.delta" && own
                || key == "also.noise" && spec.also.noise.is_empty()
            {
                return false;
            }
            // Corruption settings have no effect without corruption steps.
            if key.starts_with("corruption.") && (files || spec.a.corrupted + spec.b.corrupted == 0) {
                return false;
            }
            if files { !of_probes } else { !OF_FILES.contains(&key) }
        };
        let shipped = Spec::shipped();
        let row = |s: &Setting<Spec>| Row::of(s, spec, ran, &known).with_default(s, &shipped, &known);
        let mut rows: Vec<Row> = settings().iter().filter(|s| shown(&s.key)).map(row).collect();
        // Changes of these rows are answered from the run's findings, even in a replay.
        rows.iter_mut().filter(|r| LIVE.contains(&r.key.as_str())).for_each(|r| r.view = true);
        // Before the first results, there are no items to choose from.
        if let Some(at) = rows.iter().position(|r| r.key == LIVE[0]).filter(|_| !results(state).tallies.is_empty()) {
            rows.insert(at, pilot(state));
        }
        rows
    }

    fn set(&self, state: &mut State, key: &str, value: Value) -> Result<Vec<Effect>, SettingError> {
        if key == PILOT {
            let all = results(state).comparisons.last().map_or(0, |c| c.n);
            view_mut(state).pilot = value.whole().filter(|n| *n < all);
            return Ok(ask(state));
        }
        if key == PLANNED && has_shown(view(state)) {
            return Err(SettingError::Refused(TOO_LATE.to_owned()));
        }
        let (known, mut spec) = (known(state), view(state).spec.clone());
        let Some(setting) = settings().into_iter().find(|s| s.key == key) else {
            return Err(SettingError::NotOffered);
        };
        setting.set(&mut spec, &known, value)?;
        view_mut(state).spec = spec;
        if departs(view(state)) {
            state.view.toast = Some(DEPARTED.to_owned());
        }
        Ok(if LIVE.contains(&key) { ask(state) } else { Vec::new() })
    }

    fn main(&self) -> &'static str {
        "test.target"
    }

    fn spec(&self, state: &State) -> labs::Spec {
        let view = view(state);
        let plan = view.spec.plan.clone().filter(|_| !departs(view));
        Spec { plan, ..view.spec.clone() }.into()
    }

    /// True if the settings differ from the run only in ways that its findings can answer.
    fn answered(&self, state: &State, ran: &labs::Spec) -> bool {
        own(ran).is_some_and(|ran| labs::Spec::from(terms(state).of(ran)) == self.spec(state))
    }

    fn take(&self, state: &mut State, spec: &labs::Spec) {
        if let Some(spec) = own(spec) {
            view_mut(state).spec = spec.clone();
            if departs(view(state)) {
                state.view.toast = Some(DEPARTED.to_owned());
            }
        }
    }
}

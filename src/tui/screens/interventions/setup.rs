//! The lab's setup: its settings, and the selected method, strength and oracle.

use super::measured::{marker, marker_stops, method, method_key, results, run_models, run_oracles};
use super::{ask_point, methods, own, picker, ran, settle, view, view_mut};
use crate::action::Effect;
use crate::setup::{self, Row, Setup, known, turn};
use crate::state::State;
use base::numbers::{percent, short};
use base::text::printable;
use labs::examples::TaskSpec;
use labs::interventions::answer::oracle_name;
use labs::interventions::finding::ProbeRole;
use labs::interventions::question::PointQuestion;
use labs::interventions::settings::{few_examples, nth_of, options, settings};
use labs::interventions::spec::MethodSpec;
use labs::setting::{Kind, Range, Setting, SettingError, Value};
use labs::{self, LabId};

pub(crate) static SETUP: InterventionsSetup = InterventionsSetup;
pub(crate) const METHOD: &str = "view.method";
/// Row of the drawn method's strength: the marker on the curves.
pub(crate) const STRENGTH: &str = "view.strength";
pub(crate) const ORACLE: &str = "view.oracle";
/// Settings before which the rows of the method and the oracle are placed.
const BEFORE: [&str; 1] = ["probe.oracles"];

pub(crate) struct InterventionsSetup;

/// Methods that can be drawn: each in the catalog, once for each set of options in the spec.
fn drawable(state: &State) -> Vec<(String, usize)> {
    let view = view(state);
    let times = |id: &str| view.spec.methods.iter().filter(|m| m.name == id).count().max(1);
    let each = view.catalog.methods.iter();
    each.flat_map(|m| (0..times(&m.id)).map(move |nth| (m.id.clone(), nth))).collect()
}

/// Name of a method, with its options if the spec runs it several times.
pub(crate) fn title(state: &State, id: &str, nth: usize) -> String {
    let view = view(state);
    let entry = view.catalog.method(id).map_or(id, |m| m.title.as_str());
    match nth_of(&view.spec, id, nth).map(|i| view.spec.methods[i].key()) {
        Some(key) if nth_of(&view.spec, id, 1).is_some() => key.title(),
        _ => entry.to_owned(),
    }
}

fn method_row(state: &State) -> Row {
    let all = drawable(state);
    let view = view(state);
    let at = all.iter().position(|(id, nth)| *id == view.method && *nth == view.nth);
    let names = all.iter().map(|(id, nth)| title(state, id, *nth)).collect();
    let help = "Method to draw; the picker selects the methods that run.";
    let mut row = Row::of_view(METHOD, "Method", help, Kind::Choice(names), Value::Choice(at));
    let name = title(state, &view.method, view.nth);
    let runs = nth_of(&view.spec, &view.method, view.nth).is_some();
    let name = name.trim_end_matches(" (control)");
    row.text = printable(&if runs { name.to_owned() } else { format!("{name} (not run)") }).into_owned();
    let names = |methods: &[MethodSpec]| methods.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
    row.changed = ran(state).is_some_and(|ran| names(&ran.methods) != names(&view.spec.methods));
    row
}

fn strength_row(state: &State) -> Row {
    let parameter = method(state).map(|m| &m.parameter);
    let label = parameter.map_or("Strength".to_owned(), |p| format!("Strength {}", p.symbol));
    let range = parameter.map_or(Range::real(0.0, 0.0), |p| Range { min: p.min, max: p.max, whole: p.integer });
    let kind = Kind::Slider { stops: marker_stops(state), range, unset: None };
    let help = "Strength of the shown numbers and example; the marker on the curves.";
    let mut row = Row::of_view(STRENGTH, &label, help, kind, Value::Number(marker(state)));
    row.text = short(marker(state));
    row
}

fn oracle_row(state: &State) -> Row {
    let oracles = run_oracles(state);
    let at = oracles.iter().position(|o| *o == view(state).oracle);
    let names = oracles.iter().map(|oracle| oracle.title().to_owned()).collect();
    let help = "Oracle whose scores are drawn.";
    let mut row = Row::of_view(ORACLE, "Oracle", help, Kind::Choice(names), Value::Choice(at));
    let accuracy = oracle_accuracy(state).map_or(String::new(), |a| format!("  {}", percent(a)));
    row.text = format!("{}{accuracy}", view(state).oracle.title());
    row
}

/// Draws the scores of the run's next oracle.
pub(crate) fn other_oracle(state: &mut State) -> Vec<Effect> {
    if let [only] = run_oracles(state) {
        let text = format!("this run has only the {}; Oracles in the settings adds the other one", oracle_name(*only));
        state.view.toast = Some(text);
    }
    turn(state, ORACLE, 1)
}

/// Accuracy of the drawn oracle on the target, once known.
fn oracle_accuracy(state: &State) -> Option<f64> {
    let target = ran(state).map(|spec| spec.task.target.as_str())?;
    let mine = results(state).probes.iter().find(|p| {
        p.model == view(state).model
            && p.value.role == ProbeRole::Oracle
            && p.value.oracle == Some(view(state).oracle)
            && p.value.property == target
    });
    mine.map(|p| p.value.accuracy.mean)
}

impl Setup for InterventionsSetup {
    fn lab(&self) -> LabId {
        LabId::Interventions
    }

    fn example(&self) -> &'static [u8] {
        crate::example::PACKED
    }

    fn short(&self) -> &'static [&'static str] {
        &["models", "task.target", METHOD, STRENGTH, ORACLE, "site.layer", "task.examples"]
    }

    fn rows(&self, state: &State) -> Vec<Row> {
        let (view, ran, known) = (view(state), ran(state), known(state));
        let shipped = super::Spec::shipped();
        let row = |s: &Setting<_>| Row::of(s, &view.spec, ran, &known).with_default(s, &shipped, &known);
        let mut rows = Vec::new();
        for setting in settings() {
            if BEFORE.contains(&setting.key.as_str()) {
                rows.extend([method_row(state), strength_row(state)]);
                rows.extend(options(&view.spec, &view.method, view.nth).iter().map(row));
                rows.push(oracle_row(state));
            }
            if view.spec.task.takes_every_token() || !setting.key.starts_with("task.tokens_per_") {
                rows.push(row(&setting));
            }
        }
        for row in rows.iter_mut().filter(|row| row.key == "task.examples") {
            row.warning = few_examples(&view.spec.task).unwrap_or_default();
        }
        // Marks the drawn model among the selected ones.
        for row in rows.iter_mut().filter(|_| run_models(state).len() > 1) {
            if let (Kind::Marks(names), "models") = (&row.kind, row.key.as_str()) {
                let note = |name: &String| if *name == view.model { " (drawn)".to_owned() } else { String::new() };
                row.notes = names.iter().map(note).collect();
            }
        }
        rows
    }

    fn set(&self, state: &mut State, key: &str, value: Value) -> Result<Vec<Effect>, SettingError> {
        match (key, &value) {
            (METHOD, Value::Choice(Some(at))) => {
                let chosen = drawable(state).get(*at).cloned();
                return Ok(chosen.map_or(Vec::new(), |entry| methods::draw(state, entry)));
            }
            (STRENGTH, Value::Number(x)) => {
                strength_row(state).kind.check(&value)?;
                let view = view_mut(state);
                view.markers.insert(view.method.clone(), *x);
                return Ok(ask_point(state));
            }
            (ORACLE, Value::Choice(Some(at))) => {
                let Some(oracle) = run_oracles(state).get(*at).copied() else { return Ok(Vec::new()) };
                let before = marker(state);
                view_mut(state).oracle = oracle;
                let now = marker(state);
                let reason = methods::reason(state);
                let said = reason.as_ref().map(|reason| format!("{reason} (judged by the {})", oracle_name(oracle)));
                state.view.toast = said.or(state.view.toast.take());
                if now == before {
                    return Ok(Vec::new());
                }
                if reason.is_some() {
                    return Ok(ask_point(state));
                }
                let symbol = method(state).map_or("strength", |m| m.parameter.symbol.as_str()).to_owned();
                let by = oracle_name(oracle);
                state.view.toast = Some(format!(
                    "Strength moves from {symbol} {} to {}, the best under the {by}",
                    short(before),
                    short(now)
                ));
                return Ok(ask_point(state));
            }
            _ => {}
        }
        let known = known(state);
        let (mut spec, before) = (view(state).spec.clone(), method_key(state));
        let own = options(&spec, &view(state).method, view(state).nth);
        let all = settings().into_iter().chain(own);
        let Some(setting) = all.into_iter().find(|s| s.key == key) else {
            return Err(SettingError::NotOffered);
        };
        setting.set(&mut spec, &known, value)?;
        if let Some(ran) = ran(state)
            && let Some(said) = spelled_out(&spec, ran, &view(state).method, view(state).nth)
        {
            spec = said;
        }
        let view = view_mut(state);
        view.spec = spec;
        if method_key(state) == before {
            return Ok(Vec::new());
        }
        let effects = ask_point(state);
        if !effects.is_empty() {
            let (name, key) =
                (title(state, &super::view(state).method, super::view(state).nth), state.keymap.short_label("run"));
            let name = printable(&name).into_owned();
            state.view.toast =
                Some(format!("{name} is refitted with this option for the strength shown; {key} runs all strengths"));
        }
        Ok(effects)
    }

    fn main(&self) -> &'static str {
        STRENGTH
    }

    fn open(&self, state: &mut State, key: &str) -> bool {
        if key == METHOD {
            picker::open(state);
        }
        key == METHOD
    }

    fn spec(&self, state: &State) -> labs::Spec {
        view(state).spec.clone().into()
    }

    fn take(&self, state: &mut State, spec: &labs::Spec) {
        if let Some(spec) = own(spec) {
            let view = view_mut(state);
            view.spec = spec.clone();
            if !spec.methods.iter().any(|m| m.name == view.method)
                && let Some(first) = spec.methods.first()
            {
                (view.method, view.nth) = (first.name.clone(), 0);
            }
            settle(view);
        }
    }

    fn leave_run(&self, state: &mut State) {
        view_mut(state).markers.clear();
    }

    fn examples(&self, state: &State) -> TaskSpec {
        view(state).spec.task.clone()
    }

    fn along(&self, state: &mut State) -> Vec<Effect> {
        ask_point(state)
    }
}

/// Writes the drawn method as the run's spec does, if both are equivalent: explicit defaults stay explicit, so that restored settings equal
/// the run's spec.
fn spelled_out(spec: &super::Spec, ran: &super::Spec, method: &str, nth: usize) -> Option<super::Spec> {
    let (i, then) = (nth_of(spec, method, nth)?, &ran.methods[nth_of(ran, method, nth)?]);
    if spec.methods[i].key() != then.key() || spec.methods[i].options == then.options {
        return None;
    }
    let mut spec = spec.clone();
    spec.methods[i].options = then.options.clone();
    Some(spec)
}

/// Applies a recorded question to the view. A marker at its automatic position was not set by the user, and later moves to the best
/// strength.
pub(crate) fn follow_point(state: &mut State, point: &PointQuestion) {
    let view = view_mut(state);
    view.model = point.model.clone();
    view.method = point.method.clone();
    let mut settings = view.spec.methods.iter().filter(|m| m.name == point.method);
    view.nth = settings.position(|m| m.key() == point.key()).unwrap_or(0);
    view.picked = true;
    view.example = point.example;
    view.markers.remove(&point.method);
    if marker(state) != point.value {
        view_mut(state).markers.insert(point.method.clone(), point.value);
    }
}

/// Methods of a quick run. Attacks and further training runs take most of the time of a run.
const QUICK: &[&str] = &["alterrep", "inlp", "identity", "random"];

/// Runs the experiment with fewer methods and training runs; undo restores the settings.
pub(super) fn quick_run(state: &mut State) -> Vec<Effect> {
    setup::quick_run(state, &[("probe.replicates", 3.0)], |state| {
        let spec = &mut view_mut(state).spec;
        if spec.methods.iter().any(|m| QUICK.contains(&&*m.name)) {
            spec.methods.retain(|m| QUICK.contains(&&*m.name));
        }
        settle(view_mut(state));
    })
}

//! Provenance of a pane's numbers, and the shell command that reproduces them.

use super::measured::{best, example, method_key, readout, results};
use super::probes::in_words;
use super::{EXAMPLE, ID, MAPS, PARETO, PROBES, map, ran, view};
use crate::screen::Origin;
use crate::state::State;
use base::numbers::{score, short};
use labs::Tagged;
use labs::examples::TaskSpec;
use labs::interval::beside;
use labs::interventions::answer::{oracle_name, strengths_of_halves};
use labs::interventions::banded::{Banded, ENOUGH_TRAININGS, is_few};
use labs::interventions::figures::Rated;
use labs::interventions::finding::{OptimumFinding, ReliabilityFinding};
use labs::interventions::front::MIXED;
use labs::interventions::spec::Spec;
use stats::Estimate;

/// Provenance of the number in the focused pane; `None` before anything has been measured.
pub(crate) fn focused_origin(state: &State) -> Option<Origin> {
    match state.looked_at(ID) {
        PROBES => {
            let at = state.place(ID).scrolled(PROBES);
            let probes = &results(state).probes;
            let probe = probes.get(at.min(probes.len().checked_sub(1)?))?;
            let p = &probe.value;
            let accuracy = format!("{} {}", score(p.accuracy.mean), beside(p.accuracy, None, score));
            Some(origin_of(
                state,
                format!("probe of {} ({}): accuracy {accuracy}", p.property.replace('_', " "), in_words(&p.classifier)),
                probe,
            ))
        }
        EXAMPLE if example(state).is_some() => {
            let example = example(state)?;
            let what = format!("example {} of {}", example.value.index + 1, example.value.of);
            let mut origin = origin_of(state, what, example);
            // A single example is not refined like an estimate, so it has no state.
            origin.entries.retain(|(key, _)| key != "state");
            Some(origin)
        }
        pane if MAPS.contains(&pane) => {
            let cell = map::pointed(state)?;
            let mut origin = point_origin(state, cell, &cell.value.point);
            origin.entries.insert(3, ("strength".into(), cell.value.strength.title().into()));
            Some(origin)
        }
        pane => {
            let point = readout(state)?.point;
            let mut origin = point_origin(state, point, &point.value);
            origin.entries.splice(0..0, best(state).map(|best| ("held out".into(), held_out(&best.value))));
            let rated = Rated::of(results(state), &view(state).model, view(state).oracle);
            if pane == PARETO && rated.is_mixed() {
                origin.entries.push(("completeness".into(), MIXED.into()));
            }
            Some(origin)
        }
    }
}

/// The scores of the answer and the list; the figure shows scores on all examples instead.
fn held_out(v: &OptimumFinding) -> String {
    let shown = |b: &Banded| format!("{} {}", score(b.mean), b.spread(v.how.replicates));
    let parameter = v.parameter.replace('_', " ");
    let strengths = match strengths_of_halves(v) {
        Some(at) => format!("mean of halves at {parameter} {at}, each chosen on the other half"),
        None => format!("at {parameter} {} as chosen on the other half", short(v.value)),
    };
    format!("R {}, C {}, S {}, {strengths}", shown(&v.reliability), shown(&v.completeness), shown(&v.selectivity))
}

/// Provenance of a number that is, or includes, a point.
fn point_origin<T>(state: &State, number: &Tagged<T>, p: &ReliabilityFinding) -> Origin {
    let key = p.key(&number.model);
    let none = results(state).no_optimum(&key.model, &key.method, key.oracle);
    let mark = if none.is_some() || p.beside.eligible == Some(false) { "!" } else { "" };
    let r = format!("{} {}{mark}", score(p.reliability.mean), p.reliability.spread(p.beside.replicates));
    let what = format!("{} at {} = {}, all examples: reliability {r}", p.method, p.parameter, short(p.value));
    let mut origin = origin_of(state, what, number);
    let site = format!("layer {}, {} at layer {}", p.layer, oracle_name(p.oracle), p.oracle_layer);
    origin.entries.insert(2, ("site".into(), site));
    let reason = match none {
        Some(none) => Some(("! no best strength", none.value.reason.as_str())),
        None if !mark.is_empty() => {
            Some(("! does not count", "the oracle no longer recognises the kept property at this strength"))
        }
        None => None,
    };
    origin.entries.splice(2..2, reason.map(|(key, text)| (key.into(), text.into())));
    if is_few(p.beside.replicates) {
        let text = format!("{}; an interval needs {ENOUGH_TRAININGS}", p.beside.replicates);
        origin.entries.insert(3, ("training runs".into(), text));
    } else if let Some([lo, hi]) = p.reliability.sampling {
        let (wide, narrow) = (p.reliability.estimate(), Estimate { mean: p.reliability.mean, lo, hi });
        let bands = format!(
            "over examples and training runs {}; over examples alone {}",
            beside(wide, None, score),
            beside(narrow, None, score)
        );
        origin.entries.insert(3, ("bands of R".into(), bands));
    }
    origin
}

fn origin_of<T>(state: &State, what: String, number: &Tagged<T>) -> Origin {
    let command = ran(state).map_or(String::new(), |ran| shell_command(&ran.with_method(&method_key(state))));
    Origin { what, entries: origin(state, number), command }
}

fn origin<T>(state: &State, number: &Tagged<T>) -> Vec<(String, String)> {
    let mut entries = vec![("spec".to_owned(), number.spec.clone()), ("model".into(), number.model.clone())];
    if let Some(data) = results(state).data.iter().find(|d| d.model == number.model) {
        entries.push(("model hash".into(), data.value.model_hash.clone()));
        entries.push(("data".into(), format!("{} {}", data.value.task, data.value.data_hash)));
        if let Some(source) = &data.value.source {
            entries.push(("data file".into(), source.summary()));
        }
        entries.push(("distance".into(), data.value.distance.title().into()));
    }
    entries.push(("seed".into(), number.seed.to_string()));
    entries.push(("n".into(), number.n.to_string()));
    if let Some(level) = number.level {
        entries.push(("interval level".into(), level.to_string()));
    }
    entries.push(("state".into(), if number.is_final { "final" } else { "being refined" }.into()));
    if let Some(engine) = &state.board.engine {
        entries.push(("version".into(), engine.version.clone()));
        entries.push(("device".into(), engine.device.clone()));
    }
    entries
}

/// A self-contained shell command that runs a spec.
fn shell_command(spec: &Spec) -> String {
    if *spec == Spec::shipped() {
        return "probity run interventions --json".into();
    }
    // A spec on standard input has no folder, so its paths must be absolute.
    let data = spec.task.data_path().map(|p| p.display().to_string());
    let spec = Spec { task: TaskSpec { data, ..spec.task.clone() }, ..spec.clone() };
    // The quoted delimiter prevents the shell from expanding the spec.
    format!("probity run - --json <<'SPEC'\n{}\nSPEC", labs::Spec::from(spec).to_toml().trim_end())
}

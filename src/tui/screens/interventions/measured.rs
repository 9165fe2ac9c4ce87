//! Results at the marker, as shown by the panes.

use super::catalog::MethodEntry;
use super::{ran, view, view_mut};
use crate::state::State;
use base::numbers::short;
use figure::{Figure, Scale};
use labs::interventions::answer::goal_of;
use labs::interventions::distance::DistanceFinding;
use labs::interventions::figures;
use labs::interventions::finding::{BehaviourFinding, ExampleFinding, OptimumFinding, ReliabilityFinding};
use labs::interventions::front::Standing;
use labs::interventions::key::MethodKey;
use labs::interventions::oracle::OracleKind;
use labs::interventions::results::{Curve, Results};
use labs::interventions::settings::nth_of;
use labs::interventions::spec::MethodSpec;
use labs::interventions::verdict::{NoOptimumFinding, VersusFinding};
use labs::{LabId, LabResults, Tagged};

#[derive(Debug, Clone, Copy)]
pub struct Readout<'a> {
    pub point: &'a Tagged<ReliabilityFinding>,
    /// True if the point is exactly at the marker.
    pub exact: bool,
}

/// The drawn curve: with the options in the setup or, if these were not run, with the options of the run.
pub fn curve(state: &State) -> Option<&Curve> {
    let (results, key) = (results(state), method_key(state));
    results.curve(&view(state).model, &key, view(state).oracle).or_else(|| {
        let other = |c: &&Curve| {
            c.key.model == view(state).model && c.key.method.name == key.name && c.key.oracle == view(state).oracle
        };
        results.curves.iter().find(other)
    })
}

/// The point at the marker, from the curve or from the slider's answer, whichever has more examples. If neither has it, the curve's
/// nearest point.
pub fn readout(state: &State) -> Option<Readout<'_>> {
    let marker = marker(state);
    let at = |p: &&Tagged<ReliabilityFinding>| same(p.value.value, marker);
    let key = method_key(state);
    let on_curve = curve(state).filter(|c| c.key.method == key).and_then(|c| c.points.iter().find(at));
    let answered = results(state).point.as_ref().and_then(|p| {
        p.reliability.iter().filter(at).find(|p| {
            p.model == view(state).model && p.value.key(&p.model).method == key && p.value.oracle == view(state).oracle
        })
    });
    let exact = match (on_curve, answered) {
        (Some(a), Some(b)) => Some(if b.n > a.n { b } else { a }),
        (a, b) => a.or(b),
    };
    if let Some(point) = exact {
        return Some(Readout { point, exact: true });
    }
    let nearest = curve(state)?
        .points
        .iter()
        .min_by(|a, b| distance(state, a.value.value, marker).total_cmp(&distance(state, b.value.value, marker)))?;
    Some(Readout { point: nearest, exact: false })
}

/// The model's behaviour at the marker or nearest to it.
pub fn behaviour(state: &State) -> Option<&Tagged<BehaviourFinding>> {
    let (marker, key) = (marker(state), method_key(state));
    let mine = |b: &&Tagged<BehaviourFinding>| b.model == view(state).model && b.value.method_key() == key;
    let answered = results(state).point.as_ref().and_then(|p| p.behaviour.as_ref()).filter(mine);
    let swept = results(state)
        .behaviour
        .iter()
        .filter(mine)
        .min_by(|a, b| distance(state, a.value.value, marker).total_cmp(&distance(state, b.value.value, marker)));
    match (swept, answered) {
        (Some(s), Some(a)) if same(a.value.value, marker) && (a.n > s.n || !same(s.value.value, marker)) => Some(a),
        (s, a) => s.or(a),
    }
}

/// Distance of edited states from real ones, at the marker or nearest to it.
pub fn distances(state: &State) -> Option<&Tagged<DistanceFinding>> {
    let (marker, key) = (marker(state), method_key(state));
    let mine = |d: &&Tagged<DistanceFinding>| d.model == view(state).model && d.value.method_key() == key;
    let answered = results(state).point.as_ref().and_then(|p| p.distance.as_ref()).filter(mine);
    let swept = results(state)
        .distances
        .iter()
        .filter(mine)
        .min_by(|a, b| distance(state, a.value.value, marker).total_cmp(&distance(state, b.value.value, marker)));
    answered.filter(|a| same(a.value.value, marker)).or(swept)
}

/// Strength at which the drawn method is most reliable, once known.
pub fn optimum(state: &State) -> Option<f64> {
    best(state).map(|o| o.value.value)
}

/// The drawn method's best strength with its held-out scores.
pub(crate) fn best(state: &State) -> Option<&Tagged<OptimumFinding>> {
    results(state).optimum(&view(state).model, &method_key(state), view(state).oracle)
}

/// Best strength of the drawn method with the options that were run. Changed options have none until they are run, so the marker stays.
fn as_run(state: &State) -> Option<f64> {
    let view = view(state);
    let mine = |o: &&Tagged<OptimumFinding>| {
        o.model == view.model && o.value.oracle == view.oracle && o.value.method == view.method
    };
    results(state).optima.iter().find(mine).map(|o| o.value.value)
}

/// Reason why the drawn method has no best strength.
pub fn without(state: &State) -> Option<&Tagged<NoOptimumFinding>> {
    results(state).no_optimum(&view(state).model, &method_key(state), view(state).oracle)
}

/// Comparison of the drawn method with its closest rival: the method with the same aim for which the probability of being more reliable is
/// closest to one half.
pub(crate) fn closest_rival(state: &State) -> Option<&Tagged<VersusFinding>> {
    let (key, view) = (method_key(state), view(state));
    let mine = results(state).versus.iter().filter(|v| {
        let x = &v.value;
        let alike = goal_of(&x.a.name) == goal_of(&x.b.name);
        v.model == view.model && x.oracle == view.oracle && alike && (x.a == key || x.b == key)
    });
    let toss = |v: &Tagged<VersusFinding>| (v.value.p_greater - 0.5).abs();
    mine.min_by(|a, b| toss(a).total_cmp(&toss(b)))
}

fn asked_example(results: &Results) -> Option<&Tagged<ExampleFinding>> {
    results.point.as_ref()?.example.as_ref()
}

/// The example of the drawn method whose strength is nearest to that of the scores, which in a recording may be an earlier answer; if it has
/// none, the latest example of any method.
pub fn example(state: &State) -> Option<&Tagged<ExampleFinding>> {
    let (found, key, model) = (results(state), method_key(state), &view(state).model);
    let mine =
        |e: &&Tagged<ExampleFinding>| e.model == *model && e.value.method == key.name && e.value.options == key.options;
    let recorded = state.example_of(LabId::Interventions).map_or(&[][..], |example| &example.answers);
    let earlier = recorded.iter().rev().filter_map(|results| asked_example(Results::within(results)?));
    let latest = asked_example(found);
    let away = |e: &&Tagged<ExampleFinding>| distance(state, e.value.value, marker(state));
    let all = latest.into_iter().chain(earlier).filter(mine);
    all.min_by(|a, b| away(a).total_cmp(&away(b))).or(latest)
}

/// True if the answer to the latest question is not shown yet.
pub(crate) fn awaiting_point(state: &State) -> bool {
    if state.example_of(Results::LAB).is_some() {
        return false;
    }
    let asked = state.board.run_of(Results::LAB).map_or(0, |run| run.asked);
    results(state).point.as_ref().map_or(0, |p| p.ticket) < asked
}

pub fn scale(state: &State) -> Scale {
    view(state).scale.or_else(|| method(state).map(|m| m.parameter.scale)).unwrap_or(Scale::Linear)
}

fn distance(state: &State, a: f64, b: f64) -> f64 {
    let own = method(state).map_or(Scale::Linear, |m| m.parameter.scale);
    match own {
        Scale::Log if a > 0.0 && b > 0.0 => (a.ln() - b.ln()).abs(),
        _ => (a - b).abs(),
    }
}

/// True if two strengths are equal up to rounding.
pub(crate) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

pub fn results(state: &State) -> &Results {
    state.results::<Results>()
}

/// Entry in the setup's spec for the plotted method; `None` if the spec does not include it.
pub(crate) fn method_spec(state: &State) -> Option<&MethodSpec> {
    let view = view(state);
    nth_of(&view.spec, &view.method, view.nth).map(|i| &view.spec.methods[i])
}

/// Key of the drawn method with the options in the setup.
pub fn method_key(state: &State) -> MethodKey {
    method_spec(state).map_or_else(|| MethodKey::named(&view(state).method), MethodSpec::key)
}

/// Position of the marker on the drawn method's axis: set by the user, or else the best strength, once known.
pub fn marker(state: &State) -> f64 {
    let default = || method(state).map_or(0.0, |m| m.parameter.default);
    let untouched = || optimum(state).or_else(|| as_run(state)).unwrap_or_else(default);
    view(state).markers.get(&view(state).method).copied().unwrap_or_else(untouched)
}

/// Stops of the marker: the strengths in the spec, or the method's grid.
pub(crate) fn marker_stops(state: &State) -> Vec<f64> {
    let values = method_spec(state).map_or(&[][..], |m| &m.values);
    let mut stops = match method(state) {
        _ if !values.is_empty() => values.to_vec(),
        Some(m) if !m.parameter.grid.is_empty() => m.parameter.grid.clone(),
        Some(m) => vec![m.parameter.min, m.parameter.max],
        None => vec![0.0],
    };
    stops.sort_by(f64::total_cmp);
    stops
}

pub fn method(state: &State) -> Option<&MethodEntry> {
    view(state).catalog.method(&view(state).method)
}

/// Models of the latest run, or of the setup if nothing has run.
pub fn run_models(state: &State) -> &[String] {
    &ran(state).unwrap_or(&view(state).spec).models
}

/// Oracles of the latest run, or of the setup if nothing has run.
pub(crate) fn run_oracles(state: &State) -> &[OracleKind] {
    &ran(state).unwrap_or(&view(state).spec).probe.oracles
}

/// C, S and R by strength; `None` before the first point.
fn curves_figure(state: &State) -> Option<Figure> {
    let (engine, view) = (state.board.engine.as_ref(), view(state));
    let methods = curve(state).map_or(Vec::new(), |c| vec![c.key.method.clone()]);
    let marker = Some(marker(state));
    let mut figure = figures::curves(results(state), engine, &view.model, &methods, view.oracle, marker)?;
    figure.x.scale = scale(state);
    Some(figure)
}

/// Model behaviour by strength; `None` if not measured.
pub(crate) fn behaviour_figure(state: &State) -> Option<Figure> {
    let (engine, view) = (state.board.engine.as_ref(), view(state));
    let mut figure = figures::behaviour(results(state), engine, &view.model, &method_key(state), Some(marker(state)))?;
    figure.x.scale = scale(state);
    Some(figure)
}

/// Distances from real states by strength; `None` if not measured.
pub(crate) fn distance_figure(state: &State) -> Option<Figure> {
    let (engine, view) = (state.board.engine.as_ref(), view(state));
    let mut figure = figures::distance(results(state), engine, &view.model, &method_key(state))?;
    figure.x.scale = scale(state);
    Some(figure)
}

/// Descriptions of the front from the longest to the shortest, and whether it has a knee. Each names the knee (or why there is none) and
/// the number of dominated settings. That number comes before any part that may be cut.
fn front(state: &State) -> Option<(bool, Vec<String>)> {
    let rated = figures::Rated::of(results(state), &view(state).model, view(state).oracle);
    if rated.points.is_empty() {
        return None;
    }
    let counts = rated.counts();
    let [dominated, all] = rated.dominated();
    let more = rated.front.knee.as_ref().map_or(0, |knee| knee.ties);
    let forms = match rated.knee() {
        Ok(name) => {
            let ties = if more > 0 { format!(" ({more} others as good)") } else { String::new() };
            vec![
                format!("knee {name}{ties}; {counts}"),
                format!("knee {name}{ties}; {dominated} of {all} settings dominated"),
                format!("knee {name}{ties}; {dominated}/{all} dominated"),
                format!("{}; {dominated}/{all} dominated", terse(state, &rated).unwrap_or_default()),
                format!("{dominated}/{all} dominated, knee {name}"),
            ]
        }
        Err(_) if rated.front.count(Standing::Unread) == all => vec![counts],
        Err(why) => {
            vec![
                format!("no knee: {why}; {counts}"),
                format!("{dominated} of {all} settings dominated; no knee: {why}"),
                format!("{dominated} of {all} settings dominated; no knee"),
            ]
        }
    };
    Some((rated.front.knee.is_ok(), forms))
}

/// Method and strength of the knee, with the symbol of the parameter: `PGD, ε .136`.
fn terse(state: &State, rated: &figures::Rated<'_>) -> Option<String> {
    let p = &rated.points.get(rated.front.knee.as_ref().ok()?.at)?.value;
    let entry = view(state).catalog.method(&p.method);
    let symbol = entry.map_or(p.parameter.as_str(), |m| m.parameter.symbol.as_str());
    Some(format!("{}, {symbol} {}", p.key(&view(state).model).method.title(), short(p.value)))
}

/// C against S for all methods; `None` before the first point.
fn pareto_figure(state: &State) -> Option<Figure> {
    figures::pareto(results(state), state.board.engine.as_ref(), &view(state).model, view(state).oracle)
}

/// Inputs of the curves, the plane and its front; valid until results change in place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inputs {
    of_plane: (ResultsPlace, String, OracleKind),
    /// Inputs of the curves alone: the drawn method, its marker and the scale.
    of_curves: (Option<MethodKey>, f64, Scale),
}

/// Address and generation of the shown results.
type ResultsPlace = (usize, Option<u64>);

fn inputs(state: &State) -> Inputs {
    let generation = state.shown_run(LabId::Interventions).map(|run| run.job.generation);
    let place = (std::ptr::from_ref(results(state)) as usize, generation);
    Inputs {
        of_plane: (place, view(state).model.clone(), view(state).oracle),
        of_curves: (curve(state).map(|c| c.key.method.clone()), marker(state), scale(state)),
    }
}

/// Derives the curves, the plane and its front again if their inputs or the results may have changed.
pub(crate) fn derive_figures(state: &mut State) {
    let inputs = inputs(state);
    let before = view_mut(state).derived_from.take().filter(|_| !state.view.has_news);
    if before.as_ref() != Some(&inputs) {
        view_mut(state).curves = curves_figure(state);
    }
    if before.is_none_or(|before| before.of_plane != inputs.of_plane) {
        let (pareto, front) = (pareto_figure(state), front(state));
        let view = view_mut(state);
        (view.pareto, view.front) = (pareto, front);
    }
    view_mut(state).derived_from = Some(inputs);
}

//! Figures of the interventions lab: curves against strength, and completeness against selectivity of all methods (`plane`).
//!
//! Both follow the paper (Canby et al.): reliability solid, completeness dashed, selectivity dotted, one colour per method.

mod behaviour;
mod distance;
mod lens;
mod map;
mod plane;
mod single;

pub use self::behaviour::behaviour;
pub use self::distance::distance;
pub use self::lens::lens;
pub use self::map::map;
pub use self::plane::{Rated, pareto};
use self::single::{base_lines, by_property, rivals};

use super::banded::{Banded, is_few};
use super::finding::{ProbeRole, ReliabilityFinding};
use super::key::{CurveKey, MethodKey};
use super::map::{Map, Score};
use super::method::Goal;
use super::oracle::OracleKind;
use super::paper::{Drawing, FIGURES};
use super::results::{Curve, Results};
use super::{find, looks};
use figure::layers::{Count, Datum, Intervals, Line, Rule, counted, grouped};
use figure::role::BLACK;
use figure::{Axis, Dash, Figure, Layer, Marker, Provenance, Role};
use lab::{EngineInfo, Origin, Tagged};
use model::source::in_print;

/// The scores; in print each has a panel.
const SCORES: [&str; 3] = ["completeness C", "selectivity S", "reliability R"];
/// Title of a method, or its identifier if the registry does not have it (as in a session from a newer program).
pub fn title(method: &str) -> String {
    find(method).map_or(method, |m| m.title).to_owned()
}

/// Hue and marker of a method, from the table next to the registry. Black means no method.
pub fn look(method: &str) -> Role {
    let i = looks::number(method);
    Role::points(i + usize::from(i >= BLACK), looks::marker(method))
}

/// Look of completeness, selectivity and reliability (0, 1, 2) of a single method.
fn score_look(score: usize) -> Role {
    Role::points([0, 1, BLACK][score % 3], [Marker::Triangle, Marker::Square, Marker::Circle][score % 3])
}

/// Caption text for the panels of a figure of curves.
const PANELS: &str =
    "Completeness C (a), selectivity S (b) and their harmonic mean, reliability R (c), by strength of the edit";

/// A legend entry for the intervals: over examples, and over training runs if there are several.
fn covered(level: f64, trainings: usize) -> Intervals {
    match trainings {
        0 | 1 => Intervals::covering(level, "examples"),
        many => Intervals {
            narrow: "examples alone".into(),
            pair: "each of 2 training runs".into(),
            ..Intervals::covering(level, &format!("examples and {many} training runs"))
        },
    }
}

/// Completeness, selectivity and reliability against strength, for one model and oracle, and for methods that sweep the same
/// hyperparameter; other methods are dropped. `marker` draws a rule at a strength. `None` without points.
pub fn curves(
    results: &Results,
    engine: Option<&EngineInfo>,
    model: &str,
    methods: &[MethodKey],
    oracle: OracleKind,
    marker: Option<f64>,
) -> Option<Figure> {
    let all = methods.iter().filter_map(|m| results.curve(model, m, oracle));
    let mut drawn: Vec<&Curve> = all.filter(|c| !c.points.is_empty()).collect();
    let first = *drawn.first()?;
    drawn.retain(|c| c.parameter == first.parameter);
    let (symbol, label) = parameter(&first.parameter);
    let short = in_print(model);
    let mut layers = Vec::new();
    for curve in &drawn {
        let name = if drawn.len() > 1 { format!("{} ", curve.key.method.title()) } else { String::new() };
        let line = |quantity: &str, accent, dash, value: Quantity| {
            // Several methods have one colour each; for a single one, each score has a colour.
            let look = if drawn.len() > 1 { look(&curve.key.method.name) } else { score_look(accent) };
            let role = look.dash(dash).accent(accent);
            let points = curve.points.iter().map(|p| value(&p.value));
            Layer::Line(Line { label: format!("{name}{quantity}"), role, points: points.collect() })
        };
        let c: Quantity = |f| datum(f.value, f.completeness, f.n_c.into(), f.beside.replicates);
        let s: Quantity = |f| datum(f.value, f.selectivity, f.n_s.into(), f.beside.replicates);
        // R uses both samples, so its n combines the n of C and of S.
        let r: Quantity = |f| datum(f.value, f.reliability, (f.n_c, f.n_s).into(), f.beside.replicates);
        layers.push(line(SCORES[0], 0, Dash::Dashed, c));
        let several = curve.points.iter().map(|p| p.value.beside.selectivities.len()).max().unwrap_or(0);
        let of = if several > 1 { format!("{} (mean of {several})", SCORES[1]) } else { SCORES[1].into() };
        layers.push(line(&of, 1, Dash::Dotted, s));
        layers.push(line(SCORES[2], 2, Dash::Solid, r));
    }
    let mut provenance = provenance(results, engine, model, drawn.iter().flat_map(|c| &c.points));
    provenance.entries.insert(0, (String::new(), PANELS.into()));
    provenance.entries.extend(scale_of(results, model, &first.parameter));
    provenance.entries.extend(written_out(drawn.iter().map(|c| c.key.method.name.as_str())));
    if let [curve] = drawn[..] {
        layers.extend(by_property(curve));
        let ranges = rivals(results, curve);
        if let Some(Layer::Line(range)) = ranges.first() {
            let n = range.points.iter().map(|p| p.n.first).max().unwrap_or(0);
            let text = format!(
                "over probe settings that validate within one standard error of the best, with one training and {} test examples each; the line can lie outside it",
                grouped(n)
            );
            provenance.entries.push(("range".into(), text));
        }
        layers.extend(ranges);
    }
    if drawn.iter().any(|c| results.optimum(model, &c.key.method, oracle).is_some()) {
        provenance.entries.push((String::new(), ALL_EXAMPLES.into()));
    }
    say_missing(&mut provenance, results, (model, oracle), drawn.iter().map(|c| &c.key.method));
    layers.extend(base_lines(&drawn));
    let trainings = drawn.iter().flat_map(|c| &c.points).map(|p| p.value.beside.replicates).max().unwrap_or(0);
    layers.extend(first.points[0].level.map(|level| Layer::Intervals(covered(level, trainings))));
    if let Some(at) = marker {
        layers.push(Layer::Rule(Rule::upright(at, format!("{symbol} = {}", written(at)))));
    }
    // Marks a method whose S and R the answer does not rely on, as other views do.
    let mark = |c: &&Curve| if results.no_optimum(model, &c.key.method, oracle).is_some() { "!" } else { "" };
    let mut names: Vec<String> = drawn.iter().map(|c| format!("{}{}", c.key.method.title(), mark(c))).collect();
    let last = names.pop().unwrap_or_default();
    let names = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
    let ids: Vec<String> = drawn.iter().map(|c| c.key.method.file_name()).collect();
    let figure = Figure {
        name: format!("reliability-{short}-{}-{oracle}", ids.join("-")),
        title: format!("{names} on {short}, {}, {}", layer(results, model, first.points[0].value.layer), judge(oracle)),
        x: axis(&first.key.method.name, label),
        y: Axis::linear("completeness, selectivity, reliability").from_to(0.0, 1.0).in_panels(&SCORES),
        layers,
        provenance,
    };
    Some(worded(figure, drawn.iter().map(|c| c.key.method.name.as_str())))
}

/// One of the paper's figures, with those of its methods that the run has; `None` if the run has none of them.
pub(crate) fn drawing(
    results: &Results,
    engine: Option<&EngineInfo>,
    model: &str,
    of: &Drawing,
    marker: Option<f64>,
) -> Option<Figure> {
    let methods: Vec<MethodKey> = of.methods.iter().map(|m| MethodKey::named(m)).collect();
    let figure = curves(results, engine, model, &methods, of.oracle, marker)?;
    let title = format!("{} (as {} of Canby et al. 2024)", figure.title, of.name.replace("figure-", "Figure "));
    Some(Figure { name: format!("{}-{}", of.name, in_print(model)), title, ..figure })
}

/// Every figure with data: curves of each model, method and oracle, the paper's figures, and the plane of each model and oracle.
pub fn all(results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
    let each = results.curves.iter().map(|c| &c.key);
    let alone = |k: &CurveKey| curves(results, engine, &k.model, std::slice::from_ref(&k.method), k.oracle, None);
    let active = each.clone().filter(|k| !is_idle(results, &k.model, &k.method));
    let mut out: Vec<Figure> = active.filter_map(alone).collect();
    let mut planes: Vec<(&str, OracleKind)> = each.map(|k| (k.model.as_str(), k.oracle)).collect();
    planes.sort_unstable();
    planes.dedup();
    for (model, oracle) in &planes {
        let there = |m: &&&str| results.curve(model, &MethodKey::named(m), *oracle).is_some();
        let several = |f: &&Drawing| f.oracle == *oracle && f.methods.iter().filter(there).count() > 1;
        out.extend(FIGURES.iter().filter(several).filter_map(|f| drawing(results, engine, model, f, None)));
    }
    let mut measured: Vec<(&str, MethodKey)> = Vec::new();
    for d in &results.distances {
        let key = (d.model.as_str(), d.value.method_key());
        if !measured.contains(&key) && !is_idle(results, key.0, &key.1) {
            measured.push(key);
        }
    }
    out.extend(measured.iter().filter_map(|(model, method)| distance(results, engine, model, method)));
    let mut asked: Vec<(&str, MethodKey)> = Vec::new();
    for b in &results.behaviour {
        let key = (b.model.as_str(), b.value.method_key());
        if !asked.contains(&key) && !is_idle(results, key.0, &key.1) {
            asked.push(key);
        }
    }
    out.extend(asked.iter().filter_map(|(model, method)| behaviour(results, engine, model, method, None)));
    out.extend(planes.into_iter().filter_map(|(model, oracle)| pareto(results, engine, model, oracle)));
    out.extend(results.data.iter().filter_map(|d| lens(results, engine, &d.model)));
    for (model, method, oracle) in Map::keys(results) {
        let one = |score: &Score| map(results, engine, (&model, &method, oracle), *score);
        out.extend(Score::ALL.iter().filter_map(one));
    }
    out
}

/// True for a control with the same scores at all strengths, such as the identity.
fn is_idle(results: &Results, model: &str, method: &MethodKey) -> bool {
    let is_control = find(&method.name).is_some_and(|m| m.is_control);
    let mine = || results.curves.iter().filter(|c| c.key.model == model && c.key.method == *method);
    let scores = |p: &Tagged<ReliabilityFinding>| (p.value.completeness.mean, p.value.selectivity.mean);
    is_control && mine().all(|c| c.points.windows(2).all(|pair| scores(&pair[0]) == scores(&pair[1])))
}

/// A quantity of a finding as a point over its strength.
type Quantity = fn(&ReliabilityFinding) -> Datum;

fn datum(x: f64, b: Banded, n: Count, trainings: usize) -> Datum {
    // With one replicate both bands are the same.
    let inner = b.form.and(b.sampling).map(|[lo, hi]| (lo, hi));
    Datum {
        x,
        y: b.mean,
        band: Some((b.lo, b.hi)),
        inner,
        n,
        pair: b.values(trainings).map(Into::into),
        ..Datum::default()
    }
}

fn judge(oracle: OracleKind) -> &'static str {
    match oracle {
        OracleKind::Mlp => "MLP oracle",
        OracleKind::Linear => "linear oracle",
    }
}

/// Example: `layer 3 of 4`.
fn layer(results: &Results, model: &str, layer: usize) -> String {
    let data = results.data.iter().find(|d| d.model == model);
    data.map_or(format!("layer {layer}"), |d| format!("layer {layer} of {}", d.value.layers))
}

/// The edited property and those to keep, from the probes.
fn properties(results: &Results, model: &str) -> Vec<(String, String)> {
    let mine = || results.probes.iter().filter(|p| p.model == model).map(|p| &p.value);
    let words = |property: &str| property.replace('_', " ");
    let Some(target) = mine().find(|p| p.role == ProbeRole::Interventional) else { return Vec::new() };
    let mut kept: Vec<String> = Vec::new();
    for probe in mine().filter(|p| p.property != target.property) {
        let name = words(&probe.property);
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    let mut found = vec![("edited property".to_owned(), words(&target.property))];
    found.extend((!kept.is_empty()).then(|| ("property to keep".to_owned(), kept.join(", "))));
    found
}

fn parameter(name: &str) -> (String, String) {
    match name {
        "epsilon" => ("ε".into(), "ε (largest change of a feature)".into()),
        "alpha" => ("α".into(), "α (counterfactual step; 0: projection alone)".into()),
        "rank" => ("rank".into(), "rank (directions removed)".into()),
        other => (other.into(), other.into()),
    }
}

/// Median standard deviation of a model's features, for judging absolute strengths.
pub fn deviation(results: &Results, model: &str) -> Option<f64> {
    let data = results.data.iter().find(|d| d.model == model)?;
    Some(data.value.scale.1).filter(|sd| sd.is_finite() && *sd > 0.0)
}

/// Describes the size of a model's features in captions, for comparison with ε.
fn scale_of(results: &Results, model: &str, parameter: &str) -> Option<(String, String)> {
    let sd = deviation(results, model).filter(|_| parameter == "epsilon")?;
    Some(("a feature's standard deviation".into(), format!("{sd:.3} (median)")))
}

/// Formats a strength with three significant digits, as on an axis: `0.259`.
fn written(strength: f64) -> String {
    format!("{strength:.2e}").parse().unwrap_or(strength).to_string()
}

/// The axis scale on which the method's strength is swept.
fn axis(method: &str, label: String) -> Axis {
    match find(method).map(|m| m.parameter.scale) {
        Some(super::Scale::Log) => Axis::log(label),
        Some(super::Scale::Integer) => Axis::linear(label).in_whole_numbers(),
        Some(super::Scale::Linear) | None => Axis::linear(label),
    }
    .of_settings()
}

fn provenance<'a>(
    results: &Results,
    engine: Option<&EngineInfo>,
    model: &str,
    points: impl Iterator<Item = &'a Tagged<ReliabilityFinding>> + Clone,
) -> Provenance {
    provenance_of(results, engine, model, points.map(|p| (p, &p.value)))
}

/// Provenance for points that are parts of other findings.
fn provenance_of<'a, T: 'a>(
    results: &Results,
    engine: Option<&EngineInfo>,
    model: &str,
    points: impl Iterator<Item = (&'a Tagged<T>, &'a ReliabilityFinding)> + Clone,
) -> Provenance {
    let mut origin = Origin::default();
    properties(results, model).into_iter().for_each(|(key, value)| origin.add(&key, value));
    let n_c = counted(points.clone().map(|(_, p)| p.n_c), "test examples (C)");
    let n_s = counted(points.clone().map(|(_, p)| p.n_s), "with the property to keep (S)");
    origin.add("n", [n_c, n_s].into_iter().flatten().collect::<Vec<_>>().join(", "));
    if let Some((first, _)) = points.clone().next() {
        let all_final = points.clone().all(|(p, _)| p.is_final);
        origin.results(first, all_final, &format!(", {}", rests_on(points.clone().map(|(_, p)| p))));
        let is_cut = |b: Banded| b.lo < b.hi && (b.lo == 0.0 || b.hi == 1.0);
        if points.clone().any(|(_, p)| [p.completeness, p.selectivity, p.reliability].into_iter().any(is_cut)) {
            origin.add("intervals", "clipped to 0 and 1");
        }
    }
    match results.data.iter().find(|d| d.model == model) {
        Some(d) => {
            origin.add("model", format!("{model} {}", d.value.model_hash));
            origin.add("data", format!("{} {}", d.value.task, d.value.data_hash));
            if let Some(tokens) = &d.value.tokens {
                let [.., test] = tokens.texts;
                origin.add(
                    "examples",
                    format!(
                        "tokens of {test} test texts, at most {} per text; intervals are over texts",
                        tokens.per_text
                    ),
                );
            }
            if let Some(source) = &d.value.source {
                origin.add("data file", source.summary());
            }
        }
        None => origin.add("model", model),
    }
    origin.computed_by(engine)
}

/// Reason why a point may differ from the same strength in a table.
const ALL_EXAMPLES: &str = "In tables, best strengths are scored on half of these examples";

/// Terms that are explained in figures that use them.
const WORDS: [(&str, &str); 7] = [
    ("selectivity", "1 minus the normalised change of the oracle's output for the property to keep"),
    ("oracle", "a probe that is trained on separate data and judges the edit"),
    ("MLP", "multilayer perceptron"),
    ("C before", "completeness of unedited states"),
    ("S of a constant answer", "selectivity of an oracle with a single answer"),
    ("front", "settings that no other dominates"),
    ("knee", "the front's setting farthest from the line between its ends"),
];

/// Completeness of counterfactual and of nullifying methods.
const TOWARD_ANOTHER: &str = "the oracle's probability of the other value of the edited property";
const TOWARD_NONE: &str = "closeness of the oracle's output to uniform (1: uniform)";

/// Explains the terms that a figure of these methods names. Completeness depends on the goal of the methods.
fn worded<'a>(mut figure: Figure, methods: impl Iterator<Item = &'a str>) -> Figure {
    let mut goals: Vec<Goal> = methods.filter_map(find).map(|m| m.goal).collect();
    goals.dedup();
    let completeness = match goals[..] {
        [Goal::Counterfactual] => TOWARD_ANOTHER.to_owned(),
        [Goal::Nullifying] => TOWARD_NONE.to_owned(),
        _ => {
            format!("for counterfactual methods, {TOWARD_ANOTHER}; for nullifying ones, {TOWARD_NONE}")
        }
    };
    figure.provenance.entries.push(("completeness".into(), completeness));
    figure.with_terms(&WORDS)
}

/// Descriptions of these methods for a caption: `FGSM, fast gradient sign method`.
fn written_out<'a>(methods: impl Iterator<Item = &'a str>) -> Option<(String, String)> {
    let mut names: Vec<String> = Vec::new();
    for method in methods {
        let name = looks::written_out(method).map(|long| format!("{}, {long}", title(method)));
        names.extend(name.filter(|name| !names.contains(name)));
    }
    (!names.is_empty()).then(|| ("methods".to_owned(), names.join("; ")))
}

/// Adds to a caption which of these methods have no best strength, and why.
fn say_missing<'a>(
    provenance: &mut Provenance,
    results: &Results,
    (model, oracle): (&str, OracleKind),
    methods: impl Iterator<Item = &'a MethodKey>,
) {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for method in methods.filter(|m| results.optimum(model, m, oracle).is_none()) {
        let Some(none) = results.no_optimum(model, method, oracle) else { continue };
        match reasons.iter_mut().find(|(reason, _)| *reason == none.value.reason) {
            Some((_, names)) => names.push(method.title()),
            None => reasons.push((&none.value.reason, vec![method.title()])),
        }
    }
    let said = |(reason, names): (&str, Vec<String>)| {
        ("no best strength (!)".to_owned(), format!("{}, {reason}", names.join(", ")))
    };
    provenance.entries.extend(reasons.into_iter().map(said));
}

/// Sources of uncertainty that the intervals of these points cover.
fn rests_on<'a>(points: impl Iterator<Item = &'a ReliabilityFinding> + Clone) -> String {
    let count = |p: &ReliabilityFinding| p.beside.replicates;
    covers(points.clone().map(count).min().unwrap_or(0), points.map(count).max().unwrap_or(0))
}

/// Sources of uncertainty, given the smallest and the largest number of training runs behind the points.
fn covers(least: usize, most: usize) -> String {
    let trainings = if least == most { most.to_string() } else { format!("{least} to {most}") };
    match most {
        0 | 1 => "paired bootstrap over examples, one training run".into(),
        few if is_few(few) => {
            "values of the 2 training runs; the CSV file also has their Student's t interval and the interval over examples".into()
        }
        _ => format!("wide: over examples and {trainings} training runs, narrow: over examples alone (paired bootstrap)"),
    }
}

#[cfg(test)]
mod tests;

//! Figures of the interventions lab: curves against strength, and completeness against selectivity of all methods.
//!
//! Both follow the paper (Canby et al.): reliability solid, completeness dashed, selectivity dotted, one colour a method.

use super::find;
use super::finding::ReliabilityFinding;
use super::key::{CurveKey, MethodKey};
use super::oracle::OracleKind;
use super::results::{Curve, Results};
use crate::figure::{Axis, Dash, Datum, Figure, Layer, Marker, Provenance, Scale, Series};
use crate::lab::{EngineInfo, Tagged};
use crate::stats::estimate::Estimate;

/// Methods in the order that gives colours and markers: a method looks the same in every figure, whichever others are
/// drawn with it and wherever the registry lists it. New ones are added at the end.
const LOOKS: [&str; 10] = [
    "alterrep",
    "fgsm",
    "pgd",
    "inlp",
    "rlace",
    "autoattack",
    "leace",
    "mean_difference",
    "identity",
    "random_subspace",
];
const MARKERS: [Marker; 5] = [Marker::Circle, Marker::Triangle, Marker::Square, Marker::Cross, Marker::Plus];
/// The palette's black, for what belongs to no method.
const BLACK: usize = 6;
/// Reliabilities whose lines of equal value are drawn into the plane.
const LEVELS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];

/// Name of a method in print; its identifier where the registry does not have it (a newer program's session).
pub fn title(method: &str) -> String {
    find(method).map_or(method, |m| m.title()).to_owned()
}

/// A model's name in print: of a folder, its last part.
pub fn model_title(model: &str) -> &str {
    let is_path = model.starts_with(['/', '.', '~']) || model.starts_with("dir:") || model.contains('\\');
    let last = model.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next();
    last.filter(|name| is_path && !name.is_empty()).unwrap_or(model)
}

/// Number of the method's colour, and its marker.
pub fn look(method: &str) -> (usize, Marker) {
    // Unknown methods get a look by name, so that it is at least the same everywhere.
    let hash = || LOOKS.len() + method.bytes().fold(0usize, |h, b| (h * 31 + usize::from(b)) % 997);
    let i = LOOKS.iter().position(|id| *id == method).unwrap_or_else(hash);
    (i, MARKERS[i % MARKERS.len()])
}

/// Completeness, selectivity and reliability against strength, for one model and oracle and one or several methods that
/// sweep the same hyperparameter; others are left out. `marker` is a rule at that strength. None where there is no point.
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
    let short = model_title(model);
    let mut layers = Vec::new();
    for curve in &drawn {
        let name = if drawn.len() > 1 { format!("{} ", curve.key.method.title()) } else { String::new() };
        let line = |quantity: &str,
                    dash,
                    n: fn(&ReliabilityFinding) -> usize,
                    of: fn(&ReliabilityFinding) -> Estimate| {
            let (colour, look) = look(&curve.key.method.name);
            let marker = (dash == Dash::Solid).then_some(look);
            let points =
                curve.points.iter().map(|p| datum(p.value.value, of(&p.value), n(&p.value))).collect();
            Layer::Series(Series {
                label: format!("{name}{quantity}"),
                colour,
                dash: Some(dash),
                marker,
                points,
            })
        };
        layers.push(line("completeness C", Dash::Dashed, |f| f.n_c, |f| f.completeness));
        layers.push(line("selectivity S", Dash::Dotted, |f| f.n_s, |f| f.selectivity));
        layers.push(line("reliability R", Dash::Solid, |f| f.n_c, |f| f.reliability));
    }
    if let Some(x) = marker {
        layers.push(Layer::VRule { x, label: format!("{symbol} = {x}") });
    }
    let names: Vec<String> = drawn.iter().map(|c| c.key.method.title()).collect();
    let ids: Vec<String> = drawn.iter().map(|c| c.key.method.file_name()).collect();
    let points = drawn.iter().flat_map(|c| &c.points);
    Some(Figure {
        name: format!("reliability-{short}-{}-{oracle}", ids.join("-")),
        title: format!(
            "{} on {short}, layer {}, {}",
            names.join(" and "),
            first.points[0].value.layer,
            judge(oracle)
        ),
        x: Axis { label, scale: scale(&first.key.method.name), range: None },
        y: Axis {
            label: "completeness, selectivity, reliability".into(),
            scale: Scale::Linear,
            range: Some((0.0, 1.0)),
        },
        layers,
        provenance: provenance(results, engine, model, points),
    })
}

/// Completeness against selectivity of all methods of one model and oracle, the strength of the highest reliability starred,
/// with lines of equal reliability. None where there is no point.
pub fn pareto(
    results: &Results,
    engine: Option<&EngineInfo>,
    model: &str,
    oracle: OracleKind,
) -> Option<Figure> {
    let mine = |c: &&Curve| c.key.model == model && c.key.oracle == oracle && !c.points.is_empty();
    let drawn: Vec<&Curve> = results.curves.iter().filter(mine).collect();
    let first = *drawn.first()?;
    let mut layers: Vec<Layer> = LEVELS.iter().map(|&r| equal_reliability(r)).collect();
    for curve in &drawn {
        let (colour, marker) = look(&curve.key.method.name);
        let point = |p: &Tagged<ReliabilityFinding>| {
            datum(p.value.completeness.mean, p.value.selectivity, p.value.n_s)
        };
        layers.push(Layer::Series(Series {
            label: curve.key.method.title(),
            colour,
            dash: Some(Dash::Solid),
            marker: Some(marker),
            points: curve.points.iter().map(point).collect(),
        }));
    }
    let optima = results.optima.iter().filter(|o| o.model == model && o.value.oracle == oracle);
    let mut best: Vec<Datum> =
        optima.map(|o| datum(o.value.completeness.mean, o.value.selectivity, o.n)).collect();
    best.sort_by(|a, b| a.x.total_cmp(&b.x));
    if !best.is_empty() {
        layers.push(Layer::Series(Series {
            label: "highest reliability".into(),
            colour: BLACK,
            dash: None,
            marker: Some(Marker::Star),
            points: best,
        }));
    }
    let short = model_title(model);
    let axis = |label: &str| Axis { label: label.into(), scale: Scale::Linear, range: Some((0.0, 1.0)) };
    Some(Figure {
        name: format!("pareto-{short}-{oracle}"),
        title: format!(
            "Completeness against selectivity: {short}, layer {}, {}",
            first.points[0].value.layer,
            judge(oracle)
        ),
        x: axis("completeness C"),
        y: axis("selectivity S"),
        layers,
        provenance: provenance(results, engine, model, drawn.iter().flat_map(|c| &c.points)),
    })
}

/// Every figure that a board has data for: curves of each model, method and oracle, and the plane of each model and oracle.
pub fn all(results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
    let each = results.curves.iter().map(|c| &c.key);
    let alone =
        |k: &CurveKey| curves(results, engine, &k.model, std::slice::from_ref(&k.method), k.oracle, None);
    let mut out: Vec<Figure> = each.clone().filter_map(alone).collect();
    let mut planes: Vec<(&str, OracleKind)> = each.map(|k| (k.model.as_str(), k.oracle)).collect();
    planes.sort_unstable();
    planes.dedup();
    out.extend(planes.into_iter().filter_map(|(model, oracle)| pareto(results, engine, model, oracle)));
    out
}

fn datum(x: f64, estimate: Estimate, n: usize) -> Datum {
    Datum { x, y: estimate.mean, band: Some((estimate.lo, estimate.hi)), n }
}

fn judge(oracle: OracleKind) -> &'static str {
    match oracle {
        OracleKind::Mlp => "MLP oracle",
        OracleKind::Linear => "linear oracle",
    }
}

/// Symbol and axis label of a swept hyperparameter.
fn parameter(name: &str) -> (String, String) {
    match name {
        "epsilon" => ("ε".into(), "ε (radius of the L∞ ball, absolute)".into()),
        "alpha" => ("α".into(), "α (size of the counterfactual step)".into()),
        "rank" => ("rank".into(), "rank (directions removed)".into()),
        other => (other.into(), other.into()),
    }
}

/// The axis on which the method's registry entry sweeps its strength.
fn scale(method: &str) -> Scale {
    match find(method).map(|m| m.parameter().scale) {
        Some(super::Scale::Log) => Scale::Log,
        Some(super::Scale::Linear | super::Scale::Integer) | None => Scale::Linear,
    }
}

/// The line on which the harmonic mean of C and S is `r`: 1/C + 1/S = 2/r.
fn equal_reliability(r: f64) -> Layer {
    const STEPS: u32 = 80;
    let largest = 2.0 / r - 1.0;
    let points = (0..=STEPS).map(|k| {
        // From C small, S = 1 to C = 1, S small; equal steps of 1/C look the same from both axes.
        let inverse = largest + (1.0 - largest) * f64::from(k) / f64::from(STEPS);
        (1.0 / inverse, 1.0 / (2.0 / r - inverse))
    });
    Layer::Guide { points: points.collect(), label: format!("R = {r}") }
}

fn provenance<'a>(
    results: &Results,
    engine: Option<&EngineInfo>,
    model: &str,
    points: impl Iterator<Item = &'a Tagged<ReliabilityFinding>> + Clone,
) -> Provenance {
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut add = |key: &str, value: String| entries.push((key.to_owned(), value));
    let span = |pick: fn(&ReliabilityFinding) -> usize| {
        let n = || points.clone().map(|p| pick(&p.value));
        let (lo, hi) = (n().min().unwrap_or(0), n().max().unwrap_or(0));
        if lo == hi { lo.to_string() } else { format!("{lo}-{hi}") }
    };
    add("n", format!("{} (C), {} (S)", span(|f| f.n_c), span(|f| f.n_s)));
    let first = points.clone().next();
    if let Some(level) = first.and_then(|p| p.level) {
        add("intervals", format!("{} %, bootstrap paired over examples", (level * 1e6).round() / 1e4));
    }
    if points.clone().any(|p| !p.is_final) {
        add("state", "still being refined".into());
    }
    if let Some(p) = first {
        add("seed", p.seed.to_string());
        add("spec", p.spec.clone());
    }
    match results.data.iter().find(|d| d.model == model) {
        Some(d) => {
            add("model", format!("{model} {}", d.value.model_hash));
            add("data", format!("{} {}", d.value.task, d.value.data_hash));
            if let Some(source) = &d.value.source {
                add("data file", source.summary());
            }
        }
        None => add("model", model.to_owned()),
    }
    if let Some(engine) = engine {
        add("device", engine.device.clone());
        add("probity", engine.version.clone());
    }
    Provenance { entries }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{render, samples};

    #[test]
    fn curves_follow_the_paper() {
        let board = samples::board();
        let figure = curves(&board, "bert-mini", &["pgd"], OracleKind::Mlp, Some(0.112)).unwrap();
        let dashes: Vec<_> = figure
            .layers
            .iter()
            .filter_map(|l| match l {
                Layer::Series(s) => Some((s.label.clone(), s.dash.unwrap(), s.colour, s.points.len())),
                _ => None,
            })
            .collect();
        let of = |label: &str, dash| (label.to_owned(), dash, 2, 29);
        assert_eq!(
            dashes,
            [
                of("completeness C", Dash::Dashed),
                of("selectivity S", Dash::Dotted),
                of("reliability R", Dash::Solid)
            ]
        );
        assert_eq!(figure.x.scale, Scale::Log);
        assert_eq!(figure.layers[3], Layer::VRule { x: 0.112, label: "ε = 0.112".into() });
        assert!(figure.provenance.entries.contains(&("n".into(), "2400 (C), 410 (S)".into())));
        let both = curves(&board, "bert-mini", &["fgsm", "pgd", "inlp"], OracleKind::Mlp, None).unwrap();
        assert_eq!(both.layers.len(), 6, "INLP sweeps another hyperparameter");
        assert_eq!(
            curves(&board, "bert-mini", &["inlp"], OracleKind::Mlp, None).unwrap().x.scale,
            Scale::Linear
        );
        assert_eq!(curves(&board, "gpt2-mini", &["pgd"], OracleKind::Mlp, None), None);
    }

    #[test]
    fn the_plane_has_every_method_its_optima_and_equal_reliability() {
        let figure = pareto(&samples::board(), "bert-mini", OracleKind::Mlp).unwrap();
        let guides = figure.layers.iter().filter(|l| matches!(l, Layer::Guide { .. })).count();
        assert_eq!((guides, figure.layers.len()), (4, 4 + 4 + 1));
        let Layer::Guide { points, .. } = equal_reliability(0.4) else { unreachable!() };
        assert!(points.iter().all(|(c, s)| (2.0 * c * s / (c + s) - 0.4).abs() < 1e-12));
        assert!(
            points.iter().all(|(c, s)| (0.0..=1.0 + 1e-12).contains(c) && (0.0..=1.0 + 1e-12).contains(s))
        );
    }

    #[test]
    fn folders_have_short_names_in_print() {
        for (model, short) in [
            ("bert-mini", "bert-mini"),
            ("/home/x/my-bert/", "my-bert"),
            ("./a/b", "b"),
            ("org/name", "org/name"),
            ("/", "/"),
            ("C:\\models\\bert", "bert"),
        ] {
            assert_eq!(model_title(model), short);
        }
    }

    #[test]
    fn an_empty_board_has_no_figures_and_a_full_one_all() {
        assert!(all(&Board::default()).is_empty());
        let figures = all(&samples::board());
        assert_eq!(figures.len(), 5);
        for figure in &figures {
            assert!(render(figure, "svg").unwrap().is_some(), "{}", figure.name);
        }
    }
}

//! Further parts of a single curve's figure: selectivity by property, baselines, ranges over other probe settings.

use super::{datum, score_look};
use crate::finding::{Beside, ReliabilityFinding};
use crate::results::{Curve, Results};
use crate::verdict::RivalFinding;
use figure::layers::{Datum, Line, Rule};
use figure::role::MARKERS;
use figure::{Dash, Layer, Role};
use lab::Tagged;

/// Selectivity on each property, if there are several to keep.
pub(super) fn by_property(curve: &Curve) -> Vec<Layer> {
    let on = |p: &Tagged<ReliabilityFinding>| p.value.beside.selectivities.clone();
    let Some(names) = curve.points.iter().map(on).find(|list| !list.is_empty()) else { return Vec::new() };
    let each = names.iter().enumerate().map(|(j, name)| {
        let at = |p: &Tagged<ReliabilityFinding>| {
            let on = p.value.beside.selectivities.iter().find(|on| on.property == name.property)?;
            Some(datum(p.value.value, on.selectivity, on.n.into(), p.value.beside.replicates))
        };
        let label = format!("S on {}", name.property.replace('_', " "));
        let marker = MARKERS[(j + 1) % MARKERS.len()];
        let role = score_look(1).dash(Dash::Dotted).accent(1).marker(marker).faint();
        Layer::Line(Line { label, role, points: curve.points.iter().filter_map(at).collect() })
    });
    each.collect()
}

/// A baseline of a point.
type Baseline = fn(&Beside) -> Option<f64>;

/// Baselines that all curves share: completeness before any intervention, and the selectivity of an oracle that always
/// gives the same answer.
pub(super) fn base_lines(drawn: &[&Curve]) -> Vec<Layer> {
    let shared = |of: Baseline| {
        let mut each = drawn.iter().map(|curve| of(&curve.points.last()?.value.beside));
        let first = each.next()??;
        each.all(|other| other == Some(first)).then_some(first)
    };
    let all: [(usize, Baseline, &str); 2] =
        [(0, |b| b.c_before, "C before"), (1, |b| b.s_floor, "S of a constant answer")];
    let rule = |(panel, of, label)| Some(Layer::Rule(Rule { panel: Some(panel), ..Rule::level(shared(of)?, label) }));
    all.into_iter().filter_map(rule).collect()
}

/// A score of a point under other probe settings.
type RivalScore = fn(&RivalFinding) -> Option<f64>;

/// The ranges of C, S and R over other probe settings that validate equally well, each in the look of its score.
pub(super) fn rivals(results: &Results, curve: &Curve) -> Vec<Layer> {
    let key = &curve.key;
    let mine = || {
        let of_curve = |r: &&Tagged<RivalFinding>| {
            r.model == key.model && r.value.method_key() == key.method && r.value.oracle == key.oracle
        };
        results.rivals.iter().filter(of_curve)
    };
    let scores: [(&str, RivalScore); 3] =
        [("C", |v| Some(v.completeness)), ("S", |v| v.selectivity), ("R", |v| v.reliability)];
    let range = |(accent, (name, score)): (usize, (&str, RivalScore))| {
        let mut points: Vec<Datum> = Vec::new();
        for (r, y) in mine().filter_map(|r| Some((r, score(&r.value)?))) {
            match points.iter_mut().find(|p| p.x == r.value.value) {
                Some(p) => p.band = p.band.map(|(lo, hi)| (lo.min(y), hi.max(y))),
                None => {
                    points.push(Datum { x: r.value.value, y, band: Some((y, y)), n: r.n.into(), ..Datum::default() })
                }
            }
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points.iter_mut().for_each(|p| p.y = p.band.map_or(p.y, |(lo, hi)| f64::midpoint(lo, hi)));
        let role = Role { dash: None, marker: None, ..score_look(accent).accent(accent).faint() };
        let label = format!("{name}: range over equally good probes");
        (!points.is_empty()).then_some(Layer::Line(Line { label, role, points }))
    };
    scores.into_iter().enumerate().filter_map(range).collect()
}

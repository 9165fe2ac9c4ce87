//! Accuracy lost by the probes through optimisation and lack of data (Zhu et al. 2022, Figure 12).

use super::{covering, finished, provenance};
use crate::finding::ShortfallFinding;
use crate::results::Results;
use crate::spec::in_words;
use base::text::printable_label;
use figure::layers::{Datum, Line, Rule};
use figure::{Axis, Dash, Figure, Layer, Role};
use lab::interval::is_few;
use lab::{EngineInfo, Tagged};
use stats::estimate::Estimate;

type Part = fn(&ShortfallFinding) -> Option<Estimate>;

/// Both losses for both sides, against training examples.
pub(super) fn shortfall(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let all = &results.shortfalls;
    let first = all.first()?;
    let mut layers = Vec::new();
    for (k, side) in ["a", "b"].into_iter().enumerate() {
        let mine: Vec<_> = all.iter().filter(|t| t.value.side == side).collect();
        let parts: [(&str, Dash, Part); 2] =
            [("optimisation", Dash::Solid, |v| Some(v.optimisation)), ("data", Dash::Dashed, |v| v.data)];
        for (what, dash, part) in parts {
            let point = |t: &&Tagged<ShortfallFinding>| {
                let e = part(&t.value)?;
                let (x, n) = (t.value.at_n as f64, t.n.into());
                let pair = t.value.values().filter(|_| what == "optimisation").map(Into::into);
                Some(Datum { x, y: e.mean, band: Some((e.lo, e.hi)), n, pair, ..Datum::default() })
            };
            let points: Vec<Datum> = mine.iter().filter_map(point).collect();
            let Some(side) = mine.first().filter(|_| !points.is_empty()) else { continue };
            let label = printable_label(&format!("{}, by {what}", in_words(&side.value.name)));
            let role = Role::nth(layers.len()).accent(k).dash(dash);
            layers.push(Layer::Line(Line { label, role, points }));
        }
    }
    layers.push(Layer::Rule(Rule::level(0.0, "no loss")));
    let seeds = match first.value.seeds {
        0 | 1 => "test items",
        few if is_few(few) => "test items; for losses due to optimisation, both training runs are shown",
        _ => "test items and training runs; for losses due to data, test items only",
    };
    layers.extend(covering(first, seeds));
    let mut figure = finished(Figure {
        name: "shortfall".into(),
        title: "Accuracy shortfall of the probes, due to optimisation and to data".into(),
        x: Axis::doubling("training examples").of_settings(),
        y: Axis::linear("accuracy shortfall"),
        layers,
        provenance: provenance(first, engine, &format!("over {seeds}; the training examples are fixed")),
    });
    let solved = all.iter().all(|t| t.value.optimum == "solved");
    let best =
        if solved { "lowest cross entropy, solved for" } else { "lowest cross entropy of all seeds: a lower bound" };
    figure.provenance.terms.extend([
        (
            "by optimisation".to_owned(),
            format!("best probe on the same training examples ({best}) minus the trained probes"),
        ),
        ("by data".to_owned(), "best probe on the largest training set minus the best probe on this one".to_owned()),
    ]);
    Some(figure)
}

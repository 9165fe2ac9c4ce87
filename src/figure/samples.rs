//! Figures for tests.

use super::*;
use crate::engine::board::Board;
use crate::engine::finding::{Body, Finding, OptimumFinding, ReliabilityFinding};
use crate::engine::message::{Command, Event};
use crate::engine::spec::{LabId, OracleKind, Spec};
use crate::stats::estimate::Estimate;

/// Three curves with bands and a marker.
pub fn curves() -> Figure {
    let curve = |label: &str, dash, marker, f: &dyn Fn(f64) -> f64| {
        let points = (0..29).map(|k| {
            let x = 0.005 * 1000f64.powf(f64::from(k) / 28.0);
            let y = f(x);
            Datum { x, y, band: Some(((y - 0.02).max(0.0), (y + 0.03).min(1.0))), n: 2400 }
        });
        Layer::Series(Series {
            label: label.into(),
            colour: 1,
            dash: Some(dash),
            marker,
            points: points.collect(),
        })
    };
    let c = |x: f64| 1.0 / (1.0 + (0.1 / x).powi(2));
    let s = |x: f64| 1.0 / (1.0 + (x / 0.4).powf(1.5));
    Figure {
        name: "reliability".into(),
        title: "PGD on bert-mini, layer 4: completeness, selectivity, reliability".into(),
        x: Axis { label: "ε (L∞ radius)".into(), scale: Scale::Log, range: None },
        y: Axis {
            label: "completeness, selectivity, reliability".into(),
            scale: Scale::Linear,
            range: Some((0.0, 1.0)),
        },
        layers: vec![
            curve("completeness C", Dash::Dashed, None, &c),
            curve("selectivity S", Dash::Dotted, None, &s),
            curve("reliability R", Dash::Solid, Some(Marker::Circle), &|x| 2.0 * c(x) * s(x) / (c(x) + s(x))),
            Layer::VRule { x: 0.112, label: "ε = 0.112".into() },
        ],
        provenance: Provenance {
            entries: [
                ("n", "2400"),
                ("level", "95 %"),
                ("seed", "0"),
                ("spec", "0123456789ab"),
                ("model", "bert-mini"),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .to_vec(),
        },
    }
}

/// Names with escape codes and markup, values at the edge of floating point.
pub fn hostile() -> Figure {
    let bad = "\u{1b}[31m</text><script>alert(1)</script>\u{202e}".to_owned();
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, f64::MAX, f64::MIN_POSITIVE, 0.5];
    let points = values.iter().map(|&x| Datum { x, y: x, band: Some((x, -x)), n: 0 }).collect();
    Figure {
        name: bad.clone(),
        title: bad.repeat(40),
        x: Axis { label: bad.clone(), scale: Scale::Log, range: Some((f64::NAN, 1.0)) },
        y: Axis { label: bad.clone(), scale: Scale::Linear, range: None },
        layers: vec![
            Layer::Series(Series {
                label: bad.clone(),
                colour: usize::MAX,
                dash: Some(Dash::Dotted),
                marker: Some(Marker::Star),
                points,
            }),
            Layer::VRule { x: f64::NAN, label: bad.clone() },
            Layer::HRule { y: f64::INFINITY, label: bad.clone() },
            Layer::Guide { points: vec![], label: bad.clone() },
        ],
        provenance: Provenance {
            entries: vec![(bad.clone(), bad.repeat(100)), (String::new(), String::new())],
        },
    }
}

/// A finished experiment with four methods on one model.
pub fn board() -> Board {
    let mut board = Board::default();
    let spec = Box::new(Spec::agreement());
    let hash = spec.hash();
    board.on_command(&Command::Run { job: 1, generation: 1, spec });
    let mut take = |body: Body| {
        let finding = Finding {
            lab: LabId::Interventions,
            spec: hash.clone(),
            model: "bert-mini".into(),
            seed: 0,
            n: 2400,
            r#final: true,
            t: 1.0,
            level: Some(0.95),
            body,
        };
        board.on_event(&Event::Finding { generation: 1, finding: Box::new(finding) });
    };
    let epsilon = |k: u32| 0.005 * 1000f64.powf(f64::from(k) / 28.0);
    let alphas = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0];
    for (method, parameter, count, reach, harm) in [
        ("alterrep", "alpha", 9, 0.99, 0.15),
        ("fgsm", "epsilon", 29, 0.9, 0.75),
        ("pgd", "epsilon", 29, 1.0, 0.6),
        ("inlp", "rank", 41, 0.45, 0.5),
    ] {
        let mut best: Option<OptimumFinding> = None;
        for k in 0..count {
            let value = match parameter {
                "epsilon" => epsilon(k),
                "alpha" => alphas[k as usize],
                _ => f64::from(k),
            };
            let share = f64::from(k) / f64::from(count - 1);
            let c = reach / (1.0 + (-12.0 * (share - 0.45)).exp());
            let s = 1.0 - harm / (1.0 + (-12.0 * (share - 0.6)).exp());
            let around = |m: f64, w: f64| Estimate { mean: m, lo: (m - w).max(0.0), hi: (m + w).min(1.0) };
            let [completeness, selectivity, reliability] =
                [around(c, 0.012), around(s, 0.03), around(2.0 * c * s / (c + s), 0.02)];
            let (method, parameter) = (method.to_owned(), parameter.to_owned());
            if best.as_ref().is_none_or(|b| b.reliability.mean < reliability.mean) {
                let (method, parameter) = (method.clone(), parameter.clone());
                let oracle = OracleKind::Mlp;
                best = Some(OptimumFinding {
                    method,
                    layer: 4,
                    oracle,
                    parameter,
                    value,
                    completeness,
                    selectivity,
                    reliability,
                });
            }
            take(Body::Reliability(ReliabilityFinding {
                method,
                layer: 4,
                oracle: OracleKind::Mlp,
                oracle_layer: 4,
                parameter,
                value,
                completeness,
                selectivity,
                reliability,
                n_c: 2400,
                n_s: 410,
                mean_harmonic: reliability.mean,
                completeness_prior: None,
            }));
        }
        take(Body::Optimum(best.unwrap()));
    }
    board
}

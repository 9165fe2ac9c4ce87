//! Sample figures for tests: one for each kind of layer, and some with malformed content.

use super::layers::*;
use super::*;

fn provenance() -> Provenance {
    let entries = [
        ("n", "2,400 (C) / 408 (S)"),
        ("level", "95 %"),
        ("seed", "0"),
        ("spec", "0123456789ab"),
        ("model", "bert-mini"),
    ];
    Provenance { entries: entries.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec(), ..Provenance::default() }
}

fn figure(name: &str, title: &str, x: Axis, y: Axis, layers: Vec<Layer>) -> Figure {
    Figure { name: name.into(), title: title.into(), x, y, layers, provenance: provenance() }
}

fn names(each: &[&str]) -> Vec<String> {
    each.iter().map(|n| (*n).to_owned()).collect()
}

/// Deterministic, irregular-looking numbers from 0 to 1.
fn noise(k: usize) -> f64 {
    ((k * 7919 + 104_729) % 1000) as f64 / 1000.0
}

/// A figure for every kind of layer, as the labs draw them.
pub fn all() -> Vec<Figure> {
    vec![curves(), power(), scatter(), bars(), histogram(), ranges(), ranks(), cells(), tokens(), graph()]
}

/// Three curves with bands and a marker.
pub fn curves() -> Figure {
    let curve = |label: &str, role: Role, f: &dyn Fn(f64) -> f64| {
        let points = (0..29).map(|k| {
            let x = 0.005 * 1000f64.powf(f64::from(k) / 28.0);
            let y = f(x);
            let band = Some(((y - 0.02).max(0.0), (y + 0.03).min(1.0)));
            Datum { x, y, band, n: (2400, 408).into(), ..Datum::default() }
        });
        Layer::Line(Line { label: label.into(), role, points: points.collect() })
    };
    let c = |x: f64| 1.0 / (1.0 + (0.1 / x).powi(2));
    let s = |x: f64| 1.0 / (1.0 + (x / 0.4).powf(1.5));
    let role = Role::line(1);
    figure(
        "reliability",
        "PGD on bert-mini, layer 4: completeness, selectivity, reliability",
        Axis::log("ε (L∞ radius)"),
        Axis::linear("completeness, selectivity, reliability").from_to(0.0, 1.0),
        vec![
            curve("completeness C", role.dash(Dash::Dashed).accent(0), &c),
            curve("selectivity S", role.dash(Dash::Dotted).accent(1), &s),
            curve("reliability R", role.marker(Marker::Circle).accent(2), &|x| 2.0 * c(x) * s(x) / (c(x) + s(x))),
            Layer::Rule(Rule::upright(0.112, "ε = 0.112")),
        ],
    )
}

/// Power against n on a doubling axis, with nested bands, a guide and a tick at the required n.
pub fn power() -> Figure {
    let line = |k: usize, reach: f64| {
        let points = (0..9).map(|j| {
            let x = 100.0 * 2f64.powi(j);
            let y = 1.0 - (-x / reach).exp();
            let around = |w: f64| Some(((y - w * (1.0 - y)).max(0.0), (y + w * (1.0 - y)).min(1.0)));
            Datum { x, y, band: around(0.5), inner: around(0.2), n: 500.into(), ..Datum::default() }
        });
        let role = Role { marker: None, ..Role::nth(k) };
        Layer::Line(Line { label: format!("noise {k}"), role, points: points.collect() })
    };
    figure(
        "power",
        "Power of McNemar's test against the size of the test set",
        Axis::doubling("n of the test set"),
        Axis::linear("power").from_to(0.0, 1.0),
        vec![
            Layer::Guide(Guide {
                points: vec![(100.0, 0.3), (25_600.0, 0.95)],
                label: "textbook".into(),
                ticks: vec![(1600.0, 0.625, "required n".into())],
            }),
            line(0, 900.0),
            line(1, 2500.0),
            line(2, 8000.0),
            Layer::Rule(Rule::level(0.8, "target power .8")),
        ],
    )
}

/// Labelled points with intervals on both axes.
pub fn scatter() -> Figure {
    let spot = |k: usize| {
        let (x, y) = (noise(3 * k + 1), noise(5 * k));
        let around = |v: f64| Some(((v - 0.04).max(0.0), (v + 0.04).min(1.0)));
        Spot {
            x,
            y,
            x_band: around(x),
            y_band: around(y),
            label: format!("model {k}"),
            n: 320.into(),
            ..Spot::default()
        }
    };
    let points = |label: &str, role, from: usize| {
        Layer::Points(Points { label: label.into(), role, points: (from..from + 6).map(spot).collect() })
    };
    figure(
        "scatter",
        "Two measures of the same models",
        Axis::linear("MAP").from_to(0.0, 1.0),
        Axis::linear("token F1").from_to(0.0, 1.0),
        vec![points("original", Role::nth(0), 0), points("perturbed", Role::nth(1), 6)],
    )
}

/// Bars of two series with error bars over categories.
pub fn bars() -> Figure {
    let layer = |k: usize, label: &str| {
        let bar = |c: usize| {
            let y = 0.2 + 0.7 * noise(4 * c + k);
            Bar { band: Some((y - 0.06, y + 0.06)), n: 120.into(), ..Bar::of(c, y) }
        };
        Layer::Bars(Bars { label: label.into(), role: Role::nth(k), bars: (0..5).map(bar).collect() })
    };
    figure(
        "stability",
        "Stability of verbalisations by relation",
        Axis::of("relation", names(&["P19 born in", "P36 capital", "P101 field", "P103 language", "P495 origin"])),
        Axis::linear("share of stable subjects").from_to(0.0, 1.0),
        vec![layer(0, "bert-mini"), layer(1, "gpt2-mini")],
    )
}

pub fn histogram() -> Figure {
    let layer = |k: usize, label: &str| {
        let bar = |b: usize| {
            let from = b as f64 / 12.0;
            Bar { n: 1000.into(), ..Bar::bin(from, (b + 1) as f64 / 12.0, (40.0 + 200.0 * noise(3 * b + k)).round()) }
        };
        Layer::Bars(Bars { label: label.into(), role: Role::nth(k), bars: (0..12).map(bar).collect() })
    };
    figure(
        "consistency",
        "Rank consistency over 1,000 draws",
        Axis::linear("share of the modal order"),
        Axis::linear("draws"),
        vec![layer(0, "original"), layer(1, "random"), layer(2, "adjusted")],
    )
}

/// P@1 per prompt: ranges with dots and means, two models.
pub fn ranges() -> Figure {
    let layer = |k: usize, label: &str| {
        let range = |category: usize| {
            let dots: Vec<f64> = (0..5).map(|d| 0.1 + 0.7 * noise(13 * category + 3 * d + k)).collect();
            let lo = dots.iter().copied().fold(1.0, f64::min);
            let hi = dots.iter().copied().fold(0.0, f64::max);
            let mean = Some(dots.iter().sum::<f64>() / 5.0);
            Range { category, ends: (lo, hi), mean, dots, n: 200.into() }
        };
        Layer::Ranges(Ranges {
            label: label.into(),
            role: Role::nth(k),
            ranges: (0..6).map(range).collect(),
            ..Ranges::default()
        })
    };
    figure(
        "prompts",
        "P@1 over prompts",
        Axis::of("relation", names(&["P19", "P36", "P101", "P103", "P190", "P495"])),
        Axis::linear("P@1").from_to(0.0, 1.0),
        vec![layer(0, "bert-mini"), layer(1, "gpt2-mini")],
    )
}

/// Ranks of five models over six prompts, with one rank missing.
pub fn ranks() -> Figure {
    let models = ["bert-mini", "gpt2-mini", "roberta-mini", "distil-mini", "lstm-mini"];
    let lines = models.iter().enumerate().map(|(k, model)| {
        let rank = |p: usize| Some(((k + p * p) % 5 + 1) as f64).filter(|_| (k, p) != (4, 2));
        let role = if k == 0 { Role::nth(k).strong() } else { Role::nth(k) };
        RankLine { label: (*model).into(), role, ranks: (0..6).map(rank).collect() }
    });
    figure(
        "ranks",
        "Ranks of models over prompts",
        Axis::of("prompt", (1..7).map(|k| format!("prompt {k}"))),
        Axis::ranks("rank", 5),
        vec![Layer::Ranks(Ranks { lines: lines.collect() })],
    )
}

/// A heatmap of layers by oracle layers, with one missing and one doubtful cell.
pub fn cells() -> Figure {
    let row = |r: usize| {
        let cell = |c: usize| match (r, c) {
            (4, 0) => Cell::default(),
            (2, 3) => Cell { value: Some(0.31), doubtful: true },
            _ => Cell::from(-1.0 + (r + c) as f64 / 4.0),
        };
        (0..5).map(cell).collect()
    };
    figure(
        "map",
        "Difference of reliability by layer and oracle layer",
        Axis::of("layer", (0..5).map(|k| format!("layer {k}"))),
        Axis::of("oracle", (0..5).map(|k| format!("oracle {k}"))),
        vec![Layer::Cells(Cells {
            label: "difference of R".into(),
            shades: Shades::Diverging,
            range: (-1.0, 1.0),
            numbers: true,
            rows: (0..5).map(row).collect(),
        })],
    )
}

/// An original and a perturbed sentence, with Chinese and right-to-left words.
pub fn tokens() -> Figure {
    let strip = |label: &str, words: &[(&str, f64)]| Strip {
        label: label.into(),
        tokens: words
            .iter()
            .map(|(word, score)| Token {
                text: (*word).into(),
                score: score.is_finite().then_some(*score),
                gold: ["keys", "中文"].contains(word),
                top: score.abs() > 0.6,
            })
            .collect(),
        doubt: (label == "perturbed").then(|| "gap .03 above .01".to_owned()),
    };
    let original = [
        ("[CLS]", f64::NAN),
        ("The", 0.05),
        ("keys", 0.9),
        ("to", -0.1),
        ("the", 0.0),
        ("cabinet", -0.7),
        ("中文", 0.4),
        ("[MASK]", 0.2),
        (".", -0.05),
    ];
    let perturbed = [
        ("[CLS]", f64::NAN),
        ("The", 0.1),
        ("rusty", 0.3),
        ("keys", 0.65),
        ("to", -0.2),
        ("the", 0.02),
        ("ארון", -0.5),
        ("中文", 0.35),
        ("[MASK]", 0.1),
        (".", 0.0),
    ];
    let pairs = vec![(0, 0), (1, 1), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9)];
    let tokens = Tokens {
        strips: vec![strip("original", &original), strip("perturbed", &perturbed)],
        pairs,
        bound: Some(1.0),
        label: "integrated gradient".into(),
    };
    let axis = Axis::default;
    figure("saliency", "Saliency of the verb's number", axis(), axis(), vec![Layer::Tokens(tokens)])
}

/// The causal model of prompt bias with its backdoor path highlighted.
pub fn graph() -> Figure {
    let node = |label: &str, x: f64, y: f64, lit| Node { label: label.into(), at: (x, y), lit };
    let edge = |from, to, label: &str, lit| Edge { from, to, label: label.into(), lit };
    let graph = Graph {
        nodes: vec![
            node("pretraining C", 0.0, 0.0, true),
            node("prompt X", 0.0, 1.0, true),
            node("model M", 1.0, 0.0, true),
            node("prediction P", 1.0, 1.0, true),
            node("performance E", 2.0, 1.0, false),
        ],
        edges: vec![
            edge(0, 1, "preference", true),
            edge(0, 2, "", true),
            edge(2, 3, "", true),
            edge(1, 3, "", false),
            edge(3, 4, "", false),
            edge(1, 4, "direct", false),
        ],
        path: "backdoor path".into(),
    };
    figure(
        "causal",
        "Backdoor path from prompt to prediction",
        Axis::default(),
        Axis::default(),
        vec![Layer::Graph(graph)],
    )
}

const BAD: &str = "\u{1b}[31m</text><script>alert(1)</script>\u{202e}";

/// Names with escape codes and markup, and values at the limits of floating point.
pub fn hostile() -> Figure {
    let bad = BAD.to_owned();
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, f64::MAX, f64::MIN_POSITIVE, 0.5];
    let role = Role { hue: usize::MAX, ..Role::nth(2).marker(Marker::Star) };
    let points =
        values.iter().map(|&x| Datum { x, y: x, band: Some((x, -x)), inner: Some((-x, x)), ..Datum::default() });
    let spots = values.iter().map(|&x| Spot { x, y: x, x_band: Some((x, -x)), label: bad.clone(), ..Spot::default() });
    let bars = values.iter().map(|&y| Bar { band: Some((y, -y)), ..Bar::bin(y, -y, y) });
    let ranges = values.iter().map(|&y| Range {
        category: usize::MAX,
        ends: (y, -y),
        mean: Some(y),
        dots: vec![y],
        ..Range::default()
    });
    Figure {
        name: bad.clone(),
        title: bad.repeat(40),
        x: Axis::log(bad.clone()).from_to(f64::NAN, 1.0),
        y: Axis::linear(bad.clone()),
        layers: vec![
            Layer::Line(Line { label: bad.clone(), role, points: points.collect() }),
            Layer::Points(Points { label: bad.clone(), role, points: spots.collect() }),
            Layer::Bars(Bars { label: bad.clone(), role, bars: bars.collect() }),
            Layer::Ranges(Ranges {
                label: bad.clone(),
                dots: bad.clone(),
                role,
                ranges: ranges.collect(),
                ..Ranges::default()
            }),
            Layer::Ranks(Ranks {
                lines: vec![RankLine { label: bad.clone(), role, ranks: values.iter().map(|v| Some(*v)).collect() }],
            }),
            Layer::Rule(Rule::upright(f64::NAN, bad.clone())),
            Layer::Rule(Rule::level(f64::INFINITY, bad.clone())),
            Layer::Guide(Guide { label: bad.clone(), ..Guide::default() }),
            Layer::Cells(Cells {
                label: bad.clone(),
                shades: Shades::Rising,
                range: (f64::NAN, f64::INFINITY),
                numbers: true,
                rows: vec![values.iter().map(|v| Cell::from(*v)).collect()],
            }),
        ],
        provenance: Provenance {
            entries: vec![(bad.clone(), bad.repeat(100)), (String::new(), String::new())],
            ..Provenance::default()
        },
    }
}

/// Malformed tokens and graph: escape codes, crossing pairs, arrows to missing nodes.
pub fn hostile_tokens() -> Figure {
    let token = |score| Token { text: BAD.into(), score: Some(score), gold: true, top: true };
    let strip = |n: usize| Strip {
        label: BAD.into(),
        tokens: (0..n).map(|_| token(f64::NAN)).collect(),
        doubt: Some(BAD.into()),
    };
    let tokens = Tokens {
        strips: vec![strip(3), strip(0), strip(40)],
        pairs: vec![(9, 9), (2, 0), (0, 2)],
        bound: Some(f64::NAN),
        label: BAD.into(),
    };
    let node = |x: f64| Node { label: BAD.into(), at: (x, x), lit: true };
    let edge = |from, to| Edge { from, to, label: BAD.into(), lit: true };
    let graph = Graph {
        nodes: vec![node(f64::NAN), node(f64::MAX), node(0.0)],
        edges: vec![edge(0, 9), edge(1, 1), edge(0, 1), edge(1, 2)],
        path: BAD.into(),
    };
    let layers = vec![Layer::Tokens(tokens), Layer::Graph(graph), Layer::Tokens(Tokens::default())];
    figure(BAD, BAD, Axis::default(), Axis::default(), layers)
}

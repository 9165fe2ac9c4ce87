//! Accuracy against training examples, with the margin of the bound.

use super::{bound, finished, pilots, provenance};
use crate::finding::{BaselineFinding, MarginFinding};
use crate::results::Results;
use crate::spec::in_words;
use base::text::printable_label;
use figure::layers::{Datum, Intervals, Line};
use figure::role::BLACK;
use figure::{Axis, Figure, Layer, Role};
use lab::{EngineInfo, Tagged};

/// Accuracies against training examples, with their spread over seeds and the excess risk that the bound allows.
pub fn margins(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let first = results.margins.iter().max_by_key(|t| t.n)?;
    let mut names: Vec<&str> = Vec::new();
    for margin in &results.margins {
        if !names.contains(&margin.value.name.as_str()) {
            names.push(&margin.value.name);
        }
    }
    let seeds = results.configurations.iter().map(|c| c.value.seeds).max().unwrap_or(1);
    let line = |(k, name): (usize, &&str)| {
        let point = |m: &Tagged<MarginFinding>| {
            let v = &m.value;
            let around = |w: f64| Some(((v.accuracy - w).max(0.0), (v.accuracy + w).min(1.0)));
            let inner = v.sd.and_then(around);
            // Two values differ from their mean by their standard deviation divided by √2.
            let pair =
                v.sd.filter(|_| seeds == 2).map(|sd| sd / f64::sqrt(2.0)).map(|d| (v.accuracy - d, v.accuracy + d));
            let (x, band, n) = (v.at_n as f64, around(v.epsilon), m.n.into());
            Datum { x, y: v.accuracy, band, inner, pair, n, ..Datum::default() }
        };
        let mine = results.margins.iter().filter(|m| m.value.name == **name);
        let role = Role::nth(k).accent(k);
        Layer::Line(Line { label: printable_label(&in_words(name)), role, points: mine.map(point).collect() })
    };
    // Areas of several margins would cover each other.
    let panels: Vec<String> =
        names.iter().map(|name| format!("accuracy: {}", printable_label(&in_words(name)))).collect();
    let mut layers: Vec<Layer> = names.iter().enumerate().map(line).collect();
    layers.extend(surface(results));
    let bound = results.needed().map_or("bound", bound);
    let wide = format!("margin of the {bound}, clipped to 0 and 1");
    let narrow = format!("mean ± 1 SD over {seeds} seeds");
    let pair = "mean of 2 seeds, and the value of each".to_owned();
    layers.push(Layer::Intervals(Intervals { wide, narrow, pair, is_margin: true, ..Intervals::default() }));
    let mut sizes: Vec<(u64, usize)> = results.margins.iter().map(|m| (m.value.at_n, m.n)).collect();
    sizes.sort_unstable();
    sizes.dedup_by_key(|size| size.0);
    let mut provenance = provenance(first, engine, "");
    // The margin and the spread are not confidence intervals.
    provenance.entries.retain(|(key, _)| key != "intervals");
    let text = "The spread over seeds reflects training only, not the sampling of test items";
    provenance.entries.push((String::new(), text.into()));
    if seeds == 2 {
        provenance.entries.push(("thin lines".into(), "from the value of one seed to the value of the other".into()));
    }
    let x = Axis::doubling("training examples (n: test items)");
    let x = match sizes.first().zip(sizes.last()).filter(|(least, most)| least.0 < most.0) {
        Some((least, most)) => x.from_to(least.0 as f64, most.0 as f64),
        None => x,
    };
    if layers.iter().any(|l| matches!(l, Layer::Line(line) if line.label.starts_with(BASE_LINE))) {
        let text = "the most accurate classifier without hidden states, trained once, on the sentences of the probes; the bound does not apply to it";
        provenance.entries.push((BASE_LINE.into(), text.into()));
    }
    Some(finished(Figure {
        name: "margins".into(),
        title: "Accuracy, its spread over seeds, and the margin of the bound".into(),
        x: pilots(x, &sizes),
        y: Axis::linear("accuracy").from_to(0.0, 1.0).in_panels(&panels.iter().map(String::as_str).collect::<Vec<_>>()),
        layers,
        provenance,
    }))
}

const BASE_LINE: &str = "base line";

/// The baseline with the highest accuracy at the largest size, shown at every size.
fn surface(results: &Results) -> Option<Layer> {
    let of = results.surface();
    let best = of.iter().max_by(|a, b| a.value.accuracy.mean.total_cmp(&b.value.accuracy.mean))?;
    let key = |b: &BaselineFinding| (b.side.clone(), b.name.clone());
    let mine = results.baselines.iter().filter(|b| key(&b.value) == key(&best.value));
    let point = |b: &Tagged<BaselineFinding>| {
        let v = &b.value;
        Datum { x: v.at_n as f64, y: v.accuracy.mean, n: b.n.into(), ..Datum::default() }
    };
    let label = format!("{BASE_LINE}: {}", best.value.name);
    Some(Layer::Line(Line { label, role: Role { hue: BLACK, ..Role::nth(2) }, points: mine.map(point).collect() }))
}

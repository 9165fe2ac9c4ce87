//! The map of layers: a score of one method by the layer of the intervention and the layer of the oracle.

use super::{WORDS, judge, parameter, provenance_of};
use crate::key::MethodKey;
use crate::map::{Map, Score};
use crate::oracle::OracleKind;
use crate::results::Results;
use base::numbers::short;
use figure::layers::{Cell, Cells, Shades};
use figure::{Axis, Figure, Layer};
use lab::EngineInfo;
use model::source::in_print;

/// A score of one model, method and oracle over the layers. In doubtful cells the oracle no longer reads the other property. Missing cells
/// are before the intervention, without a strength, or not yet computed. `None` before the first cell.
pub fn map(
    results: &Results,
    engine: Option<&EngineInfo>,
    (model, method, oracle): (&str, &MethodKey, OracleKind),
    score: Score,
) -> Option<Figure> {
    let map = Map::of(results, model, method, oracle)?;
    let first = map.cells().first()?;
    let row = |layer: &usize| {
        let cell = |oracle_layer: &usize| {
            map.at(*layer, *oracle_layer).map_or(Cell::default(), |c| Cell {
                value: Some(score.of(&c.value.point).mean),
                doubtful: c.value.point.beside.eligible == Some(false),
            })
        };
        map.layers.iter().map(cell).collect()
    };
    let (symbol, _) = parameter(&first.value.point.parameter);
    let name_of_row = |layer: &usize| match map.strength(*layer) {
        Some(value) => format!("{layer} ({})", short(value)),
        None => layer.to_string(),
    };
    let mut provenance = provenance_of(results, engine, model, map.cells().iter().map(|c| (*c, &c.value.point)));
    let how = first.value.strength.title();
    provenance.entries.push(("strength".into(), format!("{how} (given beside each layer)")));
    let reasons = map.layers.iter().filter_map(|l| Some((l, map.reason(*l)?)));
    let reasons = reasons.map(|(layer, why)| (format!("layer {layer}"), format!("n/a: {why}")));
    provenance.entries.extend(reasons);
    let (short, what) = (in_print(model), score.name());
    let figure = Figure {
        name: format!("map-{what}-{short}-{}-{oracle}", method.file_name()),
        title: format!("{} on {short}: {what} by layers, {}", method.title(), judge(oracle)),
        x: Axis::of("layer of the oracle", map.layers.iter().map(ToString::to_string)),
        y: Axis::of(format!("layer of the edit ({symbol})"), map.layers.iter().map(name_of_row)),
        layers: vec![Layer::Cells(Cells {
            label: what.into(),
            shades: Shades::Rising,
            range: (0.0, 1.0),
            numbers: true,
            rows: map.layers.iter().map(row).collect(),
        })],
        provenance,
    };
    Some(figure.with_terms(&WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use figure::{Format, Options, render};

    #[test]
    fn map_figure_is_triangular_with_row_strengths() {
        let results = sample::mapped();
        let key = ("bert-mini", &MethodKey::named("pgd"), OracleKind::Mlp);
        let figure = map(&results, None, key, Score::Selectivity).unwrap();
        assert_eq!(figure.x.categories, ["1", "2", "3", "4"]);
        assert_eq!(figure.y.categories, ["1 (.2)", "2 (.165)", "3", "4 (.112)"]);
        let Layer::Cells(cells) = &figure.layers[0] else { panic!("{figure:?}") };
        for (r, row) in cells.rows.iter().enumerate() {
            for (c, cell) in row.iter().enumerate() {
                let there = c >= r && r != 2;
                assert_eq!(cell.value.is_some(), there, "row {r}, column {c}");
                let found = Map::of(&results, key.0, key.1, key.2).unwrap().at(r + 1, c + 1);
                assert_eq!(cell.value, found.map(|f| f.value.point.selectivity.mean));
            }
        }
        assert!(cells.rows[0][3].doubtful && !cells.rows[0][2].doubtful);
        let told = |key: &str, part: &str| {
            let mut all = figure.provenance.entries.iter();
            assert!(all.any(|(k, v)| k == key && v.contains(part)), "{key}: {:?}", figure.provenance);
        };
        told("layer 3", "n/a: the oracle does not read");
        told("strength", "best of its layer");
        told("n", "2,400 test examples (C), 410 with");
        let csv = String::from_utf8(render(&figure, Format::Csv, &Options::default()).unwrap()).unwrap();
        assert_eq!(csv.lines().filter(|l| l.contains("false") || l.contains("true")).count(), 16, "{csv}");
        assert!(map(&results, None, (key.0, &MethodKey::named("inlp"), key.2), Score::Reliability).is_none());
    }
}

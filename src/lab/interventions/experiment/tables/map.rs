//! The map of layers as text: lines for a reader, and a table for papers.

use super::score;
use crate::map::{Map, Score};
use crate::results::Results;
use base::numbers::short;
use base::text::section;
use lab::table::{Entry, Table};

/// Appends the maps of a model, reliability only: a line for each layer of the intervention, a column for each layer of an oracle.
pub(crate) fn lines(out: &mut Vec<String>, results: &Results, model: &str) {
    let mut layers: Vec<usize> = Vec::new();
    let keys: Vec<_> = Map::keys(results).into_iter().filter(|(m, _, _)| m == model).collect();
    let maps = || keys.iter().filter_map(|(_, m, o)| Some((m, o, Map::of(results, model, m, *o)?)));
    maps().for_each(|(_, _, map)| layers.extend(map.layers));
    layers.sort_unstable();
    layers.dedup();
    let mut rows = Vec::new();
    for (method, oracle, map) in maps() {
        for layer in &map.layers {
            let (at, how) = match (map.strength(*layer), map.reason(*layer)) {
                (Some(value), _) => (short(value), map.at(*layer, *layer).map(|c| c.value.strength.title())),
                (None, Some(why)) => ("n/a".into(), Some(why)),
                (None, None) => ("-".into(), None),
            };
            let mut row = vec![method.title(), oracle.title().into(), layer.to_string(), at];
            row.extend(layers.iter().map(|read| {
                map.at(*layer, *read).map_or_else(String::new, |c| {
                    let r = c.value.point.reliability;
                    format!("{} {}", score(r.mean), r.spread(c.value.point.beside.replicates))
                })
            }));
            row.push(how.unwrap_or_default().to_owned());
            rows.push(row);
        }
    }
    let read: Vec<String> = layers.iter().map(|l| format!("read at {l}")).collect();
    let mut head = vec!["method", "oracle", "written at", "strength"];
    head.extend(read.iter().map(String::as_str));
    head.push("which");
    section(out, "Map of layers: reliability by layer of the edit and layer of the oracle", &head, rows);
}

/// Every cell with its intervals; `None` if nothing was mapped.
pub(crate) fn table(results: &Results) -> Option<Table> {
    let mut entries = Vec::new();
    for (model, method, oracle) in Map::keys(results) {
        let Some(map) = Map::of(results, &model, &method, oracle) else { continue };
        for score in Score::ALL {
            for (layer, read) in map.layers.iter().flat_map(|l| map.layers.iter().map(move |r| (*l, *r))) {
                let strength = map.strength(layer).map_or_else(|| "n/a".into(), short);
                let found = map.at(layer, read).map(|c| &c.value.point);
                // Selectivity, and therefore reliability, is measured on the examples with the other property.
                let n = found.map_or(0, |p| if score == Score::Completeness { p.n_c } else { p.n_s });
                entries.push(Entry {
                    row: vec![model.clone(), method.title(), oracle.title().into(), layer.to_string(), strength],
                    group: score.name().into(),
                    column: format!("at {read}"),
                    value: found.map(|p| score.of(p).reported(p.beside.replicates)),
                    n,
                    decimals: None,
                });
            }
        }
    }
    (!entries.is_empty()).then(|| Table {
        name: "map".into(),
        caption: "Reliability, completeness and selectivity where an intervention edits one layer and an oracle reads \
            that layer or a later one"
            .into(),
        stub: ["model", "method", "oracle", "written at", "strength"].map(str::to_owned).to_vec(),
        decimals: 3,
        scale: 1.0,
        whole: &[],
        entries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use lab::table::Form;

    #[test]
    fn map_table_is_triangular_with_strengths() {
        let results = sample::mapped();
        let mut out = Vec::new();
        lines(&mut out, &results, "bert-mini");
        let line = |start: &str| out.iter().find(|l| l.trim_start().starts_with(start)).unwrap();
        assert!(line("PGD     MLP     1").matches('[').count() == 4, "{out:?}");
        assert!(line("PGD     MLP     4").matches('[').count() == 1, "{out:?}");
        assert!(line("PGD     MLP     3").ends_with("chance is 0.500)"), "{out:?}");
        assert!(line("PGD     MLP     2").ends_with("best of its layer"), "{out:?}");
        let csv = table(&results).unwrap().write(Form::Csv);
        let row = csv.lines().find(|l| l.contains("selectivity") && l.contains(",1,.2,") && l.contains("at 2"));
        assert!(row.is_some_and(|r| r.contains("0.79") && r.ends_with("410")), "{csv}");
        assert_eq!(table(&sample::results()), None);
    }
}

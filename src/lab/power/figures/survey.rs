//! Sizes of published probing data sets against the size that the comparison needs (Zhu et al. 2022, Figure 1).

use super::{provenance, sides};
use crate::results::Results;
use crate::survey::Known;
use crate::tables::DATASETS;
use base::text::printable_label;
use figure::layers::{Points, Rule, Spot, grouped};
use figure::{Axis, Figure, Layer, Marker, Role};
use lab::EngineInfo;

const RUN: &str = "this run";

/// Published data sets by suite, the run's data, and a rule at each requirement. A collapsed comparison has no rule.
pub(super) fn survey(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let needed = results.needed()?;
    let mut suites: Vec<&str> = vec![RUN];
    for (suite, ..) in &DATASETS {
        if !suites.contains(suite) {
            suites.push(suite);
        }
    }
    let spot = |x: f64, n: u64, label: &str| Spot {
        x,
        y: n as f64,
        n: (n as usize).into(),
        label: printable_label(label),
        ..Spot::default()
    };
    let trained = results.configurations.iter().map(|c| c.value.n_train).max().filter(|n| *n > 0);
    let mut train: Vec<Spot> = trained.map(|n| spot(0.0, n as u64, RUN)).into_iter().collect();
    let mut test = vec![spot(0.0, needed.n as u64, RUN)];
    for (column, suite) in suites.iter().enumerate().skip(1) {
        let mine: Vec<_> = DATASETS.iter().filter(|set| set.0 == *suite).collect();
        for (k, set) in mine.iter().enumerate() {
            // Sets in the same suite often have equal sizes, so they are drawn side by side.
            let x = column as f64 + 0.8 * ((k + 1) as f64 / (mine.len() + 1) as f64 - 0.5);
            let known = Known::new(set);
            train.extend(known.train.map(|n| spot(x, n, set.1)));
            test.push(spot(x, known.test, set.1));
        }
    }
    let layer = |k: usize, marker: Marker, label: &str, points: Vec<Spot>| {
        Layer::Points(Points { label: label.into(), role: Role::points(k, marker), points })
    };
    let mut layers = vec![
        layer(0, Marker::Circle, "test split, or all items of an undivided set", test),
        layer(1, Marker::Cross, "training split", train),
    ];
    let mut origin = provenance(needed, engine, super::region(results));
    match results.collapsed() {
        Some(reasons) => origin.entries.push(("no number is recommended".into(), reasons.join("; "))),
        None => {
            let v = &needed.value;
            if let Some(n) = v.n_test.mean {
                let label = format!("test on {} for power {}", grouped(n as usize), v.target);
                layers.push(Layer::Rule(Rule::level(n, label)));
                origin.entries.push(super::items_needed(needed));
            }
            if let Some((n, bound)) = results.recommended() {
                let label = format!("train on {} (bound)", grouped(n as usize));
                layers.push(Layer::Rule(Rule::level(n as f64, label)));
                origin.entries.push(("bound".into(), bound.trim_start_matches("bound of ").to_owned()));
            }
        }
    }
    let rules = layers.iter().filter_map(|l| if let Layer::Rule(rule) = l { Some(rule.at) } else { None });
    let sizes = DATASETS.iter().flat_map(|set| set.3.iter().map(|n| *n as f64)).chain([needed.n as f64]);
    let (least, most) = rules.chain(sizes).fold((f64::INFINITY, 0.0f64), |(lo, hi), n| (lo.min(n), hi.max(n)));
    super::tested(results, &mut origin);
    origin.entries.insert(0, ("n".into(), format!("{} published data sets, one mark for each split", DATASETS.len())));
    origin.entries.push((
        "sizes of the sets".into(),
        "Zhu et al. 2022, Tables 8 and 9; items are words in UD and examples in the other suites; the CSV file names the sets".into(),
    ));
    Some(Figure {
        name: "survey".into(),
        title: printable_label(&format!(
            "Published data sets and the items needed: {}",
            sides(&needed.value.a, &needed.value.b)
        )),
        // Short enough for one line of a column.
        x: Axis::of("suite", suites.iter().map(|s| s.replace(" part-of-speech", " tags"))),
        y: Axis::log("size (items)").around(least.max(1.0), most),
        layers,
        provenance: origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{CollapseFinding, Open};
    use crate::survey::tests::{asking, tagged};

    fn rules(figure: &Figure) -> Vec<(f64, &str)> {
        let rules = figure.layers.iter();
        rules.filter_map(|l| if let Layer::Rule(r) = l { Some((r.at, r.label.as_str())) } else { None }).collect()
    }

    #[test]
    fn published_sets_are_points_and_requirements_are_rules() {
        let needed = Open { mean: Some(1_000.0), lo: Some(400.0), hi: None };
        let mut results = asking(needed);
        let figure = survey(&results, None).unwrap();
        assert_eq!(rules(&figure), [(1_000.0, "test on 1,000 for power 0.8"), (50_000.0, "train on 50,000 (bound)")]);
        let points: Vec<&Points> =
            figure.layers.iter().filter_map(|l| if let Layer::Points(p) = l { Some(p) } else { None }).collect();
        // The first layer shows the test sizes of the run and of all data sets, the second the training sizes that are known.
        let train = DATASETS.iter().filter(|set| Known::new(set).train.is_some()).count();
        assert_eq!((points[0].points.len(), points[1].points.len()), (1 + DATASETS.len(), train));
        let of = |label: &str| points[0].points.iter().find(|p| p.label == label).map(|p| p.y);
        assert_eq!(
            (of("Winograd Schema Challenge"), of("Marathi"), of("this run")),
            (Some(283.0), Some(448.0), Some(640.0))
        );
        let axis = figure.y.range.unwrap();
        assert!(points.iter().flat_map(|p| &p.points).all(|p| (axis.0..=axis.1).contains(&p.y)), "{axis:?}");
        let (a, b) = ("a".to_owned(), "b".to_owned());
        results.collapse = Some(tagged(CollapseFinding { a, b, collapsed: true, reasons: vec!["too close".into()] }));
        let figure = survey(&results, None).unwrap();
        assert!(rules(&figure).is_empty());
        assert!(figure.provenance.entries.iter().any(|(_, why)| why == "too close"));
        assert!(survey(&Results::default(), None).is_none());
    }
}

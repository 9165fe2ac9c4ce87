//! Tests of the numbers behind the points of a figure.

use super::*;
use crate::Finding;
use crate::finding::Kind;
use crate::spec::Spec;
use lab::finding::Label;

/// Regression: a figure used to count the originals of a bin by the length of their rationales.
#[test]
fn intervals_depend_on_the_number_of_originals() {
    let drawn = |originals: Option<usize>| {
        let half = Estimate { mean: 0.5, lo: 0.4, hi: 0.6 };
        let kind = Kind::Ratio(RatioFinding {
            dimension: ALL.into(),
            method: "attention".into(),
            from: 0.0,
            to: 0.1,
            ratio: 0.05,
            token_f1: Some(half),
            random_f1: None,
            map: None,
            random_map: None,
            originals,
        });
        let finding: Finding = Label::new(&Spec::shipped(), "m").finding(40, true, 0.0, kind.clone());
        let mut results = Results::default();
        results.take(finding.head(), &kind);
        let figure = against_ratio(&results, None, Agreement::TokenF1, None).unwrap();
        let Some(Layer::Line(line)) = figure.layers.first() else { panic!("{figure:?}") };
        // Regression: the picture used to give the number of originals, but the caption gave the number of inputs.
        let n = figure.provenance.entries.iter().find(|(key, _)| key == "n").map(|(_, n)| n.as_str());
        assert!(
            originals.is_none_or(|k| n.is_some_and(|n| n.starts_with(&format!("{k} originals, 40 inputs")))),
            "{n:?}"
        );
        line.points[0].n.few()
    };
    // The count is unknown here, so no sentences are mentioned.
    assert_eq!([Some(20), Some(7), None].map(drawn), [None, Some(7), Some(0)]);
}

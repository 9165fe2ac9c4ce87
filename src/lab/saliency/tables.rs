//! A run's findings as the tables of the paper.

use super::finding::ALL;
use super::metrics::tables::{Accuracy, Interpretability, accuracy, by_perturbation, interpretability};
use super::results::Results;
use crate::lab::table::Table;

/// The tables that have a number: `accuracy`, `interpretability`, `perturbations`.
#[must_use]
pub fn all(results: &Results) -> Vec<Table> {
    let accuracies: Vec<Accuracy> = results
        .accuracy
        .iter()
        .filter(|t| t.value.perturbation == ALL)
        .map(|t| Accuracy {
            model: t.model.clone(),
            dimension: t.value.dimension.clone(),
            sample: t.value.sample.clone(),
            top1: Some(t.value.top1),
            top3: Some(t.value.top3),
            n: t.n,
        })
        .collect();
    let rows: Vec<Interpretability> = results
        .interpretability
        .iter()
        .map(|t| {
            let v = &t.value;
            let measures = [
                ("F1", v.token_f1, t.n),
                ("MAP", v.map, v.pairs),
                ("PCC", v.pcc, v.pcc_kept),
                ("MAP*", v.map_star, v.pcc_total),
                ("F1Δ", v.f1_delta, v.pairs),
            ];
            Interpretability {
                model: t.model.clone(),
                method: v.method.clone(),
                dimension: v.dimension.clone(),
                perturbation: v.perturbation.clone(),
                measures: measures.into_iter().map(|(name, value, n)| (name.to_owned(), value, n)).collect(),
            }
        })
        .collect();
    let tables = [accuracy(&accuracies), interpretability(&rows), by_perturbation(&rows)];
    tables.into_iter().filter(|t| !t.entries.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::{AccuracyFinding, InterpretabilityFinding};
    use super::*;
    use crate::lab::results::Tagged;
    use crate::lab::table::Form;
    use crate::stats::Estimate;

    fn tagged<T>(value: T) -> Tagged<T> {
        Tagged {
            spec: String::new(),
            model: "m".into(),
            seed: 0,
            n: 9,
            is_final: true,
            t: 0.0,
            level: Some(0.95),
            value,
        }
    }

    #[test]
    fn findings_become_the_tables_that_have_a_number() {
        assert!(all(&Results::default()).is_empty());
        let half = Estimate { mean: 0.5, lo: 0.4, hi: 0.6 };
        let accuracy = |perturbation: &str| AccuracyFinding {
            dimension: "grammar".into(),
            sample: "all".into(),
            perturbation: perturbation.into(),
            top1: half,
            top3: half,
        };
        let row = InterpretabilityFinding {
            dimension: "grammar".into(),
            perturbation: "import".into(),
            method: "attention".into(),
            token_f1: Some(half),
            random_f1: None,
            map: Some(half),
            random_map: None,
            pcc: None,
            pcc_all: None,
            pcc_kept: 0,
            pcc_total: 4,
            pcc_undefined: 0,
            map_star: Some(half),
            f1_delta: None,
            f1_delta_signed: None,
            f1_delta_pairs: None,
            ratio: None,
            sufficiency: None,
            comprehensiveness: None,
            pairs: 4,
            missing: 0,
            originals: 4,
            incomplete: 0,
        };
        let results = Results {
            accuracy: vec![tagged(accuracy("all")), tagged(accuracy("import"))],
            interpretability: vec![tagged(row)],
            ..Results::default()
        };
        let tables = all(&results);
        let names: Vec<&str> = tables.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["accuracy", "perturbations"]);
        assert!(tables[0].write(Form::Markdown).contains("| m | all | 50.0 | 50.0 |"));
        let csv = tables[1].write(Form::Csv);
        assert!(csv.contains("m,attention,import,grammar,MAP,0.5,0.4,0.6,4"), "{csv}");
        assert!(csv.contains("m,attention,import,grammar,PCC,,,,0"), "{csv}");
    }
}

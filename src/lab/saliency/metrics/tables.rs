//! The tables of the benchmark paper: accuracy (Tables 4 and 8), interpretability (5 and 9), and by perturbation (6, 7, 10 and 11). They
//! are built from plain rows, so that numbers from any source can be formatted.

use lab::table::{Entry, Table};
use stats::Estimate;

/// Accuracy of one model in one dimension, for one kind of input.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    pub model: String,
    pub dimension: String,
    /// `original`, `perturbed`, `all`, or `change`.
    pub sample: String,
    /// Kind of perturbation, or `all`.
    pub perturbation: String,
    /// Share of inputs whose top prediction is right.
    pub top1: Option<Estimate>,
    /// Share of inputs with a right answer among the top three predictions.
    pub top3: Option<Estimate>,
    pub n: usize,
}

/// Interpretability of one method with one model in one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretability {
    pub model: String,
    pub method: String,
    pub dimension: String,
    pub perturbation: String,
    /// Measures in the order of their columns (`F1`, `MAP`, `PCC`, `MAP*`, …), each with its n.
    pub measures: Vec<(String, Option<Estimate>, usize)>,
}

/// Tables 4 and 8: Top-1 and then Top-3 of every model in per cent, for each kind of input by dimension.
pub fn accuracy(rows: &[Accuracy]) -> Table {
    let entries = |name: &'static str, value: fn(&Accuracy) -> Option<Estimate>| {
        rows.iter().map(move |r| Entry {
            row: vec![r.model.clone(), name.to_owned()],
            group: r.dimension.clone(),
            column: r.sample.clone(),
            value: value(r),
            n: r.n,
            decimals: None,
        })
    };
    Table {
        name: "accuracy".to_owned(),
        caption: "Accuracy of the answers, in per cent".to_owned(),
        stub: vec!["Model".to_owned(), "Answers".to_owned()],
        decimals: 1,
        scale: 100.0,
        whole: &[],
        entries: entries("Top-1", |r| r.top1).chain(entries("Top-3", |r| r.top3)).collect(),
    }
}

/// Tables 5 and 9: a row per model and method, with the measures over all perturbations by dimension.
pub fn interpretability(rows: &[Interpretability]) -> Table {
    let of_all = rows.iter().filter(|r| r.perturbation == "all");
    let caption = ["interpretability", "Interpretability"];
    measures(of_all, caption, 2, ["Model", "Method"], |r| (vec![&r.model, &r.method], &r.dimension))
}

/// Tables 6 and 11: Top-1 in per cent for the partners of each kind and for their originals, and the change.
pub(crate) fn accuracy_by_perturbation(rows: &[Accuracy]) -> Table {
    let entries = rows.iter().map(|r| Entry {
        row: vec![r.model.clone(), r.sample.clone()],
        group: r.dimension.clone(),
        column: r.perturbation.clone(),
        value: r.top1,
        n: r.n,
        decimals: None,
    });
    Table {
        name: "accuracy-perturbations".to_owned(),
        caption: "Accuracy (Top-1) by perturbation, in per cent; change in percentage points".to_owned(),
        stub: vec!["Model".to_owned(), "Inputs".to_owned()],
        decimals: 1,
        scale: 100.0,
        whole: &[],
        entries: entries.collect(),
    }
}

/// Tables 7 and 10: a row per model, method and dimension, with the measures by kind of perturbation.
pub fn by_perturbation(rows: &[Interpretability]) -> Table {
    let of_kinds = rows.iter().filter(|r| r.perturbation != "all");
    let caption = ["perturbations", "Interpretability by perturbation"];
    measures(of_kinds, caption, 3, ["Model", "Method", "Dimension"], |r| {
        (vec![&r.model, &r.method, &r.dimension], &r.perturbation)
    })
}

fn measures<'r, const N: usize>(
    rows: impl Iterator<Item = &'r Interpretability>,
    [name, caption]: [&str; 2],
    decimals: usize,
    stub: [&str; N],
    head: fn(&Interpretability) -> (Vec<&String>, &String),
) -> Table {
    let entries = rows.flat_map(|r| {
        let (row, group) = head(r);
        let row: Vec<String> = row.into_iter().cloned().collect();
        r.measures.iter().map(move |(column, value, n)| Entry {
            row: row.clone(),
            group: group.clone(),
            column: column.clone(),
            value: *value,
            n: *n,
            decimals: None,
        })
    });
    Table {
        name: name.to_owned(),
        caption: caption.to_owned(),
        stub: stub.map(str::to_owned).to_vec(),
        decimals,
        scale: 1.0,
        whole: &[],
        entries: entries.collect(),
    }
}

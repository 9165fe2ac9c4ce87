//! The tables of the benchmark paper: accuracy (Tables 4 and 8), interpretability (5 and 9), and by perturbation (6, 7, 10 and 11).
//! Made from plain rows, so that numbers from anywhere can be laid out.

use lab::table::{Entry, Table};
use stats::Estimate;

/// Accuracy of one model on one kind of input of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    pub model: String,
    pub dimension: String,
    /// `original`, `perturbed`, `all`, or `change`.
    pub sample: String,
    /// Kind of perturbation, or `all`.
    pub perturbation: String,
    /// Share of answers that are the top prediction.
    pub top1: Option<Estimate>,
    /// Share of answers among the three best guesses.
    pub top3: Option<Estimate>,
    /// Inputs.
    pub n: usize,
}

/// Interpretability of one method of one model on one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretability {
    pub model: String,
    /// Method of saliency.
    pub method: String,
    pub dimension: String,
    pub perturbation: String,
    /// Measures in the order of their columns (`F1`, `MAP`, `PCC`, `MAP*`, …), each with its n.
    pub measures: Vec<(String, Option<Estimate>, usize)>,
}

/// Tables 4 and 8: a row for each model and kind of input, Top-1 and Top-3 in per cent under each dimension.
pub fn accuracy(rows: &[Accuracy]) -> Table {
    let entries = rows.iter().flat_map(|r| {
        [("Top-1", r.top1), ("Top-3", r.top3)].map(|(column, value)| Entry {
            row: vec![r.model.clone(), r.sample.clone()],
            group: r.dimension.clone(),
            column: column.to_owned(),
            value,
            n: r.n,
        })
    });
    Table {
        name: "accuracy".to_owned(),
        caption: "Accuracy of the answers, in per cent".to_owned(),
        stub: vec!["Model".to_owned(), "Inputs".to_owned()],
        decimals: 1,
        scale: 100.0,
        whole: &[],
        entries: entries.collect(),
    }
}

/// Tables 5 and 9: a row for each model and method, the measures over all perturbations under each dimension.
pub fn interpretability(rows: &[Interpretability]) -> Table {
    let of_all = rows.iter().filter(|r| r.perturbation == "all");
    measures(of_all, ["interpretability", "Interpretability"], &["Model", "Method"], |r| {
        vec![r.model.clone(), r.method.clone()]
    })
}

/// Tables 6 and 11: Top-1 in per cent of the partners of each kind, of the originals that have such a partner, and the change.
pub(crate) fn accuracy_by_perturbation(rows: &[Accuracy]) -> Table {
    let entries = rows.iter().map(|r| Entry {
        row: vec![r.model.clone(), r.sample.clone()],
        group: r.dimension.clone(),
        column: r.perturbation.clone(),
        value: r.top1,
        n: r.n,
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

/// Tables 7 and 10: a row for each model, method and kind of perturbation.
pub fn by_perturbation(rows: &[Interpretability]) -> Table {
    let of_kinds = rows.iter().filter(|r| r.perturbation != "all");
    measures(
        of_kinds,
        ["perturbations", "Interpretability by perturbation"],
        &["Model", "Method", "Perturbation"],
        |r| vec![r.model.clone(), r.method.clone(), r.perturbation.clone()],
    )
}

fn measures<'r>(
    rows: impl Iterator<Item = &'r Interpretability>,
    [name, caption]: [&str; 2],
    stub: &[&str],
    head: fn(&Interpretability) -> Vec<String>,
) -> Table {
    let entries = rows.flat_map(|r| {
        let entry = |(column, value, n): &(String, Option<Estimate>, usize)| Entry {
            row: head(r),
            group: r.dimension.clone(),
            column: column.clone(),
            value: *value,
            n: *n,
        };
        r.measures.iter().map(entry).collect::<Vec<_>>()
    });
    Table {
        name: name.to_owned(),
        caption: caption.to_owned(),
        stub: stub.iter().map(|s| (*s).to_owned()).collect(),
        decimals: 3,
        scale: 1.0,
        whole: &[],
        entries: entries.collect(),
    }
}

//! A run's findings as the paper's tables, followed by the published rows.

use super::finding::{ALL, CorrectnessFinding, InterpretabilityFinding, Sample};
use super::metrics::tables::{
    Accuracy, Interpretability, accuracy, accuracy_by_perturbation, by_perturbation, interpretability,
};
use super::published;
use super::results::Results;
use super::spec::dimension_name;
use corpus::rationales::Dimension;
use lab::Tagged;
use lab::table::Table;

/// The non-empty tables among `accuracy`, `interpretability`, `accuracy-perturbations`, `perturbations` and `right-wrong`.
pub fn all(results: &Results) -> Vec<Table> {
    let (whole, by_kind): (Vec<Accuracy>, Vec<Accuracy>) =
        accuracies(results).into_iter().partition(|a| a.perturbation == ALL);
    let rows = results.interpretability.iter().map(|t| row(&t.model, t.n, &t.value));
    let (mut all, mut kinds): (Vec<_>, Vec<_>) = rows.partition(|r| r.perturbation == ALL);
    all.sort_by_key(|r| place(&r.dimension));
    kinds.sort_by_key(|r| place(&r.dimension));
    let tables = [
        (accuracy(&above(whole, published::accuracy())), "Tables 4 and 8"),
        (interpretability(&above(all, published::interpretability())), "Tables 5 and 9"),
        (accuracy_by_perturbation(&above(by_kind, published::accuracy_by_kind())), "Tables 6 and 11"),
        (by_perturbation(&above(kinds, published::by_kind())), "Tables 7 and 10"),
    ];
    let cited = tables.into_iter().map(|(mut table, source)| {
        table.caption.push_str(&format!(" (published: Shen et al. 2022, {source})"));
        table
    });
    cited.chain([right_wrong(results)]).filter(|t| !t.entries.is_empty()).collect()
}

fn row(model: &str, n: usize, v: &InterpretabilityFinding) -> Interpretability {
    let measures = [
        ("F1", v.token_f1, n),
        ("MAP", v.map, v.pairs),
        ("PCC", v.pcc, v.pcc_kept),
        ("MAP*", v.map_star, v.pcc_total),
        ("F1Δ", v.f1_delta, v.pairs),
    ];
    Interpretability {
        model: model.to_owned(),
        method: v.method.clone(),
        dimension: v.dimension.clone(),
        perturbation: v.perturbation.clone(),
        measures: measures.into_iter().map(|(name, value, n)| (name.to_owned(), value, n)).collect(),
    }
}

/// Interpretability split by whether the answers are right, with chance levels.
fn right_wrong(results: &Results) -> Table {
    let of = |t: &Tagged<CorrectnessFinding>| {
        let (v, answers) = (&t.value.numbers, t.value.answers.name());
        let more = [
            ("F1 by chance", v.random_f1, t.n),
            ("MAP by chance", v.random_map, v.pairs),
            ("sufficiency", v.sufficiency, t.n),
            ("comprehensiveness", v.comprehensiveness, t.n),
            ("F1 above chance, right - wrong", t.value.f1_gap, v.originals),
            ("MAP above chance, right - wrong", t.value.map_gap, v.originals),
        ];
        let mut row = row(&t.model, t.n, v);
        row.method = format!("{}, {answers}", v.method);
        let more = more.into_iter().filter(|(_, value, _)| value.is_some());
        row.measures.extend(more.map(|(name, value, n)| (name.to_owned(), value, n)));
        row
    };
    let mut rows: Vec<_> = results.by_answers().into_iter().map(of).collect();
    rows.sort_by_key(|r| place(&r.dimension));
    let caption =
        "Interpretability by correctness of the model's answers; changed: only one of the two answers in a pair is right".into();
    Table { name: "right-wrong".into(), caption, decimals: 3, ..interpretability(&rows) }
}

/// The run's rows followed by the published ones; empty if the run has no rows.
fn above<R>(mut mine: Vec<R>, published: Vec<R>) -> Vec<R> {
    if !mine.is_empty() {
        mine.extend(published);
    }
    mine
}

/// Row label for changes from originals to partners.
pub(super) const CHANGE: &str = "change";

/// Shares of right answers, each followed by its change.
fn accuracies(results: &Results) -> Vec<Accuracy> {
    let mut all = Vec::new();
    for t in &results.accuracy {
        let v = &t.value;
        let row = Accuracy {
            model: t.model.clone(),
            dimension: v.dimension.clone(),
            sample: v.sample.clone(),
            perturbation: v.perturbation.clone(),
            top1: Some(v.top1),
            top3: Some(v.top3),
            n: t.n,
        };
        let change = |change| Accuracy { sample: CHANGE.into(), top1: Some(change), top3: None, ..row.clone() };
        all.extend(v.change.map(change));
        all.push(row);
    }
    // Findings arrive in the order of computation, not in the order of the tables.
    let samples = [ALL, Sample::Original.name(), Sample::Perturbed.name(), CHANGE];
    let sample = |a: &Accuracy| samples.iter().position(|s| *s == a.sample);
    all.sort_by_key(|a| (place(&a.dimension), sample(a), kind(&a.perturbation)));
    all
}

/// Sort key for a kind of perturbation: the paper's order, then others.
fn kind(perturbation: &str) -> usize {
    let known = published::kinds();
    known.iter().position(|k| *k == perturbation).unwrap_or(known.len())
}

/// Sort key for a dimension: the paper's order, then the dimensions of other data, then all dimensions together.
fn place(dimension: &str) -> usize {
    let known = Dimension::ALL.map(dimension_name);
    let other = if dimension == ALL { known.len() + 1 } else { known.len() };
    known.iter().position(|k| *k == dimension).unwrap_or(other)
}

#[cfg(test)]
mod tests {
    use super::super::finding::{AccuracyFinding, InterpretabilityFinding};
    use super::*;
    use lab::results::Tagged;
    use lab::table::Form;
    use stats::Estimate;

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
    fn findings_become_non_empty_tables() {
        assert!(all(&Results::default()).is_empty());
        let half = Estimate { mean: 0.5, lo: 0.4, hi: 0.6 };
        let less = Estimate { mean: -0.125, lo: -0.2, hi: 0.1 };
        let accuracy = |dimension: &str, perturbation: &str| AccuracyFinding {
            dimension: dimension.into(),
            sample: "all".into(),
            perturbation: perturbation.into(),
            top1: half,
            top3: half,
            change: None,
        };
        let row = InterpretabilityFinding {
            dimension: "grammar".into(),
            perturbation: "import".into(),
            method: "attention".into(),
            token_f1: Some(half),
            random_f1: None,
            f1_above: None,
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
            sensitivity: None,
            stability: None,
            pairs: 4,
            missing: 0,
            originals: 4,
            incomplete: 0,
        };
        let results = Results {
            accuracy: [("computation", "all"), ("all", "all"), ("grammar", "all")]
                .map(|(dimension, perturbation)| accuracy(dimension, perturbation))
                .into_iter()
                .chain([
                    AccuracyFinding { sample: "perturbed".into(), change: Some(less), ..accuracy("grammar", "import") },
                    AccuracyFinding { sample: "original".into(), ..accuracy("grammar", "import") },
                ])
                .map(tagged)
                .collect(),
            interpretability: vec![tagged(row)],
            ..Results::default()
        };
        let tables = all(&results);
        for (table, published) in tables.iter().zip([16, 6, 10]) {
            let text = table.write(Form::Markdown);
            assert_eq!(text.lines().filter(|l| l.contains(", published (")).count(), published, "{text}");
            assert!(text.find("| m |") < text.find(", published ("), "the run's rows come first");
        }
        let names: Vec<&str> = tables.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["accuracy", "accuracy-perturbations", "perturbations"]);
        let accuracy = tables[0].write(Form::Markdown);
        // Tables 4 and 8 have the run's columns first. Computation is the second dimension in the run.
        assert!(accuracy.contains("| m | Top-1 | 50.0 | – | – | 50.0 | – | – | 50.0 |"), "{accuracy}");
        assert!(
            accuracy.contains("grammar all | grammar original | grammar perturbed | computation all"),
            "{accuracy}"
        );
        let changes = tables[1].write(Form::Csv);
        let want = "m,original,grammar,import,0.5,0.4,0.6,9\nm,perturbed,grammar,import,0.5,0.4,0.6,9\nm,change,grammar,import,-0.125,-0.2,0.1,9";
        assert!(changes.contains(want), "{changes}");
        let csv = tables[2].write(Form::Csv);
        assert!(csv.contains("m,attention,grammar,import,MAP,0.5,0.4,0.6,4"), "{csv}");
        assert!(csv.contains("m,attention,grammar,import,PCC,,,,0"), "{csv}");
    }
}

//! The paper's tables from a run's findings, next to the published rows: the contingency table of the test examples, the probes'
//! accuracies, and the strengths of highest reliability under each oracle.

use crate::finding::{DataFinding, OptimumFinding, PaperFinding, ProbeFinding, ProbeRole};
use crate::key::MethodKey;
use crate::oracle::OracleKind;
use crate::paper::{Published, TABLE_1, TABLE_2, published};
use crate::results::Results;
use lab::Tagged;
use lab::table::{Entry, Table};
use stats::Estimate;

const OURS: &str = "this run";
const HELD_OUT: &str = "held out";
const PAPERS_WAY: &str = "paper's way";
const THEIRS: &str = "published";

/// The tables for which there are findings.
pub(crate) fn tables(results: &Results) -> Vec<Table> {
    let optimum = |oracle| optimum(results, oracle);
    let all = [
        contingency(results),
        probes(results),
        optimum(OracleKind::Mlp),
        optimum(OracleKind::Linear),
        selectivity(results),
    ];
    all.into_iter().flatten().collect()
}

fn entry(row: &[&str], group: &str, column: &str, value: Option<Estimate>, n: usize) -> Entry {
    let row = row.iter().map(|r| (*r).to_owned()).collect();
    Entry { row, group: group.to_owned(), column: column.to_owned(), value, n, decimals: None }
}

fn table(
    name: &str,
    caption: &str,
    stub: &[&str],
    (decimals, scale): (usize, f64),
    entries: Vec<Entry>,
) -> Option<Table> {
    let stub = stub.iter().map(|s| (*s).to_owned()).collect();
    (!entries.is_empty()).then(|| Table {
        name: name.into(),
        caption: caption.into(),
        stub,
        decimals,
        scale,
        whole: &[],
        entries,
    })
}

/// The edited property. This is the first probe's property, because the target's oracles are trained first.
fn target<'a>(results: &'a Results, model: &str) -> Option<&'a str> {
    let mut mine = results.probes.iter().filter(|p| p.model == model && p.value.role == ProbeRole::Oracle);
    mine.next().map(|p| p.value.property.as_str())
}

/// True if the run is the paper's experiment: change the subject's number, keep the attractor's.
fn is_the_papers(results: &Results, data: &Tagged<DataFinding>) -> bool {
    let d = &data.value;
    let shape = d.counts.len() == 2 && d.other_values.len() == 2;
    shape && d.task == "agreement" && target(results, &data.model) == Some("subject_number")
}

/// Table 1: test examples by both properties.
fn contingency(results: &Results) -> Option<Table> {
    let mut entries = Vec::new();
    // Rows and columns by value, the last one for all values.
    let mut rows = |source: &str, (values, others): (&[String], &[String]), counts: &[Vec<f64>]| {
        let heads = others.iter().map(|v| format!("Ze = {v}"));
        let heads: Vec<String> = heads.chain(["no Ze".to_owned(), "total".to_owned()]).collect();
        let named = values.iter().map(|v| format!("Zc = {v}")).chain(["total".to_owned()]);
        for (name, row) in named.zip(counts) {
            for (head, n) in heads.iter().zip(row) {
                let value = Some(Estimate::exact(*n));
                entries.push(entry(&[source, &name], "test examples", head, value, *n as usize));
            }
        }
    };
    for Tagged { model, value, .. } in &results.data {
        let with_total = |row: &[f64]| [row, &[row.iter().sum::<f64>()][..]].concat();
        let counts = value.counts.iter().map(|row| row.iter().map(|n| *n as f64).collect::<Vec<_>>());
        let counts: Vec<Vec<f64>> = counts.collect();
        let width = counts.first().map_or(0, Vec::len);
        let all: Vec<f64> = (0..width).map(|j| counts.iter().map(|r| r[j]).sum()).collect();
        let counts: Vec<Vec<f64>> = counts.iter().chain([&all]).map(|row| with_total(row)).collect();
        rows(model, (value.target_values.as_slice(), value.other_values.as_slice()), &counts);
    }
    if let Some(data) = results.data.iter().find(|d| is_the_papers(results, d)).map(|d| &d.value) {
        let thousands = TABLE_1.map(|row| row.map(|n| 1000.0 * n).to_vec());
        let values = (data.target_values.as_slice(), data.other_values.as_slice());
        rows("published, rounded to thousands", values, &thousands);
    }
    let caption =
        "Test examples by the value of the target (Zc) and of the property to keep (Ze); Table 1 of Canby et al.";
    table("contingency", caption, &["data", "target"], (0, 1.0), entries)
}

/// Table 2: accuracies on the test examples, in percent.
fn probes(results: &Results) -> Option<Table> {
    let mut entries = Vec::new();
    for data in &results.data {
        let mine = results.probes.iter().filter(|p| p.model == data.model);
        let target = target(results, &data.model);
        for Tagged { value: p, n, .. } in mine {
            let role = role(p);
            let further = data.value.further.iter().find(|f| f.property == p.property);
            let column = match further {
                Some(f) => f.property.as_str(),
                None if Some(p.property.as_str()) == target => "Zc",
                None => "Ze",
            };
            entries.push(entry(&[&data.model, &role], OURS, column, Some(p.accuracy), *n));
            if further.is_none() && is_the_papers(results, data) {
                let theirs = TABLE_2.iter().find(|(name, _)| *name == role);
                let theirs = theirs.map(|(_, a)| Estimate::exact(a[usize::from(column == "Ze")]));
                entries.push(entry(&[&data.model, &role], THEIRS, column, theirs, 0));
            }
        }
    }
    let caption = "Accuracy of the probes on the test examples, in per cent; Table 2 of Canby et al.";
    table("probes", caption, &["model", "probe"], (1, 100.0), entries)
}

fn role(p: &ProbeFinding) -> String {
    match (p.role, p.oracle) {
        (ProbeRole::Interventional, _) => "interventional MLP".into(),
        (ProbeRole::Oracle, Some(OracleKind::Linear)) => "linear oracle".into(),
        (ProbeRole::Oracle, _) => "MLP oracle".into(),
    }
}

/// Scores in the table's order, with their strength.
type Scored = [Option<Estimate>; 4];

fn scored(p: &Published) -> Scored {
    [p.completeness, p.selectivity, p.reliability, p.value].map(|v| Some(Estimate::exact(v)))
}

/// Table 3, each method at the strength of its highest reliability; also for the linear oracle, for which the paper's appendix has only a
/// plot.
fn optimum(results: &Results, oracle: OracleKind) -> Option<Table> {
    let mut entries = Vec::new();
    for data in &results.data {
        // Methods in the order in which they ran, with or without an optimum.
        let curves = results.curves.iter().filter(|c| c.key.model == data.model && c.key.oracle == oracle);
        for key in curves.map(|c| &c.key.method) {
            let best = results.optimum(&data.model, key, oracle);
            let none = results
                .without
                .iter()
                .find(|o| o.model == data.model && o.value.method_key() == *key && o.value.oracle == oracle);
            if best.is_none() && none.is_none() {
                continue;
            }
            let n = best.map_or(0, |b| b.n);
            let title = key.title();
            let mut add = |group: &str, scored: Scored| {
                for (column, value) in ["C", "S", "R", "at"].into_iter().zip(scored) {
                    entries.push(entry(&[&data.model, &title], group, column, value, n));
                }
            };
            add(HELD_OUT, best.map_or([None; 4], |b| ours(&b.value)));
            let paper = best.and_then(|b| b.value.how.paper.as_ref());
            let paper = paper.or(none.and_then(|o| o.value.paper.as_ref()));
            let alike = |p: &PaperFinding| {
                let trainings = best.map_or(1, |b| b.value.how.replicates);
                [&p.completeness, &p.selectivity, &p.reliability].map(|b| Some(b.reported(trainings)))
            };
            let [c, s, r] = paper.map_or([None; 3], alike);
            add(PAPERS_WAY, [c, s, r, paper.map(|p| Estimate::exact(p.value))]);
            if oracle == OracleKind::Mlp && is_the_papers(results, data) && data.value.distance.is_papers() {
                let theirs = published(&key.name).filter(|_| *key == MethodKey::named(&key.name));
                add(THEIRS, theirs.map_or([None; 4], scored));
            }
        }
    }
    let (name, judge, origin) = match oracle {
        OracleKind::Mlp => ("optimum", "MLP oracle", "Table 3 of Canby et al"),
        OracleKind::Linear => {
            ("optimum-linear", "linear oracle", "Canby et al. plot these scores in Figures 4 to 6 but print no table")
        }
    };
    let other = results.data.iter().map(|d| d.value.distance).find(|d| !d.is_papers());
    let by = other.map_or(String::new(), |d| format!(", by {}", d.title()));
    let caption = format!(
        "Completeness, selectivity and reliability{by} at the strength of highest reliability, {judge}; {origin}. Held \
         out: the strength is chosen on one half of the test examples by the mean over training runs, the scores are \
         measured on the other half, and R = 2CS/(C + S). As in the paper: choice and scores on all test examples. \
         Published: BERT and Wikipedia sentences. Completeness is defined differently for nullifying and for \
         counterfactual methods"
    );
    table(name, &caption, &["model", "method"], (3, 1.0), entries)
}

/// Selectivity on each property at the strengths of highest reliability, if there are several properties to keep.
fn selectivity(results: &Results) -> Option<Table> {
    let mut entries = Vec::new();
    for best in &results.optima {
        let (title, oracle) = (best.value.method_key().title(), best.value.oracle.title());
        let row = [best.model.as_str(), &title, oracle];
        for on in &best.value.how.selectivities {
            entries.push(entry(
                &row,
                "S on",
                &on.property,
                Some(on.selectivity.reported(best.value.how.replicates)),
                on.n,
            ));
        }
        if !best.value.how.selectivities.is_empty() {
            entries.push(entry(
                &row,
                "S on",
                "mean",
                Some(best.value.selectivity.reported(best.value.how.replicates)),
                best.n,
            ));
        }
    }
    let caption = "Selectivity on each property to keep, at the strength of highest reliability on all test examples; the mean over the \
                   properties is the S of the other tables";
    table("selectivity", caption, &["model", "method", "oracle"], (3, 1.0), entries)
}

fn ours(best: &OptimumFinding) -> Scored {
    let of = [&best.completeness, &best.selectivity, &best.reliability];
    let of = of.map(|b| Some(b.reported(best.how.replicates)));
    [of[0], of[1], of[2], Some(Estimate::exact(best.value))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use lab::table::Form;

    fn results() -> Results {
        let mut results = sample::results();
        results.data = vec![sample::data()];
        results.probes = sample::probes();
        results
    }

    fn named(name: &str) -> Table {
        let results = results();
        tables(&results).into_iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no table {name}"))
    }

    #[test]
    fn published_rows_follow_the_runs_rows_in_every_format() {
        let optimum = named("optimum");
        let markdown = optimum.write(Form::Markdown);
        let row = |title: &str| markdown.lines().find(|l| l.contains(title)).unwrap_or_else(|| panic!("{markdown}"));
        assert!(row("| PGD |").ends_with("| 0.734 | 0.390 | 0.509 | 0.112 |"), "{markdown}");
        assert!(row("| AlterRep |").ends_with("| 1.000 | 0.784 | 0.835 | 0.100 |"), "{markdown}");
        let latex = optimum.write(Form::Latex);
        assert!(latex.contains("\\multicolumn{4}{c}{published}"));
        // Regression: the caption used to be cut after 300 characters, in the middle of a warning.
        for whole in [markdown.as_str(), latex.as_str()] {
            assert!(whole.contains("for nullifying and for counterfactual methods"), "{whole}");
        }
        let csv = optimum.write(Form::Csv);
        assert!(csv.lines().any(|l| l.contains("published") && l.contains("PGD") && l.contains("0.5092")), "{csv}");
    }

    #[test]
    fn tables_1_and_2_show_contingency_and_accuracies() {
        let contingency = named("contingency").write(Form::Markdown);
        let line = |start: &str| contingency.lines().find(|l| l.starts_with(start)).unwrap().to_owned();
        assert_eq!(
            line("| published, rounded to thousands | Zc = Sg"),
            "| published, rounded to thousands | Zc = Sg | 31000 | 5000 | 176000 | 213000 |"
        );
        assert_eq!(line("| bert-mini | total"), "| bert-mini | total | 300 | 110 | 1990 | 2400 |");
        let probes = named("probes").write(Form::Markdown);
        assert!(probes.lines().any(|l| l.starts_with("| bert-mini | MLP oracle") && l.contains("99.4")), "{probes}");
        assert!(
            probes.lines().any(|l| l.starts_with("| bert-mini | interventional MLP") && l.contains("99.5")),
            "{probes}"
        );
    }

    #[test]
    fn selectivity_by_property_has_a_separate_table() {
        assert!(tables(&results()).iter().all(|t| t.name != "selectivity"), "no table for one property");
        let several = sample::several(results());
        let table = tables(&several).into_iter().find(|t| t.name == "selectivity").unwrap();
        let markdown = table.write(Form::Markdown);
        for part in ["attractor_number", "subject_animacy", "mean"] {
            assert!(markdown.lines().next().is_some() && markdown.contains(part), "{markdown}");
        }
        assert!(table.write(Form::Csv).lines().any(|l| l.contains("subject_animacy") && l.contains("PGD")));
        let probes = tables(&several).into_iter().find(|t| t.name == "probes").unwrap();
        assert!(probes.write(Form::Markdown).contains("subject_animacy"));
    }

    /// The published scores are based on total variation.
    #[test]
    fn other_distances_have_no_published_row() {
        let mut results = results();
        results.data[0].value.distance = crate::score::Distance::Js;
        let tables = tables(&results);
        let optimum = tables.iter().find(|t| t.name == "optimum").unwrap();
        assert!(optimum.caption.contains("by Jensen-Shannon divergence"), "{}", optimum.caption);
        assert!(!optimum.write(Form::Csv).contains("published,"), "{}", optimum.write(Form::Csv));
    }

    /// The published numbers are for one task, so other tasks are shown without them.
    #[test]
    fn other_tasks_have_no_published_row() {
        let mut results = results();
        results.data[0].value.task = "animacy".into();
        for table in tables(&results) {
            assert!(!table.write(Form::Csv).contains("published"), "{}", table.name);
        }
    }
}

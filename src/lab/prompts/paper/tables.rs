//! Tables 1, 3 and 4 of Cao et al. (2022), with the run's rows before the published ones.

use super::{CONSISTENCY, DISPARITY, DRAWS, GAMMAS, PREFERENCE, RELATIONS, WHOLE};
use crate::consistency::Regime;
use crate::results::Results;
use lab::table::{Entry, Table};
use stats::estimate::Estimate;

/// Label for the run's rows in the second stub column.
const RUN: &str = "this run";
const PUBLISHED: &str = "published";

/// The tables for which the run has rows: `preference`, `disparity`, `consistency`.
pub fn all(results: &Results) -> Vec<Table> {
    [preference(results), disparity(results), consistency(results)].into_iter().flatten().collect()
}

/// A table with the paper's number of decimals; `None` if the run has no rows for it.
fn table(name: &str, caption: &str, decimals: usize, mine: Vec<Entry>, published: Vec<Entry>) -> Option<Table> {
    (!mine.is_empty()).then(|| Table {
        name: name.into(),
        caption: caption.into(),
        stub: vec!["Model".into(), "Source".into()],
        decimals,
        scale: 100.0,
        whole: &[],
        entries: mine.into_iter().chain(published).collect(),
    })
}

fn entry(model: &str, source: &str, column: &str, value: Option<Estimate>, n: usize) -> Entry {
    let row = vec![model.to_owned(), source.to_owned()];
    Entry { row, group: String::new(), column: column.into(), value, n, decimals: None }
}

/// A published number, without an interval.
fn printed(model: &str, column: &str, y: f64, n: usize) -> Entry {
    entry(model, PUBLISHED, column, Some(Estimate { mean: y, lo: y, hi: y }), n)
}

fn preference(results: &Results) -> Option<Table> {
    let columns = ["worst", "best", "std", "gap above 10"];
    let mine = results.models().into_iter().flat_map(|model| {
        let found = results.summaries.iter().find(move |s| s.model == model);
        found.into_iter().flat_map(move |s| {
            let v = &s.value;
            let values = [v.mean_worst, v.mean_best, v.mean_std, Some(v.over_10)];
            columns.into_iter().zip(values).map(move |(column, e)| entry(model, RUN, column, e, s.n))
        })
    });
    let published = PREFERENCE.iter().flat_map(|p| {
        let values = [p.worst, p.best, p.std, p.over_10 as f64 / RELATIONS as f64];
        columns.into_iter().zip(values).map(|(column, y)| printed(p.model, column, y, RELATIONS))
    });
    let caption = "P@1 over prompts, mean over relations, and share of relations with a gap above 10 points (Cao et al., Table 1)";
    table("preference", caption, 2, mine.collect(), published.collect())
}

fn disparity(results: &Results) -> Option<Table> {
    let column = |gamma: Option<f64>| gamma.map_or("as it is".to_owned(), |g| format!("γ = {g}"));
    // The run's rows have all columns, including columns that only the paper has, so that the shares increase from left to right.
    let mut gammas: Vec<f64> = results.disparity.iter().filter_map(|d| d.value.gamma).chain(GAMMAS).collect();
    gammas.sort_by(f64::total_cmp);
    gammas.dedup();
    let columns: Vec<Option<f64>> = gammas.into_iter().map(Some).chain([None]).collect();
    let models = results.models().into_iter().filter(|m| results.disparity.iter().any(|d| d.model == *m));
    let mine = models.flat_map(|model| {
        columns.iter().map(move |gamma| {
            let found = results.disparity.iter().find(|d| d.model == model && d.value.gamma == *gamma);
            entry(model, RUN, &column(*gamma), found.map(|d| d.value.p_at_1), found.map_or(0, |d| d.n))
        })
    });
    let published = DISPARITY.iter().flat_map(|(model, scores, untouched)| {
        let gammas = GAMMAS.iter().map(|g| Some(*g)).chain([None]);
        gammas.zip(scores.iter().chain([untouched])).map(move |(g, y)| printed(model, &column(g), *y, RELATIONS))
    });
    let caption = "P@1 after further pretraining, by the share γ of sentences that state facts (Cao et al., Table 3)";
    table("disparity", caption, 2, mine.collect(), published.collect())
}

fn consistency(results: &Results) -> Option<Table> {
    let of = |model: Option<&str>, name: &str| {
        Regime::ALL
            .into_iter()
            .filter_map(|regime| {
                let r = results.rank(regime, model)?;
                Some(entry(name, RUN, regime.name(), Some(r.value.consistency), r.value.draws as usize))
            })
            .collect::<Vec<_>>()
    };
    let whole = "whole order";
    let models = results.models();
    let mine = models.iter().flat_map(|m| of(Some(m), m)).chain(of(None, whole));
    let published = CONSISTENCY.iter().copied().chain([(whole, WHOLE)]).flat_map(|(model, shares)| {
        Regime::ALL.into_iter().zip(shares).map(move |(r, y)| printed(model, r.name(), y, DRAWS))
    });
    let caption = "Rank consistency: share of draws with the most frequent rank (Cao et al., Table 4)";
    table("consistency", caption, 1, mine.collect(), published.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::results;
    use lab::table::Form;

    #[test]
    fn run_rows_come_before_published_rows() {
        let tables = all(&results());
        let names: Vec<&str> = tables.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["preference", "disparity", "consistency"]);
        for (table, published) in tables.iter().zip([4, 3, 9]) {
            let text = table.write(Form::Markdown);
            let rows = |source: &str| text.lines().filter(|l| l.contains(&format!("| {source} |"))).count();
            assert_eq!(rows(PUBLISHED), published, "{text}");
            assert!(rows(RUN) > 0 && text.find(RUN) < text.find(PUBLISHED), "{text}");
        }
        // Tables 1 and 3 of the paper print two decimals of scores that were rounded before averaging. Table 4 prints one.
        let [preference, disparity, consistency] = [0, 1, 2].map(|k: usize| tables[k].write(Form::Markdown));
        assert!(preference.contains("| bert-large-cased | published | 23.45 | 46.73 | 8.75 | 71.88 |"), "{preference}");
        let row = "| bert-base-cased | published | 30.55 | 35.76 | 38.68 | 38.73 | 39.79 | 40.15 | 37.13 |";
        assert!(disparity.contains(row), "{disparity}");
        assert!(consistency.contains("| whole order | published | 25.5 | 5.5 | 68.5 |"), "{consistency}");
        assert!(all(&Results::default()).is_empty());
    }
}

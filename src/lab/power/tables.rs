//! Tables 2 to 9 of Zhu et al. (2022), with the run's rows before the published ones.

use crate::finding::RequiredFinding;
use crate::results::Results;
use figure::layers::grouped;
use lab::Tagged;
use lab::table::{Entry, Table};
use stats::Estimate;

const RUN: &str = "this run";
/// Columns of [`DATASETS`] for datasets with one, two or three printed counts.
const COUNTS: [&[&str]; 3] = [&["samples"], &["train", "test"], &["train", "validation", "test"]];
const COLUMNS: [&str; 5] = ["classes", "samples", "train", "validation", "test"];
/// Columns with counts.
const WHOLE: &[&str] = &["train on", "classes", "samples", "train", "validation", "test"];

struct Published {
    table: u8,
    /// The task and the compared encoders.
    what: &'static str,
    /// Test examples in the pilot, mean difference in accuracy, and recommended training examples.
    rows: &'static [(usize, f64, u64)],
}

impl Published {
    /// Number of decimals in the printed differences.
    fn decimals(&self) -> usize {
        if self.table < 4 { 4 } else { 3 }
    }
}

/// Tables 2 to 7 as printed. Table 7 prints half the difference; the second recommendation in Table 4 is a misprint for 1,187,815.
const RECOMMENDED: [Published; 6] = [
    Published {
        table: 2,
        what: "bigram_shift: BERT against corrupted BERT",
        rows: &[
            (64, 0.1313, 22_263),
            (256, 0.1281, 23_362),
            (1_024, 0.0879, 49_647),
            (4_096, 0.1331, 21_662),
            (16_384, 0.1488, 17_331),
        ],
    },
    Published {
        table: 3,
        what: "past_present: BERT against GloVe",
        rows: &[
            (64, 0.0344, 324_563),
            (256, 0.0492, 158_315),
            (1_024, 0.0355, 303_516),
            (4_096, 0.0091, 4_600_037),
            (16_384, 0.0320, 373_513),
        ],
    },
    Published {
        table: 4,
        what: "bigram_shift: logistic regression against MLP",
        rows: &[
            (64, 0.022, 801_472),
            (256, 0.018, 1_187_812),
            (1_024, 0.007, 7_757_460),
            (4_096, 0.012, 2_912_787),
            (16_384, 0.013, 2_444_949),
        ],
    },
    Published {
        table: 5,
        what: "sentence_length: BERT against InferSent",
        rows: &[(192, 0.065, 95_156), (768, 0.128, 24_375), (3_072, 0.178, 12_481), (12_288, 0.196, 10_285)],
    },
    Published {
        table: 6,
        what: "coordination_inversion: BERT against InferSent",
        rows: &[
            (64, 0.025, 635_040),
            (256, 0.019, 1_128_961),
            (1_024, 0.041, 231_499),
            (4_096, 0.051, 151_861),
            (16_384, 0.063, 100_153),
        ],
    },
    Published {
        table: 7,
        what: "sentence_length: logistic regression against MLP (half the difference)",
        rows: &[(192, 0.049, 40_001), (768, 0.030, 105_979), (3_072, 0.029, 114_746), (12_288, 0.025, 148_437)],
    },
];

/// A published data set: suite, task, classes (0 if not printed), counts as in [`COUNTS`].
pub(crate) type Dataset = (&'static str, &'static str, u64, &'static [u64]);

/// Tables 8 and 9 as printed. Larger numbers for SentEval and Universal Dependencies are rounded to thousands.
pub(crate) const DATASETS: [Dataset; 45] = [
    ("SentEval", "word_content", 1_000, &[120_000]),
    ("SentEval", "top_constituents", 20, &[120_000]),
    ("SentEval", "tree_depth", 7, &[120_000]),
    ("SentEval", "sentence_length", 6, &[120_000]),
    ("SentEval", "past_present", 2, &[120_000]),
    ("SentEval", "bigram_shift", 2, &[120_000]),
    ("SentEval", "coord_inv", 2, &[120_000]),
    ("SentEval", "obj_num", 2, &[120_000]),
    ("UD part-of-speech", "Basque", 16, &[73_000, 24_000, 24_000]),
    ("UD part-of-speech", "English", 17, &[70_000, 16_000, 16_000]),
    ("UD part-of-speech", "Finnish", 18, &[128_000, 16_000, 16_000]),
    ("UD part-of-speech", "Marathi", 16, &[3_000, 479, 448]),
    ("UD part-of-speech", "Russian", 16, &[75_000, 12_000, 11_000]),
    ("UD part-of-speech", "Turkish", 15, &[39_000, 10_000, 10_000]),
    ("BLiMP", "anaphor_agreement", 2, &[2_000]),
    ("BLiMP", "argument_structure", 2, &[9_000]),
    ("BLiMP", "binding", 2, &[7_000]),
    ("BLiMP", "ellipsis", 2, &[2_000]),
    ("BLiMP", "island effects", 2, &[8_000]),
    ("BLiMP", "NPI licensing", 2, &[7_000]),
    ("BLiMP", "subject-verb agreement", 2, &[6_000]),
    ("oLMpics", "Always-Never", 5, &[1_004, 280]),
    ("oLMpics", "Age-Comparison", 2, &[4_032, 500]),
    ("oLMpics", "Objects-Comparison", 2, &[5_000, 500]),
    ("oLMpics", "Antonym-Negation", 2, &[4_779, 500]),
    ("oLMpics", "Property-Conjunction", 3, &[4_000, 483]),
    ("oLMpics", "Taxonomy-Conjunction", 3, &[5_310, 599]),
    ("oLMpics", "Encyclopedic-Composition", 3, &[5_317, 500]),
    ("oLMpics", "Multi-Hop Composition", 3, &[5_000, 500]),
    ("LAMA", "Google-RE / birth-place", 0, &[1_937]),
    ("LAMA", "Google-RE / birth-date", 0, &[1_825]),
    ("LAMA", "Google-RE / death-place", 0, &[765]),
    ("LAMA", "T-REx / 1-1", 0, &[5_527]),
    ("LAMA", "T-REx / N-1", 0, &[20_006]),
    ("LAMA", "T-REx / N-M", 0, &[13_096]),
    ("LAMA", "ConceptNet", 0, &[11_458]),
    ("LAMA", "SQuAD", 0, &[305]),
    ("CAT", "Conjunction Accessibility", 0, &[183]),
    ("CAT", "Winograd Schema Challenge", 0, &[283]),
    ("CAT", "Sense Making", 0, &[1_877]),
    ("CAT", "Sense Making with Reasoning", 0, &[2_021]),
    ("CAT", "SWAG", 0, &[1_001]),
    ("CAT", "HellaSWAG", 0, &[1_000]),
    ("CAT", "ability / arct_1", 0, &[444]),
    ("CAT", "ability / arct_2", 0, &[888]),
];

/// The tables of a run: `tasks` for folders of results, `recommended` and `datasets` for trained probes, `corrupted` for a corrupted
/// encoder.
pub fn all(results: &Results) -> Vec<Table> {
    let tasks = [true, false].into_iter().filter_map(|share| tasks(results, share));
    tasks.chain([recommended(results), datasets(results), corrupted(results)].into_iter().flatten()).collect()
}

fn table(name: &str, caption: &str, stub: &[&str], (mine, published): (Vec<Entry>, Vec<Entry>)) -> Option<Table> {
    (!mine.is_empty()).then(|| Table {
        name: name.into(),
        caption: caption.into(),
        stub: stub.iter().map(|s| (*s).to_owned()).collect(),
        decimals: 4,
        scale: 1.0,
        whole: WHOLE,
        entries: mine.into_iter().chain(published).collect(),
    })
}

fn entry(row: &[&str], column: &str, value: Option<Estimate>, n: usize) -> Entry {
    let row = row.iter().map(|r| (*r).to_owned()).collect();
    Entry { row, group: String::new(), column: column.into(), value, n, decimals: None }
}

fn count(n: u64) -> Option<Estimate> {
    Some(Estimate::exact(n as f64))
}

/// Tables 2 to 7: mean difference in a pilot and recommended training examples; `None` for a collapsed comparison.
fn recommended(results: &Results) -> Option<Table> {
    let rows = |what: &str, source: &str, items: usize, difference, train_on| {
        let row = [what, source, &grouped(items)];
        [entry(&row, "difference", difference, items), entry(&row, "train on", train_on, items)]
    };
    let task = results.configurations.first().map_or("", |c| c.value.task.as_str());
    let mine = results.sizes.iter().flat_map(|size| {
        let v = &size.value;
        let (difference, train_on) = asked(results, size);
        rows(&format!("{task}: {} against {}", v.a, v.b), RUN, size.n, difference, train_on)
    });
    let published = RECOMMENDED.iter().flat_map(|p| {
        let source = format!("Table {}", p.table);
        let print = move |(items, difference, train_on): &(usize, f64, u64)| {
            let cells = rows(p.what, &source, *items, Some(Estimate::exact(*difference)), count(*train_on));
            cells.map(|cell| Entry { decimals: Some(p.decimals()), ..cell })
        };
        p.rows.iter().flat_map(print).collect::<Vec<_>>()
    });
    let caption = "Mean difference in accuracy by number of test items in a pilot, and number of training examples that \
        the bound recommends (published: Zhu et al. 2022, Tables 2 to 7)";
    table("recommended", caption, &["Comparison", "Source", "Test items"], (mine.collect(), published.collect()))
}

/// The mean difference at a size, and the training examples recommended for it.
fn asked(results: &Results, size: &Tagged<RequiredFinding>) -> (Option<Estimate>, Option<Estimate>) {
    let difference = results.comparisons.iter().find(|c| c.n == size.n).map(|c| c.value.difference);
    (difference, size.value.n_train.filter(|_| results.collapsed().is_none()).and_then(count))
}

/// Table 2 in its printed form, one row per number of test items, with the run's columns before the published ones.
fn corrupted(results: &Results) -> Option<Table> {
    let is_corrupted = |name: &str| name.contains(", corrupted ");
    let mine = results.sizes.iter().filter(|s| is_corrupted(&s.value.a) || is_corrupted(&s.value.b));
    let cells = |group: &str, items: usize, difference, train_on| {
        [("mean difference", difference), ("train on", train_on)]
            .map(|(column, value)| Entry { group: group.into(), ..entry(&[&grouped(items)], column, value, items) })
    };
    let mine: Vec<Entry> = mine
        .flat_map(|size| {
            let (difference, train_on) = asked(results, size);
            cells(RUN, size.n, difference, train_on)
        })
        .collect();
    let published = RECOMMENDED[0].rows.iter().flat_map(|(items, difference, train_on)| {
        cells("Zhu et al.", *items, Some(Estimate::exact(*difference)), count(*train_on))
    });
    let caption = "An encoder against the same encoder corrupted: mean difference in accuracy by number of test items \
        in a pilot, and number of training examples that the bound recommends (Zhu et al. 2022, Table 2: BERT on \
        bigram_shift)";
    table("corrupted", caption, &["Test items"], (mine, published.collect()))
}

/// Tables 8 and 9: sizes of probing data sets.
fn datasets(results: &Results) -> Option<Table> {
    let largest = results.configurations.iter().filter(|c| c.value.n_train > 0).max_by_key(|c| c.value.n_train);
    let mine = largest.into_iter().flat_map(|c| {
        let row = [RUN, c.value.task.as_str()];
        let known = [("train", c.value.n_train), ("test", c.n)];
        let of = move |column: &&str| known.iter().find(|(name, _)| name == column).map(|(_, n)| *n as u64);
        COLUMNS.iter().map(move |column| entry(&row, column, of(column).and_then(count), 0)).collect::<Vec<_>>()
    });
    let published = DATASETS.iter().flat_map(|(suite, task, classes, counts)| {
        let known = (*classes > 0).then_some(("classes", *classes));
        let columns = COUNTS[counts.len() - 1].iter().copied().zip(counts.iter().copied());
        known.into_iter().chain(columns).map(move |(column, n)| entry(&[suite, task], column, count(n), 0))
    });
    let caption = "Examples of the largest probes, and sizes of published data sets for probing (Zhu et al. 2022, Tables 8 and 9)";
    table("datasets", caption, &["Suite", "Task"], (mine.collect(), published.collect()))
}

/// Tasks of two or more folders, with the means over the tasks. `share` selects proportions; otherwise metrics in other units are selected.
fn tasks(results: &Results, share: bool) -> Option<Table> {
    let mut entries = Vec::new();
    let mut row = |names: [&str; 3], n: usize, cells: &[(&str, Option<Estimate>)]| {
        entries.extend(cells.iter().map(|(column, value)| Entry {
            row: names.map(str::to_owned).into(),
            group: String::new(),
            column: (*column).to_owned(),
            value: *value,
            n,
            decimals: None,
        }));
    };
    let number = |x: f64| Some(Estimate::exact(x));
    // Three significant digits, so that a small p-value is never 0.
    let p = |x: Option<f64>| {
        let digits = |p: f64| 10f64.powf(2.0 - p.log10().floor());
        x.map(|x| Estimate::exact(if x > 0.0 { (x * digits(x)).round() / digits(x) } else { x }))
    };
    for t in results.tasks.iter().filter(|t| t.value.share == share) {
        let (v, d) = (&t.value, t.value.difference);
        let cells = [
            ("A", number(v.mean_a)),
            ("B", number(v.mean_b)),
            ("A − B", Some(d)),
            ("low", number(d.lo)),
            ("high", number(d.hi)),
            ("p", p(Some(v.p))),
            ("Holm p", p(Some(v.holm_p))),
        ];
        row([&v.a, &v.b, &v.task], t.n, &cells);
    }
    for t in results.pooled.iter().filter(|_| share) {
        let (v, d) = (&t.value, t.value.difference);
        let ends = |end: f64| v.p.map(|_| Estimate::exact(end));
        let cells = [
            ("A", None),
            ("B", None),
            ("A − B", number(d.mean)),
            ("low", ends(d.lo)),
            ("high", ends(d.hi)),
            ("p", p(v.p)),
            ("Holm p", p(v.holm_p)),
        ];
        row([&v.a, &v.b, &format!("({})", v.over)], t.n, &cells);
    }
    let (name, unit) = if share { ("tasks", "points") } else { ("tasks-own", "the metric's own unit") };
    let level = results.tasks.first().and_then(|t| t.level).unwrap_or(0.95);
    let caption = format!(
        "Tasks of the compared systems, in {unit}, with {} intervals; p adjusted with Holm's method over the tasks of a \
         pair.",
        base::numbers::percent(level)
    );
    let (decimals, scale) = if share { (1, 100.0) } else { (3, 1.0) };
    let stub = ["system A", "system B", "task"].map(str::to_owned).into();
    let some = !entries.is_empty();
    some.then(|| Table { name: name.into(), caption, stub, decimals, scale, whole: &["p", "Holm p"], entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In table 2, the row for 64 test items also has the published number.
    #[test]
    fn corrupted_encoder_table_shows_published_numbers() {
        let open = crate::finding::Open { mean: Some(100.0), lo: None, hi: None };
        let mut results = crate::survey::tests::asking(open);
        let mut size = results.required.clone().unwrap();
        size.n = 64;
        results.sizes = vec![size];
        assert!(corrupted(&results).is_none());
        results.sizes[0].value.b = "bert-mini, corrupted 200".into();
        let text = corrupted(&results).unwrap().write(lab::table::Form::Markdown);
        assert!(text.contains("| 64 | – | 50,000 | 0.1313 | 22,263 |"), "{text}");
        assert!(text.contains("| 16,384 | – | – | 0.1488 | 17,331 |"), "{text}");
    }

    /// Regression: a recorded comparison of folders used to have no table to export.
    #[test]
    fn folder_tasks_have_a_table_with_means() {
        use crate::finding::Kind;
        use crate::tasks::{PooledFinding, TaskFinding, TaskVerdict};
        let label = lab::finding::Label::new(&crate::Spec::shipped(), "x,y");
        let mut results = Results::default();
        let difference = Estimate { mean: -0.05, lo: -0.09, hi: -0.01 };
        let task = TaskFinding {
            a: "x".into(),
            b: "y".into(),
            task: "arc".into(),
            metric: "acc".into(),
            mean_a: 0.70,
            mean_b: 0.75,
            difference,
            p: 0.000_012_34,
            holm_p: 0.02,
            verdict: TaskVerdict::BBetter,
            test: "mid-p McNemar".into(),
            share: true,
        };
        let (a, b, over) = ("x".into(), "y".into(), "micro".into());
        let pooled = PooledFinding { a, b, over, tasks: 1, difference, p: None, holm_p: None };
        for kind in [Kind::Task(task), Kind::Pooled(pooled)] {
            results.take(label.finding(200, true, 1.0, kind.clone()).head(), &kind);
        }
        let table = &all(&results)[0];
        let text = table.write(lab::table::Form::Markdown);
        assert!(text.contains("| x | y | arc | 70.0 | 75.0 | -5.0 | -9.0 | -1.0 | 0.0000123 | 0.02 |"), "{text}");
        assert!(text.contains("| x | y | (micro) | – | – | -5.0 | – | – | – | – |"), "{text}");
    }
    use crate::bound::{Bound, Counted, DELTA, recommended as by_bound};

    /// Each printed recommendation is between the recommendations for the ends of its rounded difference.
    #[test]
    fn published_recommendations_follow_from_differences() {
        for p in &RECOMMENDED {
            let dim = if p.what.contains("InferSent") { 4096 } else { 768 };
            // Table 4 prints .012 for .01147, which was rounded twice.
            let (half, whole) = (0.55 * 10f64.powi(-(p.decimals() as i32)), if p.table == 7 { 2.0 } else { 1.0 });
            for (items, difference, train_on) in p.rows {
                let at = |difference: f64| {
                    let gap = whole * difference;
                    by_bound(Bound::Published, gap, Counted::Linear.parameters(dim), DELTA).unwrap().n_train
                };
                let between = at(difference + half)..=at(difference - half) + 1;
                assert!(between.contains(train_on), "Table {}, {items}: {between:?}", p.table);
            }
        }
    }
}

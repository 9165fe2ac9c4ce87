//! Tests the data-set readers with changed files: one target per format.

use super::*;
use probity::lab::saliency::elsewhere::{Gathered, SizeRule};
use probity::lab::saliency::metrics::judge::{Judged, Rules};
use probity::lab::saliency::metrics::map::Membership;
use probity::lab::saliency::metrics::summary::cell;
use probity::lab::saliency::metrics::top_k::Size;

/// Reads a data set and uses its rows in every way that the program does.
pub(crate) fn rows(file: &str, bytes: Vec<u8>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rows").join(file);
    let told = |e: &ReadError| {
        assert_eq!(e.file.parent(), path.parent(), "{e}");
        assert!(!e.what.is_empty() && !e.expected.is_empty() && e.line != Some(0), "{e}");
    };
    // Some formats have companion files, which are found through the name of the unchanged file.
    let mut doctor = Doctor::new(&Set::open(&path).expect("the unchanged file"), Vec::new(), 5);
    let reading = match timed(|| Reading::stream(Box::new(std::io::Cursor::new(bytes)), &path)) {
        Ok(reading) => reading,
        Err(e) => return told(&e),
    };
    let mut seen = 0;
    let read = timed(|| {
        reading.rows(&mut |row, line| {
            seen += 1;
            assert!(line > 0);
            doctor.examine(0, &row, line);
            let line = plain::line(&row);
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert_eq!(plain::escaped(line.clone()), line);
            ControlFlow::Continue(())
        })
    });
    match read {
        Ok(report) => assert!(report.rows == seen && seen > 0),
        Err(e) => told(&e),
    }
}

/// Generates a fuzz target for each reader.
macro_rules! readers {
    ($($name:ident: $file:literal,)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(200))]
            $(#[test]
            fn $name(changes in edits()) {
                rows($file, mutate(include_bytes!(concat!("../rows/", $file)), &changes));
            })*
        }
    };
}

readers! {
    rows_of_agreement: "agreement.tsv",
    rows_of_bear: "bear.jsonl",
    rows_of_bear_metadata: "bear-metadata.json",
    rows_of_bear_results: "bear-results.jsonl",
    rows_of_bear_run: "bear-run.json",
    rows_of_blimp: "blimp.jsonl",
    rows_of_blimp_table: "blimp-table.csv",
    rows_of_causal_eval_prompts: "causaleval-prompts.jsonl",
    rows_of_causal_eval_samples: "causaleval-samples.json",
    rows_of_ding_koehn: "ding-koehn.jsonl",
    rows_of_ding_koehn_prefixes: "ding_koehn/all.prefx.txt",
    rows_of_eraser: "eraser/train.jsonl",
    rows_of_eraser_predictions: "eraser-predictions.jsonl",
    rows_of_inseq: "inseq.json",
    rows_of_inseq_as_it_saves_by_default: "inseq-saved.json",
    rows_of_lama: "lama.jsonl",
    rows_of_lama_relations: "lama-relations.jsonl",
    rows_of_lgd: "lgd.tsv",
    rows_of_lgd_test_set: "lgd-testset.tsv",
    rows_of_lpaqa: "lpaqa.txt",
    rows_of_lpaqa_weighted: "lpaqa-weighted.jsonl",
    rows_of_nonce: "nonce.tsv",
    rows_of_pararel: "pararel.jsonl",
    rows_of_pararel_facts: "pararel-facts.jsonl",
    rows_of_plain: "plain.jsonl",
    rows_of_rationale: "rationale.jsonl",
    rows_of_rationale_predictions: "rationale-predictions.jsonl",
    rows_of_results: "results-table.tsv",
    rows_of_scored_rationales: "scored-rationales.jsonl",
    rows_of_senteval: "senteval.txt",
    rows_of_vectors: "vectors.txt",
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// External scores, from reading them to computing the means.
    #[test]
    fn changed_scores_are_judged_or_refused(changes in edits()) {
        let bytes = mutate(include_bytes!("../rows/scored-rationales.jsonl"), &changes);
        let Ok(reading) = Reading::stream(Box::new(std::io::Cursor::new(bytes)), Path::new("fuzz")) else { return Ok(()) };
        let mut gathered = Gathered::default();
        let read = reading.rows(&mut |row, _| {
            gathered.push(row).expect("few rows");
            ControlFlow::Continue(())
        });
        if read.is_err() {
            return Ok(());
        }
        let rules = Rules { membership: Membership::Position, ..Rules::new(Size::Gold) };
        if let Ok(found) = timed(|| gathered.judge(None, SizeRule::Own, &rules)) {
            let all: Vec<&Judged> = found.judged.iter().map(|(_, j)| j).collect();
            let whole = timed(|| cell(&all, None, 0.05, 0.95));
            for e in [whole.token_f1, whole.random_f1, whole.map, whole.random_map].into_iter().flatten() {
                assert!(e.lo <= e.mean + 1e-9 && e.mean <= e.hi + 1e-9 && (-1e-9..=1.0 + 1e-9).contains(&e.mean), "{e:?}");
            }
        }
    }
}

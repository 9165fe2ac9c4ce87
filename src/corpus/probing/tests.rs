//! What holds for every probing task.

use super::*;
use proptest::prelude::*;

#[test]
fn names_are_unique_and_unknown_ones_are_refused() {
    let ids: HashSet<_> = PROBING.iter().map(|t| t.id).collect();
    assert_eq!(ids.len(), PROBING.len());
    let error = ProbingTask::named("tense\u{1b}[2J").unwrap_err().to_string();
    assert!(error.contains("past_present") && !error.contains('\u{1b}'), "{error}");
    assert!(PROBING.iter().all(|t| ProbingTask::named(t.id).is_ok()));
}

#[test]
fn sets_are_balanced_different_and_plain() {
    for task in PROBING {
        let set = task.examples(1_200, 3).unwrap();
        let mut counts = vec![0; task.labels.len()];
        let mut texts = HashSet::new();
        for e in &set.examples {
            counts[e.label] += 1;
            assert!(texts.insert(&e.text), "{}", e.text);
            let plain = |c: char| c.is_ascii_lowercase() || " ,.".contains(c);
            assert!(e.text.chars().all(plain) && e.text.ends_with(" ."), "{}", e.text);
        }
        println!("{}: {counts:?}; {} | {}", task.id, set.examples[0].text, set.examples[1].text);
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{}: {counts:?}", task.id);
    }
}

#[test]
fn lengths_lie_in_their_bins() {
    let bins = [(5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28)];
    for e in ProbingTask::named("sentence_length").unwrap().examples(600, 1).unwrap().examples {
        let (low, high) = bins[e.label];
        assert!((low..=high).contains(&e.text.split(' ').count()), "{}", e.text);
    }
}

/// Sorted, a shifted sentence has the words of a sentence; two neighbours swapped back make one.
#[test]
fn labels_are_written_into_the_sentences() {
    let examples = |id: &str| ProbingTask::named(id).unwrap().examples(400, 5).unwrap().examples;
    for e in examples("coordination_inversion") {
        let pronoun = ["she", "he", "it", "they"].iter().any(|p| e.text.starts_with(&format!("{p} ")));
        assert_eq!(pronoun, e.label == 1, "{}", e.text);
    }
    let determiners = ["the", "my", "your", "his", "her", "our", "their"];
    for e in examples("subj_number").iter().filter(|e| !e.text.contains(" , ")) {
        // The first noun of a sentence without anything before it is the subject.
        let noun = e.text.split(' ').find_map(|w| {
            let nouns = crate::corpus::micro::lexicon::NOUNS.iter();
            nouns.clone().find_map(|n| n.forms.iter().position(|f| *f == w))
        });
        assert!(determiners.contains(&e.text.split(' ').next().unwrap()), "{}", e.text);
        assert_eq!(noun, Some(e.label), "{}", e.text);
    }
    for e in examples("past_present") {
        let words: Vec<&str> = e.text.split(' ').collect();
        let present =
            crate::corpus::micro::lexicon::VERBS.iter().flat_map(|v| v.forms).any(|f| words.contains(&f));
        assert_eq!(present, e.label == 0, "{}", e.text);
    }
}

#[test]
fn a_set_that_cannot_be_filled_is_an_error() {
    fn same(_: &mut ChaCha8Rng, _: usize) -> Option<Vec<String>> {
        Some(vec!["a".into()])
    }
    let stuck = ProbingTask { id: "stuck", title: "", labels: &["0"], write: same };
    assert_eq!(
        stuck.examples(2, 0).unwrap_err(),
        ProbingError::Exhausted { task: "stuck", wanted: 2, found: 1 }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn smaller_sets_begin_larger_ones_and_seeds_repeat(seed: u64, n in 0usize..40, more in 0usize..40) {
        for task in PROBING {
            let (small, large) = (task.examples(n, seed).unwrap(), task.examples(n + more, seed).unwrap());
            prop_assert_eq!(&small.examples[..], &large.examples[..n]);
            prop_assert_eq!(task.examples(n, seed).unwrap(), small);
        }
    }
}

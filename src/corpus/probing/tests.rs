//! Properties of all probing tasks.

use super::*;
use proptest::prelude::*;

#[test]
fn names_are_unique_and_unknown_ones_rejected() {
    let ids: HashSet<_> = PROBING.iter().map(|t| t.id).collect();
    assert_eq!(ids.len(), PROBING.len());
    let error = ProbingTask::named("tense\u{1b}[2J").unwrap_err().to_string();
    assert!(error.contains("past_present") && !error.contains('\u{1b}'), "{error}");
    assert!(PROBING.iter().all(|t| ProbingTask::named(t.id).is_ok()));
}

#[test]
fn sets_are_balanced_distinct_and_plain() {
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
fn lengths_are_within_their_bins() {
    let bins = [(5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28)];
    for e in ProbingTask::named("sentence_length").unwrap().examples(600, 1).unwrap().examples {
        let (low, high) = bins[e.label];
        assert!((low..=high).contains(&e.text.split(' ').count()), "{}", e.text);
    }
}

/// A shifted sentence consists of the words of a regular sentence, and swapping two neighbouring words restores it.
#[test]
fn labels_match_the_sentences() {
    let examples = |id: &str| ProbingTask::named(id).unwrap().examples(400, 5).unwrap().examples;
    let determiners = ["the", "my", "your", "his", "her", "our", "their"];
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let noun_ahead = |word: &str| crate::micro::lexicon::NOUNS.iter().any(|n| n.forms.contains(&word));
    for e in examples("coordination_inversion") {
        // The object of the clause that was originally second is a pronoun, not the determiner of a noun.
        let words = words(&e.text);
        let joint = words.iter().rposition(|w| w == ",").unwrap();
        let is = |k: usize| match words[k].as_str() {
            "him" | "it" | "them" => true,
            "her" => !words[k + 1..].iter().take(2).any(|w| noun_ahead(w)),
            _ => false,
        };
        let pronouns: Vec<usize> = (0..words.len()).filter(|k| is(*k)).collect();
        assert_eq!(pronouns.len(), 1, "{}", e.text);
        assert_eq!(pronouns[0] < joint, e.label == 1, "{}", e.text);
        for first in [0, joint + 2] {
            assert!(determiners.contains(&words[first].as_str()), "{}", e.text);
        }
    }
    for e in examples("subj_number").iter().filter(|e| !e.text.contains(" , ")) {
        // Without a preceding phrase, the first noun of a sentence is the subject.
        let noun = e.text.split(' ').find_map(|w| {
            let nouns = crate::micro::lexicon::NOUNS.iter();
            nouns.clone().find_map(|n| n.forms.iter().position(|f| *f == w))
        });
        assert!(determiners.contains(&e.text.split(' ').next().unwrap()), "{}", e.text);
        assert_eq!(noun, Some(e.label), "{}", e.text);
    }
    for e in examples("past_present") {
        let words: Vec<&str> = e.text.split(' ').collect();
        let present = crate::micro::lexicon::VERBS.iter().flat_map(|v| v.forms).any(|f| words.contains(&f));
        assert_eq!(present, e.label == 0, "{}", e.text);
    }
}

/// Hashes are fixed, so that specs with these tasks keep their meaning.
#[test]
fn lengths_and_depths_are_pinned() {
    let hash = |id: &str| ProbingTask::named(id).unwrap().examples(12_000, 0).unwrap().hash;
    assert_eq!(hash("tree_depth"), "d2c4d72593983b9bd0a279f15c9cc6852f90be794710395ba1b7abd0df1b2817");
    assert_eq!(hash("sentence_length"), "9c141654055c620f15b9fb7457977a8bcac0c239ad35c5e52e6dc3ecca06c5ad");
}

/// All occurrences of a probed word are in one group.
#[test]
fn target_words_occur_in_one_part_only() {
    use crate::micro::lexicon::{NOUNS, VERBS};
    let noun = |w: &str| NOUNS.iter().position(|n| n.forms.contains(&w));
    let is_past = |v: &crate::micro::lexicon::Verb, w: &str| (0..2).any(|n| past::past(v.forms, n) == Some(w));
    let verb = |w: &str| VERBS.iter().position(|v| v.forms.contains(&w) || is_past(v, w));
    for (id, nouns) in [("subj_number", true), ("past_present", false)] {
        let set = ProbingTask::named(id).unwrap().examples(4_800, 6).unwrap();
        let mut groups: std::collections::HashMap<usize, HashSet<Option<usize>>> = Default::default();
        let mut counts = [[0usize; 3]; 2];
        for (e, part) in set.examples.iter().zip(set.splits()) {
            counts[e.label][part as usize] += 1;
            let body = e.text.split_once(" , ").map_or(e.text.as_str(), |(_, body)| body);
            // Relative clauses contain additional verbs.
            if body.contains(" who ") || body.contains(" that ") {
                continue;
            }
            let found = body.split(' ').find_map(|w| if nouns { noun(w) } else { verb(w) });
            groups.entry(found.expect("a probed word")).or_default().insert(e.group);
        }
        assert_eq!(counts, [[2_000, 200, 200]; 2], "{id}");
        assert!(groups.len() > 60 && groups.values().all(|g| g.len() == 1), "{id}: {groups:?}");
    }
    for e in ProbingTask::named("tree_depth").unwrap().examples(50, 6).unwrap().examples {
        assert_eq!(e.group, None);
    }
}

/// The word categories of a shifted sentence never form a sentence of the grammar, nor any other English sentence that a swap could
/// produce.
#[test]
fn shifted_sentences_are_ungrammatical() {
    use crate::micro::lexicon::{self, ADJECTIVES, NOUNS, PAST_INTRANSITIVE, PREPOSITIONS, VERBS};
    let listed = |list: &[lexicon::Word], w: &str| list.iter().any(|x| x.0 == w);
    let pasts = |forms| (0..2).filter_map(move |n| past::past(forms, n));
    let verbs: HashSet<&str> = VERBS.iter().flat_map(|v| v.forms.into_iter().chain(pasts(v.forms))).collect();
    let kind = |w: &str| -> String {
        match w {
            "the" | "my" | "your" | "his" | "her" | "our" | "their" => "D".into(),
            "who" | "that" => "R".into(),
            _ if verbs.contains(w) || listed(PAST_INTRANSITIVE, w) => "V".into(),
            _ if NOUNS.iter().any(|n| n.forms.contains(&w)) => "N".into(),
            _ if listed(ADJECTIVES, w) => "A".into(),
            _ if listed(PREPOSITIONS, w) => "P".into(),
            _ => w.to_owned(),
        }
    };
    let kinds = |text: &str| text.split(' ').map(kind).collect::<Vec<_>>().join(" ");
    let task = ProbingTask::named("bigram_shift").unwrap();
    let written: HashSet<String> =
        task.examples(12_000, 11).unwrap().examples.iter().filter(|e| e.label == 0).map(|e| kinds(&e.text)).collect();
    let mut shifted = 0;
    for e in task.examples(3_000, 12).unwrap().examples.iter().filter(|e| e.label == 1) {
        let found = kinds(&e.text);
        shifted += 1;
        assert!(!written.contains(&found), "{}", e.text);
        for adverb in ["slowly", "quickly", "again", "now", "today", "here", "there"] {
            let before = [format!("{adverb} V"), format!("{adverb} A")];
            assert!(!before.iter().any(|b| found.contains(b)), "{}", e.text);
        }
        // "paints the house red" is English.
        assert!(!found.contains("V D N A") && !found.contains("V R V"), "{}", e.text);
    }
    assert!(shifted > 1_400);
}

#[test]
fn unfillable_set_is_an_error() {
    fn same(_: &mut ChaCha8Rng, _: usize, _: Among<'_>) -> Option<Vec<String>> {
        Some(vec!["a".into()])
    }
    let stuck = ProbingTask { id: "stuck", title: "", labels: &["0"], dealt: GroupedWords::Nothing, write: same };
    assert_eq!(stuck.examples(2, 0).unwrap_err(), ProbingError::Exhausted { task: "stuck", wanted: 2, found: 1 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn smaller_sets_are_prefixes_and_seeds_repeat(seed: u64, n in 0usize..40, more in 0usize..40) {
        for task in PROBING {
            let (small, large) = (task.examples(n, seed).unwrap(), task.examples(n + more, seed).unwrap());
            prop_assert_eq!(&small.examples[..], &large.examples[..n]);
            prop_assert_eq!(task.examples(n, seed).unwrap(), small);
        }
    }
}

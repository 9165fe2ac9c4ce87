//! Tests of the built-in tasks: names, labels, streams, frequencies.

use super::*;
use proptest::prelude::*;

fn task() -> &'static Task {
    Task::named("agreement").unwrap()
}

#[test]
fn unknown_name_error_lists_the_known_ones() {
    let error = Task::named("tense").unwrap_err().to_string();
    assert!(error.contains("tense") && error.contains("agreement"), "{error}");
    assert_eq!(task().property("attractor_number"), Some(1));
    assert_eq!(task().property("colour"), None);
}

#[test]
fn identifiers_are_unique_and_labels_name_values() {
    let ids: HashSet<_> = TASKS.iter().map(|t| t.id).collect();
    assert_eq!(ids.len(), TASKS.len());
    for task in TASKS {
        assert_ne!(task.properties[0].id, task.properties[1].id);
        for e in task.examples(300, 1, &Frequencies::natural()).unwrap().examples {
            for property in task.labelled() {
                assert!(property.of(&e).is_none_or(|l| usize::from(l) < property.values.len()));
            }
            assert_eq!(task.properties[0].of(&e), Some(e.zc), "the form agrees with the first property");
        }
    }
}

#[test]
fn examples_are_consistent() {
    let set = task().examples(3_000, 9, &Frequencies::natural()).unwrap();
    let prefixes: HashSet<_> = set.examples.iter().map(|e| &e.prefix).collect();
    assert_eq!(prefixes.len(), 3_000);
    for e in &set.examples {
        assert_eq!(e.text.matches(MASK).count(), 1);
        assert!(e.text.starts_with(&format!("{} {MASK}", e.prefix)), "{}", e.text);
        let filled = e.filled(&e.forms[usize::from(e.zc)]);
        assert!(!filled.contains(MASK) && filled.starts_with(&e.prefix));
    }
}

/// The hash is fixed: a change would alter the meaning of every spec with this task.
#[test]
fn examples_are_pinned() {
    let set = task().examples(200, 0, &Frequencies::natural()).unwrap();
    assert_eq!(set.examples[0].text, FIRST);
    assert_eq!(set.hash, HASH);
}

const FIRST: &str = "The long shirt [MASK] from my rabbit.";
const HASH: &str = "5304d249595fee12ab0cdfa861f79cf05fa8cd43871a9e4b16925bad3aeb8f29";

/// The examples are those of `agreement`, but the hash differs because it covers different labels.
#[test]
fn animacy_takes_three_values_on_agreement_sentences() {
    let task = Task::named("animacy").unwrap();
    let set = task.examples(2_000, 0, &Frequencies::natural()).unwrap();
    let mut counts = [[0.0f64; 3]; 2];
    for (e, same) in set
        .examples
        .iter()
        .zip(Task::named("agreement").unwrap().examples(2_000, 0, &Frequencies::natural()).unwrap().examples)
    {
        assert_eq!(*e, same);
        counts[usize::from(e.zc)][usize::from(task.properties[1].of(e).unwrap())] += 1.0;
    }
    println!("{counts:?}");
    assert_eq!(set.examples[..200], self::task().examples(200, 0, &Frequencies::natural()).unwrap().examples[..]);
    assert_ne!(task.examples(200, 0, &Frequencies::natural()).unwrap().hash, HASH);
    assert!(counts.iter().flatten().all(|n| *n > 50.0), "{counts:?}");
    // Number is drawn independently of the noun, so each noun's share of singulars is within 5 standard deviations of the overall share.
    let sg: f64 = counts[0].iter().sum::<f64>() / 2_000.0;
    for k in 0..3 {
        let n = counts[0][k] + counts[1][k];
        assert!((counts[0][k] / n - sg).abs() < 5.0 * (sg * (1.0 - sg) / n).sqrt(), "{counts:?}");
    }
}

/// Probing the attractor's number requires enough examples, but in `agreement` only one sentence in six has an attractor.
#[test]
fn attractor_sentences_have_natural_shares() {
    let set = Task::named("attractors").unwrap().examples(6_000, 3, &Frequencies::natural()).unwrap();
    let mut counts = [[0.0f64; 3]; 2];
    set.examples.iter().for_each(|e| counts[usize::from(e.zc)][1 + usize::from(e.ze.unwrap())] += 1.0);
    let found = Frequencies::from_cells(counts).unwrap();
    let few = task().examples(6_000, 3, &Frequencies::natural()).unwrap().examples;
    let few = few.iter().filter(|e| e.ze.is_some()).count();
    println!("6000 with an attractor, {few} in agreement; phi {:.3}", found.phi());
    assert!(few * 5 < 6_000 && (found.phi() - Frequencies::natural().phi()).abs() < 0.05);
}

#[test]
fn counterfactuals_change_only_the_number() {
    for task in TASKS {
        for e in task.examples(300, 4, &Frequencies::natural()).unwrap().examples {
            let twin = e.counterfactual().unwrap();
            assert_eq!((twin.zc, twin.ze, twin.animacy), (1 - e.zc, e.ze, e.animacy));
            assert!(twin.text.starts_with(&format!("{} {MASK}", twin.prefix)), "{}", twin.text);
            let other = e.text.split(' ').zip(twin.text.split(' ')).filter(|(a, b)| a != b).count();
            assert_eq!((other, e.text.split(' ').count()), (1, twin.text.split(' ').count()), "{}", e.text);
            assert_eq!(twin.counterfactual(), Some(e));
        }
    }
}

/// At the sizes that the lab uses, shares match the requested ones within 6 standard deviations.
#[test]
fn frequencies_and_correlation_match_the_request() {
    for phi in [None, Some(-0.2), Some(0.0), Some(0.6)] {
        let frequencies = phi.map_or(Frequencies::natural(), |p| Frequencies::with_phi(p).unwrap());
        let n = 20_000;
        let mut counts = [[0.0f64; 3]; 2];
        for e in task().examples(n, 2, &frequencies).unwrap().examples {
            counts[usize::from(e.zc)][e.ze.map_or(0, |z| 1 + usize::from(z))] += 1.0;
        }
        println!("phi {phi:?}: {counts:?}");
        for (count, share) in counts.iter().flatten().zip(frequencies.cells().iter().flatten()) {
            let tolerance = 6.0 * (n as f64 * share * (1.0 - share)).sqrt();
            assert!((count - n as f64 * share).abs() < tolerance, "{count} for {share}");
        }
        let found = Frequencies::from_cells(counts).unwrap().phi();
        assert!((found - frequencies.phi()).abs() < 0.1, "{found} for {}", frequencies.phi());
    }
}

#[test]
fn repetitive_grammar_is_an_error() {
    fn one(seed: u64, f: Frequencies) -> Writer {
        let example = agreement(seed, f)(None);
        Box::new(move |_| example.clone())
    }
    let stuck = Task { write: Some(one), ..*task() };
    assert!(stuck.examples(1, 0, &Frequencies::natural()).is_ok());
    let error = stuck.examples(2, 0, &Frequencies::natural()).unwrap_err();
    assert_eq!(error, TaskError::Exhausted { task: "agreement", wanted: 2, found: 1 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn smaller_sets_are_prefixes_of_larger_ones(seed: u64, n in 0usize..60, more in 0usize..60) {
        let f = Frequencies::natural();
        let small = task().examples(n, seed, &f).unwrap();
        let large = task().examples(n + more, seed, &f).unwrap();
        prop_assert_eq!(&small.examples[..], &large.examples[..n]);
        prop_assert_eq!(small.hash == large.hash, more == 0);
        prop_assert_eq!(task().examples(n, seed, &f).unwrap(), small);
    }

    #[test]
    fn verb_form_matches_the_label(seed: u64) {
        for e in task().examples(20, seed, &Frequencies::balanced()).unwrap().examples {
            let number = Number::ALL[usize::from(e.zc)];
            prop_assert_ne!(&e.forms[0], &e.forms[1]);
            let verb = super::super::micro::lexicon::VERBS.iter().find(|v| v.forms[number.index()] == e.forms[number.index()]);
            prop_assert!(verb.is_some());
        }
    }
}

/// The range extends from the first to the last word in which a text differs from its twin.
#[test]
fn words_differing_from_the_twin_are_found() {
    assert_eq!(differing("The keys near the door", "The key near the door"), Some([4, 8]));
    assert_eq!(differing("Die alten Schlüssel sind da", "Der alte Schlüssel sind da"), Some([0, 9]));
    assert_eq!(differing("one two", "one two three"), None, "no word of the text itself differs");
    assert_eq!(differing("the same", "the same"), None);
}

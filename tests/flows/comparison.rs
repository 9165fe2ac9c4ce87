//! The power lab: its run, its questions, and the family that its comparisons join.

use probity::lab::power::Results;
use probity::lab::power::question::Question as Terms;

use super::common::comparison::{adjusted, comparing, has_compared};
use super::*;

/// The terms that a command asks about.
fn asked(effects: &[Effect]) -> (u64, u64, f64) {
    match sent(effects)[..] {
        [
            Command::Ask {
                ticket,
                question:
                    Question::Experiment { generation, question: lab::Question::Power(Terms::Adjust(terms)) },
            },
        ] => (*ticket, *generation, terms.target),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_slider_asks_for_the_comparison_under_other_terms_and_the_answer_is_shown() {
    let mut h = has_compared(120, 40);
    let needed = |h: &Harness| h.state.board.results::<Results>().needed().unwrap().value.clone();
    let before = needed(&h);
    assert_eq!(before.target, 0.8);
    let (ticket, generation, target) = asked(&h.keys("l"));
    assert_eq!((generation, target), (2, 0.9));
    let spec = h.state.screens.power.spec.clone();
    h.event(adjusted(&spec, generation, ticket));
    let after = needed(&h);
    assert!(after.target == 0.9 && after.n_test.mean > before.n_test.mean, "{after:?}");
    assert!(h.screen().contains("wanted power") || h.screen().contains("needed for 0.9"));
    // An older answer changes nothing.
    h.event(adjusted(&probity::lab::power::Spec::shipped(), generation, ticket - 1));
    assert_eq!(needed(&h), after);
}

#[test]
fn comparisons_join_the_family_of_the_session() {
    let mut h = has_compared(120, 40);
    assert_eq!(h.state.board.family.len(), 2);
    h.keys("f");
    assert!(h.screen().contains("bert-mini"), "{}", h.screen());
    assert_eq!(fold(&h.record).family, h.state.board.family);
}

#[test]
fn before_a_comparison_sliders_ask_nothing() {
    let mut h = comparing(120, 40);
    assert!(sent(&h.keys("l")).is_empty());
    assert!(h.screen().contains("Verdict"));
    h.keys("x");
    assert_eq!(h.state.screens.power.spec.encoder(false), "bert-mini");
}

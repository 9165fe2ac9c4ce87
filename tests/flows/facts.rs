//! The prompts lab: questions that its keys send, and the effects of the answers.

use probity::lab::prompts::question::Question as Asked;
use probity::tui::screens::prompts::{ASKED, FIGURE, INSTANCES, RELATIONS};

use super::*;

/// The latest question sent to the prompts lab.
fn asked(effects: &[Effect]) -> Option<Asked> {
    sent(effects).into_iter().rev().find_map(|command| match command {
        Command::Ask { question: Question::Experiment { question: lab::Question::Prompts(asked), .. }, .. } => {
            Some(asked.clone())
        }
        _ => None,
    })
}

#[test]
fn typed_prompt_is_asked_and_listed() {
    let mut h = Harness::recalling(120, 40, true);
    h.keys("o");
    h.typed("[X] : [Y]");
    let effects = h.keys("enter");
    let Some(Asked::Prompt(own)) = asked(&effects) else { panic!("{effects:?}") };
    assert_eq!((own.relation.as_str(), own.prompt.as_str()), ("field", "[X] : [Y]"));
    assert!(!h.screen().contains("+ [X] : [Y]"));
    h.answer_facts();
    assert!(h.screen().contains("+ [X] : [Y]"), "{}", h.screen());
    h.keys("o");
    h.typed("nothing");
    assert!(h.keys("enter").is_empty());
    assert!(h.screen().contains("[X] and [Y] once each"), "{}", h.screen());
}

#[test]
fn other_relation_shows_its_prompts_and_instances() {
    let mut h = Harness::recalling(120, 40, true);
    h.focus(RELATIONS);
    h.keys("j j");
    assert!(h.screen().contains("Shops in [X] take the [Y]"), "{}", h.screen());
    h.focus(ASKED);
    h.keys("j");
    let effects = h.keys("enter");
    let Some(Asked::Look(look)) = asked(&effects) else { panic!("{effects:?}") };
    assert_eq!((look.relation.as_str(), look.prompt.as_str()), ("currency", "In [X] people pay with the [Y] ."));
    h.answer_facts();
    h.focus(INSTANCES);
    h.keys("j j");
    let Some(Asked::Look(look)) = asked(&h.keys("enter")) else { panic!() };
    assert_eq!((look.instance, look.mention), (2, 0));
}

#[test]
fn figures_are_drawn_at_both_sizes_and_exported() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut h = Harness::recalling(columns, rows, true);
        h.focus(FIGURE);
        let mut exported = 0;
        for _ in 0..13 {
            h.keys("]");
            h.screen();
            h.keys("x");
            if h.state.popup_name() == Some("export") {
                exported += usize::from(matches!(h.keys("enter")[..], [Effect::Export(..)]));
            }
        }
        assert!(exported >= 8, "{exported} at {columns}x{rows}");
    }
}

#[test]
fn key_toggles_published_numbers() {
    let mut h = Harness::recalling(120, 40, true);
    h.focus(FIGURE);
    h.keys("b");
    assert!(h.screen().contains("this figure has none"), "{}", h.screen());
    h.keys("] ]");
    assert!(h.screen().contains("original, published"), "{}", h.screen());
    let effects = h.keys("x enter");
    assert!(effects.iter().any(|e| matches!(e, Effect::Export(..))), "{effects:?}");
    h.keys("b");
    assert!(!h.screen().contains("original, published"), "{}", h.screen());
}

/// Regression: the numbers below a figure used to be cut at 120 columns.
#[test]
fn important_numbers_fit_at_120_columns() {
    let mut h = Harness::recalling(120, 40, true);
    h.focus(FIGURE);
    for _ in 0..13 {
        if h.screen().contains("whole order: original") {
            break;
        }
        h.keys("]");
    }
    let screen = h.screen();
    let told = screen.split("whole order: original").nth(1).unwrap_or_default();
    assert!(told.contains("1000 draws") && told.contains("3 relations"), "{screen}");
}

#[test]
fn results_stay_while_another_lab_runs() {
    let mut h = Harness::recalling(120, 40, true);
    h.keys("2 r");
    h.events_of(2, measured(480, false));
    h.keys("1");
    assert!(h.screen().contains("The field of [X] is [Y] ."), "{}", h.screen());
}

#[test]
fn record_rebuilds_the_shown_board() {
    let mut h = Harness::recalling(120, 40, true);
    h.keys("o");
    h.typed("[X] : [Y]");
    h.keys("enter");
    h.answer_facts();
    assert_eq!(fold(&h.record), h.state.board);
}

//! Tests of the screen's questions and views, without an engine.

use super::*;
use crate::action::Action;
use crate::reduce::reduce;
use engine::message::{Event, Question};
use labs::Finding;
use labs::prompts::finding::{ALL, Kind, LeftOut};
use labs::prompts::testing;

fn finding(model: &str, kind: Kind) -> Finding {
    testing::finding(model, kind).map(Into::into)
}

fn findings() -> Vec<Finding> {
    testing::findings().into_iter().map(|f| f.map(Into::into)).collect()
}

/// A state whose run has all results.
fn finished() -> State {
    let spec: labs::Spec = Spec::shipped().into();
    let mut state = State::new(Start { spec, ..Start::new() });
    assert_eq!(state.view.screen, ID, "the lab of the spec is shown");
    job::run(&mut state);
    for f in findings() {
        reduce(&mut state, Action::Event(Box::new(Event::Finding { generation: 1, finding: Box::new(f) })));
    }
    state
}

fn asked(effects: &[Effect]) -> Vec<Asked> {
    let of = |e: &Effect| match e {
        Effect::Send(Command::Ask {
            question: Question::Experiment { question: labs::Question::Prompts(asked), .. },
            ..
        }) => Some(asked.clone()),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn run_end_requests_instances_of_first_prompt() {
    let mut state = finished();
    let end = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 1.0 };
    let effects = reduce(&mut state, Action::Event(Box::new(end)));
    let [Asked::Look(look)] = &asked(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((look.relation.as_str(), look.instance, look.mention), ("capital", 0, 0));
    assert_eq!(look.prompt, "The capital of [X] is [Y] .");
}

#[test]
fn typed_prompt_is_asked_or_refused() {
    let mut state = finished();
    let effects = own::take_prompt(&mut state, " [X] : [Y] ").unwrap();
    let [Asked::Prompt(own)] = &asked(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((own.relation.as_str(), own.prompt.as_str()), ("capital", "[X] : [Y]"));
    assert_eq!(state.place(ID).scrolled(ASKED), 2, "after the two prompts of the relation");
    assert!(own::take_prompt(&mut state, "no gaps").unwrap_err().contains("[X] and [Y]"));
    // A left-to-right model cannot answer inside a sentence; the field reports this before anything is asked.
    let mut data = results(&state).data.as_ref().unwrap().value.clone();
    data.models[1].asked = "causal".into();
    let data = finding(ALL, Kind::Data(data));
    reduce(&mut state, Action::Event(Box::new(Event::Finding { generation: 1, finding: Box::new(data) })));
    assert!(own::take_prompt(&mut state, "[Y] of [X] .").unwrap_err().contains("so b cannot predict it"));
    let mut empty = State::new(Start::new());
    assert!(own::take_prompt(&mut empty, "[X] [Y]").is_err());
}

#[test]
fn figures_cycle_and_are_drawn() {
    let mut state = finished();
    let first = view(&state).drawn;
    for _ in drawn::PANES {
        SCREEN.refresh(&mut state);
        assert!(view(&state).figure.is_some(), "{:?}", view(&state).drawn);
        crate::reduce::look::turn(&mut state, true);
    }
    SCREEN.refresh(&mut state);
    assert_eq!(view(&state).drawn, first);
    crate::reduce::look::turn(&mut state, false);
    SCREEN.refresh(&mut state);
    assert_ne!(view(&state).drawn, first);
    let pairs: Vec<String> = (0..4)
        .map(|_| {
            turn_pair(&mut state, true);
            ledger::shown(&state).unwrap().value.b.clone()
        })
        .collect();
    assert_eq!(pairs, ["c", "c", "b", "c"]);
}

#[test]
fn panes_with_numbers_have_copy_and_provenance() {
    let mut state = finished();
    for pane in [frame_setup::PANE, RELATIONS, ASKED, FIGURE, LEDGER] {
        state.place_mut(ID).focus = pane;
        assert!(SCREEN.copy(&state).is_some_and(|t| !t.is_empty()), "{pane:?}");
    }
    for (pane, what, printed) in [
        (ASKED, "capital, `The capital of", "P@1 40.0"),
        (LEDGER, "adjusted gap of a and b", "of the variance"),
        (RELATIONS, "facts tested on every model", "held out"),
    ] {
        state.show(ID);
        state.focus_on(pane);
        SCREEN.refresh(&mut state);
        let origin = SCREEN.origin(&state).unwrap();
        assert!(origin.what.contains(what), "{}", origin.what);
        assert!(origin.entries.iter().any(|(_, v)| v.contains(printed)), "{:?}", origin.entries);
        assert_eq!(origin.command, "probity run prompts --json");
    }
    assert!(SCREEN.origin(&State::new(Start::new())).is_none());
}

/// Regression: for every figure, `i` used to show the consistency of all models.
#[test]
fn figure_provenance_matches_the_drawing() {
    let mut state = finished();
    state.place_mut(ID).focus = FIGURE;
    for (drawn, what) in [
        (Drawn::Prompts, "P@1 under each prompt"),
        (Drawn::Ranks, "models ranked by P@1"),
        (Drawn::Preference, "from the worst to the best prompt"),
        (Drawn::Turned, "from the worst to the best prompt"),
        (Drawn::Stability, "same answer under every name"),
        (Drawn::Consistency, "most frequent rank"),
        (Drawn::Places, "most frequent rank"),
        (Drawn::Curve, "most frequent complete order"),
        (Drawn::Ledger, "adjusted gap of a and b"),
        (Drawn::Disparity, "after further pretraining"),
        (Drawn::Causal(labs::prompts::causal::Bias::Sample), "D_a → D_b"),
    ] {
        view_mut(&mut state).drawn = drawn;
        let origin = SCREEN.origin(&state).unwrap();
        assert!(origin.what.contains(what), "{drawn:?}: {}", origin.what);
    }
    view_mut(&mut state).published = true;
    for (drawn, beneath) in [(Drawn::Stability, true), (Drawn::Curve, false)] {
        view_mut(&mut state).drawn = drawn;
        let printed = SCREEN.origin(&state).unwrap().entries.iter().any(|(k, _)| k == "beneath");
        assert_eq!(printed, beneath, "{drawn:?}");
    }
}

/// Regression: a typed prompt used to be lost in the next run.
#[test]
fn typed_prompt_is_kept_only_on_demand() {
    let mut state = finished();
    assert!(!own::can_keep(&state), "the first prompt is the relation's own");
    let own = match &findings().into_iter().find_map(|f| match f.body {
        labs::Body::Lab(labs::Kinds::Prompts(Kind::PromptScore(x))) => Some(x),
        _ => None,
    }) {
        Some(score) => labs::prompts::finding::PromptScoreFinding {
            prompt: "[X] : [Y]".into(),
            prompt_index: None,
            ..score.clone()
        },
        None => panic!("no score"),
    };
    let typed = finding("a", Kind::PromptScore(own));
    reduce(&mut state, Action::Event(Box::new(Event::Finding { generation: 1, finding: Box::new(typed) })));
    SCREEN.travel(&mut state, ASKED, 2);
    assert_eq!(prompt(&state), Some("[X] : [Y]"));
    assert!(view(&state).spec.data.own.is_empty(), "a tried prompt is not part of the experiment");
    assert!(own::can_keep(&state));
    own::keep(&mut state);
    assert_eq!(view(&state).spec.data.own["capital"], ["[X] : [Y]"]);
    assert!(own::can_keep(&state));
    own::keep(&mut state);
    assert!(view(&state).spec.data.own.is_empty());
}

/// Regression: P@k, MRR, and the held-out gap used to be in findings only.
#[test]
fn lists_cycle_through_measures() {
    let mut state = finished();
    let list = |state: &mut State, pane: Pane, turns: usize| -> Vec<String> {
        state.place_mut(ID).focus = pane;
        let turned = (0..turns).map(|_| {
            measures::turn(state);
            state.view.toast.clone().unwrap()
        });
        turned.collect()
    };
    let printed = list(&mut state, ASKED, 3);
    assert!(printed[0].contains("P@5") && printed[1].contains("MRR") && printed[2].contains("P@1"), "{printed:?}");
    let printed = list(&mut state, RELATIONS, 7);
    for (k, what) in [
        (0, "other instances"),
        (2, "standard deviation"),
        (3, "every name"),
        (4, "score of a"),
        (5, "minus that of b"),
    ] {
        assert!(printed[k].contains(what), "{printed:?}");
    }
    assert_eq!(view(&state).spread, Spread::Gap);
    // Each number must match its label.
    let of = |spread: Spread| spread.of(&state, "capital").unwrap();
    let gap = of(Spread::Gap);
    let wanted = [
        (Spread::HeldOut, gap - 0.05),
        (Spread::ByChance, 0.05),
        (Spread::Std, gap / 2.0),
        (Spread::Stability, 0.4),
        (Spread::Adjusted, 0.25),
        (Spread::Pair, 0.0),
    ];
    for (spread, value) in wanted {
        assert!((of(spread) - value).abs() < 1e-12 && gap > 0.1, "{spread:?}: {} of {gap}", of(spread));
    }
    let score = &results(&state).scores[0].value;
    let [first, among, mrr] =
        [Measure::First, Measure::Among, Measure::Reciprocal].map(|measure| measure.of(score).mean);
    assert!((among - first - 0.2).abs() < 1e-12 && (mrr - first - 0.1).abs() < 1e-12);
}

/// Regression: instances used to be reachable only from a relation and a prompt, not from results over all relations.
#[test]
fn every_number_leads_to_instances() {
    for (pane, drawn, spread) in [
        (LEDGER, Drawn::Prompts, Some(Spread::Pair)),
        (FIGURE, Drawn::Ledger, Some(Spread::Pair)),
        (FIGURE, Drawn::Preference, Some(Spread::Gap)),
        (FIGURE, Drawn::Turned, Some(Spread::Gap)),
        (FIGURE, Drawn::Stability, Some(Spread::Stability)),
        (FIGURE, Drawn::Consistency, Some(Spread::Adjusted)),
        (FIGURE, Drawn::Places, Some(Spread::Adjusted)),
        (FIGURE, Drawn::Curve, Some(Spread::Adjusted)),
        (FIGURE, Drawn::Prompts, None),
        (ASKED, Drawn::Curve, None),
        (RELATIONS, Drawn::Curve, None),
    ] {
        let mut state = finished();
        view_mut(&mut state).spread = Spread::Std;
        state.place_mut(ID).focus = if pane == FIGURE { drawn.pane() } else { pane };
        assert!(drill::can(&state));
        let effects = drill::down(&mut state);
        if let Some(spread) = spread {
            assert!(effects.is_empty());
            assert_eq!((view(&state).spread, state.place(ID).focus), (spread, RELATIONS), "{drawn:?}");
            assert!(spread.of(&state, "capital").is_some(), "{spread:?} of the relation");
            assert_eq!(asked(&drill::down(&mut state)).len(), 1);
        } else {
            assert_eq!(asked(&effects).len(), 1, "{pane:?}");
        }
        assert_eq!(state.place(ID).focus, INSTANCES);
    }
    let mut state = finished();
    state.place_mut(ID).focus = Drawn::Disparity.pane();
    assert!(drill::down(&mut state).is_empty());
    assert!(state.view.toast.is_some_and(|t| t.contains("no instances")));
}

#[test]
fn typed_weights_apply_to_the_selected_relation() {
    let mut state = finished();
    weights::ask(&mut state);
    assert_eq!(state.view.entry.as_ref().unwrap().buffer, "1 1", "the current weights are equal");
    for (text, printed) in [
        ("1", "has 2 prompts, but the number of weights is 1;"),
        ("1 2 3", "has 2 prompts, but the number of weights is 3;"),
        ("1, -1", "-1 is negative or not a number"),
        ("0 0", "add up to 0"),
        ("1 x", "`x`"),
        ("1 2;", "row 2 is empty"),
    ] {
        let refused = weights::take(&mut state, text).unwrap_err();
        assert!(refused.contains(printed), "{text}: {refused}");
    }
    assert!(view(&state).spec.adjust.user.is_empty());
    weights::take(&mut state, "3, 1").unwrap();
    let adjust = view(&state).spec.adjust.clone();
    assert_eq!(adjust.weights, labs::prompts::spec::Weighting::User);
    assert_eq!(adjust.user["capital"], labs::prompts::spec::UserWeights::Prompts(vec![3.0, 1.0]));
    assert!(labs::Spec::from(view(&state).spec.clone()).check("x").is_ok());
    weights::take(&mut state, "1 2; 3 4").unwrap();
    weights::ask(&mut state);
    assert_eq!(state.view.entry.as_ref().unwrap().buffer, "1 2; 3 4");
    weights::take(&mut state, " ").unwrap();
    assert_eq!(view(&state).spec, Spec::shipped(), "the weights are equal again");
}

/// Regression: facts left out of the comparison used to be shown for the first reason only.
#[test]
fn omitted_facts_are_shown_with_reasons() {
    let mut state = finished();
    let reason = "[Y] is not last, so that b cannot answer";
    let left = |reason: &str, what: &str| LeftOut { reason: reason.into(), count: 1, what: vec![what.into()] };
    let mut found = results(&state).relations[0].value.clone();
    found.left_out = vec![left("its object is not one token in c", "Xyzzyville")];
    found.prompts_left_out = vec![left(reason, "[Y] is the capital of [X] .")];
    let finding = finding(ALL, Kind::Relation(found));
    reduce(&mut state, Action::Event(Box::new(Event::Finding { generation: 1, finding: Box::new(finding) })));
    assert_eq!(length(&state, ASKED), 3);
    state.place_mut(ID).focus = ASKED;
    SCREEN.travel(&mut state, ASKED, 2);
    assert_eq!((prompt(&state), under_cursor(&state)), (None, Err(Some(reason))));
    assert!(drill::look(&mut state, 0).is_empty(), "it has no instances");
    state.place_mut(ID).focus = RELATIONS;
    let printed = format!("{:?}", SCREEN.origin(&state).unwrap());
    for part in ["40 of 42", "Xyzzyville", "not one token in c", reason] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn ranks_are_drawn_for_the_chosen_number_of_prompts() {
    let mut state = finished();
    let layers = |state: &mut State| {
        SCREEN.refresh(state);
        view(state).figure.as_ref().map_or(0, |f| f.layers.len())
    };
    // During a run, the average over the prompts so far is drawn automatically.
    for (averaged, wanted) in [(Some(1), 4), (Some(2), 4), (None, 4)] {
        turn_averaged(&mut state, true);
        let layers = layers(&mut state);
        let drawn = (view(&state).drawn, view(&state).averaged);
        assert_eq!((drawn, layers), ((Drawn::Places, averaged), wanted));
    }
    turn_averaged(&mut state, false);
    assert_eq!(view(&state).averaged, Some(2));
    let end = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 1.0 };
    reduce(&mut state, Action::Event(Box::new(end)));
    assert_eq!(layers(&mut state), 4);
    turn_averaged(&mut state, true);
    assert_eq!((view(&state).averaged, layers(&mut state)), (None, 3), "the three regimes");
}

#[test]
fn added_data_is_set_and_reported() {
    let mut state = finished();
    own::take_files(&mut state, "/data/lama").unwrap();
    assert_eq!(view(&state).spec.data.files, ["/data/lama"]);
    assert!(view(&state).spec.data.built_in, "the file is used in addition to the built-in relations");
    assert!(own::take_files(&mut state, " ").is_err());
    assert!(state.view.toast.as_ref().is_some_and(|t| t.contains("/data/lama")));
}

#[test]
fn findings_about_all_models_are_not_a_model() {
    let state = finished();
    assert_eq!(results(&state).models(), ["a", "b", "c"]);
    // Regression: models used to be called `be-mi` and `gp-mi`.
    assert_eq!(asked::heads(&["bert-mini", "gpt2-mini"], 20), ["bert-mini", "gpt2-mini"]);
    assert_eq!(asked::heads(&["bert-mini", "gpt2-mini"], 19), ["bert", "gpt2"]);
    assert_eq!(asked::heads(&["bert-tiny", "bert-mini", "/x/roberta-mini/"], 20), ["bert-t", "bert-m", "robert"]);
    assert_eq!(asked::heads(&["untrained:bert-mini", "bert-mini"], 12), ["untra", "bert"]);
}

/// Regression: a finished run used to announce its ranks as if they were still being computed.
#[test]
fn missing_results_are_na_with_a_reason() {
    let mut state = State::new(Start { spec: Spec::shipped().into(), ..Start::new() });
    job::run(&mut state);
    let take = |state: &mut State, finding: Finding| {
        let event = Event::Finding { generation: 1, finding: Box::new(finding) };
        reduce(state, Action::Event(Box::new(event)));
    };
    findings().into_iter().take(2).for_each(|f| take(&mut state, f));
    assert!(!drawn::missing(&state, true).starts_with("n/a"), "the run is still in progress");
    let end = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 1.0 };
    reduce(&mut state, Action::Event(Box::new(end)));
    let printed = drawn::missing(&state, true);
    assert!(
        printed.starts_with("n/a") && printed.contains("needs 20 relations, but only 1 can be tested"),
        "{printed}"
    );
    let mut none = results(&state).relations[0].value.clone();
    none.kept = 0;
    take(&mut state, finding(ALL, Kind::Relation(none)));
    assert!(drawn::missing(&state, false).contains("no relation"), "{}", drawn::missing(&state, false));
}

fn shown(state: &State, draw: fn(&mut ratatui::Frame, ratatui::layout::Rect, &State)) -> String {
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(100, 20)).unwrap();
    terminal.draw(|frame| draw(frame, frame.area(), state)).unwrap();
    terminal.backend().to_string()
}

/// Regression: for models that cannot represent any answer, the list used to announce scores forever, and the figure stated that nothing
/// had been asked.
#[test]
fn unusable_relation_has_no_scores_after_the_run() {
    let mut state = State::new(Start { spec: Spec::shipped().into(), ..Start::new() });
    job::run(&mut state);
    let take = |state: &mut State, event: Event| reduce(state, Action::Event(Box::new(event)));
    for mut f in findings().into_iter().take(2) {
        if let labs::finding::Body::Lab(labs::Kinds::Prompts(Kind::Relation(r))) = &mut f.body {
            r.kept = 0;
        }
        take(&mut state, Event::Finding { generation: 1, finding: Box::new(f) });
    }
    let comes = shown(&state, asked::draw);
    assert!(comes.contains('…') && !comes.contains("n/a"), "the run is still in progress: {comes}");
    take(&mut state, Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 1.0 });
    let over = shown(&state, asked::draw);
    let rows = over.lines().filter(|line| !line.contains("P@1")).collect::<String>();
    assert!(rows.contains("n/a") && !rows.contains('…'), "{over}");
    let figure = shown(&state, |frame, area, state| drawn::draw(frame, area, state, FIGURE));
    assert!(figure.contains("n/a: no relation"), "{figure}");
}

/// Regression: the form's filter used to find the row of relations only by its label, not by the name of a relation.
#[test]
fn form_filter_finds_relations_and_picker_opens_there() {
    let mut state = finished();
    let press = |state: &mut State, keys: &str| {
        for key in keys.split(' ') {
            reduce(state, Action::Key(key.parse().unwrap()));
        }
    };
    press(&mut state, "e / c u r r e n c y space o f enter");
    let (row, _) = crate::setup::under_cursor(&state).unwrap();
    assert_eq!((row.key.as_str(), row.text.as_str()), ("data.relations", "functional"));
    press(&mut state, "enter enter");
    assert_eq!(view(&state).spec.data.relations, ["currency"].into());
    // Relations found in files by earlier runs stay known, even if a later run omits them.
    view_mut(&mut state).spec.data.files = vec!["own.jsonl".into()];
    assert!(!crate::setup::known(&state).relations.iter().any(|r| r.id == "currency"));
    for run in &mut state.board.runs {
        let labs::Spec::Prompts(spec) = &mut run.job.spec else { continue };
        spec.data.files = vec!["own.jsonl".into()];
    }
    let of_run = crate::setup::known(&state).relations;
    assert_eq!(
        of_run.iter().map(|r| (r.id.as_str(), r.label.as_str())).collect::<Vec<_>>(),
        [("capital", "capital of a country")]
    );
}

/// Regression: relations of the user's own files used to be offered only after a first run.
#[test]
fn relations_of_user_files_are_offered_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let facts = r#"{"relation": "moons", "subject": "Io", "object": "jupiter"}"#;
    let template = r#"{"relation": "moons", "template": "[X] is a moon of [Y] .", "type": "N-1"}"#;
    for (name, row) in [("facts.jsonl", facts), ("relations.jsonl", template)] {
        std::fs::write(folder.path().join(name), format!("{row}\n")).unwrap();
    }
    let mut state = State::new(Start::new());
    state.show(ID);
    own::take_files(&mut state, folder.path().to_str().unwrap()).unwrap();
    let Some(Effect::ReadRelations(_, paths)) = SCREEN.read_relations(&mut state) else { panic!("files are not read") };
    assert_eq!(SCREEN.read_relations(&mut state), None, "once is enough");
    let found = SCREEN.relations_in(&paths);
    SCREEN.on_relations(&mut state, &paths, found);
    let known = frame_setup::known(&state).relations;
    assert!(known.iter().any(|r| r.id == "moons"), "{known:?}");
}

//! Tests of the screen: keys, answers, and the state without input.

use super::*;
use crate::setup::Setup;
use figure::{Axis, Provenance};
use labs::setting::Value;
use labs::spec::LabSpec;

fn state() -> State {
    let mut state = State::new(Start::new());
    state.show(ID);
    state
}

#[test]
fn setup_rows_fit_the_compared_sides() {
    let mut state = state();
    let keys = |state: &State| setup::SETUP.rows(state).into_iter().map(|r| r.key).collect::<Vec<_>>();
    assert!(keys(&state).contains(&"a.layer".into()) && !keys(&state).contains(&"test.filter".into()));
    // Regression: before a run, the slider of the pilot used to go from 0 to 0.
    assert!(!keys(&state).contains(&"pilot".into()));
    setup::SETUP.set(&mut state, "a.results", Value::Text("x.jsonl".into())).unwrap();
    assert!(!keys(&state).contains(&"a.layer".into()) && keys(&state).contains(&"test.filter".into()));
    assert!(setup::SETUP.set(&mut state, "no.such", Value::Unset).is_err());
}

#[test]
fn without_comparison_nothing_is_asked_or_shown() {
    let mut state = state();
    assert!(setup::SETUP.set(&mut state, "test.target", Value::Number(0.9)).unwrap().is_empty());
    assert_eq!(view(&state).spec.test.target, 0.9);
    assert!(
        words::lines(&state, 60, 0).is_empty() && SCREEN.origin(&state).is_none() && SCREEN.figure(&state).is_none()
    );
}

/// Regression: the chart of published data sets used to be unreadable in cells.
#[test]
fn known_sets_are_listed_with_verdicts() {
    let (_, session) = crate::example::session(LabId::Power).unwrap();
    for size in [(120, 40), (80, 24)] {
        let mut state = state();
        session.until(f64::INFINITY).entries.for_each(|entry| entry.fold(&mut state.board));
        state.view.size = size;
        SCREEN.refresh(&mut state);
        state.focus_on(KNOWN);
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
        let text = terminal.backend().to_string();
        for part in ["Known sets; ", "CAT Winograd Schema Challenge", "283", "enough"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(SCREEN.figure(&state).is_some_and(|figure| figure.name == "survey"), "it can be exported");
        assert!(SCREEN.copy(&state).is_some_and(|text| text.starts_with("set\ttest\t")));
    }
}

#[test]
fn swap_exchanges_sides_and_encoders() {
    let mut state = state();
    let before = view(&state).spec.clone();
    assert!(swap(&mut state).is_empty());
    let after = view(&state).spec.clone();
    assert_eq!((after.encoder(true), after.encoder(false)), (before.encoder(false), before.encoder(true)));
    swap(&mut state);
    assert_eq!(view(&state).spec, before);
    // Regression: one model for both sides used to be named twice, which no run accepts.
    view_mut(&mut state).spec.models.truncate(1);
    view_mut(&mut state).spec.b.noise = 0.3;
    swap(&mut state);
    let spec = &view(&state).spec;
    spec.check("x").unwrap();
    assert_eq!((spec.models.len(), spec.a.noise, spec.b.noise), (1, 0.3, 0.0));
}

#[test]
fn each_figure_has_its_pane() {
    let mut state = state();
    let figure = |name: &str| Figure {
        name: name.into(),
        title: String::new(),
        x: Axis::doubling("n"),
        y: Axis::linear("y"),
        layers: Vec::new(),
        provenance: Provenance::default(),
    };
    view_mut(&mut state).below = vec![figure("margins")];
    let shown = |state: &State, pane: Pane| view(state).figure(pane).map(|f| f.name.clone());
    assert_eq!((shown(&state, MARGINS).as_deref(), shown(&state, NOISE)), (Some("margins"), None));
    view_mut(&mut state).below = vec![figure("noise"), figure("margins"), figure("sizes")];
    for (pane, name) in [(NOISE, "noise"), (MARGINS, "margins"), (BY_SIZE, "sizes")] {
        assert_eq!(shown(&state, pane).as_deref(), Some(name));
    }
}

/// Regression: the verdict pane used to export a figure other than the visible one.
#[test]
fn exported_figure_is_the_visible_one() {
    let mut state = state();
    for line in include_str!("../../../../sessions/power.probity.jsonl").lines().skip(1) {
        session::format::parse_entry(line.as_bytes(), false).unwrap().fold(&mut state.board);
    }
    SCREEN.refresh(&mut state);
    for pane in [CURVE, MARGINS] {
        state.focus_on(pane);
        let in_sight = SCREEN.figure(&state).map(|figure| figure.name.clone());
        assert!(in_sight.is_some());
        for other in [VERDICT, SIZES, frame_setup::PANE] {
            state.focus_on(other);
            assert_eq!(SCREEN.figure(&state).map(|figure| figure.name.clone()), in_sight, "{other:?}");
        }
    }
}

#[test]
fn study_sets_the_spec_and_plan_is_part_of_it() {
    use crate::popups::Picker;
    let mut state = state();
    assert!(studies::STUDIES.take(&mut state, 1).is_empty());
    assert!(!view(&state).spec.also.noise.is_empty() && view(&state).spec.check("x").is_ok());
    assert_eq!(studies::STUDIES.lines(&state, 0).len(), 5);
    let plans: Vec<Option<Plan>> = (0..4)
        .map(|_| {
            plan(&mut state);
            view(&state).spec.plan.clone()
        })
        .collect();
    assert!(plans[0].as_ref().is_some_and(|p| p.hypothesis == Hypothesis::Differ && p.stop == Stop::AtN));
    assert!(plans[1].as_ref().is_some_and(|p| p.hypothesis == Hypothesis::Equal));
    assert!(plans[2].as_ref().is_some_and(|p| p.stop == Stop::Early) && plans[3].is_none());
}

#[test]
fn plan_size_can_be_set_until_results_are_seen() {
    let mut state = state();
    let has_row = |state: &State| setup::PowerSetup.rows(state).iter().any(|row| row.key == "plan.n");
    assert!(!has_row(&state), "there is no plan");
    plan(&mut state);
    assert!(has_row(&state));
    setup::PowerSetup.set(&mut state, "plan.n", Value::Number(40.0)).unwrap();
    let n = |state: &State| view(state).spec.plan.as_ref().and_then(|plan| plan.n);
    assert_eq!(n(&state), Some(40));
    plan(&mut state);
    assert_eq!(n(&state), Some(40), "the next kind of plan keeps the number");
    setup::PowerSetup.set(&mut state, "plan.n", Value::Unset).unwrap();
    assert_eq!(n(&state), None);
    let seen = view(&state).spec.clone();
    view_mut(&mut state).seen.push(seen);
    let refused = setup::PowerSetup.set(&mut state, "plan.n", Value::Number(9.0)).unwrap_err();
    assert!(refused.to_string().contains("preregistered") && n(&state).is_none(), "{refused}");
}

/// Regression: of the sizes whose p-values were adjusted together, only the largest used to have a p in the list.
#[test]
fn every_tested_size_has_its_p() {
    let mut state = state();
    for line in include_str!("../../../../sessions/power.probity.jsonl").lines().skip(1) {
        session::format::parse_entry(line.as_bytes(), false).unwrap().fold(&mut state.board);
    }
    SCREEN.refresh(&mut state);
    let table = sizes::table(&state);
    let family = results(&state).comparison().unwrap().value.family;
    assert_eq!(table.rows.iter().filter(|row| row.cells[2].1.is_some()).count(), family);
}

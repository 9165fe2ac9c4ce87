//! Tests of the layer map.

use super::*;
use crate::action::Action;
use crate::reduce::reduce;
use crate::state::Glyphs;
use crate::theme::{Surroundings, Theme};
use labs::Finding;

/// Findings of a recorded run with a map of PGD.
fn recorded() -> Vec<Finding> {
    let results = sample::mapped();
    let label = Label::new(&Spec::shipped(), "bert-mini");
    let points = results.curves.iter().flat_map(|c| &c.points).map(|p| Kind::Reliability(p.value.clone()));
    let cells = results.map.iter().map(|c| Kind::Map(c.value.clone()));
    let empty = results.unmapped.iter().map(|r| Kind::NoMap(r.value.clone()));
    let findings = points.chain(cells).chain(empty).map(|kind| label.finding(2400, true, 1.0, kind.into()));
    let again = |f: Finding| serde_json::from_str(&serde_json::to_string(&f).unwrap()).unwrap();
    findings.map(again).collect()
}

/// A state whose run of the default experiment has a map; every event has passed through the reducer.
fn mapped() -> State {
    let mut state = started();
    for finding in recorded() {
        let event = Event::Finding { generation: 1, finding: Box::new(finding) };
        reduce(&mut state, Action::Event(Box::new(event)));
    }
    state.view.size = (140, 45);
    state.place_mut(ID).focus = CURVES;
    SCREEN.refresh(&mut state);
    state
}

fn look_at(state: &mut State, pane: Pane) {
    state.focus_on(pane);
    SCREEN.refresh(state);
}

fn drawn(state: &State) -> String {
    let (width, height) = state.view.size;
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn recorded_findings_give_the_same_map() {
    let state = mapped();
    let (played, found) = (results(&state), sample::mapped());
    let values = |r: &labs::interventions::Results| -> Vec<_> { r.map.iter().map(|c| c.value.clone()).collect() };
    assert_eq!(values(played), values(&found));
    assert_eq!(played.unmapped[0].value, found.unmapped[0].value);
    assert!(played.map.iter().all(|c| c.level == Some(0.95) && c.n == 2400));
}

#[test]
fn map_panes_report_a_missing_map() {
    let mut state = mapped();
    let names = ["map-reliability", "map-completeness", "map-selectivity"];
    for (pane, name) in MAPS.into_iter().zip(names) {
        look_at(&mut state, pane);
        assert_eq!(SCREEN.figure(&state).unwrap().name, format!("{name}-bert-mini-pgd-mlp"));
    }
    view_mut(&mut state).method = "inlp".into();
    SCREEN.refresh(&mut state);
    assert!(SCREEN.figure(&state).is_none() && drawn(&state).contains("This run has no layer map."));
}

#[test]
fn cursor_shows_numbers_of_its_cell_or_a_reason() {
    let mut state = mapped();
    look_at(&mut state, MAPS[0]);
    SCREEN.travel(&mut state, MAPS[0], 1);
    SCREEN.sideways(&mut state, MAPS[0], 3).unwrap();
    let text = drawn(&state);
    for part in [
        "written at layer 2, read at layer 4; ε = .165 (best of its layer)  n 2,400 / 410",
        "S .68 [.65, .71]",
        "final, 95 % intervals",
        "5 training runs",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(SCREEN.copy(&state).unwrap().contains("\n2\t4\t0.165\t"));
    let origin = SCREEN.origin(&state).unwrap();
    assert!(origin.entries.contains(&("site".into(), "layer 2, MLP oracle at layer 4".into())), "{origin:?}");
    SCREEN.travel(&mut state, MAPS[0], 1);
    let text = drawn(&state);
    // Regression: a long reason used to be cut at the edge of the pane.
    assert!(text.contains("n/a: layer 3: the oracle does not read") && text.contains("chance is 0.500)"), "{text}");
    SCREEN.travel(&mut state, MAPS[0], 1);
    SCREEN.sideways(&mut state, MAPS[0], -3).unwrap();
    assert!(drawn(&state).contains("n/a: an oracle at layer 1 cannot see an edit at layer 4"));
    assert!(SCREEN.copy(&state).is_some() && SCREEN.origin(&state).is_none());
    SCREEN.travel(&mut state, MAPS[0], -3);
    SCREEN.sideways(&mut state, MAPS[0], 9).unwrap();
    assert!(drawn(&state).contains("! the property to keep is no longer readable here"));
    state.place_mut(ID).focus = PARETO;
    assert!(SCREEN.sideways(&mut state, PARETO, 1).is_none(), "in other panes the slider moves");
}

#[test]
fn scores_are_shown_by_glyph_density_without_colour() {
    let mut state = mapped();
    look_at(&mut state, MAPS[2]);
    // The scores of the first row fall from .89 to .59, drawn as full, three-quarter and half blocks.
    let row = |state: &State| {
        let text = drawn(state);
        assert!(
            text.contains("S .89 [.86, .92]") && text.contains("n 2,400 / 410"),
            "the numbers of the first cell: {text}"
        );
        text.lines().find(|l| l.contains("1 (.2)")).map(str::to_owned).unwrap()
    };
    let coloured = row(&state);
    assert!(coloured.contains(".89") && !coloured.contains(['█', '▓', '▒']), "{coloured}");
    state.themes = Theme::choose(None, &Surroundings { no_color: true, light: false }).unwrap();
    for (glyphs, size) in [(Glyphs::Braille, (140, 45)), (Glyphs::Ascii, (120, 40)), (Glyphs::Ascii, (80, 24))] {
        (state.view.glyphs, state.view.size) = (glyphs, size);
        let ramp = if glyphs == Glyphs::Ascii { ['#', '*', ':'] } else { ['█', '▓', '▒'] };
        let row = row(&state);
        let places: Vec<Option<usize>> = ramp.iter().map(|g| row.find(*g)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{row}");
        assert!(row.contains(" .89 "), "{row}");
    }
}

//! Popups: what they show, how far their cursors go.

use super::*;
use crate::tui::state::Start;

fn state() -> State {
    State::new(Start { size: (80, 24), ..Start::new() })
}

#[test]
fn a_hanging_text_keeps_its_words_and_its_room() {
    let lines = hanging("a few words that do not fit", 12);
    assert!(lines.len() > 1 && lines.iter().all(|l| width(l) <= 12), "{lines:?}");
    assert!(!lines[0].starts_with(' ') && lines[1..].iter().all(|l| l.starts_with("  ")));
    let joined: Vec<&str> = lines.iter().map(|l| l.trim()).collect();
    assert_eq!(joined.join(" "), "a few words that do not fit");
}

#[test]
fn a_popup_stays_on_the_screen_whatever_it_holds() {
    for (columns, rows) in [(0, 0), (1, 1), (200, 3), (10, 90)] {
        let area = Rect::new(3, 2, 40, 12);
        let popup = centred(area, columns, rows);
        assert_eq!(popup.intersection(area), popup);
    }
    assert_eq!(rows_in(Rect::new(0, 0, 10, 1), 5), 0);
}

#[test]
fn the_cursor_of_a_picker_stops_at_its_last_entry() {
    let mut state = state();
    pick(&mut state, &Quit, 0);
    assert_eq!(last(&state), 2);
    palette(&mut state);
    assert!(last(&state) > 20);
    state.view.popup = None;
    assert_eq!(last(&state), 0);
}

#[test]
fn a_long_page_scrolls_until_its_last_line_is_in_sight() {
    let mut state = state();
    help(&mut state);
    let area = compute(&state).unwrap().under_title();
    let lines = content(&state, state.view.popup.as_ref().unwrap(), area).lines.len();
    assert_eq!(last(&state), lines - usize::from(area.height - 2));
    state.view.popup = Some(Popup::Help { query: String::new(), scroll: usize::MAX });
    let content = content(&state, state.view.popup.as_ref().unwrap(), area);
    assert_eq!(content.first, lines - usize::from(area.height - 2));
}

#[test]
fn an_overwrite_that_is_refused_writes_nothing() {
    use crate::tui::action::Existing;
    let figure = crate::figure::Figure {
        name: "f".into(),
        title: String::new(),
        x: crate::figure::Axis::linear(""),
        y: crate::figure::Axis::linear(""),
        layers: Vec::new(),
        provenance: crate::figure::Provenance::default(),
    };
    let mut state = state();
    let hold = |state: &mut State| {
        let files = vec!["/tmp/f.png".into(), "/tmp/f.svg".into()];
        state.held = Some(pickers::Held { figure: Box::new(figure.clone()), files });
    };
    hold(&mut state);
    assert!(Overwrite.title(&state).contains("/tmp/f.png"));
    assert!(Overwrite.lines(&state, 0)[0].to_string().contains("2 files"));
    assert!(Overwrite.take(&mut state, 2).is_empty() && state.held.is_none());
    for (entry, existing) in [(0, Existing::Replace), (1, Existing::Keep)] {
        hold(&mut state);
        assert!(matches!(&Overwrite.take(&mut state, entry)[..], [Effect::Export(_, e)] if *e == existing));
    }
    assert!(Overwrite.take(&mut state, 0).is_empty(), "nothing waits any more");
}

#[test]
fn the_family_lists_each_comparison_with_both_corrections_and_copies_them() {
    use crate::lab::family::Comparison;
    let mut state = state();
    assert!(
        Family.copy(&state).is_none() && Family.lines(&state, 70)[0].to_string().contains("no comparison")
    );
    for (what, p) in [("a against b", 0.01), ("a against \u{1b}c", 0.04)] {
        let (lab, spec) = (crate::lab::LABS[0].id(), "s".to_owned());
        let comparison =
            Comparison { lab, spec, what: what.into(), test: "sign".into(), n: 9, p, planned: false };
        state.board.family.join(comparison);
    }
    let lines: Vec<String> = Family.lines(&state, 70).iter().map(ToString::to_string).collect();
    assert!(lines[1].starts_with("a against b") && lines[1].contains("020"), "{lines:?}");
    assert!(lines.iter().all(|l| !l.contains('\u{1b}') && width(l) <= 70), "{lines:?}");
    assert_eq!(Family.copy(&state).unwrap().lines().count(), 3);
}

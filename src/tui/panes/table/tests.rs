//! Tests of list columns: selection, meaning, and the cursor after a filter is cleared.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::action::Action;
use crate::reduce::reduce;
use crate::screens::labs;
use crate::setup;
use crate::state::Start;

const LIST: Pane = Pane("methods");

fn keys(state: &mut State, keys: &str) {
    keys.split(' ').for_each(|k| {
        reduce(state, Action::Key(k.parse().unwrap()));
    });
}

fn listed() -> State {
    let mut state = State::new(Start::new());
    state.focus_on(LIST);
    state
}

/// Regression: headings such as `flips`, `at` and `dispens` used to be explained nowhere on their screen.
#[test]
fn column_headings_are_explained_on_their_screen() {
    let mut heads = 0;
    for screen in labs() {
        let mut state = State::new(Start::new());
        state.show(screen.id());
        for pane in screen.panes() {
            state.focus_on(pane);
            let Some(table) = screen.table(&state, pane) else { continue };
            assert_eq!(column_about(&state), None, "no column is selected");
            for head in &table.columns[1..] {
                step_column(&mut state, pane, &table, 1);
                let about = column_about(&state).unwrap_or_else(|| panic!("{}: {head}", screen.title()));
                assert!(about.starts_with(&format!("{head}: ")) && about.len() > head.len() + 10, "{about}");
                heads += 1;
            }
        }
    }
    assert!(heads > 20, "{heads}");
}

#[test]
fn l_in_a_list_selects_a_column() {
    let mut state = listed();
    let slider = |state: &State| setup::row(state, state.setup().unwrap().main()).unwrap().value;
    let before = slider(&state);
    keys(&mut state, "l l l h");
    assert_eq!((state.here().listed[&LIST].column, slider(&state)), (2, before));
    keys(&mut state, "h h h");
    assert_eq!(state.here().listed[&LIST].column, 0);
}

#[test]
fn selected_column_becomes_visible() {
    let mut state = listed();
    let drawn = |state: &State| {
        let mut terminal = Terminal::new(TestBackend::new(34, 8)).unwrap();
        let table = state.screen().table(state, LIST).unwrap();
        terminal.draw(|frame| table.draw(frame, frame.area(), state, (LIST, "Methods"), 0)).unwrap();
        terminal.backend().to_string()
    };
    assert!(!drawn(&state).contains("dist. ×"), "{}", drawn(&state));
    let columns = state.screen().table(&state, LIST).unwrap().columns.len() as i64;
    let table = state.screen().table(&state, LIST).unwrap();
    step_column(&mut state, LIST, &table, columns);
    assert!(drawn(&state).contains("dist. ×") && drawn(&state).contains("method"), "{}", drawn(&state));
}

/// Regression: a filter used to hide the sign of the sort column, and the list did not say so if it was sorted by a column that did not
/// fit.
#[test]
fn list_title_shows_sorting_and_filter() {
    let mut state = listed();
    let drawn = |state: &State, columns: u16| {
        let mut terminal = Terminal::new(TestBackend::new(columns, 8)).unwrap();
        let table = state.screen().table(state, LIST).unwrap();
        terminal.draw(|frame| table.draw(frame, frame.area(), state, (LIST, "Methods"), 0)).unwrap();
        terminal.backend().to_string()
    };
    assert!(drawn(&state, 60).contains("R▾"), "{}", drawn(&state, 60));
    keys(&mut state, "/ r a n d enter");
    let text = drawn(&state, 60);
    assert!(text.contains("/ rand, best match first") && text.contains("R▾"), "{text}");
    keys(&mut state, "esc");
    let last = state.screen().table(&state, LIST).unwrap().columns.len() - 1;
    state.here_mut().listed.entry(LIST).or_default().sort = Some((last, false));
    let text = drawn(&state, 36);
    assert!(text.contains("by dist. ×▴") && text.matches("dist. ×▴").count() == 1, "{text}");
}

/// Regression: after a filter, the cursor used to be on the first row.
#[test]
fn escape_restores_cursor_from_before_the_filter() {
    let mut state = listed();
    keys(&mut state, "j j");
    let method = |state: &State| state.screens.interventions.method.clone();
    let before = method(&state);
    keys(&mut state, "/ r a n d");
    assert_ne!(method(&state), before, "the filter hides the earlier method");
    keys(&mut state, "esc");
    assert_eq!(method(&state), before);
    keys(&mut state, "/ r a n d enter esc");
    assert_eq!(method(&state), before);
}

/// Regression: methods sorted by name used to be labelled "smallest first", and a text column was not sorted.
#[test]
fn text_columns_are_sorted_alphabetically() {
    let mut state = listed();
    let words = |state: &State| state.view.toast.clone().unwrap_or_default();
    let columns = state.screen().table(&state, LIST).unwrap().columns.len();
    // Steps from R through all other columns to the names.
    (0..columns - 1).for_each(|_| keys(&mut state, "s"));
    assert!(words(&state).starts_with("sorted by method, A to Z"), "{}", words(&state));
    keys(&mut state, "S");
    assert!(words(&state).starts_with("sorted by method, Z to A"), "{}", words(&state));
    let row = |name: &str, verdict: &str| Row { cells: vec![(name.into(), None), (verdict.into(), None)], last: None };
    let rows = vec![row("x", "undecided"), row("y", "better"), row("z", "–")];
    let table = Table { columns: vec!["task", "verdict"], rows, sort: (1, false), ..Table::default() };
    assert_eq!(table.order(listed().here(), LIST)[0], 1, "sorted by the verdict");
}

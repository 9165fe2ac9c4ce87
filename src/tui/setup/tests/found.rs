//! Tests of what the settings show: filtered rows, ticked models beyond the drawn ones, values cut to fit.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::action::Action;
use crate::reduce::reduce;

fn keys(state: &mut State, keys: &str) {
    for key in keys.split(' ') {
        reduce(state, Action::Key(key.parse().unwrap()));
    }
}

fn screen(state: &State) -> String {
    let (columns, rows) = state.view.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

/// Regression: the filter used to search labels and current values, but not the models, methods and other choices of a row.
#[test]
fn form_filter_finds_choices() {
    let mut state = state();
    keys(&mut state, "/ g p t enter");
    let text = screen(&state);
    assert!(text.contains("gpt2-mini") && !text.contains("▣ bert-mini"), "{text}");
    for (typed, label) in [("a l t e r r e p", "Method"), ("l i n e a r", "Oracle")] {
        keys(&mut state, &format!("esc / {typed} enter"));
        assert!(screen(&state).contains(label), "{typed}: {}", screen(&state));
    }
}

/// Regression: `tab pane` used to be in the footer of the form, where `tab` moves to the next group.
#[test]
fn form_footer_describes_tab() {
    let state = state();
    assert!(screen(&state).contains("tab group"), "{}", screen(&state));
}

/// Regression: the pane used to show three ticked models of five and give no sign of the others.
#[test]
fn hidden_ticked_models_are_counted() {
    let mut state = state();
    state.here_mut().form = false;
    let one = state.board.models[0].clone();
    let named = |name: &&str| engine::message::ModelInfo { name: (*name).into(), ..one.clone() };
    let names = ["bert-mini", "b", "c", "d", "e"];
    state.board.models = names.iter().map(named).collect();
    let mut spec = state.setup().unwrap().spec(&state);
    spec.common_mut().set_models(names.map(String::from).to_vec());
    let setup = state.setup().unwrap();
    setup.take(&mut state, &spec);
    state.here_mut().row = 6;
    assert!(screen(&state).contains("+2 more: enter"), "{}", screen(&state));
    spec.common_mut().set_models(names[..3].iter().map(|name| (*name).to_owned()).collect());
    setup.take(&mut state, &spec);
    assert!(!screen(&state).contains("more: enter"), "{}", screen(&state));
}

/// Regression: "Mean difference (not run)" used to be cut to "…ference (not run)".
#[test]
fn long_values_keep_their_start_and_paths_their_end() {
    let mut state = state();
    state.here_mut().form = false;
    state.view.size = (80, 24);
    keys(&mut state, "h");
    let row =
        |kind: Kind, text: &str| Row { text: text.into(), ..Row::of_view("x", "x", "A test.", kind, Value::Unset) };
    let shown = |row: &Row| super::super::draw::words(&state, row, 0, 12);
    assert_eq!(shown(&row(Kind::Choice(Vec::new()), "Mean difference (not run)")), "Mean differ…");
    assert_eq!(shown(&row(Kind::File("none"), "/far/away/data.tsv")), "…ay/data.tsv");
}

/// Regression: ticked models below the end of the list could not be seen.
#[test]
fn titles_count_and_name_the_ticked_models() {
    for form in [false, true] {
        for size in [(120, 40), (80, 24)] {
            let mut state = state();
            state.view.size = size;
            state.here_mut().form = form;
            tick_model(&mut state, "gpt2-mini");
            let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
            terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
            let text = terminal.backend().to_string();
            assert!(text.contains("2/2 models: bert-mini"), "{text}");
        }
    }
}

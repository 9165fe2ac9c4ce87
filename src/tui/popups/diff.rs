//! The runs of a lab as a list, and two of them beside each other.

use ratatui::text::Line;

use super::{Page, Picker, entries, show};
use crate::action::Effect;
use crate::reduce::runs;
use crate::state::State;
use crate::theme::Role;
use base::text::{printable, wrapped};
use labs::compared::common;

/// The runs of the shown lab; choosing one shows it.
pub(crate) struct Runs;

fn lines(state: &State, selected: usize) -> Vec<Line<'static>> {
    let shown = runs::shown(state);
    let text = |place: usize| {
        let here = if Some(place) == shown { " (shown)" } else { "" };
        format!("run {}{here}: {}", place + 1, runs::words(state, place))
    };
    entries(state, selected, (0..runs::all(state).len()).map(text))
}

impl Picker for Runs {
    fn name(&self) -> &'static str {
        "runs"
    }

    fn title(&self, state: &State) -> String {
        format!("Runs of this lab: {} shows one", state.keymap.short_label("popup-accept"))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        lines(state, selected)
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        runs::show(state, entry)
    }
}

/// The run with which the shown one is compared.
pub(crate) struct Compare;

impl Picker for Compare {
    fn name(&self) -> &'static str {
        "compare-runs"
    }

    fn title(&self, _: &State) -> String {
        "Compare the run that is shown with".into()
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        lines(state, selected)
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let generation = |place: usize| runs::all(state).get(place).map(|run| run.job.generation);
        let (Some(a), Some(b)) = (generation(entry), runs::shown(state).and_then(generation)) else {
            return Vec::new();
        };
        state.view.compared = (a.min(b), a.max(b));
        show(state, &Diff)
    }
}

/// Two runs beside each other.
pub(crate) struct Diff;

/// The text of two runs beside each other.
fn text(state: &State) -> Vec<String> {
    let all = runs::all(state);
    let find = |generation| all.iter().position(|run| run.job.generation == generation);
    let (Some(a), Some(b)) = (find(state.view.compared.0), find(state.view.compared.1)) else {
        return Vec::new();
    };
    let (first, second) = (all[a], all[b]);
    let lab = labs::by_id(first.job.spec.lab());
    let mut out = vec!["Settings that differ:".to_owned()];
    let changes = labs::changes(&first.job.spec, &second.job.spec);
    match changes.as_slice() {
        [] => out.push("  none".into()),
        changes => out.extend(changes.iter().map(|change| format!("  {change}"))),
    }
    out.push(String::new());
    let numbers = common(&lab.numbers(&first.results), &lab.numbers(&second.results));
    out.extend(labs::compared::table((a + 1, b + 1), &numbers));
    out
}

impl Page for Diff {
    fn name(&self) -> &'static str {
        "diff"
    }

    fn title(&self, state: &State) -> String {
        let all = runs::all(state);
        let place =
            |generation| all.iter().position(|run| run.job.generation == generation).map_or(0, |i| i + 1);
        format!("Run {} and run {}", place(state.view.compared.0), place(state.view.compared.1))
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let style = state.theme().style(Role::Text);
        let broken = |line: String| if line.is_empty() { vec![line] } else { wrapped(&line, room) };
        // Columns stand apart by several blanks, which wrapping would take away.
        let fits = |line: &String| base::text::width(line) <= room;
        let all = text(state).into_iter().flat_map(|l| if fits(&l) { vec![l] } else { broken(l) });
        all.map(|line| Line::styled(printable(&line).into_owned(), style)).collect()
    }

    fn copy(&self, state: &State) -> Option<String> {
        Some(text(state).join("\n"))
    }
}

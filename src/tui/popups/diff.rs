//! The list of a lab's runs, and two runs side by side.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{Page, Picker, entries, show};
use crate::action::Effect;
use crate::reduce::runs;
use crate::state::State;
use crate::theme::Role;
use crate::widgets::chart::Chart;
use base::text::{printable, width, wrapped};
use engine::board::Run;
use engine::message::Generation;
use figure::{Dash, Figure, Layer, layers};
use labs::common_figures::leading;
use labs::compared::run_name;

/// Picker of the current lab's runs; choosing one shows it.
pub(crate) struct Runs;

impl Picker for Runs {
    fn does(&self, _entry: usize) -> &'static str {
        "show"
    }

    fn name(&self) -> &'static str {
        "runs"
    }

    fn title(&self, state: &State) -> String {
        format!("Runs of this lab: {} shows one", state.keymap.short_label("popup-accept"))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let all: Vec<Generation> = runs::all(state).iter().map(|run| run.job.generation).collect();
        entries(state, selected, runs::lines(state, &all).into_iter())
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        runs::show(state, entry)
    }
}

/// Picker of the run to compare with the shown one.
pub(crate) struct Compare;

impl Picker for Compare {
    fn does(&self, _entry: usize) -> &'static str {
        "compare"
    }

    fn name(&self) -> &'static str {
        "compare-runs"
    }

    fn title(&self, state: &State) -> String {
        match runs::has_finished(state) {
            true => "Compare the run that is shown with".into(),
            false => "No other finished run in this lab; compare with".into(),
        }
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        entries(state, selected, runs::lines(state, &runs::others(state)).into_iter())
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let other = runs::others(state).get(entry).copied();
        let shown = runs::shown(state).and_then(|place| Some(runs::all(state).get(place)?.job.generation));
        let (Some(a), Some(b)) = (other, shown) else { return Vec::new() };
        let in_sight = state.screen().figure(state).map(|figure| figure.name.clone());
        state.view.compared = Compared { runs: (a.min(b), a.max(b)), figure: 0 };
        let at = figures(state).iter().position(|(first, _)| Some(&first.name) == in_sight.as_ref());
        state.view.compared.figure = at.unwrap_or(0);
        show(state, &Diff)
    }
}

/// Two runs side by side, and which of their figures is drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compared {
    pub(crate) runs: (Generation, Generation),
    /// Index of the drawn figure among the figures that both runs have.
    pub(crate) figure: usize,
}

/// Two runs side by side.
pub(crate) struct Diff;

/// Formats two runs side by side, in lines of at most `room` cells if possible.
fn text(state: &State, room: usize) -> Vec<String> {
    pair(state).map_or(Vec::new(), |[a, b]| engine::beside::lines(a, b, room))
}

fn pair(state: &State) -> Option<[(usize, &Run); 2]> {
    let (a, b) = state.view.compared.runs;
    Some([runs::named(state, a)?, runs::named(state, b)?])
}

fn numbered((number, run): (usize, &Run)) -> labs::Numbered<'_> {
    (number, &run.results, &run.job.spec)
}

/// Height of the figure of both runs, in rows.
const ROWS: u16 = 16;

/// The figures that both runs have and whose lines or bars can be drawn together.
pub(super) fn figures(state: &State) -> Vec<(Figure, Figure)> {
    let both = pair(state).map(|pair| pair.map(numbered));
    both.map_or(Vec::new(), |[a, b]| labs::figures_of_both(a, b, state.board.engine.as_ref()))
}

/// Combines the main line or bars of two figures: solid for the first run, dashed for the second.
fn overlaid((f, g): &(Figure, Figure), (first, second): (usize, usize)) -> Option<Figure> {
    let named = |figure: &Figure, number: usize, dash: Dash| {
        let role = figure::Role { dash: Some(dash), ..figure::Role::line(usize::from(dash != Dash::Solid)) };
        let label = |label: &str| format!("{label}, {}", run_name(number));
        Some(match leading(figure)?.clone() {
            Layer::Line(line) => Layer::Line(layers::Line { label: label(&line.label), role, ..line }),
            Layer::Bars(bars) => Layer::Bars(layers::Bars { label: label(&bars.label), role, ..bars }),
            _ => return None,
        })
    };
    let layers = vec![named(f, first, Dash::Solid)?, named(g, second, Dash::Dashed)?];
    // Titles name settings, such as the layer, in which the runs may differ.
    let title = match f.title == g.title {
        true => f.title.clone(),
        false => format!("{}: {}; {}: {}", run_name(first), f.title, run_name(second), g.title),
    };
    let mut both = Figure { layers, title, ..f.clone() };
    // The second run may not fit the axes of the first.
    for (axis, other) in [(&mut both.x, &g.x), (&mut both.y, &g.y)] {
        let union = |(a, b): ((f64, f64), (f64, f64))| (a.0.min(b.0), a.1.max(b.1));
        axis.range = axis.range.zip(other.range).map(union);
    }
    Some(both)
}

/// All values that two figures have in common, with differences and tests.
fn table_of(state: &State, figures: &(Figure, Figure), room: usize) -> Vec<String> {
    let both = pair(state).map(|pair| pair.map(numbered));
    both.map_or(Vec::new(), |[a, b]| labs::values_of_both(a, b, figures, room))
}

/// The drawn figure of both runs, if they have one in common, and the number of such figures.
fn drawn_figure(state: &State) -> (Option<(Figure, Figure)>, usize) {
    let mut all = figures(state);
    let of = all.len();
    let at = state.view.compared.figure;
    ((at < of).then(|| all.swap_remove(at)), of)
}

/// The figure of both runs, and the table of its values, as lines of a page.
fn drawn(state: &State, room: usize) -> Vec<Line<'static>> {
    let (Some(pair), of) = drawn_figure(state) else { return Vec::new() };
    let Some([a, b]) = self::pair(state).map(|pair| pair.map(|(number, _)| number)) else { return Vec::new() };
    let Some(figure) = overlaid(&pair, (a, b)) else { return Vec::new() };
    let area = Rect::new(0, 0, u16::try_from(room).unwrap_or(u16::MAX).min(100), ROWS);
    let mut buffer = Buffer::empty(area);
    Chart::new(&figure, state).render(area, &mut buffer);
    let row = |row: Rect| {
        let cells = row.positions().filter_map(|at| buffer.cell(at));
        // A wide character also covers the next cell.
        let parts = cells.scan(0, |covered, c| {
            let own = *covered == 0;
            *covered = if own { width(c.symbol()).saturating_sub(1) } else { *covered - 1 };
            Some(own.then(|| Span::styled(c.symbol().to_owned(), c.style())))
        });
        Line::from(parts.flatten().collect::<Vec<_>>())
    };
    let theme = state.theme();
    let turn = format!(
        "{}/{}",
        state.keymap.short_label("popup-next-figure"),
        state.keymap.short_label("popup-previous-figure")
    );
    let place = format!("Figure {} of {of} ({turn} turns): ", state.view.compared.figure + 1);
    let title = format!("{}{}", if of > 1 { place } else { String::new() }, figure.title);
    let title = wrapped(&printable(&title), room).into_iter().map(|line| Line::styled(line, theme.style(Role::Title)));
    let text = |line: String| Line::styled(printable(&line).into_owned(), theme.style(Role::Text));
    let below = table_of(state, &pair, room).into_iter().map(text);
    [Line::default()].into_iter().chain(title).chain(area.rows().map(row)).chain(below).collect()
}

impl Page for Diff {
    fn name(&self) -> &'static str {
        "diff"
    }

    fn title(&self, state: &State) -> String {
        let [a, b] = pair(state).map_or([0, 0], |pair| pair.map(|(number, _)| number));
        figure::capital(&format!("{} and {}", run_name(a), run_name(b)))
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let style = state.theme().style(Role::Text);
        let text = text(state, room).into_iter().map(|line| Line::styled(printable(&line).into_owned(), style));
        text.chain(drawn(state, room)).collect()
    }

    fn copy(&self, state: &State) -> Option<String> {
        let (figure, _) = drawn_figure(state);
        let below = figure.map_or(Vec::new(), |pair| table_of(state, &pair, usize::MAX));
        Some([text(state, usize::MAX), below].concat().join("\n"))
    }

    fn figures(&self, state: &State) -> usize {
        figures(state).len()
    }
}

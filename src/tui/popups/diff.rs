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
use figure::{Dash, Emphasis, Figure, Layer, layers};
use labs::compared::run_name;

/// Picker of the current lab's runs; choosing one shows it.
pub(crate) struct Runs;

impl Picker for Runs {
    fn does(&self) -> &'static str {
        "show"
    }

    fn name(&self) -> &'static str {
        "runs"
    }

    fn title(&self, state: &State) -> String {
        format!("Runs of this lab: {} shows one", state.keymap.short_label("popup-accept"))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let places: Vec<usize> = (0..runs::all(state).len()).collect();
        entries(state, selected, runs::lines(state, &places).into_iter())
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        runs::show(state, entry)
    }
}

/// Picker of the run to compare with the shown one.
pub(crate) struct Compare;

impl Picker for Compare {
    fn does(&self) -> &'static str {
        "compare"
    }

    fn name(&self) -> &'static str {
        "compare-runs"
    }

    fn title(&self, _: &State) -> String {
        "Compare the run that is shown with".into()
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let example = state.beside.as_ref().map(|example| format!("the recorded example of {}", example.day));
        entries(state, selected, runs::lines(state, &runs::others(state)).into_iter().chain(example))
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let generation = |place: usize| runs::all(state).get(place).map(|run| run.job.generation);
        let others = runs::others(state);
        let example = state.beside.as_ref().filter(|_| entry == others.len()).map(|_| runs::EXAMPLE);
        let other = others.get(entry).copied().and_then(generation).or(example);
        let (Some(a), Some(b)) = (other, runs::shown(state).and_then(generation)) else {
            return Vec::new();
        };
        state.view.compared = (a.min(b), a.max(b));
        show(state, &Diff)
    }
}

pub(crate) struct Diff;

/// Formats two runs side by side, in lines of at most `room` cells if possible.
fn text(state: &State, room: usize) -> Vec<String> {
    pair(state).map_or(Vec::new(), |[a, b]| engine::beside::lines(a, b, room))
}

fn pair(state: &State) -> Option<[(usize, &Run); 2]> {
    let (a, b) = state.view.compared;
    Some([runs::named(state, a)?, runs::named(state, b)?])
}

/// Height of the figure of both runs, in rows.
const ROWS: u16 = 16;

/// Combines the first figure that both runs have: the leading line or bars of each, solid for the first run and dashed for the second.
fn overlaid(state: &State) -> Option<Figure> {
    let [first, second] = pair(state)?;
    let lab = labs::by_id(first.1.job.spec.lab());
    let figures = [first, second].map(|(_, run)| lab.figures(&run.results, state.board.engine.as_ref()));
    let pairs = figures[0].iter().filter_map(|f| Some((f, figures[1].iter().find(|g| g.name == f.name)?)));
    pairs.into_iter().find_map(|(f, g)| {
        let named = |figure: &Figure, place: usize, dash: Dash| {
            let leads = |l: &&Layer| matches!(l, Layer::Line(l) if l.role.dash.is_some() && (l.role.emphasis == Emphasis::Strong || l.role.accent == Some(2)));
            let drawn = |l: &&Layer| matches!(l, Layer::Line(l) if l.role.dash.is_some()) || matches!(l, Layer::Bars(_));
            let layer = figure.layers.iter().find(leads).or_else(|| figure.layers.iter().find(drawn))?;
            let role = figure::Role { dash: Some(dash), ..figure::Role::line(usize::from(dash != Dash::Solid)) };
            let label = |label: &str| format!("{label}, {}", run_name(place));
            Some(match layer.clone() {
                Layer::Line(line) => Layer::Line(layers::Line { label: label(&line.label), role, ..line }),
                Layer::Bars(bars) => Layer::Bars(layers::Bars { label: label(&bars.label), role, ..bars }),
                _ => return None,
            })
        };
        let layers = vec![named(f, first.0, Dash::Solid)?, named(g, second.0, Dash::Dashed)?];
        // Titles name settings in which the runs may differ, such as the layer.
        let title = match f.title == g.title {
            true => f.title.clone(),
            false => format!("{}: {}; {}: {}", run_name(first.0), f.title, run_name(second.0), g.title),
        };
        let mut both = Figure { layers, title, ..f.clone() };
        // The second run may exceed the axes of the first.
        for (axis, other) in [(&mut both.x, &g.x), (&mut both.y, &g.y)] {
            let union = |(a, b): ((f64, f64), (f64, f64))| (a.0.min(b.0), a.1.max(b.1));
            axis.range = axis.range.zip(other.range).map(union);
        }
        Some(both)
    })
}

fn drawn(state: &State, room: usize) -> Vec<Line<'static>> {
    let Some(figure) = overlaid(state) else { return Vec::new() };
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
    let style = state.theme().style(Role::Title);
    let title = wrapped(&printable(&figure.title), room).into_iter().map(|line| Line::styled(line, style));
    [Line::default()].into_iter().chain(title).chain(area.rows().map(row)).collect()
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
        Some(text(state, usize::MAX).join("\n"))
    }
}

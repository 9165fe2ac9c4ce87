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
use base::numbers::short;
use base::text::{printable, width, wrapped};
use engine::board::Run;
use engine::message::Generation;
use figure::layers::Count;
use figure::{Dash, Emphasis, Figure, Layer, layers};
use labs::compared::{Number, common, run_name, table};
use model::source::in_print;
use stats::Estimate;

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

/// Height of the figure of both runs, in rows.
const ROWS: u16 = 16;

/// The figures that both runs have and whose lines or bars can be drawn together.
pub(super) fn figures(state: &State) -> Vec<(Figure, Figure)> {
    let Some([first, second]) = pair(state) else { return Vec::new() };
    let lab = labs::by_id(first.1.job.spec.lab());
    let [all, mut others] = [first, second].map(|(_, run)| lab.figures(&run.results, state.board.engine.as_ref()));
    let places = |figure: &Figure, (_, run): (usize, &Run)| by_place(&figure.name, run.job.spec.models());
    let with_other = |f: Figure| {
        let same = others.iter().position(|g| g.name == f.name);
        let at = same.or_else(|| others.iter().position(|g| places(g, second) == places(&f, first)))?;
        let g = others.swap_remove(at);
        (leading(&f).is_some() && leading(&g).is_some()).then_some((f, g))
    };
    all.into_iter().filter_map(with_other).collect()
}

/// Replaces each model in a figure's name with its index in the run, so that figures of runs with different models match.
fn by_place(name: &str, models: &[String]) -> String {
    let mut order: Vec<usize> = (0..models.len()).collect();
    // A longer name may contain a shorter one.
    order.sort_by_key(|i| std::cmp::Reverse(models[*i].len()));
    order.iter().fold(name.to_owned(), |name, i| name.replace(in_print(&models[*i]), &format!("\u{1}{i}\u{1}")))
}

/// True if a layer is a series with values, and not a range between two lines.
fn is_series(layer: &Layer) -> bool {
    matches!(layer, Layer::Line(l) if l.role.dash.is_some()) || matches!(layer, Layer::Bars(_))
}

/// The line or the bars of a figure that matter most.
fn leading(figure: &Figure) -> Option<&Layer> {
    let leads = |l: &&Layer| matches!(l, Layer::Line(l) if l.role.dash.is_some() && (l.role.emphasis == Emphasis::Strong || l.role.accent == Some(2)));
    figure.layers.iter().find(leads).or_else(|| figure.layers.iter().find(|l| is_series(l)))
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

/// All values of a figure's series, each named by its position on the horizontal axis. `level` is the level of the intervals.
fn values(figure: &Figure, level: f64) -> Vec<Number> {
    let is_margin = figure.layers.iter().any(|l| matches!(l, Layer::Intervals(i) if i.is_margin));
    let number = |group: &str, x: f64, y: f64, interval: Option<(f64, f64)>, n: Count| {
        let category = figure.x.categories.get(x.round().max(0.0) as usize).cloned();
        let (lo, hi) = interval.filter(|_| !is_margin).unwrap_or((f64::NAN, f64::NAN));
        let name = category.unwrap_or_else(|| format!("{} {}", figure.x.label, short(x)));
        Number { name, group: group.to_owned(), value: Estimate { mean: y, lo, hi }, n, level, unit: (1.0, "") }
    };
    let of = |layer: &Layer| match layer {
        Layer::Line(l) => l.points.iter().map(|p| number(&l.label, p.x, p.y, p.interval(), p.n)).collect(),
        Layer::Bars(b) => {
            let middle = |bar: &layers::Bar| (bar.from + bar.to) / 2.0;
            b.bars.iter().map(|bar| number(&b.label, middle(bar), bar.y, bar.interval(), bar.n)).collect()
        }
        _ => Vec::new(),
    };
    figure.layers.iter().filter(|l| is_series(l)).flat_map(of).collect()
}

/// All values that two figures have in common, with differences and tests.
fn table_of(state: &State, (f, g): &(Figure, Figure), room: usize) -> Vec<String> {
    let Some([(n, a), (m, b)]) = pair(state) else { return Vec::new() };
    let level = |run: &Run| labs::by_id(run.job.spec.lab()).numbers(&run.results).first().map_or(LEVEL, |n| n.level);
    let common = common((&values(f, level(a)), &[]), (&values(g, level(b)), &[]));
    let shared = labs::share_examples(&a.job.spec, &b.job.spec);
    table((n, m), &common, shared, room)
}

/// Level of intervals, unless a number of the run has a different one.
const LEVEL: f64 = 0.95;

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

#[cfg(test)]
mod tests {
    use super::*;
    use figure::layers::{Datum, Intervals};
    use figure::{Axis, Provenance};

    /// Regression: the comparison used to test a difference with the margin of a bound.
    #[test]
    fn the_margin_of_a_bound_is_no_interval() {
        let figure = |is_margin| {
            let datum = Datum { x: 32.0, y: 0.9, band: Some((0.7, 1.0)), n: Count::from(400), ..Datum::default() };
            let line = layers::Line { label: "A".into(), role: figure::Role::line(0), points: vec![datum] };
            Figure {
                name: "one".into(),
                title: String::new(),
                x: Axis::doubling("training examples"),
                y: Axis::linear("accuracy"),
                layers: vec![
                    Layer::Line(line),
                    Layer::Intervals(Intervals { is_margin, ..Intervals::covering(0.95, "items") }),
                ],
                provenance: Provenance::default(),
            }
        };
        let interval = |is_margin| values(&figure(is_margin), 0.95).iter().map(|n| n.value.lo).next();
        assert_eq!(interval(false), Some(0.7));
        assert!(interval(true).is_some_and(f64::is_nan));
    }
}

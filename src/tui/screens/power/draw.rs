//! Drawing of the panes: charts and the verdict.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{BY_SIZE, KNOWN, MARGINS, NOISE, RECOMMENDED, SEQUENTIAL, SHORTFALL, VERDICT, results, run, view, words};
use crate::layout::inside;
use crate::panes::{message, pane_block, problem};
use crate::screen::Pane;
use crate::state::State;
use crate::theme::Role;
use crate::widgets::chart::Chart;
use base::text::{fit, printable};
use engine::message::Outcome;
use figure::Figure;
use figure::layers::grouped;
use labs::power::spec::in_words;
use labs::power::summary::{span, stepless};

fn chart(
    frame: &mut Frame,
    area: Rect,
    state: &State,
    (pane, title): (Pane, &str),
    figure: Option<&Figure>,
    below: Option<String>,
) {
    let room = usize::from(area.width.saturating_sub(6));
    frame.render_widget(pane_block(state, pane, &fit(&printable(title), room)), area);
    let inner = inside(area);
    let Some(figure) = figure else { return nothing(frame, inner, state) };
    let lines = u16::from(inner.height >= 7 && below.is_some());
    let widget = Chart::new(figure, state);
    frame.render_widget(widget, Rect { height: inner.height - lines, ..inner });
    if let Some(text) = below.filter(|_| lines == 1) {
        let row = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        let text = fit(&printable(&text), usize::from(row.width)).into_owned();
        frame.render_widget(Line::styled(text, state.theme().style(Role::Dim)), row);
    }
}

pub(crate) fn figure(frame: &mut Frame, area: Rect, state: &State, pane: Pane) {
    let found = results(state);
    let shown = view(state).figure(pane);
    if view(state).spec.of_files() && [MARGINS, BY_SIZE, RECOMMENDED].contains(&pane) && shown.is_none() {
        frame.render_widget(pane_block(state, pane, "Training size"), area);
        let text = "Result files contain no training sizes.";
        return message(frame, inside(area), text, state.theme().style(Role::Dim));
    }
    if !found.tasks.is_empty() && shown.is_none() {
        frame.render_widget(pane_block(state, pane, "Power"), area);
        let text =
            "Power is planned per task: provide two files for the same task. Enter on a task lists the changed items.";
        return message(frame, inside(area), text, state.theme().style(Role::Dim));
    }
    if found.comparison().is_some() && shown.is_none() {
        frame.render_widget(pane_block(state, pane, pane.0), area);
        let why = match pane {
            SEQUENTIAL => {
                let why =
                    found.comparison().and_then(|c| stepless(&c.value)).unwrap_or("items cannot be counted one by one");
                format!("The sequential test is not possible: {why}.")
            }
            NOISE => "Noise was not studied; tick it under Extra checks in the settings.".to_owned(),
            SHORTFALL => "The shortfall was not measured; tick it under Extra checks in the settings.".to_owned(),
            KNOWN => "This comparison does not show how many items are needed.".to_owned(),
            _ => "This run has one training size; enter several under Steps in the settings.".to_owned(),
        };
        return message(frame, inside(area), &why, state.theme().style(Role::Dim));
    }
    let (title, below) = match pane {
        MARGINS => ("Accuracy and the margin of the bound by training size".to_owned(), trained(state)),
        BY_SIZE => ("Power by training size".to_owned(), None),
        RECOMMENDED => ("Recommended test items by training size".to_owned(), None),
        NOISE => ("Power by noise on B".to_owned(), None),
        SHORTFALL => ("Accuracy shortfall: due to optimisation and to data".to_owned(), None),
        SEQUENTIAL => ("Early stopping: A's share of disagreements by items seen".to_owned(), stops(state)),
        _ => (curve_title(state), needed(state)),
    };
    chart(frame, area, state, (pane, &title), shown, below);
}

fn curve_title(state: &State) -> String {
    let spec = &view(state).spec;
    match results(state).comparison() {
        Some(c) => format!("Power by test items: {} against {}", in_words(&c.value.a), in_words(&c.value.b)),
        None => {
            let [a, b] = [true, false].map(|first| in_words(&spec.name(first)));
            format!("Power by test items: {a} against {b}")
        }
    }
}

fn needed(state: &State) -> Option<String> {
    let found = results(state);
    let r = found.needed()?;
    let (v, pilot) = (&r.value, grouped(r.n));
    if found.collapsed().is_some() {
        return Some(format!(" No number of items is recommended; pilot of {pilot}."));
    }
    Some(format!(" {:.0} % power needs {} items; pilot of {pilot}.", 100.0 * v.target, span(&v.n_test)))
}

/// Formats the number of training sentences that the bound recommends.
fn trained(state: &State) -> Option<String> {
    let (n, bound) = results(state).recommended()?;
    Some(format!(" The {bound}: train on {}.", grouped(n as usize)))
}

fn stops(state: &State) -> Option<String> {
    let found = results(state);
    let last = found.steps().last()?;
    Some(match found.stop() {
        Some(stop) => format!(" Testing may stop after {} items.", grouped(stop.value.at_n as usize)),
        None => {
            let (n, e) = (grouped(last.value.at_n as usize), last.value.log_e.exp());
            format!(" Testing may not stop yet after {n} items (e-value {e:.2}).")
        }
    })
}

/// Draws the verdict, with the 2×2 table beside it or, in a narrow pane, below.
pub(crate) fn verdict(frame: &mut Frame, area: Rect, state: &State) {
    frame.render_widget(pane_block(state, VERDICT, "Verdict"), area);
    let inner = inside(area);
    let table = words::table(state);
    let beside = !table.is_empty() && usize::from(inner.width) >= words::TABLE + 44;
    let mut lines = words::lines(state, usize::from(inner.width), if beside { table.len() } else { 0 });
    if lines.is_empty() {
        return nothing(frame, inner, state);
    }
    if !beside {
        lines.extend(table.iter().map(|(role, line)| (*role, format!(" {line}"))));
    }
    let from = state.place(super::ID).scrolled(VERDICT).min(lines.len().saturating_sub(1));
    let hidden = lines.len().saturating_sub(from + usize::from(inner.height));
    write(frame, inner, lines, from, state);
    if beside {
        // The table scrolls with the first lines.
        let width = words::TABLE as u16;
        let area = Rect { x: inner.right() - width, width, ..inner };
        write(frame, area, table, from, state);
    }
    if hidden > 0 {
        let row = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        let text = format!(" … {} more lines: scroll or zoom", hidden + 1);
        let text = format!("{text:<width$}", width = usize::from(row.width));
        frame.render_widget(Line::styled(text, state.theme().style(Role::Dim)), row);
    }
}

fn write(frame: &mut Frame, area: Rect, lines: Vec<(Role, String)>, from: usize, state: &State) {
    for (row, (role, text)) in area.rows().zip(lines.into_iter().skip(from)) {
        let text = fit(&text, usize::from(row.width)).into_owned();
        frame.render_widget(Line::from(Span::styled(text, state.theme().style(role))), row);
    }
}

fn nothing(frame: &mut Frame, area: Rect, state: &State) {
    let text = match run(state) {
        None if state.replay.is_some() => "nothing has been played yet".to_owned(),
        None => format!("{} runs the comparison", state.keymap.label("run")),
        Some(job) => match &job.outcome {
            Some(Outcome::Failed(p)) => return problem(frame, area, p, state),
            Some(Outcome::Cancelled) => "cancelled before the first comparison".into(),
            Some(Outcome::Done) => "the run has nothing to show here".into(),
            None => {
                let stage = job.progress.as_ref().map_or(String::new(), |p| format!("\nnow: {}", p.stage));
                format!("Shows the comparison when the first probes are trained and tested.{stage}")
            }
        },
    };
    message(frame, area, &text, state.theme().style(Role::Dim));
}

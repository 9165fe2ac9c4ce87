//! The panes: three charts and the verdict.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{CURVE, MARGINS, SEQUENTIAL, VERDICT, results, run, view, words};
use crate::base::text::{fit, printable};
use crate::engine::message::Outcome;
use crate::figure::Figure;
use crate::figure::layers::grouped;
use crate::lab::power::summary::span;
use crate::tui::layout::inside;
use crate::tui::panes::{message, pane_block, problem};
use crate::tui::screen::Pane;
use crate::tui::state::State;
use crate::tui::theme::Role;
use crate::tui::widgets::chart::{Chart, Form};

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
    let widget = Chart { figure, theme: state.theme(), glyphs: state.view.glyphs, form: Form::Lines };
    frame.render_widget(widget, Rect { height: inner.height - lines, ..inner });
    if let Some(text) = below.filter(|_| lines == 1) {
        let row = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        let text = fit(&printable(&text), usize::from(row.width)).into_owned();
        frame.render_widget(Line::styled(text, state.theme().style(Role::Dim)), row);
    }
}

/// Power against n.
pub fn curve(frame: &mut Frame, area: Rect, state: &State) {
    let spec = &view(state).spec;
    let title = match results(state).comparison() {
        Some(c) => format!("Power vs n: {} against {}", c.value.a, c.value.b),
        None => format!("Power vs n: {} against {}", spec.name(true), spec.name(false)),
    };
    let below = results(state).needed().map(|r| {
        let v = &r.value;
        let state = if r.is_final { "" } else { "  refining" };
        format!(" needed for {}: {} test items; pilot of {}{state}", v.target, span(&v.n_test), grouped(r.n))
    });
    chart(frame, area, state, (CURVE, &title), view(state).curve.as_ref(), below);
}

/// Accuracies against the bound.
pub fn margins(frame: &mut Frame, area: Rect, state: &State) {
    let below = results(state).needed().and_then(|r| {
        let v = &r.value;
        let (n, bound) = (v.n_train?, v.bound.as_ref()?);
        Some(format!(" {bound} bound: {} to train on", grouped(n as usize)))
    });
    let title = "Accuracy, sd over seeds, margin of the bound";
    chart(frame, area, state, (MARGINS, title), view(state).margins.as_ref(), below);
}

/// The test that may be looked at.
pub fn sequential(frame: &mut Frame, area: Rect, state: &State) {
    let steps = &results(state).sequential;
    let below = steps.last().map(|last| match steps.iter().find(|s| s.value.may_stop) {
        Some(stop) => format!(" one may stop at {} items", grouped(stop.value.at_n as usize)),
        None => format!(" not yet: e = {:.2} of {} items", last.value.log_e.exp(), grouped(last.n)),
    });
    let title = "Peeking allowed: confidence sequence";
    chart(frame, area, state, (SEQUENTIAL, title), view(state).sequential.as_ref(), below);
}

/// The verdict and the table.
pub fn verdict(frame: &mut Frame, area: Rect, state: &State) {
    frame.render_widget(pane_block(state, VERDICT, "Verdict"), area);
    let inner = inside(area);
    let lines = words::lines(state, usize::from(inner.width));
    if lines.is_empty() {
        return nothing(frame, inner, state);
    }
    let from = state.place(super::ID).scrolled(VERDICT).min(lines.len().saturating_sub(1));
    for (row, (role, text)) in inner.rows().zip(lines.into_iter().skip(from)) {
        let span = Span::styled(fit(&text, usize::from(row.width)).into_owned(), state.theme().style(role));
        frame.render_widget(Line::from(span), row);
    }
}

/// Why there is nothing to see.
fn nothing(frame: &mut Frame, area: Rect, state: &State) {
    let text = match run(state) {
        None if state.replay.is_some() => "nothing has been played yet".to_owned(),
        None => format!("{} runs the comparison", state.keymap.label("run")),
        Some(job) => match &job.outcome {
            Some(Outcome::Failed(p)) => return problem(frame, area, p, state),
            Some(Outcome::Cancelled) => "cancelled before the first comparison".into(),
            Some(Outcome::Done) => "the run has nothing to show here".into(),
            None => job.progress.as_ref().map_or("the comparison is starting".into(), |p| p.stage.clone()),
        },
    };
    message(frame, area, &text, state.theme().style(Role::Dim));
}

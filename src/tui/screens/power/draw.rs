//! The panes: three charts and the verdict.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{CURVE, MARGINS, SEQUENTIAL, VERDICT, results, run, view, words};
use crate::layout::inside;
use crate::panes::{message, pane_block, problem};
use crate::screen::Pane;
use crate::state::State;
use crate::theme::Role;
use crate::widgets::chart::{Chart, Form};
use base::text::{fit, printable, width};
use engine::message::Outcome;
use figure::Figure;
use figure::layers::grouped;
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
    let widget = Chart { figure, theme: state.theme(), glyphs: state.view.glyphs, form: Form::Lines };
    frame.render_widget(widget, Rect { height: inner.height - lines, ..inner });
    if let Some(text) = below.filter(|_| lines == 1) {
        let row = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        let text = fit(&printable(&text), usize::from(row.width)).into_owned();
        frame.render_widget(Line::styled(text, state.theme().style(Role::Dim)), row);
    }
}

/// Power against n.
pub(crate) fn curve(frame: &mut Frame, area: Rect, state: &State) {
    let spec = &view(state).spec;
    let title = match results(state).comparison() {
        Some(c) => format!("Power vs n: {} against {}", c.value.a, c.value.b),
        None => format!("Power vs n: {} against {}", spec.name(true), spec.name(false)),
    };
    let found = results(state);
    let below = found.needed().map(|r| {
        let v = &r.value;
        let state = if r.is_final { "" } else { "  refining" };
        let pilot = grouped(r.n);
        if found.collapsed().is_some() {
            return format!(" no n is recommended; pilot of {pilot}{state}");
        }
        format!(" needed for {}: {} test items; pilot of {pilot}{state}", v.target, span(&v.n_test))
    });
    chart(frame, area, state, (CURVE, &title), view(state).curve.as_ref(), below);
}

/// Accuracies against the bound, power and what is recommended by training size, or the study of noise: the user turns from one to the
/// next.
pub(crate) fn margins(frame: &mut Frame, area: Rect, state: &State) {
    let found = results(state);
    if view(state).spec.of_files() && found.margins.is_empty() {
        let title = "Margin of the bound";
        frame.render_widget(pane_block(state, MARGINS, title), area);
        let text = "bounds are about training, of which results from files say nothing";
        return message(frame, inside(area), text, state.theme().style(Role::Dim));
    }
    let (now, next) = view(state).below();
    let of = |figure: &Figure| match figure.name.as_str() {
        "noise" => ("Power vs n by noise on B", "noise"),
        "sizes" => ("Power by training size", "power by size"),
        "recommended" => ("Recommended n by training size", "n by size"),
        _ => ("Accuracy ± margin of the bound", "bound"),
    };
    let title = now.map_or("Accuracy ± margin of the bound", |figure| of(figure).0);
    let train = found.recommended().filter(|_| now.is_some_and(|figure| figure.name == "margins"));
    let train = train.map(|(n, bound)| format!(" {bound} bound: train on {}", grouped(n as usize)));
    let turn = next.map(|figure| format!(" {}: {}", state.keymap.short_label("noise"), of(figure).1));
    // The key is in the help as well; half of its hint would say nothing.
    let both: String = [train.clone(), turn.clone()].into_iter().flatten().collect();
    let below =
        if width(&both) + 2 <= usize::from(area.width) { both } else { train.or(turn).unwrap_or_default() };
    chart(frame, area, state, (MARGINS, title), now, Some(below).filter(|text| !text.is_empty()));
}

/// The test that may be looked at.
pub(crate) fn sequential(frame: &mut Frame, area: Rect, state: &State) {
    let found = results(state);
    let below = found.steps().last().map(|last| match found.stop() {
        Some(stop) => format!(" one may stop after {} items", grouped(stop.value.at_n as usize)),
        None => {
            let e = last.value.log_e.exp();
            format!(" not yet after {} items: e {e:.2}", grouped(last.value.at_n as usize))
        }
    });
    if below.is_none() && found.comparison().is_some() {
        frame.render_widget(pane_block(state, SEQUENTIAL, "Peeking allowed"), area);
        let why = found.comparison().and_then(|c| stepless(&c.value)).unwrap_or("no item is a step");
        let text = format!("the sequential test cannot be made, as {why}");
        return message(frame, inside(area), &text, state.theme().style(Role::Dim));
    }
    chart(
        frame,
        area,
        state,
        (SEQUENTIAL, "Peeking allowed: A's share of wins"),
        view(state).sequential.as_ref(),
        below,
    );
}

/// The verdict, and the 2×2 table beside it or, in a narrow pane, below.
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
        // It stands beside the first lines and moves with them.
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

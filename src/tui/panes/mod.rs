//! The view: borrows the state and draws it.

mod bars;
mod curves;
mod data;
mod example;
mod listing;
mod models;
mod pareto;
mod popups;
mod probes;
mod setup;

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Paragraph, Wrap};

pub use bars::{footer_at, lab_at, tab_at};
pub use curves::chart_area;
pub use data::set_at;
pub use models::model_at;

use super::layout::{Layout, SMALLEST, compute};
use super::state::{Glyphs, Lab, Pane, State};
use super::theme::Role;
use crate::base::Problem;
use crate::base::text::{printable, width};

/// Draws the whole screen.
pub fn draw(frame: &mut Frame, state: &State) {
    let area = frame.area();
    if (area.width, area.height) != state.view.size {
        // A resize is under way; the next frame knows the size.
        return;
    }
    let Some(layout) = compute(state) else { return too_small(frame, state) };
    bars::title(frame, layout.title, state);
    match state.view.lab {
        Lab::Models => models::draw(frame, under_title(&layout), state),
        Lab::Data => data::draw(frame, under_title(&layout), state),
        Lab::Interventions => {
            if let Some(tabs) = layout.tabs {
                bars::tabs(frame, tabs, state);
            }
            for (pane, rect) in &layout.panes {
                match pane {
                    Pane::Setup => setup::draw(frame, *rect, state),
                    Pane::Curves => curves::draw(frame, *rect, state),
                    Pane::Pareto => pareto::draw(frame, *rect, state),
                    Pane::Example => example::draw(frame, *rect, state),
                    Pane::Probes => probes::draw(frame, *rect, state),
                }
            }
        }
    }
    bars::progress(frame, layout.progress, state);
    bars::footer(frame, layout.footer, state);
    popups::draw(frame, under_title(&layout), state);
}

/// Everything between title and progress.
pub fn under_title(layout: &Layout) -> Rect {
    layout.tabs.map_or(layout.body, |tabs| tabs.union(layout.body))
}

fn too_small(frame: &mut Frame, state: &State) {
    let (columns, rows) = state.view.size;
    let text = format!(
        "Probity needs {}×{}. This terminal is {columns}×{rows}: enlarge it, or press {} to quit.",
        SMALLEST.0,
        SMALLEST.1,
        state.keymap.label(super::commands::CommandId::Quit)
    );
    let style = state.theme().style(Role::Text);
    frame.render_widget(Paragraph::new(text).style(style).wrap(Wrap { trim: true }), frame.area());
}

/// How far a pane can be scrolled, in its own units.
pub fn lines(state: &State, pane: Pane) -> usize {
    match pane {
        Pane::Setup => state.rows().len(),
        Pane::Probes => state.results().probes.len(),
        Pane::Curves | Pane::Pareto | Pane::Example => 0,
    }
}

/// Lines of the model's description that can be scrolled away before its last one is in sight.
pub fn dossier_overflow(state: &State) -> usize {
    compute(state).map_or(0, |layout| models::overflow(state, under_title(&layout)))
}

/// Lines of what is known of the data set that can be scrolled away before the last one is in sight.
pub fn data_overflow(state: &State) -> usize {
    compute(state).map_or(0, |layout| data::overflow(state, under_title(&layout)))
}

/// Lines of the popup that can be scrolled away before its last one is in sight.
pub fn popup_overflow(state: &State) -> usize {
    compute(state).map_or(0, |layout| popups::overflow(state, under_title(&layout)))
}

/// The frame of a pane. The focused one differs by the weight of its border and by a mark, not by colour alone.
fn block(state: &State, title: &str, focused: bool) -> Block<'static> {
    let role = if focused { Role::Focus } else { Role::Border };
    let style = state.theme().style(role);
    let mark = if focused { "» " } else { "" };
    let title_style = if focused { style } else { state.theme().style(Role::Title) };
    let title = Span::styled(format!(" {mark}{} ", printable(title)), title_style);
    let block = Block::bordered().border_style(style).title(title);
    match (state.view.glyphs, focused) {
        (Glyphs::Ascii, true) => block.border_set(ASCII_FOCUS),
        (Glyphs::Ascii, false) => block.border_set(ASCII),
        (_, true) => block.border_type(BorderType::Thick),
        (_, false) => block.border_type(BorderType::Plain),
    }
}

const ASCII: border::Set = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

const ASCII_FOCUS: border::Set = border::Set {
    top_left: "#",
    top_right: "#",
    bottom_left: "#",
    bottom_right: "#",
    vertical_left: "#",
    vertical_right: "#",
    horizontal_top: "=",
    horizontal_bottom: "=",
};

/// A message in the middle of an empty pane.
fn message(frame: &mut Frame, area: Rect, text: &str, style: Style) {
    let columns = usize::from(area.width.max(1));
    let rows = printable(text).lines().map(|l| width(l).div_ceil(columns).max(1)).sum::<usize>() as u16;
    let top = area.height.saturating_sub(rows) / 2;
    let area = Rect { y: area.y + top, height: area.height - top, ..area };
    let lines: Vec<Line> = text.split('\n').map(|l| Line::from(printable(l).into_owned())).collect();
    let text = Paragraph::new(lines).style(style).alignment(Alignment::Center).wrap(Wrap { trim: true });
    frame.render_widget(text, area);
}

/// A problem in the pane that asked: what failed, on what, what to do.
fn problem(frame: &mut Frame, area: Rect, problem: &Problem, state: &State) {
    let theme = state.theme();
    let line = |text: &str, role| Line::styled(printable(text).into_owned(), theme.style(role));
    let lines = vec![
        line(&format!("{} {}", state.view.glyphs.cross(), problem.what), Role::Error),
        line(&problem.r#where, Role::Dim),
        line(&problem.hint, Role::Text),
    ];
    let top = area.height.saturating_sub(4) / 2;
    let area = Rect { y: area.y + top, height: area.height - top, ..area };
    let text = Paragraph::new(lines).alignment(Alignment::Center).wrap(Wrap { trim: true });
    frame.render_widget(text, area);
}

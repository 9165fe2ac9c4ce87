//! Popups to read: where numbers come from, and what went wrong.

use ratatui::text::{Line, Span};

use super::{Page, hanging};
use crate::base::text::{pad, printable};
use crate::engine::message::NoticeLevel;
use crate::tui::state::State;
use crate::tui::theme::Role;

/// Where the number under the cursor comes from.
pub struct Provenance;

impl Page for Provenance {
    fn name(&self) -> &'static str {
        "provenance"
    }

    fn title(&self, _: &State) -> String {
        "Where this comes from".into()
    }

    fn lines(&self, state: &State, _: usize) -> Vec<Line<'static>> {
        let theme = state.theme();
        let Some(origin) = state.screen().origin(state) else {
            return vec![Line::styled("nothing has been measured yet", theme.style(Role::Dim))];
        };
        let mut lines = vec![
            Line::styled(printable(&origin.what).into_owned(), theme.style(Role::Title)),
            Line::default(),
        ];
        for (key, value) in &origin.entries {
            lines.push(Line::from(vec![
                Span::styled(pad(&printable(key), 16), theme.style(Role::Dim)),
                Span::styled(printable(value).into_owned(), theme.style(Role::Value)),
            ]));
        }
        lines.push(Line::default());
        let copy = state.keymap.label("popup-copy");
        let again = format!("to make it again from the shell ({copy} copies):");
        lines.push(Line::styled(again, theme.style(Role::Dim)));
        let command = origin.command.lines();
        lines.extend(command.map(|l| Line::styled(printable(l).into_owned(), theme.style(Role::Text))));
        lines
    }

    fn copy(&self, state: &State) -> Option<String> {
        state.screen().origin(state).map(|origin| origin.command)
    }
}

/// What went wrong and what deserves a look, newest first.
pub struct Notices;

impl Page for Notices {
    fn name(&self) -> &'static str {
        "notices"
    }

    fn title(&self, _: &State) -> String {
        "Notices, newest first".into()
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let theme = state.theme();
        let notices = state.notices();
        if notices.is_empty() {
            return vec![Line::styled("nothing to report", theme.style(Role::Dim))];
        }
        let lines = notices.iter().rev().flat_map(|notice| {
            let (sign, role) = match notice.level {
                NoticeLevel::Info => ("i", Role::Text),
                NoticeLevel::Warning => ("!", Role::Warning),
                NoticeLevel::Error => (state.view.glyphs.cross(), Role::Error),
            };
            let text = format!("{sign} {}", printable(&notice.problem.to_string()));
            hanging(&text, room).into_iter().map(move |l| Line::styled(l, theme.style(role)))
        });
        lines.collect()
    }

    fn copy(&self, state: &State) -> Option<String> {
        let lines: Vec<String> = state.notices().iter().map(|n| n.problem.to_string()).collect();
        Some(lines.join("\n")).filter(|text| !text.is_empty())
    }
}

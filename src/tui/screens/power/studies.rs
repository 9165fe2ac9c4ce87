//! Picker of the paper's studies, and the page of known data sets.

use ratatui::text::Line;

use super::{own, results, view_mut};
use crate::popups::{Page, Presets};
use crate::state::State;
use crate::theme::Role;
use base::text::{pad, printable, wrapped};
use labs::power::summary::span;
use labs::power::survey::{HEADS, verdicts};
use labs::{LabId, Spec};

pub(crate) static STUDIES: Presets =
    Presets { lab: LabId::Power, name: "studies", what: "Studies of Zhu et al.", adopt };
pub(crate) static SURVEY: Survey = Survey;

fn adopt(state: &mut State, spec: Spec) {
    if let Some(spec) = own(&spec) {
        let view = view_mut(state);
        (view.spec, view.pilot) = (spec.clone(), None);
    }
}

/// Known data sets compared with the current requirements.
pub(crate) struct Survey;

const COLUMNS: [usize; 5] = [33, 8, 18, 9, 9];

impl Page for Survey {
    fn name(&self) -> &'static str {
        "survey"
    }

    fn title(&self, _state: &State) -> String {
        "Known data sets: large enough for this question?".into()
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let say = |role: Role, text: &str| -> Vec<Line<'static>> {
            let style = state.theme().style(role);
            wrapped(text, room).into_iter().map(|l| Line::styled(printable(&l).into_owned(), style)).collect()
        };
        let found = results(state);
        let (Some(all), Some(needed)) = (verdicts(found), found.needed()) else {
            let text =
                "nothing has been compared yet; compare right and wrong answers to see how many items are needed";
            return say(Role::Dim, text);
        };
        let row = |cells: [String; 5]| -> String {
            cells.iter().zip(COLUMNS).map(|(cell, width)| pad(cell, width)).collect()
        };
        let v = &needed.value;
        let mut lines = say(
            Role::Text,
            &match found.collapsed() {
                Some(_) => "no n is recommended for this comparison".to_owned(),
                None => {
                    format!("needed for power {} at α {}: {} test items", v.target, v.alpha, span(&v.n_test))
                }
            },
        );
        if let Some((n, bound)) = found.recommended() {
            let n = figure::layers::grouped(n as usize);
            lines.extend(say(Role::Text, &format!("the {bound} requires {n} training examples")));
        }
        lines.push(Line::default());
        lines.push(Line::styled(row(HEADS.map(str::to_owned)), state.theme().style(Role::Title)));
        lines.extend(all.iter().map(|v| Line::styled(row(v.cells()), state.theme().style(Role::Text))));
        lines.push(Line::default());
        let about = "sizes from Tables 8 and 9 of Zhu et al. (2022); the verdicts assume that items behave like those of the pilot";
        lines.extend(say(Role::Dim, about));
        lines
    }

    fn copy(&self, state: &State) -> Option<String> {
        let rows = verdicts(results(state))?;
        let table: Vec<String> = rows.iter().map(|v| v.cells().join("\t")).collect();
        Some(format!("{}\n{}\n", HEADS.join("\t"), table.join("\n")))
    }
}

//! Picker of the drawn method and of the methods that are run.

use ratatui::text::{Line, Span};

use super::{methods, own, ran, settle, view, view_mut};
use crate::action::Effect;
use crate::popups::{self, Picker, Presets, mark};
use crate::state::State;
use crate::theme::Role;
use base::text::{pad, printable};
use labs::interventions::spec::MethodSpec;
use labs::{LabId, Spec};

/// Widths of titles and goals, each followed by a space; longer titles are cut.
const TITLE: usize = 19;
const GOAL: usize = 14;

pub(crate) static METHODS: Methods = Methods;

pub(crate) static EXPERIMENTS: Presets =
    Presets { lab: LabId::Interventions, name: "experiments", what: "Experiments of Canby et al.", adopt };

fn adopt(state: &mut State, spec: Spec) {
    if let Some(spec) = own(&spec) {
        let view = view_mut(state);
        view.spec = spec.clone();
        settle(view);
    }
}

pub(crate) struct Methods;

/// Opens the picker; also the action of `space` on the method's row.
pub(crate) fn open(state: &mut State) -> Vec<Effect> {
    let at = view(state).catalog.methods.iter().position(|m| m.id == view(state).method);
    popups::pick(state, &METHODS, at.unwrap_or(0))
}

/// Toggles whether a method is run. Methods keep the catalog's order.
pub(crate) fn toggle(state: &mut State, id: &str) {
    let view = view(state);
    let mut methods = view.spec.methods.clone();
    if methods.iter().any(|m| m.name == id) {
        methods.retain(|m| m.name != id);
    } else {
        // A method of the earlier run keeps its options and its position in the list.
        let ran = ran(state).map_or(&[][..], |spec| &spec.methods);
        let as_it_ran: Vec<MethodSpec> = ran.iter().filter(|m| m.name == id).cloned().collect();
        let new = if as_it_ran.is_empty() { vec![MethodSpec::named(id)] } else { as_it_ran };
        let rank = |name: &str| {
            let place = ran.iter().position(|m| m.name == name);
            let known = view.catalog.methods.iter().position(|m| m.id == name);
            (place.unwrap_or(usize::MAX), known.unwrap_or(usize::MAX))
        };
        let at = methods.iter().position(|m| rank(&m.name) > rank(id)).unwrap_or(methods.len());
        methods.splice(at..at, new);
    }
    let view = view_mut(state);
    view.spec.methods = methods;
    settle(view);
}

impl Picker for Methods {
    fn name(&self) -> &'static str {
        "methods"
    }

    fn title(&self, state: &State) -> String {
        let key = |name| state.keymap.label(name);
        format!("Methods: {} draws one, {} selects it for the run", key("popup-accept"), key("popup-select"))
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let theme = state.theme();
        let line = |(i, method): (usize, &super::catalog::MethodEntry)| {
            let runs = view(state).spec.methods.iter().any(|m| m.name == method.id);
            let sign = state.view.glyphs.check(runs);
            let role = if i == selected { Role::Selection } else { Role::Text };
            let title = pad(&printable(&method.title), TITLE);
            let name = format!("{}{sign} {title} ", mark(state, i == selected));
            let goal = format!("{} ", pad(&printable(&method.goal), GOAL));
            Line::from(vec![
                Span::styled(name, theme.style(role)),
                Span::styled(goal, theme.style(Role::Dim)),
                Span::styled(printable(&method.doc).into_owned(), theme.style(Role::Dim)),
            ])
        };
        view(state).catalog.methods.iter().enumerate().map(line).collect()
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let chosen = view(state).catalog.methods.get(entry).map(|m| m.id.clone());
        chosen.map_or(Vec::new(), |id| methods::draw(state, (id, 0)))
    }

    fn marks(&self, state: &State, _: usize) -> bool {
        state.replay.is_none()
    }

    fn mark(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        if let Some(id) = view(state).catalog.methods.get(entry).map(|m| m.id.clone()) {
            toggle(state, &id);
        }
        Vec::new()
    }
}

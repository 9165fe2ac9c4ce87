//! The screen of the power lab: two sides, the curve of power, accuracies against the bound, the test that may be looked at, and
//! the verdict in plain words.

mod draw;
mod setup;
#[cfg(test)]
mod tests;
mod words;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};

use crate::engine::board::Job;
use crate::engine::message::{Command, Event, Outcome, Question};
use crate::figure::Figure;
use crate::lab::power::figures;
use crate::lab::power::question::{Adjust, Question as Asked};
use crate::lab::power::{Results, Spec};
use crate::lab::{self, LabId};
use crate::tui::action::Effect;
use crate::tui::commands::{Context, Entry, always, rows};
use crate::tui::reduce::job;
use crate::tui::screen::{Origin, Pane, Screen, ScreenId};
use crate::tui::setup as frame_setup;
use crate::tui::state::{Start, State};

/// This screen.
pub const ID: ScreenId = ScreenId("power");
/// Power against n.
pub const CURVE: Pane = Pane("Power");
/// What is to be said.
pub const VERDICT: Pane = Pane("Verdict");
/// Accuracies against the bound.
pub const MARGINS: Pane = Pane("Margins");
/// The test that may be looked at.
pub const SEQUENTIAL: Pane = Pane("Sequential");

/// What this screen remembers.
#[derive(Debug, Clone)]
pub struct View {
    /// The experiment as the user sets it up.
    pub spec: Spec,
    /// The figures; none before there is anything to draw.
    pub curve: Option<Figure>,
    /// Accuracies against the bound.
    pub margins: Option<Figure>,
    /// The sequential test.
    pub sequential: Option<Figure>,
}

impl View {
    /// The view before anything has happened.
    #[must_use]
    pub fn new(start: &Start) -> Self {
        let spec = own(&start.spec).cloned().unwrap_or_else(Spec::shipped);
        Self { spec, curve: None, margins: None, sequential: None }
    }
}

/// The screen.
pub struct Power;

/// The screen, for the registry.
pub static SCREEN: Power = Power;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-power", "power lab",
        "Shows the power lab: how much data a comparison needs. In the setup pane a bare digit types a number instead.",
        ["3", "alt-3"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "swap", "swap sides", "Makes the first side the second and the second the first.",
        ["x"], Some(("swap", 12)), |s| s.replay.is_none() => swap;
};

fn view(state: &State) -> &View {
    &state.screens.power
}

fn view_mut(state: &mut State) -> &mut View {
    &mut state.screens.power
}

/// The lab's latest run.
fn run(state: &State) -> Option<&Job> {
    state.board.run_of(LabId::Power).map(|run| &run.job)
}

/// What the lab's latest run computes.
fn ran(state: &State) -> Option<&Spec> {
    run(state).and_then(|job| own(&job.spec))
}

fn results(state: &State) -> &Results {
    state.board.results::<Results>()
}

fn own(spec: &lab::Spec) -> Option<&Spec> {
    match spec {
        lab::Spec::Power(spec) => Some(spec),
        _ => None,
    }
}

/// Asks what the comparison says under the terms of the setup, where there is one.
fn ask(state: &mut State) -> Vec<Effect> {
    let Some(generation) = run(state).map(|job| job.generation) else { return Vec::new() };
    if results(state).comparisons.is_empty() {
        return Vec::new();
    }
    let test = &view(state).spec.test;
    let terms = Adjust { alpha: test.alpha, target: test.target, margin: test.margin, pilot: None };
    job::ask(state, Question::Experiment { generation, question: Asked::Adjust(terms).into() })
}

fn swap(state: &mut State) -> Vec<Effect> {
    let spec = &mut view_mut(state).spec;
    std::mem::swap(&mut spec.a, &mut spec.b);
    if !spec.of_files() {
        spec.models = vec![spec.encoder(false).to_owned(), spec.encoder(true).to_owned()];
    }
    Vec::new()
}

impl Screen for Power {
    fn id(&self) -> ScreenId {
        ID
    }

    fn title(&self) -> &'static str {
        "Power"
    }

    fn tab(&self) -> &'static Entry {
        &TAB[0]
    }

    fn question(&self) -> Option<&'static str> {
        Some(LabId::Power.lab().question())
    }

    fn panes(&self) -> &'static [Pane] {
        &[frame_setup::PANE, CURVE, VERDICT, MARGINS, SEQUENTIAL]
    }

    fn first(&self) -> Pane {
        CURVE
    }

    fn layout(&self, _state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        let side = if body.width >= 150 { 42 } else { 34 };
        let [setup, right] = Split::horizontal([Constraint::Length(side), Constraint::Fill(1)]).areas(body);
        let [curve, verdict, below] =
            Split::vertical([Constraint::Fill(5), Constraint::Length(11), Constraint::Fill(4)]).areas(right);
        let [margins, sequential] =
            Split::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(below);
        vec![
            (frame_setup::PANE, setup),
            (CURVE, curve),
            (VERDICT, verdict),
            (MARGINS, margins),
            (SEQUENTIAL, sequential),
        ]
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            CURVE => draw::curve(frame, area, state),
            MARGINS => draw::margins(frame, area, state),
            SEQUENTIAL => draw::sequential(frame, area, state),
            _ => draw::verdict(frame, area, state),
        }
    }

    fn setup(&self) -> Option<&'static dyn frame_setup::Setup> {
        Some(&setup::SETUP)
    }

    fn commands(&self) -> &'static [Entry] {
        COMMANDS
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) {
        let len = if pane == VERDICT { words::lines(state, 60).len() } else { 0 };
        state.place_mut(ID).travel(pane, by, len);
    }

    fn figure<'a>(&self, state: &'a State) -> Option<&'a Figure> {
        let view = view(state);
        match state.place(ID).focus {
            MARGINS => view.margins.as_ref(),
            SEQUENTIAL => view.sequential.as_ref(),
            _ => view.curve.as_ref(),
        }
    }

    fn copy(&self, state: &State) -> Option<String> {
        words::copied(state)
    }

    fn origin(&self, state: &State) -> Option<Origin> {
        words::origin(state)
    }

    fn measures(&self) -> bool {
        true
    }

    fn refresh(&self, state: &mut State) {
        let engine = state.board.engine.as_ref();
        let found = results(state);
        let drawn = (
            figures::power(found, engine),
            figures::margins(found, engine),
            figures::sequential(found, engine),
        );
        let view = view_mut(state);
        (view.curve, view.margins, view.sequential) = drawn;
    }

    fn on_event(&self, state: &mut State, event: &Event) -> Vec<Effect> {
        let Event::Finished { generation, outcome: Outcome::Done, .. } = event else { return Vec::new() };
        let mine = run(state).is_some_and(|job| job.generation == *generation);
        let changed = ran(state).is_some_and(|ran| ran.test != view(state).spec.test);
        // Terms that were changed while the run went on are asked about now that it is over.
        if mine && changed { ask(state) } else { Vec::new() }
    }

    fn follow(&self, state: &mut State, command: &Command) {
        match command {
            Command::Run { spec, .. } => {
                if let Some(spec) = own(spec) {
                    view_mut(state).spec = spec.clone();
                }
            }
            Command::Ask {
                question: Question::Experiment { question: lab::Question::Power(Asked::Adjust(terms)), .. },
                ..
            } => {
                let test = &mut view_mut(state).spec.test;
                (test.alpha, test.target, test.margin) = (terms.alpha, terms.target, terms.margin);
            }
            _ => {}
        }
    }
}

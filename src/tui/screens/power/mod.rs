//! The screen of the power lab: two sides, the curve of power, accuracies against the bound, the test that may be looked at, and
//! the verdict in plain words.

mod draw;
mod setup;
mod studies;
#[cfg(test)]
mod tests;
mod words;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};

use crate::action::Effect;
use crate::commands::{Context, Entry, always, rows};
use crate::popups;
use crate::reduce::job;
use crate::screen::{Origin, Pane, Screen, ScreenId};
use crate::setup as frame_setup;
use crate::state::{Start, State};
use engine::board::Job;
use engine::message::{Command, Event, Outcome, Question};
use figure::Figure;
use labs::power::figures;
use labs::power::plan::{Hypothesis, Plan, Stop};
use labs::power::question::{Adjust, Question as Asked};
use labs::power::results::Answer;
use labs::power::spec::TestSpec;
use labs::power::tally::under;
use labs::power::{Results, Spec};
use labs::{self, LabId};

pub const ID: ScreenId = ScreenId("power");
/// Power against n.
pub const CURVE: Pane = Pane("Power");
/// What is to be said.
pub const VERDICT: Pane = Pane("Verdict");
/// Accuracies against the bound.
pub(crate) const MARGINS: Pane = Pane("Margins");
/// The test that may be looked at.
pub(crate) const SEQUENTIAL: Pane = Pane("Sequential");

/// What this screen remembers.
#[derive(Debug, Clone)]
pub struct View {
    /// The experiment as the user sets it up.
    pub spec: Spec,
    /// Items of the pilot that are looked at; none for all.
    pub pilot: Option<usize>,
    /// What was found, under the terms of the setup.
    pub shown: Results,
    /// What the terms were answered from: another pilot has another number of items and findings.
    answered: Option<(Adjust, (usize, usize))>,
    /// The figures; none before there is anything to draw.
    pub curve: Option<Figure>,
    /// What the lower left pane can show, in turn: the study of noise where one ran, accuracies against the bound, power and what is
    /// recommended by training size.
    pub below: Vec<Figure>,
    /// How often that pane was turned.
    pub turned: usize,
    /// The sequential test.
    pub sequential: Option<Figure>,
    /// Comparisons of this session that have shown anything: too late for a plan.
    seen: Vec<Spec>,
}

impl View {
    /// The view before anything has happened.
    pub fn new(start: &Start) -> Self {
        let spec = own(&start.spec).cloned().unwrap_or_else(Spec::shipped);
        Self {
            spec,
            pilot: None,
            shown: Results::default(),
            answered: None,
            curve: None,
            below: Vec::new(),
            turned: 0,
            sequential: None,
            seen: Vec::new(),
        }
    }
}

impl View {
    /// What the lower left pane shows, and what it shows when it is turned.
    fn below(&self) -> (Option<&Figure>, Option<&Figure>) {
        let at = |turned: usize| self.below.get(turned % self.below.len().max(1));
        (at(self.turned), at(self.turned + 1).filter(|_| self.below.len() > 1))
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
    "studies", "studies of the paper", "Sets the lab up as one of the studies of Zhu et al. (2022).",
        ["t"], Some(("study", 13)), |s| s.replay.is_none() => |s| popups::pick(s, &studies::STUDIES, 0);
    "survey", "known data sets", "Shows for known data sets whether they are large enough for this comparison.",
        ["d"], Some(("data sets", 16)), always => |s| popups::show(s, &studies::SURVEY);
    "noise", "margins, sizes or noise",
        "Shows in the lower left pane, in turn, accuracies against the bound, power and what is recommended by training size, and power by noise where that was studied.",
        ["n"], None, |s| view(s).below.len() > 1 => turn;
    "plan", "freeze a plan",
        "Writes into the setup, before any result is seen, what the run is to show; again for the next plan, and for none.",
        ["P"], Some(("plan", 17)), |s| s.replay.is_none() => plan;
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

/// What was found, under the terms of the setup.
fn results(state: &State) -> &Results {
    &view(state).shown
}

fn own(spec: &labs::Spec) -> Option<&Spec> {
    match spec {
        labs::Spec::Power(spec) => Some(spec),
        _ => None,
    }
}

/// The terms of the setup.
fn terms(state: &State) -> Adjust {
    let (test, pilot) = (&view(state).spec.test, view(state).pilot);
    Adjust { alpha: test.alpha, target: test.target, margin: test.margin, pilot }
}

/// Asks what the comparison says under the terms of the setup, where there is one: the screen has answered by itself, but a
/// recording holds questions.
fn ask(state: &mut State) -> Vec<Effect> {
    let Some(generation) = run(state).map(|job| job.generation) else { return Vec::new() };
    if state.board.results::<Results>().comparisons.is_empty() {
        return Vec::new();
    }
    let terms = terms(state);
    job::ask(state, Question::Experiment { generation, question: Asked::Adjust(terms).into() })
}

/// Answers the terms of the setup from what the run has told, where they are not those of the run.
fn answer(state: &mut State) {
    let found = state.board.results::<Results>();
    let asked = terms(state);
    let Some(ran) = ran(state) else {
        let view = view_mut(state);
        (view.shown, view.answered) = (Results::default(), None);
        return;
    };
    let fresh = (!found.comparisons.is_empty() && !view(state).seen.iter().any(|seen| alike(seen, ran)))
        .then(|| ran.clone());
    let test = &ran.test;
    let same = Adjust { alpha: test.alpha, target: test.target, margin: test.margin, pilot: None } == asked;
    let items = found.comparisons.last().map_or(0, |c| c.n);
    let key = (asked, (items, found.tallies.len()));
    let answer = match &view(state).answered {
        _ if same => None,
        Some(known) if *known == key => view(state).shown.answer.clone(),
        _ => under(found, ran, &asked),
    };
    // Of a pilot between the places that a run tells of, the engine knows more.
    let hash = labs::Spec::from(asked.of(ran)).hash();
    let exact =
        |a: &Answer| a.comparison.as_ref().is_some_and(|c| Some(c.n) == asked.pilot && c.spec == hash);
    let engines = found.answer.as_ref().filter(|a| !same && exact(a));
    let answer = engines.cloned().or(answer);
    let shown = Results { answer, ..found.clone() };
    let view = view_mut(state);
    view.seen.extend(fresh);
    (view.shown, view.answered) = (shown, Some(key).filter(|_| !same));
}

fn turn(state: &mut State) -> Vec<Effect> {
    let view = view_mut(state);
    view.turned += 1;
    Vec::new()
}

fn swap(state: &mut State) -> Vec<Effect> {
    let spec = &mut view_mut(state).spec;
    *spec = turned(spec);
    Vec::new()
}

/// Whether two specs make the same comparison, whatever is asked of it and whichever side stands first. Another seed generates other
/// sentences, which nobody has seen; of files it only draws another order.
fn alike(a: &Spec, b: &Spec) -> bool {
    let what = |spec: &Spec| {
        let own = |first: bool| spec.task_of(first).1.is_some();
        let generated = !spec.of_files() && !own(true) && !own(false);
        let Spec { models, task, a, b, training, seed, .. } = spec.clone();
        (models, task, a, b, training, generated.then_some(seed))
    };
    what(a) == what(b) || what(a) == what(&turned(b))
}

/// The same with the second side first.
fn turned(spec: &Spec) -> Spec {
    let Spec { a, b, .. } = spec.clone();
    let mut models = spec.models.clone();
    models.reverse();
    Spec { a: b, b: a, models, ..spec.clone() }
}

/// Why nothing is planned any more.
const TOO_LATE: &str = "results of this comparison have been seen: a plan would come too late";

/// Whether the comparison that is set up has shown anything in this session.
fn has_shown(view: &View) -> bool {
    view.seen.iter().any(|seen| alike(seen, &view.spec))
}

/// Whether the plan of the setup was made for other terms than those of now, once its comparison has shown something: a test, a
/// level, a margin or an order chosen then was not planned.
fn departs(view: &View) -> bool {
    let terms = |spec: &Spec| {
        let Spec { plan, test, interval, seed, .. } = spec;
        let TestSpec { alpha, margin, by, filter, metric, .. } = test.clone();
        (plan.clone(), alpha, margin, by, filter, metric, interval.clone(), *seed)
    };
    let of = |seen: &&Spec| alike(seen, &view.spec);
    view.spec.plan.is_some() && view.seen.iter().find(of).is_some_and(|seen| terms(seen) != terms(&view.spec))
}

/// What is told where [`departs`] holds.
const DEPARTED: &str =
    "results have been seen: a run under these terms is not what was planned, and takes no plan with it";

/// Freezes a plan, or takes it out. Once the comparison has shown anything it is too late for either.
fn plan(state: &mut State) -> Vec<Effect> {
    let toast = if has_shown(view(state)) {
        TOO_LATE.into()
    } else {
        let spec = &mut view_mut(state).spec;
        spec.plan = match spec.plan {
            None => Some(Plan { hypothesis: Hypothesis::Differ, n: None, stop: Stop::AtN }),
            Some(Plan { hypothesis: Hypothesis::Differ, n, stop: Stop::AtN }) => {
                Some(Plan { hypothesis: Hypothesis::Equal, n, stop: Stop::AtN })
            }
            Some(Plan { hypothesis: Hypothesis::Equal, n, .. }) => {
                Some(Plan { hypothesis: Hypothesis::Differ, n, stop: Stop::Early })
            }
            Some(_) => None,
        };
        let words = spec.plan.as_ref().map(Plan::words);
        let run = state.keymap.label("run");
        words.map_or("no plan".into(), |words| format!("plan: {words}; {run} records it with the run"))
    };
    state.view.toast = Some(toast);
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
        Some(labs::by_id(LabId::Power).question())
    }

    fn panes(&self) -> &'static [Pane] {
        &[frame_setup::PANE, CURVE, VERDICT, MARGINS, SEQUENTIAL]
    }

    fn first(&self) -> Pane {
        CURVE
    }

    fn layout(&self, _state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        let side = if body.width >= 150 { 50 } else { 44 };
        let [setup, right] = Split::horizontal([Constraint::Length(side), Constraint::Fill(1)]).areas(body);
        let said = if body.height >= 36 { 15 } else { 13 };
        let [curve, verdict, below] =
            Split::vertical([Constraint::Fill(5), Constraint::Length(said), Constraint::Fill(4)])
                .areas(right);
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
        let len = if pane == VERDICT { words::lines(state, 60, 0).len() } else { 0 };
        state.place_mut(ID).travel(pane, by, len);
    }

    fn figure<'a>(&self, state: &'a State) -> Option<&'a Figure> {
        let view = view(state);
        match state.place(ID).focus {
            MARGINS => view.below().0,
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
        answer(state);
        let engine = state.board.engine.as_ref();
        let found = results(state);
        let drawn = (
            figures::power(found, engine),
            [figures::noise, figures::margins, figures::sizes, figures::recommended]
                .iter()
                .filter_map(|figure| figure(found, engine))
                .collect(),
            figures::sequential(found, engine),
        );
        let view = view_mut(state);
        (view.curve, view.below, view.sequential) = drawn;
    }

    fn on_event(&self, state: &mut State, event: &Event) -> Vec<Effect> {
        let Event::Finished { generation, outcome: Outcome::Done, .. } = event else { return Vec::new() };
        let mine = run(state).is_some_and(|job| job.generation == *generation);
        let pilot = view(state).pilot.is_some();
        let changed = pilot || ran(state).is_some_and(|ran| ran.test != view(state).spec.test);
        // Terms that were changed while the run went on are asked about now that it is over.
        if mine && changed { ask(state) } else { Vec::new() }
    }

    fn follow(&self, state: &mut State, command: &Command) {
        match command {
            Command::Run { spec, .. } => {
                if let Some(spec) = own(spec) {
                    let view = view_mut(state);
                    (view.spec, view.pilot) = (spec.clone(), None);
                }
            }
            Command::Ask {
                question: Question::Experiment { question: labs::Question::Power(Asked::Adjust(terms)), .. },
                ..
            } => {
                let view = view_mut(state);
                let test = &mut view.spec.test;
                (test.alpha, test.target, test.margin) = (terms.alpha, terms.target, terms.margin);
                view.pilot = terms.pilot;
            }
            _ => {}
        }
    }
}

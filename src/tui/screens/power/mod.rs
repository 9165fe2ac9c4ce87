//! The screen of the power lab: the two sides, power curves, accuracies against the bound, the sequential test, and the verdict in words.

mod draw;
mod items;
mod setup;
mod sizes;
mod studies;
#[cfg(test)]
mod tests;
mod words;

use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::action::Effect;
use crate::commands::{Context, Entry, always, live, rows};
use crate::panes::table::Table;
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
/// Training sizes, with the comparison at each.
pub const SIZES: Pane = Pane("sizes");
/// Power by n.
pub const CURVE: Pane = Pane("power");
pub(crate) const MARGINS: Pane = Pane("bound");
pub(crate) const BY_SIZE: Pane = Pane("by size");
pub(crate) const RECOMMENDED: Pane = Pane("n by size");
pub(crate) const SEQUENTIAL: Pane = Pane("early stopping");
/// Power by the noise on the second side.
pub(crate) const NOISE: Pane = Pane("noise");
/// Sizes of published data sets compared with the requirements.
pub(crate) const KNOWN: Pane = Pane("known sets");
/// Loss of probe accuracy caused by optimisation and by too little data.
pub(crate) const SHORTFALL: Pane = Pane("shortfall");
pub const VERDICT: Pane = Pane("verdict");

static SLOTS: &[&[Pane]] = &[
    &[frame_setup::PANE],
    &[SIZES],
    &[CURVE, MARGINS, BY_SIZE, RECOMMENDED, SEQUENTIAL, NOISE, KNOWN, SHORTFALL],
    &[VERDICT],
];

#[derive(Debug, Clone)]
pub struct View {
    /// The experiment set up by the user.
    pub spec: Spec,
    /// Number of pilot items used; `None` for all.
    pub pilot: Option<usize>,
    pub shown: Results,
    /// Test settings of the shown answer, its number of items, and the number of findings that it used.
    answered: Option<(Adjust, (usize, usize))>,
    /// Power curve; `None` before there is anything to draw.
    pub curve: Option<Figure>,
    pub below: Vec<Figure>,
    pub sequential: Option<Figure>,
    /// The task whose changed items are listed, or empty for all; `None` if tasks or sizes are listed.
    flips: Option<String>,
    /// With several pairs of systems, the pair whose tasks are listed; `None` if the pairs themselves are listed, or if there is only one.
    pair: Option<String>,
    /// Comparisons whose results this session has shown; they can no longer be planned.
    seen: Vec<Spec>,
}

impl View {
    pub fn new(start: &Start) -> Self {
        let spec = own(&start.spec).cloned().unwrap_or_else(Spec::shipped);
        Self {
            spec,
            pilot: None,
            shown: Results::default(),
            answered: None,
            curve: None,
            below: Vec::new(),
            sequential: None,
            flips: None,
            pair: None,
            seen: Vec::new(),
        }
    }
}

impl View {
    fn figure(&self, pane: Pane) -> Option<&Figure> {
        let named = |name: &str| self.below.iter().find(|figure| figure.name == name);
        match pane {
            MARGINS => named("margins"),
            BY_SIZE => named("sizes"),
            RECOMMENDED => named("recommended"),
            NOISE => named("noise"),
            KNOWN => named("survey"),
            SHORTFALL => named("shortfall"),
            SEQUENTIAL => self.sequential.as_ref(),
            _ => self.curve.as_ref(),
        }
    }
}

pub struct Power;

pub static SCREEN: Power = Power;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-power", "power lab",
        "Shows the power lab: how much data a comparison needs.",
        ["3", "alt-3"], None, always => |s| { s.show(ID); Vec::new() };
};

static MENU: &[Entry] = rows! { Context::Menu(ID);
    "quick-power", "quick run", "A first look with wider intervals: at most 256 training sentences per class and 3 seeds.",
        ["r"], None, live => |s| crate::setup::quick_run(s, &[("task.sizes", 256.0), ("training.seeds", 3.0)], |_| ());
    "swap", "swap sides", "Swaps the two sides.",
        ["x"], None, live => swap;
    "studies", "studies of the paper", "Sets up one of the studies of Zhu et al. (2022).",
        ["s"], None, live => |s| popups::pick(s, &studies::STUDIES, 0);
    "survey", "known data sets", "Shows which known data sets are large enough for this comparison.",
        ["d"], None, always => |s| { s.focus_on(KNOWN); Vec::new() };
    "flips", "changed items",
        "Lists the items on which the two sides disagree, with both answers; a second press returns to the previous list.",
        ["f"], None, always => items::toggle;
    "plan", "freeze a plan",
        "Sets the next kind of plan, before any result is seen: differ, equal, early or none.",
        ["p"], None, live => plan;
};

fn view(state: &State) -> &View {
    &state.screens.power
}

fn view_mut(state: &mut State) -> &mut View {
    &mut state.screens.power
}

fn run(state: &State) -> Option<&Job> {
    state.board.run_of(LabId::Power).map(|run| &run.job)
}

fn ran(state: &State) -> Option<&Spec> {
    run(state).and_then(|job| own(&job.spec))
}

/// Results with the test settings in the setup.
fn results(state: &State) -> &Results {
    &view(state).shown
}

fn own(spec: &labs::Spec) -> Option<&Spec> {
    match spec {
        labs::Spec::Power(spec) => Some(spec),
        _ => None,
    }
}

fn terms(state: &State) -> Adjust {
    let (test, pilot) = (&view(state).spec.test, view(state).pilot);
    Adjust { alpha: test.alpha, target: test.target, margin: test.margin, pilot }
}

/// Sends the comparison with the current test settings, if there is one, to the engine. The screen has already computed the answer; the
/// question is only for the recording.
fn ask(state: &mut State) -> Vec<Effect> {
    let Some(generation) = run(state).map(|job| job.generation) else { return Vec::new() };
    if state.results::<Results>().comparisons.is_empty() {
        return Vec::new();
    }
    let terms = terms(state);
    job::ask(state, Question::Experiment { generation, question: Asked::Adjust(terms).into() })
}

/// Recomputes results from the run's findings if the test settings have changed since the run.
fn answer(state: &mut State) {
    let found = state.results::<Results>();
    let asked = terms(state);
    let Some(ran) = ran(state) else {
        let view = view_mut(state);
        (view.shown, view.answered) = (Results::default(), None);
        return;
    };
    let fresh =
        (!found.comparisons.is_empty() && !view(state).seen.iter().any(|seen| alike(seen, ran))).then(|| ran.clone());
    let test = &ran.test;
    let same = Adjust { alpha: test.alpha, target: test.target, margin: test.margin, pilot: None } == asked;
    let items = found.comparisons.last().map_or(0, |c| c.n);
    let key = (asked, (items, found.tallies.len()));
    let answer = match &view(state).answered {
        _ if same => None,
        Some(known) if *known == key => view(state).shown.answer.clone(),
        _ => under(found, ran, &asked),
    };
    // For a pilot size that the run did not report, the engine's answer is more accurate.
    let hash = labs::Spec::from(asked.of(ran)).hash();
    let exact = |a: &Answer| a.comparison.as_ref().is_some_and(|c| Some(c.n) == asked.pilot && c.spec == hash);
    let engines = found.answer.as_ref().filter(|a| !same && exact(a));
    let answer = engines.cloned().or(answer);
    let shown = Results { answer, ..found.clone() };
    let view = view_mut(state);
    view.seen.extend(fresh);
    (view.shown, view.answered) = (shown, Some(key).filter(|_| !same));
}

fn swap(state: &mut State) -> Vec<Effect> {
    let spec = &mut view_mut(state).spec;
    *spec = turned(spec);
    Vec::new()
}

/// True if two specs make the same comparison. The settings of the test and the order of the sides do not matter. A different seed
/// generates different, unseen sentences; for files, it only changes the order of items.
fn alike(a: &Spec, b: &Spec) -> bool {
    let what = |spec: &Spec| {
        let own = |first: bool| spec.task_of(first).1.is_some();
        let generated = !spec.of_files() && !own(true) && !own(false);
        let Spec { models, task, a, b, training, seed, .. } = spec.clone();
        (models, task, a, b, training, generated.then_some(seed))
    };
    what(a) == what(b) || what(a) == what(&turned(b))
}

fn turned(spec: &Spec) -> Spec {
    let Spec { a, b, .. } = spec.clone();
    let mut models = spec.models.clone();
    models.reverse();
    Spec { a: b, b: a, models, ..spec.clone() }
}

const TOO_LATE: &str = "you have seen results, so this comparison cannot be preregistered any more";

/// True if this session has shown results of the comparison in the setup.
fn has_shown(view: &View) -> bool {
    view.seen.iter().any(|seen| alike(seen, &view.spec))
}

/// True if results have been shown and the setup's plan differs from the current test settings. A test, level, margin or order chosen
/// after results was not planned.
fn departs(view: &View) -> bool {
    let terms = |spec: &Spec| {
        let Spec { plan, test, interval, seed, .. } = spec;
        let TestSpec { alpha, margin, by, filter, metric, .. } = test.clone();
        (plan.clone(), alpha, margin, by, filter, metric, interval.clone(), *seed)
    };
    let of = |seen: &&Spec| alike(seen, &view.spec);
    view.spec.plan.is_some() && view.seen.iter().find(of).is_some_and(|seen| terms(seen) != terms(&view.spec))
}

/// Message shown if [`departs`] is true.
const DEPARTED: &str =
    "you have seen results: with these settings the run departs from the plan and does not count as planned";

/// Freezes a plan, or removes it. After results have been shown, neither is possible.
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

    fn slots(&self) -> &'static [&'static [Pane]] {
        SLOTS
    }

    fn first(&self) -> Pane {
        SIZES
    }

    fn figure_share(&self) -> u16 {
        2
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            SIZES => {
                let title = items::title(state);
                items::table(state).draw(frame, area, state, (SIZES, &title), items::cursor(state));
            }
            VERDICT => draw::verdict(frame, area, state),
            pane => match studies::known_sets(state).filter(|_| pane == KNOWN) {
                Some(table) => {
                    let title = studies::needed_of_sets(state);
                    table.draw(frame, area, state, (KNOWN, &title), state.here().scrolled(KNOWN));
                }
                None => draw::figure(frame, area, state, pane),
            },
        }
    }

    fn about(&self, state: &State, pane: Pane) -> String {
        match pane {
            SIZES => items::shown(state).about(),
            CURVE => {
                "Probability that a comparison on this many items shows the difference, if it is as large as observed."
            }
            MARGINS => "Accuracy of both sides by training size, and the margin that the bound allows.",
            BY_SIZE => "Power with the available test items, by training size.",
            RECOMMENDED => "Test items needed for the target power, by training size.",
            SEQUENTIAL => {
                "Sequential test: it may be checked after any number of items, and testing may then stop early."
            }
            NOISE => "Power as noise is added to the vectors of the second side.",
            KNOWN => "Published data sets, each with a verdict on its size for this comparison.",
            SHORTFALL => "Accuracy lost to imperfect optimisation and to the limited number of training examples.",
            _ => "Items that both sides, one side or neither gets right, and the resulting verdict.",
        }
        .to_owned()
    }

    fn table(&self, state: &State, pane: Pane) -> Option<Rc<Table>> {
        match pane {
            SIZES => Some(items::table(state)),
            KNOWN => studies::known_sets(state).map(Rc::new),
            _ => None,
        }
    }

    fn answer(&self, state: &State) -> labs::Answer {
        let ran = ran(state);
        ran.map_or_else(labs::Answer::default, |spec| {
            <labs::power::Power as labs::Instrument>::ANSWER(results(state), spec)
        })
    }

    fn setup(&self) -> Option<&'static dyn frame_setup::Setup> {
        Some(&setup::SETUP)
    }

    fn commands(&self) -> &'static [Entry] {
        &[]
    }

    fn menu(&self) -> &'static [Entry] {
        MENU
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) -> Vec<Effect> {
        let len = match pane {
            VERDICT => words::lines(state, 60, 0).len(),
            pane => self.table(state, pane).map_or(0, |table| table.order(state.here(), pane).len()),
        };
        state.place_mut(ID).travel(pane, by, len);
        Vec::new()
    }

    fn open(&self, state: &mut State, pane: Pane) -> Option<Vec<Effect>> {
        if pane == SIZES && items::open(state) {
            return Some(Vec::new());
        }
        state.focus_on(if pane == VERDICT { CURVE } else { VERDICT });
        Some(Vec::new())
    }

    fn figure<'a>(&self, state: &'a State) -> Option<&'a Figure> {
        view(state).figure(state.figure_in_sight(ID))
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
        let drawn = (figures::power(found, engine), figures::beside(found, engine), figures::sequential(found, engine));
        let view = view_mut(state);
        (view.curve, view.below, view.sequential) = drawn;
    }

    fn on_event(&self, state: &mut State, event: &Event) -> Vec<Effect> {
        let Event::Finished { generation, outcome: Outcome::Done, .. } = event else { return Vec::new() };
        let mine = run(state).is_some_and(|job| job.generation == *generation);
        let pilot = view(state).pilot.is_some();
        let changed = pilot || ran(state).is_some_and(|ran| ran.test != view(state).spec.test);
        // Asks again if the test settings changed during the run.
        if mine && changed { ask(state) } else { Vec::new() }
    }

    fn follow(&self, state: &mut State, command: &Command) {
        match command {
            Command::Run { spec, .. } => {
                if let Some(spec) = own(spec) {
                    let view = view_mut(state);
                    (view.spec, view.pilot, view.flips, view.pair) = (spec.clone(), None, None, None);
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

//! The screen of the prompts lab: setup, relations, prompts with every model's score, a figure, the gap between two models, and instances.

mod asked;
mod copying;
mod drawn;
mod drill;
mod instances;
mod ledger;
mod measures;
mod origin;
mod own;
mod relations;
mod setup;
#[cfg(test)]
mod tests;
mod weights;

use std::path::PathBuf;
use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;

pub use self::drawn::Drawn;
use self::measures::{Measure, Spread};
use crate::action::{Effect, Mouse};
use crate::commands::{Context, Entry, always, live, rows};
use crate::panes::listing::Listing;
use crate::panes::table::Table;
use crate::reduce::{job, look};
use crate::screen::{Origin, Pane, Screen, ScreenId};
use crate::setup as frame_setup;
use crate::state::{FIGURES, Start, State};
use engine::board::Job;
use engine::message::{Command, Event, Outcome};
use figure::Figure;
use labs::prompts::Spec;
use labs::prompts::causal::Bias;
use labs::prompts::question::Question as Asked;
use labs::prompts::results::Results;
use labs::setting::KnownRelation;
use labs::{self, LabId};

pub const ID: ScreenId = ScreenId("prompts");
pub const RELATIONS: Pane = Pane("relations");
pub const ASKED: Pane = Pane("prompts");
/// Pane of the first figure.
pub const FIGURE: Pane = drawn::PANES[0].0;
/// Decomposition of the gap between two models.
pub const LEDGER: Pane = Pane("gap of two models");
pub const INSTANCES: Pane = Pane("instances");

static SLOTS: &[&[Pane]] = &[
    &[frame_setup::PANE],
    &[RELATIONS],
    &[
        drawn::PANES[0].0,
        drawn::PANES[1].0,
        drawn::PANES[2].0,
        drawn::PANES[3].0,
        drawn::PANES[4].0,
        drawn::PANES[5].0,
        drawn::PANES[6].0,
        drawn::PANES[7].0,
        drawn::PANES[8].0,
        drawn::PANES[9].0,
        drawn::PANES[10].0,
    ],
    &[ASKED, INSTANCES, LEDGER],
];

#[derive(Debug, Clone)]
pub struct View {
    /// The experiment set up by the user.
    pub spec: Spec,
    pub drawn: Drawn,
    pub cause: Bias,
    /// Index of the model whose ranks are drawn, among the run's models.
    pub model: usize,
    /// Number of prompts in the average drawn next to the ranks under the three regimes; `None` draws only the regimes.
    pub averaged: Option<usize>,
    /// Index of the pair of models whose ledger is shown.
    pub pair: usize,
    pub measure: Measure,
    pub spread: Spread,
    /// True to draw the paper's published numbers behind the figure.
    pub published: bool,
    /// The files whose relations were last read, and their relations.
    pub(crate) in_files: (Vec<PathBuf>, Vec<KnownRelation>),
    /// Current figure; `None` before there is anything to draw.
    pub figure: Option<Figure>,
}

impl View {
    pub fn new(start: &Start) -> Self {
        let spec = own(&start.spec).cloned().unwrap_or_else(Spec::shipped);
        Self {
            spec,
            drawn: Drawn::Prompts,
            cause: Bias::Prompt,
            model: 0,
            averaged: None,
            pair: 0,
            measure: Measure::default(),
            spread: Spread::default(),
            published: false,
            in_files: Default::default(),
            figure: None,
        }
    }
}

pub struct Prompts;

pub static SCREEN: Prompts = Prompts;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-prompts", "prompts lab",
        "Shows the prompts lab.",
        ["1", "alt-1"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "drawn-model", "next model", "Draws the ranks of the next model.",
        ["v"], None, |s| !results(s).models().is_empty() => |s| turn_model(s, true);
    "previous-drawn-model", "previous model", "Draws the ranks of the previous model.",
        ["V"], None, |s| !results(s).models().is_empty() => |s| turn_model(s, false);
    "next-mention", "next name", "Shows the same instance under the next name of its subject.",
        ["n"], None, can_ask => drill::next_mention;
    "own-prompt", "own prompt", "Opens a field for your own prompt, which every model answers at once.",
        ["o"], Some(("own prompt", 11)), can_ask => |s| look::ask(s, &own::PROMPT);
    "add-facts", "add facts", "Adds a file or folder with facts and prompts to the data.",
        ["a"], None, live => |s| look::ask(s, &own::FILES);
    "published", "show published numbers",
        "Shows or hides the values published by Cao et al. 2022 behind the figure, if there are any.",
        ["b"], None, always => turn_published;
};

static MENU: &[Entry] = rows! { Context::Menu(ID);
    "quick-prompts", "quick run", "A first look with wider intervals: at most 20 facts per relation and one name per subject.",
        ["r"], None, live => |s| crate::setup::quick_run(s, &[("data.instances", 20.0), ("data.mentions", 1.0)], |_| ());
    "measure", "next measure",
        "Shows the next measure in the list: for relations the gap (also held out or by chance) and others; for prompts P@1, P@k or MRR.",
        ["m"], None, |s| !results(s).models().is_empty() => measures::turn;
    "instances", "instances", "Shows the parts of a number, down to the instances behind it.",
        ["i"], None, drill::can => drill::down;
    "next-pair", "next pair of models", "Shows the gap of the next pair of models.",
        ["p"], None, |s| !results(s).ledgers.is_empty() => |s| turn_pair(s, true);
    "more-prompts", "average more prompts", "Draws a model's ranks with one more prompt averaged, up to all.",
        ["a"], None, |s| !results(s).curve.is_empty() => |s| turn_averaged(s, true);
    "fewer-prompts", "average fewer prompts", "Draws a model's ranks with one prompt fewer averaged.",
        ["f"], None, |s| !results(s).curve.is_empty() => |s| turn_averaged(s, false);
    "next-cause", "next path", "Highlights the next path of the causal graph: prompt, name, sample.",
        ["c"], None, always => next_cause;
    "keep-prompt", "keep typed prompt", "Uses the typed prompt under the cursor in the next runs, or stops using it.",
        ["o"], None, own::can_keep => own::keep;
    "prompt-weights", "prompt weights", "Opens a field for the weights of this relation's prompts in the next run.",
        ["w"], None, |s| live(s) && relation(s).is_some() => weights::ask;
};

fn view(state: &State) -> &View {
    &state.screens.prompts
}

fn view_mut(state: &mut State) -> &mut View {
    &mut state.screens.prompts
}

fn results(state: &State) -> &Results {
    state.results::<Results>()
}

fn run(state: &State) -> Option<&Job> {
    state.board.run_of(LabId::Prompts).map(|run| &run.job)
}

pub fn ran(state: &State) -> Option<&Spec> {
    run(state).and_then(|job| own(&job.spec))
}

fn own(spec: &labs::Spec) -> Option<&Spec> {
    if let labs::Spec::Prompts(spec) = spec { Some(spec) } else { None }
}

/// Rule for choosing answers, after a comma, for titles; empty before it is known.
fn rule(state: &State) -> String {
    results(state).rule().map_or_else(String::new, |rule| format!(", {}", rule.name()))
}

fn relation(state: &State) -> Option<&str> {
    let all = &results(state).relations;
    let order = relations::table(state).order(state.place(ID), RELATIONS);
    let at = order.get(state.place(ID).scrolled(RELATIONS).min(order.len().checked_sub(1)?))?;
    all.get(*at).map(|r| r.value.relation.as_str())
}

fn prompts(state: &State) -> Vec<&str> {
    relation(state).map_or(Vec::new(), |r| results(state).prompts(r))
}

/// Unused prompts of the relation under the cursor, with reasons; listed after the others.
fn left_out(state: &State) -> Vec<(&str, &str)> {
    let found = relation(state).and_then(|id| results(state).relation(id));
    let reasons = found.map_or(&[][..], |r| &r.value.prompts_left_out);
    reasons.iter().flat_map(|l| l.what.iter().map(|p| (p.as_str(), l.reason.as_str()))).collect()
}

/// The prompt under the cursor; the error is the reason why it is not used, if known.
fn under_cursor(state: &State) -> Result<&str, Option<&str>> {
    let (all, not) = (prompts(state), left_out(state));
    let last = (all.len() + not.len()).checked_sub(1).ok_or(None)?;
    let at = state.place(ID).scrolled(ASKED).min(last);
    all.get(at).copied().ok_or_else(|| not.get(at - all.len()).map(|(_, why)| *why))
}

/// The prompt under the cursor, if it is used.
fn prompt(state: &State) -> Option<&str> {
    under_cursor(state).ok()
}

fn can_ask(state: &State) -> bool {
    live(state) && prompt(state).is_some()
}

fn ask(state: &mut State, asked: Asked) -> Vec<Effect> {
    job::ask_run(state, LabId::Prompts, asked.into())
}

fn turn_published(state: &mut State) -> Vec<Effect> {
    let view = view_mut(state);
    view.published = !view.published;
    let (on, has) = (view.published, view.drawn.published().is_some());
    let text = match (on, has) {
        (true, true) => "published numbers are shown",
        (true, false) => "published numbers are shown where they exist; this figure has none",
        (false, _) => "published numbers are hidden",
    };
    state.view.toast = Some(text.into());
    Vec::new()
}

fn turn_model(state: &mut State, on: bool) -> Vec<Effect> {
    let of = results(state).models().len().max(1);
    let view = view_mut(state);
    view.model = (view.model.min(of - 1) + if on { 1 } else { of - 1 }) % of;
    state.turn_to(Drawn::Places.pane());
    Vec::new()
}

fn next_cause(state: &mut State) -> Vec<Effect> {
    let view = view_mut(state);
    view.cause = match view.cause {
        Bias::Prompt => Bias::Verbalization,
        Bias::Verbalization => Bias::Sample,
        Bias::Sample => Bias::Prompt,
    };
    state.turn_to(Drawn::Causal(Bias::Prompt).pane());
    Vec::new()
}

/// Cycles the number of prompts in the average: none, one, two, and so on.
fn turn_averaged(state: &mut State, on: bool) -> Vec<Effect> {
    let stops: Vec<Option<usize>> =
        std::iter::once(None).chain(results(state).curve.iter().map(|c| Some(c.value.prompts))).collect();
    let view = view_mut(state);
    let at = stops.iter().position(|k| *k == view.averaged).unwrap_or(0);
    view.averaged = stops[(at + if on { 1 } else { stops.len() - 1 }) % stops.len()];
    state.turn_to(Drawn::Places.pane());
    Vec::new()
}

fn turn_pair(state: &mut State, on: bool) -> Vec<Effect> {
    let of = results(state).ledgers.len().max(1);
    let view = view_mut(state);
    view.pair = (view.pair.min(of - 1) + if on { 1 } else { of - 1 }) % of;
    Vec::new()
}

/// Number of lines in a pane that is a list.
fn length(state: &State, pane: Pane) -> usize {
    match pane {
        RELATIONS => relations::table(state).order(state.place(ID), RELATIONS).len(),
        ASKED => prompts(state).len() + left_out(state).len(),
        INSTANCES => instances::len(state),
        _ => 0,
    }
}

impl Screen for Prompts {
    fn id(&self) -> ScreenId {
        ID
    }

    fn title(&self) -> &'static str {
        "Prompts"
    }

    fn tab(&self) -> &'static Entry {
        &TAB[0]
    }

    fn question(&self) -> Option<&'static str> {
        Some(labs::by_id(LabId::Prompts).question())
    }

    fn slots(&self) -> &'static [&'static [Pane]] {
        SLOTS
    }

    fn first(&self) -> Pane {
        RELATIONS
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            RELATIONS => relations::draw(frame, area, state),
            ASKED => asked::draw(frame, area, state),
            LEDGER => ledger::draw(frame, area, state),
            INSTANCES => instances::draw(frame, area, state),
            pane => drawn::draw(frame, area, state, pane),
        }
    }

    fn about(&self, state: &State, pane: Pane) -> String {
        match pane {
            RELATIONS => {
                let spread = view(state).spread;
                format!("{}: {}.", spread.heading(results(state).models().len()), spread.words(state))
            }
            ASKED => {
                "Prompts of the relation, with every model's share of right answers; enter shows the instances."
                    .into()
            }
            INSTANCES => format!("Every model's answer to each fact under the prompt. {}; n shows the next name.", instances::key(state)),
            LEDGER => {
                "Gap between two models: the part due to the models, and the parts due to the choice of prompt, name and sample."
                    .into()
            }
            pane => Drawn::of(pane).map_or("", Drawn::about).into(),
        }
    }

    fn read_relations(&self, state: &mut State) -> Option<Effect> {
        setup::read_relations(state)
    }

    fn relations_in(&self, paths: &[PathBuf]) -> Vec<KnownRelation> {
        setup::relations_in(paths)
    }

    fn on_relations(&self, state: &mut State, paths: &[PathBuf], found: Vec<KnownRelation>) {
        setup::on_relations(state, paths, found);
    }

    fn table(&self, state: &State, pane: Pane) -> Option<Rc<Table>> {
        (pane == RELATIONS).then(|| relations::table(state))
    }

    fn setup(&self) -> Option<&'static dyn frame_setup::Setup> {
        Some(&setup::SETUP)
    }

    fn commands(&self) -> &'static [Entry] {
        COMMANDS
    }

    fn menu(&self) -> &'static [Entry] {
        MENU
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) -> Vec<Effect> {
        let len = length(state, pane);
        let place = state.place_mut(ID);
        place.travel(pane, by, len);
        // A different relation has different prompts, and a different prompt has different instances.
        match pane {
            RELATIONS => {
                place.scroll.remove(&ASKED);
                place.scroll.remove(&INSTANCES);
            }
            ASKED => {
                place.scroll.remove(&INSTANCES);
            }
            _ => {}
        }
        Vec::new()
    }

    fn open(&self, state: &mut State, pane: Pane) -> Option<Vec<Effect>> {
        match pane {
            RELATIONS => {
                state.focus_on(ASKED);
                Some(Vec::new())
            }
            // Shows another instance in full.
            INSTANCES if instances::len(state) > 0 => Some(drill::look(state, 0)),
            _ if drill::can(state) => Some(drill::down(state)),
            _ => None,
        }
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        let listing = Listing { len: length(state, pane), cursor: state.place(ID).scrolled(pane) };
        let Some(row) = listing.at(area, mouse.x, mouse.y) else { return Vec::new() };
        let by = row as i64 - state.place(ID).scrolled(pane) as i64;
        self.travel(state, pane, by)
    }

    fn figure<'a>(&self, state: &'a State) -> Option<&'a Figure> {
        view(state).figure.as_ref()
    }

    fn copy(&self, state: &State) -> Option<String> {
        copying::copy_text(state)
    }

    fn origin(&self, state: &State) -> Option<Origin> {
        origin::origin(state)
    }

    fn measures(&self) -> bool {
        true
    }

    fn refresh(&self, state: &mut State) {
        let shown = Drawn::of(state.place(ID).shown(SLOTS[FIGURES])).unwrap_or(Drawn::Prompts);
        let cause = view(state).cause;
        let shown = if let Drawn::Causal(_) = shown { Drawn::Causal(cause) } else { shown };
        view_mut(state).drawn = shown;
        view_mut(state).figure = drawn::figure(state);
    }

    fn follow(&self, state: &mut State, command: &Command) {
        if let Command::Run { spec, .. } = command
            && let Some(spec) = own(spec)
        {
            view_mut(state).spec = spec.clone();
        }
    }

    fn on_event(&self, state: &mut State, event: &Event) -> Vec<Effect> {
        let Event::Finished { generation, outcome: Outcome::Done, .. } = event else { return Vec::new() };
        let mine = run(state).is_some_and(|job| job.generation == *generation);
        if mine { drill::look(state, 0) } else { Vec::new() }
    }
}

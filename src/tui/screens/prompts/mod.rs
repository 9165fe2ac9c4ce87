//! The screen of the prompts lab: setup, relations, prompts with every model's score, a figure of choice, the ledger of two
//! models, and the instances behind a number.

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

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};

pub use self::drawn::Drawn;
use self::measures::{Measure, Spread};
use crate::action::{Effect, Mouse};
use crate::commands::{Context, Entry, always, live, rows};
use crate::panes::listing::Listing;
use crate::reduce::{job, look};
use crate::screen::{Origin, Pane, Screen, ScreenId};
use crate::setup as frame_setup;
use crate::state::{Start, State};
use engine::board::Job;
use engine::message::{Command, Event, Outcome};
use figure::Figure;
use labs::prompts::Spec;
use labs::prompts::question::Question as Asked;
use labs::prompts::results::Results;
use labs::{self, LabId};

pub const ID: ScreenId = ScreenId("prompts");
pub const RELATIONS: Pane = Pane("Relations");
/// The prompts of the relation under the cursor.
pub const ASKED: Pane = Pane("Asked");
pub const FIGURE: Pane = Pane("Figure");
/// The gap of two models.
pub const LEDGER: Pane = Pane("Ledger");
/// The instances behind a number.
pub const INSTANCES: Pane = Pane("Instances");

/// What this screen remembers beside its cursors.
#[derive(Debug, Clone)]
pub struct View {
    /// The experiment as the user sets it up.
    pub spec: Spec,
    /// Which figure is drawn.
    pub drawn: Drawn,
    /// Number of the model whose places are drawn, among those of the run.
    pub model: usize,
    /// Of how many prompts the average is drawn beside the places under the three regimes; none draws the regimes alone.
    pub averaged: Option<usize>,
    /// Number of the pair of models whose ledger is shown.
    pub pair: usize,
    /// Which number of the prompts is listed.
    pub measure: Measure,
    /// Which number of the relations is listed.
    pub spread: Spread,
    /// Whether the paper's published numbers are laid beneath.
    pub published: bool,
    /// The figure; none before there is anything to draw.
    pub figure: Option<Figure>,
}

impl View {
    /// The view before anything has happened.
    pub fn new(start: &Start) -> Self {
        let spec = own(&start.spec).cloned().unwrap_or_else(Spec::shipped);
        Self {
            spec,
            drawn: Drawn::Prompts,
            model: 0,
            averaged: None,
            pair: 0,
            measure: Measure::default(),
            spread: Spread::default(),
            published: false,
            figure: None,
        }
    }
}

/// The screen.
pub struct Prompts;

/// The screen, for the registry.
pub static SCREEN: Prompts = Prompts;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-prompts", "prompts lab",
        "Shows the prompts lab. In the setup pane a bare digit types a number instead.",
        ["1", "alt-1"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "next-figure", "next figure", "Draws the next figure.",
        ["]"], Some(("figure", 11)), always => |s| turn_figure(s, true);
    "previous-figure", "previous figure", "Draws the previous figure.",
        ["["], Some(("figure", 11)), always => |s| turn_figure(s, false);
    "published", "published numbers",
        "Lays what Cao et al. 2022 published beneath the figure, where they published such numbers, or takes it away.",
        ["b"], Some(("published", 15)), always => turn_published;
    "drawn-model", "next model", "Draws the places of the next model.",
        ["v"], None, |s| !results(s).models().is_empty() => next_model;
    "more-prompts", "average more prompts",
        "Draws beside the places of the model those under the average of one prompt more, up to all.",
        [">"], Some(("K", 16)), |s| !results(s).curve.is_empty() => |s| turn_averaged(s, true);
    "fewer-prompts", "average fewer prompts", "The same with one prompt fewer.",
        ["<"], Some(("K", 16)), |s| !results(s).curve.is_empty() => |s| turn_averaged(s, false);
    "next-pair", "next pair", "Shows the ledger of the next pair of models.",
        ["x"], Some(("pair", 12)), |s| !results(s).ledgers.is_empty() => |s| turn_pair(s, true);
    "previous-pair", "previous pair", "Shows the ledger of the previous pair of models.",
        ["X"], Some(("pair", 12)), |s| !results(s).ledgers.is_empty() => |s| turn_pair(s, false);
    "measure", "next measure",
        "Lists another number: of relations the gap, the one held out, the one by chance, the standard deviation, stability, adjusted scores or the gap of the ledger's models; of prompts P@1, P@k or MRR.",
        ["m"], None, |s| !results(s).models().is_empty() => measures::turn;
    "own-prompt", "own prompt", "Types a prompt of your own, which every model is asked at once.",
        ["o"], Some(("own prompt", 13)), can_ask => |s| look::ask(s, &own::PROMPT);
    "keep-prompt", "keep prompt",
        "Asks the typed prompt under the cursor with the relation's own in the next runs, which then average over it too; or no longer.",
        ["O"], None, own::can_keep => own::keep;
    "prompt-weights", "weights of the prompts",
        "Types weights for the prompts of the relation under the cursor, by which the next run averages their scores: one for each prompt, or a row for each by name, with semicolons between. Nothing typed makes them equal again.",
        ["W"], None, |s| live(s) && relation(s).is_some() => weights::ask;
    "instances", "show instances",
        "Goes down from a number: from a prompt to what every model answered to its instances, and makes of one; from a figure over all relations, or a ledger, to the number of each relation. Where the mark is half filled, or a tilde, a model answers otherwise under another name.",
        ["d"], Some(("instances", 14)), drill::can => drill::down;
    "next-mention", "next name", "Shows the same instance under the next name of its subject.",
        ["n"], None, can_ask => drill::next_mention;
    "add-facts", "own data", "Asks a file or folder with facts and prompts too, beside what is asked already; the row Data asks it alone.",
        ["a"], None, live => |s| look::ask(s, &own::FILES);
};

fn view(state: &State) -> &View {
    &state.screens.prompts
}

fn view_mut(state: &mut State) -> &mut View {
    &mut state.screens.prompts
}

/// What the lab's latest run has found.
fn results(state: &State) -> &Results {
    state.board.results::<Results>()
}

/// The lab's latest run.
fn run(state: &State) -> Option<&Job> {
    state.board.run_of(LabId::Prompts).map(|run| &run.job)
}

/// What the lab's latest run computes.
pub fn ran(state: &State) -> Option<&Spec> {
    run(state).and_then(|job| own(&job.spec))
}

fn own(spec: &labs::Spec) -> Option<&Spec> {
    if let labs::Spec::Prompts(spec) = spec { Some(spec) } else { None }
}

/// The rule by which answers are read, behind a comma, for titles of numbers; nothing before it is known.
fn rule(state: &State) -> String {
    results(state).rule().map_or_else(String::new, |rule| format!(", {}", rule.name()))
}

/// The relation under the cursor.
fn relation(state: &State) -> Option<&str> {
    let all = &results(state).relations;
    let at = state.place(ID).scrolled(RELATIONS).min(all.len().checked_sub(1)?);
    Some(&all[at].value.relation)
}

/// The prompts of that relation.
fn prompts(state: &State) -> Vec<&str> {
    relation(state).map_or(Vec::new(), |r| results(state).prompts(r))
}

/// Its prompts that are not asked, with the reason; they stand behind the others.
fn left_out(state: &State) -> Vec<(&str, &str)> {
    let found = relation(state).and_then(|id| results(state).relation(id));
    let reasons = found.map_or(&[][..], |r| &r.value.prompts_left_out);
    reasons.iter().flat_map(|l| l.what.iter().map(|p| (p.as_str(), l.reason.as_str()))).collect()
}

/// The prompt under the cursor; the error is why it is not asked, where there is one.
fn under_cursor(state: &State) -> Result<&str, Option<&str>> {
    let (all, not) = (prompts(state), left_out(state));
    let last = (all.len() + not.len()).checked_sub(1).ok_or(None)?;
    let at = state.place(ID).scrolled(ASKED).min(last);
    all.get(at).copied().ok_or_else(|| not.get(at - all.len()).map(|(_, why)| *why))
}

/// The prompt under the cursor, if it is asked.
fn prompt(state: &State) -> Option<&str> {
    under_cursor(state).ok()
}

fn can_ask(state: &State) -> bool {
    live(state) && prompt(state).is_some()
}

fn ask(state: &mut State, asked: Asked) -> Vec<Effect> {
    job::ask_run(state, LabId::Prompts, asked.into())
}

fn turn_figure(state: &mut State, on: bool) -> Vec<Effect> {
    let drawn = view(state).drawn.turned(on);
    view_mut(state).drawn = drawn;
    Vec::new()
}

fn turn_published(state: &mut State) -> Vec<Effect> {
    let view = view_mut(state);
    view.published = !view.published;
    let (on, has) = (view.published, view.drawn.published().is_some());
    let text = match (on, has) {
        (true, true) => "published numbers are laid beneath",
        (true, false) => "published numbers will lie beneath figures that have them; this one has none",
        (false, _) => "published numbers are taken away",
    };
    state.view.toast = Some(text.into());
    Vec::new()
}

fn next_model(state: &mut State) -> Vec<Effect> {
    let of = results(state).models().len().max(1);
    let view = view_mut(state);
    (view.model, view.drawn) = ((view.model + 1) % of, Drawn::Places);
    Vec::new()
}

/// From no average through those of one prompt and more, and round.
fn turn_averaged(state: &mut State, on: bool) -> Vec<Effect> {
    let stops: Vec<Option<usize>> =
        std::iter::once(None).chain(results(state).curve.iter().map(|c| Some(c.value.prompts))).collect();
    let view = view_mut(state);
    let at = stops.iter().position(|k| *k == view.averaged).unwrap_or(0);
    view.averaged = stops[(at + if on { 1 } else { stops.len() - 1 }) % stops.len()];
    view.drawn = Drawn::Places;
    Vec::new()
}

fn turn_pair(state: &mut State, on: bool) -> Vec<Effect> {
    let of = results(state).ledgers.len().max(1);
    let view = view_mut(state);
    view.pair = (view.pair.min(of - 1) + if on { 1 } else { of - 1 }) % of;
    Vec::new()
}

/// Number of lines of a pane that is a list.
fn length(state: &State, pane: Pane) -> usize {
    match pane {
        RELATIONS => results(state).relations.len(),
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

    fn panes(&self) -> &'static [Pane] {
        &[frame_setup::PANE, RELATIONS, ASKED, FIGURE, LEDGER, INSTANCES]
    }

    fn first(&self) -> Pane {
        RELATIONS
    }

    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        // At 38 columns the built-in relations have their names in full, and the figure has room for those of four models.
        let side = if body.width >= 150 { 46 } else { 38 };
        let [left, right] = Split::horizontal([Constraint::Length(side), Constraint::Fill(1)]).areas(body);
        let rows = self.setup().map_or(Vec::new(), |setup| setup.rows(state));
        let wanted = frame_setup::lines(&rows).len() as u16 + 2;
        let setup_rows = wanted.min(body.height / 2);
        let [setup, relations] =
            Split::vertical([Constraint::Length(setup_rows), Constraint::Fill(1)]).areas(left);
        // Sentence, gap, four parts and their number: what the ledger says does not fit into less.
        let below = if body.height >= 36 { 12 } else { 10 };
        // Frame, header, prompts, and the adjusted scores.
        let asked_rows = (length(state, ASKED).min(12) as u16 + 4).clamp(8, 12);
        // Who looks at instances sees what every model makes of one, and has the ledger's room for it.
        let looking = state.place(ID).focus == INSTANCES;
        let (asked_rows, below) = match looking {
            true => (8, instances::height(state).clamp(below, body.height.saturating_sub(16).max(below))),
            false => (asked_rows, below),
        };
        let [figure, asked, below] =
            Split::vertical([Constraint::Fill(1), Constraint::Length(asked_rows), Constraint::Length(below)])
                .areas(right);
        let mut panes =
            vec![(frame_setup::PANE, setup), (RELATIONS, relations), (ASKED, asked), (FIGURE, figure)];
        if looking {
            panes.push((INSTANCES, below));
        } else {
            let [ledger, instances] = Split::horizontal([Constraint::Fill(1); 2]).areas(below);
            panes.extend([(LEDGER, ledger), (INSTANCES, instances)]);
        }
        panes
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            RELATIONS => relations::draw(frame, area, state),
            ASKED => asked::draw(frame, area, state),
            FIGURE => drawn::draw(frame, area, state),
            LEDGER => ledger::draw(frame, area, state),
            _ => instances::draw(frame, area, state),
        }
    }

    fn setup(&self) -> Option<&'static dyn frame_setup::Setup> {
        Some(&setup::SETUP)
    }

    fn commands(&self) -> &'static [Entry] {
        COMMANDS
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) {
        let len = length(state, pane);
        let place = state.place_mut(ID);
        place.travel(pane, by, len);
        // Another relation has other prompts, another prompt other instances.
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
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        let listing = Listing { len: length(state, pane), cursor: state.place(ID).scrolled(pane) };
        if let Some(row) = listing.at(area, mouse.x, mouse.y) {
            let by = row as i64 - state.place(ID).scrolled(pane) as i64;
            self.travel(state, pane, by);
        }
        Vec::new()
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

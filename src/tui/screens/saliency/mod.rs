//! The screen of the saliency lab: setup, sentences, the heatmap of the one in view, the heads, tables, and a figure.
//!
//! A sentence can be typed, and then follows the typing; a rationale can be marked and saved.

mod annotate;
mod copying;
mod curve;
mod heads;
mod heat;
mod index;
mod scores;
mod sentences;
mod setup;
#[cfg(test)]
mod tests;
mod typed;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};

use self::annotate::{Annotations, marking};
use self::heat::Beside;
use self::index::Index;
use self::scores::Table;
use self::sentences::{Filter, PERTURBATIONS};
use crate::engine::board::Job;
use crate::engine::message::{Command, Event, Outcome, Question};
use crate::figure::Figure;
use crate::lab::saliency::Spec;
use crate::lab::saliency::finding::SentenceFinding;
use crate::lab::saliency::question::Question as Asked;
use crate::lab::saliency::results::{Own, Results};
use crate::lab::{self, LabId};
use crate::tui::action::{Document, Effect, Mouse};
use crate::tui::commands::{Context, Entry, always, rows};
use crate::tui::panes::listing::Listing;
use crate::tui::reduce::job;
use crate::tui::screen::{Origin, Pane, Screen, ScreenId};
use crate::tui::setup as frame_setup;
use crate::tui::state::{Start, State};

/// This screen.
pub const ID: ScreenId = ScreenId("saliency");
/// The sentences.
pub const SENTENCES: Pane = Pane("Sentences");
/// The sentence in view, word by word.
pub const HEATMAP: Pane = Pane("Heatmap");
/// Attention by layer and head.
pub const HEADS: Pane = Pane("Heads");
/// Tables.
pub const SCORES: Pane = Pane("Scores");
/// A figure.
pub const CURVE: Pane = Pane("Figure");

/// What this screen remembers beside its cursors.
#[derive(Debug, Clone)]
pub struct View {
    /// The experiment as the user sets it up.
    pub spec: Spec,
    /// The model in view.
    pub model: String,
    /// The method in view.
    pub method: String,
    /// What stands beside it.
    pub beside: Beside,
    /// Which sentences are listed.
    pub filter: Filter,
    /// Number of the partner in view, among those of the original that pass the filter.
    pub partner: usize,
    /// Strip and place of the word under the cursor.
    pub cursor: (usize, usize),
    /// Layer and head under the cursor, from 0.
    pub head: (usize, usize),
    /// Which table is shown.
    pub table: Table,
    /// Which figure is drawn.
    pub drawn: usize,
    /// What has been marked.
    pub annotation: Annotations,
    /// The sentence that was typed last.
    pub typed: String,
    /// Whether it is in view in place of the data.
    pub typed_shown: bool,
    /// What the typed sentence is compared with.
    base: Option<Own>,
    /// The file of the first of two annotators.
    first_annotator: std::path::PathBuf,
    index: Index,
    listed: Vec<usize>,
    listed_for: Option<((u64, usize, usize), Filter, String)>,
    heat: Option<Figure>,
    heads: Option<Figure>,
    curve: Option<Figure>,
}

impl View {
    /// The view before anything has happened.
    #[must_use]
    pub fn new(start: &Start) -> Self {
        let spec = own(&start.spec).cloned().unwrap_or_else(Spec::shipped);
        Self {
            model: spec.models.first().cloned().unwrap_or_default(),
            method: spec.saliency.methods.first().cloned().unwrap_or_default(),
            spec,
            beside: Beside::default(),
            filter: Filter::default(),
            partner: 0,
            cursor: (0, 0),
            head: (0, 0),
            table: Table::default(),
            drawn: 0,
            annotation: Annotations::default(),
            typed: String::new(),
            typed_shown: false,
            base: None,
            first_annotator: std::path::PathBuf::new(),
            index: Index::default(),
            listed: Vec::new(),
            listed_for: None,
            heat: None,
            heads: None,
            curve: None,
        }
    }
}

/// The screen.
pub struct Saliency;

/// The screen, for the registry.
pub static SCREEN: Saliency = Saliency;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-saliency", "saliency lab",
        "Shows the saliency lab. In the setup pane a bare digit types a number instead.",
        ["4", "alt-4"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "dimension", "filter by dimension", "Lists the sentences of the next dimension alone, and then all again.",
        ["d"], Some(("filter", 11)), |s| !results(s).sentences.is_empty() => next_dimension;
    "perturbation", "filter by perturbation",
        "Lists the sentences with a partner of the next kind alone (words that do not matter, words that do, another form), and then all again.",
        ["t"], Some(("filter", 11)), |s| !results(s).sentences.is_empty() => next_perturbation;
    "right-or-wrong", "filter right or wrong", "Lists the sentences that the model in view gets right, then those that it does not, then all.",
        ["r"], Some(("filter", 11)), |s| !results(s).sentences.is_empty() => next_right;
    "saliency-method", "next method", "Shows the scores of the next method.",
        ["m"], Some(("method", 12)), |s| results(s).methods().len() > 1 => next_method;
    "saliency-model", "next model", "Shows the scores of the next model.",
        ["v"], None, |s| results(s).models().len() > 1 => next_model;
    "beside", "side by side", "Lays another method beside the one in view, then another model, then nothing.",
        ["c"], Some(("compare", 13)), |s| !results(s).sentences.is_empty() => next_beside;
    "next-partner", "next partner", "Shows the next perturbed partner of the sentence.",
        ["n"], None, |s| !results(s).sentences.is_empty() => |s| turn_partner(s, true);
    "previous-partner", "previous partner", "Shows the previous perturbed partner of the sentence.",
        ["N"], None, |s| !results(s).sentences.is_empty() => |s| turn_partner(s, false);
    "own-sentence", "own sentence",
        "Types a sentence with [MASK]; prediction and scores follow every key. The last one typed is there to be edited.",
        ["o"], Some(("own", 14)), typed::can_ask => typed::open;
    "edit-sentence", "edit sentence", "Edits the sentence under the cursor as one of your own; what it was stays above it.",
        ["O"], Some(("own", 14)), typed::can_edit => typed::edit;
    "back-to-data", "back to the data", "Leaves the own sentence and shows the sentence of the data again.",
        ["b"], None, |s| view(s).typed_shown => typed::leave;
    "heads", "ask the heads", "Asks for the attention of every head of every layer in the sentence under the cursor.",
        ["x"], None, |s| typed::can_ask(s) && heads::question(s).is_some() => ask_heads;
    "next-table", "next table", "Shows the next table of scores.", ["]"], None, always => |s| turn_table(s, true);
    "previous-table", "previous table", "Shows the previous table of scores.",
        ["["], None, always => |s| turn_table(s, false);
    "next-curve", "next figure", "Draws the next figure: F1 against the rationale ratio, MAP against it, right answers.",
        ["}"], None, always => |s| turn_curve(s, 1);
    "previous-curve", "previous figure", "Draws the previous figure.",
        ["{"], None, always => |s| turn_curve(s, curve::DRAWN.len() - 1);
    "annotate", "mark rationales", "Begins to mark rationales in the sentences, or ends it. What was marked stays until the program ends; saving it is a key of its own.",
        ["a"], Some(("mark", 15)), |s| !results(s).sentences.is_empty() => annotate::toggle;
    "mark-word", "mark word", "While marking: takes the word under the cursor into the rationale, or out of it. A sentence begins with its gold rationale.",
        ["."], None, marking => annotate::mark;
    "clear-marks", "clear marks", "While marking: takes every word of the sentence out of the rationale.",
        ["-"], None, marking => annotate::clear;
    "align-word", "align word", "While marking: picks up a word of the original, and then aligns it with the word under the cursor of its partner, or parts them.",
        [","], None, marking => annotate::align;
    "sufficiency", "score sufficiency", "While marking: the next score of whether the rationale is enough for the answer, 1 to 3.",
        ["S"], None, marking => annotate::sufficiency;
    "compactness", "score compactness", "While marking: the next score of whether the rationale holds nothing else, 1 to 4.",
        ["C"], None, marking => annotate::compactness;
    "save-marks", "save marks", "Saves what was marked as JSON lines in the benchmark's schema; a file that exists is replaced only if you say so.",
        ["W"], None, always => annotate::save;
    "open-marks", "open marks", "Reads marks that were saved, to go on with them.", ["R"], None, always => annotate::open;
    "annotators", "two annotators", "Compares the marks of two annotators from two files: Cohen's kappa and token-F1.",
        ["A"], None, always => annotate::compare;
};

fn view(state: &State) -> &View {
    &state.screens.saliency
}

fn view_mut(state: &mut State) -> &mut View {
    &mut state.screens.saliency
}

/// What the lab's latest run has found.
fn results(state: &State) -> &Results {
    state.board.results::<Results>()
}

/// The lab's latest run.
fn run(state: &State) -> Option<&Job> {
    state.board.run_of(LabId::Saliency).map(|run| &run.job)
}

/// What the lab's latest run computes.
#[must_use]
pub fn ran(state: &State) -> Option<&Spec> {
    run(state).and_then(|job| own(&job.spec))
}

fn own(spec: &lab::Spec) -> Option<&Spec> {
    if let lab::Spec::Saliency(spec) = spec { Some(spec) } else { None }
}

/// What the heatmap shows.
#[derive(Clone, Copy)]
pub enum Shown<'a> {
    /// A sentence that was typed.
    Own(&'a Own),
    /// A sentence of the data, and the partner that stands below it.
    Data(&'a SentenceFinding, Option<&'a SentenceFinding>),
}

/// What the heatmap shows; none where there is no sentence.
fn shown(state: &State) -> Option<Shown<'_>> {
    let (found, view) = (results(state), view(state));
    if let Some(own) = found.own.as_ref().filter(|own| view.typed_shown && own.sentence.is_some()) {
        return Some(Shown::Own(own));
    }
    let at = state.place(ID).scrolled(SENTENCES).min(view.listed.len().checked_sub(1)?);
    let original = &found.sentences.get(view.listed[at])?.value;
    let partners = sentences::partners(state, original);
    let partner = partners.get(view.partner.min(partners.len().saturating_sub(1))).copied();
    Some(Shown::Data(original, partner))
}

fn ask(state: &mut State, asked: Asked) -> Vec<Effect> {
    let failed = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Failed(_)));
    let Some(job) = run(state).filter(|job| !failed(&job.outcome)) else { return Vec::new() };
    let generation = job.generation;
    job::ask(state, Question::Experiment { generation, question: asked.into() })
}

fn ask_heads(state: &mut State) -> Vec<Effect> {
    heads::question(state).map_or(Vec::new(), |question| ask(state, Asked::Attention(question)))
}

/// The entry after the present one, with "all" (none) between the last and the first.
fn next_of(all: &[String], now: Option<&String>) -> Option<String> {
    let at = now.and_then(|now| all.iter().position(|x| x == now)).map_or(0, |k| k + 1);
    all.get(at).cloned()
}

fn next_dimension(state: &mut State) -> Vec<Effect> {
    let next = next_of(&sentences::dimensions(state), view(state).filter.dimension.as_ref());
    refilter(state, |filter| filter.dimension = next)
}

fn next_perturbation(state: &mut State) -> Vec<Effect> {
    let next = next_of(&PERTURBATIONS.map(str::to_owned), view(state).filter.perturbation.as_ref());
    refilter(state, |filter| filter.perturbation = next)
}

fn next_right(state: &mut State) -> Vec<Effect> {
    refilter(state, |filter| {
        filter.right = match filter.right {
            None => Some(true),
            Some(true) => Some(false),
            Some(false) => None,
        }
    })
}

fn refilter(state: &mut State, change: impl FnOnce(&mut Filter)) -> Vec<Effect> {
    let view = view_mut(state);
    change(&mut view.filter);
    view.typed_shown = false;
    another_sentence(state);
    state.place_mut(ID).scroll.remove(&SENTENCES);
    Vec::new()
}

fn another_sentence(state: &mut State) {
    let view = view_mut(state);
    (view.partner, view.cursor, view.annotation.held) = (0, (0, 0), None);
}

fn next_method(state: &mut State) -> Vec<Effect> {
    let all: Vec<String> = results(state).methods().into_iter().map(str::to_owned).collect();
    let next = next_of(&all, Some(&view(state).method)).or(all.first().cloned());
    view_mut(state).method = next.unwrap_or_default();
    typed::ask_again(state)
}

fn next_model(state: &mut State) -> Vec<Effect> {
    let all: Vec<String> = results(state).models().into_iter().map(str::to_owned).collect();
    let next = next_of(&all, Some(&view(state).model)).or(all.first().cloned());
    view_mut(state).model = next.unwrap_or_default();
    typed::ask_again(state)
}

fn next_beside(state: &mut State) -> Vec<Effect> {
    for _ in 0..3 {
        let view = view_mut(state);
        view.beside = view.beside.next();
        // What has no second one is passed over.
        if view.beside == Beside::Nothing || heat::choices(state).len() > 1 {
            break;
        }
    }
    if view(state).beside == Beside::Nothing && heat::choices(state).len() == 1 {
        let several = results(state).models().len() > 1 || results(state).methods().len() > 1;
        if !several {
            state.view.toast =
                Some("the run has one model and one method; there is nothing to lay beside".into());
        }
    }
    view_mut(state).cursor.0 = 0;
    typed::ask_again(state)
}

fn turn_partner(state: &mut State, on: bool) -> Vec<Effect> {
    let Some(Shown::Data(original, _)) = shown(state) else { return Vec::new() };
    let of = sentences::partners(state, original).len().max(1);
    let view = view_mut(state);
    view.partner = (view.partner.min(of - 1) + if on { 1 } else { of - 1 }) % of;
    Vec::new()
}

fn turn_table(state: &mut State, on: bool) -> Vec<Effect> {
    let table = view(state).table.turned(on);
    view_mut(state).table = table;
    state.place_mut(ID).scroll.remove(&SCORES);
    Vec::new()
}

fn turn_curve(state: &mut State, by: usize) -> Vec<Effect> {
    let drawn = &mut view_mut(state).drawn;
    *drawn = (*drawn + by) % curve::DRAWN.len();
    Vec::new()
}

/// Number of lines of a pane that is a list.
fn length(state: &State, pane: Pane) -> usize {
    match pane {
        SENTENCES => view(state).listed.len(),
        SCORES => scores::rows(state, view(state).table).len(),
        _ => 0,
    }
}

/// Keeps model and method in view among those of the run.
fn settle(state: &mut State) {
    let (models, methods) = (results(state).models(), results(state).methods());
    let model = models.first().filter(|_| !models.contains(&view(state).model.as_str()));
    let method = methods.first().filter(|_| !methods.contains(&view(state).method.as_str()));
    let (model, method) = (model.map(|m| (*m).to_owned()), method.map(|m| (*m).to_owned()));
    let view = view_mut(state);
    view.model = model.unwrap_or(std::mem::take(&mut view.model));
    view.method = method.unwrap_or(std::mem::take(&mut view.method));
}

impl Screen for Saliency {
    fn id(&self) -> ScreenId {
        ID
    }

    fn title(&self) -> &'static str {
        "Saliency"
    }

    fn tab(&self) -> &'static Entry {
        &TAB[0]
    }

    fn question(&self) -> Option<&'static str> {
        Some(LabId::Saliency.lab().question())
    }

    fn panes(&self) -> &'static [Pane] {
        &[frame_setup::PANE, SENTENCES, HEATMAP, SCORES, HEADS, CURVE]
    }

    fn first(&self) -> Pane {
        SENTENCES
    }

    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        let side = if body.width >= 150 { 46 } else { 36 };
        let [left, right] = Split::horizontal([Constraint::Length(side), Constraint::Fill(1)]).areas(body);
        let rows = self.setup().map_or(Vec::new(), |setup| setup.rows(state));
        let wanted = frame_setup::lines(&rows).len() as u16 + 2;
        let setup_rows = wanted.min(body.height / 2);
        let [setup, sentences] =
            Split::vertical([Constraint::Length(setup_rows), Constraint::Fill(1)]).areas(left);
        let below = if body.height >= 36 { 12 } else { 10 };
        let scores_rows = if body.height >= 36 { 9 } else { 7 };
        let [heat, scores, below] = Split::vertical([
            Constraint::Fill(1),
            Constraint::Length(scores_rows),
            Constraint::Length(below),
        ])
        .areas(right);
        let [heads, curve] = Split::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(below);
        vec![
            (frame_setup::PANE, setup),
            (SENTENCES, sentences),
            (HEATMAP, heat),
            (SCORES, scores),
            (HEADS, heads),
            (CURVE, curve),
        ]
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            SENTENCES => sentences::draw(frame, area, state),
            HEATMAP => heat::draw(frame, area, state),
            HEADS => heads::draw(frame, area, state),
            SCORES => scores::draw(frame, area, state),
            _ => curve::draw(frame, area, state),
        }
    }

    fn setup(&self) -> Option<&'static dyn frame_setup::Setup> {
        Some(&setup::SETUP)
    }

    fn commands(&self) -> &'static [Entry] {
        COMMANDS
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) {
        match pane {
            HEATMAP => {
                if let Some(cursor) = heat::across(state, by) {
                    view_mut(state).cursor = cursor;
                }
            }
            HEADS => {
                if let Some(head) = heads::step(state, by, 0) {
                    view_mut(state).head = head;
                }
            }
            _ => {
                let len = length(state, pane);
                let before = state.place(ID).scrolled(pane);
                state.place_mut(ID).travel(pane, by, len);
                if pane == SENTENCES && state.place(ID).scrolled(pane) != before {
                    view_mut(state).typed_shown = false;
                    another_sentence(state);
                }
            }
        }
    }

    fn sideways(&self, state: &mut State, pane: Pane, by: i64) -> Option<Vec<Effect>> {
        match pane {
            HEATMAP => {
                let cursor = heat::sideways(state, by);
                let view = view_mut(state);
                view.cursor = cursor.unwrap_or(view.cursor);
            }
            HEADS => {
                let head = heads::step(state, 0, by);
                let view = view_mut(state);
                view.head = head.unwrap_or(view.head);
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        match pane {
            HEATMAP => {
                let area = heat::strips_area(state, area);
                let figure = view(state).heat.as_ref();
                let hit = figure.and_then(|figure| heat::strips(state, figure).at(area, mouse.x, mouse.y));
                let view = view_mut(state);
                view.cursor = hit.unwrap_or(view.cursor);
            }
            HEADS => {
                if let Some(head) = heads::at(state, area, mouse) {
                    view_mut(state).head = head;
                }
            }
            _ => {
                let listing = Listing { len: length(state, pane), cursor: state.place(ID).scrolled(pane) };
                if let Some(row) = listing.at(area, mouse.x, mouse.y) {
                    let by = row as i64 - state.place(ID).scrolled(pane) as i64;
                    self.travel(state, pane, by);
                }
            }
        }
        Vec::new()
    }

    fn figure<'a>(&self, state: &'a State) -> Option<&'a Figure> {
        match state.place(ID).focus {
            HEADS => view(state).heads.as_ref(),
            CURVE | SCORES => view(state).curve.as_ref(),
            _ => view(state).heat.as_ref(),
        }
    }

    fn copy(&self, state: &State) -> Option<String> {
        copying::copy_text(state)
    }

    fn origin(&self, state: &State) -> Option<Origin> {
        copying::origin(state)
    }

    fn measures(&self) -> bool {
        true
    }

    fn refresh(&self, state: &mut State) {
        let generation = run(state).map_or(0, |job| job.generation);
        let mut index = std::mem::take(&mut view_mut(state).index);
        index.follow(results(state), generation);
        let stamp = index.stamp();
        view_mut(state).index = index;
        settle(state);
        let of = (stamp, view(state).filter.clone(), view(state).model.clone());
        if view(state).listed_for.as_ref() != Some(&of) {
            let listed = sentences::listed(state);
            let view = view_mut(state);
            (view.listed, view.listed_for) = (listed, Some(of));
        }
        // The heads are those of the word under the cursor of the heatmap, which therefore comes first.
        view_mut(state).heat = heat::figure(state);
        let (heads, curve) = (heads::figure(state), curve::figure(state));
        let view = view_mut(state);
        (view.heads, view.curve) = (heads, curve);
    }

    fn follow(&self, state: &mut State, command: &Command) {
        match command {
            Command::Run { spec, .. } => {
                if let Some(spec) = own(spec) {
                    view_mut(state).spec = spec.clone();
                }
            }
            Command::Ask {
                question:
                    Question::Experiment { question: lab::Question::Saliency(Asked::Sentence(asked)), .. },
                ..
            } => {
                let view = view_mut(state);
                (view.typed, view.typed_shown) = (asked.text.clone(), true);
            }
            _ => {}
        }
    }

    fn on_event(&self, state: &mut State, event: &Event) -> Vec<Effect> {
        let Event::Finished { generation, outcome: Outcome::Done, .. } = event else { return Vec::new() };
        let mine = run(state).is_some_and(|job| job.generation == *generation);
        // A question that waits for its answer must not be superseded by this one.
        if mine && !view(state).typed_shown && results(state).attention.is_none() {
            ask_heads(state)
        } else {
            Vec::new()
        }
    }

    fn on_loaded(&self, state: &mut State, documents: &[Document]) -> Vec<Effect> {
        annotate::loaded(state, documents)
    }
}

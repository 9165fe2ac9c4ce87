//! The screen of the saliency lab: setup, sentences, the current sentence's heatmap, heads, tables, and a figure.
//!
//! A typed sentence is evaluated while typing; rationales can be annotated and saved.

mod annotate;
mod commands;
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

use std::rc::Rc;

use std::path::Path;

use ratatui::Frame;
use ratatui::layout::Rect;

use self::annotate::Annotations;
use self::heat::Beside;
use self::index::Index;
use self::scores::Table;
use self::sentences::Filter;
use crate::action::{Document, Effect, Mouse};
use crate::commands::Entry;
use crate::panes::listing::Listing;
use crate::panes::table::{Listed, Table as List};
use crate::reduce::job;
use crate::screen::{Origin, Pane, Screen, ScreenId};
use crate::setup as frame_setup;
use crate::state::{Start, State, moved};
use engine::board::Job;
use engine::message::{Command, Event, Outcome, Question};
use figure::Figure;
use labs::saliency::Spec;
use labs::saliency::finding::SentenceFinding;
use labs::saliency::question::Question as Asked;
use labs::saliency::results::{Own, Results};
use labs::{self, LabId};

pub const ID: ScreenId = ScreenId("saliency");
pub const SENTENCES: Pane = Pane("sentences");
/// Heatmap of the current sentence's words.
pub const HEATMAP: Pane = Pane("words");
pub const HEADS: Pane = Pane("heads");
/// Agreement with annotators and between sentences and their perturbed forms.
pub const SCORES: Pane = Pane("agreement");
/// Token-F1 by length of the rationale.
pub const CURVE: Pane = Pane("F1 by length");

static SLOTS: &[&[Pane]] = &[
    &[frame_setup::PANE],
    &[SENTENCES],
    &[HEATMAP, HEADS],
    &[
        SCORES,
        CURVE,
        Pane("MAP by length"),
        Pane("right answers"),
        Pane("by change"),
        Pane("answers by task"),
        Pane("tests"),
        Pane("right or wrong"),
    ],
];

fn table_of(pane: Pane) -> Option<Table> {
    let tables = [
        (0, Table::Interpretability),
        (4, Table::Perturbations),
        (5, Table::Accuracy),
        (6, Table::Differences),
        (7, Table::Correctness),
    ];
    tables.into_iter().find(|(at, _)| SLOTS[3][*at] == pane).map(|(_, table)| table)
}

/// Index of the figure shown in a pane.
fn curve_of(pane: Pane) -> Option<usize> {
    SLOTS[3][1..4].iter().position(|curve| *curve == pane)
}

#[derive(Debug, Clone)]
pub struct View {
    /// The experiment set up by the user.
    pub spec: Spec,
    pub model: String,
    pub method: String,
    /// Second method or model beside the current one.
    pub beside: Beside,
    pub filter: Filter,
    /// Index of the shown partner, among the original's partners that match the filter.
    pub partner: usize,
    /// Strip and word under the cursor.
    pub cursor: (usize, usize),
    /// Layer and head under the cursor, from 0.
    pub head: (usize, usize),
    pub table: Table,
    /// Number of table columns scrolled off.
    pub(crate) columns_gone: usize,
    /// Index of the drawn figure.
    pub drawn: usize,
    pub annotation: Annotations,
    pub typed: String,
    /// True if the typed sentence is shown instead of the data.
    pub(crate) typed_shown: bool,
    /// Sentence with which the typed one is compared.
    base: Option<Own>,
    /// First annotator's file in a comparison.
    first_annotator: std::path::PathBuf,
    index: Index,
    listed: Vec<usize>,
    listed_for: Option<Selection>,
    heat: Option<Figure>,
    heads: Option<Figure>,
    curve: Option<Figure>,
}

/// Inputs of the sentence list: findings, the menu's filter, the typed filter, and the order.
type Selection = ((u64, usize, usize), Filter, String, Option<Listed>);

impl View {
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
            columns_gone: 0,
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

pub struct Saliency;

pub static SCREEN: Saliency = Saliency;

fn view(state: &State) -> &View {
    &state.screens.saliency
}

fn view_mut(state: &mut State) -> &mut View {
    &mut state.screens.saliency
}

fn results(state: &State) -> &Results {
    state.results::<Results>()
}

fn run(state: &State) -> Option<&Job> {
    state.board.run_of(LabId::Saliency).map(|run| &run.job)
}

pub fn ran(state: &State) -> Option<&Spec> {
    run(state).and_then(|job| own(&job.spec))
}

fn own(spec: &labs::Spec) -> Option<&Spec> {
    if let labs::Spec::Saliency(spec) = spec { Some(spec) } else { None }
}

#[derive(Clone, Copy)]
pub enum Shown<'a> {
    Own(&'a Own),
    /// A sentence of the data, and its partner below.
    Data(&'a SentenceFinding, Option<&'a SentenceFinding>),
}

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
    job::ask_run(state, LabId::Saliency, asked.into())
}

fn another_sentence(state: &mut State) {
    let view = view_mut(state);
    (view.partner, view.cursor, view.annotation.held) = (0, (0, 0), None);
}

/// Number of lines in a pane that is a list.
fn length(state: &State, pane: Pane) -> usize {
    match pane {
        SENTENCES => view(state).listed.len(),
        pane => table_of(pane).map_or(0, |table| scores::rows(state, table).len()),
    }
}

/// Keeps the current model and method among those of the run.
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
        &commands::TAB[0]
    }

    fn question(&self) -> Option<&'static str> {
        Some(labs::by_id(LabId::Saliency).question())
    }

    fn slots(&self) -> &'static [&'static [Pane]] {
        SLOTS
    }

    fn first(&self) -> Pane {
        SENTENCES
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            SENTENCES => sentences::draw(frame, area, state),
            HEATMAP => heat::draw(frame, area, state),
            HEADS => heads::draw(frame, area, state),
            pane if table_of(pane).is_some() => scores::draw(frame, area, state, pane),
            pane => curve::draw(frame, area, state, pane),
        }
    }

    fn about(&self, state: &State, pane: Pane) -> String {
        match pane {
            SENTENCES => match shown(state) {
                Some(Shown::Data(original, _)) => original.text.clone(),
                _ => "Sentences with the model's answers, right or wrong, to the original and its changed partners."
                    .into(),
            },
            HEATMAP => "Dependence of the answer on each word, by attention (ATT) or integrated gradients (IG); annotators marked the underlined words.".into(),
            HEADS => "Attention of every head in every layer to the word under the cursor.".into(),
            pane if table_of(pane).is_some() => scores::about(pane).into(),
            _ => "The score by the rationale's share of the words; long rationales are easier to match.".into(),
        }
    }

    fn table(&self, state: &State, pane: Pane) -> Option<Rc<List>> {
        (pane == SENTENCES).then(|| sentences::table(state))
    }

    fn setup(&self) -> Option<&'static dyn frame_setup::Setup> {
        Some(&setup::SETUP)
    }

    fn commands(&self) -> &'static [Entry] {
        commands::COMMANDS
    }

    fn menu(&self) -> &'static [Entry] {
        commands::MENU
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) -> Vec<Effect> {
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
        Vec::new()
    }

    fn open(&self, state: &mut State, pane: Pane) -> Option<Vec<Effect>> {
        match pane {
            SENTENCES => state.focus_on(HEATMAP),
            HEATMAP => {
                let effects = if typed::can_ask(state) { commands::ask_heads(state) } else { Vec::new() };
                state.focus_on(HEADS);
                return Some(effects);
            }
            _ => return None,
        }
        Some(Vec::new())
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
            pane if table_of(pane).is_some() => {
                let view = view_mut(state);
                view.columns_gone = moved(view.columns_gone, by, view.table.most_gone() + 1);
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
            SENTENCES => {
                let cursor = state.place(ID).scrolled(SENTENCES);
                if let Some(row) = sentences::table(state).at(state, SENTENCES, area, cursor, mouse.y) {
                    return self.travel(state, pane, row as i64 - cursor as i64);
                }
            }
            _ => {
                let listing = Listing { len: length(state, pane), cursor: state.place(ID).scrolled(pane) };
                if let Some(row) = listing.at(area, mouse.x, mouse.y) {
                    let by = row as i64 - state.place(ID).scrolled(pane) as i64;
                    return self.travel(state, pane, by);
                }
            }
        }
        Vec::new()
    }

    fn figure<'a>(&self, state: &'a State) -> Option<&'a Figure> {
        match (curve_of(state.place(ID).focus), state.figure_in_sight(ID)) {
            (Some(_), _) => view(state).curve.as_ref(),
            (None, HEADS) => view(state).heads.as_ref(),
            (None, _) => view(state).heat.as_ref(),
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
        let shown = state.place(ID).shown(SLOTS[3]);
        let seen = view_mut(state);
        seen.table = table_of(shown).unwrap_or(seen.table);
        seen.drawn = curve_of(shown).unwrap_or(seen.drawn);
        let generation = run(state).map_or(0, |job| job.generation);
        let mut index = std::mem::take(&mut view_mut(state).index);
        index.follow(results(state), generation);
        let stamp = index.stamp();
        view_mut(state).index = index;
        settle(state);
        let order = state.place(ID).listed.get(&SENTENCES).cloned();
        let of = (stamp, view(state).filter.clone(), view(state).model.clone(), order);
        if view(state).listed_for.as_ref() != Some(&of) {
            let listed = sentences::listed(state);
            let view = view_mut(state);
            (view.listed, view.listed_for) = (listed, Some(of));
        }
        // The heads depend on the word under the heatmap's cursor, so the heatmap is drawn first.
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
                question: Question::Experiment { question: labs::Question::Saliency(Asked::Sentence(asked)), .. },
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
        // This question must not supersede a pending one; a sentence that the model could not process has no answer.
        let asked = heat::pointed(state).is_some_and(|p| p.row.is_some());
        if mine && asked && !view(state).typed_shown && results(state).attention.is_none() {
            commands::ask_heads(state)
        } else {
            Vec::new()
        }
    }

    fn on_loaded(&self, state: &mut State, documents: &[Document]) -> Vec<Effect> {
        annotate::loaded(state, documents)
    }

    fn unsaved(&self, state: &State) -> Option<String> {
        annotate::unsaved(state)
    }

    fn save(&self, state: &mut State) -> Vec<Effect> {
        annotate::save(state)
    }

    fn on_saved(&self, state: &mut State, path: &Path) {
        annotate::saved(state, path);
    }
}

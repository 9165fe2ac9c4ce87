//! The screen of the interventions lab: setup, curves, the plane of completeness and selectivity, an example, the probes.
//!
//! What it reads from the board is in [`measured`]; what it asks the engine is in `ask_point`.

pub mod catalog;
mod copying;
mod curves;
mod example;
mod map;
pub mod measured;
mod origin;
mod pareto;
mod picker;
mod probes;
mod setup;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};

use self::catalog::Catalog;
use self::measured::{
    awaiting_point, example as shown, marker, marker_stops, method_spec, optimum, readout, results,
    run_models, scale,
};
use crate::action::{Effect, Mouse};
use crate::commands::{Context, Entry, always, live, rows};
use crate::layout::{Layout, inside};
use crate::popups;
use crate::reduce::job;
use crate::screen::{Origin, Pane, Screen, ScreenId};
use crate::setup as frame_setup;
use crate::state::{Drag, Start, State};
use crate::widgets::chart;
use engine::board::Job;
use engine::message::{Command, Event, Outcome, Question};
use figure::{Figure, Scale};
use labs::interventions::Spec;
use labs::interventions::map::Score;
use labs::interventions::oracle::OracleKind;
use labs::interventions::question::{PointQuestion, Question as Asked};
use labs::setting::Value;
use labs::{self, LabId};

pub const ID: ScreenId = ScreenId("interventions");
/// C, S and R against the strength.
pub const CURVES: Pane = Pane("Curves");
/// C against S for all methods.
pub const PARETO: Pane = Pane("Pareto");
/// One example before and after.
pub const EXAMPLE: Pane = Pane("Example");
/// The audit of oracles and probes.
pub const PROBES: Pane = Pane("Probes");

/// What this screen remembers.
#[derive(Debug, Clone)]
pub struct View {
    /// The experiment as the user sets it up.
    pub spec: Spec,
    /// What can be picked.
    pub catalog: Catalog,
    /// The method that is drawn.
    pub method: String,
    /// Which of its settings, if the spec runs it with several.
    pub nth: usize,
    /// The model that is drawn.
    pub model: String,
    /// The oracle whose judgement is drawn.
    pub oracle: OracleKind,
    /// The position of each method's slider.
    pub(crate) markers: BTreeMap<String, f64>,
    /// The example that is shown.
    pub example: usize,
    /// The horizontal scale, if the user overrides the method's own.
    pub scale: Option<Scale>,
    /// The figure of the curves; none before the first point.
    pub curves: Option<Figure>,
    /// The score whose map is wanted in the place of the curves; none means the curves.
    pub score: Option<Score>,
    /// Whether what the model does is wanted in the place of the oracle's view.
    pub conduct: bool,
    /// The figure of what the model does; none where another is drawn.
    pub behaviour: Option<Figure>,
    /// Row and column of the cursor on the map, from 0.
    pub cell: (usize, usize),
    /// The figure of the map; none where the curves are drawn.
    pub map: Option<Figure>,
    /// The figure of the plane; none before the first point.
    pub pareto: Option<Figure>,
    /// Whether the front has a knee, and the front in words, from the longest form to the shortest; none before the first point.
    pub front: Option<(bool, Vec<String>)>,
}

impl View {
    /// The view before anything has happened.
    pub fn new(start: &Start) -> Self {
        #[allow(unreachable_patterns, reason = "with one lab there is no other case")]
        let spec = match &start.spec {
            labs::Spec::Interventions(spec) => (**spec).clone(),
            _ => Spec::shipped(),
        };
        let last = spec.methods.last().map_or(String::new(), |m| m.name.clone());
        // The paper's main method is drawn first if it runs.
        let method = spec.methods.iter().find(|m| m.name == "pgd").map_or(last, |m| m.name.clone());
        Self {
            catalog: Catalog::registered(),
            method,
            nth: 0,
            model: spec.models.first().cloned().unwrap_or_default(),
            oracle: spec.probe.oracles.first().copied().unwrap_or(OracleKind::Mlp),
            markers: BTreeMap::new(),
            example: 0,
            scale: None,
            curves: None,
            score: None,
            conduct: false,
            behaviour: None,
            cell: (0, 0),
            map: None,
            pareto: None,
            front: None,
            spec,
        }
    }
}

/// The screen.
pub struct Interventions;

/// The screen, for the registry.
pub static SCREEN: Interventions = Interventions;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-interventions", "interventions lab",
        "Shows the interventions lab. In the setup pane a bare digit types a number instead.",
        ["2", "alt-2"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "best", "best strength", "Moves the marker to the strength with the highest reliability.",
        ["b"], None, |s| optimum(s).is_some() => best;
    "methods", "pick methods", "Opens the method picker: which one is drawn, and which ones run.",
        ["m"], Some(("methods", 11)), always => picker::open;
    "experiments", "experiments of the paper", "Sets the lab up as the whole experiment of Canby et al. (2024).",
        ["t"], None, |s| s.replay.is_none() => |s| popups::pick(s, &picker::EXPERIMENTS, 0);
    "next-method", "next method", "Draws the next method.",
        ["]"], None, always => |s| frame_setup::turn(s, setup::METHOD, 1);
    "previous-method", "previous method", "Draws the previous method.",
        ["["], None, always => |s| frame_setup::turn(s, setup::METHOD, -1);
    "next-model", "next model", "Draws the next model of the run.",
        ["v"], None, |s| run_models(s).len() > 1 => next_model;
    "oracle", "switch oracle", "Switches to the next oracle.",
        ["o"], Some(("oracle", 12)), always => |s| frame_setup::turn(s, setup::ORACLE, 1);
    "next-example", "next example", "Shows the next example.",
        ["n"], Some(("example", 13)), live => |s| step_example(s, true);
    "previous-example", "previous example", "Shows the previous example.",
        ["N"], Some(("example", 13)), live => |s| step_example(s, false);
    "axis", "switch axis", "Switches the horizontal axis between linear and logarithmic.",
        ["x"], None, always => switch_axis;
    "next-map", "next figure",
        "Draws the next figure: the curves, what the model does, or the map of layers by reliability, completeness, selectivity.",
        ["}"], None, always => |s| map::turn(s, true);
    "previous-map", "previous figure", "Draws the previous figure.",
        ["{"], None, always => |s| map::turn(s, false);
};

fn view(state: &State) -> &View {
    &state.screens.interventions
}

fn view_mut(state: &mut State) -> &mut View {
    &mut state.screens.interventions
}

/// The lab's latest run.
fn run(state: &State) -> Option<&Job> {
    state.board.run_of(LabId::Interventions).map(|run| &run.job)
}

/// What the lab's latest run computes.
pub fn ran(state: &State) -> Option<&Spec> {
    run(state).and_then(|job| own(&job.spec))
}

#[allow(unreachable_patterns, reason = "with one lab there is no other case")]
fn own(spec: &labs::Spec) -> Option<&Spec> {
    match spec {
        labs::Spec::Interventions(spec) => Some(spec),
        _ => None,
    }
}

/// Asks for the point at the marker; answers to older questions no longer count.
fn ask_point(state: &mut State) -> Vec<Effect> {
    let failed = |outcome: &Option<Outcome>| matches!(outcome, Some(Outcome::Failed(_)));
    let Some(job) = run(state).filter(|job| !failed(&job.outcome)) else { return Vec::new() };
    let generation = job.generation;
    let view = view(state);
    let point = PointQuestion {
        model: view.model.clone(),
        method: view.method.clone(),
        options: method_spec(state).map_or(BTreeMap::new(), |m| m.options.clone()),
        value: marker(state),
        example: view.example,
    };
    job::ask(state, Question::Experiment { generation, question: Asked::Point(point).into() })
}

fn best(state: &mut State) -> Vec<Effect> {
    let row = frame_setup::row(state, setup::STRENGTH).zip(optimum(state));
    row.map_or(Vec::new(), |(row, value)| frame_setup::set(state, &row, Value::Number(value)))
}

fn next_model(state: &mut State) -> Vec<Effect> {
    let models = run_models(state);
    let at = models.iter().position(|m| *m == view(state).model).map_or(0, |i| i + 1);
    if let Some(model) = models.get(at % models.len().max(1)).cloned() {
        view_mut(state).model = model;
    }
    ask_point(state)
}

fn step_example(state: &mut State, on: bool) -> Vec<Effect> {
    // Before the first answer the number of examples is unknown.
    let of = shown(state).map_or(usize::MAX, |e| e.value.of.max(1));
    let at = view(state).example.min(of - 1);
    view_mut(state).example = match (on, at) {
        (true, at) if at + 1 < of => at + 1,
        (true, _) => 0,
        (false, 0) if of == usize::MAX => 0,
        (false, 0) => of - 1,
        (false, at) => at - 1,
    };
    ask_point(state)
}

fn switch_axis(state: &mut State) -> Vec<Effect> {
    let other = if scale(state) == Scale::Log { Scale::Linear } else { Scale::Log };
    view_mut(state).scale = Some(other);
    Vec::new()
}

/// Keeps model, method and oracle of the view among those that the setup names.
fn settle(view: &mut View) {
    if !view.spec.models.contains(&view.model) {
        view.model = view.spec.models.first().cloned().unwrap_or_default();
    }
    if !view.spec.probe.oracles.contains(&view.oracle)
        && let Some(first) = view.spec.probe.oracles.first()
    {
        view.oracle = *first;
    }
    let settings = view.spec.methods.iter().filter(|m| m.name == view.method).count();
    view.nth = view.nth.min(settings.saturating_sub(1));
}

/// The measured strength or stop of the grid nearest to a value on the axis.
fn nearest_stop(state: &State, value: f64) -> Option<f64> {
    let log = scale(state) == Scale::Log;
    let gap = |s: f64| if log && value > 0.0 && s > 0.0 { (s / value).ln() } else { s - value };
    marker_stops(state).into_iter().min_by(|a, b| gap(*a).abs().total_cmp(&gap(*b).abs()))
}

impl Screen for Interventions {
    fn id(&self) -> ScreenId {
        ID
    }

    fn title(&self) -> &'static str {
        "Interventions"
    }

    fn tab(&self) -> &'static Entry {
        &TAB[0]
    }

    fn question(&self) -> Option<&'static str> {
        Some(labs::by_id(LabId::Interventions).question())
    }

    fn panes(&self) -> &'static [Pane] {
        &[frame_setup::PANE, CURVES, PARETO, EXAMPLE, PROBES]
    }

    fn first(&self) -> Pane {
        CURVES
    }

    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        let side = if body.width >= 150 { 40 } else { 31 };
        let [left, right] = Split::horizontal([Constraint::Length(side), Constraint::Fill(1)]).areas(body);
        // The probes take what the setup leaves, at least a third.
        let rows = self.setup().map_or(Vec::new(), |setup| setup.rows(state));
        let wanted = frame_setup::lines(&rows).len() as u16 + 2;
        let setup_rows = wanted.min(body.height * 2 / 3);
        let [setup, probes] =
            Split::vertical([Constraint::Length(setup_rows), Constraint::Fill(1)]).areas(left);
        let [curves, below] = Split::vertical([Constraint::Fill(3), Constraint::Fill(2)]).areas(right);
        let [pareto, example] = Split::horizontal([Constraint::Fill(5), Constraint::Fill(6)]).areas(below);
        vec![
            (frame_setup::PANE, setup),
            (CURVES, curves),
            (PARETO, pareto),
            (EXAMPLE, example),
            (PROBES, probes),
        ]
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            CURVES if map::is_drawn(state) => map::draw(frame, area, state),
            CURVES => curves::draw(frame, area, state),
            PARETO => pareto::draw(frame, area, state),
            EXAMPLE => example::draw(frame, area, state),
            _ => probes::draw(frame, area, state),
        }
    }

    fn setup(&self) -> Option<&'static dyn frame_setup::Setup> {
        Some(&setup::SETUP)
    }

    fn commands(&self) -> &'static [Entry] {
        COMMANDS
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) {
        if pane == CURVES && map::is_drawn(state) {
            return map::step(state, by, 0);
        }
        let len = if pane == PROBES { results(state).probes.len() } else { 0 };
        state.place_mut(ID).travel(pane, by, len);
    }

    fn sideways(&self, state: &mut State, pane: Pane, by: i64) -> Option<Vec<Effect>> {
        let on_map = pane == CURVES && map::is_drawn(state);
        on_map.then(|| {
            map::step(state, 0, by);
            Vec::new()
        })
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        if pane == CURVES && map::is_drawn(state) {
            map::press(state, area, mouse);
            return Vec::new();
        }
        if pane != CURVES {
            return Vec::new();
        }
        state.view.drag = Some(Drag::Pane(CURVES));
        drag_marker(state, area, mouse.x)
    }

    fn drag(&self, state: &mut State, pane: Pane, layout: &Layout, mouse: Mouse) -> Vec<Effect> {
        layout.pane(pane).map_or(Vec::new(), |area| drag_marker(state, area, mouse.x))
    }

    fn figure<'a>(&self, state: &'a State) -> Option<&'a Figure> {
        match state.place(ID).focus {
            PARETO => view(state).pareto.as_ref(),
            _ => view(state).map.as_ref().or(lines(state)),
        }
    }

    fn copy(&self, state: &State) -> Option<String> {
        copying::copy_text(state)
    }

    fn origin(&self, state: &State) -> Option<Origin> {
        origin::focused_origin(state)
    }

    fn measures(&self) -> bool {
        true
    }

    fn refresh(&self, state: &mut State) {
        let (curves, pareto) = (measured::curves_figure(state), measured::pareto_figure(state));
        let (front, map) = (measured::front(state), map::figure(state));
        let behaviour = view(state).conduct.then(|| measured::behaviour_figure(state)).flatten();
        let view = view_mut(state);
        (view.map, view.behaviour) = (map, behaviour);
        (view.curves, view.pareto, view.front) = (curves, pareto, front);
    }

    fn follow(&self, state: &mut State, command: &Command) {
        match command {
            Command::Run { spec, .. } => {
                if let Some(spec) = own(spec) {
                    let view = view_mut(state);
                    view.spec = spec.clone();
                    // A recording of another method than the one that is shown would show an empty chart.
                    let shown = view.spec.methods.iter().any(|m| m.name == view.method);
                    if let Some(first) = view.spec.methods.first().filter(|_| !shown) {
                        (view.method, view.nth) = (first.name.clone(), 0);
                    }
                    settle(view);
                }
            }
            Command::Ask {
                question:
                    Question::Experiment { question: labs::Question::Interventions(Asked::Point(point)), .. },
                ..
            } => follow_point(view_mut(state), point),
            _ => {}
        }
    }

    fn made_of(&self, state: &State, hash: &str) -> Vec<String> {
        let same = |own: &str| !own.is_empty() && hash.starts_with(own);
        let data = results(state).data.iter().filter(|d| same(&d.value.data_hash));
        data.map(|d| {
            let v = &d.value;
            format!(
                "in the run {}: oracle {} of {}, intervention {}, test {}",
                d.model, v.n_oracle.1, v.n_oracle.0, v.n_intervention, v.n_test
            )
        })
        .collect()
    }

    fn on_event(&self, state: &mut State, event: &Event) -> Vec<Effect> {
        let Event::Finished { generation, outcome: Outcome::Done, .. } = event else { return Vec::new() };
        let mine = run(state).is_some_and(|job| job.generation == *generation);
        // Either the question came before the probes that answer it, or it was answered by the first ones and on few examples, or the
        // marker has moved to the best strength by itself.
        let untouched = !view(state).markers.contains_key(&view(state).method);
        let early = readout(state).is_some_and(|r| !r.point.is_final);
        if mine && (awaiting_point(state) || early || untouched && optimum(state).is_some()) {
            ask_point(state)
        } else {
            Vec::new()
        }
    }
}

fn follow_point(view: &mut View, point: &PointQuestion) {
    view.model = point.model.clone();
    view.method = point.method.clone();
    let mut settings = view.spec.methods.iter().filter(|m| m.name == point.method);
    view.nth = settings.position(|m| m.key() == point.key()).unwrap_or(0);
    view.markers.insert(point.method.clone(), point.value);
    view.example = point.example;
}

/// The lines in the pane of the curves: what the model does, if that is wanted, or the oracle's view.
fn lines(state: &State) -> Option<&Figure> {
    view(state).behaviour.as_ref().or(view(state).curves.as_ref())
}

fn drag_marker(state: &mut State, area: Rect, x: u16) -> Vec<Effect> {
    let figure = lines(state);
    let value = figure.and_then(|figure| chart::value_at(figure, curves::chart_area(inside(area), state), x));
    let stop = value.and_then(|value| nearest_stop(state, value));
    let row = frame_setup::row(state, setup::STRENGTH).zip(stop);
    row.map_or(Vec::new(), |(row, stop)| frame_setup::set(state, &row, Value::Number(stop)))
}

/// Opens the picker of methods; also what `space` does on the row of the method.
fn open_picker(state: &mut State) {
    let at = view(state).catalog.methods.iter().position(|m| m.id == view(state).method);
    popups::pick(state, &picker::METHODS, at.unwrap_or(0));
}

//! The screen of the interventions lab: methods, figures of the method under the cursor, an example.
//!
//! [`measured`] selects values from the board; `ask_point` sends questions to the engine.

pub mod catalog;
mod copying;
mod curves;
mod example;
mod map;
pub mod measured;
mod methods;
mod origin;
mod pareto;
mod picker;
mod probes;
mod setup;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::Rect;

use self::catalog::Catalog;
use self::measured::{awaiting_point, marker, marker_stops, method_spec, optimum, readout, results, run_models, scale};
use crate::action::{Effect, Mouse};
use crate::commands::{Context, Entry, always, live, rows};
use crate::layout::{Layout, inside};
use crate::panes::table::Table;
use crate::popups;
use crate::reduce::job;
use crate::screen::{Origin, Pane, Screen, ScreenId};
use crate::setup as frame_setup;
use crate::state::{Drag, FIGURES, Start, State};
use crate::widgets::chart::Chart;
use engine::board::Job;
use engine::message::{Command, Event, Outcome, Question};
use figure::{Figure, Scale};
use labs::interventions::Spec;
use labs::interventions::oracle::OracleKind;
use labs::interventions::question::{PointQuestion, Question as Asked};
use labs::setting::Value;
use labs::{self, Answer, LabId};

pub const ID: ScreenId = ScreenId("interventions");
pub const METHODS: Pane = Pane("methods");
pub const CURVES: Pane = Pane("scores");
/// C against S for all methods.
pub const PARETO: Pane = Pane("trade-off");
pub const BEHAVIOUR: Pane = Pane("the model itself");
/// Distance of edited states from real ones.
pub const DISTANCE: Pane = Pane("distance");
/// Scores by edited layer and oracle layer: R, C, S.
pub const MAPS: [Pane; 3] = [Pane("layers R"), Pane("layers C"), Pane("layers S")];
pub const PROBES: Pane = Pane("probes");
pub const EXAMPLE: Pane = Pane("example");

static SLOTS: &[&[Pane]] = &[
    &[frame_setup::PANE],
    &[METHODS],
    &[CURVES, PARETO, BEHAVIOUR, DISTANCE, MAPS[0], MAPS[1], MAPS[2], PROBES],
    &[EXAMPLE],
];

#[derive(Debug, Clone)]
pub struct View {
    /// The experiment set up by the user.
    pub spec: Spec,
    pub catalog: Catalog,
    pub method: String,
    /// Index among the method's sets of options, if the spec runs the method with several.
    pub nth: usize,
    /// True if the user chose the method; otherwise the best one is drawn once a run has ended.
    pub picked: bool,
    /// Method, index and `picked` before the list was filtered.
    pub(crate) before_filter: Option<(String, usize, bool)>,
    pub model: String,
    /// Oracle whose scores are drawn.
    pub oracle: OracleKind,
    pub(crate) markers: BTreeMap<String, f64>,
    pub example: usize,
    /// Horizontal scale, if the user overrides the method's.
    pub scale: Option<Scale>,
    /// Figure of the scores; `None` before the first point.
    pub curves: Option<Figure>,
    /// Figure of model behaviour; `None` if another figure is drawn.
    pub behaviour: Option<Figure>,
    /// Figure of distances from real states; `None` if another figure is drawn.
    pub distance: Option<Figure>,
    /// Row and column of the cursor on the map, from 0.
    pub cell: (usize, usize),
    /// Figure of the map; `None` if the scores are drawn.
    pub map: Option<Figure>,
    /// Figure of the trade-off; `None` before the first point.
    pub pareto: Option<Figure>,
    /// True if the front has a knee, and its description from the longest form to the shortest; `None` before the first point.
    pub front: Option<(bool, Vec<String>)>,
    /// The inputs of `curves`, `pareto` and `front`.
    pub(crate) derived_from: Option<measured::Inputs>,
}

impl View {
    pub fn new(start: &Start) -> Self {
        #[allow(unreachable_patterns, reason = "with only one lab, the last arm is unreachable")]
        let spec = match &start.spec {
            labs::Spec::Interventions(spec) => (**spec).clone(),
            _ => Spec::shipped(),
        };
        let last = spec.methods.last().map_or(String::new(), |m| m.name.clone());
        // The paper's main method is drawn first if it is run.
        let method = spec.methods.iter().find(|m| m.name == "pgd").map_or(last, |m| m.name.clone());
        Self {
            catalog: Catalog::registered(),
            method,
            nth: 0,
            picked: false,
            before_filter: None,
            model: spec.models.first().cloned().unwrap_or_default(),
            oracle: spec.probe.oracles.first().copied().unwrap_or(OracleKind::Mlp),
            markers: BTreeMap::new(),
            example: 0,
            scale: None,
            curves: None,
            behaviour: None,
            distance: None,
            cell: (0, 0),
            map: None,
            pareto: None,
            front: None,
            derived_from: None,
            spec,
        }
    }
}

pub struct Interventions;

pub static SCREEN: Interventions = Interventions;

static TAB: &[Entry] = rows! { Context::Global;
    "lab-interventions", "interventions lab",
        "Shows the interventions lab.",
        ["2", "alt-2"], None, always => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "next-method", "next method", "Draws the next method of this run, down the list.",
        ["m"], Some(("method", 11)), always => |s| methods::turn(s, 1);
    "previous-method", "previous method", "Draws the previous method of this run, up the list.",
        ["M"], None, always => |s| methods::turn(s, -1);
    "next-model", "next model", "Draws the next model of the run.",
        ["v"], Some(("model", 12)), |s| run_models(s).len() > 1 => |s| methods::turn_model(s, true);
    "previous-model", "previous model", "Draws the previous model of the run.",
        ["V"], None, |s| run_models(s).len() > 1 => |s| methods::turn_model(s, false);
    "next-example", "next example", "Shows the next example.",
        ["n"], Some(("example", 13)), live => |s| example::step(s, true);
    "previous-example", "previous example", "Shows the previous example.",
        ["N"], None, live => |s| example::step(s, false);
};

static MENU: &[Entry] = rows! { Context::Menu(ID);
    "best", "best strength", "Moves the marker to the strength with the highest reliability.",
        ["b"], None, |s| optimum(s).is_some() => best;
    "oracle", "other oracle", "Shows the scores of the next oracle: MLP or linear.",
        ["o"], None, always => setup::other_oracle;
    "methods", "pick methods", "Opens the list of all methods, to choose which one is drawn and which ones run.",
        ["m"], None, always => picker::open;
    "axis", "axis scale", "Switches the horizontal axis between linear and logarithmic.",
        ["x"], None, always => switch_axis;
    "quick-run", "quick run", "A first look with wider intervals: AlterRep and INLP, at most 3 training runs.",
        ["r"], None, live => setup::quick_run;
    "experiments", "experiment of the paper", "Sets up the complete experiment of Canby et al. (2024).",
        ["e"], None, live => |s| popups::pick(s, &picker::EXPERIMENTS, 0);
};

fn view(state: &State) -> &View {
    &state.screens.interventions
}

fn view_mut(state: &mut State) -> &mut View {
    &mut state.screens.interventions
}

fn run(state: &State) -> Option<&Job> {
    state.board.run_of(LabId::Interventions).map(|run| &run.job)
}

pub fn ran(state: &State) -> Option<&Spec> {
    run(state).and_then(|job| own(&job.spec))
}

#[allow(unreachable_patterns, reason = "with only one lab, the last arm is unreachable")]
fn own(spec: &labs::Spec) -> Option<&Spec> {
    match spec {
        labs::Spec::Interventions(spec) => Some(spec),
        _ => None,
    }
}

/// Requests the point at the marker; answers to older questions are ignored. A method outside the run is not requested, because fitting it
/// would take as long as a run.
fn ask_point(state: &mut State) -> Vec<Effect> {
    let failed = |job: &&Job| matches!(job.outcome, Some(Outcome::Failed(_)));
    let Some(job) = run(state).filter(|job| !failed(job)) else { return Vec::new() };
    let (generation, view) = (job.generation, view(state));
    if state.example_of(LabId::Interventions).is_some() || !methods::is_run(state, &view.method) {
        return Vec::new();
    }
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

fn switch_axis(state: &mut State) -> Vec<Effect> {
    view_mut(state).scale = Some(if scale(state) == Scale::Log { Scale::Linear } else { Scale::Log });
    Vec::new()
}

/// Keeps the view's model, method and oracle among those in the setup.
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

/// The measured strength or stop of the grid that is nearest to a value on the axis.
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

    fn slots(&self) -> &'static [&'static [Pane]] {
        SLOTS
    }

    fn offers(&self, state: &State, pane: Pane) -> bool {
        !MAPS.contains(&pane) || map::wanted(state)
    }

    fn first(&self) -> Pane {
        METHODS
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            METHODS => {
                let cursor = methods::cursor(state, METHODS);
                methods::table(state).draw(frame, area, state, (METHODS, "Methods"), cursor);
            }
            PARETO => pareto::draw(frame, area, state),
            EXAMPLE => example::draw(frame, area, state),
            PROBES => probes::draw(frame, area, state),
            pane if MAPS.contains(&pane) => map::draw(frame, area, state, pane),
            pane => curves::draw(frame, area, state, pane),
        }
    }

    fn about(&self, state: &State, pane: Pane) -> String {
        methods::about(state, pane)
    }

    fn answer(&self, state: &State) -> Answer {
        let Some(run) = state.shown_run(LabId::Interventions) else { return Answer::default() };
        let spec = own(&run.job.spec).map(|spec| spec.judged_by(view(state).oracle).into());
        labs::by_id(LabId::Interventions).answer(&run.results, &spec.unwrap_or_else(|| run.job.spec.clone()))
    }

    fn table(&self, state: &State, pane: Pane) -> Option<Rc<Table>> {
        (pane == METHODS).then(|| methods::table(state))
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
        if pane == METHODS {
            return methods::travel(state, pane, by);
        }
        if MAPS.contains(&pane) {
            map::step(state, by, 0);
            return Vec::new();
        }
        let len = if pane == PROBES { results(state).probes.len() } else { 0 };
        state.place_mut(ID).travel(pane, by, len);
        Vec::new()
    }

    fn open(&self, state: &mut State, pane: Pane) -> Option<Vec<Effect>> {
        let to = match pane {
            // The visible figure, if it shows the method under the cursor.
            METHODS => match state.place(ID).shown(SLOTS[FIGURES]) {
                PROBES => CURVES,
                figure => figure,
            },
            EXAMPLE => return Some(popups::show(state, &crate::popups::Provenance)),
            _ => EXAMPLE,
        };
        state.focus_on(to);
        Some(Vec::new())
    }

    fn sideways(&self, state: &mut State, pane: Pane, by: i64) -> Option<Vec<Effect>> {
        MAPS.contains(&pane).then(|| {
            map::step(state, 0, by);
            Vec::new()
        })
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        match pane {
            METHODS => {
                let cursor = methods::cursor(state, METHODS);
                let hit = methods::table(state).at(state, METHODS, area, cursor, mouse.y);
                hit.map_or(Vec::new(), |at| methods::draw_nth(state, METHODS, at))
            }
            CURVES | BEHAVIOUR => {
                state.view.drag = Some(Drag::Pane(pane));
                drag_marker(state, pane, area, mouse.x)
            }
            pane if MAPS.contains(&pane) => {
                map::press(state, area, mouse);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn drag(&self, state: &mut State, pane: Pane, layout: &Layout, mouse: Mouse) -> Vec<Effect> {
        layout.pane(pane).map_or(Vec::new(), |area| drag_marker(state, pane, area, mouse.x))
    }

    fn figure<'a>(&self, state: &'a State) -> Option<&'a Figure> {
        lines(state, state.figure_in_sight(ID))
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
        // The answer, the list and the figures use the same oracle, one of the shown run's oracles.
        let judges =
            state.shown_run(LabId::Interventions).and_then(|run| own(&run.job.spec)).map(|spec| &spec.probe.oracles);
        let judge = judges.filter(|all| !all.contains(&view(state).oracle)).and_then(|all| all.first().copied());
        view_mut(state).oracle = judge.unwrap_or(view(state).oracle);
        methods::draw_best(state);
        methods::draw_visible(state);
        let shown = state.place(ID).shown(SLOTS[FIGURES]);
        let map = map::figure(state, shown);
        let behaviour = (shown == BEHAVIOUR).then(|| measured::behaviour_figure(state)).flatten();
        let distance = (shown == DISTANCE).then(|| measured::distance_figure(state)).flatten();
        let view = view_mut(state);
        (view.map, view.behaviour, view.distance) = (map, behaviour, distance);
        measured::derive_figures(state);
    }

    fn follow(&self, state: &mut State, command: &Command) {
        match command {
            Command::Run { spec, .. } => {
                if let Some(spec) = own(spec) {
                    let view = view_mut(state);
                    view.spec = spec.clone();
                    // If the recorded spec does not run the shown method, its chart would be empty.
                    let shown = view.spec.methods.iter().any(|m| m.name == view.method);
                    if let Some(first) = view.spec.methods.first().filter(|_| !shown) {
                        (view.method, view.nth) = (first.name.clone(), 0);
                    }
                    settle(view);
                }
            }
            Command::Ask {
                question: Question::Experiment { question: labs::Question::Interventions(Asked::Point(point)), .. },
                ..
            } => setup::follow_point(state, point),
            _ => {}
        }
    }

    fn made_of(&self, state: &State, hash: &str) -> Vec<String> {
        let same = |own: &str| !own.is_empty() && hash.starts_with(own);
        let found = state.board.results::<labs::interventions::results::Results>();
        let data = found.data.iter().filter(|d| same(&d.value.data_hash));
        data.map(|d| {
            let v = &d.value;
            format!(
                "run of {}: {} of {} oracle training examples, {} for the intervention, {} for the test",
                d.model, v.n_oracle.1, v.n_oracle.0, v.n_intervention, v.n_test
            )
        })
        .collect()
    }

    fn on_event(&self, state: &mut State, event: &Event) -> Vec<Effect> {
        let Event::Finished { generation, outcome: Outcome::Done, .. } = event else { return Vec::new() };
        let mine = run(state).is_some_and(|job| job.generation == *generation);
        methods::draw_best(state);
        // Requests the point again if it was requested before its probes were trained, if early probes answered on few examples, or if the
        // marker has since moved to the best strength.
        let untouched = !view(state).markers.contains_key(&view(state).method);
        let early = readout(state).is_some_and(|r| !r.point.is_final);
        if mine && (awaiting_point(state) || early || untouched && optimum(state).is_some()) {
            ask_point(state)
        } else {
            Vec::new()
        }
    }
}

fn lines(state: &State, pane: Pane) -> Option<&Figure> {
    let view = view(state);
    match pane {
        PARETO => view.pareto.as_ref(),
        BEHAVIOUR => view.behaviour.as_ref(),
        DISTANCE => view.distance.as_ref(),
        pane if MAPS.contains(&pane) => view.map.as_ref(),
        CURVES => view.curves.as_ref(),
        _ => None,
    }
}

fn drag_marker(state: &mut State, pane: Pane, area: Rect, x: u16) -> Vec<Effect> {
    let figure = lines(state, pane);
    let value =
        figure.and_then(|figure| Chart::new(figure, state).value_at(curves::chart_area(inside(area), state, pane), x));
    let stop = value.and_then(|value| nearest_stop(state, value));
    let row = frame_setup::row(state, setup::STRENGTH).zip(stop);
    row.map_or(Vec::new(), |(row, stop)| frame_setup::set(state, &row, Value::Number(stop)))
}

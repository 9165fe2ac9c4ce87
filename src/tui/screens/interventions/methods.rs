//! The list of the run's methods, with scores at their best strengths; the method under the cursor is drawn.

use std::rc::Rc;

use super::measured::{method, results, run_models, without};
use super::{
    BEHAVIOUR, CURVES, DISTANCE, EXAMPLE, ID, METHODS, PARETO, PROBES, ask_point, lines, ran, setup, view, view_mut,
};
use crate::action::Effect;
use crate::panes::table::{Row, Table};
use crate::screen::Pane;
use crate::state::{State, moved};
use base::numbers::{score, short};
use base::text::printable;
use figure::{Figure, Layer};
use labs::LabId;
use labs::interventions::Goal;
use labs::interventions::answer::ranked;
use labs::interventions::banded::is_few;
use labs::interventions::distance::DistanceFinding;
use labs::interventions::finding::{OptimumFinding, ReliabilityFinding};
use labs::interventions::key::MethodKey;
use labs::interventions::method::Method;
use labs::interventions::registry::find;

const LEGEND: &[&str] = &[
    "C completeness: the edit changes what it should. S selectivity: the property to keep is unchanged. R reliability: both (harmonic mean), on held-out \
     examples. interval: the interval of R. strength: the one with the best R. Compare R only among methods with the same aim.",
    "C: the target changes; S: the kept property stays; R: both, held out; strength: the best. Compare R within an aim.",
    "C: target changes; S: kept property stays; R: both, held out",
];

/// Legend for two training runs, which give no interval.
const LEGEND_OF_TWO: &[&str] = &[
    "C: the target changes; S: the kept property stays; R: both, held out; strength: the best; each run: R of each training run. An interval needs 3 of them. \
     Compare R only among methods with the same aim.",
    "C: the target changes; S: the kept property stays; R: both; each run: R of each training run (an interval needs 3)",
    "C: target changes; S: kept property stays; R: both",
];

/// Legend for a run without any best strength.
const LEGEND_OF_NONE: &[&str] = &[
    "C: the target changes; S: the kept property stays; R: both (harmonic mean). Scores are on all examples, at the default strength.",
    "C: target changes; S: kept property stays; R: both, on all examples",
];

/// Methods in the setup, once for each set of options. The drawn method is added if it is missing, because the cursor is on it.
pub(crate) fn listed(state: &State) -> Vec<(String, usize)> {
    let mut out: Vec<(String, usize)> = Vec::new();
    for method in &view(state).spec.methods {
        let nth = out.iter().filter(|(name, _)| *name == method.name).count();
        out.push((method.name.clone(), nth));
    }
    let drawn = &view(state).method;
    if !out.iter().any(|(name, _)| name == drawn) && !drawn.is_empty() {
        out.push((drawn.clone(), 0));
    }
    out
}

fn runs(state: &State, name: &str) -> bool {
    view(state).spec.methods.iter().any(|m| m.name == name)
}

fn key(state: &State, (name, nth): &(String, usize)) -> MethodKey {
    let mut all = view(state).spec.methods.iter().filter(|m| m.name == *name);
    all.nth(*nth).map_or_else(|| MethodKey::named(name), |m| m.key())
}

/// Table of R, C, S, the aim and the best strength, with the share of changed model predictions and the distance at that strength. Without
/// a best strength the row is at the default one, and S and R are marked because they do not count.
pub(crate) fn table(state: &State) -> Rc<Table> {
    state.frame.once("list", || made(state))
}

fn aim(method: Option<&Method>) -> &'static str {
    match method.map(|method| (method.is_control, method.goal)) {
        Some((true, _)) => "control",
        Some((_, Goal::Nullifying)) => "remove",
        _ => "set",
    }
}

fn made(state: &State) -> Table {
    let (found, view) = (results(state), view(state));
    let mine = || found.optima.iter().filter(|o| o.model == view.model && o.value.oracle == view.oracle);
    let row = |entry: &(String, usize)| {
        let key = key(state, entry);
        let best = found.optimum(&view.model, &key, view.oracle).map(|o| &o.value);
        let none = || ("–".to_owned(), None);
        let point = found.at_default(&view.model, &key, view.oracle).map(|p| &p.value);
        let of = |value: fn(&OptimumFinding) -> f64, other: fn(&ReliabilityFinding) -> f64, counts: bool| match (
            best, point,
        ) {
            (Some(o), _) => (score(value(o)), Some(value(o))),
            (None, Some(p)) if other(p).is_nan() => none(),
            (None, Some(p)) if counts => (score(other(p)), Some(other(p))),
            // Unrated rows come last, unless no row is rated.
            (None, Some(p)) => (format!("{}!", score(other(p))), mine().next().is_none().then(|| other(p))),
            (None, None) => none(),
        };
        let half =
            best.map_or_else(none, |o| (o.reliability.spread(o.how.replicates), Some(o.reliability.half_width())));
        let strength = best.map(|o| o.value).or(point.map(|p| p.value));
        // Methods have different units of strength.
        let entry_of = view.catalog.method(&entry.0);
        let symbol = entry_of.map(|m| m.parameter.symbol.as_str()).filter(|symbol| *symbol != "-");
        let symbol = symbol.map_or(String::new(), |symbol| format!("{} ", printable(symbol)));
        let at = strength.map_or_else(none, |value| (format!("{symbol}{}", short(value)), Some(value)));
        let away = strength.and_then(|value| {
            let mine = found.distances.iter().filter(|d| d.model == view.model && d.value.method_key() == key);
            let near = |d: &&labs::Tagged<DistanceFinding>| (d.value.value - value).abs() < 1e-9;
            mine.filter(near).find_map(|d| d.value.relative().first().map(|(_, e)| e.mean))
        });
        let flips = strength.and_then(|value| {
            let mut mine = found.behaviour.iter().filter(|b| b.model == view.model && b.value.method_key() == key);
            mine.find(|b| b.value.value == value).map(|b| b.value.flip_rate.mean)
        });
        let flips = flips.map_or_else(none, |share| (format!("{:.1}", 100.0 * share), Some(share)));
        let away = away.map_or_else(none, |d| (format!("{d:.1}"), Some(d)));
        let registered = find(&entry.0);
        let not_run = if runs(state, &entry.0) { "" } else { " (not run)" };
        let title = printable(&setup::title(state, &entry.0, entry.1)).into_owned();
        // Controls are grey.
        let title = format!("{}{not_run}", title.strip_suffix(" (control)").unwrap_or(&title));
        Row {
            cells: vec![
                (title, None),
                of(|o| o.reliability.mean, |p| p.reliability.mean, false),
                of(|o| o.completeness.mean, |p| p.completeness.mean, true),
                of(|o| o.selectivity.mean, |p| p.selectivity.mean, false),
                (aim(registered).to_owned(), None),
                half,
                at,
                flips,
                away,
            ],
            last: registered.filter(|method| method.is_control).map(|_| "controls"),
        }
    };
    let few = mine().any(|o| is_few(o.value.how.replicates));
    let beside = if few { "each run" } else { "interval" };
    let mut marked = found.without.iter().filter(|w| w.model == view.model && w.value.oracle == view.oracle);
    // If no method has a best strength, the note gives the reason and the setting to change.
    let note = match mine().next() {
        None => missing(state),
        Some(_) => marked.next().map(|_| UNCOUNTED.into()),
    };
    Table {
        columns: vec!["method", "R", "C", "S", "aim", beside, "strength", "flips %", "dist. ×"],
        rows: listed(state).iter().map(row).collect(),
        sort: (1, true),
        // With this width, the interval fits on a screen of 120 columns.
        first: Some(8),
        note: note.unwrap_or_default(),
        legend: legend(few, mine().next().is_none() && !found.without.is_empty()),
    }
}

/// `few`: too few training runs for intervals. `none`: no method has a best strength.
fn legend(few: bool, none: bool) -> &'static [&'static str] {
    match few {
        _ if none => LEGEND_OF_NONE,
        true => LEGEND_OF_TWO,
        false => LEGEND,
    }
}

/// Explains the mark of scores that do not count.
const UNCOUNTED: &str = "! no best strength, so S and R do not count; strength: the default";

/// The reason why the drawn method has no best strength; `None` if it has one.
pub(crate) fn reason(state: &State) -> Option<String> {
    let none = without(state)?;
    let so_far = if none.is_final { "" } else { " so far" };
    Some(
        printable(&format!("{}: no best strength{so_far}, {}", none.value.method_key().title(), none.value.reason))
            .into_owned(),
    )
}

/// If the run has no best strength for any method, the answer's sentences about this; otherwise the reason for the drawn method.
fn missing(state: &State) -> Option<String> {
    let run = state.shown_run(LabId::Interventions).filter(|_| results(state).optima.is_empty());
    let said = run.map(|run| labs::by_id(LabId::Interventions).answer(&run.results, &run.job.spec).says.join(" "));
    let reason = reason(state)?;
    Some(said.filter(|said| !said.is_empty()).unwrap_or(reason))
}

/// The position of the drawn method in the list.
pub(crate) fn cursor(state: &State, pane: Pane) -> usize {
    let all = listed(state);
    let order = table(state).order(state.here(), pane);
    let drawn = (view(state).method.clone(), view(state).nth);
    order.iter().position(|i| all[*i] == drawn).unwrap_or(0)
}

pub(crate) fn draw_nth(state: &mut State, pane: Pane, at: usize) -> Vec<Effect> {
    let order = table(state).order(state.here(), pane);
    let Some(entry) = order.get(at).map(|i| listed(state)[*i].clone()) else { return Vec::new() };
    let view = view(state);
    if (view.method.as_str(), view.nth) == (entry.0.as_str(), entry.1) { Vec::new() } else { draw(state, entry) }
}

/// Draws a method and requests its point if the shown run has it; otherwise explains how to add it.
pub(crate) fn draw(state: &mut State, (name, nth): (String, usize)) -> Vec<Effect> {
    let view = view_mut(state);
    (view.method, view.nth, view.picked, view.before_filter) = (name, nth, true, None);
    let view = self::view(state);
    if !is_run(state, &view.method) {
        let title = printable(&setup::title(state, &view.method, nth)).into_owned();
        let key = |name| state.keymap.short_label(name);
        let (menu, tick, run) = (format!("{} {}", key("menu"), key("methods")), key("popup-select"), key("run"));
        state.view.toast = Some(format!(
            "{title} is not in this run: {tick} in the list of {menu} adds it to the next run, {run} starts it"
        ));
    }
    ask_point(state)
}

/// True if the shown run has a method with any options or, before the first run, if the setup has it.
pub(crate) fn is_run(state: &State, name: &str) -> bool {
    ran(state).unwrap_or(&view(state).spec).methods.iter().any(|m| m.name == name)
}

/// Draws the best method once a run has ended, unless the user chose one.
pub(crate) fn draw_best(state: &mut State) {
    let ended = state.shown_run(LabId::Interventions).is_some_and(|run| run.summary.is_some());
    if view(state).picked || !ended {
        return;
    }
    let view = view(state);
    let best = ranked(results(state), &view.model, view.oracle).first().map(|best| best.value.method_key());
    if let Some((name, nth)) = listed(state).into_iter().find(|entry| best.as_ref() == Some(&key(state, entry))) {
        let view = view_mut(state);
        (view.method, view.nth) = (name, nth);
    }
}

/// Draws the first method that matches a filter if the drawn one does not. Without the filter, the earlier method is drawn again, unless
/// another was chosen meanwhile.
pub(crate) fn draw_visible(state: &mut State) {
    let filtered = state.place(ID).listed.get(&METHODS).is_some_and(|listed| !listed.filter.is_empty());
    if !filtered && let Some((method, nth, picked)) = view_mut(state).before_filter.take() {
        let view = view_mut(state);
        (view.method, view.nth, view.picked) = (method, nth, picked);
    }
    let (all, order) = (listed(state), table(state).order(state.place(ID), METHODS));
    let drawn = (view(state).method.clone(), view(state).nth);
    if let Some(first) = order.first()
        && order.iter().all(|i| all[*i] != drawn)
    {
        let view = view_mut(state);
        let drawn = (std::mem::take(&mut view.method), view.nth, view.picked);
        if filtered {
            view.before_filter.get_or_insert(drawn);
        }
        ((view.method, view.nth), view.picked) = (all[*first].clone(), true);
    }
}

/// Draws the method `by` rows further down the list.
pub(crate) fn travel(state: &mut State, pane: Pane, by: i64) -> Vec<Effect> {
    let (all, order) = (listed(state), table(state).order(state.here(), pane));
    let drawn = (view(state).method.clone(), view(state).nth);
    let at = order.iter().position(|i| all[*i] == drawn).unwrap_or(0);
    match order.get(moved(at, by, order.len())).map(|i| all[*i].clone()) {
        Some(entry) if entry != drawn => draw(state, entry),
        _ => Vec::new(),
    }
}

pub(crate) fn turn(state: &mut State, by: i64) -> Vec<Effect> {
    let all = listed(state);
    let order = table(state).order(state.here(), METHODS);
    let of_run: Vec<_> = order.into_iter().map(|i| all[i].clone()).filter(|entry| is_run(state, &entry.0)).collect();
    let view = view(state);
    let drawn = |entry: &(String, usize)| *entry == (view.method.clone(), view.nth);
    let next = match of_run.iter().position(drawn) {
        Some(at) => (at as i64 + by).rem_euclid(of_run.len() as i64) as usize,
        None => 0,
    };
    match of_run.get(next).cloned() {
        Some(entry) if !drawn(&entry) => draw(state, entry),
        _ => {
            state.view.toast = Some("no other method in the list belongs to this run".into());
            Vec::new()
        }
    }
}

pub(crate) fn turn_model(state: &mut State, on: bool) -> Vec<Effect> {
    let models = run_models(state);
    let len = models.len().max(1);
    let at = models.iter().position(|m| *m == view(state).model).unwrap_or(0);
    if let Some(model) = models.get((at + if on { 1 } else { len - 1 }) % len).cloned() {
        view_mut(state).model = model;
    }
    ask_point(state)
}

const HATCHED: &str = " Hatched: R with other probe settings that validate equally well; each has its own oracles, so the range may lie off the line.";

/// True if the drawn curve has a range over other probe settings.
fn is_hatched(state: &State) -> bool {
    let layers = lines(state, CURVES).map_or(&[][..], |figure| &figure.layers);
    layers.iter().any(|layer| matches!(layer, Layer::Line(line) if line.role.dash.is_none()))
}

/// Explains the intervals of a figure as its legend on paper does; for two training runs, explains the values shown instead.
pub(crate) fn intervals(figure: Option<&Figure>) -> Option<String> {
    let layers = &figure?.layers;
    let find = |layer: &Layer| if let Layer::Intervals(found) = layer { Some(found.clone()) } else { None };
    let found = layers.iter().find_map(find)?;
    let has_pairs = |layer: &Layer| match layer {
        Layer::Line(line) => line.points.iter().any(|p| p.pair.is_some()),
        Layer::Points(points) => points.points.iter().any(|p| p.pairs.is_some()),
        _ => false,
    };
    Some(if layers.iter().any(has_pairs) { found.pair } else { found.wide })
}

pub(crate) fn about(state: &State, pane: Pane) -> String {
    match pane {
        METHODS => match (reason(state), method(state)) {
            (Some(reason), _) => format!("! {reason}. At the default strength, S and R do not count."),
            (None, Some(m)) => {
                format!(
                    "C: target changes; S: kept property stays; R: both, on held-out examples. {}: {}",
                    m.title, m.doc
                )
            }
            (None, None) => String::new(),
        },
        CURVES => {
            let hatched = if is_hatched(state) { HATCHED } else { "" };
            match intervals(lines(state, pane)) {
                Some(over) => format!(
                    "C, S and R by strength, on all examples; the answer and the list choose and score on different halves. Brackets and band: {over}.{hatched}"
                ),
                None => format!("Completeness C, selectivity S and their harmonic mean R by strength.{hatched}"),
            }
        }
        PARETO => {
            let over = intervals(lines(state, pane)).map_or(String::new(), |over| format!(" Intervals: {over}."));
            format!("Every strength of every method: up is more selective, right is more complete.{over}")
        }
        BEHAVIOUR => "Behaviour of the model itself: how often the edit changes the verb form that it prefers.".into(),
        DISTANCE => "Distance of edited states from real ones; 1 is the distance of unedited ones.".into(),
        PROBES => "Accuracy and calibration of the probes: the oracles and the attacked probes.".into(),
        EXAMPLE => "One sentence before and after the edit: the output of the oracle, then that of the model.".into(),
        _ => "The score by edited layer (down) and oracle layer (across).".into(),
    }
}

//! Completeness, selectivity and reliability by strength, with the marker and the numbers at the marker.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::measured::{
    awaiting_point, behaviour as measured_behaviour, best, closest_rival, distances, marker, method,
    readout as measured, results, same, without,
};
use super::methods::intervals;
use super::{BEHAVIOUR, CURVES, DISTANCE, ran, view};
use crate::layout::inside;
use crate::panes::{message, nothing_yet, pane_block};
use crate::screen::Pane;
use crate::state::State;
use crate::theme::Role;
use crate::widgets::chart::Chart;
use base::numbers::{decimals, percent, probability, score, short};
use base::text::{fit, last_part, printable, width, wrapped_clauses};
use figure::layers::{Count, grouped};
use labs::interval::beside;
use labs::interventions::answer::{oracle_name, strengths_of_halves};
use labs::interventions::banded::{Banded, ENOUGH_TRAININGS, is_few};
use labs::interventions::figures;
use labs::interventions::finding::{ProbeRole, ReliabilityFinding};
use stats::Estimate;

/// Name of the drawn method, with its options if the spec runs it several times.
fn title(state: &State) -> String {
    super::setup::title(state, &view(state).method, view(state).nth)
}

/// Number of lines below the chart if the inner pane has `rows` rows. Older recordings have no distances.
fn numbers(rows: u16, with_distances: bool, with_second: bool) -> u16 {
    match rows {
        0..6 => 0,
        8..12 if with_second => 2,
        6..12 => 1,
        12..15 => 2,
        15..18 => 3,
        18 | 19 if !with_distances => 4,
        _ => 5,
    }
}

/// The area of the chart inside the pane. Figures other than the scores have their own numbers and a note on intervals below.
pub(crate) fn chart_area(inner: Rect, state: &State, pane: Pane) -> Rect {
    let rows = numbers(inner.height, distances(state).is_some(), without(state).is_some() || best(state).is_some());
    Rect { height: inner.height - if pane == CURVES { rows } else { rows.min(2) }, ..inner }
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, pane: Pane) {
    let drawn = title(state);
    let symbol = method(state).map_or("strength", |m| m.parameter.symbol.as_str());
    let view = view(state);
    let room = usize::from(area.width.saturating_sub(6));
    let model = last_part(&view.model);
    let title = match pane {
        BEHAVIOUR => format!("{drawn}: behaviour of the model itself by strength {symbol} · {model}"),
        DISTANCE => format!("{drawn}: distance from real states by strength {symbol} · {model}"),
        _ => title_of_scores(state, &drawn, room),
    };
    let title = wrapped_clauses(&title, room, 1).concat();
    frame.render_widget(pane_block(state, pane, &title), area);
    let inner = inside(area);
    let Some(figure) = super::lines(state, pane) else { return nothing(frame, inner, state) };
    let chart = Chart::new(figure, state);
    let area = chart_area(inner, state, pane);
    frame.render_widget(chart, area);
    let below = Rect { y: area.bottom(), height: inner.bottom() - area.bottom(), ..inner };
    let room = below.width.into();
    let mut lines = match pane {
        BEHAVIOUR => vec![behaviour(state, room), covered(state, pane, room)],
        DISTANCE => vec![distance(state, room), covered(state, pane, room)],
        _ => vec![
            held_out(state, room),
            readout(state, room),
            rests_on(state, room),
            verdict(state, room),
            behaviour(state, room),
            distance(state, room),
        ],
    };
    // The reason why R is marked comes before the line on how it was measured.
    if pane == CURVES && without(state).is_some() {
        lines.swap(2, 3);
    }
    // Away from the best strength, the scores at the marker come first.
    if pane == CURVES && best(state).is_some_and(|best| !same(best.value.value, marker(state))) {
        lines.swap(0, 1);
    }
    for (row, line) in below.rows().zip(lines.into_iter().flatten()) {
        frame.render_widget(line, row);
    }
}

/// The longest title of the scores that fits. All forms say which examples are scored, because the list and the answer use others.
fn title_of_scores(state: &State, drawn: &str, room: usize) -> String {
    let (view, oracle) = (view(state), oracle_name(view(state).oracle));
    let (symbol, model) = (method(state).map_or("strength", |m| m.parameter.symbol.as_str()), last_part(&view.model));
    let on = match measured(state).map(|readout| readout.point) {
        Some(point) if point.is_final => format!("on all {} examples, not held out", grouped(point.value.n_c)),
        Some(point) => format!("on the first {} examples, not held out", grouped(point.value.n_c)),
        None => "on all examples".to_owned(),
    };
    let error = calibration_error(state).map_or(String::new(), |error| format!(" (ECE {})", score(error)));
    let forms = [
        format!("{drawn}: scores by strength {symbol} {on} · {model}, judged by the {oracle}{error}"),
        format!("{drawn}: scores by {symbol} {on} · {model}, {oracle}{error}"),
        format!("{drawn} {on} · {model}, {oracle}{error}"),
        format!("{drawn} {on} · {model}, {oracle}"),
    ];
    forms.into_iter().find(|form| width(form) <= room).unwrap_or_else(|| format!("{drawn} {on}"))
}

/// Sources of uncertainty that a figure's intervals cover. The training runs behind the scores differ from those behind the model's own
/// behaviour.
fn covered(state: &State, pane: Pane, room: usize) -> Option<Line<'static>> {
    let text = intervals(super::lines(state, pane))?;
    let one = if text.contains("training") { "" } else { ", one training run" };
    let text = wrapped_clauses(&format!("{text}{one}"), room.saturating_sub(1), 1).concat();
    Some(Line::styled(format!(" {text}"), state.theme().style(Role::Dim)))
}

/// The largest calibration error of the drawn oracle over the properties that it reads.
fn calibration_error(state: &State) -> Option<f64> {
    let view = view(state);
    let judges = results(state)
        .probes
        .iter()
        .filter(|p| p.model == view.model && p.value.role == ProbeRole::Oracle && p.value.oracle == Some(view.oracle));
    judges.map(|p| p.value.calibration_error).max_by(f64::total_cmp)
}

/// The scores of the answer and the list, with the strengths at which they were measured, in the longest form that fits `room`.
fn held_out(state: &State, room: usize) -> Option<Line<'static>> {
    let v = &best(state)?.value;
    v.how.chosen.as_ref()?;
    let symbol = method(state).map_or(v.parameter.as_str(), |m| m.parameter.symbol.as_str());
    let symbol = printable(symbol);
    // Each half is scored at the strength that was chosen on the other one.
    let (long, brief) = match strengths_of_halves(v) {
        Some(at) => (
            format!(", mean of halves at {symbol} {at}, each chosen on the other half"),
            format!(", halves at {symbol} {at}"),
        ),
        None => (format!(", {symbol} {}, chosen on the other half", short(v.value)), String::new()),
    };
    let scores = [
        (Role::Completeness, "C", &v.completeness),
        (Role::Selectivity, "S", &v.selectivity),
        (Role::Reliability, "R", &v.reliability),
    ];
    let form = |at: &str, gap: &str, intervals: bool| {
        let theme = state.theme();
        let spans = scores.iter().map(|(role, name, b)| {
            let text = match intervals || *role == Role::Reliability {
                true => estimate(b, v.how.replicates),
                false => score(b.mean),
            };
            Span::styled(format!("{gap}{name} {text}"), theme.style(*role))
        });
        Line::from_iter(std::iter::once(Span::styled(format!(" held out{at}:"), theme.style(Role::Text))).chain(spans))
    };
    let forms = [
        form(&long, "  ", true),
        form(&long, " ", true),
        form(&brief, " ", true),
        form(&brief, " ", false),
        form("", " ", false),
    ];
    forms.into_iter().find(|line| line.width() <= room)
}

/// Scores at the marker on all examples, in the longest form that fits `room`.
fn readout(state: &State, room: usize) -> Option<Line<'static>> {
    let readout = measured(state)?;
    let (theme, p) = (state.theme(), &readout.point.value);
    let symbol = method(state).map_or(p.parameter.clone(), |m| m.parameter.symbol.clone());
    let at = format!("{} = {}", printable(&symbol), short(p.value));
    let sd = figures::deviation(results(state), &view(state).model).filter(|_| p.parameter == "epsilon");
    let sd = sd.map_or(String::new(), |sd| format!(" ({} sd)", score(p.value / sd)));
    let of = match (readout.exact, readout.point.is_final) {
        (false, _) if awaiting_point(state) => format!("nearest; {} is next", short(marker(state))),
        (false, _) => format!("nearest to {}", short(marker(state))),
        (true, false) => "refining".into(),
        (true, true) => "all examples".into(),
    };
    let doubtful = is_doubtful(state, p);
    let form = |head: String, gap: &str, intervals: bool| {
        let mut spans = vec![Span::styled(head, theme.style(Role::Marker))];
        for (role, name, b) in [
            (Role::Completeness, "C", &p.completeness),
            (Role::Selectivity, "S", &p.selectivity),
            (Role::Reliability, "R", &p.reliability),
        ] {
            // Without a mark, a value that does not count as a result would look like one that does.
            let mark = doubtful && role != Role::Completeness;
            let text = match intervals || role == Role::Reliability {
                true => estimate(b, p.beside.replicates),
                false => score(b.mean),
            };
            spans.push(Span::styled(format!("{gap}{name} {text}"), theme.style(role)));
            spans.extend(mark.then(|| Span::styled("!", theme.style(Role::Warning))));
        }
        Line::from(spans)
    };
    let forms = [
        form(format!(" {at}{sd}, {of}:"), "  ", true),
        form(format!(" {at}, {of}:"), "  ", true),
        form(format!(" {at}, {of}:"), " ", true),
        form(format!(" {at}:"), " ", true),
    ];
    let fits = |line: &Line<'_>| line.width() <= room;
    Some(forms.into_iter().find(fits).unwrap_or_else(|| form(format!(" {at}:"), " ", false)))
}

/// Formats n. C is measured on all test examples; S and therefore R are measured on those with the other property. If tokens are read,
/// counts their texts, because intervals are over texts.
fn count(p: &ReliabilityFinding) -> String {
    let ([c, s], unit) = p.beside.texts.map_or(([p.n_c, p.n_s], ""), |texts| (texts, " texts"));
    match c == s {
        true => format!("n {}{unit}", grouped(c)),
        false => format!("n {} (C), {} (S){unit}", grouped(c), grouped(s)),
    }
}

/// True if a point's scores need a mark: its method has no best strength, or the oracle does not reliably read the property to keep.
fn is_doubtful(state: &State, p: &ReliabilityFinding) -> bool {
    without(state).is_some() || p.beside.eligible == Some(false)
}

/// Describes how the numbers at the marker were measured, with notes: as much as fits, warnings first.
fn rests_on(state: &State, room: usize) -> Option<Line<'static>> {
    let p = &measured(state)?.point.value;
    let b = &p.beside;
    let trainings = match (b.replicates, b.provisional) {
        (0, _) => return None,
        (_, true) => "first probe settings; the search continues".to_owned(),
        (1, _) => "1 training run".to_owned(),
        (k, _) if is_few(k) => format!("{k} training runs; an interval needs {ENOUGH_TRAININGS}"),
        (k, _) => intervals(super::lines(state, CURVES)).unwrap_or_else(|| format!("{k} training runs")),
    };
    let ruined = b.eligible == Some(false);
    let warning = if ruined {
        format!(" ! {} is no longer readable, so no optimum is chosen here;", lost(p))
    } else {
        String::new()
    };
    let mut text = fit(&format!("{warning} {}; {trainings}", count(p)), room).into_owned();
    let beside = [
        ("S of a constant answer", b.s_floor),
        ("accuracy on the other property", b.ze_balanced_accuracy.map(|e| e.mean)),
        ("S by class", b.s_by_class.map(|s| s.mean)),
        ("C where S", b.c_on_s.map(|c| c.mean)),
    ];
    let beside = beside.into_iter().filter_map(|(name, v)| v.map(|v| format!("; {name} {}", score(v))));
    let mean_of = by_property(p, room.saturating_sub(width(&text)));
    for part in mean_of.into_iter().chain(beside) {
        if width(&text) + width(&part) > room {
            break;
        }
        text.push_str(&part);
    }
    let role = if ruined { Role::Warning } else { Role::Dim };
    Some(Line::styled(text, state.theme().style(role)))
}

/// The first property that is no longer readable, or "the other property" if only one should be preserved.
fn lost(p: &ReliabilityFinding) -> String {
    let lost = p.beside.selectivities.iter().find(|on| !on.eligible);
    lost.map_or_else(|| "the other property".into(), |on| printable(&on.property).replace('_', " "))
}

/// S by property if several properties should be preserved, in the longest form that fits `room`: with intervals and n, with intervals, or
/// plain.
fn by_property(p: &ReliabilityFinding, room: usize) -> Option<String> {
    let on = &p.beside.selectivities;
    let form = |intervals: bool, counts: bool| {
        let each = on.iter().map(|on| {
            let name = printable(&on.property).replace('_', " ");
            let half =
                if intervals { format!(" {}", on.selectivity.spread(p.beside.replicates)) } else { String::new() };
            let n = if counts { format!(" n {}", Count::from(on.n)) } else { String::new() };
            format!("{name} {}{half}{n}", score(on.selectivity.mean))
        });
        format!("; S for {}", each.collect::<Vec<_>>().join(", "))
    };
    let forms = [(true, true), (true, false), (false, false)].into_iter().map(|(i, n)| form(i, n));
    forms.filter(|_| !on.is_empty()).find(|text| width(text) <= room)
}

/// The evidence that the drawn method is more reliable than its closest rival, and the strength at which this reverses.
fn verdict(state: &State, room: usize) -> Option<Line<'static>> {
    if let Some(none) = without(state) {
        let text =
            fit(&format!(" ! no best strength, so S and R do not count: {}", printable(&none.value.reason)), room)
                .into_owned();
        return Some(Line::styled(text, state.theme().style(Role::Warning)));
    }
    let v = &closest_rival(state)?.value;
    let turns = match v.turns_with.as_slice() {
        [] => String::new(),
        list => {
            let mut names: Vec<&str> = list
                .iter()
                .map(|with| if with.starts_with("recipe") { "other probe settings" } else { with })
                .collect();
            names.dedup();
            format!("  ! reversed by {}", names.join(" and "))
        }
    };
    // A share of resamples near 1 next to a large p would seem contradictory, although both are possible with few training runs.
    let how = match v.deciding_p() {
        Some(p) => format!(", Holm p {}", probability(p)),
        None => format!(" in {} of resamples", percent(v.p_greater)),
    };
    let text = printable(&format!(" {} {} {}{how}{turns}", v.a.title(), v.verb(), v.b.title())).into_owned();
    let role = if v.turns_with.is_empty() { Role::Dim } else { Role::Warning };
    Some(Line::styled(text, state.theme().style(role)))
}

fn behaviour(state: &State, room: usize) -> Option<Line<'static>> {
    let b = measured_behaviour(state)?;
    let v = &b.value;
    let rate = 100.0 * v.flip_rate.mean;
    let flips = match v.flip_rate.values(v.replicates) {
        Some([lo, hi]) => format!("{rate:.1} % ({:.1}, {:.1})", 100.0 * lo, 100.0 * hi),
        None if is_few(v.replicates) => format!("{rate:.1} %"),
        None => format!("{rate:.1} % {}", beside(v.flip_rate.estimate(), None, |x| format!("{:.1}", 100.0 * x))),
    };
    let mut text = format!(
        " model at {}: flips {flips}, correct form {} → {}  n {}",
        short(v.value),
        score(v.correct_before.mean),
        score(v.correct_after.mean),
        b.n
    );
    if let Some(told) = &v.told {
        // The test comes before the mean ranks; a part that does not fit is omitted.
        let (before, after) = (score(told.rank_before.mean), score(told.rank_after.mean));
        let from_here = results(state).p_from(b);
        let (p, from) = from_here.map_or((told.p, ""), |p| (p.max(told.p), " from here up"));
        let more = [
            format!("  McNemar {}:{} p {}{from}", told.lost, told.won, probability(p)),
            format!("  1/rank of {} verb forms {before} → {after}", told.forms),
        ];
        for part in more.iter().filter(|_| v.replicates > 0) {
            if width(&text) + width(part) <= room {
                text.push_str(part);
            }
        }
    }
    Some(Line::styled(text, state.theme().style(Role::Dim)))
}

/// Distance of edited states from real ones at the marker, relative to unedited states. Intervals are shown if they fit; the text is
/// shortened if not.
fn distance(state: &State, room: usize) -> Option<Line<'static>> {
    let d = distances(state)?;
    // The first ratio is in words; the others, and the intervals, follow if they fit.
    let all = d.value.relative();
    let one = |(name, e): &(&'static str, Estimate), with: bool| {
        let times = |x: f64| decimals(x, 2);
        let interval = if with { format!(" {}", beside(*e, None, times)) } else { String::new() };
        format!("{name} {}×{interval}", times(e.mean))
    };
    let near = all.first().map_or(String::new(), |(_, e)| decimals(e.mean, 1));
    let form = |more: usize, with: bool| {
        let list: Vec<String> = all.iter().skip(1).take(more).map(|entry| one(entry, with)).collect();
        let list = if list.is_empty() { String::new() } else { format!("; {}", list.join(", ")) };
        format!(" edited states lie {near}× as far from real ones as unedited (n {}){list}", d.n)
    };
    let forms = [form(9, true), form(9, false), form(1, false)];
    let text = forms.into_iter().find(|form| width(form) <= room).unwrap_or_else(|| form(0, false));
    Some(Line::styled(fit(&text, room).into_owned(), state.theme().style(Role::Dim)))
}

/// The mean with its interval, or with the values of two training runs.
pub(crate) fn estimate(b: &Banded, trainings: usize) -> String {
    format!("{} {}", score(b.mean), b.spread(trainings))
}

fn nothing(frame: &mut Frame, area: Rect, state: &State) {
    let method = title(state);
    let is_in = |spec: &labs::interventions::Spec| spec.methods.iter().any(|m| m.name == view(state).method);
    if ran(state).is_none_or(is_in) {
        return nothing_yet(
            frame,
            area,
            state,
            &format!("scores of {method} under the {}", oracle_name(view(state).oracle)),
        );
    }
    let key = |id| state.keymap.label(id);
    let text = format!(
        "{method} is not in this run.\n{} {} lists all methods, {} ticks one, {} runs them",
        key("menu"),
        key("methods"),
        key("popup-select"),
        key("run")
    );
    message(frame, area, &text, state.theme().style(Role::Dim));
}

#[cfg(test)]
mod tests {
    use super::*;
    use labs::interventions::sample;

    /// Each part of S has its own n; with a single property nothing is added. The lost property is named.
    #[test]
    fn s_is_split_by_property() {
        let point = |results: &labs::interventions::Results| results.curves[0].points.last().unwrap().value.clone();
        let one = point(&sample::results());
        assert_eq!((by_property(&one, 200), lost(&one)), (None, "the other property".to_owned()));
        let mut two = point(&sample::several(sample::results()));
        let [long, middle, short] = [100, 75, 50].map(|room| by_property(&two, room).unwrap());
        assert!(long.starts_with("; S for attractor number ") && long.contains(", subject animacy "), "{long}");
        assert!(long.contains(" n 410") && long.ends_with(" n 2,400"), "{long}");
        assert!(middle.contains('[') && !middle.contains(" n "), "{middle}");
        assert!(!short.contains('[') && short.contains(", subject animacy "), "{short}");
        assert_eq!(by_property(&two, 20), None);
        two.beside.selectivities[1].eligible = false;
        assert_eq!(lost(&two), "subject animacy");
    }
}

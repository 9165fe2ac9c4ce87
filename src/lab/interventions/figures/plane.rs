//! Completeness against selectivity of all methods: their settings, the front with its knee, the best strengths.

use super::{covered, datum, judge, layer, look, provenance, say_missing, worded, written_out};
use crate::banded::{Banded, is_few};
use crate::find;
use crate::finding::ReliabilityFinding;
use crate::front::{Front, RULE, Standing};
use crate::method::Goal;
use crate::oracle::OracleKind;
use crate::results::{Curve, Results};
use base::numbers::short;
use figure::layers::{Datum, Guide, Intervals, Line, Points, Spot};
use figure::role::BLACK;
use figure::{Axis, Dash, Emphasis, Figure, Layer, Marker, Role};
use lab::{EngineInfo, Tagged};
use model::source::in_print;

/// Reliabilities whose contour lines are drawn in the plane.
const LEVELS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];

/// The settings of one model under one oracle, with their front.
pub struct Rated<'a> {
    /// All points, curve by curve.
    pub points: Vec<&'a Tagged<ReliabilityFinding>>,
    pub front: Front,
}

impl<'a> Rated<'a> {
    /// Collects the settings from results.
    pub fn of(results: &'a Results, model: &str, oracle: OracleKind) -> Self {
        let mine = results.curves.iter().filter(|c| c.key.model == model && c.key.oracle == oracle);
        let points: Vec<&Tagged<ReliabilityFinding>> = mine.flat_map(|c| &c.points).collect();
        let front = Front::of(&points.iter().map(|p| &p.value).collect::<Vec<_>>());
        Self { points, front }
    }

    /// Counts of the settings as text: `34 of 112 settings dominated, 51 not distinguishable from the front, 8 not rated`.
    pub fn counts(&self) -> String {
        let of = |standing| self.front.count(standing);
        let [dominated, all] = self.dominated();
        if of(Standing::Unread) == all {
            return format!("none of {all} settings is rated");
        }
        let mut text = format!("{dominated} of {all} settings dominated");
        for (count, what) in
            [(of(Standing::Open), "not distinguishable from the front"), (of(Standing::Unread), "not rated")]
        {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text
    }

    /// The half-widths of the rated settings' intervals, for a caption: ` (half-widths: C 0.01 to 0.31, S 0.02 to 0.46)`.
    fn widths(&self) -> String {
        let rated = self.points.iter().zip(&self.front.standings).filter(|(_, s)| **s != Standing::Unread);
        let rated: Vec<&ReliabilityFinding> = rated.map(|(p, _)| &p.value).collect();
        let range = |score: fn(&ReliabilityFinding) -> Banded| {
            let widths = rated.iter().map(|p| score(p).estimate().half_width());
            let (lo, hi) = widths.fold((f64::INFINITY, 0.0f64), |(lo, hi), w| (lo.min(w), hi.max(w)));
            format!("{lo:.2} to {hi:.2}")
        };
        match rated.is_empty() {
            true => String::new(),
            false => format!(" (half-widths: C {}, S {})", range(|p| p.completeness), range(|p| p.selectivity)),
        }
    }

    /// Numbers of dominated settings and of all settings.
    pub fn dominated(&self) -> [usize; 2] {
        [self.front.count(Standing::Dominated), self.points.len()]
    }

    /// True if the settings include both kinds of method, which define completeness differently.
    pub fn is_mixed(&self) -> bool {
        let is = |goal| self.points.iter().any(|p| find(&p.value.method).is_some_and(|m| m.goal == goal));
        is(Goal::Counterfactual) && is(Goal::Nullifying)
    }

    /// The knee as text (`PGD, epsilon 0.136`), or the reason why there is none.
    pub fn knee(&self) -> Result<String, String> {
        let knee = self.front.knee.as_ref().map_err(ToString::to_string)?;
        let p = &self.points[knee.at].value;
        Ok(format!("{}, {} {}", p.key("").method.title(), p.parameter, short(p.value)))
    }
}

const RINGS: &str = "best strength of each method, chosen on one half of the examples and scored on the other";
/// [`RULE`] as worded in captions.
const DOMINATED: &str = "another setting is better by over .01 on one axis and not worse by over .01 on the other, judged by the ends of the intervals";

/// Caption entry on the settings that can be on the front.
const ELIGIBLE: (&str, &str) = ("rated", "the oracle still reads the property to keep better than chance");

/// Completeness against selectivity of all methods for one model and oracle. Shows stars at the highest reliabilities, lines of equal
/// reliability, and the front of all settings with its knee; dominated and unrated settings are faint. `None` without points.
pub fn pareto(results: &Results, engine: Option<&EngineInfo>, model: &str, oracle: OracleKind) -> Option<Figure> {
    let mine = |c: &&Curve| c.key.model == model && c.key.oracle == oracle && !c.points.is_empty();
    let drawn: Vec<&Curve> = results.curves.iter().filter(mine).collect();
    let first = *drawn.first()?;
    let rated = Rated::of(results, model, oracle);
    let mut layers: Vec<Layer> = LEVELS.iter().map(|&r| equal_reliability(r)).collect();
    let trainings = rated.points.iter().map(|p| p.value.beside.replicates).max().unwrap_or(0);
    let mut standings = rated.front.standings.iter();
    for curve in &drawn {
        let mut point = |p: &Tagged<ReliabilityFinding>| {
            let standing = standings.next();
            let emphasis = match standing {
                Some(Standing::Front) => Emphasis::Strong,
                Some(Standing::Dominated | Standing::Unread) => Emphasis::Faint,
                Some(Standing::Open) | None => Emphasis::Normal,
            };
            // Crosses of neighbouring settings on the front would hide the marks. Two training runs give no useful interval.
            let ends = [rated.front.order.first(), rated.front.order.last()];
            let is_end = ends.into_iter().flatten().any(|&end| std::ptr::eq(rated.points[end], p));
            let has_cross = is_end && !is_few(trainings);
            let x_band = has_cross.then(|| p.value.completeness.estimate()).map(|c| (c.lo, c.hi));
            Datum { emphasis, x_band, is_unrated: standing == Some(&Standing::Unread), ..place(&p.value) }
        };
        layers.push(Layer::Line(Line {
            label: curve.key.method.title(),
            role: dashed(look(&curve.key.method.name)),
            points: curve.points.iter().map(&mut point).collect(),
        }));
    }
    layers.extend(front(&rated));
    let marks = |of: Intervals| Intervals { faint: "dominated".into(), unrated: "not rated".into(), ..of };
    let covered = first.points[0].level.map_or(Intervals::default(), |level| covered(level, trainings));
    layers.push(Layer::Intervals(marks(covered)));
    layers.extend(best(results, model, oracle));
    // Drawn after the stars, which would hide it.
    layers.extend(knee(&rated));
    let short = in_print(model);
    let axis = |label: &str| Axis::linear(label).from_to(0.0, 1.0);
    let mut provenance = provenance(results, engine, model, drawn.iter().flat_map(|c| &c.points));
    // The plane shows only the intervals of the stars, the knee and the ends of the front, and none for two training runs.
    provenance.entries.retain(|(key, _)| key != "intervals");
    if let Some(level) = first.points[0].level.filter(|_| !is_few(trainings)) {
        let over = if trainings > 1 {
            format!("examples and {trainings} training runs")
        } else {
            "examples, one training run".into()
        };
        let text = format!(
            "{} %, for the rings, the knee and the ends of the front, over {over} (paired bootstrap)",
            (level * 1e6).round() / 1e4
        );
        provenance.entries.push(("intervals".into(), text));
    }
    provenance.entries.push(("grey curves".into(), "equal reliability R, the harmonic mean of C and S".into()));
    provenance
        .entries
        .push(("front".into(), format!("{}; full marks: on the front or not distinguishable from it", rated.counts())));
    provenance.entries.push(("rule".into(), RULE.into()));
    let methods = || drawn.iter().map(|c| c.key.method.name.as_str());
    provenance.entries.extend(written_out(methods()));
    provenance.entries.push(("rings".into(), RINGS.into()));
    provenance.terms.push((ELIGIBLE.0.into(), ELIGIBLE.1.into()));
    // The intervals of most settings are not drawn.
    provenance.terms.push(("dominated".into(), format!("{DOMINATED}{}", rated.widths())));
    say_missing(&mut provenance, results, (model, oracle), drawn.iter().map(|c| &c.key.method));
    let figure = Figure {
        name: format!("pareto-{short}-{oracle}"),
        title: format!(
            "Completeness against selectivity: {short}, {}, {}",
            layer(results, model, first.points[0].value.layer),
            judge(oracle)
        ),
        x: axis("completeness C"),
        y: axis("selectivity S"),
        layers,
        provenance,
    };
    Some(worded(figure, methods()))
}

fn dashed(look: Role) -> Role {
    look.dash(Dash::nth(look.hue))
}

fn place(f: &ReliabilityFinding) -> Datum {
    // Points of a line in the plane show no spread, so their training runs are not drawn.
    datum(f.completeness.mean, f.selectivity, (f.n_c, f.n_s).into(), 0)
}

/// The front as an unbroken line, if it has two settings.
fn front(rated: &Rated<'_>) -> Option<Layer> {
    let on = |i: &usize| Datum { band: None, inner: None, ..place(&rated.points[*i].value) };
    let points: Vec<Datum> = rated.front.order.iter().map(on).collect();
    let role = Role::line(BLACK);
    (points.len() > 1).then(|| Layer::Line(Line { label: "front".into(), role, points }))
}

fn knee(rated: &Rated<'_>) -> Option<Layer> {
    let knee = rated.front.knee.as_ref().ok()?;
    let f = &rated.points[knee.at].value;
    let (c, s) = (f.completeness, f.selectivity);
    let spot = Spot {
        x: c.mean,
        y: s.mean,
        x_band: Some((c.lo, c.hi)),
        y_band: Some((s.lo, s.hi)),
        n: (f.n_c, f.n_s).into(),
        pairs: pairs(c, s, f.beside.replicates),
        hue: Some(look(&f.method).hue),
        ..Spot::default()
    };
    let role = Role::points(BLACK, Marker::Diamond);
    Some(Layer::Points(Points { label: "knee".into(), role, points: vec![spot] }))
}

/// Both scores of two training runs; `None` for other numbers.
fn pairs(c: Banded, s: Banded, trainings: usize) -> Option<[(f64, f64); 2]> {
    Some([c.values(trainings)?.into(), s.values(trainings)?.into()])
}

/// The strengths of the highest reliability.
fn best(results: &Results, model: &str, oracle: OracleKind) -> Option<Layer> {
    let optima = results.optima.iter().filter(|o| o.model == model && o.value.oracle == oracle);
    let best = optima.map(|o| {
        let s = o.value.selectivity;
        let n = results.counts(o).into();
        let c = o.value.completeness;
        let label = o.value.method_key().title();
        let pairs = pairs(c, s, o.value.how.replicates);
        let hue = Some(look(&o.value.method).hue);
        // Without an edit, or with a random one, no strength is better than another.
        let is_unmarked = find(&o.value.method).is_some_and(|method| method.is_control);
        let (x_band, y_band) = (Some((c.lo, c.hi)), Some((s.lo, s.hi)));
        Spot { x: c.mean, y: s.mean, x_band, y_band, pairs, n, hue, label, is_unmarked }
    });
    let mut best: Vec<Spot> = best.collect();
    best.sort_by(|a, b| a.x.total_cmp(&b.x));
    let role = Role::points(BLACK, Marker::Star);
    let label = "best strength, held out".to_owned();
    (!best.is_empty()).then_some(Layer::Points(Points { label, role, points: best }))
}

/// The line along which the harmonic mean of C and S is `r`: 1/C + 1/S = 2/r.
fn equal_reliability(r: f64) -> Layer {
    const STEPS: u32 = 80;
    let largest = 2.0 / r - 1.0;
    let points = (0..=STEPS).map(|k| {
        // Equal steps of 1/C, from small C and S = 1 to C = 1 and small S, look the same from both axes.
        let inverse = largest + (1.0 - largest) * f64::from(k) / f64::from(STEPS);
        (1.0 / inverse, 1.0 / (2.0 / r - inverse))
    });
    Layer::Guide(Guide { points: points.collect(), label: format!("R = {r}"), ticks: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use figure::{Format, Options, render};

    #[test]
    fn plane_shows_methods_optima_and_contours() {
        let figure = pareto(&sample::results(), None, "bert-mini", OracleKind::Mlp).unwrap();
        let guides = figure.layers.iter().filter(|l| matches!(l, Layer::Guide(_))).count();
        // Four methods, the front and its knee, the stars, the legend of the intervals.
        assert_eq!((guides, figure.layers.len()), (4, 4 + 4 + 2 + 1 + 1));
        let Layer::Guide(Guide { points, .. }) = equal_reliability(0.4) else { unreachable!() };
        assert!(points.iter().all(|(c, s)| (2.0 * c * s / (c + s) - 0.4).abs() < 1e-12));
        assert!(points.iter().all(|(c, s)| (0.0..=1.0 + 1e-12).contains(c) && (0.0..=1.0 + 1e-12).contains(s)));
    }

    /// Regression: the stars used to have an interval only in S.
    #[test]
    fn best_strengths_have_intervals_of_c_and_s() {
        let figure = pareto(&sample::results(), None, "bert-mini", OracleKind::Mlp).unwrap();
        let stars = figure.layers.iter().find_map(|l| match l {
            Layer::Points(points) if points.label.starts_with("best") => Some(points),
            _ => None,
        });
        assert!(stars.unwrap().points.iter().all(|p| p.x_band.is_some() && p.y_band.is_some()));
    }

    /// Regression: a ring used to mark a best strength of a control, for which all strengths are alike.
    #[test]
    fn controls_have_no_best_strength_mark() {
        let mut results = sample::results();
        results.optima[0].value.method = "identity".into();
        let (model, oracle) = (results.optima[0].model.clone(), results.optima[0].value.oracle);
        let Some(Layer::Points(best)) = best(&results, &model, oracle) else { unreachable!() };
        let unmarked: Vec<&str> = best.points.iter().filter(|p| p.is_unmarked).map(|p| p.label.as_str()).collect();
        assert_eq!(unmarked, ["identity (control)"]);
        assert!(best.points.len() > 1, "methods have rings");
    }

    #[test]
    fn dominated_settings_are_faint_and_front_is_strong() {
        let results = sample::results();
        let figure = pareto(&results, None, "bert-mini", OracleKind::Mlp).unwrap();
        let rated = Rated::of(&results, "bert-mini", OracleKind::Mlp);
        let looks = figure.layers.iter().filter_map(|l| match l {
            Layer::Line(l) if l.role.marker.is_some() => Some(l.points.iter().map(|p| p.emphasis)),
            _ => None,
        });
        for (emphasis, standing) in looks.flatten().zip(&rated.front.standings) {
            let wanted = match standing {
                Standing::Front => Emphasis::Strong,
                Standing::Open => Emphasis::Normal,
                Standing::Dominated | Standing::Unread => Emphasis::Faint,
            };
            assert_eq!(emphasis, wanted);
        }
        let dominated = rated.front.count(Standing::Dominated);
        assert!(dominated > 0 && rated.front.count(Standing::Open) > 0, "{}", rated.counts());
        let caption = figure::caption(&figure);
        assert!(caption.contains("settings dominated") && caption.contains("full marks: on the front"), "{caption}");
        let csv = String::from_utf8(render(&figure, Format::Csv, &Options::default()).unwrap()).unwrap();
        assert_eq!(csv.lines().filter(|l| l.ends_with(",faint")).count(), dominated);
        assert!(csv.contains(&format!("# front: {dominated} of 108 settings dominated")) && csv.contains("# rule: "));
        assert!(rated.is_mixed() && csv.contains("# completeness: for counterfactual methods"));
        let mut alike = results.clone();
        alike.curves.retain(|c| c.key.method.name != "inlp");
        assert!(!Rated::of(&alike, "bert-mini", OracleKind::Mlp).is_mixed());
    }
}

//! Figures of the lab: power against n, accuracies against the bound, and the sequential test.

mod margins;
mod shortfall;
mod survey;

pub use self::margins::margins;
use self::shortfall::shortfall;
use self::survey::survey;

use super::bound::Bound;
use super::finding::{NoiseFinding, PowerFinding, RequiredFinding};
use super::results::Results;
use super::spec::in_words;
use super::summary::span;
use base::numbers::short;
use base::suggest::unknown;
use base::text::printable_label;
use figure::layers::{Datum, Intervals, Line, Rule, grouped};
use figure::{Axis, Dash, Figure, Layer, Provenance, Role};
use lab::origin::Origin;
use lab::{Details, EngineInfo, FigureEntry, Tagged};

pub const ENTRIES: &[FigureEntry] = &[
    FigureEntry::headline(
        "power",
        "Power of the paired test by the number of test items, with the pilot's own uncertainty.",
    ),
    FigureEntry::headline(
        "sizes",
        "Power by the number of training examples (Zhu et al., Figures 4 to 6, lower halves).",
    ),
    FigureEntry::headline(
        "recommended",
        "Training and test examples recommended by training size (Zhu et al., Figures 4 to 6, upper halves).",
    ),
    FigureEntry::headline(
        "margins",
        "Accuracy by number of training examples, with its spread over seeds and the margin of the bound.",
    ),
    FigureEntry::headline(
        "noise",
        "Power against the number of test items, one curve per level of noise on one side (Zhu et al., Figure 3).",
    ),
    FigureEntry::headline(
        "sequential",
        "The confidence sequence of the share of discordant items that favour the first side.",
    ),
    FigureEntry::headline(
        "survey",
        "Sizes of published data sets for probing, compared with the number of items that the comparison needs (Zhu et al., Figure 1).",
    ),
    FigureEntry::headline(
        "shortfall",
        "Accuracy shortfall due to optimisation and to data, by number of training examples (Zhu et al., Figure 12).",
    ),
];

const ITEMS: &str = "test items";

/// The source of uncertainty behind the intervals.
const PILOT: &str = "items of the pilot";
/// Method of the intervals, by the run's test.
fn region(results: &Results) -> &'static str {
    match results.curve().first().is_some_and(|p| p.value.student) {
        true => "over items of the pilot: extreme values within the confidence interval of the mean difference",
        false => {
            "over items of the pilot: extreme values within the joint confidence region of both shares of discordant items (items that only one side gets right)"
        }
    }
}
const STOPS: &str = "all stopping times";

/// Terms explained in captions.
const WORDS: [(&str, &str); 5] = [
    ("untrained", "the same architecture with random weights"),
    ("pilot", "the test items that both sides were measured on"),
    ("bag of words", "a classifier on the words of a sentence, without hidden states"),
    ("margin of the bound", "the excess risk that learning theory allows after this number of training examples"),
    ("discordant items", "items that only one side gets right"),
];

/// Marks an axis as one of training sizes that were set, with the number of test items below each tick.
fn pilots(axis: Axis, by: &[(u64, usize)]) -> Axis {
    let below = by.iter().map(|(trained, n)| (*trained as f64, format!("n {}", grouped(*n)))).collect();
    Axis { below, ..axis.of_settings() }
}

/// Training sizes for which there are requirements, with the number of items in their pilots.
fn trained(by: &[Tagged<RequiredFinding>]) -> Vec<(u64, usize)> {
    by.iter().filter_map(|r| Some((r.value.trained?, r.n))).collect()
}

const TRAINED: &str = "training examples (n: test items of the pilot)";

/// Adds n and the explanations of terms to a figure.
fn finished(figure: Figure) -> Figure {
    figure.with_terms(&WORDS).with_counts(ITEMS, None)
}

/// All figures that these results support.
pub fn all(results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
    let all = [power, margins, sequential, noise, sizes, recommended, survey, shortfall];
    all.map(|figure| figure(results, engine)).into_iter().flatten().collect()
}

/// All figures except the power curve and the sequential test.
pub fn beside(results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
    let all = [noise, margins, sizes, recommended, survey, shortfall];
    all.map(|figure| figure(results, engine)).into_iter().flatten().collect()
}

/// The figure with this name.
///
/// # Errors
/// A sentence that lists the available figures.
pub fn pick(
    name: &str,
    _details: &Details<'_>,
    results: &Results,
    engine: Option<&EngineInfo>,
) -> Result<Figure, String> {
    let figure = match name {
        "power" => power(results, engine),
        "margins" => margins(results, engine),
        "sequential" => sequential(results, engine),
        "noise" => noise(results, engine),
        "sizes" => sizes(results, engine),
        "recommended" => recommended(results, engine),
        "survey" => survey(results, engine),
        "shortfall" => shortfall(results, engine),
        _ => return Err(unknown("figure", name, &ENTRIES.iter().map(|e| e.name).collect::<Vec<_>>())),
    };
    figure.ok_or_else(|| "the session has no points to draw".into())
}

/// Adds the test, its level and the observed difference to the provenance.
fn tested(results: &Results, provenance: &mut Provenance) {
    let test = results.curve().first().zip(results.needed()).map(|(power, needed)| {
        let test = if power.value.student { "Student's t" } else { power.value.test.title() };
        ("test".to_owned(), format!("{test}, two-sided, level {}", short(needed.value.alpha)))
    });
    let difference = results.comparison().map(|c| {
        let d = c.value.difference;
        let [mean, lo, hi] = [d.mean, d.lo, d.hi].map(|v| short((v * 1000.0).round() / 1000.0));
        let interval = c.level.map_or(String::new(), |level| format!(" [{lo}, {hi}] ({} % interval)", percent(level)));
        let text = format!("{mean}{interval} in {}, the first side minus the second", c.value.metric);
        ("observed difference".to_owned(), text)
    });
    provenance.entries.extend(test.into_iter().chain(difference));
}

/// Power against the number of test items, with the band of the pilot's uncertainty and the required n.
pub fn power(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let curve = telling(results);
    let first = curve.first()?;
    let points = curve.iter().map(|p| {
        let power = p.value.power;
        Datum {
            x: p.value.at_n as f64,
            y: power.mean,
            band: Some((power.lo, power.hi)),
            n: p.n.into(),
            ..Datum::default()
        }
    });
    let label = format!("power, from a pilot of {} items", grouped(first.n));
    let mut layers =
        vec![Layer::Line(Line { label, role: Role::line(0).accent(2).strong(), points: points.collect() })];
    layers.extend(covering(first, PILOT));
    if let Some(required) = results.needed() {
        let target = required.value.target;
        layers.push(Layer::Rule(Rule::level(target, format!("target power {target}"))));
        let needed = required.value.n_test.mean.filter(|n| *n <= 131_072.0);
        if let Some(n) = needed.filter(|_| results.collapsed().is_none()) {
            layers.push(Layer::Rule(Rule::upright(n, format!("{} needed", grouped(n as usize)))));
        }
    }
    let mut provenance = provenance(first, engine, region(results));
    let needed = results.needed().filter(|_| results.collapsed().is_none());
    provenance.entries.extend(needed.map(items_needed));
    tested(results, &mut provenance);
    Some(finished(Figure {
        name: "power".into(),
        title: printable_label(&format!("Power: {}", sides(&first.value.a, &first.value.b))),
        x: Axis::doubling("test items"),
        y: Axis::linear("power").from_to(0.0, 1.0),
        layers,
        provenance,
    }))
}

/// The required number of test items with its interval, for a caption.
fn items_needed(needed: &Tagged<RequiredFinding>) -> (String, String) {
    let level = needed.level.map_or(String::new(), |level| format!(" ({} % interval)", percent(level)));
    ("test items needed".into(), span(&needed.value.n_test) + &level)
}

/// The informative part of the curve: from where the band rises above 0 to where it reaches 1, including the current and the required n.
fn telling(results: &Results) -> &[Tagged<PowerFinding>] {
    let curve = results.curve();
    let Some(n) = curve.first().map(|p| p.n as f64) else { return curve };
    let needed = results.needed().map(|r| r.value.n_test);
    let ends = needed.iter().flat_map(|n| [n.mean, n.lo, n.hi]).flatten().chain([n]);
    let (least, most) = ends.fold((n, n), |(a, b), x| (a.min(x), b.max(x)));
    let power = |p: &Tagged<PowerFinding>| (p.value.at_n as f64, p.value.power);
    let quiet = |p: &Tagged<PowerFinding>| matches!(power(p), (at, e) if e.hi < 0.05 && at < least);
    let sure = |p: &Tagged<PowerFinding>| matches!(power(p), (at, e) if e.lo > 0.995 && at > most);
    let from = curve.iter().take_while(|p| quiet(p)).count().saturating_sub(1);
    let rest = &curve[from..];
    let to = rest.iter().position(sure).map_or(rest.len(), |i| i + 1);
    &rest[..to]
}

/// Power with the test items available at each training size (Zhu et al. 2022, lower halves of Figures 4 to 6).
pub fn sizes(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let (by, first) = several(results)?;
    let point = |r: &Tagged<RequiredFinding>| Datum {
        x: r.value.trained.unwrap_or(0) as f64,
        y: r.value.power,
        band: r.value.band.map(|p| (p.lo, p.hi)),
        n: r.n.into(),
        ..Datum::default()
    };
    let (label, role) = ("power".into(), Role::nth(0).accent(2).strong());
    let target = first.value.target;
    let mut layers = vec![
        Layer::Line(Line { label, role, points: by.iter().map(point).collect() }),
        Layer::Rule(Rule::level(target, format!("target power {target}"))),
    ];
    layers.extend(covering(first, PILOT));
    let mut provenance = provenance(first, engine, region(results));
    let text = "n is the number of test items in the pilot of each training size; power is for a comparison on that many items";
    provenance.entries.push(("ticks".into(), text.into()));
    tested(results, &mut provenance);
    Some(finished(Figure {
        name: "sizes".into(),
        title: printable_label(&format!("Power by training size: {}", sides(&first.value.a, &first.value.b))),
        x: pilots(Axis::doubling(TRAINED), &trained(by)),
        y: Axis::linear("power").from_to(0.0, 1.0),
        layers,
        provenance,
    }))
}

/// Recommendations after each training size: training examples according to the bound, and test items for the target power. `None` for a
/// collapsed comparison. Zhu et al. 2022, upper halves of Figures 4 to 6.
pub fn recommended(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let (by, first) = several(results)?;
    if results.collapsed().is_some() {
        return None;
    }
    let at = |r: &Tagged<RequiredFinding>, y: Option<f64>, band: Option<(f64, f64)>| {
        Some(Datum { x: r.value.trained? as f64, y: y?, band, n: r.n.into(), ..Datum::default() })
    };
    let bound = bound(first);
    let train: Vec<Datum> = by.iter().filter_map(|r| at(r, r.value.n_train.map(|n| n as f64), None)).collect();
    let test = by.iter().filter_map(|r| {
        let n = &r.value.n_test;
        at(r, n.mean, n.lo.zip(n.hi))
    });
    let lines = [
        (format!("training examples that the {bound} recommends"), Role::nth(0).accent(1), train),
        (format!("test items for power {}", first.value.target), Role::nth(1).accent(2), test.collect()),
    ];
    let mut layers: Vec<Layer> = lines
        .into_iter()
        .filter(|(.., points)| !points.is_empty())
        .map(|(label, role, points)| Layer::Line(Line { label, role, points }))
        .collect();
    if !layers.is_empty() {
        layers.extend(covering(first, PILOT));
    }
    let open: Vec<String> = by
        .iter()
        .filter(|r| r.value.n_test.mean.is_some() && r.value.n_test.hi.is_none())
        .filter_map(|r| r.value.trained.map(|n| grouped(n as usize)))
        .collect();
    let mut provenance = provenance(first, engine, region(results));
    let rule = bound.trim_start_matches("bound of ");
    let text = format!("{rule}, a formula of the observed difference, for which no interval is computed");
    provenance.entries.push(("bound".into(), text));
    tested(results, &mut provenance);
    let text = "Both numbers are based on n, the number of test items in the pilot of each training size";
    provenance.entries.push(("ticks".into(), text.into()));
    if !open.is_empty() {
        let text = format!(
            "at {} training examples, where the pilot sets no upper limit to the number of test items",
            open.join(" and ")
        );
        provenance.entries.push(("no interval".into(), text));
    }
    let y = rounded(&layers);
    (!layers.is_empty()).then(|| {
        finished(Figure {
            name: "recommended".into(),
            title: printable_label(&format!("Recommended n: {}", sides(&first.value.a, &first.value.b))),
            x: pilots(Axis::doubling(TRAINED), &trained(by)),
            y,
            layers,
            provenance,
        })
    })
}

/// A logarithmic axis whose ends are labelled ticks around the data.
fn rounded(layers: &[Layer]) -> Axis {
    let lines = layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
    let ends = lines.flat_map(|l| &l.points).flat_map(|p| p.band.map_or([p.y; 2], |(lo, hi)| [lo, hi]));
    let (lo, hi) =
        ends.filter(|v| *v > 0.0 && v.is_finite()).fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    Axis::log("examples").around(lo, hi)
}

fn percent(level: f64) -> f64 {
    (level * 1e6).round() / 1e4
}

fn sides(a: &str, b: &str) -> String {
    format!("{} against {}", in_words(a), in_words(b))
}

fn bound(found: &Tagged<RequiredFinding>) -> &str {
    found.value.bound.as_deref().map_or("bound", Bound::in_words)
}

/// Requirements by training size, and those at the largest size, if there are several sizes.
fn several(results: &Results) -> Option<(&[Tagged<RequiredFinding>], &Tagged<RequiredFinding>)> {
    let by = results.by_size();
    by.last().filter(|_| by.len() > 1).map(|last| (by, last))
}

/// Power against n for each noise on the second side (Zhu et al. 2022, Figure 3).
pub fn noise(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let first = results.noise.iter().max_by_key(|t| t.n)?;
    // With noise, the names of the sides include it; these names label the lines.
    let (a, b) = results.comparison().map_or((&first.value.a, &first.value.b), |c| (&c.value.a, &c.value.b));
    let mut sigmas: Vec<f64> = results.noise.iter().map(|t| t.value.sigma).collect();
    sigmas.dedup();
    let line = |(k, sigma): (usize, &f64)| {
        let mine = results.noise.iter().filter(|t| t.value.sigma == *sigma);
        let point = |t: &Tagged<NoiseFinding>| Datum {
            x: t.value.at_n as f64,
            y: t.value.power.mean,
            band: Some((t.value.power.lo, t.value.power.hi)),
            n: t.n.into(),
            ..Datum::default()
        };
        Layer::Line(Line { label: format!("{sigma} noise"), role: Role::nth(k), points: mine.map(point).collect() })
    };
    let mut layers: Vec<Layer> = sigmas.iter().enumerate().map(line).collect();
    layers.extend(covering(first, PILOT));
    if let Some(target) = results.needed().map(|r| r.value.target) {
        layers.push(Layer::Rule(Rule::level(target, format!("target power {target}"))));
    }
    Some(finished(Figure {
        name: "noise".into(),
        title: printable_label(&format!("Power by noise on the second side: {}", sides(a, b))),
        x: Axis::doubling("test items"),
        y: Axis::linear("power").from_to(0.0, 1.0),
        layers,
        provenance: provenance(first, engine, region(results)),
    }))
}

/// The confidence sequence for the share of discordant items that favour the first side, by number of items.
pub fn sequential(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let steps = results.steps();
    let first = steps.first()?;
    let points = steps.iter().filter_map(|s| {
        let v = &s.value;
        let (x, y, n) = (v.at_n as f64, v.share?, s.n.into());
        Some(Datum { x, y, band: Some((v.lo, v.hi)), n, ..Datum::default() })
    });
    let role = Role::line(2).accent(1).dash(Dash::Dashed);
    let label = printable_label(&format!("share for {}", in_words(&first.value.a)));
    let mut layers = vec![
        Layer::Line(Line { label, role, points: points.collect() }),
        Layer::Rule(Rule::level(0.5, "no difference")),
    ];
    layers.extend(covering(first, STOPS));
    if let Some(stop) = results.stop() {
        let at = stop.value.at_n as f64;
        layers.push(Layer::Rule(Rule::upright(at, format!("may stop at {}", grouped(at as usize)))));
    }
    Some(finished(Figure {
        name: "sequential".into(),
        title: printable_label(&format!("Confidence sequence: {}", sides(&first.value.a, &first.value.b))),
        x: Axis::doubling("items seen"),
        y: Axis::linear("share of discordant items").from_to(0.0, 1.0),
        layers,
        provenance: provenance(first, engine, "over all stopping times: a confidence sequence"),
    }))
}

/// The legend entry for the level and the sources of the intervals.
fn covering<T>(point: &Tagged<T>, sources: &str) -> Option<Layer> {
    point.level.map(|level| Layer::Intervals(Intervals::covering(level, sources)))
}

fn provenance<T>(point: &Tagged<T>, engine: Option<&EngineInfo>, over: &str) -> Provenance {
    let mut origin = Origin::default();
    origin.results(point, point.is_final, &format!(", {over}"));
    let models: Vec<String> = point.model.split(',').map(in_words).collect();
    origin.add("model", printable_label(&models.join("; ")));
    origin.computed_by(engine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finding;
    use crate::Kind;
    use crate::finding::SequentialFinding;
    use crate::spec::Spec;
    use lab::finding::Label;
    use stats::sequential::Sequential;

    /// Regression: the line used to be the middle of the interval, which is .49 when no item favours the first side.
    #[test]
    fn sequential_line_is_the_observed_share() {
        let label = Label::new(&Spec::shipped(), "m");
        let (mut results, mut test) = (Results::default(), Sequential::default());
        for (i, (a, b)) in [(true, true), (false, true), (false, true), (true, false)].into_iter().enumerate() {
            test.add(a, b);
            let (lo, hi) = test.interval(0.95);
            let kind = Kind::Sequential(SequentialFinding {
                a: "x".into(),
                b: "y".into(),
                at_n: i as u64 + 1,
                e_value: None,
                log_e: test.log_e(),
                lo,
                hi,
                share: test.share(),
                may_stop: false,
                largest: None,
                planned: false,
            });
            let finding: Finding = label.finding(4, true, 0.0, kind.clone());
            results.take(finding.head(), &kind);
        }
        let figure = sequential(&results, None).unwrap();
        let line = figure.layers.into_iter().find_map(|layer| match layer {
            Layer::Line(line) => Some(line),
            _ => None,
        });
        let line = line.unwrap();
        let points: Vec<_> = line.points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!((line.label.as_str(), points), ("share for x", vec![(2.0, 0.0), (3.0, 0.0), (4.0, 1.0 / 3.0)]));
    }
}

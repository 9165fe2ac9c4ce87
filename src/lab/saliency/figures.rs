//! Figures of the lab: the heatmap of an original and its perturbed partner, agreement against the rationale ratio, accuracy.

use super::finding::{ALL, Answers, CorrectnessFinding, RatioFinding, SaliencyFinding, SentenceFinding};
use super::heatmap::{self, Choice, Side};
use super::methods::named;
use super::results::{Own, Results};
use base::suggest::unknown;
use base::text::{last_part, printable_label};
use figure::layers::{self, Bar, Bars, Count, Datum, FEWEST, Intervals, Line};
use figure::role::BLACK;
use figure::{Axis, Dash, Figure, Layer, Marker, Provenance, Role};
use lab::{Details, EngineInfo, FigureEntry, Origin, Tagged};
use stats::Estimate;

pub const ENTRIES: &[FigureEntry] = &[
    FigureEntry::headline("heatmap", "Scores of the tokens of a sentence and its perturbed partner, by method."),
    FigureEntry::headline(
        "accuracy",
        "Share of right predictions by dimension, on originals and on perturbed partners.",
    ),
    FigureEntry::headline("f1-ratio", "Token-F1 against the length of the rationale (Shen et al., Figure 1)."),
    FigureEntry::headline("map-ratio", "MAP against the length of the rationale."),
    FigureEntry::further(
        "right-wrong",
        "Token-F1 above chance by method, for right and for wrong answers of the model.",
    ),
    FigureEntry::further("own", "Token scores of a typed sentence."),
];

/// All figures that need no further choice.
pub fn all(results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
    [
        heatmap(results, engine, &Heat::default()),
        own(results, engine),
        against_ratio(results, engine, Agreement::TokenF1, None),
        against_ratio(results, engine, Agreement::Map, None),
        accuracy(results, engine),
        right_wrong(results, engine),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The figure with this name. `sentence`, `method` and `partner` select its content.
///
/// # Errors
/// A sentence that lists the available figures.
pub fn pick(
    name: &str,
    details: &Details<'_>,
    results: &Results,
    engine: Option<&EngineInfo>,
) -> Result<Figure, String> {
    let known = ["sentence", "partner", "method"];
    if let Some((key, _)) = details.more.iter().find(|(key, _)| !known.contains(key)) {
        return Err(unknown("key", key, &known));
    }
    let of = |key: &str| details.more.iter().find(|(k, _)| *k == key).map(|(_, value)| *value);
    if let Some(model) = details.model.filter(|m| !results.models().contains(m)) {
        return Err(unknown("model", model, &results.models()));
    }
    for key in ["sentence", "partner"] {
        if let Some(id) = of(key).filter(|id| results.sentence(id).is_none()) {
            return Err(format!("there is no sentence {id}"));
        }
    }
    let mut methods: Vec<&str> = Vec::new();
    for name in of("method").into_iter().flat_map(|names| names.split(',')) {
        let found: Vec<&str> = results.methods();
        let method = named(name).map_or(name, |m| m.id());
        if !found.contains(&method) {
            return Err(unknown("method", name, &found));
        }
        methods.push(method);
    }
    let method = methods.first().copied();
    let figure = match name {
        "heatmap" => {
            let heat = Heat { model: details.model, sentence: of("sentence"), partner: of("partner"), methods };
            heatmap(results, engine, &heat)
        }
        "own" => own(results, engine),
        "f1-ratio" => against_ratio(results, engine, Agreement::TokenF1, Some((details.model, method))),
        "map-ratio" => against_ratio(results, engine, Agreement::Map, Some((details.model, method))),
        "accuracy" => accuracy(results, engine),
        "right-wrong" => right_wrong(results, engine),
        _ => return Err(unknown("figure", name, &ENTRIES.iter().map(|e| e.name).collect::<Vec<_>>())),
    };
    figure.ok_or_else(|| "the session has no data for this figure".into())
}

/// Contents of a heatmap.
#[derive(Debug, Clone, Default)]
pub struct Heat<'a> {
    /// The model; by default the first.
    pub model: Option<&'a str>,
    /// The sentence, an original or a partner; by default the first original with scores.
    pub sentence: Option<&'a str>,
    /// The partner shown next to an original; by default its first.
    pub partner: Option<&'a str>,
    /// The methods; if empty, all except the random ranking.
    pub methods: Vec<&'a str>,
}

fn short(method: &str) -> &str {
    named(method).map_or(method, |m| m.short())
}

/// Strips for an original and a partner, for each method.
pub fn heatmap<'r>(results: &'r Results, engine: Option<&EngineInfo>, heat: &Heat<'_>) -> Option<Figure> {
    let model = heat.model.or_else(|| results.models().first().copied())?;
    let of_model = |r: &&Tagged<SaliencyFinding>| r.model == model;
    let chosen = heat.sentence.or_else(|| results.rows.iter().find(of_model).map(|r| r.value.sentence.as_str()))?;
    let chosen = &results.sentence(chosen)?.value;
    let original = chosen.original.as_deref().unwrap_or(&chosen.sentence);
    let original = &results.sentence(original)?.value;
    let partner = match (&chosen.original, heat.partner) {
        (Some(_), _) => Some(chosen.sentence.as_str()),
        (None, Some(partner)) => Some(partner),
        (None, None) => original.partners.first().map(String::as_str),
    };
    let partner = partner.and_then(|id| results.sentence(id)).map(|t| &t.value);
    let mut methods = heat.methods.clone();
    if methods.is_empty() {
        methods = results.methods();
        methods.retain(|m| *m != super::methods::RANDOM);
    }
    methods.retain(|m| results.row(model, &original.sentence, m).is_some());
    let choices: Vec<Choice> = methods.iter().map(|m| Choice { model: model.into(), method: (*m).into() }).collect();
    let side = |s: &'r SentenceFinding| {
        let rows = methods.iter().map(|m| results.row(model, &s.sentence, m));
        let side = Side::new(s, rows.collect());
        // Kinds of perturbation have very short names, which the caption explains.
        let name = if s.original.is_some() { "partner".into() } else { side.name };
        Side { name, ..side }
    };
    let sides: Vec<Side<'_>> = std::iter::once(original).chain(partner).map(side).collect();
    let pairs = partner.map_or(Vec::new(), |p| heatmap::pairs(original, p));
    let figure = heatmap::figure((results, engine), &choices, &sides, &pairs).filter(|_| !choices.is_empty());
    figure.map(|figure| Figure { name: "heatmap".into(), ..figure })
}

/// The latest typed sentence, for each model and method.
pub fn own(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let Own { sentence, rows, .. } = results.own.as_ref()?;
    let sentence = &sentence.as_ref()?.value;
    let choice = |r: &Tagged<SaliencyFinding>| Choice { model: r.model.clone(), method: r.value.method.clone() };
    let choices: Vec<Choice> = rows.iter().map(choice).collect();
    let sides = [Side::new(sentence, rows.iter().map(Some).collect())];
    let figure = heatmap::figure((results, engine), &choices, &sides, &[]).filter(|_| !choices.is_empty());
    figure.map(|figure| Figure { name: "own".into(), ..figure })
}

/// Quantity plotted against the rationale ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    TokenF1,
    Map,
}

impl Agreement {
    fn of(self, r: &RatioFinding) -> Option<Estimate> {
        if self == Agreement::TokenF1 { r.token_f1 } else { r.map }
    }

    fn by_chance(self, r: &RatioFinding) -> Option<Estimate> {
        if self == Agreement::TokenF1 { r.random_f1 } else { r.random_map }
    }
}

/// Agreement against the rationale ratio (Figure 1 of the paper). If model and method are chosen, there is one line per dimension;
/// otherwise there is one line per model and method over all dimensions, with the chance level.
pub(crate) fn against_ratio(
    results: &Results,
    engine: Option<&EngineInfo>,
    agreement: Agreement,
    choice: Option<(Option<&str>, Option<&str>)>,
) -> Option<Figure> {
    let chosen = choice.and_then(|(model, method)| {
        let method = method?;
        Some((model.or_else(|| results.models().first().copied())?, method))
    });
    let mut lines: Vec<(String, Vec<&Tagged<RatioFinding>>)> = Vec::new();
    for r in &results.ratios {
        let v = &r.value;
        let label = match chosen {
            Some((model, method)) if r.model == model && v.method == method && v.dimension != ALL => {
                v.dimension.clone()
            }
            None if v.dimension == ALL && v.method != super::methods::RANDOM => {
                format!("{} {}", last_part(&r.model), short(&v.method))
            }
            _ => continue,
        };
        match lines.iter_mut().find(|l| l.0 == label) {
            Some(line) => line.1.push(r),
            None => lines.push((label, vec![r])),
        }
    }
    let first = *lines.first()?.1.first()?;
    let point = |r: &&Tagged<RatioFinding>, y: Option<Estimate>| {
        let (y, v) = (y?, &r.value);
        // Older sessions do not record the number of originals.
        let counted_there = || {
            originals(results, (&r.model, &v.dimension), |s| {
                ratio(s).is_some_and(|ratio| (v.from..v.to).contains(&ratio) || ratio == 1.0 && v.to == 1.0)
            })
        };
        let n = counted(r.n, v.originals.unwrap_or_else(counted_there));
        Some(Datum { x: v.ratio, y: y.mean, band: Some((y.lo, y.hi)), n, ..Datum::default() })
    };
    let line = |(k, (label, points)): (usize, &(String, Vec<&Tagged<RatioFinding>>))| {
        let points = sorted(points.iter().filter_map(|r| point(r, agreement.of(&r.value))).collect());
        Layer::Line(Line { label: printable_label(label), role: Role::nth(k), points })
    };
    let mut layers: Vec<Layer> = lines.iter().enumerate().map(line).collect();
    let ratios = lines.iter().flat_map(|l| &l.1).map(|r| r.value.ratio);
    let (least, most) = ratios.fold((f64::INFINITY, 0.0f64), |(lo, hi), x| (lo.min(x), hi.max(x)));
    let chance = results.ratios.iter().filter(|r| {
        let v = &r.value;
        v.dimension == ALL && (&r.model, &v.method) == (&first.model, &first.value.method)
    });
    let points = chance.filter_map(|r| point(&r, agreement.by_chance(&r.value)));
    let points = sorted(points.map(|p| Datum { band: None, ..p }).collect());
    let role = Role::line(BLACK).dash(Dash::Dotted).marker(Marker::Stroke);
    layers.push(Layer::Line(Line { label: "by chance".into(), role, points }));
    layers.extend(covering(first, false));
    let (name, word) = match agreement {
        Agreement::TokenF1 => ("f1-ratio", "token-F1"),
        Agreement::Map => ("map-ratio", "MAP"),
    };
    let mut shown: Vec<&str> = lines.iter().flat_map(|l| &l.1).map(|r| r.value.method.as_str()).collect();
    shown.dedup();
    let mut words = vec![("by chance", "the score of a random ranking of the words")];
    if agreement == Agreement::Map {
        words.insert(0, ("MAP", MAP));
    }
    let of = chosen.map_or(String::new(), |(model, method)| format!(": {} {}", printable_label(model), short(method)));
    let mut provenance = provenance(first, engine, meant(&words));
    provenance.entries.push(written_out(shown.into_iter()));
    provenance.entries.push(("points".into(), binned(&first.value)));
    provenance.entries.extend(too_few(&layers));
    Some(with_counts(Figure {
        name: name.into(),
        title: format!("{} against the rationale ratio{of}", figure::capital(word)),
        x: Axis::linear("rationale ratio (rationale length / sentence length)").around(least, most),
        y: Axis::linear(word).from_to(0.0, 1.0),
        layers,
        provenance,
    }))
}

/// Describes how the points of a figure are computed.
fn binned(one: &RatioFinding) -> String {
    let width = ((one.to - one.from) * 1e6).round() / 1e6;
    format!(
        "originals with their partners, in bins of width {width} by the ratio of the original; a point lies at the mean ratio of its bin"
    )
}

/// Number of the selected originals in a dimension that a model has answered.
fn originals(results: &Results, (model, dimension): (&str, &str), wanted: impl Fn(&SentenceFinding) -> bool) -> usize {
    let sentences = results.sentences.iter().map(|s| &s.value);
    let originals =
        sentences.filter(|s| s.original.is_none() && [ALL, s.dimension.as_str()].contains(&dimension) && wanted(s));
    originals.filter(|s| results.prediction(model, &s.sentence).is_some()).count()
}

/// Length of a sentence's gold rationale divided by the length of the sentence.
fn ratio(s: &SentenceFinding) -> Option<f64> {
    let length = s.gold.iter().map(Vec::len).sum::<usize>() as f64;
    (!s.gold.is_empty()).then(|| length / (s.gold.len() * s.words.len()) as f64)
}

/// The number of inputs, with the number of their originals.
fn counted(inputs: usize, originals: usize) -> Count {
    Count { units: Some(originals), ..inputs.into() }
}

/// Adds the counts to a figure: inputs, and originals as the units of the intervals.
fn with_counts(figure: Figure) -> Figure {
    // Terms are defined before they are used.
    let mut figure = figure;
    let own = std::mem::take(&mut figure.provenance.terms);
    let mut figure = figure.with_terms(&WORDS);
    figure.provenance.terms.extend(own);
    figure.with_counts("inputs (originals with their perturbed partners)", Some("originals"))
}

/// The legend entry for the units of the intervals, and for the numbers shown instead of intervals. On bars, these numbers count the
/// averaged inputs.
fn covering<T>(one: &Tagged<T>, of_bars: bool) -> Option<Layer> {
    let few = match of_bars {
        true => "n inputs from m originals, too few for an interval",
        false => "originals, too few for an interval",
    };
    Some(Layer::Intervals(Intervals { few: few.into(), ..Intervals::covering(one.level?, "originals") }))
}

/// The caption note that values from too few originals are unreliable.
fn too_few(layers: &[Layer]) -> Option<(String, String)> {
    let has_few = |layer: &Layer| match layer {
        Layer::Line(line) => line.points.iter().any(|p| p.band.is_some() && p.n.few().is_some()),
        Layer::Bars(bars) => bars.bars.iter().any(|b| b.band.is_some() && b.n.few().is_some()),
        _ => false,
    };
    let text = "too few for an interval; the intervals in the CSV file are unreliable";
    layers.iter().any(has_few).then(|| (format!("fewer than {FEWEST} originals"), text.to_owned()))
}

/// Sorts points by x. Findings arrive by bin, in the order of their examples.
fn sorted(mut points: Vec<Datum>) -> Vec<Datum> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// Accuracy by dimension: Top-1 on originals and on perturbed partners, by model.
pub fn accuracy(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let first = results.accuracy.first()?;
    let mut dimensions: Vec<&str> = Vec::new();
    for a in &results.accuracy {
        if !dimensions.contains(&a.value.dimension.as_str()) {
            dimensions.push(&a.value.dimension);
        }
    }
    dimensions.sort_by_key(|d| results.place("", "", d));
    let mut layers = Vec::new();
    for model in results.models() {
        for sample in ["original", "perturbed"] {
            let bar = |(c, dimension): (usize, &&str)| {
                let is = |a: &&Tagged<super::finding::AccuracyFinding>| {
                    let v = &a.value;
                    a.model == model && v.dimension == **dimension && v.sample == sample && v.perturbation == ALL
                };
                let a = results.accuracy.iter().find(is)?;
                let y = a.value.top1;
                let has_partner = |s: &SentenceFinding| sample == "original" || !s.partners.is_empty();
                let n = counted(a.n, originals(results, (model, dimension), has_partner));
                Some(Bar { band: Some((y.lo, y.hi)), n, ..Bar::of(c, y.mean) })
            };
            let bars: Vec<Bar> = dimensions.iter().enumerate().filter_map(bar).collect();
            if !bars.is_empty() {
                let of = if sample == "original" { "originals" } else { "perturbed partners" };
                let label = printable_label(&format!("{}, {of}", last_part(model)));
                layers.push(Layer::Bars(Bars { label, role: Role::nth(layers.len()), bars }));
            }
        }
    }
    layers.extend(covering(first, true));
    let mut provenance = provenance(first, engine, meant(&ACCURACY));
    provenance.entries.extend(too_few(&layers));
    Some(with_counts(Figure {
        name: "accuracy".into(),
        title: "Right predictions (Top-1) by dimension".into(),
        x: Axis::of("dimension", dimensions.iter().map(|d| printable_label(d))),
        y: Axis::linear("share of right predictions").from_to(0.0, 1.0),
        layers,
        provenance,
    }))
}

/// Token-F1 above chance over all dimensions, by method, for inputs answered right and inputs answered wrong.
fn right_wrong(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let whole = |c: &&Tagged<CorrectnessFinding>| {
        let v = &c.value.numbers;
        v.dimension == ALL && v.method != super::methods::RANDOM
    };
    let all: Vec<_> = results.by_answers().into_iter().filter(whole).collect();
    let first = *all.first()?;
    let mut methods = results.methods();
    methods.retain(|m| all.iter().any(|c| c.value.numbers.method == *m));
    let mut layers = Vec::new();
    for model in results.models() {
        for answers in [Answers::Right, Answers::Wrong] {
            let bar = |(at, method): (usize, &&str)| {
                let is = |c: &&&Tagged<CorrectnessFinding>| {
                    c.model == model && c.value.numbers.method == **method && c.value.answers == answers
                };
                let c = all.iter().find(is)?;
                let (v, y) = (&c.value.numbers, c.value.numbers.f1_above?);
                Some(Bar { band: Some((y.lo, y.hi)), n: counted(c.n, v.originals), ..Bar::of(at, y.mean) })
            };
            let bars: Vec<Bar> = methods.iter().enumerate().filter_map(bar).collect();
            if !bars.is_empty() {
                let label = printable_label(&format!("{}, answer {}", last_part(model), answers.name()));
                layers.push(Layer::Bars(Bars { label, role: Role::nth(layers.len()), bars }));
            }
        }
    }
    layers.extend(covering(first, true));
    let mut provenance = provenance(first, engine, meant(&RIGHT_WRONG));
    provenance.entries.push(written_out(methods.iter().copied()));
    provenance.entries.extend(too_few(&layers));
    Some(with_counts(Figure {
        name: "right-wrong".into(),
        title: "Agreement with annotators where the model is right and wrong".into(),
        x: Axis::of("method", methods.iter().map(|m| printable_label(short(m)))),
        y: around_drawn(&layers),
        layers,
        provenance,
    }))
}

/// A vertical axis whose range covers zero, the bars, and the drawn intervals.
fn around_drawn(layers: &[Layer]) -> Axis {
    let bars = layers.iter().filter_map(|l| if let Layer::Bars(bars) = l { Some(&bars.bars) } else { None });
    let is_numbered = bars.clone().flatten().any(|bar| bar.n.few().is_some());
    let ends =
        bars.flatten().map(|bar| bar.interval().map_or((bar.y, bar.y), |(lo, hi)| (lo.min(bar.y), hi.max(bar.y))));
    let (lo, hi) = ends.fold((0.0f64, 0.0f64), |(a, b), (lo, hi)| (a.min(lo), b.max(hi)));
    // Numbers are written above their marks.
    let hi = if is_numbered { 1.06 * hi } else { hi };
    Axis::linear("token-F1 above chance").around(lo, hi)
}

/// A term of a figure and its meaning, for the caption.
type Word = (String, String);

/// Terms that are explained in figures that use them.
const WORDS: [(&str, &str); 3] = [
    ("originals", "unmodified sentences from the data set"),
    ("rationale", RATIONALE),
    (
        "token-F1",
        "F1 of the K words with the highest scores against the words that annotators marked (the rationale), where K is the usual length of a rationale in a sentence of this length",
    ),
];

pub(super) const RATIONALE: &str = "the words that annotators marked as sufficient for the answer";

const MAP: &str =
    "mean average precision of the changed sentence's word ranking, with the original's ranking as the truth; 0 to 1";

const ACCURACY: [(&str, &str); 4] = [
    ("dimension", "the kind of knowledge that a sentence tests"),
    ("perturbed partner", "the original, changed in a way that should not change the answer"),
    ("right prediction", "the most probable word at the mask is the right one (Top-1)"),
    ON_BARS,
];

/// Explains the numbers printed on bars instead of intervals.
const ON_BARS: (&str, &str) = ("numbers beside a value", "number of inputs averaged, and number of their originals");

const RIGHT_WRONG: [(&str, &str); 3] = [
    ("above chance", "token-F1 minus the token-F1 of a random ranking of the words"),
    (
        "right, wrong",
        "answers to the inputs; an original counts in both groups if the model is right on some of its inputs and wrong on others",
    ),
    ON_BARS,
];

fn meant<'w>(words: &'w [(&'w str, &'w str)]) -> impl Iterator<Item = Word> + 'w {
    words.iter().map(|(name, meaning)| ((*name).to_owned(), (*meaning).to_owned()))
}

/// The short names of methods, written out for a caption: `ATT, attention; IG, integrated gradients`.
fn written_out<'m>(methods: impl Iterator<Item = &'m str>) -> Word {
    let known = methods.filter_map(named).map(|m| format!("{}, {}", m.short(), m.title()));
    ("methods".into(), known.collect::<Vec<_>>().join("; "))
}

pub(super) fn provenance<T>(
    point: &Tagged<T>,
    engine: Option<&EngineInfo>,
    words: impl IntoIterator<Item = Word>,
) -> Provenance {
    let mut origin = Origin::default();
    origin.explain(words);
    origin.add("n", layers::counted(std::iter::once(point.n), "words").unwrap_or_default());
    origin.results(point, point.is_final, ", over originals");
    origin.add("model", printable_label(&point.model));
    origin.computed_by(engine)
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;

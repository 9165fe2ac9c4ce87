//! The figures of the lab: scores, ranks and stability over prompts; rank consistency over draws; ledgers; further pretraining; the causal
//! model.

mod draws;
mod spread;

pub use self::draws::{consistency, curve, places_of, some_prompts};
use self::spread::of_shares;
pub(crate) use self::spread::{APART, TURNS, in_two_panels, with_p_at_1};
pub use self::spread::{preference, turned};

use super::causal::{Bias, graph};
use super::paper;
use super::places::{Ties, places};
use super::results::Results;
use base::suggest::{is_unknown, unknown};
use figure::layers::{
    Bar, Bars, Datum, Graph, Intervals, Line, Points, Range, Ranges, RankLine, Ranks, Rule, Spot, counted,
};
use figure::role::{BLACK, MARKERS};
use figure::{Axis, Figure, Layer, Marker, Provenance, Role};
use lab::{Details, EngineInfo, FigureEntry, Origin, Tagged};
use model::source::in_print;
use stats::estimate::Estimate;

/// The named figures, the paper's first. Some names may end in `-published`, which adds the numbers of Cao et al. (2022).
pub const ENTRIES: &[FigureEntry] = &[
    FigureEntry::headline(
        "preference",
        "P@1 of each model from its worst to its best prompt, mean over relations (Cao et al., Table 1).",
    ),
    FigureEntry::headline(
        "turned",
        "Share of relations on which the choice of the prompt matters, by model (Cao et al., Table 1).",
    ),
    FigureEntry::headline(
        "stability",
        "Share of subjects with the same answer under all their names, by model (Cao et al., Figure 5).",
    ),
    FigureEntry::headline(
        "consistency",
        "Share of draws in which a model has its most frequent rank, by regime (Cao et al., Table 4).",
    ),
    FigureEntry::headline("disparity", "P@1 after further pretraining on more or fewer facts (Cao et al., Table 3)."),
    FigureEntry::headline("prompts", "P@1 of each model over the prompts of one relation, with the adjusted score."),
    FigureEntry::headline("ranks", "Ranks of the models under each prompt of one relation."),
    FigureEntry::headline(
        "ledger",
        "Contributions of the choice of prompt, name and sample to the gap between two models.",
    ),
    FigureEntry::headline("curve", "Rank consistency against the number of averaged prompts."),
    FigureEntry::further("places", "Share of draws in which a model has each rank, by regime."),
    FigureEntry::further("causal", "The causal model of a prompt probe (Cao et al., Figure 2)."),
    FigureEntry::further("causal-prompt", "The backdoor path by which the choice of the prompt biases a probe."),
    FigureEntry::further("causal-verbalization", "The backdoor path by which the names of an instance bias a probe."),
    FigureEntry::further("causal-sample", "The backdoor path by which the choice of instances biases a probe."),
    FigureEntry::further("preference-published", "The figure preference with the published numbers of Cao et al."),
    FigureEntry::further("turned-published", "The figure turned with the published numbers of Cao et al."),
    FigureEntry::further("stability-published", "The figure stability with the published numbers of Cao et al."),
    FigureEntry::further("consistency-published", "The figure consistency with the published numbers of Cao et al."),
    FigureEntry::further(
        "disparity-published",
        "Published P@1 after further pretraining on more or fewer facts (Cao et al., Table 3), with the run's own scores if there are any.",
    ),
];

/// The causal model without a highlighted path. For a highlighted path, the name of its bias is appended.
const CAUSAL: &str = "causal";

fn causal_name(bias: Bias) -> String {
    format!("{CAUSAL}-{}", bias.name())
}

const USUAL: &str = "the first name of a subject; most data sets have only this one";
const AVERAGED: &str = "P@1 averaged over all prompts and all names of a subject";

/// The categories of a ledger.
const LEDGER: [Word; 6] = [
    ("prompt", "SD of the difference over a relation's prompts"),
    ("name", "SD over the names of the subjects"),
    ("sample", "SD over samples of facts"),
    ("rest", "SD of the interaction between prompt and facts"),
    ("all four", "total SD, the square root of the sum of the variances"),
    ("models", "the absolute difference that remains after averaging over prompts and names"),
];

/// Legend label of adjusted scores, which may be outside the range over prompts because that covers only the usual names.
const ADJUSTED: &str = "adjusted, all names";

/// A term that is not in the glossary, and its meaning.
type Word = (&'static str, &'static str);

/// A figure with its provenance; `None` without layers. `units` names what its n counts. The caption explains `words`, and the method of
/// the intervals unless it is empty.
fn figure<T>(
    (results, engine): (&Results, Option<&EngineInfo>),
    (name, title): (String, String),
    (x, y): (Axis, Axis),
    layers: Vec<Layer>,
    (behind, units, method, words): (Option<&Tagged<T>>, &str, &str, &[Word]),
) -> Option<Figure> {
    if layers.is_empty() {
        return None;
    }
    let provenance = provenance(results, engine, (behind, units, method, words));
    Some(with_p_at_1(Figure { name, title, x, y, layers, provenance }).with_counts(units, None))
}

fn provenance<T>(
    results: &Results,
    engine: Option<&EngineInfo>,
    (behind, units, method, words): (Option<&Tagged<T>>, &str, &str, &[Word]),
) -> Provenance {
    let mut origin = Origin::default();
    origin.explain(words.iter().copied());
    if let Some(b) = behind {
        origin.add("n", counted(std::iter::once(b.n), units).unwrap_or_default());
        origin.results(b, b.is_final, &format!(", {method}"));
    }
    if let Some(d) = &results.data {
        let models: Vec<String> = d.value.models.iter().map(|m| format!("{} {}", m.name, m.hash)).collect();
        origin.add("models", models.join(", "));
        let sources: Vec<&str> = d.value.sources.iter().map(|s| s.path.as_str()).collect();
        let from = if sources.is_empty() { "built-in facts".to_owned() } else { sources.join(", ") };
        origin.add("data", format!("{from} {}", d.value.data_hash));
        origin.add("answers", format!("{} ({})", d.value.candidates.name(), d.value.candidates.about()));
    }
    let mut provenance = origin.computed_by(engine);
    provenance.entries.retain(|(key, _)| key != "intervals" || !method.is_empty());
    provenance
}

/// Caption text on the method of intervals over this many relations, and on the limits at which they are cut.
fn of_means(relations: usize, ends: &str) -> String {
    let freedom = relations.saturating_sub(1);
    let noun = if freedom == 1 { "degree" } else { "degrees" };
    format!("Student's t over {relations} relations ({freedom} {noun} of freedom), cut at {ends}")
}

/// Caption text that describes how intervals over facts are computed.
const OF_FACTS: &str =
    "for the adjusted score only: Student's t over facts, at least as wide as the exact interval for a proportion";
const CUT: &str = ", cut at 0 and 1";

/// The legend entry for the level and the sources of the intervals.
fn covering<T>(one: Option<&Tagged<T>>, sources: &str) -> Option<Layer> {
    Some(Layer::Intervals(Intervals::covering(one?.level?, sources)))
}

fn band(e: Estimate) -> Option<(f64, f64)> {
    Some((e.lo, e.hi))
}

fn models(results: &Results) -> Vec<String> {
    results.models().into_iter().map(|m| in_print(m).to_owned()).collect()
}

/// P@1 of every model over the prompts of a relation: a dot per prompt, range, mean, and adjusted score. The user's prompts are separate.
pub fn prompts(results: &Results, engine: Option<&EngineInfo>, relation: &str) -> Option<Figure> {
    let (mut ranges, mut own, mut adjusted, mut behind) = (Vec::new(), Vec::new(), Vec::new(), None);
    let asked = results.relations.iter().find(|r| r.value.relation == relation).map(|r| &r.value.prompts);
    let typed = |prompt: &String| asked.is_some_and(|asked| !asked.contains(prompt));
    for (category, model) in results.models().into_iter().enumerate() {
        let mine = || results.scores.iter().filter(|s| s.model == model && s.value.relation == relation);
        let range = |typed_ones: bool| {
            let of = mine().filter(|s| typed(&s.value.prompt) == typed_ones);
            let dots: Vec<f64> = of.clone().map(|s| s.value.p_at_1.mean).collect();
            let n = of.clone().next()?.n.into();
            let lo = dots.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = dots.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mean = (!typed_ones).then(|| dots.iter().sum::<f64>() / dots.len() as f64);
            Some(Range { category, ends: (lo, hi), mean, dots, n })
        };
        own.extend(range(true));
        let Some(measured) = range(false) else { continue };
        behind = behind.or(mine().next());
        ranges.push(measured);
        if let Some(a) = results.adjusted_of(relation, model) {
            let e = a.value.p_at_1;
            let ends = (e.lo, e.hi);
            adjusted.push(Range { category, ends, mean: Some(e.mean), dots: Vec::new(), n: a.n.into() });
        }
    }
    let is_cut = adjusted.iter().any(|a| a.ends.0 < a.ends.1 && (a.ends.0 == 0.0 || a.ends.1 == 1.0));
    let method = OF_FACTS.to_owned() + if is_cut { CUT } else { "" };
    let mut layers = Vec::new();
    if !ranges.is_empty() {
        layers.push(Layer::Ranges(Ranges {
            label: "range and mean over prompts, usual name".into(),
            dots: "one prompt".into(),
            role: Role::points(0, Marker::Circle),
            ranges,
            ..Ranges::default()
        }));
    }
    if !own.is_empty() {
        let role = Role::points(2, Marker::Diamond);
        layers.push(Layer::Ranges(Ranges { label: "your own prompts".into(), role, ranges: own, ..Ranges::default() }));
    }
    if !adjusted.is_empty() {
        let role = Role::points(1, Marker::Square);
        let label = ADJUSTED.to_owned();
        layers.push(Layer::Ranges(Ranges { label, role, ranges: adjusted, are_intervals: true, ..Ranges::default() }));
        layers.extend(covering(behind, "facts"));
    }
    figure(
        (results, engine),
        (format!("prompts-{relation}"), format!("P@1 over prompts: {relation}")),
        (Axis::of("model", models(results)), Axis::linear("P@1").from_to(0.0, 1.0)),
        layers,
        (behind, "facts", &method, &[("usual name", USUAL), ("adjusted", AVERAGED)]),
    )
}

/// Ranks of the models under each prompt of a relation; ties share the mean rank.
pub fn ranks(results: &Results, engine: Option<&EngineInfo>, relation: &str) -> Option<Figure> {
    let (names, prompts) = (results.models(), results.prompts(relation));
    let mut lines: Vec<RankLine> = names
        .iter()
        .enumerate()
        .map(|(k, m)| RankLine { label: in_print(m).to_owned(), role: Role::nth(k), ranks: Vec::new() })
        .collect();
    for prompt in &prompts {
        let scores: Option<Vec<f64>> =
            names.iter().map(|m| results.score(relation, prompt, m).map(|s| s.value.p_at_1.mean)).collect();
        let places = scores.map(|s| places(&s, |a, b| a.total_cmp(b), Ties::MeanPlace));
        for (k, line) in lines.iter_mut().enumerate() {
            // Rank 0 is the worst in the data; rank 1 is the best in the figure.
            line.ranks.push(places.as_ref().map(|p| names.len() as f64 - f64::from(p[k]) / 2.0));
        }
    }
    let behind = results.scores.iter().find(|s| s.value.relation == relation);
    let layers = if behind.is_some() { vec![Layer::Ranks(Ranks { lines })] } else { Vec::new() };
    let mut drawn = figure(
        (results, engine),
        (format!("ranks-{relation}"), format!("Ranks of models over prompts: {relation}")),
        (
            // Prompts are stored with a space before punctuation.
            Axis::of("prompt", prompts.iter().map(|p| p.replace(" .", ".").replace(" ,", ","))),
            Axis::ranks("rank by P@1 (1: best)", names.len()),
        ),
        layers,
        (
            behind,
            "facts",
            "",
            &[(
                "shared rank",
                "equal P@1: tied models have the mean of their ranks, such as 1.5, and are drawn side by side",
            )],
        ),
    )?;
    let facts = behind.map_or(1, |b| b.n.max(1));
    let text = format!(
        "ranks use the measured P@1 and ignore its uncertainty: one of {facts} facts changes P@1 by {:.2}, so models with similar P@1 may swap ranks by chance",
        1.0 / facts as f64
    );
    drawn.provenance.entries.push((String::new(), figure::capital(&text)));
    Some(drawn)
}

/// Verbalisation stability of every model: the mean over relations, or the value for one relation.
pub fn stability(results: &Results, engine: Option<&EngineInfo>, relation: Option<&str>) -> Option<Figure> {
    let (mut bars, mut relations) = (Vec::new(), 0);
    for (k, model) in results.models().into_iter().enumerate() {
        let mine = results.stability.iter().filter(|s| s.model == model);
        let mine = mine.filter(|s| relation.is_none_or(|r| s.value.relation == r));
        let each: Vec<(Estimate, usize)> = mine.filter_map(|s| s.value.stability.map(|e| (e, s.n))).collect();
        if each.is_empty() {
            continue;
        }
        let mean = each.iter().map(|e| e.0.mean).sum::<f64>() / each.len() as f64;
        // One relation has its own interval; the mean over all relations has the interval of the summary.
        let over_all = results.summaries.iter().find(|s| s.model == model).and_then(|s| s.value.mean_stability);
        let one = match relation {
            Some(_) => each.first().and_then(|e| band(e.0)),
            None => over_all.and_then(band),
        };
        let n: usize = each.iter().map(|e| e.1).sum();
        relations = relations.max(each.len());
        bars.push(Bar { band: one, n: n.into(), ..Bar::of(k, mean) });
    }
    let title = relation.map_or("mean over relations".to_owned(), str::to_owned);
    let name = relation.map_or("stability".to_owned(), |r| format!("stability-{r}"));
    let mut layers = match bars.is_empty() {
        true => Vec::new(),
        false => vec![Layer::Bars(Bars { label: "stability".into(), role: Role::nth(0), bars })],
    };
    let over = if relation.is_some() { "subjects" } else { "relations" };
    layers.extend(covering(results.stability.first(), over));
    let (units, method) = match relation {
        Some(_) => ("subjects".to_owned(), "Student's t over subjects".to_owned()),
        None => (format!("subjects of {relations} relations"), of_means(relations, "0 and 1")),
    };
    figure(
        (results, engine),
        (name, format!("Same answer under every name of a subject: {title}")),
        (Axis::of("model", models(results)), Axis::linear("stability (share of subjects)").from_to(0.0, 1.0)),
        layers,
        (results.stability.first(), &units, &method, &[]),
    )
}

/// Parts of the gap between two models, as the standard deviation that each choice adds.
pub fn ledger(results: &Results, engine: Option<&EngineInfo>, a: &str, b: &str) -> Option<Figure> {
    let found = results.ledger(a, b)?;
    let v = &found.value;
    let parts = [v.parts.prompt, v.parts.mention, v.parts.sample, v.parts.residual, v.parts.total];
    let root = |x: f64| x.max(0.0).sqrt();
    let bars = parts.iter().enumerate().map(|(k, e)| Bar {
        band: Some((root(e.lo), root(e.hi))),
        n: found.n.into(),
        ..Bar::of(k, root(e.mean))
    });
    let names = ["prompt", "name", "sample", "rest", "all four", "models"].map(str::to_owned);
    let (label, role) = ("SD of the difference over draws".into(), Role::nth(0));
    let bars = Layer::Bars(Bars { label, role, bars: bars.collect() });
    // The absolute value, because standard deviations have no sign. If the signed interval contains 0, so does the interval of the absolute
    // value.
    let gap = v.parts.model_itself;
    let ends = (gap.lo.abs().min(gap.hi.abs()), gap.lo.abs().max(gap.hi.abs()));
    let lo = if gap.lo * gap.hi <= 0.0 { 0.0 } else { ends.0 };
    let (x, y, y_band) = (parts.len() as f64, gap.mean.abs(), Some((lo, ends.1)));
    let highest = parts.iter().map(|e| root(e.hi)).fold(ends.1, f64::max);
    let points = vec![Spot { x, y, y_band, n: found.n.into(), ..Spot::default() }];
    let role = Role::points(BLACK, Marker::Square);
    let mut layers = vec![
        bars,
        Layer::Points(Points { label: "absolute difference, averaged over prompts and names".into(), role, points }),
    ];
    layers.extend(covering(Some(found), "relations"));
    let method =
        format!("{}; the limits for an SD are the square roots of those for its variance", of_means(v.relations, "0"));
    figure(
        (results, engine),
        (
            format!("ledger-{}-{}", in_print(&v.a), in_print(&v.b)),
            format!("Sources of variation in the P@1 difference between {} and {}", in_print(&v.a), in_print(&v.b)),
        ),
        (Axis::of("source of variation", names), Axis::linear("SD or absolute difference (P@1)").around(0.0, highest)),
        layers,
        (Some(found), &format!("facts of {} relations", v.relations), &method, &LEDGER),
    )
}

/// P@1 after further pretraining, against the share of sentences that state facts.
pub fn disparity(results: &Results, engine: Option<&EngineInfo>) -> Option<Figure> {
    let mut names: Vec<&str> = results.disparity.iter().map(|d| d.model.as_str()).collect();
    names.dedup();
    let mut layers = Vec::new();
    for (k, model) in names.iter().enumerate() {
        let mine = || results.disparity.iter().filter(|d| d.model == **model);
        let point = |d: &Tagged<super::finding::DisparityFinding>| {
            let x = d.value.gamma?;
            let (y, band) = (d.value.p_at_1.mean, band(d.value.p_at_1));
            Some(Datum { x, y, band, n: d.n.into(), ..Datum::default() })
        };
        let mut points: Vec<Datum> = mine().filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        if !points.is_empty() {
            layers.push(Layer::Line(Line { label: in_print(model).to_owned(), role: Role::nth(k), points }));
        }
        if let Some(before) = mine().find(|d| d.value.gamma.is_none()) {
            let label = format!("{}, not trained further", in_print(model));
            layers.push(Layer::Rule(Rule::level(before.value.p_at_1.mean, label)));
        }
    }
    let shares = results.disparity.iter().map(|d| (d.value.p_at_1.mean, d.n));
    figure(
        (results, engine),
        ("disparity".into(), "P@1 after further pretraining on more or fewer facts".into()),
        (
            Axis::linear("γ (share of sentences that state facts)"),
            Axis::linear("P@1 of the best token").from_to(0.0, 1.0),
        ),
        layers,
        (results.disparity.first(), "facts", &of_shares(shares, "facts"), &[]),
    )
}

/// The causal model with the path of a bias highlighted.
pub fn causal(bias: Option<Bias>) -> Figure {
    let graph: Graph = graph(bias);
    let title = bias.map_or("The causal model of a prompt probe".to_owned(), |b| {
        format!("Backdoor path of {}: {}", b.title(), b.letters())
    });
    let name = bias.map_or(CAUSAL.to_owned(), causal_name);
    let mut origin = Origin::default();
    origin.add("arrows", "causal influences");
    if let Some(bias) = bias {
        let cause = bias.common_cause();
        let text = format!("a common cause, here {cause}, lets M and E vary together without M causing it");
        origin.add("backdoor path", text);
        if bias.letters().contains('_') {
            origin.add("D_a, D_b", "D with the subscripts a (pretraining data) and b (probing data)");
        }
    }
    origin.add("published", "Cao et al. 2022, Figure 2");
    Figure { name, title, layers: vec![Layer::Graph(graph)], provenance: origin.computed_by(None), ..Figure::default() }
}

/// Every figure with data.
pub fn all(results: &Results, engine: Option<&EngineInfo>) -> Vec<Figure> {
    let ids = || results.relations.iter().map(|r| r.value.relation.as_str());
    let mut out: Vec<Figure> = ids().filter_map(|id| prompts(results, engine, id)).collect();
    out.extend(ids().filter_map(|id| ranks(results, engine, id)));
    out.extend(
        [
            preference(results, engine),
            turned(results, engine),
            stability(results, engine, None),
            consistency(results, engine),
            curve(results, engine),
            disparity(results, engine),
        ]
        .into_iter()
        .flatten(),
    );
    // With two models, the ranks of the second are the reverse of the first's.
    let all = results.models();
    let several = if all.len() == 2 { &all[..1] } else { &all[..] };
    out.extend(several.iter().filter_map(|m| places_of(results, engine, m, None)));
    out.extend(results.ledgers.iter().filter_map(|l| ledger(results, engine, &l.value.a, &l.value.b)));
    if !results.relations.is_empty() {
        out.extend(Bias::ALL.map(|b| causal(Some(b))));
    }
    out
}

/// The figure with this name. `relation`, `model` and `with` select its content; each defaults to the first.
///
/// # Errors
/// A sentence that lists the available figures.
pub fn pick(
    name: &str,
    details: &Details<'_>,
    results: &Results,
    engine: Option<&EngineInfo>,
) -> Result<Figure, String> {
    let keys = ["relation", "with"];
    if let Some((key, _)) = details.more.iter().find(|(key, _)| !keys.contains(key)) {
        return Err(unknown("option for this lab's figures", key, &keys));
    }
    if name == CAUSAL {
        return Ok(causal(None));
    }
    if let Some(bias) = Bias::ALL.into_iter().find(|b| name == causal_name(*b)) {
        return Ok(causal(Some(bias)));
    }
    if let Some(own) = name.strip_suffix(paper::SUFFIX).filter(|own| paper::FIGURES.contains(own)) {
        let below = paper::beneath(own, pick(own, details, results, engine).ok(), results);
        return below.ok_or_else(|| format!("the session has no results for the figure `{own}`"));
    }
    let names: Vec<&str> = ENTRIES.iter().map(|e| e.name).collect();
    if !names.contains(&name) {
        return Err(unknown("figure", name, &names));
    }
    let detail = |key: &str| details.more.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let ids: Vec<&str> = results.relations.iter().map(|r| r.value.relation.as_str()).collect();
    let relation = match detail("relation") {
        Some(id) if !ids.contains(&id) => return Err(format!("relation {}", is_unknown(id, &ids))),
        Some(id) => Some(id),
        None => None,
    };
    let names = results.models();
    let model = match details.model {
        Some(m) if !names.contains(&m) => return Err(format!("model {}", is_unknown(m, &names))),
        other => other.or(names.first().copied()).unwrap_or_default(),
    };
    let with = match detail("with") {
        Some(m) if !names.contains(&m) => return Err(format!("model {}", is_unknown(m, &names))),
        Some(m) if m == model => return Err(format!("`{m}` cannot be compared with itself: choose another model")),
        other => other,
    };
    let other = with.or(names.iter().copied().find(|m| *m != model)).unwrap_or_default();
    let first = relation.or(ids.first().copied()).unwrap_or_default();
    let found = match name {
        "prompts" => prompts(results, engine, first),
        "ranks" => ranks(results, engine, first),
        "preference" => preference(results, engine),
        "turned" => turned(results, engine),
        "stability" => stability(results, engine, relation),
        "consistency" => consistency(results, engine),
        "places" => places_of(results, engine, model, None),
        "curve" => curve(results, engine),
        "ledger" => ledger(results, engine, model, other),
        _ => disparity(results, engine),
    };
    found.ok_or_else(|| format!("the session has no results for the figure `{name}`"))
}

/// The style of a model by its index in the run.
pub fn look(k: usize) -> Role {
    if k == BLACK { Role::nth(k) } else { Role::points(k, MARKERS[k % MARKERS.len()]) }
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;

//! Published results of Cao et al. (2022), drawn beneath the results of the run: Tables 1, 3 and 4 and Figure 5, from their published
//! result files (32 relations of LAMA's T-REx, without N-M relations).

mod tables;

pub use self::tables::all as tables;

use super::consistency::Regime;
use super::figures::{APART, TURNS, in_two_panels, with_p_at_1};
use super::results::Results;
use figure::layers::{Datum, Line, Points, Range, Ranges, Rule, Spot};
use figure::role::{BLACK, Dash};
use figure::{Axis, Figure, Layer, Marker, Role};

/// Number of relations in the means.
const RELATIONS: usize = 32;
/// Number of draws for the rank consistencies.
const DRAWS: usize = 1000;

/// A model's P@1 over prompts, averaged over relations (Table 1).
struct Spread {
    model: &'static str,
    worst: f64,
    best: f64,
    /// Population standard deviation.
    std: f64,
    /// Number of relations with a gap above 10 points, out of [`RELATIONS`].
    over_10: usize,
}

const PREFERENCE: [Spread; 4] = [
    Spread { model: "bert-large-cased", worst: 0.2345, best: 0.4673, std: 0.0875, over_10: 23 },
    Spread { model: "roberta-large", worst: 0.1564, best: 0.4135, std: 0.0907, over_10: 25 },
    Spread { model: "gpt2-xl", worst: 0.1119, best: 0.3352, std: 0.0856, over_10: 20 },
    Spread { model: "bart-large", worst: 0.1621, best: 0.3893, std: 0.0835, over_10: 22 },
];

/// Share of relations on which the order of the four models changes with the prompt, as stated in the text (31 of 32).
const UNSTABLE: f64 = 0.9688;
/// The underlying counts, with a note that the published result files give a different number.
pub const TURNED_NOTE: &str = "90 of 128 pairs over 10 points apart; the order changes on 31 of 32 relations according to the text (drawn), and on 30 according to the result files";

/// Verbalisation stability, averaged over relations (Figure 5).
const STABILITY: [(&str, f64); 4] =
    [("bert-large-cased", 0.3633), ("roberta-large", 0.3306), ("gpt2-xl", 0.3577), ("bart-large", 0.3041)];

/// Shares of sentences that state facts.
const GAMMAS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];

/// P@1 after further pretraining on each mixture, and P@1 of the original model (Table 3).
const DISPARITY: [(&str, [f64; 6], f64); 3] = [
    ("bert-base-cased", [0.3055, 0.3576, 0.3868, 0.3873, 0.3979, 0.4015], 0.3713),
    ("bert-large-cased", [0.3308, 0.3955, 0.3974, 0.4069, 0.4148, 0.4251], 0.3908),
    ("gpt2-medium", [0.2219, 0.2823, 0.3026, 0.3120, 0.3191, 0.3309], 0.2262),
];

/// Rank consistency under the original, random and adjusted regimes (Table 4 and its result file).
const CONSISTENCY: [(&str, [f64; 3]); 8] = [
    ("bert-base-cased", [0.564, 0.454, 0.865]),
    ("bert-large-cased", [1.0, 0.781, 1.0]),
    ("roberta-base", [0.757, 0.440, 0.778]),
    ("roberta-large", [0.561, 0.422, 0.865]),
    ("gpt2-medium", [0.635, 0.407, 0.982]),
    ("gpt2-xl", [0.742, 0.357, 0.778]),
    ("bart-base", [0.634, 0.616, 0.982]),
    ("bart-large", [0.977, 0.613, 1.0]),
];
/// Rank consistency for the order of all eight models.
const WHOLE: [f64; 3] = [0.255, 0.055, 0.685];

/// Figures with published numbers.
pub const FIGURES: [&str; 5] = ["preference", "turned", "stability", "consistency", "disparity"];
/// Description of the published rank consistencies.
const EIGHT: &str =
    "BERT, RoBERTa, GPT-2 and BART in two sizes each; with more models, the same order recurs less often";

/// The experiment behind the published scores after further pretraining.
const MIXED: &str = "each model is pretrained further: a share γ of the sentences states queried facts (LAMA's evidence), and the rest is open web text; even γ = 0 changes a score";

/// Legend label of the scores before further pretraining.
const BEFORE: &str = "before further pretraining (mark on the axis)";
/// Legend label of the published results.
const LABEL: &str = "Cao et al. 2022";
/// Suffix in the names of figures with published numbers.
pub(crate) const SUFFIX: &str = "-published";

/// Adds the published numbers beneath a figure whose name is one of [`FIGURES`]. If the run has no such figure, the published numbers are
/// drawn alone where possible. Other figures are returned unchanged.
pub fn beneath(name: &str, figure: Option<Figure>, results: &Results) -> Option<Figure> {
    let (layers, source) = match name {
        "preference" => (preference(figure.as_ref()?), "Table 1"),
        "turned" => (turned(figure.as_ref()?), "Table 1 and text"),
        "stability" => (stability(figure.as_ref()?), "Figure 5"),
        "consistency" => (consistency(figure.as_ref()?, results), "Table 4"),
        "disparity" => (disparity(figure.is_some()), "Table 3"),
        _ => return figure,
    };
    let mut figure = figure.unwrap_or_else(|| Figure {
        name: "disparity".into(),
        title: "Published P@1 after further pretraining on more or fewer facts".into(),
        x: Axis::linear("γ (share of sentences that state facts)"),
        y: Axis::linear("P@1").from_to(0.2, 0.45),
        ..Figure::default()
    });
    match name {
        "preference" => figure.x.categories.extend(PREFERENCE.map(|p| p.model.to_owned())),
        "turned" => {
            let order = "all four".to_owned();
            figure.x.categories.extend(PREFERENCE.map(|p| p.model.to_owned()).into_iter().chain([order]));
            figure = in_two_panels(figure);
        }
        "consistency" => {
            let models = shared(results).into_iter().map(|row| row.0.to_owned());
            figure.x.categories.extend(models.chain(["eight models".to_owned()]));
        }
        "stability" => figure.x.categories.extend(STABILITY.map(|p| p.0.to_owned())),
        _ => {}
    }
    // Points must be drawn above bars to be visible.
    let at = if name == "disparity" { 0 } else { figure.layers.len() };
    figure.layers.splice(at..at, layers);
    if name == "consistency" {
        figure.x.label = "models".into();
        end_at_divider(&mut figure.layers);
        figure.provenance.terms.push(("eight models".into(), EIGHT.into()));
    }
    figure.name.push_str(SUFFIX);
    let base = match name {
        "consistency" => "shares of 1,000 draws of 20 of 32 relations",
        "turned" => "shares of 32 relations",
        _ => "means over 32 relations",
    };
    let has_own = figure.layers.iter().any(|l| matches!(l, Layer::Rule(rule) if rule.upright));
    let other = if has_own { "; other models and relations, not directly comparable" } else { "" };
    let published = format!("Cao et al. 2022, {source}; {base}, without intervals{other}");
    figure.provenance.entries.push(("published".into(), published));
    if name == "disparity" {
        figure.provenance.entries.push(("experiment".into(), MIXED.into()));
    }
    if name == "turned" {
        figure.provenance.entries.push(("published".into(), TURNED_NOTE.into()));
    }
    if name == "disparity" {
        figure = with_p_at_1(figure);
    }
    Some(figure)
}

fn spot((x, y): (usize, f64)) -> Spot {
    Spot { x: x as f64, y, n: RELATIONS.into(), ..Spot::default() }
}

/// Points with open markers, which the run's own measurements never use.
fn open(label: String, role: Role, points: Vec<Spot>) -> Layer {
    Layer::Points(Points { label, role: role.faint(), points })
}

/// A line that separates the run's categories from the published ones, which begin at `first`.
fn divide(first: usize) -> Layer {
    Layer::Rule(Rule::upright(first as f64 - 0.5, "this run | published"))
}

/// Ends the rule at the run's least possible share before the published models, whose least possible share is lower.
fn end_at_divider(layers: &mut [Layer]) {
    let mut rules: Vec<&mut Rule> =
        layers.iter_mut().filter_map(|l| if let Layer::Rule(rule) = l { Some(rule) } else { None }).collect();
    let divider = rules.iter().find(|rule| rule.upright).map(|rule| rule.at);
    for rule in rules.iter_mut().filter(|rule| !rule.upright) {
        (rule.until, rule.in_legend) = (divider, true);
    }
}

fn preference(figure: &Figure) -> Vec<Layer> {
    let first = figure.x.categories.len();
    let range = |(k, p): (usize, &Spread)| Range {
        category: first + k,
        ends: (p.worst, p.best),
        mean: None,
        dots: Vec::new(),
        n: RELATIONS.into(),
    };
    let ranges = PREFERENCE.iter().enumerate().map(range).collect();
    let role = Role::points(BLACK, Marker::Circle).faint();
    vec![
        Layer::Ranges(Ranges { label: format!("worst to best prompt, {LABEL}"), role, ranges, ..Ranges::default() }),
        divide(first),
    ]
}

/// Layers for the paper's four models and for the order of all four.
fn turned(figure: &Figure) -> Vec<Layer> {
    let first = figure.x.categories.len();
    let over = PREFERENCE.iter().map(|p| p.over_10 as f64 / RELATIONS as f64);
    let over = over.enumerate().map(|(k, y)| spot((first + k, y))).collect();
    let order = vec![spot((first + PREFERENCE.len(), UNSTABLE))];
    let role = |panel| Role::points(0, Marker::Square).accent(panel);
    vec![
        open(format!("{APART}, published"), role(0), over),
        open(format!("{TURNS}, published"), role(1), order),
        divide(first),
    ]
}

fn stability(figure: &Figure) -> Vec<Layer> {
    let first = figure.x.categories.len();
    let points = STABILITY.iter().enumerate().map(|(k, (_, y))| spot((first + k, *y))).collect();
    vec![open(LABEL.into(), Role::points(BLACK, Marker::Circle), points), divide(first)]
}

/// Models of the run that are also in the paper, with their published shares.
fn shared(results: &Results) -> Vec<(&'static str, [f64; 3])> {
    let of = |model: &str| {
        let last = model.trim_end_matches(['/', '\\']).rsplit(['/', '\\', ':']).next().unwrap_or(model);
        CONSISTENCY.iter().find(|c| c.0 == last).copied()
    };
    results.models().into_iter().filter_map(of).collect()
}

/// Layers for the order of the paper's eight models, and for those models that are also in the run. They have separate categories, because
/// they are ranked among eight models.
fn consistency(figure: &Figure, results: &Results) -> Vec<Layer> {
    let first = figure.x.categories.len();
    let rows: Vec<[f64; 3]> = shared(results).into_iter().map(|row| row.1).chain([WHOLE]).collect();
    let layer = |(k, regime): (usize, Regime)| {
        // The points are side by side, like the bars of the three regimes.
        let x = |row: usize| (first + row) as f64 + 0.15 * (k as f64 - 1.0);
        let spot =
            |(row, shares): (usize, &[f64; 3])| Spot { x: x(row), y: shares[k], n: DRAWS.into(), ..Spot::default() };
        open(format!("{}, published", regime.name()), Role::nth(k), rows.iter().enumerate().map(spot).collect())
    };
    Regime::ALL.into_iter().enumerate().map(layer).chain([divide(first)]).collect()
}

/// Published lines, drawn faintly if they are beneath the run's lines.
fn disparity(beneath: bool) -> Vec<Layer> {
    let role = |k: usize| if beneath { Role::nth(3 + k).dash(Dash::Dotted).faint() } else { Role::nth(k) };
    let line = |(k, (model, scores, _)): (usize, &(&str, [f64; 6], f64))| {
        let point = |(x, y): (&f64, &f64)| Datum { x: *x, y: *y, n: RELATIONS.into(), ..Datum::default() };
        Layer::Line(Line {
            label: if beneath { format!("{model}, {LABEL}") } else { (*model).to_owned() },
            role: role(k),
            points: GAMMAS.iter().zip(scores).map(point).collect(),
        })
    };
    let before = |(k, (.., untouched)): (usize, &(&str, [f64; 6], f64))| {
        let points = vec![Spot { x: 0.0, y: *untouched, n: RELATIONS.into(), ..Spot::default() }];
        let role = Role { dash: None, ..role(k).marker(Marker::Stroke) };
        Layer::Points(Points { label: BEFORE.into(), role, points })
    };
    let each = || DISPARITY.iter().enumerate();
    each().map(line).chain(each().map(before)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::figures;
    use super::super::testing::results;
    use super::*;
    use figure::{Format, Options, render};

    /// Two statements in the paper's text follow from these numbers: the mean gap, and the claim that adjustment stabilises the order.
    #[test]
    fn published_numbers_are_consistent() {
        for (p, gap) in PREFERENCE.iter().zip([0.2328, 0.2572, 0.2233, 0.2272]) {
            assert!((p.best - p.worst - gap).abs() < 2e-4);
            assert!(p.std < gap / 2.0, "{}: no spread is wider than half its range", p.model);
        }
        assert_eq!(PREFERENCE.iter().map(|p| p.over_10).sum::<usize>(), 90);
        assert!((UNSTABLE - 31.0 / RELATIONS as f64).abs() < 1e-4);
        assert!(DISPARITY.iter().all(|d| d.1.is_sorted()), "P@1 rises with γ");
        assert!(DISPARITY[..2].iter().all(|d| d.1[0] < d.2), "BERT falls below its own score at γ 0");
        let gap = |k: usize| DISPARITY[1].1[k] - DISPARITY[2].1[k];
        assert!(gap(5) < gap(0), "BERT and GPT-2 come closer");
        const { assert!(WHOLE[1] < WHOLE[0] && WHOLE[0] < WHOLE[2]) };
        for (model, [original, random, adjusted]) in CONSISTENCY {
            let least = 1.0 / 8.0;
            assert!([original, random, adjusted].iter().all(|c| (least..=1.0).contains(c)), "{model}");
            assert!(random <= original && adjusted >= original, "{model}");
        }
    }

    #[test]
    fn published_layers_are_beneath_the_runs() {
        let results = results();
        for name in FIGURES {
            let pick = |name: &str| figures::pick(name, &lab::Details::default(), &results, None);
            let (mut own, both) = (pick(name).unwrap(), pick(&format!("{name}{SUFFIX}")).unwrap());
            // The rule at the run's least possible share ends before the published models, which have a lower one.
            if name == "consistency" {
                own.layers.push(divide(own.x.categories.len()));
                end_at_divider(&mut own.layers);
                own.layers.pop();
            }
            assert_eq!(both.name, format!("{}{SUFFIX}", own.name));
            let more = both.layers.len() - own.layers.len();
            assert!(more > 0, "{name}");
            // Regression: points on bars used to be hidden behind taller bars.
            let rest = if name == "disparity" { &both.layers[more..] } else { &both.layers[..own.layers.len()] };
            assert_eq!(rest, &own.layers[..], "{name}");
            assert!(both.provenance.entries.iter().any(|(_, v)| v.contains("Cao et al. 2022")));
            // Regression: no line used to divide the published rank consistencies from the run's.
            let divides = |layer: &Layer| matches!(layer, Layer::Rule(rule) if rule.upright);
            assert_eq!(both.layers.iter().any(divides), name != "disparity", "{name}");
            for format in [Format::Svg, Format::Csv] {
                let bytes = render(&both, format, &Options::default()).unwrap();
                assert!(String::from_utf8(bytes).unwrap().contains("published"), "{name} as {format:?}");
            }
        }
        assert_eq!(beneath("curve", None, &results), None);
    }

    #[test]
    fn published_disparity_is_drawn_alone_if_needed() {
        let none = Results::default();
        let figure = beneath("disparity", None, &none).unwrap();
        assert_eq!(
            (figure.layers.len(), figure.name.as_str()),
            (6, "disparity-published"),
            "lines, and dashes for the original scores"
        );
        assert_eq!(beneath("preference", None, &none), None);
    }

    #[test]
    fn paper_models_show_their_published_numbers() {
        let mut results = results();
        results.data.as_mut().unwrap().value.models[1].name = "openai-community/gpt2-xl".into();
        let figure = figures::consistency(&results, None).unwrap();
        let Layer::Points(random) = &consistency(&figure, &results)[1] else { panic!() };
        let spots: Vec<(f64, f64)> = random.points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(spots, [(4.0, 0.357), (5.0, 0.055)]);
        // Regression: these points used to be drawn on the run's bars, as if they belonged to its models.
        let both = beneath("consistency", Some(figure.clone()), &results).unwrap();
        assert_eq!(both.x.categories[figure.x.categories.len()..], ["gpt2-xl", "eight models"]);
        let turned = beneath("turned", figures::turned(&results, None), &results).unwrap();
        let Some(Layer::Points(points)) = turned.layers.iter().rev().find(|l| matches!(l, Layer::Points(_))) else {
            panic!()
        };
        let own = figures::turned(&results, None).unwrap().x.categories.len();
        assert!(points.points.iter().all(|p| p.x >= own as f64), "{points:?}");
    }
}

//! Tests of the curves and of the sources of their intervals.

use super::*;
use crate::sample;
use figure::{Format, Options, Scale, render};

const N: &str = "2,400 test examples (C), 410 with the property to keep (S)";

/// Regression: for the same edit, R used to be .70 in the figure and .68 in the table.
#[test]
fn caption_explains_held_out_scores() {
    let caption = |results: &Results| {
        let figure = curves(results, None, "bert-mini", &keys(&["pgd"]), OracleKind::Mlp, None);
        figure::caption(&figure.unwrap())
    };
    let mut results = sample::results();
    assert!(caption(&results).contains(ALL_EXAMPLES), "{}", caption(&results));
    results.optima.clear();
    assert!(!caption(&results).contains(ALL_EXAMPLES), "{}", caption(&results));
}

/// Regression: an exported figure looked more certain than the screen, which names a method without a best strength.
#[test]
fn caption_names_methods_without_best_strength() {
    let mut results = sample::results();
    let best = results.optima.iter().find(|o| o.value.method == "pgd" && o.value.oracle == OracleKind::Mlp).unwrap();
    results.without.push(sample::no_optimum(best.clone(), "too few examples"));
    let says = |results: &Results| {
        let curves = curves(results, None, "bert-mini", &keys(&["pgd"]), OracleKind::Mlp, None);
        let plane = pareto(results, None, "bert-mini", OracleKind::Mlp);
        [curves, plane].map(|f| figure::caption(&f.unwrap()).contains("No best strength (!): PGD, too few examples."))
    };
    assert_eq!(says(&results), [false; 2], "the method has a best strength");
    results.optima.clear();
    assert_eq!(says(&results), [true; 2]);
}

#[test]
fn curves_follow_the_paper() {
    let results = sample::results();
    let figure = curves(&results, None, "bert-mini", &keys(&["pgd"]), OracleKind::Mlp, Some(0.112)).unwrap();
    let lines: Vec<&Line> = lines(&figure);
    let of = |label: &str, dash, hue| (label.to_owned(), Some(dash), hue, 29);
    assert_eq!(
        lines.iter().map(|l| (l.label.clone(), l.role.dash, l.role.hue, l.points.len())).collect::<Vec<_>>(),
        [
            of("completeness C", Dash::Dashed, 0),
            of("selectivity S", Dash::Dotted, 1),
            of("reliability R", Dash::Solid, 6)
        ],
        "one method: a colour for each score"
    );
    assert_eq!(figure.x.scale, Scale::Log);
    let rules: Vec<(f64, &str)> = figure
        .layers
        .iter()
        .filter_map(|l| if let Layer::Rule(r) = l { Some((r.at, r.label.as_str())) } else { None })
        .collect();
    assert_eq!(rules, [(0.01, "C before"), (0.62, "S of a constant answer"), (0.112, "ε = 0.112")]);
    assert!(figure.provenance.entries.contains(&("n".into(), N.into())));
    let both = curves(&results, None, "bert-mini", &keys(&["fgsm", "pgd", "inlp"]), OracleKind::Mlp, None).unwrap();
    let drawn = both.layers.iter().filter(|l| matches!(l, Layer::Line(_))).count();
    assert_eq!(drawn, 6, "INLP sweeps another hyperparameter");
    let inlp = curves(&results, None, "bert-mini", &keys(&["inlp"]), OracleKind::Mlp, None).unwrap();
    assert_eq!((inlp.x.scale, inlp.x.whole), (Scale::Linear, true), "no tick at rank 1.5");
    assert_eq!(curves(&results, None, "gpt2-mini", &keys(&["pgd"]), OracleKind::Mlp, None), None);
}

/// With several properties to keep, each has a curve next to the labelled mean; with one there is one curve.
#[test]
fn selectivity_has_a_curve_for_each_of_several_properties() {
    let results = sample::several(sample::results());
    let figure = curves(&results, None, "bert-mini", &keys(&["pgd"]), OracleKind::Mlp, None).unwrap();
    let labels: Vec<&str> = lines(&figure).iter().map(|l| l.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "completeness C",
            "selectivity S (mean of 2)",
            "reliability R",
            "S on attractor number",
            "S on subject animacy"
        ]
    );
    let drawn = lines(&figure);
    let at = |k: usize| drawn[k].points[9].y;
    assert!((at(3) - (at(1) - 0.04)).abs() < 1e-9 && (at(4) - (at(1) - 0.06)).abs() < 1e-9, "each has its own curve");
    assert_eq!(drawn[4].points[9].n, Count::from(2400));
    let csv = String::from_utf8(render(&figure, Format::Csv, &Options::default()).unwrap()).unwrap();
    assert!(csv.lines().any(|l| l.starts_with("S on subject animacy")), "{csv}");
    let both = curves(&results, None, "bert-mini", &keys(&["fgsm", "pgd"]), OracleKind::Mlp, None).unwrap();
    assert_eq!(lines(&both).len(), 6, "with several methods only means are drawn");
}

fn keys(names: &[&str]) -> Vec<MethodKey> {
    names.iter().map(|n| MethodKey::named(n)).collect()
}

fn lines(figure: &Figure) -> Vec<&Line> {
    let each = figure.layers.iter();
    each.filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None }).collect()
}

/// Regression: C, S and R of a method used to share one colour with their bands, and the legend named only one of the three.
#[test]
fn scores_of_one_method_differ_in_colour() {
    let results = sample::results();
    let figure = curves(&results, None, "bert-mini", &keys(&["pgd"]), OracleKind::Mlp, None).unwrap();
    let mut hues: Vec<usize> = lines(&figure)[..3].iter().map(|l| l.role.hue).collect();
    hues.dedup();
    assert_eq!(hues.len(), 3);
    let named = |l: &Layer| matches!(l, Layer::Intervals(i) if i.wide.starts_with("95 %: examples"));
    assert!(figure.layers.iter().any(named));
    let both = curves(&results, None, "bert-mini", &keys(&["fgsm", "pgd"]), OracleKind::Mlp, None).unwrap();
    assert!(lines(&both)[..3].iter().all(|l| l.role.hue == look("fgsm").hue), "several methods have a colour each");
}

/// Regression: R used to be printed with only the n of C.
#[test]
fn reliability_shows_n_of_c_and_s() {
    let results = sample::results();
    let figure = curves(&results, None, "bert-mini", &keys(&["pgd"]), OracleKind::Mlp, None).unwrap();
    let counts: Vec<String> = lines(&figure).iter().map(|l| l.points[0].n.to_string()).collect();
    assert_eq!(counts, ["2,400", "410", "2,400 / 410"]);
    let csv = String::from_utf8(render(&figure, Format::Csv, &Options::default()).unwrap()).unwrap();
    let row = csv.lines().find(|l| l.starts_with("reliability R")).unwrap();
    assert!(row.ends_with(",2400,410"), "{row}");
    let plane = pareto(&results, None, "bert-mini", OracleKind::Mlp).unwrap();
    assert_eq!(lines(&plane)[0].points[0].n, Count::from((2400, 410)));
    let Some(Layer::Points(best)) = plane.layers.last() else { unreachable!() };
    assert!(best.points.iter().all(|p| p.n == Count::from((2400, 410))));
}

/// Regression: captions used to mention the answer on a screen, and to call intervals outer and inner although they look light and dark.
#[test]
fn captions_are_self_contained() {
    let figure = curves(&sample::results(), None, "bert-mini", &keys(&["pgd"]), OracleKind::Mlp, None).unwrap();
    let (caption, notes) = (figure::caption(&figure), figure::notes(&figure).join(" "));
    assert!(!caption.contains("answer") && !caption.contains("outer"), "{caption}");
    assert!(figure.x.label.starts_with("ε (largest"), "{caption}");
    assert!(notes.contains("MLP: multilayer perceptron."), "{notes}");
    let all = ["alterrep", "identity", "random"].map(|method| looks::written_out(method).is_some());
    assert_eq!(all, [true; 3]);
}

/// Figure 1 of the paper combines all attacks; the run has only one of the two methods in Figure 3.
#[test]
fn paper_figures_combine_methods() {
    let results = sample::results();
    let of = |name: &str| {
        let figure = FIGURES.iter().find(|f| f.name == name).unwrap();
        drawing(&results, None, "bert-mini", figure, None)
    };
    let first = of("figure-1").unwrap();
    assert!(first.title.starts_with("FGSM and PGD on bert-mini") && first.title.contains("(as Figure 1 of"));
    let rules = first.layers.iter().filter(|l| matches!(l, Layer::Rule(_))).count();
    assert_eq!(rules, 2, "references: C before any edit, and S of a constant answer");
    // Regression: one method used to have heavier lines although the intervals of both overlapped.
    assert!(lines(&first).len() == 6 && lines(&first).iter().all(|l| l.role.emphasis == figure::Emphasis::Normal));
    let caption = figure::caption(&first);
    assert!(
        caption.contains("Methods: FGSM, fast gradient sign method; PGD, projected gradient descent."),
        "{caption}"
    );
    let completeness =
        |figure: &Figure| figure::notes(figure).into_iter().find(|note| note.starts_with("Completeness"));
    assert!(completeness(&first).is_some_and(|note| note.contains("the other value of the edited property")));
    assert!(completeness(&of("figure-3").unwrap()).is_some_and(|note| note.contains("to uniform")));
    assert_eq!(lines(&of("figure-3").unwrap()).len(), 3);
    assert!(of("figure-4").is_none(), "no linear oracle ran");
}

/// Regression: `random` used to be drawn in the style of RLACE.
#[test]
fn random_control_has_its_own_style() {
    assert_ne!(look("random"), look("rlace"));
    assert_eq!(look("random"), Role::points(10, Marker::Down));
}

#[test]
fn figures_exist_only_with_results() {
    assert!(all(&Results::default(), None).is_empty());
    let figures = all(&sample::results(), None);
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!((names.len(), names.contains(&"figure-1-bert-mini")), (6, true), "{names:?}");
    for figure in &figures {
        assert!(render(figure, Format::Svg, &Options::default()).is_ok(), "{}", figure.name);
    }
}

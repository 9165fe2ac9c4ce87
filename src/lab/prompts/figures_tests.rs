//! Tests of figures with a small set of made-up results.

use super::super::finding::{Kind, PromptScoreFinding};
use super::super::testing::results;
use super::*;
use figure::{Format, Options, render};

#[test]
fn figures_exist_only_with_results() {
    assert!(all(&Results::default(), None).is_empty());
    let results = results();
    let figures = all(&results, None);
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    for name in [
        "prompts-capital",
        "ranks-capital",
        "preference",
        "turned",
        "stability",
        "consistency",
        "curve",
        "disparity",
        "places-a",
        "ledger-a-b",
        "causal-prompt",
    ] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    for figure in &figures {
        for format in [Format::Svg, Format::Csv] {
            assert!(render(figure, format, &Options::default()).is_ok(), "{}", figure.name);
        }
    }
}

#[test]
fn best_rank_is_one_and_ties_share_ranks() {
    let figure = ranks(&results(), None, "capital").unwrap();
    let Layer::Ranks(Ranks { lines }) = &figure.layers[0] else { panic!() };
    // Prompt 0: a .4, b .2, c .2. Prompt 1: a .1, b .3, c .2.
    assert_eq!(lines[0].ranks, [Some(1.0), Some(3.0)]);
    assert_eq!(lines[1].ranks, [Some(2.5), Some(1.0)]);
    assert_eq!(lines[2].ranks, [Some(2.5), Some(2.0)]);
}

#[test]
fn prompt_dots_separate_user_prompts() {
    let mut results = results();
    let before = prompts(&results, None, "capital").unwrap();
    let dots = |f: &Figure| match &f.layers[0] {
        Layer::Ranges(Ranges { ranges, .. }) => ranges[0].dots.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(dots(&before), [0.4, 0.1]);
    let own = PromptScoreFinding { prompt: "[X] : [Y]".into(), prompt_index: None, ..results.scores[0].value.clone() };
    let finding = lab::Finding {
        lab: lab::LabId::Prompts,
        spec: "s".into(),
        model: "a".into(),
        seed: 0,
        n: 9,
        r#final: true,
        t: 0.0,
        level: Some(0.95),
        body: lab::Body::Lab(Kind::PromptScore(own)),
    };
    assert!(results.answer(3, lab::finding::kinds(&[finding])));
    let after = prompts(&results, None, "capital").unwrap();
    assert_eq!(dots(&after), [0.4, 0.1], "typed prompts do not change the mean");
    let own =
        |layer: &Layer| matches!(layer, Layer::Ranges(r) if r.label == "your own prompts" && r.ranges[0].dots == [0.4]);
    assert!(after.layers.iter().any(own), "{:?}", after.layers);
    assert_eq!(results.prompts("capital").len(), 3);
}

#[test]
fn unknown_figure_names_list_the_choices() {
    let results = results();
    let pick = |name: &str, more: Vec<(&str, &str)>| {
        super::pick(name, &Details { more, ..Details::default() }, &results, None)
    };
    assert_eq!(pick("prompts", vec![]).unwrap().name, "prompts-capital");
    assert_eq!(pick("ledger", vec![("with", "c")]).unwrap().name, "ledger-a-c");
    assert_eq!(pick("causal-sample", vec![]).unwrap().name, "causal-sample");
    assert_eq!(pick("causal", vec![]).unwrap().name, "causal");
    let told = pick("nothing", vec![]).unwrap_err();
    assert!(told.contains("causal-verbalization") && told.contains("disparity-published"), "{told}");
    assert!(pick("ledger", vec![("with", "d")]).unwrap_err().contains("model is `d`"));
    assert!(pick("ledger", vec![("with", "a")]).unwrap_err().contains("with itself"));
    assert!(pick("prompts", vec![("oracle", "mlp")]).unwrap_err().contains("relation, with"));
    assert!(pick("promts", vec![]).unwrap_err().contains("did you mean `prompts`"));
    assert!(pick("ranks", vec![("relation", "capitol")]).unwrap_err().contains("capital"));
    let none = super::pick("curve", &Details::default(), &Results::default(), None).unwrap_err();
    assert!(none.contains("no results for the figure"), "{none}");
}

/// Regression: gaps of single models and changes in the order of all models used to share one colour and one name.
#[test]
fn order_changes_and_large_gaps_have_separate_panels() {
    let mut results = results();
    results.summaries[0].value.unstable = Some(Estimate { mean: 0.7, lo: 0.6, hi: 0.8 });
    let figure = turned(&results, None).unwrap();
    let Layer::Bars(models) = &figure.layers[0] else { panic!("{figure:?}") };
    let Layer::Points(order) = &figure.layers[1] else { panic!("{figure:?}") };
    assert!(models.role.accent != order.role.accent && models.label != order.label);
    // Regression: both used to be drawn on one axis titled "model".
    assert_eq!((figure.x.panels.len(), figure.y.panels.len()), (2, 2));
    assert_eq!((models.bars.len(), order.points.len()), (figure.x.categories.len() - 1, 1));
    // Regression: the rule for candidates used to be part of the axis label.
    assert_eq!(figure.y.label, "share of relations");
    let caption = figure::caption(&figure);
    let notes = figure::notes(&figure);
    assert!(notes.iter().any(|note| note.starts_with("Answers: ")) && caption.contains("relations. "), "{caption}");
}

/// Regression: with two models, two figures used to show the same ranks, once in reverse.
#[test]
fn two_models_have_one_rank_figure() {
    let places = |results: &Results| all(results, None).iter().filter(|f| f.name.starts_with("places-")).count();
    let mut results = results();
    assert_eq!(places(&results), 3);
    results.data.as_mut().unwrap().value.models.truncate(2);
    assert_eq!(places(&results), 1);
}

/// Regression: the interval of the adjusted score used to be drawn in the style of a range over prompts.
#[test]
fn adjusted_score_interval_is_not_drawn_as_a_range() {
    let figure = prompts(&results(), None, "capital").unwrap();
    let kinds = figure.layers.iter().filter_map(|l| match l {
        Layer::Ranges(r) => Some((r.are_intervals, r.dots.is_empty())),
        _ => None,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), [(false, false), (true, true)]);
    assert_eq!(figure.y.range, Some((0.0, 1.0)), "the four relations share one axis");
    assert!(figure.layers.iter().any(|l| matches!(l, Layer::Intervals(i) if i.wide.ends_with("facts"))));
}

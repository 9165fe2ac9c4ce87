//! Tests that markers, intervals and legends cannot be mistaken for one another.

use super::*;
use crate::paper::bars::SPAN;

/// Lays out a figure on a page of `width` millimetres.
fn on<T>(figure: &Figure, width: f64, look: impl FnOnce(&Scene<'_>) -> T) -> T {
    let options = Options { style: Style::Paper, width: Some(width), dpi: None };
    let fonts = Fonts::own();
    look(&lay_out(figure, &fonts, &[], options.look()).unwrap())
}

fn place(scene: &Scene<'_>, wanted: &str) -> Option<At> {
    scene.items.iter().find_map(|item| match item {
        Item::Text { text, at, .. } if text == wanted => Some(*at),
        _ => None,
    })
}

/// The x positions of individual values, found by their radius.
fn values(scene: &Scene<'_>) -> Vec<f64> {
    let discs = scene.items.iter().filter_map(|item| match item {
        Item::Disc { at, radius, .. } if (radius - crate::paper::bars::VALUE).abs() < 0.01 => Some(at.0),
        _ => None,
    });
    discs.collect()
}

/// Regression: a range used to have the caps and middle line of an interval, and the dots for three prompts with equal scores used to
/// coincide.
#[test]
fn a_range_is_a_box_with_a_dot_for_each_value_and_an_interval_a_line_with_caps() {
    let of = |dots: &[f64]| Range { category: 0, ends: (0.2, 0.8), mean: Some(0.5), dots: dots.to_vec(), n: 9.into() };
    let layer = |are_intervals: bool, dots: &[f64]| {
        let (label, role) = ("scores".into(), Role::points(0, Marker::Circle));
        let ranges = vec![of(dots)];
        let dots = if are_intervals { String::new() } else { "one prompt".into() };
        Layer::Ranges(Ranges { label, dots, role, are_intervals, ranges })
    };
    let figure = |layer: Layer| Figure { x: Axis::of("model", ["a".to_owned()]), ..chart(vec![layer]) };
    let boxes = |scene: &Scene<'_>| {
        let is = |i: &&Item| matches!(i, Item::Fill { alpha, .. } if *alpha == SPAN);
        scene.items.iter().filter(is).count()
    };
    drawn(&figure(layer(false, &[0.5, 0.5, 0.5, 0.8])), |scene| {
        // One box in the chart and one in the legend; the axis is the only vertical line.
        assert_eq!((boxes(scene), strokes(scene, 60.0)), (2, 1));
        let mut at = values(scene);
        at.sort_by(f64::total_cmp);
        at.dedup_by(|a, b| (*a - *b).abs() < 0.5);
        assert!(at.len() >= 4, "three dots side by side, and one in the legend: {at:?}");
        assert!(place(scene, "one prompt").is_some());
    });
    drawn(&figure(layer(true, &[])), |scene| {
        assert_eq!((boxes(scene), strokes(scene, 60.0)), (0, 2), "the axis and the interval");
    });
}

/// Regression: stars used to hide each other and the knee, and leader lines of their labels used to look like intervals.
#[test]
fn the_best_strength_of_a_method_is_its_mark_in_a_ring() {
    let point = |x: f64| Datum { x, y: x, n: 9.into(), ..Datum::default() };
    let role = Role::nth(1).marker(Marker::Square);
    let line = Line { label: "method".into(), role, points: [0.1, 0.9].map(point).to_vec() };
    let best = Spot { x: 0.4, y: 0.6, n: 9.into(), label: "method".into(), hue: Some(1), ..Spot::default() };
    let knee = Spot { label: String::new(), ..best.clone() };
    let spots = |label: &str, marker, spot| {
        Layer::Points(Points { label: label.into(), role: Role::points(6, marker), points: vec![spot] })
    };
    let layers =
        vec![Layer::Line(line), spots("best strength", Marker::Star, best), spots("knee", Marker::Diamond, knee)];
    drawn(&chart(layers), |scene| {
        let rings = scene.items.iter().filter_map(|i| match i {
            Item::Disc { at, radius, colour } if *radius > 4.5 && *colour == scene.look.ink => Some((*at, *radius)),
            _ => None,
        });
        let rings: Vec<(At, f64)> = rings.collect();
        let holds = |points: &[At], at: At| points.iter().all(|p| (p.0 - at.0).hypot(p.1 - at.1) < 5.0);
        let is_mark = |i: &Item, at: At| matches!(i, Item::Fill { points, colour, .. } if points.len() == 4 && *colour == scene.look.series(1) && holds(points, at));
        assert_eq!(rings.len(), 2, "on the plane and in the legend");
        let marked = |(at, _): &&(At, f64)| scene.items.iter().any(|i| is_mark(i, *at));
        let (at, radius) = *rings.iter().find(marked).expect("a ring contains its line's square");
        // The knee's marker for the same setting surrounds it.
        let is_around = |i: &Item| {
            matches!(i, Item::Line { points, .. } if points.len() == 5 && points.iter().all(|p| {
                let away = (p.0 - at.0).hypot(p.1 - at.1);
                (radius..3.0 * radius).contains(&away)
            }))
        };
        assert!(scene.items.iter().any(is_around));
        assert_eq!(texts(scene).iter().filter(|t| *t == "method").count(), 1, "the name is only in the legend");
    });
}

/// Regression: scores before further pretraining used to differ only by colour.
#[test]
fn a_level_has_the_mark_of_its_line() {
    let point = |x: f64| Datum { x, y: 0.3, n: 9.into(), ..Datum::default() };
    let line = Line { label: "a".into(), role: Role::nth(1), points: [5.0, 6.0].map(point).to_vec() };
    let level = Points {
        label: "before".into(),
        role: Role::points(1, Marker::Stroke),
        points: vec![Spot { x: 5.0, y: 0.8, n: 9.into(), ..Spot::default() }],
    };
    drawn(&chart(vec![Layer::Line(line), Layer::Points(level)]), |scene| {
        let triangles = scene.items.iter().filter_map(|i| match i {
            Item::Fill { points, alpha, .. } if points.len() == 3 && *alpha == 1.0 => Some(points[0]),
            _ => None,
        });
        let first = place(scene, "5.0").unwrap().0;
        assert_eq!(triangles.filter(|(x, _)| *x < first - 4.0).count(), 1);
    });
}

fn few(layer: Layer) -> Layer {
    match layer {
        Layer::Line(mut line) => {
            line.points.iter_mut().for_each(|p| p.n.units = Some(2));
            Layer::Line(line)
        }
        other => other,
    }
}

/// Regression: means over one or two originals (sentences with their perturbed forms) used to be connected by lines, and their bars were
/// drawn in the normal colour instead of as marks.
#[test]
fn values_of_too_few_units_are_marks_that_no_line_joins() {
    let coloured = |scene: &Scene<'_>| {
        let colour = scene.look.series(0);
        scene.items.iter().filter(|i| matches!(i, Item::Line { pen, .. } if pen.colour == colour)).count()
    };
    assert!(drawn(&chart(vec![flat("a", 0.5, 9, 5)]), coloured) > 0);
    assert_eq!(drawn(&chart(vec![few(flat("a", 0.5, 9, 5))]), coloured), 0);
    let bar = |units| Bar { n: crate::layers::Count { units, ..9.into() }, ..Bar::of(0, 1.0) };
    let bars = |units| {
        let layer = Layer::Bars(Bars { label: "a".into(), role: Role::nth(0), bars: vec![bar(units)] });
        Figure { x: Axis::of("x", ["a".to_owned()]), ..chart(vec![layer]) }
    };
    let full = |scene: &Scene<'_>| {
        let is = |i: &&Item| matches!(i, Item::Fill { alpha, .. } if (0.5..0.6).contains(alpha));
        scene.items.iter().filter(is).count()
    };
    assert_eq!([None, Some(7)].map(|units| drawn(&bars(units), full) > 0), [true, false]);
}

/// Regression: points drawn side by side, and their lines, used to be up to two markers away from their x.
#[test]
fn marks_that_meet_are_moved_by_half_a_mark_and_lines_not_at_all() {
    let line = |k: usize, y: f64| {
        let point =
            |x: usize| Datum { x: x as f64, y, band: Some((y - 0.1, y + 0.1)), n: 9.into(), ..Datum::default() };
        Layer::Line(Line { label: String::new(), role: Role::nth(k), points: (0..3).map(point).collect() })
    };
    let ends = |figure: &Figure, hue: usize| {
        drawn(figure, |scene| {
            let colour = scene.look.series(hue);
            let mut lines = scene.items.iter().filter_map(|i| match i {
                Item::Line { points, pen } if pen.colour == colour && points.len() == 3 => Some(points[0].0),
                _ => None,
            });
            let upright = scene.items.iter().filter_map(|i| match i {
                Item::Line { points, pen }
                    if pen.colour == colour && points.len() == 2 && points[0].0 == points[1].0 =>
                {
                    Some(points[0].0)
                }
                _ => None,
            });
            (lines.next_back().unwrap(), upright.fold(f64::INFINITY, f64::min))
        })
    };
    let (meeting, apart) = (chart(vec![line(0, 0.5), line(1, 0.55)]), chart(vec![line(0, 0.2), line(1, 0.8)]));
    for hue in [0, 1] {
        let (course, interval) = ends(&meeting, hue);
        assert!((0.5..2.0).contains(&(course - interval).abs()), "{course} {interval}");
    }
    let (course, interval) = ends(&apart, 0);
    assert_eq!(course, interval, "nothing is hidden, so nothing is moved");
    assert_eq!(ends(&meeting, 0).0, ends(&meeting, 1).0);
}

/// Regression: a range of zero height used to be hidden by its line; the first fix drew strokes of fixed height, which overstated it.
#[test]
fn a_range_is_drawn_at_its_true_height() {
    let figure = |half: f64| {
        let band = Some((0.5 - half, 0.5 + half));
        let point = |x: usize| Datum { x: x as f64, y: 0.5, band, n: 9.into(), ..Datum::default() };
        let role = Role { dash: None, marker: None, ..Role::line(0) };
        chart(vec![Layer::Line(Line { label: "a".into(), role, points: (0..12).map(point).collect() })])
    };
    // The legend has a few strokes too.
    assert!(drawn(&figure(0.0), |scene| strokes(scene, 6.0)) < 10);
    assert!(drawn(&figure(0.1), |scene| strokes(scene, 6.0)) > 20);
}

/// Regression: a legend used to hide curves of equal reliability. It is now beside or above them.
#[test]
fn a_legend_hides_no_guide() {
    let point = |(x, y): (f64, f64)| Datum { x, y, n: 9.into(), ..Datum::default() };
    let line = |k: usize| {
        let points = [(0.1, 0.9), (0.9, 0.05)].map(point).to_vec();
        Layer::Line(Line { label: format!("method {k}"), role: Role::nth(0).marker(Marker::Square), points })
    };
    let guide = |y: f64| {
        Layer::Guide(Guide { points: vec![(0.0, y), (1.0, y)], label: format!("R = {y}"), ..Guide::default() })
    };
    let mut figure = chart([0.1, 0.3, 0.45, 0.75, 0.97].map(guide).into_iter().chain((0..3).map(line)).collect());
    figure.x = figure.x.from_to(0.0, 1.0);
    let guides = |scene: &Scene<'_>| place(scene, "R = 0.1").unwrap();
    on(&figure, 84.0, |scene| assert!(place(scene, "method 0").unwrap().1 < place(scene, "R = 0.97").unwrap().1));
    on(&figure, 174.0, |scene| assert!(place(scene, "method 0").unwrap().0 > guides(scene).0));
}

/// Regression: between bars, the legend's sample of an interval used to look like another interval.
#[test]
fn samples_of_intervals_are_above_the_frame() {
    let bar = |k: usize| Bar { n: 99.into(), band: Some((0.1, 0.3)), ..Bar::of(k, 0.2) };
    let bars = Layer::Bars(Bars { label: "a".into(), role: Role::nth(0), bars: vec![bar(0), bar(1)] });
    let intervals = Layer::Intervals(Intervals { wide: "wide".into(), ..Intervals::default() });
    let x = Axis::of("model", ["one".to_owned(), "two".to_owned()]);
    on(&Figure { x, ..chart(vec![bars, intervals]) }, 84.0, |scene| {
        let highest = ["1", "1.0"].iter().find_map(|tick| place(scene, tick)).unwrap();
        assert!(place(scene, "wide").unwrap().1 < highest.1 - 8.0, "{:?}", texts(scene));
    });
}

/// Two lines of 12 points with wide and narrow intervals. The second line is near the first at `near` of its points.
fn meeting(near: usize) -> Figure {
    let line = |k: usize| {
        let point = |x: usize| {
            let y = if k == 0 || x < near { 0.25 + 0.1 * k as f64 } else { 0.75 };
            let (band, inner) = (Some((y - 0.2, y + 0.2)), Some((y - 0.1, y + 0.1)));
            Datum { x: x as f64, y, band, inner, n: 9.into(), ..Datum::default() }
        };
        Layer::Line(Line { label: format!("line {k}"), role: Role::nth(k), points: (0..12).map(point).collect() })
    };
    let intervals = Intervals { wide: "wide".into(), narrow: "narrow".into(), ..Intervals::default() };
    chart(vec![line(0), line(1), Layer::Intervals(intervals)])
}

/// Regression: strokes used to end where a range has no width, which then looked like a line.
#[test]
fn a_range_without_width_keeps_its_strokes() {
    let point = |x: usize| Datum { x: x as f64, y: 0.5, band: Some((0.5, 0.5)), n: 9.into(), ..Datum::default() };
    let role = Role { dash: None, marker: None, ..Role::line(0) };
    let range = Layer::Line(Line { label: String::new(), role, points: (0..12).map(point).collect() });
    let is_stroke = |i: &&Item| matches!(i, Item::Line { points, pen } if pen.width < 0.7 && points.len() == 2 && points[0].1 - points[1].1 > 4.0);
    assert!(drawn(&chart(vec![range]), |scene| scene.items.iter().filter(is_stroke).count()) > 10);
}

/// Regression: the label of a rule in a range used to be drawn on its strokes, without a background.
#[test]
fn the_label_of_a_rule_in_a_range_has_a_background() {
    let point = |x: usize| Datum { x: x as f64, y: 0.5, band: Some((0.0, 1.0)), n: 9.into(), ..Datum::default() };
    let role = Role { dash: None, marker: None, ..Role::line(0) };
    let range = Layer::Line(Line { label: "range".into(), role, points: (0..12).map(point).collect() });
    drawn(&chart(vec![range, Layer::Rule(Rule::level(0.5, "rule"))]), |scene| {
        let (left, baseline) = place(scene, "rule").unwrap();
        let paper = scene.look.paper;
        let is_patch = |i: &&Item| matches!(i, Item::Fill { points, colour, alpha } if *colour == paper && *alpha < 1.0 && points.iter().all(|p| (p.0 - left).abs() < 60.0 && (p.1 - baseline).abs() < 20.0));
        assert!(scene.items.iter().any(|i| is_patch(&i)));
    });
}

/// Regression: in grey, two overlapping wide areas used to look like a narrow one.
#[test]
fn narrow_intervals_are_edges_where_areas_lie_on_each_other() {
    // If the lines are near: two areas and one sample. If they are apart: two areas per line and two samples.
    assert_eq!([4, 0].map(|near| drawn(&meeting(near), areas)), [3, 6]);
}

/// Regression: in grey, the areas of two methods that agree used to merge into one, and the legend's sample of edges matched neither.
#[test]
fn lines_that_agree_have_their_intervals_at_their_marks() {
    let figure = meeting(12);
    drawn(&figure, |scene| {
        assert_eq!(areas(scene), 0);
        let arms = |hue: usize| {
            let colour = scene.look.series(hue);
            let long = |i: &&Item| matches!(i, Item::Line { points, pen } if pen.colour == colour && points.len() == 2 && points[0].0 == points[1].0);
            let at = scene
                .items
                .iter()
                .filter(long)
                .filter_map(|i| if let Item::Line { points, .. } = i { Some(points[0].0) } else { None });
            let mut at: Vec<f64> = at.collect();
            at.dedup();
            at
        };
        let [first, second] = [0, 1].map(arms);
        assert!(
            first.len() > 3 && second.len() > 3 && first.iter().all(|x| !second.contains(x)),
            "{first:?} {second:?}"
        );
    });
    assert!(crate::caption(&figure).contains("not all are drawn; the CSV has all"));
}

/// Regression: long names used to run upwards, where few people can read them.
#[test]
fn long_names_of_categories_are_listed_below_their_numbers() {
    let prompts = [
        "The national capital of [X] is the city of [Y] .",
        "Students of geography learn that the capital of [X] is [Y] .",
    ];
    let prompts: Vec<String> = prompts.iter().cycle().take(4).map(|p| (*p).to_owned()).collect();
    let lines = vec![RankLine { label: "m".into(), role: Role::nth(0), ranks: vec![Some(1.0); 4] }];
    let (x, y) = (Axis::of("prompt", prompts), Axis::ranks("rank", 2));
    let figure = Figure { x, y, ..chart(vec![Layer::Ranks(Ranks { lines })]) };
    drawn(&figure, |scene| {
        let said = texts(scene);
        assert!(
            said.iter().all(|t| !t.contains('…')) && said.iter().any(|t| t.starts_with("4  Students of")),
            "{said:?}"
        );
        assert_eq!(upright(scene), ["rank"], "the label of the vertical axis");
        let [number, label, first] = ["3", "prompt", "1  The national"].map(|text| {
            scene.items.iter().find_map(|i| match i {
                Item::Text { text: said, at, .. } if said.starts_with(text) => Some(at.1),
                _ => None,
            })
        });
        assert!(number < label && label < first, "{number:?} {label:?} {first:?}");
    });
}

/// Regression: in the short panels of a column, marks used to hide the lines between training runs, and the legend did not say so.
#[test]
fn the_legend_says_that_marks_of_a_panel_hide_short_intervals() {
    let said = |panels: &[&str]| {
        let point = |x: usize| Datum { x: x as f64, y: 0.5, pair: Some((0.48, 0.52)), n: 9.into(), ..Datum::default() };
        let role = Role::nth(0).accent(0);
        let line = Layer::Line(Line { label: "a".into(), role, points: (0..3).map(point).collect() });
        let intervals = Layer::Intervals(Intervals { pair: "each of 2 runs".into(), ..Intervals::default() });
        let figure = chart(vec![line, intervals]);
        drawn(&Figure { y: figure.y.clone().in_panels(panels), ..figure }, texts).join(" ")
    };
    assert!(said(&["c", "s"]).contains("each of 2 runs (no wider than the marks)"), "{}", said(&["c", "s"]));
    assert!(!said(&[]).contains("no wider"), "{}", said(&[]));
}

/// Regression: names of models used to run upwards in a column, and later were on two levels.
#[test]
fn names_of_models_are_broken_on_one_level_in_a_column() {
    let names =
        ["bert-mini", "gpt2-mini", "bert-large-cased", "roberta-large", "gpt2-xl", "bart-large", "order of all four"];
    let bars = (0..names.len()).map(|k| Bar { n: 99.into(), ..Bar::of(k, 0.5) }).collect();
    let bars = Layer::Bars(Bars { label: "a".into(), role: Role::nth(0), bars });
    drawn(&Figure { x: Axis::of("model", names.map(str::to_owned)), ..chart(vec![bars]) }, |scene| {
        assert_eq!(upright(scene), ["y"]);
        let [one, other] = ["roberta-", "gpt2-"].map(|text| {
            scene.items.iter().find_map(|i| match i {
                Item::Text { text: said, at, .. } if said.starts_with(text) => Some(at.1),
                _ => None,
            })
        });
        assert!(one == other && one.is_some(), "{one:?} {other:?}: {:?}", texts(scene));
    });
}

/// A plane of one method with these points and a ring at its best strength.
fn plane(points: Vec<Datum>) -> Figure {
    let guide = Guide { points: vec![(0.1, 1.0), (1.0, 0.1)], label: "R = 0.2".into(), ..Guide::default() };
    let best = Spot { x: 0.6, y: 0.5, n: 9.into(), label: "method".into(), hue: Some(0), ..Spot::default() };
    let role = Role::points(6, Marker::Star);
    let line = Layer::Line(Line { label: "method".into(), role: Role::nth(0), points });
    let best = Layer::Points(Points { label: "best strength".into(), role, points: vec![best] });
    let figure = chart(vec![Layer::Guide(guide), line, best]);
    Figure { x: figure.x.from_to(0.0, 1.0), ..figure }
}

/// Regression: in grey, rings used to differ only by a small mark.
#[test]
fn a_ring_with_room_beside_it_has_the_name_of_its_method() {
    let point = |x: f64| Datum { x, y: 0.5, n: 9.into(), ..Datum::default() };
    drawn(&plane([0.2, 0.3].map(point).to_vec()), |scene| {
        assert_eq!(texts(scene).iter().filter(|t| *t == "method").count(), 2, "beside the ring and in the legend");
    });
    // Regression: a ring without room, with points all around, used to have no name.
    let around = (0..32).flat_map(|k| (0..32).map(move |l| (f64::from(k) / 40.0, f64::from(l) / 40.0)));
    let mut crowded = plane(around.map(|(x, y)| Datum { x, y, n: 9.into(), ..Datum::default() }).collect());
    if let Some(Layer::Points(best)) = crowded.layers.last_mut() {
        best.points.push(Spot { x: 0.93, y: 0.93, label: "other".into(), ..best.points[0].clone() });
    }
    let count = |scene: &Scene<'_>, name: &str| texts(scene).iter().filter(|t| *t == name).count();
    drawn(&crowded, |scene| assert_eq!((count(scene, "method"), count(scene, "other")), (2, 1)));
}

/// Regression: the intervals by which settings dominate others used to be missing.
#[test]
fn a_setting_on_the_front_of_a_plane_has_the_cross_of_its_intervals() {
    let of = |x_band| {
        let point = Datum { x: 0.3, y: 0.7, band: Some((0.5, 0.8)), x_band, n: 9.into(), ..Datum::default() };
        drawn(&plane(vec![point]), |scene| {
            let colour = scene.look.series(0);
            let is_arm = |i: &&Item| matches!(i, Item::Line { points, pen } if pen.colour == colour && points.len() == 2 && pen.alpha < 1.0);
            scene.items.iter().filter(is_arm).count()
        })
    };
    assert_eq!([of(Some((0.2, 0.4))), of(None)], [2, 0]);
}

/// Regression: nothing in the figure used to show that an axis was logarithmic.
#[test]
fn a_logarithmic_axis_says_so() {
    let points = [32.0, 128.0].map(|x| Datum { x, y: 0.5, n: 9.into(), ..Datum::default() });
    let line = || Layer::Line(Line { label: "a".into(), role: Role::nth(0), points: points.to_vec() });
    let label = |x: Axis| drawn(&Figure { x, ..chart(vec![line()]) }, texts).join("|");
    assert!(label(Axis::log("items")).contains("|items (log scale)"));
    assert!(label(Axis::doubling("items (all)")).contains("|items (all), log scale"));
    assert!(!label(Axis::linear("items")).contains("log"));
}

/// Regression: the axis used to name only training examples, although power also rose with the test items.
#[test]
fn a_tick_can_have_a_second_line() {
    let points = [32.0, 128.0].map(|x| Datum { x, y: 0.5, n: 9.into(), ..Datum::default() });
    let line = Layer::Line(Line { label: "a".into(), role: Role::nth(0), points: points.to_vec() });
    let x = Axis { below: vec![(32.0, "n 8".into())], ..Axis::doubling("training examples").of_settings() };
    drawn(&Figure { x, ..chart(vec![line]) }, |scene| {
        let (tick, below) = (place(scene, "32").unwrap(), place(scene, "n 8").unwrap());
        assert!(below.1 > tick.1 && (below.0 - tick.0).abs() < 1.0, "{tick:?} {below:?}");
    });
}

/// Regression: three bars within two millimetres used to hide each other, and a margin used to look like an interval over seeds.
#[test]
fn a_margin_is_an_area_with_the_values_of_two_seeds_before_it() {
    let point = |x: usize| Datum {
        x: x as f64,
        y: 0.5,
        band: Some((0.1, 0.9)),
        inner: Some((0.4, 0.6)),
        pair: Some((0.45, 0.55)),
        n: 9.into(),
        ..Datum::default()
    };
    let line = Layer::Line(Line { label: "a".into(), role: Role::nth(0), points: (0..4).map(point).collect() });
    let intervals = Intervals {
        wide: "margin".into(),
        narrow: "± 1 SD".into(),
        pair: "each of 2 seeds".into(),
        is_margin: true,
        ..Intervals::default()
    };
    let figure = chart(vec![line, Layer::Intervals(intervals)]);
    drawn(&figure, |scene| {
        let said = texts(scene);
        let has = |text: &str| said.iter().any(|t| t == text);
        assert!(areas(scene) == 2 && has("margin") && has("each of 2 seeds") && !has("± 1 SD"), "{said:?}");
        // Its edges used to look like lines in grey.
        assert!(!scene.items.iter().any(|i| matches!(i, Item::Line { pen, .. } if pen.alpha == 0.8)));
    });
    assert!(!crate::caption(&figure).contains("too few for an interval"));
}

/// Regression: two measures with different categories used to share one axis.
#[test]
fn panels_with_axes_of_their_own_show_only_their_own_categories() {
    let spot = |x: f64| Spot { x, y: 0.5, n: 9.into(), ..Spot::default() };
    let points = |label: &str, panel: usize, xs: &[f64]| {
        let role = Role::points(0, Marker::Square).accent(panel);
        Layer::Points(Points { label: label.into(), role, points: xs.iter().copied().map(spot).collect() })
    };
    let x = Axis::of("shared", ["one", "both", "two"].map(str::to_owned)).in_panels(&["model", "models"]);
    let layers = vec![points("gap", 0, &[0.0, 2.0]), points("order, published", 1, &[1.0])];
    let figure = Figure { x, y: Axis::linear("share").in_panels(&["share: gap", "share: order"]), ..chart(layers) };
    for width in [84.0, 174.0] {
        on(&figure, width, |scene| {
            let texts = texts(scene);
            for once in ["one", "two", "both", "model", "models", "(a) gap", "(b) order", "published"] {
                assert_eq!(texts.iter().filter(|t| *t == once).count(), 1, "{once}: {texts:?}");
            }
            assert!(!texts.contains(&"shared".into()) && !texts.contains(&"gap".into()), "{texts:?}");
        });
    }
}

/// Regression: the label of a low axis used to break inside its bracket.
#[test]
fn the_label_of_an_axis_breaks_before_a_bracket() {
    let fonts = Fonts::own();
    assert_eq!(super::super::chart::named(&fonts, "rank by P@1 (1: best)", 108.0), "rank by P@1\n(1: best)");
    assert_eq!(super::super::chart::named(&fonts, "rank by P@1 (1: best)", 400.0), "rank by P@1 (1: best)");
}

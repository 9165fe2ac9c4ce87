//! Tests of each kind of layer in terminal cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::*;
use crate::theme::Surroundings;
use base::text::width;
use figure::layers::{self, Bar, Bars, Datum, Line, Rule};
use figure::{Axis, samples};

fn theme(no_color: bool) -> Theme {
    Theme::choose(None, &Surroundings { no_color, light: false }).unwrap().remove(0)
}

fn chart<'a>(figure: &'a Figure, theme: &'a Theme, glyphs: Glyphs) -> Chart<'a> {
    Chart { figure, theme, glyphs, form: Form::Lines, all_bands: false }
}

fn buffer(figure: &Figure, (columns, rows): (u16, u16), glyphs: Glyphs, no_color: bool) -> Buffer {
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    chart(figure, &theme(no_color), glyphs).render(area, &mut buffer);
    buffer
}

fn text(buffer: &Buffer) -> String {
    let wide = usize::from(buffer.area.width).max(1);
    let mut out = String::new();
    for row in buffer.content().chunks(wide) {
        let mut skip = 0;
        let mut line = String::new();
        for cell in row {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            line.push_str(cell.symbol());
            skip = width(cell.symbol()).saturating_sub(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Chart sizes on screens of 120×40 and 80×24.
const SIZES: [(u16, u16); 2] = [(86, 20), (56, 12)];

#[test]
fn every_layer_looks_right_in_braille() {
    for figure in samples::all() {
        for size in SIZES {
            let drawn = text(&buffer(&figure, size, Glyphs::Braille, false));
            insta::assert_snapshot!(format!("{}_{}x{}", figure.name, size.0, size.1), drawn);
        }
    }
}

#[test]
fn every_layer_looks_right_without_colour_and_in_ascii() {
    for figure in samples::all() {
        let drawn = text(&buffer(&figure, (86, 20), Glyphs::Ascii, true));
        insta::assert_snapshot!(format!("{}_ascii_no_colour", figure.name), drawn);
    }
    for figure in [samples::curves(), samples::cells(), samples::tokens()] {
        let drawn = text(&buffer(&figure, (86, 20), Glyphs::Blocks, true));
        insta::assert_snapshot!(format!("{}_blocks_no_colour", figure.name), drawn);
    }
}

#[test]
fn ascii_and_colourless_modes_are_respected() {
    for figure in samples::all() {
        let plain = buffer(&figure, (86, 20), Glyphs::Ascii, true);
        for cell in plain.content() {
            let ours = !matches!(cell.symbol(), "中" | "文" | "ε" | "א" | "ר" | "ו" | "ן" | "∞" | "…");
            assert!(!ours || cell.symbol().is_ascii(), "{}: {}", figure.name, cell.symbol());
            assert!(cell.fg == Color::Reset && cell.bg == Color::Reset, "{}", figure.name);
        }
    }
    let coloured = buffer(&samples::tokens(), (86, 20), Glyphs::Braille, false);
    assert!(coloured.content().iter().any(|c| matches!(c.bg, Color::Indexed(_))));
}

#[test]
fn every_size_and_content_is_drawn_without_panic() {
    let mut figures = samples::all();
    figures.extend([samples::hostile(), samples::hostile_tokens(), Figure::default()]);
    for figure in &figures {
        for size in [(0, 0), (1, 1), (5, 2), (9, 4), (12, 6), (20, 5), (31, 9), (200, 60)] {
            for glyphs in [Glyphs::Braille, Glyphs::Blocks, Glyphs::Ascii] {
                let drawn = text(&buffer(figure, size, glyphs, size.0 % 2 == 0));
                assert!(!drawn.chars().any(|c| c.is_control() && c != '\n'));
            }
            let _ = chart(figure, &theme(true), Glyphs::Ascii).value_at(Rect::new(3, 3, size.0, size.1), 7);
        }
    }
}

#[test]
fn column_maps_to_the_value_drawn_there() {
    let figure = samples::curves();
    let area = Rect::new(0, 0, 86, 20);
    let theme = theme(false);
    let drawn = chart(&figure, &theme, Glyphs::Braille);
    let stage = Stage::new(&drawn, area).unwrap();
    let column = stage.column(0.1).unwrap();
    let value = drawn.value_at(area, column).unwrap();
    assert!((value / 0.1).ln().abs() < 0.1, "{value}");
    assert_eq!(chart(&samples::tokens(), &theme, Glyphs::Braille).value_at(area, 3), None);
}

#[test]
fn aligned_tokens_share_columns_in_any_script() {
    let drawn = text(&buffer(&samples::tokens(), (120, 20), Glyphs::Braille, false));
    let column = |row: usize, word: &str| {
        let line = drawn.lines().nth(row).unwrap();
        line.find(word).map(|at| width(&line[..at]))
    };
    for word in ["keys", "the", "中文", "[MASK]"] {
        assert_eq!(column(1, word), column(3, word), "{word}\n{drawn}");
        assert!(column(1, word).is_some());
    }
    assert_eq!(column(1, "cabinet"), column(3, "ארון"));
}

/// Regression: at 80 columns, published series next to a run's own used to be cut off the legend. Below the axis, models of one family
/// looked the same.
#[test]
fn long_names_take_several_rows() {
    let names = ["roberta-mini", "roberta-tiny", "bert-large-cased"];
    let bars = |label: &str| {
        let bars = Bars { label: label.into(), role: figure::Role::nth(0), bars: vec![Bar::of(0, 0.5)] };
        Layer::Bars(bars)
    };
    let labels = ["original, as published by somebody", "random, as published by somebody", "adjusted"];
    let figure = Figure {
        x: Axis::of("model", names.map(str::to_owned)),
        y: Axis::linear("P@1").from_to(0.0, 1.0),
        layers: labels.map(bars).into(),
        ..Figure::default()
    };
    let tall = text(&buffer(&figure, (44, 20), Glyphs::Braille, false));
    assert!(labels.iter().all(|l| tall.contains(l)), "{tall}");
    let short = text(&buffer(&figure, (44, 9), Glyphs::Braille, false));
    assert!(short.contains("+1") && !short.contains(labels[2]), "data have priority over names: {short}");
    let narrow = text(&buffer(&figure, (34, 20), Glyphs::Braille, false));
    let below: Vec<&str> = narrow.lines().rev().take(2).collect();
    assert!(below[1].contains("roberta") && below[1].contains("bert-"), "{narrow}");
    assert!(below[0].contains("mini") && below[0].contains("tiny"), "{narrow}");
}

fn banded(k: usize, label: &str, y: f64) -> Line {
    let datum = |x: f64| Datum { x, y, band: Some((y - 0.2, y + 0.2)), ..Datum::default() };
    Line { label: label.into(), role: figure::Role::nth(k), points: vec![datum(0.0), datum(1.0)] }
}

fn unit_square(layers: Vec<Layer>) -> Figure {
    let axis = |label: &str| Axis::linear(label).from_to(0.0, 1.0);
    Figure { x: axis("x"), y: axis("y"), layers, ..Figure::default() }
}

/// Regression: two lines used to end in the same letter, legends in "…", and bands covered a rule's name.
#[test]
fn line_names_are_distinct_and_uncut() {
    let rule = Layer::Rule(Rule::level(0.5, "constant answer"));
    let labels = ["bert-mini attention", "bert-mini integrated gradients", "bert-mini agreement"];
    let lines = (0..3).map(|k| Layer::Line(banded(k, labels[k], 0.2 + 0.3 * k as f64)));
    let figure = unit_square(lines.chain([rule.clone()]).collect());
    for size in SIZES {
        let drawn = text(&buffer(&figure, size, Glyphs::Braille, false));
        assert!(labels.iter().all(|l| drawn.contains(l)) && !drawn.contains('…'), "{drawn}");
        assert!(["attention", "integrated"].iter().all(|e| drawn.lines().any(|l| l.ends_with(e))), "{drawn}");
        assert!(!drawn.contains("constant"), "there is no free place for the label: {drawn}");
    }
    let figure = unit_square(vec![Layer::Line(banded(0, "a", 0.1)), rule]);
    assert!(text(&buffer(&figure, SIZES[0], Glyphs::Braille, false)).contains("constant answer"));
}

/// Regression: lines used to end in initials where their names fit.
#[test]
fn line_ends_show_names_or_symbols() {
    let ends =
        |labels: &[&str], room: usize| lines::distinct(&labels.iter().map(|l| (*l).into()).collect::<Vec<_>>(), room);
    let models = ["bert-mini", "roberta-mini"];
    assert_eq!(ends(&models, 17), models);
    assert_eq!(ends(&models, 5), ["B", "R"]);
    assert_eq!(ends(&["token-F1 of attention", "token-F1 of integrated gradients"], 10), ["attention", "integrated"]);
    assert_eq!(ends(&["completeness C", "selectivity S"], 17), ["C", "S"], "the symbols of the paper");
    assert_eq!(ends(&["bert", "base"], 1), ["bert", "base"], "initials would be equal");
}

/// Regression: the x-axis title used to overlap or replace the label of the largest tick.
#[test]
fn horizontal_axis_name_covers_no_tick() {
    for (x, largest) in [(Axis::linear("training examples").from_to(0.0, 1.0), "1"), (Axis::log("items"), "100")] {
        let points = [1.0, 10.0, 100.0].map(|x| Datum { x, y: 0.5, ..Datum::default() }).to_vec();
        let line = Line { label: "a".into(), role: figure::Role::nth(0), points };
        let name = x.label.rsplit(' ').next().unwrap_or_default().to_owned();
        let figure =
            Figure { x, y: Axis::linear("y").from_to(0.0, 1.0), layers: vec![Layer::Line(line)], ..Figure::default() };
        for size in SIZES {
            let drawn = text(&buffer(&figure, size, Glyphs::Braille, false));
            assert!(drawn.lines().last().is_some_and(|l| l.trim_end().ends_with(largest)), "{drawn}");
            assert!(drawn.contains(&name), "{drawn}");
        }
    }
}

/// Regression: the bands of three lines used to hide each other.
#[test]
fn only_main_line_has_a_band_by_default() {
    let mut main = banded(0, "main", 0.2);
    main.role = main.role.strong();
    let figure = unit_square([main, banded(1, "other", 0.7)].map(Layer::Line).into());
    let (area, theme) = (Rect::new(0, 0, 86, 20), theme(false));
    let [one, all] = [false, true].map(|all_bands| {
        let mut buffer = Buffer::empty(area);
        Chart { all_bands, ..chart(&figure, &theme, Glyphs::Blocks) }.render(area, &mut buffer);
        text(&buffer).chars().filter(|c| matches!(c, '░' | '▒')).count()
    });
    assert!(one > 0 && one < all, "{one} {all}");
}

/// Regression: dotted arrows used to look alike, and an arrow ended before its node.
#[test]
fn graph_is_drawn_with_box_characters() {
    for size in SIZES {
        let drawn = text(&buffer(&samples::graph(), size, Glyphs::Braille, false));
        assert!(!drawn.chars().any(|c| ('\u{2800}'..'\u{2900}').contains(&c)), "{drawn}");
        assert_eq!(drawn.matches(['▶', '▼', '◀', '▲']).count(), samples_edges() + 1, "graph and legend: {drawn}");
    }
}

fn samples_edges() -> usize {
    samples::graph().layers.iter().map(|l| if let Layer::Graph(g) = l { g.edges.len() } else { 0 }).sum()
}

#[test]
fn two_training_runs_are_two_dots() {
    let line = |pair| {
        let point = |x: f64| Datum { x, y: 0.5, band: Some((0.0, 1.0)), pair, n: 100.into(), ..Datum::default() };
        let points = vec![point(0.0), point(1.0)];
        Layer::Line(Line { label: "a".into(), role: figure::Role::line(0), points })
    };
    let drawn = |pair| {
        let (x, y) = (Axis::linear("x"), Axis::linear("y").from_to(0.0, 1.0));
        let figure = Figure { x, y, layers: vec![line(pair)], ..samples::curves() };
        text(&buffer(&figure, (40, 16), Glyphs::Braille, true))
    };
    let shaded = |pair| drawn(pair).matches('░').count();
    let dotted = |pair| drawn(pair).chars().filter(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count();
    assert!(shaded(None) > 20, "{}", drawn(None));
    assert_eq!(shaded(Some((0.2, 0.8))), 0, "{}", drawn(Some((0.2, 0.8))));
    assert!(dotted(Some((0.2, 0.8))) > dotted(Some((0.5, 0.5))), "{}", drawn(Some((0.2, 0.8))));
}

/// Regression: the legend of attention used to begin at minus the largest score.
#[test]
fn legend_of_scores_that_are_never_negative_begins_at_0() {
    let drawn = |scores: [f64; 2]| {
        let token = |score| layers::Token { text: "word".into(), score: Some(score), ..layers::Token::default() };
        let strips = vec![layers::Strip { tokens: scores.map(token).into(), ..layers::Strip::default() }];
        let tokens = layers::Tokens { strips, pairs: Vec::new(), bound: None, label: "attention".into() };
        let figure = Figure { layers: vec![Layer::Tokens(tokens)], ..Figure::default() };
        text(&buffer(&figure, (60, 10), Glyphs::Braille, true))
    };
    assert!(drawn([-0.1, 0.5]).contains("-.5"), "{}", drawn([-0.1, 0.5]));
    assert!(!drawn([0.1, 0.5]).contains("-.5"), "{}", drawn([0.1, 0.5]));
}

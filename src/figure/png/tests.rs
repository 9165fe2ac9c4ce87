//! Tests that PNGs can be decoded, contain provenance and show each layer at the right position.

use super::*;
use crate::font::Fonts;
use crate::palette::{self, SERIES};
use crate::{Style, samples};

struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
    texts: Vec<(String, String)>,
}

fn decoded(figure: &Figure) -> Picture {
    let bytes = to_png(figure, &Options::default()).unwrap();
    // For visual checks: every picture is also written to the folder named by PROBITY_PICTURES.
    if let Some(folder) = std::env::var_os("PROBITY_PICTURES") {
        let _ = std::fs::write(std::path::Path::new(&folder).join(format!("{}.png", figure.name)), &bytes);
    }
    let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
    let (width, height) = (reader.info().width, reader.info().height);
    let texts = reader.info().utf8_text.iter().map(|c| (c.keyword.clone(), c.get_text().unwrap())).collect();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    Picture { width, height, pixels, texts }
}

#[test]
fn the_last_row_and_column_have_the_colour_of_the_page() {
    for width in [84.0, 174.0] {
        for dpi in [72, 150, 301] {
            let options = Options { style: Style::Paper, width: Some(width), dpi: Some(dpi) };
            let bytes = to_png(&samples::all()[0], &options).unwrap();
            let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
            let (w, h) = (reader.info().width as usize, reader.info().height as usize);
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            let at = |x: usize, y: usize| &pixels[3 * (y * w + x)..3 * (y * w + x) + 3];
            assert!((0..w).all(|x| at(x, h - 1) == [255; 3]), "{width} mm at {dpi} dpi");
            assert!((0..h).all(|y| at(w - 1, y) == [255; 3]), "{width} mm at {dpi} dpi");
        }
    }
}

impl Picture {
    /// Counts pixels of exactly this colour inside ranges of x and y, given as shares of width and height.
    fn count(&self, Rgb(r, g, b): Rgb, x: (f64, f64), y: (f64, f64)) -> usize {
        let part =
            |size: u32, (from, to): (f64, f64)| (f64::from(size) * from) as usize..(f64::from(size) * to) as usize;
        let wide = self.width as usize * 3;
        let rows = part(self.height, y).map(|row| &self.pixels[row * wide..(row + 1) * wide]);
        rows.flat_map(|row| part(self.width, x).map(move |c| &row[c * 3..c * 3 + 3]))
            .filter(|p| *p == [r, g, b])
            .count()
    }

    fn anywhere(&self, colour: Rgb) -> usize {
        self.count(colour, (0.0, 1.0), (0.0, 1.0))
    }
}

/// For visual checks: with PROBITY_PICTURES set, writes every sample in every style.
#[test]
fn every_style_has_its_own_size_and_page() {
    for (style, width, across) in [
        (Style::LabBook, None, 533),
        (Style::Paper, None, 331),
        (Style::Paper, Some(174.0), 685),
        (Style::Slides, None, 1000),
        (Style::Dark, None, 533),
    ] {
        let options = Options { style, width, dpi: Some(100) };
        for figure in samples::all() {
            let bytes = to_png(&figure, &options).unwrap();
            if let Some(folder) = std::env::var_os("PROBITY_PICTURES") {
                let name = format!("{}-{}{}.png", figure.name, style.name(), width.unwrap_or_default());
                let _ = std::fs::write(std::path::Path::new(&folder).join(name), &bytes);
            }
            let reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
            assert!(reader.info().width.abs_diff(across) <= 2, "{}: {}", style.name(), reader.info().width);
        }
    }
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let figure = samples::curves();
    assert_eq!(to_png(&figure, &Options::default()).unwrap(), to_png(&figure, &Options::default()).unwrap());
}

#[test]
fn every_picture_decodes_and_says_where_it_comes_from() {
    for figure in samples::all() {
        let picture = decoded(&figure);
        assert!((1280..=1600).contains(&picture.width) && picture.height >= 300, "{}", figure.name);
        for (key, value) in &figure.provenance.entries {
            let found = picture.texts.iter().find(|(k, _)| *k == keyword(key)).unwrap();
            assert_eq!(&found.1, value, "{}", figure.name);
        }
        // Ink of the title at the top and the provenance at the bottom.
        let ink = |from, to| {
            let wide = picture.width as usize * 3;
            let rows = (f64::from(picture.height) * from) as usize..(f64::from(picture.height) * to) as usize;
            picture.pixels[rows.start * wide..rows.end * wide].iter().any(|v| *v < 128)
        };
        assert!(ink(0.0, 0.15) && ink(0.85, 1.0), "{}", figure.name);
    }
    let picture = decoded(&samples::curves());
    assert_eq!((picture.width, picture.height), (1600, 1040));
}

#[test]
fn lines_and_points_have_the_colours_of_their_roles() {
    let curves = decoded(&samples::curves());
    assert!(curves.anywhere(SERIES[1]) > 2000 && curves.anywhere(SERIES[0]) == 0);
    let power = decoded(&samples::power());
    for (hue, colour) in SERIES.iter().take(3).enumerate() {
        assert!(power.anywhere(*colour) > 300, "line {hue}");
    }
    let scatter = decoded(&samples::scatter());
    assert!(scatter.anywhere(SERIES[0]) > 200 && scatter.anywhere(SERIES[1]) > 200);
}

#[test]
fn two_nested_bands_are_darker_inside() {
    let figure = samples::power();
    let mut plain = figure.clone();
    plain.name = "power-plain".into();
    for layer in &mut plain.layers {
        if let crate::Layer::Line(line) = layer {
            line.points.iter_mut().for_each(|p| p.inner = None);
        }
    }
    let light = |figure: &Figure| decoded(figure).pixels.iter().map(|v| u64::from(*v)).sum::<u64>();
    assert!(light(&figure) < light(&plain));
}

#[test]
fn bars_stand_on_the_axis_and_differ_without_colour() {
    let picture = decoded(&samples::bars());
    // The first series has solid bars, the second pale ones.
    let full = |hue: usize| picture.count(SERIES[hue], (0.1, 1.0), (0.15, 0.8));
    assert!(full(0) > 500, "{}", full(0));
    let histogram = decoded(&samples::histogram());
    for (hue, colour) in SERIES.iter().take(3).enumerate() {
        assert!(histogram.anywhere(*colour) > 300, "series {hue}");
    }
}

#[test]
fn ranges_and_ranks_are_where_their_categories_are() {
    let picture = decoded(&samples::ranges());
    for k in 0..6 {
        let slot = (0.12 + 0.14 * f64::from(k), 0.12 + 0.14 * f64::from(k + 1));
        for hue in [0, 1] {
            assert!(picture.count(SERIES[hue], slot, (0.12, 0.85)) > 20, "category {k}, model {hue}");
        }
    }
    let ranks = decoded(&samples::ranks());
    for (hue, colour) in SERIES.iter().take(5).enumerate() {
        assert!(ranks.anywhere(*colour) > 500, "line {hue}");
    }
}

#[test]
fn cells_and_tokens_have_the_colours_of_their_values() {
    let cells = decoded(&samples::cells());
    assert!(cells.count(palette::diverging(-1.0), (0.1, 0.3), (0.05, 0.3)) > 2000, "upper left");
    assert!(cells.count(palette::diverging(1.0), (0.6, 0.95), (0.6, 0.9)) > 2000, "lower right");
    let tokens = decoded(&samples::tokens());
    for score in [0.9, -0.7, 0.65, -0.5] {
        assert!(tokens.anywhere(palette::diverging(score)) > 500, "{score}");
    }
}

#[test]
fn the_highlighted_path_of_a_graph_is_lit() {
    let mut figure = samples::graph();
    let lit = crate::paper::LIT;
    assert!(decoded(&figure).anywhere(lit) > 2000);
    figure.name = "causal-plain".into();
    for layer in &mut figure.layers {
        if let crate::Layer::Graph(graph) = layer {
            graph.edges.iter_mut().for_each(|e| e.lit = false);
            graph.nodes.iter_mut().for_each(|n| n.lit = false);
        }
    }
    assert_eq!(decoded(&figure).anywhere(lit), 0);
}

#[test]
fn hostile_text_and_numbers_are_drawn_without_harm() {
    for figure in [samples::hostile(), samples::hostile_tokens()] {
        let bytes = to_png(&figure, &Options::default()).unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let texts: Vec<String> = reader.info().utf8_text.iter().map(|c| c.get_text().unwrap()).collect();
        assert!(texts.len() >= 3 && texts.iter().all(|t| !t.contains('\u{1b}')), "{texts:?}");
    }
}

#[test]
fn chinese_is_drawn_with_a_font_of_the_system_and_the_file_says_with_which() {
    use crate::spare::tests::font;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("han.ttf"), font(&[('中', 'M'), ('文', 'W')], 400)).unwrap();
    let figure = samples::tokens();
    let has = |found: &Spare| Fonts::with(found.faces()).draws('中');
    let with = drawn(&figure, &Options::default(), &|c| {
        let found = Spare::search(None, &[folder.path().to_owned()], c);
        assert!(has(&found));
        found
    });
    let without = drawn(&figure, &Options::default(), &|_| Spare::default()).unwrap();
    let with = with.unwrap();
    assert_ne!(with, without);
    let fonts = |bytes: &[u8]| {
        let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let texts = &reader.info().utf8_text;
        let found = texts.iter().find(|t| t.keyword == "probity:fonts").map(|t| t.get_text().unwrap());
        (found, reader.info().height)
    };
    let ((with, low), (without, high)) = (fonts(&with), fonts(&without));
    assert_eq!((with.as_deref(), without), (Some("han.ttf"), None));
    assert!(low <= high, "no note about boxes where there are none");
}

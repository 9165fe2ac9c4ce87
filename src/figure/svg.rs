//! SVG export: the drawing as text, with provenance in its metadata.

use std::fmt::Write;

use super::canvas::{At, Item, Pen, Scene, Side, Type};
use super::font::Fonts;
use super::look::Options;
use super::palette::Rgb;
use super::{Figure, FigureError, paper};
use crate::role::Dash;
use base::text::printable_label;

/// Renders the figure as SVG. Output is identical on every machine, because no system font is read. The viewer's font is squeezed to the
/// widths of the embedded font, so that labels do not overlap.
///
/// # Errors
/// [`FigureError::Draw`] if the figure cannot be written.
pub(crate) fn to_svg(figure: &Figure, options: &Options) -> Result<String, FigureError> {
    let fonts = Fonts::own();
    let scene = paper::lay_out(figure, &fonts, &[], options.look())?;
    let mut out = String::new();
    write(&mut out, figure, &scene).map_err(|e| FigureError::Draw(e.to_string()))?;
    Ok(out)
}

fn write(out: &mut String, figure: &Figure, scene: &Scene<'_>) -> std::fmt::Result {
    let (width, height) = (short(scene.look.width), short(scene.height));
    let points = [scene.look.width, scene.height].map(|length| short(length * scene.look.unit));
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}pt\" height=\"{}pt\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"'Ubuntu Light', Ubuntu, 'Helvetica Neue', Arial, sans-serif\" fill=\"none\" stroke-linejoin=\"round\">",
        points[0], points[1]
    )?;
    writeln!(out, "<title>{}</title>", escape(&printable_label(&figure.title)))?;
    writeln!(out, "<desc>Probity {}", env!("CARGO_PKG_VERSION"))?;
    for (key, value) in figure.entries() {
        writeln!(out, "{}: {}", escape(&printable_label(key)), escape(&printable_label(value)))?;
    }
    out.push_str("</desc>\n");
    scene.items.iter().try_for_each(|item| element(out, scene.fonts, item))?;
    out.push_str("</svg>\n");
    Ok(())
}

fn element(out: &mut String, fonts: &Fonts<'_>, item: &Item) -> std::fmt::Result {
    match item {
        Item::Line { points, pen } => {
            writeln!(out, "<polyline points=\"{}\"{}/>", places(points), strokes(pen))
        }
        Item::Fill { points, colour, alpha } => writeln!(
            out,
            "<polygon points=\"{}\" fill=\"{}\"{}/>",
            places(points),
            hex(*colour),
            opacity("fill", *alpha)
        ),
        Item::Disc { at, radius, colour } => {
            let (x, y) = (short(at.0), short(at.1));
            writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"{}\"/>", short(*radius), hex(*colour))
        }
        Item::Text { text, at, kind } => words(out, fonts, text, *at, kind),
    }
}

fn words(out: &mut String, fonts: &Fonts<'_>, text: &str, at: At, kind: &Type) -> std::fmt::Result {
    let (x, y) = (short(at.0), short(at.1));
    let anchor = match kind.along {
        Side::Start => "",
        Side::Middle => " text-anchor=\"middle\"",
        Side::End => " text-anchor=\"end\"",
    };
    let turn = if kind.upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    // Only the viewer knows the width of characters that the embedded fonts lack.
    let length = if text.chars().all(|c| fonts.draws(c)) {
        format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", short(fonts.width(text, kind.size)))
    } else {
        String::new()
    };
    // Each label is isolated, so that right-to-left text cannot reorder others.
    writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\" unicode-bidi=\"isolate\"{anchor}{turn}{length}>{}</text>",
        short(kind.size),
        hex(kind.colour),
        escape(text)
    )
}

fn strokes(pen: &Pen) -> String {
    let mut out = format!(" stroke=\"{}\" stroke-width=\"{}\"", hex(pen.colour), short(pen.width));
    out += &opacity("stroke", pen.alpha);
    if let Some([on, off]) = pen.pattern() {
        let cap = if pen.dash == Dash::Dotted { " stroke-linecap=\"round\"" } else { "" };
        out += &format!(" stroke-dasharray=\"{} {}\"{cap}", short(on), short(off));
    }
    out
}

fn opacity(what: &str, alpha: f64) -> String {
    if alpha < 1.0 { format!(" {what}-opacity=\"{}\"", short(alpha)) } else { String::new() }
}

fn places(points: &[At]) -> String {
    let each: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
    each.join(" ")
}

fn hex(colour: Rgb) -> String {
    format!("#{:02x}{:02x}{:02x}", colour.0, colour.1, colour.2)
}

fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_same_figure_gives_the_same_text_and_says_where_it_comes_from() {
        let figure = samples::curves();
        let svg = to_svg(&figure, &Options::default()).unwrap();
        assert_eq!(svg, to_svg(&figure, &Options::default()).unwrap());
        assert!(svg.starts_with("<svg xmlns") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("<svg").count(), 1);
        for (key, value) in &figure.provenance.entries {
            assert!(svg.contains(&format!("{key}: {value}")), "{key}");
        }
        assert!(svg.contains("stroke-dasharray") && svg.contains("textLength"));
    }

    /// Regression: a note about boxes used to be added, although the viewer draws the missing characters itself.
    #[test]
    fn a_text_that_the_embedded_font_lacks_is_written_without_a_note_about_boxes() {
        let svg = to_svg(&samples::tokens(), &Options::default()).unwrap();
        assert!(svg.contains(">中文</text>") && !svg.contains("a box with digits"));
    }

    #[test]
    fn hostile_text_stays_text() {
        for figure in [samples::hostile(), samples::hostile_tokens()] {
            let svg = to_svg(&figure, &Options::default()).unwrap();
            assert!(!svg.contains("<script") && !svg.contains('\u{1b}') && !svg.contains("NaN"));
        }
    }

    #[test]
    fn every_kind_of_layer_is_well_formed() {
        for figure in samples::all() {
            let svg = to_svg(&figure, &Options::default()).unwrap();
            let opened = svg.matches("<text").count();
            assert!(opened > 4 && opened == svg.matches("</text>").count(), "{}", figure.name);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", figure.name);
        }
    }
}

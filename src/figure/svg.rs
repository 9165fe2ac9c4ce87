//! SVG: the same drawing as the PNG, with the provenance in its metadata.

use std::fmt::Write;

use plotters::backend::SVGBackend;
use plotters::drawing::IntoDrawingArea;

use super::{Figure, FigureError, canvas, draw};
use crate::base::text::printable_label;

/// Units of the view box per logical pixel: plotters writes whole numbers only.
const FACTOR: u32 = 20;

/// The figure as an SVG file. The same figure gives the same text.
///
/// # Errors
/// [`FigureError::Draw`] where the renderer fails.
pub fn to_svg(figure: &Figure) -> Result<String, FigureError> {
    canvas::register_fonts()?;
    let (width, height) = draw::size(figure);
    let mut text = String::new();
    {
        let size = (width * FACTOR, height * FACTOR);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw::draw(&area, (f64::from(FACTOR), canvas::Medium::Vector), figure)?;
        area.present().map_err(|e| FigureError::Draw(e.to_string()))?;
    }
    // Plotters' own opening tag would make the figure FACTOR times too large.
    let body = text.split_once('>').map_or("", |(_, body)| body);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {} {}\">\n",
        width * FACTOR,
        height * FACTOR
    );
    let _ = writeln!(out, "<title>{}</title>", escape(&figure.title));
    let lines =
        figure.provenance.entries.iter().map(|(key, value)| format!("{}: {}", escape(key), escape(value)));
    let lines: Vec<String> = lines.collect();
    let _ = writeln!(out, "<desc>Probity {}\n{}</desc>", env!("CARGO_PKG_VERSION"), lines.join("\n"));
    out.push_str(body.trim_start());
    Ok(out)
}

fn escape(text: &str) -> String {
    printable_label(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::samples;

    #[test]
    fn the_same_figure_gives_the_same_text_and_says_where_it_comes_from() {
        let figure = samples::curves();
        let svg = to_svg(&figure).unwrap();
        assert_eq!(svg, to_svg(&figure).unwrap());
        assert!(svg.starts_with("<svg xmlns") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("<svg").count(), 1);
        for (key, value) in &figure.provenance.entries {
            assert!(svg.contains(&format!("{key}: {value}")), "{key}");
        }
    }

    #[test]
    fn hostile_text_stays_text() {
        let svg = to_svg(&samples::hostile()).unwrap();
        assert!(!svg.contains("<script") && !svg.contains('\u{1b}'));
    }
}

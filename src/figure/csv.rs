//! CSV: exactly the drawn points, with the provenance as comment lines.

use std::fmt::Write;

use super::{Figure, Layer};
use crate::base::text::printable_label;

/// The figure's points as CSV: comment lines `# key: value`, then `series,x,y,lo,hi,n`. Numbers are written so that they
/// read back exactly; `lo` and `hi` are empty where a point has no interval. Guides are no data and are left out.
pub fn to_csv(figure: &Figure) -> String {
    let mut out = String::new();
    let mut comment = |key: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "# {}: {}", printable_label(key), printable_label(value));
    };
    comment("figure", &figure.title);
    comment("x", &figure.x.label);
    comment("y", &figure.y.label);
    for (key, value) in &figure.provenance.entries {
        comment(key, value);
    }
    out.push_str("series,x,y,lo,hi,n\n");
    for layer in &figure.layers {
        let Layer::Series(series) = layer else { continue };
        let name = quote(&printable_label(&series.label));
        for p in &series.points {
            let (lo, hi) =
                p.band.map_or((String::new(), String::new()), |(lo, hi)| (lo.to_string(), hi.to_string()));
            let _ = writeln!(out, "{name},{},{},{lo},{hi},{}", p.x, p.y, p.n);
        }
    }
    out
}

/// A field by RFC 4180. A leading `=`, `+`, `-` or `@` would be run as a formula by spreadsheets; a quote mark before it
/// makes it text.
fn quote(field: &str) -> String {
    let field = if field.starts_with(['=', '+', '-', '@']) { format!("'{field}") } else { field.to_owned() };
    if field.contains([',', '"', '#']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_disarmed() {
        assert_eq!(quote("a,b"), "\"a,b\"");
        assert_eq!(quote("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(quote("=1+1"), "'=1+1");
        assert_eq!(quote("PGD reliability"), "PGD reliability");
    }

    #[test]
    fn the_points_read_back_exactly() {
        let figure = crate::figure::samples::curves();
        let csv = to_csv(&figure);
        let rows: Vec<Vec<&str>> =
            csv.lines().filter(|l| !l.starts_with('#')).skip(1).map(|l| l.split(',').collect()).collect();
        let mut rows = rows.iter();
        for layer in &figure.layers {
            let Layer::Series(series) = layer else { continue };
            for p in &series.points {
                let row = rows.next().unwrap();
                assert_eq!(row[0], series.label);
                assert_eq!((row[1].parse(), row[2].parse()), (Ok(p.x), Ok(p.y)));
                let band = p.band.map(|_| (row[3].parse().unwrap(), row[4].parse().unwrap()));
                assert_eq!((band, row[5].parse()), (p.band, Ok(p.n)));
            }
        }
        assert!(rows.next().is_none());
        for (key, value) in &figure.provenance.entries {
            assert!(csv.contains(&format!("# {key}: {value}\n")), "{key}");
        }
    }
}

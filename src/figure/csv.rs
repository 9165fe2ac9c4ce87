//! CSV export: exactly the drawn points, with provenance in comment lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::axis::Fitted;
use super::layers::{Cells, Count, Graph, Tokens};
use super::{Figure, Layer};
use base::text::printable_label;

/// All columns in order. A file contains only columns with at least one value; curves always have the first six.
const COLUMNS: [&str; 27] = [
    "series", "x", "y", "lo", "hi", "n", "n_second", "inner_lo", "inner_hi", "x_lo", "x_hi", "x_end", "category",
    "label", "row", "column", "value", "doubtful", "strip", "place", "token", "score", "gold", "top", "doubt", "lit",
    "emphasis",
];
/// Columns that are always written for curves, even if empty.
const CURVE: [&str; 6] = ["series", "x", "y", "lo", "hi", "n"];

type Row = BTreeMap<&'static str, String>;

/// Writes the figure's points as CSV: comment lines `# key: value`, then one table. Numbers can be parsed back exactly; missing fields are
/// empty. Rules, guides and points that the axes cannot show are left out.
pub(crate) fn to_csv(figure: &Figure) -> String {
    let mut out = String::new();
    let mut comment = |key: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "# {}: {}", printable_label(key), printable_label(value));
    };
    comment("figure", &figure.title);
    if figure.has_axes() {
        comment("x", &figure.x.label);
        comment("y", &figure.y.label);
    }
    for (key, value) in &figure.provenance.entries {
        comment(if key.is_empty() { "shown" } else { key }, value);
    }
    let rows = rows(figure);
    let points = figure.has_axes() && !figure.layers.iter().any(|l| matches!(l, Layer::Cells(_)));
    let used = |c: &&str| (points && CURVE.contains(c)) || rows.iter().any(|r| r.contains_key(*c));
    let columns: Vec<&str> = COLUMNS.into_iter().filter(used).collect();
    out.push_str(&columns.join(","));
    out.push('\n');
    for row in &rows {
        let fields: Vec<&str> = columns.iter().map(|c| row.get(c).map_or("", String::as_str)).collect();
        out.push_str(&fields.join(","));
        out.push('\n');
    }
    out
}

fn rows(figure: &Figure) -> Vec<Row> {
    let (x, y) = (Fitted::horizontal(figure), Fitted::vertical(figure));
    let shown = |a: f64, b: f64| x.place(a).is_some() && y.place(b).is_some();
    let category = |k: usize| figure.x.categories.get(k).map(|c| text(c));
    let mut out = Vec::new();
    for layer in &figure.layers {
        match layer {
            Layer::Line(line) => {
                for p in line.points.iter().filter(|p| shown(p.x, p.y)) {
                    let mut row = point(&line.label, p.x, p.y, p.n);
                    pair(&mut row, ("lo", "hi"), p.band);
                    pair(&mut row, ("inner_lo", "inner_hi"), p.inner);
                    row.extend(p.emphasis.name().map(|e| ("emphasis", e.to_owned())));
                    out.push(row);
                }
            }
            Layer::Points(points) => {
                for p in points.points.iter().filter(|p| shown(p.x, p.y)) {
                    let mut row = point(&points.label, p.x, p.y, p.n);
                    pair(&mut row, ("lo", "hi"), p.y_band);
                    pair(&mut row, ("x_lo", "x_hi"), p.x_band);
                    if !p.label.is_empty() {
                        row.insert("label", text(&p.label));
                    }
                    out.push(row);
                }
            }
            Layer::Bars(bars) => {
                for b in bars.bars.iter().filter(|b| shown(b.from, b.y)) {
                    let middle = (b.from + b.to) / 2.0;
                    let mut row = point(&bars.label, if b.bin { b.from } else { middle }, b.y, b.n);
                    pair(&mut row, ("lo", "hi"), b.band);
                    if b.bin {
                        row.insert("x_end", b.to.to_string());
                    } else if let Some(name) = category(middle.max(0.0) as usize) {
                        row.insert("category", name);
                    }
                    out.push(row);
                }
            }
            Layer::Ranges(ranges) => {
                for r in ranges.ranges.iter().filter(|r| shown(r.category as f64, r.ends.0)) {
                    let at = r.category as f64;
                    let mut row = point(&ranges.label, at, f64::NAN, r.n);
                    row.insert("y", r.mean.map_or(String::new(), |m| m.to_string()));
                    row.insert("label", if r.mean.is_some() { "mean" } else { "range" }.into());
                    pair(&mut row, ("lo", "hi"), Some(r.ends));
                    let dots = r.dots.iter().filter(|d| shown(at, **d)).map(|d| {
                        let mut row = point(&ranges.label, at, *d, Count::default());
                        row.remove("n");
                        row.insert("label", "dot".into());
                        row
                    });
                    let rows = [row].into_iter().chain(dots);
                    out.extend(rows.map(|mut row| {
                        row.extend(category(r.category).map(|name| ("category", name)));
                        row
                    }));
                }
            }
            Layer::Ranks(ranks) => {
                for line in &ranks.lines {
                    for (k, rank) in line.ranks.iter().enumerate() {
                        let Some(rank) = rank.filter(|r| shown(k as f64, *r)) else { continue };
                        let mut row = point(&line.label, k as f64, rank, Count::default());
                        row.remove("n");
                        row.extend(category(k).map(|name| ("category", name)));
                        out.push(row);
                    }
                }
            }
            Layer::Cells(c) => cells(figure, c, &mut out),
            Layer::Tokens(t) => tokens(t, &mut out),
            Layer::Graph(g) => graph(g, &mut out),
            Layer::Rule(_) | Layer::Guide(_) | Layer::Intervals(_) => {}
        }
    }
    out
}

fn point(series: &str, x: f64, y: f64, n: Count) -> Row {
    let mut row =
        Row::from([("series", text(series)), ("x", x.to_string()), ("y", y.to_string()), ("n", n.first.to_string())]);
    row.extend(n.second.map(|n| ("n_second", n.to_string())));
    row
}

fn pair(row: &mut Row, (first, second): (&'static str, &'static str), band: Option<(f64, f64)>) {
    if let Some((lo, hi)) = band {
        row.insert(first, lo.to_string());
        row.insert(second, hi.to_string());
    }
}

fn cells(figure: &Figure, cells: &Cells, out: &mut Vec<Row>) {
    for (names, row) in figure.y.categories.iter().zip(&cells.rows) {
        for (column, cell) in figure.x.categories.iter().zip(row) {
            let value = cell.value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
            out.push(Row::from([
                ("row", text(names)),
                ("column", text(column)),
                ("value", value),
                ("doubtful", cell.doubtful.to_string()),
            ]));
        }
    }
}

fn tokens(tokens: &Tokens, out: &mut Vec<Row>) {
    for (k, strip) in tokens.strips.iter().enumerate() {
        let columns = tokens.columns();
        for (place, token) in strip.tokens.iter().enumerate() {
            let column = columns.iter().position(|c| c[k] == Some(place));
            out.push(Row::from([
                ("strip", text(&strip.label)),
                ("place", place.to_string()),
                ("column", column.map_or(String::new(), |c| c.to_string())),
                ("token", text(&token.text)),
                ("score", token.score.filter(|s| s.is_finite()).map_or(String::new(), |s| s.to_string())),
                ("gold", token.gold.to_string()),
                ("top", token.top.to_string()),
            ]));
            if let (Some(doubt), Some(row)) = (&strip.doubt, out.last_mut()) {
                row.insert("doubt", text(doubt));
            }
        }
    }
}

fn graph(graph: &Graph, out: &mut Vec<Row>) {
    let name = |k: usize| graph.nodes.get(k).map(|n| text(&n.label));
    for node in &graph.nodes {
        let (x, y) = node.at;
        out.push(Row::from([
            ("series", "node".into()),
            ("label", text(&node.label)),
            ("x", x.to_string()),
            ("y", y.to_string()),
            ("lit", node.lit.to_string()),
        ]));
    }
    for edge in &graph.edges {
        let Some((from, to)) = name(edge.from).zip(name(edge.to)) else { continue };
        out.push(Row::from([
            ("series", "edge".into()),
            ("label", text(&edge.label)),
            ("row", from),
            ("column", to),
            ("lit", edge.lit.to_string()),
        ]));
    }
}

/// Escapes a field according to RFC 4180. A quotation mark is put before a leading `=`, `+`, `-` or `@`, because spreadsheets would run the
/// field as a formula.
pub fn text(field: &str) -> String {
    let field = printable_label(field);
    let field = if field.starts_with(['=', '+', '-', '@']) { format!("'{field}") } else { field };
    if field.contains([',', '"', '#']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    /// Splits a figure's CSV into rows, ignoring quotes.
    fn table(figure: &Figure) -> Vec<Vec<String>> {
        let csv = to_csv(figure);
        let lines = csv.lines().filter(|l| !l.starts_with('#'));
        lines.map(|l| l.split(',').map(str::to_owned).collect()).collect()
    }

    #[test]
    fn fields_are_quoted_and_formulas_disarmed() {
        assert_eq!(text("a,b"), "\"a,b\"");
        assert_eq!(text("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(text("=1+1"), "'=1+1");
        assert_eq!(text("PGD reliability"), "PGD reliability");
    }

    #[test]
    fn the_points_of_curves_read_back_exactly() {
        let figure = samples::curves();
        let rows = table(&figure);
        assert_eq!(rows[0], ["series", "x", "y", "lo", "hi", "n", "n_second"]);
        let mut rows = rows[1..].iter();
        for layer in &figure.layers {
            let Layer::Line(line) = layer else { continue };
            for p in &line.points {
                let row = rows.next().unwrap();
                assert_eq!(row[0], line.label);
                assert_eq!((row[1].parse(), row[2].parse()), (Ok(p.x), Ok(p.y)));
                let band = p.band.map(|_| (row[3].parse().unwrap(), row[4].parse().unwrap()));
                assert_eq!((band, row[5].parse()), (p.band, Ok(p.n.first)));
                assert_eq!(row[6].parse().ok(), p.n.second);
            }
        }
        assert!(rows.next().is_none());
        for (key, value) in &figure.provenance.entries {
            assert!(to_csv(&figure).contains(&format!("# {key}: {value}\n")), "{key}");
        }
    }

    #[test]
    fn every_kind_of_layer_is_a_table_of_what_is_drawn() {
        let counts = [
            (samples::histogram(), 3 * 12),
            (samples::ranges(), 2 * 6 * (1 + 5)),
            (samples::ranks(), 5 * 6 - 1),
            (samples::cells(), 5 * 5),
            (samples::tokens(), 9 + 10),
            (samples::graph(), 5 + 6),
            (samples::power(), 3 * 9),
        ];
        for (figure, count) in counts {
            let rows = table(&figure);
            assert_eq!(rows.len(), 1 + count, "{}: {rows:?}", figure.name);
            assert!(rows.iter().all(|r| r.len() == rows[0].len()), "{}", figure.name);
        }
        let rows = table(&samples::cells());
        assert_eq!(rows[0], ["row", "column", "value", "doubtful"]);
        assert!(rows.iter().any(|r| r[2].is_empty()), "missing cells have a row without a value");
    }

    #[test]
    fn a_point_that_the_axes_cannot_show_is_not_in_the_table() {
        let mut figure = samples::curves();
        if let Layer::Line(line) = &mut figure.layers[0] {
            line.points[3].y = f64::NAN;
            line.points[4].x = -1.0;
        }
        assert_eq!(table(&figure).len(), table(&samples::curves()).len() - 2);
    }
}

//! Figures that two runs have in common, and their values side by side.

use crate::compared::{Number, pair, table};
use base::numbers::short;
use figure::layers::{self, Count};
use figure::{Emphasis, Figure, Layer};
use model::source::in_print;
use stats::Estimate;

/// Pairs of figures with the same name, or with models in the same position, whose lines or bars can be drawn together.
pub fn in_common(all: Vec<Figure>, mut others: Vec<Figure>, models: [&[String]; 2]) -> Vec<(Figure, Figure)> {
    let place = |figure: &Figure, models: &[String]| by_place(&figure.name, models);
    let with_other = |f: Figure| {
        let same = others.iter().position(|g| g.name == f.name);
        let at = same.or_else(|| others.iter().position(|g| place(g, models[1]) == place(&f, models[0])))?;
        let g = others.swap_remove(at);
        (leading(&f).is_some() && leading(&g).is_some()).then_some((f, g))
    };
    all.into_iter().filter_map(with_other).collect()
}

/// Replaces each model in a figure's name by its index in the run, so that figures of runs with different models match.
fn by_place(name: &str, models: &[String]) -> String {
    let mut order: Vec<usize> = (0..models.len()).collect();
    // A longer name may contain a shorter one.
    order.sort_by_key(|i| std::cmp::Reverse(models[*i].len()));
    order.iter().fold(name.to_owned(), |name, i| name.replace(in_print(&models[*i]), &format!("\u{1}{i}\u{1}")))
}

/// True if a layer is a series with values, and not a range between two lines.
fn is_series(layer: &Layer) -> bool {
    matches!(layer, Layer::Line(l) if l.role.dash.is_some()) || matches!(layer, Layer::Bars(_))
}

/// The line or the bars of a figure that matter most.
pub fn leading(figure: &Figure) -> Option<&Layer> {
    let leads = |l: &&Layer| matches!(l, Layer::Line(l) if l.role.dash.is_some() && (l.role.emphasis == Emphasis::Strong || l.role.accent == Some(2)));
    figure.layers.iter().find(leads).or_else(|| figure.layers.iter().find(|l| is_series(l)))
}

/// All values of a figure's series, each named by its position on the horizontal axis, whose label is in the heading. `level` is the level
/// of the intervals.
fn values(figure: &Figure, level: f64, distrusted: bool) -> Vec<Number> {
    let is_margin = figure.layers.iter().any(|l| matches!(l, Layer::Intervals(i) if i.is_margin));
    // The text in brackets, such as the deviation of a feature, may differ between runs.
    let axis = figure.x.label.split(" (").next().unwrap_or_default();
    let number = |label: &str, x: f64, y: f64, interval: Option<(f64, f64)>, n: Count| {
        let category = figure.x.categories.get(x.round().max(0.0) as usize).cloned();
        let (lo, hi) = interval.filter(|_| !is_margin).unwrap_or((f64::NAN, f64::NAN));
        let group = if category.is_some() { label.to_owned() } else { format!("{label}, by {axis}") };
        let name = category.unwrap_or_else(|| short(x));
        Number {
            name,
            group,
            value: Estimate { mean: y, lo, hi },
            n,
            level,
            unit: (1.0, ""),
            distrusted,
            stands_in: None,
        }
    };
    let of = |layer: &Layer| match layer {
        Layer::Line(l) => l.points.iter().map(|p| number(&l.label, p.x, p.y, p.interval(), p.n)).collect(),
        Layer::Bars(b) => {
            let middle = |bar: &layers::Bar| (bar.from + bar.to) / 2.0;
            b.bars.iter().map(|bar| number(&b.label, middle(bar), bar.y, bar.interval(), bar.n)).collect()
        }
        _ => Vec::new(),
    };
    figure.layers.iter().filter(|l| is_series(l)).flat_map(of).collect()
}

/// Level of intervals if no number of the answer states one.
const LEVEL: f64 = 0.95;

/// All values that two figures have in common, with differences and tests, as lines of at most `room` cells if possible. Each figure comes
/// with the number of its run and the numbers of the run's answer; `shared` as in [`table`].
pub fn by_value(
    (n, f, of_f): (usize, &Figure, &[Number]),
    (m, g, of_g): (usize, &Figure, &[Number]),
    shared: bool,
    room: usize,
) -> Vec<String> {
    let of = |figure: &Figure, numbers: &[Number]| {
        values(figure, numbers.first().map_or(LEVEL, |n| n.level), is_distrusted(figure, numbers))
    };
    table((n, m), &pair((&of(f, of_f), &[]), (&of(g, of_g), &[])).common, shared, room)
}

/// True if the title names the model and the oracle of numbers that the answer distrusts.
fn is_distrusted(figure: &Figure, numbers: &[Number]) -> bool {
    let named = |group: &str| group.split(", ").all(|part| figure.title.contains(in_print(part)));
    numbers.iter().any(|number| number.distrusted && number.stands_in.is_none() && named(&number.group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use figure::layers::{Datum, Intervals};
    use figure::{Axis, Provenance};

    fn figure(is_margin: bool) -> Figure {
        let datum = Datum { x: 32.0, y: 0.9, band: Some((0.7, 1.0)), n: Count::from(400), ..Datum::default() };
        let line = layers::Line { label: "A".into(), role: figure::Role::line(0), points: vec![datum] };
        Figure {
            name: "one".into(),
            title: "Scores on m, MLP oracle".into(),
            x: Axis::doubling("training examples"),
            y: Axis::linear("accuracy"),
            layers: vec![
                Layer::Line(line),
                Layer::Intervals(Intervals { is_margin, ..Intervals::covering(0.95, "items") }),
            ],
            provenance: Provenance::default(),
        }
    }

    /// Regression: the comparison used to test a difference with the margin of a bound.
    #[test]
    fn bound_margin_is_not_an_interval() {
        let interval = |is_margin| values(&figure(is_margin), 0.95, false).iter().map(|n| n.value.lo).next();
        assert_eq!(interval(false), Some(0.7));
        assert!(interval(true).is_some_and(f64::is_nan));
    }

    /// Regression: every row used to repeat the label of the axis.
    #[test]
    fn axis_is_named_once_in_the_heading() {
        let f = figure(false);
        let lines = by_value((1, &f, &[]), (2, &f, &[]), false, 80);
        assert_eq!(lines.join("\n").matches("training examples").count(), 1, "{lines:?}");
        assert!(lines.iter().any(|line| line.trim_start().starts_with("32 ")), "{lines:?}");
    }

    #[test]
    fn figure_of_distrusted_oracle_has_no_stars() {
        let (f, mut g) = (figure(false), figure(false));
        if let Layer::Line(line) = &mut g.layers[0] {
            (line.points[0].y, line.points[0].band) = (0.2, Some((0.1, 0.3)));
        }
        let judged = Number {
            name: "R".into(),
            group: "m, MLP oracle".into(),
            value: Estimate::exact(0.5),
            n: Count::from(1),
            level: 0.95,
            unit: (1.0, ""),
            distrusted: true,
            stands_in: None,
        };
        let starred = |numbers: &[Number]| {
            let lines = by_value((1, &f, numbers), (2, &g, &[]), false, 80);
            lines.iter().any(|line| line.contains(" *"))
        };
        assert!(starred(&[]) && !starred(std::slice::from_ref(&judged)));
        assert!(starred(&[Number { group: "m, linear oracle".into(), ..judged }]));
    }
}

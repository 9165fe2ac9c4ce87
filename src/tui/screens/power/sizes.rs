//! The list of training sizes: accuracies, difference, p and power at each.

use super::results;
use crate::panes::table::{Row, Table};
use crate::state::State;
use figure::layers::grouped;
use labs::interval::beside;
use labs::power::summary::{p_value, points};

/// Table with one row for each compared size, or with a single row for results from files.
pub(crate) fn table(state: &State) -> Table {
    let found = results(state);
    let accuracy = |n: usize, side: &str| {
        let of = found.configurations.iter().find(|c| c.value.n_train == n && c.value.side == side);
        let none = || ("–".to_owned(), None);
        of.map_or([none(), none(), none()], |c| {
            let (e, points) = (c.value.accuracy, |x: f64| format!("{:.1}", 100.0 * x));
            let interval = (beside(e, None, points), Some(e.half_width()));
            [(points(e.mean), Some(e.mean)), interval, (grouped(c.n), Some(c.n as f64))]
        })
    };
    let mut sizes: Vec<usize> = found.configurations.iter().map(|c| c.value.n_train).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let last = sizes.last().copied();
    let row = |n: &usize| {
        let required = found.by_size().iter().find(|r| r.value.trained == Some(*n as u64));
        let power = required
            .map_or(("–".to_owned(), None), |r| (format!("{:.0} %", 100.0 * r.value.power), Some(r.value.power)));
        let [a, a_interval, items] = accuracy(*n, "a");
        let [b, b_interval, _] = accuracy(*n, "b");
        let difference = match (a.1, b.1) {
            (Some(x), Some(y)) => (points(x - y), Some(x - y)),
            _ => ("–".to_owned(), None),
        };
        // The row of the largest size shows the comparison with the user's test settings, if there is one.
        let of_size = || found.comparisons.iter().find(|c| items.1 == Some(c.n as f64));
        let comparison = found.comparison().filter(|_| Some(*n) == last).or_else(of_size);
        let p = comparison.map_or(("–".to_owned(), None), |c| (p_value(c.value.p), Some(c.value.p)));
        let trained = if *n == 0 { "files".to_owned() } else { grouped(*n) };
        let sizes = format!("{trained} / {}", items.0);
        Row { cells: vec![(sizes, Some(*n as f64)), difference, p, a, b, power, a_interval, b_interval], last: None }
    };
    Table {
        columns: vec!["train / test", "diff.", "raw p", "A %", "B %", "power", "A interval", "B interval"],
        rows: sizes.iter().map(row).collect(),
        sort: (0, false),
        first: Some(13),
        ..Table::default()
    }
}

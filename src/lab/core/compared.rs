//! Two runs side by side: the numbers that both have, with their difference.

use crate::family::ALPHA;
use base::numbers::probability;
use base::text::{section, width};
use figure::layers::Count;
use stats::Estimate;
use stats::corrections::holm;
use stats::mcnemar::chi2_tail;
use stats::special::normal_quantile;

#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Name of the number within its group, equal in every run that has it.
    pub name: String,
    /// Its model and the oracle that judged, as the heading of its rows; empty if the name states them.
    pub group: String,
    pub value: Estimate,
    /// Number of examples behind it; both numbers if it is computed from two samples.
    pub n: Count,
    /// Level of its interval.
    pub level: f64,
    /// Factor and unit for display: 100 and ` points` for proportions.
    pub unit: (f64, &'static str),
}

/// A number in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    pub a: Number,
    pub b: Number,
    /// The second minus the first, with its interval by square-and-add.
    pub difference: Estimate,
    /// p-value of no difference, by the arm of the interval towards 0; `None` if neither number has an interval.
    pub p: Option<f64>,
}

/// The numbers that two runs have in common, in the order of the first. If both runs have the same number of models,
/// models in the same position are compared, and names show both. Which examples the runs share is unknown, so they are
/// treated as independent. The interval adds the squares of both intervals' arms (Newcombe 1998, Zou and Donner 2008),
/// which keeps their asymmetry. With half widths instead, coverage is .83 for differences between proportions of 5
/// examples, and .91 at 20.
pub fn common((a, of_a): (&[Number], &[String]), (b, of_b): (&[Number], &[String])) -> Vec<Common> {
    let swapped = of_a.len() == of_b.len() && of_a != of_b;
    let beside = |a: &Number| {
        let same = b.iter().find(|b| (&b.name, &b.group) == (&a.name, &a.group));
        let of = |n: &Number, models: &[String]| [&n.name, &n.group].map(|text| roles(text, models));
        let in_place = || b.iter().find(|b| swapped && of(b, of_b) == of(a, of_a));
        let b = same.or_else(in_place)?;
        let told = |text: &str| if same.is_some() { text.to_owned() } else { with_both(text, of_a, of_b) };
        let a = &Number { name: told(&a.name), group: told(&a.group), ..a.clone() };
        let z = |level: f64| normal_quantile(0.5 + 0.5 * level);
        let scale = z(a.level) / z(b.level);
        let arms = |x: &Number| (x.value.mean - x.value.lo, x.value.hi - x.value.mean);
        let ((a_down, a_up), (b_down, b_up)) = (arms(a), arms(b));
        let (down, up) = ((scale * b_down).hypot(a_up), (scale * b_up).hypot(a_down));
        let mean = b.value.mean - a.value.mean;
        let towards = if mean > 0.0 { down } else { up };
        let p = (towards > 0.0).then(|| chi2_tail((z(a.level) * mean / towards).powi(2)));
        let difference = Estimate { mean, lo: mean - down, hi: mean + up };
        Some(Common { a: a.clone(), b: b.clone(), difference, p })
    };
    a.iter().filter_map(beside).collect()
}

/// A name with each model of a run replaced by its position. Longer names first: one may contain another.
fn replaced(name: &str, models: &[String], by: impl Fn(usize) -> String) -> String {
    let mut order: Vec<usize> = (0..models.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(models[*i].len()));
    let mark = |i: usize| format!("\u{1}{i}\u{1}");
    let marked = order.iter().fold(name.to_owned(), |text, i| text.replace(&models[*i], &mark(*i)));
    order.iter().fold(marked, |text, i| text.replace(&mark(*i), &by(*i)))
}

fn roles(name: &str, models: &[String]) -> String {
    replaced(name, models, |i| format!("\u{1}{i}"))
}

fn with_both(name: &str, of_a: &[String], of_b: &[String]) -> String {
    replaced(name, of_a, |i| match of_a[i] == of_b[i] {
        true => of_a[i].clone(),
        false => format!("{} | {}", of_a[i], of_b[i]),
    })
}

/// The numbers as aligned lines under the run numbers, then how many differ by more than chance, and how they were
/// compared. If a line would exceed `room` columns, the unadjusted p-values are dropped first, then the counts, then
/// the two values.
pub fn table(places: (usize, usize), numbers: &[Common], room: usize) -> Vec<String> {
    if numbers.is_empty() {
        return vec!["The runs have no number in common.".into()];
    }
    let mut out = vec![verdict(numbers)];
    let adjusted = adjusted(numbers);
    let mut groups: Vec<&str> = Vec::new();
    for c in numbers {
        if !groups.contains(&c.a.group.as_str()) {
            groups.push(&c.a.group);
        }
    }
    let parts = |leave_out: &[&str]| {
        let mut part = Vec::new();
        groups.iter().for_each(|group| rows(&mut part, places, (group, numbers, &adjusted), leave_out));
        part
    };
    let fits = |part: &Vec<String>| part.iter().all(|line| width(line) <= room);
    let (first, second) = names_of(places);
    let narrow = parts(&["p", "n", &first, &second]);
    out.extend([parts(&[]), parts(&["p"]), parts(&["p", "n"])].into_iter().find(fits).unwrap_or(narrow));
    if adjusted.iter().flatten().any(|p| *p <= ALPHA) {
        out.push("* differs by more than chance after Holm's adjustment for all numbers of this table.".into());
    }
    out.push(
        "Which examples the runs share is not known, so they are compared as independent samples (Newcombe 1998)."
            .into(),
    );
    out
}

/// Column headings for the two runs; runs of two sessions may have the same number.
fn names_of((a, b): (usize, usize)) -> (String, String) {
    if a == b { ("first".into(), "second".into()) } else { (format!("run {a}"), format!("run {b}")) }
}

/// The aligned rows of a group, without the given columns.
fn rows(
    out: &mut Vec<String>,
    places: (usize, usize),
    (group, numbers, adjusted): (&str, &[Common], &[Option<f64>]),
    leave_out: &[&str],
) {
    let row = |(c, adjusted): (&Common, &Option<f64>)| {
        let (factor, unit) = c.a.unit;
        let decimals = if factor > 1.0 { 1 } else { 3 };
        let show = |x: f64| {
            format!("{:.decimals$}", factor * x).replacen("0.", ".", usize::from(x.abs() < 1.0 && factor == 1.0))
        };
        let signed = |x: f64| format!("{}{}", if x < 0.0 { "-" } else { "+" }, show(x.abs()));
        let d = c.difference;
        let n = if c.a.n == c.b.n { c.a.n.to_string() } else { format!("{}, {}", c.a.n, c.b.n) };
        let mark = |p: f64| format!("{}{}", probability(p), if p <= ALPHA { " *" } else { "" });
        vec![
            c.a.name.clone(),
            n,
            show(c.a.value.mean),
            show(c.b.value.mean),
            format!("{} [{}, {}]{unit}", signed(d.mean), signed(d.lo), signed(d.hi)),
            c.p.map_or("–".into(), probability),
            adjusted.map_or("–".into(), mark),
        ]
    };
    let (first, second) = names_of(places);
    let columns = ["number", "n", &first, &second, "difference", "p", "p, Holm"];
    let kept: Vec<usize> = (0..columns.len()).filter(|i| !leave_out.contains(&columns[*i])).collect();
    let only = |row: Vec<String>| kept.iter().map(|i| row[*i].clone()).collect();
    let columns: Vec<&str> = kept.iter().map(|i| columns[*i]).collect();
    let mine = numbers.iter().zip(adjusted).filter(|(c, _)| c.a.group == group);
    let of = if group.is_empty() { String::new() } else { format!(": {group}") };
    section(out, &format!("Numbers of both{of}"), &columns, mine.map(row).map(only).collect());
}

/// P-values after Holm's adjustment, in the order of the numbers. `None` for a number without a p-value.
fn adjusted(numbers: &[Common]) -> Vec<Option<f64>> {
    let p: Vec<f64> = numbers.iter().filter_map(|c| c.p).collect();
    let mut adjusted = holm(&p).into_iter();
    numbers.iter().map(|c| c.p.and_then(|_| adjusted.next())).collect()
}

/// The number of differences beyond chance, as a sentence.
fn verdict(numbers: &[Common]) -> String {
    if numbers.iter().all(|c| c.a.value == c.b.value) {
        return "Both runs have the same numbers; intervals would assume that the runs share no examples.".into();
    }
    let p: Vec<f64> = adjusted(numbers).into_iter().flatten().collect();
    let apart = p.iter().filter(|p| **p <= ALPHA).count();
    let (all, adjusted) = (p.len(), "p-values adjusted by Holm");
    match apart {
        0 => format!("None of {all} numbers differs by more than chance ({adjusted})."),
        1 => format!("1 of {all} numbers differs by more than chance ({adjusted})."),
        _ => format!("{apart} of {all} numbers differ by more than chance ({adjusted})."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::intervals::wilson;

    fn number(name: &str, mean: f64, half: f64) -> Number {
        let value = Estimate { mean, lo: mean - half, hi: mean + half };
        Number { name: name.into(), group: String::new(), value, n: 100.into(), level: 0.95, unit: (1.0, "") }
    }

    #[test]
    fn only_what_both_runs_have_is_compared() {
        let (a, b) = ([number("x", 0.5, 0.03), number("y", 0.1, 0.0)], [number("x", 0.6, 0.04), number("z", 1.0, 0.1)]);
        let both = common((&a, &[]), (&b, &[]));
        assert_eq!(both.len(), 1);
        let d = both[0].difference;
        assert!((d.mean - 0.1).abs() < 1e-12 && ((d.hi - d.lo) / 2.0 - 0.05).abs() < 1e-12, "{d:?}");
        // 0.1 is four standard errors of 0.05 / 1.96.
        assert!((both[0].p.unwrap() - 8.9e-5).abs() < 1e-5, "{:?}", both[0].p);
        assert!(table((1, 2), &both, usize::MAX).iter().any(|line| line.contains("+.100 [+.050, +.150]")));
    }

    /// Runs of two models used to have no number in common.
    #[test]
    fn models_in_the_same_place_are_compared() {
        let models = |names: [&str; 2]| names.map(String::from).to_vec();
        let (of_a, of_b) = (models(["m", "untrained:m"]), models(["n", "untrained:m"]));
        let a = [number("accuracy of m", 0.5, 0.1), number("accuracy of untrained:m", 0.2, 0.1)];
        let b = [number("accuracy of n", 0.6, 0.1), number("accuracy of untrained:m", 0.2, 0.1)];
        let both = common((&a, &of_a), (&b, &of_b));
        let names: Vec<&str> = both.iter().map(|c| c.a.name.as_str()).collect();
        assert_eq!(names, ["accuracy of m | n", "accuracy of untrained:m"]);
        assert!((both[0].difference.mean - 0.1).abs() < 1e-12);
        assert!(common((&a, &of_a), (&b[..1], &[])).is_empty());
    }

    /// With two oracles every row broke at 80 columns, with one oracle at 120.
    #[test]
    fn rows_stand_under_their_model_and_oracle() {
        let of = |name: &str, group: &str| Number { group: group.into(), ..number(name, 0.5, 0.1) };
        let all = [of("R of a", "m, MLP oracle"), of("R of a", "m, linear oracle"), of("C of a", "m, MLP oracle")];
        let told = table((1, 2), &common((&all, &[]), (&all, &[])), 80);
        let at = |start: &str| told.iter().position(|line| line.trim_start().starts_with(start)).unwrap();
        let order =
            ["Numbers of both: m, MLP oracle", "R of a  ", "C of a  ", "Numbers of both: m, linear oracle"].map(at);
        assert!(order.is_sorted(), "{told:?}");
        // Models in the same position are also matched by their groups.
        let (m, n) = (vec!["m".to_owned()], vec!["n".to_owned()]);
        let other = [of("R of a", "n, MLP oracle")];
        let both = common((&all, &m), (&other, &n));
        assert_eq!(both.iter().map(|c| c.a.group.as_str()).collect::<Vec<_>>(), ["m | n, MLP oracle"]);
    }

    /// The verdict counted adjusted p-values, but the rows showed only unadjusted ones.
    #[test]
    fn numbers_that_differ_after_holm_are_marked() {
        let (a, b) =
            (["x", "y"].map(|name| number(name, 0.5, 0.03)), [number("x", 0.6, 0.04), number("y", 0.56, 0.04)]);
        let both = common((&a, &[]), (&b, &[]));
        let told = table((1, 2), &both, usize::MAX);
        assert!(told[0].starts_with("2 of 2 numbers differ"), "{told:?}");
        let end = |name: &str| {
            let row = told.iter().find(|line| line.trim_start().starts_with(name)).unwrap();
            row.split("  ").filter(|cell| !cell.is_empty()).skip(5).map(str::trim).collect::<Vec<_>>().join(" ")
        };
        // Two-sided: the smaller p is doubled, the larger one stays.
        assert_eq!([end("x"), end("y")], ["<.001 <.001 *", ".019 .019 *"]);
    }

    #[test]
    fn a_narrow_table_leaves_out_unadjusted_p_values_then_counts() {
        let a = [number("a number with a rather long name", 0.5, 0.03)];
        let both = common((&a, &[]), (&[number(&a[0].name, 0.6, 0.04)], &[]));
        let mut room = usize::MAX;
        let heads = [(); 4].map(|()| {
            let told = table((1, 2), &both, room);
            let at = told.iter().position(|line| line.contains("difference")).unwrap();
            let longest = told[at..at + 2].iter().map(|line| width(line)).max().unwrap();
            assert!(longest <= room, "{told:?}");
            room = longest - 1;
            told[at].split_whitespace().collect::<Vec<_>>().join(" ")
        });
        let after = "run 1 run 2 difference p, Holm";
        let most = format!("number n {}", after.replace(" p,", " p p,"));
        let fewest = "number difference p, Holm".to_owned();
        assert_eq!(heads, [most, format!("number n {after}"), format!("number {after}"), fewest]);
    }

    #[test]
    fn equal_runs_are_called_equal() {
        let a = [number("x", 0.5, 0.03)];
        let told = table((1, 1), &common((&a, &[]), (&a, &[])), usize::MAX);
        assert!(told.iter().any(|line| line.contains("first  second")), "{told:?}");
        assert!(told[0].starts_with("Both runs have the same numbers"), "{told:?}");
    }

    /// Newcombe (1998), Table II, row (a), method 10: 56 of 70 against 48 of 80.
    #[test]
    fn shares_have_the_published_interval() {
        let share = |k, n| Number { value: wilson(k, n, 0.95), n: (n as usize).into(), ..number("x", 0.0, 0.0) };
        let d = common((&[share(48, 80)], &[]), (&[share(56, 70)], &[]))[0].difference;
        assert!((d.mean - 0.2).abs() < 1e-12, "{d:?}");
        assert!((d.lo - 0.0524).abs() < 5e-5 && (d.hi - 0.3339).abs() < 5e-5, "{d:?}");
    }

    #[test]
    fn numbers_without_intervals_have_no_p() {
        let both = common((&[number("x", 1.0, 0.0)], &[]), (&[number("x", 2.0, 0.0)], &[]));
        assert_eq!((both[0].p, both[0].difference.lo), (None, 1.0));
    }
}

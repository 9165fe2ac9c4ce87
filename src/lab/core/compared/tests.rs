//! Tests of the comparison of two runs.

use super::*;
use stats::intervals::wilson;

fn number(name: &str, mean: f64, half: f64) -> Number {
    let value = Estimate { mean, lo: mean - half, hi: mean + half };
    Number {
        name: name.into(),
        group: String::new(),
        value,
        n: 100.into(),
        level: 0.95,
        unit: (1.0, ""),
        distrusted: false,
        stands_in: None,
    }
}

/// Regression: two runs used to have no number in common if one of them had no best strength.
#[test]
fn missing_number_is_replaced_by_another() {
    let at = |mean: f64, why: &str| Number {
        stands_in: Some(StandIn { of: "R".into(), who: "PGD".into(), why: why.into() }),
        ..number("R at 1", mean, 0.1)
    };
    let (with, without) = ([number("R", 0.6, 0.1), at(0.5, "")], [at(0.4, "too few examples")]);
    let both = pair((&with, &[]), (&without, &[]));
    assert_eq!(both.common.iter().map(|c| c.a.name.as_str()).collect::<Vec<_>>(), ["R at 1"]);
    let why = replacements(2, &both.common, |c| &c.b).unwrap();
    assert_eq!(why, "Run 2 has no best strength for PGD: too few examples. Compared at equal strengths instead.");
    assert_eq!(replacements(1, &both.common, |c| &c.a), None);
    assert!(alone(1, &both.alone[0]).unwrap().ends_with("only run 1 has (R)."));
    let both = pair((&with, &[]), (&with, &[]));
    assert_eq!(
        both.common.iter().map(|c| c.a.name.as_str()).collect::<Vec<_>>(),
        ["R"],
        "only the main number is compared"
    );
}

#[test]
fn only_common_numbers_are_compared() {
    let (a, b) = ([number("x", 0.5, 0.03), number("y", 0.1, 0.0)], [number("x", 0.6, 0.04), number("z", 1.0, 0.1)]);
    let both = pair((&a, &[]), (&b, &[]));
    assert_eq!(both.common.len(), 1);
    let d = both.common[0].difference;
    assert!((d.mean - 0.1).abs() < 1e-12 && ((d.hi - d.lo) / 2.0 - 0.05).abs() < 1e-12, "{d:?}");
    // A difference of 0.1 is four standard errors of 0.05 / 1.96.
    assert!((both.common[0].p.unwrap() - 8.9e-5).abs() < 1e-5, "{:?}", both.common[0].p);
    assert!(table((1, 2), &both.common, false, usize::MAX).iter().any(|line| line.contains("+.100 [+.050, +.150]")));
}

/// Regression: the difference between two equal numbers used to be `-0.0`.
#[test]
fn difference_rounded_to_0_has_no_sign() {
    let points = |mean: f64| Number { unit: (100.0, " points"), ..number("power", mean, 0.0) };
    let both = pair((&[points(1.0)], &[]), (&[points(1.0 - 1e-9)], &[]));
    let lines = table((1, 2), &both.common, false, usize::MAX).join("\n");
    assert!(lines.contains(" 0.0 [0.0, 0.0]"), "{lines}");
}

/// Regression: runs with different models used to have no numbers in common.
#[test]
fn models_in_the_same_position_are_compared() {
    let models = |names: [&str; 2]| names.map(String::from).to_vec();
    let (of_a, of_b) = (models(["m", "untrained:m"]), models(["n", "untrained:m"]));
    let a = [number("accuracy of m", 0.5, 0.1), number("accuracy of untrained:m", 0.2, 0.1)];
    let b = [number("accuracy of n", 0.6, 0.1), number("accuracy of untrained:m", 0.2, 0.1)];
    let both = pair((&a, &of_a), (&b, &of_b));
    let names: Vec<&str> = both.common.iter().map(|c| c.a.name.as_str()).collect();
    assert_eq!(names, ["accuracy of m | n", "accuracy of untrained:m"]);
    assert!((both.common[0].difference.mean - 0.1).abs() < 1e-12);
    assert!(pair((&a, &of_a), (&b[..1], &[])).common.is_empty());
}

/// Regression: rows used to break at 80 columns with two oracles, and at 120 with one.
#[test]
fn rows_are_grouped_by_model_and_oracle() {
    let of = |name: &str, group: &str| Number { group: group.into(), ..number(name, 0.5, 0.1) };
    let all = [of("R of a", "m, MLP oracle"), of("R of a", "m, linear oracle"), of("C of a", "m, MLP oracle")];
    let printed = table((1, 2), &pair((&all, &[]), (&all, &[])).common, false, 80);
    let at = |start: &str| printed.iter().position(|line| line.trim_start().starts_with(start)).unwrap();
    let order =
        ["Numbers in both runs: m, MLP oracle", "R of a  ", "C of a  ", "Numbers in both runs: m, linear oracle"]
            .map(at);
    assert!(order.is_sorted(), "{printed:?}");
    // Models in the same position are also matched by their groups.
    let (m, n) = (vec!["m".to_owned()], vec!["n".to_owned()]);
    let other = [of("R of a", "n, MLP oracle")];
    let both = pair((&all, &m), (&other, &n));
    assert_eq!(both.common.iter().map(|c| c.a.group.as_str()).collect::<Vec<_>>(), ["m | n, MLP oracle"]);
}

/// Regression: the verdict used to count adjusted p-values while rows showed only unadjusted ones.
#[test]
fn significant_differences_are_starred() {
    let (a, b) = (["x", "y"].map(|name| number(name, 0.5, 0.03)), [number("x", 0.6, 0.04), number("y", 0.56, 0.04)]);
    let both = pair((&a, &[]), (&b, &[]));
    let printed = table((1, 2), &both.common, false, usize::MAX);
    assert_eq!(verdict(&both, false), "2 numbers in both runs: 2 differ significantly after Holm's adjustment.");
    let end = |name: &str| {
        let row = printed.iter().find(|line| line.trim_start().starts_with(name)).unwrap();
        row.split("  ").filter(|cell| !cell.is_empty()).skip(5).map(str::trim).collect::<Vec<_>>().join(" ")
    };
    // Holm's adjustment of two p-values: the smaller one is doubled, the larger one is unchanged.
    assert_eq!([end("x"), end("y")], ["<.001 <.001 *", ".019 .019 *"]);
}

/// Regression: the comparison used to star scores of an oracle that the answer called poorly calibrated.
#[test]
fn numbers_of_a_distrusted_oracle_have_no_star() {
    let (a, mut b) = ([number("x", 0.5, 0.03)], [number("x", 0.6, 0.04)]);
    b[0].distrusted = true;
    let both = pair((&a, &[]), (&b, &[]));
    let printed = table((1, 2), &both.common, false, usize::MAX);
    assert!(!printed.iter().any(|line| line.contains('*')), "{printed:?}");
    assert!(printed.iter().any(|line| line.starts_with("Numbers with an unreliable")), "{printed:?}");
    assert_eq!(
        verdict(&both, false),
        "1 number in both runs: 1 differs significantly after Holm's adjustment, but it does not affect the answer."
    );
}

#[test]
fn narrow_table_drops_columns_in_order() {
    let a = [number("a number with a rather long name", 0.5, 0.03)];
    let both = pair((&a, &[]), (&[number(&a[0].name, 0.6, 0.04)], &[]));
    let heads = [usize::MAX, 86, 74, 66, 40].map(|room| {
        let printed = table((1, 2), &both.common, false, room);
        let at = printed.iter().position(|line| line.contains("difference")).unwrap();
        let rows: Vec<&String> = printed[at..].iter().take_while(|line| !line.is_empty()).collect();
        assert!(room == 40 || rows.iter().all(|line| width(line) <= room), "{printed:?}");
        (printed[at].split_whitespace().collect::<Vec<_>>().join(" "), rows.len() - 1)
    });
    let after = "run 1 run 2 difference p, Holm";
    let most = format!("number n {}", after.replace(" p,", " p p,"));
    let without_p = format!("number n {after}");
    let fewest = "number difference p, Holm".to_owned();
    let heads = heads.each_ref().map(|(head, rows)| (head.as_str(), *rows));
    assert_eq!(
        heads,
        [(&*most, 1), (&*without_p, 1), (&*without_p, 2), (&*format!("number {after}"), 2), (&*fewest, 1)]
    );
}

/// Regression: rows used to follow the order of the first run, which mixed differing and identical numbers.
#[test]
fn most_certain_differences_come_first() {
    let (a, b) = ([("x", 0.5), ("y", 0.5), ("z", 0.5)], [("x", 0.51), ("y", 0.9), ("z", 0.6)]);
    let all = |of: [(&str, f64); 3]| of.map(|(name, mean)| number(name, mean, 0.03));
    let printed = table((1, 2), &pair((&all(a), &[]), (&all(b), &[])).common, false, 80);
    let at = |name: &str| printed.iter().position(|line| line.trim_start().starts_with(name)).unwrap();
    assert!(["y  ", "z  ", "x  "].map(at).is_sorted(), "{printed:?}");
}

/// Regression: the difference of a measurement made by both runs with the same settings used to have a two-sample interval around 0.
#[test]
fn shared_measurement_is_not_tested() {
    let a = [number("accuracy of m", 0.5, 0.03), number("accuracy of o", 0.6, 0.03)];
    let b = [number("accuracy of n", 0.7, 0.03), number("accuracy of o", 0.6, 0.03)];
    let models = |name: &str| vec![name.to_owned(), "o".to_owned()];
    let both = pair((&a, &models("m")), (&b, &models("n")));
    assert_eq!(
        verdict(&both, true),
        "2 numbers in both runs: 1 differs significantly after Holm's adjustment; 1 is identical."
    );
    let printed = table((1, 2), &both.common, true, 80);
    assert_eq!(printed.iter().filter(|line| line.contains("accuracy of o")).count(), 1, "{printed:?}");
    assert!(printed.contains(&"  accuracy of o: .600".to_owned()), "{printed:?}");
    assert!(printed.iter().any(|line| line.starts_with("Both runs test the same examples")), "{printed:?}");
    // Runs on different examples are separate measurements.
    assert!(verdict(&both, false).starts_with("2 numbers in both runs: 1 differs"), "{}", verdict(&both, false));
}

#[test]
fn equal_runs_are_reported_as_equal() {
    let a = [number("x", 0.5, 0.03)];
    let both = pair((&a, &[]), (&a, &[]));
    assert_eq!(verdict(&both, true), "Nothing differs: 1 number is the same in both runs.");
    let printed = table((1, 1), &both.common, false, usize::MAX);
    assert!(printed.iter().any(|line| line.contains("first  second")), "{printed:?}");
    assert_eq!(verdict(&Paired::default(), true), "The runs have no comparable results in common.");
}

/// Source: Newcombe (1998), Table II, row (a), method 10: 56 of 70 against 48 of 80.
#[test]
fn proportions_have_the_published_interval() {
    let share = |k, n| Number { value: wilson(k, n, 0.95), n: (n as usize).into(), ..number("x", 0.0, 0.0) };
    let d = pair((&[share(48, 80)], &[]), (&[share(56, 70)], &[])).common[0].difference;
    assert!((d.mean - 0.2).abs() < 1e-12, "{d:?}");
    assert!((d.lo - 0.0524).abs() < 5e-5 && (d.hi - 0.3339).abs() < 5e-5, "{d:?}");
}

/// Regression: if most methods of a run had no best strength, the table used to name three numbers without giving a reason.
#[test]
fn numbers_of_only_one_run_are_named() {
    let number = |name: &str, mean: f64| Number { n: 9.into(), ..number(name, mean, 0.1) };
    let (a, b) = (["C", "S", "R", "flips", "n"].map(|name| number(name, 0.5)), [number("C", 0.4)]);
    let both = pair((&a, &[]), (&b, &[]));
    assert_eq!(
        alone(0, &both.alone[0]).unwrap(),
        "Not compared: 4 numbers that only the example has (S; R; flips; and 1 more)."
    );
    assert_eq!(alone(1, &both.alone[1]), None);
    assert!(verdict(&both, false).ends_with("; 4 in one run only."), "{}", verdict(&both, false));
}

/// Regression: a number that one run has twice used to be compared twice with the same number of the other.
#[test]
fn each_number_is_counted_once() {
    let x = number("x", 0.5, 0.03);
    let both = pair((&[x.clone(), x.clone()], &[]), (&[x], &[]));
    assert_eq!((both.common.len(), both.alone.each_ref().map(Vec::len)), (1, [1, 0]));
}

#[test]
fn numbers_without_intervals_have_no_p() {
    let both = pair((&[number("x", 1.0, 0.0)], &[]), (&[number("x", 2.0, 0.0)], &[]));
    assert_eq!((both.common[0].p, both.common[0].difference.lo), (None, 1.0));
    // Values of two training runs have no interval, and a test needs two intervals.
    let both = pair((&[number("x", 0.5, f64::NAN)], &[]), (&[number("x", 0.6, 0.01)], &[]));
    assert_eq!(verdict(&both, false), "1 number in both runs: 1 without intervals is not tested.");
    let told = table((1, 2), &both.common, false, 80).join(" ");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(".500 .600 +.100 – –") && words.contains("A difference has an interval"), "{told}");
    let same = pair((&[number("x", 0.5, f64::NAN)], &[]), (&[number("x", 0.5, f64::NAN)], &[]));
    assert!(verdict(&same, true).starts_with("Nothing differs"), "{}", verdict(&same, true));
}

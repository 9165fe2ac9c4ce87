//! Tests of families: membership, adjustment, and too few examples to decide.

use proptest::prelude::*;

use super::*;

fn comparison(what: &str, p: f64) -> Comparison {
    let (question, what) = ("reliability".to_owned(), what.to_owned());
    Comparison { n: 10, p, ..Comparison::of(LabId::Interventions, "s", question, what, "sign test") }
}

fn family(all: impl IntoIterator<Item = Comparison>) -> Family {
    let mut family = Family::default();
    all.into_iter().for_each(|c| family.join(c));
    family
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// Regression: a planned comparison at its n used to be overwritten by the comparison on all items.
#[test]
fn planned_comparison_is_kept_beside_later_ones() {
    let mut family = Family::default();
    let new = |n: usize, p: f64, planned: bool| Comparison { n, planned, ..comparison("a", p) };
    family.join(new(64, 0.5, false));
    family.join(new(200, 0.64, true));
    assert_eq!(family.len(), 1, "interim comparisons are not counted");
    // A run reports its interim comparisons first, then all final ones again.
    for next in [new(256, 0.2, false), new(200, 0.64, true), new(400, 0.04, false), new(200, 0.64, true)] {
        family.join(next);
    }
    let all = family.corrected();
    let told: Vec<_> = all.rows.iter().map(|c| (c.comparison.n, c.comparison.planned, c.adjusted())).collect();
    assert_eq!(told, [(200, true, Some(0.64)), (400, false, Some(0.04))], "a plan is a separate family");
}

#[test]
fn repeated_question_counts_once() {
    let family = family([comparison("a", 0.5), comparison("b", 0.01), comparison("a", 0.02)]);
    assert_eq!(family.len(), 2);
    let all = family.corrected();
    assert_eq!(all.rows.iter().map(|c| c.comparison.p).collect::<Vec<_>>(), [0.02, 0.01]);
    assert_eq!(all.rows.iter().map(|c| c.adjusted()).collect::<Vec<_>>(), [Some(0.02), Some(0.02)]);
}

/// Regression: 170 strengths of sweeps and 30 pairs of methods used to form one family. The smallest adjusted p-value of a default run was
/// .226.
#[test]
fn sweep_is_one_member_and_method_pairs_another_family() {
    let pairs = (0..15).map(|k| comparison(&format!("pair {k}"), if k == 0 { 0.002 } else { 0.4 }));
    let sweep = |method: usize, at: usize| Comparison {
        question: "correct form preferred".into(),
        curve: vec![(at as f64, if at >= 20 { 0.001 } else { 0.3 })],
        least: 0.5f64.powi(at as i32),
        ..comparison(&format!("method {method}"), 0.002)
    };
    let sweeps = (0..6).flat_map(|m| (0..29).map(move |at| sweep(m, at)));
    let family = family(pairs.chain(sweeps));
    assert_eq!(family.len(), 15 + 6);
    let all = family.corrected();
    assert_eq!(all.families.iter().map(|f| f.size).collect::<Vec<_>>(), [15, 6]);
    assert!(near(all.rows[0].adjusted().unwrap(), 0.03) && all.is_found(&all.rows[0]));
    let method = &all.rows[15];
    assert_eq!((method.comparison.curve.len(), method.comparison.least), (29, 0.5f64.powi(28)));
    assert!(near(method.adjusted().unwrap(), 0.012) && method.from == Some(20.0), "{method:?}");
}

/// If Simes' test selects R of m families at q, tests within these are at level q R / m. A planned family is not counted in m.
#[test]
fn selected_families_are_tested_at_their_share() {
    let of = |question: &str, what: &str, p: f64| Comparison {
        question: question.into(),
        ..comparison(&format!("{question} {what}"), p)
    };
    let planned = Comparison { planned: true, ..comparison("the plan", 0.04) };
    let list = [
        of("one", "a", 0.001),
        of("one", "b", 0.03),
        of("two", "a", 0.3),
        of("two", "b", 0.9),
        planned,
        of("three", "a", 0.02),
    ];
    let family = family(list);
    let all = family.corrected();
    assert_eq!((all.selected, all.exploratory), (2, 3));
    let level = |k: usize| all.families[k].level;
    assert!(near(level(0).unwrap(), 0.05 * 2.0 / 3.0) && level(1).is_none(), "{all:?}");
    assert_eq!(level(2), Some(ALPHA));
    let found: Vec<bool> = all.rows.iter().map(|row| all.is_found(row)).collect();
    assert_eq!(found, [true, true, false, false, true, true]);
    assert_eq!(all.rows[4].adjusted(), Some(0.04), "the planned test needs no adjustment");
}

#[test]
fn several_planned_comparisons_share_the_level() {
    let planned = |what: &str, p: f64| Comparison { planned: true, question: what.into(), ..comparison(what, p) };
    let family = family([planned("a", 0.03), planned("b", 0.04)]);
    let all = family.corrected();
    assert_eq!(all.rows.iter().map(|c| c.adjusted()).collect::<Vec<_>>(), [Some(0.06), Some(0.06)]);
    assert_eq!((all.families.len(), all.exploratory), (1, 0));
}

/// Five items on one side give a p-value of at least .0625, which no adjustment brings below .05.
#[test]
fn comparison_unable_to_reach_the_level_cannot_decide() {
    let few = |what: &str, least: f64| Comparison { least, ..comparison(what, least) };
    let family = family([few("five items", 0.0625), few("seven items", 0.0156), comparison("many", 0.2)]);
    let all = family.corrected();
    let standing: Vec<Standing> = all.rows.iter().map(|c| c.standing).collect();
    assert_eq!(standing[0], Standing::CannotDecide);
    assert!(near(all.rows[1].adjusted().unwrap(), 3.0 * 0.0156), "{standing:?}");
}

/// A fixed-n p-value is not valid before all items have been processed.
#[test]
fn an_interim_comparison_is_not_a_member() {
    let interim = Comparison { interim: true, anytime: Some(0.3), ..comparison("a", 0.001) };
    let mut family = family([interim, comparison("b", 0.04)]);
    let all = family.corrected();
    assert_eq!((all.rows[0].standing, all.rows[1].adjusted()), (Standing::Interim, Some(0.04)));
    family.join(comparison("a", 0.03));
    assert_eq!(family.corrected().rows[0].adjusted(), Some(0.06));
}

/// Reference implementation of [`Family::join`], which compares with every member.
fn joined_one_by_one(members: &mut Vec<Comparison>, new: Comparison) {
    let of = |planned: bool| members.iter().position(|c| c.same(&new) && c.planned == planned);
    let at = if new.planned { of(true).or(of(false)) } else { of(false) };
    match at {
        Some(at) => members[at] = new,
        None => members.push(new),
    }
}

proptest! {
    #[test]
    fn indexed_join_equals_linear_join(
        all in proptest::collection::vec((0..2_usize, "[ab]", "[a-c]{1,2}", "[tu]", 0.0..1.0_f64), 0..120), stored in 0..120_usize,
    ) {
        let (mut family, mut plain) = (Family::default(), Vec::new());
        for (k, (lab, spec, what, test, p)) in all.into_iter().enumerate() {
            let lab = [LabId::Interventions, LabId::Power][lab];
            let new = Comparison { lab, spec, test, n: k, planned: k % 3 == 0, ..comparison(&what, p) };
            joined_one_by_one(&mut plain, new.clone());
            family.join(new);
            if k == stored {
                // A family behaves the same after serialisation.
                family = serde_json::from_str(&serde_json::to_string(&family).unwrap()).unwrap();
            }
        }
        prop_assert_eq!(family.members(), &plain);
    }
}

/// Regression: joining a grid of ten thousand cells used to take minutes, because each comparison was checked against all earlier ones.
#[test]
fn large_family_is_joined_in_linear_time() {
    let begun = std::time::Instant::now();
    let family = family((0..200_000).map(|k| comparison(&format!("comparison {k}"), 0.5)));
    assert_eq!(family.corrected().rows.len(), 200_000);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn nan_counts_and_is_never_rejected() {
    let family = family([comparison("a", f64::NAN), comparison("b", 0.03)]);
    let all = family.corrected();
    assert_eq!((all.rows[0].adjusted(), all.rows[1].adjusted()), (Some(1.0), Some(0.06)));
}

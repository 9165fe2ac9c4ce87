//! Invariants of rank consistency.

use proptest::prelude::*;

use super::super::answers::testing::answers;
use super::*;

fn draws(count: usize, subset: usize) -> Draws {
    let (ties, scoring) = (Ties::EarlierLower, Scoring::Exact);
    Draws { count, subset, shared: false, seed: 3, ties, scoring }
}

/// A panel of models with these skills, on relations with varied prompts and instances.
fn panel(skills: &[u64], relations: usize, spread: u64) -> Panel {
    let mut panel = Panel::new(skills.len());
    for r in 0..relations {
        let of = |(k, skill): (usize, &u64)| {
            answers(4, &[1, 2, 3, 1, 2, 3, 1, 2], |p, i, x| {
                let seed = (r * 31 + p * 7 + i * 13 + x * 5 + k * 17) as u64;
                seed.wrapping_mul(2_654_435_761) % 97 < skill + (p as u64 * spread) % 23
            })
        };
        panel.push(skills.iter().enumerate().map(of).collect(), &Weights::uniform(4));
    }
    panel
}

fn tallies(panel: &Panel, draws: &Draws) -> [Tally; 3] {
    let mut tallies = [(); 3].map(|()| Tally::new(panel.models()));
    for places in panel.draw(draws, 0..draws.count) {
        tallies.iter_mut().zip(&places).for_each(|(t, p)| t.add(p));
    }
    tallies
}

#[test]
fn clearly_different_models_keep_their_ranks() {
    let far = panel(&[0, 40, 97], 12, 0);
    for tally in tallies(&far, &draws(200, 6)) {
        assert_eq!((tally.order().0, tally.orders()), (200, 1));
        assert_eq!(tally.order().1, [[0, 2, 4]]);
        assert!((0..3).all(|k| tally.most(k) == 200));
    }
}

#[test]
fn draws_are_reproducible_and_shared_draws_tie_equal_models() {
    let twice = {
        let mut panel = Panel::new(2);
        for r in 0..9 {
            let one = answers(3, &[2, 3, 1, 2], |p, i, x| (r + p * i + x) % 3 == 0);
            panel.push(vec![one.clone(), one], &Weights::uniform(3));
        }
        panel
    };
    let mut of = draws(60, 5);
    let all = twice.draw(&of, 0..60);
    assert_eq!(all[20..40], twice.draw(&of, 20..40));
    let apart = tallies(&twice, &of);
    assert_eq!([apart[0].orders(), apart[2].orders()], [1, 1], "equal models tie unless they draw separately");
    assert!(apart[1].orders() > 1);
    of.shared = true;
    assert_eq!(tallies(&twice, &of)[1].orders(), 1);
    of.ties = Ties::MeanPlace;
    assert_eq!(tallies(&twice, &of)[1].order().1, [[1, 1]]);
}

#[test]
fn curve_over_all_prompts_equals_the_adjusted_regime() {
    let some = panel(&[30, 33, 36], 10, 11);
    let of = draws(150, 6);
    let adjusted = &tallies(&some, &of)[2];
    assert_eq!(&some.draw_prompts(&of, 4), adjusted);
    assert_eq!(&some.draw_prompts(&of, 99), adjusted);
    assert_ne!(&some.draw_prompts(&of, 1), adjusted);
}

#[test]
fn draws_converge_to_enumeration() {
    let some = panel(&[30, 33, 36], 9, 11);
    let of = draws(20_000, 5);
    let drawn = tallies(&some, &of);
    for (regime, tally) in [(Regime::Original, &drawn[0]), (Regime::Adjusted, &drawn[2])] {
        let all = some.enumerate(regime, &of, 1_000).unwrap();
        assert_eq!(all.draws, 126);
        for k in 0..3 {
            let (a, b) = (all.most(k) as f64 / 126.0, tally.most(k) as f64 / 20_000.0);
            assert!((a - b).abs() < 0.02, "{regime:?} {k}: {a} {b}");
        }
    }
    assert!(some.enumerate(Regime::Adjusted, &of, 100).is_none());
    assert!(some.enumerate(Regime::Random, &of, usize::MAX).is_none(), "several mentions prevent enumeration");
    assert_eq!((choose(32, 20), choose(5, 0), choose(4, 4)), (Some(225_792_840), Some(1), Some(1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn consistency_is_within_bounds(skills in prop::collection::vec(20u64..60, 2..5), subset in 1usize..8, mean: bool) {
        let some = panel(&skills, 8, 9);
        let ties = if mean { Ties::MeanPlace } else { Ties::EarlierLower };
        let of = Draws { ties, ..draws(60, subset) };
        for tally in tallies(&some, &of) {
            let m = skills.len() as f64;
            let orders: f64 = (1..=skills.len()).map(|k| k as f64).product();
            for k in 0..skills.len() {
                prop_assert_eq!(tally.halves(k).iter().sum::<u64>(), 60);
                if !mean {
                    prop_assert!(tally.most(k) as f64 >= 60.0 / m);
                }
            }
            if !mean {
                prop_assert!(tally.order().0 as f64 >= 60.0 / orders);
            }
            prop_assert!(tally.order().0 <= tally.most(0), "an order is at most as frequent as a rank in it");
        }
    }
}

/// In a third of the random regime's draws, a model that is right with one of three names beats a model that is never right.
#[test]
fn random_names_are_drawn_uniformly() {
    for shared in [false, true] {
        let mut panel = Panel::new(2);
        let models = vec![answers(1, &[3], |_, _, x| x == 1), answers(1, &[3], |_, _, _| false)];
        panel.push(models, &Weights::uniform(1));
        let draws =
            Draws { count: 3000, subset: 1, shared, seed: 3, ties: Ties::EarlierLower, scoring: Scoring::Exact };
        let ahead = panel.draw(&draws, 0..3000).iter().filter(|d| d[1] == [2, 0]).count();
        assert!((900..1100).contains(&ahead), "shared {shared}: {ahead}");
    }
}

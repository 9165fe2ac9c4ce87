//! AutoAttack (Croce and Hein 2020) as Canby et al. use it on probes: APGD, FAB and Square in turn.
//!
//! With two values APGD uses only the cross entropy, because the difference of logits ratio needs three. With three or more, both forms of
//! APGD run. [`super::across`] describes the protocol, and why its completeness stays below that of PGD at the same radius.

use super::across::{Attack, Target};
use super::apgd::{ITERATIONS, Loss, Walk};
use super::fab::Search;
use super::square::{Draws, QUERIES};
use crate::method::{Goal, Method, Needs};
use crate::options::Options;
use crate::parameter::EPSILON;

pub(crate) const AUTOATTACK: Method = Method {
    id: "autoattack",
    title: "AutoAttack",
    doc: "APGD, FAB and Square in turn; keeps the first point across the boundary (Croce and Hein 2020)",
    goal: Goal::Counterfactual,
    needs: Needs { mlp: true, random: true, ..Needs::NONE },
    parameter: &EPSILON,
    settings: &[ITERATIONS, QUERIES],
    applied: &["iterations", "queries"],
    is_control: false,
    family: "seeded attack",
    short: None,
    learn: |data, options, _| Target::learn("autoattack", data, options, chain),
    read: |bytes, options| Target::read(bytes, options, chain),
};

fn chain(options: &Options, classes: usize) -> Vec<Box<dyn Attack>> {
    let iterations = options.integer("iterations");
    let mut chain: Vec<Box<dyn Attack>> = vec![Box::new(Walk { loss: Loss::CrossEntropy, iterations })];
    if classes > 2 {
        chain.push(Box::new(Walk { loss: Loss::LogitsRatio, iterations }));
    }
    chain.push(Box::new(Search::new(iterations)));
    chain.push(Box::new(Draws { queries: options.integer("queries") }));
    chain
}

#[cfg(test)]
mod tests {
    use super::super::across::{Field, Wish};
    use super::super::attack::Aim;
    use super::*;
    use crate::methods::testing::{Sample, identical, sample};
    use crate::methods::{apgd::APGD, fab::FAB, square::SQUARE};
    use base::matrix::argmax;
    use base::{Cancelled, NoPulse};
    use probe::Matrix;

    fn options(method: &Method) -> Options {
        let few = [("queries", 60.0), ("iterations", 30.0)];
        let known = few.iter().copied().filter(|(name, _)| method.settings.iter().any(|s| s.name == *name));
        Options::new(method, known).unwrap()
    }

    fn at(s: &Sample, method: &Method, epsilon: f64) -> Matrix {
        let fitted = method.fit(&s.fit_data(), &options(method), &mut NoPulse).unwrap();
        fitted.on(&s.test, &s.targets(), &mut NoPulse).unwrap().at(epsilon, &mut NoPulse).unwrap()
    }

    fn answers(s: &Sample, h: &Matrix) -> Vec<usize> {
        s.probe.mlp().logits(h).iter_rows().map(argmax).collect()
    }

    /// Rows stay in the ball; a row is either unchanged or has reached the intended value; radius zero is the identity.
    #[test]
    fn rows_cross_the_boundary_or_stay_unchanged() {
        for classes in [2, 3] {
            let s = sample(classes);
            let targets = s.targets();
            for method in [&AUTOATTACK, &APGD, &FAB, &SQUARE] {
                assert!(identical(&at(&s, method, 0.0), &s.test), "{}", method.id);
                let moved = at(&s, method, 0.6);
                let crossed = answers(&s, &moved);
                let mut count = 0;
                for i in 0..s.test.rows() {
                    let (a, b) = (moved.row(i), s.test.row(i));
                    if a == b {
                        continue;
                    }
                    count += 1;
                    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 0.6 + 1e-6), "{}", method.id);
                    assert_eq!(crossed[i], targets[i], "{} with {classes} values", method.id);
                }
                assert!(count > s.test.rows() / 4, "{} moved {count}", method.id);
            }
        }
    }

    /// The combination succeeds wherever one of its parts does. The test compares it with FAB, which draws no random numbers.
    #[test]
    fn combination_succeeds_where_any_attack_does() {
        let s = sample(2);
        for epsilon in [0.1, 0.4] {
            let all = answers(&s, &at(&s, &AUTOATTACK, epsilon));
            let fab = answers(&s, &at(&s, &FAB, epsilon));
            let apgd = answers(&s, &at(&s, &APGD, epsilon));
            for (i, target) in s.targets().iter().enumerate() {
                assert!(all[i] == *target || (fab[i] != *target && apgd[i] != *target));
            }
        }
    }

    /// The protocol without proofs: runs every attack on every row on which no earlier attack has succeeded.
    fn plain(s: &Sample, epsilon: f64) -> Matrix {
        let (mlp, targets) = (s.probe.mlp(), s.targets());
        let from = answers(s, &s.test);
        let wish = |t: &usize| match mlp.classes() {
            2 => Wish { aim: Aim::AwayFrom, class: 1 - t },
            _ => Wish { aim: Aim::Towards, class: *t },
        };
        let wishes: Vec<Wish> = targets.iter().map(wish).collect();
        let field = Field { mlp, h: &s.test, from: &from, wishes: &wishes, seed: s.fit_data().seed };
        let mut standing: Vec<usize> = (0..from.len()).filter(|i| from[*i] != targets[*i]).collect();
        let mut moved = s.test.clone();
        for mut attack in chain(&options(&AUTOATTACK), mlp.classes()) {
            let found = attack.run(&field, &standing, epsilon as f32, &mut NoPulse).unwrap();
            let mut found = found.into_iter();
            standing.retain(|row| match found.next().unwrap() {
                Some(point) => {
                    moved.row_mut(*row).copy_from_slice(&point);
                    false
                }
                None => true,
            });
        }
        moved
    }

    #[test]
    fn proofs_change_no_result() {
        for classes in [2, 3] {
            let s = sample(classes);
            for epsilon in [0.02, 0.1, 0.3, 0.8] {
                assert!(identical(&at(&s, &AUTOATTACK, epsilon), &plain(&s, epsilon)), "{classes}, {epsilon}");
            }
        }
    }

    /// FAB's points do not depend on the radius, radii may come in any order, and a cached fit gives the same results.
    #[test]
    fn radii_in_any_order_and_bytes_round_trip() {
        let s = sample(2);
        let targets = s.targets();
        for method in [&AUTOATTACK, &FAB] {
            let options = options(method);
            let fitted = method.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
            let again = method.load(&fitted.to_bytes(), &options).unwrap();
            let mut up = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
            let mut down = again.on(&s.test, &targets, &mut NoPulse).unwrap();
            let [low, high] = [0.2, 0.5].map(|e| up.at(e, &mut NoPulse).unwrap());
            let [far, near] = [0.5, 0.2].map(|e| down.at(e, &mut NoPulse).unwrap());
            assert!(identical(&low, &near) && identical(&high, &far), "{}", method.id);
            let mut bytes = fitted.to_bytes();
            bytes.truncate(bytes.len() - 9);
            assert!(method.load(&bytes, &options).is_err() && method.load(&[1, 2], &options).is_err());
        }
    }

    #[test]
    fn it_can_be_stopped() {
        let s = sample(2);
        for method in [&AUTOATTACK, &FAB, &SQUARE] {
            let fitted = method.fit(&s.fit_data(), &options(method), &mut NoPulse).unwrap();
            let targets = s.targets();
            let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
            let stopped = rows.at(0.1, &mut |done: usize, _: usize| if done < 3 { Ok(()) } else { Err(Cancelled) });
            assert!(stopped.is_err(), "{}", method.id);
        }
    }
}

//! AlterRep (Ravfogel et al. 2021): counterfactual embeddings from INLP's classifiers.
//!
//! With unit classifier directions w and the embedding's null-space part `h_N = P h`, the embedding moves to `h_N + alpha * sum_w |w.h| w`
//! for the positive side (class 1) and `h_N - alpha * sum_w |w.h| w` for the negative one. This is the AlterRep paper's formula with its
//! sign rule written out; Canby et al. print h for the last w, a misprint. At alpha = 0 it is INLP, not the identity. Biases of the
//! classifiers are ignored.
//!
//! The paper does not treat k > 2 values. Here each round has a row of weights per value, and the embedding moves to `h_N + alpha * sum
//! over rounds and values j of s_j |w_j.h| w_j` with s = 1 for the intended value and -1 for the others. For two values this is the formula
//! above.

use super::inlp::{CLASSIFIER, Directions, INLP};
use crate::method::{Change, Goal, InterventionError, Known, Learnt, Method, move_along};
use crate::options::{Options, Setting};
use crate::parameter::{ALPHA, MOST_ITERATIONS};
use probe::{Dense, Matrix, Subspace};
use std::borrow::Cow;

pub(crate) const ALTERREP: Method = Method {
    id: "alterrep",
    title: "AlterRep",
    doc: "mirrors the embedding to the intended side of INLP's classifiers (Ravfogel et al. 2021)",
    goal: Goal::Counterfactual,
    parameter: &ALPHA,
    settings: &SETTINGS,
    applied: &["classifiers"],
    learn: |data, options, pulse| {
        let directions = Directions::fit(data, MOST_ITERATIONS, options, pulse)?;
        Ok(Box::new(Sides::new(directions, options)?))
    },
    read: |bytes, options| Ok(Box::new(Sides::new(Directions::from_bytes(bytes)?, options)?)),
    ..INLP
};

const SETTINGS: [Setting; 4] = {
    let [c, intercept, min_accuracy] = CLASSIFIER;
    let doc = "number of INLP classifiers; the paper does not give it, but reports 8 as the best rank of INLP";
    [Setting::whole("classifiers", "classifiers", doc, 8.0, MOST_ITERATIONS as f64), c, intercept, min_accuracy]
};

struct Sides {
    directions: Directions,
    removed: Subspace,
    /// Unit directions, one per row.
    units: Matrix,
}

impl Sides {
    fn new(directions: Directions, options: &Options) -> Result<Self, InterventionError> {
        let count = options.integer("classifiers");
        let removed = directions.subspace(count)?;
        let units = unit_directions(&directions, count);
        Ok(Self { directions, removed, units })
    }
}

/// The directions of the first `count` rounds, each of length 1 (or 0 if none was found): one per round for two values, k per round for k >
/// 2, in the order of the values.
pub(crate) fn unit_directions(directions: &Directions, count: usize) -> Matrix {
    let rounds = &directions.rounds()[..count.min(directions.rounds().len())];
    let rows: Vec<f64> = rounds.iter().flat_map(|w| w.data()).copied().collect();
    let dimension = directions.dimension();
    let stacked = Dense::from_fn(rows.len() / dimension.max(1), dimension, |i, j| rows[i * dimension + j]);
    Subspace::unit_rows(&stacked)
}

impl Learnt for Sides {
    fn shape(&self) -> (usize, usize) {
        self.directions.shape()
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, targets: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        let classes = self.directions.classes();
        let mut sizes = h.dot_t(&self.units);
        for (i, target) in targets.iter().enumerate() {
            for (j, s) in sizes.row_mut(i).iter_mut().enumerate() {
                // With a single row of weights, value 1 is on its positive side.
                let value = if classes == 2 { 1 } else { j % classes };
                *s = if value == *target { s.abs() } else { -s.abs() };
            }
        }
        Ok(move_along(Cow::Owned(self.removed.remove_from(h)), sizes.dot(&self.units)))
    }
    fn to_bytes(&self) -> Vec<u8> {
        self.directions.to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::testing::{identical, sample};
    use base::NoPulse;

    #[test]
    fn zero_is_inlp_and_target_sets_the_side() {
        let s = sample(2);
        let options = Options::defaults(&ALTERREP);
        let fitted = ALTERREP.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
        let inlp = INLP.load(&fitted.to_bytes(), &Options::defaults(&INLP)).unwrap();
        let targets = s.targets();
        let projected = inlp.on(&s.test, &targets, &mut NoPulse).unwrap().at(8.0, &mut NoPulse).unwrap();
        let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(0.0, &mut NoPulse).unwrap(), &projected));
        let moved = rows.at(2.0, &mut NoPulse).unwrap();
        let directions = Directions::from_bytes(&fitted.to_bytes()).unwrap();
        let units = unit_directions(&directions, 8);
        for (i, target) in targets.iter().enumerate() {
            for u in units.iter_rows() {
                let dot = |h: &[f32]| h.iter().zip(u).map(|(a, b)| a * b).sum::<f32>();
                let (before, after) = (dot(s.test.row(i)), dot(moved.row(i)));
                let want = if *target == 1 { 2.0 * before.abs() } else { -2.0 * before.abs() };
                assert!((after - want).abs() < 1e-4, "{before} {after} {want}");
            }
        }
    }

    /// Edits among three values follow the definition in double precision, and a classifier then finds the intended value.
    #[test]
    fn three_values_follow_the_definition() {
        let s = sample(3);
        let options = Options::new(&ALTERREP, [("classifiers", 2.0)]).unwrap();
        let fitted = ALTERREP.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
        let directions = Directions::from_bytes(&fitted.to_bytes()).unwrap();
        let targets = s.targets();
        let got = fitted.on(&s.test, &targets, &mut NoPulse).unwrap().at(1.5, &mut NoPulse).unwrap();
        let base = directions.subspace(2).unwrap().remove_from(&s.test.cast::<f64>());
        for (i, target) in targets.iter().enumerate() {
            let h: Vec<f64> = s.test.row(i).iter().map(|x| f64::from(*x)).collect();
            let mut want = base.row(i).to_vec();
            for round in &directions.rounds()[..2] {
                assert_eq!(round.rows(), 3);
                for (j, w) in round.iter_rows().enumerate() {
                    let length = w.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let dot = h.iter().zip(w).map(|(a, b)| a * b).sum::<f64>() / length;
                    let sign = if j == *target { 1.0 } else { -1.0 };
                    want.iter_mut().zip(w).for_each(|(x, w)| *x += 1.5 * sign * dot.abs() * w / length);
                }
            }
            assert!(got.row(i).iter().zip(&want).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5));
        }
        let plain = probe::Logistic::fit_plain(s.data.train(), &Default::default(), &mut || Ok(())).unwrap();
        let moved = probe::Labelled::new(got, targets.clone(), 3).unwrap();
        let before = probe::Labelled::new(s.test.clone(), targets, 3).unwrap();
        assert!(plain.model.accuracy(&moved) > 2.0 * plain.model.accuracy(&before));
    }
}

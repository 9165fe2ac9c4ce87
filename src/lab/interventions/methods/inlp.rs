//! INLP: iterative null-space projection (Ravfogel et al. 2020).
//!
//! Round i fits a linear classifier to the embeddings after removal of the earlier row spaces. After r rounds the embedding is projected
//! onto the intersection of the null spaces, `P = I - P_R(sum of P_R(W_i))`, computed from scratch and applied to the original embedding.
//! Canby et al. do not specify the classifier. Here it is L2-regularised logistic regression (C = 1) **without intercept**: AlterRep reads
//! the same classifiers and takes the sign of w.h as the side of the boundary. An intercept is an option.

use crate::method::{Change, FitData, Goal, InterventionError, Known, Learnt, Method, Needs};
use crate::options::{Options, Setting};
use crate::parameter::{MOST_ITERATIONS, RANK};
use base::Pulse;
use probe::bytes::{Reader, Writer, malformed};
use probe::logistic::{Gram, Logistic, Settings};
use probe::subspace::SvdError;
use probe::{Dense, Matrix, Subspace};

pub const INLP: Method = Method {
    id: "inlp",
    title: "INLP",
    doc: "projects onto the null space of r successive linear classifiers (Ravfogel et al. 2020)",
    goal: Goal::Nullifying,
    needs: Needs::NONE,
    parameter: &RANK,
    settings: &CLASSIFIER,
    applied: &[],
    is_control: false,
    family: "inlp",
    short: None,
    learn: |data, options, pulse| Ok(Box::new(Directions::fit(data, MOST_ITERATIONS, options, pulse)?)),
    read: |bytes, _| Ok(Box::new(Directions::from_bytes(bytes)?)),
};

pub(crate) const CLASSIFIER: [Setting; 3] = [
    Setting::real(
        "c",
        "Regularisation C",
        "weight of the data relative to the L2 penalty; the default is scikit-learn's",
        1.0,
        [1e-6, 1e6],
    ),
    Setting::flag(
        "intercept",
        "intercept",
        "1 fits an intercept, 0 does not; AlterRep ignores the intercept and uses the sign of w.h",
        0.0,
    ),
    Setting::real(
        "min_accuracy",
        "least accuracy",
        "a classifier below this validation accuracy is skipped; its round still counts (official code; 0 keeps all)",
        0.0,
        [0.0, 1.0],
    ),
];

/// Weights of successive classifiers, one matrix (1 x D, or k x D for k > 2 classes) per round. A round that was skipped or found no
/// direction has zero rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Directions {
    rounds: Vec<Dense<f64>>,
    bases: Vec<Subspace>,
    dimension: usize,
    classes: usize,
}

impl Directions {
    /// Runs INLP for `rounds` rounds. Once no direction is left, the weights of the remaining rounds are zero.
    pub fn fit(
        data: &FitData<'_>,
        rounds: usize,
        options: &Options,
        pulse: &mut dyn Pulse,
    ) -> Result<Self, InterventionError> {
        let train = data.data.train();
        let settings = Settings { c: options.real("c"), intercept: options.flag("intercept"), ..Settings::default() };
        let least = options.real("min_accuracy");
        let gram = Gram::new(train.x());
        let mut found = Self::none(train.x().cols(), train.classes());
        for round in 0..rounds {
            let removed = found.subspace(round)?;
            let fit = Logistic::fit(train, &gram, &removed, &settings, &mut || pulse.beat(round, rounds))?;
            let mut model = fit.model;
            if least > 0.0 && model.accuracy(data.data.validation()) < least {
                model.weight = Dense::zeros(model.weight.rows(), model.weight.cols());
            }
            found.push(model.weight)?;
        }
        Ok(found)
    }

    pub fn none(dimension: usize, classes: usize) -> Self {
        Self { rounds: Vec::new(), bases: Vec::new(), dimension, classes }
    }

    /// Adds a round.
    ///
    /// # Errors
    /// [`SvdError`] for NaN or infinite weights.
    pub fn push(&mut self, weight: Dense<f64>) -> Result<(), SvdError> {
        self.bases.push(Subspace::row_space(&weight)?);
        self.rounds.push(weight);
        Ok(())
    }

    pub fn rounds(&self) -> &[Dense<f64>] {
        &self.rounds
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The subspace removed in the first `rounds` rounds, recomputed from their row spaces. If there are fewer rounds, all of them count.
    ///
    /// # Errors
    /// [`SvdError`], which does not happen for finite weights.
    pub fn subspace(&self, rounds: usize) -> Result<Subspace, SvdError> {
        Subspace::sum(&self.bases[..rounds.min(self.bases.len())], self.dimension)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new("directions");
        w.numbers(&[self.dimension, self.classes, self.rounds.len()]);
        self.rounds.iter().for_each(|m| w.matrix(m));
        w.finish()
    }

    /// Reads the output of [`Self::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InterventionError> {
        let mut r = Reader::open(bytes, "directions")?;
        let header = r.numbers()?;
        let [dimension, classes, rounds] = header[..] else { return Err(malformed("the header is missing").into()) };
        if rounds > MOST_ITERATIONS || classes < 2 {
            return Err(malformed("invalid header").into());
        }
        let mut found = Self::none(dimension, classes);
        for _ in 0..rounds {
            let weight = r.matrix()?;
            if weight.cols() != dimension || weight.rows() > classes {
                return Err(malformed("a direction has the wrong size").into());
            }
            found.push(weight)?;
        }
        r.finish()?;
        Ok(found)
    }
}

impl Learnt for Directions {
    fn shape(&self) -> (usize, usize) {
        (self.dimension, self.classes)
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, _: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        Ok(Box::new(move |rounds, _| Ok(self.subspace(rounds as usize)?.remove_from(h))))
    }
    fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Fitted;
    use crate::methods::testing::{Sample, identical, sample};
    use base::{Cancelled, NoPulse};

    fn directions(s: &Sample, rounds: usize, given: &[(&str, f64)]) -> Directions {
        let options = Options::new(&INLP, given.iter().copied()).unwrap();
        Directions::fit(&s.fit_data(), rounds, &options, &mut NoPulse).unwrap()
    }

    #[test]
    fn rounds_remove_rank_and_property() {
        for (classes, per_round) in [(2, 1), (3, 2)] {
            let s = sample(classes);
            let d = directions(&s, 4, &[]);
            for r in 0..=4 {
                let removed = d.subspace(r).unwrap();
                assert_eq!(removed.rank(), per_round * r);
                let p = removed.nullspace_projection();
                for w in &d.rounds()[..r] {
                    let scale = w.data().iter().map(|x| x * x).sum::<f64>().sqrt();
                    assert!(w.dot(&p).data().iter().all(|x| x.abs() < 1e-10 * scale));
                }
            }
            let train = s.data.train();
            let removed = d.subspace(4).unwrap();
            let fresh = Logistic::fit(train, &Gram::new(train.x()), &removed, &Settings::default(), &mut || Ok(()));
            let after = fresh.unwrap().model.accuracy(train);
            let before =
                Logistic::fit_plain(train, &Settings::default(), &mut || Ok(())).unwrap().model.accuracy(train);
            assert!(before > train.majority() + 0.2, "{before}");
            assert!(after < train.majority() + 0.06, "{after} against {}", train.majority());
        }
    }

    #[test]
    fn rank_zero_changes_nothing_and_ranks_come_in_any_order() {
        let s = sample(2);
        let fitted = INLP.fit(&s.fit_data(), &Options::defaults(&INLP), &mut NoPulse).unwrap();
        let targets = s.targets();
        let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
        let five = rows.at(5.0, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(0.0, &mut NoPulse).unwrap(), &s.test));
        rows.at(40.0, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(5.0, &mut NoPulse).unwrap(), &five) && !identical(&five, &s.test));
        for bad in [41.0, 0.5, -1.0, f64::NAN] {
            assert!(matches!(rows.at(bad, &mut NoPulse), Err(InterventionError::Value { .. })));
        }
    }

    #[test]
    fn later_rounds_find_no_directions() {
        let s = sample(2);
        let d = directions(&s, MOST_ITERATIONS, &[]);
        let dimension = s.test.cols();
        assert!(dimension < MOST_ITERATIONS);
        assert_eq!(d.subspace(MOST_ITERATIONS).unwrap().rank(), dimension);
        let removed = d.subspace(MOST_ITERATIONS).unwrap().remove_from(&s.test);
        assert!(removed.data().iter().all(|x| x.abs() < 1e-4));
    }

    #[test]
    fn rounds_with_poor_classifiers_count() {
        let d = directions(&sample(2), 6, &[("min_accuracy", 0.75)]);
        assert_eq!(d.rounds().len(), 6);
        assert_eq!(d.subspace(1).unwrap().rank(), 1);
        assert!(d.subspace(6).unwrap().rank() < 6);
        // As in the official code: nothing was removed, so the next round fits the same classifier and skips it again.
        assert!(d.rounds()[5].data().iter().all(|x| *x == 0.0));
    }

    #[test]
    fn bytes_round_trip() {
        let s = sample(3);
        let fitted = INLP.fit(&s.fit_data(), &Options::defaults(&INLP), &mut NoPulse).unwrap();
        let bytes = fitted.to_bytes();
        let again = INLP.load(&bytes, &Options::defaults(&INLP)).unwrap();
        let at = |f: &Fitted| f.on(&s.test, &s.targets(), &mut NoPulse).unwrap().at(3.0, &mut NoPulse).unwrap();
        assert!(identical(&at(&fitted), &at(&again)));
        assert!(INLP.load(&bytes[1..], &Options::defaults(&INLP)).is_err());
    }

    #[test]
    fn it_can_be_stopped() {
        let s = sample(2);
        let stopped = INLP.fit(&s.fit_data(), &Options::defaults(&INLP), &mut |done, _| {
            if done < 2 { Ok(()) } else { Err(Cancelled) }
        });
        assert!(matches!(stopped, Err(InterventionError::Cancelled(_))));
    }
}

//! Mean difference: moves the embedding along the difference of class means.
//!
//! `h' = h + a v`, with v the mean of the intended value's training embeddings minus the mean of the others. With two values this is the
//! difference of the two means. This baseline shows how much other methods gain over the means.

use crate::method::{Change, Goal, InterventionError, Known, Learnt, Method, Needs, move_along};
use crate::parameter::SHIFT;
use probe::bytes::{Reader, Writer, malformed};
use probe::{Dense, Labelled, Matrix};
use std::borrow::Cow;

pub const MEAN_DIFFERENCE: Method = Method {
    id: "mean_difference",
    title: "mean difference",
    doc: "adds the difference between the mean embedding of the intended value and that of all others, times a",
    goal: Goal::Counterfactual,
    needs: Needs::NONE,
    parameter: &SHIFT,
    settings: &[],
    applied: &[],
    is_control: false,
    family: "mean_difference",
    short: None,
    learn: |data, _, pulse| {
        pulse.beat(0, 1)?;
        Ok(Box::new(Shifts { towards: differences(data.data.train()) }))
    },
    read: |bytes, _| {
        let mut reader = Reader::open(bytes, "mean differences")?;
        let towards: Dense<f64> = reader.matrix()?;
        reader.finish()?;
        if towards.rows() < 2 {
            return Err(malformed("fewer than two values").into());
        }
        Ok(Box::new(Shifts { towards }))
    },
};

/// For each value (rows), the mean of its embeddings minus the mean of all others (k x D). The row of a value with no examples, or with all
/// of them, is zero.
pub fn differences(train: &Labelled) -> Dense<f64> {
    let (k, d, counts) = (train.classes(), train.x().cols(), train.counts());
    let mut sums = Dense::<f64>::zeros(k, d);
    for (row, y) in train.x().iter_rows().zip(train.y()) {
        sums.row_mut(*y).iter_mut().zip(row).for_each(|(s, x)| *s += f64::from(*x));
    }
    let total: Vec<f64> = (0..d).map(|j| (0..k).map(|c| sums.row(c)[j]).sum()).collect();
    Dense::from_fn(k, d, |c, j| {
        let (own, rest) = (counts[c], train.len() - counts[c]);
        if own == 0 || rest == 0 {
            return 0.0;
        }
        sums.row(c)[j] / own as f64 - (total[j] - sums.row(c)[j]) / rest as f64
    })
}

struct Shifts {
    /// One direction per value, k x D.
    towards: Dense<f64>,
}

impl Learnt for Shifts {
    fn shape(&self) -> (usize, usize) {
        (self.towards.cols(), self.towards.rows())
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, targets: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        let push = Matrix::from_fn(h.rows(), h.cols(), |i, j| self.towards.row(targets[i])[j] as f32);
        Ok(move_along(Cow::Borrowed(h), push))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("mean differences");
        writer.matrix(&self.towards);
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Fitted;
    use crate::methods::testing::{identical, sample};
    use crate::options::Options;
    use base::NoPulse;

    #[test]
    fn one_unit_moves_one_class_mean_to_the_other() {
        let s = sample(2);
        let train = s.data.train();
        let v = differences(train);
        for j in 0..train.x().cols() {
            let mean = |c: usize| {
                let own = train.x().iter_rows().zip(train.y()).filter(|(_, y)| **y == c);
                let values: Vec<f64> = own.map(|(row, _)| f64::from(row[j])).collect();
                values.iter().sum::<f64>() / values.len() as f64
            };
            assert!((mean(0) + v.row(1)[j] - mean(1)).abs() < 1e-9);
            assert!((v.row(0)[j] + v.row(1)[j]).abs() < 1e-9);
        }
    }

    #[test]
    fn zero_changes_nothing_and_bytes_round_trip() {
        for classes in [2, 3] {
            let s = sample(classes);
            let options = Options::defaults(&MEAN_DIFFERENCE);
            let fitted = MEAN_DIFFERENCE.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
            let again = MEAN_DIFFERENCE.load(&fitted.to_bytes(), &options).unwrap();
            let at =
                |f: &Fitted, a: f64| f.on(&s.test, &s.targets(), &mut NoPulse).unwrap().at(a, &mut NoPulse).unwrap();
            assert!(identical(&at(&fitted, 0.0), &s.test));
            assert!(identical(&at(&fitted, 1.5), &at(&again, 1.5)) && !identical(&at(&fitted, 1.5), &s.test));
            assert!(MEAN_DIFFERENCE.load(&fitted.to_bytes()[1..], &options).is_err());
        }
    }

    #[test]
    fn value_without_examples_has_zero_shift() {
        let x = Matrix::from_fn(4, 2, |i, j| (i + j) as f32);
        let train = Labelled::new(x, vec![0, 1, 0, 1], 3).unwrap();
        assert_eq!(differences(&train).row(2), [0.0, 0.0]);
    }
}

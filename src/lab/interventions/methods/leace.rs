//! LEACE: least-squares concept erasure in closed form (Belrose et al. 2023).
//!
//! The edit is `h' = h - W⁺ u uᵀ W (h - m)`, with m the mean, W the whitening `Σ^(-1/2)` of the training embeddings and u the column space
//! of `W Cov(h, Z)` with one-hot Z. This is the smallest change, in mean squares, after which no linear classifier finds the property. The
//! covariance is shrunk towards a multiple of the identity as in the authors' code (Bodnar et al. 2014) unless this is switched off. LEACE
//! has no strength; here the change is scaled by a share, and share 1 is LEACE.

use crate::method::{Change, Goal, InterventionError, Known, Learnt, Method, Needs, move_along};
use crate::options::Setting;
use crate::parameter::SHARE;
use faer::MatRef;
use probe::bytes::{Reader, Writer, malformed};
use probe::covariance::{column_means, roots, shrink_covariance};
use probe::subspace::SvdError;
use probe::{Dense, Labelled, Matrix};
use std::borrow::Cow;

pub const LEACE: Method = Method {
    id: "leace",
    title: "LEACE",
    doc: "the smallest change after which no linear classifier finds the property (Belrose et al. 2023)",
    goal: Goal::Nullifying,
    needs: Needs::NONE,
    parameter: &SHARE,
    settings: &[Setting::flag(
        "shrink",
        "shrink covariance",
        "1 shrinks the covariance as in the authors' code; 0 uses the sample covariance",
        1.0,
    )],
    applied: &[],
    is_control: false,
    family: "leace",
    short: None,
    learn: |data, options, pulse| {
        pulse.beat(0, 1)?;
        Ok(Box::new(Eraser::fit(data.data.train(), options.flag("shrink"))?))
    },
    read: |bytes, _| {
        let mut reader = Reader::open(bytes, "leace")?;
        let (classes, bias) = (reader.number()?, reader.reals()?);
        let (left, right): (Dense<f64>, Dense<f64>) = (reader.matrix()?, reader.matrix()?);
        reader.finish()?;
        let d = bias.len();
        if left.cols() != d || right.cols() != d || left.rows() != right.rows() {
            return Err(malformed("the parts have the wrong sizes").into());
        }
        Ok(Box::new(Eraser { classes, bias, left, right }))
    },
};

/// Singular values of the whitened cross-covariance up to this size count as zero, as in the authors' code.
const LEAST: f64 = 0.01;

/// LEACE's eraser: `h' = h - Lᵀ R (h - m)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Eraser {
    classes: usize,
    /// The mean m.
    bias: Vec<f64>,
    /// `uᵀ W⁺`, r x D.
    left: Dense<f64>,
    /// `uᵀ W`, r x D.
    right: Dense<f64>,
}

impl Eraser {
    /// Fits on labelled embeddings.
    ///
    /// # Errors
    /// [`SvdError`] if a decomposition does not converge, which does not happen for finite embeddings.
    pub fn fit(train: &Labelled, shrink: bool) -> Result<Self, SvdError> {
        let (n, d, k) = (train.len(), train.x().cols(), train.classes());
        let mut centred: Dense<f64> = train.x().cast();
        let bias = column_means(&centred);
        for i in 0..n {
            centred.row_mut(i).iter_mut().zip(&bias).for_each(|(x, m)| *x -= m);
        }
        let shares: Vec<f64> = train.counts().iter().map(|c| *c as f64 / n as f64).collect();
        let one_hot = Dense::from_fn(n, k, |i, c| f64::from(u8::from(train.y()[i] == c)) - shares[c]);
        let per = 1.0 / (n.max(2) - 1) as f64;
        let mut covariance = centred.t_dot(&centred);
        covariance.data_mut().iter_mut().for_each(|x| *x *= per);
        if shrink {
            shrink_covariance(&mut covariance, n);
        }
        let mut cross = centred.t_dot(&one_hot);
        cross.data_mut().iter_mut().for_each(|x| *x *= per);
        let (whiten, colour) = roots(&covariance)?;
        let seen = whiten.dot(&cross);
        let svd = MatRef::from_row_major_slice(seen.data(), d, k).thin_svd().map_err(|_| SvdError)?;
        let (u, s) = (svd.U(), svd.S().column_vector());
        let rank = (0..s.nrows()).take_while(|i| s[*i] > LEAST).count();
        let u = Dense::from_fn(rank, d, |i, j| u[(j, i)]);
        Ok(Self { classes: k, bias, left: u.dot(&colour), right: u.dot(&whiten) })
    }

    /// Number of dimensions removed.
    pub fn rank(&self) -> usize {
        self.left.rows()
    }

    /// The mean m.
    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// Matrix P (D x D) of `h' = m + P (h - m)`, applied to centred embeddings.
    pub fn kept(&self) -> Dense<f64> {
        let mut p = Dense::identity(self.bias.len());
        p.add_scaled(-1.0, &self.left.t_dot(&self.right));
        p
    }

    /// The part removed from each row of `h`, n x D.
    fn taken(&self, h: &Matrix) -> Matrix {
        let mut centred: Dense<f64> = h.cast();
        for i in 0..h.rows() {
            centred.row_mut(i).iter_mut().zip(&self.bias).for_each(|(x, m)| *x -= m);
        }
        centred.dot_t(&self.right).dot(&self.left).cast()
    }
}

impl Learnt for Eraser {
    fn shape(&self) -> (usize, usize) {
        (self.bias.len(), self.classes)
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, _: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        let mut push = self.taken(h);
        push.data_mut().iter_mut().for_each(|x| *x = -*x);
        Ok(move_along(Cow::Borrowed(h), push))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("leace");
        writer.number(self.classes);
        writer.reals(&self.bias);
        writer.matrix(&self.left);
        writer.matrix(&self.right);
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
    use probe::Logistic;
    use probe::logistic::Settings;

    #[test]
    fn linear_classifiers_cannot_find_the_property() {
        for classes in [2, 3] {
            let s = sample(classes);
            let train = s.data.train();
            let eraser = Eraser::fit(train, false).unwrap();
            assert_eq!(eraser.rank(), classes - 1);
            let p = eraser.kept();
            let again = p.dot(&p);
            assert!(again.data().iter().zip(p.data()).all(|(a, b)| (a - b).abs() < 1e-9));
            let mut erased = train.x().clone();
            erased.add_scaled(-1.0, &eraser.taken(train.x()));
            let erased = Labelled::new(erased, train.y().to_vec(), classes).unwrap();
            let fresh = Logistic::fit_plain(&erased, &Settings::default(), &mut || Ok(())).unwrap();
            assert!(fresh.model.accuracy(&erased) <= train.majority() + 0.01);
        }
    }

    #[test]
    fn share_zero_changes_nothing_and_bytes_round_trip() {
        let s = sample(3);
        let options = Options::defaults(&LEACE);
        let fitted = LEACE.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
        let again = LEACE.load(&fitted.to_bytes(), &options).unwrap();
        let at = |f: &Fitted, share: f64| {
            f.on(&s.test, &s.targets(), &mut NoPulse).unwrap().at(share, &mut NoPulse).unwrap()
        };
        assert!(identical(&at(&fitted, 0.0), &s.test));
        assert!(identical(&at(&fitted, 1.0), &at(&again, 1.0)) && !identical(&at(&fitted, 1.0), &s.test));
        assert!(fitted.on(&s.test, &s.targets(), &mut NoPulse).unwrap().at(1.5, &mut NoPulse).is_err());
        assert!(LEACE.load(&fitted.to_bytes()[1..], &options).is_err());
    }

    #[test]
    fn collinear_embeddings_give_finite_numbers() {
        let x = Matrix::from_fn(6, 9, |i, j| ((i * (j % 3 + 1)) % 5) as f32);
        let train = Labelled::new(x.clone(), vec![0, 1, 0, 1, 1, 0], 2).unwrap();
        for shrink in [false, true] {
            assert!(Eraser::fit(&train, shrink).unwrap().taken(&x).is_finite());
        }
    }
}

//! FGSM: the fast gradient sign method (Goodfellow et al. 2015) on the interventional perceptron.
//!
//! `h' = h - epsilon * sign(gradient of CE(f(h), z'))`, with one gradient for all radii. Canby et al. print a plus sign, which means ascent
//! on the loss of the original value; with two values this is the same.

use super::attack::{Aim, fgsm, signs};
use super::pgd::PGD;
use crate::method::{Change, InterventionError, Known, Learnt, Method};
use probe::{Intervention, Matrix, Probe};

pub(crate) const FGSM: Method = Method {
    id: "fgsm",
    title: "FGSM",
    doc: "one step of size ε along the sign of the probe's gradient (Goodfellow et al. 2015)",
    settings: &[],
    learn: |data, _, _| Ok(Box::new(Target { probe: data.perceptron_for("fgsm")?.clone() })),
    read: |bytes, _| Ok(Box::new(Target { probe: Probe::from_bytes(bytes)? })),
    ..PGD
};

struct Target {
    probe: Probe<Intervention>,
}

impl Learnt for Target {
    fn shape(&self) -> (usize, usize) {
        (self.probe.mlp().inputs(), self.probe.mlp().classes())
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, targets: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        let signs = signs(self.probe.mlp(), h, targets, Aim::Towards);
        Ok(Box::new(move |epsilon, _| Ok(fgsm(h, &signs, epsilon as f32))))
    }
    fn to_bytes(&self) -> Vec<u8> {
        self.probe.to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::FitData;
    use crate::methods::testing::{identical, sample};
    use crate::options::Options;
    use base::NoPulse;

    #[test]
    fn it_stays_in_the_ball_and_zero_changes_nothing() {
        let s = sample(3);
        let fitted = FGSM.fit(&s.fit_data(), &Options::defaults(&FGSM), &mut NoPulse).unwrap();
        let targets = s.targets();
        let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(0.0, &mut NoPulse).unwrap(), &s.test));
        let moved = rows.at(0.25, &mut NoPulse).unwrap();
        let far = moved.data().iter().zip(s.test.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far > 0.2499 && far < 0.25 + 1e-6, "{far}");
        let hits = |h: &Matrix| {
            let p = s.probe.probabilities(h);
            targets.iter().enumerate().map(|(i, t)| p.row(i)[*t]).sum::<f64>() / targets.len() as f64
        };
        assert!(hits(&moved) > hits(&s.test) + 0.1, "{} {}", hits(&moved), hits(&s.test));
    }

    #[test]
    fn missing_probe_is_reported() {
        let s = sample(2);
        let data = FitData { mlp: None, ..s.fit_data() };
        let refused = FGSM.fit(&data, &Options::defaults(&FGSM), &mut NoPulse);
        assert!(matches!(refused, Err(InterventionError::NoProbe { method: "fgsm" })));
    }

    #[test]
    fn rows_and_targets_are_checked() {
        let s = sample(2);
        let fitted = FGSM.fit(&s.fit_data(), &Options::defaults(&FGSM), &mut NoPulse).unwrap();
        let on = |h: &Matrix, t: &[usize]| fitted.on(h, t, &mut NoPulse).err();
        let n = s.test.rows();
        assert!(matches!(on(&s.test, &[0]), Some(InterventionError::Shape { .. })));
        assert!(matches!(on(&Matrix::zeros(n, 3), &vec![0; n]), Some(InterventionError::Shape { .. })));
        assert!(matches!(on(&s.test, &vec![2; n]), Some(InterventionError::Target { row: 0, target: 2, .. })));
    }
}

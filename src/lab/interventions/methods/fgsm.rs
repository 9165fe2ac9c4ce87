//! FGSM: the fast gradient sign method (Goodfellow et al. 2015) on the interventional perceptron.
//!
//! `h' = h - epsilon * sign(gradient of CE(f(h), z'))`, one gradient for all radii. Canby et al. print a plus, which is
//! ascent on the loss of the original value; with two values both are the same.

use super::attack::{Aim, fgsm, signs};
use crate::method::{
    FitData, Fitted, Goal, InterventionError, Known, Method, Needs, Prepared, check_rows, check_value,
};
use crate::options::{Options, Setting};
use crate::parameter::{EPSILON, Parameter};
use base::Pulse;
use probe::{Intervention, Matrix, Probe};

/// The method.
#[derive(Debug)]
pub(crate) struct Fgsm;

impl Method for Fgsm {
    fn id(&self) -> &'static str {
        "fgsm"
    }
    fn title(&self) -> &'static str {
        "FGSM"
    }
    fn doc(&self) -> &'static str {
        "one step of size ε along the sign of the probe's gradient (Goodfellow et al. 2015)"
    }
    fn goal(&self) -> Goal {
        Goal::Counterfactual
    }
    fn needs(&self) -> Needs {
        Needs { mlp: true, ..Needs::default() }
    }
    fn parameter(&self) -> &'static Parameter {
        &EPSILON
    }
    fn settings(&self) -> &'static [Setting] {
        &[]
    }
    fn family(&self) -> &'static str {
        "attack"
    }
    fn fit_options(&self) -> &'static [&'static str] {
        &[]
    }
    fn fit(
        &self,
        data: &FitData<'_>,
        _options: &Options,
        _pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Fitted>, InterventionError> {
        let probe = data.mlp.ok_or(InterventionError::NoProbe { method: self.id() })?.clone();
        Ok(Box::new(Target { probe }))
    }
    fn load(&self, bytes: &[u8], _options: &Options) -> Result<Box<dyn Fitted>, InterventionError> {
        Ok(Box::new(Target { probe: Probe::from_bytes(bytes)? }))
    }
}

struct Target {
    probe: Probe<Intervention>,
}

struct Rows<'a> {
    h: &'a Matrix,
    signs: Matrix,
}

impl Fitted for Target {
    fn on_known<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        _known: &Known<'a>,
        pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Prepared + 'a>, InterventionError> {
        let mlp = self.probe.mlp();
        check_rows(h, targets, mlp.inputs(), mlp.classes())?;
        pulse.beat(0, 1)?;
        Ok(Box::new(Rows { h, signs: signs(mlp, h, targets, Aim::Towards) }))
    }
    fn to_bytes(&self) -> Vec<u8> {
        self.probe.to_bytes()
    }
}

impl Prepared for Rows<'_> {
    fn at(&mut self, value: f64, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError> {
        let epsilon = check_value(&EPSILON, value)? as f32;
        pulse.beat(0, 1)?;
        Ok(fgsm(self.h, &self.signs, epsilon))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::testing::{identical, sample};
    use base::NoPulse;

    #[test]
    fn it_stays_in_the_ball_and_zero_is_the_identity() {
        let s = sample(3);
        let fitted = Fgsm.fit(&s.fit_data(), &Options::defaults(&Fgsm), &mut NoPulse).unwrap();
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
    fn without_a_probe_it_says_so() {
        let s = sample(2);
        let data = FitData { mlp: None, ..s.fit_data() };
        let refused = Fgsm.fit(&data, &Options::defaults(&Fgsm), &mut NoPulse);
        assert!(matches!(refused, Err(InterventionError::NoProbe { method: "fgsm" })));
    }

    #[test]
    fn rows_and_targets_are_checked() {
        let s = sample(2);
        let fitted = Fgsm.fit(&s.fit_data(), &Options::defaults(&Fgsm), &mut NoPulse).unwrap();
        let on = |h: &Matrix, t: &[usize]| fitted.on(h, t, &mut NoPulse).err();
        let n = s.test.rows();
        assert!(matches!(on(&s.test, &[0]), Some(InterventionError::Shape { .. })));
        assert!(matches!(on(&Matrix::zeros(n, 3), &vec![0; n]), Some(InterventionError::Shape { .. })));
        assert!(matches!(on(&s.test, &vec![2; n]), Some(InterventionError::Target { row: 0, target: 2, .. })));
    }
}

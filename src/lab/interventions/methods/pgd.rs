//! PGD: projected gradient descent (Madry et al. 2018) on the interventional perceptron.
//!
//! T = 40 steps (Canby et al.) from the embedding itself, each clipped to the maximum-norm ball. The paper does not
//! give the step size; here it is a share of ε, by default ε/10.

use super::attack::{Aim, Schedule, pgd, signs};
use crate::method::{
    FitData, Fitted, Goal, InterventionError, Known, Method, Needs, Prepared, check_rows, check_value,
};
use crate::options::{Options, Setting, SettingKind};
use crate::parameter::{EPSILON, Parameter};
use base::Pulse;
use probe::{Intervention, Matrix, Mlp, Probe};

/// The method.
#[derive(Debug)]
pub(crate) struct Pgd;

static SETTINGS: [Setting; 2] = [
    Setting {
        name: "steps",
        label: "steps T",
        doc: "number of steps; 40 in Canby et al.",
        kind: SettingKind::Integer,
        default: 40.0,
        min: 1.0,
        max: 1000.0,
    },
    Setting {
        name: "step",
        label: "step / ε",
        doc: "step size as a share of ε; not given in the paper (Madry et al. use 2.5/T)",
        kind: SettingKind::Real,
        default: 0.1,
        min: 1e-4,
        max: 2.0,
    },
];

impl Method for Pgd {
    fn id(&self) -> &'static str {
        "pgd"
    }
    fn title(&self) -> &'static str {
        "PGD"
    }
    fn doc(&self) -> &'static str {
        "many small gradient-sign steps inside the ball of radius ε (Madry et al. 2018)"
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
        &SETTINGS
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
        options: &Options,
        _pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Fitted>, InterventionError> {
        let probe = data.mlp.ok_or(InterventionError::NoProbe { method: self.id() })?.clone();
        Ok(Box::new(Target::new(probe, options)))
    }
    fn load(&self, bytes: &[u8], options: &Options) -> Result<Box<dyn Fitted>, InterventionError> {
        Ok(Box::new(Target::new(Probe::from_bytes(bytes)?, options)))
    }
}

struct Target {
    probe: Probe<Intervention>,
    steps: usize,
    /// Step size as a share of the radius.
    share: f64,
}

impl Target {
    fn new(probe: Probe<Intervention>, options: &Options) -> Self {
        Self { probe, steps: options.integer("steps"), share: options.real("step") }
    }
}

struct Rows<'a> {
    mlp: &'a Mlp,
    h: &'a Matrix,
    targets: Vec<usize>,
    /// Signs at h, for the first step of every radius.
    first: Matrix,
    steps: usize,
    share: f64,
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
        let first = signs(mlp, h, targets, Aim::Towards);
        Ok(Box::new(Rows { mlp, h, targets: targets.to_vec(), first, steps: self.steps, share: self.share }))
    }
    fn to_bytes(&self) -> Vec<u8> {
        self.probe.to_bytes()
    }
}

impl Prepared for Rows<'_> {
    fn at(&mut self, value: f64, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError> {
        let epsilon = check_value(&EPSILON, value)?;
        let schedule = Schedule { epsilon: epsilon as f32, step: (epsilon * self.share) as f32, steps: self.steps };
        Ok(pgd(self.mlp, self.h, (&self.targets, Aim::Towards), &self.first, schedule, pulse)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::attack::losses;
    use crate::methods::fgsm::Fgsm;
    use crate::methods::testing::{identical, sample};
    use base::{Cancelled, NoPulse};

    #[test]
    fn it_stays_in_the_ball_and_zero_is_the_identity() {
        let s = sample(3);
        let fitted = Pgd.fit(&s.fit_data(), &Options::defaults(&Pgd), &mut NoPulse).unwrap();
        let targets = s.targets();
        let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(0.0, &mut NoPulse).unwrap(), &s.test));
        for epsilon in [0.01, 0.3, 3.0] {
            let moved = rows.at(epsilon, &mut NoPulse).unwrap();
            let far = moved.data().iter().zip(s.test.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(f64::from(far) <= epsilon * (1.0 + 1e-4), "{far}");
        }
    }

    /// One step of the full radius is FGSM; forty lower the loss at least as much.
    #[test]
    fn one_full_step_is_fgsm_and_many_do_better() {
        let s = sample(2);
        let targets = s.targets();
        let one = Options::new(&Pgd, [("steps", 1.0), ("step", 1.0)]).unwrap();
        let run = |m: &dyn Method, o: &Options| {
            let fitted = m.fit(&s.fit_data(), o, &mut NoPulse).unwrap();
            let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
            rows.at(0.3, &mut NoPulse).unwrap()
        };
        let fgsm = run(&Fgsm, &Options::defaults(&Fgsm));
        let single = run(&Pgd, &one);
        assert!(fgsm.data().iter().zip(single.data()).all(|(a, b)| (a - b).abs() < 1e-6));
        let loss = |h: &Matrix| losses(s.probe.mlp(), h, &targets).iter().sum::<f32>();
        assert!(loss(&run(&Pgd, &Options::defaults(&Pgd))) < loss(&fgsm) + 1e-3);
    }

    #[test]
    fn it_can_be_stopped_between_steps() {
        let s = sample(2);
        let fitted = Pgd.fit(&s.fit_data(), &Options::defaults(&Pgd), &mut NoPulse).unwrap();
        let targets = s.targets();
        let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
        let stopped = rows.at(0.1, &mut |done, _| if done < 3 { Ok(()) } else { Err(Cancelled) });
        assert!(matches!(stopped, Err(InterventionError::Cancelled(_))));
    }
}

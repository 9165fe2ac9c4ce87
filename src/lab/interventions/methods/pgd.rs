//! PGD: projected gradient descent (Madry et al. 2018) on the interventional perceptron.
//!
//! It takes T = 40 steps (Canby et al.) from the embedding itself, each clipped to the maximum-norm ball. The paper does not give the step
//! size; here it is a share of ε, by default ε/10.

use super::attack::{Aim, Schedule, pgd, signs};
use crate::method::{Change, Goal, InterventionError, Known, Learnt, Method, Needs};
use crate::options::{Options, Setting};
use crate::parameter::EPSILON;
use probe::{Intervention, Matrix, Probe};

pub(crate) const PGD: Method = Method {
    id: "pgd",
    title: "PGD",
    doc: "many small gradient-sign steps inside the ball of radius ε (Madry et al. 2018)",
    goal: Goal::Counterfactual,
    needs: Needs { mlp: true, ..Needs::NONE },
    parameter: &EPSILON,
    settings: &SETTINGS,
    applied: &["steps", "step"],
    is_control: false,
    family: "attack",
    short: None,
    learn: |data, options, _| Ok(Box::new(Target::new(data.perceptron_for("pgd")?.clone(), options))),
    read: |bytes, options| Ok(Box::new(Target::new(Probe::from_bytes(bytes)?, options))),
};

const SETTINGS: [Setting; 2] = [
    Setting::whole("steps", "steps T", "number of steps; 40 in Canby et al.", 40.0, 1000.0),
    Setting::real(
        "step",
        "step / ε",
        "step size as a share of ε; not given in the paper (Madry et al. use 2.5/T)",
        0.1,
        [1e-4, 2.0],
    ),
];

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

impl Learnt for Target {
    fn shape(&self) -> (usize, usize) {
        (self.probe.mlp().inputs(), self.probe.mlp().classes())
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, targets: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        // Signs at h, for the first step of every radius.
        let first = signs(self.probe.mlp(), h, targets, Aim::Towards);
        let targets = targets.to_vec();
        Ok(Box::new(move |epsilon, pulse| {
            let schedule = Schedule { epsilon: epsilon as f32, step: (epsilon * self.share) as f32, steps: self.steps };
            Ok(pgd(self.probe.mlp(), h, (&targets, Aim::Towards), &first, schedule, pulse)?)
        }))
    }
    fn to_bytes(&self) -> Vec<u8> {
        self.probe.to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::attack::losses;
    use crate::methods::fgsm::FGSM;
    use crate::methods::testing::{identical, sample};
    use base::{Cancelled, NoPulse};

    #[test]
    fn it_stays_in_the_ball_and_zero_changes_nothing() {
        let s = sample(3);
        let fitted = PGD.fit(&s.fit_data(), &Options::defaults(&PGD), &mut NoPulse).unwrap();
        let targets = s.targets();
        let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(0.0, &mut NoPulse).unwrap(), &s.test));
        for epsilon in [0.01, 0.3, 3.0] {
            let moved = rows.at(epsilon, &mut NoPulse).unwrap();
            let far = moved.data().iter().zip(s.test.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(f64::from(far) <= epsilon * (1.0 + 1e-4), "{far}");
        }
    }

    /// One step of the full radius is FGSM; forty steps lower the loss at least as much.
    #[test]
    fn one_full_step_is_fgsm_and_many_steps_lower_the_loss() {
        let s = sample(2);
        let targets = s.targets();
        let one = Options::new(&PGD, [("steps", 1.0), ("step", 1.0)]).unwrap();
        let run = |m: &Method, o: &Options| {
            let fitted = m.fit(&s.fit_data(), o, &mut NoPulse).unwrap();
            let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
            rows.at(0.3, &mut NoPulse).unwrap()
        };
        let fgsm = run(&FGSM, &Options::defaults(&FGSM));
        let single = run(&PGD, &one);
        assert!(fgsm.data().iter().zip(single.data()).all(|(a, b)| (a - b).abs() < 1e-6));
        let loss = |h: &Matrix| losses(s.probe.mlp(), h, &targets).iter().sum::<f32>();
        assert!(loss(&run(&PGD, &Options::defaults(&PGD))) < loss(&fgsm) + 1e-3);
    }

    #[test]
    fn it_can_be_stopped_between_steps() {
        let s = sample(2);
        let fitted = PGD.fit(&s.fit_data(), &Options::defaults(&PGD), &mut NoPulse).unwrap();
        let targets = s.targets();
        let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
        let stopped = rows.at(0.1, &mut |done, _| if done < 3 { Ok(()) } else { Err(Cancelled) });
        assert!(matches!(stopped, Err(InterventionError::Cancelled(_))));
    }
}

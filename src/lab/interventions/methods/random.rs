//! The nullifying control: it removes as many random directions as INLP removes fitted ones.
//!
//! What INLP achieves beyond this is due to its directions, not to their number. Directions are standard normal draws from
//! the fit's seed, k - 1 per round for k classes as with INLP; their span is then uniform over subspaces of that rank.

use super::inlp::{Directions, Sweep};
use crate::method::{FitData, Fitted, Goal, InterventionError, Method, Needs};
use crate::options::{Options, Setting};
use crate::parameter::{MOST_ITERATIONS, Parameter, RANK};
use base::Pulse;
use probe::Dense;
use rand_distr::{Distribution, StandardNormal};
use stats::rng::stream;

/// The control.
#[derive(Debug)]
pub(crate) struct RandomSubspace;

impl Method for RandomSubspace {
    fn id(&self) -> &'static str {
        "random"
    }
    fn title(&self) -> &'static str {
        "random subspace (control)"
    }
    fn doc(&self) -> &'static str {
        "projects out r random directions: shows the effect of removing that many dimensions"
    }
    fn goal(&self) -> Goal {
        Goal::Nullifying
    }
    fn needs(&self) -> Needs {
        Needs { random: true, ..Needs::default() }
    }
    fn parameter(&self) -> &'static Parameter {
        &RANK
    }
    fn settings(&self) -> &'static [Setting] {
        &[]
    }
    fn is_control(&self) -> bool {
        true
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
        let train = data.data.train();
        let (dimension, classes) = (train.x().cols(), train.classes());
        let mut rng = stream(data.seed, "random subspace");
        let mut directions = Directions::none(dimension, classes);
        for _ in 0..MOST_ITERATIONS {
            let mut w = Dense::zeros(classes - 1, dimension);
            w.data_mut().iter_mut().for_each(|x| *x = StandardNormal.sample(&mut rng));
            directions.push(w)?;
        }
        Ok(Box::new(Sweep { directions }))
    }
    fn load(&self, bytes: &[u8], _options: &Options) -> Result<Box<dyn Fitted>, InterventionError> {
        Ok(Box::new(Sweep { directions: Directions::from_bytes(bytes)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::testing::{identical, sample};
    use base::NoPulse;

    #[test]
    fn it_takes_dimensions_out_at_random() {
        let s = sample(2);
        let options = Options::defaults(&RandomSubspace);
        let at = |seed, rank| {
            let data = FitData { seed, ..s.fit_data() };
            let fitted = RandomSubspace.fit(&data, &options, &mut NoPulse).unwrap();
            let directions = Directions::from_bytes(&fitted.to_bytes()).unwrap();
            assert_eq!(directions.subspace(rank).unwrap().rank(), rank.min(s.test.cols()));
            let targets = s.targets();
            fitted.on(&s.test, &targets, &mut NoPulse).unwrap().at(rank as f64, &mut NoPulse).unwrap()
        };
        assert!(identical(&at(1, 0), &s.test));
        assert!(identical(&at(1, 3), &at(1, 3)) && !identical(&at(1, 3), &at(2, 3)));
        assert!(at(1, 40).data().iter().all(|x| x.abs() < 1e-4));
    }
}

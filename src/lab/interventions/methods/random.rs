//! The nullifying control: removes as many random directions as INLP removes fitted ones.
//!
//! What INLP achieves beyond this is due to its directions, not to their number. Directions are standard normal draws from the fit's seed,
//! k - 1 per round for k classes as with INLP. Their span is uniform over subspaces of that rank.

use super::inlp::{Directions, INLP};
use crate::method::{Method, Needs};
use crate::parameter::MOST_ITERATIONS;
use probe::Dense;
use rand_distr::{Distribution, StandardNormal};
use stats::rng::stream;

pub(crate) const RANDOM: Method = Method {
    id: "random",
    title: "random subspace (control)",
    doc: "projects out r random directions: shows the effect of removing that many dimensions",
    needs: Needs { random: true, ..Needs::NONE },
    settings: &[],
    is_control: true,
    family: "random",
    learn: |data, _, _| {
        let train = data.data.train();
        let (dimension, classes) = (train.x().cols(), train.classes());
        let mut rng = stream(data.seed, "random subspace");
        let mut directions = Directions::none(dimension, classes);
        for _ in 0..MOST_ITERATIONS {
            let mut w = Dense::zeros(classes - 1, dimension);
            w.data_mut().iter_mut().for_each(|x| *x = StandardNormal.sample(&mut rng));
            directions.push(w)?;
        }
        Ok(Box::new(directions))
    },
    ..INLP
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::FitData;
    use crate::methods::testing::{identical, sample};
    use crate::options::Options;
    use base::NoPulse;

    #[test]
    fn it_removes_random_dimensions() {
        let s = sample(2);
        let options = Options::defaults(&RANDOM);
        let at = |seed, rank| {
            let data = FitData { seed, ..s.fit_data() };
            let fitted = RANDOM.fit(&data, &options, &mut NoPulse).unwrap();
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

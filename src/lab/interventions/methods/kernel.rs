//! Kernelised erasure (Ravfogel et al. 2022b): RLACE in the feature space of a kernel, and a network that finds a state for the erased
//! features.
//!
//! `φ(h) = k(h, L) K_LL^(-1/2)` are Nyström features of a sample L of the training embeddings. [`rlace`](super::rlace) removes from them
//! the subspace on which a linear classifier depends most; then no classifier with this kernel finds the property. A network f is trained
//! so that `φ(f(u))` is close to the erased features `u`. The edited embedding, or pre-image, is `f(u)`.
//!
//! There may be no state with exactly the erased features, and the nearest one may still carry the property: if the erasure removes one
//! direction of a hundred, the nearest state is close to the embedding itself. So the finding reports the accuracy of a fresh classifier
//! with the same kernel on three kinds of features: the original ones, the erased ones, and those of the states found. If these states
//! restore the property, a warning is given. Probes with other kernels may still find the property, as the authors report too.
//!
//! Differences from the authors' code: embeddings are centred and scaled to unit variance, so that one γ serves all models; f is a linear
//! map plus a layer of rectified units and starts at the least-squares map; there is one kernel at a time, not a sum of several. Features,
//! loss and 50 steps of training are verified against an implementation in PyTorch. A share below 1 moves each embedding the corresponding
//! part of the way to its pre-image.

mod features;
mod preimage;

use self::features::Features;
use self::preimage::Net;
use super::rlace::{Curve, RLACE};
use crate::method::{Change, FitData, Goal, InterventionError, Known, Learnt, Method, Needs, Preimages, move_along};
use crate::options::{Options, Setting};
use crate::parameter::SHARE;
use base::Pulse;
use probe::bytes::{Reader, Writer, malformed};
use probe::logistic::Settings;
use probe::{Dense, Labelled, Logistic, Matrix, Subspace};
use stats::rng::stream;
use std::borrow::Cow;

pub(crate) const KERNEL_RLACE: Method = Method {
    id: "kernel_rlace",
    title: "kernel R-LACE",
    doc: "removes the features used by a kernel classifier, and searches for a state with the remaining features (after Ravfogel et al. 2022b)",
    goal: Goal::Nullifying,
    needs: Needs { random: true, ..Needs::NONE },
    parameter: &SHARE,
    settings: &SETTINGS,
    applied: &[],
    is_control: false,
    family: "kernel_rlace",
    short: Some(|options| {
        let iterations = options.real("iterations").min(40.0);
        let steps = options.real("steps").min(200.0);
        let short = options.with(&[("steps", steps), ("iterations", iterations)]);
        (short, options.real("iterations") / iterations)
    }),
    learn: |data, options, pulse| Ok(Box::new(Eraser::fit(data, options, pulse)?)),
    read: |bytes, _| Ok(Box::new(Eraser::read(bytes)?)),
};

const SETTINGS: [Setting; 8] = [
    Setting::flag("polynomial", "polynomial kernel", "0: Gaussian, exp(-γ |x - y|²); 1: polynomial, (γ x·y + 1)³", 0.0),
    Setting::real(
        "gamma",
        "γ · D",
        "γ of the kernel times the number of dimensions; embeddings are scaled to unit variance",
        1.0,
        [1e-6, 100.0],
    ),
    Setting::whole(
        "landmarks",
        "landmarks",
        "training embeddings that define the features (paper: 1,024)",
        256.0,
        4_096.0,
    ),
    Setting::whole(
        "rank",
        "rank",
        "directions of feature space to remove; k - 1 times this number for k values",
        1.0,
        40.0,
    ),
    Setting::whole("steps", "steps", "maximum number of steps of the R-LACE game", 5_000.0, 1e7),
    Setting::whole("hidden", "hidden units", "width of the network that finds pre-images", 256.0, 4_096.0),
    Setting::whole(
        "iterations",
        "iterations",
        "training steps of the pre-image network, with 128 examples each",
        1_000.0,
        1e6,
    ),
    Setting::real(
        "learning_rate",
        "learning rate",
        "Adam's learning rate for the pre-image network",
        1e-3,
        [1e-6, 100.0],
    ),
];

/// Number of examples per training step of the pre-image network.
const BATCH: usize = 128;

/// The features, the subspace removed from them, and the network that maps features back to embeddings.
struct Eraser {
    classes: usize,
    features: Features,
    removed: Subspace,
    net: Net,
    preimages: Preimages,
}

impl Eraser {
    fn read(bytes: &[u8]) -> Result<Self, InterventionError> {
        let mut reader = Reader::open(bytes, "kernel")?;
        let classes = reader.number()?;
        let [reproduced, before, erased, found] = reader.reals()?[..] else {
            return Err(malformed("the scores are missing").into());
        };
        let preimages = Preimages { reproduced, before, erased, found };
        let features = Features::read(&mut reader)?;
        let basis: Dense<f64> = reader.matrix()?;
        let net = Net::read(&mut reader)?;
        reader.finish()?;
        let (d, m) = (features.dimension(), features.len());
        if basis.cols() != m || net.sizes() != (m, d) {
            return Err(malformed("the parts have the wrong sizes").into());
        }
        let removed = Subspace::row_space(&basis)?;
        Ok(Self { classes, features, removed, net, preimages })
    }

    fn fit(data: &FitData<'_>, options: &Options, pulse: &mut dyn Pulse) -> Result<Self, InterventionError> {
        let train = data.data.train();
        let mut rng = stream(data.seed, "kernel");
        let features = Features::new(train.x(), options, &mut rng)?;
        let (z, seen) = features.see(train.x());
        let labelled = Labelled::new(seen.cast(), train.y().to_vec(), train.classes());
        let labelled = labelled.map_err(|e| InterventionError::Given(e.to_string()))?;
        let (steps, rank) = (options.real("steps"), options.integer("rank"));
        let game = Options::new(&RLACE, [("steps", steps), ("round", steps.min(1_000.0))]);
        let game = game.unwrap_or_else(|_| Options::defaults(&RLACE));
        let iterations = options.integer("iterations");
        let total = 2 * iterations;
        let curve = Curve::fit(&labelled, data.seed, rank, &game, &mut |done: usize, all: usize| {
            pulse.beat(iterations * done / all.max(1), total)
        })?;
        let removed = curve.at(rank).map_or_else(|| Subspace::zero(features.len()), |e| e.removed.clone());
        let left = removed.remove_from(&seen);
        let mut net = Net::new(&left, &z, options.integer("hidden"), &mut rng)?;
        for step in 0..iterations {
            pulse.beat(iterations + step, total)?;
            let rows = net.draw(left.rows(), BATCH, &mut rng);
            net.step(&features, &left.select_rows(&rows), options.real("learning_rate"));
        }
        let validation = data.data.validation();
        let (_, unseen) = features.see(validation.x());
        let rest = removed.remove_from(&unseen);
        let found = |left: &Dense<f64>| features.of(&net.forward(left));
        let mut read = |own: &Dense<f64>, other: &Dense<f64>| -> Result<f64, InterventionError> {
            let with = |x: &Dense<f64>, like: &Labelled| Labelled::new(x.cast(), like.y().to_vec(), like.classes());
            let wrong = |e: probe::data::DataError| InterventionError::Given(e.to_string());
            let (own, other) = (with(own, train).map_err(wrong)?, with(other, validation).map_err(wrong)?);
            let fit = Logistic::fit_plain(&own, &Settings { c: 10.0, ..Settings::default() }, &mut || {
                pulse.beat(total, total)
            })?;
            Ok(fit.model.accuracy(&other))
        };
        let preimages = Preimages {
            reproduced: net.reproduced(&features, &rest),
            before: read(&seen, &unseen)?,
            erased: read(&left, &rest)?,
            found: read(&found(&left), &found(&rest))?,
        };
        Ok(Self { classes: train.classes(), features, removed, net, preimages })
    }
}

impl Learnt for Eraser {
    fn shape(&self) -> (usize, usize) {
        (self.features.dimension(), self.classes)
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, _: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        let (_, seen) = self.features.see(h);
        // Pre-image minus embedding.
        let mut away = self.features.restore(&self.net.forward(&self.removed.remove_from(&seen)));
        away.add_scaled(-1.0, h);
        Ok(move_along(Cow::Borrowed(h), away))
    }
    fn preimages(&self) -> Option<Preimages> {
        Some(self.preimages)
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("kernel");
        writer.number(self.classes);
        let Preimages { reproduced, before, erased, found } = self.preimages;
        writer.reals(&[reproduced, before, erased, found]);
        self.features.write(&mut writer);
        writer.matrix(self.removed.basis());
        self.net.write(&mut writer);
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Fitted;
    use crate::methods::testing::identical;
    use base::NoPulse;
    use probe::{Intervention, Split, TrainingData};
    use stats::rng::unit;

    /// The class is the sign of the product of two coordinates, which no linear classifier finds.
    fn product() -> (TrainingData<Intervention>, Matrix, Vec<usize>) {
        let (n, d) = (900, 6);
        let mut rng = stream(5, "product");
        let values: Vec<f32> = (0..n * d).map(|_| 2.0 * unit(&mut rng) as f32 - 1.0).collect();
        let x = Matrix::from_vec(n, d, values).unwrap();
        let y: Vec<usize> = (0..n).map(|i| usize::from(x.row(i)[0] * x.row(i)[1] > 0.0)).collect();
        let split = Split::new(n, 1).unwrap();
        let some: Vec<Option<usize>> = y.iter().copied().map(Some).collect();
        let data = TrainingData::new(split.intervention(), &x, &some, 2).unwrap();
        let rows = split.test().rows().to_vec();
        (data, x.select_rows(&rows), rows.iter().map(|r| y[*r]).collect())
    }

    fn quick() -> Options {
        let few = [("landmarks", 100.0), ("steps", 2_000.0), ("hidden", 64.0), ("iterations", 400.0), ("gamma", 3.0)];
        Options::new(&KERNEL_RLACE, few).unwrap()
    }

    /// The erased features hide the property from their classifier; states close to them do not, and this is reported.
    #[test]
    fn erased_features_hide_the_property_and_states_restore_it() {
        let (data, x, y) = product();
        let fit_data = FitData::new(&data);
        let eraser = Eraser::fit(&fit_data, &quick(), &mut NoPulse).unwrap();
        let p = eraser.preimages().unwrap();
        assert!(p.before > 0.75 && p.erased < 0.6 && p.found > p.erased, "{p:?}");
        assert!(p.reproduced > 0.4 && p.reproduced <= 1.0, "{p:?}");
        let moved = |f: &Fitted| f.on(&x, &y, &mut NoPulse).unwrap().at(1.0, &mut NoPulse).unwrap();
        let bytes = eraser.to_bytes();
        let fitted = KERNEL_RLACE.fit(&fit_data, &quick(), &mut NoPulse).unwrap();
        let again = KERNEL_RLACE.load(&bytes, &quick()).unwrap();
        assert!(moved(&again).data().iter().zip(moved(&fitted).data()).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!(identical(&fitted.on(&x, &y, &mut NoPulse).unwrap().at(0.0, &mut NoPulse).unwrap(), &x));
        assert!(KERNEL_RLACE.load(&bytes[1..], &quick()).is_err());
        let stopped = KERNEL_RLACE.fit(&fit_data, &quick(), &mut |done, _| match done {
            0 => Ok(()),
            _ => Err(base::Cancelled),
        });
        assert!(matches!(stopped.err(), Some(InterventionError::Cancelled(_))));
    }
}

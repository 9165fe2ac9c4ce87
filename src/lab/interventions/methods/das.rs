//! DAS: distributed alignment search, the interchange of a learned subspace (Geiger et al. 2024).
//!
//! In an r-dimensional subspace an embedding receives the content of a donor with the intended value and keeps the rest:
//! `h' = h + Qᵀ Q (d - h)` with orthonormal rows of Q (r x D). This swaps the first r coordinates in a rotated basis. Q is learned so that
//! a reader finds the donor's value after the swap: Adam minimises the mean cross entropy of that value over pairs of training examples
//! with different values. In the paper the reader is the rest of the model. Here it is the interventional perceptron, as for all methods of
//! this program, so that the oracles are not part of the fit.
//!
//! There are two differences from the authors' code. Q is re-orthonormalised after each step instead of being parametrised as a rotation.
//! The curve over ranks is one search, in which each rank starts from the result of the previous one plus a random direction. Donors are
//! those of [`interchange`](super::interchange); swapping all D dimensions is an interchange.

use super::interchange::{Donors, SAME_OTHER};
use crate::method::{Change, FitData, Goal, InterventionError, Known, Learnt, Method, Needs};
use crate::options::{Options, Setting};
use crate::parameter::{MOST_ITERATIONS, SWAPPED_RANK};
use base::Pulse;
use probe::bytes::{Reader, Writer, malformed};
use probe::{Dense, Matrix, Mlp};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use stats::rng::{below, stream};

pub(crate) const DAS: Method = Method {
    id: "das",
    title: "DAS on a probe",
    doc: "copies the content of a learned subspace from a donor with the intended value; after Geiger et al. 2024, who learn it on the model, not on a probe",
    goal: Goal::Counterfactual,
    needs: Needs { mlp: true, random: true, ..Needs::NONE },
    parameter: &SWAPPED_RANK,
    settings: &SETTINGS,
    applied: &[],
    is_control: false,
    family: "das",
    short: Some(|options| {
        let all = |first: f64, further: f64| first + MOST_ITERATIONS as f64 * further;
        let (first, further) = (options.real("steps").min(20.0), 1.0);
        let short = options.with(&[("steps", first), ("further", further)]);
        (short, all(options.real("steps"), options.real("further")) / all(first, further))
    }),
    learn: |data, options, pulse| {
        let probe = data.perceptron_for("das")?;
        let donors = Donors::new(data, options.flag("same_other"));
        let bases = search(&probe.mlp().cast(), data, &donors, options, pulse)?;
        Ok(Box::new(Swap { donors, bases }))
    },
    read: |bytes, _| {
        let mut reader = Reader::open(bytes, "das")?;
        let donors = Donors::read(&mut reader)?;
        let count = reader.number()?;
        if count > MOST_ITERATIONS {
            return Err(malformed("invalid number of ranks").into());
        }
        let bases = (0..count).map(|_| reader.matrix()).collect::<Result<Vec<Matrix>, _>>()?;
        reader.finish()?;
        if bases.iter().any(|q| q.cols() != donors.dimension || !q.is_finite()) {
            return Err(malformed("the bases have different sizes").into());
        }
        Ok(Box::new(Swap { donors, bases }))
    },
};

const SETTINGS: [Setting; 5] = [
    Setting::whole("steps", "steps", "steps for the first rank", 500.0, 1e6),
    Setting::whole(
        "further",
        "further steps",
        "steps that each additional rank adds to the previous search",
        50.0,
        1e6,
    ),
    Setting::whole("batch", "batch", "pairs of examples per step", 128.0, 65_536.0),
    Setting::real(
        "learning_rate",
        "learning rate",
        "learning rate of Adam, on the rows of the orthonormal basis",
        0.01,
        [1e-6, 10.0],
    ),
    SAME_OTHER,
];

/// The bases for each rank from 1 to `ranks`, or to the number of dimensions if that is smaller.
fn search(
    reader: &Mlp<f64>,
    data: &FitData<'_>,
    donors: &Donors,
    options: &Options,
    pulse: &mut dyn Pulse,
) -> Result<Vec<Matrix>, InterventionError> {
    let mut rng = stream(data.seed, "das");
    let ranks = MOST_ITERATIONS.min(donors.dimension);
    let (first, further) = (options.integer("steps"), options.integer("further"));
    let (total, mut done) = (first + (ranks - 1) * further, 0);
    let mut rotation = Rotation::empty(donors.dimension);
    let mut bases = Vec::with_capacity(ranks);
    for rank in 1..=ranks {
        rotation.widen(&mut rng);
        // For the whole space every basis is equally good.
        let steps = match rank {
            _ if rank == donors.dimension => 0,
            1 => first,
            _ => further,
        };
        for _ in 0..steps {
            pulse.beat(done, total)?;
            let Some(pairs) = Pairs::draw(data, donors, options.integer("batch"), &mut rng) else { break };
            rotation.step(reader, &pairs, options.real("learning_rate"));
            done += 1;
        }
        bases.push(rotation.basis.cast());
    }
    Ok(bases)
}

/// Training examples with donors of other values.
struct Pairs {
    /// Embeddings, n x D.
    h: Dense<f64>,
    /// Donor minus embedding, n x D.
    away: Dense<f64>,
    targets: Vec<usize>,
}

impl Pairs {
    /// Draws pairs. `None` if no example has a donor.
    fn draw(data: &FitData<'_>, donors: &Donors, count: usize, rng: &mut ChaCha8Rng) -> Option<Self> {
        let train = data.data.train();
        let (mut rows, mut found, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let row = below(rng, train.len() as u32) as usize;
            let target = (train.y()[row] + 1 + below(rng, donors.classes as u32 - 1) as usize) % donors.classes;
            let Some(group) = donors.group(target, data.other.get(row).copied().flatten()) else { continue };
            found.extend_from_slice(group.row(below(rng, group.rows() as u32) as usize));
            rows.push(row);
            targets.push(target);
        }
        let h: Dense<f64> = train.x().select_rows(&rows).cast();
        let mut away = Matrix::from_vec(rows.len(), donors.dimension, found).ok()?.cast::<f64>();
        away.add_scaled(-1.0, &h);
        (!rows.is_empty()).then_some(Self { h, away, targets })
    }
}

/// The basis and the state of Adam.
struct Rotation {
    /// Q, r x D, orthonormal rows.
    basis: Dense<f64>,
    mean: Vec<f64>,
    square: Vec<f64>,
    steps: i32,
}

impl Rotation {
    fn empty(dimension: usize) -> Self {
        Self { basis: Dense::zeros(0, dimension), mean: Vec::new(), square: Vec::new(), steps: 0 }
    }

    /// Adds a random direction orthogonal to the others, and resets Adam.
    fn widen(&mut self, rng: &mut ChaCha8Rng) {
        let (rank, dimension) = (self.basis.rows() + 1, self.basis.cols());
        let mut rows = std::mem::replace(&mut self.basis, Dense::zeros(0, dimension)).into_vec();
        rows.extend((0..dimension).map(|_| -> f64 { StandardNormal.sample(rng) }));
        self.basis = Dense::from_fn(rank, dimension, |i, j| rows[i * dimension + j]);
        orthonormalise(&mut self.basis);
        (self.mean, self.square, self.steps) = (vec![0.0; rows.len()], vec![0.0; rows.len()], 0);
    }

    /// Gradient of the mean cross entropy with respect to Q, tangent to the orthonormal bases, and the cross entropy in nats.
    fn slope(&self, reader: &Mlp<f64>, pairs: &Pairs) -> (Dense<f64>, f64) {
        let coordinates = pairs.away.dot_t(&self.basis);
        let mut moved = pairs.h.clone();
        moved.add_scaled(1.0, &coordinates.dot(&self.basis));
        let (mut gradient, losses) = reader.input_direction(&moved, &pairs.targets);
        let n = losses.len() as f64;
        for (i, loss) in losses.iter().enumerate() {
            let size = -(-loss).exp_m1() / n;
            gradient.row_mut(i).iter_mut().for_each(|g| *g *= size);
        }
        let mut slope = gradient.dot_t(&self.basis).t_dot(&pairs.away);
        slope.add_scaled(1.0, &coordinates.t_dot(&gradient));
        let within = slope.dot_t(&self.basis).dot(&self.basis);
        slope.add_scaled(-1.0, &within);
        (slope, losses.iter().sum::<f64>() / n)
    }

    /// Takes a step of Adam; returns the cross entropy before it.
    fn step(&mut self, reader: &Mlp<f64>, pairs: &Pairs, rate: f64) -> f64 {
        const BETAS: [f64; 2] = [0.9, 0.999];
        let (slope, loss) = self.slope(reader, pairs);
        self.steps += 1;
        let [first, second] = BETAS.map(|b| 1.0 - b.powi(self.steps));
        let state = self.mean.iter_mut().zip(&mut self.square);
        for ((q, g), (m, v)) in self.basis.data_mut().iter_mut().zip(slope.data()).zip(state) {
            *m = BETAS[0] * *m + (1.0 - BETAS[0]) * g;
            *v = BETAS[1] * *v + (1.0 - BETAS[1]) * g * g;
            *q -= rate * (*m / first) / ((*v / second).sqrt() + 1e-8);
        }
        orthonormalise(&mut self.basis);
        loss
    }
}

/// Gram-Schmidt, twice, so that rounding errors do not accumulate.
fn orthonormalise(rows: &mut Dense<f64>) {
    for i in 0..rows.rows() {
        for _ in 0..2 {
            for k in 0..i {
                let along: f64 = rows.row(i).iter().zip(rows.row(k)).map(|(a, b)| a * b).sum();
                let other = rows.row(k).to_vec();
                rows.row_mut(i).iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
            let norm = rows.row(i).iter().map(|a| a * a).sum::<f64>().sqrt();
            if norm > 0.0 {
                rows.row_mut(i).iter_mut().for_each(|a| *a /= norm);
            }
        }
    }
}

/// Donors and the bases of all ranks.
struct Swap {
    donors: Donors,
    bases: Vec<Matrix>,
}

impl Learnt for Swap {
    fn shape(&self) -> (usize, usize) {
        self.donors.shape()
    }
    fn prepare<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
    ) -> Result<Change<'a>, InterventionError> {
        // Donor minus embedding.
        let mut away = self.donors.exchange(h, targets, known.other)?;
        away.add_scaled(-1.0, h);
        Ok(Box::new(move |rank, _| {
            let mut moved = h.clone();
            let last = (rank as usize).min(self.bases.len()).checked_sub(1);
            if let Some(q) = last.and_then(|at| self.bases.get(at)) {
                moved.add_scaled(1.0, &away.dot_t(q).dot(q));
            }
            Ok(moved)
        }))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("das");
        self.donors.write(&mut writer);
        writer.number(self.bases.len());
        self.bases.iter().for_each(|q| writer.matrix(q));
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::interchange::INTERCHANGE;
    use crate::methods::testing::{identical, sample};
    use base::NoPulse;
    use probe::mlp::Layer;

    fn quick() -> Options {
        Options::new(&DAS, [("steps", 300.0), ("further", 20.0)]).unwrap()
    }

    /// The class is visible only in the first coordinate, so one dimension is enough and the search must find it.
    #[test]
    fn it_finds_only_the_dimension_of_the_property() {
        let s = sample(2);
        let fitted = DAS.fit(&s.fit_data(), &quick(), &mut NoPulse).unwrap();
        let targets = s.targets();
        let mut rows = fitted.on(&s.test, &targets, &mut NoPulse).unwrap();
        let said = |h: &Matrix| {
            let logits = s.probe.mlp().logits(h);
            let right = logits.iter_rows().zip(&targets).filter(|(row, t)| base::matrix::argmax(row) == **t).count();
            right as f64 / targets.len() as f64
        };
        let whole = INTERCHANGE.fit(&s.fit_data(), &Options::defaults(&INTERCHANGE), &mut NoPulse).unwrap();
        let whole = whole.on(&s.test, &targets, &mut NoPulse).unwrap().at(1.0, &mut NoPulse).unwrap();
        let (one, all) = (rows.at(1.0, &mut NoPulse).unwrap(), rows.at(12.0, &mut NoPulse).unwrap());
        assert!(said(&s.test) < 0.2 && said(&one) > said(&whole) - 0.03, "{} {}", said(&one), said(&whole));
        let far =
            |a: &Matrix, b: &Matrix| a.data().iter().zip(b.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far(&all, &whole) < 1e-4, "swapping all dimensions is an interchange");
        assert!(identical(&rows.at(0.0, &mut NoPulse).unwrap(), &s.test));
        assert!(identical(&rows.at(40.0, &mut NoPulse).unwrap(), &all) && rows.at(41.0, &mut NoPulse).is_err());
        let again = DAS.load(&fitted.to_bytes(), &quick()).unwrap();
        let mut again = again.on(&s.test, &targets, &mut NoPulse).unwrap();
        assert!(identical(&again.at(1.0, &mut NoPulse).unwrap(), &one));
        assert!(DAS.load(&fitted.to_bytes()[1..], &quick()).is_err());
        // The states move only along the first coordinate, up to the noise that the perceptron has fitted.
        let first = |m: &Matrix, i: usize| f64::from(m.row(i)[0] - s.test.row(i)[0]).powi(2);
        let all = |m: &Matrix, i: usize| {
            m.row(i).iter().zip(s.test.row(i)).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
        };
        let share =
            (0..one.rows()).map(|i| first(&one, i)).sum::<f64>() / (0..one.rows()).map(|i| all(&one, i)).sum::<f64>();
        assert!(share > 0.8, "{share}");
    }

    #[test]
    fn three_values_and_cancellation() {
        let s = sample(3);
        let fitted = DAS.fit(&s.fit_data(), &quick(), &mut NoPulse).unwrap();
        let moved = fitted.on(&s.test, &s.targets(), &mut NoPulse).unwrap().at(2.0, &mut NoPulse).unwrap();
        assert!(moved.is_finite());
        let stopped =
            DAS.fit(&s.fit_data(), &quick(), &mut |done, _| if done < 3 { Ok(()) } else { Err(base::Cancelled) });
        assert!(matches!(stopped.err(), Some(InterventionError::Cancelled(_))));
        let none = FitData { mlp: None, ..s.fit_data() };
        assert!(matches!(DAS.fit(&none, &quick(), &mut NoPulse).err(), Some(InterventionError::NoProbe { .. })));
    }

    /// A reader, pairs and a basis filled with sines.
    fn fixed() -> (Mlp<f64>, Pairs, Rotation) {
        let wave = |k: f64| move |i: usize, j: usize| (k * (i as f64 + 1.0) + 0.7 * (j as f64 + 1.0) * k).sin();
        let layer = |rows, cols, k: f64| Layer {
            weight: Dense::from_fn(rows, cols, wave(k)),
            bias: (0..cols).map(|j| wave(k)(9, j)).collect(),
        };
        let reader = Mlp::from_layers(vec![layer(5, 6, 1.3), layer(6, 3, 2.1)]).unwrap();
        let pairs = Pairs {
            h: Dense::from_fn(8, 5, wave(0.9)),
            away: Dense::from_fn(8, 5, wave(1.7)),
            targets: (0..8).map(|i| i % 3).collect(),
        };
        let mut basis = Dense::from_fn(2, 5, wave(0.4));
        orthonormalise(&mut basis);
        (reader, pairs, Rotation { basis, mean: vec![0.0; 10], square: vec![0.0; 10], steps: 0 })
    }

    #[test]
    fn slope_is_the_gradient_of_the_loss() {
        let (reader, pairs, rotation) = fixed();
        let (slope, _) = rotation.slope(&reader, &pairs);
        // Moves along a tangent of the orthonormal bases.
        let mut tangent = Dense::from_fn(2, 5, |i, j| ((3 * i + 2 * j) as f64).cos());
        let within = tangent.dot_t(&rotation.basis).dot(&rotation.basis);
        tangent.add_scaled(-1.0, &within);
        let loss = |by: f64| {
            let mut basis = rotation.basis.clone();
            basis.add_scaled(by, &tangent);
            orthonormalise(&mut basis);
            Rotation { basis, mean: vec![], square: vec![], steps: 0 }.slope(&reader, &pairs).1
        };
        let numeric = (loss(1e-5) - loss(-1e-5)) / 2e-5;
        let exact: f64 = slope.data().iter().zip(tangent.data()).map(|(a, b)| a * b).sum();
        assert!((numeric - exact).abs() < 1e-8, "{numeric} {exact}");
    }

    /// Reference: an implementation in NumPy, with finite-difference gradients, and orthonormal bases from Householder reflections.
    #[test]
    fn fifty_steps_match_numpy() {
        let (reader, pairs, mut rotation) = fixed();
        assert!((rotation.slope(&reader, &pairs).1 - 1.5385539631900533).abs() < 1e-9);
        for _ in 0..50 {
            rotation.step(&reader, &pairs, 0.05);
        }
        assert!((rotation.slope(&reader, &pairs).1 - 1.3165797975160727).abs() < 1e-5);
        let onto = rotation.basis.t_dot(&rotation.basis);
        for (i, wanted) in [0.61525456, 0.62057058, 0.08833617, 0.1486781, 0.5271606].into_iter().enumerate() {
            assert!((onto.row(i)[i] - wanted).abs() < 1e-3, "{i}: {} {wanted}", onto.row(i)[i]);
        }
    }
}

//! Tests every method on hostile data: the method must refuse them clearly or return finite numbers, and must not panic.

use crate::method::{FitData, Goal, InterventionError, Known, Method};
use crate::options::Options;
use crate::parameter::Scale;
use crate::registry::registry;
use base::NoPulse;
use probe::given::Content;
use probe::{Dense, Intervention, Labelled, Matrix, Mlp, Probe, TrainingData};
use stats::rng::{stream, unit};

/// Training examples, an untrained perceptron, and files of the user's own interventions.
struct Hard {
    data: TrainingData<Intervention>,
    probe: Probe<Intervention>,
    directions: Content,
    states: Content,
    erased: Content,
}

impl Hard {
    fn new(x: Matrix, classes: usize) -> Self {
        let (n, d) = (x.rows(), x.cols());
        let labels: Vec<usize> = (0..n).map(|i| i % classes).collect();
        let train = Labelled::new(x.clone(), labels, classes).unwrap();
        let mlp = Mlp::fresh(d, &[8], classes, &mut stream(1, "hard"));
        Self {
            data: TrainingData::from_parts(train.clone(), train).unwrap(),
            probe: Probe::from_mlp(mlp),
            directions: Content::Directions(Dense::from_fn(2, d, |i, j| f64::from(u8::from(i == j)))),
            states: Content::States(vec![x.clone(); if classes == 2 { 1 } else { classes }]),
            erased: Content::States(vec![x]),
        }
    }

    fn given(&self, method: &Method) -> &Content {
        match (method.id, method.goal) {
            ("directions", _) => &self.directions,
            (_, Goal::Counterfactual) => &self.states,
            _ => &self.erased,
        }
    }

    /// Fits a method with few steps and applies it at the ends of its grid and at its default. `None` if it refuses a property with more
    /// than two values.
    fn apply(&self, method: &Method) -> Option<Vec<Matrix>> {
        let few = [("steps", 20.0), ("round", 20.0), ("further", 2.0), ("queries", 30.0), ("iterations", 5.0)];
        let has = |name: &str| method.settings.iter().any(|s| s.name == name);
        let options = Options::new(method, few.into_iter().filter(|(name, _)| has(name))).unwrap();
        let data = FitData { mlp: Some(&self.probe), given: Some(self.given(method)), ..FitData::new(&self.data) };
        let fitted = match method.fit(&data, &options, &mut NoPulse) {
            Err(InterventionError::NotBinary { .. }) => return None,
            fitted => fitted.unwrap_or_else(|e| panic!("{}: {e}", method.id)),
        };
        let (x, y) = (self.data.train().x(), self.data.train().y());
        let classes = self.data.classes();
        let targets: Vec<usize> = y.iter().map(|y| (y + 1) % classes).collect();
        let rows: Vec<usize> = (0..x.rows()).collect();
        let known = Known { rows: &rows, twins: Some(x), ..Known::default() };
        let mut prepared = fitted.on_known(x, &targets, &known, &mut NoPulse).unwrap();
        let p = method.parameter;
        for bad in [f64::NAN, f64::INFINITY, -1.0, 1e9] {
            let refused = prepared.at(bad, &mut NoPulse);
            assert!(matches!(refused, Err(InterventionError::Value { .. })), "{} at {bad}", method.id);
        }
        let values = [p.min, p.default, *p.grid.last().unwrap()];
        let moved = values.map(|v| prepared.at(v, &mut NoPulse).unwrap_or_else(|e| panic!("{}: {e}", method.id)));
        for m in &moved {
            assert!(m.is_finite() && (m.rows(), m.cols()) == (x.rows(), x.cols()), "{}", method.id);
        }
        // Strength zero is the identity, except for methods without a strength and for AlterRep, which reduces to INLP at zero.
        if p.min == 0.0 && method.id != "alterrep" {
            assert!(moved[0] == *x, "{} at 0", method.id);
        }
        if p.scale == Scale::Integer {
            assert!(prepared.at(0.5, &mut NoPulse).is_err(), "{} at half a rank", method.id);
        }
        Some(moved.into())
    }
}

fn noise(n: usize, d: usize) -> Matrix {
    let mut rng = stream(3, "noise");
    let values = (0..n * d).map(|_| (unit(&mut rng) - 0.5) as f32).collect();
    Matrix::from_vec(n, d, values).unwrap()
}

#[test]
fn fifty_values_are_supported_or_refused() {
    let hard = Hard::new(noise(150, 12), 50);
    for method in registry() {
        assert_eq!(hard.apply(method).is_none(), method.needs.binary, "{}", method.id);
    }
}

#[test]
fn fewer_examples_than_dimensions() {
    let hard = Hard::new(noise(14, 20), 2);
    for method in registry() {
        hard.apply(method).unwrap();
    }
}

#[test]
fn collinear_and_constant_embeddings() {
    let line = Matrix::from_fn(30, 6, |i, j| (i as f32 - 11.0) * (j as f32 + 1.0));
    for x in [line, Matrix::from_fn(30, 6, |_, _| 2.0), Matrix::zeros(30, 6)] {
        let hard = Hard::new(x, 2);
        for method in registry() {
            hard.apply(method).unwrap();
        }
    }
}

/// A rank beyond the size of the embeddings removes all dimensions and has no further effect.
#[test]
fn ranks_above_the_dimension() {
    let hard = Hard::new(noise(60, 5), 2);
    for method in registry().iter().filter(|m| ["inlp", "rlace", "random"].contains(&m.id)) {
        let all = hard.apply(method).unwrap().pop().unwrap();
        assert!(all.data().iter().all(|x| x.abs() < 1e-5), "{}", method.id);
    }
}

/// Data with one class, with NaN or infinity, or without examples are refused before any method can be fitted.
#[test]
fn useless_data_are_refused_before_fitting() {
    let one = Labelled::new(noise(9, 3), vec![1; 9], 2).unwrap();
    assert!(TrainingData::<Intervention>::from_parts(one.clone(), one).is_err());
    let mut bad = noise(9, 3);
    bad.row_mut(4)[1] = f32::NAN;
    assert!(Labelled::new(bad, vec![0; 9], 2).unwrap_err().to_string().contains("row 4"));
    let none = Labelled::new(Matrix::zeros(0, 3), Vec::new(), 2).unwrap();
    assert!(TrainingData::<Intervention>::from_parts(none.clone(), none).is_err());
}

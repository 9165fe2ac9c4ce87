//! A small data set and probe for the methods' tests.

use crate::method::FitData;
use base::NoPulse;
use probe::train::Recipe;
use probe::{Grid, Intervention, Matrix, Probe, Split, TrainingData};
use stats::Purpose;
use stats::rng::{stream, unit};

pub(crate) struct Sample {
    pub(crate) data: TrainingData<Intervention>,
    pub(crate) probe: Probe<Intervention>,
    /// Embeddings to edit, `n x 12`.
    pub(crate) test: Matrix,
    labels: Vec<usize>,
    classes: usize,
}

impl Sample {
    pub(crate) fn fit_data(&self) -> FitData<'_> {
        FitData { mlp: Some(&self.probe), seed: 3, ..FitData::new(&self.data) }
    }

    /// The cyclically next value for each test row.
    pub(crate) fn targets(&self) -> Vec<usize> {
        self.labels.iter().map(|l| (l + 1) % self.classes).collect()
    }
}

/// Embeddings of size 12 whose class is visible in two coordinates, and a perceptron trained on them.
pub(crate) fn sample(classes: usize) -> Sample {
    let (n, d) = (900, 12);
    let mut rng = stream(classes as u64, "sample");
    let labels: Vec<usize> = (0..n).map(|_| (unit(&mut rng) * classes as f64) as usize).collect();
    let noise: Vec<f64> = (0..n * d).map(|_| 1.2 * (unit(&mut rng) + unit(&mut rng) - 1.0)).collect();
    let x = Matrix::from_fn(n, d, |i, j| {
        let angle = std::f64::consts::TAU * labels[i] as f64 / classes as f64;
        (noise[i * d + j] + [angle.cos(), angle.sin()].get(j).copied().unwrap_or(0.1)) as f32
    });
    let split = Split::new(n, 1).unwrap();
    let some: Vec<Option<usize>> = labels.iter().copied().map(Some).collect();
    let data = TrainingData::new(split.intervention(), &x, &some, classes).unwrap();
    let recipe = Recipe { hidden: vec![16], learning_rate: 1e-2, batch: 64 };
    let grid = Grid { name: "one".to_owned(), recipes: vec![recipe] };
    let purpose = Purpose::new(1, "class", "mlp");
    let probe = probe::grid::search(&data, &grid, &purpose, &mut NoPulse, &mut |_| {}).unwrap();
    let rows = split.test().rows();
    Sample { data, probe, test: x.select_rows(rows), labels: rows.iter().map(|r| labels[*r]).collect(), classes }
}

pub(crate) fn identical(a: &Matrix, b: &Matrix) -> bool {
    a == b
}

//! Labelled embeddings, with types that determine what may be trained on them.

use super::split::{Part, Role, TestSplit};
use super::subspace::Subspace;
use base::matrix::Matrix;
use std::marker::PhantomData;

/// Reasons why data cannot train or test a classifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// The numbers of embeddings and labels differ.
    #[error("there are {rows} embeddings but {labels} labels")]
    Lengths {
        /// Number of rows of the matrix.
        rows: usize,
        labels: usize,
    },
    /// A label outside `0..classes`.
    #[error("label {label} of row {row} is outside 0..{classes}")]
    Label {
        /// Row of the invalid label.
        row: usize,
        label: usize,
        classes: usize,
    },
    /// An embedding contains NaN or infinity.
    #[error("the embedding of row {row} contains NaN or infinity: check the model's precision and weights")]
    NotFinite { row: usize },
    /// A part without labelled examples.
    #[error("the {part} part contains no labelled example")]
    Empty { part: &'static str },
    /// A part with only one class, although a classifier needs two.
    #[error("the {part} part contains only one class, so there is nothing to learn or measure")]
    OneClass { part: &'static str },
    /// A split made for a different data set.
    #[error("the split refers to row {row}, but the data has {rows} rows")]
    OtherData {
        /// A row of the split.
        row: usize,
        rows: usize,
    },
}

/// Embeddings (n x D, finite) with one label in `0..classes` each.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    x: Matrix,
    y: Vec<usize>,
    classes: usize,
}

impl Labelled {
    /// Joins embeddings and labels. Zero rows are allowed here; training rejects them.
    ///
    /// # Errors
    /// [`DataError`] for different lengths, labels out of range, NaN or infinity.
    pub fn new(x: Matrix, y: Vec<usize>, classes: usize) -> Result<Self, DataError> {
        if x.rows() != y.len() {
            return Err(DataError::Lengths { rows: x.rows(), labels: y.len() });
        }
        if let Some(row) = y.iter().position(|label| *label >= classes) {
            return Err(DataError::Label { row, label: y[row], classes });
        }
        if let Some(row) = x.iter_rows().position(|r| r.iter().any(|v| !v.is_finite())) {
            return Err(DataError::NotFinite { row });
        }
        Ok(Self { x, y, classes })
    }

    /// Selects the given `rows` that have a label.
    fn gather(x: &Matrix, labels: &[Option<usize>], classes: usize, rows: &[usize]) -> Result<Self, DataError> {
        if x.rows() != labels.len() {
            return Err(DataError::Lengths { rows: x.rows(), labels: labels.len() });
        }
        if let Some(row) = rows.iter().copied().find(|r| *r >= labels.len()) {
            return Err(DataError::OtherData { row, rows: labels.len() });
        }
        let (kept, y): (Vec<usize>, Vec<usize>) =
            rows.iter().filter_map(|r| labels[*r].map(|label| (*r, label))).unzip();
        Self::new(x.select_rows(&kept), y, classes)
    }

    /// The same examples with a subspace removed from their embeddings.
    pub fn without(&self, removed: &Subspace) -> Self {
        Self { x: removed.remove_from(&self.x), y: self.y.clone(), classes: self.classes }
    }

    /// The same examples with every embedding multiplied by `by`.
    pub fn scaled(&self, by: f32) -> Self {
        let mut scaled = self.clone();
        scaled.x.data_mut().iter_mut().for_each(|v| *v *= by);
        scaled
    }

    pub fn x(&self) -> &Matrix {
        &self.x
    }

    pub fn y(&self) -> &[usize] {
        &self.y
    }

    pub fn classes(&self) -> usize {
        self.classes
    }

    pub fn len(&self) -> usize {
        self.y.len()
    }

    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// Number of examples of each class.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes];
        self.y.iter().for_each(|label| counts[*label] += 1);
        counts
    }

    /// Share of the largest class: the accuracy of a constant answer; 0 without examples.
    pub fn majority(&self) -> f64 {
        self.counts().into_iter().max().unwrap_or(0) as f64 / self.len().max(1) as f64
    }
}

/// Training and validation data for role `R`, made only from a part of a [`super::Split`] with this role. Thus no oracle can be trained on
/// intervention or test data, and no intervention on oracle data.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingData<R> {
    train: Labelled,
    validation: Labelled,
    role: PhantomData<R>,
}

impl<R: Role> TrainingData<R> {
    /// Selects the part's rows from `x` (all rows of the data set) and drops rows without a label.
    ///
    /// # Errors
    /// [`DataError`] if the data does not fit the split or has fewer than two classes to train on.
    pub fn new(part: &Part<R>, x: &Matrix, labels: &[Option<usize>], classes: usize) -> Result<Self, DataError> {
        let train = Labelled::gather(x, labels, classes, part.train())?;
        let validation = Labelled::gather(x, labels, classes, part.validation())?;
        Self::from_parts(train, validation)
    }

    /// Examples of one part after an intervention, to train a new probe on them. The caller guarantees that they are from this part.
    ///
    /// # Errors
    /// [`DataError`] if the training or validation part is empty, or training has only one class.
    pub fn from_parts(train: Labelled, validation: Labelled) -> Result<Self, DataError> {
        if train.is_empty() {
            return Err(DataError::Empty { part: "training" });
        }
        if validation.is_empty() {
            return Err(DataError::Empty { part: "validation" });
        }
        if train.counts().iter().filter(|c| **c > 0).count() < 2 {
            return Err(DataError::OneClass { part: "training" });
        }
        Ok(Self { train, validation, role: PhantomData })
    }

    /// Examples for fitting weights.
    pub fn train(&self) -> &Labelled {
        &self.train
    }

    /// Examples for choosing hyperparameters and epochs.
    pub fn validation(&self) -> &Labelled {
        &self.validation
    }

    pub fn classes(&self) -> usize {
        self.train.classes
    }
}

/// Examples for audits of probes and scores of interventions. Labels may be missing; see [`TestData::defined`].
#[derive(Debug, Clone, PartialEq)]
pub struct TestData {
    x: Matrix,
    labels: Vec<Option<usize>>,
    classes: usize,
}

impl TestData {
    /// Selects the test rows from `x` (all rows of the data set).
    ///
    /// # Errors
    /// [`DataError`] if the data does not fit the split.
    pub fn new(split: &TestSplit, x: &Matrix, labels: &[Option<usize>], classes: usize) -> Result<Self, DataError> {
        // Called only for its checks.
        Labelled::gather(x, labels, classes, split.rows())?;
        let x = x.select_rows(split.rows());
        if let Some(row) = x.iter_rows().position(|r| r.iter().any(|v| !v.is_finite())) {
            return Err(DataError::NotFinite { row });
        }
        if x.rows() == 0 {
            return Err(DataError::Empty { part: "test" });
        }
        Ok(Self { x, labels: split.rows().iter().map(|r| labels[*r]).collect(), classes })
    }

    pub fn x(&self) -> &Matrix {
        &self.x
    }

    pub fn labels(&self) -> &[Option<usize>] {
        &self.labels
    }

    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The examples with a label.
    pub fn defined(&self) -> Result<Labelled, DataError> {
        let all: Vec<usize> = (0..self.x.rows()).collect();
        let some = Labelled::gather(&self.x, &self.labels, self.classes, &all)?;
        if some.is_empty() { Err(DataError::Empty { part: "test" }) } else { Ok(some) }
    }
}

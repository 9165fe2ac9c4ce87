//! Classifiers on embeddings: matrices, splits, logistic regression, multilayer perceptrons, grid search, replicates, audit.

pub mod audit;
pub mod bytes;
pub mod covariance;
pub mod data;
pub mod decorrelate;
pub mod epochs;
pub mod fantope;
pub mod given;
pub mod grid;
pub mod jobs;
mod lbfgs;
pub mod linear;
pub mod logistic;
pub mod mdl;
pub mod mlp;
pub mod selection;
pub mod split;
pub mod subspace;
pub mod train;

pub use base::matrix::{Dense, Matrix};
pub use data::{Labelled, TestData, TrainingData};
pub use grid::{Grid, Probe};
pub use jobs::{Job, train_all};
pub use logistic::Logistic;
pub use mlp::Mlp;
pub use split::{Intervention, InterventionSplit, Oracle, OracleSplit, Split, TestSplit};
pub use subspace::Subspace;
pub use train::Recipe;

use base::Cancelled;

/// Errors in training a probe or reading one back.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProbeError {
    /// The pulse said stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The data cannot train or test a classifier.
    #[error(transparent)]
    Data(#[from] data::DataError),
    /// Every trial ended with weights that are not numbers.
    #[error(
        "training diverged in all {trials} trials of the grid '{grid}': use lower learning rates or rescale the embeddings"
    )]
    Diverged {
        /// Name of the grid.
        grid: String,
        trials: usize,
    },
    /// A grid without points, or a point that no classifier can have.
    #[error("the grid '{grid}' is not usable: {reason}")]
    Grid {
        /// Name of the grid.
        grid: String,
        /// The fault, in words.
        reason: String,
    },
    /// A probe taken for what it was not trained as.
    #[error("a probe trained as {found} cannot serve as {wanted}")]
    Role {
        /// The role it was trained in.
        found: &'static str,
        /// The role asked for.
        wanted: &'static str,
    },
}

//! Classifiers on embeddings: splits, logistic regression, multilayer perceptrons, grid search, replicates, audit.

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

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProbeError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The data cannot train or test a classifier.
    #[error(transparent)]
    Data(#[from] data::DataError),
    /// Every trial ended with NaN or infinite weights.
    #[error(
        "training diverged in all {trials} trials of the grid '{grid}': use lower learning rates or rescale the embeddings"
    )]
    Diverged { grid: String, trials: usize },
    /// An empty grid, or a point that is not a possible classifier.
    #[error("the grid '{grid}' is not usable: {reason}")]
    Grid { grid: String, reason: String },
    /// A probe used in a role other than the one it was trained in.
    #[error("a probe trained as {found} cannot be used as {wanted}")]
    Role {
        /// The role it was trained in.
        found: &'static str,
        wanted: &'static str,
    },
}

//! Intervention methods: fitted once, applied to embeddings, swept over their parameter.

use super::options::{Options, Setting};
use super::parameter::Parameter;
use base::{Cancelled, Pulse};
use probe::bytes::BytesError;
use probe::given::Content;
use probe::subspace::SvdError;
use probe::{Intervention, Matrix, Probe, TrainingData};
use serde::{Deserialize, Serialize};

/// Goal of an intervention for the target property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Another value: completeness by equation 1 of Canby et al.
    Counterfactual,
    /// No value: completeness by equation 2.
    Nullifying,
}

/// Needs of a method in addition to embeddings and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// The perceptron trained on the intervention part.
    pub mlp: bool,
    /// A property with exactly two values.
    pub binary: bool,
    /// Random numbers: fits with different seeds differ. A method that needs neither these nor the perceptron has one
    /// fit for all replicates.
    pub random: bool,
    /// The state of each example's true counterfactual, see [`Known::twins`].
    pub twins: bool,
    /// The user's file, see [`FitData::given`].
    pub file: bool,
}

/// Data for fitting methods. The types keep oracle and test data out.
#[derive(Debug, Clone, Copy)]
pub struct FitData<'a> {
    /// Training and validation embeddings with labels.
    pub data: &'a TrainingData<Intervention>,
    /// The interventional perceptron, for methods that need it.
    pub mlp: Option<&'a Probe<Intervention>>,
    /// The value of the other property for each training example, where defined; empty if unknown for all.
    pub other: &'a [Option<usize>],
    /// Content of the user's file, for externally made interventions.
    pub given: Option<&'a Content>,
    /// Seed for the method's random draws.
    pub seed: u64,
}

impl<'a> FitData<'a> {
    /// Only examples: no perceptron, nothing known about the other property, seed 0.
    pub fn new(data: &'a TrainingData<Intervention>) -> Self {
        Self { data, mlp: None, other: &[], given: None, seed: 0 }
    }
}

/// Facts about the examples whose embeddings are to be changed, for methods that replace them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The value of the other property for each example, where defined; empty if unknown for all.
    pub other: &'a [Option<usize>],
    /// The row of each example among all stimuli; empty if unknown.
    pub rows: &'a [usize],
    /// The embedding of each example's true counterfactual, n x D.
    pub twins: Option<&'a Matrix>,
}

/// Errors of interventions.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InterventionError {
    /// Cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// No perceptron was given.
    #[error("{method} attacks the interventional perceptron, but none was trained")]
    NoProbe { method: &'static str },
    /// A property with more values than the method can handle.
    #[error("{method} is defined for properties with two values, this one has {classes}")]
    NotBinary {
        method: &'static str,
        /// Number of the property's values.
        classes: usize,
    },
    /// A parameter value out of range.
    #[error("{parameter} = {value} is outside {min} to {max}")]
    Value {
        /// Name of the parameter.
        parameter: &'static str,
        value: f64,
        /// Least value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// Embeddings of a different size from those fitted on, or targets that do not match them.
    #[error("{rows} embeddings of size {found} with {targets} targets do not fit a method fitted on size {wanted}")]
    Shape {
        rows: usize,
        /// Their size.
        found: usize,
        targets: usize,
        /// Size of the embeddings fitted on.
        wanted: usize,
    },
    /// A target that is not a class.
    #[error("target {target} of row {row} is outside 0..{classes}")]
    Target {
        row: usize,
        target: usize,
        /// Number of classes.
        classes: usize,
    },
    /// No training example that could replace another.
    #[error(
        "no training example has the wanted value {target} and the same value of the other property; set same_other to 0"
    )]
    NoDonor {
        /// The wanted value.
        target: usize,
    },
    /// Examples whose true counterfactual is not known.
    #[error("the true counterfactual of these examples is not known")]
    NoTwins,
    /// A user's file that does not fit.
    #[error("your file of interventions cannot be used: {0}")]
    Given(String),
    /// Directions with NaN or infinity.
    #[error(transparent)]
    Svd(#[from] SvdError),
    /// A cached fit that cannot be read.
    #[error(transparent)]
    Bytes(#[from] BytesError),
}

/// An intervention method. The picker, the help, the command line and the sweep read everything about it from here.
pub trait Method: Send + Sync {
    /// The name in specs and findings.
    fn id(&self) -> &'static str;
    /// The name on screens.
    fn title(&self) -> &'static str;
    /// One line: what it does, and its paper.
    fn doc(&self) -> &'static str;
    /// Counterfactual or nullifying.
    fn goal(&self) -> Goal;
    /// Required parts of [`FitData`].
    fn needs(&self) -> Needs;
    /// The swept parameter.
    fn parameter(&self) -> &'static Parameter;
    /// Further options.
    fn settings(&self) -> &'static [Setting];
    /// True for a control rather than a method under study.
    fn is_control(&self) -> bool {
        false
    }
    /// Learns from the intervention part of the data everything that does not depend on the swept value.
    ///
    /// # Errors
    /// [`InterventionError`] if the data lack what [`Self::needs`] requires, or if cancelled.
    fn fit(
        &self,
        data: &FitData<'_>,
        options: &Options,
        pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Fitted>, InterventionError>;
    /// Reads the output of [`Fitted::to_bytes`]. `options` must be those of the fit.
    fn load(&self, bytes: &[u8], options: &Options) -> Result<Box<dyn Fitted>, InterventionError>;
    /// A name shared by methods whose fits are the same computation (AlterRep uses INLP's classifiers), so that a cache
    /// keeps one fit for both. Methods of one family can read each other's bytes.
    fn family(&self) -> &'static str {
        self.id()
    }
    /// For a fit whose time does not depend on the number of examples: the options of a short fit, and how many times
    /// as long one with `options` is expected to take. Forecasts measure the short one.
    fn short(&self, _options: &Options) -> Option<(Options, f64)> {
        None
    }
    /// The options that change the fit, and so are part of its cache key. Others only affect its application.
    fn fit_options(&self) -> &'static [&'static str];
}

/// States found for erased features of a kernel, on examples not used in training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Preimages {
    /// Share of the variance of the erased features that the states reproduce; negative if their mean would be closer.
    pub reproduced: f64,
    /// Accuracy of a fresh linear classifier on the features of unchanged states.
    pub before: f64,
    /// The same on the erased features.
    pub erased: f64,
    /// The same on the features of the states found.
    pub found: f64,
}

/// A fitted method.
pub trait Fitted: Send + Sync {
    /// Prepares the method for the rows of `h` (n x D), with the wanted value of the property for each row (used only
    /// by counterfactual methods, but always one per row) and facts about the examples, which most methods ignore. Work
    /// shared by the swept values is done here.
    ///
    /// # Errors
    /// [`InterventionError`] for shapes and targets that do not fit, if something that the method needs is unknown, or
    /// if cancelled.
    fn on_known<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
        pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Prepared + 'a>, InterventionError>;
    /// The same with nothing known about the examples.
    fn on<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Prepared + 'a>, InterventionError> {
        self.on_known(h, targets, &Known::default(), pulse)
    }
    /// For a method that searches for the states behind erased features: how well it finds them.
    fn preimages(&self) -> Option<Preimages> {
        None
    }
    /// Serialised for a cache.
    fn to_bytes(&self) -> Vec<u8>;
}

/// A fitted method prepared for some embeddings.
pub trait Prepared: Send {
    /// The changed embeddings (n x D) at one value of the parameter; values may come in any order. Embeddings are never
    /// clamped to a range: they are not images.
    ///
    /// # Errors
    /// [`InterventionError`] for a value out of range, or if cancelled.
    fn at(&mut self, value: f64, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError>;
}

/// Checks a value against a parameter.
pub(crate) fn check_value(parameter: &'static Parameter, value: f64) -> Result<f64, InterventionError> {
    if parameter.allows(value) {
        Ok(value)
    } else {
        Err(InterventionError::Value { parameter: parameter.name, value, min: parameter.min, max: parameter.max })
    }
}

/// Checks embeddings and targets against what a method was fitted on.
pub(crate) fn check_rows(
    h: &Matrix,
    targets: &[usize],
    dimension: usize,
    classes: usize,
) -> Result<(), InterventionError> {
    if h.cols() != dimension || h.rows() != targets.len() {
        let (rows, found) = (h.rows(), h.cols());
        return Err(InterventionError::Shape { rows, found, targets: targets.len(), wanted: dimension });
    }
    match targets.iter().position(|t| *t >= classes) {
        Some(row) => Err(InterventionError::Target { row, target: targets[row], classes }),
        None => Ok(()),
    }
}

/// Refuses properties with more than two values.
pub(crate) fn check_binary(method: &'static str, classes: usize) -> Result<(), InterventionError> {
    if classes == 2 { Ok(()) } else { Err(InterventionError::NotBinary { method, classes }) }
}

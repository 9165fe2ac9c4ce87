//! Intervention methods: fitted once, applied to embeddings, swept over their parameter.

use super::options::{Options, Setting};
use super::parameter::Parameter;
use base::{Cancelled, Pulse};
use probe::bytes::BytesError;
use probe::given::Content;
use probe::subspace::SvdError;
use probe::{Intervention, Matrix, Probe, TrainingData};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Sets a different value; completeness is defined by equation 1 of Canby et al.
    Counterfactual,
    /// Removes the value; completeness is defined by equation 2.
    Nullifying,
}

/// Needs of a method in addition to embeddings and labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The perceptron trained on the intervention part.
    pub mlp: bool,
    /// A property with exactly two values.
    pub binary: bool,
    /// Random numbers: fits with different seeds differ. A method that needs no random numbers and no perceptron has one fit for all
    /// replicates.
    pub random: bool,
    /// The state of each example's true counterfactual; see [`Known::twins`].
    pub twins: bool,
    /// The user's file; see [`FitData::given`].
    pub file: bool,
}

impl Needs {
    /// Needs only embeddings and labels.
    pub(crate) const NONE: Self = Self { mlp: false, binary: false, random: false, twins: false, file: false };
}

/// Data for fitting methods. The types exclude oracle and test data.
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
    /// Data with examples only: no perceptron, no values of the other property, seed 0.
    pub fn new(data: &'a TrainingData<Intervention>) -> Self {
        Self { data, mlp: None, other: &[], given: None, seed: 0 }
    }

    /// The perceptron that `method` attacks.
    pub(crate) fn perceptron_for(&self, method: &'static str) -> Result<&'a Probe<Intervention>, InterventionError> {
        self.mlp.ok_or(InterventionError::NoProbe { method })
    }
}

/// Known properties of the examples to edit, for methods that replace their embeddings.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The value of the other property for each example, where defined; empty if unknown for all.
    pub other: &'a [Option<usize>],
    /// The row of each example among all stimuli; empty if unknown.
    pub rows: &'a [usize],
    /// The embedding of each example's true counterfactual, n x D.
    pub twins: Option<&'a Matrix>,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InterventionError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// No perceptron was given.
    #[error("{method} attacks the interventional perceptron, but none was trained")]
    NoProbe { method: &'static str },
    /// A property with more values than the method can handle.
    #[error("{method} is defined for properties with two values, but this one has {classes}")]
    NotBinary {
        method: &'static str,
        /// Number of the property's values.
        classes: usize,
    },
    /// A parameter value out of range.
    #[error("{parameter} = {value} is out of range: must be from {min} to {max}")]
    Value {
        parameter: &'static str,
        value: f64,
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// The embeddings differ in size from those used for fitting, or there are more or fewer targets than embeddings.
    #[error(
        "{rows} embeddings of size {found} with {targets} targets do not match the method, which was fitted to size {wanted}"
    )]
    Shape {
        rows: usize,
        /// Size of the given embeddings.
        found: usize,
        targets: usize,
        /// Size of the embeddings used for fitting.
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
    /// No training example has the intended value and the same value of the other property.
    #[error(
        "no training example has the value {target} and the same value of the other property; set \"same other value\" (`same_other`) to 0"
    )]
    NoDonor {
        /// The intended value.
        target: usize,
    },
    /// Examples without a known true counterfactual.
    #[error("the true counterfactuals of these examples are not known")]
    NoTwins,
    /// A user's file that cannot be used.
    #[error("your file of interventions cannot be used: {0}")]
    Given(String),
    /// Directions with NaN or infinity.
    #[error(transparent)]
    Svd(#[from] SvdError),
    /// A cached fit that cannot be read.
    #[error(transparent)]
    Bytes(#[from] BytesError),
}

/// Result of fitting a method, or of reading a fit.
pub(crate) type Learning = Result<Box<dyn Learnt>, InterventionError>;

/// Returns the options of a short fit, and how many times longer a fit with the given options should take.
pub(crate) type Short = fn(&Options) -> (Options, f64);

/// An intervention method, as used by the picker, the help, the command line and the sweep.
pub struct Method {
    /// The name in specs and findings.
    pub id: &'static str,
    /// The name on screens.
    pub title: &'static str,
    /// One line: description of the method, with its paper.
    pub doc: &'static str,
    pub goal: Goal,
    /// Required parts of [`FitData`].
    pub needs: Needs,
    pub parameter: &'static Parameter,
    /// Further options.
    pub settings: &'static [Setting],
    /// Options that affect only the application of a fit. All others change the fit and are part of its cache key.
    pub applied: &'static [&'static str],
    /// True for a control rather than a method under study.
    pub is_control: bool,
    /// A name shared by methods with the same fit (AlterRep uses INLP's classifiers), so that the cache stores that fit only once. Methods
    /// of one family can read each other's cached fits.
    pub family: &'static str,
    /// Set for a fit whose time does not depend on the number of examples; forecasts then measure a short fit.
    pub(crate) short: Option<Short>,
    pub(crate) learn: fn(&FitData<'_>, &Options, &mut dyn Pulse) -> Learning,
    /// Reads the output of [`Learnt::to_bytes`].
    pub(crate) read: fn(&[u8], &Options) -> Learning,
}

impl Method {
    /// Learns everything that does not depend on the swept value, from the intervention part of the data.
    ///
    /// # Errors
    /// [`InterventionError`] if the data lack what [`Self::needs`] requires, or if cancelled.
    pub fn fit(
        &self,
        data: &FitData<'_>,
        options: &Options,
        pulse: &mut dyn Pulse,
    ) -> Result<Fitted, InterventionError> {
        let classes = data.data.classes();
        if self.needs.binary && classes != 2 {
            return Err(InterventionError::NotBinary { method: self.id, classes });
        }
        Ok(Fitted { parameter: self.parameter, learnt: (self.learn)(data, options, pulse)? })
    }

    /// Reads the output of [`Fitted::to_bytes`]. `options` must be those of the fit.
    pub fn load(&self, bytes: &[u8], options: &Options) -> Result<Fitted, InterventionError> {
        Ok(Fitted { parameter: self.parameter, learnt: (self.read)(bytes, options)? })
    }

    pub(crate) fn fit_options(&self) -> impl Iterator<Item = &'static str> {
        self.settings.iter().map(|s| s.name).filter(|name| !self.applied.contains(name))
    }
}

/// Quality of the states found for a kernel's erased features, on examples not used in training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Preimages {
    /// Share of the erased features' variance that the states reproduce; negative if the mean of the features would be closer to them.
    pub reproduced: f64,
    /// Accuracy of a fresh linear classifier on the features of unedited states.
    pub before: f64,
    /// Accuracy of the classifier on the erased features.
    pub erased: f64,
    /// Accuracy of the classifier on the features of the states that were found.
    pub found: f64,
}

/// Returns the edited embeddings (n x D) at a value of the parameter. Embeddings are not images and are never clamped to a range.
pub(crate) type Change<'a> = Box<dyn FnMut(f64, &mut dyn Pulse) -> Result<Matrix, InterventionError> + Send + 'a>;

/// The fitted part of a method, ready to edit states.
pub(crate) trait Learnt: Send + Sync {
    /// Size of the embeddings and number of values of the property.
    fn shape(&self) -> (usize, usize);
    /// See [`Fitted::on_known`], which has checked `h` and `targets`.
    fn prepare<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
    ) -> Result<Change<'a>, InterventionError>;
    /// Quality of the states found for erased features, for methods that search for them.
    fn preimages(&self) -> Option<Preimages> {
        None
    }
    fn to_bytes(&self) -> Vec<u8>;
}

pub struct Fitted {
    parameter: &'static Parameter,
    learnt: Box<dyn Learnt>,
}

impl Fitted {
    /// Prepares the method for the rows of `h` (n x D). `targets` contains the intended value for each row, used only by counterfactual
    /// methods; most methods ignore `known`. Does the work that all swept values share.
    ///
    /// # Errors
    /// [`InterventionError`] for shapes and targets that do not fit, if something that the method needs is unknown, or if cancelled.
    pub fn on_known<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
        pulse: &mut dyn Pulse,
    ) -> Result<Prepared<'a>, InterventionError> {
        let (dimension, classes) = self.learnt.shape();
        check_rows(h, targets, dimension, classes)?;
        pulse.beat(0, 1)?;
        Ok(Prepared { parameter: self.parameter, change: self.learnt.prepare(h, targets, known)? })
    }

    /// [`Self::on_known`] without known properties of the examples.
    pub fn on<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        pulse: &mut dyn Pulse,
    ) -> Result<Prepared<'a>, InterventionError> {
        self.on_known(h, targets, &Known::default(), pulse)
    }

    /// See [`Learnt::preimages`].
    pub(crate) fn preimages(&self) -> Option<Preimages> {
        self.learnt.preimages()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.learnt.to_bytes()
    }
}

/// A fitted method prepared for a set of embeddings.
pub struct Prepared<'a> {
    parameter: &'static Parameter,
    change: Change<'a>,
}

impl Prepared<'_> {
    /// The edited embeddings (n x D) at one value of the parameter; values may come in any order.
    ///
    /// # Errors
    /// [`InterventionError`] for a value out of range, or if cancelled.
    pub fn at(&mut self, value: f64, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError> {
        let Parameter { name: parameter, min, max, .. } = *self.parameter;
        if !self.parameter.allows(value) {
            return Err(InterventionError::Value { parameter, value, min, max });
        }
        pulse.beat(0, 1)?;
        (self.change)(value, pulse)
    }
}

/// A change along `push` (n x D), in proportion to the parameter.
pub(crate) fn move_along<'a>(from: Cow<'a, Matrix>, push: Matrix) -> Change<'a> {
    Box::new(move |value, _| {
        let mut moved = from.clone().into_owned();
        moved.add_scaled(value as f32, &push);
        Ok(moved)
    })
}

/// The same states (n x D) at every value, for methods without a strength.
pub(crate) fn replace_by(states: Matrix) -> Change<'static> {
    Box::new(move |_, _| Ok(states.clone()))
}

/// Checks that embeddings and targets match the data to which a method was fitted.
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

//! Reasons why a run ended early, and their messages to the user.

use thiserror::Error;

use crate::stimuli::StimuliError;
use base::Cancelled;
use base::Problem;
use corpus::micro::frequencies::FrequencyError;
use corpus::own::OwnError;
use corpus::task::TaskError;
use model::ModelError;
use probe::ProbeError;
use probe::data::DataError;
use probe::split::SplitError;

#[derive(Debug, Error)]
pub enum Fault {
    /// The user stopped the run or started another one.
    #[error("cancelled")]
    Cancelled,
    #[error(transparent)]
    Failed(#[from] Problem),
}

impl From<Cancelled> for Fault {
    fn from(_: Cancelled) -> Self {
        Fault::Cancelled
    }
}

impl From<StimuliError> for Fault {
    fn from(e: StimuliError) -> Self {
        match e {
            StimuliError::Cancelled(_) => Fault::Cancelled,
            e => Fault::Failed(problem(&e, "sentences", "choose a different model or task")),
        }
    }
}

impl From<OwnError> for Fault {
    fn from(e: OwnError) -> Self {
        match e {
            OwnError::Cancelled(_) => Fault::Cancelled,
            e => Fault::Failed(problem(&e, "task.data", "`probity data list` lists the supported formats")),
        }
    }
}

impl From<ModelError> for Fault {
    fn from(e: ModelError) -> Self {
        match e {
            ModelError::Cancelled(_) => Fault::Cancelled,
            e => {
                let hint = "`probity models list` lists the available models";
                Fault::Failed(problem(&e, "model", hint))
            }
        }
    }
}

impl From<ProbeError> for Fault {
    fn from(e: ProbeError) -> Self {
        match e {
            ProbeError::Cancelled(_) => Fault::Cancelled,
            e => Fault::Failed(problem(&e, "probe", "use more examples or a different layer")),
        }
    }
}

/// Errors shown unchanged, with their location and a hint.
macro_rules! told {
    ($($error:ty: $place:literal, $hint:literal;)*) => {
        $(impl From<$error> for Fault {
            fn from(e: $error) -> Self {
                Fault::Failed(problem(&e, $place, $hint))
            }
        })*
    };
}

told! {
    TaskError: "task", "choose a different task, or set `task.examples`";
    FrequencyError: "task.phi", "omit phi to keep the natural correlation";
    SplitError: "split", "raise `task.examples`";
    DataError: "data", "raise `task.examples`";
}

pub fn problem(error: &dyn std::fmt::Display, place: &str, hint: &str) -> Problem {
    Problem::new(error.to_string(), place, hint)
}

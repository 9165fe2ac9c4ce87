//! Converts the lab's errors to reasons for a run to end.

use crate::bench::BenchError;
use crate::method::InterventionError;
use crate::options::OptionError;
use lab::fault::{Fault, problem};

impl From<InterventionError> for Fault {
    fn from(e: InterventionError) -> Self {
        match e {
            InterventionError::Cancelled(_) => Fault::Cancelled,
            e => Fault::Failed(problem(&e, "intervention", "change the method or its values in the settings")),
        }
    }
}

impl From<BenchError> for Fault {
    fn from(e: BenchError) -> Self {
        match e {
            BenchError::Stimuli(e) => e.into(),
            BenchError::Intervention(e) => e.into(),
        }
    }
}

impl From<OptionError> for Fault {
    fn from(e: OptionError) -> Self {
        Fault::Failed(problem(&e, "method options", "see the method's options in the help"))
    }
}

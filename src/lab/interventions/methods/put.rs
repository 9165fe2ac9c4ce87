//! Whole states that replace embeddings, for methods without a strength.

use crate::method::{InterventionError, Prepared, check_value};
use crate::parameter::WHOLE;
use base::Pulse;
use probe::Matrix;

/// The states (n x D), the same at every strength.
pub(super) struct Put(pub(super) Matrix);

impl Prepared for Put {
    fn at(&mut self, value: f64, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError> {
        check_value(&WHOLE, value)?;
        pulse.beat(0, 1)?;
        Ok(self.0.clone())
    }
}

//! The control that does nothing: completeness and selectivity of the unchanged embedding.

use crate::method::{
    FitData, Fitted, Goal, InterventionError, Known, Method, Needs, Prepared, check_rows, check_value,
};
use crate::options::{Options, Setting};
use crate::parameter::{NONE, Parameter};
use base::Pulse;
use probe::Matrix;
use probe::bytes::{Reader, Writer};

/// The control.
#[derive(Debug)]
pub(crate) struct Identity;

impl Method for Identity {
    fn id(&self) -> &'static str {
        "identity"
    }
    fn title(&self) -> &'static str {
        "identity (control)"
    }
    fn doc(&self) -> &'static str {
        "leaves the embedding unchanged, judged as a counterfactual method (INLP at rank 0 is the nullifying counterpart)"
    }
    fn goal(&self) -> Goal {
        Goal::Counterfactual
    }
    fn needs(&self) -> Needs {
        Needs::default()
    }
    fn parameter(&self) -> &'static Parameter {
        &NONE
    }
    fn settings(&self) -> &'static [Setting] {
        &[]
    }
    fn is_control(&self) -> bool {
        true
    }
    fn fit_options(&self) -> &'static [&'static str] {
        &[]
    }
    fn fit(
        &self,
        data: &FitData<'_>,
        _options: &Options,
        _pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Fitted>, InterventionError> {
        let train = data.data.train();
        Ok(Box::new(Nothing { dimension: train.x().cols(), classes: train.classes() }))
    }
    fn load(&self, bytes: &[u8], _options: &Options) -> Result<Box<dyn Fitted>, InterventionError> {
        let mut r = Reader::open(bytes, "identity")?;
        let nothing = Nothing { dimension: r.number()?, classes: r.number()? };
        r.finish()?;
        Ok(Box::new(nothing))
    }
}

struct Nothing {
    dimension: usize,
    classes: usize,
}

struct Rows<'a> {
    h: &'a Matrix,
}

impl Fitted for Nothing {
    fn on_known<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        _known: &Known<'a>,
        _pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Prepared + 'a>, InterventionError> {
        check_rows(h, targets, self.dimension, self.classes)?;
        Ok(Box::new(Rows { h }))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new("identity");
        w.number(self.dimension);
        w.number(self.classes);
        w.finish()
    }
}

impl Prepared for Rows<'_> {
    fn at(&mut self, value: f64, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError> {
        check_value(&NONE, value)?;
        pulse.beat(0, 1)?;
        Ok(self.h.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::testing::{identical, sample};
    use base::NoPulse;

    #[test]
    fn nothing_happens() {
        let s = sample(2);
        let options = Options::defaults(&Identity);
        let fitted = Identity.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
        let again = Identity.load(&fitted.to_bytes(), &options).unwrap();
        let targets = s.targets();
        let mut rows = again.on(&s.test, &targets, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(0.0, &mut NoPulse).unwrap(), &s.test));
        assert!(rows.at(1.0, &mut NoPulse).is_err());
    }
}

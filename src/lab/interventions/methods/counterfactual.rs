//! The true counterfactual: the state of the same sentence with the subject in the other number.
//!
//! The result of a perfect intervention, as far as grammar can define it: nothing else in the sentence changes, so
//! everything else that the state encodes may stay. It is the ceiling for counterfactual methods, interchange in
//! particular. Every example needs such a twin; generated sentences have one. The method has no strength.

use crate::method::{
    FitData, Fitted, Goal, InterventionError, Known, Method, Needs, Prepared, check_binary, check_rows,
};
use crate::methods::put::Put;
use crate::options::{Options, Setting};
use crate::parameter::{Parameter, WHOLE};
use base::Pulse;
use probe::Matrix;
use probe::bytes::{Reader, Writer};

/// The method.
#[derive(Debug)]
pub struct Counterfactual;

impl Method for Counterfactual {
    fn id(&self) -> &'static str {
        "counterfactual"
    }
    fn title(&self) -> &'static str {
        "true counterfactual"
    }
    fn doc(&self) -> &'static str {
        "replaces the state by that of the same sentence with its subject in the other number: the ceiling for other methods"
    }
    fn goal(&self) -> Goal {
        Goal::Counterfactual
    }
    fn needs(&self) -> Needs {
        Needs { binary: true, twins: true, ..Needs::default() }
    }
    fn parameter(&self) -> &'static Parameter {
        &WHOLE
    }
    fn settings(&self) -> &'static [Setting] {
        &[]
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
        check_binary(self.id(), data.data.classes())?;
        Ok(Box::new(Twins { dimension: data.data.train().x().cols() }))
    }
    fn load(&self, bytes: &[u8], _options: &Options) -> Result<Box<dyn Fitted>, InterventionError> {
        let mut reader = Reader::open(bytes, "counterfactual")?;
        let twins = Twins { dimension: reader.number()? };
        reader.finish()?;
        Ok(Box::new(twins))
    }
}

/// Nothing to learn: the states come with the examples.
struct Twins {
    dimension: usize,
}

impl Fitted for Twins {
    fn on_known<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
        _pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Prepared + 'a>, InterventionError> {
        check_rows(h, targets, self.dimension, 2)?;
        let twins = known.twins.ok_or(InterventionError::NoTwins)?;
        check_rows(twins, targets, self.dimension, 2)?;
        Ok(Box::new(Put(twins.clone())))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("counterfactual");
        writer.number(self.dimension);
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::testing::{identical, sample};
    use base::NoPulse;

    #[test]
    fn the_twins_states_are_put_in_and_without_them_it_is_refused() {
        let s = sample(2);
        let options = Options::defaults(&Counterfactual);
        let fitted = Counterfactual.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
        let twins = Matrix::from_fn(s.test.rows(), s.test.cols(), |i, j| (i + j) as f32);
        let again = Counterfactual.load(&fitted.to_bytes(), &options).unwrap();
        let known = Known { twins: Some(&twins), ..Known::default() };
        let mut rows = again.on_known(&s.test, &s.targets(), &known, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(1.0, &mut NoPulse).unwrap(), &twins));
        assert!(rows.at(0.5, &mut NoPulse).is_err());
        let refused = fitted.on(&s.test, &s.targets(), &mut NoPulse).err();
        assert_eq!(refused, Some(InterventionError::NoTwins));
        let short = Known { twins: Some(&s.test.select_rows(&[0])), ..Known::default() };
        assert!(fitted.on_known(&s.test, &s.targets(), &short, &mut NoPulse).is_err());
        let three = Counterfactual.fit(&sample(3).fit_data(), &options, &mut NoPulse);
        assert!(matches!(three.err(), Some(InterventionError::NotBinary { classes: 3, .. })));
    }
}

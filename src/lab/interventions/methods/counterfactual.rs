//! The true counterfactual: the state of the same sentence with the subject in the opposite number.
//!
//! It is the result of a perfect intervention, as far as grammar defines one: nothing else in the sentence changes, so everything else that
//! the state encodes may remain. It is the ceiling for counterfactual methods, interchange in particular. Every example needs such a
//! counterfactual, which generated sentences have. The method has no strength.

use crate::method::{Change, Goal, InterventionError, Known, Learnt, Method, Needs, check_rows, replace_by};
use crate::parameter::WHOLE;
use probe::Matrix;
use probe::bytes::{Reader, Writer};

pub(crate) const COUNTERFACTUAL: Method = Method {
    id: "counterfactual",
    title: "true counterfactual",
    doc: "replaces the state with the same sentence's state after its subject changes number: the ceiling for \
        other methods",
    goal: Goal::Counterfactual,
    needs: Needs { binary: true, twins: true, ..Needs::NONE },
    parameter: &WHOLE,
    settings: &[],
    applied: &[],
    is_control: false,
    family: "counterfactual",
    short: None,
    learn: |data, _, _| Ok(Box::new(Counterfactuals { dimension: data.data.train().x().cols() })),
    read: |bytes, _| {
        let mut reader = Reader::open(bytes, "counterfactual")?;
        let twins = Counterfactuals { dimension: reader.number()? };
        reader.finish()?;
        Ok(Box::new(twins))
    },
};

/// The states come with the examples, so there is nothing to learn.
struct Counterfactuals {
    dimension: usize,
}

impl Learnt for Counterfactuals {
    fn shape(&self) -> (usize, usize) {
        (self.dimension, 2)
    }
    fn prepare<'a>(
        &'a self,
        _: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
    ) -> Result<Change<'a>, InterventionError> {
        let twins = known.twins.ok_or(InterventionError::NoTwins)?;
        check_rows(twins, targets, self.dimension, 2)?;
        Ok(replace_by(twins.clone()))
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
    use crate::options::Options;
    use base::NoPulse;

    #[test]
    fn counterfactual_states_are_used_or_required() {
        let s = sample(2);
        let options = Options::defaults(&COUNTERFACTUAL);
        let fitted = COUNTERFACTUAL.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
        let twins = Matrix::from_fn(s.test.rows(), s.test.cols(), |i, j| (i + j) as f32);
        let again = COUNTERFACTUAL.load(&fitted.to_bytes(), &options).unwrap();
        let known = Known { twins: Some(&twins), ..Known::default() };
        let mut rows = again.on_known(&s.test, &s.targets(), &known, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(1.0, &mut NoPulse).unwrap(), &twins));
        assert!(rows.at(0.5, &mut NoPulse).is_err());
        let refused = fitted.on(&s.test, &s.targets(), &mut NoPulse).err();
        assert_eq!(refused, Some(InterventionError::NoTwins));
        let short = Known { twins: Some(&s.test.select_rows(&[0])), ..Known::default() };
        assert!(fitted.on_known(&s.test, &s.targets(), &short, &mut NoPulse).is_err());
        let three = COUNTERFACTUAL.fit(&sample(3).fit_data(), &options, &mut NoPulse);
        assert!(matches!(three.err(), Some(InterventionError::NotBinary { classes: 3, .. })));
    }
}

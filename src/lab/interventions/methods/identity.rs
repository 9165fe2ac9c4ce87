//! The control that does nothing: completeness and selectivity of the unedited embedding.

use crate::method::{Change, Goal, InterventionError, Known, Learnt, Method, Needs};
use crate::parameter::NONE;
use probe::Matrix;
use probe::bytes::{Reader, Writer};

pub(crate) const IDENTITY: Method = Method {
    id: "identity",
    title: "identity (control)",
    doc: "leaves the embedding unchanged; it is judged as a counterfactual method (INLP at rank 0 is the nullifying counterpart)",
    goal: Goal::Counterfactual,
    needs: Needs::NONE,
    parameter: &NONE,
    settings: &[],
    applied: &[],
    is_control: true,
    family: "identity",
    short: None,
    learn: |data, _, _| {
        let train = data.data.train();
        Ok(Box::new(Nothing { dimension: train.x().cols(), classes: train.classes() }))
    },
    read: |bytes, _| {
        let mut r = Reader::open(bytes, "identity")?;
        let nothing = Nothing { dimension: r.number()?, classes: r.number()? };
        r.finish()?;
        Ok(Box::new(nothing))
    },
};

struct Nothing {
    dimension: usize,
    classes: usize,
}

impl Learnt for Nothing {
    fn shape(&self) -> (usize, usize) {
        (self.dimension, self.classes)
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, _: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        Ok(Box::new(|_, _| Ok(h.clone())))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new("identity");
        w.number(self.dimension);
        w.number(self.classes);
        w.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::testing::{identical, sample};
    use crate::options::Options;
    use base::NoPulse;

    #[test]
    fn embeddings_stay_unchanged() {
        let s = sample(2);
        let options = Options::defaults(&IDENTITY);
        let fitted = IDENTITY.fit(&s.fit_data(), &options, &mut NoPulse).unwrap();
        let again = IDENTITY.load(&fitted.to_bytes(), &options).unwrap();
        let targets = s.targets();
        let mut rows = again.on(&s.test, &targets, &mut NoPulse).unwrap();
        assert!(identical(&rows.at(0.0, &mut NoPulse).unwrap(), &s.test));
        assert!(rows.at(1.0, &mut NoPulse).is_err());
    }
}

//! The user's own interventions, judged like the others: directions or edited states from other programs.
//! [`probe::given`] describes the file.

use crate::method::{
    FitData, Fitted, Goal, InterventionError, Known, Method, Needs, Prepared, check_rows, check_value,
};
use crate::methods::put::Put;
use crate::options::{Options, Setting};
use crate::parameter::{MOST_ITERATIONS, OWN_RANK, Parameter, WHOLE};
use base::Pulse;
use probe::bytes::{Reader, Writer, malformed};
use probe::given::Content;
use probe::{Dense, Matrix, Subspace};

/// Own directions, the first r of which are projected out.
#[derive(Debug)]
pub(crate) struct OwnDirections;

/// Own edited states: toward another value, or with the property removed.
#[derive(Debug)]
pub(crate) struct OwnStates(pub Goal);

impl Method for OwnDirections {
    fn id(&self) -> &'static str {
        "directions"
    }
    fn title(&self) -> &'static str {
        "own directions"
    }
    fn doc(&self) -> &'static str {
        "projects out the first r directions of the `file` given under [[method]]"
    }
    fn goal(&self) -> Goal {
        Goal::Nullifying
    }
    fn needs(&self) -> Needs {
        Needs { file: true, ..Needs::default() }
    }
    fn parameter(&self) -> &'static Parameter {
        &OWN_RANK
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
        pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Fitted>, InterventionError> {
        pulse.beat(0, 1)?;
        let (classes, dimension) = (data.data.classes(), data.data.train().x().cols());
        let Some(Content::Directions(directions)) = data.given else {
            return Err(InterventionError::Given("the file has no `directions`".into()));
        };
        if directions.cols() != dimension {
            let what = format!(
                "its `directions` have size {}, but the hidden states have size {dimension}",
                directions.cols()
            );
            return Err(InterventionError::Given(what));
        }
        Ok(Box::new(Directions { classes, directions: directions.clone() }))
    }
    fn load(&self, bytes: &[u8], _options: &Options) -> Result<Box<dyn Fitted>, InterventionError> {
        let mut reader = Reader::open(bytes, "own directions")?;
        let (classes, directions): (usize, Dense<f64>) = (reader.number()?, reader.matrix()?);
        reader.finish()?;
        if !directions.is_finite() {
            return Err(malformed("directions with NaN or infinity").into());
        }
        Ok(Box::new(Directions { classes, directions }))
    }
}

struct Directions {
    classes: usize,
    directions: Dense<f64>,
}

struct Projected<'a> {
    own: &'a Directions,
    h: &'a Matrix,
}

impl Fitted for Directions {
    fn on_known<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        _known: &Known<'a>,
        _pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Prepared + 'a>, InterventionError> {
        check_rows(h, targets, self.directions.cols(), self.classes)?;
        Ok(Box::new(Projected { own: self, h }))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("own directions");
        writer.number(self.classes);
        writer.matrix(&self.directions);
        writer.finish()
    }
}

impl Prepared for Projected<'_> {
    fn at(&mut self, value: f64, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError> {
        let rank = (check_value(&OWN_RANK, value)? as usize).min(self.own.directions.rows());
        pulse.beat(0, 1)?;
        let first = self.own.directions.select_rows(&(0..rank).collect::<Vec<_>>());
        Ok(Subspace::row_space(&first)?.remove_from(self.h))
    }
}

impl Method for OwnStates {
    fn id(&self) -> &'static str {
        if self.0 == Goal::Counterfactual { "states" } else { "erased_states" }
    }
    fn title(&self) -> &'static str {
        if self.0 == Goal::Counterfactual { "own states" } else { "own erased states" }
    }
    fn doc(&self) -> &'static str {
        if self.0 == Goal::Counterfactual {
            "replaces states by externally edited ones, toward another value, from the given `file`"
        } else {
            "replaces states by ones from which the property was removed externally, from the given `file`"
        }
    }
    fn goal(&self) -> Goal {
        self.0
    }
    fn needs(&self) -> Needs {
        Needs { file: true, ..Needs::default() }
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
        pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Fitted>, InterventionError> {
        pulse.beat(0, 1)?;
        let (classes, dimension) = (data.data.classes(), data.data.train().x().cols());
        let refuse = |what: String| Err(InterventionError::Given(what));
        let Some(Content::States(states)) = data.given else {
            return refuse("the file has no `states`".into());
        };
        let (one, counterfactual) = (states.len() == 1, self.0 == Goal::Counterfactual);
        if !(one && (classes == 2 || !counterfactual) || states.len() == classes && counterfactual) {
            let wanted = if counterfactual { format!("{classes} x n x D") } else { "n x D".into() };
            return refuse(format!("its `states` must be {wanted}: the property has {classes} values"));
        }
        if states.iter().any(|s| s.cols() != dimension) {
            return refuse(format!(
                "its `states` have size {}, but the hidden states have size {dimension}",
                states[0].cols()
            ));
        }
        Ok(Box::new(Edited { classes, states: states.clone() }))
    }
    fn load(&self, bytes: &[u8], _options: &Options) -> Result<Box<dyn Fitted>, InterventionError> {
        let mut reader = Reader::open(bytes, "own states")?;
        let (classes, count) = (reader.number()?, reader.number()?);
        if count == 0 || count > classes {
            return Err(malformed("impossible header").into());
        }
        let states = (0..count).map(|_| reader.matrix()).collect::<Result<Vec<Matrix>, _>>()?;
        reader.finish()?;
        if states.iter().any(|s| s.cols() != states[0].cols() || s.rows() != states[0].rows()) {
            return Err(malformed("states of different sizes").into());
        }
        Ok(Box::new(Edited { classes, states }))
    }
}

struct Edited {
    classes: usize,
    states: Vec<Matrix>,
}

impl Fitted for Edited {
    fn on_known<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
        pulse: &mut dyn Pulse,
    ) -> Result<Box<dyn Prepared + 'a>, InterventionError> {
        check_rows(h, targets, self.states[0].cols(), self.classes)?;
        pulse.beat(0, 1)?;
        let mut moved = h.clone();
        for (i, target) in targets.iter().enumerate() {
            let row = known.rows.get(i).filter(|r| **r < self.states[0].rows());
            let row = row.ok_or_else(|| {
                let what = format!("its `states` have {} rows, too few for these examples", self.states[0].rows());
                InterventionError::Given(what)
            })?;
            let states = self.states.get(*target).filter(|_| self.states.len() > 1).unwrap_or(&self.states[0]);
            moved.row_mut(i).copy_from_slice(states.row(*row));
        }
        Ok(Box::new(Put(moved)))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("own states");
        writer.number(self.classes);
        writer.number(self.states.len());
        self.states.iter().for_each(|s| writer.matrix(s));
        writer.finish()
    }
}

/// Ranks beyond the file's number of directions remove all of them.
const _: () = assert!(OWN_RANK.max as usize == MOST_ITERATIONS);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::leace::Eraser;
    use crate::methods::testing::{identical, sample};
    use base::NoPulse;

    fn close(a: &Matrix, b: &Matrix) -> bool {
        a.data().iter().zip(b.data()).all(|(x, y)| (x - y).abs() < 1e-5)
    }

    #[test]
    fn own_directions_are_projected_out_in_their_order() {
        let s = sample(2);
        let given =
            Content::Directions(Dense::from_fn(3, 12, |i, j| [0.0, 2.0][usize::from(i == j || (i == 2 && j < 2))]));
        let data = FitData { given: Some(&given), ..s.fit_data() };
        let options = Options::defaults(&OwnDirections);
        let fitted = OwnDirections.fit(&data, &options, &mut NoPulse).unwrap();
        let again = OwnDirections.load(&fitted.to_bytes(), &options).unwrap();
        let at = |f: &dyn Fitted, rank: f64| {
            f.on(&s.test, &s.targets(), &mut NoPulse).unwrap().at(rank, &mut NoPulse).unwrap()
        };
        assert!(identical(&at(&*fitted, 0.0), &s.test));
        let two = Matrix::from_fn(s.test.rows(), 12, |i, j| if j < 2 { 0.0 } else { s.test.row(i)[j] });
        assert!(close(&at(&*fitted, 2.0), &two) && identical(&at(&*again, 2.0), &at(&*fitted, 2.0)));
        // Lengths and angles do not matter, and excess ranks remove everything.
        assert!(close(
            &at(&*fitted, 40.0),
            &Matrix::from_fn(s.test.rows(), 12, |i, j| if j < 3 { 0.0 } else { s.test.row(i)[j] })
        ));
        assert!(OwnDirections.fit(&s.fit_data(), &options, &mut NoPulse).is_err());
        let narrow = Content::Directions(Dense::from_fn(1, 5, |_, _| 1.0));
        let refused = OwnDirections.fit(&FitData { given: Some(&narrow), ..s.fit_data() }, &options, &mut NoPulse);
        assert!(refused.err().unwrap().to_string().contains("size 5"));
    }

    /// States edited externally by LEACE equal the states from LEACE here.
    #[test]
    fn own_states_are_put_in_by_row() {
        let s = sample(3);
        let eraser = Eraser::fit(s.data.train(), true).unwrap();
        let p = eraser.kept();
        let erased: Dense<f64> = s.test.cast::<f64>().dot(&p);
        let given = Content::States(vec![erased.cast()]);
        let method = OwnStates(Goal::Nullifying);
        let options = Options::defaults(&method);
        let data = FitData { given: Some(&given), ..s.fit_data() };
        let fitted = method.fit(&data, &options, &mut NoPulse).unwrap();
        let some = [4, 2, 9];
        let (h, targets) = (s.test.select_rows(&some), [0, 1, 2]);
        let known = Known { rows: &some, ..Known::default() };
        let got = fitted.on_known(&h, &targets, &known, &mut NoPulse).unwrap().at(1.0, &mut NoPulse).unwrap();
        assert!(identical(&got, &erased.cast::<f32>().select_rows(&some)));
        let beyond = Known { rows: &[4, 2, 100_000], ..Known::default() };
        assert!(fitted.on_known(&h, &targets, &beyond, &mut NoPulse).is_err());
        // A property with three values needs a state for each.
        let method = OwnStates(Goal::Counterfactual);
        assert!(method.fit(&data, &options, &mut NoPulse).err().unwrap().to_string().contains("3 x n x D"));
        let by_value = (0..3).map(|k| Matrix::from_fn(s.test.rows(), 12, |i, _| (10 * i + k) as f32)).collect();
        let given = Content::States(by_value);
        let fitted = method.fit(&FitData { given: Some(&given), ..s.fit_data() }, &options, &mut NoPulse).unwrap();
        let again = method.load(&fitted.to_bytes(), &options).unwrap();
        let got = again.on_known(&h, &targets, &known, &mut NoPulse).unwrap().at(1.0, &mut NoPulse).unwrap();
        assert_eq!([got.row(0)[0], got.row(1)[0], got.row(2)[0]], [40.0, 21.0, 92.0]);
    }
}

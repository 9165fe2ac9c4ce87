//! The user's own interventions: directions or edited states from other programs, judged like the others. [`probe::given`] describes the
//! file.

use crate::method::{Change, FitData, Goal, InterventionError, Known, Learning, Learnt, Method, Needs, replace_by};
use crate::parameter::{MOST_ITERATIONS, OWN_RANK, WHOLE};
use base::Pulse;
use probe::bytes::{Reader, Writer, malformed};
use probe::given::Content;
use probe::{Dense, Matrix, Subspace};

/// Projects out the first r directions of the file.
pub(crate) const OWN_DIRECTIONS: Method = Method {
    id: "directions",
    title: "own directions",
    doc: "projects out the first r directions of the given `file`",
    parameter: &OWN_RANK,
    family: "directions",
    learn: |data, _, pulse| {
        pulse.beat(0, 1)?;
        let (classes, dimension) = (data.data.classes(), data.data.train().x().cols());
        let Some(Content::Directions(directions)) = data.given else {
            return Err(InterventionError::Given("the file has no `directions`".into()));
        };
        check_size("directions", directions.cols(), dimension)?;
        Ok(Box::new(Directions { classes, directions: directions.clone() }))
    },
    read: |bytes, _| {
        let mut reader = Reader::open(bytes, "own directions")?;
        let (classes, directions): (usize, Dense<f64>) = (reader.number()?, reader.matrix()?);
        reader.finish()?;
        if !directions.is_finite() {
            return Err(malformed("the directions contain NaN or infinity").into());
        }
        Ok(Box::new(Directions { classes, directions }))
    },
    ..ERASED_STATES
};

/// Replaces states with the user's own, which have a different value of the property.
pub(crate) const STATES: Method = Method {
    id: "states",
    title: "own states",
    doc: "replaces states with states from `file`, edited by another program to have a different value",
    goal: Goal::Counterfactual,
    family: "states",
    learn: |data, _, pulse| Edited::learn(Goal::Counterfactual, data, pulse),
    ..ERASED_STATES
};

/// Replaces states with the user's own, which lack the property.
pub(crate) const ERASED_STATES: Method = Method {
    id: "erased_states",
    title: "own erased states",
    doc: "replaces states with states from `file`, edited by another program to remove the property",
    goal: Goal::Nullifying,
    needs: Needs { file: true, ..Needs::NONE },
    parameter: &WHOLE,
    settings: &[],
    applied: &[],
    is_control: false,
    family: "erased_states",
    short: None,
    learn: |data, _, pulse| Edited::learn(Goal::Nullifying, data, pulse),
    read: |bytes, _| {
        let mut reader = Reader::open(bytes, "own states")?;
        let (classes, count) = (reader.number()?, reader.number()?);
        if count == 0 || count > classes {
            return Err(malformed("invalid header").into());
        }
        let states = (0..count).map(|_| reader.matrix()).collect::<Result<Vec<Matrix>, _>>()?;
        reader.finish()?;
        if states.iter().any(|s| s.cols() != states[0].cols() || s.rows() != states[0].rows()) {
            return Err(malformed("the states have different sizes").into());
        }
        Ok(Box::new(Edited { classes, states }))
    },
};

fn check_size(part: &str, found: usize, wanted: usize) -> Result<(), InterventionError> {
    let what = || format!("its `{part}` have size {found}, but the hidden states have size {wanted}");
    if found == wanted { Ok(()) } else { Err(InterventionError::Given(what())) }
}

struct Directions {
    classes: usize,
    directions: Dense<f64>,
}

impl Learnt for Directions {
    fn shape(&self) -> (usize, usize) {
        (self.directions.cols(), self.classes)
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, _: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        Ok(Box::new(move |rank, _| {
            let rank = (rank as usize).min(self.directions.rows());
            let first = self.directions.select_rows(&(0..rank).collect::<Vec<_>>());
            Ok(Subspace::row_space(&first)?.remove_from(h))
        }))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("own directions");
        writer.number(self.classes);
        writer.matrix(&self.directions);
        writer.finish()
    }
}

struct Edited {
    classes: usize,
    states: Vec<Matrix>,
}

impl Edited {
    fn learn(goal: Goal, data: &FitData<'_>, pulse: &mut dyn Pulse) -> Learning {
        pulse.beat(0, 1)?;
        let (classes, dimension) = (data.data.classes(), data.data.train().x().cols());
        let refuse = |what: String| Err(InterventionError::Given(what));
        let Some(Content::States(states)) = data.given else {
            return refuse("the file has no `states`".into());
        };
        let (one, counterfactual) = (states.len() == 1, goal == Goal::Counterfactual);
        if !(one && (classes == 2 || !counterfactual) || states.len() == classes && counterfactual) {
            let wanted = if counterfactual { format!("{classes} x n x D") } else { "n x D".into() };
            return refuse(format!("its `states` must be {wanted}: the property has {classes} values"));
        }
        states.iter().try_for_each(|s| check_size("states", s.cols(), dimension))?;
        Ok(Box::new(Self { classes, states: states.clone() }))
    }
}

impl Learnt for Edited {
    fn shape(&self) -> (usize, usize) {
        (self.states[0].cols(), self.classes)
    }
    fn prepare<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
    ) -> Result<Change<'a>, InterventionError> {
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
        Ok(replace_by(moved))
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
    use crate::method::Fitted;
    use crate::methods::leace::Eraser;
    use crate::methods::testing::{identical, sample};
    use crate::options::Options;
    use base::NoPulse;

    fn close(a: &Matrix, b: &Matrix) -> bool {
        a.data().iter().zip(b.data()).all(|(x, y)| (x - y).abs() < 1e-5)
    }

    #[test]
    fn user_directions_are_projected_out_in_file_order() {
        let s = sample(2);
        let given =
            Content::Directions(Dense::from_fn(3, 12, |i, j| [0.0, 2.0][usize::from(i == j || (i == 2 && j < 2))]));
        let data = FitData { given: Some(&given), ..s.fit_data() };
        let options = Options::defaults(&OWN_DIRECTIONS);
        let fitted = OWN_DIRECTIONS.fit(&data, &options, &mut NoPulse).unwrap();
        let again = OWN_DIRECTIONS.load(&fitted.to_bytes(), &options).unwrap();
        let at =
            |f: &Fitted, rank: f64| f.on(&s.test, &s.targets(), &mut NoPulse).unwrap().at(rank, &mut NoPulse).unwrap();
        assert!(identical(&at(&fitted, 0.0), &s.test));
        let two = Matrix::from_fn(s.test.rows(), 12, |i, j| if j < 2 { 0.0 } else { s.test.row(i)[j] });
        assert!(close(&at(&fitted, 2.0), &two) && identical(&at(&again, 2.0), &at(&fitted, 2.0)));
        // Lengths of directions and angles between them do not matter, and a rank beyond their number removes all of them.
        assert!(close(
            &at(&fitted, 40.0),
            &Matrix::from_fn(s.test.rows(), 12, |i, j| if j < 3 { 0.0 } else { s.test.row(i)[j] })
        ));
        assert!(OWN_DIRECTIONS.fit(&s.fit_data(), &options, &mut NoPulse).is_err());
        let narrow = Content::Directions(Dense::from_fn(1, 5, |_, _| 1.0));
        let refused = OWN_DIRECTIONS.fit(&FitData { given: Some(&narrow), ..s.fit_data() }, &options, &mut NoPulse);
        assert!(refused.err().unwrap().to_string().contains("size 5"));
    }

    /// States edited with LEACE by another program give the same result as LEACE here.
    #[test]
    fn user_states_replace_rows() {
        let s = sample(3);
        let eraser = Eraser::fit(s.data.train(), true).unwrap();
        let p = eraser.kept();
        let erased: Dense<f64> = s.test.cast::<f64>().dot(&p);
        let given = Content::States(vec![erased.cast()]);
        let method = ERASED_STATES;
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
        // A property with three values needs one state per value for each example.
        let method = STATES;
        assert!(method.fit(&data, &options, &mut NoPulse).err().unwrap().to_string().contains("3 x n x D"));
        let by_value = (0..3).map(|k| Matrix::from_fn(s.test.rows(), 12, |i, _| (10 * i + k) as f32)).collect();
        let given = Content::States(by_value);
        let fitted = method.fit(&FitData { given: Some(&given), ..s.fit_data() }, &options, &mut NoPulse).unwrap();
        let again = method.load(&fitted.to_bytes(), &options).unwrap();
        let got = again.on_known(&h, &targets, &known, &mut NoPulse).unwrap().at(1.0, &mut NoPulse).unwrap();
        assert_eq!([got.row(0)[0], got.row(1)[0], got.row(2)[0]], [40.0, 21.0, 92.0]);
    }
}

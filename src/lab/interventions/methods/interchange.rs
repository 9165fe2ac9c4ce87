//! Interchange: the hidden state of a different input that has the intended value (Geiger et al. 2021).
//!
//! The donor is drawn from the training examples of the intervention part, never from test examples, among all that have the intended
//! value. Their other properties are ignored, unless the option requires the same value of the other property. If there are many donors, a
//! random part of each group is kept, which leaves all donors equally likely. The draw depends only on the seed, the embedding and the
//! intended value, not on the other edited embeddings. The method has no strength.

use crate::method::{Change, FitData, Goal, InterventionError, Known, Learnt, Method, Needs, replace_by};
use crate::options::Setting;
use crate::parameter::WHOLE;
use probe::Matrix;
use probe::bytes::{Reader, Writer, malformed};
use stats::rng::{below, sample_indices, stream};

pub(crate) const INTERCHANGE: Method = Method {
    id: "interchange",
    title: "interchange",
    doc: "replaces the embedding with the state of a different input with the intended value (Geiger et al. 2021)",
    goal: Goal::Counterfactual,
    needs: Needs { random: true, ..Needs::NONE },
    parameter: &WHOLE,
    settings: &[SAME_OTHER],
    applied: &[],
    is_control: false,
    family: "interchange",
    short: None,
    learn: |data, options, pulse| {
        pulse.beat(0, 1)?;
        Ok(Box::new(Donors::new(data, options.flag("same_other"))))
    },
    read: |bytes, _| {
        let mut reader = Reader::open(bytes, "interchange")?;
        let donors = Donors::read(&mut reader)?;
        reader.finish()?;
        Ok(Box::new(donors))
    },
};

/// The option that restricts the choice of donors.
pub(super) const SAME_OTHER: Setting = Setting::flag(
    "same_other",
    "same other value",
    "1 draws donors with the same value of the other property; 0 ignores that property (an undefined value counts as a value)",
    0.0,
);

/// Maximum number of donors kept, over all groups.
const MOST_DONORS: usize = 4096;
/// Minimum number of donors kept per group (if the group has that many), regardless of the number of groups.
const FEWEST_DONORS: usize = 16;

/// Maximum number of groups (values of one property times values of the other); a header with more is damaged.
const MOST_GROUPS: usize = 1 << 20;

/// Donor embeddings, by intended value and (if required) by value of the other property, with undefined last.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Donors {
    pub(super) classes: usize,
    /// Number of distinguished values of the other property; 1 if it is ignored.
    columns: usize,
    pub(super) dimension: usize,
    seed: u64,
    groups: Vec<Matrix>,
}

impl Donors {
    pub(super) fn new(data: &FitData<'_>, same: bool) -> Self {
        let train = data.data.train();
        let (classes, dimension) = (train.classes(), train.x().cols());
        let others = data.other.iter().flatten().max().map_or(0, |most| most + 1);
        let columns = if same { others + 1 } else { 1 };
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); classes * columns];
        for (row, value) in train.y().iter().enumerate() {
            let other = data.other.get(row).copied().flatten().unwrap_or(others);
            members[value * columns + if same { other } else { 0 }].push(row);
        }
        let most = (MOST_DONORS / members.len().max(1)).max(FEWEST_DONORS);
        let groups = members.iter().enumerate().map(|(i, rows)| {
            let mut rng = stream(data.seed, &format!("donors {i}"));
            let kept = sample_indices(&mut rng, rows.len(), most).into_iter().map(|k| rows[k]);
            train.x().select_rows(&kept.collect::<Vec<_>>())
        });
        Self { classes, columns, dimension, seed: data.seed, groups: groups.collect() }
    }

    /// The donors with the target value and this value of the other property; `None` if there are none.
    pub(super) fn group(&self, target: usize, other: Option<usize>) -> Option<&Matrix> {
        // A value of the other property that no donor has leads to an empty group.
        let column = if self.columns == 1 { 0 } else { other.unwrap_or(self.columns - 1) };
        let group = (column < self.columns).then(|| &self.groups[target * self.columns + column]);
        group.filter(|g| g.rows() > 0)
    }

    /// The states that replace the rows of `h`.
    pub(super) fn exchange(
        &self,
        h: &Matrix,
        targets: &[usize],
        other: &[Option<usize>],
    ) -> Result<Matrix, InterventionError> {
        let mut moved = h.clone();
        for (row, target) in targets.iter().enumerate() {
            let Some(group) = self.group(*target, other.get(row).copied().flatten()) else {
                return Err(InterventionError::NoDonor { target: *target });
            };
            let mut rng = stream(self.seed, &format!("interchange {target} {:016x}", content(h.row(row))));
            let donor = below(&mut rng, group.rows() as u32) as usize;
            moved.row_mut(row).copy_from_slice(group.row(donor));
        }
        Ok(moved)
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        let seed = [(self.seed >> 32) as usize, self.seed as u32 as usize];
        writer.numbers(&[self.classes, self.columns, self.dimension, seed[0], seed[1]]);
        self.groups.iter().for_each(|g| writer.matrix(g));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, InterventionError> {
        let header = reader.numbers()?;
        let [classes, columns, dimension, high, low] = header[..] else {
            return Err(malformed("the header is missing").into());
        };
        let groups = classes.checked_mul(columns).filter(|g| *g > 0 && *g <= MOST_GROUPS);
        let groups = groups.ok_or_else(|| malformed("invalid header"))?;
        let groups = (0..groups).map(|_| reader.matrix()).collect::<Result<Vec<Matrix>, _>>()?;
        if groups.iter().any(|g| g.cols() != dimension || !g.is_finite()) {
            return Err(malformed("the donors have the wrong size").into());
        }
        Ok(Self { classes, columns, dimension, seed: (high as u64) << 32 | low as u64, groups })
    }
}

/// FNV-1a hash of the bits of an embedding.
fn content(h: &[f32]) -> u64 {
    let bytes = h.iter().flat_map(|x| x.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

impl Learnt for Donors {
    fn shape(&self) -> (usize, usize) {
        (self.dimension, self.classes)
    }
    fn prepare<'a>(
        &'a self,
        h: &'a Matrix,
        targets: &[usize],
        known: &Known<'a>,
    ) -> Result<Change<'a>, InterventionError> {
        Ok(replace_by(self.exchange(h, targets, known.other)?))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new("interchange");
        self.write(&mut writer);
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Fitted;
    use crate::methods::testing::{identical, sample};
    use crate::options::Options;
    use base::NoPulse;

    fn moved(fitted: &Fitted, h: &Matrix, targets: &[usize], other: &[Option<usize>]) -> Matrix {
        let known = Known { other, ..Known::default() };
        fitted.on_known(h, targets, &known, &mut NoPulse).unwrap().at(1.0, &mut NoPulse).unwrap()
    }

    #[test]
    fn donors_are_training_examples_with_the_wanted_value() {
        for classes in [2, 3] {
            let s = sample(classes);
            let fitted = INTERCHANGE.fit(&s.fit_data(), &Options::defaults(&INTERCHANGE), &mut NoPulse).unwrap();
            let targets = s.targets();
            let got = moved(&fitted, &s.test, &targets, &[]);
            let train = s.data.train();
            let mut donors = std::collections::HashSet::new();
            for (row, target) in got.iter_rows().zip(&targets) {
                let from = train.x().iter_rows().position(|x| x == row).unwrap();
                assert_eq!(train.y()[from], *target);
                donors.insert(from);
            }
            assert!(donors.len() > targets.len() / 3, "{} donors", donors.len());
            let again = INTERCHANGE.load(&fitted.to_bytes(), &Options::defaults(&INTERCHANGE)).unwrap();
            assert!(identical(&moved(&again, &s.test, &targets, &[]), &got));
            assert!(INTERCHANGE.load(&fitted.to_bytes()[1..], &Options::defaults(&INTERCHANGE)).is_err());
            // The donor drawn for a row does not depend on the other rows.
            let last = s.test.select_rows(&[targets.len() - 1]);
            let alone = moved(&fitted, &last, &targets[targets.len() - 1..], &[]);
            assert_eq!(alone.row(0), got.row(targets.len() - 1));
        }
    }

    #[test]
    fn donors_can_share_the_other_value() {
        let s = sample(2);
        let n = s.data.train().len();
        let label = |i: usize| [Some(0), Some(1), None][i % 3];
        let other: Vec<Option<usize>> = (0..n).map(label).collect();
        let data = FitData { other: &other, ..s.fit_data() };
        let options = Options::new(&INTERCHANGE, [("same_other", 1.0)]).unwrap();
        let fitted = INTERCHANGE.fit(&data, &options, &mut NoPulse).unwrap();
        let (targets, asked) = (s.targets(), (0..s.test.rows()).map(label).collect::<Vec<_>>());
        let got = moved(&fitted, &s.test, &targets, &asked);
        for (i, row) in got.iter_rows().enumerate() {
            let from = s.data.train().x().iter_rows().position(|x| x == row).unwrap();
            assert_eq!((s.data.train().y()[from], other[from]), (targets[i], asked[i]));
        }
        let unheard = vec![Some(7); targets.len()];
        let known = Known { other: &unheard, ..Known::default() };
        let refused = fitted.on_known(&s.test, &targets, &known, &mut NoPulse);
        assert!(matches!(refused.err(), Some(InterventionError::NoDonor { .. })));
    }
}

//! The comparisons tested and shown in a session, with adjusted p-values.
//!
//! A family is one question of one run: the pairs of methods under one oracle, the sweeps of one model, or the sizes of one comparison.
//! Within a family, p-values are adjusted with Holm's method (1979). Across families, Simes' test (1986) and the procedure of Benjamini and
//! Hochberg (1995) select R of m families at q. Tests within the selected families are at level q R / m (Benjamini and Bogomolov 2014);
//! their findings are exploratory. The planned comparisons of a run form a separate family, always tested at α.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::LabId;
use stats::corrections::{benjamini_hochberg, holm, simes};

/// The level of a session's tests, and the accepted false discovery rate among selected families.
pub const ALPHA: f64 = 0.05;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub lab: LabId,
    pub spec: String,
    /// The question that the comparison addresses. Comparisons of a run with the same question form a family.
    #[serde(default)]
    pub question: String,
    /// Description of the comparison, identical for identical comparisons.
    pub what: String,
    /// The test, for example `exact McNemar`.
    pub test: String,
    pub n: usize,
    /// The unadjusted p-value; for a sweep, the p-value over all strengths.
    pub p: f64,
    /// The smallest p-value attainable with these examples.
    #[serde(default)]
    pub least: f64,
    /// True if it belongs to a plan fixed before results were seen.
    #[serde(default)]
    pub planned: bool,
    /// True if some examples had not been processed yet, which makes the fixed-n p-value invalid.
    #[serde(default)]
    pub interim: bool,
    /// The anytime-valid p-value, if there is one.
    #[serde(default)]
    pub anytime: Option<f64>,
    /// The strengths of a sweep with their p-values.
    #[serde(default)]
    pub curve: Vec<(f64, f64)>,
}

impl Comparison {
    /// A comparison in a run of `spec`, without numbers yet.
    pub fn of(lab: LabId, spec: &str, question: String, what: String, test: &str) -> Self {
        let (spec, test) = (spec.to_owned(), test.to_owned());
        let (planned, interim, anytime, curve) = (false, false, None, Vec::new());
        Self { lab, spec, question, what, test, n: 0, p: f64::NAN, least: 0.0, planned, interim, anytime, curve }
    }

    /// True if both make the same comparison with the same test.
    fn same(&self, other: &Self) -> bool {
        self.lab == other.lab && self.spec == other.spec && self.what == other.what && self.test == other.test
    }

    /// A hash that is equal for the same comparison with the same test.
    fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.lab, &self.spec, &self.what, &self.test).hash(&mut hasher);
        hasher.finish()
    }

    /// The p-value, with NaN replaced by 1: such a test counts in its family but is never significant.
    fn counted_p(&self) -> f64 {
        if self.p.is_nan() { 1.0 } else { self.p }
    }

    /// Merges the strengths of an earlier finding of the same sweep.
    fn continue_curve(&mut self, earlier: &mut Self) {
        if self.curve.is_empty() {
            return;
        }
        let mut curve = std::mem::take(&mut earlier.curve);
        curve.retain(|(value, _)| self.curve.iter().all(|(new, _)| new != value));
        curve.append(&mut self.curve);
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.curve = curve;
        self.least = self.least.min(earlier.least);
    }

    /// The smallest strength at which this and all larger strengths have p-values of at most `level`. Strengths are tested from the
    /// largest down.
    fn reached(&self, level: f64) -> Option<f64> {
        self.curve.iter().rev().take_while(|(_, p)| *p <= level).last().map(|(value, _)| *value)
    }
}

/// A family: one question of one run, or the planned comparisons of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested<'a> {
    /// The question; for planned comparisons, the question of the first comparison.
    pub question: &'a str,
    pub planned: bool,
    /// Number of comparisons, excluding interim ones.
    pub size: usize,
    /// Simes p-value for the hypothesis that no comparison has a difference.
    pub simes: f64,
    /// Level of the tests within the family: α if planned, q R / m if selected, `None` otherwise.
    pub level: Option<f64>,
}

/// A comparison within its family.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected<'a> {
    pub comparison: &'a Comparison,
    /// Index into [`Corrections::families`].
    pub family: usize,
    pub standing: Standing,
    /// For a significant sweep: the smallest strength from which all strengths are significant.
    pub from: Option<f64>,
}

/// The adjusted p-value, or the reason why it is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standing {
    /// Some examples had not been processed yet.
    Interim,
    /// With this number of examples, the adjusted p-value cannot reach α.
    CannotDecide,
    /// The Holm-adjusted p-value within the family.
    Adjusted(f64),
}

impl Corrected<'_> {
    pub fn adjusted(&self) -> Option<f64> {
        match self.standing {
            Standing::Adjusted(p) => Some(p),
            _ => None,
        }
    }
}

/// Comparisons with their families and adjusted p-values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Corrections<'a> {
    /// Families in the order of their first members.
    pub families: Vec<Tested<'a>>,
    /// Comparisons in display order.
    pub rows: Vec<Corrected<'a>>,
    /// Number m of exploratory families.
    pub exploratory: usize,
    /// Number R of selected exploratory families.
    pub selected: usize,
}

impl Corrections<'_> {
    /// True if the comparison is significant at the level of its family.
    pub fn is_found(&self, row: &Corrected<'_>) -> bool {
        row.adjusted().zip(self.families[row.family].level).is_some_and(|(p, level)| p <= level)
    }
}

/// Adjusts comparisons within families and selects among families.
pub fn correct<'a>(members: impl IntoIterator<Item = &'a Comparison>) -> Corrections<'a> {
    let mut found = Corrections::default();
    let mut place: HashMap<(LabId, &str, &str, bool), usize> = HashMap::new();
    let mut inside: Vec<Vec<usize>> = Vec::new();
    for c in members {
        let question = if c.planned { "" } else { c.question.as_str() };
        let family = *place.entry((c.lab, &c.spec, question, c.planned)).or_insert_with(|| {
            let (question, planned) = (c.question.as_str(), c.planned);
            found.families.push(Tested { question, planned, size: 0, simes: 1.0, level: None });
            inside.push(Vec::new());
            inside.len() - 1
        });
        if !c.interim {
            inside[family].push(found.rows.len());
        }
        found.rows.push(Corrected { comparison: c, family, standing: Standing::Interim, from: None });
    }
    for (family, rows) in found.families.iter_mut().zip(&inside) {
        let p: Vec<f64> = rows.iter().map(|row| found.rows[*row].comparison.counted_p()).collect();
        (family.size, family.simes) = (p.len(), simes(&p));
        family.level = Some(ALPHA).filter(|_| family.planned);
    }
    let mut open: Vec<&mut Tested<'_>> = found.families.iter_mut().filter(|f| !f.planned && f.size > 0).collect();
    let q = benjamini_hochberg(&open.iter().map(|f| f.simes).collect::<Vec<_>>());
    found.exploratory = open.len();
    found.selected = q.iter().filter(|q| **q <= ALPHA).count();
    let level = ALPHA * found.selected as f64 / found.exploratory.max(1) as f64;
    open.iter_mut().zip(q).for_each(|(family, q)| family.level = (q <= ALPHA).then_some(level));
    for (family, rows) in found.families.iter().zip(&inside) {
        adjust(&mut found.rows, rows, family.level);
    }
    found
}

/// Applies Holm's adjustment to the members of one family.
fn adjust(all: &mut [Corrected<'_>], members: &[usize], level: Option<f64>) {
    let p: Vec<f64> = members.iter().map(|row| all[*row].comparison.counted_p()).collect();
    let mut rising = p.clone();
    rising.sort_by(f64::total_cmp);
    let hypotheses = |p: f64| (members.len() - rising.partition_point(|other| *other < p)) as f64;
    for ((row, p), holm) in members.iter().zip(&p).zip(holm(&p)) {
        let row = &mut all[*row];
        let least = row.comparison.least;
        let mute = least > 0.0 && least * hypotheses(least) > ALPHA;
        row.standing = if mute { Standing::CannotDecide } else { Standing::Adjusted(holm) };
        let level = level.filter(|level| holm <= *level && !mute).map(|level| level / hypotheses(*p));
        row.from = level.and_then(|level| row.comparison.reached(level));
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Members")]
pub struct Family {
    members: Vec<Comparison>,
    /// Indices of members by hash. A grid of thousands of cells has hundreds of thousands of members, and each new one is looked up.
    #[serde(skip)]
    places: HashMap<u64, Vec<usize>>,
}

/// Serialised form of a family.
#[derive(Deserialize)]
struct Members {
    members: Vec<Comparison>,
}

impl From<Members> for Family {
    fn from(Members { members }: Members) -> Self {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, member) in members.iter().enumerate() {
            places.entry(member.number()).or_default().push(at);
        }
        Self { members, places }
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members
    }
}

impl Family {
    /// Adds a comparison.
    ///
    /// The same comparison of the same spec on more examples replaces the earlier one, so that repeated checks count as one. A planned
    /// comparison is kept, and an exploratory one on the same question is separate.
    pub fn join(&mut self, mut new: Comparison) {
        let places = self.places.entry(new.number()).or_default();
        let mut same = places.iter().filter(|at| self.members[**at].same(&new));
        let like = same.clone().find(|at| self.members[**at].planned == new.planned);
        match like.or_else(|| same.next().filter(|_| new.planned)) {
            Some(at) => {
                new.continue_curve(&mut self.members[*at]);
                self.members[*at] = new;
            }
            None => {
                places.push(self.members.len());
                self.members.push(new);
            }
        }
    }

    /// All comparisons in the order in which they were first shown.
    pub fn members(&self) -> &[Comparison] {
        &self.members
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// All comparisons with their adjusted p-values.
    pub fn corrected(&self) -> Corrections<'_> {
        correct(&self.members)
    }
}

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;

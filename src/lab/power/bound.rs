//! Recommended sizes of training sets, from bounds on the excess risk for a finite class of classifiers.
//!
//! With |H| classifiers and probability 1 - δ, the excess risk on n examples is at most `sqrt(2 ln(2|H|/δ) / n)` (Liang 2016, theorem 7).
//! Zhu et al. set ε to half the difference: `ε = gap / 2`. Their tables follow from `|H| = p 2³²` with p parameters of 32 bits. The class
//! described in their text, `|H| = 2^(32 p)`, is much larger; here its bound is called textbook. All numbers are for **training** data.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::spec::Spec;
use base::numbers::number;
use base::suggest::unknown;
use probe::mdl::prequential::PORTIONS;
use stats::Estimate;

/// The δ of the published tables.
pub const DELTA: f64 = 1e-8;
/// Smallest difference for which a number is recommended, as in the published code.
pub(crate) const LEAST_GAP: f64 = 1e-5;
/// Number of possible values for a weight.
const VALUES: f64 = 4_294_967_296.0;

/// A kind of classifier with one output, for counting parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A linear layer with d + 1 parameters.
    Linear,
    /// One hidden layer of width h, with (d + 1) h + h + 1 parameters.
    Mlp(u64),
}

impl Counted {
    /// Number of parameters for vectors of length `dim`.
    pub fn parameters(self, dim: u64) -> u64 {
        match self {
            Counted::Linear => dim + 1,
            Counted::Mlp(width) => (dim + 1).saturating_mul(width).saturating_add(width + 1),
        }
    }
}

/// The class of classifiers assumed by a bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// `|H| = p 2³²`, as in the published tables.
    Published,
    /// `|H| = 2^(32 p)`: all classifiers with p weights of 32 bits.
    Textbook,
    /// The user's bound `n = c / ε²`, given by c. The constant accounts for the classifier and δ.
    Own(f64),
}

/// Maximum constant of a user's bound.
pub(crate) const MOST_CONSTANT: f64 = 1e15;

impl Bound {
    pub fn name(self) -> &'static str {
        match self {
            Bound::Published => "published",
            Bound::Textbook => "textbook",
            Bound::Own(_) => "own",
        }
    }

    /// The bound in words, from its name in findings.
    pub(crate) fn in_words(name: &str) -> &str {
        match name {
            "published" => "bound of Zhu et al. 2022",
            "textbook" => "bound of Liang 2016",
            "own" => "user-defined bound",
            other => other,
        }
    }

    /// `n ε²`: twice `ln(2|H|/δ)`, or the user's constant.
    fn constant(self, parameters: u64, delta: f64) -> Result<f64, BoundError> {
        let p = parameters as f64;
        if let Bound::Own(c) = self {
            return if c > 0.0 && c <= MOST_CONSTANT { Ok(c) } else { Err(BoundError::Constant(c)) };
        }
        if !(delta > 0.0 && delta < 1.0) {
            return Err(BoundError::Delta(delta));
        }
        if parameters == 0 {
            return Err(BoundError::Parameters);
        }
        let size = if self == Bound::Textbook { p * VALUES.ln() } else { (p * VALUES).ln() };
        Ok(2.0 * (size + (2.0 / delta).ln()))
    }
}

/// Parses `published`, `textbook`, or `own:C`.
impl std::str::FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(c) = text.strip_prefix("own:") {
            let c = number(c).map_err(|e| format!("own: {e}"))?;
            return Bound::Own(c).constant(1, DELTA).map(|_| Bound::Own(c)).map_err(|e| e.to_string());
        }
        match text {
            "published" => Ok(Bound::Published),
            "textbook" => Ok(Bound::Textbook),
            "own" => {
                Err("the bound `own` needs a constant: `own:C` for n = C / epsilon^2, for example `own:95.88`".into())
            }
            _ => Err(unknown("bound", text, &["published", "textbook", "own:C"])),
        }
    }
}

/// The probe's score for which a size is recommended (Zhu et al. 2022, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// Accuracy; the bound applies directly.
    Accuracy,
    /// Accuracy minus the accuracy on a control task (theorem 1). Each of the two accuracies is within its bound at δ/2, so their
    /// difference is within twice that bound.
    Selectivity,
    /// Prequential code length in bits per example (equation 3). A loss is the code length of one label, at most `clip`. The bound applies
    /// to each of the ten trained blocks at δ/10, and the code length is within the sum of these bounds, weighted by the number of coded
    /// examples.
    Prequential { clip: f64 },
}

/// Default number of bits at which losses are clipped: probabilities below 1/1024 count as 1/1024.
pub const CLIP: f64 = 10.0;

impl Score {
    /// Width of the score's bound relative to the bound of one accuracy on all examples, and the number of bounds that share δ.
    fn terms(self) -> (f64, f64) {
        match self {
            Score::Accuracy => (1.0, 1.0),
            Score::Selectivity => (2.0, 2.0),
            Score::Prequential { clip } => {
                let shares = PORTIONS.map(|p| p / 100.0);
                let width = |ends: &[f64]| (ends[1] - ends[0]) / ends[0].sqrt();
                (clip * shares.windows(2).map(width).sum::<f64>(), (PORTIONS.len() - 1) as f64)
            }
        }
    }

    /// Maximum difference between two such scores.
    fn most(self) -> f64 {
        match self {
            Score::Accuracy => 1.0,
            Score::Selectivity => 2.0,
            Score::Prequential { clip } => clip,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum BoundError {
    #[error("the gap is {0}; no number of examples is recommended for gaps below {LEAST_GAP:e}")]
    Gap(f64),
    #[error("the gap is {0}: a difference of these scores cannot exceed {1}")]
    Large(f64, f64),
    #[error("losses are clipped at {0} bits: the limit must be above 0 and at most 1000")]
    Clip(f64),
    #[error("delta is {0}: it must lie between 0 and 1")]
    Delta(f64),
    #[error("the classifier has no parameters")]
    Parameters,
    #[error("the bound `own` has the constant {0}: it must be above 0 and at most {MOST_CONSTANT:e}")]
    Constant(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recommended {
    /// Number of training examples, truncated to an integer as in the published tables.
    pub n_train: u64,
    /// Half the difference between the scores.
    pub epsilon: f64,
}

impl Spec {
    /// Number of training examples and total number of examples that the bound recommends for a difference; `None` if it recommends no
    /// number.
    pub fn recommended(&self, gap: f64, parameters: Option<u64>) -> (Option<u64>, Option<u64>) {
        let test = &self.test;
        let found = parameters.and_then(|p| recommended(test.bound, gap, p, test.delta).ok());
        (found.map(|r| r.n_train), found.map(|r| self.task.ratio.total(r.n_train)))
    }

    /// Numbers of training examples that the bound recommends for the two ends of a difference's interval: the end farther from 0, then the
    /// nearer one. The second is `None` if the interval contains 0, because there is then no upper limit. `None` without a bound.
    pub fn recommended_within(&self, difference: Estimate, parameters: Option<u64>) -> Option<(u64, Option<u64>)> {
        let of = |gap: f64| self.recommended(gap.abs(), parameters).0;
        let Estimate { lo, hi, .. } = difference;
        let (near, far) = if lo.abs() < hi.abs() { (lo, hi) } else { (hi, lo) };
        Some((of(far)?, of(near).filter(|_| lo > 0.0 || hi < 0.0)))
    }
}

/// Number of training examples after which the excess risk is below half of `gap`.
pub fn recommended(bound: Bound, gap: f64, parameters: u64, delta: f64) -> Result<Recommended, BoundError> {
    recommended_for(Score::Accuracy, bound, gap, parameters, delta)
}

/// [`recommended`] for differences between scores of any kind. The constant of a user's bound already accounts for δ.
pub fn recommended_for(
    score: Score,
    bound: Bound,
    gap: f64,
    parameters: u64,
    delta: f64,
) -> Result<Recommended, BoundError> {
    if let Score::Prequential { clip } = score
        && !(clip > 0.0 && clip <= 1e3)
    {
        return Err(BoundError::Clip(clip));
    }
    let gap = gap.abs();
    if gap.is_nan() || gap < LEAST_GAP {
        return Err(BoundError::Gap(gap));
    }
    if gap > score.most() {
        return Err(BoundError::Large(gap, score.most()));
    }
    if !(delta > 0.0 && delta < 1.0 || matches!(bound, Bound::Own(_))) {
        return Err(BoundError::Delta(delta));
    }
    let (width, bounds) = score.terms();
    let constant = bound.constant(parameters, delta / bounds)?;
    let epsilon = gap / 2.0;
    Ok(Recommended { n_train: (constant * width * width / (epsilon * epsilon)) as u64, epsilon })
}

/// The excess risk after n training examples; the inverse of [`recommended`].
pub fn margin(bound: Bound, n: u64, parameters: u64, delta: f64) -> Result<f64, BoundError> {
    Ok((bound.constant(parameters, delta)? / n as f64).sqrt())
}

/// Relative sizes of training, validation and test data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ratio(pub [u32; 3]);

impl Ratio {
    /// The paper's ratio, from parts of 256, 64 and 64 examples.
    pub(crate) const PAPER: Self = Self([4, 1, 1]);

    /// True for the paper's ratio. Specs omit this ratio, so that specs from before the field existed keep their hashes.
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::PAPER
    }

    /// Sizes of the parts for `n` training examples; each part has at least one example.
    pub fn parts(self, n: usize) -> [usize; 3] {
        let [train, rest @ ..] = self.0;
        let part = |k: u32| ((n as u128 * u128::from(k) / u128::from(train.max(1))) as usize).max(1);
        [n, part(rest[0]), part(rest[1])]
    }

    /// Total number of examples, rounded up, if `n_train` of them are for training.
    pub fn total(self, n_train: u64) -> u64 {
        let sum: u128 = self.0.iter().map(|p| u128::from(*p)).sum();
        let part = u128::from(self.0[0].max(1));
        u64::try_from((u128::from(n_train) * sum).div_ceil(part)).unwrap_or(u64::MAX)
    }
}

impl Default for Ratio {
    fn default() -> Self {
        Self::PAPER
    }
}

impl std::str::FromStr for Ratio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Option<Vec<u32>> = text.split(':').map(|p| p.trim().parse().ok()).collect();
        let parts = parts.and_then(|p| <[u32; 3]>::try_from(p).ok());
        let parts = parts.filter(|p| p.iter().all(|p| (1..=1_000_000).contains(p)));
        let shown = base::text::shortened(text, 40);
        parts.map(Self).ok_or(format!("`{shown}` is not a ratio; enter train:validation:test, for example 4:1:1"))
    }
}

impl TryFrom<String> for Ratio {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Ratio> for String {
    fn from(ratio: Ratio) -> Self {
        ratio.to_string()
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c] = self.0;
        write!(f, "{a}:{b}:{c}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_the_paper() {
        let n = |gap, dim| recommended(Bound::Published, gap, Counted::Linear.parameters(dim), DELTA).unwrap().n_train;
        // Expected values: table 2, first and last row, and table 3 of the appendix, with differences as exact fractions.
        assert_eq!((n(42.0 / 320.0, 768), n(12_186.0 / 81_920.0, 768)), (22_263, 17_331));
        assert_eq!((n(62.0 / 960.0, 4_096), n(490.0 / 3_840.0, 4_096)), (95_156, 24_375));
        assert_eq!(n(0.1, 4_096), 39_690);
        let eps = margin(Bound::Published, 1_024, 769, DELTA).unwrap();
        assert!((eps - 0.305_994).abs() < 5e-7);
        let textbook = recommended(Bound::Textbook, 42.0 / 320.0, 769, 0.05).unwrap().n_train;
        assert_eq!(textbook, 7_922_952);
    }

    #[test]
    fn user_bound_uses_its_constant() {
        let own = |c| recommended(Bound::Own(c), 42.0 / 320.0, 0, DELTA);
        // This is the constant of the published bound at 768 dimensions.
        assert_eq!(own(95.879_257).unwrap().n_train, 22_263);
        assert!((margin(Bound::Own(4.0), 100, 0, DELTA).unwrap() - 0.2).abs() < 1e-12);
        for bad in [0.0, -1.0, f64::NAN, 1e300] {
            assert!(matches!(own(bad), Err(BoundError::Constant(_))), "{bad}");
        }
        assert_eq!("own:95.88".parse::<Bound>(), Ok(Bound::Own(95.88)));
        for bad in ["own", "own:", "own:x", "own:-1", "own:nan", "publishd"] {
            assert!(bad.parse::<Bound>().is_err(), "{bad}");
        }
    }

    /// The expected numbers were computed from the formulas with mpmath.
    #[test]
    fn selectivity_and_code_length_need_more_examples() {
        let of = |score, gap, bound, delta| recommended_for(score, bound, gap, 769, delta).unwrap().n_train;
        let (published, own) = (Bound::Published, Bound::Own(40.0));
        assert_eq!(of(Score::Selectivity, 42.0 / 320.0, published, DELTA), 90_340);
        assert_eq!(of(Score::Selectivity, 0.11125, published, DELTA), 125_741);
        assert_eq!(of(Score::Selectivity, 0.11125, Bound::Textbook, 0.05), 44_112_663);
        let clipped = |clip| Score::Prequential { clip };
        assert_eq!(of(clipped(10.0), 0.08, published, DELTA), 34_290_885);
        assert_eq!(of(clipped(4.0), 0.08, published, DELTA), 5_486_541);
        assert_eq!([Score::Selectivity, clipped(10.0)].map(|s| of(s, 0.5, own, DELTA)), [2_560, 349_445]);
        let refused = |score, gap, delta| recommended_for(score, published, gap, 769, delta).unwrap_err();
        assert_eq!(refused(Score::Selectivity, 2.5, DELTA), BoundError::Large(2.5, 2.0));
        assert_eq!(refused(clipped(4.0), 5.0, DELTA), BoundError::Large(5.0, 4.0));
        assert_eq!(refused(clipped(0.0), 0.1, DELTA), BoundError::Clip(0.0));
        assert_eq!(refused(Score::Selectivity, 0.1, 1.5), BoundError::Delta(1.5));
    }

    #[test]
    fn parameters_and_totals() {
        assert_eq!(Counted::Mlp(20).parameters(768), 15_401);
        assert_eq!(Ratio::PAPER.total(22_263), 33_395);
        assert_eq!("8:1:1".parse::<Ratio>().unwrap().total(80), 100);
        assert_eq!((Ratio::PAPER.parts(66), Ratio([8, 1, 2]).parts(64)), ([66, 16, 16], [64, 8, 16]));
        assert_eq!(Ratio::PAPER.parts(2), [2, 1, 1]);
        for bad in ["4:1", "0:1:1", "a:b:c", "4:1:1:1", "-4:1:1", ""] {
            assert!(bad.parse::<Ratio>().is_err(), "{bad}");
        }
    }

    #[test]
    fn missing_recommendations_have_a_reason() {
        let of = |gap, p, delta| recommended(Bound::Published, gap, p, delta);
        assert!(matches!(of(0.0, 769, DELTA), Err(BoundError::Gap(_))));
        assert!(matches!(of(f64::NAN, 769, DELTA), Err(BoundError::Gap(_))));
        assert!(matches!(of(1.5, 769, DELTA), Err(BoundError::Large(..))));
        assert!(matches!(of(0.1, 769, 1.0), Err(BoundError::Delta(_))));
        assert!(matches!(of(0.1, 0, DELTA), Err(BoundError::Parameters)));
        assert_eq!(of(-0.1, 769, DELTA), of(0.1, 769, DELTA));
    }
}

//! Scores of single inputs and of pairs, under rules that are fixed for a run and shown with every number.

use serde::{Deserialize, Serialize};

use super::input::{InputError, Scored, map_of, slots};
use super::map::Membership;
use super::pcc::{ALPHA, correlation, suits};
use super::random::expected_best_f1;
use super::rationale::{Several, best_f1};
use super::top_k::Size;
use stats::correlation::{Correlation, Undefined};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Rule for the length of a predicted rationale.
    pub size: Size,
    /// Rule for inputs with several gold rationales.
    pub several: Several,
    /// Rule by which MAP treats words in the two inputs as the same.
    pub membership: Membership,
    /// True to align words that were replaced one for one.
    pub replaced: bool,
    /// p-value below which a correlation is kept.
    pub alpha: f64,
}

impl Rules {
    /// The paper's rules, with this size for predicted rationales.
    pub fn new(size: Size) -> Self {
        let (several, membership) = (Several::default(), Membership::default());
        Self { size, several, membership, replaced: false, alpha: ALPHA }
    }
}

/// The scores of a single input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Single {
    pub id: String,
    /// Number of words in the predicted rationale.
    pub k: usize,
    /// Token-F1; `None` if the gold rationale is unknown.
    pub f1: Option<f64>,
    /// Expected F1 of a random ranking with the same K.
    pub random_f1: Option<f64>,
    /// Length of the gold rationale divided by the length of the input.
    pub ratio: Option<f64>,
    /// True if a gold rationale is known but empty. Its F1 is 0 for any prediction.
    pub empty_gold: bool,
}

/// The scores of an original and a perturbed partner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub perturbation: String,
    /// The partner's individual scores.
    pub single: Single,
    /// MAP of the partner's ranking against the original's.
    pub map: f64,
    /// Expected MAP of two random rankings.
    pub random_map: f64,
    /// Correlation of the scores; `None` if undefined for this perturbation, or if only ranks are known.
    pub correlation: Option<Result<Correlation, Undefined>>,
}

/// An original with its partners, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The original's individual scores.
    pub original: Single,
    pub pairs: Vec<Pair>,
    /// Kinds of perturbation whose partners are missing.
    pub missing: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Partner {
    pub scored: Scored,
    pub perturbation: String,
    /// Pairs of word indices (original, perturbed); `None` if the alignment is unknown.
    pub alignment: Option<Vec<(usize, usize)>>,
}

pub fn single(scored: &Scored, rules: &Rules) -> Single {
    let words = scored.words().len();
    let gold = scored.gold_length();
    let k = rules.size.of(words, gold.unwrap_or(0)).min(scored.ranking().len());
    let f1 = best_f1(&scored.rationale(k), scored.golds(), rules.several).map(|f| f.f1);
    Single {
        id: scored.id.clone(),
        k,
        f1,
        random_f1: expected_best_f1(scored.ranking(), k, scored.golds(), rules.several),
        ratio: scored.ratio(),
        empty_gold: gold.is_some() && scored.golds().iter().all(Vec::is_empty),
    }
}

/// Judges a pair.
///
/// # Errors
/// [`InputError::Align`] for an invalid given alignment.
pub fn pair(original: &Scored, partner: &Partner, rules: &Rules) -> Result<Pair, InputError> {
    let scored = &partner.scored;
    let slots = slots(original, scored, partner.alignment.as_deref(), rules.replaced)?;
    let (map, random_map) = map_of(original, scored, &slots, rules.membership);
    let made = suits(&partner.perturbation) && !original.ranks_only() && !scored.ranks_only();
    let correlation = made.then(|| correlation(original.scores(), scored.scores(), &slots));
    Ok(Pair { perturbation: partner.perturbation.clone(), single: single(scored, rules), map, random_map, correlation })
}

/// Judges an original with its partners.
///
/// # Errors
/// [`InputError::Align`] for an invalid given alignment.
pub fn judge(original: &Scored, partners: &[Partner], rules: &Rules) -> Result<Judged, InputError> {
    let pairs = partners.iter().map(|p| pair(original, p, rules)).collect::<Result<_, _>>()?;
    Ok(Judged { original: single(original, rules), pairs, missing: Vec::new() })
}

/// The mean length ratio of gold rationales, for [`Size::Ratio`]; `None` without gold rationales.
pub(crate) fn mean_ratio<'s>(inputs: impl IntoIterator<Item = &'s Scored>) -> Option<f64> {
    let ratios: Vec<f64> = inputs.into_iter().filter_map(Scored::ratio).collect();
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}

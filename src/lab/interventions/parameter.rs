//! The strength over which a method is swept.

/// Scale of a parameter's axis and slider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal ratios; 0, if allowed, is drawn at the left edge.
    Log,
    /// Integers.
    Integer,
}

/// The parameter of a method. At 0 every method is the identity, except AlterRep (which reduces to INLP) and methods without a strength,
/// which exchange the whole embedding.
#[derive(Debug, PartialEq)]
pub struct Parameter {
    /// The key in findings and specs: `epsilon`, `alpha`, `rank`.
    pub name: &'static str,
    /// The letter on axes: `ε`, `α`, `r`.
    pub symbol: &'static str,
    pub doc: &'static str,
    /// The swept values, ascending: the paper's grid if it gives one.
    pub grid: &'static [f64],
    pub scale: Scale,
    pub min: f64,
    pub max: f64,
    /// Initial position of the slider.
    pub default: f64,
}

impl Parameter {
    pub fn allows(&self, value: f64) -> bool {
        (self.min..=self.max).contains(&value) && (self.scale != Scale::Integer || value.fract() == 0.0)
    }

    /// True if a method with this parameter changes nothing at `value`.
    pub(crate) fn is_no_edit(&self, value: f64) -> bool {
        value == 0.0 && self.name != ALPHA.name
    }
}

/// The 29 radii of Canby et al.; their ".07…76" is read as .076.
pub const EPSILONS: [f64; 29] = [
    0.005, 0.006, 0.007, 0.009, 0.011, 0.013, 0.016, 0.019, 0.024, 0.029, 0.035, 0.042, 0.051, 0.062, 0.076, 0.092,
    0.112, 0.136, 0.165, 0.2, 0.286, 0.409, 0.585, 0.836, 1.196, 1.71, 2.445, 3.497, 5.0,
];

/// The radii of Canby et al., continued with the ratio of the last two. Their grid ends at 5, which suits embeddings with coordinates
/// near unity. With larger coordinates (such as GPT-2's), scores have not reached their plateau there. At 61 the scores of all built-in
/// models have reached it; the last is gpt2-mini, whose coordinates vary five times as much as those of bert-mini. The grid does not
/// depend on the data, because results at radii fitted to the embeddings could not be compared between models.
pub(crate) const FURTHER_EPSILONS: [f64; 36] = {
    let mut all = [0.0; 36];
    let mut i = 0;
    while i < EPSILONS.len() {
        all[i] = EPSILONS[i];
        i += 1;
    }
    let further = [7.15, 10.22, 14.62, 20.9, 29.9, 42.7, 61.1];
    while i < all.len() {
        all[i] = further[i - EPSILONS.len()];
        i += 1;
    }
    all
};

/// Radius of the maximum-norm ball around an embedding, in the units of the embedding.
pub const EPSILON: Parameter = Parameter {
    name: "epsilon",
    symbol: "ε",
    doc: "largest change of any coordinate of the embedding (maximum norm)",
    grid: &FURTHER_EPSILONS,
    scale: Scale::Log,
    min: 0.0,
    max: 100.0,
    default: 0.112,
};

/// Strengths of AlterRep. The paper reports an optimum of .1 but no grid. This grid is fine where completeness rises (.1 to 1) and long
/// enough to reach the plateau.
pub const ALPHA: Parameter = Parameter {
    name: "alpha",
    symbol: "α",
    doc: "step along the classifiers' directions, as a multiple of the embedding's component along them; 0 gives INLP",
    grid: &[0.0, 0.01, 0.03, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0],
    scale: Scale::Log,
    min: 0.0,
    max: 100.0,
    default: 0.1,
};

/// Maximum number of INLP iterations, of random directions, and of classifiers in AlterRep.
pub(crate) const MOST_ITERATIONS: usize = 40;

pub(crate) const RANKS: [f64; MOST_ITERATIONS + 1] = {
    let mut ranks = [0.0; MOST_ITERATIONS + 1];
    let mut i = 0;
    while i <= MOST_ITERATIONS {
        ranks[i] = i as f64;
        i += 1;
    }
    ranks
};

/// Number of classifiers removed; with two classes, each is one direction.
pub(crate) const RANK: Parameter = Parameter {
    name: "rank",
    symbol: "r",
    doc: "iterations, each removing a classifier's row space: one direction for two classes, up to k - 1 for k",
    grid: &RANKS,
    scale: Scale::Integer,
    min: 0.0,
    max: MOST_ITERATIONS as f64,
    default: 8.0,
};

/// Number of directions that RLACE removes; for k classes it removes k - 1 times as many, like INLP at the same rank.
pub(crate) const ERASED_RANK: Parameter = Parameter {
    doc: "number of directions removed: r for two classes, r (k - 1) for k classes, as many as INLP removes in r iterations",
    ..RANK
};

/// Dimension of the subspace that DAS exchanges.
pub(crate) const SWAPPED_RANK: Parameter = Parameter {
    doc: "dimension of the subspace whose content is taken from the donor; with the whole space, this is an interchange",
    default: 1.0,
    ..RANK
};

/// Number of the user's own directions to remove, in file order.
pub(crate) const OWN_RANK: Parameter =
    Parameter { doc: "number of directions removed, in file order; at most as many as the file has", ..RANK };

/// Distance moved, in units of the difference of means.
pub const SHIFT: Parameter = Parameter {
    name: "shift",
    symbol: "a",
    doc: "multiple of the difference between class means to add; 1 moves one mean to the other",
    grid: &[0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
    scale: Scale::Linear,
    min: 0.0,
    max: 100.0,
    default: 1.0,
};

/// Share of a closed-form change to apply.
pub const SHARE: Parameter = Parameter {
    name: "share",
    symbol: "s",
    doc: "share of the change that is applied; 1 applies all of it, 0 leaves the embedding unchanged",
    grid: &[0.0, 0.25, 0.5, 0.75, 0.9, 1.0],
    scale: Scale::Linear,
    min: 0.0,
    max: 1.0,
    default: 1.0,
};

/// Parameter of methods without a strength.
pub const WHOLE: Parameter = Parameter {
    name: "none",
    symbol: "-",
    doc: "no strength: the whole embedding is exchanged",
    grid: &[1.0],
    scale: Scale::Linear,
    min: 1.0,
    max: 1.0,
    default: 1.0,
};

/// Parameter of the control that does nothing.
pub const NONE: Parameter = Parameter {
    name: "strength",
    symbol: "s",
    doc: "without effect",
    grid: &[0.0],
    scale: Scale::Linear,
    min: 0.0,
    max: 0.0,
    default: 0.0,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_ascending_and_allowed() {
        for p in [&EPSILON, &ALPHA, &RANK, &ERASED_RANK, &SHIFT, &SHARE, &NONE] {
            assert!(p.grid.windows(2).all(|w| w[0] < w[1]), "{}", p.name);
            assert!(p.grid.iter().all(|v| p.allows(*v)) && p.allows(p.default) && p.allows(0.0), "{}", p.name);
            assert!(!p.allows(f64::NAN) && !p.allows(-1.0) && !p.allows(p.max + 1.0));
        }
        assert!(!RANK.allows(1.5) && WHOLE.allows(1.0) && !WHOLE.allows(0.0));
        assert_eq!((EPSILONS.len(), RANK.grid.len()), (29, 41));
        assert_eq!(EPSILON.grid[..29], EPSILONS);
    }
}

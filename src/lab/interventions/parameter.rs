//! The strength that a method is swept over.

/// How the axis of a parameter is drawn and slid along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Even steps.
    Linear,
    /// Even ratios. A value of 0, where allowed, is drawn at the left edge.
    Log,
    /// Whole numbers.
    Integer,
}

/// The parameter of a method. At 0 every method is the identity, except AlterRep, which is INLP there.
#[derive(Debug, PartialEq)]
pub struct Parameter {
    /// The key in findings and specs: `epsilon`, `alpha`, `rank`.
    pub name: &'static str,
    /// The letter on axes: `ε`, `α`, `r`.
    pub symbol: &'static str,
    /// One line of explanation.
    pub doc: &'static str,
    /// The values that are swept, ascending: the paper's grid where it gives one.
    pub grid: &'static [f64],
    /// The axis.
    pub scale: Scale,
    /// Least value that can be asked for.
    pub min: f64,
    /// Largest value that can be asked for.
    pub max: f64,
    /// Where the marker stands first.
    pub default: f64,
}

impl Parameter {
    /// Whether the method can be asked for `value`.
    #[must_use]
    pub fn allows(&self, value: f64) -> bool {
        (self.min..=self.max).contains(&value) && (self.scale != Scale::Integer || value.fract() == 0.0)
    }
}

/// The 29 radii of Canby et al. (their ".07…76" read as .076).
pub const EPSILONS: [f64; 29] = [
    0.005, 0.006, 0.007, 0.009, 0.011, 0.013, 0.016, 0.019, 0.024, 0.029, 0.035, 0.042, 0.051, 0.062, 0.076,
    0.092, 0.112, 0.136, 0.165, 0.2, 0.286, 0.409, 0.585, 0.836, 1.196, 1.71, 2.445, 3.497, 5.0,
];

/// Radius of the maximum-norm ball around an embedding, in the embedding's own units.
pub const EPSILON: Parameter = Parameter {
    name: "epsilon",
    symbol: "ε",
    doc: "largest change of any coordinate of the embedding (maximum norm)",
    grid: &EPSILONS,
    scale: Scale::Log,
    min: 0.0,
    max: 100.0,
    default: 0.112,
};

/// Strengths of AlterRep. The paper reports an optimum of .1 and no grid; this one is ours.
pub const ALPHA: Parameter = Parameter {
    name: "alpha",
    symbol: "α",
    doc: "how far the embedding is pushed along the classifiers' directions, relative to what it had there; 0 is INLP",
    grid: &[0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0],
    scale: Scale::Log,
    min: 0.0,
    max: 100.0,
    default: 0.1,
};

/// Largest number of INLP iterations, of random directions, and of AlterRep's classifiers.
pub const MOST_ITERATIONS: usize = 40;

/// Ranks 0 to 40.
pub const RANKS: [f64; MOST_ITERATIONS + 1] = {
    let mut ranks = [0.0; MOST_ITERATIONS + 1];
    let mut i = 0;
    while i <= MOST_ITERATIONS {
        ranks[i] = i as f64;
        i += 1;
    }
    ranks
};

/// Number of classifiers (for two classes: of directions) taken out.
pub const RANK: Parameter = Parameter {
    name: "rank",
    symbol: "r",
    doc: "iterations of taking a classifier's row space out; one direction each for two classes, up to k - 1 for k",
    grid: &RANKS,
    scale: Scale::Integer,
    min: 0.0,
    max: MOST_ITERATIONS as f64,
    default: 8.0,
};

/// For the control that does nothing.
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
        for p in [&EPSILON, &ALPHA, &RANK, &NONE] {
            assert!(p.grid.windows(2).all(|w| w[0] < w[1]), "{}", p.name);
            assert!(
                p.grid.iter().all(|v| p.allows(*v)) && p.allows(p.default) && p.allows(0.0),
                "{}",
                p.name
            );
            assert!(!p.allows(f64::NAN) && !p.allows(-1.0) && !p.allows(p.max + 1.0));
        }
        assert!(!RANK.allows(1.5));
        assert_eq!((EPSILON.grid.len(), RANK.grid.len()), (29, 41));
    }
}

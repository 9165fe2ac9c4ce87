//! The purpose of random numbers: the address of a stream.
//!
//! A trained probe depends on its initial weights and on the order of its batches. Two probes that drew these from one
//! stream would be correlated where they are assumed independent: an oracle and the probe that an intervention attacks
//! would start from the same weights and agree more than two probes do. Hence the address of a stream includes
//! everything that distinguishes trained probes, and only equal addresses give equal streams. The seed of the data and
//! the split is separate and never part of it.

use super::rng::stream;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// The address of the random streams behind one trained probe or map.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Purpose {
    seed: u64,
    role: String,
    property: String,
    classifier: String,
    recipe: String,
    replicate: usize,
}

impl Purpose {
    /// Probes under `seed` (the seed of training, not of the data) that read `property`, made as `classifier` (`mlp`,
    /// `linear`, or the name of a method of intervention). Replicate 0: the search for probe settings.
    pub fn new(seed: u64, property: &str, classifier: &str) -> Self {
        Self { seed, property: property.into(), classifier: classifier.into(), ..Self::default() }
    }

    /// The same for another replicate. 0 is the search; replicates from 1 on are retrained.
    pub fn replicate(&self, replicate: usize) -> Self {
        Self { replicate, ..self.clone() }
    }

    /// The same for a role and a recipe; the training code sets these, so that no caller can forget them.
    pub fn of(&self, role: &str, recipe: &str) -> Self {
        Self { role: role.into(), recipe: recipe.into(), ..self.clone() }
    }

    /// Index of the replicate.
    pub fn which(&self) -> usize {
        self.replicate
    }

    /// The stream for `what` ("weights", "batches", ...).
    pub fn stream(&self, what: &str) -> ChaCha8Rng {
        stream(self.seed, &self.address(what))
    }

    /// A seed for `what`, for code that derives its own streams from a seed.
    pub fn seed(&self, what: &str) -> u64 {
        self.stream(what).next_u64()
    }

    /// The parts with their lengths, so that two different addresses cannot collide.
    fn address(&self, what: &str) -> String {
        let replicate = self.replicate.to_string();
        let parts = [&self.role, &self.property, &self.classifier, &self.recipe, &replicate, what];
        parts.iter().fold("probe".to_owned(), |all, part| format!("{all} {}:{part}", part.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frozen: if this changes, every published number made with a probe seed changes.
    #[test]
    fn addresses_are_stable() {
        let purpose = Purpose::new(3, "zc", "mlp").replicate(2).of("oracle", "1x64 lr 1e-3");
        assert_eq!(purpose.address("weights"), "probe 6:oracle 2:zc 3:mlp 12:1x64 lr 1e-3 1:2 7:weights");
    }

    /// Every part of the address matters, and none can pass for another.
    #[test]
    fn no_two_purposes_share_a_stream() {
        let base = Purpose::new(3, "zc", "mlp").replicate(1).of("oracle", "1x64");
        let all = [
            base.clone(),
            Purpose::new(4, "zc", "mlp").replicate(1).of("oracle", "1x64"),
            Purpose::new(3, "ze", "mlp").replicate(1).of("oracle", "1x64"),
            Purpose::new(3, "zc", "linear").replicate(1).of("oracle", "1x64"),
            base.replicate(2),
            base.of("interventional", "1x64"),
            base.of("oracle", "1x65"),
            Purpose::new(3, "zc 3:mlp", "").replicate(1).of("oracle", "1x64"),
            Purpose::new(3, "", "zc").replicate(1).of("oracle", "1x64"),
        ];
        let mut first: Vec<u64> = all.iter().map(|p| p.seed("weights")).collect();
        first.push(base.seed("batches"));
        let mut distinct = first.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), first.len());
        assert_eq!(base.clone().seed("weights"), first[0]);
    }
}

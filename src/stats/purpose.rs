//! Addresses of random streams, made from the purpose of the random numbers.
//!
//! A trained probe depends on its initial weights and its batch order. An oracle and an attacked probe that drew these from one stream
//! would start from the same weights and agree too often. Hence the address includes everything that distinguishes trained probes, and only
//! equal addresses give equal streams. The seed of the data and the split is separate and never part of it.

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
    /// The purpose of probes of `property` under the training seed `seed`. `classifier` is `mlp`, `linear` or the name of an intervention.
    /// Replicate 0 is the search for probe settings.
    pub fn new(seed: u64, property: &str, classifier: &str) -> Self {
        Self { seed, property: property.into(), classifier: classifier.into(), ..Self::default() }
    }

    /// The same purpose for a different replicate. 0 is the search; retrained replicates start at 1.
    pub fn replicate(&self, replicate: usize) -> Self {
        Self { replicate, ..self.clone() }
    }

    /// The same purpose with a role and probe settings. The training code sets these, so that no caller can forget them.
    pub fn of(&self, role: &str, recipe: &str) -> Self {
        Self { role: role.into(), recipe: recipe.into(), ..self.clone() }
    }

    pub fn which(&self) -> usize {
        self.replicate
    }

    /// The stream for `what` ("weights", "batches", ...).
    pub fn stream(&self, what: &str) -> ChaCha8Rng {
        stream(self.seed, &self.address(what))
    }

    /// A seed for `what`, for code that derives streams from a seed.
    pub fn seed(&self, what: &str) -> u64 {
        self.stream(what).next_u64()
    }

    /// The parts with their lengths, so that different addresses cannot collide.
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

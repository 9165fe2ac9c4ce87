//! A panel: the probes of one replicate. One run in the paper corresponds to one panel; several show the luck of
//! training.

use std::sync::Arc;

use crate::bench::Chunk;
use crate::key::MethodKey;
use crate::method::Fitted;
use crate::oracle::{Oracle, OracleKind, Sight};
use lab::plan::Roles;
use probe::split::Oracle as OracleRole;
use probe::{Intervention, Probe, Recipe};

/// Maximum number of rivals to run: recipes that the validation examples cannot distinguish from the chosen ones.
pub(crate) const MOST_RIVALS: usize = 2;

/// Kind of panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Trained with a provisional recipe, for a first look while the search runs.
    Provisional,
    /// A replicate of the chosen recipes, from 1.
    Replicate(usize),
    /// One training with the recipes of this rank among the chosen ones' equals, from 1.
    Rival(usize),
}

impl Which {
    /// The replicate whose random streams it uses.
    pub(crate) fn stream(self) -> usize {
        match self {
            Which::Replicate(k) => k,
            Which::Provisional | Which::Rival(_) => 1,
        }
    }

    /// The panel whose fit of a method to use: if the method reads no probe of the panel, fits differ only by their
    /// random stream.
    pub(crate) fn fitted_as(self, reads_probe: bool) -> Which {
        if reads_probe { self } else { Which::Replicate(self.stream()) }
    }

    /// Its name in cache keys.
    pub(crate) fn name(self) -> String {
        match self {
            Which::Provisional => "provisional".into(),
            Which::Replicate(k) => format!("replicate {k}"),
            Which::Rival(r) => format!("rival {r}"),
        }
    }
}

/// A probe within a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    /// The oracle of a kind for the property of a role.
    Oracle(OracleKind, Roles),
    /// The probe under attack.
    Attacked,
}

impl Seat {
    /// The kind of classifier, as in the names of streams.
    pub(crate) fn classifier(self) -> String {
        match self {
            Seat::Oracle(kind, _) => kind.to_string(),
            Seat::Attacked => OracleKind::Mlp.to_string(),
        }
    }

    /// The role of the property that it reads.
    pub(crate) fn role(self) -> Roles {
        match self {
            Seat::Oracle(_, role) => role,
            Seat::Attacked => Roles::Target,
        }
    }
}

/// A trained probe with the role of its place in the panel.
#[derive(Debug, Clone)]
pub(crate) enum Seated {
    /// A judge.
    Oracle(Probe<OracleRole>),
    Attacked(Probe<Intervention>),
}

impl Seated {
    /// Recipes that validate as well as the chosen one, the simplest first.
    pub(crate) fn rivals(&self) -> Vec<Recipe> {
        let standing = match self {
            Seated::Oracle(p) => p.rivals(),
            Seated::Attacked(p) => p.rivals(),
        };
        standing.into_iter().map(|s| s.trial.recipe.clone()).collect()
    }

    /// The chosen recipe.
    pub(crate) fn recipe(&self) -> Option<Recipe> {
        let trial = match self {
            Seated::Oracle(p) => p.chosen(),
            Seated::Attacked(p) => p.chosen(),
        };
        trial.map(|t| t.recipe.clone())
    }

    /// Maximum steps of a replicate.
    pub(crate) fn replicate_steps(&self) -> usize {
        match self {
            Seated::Oracle(p) => p.replicate_steps(),
            Seated::Attacked(p) => p.replicate_steps(),
        }
    }

    /// Serialised for the cache.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Seated::Oracle(p) => p.to_bytes(),
            Seated::Attacked(p) => p.to_bytes(),
        }
    }

    /// Reads the output of [`Self::to_bytes`] for this probe.
    pub(crate) fn from_bytes(seat: Seat, bytes: &[u8]) -> Option<Self> {
        match seat {
            Seat::Oracle(..) => Probe::from_bytes(bytes).ok().map(Seated::Oracle),
            Seat::Attacked => Probe::from_bytes(bytes).ok().map(Seated::Attacked),
        }
    }
}

/// Trained probes with their outputs on the test examples before any intervention, and the fits that depend on them.
#[derive(Clone)]
pub(crate) struct Panel {
    pub which: Which,
    /// The oracles, in the spec's order. A provisional panel has only the first.
    pub oracles: Arc<Vec<Oracle>>,
    /// The attacked probe; `None` if no method of the spec attacks.
    pub attacked: Option<Probe<Intervention>>,
    /// Outputs of the oracles for each chunk read so far.
    pub(crate) sights: Vec<Arc<Vec<Sight>>>,
    /// Fits that depend on this panel.
    pub fits: Vec<(MethodKey, Arc<dyn Fitted>)>,
}

impl Panel {
    /// A panel with the probes from `list`, in the order of `seats`.
    pub(crate) fn new(which: Which, seats: &[Seat], list: Vec<Seated>) -> Self {
        let mut oracles: Vec<Oracle> = Vec::new();
        let (mut attacked, mut target) = (None, None);
        for (seat, probe) in seats.iter().zip(list) {
            match (seat, probe) {
                (Seat::Oracle(_, Roles::Target), Seated::Oracle(p)) => target = Some(p),
                (Seat::Oracle(kind, Roles::Other), Seated::Oracle(other)) => {
                    if let Some(target) = target.take() {
                        oracles.push(Oracle { kind: *kind, target, other, further: Vec::new() });
                    }
                }
                // Follows that of the other property, of the same kind.
                (Seat::Oracle(_, Roles::Further(_)), Seated::Oracle(p)) => {
                    if let Some(oracle) = oracles.last_mut() {
                        oracle.further.push(p);
                    }
                }
                (_, Seated::Attacked(p)) => attacked = Some(p),
                (Seat::Attacked, Seated::Oracle(_)) => {}
            }
        }
        Self { which, oracles: Arc::new(oracles), attacked, sights: Vec::new(), fits: Vec::new() }
    }

    /// Evaluates the oracles on the chunks that are new to it.
    pub(crate) fn look(&mut self, chunks: &[Arc<Chunk>]) {
        for chunk in &chunks[self.sights.len().min(chunks.len())..] {
            self.sights.push(Arc::new(chunk.sights(&self.oracles)));
        }
    }
}

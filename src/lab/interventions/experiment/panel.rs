//! A panel: the probes of one replicate. One run in the paper corresponds to one panel; several show the variation
//! between training runs.

use std::sync::Arc;

use crate::bench::Chunk;
use crate::key::MethodKey;
use crate::method::Fitted;
use crate::oracle::{Oracle, OracleKind, OracleOutput};
use lab::plan::Roles;
use probe::split::Oracle as OracleRole;
use probe::{Intervention, Probe, Recipe};

/// Maximum number of rivals to run: probe settings that the validation examples cannot distinguish from the chosen ones.
pub(crate) const MOST_RIVALS: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Trained with provisional settings, for a first look during the search.
    Provisional,
    /// A replicate with the chosen settings, from 1.
    Replicate(usize),
    /// One training run with other settings that validate equally well, identified by rank from 1.
    Rival(usize),
}

impl Which {
    /// The replicate whose random streams this panel uses.
    pub(crate) fn stream(self) -> usize {
        match self {
            Which::Replicate(k) => k,
            Which::Provisional | Which::Rival(_) => 1,
        }
    }

    /// The panel whose fit of a method is used. Fits of a method that reads no probe differ only by their random stream.
    pub(crate) fn fitted_as(self, reads_probe: bool) -> Which {
        if reads_probe { self } else { Which::Replicate(self.stream()) }
    }

    /// The name in cache keys.
    pub(crate) fn name(self) -> String {
        match self {
            Which::Provisional => "provisional".into(),
            Which::Replicate(k) => format!("replicate {k}"),
            Which::Rival(r) => format!("rival {r}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The oracle of this kind for the property in this role.
    Oracle(OracleKind, Roles),
    Attacked,
}

impl Slot {
    /// The kind of classifier, as named in random streams.
    pub(crate) fn classifier(self) -> String {
        match self {
            Slot::Oracle(kind, _) => kind.to_string(),
            Slot::Attacked => OracleKind::Mlp.to_string(),
        }
    }

    /// The role of the property that the probe reads.
    pub(crate) fn role(self) -> Roles {
        match self {
            Slot::Oracle(_, role) => role,
            Slot::Attacked => Roles::Target,
        }
    }
}

/// A trained probe, by its role in the panel.
#[derive(Debug, Clone)]
pub(crate) enum SlotProbe {
    Oracle(Probe<OracleRole>),
    Attacked(Probe<Intervention>),
}

impl SlotProbe {
    /// Settings that validate as well as the chosen ones, the simplest first.
    pub(crate) fn rivals(&self) -> Vec<Recipe> {
        let standing = match self {
            SlotProbe::Oracle(p) => p.rivals(),
            SlotProbe::Attacked(p) => p.rivals(),
        };
        standing.into_iter().map(|s| s.trial.recipe.clone()).collect()
    }

    pub(crate) fn recipe(&self) -> Option<Recipe> {
        let trial = match self {
            SlotProbe::Oracle(p) => p.chosen(),
            SlotProbe::Attacked(p) => p.chosen(),
        };
        trial.map(|t| t.recipe.clone())
    }

    pub(crate) fn replicate_steps(&self) -> usize {
        match self {
            SlotProbe::Oracle(p) => p.replicate_steps(),
            SlotProbe::Attacked(p) => p.replicate_steps(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            SlotProbe::Oracle(p) => p.to_bytes(),
            SlotProbe::Attacked(p) => p.to_bytes(),
        }
    }

    /// Reads the output of [`Self::to_bytes`] for this slot.
    pub(crate) fn from_bytes(slot: Slot, bytes: &[u8]) -> Option<Self> {
        match slot {
            Slot::Oracle(..) => Probe::from_bytes(bytes).ok().map(SlotProbe::Oracle),
            Slot::Attacked => Probe::from_bytes(bytes).ok().map(SlotProbe::Attacked),
        }
    }
}

/// Trained probes with their outputs on the unedited test examples, and the fits that depend on them.
#[derive(Clone)]
pub(crate) struct Panel {
    pub which: Which,
    /// The oracles in the spec's order; a provisional panel has only the first.
    pub oracles: Arc<Vec<Oracle>>,
    /// The attacked probe; `None` if no method of the spec attacks.
    pub attacked: Option<Probe<Intervention>>,
    /// Outputs of the oracles for each chunk read so far.
    pub(crate) outputs: Vec<Arc<Vec<OracleOutput>>>,
    /// Fits that depend on this panel.
    pub fits: Vec<(MethodKey, Arc<Fitted>)>,
}

impl Panel {
    /// A panel with the probes from `list`, in the order of `slots`.
    pub(crate) fn new(which: Which, slots: &[Slot], list: Vec<SlotProbe>) -> Self {
        let mut oracles: Vec<Oracle> = Vec::new();
        let (mut attacked, mut target) = (None, None);
        for (slot, probe) in slots.iter().zip(list) {
            match (slot, probe) {
                (Slot::Oracle(_, Roles::Target), SlotProbe::Oracle(p)) => target = Some(p),
                (Slot::Oracle(kind, Roles::Other), SlotProbe::Oracle(other)) => {
                    if let Some(target) = target.take() {
                        oracles.push(Oracle { kind: *kind, target, other, further: Vec::new() });
                    }
                }
                // Slots are ordered, so the other property's oracle of this kind is already in the list.
                (Slot::Oracle(_, Roles::Further(_)), SlotProbe::Oracle(p)) => {
                    if let Some(oracle) = oracles.last_mut() {
                        oracle.further.push(p);
                    }
                }
                (_, SlotProbe::Attacked(p)) => attacked = Some(p),
                (Slot::Attacked, SlotProbe::Oracle(_)) => {}
            }
        }
        Self { which, oracles: Arc::new(oracles), attacked, outputs: Vec::new(), fits: Vec::new() }
    }

    /// Evaluates the oracles on the chunks that are new to the panel.
    pub(crate) fn look(&mut self, chunks: &[Arc<Chunk>]) {
        for chunk in &chunks[self.outputs.len().min(chunks.len())..] {
            self.outputs.push(Arc::new(chunk.outputs(&self.oracles)));
        }
    }
}

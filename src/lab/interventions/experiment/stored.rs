//! Cached parts of a bench: probes and fits, under keys that include everything that affects them.

use super::panel::{Slot, Which};
use super::prepare::Bench;
use super::training::is_shared;
use crate::Host;
use crate::answer::oracle_name;
use crate::method::Method;
use crate::options::Options;
use crate::oracle::OracleKind;
use base::Problem;
use lab::fault::Fault;
use lab::host::NoticeLevel;
use lab::plan::Roles;

impl Bench {
    /// Name of a probe in cache keys.
    pub(crate) fn slot_name(&self, slot: Slot) -> String {
        match slot {
            Slot::Oracle(kind, role) => format!("oracle {kind} {}", self.property(role)),
            Slot::Attacked => format!("interventional {}", self.property(Roles::Target)),
        }
    }

    /// Name of a probe in progress messages.
    pub(crate) fn slot_title(&self, slot: Slot) -> String {
        let property = self.property(slot.role()).replace('_', " ");
        match slot {
            Slot::Oracle(kind, _) => format!("{} of {property}", oracle_name(kind)),
            Slot::Attacked => format!("attacked probe of {property}"),
        }
    }

    pub(crate) fn search_key(&self, slot: Slot) -> String {
        let layer = match slot {
            Slot::Oracle(..) => format!("layer {} from resid_post", self.site.oracle_layer),
            Slot::Attacked => format!("layer {}", self.site.layer),
        };
        let (name, grid) = (self.slot_name(slot), self.grid_of(slot).describe());
        format!("{}|training {}|{name}|{layer}|{grid}", self.key, self.spec.probe.seed)
    }

    /// Cache key of a panel's probe; `None` for a provisional probe, because such probes are not cached.
    pub(crate) fn panel_key(&self, slot: Slot, which: Which) -> Option<String> {
        let recipe = self.recipe(slot, which)?.0.describe();
        let worth = which != Which::Provisional;
        worth.then(|| format!("{}|{}|{recipe}", self.search_key(slot), which.name()))
    }

    /// Cache key of a fit; `None` if the fit is not cached. Methods of one family have the same key, and a fit that depends on no training
    /// run serves all panels.
    pub(crate) fn fit_key(&self, method: &Method, options: &Options, which: Which) -> Option<String> {
        // A file's content may change while its name stays the same.
        if method.needs.file || which == Which::Provisional && !is_shared(method) {
            return None;
        }
        let fit_options: Vec<String> = method.fit_options().map(|o| format!("{o}={}", options.real(o))).collect();
        let rests_on = match (is_shared(method), method.needs.mlp) {
            (true, _) => String::new(),
            (false, false) => format!("training {} {}", self.spec.probe.seed, which.name()),
            (false, true) => self.panel_key(Slot::Attacked, which)?,
        };
        Some(format!(
            "{}|fit {}|{}|layer {}|{rests_on}",
            self.key,
            method.family,
            fit_options.join(","),
            self.site.layer,
        ))
    }

    /// Description of the grid that a probe of this kind was chosen from.
    pub(crate) fn grid(&self, kind: Option<OracleKind>) -> String {
        kind.map_or_else(|| self.recipes().describe(), |k| k.grid(self.recipes()).describe())
    }

    /// True if the choice of a probe came from the cache.
    pub(crate) fn was_cached(&self, slot: Slot) -> bool {
        let at = self.chosen.iter().position(|(s, _)| *s == slot);
        at.is_some_and(|i| self.was_stored[i])
    }
}

/// Stores a probe; if the cache cannot be written, the user is notified and the run continues.
pub(crate) fn keep(key: &str, bytes: &[u8], host: &mut Host<'_>) -> Result<(), Fault> {
    let store = host.store();
    if let Err(e) = store.keep_trained(key, bytes) {
        let problem = Problem::new(
            format!("a trained probe could not be cached: {e}"),
            store.place().map_or_else(String::new, |d| d.display().to_string()),
            "set PROBITY_CACHE_DIR to a writable folder",
        );
        host.notice(NoticeLevel::Warning, problem)?;
    }
    Ok(())
}

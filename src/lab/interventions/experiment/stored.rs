//! Cached parts of a bench: probes and fits, under keys that include everything that affects them.

use super::panel::{Seat, Which};
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
    pub(crate) fn seat_name(&self, seat: Seat) -> String {
        match seat {
            Seat::Oracle(kind, role) => format!("oracle {kind} {}", self.property(role)),
            Seat::Attacked => format!("interventional {}", self.property(Roles::Target)),
        }
    }

    /// The probe's name for progress messages.
    pub(crate) fn seat_words(&self, seat: Seat) -> String {
        let property = self.property(seat.role()).replace('_', " ");
        match seat {
            Seat::Oracle(kind, _) => format!("{} of {property}", oracle_name(kind)),
            Seat::Attacked => format!("attacked probe of {property}"),
        }
    }

    /// Key of the choice of a recipe.
    pub(crate) fn search_key(&self, seat: Seat) -> String {
        let layer = match seat {
            Seat::Oracle(..) => format!("layer {} from resid_post", self.site.oracle_layer),
            Seat::Attacked => format!("layer {}", self.site.layer),
        };
        let (name, grid) = (self.seat_name(seat), self.grid_of(seat).describe());
        format!("{}|training {}|{name}|{layer}|{grid}", self.key, self.spec.probe.seed)
    }

    /// Key of a probe of a panel. A provisional one is not cached.
    pub(crate) fn panel_key(&self, seat: Seat, which: Which) -> Option<String> {
        let recipe = self.recipe(seat, which)?.0.describe();
        let worth = which != Which::Provisional;
        worth.then(|| format!("{}|{}|{recipe}", self.search_key(seat), which.name()))
    }

    /// Key of a fit; methods of one family share it, and a fit that uses no panel serves all of them.
    pub(crate) fn fit_key(&self, method: &dyn Method, options: &Options, which: Which) -> Option<String> {
        // The content of a file may change under its name.
        if method.needs().file || which == Which::Provisional && !is_shared(method) {
            return None;
        }
        let fit_options: Vec<String> =
            method.fit_options().iter().map(|o| format!("{o}={}", options.real(o))).collect();
        let rests_on = match (is_shared(method), method.needs().mlp) {
            (true, _) => String::new(),
            (false, false) => format!("training {} {}", self.spec.probe.seed, which.name()),
            (false, true) => self.panel_key(Seat::Attacked, which)?,
        };
        Some(format!(
            "{}|fit {}|{}|layer {}|{rests_on}",
            self.key,
            method.family(),
            fit_options.join(","),
            self.site.layer,
        ))
    }

    /// Description of the grid from which a probe of this kind was chosen.
    pub(crate) fn grid(&self, kind: Option<OracleKind>) -> String {
        kind.map_or_else(|| self.recipes().describe(), |k| k.grid(self.recipes()).describe())
    }

    /// True if the choice of a probe came from the cache.
    pub(crate) fn was_cached(&self, seat: Seat) -> bool {
        let at = self.chosen.iter().position(|(s, _)| *s == seat);
        at.is_some_and(|i| self.was_stored[i])
    }
}

/// Stores a probe; if the cache cannot be written, a notice is enough.
pub(crate) fn keep(key: &str, bytes: &[u8], host: &mut Host<'_>) -> Result<(), Fault> {
    let store = host.store();
    if let Err(e) = store.keep_trained(key, bytes) {
        let problem = Problem {
            what: format!("a trained probe could not be cached: {e}"),
            r#where: store.place().map_or_else(String::new, |d| d.display().to_string()),
            hint: "set PROBITY_CACHE_DIR to a writable folder".into(),
        };
        host.notice(NoticeLevel::Warning, problem)?;
    }
    Ok(())
}

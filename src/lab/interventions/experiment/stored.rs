//! What the cache may hold of a bench: probes and fits, under names that tell everything that shaped them.

use super::prepare::Bench;
use crate::lab::interventions::method::{Fitted, Method};
use crate::lab::interventions::options::Options;
use crate::lab::interventions::oracle::OracleKind;
use crate::lab::plan::Roles;
use crate::lab::store::Store;
use crate::probe::split::Oracle;
use crate::probe::{Intervention, Probe};

impl Bench {
    /// Name of an oracle probe on screens.
    pub(super) fn oracle_name(&self, kind: OracleKind, role: Roles) -> String {
        format!("oracle {kind} {}", self.property(role))
    }

    /// Key of an oracle probe.
    pub(super) fn oracle_key(&self, kind: OracleKind, role: Roles) -> String {
        format!(
            "{}|{}|layer {} from {}|{}",
            self.key,
            self.oracle_name(kind, role),
            self.site.oracle_layer,
            "resid_post",
            kind.grid(&self.grid).describe()
        )
    }

    /// An oracle probe that is there.
    pub(super) fn stored_oracle(
        &self,
        kind: OracleKind,
        role: Roles,
        store: &dyn Store,
    ) -> Option<Probe<Oracle>> {
        store.trained(&self.oracle_key(kind, role)).and_then(|b| Probe::from_bytes(&b).ok())
    }

    /// Name of the interventional perceptron on screens.
    pub(super) fn mlp_name(&self) -> String {
        format!("interventional {}", self.property(Roles::Target))
    }

    /// Key of the interventional perceptron.
    pub(super) fn mlp_key(&self) -> String {
        format!("{}|{}|layer {}|{}", self.key, self.mlp_name(), self.site.layer, self.grid.describe())
    }

    /// The interventional perceptron, if it is there.
    pub(super) fn stored_mlp(&self, store: &dyn Store) -> Option<Probe<Intervention>> {
        store.trained(&self.mlp_key()).and_then(|b| Probe::from_bytes(&b).ok())
    }

    /// Key of a fit; methods of one family share it.
    pub(super) fn fit_key(&self, method: &dyn Method, options: &Options) -> String {
        let fit_options: Vec<String> =
            method.fit_options().iter().map(|o| format!("{o}={}", options.real(o))).collect();
        format!(
            "{}|fit {}|{}|layer {}|grid {}",
            self.key,
            method.family(),
            fit_options.join(","),
            self.site.layer,
            if method.needs().mlp { self.grid.describe() } else { String::new() }
        )
    }

    /// A fit that is there.
    pub(super) fn stored_fit(
        &self,
        method: &dyn Method,
        options: &Options,
        store: &dyn Store,
    ) -> Option<Box<dyn Fitted>> {
        store.trained(&self.fit_key(method, options)).and_then(|b| method.load(&b, options).ok())
    }
}

//! Training: settings are chosen once, then whole panels of probes are trained with them as one batch. Cached probes are not trained again,
//! and texts that no training needs are not run through the model.

use crate::experiment::stages::{STATES, fit_of, search_of, training_of};
use std::sync::Arc;

use super::panel::{MOST_RIVALS, Panel, Slot, SlotProbe, Which};
use super::prepare::Bench;
use super::stored::keep;
use crate::Host;
use crate::key::MethodKey;
use crate::method::{FitData, Fitted, Method};
use crate::options::Options;
use crate::oracle::OracleKind;
use base::matrix::Matrix;
use lab::fault::Fault;
use lab::hidden;
use lab::plan::{Roles, purpose};
use lab::stimuli::Where;
use probe::grid::search;
use probe::train::{Recipe, SEARCH_STEPS};
use probe::{Grid, Intervention, Job, Oracle, OracleSplit, ProbeError, TrainingData, linear, train_all};

pub(crate) struct Fit {
    pub method: &'static Method,
    /// Method and options, the key of its results.
    pub key: MethodKey,
    pub fitted: Arc<Fitted>,
}

/// Training data of the oracles, by the role of their property.
pub(crate) struct OracleData {
    target: TrainingData<Oracle>,
    other: TrainingData<Oracle>,
    further: Vec<TrainingData<Oracle>>,
}

impl OracleData {
    pub(crate) fn of(&self, role: Roles) -> &TrainingData<Oracle> {
        match role {
            Roles::Target => &self.target,
            Roles::Other => &self.other,
            Roles::Further(j) => &self.further[j],
        }
    }
}

/// True if one fit serves all training runs.
pub(crate) fn is_shared(method: &Method) -> bool {
    !method.needs.mlp && !method.needs.random
}

impl Bench {
    pub(crate) fn grid_of(&self, slot: Slot) -> Grid {
        match slot {
            Slot::Oracle(kind, _) => kind.grid(self.recipes()),
            Slot::Attacked => self.recipes().clone(),
        }
    }

    /// The training examples of the oracles, assembled on first use.
    pub(crate) fn oracle_data(&mut self, host: &mut Host<'_>) -> Result<Arc<OracleData>, Fault> {
        if let Some(data) = &self.oracle_data {
            return Ok(data.clone());
        }
        let x = self.embed(&both(self.split.oracle()), (self.site.oracle_layer, Where::Read), "oracle", host)?;
        let of = |role: Roles| -> Result<TrainingData<Oracle>, Fault> {
            let part = self.oracle_part(role)?;
            let (labels, classes) = self.labels.of(role);
            Ok(TrainingData::new(&part, &x, labels, classes)?)
        };
        let further = (0..self.labels.further.len()).map(|j| of(Roles::Further(j)));
        let further = further.collect::<Result<_, _>>()?;
        let data = Arc::new(OracleData { target: of(Roles::Target)?, other: of(Roles::Other)?, further });
        self.oracle_data = Some(data.clone());
        Ok(data)
    }

    /// The examples for fitting methods, assembled on first use.
    pub(crate) fn material(&mut self, host: &mut Host<'_>) -> Result<Arc<TrainingData<Intervention>>, Fault> {
        if let Some(data) = &self.material {
            return Ok(data.clone());
        }
        let part = self.intervention_part();
        let rows: Vec<usize> = part.train().iter().chain(part.validation()).copied().collect();
        let x = self.embed(&rows, (self.site.layer, Where::Changed), "interventional", host)?;
        let (labels, classes) = self.labels.of(Roles::Target);
        let data = Arc::new(TrainingData::new(&part, &x, labels, classes)?);
        // The data omit rows without a target value.
        let kept = part.train().iter().filter(|r| self.labels.target[**r].is_some());
        self.beside = kept.map(|r| self.labels.other[*r]).collect();
        self.material = Some(data.clone());
        Ok(data)
    }

    /// Reads the hidden states of `rows` at a layer and position into a matrix with one row per stimulus.
    fn embed(&self, rows: &[usize], at: (usize, Where), who: &str, host: &mut Host<'_>) -> Result<Matrix, Fault> {
        let seconds = self.states_of(rows.len());
        host.stage(format!("{}: hidden states for {who} probes", self.model.name()), "ex", seconds);
        let some = hidden::hidden(&self.model, &self.stimuli, at, rows, host)?;
        let mut all = Matrix::zeros(self.stimuli.list.len(), some.cols());
        for (i, r) in rows.iter().enumerate() {
            all.row_mut(*r).copy_from_slice(some.row(i));
        }
        Ok(all)
    }

    /// Expected time in seconds to read this number of examples.
    pub(super) fn states_of(&self, rows: usize) -> f64 {
        self.stages.of(STATES) * rows as f64 / self.stimuli.list.len().max(1) as f64
    }

    /// Chooses settings for every probe, or loads the choice from the cache.
    pub(crate) fn choose_recipes(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        for slot in self.slots.clone() {
            if self.searched(slot).is_some() {
                continue;
            }
            let key = self.search_key(slot);
            let stored = host.store().trained(&key).and_then(|b| SlotProbe::from_bytes(slot, &b));
            self.was_stored.push(stored.is_some());
            let chosen = match stored {
                Some(chosen) => chosen,
                None => {
                    let chosen = self.search(slot, host)?;
                    keep(&key, &chosen.to_bytes(), host)?;
                    chosen
                }
            };
            self.chosen.push((slot, chosen));
        }
        Ok(())
    }

    fn search(&mut self, slot: Slot, host: &mut Host<'_>) -> Result<SlotProbe, Fault> {
        let (grid, stage) = (self.grid_of(slot), format!("{}: {}", self.model.name(), self.slot_title(slot)));
        let streams = purpose(&self.labels, slot.role(), &slot.classifier(), self.spec.probe.seed);
        let seconds = self.stages.of(&search_of(slot));
        Ok(match slot {
            Slot::Oracle(_, role) => {
                let data = self.oracle_data(host)?;
                host.stage(stage, "step", seconds);
                SlotProbe::Oracle(search(data.of(role), &grid, &streams, host, &mut |_| {})?)
            }
            Slot::Attacked => {
                let data = self.material(host)?;
                host.stage(stage, "step", seconds);
                SlotProbe::Attacked(search(&data, &grid, &streams, host, &mut |_| {})?)
            }
        })
    }

    pub(crate) fn searched(&self, slot: Slot) -> Option<&SlotProbe> {
        self.chosen.iter().find(|(s, _)| *s == slot).map(|(_, probe)| probe)
    }

    /// Number of rivals, at most [`MOST_RIVALS`].
    pub(crate) fn rival_count(&self) -> usize {
        self.chosen.iter().map(|(_, probe)| probe.rivals().len()).max().unwrap_or(0).min(MOST_RIVALS)
    }

    /// The settings of a probe on a panel, and the maximum number of its training steps.
    pub(crate) fn recipe(&self, slot: Slot, which: Which) -> Option<(Recipe, usize)> {
        let first = || match slot {
            Slot::Oracle(OracleKind::Linear, _) => {
                let middle = linear::grid().recipes.into_iter().nth(1);
                middle.map(|recipe| (recipe, SEARCH_STEPS))
            }
            _ => Some((Recipe::provisional(), SEARCH_STEPS)),
        };
        let chosen = || {
            let seated = self.searched(slot)?;
            Some((seated.recipe()?, seated.replicate_steps()))
        };
        match which {
            Which::Provisional => first(),
            Which::Replicate(_) => chosen(),
            Which::Rival(r) => {
                let rival = self.searched(slot)?.rivals().into_iter().nth(r - 1);
                rival.map(|recipe| (recipe, SEARCH_STEPS)).or_else(chosen)
            }
        }
    }

    /// Trains panels, or loads them from the cache, and adds them to the bench. All missing probes are trained as one batch, earlier
    /// panels first.
    pub(crate) fn train_panels(&mut self, list: &[Which], slots: &[Slot], host: &mut Host<'_>) -> Result<(), Fault> {
        let mut found: Vec<Option<SlotProbe>> = Vec::new();
        let mut missing: Vec<(usize, Slot, Which)> = Vec::new();
        for which in list {
            for slot in slots {
                let key = self.panel_key(*slot, *which);
                let stored = key.and_then(|k| host.store().trained(&k)).and_then(|b| SlotProbe::from_bytes(*slot, &b));
                if stored.is_none() {
                    missing.push((found.len(), *slot, *which));
                }
                found.push(stored);
            }
        }
        for (at, probe) in self.train_missing(&missing, host)? {
            found[at] = Some(probe);
        }
        let mut probes = found.into_iter().flatten();
        for which in list {
            let mine: Vec<SlotProbe> = probes.by_ref().take(slots.len()).collect();
            let mut panel = Panel::new(*which, slots, mine);
            panel.look(&self.chunks);
            self.panels.push(panel);
        }
        Ok(())
    }

    fn train_missing(
        &mut self,
        missing: &[(usize, Slot, Which)],
        host: &mut Host<'_>,
    ) -> Result<Vec<(usize, SlotProbe)>, Fault> {
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let judges = missing.iter().any(|(_, slot, _)| *slot != Slot::Attacked);
        let oracle = if judges { Some(self.oracle_data(host)?) } else { None };
        let attacks = missing.iter().any(|(_, slot, _)| *slot == Slot::Attacked);
        let material = if attacks { Some(self.material(host)?) } else { None };
        let mut jobs = Vec::new();
        for (_, slot, which) in missing {
            let Some((recipe, most)) = self.recipe(*slot, *which) else { continue };
            let seed = self.spec.probe.seed;
            let streams = purpose(&self.labels, slot.role(), &slot.classifier(), seed);
            let streams = streams.replicate(which.stream());
            jobs.extend(match slot {
                Slot::Oracle(_, role) => oracle.as_ref().map(|d| Job::new(d.of(*role), &recipe, most, &streams)),
                Slot::Attacked => material.as_ref().map(|d| Job::new(d, &recipe, most, &streams)),
            });
        }
        let trained = (self.spec.probe.replicates + MOST_RIVALS) as f64;
        let seconds = missing.iter().map(|(_, slot, _)| self.stages.of(&training_of(*slot)) / trained).sum();
        host.stage(format!("{}: {} probes", self.model.name(), jobs.len()), "step", seconds);
        let done = train_all(&jobs, host, &mut |_, _| {})?;
        let mut out = Vec::new();
        for ((at, slot, which), finished) in missing.iter().zip(done) {
            let diverged = || ProbeError::Diverged { grid: self.slot_name(*slot), trials: 1 };
            let finished = finished.ok_or_else(diverged)?;
            let probe = match slot {
                Slot::Oracle(..) => SlotProbe::Oracle(finished.probe()?),
                Slot::Attacked => SlotProbe::Attacked(finished.probe()?),
            };
            if let Some(key) = self.panel_key(*slot, *which) {
                keep(&key, &probe.to_bytes(), host)?;
            }
            out.push((*at, probe));
        }
        Ok(out)
    }

    /// Trains the attacked probe for panels without one, after a request for a method that the spec does not run.
    fn train_attacked(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        if self.panels.iter().all(|p| p.attacked.is_some()) {
            return Ok(());
        }
        if !self.slots.contains(&Slot::Attacked) {
            self.slots.push(Slot::Attacked);
        }
        self.choose_recipes(host)?;
        let bare: Vec<usize> = (0..self.panels.len()).filter(|i| self.panels[*i].attacked.is_none()).collect();
        let list: Vec<(usize, Slot, Which)> =
            bare.iter().map(|i| (*i, Slot::Attacked, self.panels[*i].which)).collect();
        for (at, probe) in self.train_missing(&list, host)? {
            if let SlotProbe::Attacked(probe) = probe {
                self.panels[at].attacked = Some(probe);
            }
        }
        Ok(())
    }

    /// Fits a method for the panel at `at`, or loads the fit from the cache.
    pub(crate) fn fit(
        &mut self,
        at: usize,
        method: &'static Method,
        options: &Options,
        host: &mut Host<'_>,
    ) -> Result<Fit, Fault> {
        let given = options.iter().map(|(o, v)| (o.to_owned(), v)).collect();
        let key = MethodKey::new(method.id, &given);
        if method.needs.twins {
            self.attach_counterfactuals(host)?;
        }
        self.load_given(method, host)?;
        let shared = is_shared(method);
        let which = self.panels[at].which.fitted_as(method.needs.mlp);
        let alike = self.panels.iter().filter(|p| p.which.fitted_as(method.needs.mlp) == which);
        let mut known =
            if shared { self.fits.iter().collect() } else { alike.flat_map(|p| &p.fits).collect::<Vec<_>>() }
                .into_iter();
        if let Some((_, fitted)) = known.find(|(k, _)| *k == key) {
            return Ok(Fit { method, key, fitted: fitted.clone() });
        }
        if method.needs.mlp {
            self.train_attacked(host)?;
        }
        let name = self.fit_key(method, options, which);
        let stored = name.as_ref().and_then(|n| host.store().trained(n));
        let stored = stored.and_then(|b| method.load(&b, options).ok());
        let fitted: Arc<Fitted> = match stored {
            Some(fitted) => fitted.into(),
            None => {
                let data = self.material(host)?;
                let fits = if shared { 1 } else { self.spec.probe.replicates };
                let seconds = self.stages.of(&fit_of(&key)) / fits as f64;
                host.stage(format!("{}: fitting {}", self.model.name(), method.title), "step", seconds);
                let streams = purpose(&self.labels, Roles::Target, method.family, self.spec.probe.seed);
                let streams = streams.replicate(which.stream()).of("interventional", "fit");
                let mlp = self.panels[at].attacked.as_ref();
                let fit_data = FitData {
                    data: &data,
                    mlp,
                    other: &self.beside,
                    given: self.given_to(method),
                    seed: streams.seed("fit"),
                };
                let fitted = method.fit(&fit_data, options, host).map_err(|e| self.not_fitted(method, e))?;
                if let Some(name) = name {
                    keep(&name, &fitted.to_bytes(), host)?;
                }
                fitted.into()
            }
        };
        let known = if shared { &mut self.fits } else { &mut self.panels[at].fits };
        known.push((key.clone(), fitted.clone()));
        Ok(Fit { method, key, fitted })
    }
}

fn both(part: &OracleSplit) -> Vec<usize> {
    part.train().iter().chain(part.validation()).copied().collect()
}

impl Bench {
    /// The settings behind an oracle of the panel at `at`: target's probe, probes of the properties to keep, attacked probe.
    pub(crate) fn recipes_of(&self, at: usize, kind: OracleKind) -> Vec<String> {
        let mine = |s: &&Slot| **s == Slot::Attacked || matches!(s, Slot::Oracle(k, _) if *k == kind);
        let here = self.slots.iter().filter(mine).copied();
        here.filter_map(|s| self.recipe(s, self.panels[at].which)).map(|(r, _)| r.describe()).collect()
    }
}

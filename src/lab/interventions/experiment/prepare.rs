//! From a spec to a bench: data, splits, embeddings, oracles. What is cached is not computed, and what is not needed
//! for that is not embedded.

use std::collections::HashMap;
use std::sync::Arc;

use super::scale::scale;
use crate::base::Problem;
use crate::base::matrix::Matrix;
use crate::corpus::own::Provenance;
use crate::corpus::task::{ExampleSet, Task};
use crate::lab::examples;
use crate::lab::fault::Fault;
use crate::lab::finding::Label;
use crate::lab::hidden;
use crate::lab::host::{Host, NoticeLevel};
use crate::lab::interventions::bench::{Chunk, Site};
use crate::lab::interventions::finding::{DataFinding, Kind};
use crate::lab::interventions::key::MethodKey;
use crate::lab::interventions::method::{FitData, Fitted, Method};
use crate::lab::interventions::options::Options;
use crate::lab::interventions::oracle::{self, Oracle, OracleKind, Sight};
use crate::lab::interventions::spec::Spec;
use crate::lab::plan::{PropertyLabels, Roles, training_part};
use crate::lab::stimuli::Stimuli;
use crate::model::{Model, Offer};
use crate::probe::grid::search;
use crate::probe::{Grid, Intervention, OracleSplit, Probe, Split, TrainingData};
use crate::stats::bootstrap::Resamples;

/// Test examples that answer a slider and give the first estimate of each point.
pub const FIRST_CHUNK: usize = 256;
/// Test examples that are changed together afterwards; between chunks the run looks up.
const CHUNK: usize = 512;
/// Raised when a change of the program changes what a cached probe would be.
const PROBE_VERSION: u32 = 2;

/// One model at one layer, with everything that judges and everything that is changed.
pub struct Bench {
    /// The model.
    pub model: Arc<Model>,
    /// The task.
    pub task: &'static Task,
    /// The examples.
    pub examples: ExampleSet,
    /// Where they are from, if they were not generated.
    pub source: Option<Provenance>,
    /// The examples as the model sees them.
    pub stimuli: Stimuli,
    /// Labels of both properties.
    pub labels: PropertyLabels,
    /// Who trains on what.
    pub split: Split,
    /// Test rows that have a value of the target.
    pub test: Vec<usize>,
    /// Where interventions write and oracles read.
    pub site: Site,
    /// The oracles, in the spec's order.
    pub oracles: Arc<Vec<Oracle>>,
    /// Test examples, ready; the first chunk is the subsample that answers sliders.
    pub chunks: Vec<Arc<Chunk>>,
    /// What the oracles saw in each chunk before any intervention.
    pub sights: Vec<Arc<Vec<Sight>>>,
    /// Share of each target value among the stimuli.
    pub prior: Vec<f64>,
    /// What the run computes.
    pub spec: Spec,
    /// Head of every finding.
    pub label: Label,
    pub(super) grid: Grid,
    pub(super) seed: u64,
    pub(super) key: String,
    material: Option<TrainingData<Intervention>>,
    mlp: Option<Probe<Intervention>>,
    fits: Vec<(MethodKey, Arc<dyn Fitted>)>,
    resamples: HashMap<usize, Arc<Resamples>>,
    pub(super) resample_count: usize,
    cached: HashMap<String, bool>,
}

/// A fitted method together with what names it.
pub struct Fit {
    /// The registry's entry.
    pub method: &'static dyn Method,
    /// Method and options, as results are kept under.
    pub key: MethodKey,
    /// The fit.
    pub fitted: Arc<dyn Fitted>,
}

impl Bench {
    /// Data, stimuli and split; nothing runs through the model yet.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn open(spec: &Spec, model: Arc<Model>, host: &mut dyn Host) -> Result<Self, Fault> {
        model.require(Offer::Hidden)?;
        let task = Task::named(&spec.task.name)?;
        let target = task.property(&spec.task.target).ok_or_else(|| Problem {
            what: format!("task `{}` has no property `{}`", task.id, spec.task.target),
            r#where: "task.target".into(),
            hint: format!("known are {}", task.properties.map(|p| p.id).join(", ")),
        })?;
        let layers = model.depth();
        let place = |what: String| Problem {
            what,
            r#where: "site".into(),
            hint: "set site.layer and site.oracle_layer".into(),
        };
        let layer = spec.site.layer.resolve(layers).map_err(place)?;
        let oracle_layer = spec.site.oracle_layer.map_or(Ok(layer), |l| l.resolve(layers)).map_err(place)?;
        if oracle_layer < layer {
            return Err(
                place(format!("the oracle at layer {oracle_layer} stands before layer {layer}")).into()
            );
        }
        host.stage(format!("{} examples for {}", spec.task.name, model.name()), "ex", 0.5);
        let (examples, source) = examples::of(task, &spec.task, spec.seed, host)?;
        host.poll()?;
        let stimuli = examples::stimuli(task, &model, &examples, source.is_some())?;
        let which = stimuli.list.iter().map(|s| s.example);
        let labels = PropertyLabels::new(task, target, &examples.examples, which);
        let split = Split::new(stimuli.list.len(), spec.seed)?;
        let test: Vec<usize> =
            split.test().rows().iter().copied().filter(|r| labels.target[*r].is_some()).collect();
        let site = Site { layer, oracle_layer };
        let key = format!(
            "v{PROBE_VERSION}|{}|{}|{}|{}|seed {}|target {}",
            model.hash(),
            model.device(),
            examples.hash,
            stimuli.list.len(),
            spec.seed,
            spec.task.target,
        );
        let prior = shares(&labels);
        let grid = Grid::named(&spec.probe.grid).ok_or_else(|| Problem {
            what: format!("there is no grid `{}`", spec.probe.grid),
            r#where: "probe.grid".into(),
            hint: "known are small, paper".into(),
        })?;
        let bench = Self {
            spec: spec.clone(),
            label: Label::new(&spec.clone().into(), model.name()),
            model,
            task,
            examples,
            source,
            stimuli,
            labels,
            split,
            test,
            site,
            oracles: Arc::default(),
            chunks: Vec::new(),
            sights: Vec::new(),
            prior,
            grid,
            seed: spec.seed,
            key,
            material: None,
            mlp: None,
            fits: Vec::new(),
            resamples: HashMap::new(),
            resample_count: spec.interval.resamples,
            cached: HashMap::new(),
        };
        if bench.test.is_empty() {
            let what = "no test example has a value of the target".to_owned();
            return Err(Problem { what, r#where: "task".into(), hint: "raise task.examples".into() }.into());
        }
        Ok(bench)
    }

    /// Reads the first test chunk.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn read_first(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        self.read_chunk(0..FIRST_CHUNK.min(self.test.len()), host)
    }

    /// The grid from which perceptrons are chosen.
    pub fn recipes(&self) -> &Grid {
        &self.grid
    }

    fn read_chunk(&mut self, range: std::ops::Range<usize>, host: &mut dyn Host) -> Result<(), Fault> {
        let rows = &self.test[range];
        let h = self.hidden(rows, self.site.layer, host)?;
        let chunk = Chunk::with(h, &self.model, &self.stimuli, &self.labels, rows, self.site, host)?;
        self.sights.push(Arc::new(chunk.sights(&self.oracles)));
        self.chunks.push(Arc::new(chunk));
        Ok(())
    }

    /// Reads the test chunks that are still missing.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn read_rest(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        let mut begin: usize = self.chunks.iter().map(|c| c.len()).sum();
        while begin < self.test.len() {
            let end = (begin + CHUNK).min(self.test.len());
            self.read_chunk(begin..end, host)?;
            begin = end;
        }
        Ok(())
    }

    /// Reports on the data.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn report_data(&self, host: &mut dyn Host) -> Result<(), Fault> {
        let part = self.split.oracle();
        let before: Vec<usize> = part.train().iter().chain(part.validation()).copied().collect();
        let kept = training_part(part, &self.labels, Roles::Target, self.seed)?;
        let after: Vec<usize> = kept.train().iter().chain(kept.validation()).copied().collect();
        let names = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect();
        let target = self.labels.target_property;
        if let Some(source) = self.source.as_ref().filter(|s| s.lost() > 0) {
            let what = format!("{} of {} rows of {} dropped", source.lost(), source.rows, source.path);
            let hint = "`probity data doctor` says more".into();
            host.notice(NoticeLevel::Info, Problem { what, r#where: "task.data".into(), hint })?;
        }
        let dropped = self.stimuli.dropped_forms + self.stimuli.dropped_texts;
        if dropped > 0 {
            host.notice(
                NoticeLevel::Info,
                Problem {
                    what: format!(
                        "{dropped} of {} examples left out ({} verb pairs are not single tokens, {} texts unreadable)",
                        self.examples.examples.len(),
                        self.stimuli.dropped_forms,
                        self.stimuli.dropped_texts
                    ),
                    r#where: self.model.name().to_owned(),
                    hint: String::new(),
                },
            )?;
        }
        let body = Kind::Data(DataFinding {
            task: self.task.id.to_owned(),
            data_hash: self.examples.hash.chars().take(12).collect(),
            source: self.source.clone(),
            model_hash: self.model.hash().chars().take(12).collect(),
            layer: self.site.layer,
            layers: self.model.depth(),
            dim: self.model.embed_dim(),
            counts: self.labels.table(&self.test),
            target_values: names(self.task.properties[target].values),
            other_values: names(self.task.properties[1 - target].values),
            n_oracle: (before.len(), after.len()),
            n_intervention: self.split.intervention().train().len(),
            n_test: self.test.len(),
            phi: (self.labels.phi(&before), self.labels.phi(&after)),
            scale: scale(&self.chunks[0].h),
        });
        let finding = self.label.finding(self.stimuli.list.len(), true, host.elapsed(), body);
        Ok(host.find(finding)?)
    }

    /// Name of the property of a role.
    pub fn property(&self, role: Roles) -> &'static str {
        let target = self.labels.target_property;
        self.task.properties[if role == Roles::Target { target } else { 1 - target }].id
    }

    /// Trains or recalls the oracles.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn train_oracles(&mut self, kinds: &[OracleKind], host: &mut dyn Host) -> Result<(), Fault> {
        let mut x: Option<Matrix> = None;
        let mut oracles = Vec::new();
        for kind in kinds {
            let mut pair = Vec::new();
            for role in [Roles::Target, Roles::Other] {
                let grid = kind.grid(&self.grid);
                let (name, key) = (self.oracle_name(*kind, role), self.oracle_key(*kind, role));
                let stored = self.stored_oracle(*kind, role, host.store().as_ref());
                self.cached.insert(name.clone(), stored.is_some());
                let probe = match stored {
                    Some(probe) => probe,
                    None => {
                        let part = training_part(self.split.oracle(), &self.labels, role, self.seed)?;
                        let x = self.embed_oracle(&mut x, host)?;
                        host.stage(format!("{}: {name}", self.model.name()), "step", 1.0);
                        let probe = oracle::train(&part, x, &self.labels, role, &grid, self.seed, host)?;
                        keep(&key, &probe.to_bytes(), host)?;
                        probe
                    }
                };
                pair.push(probe);
            }
            let (Some(other), Some(target)) = (pair.pop(), pair.pop()) else { continue };
            oracles.push(Oracle { kind: *kind, target, other });
        }
        self.oracles = Arc::new(oracles);
        self.sights = self.chunks.iter().map(|c| Arc::new(c.sights(&self.oracles))).collect();
        Ok(())
    }

    fn embed_oracle<'x>(&self, x: &'x mut Option<Matrix>, host: &mut dyn Host) -> Result<&'x Matrix, Fault> {
        let rows = both(self.split.oracle());
        let made = match x.take() {
            Some(made) => made,
            None => self.embed(&rows, self.site.oracle_layer, "oracle", host)?,
        };
        Ok(x.insert(made))
    }

    fn hidden(&self, rows: &[usize], layer: usize, host: &mut dyn Host) -> Result<Matrix, Fault> {
        hidden::hidden(&self.model, &self.stimuli, layer, rows, host)
    }

    /// Hidden states of `rows` at `layer`, at their places in a matrix with one row per stimulus.
    fn embed(&self, rows: &[usize], layer: usize, who: &str, host: &mut dyn Host) -> Result<Matrix, Fault> {
        host.stage(format!("{}: hidden states for {who} probes", self.model.name()), "ex", 3.0);
        let some = self.hidden(rows, layer, host)?;
        let mut all = Matrix::zeros(self.stimuli.list.len(), some.cols());
        for (i, r) in rows.iter().enumerate() {
            all.row_mut(*r).copy_from_slice(some.row(i));
        }
        Ok(all)
    }

    fn material(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        if self.material.is_none() {
            let part = self.split.intervention();
            let rows: Vec<usize> = part.train().iter().chain(part.validation()).copied().collect();
            let x = self.embed(&rows, self.site.layer, "interventional", host)?;
            let (labels, classes) = self.labels.of(Roles::Target);
            self.material = Some(TrainingData::new(part, &x, labels, classes)?);
        }
        Ok(())
    }

    /// Trains or recalls the interventional perceptron.
    pub(super) fn train_mlp(&mut self, host: &mut dyn Host) -> Result<(), Fault> {
        if self.mlp.is_some() {
            return Ok(());
        }
        let (name, key) = (self.mlp_name(), self.mlp_key());
        let stored = self.stored_mlp(host.store().as_ref());
        self.cached.insert("interventional".into(), stored.is_some());
        self.mlp = Some(match stored {
            Some(probe) => probe,
            None => {
                self.material(host)?;
                let Some(data) = &self.material else { return Err(Fault::Cancelled) };
                host.stage(format!("{}: {name}", self.model.name()), "step", 1.0);
                let probe = search(data, &self.grid, self.seed, host, &mut |_| {})?;
                keep(&key, &probe.to_bytes(), host)?;
                probe
            }
        });
        Ok(())
    }

    /// The interventional perceptron, once some method needed it.
    pub fn mlp(&self) -> Option<&Probe<Intervention>> {
        self.mlp.as_ref()
    }

    /// Whether a probe came from the cache.
    pub fn was_cached(&self, name: &str) -> bool {
        self.cached.get(name).copied().unwrap_or(false)
    }

    /// Description of the grid a probe of this kind was chosen from.
    pub fn grid(&self, kind: Option<OracleKind>) -> String {
        kind.map_or_else(|| self.grid.describe(), |k| k.grid(&self.grid).describe())
    }

    /// Fits or recalls a method.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn fit(
        &mut self,
        method: &'static dyn Method,
        options: &Options,
        host: &mut dyn Host,
    ) -> Result<Fit, Fault> {
        let given = options.iter().map(|(o, v)| (o.to_owned(), v)).collect();
        let name = MethodKey::new(method.id(), &given);
        if let Some((_, fitted)) = self.fits.iter().find(|(key, _)| *key == name) {
            return Ok(Fit { method, key: name, fitted: fitted.clone() });
        }
        if method.needs().mlp {
            self.train_mlp(host)?;
        }
        let key = self.fit_key(method, options);
        let stored = self.stored_fit(method, options, host.store().as_ref());
        let fitted: Arc<dyn Fitted> = match stored {
            Some(fitted) => fitted.into(),
            None => {
                self.material(host)?;
                let Some(data) = &self.material else { return Err(Fault::Cancelled) };
                host.stage(format!("{}: fitting {}", self.model.name(), method.title()), "step", 1.0);
                let fit_data = FitData { data, mlp: self.mlp.as_ref(), seed: self.seed };
                let fitted = method.fit(&fit_data, options, host)?;
                keep(&key, &fitted.to_bytes(), host)?;
                fitted.into()
            }
        };
        self.fits.push((name.clone(), fitted.clone()));
        Ok(Fit { method, key: name, fitted })
    }

    /// Resamples of `n` examples, drawn once.
    pub fn resamples(&mut self, n: usize) -> Arc<Resamples> {
        let (count, seed) = (self.resample_count, self.seed);
        self.resamples.entry(n).or_insert_with(|| Arc::new(Resamples::new(n, count, seed))).clone()
    }
}

fn both(part: &OracleSplit) -> Vec<usize> {
    part.train().iter().chain(part.validation()).copied().collect()
}

/// Stores a probe; a store that cannot be written is worth a notice, not an end.
fn keep(key: &str, bytes: &[u8], host: &mut dyn Host) -> Result<(), Fault> {
    let store = host.store();
    if let Err(e) = store.keep_trained(key, bytes) {
        let problem = Problem {
            what: format!("a trained probe could not be cached: {e}"),
            r#where: store.place().map_or_else(String::new, |d| d.display().to_string()),
            hint: "set PROBITY_CACHE_DIR to a folder that can be written".into(),
        };
        host.notice(NoticeLevel::Warning, problem)?;
    }
    Ok(())
}

fn shares(labels: &PropertyLabels) -> Vec<f64> {
    let mut counts = vec![0.0; labels.target_classes];
    labels.target.iter().flatten().for_each(|t| counts[*t] += 1.0);
    let sum: f64 = counts.iter().sum();
    counts.iter().map(|c| c / sum).collect()
}

//! Prepares a bench from a spec: data, splits, test examples, and the random draws shared by all of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::distance_meter::DistanceMeter;
use super::lens;
use super::panel::{Panel, Slot, SlotProbe, Which};
use super::training::OracleData;
use crate::Host;
use crate::bench::{Chunk, Site};
use crate::key::MethodKey;
use crate::method::Fitted;
use crate::registry::find;
use crate::spec::Spec;
use crate::table::Further;
use crate::tokens::{Rows, Texts, oracle_part};
use base::Problem;
use corpus::own::Provenance;
use corpus::task::{ExampleSet, Task};
use lab::LabSpec as _;
use lab::demand::Seconds;
use lab::examples;
use lab::fault::Fault;
use lab::finding::Label;
use lab::hidden;
use lab::host::NoticeLevel;
use lab::plan::{PropertyLabels, Roles};
use lab::stimuli::{Stimuli, Where};
use model::{Model, Offer};
use probe::given::Given;
use probe::split::SplitError;
use probe::{Grid, Intervention, InterventionSplit, OracleSplit, Split, TrainingData};
use stats::bootstrap::Resamples;
use stats::halves::{HALVINGS, Halves};

/// Number of test examples for answering questions from a slider, and for the first estimate of each point.
pub(crate) const FIRST_CHUNK: usize = 256;
/// Minimum number of texts in the first chunk, if rows are tokens: with fewer, the exact bound determines the width of the bands.
const FIRST_TEXTS: usize = 64;
/// Number of test examples edited together afterwards; the run checks for commands between chunks.
const CHUNK: usize = 512;
/// Number of chunks that a rival judges. The range over rivals needs no more, and its n is shown.
pub(crate) const RIVAL_CHUNKS: usize = 2;
pub(crate) const RIVAL_EXAMPLES: usize = FIRST_CHUNK + CHUNK;
/// Increased when a change of the program changes cached probes.
const PROBE_VERSION: u32 = 3;

/// One model at one layer, with all probes and all examples to edit.
#[derive(Clone)]
pub(crate) struct Bench {
    pub model: Arc<Model>,
    pub task: &'static Task,
    pub examples: Arc<ExampleSet>,
    /// Origin of the examples, unless generated.
    pub source: Option<Provenance>,
    /// The examples as inputs of the model.
    pub stimuli: Arc<Stimuli>,
    /// The texts of the stimuli, if these are tokens.
    pub texts: Option<Arc<Texts>>,
    pub labels: PropertyLabels,
    /// The examples that train each probe.
    pub split: Split,
    /// Test examples that have a value of the target, as rows of the stimuli.
    pub test: Vec<usize>,
    /// Index of each test row's text; `None` if every row is a separate text.
    test_texts: Option<Vec<usize>>,
    pub site: Site,
    /// Layers of the map, ascending; empty without a map.
    pub map: Vec<usize>,
    /// Trained probes: the replicates in order, then the rivals; until these are trained, a single provisional panel.
    pub panels: Vec<Panel>,
    pub(crate) slots: Vec<Slot>,
    /// The chosen settings for each probe, with all trials.
    pub chosen: Vec<(Slot, SlotProbe)>,
    /// For each probe, true if its settings came from the cache.
    pub(crate) was_stored: Vec<bool>,
    /// Prepared test examples; the first chunk is the subsample used to answer questions from sliders.
    pub chunks: Vec<Arc<Chunk>>,
    /// Share of each target value among the stimuli.
    pub prior: Vec<f64>,
    pub spec: Spec,
    /// Header of every finding.
    pub label: Label,
    /// Candidate settings for probes.
    pub(super) grid: Grid,
    pub(super) seed: u64,
    /// Prefix of the cache keys of probes.
    pub(super) key: String,
    /// Training data of the oracles, once assembled.
    pub(super) oracle_data: Option<Arc<OracleData>>,
    /// Data for the attacked probe and the methods, once assembled.
    pub(super) material: Option<Arc<TrainingData<Intervention>>>,
    /// Values of the other property in the training part of `material`, once assembled.
    pub(super) beside: Vec<Option<usize>>,
    /// The counterfactuals of all test examples, once a method has requested them.
    pub(super) twins: Option<Arc<Stimuli>>,
    /// Expected seconds of the run's stages, once forecast.
    pub(super) stages: Seconds,
    /// Distance meter for edited states, once a method is applied.
    pub(super) distance_meter: Option<Arc<DistanceMeter>>,
    /// Files of the user's own interventions, by method.
    pub(super) given: Vec<(&'static str, Arc<Given>)>,
    pub(super) fits: Vec<(MethodKey, Arc<Fitted>)>,
    resamples: HashMap<usize, Arc<Resamples>>,
    halves: HashMap<usize, Arc<Halves>>,
    pub(super) resample_count: usize,
}

/// Resolves the run's layers (and the map's) in a model with `layers` layers.
fn places(spec: &Spec, layers: usize) -> Result<(Site, Vec<usize>), Problem> {
    let place = |what: String| Problem::new(what, "site", "set `site.layer` and `site.oracle_layer`");
    let layer = spec.site.layer.resolve(layers).map_err(place)?;
    let oracle_layer = spec.site.oracle_layer.map_or(Ok(layer), |l| l.resolve(layers)).map_err(place)?;
    if oracle_layer < layer {
        return Err(place(format!("the oracle's layer {oracle_layer} is before the intervention's layer {layer}")));
    }
    if let Some(read) = spec.task.read_elsewhere().filter(|_| oracle_layer == layer) {
        let (edit, read) = (spec.task.position.title(), read.title());
        return Err(Problem::new(
            format!(
                "at layer {layer}, an edit at one position ({edit}) has not yet reached the position where the oracles read ({read})"
            ),
            "task.oracle_position",
            "set `site.layer` to an earlier layer and `site.oracle_layer` to a later one",
        ));
    }
    let map = spec.map.as_ref().map_or(Ok(Vec::new()), |map| map.resolve(layers)).map_err(|what| {
        let (r#where, hint) = ("map.layers", "choose other layers, or remove the map");
        Problem::new(what, r#where, hint)
    })?;
    spec.lens.as_ref().map_or(Ok(Vec::new()), |spec| lens::layers(spec, layers))?;
    Ok((Site { layer, oracle_layer }, map))
}

/// Warns of labels that differ only in case.
fn warn(task: &Task, host: &mut Host<'_>) -> Result<(), Fault> {
    for property in task.labelled().filter(|_| task.is_own()) {
        if let Some(problem) = examples::case_notice(property.values.iter().copied()) {
            host.notice(NoticeLevel::Warning, problem)?;
        }
    }
    Ok(())
}

impl Bench {
    /// Prepares data, stimuli and split, before anything runs through the model.
    pub(crate) fn open(spec: &Spec, model: Arc<Model>, host: &mut Host<'_>) -> Result<Self, Fault> {
        model.require(Offer::Hidden)?;
        let task = spec.task.task(host)?;
        warn(task, host)?;
        let target = task.property(&spec.task.target).ok_or_else(|| {
            Problem::new(
                format!("task `{}` has no property `{}`", task.id, spec.task.target),
                "task.target",
                format!("choose one of {}", task.properties.map(|p| p.id).join(", ")),
            )
        })?;
        let (site, map) = places(spec, model.depth())?;
        host.stage(format!("{} examples for {}", spec.subject(), model.name()), "ex", 0.0);
        let (examples, source) = examples::of(task, &spec.task, spec.seed, host)?;
        host.poll()?;
        let stimuli = examples::stimuli(task, &model, &examples, (source.is_some(), spec.task.long), host)?;
        let which = stimuli.list.iter().map(|s| s.example);
        let labels = PropertyLabels::new(task, target, &examples.examples, which.clone());
        let labels = labels.with(task, spec.task.further(), &examples.examples, which);
        let split = Split::new(stimuli.list.len(), spec.seed)?;
        one_valued(&labels, &split)?;
        let Rows { stimuli, labels, split, texts } = Rows::new(stimuli, labels, split, &spec.task);
        let test: Vec<usize> = split.test().rows().iter().copied().filter(|r| labels.target[*r].is_some()).collect();
        let test_texts = texts.as_ref().map(|texts| texts.number(&stimuli, &test));
        let per_text = texts.as_ref().map_or_else(String::new, |texts| format!("|{} tokens per text", texts.per_text));
        let key = format!(
            "v{PROBE_VERSION}|{}|{}|{}|{}|seed {}|target {}{per_text}",
            model.hash(),
            model.device(),
            examples.hash,
            stimuli.list.len(),
            spec.seed,
            spec.task.target,
        );
        let prior = shares(&labels);
        let grid = grid(spec)?;
        let bench = Self {
            spec: spec.clone(),
            label: Label::new(spec, model.name()),
            model,
            task,
            examples: Arc::new(examples),
            source,
            stimuli: Arc::new(stimuli),
            texts: texts.map(Arc::new),
            labels,
            split,
            test,
            test_texts,
            site,
            map,
            panels: Vec::new(),
            slots: slots(spec),
            chosen: Vec::new(),
            was_stored: Vec::new(),
            chunks: Vec::new(),
            prior,
            grid,
            seed: spec.seed,
            key,
            oracle_data: None,
            material: None,
            beside: Vec::new(),
            twins: None,
            stages: Seconds::default(),
            distance_meter: None,
            given: Vec::new(),
            fits: Vec::new(),
            resamples: HashMap::new(),
            halves: HashMap::new(),
            resample_count: spec.interval.resamples,
        };
        if bench.test.is_empty() {
            let what = "no test example has a value of the target";
            return Err(Problem::new(what, "task", "raise `task.examples`").into());
        }
        Ok(bench)
    }

    /// Number of test examples judged at each strength, counted once for every replicate and rival.
    pub(crate) fn judged(&self, replicates: usize, rivals: usize) -> usize {
        self.test.len() * replicates + self.test.len().min(RIVAL_EXAMPLES) * rivals
    }

    /// The same data and spec with interventions and oracles at `layer`. No states of this layer have been read and no probes have been
    /// trained on them yet; at the bench's own layer, its probes are reused without the rivals.
    pub(crate) fn at_layer(&self, layer: usize) -> Self {
        let site = Site { layer, oracle_layer: layer };
        let mut bench = Self {
            site,
            source: None,
            map: Vec::new(),
            oracle_data: None,
            stages: Seconds::default(),
            distance_meter: None,
            given: Vec::new(),
            resamples: HashMap::new(),
            halves: HashMap::new(),
            ..self.clone()
        };
        if site == self.site {
            bench.panels.retain(|p| matches!(p.which, Which::Replicate(_)));
        } else {
            bench.panels.clear();
            bench.chosen.clear();
            bench.was_stored.clear();
            bench.chunks.clear();
            bench.material = None;
            bench.beside.clear();
            bench.fits.clear();
        }
        bench
    }

    pub(crate) fn read_first(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        self.read_chunk(0..self.chunk_end(0, FIRST_CHUNK), host)
    }

    /// End of a chunk of `size` test rows from `begin` on, or of a few more: a chunk has all rows of its texts.
    fn chunk_end(&self, begin: usize, size: usize) -> usize {
        let mut end = (begin + size).min(self.test.len());
        if let Some(texts) = &self.test_texts {
            while end < texts.len() && (texts[end] == texts[end - 1] || texts[end] < FIRST_TEXTS) {
                end += 1;
            }
        }
        end
    }

    /// True if the model can predict one of two forms.
    pub(crate) fn asks(&self) -> bool {
        self.model.has_head() && self.labels.target_classes == 2 && self.stimuli.list.iter().all(|s| s.forms.is_some())
    }

    /// The grid of candidate settings for perceptrons.
    pub(crate) fn recipes(&self) -> &Grid {
        &self.grid
    }

    fn read_chunk(&mut self, range: std::ops::Range<usize>, host: &mut Host<'_>) -> Result<(), Fault> {
        let rows = &self.test[range];
        let h = hidden::hidden(&self.model, &self.stimuli, (self.site.layer, Where::Changed), rows, host)?;
        let mut chunk = Chunk::with(h, &self.model, &self.stimuli, &self.labels, rows, self.site, host)?;
        chunk.distance = self.spec.distance;
        self.chunks.push(Arc::new(chunk));
        self.panels.iter_mut().for_each(|p| p.look(&self.chunks));
        Ok(())
    }

    pub(crate) fn read_rest(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        let mut begin: usize = self.chunks.iter().map(|c| c.len()).sum();
        while begin < self.test.len() {
            let end = self.chunk_end(begin, CHUNK);
            self.read_chunk(begin..end, host)?;
            begin = end;
        }
        Ok(())
    }

    /// The rows that train interventions.
    pub(crate) fn intervention_part(&self) -> Cow<'_, InterventionSplit> {
        self.texts.as_ref().map_or(Cow::Borrowed(self.split.intervention()), |texts| Cow::Owned(texts.intervention()))
    }

    /// The rows that train a property's oracle.
    pub(crate) fn oracle_part(&self, role: Roles) -> Result<OracleSplit, SplitError> {
        oracle_part(self.texts.as_deref(), (&self.split, &self.labels), role, self.seed)
    }

    /// The first of `rows` of each text, for predictions, which the model makes once per text.
    pub(crate) fn one_per_text(&self, rows: &[usize]) -> Vec<usize> {
        self.stimuli.texts(rows).iter().map(|places| rows[places[0]]).collect()
    }

    /// Index of the text of each of the first `n` test rows; `None` if every row is a separate text.
    pub(crate) fn texts_of(&self, n: usize) -> Option<&[usize]> {
        self.test_texts.as_deref().map(|texts| &texts[..n])
    }

    pub(crate) fn property(&self, role: Roles) -> &'static str {
        let target = self.labels.target_property;
        match role {
            Roles::Target => self.task.properties[target].id,
            Roles::Other => self.task.properties[1 - target].id,
            Roles::Further(j) => self.labels.further[j].id,
        }
    }

    /// The additional properties of the first `n` test examples.
    pub(crate) fn further(&self, n: usize) -> Vec<Further> {
        let each = self.labels.further.iter();
        each.map(|f| Further {
            name: f.id,
            values: self.test[..n].iter().map(|r| f.values[*r]).collect(),
            classes: f.classes,
        })
        .collect()
    }

    /// True values of the other property for the first `n` test examples.
    pub(crate) fn other(&self, n: usize) -> Vec<Option<usize>> {
        self.test[..n].iter().map(|r| self.labels.other[*r]).collect()
    }

    /// For each independent unit among the first `n` test rows, the value of the other property. An undefined value counts as an
    /// additional one.
    pub(crate) fn strata(&self, n: usize) -> Vec<usize> {
        let none = self.labels.other_classes;
        let strata: Vec<usize> = self.other(n).into_iter().map(|o| o.unwrap_or(none)).collect();
        let Some(texts) = self.texts_of(n) else { return strata };
        // All rows of a text have its value.
        let begins = |row: &usize| *row == 0 || texts[*row] != texts[*row - 1];
        (0..n).filter(begins).map(|row| strata[row]).collect()
    }

    /// Halvings of the first `n` test rows by text, stratified by the other property, drawn once.
    pub(crate) fn halves(&mut self, n: usize) -> Arc<Halves> {
        let (strata, seed) = (self.strata(n), self.seed);
        self.halves.entry(n).or_insert_with(|| Arc::new(Halves::new(&strata, HALVINGS, seed))).clone()
    }

    /// Number of replicate panels, or 1 for the provisional one.
    pub(crate) fn replicates(&self) -> usize {
        self.panels.iter().filter(|p| !matches!(p.which, Which::Rival(_))).count()
    }

    /// Resamples of the first `n` test rows by text, drawn once.
    pub(crate) fn resamples(&mut self, n: usize) -> Arc<Resamples> {
        self.resamples_of(self.texts_of(n).map_or(n, |texts| texts.last().map_or(0, |last| last + 1)))
    }

    /// Resamples of `n` independent units, drawn once.
    pub(crate) fn resamples_of(&mut self, n: usize) -> Arc<Resamples> {
        let (count, seed) = (self.resample_count, self.seed);
        self.resamples.entry(n).or_insert_with(|| Arc::new(Resamples::new(n, count, seed))).clone()
    }
}

/// Before anything is read, reports an additional property that cannot be judged because it has fewer than two values in the oracles' part.
fn one_valued(labels: &PropertyLabels, split: &Split) -> Result<(), Problem> {
    for f in &labels.further {
        let oracle = split.oracle().train().iter().chain(split.oracle().validation());
        for (who, rows) in [("oracle", oracle.copied().collect::<Vec<usize>>()), ("test", split.test().rows().to_vec())]
        {
            let mut seen: Vec<usize> = rows.iter().filter_map(|r| f.values[*r]).collect();
            seen.sort_unstable();
            seen.dedup();
            if seen.len() < 2 {
                return Err(Problem::new(
                    format!(
                        "the {who} examples contain only {} of the {} values of `{}`, so its selectivity is undefined",
                        seen.len(),
                        f.classes,
                        f.id
                    ),
                    "task.also",
                    "remove the property from `task.also`, or add examples with its other values",
                ));
            }
        }
    }
    Ok(())
}

fn grid(spec: &Spec) -> Result<Grid, Problem> {
    Grid::named(&spec.probe.grid).ok_or_else(|| {
        Problem::new(format!("unknown grid `{}`", spec.probe.grid), "probe.grid", "choose `small` or `paper`")
    })
}

fn slots(spec: &Spec) -> Vec<Slot> {
    let further = (0..spec.task.further().len()).map(Roles::Further);
    let roles: Vec<Roles> = [Roles::Target, Roles::Other].into_iter().chain(further).collect();
    let judges = spec.probe.oracles.iter().flat_map(|k| roles.iter().map(|role| Slot::Oracle(*k, *role)));
    let attacks = spec.methods.iter().any(|m| find(&m.name).is_some_and(|m| m.needs.mlp));
    judges.chain(attacks.then_some(Slot::Attacked)).collect()
}

fn shares(labels: &PropertyLabels) -> Vec<f64> {
    let mut counts = vec![0.0; labels.target_classes];
    labels.target.iter().flatten().for_each(|t| counts[*t] += 1.0);
    let sum: f64 = counts.iter().sum();
    counts.iter().map(|c| c / sum).collect()
}

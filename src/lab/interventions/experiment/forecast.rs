//! Forecast of a run: memory computed from counts, time from counted work.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::memory::Counts;
use super::panel::{MOST_RIVALS, Slot, Which};
use super::prepare::Bench;
use super::stages::{LENS, MAP, STATES, fit_of, leaks_of, search_of, sweep_of, training_of};
use super::training::is_shared;
use super::{lens, map};
use crate::Host;
use crate::InterventionError;
use crate::assess::assess;
use crate::bench::Judges;
use crate::distance::{Meter, REAL_STATES};
use crate::method::{FitData, Fitted, Goal, Method};
use crate::options::Options;
use crate::oracle::{Oracle, OracleKind};
use crate::registry::find;
use crate::score::{ExampleScores, Kept};
use crate::spec::MethodSpec;
use crate::table::{Judged as Scored, Sweep};
use crate::tally::Tally;
use base::size::show;
use base::{Cancelled, NoPulse, Problem};
use lab::demand::{Forecast, MemoryPart, Seconds, Stages, peak, resident};
use lab::fault::Fault;
use lab::hidden;
use lab::stimuli::Where;
use lab::store::Store;
use probe::train::{EPOCH, Recipe, SEARCH_STEPS, train};
use probe::{Grid, Intervention, Labelled, Mlp, Probe, Split, TrainingData};
use stats::Purpose;
use stats::bootstrap::Resamples;
use stats::halves::{HALVINGS, Halves};
use stats::rng::stream;

/// Number of test examples that are read to time the reading of hidden states.
const SLICE: usize = 192;
/// Number of steps that are run to time training.
const STEPS: usize = 100;
/// Number of steps after which most networks of a grid have converged, between [`EPOCH`] (a perfect first validation) and [`SEARCH_STEPS`].
const EXPECTED_STEPS: usize = 700;
/// Number of strengths, spread over the grid, that are applied to time a sweep.
const APPLIED: usize = 6;
/// Number of strengths that are assessed to time an assessment.
const ASSESSED: usize = 8;
/// Maximum number of resamples drawn to time an assessment.
const RESAMPLED: usize = 1_000;
/// Cost of all assessments of a sweep relative to the last one, including the interim bands and the rivals on part of the examples.
const ASSESSMENTS: f64 = 2.6;
/// Number of strengths at which fresh probes are trained, and number of probes at each.
const LEAKS: (f64, f64) = (2.0, 2.0);

/// Forecasts a run on this bench, within the host's memory limit if there is one.
///
/// # Errors
/// [`Fault::Failed`] if the limit cannot be kept, or the model fails.
pub(crate) fn of(bench: &mut Bench, host: &mut Host<'_>) -> Result<Forecast, Fault> {
    let limit = host.memory_limit();
    let (bytes, parts, tokens_per_batch) = memory(bench, limit)?;
    Arc::make_mut(&mut bench.stimuli).tokens_per_batch = tokens_per_batch;
    if bench.chunks.is_empty() {
        bench.read_first(host)?;
    }
    if bench.spec.methods.iter().any(|m| find(&m.name).is_some_and(|m| m.needs.twins)) {
        bench.attach_counterfactuals(host)?;
    }
    for m in bench.spec.methods.clone() {
        if let Some(method) = find(&m.name) {
            bench.load_given(method, host)?;
        }
    }
    let (stages, range) = seconds(bench, host)?;
    let rest = stages.total("");
    bench.stages = stages;
    let spent = host.elapsed();
    let seconds = spent + rest;
    let range = range.map(|r| r.map(|s| spent + s));
    let model = bench.model.name().to_owned();
    let because = None;
    Ok(Forecast { model, bytes, parts, seconds, range, because, refined: false, tokens_per_batch, limit })
}

/// Peak memory in bytes, its parts, and the number of tokens in a batch.
type Memory = (u64, Vec<MemoryPart>, usize);

fn memory(bench: &Bench, limit: Option<u64>) -> Result<Memory, Fault> {
    let (model, threads) = (&bench.model, rayon::current_num_threads());
    let lengths: Vec<usize> = bench.stimuli.list.iter().map(|s| s.ids.len()).collect();
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let (oracle, intervention) = (bench.split.oracle(), bench.split.intervention());
    let part = oracle.train().len() + oracle.validation().len();
    let part = part.max(intervention.train().len() + intervention.validation().len());
    let texts = bench.stimuli.texts(&bench.test);
    // Two special tokens, or padding.
    let continued = || texts.iter().map(|places| lengths[bench.test[places[0]]] + 2).sum();
    let below = !model.ends_at(bench.site.layer);
    let classes = bench.labels.target_classes;
    let grids: Vec<Grid> = bench.spec.probe.oracles.iter().map(|k| k.grid(bench.recipes())).collect();
    let attacked = attacks(bench).then(|| bench.recipes());
    let most = grids.iter().chain(attacked).flat_map(|g| &g.recipes);
    let counts = Counts {
        width: model.arch().hidden,
        stimuli: lengths.len(),
        part,
        test: bench.test.len(),
        longest,
        continued: if below { continued() } else { 0 },
        probe: most.map(|r| parameters(r, model.arch().hidden, classes)).max().unwrap_or(0),
        threads,
        resamples: bench.spec.interval.resamples,
        replicates: bench.spec.probe.replicates,
        oracles: bench.spec.probe.oracles.len(),
        stays: 1 + bench.labels.further.len(),
        strengths: bench.spec.methods.iter().map(strengths).collect(),
        leaks: bench.spec.methods.iter().filter_map(|m| find(&m.name)).any(leaves),
        map: bench.map.len(),
        map_continued: bench.map.first().map_or(0, |_| continued()),
    };
    // If the system does not report resident memory, use the model's count.
    let resident = resident().unwrap_or((model.bytes() + (32 << 20)) as u64);
    let (tokens_per_batch, parts, bytes) =
        counts.plan(resident, limit, |tokens| model.pass_bytes(tokens, longest)).map_err(Fault::Failed)?;
    let loaded = peak().unwrap_or(0);
    if let Some(limit) = limit.filter(|l| loaded > *l) {
        return Err(Fault::Failed(Problem::new(
            format!("loading the model took {} of memory; the limit is {}", show(loaded), show(limit)),
            "memory limit",
            format!("use --memory-limit {}M, or a smaller model", ((loaded + loaded / 20) >> 20) + 1),
        )));
    }
    Ok((bytes.max(loaded), parts, tokens_per_batch))
}

/// Kinds of work, named by their cost unit.
pub(super) const READ: &str = "token";
const STEP: &str = "step";
pub(super) const FIT: &str = "fit";
const SWEEP: &str = "sweep";
pub(super) const BARE: &str = "bare";
pub(super) const ASSESS: &str = "assess";
const GAUGE: &str = "gauge";
const MEASURE: &str = "measure";

/// Time in seconds of the remaining stages: the expected value, and bounds if training time is uncertain.
fn seconds(bench: &Bench, host: &mut Host<'_>) -> Result<(Seconds, Option<[f64; 2]>), Fault> {
    let (work, training) = counted(bench, host)?;
    let slices = Slices::new(bench)?;
    // Methods are fitted before their sweeps are timed. Otherwise the time of a fit would be counted as time of the sweep, because it
    // exceeds the time of the few sampled strengths.
    for method in 0..bench.spec.methods.len() {
        host.rate(&named(bench, FIT, method), &mut || slices.fit(method))?;
    }
    let mut stages = work.seconds(host, &mut |kind| slices.work(kind))?;
    let steps = training.seconds(host, &mut |kind| slices.work(kind))?;
    let (fixed, step) = (stages.total(""), steps.total(""));
    stages.add(&steps, EXPECTED_STEPS as f64);
    let bounds = [EPOCH, SEARCH_STEPS].map(|n| fixed + step * n as f64);
    Ok((stages, (step > 0.0).then_some(bounds)))
}

/// The work of the run, with the training steps of each network counted separately. Probes that are already trained and texts whose states
/// are stored cost nothing.
fn counted(bench: &Bench, host: &mut Host<'_>) -> Result<(Stages, Stages), Cancelled> {
    // The meter reads the counterfactuals of the first examples, which are as long as the examples themselves.
    let twins = bench.stimuli.tokens(&bench.test[..bench.chunks[0].len()]);
    let twins = if bench.has_twins(host)? { twins as f64 } else { 0.0 };
    let store = host.store();
    let (mut work, mut training) = (Stages::default(), Stages::default());
    let read = unread(bench, store.as_ref()) + twins;
    let states = work.at(STATES);
    states.add(&format!("{READ} {} {}", bench.model.hash(), bench.site.layer), read);
    to_train(bench, store.as_ref(), MOST_RIVALS, &mut |stage, kind, units| training.at(stage).add(kind, units));
    let threads = rayon::current_num_threads() as f64;
    let meter_shape = format!("{} x {}", real_states(bench), bench.model.arch().hidden);
    states.add(&format!("{GAUGE} {meter_shape}"), 1.0);
    let rows = bench.split.intervention().train().len() as f64;
    let mut fitted = HashSet::new();
    for (i, m) in bench.spec.methods.iter().enumerate() {
        let Some((method, options)) = resolve(m) else { continue };
        // A method that reuses the attacked probe fits in almost no time; a method with random parts is fitted for each
        // training run.
        let fits = if is_shared(method) { 1 } else { bench.spec.probe.replicates };
        for replicate in (1..=fits).filter(|_| !method.needs.mlp) {
            let key = bench.fit_key(method, &options, Which::Replicate(replicate));
            if let Some(key) = key.filter(|k| store.trained(k).is_none())
                && fitted.insert(key)
            {
                work.at(&fit_of(&m.key())).add(&named(bench, FIT, i), rows);
            }
        }
        let sweep = work.at(&sweep_of(&m.key()));
        let values = strengths(m) as f64;
        let test = bench.test.len();
        // The model's behaviour is evaluated for the first training run. It is evaluated for the others too if their fits differ and only
        // the head remains to run.
        let alone = is_shared(method) || method.is_control || !bench.model.ends_at(bench.site.layer);
        let all = bench.judged(bench.spec.probe.replicates, MOST_RIVALS) as f64;
        let full = if alone { test as f64 } else { all };
        let bare = all - full;
        sweep.add(&named(bench, SWEEP, i), values * full);
        sweep.add(&named(bench, BARE, i), values * bare);
        // Distances from real states are measured for the first estimate of each strength.
        sweep.add(&format!("{MEASURE} {meter_shape}"), values);
        let judged = values * bench.spec.probe.oracles.len() as f64;
        sweep.add(&format!("{ASSESS} {test} {}", bench.resample_count), ASSESSMENTS * judged);
        if leaves(method) {
            let recipe = bench.slots.first().and_then(|s| small(bench, *s));
            let leaks = training.at(&leaks_of(&m.key()));
            recipe.iter().for_each(|r| leaks.add(&shape(bench, r), LEAKS.0 * LEAKS.1 / threads));
        }
    }
    map::count(bench, store.as_ref(), work.at(MAP), training.at(MAP));
    lens::count(bench, store.as_ref(), work.at(LENS));
    Ok((work, training))
}

/// Adds the training steps of the probes missing from the cache, by stage and kind: the search for settings, and the
/// training runs with `rivals` rivals.
pub(super) fn to_train(bench: &Bench, store: &dyn Store, rivals: usize, add: &mut dyn FnMut(&str, &str, f64)) {
    let threads = rayon::current_num_threads() as f64;
    let missing: Vec<Slot> =
        bench.slots.iter().copied().filter(|s| store.trained(&bench.search_key(*s)).is_none()).collect();
    for slot in &missing {
        // All networks of a grid train at the same time.
        let grid = bench.grid_of(*slot);
        let share = 1.0 / threads.min(grid.recipes.len() as f64);
        grid.recipes.iter().for_each(|r| add(&search_of(*slot), &shape(bench, r), share));
    }
    let replicates = bench.spec.probe.replicates;
    // Assumes that the search chooses the smallest settings. A search missing from the cache has no cached replicates.
    for (slot, recipe) in missing.iter().filter_map(|s| Some((s, small(bench, *s)?))) {
        add(&training_of(*slot), &shape(bench, &recipe), (replicates + rivals) as f64 / threads);
    }
}

/// The smallest settings of a probe's grid.
fn small(bench: &Bench, slot: Slot) -> Option<Recipe> {
    bench.grid_of(slot).recipes.into_iter().min_by_key(|r| r.hidden.iter().sum::<usize>())
}

fn real_states(bench: &Bench) -> usize {
    bench.split.intervention().train().len().min(REAL_STATES)
}

/// Name of a kind of work for one of the spec's methods. It contains the model, because rates differ between models.
pub(super) fn named(bench: &Bench, kind: &str, method: usize) -> String {
    let title = bench.spec.methods[method].key().title();
    format!("{kind} {method} {title} {} {:?}", bench.model.hash(), bench.site)
}

fn shape(bench: &Bench, recipe: &Recipe) -> String {
    let widths: Vec<String> = recipe.hidden.iter().map(ToString::to_string).collect();
    format!("{STEP} {} of {}", widths.join("-"), bench.model.arch().hidden)
}

pub(crate) fn strengths(spec: &MethodSpec) -> usize {
    match spec.values.len() {
        0 => find(&spec.name).map_or(0, |m| m.parameter.grid.len()),
        n => n,
    }
}

/// True if fresh probes are trained on the states after a method.
fn leaves(method: &Method) -> bool {
    method.goal == Goal::Nullifying && !method.is_control
}

pub(super) fn resolve(spec: &MethodSpec) -> Option<(&'static Method, Options)> {
    let method = find(&spec.name)?;
    let options = Options::new(method, spec.options.iter().map(|(k, v)| (k.as_str(), *v))).ok()?;
    Some((method, options))
}

/// Number of tokens in the texts whose hidden states are not yet stored.
pub(super) fn unread(bench: &Bench, store: &dyn Store) -> f64 {
    let all: Vec<usize> = (0..bench.stimuli.list.len()).collect();
    let absent = hidden::absent(&bench.model, &bench.stimuli, (bench.site.layer, Where::Changed), &all, store);
    bench.stimuli.tokens(&absent) as f64
}

/// Timed samples of the run's work, on its first test examples and untrained networks of the same shapes.
struct Slices<'a> {
    bench: &'a Bench,
    data: TrainingData<Intervention>,
    labelled: Labelled,
    mlp: Probe<Intervention>,
    oracles: Vec<Oracle>,
    /// Fits by index of the method in the spec.
    fits: RefCell<HashMap<usize, Fitted>>,
}

impl<'a> Slices<'a> {
    fn new(bench: &'a Bench) -> Result<Self, Fault> {
        let chunk = &bench.chunks[0];
        let (classes, width) = (bench.labels.target_classes, chunk.h.cols());
        let labels: Vec<Option<usize>> = chunk.target.iter().copied().map(Some).collect();
        let split = Split::new(chunk.len(), bench.seed)?;
        let data = TrainingData::new(split.intervention(), &chunk.h, &labels, classes)?;
        let labelled = Labelled::new(chunk.h.clone(), chunk.target.clone(), classes)?;
        // The selection rule prefers the smallest of equally good networks, so the smallest is usually both the attacked and the judging
        // network.
        let small = |grid: &Grid| grid.recipes.iter().map(|r| r.hidden.clone()).min_by_key(|h| h.iter().sum::<usize>());
        let mut rng = stream(bench.seed, "slices of work");
        let mut net = |grid: &Grid, classes| Mlp::fresh(width, &small(grid).unwrap_or_default(), classes, &mut rng);
        let mlp = Probe::from_mlp(net(bench.recipes(), classes));
        let mut oracle = |kind: &OracleKind| {
            let grid = kind.grid(bench.recipes());
            let mut probe = |classes| Probe::from_mlp(net(&grid, classes));
            let (target, other) = (probe(classes), probe(bench.labels.other_classes));
            let further = bench.labels.further.iter().map(|f| probe(f.classes)).collect();
            Oracle { kind: *kind, target, other, further }
        };
        let oracles = bench.spec.probe.oracles.iter().map(&mut oracle).collect();
        Ok(Self { bench, data, labelled, mlp, oracles, fits: RefCell::default() })
    }

    /// Does a sample of the named work; returns the number of units done.
    fn work(&self, name: &str) -> Result<f64, Fault> {
        match name.split(' ').next() {
            Some(READ) => self.read(),
            Some(STEP) => self.steps(name),
            Some(ASSESS) => Ok(self.assess()),
            Some(GAUGE) => self.distance_meter().map(|_| 1.0),
            Some(MEASURE) => self.measure(),
            Some(kind) => {
                let method = name.split(' ').nth(1).and_then(|i| i.parse::<usize>().ok());
                method.map_or(Ok(1.0), |i| if kind == FIT { self.fit(i) } else { self.intervene(kind, i) })
            }
            None => Ok(1.0),
        }
    }

    /// A meter with as many states as the run's meter, made by repeating the first test examples.
    fn distance_meter(&self) -> Result<Meter, Fault> {
        let h = &self.bench.chunks[0].h;
        let rows: Vec<usize> = (0..real_states(self.bench)).map(|i| i % h.rows()).collect();
        Ok(Meter::new(&h.select_rows(&rows)).map_err(InterventionError::from)?)
    }

    fn measure(&self) -> Result<f64, Fault> {
        let (begun, meter) = (Instant::now(), self.distance_meter()?);
        let ready = begun.elapsed().as_secs_f64();
        let h = &self.bench.chunks[0].h;
        std::hint::black_box(meter.measure(h, h, None));
        // The run makes its meter only once, so this returns the number of units that the run would do in the same time.
        let all = begun.elapsed().as_secs_f64();
        Ok(all / (all - ready).max(f64::MIN_POSITIVE))
    }

    fn read(&self) -> Result<f64, Fault> {
        let bench = self.bench;
        let rows: Vec<usize> = bench.test.iter().copied().take(SLICE).collect();
        bench.stimuli.hidden(&bench.model, (bench.site.layer, Where::Changed), &rows, &mut NoPulse)?;
        Ok(bench.stimuli.tokens(&rows) as f64)
    }

    fn steps(&self, name: &str) -> Result<f64, Fault> {
        let grids = self.bench.spec.probe.oracles.iter().map(|k| k.grid(self.bench.recipes()));
        let mut recipes = grids.chain([self.bench.recipes().clone()]).flat_map(|g| g.recipes);
        let Some(recipe) = recipes.find(|r| shape(self.bench, r) == name) else { return Ok(1.0) };
        let purpose = Purpose::new(self.bench.seed, "forecast", "");
        train(&self.labelled, &self.labelled, &recipe, STEPS, &purpose, &mut || Ok(()))?;
        Ok(STEPS as f64)
    }

    /// Fits the method at `index` of the spec; returns the number of examples that could have been fitted in that time.
    fn fit(&self, index: usize) -> Result<f64, Fault> {
        let mut units = self.data.train().len() as f64;
        if let Some((method, options)) = resolve(&self.bench.spec.methods[index]) {
            let (given, seed) = (self.bench.given_to(method), self.bench.seed);
            let fit_data = FitData { mlp: Some(&self.mlp), given, seed, ..FitData::new(&self.data) };
            let short = method.short.map(|short| short(&options));
            if let Some((_, times)) = &short {
                units = self.bench.split.intervention().train().len() as f64 / times;
            }
            let options = short.map_or(options, |(short, _)| short);
            let fitted = method.fit(&fit_data, &options, &mut NoPulse);
            let fitted = fitted.map_err(|e| self.bench.not_fitted(method, e))?;
            self.fits.borrow_mut().insert(index, fitted);
        }
        Ok(units)
    }

    /// Applies the method at `index` of the spec at a sample of its strengths.
    fn intervene(&self, kind: &str, index: usize) -> Result<f64, Fault> {
        let bench = self.bench;
        if !self.fits.borrow().contains_key(&index) {
            self.fit(index)?;
        }
        let fits = self.fits.borrow();
        let (Some((method, _)), Some(fitted)) = (resolve(&bench.spec.methods[index]), fits.get(&index)) else {
            return Ok(1.0);
        };
        let chunk = &bench.chunks[0];
        let before = chunk.outputs(&self.oracles);
        let judges = Judges {
            model: &bench.model,
            oracles: &self.oracles,
            before: &before,
            prior: &bench.prior,
            site: bench.site,
            behaviour: kind == SWEEP && bench.asks(),
            meter: None,
        };
        let begun = Instant::now();
        let mut applied = chunk.apply(method, fitted, bench.labels.target_classes, &mut NoPulse)?;
        let ready = begun.elapsed().as_secs_f64();
        let grid = method.parameter.grid;
        let count = APPLIED.min(grid.len());
        let mut tally = Tally::default();
        for i in 0..count {
            let value = grid[(2 * i + 1) * grid.len() / (2 * count)];
            let outcome = applied.judge(value, judges, &mut NoPulse)?;
            outcome.scores.iter().for_each(|s| tally.extend(s));
        }
        std::hint::black_box(&tally);
        // The run prepares the rows once for all strengths, but this sample prepares them for a few. Returns the number of units that the
        // run would do in the same time.
        let all = begun.elapsed().as_secs_f64();
        let strengths = strengths(&bench.spec.methods[index]).max(1) as f64;
        let unit = (all - ready) / count.max(1) as f64 + ready / strengths;
        Ok(chunk.len() as f64 * all / unit.max(f64::MIN_POSITIVE))
    }

    /// Times `assess` on synthetic scores with the run's numbers of examples and training runs.
    fn assess(&self) -> f64 {
        let begun = Instant::now();
        let bench = self.bench;
        let other = bench.other(bench.test.len());
        let (strengths, replicates) = (ASSESSED, bench.spec.probe.replicates);
        let score = |i: usize, k: usize, m: usize| ((7 * i + 3 * k + m) % 11) as f64 / 11.0;
        let further = bench.further(bench.test.len());
        let kept = |k: usize, m: usize, values: &[Option<usize>]| Kept {
            selectivity: values.iter().enumerate().map(|(i, o)| o.map(|_| score(i + 1, k, m))).collect(),
            right: values.iter().map(|o| o.map(|_| 1.0)).collect(),
        };
        let judged = |k: usize, m: usize| Scored {
            scores: ExampleScores {
                completeness: (0..other.len()).map(|i| score(i, k, m)).collect(),
                selectivity: other.iter().enumerate().map(|(i, o)| o.map(|_| score(i + 1, k, m))).collect(),
            },
            right: other.iter().map(|o| o.map(|_| 1.0)).collect(),
            further: further.iter().map(|f| kept(k, m, &f.values)).collect(),
        };
        let values: Vec<f64> = (0..strengths).map(|m| m as f64).collect();
        let classes = bench.labels.other_classes;
        let texts = bench.texts_of(other.len());
        let sweep =
            Sweep { values: &values, replicates, judged: &judged, other: &other, classes, further: &further, texts };
        // Every resample costs the same. Timing all 100,000 took more time and memory than the run.
        let count = bench.resample_count.min(RESAMPLED);
        let strata = bench.strata(other.len());
        let resamples = Resamples::new(strata.len(), count, bench.seed);
        let halves = Halves::new(&strata, HALVINGS, bench.seed);
        // The run draws resamples and halves once for all assessments.
        let drawn = begun.elapsed().as_secs_f64();
        std::hint::black_box(assess(&sweep, &resamples, &halves, bench.label.level()));
        let all = begun.elapsed().as_secs_f64();
        let part = count as f64 / bench.resample_count.max(1) as f64;
        strengths as f64 * part * all / (all - drawn).max(f64::MIN_POSITIVE)
    }
}

/// True if a method attacks a separate perceptron.
fn attacks(bench: &Bench) -> bool {
    bench.spec.methods.iter().any(|m| find(&m.name).is_some_and(|m| m.needs.mlp))
}

pub(crate) fn parameters(recipe: &Recipe, inputs: usize, classes: usize) -> usize {
    let widths = [&[inputs][..], &recipe.hidden, &[classes]].concat();
    widths.windows(2).map(|w| (w[0] + 1) * w[1]).sum()
}

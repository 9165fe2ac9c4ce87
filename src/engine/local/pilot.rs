//! How long a run will take: its own steps on a small share of its own stimuli, timed, and what is cached left out.
//!
//! Every step of a run takes time in proportion to rows (reading, judging) or to batches (training), so a small run on the
//! same model, device, data, grid and methods tells the whole. Only one thing cannot be known before: which probe the grid will
//! choose, on whose size the time of an attack depends. Attacks are therefore timed on the smallest and the largest.

use std::collections::HashSet;
use std::time::Instant;

use super::cache::Cache;
use super::extract;
use super::fault::Fault;
use super::prepare::{Bench, FIRST_CHUNK};
use crate::base::Pulse;
use crate::base::matrix::Matrix;
use crate::engine::spec::Spec;
use crate::lab::interventions::bench::{Chunk, Court};
use crate::lab::interventions::find;
use crate::lab::interventions::method::{FitData, Fitted, Method};
use crate::lab::interventions::options::Options;
use crate::lab::interventions::oracle::{self, Oracle};
use crate::lab::interventions::plan::{PropertyLabels, Roles};
use crate::lab::interventions::stimuli::Stimuli;
use crate::probe::grid::search;
use crate::probe::train::Recipe;
use crate::probe::{Grid, Intervention, Probe, Split, TrainingData};
use crate::stats::bootstrap::Resamples;

/// One stimulus in so many is in the pilot, within these bounds.
const SHARE: usize = 10;
const FEWEST: usize = 400;
const MOST: usize = 1_280;
/// Test rows that methods are timed on.
const JUDGED: usize = 256;
/// Of the values of a sweep, one in so many is timed.
const EVERY: usize = 3;

/// Seconds of a run by what they depend on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate {
    /// What the pilot has taken and what does not depend on the attacked probe.
    pub known: f64,
    /// Until the attacked probe is trained, its hidden states included; 0 where it is there.
    pub probe: f64,
    /// Weights of the smallest and the largest probe that the grid can choose, with the seconds of all attacks on it.
    ends: [(f64, f64); 2],
    /// Mean number of weights over the grid.
    mean: f64,
}

impl Estimate {
    /// Seconds of all attacks on a probe with so many weights, taking them as linear in the number of weights.
    pub fn attacks(&self, weights: f64) -> f64 {
        let [(small, least), (large, most)] = self.ends;
        let share = ((weights - small) / (large - small).max(1.0)).clamp(0.0, 1.0);
        least + (most - least) * share
    }

    /// The whole: where all probes of the grid are equally likely, with the cheapest and with the dearest.
    pub fn spread(&self) -> [f64; 3] {
        let rest = self.known + self.probe;
        let [(_, a), (_, b)] = self.ends;
        [self.attacks(self.mean), a.min(b), a.max(b)].map(|s| rest + s)
    }
}

/// Forecasts the run of `spec` on `bench`, from here to its end.
///
/// # Errors
/// [`Fault`], as the run itself would meet it.
pub fn estimate(
    bench: &Bench,
    spec: &Spec,
    tokens_per_batch: usize,
    cache: &Cache,
    pulse: &mut dyn Pulse,
) -> Result<Estimate, Fault> {
    let begun = Instant::now();
    let all = bench.stimuli.list.len();
    let few = (all / SHARE).clamp(FEWEST, MOST).min(all);
    let run = |k: usize, pulse: &mut dyn Pulse| small(bench, spec, (k, tokens_per_batch), cache, pulse);
    let found = match run(few, pulse) {
        // Too few to hold every value of a property: with all of them the run itself would fail.
        Err(Fault::Failed(_)) if few < all => run(all, pulse)?,
        other => other?,
    };
    // The pilot is over before the run goes on; what it took is part of the run all the same.
    Ok(Estimate { known: found.known + begun.elapsed().as_secs_f64(), ..found })
}

/// The pilot on `k` stimuli.
fn small(
    bench: &Bench,
    spec: &Spec,
    (k, tokens_per_batch): (usize, usize),
    cache: &Cache,
    pulse: &mut dyn Pulse,
) -> Result<Estimate, Fault> {
    let mut pilot = Pilot::new(bench, k, tokens_per_batch, pulse)?;
    let oracles = pilot.oracles(spec, cache, pulse)?;
    let methods = pilot.methods(spec, cache, &oracles, pulse)?;
    let [reading, material] = pilot.reading(spec, cache, &methods);
    let known = reading + pilot.training + methods.estimate.known;
    let probe = methods.estimate.probe;
    // Without a probe to train, its hidden states are read for whatever else is fitted on them.
    let (known, probe) = if probe > 0.0 { (known, probe + material) } else { (known + material, 0.0) };
    Ok(Estimate { known, probe, ..methods.estimate })
}

/// Seconds of one call.
fn timed<T, E: Into<Fault>>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), Fault> {
    let begun = Instant::now();
    let made = work().map_err(Into::into)?;
    Ok((made, begun.elapsed().as_secs_f64()))
}

/// A share of the stimuli with their hidden states.
struct Pilot<'a> {
    bench: &'a Bench,
    labels: PropertyLabels,
    split: Split,
    /// Hidden states at the layer of the intervention and at the oracle's, a row per stimulus.
    x: Matrix,
    oracle_x: Matrix,
    /// Seconds that a token takes to the two layers.
    token: [f64; 2],
    chunk: Chunk,
    /// Seconds to ready a test row.
    row: f64,
    /// Seconds that all probes of the run will train, as far as is known by now.
    training: f64,
}

/// What methods will take.
struct Methods {
    estimate: Estimate,
    /// Whether anything will be trained or fitted on the intervention part.
    material: bool,
}

impl<'a> Pilot<'a> {
    fn new(
        bench: &'a Bench,
        k: usize,
        tokens_per_batch: usize,
        pulse: &mut dyn Pulse,
    ) -> Result<Self, Fault> {
        let all = bench.stimuli.list.len();
        // From all over the stimuli.
        let rows: Vec<usize> = (0..k).map(|i| i * all / k).collect();
        let list: Vec<_> = rows.iter().map(|r| bench.stimuli.list[*r].clone()).collect();
        let stimuli = Stimuli { list, dropped_forms: 0, dropped_texts: 0, tokens_per_batch };
        let labels = bench.labels.gather(&rows);
        let split = Split::new(k, bench.seed)?;
        let whole: Vec<usize> = (0..k).collect();
        let tokens: usize = stimuli.list.iter().map(|s| s.ids.len()).sum();
        // The first passes through a model are slower than all others.
        stimuli.hidden(&bench.model, bench.site.layer, &whole[..k.min(64)], pulse)?;
        let mut read = |layer: usize| timed(|| stimuli.hidden(&bench.model, layer, &whole, pulse));
        let (x, first) = read(bench.site.layer)?;
        let (oracle_x, second) = match bench.site.oracle_layer == bench.site.layer {
            true => (x.clone(), first),
            false => read(bench.site.oracle_layer)?,
        };
        let judged: Vec<usize> = split
            .test()
            .rows()
            .iter()
            .copied()
            .filter(|r| labels.target[*r].is_some())
            .take(JUDGED)
            .collect();
        let h = Matrix::from_fn(judged.len(), x.cols(), |i, j| x.row(judged[i])[j]);
        let (chunk, row) =
            timed(|| Chunk::with(h, &bench.model, &stimuli, &labels, &judged, bench.site, pulse))?;
        Ok(Self {
            bench,
            labels,
            split,
            x,
            oracle_x,
            token: [first, second].map(|s| s / tokens as f64),
            row: row / chunk.len().max(1) as f64,
            chunk,
            training: 0.0,
        })
    }

    /// Oracles for the pilot, recalled or trained; adds what training them will take.
    fn oracles(&mut self, spec: &Spec, cache: &Cache, pulse: &mut dyn Pulse) -> Result<Vec<Oracle>, Fault> {
        let mut oracles = Vec::new();
        for kind in &spec.probe.oracles {
            let grid = kind.grid(&self.bench.grid);
            let [target, other] = [Roles::Target, Roles::Other].map(|role| {
                if let Some(probe) = self.bench.stored_oracle(*kind, role, cache) {
                    return Ok(Some(probe));
                }
                let seed = self.bench.seed;
                let whole = oracle::training_part(self.bench.split.oracle(), &self.bench.labels, role, seed)?;
                // So few examples may hold too few of the rarer property.
                let Ok(part) = oracle::training_part(self.split.oracle(), &self.labels, role, seed) else {
                    return Ok(None);
                };
                let made =
                    timed(|| oracle::train(&part, &self.oracle_x, &self.labels, role, &grid, seed, pulse));
                let Ok((probe, seconds)) = made else {
                    pulse.beat(0, 1)?;
                    return Ok(None);
                };
                self.training +=
                    seconds * batches(&grid, whole.train().len()) / batches(&grid, part.train().len());
                Ok::<_, Fault>(Some(probe))
            });
            let (target, other) = (target?, other?);
            if let Some(any) = target.clone().or_else(|| other.clone()) {
                let target = target.unwrap_or_else(|| any.clone());
                oracles.push(Oracle { kind: *kind, target, other: other.unwrap_or(any) });
            }
        }
        Ok(oracles)
    }

    /// Fits and judges every method on the pilot's rows.
    fn methods(
        &self,
        spec: &Spec,
        cache: &Cache,
        oracles: &[Oracle],
        pulse: &mut dyn Pulse,
    ) -> Result<Methods, Fault> {
        let (labels, classes) = self.labels.of(Roles::Target);
        let data = TrainingData::new(self.split.intervention(), &self.x, labels, classes)?;
        let grow = self.bench.split.intervention().train().len() as f64 / data.train().len().max(1) as f64;
        let mut found = Methods { estimate: Estimate::default(), material: false };
        let probes = self.attacked(spec, cache, &data, &mut found, pulse)?;
        // The probes' costs of all attacks together, since all attack the same probe.
        let mut costs = vec![0.0; probes.len()];
        let mut fitted = HashSet::new();
        for m in &spec.methods {
            let Some(method) = find(&m.name) else { continue };
            let options = Options::new(method, m.options.iter().map(|(k, v)| (k.as_str(), *v)))?;
            let key = self.bench.fit_key(method, &options);
            let stored = self.bench.stored_fit(method, &options, cache);
            let first = stored.is_none() && fitted.insert(key);
            found.material |= stored.is_none();
            let values = if m.values.is_empty() { method.parameter().grid } else { m.values.as_slice() };
            if method.needs().mlp {
                for (probe, cost) in probes.iter().zip(&mut costs) {
                    let given = FitData { data: &data, mlp: Some(probe), seed: self.bench.seed };
                    let (fitted, seconds) = timed(|| method.fit(&given, &options, pulse))?;
                    *cost += if first { seconds * grow } else { 0.0 };
                    *cost += self.sweep(method, fitted.as_ref(), values, oracles, pulse)?;
                }
                continue;
            }
            let (fitted, seconds) = match stored {
                Some(fitted) => (fitted, 0.0),
                None => self.fit(method, &options, &data, pulse)?,
            };
            found.estimate.known += if first { seconds } else { 0.0 };
            found.estimate.known += self.sweep(method, fitted.as_ref(), values, oracles, pulse)?;
        }
        if !costs.is_empty() {
            self.spread(&probes, &costs, &mut found.estimate);
        }
        Ok(found)
    }

    /// A fit on the pilot's rows, and the seconds of that on all rows: a fit on one half of the pilot's tells apart what
    /// grows with the examples and what does not.
    fn fit(
        &self,
        method: &dyn Method,
        options: &Options,
        data: &TrainingData<Intervention>,
        pulse: &mut dyn Pulse,
    ) -> Result<(Box<dyn Fitted>, f64), Fault> {
        let (labels, classes) = self.labels.of(Roles::Target);
        let half: Vec<Option<usize>> =
            labels.iter().enumerate().map(|(i, l)| l.filter(|_| i % 2 == 0)).collect();
        let few = TrainingData::new(self.split.intervention(), &self.x, &half, classes)?;
        let mut fit = |data: &TrainingData<Intervention>| {
            timed(|| method.fit(&FitData { data, mlp: None, seed: self.bench.seed }, options, pulse))
        };
        let ((_, least), (fitted, seconds)) = (fit(&few)?, fit(data)?);
        let [n, few] = [data, &few].map(|d| d.train().len() as f64);
        let slope = ((seconds - least) / (n - few).max(1.0)).clamp(0.0, seconds / n);
        let whole = self.bench.split.intervention().train().len() as f64;
        Ok((fitted, seconds + slope * (whole - n).max(0.0)))
    }

    /// What attacks cost on the probes that the grid can choose.
    fn spread(&self, probes: &[Probe<Intervention>], costs: &[f64], found: &mut Estimate) {
        let end = |i: usize| (probes[i].mlp().parameters() as f64, costs[i]);
        found.ends = [end(0), end(probes.len() - 1)];
        let recipes = &self.bench.grid.recipes;
        let all = recipes.iter().map(|r| weights(r, self.x.cols(), self.labels.target_classes));
        found.mean = all.sum::<f64>() / recipes.len() as f64;
    }

    /// Probes to attack: the one that is stored, or the smallest and the largest; adds what training will take.
    fn attacked(
        &self,
        spec: &Spec,
        cache: &Cache,
        data: &TrainingData<Intervention>,
        found: &mut Methods,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Probe<Intervention>>, Fault> {
        if !spec.methods.iter().any(|m| find(&m.name).is_some_and(|m| m.needs().mlp)) {
            return Ok(Vec::new());
        }
        if let Some(probe) = self.bench.stored_mlp(cache) {
            return Ok(vec![probe]);
        }
        found.material = true;
        let grid = &self.bench.grid;
        let (_, seconds) = timed(|| search(data, grid, self.bench.seed, pulse, &mut |_| {}))?;
        let whole = self.bench.split.intervention().train().len();
        found.estimate.probe += seconds * batches(grid, whole) / batches(grid, data.train().len());
        extremes(grid)
            .into_iter()
            .map(|grid| Ok(search(data, &grid, self.bench.seed, pulse, &mut |_| {})?))
            .collect()
    }

    /// Seconds in which the run will judge a method at all values on all test rows.
    fn sweep(
        &self,
        method: &dyn Method,
        fitted: &dyn Fitted,
        values: &[f64],
        oracles: &[Oracle],
        pulse: &mut dyn Pulse,
    ) -> Result<f64, Fault> {
        let bench = self.bench;
        let classes = self.labels.target_classes;
        let before = self.chunk.sights(oracles);
        let resamples = Resamples::new(self.chunk.len(), bench.resample_count, bench.seed);
        let mut applied = self.chunk.apply(method, fitted, classes, pulse)?;
        let everywhere = bench.model.ends_at(bench.site.layer);
        let court = Court {
            model: &bench.model,
            oracles,
            before: &before,
            prior: &bench.prior,
            site: bench.site,
            conduct: bench.model.has_head() && classes == 2 && everywhere,
        };
        let mut judge = |value: f64, pulse: &mut dyn Pulse| {
            let outcome = applied.judge(value, court, pulse)?;
            for scores in &outcome.scores {
                std::hint::black_box(scores.examples.summary(&resamples, bench.label.level()));
            }
            Ok::<(), Fault>(())
        };
        // From the middle of every few values; the first of all calls is slower than the others.
        let some: Vec<f64> = values.iter().copied().skip(EVERY / 2).step_by(EVERY).collect();
        let some = if some.is_empty() { values } else { &some };
        judge(some[0], pulse)?;
        let begun = Instant::now();
        some.iter().try_for_each(|v| judge(*v, pulse))?;
        let share = values.len() as f64 / some.len() as f64 * bench.test.len() as f64;
        let judging = begun.elapsed().as_secs_f64() * share / self.chunk.len().max(1) as f64;
        if everywhere || !bench.model.has_head() {
            return Ok(judging);
        }
        // Where blocks are left to run, the first test examples alone are asked what the model itself does.
        let mut once = |conduct: bool| {
            let begun = Instant::now();
            applied.judge(some[0], Court { conduct, ..court }, pulse)?;
            Ok::<f64, Fault>(begun.elapsed().as_secs_f64())
        };
        let extra = (once(true)? - once(false)?).max(0.0);
        let first = FIRST_CHUNK.min(bench.test.len()) as f64 / self.chunk.len().max(1) as f64;
        Ok(judging + extra * values.len() as f64 * first)
    }

    /// Seconds in which the run will read texts, without and for the intervention part: what the cache holds costs a look-up.
    fn reading(&self, spec: &Spec, cache: &Cache, methods: &Methods) -> [f64; 2] {
        let bench = self.bench;
        let part = |train: &[usize], validation: &[usize]| [train, validation].concat();
        let (o, i) = (bench.split.oracle(), bench.split.intervention());
        let site = bench.site;
        let mut wanted = vec![(bench.test.clone(), site.layer, self.token[0])];
        let missing = |kind| {
            [Roles::Target, Roles::Other].iter().any(|r| bench.stored_oracle(kind, *r, cache).is_none())
        };
        if spec.probe.oracles.iter().any(|k| missing(*k)) {
            wanted.push((part(o.train(), o.validation()), site.oracle_layer, self.token[1]));
        }
        let read = |rows: &[usize], layer: usize, token: f64| {
            let begun = Instant::now();
            let absent = extract::absent(&bench.model, &bench.stimuli, layer, rows, cache.embeddings());
            let looked = begun.elapsed().as_secs_f64();
            let tokens: usize = absent.iter().map(|r| bench.stimuli.list[*r].ids.len()).sum();
            looked + token * tokens as f64
        };
        let others: f64 = wanted.iter().map(|(rows, layer, token)| read(rows, *layer, *token)).sum();
        let material = match methods.material {
            true => read(&part(i.train(), i.validation()), site.layer, self.token[0]),
            false => 0.0,
        };
        [self.row * bench.test.len() as f64 + others, material]
    }
}

/// Optimiser steps of all recipes on `n` examples.
fn batches(grid: &Grid, n: usize) -> f64 {
    grid.recipes.iter().map(|r| r.steps(n)).sum::<usize>().max(1) as f64
}

/// Weights of a network of this shape, up to what all shapes have in common: its inputs and outputs.
fn weights(recipe: &Recipe, inputs: usize, classes: usize) -> f64 {
    let widths = [&[inputs][..], &recipe.hidden, &[classes]].concat();
    widths.windows(2).map(|w| ((w[0] + 1) * w[1]) as f64).sum()
}

/// The smallest and the largest recipe, with the highest learning rate, which wins nearly always.
fn extremes(grid: &Grid) -> Vec<Grid> {
    let rate = |r: &&Recipe| r.learning_rate;
    let best = grid.recipes.iter().map(|r| r.learning_rate).fold(0.0, f64::max);
    let size = |r: &&Recipe| weights(r, 1, 1) as u64;
    let all = || grid.recipes.iter().filter(|r| rate(r) == best);
    let one = |r: &Recipe| Grid { name: grid.name.clone(), recipes: vec![r.clone()] };
    let [small, large] = [all().min_by_key(size), all().max_by_key(size)].map(|r| r.map(one));
    let same = small == large;
    small.into_iter().chain(large.filter(|_| !same)).collect()
}

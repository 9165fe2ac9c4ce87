//! Computes the map of layers: oracles for every layer, then, row by row, an intervention at one layer, judged at that layer and every
//! later one.
//!
//! Probes, fits and states of a layer are cached under the same keys as in a run at that layer alone. So a stopped map can resume, and the
//! results on its diagonal equal those of such runs.

mod work;

use crate::experiment::stages::MAP;
use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use self::work::{count, multiply_adds};
use super::panel::Which;
use super::point;
use super::points::{Named, baseline_of, reliability};
use super::prepare::Bench;
use super::sweep::Sweep;
use crate::Host;
use crate::assess::{Assessment, Strength, assess};
use crate::bench::{Applied, Chunk, Reader, Scores};
use crate::finding::Kind;
use crate::map::{Chosen, MapFinding, NoMapFinding};
use crate::method::Fitted;
use crate::oracle::{Oracle, OracleOutput};
use crate::spec::MapSpec;
use crate::table::Sweep as Judged;
use crate::tally::Tally;
use base::SharedPulse;
use lab::fault::Fault;

/// Oracle outputs of a training run for every chunk.
type OracleOutputs = Vec<Arc<Vec<OracleOutput>>>;

/// The oracles of one layer (the intervention's or a later one) for each replicate, with their outputs on unedited states.
struct Judge {
    layer: usize,
    replicates: Vec<(Arc<Vec<Oracle>>, OracleOutputs)>,
}

/// Tallies of one replicate: by strength, judge and oracle.
type Seen = Vec<Vec<Vec<Tally>>>;

/// Computes the map of the spec, if it has one. `sweeps` holds one sweep per method.
pub(crate) fn draw(bench: &mut Bench, sweeps: &[Sweep], host: &mut Host<'_>) -> Result<(), Fault> {
    let Some(spec) = bench.spec.map.clone() else { return Ok(()) };
    // The oracles of the spec's own layer are already trained.
    bench.oracle_data = None;
    let mut rows: Vec<Bench> = Vec::new();
    for layer in bench.map.clone() {
        let mut here = bench.at_layer(layer);
        here.train_judges(host)?;
        rows.push(here);
        point::serve(bench, host)?;
    }
    for at in 0..rows.len() {
        let Some((here, later)) = rows[at..].split_first_mut() else { break };
        row(bench, here, later, sweeps, &spec, host)?;
        // Keeps the probes, which are small, and drops the states.
        here.chunks.clear();
        here.panels.iter_mut().for_each(|p| p.outputs.clear());
        (here.material, here.fits) = (None, Vec::new());
    }
    Ok(())
}

impl Bench {
    /// Trains the probes for a layer of the map, or loads them from the cache. Rival probe settings are not run for the map.
    fn train_judges(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        if self.panels.is_empty() {
            self.choose_recipes(host)?;
            let list: Vec<Which> = (1..=self.spec.probe.replicates).map(Which::Replicate).collect();
            let slots = self.slots.clone();
            // The first panel is trained separately, as in a run at this layer alone.
            let (first, others) = list.split_at(1);
            self.train_panels(first, &slots, host)?;
            self.train_panels(others, &slots, host)?;
        }
        (self.oracle_data, self.material) = (None, None);
        Ok(())
    }
}

/// Computes the rows of the map for one layer of the intervention, one for each method.
fn row(
    main: &mut Bench,
    here: &mut Bench,
    later: &[Bench],
    sweeps: &[Sweep],
    spec: &MapSpec,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let (name, layer) = (here.model.name().to_owned(), here.site.layer);
    // One stage for the states and probes of a layer, and one for each method at that layer.
    let methods = sweeps.iter().filter(|s| spec.has(s.named().method.id)).count();
    let seconds = main.stages.of(MAP) / (main.map.len().max(1) * (1 + methods)) as f64;
    host.stage(format!("{name}: map, states of layer {layer}"), "ex", seconds);
    if here.chunks.is_empty() {
        here.read_first(host)?;
        here.read_rest(host)?;
    }
    let own =
        [Judge { layer, replicates: here.panels.iter().map(|p| (p.oracles.clone(), p.outputs.clone())).collect() }];
    let behind = judges(here, later, host)?;
    for sweep in sweeps.iter().filter(|s| spec.has(s.named().method.id)) {
        let (named, options) = (sweep.named().clone(), sweep.options().clone());
        let mut fits: Vec<Arc<Fitted>> = Vec::new();
        for at in 0..here.panels.len() {
            fits.push(here.fit(at, named.method, &options, host)?.fitted);
        }
        let given = spec.value.get(&named.key.name);
        let values = given.map_or_else(|| sweep.values().to_vec(), |value| vec![*value]);
        let title = named.method.title;
        host.stage(format!("{name}: map, {title} at layer {layer}"), "point", seconds);
        let mut pass = Pass { main: &mut *main, here: &*here, named: &named, host: &mut *host };
        let seen = fits.iter().enumerate().map(|(k, fit)| pass.replicate(k, fit.as_ref(), &own, &values));
        let seen: Vec<Seen> = seen.collect::<Result<_, _>>()?;
        let chosen = match (given, values.len()) {
            (Some(_), _) => Chosen::Spec,
            (None, 1) => Chosen::Only,
            (None, _) => Chosen::Optimum,
        };
        let index = match pass.diagonal(&own[0], &values, &seen, chosen)? {
            Ok(index) => index,
            Err(reason) => {
                pass.nothing(reason, &own, &behind)?;
                continue;
            }
        };
        if behind.is_empty() {
            continue;
        }
        let mut seen: Vec<Seen> = Vec::new();
        for (k, fit) in fits.iter().enumerate() {
            seen.push(pass.replicate(k, fit.as_ref(), &behind, &values[index..=index])?);
            let last = k + 1 == fits.len();
            if last || (k + 1).is_power_of_two() {
                pass.tell(&behind, values[index], &seen, (chosen, last))?;
            }
        }
    }
    Ok(())
}

/// The oracles of the later layers, and their outputs on the model's unedited states at these layers.
fn judges(here: &Bench, later: &[Bench], host: &mut Host<'_>) -> Result<Vec<Judge>, Fault> {
    let of = |b: &Bench| Judge {
        layer: b.site.layer,
        replicates: b.panels.iter().map(|p| (p.oracles.clone(), Vec::new())).collect(),
    };
    let mut judges: Vec<Judge> = later.iter().map(of).collect();
    let layers: Vec<usize> = judges.iter().map(|j| j.layer).collect();
    for chunk in &here.chunks {
        let states = chunk.at_layers(&here.model, chunk.unedited(), &layers, host)?;
        for (judge, h) in judges.iter_mut().zip(&states) {
            for (oracles, outputs) in &mut judge.replicates {
                outputs.push(Arc::new(oracles.iter().map(|o| o.see(h)).collect()));
            }
        }
    }
    Ok(judges)
}

/// Computation of one method in one row of the map.
struct Pass<'a> {
    /// The bench of the run, used to answer questions.
    main: &'a mut Bench,
    here: &'a Bench,
    named: &'a Named,
    host: &'a mut Host<'a>,
}

impl Pass<'_> {
    /// Runs one replicate at these strengths on all test examples.
    fn replicate(&mut self, k: usize, fitted: &Fitted, judges: &[Judge], values: &[f64]) -> Result<Seen, Fault> {
        let (here, classes) = (self.here, self.here.labels.target_classes);
        let (layer, method) = (here.site.layer, self.named.method);
        let oracles = |j: &Judge| vec![Tally::default(); j.replicates[k].0.len()];
        let mut seen: Seen = vec![judges.iter().map(oracles).collect(); values.len()];
        // Intermediate blocks take memory for every chunk in flight, as in a sweep.
        let alone = judges.iter().all(|j| j.layer == layer);
        let abreast = if alone { 8 * rayon::current_num_threads() } else { 1 };
        let chunks: Vec<(usize, &Arc<Chunk>)> = here.chunks.iter().enumerate().collect();
        let total = chunks.len().div_ceil(abreast) * values.len();
        for (g, group) in chunks.chunks(abreast).enumerate() {
            let mut applied: Vec<(usize, Applied<'_>)> = Vec::new();
            for (c, chunk) in group {
                applied.push((*c, chunk.apply(method, fitted, classes, self.host)?));
            }
            for (i, value) in values.iter().enumerate() {
                let shared = SharedPulse::new(&mut *self.host, applied.len());
                let judge = |(c, applied): &mut (usize, Applied<'_>)| {
                    let readers: Vec<Reader<'_>> = judges
                        .iter()
                        .map(|j| {
                            let (oracles, outputs) = &j.replicates[k];
                            Reader { layer: j.layer, oracles, before: &outputs[*c] }
                        })
                        .collect();
                    applied.judge_at(*value, &readers, (&here.model, layer, &here.prior), &mut |_, _| shared.beat())
                };
                let outcomes: Vec<Vec<Vec<Scores>>> = applied.par_iter_mut().map(judge).collect::<Result<_, _>>()?;
                for outcome in outcomes {
                    for (tallies, scores) in seen[i].iter_mut().zip(&outcome) {
                        tallies.iter_mut().zip(scores).for_each(|(t, s)| t.extend(s));
                    }
                }
                point::serve(self.main, self.host)?;
                self.host.progress(g * values.len() + i + 1, total);
            }
        }
        Ok(seen)
    }

    /// Assesses oracle `o` of judge `j` over the replicates so far.
    fn assess(&mut self, (j, o): (usize, usize), values: &[f64], seen: &[Seen]) -> Option<Assessment> {
        let n = self.here.test.len();
        let (resamples, halves, other) = (self.main.resamples(n), self.main.halves(n), self.main.other(n));
        let further = self.main.further(n);
        let judged = |k: usize, m: usize| seen[k][m][j][o].judged(&other, &further);
        let (classes, level) = (self.here.labels.other_classes, self.main.label.level());
        let replicates = seen.len();
        let texts = self.main.texts_of(n);
        let sweep = Judged { values, replicates, judged: &judged, other: &other, classes, further: &further, texts };
        assess(&sweep, &resamples, &halves, level)
    }

    /// Reports the cells where the oracle reads the edited layer. Returns the index of the row's strength, or the reason why there is none.
    fn diagonal(
        &mut self,
        judge: &Judge,
        values: &[f64],
        seen: &[Seen],
        chosen: Chosen,
    ) -> Result<Result<usize, String>, Fault> {
        let mut index = None;
        for o in 0..judge.replicates[0].0.len() {
            let Some(all) = self.assess((0, o), values, seen) else { continue };
            let at = match (index, chosen, &all.optimum) {
                (Some(index), _, _) => index,
                (None, Chosen::Optimum, Ok(best)) => best.index,
                (None, Chosen::Optimum, Err(reason)) => return Ok(Err(reason.to_string())),
                (None, Chosen::Spec | Chosen::Only, _) => 0,
            };
            index = Some(at);
            let tallies: Vec<&Tally> = seen.iter().map(|s| &s[at][0][o]).collect();
            self.cell(judge, o, &all.strengths[at], &tallies, (chosen, true))?;
        }
        Ok(index.ok_or_else(|| "no test example could be scored".into()))
    }

    /// Reports the cells of the later layers over the replicates so far.
    fn tell(&mut self, judges: &[Judge], value: f64, seen: &[Seen], how: (Chosen, bool)) -> Result<(), Fault> {
        for (j, judge) in judges.iter().enumerate() {
            for o in 0..judge.replicates[0].0.len() {
                let Some(all) = self.assess((j, o), &[value], seen) else { continue };
                let tallies: Vec<&Tally> = seen.iter().map(|s| &s[0][j][o]).collect();
                self.cell(judge, o, &all.strengths[0], &tallies, how)?;
            }
        }
        Ok(self.host.poll()?)
    }

    fn cell(
        &mut self,
        judge: &Judge,
        o: usize,
        strength: &Strength,
        tallies: &[&Tally],
        (chosen, last): (Chosen, bool),
    ) -> Result<(), Fault> {
        let (here, n) = (self.here, self.here.test.len());
        let outputs = judge.replicates.iter().take(tallies.len()).map(|(_, outputs)| outputs.as_slice());
        let base = baseline_of(here, self.named.method.goal, o, n, outputs);
        let mut point = reliability(here, self.named, o, strength, tallies, &base);
        point.oracle_layer = judge.layer;
        let body = Kind::Map(MapFinding { point, strength: chosen });
        Ok(self.host.find(here.label.finding(n, last, self.host.elapsed(), body))?)
    }

    fn nothing(&mut self, reason: String, own: &[Judge], behind: &[Judge]) -> Result<(), Fault> {
        let body = Kind::NoMap(NoMapFinding {
            method: self.named.key.name.clone(),
            options: self.named.key.options.clone(),
            layer: self.here.site.layer,
            oracle_layers: own.iter().chain(behind).map(|j| j.layer).collect(),
            reason,
        });
        let n = self.here.test.len();
        Ok(self.host.find(self.here.label.finding(n, true, self.host.elapsed(), body))?)
    }
}

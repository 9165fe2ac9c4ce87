//! The sweep: a method over its grid, first on a subsample with the first panel, then on all test examples, replicate by replicate.
//! Questions from sliders are answered between chunks.

use crate::experiment::panel::MOST_RIVALS;
use crate::experiment::stages::sweep_of;
use std::sync::Arc;

use rayon::prelude::*;

use super::panel::Which;
use super::point;
use super::points::{Baseline, Behaved, Named, baseline, behaviour, kinds, reliability, sweep_p};
use super::prepare::{Bench, RIVAL_CHUNKS};
use super::training::is_shared;
use crate::Host;
use crate::assess::{Assessment, Strength, assess, bands};
use crate::banded::Banded;
use crate::bench::{Applied, Chunk, Judges, Outcome};
use crate::distance::Distances;
use crate::finding::{BehaviourFinding, How, Kind, OptimumFinding, PaperFinding, ReliabilityFinding};
use crate::method::Method;
use crate::optimum::{Draws, Optimum};
use crate::options::Options;
use crate::oracle::OracleKind;
use crate::spec::MethodSpec;
use crate::table::{Further, Judged as Scored, Sweep as Judged};
use crate::tally::Tally;
use crate::verdict::{NoOptimumFinding, RivalFinding};
use base::SharedPulse;
use lab::fault::Fault;

/// Results of one panel: scores by strength and oracle; the model's behaviour and the distances of the states from real ones, by strength.
#[derive(Debug, Clone, Default)]
struct Seen {
    tallies: Vec<Vec<Tally>>,
    behaved: Vec<Behaved>,
    distances: Vec<Distances>,
}

pub(crate) struct Sweep {
    named: Named,
    options: Options,
    values: Vec<f64>,
    /// Results by replicate.
    seen: Vec<Seen>,
}

/// Results of a finished sweep under one oracle, for comparisons.
pub(crate) struct Concluded {
    pub draws: Draws,
    pub rivals: Vec<Draws>,
    pub best: Option<f64>,
    pub points: Vec<ReliabilityFinding>,
}

pub(crate) fn open(spec: &MethodSpec, method: &'static Method) -> Result<Sweep, Fault> {
    let options = Options::new(method, spec.options.iter().map(|(k, v)| (k.as_str(), *v)))?;
    let mut values = if spec.values.is_empty() { method.parameter.grid.to_vec() } else { spec.values.clone() };
    values.sort_by(f64::total_cmp);
    Ok(Sweep { named: Named { method, key: spec.key() }, options, values, seen: Vec::new() })
}

impl Sweep {
    pub(crate) fn named(&self) -> &Named {
        &self.named
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The strengths, in ascending order.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Expected seconds of the first estimate and of the rest, without fits. Both come from the forecast: the time of the first estimate
    /// contains work that does not grow with the number of examples, so that it would be several times too long for the rest.
    pub(crate) fn expected(&self, bench: &Bench) -> [f64; 2] {
        let all = bench.stages.of(&sweep_of(&self.named.key));
        let share = bench.chunks[0].len() as f64 / bench.judged(bench.spec.probe.replicates, MOST_RIVALS) as f64;
        [all * share, all * (1.0 - share)]
    }

    /// Makes the first estimate at every strength, with the first panel on the first chunk.
    pub(crate) fn begin(&mut self, bench: &mut Bench, host: &mut Host<'_>) -> Result<(), Fault> {
        self.seen.clear();
        let title = self.named.method.title;
        let fit = bench.fit(0, self.named.method, &self.options, host)?;
        bench.distance_meter(host)?;
        let [seconds, _] = self.expected(bench);
        host.stage(format!("{}: {title} first estimate", bench.model.name()), "point", seconds);
        self.seen.push(Seen::default());
        self.pass(bench, 0, 0..1, fit.fitted.as_ref(), true, host)?;
        Ok(())
    }

    /// Runs all test examples, all replicates and all rivals, then finds the optimum.
    pub(crate) fn finish(&mut self, bench: &mut Bench, host: &mut Host<'_>) -> Result<Vec<Concluded>, Fault> {
        let (model, title) = (bench.model.name().to_owned(), self.named.method.title);
        let (replicates, panels) = (bench.replicates(), bench.panels.len());
        let share = self.expected(bench)[1] / panels as f64;
        let chunks = bench.chunks.len();
        for at in 0..replicates {
            let fit = bench.fit(at, self.named.method, &self.options, host)?;
            host.stage(format!("{model}: {title}, training run {} of {replicates}", at + 1), "point", share);
            let from = usize::from(at < self.seen.len());
            if from == 0 {
                self.seen.push(Seen::default());
            }
            self.pass(bench, at, from..chunks, fit.fitted.as_ref(), false, host)?;
            // Between the first and the last replicate the bands are updated whenever the number of replicates has doubled.
            if (at + 1).is_power_of_two() && at + 1 < replicates {
                self.tell(bench, host)?;
            }
        }
        let mut rivals = Vec::new();
        for at in replicates..panels {
            let fit = bench.fit(at, self.named.method, &self.options, host)?;
            let Which::Rival(which) = bench.panels[at].which else { continue };
            host.stage(format!("{model}: {title}, other probe settings {which}"), "point", share);
            self.seen.push(Seen::default());
            self.pass(bench, at, 0..chunks.min(RIVAL_CHUNKS), fit.fitted.as_ref(), false, host)?;
            if let Some(seen) = self.seen.pop() {
                rivals.push(self.rival(bench, at, which, &seen, host)?);
            }
        }
        let concluded = self.conclude(bench, rivals, host)?;
        self.seen = Vec::new();
        Ok(concluded)
    }

    fn pass(
        &mut self,
        bench: &mut Bench,
        at: usize,
        range: std::ops::Range<usize>,
        fitted: &crate::Fitted,
        told: bool,
        host: &mut Host<'_>,
    ) -> Result<(), Fault> {
        let classes = bench.labels.target_classes;
        let chunks: Vec<(usize, Arc<Chunk>)> = range.map(|c| (c, bench.chunks[c].clone())).collect();
        let mut applied: Vec<(usize, Applied<'_>)> = Vec::new();
        for (c, chunk) in &chunks {
            applied.push((*c, chunk.apply(self.named.method, fitted, classes, host)?));
        }
        let (model, site, prior) = (bench.model.clone(), bench.site, bench.prior.clone());
        let panel = &bench.panels[at];
        let (oracles, outputs) = (panel.oracles.clone(), panel.outputs.clone());
        // A fit shared by all panels changes the model's answers in the same way, and a control needs only one fit.
        let same = at > 0 && (is_shared(self.named.method) || self.named.method.is_control);
        // If only the head remains, the model's own answer is cheap. Otherwise the intermediate blocks run again for every value, so that
        // answer is computed only for the first training run.
        let everywhere = model.ends_at(site.layer);
        let (total, asks) = (self.values.len(), bench.asks());
        let which = self.seen.len() - 1;
        self.seen[which].tallies.resize(total, vec![Tally::default(); oracles.len()]);
        self.seen[which].behaved.resize(total, Behaved::default());
        self.seen[which].distances.resize(total, Distances::default());
        let distance_meter = bench.distance_meter.clone();
        // Intermediate blocks take memory for every chunk in flight. If there are none, enough chunks run at the same time to keep all
        // threads busy, but few enough for quick answers to questions from sliders.
        let abreast = if everywhere { 8 * rayon::current_num_threads() } else { 1 };
        for i in 0..total {
            for group in applied.chunks_mut(abreast) {
                let value = self.values[i];
                let shared = SharedPulse::new(host, group.len());
                let judge = |(c, applied): &mut (usize, Applied<'_>)| {
                    let judges = Judges {
                        model: &model,
                        oracles: &oracles,
                        before: &outputs[*c],
                        prior: &prior,
                        site,
                        behaviour: asks && !same && (at == 0 || everywhere),
                        meter: distance_meter.as_deref().filter(|_| at == 0 && *c == 0).map(|g| &g.meter),
                    };
                    applied.judge(value, judges, &mut |_, _| shared.beat())
                };
                let outcomes: Vec<Outcome> = group.par_iter_mut().map(judge).collect::<Result<_, _>>()?;
                let seen = &mut self.seen[which];
                for outcome in &outcomes {
                    seen.tallies[i].iter_mut().zip(&outcome.scores).for_each(|(t, s)| t.extend(s));
                    if let Some(behaviour) = &outcome.behaviour {
                        seen.behaved[i].extend(behaviour);
                    }
                    if !outcome.distances.is_empty() {
                        seen.distances[i] = outcome.distances.clone();
                    }
                }
                point::serve(bench, host)?;
            }
            if told {
                let (tallies, behaved) = self.so_far(i);
                let mut list = kinds(bench, &self.named, self.values[i], &tallies, &behaved);
                list.extend(bench.distance(&self.named, self.values[i], &self.seen[which].distances[i]));
                for (body, n) in list {
                    host.find(bench.label.finding(n, false, host.elapsed(), body))?;
                }
            }
            host.progress(i + 1, total);
            host.poll()?;
        }
        Ok(())
    }

    /// Reports the curve over the replicates so far.
    fn tell(&self, bench: &mut Bench, host: &mut Host<'_>) -> Result<(), Fault> {
        let n = bench.test.len();
        for o in 0..bench.panels[0].oracles.len() {
            let (resamples, other, further) = (bench.resamples(n), bench.other(n), bench.further(n));
            let judged = |k: usize, m: usize| self.seen[k].tallies[m][o].judged(&other, &further);
            let sweep = self.judged(bench, (&other, &further), self.seen.len(), &judged);
            let Some(strengths) = bands(&sweep, &resamples, bench.label.level()) else { continue };
            let base = baseline(bench, self.named.method.goal, o, n, self.seen.len());
            for point in self.points(bench, o, &strengths, &base) {
                let body = Kind::Reliability(point);
                host.find(bench.label.finding(n, false, host.elapsed(), body))?;
            }
        }
        Ok(host.poll()?)
    }

    fn judged<'a>(
        &'a self,
        bench: &'a Bench,
        (other, further): (&'a [Option<usize>], &'a [Further]),
        replicates: usize,
        judged: &'a dyn Fn(usize, usize) -> Scored,
    ) -> Judged<'a> {
        let classes = bench.labels.other_classes;
        Judged { values: &self.values, replicates, judged, other, classes, further, texts: bench.texts_of(other.len()) }
    }

    /// Results of the training runs so far at one strength, and the model's behaviour at that strength.
    fn so_far(&self, i: usize) -> (Vec<&[Tally]>, Vec<&Behaved>) {
        let tallies = self.seen.iter().map(|s| s.tallies[i].as_slice()).collect();
        let behaved = self.seen.iter().map(|s| &s.behaved[i]).filter(|b| b.len() > 0).collect();
        (tallies, behaved)
    }

    fn assess(&self, bench: &mut Bench, o: usize, seen: &[Seen]) -> Option<Assessment> {
        let n = seen.first()?.tallies.first()?.get(o)?.len();
        let (resamples, halves, other) = (bench.resamples(n), bench.halves(n), bench.other(n));
        let further = bench.further(n);
        let judged = |k: usize, m: usize| seen[k].tallies[m][o].judged(&other, &further);
        let sweep = self.judged(bench, (&other, &further), seen.len(), &judged);
        assess(&sweep, &resamples, &halves, bench.label.level())
    }

    /// The findings of a rival, and its draws by oracle.
    fn rival(
        &self,
        bench: &mut Bench,
        at: usize,
        which: usize,
        seen: &Seen,
        host: &mut Host<'_>,
    ) -> Result<Vec<Draws>, Fault> {
        let mut draws = Vec::new();
        for o in 0..bench.panels[at].oracles.len() {
            let kind = bench.panels[at].oracles[o].kind;
            let Some(all) = self.assess(bench, o, std::slice::from_ref(seen)) else { continue };
            let recipes = bench.recipes_of(at, kind);
            for s in &all.strengths {
                let body = Kind::Rival(RivalFinding {
                    method: self.named.key.name.clone(),
                    options: self.named.key.options.clone(),
                    layer: bench.site.layer,
                    oracle: kind,
                    oracle_layer: bench.site.oracle_layer,
                    parameter: self.named.method.parameter.name.to_owned(),
                    value: s.value,
                    rival: which,
                    recipes: recipes.clone(),
                    completeness: s.completeness.narrow.mean,
                    selectivity: s.selectivity.map(|b| b.narrow.mean),
                    reliability: s.reliability.map(|b| b.narrow.mean),
                });
                host.find(bench.label.finding(s.n_c, true, host.elapsed(), body))?;
            }
            draws.push(all.draws);
        }
        Ok(draws)
    }

    /// Reports final points and the optimum under each oracle; returns the data for comparisons.
    fn conclude(
        &self,
        bench: &mut Bench,
        rivals: Vec<Vec<Draws>>,
        host: &mut Host<'_>,
    ) -> Result<Vec<Concluded>, Fault> {
        let n = bench.test.len();
        let oracles = bench.panels[0].oracles.len();
        let mut out = Vec::new();
        for o in 0..oracles {
            let kind = bench.panels[0].oracles[o].kind;
            let Some(all) = self.assess(bench, o, &self.seen) else { continue };
            let base = baseline(bench, self.named.method.goal, o, n, self.seen.len());
            let points = self.points(bench, o, &all.strengths, &base);
            for point in &points {
                let body = Kind::Reliability(point.clone());
                host.find(bench.label.finding(n, true, host.elapsed(), body))?;
            }
            let body = match &all.optimum {
                Ok(best) => self.optimum(bench, kind, (&all, best), &points[best.index]),
                Err(reason) => Kind::NoOptimum(NoOptimumFinding {
                    method: self.named.key.name.clone(),
                    options: self.named.key.options.clone(),
                    layer: bench.site.layer,
                    oracle: kind,
                    oracle_layer: bench.site.oracle_layer,
                    parameter: self.named.method.parameter.name.to_owned(),
                    reason: reason.to_string(),
                    paper: paper(&all),
                }),
            };
            host.find(bench.label.finding(n, true, host.elapsed(), body))?;
            let best = all.optimum.as_ref().ok().map(|best| best.value);
            let rivals = rivals.iter().filter_map(|r| r.get(o).cloned()).collect();
            out.push(Concluded { draws: all.draws, rivals, best, points });
        }
        let firsts: Vec<&Behaved> = self.seen[0].behaved.iter().collect();
        let sweep_p = sweep_p(&firsts, bench.spec.probe.seed);
        for i in 0..self.values.len() {
            let (_, behaved) = self.so_far(i);
            let value = self.values[i];
            let mut behaviour = behaviour(bench, &self.named, value, &behaved);
            if let Some((Kind::Behaviour(BehaviourFinding { told: Some(told), .. }), _)) = &mut behaviour {
                told.sweep_p = sweep_p;
            }
            let distance = bench.distance(&self.named, value, &self.seen[0].distances[i]);
            for (body, n) in behaviour.into_iter().chain(distance) {
                host.find(bench.label.finding(n, true, host.elapsed(), body))?;
            }
        }
        Ok(out)
    }

    fn points(&self, bench: &Bench, o: usize, strengths: &[Strength], base: &Baseline) -> Vec<ReliabilityFinding> {
        let each = strengths.iter().enumerate();
        each.map(|(i, s)| {
            let tallies: Vec<&Tally> = self.seen.iter().map(|seen| &seen.tallies[i][o]).collect();
            reliability(bench, &self.named, o, s, &tallies, base)
        })
        .collect()
    }

    fn optimum(
        &self,
        bench: &Bench,
        oracle: OracleKind,
        (all, best): (&Assessment, &Optimum),
        point: &ReliabilityFinding,
    ) -> Kind {
        let [completeness, selectivity] = best.held_out.map(Banded::from);
        let readable = all.strengths.iter().filter(|s| s.eligible() == Some(true));
        let chosen = self.values.iter().zip(&best.chosen).filter(|(_, share)| **share > 0.0);
        Kind::Optimum(OptimumFinding {
            method: self.named.key.name.clone(),
            options: self.named.key.options.clone(),
            layer: bench.site.layer,
            oracle,
            oracle_layer: Some(bench.site.oracle_layer),
            parameter: self.named.method.parameter.name.to_owned(),
            value: best.value,
            completeness,
            selectivity,
            reliability: best.reliability.into(),
            how: How {
                replicates: best.reliability.replicates,
                chosen: Some("held_out".into()),
                eligible: Some(readable.count() as f64 / all.strengths.len() as f64),
                choices: chosen.map(|(value, share)| (*value, *share)).collect(),
                at_end: best.end,
                paper: paper(all),
                selectivities: point.beside.selectivities.clone(),
            },
        })
    }
}

/// The optimum chosen and reported on all examples.
fn paper(all: &Assessment) -> Option<PaperFinding> {
    let paper = all.paper.as_ref()?;
    let at = &all.strengths[paper.index];
    Some(PaperFinding {
        value: paper.value,
        completeness: at.completeness.into(),
        selectivity: at.selectivity.map_or(Banded::UNKNOWN, Banded::from),
        reliability: paper.reliability.into(),
        at_end: paper.end,
    })
}

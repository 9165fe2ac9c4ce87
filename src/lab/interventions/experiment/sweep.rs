//! The sweep: every method over its grid, first on a subsample, then on all test examples, with sliders answered between.

use std::sync::Arc;

use super::point;
use super::prepare::{Bench, Fit};
use crate::base::Problem;
use crate::base::matrix::{Dense, Matrix};
use crate::lab::fault::Fault;
use crate::lab::host::{Host, NoticeLevel};
use crate::lab::interventions::bench::{Applied, Chunk, Conduct, Court, Outcome, Scores};
use crate::lab::interventions::finding::{
    BehaviourFinding, Kind, OptimumFinding, ProbeFinding, ProbeRole, ReliabilityFinding,
};
use crate::lab::interventions::method::{Goal, Method};
use crate::lab::interventions::options::Options;
use crate::lab::interventions::oracle::{OracleKind, Sight};
use crate::lab::interventions::spec::MethodSpec;
use crate::lab::plan::Roles;
use crate::probe::audit::audit;
use crate::probe::{Labelled, Probe};
use crate::stats::Estimate;
use crate::stats::bootstrap::Resamples;

/// One method of the spec with its values.
pub struct Sweep {
    fit: Arc<Fit>,
    values: Vec<f64>,
    /// Scores on the first chunk, per value.
    first: Vec<Outcome>,
    /// Seconds that these took, without the fit.
    first_seconds: f64,
    /// Final points, per oracle and value.
    points: Vec<Vec<ReliabilityFinding>>,
}

/// Fits a method and gives the first estimate of each of its points.
///
/// # Errors
/// [`Fault`].
pub fn begin(
    bench: &mut Bench,
    spec: &MethodSpec,
    method: &'static dyn Method,
    host: &mut dyn Host,
) -> Result<Sweep, Fault> {
    let options = Options::new(method, spec.options.iter().map(|(k, v)| (k.as_str(), *v)))?;
    let fit = bench.fit(method, &options, host)?;
    let values = if spec.values.is_empty() { method.parameter().grid.to_vec() } else { spec.values.clone() };
    let chunks = vec![bench.chunks[0].clone()];
    let sights = vec![bench.sights[0].clone()];
    let mut sweep =
        Sweep { fit: Arc::new(fit), values, first: Vec::new(), first_seconds: 0.0, points: Vec::new() };
    host.stage(format!("{}: {} first estimate", bench.model.name(), method.title()), "point", 0.5);
    let then = host.elapsed();
    sweep.pass(bench, &chunks, &sights, false, host)?;
    sweep.first_seconds = host.elapsed() - then;
    Ok(sweep)
}

impl Sweep {
    /// Seconds that the first chunk took at all strengths.
    pub fn first_seconds(&self) -> f64 {
        self.first_seconds
    }

    /// Judges every value on all test examples and names the best one.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn finish(&mut self, bench: &mut Bench, host: &mut dyn Host, weight: f64) -> Result<(), Fault> {
        let (chunks, sights) = (bench.chunks[1..].to_vec(), bench.sights[1..].to_vec());
        host.stage(format!("{}: {}", bench.model.name(), self.fit.method.title()), "point", weight);
        self.pass(bench, &chunks, &sights, true, host)?;
        for (k, points) in self.points.iter().enumerate() {
            let kind = bench.oracles[k].kind;
            if let Some(body) = optimum(points, kind, bench.site.oracle_layer) {
                let finding = bench.label.finding(bench.test.len(), true, host.elapsed(), body);
                host.find(finding)?;
            }
        }
        Ok(())
    }

    fn pass(
        &mut self,
        bench: &mut Bench,
        chunks: &[Arc<Chunk>],
        sights: &[Arc<Vec<Sight>>],
        is_final: bool,
        host: &mut dyn Host,
    ) -> Result<(), Fault> {
        let classes = bench.labels.target_classes;
        let fit = self.fit.clone();
        let mut applied: Vec<Applied<'_>> = chunks
            .iter()
            .map(|c| c.apply(fit.method, fit.fitted.as_ref(), classes, host))
            .collect::<Result<_, _>>()?;
        let (model, oracles) = (bench.model.clone(), bench.oracles.clone());
        // Where only the head is left the model's own answer is cheap; else the blocks in between run again for
        // every value, and the subsample has to do.
        let everywhere = model.ends_at(bench.site.layer);
        let total = self.values.len();
        for i in 0..total {
            let value = self.values[i];
            let mut outcome = if is_final { self.first[i].clone() } else { Outcome::empty(oracles.len()) };
            for (a, before) in applied.iter_mut().zip(sights) {
                let conduct = model.has_head() && classes == 2 && (!is_final || everywhere);
                let court = Court {
                    model: &model,
                    oracles: &oracles,
                    before,
                    prior: &bench.prior,
                    site: bench.site,
                    conduct,
                };
                outcome.extend(a.judge(value, court, host)?);
                point::serve(bench, host)?;
            }
            self.emit(bench, &outcome, value, is_final, host)?;
            if !is_final {
                self.first.push(outcome);
            }
            host.progress(i + 1, total);
            host.poll()?;
        }
        Ok(())
    }

    fn emit(
        &mut self,
        bench: &mut Bench,
        outcome: &Outcome,
        value: f64,
        is_final: bool,
        host: &mut dyn Host,
    ) -> Result<(), Fault> {
        self.points.resize(bench.oracles.len(), Vec::new());
        for (body, n) in kinds(bench, &self.fit, outcome, value) {
            if let (true, Kind::Reliability(point)) = (is_final, &body)
                && let Some(k) = bench.oracles.iter().position(|o| o.kind == point.oracle)
            {
                self.points[k].push(point.clone());
            }
            let finding = bench.label.finding(n, is_final, host.elapsed(), body);
            host.find(finding)?;
        }
        Ok(())
    }
}

/// The findings of one outcome: reliability under each oracle, then the model's behaviour. Each with its n.
pub fn kinds(bench: &mut Bench, fit: &Fit, outcome: &Outcome, value: f64) -> Vec<(Kind, usize)> {
    let mut list = Vec::new();
    let level = bench.label.level();
    let oracles = bench.oracles.clone();
    for (oracle, scores) in oracles.iter().zip(&outcome.scores) {
        let n = scores.examples.completeness.len();
        let resamples = bench.resamples(n);
        list.push((reliability(bench, fit, oracle.kind, scores, value, &resamples, level), n));
    }
    if let Some(conduct) = &outcome.conduct {
        let n = conduct.flipped.len();
        let resamples = bench.resamples(n);
        list.push((behaviour(bench, fit, conduct, value, &resamples, level), n));
    }
    list
}

fn reliability(
    bench: &Bench,
    fit: &Fit,
    oracle: OracleKind,
    scores: &Scores,
    value: f64,
    resamples: &Resamples,
    level: f64,
) -> Kind {
    let means = scores.examples.summary(resamples, level);
    // Without any example that has the other property nothing is known: the whole range, not a guess.
    let unknown = Estimate { mean: f64::NAN, lo: 0.0, hi: 1.0 };
    Kind::Reliability(ReliabilityFinding {
        method: fit.key.name.clone(),
        options: fit.key.options.clone(),
        layer: bench.site.layer,
        oracle,
        oracle_layer: bench.site.oracle_layer,
        parameter: fit.method.parameter().name.to_owned(),
        value,
        completeness: means.completeness,
        selectivity: means.selectivity.unwrap_or(unknown),
        reliability: means.reliability.unwrap_or(unknown),
        n_c: means.n_c,
        n_s: means.n_s,
        mean_harmonic: means.mean_of_harmonics.unwrap_or(f64::NAN),
        completeness_prior: (fit.method.goal() == Goal::Nullifying)
            .then(|| scores.prior.iter().sum::<f64>() / scores.prior.len() as f64),
    })
}

fn behaviour(
    bench: &Bench,
    fit: &Fit,
    conduct: &Conduct,
    value: f64,
    resamples: &Resamples,
    level: f64,
) -> Kind {
    Kind::Behaviour(BehaviourFinding {
        method: fit.key.name.clone(),
        options: fit.key.options.clone(),
        layer: bench.site.layer,
        parameter: fit.method.parameter().name.to_owned(),
        value,
        flip_rate: resamples.mean(&conduct.flipped, level),
        correct_before: resamples.mean(&conduct.correct_before, level),
        correct_after: resamples.mean(&conduct.correct_after, level),
    })
}

/// The value of the highest reliability; of equals the weakest intervention.
fn optimum(points: &[ReliabilityFinding], oracle: OracleKind, oracle_layer: usize) -> Option<Kind> {
    let mut best: Option<&ReliabilityFinding> = None;
    for point in points.iter().filter(|p| p.reliability.mean.is_finite()) {
        if best.is_none_or(|b| point.reliability.mean > b.reliability.mean) {
            best = Some(point);
        }
    }
    best.map(|b| {
        Kind::Optimum(OptimumFinding {
            method: b.method.clone(),
            options: b.options.clone(),
            layer: b.layer,
            oracle,
            oracle_layer: Some(oracle_layer),
            parameter: b.parameter.clone(),
            value: b.value,
            completeness: b.completeness,
            selectivity: b.selectivity,
            reliability: b.reliability,
        })
    })
}

/// Audits every probe on the test examples that have been read.
///
/// # Errors
/// [`Fault`].
pub fn audit_probes(bench: &Bench, is_final: bool, host: &mut dyn Host) -> Result<(), Fault> {
    for oracle in bench.oracles.iter() {
        for (role, probe) in [(Roles::Target, &oracle.target), (Roles::Other, &oracle.other)] {
            let name = format!("oracle {} {}", oracle.kind, bench.property(role));
            let found =
                ProbeAudit { role: ProbeRole::Oracle, oracle: Some(oracle.kind), property: role, name };
            found.report(bench, probe, is_final, host)?;
        }
    }
    if let Some(mlp) = bench.mlp() {
        let name = "interventional".to_owned();
        let found =
            ProbeAudit { role: ProbeRole::Interventional, oracle: None, property: Roles::Target, name };
        found.report(bench, mlp, is_final, host)?;
    }
    Ok(())
}

struct ProbeAudit {
    role: ProbeRole,
    oracle: Option<OracleKind>,
    property: Roles,
    name: String,
}

impl ProbeAudit {
    fn report<R: crate::probe::split::Role>(
        &self,
        bench: &Bench,
        probe: &Probe<R>,
        is_final: bool,
        host: &mut dyn Host,
    ) -> Result<(), Fault> {
        let (labels, classes) = bench.labels.of(self.property);
        let mut x = Vec::new();
        let mut y = Vec::new();
        let mut dim = 0;
        for chunk in &bench.chunks {
            let h = if self.role == ProbeRole::Oracle { &chunk.oracle_h } else { &chunk.h };
            dim = h.cols();
            for (i, r) in chunk.rows.iter().enumerate() {
                if let Some(label) = labels[*r] {
                    x.extend_from_slice(h.row(i));
                    y.push(label);
                }
            }
        }
        if y.is_empty() {
            return Ok(());
        }
        let x: Matrix = Dense::from_fn(y.len(), dim, |i, j| x[i * dim + j]);
        let data = Labelled::new(x, y, classes)?;
        let audit = audit(&probe.probabilities(data.x()), &data, bench.label.level());
        let body = Kind::Probe(ProbeFinding {
            role: self.role,
            property: bench.property(self.property).to_owned(),
            classifier: probe.chosen().map_or_else(|| "given".into(), |t| t.recipe.describe()),
            oracle: self.oracle,
            layer: if self.role == ProbeRole::Oracle { bench.site.oracle_layer } else { bench.site.layer },
            accuracy: audit.accuracy,
            majority: audit.majority,
            balanced_accuracy: audit.balanced_accuracy,
            calibration_error: audit.calibration_error,
            cached: bench.was_cached(&self.name),
            grid: bench.grid(self.oracle),
        });
        let finding = bench.label.finding(audit.n, is_final, host.elapsed(), body);
        host.find(finding)?;
        if is_final && audit.accuracy.lo <= audit.majority {
            host.notice(NoticeLevel::Warning, self.doubt(bench, audit.accuracy, audit.majority))?;
        }
        Ok(())
    }

    /// What to say of a probe that may see nothing: every score that rests on it is in doubt.
    fn doubt(&self, bench: &Bench, accuracy: Estimate, majority: f64) -> Problem {
        let property = bench.property(self.property);
        let (who, what) = match self.oracle {
            Some(kind) if self.property == Roles::Target => {
                (format!("{kind} oracle"), "completeness under it says little")
            }
            Some(kind) => (format!("{kind} oracle"), "selectivity under it says little"),
            None => ("interventional probe".to_owned(), "attacks on it say little"),
        };
        Problem {
            what: format!(
                "the {who} of {property} is no better than the majority share ({:.3} [{:.3}, {:.3}] against {majority:.3}): \
                 {what}",
                accuracy.mean, accuracy.lo, accuracy.hi
            ),
            r#where: bench.model.name().to_owned(),
            hint: "raise task.examples, or choose another layer or model".into(),
        }
    }
}

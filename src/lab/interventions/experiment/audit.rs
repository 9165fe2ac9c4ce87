//! The audit of every probe of a panel: how well its trainings read the test examples, and how their recipe was chosen.

use super::panel::{Panel, Seat, Seated, Which};
use super::prepare::Bench;
use crate::Host;
use crate::doubts::MISCALIBRATED;
use crate::finding::{ChoiceFinding, Kind, ProbeFinding, ProbeRole};
use base::Problem;
use base::matrix::{Dense, Matrix};
use base::numbers::score;
use lab::fault::Fault;
use lab::host::NoticeLevel;
use lab::plan::{Material, Roles, material, training_part};
use probe::Labelled;
use probe::audit::{Audit, audit};
use probe::grid::Standing;
use probe::train::EPOCH;
use stats::Estimate;
use stats::intervals::share;

/// Audits every probe on the test examples that have been read.
pub(crate) fn audit_probes(bench: &Bench, is_final: bool, host: &mut Host<'_>) -> Result<(), Fault> {
    for seat in &bench.seats {
        let Some((data, audits)) = audits(bench, *seat)? else { continue };
        let mean = |of: &dyn Fn(&Audit) -> f64| audits.iter().map(of).sum::<f64>() / audits.len() as f64;
        let accuracy = share_of_trainings(mean(&|a| a.accuracy.mean), data.len(), bench.label.level());
        let (majority, calibration) = (audits[0].majority, mean(&|a| a.calibration_error));
        let (role, oracle, layer) = match seat {
            Seat::Oracle(kind, _) => (ProbeRole::Oracle, Some(*kind), bench.site.oracle_layer),
            Seat::Attacked => (ProbeRole::Interventional, None, bench.site.layer),
        };
        let body = Kind::Probe(ProbeFinding {
            role,
            property: bench.property(seat.role()).to_owned(),
            classifier: bench
                .recipe(*seat, bench.panels[0].which)
                .map_or_else(|| "given".into(), |(recipe, _)| recipe.describe()),
            oracle,
            layer,
            accuracy,
            majority,
            balanced_accuracy: mean(&|a| a.balanced_accuracy),
            calibration_error: calibration,
            cached: bench.was_cached(*seat),
            grid: bench.grid(oracle),
            choice: choice(bench, *seat, &audits)?,
        });
        host.find(bench.label.finding(data.len(), is_final, host.elapsed(), body))?;
        if is_final && accuracy.lo <= majority {
            host.notice(NoticeLevel::Warning, doubt(bench, *seat, accuracy, majority))?;
        } else if is_final && calibration > MISCALIBRATED {
            host.notice(NoticeLevel::Warning, miscalibrated(bench, *seat, calibration))?;
        }
    }
    Ok(())
}

/// Interval of a mean share over trainings: between whole numbers of answers, the outer ends of the intervals on
/// either side.
fn share_of_trainings(mean: f64, n: usize, level: f64) -> Estimate {
    let count = mean * n as f64;
    // A mean of whole numbers may miss a whole number by rounding.
    let (below, above) = ((count + 1e-9).floor() as u64, (count - 1e-9).ceil() as u64);
    let n = n as u64;
    Estimate { mean, lo: share(below.min(n), n, level).lo, hi: share(above.min(n), n, level).hi }
}

/// The test examples that a probe is audited on, and the audit of each training.
fn audits(bench: &Bench, seat: Seat) -> Result<Option<(Labelled, Vec<Audit>)>, Fault> {
    let (labels, classes) = bench.labels.of(seat.role());
    let (mut x, mut y, mut dim) = (Vec::new(), Vec::new(), 0);
    for chunk in &bench.chunks {
        let h = if seat == Seat::Attacked { &chunk.h } else { &chunk.oracle_h };
        dim = h.cols();
        for (i, r) in chunk.rows.iter().enumerate() {
            if let Some(label) = labels[*r] {
                x.extend_from_slice(h.row(i));
                y.push(label);
            }
        }
    }
    if y.is_empty() {
        return Ok(None);
    }
    let x: Matrix = Dense::from_fn(y.len(), dim, |i, j| x[i * dim + j]);
    let data = Labelled::new(x, y, classes)?;
    let judges = bench.panels.iter().filter(|p| !matches!(p.which, Which::Rival(_)));
    let seen = judges.filter_map(|p| probabilities(p, seat, data.x()));
    let audits: Vec<Audit> = seen.map(|p| audit(&p, &data, bench.label.level())).collect();
    Ok((!audits.is_empty()).then_some((data, audits)))
}

fn probabilities(panel: &Panel, seat: Seat, x: &Matrix) -> Option<Dense<f64>> {
    match seat {
        Seat::Attacked => panel.attacked.as_ref().map(|p| p.probabilities(x)),
        Seat::Oracle(kind, role) => {
            let oracle = panel.oracles.iter().find(|o| o.kind == kind)?;
            let probe = match role {
                Roles::Target => &oracle.target,
                Roles::Other => &oracle.other,
                Roles::Further(j) => oracle.further.get(j)?,
            };
            Some(probe.probabilities(x))
        }
    }
}

fn choice(bench: &Bench, seat: Seat, audits: &[Audit]) -> Result<Option<ChoiceFinding>, Fault> {
    let Some(chosen) = bench.searched(seat) else { return Ok(None) };
    let (standing, best) = match chosen {
        Seated::Oracle(p) => (p.standing(), p.trials()),
        Seated::Attacked(p) => (p.standing(), p.trials()),
    };
    let Some(Standing { trial, epoch, score }) = standing else { return Ok(None) };
    let best = best.iter().flat_map(|t| &t.run.correct).max().copied().unwrap_or(0);
    let range = |of: &dyn Fn(&Audit) -> f64| {
        let values = audits.iter().map(of);
        let (lo, hi) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max));
        [lo, hi]
    };
    Ok(Some(ChoiceFinding {
        replicates: audits.len(),
        accuracy_range: range(&|a| a.accuracy.mean),
        calibration_range: range(&|a| a.calibration_error),
        validation: [score.accuracy, best as f64 / trial.run.examples.max(1) as f64],
        steps: (epoch + 1) * EPOCH,
        rivals: chosen.rivals().iter().map(probe::Recipe::describe).collect(),
        material: trained_on(bench, seat)?,
    }))
}

/// Training and validation data of a probe.
fn trained_on(bench: &Bench, seat: Seat) -> Result<Material, Fault> {
    Ok(match seat {
        Seat::Oracle(_, role) => {
            let part = training_part(bench.split.oracle(), &bench.labels, role, bench.seed)?;
            material(part.train(), part.validation(), &bench.labels, role)
        }
        Seat::Attacked => {
            let part = bench.split.intervention();
            material(part.train(), part.validation(), &bench.labels, Roles::Target)
        }
    })
}

/// The warning about a probe that may read nothing: every score that rests on it is in doubt.
fn doubt(bench: &Bench, seat: Seat, accuracy: Estimate, majority: f64) -> Problem {
    let property = bench.property(seat.role()).replace('_', " ");
    let (who, what) = match seat {
        Seat::Oracle(kind, Roles::Target) => (format!("{kind} oracle"), "do not trust the completeness that it judges"),
        Seat::Oracle(kind, Roles::Other | Roles::Further(_)) => {
            (format!("{kind} oracle"), "do not trust the selectivity that it judges")
        }
        Seat::Attacked => ("interventional probe".to_owned(), "do not trust attacks on it"),
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

/// An oracle whose probabilities are far from its accuracy colours every score that is made of them.
fn miscalibrated(bench: &Bench, seat: Seat, error: f64) -> Problem {
    let (name, property) = (bench.seat_words(seat), bench.property(seat.role()).replace('_', " "));
    Problem {
        what: format!(
            "the {name} is poorly calibrated (calibration error {}): scores on {property} are less certain than their bands say",
            score(error)
        ),
        r#where: bench.model.name().to_owned(),
        hint: "compare the other oracle, and the range over equally good probes".into(),
    }
}

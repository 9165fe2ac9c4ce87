//! Audits every probe of a panel: its accuracy on the test examples, and the choice of its settings.

use super::panel::{Panel, Slot, SlotProbe, Which};
use super::prepare::Bench;
use crate::Host;
use crate::answer::oracle_name;
use crate::doubts::MISCALIBRATED;
use crate::finding::{ChoiceFinding, Kind, ProbeFinding, ProbeRole};
use base::Problem;
use base::matrix::{Dense, Matrix, argmax};
use base::numbers::score;
use lab::fault::Fault;
use lab::host::NoticeLevel;
use lab::plan::{Material, Roles, material};
use probe::Labelled;
use probe::audit::{Audit, audit};
use probe::grid::Standing;
use probe::train::EPOCH;
use stats::Estimate;
use stats::clustered::{effective_rows, share_of};

/// Audits every probe on the test examples read so far.
pub(crate) fn audit_probes(bench: &Bench, is_final: bool, host: &mut Host<'_>) -> Result<(), Fault> {
    for slot in &bench.slots {
        let Some((data, audits, rows)) = audits(bench, *slot)? else { continue };
        let mean = |of: &dyn Fn(&Audit) -> f64| audits.iter().map(of).sum::<f64>() / audits.len() as f64;
        let accuracy = share_of(mean(&|a| a.accuracy.mean), rows, bench.label.level());
        let (majority, calibration) = (audits[0].majority, mean(&|a| a.calibration_error));
        let (role, oracle, layer) = match slot {
            Slot::Oracle(kind, _) => (ProbeRole::Oracle, Some(*kind), bench.site.oracle_layer),
            Slot::Attacked => (ProbeRole::Interventional, None, bench.site.layer),
        };
        let body = Kind::Probe(ProbeFinding {
            role,
            property: bench.property(slot.role()).to_owned(),
            classifier: bench
                .recipe(*slot, bench.panels[0].which)
                .map_or_else(|| "given".into(), |(recipe, _)| recipe.describe()),
            oracle,
            layer,
            accuracy,
            majority,
            balanced_accuracy: mean(&|a| a.balanced_accuracy),
            calibration_error: calibration,
            cached: bench.was_cached(*slot),
            grid: bench.grid(oracle),
            choice: choice(bench, *slot, &audits)?,
        });
        host.find(bench.label.finding(data.len(), is_final, host.elapsed(), body))?;
        if is_final && accuracy.lo <= majority {
            host.notice(NoticeLevel::Warning, doubt(bench, *slot, accuracy, majority))?;
        } else if is_final && calibration > MISCALIBRATED {
            host.notice(NoticeLevel::Warning, miscalibrated(bench, *slot, calibration))?;
        }
    }
    Ok(())
}

/// The test examples on which a probe is audited, the audit of each training run, and the effective number of examples behind the mean
/// accuracy.
type Audits = (Labelled, Vec<Audit>, f64);

fn audits(bench: &Bench, slot: Slot) -> Result<Option<Audits>, Fault> {
    let (labels, classes) = bench.labels.of(slot.role());
    let (mut x, mut y, mut dim) = (Vec::new(), Vec::new(), 0);
    let (mut rows, mut tested) = (Vec::new(), 0);
    for chunk in &bench.chunks {
        let h = if slot == Slot::Attacked { &chunk.h } else { &chunk.oracle_h };
        dim = h.cols();
        for (i, r) in chunk.rows.iter().enumerate() {
            if let Some(label) = labels[*r] {
                x.extend_from_slice(h.row(i));
                y.push(label);
                rows.push(tested + i);
            }
        }
        tested += chunk.len();
    }
    if y.is_empty() {
        return Ok(None);
    }
    let x: Matrix = Dense::from_fn(y.len(), dim, |i, j| x[i * dim + j]);
    let data = Labelled::new(x, y, classes)?;
    let judges = bench.panels.iter().filter(|p| !matches!(p.which, Which::Rival(_)));
    let seen: Vec<Dense<f64>> = judges.filter_map(|p| probabilities(p, slot, data.x())).collect();
    let audits: Vec<Audit> = seen.iter().map(|p| audit(p, &data, bench.label.level())).collect();
    let effective = match bench.texts_of(tested) {
        Some(texts) => {
            let right = |(i, y): (usize, &usize)| seen.iter().filter(|p| argmax(p.row(i)) == *y).count() as f64;
            let right = data.y().iter().enumerate().map(|row| right(row) / seen.len() as f64);
            effective_rows(&right.collect::<Vec<_>>(), &rows.iter().map(|row| texts[*row]).collect::<Vec<_>>())
        }
        None => data.len() as f64,
    };
    Ok((!audits.is_empty()).then_some((data, audits, effective)))
}

fn probabilities(panel: &Panel, slot: Slot, x: &Matrix) -> Option<Dense<f64>> {
    match slot {
        Slot::Attacked => panel.attacked.as_ref().map(|p| p.probabilities(x)),
        Slot::Oracle(kind, role) => {
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

fn choice(bench: &Bench, slot: Slot, audits: &[Audit]) -> Result<Option<ChoiceFinding>, Fault> {
    let Some(chosen) = bench.searched(slot) else { return Ok(None) };
    let (standing, best) = match chosen {
        SlotProbe::Oracle(p) => (p.standing(), p.trials()),
        SlotProbe::Attacked(p) => (p.standing(), p.trials()),
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
        material: trained_on(bench, slot)?,
    }))
}

fn trained_on(bench: &Bench, slot: Slot) -> Result<Material, Fault> {
    Ok(match slot {
        Slot::Oracle(_, role) => {
            let part = bench.oracle_part(role)?;
            material(part.train(), part.validation(), &bench.labels, role)
        }
        Slot::Attacked => {
            let part = bench.intervention_part();
            material(part.train(), part.validation(), &bench.labels, Roles::Target)
        }
    })
}

/// A warning about a probe that may have learned nothing, which makes every score based on it doubtful.
fn doubt(bench: &Bench, slot: Slot, accuracy: Estimate, majority: f64) -> Problem {
    let property = bench.property(slot.role()).replace('_', " ");
    let (who, what) = match slot {
        Slot::Oracle(kind, Roles::Target) => (oracle_name(kind).to_owned(), "do not trust completeness scores from it"),
        Slot::Oracle(kind, Roles::Other | Roles::Further(_)) => {
            (oracle_name(kind).to_owned(), "do not trust selectivity scores from it")
        }
        Slot::Attacked => ("interventional probe".to_owned(), "do not trust attacks on it"),
    };
    Problem::new(
        format!(
            "the {who} of {property} is not shown to be better than a constant answer (accuracy {:.3} [{:.3}, {:.3}], majority share {majority:.3}): \
             {what}",
            accuracy.mean, accuracy.lo, accuracy.hi
        ),
        bench.model.name(),
        "raise `task.examples`, or choose a different layer or model",
    )
}

/// A warning about an oracle with poorly calibrated probabilities, because every score is computed from these probabilities.
fn miscalibrated(bench: &Bench, slot: Slot, error: f64) -> Problem {
    let (name, property) = (bench.slot_title(slot), bench.property(slot.role()).replace('_', " "));
    Problem::new(
        format!(
            "the {name} is poorly calibrated (calibration error {}): scores on {property} are less certain than their bands show",
            score(error)
        ),
        bench.model.name(),
        "compare with the other oracle and with the range over equally good probes",
    )
}

//! Accuracy of fresh probes after a nullifying method, at its optimum and at the end of its grid.

use super::panel::Slot;
use super::prepare::Bench;
use super::sweep::{Concluded, Sweep};
use crate::Host;
use crate::bench::{Applied, Chunk};
use crate::experiment::stages::leaks_of;
use crate::finding::Kind;
use crate::leak::leak;
use crate::method::Goal;
use crate::oracle::OracleKind;
use crate::verdict::LeakFinding;
use base::Problem;
use base::matrix::Matrix;
use lab::fault::Fault;
use lab::hidden;
use lab::host::NoticeLevel;
use lab::plan::{Roles, purpose};
use lab::stimuli::Where;
use probe::train::Recipe;
use probe::{Labelled, Oracle, TrainingData};

/// Difference in accuracy between the edited states and the erased features above which a warning is given.
const GIVEN_BACK: f64 = 0.05;
/// Number of rows edited together.
const TOGETHER: usize = 512;

/// Trains fresh probes on the states after every nullifying method except the controls.
pub(crate) fn look(
    bench: &mut Bench,
    sweeps: &[Sweep],
    concluded: &[Vec<Concluded>],
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let mut rows: Option<Vec<Chunk>> = None;
    for (sweep, concluded) in sweeps.iter().zip(concluded) {
        let method = sweep.named().method;
        if method.goal != Goal::Nullifying || method.is_control {
            continue;
        }
        // The oracles are already trained, so their data can be dropped.
        bench.oracle_data = None;
        let best = concluded.first().and_then(|c| c.best);
        let mut values: Vec<f64> = best.into_iter().chain(sweep.values().last().copied()).collect();
        values.dedup();
        if rows.is_none() {
            rows = Some(oracle_rows(bench, host)?);
        }
        let Some(rows) = &rows else { continue };
        let seconds = bench.stages.of(&leaks_of(&sweep.named().key)) / values.len() as f64;
        for value in values {
            host.stage(format!("{}: fresh probes after {}", bench.model.name(), method.title), "step", seconds);
            one(bench, sweep, rows, value, host)?;
        }
    }
    Ok(())
}

/// The training examples of the target's oracle, as chunks that can be edited: first the training part, then the validation part.
fn oracle_rows(bench: &Bench, host: &mut Host<'_>) -> Result<Vec<Chunk>, Fault> {
    let part = bench.oracle_part(Roles::Target)?;
    let mut chunks = Vec::new();
    for half in [part.train(), part.validation()] {
        for rows in half.chunks(TOGETHER) {
            let h = hidden::hidden(&bench.model, &bench.stimuli, (bench.site.layer, Where::Changed), rows, host)?;
            let site = bench.site;
            chunks.push(Chunk::with(h, &bench.model, &bench.stimuli, &bench.labels, rows, site, host)?);
        }
    }
    Ok(chunks)
}

fn one(bench: &mut Bench, sweep: &Sweep, rows: &[Chunk], value: f64, host: &mut Host<'_>) -> Result<(), Fault> {
    let named = sweep.named();
    let fit = bench.fit(0, named.method, sweep.options(), host)?;
    let classes = bench.labels.target_classes;
    let states = |chunk: &Chunk, host: &mut Host<'_>| -> Result<Matrix, Fault> {
        let mut applied: Applied<'_> = chunk.apply(named.method, fit.fitted.as_ref(), classes, host)?;
        let h = applied.at(value, host)?;
        Ok(chunk.later(&bench.model, &h, bench.site, host)?)
    };
    let part = bench.oracle_part(Roles::Target)?;
    let (labels, _) = bench.labels.of(Roles::Target);
    let split = part.train().len();
    let mut data: Vec<TrainingData<Oracle>> = Vec::new();
    let mut tests: Vec<Labelled> = Vec::new();
    for changed in [false, true] {
        let mut gather = |chunks: &mut dyn Iterator<Item = &Chunk>| -> Result<Matrix, Fault> {
            let mut all = Vec::new();
            for chunk in chunks {
                let h = if changed { states(chunk, host)? } else { chunk.oracle_h.clone() };
                all.extend(h.iter_rows().map(<[f32]>::to_vec));
            }
            let dim = all.first().map_or(0, Vec::len);
            Ok(Matrix::from_fn(all.len(), dim, |i, j| all[i][j]))
        };
        let x = gather(&mut rows.iter())?;
        let test = gather(&mut bench.chunks.iter().map(AsRef::as_ref))?;
        let of = |list: &[usize]| list.iter().map(|r| labels[*r].unwrap_or(0)).collect::<Vec<_>>();
        let train = Labelled::new(x.select_rows(&(0..split).collect::<Vec<_>>()), of(part.train()), classes)?;
        let rest: Vec<usize> = (split..x.rows()).collect();
        let validation = Labelled::new(x.select_rows(&rest), of(part.validation()), classes)?;
        data.push(TrainingData::from_parts(train, validation)?);
        tests.push(Labelled::new(test, of(&bench.test), classes)?);
    }
    if let Some(p) =
        fit.fitted.preimages().filter(|p| sweep.values().last() == Some(&value) && p.found > p.erased + GIVEN_BACK)
    {
        let what = format!(
            "the edit of {} does not remove the target: a classifier with the same kernel recovers it with accuracy \
             {:.2} from the edited states ({:.2} from the erased features, {:.2} before the edit)",
            named.method.title, p.found, p.erased, p.before
        );
        let hint = format!(
            "raise `iterations`, hidden units (`hidden`) or `rank` of {}; until then, do not treat its edits as erasure",
            named.method.id
        );
        host.notice(NoticeLevel::Warning, Problem::new(what, bench.model.name(), hint))?;
    }
    let recipe = bench.searched(Slot::Oracle(OracleKind::Mlp, Roles::Target)).and_then(|s| s.recipe());
    let recipe = recipe.unwrap_or_else(Recipe::provisional);
    let name = format!("leak {} {value}", named.key.file_name());
    let streams = purpose(&bench.labels, Roles::Target, &name, bench.spec.probe.seed);
    let (before, after) = ((&data[0], &tests[0]), (&data[1], &tests[1]));
    let texts = bench.texts_of(bench.test.len());
    let found = leak(before, after, texts, &recipe, &streams, bench.label.level(), host)?;
    let body = Kind::Leak(LeakFinding {
        method: named.key.name.clone(),
        options: named.key.options.clone(),
        layer: bench.site.layer,
        oracle_layer: bench.site.oracle_layer,
        parameter: named.method.parameter.name.to_owned(),
        value,
        chance: found.chance,
        linear: found.linear,
        mlp: found.mlp,
        preimages: fit.fitted.preimages(),
    });
    Ok(host.find(bench.label.finding(found.n, true, host.elapsed(), body))?)
}

//! Answers questions from the slider: one strength on the subsample, then one example in full.

use super::points::{Behaved, Named, kinds};
use super::prepare::Bench;
use super::training::is_shared;
use crate::Finding;
use crate::Host;
use crate::bench::{Chunk, Judges};
use crate::distance::Distances;
use crate::find;
use crate::finding::{ExampleFinding, Kind, Shift};
use crate::key::MethodKey;
use crate::options::Options;
use crate::question::{self, PointQuestion};
use crate::tally::Tally;
use base::Problem;
use base::matrix::Matrix;
use lab::SpecFields;
use lab::asked;
use lab::fault::{Fault, problem};
use lab::host::Share;
use lab::plan::Roles;

/// Answers the latest pending question, if it is about this bench's model. A question that cannot be answered becomes a notice, so that it
/// does not end the run.
///
/// # Errors
/// [`Fault::Cancelled`] if the run must stop.
pub(crate) fn serve(bench: &mut Bench, host: &mut Host<'_>) -> Result<(), Fault> {
    asked::serve(host, false, |question, host| {
        let question::Question::Point(point) = question;
        answer(bench, point, Share::Quick, host)
    })
}

/// The findings that answer a question, from the first chunk of test examples or from all chunks read so far. Their spec hash belongs to
/// the spec that would produce them. It differs from the run's hash if the options differ.
pub(crate) fn answer(
    bench: &mut Bench,
    request: &PointQuestion,
    share: Share,
    host: &mut Host<'_>,
) -> Result<Vec<Finding>, Fault> {
    if request.model != bench.model.name() {
        let what = format!("model `{}` is not part of this run", request.model);
        let hint = "run the experiment with it";
        return Err(Problem::new(what, "point", hint).into());
    }
    let method = find(&request.method)
        .ok_or_else(|| problem(&format!("unknown method `{}`", request.method), "point", "pick one from the list"))?;
    let options = Options::new(method, request.options.iter().map(|(k, v)| (k.as_str(), *v)))?;
    if bench.panels.is_empty() {
        let what = format!("no probe of {} has been trained yet", request.model);
        return Err(Problem::new(what, "point", "wait for the first estimate").into());
    }
    let named = Named { method, key: MethodKey::new(&request.method, &request.options) };
    let chunks = if share == Share::Quick { 1 } else { bench.chunks.len() };
    let (tallies, behaved, distances) = judge(bench, &named, &options, request.value, chunks, host)?;
    let tallied: Vec<&[Tally]> = tallies.iter().map(Vec::as_slice).collect();
    let answered: Vec<&Behaved> = behaved.iter().collect();
    let mut list = kinds(bench, &named, request.value, &tallied, &answered);
    list.extend(bench.distance(&named, request.value, &distances));
    list.push((example(bench, &named, &options, request, host)?, 1));
    let t = host.elapsed();
    let full = tallies.first().and_then(|t| t.first()).is_some_and(|t| t.len() == bench.test.len());
    let label = bench.label.under(bench.spec.with_method(&named.key).hash());
    Ok(list.into_iter().map(|(kind, n)| label.finding(n, full, t, kind)).collect())
}

/// Tallies by replicate and oracle, the model's behaviour by replicate, and the distances of the first replicate's states from real ones.
type Answered = (Vec<Vec<Tally>>, Vec<Behaved>, Distances);

fn judge(
    bench: &mut Bench,
    named: &Named,
    options: &Options,
    value: f64,
    chunks: usize,
    host: &mut Host<'_>,
) -> Result<Answered, Fault> {
    let (model, classes, asks) = (bench.model.clone(), bench.labels.target_classes, bench.asks());
    let (mut tallies, mut behaved, mut distances) = (Vec::new(), Vec::new(), Distances::default());
    let distance_meter = bench.distance_meter.clone();
    for at in 0..bench.replicates() {
        let fit = bench.fit(at, named.method, options, host)?;
        let panel = &bench.panels[at];
        let mut mine = vec![Tally::default(); panel.oracles.len()];
        let mut done = Behaved::default();
        for (c, (chunk, before)) in bench.chunks.iter().zip(&panel.outputs).take(chunks).enumerate() {
            let judges = Judges {
                model: &model,
                oracles: &panel.oracles,
                before,
                prior: &bench.prior,
                site: bench.site,
                behaviour: asks && (at == 0 || !is_shared(named.method)),
                meter: distance_meter.as_deref().filter(|_| at == 0 && c == 0).map(|g| &g.meter),
            };
            let mut applied = chunk.apply(named.method, fit.fitted.as_ref(), classes, host)?;
            let outcome = applied.judge(value, judges, host)?;
            mine.iter_mut().zip(&outcome.scores).for_each(|(t, s)| t.extend(s));
            if let Some(behaviour) = &outcome.behaviour {
                done.extend(behaviour);
            }
            if !outcome.distances.is_empty() {
                distances = outcome.distances;
            }
        }
        tallies.push(mine);
        if done.len() > 0 {
            behaved.push(done);
        }
    }
    Ok((tallies, behaved, distances))
}

/// The state of one test example's counterfactual, for methods that need it.
fn method_twins(bench: &mut Bench, named: &Named, index: usize, host: &mut Host<'_>) -> Result<Option<Matrix>, Fault> {
    if named.method.needs.twins { bench.twin_states(index..index + 1, host).map(Some) } else { Ok(None) }
}

/// One test example before and after the edit, for the first replicate.
fn example(
    bench: &mut Bench,
    named: &Named,
    options: &Options,
    request: &PointQuestion,
    host: &mut Host<'_>,
) -> Result<Kind, Fault> {
    let fit = bench.fit(0, named.method, options, host)?;
    let index = request.example.min(bench.test.len() - 1);
    let row = bench.test[index];
    let twins = method_twins(bench, named, index, host)?;
    let model = &bench.model;
    let mut chunk = Chunk::new(model, &bench.stimuli, &bench.labels, &[row], bench.site, host)?;
    chunk.twins = twins;
    chunk.distance = bench.spec.distance;
    let mut applied = chunk.apply(fit.method, fit.fitted.as_ref(), bench.labels.target_classes, host)?;
    let h = applied.at(request.value, host)?;
    let seen = chunk.later(model, &h, bench.site, host)?;
    let (mut oracle, mut absent) = (Vec::new(), Vec::new());
    if let Some(first) = bench.panels[0].oracles.first() {
        let (before, after) = (first.see(&chunk.oracle_h), first.see(&seen));
        let mut seen =
            vec![(Roles::Target, &before.target, &after.target), (Roles::Other, &before.other, &after.other)];
        let further = before.further.iter().zip(&after.further).enumerate();
        seen.extend(further.map(|(j, (b, a))| (Roles::Further(j), b, a)));
        for (role, b, a) in seen {
            let id = bench.property(role);
            let values = bench.task.labelled().find(|p| p.id == id).map_or(&[][..], |p| p.values);
            let shifts = values.iter().enumerate().map(|(k, label)| Shift {
                label: (*label).to_owned(),
                before: b.row(0)[k],
                after: a.row(0)[k],
            });
            oracle.push((id.to_owned(), shifts.collect()));
            if bench.labels.of(role).0[row].is_none() {
                absent.push(id.to_owned());
            }
        }
    }
    let source = &bench.examples.examples[bench.stimuli.list[row].example];
    let words = if bench.asks() {
        let before = chunk.words(model, chunk.unedited())?;
        let after = chunk.words(model, &h)?;
        (0..2).map(|k| Shift { label: source.forms[k].clone(), before: before[k], after: after[k] }).collect()
    } else {
        Vec::new()
    };
    Ok(Kind::Example(ExampleFinding {
        index,
        of: bench.test.len(),
        text: source.text.clone(),
        method: fit.key.name.clone(),
        options: fit.key.options.clone(),
        parameter: fit.method.parameter.name.to_owned(),
        value: request.value,
        oracle,
        absent,
        words,
        correct: usize::from(source.zc),
    }))
}

//! Answers to the slider: one strength on the subsample, then one example in full.

use super::cache::Cache;
use super::fault::{Fault, problem};
use super::host::Host;
use super::prepare::{Bench, Fit};
use super::sweep::bodies;
use crate::base::Problem;
use crate::engine::finding::{Body, ExampleFinding, Finding, Shift};
use crate::engine::message::{Event, NoticeLevel, PointRequest};
use crate::lab::interventions::bench::{Chunk, Court, Outcome};
use crate::lab::interventions::find;
use crate::lab::interventions::options::Options;
use crate::lab::interventions::plan::Roles;

/// Answers the latest request that waits, if it is about this bench's model. A request that cannot be answered becomes a
/// notice: it must not end the run beneath it.
///
/// # Errors
/// [`Fault::Cancelled`] where the run is to stop.
pub fn serve(bench: &mut Bench, cache: &Cache, host: &mut Host<'_>) -> Result<(), Fault> {
    host.poll()?;
    let Some(request) = host.point() else { return Ok(()) };
    match answer(bench, &request, 1, cache, host) {
        Ok(findings) => {
            let (generation, ticket) = (request.generation, request.ticket);
            host.outbox.send(Event::Point { generation, ticket, findings })?;
            Ok(())
        }
        Err(Fault::Cancelled) => Err(Fault::Cancelled),
        Err(Fault::Failed(problem)) => Ok(host.outbox.notice(NoticeLevel::Error, problem)?),
    }
}

/// The findings that answer a request, from the first `chunks` chunks of test examples.
///
/// # Errors
/// [`Fault`].
pub fn answer(
    bench: &mut Bench,
    request: &PointRequest,
    chunks: usize,
    cache: &Cache,
    host: &mut Host<'_>,
) -> Result<Vec<Finding>, Fault> {
    if request.model != bench.model.name() {
        let what = format!("model `{}` is not part of this run", request.model);
        return Err(
            Problem { what, r#where: "point".into(), hint: "run the experiment with it".into() }.into()
        );
    }
    let method = find(&request.method).ok_or_else(|| {
        problem(&format!("there is no method `{}`", request.method), "point", "pick one of the list")
    })?;
    let options = Options::new(method, request.options.iter().map(|(k, v)| (k.as_str(), *v)))?;
    let fit = bench.fit(method, &options, cache, host)?;
    let outcome = judge(bench, &fit, request.value, chunks, host)?;
    let mut list = bodies(bench, &fit, &outcome, request.value);
    list.push((example(bench, &fit, request, host)?, 1));
    let t = host.meter.elapsed();
    let full = chunks >= bench.chunks.len() && outcome.len() == bench.test.len();
    Ok(list.into_iter().map(|(body, n)| bench.label.finding(n, full, t, body)).collect())
}

fn judge(
    bench: &mut Bench,
    fit: &Fit,
    value: f64,
    chunks: usize,
    host: &mut Host<'_>,
) -> Result<Outcome, Fault> {
    let (model, oracles) = (bench.model.clone(), bench.oracles.clone());
    let classes = bench.labels.target_classes;
    let mut outcome = Outcome::empty(oracles.len());
    for (chunk, before) in bench.chunks.iter().zip(&bench.sights).take(chunks) {
        let court = Court {
            model: &model,
            oracles: &oracles,
            before,
            prior: &bench.prior,
            site: bench.site,
            conduct: model.has_head() && classes == 2,
        };
        let mut applied = chunk.apply(fit.method, fit.fitted.as_ref(), classes, host)?;
        outcome.extend(applied.judge(value, court, host)?);
    }
    Ok(outcome)
}

/// One test example before and after.
fn example(bench: &Bench, fit: &Fit, request: &PointRequest, host: &mut Host<'_>) -> Result<Body, Fault> {
    let index = request.example.min(bench.test.len() - 1);
    let row = bench.test[index];
    let model = &bench.model;
    let chunk = Chunk::new(model, &bench.stimuli, &bench.labels, &[row], bench.site, host)?;
    let mut applied = chunk.apply(fit.method, fit.fitted.as_ref(), bench.labels.target_classes, host)?;
    let h = applied.at(request.value, host)?;
    let seen = chunk.later(model, &h, bench.site, host)?;
    let mut oracle = Vec::new();
    if let Some(first) = bench.oracles.first() {
        let (before, after) = (first.see(&chunk.oracle_h), first.see(&seen));
        for (role, b, a) in
            [(Roles::Target, &before.target, &after.target), (Roles::Other, &before.other, &after.other)]
        {
            let id = bench.property(role);
            let values = bench.task.properties.iter().find(|p| p.id == id).map_or(&[][..], |p| p.values);
            let shifts = values.iter().enumerate().map(|(k, label)| Shift {
                label: (*label).to_owned(),
                before: b.row(0)[k],
                after: a.row(0)[k],
            });
            oracle.push((id.to_owned(), shifts.collect()));
        }
    }
    let source = &bench.examples.examples[bench.stimuli.list[row].example];
    let words = if model.has_head() {
        let before = chunk.words(model, 0, chunk.h.row(0))?;
        let after = chunk.words(model, 0, h.row(0))?;
        (0..2).map(|k| Shift { label: source.forms[k].clone(), before: before[k], after: after[k] }).collect()
    } else {
        Vec::new()
    };
    Ok(Body::Example(ExampleFinding {
        index,
        of: bench.test.len(),
        text: source.text.clone(),
        method: fit.method.id().to_owned(),
        parameter: fit.method.parameter().name.to_owned(),
        value: request.value,
        oracle,
        words,
        correct: usize::from(source.zc),
    }))
}

//! Prompts found automatically: the facts held out for the search, the search itself, and the scores.

use std::collections::HashMap;

use super::bench::{Bench, Entry};
use super::live::replies;
use super::relation::score;
use crate::Host;
use crate::finding::{Kind, TunedFinding};
use crate::library::{Fact, Library, Relation};
use crate::preference::{Preference, stability};
use crate::query::Asker;
use crate::spec::Spec;
use crate::tuned::{self, Found, Search};
use base::{Cancelled, Problem, Pulse};
use lab::fault::{Fault, problem};
use lab::host::NoticeLevel;
use model::{Dtype, Offer};
use stats::estimate::Estimate;
use stats::intervals::share;

pub(crate) struct Searched {
    /// The facts used in the search; they are not queried.
    held: Vec<Fact>,
    /// The found prompts with their scores.
    pub found: Vec<Found>,
}

/// Removes the facts used in searches from those to be queried.
pub(crate) fn hold_out(spec: &Spec, library: &mut Library) -> HashMap<String, Searched> {
    if spec.tuned.is_off() {
        return HashMap::new();
    }
    let each = library.relations.iter_mut().map(|relation| {
        let held = tuned::hold_out(relation, spec.tuned.facts, spec.seed);
        (relation.id.clone(), Searched { held, found: Vec::new() })
    });
    each.collect()
}

/// Refuses a model without gradients before the first query.
pub(crate) fn check(bench: &Bench) -> Result<(), Problem> {
    if bench.spec.tuned.is_off() {
        return Ok(());
    }
    let model = &bench.members[bench.spec.tuned.member(&bench.spec.models)].model;
    let hint = "choose another model of the run with `tuned.model`, or load this one in f32";
    model.require(Offer::Gradients).map_err(|e| problem(&e, "tuned.model", hint))?;
    match model.dtype() {
        Dtype::F32 => Ok(()),
        dtype => Err(problem(&format!("{}: no gradients in {dtype}", model.name()), "tuned.model", hint)),
    }
}

struct PollingHost<'a, 'b>(&'a mut Host<'b>);

impl Pulse for PollingHost<'_, '_> {
    fn beat(&mut self, _: usize, _: usize) -> Result<(), Cancelled> {
        self.0.poll()
    }
}

pub(crate) fn search(bench: &mut Bench, relation: &Relation, seconds: f64, host: &mut Host<'_>) -> Result<(), Fault> {
    let Some(held) = bench.searches.get(&relation.id).map(|s| &s.held) else { return Ok(()) };
    let spec = &bench.spec;
    let member = &bench.members[spec.tuned.member(&spec.models)];
    host.stage(format!("{}: searching for prompts, {}", relation.id, member.name), "prompts", seconds);
    let tokenizer = member.model.tokenizer()?;
    let mut facts = Vec::new();
    for fact in held {
        facts.extend(member.words.object(tokenizer, &fact.object)?.map(|id| (fact.names[0].as_str(), id)));
    }
    let asker = Asker::new(&member.model)?.fitting(relation.fitted);
    let mut found: Vec<Found> = Vec::new();
    if let Some(search) = Search::new(&asker, &member.words.running(), relation, facts)? {
        for k in 0..spec.tuned.prompts {
            let purpose = format!("searching for prompt {} of {}", k + 1, relation.id);
            found.extend(search.run(&spec.tuned, (spec.seed, &purpose), &mut PollingHost(host))?);
            host.beat(k + 1, spec.tuned.prompts)?;
        }
    }
    if found.is_empty() {
        let what = format!("{}: no prompt could be found", relation.id);
        let hint = format!(
            "a search needs two facts outside the evaluation whose objects are single tokens in {}",
            member.name
        );
        host.notice(NoticeLevel::Warning, Problem { what, r#where: "tuned".into(), hint })?;
    }
    if let Some(searched) = bench.searches.get_mut(&relation.id) {
        searched.found = found;
    }
    Ok(())
}

/// Maximum minus minimum of the scores.
fn gap(scores: &[f64]) -> Option<f64> {
    Preference::of(scores).map(|p| p.gap)
}

/// Reports the found prompts' scores by model, next to the scores of the random words with which each search started.
pub(crate) fn report(bench: &Bench, entry: &Entry, host: &mut Host<'_>) -> Result<(), Fault> {
    let Some(searched) = bench.searches.get(&entry.relation.id) else { return Ok(()) };
    let (id, n, level) = (entry.relation.id.as_str(), entry.facts.len(), bench.spec.interval.level);
    let seen = entry.facts.iter().filter(|f| searched.held.iter().any(|h| h.object == f.object)).count();
    let written: Vec<usize> =
        (0..entry.prompts.len()).filter(|p| searched.found.iter().all(|f| f.prompt != entry.prompts[*p])).collect();
    for (number, found) in searched.found.iter().enumerate() {
        let Some(at) = entry.prompts.iter().position(|p| *p == found.prompt) else { continue };
        let control = replies(bench, entry, &found.control, host)?;
        for ((member, scored), control) in bench.members.iter().zip(&entry.scored).zip(control) {
            let right: Vec<bool> = control.iter().map(|said| said.right).collect();
            let ranks: Vec<Option<u32>> = control.iter().map(|said| said.rank).collect();
            let control = score(bench, (id, &found.control, None), (&right, &ranks));
            let by_prompt = scored.answers.p_at_1();
            let under = |p: usize| share((by_prompt[p] * n as f64).round() as u64, n as u64, level);
            let stable = |p: usize| -> Option<Estimate> {
                let s = stability(&scored.answers, p, bench.spec.data.mentions);
                (s.kept > 0).then(|| share(s.stable, s.kept, level))
            };
            let finding = TunedFinding {
                relation: id.to_owned(),
                name: format!("tuned {}", number + 1),
                prompt: found.prompt.clone(),
                control: found.control.clone(),
                found_for: bench.spec.models[bench.spec.tuned.member(&bench.spec.models)].clone(),
                p_at_1: under(at),
                control_p_at_1: control.p_at_1,
                first_p_at_1: under(0),
                gap_written: gap(&written.iter().map(|p| by_prompt[*p]).collect::<Vec<_>>()),
                gap_all: gap(&by_prompt),
                stability: stable(at),
                first_stability: stable(0),
                subjects: searched.held.iter().map(|f| f.names[0].clone()).collect(),
                objects_seen: seen as f64 / n.max(1) as f64,
                losses: found.losses.clone(),
                rounds: found.rounds,
                candidates: bench.spec.query.candidates,
            };
            let t = host.elapsed();
            host.find(member.label.finding(n, true, t, Kind::PromptScore(control)))?;
            host.find(member.label.finding(n, true, t, Kind::Tuned(finding)))?;
        }
    }
    Ok(())
}

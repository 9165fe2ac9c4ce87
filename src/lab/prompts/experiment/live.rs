//! Answers to questions: a typed prompt, and the instances behind a number.

use super::bench::{Bench, Entry, refused};
use super::relation::score;
use crate::Finding;
use crate::Host;
use crate::Question;
use crate::candidates::{Reply, top};
use crate::finding::{InstanceFinding, InstanceRow, InstancesFinding, Kind, TopToken};
use crate::library::Fact;
use crate::preference::says_the_same;
use crate::query::Asker;
use crate::question::{LookQuestion, PromptQuestion, Question as Asked};
use base::Problem;
use lab::fault::{Fault, problem};

const SHOWN: usize = 5;

pub(crate) fn answer(bench: &Bench, question: &Question, host: &mut Host<'_>) -> Result<Vec<Finding>, Fault> {
    match question {
        Asked::Prompt(asked) => prompt(bench, asked, host),
        Asked::Look(asked) => look(bench, asked, host),
    }
}

fn entry<'a>(bench: &'a Bench, relation: &str) -> Result<&'a Entry, Problem> {
    bench.entry(relation).ok_or_else(|| Problem {
        what: format!("there are no results for `{relation}` yet"),
        r#where: "question".into(),
        hint: "choose a relation with scores".into(),
    })
}

/// The facts, reduced to their original mentions.
fn originals(entry: &Entry) -> Vec<Fact> {
    let first = |f: &Fact| Fact { names: f.names[..1].to_vec(), object: f.object.clone() };
    entry.facts.iter().map(first).collect()
}

pub(super) struct Said {
    word: String,
    pub(super) right: bool,
    pub(super) rank: Option<u32>,
}

/// Every model's answers to a prompt with the original mentions.
pub(super) fn replies(bench: &Bench, entry: &Entry, text: &str, host: &mut Host<'_>) -> Result<Vec<Vec<Said>>, Fault> {
    let causal = bench.members.iter().find(|m| m.model.arch().is_causal()).map(|m| m.name.as_str());
    if let Some(reason) = refused(text, causal) {
        let what = format!("`{}`: {reason}", base::text::shortened(text, 80));
        return Err(problem(&what, "prompt", "for example `The capital of [X] is [Y] .`").into());
    }
    let facts = originals(entry);
    let owned = text.to_owned();
    (0..bench.members.len())
        .map(|k| {
            let rule = bench.rule(&entry.relation, k)?;
            let all = bench.fresh(k, &rule, &[&owned], (&facts, entry.relation.fitted), host)?;
            let replies = all.into_iter().next().unwrap_or_default();
            let strings = &bench.members[k].words.strings;
            let said = |(r, f): (Option<Reply>, &Fact)| {
                let word = r.map_or("", |r| rule.said(strings, r));
                Said { word: word.to_owned(), right: strings.same(word, &f.object), rank: r.and_then(|r| r.rank) }
            };
            Ok(replies.into_iter().zip(&facts).map(said).collect())
        })
        .collect()
}

fn prompt(bench: &Bench, asked: &PromptQuestion, host: &mut Host<'_>) -> Result<Vec<Finding>, Fault> {
    let entry = entry(bench, &asked.relation)?;
    if entry.facts.is_empty() {
        let what = format!("no fact of `{}` is usable with all models", asked.relation);
        return Err(
            problem(&what, "prompt", "the list of instances gives the reasons; choose a different relation").into()
        );
    }
    let all = replies(bench, entry, &asked.prompt, host)?;
    let index = entry.prompts.iter().position(|p| *p == asked.prompt);
    let t = host.elapsed();
    let mut findings = Vec::new();
    for (member, replies) in bench.members.iter().zip(all) {
        let right: Vec<bool> = replies.iter().map(|said| said.right).collect();
        let ranks: Vec<Option<u32>> = replies.iter().map(|said| said.rank).collect();
        let found = score(bench, (&asked.relation, &asked.prompt, index), (&right, &ranks));
        findings.push(member.label.finding(entry.facts.len(), true, t, Kind::PromptScore(found)));
    }
    Ok(findings)
}

/// The instances under a prompt, with each model's answers, or one instance in detail.
fn look(bench: &Bench, asked: &LookQuestion, host: &mut Host<'_>) -> Result<Vec<Finding>, Fault> {
    let entry = entry(bench, &asked.relation)?;
    let asked_with = entry.prompts.iter().position(|p| *p == asked.prompt);
    let said = match asked_with {
        _ if entry.facts.is_empty() => Vec::new(),
        Some(p) => known(entry, p),
        None => {
            let of = |all: Vec<Said>| all.into_iter().map(|said| (said.word, said.right)).collect();
            replies(bench, entry, &asked.prompt, host)?.into_iter().map(of).collect()
        }
    };
    let stable = |i: usize| match asked_with.filter(|_| entry.facts[i].names.len() > 1) {
        Some(p) => entry.scored.iter().map(|s| says_the_same(&s.answers, p, i)).collect(),
        None => Vec::new(),
    };
    let row = |(i, fact): (usize, &Fact)| InstanceRow {
        stable: stable(i),
        mentions: fact.names.clone(),
        object: fact.object.clone(),
        said: said.iter().map(|by_model| by_model[i].clone()).collect(),
    };
    let left_out = entry.left_out.iter().map(|(f, reason)| (format!("{} ({})", f.names[0], f.object), reason.clone()));
    let instances = InstancesFinding {
        relation: asked.relation.clone(),
        prompt: asked.prompt.clone(),
        models: bench.members.iter().map(|m| m.name.clone()).collect(),
        rows: entry.facts.iter().enumerate().map(row).collect(),
        left_out: left_out.collect(),
        candidates: bench.candidates(),
    };
    let t = host.elapsed();
    let n = entry.facts.len();
    let mut findings = vec![bench.label.finding(n, true, t, Kind::Instances(instances))];
    if n == 0 {
        // All instances are omitted; the list already gives the reasons.
        return Ok(findings);
    }
    let fact = &entry.facts[asked.instance.min(n - 1)];
    let mention = &fact.names[asked.mention.min(fact.names.len() - 1)];
    for k in 0..bench.members.len() {
        let found = one(bench, (entry, k), &asked.prompt, (mention, &fact.object), host)?;
        findings.push(bench.members[k].label.finding(1, true, t, Kind::Instance(found)));
    }
    Ok(findings)
}

/// By model and instance: the answer to a prompt of the relation, and whether it is the object.
fn known(entry: &Entry, prompt: usize) -> Vec<Vec<(String, bool)>> {
    let of = |s: &super::bench::Scored| {
        let at = |i: usize| s.answers.shape.at(prompt, i, 0);
        (0..entry.facts.len())
            .map(|i| (entry.said.word(s.answers.said[at(i)]).to_owned(), s.answers.right[at(i)]))
            .collect()
    };
    entry.scored.iter().map(of).collect()
}

/// Details of one query to one model.
fn one(
    bench: &Bench,
    (entry, k): (&Entry, usize),
    prompt: &str,
    (mention, object): (&str, &str),
    host: &mut Host<'_>,
) -> Result<InstanceFinding, Fault> {
    let member = &bench.members[k];
    let asker = Asker::new(&member.model)?.fitting(entry.relation.fitted);
    let text = asker.text(prompt, mention);
    let mut found = InstanceFinding {
        relation: entry.relation.id.clone(),
        prompt: prompt.to_owned(),
        mention: mention.to_owned(),
        object: object.to_owned(),
        text,
        top: Vec::new(),
        said: String::new(),
        right: false,
        rank: None,
        candidates: bench.candidates(),
    };
    let Some(query) = asker.encode(prompt, mention)? else { return Ok(found) };
    let rule = bench.rule(&entry.relation, k)?;
    let strings = &member.words.strings;
    let take = |_: usize, logits: &[f32]| {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|l| f64::from(l - most).exp()).sum();
        let probability = |id: u32| f64::from(logits[id as usize] - most).exp() / sum;
        let token = |id: u32| TopToken {
            text: strings.text(id).to_owned(),
            probability: probability(id),
            passed: strings.passes_over(id),
        };
        found.top = top(logits, SHOWN).into_iter().map(token).collect();
    };
    asker.logits::<Fault>(&[&query], None, usize::MAX, take, |_| Ok(()))?;
    let fact = Fact { names: vec![mention.to_owned()], object: object.to_owned() };
    let all = bench.fresh(k, &rule, &[&prompt.to_owned()], (&[fact], entry.relation.fitted), host)?;
    if let Some(reply) = all.first().and_then(|row| row.first().copied()).flatten() {
        found.said = rule.said(strings, reply).to_owned();
        found.right = strings.same(&found.said, object);
        found.rank = reply.rank;
    }
    Ok(found)
}

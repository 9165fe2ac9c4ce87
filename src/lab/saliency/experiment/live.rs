//! Answers to questions: a typed sentence, and the attention of all heads.

use super::bench::{Bench, member};
use crate::Finding;
use crate::Host;
use crate::Question;
use crate::explain::explain;
use crate::finding::{ALL, AttentionFinding, Kind, SentenceFinding};
use crate::input::Reader;
use crate::methods::{Case, Method, RANDOM, heads, named, one_way};
use crate::question::{AttentionQuestion, Question as Asked, SentenceQuestion};
use crate::sentence::own;
use crate::spec::{Direction, ScoreKind, Spec};
use crate::words::to_words;
use base::{Cancelled, Pulse};
use lab::fault::{Fault, problem};
use lab::finding::{Body, Label};
use model::Offer;

/// Polls the host without reporting progress, because an answer takes little time.
struct Poll<'a>(&'a mut Host<'a>);

impl Pulse for Poll<'_> {
    fn beat(&mut self, _done: usize, _total: usize) -> Result<(), Cancelled> {
        self.0.poll()
    }
}

/// Limit on the steps of integrated gradients for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    /// The number in the spec, for a quick answer.
    Planned,
    /// Steps doubled until the completeness error is within tolerance.
    Doubled,
}

/// True if more steps would make the answer more accurate.
pub(crate) fn is_rough(findings: &[Finding]) -> bool {
    let rough = |f: &Finding| match &f.body {
        Body::Lab(Kind::Saliency(row)) => row.complete == Some(false),
        _ => false,
    };
    findings.iter().any(rough)
}

pub(crate) fn answer(
    spec: &Spec,
    bench: Option<&Bench>,
    (question, steps): (&Question, Steps),
    host: &mut Host<'_>,
) -> Result<Vec<Finding>, Fault> {
    match question {
        Asked::Sentence(asked) => sentence(spec, (asked, steps), host),
        Asked::Attention(asked) => attention(spec, bench, asked, host),
    }
}

fn typed(text: &str, answer: Option<&str>) -> Result<SentenceFinding, Fault> {
    own(text, answer).map_err(|e| problem(&e, "sentence", "for example: The capital of France is [MASK] .").into())
}

fn sentence(
    spec: &Spec,
    (asked, steps): (&SentenceQuestion, Steps),
    host: &mut Host<'_>,
) -> Result<Vec<Finding>, Fault> {
    let sentence = typed(&asked.text, asked.answer.as_deref())?;
    let models = if asked.models.is_empty() { &spec.models } else { &asked.models };
    let methods = if asked.methods.is_empty() { &spec.saliency.methods } else { &asked.methods };
    if let Some(unknown) = methods.iter().find(|m| named(m).is_none()) {
        let hint = format!("choose from {}", super::bench::known_methods());
        return Err(problem(&format!("unknown method `{unknown}`"), "method", &hint).into());
    }
    let label = Label::new(spec, ALL);
    let mut findings =
        vec![label.finding(sentence.words.len(), true, host.elapsed(), Kind::Sentence(sentence.clone()))];
    let mut reasons = Vec::new();
    let mut taken = spec.clone();
    if steps == Steps::Planned {
        taken.integrated_gradients.most_steps = taken.integrated_gradients.steps;
    }
    for name in models {
        let member = member(spec, name, methods, host)?;
        // For a typed sentence, the random ranking is meaningless, so it is shown only if requested.
        let asked = |m: &dyn Method| m.id() != RANDOM || methods.iter().any(|n| n == RANDOM);
        let chosen: Vec<&dyn Method> = member.methods.iter().copied().filter(|m| asked(*m)).collect();
        let model = member.model(host)?;
        match explain(&model, &sentence, &chosen, &taken, &mut Poll(host))? {
            Ok(found) => {
                let t = host.elapsed();
                findings.push(member.label.finding(1, true, t, Kind::Prediction(found.prediction)));
                let rows = found.rows.into_iter();
                findings.extend(rows.map(|r| member.label.finding(r.tokens.len(), true, t, Kind::Saliency(r))));
            }
            Err(reason) => {
                reasons.push(format!("`{name}`: {reason}"));
                continue;
            }
        }
        reasons.extend(
            member.refused.iter().map(|(method, reason)| format!("`{name}`: {method} is unavailable ({reason})")),
        );
    }
    // If there is nothing to show, the reasons are returned as the error.
    if findings.len() == 1 {
        return Err(problem(&reasons.join("; "), "sentence", "change the sentence, or choose a different model").into());
    }
    Ok(findings)
}

fn attention(
    spec: &Spec,
    bench: Option<&Bench>,
    asked: &AttentionQuestion,
    host: &mut Host<'_>,
) -> Result<Vec<Finding>, Fault> {
    let known = |id: &String| {
        let found = bench.and_then(|b| b.sentences.iter().find(|s| s.sentence == *id)).cloned();
        found.ok_or_else(|| problem(&format!("there is no sentence {id}"), "sentence", "run the experiment first"))
    };
    let sentence = match &asked.sentence {
        Some(id) => known(id)?,
        None => typed(&asked.text, None)?,
    };
    let name =
        if asked.model.is_empty() { spec.models.first().cloned().unwrap_or_default() } else { asked.model.clone() };
    let member = member(spec, &name, &[], host)?;
    let model = member.model(host)?;
    model.require(Offer::Attention)?;
    let input = Reader::new(&model)?.with_long(spec.data.long).read(&sentence)?;
    let input =
        input.map_err(|e| problem(&format!("`{name}`: {e}"), "sentence", "choose a different sentence or model"))?;
    // For a model that has only one direction of attention, that direction is shown.
    let direction = match one_way(&model, spec.attention.direction) {
        Some(_) => Direction::FromMask,
        None => spec.attention.direction,
    };
    let case = Case { input: &input, predicted: &[], name: &sentence.sentence };
    let mut scores = Vec::new();
    for layer in 0..member.shape.0 {
        let all = heads(&model, &[case], (layer, direction, ScoreKind::Softmax), &mut Poll(host))?;
        let words = |head: &Vec<f64>| {
            to_words(head, &input.words, input.count).into_iter().map(|s| s as f32).collect::<Vec<f32>>()
        };
        scores.push(all.iter().flatten().map(words).collect());
    }
    let found = AttentionFinding {
        sentence: sentence.sentence.clone(),
        words: sentence.words.clone(),
        excluded: input.excluded.clone(),
        direction,
        scores,
    };
    let n = found.words.len();
    Ok(vec![member.label.finding(n, true, host.elapsed(), Kind::Attention(found))])
}

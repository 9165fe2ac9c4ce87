//! Weights by perplexity, checked against an independent computation: the scored tokens and the order of averaging.

use super::*;
use crate::experiment::perplexity::perplexities;
use crate::query::{Asker, Encoded};
use crate::rule::log_sum;

/// -log p of a token, from the logits at a position.
fn surprise(asker: &Asker<'_>, ids: Vec<u32>, position: usize, token: u32) -> f64 {
    let mut found = f64::NAN;
    let query = Encoded { ids, position };
    let take = |_: usize, logits: &[f32]| found = log_sum(logits) - f64::from(logits[token as usize]);
    asker.logits::<Fault>(&[&query], None, usize::MAX, take, |_| Ok(())).unwrap();
    found
}

/// Perplexity per token of a rendered prompt, without the answer slot and the frame. Here a causal model processes the whole text at once;
/// in the program it processes growing prefixes.
fn by_hand(model: &Model, prompt: &str, subject: &str, fitted: bool) -> f64 {
    let asker = Asker::new(model).unwrap().fitting(fitted);
    let query = asker.encode(prompt, subject).unwrap().unwrap();
    let special = model.tokenizer().unwrap().special();
    let frame = [special.cls, special.sep, special.bos, special.eos, special.pad];
    let each: Vec<f64> = (0..query.ids.len())
        .filter(|t| !frame.contains(&Some(query.ids[*t])))
        .filter_map(|t| match model.arch().is_causal() {
            true if t == 0 => None,
            true => Some(surprise(&asker, query.ids.clone(), t - 1, query.ids[t])),
            false if t == query.position => None,
            false => {
                let mut ids = query.ids.clone();
                ids[t] = special.mask.unwrap();
                Some(surprise(&asker, ids, t, query.ids[t]))
            }
        })
        .collect();
    (each.iter().sum::<f64>() / each.len() as f64).exp()
}

#[test]
fn perplexity_weights_match_hand_computation() {
    let mut spec = spec();
    spec.models = vec!["bert-tiny".into(), "gpt2-tiny".into()];
    spec.data.relations = ["capital"].into();
    (spec.data.instances, spec.ranks.subset) = (Some(4), 1);
    spec.adjust.weights = crate::spec::Weighting::Perplexity;
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let found = desk.results().relation("capital").unwrap().value.clone();
    let bench = super::super::bench::Bench::open(&spec, &mut desk).unwrap();
    let relation = &bench.library.relations[0];
    let subjects: Vec<&str> = relation.facts[..4].iter().map(|f| f.names[0].as_str()).collect();
    let mut want = vec![0.0; found.prompts.len()];
    for member in &bench.members {
        let mut own = Vec::new();
        for prompt in &found.prompts {
            let each: Vec<f64> = subjects.iter().map(|s| by_hand(&member.model, prompt, s, relation.fitted)).collect();
            let told = perplexities(member, prompt, (&subjects, relation.fitted), |_| Ok(())).unwrap();
            for (a, b) in each.iter().zip(&told) {
                assert!((a / b - 1.0).abs() < 1e-4, "{}: {a} {b}", member.name);
            }
            own.push(each.iter().map(|ppl| 1.0 / ppl).sum::<f64>() / each.len() as f64);
        }
        let all: f64 = own.iter().sum();
        want.iter_mut().zip(&own).for_each(|(w, o)| *w += o / all / 2.0);
    }
    for (found, want) in found.weights.iter().zip(&want) {
        assert!((found - want).abs() < 1e-5, "{:?} {want:?}", found);
    }
}

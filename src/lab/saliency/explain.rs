//! One sentence with one model: the prediction, and token scores from each method. The rows of a run, the answers to a typed sentence and
//! the command line use it.

use super::finding::{PredictionFinding, SaliencyFinding, SentenceFinding, Subword};
use super::input::{Input, Reader, Unfit};
use super::methods::{Case, Method, Scores};
use super::metrics::input::Scored;
use super::metrics::judge::{Rules, single};
use super::metrics::top_k::Size;
use super::predict::{Prediction, answered, predict};
use super::spec::Spec;
use super::words::to_words;
use base::Pulse;
use lab::fault::{Fault, problem};
use model::Model;
use model::chunk::TOKENS_PER_BATCH;

/// A model's prediction for a sentence, with explanations.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    pub prediction: PredictionFinding,
    pub rows: Vec<SaliencyFinding>,
}

/// Explains a user's sentence, or returns the reason why the model cannot use it.
pub fn explain(
    model: &Model,
    sentence: &SentenceFinding,
    methods: &[&dyn Method],
    spec: &Spec,
    pulse: &mut dyn Pulse,
) -> Result<Result<Explanation, Unfit>, Fault> {
    let input = match Reader::new(model)?.with_long(spec.data.long).read(sentence)? {
        Ok(input) => input,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let predicted = predict(model, &[&input], TOKENS_PER_BATCH, pulse)?;
    let asked = answered(model, &[&input], &predicted)?;
    let Some((predicted, input)) = predicted.first().zip(asked.first()) else {
        return Ok(Err("there is no prediction".into()));
    };
    let case = Case { input, predicted: &predicted.ids, name: &sentence.sentence };
    let mut rows = Vec::new();
    for method in methods {
        for scores in method.explain(model, &[case], spec, pulse)? {
            let (mut told, _) = row(sentence, *method, input, &scores, Size::Gold)?;
            told.target.clone_from(&predicted.said);
            rows.push(told);
        }
    }
    Ok(Ok(Explanation { prediction: prediction_finding(sentence, predicted), rows }))
}

pub(crate) fn prediction_finding(sentence: &SentenceFinding, p: &Prediction) -> PredictionFinding {
    PredictionFinding {
        sentence: sentence.sentence.clone(),
        dimension: sentence.dimension.clone(),
        sample: sentence.sample,
        perturbation: sentence.perturbation.clone(),
        masks: p.ids.len(),
        top: p.top.clone(),
        answer_probability: p.answer_probability,
        top1: p.top1,
        top3: p.top3,
    }
}

/// A method's scores as a finding, and in the form in which they are stored.
///
/// # Errors
/// [`Fault::Failed`] for scores that are not finite.
pub fn row(
    sentence: &SentenceFinding,
    method: &dyn Method,
    input: &Input,
    found: &Scores,
    size: Size,
) -> Result<(SaliencyFinding, Scored), Fault> {
    let words = to_words(&found.tokens, &input.words, input.count);
    let ranked = |w: usize| !input.excluded.contains(&w);
    let scores: Vec<Option<f64>> = words.iter().enumerate().map(|(w, s)| ranked(w).then_some(*s)).collect();
    let scored = Scored::new(&sentence.sentence, sentence.words.clone(), scores.clone(), sentence.gold.clone())
        .map_err(|e| {
            problem(&format!("sentence {}: {e}", sentence.sentence), method.id(), "choose a different method or model")
        })?;
    let judged = single(&scored, &Rules::new(size));
    let subword = |t: usize| Subword {
        text: input.tokens[t].clone(),
        words: input.words[t].clone(),
        score: found.tokens[t] as f32,
    };
    let told = SaliencyFinding {
        sentence: sentence.sentence.clone(),
        dimension: sentence.dimension.clone(),
        sample: sentence.sample,
        perturbation: sentence.perturbation.clone(),
        method: method.id().into(),
        tokens: sentence.words.clone(),
        scores: scores.iter().map(|s| s.unwrap_or(0.0) as f32).collect(),
        excluded: input.excluded.clone(),
        ranking: scored.ranking().to_vec(),
        k: if sentence.gold.is_empty() { 0 } else { judged.k },
        subwords: (0..input.ids.len()).map(subword).collect(),
        target: String::new(),
        token_f1: judged.f1,
        gap: found.gap,
        steps: found.steps,
        complete: found.complete,
        sufficiency: None,
        comprehensiveness: None,
        sensitivity: None,
    };
    Ok((told, scored))
}

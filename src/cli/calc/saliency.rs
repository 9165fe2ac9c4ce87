//! `probity saliency`: prediction and saliency for one sentence, computed with a model.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::error::CliError;
use crate::{names, output};
use base::numbers::{percent, probability, short};
use base::pulse::NoPulse;
use base::text::{fit, pad, printable, printable_label, width};
use labs::Fault;
use labs::layer::LayerRef;
use labs::saliency::explain::explain;
use labs::saliency::finding::{PredictionFinding, SaliencyFinding};
use labs::saliency::methods::{METHODS, Method, named};
use labs::saliency::sentence::own;
use labs::saliency::spec::{Baseline, HeadRef, Spec, TargetKind};
use labs::spec::LabSpec;
use model::{Model, ModelError};

/// Predict the mask of one sentence, and score the words that the prediction depends on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity saliency \"The dogs near the gate [MASK] barking.\"
  probity saliency \"The capital of France is [MASK].\" --model roberta-mini --method attention --layer 2 --head 1
  probity saliency \"The capital of France is [MASK].\" --answer Paris --method occlusion --json")]
pub struct SaliencyArgs {
    /// The sentence, with [MASK] for the word to predict.
    text: String,
    /// Built-in name, folder in Hugging Face layout, or hub id.
    #[arg(long, default_value = "bert-mini")]
    model: String,
    /// Method: att, ig, gxi, occ, roll or rnd, or its full name.
    #[arg(long, default_value = "ig")]
    method: String,
    /// The expected word.
    #[arg(long, value_name = "WORD")]
    answer: Option<String>,
    /// For attention: the layer, from 1 [default: the last].
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    /// For attention: the head, from 1 [default: the mean of all].
    #[arg(long, value_name = "N")]
    head: Option<usize>,
    /// For integrated gradients and occlusion: pad, mask, zero or mean.
    #[arg(long, default_value = "pad")]
    baseline: String,
    /// For integrated gradients: number of steps.
    #[arg(long, value_name = "N", default_value_t = 100)]
    steps: usize,
    /// Explain the logit rather than the probability.
    #[arg(long)]
    logit: bool,
    /// Seed of the random ranking.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Device: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "auto")]
    device: String,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    model: &'a str,
    method: &'a str,
    target: &'a str,
    top: &'a [labs::saliency::finding::Guess],
    answer_probability: Option<f64>,
    tokens: &'a [String],
    scores: &'a [f32],
    excluded: &'a [usize],
    ranking: &'a [usize],
    subwords: &'a [labs::saliency::finding::Subword],
    gap: Option<f64>,
    steps: Option<usize>,
    complete: Option<bool>,
}

impl SaliencyArgs {
    fn method(&self) -> Result<&'static dyn Method, CliError> {
        named(&self.method).ok_or_else(|| {
            let known: Vec<&str> = METHODS.iter().map(|m| m.id()).collect();
            CliError::Usage(format!("--method: {}", base::suggest::unknown("method", &self.method, &known)))
        })
    }

    fn spec(&self) -> Result<Spec, CliError> {
        let mut spec = Spec::shipped();
        spec.models = vec![self.model.clone()];
        spec.seed = self.seed;
        if let Some(layer) = self.layer {
            spec.attention.layer = LayerRef::At(layer);
        }
        if let Some(head) = self.head {
            spec.attention.head = HeadRef::At(head);
        }
        let all = [Baseline::Pad, Baseline::Mask, Baseline::Zero, Baseline::Mean];
        let known: Vec<&str> = all.iter().map(|b| b.name()).collect();
        let path = &mut spec.integrated_gradients;
        path.baseline = all.into_iter().find(|b| b.name() == self.baseline).ok_or_else(|| {
            CliError::Usage(format!("--baseline: {}", base::suggest::unknown("baseline", &self.baseline, &known)))
        })?;
        path.most_steps = path.most_steps.max(self.steps);
        path.steps = self.steps;
        if self.logit {
            path.target = TargetKind::Logit;
        }
        spec.check("arguments")?;
        Ok(spec)
    }
}

/// Fails with [`CliError::Usage`] for a sentence without a mask or an unusable model or method; [`CliError::Failed`] if the computation
/// fails.
pub fn answer(args: &SaliencyArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let (method, spec) = (args.method()?, args.spec()?);
    let sentence = own(&args.text, args.answer.as_deref()).map_err(CliError::Usage)?;
    let source = args.model.parse().map_err(|e: ModelError| CliError::Usage(e.to_string()))?;
    let model = Model::load(&source, names::device(&args.device)?).map_err(|e| CliError::Usage(e.to_string()))?;
    if let Some(reason) = method.refuses(&model, &spec) {
        return Err(CliError::Usage(format!(
            "{} is not available for `{}`: {reason}",
            method.title(),
            printable_label(&args.model)
        )));
    }
    let found = explain(&model, &sentence, &[method], &spec, &mut NoPulse).map_err(told)?;
    let found = found.map_err(|e| CliError::Usage(format!("`{}`: {e}", printable_label(&args.model))))?;
    let (prediction, Some(row)) = (&found.prediction, found.rows.first()) else {
        return Err(CliError::Failed("nothing was explained".into()));
    };
    if args.json {
        let answer = Answer {
            model: &args.model,
            method: method.id(),
            target: &row.target,
            top: &prediction.top,
            answer_probability: prediction.answer_probability,
            tokens: &row.tokens,
            scores: &row.scores,
            excluded: &row.excluded,
            ranking: &row.ranking,
            subwords: &row.subwords,
            gap: row.gap,
            steps: row.steps,
            complete: row.complete,
        };
        return output::json(out, &answer);
    }
    output::line(out, &head(&args.model, method, prediction, row))?;
    heat(row, 100).iter().try_for_each(|line| output::line(out, line))
}

fn told(fault: Fault) -> CliError {
    match fault {
        Fault::Cancelled => CliError::Cancelled,
        Fault::Failed(problem) => CliError::Failed(problem.to_string()),
    }
}

fn head(model: &str, method: &dyn Method, prediction: &PredictionFinding, row: &SaliencyFinding) -> String {
    let top =
        prediction.top.iter().take(3).map(|g| format!("{} {}", printable_label(&g.answer), probability(g.probability)));
    let mut text =
        format!("{}  {}  [MASK]: {}", printable_label(model), method.title(), top.collect::<Vec<_>>().join(", "));
    if let Some(p) = prediction.answer_probability {
        text += &format!("  (expected {})", probability(p));
    }
    if let (Some(gap), Some(steps), Some(complete)) = (row.gap, row.steps, row.complete) {
        let verdict = if complete { "" } else { ", beyond the tolerance" };
        text += &format!("  (completeness error {}{verdict}, {steps} steps)", percent(gap));
    }
    text
}

/// Draws each word above a bar and a number. The height of a bar is relative to the largest score; negative scores have a minus sign.
fn heat(row: &SaliencyFinding, columns: usize) -> Vec<String> {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let largest = row.scores.iter().fold(0.0f32, |most, s| most.max(s.abs()));
    let cell = |i: usize| {
        let word = fit(&printable(&row.tokens[i]), 30).into_owned();
        if row.excluded.contains(&i) {
            return [word, String::new(), String::new()];
        }
        let score = row.scores[i];
        let share = if largest > 0.0 { score.abs() / largest } else { 0.0 };
        let level = LEVELS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1];
        let sign = if score < 0.0 { "-" } else { "" };
        [word, format!("{sign}{level}"), short(f64::from(score))]
    };
    let mut lines = Vec::new();
    let mut block = [String::new(), String::new(), String::new()];
    for i in 0..row.tokens.len() {
        let cell = cell(i);
        let wide = cell.iter().map(|c| width(c)).max().unwrap_or(0) + 1;
        if width(&block[0]) + wide > columns && !block[0].is_empty() {
            lines.extend(std::mem::take(&mut block).map(|line| line.trim_end().to_owned()));
        }
        block.iter_mut().zip(&cell).for_each(|(line, text)| *line += &pad(text, wide));
    }
    lines.extend(block.map(|line| line.trim_end().to_owned()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> SaliencyArgs {
        SaliencyArgs {
            text: text.into(),
            model: "bert-tiny".into(),
            method: "att".into(),
            answer: None,
            layer: None,
            head: None,
            baseline: "pad".into(),
            steps: 10,
            logit: false,
            seed: 0,
            device: "cpu".into(),
            json: true,
        }
    }

    fn said(args: &SaliencyArgs) -> Result<String, String> {
        let mut out = Vec::new();
        answer(args, &mut out).map_err(|e| e.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn sentence_has_one_prediction() {
        let text = "The dogs near the gate [MASK] barking .";
        let json: serde_json::Value = serde_json::from_str(&said(&args(text)).unwrap()).unwrap();
        assert_eq!(json["tokens"].as_array().unwrap().len(), 8);
        assert_eq!(json["excluded"], serde_json::json!([5]));
        assert_eq!(json["top"].as_array().unwrap().len(), 5);
        let plain = said(&SaliencyArgs { json: false, method: "ig".into(), ..args(text) }).unwrap();
        assert!(plain.contains("completeness error") && plain.lines().count() == 4, "{plain}");
    }

    #[test]
    fn impossible_questions_give_a_reason() {
        for (args, reason) in [
            (args("no mask"), "[MASK]"),
            (SaliencyArgs { method: "atention".into(), ..args("a [MASK]") }, "did you mean"),
            (SaliencyArgs { baseline: "none".into(), ..args("a [MASK]") }, "baseline"),
            (SaliencyArgs { head: Some(99), ..args("a [MASK]") }, "head 99"),
            (SaliencyArgs { layer: Some(99), ..args("a [MASK]") }, "layer 99"),
            (SaliencyArgs { model: "gpt2-tiny".into(), ..args("The [MASK] barks") }, "causal"),
            (SaliencyArgs { model: "bart-tiny".into(), method: "rollout".into(), ..args("The [MASK]") }, "decoder"),
            (args("\u{1b}[2J \u{202e}"), "[MASK]"),
        ] {
            let said = said(&args).unwrap_err();
            assert!(said.contains(reason) && !said.contains('\u{1b}'), "{said}");
        }
    }
}

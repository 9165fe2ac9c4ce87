//! Sample disparity (Cao et al. 2022, section 5, Table 3): a model is trained further on varying shares of the facts before it is queried.
//! The training is the same as in `probity gallery mix`. A mixture that has been measured is not trained again, and a stopped training run
//! resumes bit-identically.

use std::time::Instant;

use super::forecast::{Ahead, units};
use crate::Host;
use crate::finding::{DisparityFinding, Kind, TOP_TOKEN};
use crate::spec::Spec;
use base::Problem;
use lab::fault::{Fault, problem};
use lab::finding::Label;
use lab::host::NoticeLevel;
use pretraining::GalleryError;
use pretraining::bookmark::{StoreMark, steps as steps_of};
use pretraining::further::{FurtherText, Outcome, Settings, Start};
use pretraining::own_text::OwnText;
use pretraining::{Progress, Stage};

use model::{Device, ModelSource};

/// Names of the models that are trained further.
fn models(spec: &Spec) -> Vec<String> {
    match &spec.disparity.models {
        list if list.is_empty() => spec.models.iter().take(1).cloned().collect(),
        list => list.clone(),
    }
}

/// Number of training steps, and of relations, timed to forecast a mixture.
const STEPS: usize = 8;
const RELATIONS: usize = 4;

/// Time in seconds for a model's mixtures; 0 for mixtures that are already measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cost {
    pub model: String,
    /// Time in seconds by mixture, starting with the original model.
    pub further_texts: Vec<f64>,
}

/// The original model, and every mixture.
fn further_texts(spec: &Spec) -> impl Iterator<Item = FurtherText> {
    std::iter::once(FurtherText::None).chain(spec.disparity.gammas.iter().map(|g| FurtherText::Gamma(*g)))
}

fn settings(spec: &Spec, text: Option<&OwnText>) -> Settings {
    let usual = Settings::default();
    let own = &spec.disparity;
    Settings {
        sentences: own.sentences,
        epochs: own.epochs,
        steps: own.steps,
        batch: own.batch.unwrap_or(usual.batch),
        rate: own.rate.unwrap_or(usual.rate),
        masking: own.masking.unwrap_or(usual.masking),
        text: text.map(|t| t.hash().to_owned()),
        seed: spec.seed,
        ..usual
    }
}

/// The user's training text, if the spec names one.
fn own_text(spec: &Spec) -> Result<Option<OwnText>, Fault> {
    spec.text_path().map(|path| OwnText::read(&path).map_err(fault)).transpose()
}

/// A model with the text for its further training.
fn load(name: &str, text: Option<&OwnText>) -> Result<Start, Fault> {
    let source: ModelSource = name.parse()?;
    Ok(Start::load(&source).map_err(fault)?.with_text(text.cloned()))
}

/// Forecasts the time for each trained model from a few training steps and relations.
pub(crate) fn forecast(spec: &Spec, host: &mut Host<'_>) -> Result<Vec<Cost>, Fault> {
    if spec.disparity.is_off() {
        return Ok(Vec::new());
    }
    let text = own_text(spec)?;
    let settings = settings(spec, text.as_ref());
    let mut costs = Vec::new();
    for model in models(spec) {
        let start = load(&model, text.as_ref())?;
        let store = host.store();
        let new: Vec<(FurtherText, bool)> = further_texts(spec)
            .map(|d| Ok((d, store.trained(&key(&start, &model, d, &settings)?).is_none())))
            .collect::<Result<_, Fault>>()?;
        let mut further_texts = vec![0.0; new.len()];
        if new.iter().any(|(_, new)| *new) {
            let asking = host.rate(&format!("training asks {}", start.hash()), &mut || {
                let begun = Instant::now();
                let all = start.seconds_to_ask(&settings, RELATIONS, &mut |_| Ok(())).map_err(fault)?;
                Ok(units(1.0, all, begun))
            })?;
            let of_epochs = settings.sentences.div_ceil(settings.batch.max(1)) * settings.epochs;
            let trained = settings.steps.unwrap_or(of_epochs) as f64;
            for (cost, (further_text, _)) in further_texts.iter_mut().zip(&new).filter(|(_, (_, new))| *new) {
                *cost = asking;
                if let FurtherText::Gamma(gamma) = further_text {
                    // Steps are timed for each mixture, because sentences that state facts are longer than others.
                    let kind = format!("training step {gamma} {}", start.hash());
                    let before = host.store().unfinished(&key(&start, &model, *further_text, &settings)?);
                    let before = before.and_then(|bytes| steps_of(&bytes)).unwrap_or(0) as f64;
                    let left = (trained - before).max(0.0);
                    *cost += left
                        * host.rate(&kind, &mut || {
                            let begun = Instant::now();
                            let step = start.seconds_of_step(*further_text, &settings, STEPS).map_err(fault)?;
                            Ok(units(1.0, step, begun))
                        })?;
                }
            }
        }
        costs.push(Cost { model, further_texts });
        host.poll()?;
    }
    Ok(costs)
}

/// Trains on every mixture and queries the facts after each.
pub(crate) fn train(spec: &Spec, ahead: &Ahead, host: &mut Host<'_>) -> Result<(), Fault> {
    if spec.disparity.is_off() {
        return Ok(());
    }
    let text = own_text(spec)?;
    let settings = settings(spec, text.as_ref());
    for name in models(spec) {
        let start = load(&name, text.as_ref())?;
        let label = Label::new(spec, &name);
        let cost = ahead.mixtures.iter().find(|c| c.model == name);
        for (at, further_text) in further_texts(spec).enumerate() {
            let title = match further_text {
                FurtherText::Gamma(gamma) => format!("{name}: γ = {gamma}"),
                _ => format!("{name}: original model"),
            };
            let weight = cost.and_then(|c| c.further_texts.get(at)).copied().unwrap_or(0.0);
            host.stage(title, "steps", weight);
            let outcome = outcome(&start, &name, further_text, &settings, host)?;
            report(&label, further_text, &outcome, host)?;
        }
    }
    Ok(())
}

/// Cache key for the result of training on a mixture.
fn key(start: &Start, name: &str, further_text: FurtherText, settings: &Settings) -> Result<String, Fault> {
    let described = serde_json::to_string(&(further_text, settings))
        .map_err(|e| Fault::Failed(problem(&e, name, "remove the model from `disparity.models`")))?;
    Ok(format!("further pretraining v2|{}|{described}", start.hash()))
}

fn outcome(
    start: &Start,
    name: &str,
    further_text: FurtherText,
    settings: &Settings,
    host: &mut Host<'_>,
) -> Result<Outcome, Fault> {
    let said = |e: &dyn std::fmt::Display| Fault::Failed(problem(e, name, "remove the model from `disparity.models`"));
    let key = key(start, name, further_text, settings)?;
    let store = host.store();
    if let Some(known) = store.trained(&key).and_then(|b| serde_json::from_slice(&b).ok()) {
        return Ok(known);
    }
    // An intermediate state that cannot be stored needs no warning: at worst, its training is repeated. For a finished mixture, the failure
    // is reported at the end.
    let mut mark = StoreMark::new(store.unfinished(&key), |bytes| drop(store.keep_unfinished(&key, bytes)));
    let before = mark.before();
    let mut watch = |p: Progress| match p.stage {
        Stage::Train => host.beat(p.done.saturating_sub(before), p.total.saturating_sub(before)),
        _ => host.poll(),
    };
    let outcome = start.outcome(further_text, settings, Device::Cpu, (None, Some(&mut mark)), &mut watch);
    let outcome = outcome.map_err(fault)?;
    let bytes = serde_json::to_vec(&outcome).map_err(|e| said(&e))?;
    if let Err(e) = store.keep_trained(&key, &bytes) {
        let what = format!("the result for a mixture could not be cached: {e}; the next run repeats its training");
        let hint = "free space, or set PROBITY_CACHE_DIR to another folder".into();
        host.notice(NoticeLevel::Warning, Problem { what, r#where: name.into(), hint })?;
    }
    store.finish(&key);
    Ok(outcome)
}

fn report(label: &Label, further_text: FurtherText, outcome: &Outcome, host: &mut Host<'_>) -> Result<(), Fault> {
    let Some(first) = outcome.scores.iter().find(|s| s.id == "p1_first") else { return Ok(()) };
    let gamma = if let FurtherText::Gamma(gamma) = further_text { Some(gamma) } else { None };
    let candidates = Some(TOP_TOKEN.to_owned());
    let found = DisparityFinding { gamma, p_at_1: first.share, steps: outcome.steps, candidates };
    let t = host.elapsed();
    Ok(host.find(label.finding(first.n as usize, true, t, Kind::Disparity(found)))?)
}

fn fault(e: GalleryError) -> Fault {
    match e {
        GalleryError::Cancelled(_) => Fault::Cancelled,
        e => Fault::Failed(problem(&e, "disparity", "choose a model whose head the program can train")),
    }
}

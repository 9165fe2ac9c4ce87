//! Sample disparity (Cao et al. 2022, section 5, Table 3): a model goes on training on more or less of the facts before it is
//! asked for them. The training is that of `probity gallery mix`; a mixture that was measured before is not trained again.

use super::forecast::Ahead;
use crate::base::Problem;
use crate::gallery::GalleryError;
use crate::gallery::further::{Diet, Outcome, Settings, Start};
use crate::gallery::train::{Progress, Stage};
use crate::lab::fault::{Fault, problem};
use crate::lab::finding::Label;
use crate::lab::host::{Host, NoticeLevel};
use crate::lab::prompts::finding::{DisparityFinding, Kind, TOP_TOKEN};
use crate::lab::prompts::library::Library;
use crate::lab::prompts::spec::Spec;
use crate::lab::{self};
use crate::model::{Device, ModelSource};

/// The models that are trained.
fn models(spec: &Spec) -> Vec<String> {
    match &spec.disparity.models {
        list if list.is_empty() => spec.models.iter().take(1).cloned().collect(),
        list => list.clone(),
    }
}

/// Passes that a sentence costs in training, beside one of a query: forward, backward and the update, with a head over all that
/// is masked.
const TRAINED: usize = 6;

/// What one mixture of a model costs, in queries: its sentences, and all facts under all prompts afterwards. None for a model
/// that is not trained.
///
/// # Errors
/// Where the program's own facts are wrong.
pub fn queries(spec: &Spec, model: &str) -> Result<f64, Fault> {
    if spec.disparity.is_off() || !models(spec).iter().any(|m| m == model) {
        return Ok(0.0);
    }
    let all = Library::built_in().map_err(Fault::Failed)?;
    let asked: usize = all.relations.iter().map(|r| r.prompts.len() * r.facts.len()).sum();
    Ok((asked + TRAINED * spec.disparity.sentences * spec.disparity.epochs) as f64)
}

/// Trains every mixture and asks for the facts after it. A model that is trained but not asked has no share of the time left.
///
/// # Errors
/// [`Fault`].
pub fn train(spec: &Spec, ahead: &Ahead, host: &mut dyn Host) -> Result<(), Fault> {
    if spec.disparity.is_off() {
        return Ok(());
    }
    let settings = Settings {
        sentences: spec.disparity.sentences,
        epochs: spec.disparity.epochs,
        seed: spec.seed,
        ..Settings::default()
    };
    for name in models(spec) {
        let source: ModelSource = name.parse()?;
        let start = Start::load(&source).map_err(fault)?;
        let label = Label::new(&lab::Spec::from(spec.clone()), &name);
        let diets = std::iter::once(Diet::None).chain(spec.disparity.gammas.iter().map(|g| Diet::Gamma(*g)));
        for diet in diets {
            let title = match diet {
                Diet::Gamma(gamma) => format!("{name}: γ = {gamma}"),
                _ => format!("{name}: as it is"),
            };
            let member = spec.models.iter().position(|m| *m == name);
            let weight = member.filter(|_| diet != Diet::None).map_or(0.0, |k| ahead.mixtures[k]);
            host.stage(title, "steps", weight);
            let outcome = outcome(&start, &name, diet, &settings, host)?;
            report(&label, diet, &outcome, host)?;
        }
    }
    Ok(())
}

fn outcome(
    start: &Start,
    name: &str,
    diet: Diet,
    settings: &Settings,
    host: &mut dyn Host,
) -> Result<Outcome, Fault> {
    let said = |e: &dyn std::fmt::Display| {
        Fault::Failed(problem(e, name, "leave the model out of disparity.models"))
    };
    let described = serde_json::to_string(&(diet, settings)).map_err(|e| said(&e))?;
    let key = format!("further pretraining v2|{}|{described}", start.hash());
    let store = host.store();
    if let Some(known) = store.trained(&key).and_then(|b| serde_json::from_slice(&b).ok()) {
        return Ok(known);
    }
    let mut watch = |p: Progress| match p.stage {
        Stage::Train => host.beat(p.done, p.total),
        _ => host.poll(),
    };
    let outcome = start.outcome(diet, settings, Device::Cpu, None, &mut watch).map_err(fault)?;
    let bytes = serde_json::to_vec(&outcome).map_err(|e| said(&e))?;
    if let Err(e) = store.keep_trained(&key, &bytes) {
        let what = format!("a measured mixture could not be kept: {e}; it is trained again next time");
        let hint = "free space, or set PROBITY_CACHE_DIR to another folder".into();
        host.notice(NoticeLevel::Warning, Problem { what, r#where: name.into(), hint })?;
    }
    Ok(outcome)
}

fn report(label: &Label, diet: Diet, outcome: &Outcome, host: &mut dyn Host) -> Result<(), Fault> {
    let Some(first) = outcome.scores.iter().find(|s| s.id == "p1_first") else { return Ok(()) };
    let gamma = if let Diet::Gamma(gamma) = diet { Some(gamma) } else { None };
    let candidates = Some(TOP_TOKEN.to_owned());
    let found = DisparityFinding { gamma, p_at_1: first.share, steps: outcome.steps, candidates };
    let t = host.elapsed();
    Ok(host.find(label.finding(first.n as usize, true, t, Kind::Disparity(found)))?)
}

fn fault(e: GalleryError) -> Fault {
    match e {
        GalleryError::Cancelled(_) => Fault::Cancelled,
        e => Fault::Failed(problem(
            &e,
            "disparity",
            "only models with a head that the program can train will do",
        )),
    }
}

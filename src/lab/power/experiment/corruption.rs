//! Encoders that are trained on sentences with their words in random order before they are read. A training that was stopped goes on
//! where it was.

use std::time::Instant;

use crate::Host;
use crate::spec::Spec;
use lab::fault::{Fault, problem};
use model::{Model, ModelSource};
use pretraining::bookmark::StoreMark;
use pretraining::further::{CORRUPTED_BATCH, Diet, Settings, Start};
use pretraining::own_text::OwnText;
use pretraining::{GalleryError, Progress};

/// Steps by which a corruption is forecast.
const STEPS: usize = 8;

/// A side's encoder with the text that corrupts it.
struct Corruption {
    start: Start,
    settings: Settings,
    /// The name of its state in a store.
    key: String,
}

impl Corruption {
    /// Settings of the corruption. None: the encoder is not corrupted.
    fn new(spec: &Spec, first: bool) -> Result<Option<Self>, Fault> {
        let (side, terms) = (spec.side(first), &spec.corruption);
        if side.corrupted == 0 {
            return Ok(None);
        }
        let source: ModelSource = spec.encoder(first).parse()?;
        let text = side.corrupted_text.as_ref().map(|file| OwnText::read(&spec.path(file)));
        let text = text.transpose().map_err(|e| fault(e, first))?;
        let usual = Settings::of_corruption(side.corrupted, terms.batch.unwrap_or(CORRUPTED_BATCH), spec.seed);
        let settings = Settings {
            rate: terms.rate.unwrap_or(usual.rate),
            masking: terms.masking.unwrap_or(usual.masking),
            text: text.as_ref().map(|t| t.hash().to_owned()),
            ..usual
        };
        let start = Start::load(&source).map_err(|e| fault(e, first))?.with_text(text);
        let key = format!("corrupted encoder v1|{}|{settings:?}", start.hash());
        Ok(Some(Self { start, settings, key }))
    }

    /// Seconds of the steps that are left.
    fn seconds(&self, first: bool, host: &mut Host<'_>) -> Result<f64, Fault> {
        let store = host.store();
        let before = StoreMark::new(store.unfinished(&self.key), |_| {}).before();
        let kind = format!("corruption step {} {}", self.settings.batch, self.start.hash());
        let step = host.rate(&kind, &mut || {
            let begun = Instant::now();
            let step =
                self.start.seconds_of_step(Diet::Shuffled, &self.settings, STEPS).map_err(|e| fault(e, first))?;
            Ok(begun.elapsed().as_secs_f64() / step.max(f64::MIN_POSITIVE))
        })?;
        Ok(step * self.settings.shuffled_steps.saturating_sub(before) as f64)
    }
}

/// Seconds that the corruption of a side's encoder takes; 0 if it stays as it is.
pub(crate) fn seconds(spec: &Spec, first: bool, host: &mut Host<'_>) -> Result<f64, Fault> {
    Corruption::new(spec, first)?.map_or(Ok(0.0), |c| c.seconds(first, host))
}

/// A side's corrupted encoder; none if it stays as it is.
pub(crate) fn corrupt(spec: &Spec, first: bool, host: &mut Host<'_>) -> Result<Option<Model>, Fault> {
    let Some(corruption) = Corruption::new(spec, first)? else { return Ok(None) };
    let (name, seconds) = (spec.encoder(first), corruption.seconds(first, host)?);
    let Corruption { start, settings, key } = corruption;
    host.stage(format!("{name}: corrupting for {} steps", settings.shuffled_steps), "steps", seconds);
    let store = host.store();
    // A state that cannot be kept is trained again.
    let mut mark = StoreMark::new(store.unfinished(&key), |bytes| drop(store.keep_unfinished(&key, bytes)));
    let before = mark.before();
    let mut watch = |p: Progress| host.beat(p.done.saturating_sub(before), p.total.saturating_sub(before));
    let model = start.corrupted(&settings, &mut mark, &mut watch).map_err(|e| fault(e, first))?;
    store.finish(&key);
    Ok(Some(model))
}

fn fault(e: GalleryError, first: bool) -> Fault {
    let key = if first { "a.corrupted" } else { "b.corrupted" };
    match e {
        GalleryError::Cancelled(_) => Fault::Cancelled,
        e => Fault::Failed(problem(&e, key, "only models with a head that the program can train can be corrupted")),
    }
}

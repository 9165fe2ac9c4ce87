//! Trains encoders on sentences with words in random order. An interrupted training run can be resumed.

use std::time::Instant;

use crate::Host;
use crate::spec::Spec;
use base::Cancelled;
use lab::fault::{Fault, problem};
use lab::store::Store;
use model::{Model, ModelSource};
use pretraining::bookmark::StoreMark;
use pretraining::further::{CORRUPTED_BATCH, FurtherText, Settings, Start};
use pretraining::own_text::OwnText;
use pretraining::{GalleryError, Progress};

/// Number of steps timed to forecast a corruption.
const STEPS: usize = 8;

/// An encoder to corrupt, with its training text.
pub(crate) struct Corruption {
    start: Start,
    settings: Settings,
    /// Key of its stored state.
    key: String,
    first: bool,
}

/// Loads the corruptions of both sides once for forecast and run; `None` for an unchanged encoder.
pub(crate) fn load(spec: &Spec) -> Result<[Option<Corruption>; 2], Fault> {
    Ok([Corruption::new(spec, true)?, Corruption::new(spec, false)?])
}

impl Corruption {
    /// Settings of the corruption; `None` if the encoder is not corrupted.
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
        Ok(Some(Self { start, settings, key, first }))
    }

    /// Expected time in seconds for the remaining steps.
    pub(crate) fn seconds(&self, host: &mut Host<'_>) -> Result<f64, Fault> {
        let store = host.store();
        let before = StoreMark::new(store.unfinished(&self.key), |_| {}).before();
        // The text is part of the name, because step times depend on sentence lengths.
        let Settings { batch, text, .. } = &self.settings;
        let kind = format!("corruption step {batch} {} {}", self.start.hash(), text.as_deref().unwrap_or_default());
        let step = host.rate(&kind, &mut || {
            let begun = Instant::now();
            let step = self
                .start
                .seconds_of_step(FurtherText::Shuffled, &self.settings, STEPS)
                .map_err(|e| fault(e, self.first))?;
            Ok(begun.elapsed().as_secs_f64() / step.max(f64::MIN_POSITIVE))
        })?;
        Ok(step * self.settings.shuffled_steps.saturating_sub(before) as f64)
    }

    pub(crate) fn encoder(self, spec: &Spec, host: &mut Host<'_>) -> Result<Model, Fault> {
        let (name, seconds) = (spec.encoder(self.first), self.seconds(host)?);
        host.stage(format!("{name}: corrupting for {} steps", self.settings.shuffled_steps), "steps", seconds);
        self.train(&*host.store(), &mut |done, total| host.beat(done, total))
    }

    /// Trains, resuming if an earlier run was stopped or killed. `beat` receives the steps of this training run only.
    fn train(
        self,
        store: &dyn Store,
        beat: &mut dyn FnMut(usize, usize) -> Result<(), Cancelled>,
    ) -> Result<Model, Fault> {
        let Self { start, settings, key, first } = self;
        // If a state cannot be stored, its training is repeated later.
        let mut mark = StoreMark::new(store.unfinished(&key), |bytes| drop(store.keep_unfinished(&key, bytes)));
        let before = mark.before();
        let mut watch = |p: Progress| beat(p.done.saturating_sub(before), p.total.saturating_sub(before));
        let model = start.corrupted(&settings, &mut mark, &mut watch).map_err(|e| fault(e, first))?;
        store.finish(&key);
        Ok(model)
    }
}

fn fault(e: GalleryError, first: bool) -> Fault {
    let key = if first { "a.corrupted" } else { "b.corrupted" };
    match e {
        GalleryError::Cancelled(_) => Fault::Cancelled,
        e @ GalleryError::Text { .. } => {
            Fault::Failed(problem(&e, &format!("{key}_text"), "expected UTF-8 text with one sentence per line"))
        }
        e => Fault::Failed(problem(&e, key, "choose a model whose head the program can train")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Mutex;

    use super::*;
    use base::matrix::Matrix;
    use lab::store::{Fetched, Key, NoStore, Space};
    use pretraining::bookmark::Bookmark;

    /// A store that keeps one unfinished state.
    #[derive(Default)]
    struct One(Mutex<Option<(String, Vec<u8>)>>);

    impl Store for One {
        fn trained(&self, _: &str) -> Option<Vec<u8>> {
            None
        }

        fn keep_trained(&self, _: &str, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }

        fn unfinished(&self, key: &str) -> Option<Vec<u8>> {
            self.0.lock().unwrap().as_ref().filter(|(k, _)| k == key).map(|(_, bytes)| bytes.clone())
        }

        fn finish(&self, key: &str) {
            self.0.lock().unwrap().take_if(|(k, _)| k == key);
        }

        fn place(&self) -> Option<PathBuf> {
            None
        }

        fn fetch(&self, space: &Space, keys: &[Key], to: &mut Matrix) -> Fetched {
            NoStore.fetch(space, keys, to)
        }

        fn absent(&self, space: &Space, keys: &[Key]) -> Vec<usize> {
            NoStore.absent(space, keys)
        }

        fn keep(&self, _: &Space, _: &[Key], _: &Matrix) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A store that keeps the state after every step.
    #[derive(Default)]
    struct Every(Vec<Vec<u8>>);

    impl Bookmark for Every {
        fn last(&mut self) -> Option<Vec<u8>> {
            None
        }

        fn due(&mut self, _: bool) -> bool {
            true
        }

        fn keep(&mut self, bytes: Vec<u8>) {
            self.0.push(bytes);
        }
    }

    fn corruption(seed: u64) -> Corruption {
        let spec = format!(
            "lab = \"power\"\nmodels = [\"bert-tiny\"]\nseed = {seed}\n[b]\ncorrupted = 6\n[corruption]\nbatch = 4"
        );
        let spec: Spec = lab::spec::parse(&spec, "x").unwrap();
        let [none, second] = load(&spec).unwrap();
        assert!(none.is_none());
        second.unwrap()
    }

    /// A run that is killed leaves its last stored state, without a report or clean-up.
    #[test]
    fn killed_corruption_resumes_to_the_same_encoder() {
        let run = |seed: u64, store: &One| {
            let mut beats = Vec::new();
            let model = corruption(seed).train(store, &mut |done, total| {
                beats.push((done, total));
                Ok(())
            });
            (model.unwrap().hash().to_owned(), beats)
        };
        let (whole, beats) = run(0, &One::default());
        assert_eq!(beats.len(), 6);
        let Corruption { start, settings, key, .. } = corruption(0);
        let mut states = Every::default();
        let killed =
            start.corrupted(&settings, &mut states, &mut |p| if p.done == 5 { Err(Cancelled) } else { Ok(()) });
        assert!(killed.is_err());
        let after = |steps: usize| One(Mutex::new(Some((key.clone(), states.0[steps - 1].clone()))));
        let store = after(4);
        assert_eq!(run(0, &store), (whole.clone(), vec![(1, 2), (2, 2)]));
        assert!(store.unfinished(&key).is_none(), "the state of a finished training run is removed");
        // Training with a different seed starts from the beginning and does not change this state.
        let store = after(4);
        let (other, beats) = run(1, &store);
        assert!(other != whole && beats.len() == 6 && store.unfinished(&key).is_some());
    }
}

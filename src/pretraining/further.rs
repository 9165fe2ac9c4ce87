//! Further pretraining on mixtures with more or fewer facts (Cao et al. 2022, section 5: sample disparity) or with shuffled words (the
//! corruption in Zhu et al. 2022). After each mixture, the model is tested on the facts.
//!
//! The facts are those of [`FactUse::Taught`]. No built-in model was trained on them, so before the first mixture it can only guess.
//!
//! Every mixture starts from the same weights. Results are saved in a file, one line per mixture, so that a stopped run can resume.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::ask::Asked;
use super::bookmark::{Bookmark, restored, written};
use super::error::Result;
use super::mixture::{Corpus, Line, Mixture};
use super::own_text::OwnText;
use super::progress::{Progress, Stage, Watch};
use super::recall::{Asking, RelationRecall, Tally, recall};
use super::recipe::{Objective, schedule};
use super::score::{LEVEL, Score};
use super::splits::{FactUse, FactUses};
use super::text::{Encoder, Masking};
use base::files::hex;
use corpus::facts::Relation;
use model::arch::Arch;
use model::device::Device;
use model::exec::train::{AdamW, Trainer};
use model::families::ConfigFile;
use model::params::Params;
use model::source::{Files, ModelSource};
use model::{Model, Tokenizer, weights};
use stats::intervals::share;
use stats::rng::{shuffle, stream, unit};

mod outcomes;

pub use self::outcomes::{Keep, mix};

/// Text used for further training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FurtherText {
    /// No text: the model is unchanged.
    None,
    /// Share of sentences that state taught facts; the rest is Micro-English. The model is trained on [`Settings::sentences`] sentences for
    /// [`Settings::epochs`] epochs.
    Gamma(f64),
    /// Sentences that state taught facts, with their words in random order; trained for [`Settings::shuffled_steps`] steps.
    Shuffled,
}

/// Settings of further training; the defaults are those of the papers cited above.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of distinct sentences in a mixture.
    pub sentences: usize,
    /// Number of passes over the sentences.
    pub epochs: usize,
    /// Number of steps per mixture; overrides `epochs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    pub shuffled_steps: usize,
    /// Sentences per step.
    pub batch: usize,
    /// Peak learning rate of AdamW, reached linearly over 6 % of the steps and followed by a linear decay to 0.
    pub rate: f64,
    /// Share of masked words, for models trained with masks.
    pub masking: f64,
    /// Seed for text, order and masks.
    pub seed: u64,
    pub relations: usize,
    /// SHA-256 of the user's text, if [`Start::with_text`] received a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Sentences per step for corrupting an encoder, as in the code of Zhu et al. (2022).
pub const CORRUPTED_BATCH: usize = 16;

impl Settings {
    /// Settings for corrupting an encoder as in Zhu et al. (2022): `steps` training steps on sentences with their words in random order.
    pub fn of_corruption(steps: usize, batch: usize, seed: u64) -> Self {
        let usual = Self::default();
        // Slightly more sentences than needed are drawn, because a few may be too long.
        let sentences = (steps + 8).saturating_mul(batch).min(usual.sentences);
        Self { shuffled_steps: steps, batch, seed, sentences, ..usual }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sentences: 9_900,
            epochs: 3,
            steps: None,
            shuffled_steps: 200,
            batch: 32,
            rate: 5e-5,
            masking: 0.15,
            seed: 0,
            relations: usize::MAX,
            text: None,
        }
    }
}

/// Result of one mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Text used for training.
    #[serde(rename = "diet")]
    pub further_text: FurtherText,
    pub steps: usize,
    /// Mean loss in nats over the last tenth of the steps; `None` without steps.
    pub loss: Option<f64>,
    /// P@1 on the taught facts of all relations, for the first prompt with the usual name and for each relation's best prompt.
    pub scores: Vec<Score>,
    pub facts: Vec<RelationRecall>,
}

/// Parts of a model from which every mixture starts.
pub struct Start {
    arch: Arch,
    params: Params,
    tokenizer: Tokenizer,
    /// Tokenizer and card files, copied to folders of saved weights.
    files: Vec<(&'static str, Vec<u8>)>,
    name: String,
    hash: String,
    corpus: Corpus,
    uses: FactUses,
    text: Option<OwnText>,
}

/// Tokenizer files copied into each saved model folder.
const COPIED: [&str; 7] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
];

impl Start {
    /// Loads a model.
    ///
    /// # Errors
    /// Returns errors of loading, and [`ModelError::Training`](model::ModelError::Training) if the model has no head or no tokenizer.
    pub fn load(source: &ModelSource) -> Result<Self> {
        let files = Files::at_hand(source)?;
        let text = files
            .text("config.json")?
            .ok_or_else(|| files.missing("config.json", "a model folder contains config.json and model.safetensors"))?;
        let (family, mut arch) = ConfigFile::parse(&format!("{}/config.json", files.label()), &text)?.describe()?;
        let weights = files.weights()?;
        let mut hash = Sha256::new();
        weights.hash_into(&mut hash);
        let params = Params::read(&mut arch, family, &weights)?;
        let read = |name: &str| Ok(files.read(name)?.map(std::borrow::Cow::into_owned));
        let missing =
            |what: &str| model::ModelError::Training(format!("{source} has no {what}, so it cannot predict words"));
        let tokenizer = Tokenizer::from_files(&files.label(), read)?.ok_or_else(|| missing("tokenizer"))?;
        if arch.head_parameters().is_empty() && arch.head == model::arch::Head::None {
            return Err(missing("language-model head").into());
        }
        let tokenizer = tokenizer.for_model(&arch);
        let mut copied = Vec::new();
        for name in COPIED {
            if let Some(bytes) = files.read(name)? {
                copied.push((name, bytes.into_owned()));
            }
        }
        Ok(Self {
            arch,
            params,
            tokenizer,
            files: copied,
            name: source.to_string(),
            hash: hex(&hash.finalize()),
            corpus: Corpus::new(Mixture::neutral())?,
            uses: FactUses::new()?,
            text: None,
        })
    }

    /// Sets the user's text. It replaces Micro-English in mixtures, and is the text whose words are shuffled.
    pub fn with_text(self, text: Option<OwnText>) -> Self {
        Self { text, ..self }
    }

    /// SHA-256 of the weights, in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    fn objective(&self) -> Objective {
        match (self.arch.decoder.is_some(), self.arch.is_causal()) {
            (true, _) => Objective::Denoising,
            (false, true) => Objective::Causal,
            (false, false) => Objective::Masked,
        }
    }

    /// Trains on a mixture from the model's weights or from a bookmark. Returns the trainer and the losses at all steps.
    pub fn feed(
        &self,
        further_text: FurtherText,
        settings: &Settings,
        device: Device,
        mut bookmark: Option<&mut dyn Bookmark>,
        watch: Watch<'_>,
    ) -> Result<(Trainer, Vec<f64>)> {
        let optimiser = AdamW { beta2: 0.999, ..AdamW::default() };
        let mut trainer = Trainer::from_params(&self.arch, &self.params, optimiser, device)?;
        let lines = self.lines(further_text, settings)?;
        let masking = Masking { focus: 0.0, beside: 0.0, random: settings.masking };
        let encoder = Encoder::new(&self.tokenizer, self.objective(), masking);
        let mut rows = lines.iter().map(|l| encoder.row(l)).collect::<Result<Vec<_>>>()?;
        rows.retain(|r| (2..=self.arch.max_positions).contains(&r.ids.len()));
        let batch = settings.batch.max(1);
        let total = match further_text {
            FurtherText::None => 0,
            FurtherText::Gamma(_) => settings.steps.unwrap_or(rows.len().div_ceil(batch) * settings.epochs),
            FurtherText::Shuffled => settings.shuffled_steps,
        };
        let (mut order, mut masks) = (stream(settings.seed, "further order"), stream(settings.seed, "further masks"));
        let known = bookmark.as_mut().and_then(|b| b.last());
        let known = known.and_then(|bytes| restored(&mut trainer, &bytes, total)).unwrap_or_default();
        let mut losses = Vec::with_capacity(total);
        while losses.len() < total && !rows.is_empty() {
            shuffle(&mut order, &mut rows);
            for chunk in rows.chunks(batch) {
                if losses.len() == total {
                    break;
                }
                // Batches of completed steps are drawn again, so that the next one is the same as in an uninterrupted run.
                let step = encoder.step(chunk.to_vec(), &mut masks)?;
                if let Some(loss) = known.get(losses.len()) {
                    losses.push(*loss);
                    continue;
                }
                let rate = settings.rate * schedule(losses.len(), total);
                let loss = trainer.step(&step.batch, &step.targets, rate)?;
                losses.push(f64::from(loss));
                let heard = watch(Progress { stage: Stage::Train, done: losses.len(), total, loss });
                if losses.len() < total
                    && let Some(mark) = bookmark.as_mut()
                    && mark.due(heard.is_err())
                    && let Some(bytes) = written(&trainer, &losses)
                {
                    mark.keep(bytes);
                }
                heard?;
            }
        }
        Ok((trainer, losses))
    }

    /// Draws the sentences of a mixture; they are the same for every model with the same seed.
    fn lines(&self, further_text: FurtherText, settings: &Settings) -> Result<Vec<Line>> {
        let mut rng = stream(settings.seed, "further text");
        let mut mixing = stream(settings.seed, "further mixing");
        let mut n = settings.sentences;
        Ok(match further_text {
            FurtherText::None => Vec::new(),
            FurtherText::Gamma(gamma) => {
                if let Some(text) = self.text.as_ref().filter(|_| gamma < 1.0) {
                    // A shorter text gives a smaller mixture with the same share of facts.
                    n = n.min((text.len() as f64 / (1.0 - gamma)) as usize);
                }
                let inside = (gamma * n as f64).round() as usize;
                let facts = (0..inside).map(|_| self.corpus.fact(&mut rng)).collect::<Vec<_>>().into_iter();
                match self.own_lines(n - inside, settings)? {
                    Some(own) => facts.chain(own).collect(),
                    None => {
                        let mut rng = stream(settings.seed, "further text outside");
                        facts.chain((inside..n).map(|_| self.corpus.sentence(&mut rng))).collect()
                    }
                }
            }
            FurtherText::Shuffled => {
                let lines = match self.own_lines(n, settings)? {
                    Some(own) => own,
                    None => (0..n).map(|_| self.corpus.fact(&mut rng)).collect(),
                };
                let mixed = lines.into_iter().map(|line| {
                    let mut words: Vec<&str> = line.text.split_whitespace().collect();
                    shuffle(&mut mixing, &mut words);
                    // One random number is drawn per line, so that runs with different settings use the same random numbers for the same
                    // line.
                    let _ = unit(&mut mixing);
                    Line { text: words.join(" "), focus: Vec::new() }
                });
                mixed.collect()
            }
        })
    }

    /// Draws lines of the user's text, if any; lines too long for the model are split.
    fn own_lines(&self, count: usize, settings: &Settings) -> Result<Option<Vec<Line>>> {
        // One token is reserved for the closing token of causal models.
        let fits = |text: &str| Ok(self.tokenizer.ids(text)?.len() < self.arch.max_positions);
        self.text.as_ref().map(|text| text.draw(count, settings.seed, fits)).transpose()
    }

    /// Returns the model after corruption, resuming from a bookmark if there is one.
    pub fn corrupted(self, settings: &Settings, bookmark: &mut dyn Bookmark, watch: Watch<'_>) -> Result<Model> {
        let (trainer, _) = self.feed(FurtherText::Shuffled, settings, Device::Cpu, Some(bookmark), watch)?;
        let (name, params) = (format!("{}, corrupted {}", self.name, settings.shuffled_steps), trainer.params()?);
        Ok(Model::from_params(&name, self.arch, params, Some(self.tokenizer), Device::Cpu)?)
    }

    /// Measures the time per step on a mixture in seconds, from `few` steps after one untimed step, which allocates memory.
    pub fn seconds_of_step(&self, further_text: FurtherText, settings: &Settings, few: usize) -> Result<f64> {
        let (steps, epochs) = (Some(few + 1), 1);
        let sentences = (few + 1) * settings.batch;
        let few = Settings { sentences, epochs, steps, shuffled_steps: few + 1, ..settings.clone() };
        let (begun, mut times) = (Instant::now(), Vec::new());
        let mut watch = |p: Progress| {
            if matches!(p.stage, Stage::Train) {
                times.push(Instant::now());
            }
            Ok(())
        };
        self.feed(further_text, &few, Device::Cpu, None, &mut watch)?;
        Ok(match &times[..] {
            [first, .., last] => last.duration_since(*first).as_secs_f64() / (times.len() - 1) as f64,
            _ => begun.elapsed().as_secs_f64(),
        })
    }

    fn relations(&self, settings: &Settings) -> &[Relation] {
        let relations = self.corpus.relations();
        &relations[..settings.relations.min(relations.len())]
    }

    /// Tests the taught facts of the given relations.
    fn ask(&self, trainer: &Trainer, relations: &[Relation], watch: Watch<'_>) -> Result<Vec<RelationRecall>> {
        let asked = Asked::new(&self.arch, &self.tokenizer, Box::new(|b, p| trainer.forward(b, p)));
        let asking = Asking { uses: &self.uses, fact_use: FactUse::Taught, mixture: None, judgement: None };
        let mut facts = Vec::with_capacity(relations.len());
        for (done, relation) in relations.iter().enumerate() {
            watch(Progress { stage: Stage::Score, done, total: relations.len(), loss: f32::NAN })?;
            facts.push(recall(&asked, relation, asking)?.relation);
        }
        Ok(facts)
    }

    /// Number of questions per relation in [`Start::outcome`], excluding other names of the subjects.
    fn questions(&self, relations: &[Relation]) -> Vec<usize> {
        let taught = |r: &Relation| r.facts.iter().filter(|f| self.uses.of(r, f) == FactUse::Taught).count();
        relations.iter().map(|r| taught(r) * r.open_prompts().len()).collect()
    }

    /// Estimates the time in seconds for the questions of [`Start::outcome`] from the first few relations, after one untimed relation.
    pub fn seconds_to_ask(&self, settings: &Settings, few: usize, watch: Watch<'_>) -> Result<f64> {
        let relations = self.relations(settings);
        let first = 1.min(relations.len());
        let some = &relations[first..(first + few).min(relations.len())];
        let (trainer, _) = self.feed(FurtherText::None, settings, Device::Cpu, None, watch)?;
        self.ask(&trainer, &relations[..first], watch)?;
        let begun = Instant::now();
        self.ask(&trainer, some, watch)?;
        let sum = |relations: &[Relation]| self.questions(relations).iter().sum::<usize>() as f64;
        Ok(begun.elapsed().as_secs_f64() * sum(relations) / sum(some).max(1.0))
    }

    /// Trains on a mixture and tests the taught facts of both halves with the open prompts.
    ///
    /// # Errors
    /// Same as [`Start::feed`], and file errors if the weights are saved.
    pub fn outcome(
        &self,
        further_text: FurtherText,
        settings: &Settings,
        device: Device,
        (save, bookmark): (Option<&Path>, Option<&mut dyn Bookmark>),
        watch: Watch<'_>,
    ) -> Result<Outcome> {
        let (trainer, losses) = self.feed(further_text, settings, device, bookmark, watch)?;
        if let Some(dir) = save {
            trainer.export(dir)?;
            for (name, bytes) in &self.files {
                weights::write_whole(&dir.join(name), bytes)?;
            }
        }
        let facts = self.ask(&trainer, self.relations(settings), watch)?;
        let pool = |pick: &dyn Fn(&RelationRecall) -> Option<Tally>| {
            facts.iter().filter_map(pick).fold(Tally::default(), Tally::and)
        };
        let score = |id: &str, what: &str, t: Tally| Score {
            id: id.into(),
            what: what.into(),
            share: share(t.hits, t.n, LEVEL),
            n: t.n,
        };
        let first = pool(&|r| r.prompts.first().map(|p| p.all()));
        let best = pool(&|r| r.best().map(|p| p.all()));
        let last = &losses[losses.len() - losses.len().div_ceil(10)..];
        let mut scores = vec![
            score("p1_first", "P@1 with each relation's first prompt and the usual name", first),
            score("p1_best", "P@1 with each relation's best prompt and the usual name", best),
        ];
        scores.retain(|s| s.n > 0);
        Ok(Outcome {
            further_text,
            steps: losses.len(),
            loss: (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64),
            scores,
            facts,
        })
    }
}

#[cfg(test)]
#[path = "further_tests.rs"]
mod tests;

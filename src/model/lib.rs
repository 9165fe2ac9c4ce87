//! Models: loading, tokenizers, architectures, executors, and the plans they run.
//!
//! ```text
//! ModelSource -> files -> config.json -> Family -> Arch  \
//!                      -> safetensors -> Params           > Executor: forward(&Batch, &Plan) -> Trace
//!                      -> tokenizer.json -> Tokenizer -> Batch /
//! ```
//!
//! The rest of the program is independent of the executor: inputs and outputs are host f32 arrays, hook points have names, and a family is
//! a description. To add a family, add a file in [`families`]; to add an executor, implement [`Executor`].

pub mod arch;
pub mod array;
pub mod batch;
pub mod builtin;
pub mod check;
pub mod chunk;
pub mod convert;
pub mod device;
pub mod dtype;
pub mod error;
pub mod exec;
pub mod families;
pub mod hook;
pub mod hub;
mod long;
pub mod offers;
pub mod params;
pub mod plan;
pub mod sentence;
pub mod source;
pub(crate) mod static_vectors;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod tokenizer;
pub mod trace;
pub mod untrained;
pub mod weights;

use serde_json::Value;
use sha2::{Digest, Sha256};

pub use self::arch::Arch;
pub use self::array::Array;
pub use self::batch::Batch;
pub use self::device::Device;
pub use self::dtype::Dtype;
pub use self::error::{ModelError, Result};
pub use self::exec::Executor;
pub use self::hook::HookPoint;
pub use self::long::Long;
pub use self::offers::{LogitsOnly, Offer};
pub use self::params::Params;
pub use self::plan::{Capture, Edit, EditKind, Gradient, LogitsAt, Plan, Scalar, Sites, Start, Target};
pub use self::sentence::{PoolOver, Pooler, Pooling, Readout};
pub use self::source::ModelSource;
pub use self::tokenizer::{Encoding, Special, Tokenizer};
pub use self::trace::Trace;

use self::arch::Network;
use self::exec::logits::LogitsExecutor;
use self::families::{ConfigFile, bilstm};
use self::hub::OnTransfer;
use self::sentence::SentenceFiles;
use self::source::Files;
use self::static_vectors::StaticVectors;
use base::Problem;
use base::files::hex;

pub struct Model {
    name: String,
    arch: Arch,
    executor: Box<dyn Executor>,
    tokenizer: Option<Tokenizer>,
    sentence: SentenceFiles,
    pooler: Option<Pooler>,
    card: Option<Value>,
    ignored: Vec<String>,
    /// Additional notices about loading, each with its remedy.
    remarks: Vec<(String, String)>,
    /// A SentencePiece file, if there is no other tokenizer.
    unread_tokenizer: Option<&'static str>,
    /// True if the stored output matrix differs from the embeddings to which the configuration ties it.
    untied: bool,
    hash: String,
}

impl Model {
    /// Loads configuration, weights and tokenizer in f32, checks that they are consistent, and moves the weights to a device.
    ///
    /// # Errors
    /// Every [`ModelError`] of loading; each names the file and the remedy.
    pub fn load(source: &ModelSource, device: Device) -> Result<Model> {
        Model::load_with(source, (device, Dtype::F32), &mut |_| Ok(()))
    }

    /// Loads a model in any [`Dtype`]; `on` receives the progress of a download and can stop it.
    ///
    /// # Errors
    /// Same as [`Model::load`]; also [`ModelError::Cancelled`], and [`ModelError::Device`] for networks that support only f32.
    pub fn load_with(source: &ModelSource, (device, dtype): (Device, Dtype), on: &mut OnTransfer<'_>) -> Result<Model> {
        match source {
            ModelSource::Vectors(address) => return static_vectors::load(address, device, dtype),
            ModelSource::Untrained { of, seed } => {
                return untrained::load(of, *seed, source.to_string(), (device, dtype), on);
            }
            ModelSource::Builtin(_) | ModelSource::Dir(_) | ModelSource::Hub { .. } => {}
        }
        let files = Files::open(source, on)?;
        let config = files.config()?;
        let label = format!("{}/config.json", files.label());
        let file = ConfigFile::parse(&label, &config)?;
        let (family, mut arch) = file.describe()?;
        let ties = arch.is_tied();
        let (weights, wrapper) = files.weights()?.unwrapped(file.model_type());
        let (tokenizer, given) = if arch.network == Network::BiLstm {
            let (tokenizer, words) = bilstm::words(&file, &mut arch, &files, &weights)?;
            (Some(tokenizer), words)
        } else {
            let read = |name: &str| Ok(files.read(name)?.map(std::borrow::Cow::into_owned));
            (Tokenizer::from_files(&files.label(), read)?, Params::default())
        };
        let tokenizer = tokenizer.map(|t| t.for_model(&arch));
        let mut hash = Sha256::new();
        weights.hash_into(&mut hash);
        hash.update(config.as_bytes());
        hash.update(tokenizer.as_ref().map_or([0; 32], Tokenizer::digest));
        given.hash_into(&mut hash);
        let served = matches!(arch.network, Network::LogitsOnly(_));
        let (executor, pooler, ignored): (Box<dyn Executor>, _, _) = if served {
            let (executor, ignored) = LogitsExecutor::open(&file, &mut arch, &weights, (device, dtype))?;
            (Box::new(executor), None, ignored)
        } else {
            let params = Params::read_rest(&mut arch, family, &weights, given)?;
            let ignored = family.ignored(&arch, &weights);
            let pooler = Pooler::read(&arch, family, &weights)?;
            (exec::open(&arch, params, device, dtype)?, pooler, ignored)
        };
        let mut remarks = files.remarks(&file);
        remarks.extend(tokenizer.iter().flat_map(|t| t.notices().to_vec()));
        remarks.extend(weights.remarks(wrapper.as_deref()));
        drop(weights);
        let card = files.text("card.json")?.and_then(|t| serde_json::from_str(&t).ok());
        Ok(Model {
            name: source.to_string(),
            executor,
            untied: ties && !arch.is_tied() && arch.head != arch::Head::None,
            arch,
            tokenizer,
            sentence: SentenceFiles::read(&files)?,
            pooler,
            card,
            ignored,
            remarks,
            unread_tokenizer: files.sentencepiece(),
            hash: identity(hash, dtype),
        })
    }

    /// Reads the architecture from a source's `config.json`, for lists, without loading weights or downloading. Only the weights show
    /// whether a head is present.
    ///
    /// # Errors
    /// Same as [`Model::load`] for the configuration; [`ModelError::Hub`] for a model that is not cached.
    pub fn describe(source: &ModelSource) -> Result<Arch> {
        if let ModelSource::Vectors(address) = source {
            // The number of words is known only after reading the file.
            let vectors = StaticVectors::read(address)?;
            return Ok(Arch::table(vectors.len() + 1, vectors.width()));
        }
        let files = Files::at_hand(source)?;
        let config = files.config()?;
        Ok(ConfigFile::parse(&format!("{}/config.json", files.label()), &config)?.describe()?.1)
    }

    /// Creates a model from parts in memory, in f32.
    pub fn from_params(
        name: &str,
        arch: Arch,
        params: Params,
        tokenizer: Option<Tokenizer>,
        device: Device,
    ) -> Result<Model> {
        Model::from_params_with(name, arch, params, tokenizer, (device, Dtype::F32))
    }

    /// Creates a model from parts in memory in any [`Dtype`].
    pub(crate) fn from_params_with(
        name: &str,
        arch: Arch,
        params: Params,
        tokenizer: Option<Tokenizer>,
        (device, dtype): (Device, Dtype),
    ) -> Result<Model> {
        arch.validate().map_err(|what| ModelError::Config { file: name.to_owned(), what })?;
        let tokenizer = tokenizer.map(|t| t.for_model(&arch));
        let mut hash = Sha256::new();
        params.hash_into(&mut hash);
        hash.update(tokenizer.as_ref().map_or([0; 32], Tokenizer::digest));
        Ok(Model {
            name: name.to_owned(),
            executor: exec::open(&arch, params, device, dtype)?,
            arch,
            tokenizer,
            sentence: SentenceFiles::default(),
            pooler: None,
            card: None,
            ignored: Vec::new(),
            remarks: Vec::new(),
            unread_tokenizer: None,
            untied: false,
            hash: identity(hash, dtype),
        })
    }

    /// Runs a plan on a batch.
    ///
    /// # Errors
    /// - [`ModelError::Plan`], [`ModelError::NoHead`], [`ModelError::TooLong`], [`ModelError::TokenId`] for invalid requests;
    /// - [`ModelError::MissingGradient`], [`ModelError::Compute`] from the executor.
    pub fn forward(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        batch.check(&self.arch)?;
        plan.check(&self.name, &self.arch, batch)?;
        self.executor.run(batch, plan)
    }

    /// Encodes texts into a batch, with the tokenizer's special tokens.
    ///
    /// # Errors
    /// [`ModelError::NoTokenizer`], [`ModelError::Empty`] (a text without tokens), [`ModelError::Config`].
    pub fn batch<S: AsRef<str>>(&self, texts: &[S]) -> Result<Batch> {
        let tokenizer = self.tokenizer()?;
        let ids: Vec<Vec<u32>> = texts.iter().map(|t| tokenizer.ids(t.as_ref())).collect::<Result<_>>()?;
        Batch::new(&ids, tokenizer.pad_id())
    }

    /// Name or address under which the user requested the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn arch(&self) -> &Arch {
        &self.arch
    }

    /// Width D of the hidden states.
    pub fn embed_dim(&self) -> usize {
        self.arch.hidden
    }

    /// Number of blocks L.
    pub fn layers(&self) -> usize {
        self.arch.layers
    }

    /// Number of blocks between input and head, including a decoder's: see [`Arch::depth`].
    pub fn depth(&self) -> usize {
        self.arch.depth()
    }

    /// True if block `layer` (from 1) is followed only by the head and a pass can be resumed there. False in a decoder, where passes cannot
    /// be resumed.
    pub fn ends_at(&self, layer: usize) -> bool {
        layer == self.arch.layers && self.arch.decoder.is_none()
    }

    /// True if the model can predict tokens.
    pub fn has_head(&self) -> bool {
        self.arch.head != arch::Head::None
    }

    pub fn tokenizer(&self) -> Result<&Tokenizer> {
        self.tokenizer.as_ref().ok_or_else(|| {
            let hint = match self.unread_tokenizer {
                Some(file) => format!(
                    "{file} is a SentencePiece model, which is not supported; write tokenizer.json with transformers: \
                     `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`"
                ),
                None => "add tokenizer.json (or vocab.txt, or vocab.json and merges.txt)".into(),
            };
            ModelError::NoTokenizer { model: self.name.clone(), hint }
        })
    }

    /// Pooling of sentence vectors, if the folder specifies one.
    pub fn pooling(&self) -> Option<Pooling> {
        self.sentence.pooling
    }

    /// Contents of `card.json`, if present.
    pub fn card(&self) -> Option<&Value> {
        self.card.as_ref()
    }

    /// Conflicts between the weights and `config.json`, and how each was resolved. The model runs, but the user must be informed.
    pub fn notices(&self) -> Vec<Problem> {
        let mut notices = Vec::new();
        let mut add = |what: String, hint: &str| notices.push(Problem::new(&what, &self.name, hint));
        if let Some(first) = self.ignored.first() {
            let what = format!(
                "{} stored tensors are not used ('{}' is the first): config.json describes a smaller network than the weights",
                self.ignored.len(),
                base::text::shortened(first, 80)
            );
            add(what, "correct config.json, or interpret the results as those of the smaller network");
        }
        if self.untied {
            let what = "config.json ties the output matrix to the word embeddings, but the weights contain a different matrix, which is used";
            add(
                what.into(),
                "if it was trained, set `tie_word_embeddings` to false in config.json; otherwise remove it from the \
                 weights",
            );
        }
        self.remarks.iter().for_each(|(what, hint)| add(what.clone(), hint));
        if let Some((file, what)) = &self.sentence.unsupported {
            add(format!("no sentence vectors by default: {file}: {what}"), "choose a pooling in the settings");
        }
        notices
    }

    /// Identity of the model in caches and records: the hexadecimal SHA-256 of weights, configuration, tokenizer, and dtype (unless it is
    /// f32).
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Working memory in bytes of a pass that reads hidden states at a few positions, for a batch of `tokens` tokens (padding included) in
    /// texts of at most `longest`.
    pub fn pass_bytes(&self, tokens: usize, longest: usize) -> usize {
        self.executor.pass_bytes(tokens, longest)
    }

    /// Bytes of parameters and working memory currently allocated by the executor.
    pub fn bytes(&self) -> usize {
        self.executor.bytes()
    }

    /// Device, followed by the dtype unless it is f32: `cpu`, `cpu bf16`.
    pub fn device(&self) -> String {
        match self.dtype() {
            Dtype::F32 => self.executor.device(),
            other => format!("{} {other}", self.executor.device()),
        }
    }

    pub fn dtype(&self) -> Dtype {
        self.executor.dtype()
    }
}

/// Finishes the hash that identifies a model. Rounding changes the weights, so the dtype changes the hash.
fn identity(mut hash: Sha256, dtype: Dtype) -> String {
    if dtype != Dtype::F32 {
        hash.update(dtype.to_string());
    }
    hex(&hash.finalize())
}

//! Sources of models: built-in, a folder, a hub id, a file of word vectors, or an untrained twin of one of these.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::builtin::{self, BUILTINS, Builtin};
use super::error::{ModelError, Result};
use super::families::ConfigFile;
use super::hub::{self, OnTransfer, Settings};
use super::sentence::transformer_folder;
use super::static_vectors::Address;
use super::untrained;
use super::weights::{self, Checkpoint};
use base::text::last_part;

/// Returns a model's display name: for a folder, the last part of its path.
pub fn in_print(name: &str) -> &str {
    let is_path = name.starts_with(['/', '.', '~']) || name.starts_with("dir:") || name.contains('\\');
    let last = last_part(name);
    if is_path && !last.is_empty() { last } else { name }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ModelSource {
    /// Name of a built-in model.
    Builtin(String),
    /// Folder in Hugging Face layout.
    Dir(PathBuf),
    /// Hub id, `name` or `organisation/name`, with a revision.
    Hub {
        id: String,
        /// Branch, tag or commit given after `@`; default `main`.
        revision: String,
    },
    /// Word vectors in a text file: `glove:PATH`, `word2vec:PATH`, with the options of [`Address`].
    Vectors(Address),
    /// Same architecture with random parameters: `untrained:MODEL`, `untrained:MODEL#SEED`, `MODEL#untrained-SEED`.
    Untrained {
        /// Model whose architecture and tokenizer are used.
        of: Box<ModelSource>,
        seed: u64,
    },
}

impl FromStr for ModelSource {
    type Err = ModelError;

    /// Parses a built-in name, else an existing folder or anything that looks like a path (`./x`, `/x`, `~/x`), else a hub id
    /// (`org/name@revision`). The prefixes `builtin:`, `dir:`, `hub:` and `glove:` override this order. A `.txt` or `.vec` file is treated
    /// as word vectors.
    fn from_str(s: &str) -> Result<ModelSource> {
        if let Some((of, seed)) = untrained::parse(s)? {
            if untrained::parse(of)?.is_some() {
                let what = "`untrained:` cannot be applied to a model that is already untrained".to_owned();
                let file = of.chars().take(200).collect::<String>().escape_debug().to_string();
                return Err(ModelError::Config { file, what });
            }
            return Ok(ModelSource::Untrained { of: Box::new(of.parse()?), seed });
        }
        if let Some(path) = s.strip_prefix("glove:").or_else(|| s.strip_prefix("word2vec:")) {
            return Address::parse(path, expand).map(ModelSource::Vectors);
        }
        if let Some(name) = s.strip_prefix("builtin:") {
            return Ok(ModelSource::Builtin(name.to_owned()));
        }
        if let Some(path) = s.strip_prefix("dir:") {
            return Ok(ModelSource::Dir(model_path(expand(path))));
        }
        let id = s.strip_prefix("hub:");
        if id.is_none() {
            if builtin::find(s).is_some() {
                return Ok(ModelSource::Builtin(s.to_owned()));
            }
            if Address::is_likely(&expand(s)) {
                return Ok(ModelSource::Vectors(Address { path: expand(s), ..Address::default() }));
            }
            let looks_like_path = s.starts_with(['/', '.', '~']) || s.ends_with('/') || s.contains('\\');
            if looks_like_path || Path::new(s).is_dir() || is_model_file(Path::new(s)) {
                return Ok(ModelSource::Dir(model_path(expand(s))));
            }
        }
        let id = id.unwrap_or(s);
        let (id, revision) = id.split_once('@').unwrap_or((id, "main"));
        hub::check_id(id, revision)?;
        Ok(ModelSource::Hub { id: id.to_owned(), revision: revision.to_owned() })
    }
}

impl ModelSource {
    /// Returns the canonical address, which is the same for all spellings: the real path of a folder or file, or the snapshot folder of a
    /// cached hub id.
    pub fn canonical(self) -> Self {
        self.canonical_in(&Settings::of_process())
    }

    /// Like [`canonical`](Self::canonical), with the given settings of the hub cache.
    fn canonical_in(self, settings: &Settings) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        match self {
            ModelSource::Dir(path) => ModelSource::Dir(real(path)),
            ModelSource::Vectors(address) => {
                ModelSource::Vectors(Address { path: real(address.path.clone()), ..address })
            }
            ModelSource::Untrained { of, seed } => {
                ModelSource::Untrained { of: Box::new(of.canonical_in(settings)), seed }
            }
            ModelSource::Hub { id, revision } => match hub::cached_model(&id, &revision, settings) {
                Ok(snapshot) => ModelSource::Dir(real(snapshot)),
                Err(_) => ModelSource::Hub { id, revision },
            },
            builtin @ ModelSource::Builtin(_) => builtin,
        }
    }
}

/// True for a file that identifies its folder as a model.
fn is_model_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    (name == "config.json" || name == INDEX || name.ends_with(".safetensors")) && path.is_file()
}

/// Returns the folder of a model file, or the file itself if it is not the folder's main weights.
fn model_path(path: PathBuf) -> PathBuf {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let other = name.ends_with(".safetensors") && name != "model.safetensors" && !is_shard(name);
    if is_model_file(&path) && !other { folder_of(&path) } else { path }
}

/// True for names such as `model-00001-of-00002.safetensors`.
fn is_shard(name: &str) -> bool {
    name.strip_suffix(".safetensors").is_some_and(|stem| {
        let parts: Vec<&str> = stem.rsplitn(4, '-').collect();
        matches!(parts[..], [of, "of", ..] if of.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(dir) if dir != Path::new("") => dir.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Replaces `~/` at the start of a path with the home folder.
pub fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), base::folders::home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelSource::Builtin(name) => write!(f, "{name}"),
            ModelSource::Dir(path) => write!(f, "{}", path.display()),
            ModelSource::Hub { id, revision } if revision == "main" => write!(f, "{id}"),
            ModelSource::Hub { id, revision } => write!(f, "{id}@{revision}"),
            ModelSource::Vectors(address) => write!(f, "{address}"),
            ModelSource::Untrained { of, seed: 0 } => write!(f, "untrained:{of}"),
            ModelSource::Untrained { of, seed } => write!(f, "untrained:{of}#{seed}"),
        }
    }
}

/// Location of a model's files.
pub enum Files {
    Builtin(&'static Builtin),
    /// A folder.
    Dir(PathBuf),
    /// A weights file with a name other than `model.safetensors`, with config and tokenizer in the same folder.
    Beside(PathBuf),
}

impl Files {
    /// Locates the files of a source; a hub id may be downloaded, with progress reported to `on`.
    pub fn open(source: &ModelSource, on: &mut OnTransfer<'_>) -> Result<Files> {
        match source {
            ModelSource::Builtin(name) => builtin::find(name).map(Files::Builtin).ok_or_else(|| {
                let known: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
                ModelError::MissingFile {
                    place: "built-in models".into(),
                    file: format!("model '{}'", name.escape_debug()),
                    hint: format!("there are: {}", known.join(", ")),
                }
            }),
            ModelSource::Dir(path) if path.is_dir() => {
                Ok(Files::Dir(transformer_folder(path).unwrap_or_else(|| path.clone())))
            }
            ModelSource::Dir(path) if path.extension().is_some_and(|e| e == "safetensors") && path.is_file() => {
                Ok(Files::Beside(path.clone()))
            }
            ModelSource::Dir(path) => Err(ModelError::MissingFile {
                place: path.display().to_string(),
                file: "such folder".into(),
                hint: match path.is_file() {
                    true => "this kind of file is not supported; give config.json, a .safetensors file or their folder",
                    false => "give a folder with config.json, model.safetensors and a tokenizer",
                }
                .into(),
            }),
            ModelSource::Hub { id, revision } => {
                hub::resolve(id, revision, &Settings::of_process(), on).map(Files::Dir)
            }
            ModelSource::Untrained { of, .. } => Files::open(of, on),
            ModelSource::Vectors(address) => Err(ModelError::MissingFile {
                place: address.path.display().to_string(),
                file: "config.json".into(),
                hint: "word vectors are one text file, not a folder".into(),
            }),
        }
    }

    /// Locates the files of a source without the network; a hub id must be cached.
    pub fn at_hand(source: &ModelSource) -> Result<Files> {
        match source {
            ModelSource::Hub { id, revision } => {
                hub::cached_model(id, revision, &Settings::of_process()).map(Files::Dir)
            }
            other => Files::open(other, &mut |_| Ok(())),
        }
    }

    /// Name of the location in errors.
    pub fn label(&self) -> String {
        match self {
            Files::Builtin(b) => b.name.to_owned(),
            Files::Dir(path) => path.display().to_string(),
            Files::Beside(file) => folder_of(file).display().to_string(),
        }
    }

    pub fn folder(&self) -> Option<PathBuf> {
        match self {
            Files::Builtin(_) => None,
            Files::Dir(path) => Some(path.clone()),
            Files::Beside(file) => Some(folder_of(file)),
        }
    }

    /// Reads a file; `None` if it does not exist.
    pub fn read(&self, name: &str) -> Result<Option<Cow<'static, [u8]>>> {
        match self {
            Files::Builtin(b) => {
                let packed = match name {
                    "config.json" => return Ok(Some(Cow::Borrowed(b.config))),
                    "tokenizer.json" => b.tokenizer,
                    "card.json" => b.card,
                    _ => return Ok(None),
                };
                let path = Path::new(b.name).join(name);
                packed.bytes().map(|bytes| Some(Cow::Owned(bytes))).map_err(ModelError::io(&path))
            }
            Files::Beside(file) => Files::Dir(folder_of(file)).read(name),
            Files::Dir(dir) => {
                let path = dir.join(name);
                if regular(&path)?.is_none() {
                    return Ok(None);
                }
                let most = if LONG.contains(&name) { LARGEST_TEXT } else { LARGEST_CONFIG };
                let mut bytes = base::read::bytes(&path, most).map_err(ModelError::io(&path))?;
                if bytes.starts_with(BYTE_ORDER_MARK) {
                    bytes.drain(..BYTE_ORDER_MARK.len());
                }
                Ok(Some(Cow::Owned(bytes)))
            }
        }
    }

    /// Reads a text file; `None` if it does not exist.
    ///
    /// # Errors
    /// [`ModelError::Io`]; [`ModelError::Config`] if it is not UTF-8.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let wrong = |_| ModelError::Config { file: format!("{}/{name}", self.label()), what: "not UTF-8 text".into() };
        self.read(name)?.map(|b| String::from_utf8(b.into_owned()).map_err(wrong)).transpose()
    }

    /// Opens the weights, in one file or in shards.
    ///
    /// # Errors
    /// [`ModelError::MissingFile`], with a conversion hint if there are only pickled weights; [`ModelError::Weights`].
    pub fn weights(&self) -> Result<Checkpoint> {
        let dir = match self {
            Files::Builtin(b) => {
                return Checkpoint::from_bytes(&format!("{}/model.safetensors", b.name), b.weights);
            }
            Files::Beside(file) => return Checkpoint::open(&[file]),
            Files::Dir(dir) => dir,
        };
        let single = dir.join("model.safetensors");
        if regular(&single)?.is_some() {
            return Checkpoint::open(&[single]);
        }
        if let Some(index) = self.text(INDEX)? {
            let label = dir.join(INDEX).display().to_string();
            let names = weights::shards(&label, &index, ".safetensors")?;
            let paths: Vec<PathBuf> = names.iter().map(|n| dir.join(n)).collect();
            for (name, path) in names.iter().zip(&paths) {
                if regular(path)?.is_none() {
                    return Err(self.missing(name, &format!("{INDEX} lists it; download it")));
                }
            }
            return Ok(Checkpoint::open(&paths)?.labelled(&label));
        }
        if let Some(names) = shards_without_index(dir) {
            let absent = names.iter().find(|n| !dir.join(n).is_file());
            return match absent {
                Some(name) => Err(self.missing(name, "the other parts of the checkpoint exist; fetch this one too")),
                None => Checkpoint::open(&names.iter().map(|n| dir.join(n)).collect::<Vec<_>>()),
            };
        }
        let pickled = dir.join("pytorch_model.bin").is_file() || dir.join("pytorch_model.bin.index.json").is_file();
        let hint = if pickled { PICKLED.to_owned() } else { nearby::hint(dir) };
        Err(self.missing("model.safetensors", &hint))
    }

    /// Reads `config.json`.
    ///
    /// # Errors
    /// [`ModelError::MissingFile`], with what the folder contains instead; errors of [`Files::text`].
    pub(super) fn config(&self) -> Result<String> {
        const NAME: &str = "config.json";
        self.text(NAME)?
            .ok_or_else(|| self.missing(NAME, &self.folder().map_or_else(String::new, |dir| nearby::hint(&dir))))
    }

    /// Returns the name of a SentencePiece file, if there is one.
    pub(super) fn sentencepiece(&self) -> Option<&'static str> {
        let folder = self.folder()?;
        nearby::SENTENCEPIECE.into_iter().find(|name| folder.join(name).is_file())
    }

    /// Returns notices about parts of the folder that are not applied, each with its remedy.
    pub(super) fn remarks(&self, config: &ConfigFile) -> Vec<(String, String)> {
        let mut remarks = Vec::new();
        if config.is_quantized() {
            let what = "config.json has a quantization_config, which is not applied: the weights are used as stored";
            remarks.push((what.into(), "remove it, or interpret the results as those of the unquantized model".into()));
        }
        if self.folder().is_some_and(|dir| dir.join("adapter_config.json").is_file()) {
            let what = "the folder contains a PEFT adapter (adapter_config.json), which is not applied";
            remarks.push((
                what.into(),
                "merge it with `merge_and_unload` in PEFT and save the model, or remove it".into(),
            ));
        }
        remarks
    }

    pub fn missing(&self, file: &str, hint: &str) -> ModelError {
        ModelError::MissingFile { place: self.label(), file: file.to_owned(), hint: hint.to_owned() }
    }
}

/// Names of all shards of a checkpoint without an index, derived from the name of one shard.
fn shards_without_index(dir: &Path) -> Option<Vec<String>> {
    let mut names = std::fs::read_dir(dir).ok()?.flatten().filter_map(|e| e.file_name().into_string().ok());
    let name = names.find(|n| is_shard(n))?;
    let (stem, count) = name.strip_suffix(".safetensors")?.rsplit_once("-of-")?;
    let (stem, _) = stem.rsplit_once('-')?;
    let most: usize = count.parse().ok().filter(|n| *n <= MOST_SHARDS)?;
    Some((1..=most).map(|i| format!("{stem}-{i:0width$}-of-{count}.safetensors", width = count.len())).collect())
}

/// Maximum number of shards read without an index.
const MOST_SHARDS: usize = 10_000;

/// Hint for models with only pickled weights.
pub(super) const PICKLED: &str = "only pytorch_model.bin was found, a pickle, which can run code and is not loaded; \
    `probity models convert FOLDER -o NEW_FOLDER` converts it to safetensors without running its code";

/// Mark that Windows editors write before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Maximum size of a tokenizer or vocabulary.
pub(super) const LARGEST_TEXT: u64 = 256 << 20;

/// Maximum size of any other text.
const LARGEST_CONFIG: u64 = 16 << 20;

/// Names of files that grow with the vocabulary, the weights or the texts.
const LONG: [&str; 6] = ["tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", INDEX, "expected.json"];

/// Index of a sharded checkpoint.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// Returns the length of a regular file; `None` if nothing exists.
///
/// # Errors
/// [`ModelError::Io`] for unusable entries: a broken or circular link, a folder, a pipe.
pub(super) fn regular(path: &Path) -> Result<Option<u64>> {
    use std::io::{Error, ErrorKind};
    let unusable = |what: &str| Err(ModelError::io(path)(Error::other(what.to_owned())));
    match std::fs::metadata(path) {
        // Reading a pipe or device would block forever.
        Ok(about) if !about.is_file() => unusable("not a regular file; put the file itself there"),
        Ok(about) => Ok(Some(about.len())),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if std::fs::symlink_metadata(path).is_ok() {
                return unusable("a link to a missing file; fetch the model again");
            }
            Ok(None)
        }
        Err(e) => Err(ModelError::io(path)(e)),
    }
}

/// Reads a regular file within the size limit; `None` for anything else.
pub(super) fn plain_text(path: &Path) -> Option<String> {
    base::read::text(path, LARGEST_TEXT).ok()
}

mod nearby;

#[cfg(test)]
mod tests {
    use super::{ModelSource, Settings, in_print};

    /// Regression: a hub id and its cached snapshot used to count as two models, which were both computed and then compared with each
    /// other.
    #[test]
    fn hub_id_equals_its_cached_snapshot() {
        let cache = tempfile::tempdir().unwrap();
        let home = cache.path().to_str().unwrap();
        let settings = Settings::from(|name| (name == "HF_HUB_CACHE").then(|| home.to_owned()));
        let root = cache.path().join("models--org--m");
        let snapshot = root.join("snapshots/abc123");
        std::fs::create_dir_all(&snapshot).unwrap();
        std::fs::create_dir_all(root.join("refs")).unwrap();
        std::fs::write(root.join("refs/main"), "abc123\n").unwrap();
        let same = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|m| m.parse::<ModelSource>().unwrap().canonical_in(&settings));
            a == b
        };
        let folder = snapshot.to_str().unwrap();
        assert!(!same("org/m", folder), "an incomplete snapshot is not used");
        std::fs::write(snapshot.join("config.json"), "{}").unwrap();
        std::fs::write(snapshot.join("model.safetensors"), "").unwrap();
        assert!(same("org/m", folder) && same("hub:org/m@abc123", "org/m"));
        assert!(same("untrained:org/m", &format!("untrained:{folder}")));
        assert!(!same("org/m", "org/n") && !same("org/m", "org/m@other"));
    }

    #[test]
    fn folder_names_are_shortened_for_display() {
        for (model, short) in [
            ("bert-mini", "bert-mini"),
            ("/home/x/my-bert/", "my-bert"),
            ("./a/b", "b"),
            ("org/name", "org/name"),
            ("/", "/"),
            ("C:\\models\\bert", "bert"),
        ] {
            assert_eq!(in_print(model), short);
        }
    }
}

//! Hub ids, resolved through the standard cache; complete cached models need no network.
//!
//! hf-hub provides the cache layout, the URLs and the response format of the hub. This module adds:
//! - offline resolution: hf-hub has no offline switch and does not name the missing file;
//! - settings: hf-hub uses only `HF_HOME` and `HF_ENDPOINT`;
//! - downloads (`fetch`, `http`): those of hf-hub cannot be cancelled, do not time out and verify no hash.

mod fetch;
mod http;
mod store;

use std::path::{Path, PathBuf};

pub use self::http::Timeouts;

use super::error::{ModelError, Result};
use super::source::{INDEX, plain_text};
use super::weights;
use base::Cancelled;

/// Files of a model that are downloaded if the hub has them.
const WANTED: [&str; 10] = [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "modules.json",
    "1_Pooling/config.json",
    INDEX,
];

/// Settings from the usual environment variables of Hugging Face clients.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Cache folder: `HF_HUB_CACHE`, else `HUGGINGFACE_HUB_CACHE`, else `$HF_HOME/hub`, else `$XDG_CACHE_HOME/huggingface/hub`, else
    /// `~/.cache/huggingface/hub`.
    pub cache: PathBuf,
    /// True if `HF_HUB_OFFLINE` (or `TRANSFORMERS_OFFLINE`) is 1, ON, YES or TRUE.
    pub offline: bool,
    /// The value of `HF_ENDPOINT`.
    pub endpoint: Option<String>,
    /// The value of `HF_TOKEN`, else the contents of the file `HF_TOKEN_PATH`, else of `$HF_HOME/token`; none if
    /// `HF_HUB_DISABLE_IMPLICIT_TOKEN` is set.
    pub token: Option<String>,
    /// Time limits of downloads.
    pub(crate) patience: Timeouts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Requesting a file's metadata.
    Asking,
    /// Waiting for another process that downloads the same file.
    Waiting,
    /// Receiving data.
    Fetching,
    /// Computing the hash of the data received.
    Verifying,
}

/// Progress of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer<'a> {
    /// Hub id.
    pub model: &'a str,
    pub file: &'a str,
    pub step: Step,
    /// Bytes received, including earlier attempts.
    pub done: u64,
    /// Total bytes, if the hub states them.
    pub total: Option<u64>,
}

/// Called for every piece of data; `Err` stops the download and keeps the bytes received.
pub type OnTransfer<'a> = dyn FnMut(&Transfer<'_>) -> std::result::Result<(), Cancelled> + 'a;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    /// Hub id.
    pub id: String,
    /// Branch or tag.
    pub revision: String,
    /// Folder of the snapshot.
    pub dir: PathBuf,
}

impl std::fmt::Debug for Settings {
    /// Omits the token; also omits the endpoint, because it may contain a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("cache", &self.cache).field("offline", &self.offline).finish_non_exhaustive()
    }
}

impl Settings {
    /// Reads the settings from the process environment.
    pub fn of_process() -> Settings {
        Settings::from(|name| std::env::var(name).ok())
    }

    /// Reads the settings through `var`: the process environment, or a test's values.
    pub fn from(var: impl Fn(&str) -> Option<String>) -> Settings {
        let var = |name: &str| var(name).filter(|v| !v.is_empty());
        let truth = |name: &str| {
            var(name).is_some_and(|v| ["1", "ON", "YES", "TRUE"].contains(&v.to_ascii_uppercase().as_str()))
        };
        let home = var("HF_HOME").map(PathBuf::from).unwrap_or_else(|| {
            let cache = var("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache.or_else(|| base::folders::home().map(|h| h.join(".cache")));
            cache.unwrap_or_else(|| PathBuf::from(".cache")).join("huggingface")
        });
        let cache = var("HF_HUB_CACHE").or_else(|| var("HUGGINGFACE_HUB_CACHE")).map(PathBuf::from);
        let token_file = var("HF_TOKEN_PATH").map_or_else(|| home.join("token"), PathBuf::from);
        let implicit = || {
            let text = plain_text(&token_file)?;
            Some(text.trim().to_owned()).filter(|t| !t.is_empty())
        };
        Settings {
            cache: cache.unwrap_or_else(|| home.join("hub")),
            offline: truth("HF_HUB_OFFLINE") || truth("TRANSFORMERS_OFFLINE"),
            endpoint: var("HF_ENDPOINT"),
            token: var("HF_TOKEN").or_else(|| if truth("HF_HUB_DISABLE_IMPLICIT_TOKEN") { None } else { implicit() }),
            patience: Timeouts::default(),
        }
    }
}

/// Rejects ids and revisions that could escape the cache folder.
pub(super) fn check_id(id: &str, revision: &str) -> Result<()> {
    let plain = |s: &str| {
        !s.is_empty()
            && s.len() <= 96
            && !s.starts_with(['.', '-'])
            && !s.contains("..")
            && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    let parts: Vec<&str> = id.split('/').collect();
    if parts.len() > 2 || !parts.iter().all(|p| plain(p)) || !revision.split('/').all(plain) {
        return Err(ModelError::Hub {
            id: id.chars().take(80).collect::<String>().escape_debug().to_string(),
            what: "not a built-in model, a folder or a hub id (name or organisation/name, optionally with @revision)"
                .into(),
        });
    }
    Ok(())
}

/// Returns the snapshot folder of a model, downloading missing files.
///
/// # Errors
/// [`ModelError::Hub`] with what is missing or the hub's response, and the remedy; [`ModelError::Io`]; [`ModelError::Cancelled`].
pub fn resolve(id: &str, revision: &str, settings: &Settings, on: &mut OnTransfer<'_>) -> Result<PathBuf> {
    check_id(id, revision)?;
    let root = settings.cache.join(store::folder_name(id));
    let cached = cached_snapshot(&root, revision);
    let absent = match &cached {
        Some(dir) => match first_missing(dir) {
            None => return Ok(dir.clone()),
            Some(file) => dir.join(file),
        },
        None => root.join("refs").join(revision),
    };
    if settings.offline {
        return Err(offline(id, &format!("{} is missing from the cache", absent.display())));
    }
    fetch::fetch(id, revision, settings, on)
}

/// Requests the current commit of a revision and downloads missing files.
pub fn pull(id: &str, revision: &str, settings: &Settings, on: &mut OnTransfer<'_>) -> Result<PathBuf> {
    check_id(id, revision)?;
    if settings.offline {
        return Err(offline(id, "an update needs the network"));
    }
    fetch::fetch(id, revision, settings, on)
}

/// Returns the folder of a complete cached model.
pub(super) fn cached_model(id: &str, revision: &str, settings: &Settings) -> Result<PathBuf> {
    check_id(id, revision)?;
    let dir = cached_snapshot(&settings.cache.join(store::folder_name(id)), revision);
    dir.filter(|dir| first_missing(dir).is_none()).ok_or_else(|| ModelError::Hub {
        id: id.to_owned(),
        what: "not in the cache yet; it is downloaded on first use, or with `probity models pull`".into(),
    })
}

fn offline(id: &str, what: &str) -> ModelError {
    let what = format!("HF_HUB_OFFLINE is set, but {what}; unset it and download the model once");
    ModelError::Hub { id: id.to_owned(), what }
}

/// Returns all complete cached models with safetensors weights, sorted by name.
pub fn cached(settings: &Settings) -> Vec<Cached> {
    let list = |dir: &Path| -> Vec<(String, PathBuf)> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut named: Vec<_> = entries.filter_map(|e| Some((e.file_name().into_string().ok()?, e.path()))).collect();
        named.sort();
        named
    };
    let mut found = Vec::new();
    for (folder, root) in list(&settings.cache) {
        let Some(id) = folder.strip_prefix("models--").map(|id| id.replace("--", "/")) else { continue };
        for (revision, _) in list(&root.join("refs")) {
            if check_id(&id, &revision).is_err() {
                continue;
            }
            let snapshot = cached_snapshot(&root, &revision).filter(|dir| first_missing(dir).is_none());
            let Some(dir) = snapshot else { continue };
            if dir.join("model.safetensors").is_file() || dir.join(INDEX).is_file() {
                found.push(Cached { id: id.clone(), revision, dir });
            }
        }
    }
    found
}

fn cached_snapshot(root: &Path, revision: &str) -> Option<PathBuf> {
    let snapshots = root.join("snapshots");
    let direct = snapshots.join(revision);
    if direct.is_dir() {
        return Some(direct);
    }
    let commit = plain_text(&root.join("refs").join(revision))?;
    let commit = commit.trim();
    let sound = !commit.is_empty() && commit.bytes().all(|b| b.is_ascii_alphanumeric());
    Some(snapshots.join(commit)).filter(|dir| sound && dir.is_dir())
}

/// Returns the first missing file of a snapshot.
fn first_missing(dir: &Path) -> Option<String> {
    if !dir.join("config.json").is_file() {
        return Some("config.json".into());
    }
    if dir.join("model.safetensors").is_file() {
        return None;
    }
    // If there are only pickled weights, the loader suggests converting them.
    let Some(index) = plain_text(&dir.join(INDEX)) else {
        let pickled = dir.join("pytorch_model.bin").is_file();
        return (!pickled).then(|| "model.safetensors".into());
    };
    let names = weights::shards(INDEX, &index, ".safetensors").ok()?;
    names.into_iter().find(|n| !dir.join(n).is_file())
}

#[cfg(test)]
mod download_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;

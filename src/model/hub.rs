//! Hub ids through the standard cache: what is complete there is used without the network.

use std::path::{Path, PathBuf};

use hf_hub::api::sync::ApiBuilder;
use hf_hub::{Cache, Repo, RepoType};

use super::error::{ModelError, Result};
use super::source::INDEX;
use super::weights;

/// Files of a model that are fetched where the hub has them.
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

/// The settings that the ecosystem reads from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Folder of the cache: `HF_HUB_CACHE`, else `HUGGINGFACE_HUB_CACHE`, else `$HF_HOME/hub`, else
    /// `$XDG_CACHE_HOME/huggingface/hub`, else `~/.cache/huggingface/hub`.
    pub cache: PathBuf,
    /// `HF_HUB_OFFLINE` (or `TRANSFORMERS_OFFLINE`) is 1, ON, YES or TRUE.
    pub offline: bool,
    /// `HF_ENDPOINT`.
    pub endpoint: Option<String>,
    /// `HF_TOKEN`, else the file at `HF_TOKEN_PATH`, else `$HF_HOME/token`, unless `HF_HUB_DISABLE_IMPLICIT_TOKEN`.
    pub token: Option<String>,
}

impl Settings {
    /// Reads them through `var` (the process environment, or a test's).
    pub fn from(var: impl Fn(&str) -> Option<String>) -> Settings {
        let var = |name: &str| var(name).filter(|v| !v.is_empty());
        let truth = |name: &str| {
            var(name).is_some_and(|v| ["1", "ON", "YES", "TRUE"].contains(&v.to_ascii_uppercase().as_str()))
        };
        let home = var("HF_HOME").map(PathBuf::from).unwrap_or_else(|| {
            let cache = var("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache.or_else(|| dirs::home_dir().map(|h| h.join(".cache")));
            cache.unwrap_or_else(|| PathBuf::from(".cache")).join("huggingface")
        });
        let cache = var("HF_HUB_CACHE").or_else(|| var("HUGGINGFACE_HUB_CACHE")).map(PathBuf::from);
        let token_file = var("HF_TOKEN_PATH").map_or_else(|| home.join("token"), PathBuf::from);
        let implicit = || {
            let text = std::fs::read_to_string(token_file).ok()?;
            Some(text.trim().to_owned()).filter(|t| !t.is_empty())
        };
        Settings {
            cache: cache.unwrap_or_else(|| home.join("hub")),
            offline: truth("HF_HUB_OFFLINE") || truth("TRANSFORMERS_OFFLINE"),
            endpoint: var("HF_ENDPOINT"),
            token: var("HF_TOKEN")
                .or_else(|| if truth("HF_HUB_DISABLE_IMPLICIT_TOKEN") { None } else { implicit() }),
        }
    }
}

/// Refuses ids and revisions that could leave the cache folder.
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
            what: "no built-in model, no folder and no hub id (name or organisation/name, @revision)".into(),
        });
    }
    Ok(())
}

/// The folder of a model's snapshot, complete in the cache or fetched.
pub(super) fn snapshot(id: &str, revision: &str) -> Result<PathBuf> {
    resolve(id, revision, &Settings::from(|name| std::env::var(name).ok()))
}

/// See [`snapshot`].
pub(super) fn resolve(id: &str, revision: &str, settings: &Settings) -> Result<PathBuf> {
    check_id(id, revision)?;
    let repo = Repo::with_revision(id.to_owned(), RepoType::Model, revision.to_owned());
    let root = settings.cache.join(repo.folder_name());
    let cached = cached_snapshot(&root, revision);
    let absent = match &cached {
        Some(dir) => match first_missing(dir) {
            None => return Ok(dir.clone()),
            Some(file) => dir.join(file),
        },
        None => root.join("refs").join(revision),
    };
    if settings.offline {
        return Err(ModelError::Hub {
            id: id.to_owned(),
            what: format!(
                "HF_HUB_OFFLINE is set and {} is missing from the cache; fetch the model once without it",
                absent.display()
            ),
        });
    }
    fetch(id, repo, settings)
}

/// The snapshot that a revision points to, if the cache has it.
fn cached_snapshot(root: &Path, revision: &str) -> Option<PathBuf> {
    let snapshots = root.join("snapshots");
    let direct = snapshots.join(revision);
    if direct.is_dir() {
        return Some(direct);
    }
    let commit = std::fs::read_to_string(root.join("refs").join(revision)).ok()?;
    let commit = commit.trim();
    let sound = !commit.is_empty() && commit.bytes().all(|b| b.is_ascii_alphanumeric());
    Some(snapshots.join(commit)).filter(|dir| sound && dir.is_dir())
}

/// The first file that a snapshot needs and lacks.
fn first_missing(dir: &Path) -> Option<String> {
    if !dir.join("config.json").is_file() {
        return Some("config.json".into());
    }
    if dir.join("model.safetensors").is_file() {
        return None;
    }
    // Without safetensors but with pickled weights the loader gives its conversion hint.
    let Ok(index) = std::fs::read_to_string(dir.join(INDEX)) else {
        let pickled = dir.join("pytorch_model.bin").is_file();
        return (!pickled).then(|| "model.safetensors".into());
    };
    let names = weights::shards(INDEX, &index).ok()?;
    names.into_iter().find(|n| !dir.join(n).is_file())
}

/// Downloads what the hub has of a model.
fn fetch(id: &str, repo: Repo, settings: &Settings) -> Result<PathBuf> {
    let wrong = |e: &dyn std::fmt::Display| ModelError::Hub {
        id: id.to_owned(),
        what: format!("cannot fetch it: {}", e.to_string().escape_debug()),
    };
    let mut builder = ApiBuilder::from_cache(Cache::new(settings.cache.clone()))
        .with_progress(false)
        .with_retries(2)
        .with_token(settings.token.clone());
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    let api = builder.build().map_err(|e| wrong(&e))?.repo(repo);
    let info = api.info().map_err(|e| wrong(&e))?;
    let has = |name: &str| info.siblings.iter().any(|s| s.rfilename == name);
    let config = api.get("config.json").map_err(|e| wrong(&e))?;
    for name in WANTED.iter().filter(|n| has(n)) {
        api.get(name).map_err(|e| wrong(&e))?;
    }
    let dir = config.parent().map(Path::to_path_buf).ok_or_else(|| wrong(&"the cache has no folder"))?;
    if has("model.safetensors") {
        api.get("model.safetensors").map_err(|e| wrong(&e))?;
    } else if has(INDEX) {
        let path = dir.join(INDEX);
        let index = std::fs::read_to_string(&path).map_err(ModelError::io(&path))?;
        for shard in weights::shards(INDEX, &index)? {
            api.get(&shard).map_err(|e| wrong(&e))?;
        }
    } else {
        return Err(wrong(&"it has no safetensors weights, only pickled ones, which are not read"));
    }
    Ok(dir)
}

#[cfg(test)]
mod tests;

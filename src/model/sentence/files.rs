//! The files of sentence-transformers in a model folder.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{PoolOver, Pooling};
use crate::error::Result;
use crate::source;

/// Settings for sentence vectors in a folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// Pooling, if the folder specifies one that is supported.
    pub(crate) pooling: Option<Pooling>,
    /// File and reason, if it specifies one that is not supported.
    pub(crate) unsupported: Option<(String, String)>,
    /// Maximum number of tokens per text.
    pub(crate) longest: Option<usize>,
}

/// Names of the file with the settings of the transformer; older releases name it after the model.
pub(crate) const SETTINGS: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// Name of the list of modules.
const MODULES: &str = "modules.json";

/// Returns the folder of the transformer if `modules.json` places it in a subfolder of `folder`.
pub(crate) fn transformer_folder(folder: &Path) -> Option<PathBuf> {
    let modules = modules(folder).ok()??;
    let path = modules.iter().find(|m| m.0 == "Transformer").map(|m| m.1.as_str())?;
    let inner = folder.join(path);
    (is_below(path) && !folder.join("config.json").exists() && inner.join("config.json").is_file()).then_some(inner)
}

/// True for a path that does not leave the folder.
fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|c| matches!(c, std::path::Component::Normal(_)))
}

/// Returns type and path of each module.
fn modules(folder: &Path) -> std::result::Result<Option<Vec<(String, String)>>, String> {
    let Some(text) = source::plain_text(&folder.join(MODULES)) else { return Ok(None) };
    let modules: Vec<Value> = serde_json::from_str(&text).map_err(|e| format!("not a valid list of modules: {e}"))?;
    let field = |m: &Value, key: &str| m.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let kind = |m: &Value| field(m, "type").rsplit('.').next().unwrap_or("").to_owned();
    Ok(Some(modules.iter().map(|m| (kind(m), field(m, "path"))).collect()))
}

impl Files {
    /// Parses the files of a model's folder, or of its parent folder if the parent lists this folder as its transformer.
    pub(crate) fn read(files: &source::Files) -> Result<Files> {
        let Some(own) = files.folder() else { return Ok(Files::default()) };
        let above = own.parent().filter(|above| transformer_folder(above).as_deref() == Some(&own));
        let root = above.map_or_else(|| own.clone(), Path::to_owned);
        let mut found = Files::default();
        for name in SETTINGS {
            let settings = files.text(name)?.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            let longest =
                settings.and_then(|s| s.get("max_seq_length")?.as_u64()).and_then(|n| usize::try_from(n).ok());
            found.longest = found.longest.or(longest.filter(|n| *n > 0));
        }
        match pooling(&root) {
            Ok(pooling) => found.pooling = pooling,
            Err((name, what)) => {
                let file = root.join(name).display().to_string();
                let what =
                    format!("{what}; choose a pooling (mean, max, first token or last token), or read hidden states");
                found.unsupported = Some((file, what));
            }
        }
        Ok(found)
    }
}

/// Parses the pooling; on failure, returns the file and the reason.
fn pooling(root: &Path) -> std::result::Result<Option<Pooling>, (String, String)> {
    let modules = modules(root).map_err(|what| (MODULES.to_owned(), what))?;
    let (mut folder, mut normalise, listed) = ("1_Pooling".to_owned(), false, modules.is_some());
    if let Some(modules) = modules {
        let Some(at) = modules.iter().position(|m| m.0 == "Pooling") else { return Ok(None) };
        folder.clone_from(&modules[at].1);
        for (i, (kind, _)) in modules.iter().enumerate() {
            match kind.as_str() {
                "Transformer" | "Pooling" => {}
                "Normalize" if i > at => normalise = true,
                _ => {
                    let kind: String = kind.chars().take(80).collect();
                    let what = format!("module '{}' is not supported for sentence vectors", kind.escape_debug());
                    return Err((MODULES.to_owned(), what));
                }
            }
        }
        if !is_below(&folder) {
            return Err((MODULES.to_owned(), "the path of the Pooling module is not a subfolder".into()));
        }
    }
    let name = format!("{folder}/config.json");
    let path = root.join(&name);
    let Some(text) = source::plain_text(&path) else {
        let absent = !listed && !path.exists();
        return if absent { Ok(None) } else { Err((name, "cannot be read".into())) };
    };
    let config: Value = serde_json::from_str(&text).map_err(|e| (name.clone(), format!("not valid JSON: {e}")))?;
    let over = pool_over(&config).map_err(|what| (name, what))?;
    Ok(Some(Pooling { over, normalise }))
}

/// Parses the pooling mode as any release writes it: under `pooling_mode`, or as one switch for each mode.
fn pool_over(config: &Value) -> std::result::Result<PoolOver, String> {
    let known = [
        ("mean", "pooling_mode_mean_tokens", Some(PoolOver::Mean)),
        ("cls", "pooling_mode_cls_token", Some(PoolOver::First)),
        ("max", "pooling_mode_max_tokens", Some(PoolOver::Max)),
        ("lasttoken", "pooling_mode_lasttoken", Some(PoolOver::Last)),
        ("mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", None),
        ("weightedmean", "pooling_mode_weightedmean_tokens", None),
    ];
    let mode = config.get("pooling_mode");
    let on = |name: &str, key: &str| match mode {
        Some(Value::String(mode)) => mode == name,
        Some(Value::Array(modes)) => modes.iter().any(|m| m == name),
        // The mean is on by default.
        _ => config.get(key).and_then(Value::as_bool).unwrap_or(name == "mean"),
    };
    let chosen: Vec<_> = known.iter().filter(|(name, key, _)| on(name, key)).collect();
    match chosen[..] {
        [(_, _, Some(over))] => Ok(*over),
        [(name, ..)] => Err(format!("pooling '{name}' is not supported")),
        [] => Err("no supported pooling is set".into()),
        _ => {
            let names: Vec<&str> = chosen.iter().map(|c| c.0).collect();
            Err(format!("a concatenation of several poolings ({}) is not supported", names.join(", ")))
        }
    }
}

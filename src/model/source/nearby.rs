//! Describes the contents of a folder that lacks a model's main files, for error messages.

use std::path::Path;

use base::text::shortened;

/// Names of SentencePiece files.
pub(super) const SENTENCEPIECE: [&str; 4] = ["tokenizer.model", "sentencepiece.bpe.model", "spiece.model", "spm.model"];

/// Maximum number of entries to examine.
const MOST: usize = 10_000;

/// Describes the contents of a folder in which a main file is missing, with the remedy.
pub(super) fn hint(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().take(MOST);
    let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    let ends = |end: &str| names.iter().find(|n| n.ends_with(end));
    let shown = |name: &str| shortened(name, 80);
    if names.iter().any(|n| n == "adapter_config.json") {
        return "the folder contains a PEFT adapter; merge it into its base model with `merge_and_unload` in PEFT"
            .into();
    }
    if let Some(other) = ends(".safetensors") {
        return format!("the folder contains {}; give the path of that file, or rename it", shown(other));
    }
    let foreign = [
        (
            ".h5",
            "TensorFlow weights; convert them with transformers 4: `from_pretrained(FOLDER, from_tf=True)`, then `save_pretrained`",
        ),
        (
            ".msgpack",
            "Flax weights; convert them with transformers 4: `from_pretrained(FOLDER, from_flax=True)`, then `save_pretrained`",
        ),
        (".gguf", "GGUF weights, which are not supported; fetch the model in safetensors format"),
        (".onnx", "an ONNX graph, which is not supported; fetch the model in safetensors format"),
        ("onnx", "an ONNX graph, which is not supported; fetch the model in safetensors format"),
        (".pt", "pickled weights; convert them with `probity models convert`"),
        (".pth", "pickled weights; convert them with `probity models convert`"),
        (".ckpt", "pickled weights; convert them with `probity models convert`"),
        (".bin", "pickled weights; convert them with `probity models convert`"),
    ];
    for (end, what) in foreign {
        if let Some(name) = ends(end) {
            return format!("the folder contains {}: {what}", shown(name));
        }
    }
    match model_below(dir, &names) {
        Some(below) => format!("the folder contains a model in {}; give that folder", shown(&below)),
        None => "a model folder contains config.json, model.safetensors and a tokenizer".into(),
    }
}

/// Returns a subfolder that contains a `config.json`: a checkpoint of a training run, or a snapshot in a hub cache.
fn model_below(dir: &Path, names: &[String]) -> Option<String> {
    let is_model = |path: &str| dir.join(path).join("config.json").is_file();
    // The checkpoint with the largest number of steps comes first.
    let steps = |name: &&String| name.rsplit_once('-').and_then(|(_, n)| n.parse::<u64>().ok()).unwrap_or(0);
    if let Some(name) = names.iter().filter(|n| is_model(n)).max_by_key(steps) {
        return Some(name.clone());
    }
    let snapshot = |cached: &str| {
        let folder = Path::new(cached).join("snapshots");
        let snapshots = std::fs::read_dir(dir.join(&folder)).ok()?.flatten().take(MOST);
        let names = snapshots.filter_map(|e| e.file_name().into_string().ok());
        names.map(|name| folder.join(name).display().to_string()).find(|path| is_model(path))
    };
    let cached = names.iter().filter(|n| n.starts_with("models--")).map(String::as_str);
    cached.chain([""]).find_map(snapshot)
}

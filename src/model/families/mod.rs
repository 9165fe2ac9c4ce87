//! Model families. Each file converts a `config.json` to an [`Arch`] and lists the tensor names of its checkpoints.
//!
//! To add a family, add a file with a `FAMILY` and a line in [`FAMILIES`]; for a family with logits only, see [`served`].

mod albert;
mod bart;
mod bert;
pub(super) mod bilstm;
mod distilbert;
mod electra;
mod ernie;
mod gpt2;
mod gpt_neox;
mod llama;
mod roberta;
mod rotary;
pub(crate) mod served;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::arch::{Activation, Arch};
use super::error::{ModelError, Result};
use super::params::{Layout, Location, Rows};
use super::weights::Checkpoint;

/// All families whose blocks can be read, edited and differentiated. Families in [`served`] provide only logits.
pub const FAMILIES: &[Family] = &[
    bert::FAMILY,
    roberta::FAMILY,
    ernie::FAMILY,
    distilbert::FAMILY,
    electra::FAMILY,
    albert::FAMILY,
    gpt2::FAMILY,
    gpt_neox::FAMILY,
    llama::FAMILY,
    bart::FAMILY,
    bilstm::FAMILY,
];

pub struct Family {
    /// Values of `model_type` that this family supports; the first is used for export.
    pub model_types: &'static [&'static str],
    /// Prefixes of base model names in checkpoints, in addition to no prefix; the first is used for export.
    pub prefixes: &'static [&'static str],
    /// Maps canonical stems to stored stems.
    pub names: &'static [&'static [Entry]],
    /// Parses a configuration; the [`ConfigFile`] provides the file name for errors.
    pub describe: fn(&ConfigFile) -> Result<Arch>,
    /// Creates a configuration that `describe` can parse, for families that can be trained.
    pub config: Option<fn(&Arch) -> Value>,
}

/// One line of a family's name table: canonical stem, stored stems to try, layout. `{l}` is the layer; `.weight` and `.bias` are appended
/// unless the stem has them.
pub struct Entry(pub &'static str, pub &'static [&'static str], pub Layout);

/// An entry for tensors stored unchanged.
const fn plain(stem: &'static str, stored: &'static [&'static str]) -> Entry {
    Entry(stem, stored, Layout { transposed: false, rows: Rows::All })
}

impl Family {
    /// Returns the location of the canonical parameter `name` in checkpoints of this family.
    pub fn locate(&self, name: &str) -> Location {
        let (layer, generic) = split_layer(name);
        let (stem, kind) = generic.rsplit_once('.').unwrap_or((generic.as_str(), ""));
        let entries = || self.names.iter().flat_map(|t| t.iter());
        let (entry, suffix) = match entries().find(|e| e.0 == generic) {
            Some(e) => (e, String::new()),
            None => match entries().find(|e| e.0 == stem) {
                Some(e) => (e, format!(".{kind}")),
                None => return Location { names: Vec::new(), layout: Layout::default() },
            },
        };
        let head = generic.starts_with("head.");
        let mut names = Vec::new();
        for stored in entry.1 {
            let stored = stored.replace("{l}", &layer) + &suffix;
            let prefixed = self.prefixes.iter().map(|p| format!("{p}{stored}"));
            if head {
                names.push(stored.clone());
                names.extend(prefixed);
            } else {
                names.extend(prefixed);
                names.push(stored.clone());
            }
        }
        // Checkpoints from before 2019 call the weight and bias of norms gamma and beta.
        let old: Vec<String> = names.iter().filter_map(|n| old_norm_name(n)).collect();
        names.extend(old);
        Location { names, layout: entry.2 }
    }

    /// Returns stored tensors of this family that do not fit the architecture: blocks or biases excluded by `config.json`. Other contents
    /// of a checkpoint (poolers, buffers, tied copies) are not returned.
    pub fn ignored(&self, arch: &Arch, weights: &Checkpoint) -> Vec<String> {
        let mut used = BTreeSet::new();
        let mut numbered = BTreeSet::new();
        for p in arch.parameters() {
            used.extend(self.locate(&p.name).names);
        }
        for entry in self.names.iter().flat_map(|t| t.iter()).filter(|e| e.0.contains("{l}")) {
            numbered.extend(entry.1.iter().map(|stored| stored.to_string()));
        }
        let unused = |name: &&str| {
            let Some((stem, "weight" | "bias")) = name.rsplit_once('.') else { return false };
            let prefixes = self.prefixes.iter().chain([&""]);
            let of_a_block =
                prefixes.filter_map(|p| stem.strip_prefix(p)).any(|rest| numbered.contains(&unnumbered(rest)));
            of_a_block && !used.contains(*name)
        };
        weights.names().filter(unused).map(str::to_owned).collect()
    }

    pub fn of(arch: &Arch) -> Result<&'static Family> {
        find(&arch.family).ok_or_else(|| unknown("architecture description", &arch.family))
    }
}

/// Splits `blocks.3.attn.q.weight` into (`3`, `blocks.{l}.attn.q.weight`).
fn split_layer(name: &str) -> (String, String) {
    if let Some((stack, rest)) = name.split_once("blocks.")
        && let Some((layer, rest)) = rest.split_once('.')
    {
        return (layer.to_owned(), format!("{stack}blocks.{{l}}.{rest}"));
    }
    (String::new(), name.to_owned())
}

/// Replaces the first number in a name: `layer.3.output.dense` becomes `layer.{l}.output.dense`.
fn unnumbered(stem: &str) -> String {
    let mut seen = false;
    let part = |p: &str| {
        let number = !seen && !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
        seen |= number;
        if number { "{l}".to_owned() } else { p.to_owned() }
    };
    stem.split('.').map(part).collect::<Vec<_>>().join(".")
}

fn old_norm_name(name: &str) -> Option<String> {
    let stem = name.strip_suffix("LayerNorm.weight").map(|s| (s, "gamma"));
    let (stem, kind) = stem.or_else(|| name.strip_suffix("LayerNorm.bias").map(|s| (s, "beta")))?;
    Some(format!("{stem}LayerNorm.{kind}"))
}

/// Returns every family: first those whose blocks are accessible, then those with only logits.
pub fn all() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().chain(served::SERVED.iter().map(|s| &s.family))
}

fn find(model_type: &str) -> Option<&'static Family> {
    all().find(|f| f.model_types.contains(&model_type))
}

fn unknown(file: &str, found: &str) -> ModelError {
    let known: Vec<&str> = all().flat_map(|f| f.model_types).copied().collect();
    ModelError::UnknownArchitecture {
        file: file.to_owned(),
        found: found.chars().take(80).collect::<String>().escape_debug().to_string(),
        known: known.join(", "),
    }
}

/// Parses Python's JSON dialect, replacing NaN and infinities with null.
pub(super) fn python_json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|e| {
        // Once escaped quotes are removed, every second part is a string.
        let plain = text.replace("\\\\", "\u{0}").replace("\\\"", "\u{1}");
        let parts = plain.split('"').enumerate().map(|(i, part)| match i % 2 {
            0 => part.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null"),
            _ => part.to_owned(),
        });
        let text = parts.collect::<Vec<_>>().join("\"").replace('\u{1}', "\\\"").replace('\u{0}', "\\\\");
        serde_json::from_str(&text).map_err(|_| e)
    })
}

/// Default of every setting by `model_type`: from the configuration classes of transformers 5 or, for classes that it no longer has, of
/// older releases.
const DEFAULTS: &str = include_str!("defaults.json");

/// Other names of settings, by `model_type`; as in transformers, they take precedence.
const ALIASES: [(&str, &[(&str, &str)]); 4] = [
    ("distilbert", &[("hidden_size", "dim"), ("num_attention_heads", "n_heads"), ("num_hidden_layers", "n_layers")]),
    (
        "gpt2",
        &[
            ("hidden_size", "n_embd"),
            ("max_position_embeddings", "n_positions"),
            ("num_attention_heads", "n_head"),
            ("num_hidden_layers", "n_layer"),
        ],
    ),
    (
        "t5",
        &[
            ("hidden_size", "d_model"),
            ("num_attention_heads", "num_heads"),
            ("num_hidden_layers", "num_layers"),
            ("head_dim", "d_kv"),
        ],
    ),
    (
        "bart",
        &[
            ("hidden_size", "d_model"),
            ("num_attention_heads", "encoder_attention_heads"),
            ("num_hidden_layers", "encoder_layers"),
        ],
    ),
];

/// Adds the settings that a configuration omits or states under another name.
fn completed(mut value: Value) -> Value {
    let model_type = value.get("model_type").and_then(Value::as_str).unwrap_or("").to_owned();
    let defaults: BTreeMap<String, Map<String, Value>> = serde_json::from_str(DEFAULTS).unwrap_or_default();
    let Some(settings) = value.as_object_mut() else { return value };
    for (alias, name) in ALIASES.iter().filter(|a| a.0 == model_type).flat_map(|a| a.1) {
        if let Some(given) = settings.get(*alias).cloned() {
            settings.insert((*name).to_owned(), given);
        }
    }
    for (name, default) in defaults.get(&model_type).into_iter().flatten() {
        settings.entry(name).or_insert_with(|| default.clone());
    }
    value
}

/// A parsed `config.json`, completed with the defaults of its model type.
pub struct ConfigFile {
    label: String,
    value: Value,
}

impl ConfigFile {
    /// Parses the text of a `config.json`; `label` names it in errors.
    ///
    /// # Errors
    /// [`ModelError::Config`] if it is not a JSON object.
    pub fn parse(label: &str, text: &str) -> Result<ConfigFile> {
        let wrong = |what| ModelError::Config { file: label.to_owned(), what };
        let value = python_json(text).map_err(|e| wrong(format!("not valid JSON: {e}")))?;
        if !value.is_object() {
            return Err(wrong("expected a JSON object".into()));
        }
        Ok(ConfigFile { label: label.to_owned(), value: completed(value) })
    }

    /// Returns the family of `model_type` and the architecture.
    ///
    /// # Errors
    /// [`ModelError::UnknownArchitecture`]; [`ModelError::Config`] for inconsistent sizes.
    pub fn describe(&self) -> Result<(&'static Family, Arch)> {
        let found = self.value.get("model_type").and_then(Value::as_str).unwrap_or("");
        let family = find(found).ok_or_else(|| unknown(&self.label, found))?;
        let arch = (family.describe)(self)?;
        arch.validate().map_err(|what| self.wrong(what))?;
        Ok((family, arch))
    }

    /// True if the weights were meant to be quantized when loaded.
    pub(super) fn is_quantized(&self) -> bool {
        self.value.get("quantization_config").is_some_and(|q| !q.is_null())
    }

    pub fn model_type(&self) -> &str {
        self.value.get("model_type").and_then(Value::as_str).unwrap_or("")
    }

    /// Parses the fields that a family needs.
    fn fields<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.value).map_err(|e| self.wrong(e.to_string()))
    }

    fn wrong(&self, what: String) -> ModelError {
        ModelError::Config { file: self.label.clone(), what }
    }

    /// Parses the Hugging Face name of an activation.
    fn activation(&self, name: &str) -> Result<Activation> {
        match name {
            "gelu" | "gelu_python" => Ok(Activation::GeluErf),
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
            "relu" => Ok(Activation::Relu),
            "silu" | "swish" => Ok(Activation::Silu),
            _ => Err(self.wrong(format!(
                "activation '{}' is not supported; supported: gelu, gelu_new, relu, silu",
                name.chars().take(40).collect::<String>().escape_debug()
            ))),
        }
    }

    fn head_width(&self, hidden: usize, heads: usize) -> Result<usize> {
        if heads == 0 || !hidden.is_multiple_of(heads) {
            return Err(self.wrong(format!("a hidden size of {hidden} is not divisible by {heads} heads")));
        }
        Ok(hidden / heads)
    }
}

/// Returns the Hugging Face name of an activation.
fn activation_name(a: Activation) -> &'static str {
    match a {
        Activation::GeluErf => "gelu",
        Activation::GeluTanh => "gelu_new",
        Activation::Relu => "relu",
        Activation::Silu => "silu",
    }
}

/// Sizes of a model for training from scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub vocab: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    /// Maximum input length in tokens.
    pub max_positions: usize,
}

impl Arch {
    /// BERT for masked-LM training: feed-forward width 4 D, exact GELU, two token types, tied decoder.
    pub fn bert(size: Size) -> Arch {
        bert::arch(size)
    }

    /// RoBERTa for masked-LM training: like [`Arch::bert`], with RoBERTa's positions and head names and one token type.
    pub fn roberta(size: Size) -> Arch {
        roberta::arch(size)
    }

    /// BART for denoising: equally many blocks in encoder and decoder, feed-forward width 4 D, tied decoder.
    pub fn bart(size: Size) -> Arch {
        bart::arch(size)
    }

    /// GPT-2 for causal-LM training: feed-forward width 4 D, tied decoder.
    pub fn gpt2(size: Size) -> Arch {
        gpt2::arch(size)
    }
}

//! Models embedded in the program.

use base::packed;
use base::packed::Packed;

/// A built-in model: the four files in its folder under `assets/models`.
pub struct Builtin {
    /// Name in specs.
    pub name: &'static str,
    /// `config.json`.
    pub config: &'static [u8],
    /// `model.safetensors`.
    pub weights: &'static [u8],
    /// `tokenizer.json`.
    pub tokenizer: Packed,
    /// `card.json`, with training details and scores.
    pub card: Packed,
}

/// Embeds the model folder of each name.
macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin {
            name: $name,
            config: builtins!(@file $name, "config.json"),
            weights: builtins!(@file $name, "model.safetensors"),
            tokenizer: packed!("models/", $name, "/tokenizer.json"),
            card: packed!("models/", $name, "/card.json"),
        }),*]
    };
    (@file $name:literal, $file:literal) => {
        {
            static FILE: &[u8] =
                include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/models/", $name, "/", $file));
            FILE
        }
    };
}

/// All built-in models, in the order of the picker. To add one, add its folder and its name here. This is a `static`, because each use of a
/// `const` could embed a separate copy of the files.
pub static BUILTINS: &[Builtin] = builtins![
    "bert-mini",
    "roberta-mini",
    "gpt2-mini",
    "bart-mini",
    "bert-tiny",
    "roberta-tiny",
    "gpt2-tiny",
    "bart-tiny"
];

pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.name == name)
}

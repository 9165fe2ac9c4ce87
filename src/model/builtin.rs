//! Models that ship inside the program.

use base::packed;
use base::packed::Packed;

/// One built-in model: the four files of its folder under `assets/models`.
pub struct Builtin {
    /// Its name in specs.
    pub name: &'static str,
    /// `config.json`.
    pub config: &'static [u8],
    /// `model.safetensors`.
    pub weights: &'static [u8],
    /// `tokenizer.json`.
    pub tokenizer: Packed,
    /// `card.json`: its training and its scores.
    pub card: Packed,
}

/// Embeds one folder for each name.
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

/// The gallery, in the order of the picker. To add a model: its folder, and its name here. A `static`, because every use
/// of a `const` may bring a copy of the files into the program.
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

/// The built-in model with that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.name == name)
}

//! Models that ship inside the program.

use std::io::{self, Read};

use flate2::read::ZlibDecoder;

/// One built-in model: the four files of its folder under `assets/models`.
pub struct Builtin {
    /// The name it is asked for by.
    pub name: &'static str,
    /// `config.json`.
    pub config: &'static [u8],
    /// `model.safetensors`.
    pub weights: &'static [u8],
    /// `tokenizer.json`.
    pub tokenizer: Packed,
    /// `card.json`: how it was trained and what it can do.
    pub card: Packed,
}

/// A file that is embedded in packed form (see `src/build.rs`).
#[derive(Clone, Copy)]
pub struct Packed(&'static [u8]);

impl Packed {
    /// The file's bytes.
    ///
    /// # Errors
    /// If the program itself is damaged.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(self.0).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Embeds one folder for each name.
macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin {
            name: $name,
            config: builtins!(@file concat!(env!("CARGO_MANIFEST_DIR"), "/assets/models/", $name, "/config.json")),
            weights: builtins!(@file concat!(env!("CARGO_MANIFEST_DIR"), "/assets/models/", $name, "/model.safetensors")),
            tokenizer: Packed(builtins!(@file concat!(env!("OUT_DIR"), "/", $name, ".tokenizer.json.zz"))),
            card: Packed(builtins!(@file concat!(env!("OUT_DIR"), "/", $name, ".card.json.zz"))),
        }),*]
    };
    (@file $path:expr) => {
        {
            static FILE: &[u8] = include_bytes!($path);
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

/// The built-in of that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.name == name)
}

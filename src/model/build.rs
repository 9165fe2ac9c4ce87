//! Packs the tokenizers and cards of the built-in models, and checks that all their files are those that were trained.

use std::error::Error;
use std::path::Path;

use sha2::{Digest, Sha256};

#[path = "../packing.rs"]
mod packing;

/// SHA-256 of each file, as `sha256sum` in the folder of the models writes it.
const SUMS: &str = "models.sha256";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SUMS}");
    let folder = Path::new("../../assets/models");
    let sums = std::fs::read_to_string(SUMS)?;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").ok_or_else(|| format!("src/model/{SUMS}: not a sum: {line}"))?;
        let found: String =
            Sha256::digest(std::fs::read(folder.join(name))?).iter().map(|b| format!("{b:02x}")).collect();
        if found != sum {
            return Err(
                format!("assets/models/{name} is not the file that src/model/{SUMS} lists; fetch it again").into()
            );
        }
    }
    packing::folder("models", &["tokenizer.json", "card.json"])
}

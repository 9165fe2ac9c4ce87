//! Packs the tokenizers and cards of the built-in models.

#[path = "../packing.rs"]
mod packing;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    packing::folder("models", &["tokenizer.json", "card.json"])
}

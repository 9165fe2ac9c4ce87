//! Packs the built-in facts and rationales.

#[path = "../packing.rs"]
mod packing;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    packing::folder("facts", &["jsonl", "toml"])?;
    packing::folder("rationales", &["toml"])
}

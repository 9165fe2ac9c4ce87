//! Packs the tokenizers and cards of the built-in models, verifies the checksums of all their files, and compiles the kernels for NVIDIA
//! GPUs if that feature is enabled.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

#[path = "../packing.rs"]
mod packing;

/// File with the SHA-256 of each model file, in the format of `sha256sum` run in the models folder.
const SUMS: &str = "models.sha256";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SUMS}");
    let folder = Path::new("../../assets/models");
    let sums = std::fs::read_to_string(SUMS)?;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").ok_or_else(|| format!("src/model/{SUMS}: not a checksum: {line}"))?;
        let found: String =
            Sha256::digest(std::fs::read(folder.join(name))?).iter().map(|b| format!("{b:02x}")).collect();
        if found != sum {
            return Err(format!(
                "assets/models/{name} does not match its checksum in src/model/{SUMS}; fetch it again"
            )
            .into());
        }
    }
    if std::env::var_os("CARGO_FEATURE_CUDA").is_some() {
        gpu_kernels()?;
    }
    packing::folder("models", &["tokenizer.json", "card.json"])
}

/// Compiles `kernels.cu` for the oldest GPUs that the compiler supports; for newer GPUs, the driver recompiles the kernels when they are
/// loaded.
fn gpu_kernels() -> Result<(), Box<dyn Error>> {
    const SOURCE: &str = "exec/candle/kernels.cu";
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-env-changed=CUDA_HOME");
    let home = std::env::var_os("CUDA_HOME").or_else(|| std::env::var_os("CUDA_PATH"));
    let compiler = home.map_or_else(|| PathBuf::from("nvcc"), |home| Path::new(&home).join("bin/nvcc"));
    let target = Path::new(&std::env::var("OUT_DIR")?).join("kernels.ptx");
    let run = Command::new(&compiler).args(["--ptx", "-O3", "-o"]).arg(&target).arg(SOURCE).status();
    match run {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} {SOURCE}: {status}", compiler.display()).into()),
        Err(e) => Err(format!("{}: {e}; set CUDA_HOME to the folder of the CUDA toolkit", compiler.display()).into()),
    }
}

//! Packs the text files of the built-in models for the program, a third to a quarter of their size; weights do not shrink.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// What of a model's folder is packed. `model/builtin.rs` embeds it as `MODEL.FILE.zz`.
const FILES: [&str; 2] = ["tokenizer.json", "card.json"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let models = Path::new("assets/models");
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rerun-if-changed={}", models.display());
    for folder in std::fs::read_dir(models)? {
        let folder = folder?;
        let name = folder.file_name();
        let name = name.to_str().ok_or("a model folder has a name that is not text")?;
        for file in FILES {
            let text = std::fs::read(folder.path().join(file))?;
            let packed = std::fs::File::create(out.join(format!("{name}.{file}.zz")))?;
            let mut packed = ZlibEncoder::new(packed, Compression::best());
            packed.write_all(&text)?;
            packed.finish()?;
        }
    }
    Ok(())
}

//! Packs the texts and fonts that the program embeds: texts to a third or a quarter of their size, fonts to a half. Weights would not
//! shrink and stay as they are.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// What is packed of these folders of `assets`, of the models' from each of its own; `base/packed.rs` embeds it.
const PACKED: [(&str, &[&str]); 3] =
    [("facts", &["jsonl", "toml"]), ("rationales", &["toml"]), ("models", &["tokenizer.json", "card.json"])];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=src/build.rs");
    for (folder, ends) in PACKED {
        println!("cargo::rerun-if-changed=assets/{folder}");
        pack(&Path::new("assets").join(folder), &out.join(folder), ends)?;
    }
    // The crate of the fonts is asked for them here, so that the program holds them packed only.
    fs::create_dir_all(out.join("fonts"))?;
    write(&out.join("fonts/ubuntu-light.ttf.zz"), epaint_default_fonts::UBUNTU_LIGHT)?;
    write(&out.join("fonts/hack-regular.ttf.zz"), epaint_default_fonts::HACK_REGULAR)?;
    Ok(())
}

/// Writes bytes, packed.
fn write(to: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut packed = ZlibEncoder::new(File::create(to)?, Compression::best());
    packed.write_all(bytes)?;
    packed.finish()?;
    Ok(())
}

/// Packs what ends so in a folder and in those below it.
fn pack(from: &Path, to: &Path, ends: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_str().ok_or_else(|| io::Error::other("the name of an asset is not text"))?;
        if path.is_dir() {
            pack(&path, &to.join(name), ends)?;
        } else if ends.iter().any(|end| name.ends_with(end)) {
            write(&to.join(format!("{name}.zz")), &fs::read(&path)?)?;
        }
    }
    Ok(())
}

//! Compresses embedded files for the build scripts of the crates that embed them: texts shrink to a third or a quarter, fonts to a half.
//! Weights would not shrink and are embedded uncompressed.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Compresses the files of `assets/<folder>` and its subfolders whose names end with one of `ends` into the crate's output folder.
#[allow(dead_code, reason = "some build scripts pack bytes only")]
pub(crate) fn folder(folder: &str, ends: &[&str]) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../packing.rs");
    println!("cargo::rerun-if-changed=../../assets/{folder}");
    pack(&Path::new("../../assets").join(folder), &out()?.join(folder), ends)?;
    Ok(())
}

/// Compresses bytes into `<name>.zz` in the crate's output folder.
#[allow(dead_code, reason = "some build scripts pack folders only")]
pub(crate) fn bytes(name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../packing.rs");
    let path = out()?.join(format!("{name}.zz"));
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    write(&path, bytes)?;
    Ok(())
}

fn out() -> Result<PathBuf, std::env::VarError> {
    Ok(PathBuf::from(std::env::var("OUT_DIR")?))
}

fn write(to: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut packed = ZlibEncoder::new(File::create(to)?, Compression::best());
    packed.write_all(bytes)?;
    packed.finish()?;
    Ok(())
}

fn pack(from: &Path, to: &Path, ends: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_str().ok_or_else(|| io::Error::other("an asset's file name is not valid UTF-8"))?;
        if path.is_dir() {
            pack(&path, &to.join(name), ends)?;
        } else if ends.iter().any(|end| name.ends_with(end)) {
            write(&to.join(format!("{name}.zz")), &fs::read(&path)?)?;
        }
    }
    Ok(())
}

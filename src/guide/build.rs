//! Embeds every page of `assets/guide`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../assets/guide");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
        .collect();
    names.sort_by_key(|name| (name != "start", name.clone()));
    let mut code = String::from("&[");
    for name in names {
        let path = folder.join(format!("{name}.md"));
        println!("cargo::rerun-if-changed={}", path.display());
        write!(code, "Page {{ name: {name:?}, text: include_str!({path:?}) }},")?;
    }
    code.push(']');
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("pages.rs"), code)?;
    Ok(())
}

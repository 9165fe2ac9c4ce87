//! Outcomes of mixtures, stored in a file with one line each, so that a stopped run can resume.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{FurtherText, Outcome, Settings, Start};
use crate::bookmark::{Bookmark, FileMark};
use crate::error::{GalleryError, Result};
use crate::progress::Watch;
use crate::splits::FactUse;
use model::device::Device;
use model::weights;

/// First line of an outcome file, which identifies the model and the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    model: String,
    hash: String,
    settings: Settings,
    /// Facts taught and tested; missing in files from older versions, which taught all facts.
    facts: FactUse,
}

/// Locations for saving outcomes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keep {
    /// File with one line per mixture; mixtures already in it are not trained again.
    pub file: Option<PathBuf>,
    /// Folder for the weights of each mixture, in subfolders.
    pub weights: Option<PathBuf>,
}

/// Trains on `further_texts` in order and calls `tell` with every outcome, including those already on file. Outcomes passed to `tell` have been
/// saved.
///
/// # Errors
/// [`GalleryError::Resume`] if the file belongs to a different model or to different settings, and errors of [`Start::outcome`].
pub fn mix(
    start: &Start,
    further_texts: &[FurtherText],
    settings: &Settings,
    keep: &Keep,
    device: Device,
    watch: Watch<'_>,
    tell: &mut dyn FnMut(&Outcome),
) -> Result<()> {
    let (model, hash) = (start.name.clone(), start.hash.clone());
    let header = Header { model, hash, settings: settings.clone(), facts: FactUse::Taught };
    let known = match &keep.file {
        Some(path) => read(path, &header)?,
        None => Vec::new(),
    };
    for &further_text in further_texts {
        if let Some(outcome) = known.iter().find(|o| o.further_text == further_text) {
            tell(outcome);
            continue;
        }
        let folder = keep.weights.as_ref().map(|dir| dir.join(folder(further_text)));
        let mut mark = keep.file.as_ref().map(|path| unfinished(path, &header, further_text)).transpose()?;
        let bookmark = mark.as_mut().map(|m| m as &mut dyn Bookmark);
        let outcome = start.outcome(further_text, settings, device, (folder.as_deref(), bookmark), watch)?;
        if let Some(path) = &keep.file {
            append(path, &outcome)?;
        }
        if let Some(mark) = mark {
            mark.finish();
        }
        tell(&outcome);
    }
    Ok(())
}

/// Bookmark of an unfinished mixture, next to the outcome file.
fn unfinished(path: &Path, header: &Header, further_text: FurtherText) -> Result<FileMark> {
    let key = serde_json::to_string(&(header, further_text)).map_err(|e| GalleryError::Internal(e.to_string()))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".unfinished");
    Ok(FileMark::new(name.into(), key))
}

fn folder(further_text: FurtherText) -> String {
    match further_text {
        FurtherText::None => "untouched".into(),
        FurtherText::Gamma(g) => format!("gamma-{}", 100.0 * g),
        FurtherText::Shuffled => "shuffled".into(),
    }
}

/// Maximum size of an outcome file in bytes; each line has a few hundred bytes.
const MOST_OUTCOMES: u64 = 64 << 20;

/// Reads the outcomes on file, creating the file if missing. An incomplete last line is ignored.
fn read(path: &Path, header: &Header) -> Result<Vec<Outcome>> {
    let wrong = |what: &str| GalleryError::Resume { path: path.to_owned(), what: what.to_owned() };
    let io = |source| GalleryError::Io { path: path.to_owned(), source };
    let text = match base::read::text(path, MOST_OUTCOMES) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let line = serde_json::to_string(header).map_err(|e| wrong(&e.to_string()))?;
            weights::write_whole(path, format!("{line}\n").as_bytes())?;
            return Ok(Vec::new());
        }
        Err(e) => return Err(io(e)),
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = text[..whole].lines();
    let first: Header = lines
        .next()
        .and_then(|l| serde_json::from_str(l).ok())
        .ok_or_else(|| wrong("it was not written by this command"))?;
    if first != *header {
        return Err(wrong("it belongs to a different model or different settings"));
    }
    if whole < text.len() {
        let file = std::fs::OpenOptions::new().write(true).open(path).map_err(io)?;
        file.set_len(whole as u64).map_err(io)?;
    }
    lines.map(|l| serde_json::from_str(l).map_err(|e| wrong(&e.to_string()))).collect()
}

fn append(path: &Path, outcome: &Outcome) -> Result<()> {
    let io = |source| GalleryError::Io { path: path.to_owned(), source };
    let line = serde_json::to_string(outcome)
        .map_err(|e| GalleryError::Resume { path: path.to_owned(), what: e.to_string() })?;
    let mut file = std::fs::OpenOptions::new().append(true).open(path).map_err(io)?;
    file.write_all(format!("{line}\n").as_bytes()).map_err(io)?;
    file.sync_data().map_err(io)
}

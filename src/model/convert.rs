//! Conversion of pickled PyTorch weights (`pytorch_model.bin`, `.pt`) to a model folder with safetensors, without running pickled code.

mod fairseq;
mod pickle;
#[cfg(test)]
mod tests;
mod torch_file;

use std::collections::{BTreeMap, HashMap};
use std::io::{BufWriter, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use self::pickle::View;
use self::torch_file::TorchFile;
use super::error::{ModelError, Result};
use super::source::{Files, LARGEST_TEXT, regular};
use super::weights::{self, Checkpoint};
use base::text::shortened;

/// Summary of a conversion.
#[derive(Debug, Default)]
pub struct Converted {
    pub tensors: usize,
    /// Total size of the tensors in bytes.
    pub bytes: u64,
    /// Shared tensors that were not written, each with the name under which it was written.
    pub shared: BTreeMap<String, String>,
    /// True if tensor names of fairseq's RoBERTa were replaced by those of transformers.
    pub fairseq: bool,
    /// Files copied along with the weights.
    pub copied: Vec<String>,
}

/// A tensor with its name in the output.
struct Named<'a> {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    /// File index and view of the tensor in that file; `None` for a tensor of zeros.
    from: Option<(usize, View)>,
    file: Option<&'a TorchFile>,
}

impl Named<'_> {
    fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * (self.dtype.bitsize() / 8)
    }
}

/// Converts a folder or file of pickled weights into the new folder `to` and copies the small files next to the weights. The folder
/// appears only once it is complete.
///
/// # Errors
/// - [`ModelError::PickledCode`] if a pickle names anything that tensors do not need;
/// - [`ModelError::Weights`] if it is damaged;
/// - [`ModelError::MissingFile`] if there are no pickled weights;
/// - [`ModelError::Io`], also if `to` already exists.
pub fn convert(from: &Path, to: &Path) -> Result<Converted> {
    if std::fs::symlink_metadata(to).is_ok() {
        return Err(ModelError::io(to)(Error::new(ErrorKind::AlreadyExists, "already exists; choose a new folder")));
    }
    let (folder, paths) = pickled_files(from)?;
    let files = paths.iter().map(|p| TorchFile::open(p)).collect::<Result<Vec<_>>>()?;
    let mut named = Vec::new();
    for (i, file) in files.iter().enumerate() {
        for (name, view) in file.tensors()? {
            let (dtype, shape) = (file.dtype(view), view.shape.clone());
            named.push(Named { name: name.to_owned(), dtype, shape, from: Some((i, view.clone())), file: Some(file) });
        }
    }
    let wrong = |what: String| ModelError::Weights { file: from.display().to_string(), what };
    let fairseq = fairseq::rename(&mut named).map_err(wrong)?;
    let shared = drop_shared(&mut named);
    let stored = paths.iter().filter_map(|p| std::fs::metadata(p).ok()).map(|m| m.len()).sum::<u64>();
    let bytes = named.iter().filter(|t| t.from.is_some()).map(|t| t.bytes() as u64).sum::<u64>();
    if bytes > stored {
        return Err(wrong(format!("damaged: its tensors need {bytes} bytes, but the file has only {stored}")));
    }
    // The largest element types come first, so that every tensor is aligned in the output.
    named.sort_by(|a, b| b.dtype.cmp(&a.dtype).then_with(|| a.name.cmp(&b.name)));
    if let Some(twice) = duplicate(&named) {
        return Err(wrong(format!("two tensors are called '{}'", shortened(twice, 80))));
    }
    let parent = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = base::files::folder_in(parent).map_err(ModelError::io(parent))?;
    let new = place.path().join("model");
    std::fs::create_dir(&new).map_err(ModelError::io(&new))?;
    let path = new.join("model.safetensors");
    write(&path, &named, &shared).map_err(ModelError::io(to))?;
    Checkpoint::open(&[&path])?;
    let copied = copy_small_files(&folder, &new)?;
    std::fs::rename(&new, to).map_err(ModelError::io(to))?;
    Ok(Converted { tensors: named.len(), bytes, shared, fairseq, copied })
}

/// Returns the folder and its files of pickled weights: `pytorch_model.bin`, its shards, or the only file that may be pickled.
fn pickled_files(from: &Path) -> Result<(PathBuf, Vec<PathBuf>)> {
    if regular(from).is_ok_and(|length| length.is_some()) {
        let folder = from.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return Ok((folder.to_owned(), vec![from.to_owned()]));
    }
    let files = Files::Dir(from.to_owned());
    if regular(&from.join("pytorch_model.bin"))?.is_some() {
        return Ok((from.to_owned(), vec![from.join("pytorch_model.bin")]));
    }
    const INDEX: &str = "pytorch_model.bin.index.json";
    if let Some(index) = files.text(INDEX)? {
        let names = weights::shards(&from.join(INDEX).display().to_string(), &index, ".bin")?;
        return Ok((from.to_owned(), names.iter().map(|n| from.join(n)).collect()));
    }
    let entries = std::fs::read_dir(from).map_err(ModelError::io(from))?;
    let is_pickled = |p: &PathBuf| p.extension().is_some_and(|e| ["bin", "pt", "pth", "ckpt"].iter().any(|k| e == *k));
    let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(is_pickled).collect();
    found.sort();
    match found.len() {
        1 => Ok((from.to_owned(), found)),
        0 => Err(files.missing("pytorch_model.bin", "give a folder or a file with pickled PyTorch weights")),
        n => {
            Err(files
                .missing("pytorch_model.bin", &format!("{n} files may be the weights; give the path of one of them")))
        }
    }
}

/// Keeps one name of every shared tensor, as transformers does; returns the dropped names with the kept ones.
fn drop_shared(named: &mut Vec<Named<'_>>) -> BTreeMap<String, String> {
    let mut kept: HashMap<(usize, View), String> = HashMap::new();
    for tensor in named.iter() {
        let Some(from) = &tensor.from else { continue };
        let best = kept.entry(from.clone()).or_insert_with(|| tensor.name.clone());
        if preference(&tensor.name) < preference(best) {
            best.clone_from(&tensor.name);
        }
    }
    let mut shared = BTreeMap::new();
    named.retain(|tensor| match tensor.from.as_ref().and_then(|from| kept.get(from)) {
        Some(best) if *best != tensor.name => {
            shared.insert(tensor.name.clone(), best.clone());
            false
        }
        _ => true,
    });
    shared
}

/// Sort key; the lowest is preferred. transformers keeps the embeddings and the head's own bias, and drops tensors tied to them.
fn preference(name: &str) -> (bool, bool, bool, &str) {
    let is_embedding = ["embed", "wte"].iter().any(|part| name.contains(part));
    (!name.contains("shared."), !is_embedding, name.contains("decoder."), name)
}

fn duplicate<'a>(named: &'a [Named<'_>]) -> Option<&'a str> {
    let mut names: Vec<&str> = named.iter().map(|t| t.name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

fn write(path: &Path, named: &[Named<'_>], shared: &BTreeMap<String, String>) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create_new(path)?);
    let mut at = 0;
    let info = |t: &Named<'_>| {
        let from = at;
        at += t.bytes();
        (t.name.clone(), TensorInfo { dtype: t.dtype, shape: t.shape.clone(), data_offsets: (from, at) })
    };
    out.write_all(&weights::header(named.iter().map(info).collect(), shared)?)?;
    for tensor in named {
        match (&tensor.from, tensor.file) {
            (Some((_, view)), Some(file)) => file.copy(view, &mut |bytes| out.write_all(bytes))?,
            _ => out.write_all(&vec![0; tensor.bytes()])?,
        }
    }
    out.into_inner()?.sync_all()
}

/// Copies configuration, tokenizer and licence: all small text files other than shard indices.
fn copy_small_files(from: &Path, to: &Path) -> Result<Vec<String>> {
    let mut copied = Vec::new();
    for entry in std::fs::read_dir(from).map_err(ModelError::io(from))?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Some(name) = name.to_str() else { continue };
        let is_text = [".json", ".txt", ".model", ".jinja"].iter().any(|end| name.ends_with(end)) || name == "LICENSE";
        let is_small = std::fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= LARGEST_TEXT);
        if is_text && is_small && !name.ends_with(".index.json") {
            std::fs::copy(&path, to.join(name)).map_err(ModelError::io(&path))?;
            copied.push(name.to_owned());
        }
    }
    copied.sort();
    Ok(copied)
}

//! Safetensors files. Every field of a header is checked before use.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use half::f16;
use kernels::stored;
use memmap2::Mmap;
use safetensors::Dtype;
use safetensors::tensor::TensorInfo;
use sha2::{Digest, Sha256};

use super::array::Array;
use super::error::{ModelError, Result};
use super::families;
use base::text::shortened;

/// Maximum header length: the limit of the reference implementation.
const LONGEST_HEADER: usize = 100_000_000;

pub(super) enum Bytes {
    Mapped(Mmap),
    Held(Cow<'static, [u8]>),
}

impl Bytes {
    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Mapped(m) => m,
            Bytes::Held(b) => b,
        }
    }
}

/// A safetensors file with a validated header.
struct Shard {
    label: String,
    bytes: Bytes,
    /// Offset of the tensor data in the file.
    start: usize,
    tensors: BTreeMap<String, TensorInfo>,
    /// Aliases for stored tensors. `safetensors.torch.save_model` writes a shared tensor once and lists its other names in the metadata of
    /// the header.
    aliases: BTreeMap<String, String>,
}

/// All tensors of a model, in one or several files.
pub struct Checkpoint {
    shards: Vec<Shard>,
    label: Option<String>,
}

impl Checkpoint {
    /// Memory-maps safetensors files.
    ///
    /// # Errors
    /// [`ModelError::Io`], or [`ModelError::Weights`] with the invalid field of the header.
    pub fn open<P: AsRef<Path>>(files: &[P]) -> Result<Checkpoint> {
        let shards = files.iter().map(|p| Shard::parse(label(p.as_ref()), map(p.as_ref())?));
        Checkpoint::from_shards(shards.collect::<Result<_>>()?)
    }

    /// Opens weights in memory (built-in models). `label` names them in errors.
    pub fn from_bytes(label: &str, bytes: impl Into<Cow<'static, [u8]>>) -> Result<Checkpoint> {
        Checkpoint::from_shards(vec![Shard::parse(label.to_owned(), Bytes::Held(bytes.into()))?])
    }

    fn from_shards(shards: Vec<Shard>) -> Result<Checkpoint> {
        let mut seen = BTreeMap::new();
        for shard in &shards {
            for name in shard.tensors.keys() {
                if let Some(other) = seen.insert(name, &shard.label) {
                    return Err(shard.wrong(format!("tensor '{}' is also in {other}", printable(name))));
                }
            }
        }
        Ok(Checkpoint { shards, label: None })
    }

    /// Sets the name used in errors; for shards, the name of the index.
    pub fn labelled(self, label: &str) -> Checkpoint {
        Checkpoint { label: Some(label.to_owned()), ..self }
    }

    pub fn label(&self) -> String {
        let own = || self.shards.first().map_or_else(|| "weights".into(), |p| p.label.clone());
        self.label.clone().unwrap_or_else(own)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.shards.iter().flat_map(|p| p.tensors.keys().map(String::as_str))
    }

    fn find(&self, name: &str) -> Option<(&Shard, &TensorInfo)> {
        let stored = |name: &str| self.shards.iter().find_map(|p| p.tensors.get(name).map(|t| (p, t)));
        stored(name).or_else(|| stored(self.shards.iter().find_map(|p| p.aliases.get(name))?))
    }

    /// True if two stored tensors are equal, or one is missing.
    pub(crate) fn same(&self, a: &str, b: &str) -> Result<bool> {
        let (Some((first, x)), Some((second, y))) = (self.find(a), self.find(b)) else { return Ok(true) };
        if x.dtype == y.dtype && x.shape == y.shape && first.tensor(x) == second.tensor(y) {
            return Ok(true);
        }
        Ok(first.read(a, x)? == second.read(b, y)?)
    }

    /// Reads a tensor as f32; `None` if missing.
    ///
    /// # Errors
    /// [`ModelError::Weights`] for an unsupported element type or a value that is not finite.
    pub fn read(&self, name: &str) -> Option<Result<Array>> {
        self.find(name).map(|(part, info)| part.read(name, info))
    }

    /// Reads a tensor of any number type as f64, with its shape, for reference files.
    pub fn numbers(&self, name: &str) -> Option<Result<(Vec<usize>, Vec<f64>)>> {
        self.find(name).map(|(part, info)| part.numbers(name, info))
    }

    /// Removes the prefixes that wrappers of PyTorch add to every name, such as `module.`; returns what was removed. `model.` is removed
    /// only if it is not the model's own.
    pub(crate) fn unwrapped(mut self, model_type: &str) -> (Checkpoint, Option<String>) {
        let mut removed = String::new();
        let on_all = |c: &Checkpoint, p: &str| c.names().next().is_some() && c.names().all(|n| n.starts_with(p));
        let inner = |c: &Checkpoint| {
            let roots = families::all().flat_map(|f| f.prefixes).copied().chain(["deberta.", "backbone."]);
            let mut roots = roots.chain((model_type == "t5").then_some("shared."));
            roots.any(|root| c.names().any(|n| n.strip_prefix("model.").is_some_and(|n| n.starts_with(root))))
        };
        while let Some(prefix) = ["module.", "_orig_mod.", "model."]
            .into_iter()
            .find(|p| on_all(&self, p) && (*p != "model." || inner(&self)))
        {
            removed.push_str(prefix);
            let short = |name: String| name.strip_prefix(prefix).map_or(name.clone(), str::to_owned);
            for shard in &mut self.shards {
                shard.tensors = std::mem::take(&mut shard.tensors).into_iter().map(|(n, t)| (short(n), t)).collect();
                let aliases = std::mem::take(&mut shard.aliases).into_iter();
                shard.aliases = aliases.map(|(n, stored)| (short(n), short(stored))).collect();
            }
        }
        let removed = Some(removed).filter(|r| !r.is_empty());
        (self, removed)
    }

    /// Returns notices about the stored form, each with its remedy; `wrapper` is the removed prefix.
    pub(crate) fn remarks(&self, wrapper: Option<&str>) -> Vec<(String, String)> {
        let mut remarks = Vec::new();
        if let Some(prefix) = wrapper {
            let what = format!(
                "all tensor names begin with '{prefix}', which was removed; transformers does not find such tensors"
            );
            remarks.push((what, "save the state dict of the model inside its wrapper".into()));
        }
        if self.shards.iter().any(|p| p.tensors.values().any(|t| t.dtype == Dtype::F64)) {
            let what = "weights stored in F64 were rounded to F32".to_owned();
            remarks.push((what, "expect differences in the last digits from a run in double precision".into()));
        }
        remarks
    }

    /// Hashes all bytes, file by file.
    pub fn hash_into(&self, hash: &mut Sha256) {
        self.shards.iter().for_each(|p| hash.update(p.bytes.as_slice()));
    }
}

/// Returns the files of a sharded checkpoint from its index; their names end in `extension`.
///
/// # Errors
/// [`ModelError::Config`] if the text is not an index, or names a file outside its folder.
pub fn shards(label: &str, index: &str, extension: &str) -> Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let wrong = |what: String| ModelError::Config { file: label.to_owned(), what };
    let index: Index = serde_json::from_str(index).map_err(|e| wrong(format!("not a valid shard index: {e}")))?;
    let mut files: Vec<String> = index.weight_map.into_values().collect();
    files.sort();
    files.dedup();
    for f in &files {
        let plain = f.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if !plain || f.starts_with('.') || !f.ends_with(extension) {
            return Err(wrong(format!(
                "shard '{}' is not a plain {extension} file name; shards must be in the folder of their index",
                printable(f)
            )));
        }
    }
    if files.is_empty() {
        return Err(wrong("the index lists no shards".into()));
    }
    Ok(files)
}

impl Shard {
    fn wrong(&self, what: String) -> ModelError {
        ModelError::Weights { file: self.label.clone(), what }
    }

    /// Validates the header: its length, its JSON, element types and shapes, and that the tensors fill the data without overlaps, gaps or
    /// excess.
    fn parse(label: String, bytes: Bytes) -> Result<Shard> {
        let wrong = |what: String| Err(ModelError::Weights { file: label.clone(), what });
        let all = bytes.as_slice();
        if let Some(what) = base::read::git_lfs_pointer(all).or_else(|| other_format(all).map(str::to_owned)) {
            return wrong(what);
        }
        let Some((first, rest)) = all.split_first_chunk::<8>() else {
            return wrong(format!("{} bytes: too short for a safetensors file; fetch it again", all.len()));
        };
        let claimed = u64::from_le_bytes(*first);
        let Some(header) = usize::try_from(claimed).ok().filter(|&n| n <= LONGEST_HEADER) else {
            return wrong(format!(
                "states a header length of {claimed} bytes: it is damaged or not a safetensors file"
            ));
        };
        let Some(text) = rest.get(..header) else {
            return wrong(format!(
                "states a header length of {header} bytes but has only {}: it is truncated; fetch it again",
                rest.len()
            ));
        };
        let (tensors, aliases) = match header_entries(text) {
            Ok(found) => found,
            Err(what) => return wrong(what),
        };
        let data = rest.len() - header;
        if let Err(what) = check_layout(&tensors, data) {
            return wrong(what);
        }
        Ok(Shard { label, bytes, start: 8 + header, tensors, aliases })
    }

    fn tensor(&self, info: &TensorInfo) -> &[u8] {
        let (from, to) = info.data_offsets;
        &self.bytes.as_slice()[self.start + from..self.start + to]
    }

    fn numbers(&self, name: &str, info: &TensorInfo) -> Result<(Vec<usize>, Vec<f64>)> {
        let bytes = self.tensor(info);
        let eight = |c: &[u8]| [c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]];
        let data: Vec<f64> = match info.dtype {
            Dtype::F64 => bytes.chunks_exact(8).map(|c| f64::from_le_bytes(eight(c))).collect(),
            Dtype::I64 => bytes.chunks_exact(8).map(|c| i64::from_le_bytes(eight(c)) as f64).collect(),
            Dtype::I32 => {
                bytes.chunks_exact(4).map(|c| f64::from(i32::from_le_bytes([c[0], c[1], c[2], c[3]]))).collect()
            }
            Dtype::U8 | Dtype::BOOL => bytes.iter().map(|&v| f64::from(v)).collect(),
            _ => {
                let Array { shape, data } = self.read(name, info)?;
                return Ok((shape, data.into_iter().map(f64::from).collect()));
            }
        };
        match data.iter().position(|v| !v.is_finite()) {
            Some(i) => Err(self.not_finite(name, data[i], i)),
            None => Ok((info.shape.clone(), data)),
        }
    }

    fn not_finite(&self, name: &str, value: f64, at: usize) -> ModelError {
        self.wrong(format!(
            "tensor '{}' contains {value} at element {at}: the file is damaged or its training diverged",
            printable(name)
        ))
    }

    fn read(&self, name: &str, info: &TensorInfo) -> Result<Array> {
        let bytes = self.tensor(info);
        let data: Vec<f32> = match info.dtype {
            Dtype::F32 => stored::from_f32(bytes),
            Dtype::F16 => stored::from_f16(bytes),
            Dtype::BF16 => stored::from_bf16(bytes),
            Dtype::F64 => self.numbers(name, info)?.1.into_iter().map(|v| v as f32).collect(),
            other => {
                return Err(self.wrong(format!(
                    "tensor '{}' has element type {other:?}; supported: F32, F16, BF16, F64",
                    printable(name)
                )));
            }
        };
        if let Some(i) = stored::first_not_finite(&data) {
            return Err(self.not_finite(name, f64::from(data[i]), i));
        }
        Ok(Array::new(info.shape.clone(), data))
    }
}

/// Recognises files of another format by their first bytes; returns what the file is, with the remedy.
fn other_format(bytes: &[u8]) -> Option<&'static str> {
    let starts: [(&[u8], &str); 9] = [
        (b"# xet version", "a pointer of Git Xet, not the file; fetch the file with `hf download`"),
        (b"/annex/objects/", "a pointer of git-annex, not the file; fetch it with `git annex get`"),
        (b"../.git/annex/", "a pointer of git-annex, not the file; fetch it with `git annex get`"),
        (b".git/annex/", "a pointer of git-annex, not the file; fetch it with `git annex get`"),
        (
            b"PK\x03\x04",
            "a ZIP archive; if PyTorch wrote it, name it pytorch_model.bin and run `probity models convert`",
        ),
        (b"\x80\x02", "a Python pickle; name it pytorch_model.bin and run `probity models convert`"),
        (b"GGUF", "a GGUF file, which is not supported; fetch the model in safetensors format"),
        (b"\x89HDF", "an HDF5 file of TensorFlow; convert it to safetensors with transformers"),
        (b"\x1f\x8b", "compressed with gzip; decompress it"),
    ];
    let trimmed = bytes.trim_ascii_start();
    let page = [&b"<!doctype"[..], b"<html", b"<?xml"];
    if page.iter().any(|start| trimmed.get(..start.len()).is_some_and(|b| b.eq_ignore_ascii_case(start))) {
        return Some("a web page, perhaps the error page of a download; fetch the file again");
    }
    starts.iter().find(|(start, _)| bytes.starts_with(start)).map(|s| s.1)
}

/// Tensors by name, and aliases: entries of `__metadata__` whose value is the name of a stored tensor.
type Header = (BTreeMap<String, TensorInfo>, BTreeMap<String, String>);

fn header_entries(text: &[u8]) -> std::result::Result<Header, String> {
    let text = std::str::from_utf8(text).map_err(|_| "its header is not UTF-8 text".to_string())?;
    let entries: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(text).map_err(|e| format!("its header is not a JSON object: {e}"))?;
    let mut tensors = BTreeMap::new();
    let mut aliases = BTreeMap::new();
    for (name, value) in entries {
        if name == "__metadata__" {
            aliases = serde_json::from_value(value).unwrap_or_default();
            continue;
        }
        let info: TensorInfo =
            serde_json::from_value(value).map_err(|e| format!("its header entry '{}': {e}", printable(&name)))?;
        tensors.insert(name, info);
    }
    aliases.retain(|_, stored| tensors.contains_key(stored));
    Ok((tensors, aliases))
}

/// Checks that tensors tile the data exactly, each with the length given by its shape and element type.
fn check_layout(tensors: &BTreeMap<String, TensorInfo>, data: usize) -> std::result::Result<(), String> {
    let mut order: Vec<(&String, &TensorInfo)> = tensors.iter().collect();
    order.sort_by_key(|(_, t)| t.data_offsets);
    let mut end = 0usize;
    for (name, t) in order {
        let (from, to) = t.data_offsets;
        let name = printable(name);
        if from > to || to > data {
            return Err(format!(
                "tensor '{name}' is at bytes {from} to {to} of {data}: the file is truncated or damaged"
            ));
        }
        if from != end {
            let what = if from < end { "overlaps another" } else { "leaves a gap before it" };
            return Err(format!("tensor '{name}' at byte {from} {what}: the file is damaged"));
        }
        let bits = t
            .shape
            .iter()
            .try_fold(1usize, |n, &s| n.checked_mul(s))
            .and_then(|n| n.checked_mul(t.dtype.bitsize()))
            .ok_or_else(|| format!("tensor '{name}' has the impossible shape {:?}", t.shape))?;
        if bits % 8 != 0 || bits / 8 != to - from {
            return Err(format!(
                "tensor '{name}' of shape {:?} and type {:?} cannot have {} bytes: the file is damaged",
                t.shape,
                t.dtype,
                to - from
            ));
        }
        end = to;
    }
    if end != data {
        return Err(format!("{} bytes follow the last tensor: the file is damaged", data - end));
    }
    Ok(())
}

/// Creates the start of a safetensors file: header length and JSON. `aliases` are additional names of stored tensors.
pub(super) fn header(
    infos: BTreeMap<String, TensorInfo>,
    aliases: &BTreeMap<String, String>,
) -> serde_json::Result<Vec<u8>> {
    let mut metadata = aliases.clone();
    metadata.insert("format".into(), "pt".into());
    let mut header = BTreeMap::from([("__metadata__".to_owned(), serde_json::to_value(metadata)?)]);
    for (name, info) in infos {
        header.insert(name, serde_json::to_value(info)?);
    }
    let mut text = serde_json::to_vec(&header)?;
    text.resize(text.len().next_multiple_of(8), b' ');
    Ok([&(text.len() as u64).to_le_bytes()[..], &text].concat())
}

/// Writes tensors as f16 safetensors under a temporary name and renames the file, so that no partial file is ever visible.
pub(crate) fn write_f16(path: &Path, tensors: &[(String, Array)]) -> Result<()> {
    let wrong = |what| ModelError::Weights { file: label(path), what };
    let mut infos = BTreeMap::new();
    let mut data = Vec::new();
    for (name, array) in tensors {
        let from = data.len();
        for &v in &array.data {
            let half = f16::from_f32(v);
            if !half.is_finite() {
                return Err(wrong(format!("tensor '{name}' contains {v}, which f16 cannot represent")));
            }
            data.extend_from_slice(&half.to_le_bytes());
        }
        let info = TensorInfo { dtype: Dtype::F16, shape: array.shape.clone(), data_offsets: (from, data.len()) };
        infos.insert(name.clone(), info);
    }
    let mut bytes = header(infos, &BTreeMap::new()).map_err(|e| wrong(e.to_string()))?;
    bytes.extend_from_slice(&data);
    write_whole(path, &bytes)
}

/// Writes a file under a temporary name and renames it.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    base::files::write_whole(path, bytes).map_err(ModelError::io(path))
}

#[allow(unsafe_code)]
pub(super) fn map(path: &Path) -> Result<Bytes> {
    let file = base::read::open(path).map_err(ModelError::io(path))?;
    if file.metadata().map_err(ModelError::io(path))?.len() == 0 {
        return Ok(Bytes::Held(Cow::Borrowed(&[])));
    }
    // SAFETY: the map is read-only and private to this process. Another process could still truncate the file during a read, a risk that
    // every reader of mapped weights accepts; the map exists only while tensors are copied.
    let map = unsafe { Mmap::map(&file) }.map_err(ModelError::io(path))?;
    Ok(Bytes::Mapped(map))
}

fn label(path: &Path) -> String {
    path.display().to_string()
}

/// Shortens and escapes a name from a file.
fn printable(name: &str) -> String {
    shortened(name, 80)
}

#[cfg(test)]
mod tests;

//! The two formats of `torch.save`: a zip archive (since PyTorch 1.6) and the older sequence of pickles.

use std::io::Cursor;
use std::path::Path;

use safetensors::Dtype;

use super::pickle::{Fault, Pickle, Value, View};
use crate::error::{ModelError, Result};
use crate::weights::{Bytes, map};
use base::read::git_lfs_pointer;
use base::text::shortened;

/// First bytes of the older format: the pickle of its magic number.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

/// Keys under which training programs store the state dict, in order of preference.
const NESTED: [&str; 4] = ["state_dict", "model_state_dict", "model_state", "model"];

/// A pickled checkpoint with its parsed description. The file remains memory-mapped.
pub(super) struct TorchFile {
    label: String,
    bytes: Bytes,
    pickle: Pickle,
    root: Value,
    starts: Vec<usize>,
}

/// Description of the file: its pickle, the pickle's value, and offsets of the storages.
type Parsed = std::result::Result<(Pickle, Value, Vec<usize>), Fault>;

impl TorchFile {
    pub(super) fn open(path: &Path) -> Result<TorchFile> {
        TorchFile::parse(path.display().to_string(), map(path)?)
    }

    /// Parses a checkpoint in memory; `label` names it in errors.
    pub(super) fn parse(label: String, bytes: Bytes) -> Result<TorchFile> {
        let all = bytes.as_slice();
        let parsed = if let Some(what) = git_lfs_pointer(all) {
            Err(what.into())
        } else if all.starts_with(b"PK\x03\x04") {
            parse_zip(all)
        } else if all.starts_with(LEGACY) {
            parse_legacy(all)
        } else {
            Err("the file has neither of the formats that torch.save writes".into())
        };
        match parsed {
            Ok((pickle, root, starts)) => Ok(TorchFile { label, bytes, pickle, root, starts }),
            Err(Fault::Damaged(what)) => Err(ModelError::Weights { file: label, what }),
            Err(Fault::Global(global)) => Err(ModelError::PickledCode { file: label, global }),
        }
    }

    /// Returns names and views of the tensors in the state dict.
    pub(super) fn tensors(&self) -> Result<Vec<(&str, &View)>> {
        let wrong = |what: String| ModelError::Weights { file: self.label.clone(), what };
        let named = |value: Value| match value {
            Value::Dict(dict) => Some(&self.pickle.dicts[dict]),
            _ => None,
        };
        let text = |value: Value| match value {
            Value::Text(text) => Some(self.pickle.texts[text].as_str()),
            _ => None,
        };
        let root = named(self.root).ok_or_else(|| wrong("contains no dictionary of tensors".into()))?;
        let nested = NESTED.iter().find_map(|key| {
            let (_, value) = root.iter().find(|(k, _)| text(*k) == Some(key))?;
            named(*value)
        });
        let entries = nested.unwrap_or(root);
        let tensor = |&(key, value): &(Value, Value)| match (text(key), value) {
            (Some(name), Value::Tensor(tensor)) => Ok((name, &self.pickle.tensors[tensor])),
            (name, _) => Err(wrong(format!("'{}' in it is not a tensor", shortened(name.unwrap_or("an entry"), 80)))),
        };
        entries.iter().map(tensor).collect()
    }

    pub(super) fn dtype(&self, view: &View) -> Dtype {
        self.pickle.storages[view.storage].dtype
    }

    /// Passes the tensor's bytes in C order to `write`.
    pub(super) fn copy(&self, view: &View, write: &mut dyn FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        if view.len() == 0 {
            return Ok(());
        }
        let width = self.dtype(view).bitsize() / 8;
        let bytes = &self.bytes.as_slice()[self.starts[view.storage]..];
        // Finds the longest contiguous tail of dimensions.
        let (mut rank, mut run) = (view.shape.len(), 1);
        while rank > 0 && (view.stride[rank - 1] == run || view.shape[rank - 1] == 1) {
            rank -= 1;
            run *= view.shape[rank];
        }
        let outer = &view.shape[..rank];
        let mut index = vec![0; rank];
        for _ in 0..outer.iter().product() {
            let at = view.offset + index.iter().zip(&view.stride).map(|(i, s)| i * s).sum::<usize>();
            write(&bytes[at * width..][..run * width])?;
            for d in (0..rank).rev() {
                index[d] += 1;
                if index[d] < outer[d] {
                    break;
                }
                index[d] = 0;
            }
        }
        Ok(())
    }
}

/// Suffix of a zip entry; the prefix is the original file name.
const DATA: &str = "data.pkl";

fn parse_zip(all: &[u8]) -> Parsed {
    let unreadable = |e: zip::result::ZipError| Fault::Damaged(format!("a damaged zip archive: {e}"));
    let mut zip = zip::ZipArchive::new(Cursor::new(all)).map_err(unreadable)?;
    let is_data = |name: &str| name.strip_suffix(DATA).is_some_and(|p| p.is_empty() || p.ends_with('/'));
    let mut prefix = None;
    for i in 0..zip.len() {
        let entry = zip.by_index_raw(i).map_err(unreadable)?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        if is_data(&name) && prefix.replace(name[..name.len() - DATA.len()].to_owned()).is_some() {
            return Err("a zip archive with two data.pkl files".into());
        }
    }
    let prefix = prefix.ok_or("a zip archive without data.pkl: not written by torch.save")?;
    // Finds the byte range of an entry. `torch.save` does not compress, so no entry is longer than the file.
    let mut span = |name: &str| -> std::result::Result<Option<std::ops::Range<usize>>, Fault> {
        let entry = match zip.by_name_raw(format!("{prefix}{name}").as_bytes()) {
            Err(zip::result::ZipError::FileNotFound) => return Ok(None),
            entry => entry.map_err(unreadable)?,
        };
        if entry.compression() != zip::CompressionMethod::Stored || entry.encrypted() {
            return Err("a compressed or encrypted archive, which torch.save does not write".into());
        }
        let start = entry.data_start().and_then(|s| usize::try_from(s).ok());
        let end = start.zip(usize::try_from(entry.size()).ok()).and_then(|(start, size)| start.checked_add(size));
        let span = start.zip(end).filter(|(_, end)| *end <= all.len()).map(|(start, end)| start..end);
        span.map(Some).ok_or_else(|| {
            format!("truncated: entry '{}' extends past the end of the file", shortened(name, 80)).into()
        })
    };
    if let Some(order) = span("byteorder")?
        && &all[order.clone()] != b"little"
    {
        return Err("its numbers are big-endian; save it again on a little-endian machine".into());
    }
    let data = span(DATA)?.ok_or("a zip archive without data.pkl")?;
    let (pickle, root, _) = Pickle::read(&all[data])?;
    let mut starts = Vec::with_capacity(pickle.storages.len());
    for storage in &pickle.storages {
        let missing = || Fault::Damaged(format!("storage '{}' is missing", shortened(&storage.key, 40)));
        let place = span(&format!("data/{}", storage.key))?.ok_or_else(missing)?;
        check_size(storage, place.len())?;
        starts.push(place.start);
    }
    Ok((pickle, root, starts))
}

fn check_size(storage: &super::pickle::Storage, there: usize) -> std::result::Result<(), Fault> {
    match storage.len.checked_mul(storage.dtype.bitsize() / 8) {
        Some(bytes) if bytes <= there => Ok(()),
        _ => Err(format!(
            "storage '{}' should have {} elements of type {:?} but has {there} bytes: the file is truncated or \
             damaged",
            shortened(&storage.key, 40),
            storage.len,
            storage.dtype
        )
        .into()),
    }
}

/// Parses the pickles with version, system, object and storage keys, followed by the storages, each prefixed by its length.
fn parse_legacy(all: &[u8]) -> Parsed {
    let mut at = LEGACY.len();
    let mut next = || {
        let (pickle, value, length) = Pickle::read(&all[at..])?;
        at += length;
        Ok::<_, Fault>((pickle, value))
    };
    next()?;
    let (system, about) = next()?;
    let says_big = |&(key, value): &(Value, Value)| {
        matches!(key, Value::Text(t) if system.texts[t] == "little_endian") && value == Value::Bool(false)
    };
    if matches!(about, Value::Dict(d) if system.dicts[d].iter().any(says_big)) {
        return Err("its numbers are big-endian; save it again on a little-endian machine".into());
    }
    let (pickle, root) = next()?;
    let (order, keys) = next()?;
    let Value::Items(keys) = keys else { return Err("it lists no storages".into()) };
    let mut starts = vec![None; pickle.storages.len()];
    for &key in &order.items[keys] {
        let Value::Text(key) = key else { return Err("it lists a storage without a name".into()) };
        let key = &order.texts[key];
        let found = pickle.storage_of(key).ok_or_else(|| format!("storage '{}' is unknown", shortened(key, 40)))?;
        let storage = &pickle.storages[found];
        let Some((length, rest)) = all[at..].split_first_chunk::<8>() else { return Err("truncated".into()) };
        check_size(storage, rest.len())?;
        if u64::from_le_bytes(*length) != storage.len as u64 {
            return Err(format!("storage '{}' does not have its stated length", shortened(key, 40)).into());
        }
        starts[found] = Some(at + 8);
        at += 8 + storage.len * (storage.dtype.bitsize() / 8);
    }
    let missing = || Fault::Damaged("a storage is missing".into());
    let starts = starts.into_iter().map(|s| s.ok_or_else(missing)).collect::<std::result::Result<_, _>>()?;
    Ok((pickle, root, starts))
}

//! Word vectors from text files in GloVe or word2vec format: one word and its numbers per line.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::arch::{Activation, Arch, Attention, Embedding, Head, Mlp, Network, Norm, NormKind, Place, Positions};
use super::array::Array;
use super::device::Device;
use super::dtype::Dtype;
use super::error::{ModelError, Result};
use super::tokenizer::{Split, Tokenizer, UNKNOWN, WordRules, split};
use super::{Model, Params};

/// Maximum line length in bytes, enough for 50,000 numbers.
const LONGEST_LINE: usize = 1 << 20;
/// Maximum size in bytes of a text file from which a vocabulary is collected.
const LARGEST_TEXT: u64 = 1 << 30;
/// Maximum sentence length in words.
const LONGEST_TEXT: usize = 1 << 16;

/// Path and options of a word-vector file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Address {
    /// Text file, possibly compressed (`.gz`).
    pub path: PathBuf,
    /// True if words are looked up in lower case; `None` means true if the file has no upper-case letters.
    pub fold: Option<bool>,
    /// Rule for splitting texts into words.
    pub split: Split,
    /// Text file whose words form the vocabulary; other vectors are skipped.
    pub vocabulary: Option<PathBuf>,
}

impl Address {
    /// Parses `PATH`, or `PATH` with the options `?lower`, `?cased`, `?spaces`, `?words=FILE`, joined by `&`.
    pub fn parse(text: &str, expand: impl Fn(&str) -> PathBuf) -> Result<Address> {
        let (path, options) = text.split_once('?').unwrap_or((text, ""));
        let mut address = Address { path: expand(path), ..Address::default() };
        for option in options.split('&').filter(|o| !o.is_empty()) {
            match option.split_once('=') {
                None if option == "lower" => address.fold = Some(true),
                None if option == "cased" => address.fold = Some(false),
                None if option == "spaces" => address.split = Split::Spaces,
                Some(("words", file)) if !file.is_empty() => address.vocabulary = Some(expand(file)),
                _ => {
                    let option = option.chars().take(40).collect::<String>().escape_debug().to_string();
                    return Err(ModelError::Config {
                        file: path.chars().take(200).collect::<String>().escape_debug().to_string(),
                        what: format!("unknown option '{option}'; known: lower, cased, spaces, words=FILE"),
                    });
                }
            }
        }
        Ok(address)
    }

    /// True if a path looks like word vectors: `.txt` or `.vec`, possibly with `.gz`.
    pub(crate) fn is_likely(path: &Path) -> bool {
        let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        (name.ends_with(".txt") || name.ends_with(".vec")) && path.is_file()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = Vec::new();
        if let Some(fold) = self.fold {
            options.push(if fold { "lower".to_owned() } else { "cased".to_owned() });
        }
        if self.split == Split::Spaces {
            options.push("spaces".into());
        }
        if let Some(file) = &self.vocabulary {
            options.push(format!("words={}", file.display()));
        }
        let mark = if options.is_empty() { "" } else { "?" };
        write!(f, "glove:{}{mark}{}", self.path.display(), options.join("&"))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StaticVectors {
    /// Words in file order; word i has row i + 1.
    pub words: Vec<String>,
    /// `[words + 1, d]`; row 0, for unknown words, is zero.
    pub vectors: Array,
    /// True if words are looked up in lower case.
    pub fold: bool,
    /// Number of lines that are ignored because they repeat a word.
    pub duplicates: usize,
    /// Number of lines with a word outside the requested vocabulary.
    pub skipped: usize,
}

impl StaticVectors {
    /// Reads a file line by line; memory is proportional to the words kept.
    pub(crate) fn read(address: &Address) -> Result<StaticVectors> {
        let wanted = address.vocabulary.as_deref().map(|p| vocabulary(p, address.split)).transpose()?;
        let label = address.path.display().to_string();
        let mut found = read_lines(&address.path, &label, wanted.as_ref())?;
        found.vectors.fold = address.fold.unwrap_or(!found.has_upper_case);
        Ok(found.vectors)
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Width d of a vector.
    pub(crate) fn width(&self) -> usize {
        self.vectors.width()
    }
}

impl Arch {
    /// Creates the architecture of word vectors: a table of `vocab` rows of `width` floats.
    pub fn table(vocab: usize, width: usize) -> Arch {
        Arch {
            family: "static".into(),
            network: Network::Table,
            vocab,
            hidden: width,
            layers: 0,
            heads: 1,
            kv_heads: 1,
            head_dim: width,
            intermediate: 1,
            max_positions: LONGEST_TEXT,
            embedding: Embedding::plain(width),
            positions: Positions::None,
            norm: Norm { kind: NormKind::Layer, eps: 1e-5 },
            place: Place::Post,
            attention: Attention { causal: false, qkv_bias: false, out_bias: false },
            mlp: Mlp { activation: Activation::Relu, gated: false, bias: false },
            shared_block: false,
            final_norm: false,
            head: Head::None,
            decoder: None,
        }
    }
}

/// Loads word vectors as a model whose only hook point is the table.
pub(super) fn load(address: &Address, device: Device, dtype: Dtype) -> Result<Model> {
    let vectors = StaticVectors::read(address)?;
    let label = address.path.display().to_string();
    let rules = WordRules { fold: vectors.fold, split: address.split, ..WordRules::default() };
    let tokenizer = Tokenizer::from_words(&label, &vectors.words, &rules)?;
    let arch = Arch::table(vectors.len() + 1, vectors.width());
    let mut params = Params::default();
    params.insert("embed.tokens.weight", vectors.vectors);
    Model::from_params_with(&address.to_string(), arch, params, Some(tokenizer), (device, dtype))
}

/// Returns the words in a text file, both as written and in lower case.
fn vocabulary(path: &Path, how: Split) -> Result<HashSet<String>> {
    let text = base::read::bytes(path, LARGEST_TEXT).map_err(ModelError::io(path))?;
    let mut words = HashSet::new();
    for word in String::from_utf8_lossy(&text).lines().flat_map(|line| split(how, line)) {
        words.insert(word.to_lowercase());
        words.insert(word);
    }
    // These are the words that encoders add around sentences.
    words.extend(["<s>", "</s>"].map(String::from));
    Ok(words)
}

struct Found {
    vectors: StaticVectors,
    has_upper_case: bool,
}

struct Line<'a> {
    label: &'a str,
    line: usize,
}

impl Line<'_> {
    fn wrong<T>(&self, what: impl fmt::Display) -> Result<T> {
        let hint = "expected one word and its numbers per line, separated by spaces";
        Err(ModelError::Weights { file: self.label.to_owned(), what: format!("line {}: {what}; {hint}", self.line) })
    }
}

fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let file = base::read::open(path).map_err(ModelError::io(path))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let packed = reader.fill_buf().map_err(ModelError::io(path))?.starts_with(&[0x1f, 0x8b]);
    Ok(if packed { Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(reader))) } else { Box::new(reader) })
}

fn read_lines(path: &Path, label: &str, wanted: Option<&HashSet<String>>) -> Result<Found> {
    let mut reader = open(path)?;
    let mut bytes = Vec::new();
    let (mut header, mut width, mut lines) = (None, None, 0);
    let mut seen: HashMap<String, u32> = HashMap::new();
    let (mut data, mut values) = (Vec::new(), Vec::new());
    let (mut duplicates, mut skipped, mut has_upper_case) = (0, 0, false);
    for line in 1.. {
        let place = Line { label, line };
        let Some(text) = next_line(&mut reader, &mut bytes, path, &place)? else { break };
        if line == 1
            && let Some((n, d)) = word2vec_header(text)
        {
            (header, width) = (Some(n), Some(d));
            continue;
        }
        if text.is_empty() {
            return place.wrong("it is empty");
        }
        lines += 1;
        // The first line determines the width; its word is assumed to contain no space.
        let d = *width.get_or_insert_with(|| text.split(BLANKS).count().saturating_sub(1));
        let word = numbers(text, d, &mut values, &place)?;
        has_upper_case |= word.chars().any(char::is_uppercase);
        if word == UNKNOWN || wanted.is_some_and(|w| !w.contains(word)) {
            skipped += 1;
        } else if seen.contains_key(word) {
            duplicates += 1;
        } else {
            seen.insert(word.to_owned(), seen.len() as u32);
            if data.is_empty() {
                // Row 0 is for unknown words.
                data.resize(d, 0.0);
            }
            data.extend_from_slice(&values);
            // Peak memory is up to three times the size of the numbers, because a full buffer is copied to one of twice its size.
            if lines % CHECK_EVERY == 0 {
                base::read::fits(3 * size_of_val(data.as_slice()) as u64).map_err(ModelError::io(path))?;
            }
        }
    }
    let wrong = |what: String| Err(ModelError::Weights { file: label.to_owned(), what });
    let Some(d) = width.filter(|_| lines > 0) else {
        return wrong("the file is empty; expected one word and its numbers per line".into());
    };
    if let Some(n) = header.filter(|n| *n != lines) {
        return wrong(format!(
            "the first line states {n} words, but there are {lines}: the file is truncated; fetch it again"
        ));
    }
    if seen.is_empty() {
        return wrong("the file has no vector for any word in the vocabulary".into());
    }
    let mut words = vec![String::new(); seen.len()];
    seen.into_iter().for_each(|(word, i)| words[i as usize] = word);
    let rows = words.len();
    let vectors = Array::new([rows + 1, d], data);
    Ok(Found { vectors: StaticVectors { words, vectors, fold: false, duplicates, skipped }, has_upper_case })
}

/// Number of lines between checks of the memory limit.
const CHECK_EVERY: usize = 1024;

const BLANKS: [char; 2] = [' ', '\t'];

/// Reads the next line without its end; `None` at the end of the file.
fn next_line<'a>(
    reader: &mut dyn BufRead,
    bytes: &'a mut Vec<u8>,
    path: &Path,
    place: &Line<'_>,
) -> Result<Option<&'a str>> {
    bytes.clear();
    let limit = LONGEST_LINE as u64 + 1;
    let n = reader.take(limit).read_until(b'\n', bytes).map_err(ModelError::io(path))?;
    if n == 0 {
        return Ok(None);
    }
    if bytes.contains(&0) {
        return place.wrong("a NUL byte: not a text file (the binary format of word2vec is not supported)");
    }
    if n > LONGEST_LINE {
        return place.wrong(format_args!("longer than {LONGEST_LINE} bytes"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(text.trim_end_matches(['\n', '\r', ' ', '\t']))),
        Err(_) => place.wrong("not UTF-8 text"),
    }
}

/// Parses the header `n d` of a word2vec file: exactly two whole numbers.
fn word2vec_header(text: &str) -> Option<(usize, usize)> {
    let mut parts = text.split(BLANKS);
    let (n, d) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (parts.next().is_none() && d > 0).then_some((n, d))
}

/// Parses the last `d` numbers of a line into `values`; returns the word before them, which may contain spaces.
fn numbers<'a>(text: &'a str, d: usize, values: &mut Vec<f32>, place: &Line<'_>) -> Result<&'a str> {
    values.clear();
    let shown = |s: &str| s.chars().take(40).collect::<String>().escape_debug().to_string();
    if d == 0 {
        return place.wrong("a word without numbers");
    }
    let mut rest = text;
    for _ in 0..d {
        let Some((before, piece)) = rest.rsplit_once(BLANKS) else {
            return place.wrong(format_args!("{} numbers; expected {d}", values.len()));
        };
        match piece.parse::<f32>() {
            Ok(v) if v.is_finite() => values.push(v),
            Ok(_) => return place.wrong(format_args!("'{}' is not a finite number", shown(piece))),
            Err(_) if values.len() + 1 < d && text.split(BLANKS).count() <= d => {
                let fields = text.split(BLANKS).count();
                return place.wrong(format_args!("{fields} fields; expected a word and {d} numbers"));
            }
            Err(_) => {
                return place.wrong(format_args!("'{}' is not a number; expected {d} numbers", shown(piece)));
            }
        }
        rest = before;
    }
    values.reverse();
    // Words may contain spaces (GloVe 840B), but if a word ends in a number, the line has too many numbers.
    let extra = rest.rsplit_once(BLANKS).is_some_and(|(_, last)| last.parse::<f32>().is_ok_and(f32::is_finite));
    if rest.is_empty() || extra {
        return place.wrong(format_args!("more than {d} numbers, or no word before them"));
    }
    Ok(rest)
}

#[cfg(test)]
mod tests;

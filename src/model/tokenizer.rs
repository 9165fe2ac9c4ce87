//! Conversion of text to token ids and back, as defined by the model's files.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::arch::Arch;
use super::error::{ModelError, Result};
use super::sentence::SETTINGS;
use super::source::Files;

pub use self::words::{Split, UNKNOWN, WordRules, split};

/// A tokenizer with the special tokens of its folder.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    file: String,
    special: Special,
    digest: [u8; 32],
    /// Differences from transformers, each with its remedy.
    notices: Vec<(String, String)>,
    /// True if tokens that are not in the vocabulary are dropped.
    drop_unknown: bool,
    /// Number of closing tokens that the tokenizer appends to a text but the model must not see.
    closing: usize,
    /// Number of embeddings in the model. Larger ids have no embedding.
    rows: usize,
}

/// Ids of special tokens; `None` if the tokenizer has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Special {
    /// Mask token, at whose position a word is predicted.
    pub mask: Option<u32>,
    /// First token in masked models.
    pub cls: Option<u32>,
    /// Separator and last token in masked models.
    pub sep: Option<u32>,
    pub pad: Option<u32>,
    /// Beginning of text.
    pub bos: Option<u32>,
    /// End of text.
    pub eos: Option<u32>,
    pub unk: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    pub ids: Vec<u32>,
    /// Tokens as spelled in the vocabulary.
    pub tokens: Vec<String>,
    /// Character range of each token in the text (end exclusive). A byte-level token can be half a character.
    pub offsets: Vec<(usize, usize)>,
    /// Sentence of a pair (0 or 1).
    pub types: Vec<u32>,
    /// True for tokens added by the tokenizer and special tokens in the text.
    pub is_special: Vec<bool>,
    /// Word of each token according to pre-tokenization; `None` for added tokens.
    pub words: Vec<Option<u32>>,
}

/// Optional files that accompany a tokenizer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// Text of `special_tokens_map.json`.
    pub special_tokens_map: Option<&'a str>,
    /// Text of `tokenizer_config.json`.
    pub tokenizer_config: Option<&'a str>,
    /// Text of `added_tokens.json`.
    pub added_tokens: Option<&'a str>,
    /// Text of `config.json`; its `model_type` determines the tokenizer if no tokenizer class is named.
    pub config: Option<&'a str>,
    /// Text of `sentence_bert_config.json` or of an older file of that kind.
    pub sentence: Option<&'a str>,
}

impl Tokenizer {
    /// Creates a tokenizer from a `tokenizer.json` and disables its padding and truncation. Batches are padded elsewhere, and sentences are
    /// never truncated silently.
    ///
    /// # Errors
    /// [`ModelError::Config`] if the text is not a tokenizer.
    pub fn from_json(file: &str, text: &[u8], extras: Extras<'_>) -> Result<Tokenizer> {
        let wrong = |what: String| ModelError::Config { file: file.to_owned(), what };
        let files = outside::Files::parse(extras).map_err(wrong)?;
        let (merged, mut notices) = outside::merge_settings(text, &files).map_err(wrong)?;
        bounds::check(&merged).map_err(wrong)?;
        let mut inner = guarded(|| tokenizers::Tokenizer::from_bytes(&merged))
            .map_err(|e| wrong(format!("not a valid tokenizer: {}", e.escape_debug())))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| wrong(e.to_string()))?;
        notices.extend(rebuilt::differences(&inner, text, &merged, &files));
        let special = Special::find(&inner, extras).map_err(|e| wrong(format!("special tokens: {e}")))?;
        Ok(Tokenizer {
            inner,
            file: file.to_owned(),
            special,
            digest: Sha256::digest(&merged).into(),
            notices,
            drop_unknown: false,
            closing: 0,
            rows: usize::MAX,
        })
    }

    /// Loads a folder's tokenizer in any supported format; `None` if there is none.
    pub fn from_dir(dir: &Path) -> Result<Option<Tokenizer>> {
        let files = Files::Dir(dir.to_owned());
        Tokenizer::from_files(&files.label(), |name| Ok(files.read(name)?.map(Cow::into_owned)))
    }

    /// Loads a tokenizer through a function that reads named files.
    pub fn from_files(place: &str, read: impl Fn(&str) -> Result<Option<Vec<u8>>>) -> Result<Option<Tokenizer>> {
        let label = |name: &str| format!("{place}/{name}");
        let text = |name: &str| -> Result<Option<String>> {
            let wrong = |_| ModelError::Config { file: label(name), what: "not UTF-8 text".into() };
            read(name)?.map(|b| String::from_utf8(b).map_err(wrong)).transpose()
        };
        let map = text("special_tokens_map.json")?;
        let config = text("tokenizer_config.json")?;
        let added = text("added_tokens.json")?;
        let model = text("config.json")?;
        let sentence = SETTINGS.iter().find_map(|name| text(name).transpose()).transpose()?;
        let extras = Extras {
            special_tokens_map: map.as_deref(),
            tokenizer_config: config.as_deref(),
            added_tokens: added.as_deref(),
            config: model.as_deref(),
            sentence: sentence.as_deref(),
        };
        if let Some(bytes) = read("tokenizer.json")? {
            return Tokenizer::from_json(&label("tokenizer.json"), &bytes, extras).map(Some);
        }
        if let Some(vocab) = text("vocab.txt")? {
            return Tokenizer::from_vocab_txt(&label("vocab.txt"), &vocab, extras).map(Some);
        }
        if let (Some(vocab), Some(merges)) = (text("vocab.json")?, text("merges.txt")?) {
            return Tokenizer::from_bpe(&label("vocab.json"), &vocab, &merges, extras).map(Some);
        }
        Ok(None)
    }

    /// Adapts the tokenizer to a model. A causal model continues a text, so it must not see the tokens that a tokenizer appends. The number
    /// of embeddings is recorded to detect ids without one.
    #[must_use]
    pub fn for_model(mut self, arch: &Arch) -> Tokenizer {
        self.rows = arch.vocab;
        let rows = self.rows as u64;
        self.special.pad = self.special.pad.filter(|id| u64::from(*id) < rows);
        self.special.eos = self.special.eos.filter(|id| u64::from(*id) < rows);
        if let Some(mask) = self.special.mask.take_if(|id| u64::from(*id) >= rows) {
            let what = format!(
                "the mask token has the id {mask}, but the model has only {rows} embeddings: masks cannot be predicted"
            );
            self.notices.push((what, "correct mask_token in tokenizer_config.json, or resize the embeddings".into()));
        }
        if arch.is_causal() {
            self.closing = ["a", ".", "0"].iter().find_map(|t| self.closing_of(t)).unwrap_or(0);
        }
        self
    }

    /// Number of special tokens after a text; `None` for a text without tokens.
    fn closing_of(&self, text: &str) -> Option<usize> {
        let own = guarded(|| self.inner.encode(text, true)).ok()?.get_sequence_ids();
        own.iter().rev().position(Option::is_some)
    }

    /// Encodes a text for the model, with the tokenizer's special tokens.
    ///
    /// # Errors
    /// [`ModelError::Config`] if the tokenizer fails, for example at the limits of a regular expression.
    pub fn encode(&self, text: &str) -> Result<Encoding> {
        let mut e = self.encode_closed(text)?;
        let shown = e.ids.len().saturating_sub(self.closing);
        e.ids.truncate(shown);
        e.tokens.truncate(shown);
        e.offsets.truncate(shown);
        e.types.truncate(shown);
        e.is_special.truncate(shown);
        e.words.truncate(shown);
        Ok(e)
    }

    /// Token ids as in [`Tokenizer::encode`], an eighth faster because no offsets are computed.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>> {
        let e = guarded(|| self.inner.encode_fast(text, true)).map_err(|e| self.wrong(e))?;
        let mut ids = e.get_ids().to_vec();
        if self.drop_unknown {
            ids.retain(|id| Some(*id) != self.special.unk);
        }
        ids.truncate(ids.len().saturating_sub(self.closing));
        Ok(ids)
    }

    /// Encodes a text including the closing tokens, even for a causal model.
    pub(crate) fn encode_closed(&self, text: &str) -> Result<Encoding> {
        self.run(tokenizers::EncodeInput::from(text), true)
    }

    /// Encodes a text without special tokens.
    pub fn encode_bare(&self, text: &str) -> Result<Encoding> {
        self.run(tokenizers::EncodeInput::from(text), false)
    }

    pub fn encode_pair(&self, first: &str, second: &str) -> Result<Encoding> {
        self.run(tokenizers::EncodeInput::from((first, second)), true)
    }

    fn run(&self, input: tokenizers::EncodeInput<'_>, frame: bool) -> Result<Encoding> {
        let e = guarded(|| self.inner.encode_char_offsets(input, frame)).map_err(|e| self.wrong(e))?;
        let kept: Vec<usize> =
            (0..e.len()).filter(|i| !self.drop_unknown || Some(e.get_ids()[*i]) != self.special.unk).collect();
        Ok(Encoding {
            ids: kept.iter().map(|i| e.get_ids()[*i]).collect(),
            tokens: kept.iter().map(|i| e.get_tokens()[*i].clone()).collect(),
            offsets: kept.iter().map(|i| e.get_offsets()[*i]).collect(),
            types: kept.iter().map(|i| e.get_type_ids()[*i]).collect(),
            is_special: kept.iter().map(|i| e.get_special_tokens_mask()[*i] != 0).collect(),
            words: kept.iter().map(|i| e.get_word_ids()[*i]).collect(),
        })
    }

    /// Decodes ids, optionally without special tokens.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        guarded(|| self.inner.decode(ids, skip_special)).map_err(|e| self.wrong(e))
    }

    #[cfg(test)]
    pub(crate) fn to_json(&self) -> Result<String> {
        self.inner.to_string(false).map_err(|e| self.wrong(e.to_string()))
    }

    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// Returns the single id of a word in running text, with a space before it if the tokenizer marks spaces; `None`
    /// for several tokens or an unknown word.
    pub fn word_id(&self, word: &str) -> Option<u32> {
        for text in [format!(" {word}"), word.to_owned()] {
            if let Ok(e) = self.encode_bare(&text)
                && e.ids.len() == 1
                && self.knows(&e.ids)
            {
                return Some(e.ids[0]);
            }
        }
        None
    }

    /// True if no token is unknown or lacks an embedding in the model.
    pub fn knows(&self, ids: &[u32]) -> bool {
        ids.iter().all(|id| Some(*id) != self.special.unk && (*id as usize) < self.rows)
    }

    pub fn special_ids(&self) -> Vec<u32> {
        let added = self.inner.get_added_tokens_decoder();
        let s = self.special;
        let roles = [s.mask, s.cls, s.sep, s.pad, s.bos, s.eos, s.unk].into_iter().flatten();
        let mut ids: Vec<u32> = added.into_iter().filter(|(_, t)| t.special).map(|(id, _)| id).chain(roles).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub fn special(&self) -> Special {
        self.special
    }

    /// Id for padding: the pad token, else the end of text, else 0. Padding is masked, so any id works.
    pub fn pad_id(&self) -> u32 {
        self.special.pad.or(self.special.eos).unwrap_or(0)
    }

    pub fn mask_token(&self) -> Option<String> {
        self.special.mask.and_then(|id| self.token(id))
    }

    /// Number of entries, including added tokens.
    pub fn len(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Differences from transformers, each with its remedy.
    pub(crate) fn notices(&self) -> &[(String, String)] {
        &self.notices
    }

    /// SHA-256 of the defining file.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    fn wrong(&self, what: String) -> ModelError {
        ModelError::Config { file: self.file.clone(), what: what.escape_debug().to_string() }
    }
}

/// Runs the tokenizer library and converts panics to errors. The library panics on some inconsistent files, such as a template with an
/// undefined token.
fn guarded<T>(work: impl FnOnce() -> tokenizers::Result<T>) -> std::result::Result<T, String> {
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|e| e.to_string()),
        Err(_) => Err("the file is inconsistent; fetch it again".into()),
    }
}

impl Special {
    /// Determines the roles from `special_tokens_map.json`, then `tokenizer_config.json`, then common spellings.
    fn find(inner: &tokenizers::Tokenizer, extras: Extras<'_>) -> serde_json::Result<Special> {
        let parse = |t: Option<&str>| t.map(serde_json::from_str::<Value>).transpose();
        let added = inner.get_added_tokens_decoder();
        let sources = [parse(extras.special_tokens_map)?, parse(extras.tokenizer_config)?];
        let role = |key: &str, common: &[&str]| {
            let named = sources.iter().flatten().find_map(|s| {
                let v = s.get(key)?;
                let content = v.as_str().or_else(|| v.get("content").and_then(Value::as_str))?;
                inner.token_to_id(content)
            });
            named.or_else(|| common.iter().find_map(|t| inner.token_to_id(t)))
        };
        Ok(Special {
            // T5's first sentinel also serves as a mask. A plain entry of the vocabulary is not a mask.
            mask: role("mask_token", &["[MASK]", "<mask>", "<extra_id_0>"]).filter(|id| added.contains_key(id)),
            cls: role("cls_token", &["[CLS]", "<s>"]),
            sep: role("sep_token", &["[SEP]", "</s>"]),
            pad: role("pad_token", &["[PAD]", "<pad>"]),
            bos: role("bos_token", &["<s>", "<|endoftext|>"]),
            eos: role("eos_token", &["</s>", "<|endoftext|>"]),
            unk: role("unk_token", &["[UNK]", "<unk>"]),
        })
    }
}

mod bounds;
mod classes;
mod outside;
mod rebuilt;
#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

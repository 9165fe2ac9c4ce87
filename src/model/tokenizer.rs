//! Conversion of text to token ids and back, as defined by the model's files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::arch::Arch;
use super::error::{ModelError, Result};
use super::source::Files;

pub use self::words::{Split, UNKNOWN, WordRules, split};

/// A tokenizer with the special tokens of its folder.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    file: String,
    special: Special,
    digest: [u8; 32],
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
}

impl Tokenizer {
    /// Creates a tokenizer from a `tokenizer.json` and disables its padding and truncation. Batches are padded elsewhere, and sentences are
    /// never truncated silently.
    ///
    /// # Errors
    /// [`ModelError::Config`] if the text is not a tokenizer.
    pub fn from_json(file: &str, text: &[u8], extras: Extras<'_>) -> Result<Tokenizer> {
        let wrong = |what: String| ModelError::Config { file: file.to_owned(), what };
        let text = outside::honoured(text, extras).map_err(wrong)?;
        bounds::check(&text).map_err(wrong)?;
        let mut inner = guarded(|| tokenizers::Tokenizer::from_bytes(&text))
            .map_err(|e| wrong(format!("not a valid tokenizer: {}", e.escape_debug())))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| wrong(e.to_string()))?;
        let special = Special::find(&inner, extras).map_err(|e| wrong(format!("special tokens: {e}")))?;
        Ok(Tokenizer {
            inner,
            file: file.to_owned(),
            special,
            digest: Sha256::digest(&text).into(),
            drop_unknown: false,
            closing: 0,
            rows: usize::MAX,
        })
    }

    /// Creates a WordPiece tokenizer from a BERT `vocab.txt`; texts are lower-cased unless `tokenizer_config.json` specifies otherwise.
    pub fn from_vocab_txt(file: &str, text: &str, extras: Extras<'_>) -> Result<Tokenizer> {
        let vocab: BTreeMap<&str, usize> =
            text.lines().map(str::trim_end).enumerate().map(|(id, token)| (token, id)).collect();
        let id = |token: &str| {
            vocab.get(token).copied().ok_or_else(|| ModelError::Config {
                file: file.to_owned(),
                what: format!("the vocabulary has no {token}"),
            })
        };
        let (cls, sep) = (id("[CLS]")?, id("[SEP]")?);
        let config = extras.tokenizer_config.and_then(|t| serde_json::from_str::<Value>(t).ok());
        let flag = |key: &str| config.as_ref().and_then(|c| c.get(key)).and_then(Value::as_bool);
        let lower = flag("do_lower_case").unwrap_or(true);
        let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
        let added: Vec<Value> =
            special.iter().filter_map(|t| vocab.get(t).map(|&i| added_token(i, t, false))).collect();
        let frame = |id: &str, types: u8| json!({"SpecialToken": {"id": id, "type_id": types}});
        let text = |id: &str, types: u8| json!({"Sequence": {"id": id, "type_id": types}});
        let single = vec![frame("[CLS]", 0), text("A", 0), frame("[SEP]", 0)];
        let pair = [&single[..], &[text("B", 1), frame("[SEP]", 1)]].concat();
        let template = json!({
            "type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [cls], "tokens": ["[CLS]"]},
                "[SEP]": {"id": "[SEP]", "ids": [sep], "tokens": ["[SEP]"]},
            },
        });
        let file_json = json!({
            "version": "1.0",
            "added_tokens": added,
            "normalizer": {"type": "BertNormalizer", "clean_text": true,
                "handle_chinese_chars": flag("tokenize_chinese_chars").unwrap_or(true),
                "strip_accents": flag("strip_accents"), "lowercase": lower},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": template,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocab},
        });
        Tokenizer::from_json(file, file_json.to_string().as_bytes(), extras)
    }

    /// Creates a byte-level BPE tokenizer from `vocab.json` and `merges.txt`. A vocabulary with `<s>`, `</s>` and `<mask>` is RoBERTa's,
    /// with special tokens around each text; any other is GPT-2's, without them.
    pub fn from_bpe(file: &str, vocab: &str, merges: &str, extras: Extras<'_>) -> Result<Tokenizer> {
        let wrong = |what: String| ModelError::Config { file: file.to_owned(), what };
        let vocab: BTreeMap<String, u32> =
            serde_json::from_str(vocab).map_err(|e| wrong(format!("not a valid vocabulary: {e}")))?;
        let merges: Vec<&str> = merges.lines().filter(|l| !l.starts_with("#version") && !l.trim().is_empty()).collect();
        let roberta = ["<s>", "</s>", "<mask>"].iter().all(|t| vocab.contains_key(*t));
        let special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"];
        let added: Vec<Value> =
            special.iter().filter_map(|t| vocab.get(*t).map(|&i| added_token(i as usize, t, *t == "<mask>"))).collect();
        let post = if roberta {
            json!({"type": "RobertaProcessing", "sep": ["</s>", vocab["</s>"]], "cls": ["<s>", vocab["<s>"]],
                "trim_offsets": true, "add_prefix_space": false})
        } else {
            json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true})
        };
        let byte_level =
            json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
        let file_json = json!({
            "version": "1.0", "added_tokens": added, "normalizer": null,
            "pre_tokenizer": byte_level, "post_processor": post, "decoder": byte_level,
            "model": {"type": "BPE", "vocab": vocab, "merges": merges},
        });
        Tokenizer::from_json(file, file_json.to_string().as_bytes(), extras)
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
        let extras = Extras {
            special_tokens_map: map.as_deref(),
            tokenizer_config: config.as_deref(),
            added_tokens: added.as_deref(),
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

    /// SHA-256 of the file that defines the tokenizer.
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

fn added_token(id: usize, content: &str, lstrip: bool) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": lstrip, "rstrip": false,
        "normalized": false, "special": true})
}

impl Special {
    /// Determines the roles from `special_tokens_map.json`, then `tokenizer_config.json`, then common spellings.
    fn find(inner: &tokenizers::Tokenizer, extras: Extras<'_>) -> serde_json::Result<Special> {
        let parse = |t: Option<&str>| t.map(serde_json::from_str::<Value>).transpose();
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
            // T5's first sentinel also serves as a mask.
            mask: role("mask_token", &["[MASK]", "<mask>", "<extra_id_0>"]),
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
mod outside;
#[cfg(test)]
mod tests;
mod words;

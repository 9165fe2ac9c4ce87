//! Tokenizers from vocabulary files, for folders without `tokenizer.json`. As in transformers, the tokenizer class determines how texts
//! are split, which tokens are special, and which tokens surround a text.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::outside::{Files, ROLES, added};
use super::{Extras, Tokenizer};
use crate::error::{ModelError, Result};

/// Regular expression by which Qwen2 splits texts.
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Splits as Qwen2 does before a byte-level step.
pub(super) fn qwen2_split(byte_level: Value) -> Value {
    json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": QWEN2}, "behavior": "Isolated", "invert": false},
        byte_level,
    ]})
}

/// Kind of byte-level tokenizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gpt2,
    NeoX,
    Qwen2,
    Roberta,
}

impl Kind {
    /// Chooses by tokenizer class, else by model type, else by the vocabulary: one with `<s>`, `</s>` and `<mask>` is RoBERTa's.
    fn of(files: &Files, vocab: &BTreeMap<String, u32>) -> Kind {
        let roberta = ["<s>", "</s>", "<mask>"].iter().all(|t| vocab.contains_key(*t));
        match files.class().or(files.model_type()) {
            Some("GPT2Tokenizer" | "gpt2") => Kind::Gpt2,
            Some("GPTNeoXTokenizer" | "gpt_neox") => Kind::NeoX,
            Some("Qwen2Tokenizer" | "qwen2" | "qwen3") => Kind::Qwen2,
            Some("RobertaTokenizer" | "BartTokenizer" | "LongformerTokenizer" | "roberta" | "bart") => Kind::Roberta,
            _ if roberta => Kind::Roberta,
            _ => Kind::Gpt2,
        }
    }

    /// Special tokens by role, used unless a file names others.
    fn special(self) -> &'static [(&'static str, &'static str)] {
        const END: &str = "<|endoftext|>";
        match self {
            Kind::Gpt2 => &[("bos_token", END), ("eos_token", END), ("unk_token", END)],
            Kind::NeoX => &[("bos_token", END), ("eos_token", END), ("unk_token", END), ("pad_token", "<|padding|>")],
            Kind::Qwen2 => &[("eos_token", END), ("unk_token", END), ("pad_token", END)],
            Kind::Roberta => &[
                ("bos_token", "<s>"),
                ("eos_token", "</s>"),
                ("unk_token", "<unk>"),
                ("sep_token", "</s>"),
                ("pad_token", "<pad>"),
                ("cls_token", "<s>"),
                ("mask_token", "<mask>"),
            ],
        }
    }
}

/// Special tokens of BERT by role.
const BERT: [(&str, &str); 5] = [
    ("unk_token", "[UNK]"),
    ("sep_token", "[SEP]"),
    ("pad_token", "[PAD]"),
    ("cls_token", "[CLS]"),
    ("mask_token", "[MASK]"),
];

/// A vocabulary with its special tokens.
struct Special<'a> {
    file: &'a str,
    /// Spelling by role.
    roles: BTreeMap<&'static str, String>,
    /// Special tokens to add that no other file names.
    added: Vec<Value>,
}

impl<'a> Special<'a> {
    fn find(file: &'a str, files: &Files, defaults: &[(&str, &str)], id: impl Fn(&str) -> Option<u64>) -> Special<'a> {
        let mut special = Special { file, roles: BTreeMap::new(), added: Vec::new() };
        for role in ROLES {
            let default = || defaults.iter().find(|d| d.0 == role).map(|d| d.1.to_owned());
            let Some(content) = files.role(role).unwrap_or_else(default) else { continue };
            let listed = special.added.iter().any(|t| t["content"] == content.as_str());
            if let Some(id) = id(&content).filter(|_| files.role(role).is_none() && !listed) {
                let mut token = added(&json!(content), true).unwrap_or_default();
                token.insert("id".into(), id.into());
                special.added.push(token.into());
            }
            special.roles.insert(role, content);
        }
        special
    }

    /// Returns the spelling and id of the token with a role.
    fn token(&self, role: &str, id: impl Fn(&str) -> Option<u64>) -> Result<(&str, u64)> {
        let content = self.roles.get(role).map_or("", String::as_str);
        let what = || match content {
            "" => format!("no {role} is given; set it in tokenizer_config.json"),
            _ => format!("the vocabulary has no {}, the {role}; correct one of them", content.escape_debug()),
        };
        let id = id(content).ok_or_else(|| ModelError::Config { file: self.file.to_owned(), what: what() })?;
        Ok((content, id))
    }
}

/// Creates a template that puts tokens around a text, and around both texts of a pair.
fn template(before: Option<(&str, u64)>, after: Option<(&str, u64)>, repeated: bool) -> Value {
    let frame = |t: Option<(&str, u64)>, types: u8| t.map(|t| json!({"SpecialToken": {"id": t.0, "type_id": types}}));
    let text = |id: &str, types: u8| Some(json!({"Sequence": {"id": id, "type_id": types}}));
    let join = |parts: &[Option<Value>]| parts.iter().flatten().cloned().collect::<Vec<_>>();
    let single = join(&[frame(before, 0), text("A", 0), frame(after, 0)]);
    let second = join(&[frame(before.filter(|_| repeated), 1), text("B", 1), frame(after, 1)]);
    let tokens = [before, after].into_iter().flatten();
    let tokens: serde_json::Map<String, Value> =
        tokens.map(|(t, id)| (t.to_owned(), json!({"id": t, "ids": [id], "tokens": [t]}))).collect();
    let pair = [&single[..], &second].concat();
    json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens})
}

impl Tokenizer {
    /// Creates a WordPiece tokenizer from a BERT `vocab.txt`; texts are lower-cased unless `tokenizer_config.json` specifies otherwise.
    pub fn from_vocab_txt(file: &str, text: &str, extras: Extras<'_>) -> Result<Tokenizer> {
        let vocab: BTreeMap<&str, u64> = text.lines().map(str::trim_end).zip(0..).collect();
        let id = |token: &str| vocab.get(token).copied();
        let files = Files::parse(extras).map_err(|what| ModelError::Config { file: file.to_owned(), what })?;
        let special = Special::find(file, &files, &BERT, id);
        let (cls, sep) = (special.token("cls_token", id)?, special.token("sep_token", id)?);
        let flag = |key: &str| files.flag(key);
        let file_json = json!({
            "version": "1.0",
            "added_tokens": special.added,
            "normalizer": {"type": "BertNormalizer", "clean_text": true,
                "handle_chinese_chars": flag("tokenize_chinese_chars").unwrap_or(true),
                "strip_accents": flag("strip_accents"), "lowercase": flag("do_lower_case").unwrap_or(true)},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": template(Some(cls), Some(sep), false),
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
            "model": {"type": "WordPiece", "unk_token": special.roles["unk_token"], "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocab},
        });
        Tokenizer::from_json(file, file_json.to_string().as_bytes(), extras)
    }

    /// Creates a byte-level BPE tokenizer from `vocab.json` and `merges.txt`, as in GPT-2, GPT-NeoX, Qwen2 or RoBERTa. Of these, only
    /// RoBERTa's puts special tokens around each text by default.
    pub fn from_bpe(file: &str, vocab: &str, merges: &str, extras: Extras<'_>) -> Result<Tokenizer> {
        let wrong = |what: String| ModelError::Config { file: file.to_owned(), what };
        let vocab: BTreeMap<String, u32> =
            serde_json::from_str(vocab).map_err(|e| wrong(format!("not a valid vocabulary: {e}")))?;
        let merges: Vec<&str> = merges.lines().filter(|l| !l.starts_with("#version") && !l.trim().is_empty()).collect();
        let id = |token: &str| vocab.get(token).map(|id| u64::from(*id));
        let files = Files::parse(extras).map_err(wrong)?;
        let kind = Kind::of(&files, &vocab);
        let special = Special::find(file, &files, kind.special(), id);
        let spaced = files.flag("add_prefix_space").unwrap_or(false);
        let framed = |key: &str, role: &str| -> Result<Option<(&str, u64)>> {
            let on = files.flag(key) == Some(true) && special.roles.contains_key(role);
            on.then(|| special.token(role, id)).transpose()
        };
        let post = if kind == Kind::Roberta {
            let (sep, cls) = (special.token("sep_token", id)?, special.token("cls_token", id)?);
            json!({"type": "RobertaProcessing", "sep": sep, "cls": cls, "trim_offsets": true, "add_prefix_space": spaced})
        } else {
            match (framed("add_bos_token", "bos_token")?, framed("add_eos_token", "eos_token")?) {
                (None, None) => {
                    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true})
                }
                (before, after) => template(before, after, true),
            }
        };
        let byte_level = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": spaced, "trim_offsets": true, "use_regex": use_regex});
        let pre_tokenizer = match kind {
            Kind::Qwen2 => qwen2_split(byte_level(false)),
            _ => byte_level(true),
        };
        let normalizer = matches!(kind, Kind::NeoX | Kind::Qwen2).then(|| json!({"type": "NFC"}));
        let file_json = json!({
            "version": "1.0", "added_tokens": special.added, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": post, "decoder": byte_level(true),
            "model": {"type": "BPE", "vocab": vocab, "merges": merges},
        });
        Tokenizer::from_json(file, file_json.to_string().as_bytes(), extras)
    }
}

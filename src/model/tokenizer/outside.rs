//! Tokens and settings outside `tokenizer.json`. As in transformers, they are merged into its text before the library parses it.
//!
//! The sources are `added_tokens.json`, and in `tokenizer_config.json` and `special_tokens_map.json` the added and special tokens,
//! `add_prefix_space` and the options of BERT's normalizer. As in transformers 5, `add_bos_token` and `add_eos_token` have no effect,
//! because the stored post-processor determines the tokens around a text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Extras;
use crate::families::python_json;

/// Keys that name special tokens.
pub(super) const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// Parts of a `tokenizer.json` that other files can override.
#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    added_tokens: Vec<Added>,
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
}

#[derive(Deserialize)]
struct Added {
    content: String,
}

/// A token named by an accompanying file.
struct Outside {
    file: &'static str,
    id: Option<u64>,
    token: Map<String, Value>,
}

/// Text of a tokenizer with everything merged, and notices with remedies.
type Merged<'a> = (Cow<'a, [u8]>, Vec<(String, String)>);

/// Merges all external tokens and settings into the text.
///
/// # Errors
/// A sentence that names the file and the token or setting that cannot be applied.
pub(super) fn merge_settings<'a>(text: &'a [u8], files: &Files) -> Result<Merged<'a>, String> {
    // The library has a better error for text that is not a tokenizer.
    let Ok(parts) = serde_json::from_slice::<Parts>(text) else { return Ok((Cow::Borrowed(text), Vec::new())) };
    let mut tokens = files.tokens()?;
    tokens.retain(|t| !parts.added_tokens.iter().any(|a| Some(a.content.as_str()) == t.content()));
    let mut normalizer = files.normalizer(&parts.normalizer);
    if files.lowers_sentences() {
        normalizer = Some(files.for_sentences(normalizer.unwrap_or(parts.normalizer)));
    }
    let pre_tokenizer = files.pre_tokenizer(&parts.pre_tokenizer);
    let mut notices = Vec::new();
    if tokens.is_empty() && normalizer.is_none() && pre_tokenizer.is_none() {
        return Ok((Cow::Borrowed(text), notices));
    }
    let mut whole: Value = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    for (key, changed) in [("normalizer", normalizer), ("pre_tokenizer", pre_tokenizer)] {
        if let Some(changed) = changed {
            whole[key] = changed;
        }
    }
    for token in tokens {
        notices.extend(token.put(&mut whole)?);
    }
    Ok((Cow::Owned(whole.to_string().into_bytes()), notices))
}

/// Tokenizer classes that apply the options of BERT's normalizer in `tokenizer_config.json`.
pub(super) const WORDPIECE: [&str; 10] = [
    "BertTokenizer",
    "ConvBertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "FunnelTokenizer",
    "LayoutLMTokenizer",
    "LxmertTokenizer",
    "MPNetTokenizer",
    "MobileBertTokenizer",
    "SqueezeBertTokenizer",
];

/// Parsed accompanying files; null if missing.
pub(super) struct Files {
    config: Value,
    map: Value,
    model: Value,
    sentence: Value,
    added: BTreeMap<String, u64>,
}

impl Files {
    pub(super) fn parse(extras: Extras<'_>) -> Result<Files, String> {
        let parse = |name: &str, text: Option<&str>| match text {
            None => Ok(Value::Null),
            Some(t) => serde_json::from_str(t).map_err(|e| format!("special tokens: {name}: {e}")),
        };
        let added = parse("added_tokens.json", extras.added_tokens)?;
        let added: Option<BTreeMap<String, u64>> = serde_json::from_value(added)
            .map_err(|e| format!("added_tokens.json: {e}; expected an object that maps tokens to ids"))?;
        Ok(Files {
            config: parse("tokenizer_config.json", extras.tokenizer_config)?,
            map: parse("special_tokens_map.json", extras.special_tokens_map)?,
            sentence: extras.sentence.and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default(),
            model: extras.config.and_then(|t| python_json(t).ok()).unwrap_or_default(),
            added: added.unwrap_or_default(),
        })
    }

    /// Tokenizer class, without the suffix of fast tokenizers.
    pub(super) fn class(&self) -> Option<&str> {
        let class = self.config.get("tokenizer_class")?.as_str()?;
        Some(class.strip_suffix("Fast").unwrap_or(class))
    }

    /// Tokenizer class in `config.json`, without the suffix of fast tokenizers.
    pub(super) fn model_class(&self) -> Option<&str> {
        let class = self.model.get("tokenizer_class")?.as_str()?;
        Some(class.strip_suffix("Fast").unwrap_or(class))
    }

    /// Special and added tokens that `tokenizer_config.json` names by id.
    pub(super) fn numbered(&self) -> Option<&Map<String, Value>> {
        self.config.get("added_tokens_decoder")?.as_object()
    }

    pub(super) fn model_type(&self) -> Option<&str> {
        self.model.get("model_type")?.as_str()
    }

    /// Returns a switch in `tokenizer_config.json`.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.config.get(key)?.as_bool()
    }

    /// Returns a number in `tokenizer_config.json`.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.config.get(key)?.as_u64()
    }

    /// Returns the spelling of the token with a role; `Some(None)` if a file says that there is none.
    pub(super) fn role(&self, role: &str) -> Option<Option<String>> {
        let named = [&self.map, &self.config].into_iter().find_map(|file| file.get(role))?;
        Some(named.as_str().or_else(|| named.get("content")?.as_str()).map(str::to_owned))
    }

    /// True if transformers builds BERT's normalizer from `tokenizer_config.json`.
    fn is_wordpiece(&self) -> bool {
        self.class().is_none_or(|class| WORDPIECE.contains(&class))
    }

    /// Special tokens in the files that transformers reads: those in `special_tokens_map.json` only if no tokens are named by id.
    pub(super) fn special(&self) -> impl Iterator<Item = &Value> {
        let map = Some(&self.map).filter(|_| self.numbered().is_none());
        map.into_iter().chain([&self.config]).flat_map(special_tokens)
    }

    /// True if sentence-transformers lower-cases texts before it passes them to the tokenizer.
    fn lowers_sentences(&self) -> bool {
        self.sentence.get("do_lower_case") == Some(&Value::Bool(true))
    }

    /// Adds the lower-casing of sentence-transformers, if any, to a normalizer.
    pub(super) fn for_sentences(&self, normalizer: Value) -> Value {
        if !self.lowers_sentences() {
            return normalizer;
        }
        let own = Some(normalizer).filter(|n| !n.is_null());
        let steps: Vec<Value> = std::iter::once(json!({"type": "Lowercase"})).chain(own).collect();
        json!({"type": "Sequence", "normalizers": steps})
    }

    /// Returns all named tokens: those with ids first, in order of id.
    fn tokens(&self) -> Result<Vec<Outside>, String> {
        let mut found: Vec<Outside> = Vec::new();
        let decoder = self.numbered();
        for (id, token) in decoder.into_iter().flatten() {
            let id = id.parse().map_err(|_| {
                format!("tokenizer_config.json: added_tokens_decoder: '{}' is not an id", id.escape_debug())
            })?;
            found.extend(Outside::read("tokenizer_config.json", Some(id), token, true));
        }
        let special: Vec<Outside> = [("special_tokens_map.json", &self.map), ("tokenizer_config.json", &self.config)]
            .into_iter()
            .flat_map(|(file, named)| special_tokens(named).filter_map(move |t| Outside::read(file, None, t, true)))
            .collect();
        if decoder.is_none() {
            for (content, id) in &self.added {
                let is_special = special.iter().any(|t| t.content() == Some(content));
                found.extend(Outside::read("added_tokens.json", Some(*id), &json!(content), is_special));
            }
        }
        found.sort_by_key(|t| t.id);
        for token in special {
            if !found.iter().any(|t| t.content() == token.content()) {
                found.push(token);
            }
        }
        Ok(found)
    }

    /// Returns BERT's normalizer with the options of `tokenizer_config.json`, if they change it.
    fn normalizer(&self, stored: &Value) -> Option<Value> {
        // transformers uses the stored normalizer unchanged for other classes.
        if stored.get("type")? != "BertNormalizer" || !self.is_wordpiece() {
            return None;
        }
        let switches = [
            ("do_lower_case", "lowercase"),
            ("strip_accents", "strip_accents"),
            ("tokenize_chinese_chars", "handle_chinese_chars"),
        ];
        let mut changed = stored.clone();
        for (setting, switch) in switches {
            if let Some(on) = self.config.get(setting).filter(|v| v.is_boolean()) {
                changed[switch] = on.clone();
            }
        }
        Some(changed).filter(|c| c != stored)
    }

    /// Returns the byte-level or Metaspace step with `add_prefix_space` of `tokenizer_config.json`, if that changes it.
    fn pre_tokenizer(&self, stored: &Value) -> Option<Value> {
        let wanted = self.config.get("add_prefix_space")?.as_bool()?;
        let mut changed = stored.clone();
        match stored.get("type")?.as_str()? {
            "ByteLevel" => changed["add_prefix_space"] = wanted.into(),
            "Metaspace" if !wanted => changed["prepend_scheme"] = "never".into(),
            "Metaspace" if stored["prepend_scheme"] == "never" => changed["prepend_scheme"] = "first".into(),
            _ => return None,
        }
        Some(changed).filter(|c| c != stored)
    }
}

/// Returns the special tokens of a file, each as a string or as a token with flags.
fn special_tokens(file: &Value) -> impl Iterator<Item = &Value> {
    let roles = ROLES.iter().filter_map(|r| file.get(*r));
    let lists = ["additional_special_tokens", "extra_special_tokens"].into_iter().filter_map(|k| file.get(k));
    roles.chain(lists.flat_map(|list| match list {
        Value::Array(list) => list.iter().collect::<Vec<_>>(),
        // transformers 5 names them: {"image_token": "<image>"}.
        Value::Object(named) => named.values().collect(),
        _ => Vec::new(),
    }))
}

/// Parses a token in a file's notation as an entry of `added_tokens`, without id.
pub(super) fn added(written: &Value, special: bool) -> Option<Map<String, Value>> {
    let content = written.as_str().or_else(|| written.get("content")?.as_str()).filter(|c| !c.is_empty())?;
    let flag = |key: &str, default: bool| written.get(key).and_then(Value::as_bool).unwrap_or(default);
    let token = json!({
        "content": content, "single_word": flag("single_word", false), "lstrip": flag("lstrip", false),
        "rstrip": flag("rstrip", false), "normalized": flag("normalized", !special), "special": special,
    });
    token.as_object().cloned()
}

impl Outside {
    /// Parses a token in a file's notation; `None` for anything other than a string or an object with a `content`.
    fn read(file: &'static str, id: Option<u64>, written: &Value, is_special: bool) -> Option<Outside> {
        // Tokens that have a role are special even without the flag.
        let flag = written.get("special").and_then(Value::as_bool).filter(|_| id.is_some());
        Some(Outside { file, id, token: added(written, flag.unwrap_or(is_special))? })
    }

    fn content(&self) -> Option<&str> {
        self.token.get("content")?.as_str()
    }

    /// Adds the token to the text of a `tokenizer.json`. Returns a notice if a file gives it a different id.
    fn put(self, whole: &mut Value) -> Result<Option<(String, String)>, String> {
        let content = self.content().unwrap_or_default().to_owned();
        let vocabulary = Vocabulary::of(whole);
        let known = vocabulary.id(&content);
        let id = match (self.id, known) {
            (Some(wanted), Some(known)) if wanted != known => {
                return Err(format!(
                    "{} gives '{}' the id {wanted}, but tokenizer.json gives it the id {known}; correct one of them",
                    self.file,
                    content.escape_debug()
                ));
            }
            (Some(wanted), None) if vocabulary.holds(wanted) => {
                return Err(format!(
                    "{} gives '{}' the id {wanted}, which tokenizer.json gives to a different token; correct one of them",
                    self.file,
                    content.escape_debug()
                ));
            }
            (_, Some(id)) => id,
            // As in transformers, new tokens are numbered without gaps, regardless of their ids in files.
            (_, None) => vocabulary.next(),
        };
        let notice = self.id.filter(|wanted| *wanted != id).map(|wanted| {
            let what = format!(
                "{} gives '{}' the id {wanted}; like transformers, this program gives it the next free id, {id}",
                self.file,
                content.escape_debug()
            );
            (what, format!("set the id to {id} if the model was trained with it"))
        });
        let mut token = self.token;
        token.insert("id".into(), id.into());
        if !whole["added_tokens"].is_array() {
            whole["added_tokens"] = json!([]);
        }
        if let Some(added) = whole["added_tokens"].as_array_mut() {
            added.push(token.into());
        }
        // The library numbers added tokens itself, but keeps the ids of tokens in its model's vocabulary.
        if let Some(vocab) = whole["model"]["vocab"].as_object_mut() {
            vocab.insert(content, id.into());
        }
        Ok(notice)
    }
}

/// Ids in a `tokenizer.json`.
struct Vocabulary<'a> {
    model: &'a Value,
    added: &'a [Value],
}

impl<'a> Vocabulary<'a> {
    fn of(whole: &'a Value) -> Vocabulary<'a> {
        let added = whole["added_tokens"].as_array().map_or(&[][..], Vec::as_slice);
        Vocabulary { model: &whole["model"]["vocab"], added }
    }

    fn id(&self, content: &str) -> Option<u64> {
        let piece = |(id, p): (usize, &Value)| (p.get(0)? == content).then_some(id as u64);
        match self.model {
            Value::Object(vocab) => vocab.get(content)?.as_u64(),
            Value::Array(pieces) => pieces.iter().enumerate().find_map(piece),
            _ => None,
        }
    }

    fn holds(&self, id: u64) -> bool {
        let in_model = match self.model {
            Value::Object(vocab) => vocab.values().any(|v| v.as_u64() == Some(id)),
            Value::Array(pieces) => id < pieces.len() as u64,
            _ => false,
        };
        in_model || self.added.iter().any(|t| t["id"].as_u64() == Some(id))
    }

    /// Returns the largest id plus one.
    fn next(&self) -> u64 {
        let in_model = match self.model {
            Value::Object(vocab) => vocab.values().filter_map(Value::as_u64).map(|id| id + 1).max(),
            Value::Array(pieces) => Some(pieces.len() as u64),
            _ => None,
        };
        let added = self.added.iter().filter_map(|t| t["id"].as_u64()).map(|id| id + 1).max();
        in_model.max(added).unwrap_or(0)
    }
}

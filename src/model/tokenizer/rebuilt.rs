//! Comparison with the tokenizer that transformers 5 builds from the same folder. This program uses `tokenizer.json`. If transformers
//! would produce different ids, it reports the parts responsible, with an example.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokenizers::{NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer};

use super::classes::{Built, ModelOptions, Stored, build, class, is_other};
use super::guarded;
use super::outside::{Files, added};

/// Texts by which tokenizers are compared, the simplest first.
const TEXTS: [&str; 33] = [
    "a",
    "A",
    "\u{e9}",
    "e\u{301}",
    "\u{c9}",
    "a b",
    " a",
    "a ",
    "a  b",
    "a\tb",
    "a\nb",
    "a,b",
    "don't",
    "12",
    "\u{4e2d}\u{6587}",
    "\u{fb01}",
    "\u{df}",
    "\u{1e9e}",
    "\u{131}\u{130}",
    "\u{1f642}",
    "``a''",
    "\u{a0}a",
    "a\u{3000}b",
    "a\u{200b}b",
    "a\u{7}b",
    "\u{2581}a",
    "",
    "The keys (to 3 cabinets) aren't here.",
    "GREAT, Great!  great?",
    "na\u{ef}ve \u{c5}ngstr\u{f6}m",
    "\u{d55c}\u{ad6d}\u{c5b4} \u{645}",
    "an extraordinarily-long-hyphenated_word.py x=1;",
    "<s> [CLS] </s> [SEP]",
];

/// Number of vocabulary entries that are also used as texts.
const WORDS: u32 = 48;

/// Maximum number of tokens shown in an example.
const SHOWN: usize = 8;

/// Advice that makes transformers use `tokenizer.json`.
const REMEDY: &str = "set tokenizer_class to PreTrainedTokenizerFast in tokenizer_config.json, so that transformers uses \
     tokenizer.json too";

const COMPARE: &str = "compare the ids of a few texts: `probity models tokens MODEL TEXT`";

/// A `tokenizer.json` without its vocabulary.
#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    added_tokens: Vec<Map<String, Value>>,
    #[serde(default)]
    model: ModelOptions,
}

/// Returns notices if transformers 5 produces different ids. `text` is the file; `merged` also contains the external tokens and settings.
pub(super) fn differences(ours: &Tokenizer, text: &[u8], merged: &[u8], files: &Files) -> Vec<(String, String)> {
    let read = |text: &[u8]| serde_json::from_slice::<Parts>(text);
    let changed = (text != merged).then(|| read(merged)).transpose();
    let (Ok(file), Ok(changed)) = (read(text), changed) else {
        let what = "tokenizer.json is used, but could not be compared with the tokenizer that transformers 5 builds: ids may \
             differ";
        return vec![(what.into(), COMPARE.into())];
    };
    let compared = Compared { ours, merged, parts: changed.as_ref().unwrap_or(&file) };
    let has_byte_level = || text.windows(11).any(|w| w == b"\"ByteLevel\"");
    let mut notices: Vec<_> = match class(files, has_byte_level) {
        Some(class) if is_other(class) => vec![(
            format!("tokenizer.json is used, but transformers 5 builds its own {class}: ids may differ"),
            COMPARE.into(),
        )],
        class => match class.and_then(|class| Some((class, compared.built(class, &file, files)?))) {
            Some((class, (built, tokens))) => compared.with_class(class, built, tokens, files).into_iter().collect(),
            None => {
                let changes =
                    compared.text_parts(files.for_sentences(file.normalizer.clone()), file.pre_tokenizer.clone());
                compared.ignored_settings(&changes).into_iter().collect()
            }
        },
    };
    if files.flag("split_special_tokens") == Some(true) {
        let what = "tokenizer_config.json sets split_special_tokens, so transformers splits special tokens in a text like words; this \
            program keeps them whole";
        notices.push((what.into(), "remove split_special_tokens if the model was trained without it".into()));
    }
    notices
}

/// Returns the character map of a normalizer.
fn table(normalizer: &Value) -> Option<Value> {
    let steps = normalizer["normalizers"].as_array().map_or(std::slice::from_ref(normalizer), Vec::as_slice);
    steps.iter().find(|step| step["type"] == "Precompiled").cloned()
}

/// True if a token is in a Unigram vocabulary with score 0.
fn is_free(text: &[u8], token: &str) -> bool {
    let whole: Value = serde_json::from_slice(text).unwrap_or_default();
    whole["model"]["vocab"].as_array().is_some_and(|v| v.iter().any(|p| p[0] == token && p[1].as_f64() == Some(0.0)))
}

struct Compared<'a> {
    ours: &'a Tokenizer,
    merged: &'a [u8],
    parts: &'a Parts,
}

impl Compared<'_> {
    /// Returns the parts that a class builds, and its added tokens if they differ from this program's.
    fn built(&self, class: &str, file: &Parts, files: &Files) -> Option<(Built, Option<Value>)> {
        let ours = |token: &str| self.ours.token_to_id(token).map(u64::from);
        let with = |id: &dyn Fn(&str) -> u64| {
            let is_free = &|token: &str| is_free(self.merged, token);
            let has_frame = !file.post_processor.is_null();
            build(class, &Stored { files, id, is_free, table: table(&file.normalizer), has_frame })
        };
        let first = with(&|token| ours(token).unwrap_or_default())?;
        let tokens = self.tokens(&first.tokens, first.resets_flags, files);
        // Tokens that the class adds have ids too.
        let listed = |token: &str| {
            tokens.as_ref()?.as_array()?.iter().find(|t| t["content"] == token).and_then(|t| t["id"].as_u64())
        };
        let built = with(&|token| ours(token).or_else(|| listed(token)).unwrap_or_default())?;
        Some((built, tokens))
    }

    fn with_class(&self, class: &str, built: Built, tokens: Option<Value>, files: &Files) -> Option<(String, String)> {
        let ours = self.parts.model.clone().canonical();
        if let (Some(own), Some(other)) = (&ours.kind, &built.model.kind)
            && own != other
        {
            let what = format!(
                "tokenizer.json has a {own} model and is used, but {class} of transformers 5 needs a {other} model"
            );
            return Some((what, REMEDY.into()));
        }
        let mut groups = vec![self.text_parts(files.for_sentences(built.normalizer), built.pre_tokenizer)];
        let frame = built.post_processor.filter(|frame| {
            canonical::<PostProcessorWrapper>(frame) != canonical::<PostProcessorWrapper>(&self.parts.post_processor)
        });
        let model = Some(json!(built.model)).filter(|_| ours != built.model);
        for (part, value) in [("post_processor", frame), ("model", model), ("added_tokens", tokens)] {
            groups.push(value.into_iter().map(|value| (part, value)).collect());
        }
        let example = self.example(&groups.concat())?;
        // Some parts are written differently, but have no effect.
        let relevant: Vec<_> = groups.iter().filter(|changes| self.example(changes).is_some()).collect();
        let settings = if relevant.is_empty() || relevant.contains(&&groups[0]) { built.settings } else { Vec::new() };
        let groups = if relevant.is_empty() { groups.iter().collect() } else { relevant };
        let parts: Vec<&str> = groups.into_iter().flatten().map(|(part, _)| *part).collect();
        let settings: Vec<String> = settings.iter().map(|(key, on)| format!("{key}: {on}")).collect();
        let settings = if settings.is_empty() { String::new() } else { format!(" ({})", settings.join(", ")) };
        let what = format!(
            "tokenizer.json is used, but transformers 5 replaces its {} with {class}'s own{settings}: {example}",
            parts.join(" and "),
        );
        let remedy = "if the model was trained with transformers 5, save the tokenizer with it: \
            `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`; otherwise";
        Some((what, format!("{remedy} {REMEDY}")))
    }

    /// Returns the normalizer and the pre-tokenizer, each only if it differs from this program's.
    fn text_parts(&self, normalizer: Value, pre_tokenizer: Value) -> Vec<(&'static str, Value)> {
        let mut changes = Vec::new();
        if canonical::<NormalizerWrapper>(&normalizer) != canonical::<NormalizerWrapper>(&self.parts.normalizer) {
            changes.push(("normalizer", normalizer));
        }
        let own = canonical::<PreTokenizerWrapper>(&self.parts.pre_tokenizer);
        if canonical::<PreTokenizerWrapper>(&pre_tokenizer) != own {
            changes.push(("pre_tokenizer", pre_tokenizer));
        }
        changes
    }

    /// Returns the added tokens of transformers if they differ from this program's. Ids in `tokenizer_config.json` replace the list in
    /// `tokenizer.json`.
    fn tokens(&self, class: &[Value], resets_flags: bool, files: &Files) -> Option<Value> {
        let flags = |t: &Map<String, Value>| added(&Value::Object(t.clone()), false);
        let own: Vec<_> = self.parts.added_tokens.iter().filter_map(flags).collect();
        let mut list: Vec<Map<String, Value>> = match files.numbered() {
            Some(numbered) => numbered.values().filter_map(|t| added(t, false)).collect(),
            None => own.clone(),
        };
        let special: Vec<_> = class.iter().filter_map(|t| added(t, true)).collect();
        if resets_flags {
            list.retain(|t| special.iter().all(|s| s["content"] != t["content"]));
        }
        for token in special.into_iter().chain(files.special().filter_map(|t| added(t, true))) {
            if !list.iter().any(|t| t["content"] == token["content"]) {
                list.push(token);
            }
        }
        if list.len() == own.len() && list.iter().all(|t| own.contains(t)) {
            return None;
        }
        let mut next = self.ours.get_vocab_size(true) as u64;
        for token in &mut list {
            let id = token["content"].as_str().and_then(|c| self.ours.token_to_id(c)).map(u64::from);
            token.insert("id".into(), json!(id.unwrap_or(next)));
            next += u64::from(id.is_none());
        }
        list.sort_by_key(|t| t["id"].as_u64());
        Some(json!(list))
    }

    fn ignored_settings(&self, changes: &[(&'static str, Value)]) -> Option<(String, String)> {
        let example = self.example(changes)?;
        let what = format!(
            "settings in tokenizer_config.json are applied to tokenizer.json, but transformers 5 ignores them: {example}"
        );
        Some((what, "remove these settings from tokenizer_config.json (such as add_prefix_space), or change tokenizer.json to match".into()))
    }

    /// Describes the first text that gets different ids with the changed parts.
    fn example(&self, changes: &[(&str, Value)]) -> Option<String> {
        if changes.is_empty() {
            return None;
        }
        let mut whole: Value = serde_json::from_slice(self.merged).ok()?;
        for (part, value) in changes {
            if *part == "model" {
                let options = value.as_object().into_iter().flatten();
                options.for_each(|(key, option)| whole["model"][key] = option.clone());
            } else {
                whole[*part] = value.clone();
            }
        }
        let bytes = whole.to_string().into_bytes();
        let theirs = match guarded(|| Tokenizer::from_bytes(&bytes)) {
            Ok(theirs) => theirs,
            Err(e) => return Some(format!("it fails to load ({})", e.escape_debug())),
        };
        self.texts(&whole).into_iter().find_map(|text| self.compare(&theirs, &text))
    }

    /// Returns the texts to compare: fixed ones, added tokens within words, and entries of the vocabulary.
    fn texts(&self, theirs: &Value) -> Vec<String> {
        let mut texts: Vec<String> = TEXTS.map(str::to_owned).to_vec();
        let listed = theirs["added_tokens"].as_array().into_iter().flatten().filter_map(|t| t["content"].as_str());
        let own = self.parts.added_tokens.iter().filter_map(|t| t.get("content")?.as_str());
        for token in own.chain(listed).take(2 * WORDS as usize) {
            texts.extend([token.to_owned(), format!("a {token} a"), format!("a{token}a")]);
        }
        let count = u32::try_from(self.ours.get_vocab_size(false)).unwrap_or(u32::MAX);
        for id in (0..count).step_by((count / WORDS).max(1) as usize) {
            let token = self.ours.id_to_token(id).unwrap_or_default();
            let word = token.trim_start_matches(['\u{2581}', '\u{120}', '#']);
            texts.extend([word.to_owned(), word.to_uppercase(), format!("a {word}.a")]);
        }
        texts
    }

    fn compare(&self, theirs: &Tokenizer, text: &str) -> Option<String> {
        let encode = |t: &Tokenizer| guarded(|| t.encode_fast(text, true)).map(|e| e.get_ids().to_vec()).ok();
        let a = encode(self.ours)?;
        let Some(b) = encode(theirs) else { return Some(format!("it cannot encode '{text}'")) };
        if a == b {
            return None;
        }
        let show = |t: &Tokenizer, ids: &[u32]| {
            let spelled = |id: &u32| t.id_to_token(*id).unwrap_or_else(|| id.to_string());
            let mut tokens: Vec<String> = ids.iter().take(SHOWN).map(spelled).collect();
            tokens.extend((ids.len() > SHOWN).then(|| "\u{2026}".to_owned()));
            format!("[{}]", tokens.join(" "))
        };
        Some(format!("it encodes '{text}' as {}, this program as {}", show(theirs, &b), show(self.ours, &a)))
    }
}

/// Writes a part with all fields, as the library does.
fn canonical<T: DeserializeOwned + Serialize>(part: &Value) -> Value {
    let parsed = guarded(|| Ok(serde_json::from_value::<Option<T>>(part.clone())));
    parsed.ok().and_then(Result::ok).and_then(|p| serde_json::to_value(p).ok()).unwrap_or_else(|| part.clone())
}

#[cfg(test)]
mod tests;

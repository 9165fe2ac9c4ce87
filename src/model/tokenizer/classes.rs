//! Tokenizers as built by transformers 5.24. Many of its classes take only the vocabulary and the added tokens from `tokenizer.json`;
//! everything else comes from their code and `tokenizer_config.json`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::outside::{Files, WORDPIECE};

/// Returns the class that transformers 5 uses for a folder's tokenizer. As in `AutoTokenizer`, this is the class that the folder names, or
/// else the one registered for its model type. `None` if there is no class, or if the class is known to take everything from
/// `tokenizer.json`.
pub(super) fn class(files: &Files, has_byte_level: impl Fn() -> bool) -> Option<&str> {
    let model_type = files.model_type().unwrap_or_default();
    let registered = registered(model_type);
    let class = match files.class().or_else(|| files.model_class()) {
        // Folders of this type name the wrong class.
        Some(_) if model_type == "qwen2" => registered,
        Some(_) if registered == Some("TokenizersBackend") => None,
        Some("LlamaTokenizer") if has_byte_level() => None,
        named => named.or(registered),
    };
    class.filter(|c| *c != "TokenizersBackend")
}

/// Tokenizer class registered for a model type. `TokenizersBackend` uses `tokenizer.json`.
fn registered(model_type: &str) -> Option<&'static str> {
    Some(match model_type {
        "albert" => "AlbertTokenizer",
        "bart" | "roberta" => "RobertaTokenizer",
        "bert" | "distilbert" | "electra" | "ernie" => "BertTokenizer",
        "camembert" => "CamembertTokenizer",
        "deberta-v2" => "DebertaV2Tokenizer",
        "gemma2" => "GemmaTokenizer",
        "gpt2" => "GPT2Tokenizer",
        "gpt_neox" | "mamba" => "GPTNeoXTokenizer",
        "mistral" | "modernbert" | "phi3" => "TokenizersBackend",
        "qwen2" | "qwen3" => "Qwen2Tokenizer",
        "t5" => "T5Tokenizer",
        "xlm-roberta" => "XLMRobertaTokenizer",
        _ => return None,
    })
}

/// Classes whose tokenizers [`build`] does not know.
const OTHERS: &str = "Barthez BertGeneration BertJapanese Bertweet BigBird BioGpt Blenderbot BlenderbotSmall ByT5 CLIP CTRL Canine Clvp \
    CodeGen CodeLlama Cohere Cpm CpmAnt DPRContextEncoder DPRQuestionEncoder DPRReader Deberta Dia Esm Esmc FSMT Flaubert Funnel \
    GPTNeoXJapanese GPTSw3 Herbert Lasr LayoutLMv2 LayoutLMv3 LayoutXLM Luke M2M100 MBart MBart50 MLuke Marian MarkupLM MyT5 Nllb Nougat \
    OpenAIGPT PLBart Pegasus Perceiver Phobert ProphetNet Qwen3_5 Reformer RemBert RoCBert RoFormer SeamlessM4T Siglip Siglip2 \
    Speech2Text Splinter Tapas Tipsv2 Udop VideoPrism Whisper XGLM XLM XLNet";

/// True if transformers 5 ignores most of `tokenizer.json` for a class that [`build`] does not know.
pub(super) fn is_other(class: &str) -> bool {
    class.strip_suffix("Tokenizer").is_some_and(|name| OTHERS.split_whitespace().any(|other| other == name))
}

/// Options of a `model` other than its vocabulary and merges.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(super) struct ModelOptions {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    unk_id: Option<u64>,
    unk_token: Option<String>,
    byte_fallback: bool,
    fuse_unk: bool,
    ignore_merges: bool,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    max_input_chars_per_word: Option<u64>,
    dropout: Option<f64>,
}

impl ModelOptions {
    /// Writes the defaults of this kind of model as the library does.
    pub(super) fn canonical(mut self) -> ModelOptions {
        if self.kind.as_deref() == Some("WordPiece") {
            self.continuing_subword_prefix.get_or_insert_with(|| "##".into());
            self.max_input_chars_per_word.get_or_insert(100);
        }
        self.continuing_subword_prefix.take_if(|p| p.is_empty());
        self.end_of_word_suffix.take_if(|s| s.is_empty());
        self
    }

    fn unigram(unk_id: u64) -> ModelOptions {
        ModelOptions { kind: Some("Unigram".into()), unk_id: Some(unk_id), ..ModelOptions::default() }
    }

    fn word_piece(unk_token: String) -> ModelOptions {
        ModelOptions { kind: Some("WordPiece".into()), unk_token: Some(unk_token), ..ModelOptions::default() }
            .canonical()
    }

    fn bpe(unk_token: Option<String>, has_bytes: bool) -> ModelOptions {
        let kind = Some("BPE".into());
        ModelOptions { kind, unk_token, byte_fallback: has_bytes, fuse_unk: has_bytes, ..ModelOptions::default() }
    }
}

/// Parts of the tokenizer that a class builds.
pub(super) struct Built {
    /// Options in `tokenizer_config.json` on which the parts depend, with their values.
    pub(super) settings: Vec<(&'static str, bool)>,
    pub(super) normalizer: Value,
    pub(super) pre_tokenizer: Value,
    /// `None` if the class keeps the stored one.
    pub(super) post_processor: Option<Value>,
    pub(super) model: ModelOptions,
    /// Special tokens, including those that no file names.
    pub(super) tokens: Vec<Value>,
    /// True if the class ignores the flags that files give its special tokens.
    pub(super) resets_flags: bool,
}

/// Properties of a `tokenizer.json` that classes use.
pub(super) struct Stored<'a> {
    pub(super) files: &'a Files,
    /// Returns the id of a token, or the id that the token would get if it were added.
    pub(super) id: &'a dyn Fn(&str) -> u64,
    /// True if the token is in a Unigram vocabulary with score 0.
    pub(super) is_free: &'a dyn Fn(&str) -> bool,
    /// Character map of the normalizer.
    pub(super) table: Option<Value>,
    pub(super) has_frame: bool,
}

impl Stored<'_> {
    fn role(&self, role: &str, default: &str) -> String {
        self.files.role(role).flatten().unwrap_or_else(|| default.to_owned())
    }

    /// Builds a template from pieces, each with its type. A piece is a sequence, `A` or `B`, or a special token.
    fn template(&self, single: &[(&str, u8)], pair: &[(&str, u8)]) -> Value {
        let piece = |(name, kind): &(&str, u8)| match *name {
            "A" | "B" => json!({"Sequence": {"id": name, "type_id": kind}}),
            _ => json!({"SpecialToken": {"id": name, "type_id": kind}}),
        };
        let pieces = |list: &[(&str, u8)]| list.iter().map(piece).collect::<Vec<_>>();
        let special = |name: &str| (name.to_owned(), json!({"id": name, "ids": [(self.id)(name)], "tokens": [name]}));
        let tokens: serde_json::Map<String, Value> =
            single.iter().map(|p| p.0).filter(|n| *n != "A").map(special).collect();
        json!({"type": "TemplateProcessing", "single": pieces(single), "pair": pieces(pair), "special_tokens": tokens})
    }

    fn bert_frame(&self) -> Value {
        let (cls, sep) = (self.role("cls_token", "[CLS]"), self.role("sep_token", "[SEP]"));
        let (cls, sep) = (cls.as_str(), sep.as_str());
        self.template(&[(cls, 0), ("A", 0), (sep, 0)], &[(cls, 0), ("A", 0), (sep, 0), ("B", 1), (sep, 1)])
    }

    fn bos_eos_frame(&self) -> Value {
        let (bos, eos) = (self.role("bos_token", "<s>"), self.role("eos_token", "</s>"));
        let (bos, eos) = (bos.as_str(), eos.as_str());
        self.template(&[(bos, 0), ("A", 0), (eos, 0)], &[(bos, 0), ("A", 0), (eos, 0), (eos, 0), ("B", 0), (eos, 0)])
    }

    fn roberta_frame(&self, add_prefix_space: bool) -> Value {
        let (cls, sep) = (self.role("cls_token", "<s>"), self.role("sep_token", "</s>"));
        json!({"type": "RobertaProcessing", "sep": [sep, (self.id)(&sep)], "cls": [cls, (self.id)(&cls)],
            "trim_offsets": true, "add_prefix_space": add_prefix_space})
    }

    /// Returns the special tokens of a class by role. A token that no file names gets the default spelling.
    fn tokens(&self, defaults: &[(&str, &str)]) -> Vec<Value> {
        let named = |(role, default): &(&str, &str)| match self.files.role(role) {
            Some(named) => named.map(Value::from),
            None => Some(json!(default)),
        };
        defaults.iter().filter_map(named).collect()
    }
}

const BERT: [(&str, &str); 5] = [
    ("unk_token", "[UNK]"),
    ("sep_token", "[SEP]"),
    ("pad_token", "[PAD]"),
    ("cls_token", "[CLS]"),
    ("mask_token", "[MASK]"),
];
const ROBERTA: [(&str, &str); 7] = [
    ("bos_token", "<s>"),
    ("eos_token", "</s>"),
    ("sep_token", "</s>"),
    ("cls_token", "<s>"),
    ("unk_token", "<unk>"),
    ("pad_token", "<pad>"),
    ("mask_token", "<mask>"),
];
const END_OF_TEXT: [(&str, &str); 3] =
    [("unk_token", "<|endoftext|>"), ("bos_token", "<|endoftext|>"), ("eos_token", "<|endoftext|>")];

/// `RobertaTokenizer` and its other names.
const ROBERTA_CLASSES: [&str; 5] =
    ["RobertaTokenizer", "BartTokenizer", "LEDTokenizer", "LongformerTokenizer", "MvpTokenizer"];

/// Returns the parts that a class builds; `None` for a class that is not described here.
pub(super) fn build(class: &str, stored: &Stored<'_>) -> Option<Built> {
    Some(match class {
        "AlbertTokenizer" => albert(stored),
        "DebertaV2Tokenizer" => deberta(stored),
        "T5Tokenizer" | "XLMRobertaTokenizer" | "CamembertTokenizer" => sentence_piece(class, stored),
        "LlamaTokenizer" => llama(stored),
        "GemmaTokenizer" => gemma(stored),
        "GPT2Tokenizer" | "GPTNeoXTokenizer" | "Qwen2Tokenizer" => byte_level(class, stored),
        _ if ROBERTA_CLASSES.contains(&class) => byte_level(class, stored),
        _ if WORDPIECE.contains(&class) => word_piece(class, stored),
        _ => return None,
    })
}

fn word_piece(class: &str, stored: &Stored<'_>) -> Built {
    let flag = |key: &str| stored.files.flag(key);
    let lower = flag("do_lower_case").unwrap_or(true);
    let chinese = flag("tokenize_chinese_chars").unwrap_or(true);
    let accents = flag("strip_accents");
    let mut settings = vec![("do_lower_case", lower), ("tokenize_chinese_chars", chinese)];
    settings.extend(accents.map(|on| ("strip_accents", on)));
    let (post_processor, tokens) = if class == "MPNetTokenizer" {
        let mut tokens = stored.tokens(&ROBERTA[..4]);
        tokens.extend(stored.tokens(&[("unk_token", "[UNK]"), ("pad_token", "<pad>")]));
        tokens.extend(stored.tokens(&ROBERTA[6..]).into_iter().map(spaced));
        (stored.roberta_frame(false), tokens)
    } else {
        (stored.bert_frame(), stored.tokens(&BERT))
    };
    Built {
        settings,
        normalizer: json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": chinese,
            "strip_accents": accents, "lowercase": lower}),
        pre_tokenizer: json!({"type": "BertPreTokenizer"}),
        post_processor: Some(post_processor),
        model: ModelOptions::word_piece(stored.role("unk_token", "[UNK]")),
        tokens,
        resets_flags: false,
    }
}

/// Makes a token include the space before it.
fn spaced(token: Value) -> Value {
    json!({"content": token, "lstrip": true, "normalized": true, "special": true})
}

fn metaspace(scheme: &str, split: bool) -> Value {
    json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": scheme, "split": split})
}

/// Splits at whitespace and marks words by `\u{2581}`.
fn marked_words(scheme: &str) -> Value {
    json!({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace(scheme, true)]})
}

fn replace(pattern: Value, by: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": by})
}

fn sequence(steps: Vec<Value>) -> Value {
    json!({"type": "Sequence", "normalizers": steps})
}

fn albert(stored: &Stored<'_>) -> Built {
    let lower = stored.files.flag("do_lower_case").unwrap_or(true);
    let accents = stored.files.flag("keep_accents").unwrap_or(false);
    let space = stored.files.flag("add_prefix_space").unwrap_or(true);
    let mut steps = vec![replace(json!({"String": "``"}), "\""), replace(json!({"String": "''"}), "\"")];
    if !accents {
        steps.extend([json!({"type": "NFKD"}), json!({"type": "StripAccents"})]);
    }
    if lower {
        steps.push(json!({"type": "Lowercase"}));
    }
    steps.extend(stored.table.clone());
    let mut tokens = stored.tokens(&[("bos_token", "[CLS]"), ("eos_token", "[SEP]"), ("unk_token", "<unk>")]);
    tokens.extend(stored.tokens(&[("sep_token", "[SEP]"), ("pad_token", "<pad>")]));
    tokens.extend(stored.tokens(&BERT[3..]));
    Built {
        settings: vec![("do_lower_case", lower), ("keep_accents", accents), ("add_prefix_space", space)],
        normalizer: sequence(steps),
        pre_tokenizer: marked_words(if space { "always" } else { "never" }),
        post_processor: (!stored.has_frame).then(|| stored.bert_frame()),
        model: ModelOptions::unigram(1),
        tokens,
        resets_flags: false,
    }
}

fn deberta(stored: &Stored<'_>) -> Built {
    let flag = |key: &str, default: bool| stored.files.flag(key).unwrap_or(default);
    let lower = flag("do_lower_case", false);
    let punctuation = flag("split_by_punct", false);
    let space = flag("add_prefix_space", true);
    let mut steps = Vec::new();
    if lower {
        steps.push(json!({"type": "Lowercase"}));
    }
    steps.extend([
        replace(json!({"Regex": r"\s{2,}|[\n\r\t]"}), " "),
        json!({"type": "NFC"}),
        json!({"type": "Strip", "strip_left": false, "strip_right": true}),
    ]);
    let mut splits = vec![metaspace(if space { "always" } else { "first" }, true)];
    if punctuation {
        splits.insert(0, json!({"type": "Punctuation", "behavior": "Isolated"}));
    }
    let unknown = stored.role("unk_token", "[UNK]");
    let unk_id = if (stored.is_free)(&unknown) { Some((stored.id)(&unknown)) } else { stored.files.number("unk_id") };
    let mut tokens = stored.tokens(&[("bos_token", "[CLS]"), ("eos_token", "[SEP]")]);
    tokens.extend(stored.tokens(&BERT));
    Built {
        settings: vec![("do_lower_case", lower), ("split_by_punct", punctuation), ("add_prefix_space", space)],
        normalizer: sequence(steps),
        pre_tokenizer: json!({"type": "Sequence", "pretokenizers": splits}),
        post_processor: Some(stored.bert_frame()),
        model: ModelOptions::unigram(unk_id.unwrap_or(1)),
        tokens,
        resets_flags: false,
    }
}

fn sentence_piece(class: &str, stored: &Stored<'_>) -> Built {
    let has_setting = class != "T5Tokenizer";
    let space = !has_setting || stored.files.flag("add_prefix_space").unwrap_or(true);
    let mut tokens = stored.tokens(if has_setting { &ROBERTA[..6] } else { &[] });
    let (post_processor, unk_id) = match class {
        "T5Tokenizer" => {
            let eos = stored.role("eos_token", "</s>");
            let eos = eos.as_str();
            tokens = stored.tokens(&[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")]);
            let sentinels = stored.files.number("extra_ids").unwrap_or(100).min(1000);
            tokens.extend((0..sentinels).map(|i| json!(format!("<extra_id_{i}>"))));
            (stored.template(&[("A", 0), (eos, 0)], &[("A", 0), (eos, 0), ("B", 0), (eos, 0)]), 2)
        }
        "XLMRobertaTokenizer" => {
            tokens.extend(stored.tokens(&ROBERTA[6..]));
            (stored.bos_eos_frame(), 3)
        }
        _ => {
            tokens.extend(stored.tokens(&ROBERTA[6..]).into_iter().map(spaced));
            (stored.bos_eos_frame(), (stored.id)(&stored.role("unk_token", "<unk>")))
        }
    };
    Built {
        settings: if has_setting { vec![("add_prefix_space", space)] } else { Vec::new() },
        normalizer: stored.table.clone().unwrap_or_default(),
        pre_tokenizer: marked_words(if space { "always" } else { "never" }),
        post_processor: Some(post_processor),
        model: ModelOptions::unigram(unk_id),
        tokens,
        resets_flags: false,
    }
}

fn llama(stored: &Stored<'_>) -> Built {
    let space = stored.files.flag("add_prefix_space").unwrap_or(true);
    let legacy = stored.files.flag("legacy").unwrap_or(false);
    let scheme = match (space, legacy) {
        (true, true) => "always",
        (true, false) => "first",
        (false, _) => "never",
    };
    Built {
        settings: vec![("add_prefix_space", space), ("legacy", legacy)],
        normalizer: Value::Null,
        pre_tokenizer: metaspace(scheme, false),
        post_processor: None,
        model: ModelOptions::bpe(None, true),
        tokens: stored.tokens(&[("unk_token", "<unk>"), ("bos_token", "<s>"), ("eos_token", "</s>")]),
        resets_flags: false,
    }
}

fn gemma(stored: &Stored<'_>) -> Built {
    let mut tokens = stored.tokens(&[("unk_token", "<unk>"), ("bos_token", "<bos>"), ("eos_token", "<eos>")]);
    tokens.extend(stored.tokens(&ROBERTA[5..]));
    Built {
        settings: Vec::new(),
        normalizer: replace(json!({"String": " "}), "\u{2581}"),
        pre_tokenizer: json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false}),
        post_processor: None,
        model: ModelOptions::bpe(Some(stored.role("unk_token", "<unk>")), true),
        tokens,
        resets_flags: false,
    }
}

fn byte_level(class: &str, stored: &Stored<'_>) -> Built {
    let space = stored.files.flag("add_prefix_space").unwrap_or(false);
    let bytes = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": space, "trim_offsets": true, "use_regex": use_regex});
    let nfc = json!({"type": "NFC"});
    let (normalizer, pre_tokenizer, post_processor, tokens) = match class {
        "GPT2Tokenizer" => (Value::Null, bytes(true), None, stored.tokens(&END_OF_TEXT)),
        "GPTNeoXTokenizer" => {
            let mut tokens = stored.tokens(&END_OF_TEXT);
            tokens.extend(stored.tokens(&[("pad_token", "<|padding|>")]));
            (nfc, bytes(true), Some(stored.template(&[("A", 0)], &[("A", 0), ("B", 1)])), tokens)
        }
        "Qwen2Tokenizer" => {
            let mut tokens = stored.tokens(&[("unk_token", END_OF_TEXT[0].1), END_OF_TEXT[2]]);
            tokens.extend(stored.tokens(&[("pad_token", "<|endoftext|>")]));
            (nfc, super::vocabulary::qwen2_split(bytes(false)), None, tokens)
        }
        _ => (Value::Null, bytes(true), Some(stored.roberta_frame(space)), stored.tokens(&ROBERTA)),
    };
    Built {
        settings: vec![("add_prefix_space", space)],
        normalizer,
        pre_tokenizer,
        post_processor,
        model: ModelOptions::bpe(None, false),
        tokens,
        resets_flags: class == "Qwen2Tokenizer",
    }
}

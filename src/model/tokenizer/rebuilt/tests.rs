//! Folders for which transformers builds a tokenizer that differs from `tokenizer.json`. The tokens in the expected notices are those of
//! transformers 5.24.

use serde_json::{Value, json};

use crate::tokenizer::{Extras, Tokenizer};

/// Reads a folder and returns the differences stated in its notices, without the remedies.
fn notices(model_type: &str, config: Value, file: Value) -> Vec<String> {
    let (config, model) = (config.to_string(), json!({"model_type": model_type}).to_string());
    let extras = Extras { tokenizer_config: Some(&config), config: Some(&model), ..Extras::default() };
    let t = Tokenizer::from_json("tokenizer.json", file.to_string().as_bytes(), extras).unwrap();
    t.notices().iter().map(|n| n.0.clone()).collect()
}

fn assert_notice(found: &[String], expected: &str) {
    assert!(found.len() == 1 && found[0].ends_with(expected), "{found:#?} instead of {expected}");
}

fn added(tokens: &[(u32, &str)]) -> Value {
    let flags = |(id, token): &(u32, &str)| {
        json!({"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true})
    };
    tokens.iter().map(flags).collect()
}

/// Puts tokens around a text.
fn frame(first: Option<(&str, u32)>, last: Option<(&str, u32)>) -> Value {
    let piece = |token: (&str, u32)| json!({"SpecialToken": {"id": token.0, "type_id": 0}});
    let text = |name: &str| json!({"Sequence": {"id": name, "type_id": 0}});
    let single: Vec<Value> = first.map(piece).into_iter().chain([text("A")]).chain(last.map(piece)).collect();
    let tokens: serde_json::Map<String, Value> = first
        .into_iter()
        .chain(last)
        .map(|(t, id)| (t.to_owned(), json!({"id": t, "ids": [id], "tokens": [t]})))
        .collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": [text("A"), text("B")], "special_tokens": tokens})
}

fn unigram(special: &[&str], unk_id: u32, pieces: &[&str]) -> Value {
    let scored = special.iter().map(|t| json!([t, 0.0])).chain(pieces.iter().map(|t| json!([t, -1.0])));
    let tokens: Vec<(u32, &str)> = (0..).zip(special.iter().copied()).collect();
    let model =
        json!({"type": "Unigram", "unk_id": unk_id, "vocab": scored.collect::<Vec<_>>(), "byte_fallback": false});
    json!({"version": "1.0", "added_tokens": added(&tokens), "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null, "model": model})
}

fn metaspace(scheme: &str, split: bool) -> Value {
    json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": scheme, "split": split})
}

fn words() -> Value {
    json!({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace("always", true)]})
}

/// A BPE file with the letters of some pieces and no merges.
fn bpe(special: &[&str], letters: &[&str]) -> Value {
    let tokens: Vec<(u32, &str)> = (0..).zip(special.iter().copied()).collect();
    let vocab: serde_json::Map<String, Value> =
        special.iter().chain(letters).zip(0..).map(|(t, id): (_, u32)| ((*t).to_owned(), id.into())).collect();
    json!({"version": "1.0", "added_tokens": added(&tokens), "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "vocab": vocab, "merges": [], "byte_fallback": false, "fuse_unk": false}})
}

fn byte_level() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})
}

fn albert() -> Value {
    let pieces = ["\u{2581}", "\u{2581}a", "\u{2581}A", "\u{2581}e", "\u{2581}\u{e9}", "\u{2581}\u{c9}", "a", "b"];
    let mut file = unigram(&["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], 1, &pieces);
    file["pre_tokenizer"] = words();
    file["post_processor"] = frame(Some(("[CLS]", 2)), Some(("[SEP]", 3)));
    let replace = |from: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": "\""});
    file["normalizer"] = json!({"type": "Sequence", "normalizers": [replace("``"), replace("''")]});
    file
}

#[test]
fn albert_lower_cases_and_strips_accents_by_default() {
    let read = |config: Value| notices("albert", config, albert());
    assert_eq!(read(json!({"do_lower_case": false, "keep_accents": true})), [""; 0]);
    assert_notice(
        &read(json!({})),
        "replaces its normalizer with AlbertTokenizer's own (do_lower_case: true, keep_accents: false, add_prefix_space: \
         true): it encodes 'A' as [[CLS] ▁a [SEP]], this program as [[CLS] ▁A [SEP]]",
    );
    assert_notice(
        &read(json!({"do_lower_case": false})),
        "keep_accents: false, add_prefix_space: true): it encodes 'é' as [[CLS] ▁e [SEP]], this program as [[CLS] ▁é [SEP]]",
    );
    assert_notice(
        &read(json!({"do_lower_case": false, "keep_accents": true, "add_prefix_space": false})),
        "it encodes 'a' as [[CLS] a [SEP]], this program as [[CLS] ▁a [SEP]]",
    );
    // transformers then uses the file.
    assert_eq!(read(json!({"tokenizer_class": "PreTrainedTokenizerFast"})), [""; 0]);
}

#[test]
fn deberta_splits_at_punctuation_only_on_request() {
    let pieces = ["\u{2581}", "\u{2581}a", "\u{2581}b", ",", "b", "\u{2581},"];
    let mut file = unigram(&["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], 1, &pieces);
    file["post_processor"] = frame(Some(("[CLS]", 2)), Some(("[SEP]", 3)));
    file["normalizer"] = json!({"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "},
        {"type": "NFC"},
        {"type": "Strip", "strip_left": false, "strip_right": true},
    ]});
    // The class wraps it in a sequence.
    file["pre_tokenizer"] = metaspace("always", true);
    assert_eq!(notices("deberta-v2", json!({}), file.clone()), [""; 0]);
    assert_notice(
        &notices(
            "deberta-v2",
            json!({"split_by_punct": true, "tokenizer_class": "DebertaV2TokenizerFast"}),
            file.clone(),
        ),
        "replaces its pre_tokenizer with DebertaV2Tokenizer's own (do_lower_case: false, split_by_punct: true, \
         add_prefix_space: true): it encodes 'a,b' as [[CLS] ▁a ▁, ▁b [SEP]], this program as [[CLS] ▁a , b [SEP]]",
    );
    file["added_tokens"].as_array_mut().unwrap().truncate(4);
    assert_notice(
        &notices("deberta-v2", json!({}), file),
        "replaces its added_tokens with DebertaV2Tokenizer's own: it encodes '[MASK]' as [[CLS] [MASK] [SEP]], this program \
         as [[CLS] ▁ [MASK] [SEP]]",
    );
}

#[test]
fn t5_trims_spaces_and_appends_the_end_token() {
    let mut file = unigram(&["<pad>", "</s>", "<unk>"], 2, &["\u{2581}", "\u{2581}a", "a"]);
    file["pre_tokenizer"] = words();
    file["post_processor"] = frame(None, Some(("</s>", 1)));
    let config = json!({"tokenizer_class": "T5Tokenizer", "extra_ids": 0, "add_prefix_space": false});
    assert_eq!(notices("t5", config.clone(), file.clone()), [""; 0]);
    let mut blanks = file.clone();
    blanks["pre_tokenizer"] = metaspace("always", true);
    assert_notice(
        &notices("t5", config.clone(), blanks),
        "replaces its pre_tokenizer with T5Tokenizer's own: it encodes 'a' as [▁a </s>], this program as [a </s>]",
    );
    let mut open = file.clone();
    open["post_processor"] = Value::Null;
    assert_notice(
        &notices("t5", config.clone(), open),
        "replaces its post_processor with T5Tokenizer's own: it encodes 'a' as [▁a </s>], this program as [▁a]",
    );
    file["model"]["unk_id"] = json!(0);
    assert_notice(
        &notices("t5", config, file),
        "replaces its model with T5Tokenizer's own: it encodes 'A' as [▁ <unk> </s>], this program as [▁ <pad> </s>]",
    );
}

#[test]
fn xlm_roberta_and_camembert_respect_add_prefix_space() {
    let mut file = unigram(&["<s>", "<pad>", "</s>", "<unk>", "<mask>"], 3, &["\u{2581}", "\u{2581}a", "a"]);
    file["pre_tokenizer"] = words();
    file["post_processor"] = frame(Some(("<s>", 0)), Some(("</s>", 2)));
    for (model_type, class) in [("xlm-roberta", "XLMRobertaTokenizer"), ("camembert", "CamembertTokenizer")] {
        assert_eq!(notices(model_type, json!({}), file.clone()), [""; 0]);
        let expected = format!(
            "replaces its pre_tokenizer with {class}'s own (add_prefix_space: false): it encodes 'a' as [<s> a </s>], this \
             program as [<s> ▁a </s>]"
        );
        assert_notice(&notices(model_type, json!({"add_prefix_space": false}), file.clone()), &expected);
        let mut accents = file.clone();
        accents["normalizer"] = json!({"type": "Lowercase"});
        let found = notices(model_type, json!({}), accents);
        let expected = "it encodes 'A' as [<s> ▁ <unk> </s>], this program as [<s> ▁a </s>]";
        assert_notice(&found, expected);
    }
}

#[test]
fn llama_adds_one_space_mark_before_a_leading_space() {
    let bytes: Vec<String> = (0..=255).map(|b| format!("<0x{b:02X}>")).collect();
    let mut letters = vec!["\u{2581}", "a", "b"];
    letters.extend(bytes.iter().map(String::as_str));
    let mut file = bpe(&["<unk>", "<s>", "</s>"], &letters);
    file["model"]["byte_fallback"] = json!(true);
    file["model"]["unk_token"] = json!("<unk>");
    file["post_processor"] = frame(Some(("<s>", 1)), None);
    file["normalizer"] = json!({"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "\u{2581}"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"},
    ]});
    assert_notice(
        &notices("llama", json!({"tokenizer_class": "LlamaTokenizer"}), file.clone()),
        "replaces its normalizer and pre_tokenizer with LlamaTokenizer's own (add_prefix_space: true, legacy: false): it \
         encodes ' a' as [<s> ▁ a], this program as [<s> ▁ ▁ a]",
    );
    assert_eq!(notices("llama", json!({}), file), [""; 0], "without a class, transformers uses the file");
}

#[test]
fn byte_level_classes_set_normalizer_and_special_tokens() {
    let text = bpe(&["<|endoftext|>"], &["a", "A", "\u{120}", "e", "\u{cc}", "\u{123}", "\u{c3}", "\u{a9}"]);
    let file = |key: &str, part: Value| {
        let mut file = text.clone();
        file["pre_tokenizer"] = byte_level();
        file[key] = part;
        file
    };
    let nfc = || json!({"type": "NFC"});
    assert_eq!(notices("gpt2", json!({}), file("normalizer", Value::Null)), [""; 0]);
    assert_notice(
        &notices("gpt2", json!({}), file("normalizer", nfc())),
        "replaces its normalizer with GPT2Tokenizer's own (add_prefix_space: false): it encodes 'e\u{301}' as [e Ì ģ], this \
         program as [Ã ©]",
    );
    let mut neox = file("post_processor", frame(Some(("<|endoftext|>", 0)), None));
    neox["normalizer"] = nfc();
    assert_notice(
        &notices("gpt_neox", json!({"pad_token": null}), neox),
        "replaces its post_processor with GPTNeoXTokenizer's own: it encodes 'a' as [a], this program as [<|endoftext|> a]",
    );
    let mut roberta = bpe(&["<s>", "<pad>", "</s>", "<unk>", "<mask>"], &["a", "\u{120}"]);
    roberta["pre_tokenizer"] = byte_level();
    assert_notice(
        &notices("bart", json!({"tokenizer_class": "BartTokenizer"}), roberta),
        "replaces its post_processor with BartTokenizer's own: it encodes 'a' as [<s> a </s>], this program as [a]",
    );
    let mut gemma = bpe(&["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"], &["a", "A", "\u{2581}"]);
    gemma["model"]["byte_fallback"] = json!(true);
    gemma["model"]["fuse_unk"] = json!(true);
    gemma["model"]["unk_token"] = json!("<unk>");
    gemma["pre_tokenizer"] =
        json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false});
    gemma["normalizer"] = json!({"type": "Lowercase"});
    assert_notice(
        &notices("gemma2", json!({}), gemma),
        "replaces its normalizer with GemmaTokenizer's own: it encodes 'A' as [A], this program as [a]",
    );
}

#[test]
fn bert_lower_cases_and_adds_its_special_tokens() {
    let words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "A", "mask", "[", "]"];
    let vocab: serde_json::Map<String, Value> =
        words.iter().zip(0..).map(|(w, i)| ((*w).to_owned(), i.into())).collect();
    let file = |lower: bool, tokens: &[(u32, &str)]| {
        json!({"version": "1.0", "added_tokens": added(tokens), "pre_tokenizer": {"type": "BertPreTokenizer"},
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": lower},
            "post_processor": frame(Some(("[CLS]", 2)), Some(("[SEP]", 3))), "decoder": null,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocab}})
    };
    let all: Vec<(u32, &str)> = (0..5).zip(words).collect();
    assert_eq!(notices("bert", json!({}), file(true, &all)), [""; 0]);
    assert_eq!(notices("bert", json!({"do_lower_case": false}), file(true, &all)), [""; 0], "the setting is applied");
    assert_notice(
        &notices("bert", json!({}), file(false, &all)),
        "replaces its normalizer with BertTokenizer's own (do_lower_case: true, tokenize_chinese_chars: true): it encodes \
         'A' as [[CLS] a [SEP]], this program as [[CLS] A [SEP]]",
    );
    assert_notice(
        &notices("bert", json!({}), file(true, &all[..4])),
        "replaces its added_tokens with BertTokenizer's own: it encodes '[MASK]' as [[CLS] [MASK] [SEP]], this program as \
         [[CLS] [ mask ] [SEP]]",
    );
    assert_notice(
        &notices("bert", json!({"cls_token": "[MASK]"}), file(true, &all)),
        "replaces its post_processor with BertTokenizer's own: it encodes 'a' as [[MASK] a [SEP]], this program as [[CLS] a [SEP]]",
    );
    let mut unknown = file(true, &all);
    unknown["model"]["unk_token"] = json!("[PAD]");
    unknown["model"]["vocab"].as_object_mut().unwrap().remove("[UNK]");
    unknown["added_tokens"].as_array_mut().unwrap().remove(1);
    let found = notices("bert", json!({}), unknown);
    assert_notice(&found, "it cannot encode '\u{e9}'");
}

#[test]
fn unverified_classes_are_reported() {
    assert_eq!(
        notices("albert", json!({"tokenizer_class": "GPT2Tokenizer"}), albert()),
        ["tokenizer.json has a Unigram model and is used, but GPT2Tokenizer of transformers 5 needs a BPE model"]
    );
    assert_eq!(
        notices("big_bird", json!({"tokenizer_class": "BigBirdTokenizer"}), albert()),
        ["tokenizer.json is used, but transformers 5 builds its own BigBirdTokenizer: ids may differ"]
    );
}

#[test]
fn settings_not_applied_by_both_programs_are_reported() {
    let mut file = bpe(&["<|endoftext|>"], &["a", "\u{120}"]);
    file["pre_tokenizer"] = byte_level();
    let config = json!({"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": true});
    assert_notice(
        &notices("gpt2", config, file.clone()),
        "but transformers 5 ignores them: it encodes 'a' as [a], this program as [Ġ a]",
    );
    let found = notices("gpt2", json!({"split_special_tokens": true}), file);
    assert!(found[0].contains("transformers splits special tokens in a text like words"), "{found:?}");
}

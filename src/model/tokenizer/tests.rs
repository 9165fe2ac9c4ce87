//! Tests of tokenizers from old vocabulary files, with disabled options, and on difficult texts.

use serde_json::json;

use super::*;

const WORDS: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nkey\n##s\nare\n.\nher\n##e\n";

fn wordpiece() -> Tokenizer {
    Tokenizer::from_vocab_txt("vocab.txt", WORDS, Extras::default()).unwrap()
}

#[test]
fn a_vocabulary_list_becomes_a_wordpiece_tokenizer() {
    let t = wordpiece();
    let e = t.encode("The keys are [MASK] here.").unwrap();
    assert_eq!(e.tokens, ["[CLS]", "the", "key", "##s", "are", "[MASK]", "her", "##e", ".", "[SEP]"]);
    assert_eq!(e.ids[5], 4);
    assert_eq!(e.offsets[2], (4, 7));
    assert_eq!(e.is_special.iter().filter(|s| **s).count(), 2 + usize::from(e.is_special[5]));
    assert_eq!(t.decode(&e.ids, true).unwrap(), "the keys are here.");
    let pair = t.encode_pair("the", "key").unwrap();
    assert_eq!(pair.types, [0, 0, 0, 1, 1]);
    let s = t.special();
    assert_eq!((s.pad, s.unk, s.cls, s.sep, s.mask), (Some(0), Some(1), Some(2), Some(3), Some(4)));
    assert_eq!((t.word_id("key"), t.word_id("keys"), t.word_id("zebra")), (Some(6), None, None));
    assert_eq!(t.mask_token().as_deref(), Some("[MASK]"));
    let extras = Extras { tokenizer_config: Some("{\"do_lower_case\": false}"), ..Extras::default() };
    let cased = Tokenizer::from_vocab_txt("vocab.txt", WORDS, extras).unwrap();
    assert_eq!(cased.encode("The").unwrap().tokens[1], "[UNK]");
}

#[test]
fn vocabulary_and_merges_become_a_byte_level_tokenizer() {
    let vocab = r#"{"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "<|endoftext|>": 5}"#;
    let merges = "#version: 0.2\na b\nĠ ab\n";
    let t = Tokenizer::from_bpe("vocab.json", vocab, merges, Extras::default()).unwrap();
    let e = t.encode("ab ab<|endoftext|>").unwrap();
    assert_eq!(e.ids, [3, 4, 5]);
    assert_eq!(t.decode(&[3, 4], true).unwrap(), "ab ab");
    assert_eq!(t.word_id("ab"), Some(4), "a word in running text includes the space before it");
    assert_eq!((t.special().eos, t.special().mask, t.pad_id()), (Some(5), None, 5));
    let framed = r#"{"<s>": 0, "</s>": 1, "<mask>": 2, "a": 3, "Ġ": 4, "Ġa": 5, "<pad>": 6}"#;
    let t = Tokenizer::from_bpe("vocab.json", framed, "Ġ a\n", Extras::default()).unwrap();
    assert_eq!(t.encode("a <mask> a").unwrap().ids, [0, 3, 4, 2, 5, 1]);
    let map = Extras {
        special_tokens_map: Some(r#"{"mask_token": {"content": "<mask>", "lstrip": true}}"#),
        ..Extras::default()
    };
    let t = Tokenizer::from_bpe("vocab.json", framed, "Ġ a\n", map).unwrap();
    assert_eq!(t.encode("a <mask> a").unwrap().ids, [0, 3, 2, 5, 1], "special tokens are those named in the files");
}

#[test]
fn padding_and_truncation_are_disabled() {
    let mut file: Value = serde_json::from_str(&wordpiece().inner.to_string(false).unwrap()).unwrap();
    file["truncation"] = json!({"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0});
    file["padding"] = json!({"strategy": {"Fixed": 128}, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"});
    let t = Tokenizer::from_json("tokenizer.json", file.to_string().as_bytes(), Extras::default()).unwrap();
    assert_eq!(t.encode("the key the key the key").unwrap().ids.len(), 8);
}

#[test]
fn special_tokens_map_is_read_in_both_formats() {
    let file = wordpiece().inner.to_string(false).unwrap();
    let map = r#"{"mask_token": {"content": "key", "lstrip": true}, "pad_token": "the"}"#;
    let extras = Extras { special_tokens_map: Some(map), ..Extras::default() };
    let t = Tokenizer::from_json("tokenizer.json", file.as_bytes(), extras).unwrap();
    assert_eq!((t.special().mask, t.special().pad, t.special().cls), (Some(6), Some(5), Some(2)));
    let broken = Extras { special_tokens_map: Some("{"), ..Extras::default() };
    assert!(Tokenizer::from_json("t", file.as_bytes(), broken).is_err());
}

#[test]
fn damaged_files_and_unusual_texts_do_not_panic() {
    for text in ["", "{", "[]", "{\"version\": \"1.0\"}", "\u{1b}[2J"] {
        let why = Tokenizer::from_json("t.json", text.as_bytes(), Extras::default()).err().unwrap().to_string();
        assert!(why.starts_with("t.json: ") && !why.contains('\u{1b}'), "{why}");
    }
    let why = Tokenizer::from_vocab_txt("vocab.txt", "a\nb\n", Extras::default()).err().unwrap().to_string();
    assert!(why.contains("no [CLS]"), "{why}");
    assert!(Tokenizer::from_bpe("v", "[", "", Extras::default()).is_err());
    assert!(
        Tokenizer::from_bpe("v", "{\"a\": 0}", "x y\n", Extras::default()).is_err(),
        "both sides of a merge must be in the vocabulary"
    );
    let t = wordpiece();
    assert_eq!(t.encode("").unwrap().ids, [2, 3]);
    for text in ["\0", "\u{1b}[31m", "👩‍👩‍👧", "é\u{301}", &"the ".repeat(5000), &"a".repeat(10_000)] {
        let e = t.encode(text).unwrap();
        let chars = text.chars().count();
        assert!(e.offsets.iter().all(|&(a, b)| a <= b && b <= chars));
        assert_eq!(t.ids(text).unwrap(), e.ids, "`ids` returns the same ids");
    }
}

#[test]
fn template_with_undefined_token_is_an_error() {
    let mut file: Value = serde_json::from_str(&wordpiece().inner.to_string(false).unwrap()).unwrap();
    file["post_processor"]["special_tokens"].as_object_mut().unwrap().remove("[CLS]");
    let t = Tokenizer::from_json("t.json", file.to_string().as_bytes(), Extras::default());
    let why = t.and_then(|t| t.encode("the")).unwrap_err().to_string();
    assert!(why.contains("t.json: the file is inconsistent"), "{why}");
}

#[test]
fn ids_without_embeddings_are_detected() {
    let arch = crate::Arch { vocab: 11, ..crate::testing::bert() };
    let t = wordpiece().for_model(&arch);
    assert!(t.knows(&[10]) && !t.knows(&[11]) && !t.knows(&[1]), "an id must be known and have an embedding");
    assert_eq!((t.word_id("her"), t.word_id("##e")), (Some(10), None));
}

/// Regression: a causal model used to read the closing token and predict what follows it.
#[test]
fn causal_model_does_not_see_closing_tokens() {
    let arch = |causal| {
        let mut arch = crate::testing::bert();
        arch.attention.causal = causal;
        arch
    };
    for (text, shown) in [("the key", vec![2, 5, 6]), ("the [SEP]", vec![2, 5, 3]), ("", vec![2])] {
        let (causal, masked) = (wordpiece().for_model(&arch(true)), wordpiece().for_model(&arch(false)));
        assert_eq!(causal.encode(text).unwrap().ids, shown);
        assert_eq!(causal.ids(text).unwrap(), shown);
        assert_eq!(masked.encode(text).unwrap().ids, [&shown[..], &[3]].concat());
        assert_eq!(causal.encode_closed(text).unwrap(), masked.encode(text).unwrap());
    }
}

#[test]
fn added_tokens_get_their_ids_or_are_rejected() {
    let file = wordpiece().inner.to_string(false).unwrap();
    let read = |extras: Extras<'_>| Tokenizer::from_json("tokenizer.json", file.as_bytes(), extras);
    let config = r#"{"added_tokens_decoder": {"14": {"content": "[B]", "special": true}, "12": {"content": "[A]"}},
        "additional_special_tokens": ["[C]", {"content": "key"}], "mask_token": "[M]"}"#;
    let t = read(Extras { tokenizer_config: Some(config), ..Extras::default() }).unwrap();
    assert_eq!(
        t.encode_bare("the[A] [B]s [C]key[M]").unwrap().ids,
        [5, 12, 13, 1, 15, 6, 14],
        "{:?}",
        t.encode_bare("[C]")
    );
    assert!(t.special_ids().contains(&15), "{:?}", t.special_ids());
    assert_eq!(t.special().mask, Some(14));
    assert!(t.notices()[0].0.contains("gives '[B]' the id 14; like transformers"), "{:?}", t.notices());
    let added = Extras { added_tokens: Some(r#"{"[HL]": 13}"#), ..Extras::default() };
    assert_eq!(read(added).unwrap().encode_bare("a [HL]").unwrap().ids, [1, 12], "new ids have no gaps");
    for (added, why) in [
        (r#"{"key": 13}"#, "gives 'key' the id 13, but tokenizer.json gives it the id 6"),
        (r#"{"new": 6}"#, "gives 'new' the id 6, which tokenizer.json gives to a different token"),
        ("[1]", "added_tokens.json"),
    ] {
        let said = read(Extras { added_tokens: Some(added), ..Extras::default() }).err().unwrap().to_string();
        assert!(said.contains("added_tokens.json") && said.contains(why), "{said}");
    }
}

#[test]
fn settings_in_other_files_are_applied() {
    let lower = Extras { tokenizer_config: Some(r#"{"do_lower_case": false}"#), ..Extras::default() };
    let file = wordpiece().inner.to_string(false).unwrap();
    let cased = Tokenizer::from_json("tokenizer.json", file.as_bytes(), lower).unwrap();
    assert_eq!(cased.encode_bare("The key").unwrap().ids, [1, 6]);
    let vocab = r#"{"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "<|endoftext|>": 5}"#;
    let spaced = Extras { tokenizer_config: Some(r#"{"add_prefix_space": true}"#), ..Extras::default() };
    let t = Tokenizer::from_bpe("vocab.json", vocab, "a b\nĠ ab\n", spaced).unwrap();
    assert_eq!(t.encode("ab").unwrap().ids, [4]);
}

/// Regression: the special tokens and the tokens around a text used to depend on the vocabulary alone, and all texts were split as in
/// GPT-2.
#[test]
fn tokenizer_class_selects_the_vocabulary_format() {
    let vocab = r#"{"<s>": 0, "</s>": 1, "<mask>": 2, "1": 3, "2": 4, "12": 5, "'": 6, "S": 7, "'S": 8, "Ġ": 9, "<": 10,
        "m": 11, "a": 12, "s": 13, "k": 14, ">": 15, "<pad>": 16, "<unk>": 17}"#;
    let read = |config: Value, model_type: &str| {
        let (config, model) = (config.to_string(), json!({"model_type": model_type}).to_string());
        let extras = Extras { tokenizer_config: Some(&config), config: Some(&model), ..Extras::default() };
        Tokenizer::from_bpe("vocab.json", vocab, "1 2\n' S\n", extras)
    };
    let ids = |config: Value, text: &str| read(config, "").unwrap().encode(text).unwrap().ids;
    let gpt2 = json!({"tokenizer_class": "GPT2Tokenizer", "bos_token": "<s>", "eos_token": "</s>"});
    assert_eq!(ids(gpt2.clone(), "12<mask>"), [5, 10, 11, 12, 13, 14, 15], "the mask token is plain text");
    assert_eq!(read(gpt2.clone(), "").unwrap().special().mask, None);
    let with = |key: &str| {
        let mut config = gpt2.clone();
        config[key] = json!(true);
        config
    };
    assert_eq!(ids(with("add_bos_token"), "12"), [0, 5]);
    assert_eq!(ids(with("add_prefix_space"), "12"), [9, 5]);
    assert_eq!(
        ids(json!({"tokenizer_class": "Qwen2TokenizerFast"}), "12'S"),
        [3, 4, 8],
        "digits are separate, but 'S is one token"
    );
    assert_eq!(ids(json!({"tokenizer_class": "RobertaTokenizer"}), "12<mask>"), [0, 5, 2, 1]);
    for (model_type, want) in
        [("gpt2", vec![5]), ("qwen2", vec![3, 4]), ("roberta", vec![0, 5, 1]), ("", vec![0, 5, 1])]
    {
        assert_eq!(read(json!({}), model_type).unwrap().encode("12").unwrap().ids, want, "{model_type}");
    }
    let missing = json!({"tokenizer_class": "RobertaTokenizer", "cls_token": "<c>"});
    let why = read(missing, "").err().unwrap().to_string();
    assert!(why.contains("the vocabulary has no <c>, the cls_token"), "{why}");
}

/// Regression: a vocabulary with other special tokens used to be rejected with "no [CLS]".
#[test]
fn vocabulary_list_may_use_other_special_tokens() {
    let config = r#"{"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>", "pad_token": "<pad>", "unk_token": "<unk>"}"#;
    let extras = Extras { tokenizer_config: Some(config), ..Extras::default() };
    let t = Tokenizer::from_vocab_txt("vocab.txt", "<pad>\n<unk>\n<s>\n</s>\n<mask>\nthe\n", extras).unwrap();
    assert_eq!(t.encode("the <mask> cat").unwrap().ids, [2, 5, 4, 1, 3]);
    assert_eq!((t.special().mask, t.special().cls, t.special().pad), (Some(4), Some(2), Some(0)));
}

/// Regression: every class except the generic ones used to change the stored normalizer, and there was no notice for a cased file without
/// `do_lower_case`.
#[test]
fn only_some_classes_replace_the_normalizer() {
    let lower = wordpiece().inner.to_string(false).unwrap();
    let cased = lower.replace("\"lowercase\":true", "\"lowercase\":false");
    assert_ne!(lower, cased);
    let read = |config: &str, model_type: &str| {
        let model = json!({"model_type": model_type}).to_string();
        let extras = Extras { tokenizer_config: Some(config), config: Some(&model), ..Extras::default() };
        let t = Tokenizer::from_json("tokenizer.json", cased.as_bytes(), extras).unwrap();
        (t.encode_bare("The").unwrap().ids[0], t.notices().len())
    };
    let (the, unknown) = (5, 1);
    assert_eq!(read(r#"{"do_lower_case": true, "tokenizer_class": "BertTokenizer"}"#, "bert"), (the, 0));
    assert_eq!(read(r#"{"do_lower_case": true, "tokenizer_class": "ErnieTokenizer"}"#, "ernie"), (unknown, 0));
    assert_eq!(read(r#"{"do_lower_case": false}"#, "bert"), (unknown, 0));
    assert_eq!(read(r#"{"tokenizer_class": "BertTokenizerFast"}"#, "bert"), (unknown, 1), "transformers 5 lower-cases");
    assert_eq!((read("{}", "electra").1, read("{}", "").1), (1, 0));
    let extras = Extras { sentence: Some(r#"{"do_lower_case": true}"#), ..Extras::default() };
    let t = Tokenizer::from_json("tokenizer.json", cased.as_bytes(), extras).unwrap();
    assert_eq!(t.encode_bare("The").unwrap().ids, [the], "sentence-transformers lower-cases");
}

/// Builds a word-level tokenizer with some parts replaced.
fn recipe(parts: serde_json::Value) -> std::result::Result<Tokenizer, String> {
    let mut file = serde_json::json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "[UNK]": 2}, "unk_token": "[UNK]"},
    });
    for (key, value) in parts.as_object().unwrap() {
        file[key] = value.clone();
    }
    let made = Tokenizer::from_json("tokenizer.json", file.to_string().as_bytes(), Extras::default());
    made.map_err(|e| e.to_string())
}

#[test]
fn repeated_doubling_replacements_are_rejected() {
    let replace =
        |find: serde_json::Value, by: &str| serde_json::json!({"type": "Replace", "pattern": find, "content": by});
    let double = || replace(serde_json::json!({"String": "a"}), "aa");
    let steps: Vec<_> = (0..40).map(|_| double()).collect();
    for part in ["normalizer", "decoder"] {
        let list = if part == "normalizer" { "normalizers" } else { "decoders" };
        let nested = serde_json::json!({"type": "Sequence", list: [{"type": "Sequence", list: steps}]});
        let said = recipe(serde_json::json!({part: nested})).err().unwrap();
        assert!(said.contains(part) && said.contains("1.1e12 times longer"), "{said}");
    }
    let every = replace(serde_json::json!({"Regex": ""}), &"x".repeat(1000));
    assert!(recipe(serde_json::json!({"normalizer": every})).is_err());
    // Steps that occur in real files: a mark for spaces, quotes, shorter forms.
    let blank = replace(serde_json::json!({"String": " "}), "\u{2581}");
    let shorter = replace(serde_json::json!({"Regex": " {2,}"}), " ");
    let real = serde_json::json!({"type": "Sequence", "normalizers": [blank, shorter]});
    assert!(recipe(serde_json::json!({"normalizer": real})).is_ok());
}

#[test]
fn template_with_100_000_tokens_is_rejected() {
    let token = serde_json::json!({"SpecialToken": {"id": "a", "type_id": 0}});
    let text = serde_json::json!({"Sequence": {"id": "A", "type_id": 0}});
    let frame = |single: Vec<serde_json::Value>, ids: usize| {
        let tokens = serde_json::json!({"a": {"id": "a", "ids": vec![0; ids], "tokens": vec!["a"; ids]}});
        serde_json::json!({"post_processor": {
            "type": "TemplateProcessing", "single": single, "pair": [text], "special_tokens": tokens}})
    };
    let said = recipe(frame([vec![token.clone(); 100_000], vec![text.clone()]].concat(), 1)).err().unwrap();
    assert!(said.contains("100002 tokens around a text"), "{said}");
    assert!(recipe(frame(vec![token.clone(), text.clone()], 100_000)).is_err(), "a token with many ids is rejected");
    let said = recipe(frame(vec![text.clone(); 5000], 1)).err().unwrap();
    assert!(said.contains("repeats a text"), "{said}");
    assert!(recipe(frame(vec![token.clone(), text.clone(), token], 1)).is_ok());
}

/// The library accepts a step whose type is missing or wrong, or a list of fields, and the step still doubles the text.
#[test]
fn malformed_steps_are_bounded_too() {
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let sequence = |list: &str, steps: Vec<serde_json::Value>| serde_json::json!({"type": "Sequence", list: steps});
    let double = [
        r#"{"pattern": {"String": "a"}, "content": "aa"}"#,
        r#"{"type": "Unheard", "pattern": {"String": "a"}, "content": "aa"}"#,
        r#"[{"String": "a"}, "aa"]"#,
        r#"{"type": "ByteLevel"}"#,
        r#"{"type": {"ByteLevel": null}}"#,
    ];
    for step in double.map(json) {
        // Ten steps show the effect and are still harmless.
        let ten: tokenizers::NormalizerWrapper =
            serde_json::from_value(sequence("normalizers", vec![step.clone(); 10])).unwrap();
        let mut text = tokenizers::NormalizedString::from("a\u{e9}");
        tokenizers::Normalizer::normalize(&ten, &mut text).unwrap();
        assert!(text.get().len() > 1000, "{step}: {} bytes", text.get().len());
        let said = recipe(serde_json::json!({"normalizer": sequence("normalizers", vec![step.clone(); 40])}));
        assert!(said.as_ref().is_err_and(|s| s.contains("times longer")), "{step}: {:?}", said.err());
    }
    for (part, list, step) in [
        (
            "pre_tokenizer",
            "pretokenizers",
            r#"{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false}"#,
        ),
        ("pre_tokenizer", "pretokenizers", r#"{"type": "Metaspace", "replacement": "x", "add_prefix_space": true}"#),
        ("decoder", "decoders", r#"{"type": "BPEDecoder", "suffix": ""}"#),
        ("decoder", "decoders", r#"{"pattern": {"String": "a"}, "content": "aa"}"#),
    ] {
        let said = recipe(serde_json::json!({part: sequence(list, vec![json(step); 40])})).err();
        assert!(said.as_ref().is_some_and(|s| s.contains(part) && s.contains("times longer")), "{step}: {said:?}");
    }
    let lower = json(r#"{"type": "Lowercase"}"#);
    let said = recipe(serde_json::json!({"normalizer": sequence("normalizers", vec![lower; 300])})).err().unwrap();
    assert!(said.contains("300 steps"), "{said}");
    // The library uses the last of two equal fields.
    let twice = br#"{"normalizer": null, "normalizer": {"type": "Lowercase"}}"#;
    let said = Tokenizer::from_json("t", twice, Extras::default()).err().unwrap().to_string();
    assert!(said.contains("twice"), "{said}");
    // Steps that occur in real files: conversion to bytes once, after splitting; a mark before words.
    let bytes = json(r#"{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}"#);
    let split = json(r#"{"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Isolated", "invert": false}"#);
    let mark = json(r#"{"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": true}"#);
    let words = json(r#"{"type": "WhitespaceSplit"}"#);
    for steps in [vec![split, bytes], vec![words, mark]] {
        assert!(recipe(serde_json::json!({"pre_tokenizer": sequence("pretokenizers", steps)})).is_ok());
    }
}

/// A table applied to its own output can double a text each time, and a single entry can be as long as the file.
#[test]
fn character_table_may_occur_once_with_short_entries() {
    use base64::prelude::{BASE64_STANDARD, Engine};
    let table = |entry: usize| {
        // An empty index, then one replacement.
        let bytes = [&4u32.to_le_bytes()[..], &[0; 4], &vec![b'x'; entry], &[0]].concat();
        serde_json::json!({"type": "Precompiled", "precompiled_charsmap": BASE64_STANDARD.encode(bytes)})
    };
    let of = |steps: Vec<serde_json::Value>| {
        recipe(serde_json::json!({"normalizer": {"type": "Sequence", "normalizers": steps}}))
    };
    assert!(of(vec![table(33)]).is_ok());
    let said = of(vec![table(33), table(33)]).err().unwrap();
    assert!(said.contains("2 character maps"), "{said}");
    let said = of(vec![table(100_000)]).err().unwrap();
    assert!(said.contains("1.0e5 times longer"), "{said}");
}

#[test]
fn untyped_templates_are_bounded_too() {
    let token = serde_json::json!({"SpecialToken": {"id": "a", "type_id": 0}});
    let text = serde_json::json!({"Sequence": {"id": "A", "type_id": 0}});
    let tokens = serde_json::json!({"a": {"id": "a", "ids": [0], "tokens": ["a"]}});
    let single = [vec![token.clone(); 100_000], vec![text.clone()]].concat();
    let untyped = serde_json::json!({"single": single, "pair": [text], "special_tokens": tokens});
    let mut other = untyped.clone();
    other["type"] = "Unheard".into();
    let list = serde_json::json!([single, [text], tokens]);
    for frame in [untyped, other, list] {
        let said = recipe(serde_json::json!({"post_processor": frame})).err();
        assert!(said.as_ref().is_some_and(|s| s.contains("tokens around a text")), "{said:?}");
    }
    // The id of a piece is found even if the piece is a list of fields.
    let many = serde_json::json!({"a": {"id": "a", "ids": vec![0; 100_000], "tokens": vec!["a"; 100_000]}});
    let piece = serde_json::json!({"SpecialToken": ["a", 0]});
    let frame = serde_json::json!({"type": "TemplateProcessing", "single": [piece, text], "pair": [text], "special_tokens": many});
    assert!(recipe(serde_json::json!({"post_processor": frame})).is_err());
    let bert = serde_json::json!({"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 1]});
    let nested =
        |n: usize| serde_json::json!({"post_processor": {"type": "Sequence", "processors": vec![bert.clone(); n]}});
    assert!(recipe(nested(2)).is_ok() && recipe(nested(1000)).is_err());
}

//! Inputs for both sides: model folders with random weights, token ids and prompts, all from fixed seeds.

use std::collections::BTreeMap;
use std::path::Path;

use probity::model::Arch;
use probity::model::exec::train::initial;
use probity::model::families::{Family, Size};
use probity::stats::rng::stream;
use rand::RngExt;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::json;

/// Special tokens, which come first in the vocabulary; letters that begin or continue a word follow.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
/// Number of syllables for made-up words.
const SYLLABLES: usize = 70;

#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub name: &'static str,
    pub vocab: usize,
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
}

/// The shape of BERT-base.
pub(crate) const BASE: Shape = Shape { name: "base", vocab: 30522, hidden: 768, layers: 12, heads: 12 };
/// A model as large as the built-in ones.
pub(crate) const SMALL: Shape = Shape { name: "small", vocab: 4000, hidden: 128, layers: 2, heads: 4 };

impl Shape {
    pub(crate) fn arch(self) -> Arch {
        let Shape { vocab, hidden, layers, heads, .. } = self;
        Arch::bert(Size { vocab, hidden, layers, heads, max_positions: 512 })
    }

    /// Writes the model folder: configuration, f32 weights, tokenizer.
    pub(crate) fn write(self, dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let arch = self.arch();
        let family = Family::of(&arch)?;
        let tensors = initial(&arch, 7)?.to_checkpoint(&arch, family)?;
        let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
            .into_iter()
            .map(|(name, a)| (name, a.shape, a.data.iter().flat_map(|v| v.to_le_bytes()).collect()))
            .collect();
        let views: Vec<(&str, TensorView<'_>)> = bytes
            .iter()
            .map(|(name, shape, data)| Ok((&**name, TensorView::new(Dtype::F32, shape.clone(), data)?)))
            .collect::<Result<_, safetensors::SafeTensorError>>()?;
        std::fs::create_dir_all(dir)?;
        let metadata = Some([("format".to_owned(), "pt".to_owned())].into());
        safetensors::serialize_to_file(views, metadata, &dir.join("model.safetensors"))?;
        let mut config = family.config.ok_or("no configuration")?(&arch);
        config["torch_dtype"] = "float32".into();
        std::fs::write(dir.join("config.json"), config.to_string())?;
        std::fs::write(dir.join("tokenizer.json"), tokenizer(self.vocab).to_string())?;
        let names = json!({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]",
            "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]", "model_max_length": 512});
        std::fs::write(dir.join("tokenizer_config.json"), names.to_string())?;
        Ok(())
    }

    /// Sentences as token ids: words between two special tokens.
    pub(crate) fn ids(self, rows: usize, len: usize) -> Vec<Vec<u32>> {
        let mut rng = stream(3, "bench ids");
        let first = first_word() as u32;
        (0..rows)
            .map(|_| {
                let mut row: Vec<u32> = (0..len).map(|_| rng.random_range(first..self.vocab as u32)).collect();
                (row[0], row[len - 1]) = (2, 3);
                row
            })
            .collect()
    }

    /// Prompts of 4 to 40 words with one mask each, mostly short. One word in twelve is unknown.
    pub(crate) fn prompts(self, n: usize) -> Vec<String> {
        let mut rng = stream(4, "bench prompts");
        let words = self.vocab - first_word();
        (0..n)
            .map(|_| {
                let share: f64 = rng.random();
                let len = 4 + (37.0 * share * share) as usize;
                let mask = rng.random_range(0..len);
                let word = |i: usize| {
                    let unknown = rng.random_range(0..12) == 0;
                    match i == mask {
                        true => "[MASK]".to_owned(),
                        false => word(rng.random_range(0..words) + if unknown { 100_000 } else { 0 }),
                    }
                };
                format!("{} .", (0..len).map(word).collect::<Vec<_>>().join(" "))
            })
            .collect()
    }

    /// The closed set of answers: forty words.
    pub(crate) fn answers(self) -> Vec<u32> {
        (0..40).map(|i| (first_word() + 11 * i) as u32).collect()
    }
}

fn letters() -> impl Iterator<Item = char> {
    ('a'..='z').chain(['.'])
}

fn first_word() -> usize {
    SPECIAL.len() + 2 * letters().count()
}

/// A made-up word of two or more syllables, unique to its index.
fn word(mut n: usize) -> String {
    let mut text = String::new();
    let mut left = 2;
    while left > 0 || n > 0 {
        let s = n % SYLLABLES;
        text.push(char::from(b"bdfghklmnprstv"[s / 5]));
        text.push(char::from(b"aeiou"[s % 5]));
        n /= SYLLABLES;
        left = usize::saturating_sub(left, 1);
    }
    text
}

/// The content of a `tokenizer.json`: WordPiece with BERT's special tokens.
fn tokenizer(vocab: usize) -> serde_json::Value {
    let special = SPECIAL.iter().map(|s| (*s).to_owned());
    let begin = letters().map(String::from);
    let within = letters().map(|c| format!("##{c}"));
    let words = (0..vocab - first_word()).map(word);
    let entries: BTreeMap<String, usize> =
        special.chain(begin).chain(within).chain(words).enumerate().map(|(i, t)| (t, i)).collect();
    assert_eq!(entries.len(), vocab, "words of the vocabulary differ");
    let token = |t: &str| json!({"SpecialToken": {"id": t, "type_id": 0}});
    let single = json!([token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]")]);
    let pair = json!([token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]"),
        {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]);
    let added: Vec<serde_json::Value> = SPECIAL
        .iter()
        .enumerate()
        .map(|(id, t)| {
            json!({"id": id, "content": t, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true})
        })
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": entries},
    })
}

//! Tokenizers that produce whole words, for word vectors and for encoders that use them.

use serde_json::json;
use sha2::{Digest, Sha256};
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::pre_tokenizers::whitespace::{Whitespace, WhitespaceSplit};
use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

use super::{Special, Tokenizer, guarded};
use crate::error::{ModelError, Result};

/// Token for words without a vector; its id is 0.
pub const UNKNOWN: &str = "[UNK]";

/// Rule for splitting texts into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Split {
    /// Runs of letters and digits, and runs of punctuation.
    #[default]
    Words,
    /// Parts between spaces, for texts that are already tokenized.
    Spaces,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordRules {
    /// True if words are looked up in lower case.
    pub fold: bool,
    pub split: Split,
    /// Words added before and after every text, if in the vocabulary.
    pub frame: Option<(String, String)>,
    /// True if words without a vector are dropped; otherwise they have a zero vector.
    pub(crate) drop_unknown: bool,
}

pub fn split(how: Split, text: &str) -> Vec<String> {
    let mut pieces = PreTokenizedString::from(text);
    let done = match how {
        Split::Words => Whitespace.pre_tokenize(&mut pieces),
        Split::Spaces => WhitespaceSplit.pre_tokenize(&mut pieces),
    };
    // Splitting at fixed patterns cannot fail; if it failed, the text would have no words.
    if done.is_err() {
        return Vec::new();
    }
    let splits = pieces.get_splits(OffsetReferential::Original, OffsetType::None);
    splits.into_iter().map(|(word, ..)| word.to_owned()).collect()
}

impl Tokenizer {
    /// Creates a tokenizer for words with ids 1, 2, ...; 0 is [`UNKNOWN`]. `frame` words that are missing from the list are omitted.
    pub(crate) fn from_words(file: &str, words: &[String], rules: &WordRules) -> Result<Tokenizer> {
        let wrong = |what: String| ModelError::Config { file: file.to_owned(), what };
        let id = |word: &str| words.iter().position(|w| w == word).map(|i| i + 1);
        let pre = if rules.split == Split::Words { "Whitespace" } else { "WhitespaceSplit" };
        let mut template = vec![json!({"Sequence": {"id": "A", "type_id": 0}})];
        let mut special = json!({});
        if let Some((first, last)) = &rules.frame {
            for (word, place) in [(first, 0), (last, 1)] {
                let Some(id) = id(word) else { continue };
                special[word] = json!({"id": word, "ids": [id], "tokens": [word]});
                let at = if place == 0 { 0 } else { template.len() };
                template.insert(at, json!({"SpecialToken": {"id": word, "type_id": 0}}));
            }
        }
        let file_json = json!({
            "version": "1.0", "added_tokens": [],
            "normalizer": if rules.fold { json!({"type": "Lowercase"}) } else { json!(null) },
            "pre_tokenizer": {"type": pre},
            "post_processor": {"type": "TemplateProcessing", "single": template,
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": special},
            "decoder": null,
            "model": {"type": "WordLevel", "vocab": {UNKNOWN: 0}, "unk_token": UNKNOWN},
        });
        let text = file_json.to_string();
        let mut inner = guarded(|| tokenizers::Tokenizer::from_bytes(text.as_bytes()))
            .map_err(|e| wrong(e.escape_debug().to_string()))?;
        let vocab = std::iter::once((UNKNOWN.to_owned(), 0))
            .chain(words.iter().enumerate().map(|(i, w)| (w.clone(), i as u32 + 1)));
        let model = WordLevel::builder().vocab(vocab.collect()).unk_token(UNKNOWN.into()).build();
        inner.with_model(model.map_err(|e| wrong(e.to_string()))?);
        let mut digest = Sha256::new_with_prefix(format!("{rules:?}"));
        for word in words {
            digest.update((word.len() as u64).to_le_bytes());
            digest.update(word.as_bytes());
        }
        Ok(Tokenizer {
            inner,
            file: file.to_owned(),
            special: Special { unk: Some(0), pad: Some(0), ..Special::default() },
            digest: digest.finalize().into(),
            notices: Vec::new(),
            drop_unknown: rules.drop_unknown,
            closing: 0,
            rows: usize::MAX,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|w| (*w).to_owned()).collect()
    }

    #[test]
    fn words_are_looked_up_and_unknown_ones_are_zero() {
        let t = Tokenizer::from_words("v.txt", &words(&["the", "cat", "."]), &WordRules::default()).unwrap();
        assert_eq!(t.encode("the cat sat.").unwrap().ids, [1, 2, 0, 3]);
        assert_eq!(t.encode("The").unwrap().ids, [0], "case matters unless words are lower-cased");
        assert_eq!(t.encode("").unwrap().ids, Vec::<u32>::new());
        assert_eq!(t.encode("cat the").unwrap().offsets, [(0, 3), (4, 7)]);
    }

    #[test]
    fn folding_special_tokens_and_unknown_words() {
        let rules = WordRules {
            fold: true,
            frame: Some(("<s>".into(), "</s>".into())),
            drop_unknown: true,
            ..WordRules::default()
        };
        let t = Tokenizer::from_words("v.txt", &words(&["<s>", "cat", "</s>"]), &rules).unwrap();
        let e = t.encode("The CAT sat").unwrap();
        assert_eq!((e.ids, e.tokens.len(), e.offsets[1]), (vec![1, 2, 3], 3, (4, 7)));
        assert_eq!(t.encode("nothing known").unwrap().ids, [1, 3], "only the frame remains");
        assert_eq!(t.ids("The CAT sat").unwrap(), [1, 2, 3], "`ids` returns the same ids");
        let bare = Tokenizer::from_words("v.txt", &words(&["cat"]), &rules).unwrap();
        assert_eq!(bare.encode("cat").unwrap().ids, [1], "a frame that is not in the vocabulary is omitted");
    }

    #[test]
    fn tokenized_texts_are_split_at_spaces() {
        assert_eq!(split(Split::Spaces, "is n't it ?"), ["is", "n't", "it", "?"]);
        assert_eq!(split(Split::Words, "isn't it?"), ["isn", "'", "t", "it", "?"]);
        let rules = WordRules { split: Split::Spaces, ..WordRules::default() };
        let t = Tokenizer::from_words("v.txt", &words(&["n't"]), &rules).unwrap();
        assert_eq!(t.encode("is n't").unwrap().ids, [0, 1]);
    }
}

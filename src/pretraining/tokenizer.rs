//! Tokenizers for the built-in models: deterministic WordPiece and byte-level BPE over the words of a corpus.
//!
//! The trainers of the `tokenizers` crate break ties in the order of a randomly seeded hash table, so two runs can differ. This module
//! therefore learns the merges itself and, in a tie, prefers the pair formed first; the crate applies the result.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};

use serde_json::{Value, json};
use tokenizers::{Normalizer as _, OffsetReferential, OffsetType, PreTokenizer as _};

use model::error::{ModelError, Result};

/// Vocabulary and merges.
struct Learned {
    /// All vocabulary entries: the alphabet in the given order, then one entry per merge.
    entries: Vec<String>,
    /// Pairs of entries that were merged, in order.
    merges: Vec<(u32, u32)>,
}

/// Counts of adjacent pairs, and the words that contain them. A merge updates only the words that contain its pair, so counts on the heap
/// may be outdated and are checked on removal.
struct Pairs {
    counts: HashMap<(u32, u32), u64>,
    places: HashMap<(u32, u32), Vec<usize>>,
    heap: BinaryHeap<(u64, Reverse<(u32, u32)>)>,
}

impl Pairs {
    fn of(words: &[(Vec<u32>, u64)]) -> Self {
        let mut found = Self { counts: HashMap::new(), places: HashMap::new(), heap: BinaryHeap::new() };
        for (place, (word, count)) in words.iter().enumerate() {
            for pair in pairs(word) {
                *found.counts.entry(pair).or_default() += count;
                found.places.entry(pair).or_default().push(place);
            }
        }
        found.heap = found.counts.iter().map(|(&pair, &count)| (count, Reverse(pair))).collect();
        found
    }

    /// Removes the most frequent pair; ties go to the pair formed first.
    fn best(&mut self) -> Option<(u32, u32)> {
        while let Some((count, Reverse(pair))) = self.heap.pop() {
            let now = self.counts.get(&pair).copied().unwrap_or(0);
            if now == count && now > 0 {
                return Some(pair);
            }
            if now > 0 {
                self.heap.push((now, Reverse(pair)));
            }
        }
        None
    }

    /// Merges a pair in every word that contains it.
    fn join(&mut self, pair: (u32, u32), id: u32, words: &mut [(Vec<u32>, u64)]) {
        for place in self.places.remove(&pair).unwrap_or_default() {
            let (word, count) = &mut words[place];
            if !pairs(word).any(|p| p == pair) {
                continue;
            }
            pairs(word).for_each(|p| *self.counts.entry(p).or_default() -= *count);
            merge(word, pair, id);
            for p in pairs(word) {
                let now = self.counts.entry(p).or_default();
                *now += *count;
                if p.0 == id || p.1 == id {
                    self.places.entry(p).or_default().push(place);
                    self.heap.push((*now, Reverse(p)));
                }
            }
        }
        self.counts.remove(&pair);
    }
}

/// Repeatedly merges the most frequent adjacent pair, until every word is one symbol or there are `size` entries. `continuation` is the
/// prefix of symbols that do not begin a word; it is removed from the second symbol when a pair is merged.
fn learn(alphabet: Vec<String>, words: &[(Vec<u32>, u64)], continuation: &str, size: usize) -> Learned {
    let mut ids: HashMap<String, u32> = alphabet.iter().cloned().zip(0..).collect();
    let mut learned = Learned { entries: alphabet, merges: Vec::new() };
    let mut words: Vec<(Vec<u32>, u64)> = words.to_vec();
    let mut adjacent = Pairs::of(&words);
    let mut joined_before = HashSet::new();
    while learned.entries.len() < size {
        let Some(pair) = adjacent.best() else { return learned };
        let [left, right] = [pair.0, pair.1].map(|id| learned.entries[id as usize].as_str());
        let joined = format!("{left}{}", right.strip_prefix(continuation).unwrap_or(right));
        let id = *ids.entry(joined).or_insert_with_key(|joined| {
            learned.entries.push(joined.clone());
            learned.entries.len() as u32 - 1
        });
        // When two pairs have the same spelling, an earlier pair can recur; it keeps its first rank.
        if joined_before.insert(pair) {
            learned.merges.push(pair);
        }
        adjacent.join(pair, id, &mut words);
    }
    learned
}

fn pairs(word: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    word.windows(2).map(|w| (w[0], w[1]))
}

/// Replaces every occurrence of `pair` in `word`, from left to right.
fn merge(word: &mut Vec<u32>, pair: (u32, u32), id: u32) {
    let mut kept = 0;
    let mut i = 0;
    while i < word.len() {
        let joins = i + 1 < word.len() && (word[i], word[i + 1]) == pair;
        word[kept] = if joins { id } else { word[i] };
        kept += 1;
        i += if joins { 2 } else { 1 };
    }
    word.truncate(kept);
}

/// Special tokens of BERT, in order of their ids.
pub(crate) const BERT_SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The only special token of GPT-2.
pub const GPT2_SPECIAL: &str = "<|endoftext|>";

/// Special tokens of RoBERTa and BART, in order of their ids.
pub(crate) const ROBERTA_SPECIAL: [&str; 5] = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"];

/// Counts words for [`wordpiece`]: without accents, in lower case, split at spaces and punctuation.
///
/// # Errors
/// [`ModelError::Config`] if the `tokenizers` crate fails on a text.
pub(crate) fn words_in_lower_case<'a>(texts: impl Iterator<Item = &'a str>) -> Result<BTreeMap<String, u64>> {
    let normalizer = tokenizers::normalizers::BertNormalizer::new(true, true, None, true);
    let cut = tokenizers::pre_tokenizers::bert::BertPreTokenizer;
    count(texts, |text| {
        let mut string = tokenizers::NormalizedString::from(text);
        normalizer.normalize(&mut string)?;
        let mut pieces = tokenizers::PreTokenizedString::from(string.get());
        cut.pre_tokenize(&mut pieces)?;
        Ok(pieces)
    })
}

/// Counts words for [`byte_level`]: split as in GPT-2, in the byte-level alphabet.
///
/// # Errors
/// [`ModelError::Config`] if the `tokenizers` crate fails on a text.
pub(crate) fn words_in_bytes<'a>(texts: impl Iterator<Item = &'a str>) -> Result<BTreeMap<String, u64>> {
    let cut = tokenizers::pre_tokenizers::byte_level::ByteLevel::new(false, true, true);
    count(texts, |text| {
        let mut pieces = tokenizers::PreTokenizedString::from(text);
        cut.pre_tokenize(&mut pieces)?;
        Ok(pieces)
    })
}

/// Counts the words that `cut` finds in the texts, calling it once per distinct chunk because gallery texts repeat a few thousand words.
fn count<'a>(
    texts: impl Iterator<Item = &'a str>,
    cut: impl Fn(&str) -> tokenizers::Result<tokenizers::PreTokenizedString>,
) -> Result<BTreeMap<String, u64>> {
    let mut different: HashMap<&str, u64> = HashMap::new();
    texts.flat_map(chunks).for_each(|chunk| *different.entry(chunk).or_default() += 1);
    let mut counts = BTreeMap::new();
    for (chunk, n) in different {
        let pieces = cut(chunk).map_err(refused)?;
        for (word, _, _) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
            *counts.entry(word.to_owned()).or_default() += n;
        }
    }
    Ok(counts)
}

/// Splits a text before each space, if single spaces are its only whitespace. Both methods of splitting words then give the same result for
/// the parts as for the whole. Any other text is one chunk.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let single = !text.contains("  ") && text.chars().all(|c| c == ' ' || !c.is_whitespace());
    let mut rest = text;
    std::iter::from_fn(move || {
        let next = rest.bytes().skip(1).position(|b| b == b' ').filter(|_| single);
        let (chunk, after) = rest.split_at(next.map_or(rest.len(), |at| at + 1));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

fn refused(e: tokenizers::Error) -> ModelError {
    ModelError::Config { file: "tokenizer.json".into(), what: e.to_string() }
}

/// Creates a lower-case WordPiece tokenizer with BERT's special tokens and at most `size` entries; returns a `tokenizer.json`. Words (with
/// counts, in lower case) are added by frequency. Word pieces cover all other words with ASCII characters or characters from the given
/// words.
///
/// # Errors
/// [`ModelError::Config`] if the `tokenizers` crate rejects the result.
pub fn wordpiece(words: &BTreeMap<String, u64>, size: usize) -> Result<String> {
    let mut alphabet: Vec<String> = BERT_SPECIAL.map(str::to_owned).into();
    let ascii = ('!'..='~').filter(|c| !c.is_ascii_uppercase());
    let letters: BTreeSet<char> = ascii.chain(words.keys().flat_map(|w| w.chars())).collect();
    alphabet.extend(letters.iter().map(char::to_string));
    alphabet.extend(letters.iter().filter(|c| c.is_alphanumeric()).map(|c| format!("##{c}")));
    let ids: HashMap<&str, u32> = alphabet.iter().map(String::as_str).zip(0..).collect();
    let spell = |word: &str| -> Vec<u32> {
        let piece = |(i, c): (usize, char)| if i == 0 { c.to_string() } else { format!("##{c}") };
        word.chars().enumerate().filter_map(|p| ids.get(piece(p).as_str()).copied()).collect()
    };
    let words: Vec<(Vec<u32>, u64)> = words.iter().map(|(w, &count)| (spell(w), count)).collect();
    let learned = learn(alphabet, &words, "##", size);
    let vocab: serde_json::Map<String, Value> = numbered(&learned.entries);
    let frame = |id: &str| json!({"SpecialToken": {"id": id, "type_id": 0}});
    let pair = |id: &str, t: u8| json!({"SpecialToken": {"id": id, "type_id": t}});
    let sequence = |id: &str, t: u8| json!({"Sequence": {"id": id, "type_id": t}});
    let special = |token: &str, id: usize| json!({"id": token, "ids": [id], "tokens": [token]});
    canonical(&json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": BERT_SPECIAL.iter().enumerate().map(|(i, t)| added(i, t)).collect::<Vec<_>>(),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [frame("[CLS]"), sequence("A", 0), frame("[SEP]")],
            "pair": [frame("[CLS]"), sequence("A", 0), frame("[SEP]"), sequence("B", 1), pair("[SEP]", 1)],
            "special_tokens": {"[CLS]": special("[CLS]", 2), "[SEP]": special("[SEP]", 3)},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocab},
    }))
}

/// Creates a byte-level BPE tokenizer of at most `size` entries for GPT-2, or with `frame` for RoBERTa and BART;
/// returns a `tokenizer.json`. `words` are counted as in running text, with any preceding space (`" keys"`, `"The"`,
/// `"."`), or by [`words_in_bytes`].
///
/// # Errors
/// [`ModelError::Config`] if the `tokenizers` crate rejects the result.
pub fn byte_level(words: &BTreeMap<String, u64>, frame: bool, size: usize) -> Result<String> {
    let mut symbols: Vec<char> = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet().into_iter().collect();
    symbols.sort_unstable();
    let special: &[&str] = if frame { &ROBERTA_SPECIAL } else { &[GPT2_SPECIAL] };
    let mut alphabet: Vec<String> = special.iter().map(|s| (*s).to_owned()).collect();
    alphabet.extend(symbols.iter().map(char::to_string));
    let ids: HashMap<char, u32> = symbols.iter().copied().zip(special.len() as u32..).collect();
    // In the byte-level alphabet, printable ASCII represents itself and U+0120 represents a space.
    let spell = |word: &str| -> Vec<u32> {
        word.chars().filter_map(|c| ids.get(&if c == ' ' { '\u{120}' } else { c }).copied()).collect()
    };
    let words: Vec<(Vec<u32>, u64)> = words.iter().map(|(w, &count)| (spell(w), count)).collect();
    let learned = learn(alphabet, &words, "", size);
    let entry = |id: u32| learned.entries[id as usize].as_str();
    let merges: Vec<[&str; 2]> = learned.merges.iter().map(|&(a, b)| [entry(a), entry(b)]).collect();
    let vocab: serde_json::Map<String, Value> = numbered(&learned.entries);
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let ends = if frame {
        json!({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true,
            "add_prefix_space": false})
    } else {
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true})
    };
    let mut tokens: Vec<Value> = special.iter().enumerate().map(|(i, t)| added(i, t)).collect();
    if let (true, Some(mask)) = (frame, tokens.last_mut()) {
        // The mask token includes the preceding space, like the word that it hides.
        mask["lstrip"] = json!(true);
    }
    canonical(&json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": tokens,
        "normalizer": null, "pre_tokenizer": bytes,
        "post_processor": ends,
        "decoder": bytes,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocab, "merges": merges},
    }))
}

fn numbered(entries: &[String]) -> serde_json::Map<String, Value> {
    entries.iter().enumerate().map(|(id, e)| (e.clone(), Value::from(id))).collect()
}

fn added(id: usize, content: &str) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true})
}

/// Serializes the tokenizer in the same way as the crate: the vocabulary in order of ids, and every field present.
fn canonical(file: &Value) -> Result<String> {
    tokenizers::Tokenizer::from_bytes(file.to_string()).and_then(|t| t.to_string(false)).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn load(text: &str) -> tokenizers::Tokenizer {
        tokenizers::Tokenizer::from_bytes(text).unwrap()
    }

    fn pieces(t: &tokenizers::Tokenizer, text: &str) -> Vec<String> {
        t.encode(text, false).unwrap().get_tokens().to_vec()
    }

    /// The example is from Sennrich et al. (2016), section 3.2, without the end-of-word mark.
    #[test]
    fn merges_are_the_most_frequent_pairs() {
        let alphabet: Vec<String> = "deilnorstw".chars().map(String::from).collect();
        let spell =
            |w: &str| w.chars().map(|c| alphabet.iter().position(|a| a.starts_with(c)).unwrap() as u32).collect();
        let words: Vec<(Vec<u32>, u64)> =
            [("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)].map(|(w, n)| (spell(w), n)).into();
        let learned = learn(alphabet.clone(), &words, "", usize::MAX);
        let joined: Vec<&str> = learned.entries[alphabet.len()..].iter().map(String::as_str).collect();
        assert_eq!(joined[..4], ["es", "est", "lo", "low"]);
        assert!(["low", "lower", "newest", "widest"].iter().all(|w| joined.contains(w)));
    }

    proptest! {
        #[test]
        fn chunked_text_gives_the_same_words(text in "[ab\u{c9}e\u{301}'.,\u{4e2d}0\u{a0}\t \u{3a3} ]{0,24}", spaced in "( ?[aB\u{e9}'s,.1\u{4e2d}-]{1,6}){0,6} ?") {
            for text in [text, spaced] {
                let parts: Vec<&str> = chunks(&text).collect();
                prop_assert_eq!(parts.concat(), text.as_str());
                let mut lower = tokenizers::NormalizedString::from(text.as_str());
                tokenizers::normalizers::BertNormalizer::new(true, true, None, true).normalize(&mut lower).unwrap();
                let mut lower = tokenizers::PreTokenizedString::from(lower.get());
                tokenizers::pre_tokenizers::bert::BertPreTokenizer.pre_tokenize(&mut lower).unwrap();
                prop_assert_eq!(words_in_lower_case(std::iter::once(text.as_str())).unwrap(), tally(&lower));
                let mut bytes = tokenizers::PreTokenizedString::from(text.as_str());
                tokenizers::pre_tokenizers::byte_level::ByteLevel::new(false, true, true).pre_tokenize(&mut bytes).unwrap();
                prop_assert_eq!(words_in_bytes(std::iter::once(text.as_str())).unwrap(), tally(&bytes));
            }
        }
    }

    fn tally(pieces: &tokenizers::PreTokenizedString) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (word, _, _) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
        counts
    }

    /// Implements [`learn`] directly from its definition: every merge visits every word.
    fn learn_slowly(alphabet: Vec<String>, words: &[(Vec<u32>, u64)], size: usize) -> Learned {
        let mut learned = Learned { entries: alphabet, merges: Vec::new() };
        let mut words = words.to_vec();
        while learned.entries.len() < size {
            let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            words.iter().for_each(|(w, n)| pairs(w).for_each(|p| *counts.entry(p).or_default() += n));
            let Some((&pair, _)) = counts.iter().max_by_key(|&(&pair, &n)| (n, Reverse(pair))) else {
                return learned;
            };
            let joined = [pair.0, pair.1].map(|id| learned.entries[id as usize].as_str()).concat();
            let known = learned.entries.iter().position(|e| *e == joined);
            let id = known.unwrap_or_else(|| {
                learned.entries.push(joined);
                learned.entries.len() - 1
            });
            if !learned.merges.contains(&pair) {
                learned.merges.push(pair);
            }
            words.iter_mut().for_each(|(w, _)| merge(w, pair, id as u32));
        }
        learned
    }

    proptest! {
        #[test]
        fn merges_match_the_definition(words in proptest::collection::vec((proptest::collection::vec(0u32..4, 1..9), 1u64..4), 1..25), size in 4usize..40) {
            let alphabet: Vec<String> = "abcd".chars().map(String::from).collect();
            let (fast, slow) = (learn(alphabet.clone(), &words, "", size), learn_slowly(alphabet, &words, size));
            prop_assert_eq!(fast.entries, slow.entries);
            prop_assert_eq!(fast.merges, slow.merges);
        }
    }

    #[test]
    fn words_are_one_token_and_others_are_split() {
        let words = |list: &[&str]| list.iter().map(|w| ((*w).to_owned(), 3)).collect();
        let bert = load(&wordpiece(&words(&["the", "keys", "key", "are", "."]), 999).unwrap());
        assert_eq!(pieces(&bert, "The keys [MASK]."), ["the", "keys", "[MASK]", "."]);
        assert_eq!(bert.encode("keys", true).unwrap().get_tokens(), ["[CLS]", "keys", "[SEP]"]);
        assert!(!pieces(&bert, "zebra 42 !?").contains(&"[UNK]".to_owned()));
        assert_eq!(bert.token_to_id("[MASK]"), Some(4));
        let gpt2 = load(&byte_level(&words(&["The", " keys", " are", "."]), false, 999).unwrap());
        assert_eq!(pieces(&gpt2, "The keys are."), ["The", "Ġkeys", "Ġare", "."]);
        let odd = "Zoë's 42 keys\n";
        let ids = gpt2.encode(odd, true).unwrap().get_ids().to_vec();
        assert_eq!(gpt2.decode(&ids, false).unwrap(), odd);
    }

    #[test]
    fn space_before_a_mask_belongs_to_the_mask() {
        let words = [("The", 3), (" keys", 3), (" are", 3), (" .", 1)].map(|(w, n)| (w.to_owned(), n)).into();
        let t = load(&byte_level(&words, true, 999).unwrap());
        let encoded = t.encode("The keys <mask> .", true).unwrap();
        assert_eq!(encoded.get_tokens(), ["<s>", "The", "Ġkeys", " <mask>", "Ġ.", "</s>"]);
        assert_eq!(encoded.get_ids()[3], 4);
    }

    #[test]
    fn words_are_split_and_counted_as_in_tokenizers() {
        let texts = ["The keys, the key.", "São Paulo"];
        let counts = words_in_lower_case(texts.into_iter()).unwrap();
        assert_eq!((counts["the"], counts["sao"], counts[","]), (2, 1, 1));
        let counts = words_in_bytes(texts.into_iter()).unwrap();
        assert_eq!((counts["The"], counts["Ġkeys"], counts["ĠPaulo"], counts["SÃ£o"]), (1, 1, 1, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn words_are_single_tokens_and_files_reproducible(words in proptest::collection::btree_map("[a-e]{1,6}", 1u64..5, 1..30), seed: u8) {
            let first = wordpiece(&words, 999).unwrap();
            prop_assert_eq!(&wordpiece(&words, 999).unwrap(), &first);
            let t = load(&first);
            for w in words.keys() {
                prop_assert_eq!(pieces(&t, w), [w.as_str()]);
            }
            let spaced: BTreeMap<String, u64> = words.iter().map(|(w, &n)| (format!(" {w}"), n)).collect();
            let first = byte_level(&spaced, seed % 2 == 0, 999).unwrap();
            prop_assert_eq!(&byte_level(&spaced, seed % 2 == 0, 999).unwrap(), &first);
            let t = load(&first);
            for w in spaced.keys() {
                prop_assert_eq!(t.encode(w.as_str(), false).unwrap().len(), 1);
            }
            let small = load(&byte_level(&spaced, false, 260).unwrap());
            prop_assert!(small.get_vocab_size(true) <= 260);
        }
    }
}
